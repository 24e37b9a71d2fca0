"""Entry points: functions that a framework starts by decorator, class, argument or file path.

The catalog lists these decorators, classes and arguments as ``[[entry]]``.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

from gblock.catalog.entries import Argument, Entry, fits
from gblock.project.calls.labels import Labels, of_call, of_decorator
from gblock.project.calls.last_names import ByLastName
from gblock.project.calls.registrars import handed_by, is_of_outer
from gblock.project.calls.registrations import Registrations, suits
from gblock.project.calls.routes import Routes
from gblock.project.calls.ways import STARTUP
from gblock.project.calls.workers import Application
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    last_name,
    owner_of,
    passed,
    without_arguments,
)
from gblock.project.reading.specifications import is_inside, is_module, named_in
from gblock.project.reading.summary import Call, ModuleSummary, Scope


@lru_cache(maxsize=64)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one pattern for the names of files, once for all checks of a process."""
    return re.compile("|".join(map(fnmatch.translate, patterns)))


class Started(NamedTuple):
    """One entry point: a function and the entry that starts it."""

    context: str
    framework: str
    label: str
    """A display name of its trigger: ``POST /orders``."""
    is_certain: bool = True
    """True if inferred; if not, only the names match."""
    entry: Entry | None = None
    """The entry, where more of it matters than its context."""
    is_wrapped: bool = False
    """True if calls of the function start it: a decorator of the project has made a wrapper of it,
    which hands it over."""

    @property
    def only_in(self) -> tuple[str, ...]:
        """The processes that alone run it, none for any: see `Entry.only_in`."""
        return self.entry.only_in if self.entry is not None else ()

    @property
    def is_sent(self) -> bool:
        """True if a call of the decorated function sends it to what runs it."""
        return self.entry is not None and self.entry.sends


_T = TypeVar("_T")


