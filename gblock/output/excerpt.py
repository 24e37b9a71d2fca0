"""One line of source with a caret under the call, in columns of a terminal."""

from __future__ import annotations

import unicodedata

_TAB = "    "
_CUT = "..."


def excerpt(line: str, start: int, end: int, room: int) -> tuple[str, str]:
    """Return the visible part of the line, and carets under its characters from start to end.

    A line that is wider than ``room`` is cut on one side or on both, never before the first caret.
    """
    cells = [_cell(character) for character in line]
    widths = [_width(cell) for cell in cells]
    # A place after the end of the line, such as a missing bracket's, still gets its caret.
    start = min(start, len(cells))
    end = max(start, min(end, len(cells)))
    first, last = _window(widths, start, end, room)
    before, after = _CUT if first else "", _CUT if last < len(cells) else ""
    indent = len(before) + sum(widths[first:start])
    carets = sum(widths[start : min(end, last)])
    return before + "".join(cells[first:last]) + after, " " * indent + "^" * max(carets, 1)


def _cell(character: str) -> str:
    if character == "\t":
        return _TAB
    # Escape sequences in a source file are shown as text and never reach the terminal.
    return character if character.isprintable() or _is_joined(character) else "?"


def _is_joined(character: str) -> bool:
    """Return whether the character is combined with its neighbour and takes no column."""
    return unicodedata.category(character) in ("Mn", "Me") or character == "\u200d"


def _width(cell: str) -> int:
    if len(cell) > 1 or cell.isascii():
        return len(cell)
    if _is_joined(cell):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in "WF" else 1


def _window(widths: list[int], start: int, end: int, room: int) -> tuple[int, int]:
    """Return the first visible character and the one after the last."""
    if sum(widths) <= room:
        return 0, len(widths)
    room = max(room - 2 * len(_CUT), 1)
    # The call in the middle, or its start at the left edge if it is wider than the room.
    left = max(room - sum(widths[start:end]), 0) // 2
    first = start
    while first > 0 and left >= widths[first - 1]:
        first -= 1
        left -= widths[first]
    last = first
    while last < len(widths) and room >= widths[last]:
        room -= widths[last]
        last += 1
    return first, last
