"""Looks at one hub from gevent's monitor thread and tells what blocked it, and for how long.

No hook is installed: a look reads the loop's cached time and count of turns, the frame of the
hub's thread, and the clocks. When a turn of the loop lasts, the loop is asked to call back
(`run_callback_threadsafe`): it does so when it turns again, and that is the exact end.
The thread never imports anything and never waits for a lock that a greenlet may hold.
"""

from __future__ import annotations

import json
import os
import sys
import time

try:
    from resource import RUSAGE_THREAD, getrusage

    _COUNTS_WAITS = True
except ImportError:  # pragma: no cover - Linux alone counts a thread's waits
    _COUNTS_WAITS = False

from gblock.probing import callee, kernel
from gblock.probing.frameless import Frameless
from gblock.probing.record import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable
    from typing import Any

    from gblock.probing.frameless import Line
    from gblock.probing.record import Frame, Recorder
    from gblock.probing.settings import Settings

    # Seconds: of the hub's thread on a processor, of all threads, of garbage collection.
    Clocks = tuple[float, float, float]

# Bound now: patching replaces attributes of modules, and `time.sleep` is one of them.
_perf_counter, _time, _process_time = time.perf_counter, time.time, time.process_time
_thread_time = time.thread_time
_frames = sys._current_frames  # noqa: SLF001 - there is no other way to see a thread's frame
_PROGRESS = (1.0, 5.0, 30.0)
_LOOKS = 32
"""So many different stacks are told apart during one block."""
_DEPTH = 64
_HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
"""All of gblock: what of it runs in a host is never the host's own code."""
_ERRORS = 10
_TURNING = 8
"""So many turns of the loop follow a block at once, beside those that are usual between two looks:
if there were more, it cannot have been blocked all the time."""
_SCHEDULE_EVERY, _SCHEDULE_IDLE = 0.1, 1.0
"""Seconds between two looks at how long the hub's thread has waited for a processor."""
_LATE = 0.02
"""Seconds: a look that comes later than that was kept from coming."""
_WORKED = 0.005
"""Seconds on a processor that no loop needs to wake up."""
_POLLS = {
    "epoll": ("epoll_wait", "epoll_pwait", "epoll_pwait2"),
    "poll": ("poll", "ppoll"),
    "select": ("select", "pselect6"),
}
"""How each of libev's backends waits: by any other system call it is a callback that waits."""
_SPOTS = 4
"""So many instructions of one stack are told apart."""
_ELSEWHERE = -2
"""Stands for all others."""


class Collections:
    """Measures garbage collection, by `gc.callbacks`."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.seconds = 0.0
        self._began = 0.0

    def __call__(self, phase: str, details: dict[str, int]) -> None:
        """Take note; this runs in whatever thread collects."""
        if details["generation"] == 0:
            return
        if phase == "start":
            self._began = _perf_counter()
        elif self._began:
            self.seconds += _perf_counter() - self._began
            self._began = 0.0


class _Mark:
    """What the loop calls when it turns again; it does next to nothing."""

    __slots__ = ("at", "cpu")

    def __init__(self) -> None:
        self.at = 0.0
        self.cpu = 0.0

    def __call__(self) -> None:
        self.cpu = _thread_time()
        self.at = _perf_counter()


class _Spot:
    """One instruction at which a stack was seen, and for how long."""

    __slots__ = ("begins", "is_call", "seconds", "site")

    def __init__(self, site: Site, *, is_call: bool, begins: bool) -> None:
        self.site = site
        self.is_call = is_call
        self.begins = begins
        self.seconds = 0.0


class _Look:
    """One stack that was seen during a block, and for how long."""

    __slots__ = ("now", "root", "seconds", "spots")

    def __init__(self, root: str, last: int, spot: _Spot) -> None:
        self.root = root
        self.now = spot
        """Where it was seen last."""
        self.spots = {last: spot}
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count time for where it was seen last."""
        self.seconds += seconds
        self.now.seconds += seconds

    def spot(self, kind: str) -> _Spot:
        """Return where the time went, without a call if it went into the function itself.

        A thread that waits does so at the place where it was seen for most of the time. One that
        works moves on between the calls that it makes, and none of them is the long one.
        """
        most = max(self.spots.values(), key=lambda each: each.seconds)
        share = 0.5 if kind == "waits" else 0.9
        if len(self.spots) == 1 or most.seconds >= share * self.seconds:
            return most
        return _Spot(most.site.without_call(), is_call=False, begins=False)


