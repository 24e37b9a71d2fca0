"""Edits put into a text: line ends, the encoding and a byte order mark stay as they are."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Sequence

from gblock.diagnostics import Edit, Fix, Location

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_END = re.compile(r"\r\n|\r|\n")


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits of its own; none may overlap another.

    What the edits add has the line ends of the text.
    """
    lines = _LINE.findall(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    end = _line_end(text)

    def offset(place: Location) -> int:
        row = place.row - 1
        return len(text) if row >= len(lines) else starts[row] + place.column - 1

    parts: list[str] = []
    done = 0
    for edit in sorted(set(edits)):
        start = offset(edit.location)
        parts += [text[done:start], edit.content.replace("\n", end)]
        done = offset(edit.end_location)
    return "".join([*parts, text[done:]])


def applied_to_bytes(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return a file's bytes with edits, in the encoding that the file declares.

    Raises:
        SyntaxError: if it declares an encoding that does not exist.
        UnicodeError: if it is not in its encoding, or the result cannot be.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return applied(data.decode(encoding), edits).encode(encoding)


def compatible(fixes: Sequence[Fix]) -> list[Fix]:
    """Return the fixes that can be applied together; of two that touch, the first.

    Edits that several fixes have in common, such as an import, are no conflict.
    """
    taken: dict[str, set[Edit]] = {}
    chosen = []
    for fix in fixes:
        if not any(
            _touch(edit, other) for edit in fix.edits for other in taken.get(edit.filename, ())
        ):
            chosen.append(fix)
            for edit in fix.edits:
                taken.setdefault(edit.filename, set()).add(edit)
    return chosen


def _touch(one: Edit, other: Edit) -> bool:
    """Return whether two edits overlap or meet; equal ones are one edit."""
    if one == other:
        return False
    return one.location <= other.end_location and other.location <= one.end_location


def _line_end(text: str) -> str:
    """Return the most frequent line end of a text."""
    ends = _END.findall(text)
    return max(dict.fromkeys(ends), key=ends.count) if ends else "\n"
