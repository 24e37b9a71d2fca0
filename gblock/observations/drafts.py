"""Catalog entries for what probes saw block and the catalog does not know.

A draft is a valid entry that a person must review and measure, and to which the remedy is missing.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gblock.catalog.lookup import Catalog
    from gblock.observations import Observations, ObservedSite

_KINDS = {"waits": ("waits", "error"), "cpu": ("cpu", "warning"), "gil": ("cpu", "warning")}
_SYMBOL = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def drafts(observed: Observations, known: Catalog, read: Callable[[str], str] | None = None) -> str:
    """Return TOML for a file of the user's own, which `extend-catalog` names.

    Blockers in order of their ids, then what cannot be drafted, as comments.

    Args:
        observed: What probes saw.
        known: The catalog.
        read: Returns a sentence about a symbol from its machine code, empty if nothing is known;
            None to read no machine code.
    """
    by_symbol: dict[str, list[ObservedSite]] = {}
    unnamed = 0
    unpatched: set[str] = set()
    for site in observed.blamed:
        if site.blockers or site.kind not in _KINDS:
            continue
        if site.is_cooperative and site.symbol:
            unpatched.add(site.symbol)
        elif site.symbol and _SYMBOL.fullmatch(site.symbol):
            by_symbol.setdefault(site.symbol, []).append(site)
        else:
            unnamed += 1
    blocks: dict[str, str] = {}
    for symbol, sites in sorted(by_symbol.items()):
        taken = known.by_id.keys() | blocks.keys()
        name = identifier(symbol, taken)
        blocks[name] = _block(name, symbol, sites, read(symbol) if read is not None else "")
    parts = [_HEAD] if blocks else []
    parts += [blocks[name] for name in sorted(blocks)]
    if unnamed:
        what = "call site" if unnamed == 1 else "call sites"
        reason = "the probe could not name what was called"
        parts.append(f"# {unnamed} {what} without a draft: {reason}.\n")
    # An entry would be about every call of that name, also where it is patched.
    for symbol in sorted(unpatched):
        parts.append(f"# No draft of {symbol}: it is known to cooperate once gevent has patched.\n")
    if not parts:
        return "# The catalog knows every call that was seen to block.\n"
    return "\n".join(parts)


_HEAD = """\
# Drafts from what probes saw: read them, name the remedy in `instead`, measure it if you can.
# [tool.gblock] extend-catalog = ["blockers.toml"] lets `gblock check` look for them.
"""


def identifier(symbol: str, taken: Iterable[str]) -> str:
    """Return a new id for an entry about a symbol."""
    words = re.findall(r"[a-z0-9]+", symbol.lower())
    base = name = "-".join(words) or "blocker"
    number = 2
    while name in taken:
        name = f"{base}-{number}"
        number += 1
    return name


def _block(name: str, symbol: str, sites: list[ObservedSite], found: str) -> str:
    worst = max(sites, key=lambda site: site.longest)
    kind, level = _KINDS[max(sites, key=lambda site: site.times).kind]
    count = sum(site.times for site in sites)
    total = sum(site.total for site in sites)
    places = f" at {len(sites)} call sites" if len(sites) > 1 else ""
    short = symbol.rpartition(".")[2]
    through = [*dict.fromkeys(n for site in sites for n in (*site.native, *site.syscalls))][:3]
    verb = "wait" if kind == "waits" else "work"
    inside = f" in {', '.join(through)}" if through else ""
    why = f"{short}() was seen to {verb}{inside}, which blocked the hub for {worst.longest:.3g} s."
    releases = kind == "waits"
    if kind == "waits" or all(site.kind == "gil" for site in sites):
        gil = f"releases_gil = {'true' if releases else 'false'}\n"
    else:
        gil = ""
    instead = (
        f"Call it in the hub's threadpool: `gevent.get_hub().threadpool.apply({short}, ...)`."
        if releases
        else "Run it in another process, or in pieces with `gevent.sleep(0.001)` between them."
    )
    times = "once" if count == 1 else f"{count:,} times, {total:.3g} s in all"
    seen = f"seen {times}{places}: median {worst.median:.3g} s, p95 {worst.p95:.3g} s"
    evidence = [
        f"call = {text(seen)}",
        f"elapsed = {worst.longest:.4f}",
        f"max_gap = {worst.longest:.4f}",
    ]
    if found:
        evidence.append(f"found = {text(found)}")
    if worst.unfinished:
        evidence.append("returned = false")
    evidence += [
        f"{key} = {text(value)}"
        for key, value in (("python", worst.python), ("gevent", worst.gevent))
        if value
    ]
    return (
        "[[blocker]]\n"
        f"id = {text(name)}\n"
        f"distribution = {text(_distribution(symbol))}\n"
        f"symbols = [{text(symbol)}]\n"
        f'kind = "{kind}"\n'
        f'level = "{level}"\n'
        f"why = {text(why)}\n"
        f"instead = {text(instead)}\n"
        f"{gil}"
        "[blocker.evidence]\n" + "\n".join(evidence) + "\n"
    )


def _distribution(symbol: str) -> str:
    """Return the installed distribution of that name, else the package's own name."""
    top = symbol.partition(".")[0]
    if top in sys.stdlib_module_names or top == "builtins":
        return "stdlib"
    from importlib.metadata import packages_distributions

    return next(iter(packages_distributions().get(top, ())), top)


def text(value: str) -> str:
    """Return a TOML string, which is JSON's once unprintable characters are replaced."""
    clean = "".join(c if c.isprintable() else "?" for c in value)
    return json.dumps(clean, ensure_ascii=False)
