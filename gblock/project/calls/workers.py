"""Workers of tasks: whether those that run a framework's tasks are on gevent."""

from __future__ import annotations

from gblock.project.calls.queues import Queues
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import last_name
from gblock.project.reading.summary import ModuleSummary, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes

KINDS = {"celery": "celery", "rq": "rq", "dramatiq": "dramatiq", "huey": "huey"}
"""The kind of process that runs a framework's tasks, or the beginning of its command's name."""
_APPLICATIONS = ("app", "celery")
"""The names by which Celery finds the application of a module."""


class Workers:
    """Finds the workers of a framework's tasks among the processes.

    Args:
        processes: The processes of the project.
        queues: Finds the queues of tasks.
    """

    def __init__(self, processes: Processes, queues: Queues) -> None:
        self.processes = processes
        self.modules = processes.modules
        self._queues = queues

    def are_elsewhere(self, framework: str, path: str, application: tuple[str, str] | None) -> bool:
        """Return whether only workers without gevent run a framework's tasks in a file.

        Args:
            framework: The framework.
            path: The file.
            application: The file and the name of the application that the task belongs to.
        """
        kind = KINDS.get(framework)
        if kind is None:
            return False
        workers = [
            p
            for p in self.processes.all()
            if p.kind == kind or (p.kind == "server" and p.name.startswith(kind))
        ]
        if any(p.open for p in workers):
            near = workers
        else:
            near = [p for p in workers if path in self.processes.modules_of(p)] or workers
        if application is not None:
            near = [p for p in near if not self._runs_another(p, application)] or near
        return bool(near) and all(p.runs_on_gevent == "no" for p in near)

    def _runs_another(self, worker: Process, application: tuple[str, str]) -> bool:
        """Return whether a worker runs another application than the one of a task.

        Of the same file (``-A shop.apps:mail``), or of a file that makes one of its own.
        """
        path, name = application
        _, colon, own = worker.name.partition(":")
        first = next(iter(worker.entries), path)
        if first == path:
            return bool(colon) and own != name
        bindings = self.modules.summary(first).scopes[0].bindings
        return any(
            binding.kind == kinds.ASSIGNED
            and binding.value is not None
            and binding.value.tag == tags.CALL
            and last_name(binding.value.callee) == "Celery"
            for word in ((own,) if colon else _APPLICATIONS)
            for binding in bindings.get(word, ())
        )

    def leave_queue(self, framework: str, summary: ModuleSummary, scope: Scope) -> bool:
        """Return whether a task names a queue that no worker on gevent takes tasks from.

        Args:
            framework: The task's framework.
            summary: The module that defines the task.
            scope: The task.
        """
        kind = KINDS.get(framework)
        queue = self._queues.of(summary, scope)
        if kind is None or queue is None:
            return False
        near = [p for p in self.processes.all() if p.kind == kind and p.is_deployed]
        near = [p for p in near if summary.filename in self.processes.modules_of(p)] or near
        green = [p for p in near if p.runs_on_gevent != "no"]
        is_taken = any(not p.queues or queue in p.queues for p in green)
        return len(green) < len(near) and not is_taken
