"""Attributes of classes and instances, inherited ones included."""

from __future__ import annotations

import builtins
from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.places import Place
from gblock.project.names.values import (
    NOTHING,
    FunctionValue,
    ScopeValue,
    SymbolValue,
    Value,
    Values,
)
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, ValueBinding
from gblock.project.reading.expressions import (
    call_of,
    dotted,
    last_name,
    read_dotted,
    without_arguments,
)
from gblock.project.reading.summary import ModuleSummary, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.catalog.libraries import Modelled
    from gblock.project.names.inference import Inference

PROPERTIES = {
    "builtins.property",
    "functools.cached_property",
    "pydantic.computed_field",
    "django.utils.functional.cached_property",
    "werkzeug.utils.cached_property",
    "kombu.utils.cached_property",
    "kombu.utils.objects.cached_property",
}
"""Decorators that make an attribute of a method: reading it calls the method."""

_METACLASSES = ("builtins.type", "abc.ABCMeta")
"""Bases outside the project that make a class a metaclass."""
_BARE = frozenset(
    "abc.ABC builtins.object typing.Generic typing.Protocol typing_extensions.Protocol".split()
)
"""Bases outside the project whose objects have special methods only."""
_MOST_DERIVED = 1_000
"""At most this many classes that derive from a mixin are looked at."""


class _Setting(NamedTuple):
    """The scopes of a module that set attributes of names."""

    on_names: dict[str, list[int]]
    """The scopes by the name."""
    of_classes: dict[int, list[int]]
    """The scopes in the methods of a class that set attributes of the first parameter."""


