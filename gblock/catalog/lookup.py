"""The catalog in memory: its blocks, looked up by symbol."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from gblock import outline
from gblock.catalog.blockers import Belief, Blocker, Condition, Harmless
from gblock.catalog.blocks import block_of, head_of
from gblock.catalog.drivers import Chooser, Driver, Query
from gblock.catalog.entries import Entry, Signal, TaskWorker
from gblock.catalog.libraries import (
    OF_THE_RECEIVER,
    TYPE,
    AddedAttribute,
    Construct,
    Handler,
    Inverse,
    Library,
    Modelled,
    Offload,
    PassedOn,
    Variant,
)
from gblock.catalog.patching import Import, Original, Waiter
from gblock.catalog.tables import CallArgument

_ANY_NAME = ".*"
_T = TypeVar("_T")


class _OfLibraries(cached_property[_T]):
    """A table of libraries and offloads: catalogs that differ in their blockers alone share it."""

    if not TYPE_CHECKING:

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            name, shared = self.attrname, instance.shared
            if name not in shared:
                shared[name] = self.func(instance)
            return vars(instance).setdefault(name, shared[name])


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
        beside: Catalog | None = None,
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
        self.shared: dict[str, object] = beside.shared if beside is not None else {}
        """The tables that are the same whatever the blockers: one for this catalog and the one
        beside it, which has the same libraries."""

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

    @_OfLibraries
    def _canonical(self) -> dict[str, str]:
        """Names that were looked up, with their canonical spelling."""
        return {}

    @_OfLibraries
    def offload_by_symbol(self) -> dict[str, Offload]:
        """Offloads by symbol, in canonical spelling."""
        return {self.canonical(offload.symbol): offload for offload in self.offloads}

    @_OfLibraries
    def offloads_by_name(self) -> dict[str, list[Offload]]:
        """Offloads by the last part of their symbols."""
        found: dict[str, list[Offload]] = {}
        for symbol, offload in self.offload_by_symbol.items():
            found.setdefault(symbol.rpartition(".")[2], []).append(offload)
        return found

    @_OfLibraries
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

    @_OfLibraries
    def makers(self) -> dict[str, set[str]]:
        """The names that lead to a class of the libraries, or to one with an alias, by that name.

        A key of the table ``conventional`` is a name that all code uses: ``*`` stands for it.
        """
        found: dict[str, set[str]] = {}
        for library in self.libraries:
            for table, entries in msgspec.structs.asdict(library).items():
                for key, value in entries.items() if isinstance(entries, dict) else ():
                    by = "*" if table == "conventional" else key
                    for made in {x for text in _texts(value) for x in (text, self.canonical(text))}:
                        found.setdefault(made, set()).update((by, self.canonical(by)))
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

    @_OfLibraries
    def bases(self) -> dict[str, tuple[str, ...]]:
        """The base classes of each class, canonical."""
        return {
            self.canonical(name): tuple(self.canonical(base) for base in bases)
            for library in self.libraries
            for name, bases in library.bases.items()
        }

    def _merged(self, key: str) -> dict[str, str]:
        return {
            self.canonical(name): self._type(value)
            for library in self.libraries
            for name, value in getattr(library, key).items()
        }

    def _type(self, written: str) -> str:
        """Return a type as the catalog writes it, with the class in its canonical spelling."""
        if written in OF_THE_RECEIVER:
            return written
        if written.startswith(TYPE):
            return f"{TYPE}{self.canonical(written[len(TYPE) : -1])}]"
        return self.canonical(written)

    @_OfLibraries
    def returns(self) -> dict[str, str]:
        """The type that a call of each symbol returns; ``self`` is the receiver."""
        return self._merged("returns")

    @_OfLibraries
    def returns_first(self) -> dict[str, str]:
        """The type of the first member of the tuple that a call of each symbol returns."""
        return self._merged("returns_first")

    @_OfLibraries
    def chosen(self) -> dict[str, CallArgument]:
        """The argument that names the class of a call's result."""
        return {
            self.canonical(symbol): argument
            for library in self.libraries
            for symbol, argument in library.chosen.items()
        }

    @_OfLibraries
    def modelled(self) -> dict[str, tuple[Modelled, ...]]:
        """The classes whose subclasses name a class, with what they do with its objects."""
        return {
            self.canonical(symbol): one
            for library in self.libraries
            for symbol, one in library.modelled.items()
        }

    @_OfLibraries
    def constructs(self) -> dict[str, Construct]:
        """The calls that make objects of a class, with what they give to its constructor."""
        return {
            self.canonical(symbol): one
            for library in self.libraries
            for symbol, one in library.constructs.items()
        }

    @_OfLibraries
    def _passes(self) -> dict[str, PassedOn]:
        return {
            self.canonical(symbol): one
            for library in self.libraries
            for symbol, one in library.passes.items()
        }

    @_OfLibraries
    def runs(self) -> dict[str, frozenset[str]]:
        """By method, the calls that run it on what they return."""
        found: dict[str, set[str]] = {}
        for library in self.libraries:
            for symbol, methods in library.runs.items():
                for method in methods:
                    found.setdefault(method, set()).add(self.canonical(symbol))
        return {method: frozenset(symbols) for method, symbols in found.items()}

    @_OfLibraries
    def loaders(self) -> frozenset[str]:
        """The calls that return what a text names."""
        return frozenset(symbol for symbol, one in self._passes.items() if one.gives == "named")

    def passed_on(self, symbol: str) -> PassedOn | None:
        """Return what a call of a function or method makes of an argument, if anything."""
        found = self._passes.get(symbol)
        if found is None and self._passes:
            owner, _, name = symbol.rpartition(".")
            bases = self.lineage(owner)
            found = next(filter(None, (self._passes.get(f"{b}.{name}") for b in bases)), None)
        return found

    @_OfLibraries
    def attributes(self) -> dict[str, str]:
        """The type of each instance attribute."""
        return self._merged("attributes")

    @_OfLibraries
    def other_attributes(self) -> dict[str, str]:
        """By class, the type of each attribute that nothing names, as of the columns of a table."""
        return {
            key.removesuffix(_ANY_NAME): held
            for key, held in self.attributes.items()
            if key.endswith(_ANY_NAME)
        }

    @_OfLibraries
    def elements(self) -> dict[str, str]:
        """The type of the elements that iterating an instance yields."""
        return self._merged("elements")

    @_OfLibraries
    def conventional(self) -> dict[str, str]:
        """The class of what a framework passes or sets under a name that all code uses."""
        return {
            name: self.canonical(given)
            for library in self.libraries
            for name, given in library.conventional.items()
        }

    @_OfLibraries
    def settings(self) -> frozenset[str]:
        """The objects with the names of the project's settings modules."""
        return frozenset(self.canonical(one) for lib in self.libraries for one in lib.settings)

    @_OfLibraries
    def adds(self) -> dict[str, AddedAttribute]:
        """The calls that add an attribute to requests."""
        return {
            self.canonical(symbol): added
            for library in self.libraries
            for symbol, added in library.adds.items()
        }

    @_OfLibraries
    def generic(self) -> dict[str, str]:
        """The generic classes, each with the class that it is about where the code is silent."""
        return self._merged("generic")

    @_OfLibraries
    def about(self) -> dict[str, CallArgument]:
        """The argument that says what a call's result is about."""
        return {
            self.canonical(symbol): argument
            for library in self.libraries
            for symbol, argument in library.about.items()
        }

    @_OfLibraries
    def fields(self) -> dict[str, str]:
        """The result of reading a descriptor from an object, by the descriptor's class."""
        return self._merged("fields")

    @_OfLibraries
    def inverse(self) -> dict[str, Inverse]:
        """The attribute that a field adds to the objects that it leads to."""
        return {
            self.canonical(symbol): one
            for library in self.libraries
            for symbol, one in library.inverse.items()
        }

    @_OfLibraries
    def binds(self) -> dict[str, str]:
        """The keyword of a decorator that passes the decorated object as the first argument."""
        return self._merged("binds")

    @_OfLibraries
    def decorated_by(self) -> dict[str, str]:
        """The keyword of a decorator that names the class of the decorated object."""
        return self._merged("decorated_by")

    @_OfLibraries
    def decorates(self) -> dict[str, str]:
        """The class of a decorated function, by the decorator."""
        return self._merged("decorates")

    @_OfLibraries
    def mixes_in(self) -> dict[str, str]:
        """The class whose methods a decorator adds to a class, by the decorator."""
        return self._merged("mixes_in")

    @_OfLibraries
    def cooperative(self) -> frozenset[str]:
        """Symbols, and prefixes of symbols, that were measured as cooperative."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.cooperative
        )

    @_OfLibraries
    def required_by(self) -> dict[str, tuple[str, ...]]:
        """The distributions with which another one is installed, by its name."""
        return {one.distribution: one.required_by for one in self.libraries if one.required_by}

    @_OfLibraries
    def cooperative_subclasses(self) -> dict[str, frozenset[str]]:
        """The cooperative classes that derive from a class that is not."""
        return {
            self.canonical(name): frozenset(map(self.canonical, derived))
            for library in self.libraries
            for name, derived in library.cooperative_subclasses.items()
        }

    @_OfLibraries
    def implemented(self) -> dict[str, frozenset[str]]:
        """The classes whose methods the project implements, by the name of the method."""
        found: dict[str, set[str]] = {}
        for library in self.libraries:
            for owner, _, name in (one.rpartition(".") for one in library.implemented):
                found.setdefault(name, set()).add(owner)
        return {name: frozenset(owners) for name, owners in found.items()}

    @cached_property
    def broad(self) -> frozenset[str]:
        """Classes below which the catalog knows one with entries for methods that they lack.

        An object that is declared as one of them may be of the class below: a declaration as
        ``Executor`` does not say which threads run what is submitted.
        """
        own: dict[str, set[str]] = {}
        for symbol in (*self.by_symbol, *self.offload_by_symbol, *self.cooperative):
            owner, _, name = symbol.rpartition(".")
            own.setdefault(owner, set()).add(name)
        found = set(self.cooperative_subclasses)
        for derived in own.keys() & self.bases.keys():
            for base in self.lineage(derived)[1:]:
                known = (own.get(one, ()) for one in self.lineage(base))
                if not own[derived] <= set().union(*known):
                    found.add(base)
        return frozenset(found)

    def is_below(self, name: str, base: str) -> bool:
        """Return whether a class derives from another one."""
        return name in self.cooperative_subclasses.get(base, ()) or base in self.lineage(name)[1:]

    @_OfLibraries
    def immediate(self) -> frozenset[str]:
        """Symbols that were measured and return at once."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.immediate
        )

    @_OfLibraries
    def readiness(self) -> frozenset[str]:
        """Symbols that return which objects are ready."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.readiness
        )

    @_OfLibraries
    def awaiting(self) -> frozenset[str]:
        """Symbols that return once their argument is ready."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.awaiting
        )

    @_OfLibraries
    def callbacks(self) -> frozenset[str]:
        """Symbols that call a function once an object is ready."""
        return frozenset(
            self.canonical(symbol) for library in self.libraries for symbol in library.callbacks
        )

    @_OfLibraries
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
        return self._classes_of_libraries.union(_owners(self.by_symbol))

    @_OfLibraries
    def _classes_of_libraries(self) -> frozenset[str]:
        """The classes, without those of which only blockers have methods."""
        named_types = (self.returns, self.attributes, self.elements)
        found = {
            one.removeprefix(TYPE).removesuffix("]")
            for table in named_types
            for one in table.values()
            if one not in OF_THE_RECEIVER
        }
        found.update(self.bases, self.elements, self.generic)
        for bases in self.bases.values():
            found.update(bases)
        for names in (self.returns, self.attributes, self.offload_by_symbol, self.readiness):
            found.update(_owners(names))
        return frozenset(found)

    def lineage(self, name: str) -> list[str]:
        """Return a class and its bases, nearest first, without duplicates."""
        order = [name]
        for class_name in order:
            bases = self.bases.get(class_name) or self._bases_by_name(class_name)
            order.extend(base for base in bases if base not in order)
        return order

    def inherited(self, symbol: str) -> list[str]:
        """Return the dotted names of a method: by its own class, then by the bases of this one."""
        owner, _, name = symbol.rpartition(".")
        return [f"{base}.{name}" for base in self.lineage(owner)] if owner else [symbol]

    def _bases_by_name(self, name: str) -> tuple[str, ...]:
        """Return the bases of a class by the first pattern that its name matches."""
        package, _, last = name.rpartition(".")
        for pattern, bases in self._patterns.get(package, ()):
            if last[:1].isupper() and fnmatchcase(last, pattern) and name not in bases:
                return bases
        if not last[:1].isupper() or name in self.classes:
            return ()
        wide = self._wide_patterns.get(name.partition(".")[0], ())
        return next((bases for pattern, bases in wide if fnmatchcase(name, pattern)), ())

    @_OfLibraries
    def _patterns(self) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        """Patterns of the names of classes, with their bases, by package."""
        found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for name, bases in self.bases.items():
            package, _, pattern = name.rpartition(".")
            if "*" in pattern and "*" not in package:
                found.setdefault(package, []).append((pattern, bases))
        return found

    @_OfLibraries
    def _wide_patterns(self) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        """Patterns for the classes of packages that nothing else names, by top-level package."""
        found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for name, bases in self.bases.items():
            if "*" in name.rpartition(".")[0]:
                found.setdefault(name.partition(".")[0], []).append((name, bases))
        return found

    def lookup(self, symbol: str) -> tuple[Blocker, ...]:
        """Return the blockers of a dotted name; a method is looked up along its class's bases."""
        symbol = self.canonical(symbol)
        found = self.by_symbol.get(symbol)
        if found:
            return found
        owner, _, name = symbol.rpartition(".")
        lineage = self.lineage(owner)
        for base in lineage:
            method = f"{base}.{name}"
            if method in self.immediate and method not in self.by_symbol:
                return ()
            found = self.by_symbol.get(method)
            if not found and not self._is_spared(lineage, name):
                found = self.by_symbol.get(f"{base}.*")
            if found:
                return found
        return self._lookup_whole(symbol) if self._whole else ()

    def _is_spared(self, lineage: Iterable[str], name: str) -> bool:
        """Return whether a class or a base of it says that a method returns at once."""
        return any(
            fnmatchcase(name, pattern)
            for base in lineage
            for pattern in self._immediate_methods.get(base, ())
        )

    @_OfLibraries
    def _immediate_methods(self) -> dict[str, list[str]]:
        """Methods that return at once, or patterns of them such as ``*_path``, by class."""
        found: dict[str, list[str]] = {}
        for owner, _, name in (symbol.rpartition(".") for symbol in self.immediate):
            found.setdefault(owner, []).append(name)
        return found

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
    def waiters(self) -> tuple[Waiter, ...]:
        """The packages that wait in modules of the standard library.

        Raises:
            UserError: if a block in one of the catalog's files is invalid.
        """
        return tuple(self._on_demand("waiter"))

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The calls by which libraries send statements through drivers.

        Raises:
            UserError: if a block in one of the catalog's files is invalid.
        """
        return tuple(self._on_demand("query"))

    @_OfLibraries
    def entries(self) -> tuple[Entry, ...]:
        """The entry points: the built-in list, and additions from other files.

        Raises:
            UserError: if an entry in one of the catalog's files is invalid.
        """
        return (*self._built_in("entry"), *self._on_demand("entry"))

    @_OfLibraries
    def entries_by_name(self) -> tuple[Entry, ...]:
        """The entry points whose functions, or whose modules, are named by texts.

        Raises:
            UserError: if an entry in one of the catalog's files is invalid.
        """
        return tuple(
            one for one in self.entries if one.named_by is not None or one.run_by or one.within
        )

    @_OfLibraries
    def listed(self) -> frozenset[str]:
        """The packages whose entry points the catalog lists."""
        return frozenset().union(*(packages for _, packages in self.frameworks))

    @_OfLibraries
    def waitless(self) -> frozenset[str]:
        """The packages that the catalog knows: what is not listed of them does not wait.

        Raises:
            UserError: if a file is wrong before its first block.
        """
        named = (name for text in self.texts for name in head_of(text).never_wait)
        return self.listed.union(named, *(text.packages for text in self.texts))

    def is_unlisted(self, symbol: str) -> bool:
        """Return whether a dotted name is of a package whose entry points the catalog lacks."""
        package = symbol.partition(".")[0]
        return package not in self.listed and package not in sys.stdlib_module_names

    @_OfLibraries
    def frameworks(self) -> tuple[tuple[Entry, frozenset[str]], ...]:
        """Each entry point, with the packages of which a project that uses it mentions one.

        A package whose classes derive from those of a framework is one of them.

        Raises:
            UserError: if an entry in one of the catalog's files is invalid.
        """
        deriving: dict[str, set[str]] = {}
        for name, bases in self.bases.items():
            for base in bases:
                deriving.setdefault(base.partition(".")[0], set()).add(name.partition(".")[0])
        return tuple(
            (entry, entry.packages.union(*(deriving.get(one, ()) for one in entry.packages)))
            for entry in self.entries
        )

    @_OfLibraries
    def signals(self) -> tuple[Signal, ...]:
        """The signals: calls that run a function which another call has connected.

        Raises:
            UserError: if a block in one of the catalog's files is invalid.
        """
        return (*self._built_in("signal"), *self._on_demand("signal"))

    @_OfLibraries
    def workers(self) -> tuple[TaskWorker, ...]:
        """The commands that run workers of tasks.

        Raises:
            UserError: if a block in one of the catalog's files is invalid.
        """
        return (*self._built_in("worker"), *self._on_demand("worker"))

    @property
    def worker_commands(self) -> frozenset[str]:
        """The names of these commands.

        Raises:
            UserError: if a block in one of the catalog's files is invalid.
        """
        return frozenset(name for worker in self.workers for name in worker.commands)

    @_OfLibraries
    def _of_entries(self) -> outline.Outline:
        return outline.read(outline.ENTRIES)

    def _built_in(self, kind: str) -> list[Any]:
        """Return the blocks of one kind in the built-in list of entries."""
        text = self._of_entries
        return [block_of(chunk, text.filename) for chunk in text.by_kind.get(kind, ())]

    def _on_demand(self, kind: str) -> list[Any]:
        return [
            block_of(chunk, text.filename)
            for text in self.texts
            for chunk in text.by_kind.get(kind, ())
        ]

    @cached_property
    def remedies(self) -> frozenset[str]:
        """The calls that make some blocker cooperative, or make it block, of all packages."""
        blockers = (*self.blockers, *self.off)
        found = [r for b in blockers for r in (*b.cooperative_after, *b.blocks_after) if "." in r]
        for text in self.texts:
            found += text.remedies
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

    def blocker_of(self, driver: Driver) -> Blocker | None:
        """Return what a query through a driver calls, also where its package is not imported.

        Raises:
            UserError: if the block is wrong.
        """
        for text in self.texts:
            for chunk in text.chunks:
                if chunk.kind == "blocker" and chunk.id == driver.blocker:
                    found: Blocker = block_of(chunk, text.filename)
                    return found
        return None

    def only(
        self,
        kept: Callable[[Blocker], bool],
        looked_for: Callable[[Driver], bool] | None = None,
        always: Callable[[Blocker], bool] = lambda _: False,
    ) -> Catalog:
        """Return a copy of the catalog with fewer blockers and drivers.

        Args:
            kept: Whether a blocker stays.
            looked_for: Whether a driver stays; by default as before.
            always: Whether a blocker of uploads is looked for whatever its calls are given.
        """
        on = tuple(
            msgspec.structs.replace(one, uploaded=()) if one.uploaded and always(one) else one
            for one in self.blockers
            if kept(one)
        )
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
            beside=self,
        )

    @cached_property
    def conditions(self) -> dict[str, tuple[Condition, ...]]:
        """The arguments with which a call returns an unusual type, by symbol."""
        found = {
            self.canonical(symbol): blocker.unless
            for blocker in (*self.blockers, *self.off)
            if blocker.unless and blocker.kind == "waits"
            for symbol in blocker.symbols
        }
        for library in self.libraries:
            for symbol, conditions in library.conditions.items():
                found[self.canonical(symbol)] = conditions
        return found

    def conditions_of(self, symbol: str) -> tuple[Condition, ...]:
        """Return the arguments with which a call returns an unusual type.

        A class has those of its bases if it has none of its own.
        """
        found = self.conditions.get(symbol)
        if found is None and symbol.rpartition(".")[2][:1].isupper():
            named = (self.conditions.get(base) for base in self.lineage(symbol))
            found = next((one for one in named if one is not None), None)
        return found or ()

    @_OfLibraries
    def variants(self) -> dict[str, tuple[Variant, ...]]:
        """The arguments with which a call returns an object of another known class, by symbol."""
        return {
            self.canonical(symbol): variants
            for library in self.libraries
            for symbol, variants in library.variants.items()
        }


def _owners(symbols: Iterable[str]) -> set[str]:
    """Return the classes whose methods some symbols are."""
    owners = {symbol.rpartition(".")[0] for symbol in symbols}
    return {one for one in owners if "." in one and one.rpartition(".")[2][:1].isupper()}


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value of a table, without the ``type[…]`` around them."""
    if isinstance(value, str):
        yield value.removeprefix("type[").removesuffix("]")
    elif isinstance(value, msgspec.Struct):
        yield from _texts(tuple(msgspec.structs.asdict(value).values()))
    elif isinstance(value, dict):
        yield from _texts((*value, *value.values()))
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _texts(one)
