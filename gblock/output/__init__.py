"""One format a file; each returns text and prints nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Report

# In the order that `--help` lists them.
FORMATS = ("text", "concise", "json", "github")


def render(
    name: str, report: Report, source_of: Callable[[str], str | None], width: int | None = None
) -> str:
    """Return the report in one of the `FORMATS`.

    Args:
        name: The format.
        report: What is rendered.
        source_of: The text of a reported file, None where it cannot be had.
        width: The terminal's columns, None where there is no terminal to colour.
    """
    # Each format is imported on its own: rich and json cost more than most reports.
    if name == "concise":
        from gblock.output import concise

        return concise.render(report)
    if name == "json":
        from gblock.output import json

        return json.render(report)
    if name == "github":
        from gblock.output import github

        return github.render(report)
    from gblock.output import text

    return text.render(report, source_of, width)
