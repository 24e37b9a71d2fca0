"""Compare two versions of a package by their machine code."""

from __future__ import annotations

from typing import NamedTuple

from gblock.packages import machine_code, wheel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.catalog.lookup import Catalog
    from gblock.packages.machine_code import MachineCode


class MethodChange(NamedTuple):
    """One method that differs between two versions."""

    symbol: str
    kind: str
    """``new``, ``changed`` (it has another tier) or ``gone``."""
    old: str
    """Its tier in the older version, empty if it had none."""
    new: str
    waits: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()


class Comparison(NamedTuple):
    """The differences between two versions."""

    old: MachineCode
    new: MachineCode
    changes: tuple[MethodChange, ...]


def compare(old: str, new: str, known: Catalog) -> Comparison:
    """Return the methods that are new, gone, or of another tier.

    Args:
        old: The older wheel, or a directory that it was unpacked to.
        new: The newer one.
        known: The catalog.

    Raises:
        UserError: if one is no wheel, cannot be read, or exceeds the size limit.
    """
    before, after = _read(old, known), _read(new, known)
    return Comparison(before, after, _changes(before, after))


def _read(path: str, known: Catalog) -> MachineCode:
    with wheel.opened(path) as distribution:
        return machine_code.of(distribution, known)


def _changes(old: MachineCode, new: MachineCode) -> tuple[MethodChange, ...]:
    before = {one.symbol: one for one in old.methods}
    after = {one.symbol: one for one in new.methods}
    changes = []
    for symbol in sorted({*before, *after, *(new.natives - old.natives)}):
        was, now = before.get(symbol), after.get(symbol)
        tiers = was.reading.tier if was else "", now.reading.tier if now else ""
        if was is None and symbol not in old.natives:
            kind = "new"
        elif now is None and symbol not in new.natives:
            kind = "gone"
        elif tiers[0] == tiers[1]:
            continue
        else:
            kind = "changed"
        if now is None:
            changes.append(MethodChange(symbol, kind, *tiers))
        else:
            way = (*now.through, *now.reading.chain)
            changes.append(MethodChange(symbol, kind, *tiers, now.reading.waits, way))
    return tuple(changes)
