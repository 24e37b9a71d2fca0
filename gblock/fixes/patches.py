"""A monkey patch in the body of a module, with the import that it needs."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gblock.fixes.tree import ParsedFile


class PatchStatement(NamedTuple):
    """A statement that patches, and the import that gives it its name."""

    statement: ast.Expr
    source: ast.Import | ast.ImportFrom


def at(tree: ParsedFile, row: int) -> PatchStatement | None:
    """Return the patch that begins on a row; None where it is more than a call by itself."""
    body = tree.module.body
    statement = next((node for node in body if node.lineno == row), None)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    arguments = [*call.args, *(one.value for one in call.keywords)]
    if not all(isinstance(one, ast.Constant) for one in arguments) or not tree.is_alone(statement):
        return None
    name = _first_name(call.func)
    sources = [
        node
        for node in body
        if isinstance(node, (ast.Import, ast.ImportFrom)) and name in _given(node)
    ]
    # The first of several that give the name is the one that counts.
    if not name or not sources or sources[0].lineno > row or not tree.is_alone(sources[0]):
        return None
    source = sources[0]
    if isinstance(source, ast.ImportFrom) and source.level:
        return None
    return PatchStatement(statement, source)


def _first_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _given(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {one.asname or one.name.partition(".")[0] for one in node.names}
    return {one.asname or one.name for one in node.names}
