"""Loading: the modules that a process can run, by the import graph."""

from __future__ import annotations

from gblock.project.processes.process import Process
from gblock.project.processes.servers import Server
from gblock.project.reading.import_graph import ImportGraph

_HANDLERS = (
    b"get_asgi_application",
    b"get_wsgi_application",
    b"ASGIHandler",
    b"WSGIHandler",
    b"execute_from_command_line",
)
"""Names in a program that makes Django's handler."""

_SENDING = ("gunicorn", "uwsgi", "server")
"""The kinds of servers that send tasks to workers and run none."""


class Loading:
    """Finds the modules of processes.

    Args:
        graph: The import graph.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self.graph = graph
        self.modules = graph.modules
        self._reached: dict[tuple[object, ...], frozenset[str]] = {}
        self._handling: dict[tuple[object, ...], frozenset[str]] = {}
        self._makers: dict[str, bool] = {}

    def of(
        self, begun: Process | Server, *, eager: bool = False, data: bool = True
    ) -> frozenset[str]:
        """Return the files that a process can run.

        Args:
            begun: The process, or what starts it.
            eager: True for those alone that run when it starts.
            data: True to follow strings that may be data for another program, too.
        """
        is_sending = begun.kind in _SENDING
        key = (begun.entries, begun.main, begun.as_file, eager, data, is_sending)
        if key not in self._reached:
            self._reached[key] = self.graph.of(
                begun.entries,
                eager=eager,
                main=begun.main,
                as_file=begun.as_file,
                data=data,
                tasks=not is_sending,
            )
        return self._reached[key]

    def handling(self, process: Process) -> frozenset[str]:
        """Return the files whose handlers of requests a process can run.

        A program that only sets Django up loads its settings, and serves none of the views.
        """
        if not process.is_by_file:
            return self.of(process)
        key = (process.entries, process.main, process.as_file)
        found = self._handling.get(key)
        if found is None:
            found = self.graph.of(
                process.entries, main=process.main, as_file=process.as_file, handler=False
            )
            if any(map(self._makes_handler, found)):
                found = self.of(process)
            self._handling[key] = found
        return found

    def _makes_handler(self, path: str) -> bool:
        """Return whether a file makes Django's handler, which loads the table of URLs."""
        if path not in self._makers:
            data = self.modules.data(path)
            self._makers[path] = any(name in data for name in _HANDLERS)
        return self._makers[path]
