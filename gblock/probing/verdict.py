"""Decide what blocked the hub, from measurements: functions whose results depend on them alone.

Nothing here reads a thread, a clock or a frame, so every rule is tested by a table of cases.
`docs/probe.md` states the rules.
"""

from __future__ import annotations

from typing import NamedTuple

EXACT, NEAR, NONE = "exact", "near", "none"
BLAMELESS = ("thread", "starved")
"""Classes of blocks for which no call site is to blame."""
_PROVEN = 0.5
"""The share of a block for which a call must be proven to have run."""
_RELEASE_SHARE = 0.75
"""The share above which releasing a call's own arguments cannot have been the longer half: what
takes long to release took as long to create, within the same block."""
_ASLEEP = 0.8
"""The share of an interval that a thread must sleep to count as waiting."""
_SLACK, _EXPLAINED, _LINE = 1.15, 0.6, 0.01
"""The factor by which a wait for the GIL exceeds a switch interval, the share of a time that waits
must explain, and the seconds that a thread may spend in the run queue unnoticed."""
_OFTEN, _AS_A_RULE = 5, 0.9
"""The number of observations that prove something, and the share of them that must agree."""
_STOP = 0.02
"""Seconds: a shorter delay of the sampler is not taken for a stop of the process."""
_KNOWN = 8
"""Switch intervals: below this time the number of waits is not significant."""


class Indications:
    """Repeated signs of the same thing, none of which proves it alone.

    A host that takes a CPU away at the wrong time makes a short call look like a long one, once.
    """

    __slots__ = ("agreeing", "contrary")

    def __init__(self, agreeing: int = 0, contrary: int = 0) -> None:
        """Create with the given number of observations for and against."""
        self.agreeing = agreeing
        self.contrary = contrary

    def add(self, agrees: bool | None) -> None:
        """Add an observation; None is ignored."""
        if agrees is not None:
            self.agreeing += agrees
            self.contrary += not agrees

    @property
    def is_proof(self) -> bool:
        """Return whether there are enough, and nearly all agree."""
        count = self.agreeing + self.contrary
        return self.agreeing >= _OFTEN and self.agreeing >= _AS_A_RULE * count


class Measured(NamedTuple):
    """The measurements of one block; figures without a unit are seconds."""

    duration: float
    threshold: float
    interval: float
    """The time that a thread waits for the GIL before it requests it (`getswitchinterval`)."""
    cpu: float
    """CPU time of the hub's thread."""
    others: float
    """CPU time of all other threads of the process."""
    collected: float
    """Time of garbage collection."""
    late: float
    """The delay of the sampler."""
    waits: int | None
    """The waits of the sampler's thread while it was late; None if not counted."""
    asleep: int
    """Samples in which the hub's thread slept."""
    running: int
    """Samples in which it ran or was ready to run."""
    in_poll: bool
    """True if the loop seemed to wait for events."""
    is_named: bool
    """True if the hub's thread was seen at a call whose name is known."""
    queued: float
    """The recent time that the hub's thread spent in the run queue."""
    queued_share: float
    """The same as a share of the time since the last count before the block."""
    others_waits: int | None
    """The waits of other threads than the sampler's meanwhile; None if not counted."""
    kept: float
    """The time for which the GIL is proven to have been held at one place."""
    slept: float
    """The time for which the hub's thread is proven to have waited at one place without the GIL."""
    stopped: float
    """The time for which the whole process may have been stopped."""
    has_company: bool
    """True if the process has Python threads other than the hub's and the sampler's."""


class Unsampled(NamedTuple):
    """The measurements of a time without samples; figures without a unit are seconds."""

    late: float
    """The delay of the sampler."""
    threshold: float
    """The shortest block to record."""
    interval: float
    """The time that a thread waits for the GIL before it requests it (`getswitchinterval`)."""
    cpu: float
    """CPU time of the hub's thread."""
    others: float
    """CPU time of all other threads of the process."""
    collected: float
    """Time of garbage collection."""
    waits: int | None
    """The waits of the sampler's thread meanwhile; None if not counted."""
    queued_share: float
    """The share of the time since the last count that the hub's thread spent in the run queue."""
    has_company: bool
    """True if the process has Python threads other than the hub's and the sampler's."""


