"""Contexts of a call: a breadth-first search backwards through the call graph.

The search starts at the function around a call and follows its callers to the entry points: an
entry of the catalog, a module's statements, a function that is handed over.
"""

from __future__ import annotations

import os
import re
from collections import deque
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from gblock.diagnostics import CONTEXTS
from gblock.project.calls.callers import Caller, Callers
from gblock.project.calls.dispatch import Dispatched
from gblock.project.calls.entries import Entries, Started
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.queues import Queues
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import Expr, dotted, last_name
from gblock.project.reading.positions import row_is_main_guard
from gblock.project.reading.summary import Call, ModuleSummary, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes

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
"""At most this many functions are visited for one call."""
_FILES_READ = 80
"""At most this many files are read in search of the callers of one call."""
_FILES_KEEPING = 12
"""At most this many files are read in search of the calls of a function that an object keeps."""
_WAYS = 12
"""At most this many paths to one call are kept."""
_TASKS = {"celery": "celery", "rq": "rq", "dramatiq": "dramatiq", "huey": "huey"}
"""The kind of process that runs a framework's tasks, or the beginning of its command's name."""
_WEB = ("gunicorn", "uwsgi", "server")
"""Kinds of processes that serve requests."""
_NO_WEB = tuple(_TASKS)
_SERVING = re.compile(
    rb"serve|WSGIServer|StreamServer|[sS]ocket_?io\b|\.run\(|make_server|wsgi|zerorpc|Server\("
)
"""Names in the files of a program that serves requests."""


class Step(NamedTuple):
    """One call on a path."""

    path: str
    row: int
    text: str
    """``POST /orders``, ``place()``."""


class Way(NamedTuple):
    """One path through the call graph to a call, and its context."""

    context: str
    steps: tuple[Step, ...]
    """From what starts the code to the function around the call."""
    is_certain: bool
    """True if every step is known by inference, and not by its name alone."""
    is_dead: bool = False
    """True if it begins in a plain function that nothing calls or hands over."""
    is_unused: bool = False
    """True if it begins in a function or method that nothing uses: nothing else has its name, no
    decorator hands it over, and its class has no base through which something may call it."""


class Reached(NamedTuple):
    """The contexts of a call and the paths to it."""

    context: str
    """The strongest."""
    ways: tuple[Way, ...]
    """The strongest first, then the shortest."""

    @property
    def is_unused(self) -> bool:
        """True if every path begins in a function that nothing is known to use."""
        return bool(self.ways) and all(way.is_unused for way in self.ways)

    @property
    def is_proven(self) -> bool:
        """True if a greenlet of a service is known to run the call."""
        return self.context in PROVEN and any(
            way.is_certain for way in self.ways if way.context == self.context
        )


class _Node(NamedTuple):
    """A function on a path, and the step from it towards the call."""

    path: str
    scope: int
    at: Path
    """The path of the statement in it that leads on."""
    steps: tuple[Step, ...]
    is_certain: bool
    beside: bool
    """True if other greenlets may run at the time of the call even at start-up: a ``while`` loop
    repeats it, or greenlets were started before, in any function of the path so far."""
    only: Dispatched | None = None
    """The calls of the function that lead on, if not all do."""
    is_kept: bool = False
    """True if a function is followed that this one defines and that something runs later."""
    is_lasting: bool = False
    """True if an object is followed that is made here, and that something uses later."""