class Entries:
    """Finds the entry points among the functions of a project.

    Args:
        inference: Type inference over the project.
        files: Returns the files of the repository, of any format.
    """

    def __init__(
        self, inference: Inference, files: Callable[[], Iterable[str]] | None = None
    ) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._files = files
        self._in_files: dict[str, list[tuple[str, Entry]]] = {}
        """By file, its name in the project and the entries that start functions of such a file."""
        self._applied: dict[tuple[str, int], list[Entry]] = {}
        self._registering: dict[tuple[tuple[str, int], bool], dict[Entry, bool]] = {}
        self._objects: dict[Entry, set[tuple[str, int]]] = {}
        self._mixed: dict[tuple[str, int], set[str]] = {}
        self._held: dict[str, dict[str | int, list[tuple[int, str]]]] = {}
        self._labels = Labels(inference)

    @cached_property
    def _all(self) -> tuple[Entry, ...]:
        """The entries of the frameworks whose packages the project mentions."""
        frameworks = self.inference.catalog.frameworks
        mentioned = self.modules.mentioned(frozenset().union(*(names for _, names in frameworks)))
        return tuple(
            entry
            for entry, names in frameworks
            # a hook's file need not import anything
            if entry.framework == "python" or entry.files or not mentioned.isdisjoint(names)
        )

    def _called(self, callee: Expr, place: Place) -> set[str]:
        """Return the dotted names of the functions that a callee may be, by each base of theirs."""
        symbols = self.inference.callees.called_symbols(callee, place)
        found = {one for symbol in symbols for one in self.inference.catalog.inherited(symbol)}
        return found | self._overridden(callee, place)

    def _overridden(self, callee: Expr, place: Place) -> set[str]:
        """Return the framework's functions that a method of the project overrides.

        ``class Routes(Blueprint): def get(self, rule, model): ...`` registers views in a way of
        its own, which need not be followed to know that it does.
        """
        found = set()
        for value in map(unwrapped, self.inference.infer(callee, place)):
            if value.kind != v.FUNCTION:
                continue
            summary = self.modules.summary(value.path)
            scope = summary.scopes[value.scope]
            if scope.name in self.taking and summary.scopes[scope.parent].kind == "class":
                found |= {f"{one}.{scope.name}" for one in self._ancestry(summary, scope.parent)}
        return found

    @cached_property
    def _by_decorator(self) -> ByLastName[tuple[str, Entry]]:
        return ByLastName((s, (s, entry)) for entry in self._listed for s in entry.decorators)

    @cached_property
    def _by_argument(self) -> ByLastName[tuple[Argument, Entry]]:
        return ByLastName(
            (one.symbol, (one, entry)) for entry in self._listed for one in entry.arguments
        )

    @cached_property
    def _listed(self) -> list[Entry]:
        """The entries whose decorators and functions are those of their packages."""
        return [entry for entry in self._all if not entry.unlisted]

    @cached_property
    def _routes(self) -> Routes:
        return Routes(self.inference.catalog, self._all, self._called)

    @cached_property
    def taking(self) -> frozenset[str]:
        """The last names of the functions and decorators that take an entry point."""
        return self._by_decorator.names | self._by_argument.names

    @cached_property
    def _of_classes(self) -> list[Entry]:
        return [e for e in self._all if e.bases or (e.methods and not (e.objects or e.assigned))]

    @cached_property
    def _of_parameters(self) -> list[Entry]:
        return [e for e in self._all if e.parameters and not (e.bases or e.methods or e.files)]

    @cached_property
    def _of_files(self) -> list[tuple[re.Pattern[str], Entry]]:
        return [(_any_of(entry.files), entry) for entry in self._all if entry.files]

    # -- one function

    def of(self, summary: ModuleSummary, index: int) -> list[Started]:
        """Return the entries that start a function, from its definition.

        Args:
            summary: The module.
            index: The function's scope.
        """
        scope = summary.scopes[index]
        found = [*self._decorated(summary, scope), *self._in_file(summary, scope.name)]
        if scope.kind == "lambda":
            found += self._registered(summary, index)
        if scope.kind == "function":
            found += self._with_parameters(scope, self._of_parameters)
            found += self._registered(summary, index)
            if summary.scopes[scope.parent].kind != "class":
                found += self._named(summary, scope)
        for method in self._as_methods(summary, index):
            found += self._of_class(summary, method)
            found += self._of_object(summary, method)
            found += self._of_decorated_class(summary, method)
        return found

    def _as_methods(self, summary: ModuleSummary, index: int) -> Iterator[Scope]:
        """Yield a function as each method that it is, under the method's name and in its class.

        A class may have it under other names, ``post = get``, and a function or lambda outside of
        the class may be its method: ``get = list_orders``, ``Orders.get = list_orders``.
        """
        scope = summary.scopes[index]
        if scope.kind == "function" and summary.scopes[scope.parent].kind == "class":
            yield scope
        held = self._held_by_classes(summary)
        for owner, name in held.get(index if scope.kind == "lambda" else scope.name, ()):
            is_own = (owner, name) == (scope.parent, scope.name)
            if not is_own and (scope.parent == owner or not self._defines(summary, owner, scope)):
                yield scope._replace(name=name, parent=owner)

    def _defines(self, summary: ModuleSummary, owner: int, other: Scope) -> bool:
        """Return whether a class defines a method with the name of a function outside of it."""
        bound = summary.scopes[owner].bindings.get(other.name, ())
        return any(one.kind == kinds.DEFINED for one in bound)

    def _held_by_classes(self, summary: ModuleSummary) -> dict[str | int, list[tuple[int, str]]]:
        """Return the classes and attributes that hold a function, by its name, or lambda."""
        found = self._held.get(summary.filename)
        if found is None:
            found = self._held[summary.filename] = {}
            classes = {}
            for index, scope in enumerate(summary.scopes):
                if scope.kind == "class":
                    classes[scope.parent, scope.name] = index
                    for name, bindings in scope.bindings.items():
                        for one in (x for binding in bindings for x in kinds.originals(binding)):
                            found.setdefault(one, []).append((index, name))
            for index, scope in enumerate(summary.scopes):
                for (written, name), assigned in scope.attributes.items():
                    owner = classes.get((index, written))
                    if owner is not None:
                        for one in (x for binding in assigned for x in kinds.originals(binding)):
                            found.setdefault(one, []).append((owner, name))
        return found

    def is_task(self, path: str, index: int) -> bool:
        """Return whether a decorator makes a function a task, which code gives to its senders."""
        summary = self.modules.summary(path)
        scope = summary.scopes[index]
        if scope.kind != "function" or not scope.decorators:
            return False
        return any(
            one.entry is not None
            and one.entry.context == "task"
            and (one.entry.queue is not None or one.entry.sends)
            for one in self._decorated(summary, scope)
        )

    def of_module(self, summary: ModuleSummary) -> list[Started]:
        """Return the entries that start a module's statements, from its path."""
        return self._in_file(summary, "")

    def _decorated(self, summary: ModuleSummary, scope: Scope) -> Iterable[Started]:
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            if decorator is None:
                continue
            called = decorator if decorator.tag == tags.CALL else None
            callee = without_arguments(decorator)
            known = self._of_callee(self._by_decorator, callee, summary.filename)
            behind = self._behind(callee, place, called is not None)
            for entry, is_wrapped in behind.items():
                label = of_decorator(entry, called, last_name(callee), scope)
                yield Started(entry.context, entry.framework, label, False, entry, is_wrapped)
            routed = self._routes.of_decorator(decorator, place) if not behind else None
            if routed is not None and not scope.is_async:
                label = of_decorator(routed, called, last_name(callee), scope)
                yield Started(routed.context, routed.framework, label, False, routed)
            if not known:
                continue
            symbols = self._called(callee, place)
            is_known = bool(symbols) or bool(self.inference.infer(callee, place))
            for symbol, entry in sorted(known, key=_is_pattern):
                is_certain = any(fits(one, symbol) for one in symbols)
                is_likely = not is_known and "." in symbol and "*" not in symbol.rpartition(".")[2]
                if is_certain or (is_likely and entry.framework != "python"):
                    label = of_decorator(entry, called, last_name(callee), scope)
                    context = self._context(entry, called, place)
                    yield Started(context, entry.framework, label, is_certain, entry)
                    break

    def _of_callee(self, index: ByLastName[_T], callee: Expr, path: str) -> list[_T]:
        """Return what is known by a callee's name, or by one that it stands for."""
        name = last_name(callee)
        if callee is None or (callee.tag != tags.NAME and callee.tag != tags.ATTRIBUTE):
            return index.of(name)
        names = self.inference.calling.original_names(path, name)
        return [one for written in sorted(names) for one in index.of(written)]

    def _behind(self, callee: Expr, place: Place, is_called: bool) -> dict[Entry, bool]:
        """Return the entries to which a decorator of the project gives what it decorates.

        Each is True if only a wrapper gives it, once something calls this.

        ``def view(route): return framework_view(route, audit=True)`` is such a decorator, and so
        is a class whose ``__call__`` applies the framework's decorator to its inner function, or
        a function that hands what it takes to a framework: ``app.add_url_rule(url, name, view)``.
        """
        found: dict[Entry, bool] = {}
        values = map(unwrapped, self.inference.infer(callee, place))
        for key in sorted({(x.path, x.scope) for x in values if x.kind in (v.FUNCTION, v.CLASS)}):
            if key not in self._applied:
                self._applied[key] = []  # a decorator that returns itself
                self._applied[key] = self._applied_in(*key)
            if (key, is_called) not in self._registering:
                self._registering[key, is_called] = self._registered_by(*key, is_called=is_called)
            found.update(dict.fromkeys(self._applied[key], False))
            found.update(self._registering[key, is_called])
        return found

    def _registered_by(self, path: str, index: int, *, is_called: bool) -> dict[Entry, bool]:
        """Return the entries to which a decorator hands what it decorates, as an argument.

        Each is True if only a wrapper does it.
        """
        summary = self.modules.summary(path)
        found: dict[Entry, bool] = {}
        for call, place, position, argument in handed_by(summary, index, is_called=is_called):
            is_wrapped = is_of_outer(summary, argument, call.scope)
            for one in self.handed(call, place, position, argument):
                if one.entry is not None:
                    found[one.entry] = found.get(one.entry, True) and is_wrapped
        return found

    def _applied_in(self, path: str, index: int) -> list[Entry]:
        """Return the entries of the decorators that a function or class calls or applies."""
        summary = self.modules.summary(path)
        inside = _inside(summary, index)
        if summary.scopes[index].kind == "class":
            inside = {one for one in inside if _inside_call(summary, one)}
        applied = [
            (call.expression.callee, Place(path, call.scope, call.path))
            for call in summary.calls
            if call.scope in inside and call.node == "call"
        ]
        for number in sorted(inside - {index}):
            scope = summary.scopes[number]
            applied += [
                (without_arguments(one), Place(path, scope.parent, scope.path))
                for one in scope.decorators
            ]
        found = [
            entry
            for callee, place in applied
            for applying in sorted(self._called(callee, place))
            for symbol, entry in self._by_decorator.of(applying.rpartition(".")[2])
            if fits(applying, symbol)
        ]
        for returned in summary.scopes[index].returns:
            if returned.value is not None and returned.value.tag == tags.CALL:
                place = Place(path, index, returned.path)
                found += self._behind(without_arguments(returned.value), place, True)
        return found

    @cached_property
    def _registrations(self) -> Registrations:
        return Registrations(self.inference, self._all)

    def _registered(self, summary: ModuleSummary, index: int) -> Iterable[Started]:
        """Yield what starts a function, or a method of a class, that is assigned or named."""
        scope = summary.scopes[index]
        for one in self._registrations.of(summary, index):
            if one.entry.makers and scope.kind == "function" and scope.returns:
                yield self._making(one.entry, scope)
                continue
            label = of_call(one.entry, one.call.expression, "") if one.call is not None else ""
            label = label or f"{one.entry.context} {scope.name}()"
            yield Started(one.entry.context, one.entry.framework, label, one.is_certain, one.entry)
        owner = summary.scopes[scope.parent]
        if owner.kind == "function" and scope.kind == "function":
            for one in self._registrations.of(summary, scope.parent):
                if one.entry.makers:
                    label = f"{one.entry.context} {scope.name}()"
                    yield Started(one.entry.context, one.entry.framework, label, True, one.entry)
        if owner.kind == "class" and scope.name == "__init__":
            for one in self._registrations.of(summary, scope.parent):
                if one.entry.makers:
                    yield self._making(one.entry, owner)
        if owner.kind != "class" or not (scope.name == "__call__" or scope.name[:1] != "_"):
            return
        for one in self._registrations.of(summary, scope.parent):
            if one.runs(scope.name):
                label = self._labels.of_method(one.entry, summary, scope)
                yield Started(
                    one.entry.context, one.entry.framework, label, one.is_certain, one.entry
                )

    def _making(self, entry: Entry, scope: Scope) -> Started:
        """Return the start of a function or class that makes what an entry runs."""
        return Started(STARTUP, entry.framework, f"{STARTUP} {scope.name}()", True, entry)

    def application(self, summary: ModuleSummary, scope: Scope) -> Application | None:
        """Return the application whose decorator registers a function, or an import of it."""
        for decorator in scope.decorators:
            one = without_arguments(decorator)
            if one is None or one.tag != tags.ATTRIBUTE or one.base is None:
                continue
            if one.base.tag != tags.NAME:
                continue
            bound = summary.scopes[0].bindings.get(one.base.identifier, ())
            for binding in bound:
                if binding.kind != kinds.IMPORTED:
                    return Application(summary.filename, one.base.identifier)
                target = self.inference.modules.resolve(
                    binding.value.module, binding.value.level, summary.filename
                )
                if target is not None and binding.value.name is not None:
                    return Application(target, binding.value.name)
        return None

    def _of_decorated_class(self, summary: ModuleSummary, scope: Scope) -> Iterable[Started]:
        """Yield what starts the public methods of a class that has a framework's decorator."""
        owner = summary.scopes[scope.parent]
        if scope.name.startswith("_") or not owner.decorators:
            return
        for entry, is_certain in self._decorating(summary, owner):
            label = self._labels.of_method(entry, summary, scope)
            yield Started(entry.context, entry.framework, label, is_certain, entry)

    def _decorating(self, summary: ModuleSummary, scope: Scope) -> Iterable[tuple[Entry, bool]]:
        """Yield the entries whose decorators a function or class has."""
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            callee = without_arguments(decorator)
            for symbol, entry in self._of_callee(self._by_decorator, callee, summary.filename):
                symbols = self._called(callee, place)
                if any(fits(one, symbol) for one in symbols):
                    yield entry, True
            routed = self._routes.of_decorator(decorator, place)
            if routed is not None:
                yield routed, False

    def _with_parameters(self, scope: Scope, entries: Iterable[Entry]) -> Iterable[Started]:
        names = tuple(one.name for one in scope.parameters)
        for entry in entries:
            count = len(entry.parameters)
            if names[-count:] == entry.parameters:
                label = f"{entry.context} {scope.name}()"
                yield Started(entry.context, entry.framework, label, True, entry)

    def _of_class(self, summary: ModuleSummary, scope: Scope) -> Iterable[Started]:
        names = tuple(one.name for one in scope.parameters)
        for entry in self._of_classes:
            if not any(fnmatch.fnmatchcase(scope.name, one) for one in entry.methods or ("*",)):
                continue
            if entry.parameters and names[-len(entry.parameters) :] != entry.parameters:
                continue
            if scope.name == "__init__" and "__init__" not in entry.methods:
                continue
            if entry.unlisted and scope.is_async:
                continue
            certain = True
            if entry.bases:
                certain = self._fits(entry, self._ancestry(summary, scope.parent))
                if not certain and not self._looks_like(summary, scope.parent, entry.bases):
                    if not self._fits(entry, self._beside(summary, scope.parent)):
                        continue
            label = self._labels.of_method(entry, summary, scope)
            certain = certain and not entry.unlisted
            yield Started(entry.context, entry.framework, label, certain, entry)

    def _fits(self, entry: Entry, names: Iterable[str]) -> bool:
        """Return whether one of some classes is a base of an entry."""
        if entry.unlisted:
            names = filter(self.inference.catalog.is_unlisted, names)
        return any(fits(name, base) for name in names for base in entry.bases)

    def _of_object(self, summary: ModuleSummary, scope: Scope) -> Iterable[Started]:
        """Yield the entries that call the methods of an object that they take."""
        for entry in self._of_objects:
            if any(fnmatch.fnmatchcase(scope.name, one) for one in entry.methods or ("[!_]*",)):
                if (summary.filename, scope.parent) in self._given_objects(entry):
                    owner = summary.scopes[scope.parent]
                    label = f"{entry.context} {owner.name}.{scope.name}()"
                    yield Started(entry.context, entry.framework, label, True, entry)

    @cached_property
    def _of_objects(self) -> list[Entry]:
        return [entry for entry in self._all if entry.objects]

    def _given_objects(self, entry: Entry) -> set[tuple[str, int]]:
        """Return the classes of the project whose objects a framework is given, with bases."""
        found = self._objects.get(entry)
        if found is None:
            found = self._objects[entry] = {
                (base.path, base.scope)
                for argument in entry.objects
                for value in self._given_to(argument)
                for base in self.inference.classes.ancestry(value.path, value.scope)
                if base.kind == v.CLASS
            }
        return found

    def _given_to(self, argument: Argument) -> Iterable[v.ScopeValue]:
        """Yield the objects of the project's classes that a function is given."""
        for given, place in self._arguments_of(argument):
            values = self.inference.infer(given, place)
            yield from sorted(x for x in values if x.kind == v.OBJECT or x.kind == v.CLASS)

    def _arguments_of(self, argument: Argument) -> Iterator[tuple[Expr, Place]]:
        """Yield an argument of each call of a function, and the place of the call."""
        name = argument.symbol.rpartition(".")[2]
        calling = self.inference.calling
        word = max(name.split("*"), key=len)
        for path in self.modules.mentioning(word, whole=word == name):
            by_name = calling.calls_by_original_name(path)
            for call in (call for one in fnmatch.filter(by_name, name) for call in by_name[one]):
                place = Place(path, call.scope, call.path)
                symbols = self._called(call.expression.callee, place)
                if not any(fits(symbol, argument.symbol) for symbol in symbols):
                    if symbols or "*" not in argument.symbol:
                        continue
                yield passed(call.expression, argument.position, argument.keyword), place

    # -- files of other formats

    def _named(self, summary: ModuleSummary, scope: Scope) -> Iterable[Started]:
        """Yield what starts a function because a file of another format names it."""
        for entry, names in self._names:
            for written in names.get(scope.name, ()):
                if is_module(summary.filename, written):
                    label = f"{entry.context} {scope.name}()"
                    yield Started(entry.context, entry.framework, label, True, entry)
                    break
        for entry, packages in self._within:
            if any(fnmatch.fnmatchcase(scope.name, one) for one in entry.functions):
                if any(is_inside(summary.filename, package) for package in packages):
                    label = f"{entry.context} {scope.name}()"
                    yield Started(entry.context, entry.framework, label, True, entry)

    @cached_property
    def _within(self) -> list[tuple[Entry, set[str]]]:
        """The entries of functions by their module, with the packages that code names."""
        return [
            (entry, set().union(*map(self._named_to, entry.within)))
            for entry in self._all
            if entry.within
        ]

    def _named_to(self, argument: Argument) -> set[str]:
        """Return the dotted names that a function is given as texts."""
        given = (self.inference.infer(*one) for one in self._arguments_of(argument))
        return {
            value.value
            for values in given
            for value in values
            if value.kind == v.LITERAL and isinstance(value.value, str) and value.value
        }

    @cached_property
    def _names(self) -> list[tuple[Entry, dict[str, set[str]]]]:
        """The functions that files of other formats name, with their modules, for each entry."""
        found = []
        for entry in self._all:
            if entry.named_by is not None and self._files is not None:
                endings = entry.named_by.files
                paths = [path for path in self._files() if path.endswith(endings)]
                names = named_in(paths, entry.named_by)
                within = set().union(*map(self._named_to, entry.named_by.within))
                for modules in names.values():
                    if not modules:
                        modules |= within
                found.append((entry, names))
        return found

    def _ancestry(self, summary: ModuleSummary, index: int) -> set[str]:
        """Return the dotted names of a class's bases outside the project."""
        classes = self.inference.classes
        return {
            name
            for value in classes.ancestry(summary.filename, index)
            if value.kind == v.EXTERNAL
            for name in self.inference.catalog.lineage(value.symbol)
        }

    def _beside(self, summary: ModuleSummary, index: int) -> set[str]:
        """Return the bases outside the project of the classes that a mixin is combined with.

        In ``class Orders(Audited, View)`` the framework calls the methods of `Audited`, too.
        """
        key = (summary.filename, index)
        found = self._mixed.get(key)
        if found is None:
            derived = self.inference.classes.derived_from(*key)
            found = self._mixed[key] = set().union(
                *(
                    self._ancestry(self.modules.summary(one.path), one.scope)
                    for one in derived
                    if one.kind == v.CLASS
                )
            )
        return found

    def _looks_like(self, summary: ModuleSummary, index: int, bases: tuple[str, ...]) -> bool:
        """Return whether a base of unknown type has the name of one of some classes.

        A whole module (``setuptools.command.*``) names no class.
        """
        names = [last for one in bases if (last := one.rpartition(".")[2]) != "*"]
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        for base in scope.bases:
            name = last_name(base)
            if name and not self.inference.infer(base, place):
                if any(fnmatch.fnmatchcase(name, one) for one in names):
                    return True
        return False

    def _in_file(self, summary: ModuleSummary, name: str) -> list[Started]:
        known = self._in_files.get(summary.filename)
        if known is None:
            path = os.path.relpath(summary.filename, self.modules.root).replace(os.sep, "/")
            known = self._in_files[summary.filename] = [
                (path, entry) for pattern, entry in self._of_files if pattern.match(path)
            ]
        return [
            Started(entry.context, entry.framework, f"{entry.context} {path}", True, entry)
            for path, entry in known
            if not entry.functions or any(fnmatch.fnmatchcase(name, o) for o in entry.functions)
        ]

    # -- a function that is handed over

    def handed(
        self, call: Call, place: Place, position: int | None, argument: Expr
    ) -> list[Started]:
        """Return the entries that start a function because a call takes it as an argument.

        Args:
            call: The call.
            place: The place of the call.
            position: The function's position among the arguments, None for a keyword argument.
            argument: The argument.
        """
        name = last_name(call.expression.callee)
        if name == "__init__":
            called = self._called(call.expression.callee, place)
            known = [
                one
                for made in sorted({symbol.rpartition(".")[2] for symbol in called} - {name})
                for one in self._by_argument.of(made)
            ]
            if position and not _is_of_super(call.expression.callee):
                position -= 1  # Base.__init__(self, ...)
        else:
            known = self._of_callee(self._by_argument, call.expression.callee, place.path)
        if not known:
            return self._by_decorator_called(call, place) or self._for_path(
                call, place, position, argument
            )
        symbols = self.inference.callees.known_symbols(call.expression.callee, place)
        if symbols is not None:
            symbols |= self._overridden(call.expression.callee, place)
        found: list[tuple[str, Started]] = []
        for one, entry in known:
            is_certain = suits(symbols, one, entry)
            if is_certain is None:
                continue
            if not _is_argument(call, one, position, argument):
                continue
            context = self._context_of_all(entry, call, place, argument)
            label = of_call(entry, call.expression, name) or f"{context} by {name}()"
            found.append((one.symbol, Started(context, entry.framework, label, is_certain, entry)))
        exact = [pair for pair in found if not _is_pattern(pair)]
        return (
            [one for _, one in exact or found]
            or self._by_decorator_called(call, place)
            or self._for_path(call, place, position, argument)
        )

    def _for_path(
        self, call: Call, place: Place, position: int | None, argument: Expr
    ) -> list[Started]:
        """Return what starts a function that a call of an unlisted package takes with a path."""
        entry = self._routes.of_argument(call.expression, place, position, argument)
        if entry is None:
            return []
        name = last_name(call.expression.callee)
        label = of_call(entry, call.expression, name) or f"{entry.context} by {name}()"
        return [Started(entry.context, entry.framework, label, False, entry)]

    def _context(self, entry: Entry, call: CallExpr | None, place: Place) -> str:
        """Return the context of an entry; an argument of the call may say another."""
        elsewhere = entry.elsewhere
        if elsewhere is None or call is None:
            return entry.context
        values = self.inference.infer(passed(call, elsewhere.position, elsewhere.keyword), place)
        texts = [_spelled(one) for one in values]
        if texts and all(
            text is not None and any(fnmatch.fnmatchcase(text, one) for one in elsewhere.values)
            for text in texts
        ):
            return elsewhere.context
        return entry.context

    def _context_of_all(self, entry: Entry, call: Call, place: Place, argument: Expr) -> str:
        """Return the context of an entry if all calls that take the function here say the same.

        A handler of SIGHUP that SIGTERM has, too, stops the service.
        """
        context = self._context(entry, call.expression, place)
        if context == entry.context:
            return context
        name = last_name(call.expression.callee)
        for other in self.inference.calling.calls_by_name(place.path).get(name, ()):
            if argument in other.expression.positional and other is not call:
                there = Place(place.path, other.scope, other.path)
                if self._context(entry, other.expression, there) != context:
                    return entry.context
        return context

    def _by_decorator_called(self, call: Call, place: Place) -> list[Started]:
        """Return the entries of a framework's decorator that is called without the ``@``.

        ``app.route("/orders")(list_orders)`` and ``app.get("/orders", callback=list_orders)``.
        """
        expression = call.expression
        callee = without_arguments(expression.callee)
        known = self._of_callee(self._by_decorator, callee, place.path)
        if not known:
            return []
        inner = expression.callee
        called = inner if inner is not None and inner.tag == tags.CALL else expression
        by = f"by {last_name(callee)}()"
        symbols = self._called(callee, place)
        return [
            Started(self._context(entry, called, place), entry.framework, label, True, entry)
            for symbol, entry in sorted(known, key=_is_pattern)
            if any(fits(one, symbol) for one in symbols)
            for label in [of_call(entry, called, last_name(callee)) or f"{entry.context} {by}"]
        ][:1]


