"""Dockerfiles: the commands that an image starts."""

from __future__ import annotations

import json
import posixpath
import re
from typing import NamedTuple

from gblock.project.processes.deployment.command import UNCLOSED, Command, Fact, Note
from gblock.project.processes.deployment.repository import NONE, Repository, Stage
from gblock.project.processes.deployment.shell import Script

EXAMPLE = (
    "Dockerfile",
    'FROM python:3.12\nCMD ["gunicorn", "-k", "gevent", "shop.wsgi"]\n',
)
_INSTRUCTION = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+(.*)", re.DOTALL)
_STARTS = ("FROM", "ENTRYPOINT", "CMD", "ENV", "ARG", "WORKDIR")
_HEREDOC = re.compile(r"<<-?[ \t]*['\"]?(\w+)['\"]?")


class Line(NamedTuple):
    """One instruction, with its continuation lines."""

    name: str
    text: str
    row: int


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the commands of all stages that start something, and notes on what is no JSON."""
    notes = [
        Note(filename, f"{line.name} looks like a list but is not JSON: a shell runs it", line.row)
        for line in lines(text)
        if line.name in ("CMD", "ENTRYPOINT") and _is_broken(line.text)
    ]
    unclosed = [
        Note(filename, UNCLOSED, line.row)
        for line in lines(text)
        if line.name in ("CMD", "ENTRYPOINT") and _is_unclosed(line.text)
    ]
    return [*notes, *unclosed, *_commands(text, filename)]


def _commands(text: str, filename: str) -> list[Command]:
    return [
        Command(
            image.started(),
            filename,
            image.row,
            image.stage,
            tuple(image.environment.items()),
            working=image.directory,
        )
        for image in images(text)
        if image.entrypoint or image.command
    ]


def images(text: str) -> list[Stage]:
    """Return the image of each stage; a stage inherits the commands of its base."""
    stages: dict[str, Stage] = {}
    found: list[Stage] = []
    now = Stage((), (), {}, 1, "")
    arguments: dict[str, str] = {}
    for line in lines(text):
        if line.name == "FROM":
            words = line.text.split()
            names = [word for word in words if not word.startswith("--")]
            base = stages.get(names[0].lower()) if names else None
            stage = names[2] if len(names) > 2 and names[1].lower() == "as" else ""
            if base is not None:
                now = base._replace(stage=stage, environment=dict(base.environment))
            else:
                now = Stage((), (), {}, line.row, stage)
            found.append(now)
        elif line.name in ("ENV", "ARG"):
            values = _pairs(line.text, {**arguments, **now.environment})
            (now.environment if line.name == "ENV" else arguments).update(values)
        elif line.name == "WORKDIR":
            where = Script("", {**arguments, **now.environment}).expanded(line.text.strip("\"'"))
            now = now._replace(directory=posixpath.join(now.directory, where))
        else:
            words_ = _exec_form(line.text)
            if line.name == "ENTRYPOINT":
                now = now._replace(entrypoint=words_, command=(), row=line.row)
            else:
                now = now._replace(command=words_, row=line.row if not now.entrypoint else now.row)
        if not found:
            found.append(now)
        found[-1] = now
        if now.stage:
            stages[now.stage.lower()] = now
    # A stage that only inherits its commands adds nothing.
    kept: dict[tuple[object, ...], Stage] = {}
    for image in found:
        kept[image.entrypoint, image.command, image.row] = image
    return list(kept.values())


def lines(text: str) -> list[Line]:
    """Return the relevant instructions, lines joined, without comments and heredocs."""
    found: list[Line] = []
    rows = text.splitlines()
    index = 0
    while index < len(rows):
        first, line = index + 1, rows[index]
        index += 1
        if line.lstrip().startswith("#") or not line.strip():
            continue
        while line.rstrip().endswith(("\\", "`")) and index < len(rows):
            following = rows[index]
            index += 1
            if following.lstrip().startswith("#") or not following.strip():
                continue
            line = line.rstrip()[:-1] + " " + following
        match = _INSTRUCTION.fullmatch(line)
        if match is None:
            continue
        for delimiter in _HEREDOC.findall(line) if match[1].upper() in ("RUN", "COPY") else ():
            while index < len(rows) and rows[index].strip() != delimiter:
                index += 1
            index += 1
        if match[1].upper() in _STARTS:
            found.append(Line(match[1].upper(), match[2].strip(), first))
    return found


def _is_broken(text: str) -> bool:
    """Return whether a text is meant as a JSON list and is none; ``[`` is also a command."""
    return text.startswith("[") and not text.startswith(("[ ", "[[")) and not _is_list(text)


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _is_unclosed(text: str) -> bool:
    if text.startswith("["):
        return False
    script = Script(text)
    script.commands()
    return script.broken is not None


def _exec_form(text: str) -> tuple[str, ...]:
    """Return the words of ``["a", "b"]``, or of anything else as the shell splits it."""
    if text.startswith("["):
        try:
            words = json.loads(text)
        except (ValueError, RecursionError):
            words = None
        if isinstance(words, list):
            return tuple(str(word) for word in words)
    return ("sh", "-c", text)


def _pairs(text: str, environment: dict[str, str]) -> dict[str, str]:
    """Return the variables of ``A=b C=d``, or ``A b``."""
    script = Script("export " + text.replace("\n", " "), environment)
    script.commands()
    if "=" in text.split(" ", 1)[0]:
        return {name: script.variables[name] for name in script.exported & set(script.variables)}
    name, _, value = text.partition(" ")
    return {name: value.strip()} if value else {}
