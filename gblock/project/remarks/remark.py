"""One place that a rule about processes reports, as a plain value."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from gblock.project.names.expressions import Place
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
    """What the rule needs to word it; each rule's module says which type it is."""
    statement: tuple[int, int] | None = None
    """The first and the last row of the statement, whose comments may suppress it; by default
    those of the span."""
    place: Place | None = None
    """Where the call stands that it is about, if it is about one."""
