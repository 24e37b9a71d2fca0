"""Load, validate and look up blockers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from gblock import outline
from gblock.errors import UserError, toml_place
from gblock.suggestion import did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["waits", "cpu", "costly", "sends", "spawns", "foreign", "unknown"]
Level = Literal["error", "warning", "opt-in"]
Meaning = Literal["forever", "immediate", "invalid"]
Verdict = Literal["blocks", "cpu", "cooperative", "immediate"]
Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Tables of evidence by kind of block and by the block's id or distribution."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table of the catalog: an unknown key is an error."""


class Timeout(_Table, frozen=True):
    """An argument that bounds the wait, and the meaning of its values."""

    position: int | None = None
    """Counted from 0, without ``self``; None for a keyword-only argument."""
    keyword: str | None = None
    default: float | None = None
    """The value of a missing argument, in `unit`; None: it waits without limit."""
    unit: Literal["s", "ms"] = "s"
    minimum: float = 0.0
    """Smaller values count as 0, in `unit`."""
    none: Meaning = "forever"
    """The meaning of ``None``."""
    negative: Meaning = "forever"


class Condition(_Table, frozen=True):
    """Argument values that make the call immediate or cooperative."""

    position: int | None = None
    keyword: str | None = None
    default: bool | int | float | str | None = None
    """The value of a missing argument."""
    values: tuple[bool | int | float | str | None, ...] = ()
    flags: tuple[str, ...] = ()
    """Symbols, one of which is given as the argument, alone or in a ``|``."""
    mask: int = 0
    """The bits of these symbols; an integer matches if it has one of them."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of a string argument."""
    max_length: int | None = None
    """The greatest length of a string or bytes argument."""
    given: bool = False
    """Whether any value but ``None`` matches."""


class Called(_Table, frozen=True):
    """A call elsewhere in the same module that makes a blocker immediate."""

    symbol: str
    values: tuple[bool | int | float | str | None, ...]
    """The values of the argument that match."""
    position: int = 0
    """The argument's position, counted from 0."""


class Mentioned(_Table, frozen=True):
    """Texts in the project's Python files that show the peer of a blocker."""

    cooperative: tuple[str, ...]
    """Texts that show that the calls are cooperative."""
    blocking: tuple[str, ...] = ()
    """Texts that show that the calls may block nevertheless."""


class Assigned(_Table, frozen=True):
    """A value of an attribute of the same object that makes a blocker immediate."""

    attribute: str
    values: tuple[bool | int | float | str | None, ...]


class Ready(_Table, frozen=True):
    """A method of the same object whose result, where it is tested, says that nothing waits."""

    method: str
    """Its name, or an attribute's."""
    result: bool = True
    """Whether the result has to be true or false."""


class Evidence(_Table, frozen=True):
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
        """Whether the evidence has figures, not only a reference."""
        return self.elapsed is not None


class Blocker(_Table, frozen=True):
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
    timeout: Timeout | None = None
    unless: tuple[Condition, ...] = ()
    cooperative_after: tuple[str, ...] = ()
    """Symbols; a call of one of them makes the blocker cooperative."""
    patched_by: tuple[str, ...] = ()
    """The modules that gevent's monkey patching must replace, all of them, to make it cooperative:
    it blocks only without the patch; ``queue or threading`` if one of several is enough."""
    captured: bool = False
    """Whether the original from ``monkey.get_original`` blocks even after the patch."""
    unless_called: tuple[Called, ...] = ()
    unless_set: tuple[Assigned, ...] = ()
    unless_descriptor_of: tuple[str, ...] = ()
    """Classes whose descriptors never wait: under gevent's patch a socket's call raises at once."""
    unless_descriptor_from: tuple[str, ...] = ()
    """What opens files, whose descriptors are always ready."""
    ready_after: tuple[Ready, ...] = ()
    releases_gil: bool | None = None
    """None if not measured."""
    seconds_each: float | None = None
    """For ``costly`` and ``sends``: the time of one call, in seconds."""
    unless_mentioned: Mentioned | None = None

    def remedy(self, called: str | None = None) -> str:
        """Return the remedy.

        Args:
            called: The function as the code spells it; None if there is no code.
        """
        called = called or (self.symbols[0] if len(self.symbols) == 1 else "f")
        return self.instead.replace("{call}", called)


