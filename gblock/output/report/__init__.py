"""The formats of `gblock report`, one in each file; each returns text and prints nothing."""

from __future__ import annotations

from gblock.output.formats import Format, rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.observations import Observations

FORMATS = {name: Format(f"gblock.output.report.{name}") for name in ("text", "json", "html")}
"""In the order of ``--help``."""


def render(name: str, observed: Observations, width: int | None = None) -> str:
    """Return the observations in one of the `FORMATS`.

    Args:
        name: The format.
        observed: The observations.
        width: The terminal's columns; None without colour.

    Raises:
        ValueError: for an unknown format.
    """
    return rendered(FORMATS, name, observed, width)
