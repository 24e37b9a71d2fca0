"""Registrations: functions and classes that code gives to a framework without passing them.

An assignment (``client.on_message = handle``, ``events.inserted += added``), a string
(``enqueue("orders.place")``), a setting that names them (Django's ``MIDDLEWARE``), and an object
that is passed and has a ``__call__`` method.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from gblock.catalog.entries import Argument, Entry, fits
from gblock.project.calls.last_names import ByLastName
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, ValueBinding
from gblock.project.reading.expressions import (
    Expr,
    constant,
    constant_of,
    functions_named,
    last_name,
    members,
    passed,
    read_dotted,
)
from gblock.project.reading.specifications import is_module
from gblock.project.reading.summary import Call, ModuleSummary, Scope

_MOST_FILES = 64
"""A name in more files than this is common: only files near its own are searched."""
_RUN = frozenset(("hub", "request", "task", "greenlet"))
"""The contexts in which greenlets run code."""
_DISPLAYS = (tags.SEQUENCE, tags.TUPLE, tags.MAPPING)
_OF_CONTAINERS = frozenset({*dir(list), *dir(dict), *dir(set)})
"""Methods of containers: the name alone says nothing about an object of unknown type."""
_TRUE = constant(True)
_KINDS = (kinds.ASSIGNED, kinds.AUGMENTED, *kinds.STORES)
"""Kinds of bindings that register what they bind."""


class Registered(NamedTuple):
    """One registration of a function or class."""

    entry: Entry
    """The entry that starts it."""
    call: Call | None = None
    """The call that registers it; None for an assignment or a setting."""
    is_certain: bool = True
    """True if inferred; if not, only the names match."""
    is_by_name: bool = False
    """True if a setting names it: a framework then calls all public methods of a class."""
    method: str = "__call__"
    """The method that runs, of a class."""

    def runs(self, method: str) -> bool:
        """Return whether it starts a method of a class that it registers."""
        if method == self.method or self.is_by_name:
            return True
        entry = self.entry  # the methods of an entry with bases are those of their subclasses
        named = entry.methods if entry.assigned and not entry.bases else ()
        return any(fnmatch.fnmatchcase(method, one) for one in named)


class Registrations:
    """Finds the registrations of a function or class.

    Args:
        inference: Type inference over the project.
        entries: The entries of the frameworks that the project uses.
    """

    def __init__(self, inference: Inference, entries: Sequence[Entry]) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._assigned: list[tuple[str, str, Entry]] = []
        """The owner's dotted name, a pattern of attributes, and the entry."""
        self._settings: dict[str, Entry] = {}
        self._marks: list[tuple[str, Entry]] = []
        for entry in entries:
            for symbol in entry.assigned:
                owner, _, attribute = symbol.rpartition(".")
                self._assigned.append((owner, attribute, entry))
            self._marks += [(mark, entry) for mark in entry.marks]
            self._settings.update(dict.fromkeys(entry.settings, entry))
        arguments = [(one, entry) for entry in entries for one in entry.arguments]
        self._arguments = ByLastName((pair[0].symbol, pair) for pair in arguments)
        self._names_methods = any(argument.method for argument, _ in arguments)
        """True if a framework of the project takes a class together with the name of a method."""
        self._keeping = inference.keeping
        self._known: dict[tuple[str, int], list[Registered]] = {}
        self._wanted: dict[str, list[tuple[str, Entry]]] = {}
        self._assigning: dict[str, tuple[list[tuple[str, str, Binding]], list[int]]] = {}
        self._mentioning: dict[str, bool] = {}
        self._displays: dict[str, list[tuple[Call, Expr, Argument, Entry]]] = {}

    def of(self, summary: ModuleSummary, index: int) -> list[Registered]:
        """Return the registrations of a function, or of a class.

        Args:
            summary: The module.
            index: The scope of the function or class.
        """
        key = (summary.filename, index)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = list(self._find(summary, index))
        return found

    def _find(self, summary: ModuleSummary, index: int) -> Iterator[Registered]:
        scope = summary.scopes[index]
        if scope.kind == "lambda":
            yield from self._assigned_in(summary, summary.filename, index)
            yield from self._in_displays(summary.filename, (summary.filename, index), "")
            return
        if scope.kind not in ("function", "class"):
            return
        naming = self.modules.naming(scope.name, summary.filename, _MOST_FILES)
        in_strings = None
        quoted = [f"{scope.name}{quote}".encode() for quote in "\"'"]
        is_top = scope.parent == 0
        for path in self._assigning_files(summary, index) if self._assigned else ():
            yield from self._assigned_in(self.modules.summary(path), summary.filename, index)
        for path in dict.fromkeys([summary.filename, *naming]):
            data = self.modules.data(path)
            yield from self._in_displays(path, (summary.filename, index), scope.name)
            if not is_top or not any(one in data for one in quoted):
                continue
            in_strings = in_strings or _written(scope.name)
            if any(
                is_module(summary.filename, match[1].decode())
                for match in in_strings.finditer(data)
            ):
                yield from self._named_in(path, summary.filename, scope.name)
        if scope.kind == "class" and ("__call__" in scope.bindings or self._names_methods):
            yield from self._objects_of(summary, index)
        for mark, entry in self._marks:
            for around in summary.scopes:
                if any(one.value == _TRUE for one in around.attributes.get((scope.name, mark), ())):
                    yield Registered(entry)

    # -- assignments

    def _assigning_files(self, summary: ModuleSummary, index: int) -> list[str]:
        """Return the files that may assign a function, what wraps it, or a table that keeps it."""
        scope = summary.scopes[index]
        names = {scope.name}
        if scope.kind == "function":
            outer = summary.scopes[scope.parent]
            if outer.kind == "function" and outer.returns:
                names.add(outer.name)
            names |= {one.name for one in self._keeping.containers(summary, index)}
        found = dict.fromkeys([summary.filename])
        for name in sorted(names):
            found.update(dict.fromkeys(self.modules.naming(name, summary.filename, _MOST_FILES)))
        return [path for path in found if self._may_assign(path)]

    def _may_assign(self, path: str) -> bool:
        """Return whether a file mentions one of the attributes."""
        found = self._mentioning.get(path)
        if found is None:
            found = self._words.search(self.modules.data(path)) is not None
            self._mentioning[path] = found
        return found

    @cached_property
    def _words(self) -> re.Pattern[bytes]:
        """A pattern of the assigned attributes."""
        patterns = sorted({pattern for _, pattern, _ in self._assigned})
        parts = (re.escape(one).replace(r"\*", r"\w*").encode() for one in patterns)
        return re.compile(rb"\b(?:%s)\b" % b"|".join(parts))

    def _assigned_in(self, other: ModuleSummary, path: str, index: int) -> Iterator[Registered]:
        """Yield the assignments of a function, or of an object of a class, in one module."""
        attributes, classes = self._assignments(other)
        for owner, attribute, binding in attributes:
            if self._holds(binding, other.filename, path, index):
                place = Place(other.filename, binding.scope, binding.path)
                yield from self._of_owner(owner, attribute, place, self._assigned_as(attribute))
        for number in classes:
            yield from self._in_class(other, number, (path, index))

    def _assignments(
        self, other: ModuleSummary
    ) -> tuple[list[tuple[str, str, Binding]], list[int]]:
        """Return the assignments of one module that may register something, of any function.

        Returns:
            The owner, the attribute and the binding of each assigned attribute, and the classes
            with such attributes.
        """
        found = self._assigning.get(other.filename)
        if found is None:
            names = {pattern for _, pattern, _ in self._assigned}
            found = self._assigning[other.filename] = (
                [
                    (owner, attribute, binding)
                    for scope in other.scopes
                    for (owner, attribute), bindings in scope.attributes.items()
                    if self._assigned_as(attribute)
                    for binding in bindings
                ],
                [
                    number
                    for number, scope in enumerate(other.scopes)
                    if scope.kind == "class"
                    and (scope.bases or other.scopes[scope.parent].kind == "class")
                    and not names.isdisjoint(scope.bindings)
                ],
            )
        return found

    def _assigned_as(self, attribute: str) -> list[tuple[str, Entry]]:
        """Return the classes whose attribute of this name starts what it is assigned."""
        found = self._wanted.get(attribute)
        if found is None:
            found = self._wanted[attribute] = [
                (symbol, entry)
                for symbol, pattern, entry in self._assigned
                if fnmatch.fnmatchcase(attribute, pattern)
            ]
        return found

    def _in_class(
        self, other: ModuleSummary, number: int, what: tuple[str, int]
    ) -> Iterator[Registered]:
        """Yield the class attributes of a framework's subclass that hold a function or class."""
        scope = other.scopes[number]
        inner = ""
        if other.scopes[scope.parent].kind == "class":  # ``class Meta`` in a form
            number, inner = scope.parent, f".{scope.name}"
        for symbol, pattern, entry in self._assigned:
            bindings = scope.bindings.get(pattern, ())
            if not any(self._holds(binding, other.filename, *what) for binding in bindings):
                continue
            bases = self.inference.classes.ancestry(other.filename, number)
            names = {f"{base.symbol}{inner}" for base in bases if base.kind == v.EXTERNAL}
            if any(fits(name, symbol) for name in names):
                yield Registered(entry)

    def _holds(self, binding: Binding, where: str, path: str, index: int) -> bool:
        """Return whether a binding's value is, or contains, a function or an object of a class."""
        if binding.kind not in _KINDS or not isinstance(binding, ValueBinding):
            return False
        place = Place(where, binding.scope, binding.path)
        if binding.kind in (kinds.EXTENDED, kinds.ABSORBED):
            held = self.inference.stored([binding], where)
            return any(
                v.comes_from(unwrapped(one), path, index)
                for container in held
                if container.kind in (v.ELEMENTS, v.MAPPING)
                for one in v.contents(container)
            )
        return self._contains(binding.value, place, (path, index))

    def _of_owner(
        self, owner: str, attribute: str, place: Place, wanted: list[tuple[str, Entry]]
    ) -> Iterator[Registered]:
        names = self._classes(owner, place)
        for symbol, entry in wanted:
            if any(fits(name, symbol) for name in names):
                yield Registered(entry)
            elif not names and len(attribute) > 3:
                yield Registered(entry, is_certain=False)

    def _classes(self, owner: str, place: Place) -> set[str]:
        """Return the dotted names of the classes outside the project that an object can have."""
        found: set[str] = set()
        for value in self.inference.infer(read_dotted(owner), place):
            if value.kind in (v.EXTERNAL, v.INSTANCE):
                found.update(self.inference.catalog.lineage(value.symbol))
            elif value.kind in (v.OBJECT, v.CLASS):
                bases = self.inference.classes.ancestry(value.path, value.scope)
                found.update(base.symbol for base in bases if base.kind == v.EXTERNAL)
                found.add("")  # its class is known, though it is of the project
        return found

    # -- displays

    def _in_displays(self, path: str, what: tuple[str, int], name: str) -> Iterator[Registered]:
        """Yield the arguments of one module that are a list or dict with a function in it."""
        for call, given, argument, entry in self._displays_of(path):
            place = Place(path, call.scope, call.path)
            if not self._contains(given, place, what, name):
                continue
            symbols = self.inference.callees.known_symbols(call.expression.callee, place)
            is_certain = suits(symbols, argument, entry)
            if is_certain is not None:
                yield Registered(entry, call, is_certain=is_certain)

    def _displays_of(self, path: str) -> list[tuple[Call, Expr, Argument, Entry]]:
        """Return the displays of one module that calls pass where entries take functions."""
        found = self._displays.get(path)
        if found is None:
            found = self._displays[path] = []
            by_name = self.inference.calling.calls_by_original_name(path)
            for called, calls in by_name.items():
                for argument, entry in self._arguments.of(called):
                    for call in calls:
                        given = passed(call.expression, argument.position, argument.keyword)
                        if given is not None and given.tag in _DISPLAYS:
                            found.append((call, given, argument, entry))
        return found

    def _contains(
        self, given: Expr, place: Place, what: tuple[str, int], name: str | None = None
    ) -> bool:
        """Return whether an expression is, or shows, a function or an object of a class.

        Args:
            given: The expression.
            place: Its place.
            what: The module and the scope of the function or class.
            name: Its name, where only an expression with this name counts.
        """
        return any(
            v.comes_from(inner, *what)
            for part in members(given, with_keys=True)
            if name is None or name in _named(part)
            for inner in map(unwrapped, self.inference.infer(part, place))
            if inner.kind in (v.FUNCTION, v.OBJECT, v.CLASS)
        )

    # -- strings

    def _named_in(self, path: str, defined: str, name: str) -> Iterator[Registered]:
        """Yield the arguments and settings of one module that name a function in a string."""
        other = self.modules.summary(path)
        for called, calls in self.inference.calling.calls_by_original_name(path).items():
            for argument, entry in self._arguments.of(called):
                for call in calls:
                    expression = call.expression
                    given = passed(expression, argument.position, argument.keyword)
                    if not self._names(given, defined, name):
                        continue
                    place = Place(path, call.scope, call.path)
                    symbols = self.inference.callees.known_symbols(expression.callee, place)
                    is_certain = suits(symbols, argument, entry)
                    if is_certain is not None:
                        method = _method(call, argument)
                        yield Registered(entry, call, is_certain=is_certain, method=method)
        for scope in other.scopes if self._settings else ():
            yield from self._settings_in(scope, defined, name)

    def _settings_in(self, scope: Scope, defined: str, name: str) -> Iterator[Registered]:
        if scope.kind in ("module", "class"):
            for setting, entry in self._settings.items():
                for binding in scope.bindings.get(setting, ()):
                    if not isinstance(binding, ValueBinding) or binding.kind not in _KINDS:
                        continue
                    if self._names(binding.value, defined, name):
                        yield Registered(entry, is_by_name=True)
                        break

    def _names(self, expression: Expr, defined: str, name: str) -> bool:
        """Return whether an expression contains a string that names a function of a file."""
        return any(
            is_module(defined, module)
            for text in _texts(expression)
            for module, _, last in (text.lstrip(".").replace(":", ".").rpartition("."),)
            if last == name
        )

    # -- objects that are called

    def _objects_of(self, summary: ModuleSummary, index: int) -> Iterator[Registered]:
        """Yield the calls that take an object of a class, or the class, for a callable.

        An object without ``__call__`` is taken only together with the name of a method.
        """
        is_callable = "__call__" in summary.scopes[index].bindings
        for path in self._keeping.naming_objects(summary, index):
            for called, calls in self.inference.calling.calls_by_original_name(path).items():
                taking = [one for one in self._arguments.of(called) if is_callable or one[0].method]
                for call in calls if taking else ():
                    yield from self._taking(call, path, taking, (summary.filename, index))

    def _taking(
        self,
        call: Call,
        path: str,
        taking: list[tuple[Argument, Entry]],
        owner: tuple[str, int],
    ) -> Iterator[Registered]:
        place = Place(path, call.scope, call.path)
        symbols: set[str] | None = None
        for argument, entry in taking:
            given = passed(call.expression, argument.position, argument.keyword)
            if given is None or given.tag not in (tags.NAME, tags.ATTRIBUTE, tags.CALL):
                continue
            values = self.inference.infer(given, place)
            if not any(
                value.kind in (v.OBJECT, v.CLASS) and v.comes_from(value, *owner)
                for value in values
            ):
                continue
            if symbols is None:
                symbols = self.inference.callees.called_symbols(call.expression.callee, place)
            if any(fits(symbol, argument.symbol) for symbol in symbols):
                yield Registered(entry, call, method=_method(call, argument))


