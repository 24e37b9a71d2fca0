"""Remarks: findings about processes rather than single calls, each a place with its facts.

The rules about processes find the places and word the messages; neither needs libcst.
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
        """The part of a rule about processes that finds places."""

        @property
        def name(self) -> str:
            """The rule's name."""

        @property
        def marks(self) -> re.Pattern[bytes]:
            """Matches every file in which the rule can report something."""

        @property
        def scattered(self) -> bool:
            """True if a match in one file means that any file may be reported."""

        @property
        def in_processes(self) -> bool:
            """True if the rule reports nothing unless some process is known to run on gevent."""

        def find(self, service: Service, paths: Collection[str], /) -> Iterable[Remark]:
            """Yield the remarks on files that match `marks`, and on files related to them."""


class Remarks:
    """The places that the rules about processes find, without messages.

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
        """Matches in some file if a scattered rule may report something in any file."""
        return _any(one for one in self._finders if one.scattered)

    def may_be_in(self, data: bytes) -> bool:
        """Return whether a file's bytes match the marks of a rule that is not scattered."""
        return self._marks is not None and self._marks.search(data) is not None

    def of(self, service: Service, paths: Collection[str]) -> dict[str, list[tuple[str, Remark]]]:
        """Return the rules' names and remarks of each file that has any.

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
