"""Who runs a call: its contexts, and the ways that lead to it through the call graph.

The search goes backwards, breadth first, from the function around a call over its callers to what
starts code: an entry of the catalog, a module's own statements, a function that is handed over.
"""

from __future__ import annotations

import os
from collections import deque
from functools import cached_property
from typing import NamedTuple

from gblock.diagnostics import CONTEXTS
from gblock.project.calls.callers import Callers
from gblock.project.calls.entries import Entries, Started
from gblock.project.calls.offloading import Offloading
from gblock.project.names import values as v
from gblock.project.names.expressions import Place, last_name, unwrapped
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.positions import row_is_main_guard
from gblock.project.reading.summary import Call, ModuleSummary, Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gblock.project.processes.processes import Process, Processes

HUB, REQUEST, TASK, GREENLET = "hub", "request", "task", "greenlet"
UNKNOWN = "unknown"
STARTUP, SHUTDOWN = "startup", "shutdown"
COMMAND, MIGRATION, TEST = "command", "migration", "test"
NATIVE, OTHER = "native-thread", "other-process"

PROVEN = frozenset({HUB, REQUEST, TASK, GREENLET})
"""Contexts in which a greenlet of a service runs the call."""
NOTED = frozenset({STARTUP, SHUTDOWN})
"""Contexts that are reported as notes."""
IDLE = frozenset({COMMAND, MIGRATION, TEST, OTHER})
"""Contexts that are counted and not reported. What only ever runs in native threads is no site,
unless it keeps the GIL: then a native thread does not help."""

_NODES = 400
"""How many functions are visited for one call."""
_FILES_READ = 80
"""How many files are read in search of the callers of one call."""
_WAYS = 12
"""How many ways are kept of one call."""
_TASKS = {"celery": "celery", "rq": "rq", "dramatiq": "dramatiq", "huey": "huey"}
"""The kind of process that runs a framework's tasks, or the beginning of its command's name."""
_SERVED = ("gunicorn", "uwsgi", "server", "script", "console script", "management command")


class Step(NamedTuple):
    """One place on a way."""

    path: str
    row: int
    text: str
    """``POST /orders``, ``place()``."""


class Way(NamedTuple):
    """How a call is reached."""

    context: str
    steps: tuple[Step, ...]
    """From what starts the code to the function around the call."""
    is_certain: bool
    """Whether every step is known by inference, and not by its name alone."""
    is_dead: bool = False
    """Whether it begins in a plain function that nothing calls or hands over."""


class Reached(NamedTuple):
    """Who runs a call."""

    context: str
    """The strongest."""
    ways: tuple[Way, ...]
    """The strongest first, then the shortest."""

    @property
    def is_proven(self) -> bool:
        """Whether a greenlet of a service is known to run it."""
        return self.context in PROVEN and any(
            way.is_certain for way in self.ways if way.context == self.context
        )


class _Node(NamedTuple):
    """A function on the way, and the step from it towards the call."""

    path: str
    scope: int
    at: Path
    """The path of the statement in it that leads on."""
    steps: tuple[Step, ...]
    is_certain: bool
    beside: bool
    """Whether greenlets may run beside the call although its process has only just begun: a
    ``while`` loop goes round with it, or something was started before, in any function so far."""


