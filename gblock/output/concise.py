"""One line for each diagnostic, for editors, grep and small terminals."""

from __future__ import annotations

from gblock.output.fixable import mark
from gblock.output.place import place, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Diagnostic, Report


def render(report: Report, _source_of: object = None, _width: int | None = None) -> str:
    """Return ``path:row:col: severity[code] message`` lines."""
    return "".join(f"{_line(diagnostic, report)}\n" for diagnostic in report.diagnostics)


def _line(diagnostic: Diagnostic, report: Report) -> str:
    where = place(diagnostic.filename, diagnostic.location)
    kind = f"{diagnostic.severity.label}[{diagnostic.code}]{mark(diagnostic, report)}"
    return f"{where}: {kind} {printable(diagnostic.message)}"
