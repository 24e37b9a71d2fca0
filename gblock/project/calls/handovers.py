"""Handovers: calls that take a function as an argument, and what runs it then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeAlias

from gblock.project.calls.callers import Callers
from gblock.project.calls.concurrency import Concurrency
from gblock.project.calls.entries import Entries, Started
from gblock.project.calls.offloading import Handover, Offloading
from gblock.project.calls.queues import Queues
from gblock.project.calls.receivers import Receivers
from gblock.project.calls.registrars import Filled, handing, is_of_outer
from gblock.project.calls.running import Running
from gblock.project.calls.visits import Visit, step_in
from gblock.project.calls.ways import GREENLET, NATIVE, UNKNOWN, Step, Way
from gblock.project.calls.wrappings import Wrappings
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import AttributeExpr, CallExpr, Expr, call_of
from gblock.project.reading.summary import Call

_LOOKING = frozenset(
    f"builtins.{name}"
    for name in "callable dict dir getattr hasattr hash id isinstance issubclass print repr "
    "setattr str type vars".split()
)
"""Functions that look at what they are given, or keep it, and call nothing."""

_MOST_HANDED_ON = 2
"""A function is followed through at most this many functions that pass it on."""

_Named: TypeAlias = tuple[Call, Place, int | None]
"""A call that takes a function as an argument, its place, and the argument's position."""
_Taking: TypeAlias = tuple[Call, Place, int | None, Expr]
"""The same, and the argument."""


