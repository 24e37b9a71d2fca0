"""Results of calls, of ``with`` and of iteration."""

from __future__ import annotations

from collections.abc import Hashable

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, FunctionValue, ScopeValue, Value, Values
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import CallExpr, Expr, SubscriptExpr, call_of
from gblock.project.reading.summary import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_KEYED_TAKERS = {"get", "pop", "setdefault", "__getitem__"}
_MANAGERS = {"contextlib.contextmanager", "contextlib.asynccontextmanager"}
PASS_THROUGH = {
    "contextlib.closing",
    "contextlib.nullcontext",
    "contextlib.aclosing",
    "copy.copy",
    "copy.deepcopy",
    "weakref.proxy",
}
_TRANSPARENT_CONTAINERS = {"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"}


def _is_abstract(scope: Scope, decorators: set[str]) -> bool:
    """Return whether a method is abstract: it raises, and returns nothing."""
    raises = () in scope.dead_ends and not scope.returns
    return raises or "abc.abstractmethod" in decorators


class Results:
    """Follows calls to returned values."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def called(self, value: Value, expression: CallExpr, place: Place) -> Values:
        """Return the results of calling a value."""
        if value.kind == v.EXTERNAL:
            return self._external_result(value.symbol, expression, place)
        if value.kind == v.FUNCTION:
            return self._function_result(value, expression, place)
        if value.kind == v.CLASS:
            return frozenset([value._replace(kind=v.OBJECT)])
        if value.kind == v.OBJECT:
            return self.method_result(value, "__call__")
        if value.kind == v.INSTANCE:
            return self._external_result(f"{value.symbol}.__call__", expression, place)
        if value.kind == v.PARTIAL:
            return self.called(value.callee, expression, place)
        if value.kind == v.TAKER:
            return self._taken(value.container, value.name, expression, place)
        return NOTHING

    def _taken(
        self, container: v.Container, name: str, expression: CallExpr, place: Place
    ) -> Values:
        """Return the result of a container's method."""
        elements = v.contents(container)
        if name == "copy":
            return frozenset([container])
        if name == "values":
            return v.holding(elements)
        if container.kind == v.MAPPING and name in _KEYED_TAKERS and expression.positional:
            key, default = (*expression.positional, None)[:2]
            return self.inference.under(container, key) | self.inference.infer(default, place)
        if name == "items":
            return v.holding(frozenset([v.TupleValue(v.TUPLE, (NOTHING, elements))]))
        if name == "popitem":
            return frozenset([v.TupleValue(v.TUPLE, (NOTHING, elements))])
        return elements

    def method_result(self, receiver: ScopeValue, name: str) -> Values:
        """Return the results of calling a method of a value."""
        found: set[Value] = set()
        for value in self.inference.attribute(receiver, name):
            if value.kind == v.FUNCTION:
                found |= self.result(value)
            elif value.kind == v.EXTERNAL:
                found |= self._returned(value.symbol)
        return frozenset(found)

    def _external_result(self, symbol: str, expression: CallExpr, place: Place) -> Values:
        if symbol == "builtins.dict" and expression.keywords:
            return frozenset([self._dict(expression, place)])
        special = self._known_callable(symbol, expression, place)
        if special is not None:
            return special
        holds = self.inference.conditions.holds
        for variant in self.inference.catalog.variants.get(symbol, ()):
            if holds(variant, expression, place):
                return frozenset([v.instance(variant.returns)])
        conditions = self.inference.catalog.conditions.get(symbol, ())
        if any(holds(condition, expression, place) for condition in conditions):
            return NOTHING  # the catalog's type does not apply to this call
        return self._chosen(symbol, expression, place) or self._returned(symbol)

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

    def _returned(self, symbol: str) -> Values:
        owner, _, name = symbol.rpartition(".")
        for base in self.inference.catalog.lineage(owner):
            given = self.inference.catalog.returns.get(f"{base}.{name}")
            if given is not None:
                return frozenset([v.instance(owner if given == "self" else given)])
            first = self.inference.catalog.returns_first.get(f"{base}.{name}")
            if first is not None:
                members = (frozenset([v.instance(first)]), NOTHING)
                return frozenset([v.TupleValue(v.TUPLE, members)])
        if symbol in self.inference.catalog.classes or name[:1].isupper():
            return frozenset([v.instance(symbol)])
        return NOTHING

    def _known_callable(self, symbol: str, expression: CallExpr, place: Place) -> Values | None:
        """Return the result of a function of the standard library that passes its argument on."""
        positional = expression.positional
        first = positional[0] if positional else None
        if symbol == "builtins.object.__new__":
            classes = self.inference.infer(first, place)
            return frozenset(x._replace(kind=v.OBJECT) for x in classes if x.kind == v.CLASS)
        if symbol in ("builtins.type.__new__", "abc.ABCMeta.__new__"):
            made_by = self.inference.classes.made_by
            metaclasses = (x for x in self.inference.infer(first, place) if x.kind == v.CLASS)
            return frozenset().union(*(made_by(one.path, one.scope) for one in metaclasses))
        if symbol.startswith("builtins."):
            return self._builtin(symbol[9:], positional, place)
        if symbol in PASS_THROUGH or symbol == "asgiref.sync.async_to_sync":
            return self.inference.infer(first, place)
        if symbol in ("functools.partial", "functools.partialmethod"):
            return frozenset(
                v.PartialValue(v.PARTIAL, value) for value in self.inference.infer(first, place)
            )
        if symbol == "typing.cast" and len(positional) > 1:
            return self.inference.annotations.annotated(first, place) or self.inference.infer(
                positional[1], place
            )
        if symbol == "importlib.import_module" and first and first.tag == tags.CONSTANT:
            if isinstance(first.value, str) and not first.value.startswith("."):
                return self.inference.imported(first.value, None, 0, place.path)
        if symbol == "gevent.monkey.get_original" and len(positional) > 1:
            return self._originals(positional[0], positional[1])
        if symbol.endswith("ExitStack.enter_context"):
            return self.entered(self.inference.infer(first, place))
        if symbol == "collections.defaultdict":
            made: set[Value] = set()
            for value in self.inference.infer(first, place):
                made |= self.called(value, call_of(None, ()), place)
            return frozenset([v.MappingValue(v.MAPPING, (), frozenset(made))])
        if symbol == "random.choice":
            return self.elements(self.inference.infer(first, place))
        if symbol == "itertools.cycle" or symbol == "collections.deque":
            return v.holding(self.elements(self.inference.infer(first, place)))
        if symbol == "itertools.chain":
            return v.holding(self.elements(self.inference.any_of(positional, place)))
        return None

    def _originals(self, module: Expr, names: Expr) -> Values:
        """Return the originals that gevent replaced: one, or a list of several."""
        if module is None or names is None or module.tag != tags.CONSTANT:
            return NOTHING
        if names.tag == tags.CONSTANT:
            return frozenset([v.external(f"gevent.monkey.saved.{module.value!s}.{names.value!s}")])
        if names.tag in (tags.SEQUENCE, tags.TUPLE):
            members = tuple(self._originals(module, e) for e in names.elements)
            return frozenset([v.TupleValue(v.TUPLE, members)])
        return NOTHING

    def _builtin(self, name: str, positional: tuple[Expr, ...], place: Place) -> Values | None:
        first = positional[0] if positional else None
        if name == "staticmethod" or name == "classmethod":
            # A class attribute that is no method: no receiver is bound.
            return frozenset(
                v.PartialValue(v.PARTIAL, value) for value in self.inference.infer(first, place)
            )
        if name == "map" or name == "filter":
            return self._mapped(name, positional, place)
        if name == "max" or name == "min":
            if len(positional) > 1:
                return self.inference.any_of(positional, place)
            return self.elements(self.inference.infer(first, place))
        if name in _TRANSPARENT_CONTAINERS:
            return v.holding(self.elements(self.inference.infer(first, place)))
        if name == "next":
            return self.elements(self.inference.infer(first, place))
        if name == "enumerate":
            elements = self.elements(self.inference.infer(first, place))
            return v.holding(frozenset([v.TupleValue(v.TUPLE, (NOTHING, elements))]))
        if name == "zip":
            parts = tuple(self.elements(self.inference.infer(one, place)) for one in positional)
            return v.holding(frozenset([v.TupleValue(v.TUPLE, parts)]))
        if name == "getattr" and len(positional) > 1:
            attribute = positional[1]
            if attribute is None or attribute.tag != tags.CONSTANT:
                return NOTHING
            found = self.inference.infer(positional[2], place) if len(positional) > 2 else NOTHING
            for value in self.inference.infer(first, place):
                found |= self.inference.attribute(value, str(attribute.value))
            return found
        if name == "__import__" and first and first.tag == tags.CONSTANT:
            return self.inference.imported(str(first.value).partition(".")[0], None, 0, place.path)
        if name == "int" or name == "float":
            return frozenset(x for x in self.inference.infer(first, place) if x.kind == v.LITERAL)
        return None

    def _mapped(self, name: str, positional: tuple[Expr, ...], place: Place) -> Values:
        """Return the iterable that ``map`` or ``filter`` returns."""
        if len(positional) < 2:
            return NOTHING
        if name == "filter":
            return v.holding(self.elements(self.inference.infer(positional[1], place)))
        given = tuple(
            SubscriptExpr(tags.SUBSCRIPT, one, None) if one is not None else None
            for one in positional[1:]
        )
        found: set[Value] = set()
        for value in self.inference.infer(positional[0], place):
            found |= self.called(value, call_of(None, given), place)
        return v.holding(frozenset(found))

    def _dict(self, expression: CallExpr, place: Place) -> Value:
        """Return the mapping that ``dict(key=value)`` makes."""
        known: dict[Hashable, Values] = {}
        others: set[Value] = set()
        for name, value in expression.keywords:
            if name is not None:
                known[name] = self.inference.infer(value, place)
            else:
                for merged in self.inference.infer(value, place):
                    others |= v.contents(merged) if merged.kind == v.MAPPING else NOTHING
        return v.MappingValue(v.MAPPING, tuple(known.items()), frozenset(others))

    def _function_result(
        self, function: FunctionValue, expression: CallExpr, place: Place
    ) -> Values:
        """Return the result of calling a project function, with this call's arguments."""
        _, path, index, receiver = function
        summary = self.inference.modules.summary(path)
        if summary is None:
            return NOTHING
        scope = summary.scopes[index]
        own = self._returned_parameter(scope)
        if own is None:
            return self.result(function)
        position, name = own
        if receiver is not None:
            if position == 0:
                return frozenset([receiver])
            position -= 1
        return self.inference.parameters.given(expression, position, name, place)

    def _returned_parameter(self, scope: Scope) -> tuple[int, str] | None:
        """Return the parameter that a function only returns, None if it does anything else."""
        if len(scope.returns) != 1 or scope.yields:
            return None
        value = scope.returns[0][0]
        if value is None or value.tag != tags.NAME:
            return None
        for position, (name, *_) in enumerate(scope.parameters):
            if name == value.identifier and len(scope.bindings.get(name, ())) == 1:
                return position, name
        return None

    def result(self, function: FunctionValue) -> Values:
        """Return a project function's results, independent of the caller."""
        _, path, index, receiver = function
        return self.inference.solved(
            ("result", path, index, receiver), lambda: self._result(path, index, receiver)
        )

    def _result(self, path: str, index: int, receiver: ScopeValue | None) -> Values:
        summary = self.inference.modules.summary(path)
        if summary is None:
            return NOTHING
        scope = summary.scopes[index]
        derived = self.inference.classes.derived(receiver, path, scope.parent)
        outside = Place(path, scope.parent, scope.path)
        decorators = self.inference.decorators(summary, index)
        declared = (
            self.inference.annotations.annotated(scope.annotation[0], outside)
            if scope.annotation
            else NOTHING
        )
        if decorators & _MANAGERS:
            given = self.elements(declared) or self._yielded(path, index, scope, derived)
            return frozenset([v.HolderValue(v.MANAGER, given)])
        if v.informative(declared):
            return declared
        if scope.yields:
            return v.holding(self._yielded(path, index, scope, derived))
        found: set[Value] = set()
        for value, at in scope.returns:
            if (
                receiver is not None
                and scope.parameters
                and value
                == (
                    tags.NAME,
                    scope.parameters[0][0],
                )
            ):
                found.add(receiver)
            else:
                found |= self.inference.infer(value, Place(path, index, at, derived))
        if not found and receiver is not None and _is_abstract(scope, decorators):
            found |= self._overridden(receiver, scope.name)
        return frozenset(found)

    def _overridden(self, receiver: ScopeValue, name: str) -> Values:
        """Return the results of the methods that override an abstract one."""
        found: set[Value] = set()
        for cls in self.inference.calling.subclasses(receiver.path, receiver.scope):
            found |= self.method_result(cls._replace(kind=v.OBJECT), name)
        return frozenset(found)

    def _yielded(self, path: str, index: int, scope: Scope, derived: ScopeValue | None) -> Values:
        return self._all_at([(one, Place(path, index, at, derived)) for one, at in scope.yields])

    def _all_at(self, pairs: list[tuple[Expr, Place]]) -> Values:
        found: set[Value] = set()
        for value, place in pairs:
            found |= self.inference.any_of([value], place)
        return frozenset(found)

    def entered(self, values: Values) -> Values:
        """Return the values that ``with`` binds to its target."""
        found: set[Value] = set()
        for value in values:
            if value.kind == v.MANAGER:
                found |= value.held
            elif value.kind == v.OBJECT:
                found |= self.method_result(value, "__enter__")
            elif value.kind == v.INSTANCE:
                found |= self._returned(f"{value.symbol}.__enter__") or frozenset([value])
        return frozenset(found)

    def elements(self, values: Values) -> Values:
        """Return the elements of any of the values."""
        found: set[Value] = set()
        for value in values:
            if value.kind == v.ELEMENTS:
                found |= value.held
            elif value.kind == v.TUPLE:
                found = found.union(*value.members)
            elif value.kind == v.INSTANCE:
                found |= self.external_elements(value.symbol)
            elif value.kind == v.OBJECT:
                found |= self._iterated(value)
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

    def external_elements(self, owner: str) -> Values:
        """Return the elements of an instance of a class, according to the catalog."""
        for base in self.inference.catalog.lineage(owner):
            held = self.inference.catalog.elements.get(base)
            if held is not None:
                return frozenset([v.instance(held)])
        return NOTHING
