"""One check, from a request to a report: the only place that decides what is reported.

The files are found (`gblock.codebase`), looked at (`gblock.engine.plan`), and what the rules found
in them is sorted here: into what is reported and what is hidden, each for a reason that is counted.
"""

from __future__ import annotations

from functools import cached_property

from gblock.codebase import Codebase
from gblock.diagnostics import Candidate, Hidden, Report, order
from gblock.engine.looking import Looking
from gblock.engine.plan import Plan
from gblock.engine.request import Request
from gblock.engine.unmet import unmet
from gblock.engine.wanted import Wanted
from gblock.files import relative_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gblock.config import Config
    from gblock.diagnostics import Diagnostic, Related
    from gblock.engine.baseline import Baseline
    from gblock.engine.inspection import Inspection
    from gblock.engine.suppressions import Suppressions
    from gblock.observations import Confirmation, Observations
    from gblock.patterns import Patterns
    from gblock.project.processes.processes import Processes
    from gblock.project.reading.modules import Trouble

__all__ = ["Check", "Request", "check", "confirmed", "processes"]

_UNUSED = "unused-ignore"
_INVALID = "invalid-syntax"
_NO_PROCESS = "no process is known to run on gevent"
_NO_GEVENT = (
    "nothing here runs on gevent: no code imports it, nothing requires or starts it; "
    "--assume-gevent judges the code all the same"
)


