"""Types from annotations, as values of the abstract domain."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.type_variables import VARIABLES
from gblock.project.names.values import NOTHING, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    AttributeExpr,
    Expr,
    NameExpr,
    SubscriptExpr,
    last_name,
    listed,
)
from gblock.project.reading.summarizing import read_annotation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_LONGEST_CHAIN = 5
"""A type alias is followed over at most this many imports."""
_UNWRAPPED = {"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired"}
"""Special forms whose values are those of the types in the brackets."""
_HOLDERS = {
    "list",
    "List",
    "set",
    "Set",
    "frozenset",
    "FrozenSet",
    "deque",
    "Deque",
    "Sequence",
    "MutableSequence",
    "Iterable",
    "Iterator",
    "Collection",
    "Generator",
    "AsyncIterator",
    "AsyncGenerator",
    "Queue",
    "SimpleQueue",
    "LifoQueue",
}
"""Classes of iterables and queues, with the type of the elements in the brackets."""
_KEYED = {
    "dict",
    "Dict",
    "Mapping",
    "MutableMapping",
    "DefaultDict",
    "defaultdict",
    "OrderedDict",
    "WeakValueDictionary",
}
"""Classes of mappings, with the type of the values as the last one in the brackets."""
_RESULT_HOLDERS = {"AsyncResult", "ContextVar", "Future"}
"""Classes with one value that ``get()`` or ``result()`` returns."""
_UNTYPED = ("typing.", "builtins.", "collections.abc.")
"""Modules whose classes say nothing about an object, such as ``Any`` and ``str``."""
_MANAGERS = {"ContextManager", "AbstractContextManager", "AsyncContextManager"}
"""Classes of context managers, with the type of what they bind in the brackets."""


class Annotations:
    """Evaluates annotations: names, generics, unions, strings and type aliases.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def annotated(self, annotation: Expr, place: Place) -> Values:
        """Return the values that an object of an annotation's type can be."""
        if annotation is None:
            return NOTHING
        if annotation.tag == tags.CONSTANT:
            if not isinstance(annotation.value, str):
                return NOTHING
            return self.annotated(read_annotation(annotation.value), place)
        if annotation.tag == tags.BIT_OR:
            return self.annotated(annotation.left, place) | self.annotated(annotation.right, place)
        if annotation.tag == tags.SUBSCRIPT:
            return self._generic(annotation, place)
        if annotation.tag != tags.NAME and annotation.tag != tags.ATTRIBUTE:
            return NOTHING
        alias = self._type_alias(annotation, place)
        if alias is not None:
            return self.inference.solved(("alias", *alias), lambda: self.annotated(*alias))
        found: set[Value] = set()
        for value in self.inference.infer(annotation, place):
            if value in VARIABLES:
                found |= self.inference.type_variables.given(last_name(annotation), place)
            elif value.kind == v.CLASS:
                found.add(value._replace(kind=v.OBJECT))
            elif value.kind == v.EXTERNAL and not value.symbol.startswith(_UNTYPED):
                found.update(map(v.instance, self._classes_of(value.symbol)))
            elif value.kind == v.PARTIAL and value.callee.kind == v.TUPLE:
                record = value.callee
                found |= {record} if any(record.members) else NOTHING
        return frozenset(found)

    def _classes_of(self, symbol: str) -> tuple[str, ...]:
        """Return the classes that an annotation may mean, which may name a module: ``-> Image``."""
        inner = f"{symbol}.{symbol.rpartition('.')[2]}"
        return (symbol, inner) if inner in self.inference.catalog.classes else (symbol,)

    def is_broad(self, declared: Values) -> bool:
        """Return whether what a value is can be more precise than its declared type.

        Objects of the type may be of a class below it that waits in another way, or the type is a
        protocol, which classes of packages fulfill, too. So may elements be.
        """
        broad, protocols = self.inference.catalog.broad, self.inference.protocols
        for one in declared:
            if one.kind == v.INSTANCE and one.symbol in broad:
                return True
            if one.kind == v.OBJECT and protocols.is_protocol(one.path, one.scope):
                return True
            if one.kind == v.ELEMENTS and self.is_broad(one.held):
                return True
            if one.kind == v.MAPPING and self.is_broad(one.others):
                return True
        return False

    def narrowed(self, values: Values) -> Values:
        """Return values without those of declared types of which others are more precise."""
        if not self.is_broad(values):
            return values
        is_below = self.inference.catalog.is_below
        known = [one.symbol for one in values if one.kind == v.INSTANCE]
        return frozenset(
            one
            for one in values
            if one.kind != v.INSTANCE or not any(is_below(other, one.symbol) for other in known)
        )

    def _type_alias(
        self, annotation: NameExpr | AttributeExpr, place: Place
    ) -> tuple[Expr, Place] | None:
        """Return the type behind ``Name = Union[…]`` or a bound ``TypeVar``, and its place."""
        name, path = last_name(annotation), place.path
        if annotation.tag == tags.ATTRIBUTE:
            owners = self.inference.infer(annotation.base, place)
            paths = [owner.path for owner in owners if owner.kind == v.MODULE]
            if len(paths) != 1:
                return None
            path = paths[0]
        for _ in range(_LONGEST_CHAIN):
            summary = self.inference.modules.summary(path)
            bindings = summary.scopes[0].bindings.get(name, ())
            binding = next(
                (b for b in bindings if b.kind in (kinds.ASSIGNED, kinds.IMPORTED)), None
            )
            if binding is not None and binding.kind == kinds.ASSIGNED:
                value = self._aliased(binding.value)
                return (value, Place(path, 0, binding.path)) if value is not None else None
            if binding is None or binding.kind != kinds.IMPORTED:
                return None
            module, imported, level = binding.value
            modules = self.inference.modules
            found = modules.resolve(module, level, path) if imported else None
            if imported is None or found is None or modules.is_frugal:
                return None
            path, name = found, imported
        return None

    def _aliased(self, value: Expr) -> Expr:
        """Return the type in ``Union[…]``, ``A | B``, ``TypeVar("T", bound=A)``, ``NewType``."""
        if value is None or value.tag in (tags.SUBSCRIPT, tags.BIT_OR):
            return value
        if value.tag != tags.CALL:
            return None
        called = last_name(value.callee)
        if called == "TypeVar":
            return dict(value.keywords).get("bound")
        return value.positional[1] if called == "NewType" and len(value.positional) > 1 else None

    def _generic(self, annotation: SubscriptExpr, place: Place) -> Values:
        base, key = annotation.base, annotation.key
        name = last_name(base)
        inner = listed(key)
        if name in _UNWRAPPED:
            parts = inner[:1] if name == "Annotated" else inner
            return frozenset().union(*(self.annotated(part, place) for part in parts))
        if name in ("type", "Type"):
            return frozenset(
                x._replace(kind=v.CLASS) if x.kind == v.OBJECT else v.external(x.symbol)
                for x in self.annotated(inner[0], place)
                if x.kind in (v.OBJECT, v.INSTANCE)
            )
        if name in _HOLDERS:
            return v.holding(self.annotated(inner[0], place))
        if name in _RESULT_HOLDERS:
            return self.annotated(base, place) | v.holding(self.annotated(inner[0], place))
        if name in _KEYED:
            return frozenset([v.MappingValue(v.MAPPING, (), self.annotated(inner[-1], place))])
        if name in ("tuple", "Tuple"):
            if len(inner) == 2 and inner[1] == tags.NONE:
                return v.holding(self.annotated(inner[0], place))
            members = tuple(self.annotated(one, place) for one in inner)
            return frozenset([v.TupleValue(v.TUPLE, members)])
        if name in _MANAGERS:
            return frozenset([v.HolderValue(v.MANAGER, self.annotated(inner[0], place))])
        if name == "Callable":
            given = v.HolderValue(v.ELEMENTS, self.annotated(inner[-1], place))
            return frozenset([v.TakerValue(v.TAKER, given, "__call__")])
        if name in ("Awaitable", "Coroutine"):
            return self.annotated(inner[-1], place)
        return self.annotated(base, place)
