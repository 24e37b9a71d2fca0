"""The abstract domain of inference: values of expressions as small comparable tuples.

A set of them is the answer of ``inference``; the empty set means that nothing is known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from gblock.project.reading.expressions import CallExpr, Constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.places import Place

Value: TypeAlias = (
    "FileValue | SymbolValue | ScopeValue | FunctionValue | LiteralValue | TupleValue | HolderValue"
    "| MappingValue | TakerValue | FlagsValue | PartialValue | GetterValue"
)
"""One of the classes below, distinguished by ``kind``."""
Values: TypeAlias = "frozenset[Value]"

NOTHING: Values = frozenset()


class _Ordered(frozenset["Value"]):
    """A set that lists its values in the same order in each run, whatever the hashes of texts.

    Which value comes first may decide which question follows, and where questions lead back to one
    another their order decides among several answers.
    """

    __slots__ = ("_order",)

    def __init__(self, values: Values) -> None:
        self._order = sorted(values, key=spelled)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._order)


def ordered(values: Values) -> Values:
    """Return values as a set that lists them in the same order in each run."""
    return values if len(values) < 2 or isinstance(values, _Ordered) else _Ordered(values)


def spelled(part: object) -> str:
    """Return a text of a value, or of a part of one, that is the same in each run."""
    if isinstance(part, tuple):
        return f"({','.join(map(spelled, part))})"
    if isinstance(part, frozenset):
        return f"{{{','.join(sorted(map(spelled, part)))}}}"
    return repr(part)


MODULE: Final = "module"
PACKAGE: Final = "package"
EXTERNAL: Final = "external"
INSTANCE: Final = "instance"
CLASS: Final = "class"
OBJECT: Final = "object"
FUNCTION: Final = "function"
LITERAL: Final = "literal"
TUPLE: Final = "tuple"
ELEMENTS: Final = "elements"
MANAGER: Final = "manager"
MAPPING: Final = "mapping"
TAKER: Final = "taker"
COMBINED: Final = "combined"
PARTIAL: Final = "partial"
PARENT: Final = "parent"
GETTER: Final = "getter"

Container: TypeAlias = "TupleValue | HolderValue | MappingValue"


class FileValue(NamedTuple):
    """A ``MODULE`` of the project, or a ``PACKAGE``: a directory without ``__init__.py``."""

    kind: Literal["module", "package"]
    path: str


class SymbolValue(NamedTuple):
    """A symbol outside the project.

    ``EXTERNAL`` is a module, function or class; ``INSTANCE`` an object of a class.
    """

    kind: Literal["external", "instance"]
    symbol: str
    """A dotted name in the catalog's spelling."""
    of: Values = NOTHING
    """The objects that an object of a generic class is about, or that a method of one is bound to.

    They are objects of classes that are not generic themselves.
    """


class ScopeValue(NamedTuple):
    """A class of the project.

    ``CLASS`` is the class, ``OBJECT`` an instance, ``PARENT`` the result of ``super()`` in it.
    """

    kind: Literal["class", "object", "parent"]
    path: str
    scope: int


class FunctionValue(NamedTuple):
    """A ``FUNCTION`` of the project, or a method bound to a receiver."""

    kind: Literal["function"]
    path: str
    scope: int
    receiver: ScopeValue | None


class LiteralValue(NamedTuple):
    """A ``LITERAL``: ``1``, ``1.0`` and ``True`` are different values."""

    kind: Literal["literal"]
    type: str
    value: Constant


class TupleValue(NamedTuple):
    """A ``TUPLE``; one with names is a record, or what a ``PARTIAL`` that makes records calls."""

    kind: Literal["tuple"]
    members: tuple[Values, ...]
    names: tuple[str, ...] = ()
    """The fields of a class that a function made: ``namedtuple("Clients", "bus store")``."""


class HolderValue(NamedTuple):
    """``ELEMENTS`` is a container or another iterable; ``MANAGER`` a context manager."""

    kind: Literal["elements", "manager"]
    held: Values


class MappingValue(NamedTuple):
    """A ``MAPPING``: a dict, or an object whose attributes are its keys."""

    kind: Literal["mapping"]
    known: tuple[tuple[Hashable, Values], ...]
    others: Values
    """The values under unknown keys."""


class TakerValue(NamedTuple):
    """A ``TAKER``: a container's method."""

    kind: Literal["taker"]
    container: Container
    name: str


class FlagsValue(NamedTuple):
    """A ``COMBINED`` value: flags in a ``|``."""

    kind: Literal["combined"]
    flags: frozenset[str]


class PartialValue(NamedTuple):
    """A ``PARTIAL``: a callable that calls another one."""

    kind: Literal["partial"]
    callee: Value
    bound: tuple[CallExpr, Place] | None = None
    """The call of ``partial`` that holds its first arguments, and the call's place."""


class GetterValue(NamedTuple):
    """A ``GETTER``: a function that takes something of its argument."""

    kind: Literal["getter"]
    taken: str
    """``attrgetter``, ``itemgetter`` or ``methodcaller``, as in the module ``operator``;
    ``callable`` or ``itself``: the argument."""
    name: Constant
    """The attribute, the key or the method."""


_NESTING = frozenset((TUPLE, ELEMENTS, MANAGER, MAPPING, TAKER, PARTIAL))
"""Kinds of values that hold other values."""
NONE = LiteralValue(LITERAL, "NoneType", None)


def literal(value: Constant) -> LiteralValue:
    """Return a constant as a value."""
    return LiteralValue(LITERAL, type(value).__name__, value)


def external(symbol: str) -> SymbolValue:
    """Return a module, function or class outside the project as a value."""
    return SymbolValue(EXTERNAL, symbol)


