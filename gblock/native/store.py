"""A cache of results between runs, in the user's cache directory (XDG base directories).

A module is identified by the digest of its bytes and of the libraries that were followed. A digest
is reused while a file's size, time and inode stay the same. An unreadable entry counts as missing;
nothing in it is ever run.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from gblock import collecting
from gblock.native import reading
from gblock.native.linking import Libraries, is_installed
from gblock.native.reading import ModuleReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Value = TypeVar("Value")
FORMAT = 6
"""Changed whenever the same bytes would give another result."""
_MOST_BYTES = 64 << 20
"""The limit of all entries in bytes; the least recently used are removed first."""
_MOST_FILES = 20_000
"""The limit of files whose digests are remembered."""
_WORTH = 300_000
"""Bytes of modules for each process: below, a process costs more than it saves."""
_INDEX = "digests"
_CHUNK = 1 << 20


class _Seen(NamedTuple):
    """A file when its digest was computed."""

    size: int
    time: int
    number: int
    digest: str


class _Entry(NamedTuple):
    """The result for one module."""

    format: int
    libraries: tuple[tuple[str, str], ...]
    """The libraries that were followed, by path, with their digests."""
    reading: ModuleReading


class Store:
    """Entries in one directory.

    Args:
        directory: The directory, created on the first write. None: in the user's cache.
        keeps: Whether to write; otherwise existing entries are only read.
    """

    def __init__(self, directory: str | None = None, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._directory = directory or _cache()
        self._digests: dict[str, _Seen] = {}
        self._is_changed = False
        self._digests.update(self.value(_INDEX, dict[str, _Seen]) or {})

    def get(self, path: str) -> ModuleReading | None:
        """Return the result for a file with these bytes, None if unknown."""
        digest = self._digest(path)
        if not digest:
            return None
        try:
            with open(self._entry(digest), "rb") as file:
                entry = msgspec.json.decode(file.read(), type=_Entry)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if entry.format != FORMAT or any(map(is_installed, entry.reading.absent)):
            return None
        if any(self._digest(library) != known for library, known in entry.libraries):
            return None
        if self._keeps:
            with suppress(OSError):
                os.utime(self._entry(digest))
        return entry.reading

    def put(self, path: str, read: ModuleReading) -> None:
        """Store the result for a file; errors are ignored."""
        digest = self._digest(path)
        libraries = tuple((library, self._digest(library)) for library in read.libraries)
        if not digest or not all(known for _, known in libraries):
            return
        entry = _Entry(FORMAT, libraries, read)
        self._write(self._entry(digest), msgspec.json.encode(entry))

    def value(self, key: str, shape: type[Value]) -> Value | None:
        """Return the values stored under a key, None if they have another shape."""
        try:
            with open(self._entry(key), "rb") as file:
                return msgspec.json.decode(file.read(), type=shape)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def keep(self, key: str, value: object) -> None:
        """Store plain values under a key, which is a digest of everything they depend on."""
        self._write(self._entry(key), msgspec.json.encode(value))

    def close(self) -> None:
        """Write the digests, and remove the least recently used entries."""
        if not self._is_changed or not self._keeps:
            return
        known = dict(list(self._digests.items())[-_MOST_FILES:])
        self._write(self._entry(_INDEX), msgspec.json.encode(known))
        self._is_changed = False
        self._sweep()

    def _entry(self, digest: str) -> str:
        return os.path.join(self._directory, f"{digest}.json")

    def _digest(self, path: str) -> str:
        """Return the digest of a file's bytes, empty if it cannot be read."""
        try:
            status = os.stat(path)
            seen = self._digests.get(path)
            if seen is not None and seen[:3] == (
                status.st_size,
                status.st_mtime_ns,
                status.st_ino,
            ):
                return seen.digest
            hashed = blake2b(digest_size=20)
            with open(path, "rb") as file:
                while part := file.read(_CHUNK):
                    hashed.update(part)
        except OSError:
            return ""
        digest = hashed.hexdigest()
        self._digests.pop(path, None)
        self._digests[path] = _Seen(status.st_size, status.st_mtime_ns, status.st_ino, digest)
        self._is_changed = True
        return digest

    def _write(self, path: str, data: bytes) -> None:
        """Write a file atomically; other runs may read it meanwhile."""
        if not self._keeps:
            return
        import tempfile

        with suppress(OSError):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._directory, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)
            self._is_changed = True

    def _sweep(self) -> None:
        found = []
        with suppress(OSError):
            for one in os.scandir(self._directory):
                if one.name != f"{_INDEX}.json" and one.is_file(follow_symlinks=False):
                    status = one.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, one.path))
        left = sum(size for _, size, _ in found) - _MOST_BYTES
        for _, size, path in sorted(found):
            if left <= 0:
                return
            with suppress(OSError):
                os.unlink(path)
            left -= size


def _cache() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "gblock", "native")


def read_all(
    paths: Iterable[str], store: Store | None, share: Share | None = None
) -> list[ModuleReading]:
    """Return the results for some modules, in their order.

    Args:
        paths: The modules' files.
        store: The cache of results; None to read everything again.
        share: Divides work among processes; None to do all of it in this one.
    """
    asked = list(paths)
    found: dict[str, ModuleReading] = {}
    for path in asked:
        known = store.get(path) if store is not None else None
        if known is not None:
            found[path] = known
    todo = list(dict.fromkeys(path for path in asked if path not in found))
    results = share(_read, todo, _size, _WORTH) if share else [_read(todo)]
    for path, one in (pair for result in results for pair in result):
        found[path] = one
        if store is not None:
            store.put(path, one)
    return [found[path] for path in asked]


def _read(paths: list[str]) -> list[tuple[str, ModuleReading]]:
    libraries = Libraries(reading.file_bytes)
    with collecting.Paused():
        return [(path, reading.read(path, libraries=libraries)) for path in paths]


class Share(Protocol):
    """Divides work among processes, as `gblock.engine.jobs.shared` does."""

    def __call__(
        self,
        work: Callable[[list[str]], list[tuple[str, ModuleReading]]],
        items: Sequence[str],
        size: Callable[[str], int],
        worth: int,
        /,
    ) -> list[list[tuple[str, ModuleReading]]]:
        """Return the results of the shares."""


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
