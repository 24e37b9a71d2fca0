"""`gblock server`, as an editor uses it over standard input and output."""

import functools
import json
import os
import subprocess
import sys
import textwrap
import time

import probing
import pytest
from editor import Editor, uri
from forked import Forks
from harness import measured
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind

from gblock.diagnostics import Location
from gblock.server.documents import encoded
from gblock.server.positions import Lines
from gblock.server.uris import path_of, uri_of

HASHING = """
    from gevent import monkey
    monkey.patch_all()
    import bcrypt
    from flask import Flask
    app = Flask(__name__)


    @app.route("/login")
    def login():
        return bcrypt.hashpw(b"x", b"y")
"""
CALL = 'bcrypt.hashpw(b"x", b"y")'


def text(source):
    return textwrap.dedent(source).lstrip("\n")


UNPATCHED = text(HASHING).partition("monkey.patch_all()\n")[2]
"""Only the deployment says whether it runs on gevent."""


@pytest.fixture(scope="session")
def forks():
    found = Forks(measured())
    yield found
    found.close()


@pytest.fixture
def opened(forks):
    """Open an editor whose server is forked."""
    return functools.partial(Editor, start=forks.start)


@pytest.fixture
def service(tmp_path):
    """A service in which one call blocks."""
    folder = tmp_path / "service"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'service'\n", encoding="utf-8")
    (folder / "Procfile").write_text("web: gunicorn -k gevent app:app\n", encoding="utf-8")
    (folder / "app.py").write_text(text(HASHING), encoding="utf-8")
    return folder


def place(source, piece):
    """The range of a piece of text."""
    before = source[: source.index(piece)]
    row, column = before.count("\n"), len(before) - before.rfind("\n") - 1
    return {
        "start": {"line": row, "character": column},
        "end": {"line": row, "character": column + len(piece)},
    }


def applied(source, edits):
    """A text after the edits of an action; all of its characters are in the BMP."""
    lines = source.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:row]) for row in range(len(lines))]

    def offset(position):
        return starts[position["line"]] + position["character"]

    for edit in sorted(edits, key=lambda one: -offset(one["range"]["start"])):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        source = source[:start] + edit["newText"] + source[end:]
    return source


# -- diagnostics


@pytest.mark.live
def test_the_whole_folder_is_checked_when_the_editor_starts(service):
    app = str(service / "app.py")
    with Editor(str(service)) as editor:
        (found,) = editor.wait(app, ["cpu-bound-call"])

    assert found["range"] == place(text(HASHING), CALL)
    assert found["source"] == "gblock"
    assert found["severity"] == 2
    assert found["codeDescription"]["href"].endswith("docs/blockers.md#bcrypt-hashpw")
    path = [one["message"] for one in found["relatedInformation"]]
    assert path == ["request: GET /login", "calls bcrypt.hashpw()"]
    assert 0 == editor.process.returncode


def test_the_unsaved_text_is_checked(opened, service):
    app = str(service / "app.py")
    with opened(str(service)) as editor:
        editor.open(app)
        editor.wait(app, ["cpu-bound-call"])
        version = editor.change(app, "# a comment\n" + text(HASHING))
        (found,) = editor.wait(app, ["cpu-bound-call"], version)
        assert found["range"]["start"]["line"] == place(text(HASHING), CALL)["start"]["line"] + 1
        editor.wait(app, [], editor.change(app, text(HASHING).replace(CALL, "b''")))
        editor.wait(app, ["cpu-bound-call"], editor.change(app, text(HASHING)))


def test_what_concerns_processes_moves_with_its_rows_until_the_folder_is_checked(opened, service):
    app = str(service / "app.py")
    late = "import requests\n" + text(HASHING)
    (service / "app.py").write_text(late, encoding="utf-8")
    (service / "Procfile").write_text("web: python app.py\n", encoding="utf-8")
    with opened(str(service)) as editor:
        editor.open(app)
        patch, _ = editor.wait(app, ["late-monkey-patch", "cpu-bound-call"])
        version = editor.change(app, "# typed\n" + late)
        moved, _ = editor.wait(app, ["late-monkey-patch", "cpu-bound-call"], version)
        assert moved["range"]["start"]["line"] == patch["range"]["start"]["line"] + 1
        editor.change(app, text(HASHING))
        editor.wait(app, ["cpu-bound-call"])


