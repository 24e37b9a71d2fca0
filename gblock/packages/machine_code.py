"""Results of reading the machine code of installed packages, with the catalog's entries."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import NamedTuple

from gblock import collecting
from gblock.distribution import normalized
from gblock.errors import UserError
from gblock.native import packages
from gblock.native.packages import Asked, NativePackage
from gblock.native.reading import TIERS, Reading
from gblock.packages import wrappers
from gblock.packages.verdicts import Verdicts
from gblock.packages.wrappers import Wrapper
from gblock.suggestion import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gblock.catalog.blockers import Blocker
    from gblock.catalog.lookup import Catalog
    from gblock.native.store import Share, Store
    from gblock.packages.environment import Distribution, Environment

_CONSTRUCTORS = ("__init__", "__new__")


class TieredMethod(NamedTuple):
    """One method with a tier: native, or a Python function that calls a native one."""

    symbol: str
    reading: Reading
    through: tuple[str, ...]
    """For a Python function: the chain of its callees, down to the native method."""
    blockers: tuple[str, ...]
    """The ids of the catalog's entries for it, which take precedence."""

    @property
    def is_native(self) -> bool:
        """Return whether it is a method of the compiled module itself."""
        return not self.through


class MachineCode(NamedTuple):
    """The results for one distribution."""

    name: str
    version: str
    kind: str
    """The catalog's verdict; see `gblock.packages.verdicts`."""
    methods: tuple[TieredMethod, ...]
    """Methods with a tier, the surest tier first."""
    natives: frozenset[str]
    """All native methods, including those without a tier."""
    modules: int
    not_read: tuple[tuple[str, str], ...]
    """Compiled modules that were not read completely, each with the reason."""
    absent: tuple[str, ...]
    """Libraries that its modules need and that were not found."""


def read(
    environment: Environment,
    known: Catalog,
    names: Sequence[str],
    store: Store | None = None,
    share: Share | None = None,
) -> list[MachineCode]:
    """Return the results for an environment's packages.

    Args:
        environment: The installed distributions.
        known: The catalog.
        names: The distributions to read; empty for all compiled ones.
        store: The cache of results; None to read everything again.
        share: Divides work among processes; None to do all of it in this one.

    Raises:
        UserError: for a name without an installed distribution.
    """
    installed = {one.key: one for one in environment.distributions}
    wanted: list[Distribution] = []
    for name in names:
        one = installed.get(normalized(name))
        if one is None:
            message = f"no such distribution in {environment.name}"
            raise UserError(name, f"{message}{did_you_mean(normalized(name), installed)}")
        wanted.append(one)
    if not names:
        wanted = [one for one in environment.distributions if one.is_native]
    asked = [Asked(one.name, one.version, one.base, one.compiled) for one in wanted]
    verdicts = Verdicts(known)
    found = [
        _beside(one, package, verdicts, store)
        for one, package in zip(wanted, packages.read(asked, store, share), strict=True)
    ]
    if store is not None:
        store.close()
    return found


def of(distribution: Distribution, known: Catalog, store: Store | None = None) -> MachineCode:
    """Return the results for one distribution."""
    asked = Asked(distribution.name, distribution.version, distribution.base, distribution.compiled)
    (package,) = packages.read([asked], store)
    return _beside(distribution, package, Verdicts(known), store)


def _beside(
    distribution: Distribution, package: NativePackage, verdicts: Verdicts, store: Store | None
) -> MachineCode:
    verdict = verdicts.of(distribution)
    blockers = (*verdict.blockers, *verdict.others)
    return results(package, _wrappers(distribution, package, store), verdict.kind, blockers)


def _wrappers(
    distribution: Distribution, package: NativePackage, store: Store | None
) -> list[Wrapper]:
    """Return the package's Python functions, from the cache unless a file of it has changed."""

    def read() -> list[Wrapper]:
        base, files = distribution.base, distribution.python
        with collecting.Paused():
            return wrappers.read(base, files, package.modules, distribution.libraries)

    if store is None:
        return read()
    base = os.path.abspath(distribution.base)
    parts = [repr([(one.file, one.methods) for one in package.modules]), base]
    for file in (*distribution.python, *distribution.libraries):
        try:
            status = os.stat(os.path.join(distribution.base, file))
        except OSError:
            continue
        parts.append(f"{file} {status.st_size} {status.st_mtime_ns}")
    text = "\n".join((wrappers.FORMAT, *parts))
    key = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()
    kept = store.value(key, list[Wrapper])
    if kept is None:
        kept = read()
        store.keep(key, kept)
    return kept


