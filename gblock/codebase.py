"""The Python files of one run: those to report, and the rest of the project."""

from __future__ import annotations

import os
from functools import cached_property

from gblock import files, opened
from gblock.boundary import PROJECT_MARKS, repository
from gblock.project.reading.modules import Modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.config import Config
    from gblock.diagnostics import Problem
    from gblock.project.reading.modules import Trouble
    from gblock.units import Unit


class Codebase:
    """Finds files; the rest of the project is searched only when `complete` is called.

    Args:
        paths: The paths that the user named.
        config: The project's settings.
        stdin: The name and the bytes of a file on standard input, such as an editor's.
        force_exclude: True to apply exclusions to named files too.
        unit: The unit of a repository that is checked as a whole; it is reported with the code
            that it shares with others.

    Raises:
        UserError: for a path that does not exist.
    """

    def __init__(
        self,
        paths: Sequence[str],
        config: Config,
        *,
        stdin: tuple[str, bytes] | None = None,
        force_exclude: bool = False,
        unit: Unit | None = None,
    ) -> None:
        self._config = config
        self._is_complete = False
        self._unit = unit
        self._start = _common(paths)
        self._shared: list[str] = []
        found = files.find(paths, config.exclude, config.root, force_exclude=force_exclude)
        self._problems = found.problems
        self.notes = found.notes
        named = list(found.absolute)
        if stdin is not None:
            named.append(os.path.abspath(stdin[0]))
        self.root = self._root(paths)
        self.modules = Modules(self.root, list(named), config.src)
        if stdin is not None:
            self.modules.give(named[-1], stdin[1])
        single = {os.path.abspath(path) for path in paths if not os.path.isdir(path)}
        tops = [os.path.abspath(path) for path in paths if os.path.isdir(path)]
        self._tops = sorted((os.path.join(top, "") for top in tops), key=len, reverse=True)
        self._are_tests: dict[str, bool] = {}
        self.tests = [
            path
            for path in named
            if "test" in path.lower()
            and (force_exclude or path not in single)
            and self._is_test(path)
        ]
        skipped = set(self.tests)
        self.reported = [path for path in named if path not in skipped]
        self.modules.service = frozenset(self.reported)
        self.covers_project = self.root in tops
        if unit is not None:
            self._take_shared(unit)
            self.reported += [path for path in sorted(self._shared) if path not in self.reported]

    def add(self, path: str, data: bytes) -> None:
        """Report also a file that is not on disk, such as an editor's."""
        if path not in self.reported:
            self.reported.append(path)
            self.modules.service |= {path}
        self.modules.give(path, data)

    @property
    def is_project(self) -> bool:
        """Return whether the files belong to a project, and are not loose files."""
        return self.covers_project or self.has_marks

    @property
    def has_marks(self) -> bool:
        """Return whether gblock's settings or a project marker mark the files as a project."""
        if self._unit is not None or self._config.filename:
            return True
        return is_project(self.root)

    @property
    def is_complete(self) -> bool:
        """Return whether every file of the project is known."""
        return (self.covers_project and not self._may_share) or self._is_complete

    def complete(self) -> None:
        """Find the rest of the project, once."""
        if self.is_complete:
            return
        self._is_complete = True
        unit = self._unit_around()
        if unit is not None:
            self._unit = unit
            self.root = unit.directory
            for path in unit.files():
                self.modules.add(path)
            self._take_shared(unit)
        elif not self.covers_project:
            for path in files.find(self._rest(), self._config.exclude, self._config.root).files:
                self.modules.add(os.path.abspath(path))

    def _root(self, paths: Sequence[str]) -> str:
        """Return the directory of the project."""
        if self._unit is not None:
            return self._unit.directory
        return self._config.root if self._config.filename else project_root(paths)

    @cached_property
    def _may_share(self) -> bool:
        """True if the project lies in a larger repository, from which it may import."""
        if self._unit is not None or not self.is_project:
            return False
        return repository(self.root) != os.path.realpath(self.root)

    def _unit_around(self) -> Unit | None:
        """Return the unit that the named paths belong to, None if they are no part of one."""
        if not self.is_project:
            return None
        from gblock import units

        return units.around(self._start, self._config)

    def _take_shared(self, unit: Unit) -> None:
        """Add the code that a unit imports from outside of it."""
        self.modules.belong(unit.directory, unit.top)
        own = [*self.modules.files]
        self._shared = unit.shared(own, self.modules.data)
        for path in self._shared:
            self.modules.add(path)
        served = (path for path in self._shared if not self.modules.is_test(path))
        self.modules.service = self.modules.service.union(served)

    def problems(self) -> list[Problem]:
        """Return the paths and files that cannot be read."""
        from gblock.diagnostics import Problem

        unread = (
            Problem(files.relative_name(path), trouble.message)
            for path, trouble in self._troubles()
            if trouble.kind == "unreadable"
        )
        return [*self._problems, *unread]

    def invalid(self) -> list[tuple[str, Trouble]]:
        """Return the files that can be read but not parsed, with the reasons, in order."""
        return [one for one in self._troubles() if one[1].kind != "unreadable"]

    @property
    def troubled(self) -> set[str]:
        """The files to report that cannot be read or parsed."""
        return self.modules.problems.keys() & set(self.reported)

    def _troubles(self) -> list[tuple[str, Trouble]]:
        return [(path, self.modules.problems[path]) for path in sorted(self.troubled)]

    def _is_test(self, path: str) -> bool:
        """Return whether a file is a test that is neither named nor below named tests."""
        from gblock.project.reading.testcode import is_test

        prefix = next((prefix for prefix in self._tops if path.startswith(prefix)), "")
        top = prefix[:-1] or prefix or self.root
        if top not in self._are_tests:
            self._are_tests[top] = any(
                is_test(os.path.join(top, "x.py"), r, self.modules.data)
                for r in (self.root, os.path.dirname(top))
            )
        return not self._are_tests[top] and is_test(path, top, self.modules.data)

    def _rest(self) -> list[str]:
        """Return the files of the project that were not named."""
        if self.is_project:
            return [self.root]
        # A script in a home directory is no project: only its neighbours can be imported.
        directories = sorted({os.path.dirname(path) for path in self.reported})
        return [path for directory in directories for path in files.beside(directory)]


def project_root(paths: Sequence[str]) -> str:
    """Return the project's directory: the nearest above the paths with a project marker."""
    current = top = _common(paths)
    while True:
        if is_project(current):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return top
        current = parent


def _common(paths: Sequence[str]) -> str:
    """Return the nearest directory around all paths."""
    starts = [os.path.abspath(path) for path in paths] or [os.getcwd()]
    top = os.path.commonpath(starts)
    return top if os.path.isdir(top) else os.path.dirname(top)


def is_project(directory: str) -> bool:
    """Return whether a directory contains a project marker."""
    return any(opened.exists(os.path.join(directory, mark)) for mark in PROJECT_MARKS)
