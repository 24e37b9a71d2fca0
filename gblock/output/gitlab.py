"""GitLab's code quality report, which merge requests show beside their changes.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json

from gblock.output.fingerprints import fingerprints
from gblock.output.place import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Diagnostic, Report

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report, _source_of: object = None, _width: int | None = None) -> str:
    """Return one JSON array and a line feed."""
    hidden = (one.diagnostic for one in report.hidden)
    ids = fingerprints((*report.diagnostics, *hidden))
    return json.dumps([_object(one, ids[one]) for one in report.diagnostics], indent=2) + "\n"


def _object(diagnostic: Diagnostic, fingerprint: str) -> dict[str, object]:
    parts = (diagnostic.message, diagnostic.why, diagnostic.help)
    return {
        "description": ". ".join(printable(part).rstrip(".") for part in parts if part),
        "check_name": diagnostic.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[diagnostic.severity.label],
        "location": {
            "path": diagnostic.filename,
            "positions": {
                "begin": _position(*diagnostic.location),
                "end": _position(*diagnostic.end_location),
            },
        },
    }


def _position(row: int, column: int) -> dict[str, int]:
    return {"line": row, "column": column}