def suits(symbols: set[str] | None, argument: Argument, entry: Entry) -> bool | None:
    """Return whether a callee is the function that takes an entry point.

    Args:
        symbols: The dotted names of the callee outside the project; None if it is unknown.
        argument: The function of the catalog; its last name is that of the callee.
        entry: The entry.

    Returns:
        True if it is; False if only the names match and a greenlet would run the entry point; None
        if it is not. The name alone is no reason to hide a call in a command, except where the
        catalog has nothing but the name: ``*.set_defaults``.
    """
    if any(fits(symbol, argument.symbol) for symbol in symbols or ()):
        return True
    name = argument.symbol.rpartition(".")[2]
    is_likely = symbols is None and "*" not in name and name not in _OF_CONTAINERS
    is_enough = entry.context in _RUN or argument.symbol.startswith("*.")
    return False if is_likely and entry.framework != "python" and is_enough else None


def _method(call: Call, argument: Argument) -> str:
    """Return the method of a class that a call registers, by its name."""
    named = passed(call.expression, None, argument.method) if argument.method else None
    return str(constant_of(named) or "__call__")


def _written(name: str) -> re.Pattern[bytes]:
    """Return a pattern of strings that name a function, with its module as the first group.

    A leading dot stands for the package of the code that names it.
    """
    return re.compile(rb"""["']\.*([A-Za-z_][\w.]*)[.:]%s["']""" % re.escape(name.encode()))


def _named(expression: Expr) -> set[str]:
    """Return the names of the functions, and of the class, that an expression can be made of."""
    found = functions_named(expression)
    if expression is not None and expression.tag == tags.CALL:
        found = found | {last_name(expression.callee)}
    return found


def _texts(expression: Expr) -> Iterator[str]:
    """Yield the strings in an expression."""
    for part in members(expression, with_keys=True):
        if part is not None and part.tag == tags.CONSTANT and isinstance(part.value, str):
            yield part.value
