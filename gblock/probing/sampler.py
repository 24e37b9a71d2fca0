"""Sample one hub from gevent's monitor thread and measure what blocks it.

No hook is installed: a sample reads the loop's cached time and iteration count, the frame of the
hub's thread, and the clocks. If an iteration lasts, the sampler asks the loop to call back
(`run_callback_threadsafe`): the callback runs in the next iteration and marks the exact end.
The thread never imports anything and never waits for a lock that a greenlet may hold.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left

from gblock.probing import clocks, frames, kernel, patched, stacks, verdict
from gblock.probing.clocks import perf_counter
from gblock.probing.counters import LATE, Counters
from gblock.probing.frameless import Frameless
from gblock.probing.incident import Incident
from gblock.probing.sight import Sight

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable
    from typing import Any

    from gblock.probing.clocks import Collections
    from gblock.probing.record import Recorder
    from gblock.probing.settings import Settings
    from gblock.probing.sight import Clocks
    from gblock.probing.stacks import Spot, Stack, UserCode

LAGS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""Seconds: the upper bounds of the histogram of the hub's lag at each sample."""
_ERRORS = 10
_TURNING = 8
"""Iterations that may follow a block at once, in addition to the usual number between two
samples: after more, the loop cannot have been blocked all the time."""
_WORKED = 0.005
"""Seconds of CPU time; a loop that only wakes up needs less."""
_POLLS = {
    "epoll": ("epoll_wait", "epoll_pwait", "epoll_pwait2"),
    "poll": ("poll", "ppoll"),
    "select": ("select", "pselect6"),
}
"""The system call in which each of libev's backends waits; any other is a waiting callback."""


