"""Expressions of a summary: nested tuples, distinguished by a tag, and questions about syntax.

An expression that cannot contribute to the type of a receiver is ``None``. No name is resolved
here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from types import EllipsisType
from typing import Final, Literal, NamedTuple, TypeAlias

NAME: Final = "name"
ATTRIBUTE: Final = "attribute"
CALL: Final = "call"
STAR: Final = "star"
CONSTANT: Final = "constant"
TUPLE: Final = "tuple"
SEQUENCE: Final = "sequence"
MAPPING: Final = "mapping"
SUBSCRIPT: Final = "subscript"
EITHER: Final = "either"
BOTH: Final = "both"
NOT: Final = "not"
COMPARE: Final = "compare"
BIT_OR: Final = "bit-or"
BIT_AND: Final = "bit-and"
AWAIT: Final = "await"
LAMBDA: Final = "lambda"
COMPREHENSION: Final = "comprehension"
NEGATED: Final = "negated"
SLICE: Final = "slice"
TEXT: Final = "text"
SUM: Final = "sum"

Expr: TypeAlias = (
    "NameExpr | AttributeExpr | CallExpr | ConstantExpr | InnerExpr | ElementsExpr | MappingExpr"
    "| SubscriptExpr | OperatorExpr | CompareExpr | LambdaExpr | ComprehensionExpr | TextExpr"
    "| None"
)
"""One of the classes below, distinguished by ``tag``, or ``None`` for an irrelevant expression."""

Constant: TypeAlias = "str | bytes | int | float | complex | EllipsisType | None"
"""The value of a constant; bools are ints."""


class NameExpr(NamedTuple):
    """A ``NAME``."""

    tag: Literal["name"]
    identifier: str


class AttributeExpr(NamedTuple):
    """An ``ATTRIBUTE``: ``base.name``."""

    tag: Literal["attribute"]
    base: Expr
    name: str


class CallExpr(NamedTuple):
    """A ``CALL``."""

    tag: Literal["call"]
    callee: Expr
    positional: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]
    """The name None stands for ``**value``."""


class ConstantExpr(NamedTuple):
    """A ``CONSTANT``; ``1``, ``1.0`` and ``True`` are different expressions."""

    tag: Literal["constant"]
    value: Constant
    type: str


class InnerExpr(NamedTuple):
    """An expression around one other: ``STAR``, ``AWAIT``, ``NEGATED``, ``NOT``.

    A ``SLICE`` has none.
    """

    tag: Literal["star", "await", "negated", "not", "slice"]
    value: Expr


class ElementsExpr(NamedTuple):
    """Several expressions: a ``TUPLE``; a ``SEQUENCE`` is a list or a set.

    ``EITHER`` is a ternary or ``or``, ``BOTH`` is ``and``: each evaluates to one of its members.
    ``SUM`` is the sum of lists, or of operands whose type the expression does not show.
    """

    tag: Literal["tuple", "sequence", "either", "both", "sum"]
    elements: tuple[Expr, ...]


class MappingExpr(NamedTuple):
    """A ``MAPPING``: a dict display; ``**other`` has the key None and a STAR as its value."""

    tag: Literal["mapping"]
    items: tuple[tuple[Expr, Expr], ...]


class SubscriptExpr(NamedTuple):
    """A ``SUBSCRIPT``: ``base[key]``."""

    tag: Literal["subscript"]
    base: Expr
    key: Expr


class OperatorExpr(NamedTuple):
    """``BIT_OR`` for flags, and unions in annotations; ``BIT_AND``."""

    tag: Literal["bit-or", "bit-and"]
    left: Expr
    right: Expr


class CompareExpr(NamedTuple):
    """A ``COMPARE`` of two values."""

    tag: Literal["compare"]
    left: Expr
    operator: str
    """As it is written: ``not in``."""
    right: Expr


class LambdaExpr(NamedTuple):
    """A ``LAMBDA``."""

    tag: Literal["lambda"]
    scope: int


class ComprehensionExpr(NamedTuple):
    """A ``COMPREHENSION``; the element of a dict comprehension is the value."""

    tag: Literal["comprehension"]
    scope: int
    element: Expr
    is_mapping: bool


class TextExpr(NamedTuple):
    """A ``TEXT``: an f-string, or the result of ``+`` and ``%``, as far as it is known."""

    tag: Literal["text"]
    parts: tuple[Expr, ...]
    is_template: bool = False
    """True if the first part is a template that ``%`` fills with the second."""


def constant(value: Constant) -> ConstantExpr:
    """Return the expression of a constant."""
    return ConstantExpr(CONSTANT, value, type(value).__name__)


def call_of(
    callee: Expr, positional: tuple[Expr, ...], keywords: tuple[tuple[str | None, Expr], ...] = ()
) -> CallExpr:
    """Return the expression of a call."""
    return CallExpr(CALL, callee, positional, keywords)


NONE = constant(None)
"""The expression ``None``."""
UNKNOWN = ElementsExpr(EITHER, ())
"""An expression that is one of no members: the place of an irrelevant one is kept."""
LISTS: Final = (SEQUENCE, TUPLE, COMPREHENSION)
"""The tags of expressions that make a list."""


def dotted(expression: Expr) -> str | None:
    """Return the dotted name of names and attributes, None for anything else."""
    if expression is None:
        return None
    if expression.tag == NAME:
        return expression.identifier
    if expression.tag == ATTRIBUTE:
        base = dotted(expression.base)
        return None if base is None else f"{base}.{expression.name}"
    return None


def read_dotted(name: str) -> Expr:
    """Return the expression that is written ``a.b``."""
    first, *others = name.split(".")
    found: Expr = NameExpr(NAME, first)
    for one in others:
        found = AttributeExpr(ATTRIBUTE, found, one)
    return found


def last_name(expression: Expr) -> str:
    """Return the last identifier of a name or an attribute, else an empty string."""
    if expression is None:
        return ""
    if expression.tag == NAME:
        return expression.identifier
    if expression.tag == ATTRIBUTE:
        return expression.name
    return ""


def without_arguments(decorator: Expr) -> Expr:
    """Return what a decorator names: ``task`` in ``@task(bind=True)`` and in ``@task``."""
    if decorator is not None and decorator.tag == CALL:
        return decorator.callee
    return decorator


def owner_of(callee: Expr) -> Expr:
    """Return the expression before the last dot of a callee; None for anything else."""
    return callee.base if callee is not None and callee.tag == ATTRIBUTE else None


def listed(expression: Expr) -> tuple[Expr, ...]:
    """Return the elements of a tuple, as between brackets; anything else is one element."""
    if expression is not None and expression.tag == TUPLE:
        return expression.elements
    return (expression,)


def hides_arguments(call: CallExpr) -> bool:
    """Return whether a call passes arguments that ``*`` or ``**`` hides."""
    return any(one is not None and one.tag == STAR for one in call.positional) or any(
        name is None for name, _ in call.keywords
    )


def passed(expression: CallExpr, position: int | None, keyword: str | None) -> Expr:
    """Return a call's argument for a parameter; None if there is none or ``*`` hides it."""
    positional, keywords = expression.positional, expression.keywords
    for name, value in keywords:
        if name is not None and name == keyword:
            return value
    if position is not None and 0 <= position < len(positional):
        before = positional[: position + 1]
        if not any(one is not None and one.tag == STAR for one in before):
            return before[-1]
    return None


