"""Diagnostics for people: the call in its line, why it blocks, and the remedy."""

from __future__ import annotations

from gblock.output.causes import Cause, causes
from gblock.output.excerpt import excerpt
from gblock.output.fixable import mark
from gblock.output.place import place, printable
from gblock.output.seconds import observed_sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gblock.diagnostics import Diagnostic, Report

# The width of a source line in a report that no terminal wraps.
_PLAIN_ROOM = 120
_PLACES_SHOWN = 8
"""The number of further places listed for a cause."""
_CALLS_SHOWN = 3
"""The number of calls listed that run through a diagnostic."""
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def render(report: Report, source_of: Callable[[str], str | None], width: int | None) -> str:
    """Return the whole report: coloured for a terminal of that width, plain without one."""
    lines_of = _Sources(source_of)
    if report.by_path:
        shown = [Cause(one, ()) for one in report.diagnostics]
    else:
        shown = causes(report.diagnostics)
    if width is None:
        return "".join(_plain(one, lines_of, report) for one in shown)
    return _coloured(shown, lines_of, width, report) if shown else ""


class _Sources:
    """The lines of each reported file, split once; diagnostics come in order of file."""

    def __init__(self, source_of: Callable[[str], str | None]) -> None:
        self._source_of = source_of
        self._filename: str | None = None
        self._lines: list[str] = []

    def line(self, filename: str, row: int) -> str | None:
        """Return a line, None if the file or the row is missing: it may have changed meanwhile."""
        if filename != self._filename:
            self._filename = filename
            self._lines = (self._source_of(filename) or "").split("\n")
        return self._lines[row - 1] if row <= len(self._lines) else None


def _excerpt(diagnostic: Diagnostic, sources: _Sources, room: int) -> tuple[str, str] | None:
    (row, column), (end_row, end_column) = diagnostic.location, diagnostic.end_location
    line = sources.line(diagnostic.filename, row)
    if not line:
        return None
    line = line.rstrip()
    end = end_column - 1 if end_row == row else len(line)
    return excerpt(line, column - 1, end, room)


def _sentences(cause: Cause) -> Iterator[tuple[str, str]]:
    diagnostic = cause.first
    for path in diagnostic.paths or (diagnostic.path,):
        if len(path) > 1:
            yield "path", printable(" → ".join(step.message for step in path))
    if diagnostic.why:
        yield "why", printable(diagnostic.why)
    if diagnostic.help:
        yield "instead", printable(diagnostic.help)
    if diagnostic.observed:
        yield "observed", observed_sentence(diagnostic.observed)
    through = [one for one in diagnostic.related if one.context]
    for one in through[:_CALLS_SHOWN]:
        way = " → ".join([*(step.message for step in one.path), one.message])
        yield "through", f"{place(one.filename, one.location)}: {printable(way)}"
    if len(through) > _CALLS_SHOWN:
        yield "through", f"{len(through) - _CALLS_SHOWN} more; --output-format json lists them"
    for related in diagnostic.related:
        if related.context:
            continue
        yield "see", f"{place(related.filename, related.location)}: {printable(related.message)}"
    for other in cause.others[:_PLACES_SHOWN]:
        yield "also", f"{place(other.filename, other.location)}: {printable(other.message)}"
    if len(cause.others) > _PLACES_SHOWN:
        yield (
            "also",
            f"{len(cause.others) - _PLACES_SHOWN} more places; --output-format concise lists them",
        )


def _plain(cause: Cause, sources: _Sources, report: Report) -> str:
    diagnostic = cause.first
    where = place(diagnostic.filename, diagnostic.location)
    kind = f"{diagnostic.severity.label}[{diagnostic.code}]{mark(diagnostic, report)}"
    lines = [f"{where}: {kind} {printable(diagnostic.message)}"]
    gutter = f"{diagnostic.location.row:>5}"
    shown = _excerpt(diagnostic, sources, _PLAIN_ROOM)
    if shown is not None:
        lines += [f"{gutter} | {shown[0]}", f"{'':>{len(gutter)}} | {shown[1]}"]
    lines += [f"{label:>10}: {text}" for label, text in _sentences(cause)]
    return "\n".join(lines) + "\n\n"


def _coloured(shown_causes: list[Cause], sources: _Sources, width: int, report: Report) -> str:
    from rich.text import Text

    from gblock.output.terminal import Page

    page = Page(width)
    for cause in shown_causes:
        diagnostic = cause.first
        style = _STYLES[diagnostic.severity.label]
        label = diagnostic.severity.label
        title = Text.assemble(
            (place(diagnostic.filename, diagnostic.location), "bold"),
            ": ",
            (f"{label}[{diagnostic.code}]", style),
            (mark(diagnostic, report), "bold"),
            " ",
            printable(diagnostic.message),
        )
        page.line(title)
        gutter = f"{diagnostic.location.row:>5}"
        shown = _excerpt(diagnostic, sources, page.width - len(gutter) - 3)
        if shown is not None:
            line = Text.assemble((f"{gutter} | ", "blue"), shown[0])
            carets = Text.assemble((f"{'':>{len(gutter)}} | ", "blue"), (shown[1], style))
            page.line(line)
            page.line(carets)
        for name, sentence in _sentences(cause):
            page.wrapped(Text(sentence), f"{name:>10}: ")
        page.line()
    return page.text
