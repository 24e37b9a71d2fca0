"""Places for the call that makes a driver cooperative, in the processes that lack it."""

from __future__ import annotations

import os

from gblock.project.processes.process import Process
from gblock.project.processes.processes import Processes
from gblock.project.processes.servers import NO

_SETTINGS = ("worker_class", "workers", "bind", "post_fork", "wsgi_app")
"""Names that a gunicorn settings file sets."""
HOOK_ROW = 0
"""Stands for gunicorn's hook in place of a row."""


class Recipes:
    """Finds where to add the call that makes a driver cooperative.

    Args:
        processes: The processes of the project.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._known: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {}

    def places(self, symbol: str, path: str, needs: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
        """Return where a call has to be added for the code of a file.

        Args:
            symbol: What is to be called.
            path: The file with the code.
            needs: Distributions, one of which the project has to require if it lists any.

        Returns:
            Files with the row of the patch behind which the call belongs, or with `HOOK_ROW` for
            gunicorn's settings; empty where some process has no such place.
        """
        required = self._processes.deployment.requirements
        if required.is_listed and not any(one in required for one in needs):
            return ()
        key = (symbol, path)
        if key not in self._known:
            self._known[key] = self._found(symbol, path)
        return self._known[key]

    def _found(self, symbol: str, path: str) -> tuple[tuple[str, int], ...]:
        name = self._processes.inference.catalog.canonical(symbol)
        running = self._processes.on_gevent(path) or [
            process
            for process in self._processes.reaching(path)
            if process.is_deployed and process.runs_on_gevent != NO
        ]
        lacking = [p for p in running if not any(one.symbol == name for one in p.drivers)]
        found = [self._place(process) for process in lacking]
        if any(place is None for place in found):
            return ()
        return tuple(dict.fromkeys(place for place in found if place is not None))

    def _place(self, process: Process) -> tuple[str, int] | None:
        if process.by_server:
            if process.kind != "gunicorn":
                return None
            settings = next(filter(self._is_settings, process.before), None)
            return (settings, HOOK_ROW) if settings is not None else None
        patches = [one for one in process.patches if one.at_import and not one.condition]
        first = patches[0] if patches else None
        return (first.path, first.row) if first is not None else None

    def _is_settings(self, path: str) -> bool:
        if "gunicorn" in os.path.basename(path):
            return True
        setting = self._processes.servers.setting
        return any(setting(path, name) is not None for name in _SETTINGS)
