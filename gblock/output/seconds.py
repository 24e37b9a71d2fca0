"""The notation for durations and times, for all reports."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Observed


def seconds(value: float) -> str:
    """Return ``512 ms``, ``5.02 s``, ``2 min 13 s``, ``3 h 5 min`` or ``2 d 4 h``."""
    if value < 0.9995:
        return f"{value * 1000:.0f} ms"
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 99.95:
        return f"{value:.1f} s"
    whole = round(value)
    for size, unit, small, name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            return f"{whole // size:,} {unit} {whole % size // small} {name}"
    return f"{whole // 60} min {whole % 60} s"


def moment(value: float) -> str:
    """Return a time in UTC, which is the same for every reader."""
    from datetime import datetime, timezone

    return datetime.fromtimestamp(value, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def observed_sentence(observed: Observed) -> str:
    """Return a sentence about the blocks that production has seen for a diagnostic."""
    if observed.times == 1:
        return f"Once in production, for {seconds(observed.longest)}."
    return (
        f"{observed.times:,} times in production, {seconds(observed.seconds)} in all, "
        f"the longest {seconds(observed.longest)}."
    )
