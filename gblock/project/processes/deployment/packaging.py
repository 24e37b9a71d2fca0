"""Programs that the project's installation puts on the path: scripts and copied files."""

from __future__ import annotations

import os
import re
from typing import Any

import tomli

from gblock.project.processes.deployment.command import (
    Command,
    EntryPoint,
    Fact,
    Note,
    UnreadableError,
    commands_of,
)
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.shell import Script
from gblock.project.processes.deployment.units import sections, uwsgi

EXAMPLE = (
    "pyproject.toml",
    '[tool.pdm.scripts]\nserve = "gunicorn -k gevent shop.wsgi"\n',
)
_POINT = re.compile(r"([\w.-]+)\s*=\s*([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_][\w.]*)")
_PLUGIN = re.compile(r"([\w.-]+)[ \t]*=[ \t]*([A-Za-z_][\w.]*)[ \t]*(?::[ \t]*[A-Za-z_][\w.]*)?")
_GROUP = re.compile(
    r"""["']([\w.-]+)["'][ \t]*:[ \t]*(?=[\[("'])|^[ \t]*\[([\w.-]+)\][ \t]*$"""
    r"""|^([\w.-]+)[ \t]*=[ \t]*$""",
    re.MULTILINE,
)
"""The start of an entry point group: in a dictionary, in a sectioned text, in setup.cfg."""
_SCRIPTS = re.compile(r"\bscripts\s*=\s*\[([^\]]*)\]")
_QUOTED = re.compile(r"""["']([^"'\n]+)["']""")
_SECTION = re.compile(r"^\[([^\]]+)\]", re.MULTILINE)
_UWSGI = re.compile(r"^\[uwsgi\]", re.MULTILINE)


def read(text: str, filename: str, _repository: Repository = NONE) -> list[Fact]:
    """Return the entry points that a project declares, and the commands of its tools.

    Raises:
        UnreadableError: if a file with a TOML name is not TOML.
    """
    if filename.endswith((".py", ".cfg")):
        points = [*points_of_setup(text, filename), *_plugins_of_setup(text, filename)]
        if filename.endswith(".py"):
            return list(points)
        return [*points, *_broken_sections(text, filename), *_uwsgi_section(text, filename)]
    points, commands = read_toml(text, filename)
    return [*points, *commands]


def _broken_sections(text: str, filename: str) -> list[Note]:
    return [
        Note(filename, "a section is not closed", row)
        for row, line in enumerate(text.splitlines(), 1)
        if line.startswith("[") and "]" not in line
    ]


def _uwsgi_section(text: str, filename: str) -> list[Command]:
    """Return the server that uWSGI's section of ``setup.cfg`` starts.

    Raises:
        UnreadableError: for a line of this section that is no setting.
    """
    start = _UWSGI.search(text)
    if start is None:
        return []
    end = _SECTION.search(text, start.end())
    above = "\n" * text.count("\n", 0, start.start())
    (section,) = sections(above + text[start.start() : end.start() if end else len(text)])
    return uwsgi(section, filename)


def points_of_setup(text: str, filename: str) -> list[EntryPoint]:
    """Return the entry points that ``setup.py`` or ``setup.cfg`` declares, from the text."""
    found = []
    for group in ("console_scripts", "gui_scripts"):
        start = text.find(group)
        if start < 0:
            continue
        end = _end_of_group(text, start)
        for match in _POINT.finditer(text, start, end):
            row = text.count("\n", 0, match.start()) + 1
            point = EntryPoint(match[1], match[2], "", filename, row, function=match[3])
            found.append(point)
    directory = os.path.dirname(filename)
    for match in _SCRIPTS.finditer(text):
        for quoted in _QUOTED.finditer(match[1]):
            row = text.count("\n", 0, match.start(1) + quoted.start()) + 1
            path = os.path.normpath(os.path.join(directory, quoted[1]))
            name = os.path.basename(path)
            found.append(EntryPoint(name, "", path, filename, row))
    return found


def _plugins_of_setup(text: str, filename: str) -> list[EntryPoint]:
    """Return the plug-ins that ``setup.py`` or ``setup.cfg`` declares, from the text."""
    start = text.find("entry_points")
    groups = list(_GROUP.finditer(text, start)) if start >= 0 else []
    found = []
    for number, group in enumerate(groups, 1):
        end = groups[number].start() if number < len(groups) else len(text)
        name = group[1] or group[2] or group[3]
        if name in ("console_scripts", "gui_scripts"):
            continue
        for match in _PLUGIN.finditer(text, group.end(), end):
            row = text.count("\n", 0, match.start()) + 1
            found.append(EntryPoint(match[1], match[2], "", filename, row, name))
    return found


