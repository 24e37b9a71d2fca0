"""Shell scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from gblock.project.processes.deployment.command import UNCLOSED, Command, Fact, Note
from gblock.project.processes.deployment.repository import NONE, Repository
from gblock.project.processes.deployment.shell import Script

_READS_OTHERS = re.compile(r"(?<![\w/.*-])(?:eval|source|\.)\s|\$\{!")
"""The syntax by which a script may read variables that its text does not name."""
EXAMPLE = ("run.sh", "#!/bin/sh\nset -e\nexec gunicorn -k gevent shop.wsgi\n")


def read(text: str, filename: str, repository: Repository = NONE) -> list[Fact]:
    """Return the commands of a script that is started without arguments."""
    return called(text, filename, source=lambda path: repository.included(path, filename))


def names_read(text: str, names: Iterable[str], arguments: tuple[str, ...] = ()) -> set[str]:
    """Return those of some variables on which the commands of a script may depend.

    Args:
        text: The script.
        names: The variables.
        arguments: Its arguments.
    """
    written = " ".join((text, *arguments))
    if _READS_OTHERS.search(written):
        return set(names)
    return {name for name in names if name in written}


def called(
    text: str,
    filename: str,
    variables: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] | None = None,
    source: Callable[[str], str | None] | None = None,
) -> list[Fact]:
    """Return the commands of a script, and a note if it cannot be read to its end.

    Args:
        text: The script.
        filename: Its name.
        variables: Variables that are set for it.
        arguments: Its arguments; None if unknown.
        source: Returns the text of a script that this one sources, by its path.
    """
    script = Script(text, variables, arguments, source)
    found: list[Fact] = [Command.of(simple, filename, simple.row) for simple in script.commands()]
    if script.broken is not None:
        found.append(Note(filename, UNCLOSED, script.broken))
    return found
