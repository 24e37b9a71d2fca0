"""gunicorn as the project's own code starts it: with options in a dictionary, or by a class."""

from __future__ import annotations

import os
import re

from gblock.project.processes.mentions import Mentions, WorkerOption
from gblock.project.processes.server_start import EvidenceReader, ServerStart
from gblock.project.processes.servers import DEFAULT_WORKER, NO, YES, Server, Servers

_APPLICATION = re.compile(
    rb"^[ \t]*class[ \t]+\w+[ \t]*\([^)]*\b(?:Base|WSGI)?Application[ \t]*\)", re.MULTILINE
)
"""A class of gunicorn's application, which starts its workers."""


class Embedded:
    """Finds the files that start gunicorn in their own process.

    Args:
        servers: Finds out whether a worker class is based on gevent.
        mentions: Finds mentions of gevent in files.
        evidence: Quotes the rows that start processes.
    """

    def __init__(self, servers: Servers, mentions: Mentions, evidence: EvidenceReader) -> None:
        self.modules = servers.modules
        self.graph = servers.graph
        self.root = servers.tree.root
        self._servers = servers
        self._mentions = mentions
        self._evidence = evidence

    def all(self) -> list[ServerStart]:
        """Return the starts by options that name a worker class, and by gunicorn's application."""
        found = []
        for path in self.modules.mentioning("worker_class"):
            worker = self._mentions.of(path).worker
            if worker is not None:
                found.append(self._embedded(path, path, worker))
        found += self._applications()
        return found

    def _embedded(self, main: str, path: str, worker: WorkerOption) -> ServerStart:
        """Return the start of gunicorn by a file, with the worker class that options name.

        Args:
            main: The file.
            path: The file with the options.
            worker: The worker class.
        """
        gevent, why = self._servers.worker(worker.name, path)
        name = f"gunicorn in {os.path.relpath(main, self.root)}"
        server = Server(
            "gunicorn",
            gevent,
            why,
            (main,),
            name,
            patches=gevent == YES,
            before=(main,),
            main=main,
        )
        return ServerStart(server, self._evidence.at(path, worker.row), {})

    def _applications(self) -> list[ServerStart]:
        """Return the project's own applications of gunicorn that name no worker class.

        The options may be in a module that they import, or in one that imports and starts them.
        """
        found = []
        for path in self.modules.mentioning("gunicorn"):
            data = self.modules.data(path)
            match = _APPLICATION.search(data) if b"gunicorn.app" in data else None
            if match is None or b"worker_class" in data or self.modules.is_test(path):
                continue
            beside = self._options_beside(path)
            if beside:
                found += beside
                continue
            row = data.count(b"\n", 0, match.start()) + 1
            name = f"gunicorn in {os.path.relpath(path, self.root)}"
            why = DEFAULT_WORKER
            server = Server("gunicorn", NO, why, (path,), name, main=path)
            found.append(ServerStart(server, self._evidence.at(path, row), {}))
        return found

    def _options_beside(self, path: str) -> list[ServerStart]:
        """Return the starts of a file's application with options of its neighbours' by import."""
        found = []
        imported = {edge.target for edge in self.graph.imports(path)}
        for other in self.modules.mentioning("worker_class"):
            if self._mentions.of(other).worker is not None:
                continue
            starts = any(edge.target == path for edge in self.graph.imports(other))
            if starts or other in imported:
                worker = self._mentions.options(other)
                if worker is not None:
                    found.append(self._embedded(other if starts else path, other, worker))
        return found
