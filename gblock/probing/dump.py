"""Write the stacks of all greenlets on request: by a signal, or by a file.

The signal's handler is `faulthandler`'s: C code that needs no GIL, so the stacks of all native
threads are written at once, even while a call holds the GIL. The sampler notices that the file has
grown and adds the greenlets. They are read where they cannot switch meanwhile: in the hub's thread,
or, while that is blocked, in the sampler's. Frames are read, values are not.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import time

try:  # unlike those of `os`, these functions are not patched
    import posix as _system
except ImportError:  # pragma: no cover - no POSIX
    import nt as _system  # type: ignore[no-redef]

from gblock.probing import frames
from gblock.probing.stacks import HERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Iterable
    from typing import Any

    from gblock.probing.record import Recorder
    from gblock.probing.settings import Settings

WANTED = ".stacks.wanted"
"""The ending of the file that asks, instead of `.jsonl`."""
_PAUSE = 0.5
"""Seconds between two looks for a request."""
_REST = 2.0
"""Seconds between two answers: walking the heap holds the GIL."""
_PATIENCE = 0.3
"""Seconds after which the hub's thread counts as blocked."""
_GREENLETS = 2000
_STACKS = 200
"""The number of different stacks that are written."""
_DEPTH = 50
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_NOFOLLOW", 0)


class Dump:
    """Answers requests for the stacks of all greenlets."""

    def __init__(self, settings: Settings, recorder: Recorder) -> None:
        """Create it without opening a file or registering a signal."""
        self._settings = settings
        self._recorder = recorder
        self._handle = -1
        self._size = 0
        self._looked = self._answered = float("-inf")
        self._asked: float | None = None

    def arm(self) -> None:
        """Open the file and register the signal; again in a child after a fork."""
        if self._handle > 2:
            _system.close(self._handle)
        self._handle = self._open()
        self._size = self._length()
        self._asked = None
        number = self._settings.stacks
        if number > 0:
            # The default of a signal without a handler is to end the process.
            chained = signal.getsignal(number) not in (signal.SIG_DFL, signal.SIG_IGN)
            faulthandler.register(number, self._handle, all_threads=True, chain=chained)

    def disarm(self) -> None:
        """Restore the signal and close the file."""
        if self._settings.stacks > 0:
            faulthandler.unregister(self._settings.stacks)
        if self._handle > 2:
            _system.close(self._handle)
        self._handle = -1

    def look(self, hub: Any) -> None:
        """Answer a request, if there is one; the sampler calls this after each sample."""
        now = time.perf_counter()
        if self._asked is not None:
            if now - self._asked > _PATIENCE:
                self._asked = None
                self._answer(hub)
            return
        if now - self._looked < _PAUSE:
            return
        self._looked = now
        if self._is_wanted() and now - self._answered > _REST:
            self._asked = now
            hub.loop.run_callback_threadsafe(self._answer_once, hub)

    def _answer_once(self, hub: Any) -> None:
        """Answer in the hub's thread, unless the sampler has answered."""
        if self._asked is None:
            return
        self._asked = None
        try:
            self._answer(hub)
        except Exception as error:  # noqa: BLE001 - an exception would reach the hub
            self._recorder.warn(f"no stacks: {type(error).__name__}")

    def _is_wanted(self) -> bool:
        if self._settings.stacks > 0 and self._handle > 2 and self._length() > self._size:
            return True
        if self._recorder.path is None:
            return False
        path = self._recorder.path.removesuffix(".jsonl") + WANTED
        try:
            _system.unlink(path)
        except OSError:
            return False
        return True

    def _answer(self, hub: Any) -> None:
        text = described(_greenlets(), hub.thread_ident)
        if self._handle > 2 and self._length() > self._settings.max_bytes:
            _system.ftruncate(self._handle, 0)
        _system.write(max(self._handle, 2), text.encode("utf-8", "backslashreplace"))
        self._size = self._length()
        self._answered = time.perf_counter()

    def _length(self) -> int:
        return _system.fstat(self._handle).st_size if self._handle > 2 else 0

    def _open(self) -> int:
        if self._recorder.path is None:
            return 2
        path = self._recorder.path.removesuffix(".jsonl") + ".stacks.txt"
        try:
            return _system.open(path, _FLAGS, 0o600)
        except FileNotFoundError:
            try:
                _system.mkdir(os.path.dirname(path), 0o700)
                return _system.open(path, _FLAGS, 0o600)
            except OSError:
                return 2
        except OSError:
            return 2


def described(greenlets: Iterable[Any], thread: int) -> str:
    """Return the stacks of a hub's thread and of greenlets, equal ones once.

    Args:
        greenlets: Greenlets of any thread.
        thread: The identifier of the hub's thread.
    """
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    lines = [f"gblock: stacks of process {os.getpid()} at {moment}"]
    lines += ["", "the hub's thread runs:", *_lines(frames.of_thread(thread)[0])]
    stacks: dict[tuple[str, ...], int] = {}
    number = 0
    for each in greenlets:
        number += 1
        found = frames.of_greenlet(each) if number <= _GREENLETS else []
        if not found:
            continue  # it has not started, has ended, or runs
        stack = tuple(_lines(found))
        if stack in stacks or len(stacks) < _STACKS:
            stacks[stack] = stacks.get(stack, 0) + 1
    for stack, times in sorted(stacks.items(), key=lambda item: -item[1]):
        lines += ["", f"{times} greenlet{'s' if times > 1 else ''}:", *stack]
    shown = sum(stacks.values())
    lines += ["", f"{number} greenlets, {shown} of them suspended and shown", "", ""]
    return "\n".join(lines)


def _lines(found: list[types.FrameType]) -> list[str]:
    """Return one line for each frame, the innermost first."""
    lines = [
        f"  {frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        for frame in found
        if not frame.f_code.co_filename.startswith(HERE)
    ]
    return lines[:_DEPTH]


def _greenlets() -> list[Any]:
    """Return the living greenlets; this walks the heap."""
    base = sys.modules["greenlet"].greenlet
    kinds: dict[type, bool] = {}
    found = []
    for each in gc.get_objects():
        kind = type(each)
        is_greenlet = kinds.get(kind)
        if is_greenlet is None:
            is_greenlet = kinds[kind] = issubclass(kind, base)
        if is_greenlet:
            found.append(each)
    return found
