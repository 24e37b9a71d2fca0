"""Receivers: functions and classes of the project that run a function that they are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblock.project.calls.dispatch import Dispatch, Dispatched
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.registrars import Filled, handing, is_parameter
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.keeping import Keeping
from gblock.project.names.places import Place
from gblock.project.names.values import unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import CallExpr, Expr, dotted, last_name

_MOST_PASSED_ON = 4
"""A function is followed through at most this many functions that pass it on."""
_MOST_FILES = 12
"""At most this many files are read in search of the calls of a function that an object keeps."""

RUNNING = frozenset({"run", "apply", "__call__", "call_local", "fn"})
"""Methods of a task that run it in the caller's process; the others send it to a worker."""


class RunPlace(NamedTuple):
    """A statement that runs a function."""

    path: str
    """Its file."""
    scope: int
    """The function around it."""
    at: Path
    only: Dispatched | None = None
    """The calls of that function for which it runs the other one, if not for all."""
    passing: tuple[tuple[str, int], ...] = ()
    """The functions that pass it on to that one, the first first; empty if a greenlet runs it."""


class Receivers:
    """Finds where a function runs that is given to another one, or to an object.

    Args:
        inference: Type inference over the project.
        offloading: Finds the parameters of functions.
        keeping: Finds the containers that keep a function.
        dispatch: Finds the conditions under which a function runs an element of a container.
    """

    def __init__(
        self,
        inference: Inference,
        offloading: Offloading,
        keeping: Keeping,
        dispatch: Dispatch,
    ) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._offloading = offloading
        self._keeping = keeping
        self._dispatch = dispatch

    def runs(
        self,
        callee: v.FunctionValue | v.ScopeValue,
        expression: CallExpr,
        place: Place,
        given: tuple[str, int],
        *,
        is_task: bool = False,
        at: int | None = None,
    ) -> Iterator[RunPlace]:
        """Yield the calls of the parameter through which a project function gets a function.

        Args:
            callee: The function or class that is called, with the function as an argument.
            expression: The call.
            place: Its place.
            given: The module and the scope of the function.
            is_task: True if the function is a task, which some of its methods run, too.
            at: The position of the function among the arguments, if no value says it.
        """
        for key in self._keys(expression, place, given) if at is None else (at,):
            if callee.kind != v.FUNCTION:
                yield from self._by_object(callee, key, given, is_task)
                continue
            filled = self._offloading.filled(callee, key)
            if filled is not None:
                if is_task:
                    seen = {(callee.path, callee.scope)}
                    yield from self._of_task(callee, filled.name, given, seen)
                else:
                    yield from self._by_parameter(callee, filled)
                    first = (callee.path, callee.scope)
                    yield from self._onward(callee, filled, {first}, (first,))
                yield from self._out_of_container(callee, filled.name, given)

    def parameters(
        self,
        callee: v.FunctionValue,
        expression: CallExpr,
        place: Place,
        given: tuple[str, int],
    ) -> list[Filled]:
        """Return the parameters through which a project function gets a function.

        Args:
            callee: The function that is called, with the other one as an argument.
            expression: The call.
            place: Its place.
            given: The module and the scope of the other function.
        """
        keys = self._keys(expression, place, given)
        filled = (self._offloading.filled(callee, key) for key in keys)
        return [one for one in filled if one is not None]

    def _keys(
        self, expression: CallExpr, place: Place, given: tuple[str, int]
    ) -> Iterator[int | str | None]:
        """Yield the positions and keywords of a call's arguments that are a function."""
        for key, argument in (*enumerate(expression.positional), *expression.keywords):
            if self._is_of(argument, place, given):
                yield key

    def _is_of(self, expression: Expr, place: Place, given: tuple[str, int]) -> bool:
        """Return whether an expression is a function, or a partial of it."""
        return any(
            value.kind == v.FUNCTION and v.comes_from(value, *given)
            for value in map(unwrapped, self.inference.infer(expression, place))
        )

    def is_run(self, receiver: v.FunctionValue, filled: Filled) -> bool:
        """Return whether a function calls one of its parameters."""
        return any(True for _ in self._by_parameter(receiver, filled))

    def _by_parameter(self, receiver: v.FunctionValue, filled: Filled) -> Iterator[RunPlace]:
        """Yield the calls that a function makes of its parameter."""
        summary = self.modules.summary(receiver.path)
        for inner in summary.calls:
            written = inner.expression.callee if inner.node == "call" else None
            if is_parameter(written, filled):
                if summary.is_within(inner.scope, receiver.scope):
                    yield RunPlace(receiver.path, summary.function_around(inner.scope), inner.path)

    def _onward(
        self,
        receiver: v.FunctionValue,
        filled: Filled,
        seen: set[tuple[str, int]],
        led: tuple[tuple[str, int], ...],
    ) -> Iterator[RunPlace]:
        """Yield the calls of a parameter in the functions to which a function passes it on.

        Args:
            receiver: The function.
            filled: The parameter.
            seen: The functions that have been searched.
            led: The functions that lead to it, with itself; empty if a greenlet runs it.
        """
        if len(seen) > _MOST_PASSED_ON:
            return
        summary = self.modules.summary(receiver.path)
        for call, place, _, argument in handing(summary, receiver.scope, filled):
            handover = self._offloading.handover(call, place)
            is_started = handover is not None and handover.argument is not argument
            callee, passing = call.expression.callee, call.expression
            if handover is not None and is_started:
                callee, passing = handover.argument, handover.forwarded
            arguments = (*enumerate(passing.positional), *passing.keywords)
            keys = [key for key, one in arguments if is_parameter(one, filled)]
            for taker in sorted(self.inference.infer(callee, place), key=repr):
                if taker.kind != v.FUNCTION or (taker.path, taker.scope) in seen:
                    continue
                seen.add((taker.path, taker.scope))
                through = led if not is_started else ()
                more = (*through, (taker.path, taker.scope)) if through else ()
                for key in keys:
                    onward = self._offloading.filled(taker, key)
                    if onward is not None:
                        for one in self._by_parameter(taker, onward):
                            # An inner function may run at any time.
                            is_own = one.scope == taker.scope
                            yield one._replace(passing=through if is_own else ())
                        yield from self._onward(taker, onward, seen, more)

    def _of_task(
        self,
        receiver: v.FunctionValue,
        name: str,
        given: tuple[str, int],
        seen: set[tuple[str, int]],
    ) -> Iterator[RunPlace]:
        """Yield the calls that run the task of a parameter, in functions that pass it on, too."""
        yield from self._by_parameter(receiver, Filled(name))
        summary = self.modules.summary(receiver.path)
        for inner in summary.calls:
            if inner.node != "call" or not summary.is_within(inner.scope, receiver.scope):
                continue
            here = RunPlace(receiver.path, summary.function_around(inner.scope), inner.path)
            expression = inner.expression
            if dotted(task_of(expression.callee)) == name:
                yield here
            keys = [
                key
                for key, argument in (*enumerate(expression.positional), *expression.keywords)
                if argument is not None and dotted(task_of(argument) or argument) == name
            ]
            if not keys:
                continue
            place = Place(receiver.path, inner.scope, inner.path)
            if self._offloading.handover(inner, place) is not None:
                yield here
            for taker in sorted(self.inference.infer(expression.callee, place), key=repr):
                if taker.kind == v.CLASS:
                    for key in keys:
                        yield from self._by_object(taker, key, given, is_task=True)
                if taker.kind != v.FUNCTION or (taker.path, taker.scope) in seen:
                    continue
                seen.add((taker.path, taker.scope))
                for key in keys:
                    onward = self._offloading.parameter(taker, key)
                    if onward is not None:
                        yield from self._of_task(taker, onward, given, seen)

    def methods_of_task(self, path: str, index: int) -> Iterator[RunPlace]:
        """Yield the calls of the methods that run a task: ``place.run()``."""
        name = self.modules.summary(path).scopes[index].name
        for other in self.modules.mentioning(name, whole=True):
            by_name = self.inference.calling.calls_by_name(other)
            for inner in (one for method in sorted(RUNNING) for one in by_name.get(method, ())):
                task = task_of(inner.expression.callee)
                place = Place(other, inner.scope, inner.path)
                if last_name(task) == name and self._is_of(task, place, (path, index)):
                    summary = self.modules.summary(other)
                    yield RunPlace(other, summary.function_around(inner.scope), inner.path)

    def _out_of_container(
        self, receiver: v.FunctionValue, name: str, given: tuple[str, int]
    ) -> Iterator[RunPlace]:
        """Yield the calls of what a function puts into a container."""
        containers = self._keeping.stored(receiver, name)
        for path, kept in self._keeping.callers(containers, *given):
            place = Place(path, kept.scope, kept.path)
            only = self._dispatch.of(given, kept.expression.callee, place)
            index = self.modules.summary(path).function_around(kept.scope)
            yield RunPlace(path, index, kept.path, only)

    def _by_object(
        self, owner: v.ScopeValue, key: int | str | None, given: tuple[str, int], is_task: bool
    ) -> Iterator[RunPlace]:
        """Yield the calls of the attribute in which an object keeps a function that it is given."""
        for attribute in self._attributes(owner, key):
            for path in self.modules.nearest(attribute, owner.path, _MOST_FILES):
                by_name = self.inference.calling.calls_by_name(path)
                named = [attribute, *sorted(RUNNING)] if is_task else [attribute]
                for inner in (one for name in named for one in by_name.get(name, ())):
                    written = inner.expression.callee
                    if last_name(written) != attribute:
                        written = task_of(written)
                    if written is not None and written.tag == tags.ATTRIBUTE:
                        if self._is_of(written, Place(path, inner.scope, inner.path), given):
                            summary = self.modules.summary(path)
                            yield RunPlace(path, summary.function_around(inner.scope), inner.path)

    def _attributes(self, owner: v.ScopeValue, key: int | str | None) -> list[str]:
        """Return the attributes that a constructor sets to one of its arguments."""
        made = owner._replace(kind=v.OBJECT)
        found = []
        methods = self.inference.classes.attribute(made, "__init__")
        for method in sorted((x for x in methods if x.kind == v.FUNCTION), key=repr):
            summary = self.modules.summary(method.path)
            name = self._offloading.parameter(method, key)
            found += [
                attribute
                for (_, attribute), bindings in summary.scopes[method.scope].attributes.items()
                if name is not None and any(dotted(one.value) == name for one in bindings)
            ]
        return found or self._fields(owner, key)

    def _fields(self, owner: v.ScopeValue, key: int | str | None) -> list[str]:
        """Return the fields that a constructor which is generated sets to an argument."""
        scope = self.modules.summary(owner.path).scopes[owner.scope]
        fields = [
            name
            for name, bindings in scope.bindings.items()
            if any(one.kind == kinds.ANNOTATED for one in bindings)
        ]
        if isinstance(key, int):
            return fields[key : key + 1]
        return [name for name in fields if name == key]


def task_of(method: Expr) -> Expr:
    """Return the task of a method that runs it, None if the expression is no such method."""
    if method is not None and method.tag == tags.ATTRIBUTE and method.name in RUNNING:
        return method.base
    return None
