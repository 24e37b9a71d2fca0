"""The last line of a run: the numbers of reported and of hidden diagnostics."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Report


def summary(report: Report) -> str:
    """Return one line without a line feed; zeros are omitted unless they matter."""
    labels = [diagnostic.severity.label for diagnostic in report.diagnostics]
    counts = [(labels.count(label), label) for label in ("error", "warning", "note")]
    reported = [counted(count, label) for count, label in counts if count]
    first = " and ".join(filter(None, [", ".join(reported[:-1]), *reported[-1:]]))
    silences = [
        (report.fixed, "fixed"),
        (report.suppressed, "suppressed"),
        (report.baselined, "baselined"),
        (report.older, "not new"),
        (report.elsewhere, "in processes without gevent"),
        (report.idle, "in code that no greenlet runs"),
        (report.passed_over, f"{'file' if report.passed_over == 1 else 'files'} not looked at"),
        (report.below_severity, "below --min-severity"),
        (report.unresolved, f"{_calls(report.unresolved)} unresolved"),
    ]
    hidden = [f"{count} {what}" for count, what in silences if count]
    # "Nothing found" requires that everything was checked and nothing hidden.
    is_whole = not (hidden or report.problems or report.files_unreadable)
    nothing = "No blocking calls found" if is_whole else "Nothing to report"
    places = len(report.diagnostics)
    grouped = len({one.cause or str(number) for number, one in enumerate(report.diagnostics)})
    of_causes = f" of {counted(grouped, 'cause')}" if grouped < places else ""
    found = f"Found {first}{of_causes}" if reported else nothing
    return f"{'; '.join([found, *hidden])}. {_files(report)}."


def counted(number: int, noun: str) -> str:
    """Return the number with its noun in the right form."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _calls(number: int) -> str:
    return "call" if number == 1 else "calls"


def _files(report: Report) -> str:
    parts = [f"{counted(report.files_checked, 'file')} checked"]
    if report.files_dropped:
        parts.append(f"{report.files_dropped:,} dropped by triage")
    if report.files_tests:
        parts.append(f"{counted(report.files_tests, 'test file')} left out")
    if report.files_unreadable:
        parts.append(f"{report.files_unreadable:,} could not be read or parsed")
    return ", ".join(parts)
