"""What there is to say about processes and not about single calls: places, each with its facts.

One module a rule, of the rule's name. It knows no syntax tree of libcst's and words nothing: the
rule of the same name makes a diagnostic of each remark. So a run in which nothing of the kind is
found needs neither.
"""

from __future__ import annotations

import re
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Collection, Iterable
    from typing import Any, NamedTuple, Protocol

    from gblock.project.modules import Modules
    from gblock.project.processes import Processes

    class Finder(Protocol):
        """What a module of this package holds. A clean run imports it: it needs to be light."""

        MARKS: re.Pattern[bytes]
        """A file without it holds nothing that the rule reports."""
        SCATTERED: bool
        """Whether that holds of the project and not of each file: one with the marks is enough."""
        IN_PROCESSES: bool
        """Whether there is nothing to say where no process is known to run on gevent."""

        def find(self, processes: Processes, paths: Collection[str], /) -> Iterable[Remark]:
            """The remarks on some files, each of which holds the marks, and on others."""

else:
    from gblock.diagnostics import NamedTuple  # typing's import is a tenth of a clean run


class Span(NamedTuple):
    """A place in a file: rows from 1, columns in characters from 1, the end exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int


class Remark(NamedTuple):
    """One place that a rule about processes reports."""

    path: str
    span: Span
    facts: Any
    """What the rule needs to word it; each rule's module says which type it is."""
    statement: tuple[int, int] | None = None
    """The first and the last row of the statement, whose comments may suppress it; by default
    those of the span."""


class Remarks:
    """What the rules about processes find, before it is worded.

    Args:
        names: The rules that run.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._finders: dict[str, Finder] = {
            # importlib, which would say it plainer, costs a hundredth of a clean run.
            name: __import__(f"{__package__}.{name.replace('-', '_')}", fromlist=["MARKS"])
            for name in names
        }

    @cached_property
    def _marks(self) -> re.Pattern[bytes] | None:
        return _any(one for one in self._finders.values() if not one.SCATTERED)

    @cached_property
    def scattered(self) -> re.Pattern[bytes] | None:
        """What some file must hold, where that is enough for any file to hold something."""
        return _any(one for one in self._finders.values() if one.SCATTERED)

    def may_be_in(self, data: bytes) -> bool:
        """Whether a file may hold something by itself, told from its bytes."""
        return self._marks is not None and self._marks.search(data) is not None

    def of(
        self, processes: Processes, paths: Collection[str]
    ) -> dict[str, list[tuple[str, Remark]]]:
        """For each file that has any, the rules' names and their remarks.

        Args:
            processes: The processes of the project.
            paths: The files to report.
        """
        found: dict[str, list[tuple[str, Remark]]] = {}
        data = processes.modules.data
        for name, finder in self._finders.items():
            marked = paths
            if finder.IN_PROCESSES and not processes.has_gevent:
                continue
            if not finder.SCATTERED:
                marked = [path for path in paths if finder.MARKS.search(data(path))]
            for remark in finder.find(processes, marked) if marked else ():
                found.setdefault(remark.path, []).append((name, remark))
        return found


def _any(finders: Iterable[Finder]) -> re.Pattern[bytes] | None:
    """One pattern for the marks of several rules."""
    marks = [finder.MARKS for finder in finders]
    if len(marks) < 2:
        return marks[0] if marks else None
    return re.compile(b"|".join(b"(?:%s)" % one.pattern for one in marks))


def pointed_at(
    modules: Modules, path: str, row: int, name: str
) -> tuple[Span, tuple[int, int] | None]:
    """The place of what a row says, and the rows of its statement.

    Args:
        modules: The project's files.
        path: The file.
        row: The row on which an import, an assignment or a call begins.
        name: The identifier to point at: that of the imported name, or what is called.

    Returns:
        The imported name or the whole call; else the statement that begins on the row, or its text.
    """
    import ast  # only where something is to be reported

    lines = (modules.text(path) or "").split("\n")
    text = lines[row - 1] if 0 < row <= len(lines) else ""
    stripped = text.strip()
    start = len(text) - len(text.lstrip())
    span = Span(row, start + 1, row, start + len(stripped) + 1)
    try:
        tree = ast.parse(modules.data(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return span, None
    best: ast.stmt | None = None
    found: ast.alias | ast.expr | ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= row <= (node.end_lineno or node.lineno):
            best = node  # breadth first: the last one is the innermost
        elif isinstance(node, ast.Call) and node.lineno == row:
            if found is None and _last(node.func) == name:
                found = node
    if isinstance(best, ast.Import | ast.ImportFrom):
        found = next((one for one in best.names if one.name == name), None)
    elif found is None and best is not None:
        found = next(
            (n for n in ast.walk(best) if isinstance(n, ast.Attribute) and n.attr == name), None
        )
    statement = None
    if best is not None:
        body = getattr(best, "body", None)
        last = body[0].lineno - 1 if body else best.end_lineno or best.lineno
        statement = (best.lineno, max(last, best.lineno))
        if found is None and body is None and best.lineno == row:
            found = best
    if found is not None:
        end_row = found.end_lineno or found.lineno
        span = Span(
            found.lineno,
            _column(lines, found.lineno, found.col_offset),
            end_row,
            _column(lines, end_row, found.end_col_offset or 0),
        )
    return span, statement


def _last(node: ast.expr) -> str:
    """The last identifier of a name or an attribute."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _column(lines: list[str], row: int, offset: int) -> int:
    """A column in characters from 1, of an offset in bytes."""
    line = lines[row - 1] if row <= len(lines) else ""
    return len(line.encode()[:offset].decode(errors="replace")) + 1
