"""Recognize tests: files that run under a test runner, not in the service."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_DIRECTORIES = {"test", "tests", "testing"}


def is_test(path: str, root: str, read: Callable[[str], bytes]) -> bool:
    """Return whether a file's name, or a directory between it and the root, marks it as a test.

    Args:
        path: The file.
        root: The directory to check; its own name does not count.
        read: Returns a file's bytes. A name such as ``load_test.py`` alone proves nothing.
    """
    relative = path[len(root) :].lstrip(os.sep) if path.startswith(root) else path
    if "test" not in relative:  # nearly always
        return False
    *directories, name = relative.split(os.sep)
    stem = name.rpartition(".")[0]
    return (
        stem.startswith("test_")
        or (stem.endswith(("_test", "_tests")) and _names_runner(read(path)))
        or stem in ("conftest", "tests")
        or not _DIRECTORIES.isdisjoint(directories)
    )


def _names_runner(data: bytes) -> bool:
    return b"pytest" in data or b"unittest" in data