class Belief(_Table, frozen=True):
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


class ClassArgument(_Table, frozen=True):
    """The argument of a call that names the class of what it gives."""

    position: int | None = None
    keyword: str | None = None


class Library(_Table, frozen=True):
    """The meaning of a package's names, for packages whose source cannot be read."""

    distribution: str
    aliases: dict[str, str] = {}
    bases: dict[str, tuple[str, ...]] = {}
    returns: dict[str, str] = {}
    attributes: dict[str, str] = {}
    elements: dict[str, str] = {}
    decorates: dict[str, str] = {}
    """What a function becomes an instance of that such a decorator stands on."""
    conditions: dict[str, tuple[Condition, ...]] = {}
    """Arguments with which a call returns a type other than `returns` says."""
    chosen: dict[str, ClassArgument] = {}
    """Arguments that name, or create, the class of the object that a call returns."""
    immediate: tuple[str, ...] = ()
    cooperative: tuple[str, ...] = ()
    readiness: tuple[str, ...] = ()
    """Callables that return the objects, or descriptors, that can be read or written at once."""
    awaiting: tuple[str, ...] = ()
    """Callables that return once their argument, an object or a descriptor, is ready."""
    callbacks: tuple[str, ...] = ()
    """Callables that call a function once an object can be read or written at once."""
    distributed_as: tuple[str, ...] = ()
    """Other distributions that contain the same package, or its compiled part."""


class Harmless(_Table, frozen=True):
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


class Offload(_Table, frozen=True):
    """A call that runs a callable in another thread or greenlet."""

    symbol: str
    thread: Literal["native", "greenlet"]
    """``greenlet``: under monkey patching the callable stays in the hub's thread."""
    argument: int | None = None
    keyword: str | None = None
    method: str | None = None
    """The method of a subclass that runs there: a thread's ``run``."""
    returns_callable: bool = False
    """Whether the call returns a function that runs the argument, instead of running it."""


class Choice(_Table, frozen=True):
    """Strings of one language that choose a driver."""

    language: str
    """The reader of the string: a chooser's name for the language."""
    names: tuple[str, ...]
    """URL schemes, or whole names."""
    rivals: tuple[str, ...] = ()
    """Distributions that the string may mean instead, if the project requires them."""
    rival_first: bool = False
    """Whether a rival is chosen even if the project also requires the driver."""


class Driver(_Table, frozen=True):
    """A driver that a string in the configuration chooses: every query calls a blocker."""

    id: str
    distribution: str
    """The name on PyPI, or ``stdlib``."""
    level: Level
    why: str
    instead: str
    chosen_by: tuple[Choice, ...]
    evidence: Evidence
    requires: tuple[str, ...] = ()
    """The names in dependency lists, if they differ from `distribution`."""
    blocker: str | None = None
    """The id of the blocker that a query calls: its remedies apply to the driver, too."""
    unless_written: str | None = None
    """A pattern for an option that makes the driver cooperative."""
    harmless: str | None = None
    """A pattern for strings that choose the driver without any wait."""


class Reading(_Table, frozen=True):
    """An argument that is read as a driver string."""

    symbol: str
    position: int | None = None
    keyword: str | None = None
    form: Literal["url", "name", "either"] = "url"
    key: str | None = None
    """For a dict argument: the key of the string."""
    unless: tuple[str, ...] = ()
    """Keywords that override the string."""


