"""One place that a rule about processes reports, as a plain value."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from gblock.project.calls.queries import Sent
    from gblock.project.names.places import Place
else:
    from gblock.lean import NamedTuple


class Span(NamedTuple):
    """A place in a file: rows from 1, columns in characters from 1, the end exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int


class Remark(NamedTuple):
    """One place that a rule about processes reports."""

    path: str
    span: Span
    facts: Any
    """The facts for the message, of a type that each rule's module defines."""
    statement: tuple[int, int] | None = None
    """The first and the last row of the statement, whose comments may suppress it; by default
    those of the span."""
    place: Place | None = None
    """The place of its call, if it is about one."""
    calls: tuple[Sent, ...] = ()
    """The calls that run through it, if it is about a driver."""
    files: frozenset[str] | None = None
    """The files that its processes can run; None if it is about no processes."""
