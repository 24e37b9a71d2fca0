"""A Kafka consumer on gevent: jobs that wait on a slow service while ``poll(T)`` waits in C."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.stories.story import (
    HERE,
    VARIANTS,
    Machine,
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
    spread,
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "How to Make Kafka Consumer Compatible with Gevent in Python (DoorDash, 2021)"
FULL = ((100, 5, 0.0), (200, 10, 0.0), (300, 10, 0.0), (100, 5, 5.0), (300, 5, 5.0))
RUNS = 5
QUICK = ((10, 2, 0.0), (10, 2, 0.5))


def measured(variant: str, jobs: int, requests: int, wait: float, **more: str) -> dict[str, object]:
    """One run of one consumer: seconds from the first message that was sent to the last job that
    was done, and the others' lateness from the start of the program to its end.
    """
    with tempfile.TemporaryDirectory() as folder, kafka() as broker, slow_service() as service:
        ready = Path(folder) / "ready"
        broker.produce("jobs", 0)
        sent: list[float] = []

        def produce() -> None:
            while not ready.exists():
                time.sleep(0.02)
            sent.append(time.monotonic())  # a clock that all processes share
            for _ in range(requests):
                broker.produce("jobs", jobs)

        after(0.1, produce)
        found = run(
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
        return {"elapsed": found["ended"] - sent[0], "late": found["late"]}


def _path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join((str(HERE.parent.parent), str(HERE), str(FOLDER)))}


def result(quick: bool) -> Result:
    """Measure the story."""
    machine, runs = Machine(), 1 if quick else RUNS
    rows, medians = [], {variant: [] for variant in VARIANTS}
    labels = []
    for jobs, requests, wait in QUICK if quick else FULL:
        figures = {one: [] for one in VARIANTS}
        for _ in range(runs):
            for variant in VARIANTS:
                figures[variant].append(measured(variant, jobs, requests, wait))
        labels.append(f"{jobs}×{requests}, {wait:g} s")
        elapsed = {one: [figure["elapsed"] for figure in figures[one]] for one in VARIANTS}
        for variant in VARIANTS:
            medians[variant].append(statistics.median(elapsed[variant]))
        rows.append(
            (
                f"{jobs} jobs × {requests} requests",
                seconds(wait) if wait else "none",
                *(spread(elapsed[one], seconds) for one in VARIANTS),
                *(
                    spread([jobs * requests / took for took in elapsed[one]], "{:,.0f}".format)
                    for one in VARIANTS
                ),
                *(
                    spread([figure["late"]["max"] for figure in figures[one]], seconds)
                    for one in VARIANTS
                ),
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
                [Series(one, labels, medians[one], [one]) for one in VARIANTS],
            )
        ],
        seen=seen,
        versions=versions("confluent-kafka"),
        sentence=(
            "`poll(timeout=0.5)` holds the hub for up to half a second a call: a greenlet that needs "
            "several iterations of the hub to talk to a service gets two per second. With "
            "`poll(0)` and `gevent.sleep(0.01)` the jobs take as long as their I/O. The clock runs "
            "from the first message that is sent to the last job that is done. The lateness of "
            "other greenlets is measured from the start of the process to its end."
        ),
        runs=runs,
        machine=machine.sentence(),
    )
