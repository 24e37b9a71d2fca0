"""Readiness of objects before a call: path conditions, and objects that never wait.

``if c.poll(): c.recv()`` does not wait in ``recv``, nor does a socket that ``select`` has returned,
nor a queue whose ``block`` attribute is False. The catalog lists the test that makes a call return
at once; this module finds the tests that surely hold at a call.
"""

from __future__ import annotations

from collections.abc import Iterator

from gblock.catalog.blockers import Assigned, Blocker, Called
from gblock.project.calls.facts import CallFact, atoms, facts
from gblock.project.calls.making import Making
from gblock.project.calls.refusals import Refusals
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path, ValueBinding
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    Expr,
    NameExpr,
    dotted,
    is_passed,
    last_name,
    owner_of,
    passed,
    same,
)
from gblock.project.reading.summary import AnyCall, Call, ModuleSummary

_DEVICES = ("/dev/", "/proc/", "/sys/")
"""Directories of files that a read may wait for."""
_LONGEST_CHAIN = 4
"""At most this many names in a row are followed from a test to the tested call."""


class Readiness:
    """Decides whether the object of a call is ready at the call.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.refusals = Refusals(inference.modules)
        self._making = Making(inference)
        self._callbacks: dict[tuple[str, int], bool] = {}

    def is_immediate(self, blocker: Blocker, call: AnyCall, place: Place) -> bool:
        """Return whether a blocker's call returns at once, whatever its arguments."""
        summary = self.inference.modules.summary(place.path)
        for one in blocker.unless_called:
            if (
                self._is_called(one, summary)
                if one.of is None
                else self._is_marked(one, call, place, summary)
            ):
                return True
        if any(self._is_set(one, call, place, summary) for one in blocker.unless_set):
            return True
        if self._making.is_cheap(blocker):
            return True
        if blocker.kind != "waits" or call.node != "call":
            return False
        if self._is_of_another(blocker, call, place):
            return True
        if self.refusals.contain(call.row, place.path) and not self._says(blocker, call, place):
            return True
        return self._is_tested(blocker, call, place, summary) or self._is_called_back(call, summary)

    def _says(self, blocker: Blocker, call: Call, place: Place) -> bool:
        """Return whether a call's own flags say that it waits, such as ``flock(fd, LOCK_EX)``.

        That an error is handled says nothing then: a timeout of the object may raise it.
        """
        flagged = [one for one in blocker.unless if one.flags]
        return bool(flagged and not blocker.unless_called) and all(
            not is_passed(call.expression, one.position, one.keyword)
            or v.informative(
                self.inference.infer(passed(call.expression, one.position, one.keyword), place)
            )
            for one in flagged
        )

    # -- objects that never wait

    def _is_called(self, condition: Called, summary: ModuleSummary) -> bool:
        """Return whether the module makes such objects non-blocking: ``setblocking(False)``."""
        name = condition.symbol.rpartition(".")[2]
        for call in summary.calls:
            if call.node != "call" or last_name(call.expression.callee) != name:
                continue
            place = Place(summary.filename, call.scope, call.path)
            given = self.inference.infer(passed(call.expression, condition.position, None), place)
            if any(x.kind == v.LITERAL and _is_any(x.value, condition.values) for x in given):
                return True
        return False

    def _is_marked(
        self, condition: Called, call: AnyCall, place: Place, summary: ModuleSummary
    ) -> bool:
        """Return whether a call makes the descriptor of another one non-blocking.

        ``fcntl(fd, F_SETFL, flags | O_NONBLOCK)`` may be in a function that is given it.
        """
        if call.node != "call":
            return False
        descriptor = passed(call.expression, 0, None)
        if dotted(descriptor) is None:
            return False
        names = set(self._names_of(descriptor, place, summary))
        for other in summary.calls:
            if other.node != "call" or other is call:
                continue
            for position, argument in enumerate(other.expression.positional):
                if (summary.frame(other.scope), dotted(argument)) in names:
                    where = Place(summary.filename, other.scope, other.path)
                    if self._marks(condition, other, position, where):
                        return True
        return False

    def _marks(
        self, condition: Called, call: Call, position: int, place: Place, depth: int = 0
    ) -> bool:
        """Return whether a call makes the argument at a position non-blocking."""
        callee = call.expression.callee
        if condition.symbol in self.inference.callees.called_symbols(callee, place):
            if position != condition.of:
                return False
            given = passed(call.expression, condition.position, None)
            if condition.flags:
                return self.inference.conditions.has_flag(given, condition.flags, place)
            values = self.inference.infer(given, place)
            return not condition.values or any(
                x.kind == v.LITERAL and _is_any(x.value, condition.values) for x in values
            )
        return depth < _LONGEST_CHAIN and any(
            self._marks_parameter(condition, value, position, depth)
            for value in self.inference.infer(callee, place)
            if value.kind == v.FUNCTION
        )

    def _marks_parameter(
        self, condition: Called, function: v.FunctionValue, position: int, depth: int
    ) -> bool:
        """Return whether a function makes its parameter at a position non-blocking."""
        summary = self.inference.modules.summary(function.path)
        names = [one.name for one in summary.scopes[function.scope].parameters]
        position += function.receiver is not None
        if position >= len(names):
            return False
        for call in summary.calls:
            if call.node == "call" and summary.frame(call.scope) == function.scope:
                for inner, argument in enumerate(call.expression.positional):
                    if dotted(argument) == names[position]:
                        place = Place(function.path, call.scope, call.path)
                        if self._marks(condition, call, inner, place, depth + 1):
                            return True
        return False

    def _is_set(
        self, condition: Assigned, call: AnyCall, place: Place, summary: ModuleSummary
    ) -> bool:
        """Return whether each assignment to the attribute of this object has such a value."""
        if call.node == "call":
            callee = call.expression.callee
            if callee is None or callee.tag != tags.ATTRIBUTE:
                return False
            receiver = callee.base
        else:
            receiver = call.expression
        owners = self._names_of(receiver, place, summary)
        found = [
            self.inference.bound(binding, summary.filename)
            for index, name in owners
            for binding in summary.scopes[index].attributes.get((name, condition.attribute), ())
        ]
        found += self._options(condition.attribute, owners, summary)
        return bool(found) and all(
            values
            and all(x.kind == v.LITERAL and _is_any(x.value, condition.values) for x in values)
            for values in found
        )

    def _options(
        self, name: str, owners: list[tuple[int, str]], summary: ModuleSummary
    ) -> Iterator[v.Values]:
        """Yield the values of an option of an object: ``socket.setsockopt(zmq.RCVTIMEO, 0)``."""
        by_name = self.inference.calling.calls_by_name(summary.filename)
        for call in by_name.get("setsockopt", ()):
            option, value = passed(call.expression, 0, None), passed(call.expression, 1, None)
            owner = owner_of(call.expression.callee)
            if last_name(option) == name and (call.scope, dotted(owner)) in owners:
                yield self.inference.infer(value, Place(summary.filename, call.scope, call.path))

    def _is_of_another(self, blocker: Blocker, call: Call, place: Place) -> bool:
        """Return whether a call's argument is the descriptor of an object that never waits."""
        if not blocker.unless_descriptor_of and not blocker.unless_descriptor_from:
            return False
        expression = passed(call.expression, 0, None)
        if expression is not None and expression.tag == tags.ATTRIBUTE:
            kept = self._kept(expression, place)
            return bool(kept) and all(self._never_waits(blocker, *one) for one in kept)
        if expression is not None and expression.tag == tags.NAME:
            found = self._assigned(expression.identifier, place)
            if len(found) != 1 or (found[0].indexes or (0,)) != (0,):
                return False
            expression = found[0].value
            place = place._replace(at=found[0].path)
        return self._never_waits(blocker, expression, place)

    def _kept(self, expression: AttributeExpr, place: Place) -> list[tuple[Expr, Place]]:
        """Return what the project assigns to an attribute, but ``None``, with its places.

        An assignment of unknown value, such as that of a tuple's parts, has no expression.
        """
        found: list[tuple[Expr, Place]] = []
        classes = self.inference.classes
        for owner in self.inference.infer(expression.base, place):
            if owner.kind != v.OBJECT:
                return []
            for binding, path, derived in classes.definitions(owner, expression.name):
                value = binding.value if binding.kind == kinds.ASSIGNED else None
                if value is None or value.tag != tags.CONSTANT or value.value is not None:
                    found.append((value, Place(path, binding.scope, binding.path, derived)))
        return found

    def _never_waits(self, blocker: Blocker, expression: Expr, place: Place) -> bool:
        """Return whether an expression is a descriptor of a file, or of an object like it."""
        if expression is None or expression.tag != tags.CALL:
            return False
        callee, arguments = expression.callee, expression.positional
        if self.inference.callees.called_symbols(callee, place) & {*blocker.unless_descriptor_from}:
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
        """Return the names, with their scopes, that a module gives to an object."""
        name = dotted(receiver)
        if name is None:
            return []
        root, _, rest = name.partition(".")
        scopes = summary.scopes
        home = summary.binding(root, place.scope)
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
                if binding.kind == kinds.ASSIGNED
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
        home = summary.frame(call.scope)
        for fact in facts(summary, call):
            shown = self._shows(fact, blocker, receivers, Place(place.path, home, fact.at))
            if shown and not self._is_used_up(fact, call, home, summary):
                if self._is_same(receivers, fact.at, call.path, home, summary):
                    return True
        if self._is_counted(blocker, call, summary) or self._is_looped(call, place):
            return True
        return self._is_awaited(call, receivers, place, summary)

    def _shows(
        self, fact: CallFact, blocker: Blocker, receivers: list[Expr], place: Place, depth: int = 0
    ) -> bool:
        """Return whether a fact implies that one of some objects is ready."""
        expression, holds = fact.expression, fact.holds
        if expression is not None and expression.tag == tags.CALL:
            if _is_ready(expression.callee, blocker, receivers, holds):
                return True
        if _is_ready(expression, blocker, receivers, holds):
            return True
        if expression is not None and expression.tag == tags.NAME and depth < _LONGEST_CHAIN:
            for binding in self._assigned(expression.identifier, place):
                inner = place._replace(at=binding.path)
                for one, is_true in atoms(binding.value, holds):
                    shown = fact._replace(expression=one, holds=is_true)
                    is_whole = binding.kind == kinds.ASSIGNED
                    if is_whole and self._shows(shown, blocker, receivers, inner, depth + 1):
                        return True
        return holds and self._selects(expression, receivers, place)

    def _selects(self, expression: Expr, receivers: list[Expr], place: Place) -> bool:
        """Return whether an expression tests the result of ``select`` for one of some objects."""
        sources = list(self._sources(expression, place))
        if not sources:
            return False
        if _mentions(expression, receivers):
            return True
        return any(self._is_asked(source, receivers, place) for source in sources)

    def _is_asked(self, source: CallExpr, receivers: list[Expr], place: Place) -> bool:
        """Return whether ``select`` watches an object: as an argument, or by ``register``."""
        if any(_mentions(one, receivers) for one in source.positional):
            return True
        if source.callee is None or source.callee.tag != tags.ATTRIBUTE:
            return False
        summary = self.inference.modules.summary(place.path)
        poller = source.callee.base
        return any(
            call.expression.callee == AttributeExpr(tags.ATTRIBUTE, poller, "register")
            and any(_mentions(one, receivers) for one in call.expression.positional)
            for call in summary.calls
            if call.node == "call"
        )

    def _sources(self, expression: object, place: Place, depth: int = 0) -> Iterator[CallExpr]:
        """Yield the calls of ``select`` and similar functions that an expression comes from.

        Args:
            expression: An expression, or a tuple of expressions.
            place: Its place.
            depth: The depth of the recursion.
        """
        if not isinstance(expression, tuple) or not expression or depth > 2 * _LONGEST_CHAIN:
            return
        if isinstance(expression, CallExpr):
            symbols = self.inference.callees.called_symbols(expression.callee, place)
            if symbols & self.inference.catalog.readiness:
                yield expression
                return
        if isinstance(expression, NameExpr):
            for binding in self._assigned(expression.identifier, place):
                yield from self._sources(binding.value, place._replace(at=binding.path), depth + 1)
            return
        for part in expression:
            if isinstance(part, tuple):
                yield from self._sources(part, place, depth + 1)

    def _assigned(self, name: str, place: Place) -> list[ValueBinding]:
        """Return the bindings of a local name at a place, if each of them has a value."""
        summary = self.inference.modules.summary(place.path)
        scope = place.scope
        while name not in summary.scopes[scope].bindings:
            if summary.scopes[scope].kind != "comprehension":
                return []
            scope = summary.scopes[scope].parent
        found = self.inference.definitions.reaching(summary, scope, name, place.at)
        followed = (kinds.ASSIGNED, kinds.UNPACKED, kinds.LOOPED)
        values = [one for one in found if isinstance(one, ValueBinding) and one.kind in followed]
        return values if len(values) == len(found) else []

    def _is_used_up(self, fact: CallFact, call: Call, home: int, summary: ModuleSummary) -> bool:
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
        """Return whether the objects' names mean the same at a test and at a use."""
        for receiver in receivers:
            root = (dotted(receiver) or "").partition(".")[0]
            if root in summary.scopes[home].bindings:
                before = self.inference.definitions.reaching(summary, home, root, at)
                after = self.inference.definitions.reaching(summary, home, root, use)
                if before and after != before:
                    return False
        return True

    def _is_counted(self, blocker: Blocker, call: Call, summary: ModuleSummary) -> bool:
        """Return whether a loop runs once for each waiting item: ``range(q.qsize())``."""
        counts = [one.method for one in blocker.ready_after if one.result]
        receivers = _receivers(call.expression)
        for turns in _turns(summary, call):
            if turns is not None and turns.tag == tags.CALL and last_name(turns.callee) == "range":
                if any(_is_count(one, receivers, counts) for one in turns.positional):
                    return True
        return False

    def _is_looped(self, call: Call, place: Place) -> bool:
        """Return whether a loop runs over the objects that ``select`` returned."""
        for receiver in _receivers(call.expression):
            root = (dotted(receiver) or "").partition(".")[0]
            found = self._assigned(root, place)
            if found and all(
                one.kind != kinds.ASSIGNED
                and any(self._sources(one.value, place._replace(at=one.path)))
                for one in found
            ):
                return True
        return False

    def _is_awaited(
        self, call: Call, receivers: list[Expr], place: Place, summary: ModuleSummary
    ) -> bool:
        """Return whether an earlier statement of the block waits until the object is ready."""
        return bool(self.inference.catalog.awaiting) and any(
            other.scope == call.scope
            and other.node == "call"
            and other.path < call.path
            and other.path[:-1] == call.path[: len(other.path) - 1]
            and any(_mentions(argument, receivers) for argument in other.expression.positional)
            and self.inference.callees.called_symbols(
                other.expression.callee, place._replace(at=other.path)
            )
            & self.inference.catalog.awaiting
            and not self._is_used_up(
                CallFact(other.expression, True, other.path, other.path[:-1]),
                call,
                summary.frame(call.scope),
                summary,
            )
            for other in summary.calls
        )

    # -- callbacks

    def _is_called_back(self, call: Call, summary: ModuleSummary) -> bool:
        """Return whether the call's function only runs once an object is ready."""
        index = summary.frame(call.scope)
        if index == 0 or not self.inference.catalog.callbacks:
            return False
        key = (summary.filename, index)
        if key not in self._callbacks:
            self._callbacks[key] = self._is_callback(summary, index)
        return self._callbacks[key]

    def _is_callback(self, summary: ModuleSummary, index: int) -> bool:
        calling = self.inference.calling
        # What takes the function is expensive to infer, and hardly any function is a callback.
        if not any(
            self._may_take_callbacks(call, place.path)
            for call, place, _, _ in calling.possible_handovers(summary.filename, index)
        ):
            return False
        handovers = calling.handovers(summary.filename, index)
        if not handovers or calling.callers(summary.filename, index):
            return False
        return all(
            self.inference.callees.called_symbols(call.expression.callee, place)
            & self.inference.catalog.callbacks
            for call, place, _ in handovers
        )

    def _may_take_callbacks(self, call: Call, path: str) -> bool:
        """Return whether a callee has a name, in its file, of what takes callbacks."""
        name, aliases = last_name(call.expression.callee), self.inference.calling.aliases(path)
        return any(
            name == taking or name in aliases.get(taking, ())
            for symbol in self.inference.catalog.callbacks
            for taking in [symbol.rpartition(".")[2]]
        )


