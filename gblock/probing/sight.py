"""One sample of a hub's thread: what changes on its own, read at one moment."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types

    # Seconds: CPU time of the hub's thread, of all threads, and time of garbage collection.
    Clocks = tuple[float, float, float]


class Sight(NamedTuple):
    """The data of one sample."""

    now: float
    wall: float
    since: float
    """The start of the previous sample."""
    late: float
    waits: int | None
    """The waits of this thread since the previous sample, with its sleep; None if unknown."""
    others_waits: int | None
    """The same for all other threads of the process."""
    is_split: bool
    """True if the delay began during the previous sample, which may have waited for the GIL."""
    stamp: float
    """The loop's cached time."""
    turn: int | None
    turns: int
    clocks: Clocks
    frames: list[types.FrameType]
    """The frames of the hub's thread, the innermost first, without gblock's own."""
    stopped: float
    """The part of the delay for which the process may have been stopped."""
    is_idle: bool
    is_turned: bool
    has_company: bool

    @property
    def is_clean(self) -> bool:
        """Return whether the GIL was free when this thread woke."""
        return not self.is_split and self.waits is not None and self.waits <= 1