class Setting(_Table, frozen=True):
    """A name in the configuration whose value is read as a driver string."""

    name: str
    form: Literal["url", "name", "either"] = "url"
    key: str | None = None
    """For nested dicts: the key of the string."""
    nested: bool = False
    """Whether the strings are the values of a dict."""


class Chooser(_Table, frozen=True):
    """A library that chooses a driver by a string, and the places it reads the string from."""

    distribution: str
    language: str
    imports: tuple[str, ...]
    """Packages; a project that uses the library imports one of them."""
    prefixes: tuple[str, ...] = ()
    """Prefixes before the scheme, such as ``db+``."""
    readings: tuple[Reading, ...] = ()
    settings: tuple[Setting, ...] = ()


class Handler(_Table, frozen=True):
    """A decorator for functions that run once for each task or request."""

    symbol: str
    runs: Literal["task", "request"]


Context = Literal[
    "hub",
    "request",
    "task",
    "greenlet",
    "startup",
    "shutdown",
    "command",
    "migration",
    "test",
    "native-thread",
    "other-process",
]
"""The context in which an entry runs its code."""


class Argument(_Table, frozen=True):
    """A function that takes an entry point as an argument."""

    symbol: str
    position: int | None = None
    """The position of the argument, from 0."""
    keyword: str | None = None


class Entry(_Table, frozen=True):
    """A pattern for functions that a framework, a server or a person starts.

    A function is an entry by its decorator, by its class and name, by the argument that it is
    passed as, or, in a file of a certain name, by its own name.
    """

    framework: str
    """The distribution that starts it; ``python`` if no framework is needed."""
    context: Context
    imports: tuple[str, ...] = ()
    """Packages; a project that uses it mentions one. The default is the distribution's name."""
    decorators: tuple[str, ...] = ()
    """Dotted names; ``*`` matches any part of a name."""
    arguments: tuple[Argument, ...] = ()
    bases: tuple[str, ...] = ()
    """Dotted names of classes; ``*`` matches any part of a name."""
    methods: tuple[str, ...] = ()
    """Names of methods of these classes; ``*`` matches any part of a name."""
    parameters: tuple[str, ...] = ()
    """The names of the last parameters, such as those of a WSGI callable."""
    files: tuple[str, ...] = ()
    """Patterns of paths below the project's directory."""
    functions: tuple[str, ...] = ()
    """Names of functions in these files; all code of the files if empty."""


class Original(_Table, frozen=True):
    """The effect of monkey patching on a name of the standard library that was bound before."""

    symbol: str
    patch: str
    """The part of ``patch_all`` that replaces it: ``time``, ``socket``, ``threading`` …"""
    level: Literal["error", "warning"]
    why: str
    evidence: Evidence
    kept: bool = True
    """Whether the name itself is stale: ``from time import sleep``."""
    made: bool = False
    """Whether objects made by it are stale: ``lock = threading.Lock()``."""


class Import(_Table, frozen=True):
    """The effect of importing a module on the names of the standard library."""

    module: str
    """Its dotted name; submodules have the same effect."""
    evidence: Evidence
    keeps: tuple[str, ...] = ()
    """The originals that it binds; later patches do not replace them there."""
    patches: bool = False
    """Whether the import itself applies all monkey patches."""


class _Head(_Table, frozen=True, rename={"measured_on": "measured-on"}):
    measured_on: dict[str, str] = {}


_SHAPES: dict[str, Any] = {
    "library": Library,
    "offload": Offload,
    "handler": Handler,
    "entry": Entry,
    "blocker": Blocker,
    "original": Original,
    "import": Import,
    "belief": Belief,
    "harmless": Harmless,
    "driver": Driver,
    "chooser": Chooser,
}


