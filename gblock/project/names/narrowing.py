"""Type narrowing of names and attributes by the tests that control flow has passed.

The tests are ``isinstance(x, T)``, ``type(x) is T``, ``x is None`` and functions of the project
that return such a test, in ``if``, ``while``, ``assert``, ``case`` and before an early return.
"""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import FunctionValue, Value, Values
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ANNOTATED, STORES, Binding
from gblock.project.reading.expressions import Expr, dotted, last_name
from gblock.project.reading.summary import Fact, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_BUILTIN = (v.TUPLE, v.ELEMENTS, v.MAPPING, v.LITERAL, v.COMBINED)
"""Kinds of values that are objects of builtin classes."""


class Narrowing:
    """Narrows the values of names by the tests of their scope.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def narrowed(self, expression: Expr, values: Values, place: Place) -> Values:
        """Return the values of a name or an attribute that remain possible at a place."""
        summary = self.inference.modules.summary(place.path)
        scope = summary.scopes[summary.frame(place.scope)]
        if not scope.facts:
            return values
        name = dotted(expression)
        for fact in scope.facts.get(name, ()) if name is not None else ():
            if fact.reaches(place.at) and not self._is_rebound(scope, name or "", fact, place):
                values = self._applied(fact, values, place)
        return values

    def may_reach(self, name: str, values: Values, place: Place) -> bool:
        """Return whether control flow may come to a place while a name has one of some values.

        Args:
            name: A parameter of the function around the place.
            values: What a caller gives for it; nothing if that is not known.
            place: The place.
        """
        summary = self.inference.modules.summary(place.path)
        scope = summary.scopes[summary.frame(place.scope)]
        for fact in scope.facts.get(name, ()) if values else ():
            if not fact.reaches(place.at) or self._is_rebound(scope, name, fact, place):
                continue
            if fact.test == tags.NONE:
                none = {x for x in values if x == v.NONE or x.kind == v.EXTERNAL}
                passing = frozenset(none) if fact.holds else values - {v.NONE}
            else:
                types = self._types(fact.test, place) if fact.holds else None
                if types is None:
                    continue
                passing = frozenset(x for x in values if self._fits(x, types))
            if not passing:
                return False
        return True

    def _fits(self, value: Value, types: Values) -> bool:
        """Return whether a value may be an object of some classes."""
        if value.kind in (v.OBJECT, v.INSTANCE):
            return self._is(value, types) or self._may_be(value, types)
        if value.kind not in _BUILTIN:
            return True
        return any(one.kind == v.EXTERNAL and _may_be_builtin(value, one.symbol) for one in types)

    def _is_rebound(self, scope: Scope, name: str, fact: Fact, place: Place) -> bool:
        """Return whether the name may be rebound between a test and a use."""
        owner, _, attribute = name.rpartition(".")
        bindings = scope.attributes.get((owner, attribute), ()) if owner else ()
        first = name.partition(".")[0]
        depth = len(fact.path)
        return any(
            fact.path < binding.path < place.at and binding.path != (*fact.path, -1)
            for binding in (*bindings, *self._bound_here(scope, first, place))
            if binding.kind not in (*STORES, ANNOTATED)
            and (depth % 2 == 0 or binding.path[:depth] != fact.path)
        )

    def _bound_here(self, scope: Scope, name: str, place: Place) -> list[Binding]:
        """Return the bindings of a name in a scope, also of one declared global or nonlocal."""
        found = [*scope.bindings.get(name, ())]
        home = None if found else self.inference.scope_of(name, place)
        if home is not None:
            summary, index, _ = home
            frame = summary.frame(place.scope)
            found = [
                one
                for one in summary.scopes[index].bindings[name]
                if summary.frame(one.scope) == frame
            ]
        return found

    def _applied(self, fact: Fact, values: Values, place: Place) -> Values:
        if fact.test == tags.NONE:
            if fact.holds:
                return frozenset([v.NONE])
            return values - {v.NONE}
        types = self._types(fact.test, place)
        if types is None:
            return values
        if not fact.holds:
            objects = [value for value in values if value.kind in (v.OBJECT, v.INSTANCE)]
            return values - {value for value in objects if self._is(value, types)}
        kept = {x for x in values if self._is(x, types) or self._may_be(x, types)}
        return frozenset(kept) or self._instances(types)

    def _types(self, test: Expr, place: Place) -> Values | None:
        """Return the classes that a test tests for; None if they are unknown."""
        if test is None or test.tag != tags.CALL:
            return None
        called = last_name(test.callee)
        if called == "isinstance" and len(test.positional) == 2:
            return self._classes(self.inference.infer(test.positional[1], place))
        functions = (x for x in self.inference.infer(test.callee, place) if x.kind == v.FUNCTION)
        tested = {self._tested_by(function) for function in functions}
        return tested.pop() if len(tested) == 1 else None

    def _tested_by(self, function: FunctionValue) -> Values | None:
        """Return the test in a function such as ``return isinstance(x, Client)``."""
        summary = self.inference.modules.summary(function.path)
        scope = summary.scopes[function.scope]
        if len(scope.returns) != 1 or not scope.parameters:
            return None
        test, at = scope.returns[0]
        first = scope.parameters[1 if function.receiver and len(scope.parameters) > 1 else 0].name
        if test is None or test.tag != tags.CALL or last_name(test.callee) != "isinstance":
            return None
        if len(test.positional) != 2 or dotted(test.positional[0]) != first:
            return None
        return self._types(test, Place(function.path, function.scope, at))

    def _classes(self, values: Values) -> Values | None:
        found: set[Value] = set()
        for value in values:
            if value.kind == v.TUPLE:
                for member in value.members:
                    classes = self._classes(member)
                    if classes is None:
                        return None
                    found |= classes
            elif value.kind in (v.CLASS, v.EXTERNAL):
                found.add(value)
            else:
                return None
        return frozenset(found) or None

    def _may_be(self, value: Value, types: Values) -> bool:
        """Return whether a value may be of a class whose place in the hierarchy is unknown."""
        return value.kind in (v.OBJECT, v.INSTANCE) and any(
            one.kind == v.EXTERNAL
            and not _is_builtin(one)
            and one.symbol not in self.inference.catalog.classes
            for one in types
        )

    def _is(self, value: Value, types: Values) -> bool:
        if value.kind == v.OBJECT:
            return any(
                base in types for base in self.inference.classes.ancestry(value.path, value.scope)
            )
        if value.kind == v.INSTANCE:
            lineage = self.inference.catalog.lineage(value.symbol)
            return any(v.external(symbol) in types for symbol in lineage)
        return value.kind in _BUILTIN and any(map(_is_builtin, types))

    def _instances(self, types: Values) -> Values:
        return frozenset(
            one._replace(kind=v.OBJECT) if one.kind == v.CLASS else v.instance(one.symbol)
            for one in types
            if one.kind == v.CLASS or (one.kind == v.EXTERNAL and not _is_builtin(one))
        )


def _is_builtin(value: Value) -> bool:
    return value.kind == v.EXTERNAL and value.symbol.startswith(
        ("builtins.", "typing.", "collections.", "numbers.")
    )


def _may_be_builtin(value: Value, symbol: str) -> bool:
    """Return whether a display, a text or a number may be of a class of the standard library."""
    module, _, name = symbol.rpartition(".")
    if module != "builtins":
        return module in ("typing", "collections", "collections.abc", "numbers")
    if value.kind == v.LITERAL:
        return name == "object" or name in {one.__name__ for one in type(value.value).__mro__}
    if value.kind == v.MAPPING:
        return name in ("dict", "object")
    return name in ("list", "tuple", "set", "frozenset", "object")
