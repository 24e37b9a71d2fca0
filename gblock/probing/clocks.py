"""The sampler's clocks: bound before patching, so that none of them is gevent's."""

from __future__ import annotations

import time

from gblock.probing import kernel

try:
    from resource import RUSAGE_SELF, RUSAGE_THREAD, getrusage

    _COUNTS_WAITS = True
except ImportError:  # pragma: no cover - Linux alone counts a thread's waits
    _COUNTS_WAITS = False

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

perf_counter, wall, process_time = time.perf_counter, time.time, time.process_time
_thread_time = time.thread_time


class Collections:
    """Measures garbage collection, by `gc.callbacks`.

    The interpreter may let another thread run where it enters this callback, even for seconds. So
    a collection lasts no longer than its thread was on a CPU or in the run queue.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.seconds = 0.0
        self._began = self._wanted = 0.0

    def __call__(self, phase: str, details: dict[str, int]) -> None:
        """Add the time of one collection; runs in the thread that collects."""
        if details["generation"] == 0:
            return
        if phase == "start":
            self._wanted, self._began = _wanted(), perf_counter()
        elif self._began:
            elapsed = perf_counter() - self._began
            self.seconds += min(elapsed, _wanted() - self._wanted)
            self._began = 0.0


def _wanted() -> float:
    """Return the seconds that this thread has been on a CPU or in the run queue so far."""
    schedule = kernel.own_schedule()
    return _thread_time() + (schedule.waiting if schedule is not None else 0.0)


class Mark:
    """The callback that the loop runs in its next iteration; it does as little as possible."""

    __slots__ = ("at", "cpu")

    def __init__(self) -> None:
        """Create a mark without a time."""
        self.at = 0.0
        self.cpu = 0.0

    def __call__(self) -> None:
        """Record the time, and the thread's CPU time."""
        self.cpu = _thread_time()
        self.at = perf_counter()


def waits() -> int | None:
    """Return how often this thread has waited so far, None if not counted."""
    return getrusage(RUSAGE_THREAD).ru_nvcsw if _COUNTS_WAITS else None


def all_waits() -> int | None:
    """Return how often all threads of the process have waited, None if not counted."""
    return getrusage(RUSAGE_SELF).ru_nvcsw if _COUNTS_WAITS else None


def native_id() -> int:
    """Return the kernel's id of this thread."""
    import _thread

    return _thread.get_native_id()


def clock_of(ident: int) -> int | None:
    """Return the clock of a thread's CPU time, None if there is none."""
    getter: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)
    if getter is None:
        return None
    try:
        return getter(ident)
    except OSError:
        return None


def read(clock: int | None) -> float:
    """Return the seconds of a thread's clock; 0.0 for None or for a finished thread."""
    if clock is None:
        return 0.0
    try:
        return time.clock_gettime(clock)
    except OSError:
        return 0.0
