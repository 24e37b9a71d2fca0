"""What is known to be ready before a call: a test that holds there, or an object that never waits.

``if c.poll(): c.recv()`` does not wait in ``recv``, nor does a socket that ``select`` has returned,
nor a queue whose ``block`` attribute is False. Which test makes which call immediate is the
catalog's to say; here the tests are found that hold for sure where a call is made.
"""

from __future__ import annotations

from collections.abc import Iterator

from gblock.catalog import Assigned, Blocker, Called
from gblock.project.calls.facts import Fact, atoms, facts, frame
from gblock.project.names import values as v
from gblock.project.names.expressions import Place, dotted, last_name, passed, same
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import AttributeExpr, Binding, Call, Expr, ModuleSummary, Path

_DEVICES = ("/dev/", "/proc/", "/sys/")
"""Where files are that a read may wait for."""
_DEPTH = 4
"""How many names in a row are followed from a test to the call whose result it tests."""


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
        if self._is_of_another(blocker, call, place):
            return True
        return self._is_tested(blocker, call, place, summary) or self._is_called_back(call, summary)

    # -- objects that never wait

    def _is_called(self, condition: Called, summary: ModuleSummary) -> bool:
        """Return whether the module makes such objects immediate: ``sock.setblocking(False)``."""
        name = condition.symbol.rpartition(".")[2]
        for call in summary.calls:
            if call.node != "call" or last_name(call.expression.callee) != name:
                continue
            place = Place(summary.filename, call.scope, call.path)
            given = self.inference.infer(passed(call.expression, condition.position, None), place)
            if any(x.kind == v.LITERAL and _is_any(x.value, condition.values) for x in given):
                return True
        return False

    def _is_set(
        self, condition: Assigned, call: Call, place: Place, summary: ModuleSummary
    ) -> bool:
        """Return whether each assignment of the attribute, on this object, is such a value."""
        receiver = call.expression
        if call.node == "call":
            callee = call.expression.callee
            if callee is None or callee.tag != tags.ATTRIBUTE:
                return False
            receiver = callee.base
        owners = self._names_of(receiver, place, summary)
        found = [
            (index, binding)
            for index, name in owners
            for binding in summary.scopes[index].attributes.get((name, condition.attribute), ())
        ]
        return bool(found) and all(
            values
            and all(x.kind == v.LITERAL and _is_any(x.value, condition.values) for x in values)
            for values in (self.inference.bound(binding, summary.filename) for _, binding in found)
        )

    def _is_of_another(self, blocker: Blocker, call: Call, place: Place) -> bool:
        """Return whether a call is given the descriptor of something that never waits."""
        if not blocker.unless_descriptor_of and not blocker.unless_descriptor_from:
            return False
        expression = passed(call.expression, 0, None)
        if expression is not None and expression.tag == tags.NAME:
            found = self._assigned(expression.identifier, place)
            if len(found) != 1 or (found[0].detail or (0,)) != (0,):
                return False
            expression = found[0].value
            place = place._replace(at=found[0].path)
        if expression is None or expression.tag != tags.CALL:
            return False
        callee, arguments = expression.callee, expression.positional
        if self.inference.callee_symbols(callee, place) & {*blocker.unless_descriptor_from}:
            names = self.inference.infer(arguments[0], place) if arguments else v.NOTHING
            return not any(
                name.kind == v.LITERAL and str(name.value).startswith(_DEVICES) for name in names
            )
        if callee is None or callee.tag != tags.ATTRIBUTE or callee.name != "fileno":
            return False
        owners = self.inference.infer(callee.base, place)
        lineage = self.inference.catalog.lineage
        return bool(owners) and all(
            one.kind == v.INSTANCE
            and any(base in blocker.unless_descriptor_of for base in lineage(one.symbol))
            for one in owners
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
                (binding.scope, binding.value.identifier)
                for binding in bindings
                if binding.kind == tags.ASSIGNED
                and binding.value is not None
                and binding.value.tag == tags.NAME
            ]
        return list(dict.fromkeys(found))

    # -- tests that hold

    def _is_tested(
        self, blocker: Blocker, call: Call, place: Place, summary: ModuleSummary
    ) -> bool:
        receivers = _receivers(call.expression)
        if not receivers:
            return False
        home = frame(summary, call.scope)
        for fact in facts(summary, call):
            shown = self._shows(fact, blocker, receivers, Place(place.path, home, fact.at))
            if shown and not self._is_used_up(fact, call, home, summary):
                if self._is_same(receivers, fact.at, call.path, home, summary):
                    return True
        if self._is_counted(blocker, call, summary) or self._is_looped(call, place):
            return True
        return self._is_awaited(call, receivers, place, summary)

    def _shows(
        self, fact: Fact, blocker: Blocker, receivers: list[Expr], place: Place, depth: int = 0
    ) -> bool:
        """Return whether a fact says that one of some objects is ready."""
        expression, holds = fact.expression, fact.holds
        if expression.tag == tags.CALL:
            if _is_ready(expression.callee, blocker, receivers, holds):
                return True
        if _is_ready(expression, blocker, receivers, holds):
            return True
        if expression.tag == tags.NAME and depth < _DEPTH:
            for binding in self._assigned(expression.identifier, place):
                inner = place._replace(at=binding.path)
                for one, is_true in atoms(binding.value, holds):
                    shown = fact._replace(expression=one, holds=is_true)
                    is_whole = binding.kind == tags.ASSIGNED
                    if is_whole and self._shows(shown, blocker, receivers, inner, depth + 1):
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
        if any(_mentions(one, receivers) for one in source.positional):
            return True
        if source.callee is None or source.callee.tag != tags.ATTRIBUTE:
            return False
        summary = self.inference.modules.summary(place.path)
        poller = source.callee.base
        return any(
            call.expression.callee == AttributeExpr(tags.ATTRIBUTE, poller, "register")
            and any(_mentions(one, receivers) for one in call.expression.positional)
            for call in (summary.calls if summary else ())
            if call.node == "call"
        )

    def _sources(self, expression: Expr, place: Place, depth: int = 0) -> Iterator[Expr]:
        """The calls of ``select`` and its like from which an expression comes."""
        if not isinstance(expression, tuple) or not expression or depth > 2 * _DEPTH:
            return
        tag = getattr(expression, "tag", None)  # else several expressions
        if tag == tags.CALL:
            call: Expr = expression
            symbols = self.inference.callee_symbols(call.callee, place)
            if symbols & self.inference.catalog.readiness:
                yield expression
                return
        if tag == tags.NAME:
            name: Expr = expression
            for binding in self._assigned(name.identifier, place):
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
        found = self.inference.definitions.reaching(summary, scope, name, place.at)
        kinds = (tags.ASSIGNED, tags.UNPACKED, tags.LOOPED)
        return found if all(one.kind in kinds for one in found) else []

    def _is_used_up(self, fact: Fact, call: Call, home: int, summary: ModuleSummary) -> bool:
        """Return whether the same call is made before, under the same fact."""
        return any(
            other.expression.callee == call.expression.callee
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
                before = self.inference.definitions.reaching(summary, home, root, at)
                if (
                    self.inference.definitions.reaching(summary, home, root, use) != before
                    and before
                ):
                    return False
        return True

    def _is_counted(self, blocker: Blocker, call: Call, summary: ModuleSummary) -> bool:
        """Return whether a loop makes as many turns as things are there: ``range(q.qsize())``."""
        counts = [one.method for one in blocker.ready_after if one.result]
        receivers = _receivers(call.expression)
        for turns in _turns(summary, call):
            if turns.tag == tags.CALL and last_name(turns.callee) == "range":
                if any(_is_count(one, receivers, counts) for one in turns.positional):
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

    def _is_awaited(
        self, call: Call, receivers: list[Expr], place: Place, summary: ModuleSummary
    ) -> bool:
        """Return whether a statement before, in the same block, waits until the object is ready."""
        return bool(self.inference.catalog.awaiting) and any(
            other.scope == call.scope
            and other.node == "call"
            and other.path < call.path
            and other.path[:-1] == call.path[: len(other.path) - 1]
            and any(_mentions(argument, receivers) for argument in other.expression.positional)
            and self.inference.callee_symbols(
                other.expression.callee, place._replace(at=other.path)
            )
            & self.inference.catalog.awaiting
            and not self._is_used_up(
                Fact(other.expression, True, other.path, other.path[:-1]),
                call,
                frame(summary, call.scope),
                summary,
            )
            for other in summary.calls
        )

    # -- callbacks

    def _is_called_back(self, call: Call, summary: ModuleSummary) -> bool:
        """Return whether the call's function only runs once an object is ready."""
        index = frame(summary, call.scope)
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
            self.inference.callee_symbols(call.expression.callee, place)
            & self.inference.catalog.callbacks
            for call, place, _ in handovers
        )


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


