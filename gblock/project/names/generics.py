"""Generic classes of libraries: query sets, managers and fields, and the objects they are about.

``Order.objects`` is a manager, ``Order.objects.filter(…)`` a query set, and ``.first()`` of either
is an `Order`. The catalog says which classes are generic and what their methods give; a value of
such a class carries the objects that it is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gblock.catalog.libraries import ELEMENT, ELEMENTS, ITSELF, OF_THE_RECEIVER, TYPE, Inverse
from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, ScopeValue, SymbolValue, Value, Values
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ValueBinding
from gblock.project.reading.expressions import CallExpr, call_of, last_name, passed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_MOST_FILES = 20
"""At most this many files are searched for a class, or for a field that leads to one."""
_MOST_CLASSES = 8
"""A value is about the objects of at most this many classes."""


class Generics:
    """Follows the objects that values of generic classes are about.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def made(self, given: str, owner: str, of: Values) -> Values:
        """Return what the catalog's word for a type means.

        Args:
            given: A class, or one of the words that the catalog has for the receiver's objects.
            owner: The class of the receiver.
            of: The objects that the receiver is about.
        """
        if given.startswith(TYPE):
            return frozenset([v.external(given[len(TYPE) : -1])])
        if given not in OF_THE_RECEIVER:
            return frozenset([self._instance(given, of)])
        if given == ITSELF:
            return frozenset([self._instance(owner, of)])
        of = of or self._default(owner)
        if given == ELEMENT:
            return of
        held = v.holding(of) if of else NOTHING
        return held if given == ELEMENTS else held | of

    def returns_receiver(self, symbol: str) -> bool:
        """Return whether a method of a package returns the object that it is called on."""
        owner, _, name = symbol.rpartition(".")
        return self._returned(owner, name) == ITSELF

    def carried(self, owner: str, name: str, of: Values) -> Values:
        """Return what a method is bound to: the objects of its receiver, if its result needs them.

        Args:
            owner: The class of the receiver.
            name: The method.
            of: The objects that the receiver is about.
        """
        given = self._returned(owner, name) if of else ""
        return of if given in OF_THE_RECEIVER or self.is_generic(given) else NOTHING

    def is_generic(self, symbol: str) -> bool:
        """Return whether objects of a class are about objects of another one."""
        catalog = self.inference.catalog
        return any(base in catalog.generic for base in catalog.lineage(symbol))

    def of_receiver(self, value: SymbolValue) -> Values:
        """Return the objects that a value outside the project is about; a class is about its own.

        Args:
            value: A class, or an object.
        """
        if (
            value.of
            or value.kind == v.INSTANCE
            or value.symbol not in self.inference.catalog.classes
        ):
            return value.of
        return frozenset([v.instance(value.symbol)])

    def of_class(self, base: str, receiver: ScopeValue) -> Values:
        """Return the objects that a class of the project, or an object of it, is about.

        Args:
            base: The class of a library from which it derives.
            receiver: A class, such as a model, or an object of one, such as a manager.
        """
        if not self.inference.catalog.generic:
            return NOTHING
        is_generic = self.is_generic(base)
        if receiver.kind == v.CLASS:
            return NOTHING if is_generic else frozenset([receiver._replace(kind=v.OBJECT)])
        if not is_generic:
            return NOTHING
        return self.inference.solved(("holders", receiver), lambda: self._holders(receiver))

    def again(self, base: str, name: str, receiver: ScopeValue) -> Values:
        """Return the method of a generic class by which an object of the project gives its like.

        A query set of the project stays one: ``Orders().filter(…)``, ``Orders.as_manager()``.

        Args:
            base: The class of a library from which the receiver's class derives.
            name: The method.
            receiver: An object of a class of the project, or the class.
        """
        if not self.inference.catalog.generic or not self.is_generic(base):
            return NOTHING
        given = self._returned(base, name)
        if given == ITSELF or given in self.inference.catalog.lineage(base):
            return frozenset([v.PartialValue(v.PARTIAL, receiver._replace(kind=v.CLASS))])
        return NOTHING

    def of_call(self, symbol: str, expression: CallExpr, place: Place) -> Values:
        """Return what an argument says that the result of a call is about."""
        catalog = self.inference.catalog
        owner, _, name = symbol.rpartition(".")
        for base in catalog.lineage(owner) if catalog.about else ():
            one = catalog.about.get(f"{base}.{name}")
            if one is not None:
                argument = passed(expression, one.position, one.keyword)
                found: set[Value] = set()
                for value in self.inference.infer(argument, place):
                    found |= self.objects(value, place)
                return frozenset(found) if len(found) <= _MOST_CLASSES else NOTHING
        return NOTHING

    def read(self, values: Values, receiver: ScopeValue) -> Values:
        """Return the values of an attribute, with fields replaced by what is read from them.

        Args:
            values: What the class has.
            receiver: The class, or an object of it.
        """
        catalog = self.inference.catalog
        if not catalog.generic or all(value.kind != v.INSTANCE for value in values):
            return values
        found: set[Value] = set()
        for value in values:
            given = None
            if value.kind == v.INSTANCE and receiver.kind == v.OBJECT:
                fields = (catalog.fields.get(base) for base in catalog.lineage(value.symbol))
                given = next(filter(None, fields), None)
            if value.kind == v.INSTANCE and given is not None:
                found |= self.made(given, value.symbol, value.of)
            elif value.kind == v.INSTANCE and receiver.kind == v.CLASS and not value.of:
                is_generic = self.is_generic(value.symbol)
                found.add(value._replace(of=self.of_class("", receiver)) if is_generic else value)
            else:
                found.add(value)
        return frozenset(found)

    def inverse(self, base: str, name: str, receiver: ScopeValue) -> Values:
        """Return the objects of other classes whose field leads to an object: ``order.items``.

        Args:
            base: The class of a library from which the object's class derives.
            name: The attribute.
            receiver: The object.
        """
        catalog = self.inference.catalog
        known = {one.owner for one in catalog.inverse.values()}
        if receiver.kind != v.OBJECT or known.isdisjoint(catalog.lineage(base)):
            return NOTHING
        key = ("inverse", receiver, name)
        return self.inference.solved(key, lambda: self._inverse(name, receiver))

    def objects(self, value: Value, place: Place) -> Values:
        """Return the objects that a class, its name, or a query means.

        Args:
            value: The class, the name or the query.
            place: The place where it is written.
        """
        if value.kind == v.LITERAL and isinstance(value.value, str):
            return frozenset(self._named(value.value, place))
        if value.kind == v.INSTANCE and (value.of or self.is_generic(value.symbol)):
            return value.of
        if value.kind == v.OBJECT:
            return frozenset([value])
        if value.kind not in (v.CLASS, v.EXTERNAL, v.INSTANCE):
            return NOTHING
        found = self.inference.results.called(value, call_of(None, ()), place)
        return frozenset(one for one in found if one.kind in (v.OBJECT, v.INSTANCE))

    # -- the project

    def _returned(self, owner: str, name: str) -> str:
        """Return the catalog's word for the result of a method, or for its first member."""
        catalog = self.inference.catalog
        for base in catalog.lineage(owner):
            symbol = f"{base}.{name}"
            given = catalog.returns.get(symbol) or catalog.returns_first.get(symbol)
            if given is not None:
                return given
        return ""

    def _instance(self, symbol: str, of: Values) -> SymbolValue:
        if not self.is_generic(symbol):
            return v.instance(symbol)
        return v.SymbolValue(v.INSTANCE, symbol, of or self._default(symbol))

    def _default(self, owner: str) -> Values:
        """Return the objects that a class is about where the code does not say it."""
        catalog = self.inference.catalog
        for base in catalog.lineage(owner):
            if base in catalog.generic:
                given = catalog.generic[base]
                return frozenset([v.instance(given)]) if given else NOTHING
        return NOTHING

    def _named(self, text: str, place: Place) -> Iterator[Value]:
        """Yield an object of the class that a field names: ``"Order"``, ``"shop.Order"``."""
        summary = self.inference.modules.summary(place.path)
        if text == "self" and summary.scopes[place.scope].kind == "class":
            yield v.ScopeValue(v.OBJECT, place.path, place.scope)
            return
        name = text.rpartition(".")[2]
        modules, written = self.inference.modules, f"class {name}".encode()
        mentioning = modules.mentioning(name, whole=True) if name.isidentifier() else ()
        paths = (path for path in mentioning if written in modules.data(path))
        found = [
            v.ScopeValue(v.OBJECT, path, index)
            for path in islice(paths, _MOST_FILES)
            for index, scope in enumerate(self.inference.modules.summary(path).scopes)
            if scope.kind == "class" and scope.name == name and not scope.parent
        ]
        near = [one for one in found if one.path == place.path]
        yield from (near or found)[:_MOST_CLASSES]

    def _holders(self, receiver: ScopeValue) -> Values:
        """Return objects of the classes that have an object of a class, such as a manager."""
        modules = self.inference.modules
        name = modules.summary(receiver.path).scopes[receiver.scope].name
        found: set[Value] = set()
        for path in islice(modules.mentioning(name, whole=True), _MOST_FILES):
            summary = modules.summary(path)
            for index, scope in enumerate(summary.scopes):
                if scope.kind != "class":
                    continue
                place = Place(path, index, END)
                if any(
                    receiver in self.inference.infer(binding.value, place)
                    for bindings in scope.bindings.values()
                    for binding in bindings
                    if isinstance(binding, ValueBinding) and _is_made(binding.value, name)
                ):
                    found.add(v.ScopeValue(v.OBJECT, path, index))
        return frozenset(found) if len(found) <= _MOST_CLASSES else NOTHING

    def _inverse(self, name: str, receiver: ScopeValue) -> Values:
        catalog, modules = self.inference.catalog, self.inference.modules
        found: set[Value] = set()
        for suffix in {one.suffix for one in catalog.inverse.values()}:
            if suffix and name.endswith(suffix):
                for other in self._called_like(name.removesuffix(suffix)):
                    found |= self._leading(other, receiver, name, suffix)
        keywords = {one.keyword.encode() for one in catalog.inverse.values()}
        for path in islice(modules.mentioning(name, whole=True), _MOST_FILES):
            data = modules.data(path)
            if not any(word in data for word in keywords):
                continue
            for index, scope in enumerate(modules.summary(path).scopes):
                if scope.kind == "class":
                    other = v.ScopeValue(v.CLASS, path, index)
                    found |= self._leading(other, receiver, name, "")
        return frozenset(found)

    def _called_like(self, name: str) -> Iterator[ScopeValue]:
        """Yield the classes whose name in lower case this is."""
        modules = self.inference.modules
        for word in (name.capitalize(), name.title().replace("_", "")):
            for path in islice(modules.mentioning(word, whole=True), _MOST_FILES):
                for index, scope in enumerate(modules.summary(path).scopes):
                    if scope.kind == "class" and scope.name.lower() == name:
                        yield v.ScopeValue(v.CLASS, path, index)

    def _leading(self, other: ScopeValue, receiver: ScopeValue, name: str, suffix: str) -> Values:
        """Return what the fields of a class that lead to an object give in the other direction."""
        scope = self.inference.modules.summary(other.path).scopes[other.scope]
        place = Place(other.path, other.scope, END)
        found: set[Value] = set()
        for bindings in scope.bindings.values():
            for binding in bindings:
                expression: object = binding.value
                if not isinstance(expression, CallExpr):
                    continue
                for symbol in self.inference.callees.called_symbols(expression.callee, place):
                    one = self.inference.catalog.inverse.get(symbol)
                    if one is None or not _is_for(one, expression, name, suffix):
                        continue
                    if receiver in self.of_call(symbol, expression, place):
                        of = frozenset([other._replace(kind=v.OBJECT)])
                        found |= self.made(one.gives, symbol, of)
        return frozenset(found)


def _is_made(expression: object, name: str) -> bool:
    """Return whether an expression calls a class, or a method of it: ``Orders.as_manager()``."""
    if not isinstance(expression, CallExpr) or expression.callee is None:
        return False
    callee = expression.callee
    if last_name(callee) == name:
        return True
    return callee.tag == tags.ATTRIBUTE and last_name(callee.base) == name


def _is_for(one: Inverse, expression: CallExpr, name: str, suffix: str) -> bool:
    """Return whether a field adds an attribute: by an argument, or by its suffix without one."""
    given = passed(expression, None, one.keyword)
    if suffix:
        return given is None and suffix == one.suffix
    return given is not None and given.tag == tags.CONSTANT and given.value == name
