"""What `gblock report` writes: one format a file; each returns text and prints nothing."""

from __future__ import annotations

from gblock.output.formats import Format, rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.observations import Observations

FORMATS = {name: Format(f"gblock.output.report.{name}") for name in ("text", "json", "html")}
"""In the order that ``--help`` lists them."""


def render(name: str, observed: Observations, width: int | None = None) -> str:
    """Return the observations in one of the `FORMATS`.

    Args:
        name: The format.
        observed: What is rendered.
        width: The terminal's columns, None where there is no terminal to colour.

    Raises:
        ValueError: for a name that is no format.
    """
    return rendered(FORMATS, name, observed, width)
