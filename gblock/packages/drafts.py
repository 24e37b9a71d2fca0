"""Draft catalog entries from machine code: valid entries that a person must review and measure.

``python -m tests.evidence`` and ``gblock trial`` measure a draft; until then it states its origin.
"""

from __future__ import annotations

from gblock.observations.drafts import identifier, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.catalog.lookup import Catalog
    from gblock.packages.machine_code import MachineCode, TieredMethod

_HEAD = """\
# Drafts from machine code: nothing was measured. Read them, try a call with `gblock trial`, name
# the remedy in `instead`.
# [tool.gblock] extend-catalog = ["blockers.toml"] lets `gblock check` look for them.
"""
_HIDDEN = ("__del__", "__new__")


def drafts(found: Sequence[MachineCode], known: Catalog) -> str:
    """Return TOML with an entry for each type with waiting methods that the catalog lacks.

    Only the surest tier is drafted: methods that release the GIL around a named wait.
    """
    blocks: dict[str, str] = {}
    for one in found:
        by_owner: dict[str, list[TieredMethod]] = {}
        for method in one.methods:
            owner, _, name = method.symbol.rpartition(".")
            if method.reading.tier == "waits" and not method.blockers and name not in _HIDDEN:
                by_owner.setdefault(owner, []).append(method)
        for owner, methods in sorted(by_owner.items()):
            name = identifier(f"{one.name} {owner}", known.by_id.keys() | blocks.keys())
            blocks[name] = _block(name, one, methods)
    if not blocks:
        return "# The machine code names no wait that the catalog does not know.\n"
    return "\n".join([_HEAD, *(blocks[name] for name in sorted(blocks))])


def _block(name: str, one: MachineCode, methods: Sequence[TieredMethod]) -> str:
    symbols = ", ".join(text(_public(each.symbol)) for each in methods)
    first = methods[0]
    waited = ", ".join(dict.fromkeys(wait for each in methods for wait in each.reading.waits[:2]))
    short = first.symbol.rpartition(".")[2]
    way = " → ".join((*first.through, *first.reading.chain))
    why = f"{one.name} releases the GIL around {waited}, and the hub waits for it."
    instead = f"Call it in the hub's threadpool: `gevent.get_hub().threadpool.apply({short}, ...)`."
    reference = f"machine code of {one.name} {one.version}, not measured: {first.symbol}: {way}"
    return (
        "[[blocker]]\n"
        f"id = {text(name)}\n"
        f"distribution = {text(one.name)}\n"
        f"symbols = [{symbols}]\n"
        'kind = "waits"\n'
        'level = "error"\n'
        f"why = {text(why)}\n"
        f"instead = {text(instead)}\n"
        "releases_gil = true\n"
        "[blocker.evidence]\n"
        f"reference = {text(reference)}\n"
    )


def _public(symbol: str) -> str:
    """Return the public name: a constructor is called by the name of its type."""
    return symbol.removesuffix(".__init__")
