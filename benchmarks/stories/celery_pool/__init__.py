"""Celery on gevent: tasks that wait on a slow service, in processes and in greenlets."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import uuid
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
    clean_environment,
    needs_port,
    observed,
    probing,
    run,
    seconds,
    slow_service,
    spread,
    started,
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "Improving Scalability, Reliability, and Efficiency with Gevent (DoorDash, 2021)"
LATENCY = 1.0
CELERY = [sys.executable, "-m", "celery", "-A", "orders", "worker", "--loglevel", "ERROR"]
CELERY += ["--without-mingle", "--without-gossip"]
WORKERS = {
    "prefork, 2 processes": ("corrected", [*CELERY, "--pool", "prefork", "--concurrency", "2"]),
    "prefork, 4 processes": ("corrected", [*CELERY, "--pool", "prefork", "--concurrency", "4"]),
    "gevent, 200, patched after the import": ("naive", [sys.executable, "worker.py"]),
    "gevent, 200, patched first": ("corrected", [sys.executable, "gcelery.py"]),
}
QUICK = tuple(WORKERS)[2:]
TONES = {**dict.fromkeys(WORKERS, "other"), **dict(zip(QUICK, VARIANTS, strict=True))}
RUNS = 3


def measured(name: str, orders: int, latency: float, **more: str) -> dict[str, float]:
    """Return the number of orders that a worker has sent, and the seconds."""
    needs_port(5672, "RabbitMQ")
    needs_port(6379, "Redis")
    variant, command = WORKERS[name]
    with tempfile.TemporaryDirectory() as folder, slow_service() as service:
        settings = {
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(HERE), str(FOLDER))),
            "STORY_SERVICE": service,
            "STORY_LATENCY": str(latency),
            "STORY_QUEUE": f"gblock-story-{uuid.uuid4().hex[:8]}",
        }
        log = Path(folder) / "log"
        try:
            with started(command, FOLDER / variant, log, lambda: True, **settings, **more):
                sent = run([sys.executable, "send.py", str(orders)], 300, FOLDER, **settings)
        finally:
            _remove(settings["STORY_QUEUE"])
    return dict(sent)


def _remove(queue: str) -> None:
    import subprocess

    code = (
        "import kombu, sys\n"
        "with kombu.Connection('amqp://guest:guest@127.0.0.1:5672//') as connection:\n"
        "    connection.channel().queue_delete(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", code, queue], env=clean_environment(), check=False)


def result(quick: bool) -> Result:
    """Measure the story."""
    orders, latency = (20, 0.3) if quick else (200, LATENCY)
    names = list(QUICK if quick else WORKERS)
    machine, runs = Machine(), 1 if quick else RUNS
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            found[name].append(measured(name, orders, latency))
    rates = {name: [one["done"] / one["elapsed"] for one in each] for name, each in found.items()}
    medians = {name: statistics.median(each) for name, each in rates.items()}
    done = min(one["done"] for one in found[QUICK[0]])
    stuck = f", and it stood still for good before all {orders} were sent"
    seen = {}
    for variant, name in zip(VARIANTS, QUICK, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            measured(name, 5, 0.1, **probing(folder))
            directory = FOLDER / variant
            seen[variant] = Seen(checked(directory), observed(folder, directory))
    rows = [
        (
            name,
            spread([one["done"] for one in each], "{:g}".format),
            spread([one["elapsed"] for one in each], seconds),
            spread(rates[name], "{:,.1f}".format),
        )
        for name, each in found.items()
    ]
    return Result(
        tables=[
            Table(
                f"{orders} orders, each 0.1 s of rate limit and {latency:g} s at the merchant",
                ("worker", "sent", "in", "orders/s"),
                rows,
            )
        ],
        pictures=[
            Picture(
                "A Celery worker that waits on merchants",
                "worker",
                "orders a second",
                "bars",
                [Series("orders/s", names, list(medians.values()), [TONES[one] for one in names])],
            )
        ],
        seen=seen,
        versions=versions("celery"),
        sentence=(
            "Two hundred greenlets wait for two hundred merchants at once. A worker that imports "
            "its application before it patches keeps the `sleep` of before: every order holds "
            f"the hub{stuck if done < orders else ''}."
        ),
        runs=runs,
        machine=machine.sentence(),
    )
