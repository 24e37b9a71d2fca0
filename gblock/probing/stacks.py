"""Record stacks, and distinguish the places at which a thread was seen during one block."""

from __future__ import annotations

import json
import os
import sys

from gblock.probing import callee, suspects, verdict
from gblock.probing.frames import DEPTH
from gblock.probing.record import CallSite, plain
from gblock.probing.route import route

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Sequence

    from gblock.probing.frameless import Line
    from gblock.probing.record import Frame

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
"""The directory of gblock: its code in a host is never the host's own code."""
_STACKS = 32
"""The number of different stacks that are distinguished during one block."""
_DEPTH = 64
_SPOTS = 4
"""The number of instructions of one stack that are distinguished."""
_ELSEWHERE = -2
"""The key for all other instructions."""
_CANDIDATES = 6


class Spot:
    """One instruction at which a stack was seen, with times."""

    __slots__ = (
        "begins",
        "busy",
        "held",
        "is_call",
        "longest",
        "seconds",
        "site",
        "slept",
        "suspicion",
        "undisturbed",
        "went_on",
        "worked",
    )  # fmt: skip

    def __init__(self, site: CallSite, *, is_call: bool, begins: bool = False) -> None:
        """Create a spot without any time."""
        self.site = site
        self.is_call = is_call
        self.begins = begins
        self.suspicion: suspects.Suspicion | None = None
        self.seconds = 0.0
        self.slept = 0.0
        """The time for which the thread was proven to wait here."""
        self.worked = 0.0
        """The time for which it was seen here, in both samples with the GIL free."""
        self.went_on = verdict.Indications()
        """The samples at which it ran on here, or not, while the sampler held the GIL."""
        self.undisturbed = verdict.Indications()
        """The samples before which no thread waited for the GIL, or one did."""
        self.held = 0.0
        """The time for which the GIL was proven to be held until the thread was seen here."""
        self.longest = 0.0
        """The longest of these times without a break: others may be those of other calls here."""
        self.busy = 0.0
        """Seconds on a CPU, or in the run queue, meanwhile."""

    @property
    def free(self) -> float:
        """The time for which the thread was proven to be inside a call that released the GIL."""
        has_lasted = self.went_on.is_proof or self.undisturbed.is_proof
        return self.slept + (self.worked if has_lasted else 0.0)

    @property
    def seen(self) -> verdict.Seen:
        """Return the measurements for this place, as plain values."""
        suspicion = self.suspicion
        return verdict.Seen(
            self.seconds,
            self.free,
            self.longest,
            is_call=self.is_call and not self.site.is_of_gevent,
            is_sole=suspicion is not None and suspicion.is_sole,
            is_temporary=suspicion is not None and suspicion.temporary,
            is_idle=(
                self.held > 0
                and self.busy < self.held / 5
                and suspicion is not None
                and suspicion.computes
            ),
            is_inside=(
                bool(self.site.entered)
                and not self.site.is_of_gevent
                and suspicion is not None
                and suspicion.is_inside
            ),
        )

    def site_of(self, sure: str) -> CallSite:
        """Return the site with the names that are proven.

        Args:
            sure: The confidence, one of `verdict`'s words.
        """
        suspicion = self.suspicion
        if sure == verdict.EXACT:
            is_known = suspicion is None or not suspicion.others or self.free >= self.held
            is_known = is_known or self.seen.is_idle
            return self.site if is_known else self.site.without_callable()
        if self.begins and self.held >= self.free:
            # What held the GIL was over when this function was entered.
            return self.site.without_names().of_caller()
        return self.site.without_names()


