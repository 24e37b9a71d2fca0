"""The files, directories and names that a run has asked the system for.

A cache keeps the result of a run for as long as all of them are the same. What opens a file of the
project, lists one of its directories or asks for a name says so here; a test compares that with
what Python's audit events show.
"""

from __future__ import annotations

import os


class Opened:
    """The paths that one run has asked for."""

    __slots__ = ("is_bounded", "names", "paths")

    def __init__(self) -> None:
        """Start with nothing."""
        self.paths: set[str] = set()
        """Files that were read, and directories that were listed."""
        self.names: set[str] = set()
        """Paths of which only the existence counted."""
        self.is_bounded = True
        """True unless the result also depends on something else, such as an environment."""


_now = Opened()


def begin() -> Opened:
    """Forget the paths recorded so far, and return the record of those to come."""
    global _now
    _now = Opened()
    return _now


def note(path: str) -> None:
    """Record that a file is read, or a directory listed; neither need exist."""
    _now.paths.add(path)


def exists(path: str) -> bool:
    """Return whether a path exists, a broken link included, and record that this was asked."""
    _now.names.add(path)
    return os.path.lexists(path)


def unbounded() -> None:
    """Record that the result depends on something that no later run can compare."""
    _now.is_bounded = False


def taken() -> tuple[set[str], set[str], bool]:
    """Return what was asked for in this process, for the one that it works for."""
    return _now.paths, _now.names, _now.is_bounded


def add(other: tuple[set[str], set[str], bool]) -> None:
    """Add what another process asked for, as `taken` returned it there."""
    paths, names, is_bounded = other
    _now.paths |= paths
    _now.names |= names
    _now.is_bounded &= is_bounded
