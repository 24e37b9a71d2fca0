"""Queues of tasks: those that decorators, classes and calls name, and Celery's ``task_routes``."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from functools import cached_property

from gblock.catalog.entries import Entry, Queue, fits
from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    NameExpr,
    constant_of,
    hides_arguments,
    last_name,
    owner_of,
    passed,
)
from gblock.project.reading.summary import Call, ModuleSummary, Scope

_ROUTES = ("task_routes", "CELERY_TASK_ROUTES", "CELERY_ROUTES")
"""Settings of Celery with the queues of tasks."""
_ANNOTATIONS = ("task_annotations", "CELERY_TASK_ANNOTATIONS", "CELERY_ANNOTATIONS")
"""Settings of Celery with attributes of tasks, of which the queue is one."""
_OF_ROUTE = "queue"
"""The key of the queue in a route, and the argument of a call that sends a message."""
_SENDING = frozenset({"apply_async", "set", "send_task", "signature", "subtask"})
"""Methods of Celery that take the queue of a single message."""
_LONGEST_CHAIN = 4
"""At most this many assignments between a name and the queue that it holds are followed."""


class Queues:
    """Finds the queues from which workers take tasks.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules

    def of(self, entry: Entry, summary: ModuleSummary, scope: Scope) -> frozenset[str] | None:
        """Return the queues that a task may be in; None if they are not known.

        Args:
            entry: The entry that makes it a task.
            summary: The module that defines it.
            scope: The task.
        """
        if entry.queue is None:
            return None
        found = self._decorated(entry.queue, summary, scope)
        if found is None:
            found = self._of_class(entry.queue, summary, scope)
        if found is None and entry.queue.routed:
            found = self._routed(summary, scope)
        if found is None and entry.queue.default:
            found = frozenset([entry.queue.default])
        if found is None or not entry.queue.routed:
            return found
        sent = self._sent(scope.name)
        return found | sent if sent is not None else None

    def of_receiver(self, entry: Entry, call: Call, place: Place) -> frozenset[str] | None:
        """Return the queue of what a call puts into it: ``Queue("low").enqueue(place)``.

        Args:
            entry: The entry that makes it a task.
            call: The call.
            place: Its place.
        """
        callee = call.expression.callee
        if entry.queue is None or callee is None or callee.tag != tags.ATTRIBUTE:
            return None
        return self._named(callee.base, place, entry.queue)

    # -- what a task says itself

    def _decorated(
        self, queue: Queue, summary: ModuleSummary, scope: Scope
    ) -> frozenset[str] | None:
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            if decorator is not None and decorator.tag == tags.CALL:
                given = passed(decorator, queue.position, queue.keyword)
                if given is not None:
                    return self._named(given, place, queue) or frozenset()
        return None

    def _of_class(
        self, queue: Queue, summary: ModuleSummary, scope: Scope
    ) -> frozenset[str] | None:
        """Return the queue that an attribute of a task's class names, or of its ``Meta``."""
        owner = summary.scopes[scope.parent]
        if owner.kind != "class" or not queue.keyword:
            return None
        inner = [one.value for one in owner.bindings.get("Meta", ()) if one.kind == kinds.DEFINED]
        for index in (scope.parent, *inner):
            for binding in summary.scopes[index].bindings.get(queue.keyword, ()):
                if binding.kind == kinds.ASSIGNED:
                    place = Place(summary.filename, index, binding.path)
                    return self._named(binding.value, place, queue) or frozenset()
        return None

    def _named(
        self, expression: Expr, place: Place, queue: Queue, depth: int = 0
    ) -> frozenset[str] | None:
        """Return the queues that an expression names, or is an object of."""
        if expression is None or depth > _LONGEST_CHAIN:
            return None
        texts = _texts(self.inference.infer(expression, place))
        if texts is not None:
            return texts
        if expression.tag == tags.CALL:
            symbols = self.inference.callees.called_symbols(expression.callee, place)
            if not any(fits(one, maker) for one in symbols for maker in queue.makers):
                return None
            given = passed(expression, 0, "name")
            if given is not None:
                return _texts(self.inference.infer(given, place))
            return None if hides_arguments(expression) else frozenset([queue.default_of_makers])
        if expression.tag != tags.NAME:
            return None
        found = self.inference.scope_of(expression.identifier, place)
        bound = found[0].scopes[found[1]].bindings[expression.identifier] if found else ()
        if len(bound) != 1:
            return None
        (binding,) = bound
        if binding.kind == kinds.ASSIGNED:
            inner = Place(place.path, binding.scope, binding.path)
            return self._named(binding.value, inner, queue, depth + 1)
        if binding.kind == kinds.IMPORTED and binding.value.name is not None:
            target = self.modules.resolve(binding.value.module, binding.value.level, place.path)
            if target is not None:
                there = NameExpr(tags.NAME, binding.value.name)
                return self._named(there, Place(target, 0, END), queue, depth + 1)
        return None

    # -- what the application says

    def _routed(self, summary: ModuleSummary, scope: Scope) -> frozenset[str] | None:
        """Return the queues of the routes that match a task's name."""
        name = self._name(summary, scope)
        exact = [queue for pattern, queue in self._routes if pattern == name]
        found = exact or [
            queue
            for pattern, queue in self._routes
            if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, f"*.{pattern}")
        ]
        return frozenset(found) or None

    def _name(self, summary: ModuleSummary, scope: Scope) -> str:
        """Return the name by which Celery knows a task."""
        for decorator in scope.decorators:
            if decorator is not None and decorator.tag == tags.CALL:
                given = constant_of(passed(decorator, None, "name"))
                if isinstance(given, str):
                    return given
        relative = os.path.relpath(summary.filename, self.modules.root)
        return relative.removesuffix(".py").replace(os.sep, ".") + f".{scope.name}"

    @cached_property
    def _routes(self) -> list[tuple[str, str]]:
        """The patterns of tasks' names, and their queues."""
        return [
            route
            for expression, place in self._tables((*_ROUTES, *_ANNOTATIONS))
            for part in _tables_in(expression)
            for route in _routes_in(self.inference.infer(part, place))
        ]

    def _tables(self, names: Iterable[str]) -> Iterator[tuple[Expr, Place]]:
        """Yield what the project assigns to some settings, or passes to one by keyword."""
        for name in names:
            for path in self.modules.mentioning(name, whole=True):
                summary = self.modules.summary(path)
                for scope in summary.scopes:
                    bound = [*scope.bindings.get(name, ())]
                    for (_, attribute), bindings in scope.attributes.items():
                        bound += bindings if attribute == name else ()
                    for one in bound:
                        if one.kind in (kinds.ASSIGNED, kinds.AUGMENTED):
                            yield one.value, Place(path, one.scope, one.path)
                for call in summary.calls:
                    if call.node == "call":
                        given = passed(call.expression, None, name)
                        if given is not None:
                            yield given, Place(path, call.scope, call.path)

    # -- what a message says

    def _sent(self, name: str) -> frozenset[str] | None:
        """Return the queues that messages of a task name; None if one is not known."""
        found: set[str] = set()
        for path in self.modules.mentioning(name, whole=True):
            if not _SENDING & self.inference.calling.calls_by_name(path).keys():
                continue
            for verb in sorted(_SENDING):
                for call in self.inference.calling.calls_by_name(path).get(verb, ()):
                    given = passed(call.expression, None, _OF_ROUTE)
                    if given is None or not _is_about(call.expression, name):
                        continue
                    values = self.inference.infer(given, Place(path, call.scope, call.path))
                    texts = _texts(values)
                    if texts is None:
                        return None
                    found |= texts
        return frozenset(found)


