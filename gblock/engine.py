"""Files in, one report out: the only place that decides what is reported and what is hidden."""

from __future__ import annotations

import gc
import os
from functools import cached_property

from gblock import files, rules
from gblock.decoding import is_utf_8
from gblock.outline import Outlines
from gblock.project.modules import WORDS, Modules
from gblock.project.triage import Triage
from gblock.project.vocabulary import both
from gblock.project.words import written
from gblock.selection import GROUPS, Selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gblock.config import Config
    from gblock.diagnostics import Diagnostic, Problem, Related, Report
    from gblock.inspection import Inspection, Searched
    from gblock.jobs import Job, Jobs
    from gblock.observations import Confirmation, Observations
    from gblock.outline import Outline
    from gblock.project.modules import Trouble
    from gblock.project.processes import Processes
    from gblock.project.remarks import Remarks

    Checked = tuple[list[str], dict[str, Trouble]]
    """Of files that were dropped those to look at all the same, and what cannot be read."""

_PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", ".hg")
_GEVENT = tuple(word.encode() for word in WORDS)
_LARGEST = 10_000_000
"""Bytes: a larger file is not parsed. It is generated, and its tree would take gigabytes."""
_FEW = 4
"""Files: for fewer no second process is worth its start."""
_VERY_MANY = 1000
"""Files: in a larger project two processes look at half of them each, before any is parsed."""
_MANY = 300
"""Files: in a larger project it pays to spare memory and time by other means."""
_OTHERS = (1, 3)
"""Of five files that do not hang together those that the other process searches: starting it
takes as long as to search a few."""
_PARSED_ANYWAY = 2_000_000
"""Bytes: how much of what triage drops is parsed all the same, to tell of syntax errors."""


