"""The files of a repository that start processes, read into commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cached_property

from gblock.project.processes.deployment import (
    dockerfile,
    env_files,
    makefile,
    manifests,
    packaging,
    procfile,
    units,
)
from gblock.project.processes.deployment.command import Command, EntryPoint, Note, UnreadableError
from gblock.project.processes.deployment.shell import Script
from gblock.project.processes.hints import starters
from gblock.project.reading.tree import LARGEST, Tree

__all__ = ["Command", "Deployment", "EntryPoint", "Note"]

_DOCKERFILE = re.compile(
    r"(?:(?:docker|container)file(?:[._-].+)?|.+\.(?:docker|container)file)", re.IGNORECASE
)
_MAKEFILE = re.compile(r"(?:gnu)?makefile|.+\.mk|\.?justfile", re.IGNORECASE)
_SHEBANG = re.compile(rb"#![^\n]*\b(?:ba|da|k|z|a)?sh\b")
_NAMES_COMMAND = re.compile(
    rb"""["']?(?:command|args|entrypoint|cmd|startCommand|start_command|build|uwsgi|wsgi-file|"""
    rb"""module|run|scripts|configMapGenerator)["']?[ \t]*:|\bConfigMap\b"""
)
_SECTIONS = re.compile(
    rb"^[ \t]*\[(?:program:|fcgi-program:|eventlistener:|watcher:|uwsgi\]|Service\])", re.MULTILINE
)
_XML = re.compile(r"<([a-z][\w-]*)>([^<]*)</\1>|<([a-z][\w-]*)\s*/>")
_REQUIREMENTS = re.compile(
    r"(?:requirements[^/]*|/requirements/[^/]*)\.(?:txt|in)$"
    r"|/(?:Pipfile|pyproject\.toml|setup\.py|setup\.cfg|environment\.ya?ml)$"
)
_JSON = re.compile(r"uwsgi|^(?:app|package)\.json$|task.?def", re.IGNORECASE)
_YAML_FILES = 2000
"""So many YAML files are parsed."""
_LARGE_YAML = 200_000
"""Bytes: a larger YAML file holds data."""


