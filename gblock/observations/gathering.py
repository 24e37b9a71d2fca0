"""Group blocks by call site, over all processes, in memory limited by the number of sites."""

from __future__ import annotations

import heapq
import itertools
import math
import sys
from collections import Counter
from typing import TYPE_CHECKING

from gblock.observations.durations import Durations
from gblock.observations.records import SiteSeen
from gblock.observations.values import BLAMELESS, Block, ObservedSite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gblock.catalog.lookup import Catalog
    from gblock.observations.records import Frame, Sum
    from gblock.observations.runs import Shape
    from gblock.observations.values import WatchedProcess

    Key = tuple[str | int | bool | None, ...]

DRAWN = 1000
"""The number of blocks kept for one process: the longest."""
ROWS = 60
"""The number of processes whose blocks are kept: those that were blocked longest."""
_NAMES = 50
"""The number of names of one kind that are counted at one site."""
HOUR = 3600.0
_KEYS = 50_000
"""The number of sites' identities that are kept."""
_SHAPES = 200
"""The number of combinations of names and classes that are distinguished at one site."""

Drawn = tuple[float, int, "Block", "Key"]
"""Seconds and a serial number, by which blocks are ordered; the block and its group."""


class Group:
    """All blocks of one call site."""

    __slots__ = (
        "candidates", "elsewhere", "exact", "first", "greenlets", "key", "kinds", "last",
        "longest", "native", "original", "patched", "process", "processes", "rest", "routes",
        "seconds", "shapes", "shown", "sums", "syscalls", "total", "unfinished",
    )  # fmt: skip

    def __init__(self, key: Key) -> None:
        """Create an empty group."""
        self.key = key
        """Its identity, the same in all gatherers."""
        self.seconds = Durations()
        self.rest = 0
        """Blocks that were counted without records of their own."""
        self.total = 0.0
        self.longest = 0.0
        self.shown: SiteSeen | None = None
        """The site of the longest block."""
        self.process = sys.maxsize
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
        self.routes: Counter[str] = Counter()
        self.elsewhere = 0
        """Processes of which only sums are known."""
        self.sums: list[tuple[int, float, float]] = []
        """Number, median and 95th percentile of blocks of which only a sum is known."""

    @property
    def times(self) -> int:
        """The number of blocks."""
        return len(self.seconds) + self.rest

    def see(self, seconds: float, site: SiteSeen | None, process: int) -> None:
        """Use a block's site for the group if the block is the longest so far.

        Of several equal ones, that of the process that was read first counts.
        """
        self.processes.add(process)
        is_longest = (seconds, -process) > (self.longest, -self.process)
        if is_longest or self.shown is None:
            if site is not None or self.shown is None:
                self.shown = site
            if is_longest:
                self.longest, self.process = seconds, process

    def add_shape(self, shape: Shape, times: int) -> None:
        """Count blocks of a shape; those of a new one above the limit without its names."""
        if shape not in self.shapes and len(self.shapes) >= _SHAPES:
            shape = (*shape[:4], (), None, None, (), None)
        self.shapes[shape] = self.shapes.get(shape, 0) + times

    def merge(self, other: Group) -> None:
        """Add all blocks of a group of other processes."""
        self.see(other.longest, other.shown, other.process)
        self.processes |= other.processes
        self.elsewhere += other.elsewhere
        self.sums += other.sums
        self.exact += other.exact
        self.seconds.merge(other.seconds)
        self.rest += other.rest
        self.total += other.total
        self.unfinished += other.unfinished
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.kinds.update(other.kinds)
        for shape, times in other.shapes.items():
            self.add_shape(shape, times)

    def quantile(self, share: float) -> float:
        """Return the median (0.5) or the 95th percentile (0.95) of the durations.

        If no block has a record of its own, the mean. The quantile of several sums is the weighted
        mean of theirs.
        """
        known = [(times, p95 if share > 0.5 else median) for times, median, p95 in self.sums]
        if self.seconds:
            known.append((len(self.seconds), self.seconds.quantile(share)))
        if not known:
            return self.total / self.times
        if len(known) == 1:
            return known[0][1]
        return sum(times * each for times, each in known) / sum(times for times, _ in known)

    def settle(self) -> None:
        """Count the names of all shapes; once, at the end."""
        for shape, times in self.shapes.items():
            kind, confidence, original, patched, native, syscall, greenlet, candidates, route = (
                shape
            )
            self.kinds[kind] += times
            self.exact += times * (confidence == "exact")
            self.original += times * original
            self.patched += times * (patched == "all")
            for counter, names in (
                (self.native, native),
                (self.syscalls, (syscall,)),
                (self.greenlets, (greenlet,)),
                (self.candidates, candidates),
                (self.routes, (route,)),
            ):
                for name in names:
                    if name and (name in counter or len(counter) < _NAMES):
                        counter[name] += times
        self.shapes = {}


