"""Places in a file's bytes: columns in characters, excerpts on one line, the main guard."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAIN_GUARD = re.compile(
    rb"""^if[\s(]+(?:__name__[ \t]*(?:==|\bin\b)[ \t]*[(\[{]?[ \t]*["']__main__["']"""
    rb"""|["']__main__["'][ \t]*==[ \t]*__name__)""",
    re.MULTILINE,
)
"""The line that limits its block to the module that is started."""
_TRIPLE = re.compile(rb"""\"{3}|'{3}""")
_LEXEMES = re.compile(
    rb"#[^\n]*"
    rb'|"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"'
    rb"|'''(?:[^'\\]|\\.|'(?!''))*'''|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
"""Comments and strings, of which one may contain what looks like the other."""
_PROSE = (b"#", b'"""', b"'''")
"""The beginnings of comments and docstrings."""
_BEFORE_PROSE = b" \tbBfFrRuU"
"""Indentation, and the letters before the quotes of a string."""
SHORT = 60
"""The longest excerpt of code in a message, in characters."""


def column(line: bytes, offset: int) -> int:
    """Return the column, in characters from 1, of an offset in bytes from 0."""
    return len(line[:offset].decode(errors="replace")) + 1


def row_is_main_guard(data: bytes, row: int) -> bool:
    """Return whether a row, from 1, of a file is ``if __name__ == "__main__"``."""
    lines = data.splitlines()
    return row <= len(lines) and MAIN_GUARD.match(lines[row - 1]) is not None


def statements(pattern: re.Pattern[bytes], data: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the matches of a pattern for statements, without those inside of a string's rows.

    Args:
        pattern: The pattern; it matches at the beginning of a row.
        data: The file's bytes.
    """
    quoted: frozenset[int] | None = None
    for match in pattern.finditer(data):
        if quoted is None:
            quoted = _continuing(data) if _TRIPLE.search(data) else frozenset()
        if not quoted or data.count(b"\n", 0, match.start()) + 1 not in quoted:
            yield match


def without_prose(data: bytes) -> bytes:
    """Return a file's bytes without docstrings, and without comments on lines of their own.

    Such a comment may hold code that was taken out.
    """
    return _LEXEMES.sub(_code_of, data)


def _code_of(lexeme: re.Match[bytes]) -> bytes:
    """Return a comment or a string; nothing for a comment or a long string that begins a line."""
    text, data = lexeme[0], lexeme.string
    if not text.startswith(_PROSE):
        return text
    before = data[data.rfind(b"\n", 0, lexeme.start()) + 1 : lexeme.start()]
    return text if before.strip(_BEFORE_PROSE) else b""


def _continuing(data: bytes) -> frozenset[int]:
    """Return the rows, from 1, that begin inside of a string."""
    found: set[int] = set()
    row, at = 1, 0
    for match in _LEXEMES.finditer(data):
        inner = match[0].count(b"\n")
        if inner:
            row += data.count(b"\n", at, match.start())
            found.update(range(row + 1, row + inner + 1))
            row, at = row + inner, match.end()
    return frozenset(found)


def excerpt(data: bytes, row: int, start: int, end_row: int, end: int, longest: int = SHORT) -> str:
    """Return a piece of code on one line, shortened.

    Args:
        data: The file's bytes.
        row: The first row, from 1.
        start: The offset in bytes on the first row.
        end_row: The last row.
        end: The offset in bytes on the last row, exclusive; 0 for the end of the row.
        longest: The number of characters to which it is shortened.
    """
    lines = data.splitlines()[row - 1 : end_row]
    if not lines:
        return ""
    lines[-1] = lines[-1][:end] if end else lines[-1]
    lines[0] = lines[0][start:]
    return shortened(" ".join(line.decode(errors="replace").strip() for line in lines), longest)


def shortened(text: str, longest: int = SHORT) -> str:
    """Return at most `longest` characters of a text; an ellipsis replaces the rest."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