def _is_pattern(known: tuple[str, object]) -> bool:
    """Return whether a symbol is a pattern; as a sort key it puts full names first."""
    return "*" in known[0]


def _inside(summary: ModuleSummary, index: int) -> set[int]:
    """Return a scope and the scopes inside it."""
    found = {index}
    for number, scope in enumerate(summary.scopes):
        # A scope follows the one around it.
        if number and scope.parent in found:
            found.add(number)
    return found


def _inside_call(summary: ModuleSummary, index: int) -> bool:
    """Return whether a scope is a ``__call__`` method, or is inside one."""
    while index > 0:
        if summary.scopes[index].name == "__call__":
            return True
        index = summary.scopes[index].parent
    return False


def _is_of_super(callee: Expr) -> bool:
    """Return whether a callee is a method of ``super()``."""
    base = owner_of(callee)
    return base is not None and base.tag == tags.CALL


def _is_argument(call: Call, wanted: Argument, position: int | None, argument: Expr) -> bool:
    if position is not None and wanted.position is not None:
        return position == wanted.position
    given = passed(call.expression, wanted.position, wanted.keyword)
    return given is not None and given is argument


def _spelled(value: v.Value) -> str | None:
    """Return a constant as a text: ``True`` as it is written; None for other values."""
    if value.kind == v.EXTERNAL:
        return value.symbol
    return str(value.value) if value.kind == v.LITERAL else None
