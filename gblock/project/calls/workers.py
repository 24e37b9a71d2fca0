"""Workers of tasks: whether those that run a framework's tasks are on gevent."""

from __future__ import annotations

import re
from typing import NamedTuple

from gblock.catalog.entries import Entry, TaskWorker
from gblock.project.processes import formats
from gblock.project.processes.starts import makes_application
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.contents import content
from gblock.project.reading.expressions import last_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes

_APPLICATIONS = ("app", "celery")
"""The names by which Celery finds the application of a module."""
_NAMING = (".env", ".json", ".tf", ".toml")
"""Endings of the names of files that no format reads, but that may hold a worker's options."""
_LONGEST_CHAIN = 6
"""At most this many imports of an application are followed."""


class Application(NamedTuple):
    """An application of a framework, such as an object of Celery's class."""

    path: str
    """The file that makes or imports it."""
    name: str
    """The name that it has there."""


class Workers:
    """Finds the workers of a framework's tasks among the processes.

    Args:
        processes: The processes of the project.
    """

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.modules = processes.modules
        self._by_framework = {one.framework: one for one in processes.inference.catalog.workers}
        self._of_tasks = tuple(
            name for one in self._by_framework.values() if not one.serves for name in _names(one)
        )
        self._known_default: dict[str, bool] = {}

    def run_tasks(self, process: Process) -> bool:
        """Return whether a process is a worker of tasks, which serves no requests."""
        return process.name.startswith(self._of_tasks)

    def are_elsewhere(
        self,
        entry: Entry,
        path: str,
        application: Application | None,
        queues: frozenset[str] | None,
    ) -> bool:
        """Return whether only workers without gevent run a framework's tasks in a file.

        Args:
            entry: The entry of the task.
            path: The file.
            application: The application that the task belongs to; None if it is not known.
            queues: The queues that the task may be in; None if they are not known.
        """
        near = self._near(entry.framework, path)
        if application is not None:
            near = [p for p in near if not self._runs_another(entry, p, application)] or near
        if not near:
            return self._are_default(entry.framework)
        if all(p.runs_on_gevent == "no" for p in near):
            return True
        deployed = [p for p in near if p.is_deployed]
        green = [p for p in deployed if p.runs_on_gevent != "no"]
        if not queues or len(green) == len(deployed):
            return False
        return not any(p.queues.takes(queue) for p in green for queue in queues)

    def _are_default(self, framework: str) -> bool:
        """Return whether the unknown workers of a framework are the ones that it starts by default.

        None of these runs on gevent, so a repository that deploys a service on gevent and has other
        workers says so: in a module of theirs, or in the files of the deployment. One whose only
        greenlets are those that a function starts and waits for has no workers on gevent either.
        """
        worker = self._by_framework.get(framework)
        if worker is None or not worker.on_gevent:
            return False
        if not any(map(self._serves, self.processes.all())) and not self.processes.only_gather:
            return False
        if framework not in self._known_default:
            self._known_default[framework] = not self._mentions_gevent(worker)
        return self._known_default[framework]

    def _serves(self, process: Process) -> bool:
        """Return whether a process on gevent is a server, or has a module that one runs."""
        return process.is_gevent_service and (
            process.is_server
            or any(makes_application(self.modules.data(path)) for path in process.entries)
        )

    def _mentions_gevent(self, worker: TaskWorker) -> bool:
        """Return whether a file that mentions a framework mentions gevent, or its pool."""
        green = {*self.modules.mentioning("gevent"), *self.modules.mentioning("greenlet")}
        if green.intersection(self.modules.mentioning(worker.framework)):
            return True
        on_gevent = re.compile(worker.on_gevent.encode())
        files = self.processes.deployment.tree.files
        started = [path for path, _ in formats.candidates(files)]
        naming = [path for path in files if path.endswith(_NAMING)]
        return any(on_gevent.search(content(path)) for path in (*started, *naming))

    def _near(self, framework: str, path: str) -> list[Process]:
        """Return the workers of a framework, those that load a file if any does."""
        worker = self._by_framework.get(framework)
        if worker is None:
            return []
        names = _names(worker)
        workers = [
            p
            for p in self.processes.all()
            if p.kind == framework or (p.kind == "server" and p.name.startswith(names))
        ]
        if any(p.open for p in workers):
            return workers
        return [p for p in workers if path in self.processes.modules_of(p)] or workers

    # -- applications

    def _runs_another(self, entry: Entry, worker: Process, application: Application) -> bool:
        """Return whether a worker runs another application than the one of a task.

        Of the same file (``-A shop.apps:mail``), or of a file that makes one of its own.
        """
        first = next(iter(worker.entries), None)
        if first is None:
            return False
        own = self._origin(application) or application
        if worker.application:
            names: tuple[str, ...] = (worker.application,)
        elif entry.framework == "celery":
            _, colon, name = worker.name.partition(":")
            names = (name,) if colon else _APPLICATIONS
        else:
            return False
        if first == application.path and application.name in names:
            return False
        origins = (self._origin(Application(first, name)) for name in names)
        run = {origin for origin in origins if origin is not None}
        if not run:
            _, colon, name = worker.name.partition(":")
            return first == application.path and bool(colon) and name != application.name
        return own not in run

    def _origin(self, application: Application, depth: int = 0) -> Application | None:
        """Return an application where a call makes it; None if no call is known to make it.

        Args:
            application: A file that makes or imports it, and its name there.
            depth: The number of imports that led to the file.
        """
        path, name = application
        for binding in self.modules.summary(path).scopes[0].bindings.get(name, ()):
            if binding.kind == kinds.IMPORTED:
                module, original, level = binding.value
                if original is None or depth >= _LONGEST_CHAIN:
                    continue
                target = self.modules.resolve(module, level, path)
                if target is not None and self.modules.is_module(target):
                    return self._origin(Application(target, original), depth + 1)
            elif binding.kind == kinds.ASSIGNED and binding.value is not None:
                if binding.value.tag == tags.CALL and _makes(last_name(binding.value.callee)):
                    return application
        return None


def _names(worker: TaskWorker) -> tuple[str, ...]:
    """Return the beginnings of the names that processes of such workers have."""
    return (worker.framework, *worker.commands)


def _makes(name: str) -> bool:
    """Return whether a callee is a class of applications: ``Celery``, ``RedisHuey``."""
    return name == "Celery" or name.endswith("Huey")
