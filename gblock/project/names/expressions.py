"""What can be read off an expression, or a value, without asking what its names mean."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.values import Value
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import AttributeExpr, Binding, Expr, NameExpr, Path


class Place(NamedTuple):
    """Where an expression stands: what its names mean depends on it."""

    path: str
    scope: int
    at: Path
    receiver: Value | None = None
    """In a method, the object of a derived class on which it is called, where that is known."""


def dotted(expression: Expr) -> str | None:
    """``a.b`` of names and attributes, None for anything else."""
    if expression is None:
        return None
    if expression.tag == tags.NAME:
        name: str = expression.identifier
        return name
    if expression.tag == tags.ATTRIBUTE:
        base = dotted(expression.base)
        return None if base is None else f"{base}.{expression.name}"
    return None


def read_dotted(name: str) -> Expr:
    """Return the expression that is written ``a.b``."""
    first, *others = name.split(".")
    found: Expr = NameExpr(tags.NAME, first)
    for one in others:
        found = AttributeExpr(tags.ATTRIBUTE, found, one)
    return found


def last_name(expression: Expr) -> str:
    """The last identifier of a name or an attribute, else an empty string."""
    if expression is None:
        return ""
    if expression.tag == tags.NAME:
        name: str = expression.identifier
        return name
    if expression.tag == tags.ATTRIBUTE:
        attribute: str = expression.name
        return attribute
    return ""


def passed(expression: Expr, position: int | None, keyword: str | None) -> Expr:
    """The expression that a call passes for a parameter, None if it passes none or hides it."""
    _, _, positional, keywords = expression
    for name, value in keywords:
        if name is not None and name == keyword:
            return value
    if position is not None and 0 <= position < len(positional):
        before = positional[: position + 1]
        if not any(one is not None and one.tag == tags.STAR for one in before):
            return before[-1]
    return None


def is_passed(expression: Expr, position: int | None, keyword: str | None) -> bool:
    """Whether a call passes something for a parameter, known or not."""
    _, _, positional, keywords = expression
    if any(name is not None and name == keyword for name, _ in keywords):
        return True
    return position is not None and position < len(positional)


def same(one: object, other: object) -> bool:
    """Whether two constants are one to a reader: 0 is 0.0 but not False."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def constant(key: Expr) -> object:
    """A subscript's constant, ``-1`` too; None for anything else."""
    if key is None:
        return None
    if key.tag == tags.NEGATED and key.value.tag == tags.CONSTANT:
        return -key.value.value if isinstance(key.value.value, int) else None
    constant: object = key.value if key.tag == tags.CONSTANT else None
    return constant


def as_keywords(mapping: Expr) -> tuple[tuple[str | None, Expr], ...]:
    """A dict display as what ``**`` makes of it."""
    return tuple(
        (str(key.value) if key is not None and key.tag == tags.CONSTANT else None, value)
        for key, value in mapping.items
    )


def originals(binding: Binding) -> set[str | int]:
    """The functions, by name, and the lambdas, by scope, that a binding may give another name."""
    if binding.kind == tags.IMPORTED:
        return {binding.value.name} if binding.value.name else set()
    value = binding.value
    if binding.kind != tags.ASSIGNED or value is None:
        return set()
    if value.tag == tags.LAMBDA:
        return {value.scope}
    return {name for name in functions_named(value) if name}


def functions_named(argument: Expr) -> set[str]:
    """The names of the functions that an argument can be; a lambda's is empty."""
    if argument is None:
        return set()
    if argument.tag == tags.LAMBDA:
        return {""}
    if argument.tag == tags.CALL:  # a partial
        return set().union(*(functions_named(one) for one in argument.positional))
    name = last_name(argument)
    return {name} if name else set()


def unwrapped(value: Value) -> Value:
    """What a partial, or a partial of one, calls."""
    while value.kind == v.PARTIAL:
        value = value.callee
    return value


def flags_of(value: Value) -> frozenset[str]:
    """The dotted names of the flags that a value holds for sure."""
    if value.kind == v.EXTERNAL:
        return frozenset([value.symbol])
    held: frozenset[str] = value.flags if value.kind == v.COMBINED else frozenset()
    return held
