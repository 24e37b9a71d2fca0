"""The changes between two reports, for people and for other programs."""

from __future__ import annotations

import json

from gblock.output.report import facts
from gblock.output.seconds import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.observations.comparing import SiteChange


def text(changes: Sequence[SiteChange]) -> str:
    """Return one line of figures for each call site, and where it is."""
    changed = [change for change in changes if change.word != "same"]
    if not changed:
        return "No call site blocks the hub for more or less time than before.\n"
    lines = ["blocked in each hour that a process was watched", ""]
    lines.append(f"{'':6}  {'before':>9}  {'after':>9}")
    for change in changed:
        before, after = seconds(change.before), seconds(change.after)
        lines.append(f"{change.word:6}  {before:>9}  {after:>9}  {facts.where(change.site)}")
        if facts.called(change.site):
            lines.append(f"{'':29}calls: {facts.called(change.site)}")
    same = len(changes) - len(changed)
    if same:
        lines += ["", f"{same} more as before."]
    return "\n".join(lines) + "\n"


def as_json(changes: Sequence[SiteChange]) -> str:
    """Return one JSON list and a line feed."""
    page = [
        {
            "change": change.word,
            "before": change.before,
            "after": change.after,
            "filename": change.site.filename,
            "line": change.site.line,
            "function": change.site.function,
            "symbol": change.site.symbol,
            "class": change.site.kind,
        }
        for change in changes
    ]
    return json.dumps(page, indent=2) + "\n"
