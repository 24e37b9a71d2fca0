"""The Python files that a command is about: those to report, and the project around them."""

from __future__ import annotations

import os

from gblock import files
from gblock.boundary import PROJECT_MARKS
from gblock.project.reading.modules import Modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.config import Config
    from gblock.diagnostics import Problem
    from gblock.project.reading.modules import Trouble


class Codebase:
    """Finds files; the rest of the project is looked for only when `complete` is called.

    Args:
        paths: What the user named.
        config: The project's settings.
        stdin: The name and the bytes of a file that is given and not read, such as an editor's.
        force_exclude: Whether files that are named are left out like those that are found.

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
    ) -> None:
        self._config = config
        self._is_complete = False
        found = files.find(paths, config.exclude, config.root, force_exclude=force_exclude)
        self._problems = found.problems
        self.notes = found.notes
        named = list(found.absolute)
        if stdin is not None:
            named.append(os.path.abspath(stdin[0]))
        self.root = config.root if config.filename else project_root(paths)
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
            if "test" in path and (force_exclude or path not in single) and self._is_test(path)
        ]
        skipped = set(self.tests)
        self.reported = [path for path in named if path not in skipped]
        self.modules.service = frozenset(self.reported)
        self.covers_project = self.root in tops

    @property
    def is_project(self) -> bool:
        """Whether the files belong to a project, and are not loose files in somebody's home."""
        return self.covers_project or self.has_marks

    @property
    def has_marks(self) -> bool:
        """Whether settings of gblock's, or a project's mark, say that the files are a project."""
        return bool(self._config.filename) or is_project(self.root)

    @property
    def is_complete(self) -> bool:
        """Whether every file of the project is known."""
        return self.covers_project or self._is_complete

    def complete(self) -> None:
        """Find the rest of the project, unless that was done."""
        if not self.is_complete:
            self._is_complete = True
            for path in files.find(self._rest(), self._config.exclude, self._config.root).files:
                self.modules.add(os.path.abspath(path))

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
        """Return the files that can be read and not be understood, with the reasons, in order."""
        return [one for one in self._troubles() if one[1].kind != "unreadable"]

    @property
    def troubled(self) -> set[str]:
        """The files to report that cannot be read or understood."""
        return self.modules.problems.keys() & set(self.reported)

    def _troubles(self) -> list[tuple[str, Trouble]]:
        return [(path, self.modules.problems[path]) for path in sorted(self.troubled)]

    def _is_test(self, path: str) -> bool:
        """Return whether a file is a test that was found, not named, nor below named tests."""
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
        """Return what belongs to the project besides what was named."""
        if self.is_project:
            return [self.root]
        # A script in a home directory is no project: only its neighbours can be imported.
        directories = {os.path.dirname(path) for path in self.reported}
        return [path for directory in directories for path in files.beside(directory)]


def project_root(paths: Sequence[str]) -> str:
    """Return the directory of the project: the nearest above the paths with a project's mark."""
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
    """Return whether a directory carries a project's mark."""
    return any(os.path.lexists(os.path.join(directory, mark)) for mark in PROJECT_MARKS)