class _Incident:
    """A turn of the loop that lasts."""

    def __init__(self, began: float, before: Clocks, *, in_poll: bool = False) -> None:
        self.began = began
        self.cpu, self.process, self.collected = before
        self.in_poll = in_poll
        """The thread looks as if it waited for events; only the loop itself can tell."""
        self.mark = _Mark()
        self.looks: dict[object, _Look] = {}
        self.last: _Look | None = None
        self.late = 0.0
        self.waits = 0
        """How often the sampler's thread woke and waited again, when it came late."""
        self.next_state = 0.0
        self.asleep = 0
        self.running = 0
        self.syscall: str | None = None
        self.progress = 0
        self.schedule: kernel.Schedule | None = None
        self.opened = 0.0
        self.asked = 0.0
        """The thread's time on a processor when the loop was asked."""
        self.idle = 0.0


class Sampler:
    """Watches one hub; `look` runs in the monitor thread, everything else in the hub's."""

    def __init__(
        self,
        hub: Any,
        settings: Settings,
        recorder: Recorder,
        collections: Collections,
        library: Library,
    ) -> None:
        """Take what is known about the hub; runs in the hub's thread."""
        self.ident: int = hub.thread_ident
        self.native = _native_id()
        self.settings = settings
        self.recorder = recorder
        self.library = library
        self.samples = 0
        self.lag = 0.0
        self.disabled: str | None = None
        self.on_look: Callable[[], None] | None = None
        self.on_fork: Callable[[], None] = self.restart
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
        """Forget the past: at the start, and in a child after a fork.

        Args:
            first: Seconds that the monitor thread sleeps before it looks for the first time.
        """
        now = _perf_counter()
        self._pace = self._period
        self._sleep = max(first, self._pace)
        self.pid = os.getpid()
        self._kernel = kernel.Thread(self.native)
        self._clock = _clock_of(self.ident)
        self._left = now
        self._turn: int | None = None
        self._turns = 0.0
        self._stamp = 0.0
        self._busy = False
        self._began = now
        self._since = now
        self._waits = 0  # of a new thread
        self._last = (self._cpu_now(), _process_time(), self._collections.seconds)
        self._before = self._last
        self._polls = self._still = 0.0
        self._still_before = self._last
        self._incident: _Incident | None = None
        self._beat = now
        self._schedule: kernel.Schedule | None = self._kernel.schedule()
        self._schedule_at, self._schedule_cpu = now, self._last[0]
        self._state = "idle"

    def look(self, hub: Any) -> None:
        """Look once; whatever goes wrong stays here."""
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
        except BaseException as error:  # noqa: BLE001 - gevent's thread would die of it
            self._errors += 1
            self._incident = None
            if not self.errors:
                self.recorder.warn(f"the probe missed something: {_told(error)}")
            self.errors += 1
            if self._errors >= _ERRORS:
                self.disabled = _told(error)
                self.recorder.end("error", self.disabled)
                self.recorder.warn(f"the probe has stopped after an error: {self.disabled}")
        finally:
            self._left, self._sleep = _perf_counter(), self._pace
            if self._left - self._since < _LATE:
                self._waits = _waits()
            else:
                self._left = self._since + _LATE  # it was held up in here, which is as late

    def finish(self) -> None:
        """Write what is under way, and the last heartbeat; runs at the end, in any thread."""
        incident = self._incident
        if incident is not None:
            self._incident = None
            self._close(incident, incident.mark.at or _perf_counter(), self._last[0])
        self.recorder.heartbeat(self.samples, self.lag, self._state, self.name)

    def _look(self, hub: Any) -> None:
        now, wall = _perf_counter(), _time()
        since, self._since = self._since, now
        late = max(0.0, now - self._left - self._sleep)
        loop = hub.loop
        stamp: float = loop.now()
        turn = _turn(loop)
        clocks = (self._cpu_now(), _process_time(), self._collections.seconds)
        frame = _frames().get(self.ident)
        own = frame
        while own is not None and own.f_code.co_filename.startswith(_HERE):
            own = own.f_back  # a mark, or the garbage collector's callback
        # A greenlet whose target is a C function has no frame; neither has a thread that is over.
        idle = clocks[0] == 0.0 if own is None else own.f_code in self._idle_codes
        turned = stamp != self._stamp if turn is None else turn != self._turn
        turns = 1 if turn is None or self._turn is None else turn - self._turn
        self.samples += 1
        self._state = "idle" if idle else "running"

        incident = self._incident
        unseen = late
        if incident is not None:
            unseen = 0.0
            incident.late += late
            if late > _LATE:
                incident.waits += _waits() - self._waits
            if incident.mark.at:
                self._incident = None
                self._close(incident, incident.mark.at, incident.mark.cpu)
                unseen = min(late, now - incident.mark.at)
                if incident.in_poll:
                    # Nothing but the mark has woken the loop, so it waits for events again.
                    if idle and stamp < wall - (now - incident.mark.at) + 0.002:
                        self._polls = stamp
                else:
                    self._began = incident.mark.at
                    self._before = (incident.mark.cpu, *clocks[1:])
                incident = None
            elif incident.in_poll:
                if idle:
                    self._question(incident, hub, now, clocks[0])
                elif incident.last is not None:
                    incident.in_poll = False  # after the callback others run, in the same turn
                else:
                    self._incident = incident = None
            elif idle:
                # The mark should come at once. If it does not, the loop is gone or was destroyed.
                incident.idle = incident.idle or now
                if now - incident.idle > 1:
                    self._incident = None
                    self._close(incident, incident.idle, clocks[0])
        if unseen >= self._threshold and 0 <= turns <= _TURNING + 2 * self._turns:
            explained = 0.0
            if not idle:
                explained = now - self._pass(now, wall, stamp, since)
            if explained < unseen / 2:
                self._overslept(unseen, clocks)
        elif late < _LATE:
            self._turns = max(turns, self._turns * 0.9)

        if idle:
            self._busy = False
            if self._asks and self._incident is None:
                if stamp != self._stamp:
                    self._still, self._still_before = (
                        self._pass(now, wall, stamp, since),
                        self._last,
                    )
                elif stamp != self._polls and now - self._still >= self._in_doubt:
                    self._suspect(loop, now)
        else:
            if not self._busy or turned:
                self._began = self._pass(now, wall, stamp, since)
                self._before = self._last
                self._busy = True
            elapsed = now - self._began
            self.lag = max(self.lag, elapsed)
            is_new = False
            if self._incident is None and elapsed >= self._suspicious:
                incident = self._incident = _Incident(self._began, self._before)
                incident.late, incident.opened, is_new = late, now, True
                if late > _LATE:
                    incident.waits = _waits() - self._waits
            if incident is not None:
                # First the stack: whatever lets go of the GIL lets the hub's thread move on.
                if own is not None:
                    look = self.library.look(incident.looks, own, self.hub_code)
                else:
                    look = self._frameless_look(incident, hub, elapsed)
                if is_new:
                    loop.run_callback_threadsafe(incident.mark)
                    incident.schedule = self._kernel.schedule()
                self._watch(incident, look, now)
        del frame, own
        self._turn, self._stamp = turn, stamp
        self._last = clocks
        if self._incident is None:
            # A thread that does nothing waits for no processor.
            worked = clocks[0] - self._schedule_cpu >= _WORKED
            if now - self._schedule_at >= (_SCHEDULE_EVERY if worked else _SCHEDULE_IDLE):
                self._schedule, self._schedule_at = self._kernel.schedule(), now
                self._schedule_cpu = clocks[0]
            if now - self._beat >= self.settings.heartbeat:
                self._beat = now
                self.recorder.heartbeat(self.samples, self.lag, self._state, self.name)
                self.lag = 0.0

    def _suspect(self, loop: Any, now: float) -> None:
        """Ask a loop that stands still to call back: it waits for events, or for a callback in C.

        The one cannot be told from the other by a frame. The loop's time does not change in either,
        so one answer holds until it does.
        """
        incident = _Incident(self._still, self._still_before, in_poll=True)
        incident.opened, incident.asked = now, self._cpu_now()
        self._incident = incident
        loop.run_callback_threadsafe(incident.mark)
        incident.schedule = self._kernel.schedule()

    def _question(self, incident: _Incident, hub: Any, now: float, cpu: float) -> None:
        """Find out why a loop does not call back although it seems to wait for events."""
        if incident.last is None:
            state = self._kernel.state()
            if state in ("S", "D"):
                name, _ = self._kernel.syscall()
                # It may wait for the GIL, which is a futex, too, but never for long.
                unclear = name is None or name == "futex"
                if name in self._polls_by or (
                    unclear and now - incident.opened < self._threshold / 2
                ):
                    return
            elif cpu - incident.asked < _WORKED:
                return  # it has no processor
        self._watch(incident, self._frameless_look(incident, hub, now - incident.began), now)

    def _frameless_look(self, incident: _Incident, hub: Any, elapsed: float) -> _Look | None:
        """Return what runs without a frame; to name it takes a millisecond, so not at once."""
        look = incident.looks.get(incident.in_poll)
        if look is None and elapsed >= self._threshold / 2:
            if incident.in_poll:
                look = self.library.frameless(self._frameless.callback(hub), [])
                look.root = "Hub"
            else:
                look = self.library.frameless(*self._frameless.greenlet(hub))
            incident.looks[incident.in_poll] = look
        return look

    @staticmethod
    def _pass(now: float, wall: float, stamp: float, since: float) -> float:
        """Return when the turn of the loop that is under way began."""
        # libev's time is the wall clock's, libuv's the monotonic clock's in milliseconds.
        age = wall - stamp
        if abs(now - stamp) < abs(age):
            age = now - stamp
        # It cannot have been before the last look, unless that look saw the same turn.
        return min(now, max(now - age, since))

    def _watch(self, incident: _Incident, look: _Look | None, now: float) -> None:
        """Take down what runs now, during a block."""
        if look is None:
            return
        if incident.last is not None:
            look.add(now - max(self._left, incident.began))
        else:
            look.add(now - incident.began)
        incident.last = look
        elapsed = now - incident.began
        if elapsed >= incident.next_state:
            incident.next_state = max(elapsed * 2, self._threshold)
            state = self._kernel.state()
            name, pointer = self._kernel.syscall() if state in ("S", "D") else (None, 0)
            if incident.mark.at:
                return  # to ask the kernel lets go of the GIL, and the block was over by then
            incident.asleep += state in ("S", "D")
            incident.running += state == "R"
            if state in ("S", "D"):
                incident.syscall = name or incident.syscall
                site = look.now.site
                if pointer and site.native is None and elapsed >= self._threshold:
                    site.native = kernel.native_modules(pointer)
        if incident.progress < len(_PROGRESS) and elapsed >= _PROGRESS[incident.progress]:
            while incident.progress < len(_PROGRESS) and elapsed >= _PROGRESS[incident.progress]:
                incident.progress += 1
            self.recorder.progress(elapsed, self.recorder.site(look.now.site))

    def _close(self, incident: _Incident, end: float, cpu: float) -> None:
        if incident.in_poll and incident.last is None:
            incident.began = incident.opened  # before that it may well have waited for events
        duration = end - incident.began
        self.lag = max(self.lag, duration)
        if duration < self._threshold:
            return
        look = max(incident.looks.values(), key=lambda each: each.seconds, default=None)
        spot = look.now if look is not None else None
        kind = self._kind(incident, duration, cpu - incident.cpu, spot)
        if incident.in_poll and look is None and kind == "waits":
            kind = "starved"
        blamed = look if kind not in ("thread", "starved") else None
        is_late = incident.late >= duration / 2
        self._record(
            kind,
            end,
            duration,
            incident.syscall if kind == "waits" else None,
            blamed,
            is_late=is_late,
            is_let_go=is_late and _is_let_go(incident.late, incident.waits),
        )

    def _kind(self, incident: _Incident, duration: float, cpu: float, spot: _Spot | None) -> str:
        half = duration / 2
        if self._collections.seconds - incident.collected >= half:
            return "gc"
        is_late = incident.late >= half
        process = _process_time() - incident.process
        is_held = _is_held(incident.late, incident.waits)
        is_kept = is_late and is_held is not False
        works = "gil" if is_kept and not _is_let_go(incident.late, incident.waits) else "cpu"
        # Short work that waited for a processor is no block on a machine of its own.
        is_short = cpu < self._threshold and duration - self._queued() < self._threshold
        if cpu >= half:
            return "starved" if is_short else works
        if (is_late or incident.in_poll) and process - cpu >= half:
            return "thread"
        if incident.asleep > incident.running and not is_late:
            return "waits"
        if cpu >= self._threshold:
            return works  # it would have been a block on a machine of its own, too
        if is_late and is_held is False:
            return "starved"
        if is_short or self._waited(incident) >= 0.5:
            return "starved"
        if incident.asleep and incident.asleep >= incident.running:
            return "waits"
        if not is_late:
            return "cpu" if cpu >= duration / 5 else "waits"
        if is_held:
            return "thread" if self._stood_by(incident, duration, cpu, process) else "gil"
        # Nobody worked and nobody else was let in: a call that waits and keeps the GIL, or a
        # process that was stopped.
        return "gil" if spot is not None and spot.is_call and spot.site.callable else "starved"

    def _stood_by(self, incident: _Incident, duration: float, cpu: float, process: float) -> bool:
        """Tell whether the hub's thread waited for the GIL itself, so that another one had it.

        Who has the GIL and waits for something else sleeps on, who works is on a processor or in
        line for one; who waits for the GIL comes up for a moment in every switch interval.
        """
        others = process - cpu
        if others >= max(duration / 5, cpu):
            return True
        now, (before, _) = self._kernel.schedule(), self._baseline(incident)
        if now is None or before is None or others < cpu:
            return False
        turns = duration / sys.getswitchinterval()
        worked = cpu + now.waiting - before.waiting
        return now.turns - before.turns >= turns / 5 and worked < duration / 2

    def _baseline(self, incident: _Incident) -> tuple[kernel.Schedule | None, float]:
        """Return what the kernel had counted before a block, or soon after it began, and when."""
        if self._left - incident.opened < self._threshold / 2:
            return self._schedule, self._schedule_at
        return incident.schedule, incident.opened

    def _waited(self, incident: _Incident) -> float:
        """Return which share of a block the hub's thread waited for a processor."""
        return self._run_queue(*self._baseline(incident))

    def _queued(self) -> float:
        """Return the seconds for which the hub's thread waited for a processor, lately."""
        now, before = self._kernel.schedule(), self._schedule
        return now.waiting - before.waiting if now is not None and before is not None else 0.0

    def _run_queue(self, before: kernel.Schedule | None, since: float) -> float:
        """Return which share of the time since then the hub's thread waited for a processor."""
        now = self._kernel.schedule()
        if now is None or before is None:
            return 0.0
        return (now.waiting - before.waiting) / max(_perf_counter() - since, 0.001)

    def _overslept(self, late: float, clocks: Clocks) -> None:
        """Record that nothing of the process ran, or only somebody else."""
        half = late / 2
        cpu, process, collected = (a - b for a, b in zip(clocks, self._last, strict=True))
        waits = _waits() - self._waits
        is_held = _is_held(late, waits)
        if collected >= half:
            kind = "gc"
        elif process - cpu >= half:
            kind = "thread"
        elif cpu >= min(half, self._threshold):
            # This thread may have had no processor itself, while nobody kept the GIL from it.
            is_kept = is_held is not False and not _is_let_go(late, waits)
            kind = "gil" if is_kept else "cpu"
        elif is_held:
            # Whoever had the GIL waited, or had no processor for much of the time.
            if self._run_queue(self._schedule, self._schedule_at) >= 0.5:
                kind = "starved"
            else:
                kind = "gil" if cpu >= max(late / 5, process - cpu) else "thread"
        else:
            kind = "starved"
        self._record(kind, _perf_counter(), late, None, None, is_late=True)

    def _record(
        self,
        kind: str,
        end: float,
        duration: float,
        syscall: str | None,
        look: _Look | None,
        *,
        is_late: bool,
        is_let_go: bool = False,
    ) -> None:
        spot = look.spot(kind) if look is not None else None
        if spot is not None and is_let_go:
            # Much has run since, and whatever runs now is only what this thread came in at.
            spot = _Spot(spot.site.without_call(), is_call=False, begins=False)
        site = spot.site if spot is not None else None
        if spot is not None and site is not None:
            if is_late and spot.begins:
                # What kept the GIL was over when this function was entered: an operator, or a C
                # function without a frame. This one did not do it.
                site = site.without_entry()
            native = site.native
            site = self.recorder.site(site)
            if site.native is None:
                site.native = native
        is_call = spot is not None and spot.is_call
        confidence = "exact" if is_call else "near"
        if spot is None or (is_late and not is_call):
            confidence = "late"
        self.recorder.block(
            {
                "type": "block",
                "t": _time() - (_perf_counter() - end) - duration,
                "duration": round(duration, 6),
                "class": kind,
                "site": None,
                "greenlet": look.root if look is not None else None,
                "syscall": syscall,
                "native": (site.native or []) if site is not None and kind == "waits" else [],
                "confidence": confidence,
                "hub": self.name,
            },
            site,
        )

    def _cpu_now(self) -> float:
        if self._clock is None:
            return 0.0
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return 0.0


