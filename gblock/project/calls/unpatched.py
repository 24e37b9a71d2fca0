"""Calls that block only without gevent's monkey patching, in any process.

An ordinary run needs none of this. It is used once some process is known to run on gevent and to
leave a part of the standard library unpatched, or where code fetches originals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

import msgspec

from gblock import catalog
from gblock.catalog.blockers import Blocker
from gblock.catalog.libraries import OF_THE_RECEIVER, Library
from gblock.catalog.lookup import Catalog
from gblock.outline import Outlines
from gblock.project.calls.cooperation import Cooperation
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.sites import Site, Sites
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.expressions import CALL, last_name, owner_of
from gblock.project.reading.summary import AnyCall
from gblock.project.triage.triage import Triage
from gblock.project.triage.vocabulary import Vocabulary

_GEVENT = frozenset(["gevent"])
_SOCKETS = ("gevent.socket.", "gevent.ssl.")
"""The prefixes of the dotted names of gevent's own sockets."""
ORIGINALS = "gevent.monkey.saved."
"""The prefix of the dotted names of gevent's saved originals."""


class Unpatched:
    """Finds the calls that gevent's patch would have made cooperative.

    Args:
        inference: Type inference by the blockers of every process.
        outlines: The catalog's files.
        vocabulary: The blockers that can be reported.
        assumed: Symbols, or names of distributions, that the configuration declares cooperative.
    """

    def __init__(
        self,
        inference: Inference,
        outlines: Outlines,
        vocabulary: Vocabulary,
        assumed: tuple[str, ...] = (),
    ) -> None:
        self.modules = inference.modules
        self._ordinary = inference
        self._outlines = outlines
        self._vocabulary = vocabulary
        self._assumed = assumed
        self._sites: dict[bool, Sites] = {}
        self._found: dict[tuple[str, bool, bool], list[Site]] = {}
        self._green: dict[tuple[str, int], bool] = {}

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
        chunks = self._vocabulary.blockers
        kept = frozenset(chunk.id for chunk in chunks)
        roots = self._roots.union(self._outlines.offloading, _GEVENT)
        roots = roots.union(*(chunk.roots for chunk in chunks if chunk.captured))
        loaded = catalog.parse_all(self._outlines, roots, unpatched=True)
        captured = frozenset(chunk.id for chunk in chunks if chunk.captured)
        return _with_originals(loaded.only(lambda blocker: blocker.id in kept), captured)

    @cached_property
    def _captured(self) -> frozenset[str]:
        """The names of gevent's saved originals."""
        originals = filter(_is_original, self._catalog.blockers)
        return frozenset(symbol.rpartition(".")[2] for one in originals for symbol in one.symbols)

    @cached_property
    def _inference(self) -> Inference:
        return self._ordinary.with_catalog(self._catalog)

    @cached_property
    def _cooperation(self) -> Cooperation:
        return Cooperation(self._inference, self._assumed)

    def _sites_of(self, path: str, *, native_threads: bool, are_originals: bool) -> list[Site]:
        """Return the calls of one file that wait and that no native thread runs."""
        key = (path, native_threads, are_originals)
        if key not in self._found:
            if native_threads not in self._sites:
                offloading = Offloading(self._inference, patched=not native_threads)
                self._sites[native_threads] = Sites(self._inference, offloading, self._cooperation)
            names: frozenset[str] | None = self._captured
            if not are_originals:
                known = self.triage.names(path)
                names = None if known is None else known | self._captured
            found = self._sites[native_threads].of(path, names)
            self._found[key] = [
                site for site in found if not site.native and not self._is_green(site.call, path)
            ]
        return self._found[key]

    def _is_green(self, call: AnyCall, path: str) -> bool:
        """Return whether a call is of an object whose class opens its connection with gevent.

        ``class Mail(IMAP4)`` with a `_create_socket()` that calls ``gevent.socket``.
        """
        callee = call.expression.callee if call.node == "call" else call.expression
        place = Place(path, call.scope, call.path)
        owner = owner_of(callee)
        values = self._inference.infer(callee, place) | self._inference.infer(owner, place)
        if owner is not None and owner.tag == CALL and last_name(owner.callee) == "super":
            around = self.modules.summary(path).class_around(call.scope)
            values |= {v.ScopeValue(v.CLASS, path, around)} if around else v.NOTHING
        return any(
            self._opens_with_gevent(base.path, base.scope)
            for one in values
            if one.kind in (v.OBJECT, v.CLASS)
            for base in self._inference.classes.ancestry(one.path, one.scope)
            if base.kind == v.CLASS
        )

    def _opens_with_gevent(self, path: str, index: int) -> bool:
        """Return whether a method of a class calls a function of gevent's sockets."""
        key = (path, index)
        if key not in self._green:
            summary = self.modules.summary(path)
            symbols = (
                symbol
                for call in (summary.calls if path in self.modules.mentioning("gevent") else ())
                if call.node == "call" and summary.is_within(call.scope, index)
                for symbol in self._inference.callees.called_symbols(
                    call.expression.callee, Place(path, call.scope, call.path)
                )
            )
            self._green[key] = any(symbol.startswith(_SOCKETS) for symbol in symbols)
        return self._green[key]

    def of(self, path: str, *, native_threads: bool) -> list[Site]:
        """Return the calls of one file that wait and that no native thread runs.

        Args:
            path: The file.
            native_threads: True if the process leaves ``threading`` unpatched: code in a thread
                then does not block the hub.
        """
        found = self._sites_of(path, native_threads=native_threads, are_originals=False)
        return _waiting(found, are_originals=False)

    def waits(self, symbol: str) -> bool:
        """Return whether calls of a function wait where nothing is patched."""
        return symbol in self._catalog.by_symbol

    def originals(self, path: str) -> list[Site]:
        """Return the calls of gevent's saved originals in a file."""
        # Only calls by the names of originals are looked at: nearly every file calls a function
        # that gevent has patched.
        found = self._sites_of(path, native_threads=False, are_originals=True)
        return _waiting(found, are_originals=True)


def _waiting(sites: Iterable[Site], *, are_originals: bool) -> list[Site]:
    """Return the sites that may block the hub, each with its blockers of one kind."""
    found = []
    for site in sites:
        kept = tuple(
            one
            for one in site.found
            if not one.wait.immediate and _is_original(one.blocker) is are_originals
        )
        if kept:
            found.append(site._replace(found=kept))
    return found


def _is_original(blocker: Blocker) -> bool:
    return blocker.symbols[0].startswith(ORIGINALS)


def _with_originals(known: Catalog, captured: Collection[str]) -> Catalog:
    """Return the catalog with gevent's saved originals beside the patched functions."""
    originals = tuple(
        msgspec.structs.replace(one, symbols=tuple(ORIGINALS + symbol for symbol in one.symbols))
        for one in known.blockers
        if one.id in captured
    )
    kept = Library(
        distribution="gevent",
        bases={
            ORIGINALS + k: tuple(ORIGINALS + b for b in bases) for k, bases in known.bases.items()
        },
        returns={
            ORIGINALS + k: value if value in OF_THE_RECEIVER else ORIGINALS + value
            for k, value in known.returns.items()
            if not k.startswith("gevent.")
        },
    )
    libraries = (*known.libraries, kept)
    return Catalog((*known.blockers, *originals), libraries, known.offloads, known.handlers)
