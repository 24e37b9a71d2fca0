"""Classes of the project that are containers: ``class Registry(dict)``.

A container of the project holds what its own methods put into ``self``, and what other code stores
under the name of a variable that holds the object.
"""

from __future__ import annotations

from collections.abc import Iterator

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, ScopeValue, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ValueBinding
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    NameExpr,
    is_display,
    members,
)
from gblock.project.reading.summary import Call, ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_CONTAINERS = frozenset(
    "builtins.dict builtins.list builtins.set collections.OrderedDict collections.defaultdict "
    "collections.UserDict collections.UserList collections.deque collections.ChainMap "
    "collections.abc.MutableMapping collections.abc.MutableSequence collections.abc.MutableSet "
    "typing.Dict typing.List typing.Set typing.OrderedDict typing.DefaultDict "
    "typing.MutableMapping typing.MutableSequence typing.MutableSet".split()
)
"""The bases of classes whose objects are containers."""
_MADE_AS = {
    **dict.fromkeys(
        ("builtins.dict", "collections.OrderedDict", "collections.UserDict"), "builtins.dict"
    ),
    **dict.fromkeys(
        ("builtins.list", "builtins.set", "collections.UserList", "collections.deque"),
        "builtins.list",
    ),
}
"""By base, the function that makes of the same arguments what an object holds."""
_PUTTING = frozenset("__setitem__ append add insert appendleft setdefault".split())
"""Methods of the builtin bases whose last argument becomes an element."""
_FILLING = ("__init__", "update", "extend")
"""Methods of the builtin bases whose keyword arguments, and the parts of displays, become ones."""
_SUPER = NameExpr(tags.NAME, "super")
_INNER = "data"
"""The attribute that holds the contents of a ``UserDict`` or a ``UserList``."""


