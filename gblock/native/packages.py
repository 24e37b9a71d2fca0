"""Results for a distribution: its compiled modules, and their methods as Python names them."""

from __future__ import annotations

import os
from typing import NamedTuple

from gblock.native.reading import TIERS, ModuleReading, Reading
from gblock.native.store import Share, Store, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MODULE = (".so",)


class NativeMethod(NamedTuple):
    """One native method."""

    symbol: str
    """Its dotted name: the module's, the type's, its own."""
    reading: Reading


class Module(NamedTuple):
    """One compiled module."""

    file: str
    """The path, relative to the directory of packages."""
    name: str
    """Its dotted name."""
    reading: ModuleReading
    methods: tuple[NativeMethod, ...]
    """Each name once; of several functions with the name, the one of the surest tier."""


class NativePackage(NamedTuple):
    """One distribution."""

    name: str
    version: str
    modules: tuple[Module, ...]

    @property
    def methods(self) -> tuple[NativeMethod, ...]:
        """All methods of all modules."""
        return tuple(found for module in self.modules for found in module.methods)

    @property
    def found(self) -> dict[str, Reading]:
        """The methods with a tier, by symbol."""
        return {one.symbol: one.reading for one in self.methods if one.reading.tier}


class Asked(NamedTuple):
    """A distribution to read."""

    name: str
    version: str
    base: str
    """The directory of packages."""
    files: tuple[str, ...]
    """Its compiled modules, relative to `base`."""


def read(
    asked: Sequence[Asked], store: Store | None, share: Share | None = None
) -> list[NativePackage]:
    """Return the results for some distributions, in their order.

    Args:
        asked: The distributions.
        store: The cache of results; None to read everything again.
        share: Divides work among processes; None to do all of it in this one.
    """
    # Absolute, as the cache keeps them: the environment may be named by a relative path.
    paths = [
        os.path.abspath(os.path.join(one.base, file))
        for one in asked
        for file in one.files
        if _is_module(file)
    ]
    readings = iter(read_all(paths, store, share))
    return [
        NativePackage(
            one.name,
            one.version,
            tuple(_module(file, next(readings)) for file in one.files if _is_module(file)),
        )
        for one in asked
    ]


def _is_module(file: str) -> bool:
    return file.endswith(_MODULE) and ".." not in file.split("/")


def dotted(file: str) -> str:
    """Return the dotted name of a module's file relative to the directory of packages."""
    *folders, name = file.split("/")
    stem = name.partition(".")[0]
    return ".".join(folders if stem == "__init__" and folders else [*folders, stem])


def _module(file: str, read: ModuleReading) -> Module:
    name = dotted(file)
    found: dict[str, Reading] = {}
    for one in read.methods:
        parts = one.name.split(".")
        symbol = ".".join((name, *parts[-2 if one.in_class else -1 :]))
        known = found.get(symbol)
        if known is None or _rank(one) < _rank(known):
            found[symbol] = one
    return Module(file, name, read, tuple(NativeMethod(*item) for item in sorted(found.items())))


def _rank(one: Reading) -> int:
    return TIERS.index(one.tier) if one.tier else len(TIERS)
