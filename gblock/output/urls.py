"""Addresses of the pages of rules and blockers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Diagnostic, Report

REPOSITORY = "https://github.com/gblock/gblock"
_PAGES = f"{REPOSITORY}/blob/main/docs"


def of_rule(name: str) -> str:
    """Return the address of a rule's page."""
    return f"{_PAGES}/rules.md#{name}"


def of_blocker(diagnostic: Diagnostic, report: Report) -> str | None:
    """Return the address of the blocker's entry; a project's own catalog has no page."""
    if diagnostic.blocker is None or diagnostic.blocker in report.own_blockers:
        return None
    return of_entry(diagnostic.blocker)


def of_entry(blocker: str) -> str:
    """Return the address of the entry of one of gblock's own blockers."""
    return f"{_PAGES}/blockers.md#{blocker}"
