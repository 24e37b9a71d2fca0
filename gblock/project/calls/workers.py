"""Workers of tasks: whether those that run a framework's tasks are on gevent."""

from __future__ import annotations

from gblock.catalog.entries import Entry
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import last_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes

KINDS = {"celery": "celery", "rq": "rq", "dramatiq": "dramatiq", "huey": "huey"}
"""The kind of process that runs a framework's tasks, or the beginning of its command's name."""
_APPLICATIONS = ("app", "celery")
"""The names by which Celery finds the application of a module."""
_CHAIN = 6
"""At most this many imports of an application are followed."""


class Workers:
    """Finds the workers of a framework's tasks among the processes.

    Args:
        processes: The processes of the project.
    """

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.modules = processes.modules

    def are_elsewhere(
        self,
        entry: Entry,
        path: str,
        application: tuple[str, str] | None,
        queues: frozenset[str] | None,
    ) -> bool:
        """Return whether only workers without gevent run a framework's tasks in a file.

        Args:
            entry: The entry of the task.
            path: The file.
            application: The file and the name of the application that the task belongs to.
            queues: The queues that the task may be in; None if they are not known.
        """
        near = self._near(entry.framework, path)
        if application is not None:
            near = [p for p in near if not self._runs_another(entry, p, application)] or near
        if not near:
            return False
        if all(p.runs_on_gevent == "no" for p in near):
            return True
        deployed = [p for p in near if p.is_deployed]
        green = [p for p in deployed if p.runs_on_gevent != "no"]
        if not queues or len(green) == len(deployed):
            return False
        return not any(p.queues.takes(queue) for p in green for queue in queues)

    def _near(self, framework: str, path: str) -> list[Process]:
        """Return the workers of a framework, those that load a file if any does."""
        kind = KINDS.get(framework)
        if kind is None:
            return []
        workers = [
            p
            for p in self.processes.all()
            if p.kind == kind or (p.kind == "server" and p.name.startswith(kind))
        ]
        if any(p.open for p in workers):
            return workers
        return [p for p in workers if path in self.processes.modules_of(p)] or workers

    # -- applications

    def _runs_another(self, entry: Entry, worker: Process, application: tuple[str, str]) -> bool:
        """Return whether a worker runs another application than the one of a task.

        Of the same file (``-A shop.apps:mail``), or of a file that makes one of its own.
        """
        first = next(iter(worker.entries), None)
        if first is None:
            return False
        own = self._origin(*application) or application
        if worker.application:
            names: tuple[str, ...] = (worker.application,)
        elif entry.framework == "celery":
            _, colon, name = worker.name.partition(":")
            names = (name,) if colon else _APPLICATIONS
        else:
            return False
        if first == application[0] and application[1] in names:
            return False
        run = {origin for name in names for origin in [self._origin(first, name)] if origin}
        if not run:
            _, colon, name = worker.name.partition(":")
            return first == application[0] and bool(colon) and name != application[1]
        return own not in run

    def _origin(self, path: str, name: str, depth: int = 0) -> tuple[str, str] | None:
        """Return the file and the name under which an application is made, if a call makes it."""
        for binding in self.modules.summary(path).scopes[0].bindings.get(name, ()):
            if binding.kind == kinds.IMPORTED and binding.value.name and depth < _CHAIN:
                imported = binding.value
                target = self.modules.resolve(imported.module, imported.level, path)
                if target is not None and self.modules.is_module(target):
                    return self._origin(target, imported.name, depth + 1)
            elif binding.kind == kinds.ASSIGNED and binding.value is not None:
                if binding.value.tag == tags.CALL and _makes(last_name(binding.value.callee)):
                    return path, name
        return None


def _makes(name: str) -> bool:
    """Return whether a callee is a class of applications: ``Celery``, ``RedisHuey``."""
    return name == "Celery" or name.endswith("Huey")
