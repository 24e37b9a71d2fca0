"""The table of a project's dependencies, for people or for programs."""

from __future__ import annotations

from collections import Counter

from gblock.files import relative_name
from gblock.output.place import printable
from gblock.output.summary import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.catalog.blockers import Blocker
    from gblock.packages.dependencies import Dependencies, Dependency
    from gblock.project.reading.imports import ImportLine

FORMATS = ("text", "json")
_BLOCKERS_NAMED = 3
"""The number of blockers named for each distribution, unless there are few more."""
_HEAD = ("distribution", "verdict", "imported by")
_STYLES = {
    "blocks": "bold red",
    "unknown": "bold yellow",
    "cooperative": "bold green",
    "costly": "bold",
    "opt-in": "bold",
}


def render(name: str, shown: Sequence[Dependency], width: int | None) -> str:
    """Return the table, or an array of objects for programs.

    Args:
        name: One of the `FORMATS`.
        shown: The dependencies to list.
        width: The terminal's columns; None without colour.
    """
    if name == "json":
        import json

        return json.dumps([_described(one) for one in shown], indent=2) + "\n"
    if not shown:
        return ""
    rows = [_row(one) for one in shown]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    if width is not None:
        return _coloured(shown, rows, widths, width)
    lines = [_line(_HEAD, widths)]
    for one, row in zip(shown, rows, strict=True):
        lines += [_line(row, widths), *(f"    {fact}" for fact in _facts(one))]
    return "".join(f"{line}\n" for line in lines)


def summary(dependencies: Dependencies, shown: Sequence[Dependency]) -> str:
    """Return one line: the number of installed packages, and of those not shown."""
    native = [one for one in dependencies.all if one.distribution.is_native]
    kinds = Counter(one.kind for one in dependencies.all if one.kind != "pure")
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    installed = counted(len(dependencies.all), "distribution")
    text = f"{installed} in {relative_name(dependencies.environment)}, {len(native)} compiled"
    hidden = len(dependencies.all) - len(shown)
    more = f" {hidden} not shown: see --all." if hidden else ""
    measure = " Measure a call of what is unknown with `gblock trial`."
    if not any(one.kind == "unknown" for one in shown):
        measure = ""
    return printable(f"{text}{f': {listed}' if listed else ''}.{more}{measure}")


def _row(one: Dependency) -> tuple[str, str, str]:
    name = printable(f"{one.distribution.name} {one.distribution.version}")
    if not one.imports:
        return name, one.kind, "-"
    first, *others = one.imports
    where = _place(first) + (f" and {counted(len(others), 'more file')}" if others else "")
    return name, one.kind, where


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _place(one: ImportLine) -> str:
    return f"{printable(relative_name(one.path))}:{one.row}"


def _facts(one: Dependency) -> list[str]:
    """Return the details of a distribution, one line each."""
    facts = []
    verdict = one.verdict
    if one.kind in ("blocks", "cooperative"):
        facts.append(
            _blockers("not made cooperative" if one.kind == "cooperative" else "", one.left)
        )
        facts += [
            f"cooperative after {remedy.symbol}, called at "
            f"{printable(relative_name(remedy.path))}:{remedy.row}"
            for remedy in one.remedies
        ]
        after = dict.fromkeys(s for b in one.left for s in b.cooperative_after)
        if after and not one.remedies:
            facts.append(f"cooperative after {' or '.join(list(after)[:2])}")
    elif one.kind == "opt-in":
        facts.append(_blockers("off unless selected", verdict.others))
    elif one.kind == "costly":
        facts.append(_blockers("cheap once, many add up", verdict.others))
    elif one.kind == "harmless" and verdict.harmless is not None:
        facts.append(verdict.harmless.why)
    elif one.kind == "unknown":
        names = one.distribution.compiled or one.distribution.libraries
        # The module that mypyc adds to a package has a meaningless name.
        shown = next((name for name in names if "__mypyc" not in name), names[0])
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        facts.append(f"compiled: {printable(shown)}{more}")
    if one.kind == "blocks" and not one.distribution.is_native:
        facts.append("no compiled code of its own")
    if not one.imports and one.required_by and one.kind != "pure":
        facts.append(f"required by {', '.join(sorted(one.required_by, key=str.lower))}")
    return [fact for fact in facts if fact]


def _blockers(label: str, blockers: Sequence[Blocker]) -> str:
    if not blockers:
        return ""
    names = [blocker.id for blocker in blockers]
    more = f" and {len(names) - _BLOCKERS_NAMED} more" if len(names) > _BLOCKERS_NAMED + 1 else ""
    text = ", ".join(names[:_BLOCKERS_NAMED] if more else names) + more
    return f"{label}: {text}" if label else f"{counted(len(names), 'blocker')}: {text}"


def _coloured(
    shown: Sequence[Dependency],
    rows: Sequence[tuple[str, str, str]],
    widths: Sequence[int],
    width: int,
) -> str:
    from rich.text import Text

    from gblock.output.terminal import Page

    page = Page(width)
    page.line(Text(_line(_HEAD, widths), style="dim"))
    for one, row in zip(shown, rows, strict=True):
        name, kind, where = row
        head = Text.assemble(
            (f"{name:<{widths[0]}}", "bold"),
            "  ",
            (f"{kind:<{widths[1]}}", _STYLES.get(kind, "dim")),
            "  ",
        )
        if head.cell_len + len(where) <= page.width:
            page.line(Text.assemble(head, where))
        else:
            page.line(head)
            page.wrapped(Text(where), "    ")
        for fact in _facts(one):
            page.wrapped(Text(fact), "    ")
    return page.text


def _described(one: Dependency) -> dict[str, object]:
    distribution, verdict = one.distribution, one.verdict
    left = {blocker.id for blocker in one.left}
    evidence = verdict.harmless.evidence if verdict.harmless else None
    return {
        "distribution": distribution.name,
        "version": distribution.version,
        "verdict": one.kind,
        "compiled": list(distribution.compiled),
        "libraries": list(distribution.libraries),
        "modules": list(distribution.modules),
        "source": distribution.source,
        "blockers": [
            {
                "id": blocker.id,
                "level": blocker.level,
                "cooperative_after": list(blocker.cooperative_after),
                "cooperative": blocker in verdict.blockers and blocker.id not in left,
            }
            for blocker in (*verdict.blockers, *verdict.others)
        ],
        "remedies": [
            {
                "symbol": remedy.symbol,
                "filename": relative_name(remedy.path),
                "location": {"row": remedy.row, "column": 1},
            }
            for remedy in one.remedies
        ],
        "harmless": verdict.harmless.why if verdict.harmless else None,
        "measured": {
            "version": evidence.version,
            "call": evidence.call,
            "seconds": evidence.elapsed,
            "max_gap": evidence.max_gap,
        }
        if evidence is not None and evidence.measured
        else None,
        "files": len(one.imports),
        "imports": [
            {
                "filename": relative_name(each.path),
                "location": {"row": each.row, "column": each.column},
            }
            for each in one.imports
        ],
        "required_by": list(one.required_by),
    }