class Contexts:
    """Finds the contexts of calls.

    Args:
        inference: Type inference over the project.
        offloading: Finds the code that runs in native threads.
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
        self._entries = Entries(inference, self._repository)
        self._queues = Queues(inference)
        self._callers = Callers(inference)
        self._known: dict[Place, Reached] = {}
        self._started: dict[tuple[str, int], list[Started]] = {}
        self._of_tests: dict[str, bool] = {}
        self._starting: dict[str, list[tuple[int, Path]]] = {}
        """By file the scopes and paths of the calls that start greenlets."""
        self._named: dict[str, tuple[str, ...]] = {}

    def of(self, place: Place, files: frozenset[str] | None = None) -> Reached:
        """Return the contexts of the code at a place.

        Args:
            place: The place.
            files: The files that the processes in question can run: a path that begins elsewhere
                belongs to another process. None for all processes.
        """
        found = self._known.get(place)
        if found is None:
            found = self._known[place] = self._search(place)
        if files is None or not found.ways:
            return found
        ways = tuple(way for way in found.ways if way.steps[0].path in files)
        return Reached(ways[0].context if ways else OTHER, ways)

    @cached_property
    def _processes(self) -> Processes | None:
        return self._find_processes() if self._find_processes is not None else None

    def _repository(self) -> list[str]:
        """Return the files of the repository, of any format."""
        return list(self._processes.deployment.tree.files) if self._processes else []

    # -- the search

    def _search(self, place: Place) -> Reached:
        summary = self.modules.summary(place.path)
        with self.inference.budget.limited(_FILES_READ):
            ways = self._ways(summary, place)
        if any(way.context not in (UNKNOWN, NATIVE) for way in ways):
            # A plain function without callers is dead, or is called from outside.
            ways = [way for way in ways if not way.is_dead]
        order = {context: number for number, context in enumerate(CONTEXTS)}
        ways = [self._not_elsewhere(self._not_of_tests(way)) for way in ways]
        ways.sort(key=lambda way: (order[way.context], not way.is_certain, len(way.steps)))
        if not ways:
            return Reached(UNKNOWN, ())
        return Reached(ways[0].context, tuple(ways[:_WAYS]))

    def _not_of_tests(self, way: Way) -> Way:
        """Return a way, in the context of tests where nothing else is known to import its file."""
        if way.context == UNKNOWN and way.steps and self._is_of_tests(way.steps[0].path):
            return way._replace(context=TEST, is_dead=False)
        return way

    def _not_elsewhere(self, way: Way) -> Way:
        """Return a way, in the context of another process if one without gevent makes a step."""
        processes = self._processes
        if processes is None or not processes.has_gevent:
            return way
        if way.context in IDLE or way.context == NATIVE:
            return way
        if any(processes.only_without_gevent(path) for path in {step.path for step in way.steps}):
            return way._replace(context=OTHER)
        return way

    def _is_of_tests(self, path: str) -> bool:
        """Return whether tests import a file, and nothing of the service is known to."""
        found = self._of_tests.get(path)
        if found is None:
            found = self._of_tests[path] = self._find_of_tests(path)
        return found

    def _find_of_tests(self, path: str) -> bool:
        processes = self._processes
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

    def _ways(self, summary: ModuleSummary, place: Place) -> list[Way]:
        """Return every path to a place, found breadth first."""
        index = _function_around(summary, place.scope)
        first = _Node(place.path, index, place.at, (), True, False)
        queue = deque([first])
        seen: set[tuple[str, int, Dispatched | None]] = {(place.path, index, None)}
        ways: list[Way] = []
        while queue and len(seen) < _NODES:
            node = queue.popleft()
            ended, more = self._expanded(node)
            if node.is_lasting:
                ended = list(map(_lasting, ended))
            ways += map(_later, ended) if node.is_kept else ended
            for caller in more:
                caller = caller._replace(
                    is_kept=caller.is_kept or node.is_kept,
                    is_lasting=caller.is_lasting or node.is_lasting,
                )
                key = (caller.path, caller.scope, caller.only)
                if key not in seen:
                    seen.add(key)
                    queue.append(caller)
        return ways

    def _expanded(self, node: _Node) -> tuple[list[Way], list[_Node]]:
        """Return the paths that begin in a function, and the places that run it."""
        summary = self.modules.summary(node.path)
        beside = node.beside or self._runs_beside(summary, node.scope, node.at)
        if node.scope == 0:
            return list(self._from_module(summary, node, beside)), []
        scope = summary.scopes[node.scope]
        here = Step(node.path, scope.rows[0], _written(summary, node.scope))
        steps = (here, *node.steps)
        ways: list[Way] = []
        for started in self._entries_of(summary, node.scope):
            head = here._replace(text=started.label)
            application = self._entries.application(summary, scope)
            context = self._in_process(started, summary.filename, beside, application)
            if context == TASK and self._is_of_other_queue(started.framework, summary, scope):
                context = OTHER
            ways.append(Way(context, (head, *node.steps), node.is_certain and started.is_certain))
        if scope.is_async and self._runs_asyncio_alone(summary.filename):
            return ways or [Way(OTHER, steps, True)], []
        callers, handed = self._callers.of(node.path, node.scope), False
        more = [
            _Node(c.path, self._function(c.path, c.scope), c.at, steps,
                  node.is_certain and c.is_certain, beside, c.only, is_lasting=c.is_lasting)
            for c in callers
            if node.only is None or self._is_allowed(node.only, c)
        ]  # fmt: skip
        for way, onward in self._handed(node, here, beside):
            handed = True
            if way is not None:
                ways.append(way)
            if onward is not None:
                more.append(onward)
        if node.only is not None and callers and not more:
            return ways, []  # all calls select something else
        if not ways and not more and not handed:
            if summary.scopes[scope.parent].kind == "function":
                more.append(self._defining(summary, node, steps))
            else:
                ways.append(self._nothing_found(summary, node, here, beside))
        return ways, more

    def _is_allowed(self, only: Dispatched, caller: Caller) -> bool:
        place = Place(caller.path, caller.scope, caller.at)
        return caller.expression is None or only.allows(caller.expression, place, self.inference)

    def _is_field(self, call: Call, place: Place) -> bool:
        """Return whether a call describes a field: what it takes runs where an object is made."""
        summary = self.modules.summary(place.path)
        if summary.scopes[place.scope].kind != "class":
            return False
        catalog = self.inference.catalog
        return any(
            (one := catalog.passed_on(symbol)) is not None and one.gives == "field"
            for symbol in self.inference.callee_symbols(call.expression.callee, place)
        )

    def _is_dispatched(self, only: Dispatched, place: Place) -> bool:
        """Return whether some call of the function around a place selects the handler."""
        callers = self._callers.of(place.path, self._function(place.path, place.scope))
        return not callers or any(self._is_allowed(only, one) for one in callers)

    def _kept_handovers(
        self, node: _Node, named: Iterable[tuple[Call, Place, int | None]]
    ) -> Iterator[tuple[Call, Place, int | None, Expr]]:
        """Yield the calls that hand over what a container keeps: ``spawn(handler, event)``.

        Args:
            node: The function.
            named: The calls that take it as an argument: ``Route("/orders", place)``.
        """
        summary, keeping = self.modules.summary(node.path), self._callers.keeping
        words = keeping.containers(summary, node.scope)
        for call, place, position in named:
            if position is not None:
                words |= keeping.attributes(call, place, position)
        if words:
            yield from keeping.handovers(words, node.path, node.scope, self._handing)

    @cached_property
    def _handing(self) -> frozenset[str]:
        """The last names of the functions of the catalog that run what they are given."""
        found = self.inference.catalog.offload_by_symbol
        offloading = frozenset(symbol.rpartition(".")[2] for symbol in found)
        return offloading | self._entries.taking

    def _runs_beside(self, summary: ModuleSummary, scope: int, at: Path) -> bool:
        """Return whether a loop repeats a statement, or greenlets were started before it."""
        branches = summary.scopes[scope].branches
        if any(branches.get(at[:depth]) == "while" for depth in range(1, len(at) + 1, 2)):
            return True
        starting = self._starting.get(summary.filename)
        if starting is None:
            starting = self._starting[summary.filename] = [
                (call.scope, call.path)
                for call in summary.calls
                if call.node == "call" and last_name(call.expression.callee) in _STARTING
            ]
        return any(inner == scope and path < at for inner, path in starting)

    def _defining(self, summary: ModuleSummary, node: _Node, steps: tuple[Step, ...]) -> _Node:
        """Return the function that defines a function without callers.

        What a view or a factory of middleware returns, a framework calls in its place.
        """
        scope = summary.scopes[node.scope]
        returned = (one for one, _ in summary.scopes[scope.parent].returns)
        is_returned = any(last_name(one) == scope.name for one in returned)
        is_certain = node.is_certain and is_returned
        return _Node(node.path, scope.parent, scope.path, steps, is_certain, False, is_kept=True)

    def _entries_of(self, summary: ModuleSummary, index: int) -> list[Started]:
        key = (summary.filename, index)
        if key not in self._started:
            self._started[key] = self._entries.of(summary, index)
        return self._started[key]

    def _function(self, path: str, scope: int) -> int:
        return _function_around(self.modules.summary(path), scope)

    def _handed(
        self, node: _Node, here: Step, beside: bool
    ) -> Iterator[tuple[Way | None, _Node | None]]:
        """Yield the contexts of a function that is handed over, or the callers that do so."""
        named = self.inference.calling.handovers(node.path, node.scope)
        places = {(place, position) for _, place, position in named}
        for call, place, number, taken in self._kept_handovers(node, named):
            if (place, number) in places:
                continue
            handover = self._offloading.handover(call, place)
            if handover is None or handover.argument is not taken:
                for one in self._entries.handed(call, place, number, taken):
                    context = self._in_process(one, place.path, beside)
                    steps = (Step(place.path, call.row, one.label), here, *node.steps)
                    yield Way(context, steps, node.is_certain and one.is_certain), None
                continue
            only = self._callers.dispatch.of((node.path, node.scope), taken, place)
            if only is not None and not self._is_dispatched(only, place):
                continue
            context = {"native": NATIVE}.get(handover.offload.thread, GREENLET)
            step = Step(place.path, call.row, f"{context} {here.text}")
            yield Way(context, (step, *node.steps), node.is_certain), None
        for call, place, position in named:
            if self._is_field(call, place):
                steps = (here, *node.steps)
                for made, where in self.inference.calling.callers(place.path, place.scope):
                    index = self._function(where.path, made.scope)
                    yield None, _Node(where.path, index, made.path, steps, node.is_certain, beside)
                continue
            handover = self._offloading.handover(call, place)
            if handover is not None and handover.offload.thread != "hub":
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
                inside = _Node(path, scope, at, steps, node.is_certain, beside)
                ran = any(v.comes_from(one, path, scope) for one in callees)
                yield None, self._through(inside, place, index) if ran else inside
            if not runs:
                # What is given at start-up may be kept, and run at any time.
                keeps = any(value.kind in (v.CLASS, v.FUNCTION) for value in callees)
                yield (
                    None,
                    _Node(place.path, index, place.at, steps, False, beside, is_lasting=keeps),
                )
            if not callees or any(value.kind == v.EXTERNAL for value in callees):
                # Code outside the project may run it at any time.
                yield Way(UNKNOWN, steps, False), None

    def _through(self, inside: _Node, place: Place, index: int) -> _Node:
        """Return the place that calls a function which runs what it is given.

        Other callers of that function give it something else to run.
        """
        summary = self.modules.summary(inside.path)
        row = summary.scopes[inside.scope].rows[0]
        step = Step(inside.path, row, _written(summary, inside.scope))
        beside = inside.beside or self._runs_beside(summary, inside.scope, inside.at)
        steps = (step, *inside.steps)
        return _Node(place.path, index, place.at, steps, inside.is_certain, beside)

    def _run_by(
        self, callee: v.Value, call: Call, place: Place, node: _Node
    ) -> Iterator[tuple[str, int, Path]]:
        """Yield the calls of the parameter through which a project function gets a function."""
        if callee.kind not in (v.FUNCTION, v.CLASS):
            return
        summary = self.modules.summary(callee.path)
        expression = call.expression
        for key, argument in (*enumerate(expression.positional), *expression.keywords):
            if not self._is_of(argument, place, node):
                continue
            if callee.kind == v.CLASS:
                yield from self._run_from(callee, key, node)
                continue
            name = self._offloading.parameter(callee, key)
            for inner in summary.calls if name is not None else ():
                written = inner.expression.callee if inner.node == "call" else None
                if written is not None and written.tag == tags.NAME and written.identifier == name:
                    if _is_within(summary, inner.scope, callee.scope):
                        yield callee.path, _function_around(summary, inner.scope), inner.path
            if name is not None:
                words = self._callers.keeping.stored(callee, name)
                for path, kept in self._callers.keeping.callers(words, node.path, node.scope):
                    yield path, self._function(path, kept.scope), kept.path

    def _is_of(self, expression: Expr, place: Place, node: _Node) -> bool:
        """Return whether an expression is the function of a node, or a partial of it."""
        return any(
            unwrapped(value)[:3] == (v.FUNCTION, node.path, node.scope)
            for value in self.inference.infer(expression, place)
        )

    def _run_from(
        self, owner: v.ScopeValue, key: int | str | None, node: _Node
    ) -> Iterator[tuple[str, int, Path]]:
        """Yield the calls of the attribute in which an object keeps a function that it is given."""
        for attribute in self._keeping(owner, key):
            for path in self.modules.mentioning(attribute, whole=True)[:_FILES_KEEPING]:
                for inner in self.inference.calling.calls_by_name(path).get(attribute, ()):
                    written = inner.expression.callee
                    if written is not None and written.tag == tags.ATTRIBUTE:
                        if self._is_of(written, Place(path, inner.scope, inner.path), node):
                            yield path, self._function(path, inner.scope), inner.path

    def _keeping(self, owner: v.ScopeValue, key: int | str | None) -> list[str]:
        """Return the attributes that a constructor sets to one of its arguments."""
        made = owner._replace(kind=v.OBJECT)
        found = []
        for method in self.inference.classes.attribute(made, "__init__"):
            if method.kind != v.FUNCTION:
                continue
            summary = self.modules.summary(method.path)
            name = self._offloading.parameter(method, key)
            found += [
                attribute
                for (_, attribute), bindings in summary.scopes[method.scope].attributes.items()
                if name is not None and any(dotted(one.value) == name for one in bindings)
            ]
        summary = self.modules.summary(owner.path)
        if not found:
            scope = summary.scopes[owner.scope]
            fields = [
                name
                for name, bindings in scope.bindings.items()
                if any(one.kind == kinds.ANNOTATED for one in bindings)
            ]
            if isinstance(key, int):
                fields = fields[key : key + 1]
            found += [name for name in fields if isinstance(key, int) or name == key]
        return found

    # -- the start of a path

    def _from_module(self, summary: ModuleSummary, node: _Node, beside: bool) -> Iterator[Way]:
        """Yield the paths that begin in a module's statements."""
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
        """Return the context of a module's statements: a script's, or an imported module's."""
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
            return TEST if self._is_of_tests(summary.filename) else STARTUP
        # A module that is neither imported nor started by a known process is a manual script.
        known = processes.has_gevent or any(p.kind in _WEB and not p.open for p in processes.all())
        if known and not processes.graph.importers.get(summary.filename):
            return COMMAND
        return UNKNOWN

    def _is_service(self, process: Process) -> bool:
        """Return whether a process may serve on gevent, and is no manual tool."""
        if process.runs_on_gevent == "unknown":
            return not process.is_casual
        return process.runs_on_gevent == "yes"

    def _begun_by(self, path: str) -> list[Process]:
        """Return the processes that start in a file."""
        if self._processes is None:
            return []
        return [p for p in self._processes.all() if p.is_deployed and path in p.entries]

    def _in_process(
        self,
        started: Started,
        path: str,
        beside: bool,
        application: tuple[str, str] | None = None,
    ) -> str:
        """Return the context of an entry, given the processes that run its file."""
        context, processes = started.context, self._processes
        if processes is None:
            return context
        if context == COMMAND:
            running = [p for p in self._begun_by(path) if p.is_gevent_service]
            if running and not all(p.is_casual for p in running):
                if beside:
                    return GREENLET
                return STARTUP
            return context
        if context not in PROVEN:
            return context
        if processes.only_without_gevent(path):
            return OTHER
        if context == TASK and self._is_task_elsewhere(
            started.framework, path, processes, application
        ):
            return OTHER
        if context == REQUEST and self._is_served_elsewhere(path, processes):
            return OTHER
        return context

    def _is_task_elsewhere(
        self,
        framework: str,
        path: str,
        processes: Processes,
        application: tuple[str, str] | None,
    ) -> bool:
        """Return whether only workers without gevent run a framework's tasks in a file."""
        kind = _TASKS.get(framework)
        if kind is None:
            return False
        workers = [
            p
            for p in processes.all()
            if p.kind == kind or (p.kind == "server" and p.name.startswith(kind))
        ]
        if any(p.open for p in workers):
            near = workers
        else:
            near = [p for p in workers if path in processes.modules_of(p)] or workers
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

    def _is_of_other_queue(self, framework: str, summary: ModuleSummary, scope: Scope) -> bool:
        """Return whether a task names a queue that no worker on gevent takes tasks from."""
        processes, kind = self._processes, _TASKS.get(framework)
        queue = self._queues.of(summary, scope)
        if processes is None or kind is None or queue is None:
            return False
        near = [p for p in processes.all() if p.kind == kind and p.is_deployed]
        near = [p for p in near if summary.filename in processes.modules_of(p)] or near
        green = [p for p in near if p.runs_on_gevent != "no"]
        is_taken = any(not p.queues or queue in p.queues for p in green)
        return len(green) < len(near) and not is_taken

    def of_handler(self, path: str) -> str:
        """Return the context of a handler of requests that a file registers or names.

        Args:
            path: The file.
        """
        processes = self._processes
        is_elsewhere = processes is not None and self._is_served_elsewhere(path, processes)
        return OTHER if is_elsewhere else REQUEST

    def _is_served_elsewhere(self, path: str, processes: Processes) -> bool:
        """Return whether only web servers without gevent serve what a file defines.

        What runs tasks, load tests or commands serves no requests, though it may import the file.
        """
        deployed = [p for p in processes.all() if p.is_deployed]
        serving = [p for p in deployed if p.kind in _WEB or processes.runs_development_server(p)]
        green = [p for p in deployed if p.runs_on_gevent != "no" and self._may_serve(p)]
        if not serving or any(p.open for p in green):
            return False
        if any(path in processes.handling(p) for p in green):
            return False
        if any(path in processes.modules_of(p) for p in serving):
            return True
        return not green

    def _may_serve(self, process: Process) -> bool:
        """Return whether a process may serve requests, as far as its kind and its files say."""
        if process.kind in _WEB:
            return not process.name.startswith(_NO_WEB)
        if process.kind not in ("script", "console script"):
            return False
        return any(_SERVING.search(self.modules.data(path)) for path in process.entries)

    def _nothing_found(self, summary: ModuleSummary, node: _Node, here: Step, beside: bool) -> Way:
        """Return the path that begins in a function without known callers."""
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
        owner = summary.scopes[scope.parent]
        is_dead = context == UNKNOWN and owner.kind != "class"
        decorators = {last_name(getattr(one, "callee", one)) for one in scope.decorators}
        is_plain = decorators <= _PLAIN and not (owner.decorators or owner.bases)
        is_unused = (
            context == UNKNOWN
            and is_plain
            and scope.kind == "function"
            and not self._is_named(scope.name, summary.filename)
        )
        return Way(context, (here, *node.steps), node.is_certain, is_dead, is_unused)

    def _runs_asyncio_alone(self, path: str) -> bool:
        """Return whether the event loop of a file's coroutines is beside the hub, not on it.

        Under monkey patching asyncio waits in a greenlet. Where nothing is patched, gevent serves
        in a thread of its own.
        """
        if self._processes is None:
            return False
        green = [p for p in self._processes.all() if p.is_deployed and p.runs_on_gevent != "no"]
        running = [p for p in green if path in self._processes.modules_of(p)] or green
        return bool(running) and all(process.patched == "none" for process in running)

    def _is_named(self, name: str, path: str) -> bool:
        """Return whether something names a function, apart from its definition and its package.

        A table of handlers, a string, or an attribute of an object of unknown type may run it.
        """
        word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
        if len(word.findall(self.modules.data(path))) > 1:
            return True
        return any(other != path for other in self._naming(name))

    def _naming(self, name: str) -> tuple[str, ...]:
        """Return two files at most that name another file's function: enough for any path."""
        found = self._named.get(name)
        if found is None:
            others = (
                other
                for other in self.modules.mentioning(name, whole=True)
                if os.path.basename(other) != "__init__.py" and not self._names_its_own(other, name)
            )
            found = self._named[name] = tuple(islice(others, 2))
        return found

    def _names_its_own(self, path: str, name: str) -> bool:
        """Return whether a file means functions of its own wherever it names one.

        A bare name is that of the module's function; after a dot, in an import or in a string it
        may be another's.
        """
        data = self.modules.data(path)
        defined = _DEFINED % re.escape(name.encode())
        if re.search(_FOREIGN.replace(b"%s", re.escape(name.encode())), data, re.MULTILINE):
            return False
        uses = len(re.findall(rb"\b%s\b" % re.escape(name.encode()), data))
        is_own = re.search(rb"^" + defined, data, re.MULTILINE) is not None
        return is_own or uses == len(re.findall(defined, data))

    def _is_beside_gevent(self, path: str) -> bool:
        """Return whether a file that no process imports belongs to a program without gevent.

        Plug-ins and jobs that are loaded by name are beside the program that loads them, so the
        nearest directory in which a deployed program starts decides; the root is ignored.
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
            if any(not process.is_casual for process in near):
                return True
            folder = os.path.dirname(folder)
        return False


_DEFINED = rb"(?:async[ \t]+)?(?:def|class)[ \t]+%s\b"
_FOREIGN = (
    rb"""[.]\s*%s\b|["']%s["']|^[ \t]*(?:from\b|import\b)[^\n]*\b%s\b"""
    rb"""|^[ \t]*from\b[^\n]*\([^)]*\b%s\b"""
)
"""A name that may be of another file's function."""
_PLAIN = frozenset({"staticmethod", "classmethod", "property", "cached_property", "lru_cache"})
"""Decorators that hand a function to nothing."""
_STARTING = frozenset({"spawn", "spawn_later", "start", "start_new_thread", "spawn_raw"})
"""Methods that begin something that runs beside the caller."""
_APPLICATIONS = ("app", "celery")
"""The names by which Celery finds the application of a module."""


