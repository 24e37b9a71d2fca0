"""Read the records of one process in order, and pass its blocks to a gatherer.

A total counts all blocks of a class at a site since the process started, whether or not they have
records of their own: the difference is added where the counts start again.
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
from bisect import bisect_left
from itertools import compress
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from gblock.observations.gathering import HOUR
from gblock.observations.records import (
    BlockEnd,
    BlockInProgress,
    End,
    Heartbeat,
    SiteSeen,
    Start,
    Sum,
    Total,
    Watched,
    decoded,
)
from gblock.observations.runs import Run, common, pattern
from gblock.observations.sources import LONGEST, whole
from gblock.observations.values import BLAMELESS, Block, WatchedProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gblock.observations.gathering import Gatherer, Group
    from gblock.observations.records import Record
    from gblock.observations.runs import Key, Pattern
    from gblock.observations.sources import Line, RecordSource

_HEARTBEAT = 60.0
_SILENT = "no end and no heartbeat: the process was killed, or its probe died"
_MISSED = 3
"""The number of missed heartbeats after which a probe counts as stopped."""
_EARLY = 0.1
"""Seconds by which two records of the same moment may differ."""


class _Sum(NamedTuple):
    """Blocks of one class at one site."""

    times: int
    seconds: float


class _Lane:
    """The blocks of one class at one site since a process's counts began."""

    __slots__ = ("group", "is_seen", "seconds", "times")

    def __init__(self, group: Group) -> None:
        self.group = group
        self.times = 0
        self.seconds = 0.0
        self.is_seen = False


