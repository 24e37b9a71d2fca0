"""Tables of formats: a name, the module that renders it, and its text for an empty report."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple
else:
    from gblock.lean import NamedTuple


class Format(NamedTuple):
    """One format. Its module has a function ``render``, which returns text and prints nothing."""

    module: str
    empty: str | None = ""
    """The text for an empty report, so that a clean run imports no module; None if the module
    renders an empty report, too."""
    is_documented: bool = False
    """True if it shows the rules' pages, which the report must then include."""


def named(formats: Mapping[str, Format], name: str) -> Format:
    """Return a format by its name.

    Raises:
        ValueError: for an unknown format.
    """
    if name not in formats:
        raise ValueError(f"unknown format {name}; choose one of {', '.join(formats)}")
    return formats[name]


def rendered(formats: Mapping[str, Format], name: str, *values: object) -> str:
    """Return the values as a format renders them.

    Raises:
        ValueError: for an unknown format.
    """
    # Each format is imported on its own: rich and json cost more than most reports.
    module = __import__(named(formats, name).module, fromlist=["render"])
    text: str = module.render(*values)
    return text
