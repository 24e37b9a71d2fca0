"""Places of remarks: the span of a call, an import or a statement."""

from __future__ import annotations

from gblock.project.reading.parsing import parsed
from gblock.project.reading.positions import column, excerpt
from gblock.project.remarks.remark import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from gblock.project.calls.sites import Site
    from gblock.project.reading.modules import Modules


def pointed_at(
    modules: Modules, path: str, row: int, name: str
) -> tuple[Span, tuple[int, int] | None]:
    """Return the span of a name on a row, and the rows of its statement.

    Args:
        modules: The project's files.
        path: The file.
        row: The first row of an import, an assignment or a call.
        name: The identifier to point at: the imported name, or the callee's.

    Returns:
        The imported name or the whole call; else the statement on the row, or the row's text.
    """
    import ast  # needed only for diagnostics

    lines = (modules.text(path) or "").split("\n")
    text = lines[row - 1] if 0 < row <= len(lines) else ""
    stripped = text.strip()
    start = len(text) - len(text.lstrip())
    span = Span(row, start + 1, row, start + len(stripped) + 1)
    tree = parsed(modules.data(path))
    if tree is None:
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
    """Return the last identifier of a name or an attribute."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _column(lines: list[str], row: int, offset: int) -> int:
    """Return the column, in characters from 1, of an offset in bytes of UTF-8."""
    return column(lines[row - 1].encode() if row <= len(lines) else b"", offset)


def written(data: bytes, site: Site) -> tuple[str, Span]:
    """Return a call's code on one line, and its span."""
    call = site.call
    lines = data.splitlines()
    span = Span(
        call.row,
        column(lines[call.row - 1], call.column),
        call.end_row,
        column(lines[call.end_row - 1], call.end_column),
    )
    return excerpt(data, call.row, call.column, call.end_row, call.end_column), span
