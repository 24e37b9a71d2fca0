"""What starts a function: a framework's decorator, its class, an argument, the place of its file.

Which decorators, classes and arguments these are is data of the catalog: ``[[entry]]``.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from gblock.catalog import Argument, Entry
from gblock.project.names import values as v
from gblock.project.names.expressions import Place, last_name, passed, unwrapped
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Call, Expr, ModuleSummary, Scope

_VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})


class Started(NamedTuple):
    """That something starts a function."""

    context: str
    framework: str
    label: str
    """What starts it, for a reader: ``POST /orders``."""
    is_certain: bool = True
    """Whether inference says so; if not, only the names fit."""


class Entries:
    """Answers what starts the functions of a project.

    Args:
        inference: What the project's expressions can be.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._mentioned: dict[str, bool] = {}
        self._applied: dict[tuple[str, int], list[Entry]] = {}

    @cached_property
    def _all(self) -> tuple[Entry, ...]:
        return tuple(filter(self._is_used, self.inference.catalog.entries))

    def _is_used(self, entry: Entry) -> bool:
        """Return whether the project mentions the package of a framework at all."""
        if entry.framework == "python":
            return True
        names = entry.imports or (entry.framework.replace("-", "_"),)
        for name in names:
            if name not in self._mentioned:
                self._mentioned[name] = bool(self.modules.mentioning(name, tests=True))
        return any(self._mentioned[name] for name in names)

    @cached_property
    def _by_decorator(self) -> dict[str, list[tuple[str, Entry]]]:
        found: dict[str, list[tuple[str, Entry]]] = {}
        for entry in self._all:
            for symbol in entry.decorators:
                found.setdefault(symbol.rpartition(".")[2], []).append((symbol, entry))
        return found

    @cached_property
    def _by_argument(self) -> dict[str, list[tuple[Argument, Entry]]]:
        found: dict[str, list[tuple[Argument, Entry]]] = {}
        for entry in self._all:
            for argument in entry.arguments:
                name = argument.symbol.rpartition(".")[2]
                found.setdefault(name, []).append((argument, entry))
        return found

    @cached_property
    def _of_classes(self) -> list[Entry]:
        return [entry for entry in self._all if entry.bases or entry.methods]

    @cached_property
    def _of_parameters(self) -> list[Entry]:
        return [e for e in self._all if e.parameters and not (e.bases or e.methods or e.files)]

    @cached_property
    def _of_files(self) -> list[tuple[re.Pattern[str], Entry]]:
        return [
            (re.compile("|".join(map(fnmatch.translate, entry.files))), entry)
            for entry in self._all
            if entry.files
        ]

    # -- one function

    def of(self, summary: ModuleSummary, index: int) -> list[Started]:
        """Return what starts a function, as its definition says it.

        Args:
            summary: The module.
            index: The function's scope.
        """
        scope = summary.scopes[index]
        found = [*self._decorated(summary, scope), *self._in_file(summary, scope.name)]
        if scope.kind == "function":
            found += self._with_parameters(scope, self._of_parameters)
            if summary.scopes[scope.parent].kind == "class":
                found += self._of_class(summary, scope)
        return found

    def of_module(self, summary: ModuleSummary) -> list[Started]:
        """Return what starts a module's own statements, as its place says it."""
        return self._in_file(summary, "")

    def _decorated(self, summary: ModuleSummary, scope: Scope) -> Iterable[Started]:
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            if decorator is None:
                continue
            called = decorator if decorator.tag == tags.CALL else None
            callee = decorator.callee if called is not None else decorator
            known = self._by_decorator.get(last_name(callee), ())
            for entry in self._behind(callee, place):
                label = _label(entry, called, last_name(callee), scope)
                yield Started(entry.context, entry.framework, label, is_certain=False)
            if not known:
                continue
            symbols = self.inference.callee_symbols(callee, place)
            is_known = bool(symbols) or bool(self.inference.infer(callee, place))
            for symbol, entry in known:
                is_certain = any(_fits(one, symbol) for one in symbols)
                if is_certain or (not is_known and "." in symbol and entry.framework != "python"):
                    label = _label(entry, called, last_name(callee), scope)
                    yield Started(entry.context, entry.framework, label, is_certain)
                    break

    def _behind(self, callee: Expr, place: Place) -> list[Entry]:
        """Return the entries of a framework's decorators that one of the project applies.

        ``def view(route): return framework_view(route, audit=True)`` starts what it decorates, and
        so does a class whose ``__call__`` puts the decorator on the function inside it.
        """
        found: dict[int, Entry] = {}
        for value in self.inference.infer(callee, place):
            inner = unwrapped(value)
            if inner.kind not in (v.FUNCTION, v.CLASS):
                continue
            key = (inner.path, inner.scope)
            if key not in self._applied:
                self._applied[key] = []  # A decorator that applies itself ends here.
                self._applied[key] = self._applied_in(*key)
            found.update((id(entry), entry) for entry in self._applied[key])
        return list(found.values())

    def _applied_in(self, path: str, index: int) -> list[Entry]:
        """Return the entries of the decorators that a function or class calls or applies."""
        summary = self.modules.summary(path)
        if summary is None:
            return []
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
                (one.callee if one.tag == tags.CALL else one, Place(path, scope.parent, scope.path))
                for one in scope.decorators
                if one is not None
            ]
        return [
            entry
            for callee, place in applied
            for applying in self.inference.callee_symbols(callee, place)
            for symbol, entry in self._by_decorator.get(applying.rpartition(".")[2], ())
            if _fits(applying, symbol)
        ]

    def _with_parameters(self, scope: Scope, entries: Iterable[Entry]) -> Iterable[Started]:
        names = tuple(name for name, *_ in scope.parameters)
        for entry in entries:
            count = len(entry.parameters)
            if names[-count:] == entry.parameters:
                yield Started(entry.context, entry.framework, f"{entry.context} {scope.name}()")

    def _of_class(self, summary: ModuleSummary, scope: Scope) -> Iterable[Started]:
        owner = summary.scopes[scope.parent]
        names = tuple(name for name, *_ in scope.parameters)
        for entry in self._of_classes:
            if not any(fnmatch.fnmatchcase(scope.name, one) for one in entry.methods or ("*",)):
                continue
            if entry.parameters and names[-len(entry.parameters) :] != entry.parameters:
                continue
            if scope.name == "__init__" and "__init__" not in entry.methods:
                continue
            certain = True
            if entry.bases:
                ancestry = self._ancestry(summary, scope.parent)
                certain = any(_fits(name, base) for name in ancestry for base in entry.bases)
                if not certain and not self._looks_like(summary, scope.parent, entry.bases):
                    continue
            label = f"{entry.context} {owner.name}.{scope.name}()"
            yield Started(entry.context, entry.framework, label, certain)

    def _ancestry(self, summary: ModuleSummary, index: int) -> set[str]:
        """Return the dotted names of a class's bases that are not the project's."""
        classes = self.inference.classes
        return {
            name
            for value in classes.ancestry(summary.filename, index)
            if value.kind == v.EXTERNAL
            for name in self.inference.catalog.lineage(value.symbol)
        }

    def _looks_like(self, summary: ModuleSummary, index: int, bases: tuple[str, ...]) -> bool:
        """Return whether a base that cannot be inferred has the name of one of some classes."""
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        for base in scope.bases:
            name = last_name(base)
            if name and not self.inference.infer(base, place):
                if any(fnmatch.fnmatchcase(name, one.rpartition(".")[2]) for one in bases):
                    return True
        return False

    def _in_file(self, summary: ModuleSummary, name: str) -> list[Started]:
        path = os.path.relpath(summary.filename, self.modules.root).replace(os.sep, "/")
        found = []
        for pattern, entry in self._of_files:
            if not pattern.match(path):
                continue
            if not entry.functions or any(fnmatch.fnmatchcase(name, o) for o in entry.functions):
                found.append(Started(entry.context, entry.framework, f"{entry.context} {path}"))
        return found

    # -- a function that is handed over

    def handed(
        self, call: Call, place: Place, position: int | None, argument: Expr
    ) -> list[Started]:
        """Return what starts a function because a call takes it as an argument.

        Args:
            call: The call.
            place: Where it stands.
            position: Which argument the function is, None for a keyword's.
            argument: The argument.
        """
        name = last_name(call.expression.callee)
        known = self._by_argument.get(name, ())
        if not known:
            return []
        symbols = self.inference.callee_symbols(call.expression.callee, place)
        found = []
        for one, entry in known:
            is_certain = any(_fits(symbol, one.symbol) for symbol in symbols)
            if not is_certain and (symbols or entry.framework == "python"):
                continue
            if not _is_argument(call, one, position, argument):
                continue
            label = _route(entry, call, name) or f"{entry.context} by {name}()"
            found.append(Started(entry.context, entry.framework, label, is_certain))
        return found


