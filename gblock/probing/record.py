"""Writes what the probe sees: one file of JSON lines a process, or short lines to stderr.

Every write is one call of the system with whole lines, to a file that is opened for it: a record
is whole after a crash, a forked child inherits nothing, and a directory that went away and came
back, or a disk that was full, costs the lines of that time and no more. They are counted.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from bisect import bisect_left
from contextlib import suppress

from gblock import __version__
from gblock.probing import callee

try:  # `os.open` and its like are patched, these are not
    import posix as _system
except ImportError:  # pragma: no cover - no POSIX
    import nt as _system  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gblock.probing.settings import Settings

    Frame = tuple[str, str, int, str, bool]
    Record = dict[str, object]

VERSION = 1
OTHER = 0
"""The number of the site that stands for all above the limit."""
BUCKETS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds: the upper bounds of a total's histogram; longer blocks stand in one more place."""
_PROGRESS, _SHARE = 0.5, 0.05
"""A block that lasts is recorded again after so many seconds, or this share of its time: a process
that is killed within it has lost no more than that, and an hour costs 150 lines."""
_SAID = (1.0, 5.0, 30.0, 300.0, 3600.0)
"""On stderr it is said after so many seconds only."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_NOFOLLOW", 0)
# Options of servers whose values are names and numbers.
_HARMLESS = frozenset(
    "-A -B -E -P -Q -b -c -f -k -l -m -n -w --app --bind --concurrency --config --host --loglevel"
    " --pool --port --queues --worker-class --workers".split()
)
_ADDRESS = re.compile(r"(\w+://)?([^/?#\s]*@)?([^?#]*).*", re.DOTALL)
_SWITCHING = ("gevent.", "greenlet.", "_greenlet.", "_gevent", "grpc.", "uwsgi.")
_NAME = re.compile(r"(?P<host>.+)-(?P<pid>\d+)-(?P<start>\d+)(\.jsonl(\.1)?|\.stacks\.txt)")


class Site:
    """Where the hub was blocked, and by what."""

    __slots__ = ("callable", "entered", "frames", "native", "number", "spawned", "user")

    def __init__(self) -> None:
        """Start with nothing known."""
        self.number = OTHER
        self.callable: str | None = None
        """As the C code names itself: `cimpl.Consumer.poll`."""
        self.entered: str | None = None
        """The function of a package through which its code was entered: `json.dumps`."""
        self.frames: list[Frame] = []
        """File, module, line, function, and whether it is the user's; innermost last."""
        self.user: Frame | None = None
        self.spawned = False
        """The frames are those that spawned the greenlet: its target is the callable itself."""
        self.native: list[str] | None = None

    def without_callable(self) -> Site:
        """Return the same place, where nothing is known of what it calls but the package."""
        site = self.without_names()
        site.entered = self.entered
        return site

    def without_names(self) -> Site:
        """Return the same place, where nothing is known of what it calls."""
        site = Site()
        site.frames, site.user = self.frames, self.user
        site.spawned, site.native = self.spawned, self.native
        return site

    def of_caller(self) -> Site:
        """Return the place from which the innermost function was called."""
        site = Site()
        site.frames = self.frames[:-1]
        site.user = next((frame for frame in reversed(site.frames) if frame[4]), None)
        return site

    @property
    def is_of_gevent(self) -> bool:
        """Whether the call may have switched greenlets, so that another one's time is in it."""
        name = self.callable or self.entered
        return name is not None and name.startswith(_SWITCHING)

    @property
    def symbol(self) -> str | None:
        """The name that people import."""
        named = callee.symbol(self.callable) if self.callable else None
        if self.entered and (named is None or _package(named) == _package(self.entered)):
            return self.entered
        return named

    @property
    def key(self) -> object:
        """What makes two sites the same."""
        return self.user, tuple(self.frames[-1:]), self.callable, self.entered


