"""A diagnostic before the engine sorts it, with what its context is found from."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from gblock.diagnostics import Diagnostic
    from gblock.project.calls.queries import Sent
    from gblock.project.names.places import Place
else:
    from gblock.lean import NamedTuple


class Candidate(NamedTuple):
    """A diagnostic that may be reported, hidden, suppressed or known."""

    diagnostic: Diagnostic
    rows: tuple[int, int]
    """The first and the last row of its statement, on which a comment may suppress it."""
    place: Place | None = None
    """The call's place, for the analysis of contexts; None if there is no call."""
    files: frozenset[str] | None = None
    """The files in which a path to the call may begin; None for all."""
    calls: tuple[Sent, ...] = ()
    """The calls that run through it, for the analysis of contexts."""
    is_native: bool = False
    """True if native threads alone run the call, so that no hub waits for it."""
    computes: bool = False
    """True if it is about computing, which matters where a greenlet is known to run it."""
    is_open: bool = False
    """True if it matters in long loops alone, and the code does not say how long the loop is."""
