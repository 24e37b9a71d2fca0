"""Read what probes recorded, with as many processes as there are CPUs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gblock import observations
from gblock.engine.jobs import shared
from gblock.observations import sources

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.catalog.lookup import Catalog
    from gblock.observations import Observations, RecordSelection
    from gblock.observations.sources import RecordSource

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
    found = list(enumerate(sources.sources(paths)))
    read = partial(observations.read_part, catalog=catalog, selection=selection)
    parts = shared(read, found, _size, _WORTH, jobs)
    return observations.combined(parts, catalog)


def _size(numbered: tuple[int, RecordSource]) -> int:
    return numbered[1].size
