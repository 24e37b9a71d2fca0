"""Procfiles: ``name: command`` on each line."""

from __future__ import annotations

import re

from gblock.project.processes.deployment.command import Command
from gblock.project.processes.deployment.shell import Script

_LINE = re.compile(r"([\w.-]+)[ \t]*:[ \t]*(\S.*)")


def read(text: str, filename: str) -> list[Command]:
    """The commands of a Procfile."""
    found = []
    for row, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            for simple in Script(match[2]).commands():
                found.append(Command.of(simple, filename, row, match[1]))
    return found
