"""Who calls a function, or hands it over, anywhere in the project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from gblock.project.names import values as v
from gblock.project.names.expressions import Place, functions_named, last_name, originals, unwrapped
from gblock.project.names.values import Value
from gblock.project.reading.summary import Call, Expr, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.project.names.inference import Inference

_RARE = 12
"""In more files than this a name is common: then only those near its definition are read."""
_MOST_FILES = 30
"""In more files than this a function is called with anything: only its own file is asked."""
ALLOWANCE = 60
"""How many files are read in search of callers, for each file that is inspected."""
_MOST_CALLERS = 60
"""How many calls of one function are asked for what they pass."""


class Calling:
    """Finds call sites, in as few files as can hold them."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._unspent = ALLOWANCE
        """How many files may still be read in search of callers."""
        self._calls: dict[str, dict[str, list[Call]]] = {}
        self._aliases: dict[str, dict[str | int, set[str]]] = {}
        self._written: dict[str, Callable[[bytes], object]] = {}
        """For names: searches a text for what calls, hands over or renames what they name."""
        self._named: dict[str, dict[str, bool]] = {}
        """For names: whether files hold that."""
        self._arguments: dict[str, dict[str, list[tuple[Call, int | None, Expr]]]] = {}
        self._callers: dict[tuple[str, int], list[tuple[Call, Place]]] = {}

    @contextmanager
    def budget(self, files: int) -> Iterator[None]:
        """Bound how many files the questions in this block may read in search of callers."""
        outer, self._unspent = self._unspent, files
        try:
            yield
        finally:
            self._unspent = outer

    def subclasses(self, path: str, index: int) -> list[Value]:
        """The classes of the project that name this class as a base."""
        summary = self.inference.modules.summary(path)
        if summary is None:
            return []
        name = summary.scopes[index].name
        target = v.ScopeValue(v.CLASS, path, index)
        written = re.compile(rb"class[ \t]+\w+[ \t]*\([^:]*\b%s\b" % name.encode())
        derived = [
            other
            for other in self.inference.modules.mentioning(name, whole=True)
            if written.search(self.inference.modules.data(other))
        ]
        found = []
        for other in self.affordable(derived if len(derived) <= _MOST_FILES else []):
            candidate = self.inference.modules.summary(other)
            for number, scope in enumerate(candidate.scopes if candidate else ()):
                if (
                    scope.kind == "class"
                    and scope.bases
                    and target in self.inference.classes.bases(other, number)
                ):
                    found.append(v.ScopeValue(v.CLASS, other, number))
        return found

    def callers(self, path: str, index: int) -> list[tuple[Call, Place]]:
        """The calls of a function, or of a class, anywhere in the project."""
        key = (path, index)
        found = self._callers.get(key)
        if found is None:
            found = self._callers[key] = []
            found.extend(self._find_callers(path, index))
        return found

    def _find_callers(self, path: str, index: int) -> list[tuple[Call, Place]]:
        summary = self.inference.modules.summary(path)
        if summary is None:
            return []
        scope = summary.scopes[index]
        target: Value
        if scope.kind == "class":
            target, word = v.ScopeValue(v.CLASS, path, index), scope.name
            names = {word, "cls"}
        elif scope.name == "__init__":
            owner = summary.scopes[scope.parent]
            target, word = v.ScopeValue(v.CLASS, path, scope.parent), owner.name
            names = {word, "__init__", "cls"}
        else:
            target, names, word = v.function(path, index), {scope.name}, scope.name
        if scope.kind not in ("class", "function"):
            return []
        found: list[tuple[Call, Place]] = []
        named = summary.scopes[scope.parent] if word != scope.name else scope
        for other in self.affordable(self._callable_from(path, named)):
            by_name = self.calls_by_name(other)
            aliases = self.aliases(other).get(scope.name, set())
            for name in sorted(names | aliases | self._derived(other, target)):
                for call in by_name.get(name, ()):
                    place = Place(other, call.scope, call.path)
                    if self._is_call_of(call, place, target):
                        found.append((call, place))
                        if len(found) >= _MOST_CALLERS:
                            return found
        return found

    def affordable(self, paths: list[str]) -> list[str]:
        """Those of some files that have been read, or may still be for the file in question."""
        found = []
        for path in paths:
            if not self.inference.modules.is_read(path):
                if self._unspent <= 0:
                    continue
                self._unspent -= 1
            found.append(path)
        return found

    def _derived(self, path: str, target: Value) -> set[str]:
        """The names of a module's classes that inherit the constructor of a class."""
        if target.kind != v.CLASS:
            return set()
        summary = self.inference.modules.summary(path)
        if summary is None:
            return set()
        return {
            scope.name
            for index, scope in enumerate(summary.scopes)
            if scope.kind == "class"
            and scope.bases
            and "__init__" not in scope.bindings
            and target in self.inference.classes.bases(path, index)
        }

    def _is_call_of(self, call: Call, place: Place, target: Value) -> bool:
        for value in self.inference.infer(call.expression.callee, place):
            if value.kind == target.kind and v.comes_from(value, target.path, target.scope):
                return True
            if target.kind == v.CLASS:
                if value.kind == v.CLASS and target in self.inference.classes.bases(
                    value.path, value.scope
                ):
                    return True
                if value.kind == v.FUNCTION and self._is_init_of(value, target):
                    return True
        return False

    def _is_init_of(self, function: Value, target: Value) -> bool:
        summary = self.inference.modules.summary(function.path)
        if summary is None or function.path != target.path:
            return False
        scope = summary.scopes[function.scope]
        return scope.name == "__init__" and bool(scope.parent == target.scope)

    def handovers(self, path: str, index: int) -> list[tuple[Call, Place, int | None]]:
        """The calls that take the function as an argument, and at which position."""
        summary = self.inference.modules.summary(path)
        if summary is None:
            return []
        scope = summary.scopes[index]
        named = scope.kind == "function"
        found: list[tuple[Call, Place, int | None]] = []
        for other in self._callable_from(path, scope):
            aliases = self.aliases(other).get(scope.name if named else index, set())
            for word in sorted({scope.name if named else "", *aliases}):
                for call, position, argument in self._arguments_named(other).get(word, ()):
                    place = Place(other, call.scope, call.path)
                    values = map(unwrapped, self.inference.infer(argument, place))
                    if any(x.kind == v.FUNCTION and v.comes_from(x, path, index) for x in values):
                        found.append((call, place, position))
        return found

    def aliases(self, path: str) -> dict[str | int, set[str]]:
        """Other names that a module gives to functions and classes, by name; a lambda's by scope.

        ``later = partial(f)`` and ``from module import f as later`` are told here by their names
        only; whoever asks looks what they mean.
        """
        found = self._aliases.get(path)
        if found is None:
            found = self._aliases[path] = {}
            summary = self.inference.modules.summary(path)
            for scope in summary.scopes if summary else ():
                for name, bindings in scope.bindings.items():
                    for binding in bindings:
                        for original in originals(binding):
                            found.setdefault(original, set()).add(name)
                for (_, name), bindings in scope.attributes.items():
                    for binding in bindings:
                        for original in originals(binding):
                            found.setdefault(original, set()).add(name)
        return found

    def _arguments_named(self, path: str) -> dict[str, list[tuple[Call, int | None, Expr]]]:
        """A module's arguments that can be a function, by its name; a lambda's is empty."""
        found = self._arguments.get(path)
        if found is None:
            found = self._arguments[path] = {}
            summary = self.inference.modules.summary(path)
            for call in summary.calls if summary else ():
                if call.node == "call":
                    _, _, positional, keywords = call.expression
                    for position, argument in enumerate(positional):
                        for name in functions_named(argument):
                            found.setdefault(name, []).append((call, position, argument))
                    for _, argument in keywords:
                        for name in functions_named(argument):
                            found.setdefault(name, []).append((call, None, argument))
        return found

    def _callable_from(self, path: str, scope: Scope) -> list[str]:
        """The files that can call a function by name: those that mention it and can have it."""
        if scope.kind != "function" and scope.kind != "class":
            return [path]
        modules = self.inference.modules
        if modules.is_frugal:
            return [path]
        tests = modules.is_test(path)  # they call the service with mocks, and one another
        naming = list(islice(self._naming(scope.name, tests), _RARE + 1))
        if len(naming) <= _RARE:
            return naming
        directory, name = os.path.split(path)
        stem = name.partition(".")[0]
        near = {path, *modules.mentioning(os.path.basename(directory), tests=tests, whole=True)}
        if stem != "__init__":
            near.update(modules.mentioning(stem, tests=tests, whole=True))
        naming = list(islice(self._naming(scope.name, tests, near), _MOST_FILES + 1))
        if len(naming) > _MOST_FILES:
            return [path] if self._names(scope.name, path) else []
        return naming

    def _naming(self, word: str, tests: bool, among: set[str] | None = None) -> Iterator[str]:
        """The files that write a name as if to call it, to hand it over or to rename it."""
        for path in self.inference.modules.mentioning(word, tests=tests, whole=True):
            if (among is None or path in among) and self._names(word, path):
                yield path

    def _names(self, word: str, path: str) -> bool:
        known = self._named.setdefault(word, {})
        if path not in known:
            if word not in self._written:
                name = re.escape(word.encode())
                # Literal first characters, and what stands before them later: see `triage`.
                used = rb"(?:\s*[(,)\]}]|[ \t]+as\b|[ \t\r]*$)"
                pattern = re.compile(rb"%s(?<!\w%s)%s" % (name, name, used), re.MULTILINE)
                self._written[word] = pattern.search
            known[path] = self._written[word](self.inference.modules.data(path)) is not None
        return known[path]

    def calls_by_name(self, path: str) -> dict[str, list[Call]]:
        """A module's calls by the last name of what is called."""
        found = self._calls.get(path)
        if found is None:
            found = self._calls[path] = {}
            summary = self.inference.modules.summary(path)
            for call in summary.calls if summary else ():
                if call.node == "call":
                    found.setdefault(last_name(call.expression.callee), []).append(call)
        return found
