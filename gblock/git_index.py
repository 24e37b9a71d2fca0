"""The index of a git repository: the files that it has, whatever `.gitignore` says of them."""

from __future__ import annotations

import os
import struct
from functools import cached_property

from gblock import opened
from gblock.boundary import is_regular, leads_out, repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LARGEST = 40_000_000
"""Bytes: a larger index is not read."""
_LONGEST = 4096
"""Bytes: no file of the system has a longer path."""
_STAT = 40
"""The bytes of an entry before its hash: times, mode, owner, size."""
_HASHES = (20, 32)
"""The bytes of a hash: of SHA-1, and of SHA-256."""
_EXTENDED = 0x4000
"""The flag of an entry that has two more bytes of flags."""
_LENGTH = 0xFFF
"""The bits of the flags with the length of the path, or the most that they can say."""


class GitIndex:
    """The files that the index of a repository lists. It is read when the first one is looked for.

    Nothing is in an index that is absent, damaged, too large, outside of the repository, or of
    another version than 2 to 4.

    Args:
        directory: A directory of the repository.
        matters: Returns whether files of some name are looked for; None for all.
    """

    def __init__(self, directory: str, matters: Callable[[str], bool] | None = None) -> None:
        self._directory = directory
        self._matters = matters

    def __contains__(self, path: object) -> bool:
        """Return whether the repository has a file, by its absolute path."""
        if not isinstance(path, str):
            return False
        directory, name = os.path.split(path)
        if (self._matters is not None and not self._matters(name)) or not self._names:
            return False
        below = os.path.relpath(os.path.join(os.path.realpath(directory), name), self._top)
        return os.fsencode(below.replace(os.sep, "/")) in self._names

    @cached_property
    def _top(self) -> str:
        return repository(self._directory)

    @cached_property
    def _names(self) -> frozenset[bytes]:
        """The paths of the files, relative to the top."""
        filename = os.path.join(self._top, ".git", "index")
        opened.note(filename)
        if not is_regular(filename) or leads_out(filename, self._top):
            return frozenset()
        try:
            with open(filename, "rb") as file:
                data = file.read(_LARGEST + 1)
        except OSError:
            return frozenset()
        return listed(data) if len(data) <= _LARGEST else frozenset()


def listed(data: bytes) -> frozenset[bytes]:
    """Return the paths of an index; none if it is damaged or of an unknown version.

    Args:
        data: The content of the file, as gitformat-index(5) describes it.
    """
    for size in _HASHES:
        try:
            return frozenset(_paths(data, size))
        except (ValueError, IndexError, struct.error):
            continue
    return frozenset()


def _paths(data: bytes, hash_size: int) -> Iterator[bytes]:
    """Yield the paths of the entries.

    Raises:
        ValueError: if something contradicts the format; IndexError or struct.error if it ends.
    """
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError
    at, path, total = 12, b"", 0
    for _ in range(count):
        start = at + _STAT + hash_size
        (flags,) = struct.unpack_from(">H", data, start)
        start += 4 if version > 2 and flags & _EXTENDED else 2
        if version == 4:
            removed, start = _removed(data, start, len(path))
            end = data.index(0, start)
            path = path[: len(path) - removed] + data[start:end]
            at = end + 1
        else:
            end = data.index(0, start)
            path = data[start:end]
            at += (end - at + 8) // 8 * 8  # one to eight null bytes follow the path
        total += len(path)
        if flags & _LENGTH != min(len(path), _LENGTH) or not 0 < len(path) <= _LONGEST:
            raise ValueError
        if total > 2 * len(data):  # each entry may repeat the path before it
            raise ValueError
        yield path


def _removed(data: bytes, at: int, most: int) -> tuple[int, int]:
    """Return how many bytes to cut off the path before, and the place after this number.

    Raises:
        ValueError: if there are not so many.
    """
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = (value + 1) << 7 | (byte & 0x7F)
        if value > most:
            raise ValueError
    if value > most:
        raise ValueError
    return value, at + 1
