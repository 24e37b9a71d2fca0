"""Functions of shell scripts: their names and bodies, found without parsing the script."""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD = re.compile(
    r"^[ \t]*(?:function[ \t]+([\w.:-]+)[ \t]*(?:\(\s*\))?|([\w.:-]+)[ \t]*\(\s*\))\s*\{",
    re.MULTILINE,
)


class Function(NamedTuple):
    """One function."""

    body: str
    head: int
    """The row of its name."""
    first: int
    """The row of the body's first line."""
    last: int


def functions(text: str) -> dict[str, Function]:
    """Return the functions of a script by name; of several with one name the last.

    Args:
        text: The script.
    """
    found: dict[str, Function] = {}
    for match in _HEAD.finditer(text) if "()" in text or "function" in text else ():
        end = closing(text, match.end() - 1, "{", "}")
        first = text.count("\n", 0, match.end()) + 1
        body = text[match.end() : end]
        found[match[1] or match[2]] = Function(
            body, text.count("\n", 0, match.start()) + 1, first, first + body.count("\n")
        )
    return found


def closing(text: str, place: int, opening: str, ending: str) -> int:
    """Return the place of the closing bracket; the end of the text if there is none."""
    depth = 0
    for index in range(place, len(text)):
        if text[index] == opening:
            depth += 1
        elif text[index] == ending:
            depth -= 1
            if depth == 0:
                return index
    return len(text)
