"""The table of a project's processes, for people or for programs."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes

_PLACES_SHOWN = 3
"""The number of places shown for each process in the table."""
_UNPATCHED_NAMED = 4
"""The number of unpatched modules to name; if there are more, the patched ones are named."""
_COLUMNS = ("PROCESS", "KIND", "GEVENT", "PATCHED", "MODULES", "WHY", "EVIDENCE")


def table(processes: Processes, name: str = "text", width: int | None = None) -> str:
    """Return aligned columns or, for the format ``json``, an array of objects.

    Args:
        processes: The processes.
        name: ``text`` or ``json``.
        width: The terminal's columns, None without a terminal. A row that is too wide is shown on
            several lines.
    """
    root = processes.root
    found = processes.all()
    if name == "json":
        import json

        return json.dumps([_described(one, processes, root) for one in found], indent=2) + "\n"
    if not found:
        return "no process found\n"
    rows = [_COLUMNS, *(_row(process, processes, root) for process in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        return "\n".join(_block(row, width) for row in rows[1:])
    return "".join(
        "  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in rows
    )


def _block(row: tuple[str, ...], width: int) -> str:
    """Return one process on several lines that fit a terminal of this width."""
    import textwrap

    name, kind, gevent, patched, modules, why, evidence = row
    lines = [f"{kind}, {modules} modules", f"gevent: {gevent}, {why}"]
    lines += [f"patched: {patched}"] if patched != "-" else []
    lines.append(f"evidence: {evidence}")
    wrapped = [
        part
        for line in lines
        for part in textwrap.wrap(
            line,
            max(width, 40),
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
    return "\n".join([name, *wrapped]) + "\n"


def _row(process: Process, processes: Processes, root: str) -> tuple[str, ...]:
    evidence = [_place(one.path, one.row, root) for one in process.evidence]
    more = len(evidence) - _PLACES_SHOWN
    shown = ", ".join(evidence[:_PLACES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    why = process.why
    if process.drivers:
        why += "; " + ", ".join(
            sorted(
                {f"{one.symbol} in {_place(one.path, one.row, root)}" for one in process.drivers}
            )
        )
    return (
        process.name,
        "demo" if process.demo else process.kind,
        process.runs_on_gevent,
        _patched(process),
        str(len(processes.modules_of(process))),
        why,
        shown,
    )


def _patched(process: Process) -> str:
    """Return in a few words which modules are patched; nothing for a process without gevent."""
    if process.runs_on_gevent == "no":
        return "-"
    text = process.patched
    if process.patched == "partial" and len(process.missing) <= _UNPATCHED_NAMED:
        text += f", not {', '.join(process.missing)}"
    elif process.patched == "partial":
        patched = frozenset[str]().union(*(patch.patched for patch in process.patches))
        text += f", only {', '.join(sorted(patched))}"
    return f"{text}, application preloaded" if process.preload else text


def _described(process: Process, processes: Processes, root: str) -> dict[str, object]:
    return {
        "process": process.name,
        "kind": process.kind,
        "demo": process.demo,
        "runs_on_gevent": process.runs_on_gevent,
        "why": process.why,
        "patched": process.patched,
        "missing": list(process.missing),
        "preload": process.preload,
        "evidence": [
            {"filename": _relative(one.path, root), "row": one.row, "text": one.text}
            for one in process.evidence
        ],
        "patches": [
            {
                "filename": _relative(one.path, root),
                "row": one.row,
                "symbol": one.symbol,
                "kinds": list(one.kinds),
            }
            for one in (*process.patches, *process.drivers)
        ],
        "entries": [_relative(path, root) for path in process.entries],
        "modules": sorted(_relative(path, root) for path in processes.modules_of(process)),
    }


def _place(path: str, row: int, root: str) -> str:
    return f"{_relative(path, root)}:{row}"


def _relative(path: str, root: str) -> str:
    return os.path.relpath(path, root)
