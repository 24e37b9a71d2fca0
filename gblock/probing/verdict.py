"""Decides what blocked the hub, from what was measured: pure functions of plain values.

Nothing here looks at a thread, a clock or a frame, so every rule is tested by a table of cases.
`docs/probe.md` states the rules.
"""

from __future__ import annotations

from typing import NamedTuple

EXACT, NEAR, NONE = "exact", "near", "none"
BLAMELESS = ("thread", "starved")
"""The hub stood still, and no call site of it is to blame."""
_PROVEN = 0.5
"""The share of a block for which a call must be proven to have run."""
_MOST = 0.75
"""The share from which on the release of a call's own arguments cannot have been the longer half:
what takes long to release took as long to make, within the same block."""
_ASLEEP = 0.8
"""The share of an interval that a thread must sleep to count as one that waits."""
_SLACK, _EXPLAINED, _LINE = 1.15, 0.6, 0.01
"""How much longer than a switch interval a wait for the GIL takes, which share of a time waits must
explain, and for how many seconds a thread may stand in line for a processor unnoticed."""
_KNOWN = 8
"""Switch intervals: of a shorter time the number of waits says nothing."""


class Measured(NamedTuple):
    """What was measured of one block; figures without a unit are seconds."""

    duration: float
    threshold: float
    interval: float
    """How long a thread waits for the GIL before it asks for it (`sys.getswitchinterval`)."""
    cpu: float
    """Time of the hub's thread on a processor."""
    others: float
    """Time of all other threads of the process on processors."""
    collected: float
    """Time of garbage collection."""
    late: float = 0.0
    """For how long the sampler was kept from looking."""
    waits: int | None = None
    """How often the sampler's thread waited while it was late; None if that is not counted."""
    asleep: int = 0
    """Looks at which the hub's thread slept."""
    running: int = 0
    """Looks at which it ran or was ready to run."""
    in_poll: bool = False
    """The loop seemed to wait for events."""
    is_named: bool = False
    """The hub's thread was seen at a call whose name is known."""
    queued: float = 0.0
    """For how long the hub's thread waited for a processor, lately."""
    queued_share: float = 0.0
    """The same as a share of the time since the last count before the block."""
    others_waits: int | None = None
    """How often other threads than the sampler's waited meanwhile; None if that is not counted."""
    kept: float = 0.0
    """For how long the GIL is proven to have been kept at one place."""
    slept: float = 0.0
    """For how long the hub's thread is proven to have waited at one place, the GIL being free."""
    has_company: bool = True
    """Whether the process has Python threads besides the hub's and the sampler's."""


class Seen(NamedTuple):
    """One instruction at which the hub's thread was seen during a block."""

    seconds: float
    """For how long it was seen there."""
    free: float = 0.0
    """For how long it was proven to be inside the call while others could have the GIL."""
    held: float = 0.0
    """For how long the GIL was proven to be kept until it stood there."""
    is_call: bool = False
    """Whether it is a call, and what is called is no function of Python."""
    is_sole: bool = False
    """Whether nothing but the call can have kept the GIL."""
    is_temporary: bool = False
    """Whether that is so but for the release of the call's own arguments."""
    is_idle: bool = False
    """Whether the thread used no processor meanwhile: an operator or a release would have."""
    is_inside: bool = False
    """Whether all that can have kept the GIL is part of the library's function that is blamed."""


def kind(m: Measured) -> str:
    """Return the class of a block: ``waits``, ``cpu``, ``gil``, ``gc``, ``thread``, ``starved``."""
    half = m.duration / 2
    if m.collected >= half:
        return "gc"
    if m.slept >= half:
        return "waits"
    is_late = m.late >= half
    held = is_held(m.late, m.waits, m.interval)
    is_kept = is_late and held is not False
    works = "gil" if is_kept and not is_let_go(m.late, m.waits, m.interval) else "cpu"
    # Short work that waited for a processor is no block on a machine of its own.
    is_short = m.cpu < m.threshold and m.duration - m.queued < m.threshold
    if m.cpu >= half:
        return "starved" if is_short else works
    if (is_late or m.in_poll) and m.others >= half:
        return "thread"
    if m.asleep > m.running and not is_late:
        return "waits"
    if m.cpu >= m.threshold:
        return works  # it would have been a block on a machine of its own, too
    if m.kept >= half and m.queued < half:
        return "thread" if _stood_by(m) else "gil"
    if is_late and held is False:
        return "starved"
    if is_short or m.queued_share >= 0.5:
        return "starved"
    if m.asleep and m.asleep >= m.running and not is_late:
        return "waits"
    if not is_late:
        return "cpu" if m.cpu >= m.duration / 5 else "waits"
    if held:
        return "thread" if _stood_by(m) else "gil"
    # Nothing worked and nothing else was let in: a call that waits and keeps the GIL, or a
    # process that was stopped.
    return "gil" if m.is_named else "starved"


