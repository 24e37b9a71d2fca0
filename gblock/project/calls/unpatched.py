"""Calls that block only without gevent's monkey patching, in any process.

An ordinary run needs none of this. It is used once some process is known to run on gevent and to
leave a part of the standard library unpatched, or where code fetches originals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

import msgspec

from gblock import catalog
from gblock.catalog.libraries import Library
from gblock.catalog.lookup import Catalog
from gblock.outline import Outlines
from gblock.project.calls.cooperation import Cooperation
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.sites import Site, Sites
from gblock.project.names.inference import Inference
from gblock.project.reading.modules import Modules
from gblock.project.triage.triage import Triage
from gblock.project.triage.vocabulary import Vocabulary

ORIGINALS = "gevent.monkey.saved."
"""The prefix of the dotted names of gevent's saved originals."""


class Unpatched:
    """Finds the calls that gevent's patch would have made cooperative.

    Args:
        modules: The project's files.
        outlines: The catalog's files.
        vocabulary: The blockers that can be reported.
        assumed: Symbols, or names of distributions, that the configuration declares cooperative.
    """

    def __init__(
        self,
        modules: Modules,
        outlines: Outlines,
        vocabulary: Vocabulary,
        assumed: tuple[str, ...] = (),
    ) -> None:
        self.modules = modules
        self._outlines = outlines
        self._vocabulary = vocabulary
        self._assumed = assumed
        self._sites: dict[bool, Sites] = {}
        self._found: dict[tuple[str, bool], list[Site]] = {}

    @cached_property
    def triage(self) -> Triage:
        """The triage of the files that can matter."""
        return Triage(self.modules, self._vocabulary)

    def chosen(self, paths: Collection[str]) -> list[str]:
        """Return those of some files that may contain such a call."""
        return self.triage.select(paths, self._roots) if paths else []

    @cached_property
    def _roots(self) -> frozenset[str]:
        return self.triage.roots(self.modules.files)

    @cached_property
    def _catalog(self) -> Catalog:
        roots = self._roots.union(self._outlines.offloading)
        kept = {chunk.id for chunk in self._vocabulary.blockers}
        loaded = catalog.parse_all(self._outlines, roots, unpatched=True)
        return loaded.only(lambda blocker: blocker.id in kept)

    @cached_property
    def _inference(self) -> Inference:
        return Inference(self.modules, self._catalog)

    @cached_property
    def _cooperation(self) -> Cooperation:
        return Cooperation(self._inference, self._assumed)

    def of(self, path: str, *, native_threads: bool) -> list[Site]:
        """Return the calls of one file that wait and that no native thread runs.

        Args:
            path: The file.
            native_threads: True if the process leaves ``threading`` unpatched: code in a thread
                then does not block the hub.
        """
        key = (path, native_threads)
        if key not in self._found:
            if native_threads not in self._sites:
                offloading = Offloading(self._inference, patched=not native_threads)
                self._sites[native_threads] = Sites(self._inference, offloading, self._cooperation)
            self._found[key] = _waiting(self._sites[native_threads], path, self.triage.names(path))
        return self._found[key]

    def originals(self, paths: Iterable[str]) -> dict[str, list[Site]]:
        """Return the calls of gevent's saved originals in some files."""
        captured = [chunk for chunk in self._vocabulary.blockers if chunk.captured]
        roots = frozenset[str]().union(*(chunk.roots for chunk in captured), {"gevent"})
        kept = {chunk.id for chunk in captured}
        loaded = catalog.parse_all(self._outlines, roots, unpatched=True)
        inference = Inference(
            self.modules, _as_originals(loaded.only(lambda blocker: blocker.id in kept))
        )
        cooperation = Cooperation(inference, self._assumed)
        sites = Sites(inference, Offloading(inference), cooperation)
        return {path: found for path in paths if (found := _waiting(sites, path))}


def _waiting(sites: Sites, path: str, names: frozenset[str] | None = None) -> list[Site]:
    """Return the sites of a file that may block the hub, each with its blockers."""
    found = []
    for site in sites.of(path, names):
        kept = tuple(one for one in site.found if not one.wait.immediate)
        if kept and not site.native:
            found.append(site._replace(found=kept))
    return found


def _as_originals(known: Catalog) -> Catalog:
    """Return the catalog with the saved originals in place of the patched functions."""
    blockers = tuple(
        msgspec.structs.replace(one, symbols=tuple(ORIGINALS + symbol for symbol in one.symbols))
        for one in known.blockers
    )
    kept = Library(
        distribution="gevent",
        bases={
            ORIGINALS + k: tuple(ORIGINALS + b for b in bases) for k, bases in known.bases.items()
        },
        returns={
            ORIGINALS + k: value if value == "self" else ORIGINALS + value
            for k, value in known.returns.items()
            if not k.startswith("gevent.")
        },
    )
    return Catalog(blockers, (*known.libraries, kept), known.offloads, known.handlers)
