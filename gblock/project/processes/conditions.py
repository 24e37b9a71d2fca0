"""Conditions that a call depends on: ``if options.green: patch_psycopg()``."""

from __future__ import annotations

import ast
import re

from gblock.project.reading.parsing import UNPARSABLE, parse
from gblock.project.reading.positions import shortened

_OF_GEVENT = re.compile(r"gevent|green|monkey|patch|worker|__name__|TYPE_CHECKING", re.IGNORECASE)
"""Names in conditions that only test for gevent, which are true in a process on gevent."""

_VARIABLE = re.compile(
    r"""(?:os\.)?(?:environ\.get\(|getenv\(|environ\[)'(\w+)'(?:, [^,()]+)?[])](?:\.\w+\(\))* =="""
    r""" '([^'\\]*)'"""
)


def condition(data: bytes, row: int, column: int) -> str:
    """Return the condition under which a call runs, empty if it is unconditional.

    Args:
        data: The file.
        row: The row of the call's first line, from 1.
        column: Its offset in bytes on that row.

    Returns:
        The tests around the call in its function or module, joined by ``and``, without tests for
        gevent itself.
    """
    try:
        tree = parse(data)
        tests = _tests(tree, row, column)
        texts = [("" if holds else "not ") + ast.unparse(test) for test, holds in tests]
    except UNPARSABLE:
        return ""
    return shortened(" and ".join(text for text in texts if not _OF_GEVENT.search(text)))


def variable(data: bytes, row: int, column: int) -> tuple[str, str] | None:
    """Return the environment's variable, and its value, that a call depends on; None without one.

    Args:
        data: The file.
        row: The row of the call's first line, from 1.
        column: Its offset in bytes on that row.
    """
    try:
        for test, holds in _tests(parse(data), row, column):
            match = _VARIABLE.fullmatch(ast.unparse(test)) if holds else None
            if match is not None:
                return match[1], match[2]
    except UNPARSABLE:
        pass
    return None


def tests(data: bytes, row: int, column: int) -> frozenset[tuple[int, int, bool]]:
    """Return the rows and columns of the tests around a call, each with the required outcome.

    Args:
        data: The file.
        row: The row of the call's first line, from 1.
        column: Its offset in bytes on that row.
    """
    try:
        found = _tests(parse(data), row, column)
    except UNPARSABLE:
        return frozenset()
    return frozenset((test.lineno, test.col_offset, holds) for test, holds in found)


def _tests(tree: ast.AST, row: int, column: int) -> list[tuple[ast.expr, bool]]:
    """Return the tests around a place, outermost first, each with the required outcome."""
    found: list[tuple[ast.expr, bool]] = []
    node: ast.AST | None = tree
    while node is not None:
        inner = next((c for c in ast.iter_child_nodes(node) if _holds(c, row, column)), None)
        if isinstance(node, ast.If | ast.While) and inner is not node.test:
            found.append((node.test, inner in node.body))
        elif isinstance(node, ast.IfExp) and inner is not node.test:
            found.append((node.test, inner is node.body))
        elif isinstance(node, ast.BoolOp) and inner in node.values[1:]:
            found.append((node.values[0], isinstance(node.op, ast.And)))
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found = []
        node = inner
    return found


def _holds(node: ast.AST, row: int, column: int) -> bool:
    """Return whether a node's text contains a place."""
    if not isinstance(
        node, ast.stmt | ast.expr | ast.excepthandler | ast.match_case | ast.withitem
    ):
        return False
    inside = [node] if hasattr(node, "lineno") else list(ast.iter_child_nodes(node))
    return any(
        (one.lineno, one.col_offset) <= (row, column)  # type: ignore[attr-defined]
        and (row, column) < (one.end_lineno, one.end_col_offset)  # type: ignore[attr-defined]
        for one in inside
        if hasattr(one, "lineno")
    )