class Seen(NamedTuple):
    """One instruction at which the hub's thread was seen during a block."""

    seconds: float
    """The time for which it was seen there."""
    free: float = 0.0
    """The time for which it was proven to be inside the call while the GIL was free."""
    held: float = 0.0
    """The longest time for which the GIL was proven to be held until it was seen there.

    Several such times may be those of several calls, as in a loop that the host slows down.
    """
    is_call: bool = False
    """True if it is a call of something other than a Python function."""
    is_sole: bool = False
    """True if only the call can have held the GIL."""
    is_temporary: bool = False
    """True if only the call, or the release of its own arguments, can have held the GIL."""
    is_idle: bool = False
    """True if the thread used no CPU meanwhile, which excludes operators and releases."""
    is_inside: bool = False
    """True if all that can have held the GIL is part of the library's function that is blamed."""


def kind(m: Measured) -> str:
    """Return the class of a block: ``waits``, ``cpu``, ``gil``, ``gc``, ``thread``, ``starved``."""
    half = m.duration / 2
    # Short work that waited for a CPU would be no block on an idle machine.
    is_short = m.cpu < m.threshold and m.duration - m.queued < m.threshold
    if m.collected >= half:
        return "starved" if is_short else "gc"
    if m.slept >= half:
        return "waits"
    is_late = m.late >= half
    held = is_held(m.late, m.waits, m.interval)
    is_kept = is_late and held is not False
    works = "gil" if is_kept and not is_let_go(m.late, m.waits, m.interval) else "cpu"
    if m.cpu >= half:
        return "starved" if is_short else works
    if (is_late or m.in_poll) and m.others >= half:
        return "thread"
    # A thread that computes is also asleep at each sample: the sampler holds the GIL then.
    is_asleep = m.asleep > m.running and m.cpu + m.queued < half
    if is_asleep and not is_late:
        return "waits"
    if m.cpu >= m.threshold:
        return works  # it would have been a block on an idle machine, too
    if m.kept >= half and m.queued < half:
        return "thread" if _stood_by(m) else "gil"
    if is_late and held is False:
        # Only the sampler waited for a CPU, or the whole process was stopped.
        return "waits" if is_asleep and m.stopped < half else "starved"
    if is_short or m.queued_share >= 0.5:
        return "starved"
    if m.asleep and m.asleep >= m.running and not is_late:
        return "waits"
    if not is_late:
        return "cpu" if m.cpu >= m.duration / 5 else "waits"
    if held:
        return "thread" if _stood_by(m) else "gil"
    # Nothing used the CPU and no other thread ran: a call that waits and holds the GIL, or a
    # stopped process.
    return "gil" if m.is_named else "starved"


def overslept(m: Unsampled) -> str:
    """Return the class of a time without samples."""
    half = m.late / 2
    held = is_held(m.late, m.waits, m.interval)
    if m.collected >= half:
        return "gc"
    if m.others >= half:
        return "thread"
    if m.cpu >= min(half, m.threshold):
        # The sampler itself may have waited for a CPU, while the GIL was free.
        is_kept = held is not False and not is_let_go(m.late, m.waits, m.interval)
        return "gil" if is_kept else "cpu"
    if not held or m.queued_share >= 0.5:
        return "starved"  # the holder of the GIL waited for a CPU for much of the time
    return "gil" if not m.has_company or m.cpu >= max(m.late / 5, m.others) else "thread"


def is_held(late: float, waits: int | None, interval: float) -> bool | None:
    """Return whether the sampler was late because it waited for the GIL; None if unknown.

    A thread that waits for the GIL wakes once in every switch interval to request it again. A
    process that was stopped, or that got no CPU, does not.
    """
    turns = late / interval
    if waits == 1 and turns >= 2:
        return False  # one delay, and nothing but the sleep before it
    return None if waits is None or turns < _KNOWN else waits >= turns / 5


