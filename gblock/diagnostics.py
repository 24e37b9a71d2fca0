"""The plain, picklable values that a check produces.

Rows and columns count from 1, as editors show them; a column counts characters, not bytes.
"""

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from gblock.lean import NamedTuple


class Severity(IntEnum):
    """The severity of a diagnostic, compared with ``--min-severity``."""

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
"""The contexts of calls, the strongest first."""


class Location(NamedTuple):
    """One place in a file."""

    row: int
    column: int


class Related(NamedTuple):
    """A second place that explains the first, such as the call that hands a blocker to a thread."""

    filename: str
    location: Location
    message: str
    context: str = ""
    """The context of a call, if it is one that runs through the diagnostic."""
    path: tuple[Related, ...] = ()
    """The path to that call, without its last step."""


class Edit(NamedTuple):
    """A stretch of one file, and the text that takes its place."""

    filename: str
    location: Location
    end_location: Location
    """The same as `location` where text is only added."""
    content: str
    """With line feeds only; files keep their own line ends."""


class Fix(NamedTuple):
    """Edits that end a diagnostic."""

    applicability: str
    """``safe`` where the program does the same afterwards, else ``unsafe``."""
    message: str
    """One sentence: what the edits do."""
    edits: tuple[Edit, ...]
    """In the order of the files and places; none overlaps another."""


class Repair(NamedTuple):
    """The facts that a fix needs besides the text: see `gblock.fixes`."""

    kind: str
    """A key of `gblock.repairs.KINDS`, such as ``poll-loop``."""
    names: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    """Names of files and rows."""
    position: int | None = None
    """The position of the argument that bounds the wait, from 0."""
    keyword: str | None = None
    """The name of that argument."""
    bound: str = ""
    """The limit of the wait: ``forever``, ``seconds`` for a constant limit, else empty."""


class Observed(NamedTuple):
    """The blocks that a probe recorded on a diagnostic's line."""

    times: int
    seconds: float
    """In all."""
    longest: float


class Diagnostic(NamedTuple):
    """One reported place, with its rule, message and remedy."""

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
    """One sentence on the wait; empty if the message is enough."""
    blocker: str | None = None
    """The catalog's id of what was found, where the rule looks at the catalog."""
    symbol: str | None = None
    """The dotted name as imported of what is called."""
    related: tuple[Related, ...] = ()
    observed: Observed | None = None
    """None where no probe saw it block, or none was asked."""
    context: str = ""
    """The context of the call, such as ``request``; empty if the rule is about no call."""
    path: tuple[Related, ...] = ()
    """The shortest way to the call, from what starts the code; its last member calls it."""
    paths: tuple[tuple[Related, ...], ...] = ()
    """All ways that are known, the shortest of the strongest context first."""
    cause: str = ""
    """A key shared by the diagnostics that one change would fix."""
    repair: Repair | None = None
    """The facts for a fix; None if there is none."""
    fix: Fix | None = None
    """The fix, if something asked for it and there is one."""
    entries: int = 0
    """The number of places that start code which leads to the call, of those that are known."""


def order(diagnostic: Diagnostic) -> tuple[object, ...]:
    """Return the sort key of diagnostics: file and place, then the remaining fields."""
    d = diagnostic
    first = (d.filename, d.location, d.end_location, d.code, d.severity, d.message, d.help, d.why)
    return (*first, d.blocker or "", d.symbol or "", d.related)


class Problem(NamedTuple):
    """A file or a setting that prevented part of the check: always shown, with exit code 2."""

    filename: str
    message: str
    """The problem and its remedy, one line."""
    location: Location | None = None


class Hidden(NamedTuple):
    """A diagnostic that is not reported."""

    diagnostic: Diagnostic
    reason: str
    """``comment``, ``configuration``, ``baseline`` or ``since``."""


class RulePage:
    """A rule as output formats describe it; a plain class, because clean runs create it too.

    Args:
        name: The rule's name.
        summary: One sentence.
        text: Its page, in Markdown.
        on_by_default: True if it is on unless something else is selected.
    """

    __slots__ = ("name", "on_by_default", "summary", "text")

    def __init__(self, name: str, summary: str, text: str, on_by_default: bool) -> None:
        self.name = name
        self.summary = summary
        self.text = text
        self.on_by_default = on_by_default


class Report(NamedTuple):
    """The results of one run, with the number of hidden diagnostics by reason."""

    diagnostics: tuple[Diagnostic, ...]
    """In order of file and place."""
    problems: tuple[Problem, ...] = ()
    suppressed: int = 0
    """The number of diagnostics hidden by a comment or by `per-file-ignores`."""
    baselined: int = 0
    """Diagnostics that the baseline knows."""
    older: int = 0
    """Diagnostics that the revision of ``--since`` has, too."""
    elsewhere: int = 0
    """Diagnostics in files that only processes without gevent run."""
    idle: int = 0
    """Diagnostics in code that no greenlet of a service runs, such as a command."""
    passed_over: int = 0
    """The number of files that were not looked at, since nothing in a large tree runs on gevent."""
    below_severity: int = 0
    """Diagnostics under ``--min-severity``."""
    files_checked: int = 0
    """The number of files that were checked, without tests and files that cannot be read or
    parsed."""
    files_dropped: int = 0
    """Files that triage dropped: nothing in them could be reported."""
    files_tests: int = 0
    """Files that are tests and were found, not named: left out, for they are not the service."""
    files_unreadable: int = 0
    """Files that could not be read, decoded or parsed."""
    unresolved: int = 0
    """Calls of a blocker's name on a receiver of unknown type; see ``--show-unresolved``."""
    unresolved_calls: tuple[Related, ...] = ()
    """Those calls; `--show-unresolved` prints them."""
    notes: tuple[str, ...] = ()
    """Notes that are no problems, such as on a directory without Python files."""
    by_path: bool = False
    """True if people asked for the order of files instead of that of weight."""
    unexplained: tuple[Related, ...] = ()
    """Blocks that a probe saw, in files that were checked, and of which nothing is reported."""
    observed_elsewhere: int = 0
    """Call sites that a probe saw block, in files that were not checked."""
    hidden: tuple[Hidden, ...] = ()
    """Suppressed and baselined diagnostics, for formats that show them."""
    own_blockers: frozenset[str] = frozenset()
    """The ids of blockers that no page of gblock describes."""
    pages: tuple[RulePage, ...] = ()
    """The rules' pages, where an output shows them."""
    fixed: int = 0
    """Diagnostics that this run fixed."""
    unsafe_fixes: bool = False
    """True if the run counts unsafe fixes as fixable."""