class Stack:
    """One stack that was seen during a block, with times."""

    __slots__ = ("base", "codes", "now", "root", "route", "seconds", "spots")

    def __init__(self, root: str, last: int, spot: Spot) -> None:
        """Create a stack at one instruction."""
        self.root = root
        self.codes: list[types.CodeType] = []
        """Its code, which is kept so that the identities by which it is known stay its own."""
        self.route: str | None = None
        """The route or the task that it serves, if the probe was asked for it."""
        self.base = 0
        """The identity of the outermost frame, which lives as long as the greenlet runs."""
        self.now = spot
        """The place where it was seen last."""
        self.spots = {last: spot}
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Add time to the place where it was seen last."""
        self.seconds += seconds
        self.now.seconds += seconds


def chosen(known: dict[object, Stack], duration: float) -> tuple[Stack | None, Spot | None]:
    """Return the stack and the instruction to blame for a block of some seconds.

    This is the place at which the thread was proven to be for half of the block, or else the place
    where it was seen for most of the time.
    """
    spots = [(stack, spot) for stack in known.values() for spot in stack.spots.values()]
    if not spots:
        return None, None
    stack, spot = max(spots, key=lambda pair: pair[1].free + pair[1].held)
    if spot.free + spot.held < duration / 2:
        stack = max(known.values(), key=lambda each: each.seconds)
        spot = max(stack.spots.values(), key=lambda each: each.seconds)
    return stack, spot


def candidates(stacks: dict[object, Stack]) -> list[str]:
    """Return the names of what may have blocked, the longest seen first."""
    spots = [spot for stack in stacks.values() for spot in stack.spots.values()]
    spots.sort(key=lambda spot: -spot.seconds)
    names: dict[str, None] = {}
    for spot in spots:
        if spot.site.symbol and spot.is_call:
            names[spot.site.symbol] = None
        for name in spot.suspicion.names if spot.suspicion is not None else ():
            names[plain(callee.symbol(name))] = None
    return list(names)[:_CANDIDATES]


class UserCode:
    """Distinguish the user's own code from that of libraries, and record stacks."""

    def __init__(self, user: tuple[str, ...], *, routes: bool = False) -> None:
        """Find the standard library.

        Args:
            user: Paths of the user's own code, wherever it is installed.
            routes: True to look for the route or the task of each stack.
        """
        self._user = user
        self._routes = routes
        self._standard = tuple(
            {
                os.path.join(os.path.dirname(os.path.abspath(module)), "")
                for module in (os.__file__, json.__path__[0])
            }
        )
        self._scripts = os.path.join(sys.prefix, "bin", "")
        try:
            self._directory = os.getcwd()
        except OSError:
            self._directory = "/"  # it was removed
        self._known: dict[str, tuple[str, bool]] = {}

    def place(self, file: str) -> tuple[str, bool]:
        """Return the absolute path of a file of code, and whether it is the user's."""
        known = self._known.get(file)
        if known is None:
            if len(self._known) > 5000:
                self._known.clear()
            path = file
            if not file.startswith("<"):
                path = os.path.normpath(os.path.join(self._directory, file))
            known = self._known[file] = (plain(path), self._is_user(path))
        return known

    def _is_user(self, path: str) -> bool:
        if path.startswith("<"):
            return path in ("<stdin>", "<string>")
        if path.startswith(self._user) and self._user:
            return True
        if "/site-packages/" in path or "/dist-packages/" in path:
            return False
        return not path.startswith((*self._standard, self._scripts, HERE))

    def stack(
        self,
        known: dict[object, Stack],
        frames: Sequence[types.FrameType],
        hub_code: types.CodeType,
        *,
        is_late: bool,
    ) -> Stack | None:
        """Return the known stack of a frame, or a new one.

        Args:
            known: The stacks seen during the block; a new one is added.
            frames: The frames of the hub's thread, the innermost first.
            hub_code: The code of the hub's own greenlet.
            is_late: Whether the sample had to wait for the GIL, so that its holder matters.
        """
        if not frames:
            return None
        frame = frames[0]
        caller = frames[1] if len(frames) > 1 else None
        codes = [each.f_code for each in frames]
        # To hash a code object takes as long as to read it, so its identity is the key.
        key = tuple(map(id, codes[:_DEPTH]))
        found = known.get(key)
        if found is None:
            if len(known) >= _STACKS:
                return next(iter(known.values()))
            root = codes[-1]
            is_main = root.co_name == "<module>"
            name = "Hub" if root is hub_code else "main" if is_main else code_name(root)
            if len(frames) >= DEPTH:
                name = "?"  # the outermost function was not read
            found = known[key] = Stack(name, frame.f_lasti, self._spot(frames))
            found.codes = codes
            found.base = id(frames[-1])
            if self._routes:
                found.route = route(frames)
        last = frame.f_lasti
        if last not in found.spots and len(found.spots) >= _SPOTS:
            last = _ELSEWHERE
        spot = found.spots.get(last)
        if spot is None:
            if last == _ELSEWHERE:
                spot = Spot(found.now.site.without_names(), is_call=False)
            else:
                spot = self._spot(frames)
            found.spots[last] = spot
        if is_late and last != _ELSEWHERE:
            # By the current meaning of the names: the late sample counts.
            suspicion = suspects.suspects(frame, caller)
            if spot.suspicion is None or not suspicion.is_sole:
                spot.suspicion = suspicion
        found.now = spot
        return found

    def frameless(self, name: str | None, lines: list[Line]) -> Stack:
        """Return the stack of a C function without a frame, with the origin of its greenlet."""
        site = CallSite()
        site.callable = name
        site.spawned = bool(lines)
        for code, line in lines:
            path, own = self.place(code.co_filename)
            site.frames.append((path, "", line, code_name(code), own))
            if own and site.user is None:
                site.user = site.frames[-1]
        site.frames.reverse()
        root = (name or "?").rpartition(".")[2]
        return Stack(root, -1, Spot(site, is_call=name is not None))

    def _spot(self, frames: Sequence[types.FrameType]) -> Spot:
        site = CallSite()
        stack: list[Frame] = []
        frame = frames[0]
        for each in frames[:_DEPTH]:
            code = each.f_code
            path, own = self.place(code.co_filename)
            module = dict.get(each.f_globals, "__name__")
            name = plain(module, 200) if type(module) is str else ""
            stack.append((path, name, each.f_lineno or code.co_firstlineno, code_name(code), own))
            if own and site.user is None:
                site.user = stack[-1]
        called, is_call = callee.callable_at(frame)
        site.callable = plain(called) if called is not None else None
        # The function through which the innermost package was entered.
        if not stack[0][4]:
            package = stack[0][1].partition(".")[0]
            entered = frame
            for each, (_, module, _, _, own) in zip(frames, stack, strict=False):
                if own or module.partition(".")[0] != package:
                    break
                entered = each
            site.entered = callee.function_name(entered)
            del entered, each
        stack.reverse()
        site.frames = stack
        return Spot(site, is_call=is_call, begins=callee.begins(frame))


def code_name(code: types.CodeType) -> str:
    """Return a function's qualified name, or its plain name before Python 3.11."""
    return plain(getattr(code, "co_qualname", code.co_name), 200)