class Check:
    """One check of some paths.

    Args:
        request: What to do.
        on_progress: Called with the number of files done and to do.

    Raises:
        UserError: for a name or a path that does not exist, a catalog that is wrong, or an
            environment that cannot be read.
    """

    def __init__(
        self, request: Request, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        self._request = request
        self._wanted = Wanted(request)
        self.codebase = Codebase(
            request.paths,
            request.config,
            stdin=request.stdin,
            force_exclude=request.force_exclude,
        )
        self._plan = Plan(self.codebase, self._wanted, request, on_progress)

    def report(self) -> Report:
        """Run the check and return its report.

        Raises:
            UserError: if the catalog or the baseline is wrong.
        """
        from gblock.diagnostics import Report

        request, codebase = self._request, self.codebase
        try:
            inspection, inspected = self._plan.inspected()
            self._sorted = sorted_out = _Sorted(self)
            unresolved: list[Related] = []
            notes = [
                *codebase.notes,
                *self._wanted.notes,
                *unmet(request.config, codebase.modules.files),
            ]
            if inspection is not None:
                for path in inspected:
                    with Looking(path):
                        try:
                            sorted_out.add(path, inspection)
                        except RecursionError:
                            codebase.modules.give_up(path)
                unresolved = inspection.unresolved(inspected)
                notes += inspection.notes
                if sorted_out.reported or sorted_out.idle or sorted_out.elsewhere:
                    notes += self._judged_by_processes(sorted_out, inspection)
        finally:
            self._plan.close()
        problems, invalid = codebase.problems(), codebase.invalid()
        for path, trouble in invalid:
            sorted_out.add_invalid(path, trouble)
        if any(trouble.kind == "invalid" for _, trouble in invalid):
            from gblock.engine import grammar

            notes += filter(None, [grammar.note(codebase.root)])
        diagnostics = sorted_out.reported
        unexplained: tuple[Related, ...] = ()
        unchecked = 0
        if request.observed is not None:
            from gblock import observations

            seen = observations.confirmed(request.observed, diagnostics, codebase.reported)
            diagnostics, unchecked = seen.diagnostics, seen.elsewhere
            unexplained = _unexplained(seen)
        shown = [one for one in diagnostics if one.severity >= self._lowest]
        new = self._new(sorted(shown, key=order))
        hidden = _hidden(shown, new, "baseline")
        notes += self._notes_on_baseline(diagnostics)
        if request.since is not None:
            from gblock.engine import since

            brought = since.new(new, codebase.root, request.since, self._checked_elsewhere)
            hidden += _hidden(new, brought, "since")
            new = brought
        hidden += sorted_out.suppressed
        return Report(
            diagnostics=tuple(new),
            problems=tuple(sorted(problems)),
            suppressed=len(sorted_out.suppressed),
            baselined=sum(one.reason == "baseline" for one in hidden),
            older=sum(one.reason == "since" for one in hidden),
            elsewhere=sorted_out.elsewhere,
            idle=sorted_out.idle,
            below_severity=len(diagnostics) - len(shown),
            files_checked=len(codebase.reported) - len(codebase.troubled),
            files_dropped=len(codebase.reported) - len(codebase.troubled.union(inspected)),
            files_unreadable=len({problem.filename for problem in problems}) + len(invalid),
            files_tests=len(codebase.tests),
            unresolved=len(unresolved),
            unresolved_calls=tuple(unresolved),
            notes=tuple(notes),
            unexplained=unexplained,
            observed_elsewhere=unchecked,
            by_path=request.by_path,
            hidden=tuple(sorted(hidden, key=lambda one: order(one.diagnostic))),
            own_blockers=self._wanted.outlines.own_ids,
        )

    def _judged_by_processes(self, sorted_out: _Sorted, inspection: Inspection) -> list[str]:
        """Return what is noted where no process on gevent is known; without gevent, hide all."""
        request = self._request
        if request.assume_gevent or request.all_processes or request.observed is not None:
            return []
        found = inspection.presence
        if found is None:
            return []
        if found and not sorted_out.reported:
            return []
        if found:
            return [f"{_NO_PROCESS}, but {found}: declare what is deployed, with `processes`"]
        count = len(sorted_out.reported) + sorted_out.idle
        sorted_out.reported, sorted_out.idle = [], 0
        sorted_out.elsewhere += count
        return [_NO_GEVENT]

    @property
    def all_contexts(self) -> bool:
        """Whether code is reported, too, that no greenlet of a service runs."""
        return self._request.all_contexts

    def rows(self, diagnostic: Diagnostic) -> tuple[int, int] | None:
        """Return the rows of a reported diagnostic's statement, on which a comment hides it."""
        return self._sorted.rows.get(_place_of(diagnostic))

    def _checked_elsewhere(self, root: str, paths: Sequence[str]) -> Sequence[Diagnostic]:
        """Return what is reported of files in another directory that holds the same project."""
        import os

        from gblock import config

        request = self._request
        here = self.codebase.root
        src = tuple(
            os.path.join(root, os.path.relpath(one, here)) if _is_below(one, here) else one
            for one in request.config.src
        )
        filename = request.config.filename or (here if self.codebase.is_project else None)
        settings = config.changed(request.config, root=root, src=src, filename=filename)
        settings = config.changed(settings, baseline=None)
        elsewhere = request._replace(
            paths=paths,
            config=settings,
            stdin=None,
            baseline=None,
            write_baseline=None,
            since=None,
            observed=None,
        )
        return Check(elsewhere).report().diagnostics

    @cached_property
    def _lowest(self) -> int:
        """The severity below which diagnostics are hidden."""
        from gblock.diagnostics import Severity

        name = self._request.min_severity or self._request.config.min_severity or "warning"
        return Severity[name.upper()]

    @cached_property
    def _baseline(self) -> Baseline | None:
        """What is known, None where there is no baseline."""
        request = self._request
        path = request.write_baseline or request.baseline or request.config.baseline
        if path is None:
            return None
        from gblock.engine import baseline

        return baseline.Baseline(baseline.read(path), path)

    def _new(self, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
        """Return what a baseline does not know; the baseline is written first if asked for."""
        if self._request.write_baseline is not None:
            from gblock.engine import baseline

            baseline.save(diagnostics, self._request.write_baseline)
        return diagnostics if self._baseline is None else self._baseline.new(diagnostics)

    def _notes_on_baseline(self, diagnostics: list[Diagnostic]) -> list[str]:
        """Return what is wrong with the baseline, as far as a run with this selection shows it."""
        request = self._request
        if self._baseline is None or request.select or request.ignore or request.stdin:
            return []
        return self._baseline.notes(diagnostics, frozenset(self.codebase.reported))

    def ignores(self, name: str) -> bool:
        """Return whether a name is ignored in every file."""
        return name in self._wanted.selection.ignore

    def ignored(self, path: str) -> frozenset[str | None]:
        """Return the names that the configuration ignores in one file."""
        return frozenset[str | None]().union(
            *(names for patterns, names in self._per_file if patterns.verdict(path))
        )

    @cached_property
    def _per_file(self) -> list[tuple[Patterns, frozenset[str]]]:
        from gblock.patterns import Patterns

        config = self._request.config
        return [
            (Patterns(config.root, [pattern]), frozenset(names))
            for pattern, names in config.per_file_ignores
        ]


def _hidden(shown: list[Diagnostic], left: list[Diagnostic], reason: str) -> list[Hidden]:
    """Return what of the diagnostics is not left, with the reason for it."""
    reported = {id(diagnostic) for diagnostic in left}
    return [Hidden(one, reason) for one in shown if id(one) not in reported]


class _Sorted:
    """The candidates of a check: those to report, and how many are hidden for which reason.

    Args:
        check: The check.
    """

    def __init__(self, check: Check) -> None:
        self._check = check
        self.reported: list[Diagnostic] = []
        self.suppressed: list[Hidden] = []
        self.rows: dict[tuple[object, ...], tuple[int, int]] = {}
        """The first and the last row of the statements in which something was found."""
        self.elsewhere = 0
        self.idle = 0

    def add(self, path: str, inspection: Inspection) -> None:
        """Sort what was found in one file."""
        candidates = inspection.candidates(path)
        if candidates and inspection.runs_elsewhere(path):
            self.elsewhere += len(candidates)
            candidates = []
        comments = self._comments(path)
        ignored = self._check.ignored(path)
        for candidate in (*candidates, *inspection.remarked(path)):
            self._sort(candidate, inspection, ignored, comments)
        if (
            comments is not None
            and _UNUSED not in ignored
            and inspection.selection.runs_named(_UNUSED)
        ):
            from gblock.rules.unused_ignore import UnusedIgnore

            known = inspection.selection.names
            name = relative_name(path)
            self.reported += UnusedIgnore.reported(name, comments, known, inspection.judged())

    def add_invalid(self, path: str, trouble: Trouble) -> None:
        """Sort a file that cannot be checked."""
        from gblock.rules.invalid_syntax import InvalidSyntax

        if self._check.ignores(_INVALID):
            return
        diagnostic = InvalidSyntax.reported(
            relative_name(path),
            trouble.message,
            trouble.place,
            is_limit=trouble.kind == "limit",
        )
        row = diagnostic.location.row
        candidate = Candidate(diagnostic, (row, row))
        self._sort(candidate, None, self._check.ignored(path), self._comments(path))

    def _sort(
        self,
        candidate: Candidate,
        inspection: Inspection | None,
        ignored: frozenset[str | None],
        comments: Suppressions | None,
    ) -> None:
        self.rows[_place_of(candidate.diagnostic)] = candidate.rows
        reason = _reason_to_hide(candidate, ignored, comments)
        if reason is not None:
            self.suppressed.append(Hidden(candidate.diagnostic, reason))
            return
        if inspection is None:
            self.reported.append(candidate.diagnostic)
            return
        diagnostic = inspection.in_context(candidate)
        if inspection.is_idle(diagnostic) and not self._check.all_contexts:
            self.idle += 1
        else:
            self.reported.append(diagnostic)

    def _comments(self, path: str) -> Suppressions | None:
        modules = self._check.codebase.modules
        if b"gblock:" not in modules.data(path):
            return None
        from gblock.engine.suppressions import read

        text = modules.text(path)
        return read(text) if text is not None else None


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _place_of(diagnostic: Diagnostic) -> tuple[object, ...]:
    return diagnostic.filename, diagnostic.location, diagnostic.code, diagnostic.blocker


def _reason_to_hide(
    candidate: Candidate, ignored: frozenset[str | None], comments: Suppressions | None
) -> str | None:
    """Return whether the configuration or a comment hides a diagnostic, None if neither does."""
    diagnostic = candidate.diagnostic
    if ignored & {diagnostic.code, diagnostic.blocker}:
        return "configuration"
    if comments is not None and comments.hides(diagnostic, *candidate.rows):
        return "comment"
    return None


def check(request: Request) -> Report:
    """Check some paths.

    Raises:
        UserError: for a name or a path that does not exist, a catalog or a baseline that is
            wrong, or an environment that cannot be read.
    """
    return Check(request).report()


def _unexplained(seen: Confirmation) -> tuple[Related, ...]:
    """Return the blocks that a probe saw and of which nothing is reported."""
    from gblock.diagnostics import Location, Related
    from gblock.observations import sentence

    return tuple(
        Related(relative_name(path), Location(site.line or 1, 1), sentence(site))
        for site, path in seen.unexplained
    )


def confirmed(observed: Observations, paths: Sequence[str], config: Config) -> Observations:
    """Return the same observations, with what a check of some paths reports of each site.

    Raises:
        UserError: for a path that does not exist, or a catalog that is wrong.
    """
    from gblock import observations

    run = Check(Request(paths, config, assume_gevent=True))  # a probe saw its hub
    diagnostics = run.report().diagnostics
    return observations.confirmed(observed, diagnostics, run.codebase.reported).observations


def processes(directory: str, config: Config) -> Processes:
    """Return the processes of the project in a directory.

    Raises:
        UserError: if a catalog is wrong.
    """
    import os

    from gblock import catalog, files
    from gblock.project.names.inference import Inference
    from gblock.project.processes import surroundings
    from gblock.project.processes.processes import Processes
    from gblock.project.reading.modules import Modules

    root = os.path.abspath(directory)
    found = [os.path.abspath(p) for p in files.find([root], config.exclude, config.root).files]
    known = catalog.load(config.extend_catalog)
    modules = Modules(root, found, config.src)
    around = surroundings.of_project(modules, config)
    return Processes(Inference(modules, known), around=around)
