"""One snippet, or a small project, against the ``# expect:`` markers on its lines.

The whole list of (file, row, rule) must be equal: a wrong row, a second report or a report of
another rule fails. ``# todo-expect: name`` marks a known miss, and fails the day it is found.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from gblock.config import Config
from gblock.diagnostics import Report
from gblock.engine import check

_EXPECT = re.compile(r"#\s*expect:\s*([\w, -]+)")


def expected(text: str) -> list[tuple[int, str]]:
    """The rows and names that a text's markers ask for, sorted."""
    return sorted(
        (row, name.strip())
        for row, line in enumerate(text.splitlines(), 1)
        for marker in _EXPECT.findall(line)
        for name in marker.split(",")
    )


def report_of(directory: Path, text: str, **options: object) -> Report:
    """Check one snippet as the only file of a project."""
    path = directory / "service.py"
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return check([str(path)], Config(root=str(directory)), **options)


def assert_exactly(directory: Path, text: str, **options: object) -> None:
    """Fail unless a snippet's diagnostics are those that its markers ask for."""
    text = textwrap.dedent(text).lstrip("\n")
    report = report_of(directory, text, **options)
    got = sorted((d.location.row, d.code) for d in report.diagnostics)

    assert not report.problems, report.problems
    assert expected(text) == got, "\n".join(f"{d.location.row}: {d}" for d in report.diagnostics)


def assert_project(root: Path, **options: object) -> None:
    """Fail unless the diagnostics of a whole project are those of its markers."""
    files = sorted(path for path in root.rglob("*.py"))
    wanted = [
        (str(path.relative_to(root)), row, name)
        for path in files
        for row, name in expected(path.read_text(encoding="utf-8"))
    ]
    report = check([str(root)], Config(root=str(root)), **options)
    got = [
        (str(Path(d.filename).resolve().relative_to(root.resolve())), d.location.row, d.code)
        for d in report.diagnostics
    ]

    assert not report.problems, report.problems
    assert sorted(wanted) == sorted(got), "\n".join(map(str, report.diagnostics))
