"""The process that `gblock trial` measures: its source is passed to the chosen interpreter.

The interpreter may be another Python in another environment, so this module imports nothing from
gblock and uses only what Python 3.8 has. The arguments are a directory and a file: `spec.json` says
what to run, `about.json` has the versions, and `result.json` is written when the statement returns
or raises. The file is memory shared with the parent, which reads it if the statement never returns
or crashes the process.

The file holds doubles, in the order of `SLOTS`; times are from `time.monotonic()`, which all
processes of a machine share.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import time
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

SLOTS = (
    "phase",
    "began",
    "beat",
    "max_gap",
    "tick",
    "max_tick",
    "ticks",
    "thread",
    "cpu",
    "starved",
    "ticker",
    "ticker_starved",
    "stolen",
    "process_cpu",
    "baseline_gap",
    "baseline_cpu",
    "switch",
)
PREPARING, SETTING_UP, RESTING, RUNNING, DONE = range(5)
PERIOD = 0.002
"""Seconds between two beats, and between two ticks."""
BASELINE = 0.1
"""Seconds for which the hub is watched before the statement runs."""
# Bound before patching.
_now, _pause, _cpu, _process_cpu = time.monotonic, time.sleep, time.thread_time, time.process_time


class _Beats:
    """The memory shared with the parent."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8 * len(SLOTS))
        self._place = {name: 8 * index for index, name in enumerate(SLOTS)}
        self.pid = os.getpid()

    def __setitem__(self, name: str, value: float) -> None:
        struct.pack_into("d", self._memory, self._place[name], value)

    def __getitem__(self, name: str) -> float:
        value: float = struct.unpack_from("d", self._memory, self._place[name])[0]
        return value

    def seen(self, last: str, longest: str, now: float) -> None:
        """Record a beat or a tick."""
        gap = now - self[last]
        self[last] = now
        if gap > self[longest]:
            self[longest] = gap


class _BrokenError(Exception):
    """An exception of the user's code, or a missing requirement."""

    def __init__(self, phase: str, error: str, message: str, line: int = 0) -> None:
        super().__init__(phase, error, message, line)
        self.result = {"phase": phase, "error": error, "message": message, "line": line}


def _tick(beats: _Beats) -> None:
    """Count in a native thread, which runs only while the GIL is released."""
    import threading

    beats["ticker"] = threading.get_native_id()
    while True:
        _pause(PERIOD)
        beats.seen("tick", "max_tick", _now())
        beats["ticks"] += 1


def schedule(pid: int, thread: int) -> tuple[float, float] | None:
    """Return the seconds a thread ran and those it waited for a CPU; Linux only."""
    try:
        text = _read(f"/proc/{pid}/task/{thread}/schedstat")
        ran, waited = text.split()[:2]
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return None


def _waited(before: tuple[float, float] | None, after: tuple[float, float] | None) -> float | None:
    return None if before is None or after is None else after[1] - before[1]


