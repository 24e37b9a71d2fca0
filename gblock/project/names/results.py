"""What calling, entering and looping give."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.expressions import Place, passed
from gblock.project.names.values import NOTHING, Value, Values
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Expr, Scope

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


class Results:
    """Follows calls to what they return."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def called(self, value: Value, expression: Expr, place: Place) -> Values:
        """What calling a value gives."""
        kind = value[0]
        if kind == v.EXTERNAL:
            return self._external_result(value[1], expression, place)
        if kind == v.FUNCTION:
            return self._function_result(value, expression, place)
        if kind == v.CLASS:
            return frozenset([(v.OBJECT, value[1], value[2])])
        if kind == v.OBJECT:
            return self.method_result(value, "__call__")
        if kind == v.INSTANCE:
            return self._external_result(f"{value[1]}.__call__", expression, place)
        if kind == v.PARTIAL:
            return self.called(value[1], expression, place)
        if kind == v.TAKER:
            return self._taken(value[1], value[2], expression, place)
        return NOTHING

    def _taken(self, container: Value, name: str, expression: Expr, place: Place) -> Values:
        """What a container's method gives."""
        elements = v.contents(container)
        if name == "copy":
            return frozenset([container])
        if name == "values":
            return self.inference.holding(elements)
        if container[0] == v.MAPPING and name in _KEYED_TAKERS and expression[2]:
            default = expression[2][1] if len(expression[2]) > 1 else None
            return self.inference.under(container, expression[2][0]) | self.inference.infer(
                default, place
            )
        if name == "items":
            return self.inference.holding(frozenset([(v.TUPLE, (NOTHING, elements))]))
        if name == "popitem":
            return frozenset([(v.TUPLE, (NOTHING, elements))])
        return elements

    def method_result(self, receiver: Value, name: str) -> Values:
        """What calling a method of a value gives."""
        found: set[Value] = set()
        for value in self.inference.attribute(receiver, name):
            if value[0] == v.FUNCTION:
                found |= self.result(value)
            elif value[0] == v.EXTERNAL:
                found |= self._returned(value[1])
        return frozenset(found)

    def _external_result(self, symbol: str, expression: Expr, place: Place) -> Values:
        special = self._known_callable(symbol, expression, place)
        if special is not None:
            return special
        conditions = self.inference.catalog.conditions.get(symbol, ())
        if any(
            self.inference.conditions.holds(condition, expression, place)
            for condition in conditions
        ):
            return NOTHING  # what this call gives is not what the catalog knows
        return self._returned(symbol)

    def _returned(self, symbol: str) -> Values:
        owner, _, name = symbol.rpartition(".")
        for base in self.inference.catalog.lineage(owner):
            given = self.inference.catalog.returns.get(f"{base}.{name}")
            if given is not None:
                return frozenset([(v.INSTANCE, owner if given == "self" else given)])
        if symbol in self.inference.catalog.classes or name[:1].isupper():
            return frozenset([(v.INSTANCE, symbol)])
        return NOTHING

    def _known_callable(self, symbol: str, expression: Expr, place: Place) -> Values | None:
        """The standard library's functions that hand on what they are given."""
        positional = expression[2]
        first = positional[0] if positional else None
        if symbol.startswith("builtins."):
            return self._builtin(symbol[9:], positional, place)
        if symbol in PASS_THROUGH or symbol == "asgiref.sync.async_to_sync":
            return self.inference.infer(first, place)
        if symbol in ("functools.partial", "functools.partialmethod"):
            return frozenset((v.PARTIAL, value) for value in self.inference.infer(first, place))
        if symbol == "typing.cast" and len(positional) > 1:
            return self.inference.annotations.annotated(first, place) or self.inference.infer(
                positional[1], place
            )
        if symbol == "importlib.import_module" and first and first[0] == tags.CONSTANT:
            if isinstance(first[1], str) and not first[1].startswith("."):
                return self.inference.imported(first[1], None, 0, place.path)
        if symbol == "gevent.monkey.get_original" and len(positional) > 1:
            return self._originals(positional[0], positional[1])
        if symbol.endswith("ExitStack.enter_context"):
            return self.entered(self.inference.infer(first, place))
        if symbol == "itertools.cycle" or symbol == "collections.deque":
            return self.inference.holding(self.elements(self.inference.infer(first, place)))
        if symbol == "itertools.chain":
            return self.inference.holding(self.elements(self.inference.any_of(positional, place)))
        return None

    def _originals(self, module: Expr, names: Expr) -> Values:
        """What gevent has replaced: one thing, or a list of several."""
        if module is None or names is None or module[0] != tags.CONSTANT:
            return NOTHING
        if names[0] == tags.CONSTANT:
            return frozenset([(v.EXTERNAL, f"gevent.monkey.saved.{module[1]}.{names[1]}")])
        if names[0] in (tags.SEQUENCE, tags.TUPLE):
            return frozenset([(v.TUPLE, tuple(self._originals(module, e) for e in names[1]))])
        return NOTHING

    def _builtin(self, name: str, positional: tuple[Expr, ...], place: Place) -> Values | None:
        first = positional[0] if positional else None
        if name in _TRANSPARENT_CONTAINERS:
            return self.inference.holding(self.elements(self.inference.infer(first, place)))
        if name == "next":
            return self.elements(self.inference.infer(first, place))
        if name == "enumerate":
            elements = self.elements(self.inference.infer(first, place))
            return self.inference.holding(frozenset([(v.TUPLE, (NOTHING, elements))]))
        if name == "zip":
            parts = tuple(self.elements(self.inference.infer(one, place)) for one in positional)
            return self.inference.holding(frozenset([(v.TUPLE, parts)]))
        if name == "getattr" and len(positional) > 1:
            attribute = positional[1]
            if attribute is None or attribute[0] != tags.CONSTANT:
                return NOTHING
            found = self.inference.infer(positional[2], place) if len(positional) > 2 else NOTHING
            for value in self.inference.infer(first, place):
                found |= self.inference.attribute(value, str(attribute[1]))
            return found
        if name == "__import__" and first and first[0] == tags.CONSTANT:
            return self.inference.imported(str(first[1]).partition(".")[0], None, 0, place.path)
        if name == "int" or name == "float":
            return frozenset(x for x in self.inference.infer(first, place) if x[0] == v.LITERAL)
        return None

    def _function_result(self, function: Value, expression: Expr, place: Place) -> Values:
        """What a call of a function of the project gives; a returned parameter is this call's."""
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
        return self.inference.infer(passed(expression, position, name), place)

    def _returned_parameter(self, scope: Scope) -> tuple[int, str] | None:
        """The parameter that a function does nothing but return."""
        if len(scope.returns) != 1 or scope.yields:
            return None
        value = scope.returns[0][0]
        if value is None or value[0] != tags.NAME:
            return None
        for position, (name, *_) in enumerate(scope.parameters):
            if name == value[1] and len(scope.bindings.get(name, ())) == 1:
                return position, name
        return None

    def result(self, function: Value) -> Values:
        """What a function of the project returns, whoever calls it."""
        _, path, index, receiver = function
        return self.inference.solved(
            ("result", path, index, receiver), lambda: self._result(path, index, receiver)
        )

    def _result(self, path: str, index: int, receiver: Value | None) -> Values:
        summary = self.inference.modules.summary(path)
        if summary is None:
            return NOTHING
        scope = summary.scopes[index]
        outside = Place(path, scope.parent, scope.path)
        decorators = self.inference.decorators(summary, index)
        declared = (
            self.inference.annotations.annotated(scope.annotation[0], outside)
            if scope.annotation
            else NOTHING
        )
        if decorators & _MANAGERS:
            given = self.elements(declared) or self._yielded(path, index, scope)
            return frozenset([(v.MANAGER, given)])
        if v.informative(declared):
            return declared
        if scope.yields:
            return self.inference.holding(self._yielded(path, index, scope))
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
                found |= self.inference.infer(value, Place(path, index, at))
        return frozenset(found)

    def _yielded(self, path: str, index: int, scope: Scope) -> Values:
        return self._all_at([(value, Place(path, index, at)) for value, at in scope.yields])

    def _all_at(self, pairs: list[tuple[Expr, Place]]) -> Values:
        found: set[Value] = set()
        for value, place in pairs:
            found |= self.inference.any_of([value], place)
        return frozenset(found)

    def entered(self, values: Values) -> Values:
        """What ``with`` gives its target."""
        found: set[Value] = set()
        for value in values:
            if value[0] == v.MANAGER:
                found |= value[1]
            elif value[0] == v.OBJECT:
                found |= self.method_result(value, "__enter__")
            elif value[0] == v.INSTANCE:
                found |= self._returned(f"{value[1]}.__enter__") or frozenset([value])
        return frozenset(found)

    def elements(self, values: Values) -> Values:
        """What looping over any of the values gives."""
        found: set[Value] = set()
        for value in values:
            if value[0] == v.ELEMENTS:
                found |= value[1]
            elif value[0] == v.TUPLE:
                found = found.union(*value[1])
            elif value[0] == v.INSTANCE:
                found |= self.external_elements(value[1])
            elif value[0] == v.OBJECT:
                found |= self._iterated(value)
        return frozenset(found)

    def _iterated(self, value: Value) -> Values:
        """What looping over an object of the project gives; its ``__iter__`` may return itself."""
        return self.inference.solved(
            ("iterated", value),
            lambda: (
                self.elements(self.method_result(value, "__iter__"))
                | self.method_result(value, "__next__")
            ),
        )

    def external_elements(self, owner: str) -> Values:
        """What looping over an instance of a class gives, as the catalog tells."""
        for base in self.inference.catalog.lineage(owner):
            held = self.inference.catalog.elements.get(base)
            if held is not None:
                return frozenset([(v.INSTANCE, held)])
        return NOTHING
