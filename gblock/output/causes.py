"""Group diagnostics by cause: diagnostics that one change fixes, the most important first."""

from __future__ import annotations

from gblock.diagnostics import CONTEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from gblock.diagnostics import Diagnostic
else:
    from gblock.lean import NamedTuple


class Cause(NamedTuple):
    """Diagnostics that one change fixes."""

    first: Diagnostic
    """The most important one."""
    others: tuple[Diagnostic, ...]


def causes(diagnostics: Sequence[Diagnostic]) -> list[Cause]:
    """Return the causes of some diagnostics.

    Causes are ordered by severity, by the strength of the context, by the number of entries that
    reach one of their calls, and by file and place; so are the diagnostics of each, by the number
    of entries that reach the call itself.
    """
    groups: dict[str, list[Diagnostic]] = {}
    for number, one in enumerate(diagnostics):
        groups.setdefault(one.cause or str(number), []).append(one)
    found = [
        Cause(first, tuple(rest))
        for first, *rest in (sorted(g, key=_weight) for g in groups.values())
    ]
    return sorted(found, key=lambda c: (*_weight(c.first)[:2], -_entries(c), _weight(c.first)[3:]))


def _weight(one: Diagnostic) -> tuple[int, int, int, str, tuple[int, int]]:
    context = CONTEXTS.index(one.context) if one.context in CONTEXTS else 0
    return -one.severity, context, -one.entries, one.filename, one.location


def _entries(cause: Cause) -> int:
    """Return how many entries reach a call of a cause."""
    return len({one.path[0][:2] for one in (cause.first, *cause.others) if one.path})
