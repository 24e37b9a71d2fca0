"""Modules and names that gevent's monkey patching concerns."""

from __future__ import annotations

from typing import Literal

from gblock.catalog.blockers import Evidence
from gblock.catalog.drivers import Choice
from gblock.catalog.tables import Table


class Original(Table, frozen=True):
    """The effect of monkey patching on a name of the standard library that was bound before."""

    symbol: str
    patch: str
    """The part of ``patch_all`` that replaces it: ``time``, ``socket``, ``threading`` …"""
    level: Literal["error", "warning"]
    why: str
    evidence: Evidence
    kept: bool = True
    """True if the name itself is stale: ``from time import sleep``."""
    made: bool = False
    """True if objects made by it are stale: ``lock = threading.Lock()``."""
    waits_in: str = ""
    """The method that blocks, if only one does: without a call of it the name does no harm."""
    python_3: bool = False
    """True if Python 2 has no such effect."""


class Import(Table, frozen=True):
    """The effect of importing a module on the names of the standard library."""

    module: str
    """Its dotted name; submodules have the same effect."""
    evidence: Evidence
    keeps: tuple[str, ...] = ()
    """The originals that it binds; later patches do not replace them there."""
    patches: bool = False
    """True if the import itself applies all monkey patches."""
    hub: tuple[str, ...] = ()
    """Names of the module that run what they receive in greenlets: a process that imports it and
    uses one of them runs on gevent, though its own code may never mention gevent."""
    seldom: bool = False
    """True if the package waits in what it keeps only in retries, while a server is away."""
    chosen_by: tuple[Choice, ...] = ()
    """Strings that make a library import it."""


class Waiter(Table, frozen=True):
    """A package that waits in modules of the standard library."""

    distribution: str
    imports: tuple[str, ...]
    """Its packages."""
    modules: tuple[str, ...]
    """The modules of the standard library whose locks and queues it waits for."""
    unless: tuple[str, ...] = ()
    """Its modules for gevent: a file that mentions one of them does not make it wait."""
