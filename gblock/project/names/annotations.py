"""What an annotation says that a value is."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.expressions import Place, last_name
from gblock.project.names.values import NOTHING, Value, Values
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Expr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_ALIASES = 5
"""Over how many imports a type's other name is followed."""
_UNWRAPPED = {"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired"}
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
_ENTERED = {"ContextManager", "AbstractContextManager", "AsyncContextManager"}


class Annotations:
    """Reads annotations in all their forms."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.kept: list[Expr] = []

    def annotated(self, annotation: Expr, place: Place) -> Values:
        """What an annotation says that a value is."""
        if annotation is None:
            return NOTHING
        tag = annotation[0]
        if tag == tags.CONSTANT:
            if not isinstance(annotation[1], str):
                return NOTHING
            return self.annotated(tags.read_annotation(annotation[1]), place)
        if tag == tags.BIT_OR:
            return self.annotated(annotation[1], place) | self.annotated(annotation[2], place)
        if tag == tags.SUBSCRIPT:
            return self._generic(annotation, place)
        if tag not in (tags.NAME, tags.ATTRIBUTE):
            return NOTHING
        alias = self._type_alias(annotation, place)
        if alias is not None:
            return self.inference.solved(
                ("alias", *alias[1], id(alias[0])), lambda: self.annotated(*alias)
            )
        found: set[Value] = set()
        for value in self.inference.infer(annotation, place):
            if value[0] == v.CLASS:
                found.add((v.OBJECT, value[1], value[2]))
            elif value[0] == v.EXTERNAL and not value[1].startswith(("typing.", "builtins.")):
                found.add((v.INSTANCE, value[1]))
        return frozenset(found)

    def _type_alias(self, annotation: Expr, place: Place) -> tuple[Expr, Place] | None:
        """The type behind ``Name = Union[…]`` or a bound ``TypeVar``, and where that stands."""
        name, path = last_name(annotation), place.path
        if annotation[0] == tags.ATTRIBUTE:
            paths = [x[1] for x in self.inference.infer(annotation[1], place) if x[0] == v.MODULE]
            if len(paths) != 1:
                return None
            path = paths[0]
        for _ in range(_ALIASES):
            summary = self.inference.modules.summary(path)
            bindings = summary.scopes[0].bindings.get(name, ()) if summary else ()
            binding = next((b for b in bindings if b.kind in (tags.ASSIGNED, tags.IMPORTED)), None)
            if binding is None:
                return None
            if binding.kind == tags.ASSIGNED:
                value = self._aliased(binding.value)
                return (value, Place(path, 0, binding.path)) if value is not None else None
            module, name, level = binding.value
            modules = self.inference.modules
            found = modules.resolve(module, level, path) if name else None
            if found is None or modules.is_frugal:
                return None
            path = found
        return None

    def _aliased(self, value: Expr) -> Expr:
        """The type in ``Union[…]``, ``A | B``, ``TypeVar("T", bound=A)``, ``NewType("N", A)``."""
        if value is None or value[0] in (tags.SUBSCRIPT, tags.BIT_OR):
            return value
        if value[0] != tags.CALL:
            return None
        called = last_name(value[1])
        if called == "TypeVar":
            return dict(value[3]).get("bound")
        return value[2][1] if called == "NewType" and len(value[2]) > 1 else None

    def _generic(self, annotation: Expr, place: Place) -> Values:
        _, base, index = annotation
        name = last_name(base)
        inner = list(index[1]) if index is not None and index[0] == tags.TUPLE else [index]
        if name in _UNWRAPPED:
            parts = inner[:1] if name == "Annotated" else inner
            return frozenset().union(*(self.annotated(part, place) for part in parts))
        if name in ("type", "Type"):
            return frozenset(
                (v.CLASS, x[1], x[2]) if x[0] == v.OBJECT else (v.EXTERNAL, x[1])
                for x in self.annotated(inner[0], place)
                if x[0] in (v.OBJECT, v.INSTANCE)
            )
        if name in _HOLDERS:
            return self.inference.holding(self.annotated(inner[0], place))
        if name in _KEYED:
            return frozenset([(v.MAPPING, (), self.annotated(inner[-1], place))])
        if name in ("tuple", "Tuple"):
            if len(inner) == 2 and inner[1] == (tags.CONSTANT, None):
                return self.inference.holding(self.annotated(inner[0], place))
            return frozenset([(v.TUPLE, tuple(self.annotated(one, place) for one in inner))])
        if name in _ENTERED:
            return frozenset([(v.MANAGER, self.annotated(inner[0], place))])
        if name == "Callable":
            given = (v.ELEMENTS, self.annotated(inner[-1], place))
            return frozenset([(v.TAKER, given, "__call__")])
        if name in ("Awaitable", "Coroutine"):
            return self.annotated(inner[-1], place)
        return self.annotated(base, place)
