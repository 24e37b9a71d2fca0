"""The results of reading machine code, for people or for programs."""

from __future__ import annotations

from collections import Counter

from gblock.output.place import printable
from gblock.output.summary import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.packages.comparison import Comparison
    from gblock.packages.machine_code import MachineCode, TieredMethod

FORMATS = ("text", "json")
_HEADS = {
    "waits": "releases the GIL around a function that waits",
    "held": "reaches a function that waits with the GIL held",
    "leaves": "releases the GIL for an unknown reason",
}
_NAMES_SHOWN = 8
"""The number of names in a line."""


def render(name: str, found: Sequence[MachineCode], *, everything: bool = False) -> str:
    """Return the pages of some packages, or an array of objects for programs.

    Args:
        name: One of the `FORMATS`.
        found: The results.
        everything: Whether to list Python functions, and each method of the tier ``leaves``.
    """
    if name == "json":
        import json

        return json.dumps([_described(one) for one in found], indent=2) + "\n"
    return "\n".join(_page(one, everything) for one in found)


def summary(found: Sequence[MachineCode]) -> str:
    """Return one line: the number of packages, and what the tiers do not cover."""
    modules = sum(one.modules for one in found)
    methods = sum(len(one.natives) for one in found)
    unread = sum(len(one.not_read) for one in found)
    tiers = Counter(each.reading.tier for one in found for each in one.methods if each.is_native)
    counts = [f"{tiers[tier]} {tier}" for tier in _HEADS]
    text = (
        f"{counted(methods, 'method')} in {counted(modules, 'module')} of "
        f"{counted(len(found), 'distribution')}: {', '.join(counts)}"
    )
    more = f"; {counted(unread, 'module')} not read as a whole" if unread else ""
    return f"{text}{more}. Methods that are not listed may block, too."


def _page(one: MachineCode, everything: bool) -> str:
    head = f"{one.name} {one.version}".rstrip()
    lines = [
        printable(
            f"{head}: {counted(len(one.natives), 'method')} in {counted(one.modules, 'module')}; "
            f"the catalog says {one.kind}"
        )
    ]
    for tier, title in _HEADS.items():
        found = [each for each in one.methods if each.reading.tier == tier]
        native = [each for each in found if each.is_native]
        above = [each for each in found if not each.is_native]
        if not found:
            continue
        lines.append(f"  {tier}: {title}")
        if tier == "leaves" and not everything:
            names = _short(native)
            more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
            lines.append(f"    {printable(', '.join(names[:_NAMES_SHOWN]))}{more}")
            continue
        for each in native:
            lines += _lines(each)
        if above and everything:
            for each in above:
                lines += _lines(each)
        elif above:
            functions = counted(len(above), "Python function")
            lines.append(f"    {functions} of the package {_end(len(above))} in these: see --all")
    for file, reason in one.not_read:
        lines.append(f"  not read as a whole: {printable(file)}: {printable(reason)}")
    if one.absent:
        lines.append(f"  libraries that were not found: {printable(', '.join(one.absent))}")
    return "".join(f"{line}\n" for line in lines)


def _end(count: int) -> str:
    return "ends" if count == 1 else "end"


def _short(methods: Sequence[TieredMethod]) -> list[str]:
    """Return the names of methods without their common modules."""
    parts = [one.symbol.split(".") for one in methods]
    same = 0
    while all(len(one) > same + 2 and one[same] == parts[0][same] for one in parts):
        same += 1
    return [".".join(one[same:]) for one in parts]


def _lines(one: TieredMethod) -> list[str]:
    known = f"  [{', '.join(one.blockers)}]" if one.blockers else ""
    lines = [f"    {printable(one.symbol)}{known}"]
    way = [*one.through, *one.reading.chain]
    if way:
        lines.append(f"      {printable(' → '.join(way))}")
    others = [name for name in one.reading.waits if name not in one.reading.chain[-1:]]
    if others:
        lines.append(f"      also {printable(', '.join(others))}")
    return lines


def _described(one: MachineCode) -> dict[str, object]:
    return {
        "distribution": one.name,
        "version": one.version,
        "verdict": one.kind,
        "modules": one.modules,
        "methods": len(one.natives),
        "told": [
            {
                "symbol": each.symbol,
                "tier": each.reading.tier,
                "releases_gil": True if each.reading.releases else None,
                "waits": list(each.reading.waits),
                "classes": list(each.reading.classes),
                "through": list(each.through),
                "chain": list(each.reading.chain),
                "blockers": list(each.blockers),
            }
            for each in one.methods
        ],
        "not_read": [{"file": file, "reason": reason} for file, reason in one.not_read],
        "absent": list(one.absent),
    }


def compared(name: str, found: Comparison) -> str:
    """Return the differences between two versions, for people or for programs.

    Args:
        name: One of the `FORMATS`.
        found: The two versions and their differences.
    """
    if name == "json":
        import json

        rows = [
            {
                "symbol": one.symbol,
                "change": one.kind,
                "old": one.old,
                "new": one.new,
                "waits": list(one.waits),
                "chain": list(one.chain),
            }
            for one in found.changes
        ]
        return json.dumps(rows, indent=2) + "\n"
    old, new = found.old, found.new
    lines = [printable(f"{old.name} {old.version} and {new.name} {new.version}")]
    for one in found.changes:
        if one.kind == "gone":
            lines.append(f"  gone     {printable(one.symbol)}, was {one.old or 'without a tier'}")
            continue
        now = one.new or "without a tier"
        if one.kind == "changed":
            now = f"{one.old or 'without a tier'}, now {now}"
        lines.append(f"  {one.kind:<8} {printable(one.symbol)}: {now}")
        if one.chain:
            lines.append(f"           {printable(' → '.join(one.chain))}")
    return "".join(f"{line}\n" for line in lines)
