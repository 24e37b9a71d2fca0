"""The assessment of candidates: the context of a call, its cause and its severity."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from gblock import rules
from gblock.candidate import Candidate
from gblock.diagnostics import Diagnostic, Location, Related, Repair, Severity
from gblock.files import relative_name
from gblock.project.calls.contexts import Contexts
from gblock.project.calls.ways import (
    GREENLET,
    IDLE,
    NATIVE,
    NOTED,
    PROVEN,
    REQUEST,
    STARTUP,
    UNKNOWN,
    Way,
)
from gblock.project.names.places import Place
from gblock.project.reading.bindings import IMPORTED
from gblock.repairs import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.catalog.blockers import Blocker
    from gblock.project.calls.cooperation import Cooperation
    from gblock.project.calls.sites import Sites
    from gblock.project.calls.usage import OtherFiles
    from gblock.project.calls.ways import Reached, Step
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes
    from gblock.project.processes.recipes import Recipes
    from gblock.project.remarks.order import Order

_SUNDRY = frozenset({"os", "builtins"})
"""Modules of the standard library whose functions have nothing to do with one another."""
_CLIENTS = frozenset({"sqlite3"})
"""Modules of the standard library that are clients of one thing, which all code shares."""
_LARGE = 20
"""Modules: in a project of as many, a function that nothing names is taken for unused."""
_FEW = 8
"""Modules: fewer may be an excerpt or a sketch, in which nothing calls the functions yet."""
_LASTING = ("spawns",)
"""Kinds of blockers whose effect outlasts the call."""
_FUNCTIONS = 200
"""At most this many functions with queries are searched for their contexts."""
_COUNTED = {rules.OF_DRIVERS: ("query", "queries")}
"""By rule, the words for the calls that run through what it reports, if not ``calls``."""


class Assessment:
    """Assesses the candidates of one project.

    Args:
        sites: Finds the sites; its inference and its offloading are used.
        cooperation: The remedies that the project's processes call.
        processes: Returns the project's processes.
        order: Returns the order of start-up in these processes.
        is_project: True if the files have processes of their own.
        keeps_paths: True to keep all paths to a call, not only the shortest.
        assumes_gevent: True to take what no process is known to run for code on gevent.
    """

    def __init__(
        self,
        sites: Sites,
        cooperation: Cooperation,
        processes: Callable[[], Processes],
        order: Callable[[], Order],
        *,
        is_project: bool,
        keeps_paths: bool,
        assumes_gevent: bool = False,
    ) -> None:
        self._sites = sites
        self._modules = sites.inference.modules
        self._catalog = sites.inference.catalog
        self._cooperation = cooperation
        self._processes_of = processes
        self._order = order
        self._is_project = is_project
        self._keeps_paths = keeps_paths
        self._assumes_gevent = assumes_gevent

    @property
    def _processes(self) -> Processes:
        return self._processes_of()

    def _blocker(self, diagnostic: Diagnostic) -> Blocker | None:
        """Return the blocker that a diagnostic is about, None if it is about none."""
        return self._catalog.by_id.get(diagnostic.blocker or "")

    def is_of_another_version(self, diagnostic: Diagnostic) -> bool:
        """Return whether a blocker does not block in any version that the project pins."""
        blocker = self._blocker(diagnostic)
        if blocker is None or not self._is_project:
            return False
        bounds = ((blocker.distribution, blocker.versions), ("gevent", blocker.with_gevent))
        return any(
            versions is not None
            and self._processes.deployment.requirements.excludes(distribution, versions)
            for distribution, versions in bounds
        )

    def is_left_out(self, candidate: Candidate) -> bool:
        """Return whether a call is of a package that is tried beside one that is required.

        The project does not require it: ``try: import fast as client`` fails where it runs.
        """
        blocker = self._blocker(candidate.diagnostic)
        if blocker is None or candidate.place is None or not self._is_project:
            return False
        path, package = candidate.place.path, _package(candidate.diagnostic.symbol or "")
        names = [
            [
                (_package(one.value.module), len(one.path) > 1)  # in a statement of the module
                for one in bindings
                if one.kind == IMPORTED and not one.value.level
            ]
            for bindings in self._modules.summary(path).scopes[0].bindings.values()
        ]
        beside = [one for one in names if (package, True) in one]
        if not any(map(_has_several, beside)) or any((package, False) in one for one in names):
            return False
        required = self._processes.deployment.requirements
        if blocker.distribution == "stdlib" or blocker.distribution in required:
            return False
        return not required.may_bring(package) and any(
            required.may_bring(other) for one in beside for other, _ in one
        )

    def in_context(self, candidate: Candidate) -> Diagnostic:
        """Return a diagnostic with its call's contexts, its cause and its severity."""
        diagnostic = candidate.diagnostic
        diagnostic = diagnostic._replace(
            cause=diagnostic.cause or self._cause(diagnostic),
            repair=diagnostic.repair or self._recipe(diagnostic),
        )
        if candidate.place is None:
            return self._with_calls(diagnostic, candidate) if candidate.calls else diagnostic
        if self._serves(diagnostic):
            way = (Related(diagnostic.filename, diagnostic.location, "request"),)
            place, severity = candidate.place, diagnostic.severity
            context = self._contexts.running.of_handler(place.path)
            inside = self._modules.summary(place.path).function_around(place.scope) > 0
            if inside and self._is_unused(self._contexts.of(place)):
                severity = Severity.NOTE
            return diagnostic._replace(
                severity=severity, context=context, path=way, paths=(way,) * self._keeps_paths
            )
        files, lacking = candidate.files, self._lacking(diagnostic, candidate.place.path)
        if files:
            lacking = ()
        elif lacking:
            files = frozenset[str]().union(*map(self._processes.modules_of, lacking))
        reached = self._contexts.of(candidate.place, files, lacking)
        severity = diagnostic.severity
        if self._is_native(diagnostic, reached):
            return diagnostic._replace(severity=Severity.NOTE, context=NATIVE)
        if reached.context == STARTUP and self._is_of_kind(diagnostic, *_LASTING):
            pass  # what it starts, or switches on, is there in every request
        elif (
            reached.context in NOTED
            or self._is_unused(reached)
            or (candidate.computes and not reached.is_proven)
            or (candidate.is_open and self._is_project and self._is_short(reached))
            or self._is_computing(diagnostic, reached)
            or self._is_apart(diagnostic, candidate.place.path, reached)
        ):
            severity = Severity.NOTE
        elif not reached.is_proven:
            severity = min(severity, Severity.WARNING)
        context, found = reached.context, reached.ways
        if candidate.is_native:
            severity, context = Severity.NOTE, NATIVE
            found = tuple(way for way in found if way.context == NATIVE) or found
        called = [Related(diagnostic.filename, diagnostic.location, _called(diagnostic))]
        last = called if diagnostic.symbol is not None else []  # a loop calls nothing
        ways = tuple((*map(_related, way.steps), *last) for way in found)
        return diagnostic._replace(
            severity=severity,
            context=context,
            path=ways[0] if ways else (),
            paths=ways if self._keeps_paths else (),
            entries=len({way.steps[0][:2] for way in found if way.steps}),
        )

    def _lacking(self, diagnostic: Diagnostic, path: str) -> tuple[Process, ...]:
        """Return the processes that lack a remedy which others have, none if all lack it."""
        blocker = self._blocker(diagnostic)
        if not self._is_project or blocker is None or not blocker.cooperative_after:
            return ()
        lacking = self._cooperation.lacking(blocker, path)
        return () if set(lacking) >= set(self._processes.on_gevent(path)) else lacking

    def _is_native(self, diagnostic: Diagnostic, reached: Reached) -> bool:
        """Return whether what a call starts, or waits for, is a native thread.

        It comes before the patch, or its processes leave ``threading`` as it is.
        """
        blocker = self._blocker(diagnostic)
        if blocker is None or not self._is_project:
            return False
        if blocker.kind != "spawns" and not blocker.threaded:
            return False
        heads = {way.steps[0].path for way in reached.ways if way.steps}
        if heads and all(self._contexts.running.of_thread(path) != GREENLET for path in heads):
            return True
        if reached.context != STARTUP or blocker.kind != "spawns":
            return False
        starting = [way for way in reached.ways if way.context == STARTUP]
        if any(way.after_patch for way in starting):
            return False
        return all(self._order().precedes_patch(way.steps[0].path) for way in starting)

    def _with_calls(self, diagnostic: Diagnostic, candidate: Candidate) -> Diagnostic:
        """Return a diagnostic with the calls that run through it, each with its context."""
        found: dict[tuple[str, int], tuple[str, tuple[Related, ...]]] = {}
        related: list[Related] = []
        for call in candidate.calls:
            path, scope = call.place.path, call.place.scope
            if (path, scope) not in found and len(found) < _FUNCTIONS:
                reached = self._contexts.of(Place(path, scope, ()), candidate.files)
                way = reached.ways[0].steps if reached.ways else ()
                found[path, scope] = reached.context, tuple(map(_related, way))
            context, steps = found.get((path, scope), ("", ()))
            if context in IDLE or context in NOTED:
                continue
            message = f"{_last_names(call.symbol)}()"
            where = Location(call.row, call.column + 1)
            related.append(Related(relative_name(path), where, message, context, steps))
        if not related:
            return diagnostic
        heads = {one.path[0][:2] for one in related if one.path and one.context in PROVEN}
        handlers = f" in {len(heads)} handler{'s' if len(heads) > 1 else ''}" if heads else ""
        is_beside = bool(heads) or not self._is_project or not self._processes.only_gather
        one, several = _COUNTED.get(diagnostic.code, ("call", "calls"))
        calls = f"1 {one}" if len(related) == 1 else f"{len(related)} {several}"
        return diagnostic._replace(
            severity=diagnostic.severity if is_beside else Severity.NOTE,
            message=f"{diagnostic.message}: {calls}{handlers}",
            related=(*diagnostic.related, *related),
        )

    def _is_unused(self, reached: Reached) -> bool:
        """Return whether nothing in a service uses the code around a call.

        The public functions of a library, of which no process is known, are for others to use. In a
        small project that imports no such function into a server, one may be about to get its first
        caller; but no private one.
        """
        if self._is_project and reached.is_private:
            return True
        if not (self._is_project and reached.is_unused and self._is_deployed):
            return False
        heads = {way.steps[0].path for way in reached.ways}
        if not self._is_large and (self._is_sketch or not all(map(self._is_of_server, heads))):
            return False
        names = {_named_as(way) for way in reached.ways}
        return not any(map(self._other_files.may_name, names))

    def _is_of_server(self, path: str) -> bool:
        """Return whether a file is code of servers on gevent alone, and not of a library."""
        running = [p for p in self._processes.reaching(path) if p.is_deployed and not p.is_casual]
        return (
            any(p.is_known_server and p.runs_on_gevent == "yes" for p in running)
            and not any(p.open for p in self._processes.all())
            and not self._other_files.is_published
        )

    @cached_property
    def _other_files(self) -> OtherFiles:
        from gblock.project.calls.usage import OtherFiles

        return OtherFiles(self._contexts.running.repository())

    @cached_property
    def _is_deployed(self) -> bool:
        """True if something starts a process of the project that may run on gevent."""
        return any(
            process.is_deployed and process.runs_on_gevent != "no" and not process.is_casual
            for process in self._processes.all()
        )

    @cached_property
    def _is_sketch(self) -> bool:
        """True if the files are so few that a function may be about to get its first caller."""
        return len(self._modules.serving) < _FEW

    @cached_property
    def _is_large(self) -> bool:
        """True if a function without known callers is hardly one that was written just now."""
        return len(self._modules.serving) >= _LARGE

    def _is_short(self, reached: Reached) -> bool:
        """Return whether a loop of unknown length is likely to be short: a handler's, a service's.

        A script whose start is not known may well be a job over all that there is.
        """
        return self._is_started or reached.context == REQUEST

    @cached_property
    def _is_started(self) -> bool:
        """True if something starts a process of the project."""
        return any(p.is_deployed and not p.is_casual for p in self._processes.all())

    @cached_property
    def _is_served(self) -> bool:
        """True if something starts a server of the project whose application is known."""
        return any(p.is_deployed and p.is_known_server for p in self._processes.all())

    def _is_computing(self, diagnostic: Diagnostic, reached: Reached) -> bool:
        """Return whether a call computes where no request or greenlet is known to make it.

        A command, a test or a set-up may compute as long as it likes, and most computing code whose
        callers are unknown is one of these. In loose files, and in a small project of which no
        process is known, contexts are unknown, which is no reason to hide a diagnostic.
        """
        if not self._is_project:
            return False
        if self._is_of_kind(diagnostic, "costly"):
            return not reached.is_proven
        is_unknown = reached.context not in PROVEN
        is_known = self._is_deployed or self._is_served or self._is_large
        return is_unknown and self._is_of_kind(diagnostic, "cpu") and is_known

    def _is_apart(self, diagnostic: Diagnostic, path: str, reached: Reached) -> bool:
        """Return whether a call of unknown callers is probably not the service's.

        The call blocks only beside greenlets of a process that never patches, which may load much
        code that it never runs in one; the services on gevent are known, and in a project of some
        size nothing is seen to keep or to take the function, or none of them imports the module;
        the known server that runs the module is without gevent, as is all else that starts; or the
        call waits for a program or a file of this machine, as set-ups and administrators' commands
        do.
        """
        if not self._is_project or reached.context != UNKNOWN:
            return False
        if diagnostic.code == rules.OF_UNPATCHED[0] and not self._is_sketch:
            return True
        if self._is_of_kind(diagnostic, *_LASTING):
            return False
        if self._processes.no_service_imports(path):
            return True
        if self._processes.knows_services and self._is_of_own(reached):
            return True
        if not self._assumes_gevent and self._processes.only_served_without(path):
            return True
        blocker = self._blocker(diagnostic)
        return blocker is not None and blocker.local and self._is_large and self._is_started

    def _is_of_own(self, reached: Reached) -> bool:
        """Return whether nothing is likely to run what a path begins in.

        A small project may be an excerpt, in which nothing calls a function yet, and others import
        a published one.
        """
        return self._is_large and not reached.is_offered and not self._other_files.is_published

    def _serves(self, diagnostic: Diagnostic) -> bool:
        """Return whether a diagnostic is about a handler, which runs in a request."""
        blocker = self._blocker(diagnostic)
        return blocker is not None and blocker.serves

    def _is_of_kind(self, diagnostic: Diagnostic, *kinds: str) -> bool:
        """Return whether a diagnostic is about a blocker of one of some kinds."""
        blocker = self._blocker(diagnostic)
        return blocker is not None and blocker.kind in kinds

    def _cause(self, diagnostic: Diagnostic) -> str:
        """Return the cause that one change fixes: a recipe, a setting, a client, or a file's calls.

        The calls of a package that waits are mended together, in all files: by another driver or
        client, or by a wrapper around the connection. What computes is mended where it is called,
        and so is a wait that a loop with other methods of the object replaces.
        """
        blocker = self._blocker(diagnostic)
        if blocker is None:
            row = diagnostic.location.row
            return f"{diagnostic.code}:{diagnostic.filename}:{row}"
        if blocker.cooperative_after:
            return f"without {blocker.cooperative_after[0]}"
        if blocker.shared_cause:
            return f"{diagnostic.code}:{blocker.shared_cause}"
        package = blocker.distribution
        fix = KINDS.get(blocker.fix or "")
        is_client = blocker.kind == "waits" and not (fix is not None and fix.needs_class)
        if package == "stdlib":
            module = blocker.symbols[0].partition(".")[0]
            package = blocker.id if module in _SUNDRY else module
            is_client = module in _CLIENTS
        # A thread that offloads nothing is mended with the call that it runs.
        code = diagnostic.code
        if code == "false-offload":
            code = "cpu-bound-call" if blocker.kind == "cpu" else "blocking-call"
        return f"{code}:{package}" if is_client else f"{code}:{package}:{diagnostic.filename}"

    def _recipe(self, diagnostic: Diagnostic) -> Repair | None:
        """Return where a call belongs that makes the diagnostic's driver cooperative."""
        if not self._is_project or diagnostic.blocker is None:
            return None
        known = self._catalog
        blocker = known.by_id.get(diagnostic.blocker)
        if blocker is None and diagnostic.code == rules.OF_DRIVERS:
            blocker = self._of_driver(diagnostic.blocker)
        if blocker is None or blocker.fix != "recipe":
            return None
        symbol, path = blocker.cooperative_after[0], os.path.abspath(diagnostic.filename)
        needs = blocker.fix_needs or (blocker.distribution,)
        found = self._recipes.places(symbol, path, needs)
        places = tuple((relative_name(file), row) for file, row in found)
        return Repair("recipe", (symbol,), places) if places else None

    def _of_driver(self, name: str) -> Blocker | None:
        """Return the blocker that a query through a driver calls."""
        known = self._catalog
        driver = next((one for one in known.drivers if one.id == name), None)
        return known.blocker_of(driver) if driver is not None else None

    @cached_property
    def _recipes(self) -> Recipes:
        """The places of recipes in the project's processes."""
        from gblock.project.processes.recipes import Recipes

        return Recipes(self._processes)

    def is_idle(self, diagnostic: Diagnostic) -> bool:
        """Return whether no greenlet of a service runs a call."""
        return diagnostic.context in IDLE or (
            diagnostic.context == NATIVE and not self._keeps_gil(diagnostic)
        )

    def _keeps_gil(self, diagnostic: Diagnostic) -> bool:
        """Return whether a native thread does not help a diagnostic's call."""
        blocker = self._blocker(diagnostic)
        return blocker is not None and blocker.releases_gil is False

    @cached_property
    def _contexts(self) -> Contexts:
        processes = (lambda: self._processes) if self._is_project else None
        sites = self._sites
        return Contexts(sites.inference, sites.offloading, sites.forks, sites.interrupts, processes)


def _related(step: Step) -> Related:
    return Related(relative_name(step.path), Location(step.row, 1), step.text)


def _called(diagnostic: Diagnostic) -> str:
    """Return the last two parts of the callee's name: ``Producer.flush()``."""
    return f"{_last_names(diagnostic.symbol or '')}()"


def _last_names(symbol: str) -> str:
    """Return the last two parts of a dotted name."""
    return ".".join(symbol.split(".")[-2:])


def _package(symbol: str) -> str:
    """Return the package of a dotted name."""
    return symbol.partition(".")[0]


def _has_several(imported: list[tuple[str, bool]]) -> bool:
    """Return whether a name is imported from several packages."""
    return len({package for package, _ in imported}) > 1


def _named_as(way: Way) -> str:
    """Return the name by which other files may use what a path begins in: a thread by its class."""
    names = way.steps[0].text.partition("(")[0].rpartition(" ")[2].split(".")
    return names[-2] if way.context == GREENLET and len(names) > 1 else names[-1]
