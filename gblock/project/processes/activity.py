"""Greenlets and servers that programs start, as far as the words of their files say."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gblock.project.processes.process import Process
    from gblock.project.reading.modules import Modules

_SERVING = re.compile(
    rb"serve|WSGIServer|StreamServer|[sS]ocket_?io\b|\.run\(|make_server|wsgi|zerorpc|Server\("
)
"""Names that the file of a program contains if it serves requests."""
_STARTING = re.compile(
    rb"spawn|\.start\(|start_\w+\(|[tT]hread|[pP]ool|Executor|Greenlet|Timer|[sS]chedul|map\(|"
    + _SERVING.pattern
)
"""Names that a file contains if it starts a greenlet, or what starts some."""


class Activity:
    """Finds out what may run beside the main greenlet of a program.

    Args:
        modules: The project's files.
        modules_of: Returns the files that a process can run.
    """

    def __init__(self, modules: Modules, modules_of: Callable[[Process], Collection[str]]) -> None:
        self._modules = modules
        self._modules_of = modules_of
        self._serving: dict[str, bool] = {}
        self._starting: dict[str, bool] = {}

    def is_alone(self, process: Process) -> bool:
        """Return whether a program has one greenlet: nothing of it starts another one.

        A program that patches for itself is meant to have several. One that imports a package of
        a service is patched, too, if the package patches.
        """
        if not process.is_by_file:
            return False
        if any(patch.path in process.entries for patch in process.patches):
            return False
        return not any(map(self._starts, self._modules_of(process)))

    def _starts(self, path: str) -> bool:
        """Return whether a file contains a name of what starts greenlets."""
        found = self._starting.get(path)
        if found is None:
            found = _STARTING.search(self._modules.data(path)) is not None
            self._starting[path] = found
        return found

    def serves(self, path: str) -> bool:
        """Return whether the file of a program contains a name of what serves requests."""
        found = self._serving.get(path)
        if found is None:
            found = self._serving[path] = _SERVING.search(self._modules.data(path)) is not None
        return found
