"""Measure the stories' naive code after ``gblock check --fix --unsafe-fixes``.

    python -m benchmarks.fixes              prints the table of docs/fixes.md
    python -m benchmarks.fixes --update     writes it there
    python -m benchmarks.fixes --runs 1     one run of each, five otherwise

Each of the naive programs about Kafka is copied, fixed by nothing but gblock, and run as the story
runs it, next to the naive and the corrected one. The probe watches one more run.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import pages
from benchmarks.stories import kafka_consumer, kafka_flush
from benchmarks.stories.story import ROOT, checked, clean_environment, observed, probing, versions

PAGE = ROOT / "docs" / "fixes.md"
FIXED = "fixed"
VARIANTS = ("naive", FIXED, "corrected")


class Program(NamedTuple):
    """One story's program, and how it is measured."""

    folder: Path
    what: str
    unit: str
    run: Callable[..., float]
    """Called with the variant's folder; returns the figure."""
    watched: Callable[..., object]
    """The run that the probe watches."""


def _consumer(folder: str, **more: str) -> float:
    figures = kafka_consumer.measured(folder, 100, 5, 0.0, **more)
    late = figures["late"]
    assert isinstance(late, dict)
    return float(late["max"])


PROGRAMS = (
    Program(
        kafka_consumer.FOLDER,
        "consumer: other greenlets late by up to",
        "s",
        _consumer,
        lambda folder, **more: kafka_consumer.measured(folder, 10, 1, 0.5, **more),
    ),
    Program(
        kafka_flush.FOLDER,
        "migration: events a second, 7 greenlets, brokers 50 ms away",
        "",
        lambda folder, **more: kafka_flush.measured(folder, 7, 3, kafka_flush.ROUND_TRIP, **more),
        lambda folder, **more: kafka_flush.measured(folder, 2, 3, 0.3, **more),
    ),
)


@contextlib.contextmanager
def fixed(program: Program) -> Iterator[Path]:
    """Copy a program's naive code and fix it with the command line alone.

    Raises:
        RuntimeError: if gblock still reports something.
    """
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / FIXED
        shutil.copytree(program.folder / "naive", directory)
        command = [sys.executable, "-m", "gblock", "check", "--isolated", "--fix", "--unsafe-fixes"]
        done = subprocess.run(
            [*command, "."], cwd=directory, env=clean_environment(), capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        yield directory


def seen(program: Program, directory: Path) -> tuple[list[str], list[str]]:
    """Return what the linter reports of a variant, and what the probe saw block in it."""
    with tempfile.TemporaryDirectory() as folder:
        program.watched(str(directory), **probing(folder))
        return checked(directory), observed(folder, directory)


def table(runs: int) -> str:
    """Measure all programs and return the table."""
    lines = ["| | naive | fixed by gblock | corrected by hand |", "|---|---|---|---|"]
    blocks: dict[str, list[str]] = {variant: [] for variant in VARIANTS}
    for program in PROGRAMS:
        with fixed(program) as own:
            folders = {
                "naive": program.folder / "naive",
                FIXED: own,
                "corrected": program.folder / "corrected",
            }
            figures: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
            for _ in range(runs):
                for variant in VARIANTS:
                    figures[variant].append(program.run(str(folders[variant])))
            cells = [_cell(figures[variant], program.unit) for variant in VARIANTS]
            lines.append(f"| {program.what} | {' | '.join(cells)} |")
            for variant in VARIANTS:
                blocks[variant] += seen(program, folders[variant])[1]
    counts = [str(len(blocks[variant])) for variant in VARIANTS]
    lines.append(f"| lines that the probe saw block for 0.1 s and more | {' | '.join(counts)} |")
    using = ", ".join(f"{name} {version}" for name, version in versions("confluent-kafka").items())
    return "\n".join([*lines, "", f"Medians of {runs} runs, smallest to largest. {using}.", ""])


def _cell(figures: list[float], unit: str) -> str:
    def shown(figure: float) -> str:
        if unit == "s":
            return f"{figure * 1000:.0f} ms"
        return f"{figure:.0f}"

    low, middle, high = min(figures), statistics.median(figures), max(figures)
    return f"{shown(middle)} ({shown(low)} to {shown(high)})"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    text = table(options.runs)
    print(text)
    if options.update:
        pages.write(PAGE, text)


if __name__ == "__main__":
    main()
