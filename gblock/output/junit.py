"""JUnit's XML, which Jenkins, Azure Pipelines and CircleCI read: each diagnostic is a failure."""

from __future__ import annotations

from itertools import groupby
from xml.sax.saxutils import escape, quoteattr  # only writes: nothing is parsed

from gblock.output.place import place, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gblock.diagnostics import Diagnostic, Problem, Report


def render(report: Report, _source_of: object = None, _width: int | None = None) -> str:
    """Return the document: a suite for each file, or a passing one without diagnostics."""
    failures, errors = len(report.diagnostics), len(report.problems)
    tests = failures + errors or 1
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="gblock" tests="{tests}" failures="{failures}" errors="{errors}">',
    ]
    for filename, those in groupby(report.diagnostics, lambda one: one.filename):
        lines += _suite(filename, [*those])
    for problem in report.problems:
        lines += _problem(problem)
    if not (failures or errors):
        lines += [
            '  <testsuite name="gblock" tests="1" failures="0" errors="0">',
            '    <testcase name="no blocking calls" classname="gblock"/>',
            "  </testsuite>",
        ]
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(filename: str, diagnostics: list[Diagnostic]) -> Iterator[str]:
    name, count = _attribute(filename), len(diagnostics)
    yield f'  <testsuite name={name} tests="{count}" failures="{count}" errors="0">'
    for diagnostic in diagnostics:
        row, column = diagnostic.location
        case = _attribute(f"{diagnostic.code} at {row}:{column}")
        yield f'    <testcase name={case} classname={name} file={name} line="{row}">'
        kind = _attribute(diagnostic.severity.label)
        yield f"      <failure type={kind} message={_attribute(diagnostic.message)}>"
        where = place(filename, diagnostic.location)
        parts = (f"{where}: {diagnostic.message}", diagnostic.why, diagnostic.help)
        yield "\n".join(escape(printable(part)) for part in parts if part)
        yield "</failure>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _problem(problem: Problem) -> Iterator[str]:
    name = _attribute(problem.filename)
    yield f'  <testsuite name={name} tests="1" failures="0" errors="1">'
    yield f'    <testcase name="unreadable" classname={name} file={name}>'
    yield f"      <error message={_attribute(problem.message)}/>"
    yield "    </testcase>"
    yield "  </testsuite>"


def _attribute(text: str) -> str:
    return quoteattr(printable(text))