def _receivers(expression: Expr) -> list[Expr]:
    """What a call can wait for: its object, or the descriptor that it is given, and its object."""
    callee, positional = expression.callee, expression.positional
    found = [callee.base] if callee is not None and callee.tag == tags.ATTRIBUTE else []
    if positional and positional[0] is not None:
        first = positional[0]
        found.append(first)
        if first.tag == tags.CALL and last_name(first.callee) == "fileno":
            found.append(first.callee.base if first.callee.tag == tags.ATTRIBUTE else first)
    return [
        one for one in found if dotted(one) is not None or one.tag in (tags.CALL, tags.CONSTANT)
    ]


def _is_ready(expression: Expr, blocker: Blocker, receivers: list[Expr], holds: bool) -> bool:
    """Return whether a method, or an attribute, of one of some objects says that it is ready."""
    if expression is None or expression.tag != tags.ATTRIBUTE or expression.base not in receivers:
        return False
    return any(r.method == expression.name and r.result == holds for r in blocker.ready_after)


def _mentions(expression: Expr, receivers: list[Expr]) -> bool:
    """Return whether one of some expressions is part of an expression."""
    if expression in receivers:
        return True
    return isinstance(expression, tuple) and any(
        _mentions(part, receivers) for part in expression if isinstance(part, tuple)
    )


def _is_count(expression: Expr, receivers: list[Expr], methods: list[str]) -> bool:
    if expression is None or expression.tag != tags.CALL or expression.callee is None:
        return False
    callee = expression.callee
    return callee.tag == tags.ATTRIBUTE and callee.base in receivers and callee.name in methods


def _is_method(summary: ModuleSummary, scope: int) -> bool:
    return scope > 0 and summary.scopes[summary.scopes[scope].parent].kind == "class"


def _is_any(value: object, values: tuple[object, ...]) -> bool:
    return any(same(value, one) for one in values)
