"""Code that never runs: below a flag of its function that is set once, to the other value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeAlias

from gblock.project.calls.suites import Suites, statements, tree_of

_MAY_HAVE = re.compile(rb"[ \t]=[ \t]*(?:False|True|None)\b|\b(?:if|while)[ \t]+(?:False|0|None)\b")
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Unreachable(Suites):
    """Finds what never runs."""

    def of(self, data: bytes) -> list[list[ast.stmt]]:
        """Return the suites that no run takes."""
        tree = tree_of(data) if _MAY_HAVE.search(data) else None
        if tree is None:
            return []
        found = [*_branches(_tests(statements(tree, own=True)), {})]
        for node in statements(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = statements(node, own=True)
                tests = _tests(own)
                if tests:
                    found += _branches(tests, _flags(node, own, tests))
        return found


def _tests(nodes: list[ast.AST]) -> list[ast.If | ast.While]:
    return [node for node in nodes if isinstance(node, ast.If | ast.While)]


def _branches(
    tests: list[ast.If | ast.While], flags: dict[str, object]
) -> Iterator[list[ast.stmt]]:
    """Yield the branches of a scope's statements that no run takes.

    Args:
        tests: The statements of the scope that have a test.
        flags: The names with one value.
    """
    for node in tests:
        holds = _holds(node.test, flags)
        if holds is False and node.body:
            yield node.body
        if holds and isinstance(node, ast.If) and node.orelse:
            yield node.orelse


def _flags(
    function: _Function, own: list[ast.AST], tests: list[ast.If | ast.While]
) -> dict[str, object]:
    """Return the tested names of a function that one statement sets, to True, False or None.

    Args:
        function: The function.
        own: Its statements.
        tests: Those of them that have a test.
    """
    set_to: dict[str, list[object]] = {}
    for node in own:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    set_to.setdefault(target.id, []).append(node.value.value)
    candidates = {
        name: values[0]
        for name, values in set_to.items()
        if len(values) == 1 and (values[0] is None or isinstance(values[0], bool))
    }
    # Most functions test no such name, and all expressions of a function are many.
    tested = {
        node.id
        for one in (tests if candidates else ())
        for node in ast.walk(one.test)
        if isinstance(node, ast.Name)
    }
    if tested.isdisjoint(candidates):
        return {}
    bound = _bound(function)
    return {
        name: value
        for name, value in candidates.items()
        if name in tested and bound.count(name) == 1
    }


def _bound(function: _Function) -> list[str]:
    """Return the names that a function and the scopes in it bind, each as often as it is bound."""
    bound: list[str] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.append(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            bound += [*node.names, *node.names]
        elif isinstance(node, ast.arg):
            bound.append(node.arg)
        elif isinstance(node, ast.alias):
            bound.append((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.append(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.append(node.rest)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.append(node.name)
    return bound


def _holds(test: ast.expr, flags: dict[str, object]) -> bool | None:
    """Return whether a test holds in every run or in none, None if it depends on the run."""
    if isinstance(test, ast.Name):
        return bool(flags[test.id]) if test.id in flags else None
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(test.operand, flags)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decides = isinstance(test.op, ast.Or)
        parts = [_holds(one, flags) for one in test.values]
        if decides in parts:
            return decides
        return None if None in parts else not decides
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name):
        (operator, *more), (other, *_) = test.ops, test.comparators
        is_none = isinstance(other, ast.Constant) and other.value is None and not more
        if is_none and test.left.id in flags and isinstance(operator, ast.Is | ast.IsNot):
            return (flags[test.left.id] is None) == isinstance(operator, ast.Is)
    return None
