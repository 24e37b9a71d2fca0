"""Read the files of a repository that start processes into commands.

`gblock.project.processes.formats` lists the module for each kind of file.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

from gblock import opened
from gblock.project.processes import formats
from gblock.project.processes.deployment import (
    dockerfile,
    env_files,
    manifests,
    shell_script,
)
from gblock.project.processes.deployment.command import (
    Command,
    EntryPoint,
    Fact,
    Note,
    UnreadableError,
    Variables,
)
from gblock.project.processes.deployment.inclusions import resolved
from gblock.project.processes.deployment.kept_scripts import KeptScripts
from gblock.project.processes.deployment.repository import Repository, Stage, Values
from gblock.project.reading.requirements import Requirements
from gblock.project.reading.tree import LARGEST, Tree

__all__ = ["Command", "Deployment", "EntryPoint", "Note"]

_INVENTORY = ("defaults", "group_vars", "host_vars", "vars")
"""The directories of Ansible's variables; the later ones replace those before."""

_Invocation: TypeAlias = tuple[str, frozenset[tuple[str, str]], tuple[str, ...] | None]
"""A script with the variables that it reads, and its arguments."""


class Deployment(Repository):
    """Every command of a repository that may start a process.

    Args:
        root: The repository's directory.
        exclude: Patterns as in `.gitignore`.
        base: The directory that they are relative to; by default `root`.
        scripts: What an earlier run has kept of scripts.
    """

    def __init__(
        self,
        root: str,
        exclude: tuple[str, ...] = (),
        base: str = "",
        scripts: Mapping[str, Any] | None = None,
    ) -> None:
        self.tree = Tree(root, exclude, base, formats.matters)
        self.commands: list[Command] = []
        self.points: list[EntryPoint] = []
        """The console scripts that an installation puts on the path."""
        self.plugins: dict[str, list[EntryPoint]] = {}
        """The other entry points, by group."""
        self.scripts: set[str] = set()
        """The shell scripts."""
        self.notes: list[Note] = []
        self._read_files: Counter[str] = Counter()
        self._maps: dict[str, dict[str, str]] = {}
        self._charts: dict[str, Values] = {}
        self._inventory: Values | None = None
        self._texts: dict[str, str | None] = {}
        self._script_commands: dict[_Invocation, list[Command]] = {}
        self._read_scripts = KeptScripts(scripts, self.included)
        for path, _ in formats.candidates(self.tree.outside):
            self.notes.append(Note(path, "leads outside the repository and was not read"))
        for path, name in formats.candidates(self.tree.files):
            self._try(path, name)
        self._rename()
        placed = [self._placed(self._with_maps(one)) for one in self.commands]
        self.commands = resolved(placed, self.tree)

    # -- files

    def text(self, path: str) -> str | None:
        """Return a file's text; record a problem and return None if it is too large or no text."""
        if path not in self._texts:
            data = self._data(path)
            self._texts[path] = self._decoded(path, data) if data is not None else None
        return self._texts[path]

    def _decoded(self, path: str, data: bytes) -> str | None:
        if b"\0" in data:
            self.notes.append(Note(path, "is not text"))
            return None
        return data.decode("utf-8-sig", errors="replace")

    def _data(self, path: str) -> bytes | None:
        opened.note(path)
        try:
            if os.path.getsize(path) > LARGEST:
                self.notes.append(Note(path, "is too large to start a process"))
                return None
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            self.notes.append(Note(path, f"cannot be read: {error.strerror}"))
            return None

    def _try(self, path: str, name: str) -> None:
        """Read a file, and record if it does not have the format of its name."""
        try:
            self._read(path, name)
        except UnreadableError as error:
            self.notes.append(Note(path, error.message, error.row))

    def _rename(self) -> None:
        """Read the files to which an image gives the name of a format."""
        for holder, text in [*self._texts.items()]:
            for path, name in formats.renamed(self.tree, holder, text or ""):
                self.tree.renamed.setdefault(name, path)
                if path not in self._texts:
                    for _, bare in formats.candidates((name,)):
                        self._try(path, bare)

    def _read(self, path: str, name: str) -> None:
        if "." not in name and not self._is_read_by_name(path, name):
            return
        data = self._data(path)
        form = formats.of(name, data) if data is not None else None
        if form is None or data is None or self._read_files[form.reader] >= form.most:
            return
        self._read_files[form.reader] += 1
        text = self._texts[path] = self._decoded(path, data)
        if text is None:
            return
        if form.reader == formats.SHELL:
            self.scripts.add(path)
        reader = __import__(f"{__name__}.{form.reader}", fromlist=["read"])
        self._take(reader.read(text, path, self))

    def _is_read_by_name(self, path: str, name: str) -> bool:
        """Return whether a file without a suffix can have a format, from its first bytes.

        Such a file may be large and have any content.
        """
        if formats.of(name, b"") is not None:
            return True
        opened.note(path)
        try:
            with open(path, "rb") as file:
                return formats.of(name, file.read(100)) is not None
        except OSError:
            return False

    def _take(self, facts: list[Fact]) -> None:
        for fact in facts:
            if isinstance(fact, Command):
                self.commands.append(fact)
            elif isinstance(fact, EntryPoint) and fact.is_script:
                self.points.append(fact)
            elif isinstance(fact, EntryPoint):
                self.plugins.setdefault(fact.group, []).append(fact)
            elif isinstance(fact, Variables):
                self._maps[fact.name] = fact.values
            elif fact not in self.notes:
                self.notes.append(fact)

    @cached_property
    def requirements(self) -> Requirements:
        """The distributions that the repository requires."""
        return Requirements(self.tree)

    def values_of(self, variable: str) -> list[tuple[str, str]]:
        """Return the values that files which start processes give to a variable.

        Args:
            variable: The variable of the environment.

        Returns:
            Each value with its file.
        """
        given = re.compile(
            rf"""^(?![ \t]*#)[^\n]*?\b{re.escape(variable)}["']?"""
            rf"""(?:[ \t]*(?::-|[:= ])[ \t]*|,?\s*["']?value["']?[ \t]*:[ \t]*)["']?([\w./:-]+)""",
            re.MULTILINE,
        )
        found = [
            (match[1], path)
            for path, text in self._texts.items()
            if text is not None and variable in text
            for match in given.finditer(text)
        ]
        return list(dict.fromkeys(found))

    # -- for readers of other files

    def environment(self, written: str, filename: str) -> dict[str, str]:
        """Return the variables of an environment file, or of the example in its place.

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

    def included(self, written: str, filename: str) -> str | None:
        """Return the text of a script that another one sources.

        Args:
            written: Its path.
            filename: The script that names it.
        """
        if "$" in written:  # ``"$(dirname "$0")/env.sh"``
            written = written.rpartition("/")[2]
        path = self.tree.find(written, os.path.dirname(filename)) if written else None
        return self.text(path) if path is not None and path != filename else None

    def image(self, directory: str, name: str) -> Stage | None:
        """Return the image of the last stage of a Dockerfile in this repository.

        Args:
            directory: The Dockerfile's directory.
            name: Its name.
        """
        path = os.path.normpath(os.path.join(directory, name))
        text = self.text(path) if path in self.tree else None
        found = dockerfile.images(text) if text else []
        return found[-1] if found else None

    def chart(self, path: str) -> Values:
        """Return the settings of a template's Helm chart.

        Args:
            path: The template.
        """
        directory, below = os.path.dirname(path), ""
        while len(directory) >= len(self.tree.root) and directory != below:
            name = os.path.join(directory, "values.yaml")
            if name in self.tree:
                if name not in self._charts:
                    self._charts[name] = manifests.settings(self.text(name) or "")
                return self._charts[name]
            directory, below = os.path.dirname(directory), directory
        return {}

    def inventory(self) -> Values:
        """Return the variables that Ansible gives its templates.

        Those of groups and hosts replace the defaults of roles. Of several groups one on gevent
        counts: some hosts run it.
        """
        if self._inventory is None:
            found: dict[str, Any] = {}
            files = [path for path in self.tree.files if path.endswith((".yml", ".yaml"))]
            for folder in _INVENTORY:
                inside = f"{os.sep}{folder}{os.sep}"
                for path in sorted(one for one in files if inside in one):
                    for name, value in manifests.settings(self.text(path) or "").items():
                        if "gevent" not in str(found.get(name)):
                            found[name] = value
            self._inventory = found
        return self._inventory

    def script(
        self,
        path: str,
        variables: dict[str, str] | None = None,
        arguments: tuple[str, ...] | None = None,
        label: str = "",
    ) -> list[Command]:
        """Return the commands that a shell script runs.

        Args:
            path: The script.
            variables: Variables that are set for it.
            arguments: Its arguments; None if unknown.
            label: The caller's name for the process.
        """
        text = self.text(path) or ""
        # The label and the other variables of its environment only pass through it.
        read = shell_script.names_read(text, variables or {}, arguments or ())
        given = {name: value for name, value in (variables or {}).items() if name in read}
        key = (path, frozenset(given.items()), arguments)
        found = self._script_commands.get(key)
        if found is None:
            found = [*map(self._placed, self._read_scripts.commands(path, text, given, arguments))]
            self._script_commands[key] = found
        others = {name: value for name, value in (variables or {}).items() if name not in read}
        if not others and not label:
            return found
        return [
            one._replace(
                label=label, environment=tuple(sorted({**others, **one.variables}.items()))
            )
            for one in found
        ]

    @property
    def scripts_to_keep(self) -> dict[str, Any] | None:
        """The scripts to keep for later runs, None if nothing is new."""
        return self._read_scripts.to_keep

    def _placed(self, command: Command) -> Command:
        """Return a command with the directory of the repository that it is started in."""
        if not command.working:
            return command
        return command._replace(working=self.tree.directory(command.working) or "")

    def _with_maps(self, command: Command) -> Command:
        """Return a command with the variables of its ConfigMaps, which may be in other files."""
        if not command.maps:
            return command
        found: dict[str, str] = {}
        for one in command.maps:
            name, _, where = one.rpartition("=")
            source, _, key = where.partition("/")
            values = self._maps.get(source, {})
            found.update(values if not name else {name: values[key]} if key in values else {})
        return command._replace(environment=tuple({**found, **command.variables}.items()))
