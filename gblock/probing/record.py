"""Write the probe's records: one file of JSON lines for each process, or short lines to stderr.

Every write is one system call with whole lines, to a file that is opened for it. So records are
whole after a crash, a forked child inherits no open file, and a directory that disappears for a
while, or a full disk, costs only the lines of that time. These are counted.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from bisect import bisect_left
from contextlib import contextmanager, suppress

from gblock import __version__
from gblock.probing import callee, patched

try:  # unlike those of `os`, these functions are not patched
    import posix as _system
except ImportError:  # pragma: no cover - no POSIX
    import nt as _system  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from gblock.probing.settings import Settings

    Frame = tuple[str, str, int, str, bool]
    Record = dict[str, object]

VERSION = 1
_BASE = "base"
"""The field of a block that means something in this process alone; sinks get it."""
OTHER = 0
"""The number of the site for all sites above the limit."""
BUCKETS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds: the upper bounds of a total's histogram; one more bucket counts longer blocks."""
_PROGRESS, _SHARE = 0.5, 0.05
"""A block in progress is recorded again after this many seconds, or this share of its duration:
a killed process loses no more than that, and an hour costs 150 lines."""
_SAID = (1.0, 5.0, 30.0, 300.0, 3600.0)
"""Seconds after which stderr shows a block in progress."""
_STORM, _EACH = 1.0, 0.01
"""Blocks above the limit of records have totals at most once in so many seconds, and in so many
more for each total: a killed process loses no more than that, and a storm writes 100 lines a
second at most."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_NOFOLLOW", 0)
# Server options whose values are names and numbers.
_HARMLESS = frozenset(
    "-A -B -E -P -Q -b -c -f -k -l -m -n -w --app --bind --concurrency --config --host --loglevel"
    " --pool --port --queues --worker-class --workers".split()
)
_ADDRESS = re.compile(r"(\w+://)?([^/?#\s]*@)?([^?#]*).*", re.DOTALL)
_SWITCHING = ("gevent.", "greenlet.", "_greenlet.", "_gevent", "grpc.", "uwsgi.")
_NAME = re.compile(r"(?P<host>.+)-(?P<pid>\d+)-(?P<start>\d+)(\.jsonl(\.1)?|\.stacks\.txt)")


class CallSite:
    """The place where the hub was blocked, and the call."""

    __slots__ = (
        "callable", "entered", "frames", "native", "number", "original", "spawned", "user",
    )  # fmt: skip

    def __init__(self) -> None:
        """Create an empty site."""
        self.number = OTHER
        self.callable: str | None = None
        """The name that the C code gives itself: `cimpl.Consumer.poll`."""
        self.entered: str | None = None
        """The package's function that the user's code called: `json.dumps`."""
        self.frames: list[Frame] = []
        """File, module, line, function, and whether it is the user's code; innermost last."""
        self.user: Frame | None = None
        self.spawned = False
        """True if the frames are those that spawned the greenlet; its target is the callable."""
        self.native: list[str] | None = None
        self.original = False
        """True if the call's own module was patched when the site was seen first."""

    def without_callable(self) -> CallSite:
        """Return the same place with only the package of the call."""
        site = self.without_names()
        site.entered = self.entered
        return site

    def without_names(self) -> CallSite:
        """Return the same place without any name of the call."""
        site = CallSite()
        site.frames, site.user = self.frames, self.user
        site.spawned, site.native = self.spawned, self.native
        return site

    def of_caller(self) -> CallSite:
        """Return the caller of the innermost function."""
        site = CallSite()
        site.frames = self.frames[:-1]
        site.user = next((frame for frame in reversed(site.frames) if frame[4]), None)
        return site

    @property
    def is_of_gevent(self) -> bool:
        """Return whether the call may have switched greenlets: its time includes that of others."""
        name = self.callable or self.entered
        return name is not None and name.startswith(_SWITCHING)

    @property
    def symbol(self) -> str | None:
        """The name as imported."""
        named = callee.symbol(self.callable) if self.callable else None
        if self.entered and (named is None or _package(named) == _package(self.entered)):
            return self.entered
        return named

    @property
    def key(self) -> object:
        """The identity of a site, for comparison."""
        return self.user, tuple(self.frames[-1:]), self.callable, self.entered


