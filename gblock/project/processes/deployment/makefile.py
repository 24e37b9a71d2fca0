"""Makefiles and justfiles: the recipes, with the file's own variables put in."""

from __future__ import annotations

import re

from gblock.project.processes.deployment.command import Command, Fact
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.shell import Script

EXAMPLE = ("Makefile", "serve:\n\tgunicorn -k gevent shop.wsgi\n")
_VARIABLE = re.compile(r"(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*(?::|\?|\+|::)?=[ \t]*(.*)")
_TARGET = re.compile(r"([^\s:=#][^:=#]*?)[ \t]*::?(?!=)")
_USED = re.compile(r"\$[({](\w+)[)}]")
_DEEP = 5


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the commands of all recipes."""
    variables: dict[str, str] = {}
    target = ""
    found: list[Fact] = []
    lines = text.splitlines()
    indentation = ("\t", " ") if filename.lower().endswith("justfile") else "\t"
    index = 0
    while index < len(lines):
        row, line = index + 1, lines[index]
        while line.endswith("\\") and index + 1 < len(lines):
            index += 1
            line = line[:-1] + " " + lines[index].strip()
        index += 1
        if line.startswith(indentation):
            recipe = _filled(line.strip().lstrip("@-+"), variables).replace("$$", "$")
            for simple in Script(recipe).commands():
                found.append(Command.of(simple, filename, row, target))
            continue
        match = _VARIABLE.fullmatch(line.strip())
        if match is not None:
            variables[match[1]] = match[2]
            continue
        match = _TARGET.match(line)
        if match is not None:
            target = match[1]
    return found


def _filled(text: str, variables: dict[str, str]) -> str:
    for _ in range(_DEEP):
        filled = _USED.sub(lambda match: variables.get(match[1], f"$${{{match[1]}}}"), text)
        if filled == text or len(filled) > 10_000:
            break
        text = filled
    return text
