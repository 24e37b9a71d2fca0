"""Settings files of uWSGI that include others: ``ini = ./common.ini``."""

from __future__ import annotations

import os

from gblock.project.processes.deployment.command import Command
from gblock.project.reading.tree import Tree

_INCLUDES = frozenset(("ini", "yaml", "yml", "xml", "json", "inherit", "include"))
"""uWSGI's settings that read another file, whose settings it adds to its own."""


def resolved(commands: list[Command], tree: Tree) -> list[Command]:
    """Return the commands with the settings that their files include.

    A file that others include starts nothing by itself, unless a command of its own names it.

    Args:
        commands: All commands of a repository; those of settings files have options.
        tree: The repository's files.
    """
    files = {command.filename: command for command in commands if command.options}
    within: set[str] = set()
    found = []
    for command in commands:
        added = _below(command, files, tree, {command.filename}) if command.options else []
        within.update(one.filename for one in added)
        words = (*command.words[:1], *(word for one in added for word in one.words[1:]))
        found.append(command._replace(words=(*words, *command.words[1:])) if added else command)
    named = "\n".join(command.text for command in commands if not command.options)
    return [
        command
        for command in found
        if not command.options
        or command.filename not in within
        or os.path.basename(command.filename) in named
    ]


def _below(
    command: Command, files: dict[str, Command], tree: Tree, seen: set[str]
) -> list[Command]:
    """Return the settings files that one includes, directly or through others."""
    found = []
    for key, written, _ in command.options:
        path = tree.find(written.partition(":")[0], command.home) if key in _INCLUDES else None
        if path is not None and path in files and path not in seen:
            seen.add(path)
            found += [*_below(files[path], files, tree, seen), files[path]]
    return found
