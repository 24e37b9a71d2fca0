"""A watchdog: `faulthandler` writes all stacks if the timer is not reset in time.

It is C code that needs no GIL, so it shows the place of a call that never releases it. There is
only one timer for the whole process, so it is off by default.
"""

from __future__ import annotations

import faulthandler
import os
import time

try:  # unlike those of `os`, these functions are not patched
    import posix as _system
except ImportError:  # pragma: no cover - no POSIX
    import nt as _system  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.probing.record import Recorder
    from gblock.probing.settings import Settings

_NEVER = float("-inf")
"""The clock starts with the machine: 0.0 may be less than half a bound ago."""


class Watchdog:
    """Resets faulthandler's timer at most twice per bound."""

    def __init__(self, settings: Settings, recorder: Recorder) -> None:
        """Create a watchdog whose timer is due."""
        self._bound = settings.watchdog
        self._max_bytes = settings.max_bytes
        self._recorder = recorder
        self._handle = -1
        self._fed = _NEVER

    def feed(self) -> None:
        """Reset the timer, if it is time."""
        now = time.perf_counter()
        if now - self._fed < self._bound / 2:
            return
        self._fed = now
        if self._handle < 0:
            self._handle = self._open()
        elif self._handle > 2 and _system.fstat(self._handle).st_size > self._max_bytes:
            _system.ftruncate(self._handle, 0)  # the last stacks matter most
        faulthandler.dump_traceback_later(self._bound, file=self._handle)

    def after_fork(self) -> None:
        """Close the parent's file; the timer does not survive a fork."""
        if self._handle > 2:
            _system.close(self._handle)
        self._handle = -1
        self._fed = _NEVER

    def stop(self) -> None:
        """Cancel the timer."""
        faulthandler.cancel_dump_traceback_later()
        if self._handle > 2:
            _system.close(self._handle)
        self._handle = -1

    def _open(self) -> int:
        if self._recorder.path is None:
            return 2
        path = self._recorder.path.removesuffix(".jsonl") + ".stacks.txt"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            return _system.open(path, flags, 0o600)
        except OSError:
            return 2
