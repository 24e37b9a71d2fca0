"""SARIF 2.1.0, which GitHub's code scanning and many viewers read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from urllib.parse import quote

from gblock import __version__
from gblock.diagnostics import order
from gblock.output import urls
from gblock.output.fingerprints import fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import (
        Diagnostic,
        Edit,
        Fix,
        Location,
        Problem,
        Related,
        Report,
        RulePage,
    )

    Object = dict[str, object]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "SRCROOT"
"""Stands for the working directory, which relative paths start from."""
_KINDS = {
    "comment": "inSource",
    "configuration": "external",
    "baseline": "external",
    "since": "external",
}


def render(
    report: Report, source_of: Callable[[str], str | None], _width: int | None = None
) -> str:
    """Return the log of one run; hidden diagnostics are included with the reason."""
    every = [(one, None) for one in report.diagnostics]
    shown = [*every, *((one.diagnostic, one.reason) for one in report.hidden)]
    ids = fingerprints(diagnostic for diagnostic, _ in shown)
    lines = _Lines(source_of)
    indexes = {page.name: index for index, page in enumerate(report.pages)}
    results = [
        _result(one, reason, ids[one], report, indexes, lines)
        for one, reason in sorted(shown, key=lambda pair: order(pair[0]))
    ]
    driver: Object = {
        "name": "gblock",
        "version": __version__,
        "informationUri": urls.REPOSITORY,
        "rules": [_rule(page) for page in report.pages],
    }
    run: Object = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"description": {"text": "The working directory."}}},
        "invocations": [_invocation(report)],
        "results": results,
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _rule(page: RulePage) -> Object:
    return {
        "id": page.name,
        "name": "".join(word.capitalize() for word in page.name.split("-")),
        "shortDescription": {"text": page.summary},
        "fullDescription": {"text": page.summary},
        "help": {"text": page.text, "markdown": page.text},
        "helpUri": urls.of_rule(page.name),
        "defaultConfiguration": {"enabled": page.on_by_default},
    }


def _invocation(report: Report) -> Object:
    problems = [_notification(problem) for problem in report.problems]
    notes: list[Object] = [{"level": "note", "message": {"text": note}} for note in report.notes]
    return {
        "executionSuccessful": not problems,
        "toolExecutionNotifications": [*problems, *notes],
    }


def _notification(problem: Problem) -> Object:
    place: Object = {"artifactLocation": _artifact(problem.filename)}
    if problem.location is not None:
        place["region"] = {
            "startLine": problem.location.row,
            "startColumn": problem.location.column,
        }
    return {
        "level": "error",
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": place}],
    }


def _result(
    diagnostic: Diagnostic,
    reason: str | None,
    fingerprint: str,
    report: Report,
    indexes: dict[str, int],
    lines: _Lines,
) -> Object:
    parts = (diagnostic.message, diagnostic.why, diagnostic.help)
    place = _physical(diagnostic.filename, diagnostic.location, diagnostic.end_location, lines)
    result: Object = {
        "ruleId": diagnostic.code,
        "level": diagnostic.severity.label,
        "message": {"text": "\n".join(part for part in parts if part)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"gblock/v1": fingerprint},
    }
    if diagnostic.code in indexes:
        result["ruleIndex"] = indexes[diagnostic.code]
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, **_place(related)} for number, related in enumerate(diagnostic.related)
        ]
    paths = diagnostic.paths or ((diagnostic.path,) if diagnostic.path else ())
    if paths:
        result["codeFlows"] = [
            {"threadFlows": [{"locations": [{"location": _place(step)} for step in path]}]}
            for path in paths
        ]
    if diagnostic.fix is not None:
        result["fixes"] = [_fix(diagnostic.fix)]
    if reason is not None:
        result["suppressions"] = [{"kind": _KINDS[reason], "justification": reason}]
    properties = {
        "blocker": diagnostic.blocker,
        "blockerUri": urls.of_blocker(diagnostic, report),
        "symbol": diagnostic.symbol,
        "context": diagnostic.context,
        "cause": diagnostic.cause,
        "timesObserved": diagnostic.observed.times if diagnostic.observed else None,
    }
    result["properties"] = {key: value for key, value in properties.items() if value}
    return result


def _fix(fix: Fix) -> Object:
    changes = [
        {
            "artifactLocation": _artifact(filename),
            "replacements": [_replacement(edit) for edit in fix.edits if edit.filename == filename],
        }
        for filename in dict.fromkeys(edit.filename for edit in fix.edits)
    ]
    return {
        "description": {"text": fix.message},
        "artifactChanges": changes,
        "properties": {"applicability": fix.applicability},
    }


def _replacement(edit: Edit) -> Object:
    region = {
        "startLine": edit.location.row,
        "startColumn": edit.location.column,
        "endLine": edit.end_location.row,
        "endColumn": edit.end_location.column,
    }
    return {"deletedRegion": region, "insertedContent": {"text": edit.content}}


def _place(related: Related) -> Object:
    place = _physical(related.filename, related.location, None, None)
    return {"physicalLocation": place, "message": {"text": related.message}}


def _physical(filename: str, start: Location, end: Location | None, lines: _Lines | None) -> Object:
    region: Object = {"startLine": start.row, "startColumn": start.column}
    if end is not None:
        region |= {"endLine": end.row, "endColumn": end.column}
    snippet = lines.between(filename, start.row, end.row) if lines and end else None
    if snippet is not None:
        region["snippet"] = {"text": snippet}
    return {"artifactLocation": _artifact(filename), "region": region}


def _artifact(filename: str) -> Object:
    # A path need not be UTF-8: its bytes are quoted, as RFC 3986 wants.
    uri = quote(os.fsencode(filename.replace(os.sep, "/")))
    if os.path.isabs(filename):
        return {"uri": f"file://{uri}"}
    # `quote` also escapes a colon, before which a reader would expect a scheme.
    return {"uri": uri, "uriBaseId": _BASE}


class _Lines:
    """The lines of reported files, as the report shows them."""

    def __init__(self, source_of: Callable[[str], str | None]) -> None:
        self._source_of = source_of
        self._lines: dict[str, list[str]] = {}

    def between(self, filename: str, first: int, last: int) -> str | None:
        """Return some rows, None if the file is unavailable or has become shorter."""
        if filename not in self._lines:
            self._lines[filename] = (self._source_of(filename) or "").split("\n")
        return "\n".join(self._lines[filename][first - 1 : last]) or None