class Classes:
    """Follows attributes through methods, bases, subclasses and constructors."""

    OF_FILES = ("_attributes", "_setting", "_set_on_others")
    """The tables that the files alone decide."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._attributes: dict[tuple[str, int], dict[str, list[ValueBinding]]] = {}
        self._setting: dict[str, _Setting] = {}
        self._set_on_others: dict[str, dict[str, list[tuple[str, list[ValueBinding]]]]] = {}
        self._set_on_classes: dict[tuple[str, str], dict[int, list[ValueBinding]]] = {}
        self._bases: dict[tuple[str, int], list[ScopeValue | SymbolValue]] = {}
        """Bases that can no longer change."""
        self._ancestries: dict[tuple[str, int], list[ScopeValue | SymbolValue]] = {}
        mixes_in = inference.catalog.mixes_in
        self._mixing = frozenset(symbol.rpartition(".")[2] for symbol in mixes_in)
        """Last names of the decorators that add methods to a class."""

    def attribute(self, value: ScopeValue, name: str) -> Values:
        """Return the values of an attribute of a class or of an instance."""
        return self.inference.solved(
            ("attribute", value, name), lambda: self._find_class_attribute(value, name)
        )

    def _find_class_attribute(self, value: ScopeValue, name: str) -> Values:
        found = self._own_attribute(value, name, value)
        member = self.inference.enumerations.attribute(value, name)
        if member:  # one of ``class Level(str, Enum)`` is a text, too
            found = member | frozenset(one for one in found if one.kind == v.LITERAL)
        is_open = not v.declares(found) or self.inference.annotations.is_broad(found)
        if is_open and value.kind == v.OBJECT:
            given = self.inference.records.field(value.path, value.scope, name)
            found = self.inference.annotations.narrowed(found | given) if given else found
        if not v.informative(found):
            found |= self.inherited(name, value)
        if not v.informative(found):
            found |= self._set_in_subclasses(value, name)
        if not v.informative(found) and not name.startswith("__"):
            beside = self.beside(name, value)
            found |= NOTHING if self._is_unknown(beside) else beside
        if value.kind == v.OBJECT and not name.startswith("__"):
            found |= self._fulfilled(value, name)
        if not found and value.kind == v.OBJECT:
            found |= self._delegated(value, name)
        if not v.informative(found) or self._is_unknown(found):
            found |= self.inference.outside.attribute(value, name)
        conventional = self.inference.catalog.conventional.get(name)
        if conventional is not None and (not v.informative(found) or self._is_unknown(found)):
            found |= frozenset([v.instance(conventional)])
        return self.inference.generics.read(found, value)

    def _fulfilled(self, value: ScopeValue, name: str) -> Values:
        """Return an attribute of the objects that a protocol stands for."""
        found: set[Value] = set()
        if self.inference.protocols.is_protocol(value.path, value.scope):
            for one in self.inference.protocols.fulfilled_by(value):
                found |= self.attribute(one, name)
        return frozenset(found)

    def _delegated(self, value: ScopeValue, name: str) -> Values:
        """Return what ``__getattr__`` gives.

        ``def __getattr__(self, name): return getattr(self.x, name)`` gives those of ``self.x``. One
        that reads no attribute by this name gives the same whatever the name is.
        """
        if name.startswith("__"):
            return NOTHING
        found: set[Value] = set()
        for method in self.attribute(value, "__getattr__"):
            if method.kind != v.FUNCTION:
                continue
            delegates = self._delegates(method, value)
            if delegates is None:
                found |= self.inference.results.result(method)
            for delegate in delegates or ():
                if delegate != value:
                    found |= self.inference.attributes.named_values(delegate, name)
        return frozenset(found)

    def _delegates(self, method: FunctionValue, value: ScopeValue) -> Values | None:
        """Return the objects that a ``__getattr__`` reads attributes of, None if it reads none."""
        summary = self.inference.modules.summary(method.path)
        scope = summary.scopes[method.scope]
        wanted = scope.parameters[1].name if len(scope.parameters) > 1 else None
        found: Values | None = None
        for call in self.inference.calling.calls_by_name(method.path).get("getattr", ()):
            arguments = call.expression.positional
            if not summary.is_within(call.scope, method.scope) or len(arguments) < 2:
                continue
            if wanted is not None and dotted(arguments[1]) == wanted:
                place = Place(method.path, call.scope, call.path, value)
                found = (found or NOTHING) | self.inference.infer(arguments[0], place)
        return found

    def _own_attribute(self, value: ScopeValue, name: str, receiver: ScopeValue) -> Values:
        """Return the values of an attribute that a class itself sets, without its bases.

        Args:
            value: The class, or an object of it.
            name: The attribute.
            receiver: The owner of the attribute: `value`, or an object of a derived class.
        """
        derived = self.derived(receiver, value.path, value.scope)
        path, index = value.path, value.scope
        summary = self.inference.modules.summary(path)
        found: set[Value] = set()
        if name in summary.scopes[index].bindings:
            for one in self.inference.binding_values(summary, index, name, END) or ():
                if one.kind == v.FUNCTION and one.path == path:
                    found |= self._bound_method(one, receiver)
                elif one.kind == v.OBJECT and receiver.kind == v.OBJECT:
                    found |= self._described(one, summary, index, name) or {one}
                else:
                    found.add(one)
        bindings = self._attribute_bindings(summary, index).get(name, [])
        bindings = [*bindings, *self._set_from_outside(summary, index, name)]
        for binding in bindings:
            if binding.kind not in kinds.STORES:
                found |= self.inference.bound(binding, path, derived)
        stored = [b for b in bindings if b.kind in kinds.STORES]
        found |= self.inference.stored(stored, path, derived)
        if not v.informative(frozenset(found)) and not name.startswith("__"):
            named = self._attribute_bindings(summary, index).get(kinds.ANY_NAME, [])
            named = [*named, *self._set_from_outside(summary, index, kinds.ANY_NAME)]
            found |= self.inference.computed.attribute(named, name, path, derived)
        if any(one.kind == kinds.ANNOTATED for one in summary.scopes[index].bindings.get(name, ())):
            return self.inference.annotations.narrowed(frozenset(found))
        return frozenset(found)

    def _described(
        self, descriptor: ScopeValue, summary: ModuleSummary, index: int, name: str
    ) -> Values:
        """Return what a descriptor of the project yields: ``client = lazy(lambda: Client())``.

        All objects of a class are one value. Where a descriptor yields what its factories make, the
        factory that this attribute is given says which.
        """
        if not self.attribute(descriptor, "__get__"):
            return NOTHING
        yielded = self.inference.results.method_result(descriptor, "__get__")
        made: set[Value] = set()
        for binding in self.inference.definitions.reaching(summary, index, name, END):
            if not isinstance(binding, ValueBinding):
                continue
            if binding.value is None or binding.value.tag != tags.CALL:
                continue
            place = Place(summary.filename, index, binding.path)
            arguments = (*binding.value.positional, *(one for _, one in binding.value.keywords))
            for argument in arguments:
                for factory in self.inference.infer(argument, place):
                    if factory.kind in (v.FUNCTION, v.CLASS, v.EXTERNAL, v.PARTIAL):
                        made |= self.inference.results.called(factory, call_of(None, ()), place)
        return frozenset(made) & yielded or yielded

    def definitions(
        self, value: ScopeValue, name: str
    ) -> list[tuple[Binding, str, ScopeValue | None]]:
        """Return the bindings that set an attribute, in the nearest class that has any.

        Each has its module and, in a base class, the object of the derived class.
        """
        for base in self.ancestry(value.path, value.scope):
            if base.kind != v.CLASS:
                continue
            summary = self.inference.modules.summary(base.path)
            found: list[Binding] = [
                *self._attribute_bindings(summary, base.scope).get(name, ()),
                *self._set_from_outside(summary, base.scope, name),
            ]
            if name in summary.scopes[base.scope].bindings:
                found += self.inference.definitions.reaching(summary, base.scope, name, END)
            if found:
                derived = self.derived(value, base.path, base.scope)
                return [(binding, base.path, derived) for binding in found]
        return []

    def _set_from_outside(
        self, summary: ModuleSummary, class_index: int, name: str
    ) -> list[ValueBinding]:
        """Return the attributes that the module sets on objects of a class other than ``self``."""
        path = summary.filename
        by_name = self._set_on_others.get(path)
        if by_name is None:
            by_name = self._set_on_others[path] = {}
            for index, scope in enumerate(summary.scopes):
                _, receiver = self._receiver(summary, index)
                for (owner, attribute), bindings in scope.attributes.items():
                    if owner != receiver:
                        by_name.setdefault(attribute, []).append((owner, bindings))
        others = by_name.get(name)
        if others is None:
            return []
        found = self.inference.remembered(
            self._set_on_classes, (path, name), lambda: self._by_class(path, others)
        )
        return found.get(class_index, [])

    def _by_class(
        self, path: str, others: list[tuple[str, list[ValueBinding]]]
    ) -> dict[int, list[ValueBinding]]:
        """Return what a module sets on objects, by their classes in this module.

        Args:
            path: The module.
            others: The names of the objects, with the bindings of each.
        """
        found: dict[int, list[ValueBinding]] = {}
        for owner, bindings in others:
            place = Place(path, bindings[0].scope, bindings[0].path)
            values = self.inference.infer(read_dotted(owner), place)
            for index in {
                value.scope
                for value in values
                if value.kind in (v.CLASS, v.OBJECT) and value.path == path
            }:
                found.setdefault(index, []).extend(bindings)
        return found

    def _receiver(self, summary: ModuleSummary, index: int) -> tuple[int, str | None]:
        """Return the class of the method around a scope, and the name of its first parameter.

        The class is 0 outside of methods.
        """
        while index > 0:
            scope = summary.scopes[index]
            if scope.kind == "function" and summary.scopes[scope.parent].kind == "class":
                return scope.parent, scope.parameters[0].name if scope.parameters else None
            index = scope.parent
        return 0, None

    def _bound_method(self, function: FunctionValue, receiver: ScopeValue) -> Values:
        path, index = function.path, function.scope
        summary = self.inference.modules.summary(path)
        decorators = self.inference.decorators(summary, index)
        if (
            decorators & PROPERTIES
            or self._is_setter(summary.scopes[index])
            or self.is_descriptor(summary, index)
        ):
            return self.inference.results.result(function._replace(receiver=receiver))
        if "builtins.staticmethod" in decorators:
            return frozenset([function])
        return frozenset([function._replace(receiver=receiver)])

    def is_descriptor(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a decorator of the project makes a property of a method.

        Such a decorator is a class with ``__get__``.
        """
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            for value in self.inference.infer(decorator, place):
                if value.kind in (v.CLASS, v.OBJECT):
                    defining = self.inference.modules.summary(value.path)
                    if "__get__" in defining.scopes[value.scope].bindings:
                        return True
        return False

    def _is_setter(self, scope: Scope) -> bool:
        return any(
            d is not None and d.tag == tags.ATTRIBUTE and d.name in ("setter", "getter", "deleter")
            for d in scope.decorators
        )

    def _attribute_bindings(
        self, summary: ModuleSummary, class_index: int
    ) -> dict[str, list[ValueBinding]]:
        """Return the bindings of attributes in the methods of a class and in its module."""
        key = (summary.filename, class_index)
        found = self._attributes.get(key)
        if found is not None:
            return found
        found = {}
        class_name = summary.scopes[class_index].name
        setting = self._setting_scopes(summary)
        scopes = {*setting.on_names.get(class_name, ()), *setting.of_classes.get(class_index, ())}
        for index in sorted(scopes):
            of_class, receiver = self._receiver(summary, index)
            itself = receiver if of_class == class_index else None
            for (owner, name), bindings in summary.scopes[index].attributes.items():
                if owner == itself or (itself is None and owner == class_name):
                    found.setdefault(name, []).extend(bindings)
        self._attributes[key] = found
        return found

    def _setting_scopes(self, summary: ModuleSummary) -> _Setting:
        """Return the scopes of a module that set attributes."""
        found = self._setting.get(summary.filename)
        if found is None:
            found = self._setting[summary.filename] = _Setting({}, {})
            for index, scope in enumerate(summary.scopes):
                if scope.attributes:
                    of_class, receiver = self._receiver(summary, index)
                    owners = dict.fromkeys(owner for owner, _ in scope.attributes)
                    if receiver in owners:
                        found.of_classes.setdefault(of_class, []).append(index)
                    for owner in owners:
                        found.on_names.setdefault(owner, []).append(index)
        return found

    def bases(self, path: str, index: int) -> list[ScopeValue | SymbolValue]:
        """Return a class's bases: classes of the project, and EXTERNAL ones."""
        known = self._bases.get((path, index))
        if known is not None:
            return known
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        place = Place(path, scope.parent, scope.path)
        found: list[ScopeValue | SymbolValue] = []
        for base in scope.bases:
            values = self.inference.infer(base, place)
            symbols = [value for value in values if value.kind == v.EXTERNAL]
            symbols.sort(key=lambda one: one.symbol)
            found += symbols
            found += sorted(
                value
                for value in values
                if value.kind == v.CLASS and not v.comes_from(value, path, index)
            )
        if scope.decorators:
            found += self._mixed_in(scope, place)
        if all(base is None or self.inference.is_final((base, place)) for base in scope.bases):
            self._bases[path, index] = found
        return found

    def _mixed_in(self, scope: Scope, place: Place) -> list[SymbolValue]:
        """Return the classes whose methods a class's decorators add to it."""
        mixes_in = self.inference.catalog.mixes_in
        return [
            v.external(mixes_in[symbol])
            for decorator in scope.decorators
            if last_name(callee := without_arguments(decorator)) in self._mixing
            for symbol in sorted(self.inference.callees.called_symbols(callee, place))
            if symbol in mixes_in
        ]

    def ancestry(self, path: str, index: int) -> list[ScopeValue | SymbolValue]:
        """Return a class and all its bases, each once, in the order in which Python looks them up.

        Where Python would refuse that order, the bases of the first come before the others.
        """
        known = self._ancestries.get((path, index))
        if known is not None:
            return known
        order = self._linear(v.ScopeValue(v.CLASS, path, index), {})
        if all(one.kind != v.CLASS or (one.path, one.scope) in self._bases for one in order):
            self._ancestries[path, index] = order
        return order

    def _linear(
        self,
        one: ScopeValue | SymbolValue,
        done: dict[ScopeValue | SymbolValue, list[ScopeValue | SymbolValue]],
    ) -> list[ScopeValue | SymbolValue]:
        """Return a class and its bases, in order.

        Args:
            one: The class.
            done: The results for other classes; a class that is its own base has none there.
        """
        if one.kind != v.CLASS:
            return [one]
        if one not in done:
            done[one] = [one]
            bases = list(dict.fromkeys(self.bases(one.path, one.scope)))
            waiting = [[x for x in self._linear(base, done) if x != one] for base in bases]
            done[one] = [one, *_merged([*waiting, bases])]
        return done[one]

    def methods(self, value: Value) -> list[str]:
        """Return the names of the functions of a module, or of a class and its bases, sorted."""
        owners: list[tuple[str, int]] = []
        if value.kind == v.MODULE:
            owners = [(value.path, 0)]
        elif value.kind in (v.CLASS, v.OBJECT):
            bases = self.ancestry(value.path, value.scope)
            owners = [(base.path, base.scope) for base in bases if base.kind == v.CLASS]
        return sorted(
            {
                name
                for path, index in owners
                for name, bindings in self.inference.modules.summary(path)
                .scopes[index]
                .bindings.items()
                if any(one.kind == kinds.DEFINED for one in bindings)
            }
        )

    def inherited(self, name: str, receiver: ScopeValue) -> Values:
        """Return the values of an attribute in the bases of a class."""
        found: set[Value] = set()
        for base in self.ancestry(receiver.path, receiver.scope)[1:]:
            if base.kind == v.CLASS:
                found |= self._own_attribute(base._replace(kind=receiver.kind), name, receiver)
            elif base.kind == v.EXTERNAL and _may_have(base.symbol, name):
                found |= self._external(base.symbol, name, receiver)
                found |= self._of_model(base.symbol, name, receiver)
            if v.informative(frozenset(found)) and not self._is_unknown(frozenset(found)):
                break
        return frozenset(found)

    def _is_unknown(self, values: Values) -> bool:
        """Return whether values are names of which the catalog says nothing, as of a mixin."""
        is_external = all(value.kind == v.EXTERNAL for value in values - {v.NONE})
        return is_external and not self.inference.is_catalogued(values)

    def _external(self, base: str, name: str, receiver: ScopeValue) -> Values:
        """Return an attribute that a class has from a base outside the project."""
        generics = self.inference.generics
        of = generics.of_class(base, receiver)
        found = self.inference.attributes.external(v.SymbolValue(v.INSTANCE, base, of), name)
        if not self.inference.is_catalogued(found):
            found |= self.inference.outside.attribute(v.external(base), name)
            found |= generics.inverse(base, name, receiver)
        return found | generics.again(base, name, receiver)

    def _of_model(self, base: str, name: str, receiver: ScopeValue) -> Values:
        """Return what a form or a serializer inherits that has to do with its model's objects."""
        found: set[Value] = set()
        for one in self._modelled(base):
            if name in one.attributes:
                found |= self._objects(one, receiver)
            elif name in one.returned:
                for value in self._objects(one, receiver):
                    made = v.HolderValue(v.ELEMENTS, frozenset([value]))
                    found.add(v.TakerValue(v.TAKER, made, "__call__"))
        return frozenset(found)

    def passed_model(self, receiver: ScopeValue, method: str, position: int) -> Values:
        """Return the object of its model that the library passes to a method of a serializer."""
        for base in self.ancestry(receiver.path, receiver.scope)[1:]:
            for one in self._modelled(base.symbol) if base.kind == v.EXTERNAL else ():
                if one.parameters.get(method) == position:
                    return self._objects(one, receiver)
        return NOTHING

    def _modelled(self, name: str) -> list[Modelled]:
        catalog = self.inference.catalog
        if not catalog.modelled:
            return []
        lineage = catalog.lineage(catalog.canonical(name))
        return [one for base in lineage for one in catalog.modelled.get(base, ())]

    def _objects(self, one: Modelled, receiver: ScopeValue) -> Values:
        """Return the objects of the class that a class names, or of its query."""
        place = Place(receiver.path, receiver.scope, END)
        found: set[Value] = set()
        for naming in one.named_by:
            values: Values = frozenset([receiver._replace(kind=v.CLASS)])
            for name in naming.split("."):
                values = NOTHING.union(
                    *(self.inference.attributes.named_values(x, name) for x in values)
                )
            for value in values:
                if value.kind == v.FUNCTION:
                    bound = value._replace(receiver=receiver)
                    for given in self.inference.results.result(bound):
                        found |= self.inference.generics.objects(given, place)
                else:
                    found |= self.inference.generics.objects(value, place)
        return frozenset(found)

    def beside(self, name: str, value: ScopeValue) -> Values:
        """Return the values of an attribute in the classes that a mixin is combined with.

        ``super()`` in a mixin looks in the bases that follow it in the class that derives from
        both, ``self`` and ``cls`` in all of them.
        """
        return self.inference.solved(
            ("beside", value, name), lambda: self._find_beside(name, value)
        )

    def _find_beside(self, name: str, value: ScopeValue) -> Values:
        own = self.ancestry(value.path, value.scope)
        found: set[Value] = set()
        for derived in self._all_derived(value._replace(kind=v.CLASS)):
            order = self.ancestry(derived.path, derived.scope)
            receiver = derived._replace(kind=v.CLASS if value.kind == v.CLASS else v.OBJECT)
            start = order.index(own[0]) + 1 if value.kind == v.PARENT and own[0] in order else 0
            for base in order[start:] if own[0] in order else ():
                if base in own:
                    continue
                values: Values = NOTHING
                if base.kind == v.CLASS:
                    values = self._own_attribute(base._replace(kind=receiver.kind), name, receiver)
                elif base.kind == v.EXTERNAL:
                    values = self._external(base.symbol, name, receiver)
                if v.informative(values):
                    found |= values
                    break
        return frozenset(found)

    def derived_from(self, path: str, index: int) -> Values:
        """Return the classes of the project that derive from a class."""
        found = self._all_derived(v.ScopeValue(v.CLASS, path, index))
        return frozenset(one._replace(kind=v.CLASS) for one in found)

    def made_by(self, path: str, index: int) -> Values:
        """Return the classes of the project that a metaclass makes."""
        metaclass = v.ScopeValue(v.CLASS, path, index)
        found: set[Value] = set()
        for other in self.inference.modules.mentioning("metaclass", whole=True):
            summary = self.inference.modules.summary(other)
            for number, scope in enumerate(summary.scopes):
                if scope.metaclass is not None and len(found) < _MOST_DERIVED:
                    place = Place(other, scope.parent, scope.path)
                    if metaclass in self.inference.infer(scope.metaclass, place):
                        found |= {v.ScopeValue(v.CLASS, other, number)}
                        found |= self.derived_from(other, number)
        return frozenset(found)

    def is_metaclass(self, path: str, index: int) -> bool:
        """Return whether a class makes classes."""
        return any(
            base.kind == v.EXTERNAL and base.symbol in _METACLASSES
            for base in self.ancestry(path, index)
        )

    def _all_derived(self, base: ScopeValue) -> list[ScopeValue]:
        """Return the classes of the project that derive from a class, directly or not."""
        found: list[ScopeValue] = []
        waiting = [base]
        while waiting and len(found) < _MOST_DERIVED:
            one = waiting.pop()
            derived = self.inference.calling.subclasses(one.path, one.scope)
            more = [x for x in derived if x not in found]
            found += more
            waiting += more
        return found

    def derived(self, receiver: ScopeValue | None, path: str, index: int) -> ScopeValue | None:
        """Return the receiver of a method if its class is derived from the method's class."""
        if receiver is None or v.comes_from(receiver, path, index):
            return None
        return v.ScopeValue(v.OBJECT, receiver.path, receiver.scope)

    def _set_in_subclasses(self, value: ScopeValue, name: str) -> Values:
        """Return the values of an attribute that only subclasses set, as for an abstract class."""
        if name.startswith("__"):
            return NOTHING
        found: set[Value] = set()
        for derived in self.inference.calling.subclasses(value.path, value.scope):
            one = derived._replace(kind=value.kind)
            found |= self._own_attribute(one, name, one)
        return frozenset(found)

    def constructors(self, value: ScopeValue) -> set[str]:
        """Return the class outside the project whose constructor a class inherits, if it does."""
        for base in self.ancestry(value.path, value.scope):
            if isinstance(base, SymbolValue):
                return {base.symbol}
            summary = self.inference.modules.summary(base.path)
            if "__init__" in summary.scopes[base.scope].bindings:
                return set()
        return set()


def _may_have(symbol: str, name: str) -> bool:
    """Return whether a class outside the project may have an attribute."""
    if symbol in _BARE:
        return name[:2] == "__"
    known = getattr(builtins, symbol.removeprefix("builtins."), None)
    return not isinstance(known, type) or hasattr(known, name)


def _merged(sequences: list[list[ScopeValue | SymbolValue]]) -> list[ScopeValue | SymbolValue]:
    """Return the members of some sequences, each once and after all that precede it in one."""
    found: list[ScopeValue | SymbolValue] = []
    waiting = [one for one in sequences if one]
    while waiting:
        heads = [one[0] for one in waiting]
        free = (x for x in heads if not any(x in one[1:] for one in waiting))
        head = next(free, heads[0])
        found.append(head)
        waiting = [rest for one in waiting if (rest := [x for x in one if x != head])]
    return found
