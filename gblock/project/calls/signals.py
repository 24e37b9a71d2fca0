"""Signals: receivers that one call connects to an object, and the calls that run them.

``placed.connect(notify)``, and elsewhere ``placed.send(order)``. The catalog lists the calls as
``[[signal]]``.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, TypeAlias

from gblock.catalog.entries import Argument, Signal, fits
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.keeping import Keeping
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    Expr,
    constant_of,
    last_name,
    owner_of,
    passed,
    without_arguments,
)
from gblock.project.reading.summary import Call, ModuleSummary

_LONGEST_CHAIN = 4
"""At most this many imports of a signal are followed."""
_MOST_FILES = 30
"""At most this many files are searched for the calls that send a signal."""

_TEXT = "text"
"""The origin of a signal that a text names."""

_Object: TypeAlias = tuple[str, ...]
"""The identity of a signal: its text, or where it is defined."""


class Connected(NamedTuple):
    """A receiver's connection to a signal."""

    signal: Signal
    objects: frozenset[_Object]
    """The identities of the signal; empty if none is known."""
    event: object
    """The event that it is connected to; None for any event, or for an unknown one."""


class Signals:
    """Finds the calls that run the receivers of signals.

    Args:
        inference: Type inference over the project.
        keeping: Finds the variables that hold objects.
    """

    def __init__(self, inference: Inference, keeping: Keeping) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._keeping = keeping

    @cached_property
    def _used(self) -> list[Signal]:
        """The signals of the packages that the project mentions."""
        mentioning = self.modules.mentioning
        return [
            one
            for one in self.inference.catalog.signals
            if any(mentioning(name, whole=True) for name in one.imports or (one.framework,))
        ]

    @cached_property
    def _connecting(self) -> dict[str, list[tuple[Argument, Signal]]]:
        """The functions that connect a receiver, by their last names."""
        found: dict[str, list[tuple[Argument, Signal]]] = {}
        for signal in self._used:
            for argument in signal.connects:
                name = argument.symbol.rpartition(".")[2]
                found.setdefault(name, []).append((argument, signal))
        return found

    def senders(self, summary: ModuleSummary, index: int) -> Iterator[tuple[str, Call]]:
        """Yield the calls that run a function as a receiver, or an object of a class, with files.

        Args:
            summary: The module of the function or class.
            index: Its scope.
        """
        if not self._used:
            return
        connected = list(dict.fromkeys(self._connections(summary, index)))
        name = summary.scopes[index].name
        for one in connected:
            for pattern in one.signal.sends:
                yield from self._sending(one, pattern.replace("{name}", name))

    # -- connections

    def _connections(self, summary: ModuleSummary, index: int) -> Iterator[Connected]:
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            callee = without_arguments(decorator)
            for _, signal in self._taking(callee, place):
                yield self._connection(signal, callee, decorator, place)
        for call, where in self._given(summary, index):
            callee = call.expression.callee
            for _, signal in self._taking(callee, where):
                yield self._connection(signal, callee, call.expression, where)

    def _given(self, summary: ModuleSummary, index: int) -> Iterator[tuple[Call, Place]]:
        """Yield the calls that take a function, or an object of a class, as an argument."""
        if summary.scopes[index].kind != "class":
            for call, place, _ in self.inference.calling.handovers(summary.filename, index):
                yield call, place
            return
        for path in self._keeping.naming_objects(summary, index):
            by_name = self.inference.calling.calls_by_name(path)
            for name in sorted(self._connecting.keys() & by_name.keys()):
                for call in by_name[name]:
                    place = Place(path, call.scope, call.path)
                    if any(
                        value.kind == v.OBJECT and v.comes_from(value, summary.filename, index)
                        for argument in call.expression.positional
                        for value in self.inference.infer(argument, place)
                    ):
                        yield call, place

    def _taking(self, callee: Expr, place: Place) -> Iterator[tuple[Argument, Signal]]:
        """Yield what a decorator or a function connects, by inference."""
        name = last_name(callee)
        known = self._connecting.get(name, ())
        made = callee is not None and callee.tag == tags.NAME and name not in self._connecting
        if made:  # a decorator that is an object: ``hookimpl = HookimplMarker("shop")``
            known = [pair for pairs in self._connecting.values() for pair in pairs]
        symbols = self.inference.callees.called_symbols(callee, place) if known else ()
        for argument, signal in known:
            if any(fits(symbol, argument.symbol) for symbol in symbols):
                yield argument, signal

    def _connection(self, signal: Signal, callee: Expr, called: Expr, place: Place) -> Connected:
        event = None
        if signal.event is not None and called is not None and called.tag == tags.CALL:
            event = constant_of(passed(called, signal.event.position, signal.event.keyword))
        objects = frozenset[_Object]() if signal.shared else self._objects(owner_of(callee), place)
        return Connected(signal, objects, event)

    # -- what sends

    def _sending(self, connected: Connected, pattern: str) -> Iterator[tuple[str, Call]]:
        """Yield the calls that send to a connection."""
        signal, name = connected.signal, pattern.rpartition(".")[2]
        naming = self.modules.mentioning(name, whole=True)
        if len(naming) > _MOST_FILES:
            known = self._knowing(connected)
            naming = [path for path in naming if path in known]
        for path in naming if len(naming) <= _MOST_FILES else ():
            for call in self.inference.calling.calls_by_name(path).get(name, ()):
                place = Place(path, call.scope, call.path)
                callee = call.expression.callee
                symbols = self.inference.callees.called_symbols(callee, place)
                if not any(fnmatch.fnmatchcase(symbol, pattern) for symbol in symbols):
                    continue
                if signal.sent is not None and connected.event is not None:
                    given = passed(call.expression, signal.sent.position, signal.sent.keyword)
                    event = constant_of(given)
                    if event is not None and event != connected.event:
                        continue
                if signal.shared or not connected.objects.isdisjoint(
                    self._objects(owner_of(callee), place)
                ):
                    yield path, call

    def _knowing(self, connected: Connected) -> set[str]:
        """Return the files that may know a signal: those near one that defines or names it."""
        mentioning = self.modules.mentioning
        named = [one[-1] for one in connected.objects if one[0] == _TEXT]
        if isinstance(connected.event, str):
            named.append(connected.event)
        origins = {one[0] for one in connected.objects if one[0] != _TEXT}
        origins.update(
            path
            for text in named
            for quote in "\"'"
            for path in mentioning(f"{quote}{text}{quote}")
        )
        return {path for origin in origins for path in self.modules.near(origin)}

    # -- the identity of a signal

    def _objects(self, expression: Expr, place: Place, depth: int = 0) -> frozenset[_Object]:
        """Return what a signal is known by: the text that names it, or where it is defined."""
        if expression is None or depth > _LONGEST_CHAIN:
            return frozenset()
        if expression.tag == tags.CALL:  # signal("placed")
            text = constant_of(expression.positional[0]) if expression.positional else None
            return frozenset([(_TEXT, text)]) if isinstance(text, str) else frozenset()
        if expression.tag == tags.ATTRIBUTE:
            return frozenset(
                one
                for value in self.inference.infer(expression.base, place)
                for one in self._attribute(value, expression.name, depth)
            )
        if expression.tag != tags.NAME:
            return frozenset()
        found = self.inference.scope_of(expression.identifier, place)
        if found is None:
            return self._starred(place.path, expression.identifier, depth)
        summary, scope, _ = found
        return self._bound(summary, scope, expression.identifier, depth)

    def _starred(self, path: str, name: str, depth: int) -> frozenset[_Object]:
        """Return what a name is known by that a file has of ``from signals import *``."""
        targets = [
            self.modules.resolve(one.value[0], one.value[2], path)
            for one in self.modules.summary(path).star_imports
        ]
        return frozenset().union(
            *(
                self._bound(self.modules.summary(one), 0, name, depth + 1)
                for one in targets
                if one is not None and self.modules.is_module(one)
            )
        )

    def _bound(
        self, summary: ModuleSummary, scope: int, name: str, depth: int
    ) -> frozenset[_Object]:
        objects: set[_Object] = set()
        for binding in summary.scopes[scope].bindings.get(name, ()):
            if binding.kind == kinds.IMPORTED:
                module, original, level = binding.value
                if original is None:
                    continue
                target = self.modules.resolve(module, level, summary.filename)
                if target is not None and self.modules.is_module(target) and depth < _LONGEST_CHAIN:
                    there = self.modules.summary(target)
                    objects |= self._bound(there, 0, original, depth + 1)
            elif binding.kind == kinds.ASSIGNED:
                value = binding.value
                named = value is not None and value.tag == tags.CALL and value.positional
                inner = Place(summary.filename, binding.scope, binding.path)
                texts = self._objects(value, inner, depth + 1) if named else frozenset()
                objects |= texts or {(summary.filename, str(scope), name)}
        return frozenset(objects)

    def _attribute(self, value: v.Value, name: str, depth: int) -> Iterator[_Object]:
        """Yield where an attribute of a module, a class or an object is defined."""
        if value.kind == v.MODULE:
            yield from self._bound(self.modules.summary(value.path), 0, name, depth + 1)
        elif value.kind in (v.CLASS, v.OBJECT):
            for base in self.inference.classes.ancestry(value.path, value.scope):
                if base.kind == v.CLASS:
                    yield (base.path, str(base.scope), name)
