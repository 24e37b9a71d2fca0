"""What is known to be ready before a call: a test that holds there, or an object that never waits.

``if c.poll(): c.recv()`` does not wait in ``recv``, nor does a socket that ``select`` has returned,
nor a queue whose ``block`` attribute is False. Which test makes which call immediate is the
catalog's to say; here the tests are found that hold for sure where a call is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblock.catalog import Assigned, Blocker, Called
from gblock.project.names import values as v
from gblock.project.names.definitions import reaching
from gblock.project.names.expressions import Place, dotted, last_name, passed, same
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import LOOPS, Binding, Call, Expr, ModuleSummary, Path, Scope

_DEPTH = 4
"""How many names in a row are followed from a test to the call whose result it tests."""
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


class Readiness:
    """Answers whether the object of a call is ready when the call is made.

    Args:
        inference: What the project's expressions can be.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._callbacks: dict[tuple[str, int], bool] = {}

    def is_immediate(self, blocker: Blocker, call: Call, place: Place) -> bool:
        """Return whether a blocker's call does not wait, whatever its arguments are."""
        summary = self.inference.modules.summary(place.path)
        if summary is None:
            return False
        if any(self._is_called(one, summary) for one in blocker.unless_called):
            return True
        if any(self._is_set(one, call, place, summary) for one in blocker.unless_set):
            return True
        if blocker.kind != "waits" or call.node != "call":
            return False
        return self._is_tested(blocker, call, place, summary) or self._is_called_back(call, summary)

    # -- objects that never wait

    def _is_called(self, condition: Called, summary: ModuleSummary) -> bool:
        """Return whether the module makes such objects immediate: ``sock.setblocking(False)``."""
        name = condition.symbol.rpartition(".")[2]
        for call in summary.calls:
            if call.node != "call" or last_name(call.expression[1]) != name:
                continue
            place = Place(summary.filename, call.scope, call.path)
            given = self.inference.infer(passed(call.expression, condition.position, None), place)
            if any(x[0] == v.LITERAL and _is_any(x[2], condition.values) for x in given):
                return True
        return False

    def _is_set(
        self, condition: Assigned, call: Call, place: Place, summary: ModuleSummary
    ) -> bool:
        """Return whether each assignment of the attribute, on this object, is such a value."""
        callee = call.expression[1] if call.node == "call" else (tags.ATTRIBUTE, call.expression)
        if callee is None or callee[0] != tags.ATTRIBUTE:
            return False
        owners = self._names_of(callee[1], place, summary)
        found = [
            (index, binding)
            for index, name in owners
            for binding in summary.scopes[index].attributes.get((name, condition.attribute), ())
        ]
        return bool(found) and all(
            values and all(x[0] == v.LITERAL and _is_any(x[2], condition.values) for x in values)
            for values in (self.inference.bound(binding, summary.filename) for _, binding in found)
        )

    def _names_of(
        self, receiver: Expr, place: Place, summary: ModuleSummary
    ) -> list[tuple[int, str]]:
        """The names, with their scopes, under which an object is known in a module."""
        name = dotted(receiver)
        if name is None:
            return []
        root, _, rest = name.partition(".")
        scopes = summary.scopes
        home = place.scope
        while home > 0 and root not in scopes[home].bindings:
            home = scopes[home].parent
        is_own = bool(rest) and _is_method(summary, home)
        found = [
            (index, name)
            for index, scope in enumerate(scopes)
            if index == home
            or scope.parent == home
            or (is_own and scope.parent == scopes[home].parent)
            or (not rest and home == 0)
        ]
        for index, owner in list(found):
            base, _, attribute = owner.rpartition(".")
            bindings = (
                scopes[index].attributes.get((base, attribute), ())
                if base
                else scopes[index].bindings.get(attribute, ())
            )
            found += [
                (binding.scope, binding.value[1])
                for binding in bindings
                if binding.kind == tags.ASSIGNED
                and binding.value is not None
                and binding.value[0] == tags.NAME
            ]
        return list(dict.fromkeys(found))

    # -- tests that hold

    def _is_tested(
        self, blocker: Blocker, call: Call, place: Place, summary: ModuleSummary
    ) -> bool:
        receivers = _receivers(call.expression)
        if not receivers:
            return False
        home = _frame(summary, call.scope)
        for fact in facts(summary, call):
            shown = self._shows(fact, blocker, receivers, Place(place.path, home, fact.at))
            if shown and not self._is_used_up(fact, call, home, summary):
                if self._is_same(receivers, fact.at, call.path, home, summary):
                    return True
        return self._is_counted(blocker, call, summary) or self._is_looped(call, place)

    def _shows(
        self, fact: Fact, blocker: Blocker, receivers: list[Expr], place: Place, depth: int = 0
    ) -> bool:
        """Return whether a fact says that one of some objects is ready."""
        expression, holds = fact.expression, fact.holds
        if expression[0] == tags.CALL:
            callee = expression[1]
            if callee is not None and callee[0] == tags.ATTRIBUTE and callee[1] in receivers:
                if any(r.method == callee[2] and r.result == holds for r in blocker.ready_after):
                    return True
        if expression[0] == tags.NAME and depth < _DEPTH:
            for binding in self._assigned(expression[1], place):
                inner = place._replace(at=binding.path)
                for one, is_true in _atoms(binding.value, holds):
                    told = fact._replace(expression=one, holds=is_true)
                    is_whole = binding.kind == tags.ASSIGNED
                    if is_whole and self._shows(told, blocker, receivers, inner, depth + 1):
                        return True
        return holds and self._selects(expression, receivers, place)

    def _selects(self, expression: Expr, receivers: list[Expr], place: Place) -> bool:
        """Return whether an expression tests what ``select`` returned of one of some objects."""
        sources = list(self._sources(expression, place))
        if not sources:
            return False
        if _mentions(expression, receivers):
            return True
        return any(self._is_asked(source, receivers, place) for source in sources)

    def _is_asked(self, source: Expr, receivers: list[Expr], place: Place) -> bool:
        """Return whether ``select`` is asked for an object: as argument, or by ``register``."""
        if any(_mentions(one, receivers) for one in source[2]):
            return True
        if source[1] is None or source[1][0] != tags.ATTRIBUTE:
            return False
        summary = self.inference.modules.summary(place.path)
        poller = source[1][1]
        return any(
            call.expression[1] is not None
            and call.expression[1] == (tags.ATTRIBUTE, poller, "register")
            and any(_mentions(one, receivers) for one in call.expression[2])
            for call in (summary.calls if summary else ())
            if call.node == "call"
        )

    def _sources(self, expression: Expr, place: Place, depth: int = 0) -> Iterator[Expr]:
        """The calls of ``select`` and its like from which an expression comes."""
        if not isinstance(expression, tuple) or not expression or depth > 2 * _DEPTH:
            return
        if expression[0] == tags.CALL:
            symbols = self.inference.callee_symbols(expression[1], place)
            if symbols & self.inference.catalog.readiness:
                yield expression
                return
        if expression[0] == tags.NAME:
            for binding in self._assigned(expression[1], place):
                yield from self._sources(binding.value, place._replace(at=binding.path), depth + 1)
            return
        for part in expression:
            if isinstance(part, tuple):
                yield from self._sources(part, place, depth + 1)

    def _assigned(self, name: str, place: Place) -> list[Binding]:
        """What a local name is given, where that is one value."""
        summary = self.inference.modules.summary(place.path)
        if summary is None:
            return []
        scope = place.scope
        while name not in summary.scopes[scope].bindings:
            if summary.scopes[scope].kind != "comprehension":
                return []
            scope = summary.scopes[scope].parent
        found = reaching(summary, scope, name, place.at)
        kinds = (tags.ASSIGNED, tags.UNPACKED, tags.LOOPED)
        return found if all(one.kind in kinds for one in found) else []

    def _is_used_up(self, fact: Fact, call: Call, home: int, summary: ModuleSummary) -> bool:
        """Return whether the same call is made before, under the same fact."""
        return any(
            other.expression[1] == call.expression[1]
            and other.path[: len(fact.within)] == fact.within
            and fact.at <= other.path
            and (
                (other.path < call.path and other.path[:-1] == call.path[: len(other.path) - 1])
                or (
                    other.path == call.path
                    and (other.row, other.column) < (call.row, call.column)
                    and all(guard in call.guards for guard in other.guards)
                )
            )
            for other in summary.calls
            if other.node == "call" and other.scope == call.scope == home and other is not call
        )

    def _is_same(
        self, receivers: list[Expr], at: Path, use: Path, home: int, summary: ModuleSummary
    ) -> bool:
        """Return whether the objects' names mean the same at a test and where they are used."""
        for receiver in receivers:
            root = (dotted(receiver) or "").partition(".")[0]
            if root in summary.scopes[home].bindings:
                before = reaching(summary, home, root, at)
                if reaching(summary, home, root, use) != before and before:
                    return False
        return True

    def _is_counted(self, blocker: Blocker, call: Call, summary: ModuleSummary) -> bool:
        """Return whether a loop makes as many turns as things are there: ``range(q.qsize())``."""
        counts = [one.method for one in blocker.ready_after if one.result]
        receivers = _receivers(call.expression)
        for turns in _turns(summary, call):
            if turns[0] == tags.CALL and last_name(turns[1]) == "range":
                if any(_is_count(one, receivers, counts) for one in turns[2]):
                    return True
        return False

    def _is_looped(self, call: Call, place: Place) -> bool:
        """Return whether the object is one of those that ``select`` returned, in turn."""
        for receiver in _receivers(call.expression):
            root = (dotted(receiver) or "").partition(".")[0]
            found = self._assigned(root, place)
            if found and all(
                one.kind != tags.ASSIGNED
                and any(self._sources(one.value, place._replace(at=one.path)))
                for one in found
            ):
                return True
        return False

    # -- callbacks

    def _is_called_back(self, call: Call, summary: ModuleSummary) -> bool:
        """Return whether the call's function only runs once an object is ready."""
        index = _frame(summary, call.scope)
        if index == 0 or not self.inference.catalog.callbacks:
            return False
        key = (summary.filename, index)
        if key not in self._callbacks:
            self._callbacks[key] = self._is_callback(summary, index)
        return self._callbacks[key]

    def _is_callback(self, summary: ModuleSummary, index: int) -> bool:
        handovers = self.inference.calling.handovers(summary.filename, index)
        if not handovers or self.inference.calling.callers(summary.filename, index):
            return False
        return all(
            self.inference.callee_symbols(call.expression[1], place)
            & self.inference.catalog.callbacks
            for call, place, _ in handovers
        )


