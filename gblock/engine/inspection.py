"""Inspection of the files that triage selected, by inference and rules."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gblock import catalog, rules
from gblock.candidate import Candidate
from gblock.diagnostics import Location, Related
from gblock.engine.assessment import Assessment
from gblock.engine.looking import Looking
from gblock.files import relative_name
from gblock.project.calls.cooperation import Cooperation
from gblock.project.calls.offloading import Offloading
from gblock.project.calls.sites import Site, Sites, Unresolved
from gblock.project.names.inference import Inference
from gblock.project.reading.modules import TOO_DEEP, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Protocol

    from gblock.call_rule import CallRule
    from gblock.catalog.drivers import Driver
    from gblock.codebase import Codebase
    from gblock.engine.request import Request
    from gblock.engine.wanted import Wanted
    from gblock.project.processes.processes import Processes
    from gblock.project.processes.surroundings import Surroundings
    from gblock.project.remarks import Remarks
    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service
    from gblock.project.triage.triage import Triage

    class Begun(Protocol):
        """A pending read of the files that start processes."""

        def result(self) -> Surroundings:
            """Wait for the result and return it."""


_MOST_NOTES = 10
"""More deployment files that could not be read are counted: a tree of templates has hundreds."""


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
        always: set[str] = set()
        if not self.selection.is_plain:
            by_kind = {kind: rule for rule in rules.load_all() for kind in rule.kinds}
            kept = {b.id for b in loaded.blockers if self.selection.reports(b, by_kind[b.kind])}
            always = {
                b.id
                for b in loaded.blockers
                if b.uploaded and self.selection.asks_for(b, by_kind[b.kind].name)
            }
        assumed = request.config.assume_cooperative
        known = loaded.only(
            lambda blocker: blocker.id in kept,
            lambda driver: self._looks_for(driver, assumed),
            lambda blocker: blocker.id in always,
        )
        inference = Inference(self.modules, known)
        self._cooperation = Cooperation(
            inference, assumed, (lambda: self.processes) if self.is_project else None
        )
        self._sites = Sites(inference, Offloading(inference), self._cooperation)
        self.assessment = Assessment(
            self._sites,
            self._cooperation,
            lambda: self.processes,
            lambda: self._service.order,
            is_project=self.is_project,
            keeps_paths=request.show_paths,
            assumes_gevent=self._assumes_gevent or self._all_processes,
        )

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
        assessment = self.assessment
        return [
            one
            for one in found
            if not assessment.is_of_another_version(one.diagnostic)
            if not assessment.is_left_out(one)
        ]

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

    def keep(self) -> None:
        """Keep what was read of the project, for later runs."""
        if "processes" in vars(self):
            self.processes.keep()

    @property
    def notes(self) -> list[str]:
        """Notes on the files that start processes and could not be parsed: the first ones."""
        if "processes" not in vars(self):
            return []
        every = self.processes.notes
        found = [
            f"{relative_name(note.filename)}{f':{note.row}' if note.row else ''}: {note.message}"
            for note in sorted(every)[:_MOST_NOTES]
        ]
        if len(every) > _MOST_NOTES:
            found.append(
                f"{len(every) - _MOST_NOTES} more such places in files that start processes: "
                "`gblock processes` lists them"
            )
        return found

    @cached_property
    def presence(self) -> str | None:
        """The evidence that gevent is used, if no process is known to run on it.

        Empty if there is none, or if a native thread has the only hub; None if some process may run
        on gevent, or the files are no project.
        """
        from gblock.project.processes import presence

        if not self.is_project:
            return None
        around = self._around.result()
        if around.speaks_of_gevent and self.processes.may_have_gevent:
            return None
        if not (self._has_marks or presence.is_deployable(around.deployment)):
            return None
        return "" if self.processes.apart else presence.presence(self.modules, around.deployment)

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
        inference = self._sites.inference
        unpatched = Unpatched(inference, self._outlines, self._unpatched, assumed)
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
