"""gunicorn's worker types: ten requests at once that wait, and ten that work."""

from __future__ import annotations

import contextlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.stories.story import (
    Machine,
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
    spread,
    started,
    versions,
)

FOLDER = Path(__file__).parent
SOURCE = "Brief introduction about the types of worker in gunicorn (Genchi Lu, 2018)"
TASKS = {"/io": "waits 1 s", "/cpu": "pure Python", "/hash": "PBKDF2"}
MENDED = {"/cpu": "pure Python that yields", "/hash": "PBKDF2 in the threadpool"}
REQUESTS = 10
RUNS = 5
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


class Program(NamedTuple):
    """A way to serve the application, and the addresses to request."""

    variant: str
    options: list[str]
    """Of gunicorn."""
    tasks: dict[str, str]
    """Addresses, and what the tables call them."""
    one_core: bool = False


GEVENT = Program("naive", ["-k", "gevent"], TASKS)
CORRECTED = Program("corrected", ["-k", "gevent"], MENDED)
PROGRAMS = {
    "sync": Program("naive", ["-k", "sync"], TASKS),
    "gthread, 2 threads": Program("naive", ["-k", "gthread", "--threads", "2"], TASKS),
    "gevent": GEVENT,
    "gevent, corrected": CORRECTED,
    "gevent, corrected, one core": CORRECTED._replace(one_core=True),
}
DRAWN = (
    ("gevent", TASKS["/cpu"], "naive"),
    ("gevent", TASKS["/hash"], "naive"),
    ("gevent, corrected", MENDED["/cpu"], "corrected"),
    ("gevent, corrected", MENDED["/hash"], "corrected"),
    ("gevent", TASKS["/io"], "other"),
)


class Found(NamedTuple):
    """The figures of one address in one run."""

    times: list[float]
    """Seconds until each of the requests at once was answered, the fastest first."""
    late: float
    """The longest that another client waited meanwhile for an answer that takes no time."""


def measured(program: Program, paths: list[str], requests: int, **more: str) -> dict[str, Found]:
    """Return what each address of a service gives."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    # The cores that a process may use are inherited.
    command = ["taskset", "-c", "0"] if program.one_core else []
    command += [sys.executable, "-m", "gunicorn", "-w", "1", *program.options, "-b", address]
    command += ["--timeout", "120", "app:application"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        ready = answers(f"http://{address}/")
        with started(command, FOLDER / program.variant, log, ready, **more):
            found = {}
            for path in paths:
                with other_client(f"http://{address}/") as waits:
                    times = siege(f"http://{address}{path}", requests)
                found[path] = Found(times, max(waits))
            return found


@contextlib.contextmanager
def other_client(url: str) -> Iterator[list[float]]:
    """Ask for something quick every 20 ms, and yield the list of what each answer took."""
    waits: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.02):
            start = time.perf_counter()
            with urllib.request.urlopen(url, timeout=120) as response:
                response.read()
            waits.append(time.perf_counter() - start)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    while not waits:
        time.sleep(0.01)
    try:
        yield waits
    finally:
        ended.set()
        thread.join()


def result(quick: bool) -> Result:
    """Measure the story."""
    machine, runs = Machine(), 1 if quick else RUNS
    requests = 4 if quick else REQUESTS
    found: dict[tuple[str, str], list[Found]] = {}
    for _ in range(runs):
        for name, program in PROGRAMS.items():
            for path, one in measured(program, list(program.tasks), requests).items():
                found.setdefault((name, program.tasks[path]), []).append(one)
    rows = [
        (
            name,
            task,
            *(
                spread([pick(one.times) for one in each], seconds)
                for pick in (min, statistics.median, max)
            ),
            spread([one.late for one in each], seconds),
        )
        for (name, task), each in found.items()
    ]
    numbers = list(range(1, requests + 1))
    staircase = []
    for name, task, tone in DRAWN:
        times = zip(*(one.times for one in found[name, task]), strict=True)
        medians = [statistics.median(each) for each in times]
        staircase.append(Series(task, numbers, medians, [tone]))
    seen = {}
    for program in (GEVENT, CORRECTED):
        with tempfile.TemporaryDirectory() as folder:
            measured(program, list(TASKS), 2, **probing(folder))
            directory = FOLDER / program.variant
            seen[program.variant] = Seen(checked(directory), observed(folder, directory))
    head = ("worker", "task", "first", "median", "last", "another client waits up to")
    return Result(
        tables=[Table(f"{requests} requests at once, one worker process", head, rows)],
        pictures=[
            Picture(
                f"{requests} requests at once to one gevent worker",
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
            "after another; meanwhile no other client gets an answer. A C function that releases "
            "the GIL can work in the hub's threadpool: then the hub goes on. It is also faster if "
            "a second core is idle, and not on one core. A loop of Python keeps the GIL: the "
            "corrected one yields every 10,000 iterations, so that others are served meanwhile. "
            "`gblock check` does not report this loop; the probe names its line."
        ),
        runs=runs,
        machine=machine.sentence(),
    )
