"""The abstract domain of inference: what an expression can be, as small comparable tuples.

A set of them is the answer of ``inference``; the empty set means that nothing is known.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, TypeAlias

Value: TypeAlias = Any
"""One of the classes below; ``kind`` is one of these names."""
Values: TypeAlias = frozenset[Value]

NOTHING: Values = frozenset()

MODULE = "module"
PACKAGE = "package"
EXTERNAL = "external"
INSTANCE = "instance"
CLASS = "class"
OBJECT = "object"
FUNCTION = "function"
LITERAL = "literal"
TUPLE = "tuple"
ELEMENTS = "elements"
MANAGER = "manager"
MAPPING = "mapping"
TAKER = "taker"
COMBINED = "combined"
PARTIAL = "partial"
PARENT = "parent"


class FileValue(NamedTuple):
    """A ``MODULE`` of the project, or a ``PACKAGE``: a directory without ``__init__.py``."""

    kind: str
    path: str


class SymbolValue(NamedTuple):
    """What is not the project's.

    ``EXTERNAL`` is a module, function or class; ``INSTANCE`` an object of a class.
    """

    kind: str
    symbol: str
    """A dotted name in the catalog's spelling."""


class ScopeValue(NamedTuple):
    """A class of the project.

    ``CLASS`` is the class, ``OBJECT`` an instance, ``PARENT`` what ``super()`` gives in it.
    """

    kind: str
    path: str
    scope: int


class FunctionValue(NamedTuple):
    """A ``FUNCTION`` of the project, or a method bound to a receiver."""

    kind: str
    path: str
    scope: int
    receiver: Value | None


class LiteralValue(NamedTuple):
    """A ``LITERAL``: ``1``, ``1.0`` and ``True`` are different values."""

    kind: str
    type: str
    value: Any


class TupleValue(NamedTuple):
    """A ``TUPLE``."""

    kind: str
    members: tuple[Values, ...]


class HolderValue(NamedTuple):
    """``ELEMENTS`` is a container, or what can be looped over; ``MANAGER`` what ``with`` enters."""

    kind: str
    held: Values


class MappingValue(NamedTuple):
    """A ``MAPPING``."""

    kind: str
    known: tuple[tuple[Hashable, Values], ...]
    others: Values
    """What is held under keys that are not known."""


class TakerValue(NamedTuple):
    """A ``TAKER``: a container's method."""

    kind: str
    container: Value
    name: str


class FlagsValue(NamedTuple):
    """A ``COMBINED`` value: flags in a ``|``."""

    kind: str
    flags: frozenset[str]


class PartialValue(NamedTuple):
    """A ``PARTIAL``."""

    kind: str
    callee: Value


_DEFINED = (CLASS, OBJECT, FUNCTION)
NONE = LiteralValue(LITERAL, "NoneType", None)


def literal(value: object) -> LiteralValue:
    """A constant as a value."""
    return LiteralValue(LITERAL, type(value).__name__, value)


def external(symbol: str) -> SymbolValue:
    """A module, function or class that is not the project's."""
    return SymbolValue(EXTERNAL, symbol)


def instance(symbol: str) -> SymbolValue:
    """An object of a class that is not the project's."""
    return SymbolValue(INSTANCE, symbol)


def function(path: str, scope: int, receiver: Value | None = None) -> FunctionValue:
    """A function of the project."""
    return FunctionValue(FUNCTION, path, scope, receiver)


def comes_from(value: Value, path: str, scope: int) -> bool:
    """Return whether a value is what a scope of the project defines, or an instance of it."""
    return value.kind in _DEFINED and value.path == path and value.scope == scope


def holding(elements: Values) -> Values:
    """A container of such elements."""
    return frozenset([HolderValue(ELEMENTS, elements)])


def contents(value: Value) -> Values:
    """What a container holds, under any key."""
    if value.kind == MAPPING:
        return NOTHING.union(value.others, *(held for _, held in value.known))
    if value.kind == TUPLE:
        return NOTHING.union(*value.members)
    held: Values = value.held
    return held


def informative(values: Values) -> bool:
    """Return whether the set says anything besides None."""
    return any(value != NONE for value in values)
