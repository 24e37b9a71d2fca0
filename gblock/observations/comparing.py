"""Compare observations before and after a change, by call site."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gblock.observations.values import Observations, ObservedSite

    Key = tuple[str | None, str | None, str | None, str]

_FACTOR = 1.5
"""A smaller factor is no change: load is never equal."""
WORDS = ("new", "worse", "better", "gone", "same")


class SiteChange(NamedTuple):
    """One call site before and after."""

    word: str
    """One of `WORDS`."""
    site: ObservedSite
    """The site after the change, or before it if it is gone."""
    before: float
    """Seconds blocked per watched hour of a process."""
    after: float


def compared(before: Observations, after: Observations) -> tuple[SiteChange, ...]:
    """Return the changes, in the order of `WORDS`, by seconds descending.

    Sites are the same if file name, function and call are equal: lines shift and checkouts move.
    The figures are rates, because the two were not watched for equally long.
    """
    old, new = _rates(before), _rates(after)
    changes = []
    for key in {**new, **old}:
        was, then = old.get(key, (0.0, None))
        now, site = new.get(key, (0.0, then))
        assert site is not None
        if key not in old:
            word = "new"
        elif key not in new:
            word = "gone"
        else:
            ratio = now / was if was else _FACTOR
            word = "worse" if ratio >= _FACTOR else "better" if ratio <= 1 / _FACTOR else "same"
        changes.append(SiteChange(word, site, was, now))
    changes.sort(key=lambda change: (WORDS.index(change.word), -max(change.before, change.after)))
    return tuple(changes)


def _rates(observed: Observations) -> dict[Key, tuple[float, ObservedSite]]:
    hours = max(sum(each.last - each.started for each in observed.processes) / 3600, 1 / 3600)
    rates: dict[Key, tuple[float, ObservedSite]] = {}
    for site in observed.blamed:
        name = os.path.basename(site.filename.replace("\\", "/")) if site.filename else None
        key = (name, site.function, site.symbol, "gc" if site.kind == "gc" else "")
        rate, shown = rates.get(key, (0.0, site))
        rates[key] = rate + site.total / hours, shown
    return rates
