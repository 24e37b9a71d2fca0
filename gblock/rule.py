"""What a rule is: a name, a page of documentation and examples.

A rule's docstring is its page, with four headings: What it does, Why it blocks the hub, Use
instead, Limits. Its examples are its tests, and the page shows them. Rules about calls visit a
libcst tree and stand upon `gblock.call_rule`; a rule about processes visits none, and its module
is imported by clean runs: it must be light.
"""

from __future__ import annotations

import re

from gblock.diagnostics import Diagnostic, Location, Related, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import ClassVar, NamedTuple

    from gblock.project.calls.sites import Found
    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple

HEADINGS = ("What it does", "Why it blocks the hub", "Use instead", "Limits")


class Rule:
    """A name, a page and examples."""

    name: ClassVar[str]
    """Reads well behind ``ignore``: it names the pattern, never the remedy."""
    since: ClassVar[str]
    on_by_default: ClassVar[bool] = True
    kinds: ClassVar[frozenset[str]] = frozenset()
    """The kinds of blockers that it reports."""
    VALID: ClassVar[dict[str, str]]
    """Titles and snippets in which it reports nothing."""
    INVALID: ClassVar[dict[str, str]]
    """Titles and snippets with ``# expect: name`` on each line that it reports."""


def effect(found: Found) -> str:
    """Return what the call of a blocker does to the hub, as the second half of a message."""
    if found.blocker.kind == "spawns":
        return "starts greenlets that block the hub"
    if found.wait.forever:
        return "can block the hub indefinitely: no timeout is set"
    if found.wait.seconds is not None:
        return f"blocks the hub for up to {found.wait.seconds:g} s"
    return "blocks the hub until it returns"


class Wording(NamedTuple):
    """What a rule about processes says of one place."""

    severity: Severity
    message: str
    help: str
    why: str = ""
    related: tuple[Related, ...] = ()
    blocker: str | None = None
    symbol: str | None = None
    cause: str = ""
    """What one change would mend; by default the place itself."""


class ProcessRule(Rule):
    """Reports what the analysis of the project's processes finds; it visits no syntax tree."""

    marks: ClassVar[re.Pattern[bytes]]
    """A file without them holds nothing that the rule reports."""
    scattered: ClassVar[bool] = False
    """Whether one file of the project with the marks is enough for any file to be reported."""
    in_processes: ClassVar[bool] = True
    """Whether there is nothing to report where no process is known to run on gevent."""

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the places to report.

        Args:
            service: The project's processes, their start-up order, and their unpatched calls.
            paths: The files that hold the marks; where they are `scattered`, all files.
        """
        raise NotImplementedError

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return what is reported of one place.

        Args:
            remark: The place and its facts, as `find` gave them.
            name_of: Makes of a file's path the name to show.
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


def name_of(class_name: str) -> str:
    """The name that a rule's class must have: ``BlockingCall`` is ``blocking-call``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", class_name).lower()
