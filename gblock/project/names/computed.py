"""Attributes whose names are computed: ``setattr(x, name, value)``, ``vars(x).update(values)``."""

from __future__ import annotations

from collections.abc import Iterable

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, ScopeValue, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ValueBinding
from gblock.project.reading.expressions import Expr, NameExpr, last_name, owner_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_LOCALS = NameExpr(tags.NAME, "locals")
_VARS = NameExpr(tags.NAME, "vars")
_OF_ITEMS, _OF_KEYS = "items", "keys"


class Computed:
    """Finds the values of attributes that are set by a computed name.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def attribute(
        self,
        bindings: Iterable[ValueBinding],
        name: str,
        path: str,
        receiver: ScopeValue | None = None,
    ) -> Values:
        """Return the values that an attribute gets.

        Args:
            bindings: The bindings of computed names of its owner.
            name: The attribute.
            path: Their module.
            receiver: In a method, the object of a derived class, if it is known.
        """
        found: set[Value] = set()
        for binding in bindings:
            place = Place(path, binding.scope, binding.path, receiver)
            if binding.kind == kinds.MERGED:
                found |= self._merged(binding.value, name, place)
                continue
            entries = self._entries(binding, place)
            if entries is not None:
                found |= self._merged(entries[0], name, entries[1])
            elif any(
                one.kind == v.LITERAL and one.value == name
                for one in self.inference.infer(binding.key, place)
            ):
                found |= self.inference.infer(binding.value, place)
        return frozenset(found)

    def _merged(self, mapping: Expr, name: str, place: Place) -> Values:
        """Return what a mapping holds under a name."""
        if mapping is None:
            return NOTHING
        if mapping.tag == tags.CALL and mapping.callee == _LOCALS:
            summary = self.inference.modules.summary(place.path)
            is_local = name in summary.scopes[place.scope].bindings
            return self.inference.name(name, place) if is_local else NOTHING
        owner: Expr = None
        if mapping.tag == tags.ATTRIBUTE and mapping.name == "__dict__":
            owner = mapping.base
        elif mapping.tag == tags.CALL and mapping.callee == _VARS and mapping.positional:
            owner = mapping.positional[0]
        if owner is not None:
            values = self.inference.infer(owner, place)
            return NOTHING.union(
                *(self.inference.attributes.named_values(value, name) for value in values)
            )
        found: set[Value] = set()
        for value in self.inference.infer(mapping, place):
            if value.kind == v.MAPPING:
                found |= dict(value.known).get(name, value.others)
        return frozenset(found)

    def _entries(self, binding: ValueBinding, place: Place) -> tuple[Expr, Place] | None:
        """Return the mapping whose entries a loop sets as attributes, with the place of the loop.

        The loop is ``for name, value in given.items(): setattr(x, name, value)``, or it reads
        ``given[name]``.
        """
        name = self._looped(binding.key, place)
        if name is None or name.value is None:
            return None
        iterated, value = name.value, binding.value
        around = Place(place.path, name.scope, name.path, place.receiver)
        method = iterated.callee if iterated.tag == tags.CALL else None
        base = owner_of(method)
        called = last_name(method) if base is not None else ""
        if called == _OF_ITEMS and name.indexes == (0,):
            other = self._looped(value, place)
            if other is not None and other.value == iterated and other.indexes == (1,):
                return base, around
        mapping = base if called == _OF_KEYS else iterated
        if value is not None and value.tag == tags.SUBSCRIPT and not name.indexes:
            if value.base == mapping and value.key == binding.key:
                return mapping, around
        return None

    def _looped(self, expression: Expr, place: Place) -> ValueBinding | None:
        """Return the loop that binds a name, if nothing else does."""
        if expression is None or expression.tag != tags.NAME:
            return None
        found = self.inference.scope_of(expression.identifier, place)
        if found is None:
            return None
        summary, scope, use = found
        bindings = self.inference.definitions.reaching(summary, scope, expression.identifier, use)
        only = bindings[0] if len(bindings) == 1 else None
        return only if only is not None and only.kind == kinds.LOOPED else None
