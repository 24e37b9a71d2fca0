"""Room for deeply nested source: Python's default limit stops far below what CPython compiles."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

LIMIT = 12_000
"""Frames: an expression 900 levels deep needs up to 9,000 in libcst. Measured on CPython 3.10 to
3.13, a frame takes less than 0.5 kB of the stack."""
_STACK = 8_000_000
"""Bytes of stack that so many frames may take."""


class Nesting:
    """A block in which code may recurse deeper; the limit is restored at its end.

    It changes nothing in a thread other than the main one, or where the stack is small.
    """

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        if self._before < LIMIT and _has_room():
            sys.setrecursionlimit(LIMIT)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        sys.setrecursionlimit(self._before)


def _has_room() -> bool:
    """Return whether the stack of this thread is large enough."""
    threading = sys.modules.get("threading")  # without it there is one thread
    if threading is not None and threading.current_thread() is not threading.main_thread():
        return False
    try:
        import resource
    except ImportError:  # Windows, where the main thread has 1 MB
        return False
    size = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return size == resource.RLIM_INFINITY or size >= _STACK
