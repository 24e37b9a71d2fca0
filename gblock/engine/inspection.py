"""Inspection of the files that triage selected, by inference and rules."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gblock import catalog, rules
from gblock.diagnostics import Candidate, Diagnostic, Location, Related, Repair, Severity
from gblock.engine.looking import Looking
from gblock.files import relative_name
from gblock.project.calls.contexts import Contexts
from gblock.project.calls.cooperation import Cooperation
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.sites import Site, Sites, Unresolved
from gblock.project.calls.ways import IDLE, NATIVE, NOTED, PROVEN, STARTUP, UNKNOWN
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.modules import TOO_DEEP, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Protocol

    from gblock.call_rule import CallRule
    from gblock.catalog.blockers import Blocker
    from gblock.catalog.drivers import Driver
    from gblock.codebase import Codebase
    from gblock.engine.request import Request
    from gblock.engine.wanted import Wanted
    from gblock.project.calls.usage import OtherFiles
    from gblock.project.calls.ways import Reached, Step
    from gblock.project.processes.processes import Processes
    from gblock.project.processes.recipes import Recipes
    from gblock.project.processes.surroundings import Surroundings
    from gblock.project.remarks import Remarks
    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service
    from gblock.project.triage.triage import Triage

    class Begun(Protocol):
        """A pending read of the files that start processes."""

        def result(self) -> Surroundings:
            """Wait for the result and return it."""


_SUNDRY = frozenset({"os", "builtins"})
"""Modules of the standard library whose functions have nothing to do with one another."""
_LARGE = 20
"""Modules: in a project of as many, a function that nothing names is taken for unused."""
_FEW = 8
"""Modules: fewer may be an excerpt or a sketch, in which nothing calls the functions yet."""
_LASTING = ("spawns",)
"""Kinds of blockers whose effect outlasts the call."""
_FUNCTIONS = 200
"""At most this many functions with queries are searched for their contexts."""


class Searched(NamedTuple):
    """The results of another process for some files."""

    readable: list[str]
    promising: list[str]
    """Those of them in which something may have to be reported."""
    unresolved: dict[str, list[Related]]
    """The calls in them that could not be judged."""
    problems: dict[str, Trouble]


class Inspection:
    """Inspects the files of a project one after another.

    Args:
        codebase: The files.
        wanted: The rules, the blockers and their words.
        request: The paths and the settings.
        triage: Finds the packages that the project imports.
        around: Starts to read the files that start processes; called at most once.

    Raises:
        UserError: if a catalog is wrong.
    """

    def __init__(
        self,
        codebase: Codebase,
        wanted: Wanted,
        request: Request,
        triage: Triage,
        around: Callable[[], Begun],
    ) -> None:
        self.modules = codebase.modules
        self._triage = triage
        self.selection = wanted.selection
        self.is_project = codebase.is_project
        """True if the files have processes of their own: loose files may run anywhere."""
        self._has_marks = codebase.has_marks
        self._all_processes = request.all_processes or not self.is_project
        self._assumes_gevent = request.assume_gevent or request.observed is not None
        self._begin = around
        self._show_paths = request.show_paths
        self._outlines, self._unpatched = wanted.outlines, wanted.unpatched
        self._remarked: dict[str, list[tuple[str, Remark]]] = {}
        self._unresolved: dict[str, list[Related]] = {}
        self._rules: list[type[CallRule]] | None = None
        self._looked: dict[str, list[Candidate]] = {}
        self._searched: dict[str, list[Site]] = {}
        """The results of `search` in this process."""
        # A project may import nothing of the catalog but the packages that run code elsewhere.
        roots = triage.roots(self.modules.files).union(wanted.outlines.offloading)
        kept = {chunk.id for chunk in wanted.vocabulary.blockers}
        self._loaded = roots
        loaded = catalog.parse_all(wanted.outlines, roots)
        if not self.selection.is_plain:
            by_kind = {kind: rule for rule in rules.load_all() for kind in rule.kinds}
            kept = {b.id for b in loaded.blockers if self.selection.reports(b, by_kind[b.kind])}
        assumed = request.config.assume_cooperative
        known = loaded.only(
            lambda blocker: blocker.id in kept,
            lambda driver: self._looks_for(driver, assumed),
        )
        inference = Inference(self.modules, known)
        self._cooperation = Cooperation(
            inference, assumed, (lambda: self.processes) if self.is_project else None
        )
        self._sites = Sites(inference, Offloading(inference), self._cooperation)

    def _looks_for(self, driver: Driver, assumed: tuple[str, ...]) -> bool:
        """Return whether a driver that a string chooses is reported."""
        if not self.selection.reports_of(driver, rules.OF_DRIVERS):
            return False
        return not {driver.id, driver.distribution, *driver.requires} & {*assumed}

    # -- one file after another

    def look(self, path: str) -> None:
        """Inspect a file that triage selected; `candidates` returns the results."""
        try:
            self._looked[path] = self._found(path)
        except RecursionError:
            self.modules.problems[path] = TOO_DEEP

    def forget(self, path: str) -> None:
        """Drop the results for a file that has changed."""
        for results in (self._looked, self._searched, self._remarked, self._unresolved):
            results.pop(path, None)

    def search(self, paths: list[str]) -> Searched:
        """Inspect some files as far as possible without libcst, possibly in another process."""
        promising = [path for path in paths if self._promises(path)]
        return Searched(paths, promising, self._unresolved, self.modules.problems)

    def _promises(self, path: str) -> bool:
        with Looking(path):
            try:
                self._searched[path] = sites = self._sites_of(path, self._sites)
            except RecursionError:
                return True  # `look` reports it
            return bool(sites)

    def take(self, searched: Searched) -> None:
        """Store the results of another process."""
        self._unresolved.update(searched.unresolved)
        self.modules.problems.update(searched.problems)

    def prepare(self) -> None:
        """Start to read the files that start processes, if another process is free."""
        _ = self._around

    def remark(self, remarks: Remarks, paths: list[str]) -> Collection[str]:
        """Run the rules about processes.

        Args:
            remarks: The rules about processes to run.
            paths: The files that may have remarks.

        Returns:
            The files that have remarks.
        """
        if paths:
            self._remarked = remarks.of(self._service, paths)
        return self._remarked

    # -- results

    def candidates(self, path: str) -> list[Candidate]:
        """Return the candidates of the rules about calls in a file.

        Call it after all files are inspected: only then are the processes that run them known.
        """
        found = self._looked.get(path, [])
        if found and self.is_project and self.processes.has_native_threads(path):
            found = self._found(path, self._native)
        return [one for one in found if not self._is_of_another_version(one.diagnostic)]

    def _is_of_another_version(self, diagnostic: Diagnostic) -> bool:
        """Return whether a blocker does not block in any version that the project pins."""
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        if blocker is None or not self.is_project:
            return False
        bounds = ((blocker.distribution, blocker.versions), ("gevent", blocker.with_gevent))
        return any(
            versions is not None
            and self.processes.deployment.requirements.excludes(distribution, versions)
            for distribution, versions in bounds
        )

    def runs_elsewhere(self, path: str) -> bool:
        """Return whether only processes without gevent run a file, so that it is not reported."""
        if self._all_processes:
            return False
        if self._assumes_gevent:
            return self.processes.has_gevent and self.processes.only_without_gevent(path)
        return self.presence == "" or self.processes.only_without_gevent(path)

    def remarked(self, path: str) -> list[Candidate]:
        """Return the diagnostics of the rules about processes in a file."""
        found = []
        for name, remark in self._remarked.get(path, ()):
            span = remark.span
            rows = remark.statement or (span.row, span.end_row)
            (rule,) = rules.load_process_rules([name])
            diagnostic = rule.diagnostic(remark, relative_name)
            place = remark.place
            files, calls = remark.files, remark.calls
            found.append(Candidate(diagnostic, rows, place, files, calls, computes=rule.computes))
        return found

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
            context = self._contexts.running.of_handler(candidate.place.path)
            return diagnostic._replace(context=context, path=way, paths=(way,) * self._show_paths)
        files = candidate.files or self._of_lacking(diagnostic, candidate.place.path)
        reached = self._contexts.of(candidate.place, files)
        severity = diagnostic.severity
        if self._is_native(diagnostic, reached):
            return diagnostic._replace(severity=Severity.NOTE, context=NATIVE)
        if reached.context == STARTUP and self._is_of_kind(diagnostic, *_LASTING):
            pass  # what it starts, or switches on, is there in every request
        elif (
            reached.context in NOTED
            or self._is_unused(reached)
            or (candidate.computes and not reached.is_proven)
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
            paths=ways if self._show_paths else (),
        )

    def _of_lacking(self, diagnostic: Diagnostic, path: str) -> frozenset[str] | None:
        """Return the files of the processes that lack a remedy which others have.

        None if no process lacks it, or all do.
        """
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        if not self.is_project or blocker is None or not blocker.cooperative_after:
            return None
        lacking = self._cooperation.lacking(blocker, path)
        if not lacking or set(lacking) >= set(self.processes.on_gevent(path)):
            return None
        return frozenset[str]().union(*map(self.processes.modules_of, lacking))

    def _is_native(self, diagnostic: Diagnostic, reached: Reached) -> bool:
        """Return whether what a call starts is a native thread: it comes before the patch."""
        if reached.context != STARTUP or not self._is_of_kind(diagnostic, "spawns"):
            return False
        if not self.is_project:
            return False
        starting = [way for way in reached.ways if way.context == STARTUP]
        if any(way.after_patch for way in starting):
            return False
        heads = {way.steps[0].path for way in starting}
        return all(map(self._service.order.precedes_patch, heads))

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
        queries = "1 query" if len(related) == 1 else f"{len(related)} queries"
        return diagnostic._replace(
            message=f"{diagnostic.message}: {queries}{handlers}",
            related=(*diagnostic.related, *related),
        )

    def _is_unused(self, reached: Reached) -> bool:
        """Return whether nothing in a service uses the code around a call.

        The public functions of a library, of which no process is known, are for others to use. In a
        small project that imports no such function into a server, one may be about to get its first
        caller.
        """
        if not (self.is_project and reached.is_unused and self._is_deployed):
            return False
        heads = {way.steps[0].path for way in reached.ways}
        is_sketch = len(self.modules.serving) < _FEW
        if not self._is_large and (is_sketch or not all(map(self._is_of_server, heads))):
            return False
        names = {way.steps[0].text.partition("(")[0].rpartition(".")[2] for way in reached.ways}
        return not any(map(self._other_files.may_name, names))

    def _is_of_server(self, path: str) -> bool:
        """Return whether a file is code of servers on gevent alone, and not of a library."""
        running = [p for p in self.processes.reaching(path) if p.is_deployed and not p.is_casual]
        return (
            any(p.is_known_server and p.runs_on_gevent == "yes" for p in running)
            and not any(p.open for p in self.processes.all())
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
            for process in self.processes.all()
        )

    @cached_property
    def _is_large(self) -> bool:
        """True if a function without known callers is hardly one that was written just now."""
        return len(self.modules.serving) >= _LARGE

    @cached_property
    def _is_started(self) -> bool:
        """True if something starts a process of the project."""
        return any(p.is_deployed and not p.is_casual for p in self.processes.all())

    @cached_property
    def _is_served(self) -> bool:
        """True if something starts a server of the project whose application is known."""
        return any(p.is_deployed and p.is_known_server for p in self.processes.all())

    def _is_computing(self, diagnostic: Diagnostic, reached: Reached) -> bool:
        """Return whether a call computes where no request or greenlet is known to make it.

        A command, a test or a set-up may compute as long as it likes, and most computing code whose
        callers are unknown is one of these. In loose files, and in a project of which no process is
        known, contexts are unknown, which is no reason to hide a diagnostic.
        """
        if not self.is_project:
            return False
        if self._is_of_kind(diagnostic, "costly"):
            return not reached.is_proven
        is_unknown = reached.context not in PROVEN
        is_started = self._is_deployed or self._is_served
        return is_unknown and self._is_of_kind(diagnostic, "cpu") and is_started

    def _is_apart(self, diagnostic: Diagnostic, path: str, reached: Reached) -> bool:
        """Return whether a call of unknown callers is probably not the service's.

        A service on gevent is known to start and does not import the module, or the call runs
        another program, as set-ups and administrators' commands do.
        """
        if not self.is_project or reached.context != UNKNOWN:
            return False
        if self._is_of_kind(diagnostic, *_LASTING):
            return False
        if self.processes.no_service_imports(path):
            return True
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        return blocker is not None and blocker.runs_program and self._is_large and self._is_started

    def _serves(self, diagnostic: Diagnostic) -> bool:
        """Return whether a diagnostic is about a handler, which runs in a request."""
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        return blocker is not None and blocker.serves

    def _is_of_kind(self, diagnostic: Diagnostic, *kinds: str) -> bool:
        """Return whether a diagnostic is about a blocker of one of some kinds."""
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        return blocker is not None and blocker.kind in kinds

    def _cause(self, diagnostic: Diagnostic) -> str:
        """Return the cause that one change fixes: a recipe, a setting, or a package in one file."""
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        if blocker is None:
            row = diagnostic.location.row
            return f"{diagnostic.code}:{diagnostic.filename}:{row}"
        if blocker.cooperative_after:
            return f"without {blocker.cooperative_after[0]}"
        if blocker.shared_cause:
            return f"{diagnostic.code}:{blocker.shared_cause}"
        package = blocker.distribution
        if package == "stdlib":
            module = blocker.symbols[0].partition(".")[0]
            package = blocker.id if module in _SUNDRY else module
        # A thread that offloads nothing is mended with the call that it runs.
        code = "blocking-call" if diagnostic.code == "false-offload" else diagnostic.code
        return f"{code}:{package}:{diagnostic.filename}"

    def _recipe(self, diagnostic: Diagnostic) -> Repair | None:
        """Return where a call belongs that makes the diagnostic's driver cooperative."""
        if not self.is_project or diagnostic.blocker is None:
            return None
        known = self._sites.inference.catalog
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
        known = self._sites.inference.catalog
        driver = next((one for one in known.drivers if one.id == name), None)
        return known.blocker_of(driver) if driver is not None else None

    @cached_property
    def _recipes(self) -> Recipes:
        """The places of recipes in the project's processes."""
        from gblock.project.processes.recipes import Recipes

        return Recipes(self.processes)

    def is_idle(self, diagnostic: Diagnostic) -> bool:
        """Return whether no greenlet of a service runs a call."""
        return diagnostic.context in IDLE or (
            diagnostic.context == NATIVE and not self._keeps_gil(diagnostic)
        )

    def _keeps_gil(self, diagnostic: Diagnostic) -> bool:
        """Return whether a native thread does not help a diagnostic's call."""
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        return blocker is not None and blocker.releases_gil is False

    @cached_property
    def _contexts(self) -> Contexts:
        processes = (lambda: self.processes) if self.is_project else None
        return Contexts(self._sites.inference, self._sites.offloading, processes)

    def unresolved(self, paths: list[str]) -> list[Related]:
        """Return the calls in some files whose receivers have an unknown type."""
        return [call for path in paths for call in self._unresolved.get(path, ())]

    def judged(self) -> frozenset[str] | None:
        """Return the names that this check looked for, None for all of them."""
        if self.selection.is_default:
            return None
        running = [rule.name for rule in rules.load_all() if self.selection.runs(rule)]
        known = self._sites.inference.catalog
        ids = {blocker.id for blocker in known.blockers}
        return frozenset(running) | ids | {driver.id for driver in known.drivers}

    @property
    def notes(self) -> list[str]:
        """Notes on the files that start processes and could not be parsed."""
        if "processes" not in vars(self):
            return []
        return [
            f"{relative_name(note.filename)}{f':{note.row}' if note.row else ''}: {note.message}"
            for note in self.processes.notes
        ]

    @cached_property
    def presence(self) -> str | None:
        """The evidence that gevent is used, if no process is known to run on it.

        Empty if there is none; None if some process may run on gevent, or the files are no project.
        """
        from gblock.project.processes import presence

        if not self.is_project:
            return None
        around = self._around.result()
        if around.speaks_of_gevent and self.processes.may_have_gevent:
            return None
        if not (self._has_marks or presence.is_deployable(around.deployment)):
            return None
        return presence.presence(self.modules, around.deployment)

    # -- parts

    @cached_property
    def processes(self) -> Processes:
        """The processes of the project."""
        from gblock.project.processes.processes import Processes

        return Processes(self._sites.inference, around=self._around.result())

    @cached_property
    def _service(self) -> Service:
        from gblock.project.calls.queries import Queries
        from gblock.project.calls.unpatched import Unpatched
        from gblock.project.remarks.service import Service

        assumed = tuple(self._cooperation.assumed)
        unpatched = Unpatched(self.modules, self._outlines, self._unpatched, assumed)
        queries = Queries(self._sites.inference, self._outlines, self._loaded)
        return Service(self.processes, unpatched, queries)

    @cached_property
    def _native(self) -> Sites:
        """Finds the sites of files whose processes leave ``threading`` unpatched."""
        inference = self._sites.inference
        return Sites(inference, Offloading(inference, patched=False), self._cooperation)

    @cached_property
    def _around(self) -> Begun:
        """The surroundings of the project; needed once something may be reported."""
        return self._begin()

    def _found(self, path: str, finder: Sites | None = None) -> list[Candidate]:
        sites = None if finder else self._searched.pop(path, None)
        finder = finder or self._sites
        if sites is None:
            sites = self._sites_of(path, finder)
        if not sites:
            return []
        if not self._all_processes:
            self.prepare()
        return self._visited(path, sites, finder)

    def _sites_of(self, path: str, finder: Sites) -> list[Site]:
        """Return the sites of a file, none if no rule may report any."""
        summary = self.modules.summary(path)
        before = len(self._sites.unresolved)
        sites = finder.of(path, self._triage.names(path))
        unresolved = self._sites.unresolved[before:]
        if unresolved:
            self._unresolved[path] = [_unresolved(call) for call in unresolved]
        if not any(finder.can_be_reported(s, summary) for s in sites):
            return []
        return sites

    def _visited(self, path: str, sites: list[Site], finder: Sites) -> list[Candidate]:
        """Return the candidates of the rules; a check that finds no site never imports libcst."""
        import libcst

        from gblock.call_rule import Together
        from gblock.source import Source

        summary, text = self.modules.summary(path), self.modules.text(path)
        if text is None or not self.modules.parses(path):
            return []
        if self._rules is None:
            self._rules = [r for r in rules.load_call_rules() if self.selection.runs(r)]
        source = Source(path, relative_name(path), text, summary, sites, finder)
        looking = [rule(source) for rule in self._rules]
        together = Together(looking)
        try:
            for fragment in source.fragments():
                fragment.module.visit(together)
        except libcst.ParserSyntaxError as error:
            message = f"libcst cannot parse what Python can: {error.message}"
            place = error.raw_line, error.raw_column + 1
            self.modules.problems[path] = Trouble(message, place, "limit")
        return [one for rule in looking for one in rule.candidates]


def _unresolved(call: Unresolved) -> Related:
    message = f"`{call.name}()` is called on {call.cause}"
    return Related(relative_name(call.path), Location(call.row, call.column + 1), message)


def _related(step: Step) -> Related:
    return Related(relative_name(step.path), Location(step.row, 1), step.text)


def _called(diagnostic: Diagnostic) -> str:
    """Return the last two parts of the callee's name: ``Producer.flush()``."""
    return f"{_last_names(diagnostic.symbol or '')}()"


def _last_names(symbol: str) -> str:
    """Return the last two parts of a dotted name."""
    return ".".join(symbol.split(".")[-2:])