def _is_about(call: CallExpr, name: str) -> bool:
    """Return whether a call sends a task: ``place.apply_async()``, ``send_task("shop.place")``."""
    base = owner_of(call.callee)
    if base is not None and base.tag == tags.CALL:  # place.s(1).set(queue="low")
        base = owner_of(base.callee)
    if last_name(base) == name:
        return True
    first = constant_of(call.positional[0]) if call.positional else None
    return isinstance(first, str) and first.rpartition(".")[2] == name


def _texts(values: Values) -> frozenset[str] | None:
    """Return the texts that an expression can be; None if it may be anything else."""
    texts = [one.value for one in values if one.kind == v.LITERAL and isinstance(one.value, str)]
    return frozenset(texts) if texts and len(texts) == len(values) else None


def _tables_in(expression: Expr) -> Iterator[Expr]:
    """Yield the tables and the pairs in a nested display; the expression itself if it is none."""
    if expression is None or expression.tag not in (tags.SEQUENCE, tags.TUPLE):
        yield expression
        return
    first = expression.elements[0] if len(expression.elements) == 2 else None
    if first is not None and first.tag == tags.CONSTANT:
        yield expression
        return
    for element in expression.elements:
        yield from _tables_in(element)


def _routes_in(values: Values) -> Iterator[tuple[str, str]]:
    """Yield the patterns and the queues in a table of routes, or a list of tables."""
    for value in values:
        if value.kind == v.MAPPING:
            for key, given in value.known:
                if isinstance(key, str):
                    yield from _queue_of(key, given)
        elif value.kind == v.ELEMENTS:
            yield from _routes_in(value.held)
        elif value.kind == v.TUPLE:
            first = _texts(value.members[0]) if value.members else None
            if first is not None and len(value.members) == 2:
                for pattern in first:
                    yield from _queue_of(pattern, value.members[1])
            else:
                for member in value.members:
                    yield from _routes_in(member)


def _queue_of(pattern: str, given: Values) -> Iterator[tuple[str, str]]:
    """Yield the queues of one route: ``{"shop.mail.*": {"queue": "mail"}}``."""
    for value in given:
        inner = dict(value.known).get(_OF_ROUTE, v.NOTHING) if value.kind == v.MAPPING else [value]
        for one in inner:
            if one.kind == v.LITERAL and isinstance(one.value, str):
                yield pattern, one.value
