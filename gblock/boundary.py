"""The boundary of a repository: which files its links and its settings may make gblock open.

A checked repository may come from a stranger, such as the author of a pull request. Its links and
settings are not followed to files outside of it. Paths on the command line may be anywhere.
"""

from __future__ import annotations

import os
import stat

from gblock import opened

REPOSITORY_MARKS = (".git", ".hg")
"""Entries that mark the top of a repository."""
PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", ".hg")
"""Entries that mark the top of a project."""


def repository(directory: str) -> str:
    """Return the top of the repository that a directory belongs to, as a real path.

    Without a repository it is the nearest directory with a project marker, and without such a
    directory the directory itself.
    """
    start = os.path.realpath(directory)
    for marks in (REPOSITORY_MARKS, PROJECT_MARKS):
        current, above = start, os.path.dirname(start)
        while True:
            if any(opened.exists(os.path.join(current, mark)) for mark in marks):
                return current
            if above == current:
                break
            current, above = above, os.path.dirname(above)
    return start


def leads_out(path: str, top: str) -> bool:
    """Return whether a path leads out of a directory, links followed.

    Args:
        path: The path.
        top: The directory, as a real path.
    """
    try:
        real = os.path.realpath(path)
    except ValueError:  # a null byte: no file has such a name
        return True
    return real != top and not real.startswith(os.path.join(top, ""))


def is_regular(path: str) -> bool:
    """Return whether a path is a file that ends: no directory, FIFO, device or socket."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
