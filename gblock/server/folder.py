"""One folder of the workspace: when it is checked, and what the editor shows.

A change of a document is followed by a check of this one file, and after a pause by a check of the
whole folder. All methods run in the event loop; checks run in two threads.
"""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

from gblock.decoding import decoded
from gblock.errors import FaultError, UserError
from gblock.rules import OF_FILES
from gblock.server import checking
from gblock.server.diagnostics import Converter, of_settings
from gblock.server.documents import read
from gblock.server.positions import Lines
from gblock.server.uris import uri_of

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, Protocol

    from lsprotocol import types

    from gblock.diagnostics import Diagnostic
    from gblock.server.checking import Checked, Checking, Shown, Whole
    from gblock.server.documents import Document, Documents
    from gblock.server.worker import Worker

    class Editor(Protocol):
        """The messages that a folder sends to the editor."""

        def publish(
            self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]
        ) -> None:
            """Replace the diagnostics of a file."""

        def warn(self, message: str) -> None:
            """Show a message that needs attention."""

        def log(self, message: str) -> None:
            """Write a message to the log."""

        @property
        def encoding(self) -> str:
            """The encoding of positions."""


PAUSE = 0.4
"""Seconds without a change, after which the whole folder is checked."""
_SOON = 0.02
_RECENT = 5
"""The number of documents, the last to change, whose next change is prepared for."""


class Superseded(Exception):  # noqa: N818 - it is no error
    """Ends a check of the folder whose texts have changed since it began."""