class Deployment:
    """Every command of a repository that may start a process.

    Args:
        root: The repository's directory.
        exclude: Patterns as in `.gitignore`.
    """

    def __init__(self, root: str, exclude: tuple[str, ...] = ()) -> None:
        self.tree = Tree(root, exclude)
        self.commands: list[Command] = []
        self.points: list[EntryPoint] = []
        self.scripts: set[str] = set()
        """The shell scripts."""
        self.notes: list[Note] = []
        self._yaml_files = 0
        self._maps: dict[str, dict[str, str]] = {}
        self._charts: dict[str, manifests.Values] = {}
        self._texts: dict[str, str | None] = {}
        for path, _ in starters(self.tree.outside):
            self.notes.append(Note(path, "is a link out of the repository and was not read"))
        for path, name in starters(self.tree.files):
            try:
                self._read(path, name)
            except UnreadableError as error:
                self.notes.append(Note(path, error.message, error.row))
        self.commands = [self._placed(self._with_maps(one)) for one in self.commands]

    def text(self, path: str) -> str | None:
        """A file's text; None where it is too large or not text, which is noted."""
        if path not in self._texts:
            self._texts[path] = self._decoded(path)
        return self._texts[path]

    def _decoded(self, path: str) -> str | None:
        data = self._data(path)
        if data is None:
            return None
        if b"\0" in data:
            self.notes.append(Note(path, "is not text"))
            return None
        return data.decode("utf-8-sig", errors="replace")

    def _data(self, path: str) -> bytes | None:
        try:
            if os.path.getsize(path) > LARGEST:
                self.notes.append(Note(path, "is too large to start a process"))
                return None
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            self.notes.append(Note(path, f"cannot be read: {error.strerror}"))
            return None

    def _start(self, path: str) -> bytes:
        """A file's first bytes."""
        try:
            with open(path, "rb") as file:
                return file.read(100)
        except OSError:
            return b""

    @cached_property
    def requirements(self) -> frozenset[str]:
        """The distributions that the repository says it needs."""
        return frozenset[str]().union(
            *(
                packaging.requirements(self.text(path) or "")
                for path in self.tree.files
                if _REQUIREMENTS.search(path)
            )
        )

    # -- which file is what

    def _read(self, path: str, name: str) -> None:
        if name.startswith("Procfile"):
            self._add(path, procfile.read)
        elif _DOCKERFILE.fullmatch(name):
            if not name.endswith("ignore"):
                self._add(path, dockerfile.read)
        elif _MAKEFILE.fullmatch(name):
            self._add(path, makefile.read)
        elif name.endswith((".yml", ".yaml")):
            self._read_yaml(path)
        elif name.endswith((".sh", ".bash")):
            self._read_script(path)
        elif name.endswith((".conf", ".ini", ".service", ".cfg", ".supervisor")):
            self._read_settings(path, name)
        elif name.endswith(".toml"):
            self._read_toml(path, name)
        elif name == "setup.py":
            text = self.text(path)
            self.points += packaging.points_of_setup(text, path) if text else []
        elif name.endswith(".json"):
            if _JSON.search(name):
                self._read_yaml(path)  # JSON is YAML
        elif "uwsgi" in name and name.endswith(".xml"):
            self._read_uwsgi(path)
        elif "." not in name and _SHEBANG.match(self._start(path)):
            self._read_script(path)

    def _add(self, path: str, reader: Callable[..., list[Command]], *more: object) -> None:
        text = self.text(path)
        if text is not None:
            self.commands += reader(text, path, *more)

    def environment(self, written: str, filename: str) -> dict[str, str]:
        """The variables of an environment file, or of the example that stands in for it.

        Args:
            written: Its path.
            filename: The file that names it.
        """
        for ending in env_files.STAND_INS:
            path = self.tree.find(written + ending, os.path.dirname(filename))
            text = self.text(path) if path is not None else None
            if text is not None:
                return env_files.read(text)
        return {}

    def _read_yaml(self, path: str) -> None:
        data = self._data(path)
        if data is None or len(data) > _LARGE_YAML or not _NAMES_COMMAND.search(data):
            return
        text = self.text(path)
        if text is None or self._yaml_files >= _YAML_FILES:
            return
        self._yaml_files += 1

        def environments(written: str) -> dict[str, str]:
            return self.environment(written, path)

        self._maps.update(
            manifests.config_maps(text, environments)
            if b"ConfigMap" in data or b"configMap" in data
            else {}
        )
        self.commands += manifests.read(
            text, path, self._image, environments, self._values(path) if "{{" in text else None
        )

    def _values(self, path: str) -> manifests.Values:
        """The settings of the chart that a template belongs to."""
        directory = os.path.dirname(path)
        while len(directory) >= len(self.tree.root):
            name = os.path.join(directory, "values.yaml")
            if name in self.tree:
                if name not in self._charts:
                    self._charts[name] = manifests.settings(self.text(name) or "")
                return self._charts[name]
            directory = os.path.dirname(directory)
        return {}

    def _placed(self, command: Command) -> Command:
        """A command with the directory of the repository that its working directory means."""
        if not command.working:
            return command
        return command._replace(working=self.tree.directory(command.working) or "")

    def _with_maps(self, command: Command) -> Command:
        """A command with what its ConfigMaps set; they may stand in other files."""
        if not command.maps:
            return command
        found: dict[str, str] = {}
        for one in command.maps:
            name, _, where = one.rpartition("=")
            source, _, key = where.partition("/")
            values = self._maps.get(source, {})
            found.update(values if not name else {name: values[key]} if key in values else {})
        return command._replace(environment=tuple({**found, **command.variables}.items()))

    def _image(self, directory: str, name: str) -> dockerfile.Image | None:
        """The image that a Dockerfile of this repository makes: that of its last stage."""
        path = os.path.normpath(os.path.join(directory, name))
        text = self.text(path) if path in self.tree else None
        found = dockerfile.images(text) if text else []
        return found[-1] if found else None

    def _read_script(self, path: str) -> None:
        text = self.text(path)
        if text is None:
            return
        self.scripts.add(path)
        self.commands += self.script(path)

    def script(
        self,
        path: str,
        variables: dict[str, str] | None = None,
        arguments: tuple[str, ...] | None = None,
        label: str = "",
    ) -> list[Command]:
        """What a shell script runs.

        Args:
            path: The script.
            variables: Variables that are set for it.
            arguments: What it is called with; None where nobody calls it.
            label: What the caller calls the process.
        """
        script = Script(self.text(path) or "", variables, arguments)
        found = [
            self._placed(Command.of(simple, path, simple.row, label))
            for simple in script.commands()
        ]
        if script.broken is not None:
            note = Note(path, "a quote is opened and never closed", script.broken)
            if note not in self.notes:
                self.notes.append(note)
        return found

    def _read_settings(self, path: str, name: str) -> None:
        if name == "setup.cfg":
            text = self.text(path)
            self.points += packaging.points_of_setup(text, path) if text else []
            return
        data = self._data(path)
        if data is not None and _SECTIONS.search(data):
            self._add(path, units.read, lambda written: self.environment(written, path))

    def _read_toml(self, path: str, name: str) -> None:
        if name not in ("pyproject.toml", "fly.toml", "railway.toml", "Procfile.toml"):
            return
        text = self.text(path)
        if text:
            points, commands = packaging.read_toml(text, path)
            self.points += points
            self.commands += commands

    def _read_uwsgi(self, path: str) -> None:
        text = self.text(path) or ""
        settings = [
            units.Setting(m[1] or m[3], m[2] or "true", text.count("\n", 0, m.start()) + 1)
            for m in _XML.finditer(text)
        ]
        if settings:
            self.commands += units.uwsgi(units.Section("uwsgi", 1, settings), path)
