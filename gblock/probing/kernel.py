"""Read the kernel's data about threads of this process: Linux only, and only if permitted.

Reading a file releases the GIL, and the sample misses what the hub does then. So the short files of
`/proc` are read through `ctypes.PyDLL`, which holds the GIL, if possible.
"""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

try:
    import ctypes

    _libc = ctypes.PyDLL(None)
    _open, _load, _close = _libc.open, _libc.read, _libc.close
    _open.argtypes = (ctypes.c_char_p, ctypes.c_int)
    _load.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    _load.restype = ctypes.c_ssize_t
    _close.argtypes = (ctypes.c_int,)
    _BUFFER = ctypes.create_string_buffer(4096)
    KEEPS_GIL = sys.platform.startswith("linux")
    """True if the counters of a thread are read without releasing the GIL."""
except Exception:  # noqa: BLE001 - a system without libffi, or one that forbids its use
    KEEPS_GIL = False

try:  # unlike those of `os`, these functions are not patched
    import posix as _system
except ImportError:  # pragma: no cover - no Linux
    import nt as _system  # type: ignore[no-redef]

_X86_64 = {
    0: "read", 1: "write", 7: "poll", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev",
    23: "select", 34: "pause", 35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto",
    45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 72: "fcntl", 73: "flock",
    74: "fsync", 75: "fdatasync", 128: "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex",
    230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 257: "openat", 270: "pselect6",
    271: "ppoll", 281: "epoll_pwait", 288: "accept4", 441: "epoll_pwait2",
}  # fmt: skip
_ARM64 = {
    25: "fcntl", 32: "flock", 56: "openat", 63: "read", 64: "write", 65: "readv", 66: "writev",
    67: "pread64", 68: "pwrite64", 72: "pselect6", 73: "ppoll", 82: "fsync", 83: "fdatasync",
    22: "epoll_pwait", 95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep",
    133: "rt_sigsuspend", 137: "rt_sigtimedwait", 202: "accept", 203: "connect", 206: "sendto",
    207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4", 260: "wait4",
    441: "epoll_pwait2",
}  # fmt: skip
_NAMES = {"x86_64": _X86_64, "aarch64": _ARM64}
_STACK = 16 * 1024
_WORD = 8
_STALE = 2
"""Words of the interpreter on a stack that may remain from a call that has ended."""
# Libraries on every stack, and the hash that auditwheel adds to names.
_ORDINARY = re.compile(r"(lib(c|m|dl|pthread|python[\d.]+|stdc\+\+|gcc_s)[-.\d]*\.so|ld-)")
_OURS = re.compile(rb"/(gevent|greenlet)/[^/]*(/[^/]*)?$")
_PYTHON = re.compile(rb"/libpython[\d.]+[a-z]*\.so")
_MACHINE = os.uname().machine if hasattr(os, "uname") else ""
_HASH = re.compile(r"-[0-9a-f]{8}(?=\.)")
LINUX = sys.platform.startswith("linux")


class Schedule:
    """A thread's scheduling so far."""

    __slots__ = ("ran", "turns", "waiting")

    def __init__(self, ran: float, waiting: float, turns: int) -> None:
        """Store the kernel's figures.

        Args:
            ran: Seconds on a CPU.
            waiting: Seconds in the run queue.
            turns: The number of times it was scheduled.
        """
        self.ran = ran
        self.waiting = waiting
        self.turns = turns


def own_schedule() -> Schedule | None:
    """Return the scheduling of the thread that calls; None if unknown.

    Nothing here releases the GIL.
    """
    return _schedule(b"/proc/thread-self/schedstat") if KEEPS_GIL else None


def _schedule(path: bytes) -> Schedule | None:
    try:
        ran, waiting, turns = map(int, _short(path).split()[:3])
        return Schedule(ran / 1e9, waiting / 1e9, turns)
    except ValueError:
        return None


class Thread:
    """One native thread, by the kernel's thread id."""

    def __init__(self, number: int) -> None:
        """Store the thread's id."""
        self._folder = f"/proc/self/task/{number}/"
        self._schedule = os.fsencode(self._folder + "schedstat")
        self._stat = os.fsencode(self._folder + "stat")
        machine = os.uname().machine if LINUX else ""
        self._names = _NAMES.get(machine, {})

    def schedule(self) -> Schedule | None:
        """Return the thread's scheduling so far, or None if unknown."""
        return _schedule(self._schedule)

    def state(self) -> str:
        """Return R for running or ready, S or D for asleep, and an empty string if unknown."""
        text = _short(self._stat)
        return text.rpartition(b")")[2].strip()[:1].decode("ascii", "replace")

    def syscall(self) -> tuple[str | None, int]:
        """Return the system call that the thread waits in, and its stack pointer, or 0."""
        words = _text(self._folder + "syscall", 512).split()
        if len(words) < 9:
            return None, 0
        try:
            number, pointer = int(words[0]), int(words[-2], 16)
        except ValueError:
            return None, 0
        return self._names.get(number, f"syscall-{number}"), pointer


