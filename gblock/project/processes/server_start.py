"""The start of a server, and the place in a file that is evidence of it."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.processes.deployment import Deployment
from gblock.project.processes.servers import Server
from gblock.project.reading.modules import Modules


class ProcessEvidence(NamedTuple):
    """One place that starts, configures or patches a process."""

    path: str
    row: int
    text: str


class ServerStart(NamedTuple):
    """A `Server` and the place that starts it; `Processes` analyses the code that it runs."""

    server: Server
    evidence: ProcessEvidence
    variables: dict[str, str]
    homes: tuple[str, ...] = ()
    """The directories that it starts in and imports from, as far as they are known."""
    words: tuple[str, ...] | None = None
    """The words that its program sees as ``sys.argv``; None if nothing shows its arguments."""


class EvidenceReader:
    """Quotes the rows that start processes.

    Args:
        modules: The project's files.
        deployment: The files that start processes.
    """

    def __init__(self, modules: Modules, deployment: Deployment) -> None:
        self._modules = modules
        self._deployment = deployment

    def at(self, path: str, row: int) -> ProcessEvidence:
        """Return a row of a file, from 1, as evidence; its text is empty if there is none."""
        if self._modules.is_module(path):
            text = self._modules.data(path).decode(errors="replace")
        else:
            text = self._deployment.text(path) or ""
        lines = text.split("\n")
        return ProcessEvidence(path, row, lines[row - 1].strip() if 0 < row <= len(lines) else "")
