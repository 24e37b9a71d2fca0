"""The results of one check, before severities, the baseline and a revision hide some of them."""

from __future__ import annotations

from gblock.diagnostics import Diagnostic, Hidden, Problem, Related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from gblock.lean import NamedTuple


class CheckResults(NamedTuple):
    """The results of a check, or of one unit of it; picklable."""

    diagnostics: list[Diagnostic]
    hidden: list[Hidden]
    """Diagnostics that a comment or the configuration hides."""
    rows: dict[tuple[object, ...], tuple[int, int]]
    """By `key_of` a diagnostic, the first and the last row of its statement."""
    elsewhere: int
    """The number of diagnostics in files that only processes without gevent run."""
    idle: int
    """The number of diagnostics in code that no greenlet of a service runs."""
    unresolved: list[Related]
    """The calls on receivers of unknown type."""
    notes: list[str]
    problems: list[Problem]
    inspected: list[str]
    """The files that triage did not drop."""
    troubled: list[str]
    """The files that cannot be read or parsed."""
    invalid: int
    """The number of files that can be read but not parsed."""
    passed_over: int
    """The number of files that were not inspected, since nothing runs on gevent."""


def merged(parts: list[CheckResults]) -> CheckResults:
    """Return the results of all units; what several units report of shared code counts once.

    Args:
        parts: The results, in the order of the units.
    """
    weightiest: dict[tuple[object, ...], Diagnostic] = {}
    hidden: dict[tuple[object, ...], Hidden] = {}
    rows: dict[tuple[object, ...], tuple[int, int]] = {}
    for part in parts:
        for one in part.diagnostics:
            known = weightiest.get(key_of(one))
            if known is None or one.severity > known.severity:
                weightiest[key_of(one)] = one
        for kept in part.hidden:
            hidden.setdefault((*key_of(kept.diagnostic), kept.reason), kept)
        rows.update(part.rows)
    return CheckResults(
        list(weightiest.values()),
        list(hidden.values()),
        rows,
        sum(part.elsewhere for part in parts),
        sum(part.idle for part in parts),
        list(dict.fromkeys(one for part in parts for one in part.unresolved)),
        list(dict.fromkeys(note for part in parts for note in part.notes)),
        list(dict.fromkeys(one for part in parts for one in part.problems)),
        list(dict.fromkeys(path for part in parts for path in part.inspected)),
        list(dict.fromkeys(path for part in parts for path in part.troubled)),
        sum(part.invalid for part in parts),
        sum(part.passed_over for part in parts),
    )


def key_of(diagnostic: Diagnostic) -> tuple[object, ...]:
    """Return what distinguishes a diagnostic from others of the same check."""
    return diagnostic.filename, diagnostic.location, diagnostic.code, diagnostic.blocker
