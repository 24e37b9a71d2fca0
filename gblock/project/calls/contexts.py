"""Contexts of a call: a breadth-first search backwards through the call graph.

The search starts at the function around a call and follows its callers to the entry points: an
entry of the catalog, a module's statements, a function that is handed over. It finds `Way`
values; each function that it comes to is a `Visit`.
"""

from __future__ import annotations

import os
from collections import deque

from gblock.diagnostics import CONTEXTS
from gblock.project.calls.applications import Applications
from gblock.project.calls.branches import Branches
from gblock.project.calls.callers import Caller, Callers
from gblock.project.calls.concurrency import Concurrency
from gblock.project.calls.entries import Entries, Started
from gblock.project.calls.forks import Forks
from gblock.project.calls.handovers import Handovers
from gblock.project.calls.instances import Instances
from gblock.project.calls.interrupts import Interrupts
from gblock.project.calls.named_runs import NamedRuns
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.queues import Queues
from gblock.project.calls.running import Running
from gblock.project.calls.usage import Usage
from gblock.project.calls.visits import Visit, step_in
from gblock.project.calls.ways import (
    GREENLET,
    IDLE,
    NATIVE,
    OTHER,
    REQUEST,
    SHUTDOWN,
    UNKNOWN,
    Reached,
    Step,
    Way,
)
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import last_name, without_arguments
from gblock.project.reading.positions import row_is_main_guard
from gblock.project.reading.summary import ModuleSummary, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes
    from gblock.project.reading.import_graph import ImportGraph

_MOST_VISITS = 400
"""At most this many functions are visited for one call."""
_MOST_WAYS = 12
"""At most this many paths to one call are kept."""
_THREADS = frozenset({"gevent", "greenlet", "python"})
"""The frameworks whose threads and greenlets are objects that code of the project makes."""
_PLAIN = frozenset({"staticmethod", "classmethod", "property", "cached_property", "lru_cache"})
"""Decorators that hand a function to nothing."""