def is_let_go(late: float, waits: int | None, interval: float) -> bool:
    """Return whether others released the GIL repeatedly, and took it back before the sampler.

    The sampler wakes each time, far more often than it does on its own: Python code that makes many
    short calls into C can keep every other thread out for half a second, though no single call is
    long.
    """
    return waits is not None and waits > 3 * late / interval + 8


def held(late: float, waits: int | None, queued: float | None, interval: float) -> float:
    """Return the seconds of a delay for which the GIL is proven to have been held at one place.

    A wait for the GIL lasts one switch interval, unless a release wakes the thread earlier. So n
    waits and the time in the run queue add up to the delay; if they do not fit into it, releases
    woke the thread. After the first full interval the request for the GIL is pending, and its
    holder releases it at the next point where the interpreter checks: all later intervals belong to
    one place.

    Args:
        late: The delay of the sampler, in seconds.
        waits: The waits of its thread meanwhile, with the sleep before; None if unknown.
        queued: The time of its thread in the run queue, None if unknown.
        interval: The switch interval, in seconds.
    """
    if waits is None or queued is None or late < 2 * interval or waits < 3:
        return 0.0
    asked = (waits - 2) * interval
    if asked > late + interval or asked + queued > late + 2 * interval:
        return 0.0
    if asked * _SLACK + queued < _EXPLAINED * late:
        return max(0.0, asked - interval)  # it was stopped for much of the time
    # Before the first request it may have been in the run queue for longer than on average.
    return max(0.0, late - interval - min(queued, _LINE + 4 * queued / waits))


def stopped(late: float, waits: int | None, queued: float | None, interval: float) -> float:
    """Return the seconds of a delay for which the whole process may have been stopped.

    A sampler that is late waited for the GIL or for a CPU. What neither explains proves nothing
    about the hub's thread: a call seems to wait for as long as its process is stopped.

    Args:
        late: The delay of the sampler, in seconds.
        waits: The waits of its thread meanwhile, with the sleep before; None if unknown.
        queued: The time of its thread in the run queue, None if unknown.
        interval: The switch interval, in seconds.
    """
    if late < _STOP:
        return 0.0
    if waits is None:
        return late
    return max(0.0, late - (queued or 0.0) - max(0, waits - 1) * interval)


def is_waiting(elapsed: float, ran: float, queued: float, turns: int, interval: float) -> bool:
    """Return whether a thread slept during an interval, rather than waited for the GIL.

    Args:
        elapsed: Seconds of the interval.
        ran: Seconds of it that the thread was on a CPU.
        queued: Seconds of it that the thread spent in the run queue.
        turns: The number of times it was scheduled.
        interval: The switch interval: a thread that waits for the GIL wakes as often.
    """
    if elapsed - ran - queued < _ASLEEP * elapsed:
        return False
    return turns < max(3, 0.4 * elapsed / interval)


def _stood_by(m: Measured) -> bool:
    """Return whether the hub's thread itself waited for the GIL, which another thread held.

    A thread that holds the GIL and waits for something else stays asleep; one that uses the CPU is
    on it or in the run queue; one that waits for the GIL wakes in every switch interval.
    """
    if not m.has_company:
        return False
    if m.others >= max(m.duration / 5, m.cpu):
        return True
    if m.others_waits is None or m.cpu >= m.duration / 5:
        return False
    return m.others_waits >= 0.4 * m.late / m.interval and m.cpu + m.queued < m.duration / 2


def confidence(name: str, duration: float, seen: Seen | None) -> str:
    """Return how certain it is that what was seen caused a block.

    Args:
        name: The block's class.
        duration: Its seconds.
        seen: The place of the hub's thread for most of the time, None if it was not seen.

    Returns:
        `EXACT` if one call provably ran for half of the block, `NEAR` if the line is right or
            close and candidates are known, `NONE` if no call site is to blame.
    """
    if seen is None or name in BLAMELESS or name == "gc":
        return NONE
    proven = seen.free if seen.is_call else 0.0
    is_waiting = seen.is_idle and seen.is_call
    if (
        seen.is_sole
        or is_waiting
        or seen.is_inside
        or (seen.is_temporary and seen.held >= _RELEASE_SHARE * duration)
    ):
        proven += seen.held
    return EXACT if proven >= _PROVEN * duration else NEAR
