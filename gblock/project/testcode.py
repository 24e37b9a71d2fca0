"""Which files are tests: they run under a test runner, not in the service."""

from __future__ import annotations

import os

_DIRECTORIES = {"test", "tests", "testing"}


def is_test(path: str, root: str, data: bytes = b"") -> bool:
    """Whether a file's name, or a directory between it and the root, says that it is a test.

    Args:
        path: The file.
        root: The directory that was asked about; what it is called itself does not count.
        data: The file's bytes. A name such as ``load_test.py`` alone proves nothing.
    """
    relative = path[len(root) :].lstrip(os.sep) if path.startswith(root) else path
    *directories, name = relative.split(os.sep)
    stem = name.rpartition(".")[0]
    return (
        stem.startswith("test_")
        or (stem.endswith(("_test", "_tests")) and (b"pytest" in data or b"unittest" in data))
        or stem in ("conftest", "tests")
        or not _DIRECTORIES.isdisjoint(directories)
    )
