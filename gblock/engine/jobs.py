"""Run independent work in other processes.

A forked process inherits the state of the first one, does one piece of work, sends the result
through a pipe and exits. If there is no fork or no second CPU, or if the second process fails, the
first one does the work itself when it needs the result. The result is the same.

`apart`, `each` and `shared` do work whose results are needed at once, and alone know the number of
processes. `gblock.engine.plan` works beside its other process, and has `Jobs` for that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from gblock import opened

Result = TypeVar("Result")
Item = TypeVar("Item")

_CHUNK = 1 << 20
"""Bytes to read from a pipe at a time."""


def apart(work: Callable[[], Result]) -> Result:
    """Do one piece of work in a process that ends with it, if there can be one.

    Args:
        work: The work; its result must be picklable.
    """
    job = Job(work)
    if may_fork():
        job.start()
    try:
        return job.result()
    finally:
        job.abandon()


def each(
    work: Callable[[Item], Result], items: Iterable[Item], limit: int = 0
) -> list[tuple[Item, Result]]:
    """Do one piece of work for each item, in a process that ends with it, and frees its memory.

    Args:
        work: The work; its result must be picklable.
        items: The items, in the order in which they are begun.
        limit: The number of processes that work at a time; 0 for one for each CPU.

    Returns:
        The items in the same order, with the results.
    """
    jobs = Jobs(limit)
    if jobs.number > 1:
        jobs = Jobs(jobs.number + 1)  # this process only waits
    try:
        begun = [(item, jobs.add(partial(work, item))) for item in items]
        jobs.drain()
        return [(item, job.result()) for item, job in begun]
    finally:
        jobs.close()


def shared(
    work: Callable[[list[Item]], Result],
    items: Sequence[Item],
    size: Callable[[Item], int],
    worth: int,
    limit: int = 0,
) -> list[Result]:
    """Divide items into shares, and do one piece of work for each share.

    Args:
        work: The work; its result must be picklable.
        items: The items.
        size: Returns the size of an item, in a unit of the caller's choice. Shares are about equal
            in size, and within a share the items keep their order.
        worth: The size of a share for which one more process is worth its start.
        limit: The number of processes, including this one; 0 for one for each CPU.

    Returns:
        The results, at least one.
    """
    jobs = Jobs(limit)
    sizes = [size(item) for item in items]
    number = min(jobs.number, 1 + sum(sizes) // worth)
    try:
        first, *others = _shares(items, sizes, number)
        begun = [jobs.add(partial(work, share)) for share in others]
        return [work(first), *(job.result() for job in begun)]
    finally:
        jobs.close()


def _shares(items: Sequence[Item], sizes: Sequence[int], number: int) -> list[list[Item]]:
    """Return the items in a number of shares of about equal size."""
    totals = [0] * number
    shares: list[list[int]] = [[] for _ in totals]
    for at in sorted(range(len(items)), key=lambda at: -sizes[at]):
        smallest = totals.index(min(totals))
        totals[smallest] += sizes[at]
        shares[smallest].append(at)
    return [[items[at] for at in sorted(share)] for share in shares]


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
