"""gunicorn's worker types: ten requests at once that wait, and ten that work."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.stories.story import (
    VARIANTS,
    Picture,
    Result,
    Seen,
    Series,
    Table,
    Unavailable,
    answers,
    checked,
    clean_environment,
    free_port,
    observed,
    probing,
    seconds,
    started,
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "Brief introduction about the types of worker in gunicorn (Genchi Lu, 2018)"
WORKERS = {
    "sync": ["-k", "sync"],
    "gthread, 2 threads": ["-k", "gthread", "--threads", "2"],
    "gevent": ["-k", "gevent"],
}
TASKS = {"/io": "waits 1 s", "/cpu": "pure Python", "/hash": "PBKDF2"}
REQUESTS = 10
_ANSWER = re.compile(r"HTTP/1\.\d\S* (?:\x1b\[\S*)?200\b\D*(\d+\.\d+) secs")


def siege(url: str, requests: int) -> list[float]:
    """Seconds until each of some requests at once was answered, the fastest first.

    Raises:
        Unavailable: if siege is not installed.
    """
    if shutil.which("siege") is None:
        raise Unavailable("siege is not installed (Debian: apt install siege)")
    with tempfile.TemporaryDirectory() as home:
        settings = Path(home) / "siegerc"
        settings.write_text(
            "verbose = true\ncolor = off\njson_output = false\nlogging = false\nparser = false\n"
        )
        done = subprocess.run(
            ["siege", "-R", str(settings), "-b", "-v", "-c", str(requests), "-r", "1", url],
            env=clean_environment(HOME=home),
            capture_output=True,
            text=True,
            timeout=120,
        )
    found = sorted(float(one) for one in _ANSWER.findall(done.stdout + done.stderr))
    if len(found) != requests:
        raise RuntimeError(f"siege got {len(found)} answers of {requests}\n{done.stdout[-1500:]}")
    return found


def measured(variant: str, worker: list[str], paths: list[str], requests: int, **more: str):
    """For each path the seconds of each request."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "gunicorn", "-w", "1", *worker, "-b", address]
    command += ["--timeout", "120", "app:application"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        ready = answers(f"http://{address}/")
        with started(command, FOLDER / variant, log, ready, **more):
            return {path: siege(f"http://{address}{path}", requests) for path in paths}


def result(quick: bool) -> Result:
    """Measure the story."""
    requests = 4 if quick else REQUESTS
    times = {
        name: measured("naive", options, list(TASKS), requests) for name, options in WORKERS.items()
    }
    moved = measured("corrected", WORKERS["gevent"], ["/hash"], requests)["/hash"]
    rows = [
        (name, TASKS[path], *_figures(found[path]))
        for name, found in times.items()
        for path in TASKS
    ]
    rows.append(("gevent", "PBKDF2 in the threadpool", *_figures(moved)))
    numbers = list(range(1, requests + 1))
    staircase = [Series(f"gevent, {TASKS[path]}", numbers, times["gevent"][path]) for path in TASKS]
    staircase.append(Series("gevent, PBKDF2 in the threadpool", numbers, moved))
    seen = {}
    for variant in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            paths = ["/io", "/cpu", "/hash"] if variant == "naive" else ["/io", "/hash"]
            measured(variant, WORKERS["gevent"], paths, 2, **probing(folder))
            directory = FOLDER / variant
            seen[variant] = Seen(checked(directory), observed(folder, directory))
    head = ("worker", "task", "first", "median", "last")
    return Result(
        tables=[Table(f"{requests} requests at once, one worker process", head, rows)],
        pictures=[
            Picture(
                "Ten requests at once to one gevent worker"
                if not quick
                else "Requests at once to one gevent worker",
                "request, in the order of the answers",
                "seconds until it was answered",
                "lines",
                staircase,
            )
        ],
        seen=seen,
        versions=versions("gunicorn"),
        sentence=(
            "Under gevent requests that wait are answered together, and requests that work one "
            "after another. A C function that releases the GIL can work in the hub's threadpool: "
            "then the hub goes on, and two cores work. A loop of Python cannot: gblock does not "
            "see it in the code, and the probe names its line."
        ),
    )


def _figures(times: list[float]) -> tuple[str, str, str]:
    return seconds(times[0]), seconds(statistics.median(times)), seconds(times[-1])