class Contexts:
    """Answers who runs a call.

    Args:
        inference: What the project's expressions can be.
        offloading: Which code runs in native threads.
        processes: Finds the processes of the project; None where the files are no project.
    """

    def __init__(
        self,
        inference: Inference,
        offloading: Offloading,
        processes: Callable[[], Processes] | None = None,
    ) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._offloading = offloading
        self._find_processes = processes
        self._entries = Entries(inference)
        self._callers = Callers(inference)
        self._known: dict[Place, Reached] = {}
        self._started: dict[tuple[str, int], list[Started]] = {}

    def of(self, place: Place) -> Reached:
        """Return who runs a call that stands at a place."""
        found = self._known.get(place)
        if found is None:
            found = self._known[place] = self._search(place)
        return found

    @cached_property
    def _processes(self) -> Processes | None:
        return self._find_processes() if self._find_processes is not None else None

    # -- the search

    def _search(self, place: Place) -> Reached:
        summary = self.modules.summary(place.path)
        if summary is None:
            return Reached(UNKNOWN, ())
        with self.inference.calling.budget(_FILES_READ):
            ways = self._ways(summary, place)
        if any(way.context != UNKNOWN for way in ways):
            # A plain function that nothing calls is dead, or is called from outside.
            ways = [way for way in ways if not way.is_dead]
        order = {context: number for number, context in enumerate(CONTEXTS)}
        ways.sort(key=lambda way: (order[way.context], not way.is_certain, len(way.steps)))
        if not ways:
            return Reached(UNKNOWN, ())
        return Reached(ways[0].context, tuple(ways[:_WAYS]))

    def _ways(self, summary: ModuleSummary, place: Place) -> list[Way]:
        """Return every way to a place, found breadth first."""
        index = _function_around(summary, place.scope)
        first = _Node(place.path, index, place.at, (), True, False)
        queue, seen = deque([first]), {(place.path, index)}
        ways: list[Way] = []
        while queue and len(seen) < _NODES:
            node = queue.popleft()
            ended, more = self._expanded(node)
            ways += ended
            for caller in more:
                key = (caller.path, caller.scope)
                if key not in seen:
                    seen.add(key)
                    queue.append(caller)
        return ways

    def _expanded(self, node: _Node) -> tuple[list[Way], list[_Node]]:
        """Return the ways that begin in a function, and the places that run it."""
        summary = self.modules.summary(node.path)
        if summary is None:
            return [], []
        beside = node.beside or _runs_beside(summary, node.scope, node.at)
        if node.scope == 0:
            return list(self._from_module(summary, node, beside)), []
        scope = summary.scopes[node.scope]
        here = Step(node.path, scope.rows[0], _written(summary, node.scope))
        steps = (here, *node.steps)
        ways: list[Way] = []
        for started in self._entries_of(summary, node.scope):
            head = here._replace(text=started.label)
            context = self._in_process(started, summary.filename, beside)
            ways.append(Way(context, (head, *node.steps), node.is_certain and started.is_certain))
        callers, handed = self._callers.of(node.path, node.scope), False
        more = [
            _Node(c.path, self._function(c.path, c.scope), c.at, steps,
                  node.is_certain and c.is_certain, beside)
            for c in callers
        ]  # fmt: skip
        for way, onward in self._handed(node, here, beside):
            handed = True
            if way is not None:
                ways.append(way)
            if onward is not None:
                more.append(onward)
        if not ways and not more and not handed:
            ways.append(self._nothing_found(summary, node, here, beside))
        return ways, more

    def _entries_of(self, summary: ModuleSummary, index: int) -> list[Started]:
        key = (summary.filename, index)
        if key not in self._started:
            self._started[key] = self._entries.of(summary, index)
        return self._started[key]

    def _function(self, path: str, scope: int) -> int:
        summary = self.modules.summary(path)
        return _function_around(summary, scope) if summary is not None else 0

    def _handed(
        self, node: _Node, here: Step, beside: bool
    ) -> Iterator[tuple[Way | None, _Node | None]]:
        """Yield what runs a function because it is handed over, or who hands it over."""
        calling = self.inference.calling
        for call, place, position in calling.handovers(node.path, node.scope):
            handover = self._offloading.handover(call, place)
            if handover is not None:
                native = handover.offload.thread == "native"
                text = f"{NATIVE if native else GREENLET} {here.text}"
                context = NATIVE if native else GREENLET
                step = Step(place.path, call.row, text)
                yield Way(context, (step, *node.steps), node.is_certain), None
                continue
            keywords = [value for _, value in call.expression.keywords]
            arguments = (
                call.expression.positional
                if position is None
                else [call.expression.positional[position]]
            )
            started = [
                one
                for argument in (*arguments, *keywords)
                for one in self._entries.handed(call, place, position, argument)
            ]
            if started:
                for one in started:
                    context = self._in_process(one, place.path, beside)
                    step = Step(place.path, call.row, one.label)
                    steps = (step, here, *node.steps)
                    yield Way(context, steps, node.is_certain and one.is_certain), None
                continue
            index = self._function(place.path, place.scope)
            if (place.path, index) == (node.path, node.scope):
                continue
            steps = (here, *node.steps)
            callees = self.inference.infer(call.expression.callee, place)
            runs = [run for callee in callees for run in self._run_by(callee, call, place, node)]
            for path, scope, at in runs:
                yield None, _Node(path, scope, at, steps, node.is_certain, beside)
            if not runs:
                yield None, _Node(place.path, index, place.at, steps, False, beside)
            if not callees or any(value.kind == v.EXTERNAL for value in callees):
                # Code that is not the project's may run it whenever it likes.
                yield Way(UNKNOWN, steps, False), None

    def _run_by(
        self, callee: v.Value, call: Call, place: Place, node: _Node
    ) -> Iterator[tuple[str, int, Path]]:
        """Yield where a function of the project calls the parameter that a function fills."""
        summary = self.modules.summary(callee.path) if callee.kind == v.FUNCTION else None
        if summary is None:
            return
        expression = call.expression
        for key, argument in (*enumerate(expression.positional), *expression.keywords):
            values = self.inference.infer(argument, place)
            if not any(
                unwrapped(value)[:3] == (v.FUNCTION, node.path, node.scope) for value in values
            ):
                continue
            name = self._offloading.parameter(callee, key)
            for inner in summary.calls if name is not None else ():
                written = inner.expression.callee if inner.node == "call" else None
                if written is not None and written.tag == tags.NAME and written.identifier == name:
                    if _is_within(summary, inner.scope, callee.scope):
                        yield callee.path, _function_around(summary, inner.scope), inner.path

    # -- where a way begins

    def _from_module(self, summary: ModuleSummary, node: _Node, beside: bool) -> Iterator[Way]:
        """Yield the ways that begin in a module's own statements."""
        started = self._entries.of_module(summary)
        step = Step(summary.filename, _row_of(summary, node.at), "")
        if started:
            for one in started:
                yield Way(one.context, (step._replace(text=one.label), *node.steps), True)
            return
        if self._processes is None:
            yield Way(UNKNOWN, (step._replace(text="module level"), *node.steps), True)
            return
        name = os.path.relpath(summary.filename, self.modules.root)
        guarded = bool(node.at) and row_is_main_guard(self.modules.data(summary.filename), step.row)
        context = self._of_main(summary, beside, guarded)
        yield Way(context, (step._replace(text=f"{context} {name}"), *node.steps), True)

    def _of_main(self, summary: ModuleSummary, beside: bool, guarded: bool) -> str:
        """Return the context of a module's statements: of a script, or of one that is imported."""
        running = self._begun_by(summary.filename)
        if guarded or running:
            if not any(self._is_service(process) for process in running):
                return COMMAND
            if beside:
                return GREENLET
            return STARTUP
        processes = self._processes
        if processes is None:
            return UNKNOWN
        if processes.reaching(summary.filename):
            return STARTUP
        # What no module imports and no known process starts is a script that a person runs.
        if processes.has_gevent and not processes.graph.importers.get(summary.filename):
            return COMMAND
        return UNKNOWN

    def _is_service(self, process: Process) -> bool:
        """Return whether a process may serve on gevent, and is no tool that a person runs."""
        if process.runs_on_gevent == "unknown":
            return self._processes is not None and not self._processes.is_casual(process)
        return process.runs_on_gevent == "yes"

    def _begun_by(self, path: str) -> list[Process]:
        """Return the processes that begin in a file."""
        if self._processes is None:
            return []
        return [p for p in self._processes.all() if p.is_deployed and path in p.entries]

    def _in_process(self, started: Started, path: str, beside: bool) -> str:
        """Return the context of an entry, with regard to the processes that run its file."""
        context, processes = started.context, self._processes
        if processes is None:
            return context
        if context == COMMAND:
            running = [p for p in self._begun_by(path) if p.is_gevent_service]
            if running and not all(processes.is_casual(p) for p in running):
                if beside:
                    return GREENLET
                return STARTUP
            return context
        if context not in PROVEN:
            return context
        if processes.only_without_gevent(path):
            return OTHER
        kind = _TASKS.get(started.framework)
        if kind is not None:
            workers = [
                p
                for p in processes.all()
                if p.kind == kind or (p.kind == "server" and p.name.startswith(kind))
            ]
            if workers and all(p.runs_on_gevent == "no" for p in workers):
                return OTHER
        if context == REQUEST:
            servers = [p for p in processes.all() if p.kind in _SERVED and p.kind != "script"]
            serving = [p for p in servers if p.kind in ("gunicorn", "uwsgi", "server")]
            others = [p for p in processes.all() if p.runs_on_gevent != "no" and p.kind != "tests"]
            if serving and all(p.runs_on_gevent == "no" for p in serving):
                if all(p.kind in _TASKS.values() for p in others):
                    return OTHER
        return context

    def _nothing_found(self, summary: ModuleSummary, node: _Node, here: Step, beside: bool) -> Way:
        """Return the way that begins in a function that nothing is known to call."""
        context = UNKNOWN
        scope = summary.scopes[node.scope]
        if scope.name == "main" and scope.parent == 0 and self._processes is not None:
            context = self._of_main(summary, beside, guarded=True)
        else:
            started = self._entries.of_module(summary)
            if started:
                context = started[0].context
            elif self._is_beside_gevent(summary.filename):
                context = OTHER
        is_dead = context == UNKNOWN and summary.scopes[scope.parent].kind != "class"
        return Way(context, (here, *node.steps), node.is_certain, is_dead)

    def _is_beside_gevent(self, path: str) -> bool:
        """Return whether a file that no process imports belongs to a program without gevent.

        Plug-ins and jobs that are loaded by name lie beside the program that loads them: what
        counts is the nearest directory in which a deployed program starts, the root left out.
        """
        processes = self._processes
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
            if any(not processes.is_casual(process) for process in near):
                return True
            folder = os.path.dirname(folder)
        return False


