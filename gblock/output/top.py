"""The page of `gblock top`: what blocks the hub now, and the busiest call sites."""

from __future__ import annotations

import time

from gblock.output.place import printable
from gblock.output.report import facts
from gblock.output.seconds import moment, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.observations import Block, Observations

_ROWS = 15


def render(observed: Observations, now: float, width: int | None) -> str:
    """Return one page: coloured for a terminal of that width, plain without one."""
    running = [each for each in observed.processes if each.state == "running"]
    lines = [f"{moment(now)} UTC: {len(running):,} of {len(observed.processes):,} processes run"]
    lines += ["", "blocking now"]
    lines += [_lasting(observed, block, now) for block in _open(observed)] or ["    nothing"]
    lines += ["", f"{'count':>7}  {'total':>9}  {'share':>6}  {'max':>9}  call site"]
    watched = sum(each.last - each.started for each in observed.processes) or 1.0
    for site in observed.sites[:_ROWS]:
        share = f"{100 * site.total / watched:.1f} %"
        figures = f"{site.times:>7,}  {seconds(site.total):>9}  {share:>6}"
        called = f": {facts.called(site)}" if facts.called(site) else ""
        what = f"{facts.where(site)}{called}"
        lines.append(f"{figures}  {seconds(site.longest):>9}  {what} [{facts.classes(site)}]")
    if len(observed.sites) > _ROWS:
        lines.append(f"{len(observed.sites) - _ROWS} more call sites")
    if width is None:
        return "\n".join(lines) + "\n"
    return _coloured(lines, width)


def _open(observed: Observations) -> list[Block]:
    """Return the blocks that last in processes that run, the longest first."""
    found = [
        block
        for block in observed.blocks
        if not block.finished and observed.processes[block.process].state == "running"
    ]
    return sorted(found, key=lambda block: block.start)


def _lasting(observed: Observations, block: Block, now: float) -> str:
    process, site = observed.processes[block.process], observed.sites[block.site]
    called = f": {facts.called(site)}" if facts.called(site) else ""
    return f"    {facts.label(process)}  {seconds(now - block.start)}  {facts.where(site)}{called}"


def _coloured(lines: list[str], width: int) -> str:
    from rich.text import Text

    from gblock.output.terminal import Page

    page = Page(width)
    for line in lines:
        style = "bold red" if line.startswith("    ") and line.strip() != "nothing" else ""
        style = "bold" if line == "blocking now" or "call site" in line[:50] else style
        text = Text(printable(line), style=style)
        text.truncate(width, overflow="ellipsis")
        page.line(text)
    return page.text


def show(page: Callable[[], str], interval: float) -> int:
    """Show pages until SIGINT.

    Args:
        page: Makes one.
        interval: Seconds between two pages; more if it takes long to make one.
    """
    from rich.live import Live
    from rich.text import Text

    with Live(Text.from_ansi(page()), auto_refresh=False, screen=True) as live:
        try:
            while True:
                begun = time.monotonic()
                live.update(Text.from_ansi(page()), refresh=True)
                taken = time.monotonic() - begun
                time.sleep(max(interval, 2 * taken))
        except KeyboardInterrupt:
            return 0
