"""What probes wrote: read, merged over processes, matched to the catalog and to diagnostics."""

from __future__ import annotations

import itertools
import math
import os
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gblock.diagnostics import Observed
from gblock.files import shared_ending
from gblock.observations import records
from gblock.observations.records import (
    BlockEnd,
    End,
    Frame,
    Heartbeat,
    Progress,
    Read,
    SiteSeen,
    Start,
    Unread,
)

if TYPE_CHECKING:
    from gblock.catalog import Blocker, Catalog
    from gblock.diagnostics import Diagnostic

BLAMELESS = frozenset({"thread", "starved"})
"""The hub stood still, and no call site of it is to blame: another thread, or the host."""

_HEARTBEAT = 60.0
_MISSED = 3
"""A probe that is silent for so many heartbeats is not running any more."""


class Block(NamedTuple):
    """One observation: the hub stood still from `start` for so many seconds."""

    start: float
    seconds: float
    """If it is not `finished`, what had passed at the last line about it."""
    kind: str
    """``waits``, ``cpu``, ``gil``, ``gc``, ``thread``, ``starved``, or what a later probe says."""
    process: int
    """Index in `Observations.processes`."""
    site: int
    """Index in `Observations.sites`."""
    greenlet: str | None = None
    confidence: str | None = None
    finished: bool = True


class Process(NamedTuple):
    """One process that was watched."""

    name: str
    host: str
    pid: int
    command: tuple[str, ...]
    python: str | None
    gevent: str | None
    threshold: float | None
    """Seconds: what is shorter was not recorded."""
    started: float
    last: float
    """When its last record was written."""
    state: str
    """``running``, ``ended``, ``silent`` (no end, and no heartbeat for too long), ``failed``."""
    reason: str
    """Why it ended, one line; empty while it runs."""
    blocks: int
    blocked: float
    """Seconds in all, by the blocks that were recorded."""
    uncounted: int
    """Blocks that the probe counted and whose records are missing: limits, rotation."""
    heartbeats: int

    @property
    def is_lost(self) -> bool:
        """Whether what it says ends before the process may have ended."""
        return self.state in ("silent", "failed")


class Site(NamedTuple):
    """One call site: every block that a probe saw there."""

    filename: str | None
    """The innermost frame of the user's own code; None where there is none."""
    line: int | None
    function: str | None
    symbol: str | None
    """What was called, as the catalog spells it."""
    blockers: tuple[Blocker, ...]
    """What the catalog knows of it."""
    kinds: tuple[tuple[str, int], ...]
    """How often it was of which class, most frequent first."""
    times: int
    total: float
    median: float
    p95: float
    longest: float
    first: float
    last: float
    """When the last block began."""
    processes: int
    unfinished: int
    """Blocks whose end nobody saw: the process was killed, or it is blocked now."""
    native: tuple[str, ...]
    syscalls: tuple[str, ...]
    greenlets: tuple[str, ...]
    stack: tuple[Frame, ...]
    """The innermost last, of the longest block."""
    is_other: bool = False
    """Whether it stands for all call sites above the probe's limit."""
    python: str | None = None
    gevent: str | None = None
    checked: bool = False
    """Whether `gblock check` looked at that file."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What it reports of that line."""
    is_frameless: bool = False
    """Whether it was C code that gevent itself called, so that no line of Python ran."""
    is_spawned: bool = False
    """Whether line and stack are those that spawned the greenlet."""
    is_cooperative: bool = False
    """Whether the catalog knows the call to cooperate once gevent has patched: no gap of it."""

    @property
    def kind(self) -> str:
        """The most frequent class."""
        return self.kinds[0][0]

    @property
    def is_blamed(self) -> bool:
        """Whether the call site is to blame, not another thread or the host."""
        return self.kind not in BLAMELESS


class Observations(NamedTuple):
    """What some probes saw, and every silence of it."""

    verdict: str
    """``blocked``, ``nothing`` (alive, and nothing blocked), ``off`` (no records), ``died``."""
    processes: tuple[Process, ...]
    """By host, start and pid."""
    sites: tuple[Site, ...]
    """Most seconds first, what nobody is to blame for last."""
    blocks: tuple[Block, ...]
    """In order of their starts."""
    files: int
    unread: tuple[Unread, ...]

    @property
    def blamed(self) -> tuple[Site, ...]:
        """The sites that are to blame."""
        return tuple(site for site in self.sites if site.is_blamed)


def read(paths: Iterable[str], catalog: Catalog, now: float) -> Observations:
    """Read what probes wrote, whatever it is.

    Args:
        paths: Files, and directories of them.
        catalog: What is known to block.
        now: Epoch seconds: it tells a probe that lives from one that fell silent.
    """
    return merged(records.read(paths), catalog, now)


