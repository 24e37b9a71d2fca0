"""The plain values that a check produces: no syntax tree, no colour, picklable.

Rows and columns count from 1, as editors show them; a column counts characters, not bytes.
"""

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:
    from gblock.lean import NamedTuple


class Severity(IntEnum):
    """How sure and how bad: compared with ``--min-severity``."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        """The lower-case word that reports and the configuration use."""
        return self.name.lower()


CONTEXTS = (
    *("hub", "request", "task", "greenlet"),
    "unknown",
    *("startup", "shutdown"),
    *("command", "migration", "test", "native-thread", "other-process"),
)
"""Who may run a call, the strongest context first."""


class Location(NamedTuple):
    """One place in a file."""

    row: int
    column: int


class Related(NamedTuple):
    """A second place that explains the first, such as the call that hands a blocker to a thread."""

    filename: str
    location: Location
    message: str


class Observed(NamedTuple):
    """What production says of a diagnostic: a probe saw the hub blocked on that line."""

    times: int
    seconds: float
    """In all."""
    longest: float


class Diagnostic(NamedTuple):
    """One reported place: what rule, where, and what to do about it."""

    filename: str
    location: Location
    end_location: Location
    code: str
    """The rule's name, such as ``blocking-call``."""
    severity: Severity
    message: str
    """One line: which call, and that it blocks."""
    help: str
    """The cooperative way, one sentence; empty where none is known."""
    why: str = ""
    """Where it waits, one sentence; empty where the message says it all."""
    blocker: str | None = None
    """The catalog's id of what was found, where the rule looks at the catalog."""
    symbol: str | None = None
    """The dotted name as imported of what is called."""
    related: tuple[Related, ...] = ()
    observed: Observed | None = None
    """None where no probe saw it block, or none was asked."""
    context: str = ""
    """Who runs the call, such as ``request``; empty where the rule is about no call."""
    path: tuple[Related, ...] = ()
    """The shortest way to the call, from what starts the code; its last member calls it."""
    paths: tuple[tuple[Related, ...], ...] = ()
    """All ways that are known, the shortest of the strongest context first."""
    cause: str = ""
    """What one change would mend; diagnostics of one cause share it."""


def order(diagnostic: Diagnostic) -> tuple[object, ...]:
    """Return what diagnostics are sorted by: file and place, then what can always be compared."""
    d = diagnostic
    first = (d.filename, d.location, d.end_location, d.code, d.severity, d.message, d.help, d.why)
    return (*first, d.blocker or "", d.symbol or "", d.related)


class Candidate(NamedTuple):
    """A diagnostic before the engine sorts it: reported, hidden, suppressed or known."""

    diagnostic: Diagnostic
    rows: tuple[int, int]
    """The first and the last row of its statement, on which a comment may suppress it."""
    place: Any = None
    """Where the call stands, for the analysis of contexts; None where there is no call."""


class Problem(NamedTuple):
    """A file or a setting that stopped part of the job: never silent, and exit code 2."""

    filename: str
    message: str
    """What is wrong and what to do about it, one line."""
    location: Location | None = None


class Hidden(NamedTuple):
    """A diagnostic that is not reported."""

    diagnostic: Diagnostic
    reason: str
    """``comment``, ``configuration``, ``baseline`` or ``since``."""


class RulePage:
    """A rule as outputs describe it; a plain class, for a clean run makes it, too.

    Args:
        name: The rule's name.
        summary: What it reports, one sentence.
        text: Its page, in Markdown.
        on_by_default: Whether it is on unless something else is selected.
    """

    __slots__ = ("name", "on_by_default", "summary", "text")

    def __init__(self, name: str, summary: str, text: str, on_by_default: bool) -> None:
        self.name = name
        self.summary = summary
        self.text = text
        self.on_by_default = on_by_default


class Report(NamedTuple):
    """What one run found, and every silence of it, counted."""

    diagnostics: tuple[Diagnostic, ...]
    """In order of file and place."""
    problems: tuple[Problem, ...] = ()
    suppressed: int = 0
    """Diagnostics that a ``# gblock: ignore`` comment hides."""
    baselined: int = 0
    """Diagnostics that the baseline knows."""
    older: int = 0
    """Diagnostics that the revision of ``--since`` has, too."""
    elsewhere: int = 0
    """Diagnostics in files that only processes without gevent run."""
    idle: int = 0
    """Diagnostics in code that no greenlet of a service runs, such as a command."""
    below_severity: int = 0
    """Diagnostics under ``--min-severity``."""
    files_checked: int = 0
    """Every Python file that was named or found, read or not."""
    files_dropped: int = 0
    """Files that triage dropped: nothing in them could be reported."""
    files_tests: int = 0
    """Files that are tests and were found, not named: left out, for they are not the service."""
    files_unreadable: int = 0
    """Files that could not be read, decoded or parsed."""
    unresolved: int = 0
    """Calls of a blocker's name whose receiver could not be told; see ``--show-unresolved``."""
    unresolved_calls: tuple[Related, ...] = ()
    """Those calls, only when asked for."""
    notes: tuple[str, ...] = ()
    """What a person wants to know and no problem, such as a directory without Python files."""
    by_path: bool = False
    """Whether people asked for the order of files instead of that of weight."""
    unexplained: tuple[Related, ...] = ()
    """Blocks that a probe saw, in files that were checked, and of which nothing is reported."""
    observed_elsewhere: int = 0
    """Call sites that a probe saw block, in files that were not checked."""
    hidden: tuple[Hidden, ...] = ()
    """What is suppressed or baselined, for outputs that show it."""
    own_blockers: frozenset[str] = frozenset()
    """The ids of blockers that no page of gblock describes."""
    pages: tuple[RulePage, ...] = ()
    """The rules' pages, where an output shows them."""
