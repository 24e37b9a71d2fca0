"""Base classes of rules: a name, a page of documentation and examples.

A rule's docstring is its page, with four headings: What it does, Why it blocks the hub, Use
instead, Limits. Its examples are its tests, and the page shows them. Rules about calls visit a
libcst tree and derive from `gblock.call_rule`; a rule about processes visits none, and its module
is imported by clean runs: it must be light.
"""

from __future__ import annotations

import re

from gblock.diagnostics import Diagnostic, Location, Related, Repair, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import ClassVar, NamedTuple

    from gblock.project.calls.sites import Found
    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple

ON_GEVENT = ("gevent", "flask_socketio", "zerorpc")
"""The packages of which code in such a process imports one."""
RUNS_ON_GEVENT = re.compile(
    rb"(?:from|import)[ \t]+(?:%s)\b|\basync_mode\b" % "|".join(ON_GEVENT).encode()
)
"""The marks of code in a process that runs on gevent and that no server patches."""
HEADINGS = ("What it does", "Why it blocks the hub", "Use instead", "Limits")


class Rule:
    """A name, a page and examples."""

    name: ClassVar[str]
    """Names the pattern, never the remedy, so that ``ignore: NAME`` reads well."""
    since: ClassVar[str]
    on_by_default: ClassVar[bool] = True
    kinds: ClassVar[frozenset[str]] = frozenset()
    """The kinds of blockers that it reports."""
    fixes: ClassVar[tuple[str, ...]] = ()
    """The kinds of fixes that its diagnostics can have, of `gblock.repairs.KINDS`."""
    VALID: ClassVar[dict[str, str]]
    """Titles and snippets in which it reports nothing."""
    INVALID: ClassVar[dict[str, str]]
    """Titles and snippets with ``# expect: name`` on each line that it reports."""


def effect(found: Found) -> str:
    """Return the second half of a message: the call's effect on the hub."""
    if found.blocker.kind == "spawns":
        return "starts greenlets that block the hub"
    if found.wait.forever:
        return "can block the hub indefinitely: no timeout is set"
    if found.wait.seconds is not None:
        return f"blocks the hub for up to {found.wait.seconds:g} s"
    return "blocks the hub until it returns"


class Wording(NamedTuple):
    """The texts of one diagnostic of a rule about processes."""

    severity: Severity
    message: str
    help: str
    why: str = ""
    related: tuple[Related, ...] = ()
    blocker: str | None = None
    symbol: str | None = None
    cause: str = ""
    """Shared by diagnostics that one change would fix; by default the place itself."""
    repair: Repair | None = None
    """The facts for a fix."""


class ProcessRule(Rule):
    """A rule about the project's processes; it visits no syntax tree."""

    marks: ClassVar[re.Pattern[bytes]]
    """Matches every file in which the rule can report something."""
    scattered: ClassVar[bool] = False
    """True if a match in one file means that any file of the project may be reported."""
    in_processes: ClassVar[bool] = True
    """True if the rule reports nothing unless some process is known to run on gevent."""
    computes: ClassVar[bool] = False
    """True if the rule is about computing, which is a note where no greenlet is known to run it."""

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the places to report.

        Args:
            service: The project's processes, their start-up order, and their unpatched calls.
            paths: The files that match `marks`; where the rule is `scattered`, all files.
        """
        raise NotImplementedError

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the texts of one diagnostic.

        Args:
            remark: The place and its facts, as `find` yielded them.
            name_of: Returns the name to show for a file's path.
        """
        raise NotImplementedError

    @classmethod
    def diagnostic(cls, remark: Remark, name_of: Callable[[str], str]) -> Diagnostic:
        """Return one remark as a diagnostic."""
        span = remark.span
        return Diagnostic(
            filename=name_of(remark.path),
            location=Location(span.row, span.column),
            end_location=Location(span.end_row, span.end_column),
            code=cls.name,
            **cls.worded(remark, name_of)._asdict(),
        )


def cause_of_late_patch(patching: str, place: str | int) -> str:
    """Return the cause of all that a late patch leaves behind, whichever rule reports it.

    Args:
        patching: The server that patches, or the file with the patch.
        place: The file that starts the server, or the row of the patch.
    """
    return f"late-monkey-patch:{patching}:{place}"


def name_of(class_name: str) -> str:
    """Return the rule name of a class: ``blocking-call`` for ``BlockingCall``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", class_name).lower()
