"""Group blocks by call site, over all processes, in memory limited by the number of sites."""

from __future__ import annotations

import heapq
import itertools
import math
import statistics
from array import array
from collections import Counter
from typing import TYPE_CHECKING

from gblock.observations.values import BLAMELESS, Block, ObservedSite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gblock.catalog import Catalog
    from gblock.observations.records import Frame, SiteSeen
    from gblock.observations.values import WatchedProcess

    Key = tuple[str | int | bool | None, ...]

DRAWN = 1000
"""The number of blocks kept for one process: the longest."""
_NAMES = 50
"""The number of names of one kind that are counted at one site."""
HOUR = 3600.0
_SHAPES = 200
"""The number of combinations of names and classes that are distinguished at one site."""

Shape = tuple[
    str, "str | None", bool, "str | None", "tuple[str, ...]", "str | None", "str | None",
    "tuple[str, ...]",
]  # fmt: skip
"""Class, confidence, original, patched, native, system call, greenlet, candidates of a block."""


class Group:
    """All blocks of one call site."""

    __slots__ = (
        "candidates", "exact", "first", "greenlets", "kinds", "last", "longest", "native",
        "original", "patched", "process", "processes", "rest", "seconds", "shapes", "shown",
        "syscalls", "total", "unfinished",
    )  # fmt: skip

    def __init__(self) -> None:
        """Create an empty group."""
        self.seconds = array("d")
        self.rest = 0
        """Blocks that were counted without records of their own."""
        self.total = 0.0
        self.longest = 0.0
        self.shown: SiteSeen | None = None
        """The site of the longest block."""
        self.process = 0
        """The process of the longest block."""
        self.first, self.last = math.inf, 0.0
        self.processes: set[int] = set()
        self.unfinished = 0
        self.exact = 0
        self.original = 0
        self.patched = 0
        self.shapes: dict[Shape, int] = {}
        """The number of blocks by class and names."""
        self.kinds: Counter[str] = Counter()
        self.native: Counter[str] = Counter()
        self.syscalls: Counter[str] = Counter()
        self.greenlets: Counter[str] = Counter()
        self.candidates: Counter[str] = Counter()

    @property
    def times(self) -> int:
        """The number of blocks."""
        return len(self.seconds) + self.rest

    def see(self, seconds: float, site: SiteSeen | None, process: int) -> None:
        """Use a block's site for the group if the block is the longest so far."""
        self.processes.add(process)
        if seconds >= self.longest or self.shown is None:
            if site is not None or self.shown is None:
                self.shown = site
            if seconds >= self.longest:
                self.longest, self.process = seconds, process

    def add_shape(self, shape: Shape) -> None:
        """Count a new shape; above the limit, without its names."""
        if len(self.shapes) >= _SHAPES:
            shape = (*shape[:4], (), None, None, ())
        self.shapes[shape] = self.shapes.get(shape, 0) + 1

    def settle(self) -> None:
        """Count the names of all shapes; once, at the end."""
        for shape, times in self.shapes.items():
            kind, confidence, original, patched, native, syscall, greenlet, candidates = shape
            self.kinds[kind] += times
            self.exact += times * (confidence == "exact")
            self.original += times * original
            self.patched += times * (patched == "all")
            for counter, names in (
                (self.native, native),
                (self.syscalls, (syscall,)),
                (self.greenlets, (greenlet,)),
                (self.candidates, candidates),
            ):
                for name in names:
                    if name and (name in counter or len(counter) < _NAMES):
                        counter[name] += times
        self.shapes = {}


class Gatherer:
    """The groups of all processes."""

    def __init__(self, catalog: Catalog) -> None:
        """Create a gatherer without blocks.

        Args:
            catalog: The catalog.
        """
        self._catalog = catalog
        self._groups: dict[Key, Group] = {}
        self._drawn: dict[int, list[tuple[float, int, Block, Group]]] = {}
        self._serial = itertools.count()
        self.hours: dict[float, tuple[int, float]] = {}

    def group(self, kind: str, site: SiteSeen | None) -> Group:
        """Return the group of blocks of a class at a site."""
        key = _key(kind, site, self._catalog)
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = Group()
        return found

    def draw(self, block: Block, group: Group) -> None:
        """Keep a block for the time line if it is among the longest of its process."""
        drawn = self._drawn.setdefault(block.process, [])
        item = (block.seconds, next(self._serial), block, group)
        if len(drawn) < DRAWN:
            heapq.heappush(drawn, item)
        elif block.seconds > drawn[0][0]:
            heapq.heapreplace(drawn, item)

    def drawn(self, process: int) -> list[tuple[float, int, Block, Group]]:
        """Return the blocks drawn for a process, as a heap with the shortest block first."""
        return self._drawn.setdefault(process, [])

    def count_hour(self, start: float, seconds: float, times: int = 1) -> None:
        """Count blocks for the hour in which they started."""
        hour = start // HOUR * HOUR
        before, total = self.hours.get(hour, (0, 0.0))
        self.hours[hour] = before + times, total + seconds

    def result(
        self, processes: Sequence[WatchedProcess], order: Mapping[int, int]
    ) -> tuple[tuple[ObservedSite, ...], tuple[Block, ...]]:
        """Return the sites, by seconds descending, and the blocks to draw.

        Args:
            processes: The processes in the order of the report.
            order: The index in the report of each process, by its number during reading.
        """
        for group in self._groups.values():
            group.settle()
        made = [
            (_site(group, processes[order[group.process]], self._catalog), group)
            for group in self._groups.values()
            if group.times
        ]
        made.sort(
            key=lambda item: (not item[0].is_blamed, -item[0].total, item[0][:3] == (None,) * 3)
        )
        index = {id(group): number for number, (_, group) in enumerate(made)}
        blocks = [
            block._replace(process=order[block.process], site=index[id(group)])
            for drawn in self._drawn.values()
            for _, _, block, group in drawn
        ]
        return tuple(site for site, _ in made), tuple(sorted(blocks, key=lambda b: b.start))


