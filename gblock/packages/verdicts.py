"""The catalog's verdict on an installed distribution."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from gblock.catalog.blockers import Blocker, Harmless
from gblock.catalog.lookup import Catalog
from gblock.distribution import normalized
from gblock.packages.environment import Distribution, Environment


class Verdict(NamedTuple):
    """The verdict on one distribution."""

    kind: str
    """``blocks``, ``costly``, ``opt-in``, ``harmless``, ``unknown``; ``pure``: nothing compiled."""
    blockers: tuple[Blocker, ...] = ()
    """Blockers that block the hub with a single call, whatever the arguments."""
    others: tuple[Blocker, ...] = ()
    """Blockers that only add up in numbers, and opt-in blockers."""
    harmless: Harmless | None = None


class Verdicts:
    """Look up distributions by name, and by their modules.

    Args:
        catalog: The whole catalog.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @cached_property
    def _same(self) -> dict[str, str]:
        """The distribution in the catalog, by another distribution with the same package."""
        return {
            normalized(other): normalized(library.distribution)
            for library in self.catalog.libraries
            for other in library.distributed_as
        }

    @cached_property
    def _blockers(self) -> dict[str, list[Blocker]]:
        found: dict[str, list[Blocker]] = {}
        for blocker in self.catalog.blockers:
            if not blocker.patched_by:
                found.setdefault(normalized(blocker.distribution), []).append(blocker)
        return found

    @cached_property
    def _by_root(self) -> dict[str, list[tuple[str, Blocker]]]:
        found: dict[str, list[tuple[str, Blocker]]] = {}
        for blocker in self.catalog.blockers:
            if blocker.distribution != "stdlib" and not blocker.patched_by:
                for symbol in blocker.symbols:
                    found.setdefault(symbol.partition(".")[0], []).append((symbol, blocker))
        return found

    def _below(self, module: str) -> dict[str, Blocker]:
        """Return a package's blockers by id; none for a namespace of several distributions."""
        name = self.catalog.canonical(module)
        found = self._by_root.get(name.partition(".")[0], ())
        below = {blocker.id: blocker for symbol, blocker in found if symbol.startswith(f"{name}.")}
        return below if len({one.distribution for one in below.values()}) == 1 else {}

    @cached_property
    def _harmless(self) -> dict[str, Harmless]:
        return {normalized(one.distribution): one for one in self.catalog.harmless}

    def of(self, distribution: Distribution) -> Verdict:
        """Return the verdict on one distribution."""
        key = self._same.get(distribution.key, distribution.key)
        blockers = {blocker.id: blocker for blocker in self._blockers.get(key, ())}
        for module in distribution.modules:  # a fork whose name is not in the catalog
            blockers |= self._below(module)
        found = sorted(blockers.values(), key=lambda blocker: blocker.id)
        single = tuple(blocker for blocker in found if is_single(blocker))
        others = tuple(blocker for blocker in found if not is_single(blocker))
        harmless = self._harmless.get(distribution.key) or self._harmless.get(key)
        if single:
            kind = "blocks"
        elif others:
            kind = "opt-in" if all(b.level == "opt-in" for b in others) else "costly"
        elif harmless:
            kind = "harmless"
        else:
            kind = "unknown" if distribution.is_native else "pure"
        return Verdict(kind, single, others, harmless)


def is_single(blocker: Blocker) -> bool:
    """Return whether one call of a blocker blocks the hub, whatever the arguments."""
    return blocker.level != "opt-in" and blocker.kind not in ("costly", "sends")


def unknown(environment: Environment, catalog: Catalog) -> list[Distribution]:
    """Return the compiled distributions without an entry in the catalog."""
    verdicts = Verdicts(catalog)
    return [
        one
        for one in environment.distributions
        if one.modules and verdicts.of(one).kind == "unknown"
    ]
