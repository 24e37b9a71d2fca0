"""Branches that an argument chooses: ``def connect(pure): if pure: return PureClient()``.

Only constants that a call writes, or that are the defaults of what it leaves out, choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import (
    CallExpr,
    CompareExpr,
    Constant,
    Expr,
    hides_arguments,
    is_display,
    is_passed,
    passed,
)
from gblock.project.reading.summary import Scope

_PLAIN = ("==", "is", "in")
"""The operators of comparisons that are no negations."""


def unreached(scope: Scope, call: CallExpr, shift: int) -> frozenset[int]:
    """Return which of a function's ``return`` statements a call surely does not reach.

    Args:
        scope: The function.
        call: The call, with all that is passed.
        shift: The number of implicit arguments.
    """
    if len(scope.returns) < 2:
        return frozenset()
    outcomes = _outcomes(scope, call, shift)
    return frozenset(
        number
        for number, one in enumerate(scope.returns)
        if any(_is_passed_by(one.path, path, holds, scope) for path, holds in outcomes.items())
    )


def may_reach(scope: Scope, call: CallExpr, shift: int, at: Path) -> bool:
    """Return whether a call of a function may come to a statement in it.

    Args:
        scope: The function.
        call: The call, with all that is passed.
        shift: The number of implicit arguments.
        at: The path of the statement.
    """
    outcomes = _outcomes(scope, call, shift)
    return not any(_is_passed_by(at, path, holds, scope) for path, holds in outcomes.items())


def _outcomes(scope: Scope, call: CallExpr, shift: int) -> dict[Path, bool]:
    """Return the outcomes of a function's tests that the constants of a call decide."""
    given = dict(_given(scope, call, shift)) if scope.tests else None
    if not given:
        return {}
    return {
        path: outcome
        for path, test in scope.tests.items()
        if scope.branches.get(path) == "if" and (outcome := _outcome(test, given)) is not None
    }


def _given(scope: Scope, call: CallExpr, shift: int) -> Iterator[tuple[str, Constant]]:
    """Yield the parameters that are constants in a call, with these."""
    for number, (name, _, default, kind) in enumerate(scope.parameters):
        if number < shift or kind in ("*", "**") or len(scope.bindings.get(name, ())) != 1:
            continue
        position = None if kind == "keyword" else number - shift
        value = passed(call, position, name)
        if value is None and not hides_arguments(call) and not is_passed(call, position, name):
            value = default
        if value is not None and value.tag == tags.CONSTANT:
            yield name, value.value


def _is_passed_by(at: Path, statement: Path, holds: bool, scope: Scope) -> bool:
    """Return whether a statement does not run where the test of an ``if`` has an outcome."""
    depth = len(statement)
    if at[:depth] == statement:
        return len(at) > depth and at[depth] != (0 if holds else 1)  # its own test always runs
    if at[: depth - 1] != statement[:-1] or at[depth - 1 :] < statement[-1:]:
        return False
    return (*statement, 0 if holds else 1) in scope.dead_ends


def _outcome(test: Expr, given: Mapping[str, Constant]) -> bool | None:
    """Return the outcome of a test; None if it is unknown."""
    if test is None:
        return None
    if test.tag == tags.NOT:
        inner = _outcome(test.value, given)
        return None if inner is None else not inner
    if test.tag in (tags.BOTH, tags.EITHER):
        deciding = test.tag == tags.EITHER
        outcomes = {_outcome(one, given) for one in test.elements}
        if deciding in outcomes:
            return deciding
        return None if None in outcomes else not deciding
    if test.tag == tags.COMPARE:
        return _compared(test, given)
    return (
        bool(given[test.identifier]) if test.tag == tags.NAME and test.identifier in given else None
    )


def _compared(test: CompareExpr, given: Mapping[str, Constant]) -> bool | None:
    left, right = _values(test.left, given), _values(test.right, given)
    if left is None or right is None or len(left) != 1:
        return None
    one, is_plain = left[0], test.operator in _PLAIN
    if test.operator in ("in", "not in") and is_display(test.right):
        return (one in right) == is_plain
    if test.operator in ("==", "!=") and len(right) == 1:
        return (one == right[0]) == is_plain
    if test.operator in ("is", "is not") and len(right) == 1:
        return (type(one) is type(right[0]) and one == right[0]) == is_plain
    return None


def _values(expression: Expr, given: Mapping[str, Constant]) -> list[Constant] | None:
    """Return the constants that an operand of a comparison is, or holds; None if not all are."""
    if expression is None:
        return None
    if expression.tag == tags.CONSTANT:
        return [expression.value]
    if expression.tag == tags.NAME and expression.identifier in given:
        return [given[expression.identifier]]
    if expression.tag not in (tags.TUPLE, tags.SEQUENCE):
        return None
    found = [
        one.value for one in expression.elements if one is not None and one.tag == tags.CONSTANT
    ]
    return found if len(found) == len(expression.elements) else None
