"""Run independent work in a second process.

A forked process inherits the state of the first one, does one piece of work, sends the result
through a pipe and exits. If there is no fork or no second CPU, or if the second process fails, the
first one does the work itself when it needs the result. The result is the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from gblock import opened

Result = TypeVar("Result")

_CHUNK = 1 << 20
"""Bytes to read from a pipe at a time."""


def available() -> int:
    """Return the number of CPUs that this process may use, at least one."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # macOS, Windows
        return os.cpu_count() or 1


def may_fork() -> bool:
    """Return whether a copy of this process would work: it has no other thread."""
    return (
        hasattr(os, "fork") and "gevent" not in sys.modules and len(sys._current_frames()) == 1  # noqa: SLF001 - threading would have to be imported
    )


class Job(Generic[Result]):
    """One piece of work.

    Args:
        work: The work. It must not depend on anything that happens after it is added, and its
            result must be picklable.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._results: list[Result] = []
        """The result, as a list with one item, once it is known."""
        self._parts: list[bytes] = []
        self.pipe = -1
        """The end to read the result from while another process works."""
        self._pid = 0

    @property
    def is_done(self) -> bool:
        """Return whether the result is known."""
        return bool(self._results)

    @property
    def is_elsewhere(self) -> bool:
        """Return whether another process has started it."""
        return bool(self._pid or self._results)

    @property
    def is_running(self) -> bool:
        """Return whether another process works on it; reads the output so far."""
        if not self._pid:
            return False
        self._listen()
        return self._pid != 0

    def start(self) -> bool:
        """Start it in another process; return False if that is not possible."""
        try:
            reading, writing = os.pipe()
        except OSError:
            return False
        try:
            pid = os.fork()
        except OSError:
            os.close(reading)
            os.close(writing)
            return False
        if pid == 0:
            _work_and_end(self._work, writing)
        os.close(writing)
        os.set_blocking(reading, False)
        self._pid, self.pipe = pid, reading
        return True

    def result(self) -> Result:
        """Return the result; wait for the other process if one works on it."""
        if self._pid:
            os.set_blocking(self.pipe, True)
            self._listen()
        if not self._results:
            self._results.append(self._work())
        return self._results[0]

    def abandon(self) -> None:
        """Stop the process that works on it, if any."""
        if self._pid:
            with suppress(OSError):
                os.kill(self._pid, 9)  # it writes nothing but its pipe
            self._end()

    def _listen(self) -> None:
        """Read the available output; at its end, store the result."""
        try:
            while part := os.read(self.pipe, _CHUNK):
                self._parts.append(part)
        except BlockingIOError:
            return
        except OSError:
            self._parts.clear()
        if self._end() == 0 and self._parts:
            import pickle

            result, asked = pickle.loads(b"".join(self._parts))  # noqa: S301 - our own
            self._results.append(result)
            opened.add(asked)
        self._parts.clear()

    def _end(self) -> int:
        """Return the exit status of the process."""
        os.close(self.pipe)
        pid, self._pid = self._pid, 0
        try:
            return os.waitpid(pid, 0)[1]
        except OSError:
            return -1


class Jobs:
    """Run work in a limited number of processes, including this one.

    Args:
        number: The limit; 1 for this process only, 0 for one process for each CPU.
    """

    def __init__(self, number: int = 0) -> None:
        number = number or available()
        self.number = number if number > 1 and may_fork() else 1
        self._waiting: list[Job[Any]] = []
        self._running: list[Job[Any]] = []

    def add(self, work: Callable[[], Result]) -> Job[Result]:
        """Add a piece of work; it starts as soon as a process is free."""
        job = Job(work)
        if self.number > 1:
            self._waiting.append(job)
            self.tend()
        return job

    def tend(self) -> None:
        """Start waiting work if a process has become free."""
        if not self._waiting:
            return
        self._running = [job for job in self._running if job.is_running]
        while self._waiting and len(self._running) < self.number - 1:
            job = self._waiting.pop(0)
            if not job.is_done and job.start():
                self._running.append(job)

    def drain(self) -> None:
        """Wait until other processes have done all work; what they could not do stays undone."""
        import select

        while self._waiting or self._running:
            self._running = [job for job in self._running if job.is_running]
            before = len(self._waiting)
            self.tend()
            if self._running:
                select.select([job.pipe for job in self._running], [], [])
            elif len(self._waiting) == before:
                return

    def close(self) -> None:
        """Stop the work whose results are no longer needed."""
        self._waiting.clear()
        for job in self._running:
            job.abandon()
        self._running.clear()


def _work_and_end(work: Callable[[], object], pipe: int) -> None:
    """Do the work in the second process; never return, print or clean up."""
    status = 1
    try:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process reports the interrupt
        import pickle

        result = work()
        data = memoryview(pickle.dumps((result, opened.taken()), pickle.HIGHEST_PROTOCOL))
        while data:
            data = data[os.write(pipe, data) :]
        status = 0
    finally:
        os._exit(status)