class Folder:
    """The checks and the diagnostics of one folder, or of one file that is in none.

    Args:
        checks: Checks the folder.
        documents: The open documents of the workspace.
        editor: Takes the diagnostics.
        fast: The thread for checks of one file.
        slow: The thread for checks of folders.
    """

    def __init__(
        self, checks: Checking, documents: Documents, editor: Editor, fast: Worker, slow: Worker
    ) -> None:
        self.checking = checks
        self._documents = documents
        self._editor = editor
        self._fast, self._slow = fast, slow
        self._whole: Whole | None = None
        self._shown: dict[str, Checked] = {}
        """The results for each file, of the last text that was checked."""
        self._sound: dict[str, Checked] = {}
        """The same, of the last text that could be parsed."""
        self._sent: dict[str, list[types.Diagnostic]] = {}
        """The diagnostics that the editor has, by path."""
        self._lines: dict[str, tuple[bytes, Lines]] = {}
        self._waiting: dict[str, None] = {}
        """The documents whose text has changed, the last one at the end."""
        self._is_checking_file = False
        self._timer: asyncio.TimerHandle | None = None
        self._is_checking = False
        self._is_outdated = False
        self._is_closed = False
        self._complaint = ""
        self._accused: str | None = None
        """The file of settings with an error."""
        self._tasks: set[asyncio.Task[None]] = set()

    # -- what happens in the editor

    def opened(self, document: Document) -> None:
        """Take a document that was opened."""
        path, whole = document.path, self._whole
        shown = self._shown.get(path)
        if whole is not None and shown is not None and shown.data == document.data:
            self._publish(path, is_new=True)
            self._fast.do(lambda: whole.again.prepare([path]))
        elif whole is not None and whole.kept.data.get(path) == document.data:
            self._fast.do(lambda: whole.again.prepare([path]))
        else:
            self.changed(document)

    def changed(self, document: Document) -> None:
        """Take the new text of a document."""
        self._waiting.pop(document.path, None)
        self._waiting[document.path] = None
        self._check_files()
        self.check_after(PAUSE)

    def closed(self, document: Document) -> None:
        """Take that a document was closed, whose unsaved text no longer counts."""
        path = document.path
        self._waiting.pop(path, None)
        self._sound.pop(path, None)
        if read(path) != document.data:
            self._shown.pop(path, None)
            self._publish(path)
        self.check_after(_SOON)

    def check_after(self, seconds: float = _SOON) -> None:
        """Check the folder after some time in which nothing else asks for it."""
        if self._timer is not None:
            self._timer.cancel()
        self._is_outdated = True
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check)

    def depends_on(self, path: str) -> bool:
        """Return whether a file, which changed on disk, may change what is reported."""
        if self._whole is None or path.endswith(".py"):
            return True
        directory = path.rpartition("/")[0]
        return path in self._whole.asked or directory in self._whole.asked

    def close(self) -> None:
        """Clear all diagnostics, and check nothing any more."""
        self._is_closed = True
        self._is_outdated = True
        if self._timer is not None:
            self._timer.cancel()
        for path in list(self._sent):
            self._send(path, None, [])
        self._replace(None)

    # -- what the editor asks

    def found(self, document: Document) -> tuple[tuple[Shown, ...], list[types.Diagnostic]]:
        """Return what was found in a document, and how the editor has it; none if it changed."""
        shown = self._shown.get(document.path)
        if shown is None or shown.data != document.data:
            return (), []
        return shown.found, self._converted(document.path, shown)

    def lines(self, path: str) -> Lines:
        """Return the lines of a file as it is in the editor, or as it was checked."""
        document = self._documents.get(path)
        if document is not None:
            return self._lines_of(path, document.data)
        kept = self._whole.kept.data.get(path) if self._whole is not None else None
        return self._lines_of(path, kept if kept is not None else read(path) or b"")

    def _lines_of(self, path: str, data: bytes) -> Lines:
        known = self._lines.get(path)
        if known is None or known[0] != data:
            known = data, Lines(decoded(data) or "", self._editor.encoding)
            self._lines[path] = known
        return known[1]

    # -- one file

    def _check_files(self) -> None:
        if not self._is_checking_file:
            self._is_checking_file = True
            self._start(self._files_checked())

    async def _files_checked(self) -> None:
        """Check the documents that have changed, the last one first."""
        try:
            while self._waiting:
                path, _ = self._waiting.popitem()
                await self._file_checked(path)
        finally:
            self._is_checking_file = False

    async def _file_checked(self, path: str) -> None:
        document, whole = self._documents.get(path), self._whole
        if document is None or whole is None:
            return  # the check of the folder will find it
        data, last = document.data, self._sound.get(path)
        try:
            result = await self._fast.do(lambda: checking.changed(whole, path, data, last))
        except Exception as error:  # noqa: BLE001 - the check of the folder follows
            self._editor.log(f"{path}: {_described(error)}")
            return
        if self._whole is not whole:
            self._waiting.setdefault(path)
        elif result is not None and self._documents.get(path) is not None:
            self._take(path, result)
            self._publish(path, document, is_new=True)

    # -- the folder

    def _check(self) -> None:
        """Begin a check of the folder, or let the one that runs be followed by another."""
        if self._is_checking_file:
            self.check_after(PAUSE)  # the answer to a keystroke comes first
        elif not self._is_checking and not self._is_closed:
            self._is_checking = True
            self._start(self._checked())

    async def _checked(self) -> None:
        """Check the folder until nothing has changed meanwhile."""
        try:
            self._is_outdated = False
            before = self._whole
            own = [d for d in self._documents.all() if self.holds(d.path)]
            sound = {path: checked.data for path, checked in self._sound.items()}

            def progress(*_: int) -> None:
                if self._is_outdated and before is not None:
                    raise Superseded

            def check() -> Whole:
                texts = {d.path: checking.sound(d.path, d.data, sound.get(d.path)) for d in own}
                whole = self.checking.whole(texts, before, progress)
                whole.again.prepare(d.path for d in own[-_RECENT:])
                gc.collect()
                return whole

            await self._taken(self._slow.do(check))
        finally:
            self._is_checking = False
        if self._is_outdated and not self._is_closed and self._has_passed():
            self._check()

    def _has_passed(self) -> bool:
        """Return whether the time of the next check came while this one ran."""
        return self._timer is None or self._timer.when() <= asyncio.get_running_loop().time()

    async def _taken(self, future: asyncio.Future[Whole]) -> None:
        """Publish the result of a check of the folder."""
        try:
            whole = await future
        except Superseded:
            return
        except UserError as error:
            self._complain(error)
            return
        except Exception as error:  # noqa: BLE001 - the server must outlive what it checks
            self._warn(_described(error))
            return
        if self._is_closed:
            whole.again.close()
            return
        self._clear_complaint()
        self._replace(whole)
        self._shown = dict(whole.by_file)
        for path in whole.given:
            self._take(path, whole.by_file[path])
        for note in whole.notes:
            self._editor.log(note)
        for document in self._documents.all():
            path = document.path
            if path in whole.given and whole.by_file[path].data != document.data:
                self._waiting.setdefault(path)
        for path in sorted({*self._shown, *self._sent}):
            self._publish(path)
        self._check_files()

    def _replace(self, whole: Whole | None) -> None:
        before, self._whole = self._whole, whole
        if before is not None:
            self._fast.do(before.again.close)  # after the check of a file that still needs it

    def _take(self, path: str, checked: Checked) -> None:
        self._shown[path] = checked
        if not any(shown.diagnostic.code == OF_FILES for shown in checked.found):
            self._sound[path] = checked

    # -- messages

    def _complain(self, error: UserError) -> None:
        """Show an error in the settings at its place, and once as a message."""
        self._warn(str(error))
        path = error.filename
        text = self._documents.text(path)
        if text is not None:
            self._clear_accused()
            self._accused = path
            self._send(path, None, [of_settings(error, Lines(text, self._editor.encoding))])

    def _warn(self, message: str) -> None:
        if message != self._complaint:
            self._complaint = message
            self._editor.warn(message)

    def _clear_complaint(self) -> None:
        self._complaint = ""
        self._clear_accused()

    def _clear_accused(self) -> None:
        if self._accused is not None:
            path, self._accused = self._accused, None
            self._send(path, None, [])

    # -- diagnostics

    def holds(self, path: str) -> bool:
        """Return whether a file is in the folder."""
        return self.checking.holds(path)

    def _publish(
        self, path: str, document: Document | None = None, *, is_new: bool = False
    ) -> None:
        """Send the diagnostics of a file, unless the editor has another text of it.

        Args:
            path: The file.
            document: The document as it was checked; None for the current one.
            is_new: True to send them even if the editor has the same.
        """
        if path == self._accused:
            return
        shown = self._shown.get(path)
        document = document or self._documents.get(path)
        if document is not None and shown is not None and shown.data != document.data:
            return
        found = self._converted(path, shown) if shown is not None else []
        if is_new or found != self._sent.get(path, []):
            self._send(path, document, found)

    def _converted(self, path: str, shown: Checked) -> list[types.Diagnostic]:
        causes: dict[str, list[Diagnostic]] = {}
        for checked in self._shown.values():
            for one in checked.found:
                causes.setdefault(one.diagnostic.cause, []).append(one.diagnostic)
        own = self._whole.own_blockers if self._whole is not None else ()
        lines = self._lines_of(path, shown.data)
        return Converter(self.lines, own, causes).converted(lines, shown.found)

    def _send(self, path: str, document: Document | None, found: list[types.Diagnostic]) -> None:
        self._sent[path] = found
        if not found:
            del self._sent[path]
        uri, version = uri_of(path), None
        if document is not None:
            uri, version = document.uri, document.version
        self._editor.publish(uri, version, found)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._warn(_described(error))


def _described(error: Exception) -> str:
    """Return one line for an internal error."""
    checked = ""
    if isinstance(error, FaultError) and isinstance(error.__cause__, Exception):
        checked, error = f" while it checked {error.filename}", error.__cause__
    text = " ".join(str(error).split())
    return f"gblock itself failed{checked}: {type(error).__name__}: {text}"
