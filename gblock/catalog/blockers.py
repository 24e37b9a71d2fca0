"""Blockers, what bounds or excuses their calls, and the evidence about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from gblock.catalog.tables import CallArgument, Table
from gblock.repairs import KINDS

Kind = Literal["waits", "cpu", "costly", "sends", "spawns", "foreign", "unknown"]
Level = Literal["error", "warning", "opt-in"]
Meaning = Literal["forever", "immediate", "invalid"]
if TYPE_CHECKING:
    FixKind = str
else:
    FixKind = Literal[tuple(name for name, kind in KINDS.items() if kind.is_of_blockers)]
"""The kinds of fixes that a blocker's calls can have: see `gblock.repairs`."""
Verdict = Literal["blocks", "cpu", "cooperative", "immediate"]


class Timeout(CallArgument, frozen=True):
    """An argument that bounds the wait, and the meaning of its values."""

    default: float | None = None
    """The value of a missing argument, in `unit`; None: it waits without limit."""
    unit: Literal["s", "ms"] = "s"
    minimum: float = 0.0
    """Smaller values count as 0, in `unit`."""
    none: Meaning = "forever"
    """The meaning of ``None``."""
    negative: Meaning = "forever"


class Condition(CallArgument, frozen=True):
    """Values of an argument that make the call immediate or cooperative."""

    default: bool | int | float | str | None = None
    """The value of a missing argument."""
    extension_of: CallArgument | None = None
    """The name of a file, whose extension in capitals is the value of a missing argument."""
    values: tuple[bool | int | float | str | None, ...] = ()
    flags: tuple[str, ...] = ()
    """Symbols, one of which is given as the argument, alone or in a ``|``."""
    mask: int = 0
    """The bits of these symbols; an integer matches if it has one of them."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of a string argument."""
    matches: str | None = None
    """A pattern for the whole of a string argument, such as one that names a small cost."""
    composed: str | None = None
    """A pattern for the whole of a text of which parts may be unknown: each of these is one
    character, U+FDD0."""
    max_length: int | None = None
    """The greatest length of a string or bytes argument."""
    at_most: float | None = None
    """The largest number at which the call is still brief, such as a number of hash rounds; of a
    tuple, such as the size of a picture, the largest product of its numbers."""
    types: tuple[str, ...] = ()
    """Classes, one of which the argument is an object of."""
    given: bool = False
    """True if any value but ``None`` matches."""
    written: bool = False
    """True if an argument that only ``**`` may pass is missing, unless the mapping has its key."""


class Upload(CallArgument, frozen=True):
    """An argument, or the receiver, that a file which a client sends may reach."""

    receiver: bool = False
    """True if the file is what the receiver reads: ``page`` of ``fitz.open(stream=data)``."""


class Called(Table, frozen=True):
    """A call elsewhere in the same module that makes a blocker immediate."""

    symbol: str
    values: tuple[bool | int | float | str | None, ...] = ()
    """The values of the argument that match."""
    position: int = 0
    """The argument's position, counted from 0."""
    flags: tuple[str, ...] = ()
    """Symbols, one of which is given as the argument, alone or in a ``|``."""
    of: int | None = None
    """The position of the descriptor that the call changes; None if any object of the module may
    be the changed one."""


class Mentioned(Table, frozen=True):
    """Texts in the project's Python files that show the peer of a blocker."""

    cooperative: tuple[str, ...]
    """Texts that show that the calls are cooperative."""
    blocking: tuple[str, ...] = ()
    """Texts that show that the calls may block nevertheless."""


class Assigned(Table, frozen=True):
    """A value of an attribute of the same object that makes a blocker immediate."""

    attribute: str
    values: tuple[bool | int | float | str | None, ...]


class Ready(Table, frozen=True):
    """A method of the same object whose true result means that a call does not wait."""

    method: str
    """Its name, or an attribute's."""
    result: bool = True
    """True if the result has to be true or false."""


class Evidence(Table, frozen=True):
    """The measurement: the call was run under gevent next to a heartbeat greenlet."""

    version: str | None = None
    """The package's version; CPython's for the standard library."""
    call: str | None = None
    elapsed: float | None = None
    """Duration of the call, in seconds."""
    max_gap: float | None = None
    """The hub's longest gap, in seconds."""
    returned: bool = True
    """False if the call was stopped after `elapsed`."""
    remedy: str | None = None
    remedy_max_gap: float | None = None
    belief: str | None = None
    """A common assumption that the measurement contradicts: one sentence."""
    found: str | None = None
    """Findings beyond the figures, such as those for other versions and builds: sentences."""
    reference: str | None = None
    python: str | None = None
    gevent: str | None = None

    @property
    def measured(self) -> bool:
        """Return whether the evidence has figures, not only a reference."""
        return self.elapsed is not None