class Catalog:
    """Blockers, libraries and offloads, looked up by symbol."""

    def __init__(
        self,
        blockers: tuple[Blocker, ...],
        libraries: tuple[Library, ...] = (),
        offloads: tuple[Offload, ...] = (),
        handlers: tuple[Handler, ...] = (),
        measured_on: dict[str, str] | None = None,
        off: tuple[Blocker, ...] = (),
        beliefs: tuple[Belief, ...] = (),
        harmless: tuple[Harmless, ...] = (),
        texts: tuple[outline.Outline, ...] = (),
        looked_for: Callable[[Driver], bool] | None = None,
    ) -> None:
        self.blockers = blockers
        self.libraries = libraries
        self.offloads = offloads
        self.handlers = handlers
        self.measured_on = measured_on or {}
        self.off = off
        """Blockers that are not reported; their conditions still help to infer types."""
        self.beliefs = beliefs
        self.harmless = harmless
        self.texts = texts
        """The files of the catalog; parts that few runs need are parsed on demand."""
        self._looked_for = looked_for
        self._canonical: dict[str, str] = {}

    @cached_property
    def originals(self) -> dict[str, Original]:
        """The names that are stale if bound before monkey patching, by symbol.

        Raises:
            UserError: if a block is wrong.
        """
        return {one.symbol: one for one in self._on_demand("original")}

    @cached_property
    def imports(self) -> dict[str, Import]:
        """The modules whose import affects monkey patching, by name.

        Raises:
            UserError: if a block is wrong.
        """
        return {one.module: one for one in self._on_demand("import")}

    @cached_property
    def by_symbol(self) -> dict[str, tuple[Blocker, ...]]:
        """Blockers by each of their symbols, in canonical spelling."""
        found: dict[str, tuple[Blocker, ...]] = {}
        for blocker in self.blockers:
            for symbol in blocker.symbols:
                name = self.canonical(symbol)
                found[name] = (*found.get(name, ()), blocker)
        return found

    @cached_property
    def by_id(self) -> dict[str, Blocker]:
        """Blockers by id."""
        return {blocker.id: blocker for blocker in self.blockers}

    @cached_property
    def offload_by_symbol(self) -> dict[str, Offload]:
        """Offloads by symbol, in canonical spelling."""
        return {self.canonical(offload.symbol): offload for offload in self.offloads}

    @cached_property
    def _aliases(self) -> dict[str, str]:
        found = {k: v for library in self.libraries for k, v in library.aliases.items()}
        for alias, name in list(found.items()):
            # Code is resolved name by name, so a prefix may already have its canonical spelling.
            owner, dot, last = alias.rpartition(".")
            while owner:
                if owner in found and owner != name:
                    found.setdefault(found[owner] + dot + last, name)
                owner, _, part = owner.rpartition(".")
                last = f"{part}.{last}"
        return found

    def canonical(self, symbol: str) -> str:
        """Return the catalog's spelling of a dotted name, or the name itself."""
        known = self._canonical.get(symbol)
        if known is not None:
            return known
        result = symbol
        for _ in range(8):  # aliases of aliases; the limit ends a cycle
            head, tail = result, ""
            while head:
                if head in self._aliases:
                    break
                head, _, last = head.rpartition(".")
                tail = f".{last}{tail}"
            if not head:
                break
            result = self._aliases[head] + tail
        self._canonical[symbol] = result
        return result

    @cached_property
    def bases(self) -> dict[str, tuple[str, ...]]:
        """The base classes of each class, canonical."""
        return {
            self.canonical(name): tuple(self.canonical(base) for base in bases)
            for library in self.libraries
            for name, bases in library.bases.items()
        }

    def _merged(self, key: str) -> dict[str, str]:
        return {
            self.canonical(name): value if value == "self" else self.canonical(value)
            for library in self.libraries
            for name, value in getattr(library, key).items()
        }

    @cached_property
    def returns(self) -> dict[str, str]:
        """The type that a call of each symbol returns; ``self`` is the receiver."""
        return self._merged("returns")

    @cached_property
    def chosen(self) -> dict[str, ClassArgument]:
        """The argument that names the class of what a call gives."""
        return {
            self.canonical(symbol): argument
            for library in self.libraries
            for symbol, argument in library.chosen.items()
        }

    @cached_property
    def attributes(self) -> dict[str, str]:
        """The type of each instance attribute."""
        return self._merged("attributes")

    @cached_property
    def elements(self) -> dict[str, str]:
        """The type of the elements that iterating an instance yields."""
        return self._merged("elements")

    @cached_property
    def decorates(self) -> dict[str, str]:
        """What a decorated function is an instance of, by the decorator."""
        return self._merged("decorates")

    @cached_property
    def cooperative(self) -> frozenset[str]:
        """Symbols, and prefixes of symbols, that were measured as cooperative."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.cooperative
        )

    @cached_property
    def immediate(self) -> frozenset[str]:
        """Symbols that were measured and return at once."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.immediate
        )

    @cached_property
    def readiness(self) -> frozenset[str]:
        """Symbols that return which objects are ready."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.readiness
        )

    @cached_property
    def awaiting(self) -> frozenset[str]:
        """Symbols that return once what they are given is ready."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.awaiting
        )

    @cached_property
    def callbacks(self) -> frozenset[str]:
        """Symbols that call a function once an object is ready."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.callbacks
        )

    @cached_property
    def _handlers(self) -> dict[str, str]:
        return {self.canonical(handler.symbol): handler.runs for handler in self.handlers}

    def handler_of(self, symbol: str) -> str:
        """Return ``task`` or ``request`` for a decorator of handlers, else an empty string."""
        owner, _, name = self.canonical(symbol).rpartition(".")
        for base in self.lineage(owner):
            found = self._handlers.get(f"{base}.{name}")
            if found:
                return found
        return ""

    @cached_property
    def classes(self) -> frozenset[str]:
        """Dotted names that the catalog shows to be classes."""
        found = set(self.bases) | {value for value in self.returns.values() if value != "self"}
        found.update(self.attributes.values(), self.elements.values(), self.elements)
        for bases in self.bases.values():
            found.update(bases)
        named = (self.by_symbol, self.returns, self.attributes, self.offload_by_symbol)
        for symbol in (*(one for table in named for one in table), *self.readiness):
            owner = symbol.rpartition(".")[0]
            if "." in owner and owner.rpartition(".")[2][:1].isupper():
                found.add(owner)
        return frozenset(found)

    def lineage(self, name: str) -> list[str]:
        """Return a class and its bases, nearest first, without duplicates."""
        order = [name]
        for class_name in order:
            order.extend(base for base in self.bases.get(class_name, ()) if base not in order)
        return order

    def lookup(self, symbol: str) -> tuple[Blocker, ...]:
        """Return the blockers of a dotted name; a method is looked up along its class's bases."""
        symbol = self.canonical(symbol)
        found = self.by_symbol.get(symbol)
        if found:
            return found
        owner, _, name = symbol.rpartition(".")
        for base in self.lineage(owner):
            found = self.by_symbol.get(f"{base}.{name}") or self.by_symbol.get(f"{base}.*")
            if found:
                return found
        return self._lookup_whole(symbol) if self._whole else ()

    @cached_property
    def _whole(self) -> dict[str, tuple[Blocker, ...]]:
        """Return the blockers of whole packages, ``package.**``, by package."""
        return {
            symbol[: -len(".**")]: found
            for symbol, found in self.by_symbol.items()
            if symbol.endswith(".**")
        }

    def _lookup_whole(self, symbol: str) -> tuple[Blocker, ...]:
        owners = (symbol[:at] for at, c in enumerate(symbol) if c == ".")
        return next((self._whole[owner] for owner in owners if owner in self._whole), ())

    @cached_property
    def drivers(self) -> tuple[Driver, ...]:
        """The drivers that strings choose.

        Raises:
            UserError: if a driver in one of the catalog's files is invalid.
        """
        by_id = {driver.id: driver for driver in self._on_demand("driver")}
        return tuple(d for d in by_id.values() if self._looked_for is None or self._looked_for(d))

    @cached_property
    def choosers(self) -> tuple[Chooser, ...]:
        """The libraries that choose drivers by strings.

        Raises:
            UserError: if a chooser in one of the catalog's files is invalid.
        """
        return tuple(self._on_demand("chooser"))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The entry points: the built-in list, and additions from other files.

        Raises:
            UserError: if an entry in one of the catalog's files is invalid.
        """
        built_in = outline.read(outline.ENTRIES)
        return (
            *(_block(chunk, built_in.filename) for chunk in built_in.chunks),
            *self._on_demand("entry"),
        )

    def _on_demand(self, kind: str) -> list[Any]:
        return [
            _block(chunk, text.filename)
            for text in self.texts
            for chunk in text.chunks
            if chunk.kind == kind
        ]

    @cached_property
    def remedies(self) -> frozenset[str]:
        """The calls that make some blocker cooperative, including those of unimported packages."""
        found = [r for b in (*self.blockers, *self.off) for r in b.cooperative_after if "." in r]
        found += [r for text in self.texts for chunk in text.chunks for r in chunk.remedies]
        return frozenset(self.canonical(symbol) for symbol in found)

    def remedies_of(self, driver: Driver) -> frozenset[str]:
        """Return the calls that make a driver cooperative: the remedies of its blocker."""
        return frozenset(
            self.canonical(symbol)
            for text in self.texts
            for chunk in text.chunks
            if chunk.kind == "blocker" and chunk.id == driver.blocker
            for symbol in chunk.remedies
        )

    def only(
        self,
        kept: Callable[[Blocker], bool],
        looked_for: Callable[[Driver], bool] | None = None,
    ) -> Catalog:
        """Return a copy of the catalog with fewer blockers and drivers."""
        on = tuple(blocker for blocker in self.blockers if kept(blocker))
        off = tuple(blocker for blocker in self.blockers if not kept(blocker))
        return Catalog(
            on,
            self.libraries,
            self.offloads,
            self.handlers,
            self.measured_on,
            off,
            self.beliefs,
            self.harmless,
            self.texts,
            looked_for or self._looked_for,
        )

    @cached_property
    def conditions(self) -> dict[str, tuple[Condition, ...]]:
        """The arguments with which a call returns an unusual type, by symbol."""
        found = {
            self.canonical(symbol): blocker.unless
            for blocker in (*self.blockers, *self.off)
            if blocker.unless
            for symbol in blocker.symbols
        }
        for library in self.libraries:
            for symbol, conditions in library.conditions.items():
                found[self.canonical(symbol)] = conditions
        return found


def load(extensions: tuple[str, ...] = (), roots: frozenset[str] | None = None) -> Catalog:
    """Return the built-in catalog, extended by the user's files of the same schema.

    A user's blocker replaces the built-in one with the same id.

    Args:
        extensions: Paths of further catalog files.
        roots: The top-level packages whose blocks are loaded; None for all.

    Raises:
        UserError: with file, block and key, if a file is invalid.
    """
    files = [outline.read(), *map(own, extensions)]
    return merged([parse(one, roots) for one in files])


def merged(files: list[Catalog]) -> Catalog:
    """Return one catalog of several; later blocks replace earlier ones with the same id."""
    by_id = {blocker.id: blocker for one in files for blocker in one.blockers}
    return Catalog(
        tuple(by_id.values()),
        tuple(library for one in files for library in one.libraries),
        tuple(offload for one in files for offload in one.offloads),
        tuple(handler for one in files for handler in one.handlers),
        files[0].measured_on,
        beliefs=tuple(belief for one in files for belief in one.beliefs),
        harmless=tuple(one for file in files for one in file.harmless),
        texts=tuple(text for one in files for text in one.texts),
    )


def parse_all(
    outlines: outline.Outlines,
    roots: frozenset[str] | None = None,
    *,
    unpatched: bool = False,
) -> Catalog:
    """Parse and validate all files of a run; see `parse`.

    Raises:
        UserError: with the file, the block and the key.
    """
    return merged([parse(one, roots, unpatched=unpatched) for one in outlines.all])


def parse(
    text: outline.Outline,
    roots: frozenset[str] | None = None,
    *,
    unpatched: bool = False,
    figures: Figures | None = None,
) -> Catalog:
    """Parse and validate the blocks of one file for these packages, or all blocks.

    Args:
        text: The file.
        roots: The packages; None for all blocks.
        unpatched: Whether to take the blockers that block only without gevent's patch.
        figures: Evidence to add to the blocks, by kind and by id or distribution.

    Raises:
        UserError: with the file, the block and the key.
    """
    blocks: dict[str, list[Any]] = {kind: [] for kind in _SHAPES}
    for chunk in text.chunks if roots is None else text.about(roots, unpatched=unpatched):
        if chunk.kind not in outline.ON_DEMAND:
            measured = figures.get(chunk.kind) if figures else None
            blocks[chunk.kind].append(_block(chunk, text.filename, measured))
    head = _tables(text.head, text.filename, lambda: 0)
    try:
        measured_on = msgspec.convert(head, _Head).measured_on
    except msgspec.ValidationError as error:
        raise UserError(text.filename, _explained(error, _Head)) from None
    return Catalog(
        tuple(blocks["blocker"]),
        tuple(blocks["library"]),
        tuple(blocks["offload"]),
        tuple(blocks["handler"]),
        measured_on,
        beliefs=tuple(blocks["belief"]),
        harmless=tuple(blocks["harmless"]),
        texts=(text,),
    )


def _tables(text: str, filename: str, rows_before: Callable[[], int]) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, row, column = toml_place(error, text)
        message = f"this is not TOML: {message}"
        raise UserError(filename, message, rows_before() + row, column) from None


def _block(
    chunk: outline.Chunk, filename: str, figures: Mapping[str, Mapping[str, Any]] | None = None
) -> Any:
    # Counting the keys takes as long as parsing the block.
    block = _tables(chunk.text, filename, lambda: chunk.rows_before)[chunk.kind][0]
    measured = figures.get(block.get("id") or block.get("distribution")) if figures else None
    if measured is not None:
        block["evidence"] = {**block.get("evidence", {}), **measured}
    shape = _SHAPES[chunk.kind]
    try:
        return msgspec.convert(block, shape)
    except msgspec.ValidationError as error:
        keys = ("id", "symbol", "module", "distribution", "framework")
        label = next((block[key] for key in keys if block.get(key)), "?")
        message = f"[[{chunk.kind}]] {label!r}: {_explained(error, shape)}"
        raise UserError(filename, message, chunk.rows_before + 1) from None


def _explained(error: msgspec.ValidationError, shape: Any) -> str:
    """Return msgspec's message with the key first, and a suggestion for an unknown key."""
    message = str(error)
    text, _, place = message.partition(" - at `$")
    key = place.rstrip("`").lstrip(".")
    unknown = re.search(r"unknown field `([^`]*)`", text)
    if unknown:
        for part in key.split("."):  # the nested table that has the key
            inner = {f.encode_name: f.type for f in msgspec.structs.fields(shape)}.get(
                part.partition("[")[0]
            )
            shape = next((t for t in _structs(inner)), shape)
        names = [field.encode_name for field in msgspec.structs.fields(shape)]
        hint = did_you_mean(unknown[1], names) or f"; known keys: {', '.join(names)}"
        where = f" in {key}" if key else ""
        return f"unknown key {unknown[1]!r}{where}{hint}"
    missing = re.search(r"missing required field `([^`]*)`", text)
    if missing:
        where = f" in {key}" if key else ""
        return f"the key {missing[1]!r} is missing{where}"
    return f"{key}: {text}" if key else text


