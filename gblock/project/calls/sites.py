"""Call sites: the calls of one module that the catalog lists, found without libcst."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from itertools import chain
from typing import NamedTuple

from gblock.catalog.blockers import Blocker
from gblock.project.calls.absence import Absence
from gblock.project.calls.arguments import READY, Wait, length, wait
from gblock.project.calls.cooperation import Cooperation
from gblock.project.calls.forks import Forks
from gblock.project.calls.interrupts import Interrupts
from gblock.project.calls.obtainable import Obtainable
from gblock.project.calls.offloading import Handover, Offloading
from gblock.project.calls.readiness import Readiness
from gblock.project.calls.repetition import adding_up, handled, repeated
from gblock.project.calls.unreachable import Unreachable
from gblock.project.names.callees import IMPLIED
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.unknowns import cause
from gblock.project.names.values import FUNCTION, NONE, PARTIAL, informative
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding
from gblock.project.reading.deriving import derived
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    ElementsExpr,
    Expr,
    NameExpr,
    call_of,
    constant_of,
    last_name,
    passed,
    with_bound,
)
from gblock.project.reading.generated import (
    GRPC_MODULE,
    is_generated,
    may_call_rpcs,
    names_made_by,
)
from gblock.project.reading.givens import parameters_given
from gblock.project.reading.iteration import ITERATING
from gblock.project.reading.renaming import renamed
from gblock.project.reading.summary import AnyCall, Call, ModuleSummary

_ADDING_UP = ("costly", "sends")
"""The kinds of blockers of which one call does not matter, and many do."""
_LOOK_UPS = ("get", "pop", "setdefault")
"""Methods of a dict whose first argument is a key."""
_CALL = ".__call__"
_OPERATORS = {**IMPLIED, "with": (*IMPLIED["with"], "close")}
"""The methods that statements and subscripts call."""
_WITHOUT_ARGUMENTS = call_of(None, ())
_REFERENCES = (tags.NAME, tags.ATTRIBUTE)
_PLAIN = frozenset(
    "len str int float bool list dict set tuple print isinstance issubclass type super range "
    "repr sorted min max sum any all zip enumerate getattr setattr hasattr open iter next "
    "ValueError TypeError KeyError RuntimeError Exception".split()
)
"""Builtin functions and classes, which do not block: their calls are not looked at."""


class Found(NamedTuple):
    """A blocker that a call runs, or hands over."""

    symbol: str
    blocker: Blocker
    wait: Wait


class Unresolved(NamedTuple):
    """A call that has the name of a blocker's method, on a receiver of unknown type."""

    path: str
    row: int
    column: int
    """In bytes, from 0."""
    name: str
    cause: str
    """A description of the receiver, as far as it is known."""


class Site(NamedTuple):
    """One call and its blockers."""

    call: AnyCall
    place: Place
    found: tuple[Found, ...]
    """The blockers that it can call."""
    handover: Handover | None
    """The handover of the call, if it hands a callable to another thread."""
    native: bool
    """True if it only ever runs in a native thread."""
    is_applied: bool = False
    """True if the call only gives the blocker to a function that calls it."""


