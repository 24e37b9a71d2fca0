"""Checks of one folder, as a whole and of one changed file; nothing here knows the protocol.

A whole check keeps its answers in memory for the checks of single files that follow it, and what it
has read for the next whole check. `whole` and `prepared` may run in one thread while `changed`
runs in another: they share values that never change.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from gblock import config, opened
from gblock.diagnostics import Diagnostic, Location, order
from gblock.engine import Check, Request
from gblock.engine.again import Again
from gblock.errors import UserError
from gblock.patterns import Patterns
from gblock.project.reading.parsing import UNPARSABLE, verify
from gblock.rules import OF_FILES, OF_PROCESSES
from gblock.server.documents import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gblock.config import Config
    from gblock.observations import Observations
    from gblock.project.reading.modules import Kept
    from gblock.server.options import ServerOptions

_SETTLED = 2_000_000_000
"""Nanoseconds: a file that changed later than this before a check is read again by the next one."""

Stamp = tuple[int, int, int]


class Shown(NamedTuple):
    """A diagnostic, and the rows of its statement, where a comment can suppress it."""

    diagnostic: Diagnostic
    rows: tuple[int, int] | None


class Checked(NamedTuple):
    """The results for one file."""

    data: bytes
    """The bytes that were checked."""
    found: tuple[Shown, ...]


class Whole(NamedTuple):
    """The result of a check of the whole folder."""

    again: Again
    by_file: dict[str, Checked]
    """Every file with a diagnostic, and every open file."""
    kept: Kept
    stamps: Mapping[str, Stamp]
    """The times and sizes of the files that were read, as far as they can be compared."""
    given: Mapping[str, bytes]
    """The unsaved texts that were checked."""
    asked: frozenset[str]
    """The files, directories and names that the result depends on."""
    own_blockers: frozenset[str]
    notes: tuple[str, ...]


class Checking:
    """Checks one folder, or one file that is in none.

    Args:
        root: The folder, or the file.
        asked: The options of the command line.
        observed: Returns what probes recorded, None if no records were named.
    """

    def __init__(
        self, root: str, asked: ServerOptions, observed: Callable[[Config], Observations | None]
    ) -> None:
        self.root = root
        self._asked = asked
        self._observed = observed

    def settings(self) -> Config:
        """Return the settings of the folder.

        Raises:
            UserError: if they are wrong.
        """
        directory = self.root if os.path.isdir(self.root) else os.path.dirname(self.root)
        if self._asked.config is not None:
            found = config.load(self._asked.config)
        elif self._asked.isolated:
            found = config.Config()
        else:
            found = config.find(self.root)
        if found.filename is None or self._asked.config is not None:
            src = (directory, os.path.join(directory, "src"))
            found = config.changed(found, root=directory, src=src)
        return found

    def whole(
        self,
        texts: Mapping[str, bytes],
        before: Whole | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Whole:
        """Check the whole folder.

        Args:
            texts: The unsaved text of open files, each without errors of syntax if possible.
            before: The result of the last check.
            on_progress: Called between two files; may raise an exception to end the check.

        Raises:
            UserError: if the settings, the catalog or the baseline are wrong.
        """
        begun = time.time_ns()
        record = opened.begin()
        settings = self.settings()
        request = Request(
            [self.root],
            settings,
            min_severity=self._asked.min_severity,
            all_contexts=self._asked.all_contexts,
            observed=self._observed(settings),
            given=texts,
            in_units=False,
        )
        check = Check(request, on_progress)
        self._add_new(check, texts, settings)
        modules = check.codebase.modules
        if before is not None:
            modules.inherit(before.kept, _changed(before, texts))
        report = check.report()
        kept = modules.kept()
        of_file: dict[str, list[Shown]] = {path: [] for path in texts}
        for one in report.diagnostics:
            path = os.path.abspath(one.filename)
            of_file.setdefault(path, []).append(Shown(one, check.rows(one)))
        by_file = {
            path: Checked(texts.get(path, kept.data.get(path, b"")), tuple(found))
            for path, found in of_file.items()
        }
        asked = record.paths | record.names
        if before is not None:
            asked |= before.asked
        return Whole(
            Again(check),
            by_file,
            kept,
            _stamps(kept.data, texts, begun),
            texts,
            frozenset(asked),
            report.own_blockers,
            (*report.notes, *(f"{one.filename}: {one.message}" for one in report.problems)),
        )

    def _add_new(self, check: Check, texts: Mapping[str, bytes], settings: Config) -> None:
        """Add the open files that are not on disk yet."""
        excluded = Patterns(settings.root, settings.exclude)
        for path, data in texts.items():
            is_new = path.endswith(".py") and not os.path.lexists(path)
            if is_new and self.holds(path) and not excluded.verdict(path):
                check.codebase.add(path, data)

    def holds(self, path: str) -> bool:
        """Return whether a path is the root or below it."""
        return path == self.root or path.startswith(os.path.join(self.root, ""))


def changed(whole: Whole, path: str, data: bytes, last: Checked | None) -> Checked | None:
    """Check one file whose text has changed since the whole check.

    Args:
        whole: The last whole check.
        path: The file.
        data: Its bytes now.
        last: What was found in it when it could be parsed.

    Returns:
        None if only a whole check can answer.
    """
    found = whole.again.diagnostics(path, data)
    if found is None:
        return None
    shown = tuple(Shown(one, whole.again.check.rows(one)) for one in found)
    if last is not None and any(one.code == OF_FILES for one in found):
        whole.again.check.codebase.modules.change(path, last.data)
        return Checked(data, (*shown, *moved(last, data)))
    before = whole.by_file.get(path)
    if before is not None:
        about = [one for one in before.found if one.diagnostic.code in OF_PROCESSES]
        shown += moved(before._replace(found=tuple(about)), data)
    return Checked(data, tuple(sorted(shown, key=lambda one: order(one.diagnostic))))


def parses(data: bytes) -> bool:
    """Return whether some bytes are Python."""
    try:
        verify(data)
    except UNPARSABLE:
        return False
    return True


def sound(path: str, data: bytes, last: bytes | None) -> bytes:
    """Return the bytes of an open file to check: those of now, or the last that could be parsed."""
    if parses(data):
        return data
    for other in (last, read(path)):
        if other is not None and parses(other):
            return other
    return data


def moved(checked: Checked, data: bytes) -> tuple[Shown, ...]:
    """Return what was found in another version of a file, where its lines are now.

    What stood in lines that have changed is left out.
    """
    old, new = checked.data.splitlines(), data.splitlines()
    least = min(len(old), len(new))
    head = next((n for n in range(least) if old[n] != new[n]), least)
    rest = least - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    kept = []
    for shown in checked.found:
        one = shown.diagnostic
        first, last = shown.rows or (one.location.row, one.end_location.row)
        if one.code == OF_FILES:
            continue
        if last <= head:
            kept.append(shown._replace(diagnostic=one._replace(repair=None, fix=None)))
        elif first > len(old) - tail:
            kept.append(_shifted(shown, len(new) - len(old)))
    return tuple(kept)


def _shifted(shown: Shown, by: int) -> Shown:
    """Return a diagnostic some rows further down, without its fix."""
    one = shown.diagnostic
    location = Location(one.location.row + by, one.location.column)
    end = Location(one.end_location.row + by, one.end_location.column)
    one = one._replace(location=location, end_location=end, repair=None, fix=None)
    return Shown(one, shown.rows and (shown.rows[0] + by, shown.rows[1] + by))


def _changed(before: Whole, texts: Mapping[str, bytes]) -> set[str]:
    """Return the files whose bytes may differ from those of the last check."""
    found = {path for path, data in before.given.items() if texts.get(path) != data}
    found |= {path for path, data in texts.items() if before.given.get(path) != data}
    for path in before.kept.data:
        if path not in texts and path not in found:
            stamp = before.stamps.get(path)
            if stamp is None or _stamp(path) != stamp:
                found.add(path)
    return found


def _stamps(
    paths: Sequence[str] | Mapping[str, bytes], texts: Mapping[str, bytes], begun: int
) -> Mapping[str, Stamp]:
    """Return what the system says of files that did not change shortly before or in a check."""
    stamps = ((path, _stamp(path)) for path in paths if path not in texts)
    return {path: one for path, one in stamps if one is not None and one[0] < begun - _SETTLED}


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


__all__ = ["Checked", "Checking", "Shown", "UserError", "Whole", "changed", "moved", "sound"]
