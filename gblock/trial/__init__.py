"""Measure whether a statement blocks the hub, in separate processes.

Each measurement is one process of the interpreter that the user names: `trial_child` runs there
with a heartbeat greenlet and a ticking native thread. It shares memory with this process, so that
a statement that never returns, or that crashes its process, gets a verdict too. Only the child
imports gevent.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from typing import Literal, NamedTuple

from gblock.errors import UserError
from gblock.trial import child as trial_child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

Verdict = Literal["blocks", "cooperative", "cpu", "immediate", "crash"]
Gil = Literal["released", "shared", "in part", "held"]
Work = Literal["waited", "worked", "worked elsewhere"]
Help = Literal["helps", "helps in part", "no help", "not measured"]

IMMEDIATE = 0.02
"""Seconds; a shorter gap is no block. docs/trial.md gives the reason for each bound."""
CERTAIN = 0.1
"""Seconds; a longer gap is a block, however long the statement took."""
SHARE = 0.1
"""A gap between the two is a block if it is at least this share of the statement's time."""
NOISE = 4.0
"""A gap must be this many times the longest before the statement; otherwise it is noise."""
BUSY = 0.25
"""Share of the gap for which a thread waited for a CPU, or the host of the machine took it."""
LEFT = 0.05
"""Seconds of a gap that may remain with a remedy, unless a tenth of the gap is more."""
SETUP_TIMEOUT = 60.0
"""Seconds in which the set-up must end."""
POOL_TIMEOUT = 2.0
"""Seconds for which an endless statement is watched in the threadpool."""
_LOOK = 0.05


class TrialPlan(NamedTuple):
    """A statement to measure, and the options."""

    statement: str
    setup: str = ""
    patch: tuple[str, ...] | None = None
    """The parts to patch, by the arguments of `monkey.patch_all`; None: all, empty: none."""
    timeout: float = 10.0
    """Seconds after which the statement is ended."""
    repeat: int = 1
    python: str = sys.executable
    environment: dict[str, str] | None = None


class Measurement(NamedTuple):
    """The result of one process; all times in seconds."""

    python: str
    gevent: str
    elapsed: float
    returned: bool
    """False if it was ended by the timeout or by a crash."""
    max_gap: float
    """The longest time in which no other greenlet ran."""
    max_tick: float
    """The longest time in which no other native thread ran."""
    mean_tick: float
    switch: float
    """The interpreter's switch interval."""
    cpu: float | None
    """CPU time of the hub's thread; None if unknown."""
    cpu_elsewhere: float | None
    """CPU time of the process's other threads, above their usage before."""
    starved: float | None
    """Time in which the hub's thread was ready and waited for a CPU."""
    ticker_starved: float | None
    """Time in which the ticking thread was ready and waited for a CPU."""
    stolen: float
    """Time that the host of a virtual machine took from one of its CPUs."""
    baseline_gap: float
    signal: str | None = None
    """The signal that ended the process."""

    @property
    def limit(self) -> float:
        """The shortest gap that counts as a block, in seconds."""
        bound = min(max(IMMEDIATE, SHARE * self.elapsed), CERTAIN)
        return max(bound, min(NOISE * self.baseline_gap, CERTAIN))

    @property
    def blocked(self) -> bool:
        """Return whether other greenlets had to wait for the statement."""
        return self.max_gap > self.limit

    @property
    def work(self) -> Work:
        """Return whether the statement waited or used the CPU."""
        half = (self.elapsed - (self.starved or 0.0)) / 2
        if self.cpu is not None and self.cpu >= half:
            return "worked"
        if self.cpu_elsewhere is not None and (self.cpu or 0.0) + self.cpu_elsewhere >= half:
            return "worked elsewhere"
        return "waited"

    @property
    def verdict(self) -> Verdict:
        """The verdict of this run."""
        if self.signal is not None:
            return "crash"
        if self.blocked:
            return "blocks" if self.work == "waited" else "cpu"
        return "immediate" if self.elapsed < IMMEDIATE else "cooperative"

    @property
    def gil(self) -> Gil | None:
        """Return whether native threads ran meanwhile; None if it did not block, or crashed."""
        if not self.blocked or self.signal is not None:
            return None
        if self.max_tick > max(IMMEDIATE, self.max_gap / 2):
            return "held"
        if self.max_tick > max(IMMEDIATE, self.max_gap * SHARE):
            return "in part"
        # Python code releases the GIL on request, once in each switch interval.
        return "shared" if self.mean_tick > trial_child.PERIOD + self.switch / 2 else "released"

    @property
    def is_uncertain(self) -> bool:
        """Return whether the machine may have caused the gap."""
        if not self.blocked or self.signal is not None:
            return False
        starved = self.starved or 0.0
        if (self.ticker_starved or 0.0) + self.stolen > BUSY * self.max_gap:
            return True
        noisy = self.baseline_gap > IMMEDIATE and self.max_gap < NOISE * self.baseline_gap
        return noisy or (starved > BUSY * self.max_gap and self.max_gap - starved < CERTAIN)


