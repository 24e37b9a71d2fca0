"""Slow Celery backends: what a task costs before it is sent, and which share of it is uuid."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.stories.story import (
    HERE,
    ROOT,
    VARIANTS,
    Machine,
    Picture,
    Result,
    Seen,
    Series,
    Table,
    checked,
    observed,
    probing,
    run,
    seconds,
    spread,
    versions,
)

FOLDER = Path(__file__).parent
RUNS = 3
NUMBERS = (300, 1000, 3000, 10_000)
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
    machine, runs = Machine(), 1 if quick else RUNS
    tasks, rounds = (500, 3) if quick else (2000, 7)
    environment = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(HERE), str(FOLDER)))}
    command = [sys.executable, "sending.py", str(tasks), str(rounds)]
    found = run(command, 1200, FOLDER, **environment)
    rates = {LABELS[name]: each for name, each in found["rates"].items()}
    medians = {name: statistics.median(each) for name, each in rates.items()}
    base = medians[LABELS["json"]]
    rows = [
        (name, spread(each, "{:,.0f}".format), f"{medians[name] / base:.2f}×")
        for name, each in rates.items()
    ]
    share = found["costs"]["kombu.utils.uuid.uuid()"] * base
    parts = [(name, f"{one * 1e6:.2f} µs") for name, one in found["costs"].items()]
    numbers = NUMBERS[:2] if quick else NUMBERS
    sent: dict[str, list[list[dict[str, float]]]] = {one: [[] for _ in numbers] for one in VARIANTS}
    for _ in range(runs):
        for index, number in enumerate(numbers):
            for variant in VARIANTS:
                more = {**environment, "STORY_TASKS": str(number)}
                one = run([sys.executable, "sender.py"], 120, FOLDER / variant, **more)
                sent[variant][index].append(one)
    late = [
        (
            f"{number:,}",
            *(spread([one["late"] for one in sent[v][index]], seconds) for v in VARIANTS),
            *(
                spread([number / one["elapsed"] for one in sent[v][index]], "{:,.0f}".format)
                for v in VARIANTS
            ),
        )
        for index, number in enumerate(numbers)
    ]
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
            Table(
                "One greenlet sends tasks; how late another is",
                (
                    "tasks",
                    "naive: late by up to",
                    "corrected: late by up to",
                    "naive: tasks/s",
                    "corrected: tasks/s",
                ),
                late,
            ),
        ],
        pictures=[
            Picture(
                "While one greenlet sends Celery tasks",
                "tasks sent in one loop",
                "seconds that another greenlet is late",
                "lines",
                [
                    Series(
                        variant,
                        list(numbers),
                        [statistics.median(one["late"] for one in each) for each in sent[variant]],
                        [variant],
                    )
                    for variant in VARIANTS
                ],
            )
        ],
        seen=seen,
        versions=versions("celery", "kombu"),
        sentence=(
            f"In 2014 a constant instead of uuid nearly doubled the rate; today making the id is "
            f"{share:.0%} of the time of a task, and no part of sending stands out. What freezes a "
            "service is the loop: nothing in it lets another greenlet run, so the others wait "
            "until the last task is sent. The corrected loop sleeps for a millisecond after each "
            "20 tasks. `task-sending-loop` reports the loop; `uuid-heavy-path` reports the small "
            "part that the article was about. No single call lasts 100 ms, so the probe names the "
            "line of the loop and no call."
        ),
        runs=runs,
        machine=machine.sentence(),
    )
