"""Repetition of calls: in a loop, in a comprehension, or once for each task or request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path, ValueBinding
from gblock.project.reading.expressions import (
    AttributeExpr,
    Expr,
    NameExpr,
    last_name,
    without_arguments,
)
from gblock.project.reading.summary import LOOPS, AnyCall, ModuleSummary, Scope

_SHORT = 0.05
"""Seconds: below this gap a measured call counts as cooperative, and a loop as short."""
_NOTHING = 0.0001
"""Seconds: a cheaper call does not matter beside the other work of an iteration."""
_OTHERS = 2
"""A cheap call matters only in a loop with at most this many other calls."""
_SAME_LENGTH = {"enumerate", "list", "tuple", "set", "sorted", "reversed", "zip"}
"""Functions whose result is as long as their first argument, or shorter."""
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


def repeated(summary: ModuleSummary, call: AnyCall) -> str:
    """Return ``loop`` or ``comprehension`` if a call is repeated many times in a row, else ''."""
    if summary.scopes[call.scope].kind == "comprehension":
        return "comprehension"
    return "loop" if any(_loops(summary, call)) else ""


class Repetition(NamedTuple):
    """The loops in which the costs of a call add up."""

    where: str
    """``loop``, ``comprehension``, or nothing if they do not add up."""
    is_counted: bool
    """True if constants of the code say how many iterations there are."""
    may_wait: bool = False
    """True if the innermost has no end (``while True``) and calls something that is not known to
    compute: it may wait in each iteration."""


NEVER = Repetition("", is_counted=True)
"""A call that is made once, or seldom."""


def adding_up(
    summary: ModuleSummary, call: AnyCall, inference: Inference, each: float
) -> Repetition:
    """Return the loops around a call, if its costs add up in them.

    They do not if the loop ends once the call has succeeded, if it is visibly short, or if it lets
    the hub run in each iteration.

    Args:
        summary: The module.
        call: The call.
        inference: Type inference over the project.
        each: The duration of one call, in seconds; 0 if unknown.
    """
    place = Place(summary.filename, call.scope, call.path)
    counts: list[int | None] = []
    index = call.scope
    while summary.scopes[index].kind == "comprehension":
        counts += [turns_of(one.value, place, inference) for one in targets(summary.scopes[index])]
        index = summary.scopes[index].parent
    kind = "comprehension" if counts else ""
    scope = summary.scopes[index]
    for loop in _loops(summary, call):
        if _ends_with(call, loop, scope):
            continue
        if yields_to_hub(summary, index, loop, inference):
            break
        kind = kind or "loop"
        going = [one for one in targets(scope) if one.path == (*loop, 0, -1)]
        counts.append(turns_of(going[0].value, place, inference) if going else None)
    if kind and 0 < each < _NOTHING and _is_busy(summary, call, inference):
        return NEVER
    total = each
    for count in counts:
        if count is None:
            may_wait = _may_wait(summary, call, inference)
            return Repetition(kind, is_counted=False, may_wait=may_wait)
        total *= count
    return Repetition(kind, is_counted=True) if kind and total >= _SHORT else NEVER


def _loops(summary: ModuleSummary, call: AnyCall) -> Iterator[Path]:
    """Yield the loops of the function that repeat a call, the innermost first."""
    branches, path = summary.scopes[summary.frame(call.scope)].branches, call.path
    for depth in range(len(path) - (len(path) % 2 == 0), 0, -2):
        kind = branches.get(path[:depth])
        # The header of a ``while`` runs in each iteration, that of a ``for`` once, and the ``else``
        # of either once.
        if kind in LOOPS and (path[depth] == 0 if depth < len(path) else kind == "while"):
            yield path[:depth]


def targets(scope: Scope) -> list[ValueBinding]:
    """Return the targets of a scope's loops or comprehension, each once."""
    found: dict[Path, list[ValueBinding]] = {}
    for bindings in scope.bindings.values():
        for one in bindings:
            if one.kind == kinds.LOOPED:
                # Names of one target share its value; equal values may be those of two loops.
                there = found.setdefault(one.path, [])
                values = (number for number, two in enumerate(there) if two.value is one.value)
                number = next(values, len(there))
                there[number : number + 1] = [one]
    return [one for there in found.values() for one in there]


