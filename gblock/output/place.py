"""The notation for a place in a file, for all formats."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.diagnostics import Location


def place(filename: str, location: Location | None = None) -> str:
    """Return ``file:row:column``, which editors and terminals turn into a link."""
    if location is None:
        return printable(filename)
    return f"{printable(filename)}:{location.row}:{location.column}"


def printable(text: str) -> str:
    """Return the text on one line and without control characters.

    A file's name may contain a line feed or an escape sequence; neither may reach a terminal.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
