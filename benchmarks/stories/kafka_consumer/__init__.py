"""A Kafka consumer on gevent: jobs that wait on a slow service while ``poll(T)`` waits in C."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.stories.story import (
    HERE,
    VARIANTS,
    Picture,
    Result,
    Seen,
    Series,
    Table,
    after,
    checked,
    kafka,
    observed,
    probing,
    run,
    seconds,
    slow_service,
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "How to Make Kafka Consumer Compatible with Gevent in Python (DoorDash, 2021)"
FULL = ((100, 5, 0.0), (200, 10, 0.0), (300, 10, 0.0), (100, 5, 5.0), (300, 5, 5.0))
QUICK = ((10, 2, 0.0), (10, 2, 0.5))


def measured(variant: str, jobs: int, requests: int, wait: float, **more: str) -> dict[str, object]:
    """One run of one consumer: seconds until all jobs were done, and the others' lateness."""
    with tempfile.TemporaryDirectory() as folder, kafka() as broker, slow_service() as service:
        ready = Path(folder) / "ready"
        broker.produce("jobs", 0)

        def produce() -> None:
            while not ready.exists():
                time.sleep(0.02)
            for _ in range(requests):
                broker.produce("jobs", jobs)

        after(0.1, produce)
        found: dict[str, object] = run(
            [sys.executable, "consumer.py"],
            300,
            FOLDER / variant,
            STORY_WAIT=str(wait),
            STORY_JOBS=str(jobs * requests),
            STORY_BROKERS=broker.servers,
            STORY_SERVICE=service,
            STORY_READY=str(ready),
            **{**_path(), **more},
        )
        return found


def _path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join((str(HERE.parent.parent), str(HERE), str(FOLDER)))}


def result(quick: bool) -> Result:
    """Measure the story."""
    rows, elapsed = [], {variant: [] for variant in VARIANTS}
    labels = []
    for jobs, requests, wait in QUICK if quick else FULL:
        figures = {one: measured(one, jobs, requests, wait) for one in VARIANTS}
        naive, corrected = figures["naive"], figures["corrected"]
        labels.append(f"{jobs}×{requests}, {wait:g} s")
        for variant in VARIANTS:
            elapsed[variant].append(figures[variant]["elapsed"])
        rows.append(
            (
                f"{jobs} jobs × {requests} requests",
                seconds(wait) if wait else "none",
                seconds(naive["elapsed"]),
                seconds(corrected["elapsed"]),
                f"{jobs * requests / naive['elapsed']:,.0f}",
                f"{jobs * requests / corrected['elapsed']:,.0f}",
                seconds(naive["late"]["max"]),
                seconds(corrected["late"]["max"]),
            )
        )
    seen = {}
    for variant in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            measured(variant, 10, 1, 0.5, **probing(folder))
            directory = FOLDER / variant
            seen[variant] = Seen(checked(directory), observed(folder, directory))
    head = (
        "load", "I/O of a job", "naive: all done", "corrected: all done",
        "naive: jobs/s", "corrected: jobs/s",
        "naive: others late by up to", "corrected: others late by up to",
    )  # fmt: skip
    return Result(
        tables=[Table("Time until all jobs were done, while the consumer polls", head, rows)],
        pictures=[
            Picture(
                "A Kafka consumer on gevent",
                "jobs × requests, I/O of a job",
                "seconds until all jobs were done",
                "bars",
                [Series(variant, labels, elapsed[variant]) for variant in VARIANTS],
            )
        ],
        seen=seen,
        versions=versions("confluent-kafka"),
        sentence=(
            "`poll(timeout=0.5)` holds the hub for up to half a second a call: a greenlet that needs "
            "a few turns to talk to a service gets two a second. With `poll(0)` and "
            "`gevent.sleep()` the jobs take as long as their I/O."
        ),
    )