class Library:
    """Tells the user's own code from that of libraries, and takes stacks down."""

    def __init__(self, user: tuple[str, ...]) -> None:
        """Learn where the standard library is.

        Args:
            user: Paths whose code is the user's, wherever it is installed.
        """
        self._user = user
        self._standard = tuple(
            {
                os.path.join(os.path.dirname(os.path.abspath(module)), "")
                for module in (os.__file__, json.__path__[0])
            }
        )
        self._scripts = os.path.join(sys.prefix, "bin", "")
        try:
            self._directory = os.getcwd()
        except OSError:
            self._directory = "/"  # it was removed
        self._known: dict[str, tuple[str, bool]] = {}

    def place(self, file: str) -> tuple[str, bool]:
        """Return the absolute path of a file of code, and whether it is the user's."""
        known = self._known.get(file)
        if known is None:
            if len(self._known) > 5000:
                self._known.clear()
            path = file
            if not file.startswith("<"):
                path = os.path.normpath(os.path.join(self._directory, file))
            known = self._known[file] = (path, self._is_user(path))
        return known

    def _is_user(self, path: str) -> bool:
        if path.startswith("<"):
            return path in ("<stdin>", "<string>")
        if path.startswith(self._user) and self._user:
            return True
        if "/site-packages/" in path or "/dist-packages/" in path:
            return False
        return not path.startswith((*self._standard, self._scripts, _HERE))

    def look(
        self,
        looks: dict[object, _Look],
        frame: types.FrameType | None,
        hub_code: types.CodeType,
    ) -> _Look | None:
        """Return the stack of a frame among those that were seen, a new one where it is new."""
        if frame is None:
            return None
        codes: list[types.CodeType] = []
        each: types.FrameType | None = frame
        while each is not None and len(codes) < 500:
            codes.append(each.f_code)
            each = each.f_back
        key = tuple(map(id, codes[:_DEPTH]))
        known = looks.get(key)
        if known is not None:
            last = frame.f_lasti
            if last not in known.spots and len(known.spots) >= _SPOTS:
                last = _ELSEWHERE
            spot = known.spots.get(last)
            if spot is None:
                if last == _ELSEWHERE:
                    spot = _Spot(known.now.site.without_call(), is_call=False, begins=False)
                else:
                    spot = self._spot(frame)
                known.spots[last] = spot
            known.now = spot
            return known
        if len(looks) >= _LOOKS:
            return next(iter(looks.values()))
        root = codes[-1]
        name = "Hub" if root is hub_code else "main" if root.co_name == "<module>" else _named(root)
        looks[key] = look = _Look(name, frame.f_lasti, self._spot(frame))
        return look

    def frameless(self, name: str | None, lines: list[Line]) -> _Look:
        """Return the look of a C function that has no frame, with where its greenlet came from."""
        site = Site()
        site.callable = name
        site.spawned = bool(lines)
        for code, line in lines:
            path, own = self.place(code.co_filename)
            site.frames.append((path, "", line, _named(code), own))
            if own and site.user is None:
                site.user = site.frames[-1]
        site.frames.reverse()
        root = (name or "?").rpartition(".")[2]
        return _Look(root, -1, _Spot(site, is_call=name is not None, begins=False))

    def _spot(self, frame: types.FrameType) -> _Spot:
        site = Site()
        stack: list[Frame] = []
        each: types.FrameType | None = frame
        while each is not None and len(stack) < _DEPTH:
            code = each.f_code
            path, own = self.place(code.co_filename)
            module = dict.get(each.f_globals, "__name__")
            name = module[:200] if type(module) is str else ""
            stack.append((path, name, each.f_lineno or code.co_firstlineno, _named(code), own))
            if own and site.user is None:
                site.user = stack[-1]
            each = each.f_back
        site.callable, is_call = callee.callable_at(frame)
        # The function through which the innermost package was entered.
        if not stack[0][4]:
            package = stack[0][1].partition(".")[0]
            entered = each = frame
            for _, module, _, _, own in stack:
                if own or each is None or module.partition(".")[0] != package:
                    break
                entered, each = each, each.f_back
            site.entered = callee.function_name(entered)
            del entered, each
        stack.reverse()
        site.frames = stack
        return _Spot(site, is_call=is_call, begins=callee.begins(frame))


