"""Unpack wheels (the PyPA's binary distribution format) for reading; nothing of them is run."""

from __future__ import annotations

import os
import tempfile
import zipfile
from contextlib import contextmanager

from gblock.errors import UserError
from gblock.packages.environment import Distribution, is_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FILES = 20_000
_MOST_BYTES = 2 << 30
"""Files and bytes of an unpacked wheel."""
_CHUNK = 1 << 20
_WANTED = (".so", ".py")


@contextmanager
def opened(path: str) -> Iterator[Distribution]:
    """Unpack a wheel for the time of a ``with`` block.

    Args:
        path: The wheel's file, or a directory that one was unpacked to.

    Raises:
        UserError: if it is no wheel, cannot be read, or exceeds the size limit.
    """
    if os.path.isdir(path):
        yield _distribution(path, path)
        return
    with tempfile.TemporaryDirectory(prefix="gblock-") as folder:
        try:
            _unpack(path, folder)
        except (
            OSError,
            zipfile.BadZipFile,
            NotImplementedError,
            RuntimeError,
            ValueError,
        ) as error:
            why = getattr(error, "strerror", None) or "it is no wheel"
            raise UserError(path, f"cannot be read: {why}") from None
        yield _distribution(folder, path)


def _unpack(path: str, folder: str) -> None:
    """Write a wheel's modules and Python files below a directory."""
    left = _MOST_BYTES
    with zipfile.ZipFile(path) as archive:
        entries = [one for one in archive.infolist() if _is_wanted(one.filename)]
        if len(entries) > _MOST_FILES:
            raise UserError(path, f"it holds more than {_MOST_FILES:,} files")
        for entry in entries:
            # The declared size of an entry may be false.
            target = os.path.join(folder, *entry.filename.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with archive.open(entry) as source, open(target, "xb") as file:
                while part := source.read(_CHUNK):
                    left -= len(part)
                    if left < 0:
                        raise UserError(path, f"it is larger than {_MOST_BYTES >> 30} GiB")
                    file.write(part)


def _is_wanted(name: str) -> bool:
    parts = name.split("/")
    is_inside = not name.startswith("/") and not {"", ".", ".."}.intersection(parts)
    return is_inside and "\\" not in name and (name.endswith(_WANTED) or ".so." in parts[-1])


def _files(folder: str) -> Iterator[str]:
    for directory, folders, names in os.walk(folder):
        folders.sort()
        below = os.path.relpath(directory, folder).replace(os.sep, "/")
        for name in sorted(names):
            yield name if below == "." else f"{below}/{name}"


def _distribution(folder: str, path: str) -> Distribution:
    name, _, rest = os.path.basename(os.path.normpath(path)).partition("-")
    files = [one for one, _ in zip(_files(folder), range(_MOST_FILES), strict=False)]
    python = tuple(one for one in files if one.endswith(".py"))
    libraries = tuple(one for one in files if not one.endswith(".py") and is_library(one))
    compiled = tuple(one for one in files if one.endswith(".so") and not is_library(one))
    tops = {one.partition("/")[0].partition(".")[0] for one in (*python, *compiled)}
    return Distribution(
        name,
        rest.partition("-")[0],
        compiled,
        libraries,
        modules=tuple(sorted(tops)),
        base=folder,
        python=python,
    )
