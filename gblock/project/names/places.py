"""Places: where an expression stands, as far as its value depends on it."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.names.values import ScopeValue
from gblock.project.reading.bindings import Path


class Place(NamedTuple):
    """The scope and statement of an expression, which its names are resolved in."""

    path: str
    scope: int
    at: Path
    receiver: ScopeValue | None = None
    """In a method, the object of a derived class on which it is called, where that is known."""
