"""The call that a diagnostic points at, with what is around it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gblock.diagnostics import Diagnostic, Edit, Repair
from gblock.fixes.tree import ParsedFile


class CallInFile(NamedTuple):
    """A call in its file."""

    tree: ParsedFile
    path: list[ast.AST]
    """The nodes from the module down to the call."""
    call: ast.Call
    statement: ast.stmt
    """The innermost statement around it."""

    @property
    def around(self) -> list[ast.AST]:
        """The nodes from the module down to the statement, without it."""
        return self.path[: self.path.index(self.statement)]

    @property
    def inside(self) -> list[ast.AST]:
        """The nodes between the statement and the call."""
        return self.path[self.path.index(self.statement) + 1 : -1]


def place(diagnostic: Diagnostic, tree: ParsedFile | None) -> CallInFile | None:
    """Return the call of a diagnostic; None where no plain call stands there, or it is awaited."""
    if tree is None:
        return None
    path = tree.path_to_call(diagnostic.location, diagnostic.end_location)
    if path is None or any(isinstance(node, ast.Await) for node in path):
        return None
    call = path[-1]
    statement = next((node for node in reversed(path) if isinstance(node, ast.stmt)), None)
    if statement is None or not isinstance(call, ast.Call):
        return None
    return CallInFile(tree, path, call, statement)


class Bound(NamedTuple):
    """The argument that bounds the wait of a call."""

    value: ast.expr | None
    """None where it is missing."""


def bound(call: ast.Call, repair: Repair) -> Bound | None:
    """Return the argument that bounds a call's wait, None where its place is not sure."""
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if any(one.arg is None for one in call.keywords):
        return None
    position = repair.position
    if position is not None and len(call.args) > position:
        return Bound(call.args[position])
    named = (one.value for one in call.keywords if one.arg == repair.keyword)
    return Bound(next(named, None))


def without_wait(place: CallInFile, repair: Repair) -> Edit | None:
    """Return the edit that gives a call a timeout of 0, None where that is not sure."""
    tree, call = place.tree, place.call
    found = bound(call, repair)
    if found is None:
        return None
    if found.value is not None:
        return tree.replaced(tree.start(found.value), tree.end(found.value), "0")
    if call.args or call.keywords or repair.position != 0:
        return None
    end = tree.end(call)
    inner = end._replace(column=end.column - 1)
    return tree.replaced(inner, inner, "0")


def is_plain(node: ast.expr) -> bool:
    """Return whether an expression is a name or an attribute of one: it may be repeated."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def is_sleep(statement: ast.stmt) -> bool:
    """Return whether a statement calls a function named ``sleep``."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    name = getattr(function, "attr", "") or getattr(function, "id", "")
    return bool(name == "sleep")


def is_quiet(statement: ast.stmt) -> bool:
    """Return whether a statement may run a hundred times a second instead of once.

    That is sure of sleeps, jumps, constants and names that are set to constants.
    """
    if isinstance(statement, (ast.Pass, ast.Continue)) or is_sleep(statement):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        names = all(isinstance(target, ast.Name) for target in statement.targets)
        return names and isinstance(statement.value, ast.Constant)
    return False
