"""Demand-driven, interprocedural type inference over all modules of the project.

Inference starts from one expression and follows declarations: names to their reaching definitions,
attributes to their assignments, parameters to the calls that pass arguments, calls to returned
values. The catalog lists the types that compiled packages return. The results are sets over the
abstract domain of `values`, computed as a memoised fixed point: a query that leads back to itself
adds nothing. A set that grows wide is widened to the empty set, which means unknown. No type is
guessed from a name alone.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Hashable, Iterable, Iterator

from gblock.catalog.lookup import Catalog
from gblock.project.names import strings
from gblock.project.names import values as v
from gblock.project.names.annotations import Annotations
from gblock.project.names.attributes import Attributes
from gblock.project.names.callees import Callees
from gblock.project.names.calling import Calling
from gblock.project.names.certainty import Certainty
from gblock.project.names.classes import Classes
from gblock.project.names.computed import Computed
from gblock.project.names.conditions import Conditions
from gblock.project.names.containers import ContainerClasses
from gblock.project.names.definitions import END, Definitions
from gblock.project.names.enumerations import Enumerations
from gblock.project.names.fixed_point import FixedPoint
from gblock.project.names.generics import Generics
from gblock.project.names.imported import ImportedValues
from gblock.project.names.keeping import Keeping
from gblock.project.names.loaded import LoadedModules
from gblock.project.names.members import Members
from gblock.project.names.narrowing import Narrowing
from gblock.project.names.outside import Outside
from gblock.project.names.parameters import Parameters
from gblock.project.names.places import Place
from gblock.project.names.protocols import Protocols
from gblock.project.names.records import RecordClasses
from gblock.project.names.results import Results
from gblock.project.names.type_variables import TypeVariables
from gblock.project.names.uploads import Uploads
from gblock.project.names.values import (
    NOTHING,
    ScopeValue,
    SymbolValue,
    Value,
    Values,
    flags_of,
)
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, Path, ValueBinding
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    ElementsExpr,
    Expr,
    NameExpr,
    OperatorExpr,
    SubscriptExpr,
    TextExpr,
    call_of,
    constant_of,
    last_name,
    without_arguments,
)
from gblock.project.reading.modules import Modules
from gblock.project.reading.summary import ModuleSummary

_SUPER = NameExpr(tags.NAME, "super")
_OWN_NAME = NameExpr(tags.NAME, "__name__")
_BUILTINS = frozenset(dir(builtins))
_MOST_TEXTS = 12
"""An expression with more possible texts than this has no known text."""
_NONE = frozenset([v.NONE])
_DECLARING = (kinds.ASSIGNED, kinds.ANNOTATED)
"""The bindings of the module that makes an object, which others import."""
_CONTAINERS = (v.ELEMENTS, v.MAPPING, v.INSTANCE)
"""The kinds of values into which other modules may put something."""


class Inference:
    """Infers the types of one project's expressions, and caches the results.

    Args:
        modules: The project's files.
        catalog: The types of packages outside the project.
    """

    def __init__(self, modules: Modules, catalog: Catalog) -> None:
        self.modules = modules
        self.catalog = catalog
        answers = FixedPoint(self._breadth)
        self.solved = answers.solved
        self._answered = answers.answered
        self.is_final = answers.is_final
        self.remembered = answers.remembered
        self.annotations = Annotations(self)
        self.attributes = Attributes(self)
        self.callees = Callees(self)
        self.calling = Calling(self)
        self.certainty = Certainty(self)
        self.classes = Classes(self)
        self.computed = Computed(self)
        self.conditions = Conditions(self)
        self.uploads = Uploads(self)
        self.containers = ContainerClasses(self)
        self.definitions = Definitions()
        self.enumerations = Enumerations(self)
        self.generics = Generics(self)
        self.imports = ImportedValues(self)
        self.keeping = Keeping(self)
        self.loaded = LoadedModules(self)
        self.members = Members(self)
        self.narrowing = Narrowing(self)
        self.outside = Outside(self)
        self.parameters = Parameters(self)
        self.protocols = Protocols(self)
        self.records = RecordClasses(self)
        self.results = Results(self)
        self.type_variables = TypeVariables(self)

    def with_catalog(self, catalog: Catalog) -> Inference:
        """Return an inference by another catalog, which shares what the files alone decide."""
        other = Inference(self.modules, catalog)
        sharing = (
            (self.calling, other.calling),
            (self.classes, other.classes),
            (self.definitions, other.definitions),
            (self.keeping, other.keeping),
            (self.loaded, other.loaded),
            (self.outside, other.outside),
        )
        for one, same in sharing:
            vars(same).update({name: vars(one)[name] for name in one.OF_FILES})
        return other

    def _breadth(self, values: Values) -> int:
        """Return the number of things that values are about: a registry keeps many of one kind.

        Classes whose first bases have the same name count once, or that have the same decorators,
        as do functions of modules, and modules of one package.
        """
        return len({self._subject(value) for value in values})

    def _subject(self, value: Value) -> object:
        """Return what a value is about."""
        if value.kind == v.MODULE:
            return os.path.dirname(value.path)
        if value.kind == v.CLASS or value.kind == v.OBJECT:
            scope = self.modules.summary(value.path).scopes[value.scope]
            if scope.bases:
                return last_name(scope.bases[0])
            decorators = tuple(last_name(without_arguments(one)) for one in scope.decorators)
            return decorators or (value.path, value.scope)
        if value.kind == v.FUNCTION and value.receiver is not None:
            scopes = self.modules.summary(value.path).scopes
            return self._subject(value.receiver), scopes[value.scope].name
        return value.kind if value.kind == v.FUNCTION else value

    # -- expressions

    def infer(self, expression: Expr, place: Place) -> Values:
        """Return the values that an expression can have."""
        if expression is None:
            return NOTHING
        if expression.tag == tags.CONSTANT:
            return frozenset([v.LiteralValue(v.LITERAL, expression.type, expression.value)])
        key = (expression, place)
        found = self._answered(key)
        # Most expressions have a final answer when they are inferred.
        if isinstance(found, frozenset):
            return found
        return self.solved(key, lambda: self._expression(expression, place))

    def _expression(self, expression: Expr, place: Place) -> Values:
        if expression is None:
            return NOTHING
        if expression.tag == tags.NAME:
            found = self.name(expression.identifier, place)
            return self.narrowing.narrowed(expression, found, place)
        if expression.tag == tags.ATTRIBUTE:
            found = self.attributes.read(expression, place)
            return self.narrowing.narrowed(expression, found, place)
        if expression.tag == tags.CALL:
            return self._call_expression(expression, place)
        if expression.tag == tags.TUPLE:
            return frozenset(
                [v.TupleValue(v.TUPLE, tuple(self.infer(e, place) for e in expression.elements))]
            )
        if expression.tag == tags.SEQUENCE:
            return v.holding(self.any_of(expression.elements, place))
        if expression.tag == tags.MAPPING:
            return frozenset([self._mapping(expression.items, place)])
        if expression.tag == tags.SUBSCRIPT:
            return self._subscript(expression, place)
        if expression.tag in (tags.EITHER, tags.BOTH):
            return self.any_of(expression.elements, place)
        if expression.tag == tags.SUM:
            return self._sum(expression, place)
        if expression.tag == tags.BIT_OR:
            return self._combined(expression, place)
        if expression.tag in (tags.AWAIT, tags.STAR):
            return self.infer(expression.value, place)
        if expression.tag == tags.LAMBDA:
            return frozenset([v.function(place.path, expression.scope)])
        if expression.tag == tags.COMPREHENSION:
            elements = self.infer(expression.element, place._replace(scope=expression.scope))
            if expression.is_mapping:
                return frozenset([v.MappingValue(v.MAPPING, (), elements)])
            return v.holding(elements)
        if expression.tag == tags.TEXT:
            return self._text(expression, place)
        if expression.tag == tags.NEGATED:
            return frozenset(
                v.literal(-value.value)
                for value in self.infer(expression.value, place)
                if value.kind == v.LITERAL and isinstance(value.value, (int, float))
            )
        return NOTHING

    def any_of(self, expressions: Iterable[Expr], place: Place) -> Values:
        """Return the union of several expressions' values; ``*other`` stands for its elements."""
        found: set[Value] = set()
        for expression in expressions:
            if expression is not None and expression.tag == tags.STAR:
                found |= self.results.elements(self.infer(expression.value, place))
            else:
                found |= self.infer(expression, place)
        return frozenset(found)

    def _mapping(self, items: tuple[tuple[Expr, Expr], ...], place: Place) -> Value:
        """Return the mapping of a dict display, or of several stores into a dict."""
        known: dict[Hashable, Values] = {}
        others: set[Value] = set()
        for key, value in items:
            if value is not None and value.tag == tags.STAR:
                for merged in self.infer(value.value, place):
                    if merged.kind == v.MAPPING:
                        known.update(merged.known)
                        others |= merged.others
                    elif merged.kind == v.ELEMENTS:
                        others |= merged.held
            elif key is not None and key.tag == tags.CONSTANT:
                known[key.value] = self.infer(value, place)
            else:
                others |= self.infer(value, place)
        return v.MappingValue(v.MAPPING, tuple(known.items()), frozenset(others))

    def _combined(self, expression: OperatorExpr, place: Place) -> Values:
        """Return the values of ``left | right``: flags, a merged dict, else those of both sides."""
        left, right = self.infer(expression.left, place), self.infer(expression.right, place)
        if left and right and all(value.kind == v.MAPPING for value in left | right):
            return v.merged(left, right)
        if not left | right or any(
            value.kind not in (v.EXTERNAL, v.LITERAL, v.COMBINED) for value in left | right
        ):
            return left | right
        return frozenset(
            v.FlagsValue(v.COMBINED, flags_of(one) | flags_of(other))
            for one in left or [v.literal(0)]
            for other in right or [v.literal(0)]
        )

    def _subscript(self, expression: SubscriptExpr, place: Place) -> Values:
        if expression.key is not None and expression.key.tag == tags.SLICE:
            values = self.infer(expression.base, place)
            sliced: set[Value] = set()
            for value in values:
                if value.kind == v.INSTANCE:
                    sliced |= self.results.returned(f"{value.symbol}.__getitem__", value.of)
            return frozenset(sliced) or v.holding(self.results.elements(values))
        wanted = constant_of(expression.key)
        found: set[Value] = set()
        for value in self.records.opened(self.infer(expression.base, place)):
            if value.kind == v.TUPLE and isinstance(wanted, int):
                if -len(value.members) <= wanted < len(value.members):
                    found |= value.members[wanted]
            elif value.kind == v.MAPPING:
                found |= self.under(value, expression.key)
            elif value.kind == v.TUPLE or value.kind == v.ELEMENTS:
                found |= self.results.elements(frozenset([value]))
            elif value.kind == v.EXTERNAL:
                found |= self._of_external(value, expression, place)
            elif value.kind == v.CLASS:
                # A generic class of the project, Repository[Order], or a member of an enumeration.
                found |= self.enumerations.members(value) or {value}
            elif value.kind == v.OBJECT:
                found |= self.results.method_result(value, "__getitem__")
                found |= self.results.method_result(value, "__missing__")
                found |= self.records.under(value, wanted)
                for inner in self.containers.contents(value):
                    if inner.kind == v.MAPPING:
                        found |= self.under(inner, expression.key)
                    else:
                        found |= self.results.elements(frozenset([inner]))
            elif value.kind == v.MODULE and isinstance(wanted, str):  # globals()["name"]
                found |= self.attributes.named_values(value, wanted)
            elif value.kind == v.INSTANCE:
                found |= self.results.external_elements(value) or self.results.called(
                    value._replace(kind=v.EXTERNAL, symbol=f"{value.symbol}.__getitem__"),
                    call_of(None, (expression.key,)),
                    place,
                )
        return frozenset(found)

    def _of_external(self, value: SymbolValue, expression: SubscriptExpr, place: Place) -> Values:
        """Return what a subscript of a name outside the project gives."""
        wanted = constant_of(expression.key)
        if isinstance(wanted, str) and value.symbol.startswith("gevent.monkey.saved"):
            return frozenset([v.external(f"{value.symbol}.{wanted}")])
        if value.symbol == "sys.modules" and expression.key == _OWN_NAME:
            return self.imports.file(place.path)
        if value.symbol == "sys.modules" and isinstance(wanted, str):
            return self.imports.bound(wanted, None, 0, place.path)
        given = self.results.passing.subscripted(value.symbol, expression.key, place)
        return frozenset([value]) if given is None else given  # a generic class: Queue[int]

    def under(self, mapping: v.MappingValue, key: Expr) -> Values:
        """Return the values of a dict under a key."""
        if key is None or key.tag != tags.CONSTANT:
            return v.contents(mapping)
        return dict(mapping.known).get(key.value, mapping.others)

    # -- names

    def name(self, name: str, place: Place) -> Values:
        """Return the values of a name at a place."""
        summary = self.modules.summary(place.path)
        for scope, use in self._scopes_of(summary, name, place):
            found = self.binding_values(summary, scope, name, use, place.receiver)
            if found is not None:
                return found
        found = self.imports.star_imported(summary, name)
        if not found and name in _BUILTINS:
            return frozenset([v.external(f"builtins.{name}")])
        return found

    def scope_of(self, name: str, place: Place) -> tuple[ModuleSummary, int, Path] | None:
        """Return the scope that binds a name for a use, and the use's path in that scope."""
        summary = self.modules.summary(place.path)
        return next(
            ((summary, scope, use) for scope, use in self._scopes_of(summary, name, place)), None
        )

    def _scopes_of(
        self, summary: ModuleSummary, name: str, place: Place
    ) -> Iterator[tuple[int, Path]]:
        """Yield the scopes in which a name of a place is looked up and bound, inner ones first."""
        scope, innermost = place.scope, True
        while scope >= 0:
            entry = summary.scopes[scope]
            if name in entry.bindings and (innermost or entry.kind != "class"):
                yield scope, place.at if innermost else END
            innermost = innermost and entry.kind == "comprehension"
            scope = entry.parent

    def binding_values(
        self,
        summary: ModuleSummary,
        scope: int,
        name: str,
        use: Path,
        receiver: ScopeValue | None = None,
    ) -> Values | None:
        """Return the values of a name's bindings in one scope; None where it is not bound."""
        if scope == 0:
            receiver = None
        bindings = self.definitions.reaching(summary, scope, name, use)
        stored = self.definitions.stored(summary, scope, name)
        if not bindings and not stored:
            return None
        if len(bindings) > 1 and any(not b.fallback for b in bindings):
            second = (kinds.IMPORTED, kinds.ANNOTATED)
            bindings = [b for b in bindings if not b.fallback or b.kind not in second]
        found: set[Value] = set()
        for binding in bindings:
            found |= self.bound(binding, summary.filename, receiver)
        if any(binding.kind == kinds.ANNOTATED for binding in bindings):
            found = set(self.annotations.narrowed(frozenset(found)))
        # What is stored on all ways before the use belongs to the container.
        sure = [one for one in stored if one.scope == scope and _precedes(one.path, use)]
        held = self.stored(sure, summary.filename, receiver)
        known = frozenset(found)
        if held:
            if found and all(value.kind == v.MAPPING for value in known | held):
                known = v.merged(known, held)
            else:
                known |= held
        if len(sure) < len(stored):
            others = [one for one in stored if one not in sure]
            known |= self.stored(others, summary.filename, receiver)
        if scope == 0 and _may_be_filled(known) and any(b.kind in _DECLARING for b in bindings):
            known |= self.outside.put(summary.filename, name)
            if any(value.kind == v.MAPPING for value in known):
                known |= self.outside.namespace(summary.filename, name)
        if scope == 0 and known == _NONE:  # ``connection = None``, which another module sets
            known |= self.outside.attribute(v.FileValue(v.MODULE, summary.filename), name)
        return known

    def stored(
        self, bindings: list[ValueBinding], path: str, receiver: ScopeValue | None = None
    ) -> Values:
        """Return the containers of the values that are stored under a name."""
        if not bindings:
            return NOTHING
        held: set[Value] = set()
        by_key: dict[str, Values] = {}
        found: set[Value] = set()
        for binding in bindings:
            values, key = self.bound(binding, path, receiver), binding.key
            if binding.kind == kinds.ABSORBED:
                found |= {x for x in values if x.kind in (v.ELEMENTS, v.MAPPING)}
                others = frozenset(x for x in values if x.kind in (v.TUPLE, v.OBJECT))
                held |= self.results.elements(others)
                continue
            if key is not None and key.tag == tags.CONSTANT and isinstance(key.value, str):
                by_key[key.value] = by_key.get(key.value, NOTHING) | values
            else:
                held |= values
        if held:
            found |= v.holding(frozenset(held))
        if any(by_key.values()):
            found.add(v.MappingValue(v.MAPPING, tuple(by_key.items()), NOTHING))
        return frozenset(found)

    def is_catalogued(self, values: Values) -> bool:
        """Return whether the catalog knows an attribute of an object."""
        return any(
            one.kind == v.INSTANCE or (one.kind == v.EXTERNAL and self.is_known(one.symbol))
            for one in values
        )

    def is_known(self, symbol: str) -> bool:
        """Return whether the catalog says something about a symbol."""
        catalog = self.catalog
        return symbol in catalog.by_symbol or symbol in catalog.returns or symbol in catalog.classes

    def bound(self, binding: Binding, path: str, receiver: ScopeValue | None = None) -> Values:
        """Return the values of one binding, for a receiver of a derived class if one is given."""
        if binding.kind == kinds.IMPORTED:
            return self.imports.bound(*binding.value, path)
        if binding.kind == kinds.DEFINED:
            return self._defined(path, binding.value)
        if binding.kind == kinds.STAR_IMPORTED:
            return NOTHING
        place = Place(path, binding.scope, binding.path, receiver)
        kind, value = binding.kind, binding.value
        if kind in (kinds.ASSIGNED, kinds.ELEMENT, kinds.ABSORBED):
            return self.infer(value, place)
        if kind == kinds.EXTENDED:
            return self.results.elements(self.infer(value, place))
        if kind == kinds.UNPACKED:
            return self._unpacked(self.infer(value, place), binding.indexes)
        if kind == kinds.LOOPED:
            return self._unpacked(self.results.elements(self.infer(value, place)), binding.indexes)
        if kind == kinds.ENTERED:
            return self._unpacked(self.results.entered(self.infer(value, place)), binding.indexes)
        if kind == kinds.ANNOTATED:
            return self.annotations.annotated(value, place)
        if kind == kinds.PARAMETER:
            return self.parameters.parameter(path, binding.scope, binding.position, receiver)
        return NOTHING

    def _unpacked(self, values: Values, indexes: tuple[int, ...] | None) -> Values:
        for index in indexes or ():
            if index == kinds.REST:
                return v.holding(self.results.elements(values))
            found: set[Value] = set()
            for value in self.records.opened(values):
                if value.kind == v.TUPLE:
                    at = index if index >= 0 else index - kinds.REST
                    if -len(value.members) <= at < len(value.members):
                        found |= value.members[at]
                else:
                    found |= self.results.elements(frozenset([value]))
            values = frozenset(found)
        return values

    def _defined(self, path: str, scope: int) -> Values:
        summary = self.modules.summary(path)
        if summary.scopes[scope].kind == "class":
            return frozenset([v.ScopeValue(v.CLASS, path, scope)])
        return frozenset([v.function(path, scope)])

    def decorators(self, summary: ModuleSummary, index: int) -> set[str]:
        """Return the dotted names of a function's decorators from outside the project."""
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        return {
            value.symbol
            for decorator in scope.decorators
            for value in self.infer(decorator, place)
            if value.kind == v.EXTERNAL
        }

    # -- calls

    def _call_expression(self, expression: CallExpr, place: Place) -> Values:
        callee = expression.callee
        if callee == _SUPER:
            return self._parent(expression, place)
        found: set[Value] = set()
        for value in self.infer(callee, place):
            own = self._receivers(callee, value, place) if value.kind == v.EXTERNAL else NOTHING
            found |= own
            if not own or (isinstance(value, SymbolValue) and value.of):
                found |= self.results.called(value, expression, place)
        if callee is not None and callee.tag == tags.ATTRIBUTE and callee.name in strings.METHODS:
            found |= self._of_text(callee, expression, place)
        return frozenset(found)

    def _receivers(self, callee: Expr, method: SymbolValue, place: Place) -> Values:
        """Return the objects of the project that an inherited method of a package returns itself.

        ``Voice().to(device)`` is the `Voice` where its base, of a package, has the method ``to``.
        On a class it makes an object: ``Archive.open(path)`` of an heir of `TarFile`.
        """
        if callee is None or callee.tag != tags.ATTRIBUTE:
            return NOTHING
        if not self.generics.returns_receiver(method.symbol):
            return NOTHING
        return frozenset(
            x if x.kind == v.OBJECT else ScopeValue(v.OBJECT, x.path, x.scope)
            for x in self.infer(callee.base, place)
            if x.kind in (v.OBJECT, v.CLASS)
        )

    def _of_text(self, method: AttributeExpr, expression: CallExpr, place: Place) -> Values:
        """Return the result of a method of a text that is known."""
        texts = [x.value for x in self.infer(method.base, place) if x.kind == v.LITERAL]
        arguments = [self.infer(one, place) for one in expression.positional]
        if any(len(one) != 1 for one in arguments):
            return NOTHING
        keywords = [self.infer(one, place) for _, one in expression.keywords]  # ``maxsplit=1``
        if any(len(one) != 1 for one in keywords):
            return NOTHING
        given = [value for one in (*arguments, *keywords) for value in one]
        return NOTHING.union(
            *(strings.result(x, method.name, given) for x in texts if isinstance(x, str))
        )

    def _sum(self, expression: ElementsExpr, place: Place) -> Values:
        """Return the values of a sum, if one of its operands is a list."""
        if any(one is not None and one.tag in tags.LISTS for one in expression.elements):
            return self.any_of(expression.elements, place)
        return NOTHING

    def _text(self, expression: TextExpr, place: Place) -> Values:
        """Return the texts that an f-string or a sum makes of parts that are known."""
        found = {""}
        for part in expression.parts if not expression.is_template else ():
            known = (x.value for x in self.infer(part, place) if x.kind == v.LITERAL)
            values = {str(x) for x in known if isinstance(x, (str, int))}
            texts = (f"{start}{value}" for start in found for value in values)
            found = {text for text in texts if len(text) <= strings.LONGEST}
            if len(found) > _MOST_TEXTS:
                return NOTHING
        return frozenset(v.literal(one) for one in found if one)

    def _parent(self, call: CallExpr, place: Place) -> Values:
        """Return the result of ``super()``; ``super(Base, self)`` begins after another class."""
        summary = self.modules.summary(place.path)
        scope = place.scope
        while scope > 0 and summary.scopes[scope].kind != "class":
            scope = summary.scopes[scope].parent
        if scope <= 0:
            return NOTHING
        own = frozenset([v.ScopeValue(v.PARENT, place.path, scope)])
        after = call.positional[0] if call.positional else None
        if after is None or last_name(after) == summary.scopes[scope].name:
            return own
        classes = (x for x in self.infer(after, place) if x.kind == v.CLASS)
        return frozenset(x._replace(kind=v.PARENT) for x in classes) or own


def _may_be_filled(values: Values) -> bool:
    """Return whether a module's name may hold a container; its making may be unknown."""
    return not values or any(value.kind in _CONTAINERS for value in values)


def _precedes(path: Path, use: Path) -> bool:
    """Return whether a statement directly in a scope comes before a use."""
    return len(path) == 1 and path < use[:1]
