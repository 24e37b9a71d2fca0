"""One check, from a request to a report: the only place that decides what is reported.

`gblock.codebase` finds the files and `gblock.engine.plan` inspects them. This module sorts the
results: each diagnostic is reported, or hidden for a reason that is counted.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from gblock import files
from gblock.candidate import Candidate
from gblock.codebase import Codebase
from gblock.diagnostics import Hidden, Report, Severity, order
from gblock.engine.found import CheckResults, key_of
from gblock.engine.looking import Looking
from gblock.engine.plan import Plan
from gblock.engine.request import Request
from gblock.engine.unmet import unmet
from gblock.engine.wanted import Wanted
from gblock.files import relative_name
from gblock.rules import OF_COMMENTS, OF_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gblock.cache.facts import KeptFacts
    from gblock.config import Config
    from gblock.diagnostics import Diagnostic, Related
    from gblock.engine.baseline import Baseline
    from gblock.engine.inspection import Inspection
    from gblock.engine.suppressions import Suppressions
    from gblock.observations import Confirmation, Observations
    from gblock.patterns import Patterns
    from gblock.project.processes.processes import Processes
    from gblock.project.reading.modules import Trouble
    from gblock.units import Unit

__all__ = ["Check", "Request", "check", "confirmed", "processes"]

_NO_PROCESS = "no process is known to run on gevent"
_ASSUME = "--assume-gevent checks the code nevertheless"
_NO_GEVENT = (
    f"nothing here runs on gevent: no code imports it, nothing requires or starts it; {_ASSUME}"
)
_PACKAGES = f"these are installed packages and no service; {_ASSUME}"
_APART = "nothing here runs on gevent but a thread or a child process that serves, in"


class Check:
    """One check of some paths.

    Args:
        request: The paths and the settings.
        on_progress: Called with the number of files done and to do.
        unit: The unit of a repository that is checked, None for a whole project.
        facts: What earlier runs have read of the project, if that is kept.

    Raises:
        UserError: for a name or a path that does not exist, a catalog that is wrong, or an
            environment that cannot be read.
    """

    def __init__(
        self,
        request: Request,
        on_progress: Callable[[int, int], None] | None = None,
        unit: Unit | None = None,
        facts: KeptFacts | None = None,
    ) -> None:
        self._request = request
        self.codebase = Codebase(
            request.paths,
            request.config,
            stdin=request.stdin,
            force_exclude=request.force_exclude,
            unit=unit,
        )
        self.codebase.modules.replace(request.given)
        self.codebase.modules.facts = facts
        self._wanted = Wanted(request, self.codebase)
        self.plan = Plan(self.codebase, self._wanted, request, on_progress)
        self.inspection: Inspection | None = None
        """The inspection of the files, once there is a report; None if no file needed one."""
        self._rows: dict[tuple[object, ...], tuple[int, int]] = {}

    def report(self) -> Report:
        """Run the check and return its report.

        Raises:
            UserError: if the catalog or the baseline is wrong.
        """
        request, codebase = self._request, self.codebase
        found = self._found_in_units() or self._found()
        self._rows = found.rows
        diagnostics, notes = found.diagnostics, found.notes
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
        hidden += found.hidden
        troubled = len(found.troubled)
        return Report(
            diagnostics=tuple(new),
            problems=tuple(sorted(found.problems)),
            suppressed=sum(one.reason in ("comment", "configuration") for one in hidden),
            baselined=sum(one.reason == "baseline" for one in hidden),
            older=sum(one.reason == "since" for one in hidden),
            elsewhere=found.elsewhere,
            idle=found.idle,
            passed_over=found.passed_over,
            below_severity=len(diagnostics) - len(shown),
            files_checked=len(codebase.reported) - troubled,
            files_dropped=len(codebase.reported)
            - len({*found.troubled, *found.inspected})
            - found.passed_over,
            files_unreadable=len({problem.filename for problem in found.problems}) + found.invalid,
            files_tests=len(codebase.tests),
            unresolved=len(found.unresolved),
            unresolved_calls=tuple(found.unresolved),
            notes=tuple(notes),
            unexplained=unexplained,
            observed_elsewhere=unchecked,
            by_path=request.by_path,
            hidden=tuple(sorted(hidden, key=lambda one: order(one.diagnostic))),
            own_blockers=self._wanted.outlines.own_ids,
        )

    def _found(self) -> CheckResults:
        """Check the files, and return the results before anything hides some of them."""
        request, codebase = self._request, self.codebase
        try:
            inspection, inspected = self.plan.inspected()
            self.inspection = inspection
            sorted_out = _Sorted(self)
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
                sorted_out.weigh(inspection)
                if len(sorted_out.reported) > 1:
                    from gblock.engine import handlers

                    sorted_out.reported = handlers.joined(sorted_out.reported)
                if sorted_out.reported or sorted_out.idle or sorted_out.elsewhere:
                    notes += self._judged_by_processes(sorted_out, inspection)
            elif self.plan.passed_over:
                notes.append(_NO_GEVENT)
        finally:
            self.plan.close()
        problems, invalid = codebase.problems(), codebase.invalid()
        for path, trouble in invalid:
            sorted_out.add_invalid(path, trouble)
        if any(trouble.kind == "invalid" for _, trouble in invalid):
            from gblock.engine import grammar

            notes += filter(None, [grammar.note(codebase.root)])
        return CheckResults(
            diagnostics=sorted_out.reported,
            hidden=sorted_out.suppressed,
            rows=sorted_out.rows,
            elsewhere=sorted_out.elsewhere,
            idle=sorted_out.idle,
            unresolved=unresolved,
            notes=notes,
            problems=problems,
            inspected=inspected,
            troubled=sorted(codebase.troubled),
            invalid=len(invalid),
            passed_over=self.plan.passed_over,
        )

    def _found_in_units(self) -> CheckResults | None:
        """Check each unit of a large repository by itself; return None if it is one project."""
        request, codebase = self._request, self.codebase
        if len(codebase.modules.files) <= files.LARGE_TREE or not codebase.covers_project:
            return None
        if not request.in_units:
            return None
        asks_environment = request.python is not None or request.config.python is not None
        if request.is_unit or request.stdin is not None or asks_environment:
            return None
        from gblock.engine.divided import Divided

        found = Divided(request, codebase, _found_in_unit).found()
        if found is not None:
            found.notes[:] = dict.fromkeys((*codebase.notes, *found.notes))
        return found

    def _in_own_settings(self) -> CheckResults:
        """Check the files, and hide what the unit's own baseline and severity hide."""
        found = self._found()
        config, request = self._request.config, self._request
        if request.min_severity is None and config.min_severity is not None:
            kept = [one for one in found.diagnostics if one.severity >= self._lowest]
            found = found._replace(diagnostics=kept)
        if config.baseline is None or request.baseline or request.write_baseline:
            return found
        shown = found.diagnostics
        new = self._new(sorted(shown, key=order))
        hidden = [*found.hidden, *_hidden(shown, new, "baseline")]
        notes = [*found.notes, *self._notes_on_baseline(shown)]
        return found._replace(diagnostics=new, hidden=hidden, notes=notes)

    def keep(self) -> None:
        """Keep what the report was made from, for runs after some files have changed."""
        if self.inspection is not None and self.codebase.modules.facts is not None:
            self.inspection.keep()

    def of_file(self, path: str) -> list[Diagnostic]:
        """Return what is reported for one file whose bytes have changed since the report.

        The rules about processes are left out, and so are comments that hide none of the rest.
        A file of the baseline that was renamed is not recognized.

        Raises:
            UserError: if the catalog is wrong.
        """
        inspection = self.inspection
        if inspection is None:
            return []
        sorted_out = _Sorted(self)
        modules = self.codebase.modules
        if self.plan.inspected_again(inspection, path):
            with Looking(path):
                sorted_out.add(path, inspection, is_part=True)
            self._judged_by_processes(sorted_out, inspection)
        if path in modules.problems:
            sorted_out.add_invalid(path, modules.problems[path])
        self._rows.update(sorted_out.rows)
        found = sorted_out.reported
        if self._request.observed is not None:
            from gblock import observations

            found = observations.confirmed(self._request.observed, found, [path]).diagnostics
        shown = sorted((one for one in found if one.severity >= self._lowest), key=order)
        return shown if self._baseline is None else self._baseline.new(shown)

    def _judged_by_processes(self, sorted_out: _Sorted, inspection: Inspection) -> list[str]:
        """Return notes if no process on gevent is known; hide everything if gevent is not used."""
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
        apart = inspection.processes.apart
        if apart:
            return [f"{_APART} {apart}; {_ASSUME}"]
        return [_PACKAGES if self.codebase.modules.is_environment else _NO_GEVENT]

    @property
    def all_contexts(self) -> bool:
        """True if code that no greenlet of a service runs is reported too."""
        return self._request.all_contexts

    def rows(self, diagnostic: Diagnostic) -> tuple[int, int] | None:
        """Return the rows of a diagnostic's statement, where a comment can suppress it."""
        return self._rows.get(key_of(diagnostic))

    def _checked_elsewhere(self, root: str, paths: Sequence[str]) -> Sequence[Diagnostic]:
        """Return the diagnostics of files in another directory that holds the same project."""
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
        name = self._request.min_severity or self._request.config.min_severity or "warning"
        return Severity[name.upper()]

    @cached_property
    def _baseline(self) -> Baseline | None:
        """The known diagnostics, None if there is no baseline."""
        request = self._request
        path = request.write_baseline or request.baseline or request.config.baseline
        if path is None:
            return None
        from gblock.engine import baseline

        return baseline.Baseline(baseline.read(path), path)

    def _new(self, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
        """Return the diagnostics that are not in the baseline, after writing it if requested."""
        if self._request.write_baseline is not None:
            from gblock.engine import baseline

            baseline.save(diagnostics, self._request.write_baseline)
        return diagnostics if self._baseline is None else self._baseline.new(diagnostics)

    def _notes_on_baseline(self, diagnostics: list[Diagnostic]) -> list[str]:
        """Return notes on stale entries of the baseline, as far as this selection shows them."""
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
    """Return the diagnostics that were dropped, with the reason."""
    rest = Counter(shown)
    rest.subtract(left)
    return [Hidden(one, reason) for one in rest.elements()]


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

    def add(self, path: str, inspection: Inspection, *, is_part: bool = False) -> None:
        """Sort the candidates of one file.

        Args:
            path: The file.
            inspection: The inspection of it.
            is_part: True if the rules about processes did not run.
        """
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
            and OF_COMMENTS not in ignored
            and inspection.selection.runs_named(OF_COMMENTS)
        ):
            from gblock.rules import OF_PROCESSES
            from gblock.rules.unused_ignore import UnusedIgnore

            known = inspection.selection.names
            name = relative_name(path)
            judged = inspection.judged()
            if is_part:
                judged = frozenset(known if judged is None else judged).difference(OF_PROCESSES)
            self.reported += UnusedIgnore.reported(name, comments, known, judged)

    def weigh(self, inspection: Inspection) -> None:
        """Give what is reported of an absent patch the severity of the calls under it.

        A partial patch is at least a warning if any call is under it, and an absent one if the
        process serves requests and imports a package that may wait. Where nothing waits, that is a
        note. A run that does not look for such calls, or not in the whole project, changes nothing.
        """
        from gblock.rules import OF_PATCHING, OF_UNPATCHED

        modules = self._check.codebase.modules
        looks = inspection.selection.runs_named(OF_UNPATCHED[0])
        if not looks or not modules.service.issuperset(modules.serving):
            return
        under: dict[str, Severity] = {}
        for one in self.reported:
            if one.code not in OF_PATCHING:
                under[one.cause] = max(one.severity, under.get(one.cause, one.severity))
        for number, one in enumerate(self.reported):
            if one.code in OF_PATCHING:
                partial = one.code == OF_PATCHING[1] and one.cause in under
                severity = max(
                    under.get(one.cause, Severity.NOTE),
                    Severity.WARNING if partial or one.symbol else Severity.NOTE,
                )
                self.reported[number] = one._replace(severity=severity)

    def add_invalid(self, path: str, trouble: Trouble) -> None:
        """Sort a file that cannot be checked."""
        from gblock.rules.invalid_syntax import InvalidSyntax

        if self._check.ignores(OF_FILES):
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
        self.rows[key_of(candidate.diagnostic)] = candidate.rows
        reason = _reason_to_hide(candidate, ignored, comments)
        if reason is not None:
            self.suppressed.append(Hidden(candidate.diagnostic, reason))
            return
        if inspection is None:
            self.reported.append(candidate.diagnostic)
            return
        diagnostic = inspection.assessment.in_context(candidate)
        if inspection.assessment.is_idle(diagnostic) and not self._check.all_contexts:
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


