"""Probe records: read, merged over processes, matched to the catalog and to diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gblock.observations import sources
from gblock.observations.confirming import Confirmation, confirmed
from gblock.observations.gathering import Gatherer
from gblock.observations.process_reader import ProcessReader
from gblock.observations.values import BLAMELESS, Block, Observations, ObservedSite, WatchedProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gblock.catalog.lookup import Catalog
    from gblock.observations.sources import RecordSource, Unread

__all__ = [
    "BLAMELESS",
    "Block",
    "Confirmation",
    "Observations",
    "ObservedSite",
    "ProcessRecords",
    "RecordSelection",
    "WatchedProcess",
    "combined",
    "confirmed",
    "read",
    "read_part",
    "sentence",
]


class RecordSelection(NamedTuple):
    """The records to read, and how."""

    now: float
    """Epoch seconds, to distinguish a running probe from one that fell silent."""
    since: float | None = None
    """Epoch seconds: blocks that started before are omitted."""
    until: float | None = None
    """Epoch seconds: blocks that started later are omitted."""
    draws: bool = True
    """True to keep blocks for a time line."""


class ProcessRecords(NamedTuple):
    """The records of some processes."""

    gatherer: Gatherer
    processes: list[tuple[int, WatchedProcess]]
    """With the numbers of their sources; -1 if only their sums are known."""
    files: int
    unread: list[Unread]


def read(
    paths: Iterable[str],
    catalog: Catalog,
    now: float,
    *,
    since: float | None = None,
    until: float | None = None,
) -> Observations:
    """Read the records of probes in this process.

    The records of a process are read one after another without keeping them, so memory grows with
    the number of call sites and not with that of blocks.

    Args:
        paths: Files, and directories of them.
        catalog: The catalog.
        now: See `RecordSelection`.
        since: See `RecordSelection`.
        until: See `RecordSelection`.
    """
    numbered = list(enumerate(sources.sources(paths)))
    return combined([read_part(numbered, catalog, RecordSelection(now, since, until))], catalog)


def read_part(
    numbered: Iterable[tuple[int, RecordSource]], catalog: Catalog, selection: RecordSelection
) -> ProcessRecords:
    """Read some sources.

    Args:
        numbered: Sources with numbers that no other part has.
        catalog: The catalog.
        selection: What to read.
    """
    part = ProcessRecords(Gatherer(catalog, draws=selection.draws), [], 0, [])
    files = 0
    for number, source in numbered:
        reader = ProcessReader(
            source,
            selection.now,
            part.gatherer,
            number,
            since=selection.since,
            until=selection.until,
        )
        files += len(source.files)
        part.unread.extend(reader.unread)
        if reader.process is not None:
            part.processes.append((number, reader.process))
        part.processes.extend((-1, process) for process in reader.others)
    return part._replace(files=files)


def combined(parts: Sequence[ProcessRecords], catalog: Catalog) -> Observations:
    """Return the observations of all parts.

    Args:
        parts: At least one.
        catalog: The catalog.
    """
    gatherer = Gatherer(catalog)
    for part in parts:
        gatherer.merge(part.gatherer)
    found = [pair for part in parts for pair in part.processes]
    found.sort(key=lambda pair: (pair[1].host, pair[1].started, pair[1].pid, pair[0]))
    processes = tuple(process for _, process in found)
    order = {number: index for index, (number, _) in enumerate(found) if number >= 0}
    sites, blocks = gatherer.result(processes, order)
    verdict = _verdict(processes, sites)
    hours = tuple((hour, *figures) for hour, figures in sorted(gatherer.hours.items()))
    unread = tuple(sorted(missed for part in parts for missed in part.unread))
    files = sum(part.files for part in parts)
    return Observations(verdict, processes, sites, blocks, files, unread, hours)


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
