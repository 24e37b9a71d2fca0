"""Scheduling: which file of one project, or unit, is inspected in which process.

Triage drops the files that cannot matter. The other files are inspected in order, while a second
process reads ahead and checks the dropped files for syntax errors and comments. Clean runs import
this module, so it imports nothing heavy.
"""

from __future__ import annotations

from functools import cached_property

from gblock import rules
from gblock.decoding import is_utf_8
from gblock.engine.looking import Looking
from gblock.project.reading.modules import CHOOSING, STARTING, WORDS, Trouble
from gblock.project.triage.triage import Triage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from gblock.codebase import Codebase
    from gblock.engine.inspection import Inspection, Searched
    from gblock.engine.jobs import Job, Jobs
    from gblock.engine.request import Request
    from gblock.engine.wanted import Wanted
    from gblock.project.processes.surroundings import Surroundings
    from gblock.project.reading.tree import Tree
    from gblock.project.remarks import Remarks

else:
    from gblock.lean import NamedTuple

_GEVENT = tuple(word.encode() for word in WORDS)
_STARTING = tuple(word.encode() for word in STARTING)
_LARGEST = 10_000_000
"""Bytes: a larger file is not parsed. It is generated, and its tree would take gigabytes."""
_WORTH_A_PROCESS = 4
"""Files: for fewer no second process is worth its start."""
_WORTH_DIVIDING = 1000
"""Files: in a larger project two processes look at half of them each, before any is parsed."""
_OTHERS = (1, 3)
"""Of each five independent files, the indices of those that the second process searches: its start
takes as long as the search of a few files."""
_PARSED_ANYWAY = 2_000_000
"""Bytes: at most this much of the dropped files is parsed, to report syntax errors."""


class Dropped(NamedTuple):
    """The results for files that triage dropped."""

    noted: list[str]
    """Files to inspect nevertheless: they have a comment, or a mark of a rule about processes."""
    problems: dict[str, Trouble]
    """Why others cannot be read."""