class _Total:
    """All blocks of one class at one site since the process began."""

    __slots__ = ("count", "exact", "histogram", "longest", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.exact = 0
        self.seconds = 0.0
        self.longest = 0.0
        self.histogram = [0] * (len(BUCKETS) + 1)

    def add(self, seconds: float, *, is_exact: bool) -> None:
        self.count += 1
        self.exact += is_exact
        self.seconds += seconds
        self.longest = max(self.longest, seconds)
        self.histogram[bisect_left(BUCKETS, seconds)] += 1


class Recorder:
    """All records of one process, whatever the number of its hubs."""

    def __init__(self, settings: Settings, lock: Callable[[], object]) -> None:
        """Open nothing yet.

        Args:
            settings: What the user asked for.
            lock: Makes a lock of native threads, never one of greenlets.
        """
        self._settings = settings
        self._new_lock = lock
        name = os.uname().nodename if hasattr(os, "uname") else ""
        self._host = re.sub(r"[^\w.-]", "_", name) or "host"
        self.begin()

    def begin(self) -> None:
        """Start afresh: at the start, and in a child after a fork."""
        self.pid = os.getpid()
        self.began = time.time()
        self._lock: object = self._new_lock()
        self._starts: dict[int, Record] = {}
        self._sites: dict[object, Site] = {}
        self._written: set[int] = set()
        self._totals: dict[tuple[int | None, str], _Total] = {}
        self._changed: set[tuple[int | None, str]] = set()
        self._minute = 0.0
        self._this_minute = 0
        self.blocks = 0
        self.blocked = 0.0
        self.dropped = 0
        self.ended = False
        self._torn = False
        self._has_failed = False
        self._size = 0
        self.path: str | None = None
        if self._settings.directory is not None:
            name = f"{self._host}-{self.pid}-{int(self.began)}.jsonl"
            self.path = os.path.join(self._settings.directory, name)

    def start(self, hub: int, details: Record) -> None:
        """Record that a hub is watched."""
        line: Record = {
            "type": "start",
            "t": time.time(),
            "version": VERSION,
            "gblock": __version__,
            "pid": self.pid,
            "ppid": os.getppid(),
            "host": self._host,
            "argv": _argv(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "threshold": self._settings.threshold,
            "period": round(self._settings.period, 6),
            "heartbeat": self._settings.heartbeat,
            **details,
        }
        if not self._starts and self.path is not None:
            self._tidy()
        self._starts[hub] = line
        if self.path is not None:
            self._write([line])

    def forget(self, hub: int) -> None:
        """Leave a hub that is gone out of the files to come."""
        self._starts.pop(hub, None)

    def site(self, site: Site) -> Site:
        """Return the known site that is the same, or this one with a number of its own."""
        key = site.key
        known = self._sites.get(key)
        if known is not None:
            return known
        if len(self._sites) < self._settings.max_sites:
            self._sites[key] = site
            site.number = len(self._sites)
        return site

    def block(self, line: Record, site: Site | None) -> None:
        """Record a finished block."""
        duration = line["duration"]
        assert isinstance(duration, float)
        self.blocks += 1
        self.blocked += duration
        number = site.number if site is not None else None
        key = (number, str(line["class"]))
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = _Total()
        total.add(duration, is_exact=line.get("confidence") == "exact")
        self._changed.add(key)
        now = time.time()
        if not 0 <= now - self._minute < 60:
            self._minute, self._this_minute = now, 0
        self._this_minute += 1
        if self._this_minute > self._settings.max_records:
            self.dropped += 1
            return
        if self.path is None and self._settings.sink is None:
            self._say(_told(line, site))
        elif not self._hand([*self._unwritten(site), {**line, "site": number}]):
            self._say(_told(line, site))  # stderr is there where the directory is not

    def is_due(self, elapsed: float, last: float) -> bool:
        """Return whether it is time to record that a block lasts.

        Args:
            elapsed: For how many seconds it lasts.
            last: The same at the last record of it, 0.0 if there is none.
        """
        if self.path is None:
            return any(last < each <= elapsed for each in _SAID)
        return elapsed >= max(_SAID[0], last + max(_PROGRESS, _SHARE * elapsed))

    def progress(self, elapsed: float, site: Site) -> None:
        """Record that a block lasts."""
        if self.path is None:
            if self._settings.sink is None:
                self._say(f"still blocked after {elapsed:.1f} s{_place(site)}")
            return
        line: Record = {"type": "progress", "t": time.time(), "site": site.number}
        self._write([*self._unwritten(site), {**line, "elapsed": round(elapsed, 6)}])

    def heartbeat(self, details: Record) -> None:
        """Record that the probe lives, and what it counted so far."""
        if self.path is not None or self._settings.sink is not None:
            self._hand(
                [
                    *self._told_totals(self._changed),
                    {
                        "type": "heartbeat",
                        "t": time.time(),
                        "blocks": self.blocks,
                        "blocked": round(self.blocked, 6),
                        "dropped": self.dropped,
                        **details,
                    },
                ]
            )

    def end(self, reason: str, error: str | None = None) -> None:
        """Record why there will be no more records."""
        if self.path is not None and not self.ended:
            self._write([{"type": "end", "t": time.time(), "reason": reason, "error": error}])
            self.ended = True

    def warn(self, text: str) -> None:
        """Say one line on stderr."""
        self._say(text)

    def _told_totals(self, keys: Iterable[tuple[int | None, str]]) -> list[Record]:
        """Return the cumulative lines of some sites, after those of the sites themselves."""
        lines: list[Record] = []
        by_number = {site.number: site for site in self._sites.values()}
        for key in sorted(keys, key=str):
            total, number = self._totals[key], key[0]
            if number is not None and number not in self._written:
                lines += self._unwritten(by_number.get(number) or Site())
            lines.append(
                {
                    "type": "total",
                    "t": time.time(),
                    "site": number,
                    "class": key[1],
                    "count": total.count,
                    "exact": total.exact,
                    "seconds": round(total.seconds, 6),
                    "max": round(total.longest, 6),
                    "histogram": list(total.histogram),
                }
            )
        return lines

    def _hand(self, lines: list[Record]) -> bool:
        """Give records to the sink and write them to the file; return whether they are written."""
        sink = self._settings.sink
        for line in lines if sink is not None else ():
            try:
                sink(line)  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 - somebody else's code must not end the probe
                self._settings.sink = None
                self._say(f"the probe's sink failed and is left out: {type(error).__name__}")
                break
        return self.path is None or self._write(lines)

    def _unwritten(self, site: Site | None) -> list[Record]:
        if site is None or site.number in self._written:
            return []
        self._written.add(site.number)
        if site.number == OTHER:
            return [
                {"type": "site", "site": OTHER, "symbol": None, "callable": None, "user": None,
                 "stack": [], "other": True}
            ]  # fmt: skip
        user = site.user
        return [
            {
                "type": "site",
                "site": site.number,
                "symbol": site.symbol,
                "callable": site.callable,
                "user": user
                and {
                    "file": user[0],
                    "module": user[1],
                    "line": user[2],
                    "function": user[3],
                },
                "stack": [
                    {"file": file, "module": module, "line": line, "function": name, "user": own}
                    for file, module, line, name, own in site.frames
                ],
                **({"spawned": True} if site.spawned else {}),
            }
        ]

    def _write(self, lines: list[Record]) -> bool:
        """Append lines and return whether that was possible; no caller waits here for long."""
        lock = self._lock
        if not lock.acquire(True, 0.5):  # type: ignore[attr-defined]
            self.dropped += len(lines)
            return True  # another hub's records are on their way
        try:
            self._append(lines)
            self._changed.difference_update(
                (line["site"], line["class"]) for line in lines if line["type"] == "total"
            )
        except OSError as error:
            self.dropped += len(lines)
            self._written.clear()  # a site may be among what was lost
            if not self._has_failed:
                self._has_failed = True
                reason = error.strerror or str(error)
                self._say(f"{self.path} cannot be written: {reason}; blocks are reported here")
            return False
        finally:
            lock.release()  # type: ignore[attr-defined]
        return True

    def _append(self, lines: list[Record]) -> None:
        assert self.path is not None
        data = _encoded(lines)
        if self._size + len(data) > self._settings.max_bytes:
            with suppress(FileNotFoundError):  # somebody has put it away
                _system.rename(self.path, self.path + ".1")
            self._size = 0
        try:
            handle = _system.open(self.path, _FLAGS, 0o600)
        except FileNotFoundError:
            _system_makedirs(os.path.dirname(self.path))
            handle = _system.open(self.path, _FLAGS, 0o600)
        try:
            size = _system.fstat(handle).st_size
            if size == 0 and lines[0]["type"] != "start":
                # After a rotation, or because somebody removed the file: all is told anew.
                sites = [site for site in self._sites.values() if site.number in self._written]
                self._written.clear()
                told: list[Record] = []
                for site in sites:
                    told += self._unwritten(site)
                told += self._told_totals(self._totals)
                again = {json.dumps(line) for line in lines}
                told = [line for line in told if json.dumps(line) not in again]
                data = _encoded([*self._starts.values(), *told]) + data
            if self._torn:
                data = b"\n" + data
            written = _system.write(handle, data)
            self._torn = written != len(data)
            self._size = size + written
            if self._torn:
                raise OSError("the disk is full")
        finally:
            _system.close(handle)

    def _say(self, text: str) -> None:
        try:
            _system.write(2, f"gblock: {text}\n".encode("ascii", "backslashreplace"))
        except OSError:
            return  # there is nobody left to tell

    def _tidy(self) -> None:
        """Remove this host's oldest files if there are too many, but none of a living process."""
        assert self._settings.directory is not None
        try:
            names = _system.listdir(self._settings.directory)
        except OSError:
            return
        old = []
        for name in names:
            match = _NAME.fullmatch(name)
            if match and match["host"] == self._host and not _lives(int(match["pid"])):
                old.append((int(match["start"]), name))
        old.sort(reverse=True)
        for _, name in old[max(0, self._settings.max_files - 1) :]:
            with suppress(OSError):
                _system.unlink(os.path.join(self._settings.directory, name))


def _lives(pid: int) -> bool:
    try:
        _system.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _system_makedirs(path: str) -> None:
    parent = os.path.dirname(path)
    if parent != path and not os.path.isdir(parent):
        _system_makedirs(parent)
    try:
        _system.mkdir(path, 0o700)
    except FileExistsError:
        return


def _encoded(lines: list[Record]) -> bytes:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode("ascii")


def _argv() -> list[str]:
    """Return the first words of the command, without what may be a secret.

    An option's value is left out, unless the option is known to take a name or a number, and of an
    address its scheme and host stay alone.
    """
    words = [word for word in getattr(sys, "argv", []) if isinstance(word, str)][:3]
    kept = []
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        if before.startswith("-") and "=" not in before and before not in _HARMLESS:
            kept.append(word.partition("=")[0][:200] if word.startswith("-") else "*")
        else:
            kept.append(_ADDRESS.sub(r"\1\3", word.partition("=")[0])[:200])
    return kept


def _package(name: str) -> str:
    return name.partition(".")[0]


def _place(site: Site | None) -> str:
    if site is None:
        return ""
    told = f": {site.symbol}" if site.symbol else ""
    if site.user is not None:
        file, _, line, name, _ = site.user
        return f"{told} at {file}:{line} in {name}"
    if site.frames:
        file, _, line, name, _ = site.frames[-1]
        return f"{told} at {file}:{line} in {name}"
    return told


_TOLD = {
    "waits": "waits",
    "cpu": "works on the CPU",
    "gil": "holds the GIL",
    "gc": "garbage collection",
    "thread": "another thread held the GIL",
    "starved": "the host gave this process no time",
}


def _told(line: Record, site: Site | None) -> str:
    reason = _TOLD[str(line["class"])]
    return f"blocked for {line['duration']:.3f} s ({reason}){_place(site)}"