def instance(symbol: str) -> SymbolValue:
    """Return an object of a class outside the project as a value."""
    return SymbolValue(INSTANCE, symbol)


def function(path: str, scope: int, receiver: ScopeValue | None = None) -> FunctionValue:
    """Return a function of the project as a value."""
    return FunctionValue(FUNCTION, path, scope, receiver)


def comes_from(value: Value, path: str, scope: int) -> bool:
    """Return whether a value is the function or class of a scope, or an instance of it."""
    return value.kind in (CLASS, OBJECT, FUNCTION) and value.path == path and value.scope == scope


def record_of(value: Value) -> TupleValue | None:
    """Return the fields of a class of tuples that a function made, as ``namedtuple`` does."""
    return value.callee if value.kind == PARTIAL and value.callee.kind == TUPLE else None


def holding(elements: Values) -> Values:
    """Return a container of such elements as a value."""
    return frozenset([HolderValue(ELEMENTS, elements)])


def merged(left: Values, right: Values) -> Values:
    """Return the mappings of ``left | right``; where both have a key, the right one counts."""
    return frozenset(
        MappingValue(
            MAPPING,
            tuple({**dict(one.known), **dict(other.known)}.items()),
            one.others | other.others,
        )
        for one in left
        for other in right
        if one.kind == MAPPING and other.kind == MAPPING
    )


def contents(value: Container) -> Values:
    """Return the elements of a container, under any key."""
    if value.kind == MAPPING:
        return NOTHING.union(value.others, *(held for _, held in value.known))
    if value.kind == TUPLE:
        return NOTHING.union(*value.members)
    return value.held


def informative(values: Values) -> bool:
    """Return whether the set contains any value besides None."""
    return any(value != NONE for value in values)


def declares(values: Values) -> bool:
    """Return whether the set contains any value besides None and ``Callable[..., int]``."""
    return any(
        value != NONE and not (value.kind == TAKER and value.name == "__call__") for value in values
    )


def united(values: Values) -> Values:
    """Return values with one mapping, and one list, for several that hold parts of the same."""
    mappings = [value for value in values if value.kind == MAPPING]
    lists = [value for value in values if value.kind == ELEMENTS]
    found = values
    if len(mappings) > 1:
        known: dict[Hashable, Values] = {}
        for key, held in (item for one in mappings for item in one.known):
            known[key] = known.get(key, NOTHING) | held
        items = tuple(sorted(known.items(), key=lambda item: repr(item[0])))
        others = NOTHING.union(*(one.others for one in mappings))
        found = found.difference(mappings) | {MappingValue(MAPPING, items, others)}
    if len(lists) > 1:
        found = found.difference(lists) | holding(NOTHING.union(*(one.held for one in lists)))
    return found


def may_nest(values: Values) -> bool:
    """Return whether any value can hold others."""
    return any(value.kind in _NESTING for value in values)


def bounded(values: Values, depth: int = 3) -> Values:
    """Return values whose containers nest no deeper than this; deeper elements are unknown.

    A method of a container nests no deeper than the container.
    """
    for value in values:
        if value.kind in _NESTING and _is_deeper(value, depth):
            return frozenset(_cut(value, depth) for value in values)
    return values


def _is_deeper(value: Value, depth: int) -> bool:
    """Return whether the containers of a value, which is one, nest deeper than this."""
    if not depth:
        return value.kind != ELEMENTS or bool(value.held)
    if value.kind == TUPLE:
        return any(_has_deeper(one, depth - 1) for one in value.members)
    if value.kind == MAPPING:
        if _has_deeper(value.others, depth - 1):
            return True
        return any(_has_deeper(held, depth - 1) for _, held in value.known)
    if value.kind == PARTIAL:
        return value.callee.kind in _NESTING and _is_deeper(value.callee, depth - 1)
    if value.kind == TAKER:
        return _is_deeper(value.container, depth)
    return value.kind in (ELEMENTS, MANAGER) and _has_deeper(value.held, depth - 1)


def _has_deeper(values: Values, depth: int) -> bool:
    return any(value.kind in _NESTING and _is_deeper(value, depth) for value in values)


def _cut(value: Value, depth: int) -> Value:
    if value.kind in (TUPLE, ELEMENTS, MANAGER, MAPPING):
        return _cut_container(value, depth)
    if value.kind not in (PARTIAL, TAKER):
        return value
    if not depth:
        return HolderValue(ELEMENTS, NOTHING)
    if value.kind == PARTIAL:
        return value._replace(callee=_cut(value.callee, depth - 1))
    return value._replace(container=_cut_container(value.container, depth))


def _cut_container(value: Container, depth: int) -> Container:
    if not depth:
        return HolderValue(ELEMENTS, NOTHING)
    if value.kind == TUPLE:
        return value._replace(members=tuple(bounded(one, depth - 1) for one in value.members))
    if value.kind == MAPPING:
        known = tuple((key, bounded(held, depth - 1)) for key, held in value.known)
        return MappingValue(MAPPING, known, bounded(value.others, depth - 1))
    return HolderValue(value.kind, bounded(value.held, depth - 1))


def unwrapped(value: Value) -> Value:
    """Return the function that a partial, or a partial of one, calls."""
    while value.kind == PARTIAL:
        value = value.callee
    return value


def includes(values: Values, kind: str, path: str, scope: int) -> bool:
    """Return whether a function, a class or an object of one is among values, or in a partial."""
    for value in values:
        inner = unwrapped(value)
        if inner.kind == kind and comes_from(inner, path, scope):
            return True
    return False


def flags_of(value: Value) -> frozenset[str]:
    """Return the dotted names of the flags that a value surely has."""
    if value.kind == EXTERNAL:
        return frozenset([value.symbol])
    return value.flags if value.kind == COMBINED else frozenset()
