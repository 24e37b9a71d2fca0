"""Diagnostics as the protocol has them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types

from gblock.diagnostics import Location, Severity
from gblock.output import urls
from gblock.rules import OF_COMMENTS
from gblock.server.uris import uri_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gblock.diagnostics import Diagnostic
    from gblock.errors import UserError
    from gblock.server.checking import Shown
    from gblock.server.positions import Lines

SOURCE = "gblock"
SETTINGS = "settings"
"""The code of a message about a file of settings, which is no rule."""
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Hint,
}
_PLACES = 10
"""At most this many places that share a cause are named."""


class Converter:
    """Converts the diagnostics of one folder.

    Args:
        lines_of: Returns the lines of a file, by its path.
        own_blockers: The ids of blockers that no page describes.
        causes: By cause the diagnostics of the folder that share it.
    """

    def __init__(
        self,
        lines_of: Callable[[str], Lines],
        own_blockers: Collection[str],
        causes: dict[str, list[Diagnostic]],
    ) -> None:
        self._lines_of = lines_of
        self._own = own_blockers
        self._causes = causes

    def converted(self, lines: Lines, found: Iterable[Shown]) -> list[types.Diagnostic]:
        """Return the diagnostics of one file.

        Args:
            lines: The lines of the text that was checked.
            found: What was found in it.
        """
        return [self._converted(lines, shown.diagnostic) for shown in found]

    def _converted(self, lines: Lines, one: Diagnostic) -> types.Diagnostic:
        parts = (one.message, one.why, one.help and f"Instead: {one.help}")
        return types.Diagnostic(
            range=lines.range(one.location, one.end_location),
            message="\n".join(filter(None, parts)),
            severity=_SEVERITIES[one.severity],
            code=one.code,
            code_description=types.CodeDescription(self._page(one)),
            source=SOURCE,
            tags=[types.DiagnosticTag.Unnecessary] if one.code == OF_COMMENTS else None,
            related_information=self._related(one) or None,
        )

    def _page(self, one: Diagnostic) -> str:
        if one.blocker is None or one.blocker in self._own:
            return urls.of_rule(one.code)
        return urls.of_entry(one.blocker)

    def _related(self, one: Diagnostic) -> list[types.DiagnosticRelatedInformation]:
        """Return the path to the call, the related places, and those with the same cause."""
        found = [
            self._place(step.filename, step.location, f"{_ordinal(number, one)}{step.message}")
            for number, step in enumerate(one.path)
        ]
        found += [self._place(r.filename, r.location, r.message) for r in one.related]
        same = [
            other
            for other in self._causes.get(one.cause, ())
            if one.cause and (other.filename, other.location) != (one.filename, one.location)
        ]
        for other in same[:_PLACES]:
            message = f"the same cause: {other.message}"
            found.append(self._place(other.filename, other.location, message))
        return found

    def _place(
        self, filename: str, location: Location, message: str
    ) -> types.DiagnosticRelatedInformation:
        path = os.path.abspath(filename)
        position = self._lines_of(path).position(location)
        place = types.Location(uri_of(path), types.Range(position, position))
        return types.DiagnosticRelatedInformation(place, message)


def _ordinal(number: int, one: Diagnostic) -> str:
    """Return what stands before a step of a path: the context before the first."""
    return f"{one.context}: " if not number and one.context else "calls "


def of_settings(error: UserError, lines: Lines) -> types.Diagnostic:
    """Return an error in a file of settings as a diagnostic."""
    start = Location(max(error.row, 1), max(error.column, 1))
    return types.Diagnostic(
        range=lines.range(start, start),
        message=error.message,
        severity=types.DiagnosticSeverity.Error,
        code=SETTINGS,
        source=SOURCE,
    )
