"""Files of sections and settings: systemd, supervisor, circus and uWSGI."""

from __future__ import annotations

import re
from typing import NamedTuple

from gblock.project.deployment.command import Command, UnreadableError
from gblock.project.deployment.shell import Script

_SECTION = re.compile(r"\[([^\]]+)\][ \t]*(?:[#;].*)?")
_SETTING = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*[=:][ \t]*(.*)")
_BARE = re.compile(r"[A-Za-z_][\w.-]*")
_ELSE = re.compile(r"\{%-?[ \t]*(?:else|elif[^%]*)[ \t]*-?%\}")
_TAG = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_EXPANSION = re.compile(r"%\((?:ENV_)?(\w+)\)[sd]")
"""supervisor's variables."""
_COMMENT = re.compile(r"[ \t];[^\n]*")
_ALTERNATIVE = "\0"


class Setting(NamedTuple):
    """One setting, its continuation lines joined."""

    key: str
    value: str
    row: int


class Section(NamedTuple):
    """One section."""

    name: str
    row: int
    settings: list[Setting]

    def get(self, key: str) -> str:
        """The last value of a key, an empty string where it is not set."""
        return next((s.value for s in reversed(self.settings) if s.key == key), "")

    def all(self, key: str) -> list[Setting]:
        """Every setting of a key."""
        return [setting for setting in self.settings if setting.key == key]


def read(text: str, filename: str) -> list[Command]:
    """The commands of a unit, a supervisor's or circus' programs, a uWSGI server's settings."""
    found: list[Command] = []
    for section in sections(text):
        kind, _, name = section.name.partition(":")
        if kind == "Service":
            found += _service(section, filename)
        elif kind in ("program", "eventlistener", "fcgi-program"):
            found += _program(section, filename, name)
        elif kind == "watcher":
            found += _watcher(section, filename, name)
        elif kind == "uwsgi":
            found.append(uwsgi(section, filename))
    return found


def sections(text: str) -> list[Section]:
    """The sections of a file.

    Raises:
        UnreadableError: for a line that is neither a section, a setting, nor the rest of one.
    """
    template = "{%" in text or "{{" in text
    if template:
        text = _VALUE.sub("$x", _kept_rows(_TAG, _ELSE.sub(_ALTERNATIVE, text)))
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
        if indented and settings and (setting is None or line[0] in " \t"):
            last = settings[-1]
            joined = f"{last.value.removesuffix(_BACKSLASH)}\n{stripped}"
            settings[-1] = last._replace(value=joined)
        elif setting is not None and found:
            settings.append(Setting(setting[1], setting[2], row))
        elif found and _BARE.fullmatch(stripped):
            settings.append(Setting(stripped, "true", row))
        elif not template:
            raise UnreadableError("neither a section nor a setting", row)
        continued = stripped.endswith("\\")
    return found


_BACKSLASH = "\\"


def _kept_rows(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def _commands(
    value: str, filename: str, row: int, label: str, environment: dict[str, str], directory: str
) -> list[Command]:
    found = []
    value = _EXPANSION.sub(r"$\1", value)
    for alternative in value.split(_ALTERNATIVE):
        for simple in Script(" ".join(alternative.split("\n")), environment).commands():
            found.append(Command(simple.words, filename, row, label, simple.environment, directory))
    return found


def _service(section: Section, filename: str) -> list[Command]:
    environment: dict[str, str] = {}
    for setting in section.all("Environment"):
        for simple in Script(f"env {setting.value}").commands():
            environment.update(word.partition("=")[::2] for word in simple.words[1:] if "=" in word)
    found: list[Command] = []
    for setting in section.all("ExecStart"):
        value = setting.value.lstrip("@-:+!")
        found += _commands(value, filename, setting.row, "", environment, "")
    return found


def _program(section: Section, filename: str, name: str) -> list[Command]:
    environment: dict[str, str] = {}
    for part in section.get("environment").replace("\n", ",").split(","):
        key, equals, value = part.strip().partition("=")
        if equals:
            environment[key] = value.strip("\"'")
    found: list[Command] = []
    for setting in section.all("command"):
        value = _COMMENT.sub("", setting.value)
        found += _commands(value, filename, setting.row, name, environment, "")
    return found


def _watcher(section: Section, filename: str, name: str) -> list[Command]:
    found: list[Command] = []
    for setting in section.all("cmd"):
        value = f"{setting.value} {section.get('args')}"
        found += _commands(value, filename, setting.row, name, {}, "")
    return found


def uwsgi(section: Section, filename: str) -> Command:
    """A uWSGI server's settings as the command line that means the same."""
    words = ["uwsgi"]
    options = []
    for key, value, row in section.settings:
        words.append(f"--{key}" if value.lower() in ("true", "") else f"--{key}={value}")
        options.append((key, value, row))
    return Command(tuple(words), filename, section.row, options=tuple(options))