class Plan:
    """Inspects the files of one check.

    Args:
        codebase: The files.
        wanted: The rules, the blockers and their words.
        request: The paths and the settings.
        on_progress: Called with the number of files done and to do.
    """

    def __init__(
        self,
        codebase: Codebase,
        wanted: Wanted,
        request: Request,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._codebase = codebase
        self._modules = codebase.modules
        self._wanted = wanted
        self._request = request
        self._on_progress = on_progress
        self._triage = Triage(self._modules, wanted.vocabulary)
        self.passed_over = 0
        """The number of files that may have diagnostics and are not inspected, since nothing of
        the tree runs on gevent."""

    def inspected(self) -> tuple[Inspection | None, list[str]]:
        """Inspect every file that may have diagnostics.

        Returns:
            The inspection, None if no file needed one, and the files, in order.
        """
        if len(self._modules.files) > _WORTH_DIVIDING:
            self._survey()
        chosen = self._chosen()
        if self._is_silent:
            self.passed_over = 0 if self._request.is_unit else len(chosen)
            return self._only_read(chosen)
        marked = self._marked()
        reported, is_frugal = self._codebase.reported, self._modules.is_frugal
        taken = [path for path in reported if path in chosen]
        dropped = [path for path in reported if path not in chosen]
        if is_frugal:
            dropped = [path for path in dropped if path not in self._triage.plain]
        # It must not use results of the inspection, whose progress at that time is undetermined.
        known = frozenset(self._modules.problems)

        def check() -> Dropped:
            return self._checked(dropped, marked, known)

        if is_frugal:
            inspection, readable = self._looked_apart(taken)
            checked = check()
        else:
            many = bool(chosen) and len(dropped) > _WORTH_A_PROCESS
            inspection, readable, job = self._looked_in_order(
                taken, marked, check if many else None
            )
            checked = job.result() if job else check()
        self._modules.problems.update(checked.problems)
        noted = checked.noted
        if not is_frugal:
            troubled = sorted(marked.intersection(self._modules.problems))
            noted += [path for path in troubled if self._modules.is_in_python_2(path)]
        if noted and inspection is None:
            inspection = self._inspection()
        if inspection is None:
            return None, []
        looked = marked.intersection((*readable, *noted))
        paths = [path for path in reported if path in looked] if looked else []
        # Without marked files the rules' marks are not needed.
        remarked = inspection.remark(self._remarks, paths) if paths else ()
        noted = [p for p in noted if p in remarked or b"gblock:" in self._modules.data(p)]
        return inspection, [*readable, *noted]

    def inspected_again(self, inspection: Inspection, path: str) -> bool:
        """Inspect one changed file of a project whose other files were inspected before.

        The rules about processes do not run: what they find depends on many files.

        Returns:
            False if the file cannot be parsed.
        """
        inspection.forget(path)
        if len(self._modules.data(path)) <= _LARGEST and not self._modules.compiles(path):
            return False
        # Most files matter to no rule, and are not summarized then.
        if self._triage.may_matter(path):
            if not self._is_readable(path):
                return False
            with Looking(path):
                inspection.look(path)
        return path not in self._modules.problems

    def close(self) -> None:
        """Stop the work of other processes."""
        if "_jobs" in vars(self):
            self._jobs.close()

    # -- selection of files

    def _survey(self) -> None:
        """Survey half of the files in another process."""
        triage = self._triage
        mine, others = self._modules.files[::2], self._modules.files[1::2]
        asked = frozenset(self._codebase.reported)
        _ = self._wanted.vocabulary.packages  # read before the fork, for both
        survey = self._jobs.add(lambda: triage.survey(others, asked))
        if survey.is_elsewhere:
            found = triage.survey(mine, asked)
            triage.take(others, survey.result())
            triage.take(mine, found)

    def _chosen(self) -> set[str]:
        """Return the files to inspect; the rest of the project is found only if there are some."""
        triage, codebase = self._triage, self._codebase
        if not triage.any_may_matter(codebase.reported, codebase.complete):
            return set()
        codebase.complete()
        roots = triage.roots(self._modules.files)
        return set(triage.select(codebase.reported, roots))

    def _marked(self) -> set[str]:
        """Return the files in which a rule about processes may find something."""
        runs = self._wanted.selection.runs_named
        if self._modules.is_frugal or not any(map(runs, rules.OF_PROCESSES)):
            return set()
        data, reported = self._modules.data, self._codebase.reported
        found = {path for path in reported if self._remarks.may_be_in(data(path))}
        if found:
            self._codebase.complete()
        return set(reported) if self._is_marked_elsewhere() else found

    def _is_marked_elsewhere(self) -> bool:
        """Return whether some file of the project makes a scattered rule check all files."""
        pattern, data = self._remarks.scattered, self._modules.data
        if pattern is None:
            return False
        from gblock.rule import ON_GEVENT

        self._codebase.complete()
        mentioning = self._modules.mentioning
        return any(pattern.search(data(path)) for word in ON_GEVENT for path in mentioning(word))

    @cached_property
    def _remarks(self) -> Remarks:
        """The rules about processes that can report something."""
        from gblock.project.remarks import Remarks

        names = rules.OF_PROCESSES if self._mentions_gevent else (rules.OF_DRIVERS,)
        running = filter(self._wanted.selection.runs_named, names)
        return Remarks(rules.load_process_rules(running))

    @cached_property
    def _mentions_gevent(self) -> bool:
        """True if a file of the project, or one that starts its processes, mentions gevent.

        Files that were not named are read only if a named file may call or mention something that
        gevent patches.
        """
        if not self._codebase.is_complete:
            data, reported = self._modules.data, self._codebase.reported
            words = {*_GEVENT, *self._wanted.originals}
            named = any(word in data(path) for path in reported for word in words)
            if not named and not self._may_call_unpatched():
                return False
            self._codebase.complete()
        mentioning = self._modules.mentioning
        if any(map(mentioning, WORDS)) or self._is_started_on_gevent:
            return True
        return any(map(mentioning, CHOOSING)) and self._requires_gevent

    @cached_property
    def _is_started_on_gevent(self) -> bool:
        """True if a file that may start a process names a gevent server or worker."""
        if not self._codebase.is_project:
            return False
        from gblock.project.processes.formats import mention

        declared = " ".join(self._request.config.processes).encode()
        if any(word in declared for word in _STARTING):
            return True
        return mention(self._tree, _STARTING) is not None

    @cached_property
    def _tree(self) -> Tree:
        """The files below the root, of which some may start processes or name requirements."""
        from gblock.project.processes.formats import matters
        from gblock.project.reading.tree import Tree

        config = self._request.config
        base = config.root if config.filename else ""
        return Tree(self._codebase.root, config.exclude, base, matters)

    @cached_property
    def _is_silent(self) -> bool:
        """True for a unit of a repository, and for a large tree, in which nothing mentions gevent.

        Every call in it would be hidden in the end, so none is looked at.
        """
        request, data = self._request, self._modules.data
        if not (request.is_unit or self._modules.is_frugal) or request.observed is not None:
            return False
        if request.assume_gevent or request.all_processes or self._is_started_on_gevent:
            return False
        words = (*_GEVENT, b"grequests")
        if any(word in data(path) for path in self._modules.files for word in words):
            return False
        return not self._requires_gevent

    @cached_property
    def _requires_gevent(self) -> bool:
        """True if the project requires a distribution that runs on gevent."""
        from gblock.project.processes.presence import is_required

        return is_required(self._tree)

    def _only_read(self, chosen: set[str]) -> tuple[Inspection | None, list[str]]:
        """Check the files for syntax errors and comments alone: no call in them is reported."""
        modules, reported = self._modules, self._codebase.reported
        for path in chosen:
            if len(modules.data(path)) > _LARGEST:
                modules.problems[path] = _too_large(modules.data(path))
            else:
                modules.compiles(path)
        known = frozenset(modules.problems)
        checked = self._checked([path for path in reported if path not in chosen], set(), known)
        modules.problems.update(checked.problems)
        noted = {path for path in chosen if b"gblock:" in modules.data(path)}.union(checked.noted)
        if not noted:
            return None, []
        return self._inspection(), [path for path in reported if path in noted]

    def _may_call_unpatched(self) -> bool:
        """Return whether a named file may make a call that blocks only without the patch."""
        triage = Triage(self._modules, self._wanted.unpatched)
        return triage.any_may_matter(self._codebase.reported, self._codebase.complete)

    # -- processes

    @cached_property
    def _jobs(self) -> Jobs:
        """The work of other processes, created on demand."""
        from gblock.engine.jobs import Jobs

        return Jobs(self._request.jobs)

    def _looked_in_order(
        self, taken: list[str], marked: set[str], check: Callable[[], Dropped] | None
    ) -> tuple[Inspection | None, list[str], Job[Dropped] | None]:
        """Inspect connected files, some of which another process summarizes.

        Args:
            taken: The files.
            marked: The files in which a rule about processes may report something.
            check: The next work of the other process.
        """
        # It summarizes more of them, because this one has to load the catalog meanwhile.
        first, second = taken[: len(taken) // 3], taken[len(taken) // 3 :]
        ahead = None
        if len(second) > _WORTH_A_PROCESS:
            ahead = self._jobs.add(lambda: self._modules.summaries(second))
        checked = self._jobs.add(check) if check else None
        readable = [path for path in first if self._is_readable(path)]
        inspection = self._inspection() if readable else None
        if inspection is not None and marked:
            inspection.prepare()
        if ahead is not None and ahead.is_elsewhere:
            self._modules.summarized(ahead.result())
        readable += [path for path in second if self._is_readable(path)]
        if readable:
            inspection = inspection or self._inspection()
            self._look(inspection, readable)
        return inspection, readable, checked

    def _looked_apart(self, taken: list[str]) -> tuple[Inspection | None, list[str]]:
        """Inspect independent files, half of which another process searches.

        Connected files are not split: both processes would read and infer the same.
        """
        if not taken:
            return None, []
        mine, others = taken, list[str]()
        searched = None
        if len(taken) > 2 * _WORTH_A_PROCESS:
            others = [path for number, path in enumerate(taken) if number % 5 in _OTHERS]
            mine = [path for number, path in enumerate(taken) if number % 5 not in _OTHERS]
            searched = self._jobs.add(lambda: self._searched(others))
            if not searched.is_elsewhere:
                mine, searched = taken, None
        readable = [path for path in mine if self._is_readable(path)]
        inspection = self._inspection()
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
            if self._on_progress:
                self._on_progress(number, len(paths))
            with Looking(path):
                inspection.look(path)
            self._jobs.tend()

    def _searched(self, paths: list[str]) -> Searched:
        """Return the search results for some files; runs in another process."""
        return self._inspection().search([path for path in paths if self._is_readable(path)])

    def _inspection(self) -> Inspection:
        from gblock.engine.inspection import Inspection

        return Inspection(self._codebase, self._wanted, self._request, self._triage, self._around)

    def _around(self) -> Job[Surroundings]:
        """Start to read the surroundings, in another process if one is free."""
        from gblock.project.processes import surroundings

        modules, config = self._modules, self._request.config
        workers = self._wanted.outlines.workers
        return self._jobs.add(lambda: surroundings.of_project(modules, config, workers))

    # -- unreadable files

    def _is_readable(self, path: str) -> bool:
        """Return whether a file that triage selected can be parsed; if not, record a problem."""
        problems = self._modules.problems
        data = self._modules.data(path)
        if path in problems:
            return False
        if len(data) > _LARGEST:
            problems[path] = _too_large(data)
            return False
        with Looking(path):
            return self._modules.parses(path)

    def _checked(self, dropped: list[str], marked: set[str], known: frozenset[str]) -> Dropped:
        """Check the dropped files for comments and, as far as that is cheap, for syntax errors.

        Args:
            dropped: The files.
            marked: The files in which a rule about processes may report something.
            known: The files that are already known to be unreadable.
        """
        checked, parsed = Dropped([], {}), 0
        modules = self._modules
        for path in dropped:
            data = modules.data(path)
            if path in known or len(data) > _LARGEST:
                continue
            if b"\0" in data:
                trouble = modules.syntax_error(path)
            else:
                parsed += len(data)
                if parsed <= _PARSED_ANYWAY and not modules.is_frugal:
                    # What could be summarized was parsed for it.
                    is_read = modules.is_read(path) and path not in modules.problems
                    trouble = None if is_read else modules.syntax_error(path)
                else:
                    trouble = None if is_utf_8(data) else modules.decoding_error(path)
            # An unreadable file has no bytes, and its problem is recorded.
            trouble = trouble or (modules.problems.get(path) if not data else None)
            if trouble is not None:
                checked.problems[path] = trouble
            elif path in marked or b"gblock:" in data:
                checked.noted.append(path)
        return checked


def _too_large(data: bytes) -> Trouble:
    size = f"{len(data) / 1e6:.0f} MB"
    return Trouble(f"is too large to be checked: {size}", kind="limit")
