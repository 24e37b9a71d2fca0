"""What triage finds out about some files alone, for itself or for another process."""

from __future__ import annotations

from typing import NamedTuple


class Survey(NamedTuple):
    """What is known of some files by themselves; each list goes by their order."""

    may_matter: bool
    """Whether any of them may matter, whatever the rest of the project is."""
    imported: list[frozenset[str]]
    matters: list[bool]
    """Whether each matters by itself."""
    sizes: list[int]
    speaks: list[bool]
    """Whether each is no test and mentions gevent."""
    plain: list[bool]
    """Whether each is UTF-8 and there is nothing in it to be said or obeyed."""
