"""What a rule is: a libcst visitor with a name, a page of documentation and examples.

A rule's docstring is its page, with four headings: What it does, Why it blocks the hub, Use
instead, Limits. Its examples are its tests, and the page shows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import libcst as cst

from gblock.diagnostics import Diagnostic, Location, Related, Severity

if TYPE_CHECKING:
    from gblock.project.remarks import Remark
    from gblock.project.sites import Found, Site
    from gblock.source import Source

HEADINGS = ("What it does", "Why it blocks the hub", "Use instead", "Limits")


class Rule(cst.CSTVisitor):
    """Looks at one file; a fresh one is made for each.

    Args:
        source: The file, and every question that may be asked about it.
    """

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

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.diagnostics: list[tuple[Diagnostic, tuple[int, int]]] = []
        """What was reported, each with the rows of its statement."""

    def report(
        self,
        node: cst.CSTNode,
        severity: Severity,
        message: str,
        help: str,
        *,
        found: Found | None = None,
        why: str = "",
        related: tuple[Related, ...] = (),
    ) -> None:
        """Report a node of the tree that is being visited."""
        start, end = self.source.range(node)
        diagnostic = Diagnostic(
            filename=self.source.filename,
            location=start,
            end_location=end,
            code=self.name,
            severity=severity,
            message=message,
            help=help,
            why=why,
            blocker=found.blocker.id if found else None,
            symbol=found.symbol if found else None,
            related=related,
        )
        self.diagnostics.append((diagnostic, self.source.statement(node)))

    def severity_of(self, found: Found) -> Severity:
        """What the catalog says of a blocker; one that is off by default is a warning."""
        return Severity.ERROR if found.blocker.level == "error" else Severity.WARNING


class BlockerRule(Rule):
    """A rule that reports each call of a blocker of its kinds, where it is made."""

    def visit_Call(self, node: cst.Call) -> None:
        """A call that is written as one."""
        self._look_at(node, self.source.site(node))

    def visit_WithItem(self, node: cst.WithItem) -> None:
        """``with`` calls the object's ``__enter__``."""
        self._look_at(node.item, self.source.site(node.item, "with"))

    def visit_For(self, node: cst.For) -> None:
        """``for`` calls the object's ``__iter__``."""
        self._look_at(node.iter, self.source.site(node.iter, "for"))

    def _look_at(self, node: cst.BaseExpression, site: Site | None) -> None:
        for found in site.found if site else ():
            if found.blocker.kind not in self.kinds or found.wait.immediate:
                continue
            if not self.is_meant(found):
                continue
            keeps_gil = found.blocker.releases_gil is False
            if site is None or (site.native and not keeps_gil):
                continue
            if self.source.handed_to_greenlet(site):
                continue
            code = self.source.code(node)
            message = f"`{code}` {self.effect(found)}"
            if site.native:
                message += "; a native thread does not help, for it keeps the GIL"
            message += self.source.lack(found)
            self.report(
                node,
                self.severity_of(found),
                message,
                found.blocker.instead,
                found=found,
                why=found.blocker.why,
            )
            return

    def is_meant(self, found: Found) -> bool:  # noqa: ARG002 - for those that look closer
        """Whether a call of a blocker is one that the rule is about."""
        return True

    def effect(self, found: Found) -> str:
        """The second half of the message: what the call does to the hub."""
        return effect(found)


def effect(found: Found) -> str:
    """What the call of a blocker does to the hub, as the second half of a message."""
    if found.wait.forever:
        return "blocks the hub, if need be for ever: no timeout bounds the wait"
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


class ProcessRule(Rule):
    """A rule that words what the analysis of processes found; it needs no tree."""

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """What is said of one place.

        Args:
            remark: The place and its facts, from the rule's module in `gblock.project.remarks`.
            name_of: Makes of a file's path the name to show.
        """
        raise NotImplementedError

    @classmethod
    def diagnostic(cls, remark: Remark, name_of: Callable[[str], str]) -> Diagnostic:
        """One remark as a diagnostic."""
        span = remark.span
        return Diagnostic(
            filename=name_of(remark.path),
            location=Location(span.row, span.column),
            end_location=Location(span.end_row, span.end_column),
            code=cls.name,
            **cls.worded(remark, name_of)._asdict(),
        )


class Together(cst.CSTVisitor):
    """Several rules in one pass over a tree.

    libcst's own batches look for a visitor's methods with ``inspect`` each time they are started,
    which takes longer than to parse a statement.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__()
        self._visits: dict[str, list[Callable[[cst.CSTNode], object]]] = {}
        for rule in rules:
            for name in _visits_of(type(rule)):
                self._visits.setdefault(name[6:], []).append(getattr(rule, name))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Let each rule look that asks for nodes of this type."""
        for visit in self._visits.get(type(node).__name__, ()):
            visit(node)
        return True

    # What no rule asks for is not looked up, as libcst would for each node and attribute.

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """Nothing."""

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Nothing."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Nothing."""


@cache
def _visits_of(rule: type[Rule]) -> tuple[str, ...]:
    """The names of a rule's own methods that visit nodes."""
    names = (name for name in dir(rule) if name.startswith("visit_"))
    return tuple(name for name in names if _is_own(rule, name))


def _is_own(rule: type[Rule], name: str) -> bool:
    """Whether a method is a rule's, and not the empty one that libcst gives every visitor."""
    return getattr(rule, name) is not getattr(cst.CSTVisitor, name, None)


def name_of(class_name: str) -> str:
    """The name that a rule's class must have: ``BlockingCall`` is ``blocking-call``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", class_name).lower()
