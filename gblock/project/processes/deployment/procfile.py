"""Procfiles: ``name: command`` on each line."""

from __future__ import annotations

import re

from gblock.project.processes.deployment.command import Fact, commands_of
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.shell import Script

EXAMPLE = ("Procfile", "web: gunicorn -k gevent shop.wsgi\n")
_LINE = re.compile(r"([\w.-]+)[ \t]*:[ \t]*(\S.*)")


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the commands of a Procfile."""
    found: list[Fact] = []
    for row, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            found += commands_of(Script(match[2]), filename, row, match[1])
    return found