class Sites:
    """Finds the sites of a module.

    Args:
        inference: Type inference over the project; its catalog lists the blockers.
        offloading: Finds the code that runs in native threads.
        cooperation: Finds the blockers that the project makes cooperative.
    """

    def __init__(
        self, inference: Inference, offloading: Offloading, cooperation: Cooperation
    ) -> None:
        self.inference = inference
        self.offloading = offloading
        self.cooperation = cooperation
        self.readiness = Readiness(inference)
        self._absence = Absence(inference.modules)
        self._unreachable = Unreachable(inference.modules)
        self.forks = Forks(inference.modules)
        self.interrupts = Interrupts(inference.modules)
        catalog = inference.catalog
        self.verbs = {symbol.rpartition(".")[2] for symbol in catalog.by_symbol}
        self.verbs.update(
            alias.rpartition(".")[2]
            for library in catalog.libraries
            for alias in library.aliases
            if catalog.canonical(alias) in catalog.by_symbol
        )
        self._has_patterns = not self.verbs.isdisjoint(("*", "**"))
        """True if all methods of some class, or all calls into some package, are looked for."""
        common = {
            symbol
            for one in catalog.blockers
            if one.common or one.uploaded
            for symbol in one.symbols
        }
        self.methods = {
            symbol.rpartition(".")[2]
            for symbol in catalog.by_symbol
            if symbol.count(".") > 1 and symbol not in common
        }
        by_name = catalog.offloads_by_name.items()
        self.handing = {name for name, ones in by_name if not all(one.is_inline for one in ones)}
        self._applying = {name: ones for name, ones in by_name if any(o.is_inline for o in ones)}
        """The offloads that may call what they are given in the same greenlet, by last name."""
        self._handlers = frozenset(
            symbol for one in catalog.blockers if one.serves for symbol in one.symbols
        )
        self._handling = frozenset(symbol.rpartition(".")[2] for symbol in self._handlers)
        self._called = self._callables()
        self._wanted = self.verbs | self.handing | self._called
        self._looked_for = self._wanted
        self._operating: set[str] = set()
        self._any_name = self._has_patterns
        self._calls_rpcs = False
        self._is_frugal = inference.modules.is_frugal
        self.unresolved: list[Unresolved] = []
        """Calls of a blocker's method of whose receiver nothing is known."""

    def _callables(self) -> set[str]:
        """Return the names under which modules keep what blocks when it is called."""
        catalog, modules = self.inference.catalog, self.inference.modules
        called = {symbol[: -len(_CALL)] for symbol in catalog.by_symbol if symbol.endswith(_CALL)}
        if modules.is_frugal:
            return set()
        if not called:
            return self._renamed()
        lineage = cache(catalog.lineage)
        classes = called.union(one for one in catalog.bases if not called.isdisjoint(lineage(one)))
        makers = {owner.rpartition(".")[2] for owner in classes}
        makers.update(
            one.rpartition(".")[2]
            for one, made in catalog.returns.items()
            if not called.isdisjoint(lineage(made))
        )
        for package in sorted({owner.partition(".")[0] for owner in classes}):
            own = {one.rpartition(".")[2] for one in classes if one.startswith(f"{package}.")}
            makers |= derived([package], own, modules)
        return self._renamed() | self._held(makers)

    def _renamed(self) -> set[str]:
        """Return the names that modules give to functions of the catalog."""
        modules = self.inference.modules
        packages = {symbol.partition(".")[0] for symbol in self.inference.catalog.by_symbol}
        paths = {path for one in sorted(packages) for path in modules.mentioning(one, whole=True)}
        return {name for path in paths for name in renamed(modules.data(path), self.verbs)}

    def _held(self, makers: set[str]) -> set[str]:
        """Return the names that are assigned, or passed as keywords, what some functions make.

        An attribute often has the name of the argument that it is assigned, a parameter another.
        """
        modules = self.inference.modules
        paths = {path for maker in sorted(makers) for path in modules.mentioning(maker, whole=True)}
        names = names_made_by(makers, map(modules.data, paths))
        return names | parameters_given(makers, names, sorted(paths), modules)

    def of(self, path: str, names: frozenset[str] | None = None) -> list[Site]:
        """Return the sites of a module, in source order.

        Args:
            path: The module.
            names: The names that it may call; None for all names of the catalog.
        """
        summary = self.inference.modules.summary(path)
        if is_generated(path, self.inference.modules.data(path)):
            return []
        self._looked_for = self._wanted
        if names is not None:
            self._looked_for = (self._wanted & names) | self.handing | self._called
        self._calls_rpcs = self._has_stubs and may_call_rpcs(self.inference.modules.data(path))
        kept = self._kept(summary, self._looked_for)
        self._operating = self._looked_for & self._usable
        self._any_name = self._has_patterns and names is None
        sites = [self._site(call, path, kept) for call in summary.calls]
        return self._once([site for site in sites if site is not None], summary)

    def _once(self, sites: list[Site], summary: ModuleSummary) -> list[Site]:
        """Return the sites without ``with connect():`` where ``connect()`` itself is reported."""
        if all(site.call.node == "call" for site in sites):
            return sites
        reported = {
            _span(site.call)
            for site in sites
            if site.call.node == "call" and self.can_be_reported(site, summary)
        }
        return [s for s in sites if s.call.node == "call" or _span(s.call) not in reported]

    def _kept(self, summary: ModuleSummary, names: set[str]) -> set[str]:
        """Return the names to which a module may assign what one of some names refers to."""
        found: set[str] = set()
        while True:
            before = len(found)
            wanted = names | found
            for scope in summary.scopes:
                for name, bindings in scope.bindings.items():
                    if any(self._renames(binding, name, wanted) for binding in bindings):
                        found.add(name)
                for (_, name), assigned in scope.attributes.items():
                    if any(_keeps(binding.value, wanted) for binding in assigned):
                        found.add(name)
                for one in scope.parameters:
                    if _keeps(one.default, wanted):
                        found.add(one.name)
            if len(found) == before:
                return found

    @cached_property
    def _usable(self) -> set[str]:
        """The methods that statements call and that some object of the project may have.

        Whether a loop iterates over such an object is the most expensive question of many checks.
        """
        obtainable = Obtainable(self.inference.catalog, self.inference.modules)
        names = set(chain.from_iterable(_OPERATORS.values()))
        return {name for name in names & self._wanted if obtainable.has_method(name)}

    @cached_property
    def _has_stubs(self) -> bool:
        """True if the project uses stubs of gRPC services."""
        modules = self.inference.modules
        return any(GRPC_MODULE.encode() in modules.data(path) for path in modules.serving)

    def _renames(self, binding: Binding, name: str, wanted: set[str]) -> bool:
        if binding.kind == kinds.IMPORTED:
            return binding.value.name in wanted and binding.value.name != name
        return _keeps(binding.value, wanted)

    def _site(self, call: AnyCall, path: str, kept: set[str]) -> Site | None:
        site = self._any_site(call, path, kept)
        apart = (self._absence, self._unreachable, self.forks, self.interrupts)
        if site is None or any(one.contain(call.row, path) for one in apart):
            return None
        return site

    def _any_site(self, call: AnyCall, path: str, kept: set[str]) -> Site | None:
        place = Place(path, call.scope, call.path)
        if call.node != "call":
            if not self._any_name and self._operating.isdisjoint(_OPERATORS.get(call.node, ())):
                return None
            found = self._found(call, place, _WITHOUT_ARGUMENTS)
            native = bool(found) and self.offloading.is_native(call, path)
            return Site(call, place, found, None, native) if found else None
        callee = call.expression.callee
        name = last_name(callee)
        of_stub = self._calls_rpcs and name[:1].isupper()
        is_wanted = self._any_name or of_stub or name in self._looked_for or name in kept
        applies = name in self._applying and self._applies(call.expression, kept)
        iterates = name in ITERATING and (self._any_name or "__iter__" in self._looked_for)
        if not is_wanted and not applies and not iterates and not self._names_handler(call):
            is_method = callee is not None and callee.tag == tags.ATTRIBUTE
            if is_method or name in _PLAIN or self._is_frugal:
                return None
        found = self._found(call, place, call.expression) or self._served(call, place)
        handover, is_applied = None, False
        if iterates and not found and (self._any_name or "__iter__" in self._operating):
            found = self._iterated(call, place)
            is_applied = bool(found)
        if applies or found or name in self.handing:
            handover = self.offloading.handover(call, place)
        if handover is not None and handover.offload.is_inline:
            applied, handover = tuple(self.handed(handover)), None
            found, is_applied = applied or found, is_applied or bool(applied)
        if not found and handover is None:
            if name in self.methods and callee is not None and callee.tag == tags.ATTRIBUTE:
                if not informative(self.inference.infer(callee.base, place)):
                    why = cause(self.inference, callee.base, place)
                    if why is not None and not _is_of_mapping(name, call.expression):
                        self.unresolved.append(Unresolved(path, call.row, call.column, name, why))
            return None
        native = self._can_matter(call, found, path) and self.offloading.is_native(call, path)
        return Site(call, place, found, handover, native, is_applied)

    def _can_matter(self, call: AnyCall, found: tuple[Found, ...], path: str) -> bool:
        """Return whether one of some blockers can be reported at a call.

        Only then does its thread matter, which is expensive to determine.
        """
        summary = self.inference.modules.summary(path)
        return any(
            one.blocker.kind not in _ADDING_UP or self._costs(summary, call, one.blocker)
            for one in found
        )

    def _costs(self, summary: ModuleSummary, call: AnyCall, blocker: Blocker) -> bool:
        """Return whether a costly call is frequent: in a loop, or in a task or request."""
        each = blocker.seconds_each or 0.0
        repetition = adding_up(summary, call, self.inference, each)
        return bool(repetition.where or handled(summary, call, self.inference))

    def can_be_reported(self, site: Site, summary: ModuleSummary) -> bool:
        """Return whether a rule may report the site; if not, libcst need not read the call."""
        if site.handover is not None and site.handover.offload.thread != "native":
            return any(not found.wait.immediate for found in self.handed(site.handover))
        for found in site.found:
            if found.blocker.kind in _ADDING_UP:
                if self._costs(summary, site.call, found.blocker):
                    return not site.native
            elif found.wait.immediate:
                if repeated(summary, site.call) and not site.native:
                    return True  # ``poll(0)`` may be in a loop without a sleep
            else:
                return True  # In a native thread it is counted.
        return False

    def _found(self, call: AnyCall, place: Place, expression: CallExpr) -> tuple[Found, ...]:
        symbols = self.inference.callees.of_call(call, place)
        found = self._blockers(symbols, expression, place)
        bound = self._bound(call, place) if symbols and call.node == "call" else []
        if call.node == "call" and bound:
            called = [self._through(symbols, *one, place) for one in bound]
            plain = [] if self._is_bound(call, place) else [found]
            found = [
                max(same, key=lambda one: length(one.wait))
                for same in zip(*called, *plain, strict=True)
            ]
        return tuple(
            one._replace(wait=READY)
            if not one.wait.immediate and self.readiness.is_immediate(one.blocker, call, place)
            else one
            for one in found
        )

    def _through(
        self, symbols: list[str], expression: CallExpr, where: Place, place: Place
    ) -> list[Found]:
        """Return the blockers of a partial that is called, with how long they wait.

        Args:
            symbols: What the partial calls.
            expression: The call, with the arguments that the partial was made with.
            where: The place where it was made.
            place: The place where it is called.
        """
        here, there = (self._blockers(symbols, expression, one) for one in (place, where))
        return [
            other if other.wait.immediate else one for one, other in zip(here, there, strict=True)
        ]

    def _bound(self, call: Call, place: Place) -> list[tuple[CallExpr, Place]]:
        """Return the calls of partials: with the arguments that each was made with, and where."""
        return [
            (with_bound(call.expression, value.bound[0]), value.bound[1])
            for value in self.inference.infer(call.expression.callee, place)
            if value.kind == PARTIAL and value.bound is not None
        ]

    def _is_bound(self, call: Call, place: Place) -> bool:
        """Return whether a callee can only be None and partials of known arguments."""
        return all(
            (value.kind == PARTIAL and value.bound is not None) or value == NONE
            for value in self.inference.infer(call.expression.callee, place)
        )

    def _names_handler(self, call: Call) -> bool:
        """Return whether an argument has the name of a handler of the catalog."""
        for argument in call.expression.positional:
            if argument is not None and argument.tag in _REFERENCES:
                if last_name(argument) in self._handling:
                    return True
            elif argument is not None and argument.tag == tags.CONSTANT:
                if argument.value in self._handlers:
                    return True
        return False

    def _applies(self, expression: CallExpr, kept: set[str]) -> bool:
        """Return whether a call may give a blocker to a function that calls it."""
        for offload in self._applying[last_name(expression.callee) or ""]:
            given = passed(expression, offload.argument, offload.keyword)
            if given is None:
                continue
            if given.tag == tags.CALL:  # partial(f, …)
                given = given.positional[0] if given.positional else None
            name = last_name(given)
            if self._any_name or name in self._looked_for or name in kept:
                return True
        return False

    def _served(self, call: Call, place: Place) -> tuple[Found, ...]:
        """Return the blockers of a handler that a call puts into a table of URLs.

        ``path("token/", obtain_auth_token)``, ``include("django.contrib.auth.urls")``
        """
        if not self._names_handler(call):
            return ()
        symbols: set[str] = set()
        for argument in call.expression.positional:
            if argument is None:
                continue
            if argument.tag in _REFERENCES:
                symbols |= self.inference.callees.called_symbols(argument, place)
            elif argument.tag == tags.CONSTANT:
                symbols.add(str(argument.value))
        handlers = sorted(symbols & self._handlers)
        return tuple(self._blockers(handlers, _WITHOUT_ARGUMENTS, place))

    def _iterated(self, call: Call, place: Place) -> tuple[Found, ...]:
        """Return the blockers of which a call iterates over the objects: ``list(cursor)``."""
        symbols: set[str] = set()
        for argument in call.expression.positional:
            values = self.inference.infer(argument, place)
            symbols |= self.inference.callees.methods(values, "__iter__")
        found = self._blockers(sorted(symbols), _WITHOUT_ARGUMENTS, place)
        if last_name(call.expression.callee) == "next":  # one element is brief to compute
            found = [one for one in found if one.blocker.kind == "waits"]
        return tuple(found)

    def _blockers(self, symbols: Iterable[str], expression: CallExpr, place: Place) -> list[Found]:
        """Return the blockers among some symbols that nothing makes cooperative."""
        return [
            Found(symbol, blocker, wait(blocker, expression, place, self.inference))
            for symbol, blocker in self.inference.callees.blockers(symbols)
            if not self.cooperation.covers(blocker, symbol, place.path)
        ]

    def handed(self, handover: Handover) -> list[Found]:
        """Return the blockers that a callable runs: itself, or the calls of a function."""
        argument, place = handover.argument, handover.place
        inside = handover.offload.starts_thread
        # partial(f, …)
        if argument is not None and argument.tag == tags.CALL and argument.positional:
            symbols = self.inference.callees.called_symbols(argument.callee, place)
            if symbols & {"functools.partial"}:
                forwarded = call_of(
                    None,
                    (*argument.positional[1:], *handover.forwarded.positional),
                    (*argument.keywords, *handover.forwarded.keywords),
                )
                return self._called_with(argument.positional[0], forwarded, place, inside=inside)
        return self._called_with(argument, handover.forwarded, place, inside=inside)

    def _called_with(
        self, callee: Expr, expression: CallExpr, place: Place, *, inside: bool
    ) -> list[Found]:
        symbols = sorted(self.inference.callees.called_symbols(callee, place))
        found = self._blockers(symbols, expression, place)
        values = self.inference.infer(callee, place) if inside else ()
        for path, scope in sorted({(x.path, x.scope) for x in values if x.kind == FUNCTION}):
            found += self._inside(path, scope)
        return found

    def _inside(self, path: str, scope: int) -> list[Found]:
        """Return the blockers that a function of the project calls directly."""
        summary = self.inference.modules.summary(path)
        kept = self._kept(summary, self._wanted)
        found: list[Found] = []
        for call in summary.calls:
            if call.scope == scope and call.node == "call":
                name = last_name(call.expression.callee)
                if name in self.verbs or name in kept:
                    found += self._found(call, Place(path, scope, call.path), call.expression)
        return found


def _is_of_mapping(name: str, expression: CallExpr) -> bool:
    """Return whether a call looks up a constant key, as most calls of ``dict.get`` do."""
    first = expression.positional[0] if expression.positional else None
    is_text = first is not None and first.tag == tags.CONSTANT and isinstance(first.value, str)
    return is_text and name in _LOOK_UPS and len(expression.positional) < 3


def _span(call: AnyCall) -> tuple[int, int, int, int]:
    return call.row, call.column, call.end_row, call.end_column


def _keeps(value: object, wanted: set[str]) -> bool:
    """Return whether a binding's value is, or contains, a name of the catalog that is not called.

    A call contains its arguments, of which a text may be the name: ``getattr(os, "system")``.
    """
    if isinstance(value, (NameExpr, AttributeExpr)):
        return last_name(value) in wanted
    if isinstance(value, CallExpr):
        return any(
            _keeps(one, wanted) or (one is not None and constant_of(one) in wanted)
            for one in value.positional
        )
    if isinstance(value, ElementsExpr) and value.tag in (tags.EITHER, tags.BOTH):
        return any(_keeps(one, wanted) for one in value.elements)
    return False