def _end_of_group(text: str, start: int) -> int:
    """Return the end of an entry point group: a closing bracket, or the next section."""
    ends = [len(text)]
    for mark in ("]", '"""', "'''"):
        place = text.find(mark, start)
        if place >= 0 and text[start:place].count(mark) == 0:
            ends.append(_after_opening(text, start, place, mark))
    section = _SECTION.search(text, start)
    if section is not None:
        ends.append(section.start())
    following = next((one for one in _GROUP.finditer(text, start) if one[1] or one[2]), None)
    if following is not None:
        ends.append(following.start())
    return min(ends)


def _after_opening(text: str, start: int, place: int, mark: str) -> int:
    """Return the closing mark; of triple quotes the second, if the text starts before them."""
    if mark == "]":
        return place
    second = text.find(mark, place + 3)
    return second if second >= 0 and "=" not in text[start:place].partition("\n")[2] else place


def read_toml(text: str, filename: str) -> tuple[list[EntryPoint], list[Command | Note]]:
    """Return the entry points of ``pyproject.toml``, and the commands of tools in it.

    Raises:
        UnreadableError: if it is not TOML.
    """
    try:
        tables = tomli.loads(text)
    except (tomli.TOMLDecodeError, RecursionError) as error:
        message, _, place = str(error).partition(" (at line ")
        row = int(place.split(",")[0]) if place[:1].isdigit() else 0
        raise UnreadableError(f"cannot be read as TOML: {message}", row) from None
    points: list[EntryPoint] = []
    directory = os.path.dirname(filename)
    for keys in (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts")):
        for name, target in _table(tables, *keys).items():
            if isinstance(target, dict):
                target = target.get("callable") or target.get("reference")
            if isinstance(target, str) and target:
                module, _, function = (one.strip() for one in target.partition(":"))
                row = _row(text, name)
                points.append(EntryPoint(name, module, "", filename, row, function=function))
    for keys in (("project", "entry-points"), ("tool", "poetry", "plugins")):
        for group, declared in _table(tables, *keys).items():
            for name, target in declared.items() if isinstance(declared, dict) else ():
                module = str(target).partition(":")[0].strip()
                points.append(EntryPoint(name, module, "", filename, _row(text, name), group))
    files = _table(tables, "tool", "setuptools").get("script-files")
    for path in files if isinstance(files, list) else ():
        where = os.path.normpath(os.path.join(directory, str(path)))
        row = _row(text, str(path))
        points.append(EntryPoint(os.path.basename(where), "", where, filename, row))
    commands = _commands(tables, text, filename)
    load = _table(tables, "tool", "locust").get("locustfile")
    if isinstance(load, str):
        commands.append(Command(("locust", "-f", load), filename, _row(text, "locustfile")))
    return points, commands


def _commands(tables: dict[str, Any], text: str, filename: str) -> list[Command | Note]:
    """Return the commands of task runners and hosting platforms."""
    found: list[Command | Note] = []
    for keys in (
        ("tool", "pdm", "scripts"),
        ("tool", "poe", "tasks"),
        ("tool", "taskipy", "tasks"),
        ("tool", "rye", "scripts"),
        ("tool", "hatch", "scripts"),
        *_of_environments(tables),
        ("scripts",),
        ("processes",),
        ("deploy",),
        ("start",),
    ):
        for name, value in _table(tables, *keys).items():
            if isinstance(value, dict):
                value = value.get("cmd") or value.get("shell")
            if isinstance(value, str):
                found += commands_of(Script(value), filename, _row(text, name), name)
    return found


def _of_environments(tables: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the tables of scripts of Hatch's environments."""
    names = _table(tables, "tool", "hatch", "envs")
    return [("tool", "hatch", "envs", name, "scripts") for name in names]


def _table(tables: dict[str, Any], *keys: str) -> dict[str, Any]:
    now: Any = tables
    for key in keys:
        now = now.get(key) if isinstance(now, dict) else None
    return now if isinstance(now, dict) else {}


def _row(text: str, name: str) -> int:
    """Return the row of a key or a quoted text."""
    match = re.search(
        rf"""^[ \t]*["']?{re.escape(name)}["']?[ \t]*=|["']{re.escape(name)}["']""",
        text,
        re.MULTILINE,
    )
    return text.count("\n", 0, match.start()) + 1 if match else 1