class Sampler:
    """Sample one hub: `look` runs in the monitor thread, everything else in the hub's."""

    def __init__(
        self,
        hub: Any,
        settings: Settings,
        recorder: Recorder,
        collections: Collections,
        library: UserCode,
    ) -> None:
        """Store what is known about the hub; runs in the hub's thread."""
        self.ident: int = hub.thread_ident
        self.native = clocks.native_id()
        self.settings = settings
        self.recorder = recorder
        self.library = library
        self.samples = 0
        self.busy = 0
        """Samples in which the hub was busy."""
        self.lags = [0] * (len(LAGS) + 1)
        """Samples by the time that the loop's iteration had lasted; see `LAGS`."""
        self.lag = 0.0
        self.disabled: str | None = None
        self.on_look: Callable[[], None] | None = None
        self.on_fork: Callable[[], None] = self.restart
        self.on_gone: Callable[[], None] | None = None
        """Called in the monitor thread when the hub's thread has ended."""
        self.name = f"{type(hub).__name__}-{getattr(hub, 'minimal_ident', None) or 0}"
        self._collections = collections
        self.on_pace: Callable[[float], None] | None = None
        self._period = self._pace = settings.period
        self._threshold = settings.threshold
        self._suspicious, self._in_doubt = settings.suspicious, settings.threshold / 3
        self.errors = 0
        self._errors = 0
        self._idle_codes = _loop_codes(hub)
        self.hub_code = type(hub).run.__code__
        self._frameless = Frameless(hub)
        self._asks = kernel.LINUX and self._frameless.is_compiled
        self._polls_by = _POLLS.get(getattr(hub.loop, "backend", ""), sum(_POLLS.values(), ()))
        self.restart()

    def restart(self, first: float = 0.0) -> None:
        """Reset the state: at the start, and in a child after a fork.

        Args:
            first: Seconds that the monitor thread sleeps before the first sample.
        """
        now = perf_counter()
        self._pace = self._period
        self._sleep = max(first, self._pace)
        self.pid = os.getpid()
        self._counters = Counters(self.ident, self.native, now)
        self._left = now
        self._turn: int | None = None
        self._turns = 0.0
        self._stamp = 0.0
        self._busy = False
        self._began = now
        self._since = now
        self._waits: int | None = None  # of a new thread
        self._others_waits: int | None = None
        self._counted: tuple[int | None, int | None] = (None, None)
        """The waits of this thread and of all others at the start of the last sample."""
        self._is_split = False
        self._last = self._clocks()
        self._before = self._last
        self._polls = self._still = 0.0
        self._still_before = self._last
        self._incident: Incident | None = None
        self._is_blind = False
        """True while no frame may be read; see `frames.of_thread`."""
        self._beat = now
        self._state = "idle"

    def look(self, hub: Any) -> None:
        """Take one sample; no exception leaves this function."""
        if self.disabled is not None:
            return
        try:
            if self.pid != os.getpid():
                self.on_fork()
            self._look(hub)
            self._errors = 0
            pace = self._period if self._incident is None else self.settings.pace
            if pace != self._pace and self.on_pace is not None:
                self.on_pace(pace)
                self._pace = pace
            if self.on_look is not None:
                self.on_look()
        except BaseException as error:  # noqa: BLE001 - an exception would end gevent's thread
            self._failed(error)
        finally:
            self._left, self._sleep = perf_counter(), self._pace
            self._is_split = self._left - self._since >= LATE
            if self._is_split:
                # The delay happened in here and counts like a late sample, but proves no place.
                self._left = self._since + LATE
                self._waits, self._others_waits = self._counted
            else:
                self._waits = clocks.waits()
                self._others_waits = _less(clocks.all_waits(), self._waits)

    def finish(self, *, is_over: bool = False) -> None:
        """Write unfinished blocks and the last heartbeat; runs at the end, in any thread.

        Args:
            is_over: Whether the hub has ended before: an open block ends at the last sample.
        """
        incident, self._incident = self._incident, None
        # The end of a loop that seemed to wait for events is no block.
        if incident is not None and not (is_over and incident.in_poll and incident.last is None):
            end = self._since if is_over else perf_counter()
            self._close(incident, incident.mark.at or end, self._last[0])
        self._heartbeat()

    def _heartbeat(self) -> None:
        """Write the counts since the start."""
        self.recorder.heartbeat(
            {
                "samples": self.samples,
                "busy": self.busy,
                "lags": list(self.lags),
                "loop_lag_max": round(self.lag, 6),
                "state": self._state,
                "hub": self.name,
            }
        )

    def _failed(self, error: BaseException) -> None:
        self._errors += 1
        self._incident = None
        if not self.errors:
            self.recorder.warn(f"the probe missed something: {_told(error)}")
        self.errors += 1
        if self._errors >= _ERRORS:
            self.disabled = _told(error)
            self.recorder.end("error", self.disabled)
            self.recorder.warn(f"the probe has stopped after an error: {self.disabled}")

    def _look(self, hub: Any) -> None:
        if hub.loop is None:
            return  # it was destroyed after the monitor thread had looked at it
        before = self._since
        sight = self._sight(hub.loop)
        if self._last[0] and not sight.clocks[0]:
            # The hub's thread has ended with its clock; its ident may be that of another one.
            self._since = before
            self.disabled = "its thread has ended"
            self.finish(is_over=True)
            if self.on_gone is not None:
                self.on_gone()
            return
        unseen = self._follow(sight, hub)
        self._miss(sight, unseen)
        if sight.is_idle:
            self._at_rest(sight, hub.loop)
            self.lags[0] += 1
        else:
            self._at_work(sight, hub)
            self.busy += 1
            self.lags[bisect_left(LAGS, sight.now - self._began)] += 1
        self._turn, self._stamp, self._last = sight.turn, sight.stamp, sight.clocks
        self._counters.read(sight, is_open=self._incident is not None)
        if self._incident is None:
            if sight.now - self._beat >= self.settings.heartbeat:
                self._beat = sight.now
                self._heartbeat()
                self.lag = 0.0

    def _sight(self, loop: Any) -> Sight:
        """Read everything that changes on its own; nothing here releases the GIL."""
        now, wall = perf_counter(), clocks.wall()
        waits = clocks.waits()
        others_waits = _less(clocks.all_waits(), waits)
        own_waits = _less(waits, self._waits)
        self._counted = waits, others_waits
        since, self._since = self._since, now
        late = max(0.0, now - self._left - self._sleep)
        queued = self._counters.queued() if kernel.KEEPS_GIL and late > LATE else None
        stamp: float = loop.now()
        turn = _turn(loop)
        times = self._clocks()
        found, threads = frames.of_thread(self.ident)
        while found and found[0].f_code.co_filename.startswith(stacks.HERE):
            del found[0]  # the mark, or the garbage collector's callback
        frame = found[0] if found else None
        # A greenlet with a C function as target has no frame, nor has a finished thread.
        is_idle = times[0] == 0.0 if frame is None else frame.f_code in self._idle_codes
        self._is_blind = threads == 0
        # Without frames, the state of the loop and the kernel's counters decide.
        is_idle = is_idle or self._is_blind
        self.samples += 1
        self._state = "idle" if is_idle else "running"
        return Sight(
            now=now,
            wall=wall,
            since=since,
            late=late,
            waits=own_waits,
            others_waits=_less(others_waits, self._others_waits),
            is_split=self._is_split,
            stamp=stamp,
            turn=turn,
            turns=1 if turn is None or self._turn is None else turn - self._turn,
            clocks=times,
            frames=found,
            stopped=verdict.stopped(late, own_waits, queued, sys.getswitchinterval()),
            is_idle=is_idle,
            is_turned=stamp != self._stamp if turn is None else turn != self._turn,
            has_company=threads > 2 or self._is_blind,
        )

    def _follow(self, sight: Sight, hub: Any) -> float:
        """Continue the open incident; return the seconds that nothing explains yet."""
        incident = self._incident
        if incident is None:
            return sight.late
        incident.delay(sight)
        incident.has_company = sight.has_company
        if incident.mark.at:
            self._incident = None
            self._close(incident, incident.mark.at, incident.mark.cpu)
            self._begin_after(incident, sight)
            return min(sight.late, sight.now - incident.mark.at)
        if incident.in_poll:
            if sight.is_idle:
                self._question(incident, hub, sight)
            elif incident.last is not None:
                incident.in_poll = False  # after the callback, others run in the same iteration
            else:
                self._incident = None
        elif sight.is_idle:
            # The mark should come at once. If it does not, the loop is gone or was destroyed.
            incident.idle = incident.idle or sight.now
            if sight.now - incident.idle > 1:
                self._incident = None
                self._close(incident, incident.idle, sight.clocks[0])
        return 0.0

    def _begin_after(self, incident: Incident, sight: Sight) -> None:
        """Use the end of an incident as the earliest start of the next one."""
        if incident.in_poll:
            # Only the mark has woken the loop, so it waits for events again.
            ago = sight.now - incident.mark.at
            if sight.is_idle and sight.stamp < sight.wall - ago + 0.002:
                self._polls = sight.stamp
        else:
            self._began = incident.mark.at
            self._before = (incident.mark.cpu, *sight.clocks[1:])

    def _miss(self, sight: Sight, unseen: float) -> None:
        """Record a time without samples, if nothing that runs now explains it."""
        if unseen >= self._threshold and 0 <= sight.turns <= _TURNING + 2 * self._turns:
            explained = 0.0 if sight.is_idle else sight.now - self._pass(sight)
            if explained < unseen / 2:
                self._overslept(unseen, sight)
        elif sight.late < LATE:
            self._turns = max(sight.turns, self._turns * 0.9)

    def _at_rest(self, sight: Sight, loop: Any) -> None:
        """Handle a sample of a hub that seems to wait for events."""
        self._busy = False
        if not self._asks or self._incident is not None:
            return
        if sight.stamp != self._stamp:
            self._still, self._still_before = self._pass(sight), self._last
        elif sight.stamp != self._polls and sight.now - self._still >= self._in_doubt:
            self._suspect(loop, sight.now)

    def _at_work(self, sight: Sight, hub: Any) -> None:
        """Handle a sample of a busy hub."""
        if not self._busy or sight.is_turned:
            self._began = self._pass(sight)
            self._before = self._last
            self._busy = True
        elapsed = sight.now - self._began
        self.lag = max(self.lag, elapsed)
        incident, is_new = self._incident, False
        if incident is None:
            if elapsed < self._suspicious:
                return
            is_new = True
            incident = Incident(
                self._began, self._before, sight.now, self._counters.count, in_poll=False
            )
            self._incident = incident
            incident.delay(sight)
            incident.has_company = sight.has_company
        # The stack first: anything that releases the GIL lets the hub's thread move on.
        if sight.frames:
            is_late = not sight.is_clean
            stack = self.library.stack(
                incident.stacks, sight.frames, self.hub_code, is_late=is_late
            )
        else:
            stack = self._frameless_stack(incident, hub, elapsed)
        if is_new:
            hub.loop.run_callback_threadsafe(incident.mark)
        self._watch(incident, stack, sight)
        if is_new:
            incident.first = incident.schedule

    def _suspect(self, loop: Any, now: float) -> None:
        """Ask a loop that stands still to call back: it waits for events, or for a callback in C.

        A frame does not distinguish the two. The loop's time changes in neither, so one answer is
        valid until it does.
        """
        incident = Incident(
            self._still, self._still_before, now, self._counters.count, in_poll=True
        )
        incident.asked = self._counters.cpu()
        self._incident = incident
        loop.run_callback_threadsafe(incident.mark)
        incident.first = self._counters.hub.schedule()

    def _question(self, incident: Incident, hub: Any, sight: Sight) -> None:
        """Find out why a loop that seems to wait for events does not call back."""
        now = sight.now
        if incident.last is None:
            state = self._counters.hub.state()
            if state in ("S", "D"):
                name, _ = self._counters.hub.syscall()
                # It may wait for the GIL, which is a futex, too, but never for long.
                unclear = name is None or name == "futex"
                if name in self._polls_by or (
                    unclear and now - incident.opened < self._threshold / 2
                ):
                    return
            elif sight.clocks[0] - incident.asked < _WORKED:
                return  # it has no CPU
        self._watch(incident, self._frameless_stack(incident, hub, now - incident.began), sight)

    def _frameless_stack(self, incident: Incident, hub: Any, elapsed: float) -> Stack | None:
        """Return the C function that runs without a frame; naming it takes a millisecond."""
        stack = incident.stacks.get(incident.in_poll)
        if stack is None and elapsed >= self._threshold / 2:
            if self._is_blind:
                stack = self.library.frameless(None, [])
            elif incident.in_poll:
                stack = self.library.frameless(self._frameless.callback(hub), [])
                stack.root = "Hub"
            else:
                stack = self.library.frameless(*self._frameless.greenlet(hub))
            incident.stacks[incident.in_poll] = stack
        return stack

    @staticmethod
    def _pass(sight: Sight) -> float:
        """Return when the current iteration of the loop started."""
        # libev's time is the wall clock's, libuv's the monotonic clock's in milliseconds.
        age = sight.wall - sight.stamp
        if abs(sight.now - sight.stamp) < abs(age):
            age = sight.now - sight.stamp
        # Not before the last sample, unless that sample saw the same iteration.
        return min(sight.now, max(sight.now - age, sight.since))

    def _watch(self, incident: Incident, stack: Stack | None, sight: Sight) -> None:
        """Add one sample to an incident, and write progress when it is due."""
        if stack is None:
            return
        spot = incident.watch(stack, sight, self._counters, self._left, self._last[0])
        elapsed = sight.now - incident.began
        if elapsed >= incident.next_state:
            incident.next_state = max(elapsed * 2, self._threshold)
            if incident.is_working:
                incident.running += 1
            elif not self._ask_kernel(incident, spot, elapsed):
                return
        if self.recorder.is_due(elapsed, incident.progress):
            incident.progress = elapsed
            sure = verdict.confidence("waits", elapsed, spot.seen)
            self.recorder.progress(elapsed, self.recorder.site(spot.site_of(sure)))

    def _ask_kernel(self, incident: Incident, spot: Spot, elapsed: float) -> bool:
        """Read the state of the hub's thread; return whether the block still lasts."""
        state = self._counters.hub.state()
        is_asleep = state in ("S", "D")
        name, pointer = self._counters.hub.syscall() if is_asleep else (None, 0)
        if incident.mark.at:
            return False  # asking the kernel releases the GIL, and the block ended meanwhile
        incident.asleep += is_asleep
        incident.running += state == "R"
        if is_asleep:
            incident.syscall = name or incident.syscall
            if pointer and spot.site.native is None and elapsed >= self._threshold:
                spot.site.native = kernel.native_modules(pointer)
        return True

    def _close(self, incident: Incident, end: float, cpu: float) -> None:
        if incident.in_poll and incident.last is None:
            incident.began = incident.opened  # before that it may have waited for events
        duration = end - incident.began
        self.lag = max(self.lag, duration)
        if duration < self._threshold:
            return
        incident.end(end, self._counters, self._left)
        stack, spot = stacks.chosen(incident.stacks, duration)
        measured = incident.measured(
            duration,
            cpu - incident.cpu,
            spot,
            self._threshold,
            self._counters,
            left=self._left,
            collected=self._collections.seconds,
        )
        kind = verdict.kind(measured)
        if incident.in_poll and stack is None and kind == "waits":
            kind = "starved"
        sure = verdict.confidence(kind, duration, spot.seen if spot is not None else None)
        if kind in verdict.BLAMELESS:
            stack = spot = None
        self._record(
            kind,
            end,
            duration,
            sure,
            stack=stack,
            spot=spot,
            syscall=incident.syscall if kind == "waits" else None,
            names=stacks.candidates(incident.stacks) if sure == verdict.NEAR else [],
        )

    def _overslept(self, late: float, sight: Sight) -> None:
        """Record that nothing of the process ran, or only another thread."""
        cpu, process, collected = (a - b for a, b in zip(sight.clocks, self._last, strict=True))
        now, base = self._counters.hub.schedule(), self._counters.count
        share = 0.0
        if now is not None and base.schedule is not None:
            waited = now.waiting - base.schedule.waiting
            share = waited / max(perf_counter() - base.at, 0.001)
        measured = verdict.Unsampled(
            late=late,
            threshold=self._threshold,
            interval=sys.getswitchinterval(),
            cpu=cpu,
            others=process - cpu,
            collected=collected,
            waits=sight.waits,
            queued_share=share,
            has_company=sight.has_company,
        )
        self._record(verdict.overslept(measured), perf_counter(), late, verdict.NONE)

    def _record(
        self,
        kind: str,
        end: float,
        duration: float,
        sure: str,
        *,
        stack: Stack | None = None,
        spot: Spot | None = None,
        syscall: str | None = None,
        names: list[str] | None = None,
    ) -> None:
        site = spot.site_of(sure) if spot is not None else None
        if site is not None:
            native = site.native
            site = self.recorder.site(site)
            if site.native is None:
                site.native = native
        self.recorder.block(
            {
                "type": "block",
                "t": clocks.wall() - (perf_counter() - end) - duration,
                "duration": round(duration, 6),
                "class": kind,
                "site": None,
                "greenlet": stack.root if stack is not None else None,
                "syscall": syscall,
                "native": (site.native or []) if site is not None and kind == "waits" else [],
                "confidence": sure,
                **({"candidates": names} if names else {}),
                **({"route": stack.route} if stack is not None and stack.route else {}),
                **patched.now(site.symbol if site is not None else None),
                "hub": self.name,
                "base": stack.base if stack is not None else 0,
            },
            site,
        )

    def _clocks(self) -> Clocks:
        return self._counters.cpu(), clocks.process_time(), self._collections.seconds


def _told(error: BaseException) -> str:
    """Return one line: the error, and its place in the probe."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        place = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    return f"{type(error).__name__}: {error}"[:200] + place


def _less(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first - second


def _turn(loop: Any) -> int | None:
    turn = getattr(loop, "iteration", -1)
    return turn if isinstance(turn, int) and turn >= 0 else None


def _loop_codes(hub: Any) -> frozenset[types.CodeType]:
    """Return the code of the innermost frame while the loop waits for events."""
    codes = set()
    for cls in type(hub).__mro__:
        codes.add(getattr(cls.__dict__.get("run"), "__code__", None))
    for cls in type(hub.loop).__mro__:
        codes.add(getattr(cls.__dict__.get("run"), "__code__", None))
    return frozenset(code for code in codes if code is not None)
