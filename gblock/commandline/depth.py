"""The recursion limit during a check, which bounds the nesting depth of checked files.

250 ``elif`` or 250 chained calls, which CPython compiles, already reach Python's default limit of
1000 calls. The safe number of calls depends on the main thread's stack.
"""

from __future__ import annotations

import sys

_BYTES = 1000
"""Of the stack that one call takes at most: Python 3.10 takes about 600 for each."""
_CALLS_LIMIT = 10_000
"""Calls: enough for any file that CPython compiles, and no use of a larger stack."""


class Depth:
    """Raises the recursion limit to what the stack can hold, and restores it at the end."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._before, min(_CALLS_LIMIT, _stack() // _BYTES)))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self._before)


def _stack() -> int:
    """Return the size of the main thread's stack in bytes, 0 if unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    size, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return size if size != resource.RLIM_INFINITY else _CALLS_LIMIT * _BYTES
