"""Values of expressions in a known environment: constant folding."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
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
        return bool(_Environment(tree, {}).value(test, _DEEPEST))
    except (_UnknownValueError, TypeError, ValueError):
        return None


def assigned_in(name: str, tree: ast.AST, variables: Mapping[str, str]) -> str | None:
    """Return the text that a module assigns to a name in an environment; None if it is unknown.

    Args:
        name: The name, which the module assigns once.
        tree: The module.
        variables: The environment; a variable that it lacks is not set.
    """
    environment = _Environment(tree, variables)
    try:
        value = environment.value(environment.assigned(name), _DEEPEST)
    except (_UnknownValueError, TypeError, ValueError):
        return None
    return str(value) if isinstance(value, str | bool) else None


class _Environment:
    """The values of a module's expressions in an environment.

    Args:
        tree: The module.
        variables: The variables that are set.
    """

    def __init__(self, tree: ast.AST, variables: Mapping[str, str]) -> None:
        self._tree = tree
        self._variables = variables

    def value(self, one: ast.expr, depth: int) -> Any:
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
                return [self.value(element, depth) for element in one.elts]
            case ast.Name():
                return self.value(self.assigned(one.id), depth)
            case ast.UnaryOp(op=ast.Not()):
                return not self.value(one.operand, depth)
            case ast.IfExp():
                return self.value(one.body if self.value(one.test, depth) else one.orelse, depth)
            case ast.BoolOp():
                found = None
                for part in one.values:
                    found = self.value(part, depth)
                    if bool(found) == isinstance(one.op, ast.Or):
                        break
                return found
            case ast.Compare(ops=[compared], comparators=[other]) if type(compared) in _COMPARED:
                left, right = self.value(one.left, depth), self.value(other, depth)
                return _COMPARED[type(compared)](left, right)
            case ast.Subscript(slice=ast.Constant(value=str(name))) if _is_environment(one.value):
                if name in self._variables:
                    return self._variables[name]
            case ast.Call():
                return self._called(one, depth)
        raise _UnknownValueError

    def _called(self, call: ast.Call, depth: int) -> Any:
        match call:
            case ast.Call(func=ast.Attribute(value=base, attr=name), args=[], keywords=[]) if (
                name in _METHODS
            ):
                text = self.value(base, depth)
                if isinstance(text, str):
                    return getattr(text, name)()
            case ast.Call(func=ast.Name(id=name), args=[one], keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self.value(one, depth))
            case ast.Call(args=[ast.Constant(value=str(name)), *rest], keywords=given) if (
                _reads_variable(call.func)
            ):
                rest += [one.value for one in given if one.arg == "default"]
                if name in self._variables:
                    return self._variables[name]
                return self.value(rest[0], depth) if rest else None
        raise _UnknownValueError

    def assigned(self, name: str) -> ast.expr:
        """Return what the module assigns to a name.

        Raises:
            _UnknownValueError: if it does not, or more than once.
        """
        bound = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        ]
        assignments = [
            one.value
            for one in getattr(self._tree, "body", ())
            if isinstance(one, ast.Assign) and len(one.targets) == 1
            if isinstance(one.targets[0], ast.Name) and one.targets[0].id == name
        ]
        if len(bound) != 1 or len(assignments) != 1:
            raise _UnknownValueError
        return assignments[0]


def _reads_variable(callee: ast.expr) -> bool:
    """Return whether a callee is ``os.environ.get`` or ``os.getenv``, however it is imported."""
    return ast.unparse(callee) in ("os.environ.get", "environ.get", "os.getenv", "getenv")


def _is_environment(expression: ast.expr) -> bool:
    """Return whether an expression is ``os.environ``, however it is imported."""
    return ast.unparse(expression) in ("os.environ", "environ")