def facts(summary: ModuleSummary, call: Call) -> Iterator[Fact]:
    """The tests that have come out one way where a call is made, the nearest first."""
    for expression, holds in reversed(call.guards):
        for atom, is_true in _atoms(expression, holds):
            yield Fact(atom, is_true, call.path, call.path)
    scope, path = summary.scopes[_frame(summary, call.scope)], call.path
    for depth in range(len(path) - (len(path) % 2 == 0), 0, -2):
        block = path[: depth - 1]
        for index in range(path[depth - 1] - 1, -1, -1):
            for expression, holds in _left_over((*block, index), scope):
                for atom, is_true in _atoms(expression, holds):
                    yield Fact(atom, is_true, (*block, index), block)
        if depth > 2:
            statement, number = path[: depth - 2], path[depth - 2]
            test = scope.tests.get(statement)
            for atom, is_true in _atoms(test, number == 0):
                yield Fact(atom, is_true, statement, block)
            if scope.branches.get(statement) in LOOPS:
                return  # the next turn finds what this one has left


def _turns(summary: ModuleSummary, call: Call) -> Iterator[Expr]:
    """What the ``for`` loops and the comprehensions around a call go through."""
    index = call.scope
    while True:
        scope = summary.scopes[index]
        is_comprehension = scope.kind == "comprehension"
        loops = {(*call.path[:depth], 0, -1) for depth in range(1, len(call.path), 2)}
        for bindings in scope.bindings.values():
            for one in bindings:
                if one.kind == tags.LOOPED and one.value is not None:
                    if is_comprehension or one.path in loops:
                        yield one.value
        if not is_comprehension:
            return
        index = scope.parent


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


