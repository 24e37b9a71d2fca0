"""``flush()`` in a migration: seven greenlets ran like one."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.stories.story import (
    ROOT,
    VARIANTS,
    Machine,
    Picture,
    Result,
    Seen,
    Series,
    Table,
    checked,
    kafka,
    observed,
    probing,
    run,
    spread,
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "Using Kafka with gevent (Close, 2020)"
ROUND_TRIP = 0.05
GREENLETS = (1, 2, 3, 4, 5, 6, 7)
RUNS = 5
QUICK = (1, 4)


def measured(variant: str, greenlets: int, lasting: float, trip: float, **more: str) -> float:
    """Events a second."""
    with kafka(trip) as broker:
        broker.produce("events", 1)
        figures = run(
            [sys.executable, "migration_job.py", str(greenlets)],
            lasting + 60,
            FOLDER / variant,
            STORY_BROKERS=broker.servers,
            STORY_SECONDS=str(lasting),
            PYTHONPATH=os.pathsep.join((str(ROOT), str(FOLDER))),
            **more,
        )
    return float(figures["events"])


def result(quick: bool) -> Result:
    """Measure the story."""
    greenlets, lasting = (QUICK, 2.0) if quick else (GREENLETS, 3.0)
    machine, runs = Machine(), 1 if quick else RUNS
    rates: dict[str, list[list[float]]] = {variant: [[] for _ in greenlets] for variant in VARIANTS}
    for _ in range(runs):
        for index, one in enumerate(greenlets):
            for variant in VARIANTS:
                rates[variant][index].append(measured(variant, one, lasting, ROUND_TRIP))
    medians = {
        variant: [statistics.median(each) for each in rates[variant]] for variant in VARIANTS
    }
    seen = {}
    for variant in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            # The probe records what is longer than its threshold: a slow cluster makes it so.
            measured(variant, 2, 3, 0.3, **probing(folder))
            directory = FOLDER / variant
            seen[variant] = Seen(checked(directory), observed(folder, directory))
    rows = [
        (
            str(one),
            *(spread(rates[variant][index], "{:,.1f}".format) for variant in VARIANTS),
            *(f"{medians[variant][index] / medians[variant][0]:.1f}×" for variant in VARIANTS),
        )
        for index, one in enumerate(greenlets)
    ]
    head = (
        "greenlets", "naive: events/s", "corrected: events/s", "naive: speed-up",
        "corrected: speed-up",
    )  # fmt: skip
    return Result(
        tables=[Table(f"Events a second, brokers {ROUND_TRIP * 1000:.0f} ms away", head, rows)],
        pictures=[
            Picture(
                "flush() in a migration",
                "greenlets",
                "events a second",
                "lines",
                [Series(one, list(greenlets), medians[one], [one]) for one in VARIANTS],
            )
        ],
        seen=seen,
        versions=versions("confluent-kafka"),
        sentence=(
            "`flush()` holds the hub until the message is delivered, so that the greenlets wait "
            "one after another; `poll(0)` and `gevent.sleep(0.001)` let them wait together."
        ),
        runs=runs,
        machine=machine.sentence(),
    )
