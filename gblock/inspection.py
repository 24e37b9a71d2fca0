"""What the rules find in the files that triage left: the heavy half of a run."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gblock import catalog, rules
from gblock.diagnostics import Diagnostic, Location, Related, Severity
from gblock.files import relative_name
from gblock.patterns import Patterns
from gblock.project.cooperation import Cooperation
from gblock.project.inference import Inference
from gblock.project.offloading import Offloading
from gblock.project.sites import Site, Sites
from gblock.suppressions import Suppressions, read

if TYPE_CHECKING:
    from collections.abc import Collection

    from gblock.catalog import Driver
    from gblock.engine import Run
    from gblock.jobs import Job, Jobs
    from gblock.project.modules import Trouble
    from gblock.project.processes import Processes
    from gblock.project.remarks import Remark, Remarks
    from gblock.project.surroundings import Surroundings
    from gblock.project.triage import Triage
    from gblock.rule import Rule

_UNUSED = "unused-ignore"


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
        run: What was asked for.
        triage: What the project imports.
        jobs: Who reads meanwhile what processes are told from.

    Raises:
        UserError: if a catalog is wrong.
    """

    def __init__(self, run: Run, triage: Triage, jobs: Jobs) -> None:
        self.modules = run.modules
        self._triage = triage
        self.selection = run.selection
        self.suppressed = 0
        self.elsewhere = 0
        """Diagnostics in files that only processes without gevent run."""
        self._all_processes = run.all_processes or not run.is_project
        self._jobs = jobs
        self._exclude = run.config.exclude
        self._remarked: dict[str, list[tuple[str, Remark]]] = {}
        self._unresolved: dict[str, list[Related]] = {}
        self._rules: list[type[Rule]] | None = None
        self._looked: dict[str, list[tuple[Diagnostic, tuple[int, int]]]] = {}
        self._searched: dict[str, list[Site]] = {}
        """What `search` has found here."""
        self._per_file = [
            (Patterns(run.config.root, [pattern]), frozenset(names))
            for pattern, names in run.config.per_file_ignores
        ]
        # A project need import nothing else of the catalog than what runs code elsewhere.
        roots = triage.roots(self.modules.files).union(run.outlines.offloading)
        kept = {chunk.id for chunk in run.vocabulary.blockers}
        loaded = catalog.parse_all(run.outlines, roots)
        if not self.selection.is_plain:
            by_kind = {kind: rule for rule in rules.load_all() for kind in rule.kinds}
            kept = {b.id for b in loaded.blockers if self.selection.reports(b, by_kind[b.kind])}
        assumed = run.config.assume_cooperative
        known = loaded.only(
            lambda blocker: blocker.id in kept,
            lambda driver: self._looks_for(driver, assumed),
        )
        inference = Inference(self.modules, known)
        self._cooperation = Cooperation(
            inference,
            assumed,
            (lambda: self._processes) if run.is_project else None,
        )
        self._sites = Sites(inference, Offloading(inference), self._cooperation)
        self._is_project = run.is_project
        self._outlines, self._unpatched = run.outlines, run.unpatched

    def _looks_for(self, driver: Driver, assumed: tuple[str, ...]) -> bool:
        """Whether a driver that a string chooses is reported."""
        if not self.selection.reports_of(driver, rules.OF_DRIVERS):
            return False
        return not {driver.id, driver.distribution, *driver.requires} & {*assumed}

    def look(self, path: str) -> None:
        """Inspect a file that triage chose; `diagnostics` tells what was found."""
        try:
            self._looked[path] = self._found(path)
        except RecursionError:
            self.modules.problems[path] = ("nests too deep to be inspected: exclude it", None)

    def search(self, paths: list[str]) -> Searched:
        """Inspect some files as far as libcst is not needed; another process may do that."""
        promising = [path for path in paths if self._promises(path)]
        return Searched(paths, promising, self._unresolved, self.modules.problems)

    def _promises(self, path: str) -> bool:
        try:
            self._searched[path] = sites = self._sites_of(path, self._sites)
        except RecursionError:
            return True  # `look` tells
        return bool(sites)

    def take(self, searched: Searched) -> None:
        """Take in what another process has found out."""
        self._unresolved.update(searched.unresolved)
        self.modules.problems.update(searched.problems)

    def unresolved(self, paths: list[str]) -> list[Related]:
        """The calls in some files that could not be judged."""
        return [call for path in paths for call in self._unresolved.get(path, ())]

    def prepare(self) -> None:
        """Let what processes are told from be read meanwhile, where another process can."""
        _ = self._around

    def remark(self, remarks: Remarks, paths: list[str]) -> Collection[str]:
        """Look for what is to be said about processes.

        Args:
            remarks: The rules about processes that run.
            paths: The files that may hold something.

        Returns:
            The files that do.
        """
        if paths:
            self._remarked = remarks.of(self._processes, paths)
        return self._remarked

    def diagnostics(self, path: str) -> list[Diagnostic]:
        """What is reported of one file.

        To be asked once all files have been looked at: only then it is known which processes run
        them. If the file was not looked at only its comments matter.
        """
        found = [*self._looked.get(path, ())]
        if found and self._is_project and self._processes.has_native_threads(path):
            found = self._found(path, self._native)
        if found and not self._all_processes and self._processes.only_without_gevent(path):
            self.elsewhere += len(found)
            found = []
        found += self._worded(path)
        data = self.modules.data(path)
        comments = None
        if b"gblock:" in data:
            text = self.modules.text(path)
            comments = read(text) if text is not None else None
        ignored = self._ignored(path)
        shown: list[Diagnostic] = []
        for diagnostic, rows in found:
            if ignored & {diagnostic.code, diagnostic.blocker} or (
                comments is not None and comments.hides(diagnostic, *rows)
            ):
                self.suppressed += 1
            else:
                shown.append(diagnostic)
        if comments is not None and _UNUSED not in ignored:
            shown += self._unused(path, comments)
        return shown

    def _worded(self, path: str) -> list[tuple[Diagnostic, tuple[int, int]]]:
        """What the rules about processes say of one file, each with the rows of its statement."""
        remarks = self._remarked.get(path, ())
        if not remarks:
            return []
        from gblock.rule import ProcessRule

        found = []
        for name, remark in remarks:
            rule = rules.load(name)
            assert issubclass(rule, ProcessRule)
            span = remark.span
            rows = remark.statement or (span.row, span.end_row)
            found.append((rule.diagnostic(remark, relative_name), rows))
        return found

    @cached_property
    def _processes(self) -> Processes:
        from gblock.project.processes import Processes
        from gblock.project.unpatched import Unpatched

        unpatched = Unpatched(
            self.modules, self._outlines, self._unpatched, tuple(self._cooperation.assumed)
        )
        return Processes(self._sites.inference, around=self._around.result(), unpatched=unpatched)

    @cached_property
    def _native(self) -> Sites:
        """Finds the sites of files whose processes leave ``threading`` as it was."""
        inference = self._sites.inference
        return Sites(inference, Offloading(inference, patched=False), self._cooperation)

    @cached_property
    def _around(self) -> Job[Surroundings]:
        """What processes are told from; asked for as soon as something may be reported."""
        return self._jobs.add(self._read_around)

    def _read_around(self) -> Surroundings:
        from gblock.project import surroundings

        return surroundings.read(self.modules, self.modules.root, self._exclude)

    @property
    def notes(self) -> list[str]:
        """What could not be understood of the files that start processes."""
        if "_processes" not in vars(self):
            return []
        return [f"{relative_name(n.filename)}: {n.message}" for n in self._processes.notes]

    def _ignored(self, path: str) -> frozenset[str | None]:
        """The names that the configuration ignores in one file."""
        return frozenset[str | None]().union(
            *(names for patterns, names in self._per_file if patterns.verdict(path))
        )

    def _found(
        self, path: str, finder: Sites | None = None
    ) -> list[tuple[Diagnostic, tuple[int, int]]]:
        sites = None if finder else self._searched.pop(path, None)
        finder = finder or self._sites
        if sites is None:
            sites = self._sites_of(path, finder)
        if not sites:
            return []
        if not self._all_processes:
            self.prepare()
        self._jobs.tend()
        return self._visited(path, sites, finder)

    def _sites_of(self, path: str, finder: Sites) -> list[Site]:
        """The sites of a file, none if nothing is to be reported of any."""
        summary = self.modules.summary(path)
        before = len(self._sites.unresolved)
        sites = finder.of(path, self._triage.names(path))
        unresolved = self._sites.unresolved[before:]
        if unresolved:
            self._unresolved[path] = [_unresolved(*call) for call in unresolved]
        if summary is None or not any(finder.can_be_reported(s, summary) for s in sites):
            return []
        return sites

    def _visited(
        self, path: str, sites: list[Site], finder: Sites
    ) -> list[tuple[Diagnostic, tuple[int, int]]]:
        """Let the rules look; only here libcst is imported."""
        import libcst

        from gblock.rule import Together
        from gblock.source import Source

        summary, text = self.modules.summary(path), self.modules.text(path)
        if summary is None or text is None:
            return []
        if self._rules is None:
            self._rules = [rule for rule in rules.load_all() if self.selection.runs(rule)]
        source = Source(path, relative_name(path), text, summary, sites, finder)
        looking = [rule(source) for rule in self._rules]
        together = Together(looking)
        try:
            for fragment in source.fragments():
                fragment.module.visit(together)
        except libcst.ParserSyntaxError as error:
            self.modules.problems[path] = (
                f"libcst cannot read what Python can: {error.message}; exclude it, and tell us",
                (error.raw_line, error.raw_column + 1),
            )
        return [one for rule in looking for one in rule.diagnostics]

    def _unused(self, path: str, comments: Suppressions) -> list[Diagnostic]:
        """The comments that hid nothing."""
        if not self.selection.runs(rules.load(_UNUSED)):
            return []
        judged = None if self.selection.is_default else self._judged()
        return [
            Diagnostic(
                filename=relative_name(path),
                location=unused.location,
                end_location=unused.end_location,
                code=_UNUSED,
                severity=Severity.WARNING,
                message=unused.message,
                help=unused.help,
            )
            for unused in comments.unused(self.selection.names, judged)
        ]

    def _judged(self) -> frozenset[str]:
        """The names that this run looked for."""
        running = [rule.name for rule in rules.load_all() if self.selection.runs(rule)]
        known = self._sites.inference.catalog
        ids = {blocker.id for blocker in known.blockers}
        return frozenset(running) | ids | {driver.id for driver in known.drivers}


def _unresolved(path: str, row: int, column: int, name: str) -> Related:
    message = f"what {name} is called on cannot be told"
    return Related(relative_name(path), Location(row, column + 1), message)