class ProcessReader:
    """Reads the records of one process.

    Args:
        source: The files of the process.
        now: Epoch seconds, to distinguish a running probe from one that fell silent.
        gatherer: Takes the blocks.
        number: The number of the process during reading.
        since: Epoch seconds: blocks that started before are omitted.
        until: Epoch seconds: blocks that started later are omitted.
    """

    def __init__(
        self,
        source: RecordSource,
        now: float,
        gatherer: Gatherer,
        number: int,
        *,
        since: float | None = None,
        until: float | None = None,
    ) -> None:
        self.number = number
        self._source = source
        self._gatherer = gatherer
        self._since, self._until = since, until
        self._sites: dict[int | None, SiteSeen] = {}
        self._groups: dict[Key, Group] = {}
        self._lasting: dict[int | None, BlockInProgress] = {}
        self._start: Start | None = None
        self._beats: list[float] = []
        self._failed: End | None = None
        self._end: End | None = None
        self._counted, self._recorded = 0, 0
        self._uncounted, self._blocks, self._blocked = 0, 0, 0.0
        self._lanes: dict[Key, _Lane] = {}
        self._has_window = since is not None or until is not None
        self._hours: dict[float, list[float]] = {}
        self._totals: dict[Key, Total] = {}
        self._before: dict[Key, Total] = {}
        self._seen_at: dict[Key, _Sum] = {}
        self._first, self._last = float("inf"), 0.0
        self._runs: dict[bytes, Run] = {}
        """Blocks that are not counted yet, by the rests of their lines."""
        self._runs_of: dict[Key, list[Run]] = {}
        self._last_totals: dict[bytes, tuple[int, bytes]] = {}
        """The last total of each site and class, with the index of its line: each replaces the one
        before it."""
        self._place = 0
        self._is_empty = True
        self._now = now
        self.others: list[WatchedProcess] = []
        """Processes of which only sums are known."""
        for lines in source.lines():
            self._read(lines)
            self._flush()
        self._settle()
        for progress in self._lasting.values():
            self._leave(progress)
        gatherer.leave(number, self._blocked)
        self.unread = tuple(source.unread)
        self.process = None if self._is_empty else self._process(now)

    def _read(self, lines: list[Line]) -> None:
        """Read lines; the hot path for millions of blocks: one look-up and three lists for each."""
        runs, totals = self._runs, self._last_totals
        is_open = not self._has_window
        for place, (start, seconds, rest, total, key, other) in enumerate(lines):
            if rest:
                run = runs[rest] if rest in runs else self._new_run(rest)
                if run is not None:
                    run.places.append(place)
                    run.starts.append(start)
                    run.seconds.append(seconds)
                    continue
                other = whole(start, seconds, rest)
            elif total:
                if is_open:
                    totals[key] = place, total
                    continue
                other = total
            self._place = place
            record = decoded(other) if len(other) <= LONGEST else None
            if record is not None:
                self._take(record)
            elif other.strip():
                self._source.reject()

    def _new_run(self, rest: bytes) -> Run | None:
        found = common(rest)
        if found is None:
            return None
        run = self._runs[rest] = Run(found)
        self._runs_of.setdefault(found.key, []).append(run)
        return run

    def _flush(self) -> None:
        """Count the blocks of all runs."""
        totals = list(self._last_totals.values())
        self._last_totals.clear()
        for place, line in totals:
            record = decoded(line)
            assert isinstance(record, Total)
            self._see(record.t)
            self._total(record, place)
        if not self._runs:
            return
        self._is_empty = False
        for run in self._runs.values():
            starts, seconds = list(map(float, run.starts)), list(map(float, run.seconds))
            self._blocks_of(run.pattern, starts, seconds)
        self._runs.clear()
        self._runs_of.clear()

    def _inside(
        self, starts: Iterable[float | bytes], seconds: Iterable[float | bytes]
    ) -> tuple[list[float], list[float]]:
        """Return the starts and durations of the blocks that are selected."""
        begun, lasted = list(map(float, starts)), list(map(float, seconds))
        if not self._has_window:
            return begun, lasted
        inside = [self._is_inside(start) for start in begun]
        return list(compress(begun, inside)), list(compress(lasted, inside))

    def _take(self, record: Record) -> None:
        if not isinstance(record, Sum | Watched):
            self._is_empty = False
        if isinstance(record, SiteSeen):
            self._site(record)
            return
        if isinstance(record, Sum):
            self._gatherer.sum(record, self.number)
            return
        if isinstance(record, Watched):
            self.others.append(_watched(record, self._now))
            return
        if isinstance(record, BlockEnd):
            self._flush()
            self._blocks_of(pattern(record), [record.t], [record.duration])
            return
        if not isinstance(record, Heartbeat | Total):
            self._flush()
        self._see(record.t)
        if isinstance(record, Total):
            self._total(record, self._place)
        elif isinstance(record, BlockInProgress):
            self._lasting[record.site] = record
        elif isinstance(record, Heartbeat):
            if record.blocks < self._counted:
                self._settle()
            if len(self._beats) < 100:
                self._beats.append(record.t)
            self._counted = record.blocks
        elif isinstance(record, Start):
            self._start = self._start or record
        else:
            self._end = record
            if record.error or record.reason == "error":
                self._failed = record
            self._settle()

    def _see(self, time: float) -> None:
        """Note the time of a record other than a block's; one after the end opens a new start."""
        self._is_empty, self._end = False, None
        if time < self._first:
            self._first = time
        if time > self._last:
            self._last = time

    def _site(self, record: SiteSeen) -> None:
        if self._sites.get(record.site) == record:
            return
        self._flush()
        self._sites[record.site] = record
        self._groups = {key: g for key, g in self._groups.items() if key[0] != record.site}
        for key in [key for key in self._lanes if key[0] == record.site]:
            self._leave_lane(self._lanes.pop(key))

    def _is_inside(self, start: float) -> bool:
        """Return whether a block that started then is selected."""
        return (self._since is None or start >= self._since) and (
            self._until is None or start <= self._until
        )

    def _blocks_of(self, pattern: Pattern, starts: list[float], seconds: list[float]) -> None:
        """Count blocks; the hot path for millions of them, without work for a single one."""
        self._end = None
        self._recorded += len(starts)
        first, last = min(starts), max(starts)
        self._first = min(self._first, first)
        self._last = max(self._last, last, max(map(add, starts, seconds)))
        if self._lasting:
            self._finish(pattern.key[0], starts, seconds)
        if self._has_window:
            starts, seconds = self._inside(starts, seconds)
            if not starts:
                return
            first, last = min(starts), max(starts)
        key = pattern.key
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(self._group(key))
        total = sum(seconds)
        lane.times += len(starts)
        lane.seconds += total
        group, longest = lane.group, max(seconds)
        group.seconds.extend(seconds, len(seconds))
        if longest > group.longest or group.shown is None or not lane.is_seen:
            lane.is_seen = True
            group.see(longest, self._sites.get(key[0]), self.number)
        if first < group.first:
            group.first = first
        if last > group.last:
            group.last = last
        group.add_shape(pattern.shape, len(starts))
        if self._gatherer.is_drawn(longest):
            self._draw(pattern, starts, seconds, group)
        if key[1] not in BLAMELESS:
            self._count_hours(starts, seconds, total)

    def _finish(self, site: int | None, starts: Sequence[float], seconds: Sequence[float]) -> None:
        """Forget the blocks in progress that these blocks are."""
        self._lasting = {
            number: progress
            for number, progress in self._lasting.items()
            if not any(
                _is_end(site, start, duration, progress)
                for start, duration in zip(starts, seconds, strict=True)
            )
        }

    def _draw(
        self, pattern: Pattern, starts: Sequence[float], seconds: Sequence[float], group: Group
    ) -> None:
        kind, confidence, greenlet = pattern.shape[0], pattern.shape[1], pattern.shape[6]
        for start, duration in zip(starts, seconds, strict=True):
            if self._gatherer.is_drawn(duration):
                block = Block(start, duration, kind, self.number, 0, greenlet, confidence)
                self._gatherer.draw(block, group)

    def _count_hours(self, starts: Sequence[float], seconds: Sequence[float], total: float) -> None:
        hour = starts[0] // HOUR
        if hour == starts[-1] // HOUR == min(starts) // HOUR == max(starts) // HOUR:
            counts = [(hour, len(starts), total)]
        else:
            counts = [(s // HOUR, 1, each) for s, each in zip(starts, seconds, strict=True)]
        for hour, times, each in counts:
            count = self._hours.get(hour)
            if count is None:
                count = self._hours[hour] = [0, 0.0]
            count[0] += times
            count[1] += each

    def _group(self, key: Key) -> Group:
        group = self._groups.get(key)
        if group is None:
            group = self._gatherer.group(key[1], self._sites.get(key[0]))
            self._groups[key] = group
        return group

    def _count(self, group: Group, kind: str, times: int, seconds: float) -> None:
        """Count blocks without records of their own."""
        group.total += seconds
        group.kinds[kind] += times
        self._blocks += times
        self._blocked += seconds

    def _total(self, record: Total, place: int) -> None:
        """Store a total; it includes the blocks whose lines stand before this place."""
        key = (record.site, record.kind)
        if self._since is not None and record.t < self._since:
            self._before[key] = record
            return
        if self._until is not None and record.t > self._until:
            return
        last = self._totals.get(key)
        if last is not None and record.count < last.count:
            self._settle()
        self._totals[key] = record
        lane = self._lanes.get(key)
        times, total = (lane.times, lane.seconds) if lane is not None else (0, 0.0)
        for run in self._runs_of.get(key, ()):
            number = bisect_left(run.places, place)
            starts, seconds = self._inside(run.starts[:number], run.seconds[:number])
            times, total = times + len(starts), total + sum(seconds)
        self._seen_at[key] = _Sum(times, total)

    def _settle(self) -> None:
        """Compare counts with records, where the counts start again.

        This is after an end. A start may occur elsewhere because a file was rotated, or because a
        second hub is watched.
        """
        self._flush()
        uncovered = 0
        for key, total in self._totals.items():
            seen = self._seen_at[key]
            before = self._before.get(key)
            count, seconds, longest = total.count, total.seconds, total.longest
            if before is not None and before.count <= count:
                count, seconds = count - before.count, seconds - before.seconds
                longest = longest if longest > before.longest else 0.0
            missing = count - seen.times
            if missing <= 0:
                continue
            uncovered += missing
            group = self._group(key)
            rest = max(0.0, seconds - seen.seconds)
            group.rest += missing
            self._count(group, total.kind, missing, rest)
            group.see(max(longest, rest / missing), self._sites.get(total.site), self.number)
            group.first = min(group.first, total.t - longest)
            group.last = max(group.last, total.t - longest)
        if self._since is None and self._until is None:
            self._uncounted += max(self._counted - self._recorded - uncovered, 0)
        self._counted = self._recorded = 0
        self._totals, self._seen_at, self._before = {}, {}, {}
        self._leave_lanes()

    def _leave_lanes(self) -> None:
        """Add the counts of each site and class to the group of the site."""
        for lane in self._lanes.values():
            self._leave_lane(lane)
        self._lanes = {}
        for hour, (times, seconds) in self._hours.items():
            self._gatherer.count_hour(hour * HOUR, seconds, int(times))
        self._hours = {}

    def _leave_lane(self, lane: _Lane) -> None:
        lane.group.total += lane.seconds
        self._blocks += lane.times
        self._blocked += lane.seconds

    def _leave(self, progress: BlockInProgress) -> None:
        """Count a block without a recorded end."""
        begun = max(progress.t - progress.elapsed, 0.0)
        if not self._is_inside(begun):
            return
        site = self._sites.get(progress.site)
        group = self._gatherer.group("unknown", site)
        group.seconds.extend((progress.elapsed,), 1)
        group.unfinished += 1
        self._count(group, "unknown", 1, progress.elapsed)
        group.see(progress.elapsed, site, self.number)
        group.first, group.last = min(group.first, begun), max(group.last, begun)
        block = Block(begun, progress.elapsed, "unknown", self.number, 0, finished=False)
        if self._gatherer.is_drawn(progress.elapsed):
            self._gatherer.draw(block, group)
        self._gatherer.count_hour(begun, progress.elapsed)

    def _process(self, now: float) -> WatchedProcess:
        known = self._first < float("inf")
        start = self._start or Start(t=self._first if known else 0.0)
        last = max(self._last, start.t) if known else start.t
        state, reason = self._state(start, last, now)
        return WatchedProcess(
            name=self._source.name,
            host=start.host,
            pid=start.pid,
            command=start.argv,
            python=start.python,
            gevent=start.gevent,
            release=start.release,
            threshold=start.threshold,
            started=min(start.t, self._first),
            last=last,
            state=state,
            reason=reason,
            blocks=self._blocks,
            blocked=self._blocked,
            uncounted=self._uncounted,
            parent=start.ppid,
        )

    def _state(self, start: Start, last: float, now: float) -> tuple[str, str]:
        # Another hub of the process may still be watched after an error.
        if self._failed is not None:
            return "failed", self._failed.error or "the probe failed without a message"
        if self._end is not None:
            return "ended", self._end.reason
        if now - last > _MISSED * self._interval(start):
            return "silent", _SILENT
        if _is_gone(start, last):
            return "silent", "no end, and no process with its ID: it was killed"
        return "running", ""

    def _interval(self, start: Start) -> float:
        """Return the seconds between heartbeats, as recorded or as observed."""
        seconds = start.heartbeat
        if not seconds and len(self._beats) > 1:
            seconds = statistics.median(b - a for a, b in itertools.pairwise(self._beats))
        return min(max(seconds or _HEARTBEAT, 1.0), 3600.0)


def _watched(record: Watched, now: float) -> WatchedProcess:
    state, reason = "running", ""
    if record.error:
        state, reason = "failed", record.error
    elif record.reason:
        state, reason = "ended", record.reason
    elif now - record.last > _MISSED * (record.heartbeat or _HEARTBEAT):
        state, reason = "silent", _SILENT
    return WatchedProcess(
        name=record.name,
        host=record.host,
        pid=record.pid,
        command=record.argv,
        python=record.python,
        gevent=record.gevent,
        release=record.release,
        threshold=record.threshold,
        started=record.started,
        last=record.last,
        state=state,
        reason=reason,
        blocks=record.blocks,
        blocked=record.blocked,
        uncounted=0,
    )


def _is_gone(start: Start, last: float) -> bool:
    """Return whether a process of this host has ended, even if its pid is in use again."""
    if not start.pid or not hasattr(os, "uname"):
        return False
    if start.host != re.sub(r"[^\w.-]", "_", os.uname().nodename):
        return False
    try:
        os.kill(start.pid, 0)
        return os.stat(f"/proc/{start.pid}").st_ctime > last + 1
    except ProcessLookupError:
        return True
    except OSError:
        return False


def _is_end(site: int | None, start: float, seconds: float, progress: BlockInProgress) -> bool:
    """Return whether a finished block is the one that was recorded while in progress.

    The site may differ or be missing: for a long block it is known only at the end.
    """
    if site == progress.site:
        return True
    begun = progress.t - progress.elapsed
    return start - _EARLY <= begun <= start + seconds
