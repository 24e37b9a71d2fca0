"""The files and directories that a result was read from, with digests of their content.

A file counts as unchanged while its time, size, number and mode are the same; if one differs, or
the file was too young for the clock of the file system, its bytes decide.
"""

from __future__ import annotations

import os
import stat

from gblock.boundary import REPOSITORY_MARKS
from gblock.files import ALWAYS_EXCLUDED

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gblock.opened import Opened

_PASSING = ALWAYS_EXCLUDED.difference(REPOSITORY_MARKS)
"""Names that come and go and that no check looks at."""
_YOUNG = 2_000_000_000
"""Nanoseconds: of a file that changed in this time, a second change may leave the time the same."""
_LARGEST = 64 << 20
"""Bytes: a larger file is not read to compare it."""
_GONE, _THERE = "-", "+"
"""The digest of a path that is only tested for existence."""
_FIELDS = 3


class Changed(Exception):  # noqa: N818 - no error
    """Something is not what it was."""


def taken(opened: Opened, began: int, known: Callable[[str], bytes | None]) -> bytes | None:
    """Return what a run asked for, as it is now; None if it may have changed meanwhile.

    Args:
        opened: What the run asked for; it is bounded.
        began: When the run began, in nanoseconds since the epoch.
        known: Returns the bytes of a file that were read, None if they are not in memory.
    """
    fields: list[str] = []
    now = _now()
    for path in sorted(opened.paths):
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            fields += (path, "", _GONE)
            continue
        if not stat.S_ISDIR(status.st_mode) and status.st_mtime_ns >= began:
            return None
        try:
            digest = _digest(path, status, known(path))
        except (OSError, Changed):
            return None
        fields += (path, _signature(status, now), digest)
    for path in sorted(opened.names):
        fields += (path, "", _THERE if os.path.lexists(path) else _GONE)
    return "\0".join(fields).encode("utf-8", "surrogateescape")


def renewed(manifest: bytes) -> bytes | None:
    """Compare with what is there now.

    Returns:
        The manifest to store instead, which is the same where there is nothing to store.

    Raises:
        Changed: if something is not what it was, or the manifest is none.
    """
    fields = manifest.decode("utf-8", "surrogateescape").split("\0")
    if len(fields) % _FIELDS:
        raise Changed
    look, now, is_renewed = os.stat, 0, False
    for at in range(0, len(fields), _FIELDS):
        path, signature, digest = fields[at : at + _FIELDS]
        if not signature and digest in (_GONE, _THERE):
            _compare_name(path, digest)
            continue
        try:
            status = look(path)
            if signature == (
                f"{status.st_mtime_ns} {status.st_size} {status.st_ino} {status.st_mode}"
            ):
                continue
            if digest != _digest(path, status, None):
                raise Changed
        except (OSError, ValueError):
            raise Changed from None
        now = now or _now()
        fields[at + 1] = _signature(status, now)
        is_renewed = is_renewed or fields[at + 1] != signature
    return "\0".join(fields).encode("utf-8", "surrogateescape") if is_renewed else manifest


def digest_of(parts: Iterable[str]) -> str:
    """Return a digest of some texts, in order."""
    found = blake2b(digest_size=20)
    for part in parts:
        found.update(part.encode("utf-8", "surrogateescape"))
        found.update(b"\0")
    return found.hexdigest()


def digest_of_bytes(data: bytes) -> str:
    """Return a digest of the content of a file."""
    return blake2b(data, digest_size=16).hexdigest()


def _compare_name(path: str, state: str) -> None:
    if (_THERE if os.path.lexists(path) else _GONE) != state:
        raise Changed


def _signature(status: os.stat_result, now: int) -> str:
    if status.st_mtime_ns > now - _YOUNG:
        return "young"
    return f"{status.st_mtime_ns} {status.st_size} {status.st_ino} {status.st_mode}"


def _digest(path: str, status: os.stat_result, data: bytes | None) -> str:
    """Return the digest of a file's bytes and mode, or of a directory's names.

    Raises:
        Changed: if the file cannot be compared.
        OSError: if it cannot be read.
    """
    if stat.S_ISDIR(status.st_mode):
        return digest_of(_names(path))
    if not stat.S_ISREG(status.st_mode):
        return f"special {status.st_mode}"
    if status.st_size > _LARGEST:
        raise Changed
    if data is None:
        with open(path, "rb", 0) as file:
            data = file.read()
    if len(data) != status.st_size:
        raise Changed
    return f"{digest_of_bytes(data)}{status.st_mode & 0o111:o}"


def _names(directory: str) -> list[str]:
    with os.scandir(directory) as scan:
        return sorted(
            f"{one.name}/{os.readlink(one) if one.is_symlink() else one.is_dir()}"
            for one in scan
            if one.name not in _PASSING
        )


def _now() -> int:
    import time

    return time.time_ns()