def test_unsaved_text_counts_in_other_files(opened, service):
    app, work = str(service / "app.py"), str(service / "work.py")
    (service / "app.py").write_text(
        text(HASHING).replace("import bcrypt", "import work").replace(CALL, "work.hashed()"),
        encoding="utf-8",
    )
    (service / "work.py").write_text(
        f"import bcrypt\n\n\ndef hashed():\n    return {CALL}\n", encoding="utf-8"
    )
    with opened(str(service)) as editor:
        editor.open(app)
        (found,) = editor.wait(work, ["cpu-bound-call"])
        assert found["relatedInformation"][0]["location"]["uri"] == uri(app)
        editor.change(app, editor_text := (service / "app.py").read_text(encoding="utf-8"))
        renamed = editor_text.replace("/login", "/sign-in")
        editor.change(app, renamed)
        editor.wait_until(
            lambda: "sign-in" in json.dumps(editor.of(work)), "the new path of the call"
        )


def test_what_shares_a_cause_is_related(opened, service):
    app = str(service / "app.py")
    twice = text(HASHING).replace(f"return {CALL}", f"return {CALL}, {CALL}")
    (service / "app.py").write_text(twice, encoding="utf-8")
    with opened(str(service)) as editor:
        first, second = editor.wait(app, ["cpu-bound-call"] * 2)
    for one, other in ((first, second), (second, first)):
        same = [r for r in one["relatedInformation"] if r["message"].startswith("the same cause")]
        assert [r["location"]["range"]["start"] for r in same] == [other["range"]["start"]]


def test_invalid_syntax_while_typing_clears_nothing_else(opened, service):
    app, other = str(service / "app.py"), str(service / "other.py")
    (service / "other.py").write_text(text(HASHING), encoding="utf-8")
    (service / "Procfile").write_text(
        "web: gunicorn -k gevent app:app\nmore: gunicorn -k gevent other:app\n", encoding="utf-8"
    )
    with opened(str(service)) as editor:
        editor.wait(other, ["cpu-bound-call"])
        editor.open(app)
        editor.wait(app, ["cpu-bound-call"])
        version = editor.change(app, "x = (\n" + text(HASHING))
        editor.wait(app, ["invalid-syntax", "cpu-bound-call"], version)
        version = editor.change(app, text(HASHING) + "def f(:\n")
        found = editor.wait(app, ["invalid-syntax", "cpu-bound-call"], version)
        assert found[1]["range"] == place(text(HASHING), CALL)
        time.sleep(2)  # the check of the folder has followed
        assert editor.codes(app) == ["invalid-syntax", "cpu-bound-call"]
        assert editor.codes(other) == ["cpu-bound-call"]
        editor.wait(app, ["cpu-bound-call"], editor.change(app, text(HASHING) + "x = 1\n"))


def test_closing_a_document_clears_what_is_not_on_disk(opened, service):
    app, new = str(service / "app.py"), str(service / "new.py")
    clean = text(HASHING).replace(CALL, "b''")
    (service / "app.py").write_text(clean, encoding="utf-8")
    with opened(str(service)) as editor:
        editor.open(app)
        editor.wait(app, ["cpu-bound-call"], editor.change(app, text(HASHING)))
        editor.close(app)
        editor.wait(app, [])
        editor.open(new, "x = (\n")
        editor.wait(new, ["invalid-syntax"])
        editor.close(new)
        editor.wait(new, [])


def test_a_file_that_changes_on_disk_is_checked_again(opened, service):
    app = str(service / "app.py")
    (service / "app.py").write_text(UNPATCHED, encoding="utf-8")
    with opened(str(service)) as editor:
        editor.wait(app, ["cpu-bound-call"])
        registered = [name for name, _ in editor.notices if name == "client/registerCapability"]
        assert registered == ["client/registerCapability"]
        for name, content, expected in (
            ("Procfile", "web: gunicorn app:app\n", []),
            ("Procfile", "web: gunicorn -k gevent app:app\n", ["cpu-bound-call"]),
            ("pyproject.toml", "[tool.gblock]\nignore = ['bcrypt-hashpw']\n", []),
            ("pyproject.toml", "[tool.gblock]\n", ["cpu-bound-call"]),
        ):
            (service / name).write_text(content, encoding="utf-8")
            changes = [{"uri": uri(str(service / name)), "type": 2}]
            editor.tell("workspace/didChangeWatchedFiles", {"changes": changes})
            editor.wait(app, expected)


def test_saving_checks_the_folder_again(opened, service):
    app = str(service / "app.py")
    (service / "app.py").write_text(UNPATCHED, encoding="utf-8")
    with opened(str(service)) as editor:
        editor.open(app)
        editor.wait(app, ["cpu-bound-call"])
        (service / "Procfile").write_text("web: gunicorn app:app\n", encoding="utf-8")
        editor.save(app)
        editor.wait(app, [])


