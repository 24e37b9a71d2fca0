"""``--statistics``: how often each rule reported each blocker."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Report


def statistics(report: Report, name: str) -> str:
    """Return the counts, most frequent first, as text or, for the format ``json``, as an array."""
    counts: dict[tuple[str, str], int] = {}
    for diagnostic in report.diagnostics:
        key = (diagnostic.code, diagnostic.blocker or "")
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if name == "json":
        import json

        rows = [
            {"code": code, "blocker": blocker or None, "count": count}
            for (code, blocker), count in ordered
        ]
        return json.dumps(rows, indent=2) + "\n"
    if not ordered:
        return ""
    digits = len(str(ordered[0][1]))
    width = max(len(code) for code, _ in counts)
    lines = (f"{count:>{digits}}  {code:<{width}}  {blocker}" for (code, blocker), count in ordered)
    return "".join(f"{line.rstrip()}\n" for line in lines)
