"""The probe's records as types; an invalid line is counted and never raises.

``runtime_probe`` writes the records and imports nothing from gblock, so this module is the other
half of the contract. Fields of a later version are ignored; a record without a required field is
unreadable.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

# Until the year 9999, and thirty years: larger numbers come from a broken line.
_Time = Annotated[float, msgspec.Meta(ge=0, le=253402300799)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """One line of a file."""


class Start(_Record, frozen=True, tag="start"):
    """The probe started to watch a hub."""

    t: _Time
    version: int = 1
    gblock: str | None = None
    pid: int = 0
    ppid: int = 0
    host: str = ""
    argv: tuple[str, ...] = ()
    python: str | None = None
    gevent: str | None = None
    greenlet: str | None = None
    release: str | None = None
    """The service's release, if its environment names one."""
    threshold: _Seconds | None = None
    period: _Seconds | None = None
    """Seconds between two samples."""
    heartbeat: _Seconds | None = None
    """Seconds between heartbeats, if recorded."""
    loop: str | None = None
    """The module of the event loop."""
    hub: str | int | None = None
    thread: int | None = None


class BlockEnd(_Record, frozen=True, tag="block"):
    """A block has ended; its time is that of its start."""

    t: _Time
    duration: _Seconds
    kind: str = msgspec.field(name="class", default="unknown")
    site: int | None = None
    greenlet: str | None = None
    syscall: str | None = None
    native: tuple[str, ...] = ()
    confidence: str | None = None
    candidates: tuple[str, ...] = ()
    """The calls that may have blocked, if the confidence is ``near``."""
    patched: str | None = None
    """``all``, ``some`` or ``none``: how many of its modules gevent had patched at that time."""
    original: bool = False
    """True if the call's own module was patched, but the call used an original."""
    route: str | None = None
    """The route's template or the task's name, if the probe was asked for it."""
    hub: str | int | None = None


class Frame(msgspec.Struct, frozen=True):
    """One frame of a stack."""

    file: str
    line: int | None = None
    function: str | None = None
    user: bool | None = False
    """True if it is the user's own code."""
    module: str | None = None


class SiteSeen(_Record, frozen=True, tag="site"):
    """A call site, before the first block that names it."""

    site: int
    symbol: str | None = None
    callable: str | None = None
    user: Frame | None = None
    stack: tuple[Frame, ...] = ()
    other: bool = False
    """True if it stands for all sites above the probe's limit."""
    original: bool = False
    """True if the call's own module was patched when the site was seen first."""
    spawned: bool = False
    """True if the stack is that of the `spawn`: C code without a frame ran."""


class BlockInProgress(_Record, frozen=True, tag="progress"):
    """A block in progress."""

    t: _Time
    elapsed: _Seconds
    site: int | None = None


class Total(_Record, frozen=True, tag="total"):
    """All blocks of a class at a site since the process started."""

    t: _Time
    site: int | None = None
    kind: str = msgspec.field(name="class", default="unknown")
    count: _Count = 0
    exact: _Count = 0
    seconds: _Seconds = 0.0
    longest: _Seconds = msgspec.field(name="max", default=0.0)
    histogram: tuple[_Count, ...] = ()


class Heartbeat(_Record, frozen=True, tag="heartbeat"):
    """A heartbeat, with the counts since the start."""

    t: _Time
    blocks: _Count = 0
    blocked: _Seconds = 0.0
    dropped: _Count = 0
    samples: _Count | None = None
    busy: _Count | None = None
    """Samples in which the hub was busy."""
    lags: tuple[_Count, ...] = ()
    """Samples by the lag of the hub; `gblock.probing.sampler.LAGS` are the bounds."""
    loop_lag_max: _Seconds = 0.0
    hub: str | int | None = None
    state: str | None = None


class End(_Record, frozen=True, tag="end"):
    """The probe stopped, with the reason."""

    t: _Time
    reason: str = "stopped"
    error: str | None = None


class Sum(_Record, frozen=True, tag="sum"):
    """All blocks of a call site in many processes, as the SQL of `gblock report --sql` adds up."""

    classes: dict[str, _Count]
    """The number of blocks of each class; ``unknown`` for those without a recorded end."""
    seconds: _Seconds
    median: _Seconds
    p95: _Seconds
    longest: _Seconds = msgspec.field(name="max")
    first: _Time
    last: _Time
    symbol: str | None = None
    callable: str | None = None
    user: Frame | None = None
    stack: tuple[Frame, ...] = ()
    known: bool = True
    """True if there was a record of the site."""
    other: bool = False
    original: bool = False
    spawned: bool = False
    exact: _Count = 0
    syscalls: dict[str, _Count] = {}
    native: dict[str, _Count] = {}
    """The number of blocks by the libraries that they were in; their names joined by commas."""
    processes: _Count = 1
    unfinished: _Count = 0


class Watched(_Record, frozen=True, tag="watched"):
    """A process that a probe watched, as the same SQL adds up."""

    started: _Time
    last: _Time
    name: str = ""
    host: str = ""
    pid: int = 0
    argv: tuple[str, ...] = ()
    python: str | None = None
    gevent: str | None = None
    release: str | None = None
    threshold: _Seconds | None = None
    heartbeat: _Seconds | None = None
    reason: str | None = None
    """The reason of its end; None if it has none."""
    error: str | None = None
    blocks: _Count = 0
    blocked: _Seconds = 0.0


Record = Start | BlockEnd | SiteSeen | BlockInProgress | Heartbeat | Total | End | Sum | Watched

_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


def decoded(line: bytes) -> Record | None:
    """Return one line's record, or None if it is invalid."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