def test_wrong_settings_are_one_message_and_the_server_goes_on(opened, service):
    app, settings = str(service / "app.py"), service / "pyproject.toml"
    settings.write_text("[tool.gblock\nselect = 1\n", encoding="utf-8")
    with opened(str(service)) as editor:
        editor.wait_for_message("invalid TOML")
        (found,) = editor.wait(str(settings), ["settings"])
        assert found["severity"] == 1
        editor.open(app)
        for number in range(3):
            editor.change(app, text(HASHING) + f"x = {number}\n")
            time.sleep(0.6)
        assert len(editor.messages()) == 1
        settings.write_text("[tool.gblock]\n", encoding="utf-8")
        editor.save(app)
        editor.wait(str(settings), [])
        editor.wait(app, ["cpu-bound-call"])
        settings.write_text("[tool.gblock]\nselekt = []\n", encoding="utf-8")
        editor.save(app)
        editor.wait(str(settings), ["settings"])
        editor.wait(app, ["cpu-bound-call"], editor.change(app, "# more\n" + text(HASHING)))


def test_several_folders_have_their_own_settings(opened, service, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for path in service.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    (other / "gblock.toml").write_text("ignore = ['cpu-bound-call']\n", encoding="utf-8")
    with opened(str(service), str(other)) as editor:
        editor.wait(str(service / "app.py"), ["cpu-bound-call"])
        editor.open(str(other / "app.py"))
        folder = {"uri": uri(str(other)), "name": "other"}
        removed = {"event": {"added": [], "removed": [folder]}}
        assert editor.codes(str(other / "app.py")) == []
        editor.tell("workspace/didChangeWorkspaceFolders", removed)
        (other / "gblock.toml").write_text("", encoding="utf-8")
        added = {"event": {"added": [folder], "removed": []}}
        editor.tell("workspace/didChangeWorkspaceFolders", added)
        editor.wait(str(other / "app.py"), ["cpu-bound-call"])
        editor.tell("workspace/didChangeWorkspaceFolders", removed)
        assert editor.codes(str(service / "app.py")) == ["cpu-bound-call"]


def test_a_file_without_a_folder_is_checked_alone(opened, service):
    app = str(service / "app.py")
    with opened() as editor:
        editor.open(app)
        editor.wait(app, ["cpu-bound-call"])
        editor.close(app)
        editor.wait(app, [])


def test_notes_are_hints_and_are_shown_only_if_asked(opened, service):
    app = str(service / "app.py")
    source = text(HASHING) + "\n\ncounted = bcrypt.hashpw(b'x', b'y')\n"
    (service / "app.py").write_text(source, encoding="utf-8")
    with opened(str(service)) as editor:
        editor.wait(app, ["cpu-bound-call"])
    with opened(str(service), arguments=["--min-severity", "note"]) as editor:
        found = editor.wait(app, ["cpu-bound-call"] * 2)
    assert [one["severity"] for one in found] == [2, 4]


def test_a_comment_that_hides_nothing_is_faded_out(opened, service):
    app = str(service / "app.py")
    source = text(HASHING) + "x = 1  # gblock: ignore[blocking-call]\n"
    (service / "app.py").write_text(source, encoding="utf-8")
    with opened(str(service)) as editor:
        _, unused = editor.wait(app, ["cpu-bound-call", "unused-ignore"])
        assert unused["tags"] == [1]
        editor.open(app)
        (fixing,) = editor.actions(app, unused, ["source.fixAll"])
        assert fixing["kind"] == "source.fixAll.gblock"
        (change,) = fixing["edit"]["documentChanges"]
        assert applied(source, change["edits"]) == text(HASHING) + "x = 1\n"


# -- hover and actions


def test_hover_shows_the_page_of_the_blocker(opened, service):
    app = str(service / "app.py")
    with opened(str(service)) as editor:
        editor.open(app)
        (found,) = editor.wait(app, ["cpu-bound-call"])
        start = found["range"]["start"]
        assert editor.hover(app, start["line"], start["character"]).startswith("# bcrypt-hashpw\n")
        assert editor.hover(app, 0, 0) is None


def test_hover_shows_the_figures_of_the_records_that_the_command_line_names(
    opened, service, tmp_path
):
    app, records = str(service / "app.py"), tmp_path / "records"
    records.mkdir()
    row = place(text(HASHING), CALL)["start"]["line"] + 1
    (records / "host-1.jsonl").write_text(recorded(app, row), encoding="utf-8")
    with opened(str(service), arguments=["--observed", str(records)]) as editor:
        editor.open(app)
        (found,) = editor.wait(app, ["cpu-bound-call"])
        start = found["range"]["start"]
        shown = editor.hover(app, start["line"], start["character"])
        assert "**Probes recorded 2 blocks here**: 0.75 s in all, the longest 0.5 s." in shown
        editor.wait(app, ["cpu-bound-call"], editor.change(app, text(HASHING) + "x = 1\n"))
        assert "2 blocks" in editor.hover(app, start["line"], start["character"])


def recorded(path, row):
    """The records of a process that was blocked twice at one line."""
    user = {"file": path, "line": row, "function": "login"}
    site = {
        "type": "site",
        "site": 1,
        "symbol": "bcrypt.hashpw",
        "callable": "bcrypt._bcrypt.hashpw",
        "user": user,
        "stack": [{**user, "user": True}],
    }
    records = [
        probing.start(),
        site,
        probing.block(probing.T + 1, 0.25, kind="gil"),
        probing.block(probing.T + 2, 0.5, kind="gil"),
        probing.heartbeat(probing.T + 60, 2),
        probing.end(probing.T + 61),
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_fix_and_a_comment_are_offered_and_end_the_diagnostic(opened, service):
    app = str(service / "app.py")
    with opened(str(service)) as editor:
        editor.open(app)
        (found,) = editor.wait(app, ["cpu-bound-call"])
        fix, comment = editor.actions(app, found)
        assert fix["title"].endswith("(unsafe)")
        assert not fix["isPreferred"]
        assert comment["title"] == "Suppress cpu-bound-call with # gblock: ignore[cpu-bound-call]"
        for action in (fix, comment):
            (change,) = action["edit"]["documentChanges"]
            assert change["textDocument"]["version"] == 1
            source = applied(text(HASHING), change["edits"])
            editor.wait(app, [], editor.change(app, source))
            editor.wait(app, ["cpu-bound-call"], editor.change(app, text(HASHING)))
            editor.close(app)
            editor.open(app)
            editor.wait(app, ["cpu-bound-call"], 1)
        assert editor.actions(app, found, ["refactor"]) == []


def test_edits_have_no_versions_for_an_editor_that_knows_none(opened, service):
    app = str(service / "app.py")
    with opened(str(service), capabilities={"general": {}}) as editor:
        editor.open(app)
        (found,) = editor.wait(app, ["cpu-bound-call"])
        _, comment = editor.actions(app, found)
        (edit,) = comment["edit"]["changes"][uri(app)]
        assert applied(text(HASHING), [edit]).count("# gblock: ignore[cpu-bound-call]") == 1


def test_an_edit_keeps_the_line_ends_of_the_file(opened, service):
    app = str(service / "app.py")
    (service / "app.py").write_bytes(text(HASHING).replace("\n", "\r\n").encode())
    with opened(str(service)) as editor:
        editor.open(app)
        (found,) = editor.wait(app, ["cpu-bound-call"])
        fix, _ = editor.actions(app, found)
        (change,) = fix["edit"]["documentChanges"]
        assert [e["newText"] for e in change["edits"] if e["newText"].endswith("\n")] == [
            "import gevent\r\n"
        ]


# -- positions


def test_positions_are_in_utf_16(opened, service):
    app = str(service / "app.py")
    source = text(HASHING).replace("return ", "return '\U0001f600\U00010348é', ")
    with opened(str(service)) as editor:
        assert editor.capabilities["positionEncoding"] == "utf-16"
        editor.open(app, source)
        (found,) = editor.wait(app, ["cpu-bound-call"], 1)
        line = source.split("\n")[found["range"]["start"]["line"]]
        before = line[: line.index(CALL)]
        start = len(before.encode("utf-16-le")) // 2
        assert found["range"]["start"]["character"] == start == len(before) + 2
        assert editor.hover(app, found["range"]["start"]["line"], start)
        _, comment = editor.actions(app, found)
        (change,) = comment["edit"]["documentChanges"]
        (edit,) = change["edits"]
        assert edit["range"]["start"]["character"] == len(line.encode("utf-16-le")) // 2


TEXTS = st.text(st.sampled_from("aé\U0001f600\U00010348\u4e2d\n\r\t\x0b\x0c\u2028 "), max_size=40)


@given(TEXTS, st.sampled_from(list(PositionEncodingKind)), st.data())
def test_positions_and_locations_are_each_other_s_inverse(source, encoding, data):
    rows = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[row])))
    codec, unit = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[
        encoding.value
    ]
    lines = Lines(source, encoding)
    expected = Position(row, len(rows[row][:column].encode(codec)) // unit)

    assert lines.position(Location(row + 1, column + 1)) == expected
    assert lines.location(expected) == Location(row + 1, column + 1)


@given(st.text(max_size=20), st.integers(-3, 50), st.integers(-3, 50))
def test_a_place_outside_of_a_text_has_a_position(source, row, column):
    position = Lines(source).position(Location(row, column))

    assert position.line >= 0
    assert position.character >= 0
    Lines(source).location(Position(max(row, 0), max(column, 0)))


@given(st.binary(min_size=1, max_size=20).filter(lambda b: not {0, ord("/")} & set(b)))
def test_a_path_is_its_uri_s_path(name):
    path = "/folder/" + os.fsdecode(name)
    if os.path.normpath(path) == path:
        assert path_of(uri_of(path)) == path


def test_a_uri_that_is_no_file_has_no_path():
    for one in ("untitled:Untitled-1", "git:/a.py?x", "file:///%00", "", "http://[", "file://"):
        assert path_of(one) is None


def test_a_text_is_checked_in_the_encoding_that_it_declares():
    assert encoded("# coding: latin-1\nx = 'é'\n") == b"# coding: latin-1\nx = '\xe9'\n"
    assert encoded("# coding: nonsense\nx = 'é'\n") == "# coding: nonsense\nx = 'é'\n".encode()
    assert encoded("x = '\ud800'\n") == b"x = '?'\n"


# -- robustness


def test_odd_input_ends_nothing(opened, service):
    app = str(service / "app.py")
    odd = [
        "",
        "\0",
        "\ud800",
        "(" * 5000,
        "x\x0c\u2028=1\r",
        "# coding: nonsense\n",
        "-" * 9999 + "1",
    ]
    with opened(str(service)) as editor:
        editor.open("/nowhere/at/all.py", "x = 1\n")
        editor.tell("textDocument/didOpen", {"textDocument": {
            "uri": "untitled:1", "languageId": "python", "version": 1, "text": "x",
        }})  # fmt: skip
        editor.tell("textDocument/didClose", {"textDocument": {"uri": uri("/never/opened.py")}})
        editor.tell("textDocument/didSave", {"textDocument": {"uri": "untitled:2"}})
        assert editor.hover("/never/opened.py", 10**6, 10**6) is None
        editor.open(app)
        for one in odd:
            editor.change(app, one)
            # The end of a text that cannot be parsed has a page once it is checked.
            page = editor.hover(app, 10**6, 10**6)
            assert page is None or page.startswith("# invalid-syntax")
        editor.wait(app, ["cpu-bound-call"], editor.change(app, text(HASHING)))
        assert editor.hover(app, 10**6, 10**6) is None


@pytest.mark.live
def test_nothing_that_the_workspace_names_is_started(service):
    marker = service / "started"
    starting = f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n"
    (service / "python").write_text(f"#!/bin/sh\ntouch {marker}\n", encoding="utf-8")
    (service / "python").chmod(0o755)
    for name in ("sitecustomize.py", "gunicorn.py", "conftest.py", "typing.py", "asyncio.py"):
        (service / name).write_text(starting, encoding="utf-8")
    (service / "gblock.toml").write_text("python = 'python'\n", encoding="utf-8")
    app = str(service / "app.py")
    with Editor(str(service)) as editor:
        editor.open(app)
        editor.wait_until(lambda: editor.messages() or editor.of(app), "an answer")
    assert not marker.exists()


def test_the_server_ends_with_its_input(service):
    editor = Editor(str(service))
    editor.process.stdin.close()

    assert 0 == editor.process.wait(20)
    editor.end()


def test_a_check_imports_nothing_of_the_server(service):
    code = (
        "import sys; from gblock.cli import main; main(['check', '--no-cache', '.']); "
        "sys.exit(any(n.partition('.')[0] in ('pygls', 'lsprotocol', 'asyncio')"
        " or n.startswith('gblock.server') for n in sys.modules))"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=service, stdout=subprocess.PIPE, text=True
    )
    assert 0 == ran.returncode
    assert "cpu-bound-call" in ran.stdout


def test_without_pygls_one_line_says_how_to_install_it(tmp_path):
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(name='pygls')", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "gblock", "server"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )

    assert 2 == run.returncode
    assert "pip install 'gblock[server]'" in run.stderr
