"""Long loops in plain Python, in functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gblock.project.calls.repetition import computes, targets, turns_of, yields_to_hub
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path, ValueBinding
from gblock.project.reading.expressions import CallExpr, Expr, last_name, passed
from gblock.project.reading.summary import ModuleSummary

_ITERATIONS = 1_000_000
"""This many iterations take at least 0.05 s, the limit above which calls count as blocking."""


class _Arranging(NamedTuple):
    """A function that yields all arrangements of its input."""

    exponent: str
    """The argument that is the exponent."""
    default: int | None
    """The exponent without this argument; None for the input's length."""
    number: Callable[[int, int], int]
    """Returns the number of arrangements for a length and an exponent."""


_ALL = {
    "itertools.permutations": _Arranging("r", None, math.perm),
    "itertools.combinations": _Arranging("r", None, math.comb),
    "itertools.combinations_with_replacement": _Arranging(
        "r", None, lambda n, r: math.comb(n + r - 1, r)
    ),
    "itertools.product": _Arranging("repeat", 1, pow),
}
_FEW = 3
"""Up to this exponent the number grows like a power of the input's length."""
_COUNTED = 100
"""The greatest sum of length and exponent for which arrangements are counted."""


class LongLoop(NamedTuple):
    """A loop of many iterations."""

    row: int
    turns: int | None
    """None if the number grows exponentially with an input of unknown length."""
    over: str
    """The name of the function that yields so many elements."""
    place: Place


def long_loops(summary: ModuleSummary, inference: Inference) -> Iterator[LongLoop]:
    """Yield the loops of at least a million iterations, or of exponentially many."""
    reported: set[int] = set()
    for index in range(len(summary.scopes)):
        for loop in targets(summary.scopes[index]):
            found = _judged(summary, index, loop, inference)
            if found is not None and found.row not in reported:
                reported.add(found.row)
                yield found


def _judged(
    summary: ModuleSummary, index: int, loop: ValueBinding, inference: Inference
) -> LongLoop | None:
    total, first, over = 1, loop, ""
    scope, path = index, loop.path
    is_comprehension = summary.scopes[index].kind == "comprehension"
    around = [] if is_comprehension else [loop]
    while summary.scopes[scope].kind == "comprehension":
        around += targets(summary.scopes[scope])
        scope = summary.scopes[scope].parent
    if scope == 0 or summary.scopes[scope].kind != "function":
        return None
    here = path[:-2] if not is_comprehension else path
    for other in targets(summary.scopes[scope]):
        inside = other.path[:-2]
        if other not in around and here[: len(inside) + 1] == (*inside, 0):
            around.append(other)
    is_known = True
    for one in around:
        place = Place(summary.filename, one.scope, one.path)
        arranging = _arranging(one.value, place, inference)
        if arranging is None:
            count = turns_of(one.value, place, inference)
            is_known = is_known and count is not None
        else:
            over, count = arranging
            if count is None:
                return _exponential(summary, scope, one, over, inference)
        total *= 1 if count is None else count
        first = min(first, one, key=lambda binding: (binding.path, binding.row))
    if not is_known or total < _ITERATIONS:
        return None
    outer = first.path[:-2] if first.path[-1:] == (-1,) else first.path
    if not _only_computes(summary, scope, outer, inference):
        return None
    return LongLoop(first.row, total, over or "range", Place(summary.filename, scope, outer))


def _exponential(
    summary: ModuleSummary, index: int, loop: ValueBinding, over: str, inference: Inference
) -> LongLoop | None:
    """Return a loop over all arrangements of its input, if it lets nothing else run."""
    outer = loop.path[:-2] if loop.path[-1:] == (-1,) else loop.path
    if yields_to_hub(summary, index, outer, inference):
        return None
    if any(one.path[: len(outer)] == outer for one in summary.scopes[index].yields):
        return None
    return LongLoop(loop.row, None, over, Place(summary.filename, index, outer))


def _arranging(
    expression: Expr, place: Place, inference: Inference
) -> tuple[str, int | None] | None:
    """Return what yields all arrangements of an input, and how many; None if nothing does."""
    if expression is None or expression.tag != tags.CALL:
        return None
    for symbol in sorted(inference.callees.called_symbols(expression.callee, place)):
        if symbol in _ALL:
            found = _arrangements(expression, _ALL[symbol], place, inference)
            return None if found == 0 else (last_name(expression.callee), found)
    if last_name(expression.callee) in ("enumerate", "list", "tuple", "sorted", "set"):
        return _arranging(next(iter(expression.positional), None), place, inference)
    return None


def _arrangements(
    call: CallExpr,
    arranging: _Arranging,
    place: Place,
    inference: Inference,
) -> int | None:
    """Return the number of arrangements; 0 if it is no more than a power of the input's length."""
    name, default, number = arranging
    argument = passed(call, 1 if name == "r" else None, name)
    length = turns_of(next(iter(call.positional), None), place, inference)
    exponent = length if default is None else default
    if argument is not None and argument != tags.NONE:
        found = inference.infer(argument, place)
        values = [
            one.value for one in found if one.kind == v.LITERAL and isinstance(one.value, int)
        ]
        exponent = values[0] if len(found) == len(values) == 1 else None
    if exponent is None:
        return None
    if length is not None and exponent >= 0:
        # A larger number takes long to compute, and has too many digits to be written.
        if length == 0:
            return 0
        is_small = exponent <= _FEW or exponent + length <= _COUNTED
        return number(length, exponent) if is_small else None
    return 0 if exponent <= _FEW else None


def _only_computes(summary: ModuleSummary, index: int, loop: Path, inference: Inference) -> bool:
    """Return whether a loop runs to its end and calls nothing that may yield to the hub."""
    scope = summary.scopes[index]
    leaves = [*scope.dead_ends, *(b for b, kind in scope.jumps.items() if kind == "break")]
    if any(block[: len(loop)] == loop for block in leaves):
        return False
    if any(one.path[: len(loop)] == loop for one in scope.yields):
        return False
    return all(
        computes(call, summary, inference)
        for call in summary.calls
        if call.path[: len(loop)] == loop and _within(summary, call.scope, index)
    )


def _within(summary: ModuleSummary, scope: int, index: int) -> bool:
    while scope != index and summary.scopes[scope].kind == "comprehension":
        scope = summary.scopes[scope].parent
    return scope == index
