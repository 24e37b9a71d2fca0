"""Files in, one report out: the only place that decides what is reported and what is hidden."""

from __future__ import annotations

import gc
import os
from functools import cached_property

from gblock import files, outline, rules
from gblock.project.modules import Modules
from gblock.project.triage import Triage
from gblock.project.vocabulary import Vocabulary
from gblock.selection import GROUPS, Selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gblock.config import Config
    from gblock.diagnostics import Diagnostic, Problem, Related, Report
    from gblock.observations import Confirmation, Observations
    from gblock.project.processes import Processes
    from gblock.project.remarks import Remarks

_PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", ".hg")
_LARGEST = 10_000_000
"""Bytes: a larger file is not parsed. It is generated, and its tree would take gigabytes."""
_GEVENT = b"gevent"
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
        on_progress: Called with the number of files done and to do.

    Raises:
        UserError: for a name that does not exist, or a catalog that is wrong.
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
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.config = config
        self.all_processes = all_processes
        self.on_progress = on_progress
        self.outlines = [outline.read(), *(outline.read(path) for path in config.extend_catalog)]
        chunks = [c for one in self.outlines for c in one.chunks if c.kind == "blocker"]
        self.selection = Selection(select or config.select, (*ignore, *config.ignore), chunks)
        self._verify(select, ignore)
        chunks = [chunk for chunk in chunks if self.selection.may_report(chunk)]
        self.chunks = [chunk for chunk in chunks if not chunk.unpatched]
        self.unpatched = [chunk for chunk in chunks if chunk.unpatched]
        """What blocks only without gevent's patch: ordinary runs look for none of it."""
        self.vocabulary = Vocabulary(self.chunks, [c for one in self.outlines for c in one.chunks])
        found = files.find(paths, config.exclude, config.root, force_exclude=force_exclude)
        self.problems: list[Problem] = list(found.problems)
        self._parsed = 0
        self._is_complete = False
        self._is_frugal = False
        self.notes = found.notes
        reported = [os.path.abspath(path) for path in found.files]
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
            if (force_exclude or path not in named) and self._is_test(path)
        ]
        skipped = set(self.tests)
        self.reported = [path for path in reported if path not in skipped]
        self.modules.service = frozenset(self.reported)
        self.covers_project = self.root in tops

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
                is_test(os.path.join(top, "x.py"), r) for r in (self.root, os.path.dirname(top))
            )
        return not self._are_tests[top] and is_test(path, top, self.modules.data(path))

    def report(
        self, *, min_severity: str | None = None, observed: Observations | None = None
    ) -> Report:
        """Do it."""
        from gblock.diagnostics import Report, Severity

        triage = Triage(self.modules, self.vocabulary)
        chosen = self._chosen(triage)
        self._is_frugal = self.modules.is_frugal
        readable = [path for path in self.reported if self._readable(path, chosen)]
        commented = {path for path in readable if b"gblock:" in self.modules.data(path)}
        marked = self._marked()
        inspected = [path for path in readable if path in chosen or path in commented]
        diagnostics: list[Diagnostic] = []
        suppressed, elsewhere, unresolved = 0, 0, []
        if inspected or marked:
            from gblock.inspection import Inspection

            inspection = Inspection(self, triage)
            remarked = inspection.remark(self._remarks, [p for p in readable if p in marked])
            known = {*inspected, *remarked}
            inspected = [path for path in readable if path in known]
            for number, path in enumerate(inspected):
                if self.on_progress:
                    self.on_progress(number, len(inspected))
                diagnostics += inspection.diagnostics(path, path in chosen)
            suppressed, elsewhere = inspection.suppressed, inspection.elsewhere
            unresolved = inspection.unresolved
            self.notes += inspection.notes
        self._note_problems()
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

    def _chosen(self, triage: Triage) -> set[str]:
        """The files to inspect. The rest of the project is found only if there may be some."""
        if not triage.any_may_matter(self.reported):
            return set()
        self._complete()
        roots = triage.roots(self.modules.files)
        return set(triage.select(self.reported, roots))

    def _complete(self) -> None:
        """Find the rest of the project, unless that was done."""
        if not self.covers_project and not self._is_complete:
            self._is_complete = True
            for path in files.find(self._rest(), self.config.exclude, self.config.root).files:
                self.modules.add(os.path.abspath(path))

    @cached_property
    def _remarks(self) -> Remarks:
        from gblock.project.remarks import Remarks

        return Remarks(name for name in rules.OF_PROCESSES if self.selection.runs_named(name))

    def _marked(self) -> set[str]:
        """The files in which a rule about processes may find something."""
        if self.modules.is_frugal or not any(map(self.selection.runs_named, rules.OF_PROCESSES)):
            return set()
        data = self.modules.data
        found = {path for path in self.reported if self._remarks.may_be_in(data(path))}
        if found:
            self._complete()
        return set(self.reported) if self._is_marked_elsewhere() else found

    def _is_marked_elsewhere(self) -> bool:
        """Whether what stands in some file makes a rule about processes look at all of them."""
        if not self._speaks_of_gevent():
            return False
        pattern, data = self._remarks.scattered, self.modules.data
        if pattern is None:
            return False
        return any(pattern.search(data(path)) for path in self.modules.mentioning(_GEVENT.decode()))

    def _speaks_of_gevent(self) -> bool:
        """Whether a file of the project does, if what was named may call anything at all."""
        if not self.covers_project and not self._is_complete:
            chunks = [chunk for one in self.outlines for chunk in one.chunks]
            triage = Triage(self.modules, Vocabulary(self.unpatched, chunks))
            named = any(_GEVENT in self.modules.data(path) for path in self.reported)
            if not named and not triage.any_may_matter(self.reported):
                return False
            self._complete()
        return bool(self.modules.mentioning(_GEVENT.decode()))

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

    def _readable(self, path: str, chosen: set[str]) -> bool:
        """Whether a file is text that Python reads; if not, it is noted as a problem."""
        data = self.modules.data(path)
        if path in self.modules.problems:
            return False
        if len(data) > _LARGEST:
            if path in chosen:
                size = f"{len(data) / 1e6:.0f} MB"
                message = f"is too large to be parsed ({size}): exclude it if it is generated"
                self.modules.problems[path] = message, None
            return False
        if b"\0" in data:
            self.modules.problems[path] = "holds null bytes, so it is not Python source", None
            return False
        if path in chosen:
            return self.modules.summary(path) is not None
        return self._parses(path, data)

    def _parses(self, path: str, data: bytes) -> bool:
        """Of what triage dropped, a little is parsed all the same, and all of it decoded."""
        self._parsed += len(data)
        if self._parsed <= _PARSED_ANYWAY and not self._is_frugal:
            return self.modules.compiles(path)
        return _is_utf_8(data) or self.modules.text(path) is not None

    def _note_problems(self) -> None:
        from gblock.diagnostics import Location, Problem

        wanted = set(self.reported)
        for path, (message, place) in self.modules.problems.items():
            if path in wanted:
                location = Location(*place) if place else None
                self.problems.append(Problem(files.relative_name(path), message, location))


def _is_utf_8(data: bytes) -> bool:
    """Whether bytes are what nearly all files are; to look for a declaration takes far longer."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


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
    on_progress: Callable[[int, int], None] | None = None,
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
        on_progress: Called with the number of files done and to do.

    Raises:
        UserError: for a name that does not exist, a catalog or a baseline that is wrong.
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
            on_progress=on_progress,
        )
        report = run.report(min_severity=min_severity, observed=observed)
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
