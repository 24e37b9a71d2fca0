"""Results of calls, of ``with`` and of iteration."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.chosen import unreached
from gblock.project.names.passing import Passing
from gblock.project.names.places import Place
from gblock.project.names.type_variables import VARIABLES, of_class
from gblock.project.names.values import (
    NOTHING,
    FunctionValue,
    ScopeValue,
    SymbolValue,
    Value,
    Values,
)
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    Expr,
    NameExpr,
    SubscriptExpr,
    call_of,
    constant,
    is_passed,
    with_bound,
)
from gblock.project.reading.summary import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_KEYED_TAKERS = {"get", "pop", "setdefault", "__getitem__"}
"""Methods of a dict whose first argument is a key."""
_KEEPING = frozenset(
    ["builtins.staticmethod", "builtins.classmethod", "functools.cache", "functools.lru_cache"]
)
"""Decorators after which a function is called with the arguments that a call writes."""
_MANAGERS = {"contextlib.contextmanager", "contextlib.asynccontextmanager"}


class Results:
    """Follows calls to returned values.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.passing = Passing(inference)

    def called(self, value: Value, expression: CallExpr, place: Place) -> Values:
        """Return the results of calling a value."""
        if value.kind == v.EXTERNAL:
            return self._external_result(value.symbol, expression, place, value.of)
        if value.kind == v.FUNCTION:
            return self._function_result(value, expression, place, expression)
        if value.kind == v.CLASS:
            return frozenset([value._replace(kind=v.OBJECT)])
        if value.kind == v.OBJECT:
            return self.method_result(value, "__call__")
        if value.kind == v.INSTANCE:
            return self._external_result(f"{value.symbol}.__call__", expression, place, value.of)
        if value.kind == v.PARTIAL and value.callee.kind == v.MAPPING:
            return frozenset([value.callee])  # an object of a class that ``type`` makes
        if value.kind == v.PARTIAL:
            if value.bound is not None and value.callee.kind == v.EXTERNAL:
                made, where = value.bound
                return self.called(value.callee, with_bound(expression, made), where)
            if value.callee.kind == v.FUNCTION:
                written = with_bound(expression, value.bound[0]) if value.bound else None
                return self._function_result(value.callee, expression, place, written)
            return self.called(value.callee, expression, place)
        if value.kind == v.TUPLE:
            return self.inference.records.instance(value, expression, place)
        if value.kind == v.GETTER:
            return self._got(value, expression, place)
        if value.kind == v.TAKER:
            return self._taken(value.container, value.name, expression, place)
        return NOTHING

    def _got(self, getter: v.GetterValue, expression: CallExpr, place: Place) -> Values:
        """Return what ``attrgetter("client")(shop)`` and its like return."""
        first = expression.positional[0] if expression.positional else None
        if getter.taken == "callable" or getter.taken == "itself":
            return frozenset(
                v.PartialValue(v.PARTIAL, value) for value in self.inference.infer(first, place)
            )
        if getter.taken == "itemgetter":
            return self.inference.infer(
                SubscriptExpr(tags.SUBSCRIPT, first, constant(getter.name)), place
            )
        found: Expr = first
        for name in str(getter.name).split("."):
            found = AttributeExpr(tags.ATTRIBUTE, found, name) if found is not None else None
        if getter.taken == "methodcaller":
            found = call_of(found, ())
        return self.inference.infer(found, place)

    def _taken(
        self, container: v.Container, name: str, expression: CallExpr, place: Place
    ) -> Values:
        """Return the result of a container's method."""
        elements = v.contents(container)
        if name == "copy":
            return frozenset([container])
        if name == "_make" and container.kind == v.TUPLE and expression.positional:
            return self.inference.records.filled(container, expression.positional[0], place)
        if name == "values":
            return v.holding(elements)
        if container.kind == v.MAPPING and name in _KEYED_TAKERS and expression.positional:
            key, default = (*expression.positional, None)[:2]
            return self.inference.under(container, key) | self.inference.infer(default, place)
        if name == "keys":
            return v.holding(self.keys(container))
        if name == "items":
            keys = self.keys(container)
            return v.holding(frozenset([v.TupleValue(v.TUPLE, (keys, elements))]))
        if name == "popitem":
            return frozenset([v.TupleValue(v.TUPLE, (NOTHING, elements))])
        return elements

    def keys(self, container: v.Container) -> Values:
        """Return the keys of a dict that are known texts."""
        known = container.known if container.kind == v.MAPPING else ()
        return frozenset(v.literal(key) for key, _ in known if isinstance(key, str))

    def method_result(self, receiver: ScopeValue, name: str) -> Values:
        """Return the results of calling a method of a value."""
        found: set[Value] = set()
        for value in self.inference.attributes.named_values(receiver, name):
            if value.kind == v.FUNCTION:
                found |= self.result(value)
            elif value.kind == v.EXTERNAL:
                found |= self.returned(value.symbol, value.of)
        return frozenset(found)

    def _external_result(
        self, symbol: str, expression: CallExpr, place: Place, of: Values
    ) -> Values:
        special = self.passing.result(symbol, expression, place)
        if special is not None:
            # An iterable of the results of a function may wait for them.
            waits = symbol in self.inference.catalog.returns
            return special | self.returned(symbol) if waits else special
        holds, generics = self.inference.conditions.holds, self.inference.generics
        for variant in self.inference.catalog.variants.get(symbol, ()):
            if holds(variant, expression, place):
                of = generics.of_call(symbol, expression, place) or of
                return generics.made(variant.returns, symbol.rpartition(".")[0], of)
        conditions = self.inference.catalog.conditions_of(symbol)
        if any(holds(condition, expression, place) for condition in conditions):
            return NOTHING  # the catalog's type does not apply to this call
        chosen = self._chosen(symbol, expression, place)
        return chosen or self.returned(symbol, generics.of_call(symbol, expression, place) or of)

    def _chosen(self, symbol: str, expression: CallExpr, place: Place) -> Values:
        """Return the result of a call whose argument names a class or is a factory."""
        chosen = self.inference.catalog.chosen
        owner, _, name = symbol.rpartition(".")
        bases = self.inference.catalog.lineage(owner) if chosen else ()
        argument = next(
            (chosen[key] for base in bases if (key := f"{base}.{name}") in chosen), None
        )
        if argument is None:
            return NOTHING
        given = self.inference.parameters.given(
            expression, argument.position, argument.keyword, place
        )
        found: set[Value] = set()
        for value in given:
            found |= self.called(value, call_of(None, ()), place)
        return frozenset(found)

    def returned(self, symbol: str, of: Values = NOTHING) -> Values:
        """Return what the catalog says that a call returns.

        Args:
            symbol: The callee.
            of: The objects that its receiver is about.
        """
        made = self.inference.generics.made
        owner, _, name = symbol.rpartition(".")
        for base in self.inference.catalog.lineage(owner):
            given = self.inference.catalog.returns.get(f"{base}.{name}")
            if given is not None:
                return made(given, owner, of)
            first = self.inference.catalog.returns_first.get(f"{base}.{name}")
            if first is not None:
                members = (made(first, owner, of), NOTHING)
                return frozenset([v.TupleValue(v.TUPLE, members)])
        if symbol in self.inference.catalog.classes or name[:1].isupper():
            return made(symbol, owner, of)
        return NOTHING

    def _function_result(
        self,
        function: FunctionValue,
        expression: CallExpr,
        place: Place,
        written: CallExpr | None,
    ) -> Values:
        """Return the result of calling a function of the project.

        A function that only returns a parameter returns this call's argument.

        Args:
            function: The function.
            expression: The call.
            place: Its place.
            written: The call with all that is passed; None if this is unknown.
        """
        _, path, index, receiver = function
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        own = self._returned_parameter(scope)
        if own is None:
            chosen = self._by_variable(function, scope, expression, place)
            return chosen or self.result(function, self._unreached(function, scope, written))
        position, name = own
        default = scope.parameters[position].default
        if receiver is not None:
            if position == 0:
                return frozenset([receiver])
            position -= 1
        given = self.inference.parameters.given(expression, position, name, place)
        if given or is_passed(expression, position, name):
            return given
        return self.inference.infer(default, Place(path, scope.parent, scope.path, receiver))

    def chosen(self, function: FunctionValue, call: CallExpr) -> Values:
        """Return the results of a function with the arguments of a call, as far as tests show.

        Args:
            function: The function.
            call: The call; its arguments are constants.
        """
        scope = self.inference.modules.summary(function.path).scopes[function.scope]
        return self.result(function, self._unreached(function, scope, call))

    def _unreached(
        self, function: FunctionValue, scope: Scope, call: CallExpr | None
    ) -> frozenset[int]:
        """Return which of a function's ``return`` statements a call surely does not reach."""
        if len(scope.returns) < 2 or call is None or call.callee is None:
            return frozenset()
        summary = self.inference.modules.summary(function.path)
        decorators = self.inference.decorators(summary, function.scope) if scope.decorators else ()
        if len(decorators) != len(scope.decorators) or not _KEEPING.issuperset(decorators):
            return frozenset()  # another decorator may pass other arguments
        receiver = function.receiver
        is_bound = receiver is not None and (
            receiver.kind != v.CLASS or "builtins.classmethod" in decorators
        )
        return unreached(scope, call, int(is_bound))

    def _by_variable(
        self, function: FunctionValue, scope: Scope, expression: CallExpr, place: Place
    ) -> Values:
        """Return the result of ``def get(self, cls: type[T]) -> T``, which an argument says."""
        declared = scope.annotation[0] if scope.annotation else None
        if declared is None or declared.tag != tags.NAME:
            return NOTHING
        outside = Place(function.path, scope.parent, scope.path)
        if VARIABLES.isdisjoint(self.inference.infer(declared, outside)):
            return NOTHING
        found: set[Value] = set()
        for position, (name, annotation, *_) in enumerate(scope.parameters):
            is_class = annotation is not None and annotation.tag == tags.SUBSCRIPT
            if annotation != declared and not is_class:
                continue
            if is_class and declared not in of_class(annotation):
                continue
            at = position - (function.receiver is not None)
            for value in self.inference.parameters.given(expression, at, name, place):
                if is_class:
                    found |= self.called(value, call_of(None, ()), place)
                else:
                    found.add(value)
        return frozenset(found)

    def _returned_parameter(self, scope: Scope) -> tuple[int, str] | None:
        """Return the parameter that a function only returns, None if it does anything else."""
        if len(scope.returns) != 1 or scope.yields:
            return None
        value = scope.returns[0].value
        if value is None or value.tag != tags.NAME:
            return None
        for position, (name, *_) in enumerate(scope.parameters):
            if name == value.identifier and len(scope.bindings.get(name, ())) == 1:
                return position, name
        return None

    def result(self, function: FunctionValue, unreached: frozenset[int] = frozenset()) -> Values:
        """Return a project function's results, independent of the caller.

        Args:
            function: The function.
            unreached: The positions of ``return`` statements that do not count.
        """
        _, path, index, receiver = function
        return self.inference.solved(
            ("result", path, index, receiver, unreached),
            lambda: self._result(path, index, receiver, unreached),
        )

    def _result(
        self, path: str, index: int, receiver: ScopeValue | None, unreached: frozenset[int]
    ) -> Values:
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        derived = self.inference.classes.derived(receiver, path, scope.parent)
        outside = Place(path, scope.parent, scope.path, derived)
        decorators = self.inference.decorators(summary, index)
        declared = (
            self.inference.annotations.annotated(scope.annotation[0], outside)
            if scope.annotation
            else NOTHING
        )
        if decorators & _MANAGERS:
            given = self.elements(declared)
            if not given or self.inference.annotations.is_broad(given):
                given = self._yielded(path, index, scope, derived) or given
            return frozenset([v.HolderValue(v.MANAGER, given)])
        is_broad = self.inference.annotations.is_broad(declared)
        if v.declares(declared) and not is_broad:
            return declared
        if scope.yields:
            return v.holding(self._yielded(path, index, scope, derived))
        own = NameExpr(tags.NAME, scope.parameters[0].name) if scope.parameters else None
        found: set[Value] = set()
        for number, (value, at) in enumerate(scope.returns):
            if number in unreached:
                continue
            if receiver is not None and value is not None and value == own:
                found.add(receiver)
            else:
                found |= self.inference.infer(value, Place(path, index, at, derived))
        if receiver is not None and not v.informative(frozenset(found)):
            found |= self._overridden(receiver, scope.name)
        if not v.informative(frozenset(found)):
            return declared or frozenset(found)
        return frozenset(found)

    def _overridden(self, receiver: ScopeValue, name: str) -> Values:
        """Return the results of the methods that override an abstract one, or an empty hook."""
        found: set[Value] = set()
        for cls in self.inference.calling.subclasses(receiver.path, receiver.scope):
            found |= self.method_result(cls._replace(kind=v.OBJECT), name)
        return frozenset(found)

    def _yielded(self, path: str, index: int, scope: Scope, derived: ScopeValue | None) -> Values:
        return NOTHING.union(
            *(
                self.inference.any_of([one], Place(path, index, at, derived))
                for one, at in scope.yields
            )
        )

    def entered(self, values: Values) -> Values:
        """Return the values that ``with`` binds to its target."""
        found: set[Value] = set()
        for value in values:
            if value.kind == v.MANAGER:
                found |= value.held
            elif value.kind == v.OBJECT:
                given = self.method_result(value, "__enter__")
                found |= given or self._entered_itself(value)
            elif value.kind == v.INSTANCE:
                given = self.returned(f"{value.symbol}.__enter__", value.of)
                found |= given or frozenset([value])
        return frozenset(found)

    def _entered_itself(self, value: ScopeValue) -> Values:
        """Return an object whose class inherits how it is entered from a package alone."""
        entering = self.inference.attributes.named_values(value, "__enter__")
        is_inherited = bool(entering) and all(one.kind == v.EXTERNAL for one in entering)
        return frozenset([value]) if is_inherited else NOTHING

    def elements(self, values: Values) -> Values:
        """Return the elements of any of the values."""
        found: set[Value] = set()
        for value in v.ordered(values):
            if value.kind == v.ELEMENTS:
                found |= value.held
            elif value.kind == v.TUPLE:
                found = found.union(*value.members)
            elif value.kind == v.MAPPING:
                found |= self.keys(value)
            elif value.kind == v.INSTANCE:
                found |= self.external_elements(value)
            elif value.kind == v.CLASS:
                found |= self.inference.enumerations.members(value)
            elif value.kind == v.OBJECT:
                opened = self.inference.records.opened(frozenset([value]))
                found |= self._iterated(value) if value in opened else self.elements(opened)
                found |= self.elements(self.inference.containers.contents(value))
        return frozenset(found)

    def _iterated(self, value: ScopeValue) -> Values:
        """Return the elements of a project's object; its ``__iter__`` may return itself."""
        return self.inference.solved(
            ("iterated", value),
            lambda: (
                self.elements(self.method_result(value, "__iter__"))
                | self.method_result(value, "__next__")
            ),
        )

    def external_elements(self, value: SymbolValue) -> Values:
        """Return the elements of an object of a library, according to the catalog."""
        for base in self.inference.catalog.lineage(value.symbol):
            held = self.inference.catalog.elements.get(base)
            if held is not None:
                return self.inference.generics.made(held, value.symbol, value.of)
        return NOTHING
