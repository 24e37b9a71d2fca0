"""The lines that a probe writes, as types: what is no record is counted and never an exception.

``runtime_probe`` writes them and imports nothing of gblock, so this is the other half of the
contract. A field that a later version adds is passed over; a record that lacks what it cannot do
without is unreadable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, NamedTuple

import msgspec

# Until the year 9999, and thirty years: what is beyond is no time but a broken line.
_Time = Annotated[float, msgspec.Meta(ge=0, le=253402300799)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

_LONGEST = 1 << 20
"""Bytes: a longer line is no record, and is never held in memory whole."""


class _Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """One line of a file."""


class Start(_Record, frozen=True, tag="start"):
    """A probe began to watch a hub."""

    t: _Time
    version: int = 1
    gblock: str | None = None
    pid: int = 0
    ppid: int = 0
    host: str = ""
    argv: tuple[str, ...] = ()
    python: str | None = None
    gevent: str | None = None
    threshold: _Seconds | None = None
    heartbeat: _Seconds | None = None
    """Seconds between heartbeats, where the writer says so."""
    hub: str | int | None = None
    thread: int | None = None


class BlockEnd(_Record, frozen=True, tag="block"):
    """A block is over; its time is that of its start."""

    t: _Time
    duration: _Seconds
    kind: str = msgspec.field(name="class", default="unknown")
    site: int | None = None
    greenlet: str | None = None
    syscall: str | None = None
    native: tuple[str, ...] = ()
    confidence: str | None = None


class Frame(msgspec.Struct, frozen=True):
    """One frame of a stack."""

    file: str
    line: int | None = None
    function: str | None = None
    user: bool = False
    module: str | None = None


class SiteSeen(_Record, frozen=True, tag="site"):
    """A call site, before the first block that names it."""

    site: int
    symbol: str | None = None
    callable: str | None = None
    user: Frame | None = None
    stack: tuple[Frame, ...] = ()
    other: bool = False
    """Whether it stands for all sites above the probe's limit."""
    spawned: bool = False
    """Whether the stack is that of the `spawn`: what ran is C code without a frame."""


class Progress(_Record, frozen=True, tag="progress"):
    """A block lasts."""

    t: _Time
    elapsed: _Seconds
    site: int | None = None


class Heartbeat(_Record, frozen=True, tag="heartbeat"):
    """The probe lives; the counts are those since its start."""

    t: _Time
    blocks: _Count = 0
    blocked: _Seconds = 0.0
    dropped: _Count = 0
    samples: _Count | None = None
    loop_lag_max: _Seconds = 0.0
    state: str | None = None


class End(_Record, frozen=True, tag="end"):
    """The probe stopped, and why."""

    t: _Time
    reason: str = "stopped"
    error: str | None = None


Record = Start | BlockEnd | SiteSeen | Progress | Heartbeat | End

_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Unread(NamedTuple):
    """What could not be read of one file."""

    filename: str
    garbage: int = 0
    """Lines that are no records."""
    truncated: bool = False
    """Whether the last line is cut off, as it is where a process was killed."""
    error: str | None = None
    """Why the file could not be read to its end."""


class Read(NamedTuple):
    """The records of one process, and what else stood in its files."""

    name: str
    files: tuple[str, ...]
    records: tuple[Record, ...]
    unread: tuple[Unread, ...]


def found(paths: Iterable[str]) -> list[str]:
    """The files of records under some paths, sorted, each once; what is named is taken as it is."""
    files: dict[str, None] = {}
    for path in paths:
        if not os.path.isdir(path):
            files[path] = None
            continue
        for folder, _, names in sorted(os.walk(path)):
            files |= {os.path.join(folder, n): None for n in sorted(names) if _PART.fullmatch(n)}
    return list(files)


_PART = re.compile(r"(?P<name>.+)\.jsonl(?:\.(?P<age>\d+|old))?", re.DOTALL)


def read(paths: Iterable[str]) -> Iterator[Read]:
    """Read the files of records, those of a process together and the oldest first."""
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for path in found(paths):
        folder, base = os.path.split(path)
        match = _PART.fullmatch(base)
        name, age = (match["name"], match["age"] or "0") if match else (base, "0")
        number = 1 if age == "old" else int(age[:9])
        groups.setdefault((folder, name), []).append((-number, path))
    for (_, name), members in groups.items():
        files = tuple(path for _, path in sorted(members))
        records: list[Record] = []
        unread = []
        for path in files:
            missed = _lines(path, records)
            if missed != Unread(path):
                unread.append(missed)
        yield Read(name, files, tuple(records), tuple(unread))


def _lines(path: str, records: list[Record]) -> Unread:
    """Add a file's records to a list and return what is none."""
    garbage = 0
    try:
        with open(path, "rb") as file:
            whole = True
            while line := file.readline(_LONGEST):
                ends = line.endswith(b"\n")
                if not whole:  # the rest of a line that was too long
                    whole = ends
                    continue
                record = decoded(line)
                if record is not None:
                    records.append(record)
                elif line.strip() and not ends and len(line) < _LONGEST:
                    return Unread(path, garbage, truncated=True)
                elif line.strip():
                    garbage += 1
                whole = ends
    except OSError as error:
        return Unread(path, garbage, error=error.strerror or str(error))
    return Unread(path, garbage)


def decoded(line: bytes) -> Record | None:
    """One line's record, or None where it is none."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def converted(record: object) -> Record | None:
    """The same for a record that was handed over in the process and not written."""
    try:
        # Decoder and converter are one for every field, so a sink sees what a file would say.
        return decoded(msgspec.json.encode(record))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return None
