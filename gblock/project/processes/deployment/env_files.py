"""Environment files: ``NAME=value`` on each line, as compose, systemd and dotenv read them."""

from __future__ import annotations

import re

_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(.*)")
_COMMENT = re.compile(r"[ \t]#.*")
STAND_INS = ("", ".example", ".sample", ".template", ".dist", ".default", ".tmpl")
"""Endings of what a repository holds in place of an environment file that it keeps private."""


def read(text: str) -> dict[str, str]:
    """The variables that a file sets; a line that sets none is skipped."""
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
