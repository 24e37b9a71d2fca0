"""The parts of a story: tables, a picture, and the results of the linter and the probe."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VARIANTS = ("naive", "corrected")
THRESHOLD = 0.1
"""Seconds: blocks of this length the probe has to name."""


class Table(NamedTuple):
    """Figures as people read them."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Series(NamedTuple):
    """One line or one group of bars of a picture."""

    label: str
    x: list[Any]
    y: list[float]
    tones: list[str] = []  # noqa: RUF012 - a field of a tuple, which is never changed
    """``naive``, ``corrected`` or ``other``: of each bar, or one for the whole line."""


class Picture(NamedTuple):
    """The data of a picture; matplotlib draws it."""

    title: str
    x_label: str
    y_label: str
    kind: str
    """``lines`` or ``bars``."""
    series: list[Series]


class Seen(NamedTuple):
    """The results of gblock for one variant's code."""

    checked: list[str]
    """``file:row rule blocker`` of each diagnostic."""
    observed: list[str]
    """``file:row symbol blocker`` of each call site that the probe saw, the worst first."""


class Result(NamedTuple):
    """One story, measured."""

    tables: list[Table]
    pictures: list[Picture]
    seen: dict[str, Seen]
    versions: dict[str, str]
    sentence: str
    """The conclusions from the figures."""
    runs: int = 1
    """The number of runs of each figure."""
    machine: str = ""
    """The share of the cores that other programs used meanwhile."""


class Unavailable(Exception):  # noqa: N818 - it says what cannot be had
    """A server or a program that the story needs is not here."""


def needs_port(port: int, what: str) -> None:
    """Make sure that a server listens on loopback.

    Raises:
        Unavailable: if none does.
    """
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", port)):
            raise Unavailable(f"{what} does not run on 127.0.0.1:{port}")


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without the probe, and with the project importable."""
    clean = {name: value for name, value in os.environ.items() if "GBLOCK" not in name}
    clean["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), clean.get("PYTHONPATH")]))
    return clean | more


def probing(folder: str) -> dict[str, str]:
    """The environment that turns the probe on."""
    return {
        "GBLOCK_PROBE": "1",
        "GBLOCK_PROBE_DIR": folder,
        "GBLOCK_PROBE_THRESHOLD": str(THRESHOLD),
    }


def run(command: list[str], timeout: float, cwd: Path, **more: str) -> Any:
    """Run a program to its end and return what it printed last, which is JSON."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(**more),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


@contextlib.contextmanager
def started(
    command: list[str], cwd: Path, log: Path, ready: Callable[[], bool], **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that runs meanwhile.

    Raises:
        RuntimeError: if it does not answer within 30 seconds.
    """
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=cwd, env=clean_environment(**more), stdout=file, stderr=file
        )
    try:
        end = time.monotonic() + 30
        while not ready():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command} did not start\n{log.read_text()[-3000:]}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def answers(url: str) -> Callable[[], bool]:
    """Return whether a server answers under an address."""

    def asked() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    return asked


@contextlib.contextmanager
def slow_service() -> Iterator[str]:
    """A remote HTTP service: ``/SECONDS`` answers after that time."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, str(HERE / "slow_service.py"), str(port)]
    ready = answers(f"{address}/0")
    with (
        tempfile.TemporaryDirectory() as folder,
        started(command, HERE, Path(folder) / "log", ready),
    ):
        yield address


class Broker:
    """librdkafka's mock cluster in a process of its own; it can produce, too."""

    def __init__(self, process: subprocess.Popen[str], servers: str) -> None:
        self._process = process
        self.servers = servers

    def produce(self, topic: str, messages: int) -> None:
        """Send messages, and wait until they have arrived."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{topic} {messages}\n")
        self._process.stdin.flush()
        if self._process.stdout.readline().strip() != "done":
            raise RuntimeError("the mock cluster is gone")


@contextlib.contextmanager
def kafka(round_trip: float = 0) -> Iterator[Broker]:
    """A Kafka cluster.

    Args:
        round_trip: Seconds that each request takes.
    """
    command = [sys.executable, str(HERE / "broker.py"), str(int(round_trip * 1000))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield Broker(process, process.stdout.readline().strip())
        finally:
            process.kill()


def after(seconds: float, action: Callable[[], object]) -> threading.Timer:
    """Do something later, while this thread waits for a program."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer


def checked(directory: Path) -> list[str]:
    """Return the diagnostics of ``gblock check`` for a variant, which is a project of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        copied = shutil.copytree(directory, Path(temporary) / directory.name)
        done = subprocess.run(
            [sys.executable, "-m", "gblock", "check", "--isolated", "--output-format", "json", "."],
            cwd=copied,
            env=clean_environment(),
            capture_output=True,
            text=True,
        )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return [
        " ".join(filter(None, (f"{d['filename']}:{d['location']['row']}", d["code"], d["blocker"])))
        for d in json.loads(done.stdout)
    ]


def observed(folder: str, directory: Path) -> list[str]:
    """Return the lines of ``gblock report`` for a folder, for calls in the variant's code only.

    Raises:
        RuntimeError: if the probe gave no proof of life.
    """
    done = subprocess.run(
        [sys.executable, "-m", "gblock", "report", "--format", "json", "--exit-zero", folder],
        env=clean_environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"the probe saw nothing\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    found = []
    for site in report["sites"]:
        path = site["filename"] or ""
        if not site["blamed"] or not Path(path).is_relative_to(directory):
            continue
        place = f"{Path(path).relative_to(directory)}:{site['line']}"
        # Only a proven block has one call; of others the line is known.
        named = (site["symbol"], *site["blockers"]) if site["exact"] else ()
        found.append(" ".join(filter(None, (place, *named))))
    return found


def versions(*distributions: str) -> dict[str, str]:
    """The versions that were measured."""
    from importlib.metadata import version

    found = {name: version(name) for name in ("gevent", *distributions)}
    return {"Python": sys.version.split()[0], **found}


def spread(values: Sequence[float], show: Callable[[float], str]) -> str:
    """The median of several runs, and the smallest and the largest if they differ."""
    ordered = [show(one) for one in sorted(values)]
    middle = show(statistics.median(values))
    return middle if len(set(ordered)) == 1 else f"{middle} ({ordered[0]} to {ordered[-1]})"


class Machine:
    """Measures how busy the machine is with other programs, from its creation on."""

    def __init__(self) -> None:
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        try:
            fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
        except OSError:  # only Linux has it
            return 0.0, time.monotonic()
        user, nice, system, _, _, irq, softirq, steal = (int(one) for one in fields)
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        own = os.times()
        return busy - sum(own[:4]), time.monotonic()

    def sentence(self) -> str:
        """Return the share of the cores that other programs used."""
        (before, start), (after, end) = self._start, self._now()
        used = max(0.0, after - before) / (end - start)
        return f"Other processes, servers included, used {used:.1f} of {os.cpu_count()} cores meanwhile."


def seconds(value: float) -> str:
    """A duration as tables show it."""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value >= 9.95 else f"{value:.2f} s"
