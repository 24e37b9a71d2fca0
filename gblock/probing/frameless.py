"""Name a C function that the hub's thread runs without a Python frame.

`gevent.spawn(os.system, "sync")` and `loop.timer(1).start(native_sleep, 2)` are run by gevent's
compiled code. No list shows which greenlet or watcher runs, so it is searched for among the
youngest objects of the garbage collector, which include those just spawned. Older ones stay
unnamed; walking the whole heap would stop the host. As everywhere, no code of the host runs.
"""

from __future__ import annotations

import functools
import gc
import sys
import types

from gblock.probing import callee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Line = tuple[types.CodeType, int]
    """A function, and one of its lines."""

_OBJECTS_SEARCHED = 50_000
"""Searching this many objects takes two milliseconds; a host may collect more rarely."""
_STACK = 10
_INTERNAL = ("gevent.", "greenlet.")


class Frameless:
    """Find what one hub runs without a frame."""

    def __init__(self, hub: Any) -> None:
        """Find the types of gevent's compiled code; runs in the hub's thread."""
        spawned: Any = sys.modules["gevent"]
        self._greenlet: type = spawned.Greenlet
        raw: Any = next(base for base in type(hub).__mro__ if base.__name__ == "greenlet")
        self._runs = raw.__bool__
        self._parent, self._frame = _getter(raw, "parent"), _getter(raw, "gr_frame")
        self._saved = _getter(raw, "_stack_saved")
        self._spawned = _getter(self._greenlet, "spawning_stack")
        loop = sys.modules.get(type(hub.loop).__module__)
        watcher = getattr(loop, "watcher", None)
        self.is_compiled = isinstance(watcher, type) and _getter(watcher, "callback") is not None
        """True if the loop calls watchers from C, so that their callbacks are invisible."""
        self._watcher: type | None = watcher if self.is_compiled else None
        self._loop, self._callback = _getter(watcher, "loop"), _getter(watcher, "callback")

    def greenlet(self, hub: Any) -> tuple[str | None, list[Line]]:
        """Return the name of the running greenlet's target, and where it was spawned."""
        found: dict[str, list[Line]] = {}
        getters = self._parent, self._frame, self._saved
        if None in getters:
            return None, []
        for each in _young(self._greenlet):
            own = callee.own_dict(each) or {}
            target = own.get("_run")
            # The running one has its stack on the thread's, and no frame.
            if not _is_native(target) or not self._runs(each) or self._parent(each) is not hub:
                continue
            if self._frame(each) is not None or self._saved(each):
                continue
            name = callee.described(target)
            if name is not None and not name.startswith(_INTERNAL):
                found[name] = _lines(self._spawned(each) if self._spawned else None)
        return found.popitem() if len(found) == 1 else (None, [])

    def callback(self, hub: Any) -> str | None:
        """Return the name of the running watcher's callback, if only one is possible."""
        if self._watcher is None or self._loop is None or self._callback is None:
            return None
        names = set()
        for each in _young(self._watcher):
            called = self._callback(each)
            if _is_native(called) and self._loop(each) is hub.loop:
                name = callee.described(called)
                if name is not None and not name.startswith(_INTERNAL):
                    names.add(name)
        return names.pop() if len(names) == 1 else None


def _young(kind: type) -> list[Any]:
    """Return the recently created objects of a type or its subtypes."""
    first, second, _ = gc.get_threshold()
    if gc.get_count()[0] > _OBJECTS_SEARCHED or first * max(second, 1) > _OBJECTS_SEARCHED:
        return []
    # By id, not in a set of types: a type's `__hash__` may be the host's.
    known: dict[int, bool] = {}
    found = []
    for generation in (0, 1):
        for each in gc.get_objects(generation=generation):
            of = type(each)
            is_one = known.get(id(of))
            if is_one is None:
                is_one = known[id(of)] = any(base is kind for base in callee.STATIC_MRO(of))
            if is_one:
                found.append(each)
    return found


def _is_native(target: object) -> bool:
    """Return whether calling it creates no Python frame at once."""
    while type(target) is functools.partial:
        target = target.func
    if type(target) is types.MethodType:
        target = target.__func__
    return target is not None and type(target) is not types.FunctionType


def _getter(cls: object, name: str) -> Any:
    """Return the C function that reads an attribute, or None if the type has no such attribute."""
    for base in getattr(cls, "__mro__", ()):
        found = base.__dict__.get(name)
        if found is not None:
            is_plain = type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType)
            return found.__get__ if is_plain else None
    return None


def _lines(frame: Any) -> list[Line]:
    """Return the lines of a stack that gevent recorded at the spawn, innermost first."""
    lines: list[Line] = []
    while frame is not None and len(lines) < _STACK:
        if type(frame.f_code) is types.CodeType:
            lines.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return lines
