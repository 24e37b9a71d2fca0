"""A command that starts a process, as some file of the project writes it."""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple

from gblock.project.processes.deployment.shell import Script, Simple


class Command(NamedTuple):
    """One command and where it stands."""

    words: tuple[str, ...]
    """What the shell would make of it; what nobody knows keeps its ``$``."""
    filename: str
    row: int
    label: str = ""
    """What the file calls the process: the name in a Procfile, a service of a compose file."""
    environment: tuple[tuple[str, str], ...] = ()
    """The variables that are set for it, where they are known."""
    directory: str = ""
    """Where it runs, as far as the repository tells: paths and modules are looked up from here."""
    options: tuple[tuple[str, str, int], ...] = ()
    """For a server's settings file: its settings and the row of each."""
    working: str = ""
    """The directory of the repository that may be the one where it runs: the path of another
    machine ends like it."""
    maps: tuple[str, ...] = ()
    """The ConfigMaps of Kubernetes that give it variables."""

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
        """What a shell's simple command starts."""
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
        """The directory from which it is looked at."""
        return self.directory or os.path.dirname(self.filename)


class EntryPoint(NamedTuple):
    """What an installation of the project declares: a script in the path, or a plug-in."""

    name: str
    module: str
    """Dotted; empty where a file is copied as it is."""
    path: str
    """The file that is copied; empty where a module is named."""
    filename: str
    row: int
    group: str = "console_scripts"
    """Programs look their plug-ins up by another group."""

    @property
    def is_script(self) -> bool:
        """Whether an installation puts it into the path."""
        return self.group in ("console_scripts", "gui_scripts")


class Note(NamedTuple):
    """A file that could not be understood, and why: the analysis goes on without it."""

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


UNCLOSED = "a quote is opened and never closed"


class Variables(NamedTuple):
    """The variables that a ConfigMap of Kubernetes holds; other files name it."""

    name: str
    values: dict[str, str]


Fact = Command | EntryPoint | Note | Variables
"""What a reader finds in a file."""


class UnreadableError(Exception):
    """A file is not what its name says.

    Args:
        message: Why, on one line.
        row: Where; 0 if that cannot be told.
    """

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.row = row


def _is_plain(word: str) -> bool:
    return bool(word) and all(letter.isalnum() or letter in "-_./:=@%+,$(){}" for letter in word)
