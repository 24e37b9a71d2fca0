"""Packages without an entry in the catalog, as blocks of a catalog.

Each is one blocker for all calls into its modules. Methods with results from machine code get
blockers of their own, which are looked up first.
"""

from __future__ import annotations

import os

from gblock.catalog.lookup import Catalog
from gblock.native.store import Store
from gblock.observations.drafts import text
from gblock.outline import Outline
from gblock.packages import machine_code
from gblock.packages.environment import Distribution, Environment
from gblock.packages.verdicts import unknown

_MOST_BYTES = 24 << 20
"""Bytes of a package's modules that a check reads; larger ones are left to `gblock deps`."""
_MOST_SYMBOLS = 2_000


def outline(environment: Environment, catalog: Catalog) -> Outline:
    """Return the compiled distributions without an entry in the catalog, as a catalog file."""
    store = Store(keeps=False)
    blocks = []
    for one in unknown(environment, catalog):
        symbols = [f"{module}.**" for module in one.modules]
        why = f"{one.name} has compiled modules, and the catalog knows nothing of them."
        blocks.append(_block(one, one.key, symbols, why))
        blocks += _read(one, catalog, store)
    return Outline("".join(blocks).encode(), environment.name)


def _read(distribution: Distribution, catalog: Catalog, store: Store) -> list[str]:
    """Return the blocks of the methods with results from machine code."""
    paths = [os.path.join(distribution.base, file) for file in distribution.compiled]
    if not machine_code.is_within(paths, _MOST_BYTES):
        return []
    methods = machine_code.of(distribution, catalog, store).methods[:_MOST_SYMBOLS]
    alike: dict[str, list[str]] = {}
    for one in methods:
        alike.setdefault(f"its machine code {machine_code.described(one)}", []).append(one.symbol)
    return [
        _block(distribution, f"{distribution.key}-{number}", symbols, why)
        for number, (why, symbols) in enumerate(sorted(alike.items()), 1)
    ]


def _block(distribution: Distribution, key: str, symbols: list[str], why: str) -> str:
    name = distribution.name
    instead = (
        f"Measure the call with `gblock trial`; name {name} in a block [[harmless]] of a file in "
        "extend-catalog if it comes back at once, or describe the call in a block [[blocker]]."
    )
    return f"""
[[blocker]]
id = {text(f"unknown-native-call-{key}")}
distribution = {text(name)}
symbols = [{", ".join(map(text, symbols))}]
kind = "unknown"
level = "opt-in"
why = {text(why)}
instead = {text(instead)}
[blocker.evidence]
reference = {text(distribution.version)}
"""
