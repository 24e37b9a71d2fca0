"""Attributes: what the project and the catalog say about ``value.name``."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.loaded import ANY_MODULE
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, FunctionValue, SymbolValue, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    AttributeExpr,
    Expr,
    NameExpr,
    call_of,
    constant,
    dotted,
    without_arguments,
)
from gblock.project.reading.generated import GRPC_MODULE, GRPC_STUB
from gblock.project.reading.summary import ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_RPC = "grpc.UnaryUnaryMultiCallable"
"""The type of a gRPC service's methods, if only the name of its module is known."""
_TAKERS = {
    "get",
    "pop",
    "popleft",
    "popitem",
    "get_nowait",
    "setdefault",
    "values",
    "items",
    "keys",
    "copy",
    "__getitem__",
    "result",
}
"""Methods of containers, and of futures, that return what their object holds."""
_OF_DICTS = ("items", "values", "copy")
"""Methods of dicts that give all their values."""
_OF_TUPLES = ("_make", "_replace")
"""Methods of named tuples that return one."""


class Attributes:
    """Follows attributes of values, and of names that a module sets them on.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def read(self, expression: AttributeExpr, place: Place) -> Values:
        """Return the values of ``owner.name`` at a place.

        What is assigned to the attribute of a dotted name holds for uses of this dotted name.
        """
        set_here = self._set_on_name(expression.base, expression.name, place)
        found = set(set_here)
        for value in self.inference.infer(expression.base, place):
            # All objects of a package's class are one value; the dotted name distinguishes them.
            if value.kind == v.INSTANCE and v.informative(set_here):
                known = self.external(value, expression.name)
                found |= known if self.inference.is_catalogued(known) else NOTHING
            else:
                found |= self.named_values(value, expression.name)
        known = frozenset(found)
        if all(value.kind == v.EXTERNAL for value in known) and not self.inference.is_catalogued(
            known
        ):
            return (
                self.inference.outside.of_request(dotted(expression.base), expression.name) or known
            )
        return known

    def named_values(self, value: Value, name: str) -> Values:
        """Return the values of an attribute of a value.

        Args:
            value: The owner.
            name: The attribute.
        """
        if value.kind in (v.EXTERNAL, v.INSTANCE):
            if value == ANY_MODULE:
                return self.inference.loaded.named(name)
            found = self.external(value, name)
            if value.kind == v.EXTERNAL and value.symbol in self.inference.catalog.settings:
                return self.inference.outside.of_settings(name) or found
            if value.kind == v.INSTANCE and not self.inference.is_catalogued(found):
                given = self.inference.outside.attribute(value, name)
                return given if v.informative(given) else found
            return found
        if value.kind == v.MODULE:
            found = self.inference.imports.name(value.path, name)
            found = found or self.computed_by_module(value.path, name)
            if found or name not in _OF_DICTS:
                return found
            table = self.inference.members.mapping(frozenset([value]), None)  # globals().items()
            return frozenset(
                v.TakerValue(v.TAKER, one, name) for one in table if one.kind == v.MAPPING
            )
        if value.kind == v.PACKAGE:
            return self.inference.imports.inside(value.path, name)
        if name in _OF_TUPLES:
            made = self.inference.records.method(value, name)
            if made:
                return made
        if value.kind in (v.OBJECT, v.CLASS):
            if name == "__dict__" and value.kind == v.CLASS:
                return self.inference.members.mapping(frozenset([value]), None)
            if name == "__class__" and value.kind == v.OBJECT:
                return frozenset([value._replace(kind=v.CLASS)])
            if name == "__subclasses__" and value.kind == v.CLASS:
                held = v.HolderValue(
                    v.ELEMENTS, self.inference.classes.derived_from(value.path, value.scope)
                )
                return frozenset([v.TakerValue(v.TAKER, held, "copy")])
            found = self.inference.classes.attribute(value, name)
            if (
                not found
                and value.kind == v.OBJECT
                and self.inference.containers.is_own_dict(value)
            ):
                inner = self.inference.containers.contents(value)
                tables = (one for one in inner if one.kind == v.MAPPING)
                return NOTHING.union(*(dict(one.known).get(name, one.others) for one in tables))
            if name in _TAKERS and not any(one.kind == v.FUNCTION for one in found):
                inner = self.inference.containers.contents(value)
                found |= {
                    v.TakerValue(v.TAKER, one, name)
                    for one in inner
                    if one.kind in (v.ELEMENTS, v.MAPPING)
                }
            return found
        if value.kind == v.PARENT:
            found = self.inference.classes.inherited(name, value._replace(kind=v.OBJECT))
            if not v.informative(found):
                found |= self.inference.classes.beside(name, value)
            if not found and name == "__new__":
                return frozenset([v.PartialValue(v.PARTIAL, value._replace(kind=v.CLASS))])
            return found
        if value.kind == v.FUNCTION and self.inference.catalog.decorates:
            return self._of_decorated(value, name)
        if value.kind in (v.ELEMENTS, v.MAPPING) and name in _TAKERS:
            return frozenset([v.TakerValue(v.TAKER, value, name)])
        if value.kind == v.MAPPING:  # a ``SimpleNamespace``
            return dict(value.known).get(name, NOTHING)
        if value.kind == v.PARTIAL and value.callee.kind == v.MAPPING:  # a class that ``type`` made
            return dict(value.callee.known).get(name, NOTHING)
        if value.kind == v.TUPLE and name in value.names:
            return value.members[value.names.index(name)]
        if value.kind == v.ELEMENTS and name == "value":  # what a greenlet returned
            return value.held
        return NOTHING

    def external(self, value: SymbolValue, name: str) -> Values:
        """Return an attribute of an object outside the project."""
        owner = value.symbol
        module, _, cls = owner.rpartition(".")
        if value.kind == v.INSTANCE and module.endswith(GRPC_MODULE) and cls.endswith(GRPC_STUB):
            if not self.inference.is_known(f"{owner}.{name}"):
                return frozenset([v.instance(_RPC)])
        of = (
            self.inference.generics.of_receiver(value)
            if self.inference.catalog.generic
            else NOTHING
        )
        for base in self.inference.catalog.lineage(owner):
            held = self.inference.catalog.attributes.get(f"{base}.{name}")
            if held is not None:
                return self.inference.generics.made(held, owner, of)
        symbol = self.inference.catalog.canonical(f"{owner}.{name}")
        other = self.inference.catalog.other_attributes.get(owner)
        if other is not None and value.kind == v.INSTANCE and not name.startswith("_"):
            lineage = self.inference.catalog.lineage(owner)
            if not any(self.inference.is_known(f"{base}.{name}") for base in lineage):
                return self.inference.generics.made(other, owner, of)
        carried = self.inference.generics.carried(owner, name, of) if of else NOTHING
        return frozenset([v.SymbolValue(v.EXTERNAL, symbol, carried)])

    def _set_on_name(self, base: Expr, name: str, place: Place) -> Values:
        """Return an attribute that the same module sets on a named object: ``app.db = x``."""
        owner = dotted(base)
        summary = self.inference.modules.summary(place.path)
        if owner is None:
            return NOTHING
        found: set[Value] = set()
        scope = place.scope
        while scope >= 0:
            found |= self._set_in(summary, scope, owner, name)
            if owner.partition(".")[0] in summary.scopes[scope].bindings:
                if scope == 0:
                    found |= self._set_in_functions(summary, owner, name)
                return frozenset(found)
            scope = summary.scopes[scope].parent
        return frozenset(found)

    def _set_in_functions(self, summary: ModuleSummary, owner: str, name: str) -> Values:
        """Return an attribute that functions set on an object of the module."""
        found: set[Value] = set()
        first = owner.partition(".")[0]
        for index, scope in enumerate(summary.scopes):
            if index and scope.attributes and first not in scope.bindings:
                found |= self._set_in(summary, index, owner, name)
        return frozenset(found)

    def _set_in(self, summary: ModuleSummary, index: int, owner: str, name: str) -> Values:
        """Return what one scope sets an attribute of a named object to, and stores in it."""
        attributes = summary.scopes[index].attributes
        bindings = attributes.get((owner, name), ())
        named = attributes.get((owner, kinds.ANY_NAME), ())
        if not bindings and not named:
            return NOTHING
        found: set[Value] = set()
        for binding in bindings:
            if binding.kind not in kinds.STORES:
                found |= self.inference.bound(binding, summary.filename)
        stored = [one for one in bindings if one.kind in kinds.STORES]
        found |= self.inference.stored(stored, summary.filename)
        return frozenset(found) | self.inference.computed.attribute(named, name, summary.filename)

    def computed_by_module(self, path: str, name: str) -> Values:
        """Return what the ``__getattr__`` of a module returns for a name.

        Where it takes objects of several classes out of a table, which one is not known.
        """
        scope = self.inference.modules.summary(path).scopes[0]
        if name.startswith("__") or "__getattr__" not in scope.bindings:
            return NOTHING
        call = call_of(NameExpr(tags.NAME, "__getattr__"), (constant(name),))
        found = NOTHING.union(
            *(
                self.inference.results.chosen(one, call)
                for one in self.inference.imports.name(path, "__getattr__")
                if one.kind == v.FUNCTION
            )
        )
        made = {value.symbol for value in found if value.kind == v.INSTANCE}
        return found if len(made) < 2 else NOTHING

    def _of_decorated(self, function: FunctionValue, name: str) -> Values:
        """Return an attribute of a function that a decorator turned into an object: a task."""
        summary = self.inference.modules.summary(function.path)
        scope = summary.scopes[function.scope]
        place = Place(function.path, scope.parent, scope.path)
        found: set[Value] = set()
        for decorator in scope.decorators:
            for symbol in self.inference.callees.called_symbols(
                without_arguments(decorator), place
            ):
                owner, _, last = symbol.rpartition(".")
                for base in self.inference.catalog.lineage(owner):
                    given = self.inference.catalog.decorates.get(f"{base}.{last}")
                    if given is not None:
                        found |= self.external(v.instance(given), name)
        return frozenset(found)