def _is_busy(summary: ModuleSummary, call: AnyCall, inference: Inference) -> bool:
    """Return whether the innermost loop around a call does much other work."""
    loop = next(_loops(summary, call), None)
    inside = [
        other
        for other in summary.calls
        if other.node == "call"
        and other.expression != call.expression
        and (
            other.scope == call.scope
            if summary.scopes[call.scope].kind == "comprehension"
            else loop is not None and other.path[: len(loop) + 1] == (*loop, 0)
        )
    ]
    others = 0
    for other in inside:
        place = Place(summary.filename, other.scope, other.path)
        symbols = inference.callees.called_symbols(other.expression.callee, place)
        others += not symbols or not all(one.startswith("builtins.") for one in symbols)
    return others > _OTHERS


def _may_wait(summary: ModuleSummary, call: AnyCall, inference: Inference) -> bool:
    """Return whether the innermost loop around a call has no end and calls what may wait."""
    scope = summary.scopes[call.scope]
    loop = next(_loops(summary, call), None)
    if loop is None or scope.kind == "comprehension" or scope.branches.get(loop) != "while":
        return False
    test = scope.tests.get(loop)
    if test is None or test.tag != tags.CONSTANT or not test.value:
        return False
    return any(
        other.scope == call.scope
        and other.expression != call.expression
        and other.path[: len(loop) + 1] == (*loop, 0)
        and not computes(other, summary, inference)
        for other in summary.calls
    )


def turns_of(expression: Expr, place: Place, inference: Inference) -> int | None:
    """Return the number of iterations of a loop over an expression; None if unknown."""
    if expression is None:
        return None
    if expression.tag == tags.CONSTANT and isinstance(expression.value, (str, bytes)):
        return len(expression.value)
    if expression.tag == tags.MAPPING:
        return None if any(key is None for key, _ in expression.items) else len(expression.items)
    if expression.tag in (tags.TUPLE, tags.SEQUENCE):
        if any(one is not None and one.tag == tags.STAR for one in expression.elements):
            return None
        return len(expression.elements)
    if expression.tag == tags.CALL:
        name, arguments = last_name(expression.callee), expression.positional
        if name == "range":
            return _range(arguments, place, inference)
        if name in _SAME_LENGTH and arguments:
            return turns_of(arguments[0], place, inference)
        return None
    if expression.tag == tags.NAME:
        return _length(expression.identifier, place, inference)
    return None


def _length(name: str, place: Place, inference: Inference) -> int | None:
    """Return the length of a name's literal, if nothing is added to it."""
    summary = inference.modules.summary(place.path)
    scope = place.scope
    while scope >= 0:
        bindings = summary.scopes[scope].bindings.get(name)
        if bindings:
            only = bindings[0]
            if len(bindings) > 1 or only.kind != kinds.ASSIGNED or only.value is None:
                return None
            literal = (tags.TUPLE, tags.SEQUENCE, tags.MAPPING)
            is_literal = only.value.tag in literal and not only.indexes
            return turns_of(only.value, place, inference) if is_literal else None
        scope = summary.scopes[scope].parent
    return None


def _range(arguments: tuple[Expr, ...], place: Place, inference: Inference) -> int | None:
    """Return the length of a range; None if its bounds are not constant."""
    bounds: list[int] = []
    for argument in arguments:
        found = inference.infer(argument, place)
        numbers = [x.value for x in found if x.kind == v.LITERAL and isinstance(x.value, int)]
        if len(found) != 1 or len(numbers) != 1:
            return None
        bounds += numbers
    if not 1 <= len(bounds) <= 3 or bounds[2:] == [0]:
        return None
    return len(range(*bounds))


