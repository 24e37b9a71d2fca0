"""Draws a story's pictures as SVG, with matplotlib."""

from __future__ import annotations

import io
from pathlib import Path

from benchmarks.stories.story import Picture

_TONES = {"naive": "#c0392b", "corrected": "#1e8449", "other": "#7f8c8d"}
"""The same colour for the same kind of code in all pictures."""
_STYLES = ("-", "--", ":", "-.")
"""They distinguish lines of one colour."""


def draw(picture: Picture, path: Path) -> None:
    """Write one picture."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "gblock"
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["font.family"] = "sans-serif"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4), layout="constrained")
    if picture.kind == "lines":
        drawn: dict[str, int] = {}
        for series in picture.series:
            (tone,) = series.tones
            style = _STYLES[drawn.get(tone, 0)]
            drawn[tone] = drawn.get(tone, 0) + 1
            axes.plot(series.x, series.y, style, marker="o", color=_TONES[tone], label=series.label)
        axes.set_ylim(bottom=0)
        axes.set_xticks(picture.series[0].x)
        axes.set_xlabel(picture.x_label)
        axes.set_ylabel(picture.y_label)
        axes.grid(alpha=0.3)
    else:
        height = 0.8 / len(picture.series)
        for number, series in enumerate(picture.series):
            places = [index + number * height for index in range(len(series.x))]
            colours = [_TONES[tone] for tone in series.tones * (len(series.x) // len(series.tones))]
            bars = axes.barh(places, series.y, height * 0.9, color=colours, label=series.label)
            axes.bar_label(bars, fmt=_label, padding=3, fontsize=9)
        middle = 0.8 / 2 - height / 2
        axes.set_yticks([index + middle for index in range(len(picture.series[0].x))])
        axes.set_yticklabels(picture.series[0].x)
        axes.invert_yaxis()
        axes.set_xlabel(picture.y_label)
        axes.margins(x=0.12)
        axes.grid(alpha=0.3, axis="x")
    axes.set_title(picture.title)
    axes.spines[["top", "right"]].set_visible(False)
    if len(picture.series) > 1:
        axes.legend(frameon=False)
    page = io.StringIO()
    figure.savefig(page, format="svg", metadata={"Date": None})
    plt.close(figure)
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
