"""Provenance: the classes of the project that an object of unknown type comes from.

``for plugin in Plugin.all(context)`` gives objects of `Plugin` or of its heirs, though a package's
decorator, metaclass or base adds the method ``all``. ``container.resolve(Plugin)`` does so, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.inferred import Inferred
from gblock.project.names.places import Place
from gblock.project.names.values import ScopeValue, unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ValueBinding
from gblock.project.reading.expressions import AttributeExpr, CallExpr, Expr, last_name

_DEEPEST = 6
"""At most this many assignments, loops and calls are followed."""
_PASSING = frozenset("filter frozenset iter list next reversed set sorted tuple".split())
"""Builtin functions that give elements of an argument."""
_MAKING = frozenset(
    "batch begin bulk channel client connect connection cursor lock pipeline pubsub session socket "
    "transaction".split()
)
"""Last names of functions and methods of packages that make an object of the package."""
_FOLLOWED = (kinds.ASSIGNED, kinds.LOOPED)
"""The bindings that give a name an object, or an element of what holds it."""
_GIVEN = (kinds.ASSIGNED, kinds.ENTERED)
"""The bindings that give a name an object, or what it returns where a block begins."""


class Provenance:
    """Finds the classes that objects of unknown type come from.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._values = Inferred(inference).values
        self._of_attributes: dict[tuple[AttributeExpr, Place, int], tuple[ScopeValue, ...]] = {}

    def of(self, expression: Expr, place: Place) -> frozenset[ScopeValue]:
        """Return the classes that an object is likely to be of, or of an heir of one.

        Args:
            expression: The object, of which inference knows nothing.
            place: Its place.
        """
        return frozenset(self._of(expression, place, 0))

    def is_foreign(self, expression: Expr, place: Place) -> bool:
        """Return whether a package makes an object itself: ``redis.Redis().pipeline()``.

        Args:
            expression: The object, of which inference knows nothing.
            place: Its place.
        """
        if expression is None:
            return False
        if expression.tag == tags.CALL:
            called = self._values(expression.callee, place)
            return last_name(expression.callee) in _MAKING and any(
                one.kind == v.EXTERNAL for one in called
            )
        if expression.tag != tags.NAME:
            return False
        found = self.inference.scope_of(expression.identifier, place)
        bound = found[0].scopes[found[1]].bindings[expression.identifier] if found else ()
        return bool(bound) and all(
            isinstance(one, ValueBinding)
            and one.kind in _GIVEN
            and self.is_foreign(one.value, Place(place.path, one.scope, one.path))
            for one in bound
        )

    def _of(self, expression: Expr, place: Place, depth: int) -> Iterator[ScopeValue]:
        if expression is None or depth > _DEEPEST:
            return
        if expression.tag == tags.NAME:
            found = self.inference.scope_of(expression.identifier, place)
            for one in found[0].scopes[found[1]].bindings[expression.identifier] if found else ():
                if isinstance(one, ValueBinding) and one.kind in _FOLLOWED:
                    there = Place(place.path, one.scope, one.path)
                    yield from self._of(one.value, there, depth + 1)
        elif expression.tag == tags.ATTRIBUTE:
            yield from self.inference.remembered(
                self._of_attributes,
                (expression, place, depth),
                lambda: (*self._of_attribute(expression, place, depth),),
            )
        elif expression.tag == tags.SUBSCRIPT:
            yield from self._of(expression.base, place, depth)
        elif expression.tag == tags.EITHER or expression.tag == tags.BOTH:
            for part in expression.elements:
                yield from self._of(part, place, depth + 1)
        elif expression.tag == tags.CALL:
            yield from self._of_call(expression, place, depth)

    def _of_attribute(
        self, attribute: AttributeExpr, place: Place, depth: int
    ) -> Iterator[ScopeValue]:
        """Yield the classes of what the project assigns to an attribute."""
        for value in self._values(attribute.base, place):
            if value.kind == v.OBJECT:
                for one, path, receiver in self.inference.classes.definitions(
                    value, attribute.name
                ):
                    if one.kind == kinds.ASSIGNED:
                        there = Place(path, one.scope, one.path, receiver)
                        yield from self._of(one.value, there, depth + 1)

    def _of_call(self, call: CallExpr, place: Place, depth: int) -> Iterator[ScopeValue]:
        """Yield the classes whose method a call is, or that it is given."""
        callee, given = call.callee, call.positional
        called = self._values(callee, place)
        inner = [unwrapped(one) for one in called]
        functions = [one for one in inner if one.kind == v.FUNCTION]
        for function in functions:
            scope = self.modules.summary(function.path).scopes[function.scope]
            for value, at in (*scope.returns, *scope.yields):
                there = Place(function.path, function.scope, at, function.receiver)
                yield from self._of(value, there, depth + 1)
        if functions or any(one.kind in (v.CLASS, v.OBJECT) for one in inner):
            return
        if callee is not None and callee.tag == tags.NAME and last_name(callee) in _PASSING:
            for argument in given[:2]:
                yield from self._of(argument, place, depth + 1)
            return
        if callee is not None and callee.tag == tags.ATTRIBUTE:
            yield from self._classes(callee.base, place)
            if len(given) == 1:
                yield from self._classes(given[0], place)

    def _classes(self, expression: Expr, place: Place) -> Iterator[ScopeValue]:
        """Yield the classes of the project that an expression is itself."""
        for value in self._values(expression, place):
            if value.kind == v.CLASS:
                yield value
