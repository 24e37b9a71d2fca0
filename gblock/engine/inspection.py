"""What the rules find in the files that triage left: the heavy half of a check."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gblock import catalog, rules
from gblock.diagnostics import Candidate, Diagnostic, Location, Related, Severity
from gblock.engine.looking import Looking
from gblock.files import relative_name
from gblock.project.calls.contexts import IDLE, NOTED, Contexts
from gblock.project.calls.cooperation import Cooperation
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.sites import Site, Sites, Unresolved
from gblock.project.names.inference import Inference
from gblock.project.reading.modules import TOO_DEEP, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Protocol

    from gblock.call_rule import CallRule
    from gblock.catalog import Driver
    from gblock.codebase import Codebase
    from gblock.engine.request import Request
    from gblock.engine.wanted import Wanted
    from gblock.project.calls.contexts import Step
    from gblock.project.processes.processes import Processes
    from gblock.project.processes.surroundings import Surroundings
    from gblock.project.remarks import Remarks
    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service
    from gblock.project.triage.triage import Triage

    class Begun(Protocol):
        """What starts processes, being read."""

        def result(self) -> Surroundings:
            """Wait for it."""


class Searched(NamedTuple):
    """What another process found out of some files."""

    readable: list[str]
    promising: list[str]
    """Those of them in which something may have to be reported."""
    unresolved: dict[str, list[Related]]
    """The calls in them that could not be judged."""
    problems: dict[str, Trouble]


class Inspection:
    """Looks at one file after another of a project.

    Args:
        codebase: The files.
        wanted: What is looked for.
        request: What was asked for.
        triage: What the project imports.
        around: Begins to read what starts processes; it is called at most once.

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
        """Whether the files have processes of their own: loose files may run anywhere."""
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
        """What `search` has found here."""
        # A project need import nothing else of the catalog than what runs code elsewhere.
        roots = triage.roots(self.modules.files).union(wanted.outlines.offloading)
        kept = {chunk.id for chunk in wanted.vocabulary.blockers}
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
        """Inspect a file that triage chose; `candidates` returns what was found."""
        try:
            self._looked[path] = self._found(path)
        except RecursionError:
            self.modules.problems[path] = TOO_DEEP

    def search(self, paths: list[str]) -> Searched:
        """Inspect some files as far as libcst is not needed; another process may do that."""
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
        """Take in what another process has found out."""
        self._unresolved.update(searched.unresolved)
        self.modules.problems.update(searched.problems)

    def prepare(self) -> None:
        """Begin to read what starts processes, where another process can."""
        _ = self._around

    def remark(self, remarks: Remarks, paths: list[str]) -> Collection[str]:
        """Look for what the rules about processes report.

        Args:
            remarks: The rules about processes that run.
            paths: The files that may hold something.

        Returns:
            The files that do.
        """
        if paths:
            self._remarked = remarks.of(self._service, paths)
        return self._remarked

    # -- what was found

    def candidates(self, path: str) -> list[Candidate]:
        """Return what the rules about calls report of a file.

        To be asked once all files have been looked at: only then it is known which processes run
        them.
        """
        found = self._looked.get(path, [])
        if found and self.is_project and self.processes.has_native_threads(path):
            return self._found(path, self._native)
        return found

    def runs_elsewhere(self, path: str) -> bool:
        """Return whether only processes without gevent run a file, which the request leaves out."""
        if self._all_processes:
            return False
        if self._assumes_gevent:
            return self.processes.has_gevent and self.processes.only_without_gevent(path)
        return self.presence == "" or self.processes.only_without_gevent(path)

    def remarked(self, path: str) -> list[Candidate]:
        """Return what the rules about processes report of a file."""
        found = []
        for name, remark in self._remarked.get(path, ()):
            span = remark.span
            rows = remark.statement or (span.row, span.end_row)
            (rule,) = rules.load_process_rules([name])
            diagnostic = rule.diagnostic(remark, relative_name)
            found.append(Candidate(diagnostic, rows, remark.place))
        return found

    def in_context(self, candidate: Candidate) -> Diagnostic:
        """Return a diagnostic with who runs its call, what caused it, and how bad that is."""
        diagnostic = candidate.diagnostic
        diagnostic = diagnostic._replace(cause=diagnostic.cause or self._cause(diagnostic))
        if candidate.place is None:
            return diagnostic
        reached = self._contexts.of(candidate.place)
        severity = diagnostic.severity
        if reached.context in NOTED or (not reached.is_proven and self._is_costly(diagnostic)):
            severity = Severity.NOTE
        elif not reached.is_proven:
            severity = min(severity, Severity.WARNING)
        called = Related(diagnostic.filename, diagnostic.location, _called(diagnostic))
        ways = tuple((*map(_related, way.steps), called) for way in reached.ways)
        return diagnostic._replace(
            severity=severity,
            context=reached.context,
            path=ways[0] if ways else (),
            paths=ways if self._show_paths else (),
        )

    def _is_costly(self, diagnostic: Diagnostic) -> bool:
        """Return whether one call is cheap, so that it matters only in a request or a greenlet.

        In loose files who runs a call is never known, and no reason to keep silent.
        """
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        return self.is_project and blocker is not None and blocker.kind == "costly"

    def _cause(self, diagnostic: Diagnostic) -> str:
        """Return what one change would mend: a recipe that is missing, or one file's calls."""
        blocker = self._sites.inference.catalog.by_id.get(diagnostic.blocker or "")
        if blocker is None:
            row = diagnostic.location.row
            return f"{diagnostic.code}:{diagnostic.filename}:{row}"
        if blocker.cooperative_after:
            return f"without {blocker.cooperative_after[0]}"
        package = blocker.id if blocker.distribution == "stdlib" else blocker.distribution
        return f"{diagnostic.code}:{package}:{diagnostic.filename}"

    def is_idle(self, diagnostic: Diagnostic) -> bool:
        """Return whether no greenlet of a service runs a call."""
        return diagnostic.context in IDLE

    @cached_property
    def _contexts(self) -> Contexts:
        processes = (lambda: self.processes) if self.is_project else None
        return Contexts(self._sites.inference, self._sites.offloading, processes)

    def unresolved(self, paths: list[str]) -> list[Related]:
        """Return the calls in some files that could not be judged."""
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
        """What could not be understood of the files that start processes."""
        if "processes" not in vars(self):
            return []
        return [
            f"{relative_name(note.filename)}{f':{note.row}' if note.row else ''}: {note.message}"
            for note in self.processes.notes
        ]

    @cached_property
    def presence(self) -> str | None:
        """What says that gevent is used, where no process is known to run on it.

        It is empty where nothing does, and None where some process may run on gevent, or the files
        are no project.
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

    # -- the parts

    @cached_property
    def processes(self) -> Processes:
        """The processes of the project."""
        from gblock.project.processes.processes import Processes

        return Processes(self._sites.inference, around=self._around.result())

    @cached_property
    def _service(self) -> Service:
        from gblock.project.calls.unpatched import Unpatched
        from gblock.project.remarks.service import Service

        assumed = tuple(self._cooperation.assumed)
        unpatched = Unpatched(self.modules, self._outlines, self._unpatched, assumed)
        return Service(self.processes, unpatched)

    @cached_property
    def _native(self) -> Sites:
        """Finds the sites of files whose processes leave ``threading`` as it was."""
        inference = self._sites.inference
        return Sites(inference, Offloading(inference, patched=False), self._cooperation)

    @cached_property
    def _around(self) -> Begun:
        """What starts processes; asked for as soon as something may be reported."""
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
        """Return the sites of a file, none if nothing is to be reported of any."""
        summary = self.modules.summary(path)
        before = len(self._sites.unresolved)
        sites = finder.of(path, self._triage.names(path))
        unresolved = self._sites.unresolved[before:]
        if unresolved:
            self._unresolved[path] = [_unresolved(call) for call in unresolved]
        if summary is None or not any(finder.can_be_reported(s, summary) for s in sites):
            return []
        return sites

    def _visited(self, path: str, sites: list[Site], finder: Sites) -> list[Candidate]:
        """Let the rules look; only here libcst is imported."""
        import libcst

        from gblock.call_rule import Together
        from gblock.source import Source

        summary, text = self.modules.summary(path), self.modules.text(path)
        if summary is None or text is None:
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
    """Return the last two names of what is called: ``Producer.flush()``."""
    return f"{'.'.join((diagnostic.symbol or '').split('.')[-2:])}()"