def _waits() -> int:
    """Return how often this thread has waited so far."""
    return getrusage(RUSAGE_THREAD).ru_nvcsw if _COUNTS_WAITS else 0


def _is_held(late: float, waits: int) -> bool | None:
    """Tell whether this thread was late because it waited for the GIL; None if that is unknown.

    Who waits for the GIL wakes once in every switch interval to ask for it again. A process that
    was stopped, or that got no processor, does not.
    """
    turns = late / sys.getswitchinterval()
    return waits >= turns / 5 if _COUNTS_WAITS and turns >= 8 else None


def _is_let_go(late: float, waits: int) -> bool:
    """Tell whether others let go of the GIL again and again, and had it back before this thread.

    It is woken each time, and far more often than it asks by itself: Python that makes many short
    calls into C can keep every other thread out for half a second, though no call of it is long.
    """
    return _COUNTS_WAITS and waits > 3 * late / sys.getswitchinterval() + 8


def _told(error: BaseException) -> str:
    """One line: what, and where in the probe."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        place = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    return f"{type(error).__name__}: {error}"[:200] + place


def _named(code: types.CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)[:200]


def _turn(loop: Any) -> int | None:
    turn = getattr(loop, "iteration", -1)
    return turn if isinstance(turn, int) and turn >= 0 else None


def _loop_codes(hub: Any) -> frozenset[types.CodeType]:
    """Return the code that is on top while the loop waits for events."""
    codes = set()
    for cls in type(hub).__mro__:
        codes.add(getattr(cls.__dict__.get("run"), "__code__", None))
    for cls in type(hub.loop).__mro__:
        codes.add(getattr(cls.__dict__.get("run"), "__code__", None))
    return frozenset(code for code in codes if code is not None)


def _native_id() -> int:
    import _thread

    return _thread.get_native_id()


def _clock_of(ident: int) -> int | None:
    getter: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)
    if getter is None:
        return None
    try:
        return getter(ident)
    except OSError:
        return None