def results(
    package: NativePackage,
    above: Iterable[Wrapper],
    kind: str = "unknown",
    blockers: Sequence[Blocker] = (),
) -> MachineCode:
    """Return the results for one distribution, with the catalog's entries.

    Args:
        package: Its compiled modules.
        above: Its Python functions that end in native methods.
        kind: The catalog's verdict.
        blockers: The catalog's entries for it.
    """
    named = Named(blockers, types_of(package))
    found = [
        TieredMethod(symbol, reading, (), named.ids(symbol))
        for symbol, reading in package.found.items()
    ]
    found += [
        TieredMethod(one.symbol, one.reading, one.through, named.ids(one.symbol)) for one in above
    ]
    found.sort(key=lambda one: (TIERS.index(one.reading.tier), not one.is_native, one.symbol))
    modules = package.modules
    return MachineCode(
        package.name,
        package.version,
        kind,
        tuple(found),
        frozenset(one.symbol for one in package.methods),
        len(modules),
        tuple((one.file, one.reading.not_read) for one in modules if one.reading.not_read),
        tuple(dict.fromkeys(name for one in modules for name in one.reading.absent)),
    )


class Named:
    """Find the catalog's entries for a method.

    A package offers its compiled types under other names: ``confluent_kafka.Producer`` is
    ``confluent_kafka.cimpl.Producer``. Type and method are compared; for functions of a module,
    their names.

    Args:
        blockers: The entries of one package.
        types: The names of its types that are not capitalized.
    """

    def __init__(self, blockers: Sequence[Blocker], types: frozenset[str]) -> None:
        self._types = types
        self._ids: dict[tuple[str, str], dict[str, None]] = {}
        for blocker in blockers:
            for symbol in blocker.symbols:
                self._ids.setdefault(self.key(symbol), {})[blocker.id] = None

    def ids(self, symbol: str) -> tuple[str, ...]:
        """Return the ids of the entries for a symbol."""
        owner, _, name = symbol.rpartition(".")
        found = self._ids.get(self.key(symbol))
        if found is None and name in _CONSTRUCTORS:
            found = self._ids.get(self.key(owner))
        return tuple(found or ())

    def key(self, symbol: str) -> tuple[str, str]:
        """Return the type, empty for a function of a module, and the name of a symbol."""
        owner, _, name = symbol.rpartition(".")
        kind = owner.rpartition(".")[2]
        is_type = kind.lstrip("_")[:1].isupper() or kind in self._types
        return (kind if is_type else "", name)


def types_of(package: NativePackage) -> frozenset[str]:
    """Return the names of a package's native types."""
    return frozenset(
        found.symbol.split(".")[-2] for found in package.methods if found.reading.in_class
    )


class Descriptions:
    """Describes single symbols by their machine code, on demand.

    Args:
        environment: The installed distributions.
        known: The catalog.
        store: The cache of results.
    """

    def __init__(self, environment: Environment, known: Catalog, store: Store | None) -> None:
        self._environment = environment
        self._known = known
        self._store = store
        self._read: dict[str, dict[str, TieredMethod]] = {}

    def __call__(self, symbol: str) -> str:
        """Return one sentence, empty if nothing is known about the symbol."""
        for one in self._environment.distributions:
            if not one.compiled or not any(symbol.startswith(f"{m}.") for m in one.modules):
                continue
            if one.key not in self._read:
                methods = of(one, self._known, self._store).methods
                self._read[one.key] = {each.symbol: each for each in methods}
            found = self._read[one.key]
            method = found.get(symbol) or found.get(f"{symbol}.__init__")
            if method is not None:
                way = " → ".join((*method.through, *method.reading.chain))
                return f"The machine code {described(method)}{f': {way}' if way else ''}."
        return ""


def is_within(paths: Iterable[str], most: int) -> bool:
    """Return whether some files exist and have at most a number of bytes together."""
    try:
        return sum(map(os.path.getsize, paths)) <= most
    except OSError:
        return False


_TIERS = {
    "waits": "releases the GIL around",
    "held": "keeps the GIL and may reach",
    "leaves": "releases the GIL for an unknown reason",
}


def described(one: TieredMethod) -> str:
    """Return the predicate of a sentence: the use of the GIL, and the functions that wait."""
    start = _TIERS[one.reading.tier]
    return f"{start} {', '.join(one.reading.waits)}" if one.reading.waits else start
