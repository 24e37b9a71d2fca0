"""Suites: the groups of statements of a file that one test of their surroundings selects."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from gblock.project.reading.modules import Modules


class Suites(ABC):
    """Finds the suites of files, those of each file once.

    Args:
        modules: The project's files.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._rows: dict[str, list[tuple[int, int]]] = {}

    def contain(self, row: int, path: str) -> bool:
        """Return whether one of the suites of a file contains a row."""
        if path not in self._rows:
            self._rows[path] = [
                (suite[0].lineno, suite[-1].end_lineno or suite[-1].lineno)
                for suite in self.of(self.modules.data(path))
            ]
        return any(first <= row <= last for first, last in self._rows[path])

    @abstractmethod
    def of(self, data: bytes) -> Iterable[Sequence[ast.stmt]]:
        """Return the suites of a file, none of them empty."""