def native_modules(pointer: int) -> list[str]:
    """Return the libraries called by the innermost C call of a stack, innermost first.

    Only words that follow a call instruction count, up to those that return into the interpreter:
    the words after them belong to other calls. A word of a finished call may remain between them,
    so this is a hint.
    """
    spans = []
    interpreter = _interpreter()
    for line in _text("/proc/self/maps", 4_000_000).splitlines():
        words = line.split(None, 5)
        if len(words) == 6 and b"x" in words[1]:
            path = words[5].strip()
            is_python = path == interpreter or _PYTHON.search(path) is not None
            if is_python or b".so" in path:
                first, _, last = words[0].partition(b"-")
                spans.append((int(first, 16), int(last, 16), path, is_python))
    return innermost(_owners(_read("/proc/self/mem", _STACK, pointer), spans))


def _owners(memory: bytes, spans: list[tuple[int, int, bytes, bool]]) -> Iterator[str | None]:
    """Yield the library of each word that follows a call instruction, None for the interpreter."""
    for place in range(0, len(memory) - _WORD + 1, _WORD):
        word = int.from_bytes(memory[place : place + _WORD], sys.byteorder)
        if word < 4096:
            continue
        for start, end, path, is_python in spans:
            if start <= word < end:
                if _follows_call(word):
                    yield None if is_python else _library(path)
                break


def innermost(owners: Iterable[str | None]) -> list[str]:
    """Return the libraries of the innermost C call, innermost first.

    A call of the interpreter has more than two words on the stack: one or two of them before a
    library remain from a call that has ended.

    Args:
        owners: For each word the library, None for the interpreter, and an empty text for a library
            that is on every stack.
    """
    found: list[str] = []
    passed = 0
    for owner in owners:
        if owner is None:
            passed += 1
            if passed > _STALE:
                break
        elif owner:
            passed = 0
            if owner not in found:
                found.append(owner)
    return found[:8]


def _library(path: bytes) -> str:
    """Return the display name of a library; empty for one that is on every stack."""
    name = _HASH.sub("", os.path.basename(path).decode("ascii", "replace"))
    return "" if _ORDINARY.match(name) or _OURS.search(path) else name


def _interpreter() -> bytes:
    try:
        return os.fsencode(_system.readlink("/proc/self/exe"))
    except OSError:
        return b""


def _follows_call(address: int) -> bool:
    """Return whether the instruction before an address is a call."""
    code = _read("/proc/self/mem", 8, address - 8)
    if len(code) < 8:
        return False
    if _MACHINE == "x86_64":
        # call rel32; call r/m64 in its lengths, with and without a prefix.
        return code[3] == 0xE8 or any(
            code[-size] == 0xFF and code[1 - size] & 0x38 == 0x10 for size in (2, 3, 4, 6, 7)
        )
    if _MACHINE == "aarch64":
        word = int.from_bytes(code[4:], "little")
        return word >> 26 == 0b100101 or word & 0xFFFFFC1F == 0xD63F0000
    return True


def _short(path: bytes) -> bytes:
    """Return the contents of a short file of `/proc`, empty if it cannot be read."""
    if not KEEPS_GIL:
        return _read(os.fsdecode(path), 512, None)
    handle = _open(path, os.O_RDONLY | os.O_CLOEXEC)
    if handle < 0:
        return b""
    size = _load(handle, _BUFFER, 512)
    _close(handle)
    return _BUFFER.raw[: max(size, 0)]


def _text(path: str, size: int) -> bytes:
    return _read(path, size, None)


def _read(path: str, size: int, place: int | None) -> bytes:
    if not LINUX:
        return b""
    try:
        handle = _system.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        if place is not None:
            return _system.pread(handle, size, place)
        parts: list[bytes] = []
        while size > 0:
            chunk: bytes = _system.read(handle, min(size, 65536))
            if not chunk:
                break
            parts.append(chunk)
            size -= len(chunk)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        _system.close(handle)
