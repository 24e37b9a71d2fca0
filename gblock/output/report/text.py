"""Observations for people: the answer, then each call site with its figures."""

from __future__ import annotations

from gblock.output.report import facts
from gblock.output.seconds import moment, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.observations import Observations, ObservedSite

_STYLES = {
    "waits": "bold red",
    "cpu": "bold yellow",
    "gil": "bold magenta",
    "gc": "bold cyan",
}
_HEAD = ("count", "total", "median", "p95", "max", "last seen (UTC)", "class")


def render(observed: Observations, width: int | None) -> str:
    """Return the whole report: coloured for a terminal of that width, plain without one."""
    rows = [_figures(site) for site in observed.sites]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    if width is not None:
        return _coloured(observed, rows, widths, width)
    lines = [facts.verdict(observed), ""]
    if rows:
        lines.append(_row(_HEAD, widths))
    for site, row in zip(observed.sites, rows, strict=True):
        lines += [_row(row, widths), f"    {facts.where(site)}"]
        lines += [f"    {label:>10}: {text}" for label, text in facts.facts(site)]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _figures(site: ObservedSite) -> tuple[str, ...]:
    times = (site.total, site.median, site.p95, site.longest)
    return (f"{site.times:,}", *map(seconds, times), moment(site.last), facts.classes(site))


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    *figures, last, kind = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join((*figures, last, kind.strip())).rstrip()


def _coloured(
    observed: Observations, rows: list[tuple[str, ...]], widths: list[int], width: int
) -> str:
    from rich.text import Text

    from gblock.output.terminal import Page

    page = Page(width)
    style = {"blocked": "bold red", "nothing": "bold green"}.get(observed.verdict, "bold yellow")
    page.wrapped(Text(facts.verdict(observed), style=style), "")
    page.line()
    if rows:
        page.line(Text(_row(_HEAD, widths), style="dim"))
    for site, row in zip(observed.sites, rows, strict=True):
        kind = _STYLES.get(site.kind, "dim")
        figures = _row(row, widths)
        line = Text(figures)
        line.stylize(kind, len(figures) - len(row[-1]))
        page.line(line)
        page.line(Text(f"    {facts.where(site)}", style="bold"))
        for label, text in facts.facts(site):
            page.wrapped(Text(text), f"    {label:>10}: ")
        page.line()
    return page.text.rstrip("\n") + "\n"