def overslept(m: Measured) -> str:
    """Return the class of a time in which the sampler saw nothing at all.

    Args:
        m: What was measured; its duration is the time by which the sampler came late.
    """
    half = m.duration / 2
    held = is_held(m.late, m.waits, m.interval)
    if m.collected >= half:
        return "gc"
    if m.others >= half:
        return "thread"
    if m.cpu >= min(half, m.threshold):
        # The sampler may have had no processor itself, while the GIL was free.
        is_kept = held is not False and not is_let_go(m.late, m.waits, m.interval)
        return "gil" if is_kept else "cpu"
    if not held or m.queued_share >= 0.5:
        return "starved"  # what had the GIL had no processor for much of the time
    return "gil" if not m.has_company or m.cpu >= max(m.late / 5, m.others) else "thread"


def is_held(late: float, waits: int | None, interval: float) -> bool | None:
    """Return whether the sampler was late because it waited for the GIL; None if unknown.

    A thread that waits for the GIL wakes once in every switch interval to ask for it again. A
    process that was stopped, or that got no processor, does not.
    """
    turns = late / interval
    return None if waits is None or turns < _KNOWN else waits >= turns / 5


def is_let_go(late: float, waits: int | None, interval: float) -> bool:
    """Return whether others released the GIL again and again, and took it back before the sampler.

    The sampler is woken each time, and far more often than it asks by itself: Python that makes
    many short calls into C can keep every other thread out for half a second, though no call of it
    is long.
    """
    return waits is not None and waits > 3 * late / interval + 8


def held(late: float, waits: int | None, queued: float | None, interval: float) -> float:
    """Return for how many seconds of a late look the GIL is proven to have been kept at one place.

    A wait for the GIL lasts one switch interval, unless a release wakes the thread before. So n
    waits and the time that the thread stood in line for a processor fill the time by which it was
    late; where they do not fit into it, releases woke the thread. From the first full interval on
    the request for the GIL stands, and what holds the GIL gives it up at the next place where the
    interpreter looks: all later intervals belong to one place.

    Args:
        late: By how much the sampler came too late, in seconds.
        waits: How often its thread waited meanwhile, the sleep before included; None if unknown.
        queued: For how long its thread stood in line for a processor, None if unknown.
        interval: The switch interval, in seconds.
    """
    if waits is None or queued is None or late < 2 * interval or waits < 3:
        return 0.0
    asked = (waits - 2) * interval
    if asked > late + interval or asked + queued > late + 2 * interval:
        return 0.0
    if asked * _SLACK + queued < _EXPLAINED * late:
        return max(0.0, asked - interval)  # it was stopped for much of the time
    # Before the first request it may have stood in line for longer than it does by the mean.
    return max(0.0, late - interval - min(queued, _LINE + 4 * queued / waits))


def is_waiting(elapsed: float, ran: float, queued: float, turns: int, interval: float) -> bool:
    """Return whether a thread slept for an interval of time, and not in line for the GIL.

    Args:
        elapsed: Seconds of the interval.
        ran: Seconds of it that the thread was on a processor.
        queued: Seconds of it that the thread waited for a processor.
        turns: How often it was put on a processor.
        interval: The switch interval: a thread that waits for the GIL wakes as often.
    """
    if elapsed - ran - queued < _ASLEEP * elapsed:
        return False
    return turns < max(3, 0.4 * elapsed / interval)


def _stood_by(m: Measured) -> bool:
    """Return whether the hub's thread waited for the GIL itself, so that another one had it.

    A thread that has the GIL and waits for something else sleeps on, one that works is on a
    processor or in line for one; one that waits for the GIL wakes in every switch interval.
    """
    if not m.has_company:
        return False
    if m.others >= max(m.duration / 5, m.cpu):
        return True
    if m.others_waits is None or m.cpu >= m.duration / 5:
        return False
    return m.others_waits >= 0.4 * m.late / m.interval and m.cpu + m.queued < m.duration / 2


def confidence(name: str, duration: float, seen: Seen | None) -> str:
    """Return how sure it is that a block is to be blamed on what was seen.

    Args:
        name: The block's class.
        duration: Its seconds.
        seen: Where the hub's thread was for most of the time, None if it was not seen.

    Returns:
        `EXACT` if one call is proven to have run for half of the block, `NEAR` if the line is right
        or close and candidates are known, `NONE` if no call site is to blame.
    """
    if seen is None or name in BLAMELESS or name == "gc":
        return NONE
    proven = seen.free if seen.is_call else 0.0
    is_waiting = seen.is_idle and seen.is_call
    if (
        seen.is_sole
        or is_waiting
        or seen.is_inside
        or (seen.is_temporary and seen.held >= _MOST * duration)
    ):
        proven += seen.held
    return EXACT if proven >= _PROVEN * duration else NEAR
