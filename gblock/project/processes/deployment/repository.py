"""The interface by which the reader of one file asks about other files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Values = Mapping[str, Any]
"""The settings of a Helm chart, or the variables of an Ansible inventory."""


class Stage(NamedTuple):
    """The commands of one stage of a Dockerfile."""

    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: dict[str, str]
    row: int
    stage: str
    directory: str = ""
    """Its working directory."""

    def started(
        self, command: tuple[str, ...] = (), entrypoint: tuple[str, ...] | None = None
    ) -> tuple[str, ...]:
        """Return the words that a container starts with, if they replace the image's own."""
        head = self.entrypoint if entrypoint is None else entrypoint
        return (*head, *(command or (() if entrypoint is not None else self.command)))


class Repository:
    """A repository without files; `gblock.project.processes.deployment.Deployment` has files."""

    def environment(self, written: str, filename: str) -> dict[str, str]:  # noqa: ARG002
        """Return the variables that an environment file sets.

        Args:
            written: Its path.
            filename: The file that names it.
        """
        return {}

    def included(self, written: str, filename: str) -> str | None:  # noqa: ARG002
        """Return the text of a script that another one sources, None if it does not exist.

        Args:
            written: Its path.
            filename: The script that names it.
        """
        return None

    def image(self, directory: str, name: str) -> Stage | None:  # noqa: ARG002
        """Return the image of a Dockerfile, None if the file does not exist.

        Args:
            directory: The Dockerfile's directory.
            name: Its name.
        """
        return None

    def chart(self, path: str) -> Values:  # noqa: ARG002
        """Return the settings of a template's Helm chart.

        Args:
            path: The template.
        """
        return {}

    def inventory(self) -> Values:
        """Return the variables that Ansible gives its templates."""
        return {}


NONE = Repository()
"""For a file that is read on its own."""
