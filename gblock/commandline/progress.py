"""A progress line for long runs, on a terminal."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# Seconds before the first line, and between two lines.
_PATIENCE = 1.0
_INTERVAL = 0.1


class Progress:
    """Called with each file that is done; draws at most ten times a second."""

    def __init__(self, stream: TextIO) -> None:
        """Start the clock."""
        self._stream = stream
        self._next = time.monotonic() + _PATIENCE
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Draw the line if the interval has passed."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        self._drawn = True
        self._stream.write(f"\r\x1b[KChecking {done:,} of {total:,} files")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the line from the screen."""
        if self._drawn:
            self._drawn = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()
