"""What probes saw, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gblock.catalog import Blocker
    from gblock.diagnostics import Diagnostic
    from gblock.observations.records import Frame, Unread

BLAMELESS = frozenset({"thread", "starved"})
"""The hub stood still, and no call site of it is to blame: another thread, or the host."""


class Block(NamedTuple):
    """One observation: the hub stood still from `start` for so many seconds."""

    start: float
    seconds: float
    """If it is not `finished`, what had passed at the last line about it."""
    kind: str
    """``waits``, ``cpu``, ``gil``, ``gc``, ``thread``, ``starved``, or what a later probe says."""
    process: int
    """Index in `Observations.processes`."""
    site: int
    """Index in `Observations.sites`."""
    greenlet: str | None = None
    confidence: str | None = None
    finished: bool = True


class WatchedProcess(NamedTuple):
    """One process that was watched."""

    name: str
    host: str
    pid: int
    command: tuple[str, ...]
    python: str | None
    gevent: str | None
    threshold: float | None
    """Seconds: what is shorter was not recorded."""
    started: float
    last: float
    """When its last record was written."""
    state: str
    """``running``, ``ended``, ``silent`` (no end, and no heartbeat for too long), ``failed``."""
    reason: str
    """Why it ended, one line; empty while it runs."""
    blocks: int
    blocked: float
    """Seconds in all, by the blocks that were recorded."""
    uncounted: int
    """Blocks that the probe counted, and of whose sites and seconds nothing is known."""

    @property
    def is_lost(self) -> bool:
        """Whether what it says ends before the process may have ended."""
        return self.state in ("silent", "failed")


class ObservedSite(NamedTuple):
    """One call site: every block that a probe saw there."""

    filename: str | None
    """The innermost frame of the user's own code; None where there is none."""
    line: int | None
    function: str | None
    symbol: str | None
    """What was called, as the catalog spells it."""
    blockers: tuple[Blocker, ...]
    """What the catalog knows of it."""
    kinds: tuple[tuple[str, int], ...]
    """How often it was of which class, most frequent first."""
    times: int
    total: float
    median: float
    p95: float
    longest: float
    first: float
    last: float
    """When the last block began."""
    processes: int
    unfinished: int
    """Blocks whose end nobody saw: the process was killed, or it is blocked now."""
    native: tuple[str, ...]
    syscalls: tuple[str, ...]
    greenlets: tuple[str, ...]
    stack: tuple[Frame, ...]
    """The innermost last, of the longest block."""
    is_other: bool = False
    """Whether it stands for all call sites above the probe's limit."""
    python: str | None = None
    gevent: str | None = None
    checked: bool = False
    """Whether `gblock check` looked at that file."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What it reports of that line."""
    is_frameless: bool = False
    """Whether it was C code that gevent itself called, so that no line of Python ran."""
    is_spawned: bool = False
    """Whether line and stack are those that spawned the greenlet."""
    exact: int = 0
    """How many of the blocks are proven to be of this call."""
    candidates: tuple[str, ...] = ()
    """What may have blocked where that is not proven, most frequent first."""
    is_original: bool = False
    """Whether gevent had patched the call's module, so that an original was called."""
    is_patched: bool = False
    """Whether the process was patched when it was blocked here."""
    is_cooperative: bool = False
    """Whether the catalog knows the call to cooperate once gevent has patched: no gap of it."""

    @property
    def kind(self) -> str:
        """The most frequent class."""
        return self.kinds[0][0]

    @property
    def is_blamed(self) -> bool:
        """Whether the call site is to blame, not another thread or the host."""
        return self.kind not in BLAMELESS


class Observations(NamedTuple):
    """What some probes saw, and every silence of it."""

    verdict: str
    """``blocked``, ``nothing`` (alive, and nothing blocked), ``off`` (no records), ``died``."""
    processes: tuple[WatchedProcess, ...]
    """By host, start and pid."""
    sites: tuple[ObservedSite, ...]
    """Most seconds first, what nobody is to blame for last."""
    blocks: tuple[Block, ...]
    """In order of their starts; of a process with very many, the longest."""
    files: int
    unread: tuple[Unread, ...]
    hours: tuple[tuple[float, int, float], ...] = ()
    """Each hour's start, blocks and seconds, of those that a call site is to blame for."""

    @property
    def blamed(self) -> tuple[ObservedSite, ...]:
        """The sites that are to blame."""
        return tuple(site for site in self.sites if site.is_blamed)
