"""Contexts, and the ways to a call: which kind of code runs it, and by which path."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.names.places import Place

HUB, REQUEST, TASK, GREENLET = "hub", "request", "task", "greenlet"
UNKNOWN = "unknown"
STARTUP, SHUTDOWN = "startup", "shutdown"
COMMAND, MIGRATION, TEST = "command", "migration", "test"
NATIVE, OTHER = "native-thread", "other-process"

PROVEN = frozenset({HUB, REQUEST, TASK, GREENLET})
"""Contexts in which a greenlet of a service runs the call."""
NOTED = frozenset({STARTUP, SHUTDOWN})
"""Contexts that are reported as notes."""
IDLE = frozenset({COMMAND, MIGRATION, TEST, OTHER})
"""Contexts that are counted and not reported.

Calls that only ever run in native threads are counted, too, unless they keep the GIL: a native
thread does not help then.
"""


class Step(NamedTuple):
    """One call on a path."""

    path: str
    row: int
    text: str
    """``POST /orders``, ``place()``."""


class Way(NamedTuple):
    """One path through the call graph to a call, and its context."""

    context: str
    steps: tuple[Step, ...]
    """From what starts the code to the function around the call."""
    is_certain: bool
    """True if every step is known by inference, and not by its name alone."""
    is_dead: bool = False
    """True if it begins in a plain function that nothing calls or hands over."""
    is_unused: bool = False
    """True if it begins in a function or method that nothing uses: nothing else has its name, no
    decorator hands it over, and its class has no base through which something may call it; or in a
    thread whose class nothing else names."""
    is_private: bool = False
    """True if nothing uses it, and its name or that of its class begins with an underscore: it is
    not for other code either."""
    is_offered: bool = False
    """True if it begins in a function that something may run which is not followed: a container
    keeps it, a call hands it to other code, a decorator or a base class is of a package, or it is
    made at start-up."""
    begun: Place | None = None
    """The place that starts the greenlet in which it begins, if it begins in one; the function if
    calls of this do, as a decorator has made a wrapper of it."""
    thread: Place | None = None
    """The place that starts the thread of the standard library in which it begins, or that makes
    its object; monkey patching makes a greenlet of the thread."""
    after_patch: bool = False
    """True if it begins in a function that runs after the server has patched, though the file is
    loaded before."""

    def later(self) -> Way:
        """Return the path to a function that another one defines, and that something runs later.

        A handler's own functions run for the same request. What start-up or a command defines,
        anything may run.
        """
        if self.context in PROVEN or self.context == OTHER:
            return self
        return self._replace(context=UNKNOWN, is_certain=False, is_dead=True, is_offered=True)

    def lasting(self) -> Way:
        """Return the path to a method of an object made at start-up and used at any time."""
        if self.context != STARTUP:
            return self
        head = self.steps[0]
        text = f"made by {head.text.removeprefix(STARTUP).strip()}"
        steps = (head._replace(text=text), *self.steps[1:])
        return Way(UNKNOWN, steps, False, is_dead=True, is_offered=True)


class Reached(NamedTuple):
    """The contexts of a call and the paths to it."""

    context: str
    """The strongest."""
    ways: tuple[Way, ...]
    """The strongest first, then the shortest."""

    @property
    def is_unused(self) -> bool:
        """True if every path begins in a function that nothing is known to use."""
        return bool(self.ways) and all(way.is_unused for way in self.ways)

    @property
    def is_private(self) -> bool:
        """True if every path begins in a private function, or class, that nothing uses."""
        return bool(self.ways) and all(way.is_private for way in self.ways)

    @property
    def is_offered(self) -> bool:
        """True if some path begins in a function that something may run which is not followed."""
        return any(way.is_offered for way in self.ways)

    @property
    def is_proven(self) -> bool:
        """True if a greenlet of a service is known to run the call."""
        return self.context in PROVEN and any(
            way.is_certain for way in self.ways if way.context == self.context
        )
