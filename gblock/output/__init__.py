"""Output formats, one in each file; each returns text and prints nothing."""

from __future__ import annotations

from gblock.output.formats import Format, named, rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Report

FORMATS = {
    "text": Format("gblock.output.text"),
    "concise": Format("gblock.output.concise"),
    "json": Format("gblock.output.json", empty="[]\n"),
    "github": Format("gblock.output.github"),
    "gitlab": Format("gblock.output.gitlab", empty="[]\n"),
    "sarif": Format("gblock.output.sarif", empty=None, is_documented=True),
    "junit": Format("gblock.output.junit", empty=None),
}
"""In the order of ``--help``."""


def render(
    name: str, report: Report, source_of: Callable[[str], str | None], width: int | None = None
) -> str:
    """Return the report in one of the `FORMATS`.

    Args:
        name: The format.
        report: The report.
        source_of: Returns the text of a reported file, None if it is not available.
        width: The terminal's columns; None without colour.

    Raises:
        ValueError: for an unknown format.
    """
    empty = named(FORMATS, name).empty
    if not report.diagnostics and empty is not None:
        return empty
    return rendered(FORMATS, name, report, source_of, width)
