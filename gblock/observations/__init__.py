"""Probe records: read, merged over processes, matched to the catalog and to diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gblock.observations import records
from gblock.observations.confirming import Confirmation, confirmed
from gblock.observations.gathering import Gatherer
from gblock.observations.story import Story
from gblock.observations.values import BLAMELESS, Block, Observations, ObservedSite, WatchedProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gblock.catalog import Catalog

__all__ = [
    "BLAMELESS",
    "Block",
    "Confirmation",
    "Observations",
    "ObservedSite",
    "WatchedProcess",
    "confirmed",
    "read",
    "sentence",
]


def read(
    paths: Iterable[str],
    catalog: Catalog,
    now: float,
    *,
    since: float | None = None,
    until: float | None = None,
) -> Observations:
    """Read the records of probes.

    The records of a process are read one after another without keeping them, so memory grows with
    the number of call sites and not with that of blocks.

    Args:
        paths: Files, and directories of them.
        catalog: The catalog.
        now: Epoch seconds, to distinguish a running probe from one that fell silent.
        since: Epoch seconds: blocks that started before are omitted.
        until: Epoch seconds: blocks that started later are omitted.
    """
    gatherer = Gatherer(catalog)
    stories: list[tuple[int, WatchedProcess]] = []
    files = 0
    unread: list[records.Unread] = []
    for source in records.sources(paths):
        story = Story(source, now, gatherer, len(stories), since=since, until=until)
        files += len(source.files)
        unread += story.unread
        if story.process is not None:
            stories.append((story.number, story.process))
    stories.sort(key=lambda pair: (pair[1].host, pair[1].started, pair[1].pid))
    processes = tuple(process for _, process in stories)
    order = {number: index for index, (number, _) in enumerate(stories)}
    sites, blocks = gatherer.result(processes, order)
    verdict = _verdict(processes, sites)
    hours = tuple((hour, *figures) for hour, figures in sorted(gatherer.hours.items()))
    return Observations(verdict, processes, sites, blocks, files, tuple(unread), hours)


def _verdict(processes: Sequence[WatchedProcess], sites: Sequence[ObservedSite]) -> str:
    if not processes:
        return "off"
    if any(site.is_blamed for site in sites):
        return "blocked"
    return "died" if all(process.is_lost for process in processes) else "nothing"


def sentence(site: ObservedSite) -> str:
    """Return one line about a site that no diagnostic explains."""
    what = site.symbol or "the code of this line"
    text = f"{what} was seen to block the hub {_times(site)}"
    if site.blockers:
        known = site.blockers[0]
        hint = f"; --select {known.id}" if known.level == "opt-in" else ""
        return f"{text}; the catalog knows it as {known.id}{hint}"
    if site.is_cooperative:
        return f"{text}; the catalog knows it to cooperate once gevent has patched"
    if site.symbol:
        return f"{text}; the catalog does not know it: try gblock report --suggest"
    return text


def _times(site: ObservedSite) -> str:
    if site.times == 1:
        return f"once, for {site.total:.3g} s"
    return f"{site.times:,} times, {site.total:.3g} s in all"
