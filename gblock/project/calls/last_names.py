"""Values by the last part of a dotted name, which may be a pattern: ``wtforms.*Field``."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class ByLastName(Generic[_T]):
    """Finds the values of dotted names by their last parts.

    Args:
        known: Dotted names, whose last parts may be patterns, each with a value.
    """

    def __init__(self, known: Iterable[tuple[str, _T]]) -> None:
        self._exact: dict[str, list[_T]] = {}
        self._patterns: list[tuple[str, _T]] = []
        self._matched: dict[str, list[_T]] = {}
        for symbol, one in known:
            name = symbol.rpartition(".")[2]
            if "*" in name:
                self._patterns.append((name, one))
            else:
                self._exact.setdefault(name, []).append(one)

    @property
    def names(self) -> frozenset[str]:
        """The names that are no patterns."""
        return frozenset(self._exact)

    def of(self, name: str) -> list[_T]:
        """Return the values of the dotted names that end with a name, or with a pattern of it."""
        found = self._matched.get(name)
        if found is None:
            matching = [one for key, one in self._patterns if fnmatch.fnmatchcase(name, key)]
            found = self._matched[name] = [*self._exact.get(name, ()), *matching]
        return found
