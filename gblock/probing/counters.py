"""Read how long the hub's thread and the sampler's ran and waited, in the sampler's thread."""

from __future__ import annotations

import sys
from typing import NamedTuple

from gblock.probing import clocks, kernel, verdict
from gblock.probing.clocks import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.probing.sight import Sight

LATE = 0.02
"""Seconds: a sample that is later than this was delayed from outside."""
_EVERY, _EVERY_AT_WORK = 0.1, 1.0
"""Seconds between two readings of the hub's thread, if reading releases the GIL."""
_DELAYED = 0.002
"""Seconds of delays after which the counters of the sampler's thread are read again."""
_LONG_ENOUGH = 0.00003
"""Seconds for which the sampler must hold the GIL to see that the hub's thread runs without it."""


class Count(NamedTuple):
    """The kernel's counters of the hub's thread at one time."""

    at: float
    schedule: kernel.Schedule | None


class Counters:
    """The counters of one process: of the hub's thread, and of the sampler's own."""

    def __init__(self, ident: int, native: int, now: float) -> None:
        """Read the hub's thread for the first time.

        Args:
            ident: The identity of the hub's thread.
            native: The same as the kernel's id.
            now: Seconds on the sampler's clock.
        """
        self.hub = kernel.Thread(native)
        self._clock = clocks.clock_of(ident)
        self.count = Count(now, self.hub.schedule())
        """The last reading of the hub's thread."""
        self._own: kernel.Thread | None = None  # the first sample knows the sampler's thread
        self._own_waiting: float | None = None
        self._delayed = 0.0

    def cpu(self) -> float:
        """Return the CPU time of the hub's thread, 0.0 if it has ended."""
        return clocks.read(self._clock)

    def read(self, sight: Sight, *, is_open: bool) -> None:
        """Read how long both threads have waited for a CPU.

        If reading releases the GIL, the hub's activity meanwhile is not seen. In that case the
        counters are read while the hub is idle, and the delays since are added.

        Args:
            sight: The sample that is taken.
            is_open: Whether a block may be going on.
        """
        self._delayed += sight.late
        if self._own is None:
            self._own = kernel.Thread(clocks.native_id())
        if kernel.KEEPS_GIL or (sight.is_idle and self._delayed >= _DELAYED):
            schedule = self._own.schedule()
            self._own_waiting, self._delayed = None if schedule is None else schedule.waiting, 0.0
        age = sight.now - self.count.at
        is_due = not is_open and age >= (_EVERY if sight.is_idle else _EVERY_AT_WORK)
        if kernel.KEEPS_GIL or is_due:
            self.count = Count(sight.now, self.hub.schedule())

    def queued(self) -> float | None:
        """Return how long the sampler waited for a CPU since the last sample, None if unknown."""
        schedule = self._own.schedule() if self._own is not None else None
        if schedule is None or self._own_waiting is None:
            return None
        return max(0.0, schedule.waiting - self._own_waiting - self._delayed)

    def held(self, sight: Sight) -> float:
        """Return the seconds for which the GIL is proven to have been held until a sample."""
        if sight.late < LATE or sight.is_split:
            return 0.0
        return verdict.held(sight.late, sight.waits, self.queued(), sys.getswitchinterval())

    def runs_without_gil(self, sight: Sight) -> bool | None:
        """Return whether the hub's thread has run since a sample, while the sampler held the GIL.

        None if the sampler has not held it for long enough to say so.
        """
        elapsed = perf_counter() - sight.now
        ran = self.cpu() - sight.clocks[0]
        return None if elapsed < _LONG_ENOUGH else ran >= elapsed / 2