class ContainerClasses:
    """Finds what objects of the project's own container classes hold.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._known: dict[tuple[str, int], bool] = {}
        self._puts: dict[str, list[tuple[Call, Expr]]] = {}

    def is_container(self, path: str, index: int) -> bool:
        """Return whether the objects of a class are containers of the standard library."""
        found = self._known.get((path, index))
        if found is None:
            found = self._known[path, index] = any(
                base.kind == v.EXTERNAL and base.symbol in _CONTAINERS
                for base in self.inference.classes.ancestry(path, index)
            )
        return found

    def contents(self, value: ScopeValue) -> Values:
        """Return the containers that an object of the project is."""
        if value.kind != v.OBJECT or not self.is_container(value.path, value.scope):
            return NOTHING
        return self.inference.solved(("contents", value), lambda: self._contents(value))

    def _contents(self, value: ScopeValue) -> Values:
        found: set[v.Value] = set()
        for base in self.inference.classes.ancestry(value.path, value.scope):
            if base.kind == v.CLASS:
                summary = self.inference.modules.summary(base.path)
                stores = list(self._stores(summary, base.scope))
                found |= self.inference.stored(stores, base.path, value)
                put = self._put(summary, base.scope, value)
                found |= v.holding(put) if put else NOTHING
                found |= self._passed_on(summary, base.scope, value)
                found |= self._put_from_outside(summary, base.scope)
        return frozenset(found | self._constructed(value))

    def _constructed(self, value: ScopeValue) -> Values:
        """Return what calls of a class put into its objects: ``Registry(place=place)``."""
        made_as, lineage = "", self.inference.classes.ancestry(value.path, value.scope)
        for base in lineage:
            if base.kind == v.EXTERNAL:
                made_as = made_as or _MADE_AS.get(base.symbol, "")
            elif base.kind == v.CLASS:
                scope = self.inference.modules.summary(base.path).scopes[base.scope]
                if not made_as and "__init__" in scope.bindings:
                    return NOTHING
        if not made_as:
            return NOTHING
        passing = self.inference.results.passing
        return NOTHING.union(
            *(
                passing.result(made_as, call.expression, place) or NOTHING
                for call, place in self.inference.calling.callers(value.path, value.scope)
                if call.expression.positional or call.expression.keywords
            )
        )

    def _passed_on(self, summary: ModuleSummary, index: int, value: ScopeValue) -> Values:
        """Return what methods give their base as a whole: ``super().__init__(**given)``."""
        found: set[v.Value] = set()
        for call in self._filling(summary):
            if not summary.is_within(call.scope, index):
                continue
            place = Place(summary.filename, call.scope, call.path, value)
            given = [one for name, one in call.expression.keywords if name is None]
            for one in (*call.expression.positional, *given):
                if not is_display(one, makers=("dict",)):
                    inner = one.value if one is not None and one.tag == tags.STAR else one
                    found |= {
                        x
                        for x in self.inference.infer(inner, place)
                        if x.kind in (v.MAPPING, v.ELEMENTS, v.TUPLE)
                    }
        return frozenset(found)

    def is_own_dict(self, value: ScopeValue) -> bool:
        """Return whether the items of an object are its attributes: ``self.__dict__ = self``."""
        if value.kind != v.OBJECT or not self.is_container(value.path, value.scope):
            return False
        summary = self.inference.modules.summary(value.path)
        return any(
            (own, "__dict__") in summary.scopes[number].attributes
            for number, own in self._methods(summary, value.scope)
        )

    def _stores(self, summary: ModuleSummary, index: int) -> Iterator[ValueBinding]:
        """Yield the stores of a class's methods into their own object."""
        for number, own in self._methods(summary, index):
            for binding in summary.scopes[number].bindings.get(own, ()):
                if binding.kind in kinds.STORES:
                    yield binding
            for inner in summary.scopes:
                for stored in inner.attributes.get((own, _INNER), ()):
                    if stored.kind in kinds.STORES and summary.is_within(stored.scope, number):
                        yield stored

    def _methods(self, summary: ModuleSummary, index: int) -> Iterator[tuple[int, str]]:
        """Yield the methods of a class, with the names of their receivers."""
        for number, scope in enumerate(summary.scopes):
            if scope.parent == index and scope.kind == "function" and scope.parameters:
                yield number, scope.parameters[0].name

    def _put(self, summary: ModuleSummary, index: int, value: ScopeValue) -> Values:
        """Return what methods of a class give to those of its base: ``super().append(step)``."""
        found: set[v.Value] = set()
        for call, given in self.puts(summary):
            if summary.is_within(call.scope, index):
                place = Place(summary.filename, call.scope, call.path, value)
                found |= self.inference.infer(given, place)
        return frozenset(found)

    def puts(self, summary: ModuleSummary) -> list[tuple[Call, Expr]]:
        """Return a module's calls that put something into a base, with what they put there."""
        found = self._puts.get(summary.filename)
        if found is None:
            by_name = self.inference.calling.calls_by_name(summary.filename)
            found = self._puts[summary.filename] = [
                (call, call.expression.positional[-1])
                for name in _PUTTING & by_name.keys()
                for call in by_name[name]
                if call.expression.positional and _is_super(call.expression.callee)
            ]
            found += [
                (call, given)
                for call in self._filling(summary)
                for given in _filled(call.expression)
            ]
        return found

    def _filling(self, summary: ModuleSummary) -> Iterator[Call]:
        """Yield a module's calls that fill a base as a whole: ``super().__init__(…)``."""
        by_name = self.inference.calling.calls_by_name(summary.filename)
        for call in (call for name in _FILLING for call in by_name.get(name, ())):
            if _is_super(call.expression.callee):
                yield call

    def _put_from_outside(self, summary: ModuleSummary, index: int) -> Values:
        """Return what other code stores under the variables of modules that hold an object."""
        keeping = self.inference.keeping
        found: set[v.Value] = set()
        for path in keeping.naming_objects(summary, index):
            bindings = self.inference.modules.summary(path).scopes[0].bindings
            for word in sorted(keeping.holders(path, summary.scopes[index].name)):
                stores = [one for one in bindings[word] if one.kind in kinds.STORES]
                found |= self.inference.stored(stores, path)
        return frozenset(found)

    def owner(self, summary: ModuleSummary, index: int, name: str) -> int | None:
        """Return the container class in whose method a name is the object itself.

        Args:
            summary: The module.
            index: A scope in the method, or the method.
            name: The name.
        """
        while index > 0:
            scope = summary.scopes[index]
            parent = summary.scopes[scope.parent]
            if scope.kind == "function" and parent.kind == "class":
                is_own = bool(scope.parameters) and scope.parameters[0].name == name
                is_it = is_own and self.is_container(summary.filename, scope.parent)
                return scope.parent if is_it else None
            index = scope.parent
        return None


def _is_super(callee: Expr) -> bool:
    """Return whether a callee is a method of ``super()``."""
    base = callee.base if callee is not None and callee.tag == tags.ATTRIBUTE else None
    return base is not None and base.tag == tags.CALL and base.callee == _SUPER


def _filled(call: CallExpr) -> Iterator[Expr]:
    """Yield what a call such as ``super().__init__({"a": place}, b=pay)`` puts into a container."""
    displays = [*call.positional, *(value for name, value in call.keywords if name is None)]
    for one in displays:
        if is_display(one, makers=("dict",)):
            yield from members(one, makers=("dict",))
    yield from (value for name, value in call.keywords if name is not None)