def _atoms(expression: Expr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    """The single tests in a condition that are true for sure, or false, if it holds or fails."""
    if expression is None:
        return
    tag = expression[0]
    if tag == tags.NOT:
        yield from _atoms(expression[1], not holds)
    elif (tag == tags.BOTH and holds) or (tag == tags.EITHER and not holds):
        for part in expression[1]:
            yield from _atoms(part, holds)
    elif tag == tags.COMPARE:
        yield from _compared(expression, holds)
    elif tag == tags.CALL and expression[1] in ((tags.NAME, "len"), (tags.NAME, "bool")):
        yield expression, holds
        if expression[2]:
            yield from _atoms(expression[2][0], holds)
    else:
        yield expression, holds


def _compared(expression: Expr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    _, left, operator, right = expression
    if operator in _OPPOSITE:
        operator, holds = _OPPOSITE[operator], not holds
    if left is not None and left[0] == tags.CONSTANT and operator in _MIRRORED:
        left, operator, right = right, _MIRRORED[operator], left
    if right is not None and right[0] == tags.CONSTANT and left is not None:
        value = right[1]
        is_falsy = any(same(value, one) for one in _FALSY)
        if operator in ("==", "is") and (is_falsy or value is True):
            yield from _atoms(left, holds != is_falsy)
            return
        if (operator, value) in ((">", 0), (">=", 1)):
            yield from _atoms(left, holds)
            return
        if (operator, value) in (("<", 1), ("<=", 0)):
            yield from _atoms(left, not holds)
            return
    if _is_empty(right) and operator == "==":
        yield from _atoms(left, not holds)
        return
    yield (tags.COMPARE, left, operator, right), holds


def _is_empty(expression: Expr) -> bool:
    """Return whether an expression is an empty list, or a tuple of nothing else."""
    if expression is None or expression[0] not in (tags.SEQUENCE, tags.TUPLE):
        return False
    return all(_is_empty(one) for one in expression[1])


def _receivers(expression: Expr) -> list[Expr]:
    """What a call can wait for: its object, or the descriptor that it is given, and its object."""
    callee, positional = expression[1], expression[2]
    found = [callee[1]] if callee is not None and callee[0] == tags.ATTRIBUTE else []
    if positional and positional[0] is not None:
        first = positional[0]
        found.append(first)
        if first[0] == tags.CALL and last_name(first[1]) == "fileno":
            found.append(first[1][1] if first[1][0] == tags.ATTRIBUTE else first)
    return [one for one in found if dotted(one) is not None or one[0] in (tags.CALL, tags.CONSTANT)]


def _mentions(expression: Expr, receivers: list[Expr]) -> bool:
    """Return whether one of some expressions is part of an expression."""
    if expression in receivers:
        return True
    return isinstance(expression, tuple) and any(
        _mentions(part, receivers) for part in expression if isinstance(part, tuple)
    )


def _is_count(expression: Expr, receivers: list[Expr], methods: list[str]) -> bool:
    if expression is None or expression[0] != tags.CALL or expression[1] is None:
        return False
    callee = expression[1]
    return callee[0] == tags.ATTRIBUTE and callee[1] in receivers and callee[2] in methods


def _frame(summary: ModuleSummary, scope: int) -> int:
    """The scope whose statements a comprehension's expressions stand in."""
    while summary.scopes[scope].kind == "comprehension":
        scope = summary.scopes[scope].parent
    return scope


def _is_method(summary: ModuleSummary, scope: int) -> bool:
    return scope > 0 and summary.scopes[summary.scopes[scope].parent].kind == "class"


def _is_any(value: object, values: tuple[object, ...]) -> bool:
    return any(same(value, one) for one in values)
