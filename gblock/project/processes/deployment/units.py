"""Files of sections and settings: systemd, supervisor, circus and uWSGI."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import NamedTuple

from gblock.project.processes.deployment.command import (
    Command,
    Fact,
    Note,
    UnreadableError,
    commands_of,
)
from gblock.project.processes.deployment.repository import NONE, Repository, Values
from gblock.project.processes.deployment.shell import Script

EXAMPLE = ("supervisord.conf", "[program:web]\ncommand = gunicorn -k gevent shop.wsgi\n")
_SECTION = re.compile(r"\[([^\]]+)\][ \t]*(?:[#;].*)?")
_SETTING = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*[=:][ \t]*(.*)")
_BARE = re.compile(r"[A-Za-z_][\w.-]*")
_ELSE = re.compile(r"\{%-?[ \t]*(?:else|elif[^%]*)[ \t]*-?%\}")
_TAG = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_VALUE = re.compile(r"\{\{-?[ \t]*(?:(\w+)[ \t]*(?:\|[^}]*)?\}\}|.*?\}\})", re.DOTALL)
_IF_DEFINED = re.compile(
    r"\{%-?[ \t]*if[ \t]+(\w+)[ \t]+is[ \t]+(not[ \t]+)?defined[ \t]*-?%\}"
    r"((?:(?!\{%).)*)(?:\{%-?[ \t]*else[ \t]*-?%\}((?:(?!\{%).)*))?\{%-?[ \t]*endif[ \t]*-?%\}",
    re.DOTALL,
)
_EXPANSION = re.compile(r"%\((?:ENV_)?(\w+)\)[sd]")
"""supervisor's variables."""
_COMMENT = re.compile(r"[ \t];[^\n]*")
_ALTERNATIVE = "\0"
_DAEMONS = ("attach-daemon", "attach-daemon2", "smart-attach-daemon", "smart-attach-daemon2")
_OWN = re.compile(r"%\((\w[\w-]*)\)")
"""uWSGI's placeholders."""


class UnitSetting(NamedTuple):
    """One setting, its continuation lines joined."""

    key: str
    value: str
    row: int


class Section(NamedTuple):
    """One section."""

    name: str
    row: int
    settings: list[UnitSetting]

    def get(self, key: str) -> str:
        """Return the last value of a key, an empty string if it is not set."""
        return next((s.value for s in reversed(self.settings) if s.key == key), "")

    def all(self, key: str) -> list[UnitSetting]:
        """Return every setting of a key."""
        return [setting for setting in self.settings if setting.key == key]


def read(text: str, filename: str, repository: Repository = NONE) -> list[Fact]:
    """Return the commands of a unit, of supervisor's or circus' programs, or of uWSGI.

    Args:
        text: The file.
        filename: Its name.
        repository: Reads environment files.

    Raises:
        UnreadableError: for a line that is no section, no setting and no continuation.
    """
    found: list[Fact] = []
    is_template = "{%" in text or "{{" in text
    for section in sections(text, repository.inventory() if is_template else {}):
        kind, _, name = section.name.partition(":")
        if kind == "Service":
            found += _service(section, filename, repository)
        elif kind in ("program", "eventlistener", "fcgi-program"):
            found += _program(section, filename, name)
        elif kind == "watcher":
            found += _watcher(section, filename, name)
        elif kind == "uwsgi":
            found += uwsgi(section, filename)
    return found


def sections(text: str, values: Values = MappingProxyType({})) -> list[Section]:
    """Return the sections of a file.

    Args:
        text: The file.
        values: The variables of a template; none if they are not known.

    Raises:
        UnreadableError: for a line that is no section, no setting and no continuation.
    """
    template = "{%" in text or "{{" in text
    if template:
        text = _IF_DEFINED.sub(lambda match: _chosen(match, values), text) if values else text
        text = _kept_rows(_TAG, _ELSE.sub(_ALTERNATIVE, text))
        text = _VALUE.sub(lambda match: _value(match, values), text)
    found: list[Section] = []
    continued = False
    for row, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        match = _SECTION.fullmatch(stripped)
        if match is not None and not continued:
            found.append(Section(match[1].strip(), row, []))
            continue
        settings = found[-1].settings if found else []
        setting = None if continued else _SETTING.fullmatch(stripped)
        indented = line[0] in " \t" or continued or (template and setting is None)
        # uWSGI strips each line: there an indented setting continues nothing.
        is_deeper = line[0] in " \t" and found[-1:] != [] and found[-1].name != "uwsgi"
        if indented and settings and (setting is None or is_deeper):
            last = settings[-1]
            joined = f"{last.value.removesuffix(_BACKSLASH)}\n{stripped}"
            settings[-1] = last._replace(value=joined)
        elif setting is not None and found:
            settings.append(UnitSetting(setting[1], setting[2], row))
        elif found and _BARE.fullmatch(stripped):
            settings.append(UnitSetting(stripped, "true", row))
        elif not template:
            raise UnreadableError("neither a section nor a setting", row)
        continued = stripped.endswith("\\")
    return found