def _key(kind: str, site: SiteSeen | None, catalog: Catalog) -> Key:
    if kind in BLAMELESS:
        return (kind,)
    # The place of a garbage collection says nothing about the call there.
    special = kind if kind == "gc" else ""
    if site is None or site.other:
        return (special, site is not None)
    place = _place(site)
    return (special, *place, None if special else _symbol(site, catalog))


def _place(site: SiteSeen) -> tuple[str | None, int | None, str | None]:
    """Return the innermost frame of the user's own code; without one, the innermost of all."""
    frame = site.user or next((f for f in reversed(site.stack) if f.user), None)
    frame = frame or (site.stack[-1] if site.stack else None)
    return (frame.file, frame.line, frame.function) if frame else (None, None, None)


def _symbol(site: SiteSeen, catalog: Catalog) -> str | None:
    """Return the called function, in the catalog's spelling if there is one."""
    names = [catalog.canonical(name) for name in (site.symbol, site.callable) if name]
    # The catalog may know the library's function that called into C.
    entered = [f"{f.module}.{f.function}" for f in _library(site) if f.module and f.function]
    known = (name for name in (*names, *entered) if catalog.lookup(name))
    return next(known, names[0] if names else None)


def _library(site: SiteSeen) -> Iterable[Frame]:
    """Return the frames below the user's own code, the innermost first."""
    return itertools.takewhile(lambda frame: not frame.user, reversed(site.stack))


def _site(group: Group, process: WatchedProcess, catalog: Catalog) -> ObservedSite:
    kinds = _frequent(group.kinds)
    # The class of an unfinished block is unknown: that of the others is used.
    known = [item for item in kinds if item[0] != "unknown"]
    shown = group.shown
    place: tuple[str | None, int | None, str | None] = (None, None, None)
    symbol = None
    if shown is not None and kinds[0][0] not in BLAMELESS:
        place = _place(shown)
        symbol = None if kinds[0][0] == "gc" else _symbol(shown, catalog)
    # If no block has a record of its own, only the mean and the longest are known.
    seconds = sorted(group.seconds) or [group.total / group.times]
    return ObservedSite(
        filename=place[0],
        line=place[1],
        function=place[2],
        symbol=symbol,
        blockers=catalog.lookup(symbol) if symbol else (),
        kinds=tuple(known or kinds),
        times=group.times,
        total=group.total,
        median=statistics.median(seconds),
        p95=seconds[math.ceil(0.95 * len(seconds)) - 1],
        longest=group.longest,
        first=group.first,
        last=group.last,
        processes=len(group.processes),
        unfinished=group.unfinished,
        native=tuple(name for name, _ in _frequent(group.native)),
        syscalls=tuple(name for name, _ in _frequent(group.syscalls)),
        greenlets=tuple(name for name, _ in _frequent(group.greenlets)),
        stack=shown.stack if shown else (),
        is_other=shown is not None and shown.other,
        is_frameless=shown is not None and not shown.other and not shown.stack,
        is_spawned=shown is not None and shown.spawned,
        exact=group.exact,
        candidates=tuple(name for name, _ in _frequent(group.candidates)),
        is_original=group.original > 0,
        is_patched=2 * group.patched > group.times,
        is_cooperative=symbol is not None and symbol in catalog.cooperative,
        python=process.python,
        gevent=process.gevent,
    )


def _frequent(names: Counter[str]) -> list[tuple[str, int]]:
    """Return each name with its count, most frequent first."""
    return sorted(names.items(), key=lambda item: (-item[1], item[0]))
