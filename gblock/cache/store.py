"""Entries in one directory, each signed with a secret of the user.

A repository may bring a cache along, so no entry counts that was not written with the secret in the
user's own cache directory. Entries are data: bytes with a signature before them.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gblock.boundary import leads_out, repository

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes as long as all else here
except ImportError:
    from hashlib import blake2b

NAME = ".gblock_cache"
"""The directory beside a project's settings."""
_SIGNATURE = 32
"""Bytes of a signature."""
_LARGEST = 64 << 20
"""Bytes: a larger entry is not read."""
_MOST_BYTES = 128 << 20
"""The limit of all entries; the least recently used are removed first."""
_ENTRIES_LIMIT = 400
"""The limit of their number."""
_TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# This directory is a cache of gblock. It can be deleted.
"""
_TAGGED = "CACHEDIR.TAG"
"""The file that marks a cache: https://bford.info/cachedir."""
_DIGITS = frozenset("0123456789abcdef")
_NAME = 40
"""Characters of an entry's name."""
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATING = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_BINARY = getattr(os, "O_BINARY", 0)


class Store:
    """The entries of one directory; what cannot be read or written counts as missing.

    Args:
        directory: The directory, created with the first entry.
        is_own: Whether the command line names it: then it may be a link.
    """

    def __init__(self, directory: str, *, is_own: bool = False) -> None:
        self.directory = directory
        self._is_own = is_own
        self._secret = _secret(directory)

    def get(self, name: str) -> bytes | None:
        """Return what is stored under a name, None if there is nothing of this user's."""
        path = os.path.join(self.directory, name)
        try:
            if not self._secret or not self._is_directory():
                return None
            data = _read(path, _LARGEST)
            if data[:_SIGNATURE] != self._signature(name, data[_SIGNATURE:]):
                return None
            os.utime(path)
        except OSError:
            return None
        return data[_SIGNATURE:]

    def prepare(self) -> bool:
        """Create the directory; return False if nothing can be stored there."""
        try:
            os.makedirs(self.directory, exist_ok=True)
            if not self._secret:
                self._secret = _secret(self.directory, create=True)
            if not self._secret or not self._is_directory():
                return False
            names = os.listdir(self.directory)
            if names and _TAGGED not in names:
                return False  # a directory of something else: its files are not ours to remove
            for name, content in ((_TAGGED, _TAG), (".gitignore", b"*\n")):
                path = os.path.join(self.directory, name)
                if not os.path.lexists(path):
                    with suppress(FileExistsError):
                        _create(path, content, 0o666)
        except OSError:
            return False
        return True

    def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name, in one step; `prepare` was called."""
        path = os.path.join(self.directory, name)
        temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.new"
        with suppress(OSError):
            try:
                _create(temporary, self._signature(name, data) + data, 0o600)
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)
            self._sweep()

    def _signature(self, name: str, data: bytes) -> bytes:
        signed = blake2b(name.encode(), key=self._secret, digest_size=_SIGNATURE)
        signed.update(data)
        return signed.digest()

    def _is_directory(self) -> bool:
        """Return whether the cache directory is not behind a symbolic link of the repository."""
        status = os.stat if self._is_own else os.lstat
        return stat.S_ISDIR(status(self.directory).st_mode)

    def _sweep(self) -> None:
        """Remove the least recently used entries, as far as there are too many."""
        found = []
        with os.scandir(self.directory) as scan:
            for one in scan:
                if _is_entry(one.name) and one.is_file(follow_symlinks=False):
                    status = one.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, one.path))
        found.sort(reverse=True)
        kept = 0
        for number, (_, size, path) in enumerate(found):
            kept += size
            if number and (number >= _ENTRIES_LIMIT or kept > _MOST_BYTES):
                with suppress(OSError):
                    os.unlink(path)


def _is_entry(name: str) -> bool:
    """Return whether a file was written by a store: an entry, or what an ended run left of one."""
    is_whole = len(name) == _NAME or name.endswith(".new")
    return is_whole and len(name) >= _NAME and _DIGITS.issuperset(name[:_NAME])


def user_directory() -> str | None:
    """Return gblock's directory in the user's cache (XDG base directories), None if unknown."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "gblock") if os.path.isabs(base) else None


def _secret(directory: str, *, create: bool = False) -> bytes:
    """Return the secret of this user, empty where there is none that a repository cannot know.

    Args:
        directory: The directory of the cache.
        create: Whether to make one where there is none.
    """
    above = user_directory()
    if above is None:
        return b""
    path = os.path.join(above, "key")
    try:
        if create and not os.path.lexists(path):
            _make_secret(above, path)
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or (hasattr(os, "getuid") and not _is_private(status)):
            return b""
        secret = _read(path, 64)
    except OSError:
        return b""
    # A repository can bring its own key, where the user's cache lies inside of it.
    return secret if len(secret) == 32 and _is_outside(path, directory) else b""


def _is_outside(path: str, directory: str) -> bool:
    within = os.path.dirname(directory)
    above = user_directory()
    if above is not None and not leads_out(directory, os.path.realpath(above)):
        within = os.getcwd()
    return leads_out(path, repository(within)) and leads_out(path, repository(os.getcwd()))


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def _make_secret(above: str, path: str) -> None:
    """Create a secret, in one step: of two runs at once one wins."""
    os.makedirs(above, mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.new"
    _create(temporary, os.urandom(32), 0o600)
    try:
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)


def _read(path: str, largest: int) -> bytes:
    """Return the bytes of a file that is no link and ends.

    Raises:
        OSError: if it cannot be read, is something else, or is too large.
    """
    descriptor = os.open(path, _READING | _BINARY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
            raise OSError(path)
        parts = []
        while part := os.read(descriptor, largest):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _create(path: str, data: bytes, mode: int) -> None:
    descriptor = os.open(path, _CREATING | _BINARY, mode)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)
