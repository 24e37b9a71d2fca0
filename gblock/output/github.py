"""Workflow commands: GitHub Actions shows each diagnostic next to its line in the pull request.

The syntax and its escapes are those of actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from gblock.output.place import place, printable
from gblock.output.seconds import observed_sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Diagnostic, Report

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, _source_of: object = None, _width: int | None = None) -> str:
    """Return one ``::error file=…::message`` line for each diagnostic."""
    return "".join(f"{_command(diagnostic)}\n" for diagnostic in report.diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    properties = {
        "file": diagnostic.filename,
        "line": diagnostic.location.row,
        "col": diagnostic.location.column,
        "endLine": diagnostic.end_location.row,
        "endColumn": diagnostic.end_location.column,
        "title": f"gblock ({diagnostic.code})",
    }
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    # The log shows only the message, so it repeats the place, as ruff's does.
    where = place(diagnostic.filename, diagnostic.location)
    seen = observed_sentence(diagnostic.observed) if diagnostic.observed else ""
    parts = (diagnostic.message, diagnostic.why, diagnostic.help, seen)
    message = f"{where}: " + "\n".join(printable(part) for part in parts if part)
    return f"::{_COMMANDS[diagnostic.severity.label]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
