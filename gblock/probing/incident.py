"""Accumulate what is seen of one iteration of the loop that lasts, with the proofs for it."""

from __future__ import annotations

import sys

from gblock.probing import clocks, kernel, verdict
from gblock.probing.clocks import Mark, perf_counter
from gblock.probing.counters import LATE, Count, Counters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.probing.sight import Clocks, Sight
    from gblock.probing.stacks import Spot, Stack

_WAKES = 3
"""The most times a thread gets a CPU in one wait: for its end, and by the loop."""


class Incident:
    """An iteration of the loop that lasts."""

    def __init__(
        self, began: float, before: Clocks, opened: float, base: Count, *, in_poll: bool
    ) -> None:
        """Open an incident.

        Args:
            began: When the iteration started.
            before: The clocks then.
            opened: When it was noticed.
            base: The kernel's counters at the previous sample.
            in_poll: Whether the thread seems to wait for events.
        """
        self.base = base
        self.began = began
        self.cpu, self.process, self.collected = before
        self.opened = opened
        self.in_poll = in_poll
        """True if the thread seems to wait for events; only the loop's answer decides."""
        self.mark = Mark()
        self.stacks: dict[object, Stack] = {}
        self.last: Stack | None = None
        self.spot: Spot | None = None
        """The place of the thread at the last sample."""
        self.was_clean = False
        self.late = 0.0
        self.waits: int | None = 0
        """The waits of the sampler's thread during delays."""
        self.others_waits: int | None = 0
        """The same for all other threads of the process."""
        self.stopped = 0.0
        """The time for which the process may have been stopped."""
        self.just_stopped = 0.0
        """The same before the last sample alone."""
        self.next_state = 0.0
        self.asleep = 0
        self.running = 0
        self.syscall: str | None = None
        self.progress = 0.0
        self.first: kernel.Schedule | None = None
        """The kernel's counters when the incident was opened."""
        self.schedule: kernel.Schedule | None = None
        """The same at the last sample."""
        self.is_waiting = False
        """True if the thread slept before the last sample."""
        self.is_working = False
        """True if it was on a CPU for half of the time before the last sample."""
        self.last_cpu = self.cpu
        """The thread's CPU time at the last sample."""
        self.has_company = True
        self.asked = 0.0
        """The thread's CPU time when the loop was asked."""
        self.idle = 0.0

    def delay(self, sight: Sight) -> None:
        """Count a delayed sample."""
        self.late += sight.late
        self.stopped += sight.stopped
        self.just_stopped = sight.stopped
        if sight.late > LATE:
            if self.waits is None or sight.waits is None:
                self.waits = None
            else:
                self.waits += sight.waits
            if self.others_waits is None or sight.others_waits is None:
                self.others_waits = None
            else:
                self.others_waits += sight.others_waits

    def watch(
        self, stack: Stack, sight: Sight, counters: Counters, left: float, cpu: float
    ) -> Spot:
        """Add the time since the last sample to what runs now, with its proofs.

        Args:
            stack: What runs now.
            sight: The sample.
            counters: The counters of both threads.
            left: When the last sample ended.
            cpu: The CPU time of the hub's thread at the last sample.

        Returns:
            The place of the thread.
        """
        now = sight.now
        gap = now - (self.began if self.last is None else max(left, self.began))
        ran = sight.clocks[0] - cpu
        self.is_working = ran >= gap / 2
        stack.add(gap)
        spot = stack.now
        if not sight.is_clean:
            held = min(gap, counters.held(sight))
            spot.held += held
            spot.longest = max(spot.longest, held)
            spot.busy += self._kept_busy(ran, counters) if held else 0.0
        else:
            spot.went_on.add(counters.runs_without_gil(sight))
        is_same, before, proven = self.spot is spot, self.schedule, gap
        if self.in_poll and self.last is None:
            # The callback started before the loop was asked.
            is_same, before, proven = True, self.first, now - self.opened
        # Only for a sleeping thread: asking the kernel releases the GIL.
        asks = kernel.KEEPS_GIL or not self.is_working
        schedule = counters.hub.schedule() if asks else None
        self.is_waiting = (
            schedule is not None
            and before is not None
            and verdict.is_waiting(
                proven,
                schedule.ran - before.ran,
                schedule.waiting - before.waiting,
                schedule.turns - before.turns,
                sys.getswitchinterval(),
            )
            and counters.hub.state() in ("S", "D")
        )
        if is_same and self.is_waiting and (sight.is_clean or sight.late < LATE):
            spot.slept += max(0.0, proven - sight.stopped)
        elif is_same and sight.is_clean and self.was_clean:
            spot.worked += proven
            # A thread that needs the GIL would have waited for it during one of these samples.
            waits = sight.others_waits
            spot.undisturbed.add(None if waits is None else waits == 0)
        self.schedule, self.last_cpu = schedule, sight.clocks[0]
        self.last, self.spot, self.was_clean = stack, spot, sight.is_clean
        return spot

    def _kept_busy(self, ran: float, counters: Counters) -> float:
        """Return how long the hub's thread was at most on a CPU or in the run queue."""
        now, base = counters.hub.schedule(), self.schedule or self.base.schedule
        return ran + now.waiting - base.waiting if now is not None and base is not None else ran

    def end(self, end: float, counters: Counters, left: float) -> None:
        """Add the time without samples at the end, for a thread that slept through it."""
        before, spot = self.schedule, self.spot
        schedule = counters.hub.schedule() if self.is_waiting else None
        if before is None or spot is None or schedule is None:
            return
        places = [each for stack in self.stacks.values() for each in stack.spots.values()]
        waited = self.others_waits
        if len(places) == 1 and waited is not None and waited <= _WAKES:
            # Since the sample before the block, all other threads have waited once or twice.
            ran = self.last_cpu - self.cpu
            slept = end - self.began - ran - self.stopped
            spot.slept = max(spot.slept, slept)
        # It woke for the end of its wait, and the loop once or twice since.
        if schedule.turns - before.turns <= _WAKES:
            spot.slept += max(0.0, end - left - self.just_stopped)

    def measured(
        self,
        duration: float,
        cpu: float,
        spot: Spot | None,
        threshold: float,
        counters: Counters,
        *,
        left: float,
        collected: float,
    ) -> verdict.Measured:
        """Return the measurements for the verdict.

        Args:
            duration: Seconds of the block.
            cpu: Seconds of it that the hub's thread was on a CPU.
            spot: The place to blame.
            threshold: The shortest block to record, in seconds.
            counters: The counters of both threads.
            left: When the last sample ended.
            collected: Seconds of garbage collection since the start of the process.
        """
        now, base = counters.hub.schedule(), self.base
        first, since = base.schedule, base.at
        if left - self.opened >= threshold / 2 and self.first is not None:
            first, since = self.first, self.opened
        share, queued = 0.0, 0.0
        if now is not None and base.schedule is not None:
            queued = now.waiting - base.schedule.waiting
        if now is not None and first is not None:
            share = (now.waiting - first.waiting) / max(perf_counter() - since, 0.001)
        return verdict.Measured(
            duration=duration,
            threshold=threshold,
            interval=sys.getswitchinterval(),
            cpu=cpu,
            others=clocks.process_time() - self.process - cpu,
            collected=collected - self.collected,
            late=self.late,
            waits=self.waits,
            asleep=self.asleep,
            running=self.running,
            in_poll=self.in_poll,
            is_named=spot is not None and spot.is_call and bool(spot.site.callable),
            queued=queued,
            queued_share=share,
            others_waits=self.others_waits,
            kept=spot.held if spot is not None else 0.0,
            slept=spot.slept if spot is not None else 0.0,
            stopped=self.stopped,
            has_company=self.has_company,
        )