class _Total:
    """All blocks of one class at one site since the process started."""

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
    """All records of one process, for any number of hubs."""

    def __init__(self, settings: Settings, lock: Callable[[], object]) -> None:
        """Create a recorder without opening a file.

        Args:
            settings: The user's settings.
            lock: A factory of native locks, never of greenlet locks.
        """
        self._settings = settings
        self._new_lock = lock
        name = os.uname().nodename if hasattr(os, "uname") else ""
        self._host = re.sub(r"[^\w.-]", "_", name) or "host"
        self.begin()

    def begin(self) -> None:
        """Reset the state: at the start, and in a child after a fork."""
        self.pid = os.getpid()
        self.began = time.time()
        self._lock: object = self._new_lock()
        self._starts: dict[int, Record] = {}
        self._sites: dict[object, CallSite] = {}
        self._written: set[int] = set()
        self._totals: dict[tuple[int | None, str], _Total] = {}
        self._changed: set[tuple[int | None, str]] = set()
        self._minute = 0.0
        self._this_minute = 0
        self._summed = 0.0
        self.blocks = 0
        self.blocked = 0.0
        self.dropped = 0
        self.ended = False
        self._torn = False
        self._has_failed = False
        self._size = 0
        self._base = 0
        """The bytes with which a file after the first begins."""
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
            **({"release": plain(self._settings.release)} if self._settings.release else {}),
            **details,
        }
        if not self._starts and self.path is not None:
            self._tidy()
        self._starts[hub] = line
        if self.path is not None:
            self._write([line])

    def forget(self, hub: int) -> None:
        """Omit a hub that is gone from later files."""
        self._starts.pop(hub, None)

    def site(self, site: CallSite) -> CallSite:
        """Return the known equal site, or this one with a new number."""
        key = site.key
        known = self._sites.get(key)
        if known is not None:
            return known
        if len(self._sites) < self._settings.max_sites:
            self._sites[key] = site
            site.number = len(self._sites)
            site.original = patched.is_original(site.symbol)
        return site

    def block(self, line: Record, site: CallSite | None) -> None:
        """Record a finished block."""
        number = site.number if site is not None else None
        with self._locked() as is_locked:
            # Counted and written at once, before the totals of another hub include the block.
            lines = self._counted(line, number, site)
            is_written = not lines or self._store(lines, is_locked=is_locked)
        self._send(lines)
        has_line = lines and lines[-1]["type"] == "block"
        if has_line and not (is_written and (self.path is not None or self._settings.sink)):
            self._say(_told(line, site))  # stderr works even if the directory does not

    def _counted(self, line: Record, number: int | None, site: CallSite | None) -> list[Record]:
        """Add a block to the totals and return what to write of it.

        These are its record, or totals if there are too many records, or nothing.
        """
        duration = line["duration"]
        assert isinstance(duration, float)
        self.blocks += 1
        self.blocked += duration
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
        if self._this_minute <= self._settings.max_records:
            return [*self._unwritten(site), {**line, "site": number}]
        self.dropped += 1
        if 0 <= now - self._summed < _STORM + _EACH * len(self._changed):
            return []
        self._summed = now
        return self._told_totals(self._changed)

    def is_due(self, elapsed: float, last: float) -> bool:
        """Return whether to record a block in progress.

        Args:
            elapsed: Seconds that the block has lasted.
            last: The value of `elapsed` at its last record, 0.0 if there is none.
        """
        if self.path is None:
            return any(last < each <= elapsed for each in _SAID)
        return elapsed >= max(_SAID[0], last + max(_PROGRESS, _SHARE * elapsed))

    def progress(self, elapsed: float, site: CallSite) -> None:
        """Record a block in progress."""
        if self.path is None:
            if self._settings.sink is None:
                self._say(f"still blocked after {elapsed:.1f} s{_place(site)}")
            return
        line: Record = {"type": "progress", "t": time.time(), "site": site.number}
        self._write([*self._unwritten(site), {**line, "elapsed": round(elapsed, 6)}])

    def heartbeat(self, details: Record) -> None:
        """Record a heartbeat, with the counts so far."""
        if self.path is not None or self._settings.sink is not None:
            with self._locked() as is_locked:
                lines = [
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
                self._store(lines, is_locked=is_locked)
            self._send(lines)

    def end(self, reason: str, error: str | None = None) -> None:
        """Record the reason why no more records follow."""
        if self.path is not None and not self.ended:
            self._write([{"type": "end", "t": time.time(), "reason": reason, "error": error}])
            self.ended = True

    def warn(self, text: str) -> None:
        """Write one line to stderr."""
        self._say(text)

    def _told_totals(self, keys: Iterable[tuple[int | None, str]]) -> list[Record]:
        """Return the totals of some sites, after the records of the sites themselves."""
        lines: list[Record] = []
        by_number = {site.number: site for site in self._sites.values()}
        for key in sorted(keys, key=str):
            total, number = self._totals[key], key[0]
            if number is not None and number not in self._written:
                lines += self._unwritten(by_number.get(number) or CallSite())
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

    def _send(self, lines: list[Record]) -> None:
        """Pass records to the sink."""
        sink = self._settings.sink
        for line in lines if sink is not None else ():
            try:
                sink(line)  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 - a foreign sink must not end the probe
                self._settings.sink = None
                self._say(f"the probe's sink failed and is left out: {type(error).__name__}")
                break

    def _unwritten(self, site: CallSite | None) -> list[Record]:
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
                **({"original": True} if site.original else {}),
                **({"spawned": True} if site.spawned else {}),
            }
        ]

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        """Hold the lock, but never wait for it long; the value is whether it is held."""
        lock: Any = self._lock
        is_locked = lock.acquire(True, 0.5)
        try:
            yield is_locked
        finally:
            if is_locked:
                lock.release()

    def _write(self, lines: list[Record]) -> bool:
        """Append lines and return whether they were written; see `_store`."""
        with self._locked() as is_locked:
            return self._store(lines, is_locked=is_locked)

    def _store(self, lines: list[Record], *, is_locked: bool) -> bool:
        """Append lines, with the lock held; return whether they are not needed elsewhere.

        Without the lock another hub is writing its records: the lines are left out.
        """
        if self.path is None:
            return True
        error = None
        if is_locked:
            try:
                self._append(lines)
            except OSError as caught:
                error = caught
            else:
                self._changed.difference_update(
                    (line["site"], line["class"]) for line in lines if line["type"] == "total"
                )
                return True
        self.dropped += sum(line["type"] == "block" for line in lines)
        self._written.clear()  # the lost lines may include sites
        if error is not None and not self._has_failed:
            self._has_failed = True
            reason = error.strerror or str(error)
            self._say(f"{self.path} cannot be written: {reason}; blocks are reported here")
        return error is None

    def _append(self, lines: list[Record]) -> None:
        assert self.path is not None
        data = _encoded(lines)
        if self._size + len(data) > max(self._settings.max_bytes, 2 * self._base):
            with suppress(FileNotFoundError):  # the file was removed
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
                data = self._again(lines)
                self._base = len(data)
            if self._torn:
                data = b"\n" + data
            written = _system.write(handle, data)
            self._torn = written != len(data)
            self._size = size + written
            if self._torn:
                raise OSError("the disk is full")
        finally:
            _system.close(handle)

    def _again(self, lines: list[Record]) -> bytes:
        """Return the beginning of a new file: all that earlier files told, and some lines.

        It is written after a rotation, or if the file was removed. The totals follow the lines,
        because they include the blocks among them.
        """
        sites = [site for site in self._sites.values() if site.number in self._written]
        if OTHER in self._written:
            sites.append(CallSite())
        self._written.clear()
        told = [line for site in sites for line in self._unwritten(site)]
        known = {line["site"] for line in told}
        told += [line for line in lines if line["type"] != "site" or line["site"] not in known]
        return _encoded([*self._starts.values(), *told, *self._told_totals(self._totals)])

    def _say(self, text: str) -> None:
        try:
            _system.write(2, f"gblock: {text}\n".encode("ascii", "backslashreplace"))
        except OSError:
            return  # stderr is closed, too

    def _tidy(self) -> None:
        """Remove this host's oldest files above the limit, except those of living processes."""
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
    texts = []
    for line in lines:
        stored = {name: value for name, value in line.items() if name != _BASE}
        texts.append(json.dumps(stored, separators=(",", ":")) + "\n")
    return "".join(texts).encode("ascii")


def _argv() -> list[str]:
    """Return the first words of the command, without possible secrets.

    Values of options are omitted, except for options known to take a name or a number. Of a URL
    only scheme and host are kept.
    """
    words = [word for word in getattr(sys, "argv", []) if isinstance(word, str)][:3]
    kept = []
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        if before.startswith("-") and "=" not in before and before not in _HARMLESS:
            kept.append(plain(word.partition("=")[0], 200) if word.startswith("-") else "*")
        else:
            kept.append(plain(_ADDRESS.sub(r"\1\3", word.partition("=")[0]), 200))
    return kept


def plain(text: str, most: int = 1000) -> str:
    """Return a text that every reader of JSON takes, of a bounded length.

    Names of files may hold bytes that are no UTF-8, and generated code has names of any length.
    """
    text = text[:most]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _package(name: str) -> str:
    return name.partition(".")[0]


def _place(site: CallSite | None) -> str:
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


def _told(line: Record, site: CallSite | None) -> str:
    reason = _TOLD[str(line["class"])]
    return f"blocked for {line['duration']:.3f} s ({reason}){_place(site)}"
