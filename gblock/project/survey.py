"""What one process tells another of the files that it looked at for triage."""

from __future__ import annotations

from typing import NamedTuple


class Survey(NamedTuple):
    """What another process has found out about some files; each list goes by their order."""

    may_matter: bool
    """Whether any of them may matter, whatever the rest of the project is."""
    imported: list[frozenset[str]]
    matters: list[bool]
    """Whether each matters by itself."""
    sizes: list[int]
    speaks: list[bool]
    """Whether each mentions gevent."""
    plain: list[bool]
    """Whether each is UTF-8 and there is nothing in it to be said or obeyed."""
