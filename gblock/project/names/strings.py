"""Results of methods of texts that are known: ``"package.module:name".partition(":")``."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.values import NOTHING, Value, Values

_SPLITTING = ("partition", "rpartition", "split", "rsplit")
_MOST_PARTS = 8
"""A text that is split into more parts is no name of something."""
LONGEST = 1000
"""A longer text is no name of something, and what is made of it may be too long to make."""
METHODS = frozenset((*_SPLITTING, "strip", "lower", "upper", "replace", "removeprefix"))


def result(text: str, method: str, arguments: list[Value]) -> Values:
    """Return what a method of a text returns, if its arguments are known.

    Args:
        text: The text.
        method: One of `METHODS`.
        arguments: Its positional arguments.
    """
    given = [one.value for one in arguments if one.kind == v.LITERAL]
    is_long = any(isinstance(one, str) and len(one) > LONGEST for one in (text, *given))
    if len(given) != len(arguments) or is_long:
        return NOTHING
    try:
        found = getattr(text, method)(*given)
    except (TypeError, ValueError):
        return NOTHING
    if isinstance(found, str):
        return frozenset([v.literal(found)])
    if len(found) > _MOST_PARTS:
        return NOTHING
    return frozenset([v.TupleValue(v.TUPLE, tuple(frozenset([v.literal(x)]) for x in found))])
