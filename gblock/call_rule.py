"""Rules about calls: libcst visitors of the statements in which a candidate call stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import libcst as cst

from gblock.diagnostics import Candidate, Diagnostic, Related, Severity
from gblock.rule import Rule, effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.calls.sites import Found, Site
    from gblock.source import Source


class CallRule(Rule, cst.CSTVisitor):
    """Visits one file; a fresh instance is made for each.

    Args:
        source: The file, and every question that may be asked about it.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.candidates: list[Candidate] = []
        """What was reported."""

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
        place = self.source.place(node)
        self.candidates.append(Candidate(diagnostic, self.source.statement(node), place))

    def severity_of(self, found: Found) -> Severity:
        """Return the severity of a blocker's calls.

        It is a warning where the blocker is off by default, or where the project makes the blocker
        cooperative under some condition.
        """
        certain = found.blocker.level == "error" and self.source.doubt(found) is None
        return Severity.ERROR if certain else Severity.WARNING


class BlockerRule(CallRule):
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
                message += "; a native thread does not help, since the call keeps the GIL"
            message += self.source.lack(found)
            self.report(
                node,
                self.severity_of(found),
                message,
                found.blocker.remedy(self.called(node, found)),
                found=found,
                why=found.blocker.why,
            )
            return

    def called(self, node: cst.BaseExpression, found: Found) -> str:
        """Return the function that is called as the code spells it, or its name in the catalog."""
        if isinstance(node, cst.Call) and isinstance(node.func, (cst.Name, cst.Attribute)):
            return self.source.code(node.func)
        return found.symbol.rpartition(".")[2]

    def is_meant(self, found: Found) -> bool:  # noqa: ARG002 - for those that look closer
        """Whether a call of a blocker is one that the rule is about."""
        return True

    def effect(self, found: Found) -> str:
        """Return the second half of the message: what the call does to the hub."""
        return effect(found)


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
def _visits_of(rule: type[CallRule]) -> tuple[str, ...]:
    """The names of a rule's own methods that visit nodes."""
    names = (name for name in dir(rule) if name.startswith("visit_"))
    return tuple(name for name in names if _is_own(rule, name))


def _is_own(rule: type[CallRule], name: str) -> bool:
    """Whether a method is a rule's, and not the empty one that libcst gives every visitor."""
    return getattr(rule, name) is not getattr(cst.CSTVisitor, name, None)
