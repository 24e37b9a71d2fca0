"""Idle loops: ``while`` loops with an empty body, whose tests call nothing that may yield."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gblock.project.names.places import Place
from gblock.project.reading.modules import Modules
from gblock.project.reading.parsing import parsed
from gblock.project.reading.summary import ModuleSummary

_FUNCTIONS = frozenset(
    "exists lexists isfile isdir getsize time monotonic perf_counter len bool getattr hasattr "
    "isinstance int".split()
)
"""Functions that look at a state and return at once."""
_METHODS = frozenset(
    "exists is_file is_dir is_set is_alive locked done empty full qsize".split(),
)
"""Methods without arguments that do so; a client's ``exists(key)`` asks its server."""
_MODULES = ("os", "path", "time")


def idle_loops(modules: Modules, path: str) -> Iterator[tuple[int, Place]]:
    """Yield the rows of the idle loops in a file's functions, and the functions.

    Args:
        modules: The project's files.
        path: The file.
    """
    tree = parsed(modules.data(path))
    if tree is None:
        return
    summary = modules.summary(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and not node.orelse and all(map(_is_nothing, node.body)):
            index = _function_at(summary, node.lineno)
            if index > 0 and all(map(_returns_at_once, ast.walk(node.test))):
                yield node.lineno, Place(path, index, summary.scopes[index].path)


def _is_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing: ``pass``, ``continue`` or a constant."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass | ast.Continue)


def _returns_at_once(node: ast.AST) -> bool:
    """Return whether a part of a test is no call, or calls what returns at once."""
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
        return False
    if not isinstance(node, ast.Call):
        return True
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in _FUNCTIONS
    if not isinstance(called, ast.Attribute):
        return False
    owner = getattr(called.value, "attr", "") or getattr(called.value, "id", "")
    if owner in _MODULES:
        return called.attr in _FUNCTIONS
    return called.attr in _METHODS and not (node.args or node.keywords)


def _function_at(summary: ModuleSummary, row: int) -> int:
    """Return the innermost function around a row, 0 for the module."""
    around = [
        index
        for index, scope in enumerate(summary.scopes)
        if scope.kind == "function" and scope.rows[0] <= row <= scope.rows[1]
    ]
    return max(around, key=lambda index: summary.scopes[index].rows[0], default=0)