class Gatherer:
    """The groups of all processes.

    Args:
        catalog: The catalog.
        draws: Whether to keep blocks for a time line.
    """

    def __init__(self, catalog: Catalog, *, draws: bool = True) -> None:
        """Create a gatherer without blocks."""
        self._catalog = catalog
        self.draws = draws
        self._groups: dict[Key, Group] = {}
        self._keys: dict[tuple[object, ...], Key] = {}
        self._drawing: list[Drawn] = []
        """The blocks of the process that is being read, as a heap with the shortest first."""
        self._drawn: list[tuple[float, int, list[Drawn]]] = []
        """Of each process that is kept: seconds, number and blocks; a heap."""
        self._serial = itertools.count()
        self.hours: dict[float, tuple[int, float]] = {}

    def __getstate__(self) -> dict[str, object]:
        """Omit the catalog, which every process has."""
        return {**self.__dict__, "_catalog": None, "_keys": {}, "_serial": None}

    def group(self, kind: str, site: SiteSeen | None) -> Group:
        """Return the group of blocks of a class at a site."""
        key = self._key(kind, site)
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = Group(key)
        return found

    def _key(self, kind: str, site: SiteSeen | None) -> Key:
        """Return the identity of a group; the same site in many processes is looked up once."""
        if kind in BLAMELESS or site is None:
            return _key(kind, site, self._catalog)
        content = (kind, site.symbol, site.callable, site.user, site.stack, site.other)
        key = self._keys.get(content)
        if key is None:
            if len(self._keys) >= _KEYS:
                self._keys.clear()
            key = self._keys[content] = _key(kind, site, self._catalog)
        return key

    def sum(self, record: Sum, process: int) -> None:
        """Add the blocks of a sum."""
        kind = max(record.classes, key=lambda name: (name != "unknown", record.classes[name]))
        site = SiteSeen(
            site=0,
            symbol=record.symbol,
            callable=record.callable,
            user=record.user,
            stack=record.stack,
            other=record.other,
            original=record.original,
            spawned=record.spawned,
        )
        group = self.group(kind, site if record.known else None)
        times = sum(record.classes.values())
        group.see(record.longest, site if record.known else None, process)
        group.processes.discard(process)
        group.elsewhere += record.processes
        group.kinds.update(record.classes)
        group.rest += times
        group.syscalls.update(record.syscalls)
        for names, number in record.native.items():
            group.native.update(dict.fromkeys(names.split(","), number))
        group.total += record.seconds
        group.exact += record.exact
        group.unfinished += record.unfinished
        group.sums.append((times, record.median, record.p95))
        group.first, group.last = min(group.first, record.first), max(group.last, record.last)

    def draw(self, block: Block, group: Group) -> None:
        """Keep a block for the time line if it is among the longest of its process."""
        item = (block.seconds, next(self._serial), block, group.key)
        if len(self._drawing) < DRAWN:
            heapq.heappush(self._drawing, item)
        elif block.seconds > self._drawing[0][0]:
            heapq.heapreplace(self._drawing, item)

    def is_drawn(self, seconds: float) -> bool:
        """Return whether a block of the process that is being read is long enough to be kept."""
        drawing = self._drawing
        return self.draws and (len(drawing) < DRAWN or seconds > drawing[0][0])

    def leave(self, process: int, blocked: float) -> None:
        """Finish a process: keep its blocks if it was blocked for long."""
        drawing, self._drawing = self._drawing, []
        if drawing:
            self._keep((blocked, process, drawing))

    def _keep(self, item: tuple[float, int, list[Drawn]]) -> None:
        heapq.heappush(self._drawn, item)
        if len(self._drawn) > ROWS:
            heapq.heappop(self._drawn)

    def merge(self, other: Gatherer) -> None:
        """Add all blocks that another gatherer has read from other processes."""
        for key, group in other._groups.items():
            mine = self._groups.get(key)
            if mine is None:
                self._groups[key] = group
            else:
                mine.merge(group)
        for drawn in other._drawn:
            self._keep(drawn)
        for hour, (times, seconds) in other.hours.items():
            self.count_hour(hour, seconds, times)

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

        def of(number: int) -> WatchedProcess | None:
            return processes[order[number]] if number in order else None

        for group in self._groups.values():
            group.settle()
        made = [
            (_site(group, of(group.process), self._catalog), group)
            for group in self._groups.values()
            if group.times
        ]
        made.sort(
            key=lambda item: (not item[0].is_blamed, -item[0].total, item[0][:3] == (None,) * 3)
        )
        index = {group.key: number for number, (_, group) in enumerate(made)}
        blocks = [
            block._replace(process=order[block.process], site=index[key])
            for _, _, drawing in self._drawn
            for _, _, block, key in drawing
        ]
        return tuple(site for site, _ in made), tuple(
            sorted(blocks, key=lambda b: (b.start, b.process, b.site, b.seconds, repr(b)))
        )


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


def _site(group: Group, process: WatchedProcess | None, catalog: Catalog) -> ObservedSite:
    kinds = _frequent(group.kinds)
    # The class of an unfinished block is unknown: that of the others is used.
    known = [item for item in kinds if item[0] != "unknown"]
    shown = group.shown
    place: tuple[str | None, int | None, str | None] = (None, None, None)
    symbol = None
    if shown is not None and kinds[0][0] not in BLAMELESS:
        place = _place(shown)
        symbol = None if kinds[0][0] == "gc" else _symbol(shown, catalog)
    return ObservedSite(
        filename=place[0],
        line=place[1],
        function=place[2],
        symbol=symbol,
        blockers=catalog.lookup(symbol) if symbol else (),
        kinds=tuple(known or kinds),
        times=group.times,
        total=group.total,
        median=group.quantile(0.5),
        p95=group.quantile(0.95),
        longest=group.longest,
        first=group.first,
        last=group.last,
        processes=len(group.processes) + group.elsewhere,
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
        routes=tuple(name for name, _ in _frequent(group.routes)),
        is_original=group.original > 0 or (shown is not None and shown.original),
        is_patched=2 * group.patched > len(group.seconds),
        is_cooperative=symbol is not None and symbol in catalog.cooperative,
        python=process and process.python,
        gevent=process and process.gevent,
    )


def _frequent(names: Counter[str]) -> list[tuple[str, int]]:
    """Return each name with its count, most frequent first."""
    return sorted(names.items(), key=lambda item: (-item[1], item[0]))