def merged(reads: Iterable[Read], catalog: Catalog, now: float) -> Observations:
    """Merge the records of several processes; see `read`."""
    told = [_Story(one, now) for one in reads]
    unread = tuple(missed for story in told for missed in story.unread)
    files = sum(len(story.read.files) for story in told)
    stories = sorted(
        (story for story in told if story.read.records),
        key=lambda story: (story.process.host, story.process.started, story.process.pid),
    )
    seen = [
        one._replace(block=one.block._replace(process=index))
        for index, story in enumerate(stories)
        for one in story.seen
    ]
    sites, blocks = _grouped(seen, stories, catalog)
    processes = tuple(story.process for story in stories)
    return Observations(_verdict(processes, sites), processes, sites, blocks, files, unread)


def _verdict(processes: Sequence[Process], sites: Sequence[Site]) -> str:
    if not processes:
        return "off"
    if any(site.is_blamed for site in sites):
        return "blocked"
    return "died" if all(process.is_lost for process in processes) else "nothing"


_EARLY = 0.1
"""Seconds by which two records of one moment may differ."""


class _Seen(NamedTuple):
    """A block with the record of its site, before processes are merged."""

    block: Block
    site: SiteSeen | None
    syscall: str | None = None
    native: tuple[str, ...] = ()


class _Story:
    """The records of one process, in order."""

    def __init__(self, read: Read, now: float) -> None:
        self.read = read
        self.unread = read.unread
        self.seen: list[_Seen] = []
        self._sites: dict[int | None, SiteSeen] = {}
        self._lasting: dict[int | None, Progress] = {}
        self._starts: list[Start] = []
        self._beats: list[Heartbeat] = []
        self._ends: list[End] = []
        self._counted, self._since_start, self._uncounted = 0, 0, 0
        self._times: list[float] = []
        for record in read.records:
            self._take(record)
        self._settle()
        for progress in self._lasting.values():
            begun = max(progress.t - progress.elapsed, 0.0)
            block = Block(begun, progress.elapsed, "unknown", 0, 0, finished=False)
            self.seen.append(_Seen(block, self._sites.get(progress.site)))
        if read.records:
            self.process = self._process(now)

    def _take(self, record: records.Record) -> None:
        if isinstance(record, SiteSeen):
            self._sites[record.site] = record
            return
        over = record.t + record.duration if isinstance(record, BlockEnd) else record.t
        self._times.append(over)
        if isinstance(record, BlockEnd):
            self._since_start += 1
            self._lasting = {
                site: progress
                for site, progress in self._lasting.items()
                if not _is_end(record, progress)
            }
            block = Block(
                record.t,
                record.duration,
                record.kind,
                0,
                0,
                record.greenlet,
                record.confidence,
            )
            site = self._sites.get(record.site)
            self.seen.append(_Seen(block, site, record.syscall, record.native))
        elif isinstance(record, Progress):
            self._lasting[record.site] = record
        elif isinstance(record, Heartbeat):
            if record.blocks < self._counted:
                self._settle()
            self._beats.append(record)
            self._counted = record.blocks
        elif isinstance(record, Start):
            self._starts.append(record)
        elif isinstance(record, End):
            self._ends.append(record)
            self._settle()

    def _settle(self) -> None:
        """Compare what was counted with what was recorded, where the counts begin anew.

        That is after an end. A start may stand there because a file was rotated, or because a
        second hub is watched.
        """
        self._uncounted += max(self._counted - self._since_start, 0)
        self._counted = self._since_start = 0

    def _process(self, now: float) -> Process:
        start = self._starts[0] if self._starts else Start(t=min(self._times, default=0.0))
        last = max(self._times, default=start.t)
        state, reason = self._state(start, last, now)
        return Process(
            name=self.read.name,
            host=start.host,
            pid=start.pid,
            command=start.argv,
            python=start.python,
            gevent=start.gevent,
            threshold=start.threshold,
            started=min(start.t, *self._times) if self._times else start.t,
            last=last,
            state=state,
            reason=reason,
            blocks=len(self.seen),
            blocked=sum(one.block.seconds for one in self.seen),
            uncounted=self._uncounted,
            heartbeats=len(self._beats),
        )

    def _state(self, start: Start, last: float, now: float) -> tuple[str, str]:
        # Another hub of the process may be watched on after an error.
        failed = [one for one in self._ends if one.error or one.reason == "error"]
        if failed:
            return "failed", failed[-1].error or "the probe failed and did not say why"
        end = self.read.records[-1]
        if isinstance(end, End):
            return "ended", end.reason
        if now - last <= _MISSED * self._interval(start):
            return "running", ""
        return "silent", "no end and no heartbeat: the process was killed, or its probe died"

    def _interval(self, start: Start) -> float:
        """Seconds between heartbeats, as the probe says or as they came."""
        told = start.heartbeat
        if not told and len(self._beats) > 1:
            times = [beat.t for beat in self._beats]
            told = statistics.median(b - a for a, b in itertools.pairwise(times))
        return min(max(told or _HEARTBEAT, 1.0), 3600.0)


