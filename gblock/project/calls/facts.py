"""Path conditions: the tests that are known to hold, or to fail, at a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import CompareExpr, Expr, last_name, same
from gblock.project.reading.summary import LOOPS, AnyCall, ModuleSummary, Scope

_OPPOSITE = {"!=": "==", "is not": "is", "not in": "in"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "is": "is"}
_FALSY = (None, False, 0, 0.0, "", b"")


class CallFact(NamedTuple):
    """An expression that is true, or false, at a call."""

    expression: Expr
    holds: bool
    at: Path
    """The statement that has tested it."""
    within: Path
    """The block in which it holds, until a statement of the block invalidates it."""


def facts(summary: ModuleSummary, call: AnyCall, *, lasting: bool = False) -> Iterator[CallFact]:
    """Yield the tests with a known outcome at a call, the nearest first.

    Args:
        summary: The module.
        call: The call.
        lasting: True if a test before a loop holds in all iterations.
    """
    for expression, holds in reversed(call.guards):
        for atom, is_true in atoms(expression, holds):
            yield CallFact(atom, is_true, call.path, call.path)
    scope, path = summary.scopes[summary.frame(call.scope)], call.path
    for depth in range(len(path) - (len(path) % 2 == 0), 0, -2):
        block = path[: depth - 1]
        for index in range(path[depth - 1] - 1, -1, -1):
            for expression, holds in _left_over((*block, index), scope):
                for atom, is_true in atoms(expression, holds):
                    yield CallFact(atom, is_true, (*block, index), block)
        if depth > 2:
            statement, number = path[: depth - 2], path[depth - 2]
            test = scope.tests.get(statement)
            for atom, is_true in atoms(test, number == 0):
                yield CallFact(atom, is_true, statement, block)
            if not lasting and scope.branches.get(statement) in LOOPS:
                return  # earlier iterations may have changed it


def _left_over(statement: Path, scope: Scope) -> Iterator[tuple[Expr, bool]]:
    """Yield the condition of a preceding statement if its outcome is known."""
    test = scope.tests.get(statement)
    if test is None:
        return
    if scope.branches.get(statement) == "while":
        leaving = [
            block
            for block, kind in scope.jumps.items()
            if kind == "break" and block[: len(statement)] == statement
        ]
        if not leaving:
            yield test, False
        elif len(leaving) == 1 and _is_endless(test):
            inner = scope.tests.get(leaving[0][:-1])
            if inner is not None and scope.branches.get(leaving[0][:-1]) == "if":
                yield inner, leaving[0][-1] == 0
        return
    for number in (0, 1):
        block = (*statement, number)
        if block in scope.dead_ends or block in scope.jumps:
            yield test, number == 1


def _is_endless(test: Expr) -> bool:
    """Return whether a loop with a condition ends by ``break`` alone."""
    return test is not None and test.tag == tags.CONSTANT and bool(test.value)


def atoms(expression: Expr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    """Yield the tests in a condition whose outcome follows from the condition's outcome."""
    if expression is None:
        return
    if expression.tag == tags.NOT:
        yield from atoms(expression.value, not holds)
    elif expression.tag in (tags.BOTH, tags.EITHER) and holds == (expression.tag == tags.BOTH):
        for part in expression.elements:
            yield from atoms(part, holds)
    elif expression.tag == tags.COMPARE:
        yield from _compared(expression, holds)
    elif expression.tag == tags.CALL and last_name(expression.callee) in ("len", "bool"):
        yield expression, holds
        if expression.positional:
            yield from atoms(expression.positional[0], holds)
    else:
        yield expression, holds


def _compared(expression: CompareExpr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    left, operator, right = expression.left, expression.operator, expression.right
    if operator in _OPPOSITE:
        operator, holds = _OPPOSITE[operator], not holds
    if left is not None and left.tag == tags.CONSTANT and operator in _MIRRORED:
        left, operator, right = right, _MIRRORED[operator], left
    if right is not None and right.tag == tags.CONSTANT and left is not None:
        value = right.value
        is_falsy = any(same(value, one) for one in _FALSY)
        if operator in ("==", "is") and (is_falsy or value is True):
            yield from atoms(left, holds != is_falsy)
            return
        if (operator, value) in ((">", 0), (">=", 1)):
            yield from atoms(left, holds)
            return
        if (operator, value) in (("<", 1), ("<=", 0)):
            yield from atoms(left, not holds)
            return
    if _is_empty(right) and operator == "==":
        yield from atoms(left, not holds)
        return
    yield CompareExpr(tags.COMPARE, left, operator, right), holds


def _is_empty(expression: Expr) -> bool:
    """Return whether an expression is an empty list, or a tuple of empty lists."""
    if expression is None or expression.tag not in (tags.SEQUENCE, tags.TUPLE):
        return False
    return all(_is_empty(one) for one in expression.elements)