class Threadpool(NamedTuple):
    """The result of running the statement in the hub's threadpool."""

    help: Help
    max_gap: float | None = None
    reason: str = ""
    """The reason why it was not measured."""


class Trial(NamedTuple):
    """A statement and its measurements."""

    statement: str
    runs: tuple[Measurement, ...]
    """In ascending order of their gaps."""
    threadpool: Threadpool

    @property
    def typical(self) -> Measurement:
        """The representative run: a crash, or else the median of the gaps."""
        crashed = [run for run in self.runs if run.signal is not None]
        return crashed[0] if crashed else self.runs[(len(self.runs) - 1) // 2]

    @property
    def verdict(self) -> Verdict:
        """The verdict of the representative run."""
        return self.typical.verdict

    @property
    def is_agreed(self) -> bool:
        """Return whether all runs have the same verdict."""
        return len({run.verdict for run in self.runs}) == 1


def remedies(gap: float, left: float) -> bool:
    """Return whether reducing a gap to `left` is a remedy; both in seconds."""
    return left <= max(LEFT, SHARE * gap)


def trial(plan: TrialPlan, *, threadpool: bool = True) -> Trial:
    """Measure a statement and, if it blocks, the same in the hub's threadpool.

    Raises:
        UserError: if set-up or statement raise, or nothing could be measured.
    """
    python = interpreter(plan.python)
    measurements = [_measure(plan, python) for _ in range(plan.repeat)]
    runs = tuple(sorted(measurements, key=lambda run: run.max_gap))
    made = Trial(plan.statement, runs, Threadpool("not measured", None, "it does not block"))
    if made.verdict == "crash":
        return made._replace(threadpool=Threadpool("not measured", None, "it crashed"))
    if not made.typical.blocked:
        return made
    if not threadpool:
        return made._replace(threadpool=Threadpool("not measured"))
    return made._replace(threadpool=_in_threadpool(plan, python, made.typical))


def interpreter(python: str) -> str:
    """Return the path of a Python interpreter.

    Raises:
        UserError: if it does not exist.
    """
    path = shutil.which(python)
    if path is None:
        raise UserError(python, "no such interpreter; pass a Python that has gevent")
    return path


def _in_threadpool(plan: TrialPlan, python: str, alone: Measurement) -> Threadpool:
    if not alone.returned:
        plan = plan._replace(timeout=min(plan.timeout, POOL_TIMEOUT))
    try:
        run = _measure(plan, python, threadpool=True)
    except UserError as error:
        return Threadpool("not measured", None, error.message)
    if run.signal is not None:
        return Threadpool("not measured", None, f"there it crashed with {run.signal}")
    if run.returned and run.elapsed < SHARE * alone.max_gap:
        return Threadpool("not measured", None, f"there it took {run.elapsed:.3f} s only")
    gap = alone.max_gap if alone.returned else min(alone.max_gap, run.elapsed)
    if remedies(gap, run.max_gap):
        return Threadpool("helps", run.max_gap)
    return Threadpool("helps in part" if run.max_gap <= gap / 2 else "no help", run.max_gap)


def _measure(plan: TrialPlan, python: str, *, threadpool: bool = False) -> Measurement:
    """Run one process and return its measurement.

    Raises:
        UserError: if set-up or statement raise, or nothing could be measured.
    """
    with tempfile.TemporaryDirectory(prefix="gblock-trial-") as directory:
        return _Process(plan, python, directory, threadpool=threadpool).measurement()


class _Process:
    """One running process."""

    def __init__(self, plan: TrialPlan, python: str, directory: str, *, threadpool: bool) -> None:
        self.plan, self.python, self.directory = plan, python, directory
        spec = {
            "setup": plan.setup,
            "statement": plan.statement,
            "patch": plan.patch,
            "threadpool": threadpool,
        }
        with open(self._path("spec.json"), "w", encoding="utf-8") as file:
            json.dump(spec, file)

    def measurement(self) -> Measurement:
        with self._shared() as file:
            size = 8 * len(trial_child.SLOTS)
            file.write(bytes(size))
            file.flush()
            with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as memory:
                with _running(self._started(file)) as process:
                    ended = self._watched(process, memory)
                if ended is None:
                    ended = self._result(process.returncode, memory)
                about = self._about()
                return ended._replace(python=about["python"], gevent=about["gevent"])

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _shared(self) -> BinaryIO:
        """Open the file for the memory that the processes share.

        Where the kernel has files that no disk holds (memfd_create(2)) it is one of them: a store
        into the memory of another file may wait for the disk, here with the GIL held.
        """
        if hasattr(os, "memfd_create"):
            return open(os.memfd_create("gblock-trial"), "w+b")
        return open(self._path("beats"), "w+b")

    def _started(self, shared: BinaryIO) -> subprocess.Popen[bytes]:
        environment = dict(os.environ if self.plan.environment is None else self.plan.environment)
        for name in [name for name in environment if name.startswith("GBLOCK_")]:
            del environment[name]
        # faulthandler would write pages on a crash; a coverage tracer distorts the measurement.
        environment["PYTHONFAULTHANDLER"] = ""
        environment.pop("COVERAGE_PROCESS_START", None)
        with open(trial_child.__file__, encoding="utf-8") as file:
            source = file.read()
        number = shared.fileno()
        name = f"/dev/fd/{number}" if isinstance(shared.name, int) else shared.name
        try:
            with open(self._path("output"), "wb") as output:
                return subprocess.Popen(  # noqa: S603 - the user's own interpreter
                    [self.python, "-u", "-c", source, self.directory, name],
                    env=environment,
                    pass_fds=(number,),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise UserError(self.python, f"cannot be run: {error.strerror}") from None

    def _watched(self, process: subprocess.Popen[bytes], memory: mmap.mmap) -> Measurement | None:
        """Wait for the end; return the measurement of a statement that did not end, else None."""
        limit = time.monotonic() + SETUP_TIMEOUT
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK)
                return None
            beats, now = _beats(memory), time.monotonic()
            if beats["phase"] == trial_child.RUNNING:
                if now >= beats["began"] + self.plan.timeout:
                    return _unfinished(process.pid, beats, now)
            elif now >= limit + self.plan.timeout:
                what = "set-up" if beats["phase"] < trial_child.RESTING else "process"
                seconds = SETUP_TIMEOUT + self.plan.timeout
                raise UserError("gblock trial", f"the {what} did not end within {seconds:g} s")

    def _result(self, returncode: int, memory: mmap.mmap) -> Measurement:
        beats = _beats(memory)
        try:
            with open(self._path("result.json"), encoding="utf-8") as file:
                result: dict[str, Any] = json.load(file)
        except OSError:
            return self._crash(returncode, beats)
        if "elapsed" not in result:
            raise UserError("gblock trial", self._trouble(result))
        ticks = max(result.pop("ticks"), 1.0)
        elsewhere = result.pop("cpu_elsewhere") - beats["baseline_cpu"] * result["elapsed"]
        return Measurement(
            python="",
            gevent="",
            returned=True,
            mean_tick=result["elapsed"] / ticks,
            switch=beats["switch"],
            cpu_elsewhere=max(0.0, elsewhere),
            baseline_gap=beats["baseline_gap"],
            **result,
        )

    def _trouble(self, result: dict[str, Any]) -> str:
        """Return the exception of the user's code, in one line."""
        message = " ".join(str(result["message"]).split())
        if result["phase"] == "gevent":
            return (
                f"gevent cannot be imported by {self.python} ({message}): name another --python, "
                f"or install it: {self.python} -m pip install gevent"
            )
        if result["phase"] == "patch":
            return message
        place = f", line {result['line']}," if result["line"] > 1 else ""
        colon = ": " if message else ""
        return f"the {result['phase']}{place} raised {result['error']}{colon}{message}"

    def _crash(self, returncode: int, beats: dict[str, float]) -> Measurement:
        phase = beats["phase"]
        if returncode >= 0 or phase < trial_child.RUNNING:
            where = {
                trial_child.PREPARING: f"{self.python}",
                trial_child.SETTING_UP: "the set-up",
            }.get(int(phase), "the statement")
            end = f"exit code {returncode}" if returncode >= 0 else _signal(-returncode)
            said = self._said()
            tail = f": {said}" if said else ""
            raise UserError("gblock trial", f"{where} ended its process with {end}{tail}")
        seen = _unfinished(0, beats, max(beats["beat"], beats["tick"]))
        return seen._replace(signal=_signal(-returncode))

    def _about(self) -> dict[str, str]:
        """Return the versions of the other Python and of its gevent."""
        with open(self._path("about.json"), encoding="utf-8") as file:
            about: dict[str, str] = json.load(file)
        return about

    def _said(self) -> str:
        """Return the last line that the process wrote."""
        with open(self._path("output"), encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file.read()[-2000:].splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


@contextlib.contextmanager
def _running(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Kill the process, and all processes that it started, on exit."""
    try:
        yield process
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _beats(memory: mmap.mmap) -> dict[str, float]:
    count = len(trial_child.SLOTS)
    values = struct.unpack(f"{count}d", memory[: 8 * count])
    return dict(zip(trial_child.SLOTS, values, strict=True))


def _unfinished(pid: int, beats: dict[str, float], now: float) -> Measurement:
    """Return the measurement of a statement that did not end."""
    elapsed = now - beats["began"]
    cpu = starved = elsewhere = None
    ticker_starved, stolen = None, 0.0
    hub = trial_child.schedule(pid, int(beats["thread"]))
    ticker = trial_child.schedule(pid, int(beats["ticker"]))
    if hub is not None and ticker is not None:
        cpu, starved = hub[0] - beats["cpu"], hub[1] - beats["starved"]
        ticker_starved = ticker[1] - beats["ticker_starved"]
        stolen = trial_child.stolen() - beats["stolen"]
        process = _process_cpu(pid) - beats["process_cpu"]
        elsewhere = max(0.0, process - cpu - beats["baseline_cpu"] * elapsed)
    return Measurement(
        python="",
        gevent="",
        elapsed=elapsed,
        returned=False,
        max_gap=max(beats["max_gap"], now - beats["beat"]),
        max_tick=max(beats["max_tick"], now - beats["tick"]),
        mean_tick=elapsed / max(beats["ticks"], 1.0),
        switch=beats["switch"],
        cpu=cpu,
        cpu_elsewhere=elsewhere,
        starved=starved,
        ticker_starved=ticker_starved,
        stolen=stolen,
        baseline_gap=beats["baseline_gap"],
    )


def _process_cpu(pid: int) -> float:
    """Return the CPU seconds of all threads of a process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