def _is_end(block: BlockEnd, progress: Progress) -> bool:
    """Tell whether a block that is over is the one that was told while it lasted.

    The site may be another, or none: that of a long block is known only at its end.
    """
    if block.site == progress.site:
        return True
    begun = progress.t - progress.elapsed
    return block.t - _EARLY <= begun <= block.t + block.duration


_Key = tuple[str | int | bool | None, ...]


def _grouped(
    seen: Sequence[_Seen], stories: Sequence[_Story], catalog: Catalog
) -> tuple[tuple[Site, ...], tuple[Block, ...]]:
    """The sites, and the blocks with the index of theirs."""
    groups: dict[_Key, list[_Seen]] = {}
    for one in seen:
        groups.setdefault(_key(one, catalog), []).append(one)
    made = [(_site(group, stories, catalog), group) for group in groups.values()]
    made.sort(key=lambda item: (not item[0].is_blamed, -item[0].total, item[0][:3] == (None,) * 3))
    blocks = [
        one.block._replace(site=index) for index, (_, group) in enumerate(made) for one in group
    ]
    return tuple(site for site, _ in made), tuple(sorted(blocks, key=lambda block: block.start))


def _key(one: _Seen, catalog: Catalog) -> _Key:
    kind, site = one.block.kind, one.site
    if kind in BLAMELESS:
        return (kind,)
    # A collection of garbage says nothing about what was called where it happened.
    special = kind if kind == "gc" else ""
    if site is None or site.other:
        return (special, site is not None)
    place = _place(site)
    return (special, *place, None if special else _symbol(site, catalog))


def _place(site: SiteSeen) -> tuple[str | None, int | None, str | None]:
    """The innermost frame of the user's own code; without one, the innermost of all."""
    frame = site.user or next((f for f in reversed(site.stack) if f.user), None)
    frame = frame or (site.stack[-1] if site.stack else None)
    return (frame.file, frame.line, frame.function) if frame else (None, None, None)


def _symbol(site: SiteSeen, catalog: Catalog) -> str | None:
    """What was called, in the spelling that the catalog knows, if it knows any."""
    names = [catalog.canonical(name) for name in (site.symbol, site.callable) if name]
    # What was called in C may be known by the library's function that called it.
    entered = [f"{f.module}.{f.function}" for f in _library(site) if f.module and f.function]
    known = (name for name in (*names, *entered) if catalog.lookup(name))
    return next(known, names[0] if names else None)


def _library(site: SiteSeen) -> Iterable[Frame]:
    """The frames below the user's own code, the innermost first."""
    return itertools.takewhile(lambda frame: not frame.user, reversed(site.stack))


def _site(group: Sequence[_Seen], stories: Sequence[_Story], catalog: Catalog) -> Site:
    blocks = [one.block for one in group]
    kinds = _frequent(block.kind for block in blocks)
    # Of what a killed process left unfinished the class is not known: that of the others is.
    known = [item for item in kinds if item[0] != "unknown"]
    longest = max(group, key=lambda one: one.block.seconds)
    shown = longest.site or next((one.site for one in group if one.site), None)
    process = stories[longest.block.process].process
    place: tuple[str | None, int | None, str | None] = (None, None, None)
    symbol = None
    if shown is not None and kinds[0][0] not in BLAMELESS:
        place = _place(shown)
        symbol = None if kinds[0][0] == "gc" else _symbol(shown, catalog)
    seconds = sorted(block.seconds for block in blocks)
    return Site(
        filename=place[0],
        line=place[1],
        function=place[2],
        symbol=symbol,
        blockers=catalog.lookup(symbol) if symbol else (),
        kinds=tuple(known or kinds),
        times=len(blocks),
        total=sum(seconds),
        median=statistics.median(seconds),
        p95=seconds[math.ceil(0.95 * len(seconds)) - 1],
        longest=seconds[-1],
        first=min(block.start for block in blocks),
        last=max(block.start for block in blocks),
        processes=len({block.process for block in blocks}),
        unfinished=sum(not block.finished for block in blocks),
        native=tuple(name for name, _ in _frequent(n for one in group for n in one.native)),
        syscalls=tuple(name for name, _ in _frequent(o.syscall for o in group if o.syscall)),
        greenlets=tuple(name for name, _ in _frequent(b.greenlet for b in blocks if b.greenlet)),
        stack=shown.stack if shown else (),
        is_other=shown is not None and shown.other,
        is_frameless=shown is not None and not shown.other and not shown.stack,
        is_spawned=shown is not None and shown.spawned,
        is_cooperative=symbol is not None and symbol in catalog.cooperative,
        python=process.python,
        gevent=process.gevent,
    )