def stolen() -> float:
    """Return the seconds that the host of a virtual machine took, of the CPU it took most from.

    Source: proc_stat(5), the eighth figure of each CPU in `/proc/stat`; 0.0 where it is not known.
    """
    try:
        rows = [row.split() for row in _read("/proc/stat").splitlines() if row.startswith(b"cpu")]
        return max(int(row[8]) for row in rows[1:]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _patch(wanted: list[str] | None) -> None:
    """Patch everything for None, else the named parts of `monkey.patch_all`."""
    import inspect

    from gevent import monkey

    if wanted is None:
        monkey.patch_all()
        return
    if not wanted:
        return
    parameters = inspect.signature(monkey.patch_all).parameters.values()
    known = [p.name for p in parameters if p.name not in ("aggressive", "Event", "kwargs")]
    for name in wanted:
        if name not in known:
            message = f"gevent patches no {name!r}; it knows {', '.join(known)}"
            raise _BrokenError("patch", "", message)
    monkey.patch_all(**{name: name in wanted for name in known})


def _line(error: BaseException, filename: str) -> int:
    """Return the line of the user's code that raised, or 0."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return error.lineno or 0
    found, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def _execute(phase: str, code: CodeType, names: dict[str, Any]) -> None:
    """Run the user's code.

    Raises:
        _BrokenError: with the exception that the code raised.
    """
    try:
        exec(code, names)  # noqa: S102 - running the user's statement is the purpose
    except BaseException as error:  # noqa: BLE001 - SystemExit and GreenletExit end no trial
        name = type(error).__name__
        raise _BrokenError(phase, name, str(error), _line(error, f"<{phase}>")) from None


def _compiled(phase: str, text: str) -> CodeType:
    try:
        return compile(text, f"<{phase}>", "exec")
    except (SyntaxError, ValueError) as error:
        # ValueError: a null character.
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        line = _line(error, f"<{phase}>")
        raise _BrokenError(phase, type(error).__name__, message, line) from None


def _measured(spec: dict[str, Any], beats: _Beats) -> dict[str, Any]:
    import gevent

    names = vars(sys.modules["__main__"])
    setup = _compiled("set-up", spec["setup"])
    statement = _compiled("statement", spec["statement"])
    beats["phase"] = SETTING_UP
    _execute("set-up", setup, names)

    def beat() -> None:
        while os.getpid() == beats.pid:
            gevent.sleep(PERIOD)
            # The statement may have forked: the child comes here as well.
            if os.getpid() == beats.pid:
                beats.seen("beat", "max_gap", _now())

    def run() -> None:
        if spec["threadpool"]:
            gevent.get_hub().threadpool.apply(_execute, ("statement", statement, names))
        else:
            _execute("statement", statement, names)

    if spec["threadpool"]:
        # Start the pool's first native thread before the timing.
        gevent.get_hub().threadpool.apply(int)
    gevent.spawn(beat)
    beats["phase"] = RESTING
    began, cpu, process_cpu = _now(), _cpu(), _process_cpu()
    beats["beat"] = beats["tick"] = began
    beats["max_gap"] = 0.0
    gevent.sleep(BASELINE)
    beats["baseline_gap"] = beats["max_gap"]
    rested = max(_now() - began, BASELINE)
    elsewhere = (_process_cpu() - process_cpu) - (_cpu() - cpu)
    beats["baseline_cpu"] = max(0.0, elsewhere) / rested
    beats["switch"] = sys.getswitchinterval() if hasattr(sys, "getswitchinterval") else 0.005

    hub, ticker = int(beats["thread"]), int(beats["ticker"])
    hub_before, ticker_before = schedule(beats.pid, hub), schedule(beats.pid, ticker)
    if hub_before is not None and ticker_before is not None:
        beats["cpu"], beats["starved"] = hub_before
        beats["ticker_starved"] = ticker_before[1]
    beats["stolen"] = stolen()
    beats["process_cpu"] = _process_cpu()
    cpu = _cpu()
    beats["max_gap"] = beats["max_tick"] = beats["ticks"] = 0.0
    beats["phase"] = RUNNING
    began = _now()
    beats["beat"] = beats["tick"] = beats["began"] = began
    try:
        run()
    finally:
        ended = _now()
        if os.getpid() != beats.pid:
            os._exit(0)  # a child that the statement forked and that reached its end
        beats["phase"] = DONE
        beats.seen("beat", "max_gap", ended)
        beats.seen("tick", "max_tick", ended)
    used = _cpu() - cpu
    hub_after, ticker_after = schedule(beats.pid, hub), schedule(beats.pid, ticker)
    return {
        "elapsed": ended - began,
        "max_gap": beats["max_gap"],
        "max_tick": beats["max_tick"],
        "ticks": beats["ticks"],
        "cpu": used,
        "cpu_elsewhere": max(0.0, _process_cpu() - beats["process_cpu"] - used),
        "starved": _waited(hub_before, hub_after),
        "ticker_starved": _waited(ticker_before, ticker_after),
        "stolen": stolen() - beats["stolen"],
    }


def main(directory: str, shared: str) -> None:
    """Run the statement of the directory's `spec.json`."""
    try:
        import _thread

        with open(os.path.join(directory, "spec.json"), encoding="utf-8") as file:
            spec = json.load(file)
        beats = _Beats(shared)
        # The statement's pickles look up names in a module of this name.
        sys.modules["__main__"] = types.ModuleType("__main__")
        sys.argv = ["-c"]
        try:
            import threading

            beats["thread"] = threading.get_native_id()
            # Before patching, which would make it a greenlet.
            _thread.start_new_thread(_tick, (beats,))
            try:
                import gevent
            except ImportError as error:
                raise _BrokenError("gevent", type(error).__name__, str(error)) from None
            version = ".".join(map(str, sys.version_info[:3]))
            _write(directory, "about", {"python": version, "gevent": gevent.__version__})
            _patch(spec["patch"])
            result = gevent.spawn(_caught, spec, beats).get()
        except _BrokenError as broken:
            result = broken.result
        if os.getpid() == beats.pid:
            _write(directory, "result", result)
    finally:
        # Threads that the statement left running must not keep the process alive.
        os._exit(0)


def _write(directory: str, name: str, value: dict[str, Any]) -> None:
    """Write a file atomically."""
    path = os.path.join(directory, name)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(path + ".new", path + ".json")


def _caught(spec: dict[str, Any], beats: _Beats) -> dict[str, Any]:
    """Measure; return an exception of the user's code as a value, or gevent prints it."""
    try:
        return _measured(spec, beats)
    except _BrokenError as broken:
        return broken.result


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
