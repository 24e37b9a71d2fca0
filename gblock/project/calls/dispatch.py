"""Dispatch by type: ``for handler in self.handlers[type(event)]: handler(event)``."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import CallExpr, Expr, last_name, passed
from gblock.project.reading.summary import ModuleSummary

_LONGEST_CHAIN = 3
"""At most this many assignments between the container and its element are followed."""
_LOOK_UPS = ("get", "pop", "setdefault")
"""Methods of a dict whose first argument is a key."""
_COPIES = ("list", "tuple", "sorted", "reversed")
"""Functions whose result has the elements of their argument."""


class Dispatched(NamedTuple):
    """A condition on the calls of a function: it runs a handler only for some arguments."""

    name: str
    """The parameter whose class selects the handler, or that is the handler."""
    position: int
    """Its position, without the receiver."""
    classes: frozenset[v.ScopeValue]
    """The classes that the handler is registered for."""
    handler: tuple[str, int] | None = None
    """The module and the scope of the handler, if the parameter is the handler."""

    def allows(self, call: CallExpr, place: Place, inference: Inference) -> bool:
        """Return whether a call may pass the handler, or an object that selects it."""
        given = inference.infer(passed(call, self.position, self.name), place)
        if self.handler is not None:
            return not given or any(v.comes_from(one, *self.handler) for one in given)
        known = [one for one in given if one.kind == v.OBJECT]
        if not known or len(known) < len(given):
            return True
        return any(
            base in self.classes
            for one in known
            for base in inference.classes.ancestry(one.path, one.scope)
        )


class Dispatch:
    """Finds out for which classes of objects a function runs a handler.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def of(self, handler: tuple[str, int], taken: Expr, place: Place) -> Dispatched | None:
        """Return the condition under which a function takes a handler out of a container.

        Args:
            handler: The module and the scope of the handler.
            taken: The expression that is the handler.
            place: The place of the expression.
        """
        summary = self.inference.modules.summary(place.path)
        scope = place.scope
        while scope > 0 and summary.scopes[scope].kind != "function":
            scope = summary.scopes[scope].parent
        parameters = [one for one in summary.scopes[scope].parameters if one.kind[0] != "*"]
        names = [one.name for one in parameters]
        in_class = summary.scopes[summary.scopes[scope].parent].kind == "class"
        if taken is not None and taken.tag == tags.NAME and taken.identifier in names:
            name = taken.identifier
            return Dispatched(name, names.index(name) - in_class, frozenset(), handler)
        key = self._key(taken, place, summary, 0)
        classes = self._registered(*handler) if key is not None and key in names else frozenset()
        if key is None or not classes:
            return None
        return Dispatched(key, names.index(key) - in_class, classes)

    def _key(self, taken: Expr, place: Place, summary: ModuleSummary, depth: int) -> str | None:
        """Return the name of the object by whose class an element of a container is chosen."""
        if taken is None or depth > _LONGEST_CHAIN:
            return None
        if taken.tag == tags.SUBSCRIPT:
            return _classified(taken.key)
        if taken.tag == tags.CALL:
            called, arguments = last_name(taken.callee), taken.positional
            if called in _LOOK_UPS and arguments:
                return _classified(arguments[0])
            if called in _COPIES and arguments:
                return self._key(arguments[0], place, summary, depth + 1)
        if taken.tag == tags.NAME:
            found = self.inference.scope_of(taken.identifier, place)
            if found is not None:
                for binding in found[0].scopes[found[1]].bindings.get(taken.identifier, ()):
                    if binding.kind in (kinds.LOOPED, kinds.ASSIGNED):
                        inner = Place(place.path, binding.scope, binding.path)
                        key = self._key(binding.value, inner, summary, depth + 1)
                        if key is not None:
                            return key
        return None

    def _registered(self, path: str, index: int) -> frozenset[v.ScopeValue]:
        """Return the classes that stand beside a handler where it is registered."""
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        outside = Place(path, scope.parent, scope.path)
        beside = [
            (one, outside)
            for decorator in scope.decorators
            if decorator is not None and decorator.tag == tags.CALL
            for one in decorator.positional
        ]
        for call, place, _ in self.inference.calling.handovers(path, index):
            beside += [(one, place) for one in call.expression.positional]
        return frozenset(
            value
            for one, place in beside
            for value in self.inference.infer(one, place)
            if value.kind == v.CLASS
        )


def _classified(key: Expr) -> str | None:
    """Return the name in ``type(name)`` or ``name.__class__``."""
    if key is None:
        return None
    if key.tag == tags.CALL and last_name(key.callee) == "type" and len(key.positional) == 1:
        key = key.positional[0]
    elif key.tag == tags.ATTRIBUTE and key.name == "__class__":
        key = key.base
    else:
        return None
    return key.identifier if key is not None and key.tag == tags.NAME else None
