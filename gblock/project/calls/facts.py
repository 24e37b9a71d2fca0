"""The conditions that are known to hold, or to fail, where a call is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblock.project.names.expressions import last_name, same
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import (
    LOOPS,
    Call,
    CompareExpr,
    Expr,
    ModuleSummary,
    Path,
    Scope,
)

_OPPOSITE = {"!=": "==", "is not": "is", "not in": "in"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "is": "is"}
_FALSY = (None, False, 0, 0.0, "", b"")


class Fact(NamedTuple):
    """An expression that is true, or false, where a call is made."""

    expression: Expr
    holds: bool
    at: Path
    """The statement that has tested it."""
    within: Path
    """The block in which it holds; what stands there first uses it up."""


def facts(summary: ModuleSummary, call: Call, *, lasting: bool = False) -> Iterator[Fact]:
    """The tests that have come out one way where a call is made, the nearest first.

    Args:
        summary: The module.
        call: The call.
        lasting: Whether what holds before a loop holds in all of its turns.
    """
    for expression, holds in reversed(call.guards):
        for atom, is_true in atoms(expression, holds):
            yield Fact(atom, is_true, call.path, call.path)
    scope, path = summary.scopes[frame(summary, call.scope)], call.path
    for depth in range(len(path) - (len(path) % 2 == 0), 0, -2):
        block = path[: depth - 1]
        for index in range(path[depth - 1] - 1, -1, -1):
            for expression, holds in _left_over((*block, index), scope):
                for atom, is_true in atoms(expression, holds):
                    yield Fact(atom, is_true, (*block, index), block)
        if depth > 2:
            statement, number = path[: depth - 2], path[depth - 2]
            test = scope.tests.get(statement)
            for atom, is_true in atoms(test, number == 0):
                yield Fact(atom, is_true, statement, block)
            if not lasting and scope.branches.get(statement) in LOOPS:
                return  # the next turn finds what this one has left


def _left_over(statement: Path, scope: Scope) -> Iterator[tuple[Expr, bool]]:
    """The condition of a statement that has ended, where it can only have come out one way."""
    test = scope.tests.get(statement)
    if test is None:
        return
    if scope.branches.get(statement) == "while":
        if not any(
            kind == "break" and block[: len(statement)] == statement
            for block, kind in scope.jumps.items()
        ):
            yield test, False
        return
    for number in (0, 1):
        block = (*statement, number)
        if block in scope.dead_ends or block in scope.jumps:
            yield test, number == 1


def atoms(expression: Expr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    """The single tests in a condition that are true for sure, or false, if it holds or fails."""
    if expression is None:
        return
    tag = expression.tag
    if tag == tags.NOT:
        yield from atoms(expression.value, not holds)
    elif (tag == tags.BOTH and holds) or (tag == tags.EITHER and not holds):
        for part in expression.elements:
            yield from atoms(part, holds)
    elif tag == tags.COMPARE:
        yield from _compared(expression, holds)
    elif tag == tags.CALL and last_name(expression.callee) in ("len", "bool"):
        yield expression, holds
        if expression.positional:
            yield from atoms(expression.positional[0], holds)
    else:
        yield expression, holds


def _compared(expression: Expr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    _, left, operator, right = expression
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
    """Return whether an expression is an empty list, or a tuple of nothing else."""
    if expression is None or expression.tag not in (tags.SEQUENCE, tags.TUPLE):
        return False
    return all(_is_empty(one) for one in expression.elements)


def frame(summary: ModuleSummary, scope: int) -> int:
    """The scope whose statements a comprehension's expressions stand in."""
    while summary.scopes[scope].kind == "comprehension":
        scope = summary.scopes[scope].parent
    return scope
