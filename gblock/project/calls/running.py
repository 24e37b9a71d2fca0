"""Running: which processes run the code of a file, and what this says about its context."""

from __future__ import annotations

import os
import re
from functools import cached_property

from gblock.project.calls.entries import Started
from gblock.project.calls.ways import (
    COMMAND,
    GREENLET,
    IDLE,
    NATIVE,
    OTHER,
    PROVEN,
    REQUEST,
    STARTUP,
    TASK,
    TEST,
    UNKNOWN,
    Step,
    Way,
)
from gblock.project.calls.workers import Application, Workers
from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import row_is_main_guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes

_WEB = ("gunicorn", "uwsgi", "server")
"""Kinds of processes that serve requests."""
_SCRIPTS = ("script", "console script")
"""Kinds of processes that serve requests if their code does."""


class Running:
    """Finds the processes that run code.

    Args:
        modules: The project's files.
        find: Finds the processes of the project; None where the files are no project.
    """

    def __init__(self, modules: Modules, find: Callable[[], Processes] | None) -> None:
        self.modules = modules
        self._find = find
        self._of_tests: dict[str, bool] = {}

    @cached_property
    def processes(self) -> Processes | None:
        """The processes of the project; None where the files are no project."""
        return self._find() if self._find is not None else None

    @cached_property
    def _workers(self) -> Workers | None:
        return Workers(self.processes) if self.processes is not None else None

    def repository(self) -> list[str]:
        """Return the files of the repository, of any format."""
        return list(self.processes.deployment.tree.files) if self.processes else []

    # -- a way that is found

    def settled(self, way: Way) -> Way:
        """Return a way, in another context if its files are of tests or of another process."""
        return self._not_elsewhere(self._not_of_tests(way))

    def _not_of_tests(self, way: Way) -> Way:
        """Return a way, in the context of tests where nothing else is known to import its file."""
        if way.context == UNKNOWN and way.steps and self._is_of_tests(way.steps[0].path):
            return way._replace(context=TEST, is_dead=False)
        return way

    def _not_elsewhere(self, way: Way) -> Way:
        """Return a way, in the context of another process if one without gevent makes a step."""
        processes = self.processes
        if processes is None or not processes.has_gevent:
            return way
        if way.context in IDLE or way.context == NATIVE:
            return way
        if any(processes.only_without_gevent(path) for path in {step.path for step in way.steps}):
            return way._replace(context=OTHER)
        return way

    @property
    def knows_services(self) -> bool:
        """True if the services of the project on gevent are known."""
        return self.processes is not None and self.processes.knows_services

    def is_without_gevent(self, way: Way) -> bool:
        """Return whether a path is of another process, or of a command without gevent.

        What a process handles beside no greenlet may start some and wait for them.
        """
        processes = self.processes
        if way.context == OTHER:
            return not self.gathers(way)
        return (
            way.context == COMMAND
            and processes is not None
            and processes.has_gevent
            and processes.only_without_gevent(way.steps[0].path)
        )

    def gathers(self, way: Way) -> bool:
        """Return whether a program that starts greenlets and waits for them may run a path."""
        return any(process.gathers for process in self._may_begin(way))

    def is_work(self, way: Way) -> bool:
        """Return whether a path begins where a program begins that waits for its own greenlets."""
        head = way.steps[0].path
        return any(one.gathers and head in one.entries for one in self._may_begin(way))

    def _may_begin(self, way: Way) -> list[Process]:
        """Return the processes on gevent that can run the file in which a path begins."""
        return self.processes.on_gevent(way.steps[0].path) if self.processes is not None else []

    def _is_of_tests(self, path: str) -> bool:
        """Return whether tests import a file, and no process of the service is known to run it."""
        found = self._of_tests.get(path)
        if found is None:
            found = self._of_tests[path] = self._find_of_tests(path)
        return found

    def _find_of_tests(self, path: str) -> bool:
        processes = self.processes
        if processes is None or processes.graph.importers.get(path):
            return False
        if any(process.is_deployed for process in processes.reaching(path)):
            return False
        stem = os.path.basename(path).partition(".")[0]
        return any(
            self.modules.is_test(other)
            and any(one.target == path for one in processes.graph.imports(other))
            for other in self.modules.mentioning(stem, tests=True, whole=True)
        )

    # -- a module's statements

    def of_statements(self, path: str, *, beside: bool, guarded: bool) -> str:
        """Return the context of a module's statements: a script's, or an imported module's.

        Args:
            path: The file.
            beside: True if other greenlets may run at the time.
            guarded: True if they run only where the module is started and not imported.
        """
        processes = self.processes
        if processes is None:
            return UNKNOWN
        running = self._begun_by(path, processes)
        if guarded or running:
            if not any(self._is_service(process) for process in running):
                return COMMAND
            if beside:
                return GREENLET
            return STARTUP
        if processes.reaching(path):
            return TEST if self._is_of_tests(path) else STARTUP
        # A module that is neither imported nor started by a known process is a manual script.
        known = processes.has_gevent or any(p.kind in _WEB and not p.open for p in processes.all())
        if known and not processes.graph.importers.get(path):
            return COMMAND
        return UNKNOWN

    def _is_service(self, process: Process) -> bool:
        """Return whether a process may serve on gevent, and is no manual tool."""
        if self._is_alone(process):
            return False
        if process.runs_on_gevent == "unknown":
            return not process.is_casual
        return process.runs_on_gevent == "yes"

    def _is_alone(self, process: Process) -> bool:
        """Return whether nothing of a program runs beside the greenlet that it begins in."""
        if process.gathers:
            return True
        return self.processes is not None and self.processes.activity.is_alone(process)

    def _begun_by(self, path: str, processes: Processes) -> list[Process]:
        """Return the processes that start in a file."""
        return [p for p in processes.all() if p.is_deployed and path in p.entries]

    # -- an entry

    def of_entry(
        self,
        started: Started,
        path: str,
        *,
        beside: bool,
        application: Application | None = None,
        queues: frozenset[str] | None = None,
    ) -> str:
        """Return the context of an entry, given the processes that run its file.

        Args:
            started: The entry.
            path: The file that defines it or hands it over.
            beside: True if other greenlets may run at the time.
            application: The application that it belongs to, if known.
            queues: For a task the queues that it may be in, if known.
        """
        context, processes = started.context, self.processes
        if processes is None:
            return context
        if context == COMMAND:
            return self._of_command(path, processes, beside=beside)
        if started.only_in and not self._is_run_on_gevent(started.only_in, processes):
            return OTHER
        if started.entry is not None and started.entry.threaded:
            context = self.of_thread(path)
        if context not in PROVEN:
            return context
        if processes.only_without_gevent(path):
            return OTHER
        if context == TASK and self._workers is not None and started.entry is not None:
            if self._workers.are_elsewhere(started.entry, path, application, queues):
                return OTHER
        if context == REQUEST and self._is_served_elsewhere(path, processes):
            return OTHER
        return context

    def of_thread(self, path: str) -> str:
        """Return the context of what runs in a thread of the standard library.

        Monkey patching makes a greenlet of it. A script's main guard alone is no evidence of the
        processes that start it, unless nothing else starts a process of the project.

        Args:
            path: The file that starts the thread.
        """
        processes = self.processes
        if processes is None or not processes.has_gevent:
            return GREENLET
        running = [p for p in processes.reaching(path) if p.is_deployed]
        if not running and self.is_beside_gevent(path):
            return OTHER
        if not running or (processes.has_started and all(one.is_casual for one in running)):
            return GREENLET
        if any(not processes.keeps_threads(process) for process in running):
            return GREENLET
        return NATIVE if any(p.runs_on_gevent != "no" for p in running) else OTHER

    def keeps_threads(self, head: Step) -> bool:
        """Return whether only programs with native threads run the statement that begins a path.

        What other programs import does not run below its main guard.
        """
        processes = self.processes
        if processes is None or not row_is_main_guard(self.modules.data(head.path), head.row):
            return False
        running = self._begun_by(head.path, processes)
        return bool(running) and all(map(processes.keeps_threads, running))

    def _is_run_on_gevent(self, only_in: tuple[str, ...], processes: Processes) -> bool:
        """Return whether a process on gevent may be one of those that alone run an entry."""
        families = {re.split("[: ]", one)[0] for one in only_in}
        known = [p for p in processes.all() if p.kind.partition(" ")[0] in families]
        green = [p for p in known if p.is_deployed and p.runs_on_gevent != "no"]
        return not known or any(one.is_among(only_in) for one in green)

    def _of_command(self, path: str, processes: Processes, *, beside: bool) -> str:
        """Return the context of a command; the command of a service is start-up.

        A server that loads the file for its application runs no command.
        """
        begun = self._begun_by(path, processes)
        running = [p for p in begun if p.is_gevent_service and not p.is_server]
        running = [process for process in running if not self._is_alone(process)]
        if running and not all(p.is_casual for p in running):
            if beside:
                return GREENLET
            return STARTUP
        return COMMAND

    # -- requests

    def of_handler(self, path: str) -> str:
        """Return the context of a handler of requests that a file registers or names.

        Args:
            path: The file.
        """
        processes = self.processes
        is_elsewhere = processes is not None and self._is_served_elsewhere(path, processes)
        return OTHER if is_elsewhere else REQUEST

    def _is_served_elsewhere(self, path: str, processes: Processes) -> bool:
        """Return whether only web servers without gevent serve what a file defines.

        What runs tasks, load tests or commands serves no requests, though it may import the file.
        """
        deployed = [p for p in processes.all() if p.is_deployed]
        serving = [p for p in deployed if p.kind in _WEB or self._serves_in_threads(p, processes)]
        green = [p for p in deployed if p.runs_on_gevent != "no" and self._may_serve(p)]
        green = [process for process in green if not processes.is_left_over(process)]
        if not serving or any(p.open for p in green):
            return False
        if any(path in processes.handling(p) for p in green):
            return False
        if any(path in processes.modules_of(p) for p in serving):
            return True
        return not green

    def _serves_in_threads(self, process: Process, processes: Processes) -> bool:
        """Return whether a process handles requests outside of greenlets.

        A script that patches nothing serves on gevent only with a server of gevent.
        """
        if processes.runs_development_server(process):
            return True
        if process.patches or not self._is_serving_script(process, processes):
            return False
        return process.runs_on_gevent == "no" or not processes.serves_on_gevent(process)

    def _is_serving_script(self, process: Process, processes: Processes) -> bool:
        """Return whether a process is a script whose file names what serves requests."""
        is_script = process.kind in _SCRIPTS
        return is_script and any(map(processes.activity.serves, process.entries))

    def may_run(self, way: Way, process: Process) -> bool:
        """Return whether a process may run a path that begins in one of its files.

        Workers serve no requests, though they load the views, and web servers run no tasks.
        """
        if way.context == REQUEST and self.processes is not None:
            is_handled = way.steps[0].path in self.processes.handling(process)
            return is_handled and self._may_serve(process)
        if way.context != TASK or process.kind not in _WEB:
            return True
        return self._workers is not None and self._workers.run_tasks(process)

    def _may_serve(self, process: Process) -> bool:
        """Return whether a process may serve requests, as far as its kind and its files say.

        What serves them outside of greenlets makes no greenlet wait for another request.
        """
        if process.in_turn or process.gathers:
            return False
        if process.kind in _WEB:
            return self._workers is None or not self._workers.run_tasks(process)
        processes = self.processes
        if processes is None or not self._is_serving_script(process, processes):
            return False
        return bool(process.patches) or processes.serves_on_gevent(process)

    # -- code that nothing is known to run

    def runs_asyncio_alone(self, path: str) -> bool:
        """Return whether the event loop of a file's coroutines is beside the hub, not on it.

        Under monkey patching asyncio waits in a greenlet. Where nothing is patched, gevent serves
        in a thread of its own.
        """
        if self.processes is None:
            return False
        green = [p for p in self.processes.all() if p.is_deployed and p.runs_on_gevent != "no"]
        running = [p for p in green if path in self.processes.modules_of(p)] or green
        return bool(running) and all(process.patched == "none" for process in running)

    def is_beside_gevent(self, path: str) -> bool:
        """Return whether a file that no process imports belongs to a program without gevent.

        Plug-ins and jobs that are loaded by name are beside the program that loads them, so the
        nearest directory in which a deployed program starts decides; the root is ignored.
        """
        processes = self.processes
        if processes is None or processes.reaching(path):
            return False
        everything = [
            process
            for process in processes.all()
            if process.is_deployed and process.kind != "management command"
        ]
        if not any(process.runs_on_gevent == "yes" for process in everything):
            return False
        root, folder = os.path.abspath(self.modules.root), os.path.dirname(os.path.abspath(path))
        while folder.startswith(root + os.sep):
            near = [
                process
                for process in everything
                if any(os.path.abspath(one).startswith(folder + os.sep) for one in process.entries)
            ]
            if any(process.runs_on_gevent != "no" for process in near):
                return False
            if any(not process.is_casual for process in near):
                return True
            folder = os.path.dirname(folder)
        return False