def _reason_to_hide(
    candidate: Candidate, ignored: frozenset[str | None], comments: Suppressions | None
) -> str | None:
    """Return why the configuration or a comment hides a diagnostic, None if neither does."""
    diagnostic = candidate.diagnostic
    if ignored & {diagnostic.code, diagnostic.blocker}:
        return "configuration"
    if comments is not None and comments.hides(diagnostic, *candidate.rows):
        return "comment"
    return None


def _found_in_unit(request: Request, unit: Unit) -> CheckResults:
    """Check one unit of a repository."""
    return Check(request, unit=unit)._in_own_settings()  # noqa: SLF001 - it is this module's


def check(request: Request) -> Report:
    """Check some paths.

    Raises:
        UserError: for a name or a path that does not exist, a catalog or a baseline that is
            wrong, or an environment that cannot be read.
    """
    return Check(request).report()


def _unexplained(seen: Confirmation) -> tuple[Related, ...]:
    """Return the blocks that a probe recorded and that no diagnostic explains."""
    from gblock.diagnostics import Location, Related
    from gblock.observations import sentence

    return tuple(
        Related(relative_name(path), Location(site.line or 1, 1), sentence(site))
        for site, path in seen.unexplained
    )


def confirmed(observed: Observations, paths: Sequence[str], config: Config) -> Observations:
    """Return the observations, each call site with the diagnostics of a check of some paths.

    A baseline hides none of them: a diagnostic that is known still explains a block.

    Raises:
        UserError: for a path that does not exist, or a catalog that is wrong.
    """
    from gblock import config as configuration
    from gblock import observations

    settings = configuration.changed(config, baseline=None)
    run = Check(Request(paths, settings, assume_gevent=True))  # a probe saw its hub
    diagnostics = run.report().diagnostics
    return observations.confirmed(observed, diagnostics, run.codebase.reported).observations


def processes(directory: str, config: Config) -> Processes:
    """Return the processes of the project in a directory.

    Raises:
        UserError: if a catalog is wrong.
    """
    import os

    from gblock import catalog
    from gblock.project.names.inference import Inference
    from gblock.project.processes import surroundings
    from gblock.project.processes.processes import Processes
    from gblock.project.reading.modules import Modules

    root = os.path.abspath(directory)
    found = [os.path.abspath(p) for p in files.find([root], config.exclude, config.root).files]
    known = catalog.load(config.extend_catalog)
    modules = Modules(root, found, config.src)
    around = surroundings.of_project(modules, config, known.worker_commands)
    return Processes(Inference(modules, known), around=around)
