"""Read the records of one process in order, and pass its blocks on."""

from __future__ import annotations

import itertools
import os
import re
import statistics
from typing import TYPE_CHECKING, NamedTuple

from gblock.observations.gathering import DRAWN, HOUR
from gblock.observations.records import (
    BlockEnd,
    End,
    Heartbeat,
    Progress,
    SiteSeen,
    Start,
    Total,
)
from gblock.observations.values import BLAMELESS, Block, WatchedProcess

if TYPE_CHECKING:
    from gblock.observations.gathering import Gatherer, Group
    from gblock.observations.records import Record, Source

_HEARTBEAT = 60.0
_MISSED = 3
"""The number of missed heartbeats after which a probe counts as stopped."""
_EARLY = 0.1
"""Seconds by which two records of the same moment may differ."""

_Key = tuple[int | None, str]
"""A site's number and a class."""


class _Sum(NamedTuple):
    """Blocks of one class at one site."""

    times: int = 0
    seconds: float = 0.0


class _Lane:
    """The blocks of one class at one site since a process's counts began."""

    __slots__ = ("group", "is_seen", "seconds", "times")

    def __init__(self, group: Group) -> None:
        self.group = group
        self.times = 0
        self.seconds = 0.0
        self.is_seen = False


class Story:
    """The records of one process, in order."""

    def __init__(
        self,
        source: Source,
        now: float,
        gatherer: Gatherer,
        number: int,
        *,
        since: float | None = None,
        until: float | None = None,
    ) -> None:
        """Read all records; see `gblock.observations.read`."""
        self.number = number
        self._source = source
        self._gatherer = gatherer
        self._since, self._until = since, until
        self._sites: dict[int | None, SiteSeen] = {}
        self._groups: dict[_Key, Group] = {}
        self._lasting: dict[int | None, Progress] = {}
        self._start: Start | None = None
        self._beats: list[float] = []
        self._failed: End | None = None
        self._end: End | None = None
        self._counted, self._recorded = 0, 0
        self._uncounted, self._blocks, self._blocked = 0, 0, 0.0
        self._lanes: dict[_Key, _Lane] = {}
        self._has_window = since is not None or until is not None
        self._drawn = gatherer.drawn(number)
        self._hours: dict[float, list[float]] = {}
        self._totals: dict[_Key, Total] = {}
        self._before: dict[_Key, Total] = {}
        self._seen_at: dict[_Key, _Sum] = {}
        self._first, self._last = float("inf"), 0.0
        is_empty = True
        for record in source:
            is_empty = False
            self._take(record)
        self._settle()
        for progress in self._lasting.values():
            self._leave(progress)
        self.unread = tuple(source.unread)
        self.process = None if is_empty else self._process(now)

    def _take(self, record: Record) -> None:
        kind = type(record)
        if kind is BlockEnd:
            self._block(record)  # type: ignore[arg-type]
            return
        if isinstance(record, SiteSeen):
            if self._sites.get(record.site) != record:
                self._sites[record.site] = record
                self._groups = {key: g for key, g in self._groups.items() if key[0] != record.site}
                lanes = {key: lane for key, lane in self._lanes.items() if key[0] == record.site}
                for key, lane in lanes.items():
                    lane.group.total += lane.seconds
                    self._blocks += lane.times
                    self._blocked += lane.seconds
                    del self._lanes[key]
            return
        assert not isinstance(record, BlockEnd)
        self._end = None
        self._first, self._last = min(self._first, record.t), max(self._last, record.t)
        if isinstance(record, Progress):
            self._lasting[record.site] = record
        elif isinstance(record, Total):
            self._total(record)
        elif isinstance(record, Heartbeat):
            if record.blocks < self._counted:
                self._settle()
            if len(self._beats) < 100:
                self._beats.append(record.t)
            self._counted = record.blocks
        elif isinstance(record, Start):
            self._start = self._start or record
        elif isinstance(record, End):
            self._end = record
            if record.error or record.reason == "error":
                self._failed = record
            self._settle()

    def _is_inside(self, start: float) -> bool:
        """Return whether a block that started then is selected."""
        return (self._since is None or start >= self._since) and (
            self._until is None or start <= self._until
        )

    def _block(self, record: BlockEnd) -> None:
        # The hot path for millions of blocks: one tuple and two look-ups for each block.
        self._end = None
        start, seconds = record.t, record.duration
        if start < self._first:
            self._first = start
        if start + seconds > self._last:
            self._last = start + seconds
        self._recorded += 1
        if self._lasting:
            self._lasting = {
                site: progress
                for site, progress in self._lasting.items()
                if not _is_end(record, progress)
            }
        if self._has_window and not self._is_inside(start):
            return
        kind = record.kind
        key = (record.site, kind)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(self._group(key))
        lane.times += 1
        lane.seconds += seconds
        group = lane.group
        group.seconds.append(seconds)
        if seconds > group.longest or group.shown is None or not lane.is_seen:
            lane.is_seen = True
            group.see(seconds, self._sites.get(record.site), self.number)
        if start < group.first:
            group.first = start
        if start > group.last:
            group.last = start
        shape = (
            kind, record.confidence, record.original, record.patched, record.native,
            record.syscall, record.greenlet, record.candidates,
        )  # fmt: skip
        shapes = group.shapes
        if shape in shapes:
            shapes[shape] += 1
        else:
            group.add_shape(shape)
        drawn = self._drawn
        if len(drawn) < DRAWN or seconds > drawn[0][0]:
            block = Block(start, seconds, kind, self.number, 0, record.greenlet, record.confidence)
            self._gatherer.draw(block, group)
        if kind not in BLAMELESS:
            hour = start // HOUR
            count = self._hours.get(hour)
            if count is None:
                self._hours[hour] = [1, seconds]
            else:
                count[0] += 1
                count[1] += seconds

    def _group(self, key: _Key) -> Group:
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

    def _total(self, record: Total) -> None:
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
        self._seen_at[key] = _Sum(lane.times, lane.seconds) if lane is not None else _Sum()

    def _settle(self) -> None:
        """Compare counts with records, where the counts start again.

        This is after an end. A start may occur elsewhere because a file was rotated, or because a
        second hub is watched.
        """
        told = 0
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
            told += missing
            group = self._group(key)
            rest = max(0.0, seconds - seen.seconds)
            group.rest += missing
            self._count(group, total.kind, missing, rest)
            group.see(max(longest, rest / missing), self._sites.get(total.site), self.number)
            group.first = min(group.first, total.t - longest)
            group.last = max(group.last, total.t - longest)
        if self._since is None and self._until is None:
            self._uncounted += max(self._counted - self._recorded - told, 0)
        self._counted = self._recorded = 0
        self._totals, self._seen_at, self._before = {}, {}, {}
        self._leave_lanes()

    def _leave_lanes(self) -> None:
        """Add the counts of each site and class to the group of the site."""
        for lane in self._lanes.values():
            lane.group.total += lane.seconds
            self._blocks += lane.times
            self._blocked += lane.seconds
        self._lanes = {}
        for hour, (times, seconds) in self._hours.items():
            self._gatherer.count_hour(hour * HOUR, seconds, int(times))
        self._hours = {}

    def _leave(self, progress: Progress) -> None:
        """Count a block without a recorded end."""
        begun = max(progress.t - progress.elapsed, 0.0)
        if not self._is_inside(begun):
            return
        site = self._sites.get(progress.site)
        group = self._gatherer.group("unknown", site)
        group.seconds.append(progress.elapsed)
        group.unfinished += 1
        self._count(group, "unknown", 1, progress.elapsed)
        group.see(progress.elapsed, site, self.number)
        group.first, group.last = min(group.first, begun), max(group.last, begun)
        block = Block(begun, progress.elapsed, "unknown", self.number, 0, finished=False)
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
            threshold=start.threshold,
            started=min(start.t, self._first),
            last=last,
            state=state,
            reason=reason,
            blocks=self._blocks,
            blocked=self._blocked,
            uncounted=self._uncounted,
        )

    def _state(self, start: Start, last: float, now: float) -> tuple[str, str]:
        # Another hub of the process may still be watched after an error.
        if self._failed is not None:
            return "failed", self._failed.error or "the probe failed without a message"
        if self._end is not None:
            return "ended", self._end.reason
        if now - last > _MISSED * self._interval(start):
            return "silent", "no end and no heartbeat: the process was killed, or its probe died"
        if _is_gone(start, last):
            return "silent", "no end, and no process of its number: it was killed"
        return "running", ""

    def _interval(self, start: Start) -> float:
        """Return the seconds between heartbeats, as recorded or as observed."""
        told = start.heartbeat
        if not told and len(self._beats) > 1:
            told = statistics.median(b - a for a, b in itertools.pairwise(self._beats))
        return min(max(told or _HEARTBEAT, 1.0), 3600.0)


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


def _is_end(block: BlockEnd, progress: Progress) -> bool:
    """Return whether a finished block is the one that was recorded while in progress.

    The site may differ or be missing: for a long block it is known only at the end.
    """
    if block.site == progress.site:
        return True
    begun = progress.t - progress.elapsed
    return block.t - _EARLY <= begun <= block.t + block.duration
