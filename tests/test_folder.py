"""When a folder of the editor is checked, and what is published: without a server or a check."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from gblock.diagnostics import Diagnostic, Location, Severity
from gblock.errors import FaultError, UserError
from gblock.server import folder as folders
from gblock.server.checking import Checked, Shown, Whole
from gblock.server.documents import Documents
from gblock.server.folder import Folder

APP = "/service/app.py"
OTHER = "/service/other.py"
BEFORE, AFTER = "import os\n", "import os\nos.system('sync')\n"


def one(message, code="blocking-call", filename=APP):
    start, end = Location(1, 1), Location(1, 7)
    return Shown(Diagnostic(filename, start, end, code, Severity.ERROR, message, ""), (1, 1))


class Again:
    """Stands for the finished check of a folder: its results for one file are given."""

    def __init__(self, results):
        self.results = results
        self.prepared, self.is_closed = [], False
        self.check = SimpleNamespace(rows=lambda _: (1, 1))

    def prepare(self, paths):
        self.prepared += paths

    def close(self):
        self.is_closed = True

    def diagnostics(self, path, data):
        result = self.results.pop(0) if self.results else []
        if callable(result):
            result = result()
        if isinstance(result, Exception):
            raise result
        return None if result is None else [each.diagnostic for each in result]


class Now:
    """Does each piece of work at once, in the event loop."""

    def do(self, work):
        future = asyncio.get_running_loop().create_future()
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - the caller that awaits it gets it
            future.set_exception(error)
        return future


class Desk:
    """A folder whose checks have given results, and what its editor gets."""

    encoding = "utf-16"

    def __init__(self, *wholes):
        self.root = "/service"
        self.wholes = list(wholes)
        self.published, self.warned, self.logged = [], [], []
        self.documents = Documents()
        self.folder = Folder(self, self.documents, self, Now(), Now())

    def holds(self, path):
        return path.startswith("/service/")

    def whole(self, texts, before, progress):
        result = self.wholes.pop(0)
        if callable(result):
            result = result(progress)
        if isinstance(result, Exception):
            raise result
        by_file = {**{path: Checked(data, ()) for path, data in texts.items()}, **result.by_file}
        return result._replace(by_file=by_file, given=dict(texts))

    def publish(self, uri, version, found):
        self.published.append((uri.rpartition("/")[2], [each.message for each in found]))

    def warn(self, message):
        self.warned.append(message)

    def log(self, message):
        self.logged.append(message)

    def put(self, text, path=APP):
        return self.documents.put(f"file://{path}", path, 1, text)

    async def settled(self):
        """Wait until no check is due or running."""
        await asyncio.sleep(0)
        while self.folder._tasks or (self.folder._timer and not self.folder._timer.cancelled()):
            timer = self.folder._timer
            if timer is not None and timer.when() < asyncio.get_running_loop().time():
                self.folder._timer = None
            await asyncio.sleep(0.001)


def whole(*results, files=(), data=None, asked=(), notes=()):
    """A finished check: the results for single files that follow, and what it found."""
    by_file = {each.diagnostic.filename: Checked(AFTER.encode(), (each,)) for each in files}
    kept = SimpleNamespace(data=data or {})
    return Whole(Again(list(results)), by_file, kept, {}, {}, frozenset(asked), frozenset(), notes)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(folders, "PAUSE", 0.0)
    monkeypatch.setattr(folders, "_SOON", 0.0)


def run(story):
    asyncio.run(asyncio.wait_for(story(), 20))


async def begun(*wholes):
    """A folder after its first check."""
    desk = Desk(*wholes)
    desk.folder.check_after()
    await desk.settled()
    return desk


def test_an_opened_document_is_published_prepared_or_checked():
    async def story():
        known = whole(files=[one("waits")], data={OTHER: BEFORE.encode()})
        desk = await begun(known, whole())
        desk.published.clear()
        desk.folder.opened(desk.put(AFTER))
        assert [("app.py", ["waits"])] == desk.published, "the text that was checked"
        desk.folder.opened(desk.put(BEFORE, OTHER))
        assert [APP, OTHER] == known.again.prepared
        assert 1 == len(desk.published), "the text that was read, in which nothing was found"
        desk.folder.opened(desk.put(AFTER, OTHER))
        await desk.settled()
        assert ("other.py", []) in desk.published, "another text: it is checked"
        assert not desk.wholes

    run(story)


def test_a_change_is_checked_at_once_and_then_the_folder():
    async def story():
        desk = await begun(whole([one("waits")]), whole(files=[one("waits for long")]))
        desk.folder.changed(desk.put(AFTER))
        await desk.settled()
        assert [("app.py", ["waits"]), ("app.py", ["waits for long"])] == desk.published

    run(story)


def test_a_document_is_checked_again_if_the_folder_was_checked_meanwhile():
    async def story():
        def late():
            desk.folder._replace(whole([one("waits now")]))
            return [one("waits before")]

        first = whole(late)
        desk = await begun(first, whole())
        desk.folder.changed(desk.put(AFTER))
        await asyncio.sleep(0)
        assert [("app.py", ["waits now"])] == desk.published
        assert first.again.is_closed
        await desk.settled()

    run(story)


def test_an_editor_that_is_gone_ends_no_check():
    async def story():
        def gone(*_):
            raise BrokenPipeError("it is gone")

        desk = Desk(whole(files=[one("waits")]))
        desk.publish = gone
        desk.folder.check_after()
        await desk.settled()
        assert ["gblock itself failed: BrokenPipeError: it is gone"] == desk.warned

    run(story)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FaultError("app.py"), "gblock itself failed: FaultError: app.py"),
        (ValueError("two\n lines"), "gblock itself failed: ValueError: two lines"),
    ],
)
def test_a_check_that_fails_is_one_line_and_the_next_one_runs(error, line):
    async def story():
        desk = await begun(error, error, whole(ValueError("odd"), files=[one("waits")]), whole())
        assert [line] == desk.warned
        desk.folder.check_after()
        await desk.settled()
        assert [line] == desk.warned, "the same message is shown once"
        desk.folder.check_after()
        await desk.settled()
        assert [("app.py", ["waits"])] == desk.published
        desk.folder.changed(desk.put(BEFORE))
        await desk.settled()
        assert [f"{APP}: gblock itself failed: ValueError: odd"] == desk.logged

    run(story)


def test_a_fault_names_the_file_and_its_own_cause():
    fault = FaultError("app.py")
    fault.__cause__ = KeyError("scope")

    async def story():
        desk = await begun(fault)
        assert ["gblock itself failed while it checked app.py: KeyError: 'scope'"] == desk.warned

    run(story)


def test_wrong_settings_are_shown_in_their_file_until_they_are_right(tmp_path):
    settings = tmp_path / "gblock.toml"
    settings.write_text("selct = []\n", encoding="utf-8")

    async def story():
        wrong = UserError(str(settings), "selct: unknown setting", 1, 1)
        desk = await begun(wrong, whole(notes=("a note",)))
        assert [f"{settings}:1:1: selct: unknown setting"] == desk.warned
        assert [("gblock.toml", ["selct: unknown setting"])] == desk.published
        desk.folder._publish(str(settings))
        assert 1 == len(desk.published), "its other diagnostics wait until then"
        desk.folder.check_after()
        await desk.settled()
        assert ("gblock.toml", []) == desk.published[-1]
        assert ["a note"] == desk.logged

    run(story)


def test_an_error_of_no_file_is_a_message_alone():
    async def story():
        desk = await begun(UserError("--select", "unknown rule"))
        assert (["--select: unknown rule"], []) == (desk.warned, desk.published)

    run(story)


def test_a_check_of_texts_that_have_changed_since_is_given_up():
    async def story():
        def outdated(progress):
            desk.folder._is_outdated = True
            progress(1, 2)
            raise AssertionError("the check went on")

        desk = await begun(whole(), outdated, whole(files=[one("waits")]))
        desk.folder.check_after()
        await desk.settled()
        assert ([("app.py", ["waits"])], []) == (desk.published, desk.warned)

    run(story)


def test_the_first_check_is_not_given_up():
    async def story():
        def slow(progress):
            desk.folder._is_outdated = True
            progress(1, 2)
            return whole(files=[one("waits")])

        desk = Desk(slow, whole(files=[one("waits")]))
        desk.folder.check_after()
        await desk.settled()
        assert [("app.py", ["waits"])] == desk.published

    run(story)


def test_a_folder_that_was_closed_publishes_nothing_more():
    async def story():
        last = whole(files=[one("waits")])

        def closing(_):
            desk.folder.close()
            return last

        first = whole(files=[one("waits")])
        desk = await begun(first, closing)
        desk.folder.check_after()
        await desk.settled()
        assert [("app.py", ["waits"]), ("app.py", [])] == desk.published
        assert first.again.is_closed
        assert last.again.is_closed
        desk.folder._check()
        assert not desk.folder._tasks

    run(story)


@pytest.mark.parametrize(
    ("path", "depends"),
    [(APP, True), ("/service/Procfile", True), ("/etc/new", True), ("/service/notes.txt", False)],
)
def test_a_file_that_the_check_never_asked_for_changes_nothing(path, depends):
    async def story():
        desk = Desk(whole(asked=["/service/Procfile", "/etc"]))
        assert desk.folder.depends_on(path), "nothing is known before the first check"
        desk.folder.check_after()
        await desk.settled()
        assert depends is desk.folder.depends_on(path)

    run(story)


def test_closing_clears_what_only_the_unsaved_text_has(tmp_path):
    path = str(tmp_path / "app.py")

    async def story():
        desk = await begun(whole([one("waits", filename=path)]), whole(), whole())
        document = desk.put(AFTER, path)
        desk.folder.changed(document)
        await desk.settled()
        desk.documents.close(path)
        desk.folder.closed(document)
        assert ("app.py", []) == desk.published[-1]
        assert ((), []) == desk.folder.found(document)
        await desk.settled()

    run(story)
