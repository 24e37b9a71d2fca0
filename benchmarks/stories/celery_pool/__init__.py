"""Celery on gevent: tasks that wait on a slow service, in processes and in greenlets."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from pathlib import Path

from benchmarks.stories.story import (
    HERE,
    ROOT,
    VARIANTS,
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


def measured(name: str, orders: int, latency: float, **more: str) -> float:
    """Seconds until a worker has sent all orders."""
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
    return float(sent["elapsed"])


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
    orders, latency = (20, 0.3) if quick else (400, LATENCY)
    names = QUICK if quick else tuple(WORKERS)
    elapsed = {name: measured(name, orders, latency) for name in names}
    seen = {}
    for variant, name in zip(VARIANTS, QUICK, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            measured(name, 5, 0.1, **probing(folder))
            directory = FOLDER / variant
            seen[variant] = Seen(checked(directory), observed(folder, directory))
    rows = [(name, seconds(took), f"{orders / took:,.1f}") for name, took in elapsed.items()]
    return Result(
        tables=[
            Table(
                f"{orders} orders, each 0.1 s of rate limit and {latency:g} s at the merchant",
                ("worker", "all sent", "orders/s"),
                rows,
            )
        ],
        pictures=[
            Picture(
                "A Celery worker that waits on merchants",
                "worker",
                "orders a second",
                "bars",
                [Series("orders/s", list(elapsed), [orders / one for one in elapsed.values()])],
            )
        ],
        seen=seen,
        versions=versions("celery"),
        sentence=(
            "Two hundred greenlets wait for two hundred merchants at once. A worker that imports "
            "its application before it patches keeps the `sleep` of before: every order holds "
            "the hub."
        ),
    )
