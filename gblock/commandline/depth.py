"""How deep expressions and statements may nest in a file that is checked.

Python's own limit, 1000 calls, is reached by 250 ``elif`` or 250 chained calls, which CPython
compiles without trouble. How many calls are safe depends on the stack of the main thread.
"""

from __future__ import annotations

import sys

_BYTES = 1000
"""Of the stack that one call takes at most: Python 3.10 takes about 600 for each."""
_MOST = 10_000
"""Calls: enough for any file that CPython compiles, and no use of a larger stack."""


class Depth:
    """Allows as many nested calls as the stack holds, and restores the limit at its end."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._before, min(_MOST, _stack() // _BYTES)))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self._before)


def _stack() -> int:
    """Return the bytes of the main thread's stack, 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    size, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return size if size != resource.RLIM_INFINITY else _MOST * _BYTES