def _structs(annotation: Any) -> list[type[msgspec.Struct]]:
    """Return the structs that an annotation names, through unions and tuples."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation]
    return [s for part in getattr(annotation, "__args__", ()) for s in _structs(part)]


def own(path: str) -> outline.Outline:
    """Read and validate a user's catalog, in any style of TOML.

    Raises:
        UserError: with the file, the block, the key and a suggestion, if anything is invalid.
    """
    text = outline.text_of(path)
    blocks = _Own(path, text)
    for kind, tables in _tables(text, path, lambda: 0).items():
        blocks.add(kind, tables)
    return outline.Outline("\n".join(blocks.written).encode(), path)


class _Own:
    """The validated blocks of one file, in the built-in catalog's style."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._ids: set[tuple[str, str]] = set()
        self.written: list[str] = []

    def add(self, kind: str, tables: Any) -> None:
        if kind == "measured-on":
            self._check_head(tables)
            return
        if kind not in _SHAPES:
            meant = did_you_mean(kind, _SHAPES)
            known = "" if meant else f"; the blocks are {', '.join(_SHAPES)}"
            raise self._error(kind, 0, f"[[{kind}]]: there is no such block{meant}{known}")
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            message = f"{kind}: each block begins with [[{kind}]], in two pairs of brackets"
            raise self._error(kind, 0, message)
        for number, table in enumerate(tables):
            self._check(kind, number, table)
            self.written.append(f"[[{kind}]]")
            self.written += [f"{_key(key)} = {_value(value)}" for key, value in table.items()]

    def _check_head(self, table: Any) -> None:
        try:
            msgspec.convert({"measured-on": table}, _Head)
        except msgspec.ValidationError as error:
            raise UserError(self._path, _explained(error, _Head)) from None

    def _check(self, kind: str, number: int, table: Mapping[str, Any]) -> None:
        name = _name_of(table)
        try:
            block = msgspec.convert(table, _SHAPES[kind])
            problem = _mistake(block)
        except msgspec.ValidationError as error:
            problem = _explained(error, _SHAPES[kind])
        if problem is None and (own_id := getattr(block, "id", None)) is not None:
            if (kind, own_id) in self._ids:
                problem = f"id: {own_id!r} stands twice in this file"
            self._ids.add((kind, own_id))
        if problem is not None:
            label = f" {name!r}" if name else ""
            raise self._error(kind, number, f"[[{kind}]]{label}: {problem}")

    def _error(self, kind: str, number: int, message: str) -> UserError:
        header = re.compile(rf"^[ \t]*\[\[?[ \t]*[\"']?{re.escape(kind)}\b", re.MULTILINE)
        starts = [match.start() for match in header.finditer(self._text)]
        row = self._text.count("\n", 0, starts[number]) + 1 if number < len(starts) else 0
        return UserError(self._path, message, row)


def _name_of(table: Mapping[str, Any]) -> str:
    keys = ("id", "symbol", "module", "distribution")
    return next((str(table[key]) for key in keys if table.get(key)), "")


def _mistake(block: Any) -> str | None:
    """Return the error in a block whose types are right, or None."""
    if isinstance(block, Blocker):
        if not block.symbols:
            return "symbols: at least one dotted name is needed"
        for symbol in block.symbols:
            if "." not in symbol:
                return f"symbols: {symbol!r} is no dotted name, such as package.{symbol}"
    for key in ("unless_written", "harmless"):
        try:
            re.compile(getattr(block, key, None) or "")
        except re.error as error:
            return f"{key}: this is no regular expression: {error}"
    return None


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """Return a value as TOML: on one line, without a quote inside a string."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        inner = json.dumps(value, ensure_ascii=False)[1:-1]
        return '"' + inner.replace('\\"', "\\u0022").replace("\x7f", "\\u007f") + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)
