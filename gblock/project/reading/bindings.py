"""Bindings: the places of a module that give a name a value.

Every statement has a *path*: from the outermost block inwards, the index of each statement in its
block, and of the block in its statement. Paths sort in source order, and two paths determine
whether one statement can run before the other (see ``definitions``).
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias, cast

from gblock.project.reading.expressions import (
    BOTH,
    EITHER,
    LAMBDA,
    SEQUENCE,
    TUPLE,
    Expr,
    functions_named,
)

Path: TypeAlias = tuple[int, ...]
"""A statement's path."""

ASSIGNED: Final = "assigned"
UNPACKED: Final = "unpacked"  # with the indexes to follow into the value
LOOPED: Final = "looped"  # with the indexes to follow into one element
ENTERED: Final = "entered"  # ``with value as name``; indexes as for UNPACKED
IMPORTED: Final = "imported"
STAR_IMPORTED: Final = "star-imported"
PARAMETER: Final = "parameter"  # with its position
DEFINED: Final = "defined"
ANNOTATED: Final = "annotated"  # value: the annotation
AUGMENTED: Final = "augmented"  # ``name |= value``, ``owner.name += function``
ELEMENT: Final = "element"  # ``name.append(value)``, ``name[key] = value`` with its key
EXTENDED: Final = "extended"  # ``name.extend(values)``: the value is what holds them
ABSORBED: Final = "absorbed"  # ``name.update(value)``, ``name += value``: its contents are added
MERGED: Final = "merged"  # ``vars(owner).update(value)``: each entry becomes an attribute
OPAQUE: Final = "opaque"  # bound to something of unknown type; ADDED if added to
ADDED: Final = "+"  # ``name += value``
IN_DISPLAY: Final = "display"  # an option's value in a dict display
STORES: Final = (ELEMENT, EXTENDED, ABSORBED)
"""The bindings that put something into what a name holds."""


ANY_NAME: Final = "*"
"""In place of an attribute's name: the name is computed.

The binding is ``MERGED``, or an ``ELEMENT`` with the expression of the name as its key.
"""
REST: Final = -1
"""In place of an index: the elements that ``*rest`` takes. Below it: one more than the index, from
the end, of an element after these."""


class ImportedName(NamedTuple):
    """The module and the name that an import binds."""

    module: str
    name: str | None
    """The name that is imported from the module; None for the module itself."""
    level: int
    """The number of leading dots."""


ValueKind: TypeAlias = Literal[
    "assigned",
    "unpacked",
    "looped",
    "entered",
    "parameter",
    "annotated",
    "augmented",
    "element",
    "extended",
    "absorbed",
    "merged",
    "opaque",
]
"""The kinds of bindings whose value is an expression."""


Detail: TypeAlias = "tuple[int, ...] | int | str | Expr"
"""The detail of a binding that its value alone does not say."""
_INDEXED: Final = (UNPACKED, LOOPED, ENTERED)


class ValueBinding(NamedTuple):
    """One place that binds a name to the value of an expression, or to one derived from it."""

    kind: ValueKind
    value: Expr
    scope: int
    """The scope of the value; the name itself may belong to an outer scope (``global``)."""
    path: Path
    row: int
    detail: Detail = None
    """Depends on the kind: `indexes`, `key` or `position`, `ADDED` or `IN_DISPLAY`."""
    fallback: bool = False
    """True if it is in ``except ImportError`` or ``if TYPE_CHECKING``.

    It is only taken where nothing else binds the name.
    """

    @property
    def indexes(self) -> tuple[int, ...]:
        """The indexes to follow into the value, or into one of its elements."""
        return cast("tuple[int, ...]", self.detail or ()) if self.kind in _INDEXED else ()

    @property
    def key(self) -> Expr:
        """The key that an ``ELEMENT`` is stored under; None if it has none."""
        return cast("Expr", self.detail) if self.kind == ELEMENT else None

    @property
    def position(self) -> int:
        """The position of a ``PARAMETER`` among those of its function."""
        return cast("int", self.detail)


class ImportBinding(NamedTuple):
    """One place that binds a name by an import; the other fields are as in a value's."""

    kind: Literal["imported", "star-imported"]
    value: ImportedName
    scope: int
    path: Path
    row: int
    detail: str | None = None
    """The whole dotted name of ``import a.b``, which binds ``a``."""
    fallback: bool = False


class DefinitionBinding(NamedTuple):
    """One place that binds a name by ``def`` or ``class``; the other fields are as in a value's."""

    kind: Literal["defined"]
    value: int
    """The scope of the function or class."""
    scope: int
    path: Path
    row: int
    detail: None = None
    fallback: bool = False


Binding: TypeAlias = ValueBinding | ImportBinding | DefinitionBinding
"""One place that binds a name, distinguished by ``kind``."""


def originals(binding: Binding) -> set[str | int]:
    """Return the functions, by name, and lambdas, by scope, that a binding may alias."""
    if binding.kind == IMPORTED:
        return {binding.value.name} if binding.value.name else set()
    if binding.kind not in (ASSIGNED, LOOPED) or not isinstance(binding, ValueBinding):
        return set()
    value = binding.value
    if value is not None and value.tag in (SEQUENCE, TUPLE, EITHER, BOTH):
        return {one for element in value.elements for one in _named(element)}
    return _named(value) if binding.kind == ASSIGNED else set()


def _named(value: Expr) -> set[str | int]:
    """Return the functions that an expression names, or the lambda that it is."""
    if value is not None and value.tag == LAMBDA:
        return {value.scope}
    return {name for name in functions_named(value) if name}
