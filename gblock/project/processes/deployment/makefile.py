"""Makefiles and justfiles: the recipes, with the file's own variables expanded."""

from __future__ import annotations

import re

from gblock.project.processes.deployment.command import Fact, commands_of
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.shell import Script

EXAMPLE = ("Makefile", "serve:\n\tgunicorn -k gevent shop.wsgi\n")
_VARIABLE = re.compile(
    r"(?:(?:export|override)[ \t]+)*([A-Za-z_]\w*)[ \t]*(\?|\+|:{1,3}|!)?=[ \t]*(.*)"
)
_DEFINED = re.compile(r"(?:(?:export|override)[ \t]+)*define[ \t]+(\w+)")
_TARGET = re.compile(r"([^\s:=#][^:=#]*?)[ \t]*::?(?!=)[ \t]*(.*)", re.DOTALL)
_USED = re.compile(r"\$[({](\w+)[)}]")
_STEM = re.compile(r"\$(?:\*|[({]\*[)}])")
_DEEP = 5
_LONGEST = 10_000
"""Characters: a longer expansion is no command."""


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the commands of all recipes."""
    variables: dict[str, str] = {}
    found: list[Fact] = []
    just = filename.lower().endswith("justfile")
    for row, recipe, target in _recipes(text, just, variables):
        filled = _interpolated(recipe, variables) if just else _filled(recipe, variables)
        for line in filled.split("\n"):
            found += commands_of(Script(line.strip().lstrip("@-+")), filename, row, target)
    return found


def _interpolated(recipe: str, variables: dict[str, str]) -> str:
    """Return a line of a justfile with the values of ``{{name}}``."""

    def value(match: re.Match[str]) -> str:
        return variables.get(match[1], f"${match[1]}").strip("\"'")

    return re.sub(r"\{\{[ \t]*([\w-]+)[ \t]*\}\}", value, recipe)


def _recipes(text: str, just: bool, variables: dict[str, str]) -> list[tuple[int, str, str]]:
    """Return the lines of all recipes, each with its row and target, and store the variables."""
    found: list[tuple[int, str, str]] = []
    lines = text.splitlines()
    indentation = ("\t", " ") if just else "\t"
    target, defined, index = "", "", 0
    while index < len(lines):
        row, line = index + 1, lines[index]
        while line.endswith("\\") and index + 1 < len(lines):
            index += 1
            line = line[:-1] + " " + lines[index].strip()
        index += 1
        stripped = line.strip()
        if defined:
            if stripped == "endef":
                defined = ""
            else:
                variables[defined] = f"{variables[defined]}\n{line}".strip()
            continue
        if line.startswith(indentation):
            found.append((row, stripped, target))
            continue
        definition = _DEFINED.match(stripped)
        if definition is not None:
            defined = definition[1]
            variables[defined] = ""
            continue
        if _assign(stripped, variables):
            continue
        match = _TARGET.match(line)
        if match is None:
            continue
        target = match[1]
        # ``target: NAME = value`` sets a variable for one target, ``target: ; command`` runs one.
        if not just and not _assign(match[2], variables):
            _, semicolon, command = match[2].partition(";")
            if semicolon:
                found.append((row, command.strip(), target))
    return found


def _assign(line: str, variables: dict[str, str]) -> bool:
    """Store the variable that a line sets, if any."""
    match = _VARIABLE.fullmatch(line)
    if match is None:
        return False
    name, operator, value = match[1], match[2], match[3]
    if operator == "+" and variables.get(name):
        value = f"{variables[name]} {value}"
    if operator != "?" or name not in variables:
        variables[name] = value[:_LONGEST]
    return True


_UNKNOWN = "\0"
"""Placeholder for the dollar of a variable that the file does not set."""


def _filled(text: str, variables: dict[str, str]) -> str:
    """Return a recipe as the shell receives it."""
    text = _STEM.sub(_UNKNOWN + "{STEM}", text)
    for _ in range(_DEEP):
        filled = _USED.sub(lambda match: variables.get(match[1], f"{_UNKNOWN}{{{match[1]}}}"), text)
        if filled == text or len(filled) > _LONGEST:
            break
        text = filled
    return text.replace("$$", "$").replace(_UNKNOWN, "$")
