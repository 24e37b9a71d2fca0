"""Slow Celery backends: what a task costs before it is sent, and which share of it is uuid."""

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
    observed,
    probing,
    run,
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "Speeding up Celery Backends, Part 1 (Alexander Todorov, 2014)"
LABELS = {
    "json": "as it comes: json, base64, uuid4",
    "pickle": "pickle instead of json",
    "no base64": "json, no base64",
    "objects": "a serialiser that returns the object, no base64",
    "no uuid": "json, base64, a constant instead of uuid4",
    "nothing": "the object, no base64, a constant",
}


def result(quick: bool) -> Result:
    """Measure the story."""
    tasks, rounds = (500, 3) if quick else (3000, 9)
    environment = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(FOLDER)))}
    command = [sys.executable, "sending.py", str(tasks), str(rounds)]
    found = run(command, 300, FOLDER, **environment)
    rates = {LABELS[name]: rate for name, rate in found["rates"].items()}
    base = rates[LABELS["json"]]
    rows = [(name, f"{rate:,.0f}", f"{rate / base:.2f}×") for name, rate in rates.items()]
    share = 1 - base / rates[LABELS["no uuid"]]
    parts = [(name, f"{one * 1e6:.2f} µs") for name, one in found["costs"].items()]
    seen = {}
    for variant in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            directory = FOLDER / variant
            run(
                [sys.executable, "sender.py"],
                120,
                directory,
                # Many times the probe's threshold: they let go of the GIL so often, and so
                # shortly, that another thread may get in only after 0.4 s.
                STORY_TASKS="10000",
                **environment,
                **probing(folder),
            )
            seen[variant] = Seen(checked(directory), observed(folder, directory))
    return Result(
        tables=[
            Table(
                "Tasks a second into kombu's memory transport",
                ("variant", "tasks/s", "against json"),
                rows,
            ),
            Table("What one call costs", ("call", "time"), parts),
        ],
        pictures=[
            Picture(
                "Sending Celery tasks",
                "variant",
                "tasks a second",
                "bars",
                [Series("tasks/s", list(rates), list(rates.values()))],
            )
        ],
        seen=seen,
        versions=versions("celery", "kombu"),
        sentence=(
            f"In 2014 a constant instead of uuid nearly doubled the rate; here uuid is "
            f"{share:.0%} of the time of a task. What freezes a service is that a loop which sends "
            "thousands of tasks never lets another greenlet run."
        ),
    )