def _ends_with(call: AnyCall, loop: Path, scope: Scope) -> bool:
    """Return whether a loop repeats a call only until its result is accepted."""
    for depth in range(len(loop) + 1, len(call.path), 2):
        block = call.path[:depth]
        if block in scope.dead_ends or scope.jumps.get(block) == "break":
            return True
    names = {
        name
        for name, bindings in scope.bindings.items()
        for one in bindings
        if one.path == call.path and one.kind in (kinds.ASSIGNED, kinds.UNPACKED)
    }
    names |= {
        attribute
        for (_, attribute), bindings in scope.attributes.items()
        for one in bindings
        if one.path == call.path and one.kind == kinds.ASSIGNED
    }
    if not names or scope.branches.get(loop) != "while":
        return False
    if _names_one(scope.tests.get(loop), names):
        return True
    block, index = call.path[:-1], call.path[-1]
    return any(
        path[:-1] == block
        and path[-1] > index
        and _names_one(test, names)
        and any(
            (*path, number) in scope.dead_ends or scope.jumps.get((*path, number)) == "break"
            for number in (0, 1)
        )
        for path, test in scope.tests.items()
    )


def _names_one(expression: object, names: set[str]) -> bool:
    """Return whether an expression contains one of some names."""
    if not isinstance(expression, tuple):
        return False
    if isinstance(expression, NameExpr) and expression.identifier in names:
        return True
    if isinstance(expression, AttributeExpr) and expression.name in names:
        return True
    return any(_names_one(part, names) for part in expression)


def yields_to_hub(summary: ModuleSummary, index: int, loop: Path, inference: Inference) -> bool:
    """Return whether a loop waits cooperatively, in each iteration or now and then."""
    return any(
        call.scope == index
        and call.node == "call"
        and call.path[: len(loop) + 1] == (*loop, 0)
        and any(
            inference.callees.waits_cooperatively(symbol)
            for symbol in inference.callees.called_symbols(
                call.expression.callee, Place(summary.filename, call.scope, call.path)
            )
        )
        for call in summary.calls
    )


def goes_round(summary: ModuleSummary, call: AnyCall) -> bool:
    """Return whether a call is in a ``while`` loop of its function, or in its condition."""
    index, path = call.scope, call.path
    while summary.scopes[index].kind in ("comprehension", "lambda"):
        index, path = summary.scopes[index].parent, summary.scopes[index].path
    branches = summary.scopes[index].branches
    return any(branches.get(path[:depth]) == "while" for depth in range(1, len(path) + 1, 2))


def handled(summary: ModuleSummary, call: AnyCall, inference: Inference) -> str:
    """Return ``task`` or ``request`` if the function around a call runs once for each, or ''."""
    scopes = summary.scopes
    index = call.scope
    while index > 0 and scopes[index].kind in ("comprehension", "lambda"):
        index = scopes[index].parent
    place = Place(summary.filename, scopes[index].parent, scopes[index].path)
    for decorator in scopes[index].decorators:
        callee = without_arguments(decorator)
        for symbol in sorted(inference.callees.called_symbols(callee, place)):
            found = inference.catalog.handler_of(symbol)
            if found:
                return found
    return ""


def computes(call: AnyCall, summary: ModuleSummary, inference: Inference) -> bool:
    """Return whether a call is known to compute, so that it never yields to the hub."""
    if call.node != "call":
        return call.node == "for"
    callee = call.expression.callee
    place = Place(summary.filename, call.scope, call.path)
    symbols = inference.callees.called_symbols(callee, place)
    if not symbols:
        values = inference.infer(callee, place)
        is_method = callee is not None and callee.tag == tags.ATTRIBUTE
        return not values and is_method and last_name(callee) in _OF_CONTAINERS
    return all(symbol in _COMPUTING or symbol.partition(".")[0] in _COMPUTING for symbol in symbols)
