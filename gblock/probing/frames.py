"""Read a stack in one step, so that it cannot change or vanish meanwhile.

Another thread's frames are valid as long as this thread holds the GIL. The interpreter may release
it between two bytecodes, and CPython before 3.12 also in the middle of `frame.f_back`: that creates
an object, which may start the garbage collector, which runs Python code. If the frame's greenlet
ends or switches meanwhile, `f_back` reads memory that was freed, and the process crashes. So the
whole walk is one call of C code, during which the collector is off. That nothing between `disable`
and `enable` runs bytecode also means that no other thread can see the collector disabled.
"""

from __future__ import annotations

import gc
import sys
from itertools import accumulate, chain, compress, islice, repeat, starmap, takewhile, tee
from operator import attrgetter, methodcaller, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Iterable, Iterator
    from typing import Any

DEPTH = 500
"""The number of frames that are read of one stack."""
_ONCE: tuple[tuple[()]] = ((),)
_current: Any = sys._current_frames  # noqa: SLF001 - there is no other way to see a thread's frame
_NONE: tuple[dict[int, Any]] = ({},)
_top = attrgetter("gr_frame")


def _interpreters() -> Any:
    """Return the function that lists all interpreters of the process, None if not needed.

    Since CPython 3.12 another interpreter may have a GIL of its own. `sys._current_frames` also
    reads the threads of such an interpreter, while they run, and corrupts the memory of both.
    """
    if sys.version_info < (3, 12):
        return None
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name).list_all
        except (ImportError, AttributeError):
            continue
    return None  # nor has the host's Python code a way to create one


_list = _interpreters()


def of_thread(ident: int) -> tuple[list[types.FrameType], int]:
    """Return the frames of a thread, the innermost first, and the number of all threads.

    The number is 0, and there are no frames, while the process has other interpreters.
    """
    once: Iterable[tuple[()]] = _ONCE
    if _list is not None:
        # In the same call of C code: no interpreter is created between the question and the walk.
        once = compress(_ONCE, map((1).__eq__, map(len, starmap(_list, _ONCE))))
    frames, kept = tee(starmap(_current, once))
    top = islice(map(methodcaller("get", ident), chain(frames, _NONE)), 1)
    found = _walked(top, kept)
    return (found[1:], len(found[0])) if found else ([], 0)


def of_greenlet(greenlet: Any) -> list[types.FrameType]:
    """Return the frames of a suspended greenlet, the innermost first; none of another one."""
    found: list[types.FrameType] = _walked(map(_top, (greenlet,)), ())
    return found


def _walked(top: Iterator[Any], more: Iterable[Any]) -> list[Any]:
    """Return some items, and the frames from the top one outwards, in one call of C code.

    Args:
        top: Yields the innermost frame, or None, only when the walk begins; C code.
        more: Items to put before the frames, which are taken when the walk begins.
    """
    was_enabled, is_to_enable = tee(starmap(gc.isenabled, _ONCE))
    walk = takewhile(truth, accumulate(chain(top, repeat("f_back", DEPTH)), getattr))
    steps: list[Any] = []
    try:
        steps.extend(
            chain(
                was_enabled,
                starmap(gc.disable, _ONCE),
                more,
                walk,
                starmap(gc.enable, compress(_ONCE, is_to_enable)),
            )
        )
    except MemoryError:
        if steps[:1] == [True]:
            gc.enable()
        raise
    if steps[0]:
        steps.pop()
    return steps[2:]
