"""Read what probes recorded, with as many processes as there are CPUs."""

from __future__ import annotations

import heapq
from functools import partial
from typing import TYPE_CHECKING

from gblock import observations
from gblock.engine.jobs import Jobs
from gblock.observations import sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gblock.catalog.lookup import Catalog
    from gblock.observations import Observations, RecordSelection
    from gblock.observations.sources import RecordSource

    Share = list[tuple[int, RecordSource]]

_WORTH = 4_000_000
"""Bytes of records for each process: below, a process costs more than it saves."""


def observed(
    paths: Iterable[str], catalog: Catalog, selection: RecordSelection, jobs: int = 0
) -> Observations:
    """Read the records of probes.

    Args:
        paths: Files, and directories of them.
        catalog: The catalog.
        selection: What to read.
        jobs: The number of processes; 0 for one for each CPU.
    """
    found = list(sources.sources(paths))
    workers = Jobs(jobs)
    number = min(workers.number, 1 + sum(source.size for source in found) // _WORTH)
    try:
        first, *others = _shares(found, number)
        running = [workers.add(partial(_read, share, catalog, selection)) for share in others]
        parts = [_read(first, catalog, selection), *(job.result() for job in running)]
    finally:
        workers.close()
    return observations.combined(parts, catalog)


def _read(
    share: Share, catalog: Catalog, selection: RecordSelection
) -> observations.ProcessRecords:
    return observations.read_part(share, catalog, selection)


def _shares(found: Sequence[RecordSource], number: int) -> list[Share]:
    """Return the sources with their numbers, in shares of about equal size."""
    shares: list[tuple[int, int, Share]] = [(0, index, []) for index in range(number)]
    by_size = sorted(enumerate(found), key=lambda pair: -pair[1].size)
    for index, source in by_size:
        size, place, share = heapq.heappop(shares)
        share.append((index, source))
        heapq.heappush(shares, (size + source.size, place, share))
    return [sorted(share, key=lambda pair: pair[0]) for _, _, share in sorted(shares, key=_place)]


def _place(share: tuple[int, int, Share]) -> int:
    return share[1]
