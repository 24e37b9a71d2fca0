"""The probe's records as types; an invalid line is counted and never raises.

``runtime_probe`` writes the records and imports nothing from gblock, so this module is the other
half of the contract. Fields of a later version are ignored; a record without a required field is
unreadable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, BinaryIO, NamedTuple

import msgspec

# Until the year 9999, and thirty years: larger numbers come from a broken line.
_Time = Annotated[float, msgspec.Meta(ge=0, le=253402300799)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

_CHUNK = 1 << 18
_LONGEST = 1 << 20
"""Bytes: a longer line is no record, and is never held in memory as a whole."""


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
    threshold: _Seconds | None = None
    heartbeat: _Seconds | None = None
    """Seconds between heartbeats, if recorded."""
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
    """Whether gevent had patched ``all``, ``some`` or ``none`` of its modules at that time."""
    original: bool = False
    """Whether the call's own module was patched, but the call used an original."""


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
    """Whether the stack is that of the `spawn`: C code without a frame ran."""


class Progress(_Record, frozen=True, tag="progress"):
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
    state: str | None = None


class End(_Record, frozen=True, tag="end"):
    """The probe stopped, with the reason."""

    t: _Time
    reason: str = "stopped"
    error: str | None = None


Record = Start | BlockEnd | SiteSeen | Progress | Heartbeat | Total | End

_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Unread(NamedTuple):
    """The unreadable parts of one file."""

    filename: str
    garbage: int = 0
    """The number of invalid lines."""
    truncated: bool = False
    """Whether the last line is cut off, as after a process was killed."""
    error: str | None = None
    """The reason why the file could not be read to its end."""


class Source:
    """The files of one process: an iterator of its records, and then the unreadable parts."""

    def __init__(self, name: str, files: tuple[str, ...]) -> None:
        """Create a source without opening a file.

        Args:
            name: The files' common name.
            files: Their paths, the oldest first.
        """
        self.name = name
        self.files = files
        self.unread: list[Unread] = []
        """The unreadable parts, after all records were read."""

    def __iter__(self) -> Iterator[Record]:
        """Yield the records without keeping them."""
        for path in self.files:
            lines = _Lines(path)
            yield from lines
            missed = Unread(path, lines.garbage, lines.truncated, lines.error)
            if missed != Unread(path):
                self.unread.append(missed)


def found(paths: Iterable[str]) -> list[str]:
    """Return the record files under some paths, sorted, with named files, without duplicates."""
    files: dict[str, None] = {}
    for path in paths:
        if not os.path.isdir(path):
            files[path] = None
            continue
        for folder, _, names in sorted(os.walk(path)):
            files |= {os.path.join(folder, n): None for n in sorted(names) if _PART.fullmatch(n)}
    return list(files)


_PART = re.compile(r"(?P<name>.+)\.jsonl(?:\.(?P<age>\d+|old))?", re.DOTALL)


def sources(paths: Iterable[str]) -> Iterator[Source]:
    """Yield the record files, grouped by process, the oldest first."""
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for path in found(paths):
        folder, base = os.path.split(path)
        match = _PART.fullmatch(base)
        name, age = (match["name"], match["age"] or "0") if match else (base, "0")
        number = 1 if age == "old" else int(age[:9])
        groups.setdefault((folder, name), []).append((-number, path))
    for (_, name), members in groups.items():
        yield Source(name, tuple(path for _, path in sorted(members)))


class _Lines:
    """The records of one file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.garbage = 0
        self.truncated = False
        self.error: str | None = None

    def __iter__(self) -> Iterator[Record]:
        try:
            with open(self._path, "rb") as file:
                rest, chunk = b"", b"\n"
                while chunk:
                    chunk = file.read(_CHUNK)
                    head, end, rest = (rest + chunk).rpartition(b"\n")
                    if end:
                        yield from self._decoded(head)
                    if len(rest) > _LONGEST:
                        rest = self._skip(file)
                if rest.strip():
                    record = decoded(rest)
                    self.truncated = record is None
                    if record is not None:
                        yield record
        except OSError as error:
            self.error = error.strerror or str(error)

    def _decoded(self, data: bytes) -> list[Record]:
        """Return the records of whole lines; decode all at once if none is invalid."""
        try:
            return _DECODER.decode_lines(data)
        except (msgspec.DecodeError, ValueError, RecursionError):
            records = []
            for line in data.split(b"\n"):
                record = decoded(line) if len(line) <= _LONGEST else None
                if record is not None:
                    records.append(record)
                elif line.strip():
                    self.garbage += 1
            return records

    def _skip(self, file: BinaryIO) -> bytes:
        """Skip the rest of a line that is too long, and return the text after it."""
        self.garbage += 1
        while chunk := file.read(_CHUNK):
            _, end, tail = chunk.partition(b"\n")
            if end:
                return tail
        return b""


def decoded(line: bytes) -> Record | None:
    """Return one line's record, or None if it is invalid."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
