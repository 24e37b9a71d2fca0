"""The commands of shell scripts, kept from one run to the next.

A script is read again for each way in which others start it. Its commands follow from its text, its
variables, its arguments, and the texts of the scripts that it sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gblock.cache.manifest import digest_of
from gblock.project.processes.deployment import shell_script
from gblock.project.processes.deployment.command import Command

KIND = "scripts"
"""The kind of these facts."""


class KeptScripts:
    """Reads the commands of scripts that earlier runs have not read.

    Args:
        known: What `to_keep` was in an earlier run, None if nothing is kept.
        included: Returns the text of a script that another one sources, by its path and the
            script that names it.
    """

    def __init__(
        self, known: Mapping[str, Any] | None, included: Callable[[str, str], str | None]
    ) -> None:
        self._known = known if isinstance(known, dict) else {}
        self._included = included
        self._is_new = False
        self._used: dict[str, Any] = {}

    @property
    def to_keep(self) -> dict[str, Any] | None:
        """The plain values to keep for later runs, by question; None if nothing is new."""
        return self._used if self._is_new else None

    def commands(
        self,
        path: str,
        text: str,
        variables: Mapping[str, str],
        arguments: tuple[str, ...] | None,
    ) -> list[Command]:
        """Return the commands of a script.

        Args:
            path: The script.
            text: Its text.
            variables: The variables that are set for it.
            arguments: Its arguments; None if unknown.
        """
        given = (one for pair in sorted(variables.items()) for one in pair)
        passed = () if arguments is None else ("with", *arguments)
        question = digest_of((path, text, *given, "", *passed))
        kept = self._known.get(question)
        if kept is not None and self._holds(path, kept[0]):
            self._used[question] = kept
            return [_command(path, one) for one in kept[1]]
        sourced: dict[str, str] = {}

        def source(name: str) -> str | None:
            found = self._included(name, path)
            sourced[name] = _digest(found)
            return found

        facts = shell_script.called(text, path, variables, arguments, source)
        found = [fact for fact in facts if isinstance(fact, Command)]
        self._is_new = True
        self._used[question] = (sourced, [_written(one) for one in found])
        return found

    def _holds(self, path: str, sourced: Mapping[str, str]) -> bool:
        """Return whether all scripts that one sources have the texts that they had."""
        return all(_digest(self._included(name, path)) == text for name, text in sourced.items())


def _digest(text: str | None) -> str:
    return "" if text is None else digest_of((text,))


def _written(command: Command) -> tuple[object, ...]:
    return (
        *(command.words, command.row, command.environment),
        *(command.directory, command.working),
    )


def _command(path: str, kept: Iterable[Any]) -> Command:
    words, row, environment, directory, working = kept
    variables = tuple((name, value) for name, value in environment)
    return Command((*words,), path, row, "", variables, directory, working=working)
