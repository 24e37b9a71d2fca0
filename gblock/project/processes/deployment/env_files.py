"""Environment files: ``NAME=value`` on each line, as compose, systemd and dotenv read them."""

from __future__ import annotations

import re

_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(.*)")
_COMMENT = re.compile(r"[ \t]#.*")
STAND_INS = ("", ".example", ".sample", ".template", ".dist", ".default", ".tmpl")
"""Suffixes of example files, which replace missing private environment files."""


def read(text: str) -> dict[str, str]:
    """Return the variables that a file sets; other lines are skipped."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            found[match[1]] = _unquoted(match[2])
    return found


def _unquoted(value: str) -> str:
    quote = value[:1]
    if quote in ("'", '"'):
        end = value.find(quote, 1)
        return value[1:end] if end > 0 else value[1:]
    return _COMMENT.sub("", value).strip()
