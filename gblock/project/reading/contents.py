"""The bytes of files that are not Python, up to a size above which a file holds data."""

from __future__ import annotations

import os

from gblock import opened
from gblock.project.reading.tree import LARGEST


def content(path: str, largest: int = LARGEST) -> bytes:
    """Return the bytes of a file; nothing of one that is too large or cannot be read.

    Args:
        path: The file.
        largest: The size, in bytes, above which it is not read.
    """
    opened.note(path)
    try:
        if os.path.getsize(path) > largest:
            return b""
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