def _frequent(names: Iterable[str]) -> list[tuple[str, int]]:
    """Each name with its count, most frequent first."""
    return sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))


def sentence(site: Site) -> str:
    """What was seen there and no diagnostic explains, one line."""
    what = site.symbol or "the code of this line"
    text = f"{what} was seen to block the hub {_times(site)}"
    if site.blockers:
        known = site.blockers[0]
        hint = f"; --select {known.id}" if known.level == "opt-in" else ""
        return f"{text}; the catalog knows it as {known.id}{hint}"
    if site.is_cooperative:
        return f"{text}; the catalog knows it to cooperate once gevent has patched"
    if site.symbol:
        return f"{text}; the catalog does not know it: try gblock report --suggest"
    return text


def _times(site: Site) -> str:
    if site.times == 1:
        return f"once, for {site.total:.3g} s"
    return f"{site.times:,} times, {site.total:.3g} s in all"


class Confirmation(NamedTuple):
    """Observations beside the diagnostics of a check."""

    diagnostics: list[Diagnostic]
    """All of them, those with `Diagnostic.observed` that a probe saw block."""
    observations: Observations
    """With what was checked and reported of each site."""
    unexplained: tuple[tuple[Site, str], ...]
    """Sites in files that were checked, of which nothing is reported, with the checked file."""
    elsewhere: int
    """Sites in files that were not checked."""


def confirmed(
    observed: Observations, diagnostics: Sequence[Diagnostic], files: Iterable[str]
) -> Confirmation:
    """Match sites to diagnostics by file and line.

    A service seldom runs where it is checked: ``/app/orders/worker.py`` is the file of the project
    whose path ends most alike, if that is one.

    Args:
        observed: What probes saw.
        diagnostics: What a check reports.
        files: The files that it looked at.
    """
    where = _Files(files)
    by_file: dict[str, list[int]] = {}
    for index, diagnostic in enumerate(diagnostics):
        by_file.setdefault(os.path.abspath(diagnostic.filename), []).append(index)
    of: dict[int, list[Site]] = {}
    sites, unexplained, elsewhere = [], [], 0
    for site in observed.sites:
        path = where.find(site.filename) if site.filename and site.is_blamed else None
        if path is None:
            elsewhere += bool(site.filename) and site.is_blamed
            sites.append(site)
            continue
        matching = _on_the_line(site, [(i, diagnostics[i]) for i in by_file.get(path, [])])
        for index in matching:
            of.setdefault(index, []).append(site)
        site = site._replace(checked=True, diagnostics=tuple(diagnostics[i] for i in matching))
        sites.append(site)
        # Whose fault a collection of garbage is cannot be reported of a line.
        if not matching and site.kind != "gc":
            unexplained.append((site, path))
    marked = [
        d._replace(observed=_sum(of[index])) if index in of else d
        for index, d in enumerate(diagnostics)
    ]
    observed = observed._replace(sites=tuple(sites))
    return Confirmation(marked, observed, tuple(unexplained), elsewhere)


def _on_the_line(site: Site, candidates: Iterable[tuple[int, Diagnostic]]) -> list[int]:
    """The diagnostics on a site's line; of what was called there, if there is such a one."""
    line = site.line or 0
    here = [(i, d) for i, d in candidates if d.location.row <= line <= d.end_location.row]
    ids = {blocker.id for blocker in site.blockers}
    exact = [i for i, d in here if d.blocker in ids or (d.symbol and d.symbol == site.symbol)]
    return exact or [i for i, _ in here]


def _sum(sites: Sequence[Site]) -> Observed:
    return Observed(
        times=sum(site.times for site in sites),
        seconds=sum(site.total for site in sites),
        longest=max(site.longest for site in sites),
    )


class _Files:
    """The project's files, found by what another machine calls them."""

    def __init__(self, files: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in map(os.path.abspath, files):
            self._by_name.setdefault(os.path.basename(path), []).append(path)

    def find(self, path: str) -> str | None:
        """The file itself, or the one whose path ends most alike; None if several do."""
        parts = path.replace("\\", "/").split("/")
        candidates = self._by_name.get(parts[-1], [])
        alike = [(shared_ending(parts, p.replace(os.sep, "/").split("/")), p) for p in candidates]
        if not alike:
            return None
        most = max(length for length, _ in alike)
        best = [p for length, p in alike if length == most]
        # Every package has an __init__.py: its name alone says nothing.
        if len(best) > 1 or (most == 1 and parts[-1] == "__init__.py"):
            return None
        return best[0]
