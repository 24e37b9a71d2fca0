"""Long loops in plain Python in functions that run once for each task or request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblock.project.calls.repetition import handled, targets, turns_of
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, Path
from gblock.project.reading.expressions import last_name
from gblock.project.reading.summary import Call, ModuleSummary

_ITERATIONS = 1_000_000
"""This many iterations take at least 0.05 s, the limit above which calls count as blocking."""
_COMPUTING = frozenset(
    "builtins math random itertools operator functools collections string re json struct "
    "binascii hashlib decimal fractions statistics time.time time.perf_counter "
    "time.monotonic".split()
)
"""Modules, and functions of other modules, that compute and never yield to the hub."""
_OF_CONTAINERS = frozenset(
    "append add extend insert pop get update items keys values setdefault discard remove index "
    "count join format split strip replace startswith endswith lower upper encode decode "
    "hexdigest digest".split()
)
"""Methods of lists, dicts, sets and texts."""


class LongLoop(NamedTuple):
    """A loop, and the task or request that runs it."""

    row: int
    turns: int
    runs: str
    """``task`` or ``request``."""


def long_loops(summary: ModuleSummary, inference: Inference) -> Iterator[LongLoop]:
    """Yield the loops of at least a million iterations that only compute."""
    reported: set[int] = set()
    for index in range(len(summary.scopes)):
        for loop in targets(summary.scopes[index]):
            found = _judged(summary, index, loop, inference)
            if found is not None and found.row not in reported:
                reported.add(found.row)
                yield found


def _judged(
    summary: ModuleSummary, index: int, loop: Binding, inference: Inference
) -> LongLoop | None:
    total, first = 1, loop
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
    for one in around:
        place = Place(summary.filename, one.scope, one.path)
        count = turns_of(one.value, place, inference)
        if count is None:
            return None
        total *= count
        first = min(first, one, key=lambda binding: (binding.path, binding.row))
    if total < _ITERATIONS:
        return None
    outer = first.path[:-2] if first.path[-1:] == (-1,) else first.path
    if not _only_computes(summary, scope, outer, inference):
        return None
    call = Call((), scope, outer, first.row, 0, first.row, 0, first.row, (0, 0))
    runs = handled(summary, call, inference)
    return LongLoop(first.row, total, runs) if runs else None


def _only_computes(summary: ModuleSummary, index: int, loop: Path, inference: Inference) -> bool:
    """Return whether a loop runs to its end and calls nothing that may yield to the hub."""
    scope = summary.scopes[index]
    leaves = [*scope.dead_ends, *(b for b, kind in scope.jumps.items() if kind == "break")]
    if any(block[: len(loop)] == loop for block in leaves):
        return False
    if any(at[: len(loop)] == loop for _, at in scope.yields):
        return False
    return all(
        _computes(call, summary, inference)
        for call in summary.calls
        if call.path[: len(loop)] == loop and _within(summary, call.scope, index)
    )


def _within(summary: ModuleSummary, scope: int, index: int) -> bool:
    while scope != index and summary.scopes[scope].kind == "comprehension":
        scope = summary.scopes[scope].parent
    return scope == index


def _computes(call: Call, summary: ModuleSummary, inference: Inference) -> bool:
    if call.node != "call":
        return call.node == "for"
    callee = call.expression.callee
    place = Place(summary.filename, call.scope, call.path)
    symbols = inference.callee_symbols(callee, place)
    if not symbols:
        values = inference.infer(callee, place)
        return not values and callee.tag == tags.ATTRIBUTE and last_name(callee) in _OF_CONTAINERS
    return all(symbol in _COMPUTING or symbol.partition(".")[0] in _COMPUTING for symbol in symbols)