_STARTING = frozenset({"spawn", "spawn_later", "start", "start_new_thread", "spawn_raw"})
"""Methods that begin something that runs beside the caller."""


def _function_around(summary: ModuleSummary, scope: int) -> int:
    """Return the function around a scope, or 0 for the module; classes run with the module."""
    while scope > 0 and summary.scopes[scope].kind not in ("function", "lambda"):
        scope = summary.scopes[scope].parent
    return scope


def _is_within(summary: ModuleSummary, scope: int, outer: int) -> bool:
    """Return whether a scope is another one or stands in it."""
    while scope > 0 and scope != outer:
        scope = summary.scopes[scope].parent
    return scope == outer


def _runs_beside(summary: ModuleSummary, scope: int, at: Path) -> bool:
    """Return whether a ``while`` loop goes round with a statement, or greenlets were started."""
    branches = summary.scopes[scope].branches
    if any(branches.get(at[:depth]) == "while" for depth in range(1, len(at) + 1, 2)):
        return True
    return any(
        call.scope == scope and call.path < at and last_name(call.expression.callee) in _STARTING
        for call in summary.calls
        if call.node == "call"
    )


def _row_of(summary: ModuleSummary, at: Path) -> int:
    """Return the row of the module's statement that a path lies in."""
    statements = summary.scopes[0].statements
    return statements[at[0]][0] if at and 0 <= at[0] < len(statements) else 1


def _written(summary: ModuleSummary, index: int) -> str:
    """Return a function's name for a reader: ``Bus.send()``."""
    scope = summary.scopes[index]
    if scope.kind == "lambda":
        return "a lambda"
    owner = summary.scopes[scope.parent]
    return f"{owner.name}.{scope.name}()" if owner.kind == "class" else f"{scope.name}()"