def is_passed(expression: CallExpr, position: int | None, keyword: str | None) -> bool:
    """Return whether a call passes an argument for a parameter, known or not."""
    positional, keywords = expression.positional, expression.keywords
    if any(name is not None and name == keyword for name, _ in keywords):
        return True
    return position is not None and position < len(positional)


def same(one: object, other: object) -> bool:
    """Return whether two constants are equal to a reader: 0 is 0.0 but not False."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def constant_of(key: Expr) -> object:
    """Return a subscript's constant, ``-1`` too; None for anything else."""
    if key is None:
        return None
    if key.tag == NEGATED and key.value is not None and key.value.tag == CONSTANT:
        return -key.value.value if isinstance(key.value.value, int) else None
    return key.value if key.tag == CONSTANT else None


def with_bound(given: CallExpr, made: CallExpr) -> CallExpr:
    """Return a call of a partial with the arguments that the partial was made with.

    Args:
        given: The call.
        made: ``partial(function, …)``.
    """
    positional = (*made.positional[1:], *given.positional)
    return call_of(given.callee, positional, (*given.keywords, *made.keywords))


def as_keywords(mapping: MappingExpr) -> tuple[tuple[str | None, Expr], ...]:
    """Return the keyword arguments that ``**`` makes of a dict display."""
    return tuple(
        (str(key.value) if key is not None and key.tag == CONSTANT else None, value)
        for key, value in mapping.items
    )


def is_display(expression: Expr, makers: Collection[str] = ()) -> bool:
    """Return whether an expression makes a container of what it writes.

    Args:
        expression: The expression.
        makers: The last names of functions that make a container of their arguments.
    """
    if expression is None:
        return False
    if expression.tag == CALL:
        return last_name(expression.callee) in makers
    return expression.tag in (MAPPING, SEQUENCE, TUPLE)


def members(
    expression: Expr, *, with_keys: bool = False, makers: Collection[str] = ()
) -> Iterator[Expr]:
    """Yield the members of displays in an expression, however nested, or the expression itself.

    Args:
        expression: The expression.
        with_keys: Whether the keys of a mapping are members, too.
        makers: The last names of functions that make a container of their arguments.
    """
    if expression is None:
        return
    inner: Iterable[Expr]
    if expression.tag in (SEQUENCE, TUPLE):
        inner = expression.elements
    elif expression.tag == MAPPING:
        inner = (one for item in expression.items for one in item[not with_keys :])
    elif expression.tag == CALL and last_name(expression.callee) in makers:
        inner = (*expression.positional, *(value for _, value in expression.keywords))
    else:
        yield expression
        return
    for one in inner:
        yield from members(one, with_keys=with_keys, makers=makers)


def choices(expression: Expr) -> Iterator[Expr]:
    """Yield the members of ternaries and ``or``, however nested, or the expression itself."""
    if expression is not None and expression.tag in (EITHER, BOTH):
        for one in expression.elements:
            yield from choices(one)
    else:
        yield expression


def functions_named(argument: Expr) -> set[str]:
    """Return the names of the functions that an argument can be; a lambda's is empty."""
    if argument is None:
        return set()
    if argument.tag == LAMBDA:
        return {""}
    if argument.tag == CALL:  # a partial
        return set().union(*(functions_named(one) for one in argument.positional))
    name = last_name(argument)
    return {name} if name else set()