_BACKSLASH = "\\"


def _chosen(match: re.Match[str], values: Values) -> str:
    """Return the part of ``{% if name is defined %}`` that a template keeps."""
    is_kept = (match[1] in values) is not bool(match[2])
    kept, left = (match[3], match[4] or "") if is_kept else (match[4] or "", match[3])
    return kept + "\n" * left.count("\n")


def _value(match: re.Match[str], values: Values) -> str:
    """Return a variable's value, or a variable of the shell where it is not known."""
    found = values.get(match[1]) if match[1] is not None else None
    known = isinstance(found, str | int) and "{" not in str(found) and "\n" not in str(found)
    return str(found) if known else "$x"


def _kept_rows(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def _commands(
    value: str, filename: str, row: int, label: str, environment: dict[str, str], directory: str
) -> list[Command | Note]:
    found: list[Command | Note] = []
    value = _EXPANSION.sub(r"$\1", value)
    for alternative in value.split(_ALTERNATIVE):
        script = Script(" ".join(alternative.split("\n")), environment)
        found += commands_of(script, filename, row, label, working=directory)
    return found


def _service(section: Section, filename: str, repository: Repository) -> list[Command | Note]:
    environment: dict[str, str] = {}
    for setting in section.all("EnvironmentFile"):
        environment.update(repository.environment(setting.value.removeprefix("-"), filename))
    for setting in section.all("Environment"):
        for simple in Script(f"env {setting.value}").commands():
            environment.update(word.partition("=")[::2] for word in simple.words[1:] if "=" in word)
    found: list[Command | Note] = []
    for setting in section.all("ExecStart"):
        value = setting.value.lstrip("@-:+!")
        where = section.get("WorkingDirectory").lstrip("-~")
        found += _commands(value, filename, setting.row, "", environment, where)
    return found


def _program(section: Section, filename: str, name: str) -> list[Command | Note]:
    environment: dict[str, str] = {}
    for part in section.get("environment").replace("\n", ",").split(","):
        key, equals, value = part.strip().partition("=")
        if equals:
            environment[key] = value.strip("\"'")
    found: list[Command | Note] = []
    for setting in section.all("command"):
        value = _COMMENT.sub("", setting.value)
        where = section.get("directory")
        found += _commands(value, filename, setting.row, name, environment, where)
    return found


def _watcher(section: Section, filename: str, name: str) -> list[Command | Note]:
    found: list[Command | Note] = []
    for setting in section.all("cmd"):
        value = f"{setting.value} {section.get('args')}"
        where = section.get("working_dir")
        found += _commands(value, filename, setting.row, name, {}, where)
    return found


def uwsgi(section: Section, filename: str) -> list[Command]:
    """Return a uWSGI server's settings as an equivalent command, and attached commands."""
    words = ["uwsgi"]
    options = []
    attached: list[Command] = []
    for key, written, row in section.settings:
        value = _OWN.sub(lambda match: section.get(match[1]) or match[0], written)
        words.append(f"--{key}" if value.lower() in ("true", "") else f"--{key}={value}")
        options.append((key, value, row))
        if key in _DAEMONS:
            attached += _attached(key, value, filename, row)
    server = Command(tuple(words), filename, section.row, options=tuple(options))
    return [server, *attached]


def _attached(key: str, value: str, filename: str, row: int) -> list[Command]:
    """Return the daemon that uWSGI starts as its child."""
    if key.startswith("smart"):
        value = value.partition(" ")[2]  # the pid file comes first
    elif key.endswith("2"):
        pairs = dict(part.partition("=")[::2] for part in value.split(","))
        value = pairs.get("cmd") or pairs.get("exec") or ""
    return [Command.of(simple, filename, row) for simple in Script(value).commands()]