class Run:
    """One check of some paths.

    Args:
        paths: What the user named.
        config: The project's settings.
        select: Names from the command line; they replace the configuration's.
        ignore: Names from the command line; they are added to the configuration's.
        stdin: The name and the bytes of a file that is given and not read, such as an editor's.
        force_exclude: Whether files that are named are left out like those that are found.
        all_processes: Whether to report files, too, that only processes without gevent run.
        python: The environment whose packages are looked at, instead of the configuration's.
        on_progress: Called with the number of files done and to do.
        jobs: How many processes may work at a time, 0 for one for each CPU.

    Raises:
        UserError: for a name that does not exist, a catalog that is wrong, or an environment
            that cannot be read.
    """

    def __init__(
        self,
        paths: Sequence[str],
        config: Config,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        stdin: tuple[str, bytes] | None = None,
        force_exclude: bool = False,
        all_processes: bool = False,
        python: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        jobs: int = 1,
    ) -> None:
        self.config = config
        self._number_of_jobs = jobs
        self.all_processes = all_processes
        self.on_progress = on_progress
        self.outlines = Outlines(config.extend_catalog)
        asked = {rules.OF_PACKAGES, "all"}.intersection(select or config.select)
        if asked and rules.OF_PACKAGES not in (*ignore, *config.ignore):
            self.outlines.add(self._unknown_packages(python or config.python))
        selection = Selection(select or config.select, (*ignore, *config.ignore), self.outlines)
        self.selection = selection
        self._verify(select, ignore)
        known = written() if selection.is_plain and self.outlines.is_built_in else None
        self.vocabulary, self.unpatched = both(self.outlines, selection.may_report, known)
        """What blocks only without gevent's patch: ordinary runs look for none of it."""
        self._originals = known.originals if known else None
        found = files.find(paths, config.exclude, config.root, force_exclude=force_exclude)
        self.problems: list[Problem] = list(found.problems)
        self._parsed = 0
        self._is_complete = False
        self.notes = found.notes
        reported = list(found.absolute)
        if stdin is not None:
            reported.append(os.path.abspath(stdin[0]))
        self.root = config.root if config.filename else project_root(paths)
        self.modules = Modules(self.root, list(reported), config.src)
        if stdin is not None:
            self.modules.give(reported[-1], stdin[1])
        named = {os.path.abspath(path) for path in paths if not os.path.isdir(path)}
        tops = [os.path.abspath(path) for path in paths if os.path.isdir(path)]
        self._tops = sorted((os.path.join(top, "") for top in tops), key=len, reverse=True)
        self._are_tests: dict[str, bool] = {}
        self.tests = [
            path
            for path in reported
            if "test" in path and (force_exclude or path not in named) and self._is_test(path)
        ]
        skipped = set(self.tests)
        self.reported = [path for path in reported if path not in skipped]
        self.modules.service = frozenset(self.reported)
        self.covers_project = self.root in tops

    def _unknown_packages(self, python: str | None) -> Outline:
        from gblock import catalog, environment, verdicts

        known = catalog.parse_all(self.outlines)
        return verdicts.unknown(environment.read(python), known)

    def _verify(self, select: Sequence[str], ignore: Sequence[str]) -> None:
        """Make sure that what was named exists."""
        verify, settings = self.selection.verify, self.config.filename or "configuration"
        verify(select, "--select", GROUPS)
        verify(ignore, "--ignore")
        verify(self.config.select, f"{settings}: select", GROUPS)
        verify(self.config.ignore, f"{settings}: ignore")
        for _, names in self.config.per_file_ignores:
            verify(names, f"{settings}: per-file-ignores")

    def _is_test(self, path: str) -> bool:
        """Whether a file that was found is a test; below a named directory of tests none is."""
        from gblock.project.testcode import is_test

        prefix = next((prefix for prefix in self._tops if path.startswith(prefix)), "")
        top = prefix[:-1] or prefix or self.root
        if top not in self._are_tests:
            self._are_tests[top] = any(
                is_test(os.path.join(top, "x.py"), r, self.modules.data)
                for r in (self.root, os.path.dirname(top))
            )
        return not self._are_tests[top] and is_test(path, top, self.modules.data)

    def report(
        self, *, min_severity: str | None = None, observed: Observations | None = None
    ) -> Report:
        """Do it."""
        from gblock.diagnostics import Report, Severity

        triage = Triage(self.modules, self.vocabulary)
        if len(self.modules.files) > _VERY_MANY:
            self._survey(triage)
        inspection, inspected = self._inspected(triage)
        diagnostics: list[Diagnostic] = []
        suppressed, elsewhere, unresolved = 0, 0, []
        if inspection is not None:
            for path in inspected:
                diagnostics += inspection.diagnostics(path)
            suppressed, elsewhere = inspection.suppressed, inspection.elsewhere
            unresolved = inspection.unresolved(inspected)
            self.notes += inspection.notes
        self.note_problems()
        unexplained: tuple[Related, ...] = ()
        unchecked = 0
        if observed is not None:
            from gblock import observations

            seen = observations.confirmed(observed, diagnostics, self.reported)
            diagnostics, unchecked = seen.diagnostics, seen.elsewhere
            unexplained = _explained_by_none(seen)
        lowest = Severity[(min_severity or self.config.min_severity or "warning").upper()]
        shown = [d for d in diagnostics if d.severity >= lowest]
        return Report(
            diagnostics=tuple(sorted(shown)),
            problems=tuple(sorted(self.problems)),
            suppressed=suppressed,
            elsewhere=elsewhere,
            below_severity=len(diagnostics) - len(shown),
            files_checked=len(self.reported),
            files_dropped=len(self.reported) - len(inspected),
            files_unreadable=len({problem.filename for problem in self.problems}),
            files_tests=len(self.tests),
            unresolved=len(unresolved),
            unresolved_calls=tuple(unresolved),
            notes=tuple(self.notes),
            unexplained=unexplained,
            observed_elsewhere=unchecked,
        )

    def _survey(self, triage: Triage) -> None:
        """Let another process look at half of the files."""
        mine, others = self.modules.files[::2], self.modules.files[1::2]
        asked = frozenset(self.reported)
        _ = self.vocabulary.packages  # told once for both
        survey = self.jobs.add(lambda: triage.survey(others, asked))
        if survey.is_elsewhere:
            found = triage.survey(mine, asked)
            triage.take(others, survey.result())
            triage.take(mine, found)

    def _chosen(self, triage: Triage) -> set[str]:
        """The files to inspect. The rest of the project is found only if there may be some."""
        if not triage.any_may_matter(self.reported, self.complete):
            return set()
        self.complete()
        roots = triage.roots(self.modules.files)
        return set(triage.select(self.reported, roots))

    def complete(self) -> None:
        """Find the rest of the project, unless that was done."""
        if not self.covers_project and not self._is_complete:
            self._is_complete = True
            for path in files.find(self._rest(), self.config.exclude, self.config.root).files:
                self.modules.add(os.path.abspath(path))

    @cached_property
    def _remarks(self) -> Remarks:
        """What the rules about processes that can report something look for."""
        from gblock.project.remarks import Remarks

        names = rules.OF_PROCESSES if self._speaks_of_gevent else (rules.OF_DRIVERS,)
        return Remarks(name for name in names if self.selection.runs_named(name))

    def _marked(self) -> set[str]:
        """The files in which a rule about processes may find something."""
        if self.modules.is_frugal or not any(map(self.selection.runs_named, rules.OF_PROCESSES)):
            return set()
        data = self.modules.data
        found = {path for path in self.reported if self._remarks.may_be_in(data(path))}
        if found:
            self.complete()
        return set(self.reported) if self._is_marked_elsewhere() else found

    def _is_marked_elsewhere(self) -> bool:
        """Whether what stands in some file makes a rule about processes look at all of them."""
        pattern, data = self._remarks.scattered, self.modules.data
        if pattern is None:
            return False
        self.complete()
        return any(pattern.search(data(path)) for path in self.modules.mentioning(WORDS[0]))

    @cached_property
    def _speaks_of_gevent(self) -> bool:
        """Whether a file of the project does, or one that starts its processes.

        The rest of the project is only read where a file that was named may call, or names, what
        gevent replaces.
        """
        if not self.covers_project and not self._is_complete:
            data = self.modules.data
            words = {*_GEVENT, *self.originals}
            named = any(word in data(path) for path in self.reported for word in words)
            if not named and not self._may_call_unpatched():
                return False
            self.complete()
        return any(self.modules.mentioning(word) for word in WORDS) or self._is_started_on_gevent

    @cached_property
    def _is_started_on_gevent(self) -> bool:
        """Whether a file that may start a process names what runs on gevent."""
        if not self.is_project:
            return False
        from gblock.project.hints import mention

        return mention(self.root, self.config.exclude, _GEVENT)

    def _may_call_unpatched(self) -> bool:
        """Whether a file that was named may call what blocks only without gevent's patch."""
        return Triage(self.modules, self.unpatched).any_may_matter(self.reported, self.complete)

    @property
    def originals(self) -> list[bytes]:
        """The last names of what is stale where it was taken before monkey patching."""
        return self.outlines.originals if self._originals is None else self._originals

    @property
    def is_project(self) -> bool:
        """Whether the files have a directory that is theirs, and not only somebody's home."""
        return bool(self.config.filename) or self.covers_project or is_project(self.root)

    def _rest(self) -> list[str]:
        """What belongs to the project besides what was named."""
        if self.is_project:
            return [self.root]
        # A script in a home directory is no project: only its neighbours can be imported.
        directories = {os.path.dirname(path) for path in self.reported}
        return [
            entry.path
            for directory in directories
            for entry in os.scandir(directory)
            if entry.name.endswith(".py") and entry.is_file()
        ]

    def _inspected(self, triage: Triage) -> tuple[Inspection | None, list[str]]:
        """Look at the files that triage chooses; and those that are looked at for any reason."""
        chosen = self._chosen(triage)
        marked = self._marked()
        taken = [path for path in self.reported if path in chosen]
        dropped = [path for path in self.reported if path not in chosen]
        if self.modules.is_frugal:
            dropped = [path for path in dropped if path not in triage.plain]
        known = dict(self.modules.problems)

        def check() -> Checked:
            return self._checked(dropped, marked, known)

        if self.modules.is_frugal:
            inspection, readable = self._looked_apart(triage, taken)
            noted, problems = check()
        else:
            many = bool(chosen) and len(dropped) > _FEW
            inspection, readable, checked = self._looked_in_order(
                triage, taken, marked, check if many else None
            )
            noted, problems = checked.result() if checked else check()
        self.modules.problems.update(problems)
        if noted and inspection is None:
            inspection = self._inspection(triage)
        if inspection is None:
            return None, []
        looked = marked.intersection((*readable, *noted))
        paths = [path for path in self.reported if path in looked] if looked else []
        # Where none is marked, what the rules look for need not be known.
        remarked = inspection.remark(self._remarks, paths) if paths else ()
        noted = [p for p in noted if p in remarked or b"gblock:" in self.modules.data(p)]
        return inspection, [*readable, *noted]

    def _looked_in_order(
        self,
        triage: Triage,
        taken: list[str],
        marked: set[str],
        check: Callable[[], Checked] | None,
    ) -> tuple[Inspection | None, list[str], Job[Checked] | None]:
        """Look at files that hang together, some of which another process summarizes.

        Args:
            triage: What the project imports.
            taken: The files.
            marked: The files in which a rule about processes may find something.
            check: What the other process is to do next.
        """
        # It summarizes more of them: this one has to load a catalog meanwhile.
        first, second = taken[: len(taken) // 3], taken[len(taken) // 3 :]
        ahead = None
        if len(second) > _FEW:
            ahead = self.jobs.add(lambda: self.modules.summaries(second))
        checked = self.jobs.add(check) if check else None
        readable = [path for path in first if self._readable(path, chosen=True)]
        inspection = self._inspection(triage) if readable else None
        if inspection is not None and marked:
            inspection.prepare()
        if ahead is not None and ahead.is_elsewhere:
            self.modules.summarized(ahead.result())
        readable += [path for path in second if self._readable(path, chosen=True)]
        if readable:
            inspection = inspection or self._inspection(triage)
            self._look(inspection, readable)
        return inspection, readable, checked

    def _looked_apart(
        self, triage: Triage, taken: list[str]
    ) -> tuple[Inspection | None, list[str]]:
        """Look at files that do not hang together, half of which another process searches.

        Where they do it cannot: what inference remembers, and how far it may go, depends on the
        files before.
        """
        if not taken:
            return None, []
        mine, others = taken, list[str]()
        searched = None
        if len(taken) > 2 * _FEW:
            others = [path for number, path in enumerate(taken) if number % 5 in _OTHERS]
            mine = [path for number, path in enumerate(taken) if number % 5 not in _OTHERS]
            searched = self.jobs.add(lambda: self._searched(triage, others))
            if not searched.is_elsewhere:
                mine, searched = taken, None
        readable = [path for path in mine if self._readable(path, chosen=True)]
        inspection = self._inspection(triage)
        promising = inspection.search(readable).promising
        if searched is not None:
            found = searched.result()
            inspection.take(found)
            promising += found.promising
            readable += found.readable
        self._look(inspection, sorted(promising))
        return inspection, sorted(readable)

    def _look(self, inspection: Inspection, paths: list[str]) -> None:
        for number, path in enumerate(paths):
            if self.on_progress:
                self.on_progress(number, len(paths))
            inspection.look(path)
            self.jobs.tend()

    def _searched(self, triage: Triage, paths: list[str]) -> Searched:
        """What there is in some files; for another process, which has no other work to hand out."""
        from gblock.inspection import Inspection
        from gblock.jobs import Jobs

        readable = [path for path in paths if self._readable(path, chosen=True)]
        return Inspection(self, triage, Jobs(1)).search(readable)

    def _inspection(self, triage: Triage) -> Inspection:
        from gblock.inspection import Inspection

        return Inspection(self, triage, self.jobs)

    @cached_property
    def jobs(self) -> Jobs:
        """What other processes do; a run that inspects nothing needs none."""
        from gblock.jobs import Jobs

        return Jobs(self._number_of_jobs)

    def close(self) -> None:
        """Leave no process behind."""
        if "jobs" in vars(self):
            self.jobs.close()

    def keep(self) -> None:
        """Leave to the system what is known now: to free it takes a tenth of a long run's time."""
        if len(self.modules.files) > _MANY:
            self._itself = self  # a cycle, which nobody looks for any longer
            gc.freeze()

    def _checked(self, dropped: list[str], marked: set[str], known: dict[str, Trouble]) -> Checked:
        """Of what triage dropped, the files to look at all the same, and what cannot be read.

        Args:
            dropped: The files.
            marked: The files in which a rule about processes may find something; as those with
                comments for gblock they are looked at.
            known: What cannot be read of all files, as far as triage told. What an inspection
                learns meanwhile must not count: it may be done by then, or not.
        """
        modules = self.modules
        meanwhile, modules.problems = modules.problems, dict(known)
        try:
            readable = [path for path in dropped if self._readable(path, chosen=False)]
            problems = {
                path: modules.problems[path] for path in dropped if path in modules.problems
            }
        finally:
            modules.problems = meanwhile
        noted = [p for p in readable if p in marked or b"gblock:" in modules.data(p)]
        return noted, problems

    def _readable(self, path: str, *, chosen: bool) -> bool:
        """Whether a file is text that Python reads; if not, it is noted as a problem."""
        data = self.modules.data(path)
        if path in self.modules.problems:
            return False
        if len(data) > _LARGEST:
            if chosen:
                size = f"{len(data) / 1e6:.0f} MB"
                message = f"is too large to be parsed ({size}): exclude it if it is generated"
                self.modules.problems[path] = message, None
            return False
        if b"\0" in data:
            self.modules.problems[path] = "holds null bytes, so it is not Python source", None
            return False
        if chosen:
            return self.modules.summary(path) is not None
        return self._parses(path, data)

    def _parses(self, path: str, data: bytes) -> bool:
        """Of what triage dropped, a little is parsed all the same, and all of it decoded."""
        self._parsed += len(data)
        if self._parsed <= _PARSED_ANYWAY and not self.modules.is_frugal:
            return self.modules.compiles(path)
        return is_utf_8(data) or self.modules.text(path) is not None

    def note_problems(self) -> None:
        """Take over what the project's modules noted of the files that were asked about."""
        from gblock.diagnostics import Location, Problem

        wanted = set(self.reported)
        for path, (message, place) in self.modules.problems.items():
            if path in wanted:
                location = Location(*place) if place else None
                self.problems.append(Problem(files.relative_name(path), message, location))


def project_root(paths: Sequence[str]) -> str:
    """The directory of the project: the nearest above the paths that carries a project's mark."""
    starts = [os.path.abspath(path) for path in paths] or [os.getcwd()]
    top = os.path.commonpath(starts)
    if not os.path.isdir(top):
        top = os.path.dirname(top)
    current = top
    while True:
        if is_project(current):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return top
        current = parent


def is_project(directory: str) -> bool:
    """Whether a directory carries a project's mark."""
    return any(os.path.lexists(os.path.join(directory, mark)) for mark in _PROJECT_MARKS)


def check(
    paths: Sequence[str],
    config: Config,
    *,
    stdin: tuple[str, bytes] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    min_severity: str | None = None,
    baseline: str | None = None,
    write_baseline: str | None = None,
    force_exclude: bool = False,
    observed: Observations | None = None,
    all_processes: bool = False,
    python: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    jobs: int = 1,
    ends: bool = False,
) -> Report:
    """Check some paths.

    Args:
        paths: What the user named.
        config: The project's settings.
        stdin: The name and the bytes of a file that is given and not read.
        select: Names from the command line; they replace the configuration's.
        ignore: Names from the command line; they are added to the configuration's.
        min_severity: ``note``, ``warning`` or ``error``.
        baseline: A file that says what is known, instead of the configuration's.
        write_baseline: A file to write what is reported to; all of it is known then.
        force_exclude: Whether files that are named are left out like those that are found.
        observed: What probes saw in production: it marks diagnostics, and hides none.
        all_processes: Whether to report files, too, that only processes without gevent run.
        python: The environment whose packages are looked at, instead of the configuration's.
        on_progress: Called with the number of files done and to do.
        jobs: How many processes may work at a time, 0 for one for each CPU; what comes out is
            the same.
        ends: Whether this process ends soon, so that its memory need not be freed.

    Raises:
        UserError: for a name that does not exist, a catalog or a baseline that is wrong, or an
            environment that cannot be read.
    """
    collecting = gc.isenabled()
    gc.disable()  # what a run makes it keeps: looking for garbage takes a fifth of its time
    try:
        run = Run(
            paths,
            config,
            select=select,
            ignore=ignore,
            stdin=stdin,
            force_exclude=force_exclude,
            all_processes=all_processes,
            python=python,
            on_progress=on_progress,
            jobs=jobs,
        )
        try:
            report = run.report(min_severity=min_severity, observed=observed)
        finally:
            run.close()
        if ends:
            run.keep()
    finally:
        if collecting:
            gc.enable()
    path = write_baseline or baseline or config.baseline
    return report if path is None else _without_known(report, path, write_baseline is not None)


def _explained_by_none(seen: Confirmation) -> tuple[Related, ...]:
    from gblock.diagnostics import Location, Related
    from gblock.observations import sentence

    return tuple(
        Related(files.relative_name(path), Location(site.line or 1, 1), sentence(site))
        for site, path in seen.unexplained
    )


def _without_known(report: Report, path: str, anew: bool) -> Report:
    """A report without what a baseline knows; the baseline is written first if it is to be."""
    from gblock import baseline

    if anew:
        baseline.save(report.diagnostics, path)
    new = baseline.new(report.diagnostics, baseline.read(path), path)
    return report._replace(diagnostics=tuple(new), baselined=len(report.diagnostics) - len(new))


def confirmed(observed: Observations, paths: Sequence[str], config: Config) -> Observations:
    """The same observations, with what a check of some paths reports of each site.

    Raises:
        UserError: for a path that does not exist, or a catalog that is wrong.
    """
    from gblock import observations

    run = Run(paths, config)
    return observations.confirmed(observed, run.report().diagnostics, run.reported).observations


def processes(directory: str, config: Config) -> Processes:
    """The processes of the project in a directory.

    Raises:
        UserError: if a catalog is wrong.
    """
    from gblock import catalog
    from gblock.project.inference import Inference
    from gblock.project.processes import Processes

    root = os.path.abspath(directory)
    found = [os.path.abspath(p) for p in files.find([root], config.exclude, config.root).files]
    known = catalog.load(config.extend_catalog)
    return Processes(Inference(Modules(root, found, config.src), known), exclude=config.exclude)
