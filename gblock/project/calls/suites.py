"""Suites: the groups of statements of a file that one test of their surroundings selects."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache

from gblock.project.reading.modules import Modules
from gblock.project.reading.parsing import parsed

tree_of = lru_cache(maxsize=1)(parsed)
"""The tree of a file, kept for the next kind of suites."""
_BLOCKS = frozenset(("body", "orelse", "finalbody", "handlers", "cases"))
"""The fields of statements that hold others."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


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


def statements(scope: ast.AST, *, own: bool = False) -> list[ast.AST]:
    """Return the statements in a module or a function, with the blocks of ``try`` and ``match``.

    Args:
        scope: The module or the function.
        own: True to leave out those of the functions and classes in it.
    """
    found = _within(scope)
    for node in found:  # which grows
        if not (own and isinstance(node, _SCOPES)):
            found += _within(node)
    return found


def _within(node: ast.AST) -> list[ast.AST]:
    return [one for name in node._fields if name in _BLOCKS for one in getattr(node, name)]
