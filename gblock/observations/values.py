"""The observations of probes, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gblock.catalog.blockers import Blocker
    from gblock.diagnostics import Diagnostic
    from gblock.observations.records import Frame
    from gblock.observations.sources import Unread

_BRIEF = 1.0
"""Seconds: a process with records of less time than this was only started."""
BLAMELESS = frozenset({"thread", "starved"})
"""Classes of blocks for which no call site is to blame: another thread, or the host."""


class Block(NamedTuple):
    """One observation: the hub was blocked from `start` for `seconds`."""

    start: float
    seconds: float
    """If it is not `finished`, the time that had passed at its last record."""
    kind: str
    """``waits``, ``cpu``, ``gil``, ``gc``, ``thread``, ``starved``, or a later probe's class."""
    process: int
    """Index in `Observations.processes`."""
    site: int
    """Index in `Observations.sites`."""
    greenlet: str | None = None
    confidence: str | None = None
    finished: bool = True


class WatchedProcess(NamedTuple):
    """One watched process."""

    name: str
    host: str
    pid: int
    command: tuple[str, ...]
    python: str | None
    gevent: str | None
    threshold: float | None
    """Seconds: shorter blocks were not recorded."""
    release: str | None
    """The service's release, if its environment names one."""
    started: float
    last: float
    """The time of its last record."""
    state: str
    """``running``, ``ended``, ``silent`` (no end, and no heartbeat for too long), ``failed``."""
    reason: str
    """The reason why it ended, one line; empty while it runs."""
    blocks: int
    blocked: float
    """Total seconds of the recorded blocks."""
    uncounted: int
    """Blocks that the probe counted without site and duration."""
    parent: int = 0
    """The ID of the process that started it."""

    @property
    def is_brief(self) -> bool:
        """Return whether nothing but its start is recorded: it may have ended at once."""
        return self.state == "silent" and not self.blocks and self.last - self.started < _BRIEF

    @property
    def is_lost(self) -> bool:
        """Return whether its records may end before the process did."""
        return self.state in ("silent", "failed")


class ObservedSite(NamedTuple):
    """One call site with all its blocks."""

    filename: str | None
    """The file of the innermost frame of the user's own code; None if there is no such frame."""
    line: int | None
    function: str | None
    symbol: str | None
    """The function that was called, in the catalog's spelling."""
    blockers: tuple[Blocker, ...]
    """The catalog's entries for the call."""
    kinds: tuple[tuple[str, int], ...]
    """The number of blocks of each class, most frequent first."""
    times: int
    total: float
    median: float
    p95: float
    longest: float
    first: float
    last: float
    """The start of the last block."""
    processes: int
    unfinished: int
    """Blocks without a recorded end: the process was killed, or is still blocked."""
    native: tuple[str, ...]
    syscalls: tuple[str, ...]
    greenlets: tuple[str, ...]
    stack: tuple[Frame, ...]
    """The stack of the longest block, innermost frame last."""
    is_other: bool = False
    """True if it stands for all call sites above the probe's limit."""
    python: str | None = None
    gevent: str | None = None
    checked: bool = False
    """True if `gblock check` checked the file."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The diagnostics for the line."""
    is_frameless: bool = False
    """True if gevent itself called the C code, so that no line of Python ran."""
    is_spawned: bool = False
    """True if line and stack are those that spawned the greenlet."""
    exact: int = 0
    """The number of blocks that are proven to be of this call."""
    candidates: tuple[str, ...] = ()
    """The calls that may have blocked, if that is not proven, most frequent first."""
    routes: tuple[str, ...] = ()
    """Templates of routes and names of tasks, most frequent first, if they were recorded."""
    is_original: bool = False
    """True if gevent had patched the call's module, but the call used an original."""
    is_patched: bool = False
    """True if the process was patched when it was blocked here."""
    is_cooperative: bool = False
    """True if the call is cooperative in a patched process, according to the catalog."""

    @property
    def kind(self) -> str:
        """The most frequent class."""
        return self.kinds[0][0]

    @property
    def is_blamed(self) -> bool:
        """Return whether the call site is to blame, rather than another thread or the host."""
        return self.kind not in BLAMELESS


class Observations(NamedTuple):
    """The observations of some probes, and their gaps."""

    verdict: str
    """``blocked``, ``nothing`` (alive, and nothing blocked), ``off`` (no records), ``died``."""
    processes: tuple[WatchedProcess, ...]
    """By host, start and pid."""
    sites: tuple[ObservedSite, ...]
    """By seconds, descending; sites without blame last."""
    blocks: tuple[Block, ...]
    """In order of their starts; for a process with very many blocks, the longest only."""
    files: int
    unread: tuple[Unread, ...]
    hours: tuple[tuple[float, int, float], ...] = ()
    """Start, blocks and seconds of each hour, for blocks with a call site to blame."""

    @property
    def blamed(self) -> tuple[ObservedSite, ...]:
        """The sites that are to blame."""
        return tuple(site for site in self.sites if site.is_blamed)
