"""An array of diagnostics for other programs; fields that ruff has, too, have ruff's names."""

from __future__ import annotations

import json

from gblock.output import urls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Diagnostic, Fix, Location, Observed, Related, Report


def render(report: Report, _source_of: object = None, _width: int | None = None) -> str:
    """Return one JSON array and a line feed."""
    # ASCII only: it is the same in every locale, and a file's name may not be Unicode.
    return json.dumps([_object(each, report) for each in report.diagnostics], indent=2) + "\n"


def _object(diagnostic: Diagnostic, report: Report) -> dict[str, object]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.label,
        "blocker": diagnostic.blocker,
        "symbol": diagnostic.symbol,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "filename": diagnostic.filename,
        "location": _place(diagnostic.location),
        "end_location": _place(diagnostic.end_location),
        "related": [_related(related) for related in diagnostic.related],
        "observed": _observed(diagnostic.observed),
        "context": diagnostic.context or None,
        "path": [_related(step) for step in diagnostic.path],
        "paths": [[_related(step) for step in path] for path in diagnostic.paths],
        "cause": diagnostic.cause or None,
        "fix": _fix(diagnostic.fix),
        "url": urls.of_rule(diagnostic.code),
        "blocker_url": urls.of_blocker(diagnostic, report),
    }


def _related(related: Related) -> dict[str, object]:
    found: dict[str, object] = {
        "filename": related.filename,
        "location": _place(related.location),
        "message": related.message,
    }
    if related.context:
        found |= {"context": related.context, "path": [_related(step) for step in related.path]}
    return found


def _place(location: Location) -> dict[str, int]:
    return {"row": location.row, "column": location.column}


def _fix(fix: Fix | None) -> dict[str, object] | None:
    if fix is None:
        return None
    return {
        "applicability": fix.applicability,
        "message": fix.message,
        "edits": [
            {
                "filename": edit.filename,
                "content": edit.content,
                "location": _place(edit.location),
                "end_location": _place(edit.end_location),
            }
            for edit in fix.edits
        ],
    }


def _observed(observed: Observed | None) -> dict[str, object] | None:
    if observed is None:
        return None
    return {
        "count": observed.times,
        "seconds": round(observed.seconds, 6),
        "max": round(observed.longest, 6),
    }
