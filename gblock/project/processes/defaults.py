"""Values of expressions where no variable of the environment is set: constant folding."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_DEEPEST = 20
"""The number of names and operators that are followed within one another."""

_METHODS = frozenset({"lower", "upper", "strip", "casefold", "title"})
_FUNCTIONS: dict[str, Callable[..., Any]] = {"bool": bool, "int": int, "str": str}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, among: one in among,
    ast.NotIn: lambda one, among: one not in among,
}


class _UnknownValueError(Exception):
    """An expression depends on more than constants and the environment."""


def holds_by_default(test: ast.expr, tree: ast.AST) -> bool | None:
    """Return whether a test holds if the environment sets no variable; None if that is unknown.

    Args:
        test: The test: ``ON`` or ``os.getenv("GREEN", "true").lower() in ("1", "true")``.
        tree: Its module, whose names are followed if the module assigns them once.
    """
    try:
        return bool(_value(test, tree, _DEEPEST))
    except (_UnknownValueError, TypeError, ValueError):
        return None


def _value(one: ast.expr, tree: ast.AST, depth: int) -> Any:
    """Return the value of an expression.

    Raises:
        _UnknownValueError: if it is unknown.
        TypeError, ValueError: if evaluating it fails.
    """
    if depth == 0:
        raise _UnknownValueError
    depth -= 1
    match one:
        case ast.Constant():
            return one.value
        case ast.Tuple() | ast.List() | ast.Set():
            return [_value(element, tree, depth) for element in one.elts]
        case ast.Name():
            return _value(_assigned(one.id, tree), tree, depth)
        case ast.UnaryOp(op=ast.Not()):
            return not _value(one.operand, tree, depth)
        case ast.BoolOp():
            found = None
            for part in one.values:
                found = _value(part, tree, depth)
                if bool(found) == isinstance(one.op, ast.Or):
                    break
            return found
        case ast.Compare(ops=[compared], comparators=[other]) if type(compared) in _COMPARED:
            left, right = _value(one.left, tree, depth), _value(other, tree, depth)
            return _COMPARED[type(compared)](left, right)
        case ast.Call():
            return _called(one, tree, depth)
    raise _UnknownValueError


def _called(call: ast.Call, tree: ast.AST, depth: int) -> Any:
    match call:
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=[], keywords=[]) if (
            name in _METHODS
        ):
            text = _value(base, tree, depth)
            if isinstance(text, str):
                return getattr(text, name)()
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(argument, tree, depth))
        case ast.Call(args=[ast.Constant(), *rest], keywords=[]) if _reads_variable(call.func):
            return _value(rest[0], tree, depth) if rest else None
    raise _UnknownValueError


def _reads_variable(callee: ast.expr) -> bool:
    """Return whether a callee is ``os.environ.get`` or ``os.getenv``, however it is imported."""
    return ast.unparse(callee) in ("os.environ.get", "environ.get", "os.getenv", "getenv")


def _assigned(name: str, tree: ast.AST) -> ast.expr:
    """Return what a module assigns to a name.

    Raises:
        _UnknownValueError: if it does not, or more than once.
    """
    values = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            values.append(node)
    assignments = [
        one.value
        for one in getattr(tree, "body", ())
        if isinstance(one, ast.Assign) and len(one.targets) == 1
        if isinstance(one.targets[0], ast.Name) and one.targets[0].id == name
    ]
    if len(values) != 1 or len(assignments) != 1:
        raise _UnknownValueError
    return assignments[0]