def _later(way: Way) -> Way:
    """Return the path to a function that another one defines, and that something runs later.

    A handler's own functions run for the same request. What start-up or a command defines, anything
    may run.
    """
    if way.context in PROVEN or way.context == OTHER:
        return way
    return way._replace(context=UNKNOWN, is_certain=False, is_dead=True)


def _lasting(way: Way) -> Way:
    """Return the path to a method of an object that is made at start-up and used at any time."""
    if way.context != STARTUP:
        return way
    head = way.steps[0]
    text = f"made by {head.text.removeprefix(STARTUP).strip()}"
    steps = (head._replace(text=text), *way.steps[1:])
    return Way(UNKNOWN, steps, False, is_dead=True)


def _function_around(summary: ModuleSummary, scope: int) -> int:
    """Return the function around a scope, or 0 for the module; classes run with the module."""
    while scope > 0 and summary.scopes[scope].kind not in ("function", "lambda"):
        scope = summary.scopes[scope].parent
    return scope


def _is_within(summary: ModuleSummary, scope: int, outer: int) -> bool:
    """Return whether a scope is another one or is inside it."""
    while scope > 0 and scope != outer:
        scope = summary.scopes[scope].parent
    return scope == outer


def _row_of(summary: ModuleSummary, at: Path) -> int:
    """Return the row of the module's statement that contains a path."""
    statements = summary.scopes[0].statements
    return statements[at[0]][0] if at and 0 <= at[0] < len(statements) else 1


def _written(summary: ModuleSummary, index: int) -> str:
    """Return a function's display name: ``Bus.send()``."""
    scope = summary.scopes[index]
    if scope.kind == "lambda":
        return "a lambda"
    owner = summary.scopes[scope.parent]
    return f"{owner.name}.{scope.name}()" if owner.kind == "class" else f"{scope.name}()"
