"""Rows and columns of gblock as lines and characters of the protocol, and back.

Rows and columns count from 1, columns in characters. The protocol counts from 0, in the code units
of the encoding that client and server agreed on: UTF-16 unless the client prefers another.
"""

from __future__ import annotations

import re

from lsprotocol.types import Position, PositionEncodingKind, Range

from gblock.diagnostics import Location

_END = re.compile("\r\n|\r|\n")
_CODECS = {
    PositionEncodingKind.Utf8: ("utf-8", 1),
    PositionEncodingKind.Utf16: ("utf-16-le", 2),
    PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""By encoding, Python's name for it and the bytes of one code unit."""


def rows(text: str) -> list[str]:
    """Return the rows of a text without their ends, as Python and the protocol count them."""
    return _END.split(text)


class Lines:
    """The lines of one text.

    Args:
        text: The text, with any kind of line ends.
        encoding: The encoding of the protocol's positions.
    """

    def __init__(
        self, text: str, encoding: PositionEncodingKind | str = PositionEncodingKind.Utf16
    ) -> None:
        self._lines = rows(text)
        self._codec, self._unit = _CODECS[PositionEncodingKind(encoding)]

    def position(self, location: Location) -> Position:
        """Return the protocol's position; a place behind the end of a line or text is its end."""
        if location.row > len(self._lines):
            return Position(len(self._lines) - 1, self._units(self._lines[-1]))
        row = max(location.row, 1)
        before = self._lines[row - 1][: max(location.column, 1) - 1]
        return Position(row - 1, self._units(before))

    def range(self, start: Location, end: Location) -> Range:
        """Return the protocol's range of a start and an end."""
        return Range(self.position(start), self.position(end))

    def location(self, position: Position) -> Location:
        """Return the row and column of the protocol's position."""
        if position.line >= len(self._lines):
            return Location(len(self._lines), len(self._lines[-1]) + 1)
        line = self._lines[position.line]
        encoded = line.encode(self._codec, "surrogatepass")[: position.character * self._unit]
        return Location(position.line + 1, len(encoded.decode(self._codec, "ignore")) + 1)

    def _units(self, text: str) -> int:
        return len(text.encode(self._codec, "surrogatepass")) // self._unit
