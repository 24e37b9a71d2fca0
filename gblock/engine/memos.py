"""The results that a finished check keeps in memory, for a check of one changed file.

Inference and the analyses above it keep results in dictionaries, whose keys and values name files.
This module finds the dictionaries by walking over the attributes of objects, removes the results
about one file, and undoes what later questions add. So a class that keeps results does so in plain
dictionaries that only grow, or in cached properties.
"""

from __future__ import annotations

from types import MethodType

from gblock.catalog.lookup import Catalog
from gblock.engine.wanted import Wanted
from gblock.outline import Outlines
from gblock.project.processes.loading import Loading
from gblock.project.reading.import_graph import ImportGraph
from gblock.project.reading.modules import Modules
from gblock.project.reading.tree import Tree
from gblock.project.triage.triage import Triage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

_DEPTH = 4
"""The number of nested tuples and sets in which a file's name is looked for."""
_LEFT_OUT = (Catalog, Modules, Outlines, Tree, Triage, Wanted)
"""Classes whose tables do not depend on the text of one file, or that update themselves."""
_BY_KEY = (ImportGraph, Loading)
"""Classes whose results about a file are stored under its name: a value may name any file."""


class Memos:
    """The tables of some objects, and of the objects that these refer to.

    Args:
        roots: Objects of gblock's classes.
    """

    def __init__(self, roots: Iterable[object]) -> None:
        self._owners = list(_reachable(roots))
        self._attributes = [frozenset(vars(owner)) for owner in self._owners]
        self._tables = [
            (table, isinstance(owner, _BY_KEY))
            for owner in self._owners
            for table in _tables(vars(owner).values())
        ]
        self._sizes = [len(table) for table, _ in self._tables]

    def forget(self, paths: Collection[str]) -> None:
        """Remove the answers that name one of these files, for good."""
        for table, by_key in self._tables:
            gone = [
                key
                for key, value in table.items()
                if _names(key, paths, _DEPTH) or (not by_key and _names(value, paths, _DEPTH))
            ]
            for key in gone:
                del table[key]
        self._sizes = [len(table) for table, _ in self._tables]

    def take_back(self) -> None:
        """Remove the answers that were added since the last call of `forget`."""
        for (table, _), size in zip(self._tables, self._sizes, strict=True):
            for _ in range(len(table) - size):
                table.popitem()
        for owner, attributes in zip(self._owners, self._attributes, strict=True):
            for name in vars(owner).keys() - attributes:
                del vars(owner)[name]

    def clear(self) -> None:
        """Empty all tables and objects, whose references to one another keep them in memory."""
        for table, _ in self._tables:
            table.clear()
        for owner in self._owners:
            vars(owner).clear()
        self._tables, self._owners, self._sizes, self._attributes = [], [], [], []


def _reachable(roots: Iterable[object]) -> Iterator[object]:
    """Yield objects of gblock's classes that have attributes, each once."""
    queue, seen = list(roots), set[object]()
    while queue:
        one = queue.pop()
        if isinstance(one, MethodType):
            one = one.__self__
        is_ours = type(one).__module__.startswith("gblock.") and not isinstance(one, _LEFT_OUT)
        # Those with tables are compared by identity; tuples and structures are not.
        if is_ours and hasattr(one, "__dict__") and one not in seen:
            seen.add(one)
            yield one
            queue += vars(one).values()


def _tables(values: Iterable[object]) -> Iterator[dict[Any, Any]]:
    """Yield the dictionaries among some values, and those in them."""
    for value in values:
        if type(value) is dict:
            yield value
            yield from _tables(value.values())


def _names(value: object, paths: Collection[str], depth: int) -> bool:
    """Return whether a value is one of some paths, or holds one in a few nested collections."""
    if isinstance(value, str):
        return value in paths
    if depth and isinstance(value, (tuple, frozenset, list, set)):
        return any(_names(one, paths, depth - 1) for one in value)
    return False