class Contexts:
    """Finds the contexts of calls.

    Args:
        inference: Type inference over the project.
        offloading: Finds the code that runs in native threads.
        forks: Finds the code that only a child process runs.
        interrupts: Finds the code that runs once the program ends.
        processes: Finds the processes of the project; None where the files are no project.
    """

    def __init__(
        self,
        inference: Inference,
        offloading: Offloading,
        forks: Forks,
        interrupts: Interrupts,
        processes: Callable[[], Processes] | None = None,
    ) -> None:
        self.inference = inference
        self.modules = inference.modules
        self.running = Running(inference.modules, processes)
        self._entries = Entries(inference, self.running.repository)
        self._applications = Applications(inference, self.running)
        self._callers = Callers(inference, self._graph, self._served)
        self._instances = Instances(inference)
        self._branches = Branches(inference)
        self._offloading = offloading
        self._queues = Queues(inference)
        self._named_runs = NamedRuns(inference)
        self._concurrency = Concurrency(inference, self.running)
        self._forks = forks
        self._interrupts = interrupts
        self._usage = Usage(inference.modules)
        self._handovers = Handovers(
            inference,
            offloading,
            self._entries,
            self._callers,
            self.running,
            self._concurrency,
            self._queues,
        )
        self._known: dict[Place, Reached] = {}
        self._asked: set[Place] = set()
        """The places whose contexts a search needs at the time."""
        self._started: dict[tuple[str, int], list[Started]] = {}
        self._leading_on: dict[tuple[str, int], tuple[list[Caller], frozenset[str]]] = {}

    def _served(self) -> frozenset[str]:
        processes = self.running.processes
        return processes.served if processes is not None else frozenset()

    def _graph(self) -> ImportGraph | None:
        processes = self.running.processes
        return processes.graph if processes is not None else None

    def of(
        self,
        place: Place,
        files: frozenset[str] | None = None,
        processes: Collection[Process] = (),
    ) -> Reached:
        """Return the contexts of the code at a place.

        Args:
            place: The place.
            files: The files that the processes in question can run: a path that begins elsewhere
                belongs to another process. None for all processes.
            processes: These processes, where more of them than their files matters.
        """
        found = self._known.get(place)
        if found is None:
            found = self._known[place] = self._search(place)
        if files is None or not found.ways:
            return found
        ways = tuple(
            way
            for way in found.ways
            if way.steps[0].path in files
            and self._is_begun_in(way, files)
            and (not processes or any(self.running.may_run(way, one) for one in processes))
        )
        return Reached(ways[0].context if ways else OTHER, ways)

    def _is_begun_in(self, way: Way, files: frozenset[str]) -> bool:
        """Return whether processes that can run some files may start the greenlet of a path.

        They may import the module that starts it and never call the function that does.
        """
        ways = self.of(way.begun).ways if way.begun is not None else ()
        starting = [one for one in ways if one.begun != way.begun]
        return not starting or any(
            one.steps[0].path in files and (one.context not in IDLE or self.running.is_work(one))
            for one in starting
        )

    # -- the search

    def _search(self, place: Place) -> Reached:
        ways = self._ways(place)
        if any(way.context not in (UNKNOWN, NATIVE) for way in ways):
            # A plain function without callers is dead code, or an API for other projects.
            ways = [way for way in ways if not way.is_dead]
        order = {context: number for number, context in enumerate(CONTEXTS)}
        ways = [self._in_its_thread(self._begun_elsewhere(way)) for way in ways]
        ways = [self.running.settled(way) for way in ways]
        ways.sort(key=lambda way: (order[way.context], not way.is_certain, len(way.steps)))
        if not ways:
            return Reached(UNKNOWN, ())
        return Reached(ways[0].context, tuple(ways[:_MOST_WAYS]))

    def _begun_elsewhere(self, way: Way) -> Way:
        """Return a path, in another process if only other processes start its greenlet.

        What only a function without callers starts is no more known than that function, where the
        services that may call it are known.
        """
        ways = self._starting(way.begun) if way.context not in IDLE else ()
        starting = [one for one in ways if one.begun != way.begun]
        known = [one for one in starting if not self.running.is_without_gevent(one)]
        if starting and not known:
            return way._replace(context=OTHER)
        is_dead = all(x.context == UNKNOWN and (x.is_dead or x.is_unused) for x in known)
        if known and is_dead and self.running.knows_services:
            return way._replace(context=UNKNOWN, is_dead=True)
        return way

    def _in_its_thread(self, way: Way) -> Way:
        """Return a path, in a native thread if only programs with native threads start it.

        Other programs may import the module that starts it.
        """
        starting = self._starting(way.thread) if way.context == GREENLET else ()
        is_native = bool(starting) and all(map(self._keeps_threads, starting))
        return way._replace(context=NATIVE) if is_native else way

    def _starting(self, place: Place | None) -> tuple[Way, ...]:
        """Return the paths to a place, none while they are being searched."""
        if place is None or place in self._asked:
            return ()
        self._asked.add(place)
        try:
            return self.of(place).ways
        finally:
            self._asked.discard(place)

    def _keeps_threads(self, way: Way) -> bool:
        """Return whether a thread that is started at the end of a path is a native one."""
        return way.context == NATIVE or self.running.keeps_threads(way.steps[0])

    def _ways(self, place: Place) -> list[Way]:
        """Return every path to a place, found breadth first."""
        index = self.modules.summary(place.path).function_around(place.scope)
        first = Visit(place.path, index, place.at, (), True, False)
        queue, seen = deque([first]), {first.key}
        ways: list[Way] = []
        while queue and len(seen) < _MOST_VISITS:
            visit = queue.popleft()
            ended, more = self._expanded(visit)
            if visit.is_lasting:
                ended = [way.lasting() for way in ended]
            ways += [way.later() for way in ended] if visit.is_kept else ended
            for onward in more:
                onward = onward._replace(
                    is_kept=onward.is_kept or visit.is_kept,
                    is_lasting=onward.is_lasting or visit.is_lasting,
                )
                if onward.key not in seen:
                    seen.add(onward.key)
                    queue.append(onward)
        return ways

    def _expanded(self, visit: Visit) -> tuple[list[Way], list[Visit]]:
        """Return the paths that begin in a function, and the places that run it."""
        visit = visit._replace(beside=self._concurrency.at(visit))
        summary = self.modules.summary(visit.path)
        if visit.scope == 0:
            return list(self._of_module(summary, visit)), []
        here = step_in(summary, visit.scope)
        if visit.steps and self._offloading.runs_natively(visit.path, visit.scope):
            return [Way(NATIVE, (here, *visit.steps), True)], []
        ways = list(self._of_entries(summary, visit, here))
        if summary.scopes[visit.scope].is_async and self.running.runs_asyncio_alone(visit.path):
            return ways or [Way(OTHER, (here, *visit.steps), True)], []
        callers, apart = self._callers_of(summary, visit.scope)
        steps = (here, *visit.steps)
        ways += (Way(context, steps, visit.is_certain) for context in sorted(apart))
        more = list(self._of_callers(callers, visit, here))
        for found in self._handovers.of(visit, here):
            if isinstance(found, Way):
                ways.append(found)
            else:
                more.append(found)
        if ways or more:
            return ways, more
        if visit.only is not None and callers:
            return [], []  # all calls select another handler
        nothing = self._of_nothing(summary, visit, here)
        parent = summary.scopes[visit.scope].parent
        is_method = summary.scopes[parent].kind == "class"
        if summary.function_around(parent) > 0 and not (is_method and nothing.is_unused):
            return [], [self._defining(summary, visit, here)]
        return [nothing], []

    def _callers_of(
        self, summary: ModuleSummary, index: int
    ) -> tuple[list[Caller], frozenset[str]]:
        """Return the callers of a function that lead on, and the contexts of those that do not.

        The paths to several calls often lead through the same functions.
        """
        key = (summary.filename, index)
        found = self._leading_on.get(key)
        if found is None:
            entries = self._entries_of(summary, index)
            is_sent = any(one.is_sent for one in entries)
            callers = [] if is_sent else list(self._callers.of(summary.filename, index))
            for entry in dict.fromkeys(one.entry for one in entries if one.entry is not None):
                callers += self._named_runs.callers(entry, summary)
            apart = [self._apart(one) for one in callers]
            onward = [one for one, context in zip(callers, apart, strict=True) if not context]
            found = self._leading_on[key] = onward, frozenset(filter(None, apart))
        return found

    def _apart(self, caller: Caller) -> str:
        """Return the context of a call if it is another than that of the code around it.

        A proxy makes the call in a native thread, a child process makes it, or a program that ends.
        """
        if self._is_through_proxy(caller):
            return NATIVE
        if self._forks.contain(caller.row, caller.path):
            return OTHER
        return SHUTDOWN if self._interrupts.contain(caller.row, caller.path) else ""

    def _is_through_proxy(self, caller: Caller) -> bool:
        """Return whether a proxy runs the function in a native thread where this one calls it."""
        expression = caller.expression
        place = Place(caller.path, caller.scope, caller.at)
        return expression is not None and self._offloading.is_through_proxy(expression, place)

    def _of_callers(self, callers: Iterable[Caller], visit: Visit, here: Step) -> Iterator[Visit]:
        """Yield the callers of a function that lead on."""
        steps = (here, *visit.steps)
        only = visit.only
        selecting = [x for x in callers if only is None or self._callers.may_select(x, only)]
        leading = self._branches.leading_to(selecting, visit)
        for one, instance in self._instances.leading_on(leading, visit):
            index = self.modules.summary(one.path).function_around(one.scope)
            is_certain = visit.is_certain and one.is_certain
            yield Visit(
                one.path,
                index,
                one.at,
                steps,
                is_certain,
                visit.beside,
                one.only,
                is_lasting=one.is_lasting,
                instance=instance,
            )

    def _defining(self, summary: ModuleSummary, visit: Visit, here: Step) -> Visit:
        """Return the function that defines a function without callers, or the class of a method.

        What a view or a factory of middleware returns, a framework calls in its place.
        """
        scope = summary.scopes[visit.scope]
        while summary.scopes[scope.parent].kind == "class":
            scope = summary.scopes[scope.parent]
        returned = (one.value for one in summary.scopes[scope.parent].returns)
        is_returned = any(last_name(one) == scope.name for one in returned)
        is_certain = visit.is_certain and is_returned
        steps = (here, *visit.steps)
        return Visit(visit.path, scope.parent, scope.path, steps, is_certain, False, is_kept=True)

    # -- the start of a path

    def _of_module(self, summary: ModuleSummary, visit: Visit) -> Iterator[Way]:
        """Yield the paths that begin in a module's statements."""
        started = self._entries.of_module(summary)
        step = Step(visit.path, _row_of(summary, visit.at), "")
        if started:
            for one in started:
                yield Way(one.context, (step._replace(text=one.label), *visit.steps), True)
            return
        if self.running.processes is None:
            yield Way(UNKNOWN, (step._replace(text="module level"), *visit.steps), True)
            return
        name = os.path.relpath(visit.path, self.modules.root)
        guarded = bool(visit.at) and row_is_main_guard(self.modules.data(visit.path), step.row)
        context = self.running.of_statements(visit.path, beside=visit.beside, guarded=guarded)
        yield Way(context, (step._replace(text=f"{context} {name}"), *visit.steps), True)

    def _is_never_made(self, summary: ModuleSummary, scope: Scope) -> bool:
        """Return whether nothing names the class of a thread or greenlet: none is made."""
        owner = summary.scopes[scope.parent]
        return owner.kind == "class" and not self._usage.is_named(owner.name, summary.filename)

    def _of_entries(self, summary: ModuleSummary, visit: Visit, here: Step) -> Iterator[Way]:
        """Yield the paths that begin with an entry that starts a function."""
        scope = summary.scopes[visit.scope]
        for started in self._entries_of(summary, visit.scope):
            application = self._entries.application(summary, scope)
            entry = started.entry
            queues = self._queues.of(entry, summary, scope) if entry is not None else None
            context = self.running.of_entry(
                started, visit.path, beside=visit.beside, application=application, queues=queues
            )
            steps = (here._replace(text=started.label), *visit.steps)
            is_certain = visit.is_certain and started.is_certain
            after_patch = entry is not None and entry.after_patch
            is_thread = entry is not None and entry.threaded and context == GREENLET
            thread = self._made_at(visit.path, scope.parent) if is_thread else None
            is_begun = started.is_wrapped and context == GREENLET
            is_unused = (
                entry is not None
                and entry.framework in _THREADS
                and context == GREENLET
                and self._is_never_made(summary, scope)
            )
            yield Way(
                context,
                steps,
                is_certain,
                is_unused=is_unused,
                begun=Place(visit.path, visit.scope, ()) if is_begun else None,
                thread=thread,
                after_patch=after_patch,
            )
        label = self._applications.label(visit.path, visit.scope)
        if label is not None:
            started = Started(REQUEST, "wsgi", label)
            context = self.running.of_entry(started, visit.path, beside=visit.beside)
            yield Way(context, (here._replace(text=label), *visit.steps), visit.is_certain)
        label = self._applications.factory_label(visit.path, visit.scope)
        if label is not None:
            context = self.running.of_statements(visit.path, beside=visit.beside, guarded=False)
            yield Way(context, (here._replace(text=label), *visit.steps), visit.is_certain)

    def _made_at(self, path: str, index: int) -> Place | None:
        """Return the place that makes the objects of a class, None if there are several."""
        makers = [place for _, place in self.inference.calling.callers(path, index)]
        return makers[0] if len(makers) == 1 else None

    def _entries_of(self, summary: ModuleSummary, index: int) -> list[Started]:
        key = (summary.filename, index)
        if key not in self._started:
            self._started[key] = self._entries.of(summary, index)
        return self._started[key]

    def _of_nothing(self, summary: ModuleSummary, visit: Visit, here: Step) -> Way:
        """Return the path that begins in a function without known callers."""
        scope = summary.scopes[visit.scope]
        owner = summary.scopes[scope.parent]
        context = self._without_callers(summary, visit)
        is_dead = context == UNKNOWN and owner.kind != "class"
        decorators = {last_name(without_arguments(one)) for one in scope.decorators}
        is_plain = decorators <= _PLAIN and not (owner.decorators or owner.bases)
        is_unused = (
            context == UNKNOWN
            and is_plain
            and scope.kind == "function"
            and not self._usage.is_named(scope.name, visit.path)
        )
        own = (scope, owner) if owner.kind == "class" else (scope,)
        is_private = (
            context == UNKNOWN
            and is_plain
            and scope.kind == "function"
            and any(self._is_private(one, visit.path) for one in own)
        )
        return Way(
            context,
            (here, *visit.steps),
            visit.is_certain,
            is_dead,
            is_unused,
            is_private,
            is_offered=self._is_offered(summary, visit.scope),
        )

    def _is_private(self, scope: Scope, path: str) -> bool:
        """Return whether a function or class has a private name that nothing else mentions."""
        name = scope.name
        is_special = name.startswith("__") and name.endswith("__")
        return name.startswith("_") and not is_special and not self._usage.is_named(name, path)

    def _is_offered(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether something may run a function that calls it in no way that is known.

        A container keeps it, or the objects of its class, or a call is given it; or a decorator or
        a base class of its class is of a package whose entry points the catalog does not list.
        """
        scope = summary.scopes[index]
        keeping, calling = self._callers.keeping, self.inference.calling
        if keeping.containers(summary, index) or calling.handovers(summary.filename, index):
            return True
        owner = summary.scopes[scope.parent]
        place = Place(summary.filename, scope.parent, scope.path)
        decorators = [
            one for one in map(without_arguments, scope.decorators) if last_name(one) not in _PLAIN
        ]
        for decorator in decorators:
            values = self.inference.infer(decorator, place)
            if not values or any(map(self._is_outside, values)):
                return True
        if owner.kind != "class":
            return False
        if keeping.of_objects(summary, scope.parent):
            return True
        ancestry = self.inference.classes.ancestry(summary.filename, scope.parent)
        return any(map(self._is_outside, ancestry))

    def _is_outside(self, value: v.Value) -> bool:
        """Return whether a value is of a package whose entry points the catalog does not list."""
        return isinstance(value, v.SymbolValue) and self.inference.catalog.is_unlisted(value.symbol)

    def _without_callers(self, summary: ModuleSummary, visit: Visit) -> str:
        """Return the context of a function without known callers, judging by its file."""
        scope = summary.scopes[visit.scope]
        if scope.name == "main" and scope.parent == 0 and self.running.processes is not None:
            return self.running.of_statements(visit.path, beside=visit.beside, guarded=True)
        started = self._entries.of_module(summary)
        if started:
            return started[0].context
        return OTHER if self.running.is_beside_gevent(visit.path) else UNKNOWN


def _row_of(summary: ModuleSummary, at: Path) -> int:
    """Return the row of the module's statement that contains a path."""
    statements = summary.scopes[0].statements
    return statements[at[0]][0] if at and 0 <= at[0] < len(statements) else 1
