"""A command that starts a process, as written in a file of the project."""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple

from gblock.project.processes.deployment.shell import Script, Simple


class Command(NamedTuple):
    """One command and its place."""

    words: tuple[str, ...]
    """The shell's words; unknown variables keep their ``$``."""
    filename: str
    row: int
    label: str = ""
    """The name in the file: of the Procfile's process, of the compose file's service."""
    environment: tuple[tuple[str, str], ...] = ()
    """The variables that are set for it, if known."""
    directory: str = ""
    """Its working directory in the repository, if known: paths and modules start from here."""
    options: tuple[tuple[str, str, int], ...] = ()
    """For a server's settings file: its settings and the row of each."""
    working: str = ""
    """The working directory in the container or on another machine: a directory of the
    repository with the same end may be the one."""
    maps: tuple[str, ...] = ()
    """The ConfigMaps of Kubernetes that set variables for it."""

    @classmethod
    def of(
        cls,
        simple: Simple,
        filename: str,
        row: int,
        label: str = "",
        directory: str = "",
        working: str = "",
    ) -> Command:
        """Return the command of a shell's simple command."""
        if simple.directory and not simple.directory.startswith("/"):
            base = directory or os.path.dirname(filename)
            directory = os.path.normpath(os.path.join(base, simple.directory))
        elif simple.directory:
            working = simple.directory
        return cls(
            simple.words,
            filename,
            row,
            label,
            simple.environment,
            directory,
            working=working,
        )

    @property
    def text(self) -> str:
        """The command on one line."""
        return " ".join(word if _is_plain(word) else shlex.quote(word) for word in self.words)

    @property
    def variables(self) -> dict[str, str]:
        """Its environment."""
        return dict(self.environment)

    @property
    def home(self) -> str:
        """The directory that paths and modules start from."""
        return self.directory or os.path.dirname(self.filename)


class EntryPoint(NamedTuple):
    """A declaration for the project's installation: a console script, or a plug-in."""

    name: str
    module: str
    """The dotted name; empty if a file is copied unchanged."""
    path: str
    """The file that is copied; empty if a module is named."""
    filename: str
    row: int
    group: str = "console_scripts"
    """The group of the entry point, by which programs look up their plug-ins."""
    function: str = ""
    """The function of the module that a console script calls."""

    @property
    def is_script(self) -> bool:
        """Return whether an installation puts it on the path."""
        return self.group in ("console_scripts", "gui_scripts")


class Note(NamedTuple):
    """A file that could not be parsed, and the reason; the analysis goes on without it."""

    filename: str
    message: str
    row: int = 0


def commands_of(
    script: Script,
    filename: str,
    row: int,
    label: str = "",
    *,
    working: str = "",
) -> list[Command | Note]:
    """Return the commands of a text that a shell runs, and a note where it cannot be read.

    Args:
        script: The text.
        filename: The file in which it stands.
        row: Where it begins.
        label: What the file calls the process.
        working: The directory in which it runs, as the file writes it.
    """
    found: list[Command | Note] = [
        Command.of(simple, filename, row, label, working=working) for simple in script.commands()
    ]
    if script.broken is not None:
        found.append(Note(filename, UNCLOSED, row))
    return found


UNCLOSED = "a quote is not closed"


class Variables(NamedTuple):
    """The variables of a Kubernetes ConfigMap, which other files refer to by name."""

    name: str
    values: dict[str, str]


Fact = Command | EntryPoint | Note | Variables
"""The results of a reader for one file."""


class UnreadableError(Exception):
    """A file does not have the format that its name suggests.

    Args:
        message: The reason, on one line.
        row: The place; 0 if unknown.
    """

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.row = row


def _is_plain(word: str) -> bool:
    return bool(word) and all(letter.isalnum() or letter in "-_./:=@%+,$(){}" for letter in word)
