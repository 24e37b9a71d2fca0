"""Commands in a README, which count where nothing else of a repository starts a server."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from gblock.project.processes.deployment.command import Command
from gblock.project.processes.deployment.shell import Script
from gblock.project.reading.tree import Tree

_NAME = re.compile(r"readme(?:\.(?:md|rst|txt|markdown))?", re.IGNORECASE)
_MARKED = re.compile(r"^[^\n]*\b(?:gunicorn|celery|uwsgi)\b", re.MULTILINE)
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_PROMPT = re.compile(r"(?:[$>#%][ \t]+|\([\w.-]+\)[ \t]*\$?[ \t]*)+")
_SERVER = re.compile(r"(?:\S*/)?(?:gunicorn|celery|uwsgi)")


def commands(tree: Tree, text_of: Callable[[str], str | None]) -> list[Command]:
    """Return the commands of servers in code blocks of the READMEs.

    Args:
        tree: The repository's files.
        text_of: Returns the text of a file, None if it cannot be read.
    """
    return [
        command
        for path in tree.files
        if _NAME.fullmatch(os.path.basename(path))
        for command in _of(path, text_of(path) or "")
    ]


def _of(path: str, text: str) -> Iterator[Command]:
    """Yield the commands of servers in the code blocks of one text."""
    if not _MARKED.search(text):
        return
    for row, line in _code(text):
        for simple in Script(_PROMPT.sub("", line, count=1)).commands():
            if any(_SERVER.fullmatch(word) for word in simple.words[:4]):
                yield Command.of(simple, path, row, "README")


def _code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of fenced and of indented blocks with their rows, continued ones joined."""
    fenced, joined, first = False, "", 0
    for row, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if not (fenced or line.startswith(("    ", "\t"))):
            continue
        first = first if joined else row
        joined += line.strip()
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        yield first, joined
        joined = ""
