"""Match observations to the diagnostics of a check."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gblock.diagnostics import Observed
from gblock.files import shared_ending

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gblock.diagnostics import Diagnostic
    from gblock.observations.values import Observations, ObservedSite


class Confirmation(NamedTuple):
    """Observations and the diagnostics of a check."""

    diagnostics: list[Diagnostic]
    """All diagnostics; those that a probe saw block have `Diagnostic.observed`."""
    observations: Observations
    """The observations, with the diagnostics of each site."""
    unexplained: tuple[tuple[ObservedSite, str], ...]
    """Sites in checked files without a diagnostic, with the checked file."""
    elsewhere: int
    """Sites in files that were not checked."""


def confirmed(
    observed: Observations, diagnostics: Sequence[Diagnostic], files: Iterable[str]
) -> Confirmation:
    """Match sites to diagnostics by file and line.

    A service seldom runs where it is checked: ``/app/orders/worker.py`` matches the file of the
    project that shares the longest path suffix, if it is unique.

    Args:
        observed: The observations.
        diagnostics: The diagnostics of a check.
        files: The files that it checked.
    """
    where = _Files(files)
    by_file: dict[str, list[int]] = {}
    for index, diagnostic in enumerate(diagnostics):
        by_file.setdefault(os.path.abspath(diagnostic.filename), []).append(index)
    of: dict[int, list[ObservedSite]] = {}
    sites, unexplained, elsewhere = [], [], 0
    for site in observed.sites:
        path = where.find(site.filename) if site.filename and site.is_blamed else None
        if path is None:
            elsewhere += bool(site.filename) and site.is_blamed
            sites.append(site)
            continue
        matching = _on_the_line(site, [(i, diagnostics[i]) for i in by_file.get(path, [])])
        for index in matching:
            of.setdefault(index, []).append(site)
        site = site._replace(checked=True, diagnostics=tuple(diagnostics[i] for i in matching))
        sites.append(site)
        # The cause of a garbage collection is not on the line where it runs.
        if not matching and site.kind != "gc":
            unexplained.append((site, path))
    marked = [
        d._replace(observed=_sum(of[index])) if index in of else d
        for index, d in enumerate(diagnostics)
    ]
    observed = observed._replace(sites=tuple(sites))
    return Confirmation(marked, observed, tuple(unexplained), elsewhere)


def _on_the_line(site: ObservedSite, candidates: Iterable[tuple[int, Diagnostic]]) -> list[int]:
    """Return the diagnostics on a site's line; those of the called function, if any."""
    line = site.line or 0
    here = [(i, d) for i, d in candidates if d.location.row <= line <= d.end_location.row]
    ids = {blocker.id for blocker in site.blockers}
    exact = [i for i, d in here if d.blocker in ids or (d.symbol and d.symbol == site.symbol)]
    return exact or [i for i, _ in here]


def _sum(sites: Sequence[ObservedSite]) -> Observed:
    return Observed(
        times=sum(site.times for site in sites),
        seconds=sum(site.total for site in sites),
        longest=max(site.longest for site in sites),
    )


class _Files:
    """The project's files, found by their paths on other machines."""

    def __init__(self, files: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in map(os.path.abspath, files):
            self._by_name.setdefault(os.path.basename(path), []).append(path)

    def find(self, path: str) -> str | None:
        """Return the file itself, or the one with the longest common suffix; None if ambiguous."""
        parts = path.replace("\\", "/").split("/")
        candidates = self._by_name.get(parts[-1], [])
        alike = [(shared_ending(parts, p.replace(os.sep, "/").split("/")), p) for p in candidates]
        if not alike:
            return None
        most = max(length for length, _ in alike)
        best = [p for length, p in alike if length == most]
        # Every package has an __init__.py: its name alone does not identify it.
        if len(best) > 1 or (most == 1 and parts[-1] == "__init__.py"):
            return None
        return best[0]
