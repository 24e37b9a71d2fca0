"""The part of triage that needs only some of the files, in this process or another."""

from __future__ import annotations

from typing import NamedTuple


class Survey(NamedTuple):
    """Facts about some files on their own; each list is in the order of the files."""

    may_matter: bool
    """True if any of them may matter, regardless of the rest of the project."""
    imported: list[frozenset[str]]
    matters: list[bool]
    """True if each matters on its own."""
    sizes: list[int]
    speaks: list[bool]
    """True if each mentions gevent and is no test."""
    plain: list[bool]
    """True if each is UTF-8, needs no syntax check, and has no ``gblock:`` comment."""