class Blocker(Table, frozen=True):
    """One entry: calls that block the hub in the same way, and their remedy."""

    id: str
    distribution: str
    """The name on PyPI, or ``stdlib``."""
    symbols: tuple[str, ...]
    """Dotted names as imported."""
    kind: Kind
    level: Level
    why: str
    instead: str
    """The remedy. ``{call}`` stands for the function as the code spells it: see `remedy`."""
    evidence: Evidence = Evidence()
    """In the built-in catalog only the hand-written part: `measurements` has the figures."""
    versions: str | None = None
    """The versions of the distribution that block."""
    with_gevent: str | None = None
    """The versions of gevent under which it blocks."""
    timeout: Timeout | None = None
    unless: tuple[Condition, ...] = ()
    only: tuple[Condition, ...] = ()
    """Arguments of which a call must have one for sure: the others do not wait, or seldom."""
    uploaded: tuple[Upload, ...] = ()
    """Of an opt-in blocker, what may be a file: a call is reported by default, too, if a client may
    send it. On an object of unknown type such a call is not counted as unresolved."""
    brief: tuple[Condition, ...] = ()
    """Arguments with one of which a call is brief, such as a command that lists a directory."""
    cooperative_after: tuple[str, ...] = ()
    """Symbols; a call of one of them makes the blocker cooperative."""
    blocks_after: tuple[str, ...] = ()
    """Symbols; the blocker is cooperative in a process that calls none of them."""
    patched_by: tuple[str, ...] = ()
    """The modules that gevent's monkey patching must replace, all of them, to make it cooperative:
    it blocks only without the patch; ``queue or threading`` if one of several is enough."""
    needs: tuple[str, ...] = ()
    """The drivers in Python that an ORM may use: where the project lists requirements, and only
    drivers in native code are among them, the patch would not help."""
    captured: bool = False
    """True if the original from ``monkey.get_original`` blocks even after the patch."""
    unless_called: tuple[Called, ...] = ()
    unless_set: tuple[Assigned, ...] = ()
    unless_made: tuple[str, ...] = ()
    """Symbols of calls that make what its calls read, such as hashes of passwords: if the project
    has any, and the arguments of all make them return at once, so do its calls."""
    unless_descriptor_of: tuple[str, ...] = ()
    """Classes whose descriptors never wait: under gevent's patch a socket's call raises at once."""
    unless_descriptor_from: tuple[str, ...] = ()
    """Calls that open files, whose descriptors are always ready."""
    ready_after: tuple[Ready, ...] = ()
    releases_gil: bool | None = None
    """None if not measured."""
    seconds_each: float | None = None
    """For ``costly`` and ``sends``: the time of one call, in seconds."""
    unless_mentioned: Mentioned | None = None
    fix: FixKind | None = None
    """The fix of its calls, None if each call needs a decision of its own."""
    fix_needs: tuple[str, ...] = ()
    """Distributions that have what the fix imports, of which the project must require one; the
    blocker's own if empty."""
    fix_unless: tuple[str, ...] = ()
    """Names that show, in the file of a call, that the fix would change more."""
    common: bool = False
    """True if its methods' names are common: a call on an object of unknown type is not counted as
    unresolved."""
    shared_cause: str = ""
    """The setting or decision that mends all blockers that name it: their calls are one cause."""
    local: bool = False
    """True if it waits for this machine alone, for a program, a file or a bus: mostly briefly, or
    in set-ups and commands."""
    threaded: bool = False
    """True if it waits for a thread of its own, which blocks the hub where monkey patching has made
    it a greenlet, and nowhere else. So does every blocker of the kind ``spawns``."""
    serves: bool = False
    """True if its symbols make a handler of requests, are one or name a table of them: what blocks
    is each request that the handler serves."""
    thread_bound: bool = False
    """True if its objects, or state that it depends on, must stay in the thread that made them:
    then it cannot run in the threadpool."""
    through: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """By symbol, the calls inside of an installed package that lead to what blocks."""

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def is_off(self) -> bool:
        """True if it is off unless selected, whatever its calls are given."""
        return self.level == "opt-in" and not self.uploaded

    def remedy(self, called: str | None = None) -> str:
        """Return the remedy.

        Args:
            called: The function as the code spells it; None if there is no code.
        """
        called = called or (self.symbols[0] if len(self.symbols) == 1 else "f")
        return self.instead.replace("{call}", called)


class Belief(Table, frozen=True):
    """A common assumption about calls that are no blockers, and the measurement."""

    id: str
    distribution: str
    """The name on PyPI, ``stdlib`` or ``gevent``."""
    verdict: Verdict
    evidence: Evidence = Evidence()
    symbols: tuple[str, ...] = ()
    """Dotted names as imported."""
    rule: str | None = None
    """The rule that reports it, if any."""


class Harmless(Table, frozen=True):
    """A compiled distribution without calls that are known to block the hub for long."""

    distribution: str
    why: str
    """The purpose of its compiled code."""
    given: str | None = None
    """An expression for ordinary input, evaluated before the timing; the call uses ``given``."""
    megabytes: float | None = None
    """The size of the call's input in megabytes, for text or bytes."""
    millions: float | None = None
    """The number of elements of the call's input, in millions."""
    evidence: Evidence = Evidence()
