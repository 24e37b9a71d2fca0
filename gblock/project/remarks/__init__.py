"""What there is to say about processes and not about single calls: places, each with its facts.

One module a rule, of the rule's name. It knows no syntax tree of libcst's and words nothing: the
rule of the same name makes a diagnostic of each remark. So a run in which nothing of the kind is
found needs neither.
"""

from __future__ import annotations

import re
from functools import cached_property
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any, NamedTuple, Protocol

    from gblock.project.processes import Processes

    class Finder(Protocol):
        """What a module of this package holds. A clean run imports it: it needs to be light."""

        MARKS: re.Pattern[bytes]
        """A file without it holds nothing that the rule reports."""

        def find(self, processes: Processes, paths: Collection[str]) -> Iterable[Remark]:
            """The remarks on some files, each of which holds the marks."""

else:
    from gblock.diagnostics import NamedTuple  # typing's import is a tenth of a clean run


class Span(NamedTuple):
    """A place in a file: rows from 1, columns in characters from 1, the end exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int


class Remark(NamedTuple):
    """One place that a rule about processes reports."""

    path: str
    span: Span
    facts: Any
    """What the rule needs to word it; each rule's module says which type it is."""
    statement: tuple[int, int] | None = None
    """The first and the last row of the statement, whose comments may suppress it; by default
    those of the span."""


class Remarks:
    """What the rules about processes find, before it is worded.

    Args:
        names: The rules that run.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._finders: dict[str, Any] = {
            name: import_module(f"gblock.project.remarks.{name.replace('-', '_')}")
            for name in names
        }

    @cached_property
    def _marks(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(b"(?:%s)" % f.MARKS.pattern for f in self._finders.values()))

    def may_be_in(self, data: bytes) -> bool:
        """Whether a file may hold something, told from its bytes."""
        return bool(self._finders) and self._marks.search(data) is not None

    def of(
        self, processes: Processes, paths: Collection[str]
    ) -> dict[str, list[tuple[str, Remark]]]:
        """For each file that has any, the rules' names and their remarks.

        Args:
            processes: The processes of the project.
            paths: The files to report.
        """
        found: dict[str, list[tuple[str, Remark]]] = {}
        data = processes.modules.data
        for name, finder in self._finders.items():
            marked = [path for path in paths if finder.MARKS.search(data(path))]
            for remark in finder.find(processes, marked) if marked else ():
                found.setdefault(remark.path, []).append((name, remark))
        return found
