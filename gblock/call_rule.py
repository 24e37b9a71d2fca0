"""Rules about calls: libcst visitors of the statements that contain a candidate call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import libcst as cst

from gblock.candidate import Candidate
from gblock.diagnostics import Diagnostic, Related, Repair, Severity
from gblock.repairs import KINDS
from gblock.rule import Rule, effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.calls.sites import Found, Site
    from gblock.source import Source


_BRIEF, _LONG = 0.01, 0.1
"""Seconds: up to the first a bounded wait is a note, below the second a warning."""


class CallRule(Rule, cst.CSTVisitor):
    """Visits one file; a fresh instance is made for each.

    Args:
        source: The file and its sites.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.candidates: list[Candidate] = []
        """The diagnostics so far."""

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
        repair: Repair | None = None,
        is_native: bool = False,
        is_open: bool = False,
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
            repair=repair,
        )
        place = self.source.place(node)
        rows = self.source.statement(node)
        self.candidates.append(
            Candidate(diagnostic, rows, place, is_native=is_native, is_open=is_open)
        )

    def report_repeated(
        self,
        node: cst.Call,
        found: Found,
        how: str,
        *,
        is_open: bool = False,
        most: Severity = Severity.ERROR,
    ) -> None:
        """Report a call that is cheap once and expensive if repeated.

        Args:
            node: The call.
            found: Its blocker, with the time of one call if that was measured.
            how: How often the call runs: ``in a loop``.
            is_open: True if the code does not say how many iterations the loop has.
            most: The highest severity.
        """
        each = found.blocker.seconds_each
        cost = f"; each call takes {each * 1e6:.2g} µs" if each else ""
        self.report(
            node,
            min(self.severity_of(found), most),
            f"`{self.source.code(node)}` runs {how}{cost}",
            found.blocker.remedy(),
            found=found,
            why=found.blocker.why,
            is_open=is_open,
        )

    def severity_of(self, found: Found) -> Severity:
        """Return the severity of a blocker's calls.

        It is a warning where the blocker is off by default, where the project makes the blocker
        cooperative under some condition, and where a timeout bounds the wait below `_LONG`. A wait
        of at most `_BRIEF` is a note: it is no longer than what any request computes.
        """
        seconds = found.wait.seconds
        if seconds is not None and seconds <= _BRIEF:
            return Severity.NOTE
        if seconds is not None and seconds < _LONG:
            return Severity.WARNING
        certain = found.blocker.level == "error" and self.source.doubt(found) is None
        return Severity.ERROR if certain else Severity.WARNING


class BlockerRule(CallRule):
    """A rule that reports each call of a blocker of its kinds, where it is made."""

    def visit_Call(self, node: cst.Call) -> None:
        """Report an explicit call."""
        self._look_at(node, self.source.site(node))

    def visit_WithItem(self, node: cst.WithItem) -> None:
        """Report a ``with`` statement, which calls ``__enter__``."""
        self._look_at(node.item, self.source.site(node.item, "with"))

    def visit_For(self, node: cst.For) -> None:
        """Report a ``for`` loop, which calls ``__iter__``."""
        self._look_at(node.iter, self.source.site(node.iter, "for"))

    def visit_CompFor(self, node: cst.CompFor) -> None:
        """Report the loop of a comprehension."""
        self._look_at(node.iter, self.source.site(node.iter, "for"))

    def visit_Subscript(self, node: cst.Subscript) -> None:
        """Report a subscript, which calls ``__getitem__``, ``__setitem__`` or ``__delitem__``."""
        sites = (self.source.site(node, kind) for kind in ("item", "set-item", "del-item"))
        self._look_at(node, next(filter(None, sites), None))

    def visit_From(self, node: cst.From) -> None:
        """Report ``yield from``, which calls ``__iter__``, too."""
        self._look_at(node.item, self.source.site(node.item, "for"))

    def _look_at(self, node: cst.BaseExpression, site: Site | None) -> None:
        if site is None:
            return
        for found in site.found:
            if found.blocker.kind not in self.kinds or found.wait.immediate:
                continue
            if not self.is_meant(found):
                continue
            keeps_gil = found.blocker.releases_gil is False
            if self.source.handed_to_greenlet(site):
                continue
            code = self.source.code(node)
            message = f"`{code}` {self.effect(found)}"
            if site.native and keeps_gil:
                message += "; a native thread does not help, since the call keeps the GIL"
            message += _way(found) + self.source.lack(found)
            self.report(
                node,
                self.severity_of(found),
                message,
                found.blocker.remedy(self.called(node, found)),
                found=found,
                why=found.blocker.why,
                repair=self._repair(site, found),
                is_native=site.native and not keeps_gil,
            )
            return

    def called(self, node: cst.BaseExpression, found: Found) -> str:
        """Return the function that is called as the code spells it, or its name in the catalog."""
        if isinstance(node, cst.Call) and isinstance(node.func, (cst.Name, cst.Attribute)):
            return self.source.code(node.func)
        return found.symbol.rpartition(".")[2]

    def _repair(self, site: Site, found: Found) -> Repair | None:
        """Return what a fix of one call starts from; where recipes belong is known only later."""
        blocker, wait = found.blocker, found.wait
        if blocker.fix is None or blocker.fix == "recipe" or site.native:
            return None
        if site.call.node != "call" or site.is_applied:
            return None
        if KINDS[blocker.fix].needs_class and not self.source.has_one_class(site):
            return None
        timeout = blocker.timeout
        return Repair(
            blocker.fix,
            blocker.fix_unless,
            position=timeout.position if timeout is not None else None,
            keyword=timeout.keyword if timeout is not None else None,
            bound="forever" if wait.forever else "seconds" if wait.seconds is not None else "",
        )

    def is_meant(self, found: Found) -> bool:  # noqa: ARG002 - used by overrides
        """Return whether the rule applies to a call of a blocker."""
        return True

    def effect(self, found: Found) -> str:
        """Return the second half of the message: what the call does to the hub."""
        return effect(found)


def _way(found: Found) -> str:
    """Return a message's part on the calls inside of an installed package."""
    steps = found.blocker.through.get(found.symbol, ())
    return "".join(f" → {step}" for step in steps)


class Together(cst.CSTVisitor):
    """Several rules in one pass over a tree.

    libcst's own batches look for a visitor's methods with ``inspect`` each time they are started,
    which takes longer than to parse a statement.
    """

    def __init__(self, rules: Sequence[CallRule]) -> None:
        super().__init__()
        self._visits: dict[str, list[Callable[[cst.CSTNode], object]]] = {}
        for rule in rules:
            for name in _visits_of(type(rule)):
                self._visits.setdefault(name[6:], []).append(getattr(rule, name))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Call each rule that visits nodes of this type."""
        for visit in self._visits.get(type(node).__name__, ()):
            visit(node)
        return True

    # Empty, because the methods of libcst look up a handler for each node and attribute.

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """Do nothing."""

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Do nothing."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Do nothing."""


@cache
def _visits_of(rule: type[CallRule]) -> tuple[str, ...]:
    """Return the names of a rule's own methods that visit nodes."""
    names = (name for name in dir(rule) if name.startswith("visit_"))
    return tuple(name for name in names if _is_own(rule, name))


def _is_own(rule: type[CallRule], name: str) -> bool:
    """Return whether a rule overrides a method of libcst's visitor."""
    return getattr(rule, name) is not getattr(cst.CSTVisitor, name, None)