class Handovers:
    """Finds what runs a function that is handed over.

    Args:
        inference: Type inference over the project.
        offloading: Finds the calls that hand a function to a thread or a greenlet.
        entries: Finds the calls that hand a function to a framework.
        callers: Finds the callers of functions, and what containers keep.
        running: Finds the processes that run code.
        concurrency: Finds out whether something may run beside a statement.
        queues: Finds the queues of tasks.
    """

    def __init__(
        self,
        inference: Inference,
        offloading: Offloading,
        entries: Entries,
        callers: Callers,
        running: Running,
        concurrency: Concurrency,
        queues: Queues,
    ) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._offloading = offloading
        self._entries = entries
        self._callers = callers
        self._running = running
        self._concurrency = concurrency
        self._queues = queues
        self._receivers = Receivers(inference, offloading, callers.keeping, callers.dispatch)
        self._wrappings = Wrappings(inference, self._receivers)
        self._on: dict[tuple[v.FunctionValue, Filled, int], tuple[Started, ...]] = {}
        self._out_of: dict[tuple[str, int], list[_Taking]] = {}
        self._in_wrappings: dict[tuple[str, int], list[_Taking]] = {}

    def of(self, visit: Visit, here: Step) -> Iterator[Way | Visit]:
        """Yield the paths that begin where a function is handed over, or what runs it later.

        Args:
            visit: The function.
            here: The step through it.
        """
        named = self.inference.calling.handovers(visit.path, visit.scope)
        is_task = self._entries.is_task(visit.path, visit.scope)
        if is_task:
            for run in self._receivers.methods_of_task(visit.path, visit.scope):
                steps = (here, *visit.steps)
                yield Visit(run.path, run.scope, run.at, steps, visit.is_certain, visit.beside)
        for call, place, position, taken in self._wrapped(visit.path, visit.scope):
            begun = self._entries.handed(call, place, position, taken)
            yield from self._by_framework(begun, call, place, visit, here)
        yield from self._out_of_containers(visit, here, named)
        yield from self._by_name(visit, here)
        for call, place, position in named:
            if self._is_field(call, place):
                yield from self._where_made(place, visit, here)
                continue
            handover = self._offloading.handover(call, place)
            if handover is not None and handover.offload.starts_thread:
                beside = self._beside(handover, visit)
                if beside:
                    yield from self._by_framework(beside, call, place, visit, here)
                else:
                    yield self._elsewhere(handover, visit, here)
                continue
            if self._is_looked_at(call, place):
                continue
            started = self._started(call, place, position)
            started = started or list(self._started_with(call, place, position, visit))
            if started:
                yield from self._by_framework(started, call, place, visit, here)
            elif (place.path, self._function(place)) == (visit.path, visit.scope):
                continue
            elif handover is not None and handover.offload.is_inline:
                index, steps = self._function(place), (here, *visit.steps)
                yield Visit(place.path, index, place.at, steps, visit.is_certain, visit.beside)
            else:
                yield from self._received(call, place, visit, here, is_task)

    def _function(self, place: Place) -> int:
        return self.modules.summary(place.path).function_around(place.scope)

    # -- to a thread, a greenlet or a framework

    def _elsewhere(self, handover: Handover, visit: Visit, here: Step) -> Way:
        """Return the path that begins with a thread or a greenlet that runs a function."""
        context = NATIVE if handover.offload.thread == "native" else GREENLET
        is_thread = handover.offload.thread == "greenlet"
        if is_thread:
            context = self._running.of_thread(handover.place.path)
        step = Step(handover.place.path, handover.call.row, f"{context} {here.text}")
        place = handover.place
        if is_of_outer(self.modules.summary(place.path), handover.argument, place.scope):
            place = Place(visit.path, visit.scope, ())
        begun = place if context == GREENLET else None
        steps = (step, *visit.steps)
        thread = handover.place if is_thread else None
        return Way(context, steps, visit.is_certain, begun=begun, thread=thread)

    def _beside(self, handover: Handover, visit: Visit) -> list[Started]:
        """Return the entries that start a function which a call takes beside what a thread runs.

        ``threadpool.apply_async(work, callback=done)``
        """
        call, place = handover.call, handover.place
        arguments = call.expression.positional, tuple(x for _, x in call.expression.keywords)
        given = [
            one
            for one in (*arguments[0], *arguments[1])
            if v.includes(self.inference.infer(one, place), v.FUNCTION, visit.path, visit.scope)
        ]
        if any(one is handover.argument for one in given):
            return []
        return [x for one in given for x in self._entries.handed(call, place, None, one)]

    def _started(self, call: Call, place: Place, position: int | None) -> list[Started]:
        """Return the entries that start a function because a call takes it as an argument."""
        expression = call.expression
        keywords = [value for _, value in expression.keywords]
        arguments = expression.positional if position is None else [expression.positional[position]]
        return [
            one
            for argument in (*arguments, *keywords)
            for one in self._entries.handed(call, place, position, argument)
        ]

    def _started_with(
        self, call: Call, place: Place, position: int | None, visit: Visit
    ) -> Iterator[Started]:
        """Yield the entries that start a function which runs another one that it is given.

        ``spawn(retry, place, order)``

        Args:
            call: The call that takes both.
            place: Its place.
            position: The position of the other function; None for a keyword argument.
            visit: The other function.
        """
        positional, keywords = call.expression.positional, call.expression.keywords
        before = positional if position is None else positional[:position]
        for number, argument in enumerate(before):
            begun = self._entries.handed(call, place, number, argument)
            onward = call_of(argument, positional[number + 1 :], keywords)
            if begun and self._runs_given(onward, place, (visit.path, visit.scope)):
                yield from begun

    def _runs_given(self, call: CallExpr, place: Place, given: tuple[str, int]) -> bool:
        """Return whether a call runs a function that it takes, in the project's own code."""
        takers = self.inference.callees.functions(self.inference.infer(call.callee, place))
        return any(
            any(True for _ in self._receivers.runs(one, call, place, given))
            or any(
                self._is_run(one, filled, _MOST_HANDED_ON + 1)
                for filled in self._receivers.parameters(one, call, place, given)
            )
            for one in sorted(takers, key=repr)
            if one.kind == v.FUNCTION
        )

    def _is_run(self, function: v.FunctionValue, filled: Filled, depth: int) -> bool:
        """Return whether a function of the project runs a function that it takes.

        Args:
            function: The function.
            filled: The parameter with the other one.
            depth: How many functions may still pass it on.
        """
        if self._receivers.is_run(function, filled):
            return True
        summary = self.modules.summary(function.path)
        return bool(depth) and any(
            self._is_run(taker, onward, depth - 1)
            for handed in handing(summary, function.scope, filled)
            for taker, onward in self._onward(function, *handed)
        )

    def _by_framework(
        self, started: Iterable[Started], call: Call, place: Place, visit: Visit, here: Step
    ) -> Iterator[Way]:
        """Yield the paths that begin with the framework to which a call hands a function."""
        for one in started:
            entry = one.entry
            queues = self._queues.of_receiver(entry, call, place) if entry is not None else None
            context = self._running.of_entry(one, place.path, beside=visit.beside, queues=queues)
            steps = (Step(place.path, call.row, one.label), here, *visit.steps)
            begun = place if context == GREENLET else None
            yield Way(context, steps, visit.is_certain and one.is_certain, begun=begun)

    # -- by name

    def _by_name(self, visit: Visit, here: Step) -> Iterator[Way | Visit]:
        """Yield the paths that begin where the method of an unknown object is handed over.

        ``pool.submit(plugin.lookup, order)`` may run a method with the name ``lookup``, as a call
        of ``plugin.lookup(order)`` may; ``spawn(getattr(self, name))`` may run any.
        """
        summary, doubted = self.modules.summary(visit.path), visit._replace(is_certain=False)
        taking = self.inference.calling.possible_handovers(visit.path, visit.scope)
        unknown = [
            one
            for one in taking
            if one[3] is not None
            and one[3].tag == tags.ATTRIBUTE
            and self._is_unknown(one[3], one[1])
        ]
        if unknown and not self._callers.is_known_by_name(summary, visit.scope):
            unknown = []
        computed = self._callers.given_by_name(summary, visit.scope)
        for call, place, position, argument in (*unknown, *computed):
            handover = self._offloading.handover(call, place)
            if handover is not None and handover.argument is not argument:
                continue  # it is an argument of what runs
            if handover is not None and handover.offload.starts_thread:
                yield self._elsewhere(handover, doubted, here)
                continue
            started = self._entries.handed(call, place, position, argument)
            yield from self._by_framework(started, call, place, doubted, here)
            if not started and position is not None:
                yield from self._run_by_position(call, place, position, doubted, here)

    def _run_by_position(
        self, call: Call, place: Place, position: int, visit: Visit, here: Step
    ) -> Iterator[Visit]:
        """Yield the places that run an argument of a call, in the project's own functions."""
        values = self.inference.infer(call.expression.callee, place)
        called = self.inference.callees.functions(values)
        takers = sorted((x for x in called if x.kind == v.FUNCTION), key=repr)
        steps, given = (here, *visit.steps), (visit.path, visit.scope)
        for one in takers:
            for run in self._receivers.runs(one, call.expression, place, given, at=position):
                inside = Visit(run.path, run.scope, run.at, steps, False, visit.beside, run.only)
                is_called = run.passing or v.comes_from(one, run.path, run.scope)
                index = self._function(place)
                yield self._through(inside, place, index, run.passing) if is_called else inside

    def _is_unknown(self, method: AttributeExpr, place: Place) -> bool:
        """Return whether neither a method nor its object is known."""
        return not self.inference.infer(method, place) and not v.informative(
            self.inference.infer(method.base, place)
        )

    # -- out of a container

    def _out_of_containers(self, visit: Visit, here: Step, named: list[_Named]) -> Iterator[Way]:
        """Yield the paths that begin where what a container keeps is handed over."""
        places = {(place, position) for _, place, position in named}
        for call, place, position, taken in self._kept(visit, named):
            if (place, position) in places:
                continue
            handover = self._offloading.handover(call, place)
            if handover is None or handover.argument is not taken:
                started = self._entries.handed(call, place, position, taken)
                yield from self._by_framework(started, call, place, visit, here)
                continue
            only = self._callers.dispatch.of((visit.path, visit.scope), taken, place)
            if only is None or self._callers.is_selected(only, place.path, self._function(place)):
                yield self._elsewhere(handover, visit, here)

    def _kept(self, visit: Visit, named: Iterable[_Named]) -> list[_Taking]:
        """Return the calls that hand over what a container keeps: ``spawn(handler, event)``.

        Args:
            visit: The function.
            named: The calls that take it as an argument: ``Route("/orders", place)``.
        """
        key = (visit.path, visit.scope)
        found = self._out_of.get(key)
        if found is None:
            summary, keeping = self.modules.summary(visit.path), self._callers.keeping
            containers = keeping.containers(summary, visit.scope)
            for call, place, position in named:
                if position is not None:
                    containers |= keeping.attributes(call, place, position)
            taken = keeping.handovers(containers, *key, self._handing)
            found = self._out_of[key] = list(taken)
        return found

    def _wrapped(self, path: str, index: int) -> list[_Taking]:
        """Return the calls that take a function which other calls wrap."""
        found = self._in_wrappings.get((path, index))
        if found is None:
            found = self._in_wrappings[path, index] = list(self._wrappings.of(path, index))
        return found

    @cached_property
    def _handing(self) -> frozenset[str]:
        """The last names of the functions of the catalog that run what they are given."""
        offloading = frozenset(self.inference.catalog.offloads_by_name)
        return offloading | self._entries.taking

    # -- to the project's own code

    def _is_field(self, call: Call, place: Place) -> bool:
        """Return whether a call describes a field: what it takes runs where an object is made."""
        summary = self.modules.summary(place.path)
        if summary.scopes[place.scope].kind != "class":
            return False
        catalog = self.inference.catalog
        return any(
            (one := catalog.passed_on(symbol)) is not None and one.gives == "field"
            for symbol in self.inference.callees.called_symbols(call.expression.callee, place)
        )

    def _is_looked_at(self, call: Call, place: Place) -> bool:
        """Return whether a call only looks at a function, or keeps it under a name."""
        symbols = self.inference.callees.called_symbols(call.expression.callee, place)
        return bool(symbols) and symbols <= _LOOKING

    def _where_made(self, field: Place, visit: Visit, here: Step) -> Iterator[Visit]:
        """Yield the places that make an object with a field."""
        steps = (here, *visit.steps)
        for made, where in self.inference.calling.callers(field.path, field.scope):
            index = self.modules.summary(where.path).function_around(made.scope)
            yield Visit(where.path, index, made.path, steps, visit.is_certain, visit.beside)

    def _received(
        self, call: Call, place: Place, visit: Visit, here: Step, is_task: bool
    ) -> Iterator[Way | Visit]:
        """Yield what runs a function that a call gives to code of the project, or to unknown code.

        A task is given to what sends it, and runs only where it is called.

        Args:
            call: The call.
            place: Its place.
            visit: The function.
            here: The step through it.
            is_task: True if the function is a task.
        """
        index, steps = self._function(place), (here, *visit.steps)
        callees = self.inference.infer(call.expression.callee, place)
        given = (visit.path, visit.scope)
        called = self.inference.callees.functions(callees)
        takers = sorted((x for x in called if x.kind in (v.CLASS, v.FUNCTION)), key=repr)
        runs = [
            run
            for one in takers
            for run in self._receivers.runs(one, call.expression, place, given, is_task=is_task)
        ]
        started = dict.fromkeys(
            begun
            for one in takers
            for function in self._constructors(one)
            for filled in self._receivers.parameters(function, call.expression, place, given)
            for begun in self._handed_on(function, filled)
        )
        yield from self._by_framework(started, call, place, visit, here)
        for path, scope, at, only, passing in runs:
            inside = Visit(path, scope, at, steps, visit.is_certain, visit.beside, only)
            is_called = passing or any(v.comes_from(one, path, scope) for one in takers)
            yield self._through(inside, place, index, passing) if is_called else inside
        if is_task or started:
            return
        decorated = self._decorated_with(call, place) if not runs else None
        if decorated is not None:  # ``@retry(before=report)``
            yield Visit(place.path, decorated, (), steps, False, visit.beside)
            return
        if not runs:
            # What is given at start-up may be kept, and run at any time.
            keeps = any(
                one.kind in (v.CLASS, v.FUNCTION) or v.record_of(one) is not None for one in callees
            )
            yield Visit(place.path, index, place.at, steps, False, visit.beside, is_lasting=keeps)
        if not callees or any(value.kind == v.EXTERNAL for value in callees):
            # Code outside the project may run it at any time.
            yield Way(UNKNOWN, steps, False, is_offered=True)

    def _decorated_with(self, call: Call, place: Place) -> int | None:
        """Return the function whose decorator a call is, or is an argument of; None for others."""
        for index, scope in enumerate(self.modules.summary(place.path).scopes):
            if scope.kind == "function" and (scope.parent, scope.path) == (place.scope, place.at):
                if any(_is_part(call.expression, one) for one in scope.decorators):
                    return index
        return None

    def _handed_on(
        self, function: v.FunctionValue, filled: Filled, depth: int = _MOST_HANDED_ON
    ) -> tuple[Started, ...]:
        """Return the entries to which a function of the project hands a function that it takes.

        ``def serve(url, view): app.add_url_rule(url, view_func=view)``

        Args:
            function: The function.
            filled: The parameter with the other one.
            depth: How many functions may still pass it on.
        """
        key = (function, filled, depth)
        found = self._on.get(key)
        if found is None:
            found = self._on[key] = tuple(dict.fromkeys(self._find_on(function, filled, depth)))
        return found

    def _constructors(self, taker: v.Value) -> list[v.FunctionValue]:
        """Return a function, or the constructors of a class, as what its call runs."""
        if taker.kind == v.FUNCTION:
            return [taker]
        if taker.kind != v.CLASS:
            return []
        methods = self.inference.classes.attribute(taker._replace(kind=v.OBJECT), "__init__")
        return sorted((x for x in methods if x.kind == v.FUNCTION), key=repr)

    def _find_on(self, function: v.FunctionValue, filled: Filled, depth: int) -> Iterator[Started]:
        summary = self.modules.summary(function.path)
        for call, place, position, argument in handing(summary, function.scope, filled):
            yield from self._entries.handed(call, place, position, argument)
            if depth:
                for taker, onward in self._onward(function, call, place, position, argument):
                    yield from self._handed_on(taker, onward, depth - 1)

    def _onward(
        self,
        function: v.FunctionValue,
        call: Call,
        place: Place,
        position: int | None,
        argument: Expr,
    ) -> Iterator[tuple[v.FunctionValue, Filled]]:
        """Yield the functions to which a function hands what it takes, with their parameters."""
        keywords = (word for word, one in call.expression.keywords if one is argument)
        given = position if position is not None else next(keywords, None)
        called = self.inference.infer(call.expression.callee, place)
        for taker in sorted(self.inference.callees.functions(called), key=repr):
            if taker.kind == v.FUNCTION and taker != function:
                onward = self._offloading.filled(taker, given)
                if onward is not None:
                    yield taker, onward

    def _through(
        self, inside: Visit, place: Place, index: int, passing: tuple[tuple[str, int], ...]
    ) -> Visit:
        """Return the place that calls a function which runs what it is given.

        Other callers of that function give it something else to run.

        Args:
            inside: The place that runs it.
            place: The place that gives it.
            index: The function around that.
            passing: The functions in between that pass it on.
        """
        through = (*passing, (inside.path, inside.scope))
        led = (step_in(self.modules.summary(path), scope) for path, scope in through)
        beside = self._concurrency.at(inside)
        steps = (*led, *inside.steps)
        return Visit(place.path, index, place.at, steps, inside.is_certain, beside)


def _is_part(call: CallExpr, whole: Expr) -> bool:
    """Return whether a call is an expression, or one of the arguments of this one."""
    if whole is None or whole.tag != tags.CALL:
        return False
    given = (*whole.positional, *(value for _, value in whole.keywords))
    return call == whole or any(_is_part(call, one) for one in given)
