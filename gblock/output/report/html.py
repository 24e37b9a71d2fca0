"""A self-contained page of the observations: for a ticket, a chat, a post-mortem."""

from __future__ import annotations

from functools import cache

from gblock.output.place import printable
from gblock.output.report import facts
from gblock.output.seconds import moment, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Template

    from gblock.observations import Block, Observations, WatchedProcess

_MOST_ROWS = 60
_MOST_BLOCKS = 1000
"""The limit of blocks in one row: of more, the longest are drawn."""
_NARROWEST = 1.5
"""In thousandths of the width: a shorter block would be invisible."""
_SHORTEST = 8
"""The same for the life of a process, which is to be found and zoomed in on."""
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def render(observed: Observations, _width: int | None = None) -> str:
    """Return the whole page."""
    return _page().render(
        observed=observed,
        verdict=facts.verdict(observed),
        silences=facts.silences(observed),
        kinds={
            kind: facts.KINDS.get(kind, printable(kind))
            for kind in dict.fromkeys((*_seen_kinds(observed),))
        },
        known_kinds=facts.KINDS,
        report=facts,
        line=_time_line(observed),
        hosts=sorted({process.host for process in observed.processes if process.host}),
    )


@cache
def _page() -> Template:
    """Return the compiled template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gblock", "output/report"),
        autoescape=True,  # names of files and functions are not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(seconds=seconds, moment=moment, printable=printable)
    return environment.get_template("page.html.jinja")


def _seen_kinds(observed: Observations) -> list[str]:
    """Return the classes that occur, in the order of their explanations."""
    seen = {block.kind for block in observed.blocks}
    return [kind for kind in facts.KINDS if kind in seen] + sorted(seen - facts.KINDS.keys())


def _time_line(observed: Observations) -> dict[str, object] | None:
    """Return rows and ticks, in thousandths of the total time."""
    processes = observed.processes
    if not processes:
        return None
    start = min(process.started for process in processes)
    end = max(max(process.last for process in processes), start + 1.0)
    by_process: dict[int, list[Block]] = {}
    for block in observed.blocks:
        by_process.setdefault(block.process, []).append(block)
    # Of very many processes, those that were blocked longest.
    order = sorted(range(len(processes)), key=lambda index: -processes[index].blocked)
    shown = sorted(order[:_MOST_ROWS])
    scale = 1000 / (end - start)
    rows = [
        _row(observed, processes[index], by_process.get(index, ()), start, scale) for index in shown
    ]
    return {
        "rows": rows,
        "left_out": len(processes) - len(shown),
        "ticks": _ticks(start, end),
        "start": start,
        "end": end,
    }


def _row(
    observed: Observations,
    process: WatchedProcess,
    blocks: Sequence[Block],
    start: float,
    scale: float,
) -> dict[str, object]:
    drawn = sorted(blocks, key=lambda block: -block.seconds)[:_MOST_BLOCKS]
    return {
        "process": process,
        "label": facts.label(process),
        "command": printable(" ".join(process.command)),
        "x": round((process.started - start) * scale, 2),
        "width": round(max((process.last - process.started) * scale, _SHORTEST), 2),
        "is_short": (process.last - process.started) * scale < _SHORTEST,
        "blocks": [
            {
                # The shortest last, so that none is under another.
                "x": round(min((block.start - start) * scale, 1000 - _NARROWEST), 2),
                "width": round(max(block.seconds * scale, _NARROWEST), 2),
                "kind": block.kind if block.kind in facts.KINDS else "unknown",
                "site": block.site,
                "start": block.start,
                "end": block.start + block.seconds,
                "title": f"{moment(block.start)}: {'' if block.finished else 'at least '}"
                f"{seconds(block.seconds)}, {printable(block.kind)}, "
                f"{facts.where(observed.sites[block.site])}",
            }
            for block in drawn
        ],
        "left_out": process.blocks - len(drawn),
    }


def _ticks(start: float, end: float) -> list[tuple[float, str]]:
    """Return at most six round times, with their places in thousandths."""
    span = end - start
    step = next((step for step in _STEPS if span / step <= 6), 86400 * (int(span / 86400 / 6) + 1))
    first = -(-start // step) * step
    count = int((end - first) / step) + 1
    days = moment(start)[:10] != moment(end)[:10]
    ticks = []
    for index in range(count):
        time = first + index * step
        text = moment(time)
        label = text[5:16] if days else text[11:16] if step >= 60 else text[11:19]
        ticks.append((round((time - start) / span * 1000, 2), label))
    return ticks