def _turns(summary: ModuleSummary, call: Call) -> Iterator[Expr]:
    """Yield the iterables of the ``for`` loops and comprehensions around a call."""
    index = call.scope
    while True:
        scope = summary.scopes[index]
        is_comprehension = scope.kind == "comprehension"
        loops = {(*call.path[:depth], 0, -1) for depth in range(1, len(call.path), 2)}
        for bindings in scope.bindings.values():
            for one in bindings:
                if one.kind == kinds.LOOPED and one.value is not None:
                    if is_comprehension or one.path in loops:
                        yield one.value
        if not is_comprehension:
            return
        index = scope.parent


def _receivers(expression: CallExpr) -> list[Expr]:
    """Return the objects that a call can wait for: its receiver, or its descriptor's owner."""
    callee, positional = expression.callee, expression.positional
    found: list[Expr] = []
    if callee is not None and callee.tag == tags.ATTRIBUTE:
        found.append(callee.base)
    if positional and positional[0] is not None:
        first = positional[0]
        found.append(first)
        if first.tag == tags.CALL and last_name(first.callee) == "fileno":
            method = first.callee
            found.append(
                method.base if method is not None and method.tag == tags.ATTRIBUTE else first
            )
    return [
        one
        for one in found
        if dotted(one) is not None or (one is not None and one.tag in (tags.CALL, tags.CONSTANT))
    ]


def _is_ready(expression: Expr, blocker: Blocker, receivers: list[Expr], holds: bool) -> bool:
    """Return whether an expression is a method or attribute that shows an object to be ready."""
    if expression is None or expression.tag != tags.ATTRIBUTE or expression.base not in receivers:
        return False
    return any(r.method == expression.name and r.result == holds for r in blocker.ready_after)


def _mentions(expression: object, receivers: list[Expr]) -> bool:
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
