"""The number of diagnostics that can be fixed, one line as ruff writes it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Diagnostic, Report


def fixable(report: Report) -> str:
    """Return the line, empty where there is no fix."""
    found = [one.fix for one in report.diagnostics if one.fix is not None]
    safe = sum(one.applicability == "safe" for one in found)
    if report.unsafe_fixes:
        return f"[*] {len(found):,} fixable with --fix." if found else ""
    unsafe = len(found) - safe
    hidden = f"{unsafe:,} hidden {'fix' if unsafe == 1 else 'fixes'}"
    if safe:
        more = f" ({hidden} with --unsafe-fixes)" if unsafe else ""
        return f"[*] {safe:,} fixable with --fix{more}."
    return f"No fixes available ({hidden} with --unsafe-fixes)." if found else ""


def mark(diagnostic: Diagnostic, report: Report) -> str:
    """Return the mark of a diagnostic that ``--fix`` fixes with the options of the run."""
    fix = diagnostic.fix
    if fix is None or (fix.applicability != "safe" and not report.unsafe_fixes):
        return ""
    return " [*]"
