"""Concurrency within a function: whether other greenlets may run at the time of a statement."""

from __future__ import annotations

import re

from gblock.project.calls.running import Running
from gblock.project.calls.visits import Visit
from gblock.project.calls.ways import GREENLET
from gblock.project.names.definitions import may_precede
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import last_name
from gblock.project.reading.summary import Call

_STARTING = frozenset({"spawn", "spawn_later", "start", "start_new_thread", "spawn_raw"})
"""Functions and methods that start code that runs beside the caller."""
_ELSEWHERE = re.compile(
    r"(?:billiard|multiprocessing)\.(?!dummy\.|pool\.ThreadPool\b).*"
    r"|gevent\.(?:threadpool|monkey\.saved)\..*"
)
"""Those that start another process, or a native thread whatever is patched."""
_THREADS = re.compile(r"threading\.(?:Thread|Timer)\.start|_?thread\.start_new_thread")
"""Those that start a thread, which patching turns into a greenlet."""


class Concurrency:
    """Finds out whether something may run beside a statement.

    Args:
        inference: Type inference over the project.
        running: Finds the processes that run code.
    """

    def __init__(self, inference: Inference, running: Running) -> None:
        self.inference = inference
        self._running = running
        self.modules = inference.modules
        self._starting: dict[str, list[tuple[int, Path]]] = {}
        """By file the scopes and paths of the calls that start greenlets."""

    def at(self, visit: Visit) -> bool:
        """Return whether other greenlets may run at a visit, or at a later one on its path."""
        return visit.beside or self._is_beside(visit.path, visit.scope, visit.at)

    def _is_beside(self, path: str, scope: int, at: Path) -> bool:
        """Return whether a loop repeats a statement, or greenlets were started before it."""
        summary = self.modules.summary(path)
        entry = summary.scopes[scope]
        if any(entry.branches.get(at[:depth]) == "while" for depth in range(1, len(at) + 1, 2)):
            return True
        starting = self._starting.get(path)
        if starting is None:
            starting = self._starting[path] = [
                (call.scope, call.path)
                for call in summary.calls
                if call.node == "call" and last_name(call.expression.callee) in _STARTING
                if not self._is_elsewhere(call, path)
            ]
        return any(inner == scope and may_precede(begun, at, entry) for inner, begun in starting)

    def _is_elsewhere(self, call: Call, path: str) -> bool:
        """Return whether what a call starts is surely no greenlet."""
        place = Place(path, call.scope, call.path)
        symbols = self.inference.callees.called_symbols(call.expression.callee, place)
        if symbols and all(map(_THREADS.fullmatch, symbols)):
            return self._running.of_thread(path) != GREENLET
        return bool(symbols) and all(map(_ELSEWHERE.fullmatch, symbols))
