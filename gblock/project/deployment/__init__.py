"""The files of a repository that start processes, read into commands."""

from __future__ import annotations

import os
import re

from gblock.project.deployment import (
    dockerfile,
    makefile,
    manifests,
    packaging,
    procfile,
    units,
)
from gblock.project.deployment.command import Command, EntryPoint, Note, UnreadableError
from gblock.project.deployment.shell import Script
from gblock.project.deployment.tree import LARGEST, Tree

__all__ = ["Command", "Deployment", "EntryPoint", "Note"]

_TEMPLATES = (".jnj", ".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".template", ".in", ".erb")
_DOCKERFILE = re.compile(
    r"(?:(?:docker|container)file(?:[._-].+)?|.+\.(?:docker|container)file)", re.IGNORECASE
)
_MAKEFILE = re.compile(r"(?:gnu)?makefile|.+\.mk", re.IGNORECASE)
_SHEBANG = re.compile(rb"#![^\n]*\b(?:ba|da|k|z|a)?sh\b")
_NAMES_COMMAND = re.compile(
    rb"""["']?(?:command|args|entrypoint|cmd|startCommand|start_command|build|uwsgi|wsgi-file|"""
    rb"""module)["']?[ \t]*:"""
)
_SECTIONS = re.compile(
    rb"^[ \t]*\[(?:program:|fcgi-program:|eventlistener:|watcher:|uwsgi\]|Service\])", re.MULTILINE
)
_MAYBE = re.compile(
    r"^[^.]*$|^setup\.py$|file|uwsgi|"
    r"\.(?:ya?ml|sh|bash|conf|ini|service|cfg|supervisor|toml|mk)$",
    re.IGNORECASE | re.DOTALL,
)
"""What every name of a file that is read has in it."""
_XML = re.compile(r"<([a-z][\w-]*)>([^<]*)</\1>|<([a-z][\w-]*)\s*/>")
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
        self._texts: dict[str, str | None] = {}
        for path in list(self.tree.files):
            try:
                self._read(path)
            except UnreadableError as error:
                self.notes.append(Note(path, error.message, error.row))

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

    # -- which file is what

    def _read(self, path: str) -> None:
        name = os.path.basename(path)
        if name.endswith(_TEMPLATES):
            for ending in _TEMPLATES:
                name = name.removesuffix(ending)
        if _MAYBE.search(name) is None:  # nearly all files, told at once
            return
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
        elif "uwsgi" in name and name.endswith((".xml", ".json")):
            self._read_uwsgi(path, name)
        elif "." not in name and _SHEBANG.match(self._start(path)):
            self._read_script(path)

    def _add(self, path: str, reader: object) -> None:
        text = self.text(path)
        if text is not None and callable(reader):
            self.commands += reader(text, path)

    def _read_yaml(self, path: str) -> None:
        data = self._data(path)
        if data is None or len(data) > _LARGE_YAML or not _NAMES_COMMAND.search(data):
            return
        text = self.text(path)
        if text is None or self._yaml_files >= _YAML_FILES:
            return
        self._yaml_files += 1
        self.commands += manifests.read(text, path, self._image)

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
        environment: dict[str, str] | None = None,
        arguments: tuple[str, ...] | None = None,
        label: str = "",
    ) -> list[Command]:
        """What a shell script runs.

        Args:
            path: The script.
            environment: Variables that are set for it.
            arguments: What it is called with; None where nobody calls it.
            label: What the caller calls the process.
        """
        script = Script(self.text(path) or "", environment, arguments)
        found = [
            Command(simple.words, path, simple.row, label, simple.environment)
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
            self._add(path, units.read)

    def _read_toml(self, path: str, name: str) -> None:
        if name not in ("pyproject.toml", "fly.toml", "railway.toml", "Procfile.toml"):
            return
        text = self.text(path)
        if text:
            points, commands = packaging.read_toml(text, path)
            self.points += points
            self.commands += commands

    def _read_uwsgi(self, path: str, name: str) -> None:
        if name.endswith(".json"):
            self._read_yaml(path)  # JSON is YAML
            return
        text = self.text(path) or ""
        settings = [
            units.Setting(m[1] or m[3], m[2] or "true", text.count("\n", 0, m.start()) + 1)
            for m in _XML.finditer(text)
        ]
        if settings:
            self.commands.append(units.uwsgi(units.Section("uwsgi", 1, settings), path))
