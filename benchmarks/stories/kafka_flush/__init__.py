"""``flush()`` in a migration: seven greenlets ran like one."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.stories.story import (
    ROOT,
    VARIANTS,
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
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "Using Kafka with gevent (Close, 2020)"
ROUND_TRIP = 0.05
GREENLETS = (1, 2, 3, 4, 5, 6, 7)
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
    greenlets, lasting = (QUICK, 2.0) if quick else (GREENLETS, 5.0)
    rates = {
        variant: [measured(variant, one, lasting, ROUND_TRIP) for one in greenlets]
        for variant in VARIANTS
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
            f"{rates['naive'][index]:,.1f}",
            f"{rates['corrected'][index]:,.1f}",
            f"{rates['naive'][index] / rates['naive'][0]:.1f}×",
            f"{rates['corrected'][index] / rates['corrected'][0]:.1f}×",
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
                [Series(variant, list(greenlets), rates[variant]) for variant in VARIANTS],
            )
        ],
        seen=seen,
        versions=versions("confluent-kafka"),
        sentence=(
            "`flush()` holds the hub until the message is delivered, so that the greenlets wait "
            "one after another; `poll(0)` and `gevent.sleep(0.001)` let them wait together."
        ),
    )