def _inside(summary: ModuleSummary, index: int) -> set[int]:
    """Return a scope and the scopes inside it."""
    found = {index}
    for number, scope in enumerate(summary.scopes):
        # A scope stands after the one around it.
        if number and scope.parent in found:
            found.add(number)
    return found


def _inside_call(summary: ModuleSummary, index: int) -> bool:
    """Return whether a scope is a ``__call__`` method, or lies in one."""
    while index > 0:
        if summary.scopes[index].name == "__call__":
            return True
        index = summary.scopes[index].parent
    return False


def _is_argument(call: Call, wanted: Argument, position: int | None, argument: Expr) -> bool:
    if position is not None and wanted.position is not None:
        return position == wanted.position
    given = passed(call.expression, wanted.position, wanted.keyword)
    return given is not None and given is argument


def _fits(symbol: str, pattern: str) -> bool:
    """Return whether a dotted name is what a pattern means.

    A pattern names a class where its package exports it; the class may be imported from the
    module that defines it, too: ``flask.blueprints.Blueprint.route`` is ``flask.Blueprint.route``.
    """
    if symbol == pattern:
        return True
    if "*" in pattern:
        return fnmatch.fnmatchcase(symbol, pattern)
    package, _, exported = pattern.partition(".")
    return (
        exported[:1].isupper()
        and symbol.startswith(f"{package}.")
        and symbol.endswith(f".{exported}")
    )


def _label(entry: Entry, called: Expr, name: str, scope: Scope) -> str:
    if called is not None:
        routed = _route_of(entry, called, name)
        if routed:
            return routed
    return f"{entry.context} {scope.name}()"


def _route(entry: Entry, call: Call, name: str) -> str:
    return _route_of(entry, call.expression, name)


def _route_of(entry: Entry, expression: Expr, name: str) -> str:
    """Return ``POST /orders`` for a call that names a route, else an empty string."""
    first = expression.positional[0] if expression.positional else None
    if entry.context != "request" or first is None or first.tag != tags.CONSTANT:
        return ""
    if not isinstance(first.value, str):
        return ""
    methods = [name.upper()] if name in _VERBS else []
    for key, value in expression.keywords:
        if key in ("methods", "method", "request_method") and value is not None:
            listed = value.elements if value.tag in (tags.SEQUENCE, tags.TUPLE) else (value,)
            methods = [str(o.value) for o in listed if o is not None and o.tag == tags.CONSTANT]
    return f"{'/'.join(methods) or 'GET'} {first.value}"
