"""Syntax of a newer Python than the one that runs, in older syntax of the same width.

``ast`` understands the grammar of its own interpreter alone. What a file says keeps its place, but
for what follows an ``except`` with several types on its row.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HEADER = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*\[", re.MULTILINE)
_TYPE = re.compile(r"^[ \t]*(type[ \t]+)(\w+)[ \t]*(\[|=(?!=))", re.MULTILINE)
_TYPES = re.compile(
    r"^([ \t]*except)[ \t]([ \t]*\w[\w.]*(?:[ \t]*,[ \t]*\w[\w.]*)+)(?=[ \t]*:)", re.MULTILINE
)
_GROUP = re.compile(r"^([ \t]*except[ \t]*)\*", re.MULTILINE)
_START = r"""(?<!\w)([A-Za-z]{0,2})("{3}|'{3}|"|')"""
_TOKEN = re.compile(rf"#[^\n]*|{_START}")
_INSIDE = re.compile(rf"#[^\n]*|[\[\](){{}}]|{_START}")
_LITERAL = re.compile(r"""\\.|\{\{|\{|\n|"{3}|'{3}|"|'""", re.DOTALL)
_DEEPEST = 4
"""The number of f-strings in one another that are read."""
_LONGEST = 4_000
"""Characters: longer contents of brackets are not read."""


class Replacement(NamedTuple):
    """A replacement of a part of a text."""

    start: int
    end: int
    text: str


def older(text: str) -> str:
    """Return a file's text for an older Python; the same text where nothing in it is newer.

    Type parameters are left out (Python 3.12), a ``type`` statement is an assignment (3.12), texts
    in an f-string have other quotes (3.12), a template is an f-string (3.14), several types of an
    ``except`` get parentheses (3.14), and ``except*`` is ``except`` (3.11).
    """
    text = edited(text, _texts(text))
    text = edited(text, [*_parameters(text), *_aliases(text)])
    return _TYPES.sub(r"\1(\2)", _GROUP.sub(r"\1 ", text))


def literals(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each string and comment of a file, and a string's prefix."""
    position = 0
    while (match := _TOKEN.search(text, position)) is not None:
        position = match.end()
        if match[2] is not None:
            position = _end(text, position, match[2]) or position
        yield match.start(), position, match[1] or ""


def edited(text: str, edits: list[Replacement]) -> str:
    """Return a text with some edits, which do not overlap."""
    pieces, end = [], 0
    for edit in sorted(edits):
        pieces += [text[end : edit.start], edit.text]
        end = edit.end
    return "".join([*pieces, text[end:]])


# -- type parameters


def _parameters(text: str) -> list[Replacement]:
    """Return the edits that leave out the parameters of generic functions and classes."""
    return [
        Replacement(match.end() - 1, end, _blank(text[match.end() - 1 : end]))
        for match in _HEADER.finditer(text)
        if (end := _closed(text, match.end(), ())) is not None
    ]


def _aliases(text: str) -> list[Replacement]:
    """Return the edits that make assignments of ``type`` statements."""
    found = []
    for match in _TYPE.finditer(text):
        sign = match.start(3)
        if match[3] == "[":
            end = _closed(text, match.end(), ())
            sign = text.find("=", end) if end is not None else -1
        if sign >= 0 and "\n" not in text[match.start(1) : sign]:
            width = sign - match.start(1)
            found.append(Replacement(match.start(1), sign, match[2].ljust(width)))
    return found


def _blank(text: str) -> str:
    """Return as much blank space; a backslash continues each row."""
    rows = text.split("\n")
    return "\\\n".join([" " * max(len(row) - 1, 0) for row in rows[:-1]] + [" " * len(rows[-1])])


# -- texts


def _texts(text: str) -> list[Replacement]:
    """Return the edits of f-strings and templates."""
    edits: list[Replacement] = []
    position = 0
    while (match := _TOKEN.search(text, position)) is not None:
        position = match.end()
        if match[2] is None:
            continue
        if _is_formatted(match[1]):
            found: list[Replacement] = []
            end = _formatted(text, position, match[2], (match[2],), found)
            if end is not None:
                edits += [*found, *_as_formatted(match)]
                position = end
                continue
        position = _end(text, position, match[2]) or position
    return edits


def _is_formatted(prefix: str) -> bool:
    return not {"f", "t"}.isdisjoint(prefix.lower())


def _as_formatted(match: re.Match[str]) -> list[Replacement]:
    """Return the edit that makes an f-string of a template."""
    prefix = match[1].replace("t", "f").replace("T", "F")
    return [Replacement(match.start(1), match.end(1), prefix)] if prefix != match[1] else []


def _formatted(
    text: str, start: int, quote: str, quotes: tuple[str, ...], edits: list[Replacement]
) -> int | None:
    """Return the end of an f-string, None if it has none, and add the edits for what is in it.

    Args:
        text: The file.
        start: The position after its quotes.
        quote: Its quotes, as they are written.
        quotes: The quotes that the f-strings around get, and those that it gets.
        edits: Receives the edits.
    """
    return _end(text, start, quote, lambda opened: _closed(text, opened, quotes, edits))


def _closed(
    text: str, start: int, quotes: tuple[str, ...], edits: list[Replacement] | None = None
) -> int | None:
    """Return the position after the bracket that closes an open one, None if there is none.

    Args:
        text: The file.
        start: The position after the opening bracket.
        quotes: The quotes that the f-strings around get.
        edits: Receives the edits for the texts in an f-string.
    """
    depth, position = 1, start
    while (match := _INSIDE.search(text, position, start + _LONGEST)) is not None:
        position = match.end()
        if match[2] is None:
            if match[0] in "([{":
                depth += 1
            elif match[0] in ")]}":
                depth -= 1
            if not depth:
                return position
            continue
        end = _text(text, match, quotes, edits if edits is not None else [])
        if end is None:
            return None
        position = end
    return None


def _text(
    text: str, match: re.Match[str], quotes: tuple[str, ...], edits: list[Replacement]
) -> int | None:
    """Return the end of a text in brackets, None if it has none, and add its edits."""
    quote, start = match[2], match.end()
    own = _free(quote, quotes)
    if _is_formatted(match[1]):
        if own is None or len(quotes) >= _DEEPEST:
            return None
        end = _formatted(text, start, quote, (*quotes, own), edits)
        edits += _as_formatted(match)
    else:
        end = _end(text, start, quote)
    if end is None:
        return None
    last = end - len(quote)
    if own is None:  # a number, where no quotes are left
        edits.append(Replacement(match.start(), end, "0" * (end - match.start())))
        return end
    if own != quote:
        edits += [Replacement(match.start(2), start, own), Replacement(last, end, own)]
    between = text[start:last]
    if quotes and not _is_formatted(match[1]):
        plain = re.sub(r"""[\\"']""", "x", between)
        edits += [Replacement(start, last, plain)] if plain != between else []
    return end


def _free(quote: str, quotes: tuple[str, ...]) -> str | None:
    """Return quotes of the same length that may be in f-strings with some quotes."""
    for sign in dict.fromkeys((quote[0], '"', "'")):
        own = sign * len(quote)
        if not any(one in own for one in quotes):
            return own
    return None


def _end(
    text: str, start: int, quote: str, closed: Callable[[int], int | None] | None = None
) -> int | None:
    """Return the position after the closing quotes of a text, None if it has none.

    Args:
        text: The file.
        start: The position after the opening quotes.
        quote: The quotes.
        closed: For an f-string: returns the position after an expression, which begins after a
            brace, None if it has no end.
    """
    position: int | None = start
    while position is not None and (match := _LITERAL.search(text, position)) is not None:
        position = match.end()
        if match[0].startswith(quote):
            return match.start() + len(quote)
        if match[0] == "\n" and len(quote) == 1:
            return None
        if match[0] == "{" and closed is not None:
            position = closed(position)
    return None
