"""What there is to report of processes and not of single calls: places, each with its facts.

The rules of the same names find the places and word them; neither needs a syntax tree of libcst's.
"""

from __future__ import annotations

import re
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Protocol

    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service

    class Finder(Protocol):
        """A rule about processes, as far as it finds places."""

        @property
        def name(self) -> str:
            """The rule's name."""

        @property
        def marks(self) -> re.Pattern[bytes]:
            """A file without them holds nothing that the rule reports."""

        @property
        def scattered(self) -> bool:
            """Whether one file with the marks is enough for any file to be reported."""

        @property
        def in_processes(self) -> bool:
            """Whether there is nothing to report where no process is known to run on gevent."""

        def find(self, service: Service, paths: Collection[str], /) -> Iterable[Remark]:
            """Yield the remarks on some files, each of which holds the marks, and on others."""


class Remarks:
    """What the rules about processes find, before it is worded.

    Args:
        finders: The rules that run.
    """

    def __init__(self, finders: Iterable[Finder]) -> None:
        self._finders = tuple(finders)

    @cached_property
    def _marks(self) -> re.Pattern[bytes] | None:
        return _any(one for one in self._finders if not one.scattered)

    @cached_property
    def scattered(self) -> re.Pattern[bytes] | None:
        """What some file must hold, where that is enough for any file to hold something."""
        return _any(one for one in self._finders if one.scattered)

    def may_be_in(self, data: bytes) -> bool:
        """Return whether a file may hold something by itself, as far as its bytes say."""
        return self._marks is not None and self._marks.search(data) is not None

    def of(self, service: Service, paths: Collection[str]) -> dict[str, list[tuple[str, Remark]]]:
        """Return, for each file that has any, the rules' names and their remarks.

        Args:
            service: The project, its processes and their order.
            paths: The files to report.
        """
        found: dict[str, list[tuple[str, Remark]]] = {}
        data = service.modules.data
        for finder in self._finders:
            marked = paths
            if finder.in_processes and not service.processes.has_gevent:
                continue
            if not finder.scattered:
                marked = [path for path in paths if finder.marks.search(data(path))]
            for remark in finder.find(service, marked) if marked else ():
                found.setdefault(remark.path, []).append((finder.name, remark))
        return found


def _any(finders: Iterable[Finder]) -> re.Pattern[bytes] | None:
    """Return one pattern for the marks of several rules."""
    marks = [finder.marks for finder in finders]
    if len(marks) < 2:
        return marks[0] if marks else None
    return re.compile(b"|".join(b"(?:%s)" % one.pattern for one in marks))
