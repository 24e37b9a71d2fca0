"""Fixes applied in rounds, in memory, until no fix is left; files are written at the end.

After each round the project is checked again. A round after which something is reported that was
not reported before is taken back.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gblock import fixes
from gblock.decoding import decoded
from gblock.diagnostics import Problem
from gblock.engine import Check, Request
from gblock.errors import UserError
from gblock.fixes.text import applied_to_bytes, compatible
from gblock.repairs import SAFE
from gblock.writing import write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gblock.diagnostics import Diagnostic, Edit, Report

_ROUNDS = 30
"""More are needed only where calls are nested deeper than this."""


class FileChange(NamedTuple):
    """A file that fixes change."""

    path: str
    filename: str
    """The name that its diagnostics have."""
    before: bytes
    after: bytes


class Fixed(NamedTuple):
    """The report once the fixes are applied, and the files that they change."""

    check: Check
    report: Report
    changes: tuple[FileChange, ...]
    """In the order of the files' names; nothing has been written."""


def fixed(
    request: Request,
    *,
    unsafe: bool,
    on_progress: Callable[[int, int], None] | None = None,
) -> Fixed:
    """Check some paths and fix what is reported, in memory.

    Args:
        request: What to check.
        unsafe: Whether to apply also fixes after which the program may do something else.
        on_progress: Called with the number of files done and to do.

    Raises:
        UserError: for a name or a path that does not exist, or a catalog that is wrong.
    """
    rounds = _Rounds(request, unsafe, on_progress)
    for _ in range(_ROUNDS):
        if not rounds.go_on():
            break
    return rounds.result()


def write(changes: Iterable[FileChange]) -> list[Problem]:
    """Write what changed, each file in one step, and return the files that could not be written.

    A file that changed since it was read stays as it is.
    """
    problems = []
    for change in changes:
        try:
            if _read(change.path) != change.before:
                message = "changed while it was checked: its fixes were not written"
                problems.append(Problem(change.filename, message))
            elif not os.access(change.path, os.W_OK):
                problems.append(Problem(change.filename, "cannot be written: permission denied"))
            else:
                write_bytes(change.path, change.after)
        except OSError as error:
            problems.append(Problem(change.filename, f"cannot be read: {error.strerror}"))
        except UserError as error:
            problems.append(Problem(change.filename, error.message))
    return problems


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class _Rounds:
    """One run after another over the project as fixes change it."""

    def __init__(
        self, request: Request, unsafe: bool, on_progress: Callable[[int, int], None] | None
    ) -> None:
        self._request = request
        self._unsafe = unsafe
        self._on_progress = on_progress
        self._given: dict[str, bytes] = {}
        """The files as the fixes so far have made them."""
        self._before: dict[str, bytes] = {}
        self._names: dict[str, str] = {}
        self._refused: set[tuple[object, ...]] = set()
        self._count = 0
        if request.stdin is not None:
            self._given[os.path.abspath(request.stdin[0])] = request.stdin[1]
        self._check, self._report = self._checked()

    def go_on(self) -> bool:
        """Apply one round of fixes and return whether there may be more to do."""
        found = fixes.with_fixes(self._report.diagnostics, self._text)
        wanted = sorted(
            (one for one in found if self._is_wanted(one)),
            key=lambda one: one.repair is None or one.repair.kind != "patch-first",
        )
        chosen = compatible([one.fix for one in wanted if one.fix is not None])
        applying = [one for one in wanted if any(one.fix is fix for fix in chosen)]
        if not applying:
            return False
        given, report, check = dict(self._given), self._report, self._check
        self._apply([edit for fix in chosen for edit in fix.edits])
        self._check, self._report = self._checked()
        new = _new(report, self._report)
        if new:
            self._refuse(applying, new)
            self._given, self._report, self._check = given, report, check
        else:
            self._count += len(applying)
        return True

    def result(self) -> Fixed:
        """Return the last report, and the files that changed."""
        changes = [
            FileChange(path, self._names[path], data, self._given[path])
            for path, data in self._before.items()
            if self._given.get(path, data) != data
        ]
        report = self._report._replace(fixed=self._count)
        return Fixed(self._check, report, tuple(sorted(changes, key=lambda one: one.filename)))

    def _is_wanted(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.fix is None or _identity(diagnostic) in self._refused:
            return False
        return self._unsafe or diagnostic.fix.applicability == SAFE

    def _refuse(self, applied: Sequence[Diagnostic], new: set[str]) -> None:
        """Offer fixes no longer that brought a diagnostic: those in its file, or else all."""
        near = [one for one in applied if one.fix and any(e.filename in new for e in one.fix.edits)]
        self._refused.update(map(_identity, near or applied))

    def _apply(self, edits: Sequence[Edit]) -> None:
        for filename in dict.fromkeys(edit.filename for edit in edits):
            path = os.path.abspath(filename)
            data = self._data(path)
            self._before.setdefault(path, data)
            self._names.setdefault(path, filename)
            own = [edit for edit in edits if edit.filename == filename]
            self._given[path] = applied_to_bytes(data, own)

    def _checked(self) -> tuple[Check, Report]:
        request = self._request._replace(given=self._given)
        if request.stdin is not None:
            name = request.stdin[0]
            request = request._replace(stdin=(name, self._given[os.path.abspath(name)]))
        check = Check(request, self._on_progress)
        return check, check.report()

    def _data(self, path: str) -> bytes:
        if path in self._given:
            return self._given[path]
        return self._check.codebase.modules.data(path)

    def _text(self, filename: str) -> str | None:
        data = self._data(os.path.abspath(filename))
        return decoded(data) if data else None


def _new(before: Report, after: Report) -> set[str]:
    """Return the files with more diagnostics of some kind than before, or with new problems."""
    old, now = Counter(map(_kind, before.diagnostics)), Counter(map(_kind, after.diagnostics))
    return {key[0] for key in now - old}.union(
        problem.filename for problem in set(after.problems).difference(before.problems)
    )


def _kind(diagnostic: Diagnostic) -> tuple[str, str, str | None]:
    return diagnostic.filename, diagnostic.code, diagnostic.blocker


def _identity(diagnostic: Diagnostic) -> tuple[object, ...]:
    """Return what stays of a diagnostic while rows move."""
    return (*_kind(diagnostic), diagnostic.symbol, diagnostic.message)
