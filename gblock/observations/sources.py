"""Find the files of records, and split them into lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from gblock.observations.records import Record, decoded

_CHUNK = 1 << 22
LONGEST = 1 << 20
"""Bytes: a longer line is no record, and is never held in memory as a whole."""

# No more digits than a valid time and a valid duration have; see `gblock.observations.records`.
_TIME = rb"(?:0|[1-9]\d{0,10})(?:\.\d+)?"
_SECONDS = rb"(?:0|[1-9]\d{0,8})(?:\.\d+)?"
_COUNT = rb"(?:0|[1-9]\d{0,14})"
_LINES = re.compile(
    rb'\{"type":"block","t":(%b),"duration":(%b),(.+)'
    rb'|(\{"type":"total","t":%b,("site":(?:null|%b),"class":"[a-z]+"),"count":%b,"exact":%b,'
    rb'"seconds":%b,"max":%b,"histogram":\[(?:%b(?:,%b)*)?\]\})$'
    rb"|(.+)" % (_TIME, _SECONDS, _TIME, *[_COUNT] * 3, _SECONDS, _SECONDS, _COUNT, _COUNT),
    re.MULTILINE,
)

Line = tuple[bytes, bytes, bytes, bytes, bytes, bytes]
"""Start, duration and rest of a line that begins as the probe writes a block; or the whole line of
a valid total, and its site and class; or any other line."""


class Unread(NamedTuple):
    """The unreadable parts of one file."""

    filename: str
    garbage: int = 0
    """The number of invalid lines."""
    truncated: bool = False
    """True if the last line is cut off, as after a process was killed."""
    error: str | None = None
    """The reason why the file could not be read to its end."""


class RecordSource:
    """The files of one process: their lines, and then the unreadable parts."""

    def __init__(self, name: str, files: tuple[str, ...]) -> None:
        """Create a source without opening a file.

        Args:
            name: The files' common name.
            files: Their paths, the oldest first.
        """
        self.name = name
        self.files = files
        self.unread: list[Unread] = []
        """The unreadable parts, after all lines were read."""
        self._garbage = 0

    def lines(self) -> Iterator[list[Line]]:
        """Yield the lines of all files in portions, without keeping them."""
        for path in self.files:
            self._garbage = 0
            truncated, error = False, None
            try:
                with open(path, "rb") as file:
                    yield from self._portions(file)
                    truncated = self._is_truncated
            except OSError as problem:
                error = problem.strerror or str(problem)
            missed = Unread(path, self._garbage, truncated, error)
            if missed != Unread(path):
                self.unread.append(missed)

    def reject(self) -> None:
        """Count one of the lines that were yielded last as invalid."""
        self._garbage += 1

    def records(self) -> Iterator[Record]:
        """Yield the records one by one."""
        for lines in self.lines():
            for line in lines:
                start, seconds, rest, total, _, other = line
                text = whole(start, seconds, rest) if rest else total or other
                record = decoded(text)
                if record is not None:
                    yield record
                elif text.strip():
                    self.reject()

    def _portions(self, file: BinaryIO) -> Iterator[list[Line]]:
        self._is_truncated = False
        rest, chunk = b"", b"\n"
        while chunk:
            chunk = file.read(_CHUNK)
            head, end, rest = (rest + chunk).rpartition(b"\n")
            if end:
                yield _LINES.findall(head)
            if len(rest) > LONGEST:
                rest = self._skip(file)
        if rest.strip():
            self._is_truncated = decoded(rest) is None
            if not self._is_truncated:
                yield _LINES.findall(rest)

    def _skip(self, file: BinaryIO) -> bytes:
        """Skip the rest of a line that is too long, and return the text after it."""
        self.reject()
        while chunk := file.read(_CHUNK):
            _, end, tail = chunk.partition(b"\n")
            if end:
                return tail
        return b""

    @property
    def size(self) -> int:
        """The bytes of all files, as far as they can be read."""
        total = 0
        for path in self.files:
            try:
                total += os.path.getsize(path)
            except OSError:
                continue
        return total

    @property
    def changed(self) -> float:
        """The time of the last write to its newest file, in epoch seconds; 0 if it is gone."""
        try:
            return os.path.getmtime(self.files[-1])
        except OSError:
            return 0.0


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


def sources(paths: Iterable[str]) -> Iterator[RecordSource]:
    """Yield the record files, grouped by process, the oldest first."""
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for path in found(paths):
        folder, base = os.path.split(path)
        match = _PART.fullmatch(base)
        name, age = (match["name"], match["age"] or "0") if match else (base, "0")
        number = 1 if age == "old" else int(age[:9])
        groups.setdefault((folder, name), []).append((-number, path))
    for (_, name), members in groups.items():
        yield RecordSource(name, tuple(path for _, path in sorted(members)))


def whole(start: bytes, seconds: bytes, rest: bytes) -> bytes:
    """Return the line that was split into these parts."""
    return b'{"type":"block","t":%b,"duration":%b,%b' % (start, seconds, rest)
