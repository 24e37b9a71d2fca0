"""What an expression can be: small tuples that compare by what they mean.

A set of them is the answer of ``inference``; the empty set means "cannot tell".
"""

from __future__ import annotations

from typing import Any, TypeAlias

Value: TypeAlias = tuple[Any, ...]
Values: TypeAlias = frozenset[Value]

NOTHING: Values = frozenset()

MODULE = "module"  # (MODULE, path): a file of the project
PACKAGE = "package"  # (PACKAGE, directory): a directory without __init__.py
EXTERNAL = "external"  # (EXTERNAL, dotted): a module, function or class that is not the project's
INSTANCE = "instance"  # (INSTANCE, dotted): an object of a class that is not the project's
CLASS = "class"  # (CLASS, path, scope)
OBJECT = "object"  # (OBJECT, path, scope): an instance of a class of the project
FUNCTION = "function"  # (FUNCTION, path, scope, receiver or None)
LITERAL = "literal"  # (LITERAL, type name, value): 1, 1.0 and True are different values
TUPLE = "tuple"  # (TUPLE, (Values, …))
ELEMENTS = "elements"  # (ELEMENTS, Values): a container, or what can be looped over
MANAGER = "manager"  # (MANAGER, Values): what ``with`` gives
MAPPING = "mapping"  # (MAPPING, ((key, Values), …), Values): the last under keys not known
TAKER = "taker"  # (TAKER, Value, name): a container's method
COMBINED = "combined"  # (COMBINED, dotted names): flags in a ``|``
PARTIAL = "partial"  # (PARTIAL, Value)
PARENT = "parent"  # (PARENT, path, scope): what super() gives in a class


def literal(value: object) -> Value:
    """A constant as a value."""
    return (LITERAL, type(value).__name__, value)


def contents(value: Value) -> Values:
    """What a container holds, under whatever key."""
    if value[0] == MAPPING:
        return NOTHING.union(value[2], *(held for _, held in value[1]))
    if value[0] == TUPLE:
        return NOTHING.union(*value[1])
    held: Values = value[1]
    return held


def informative(values: Values) -> bool:
    """Whether the set says anything besides None."""
    return any(value != (LITERAL, "NoneType", None) for value in values)
