"""Uses of an object or an attribute that run a function, though no call is written.

``stock = property(count)`` and ``shop.stock``, ``user = LocalProxy(load)`` and ``user.name``,
``shop["tea"]`` where the class of `shop` has a ``__getitem__()`` method.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ValueBinding
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    last_name,
    passed,
    read_dotted,
    without_arguments,
)
from gblock.project.reading.summary import ModuleSummary

PROPERTIES = frozenset({"property", "cached_property", "reify", "hybrid_property", "lazy"})
"""Last names of decorators that make a method run where its attribute is read."""
_PATTERNS = {
    "__getitem__": rb"%s\[",
    "__setitem__": rb"%s\[[^\]\n]*\]\s*=[^=]",
    "__delitem__": rb"\bdel\s+%s\[",
    "__contains__": rb"\bin\s+%s\b",
    "__len__": rb"\blen\(\s*%s\s*\)",
    "__str__": rb"\b(?:str|format|print)\(\s*%s\s*[,)]|\{%s[!:}]",
    "__eq__": rb"%s\s*[!=]=|[!=]=\s*%s\b",
    "__getattr__": rb"%s\.(?P<attribute>\w+)",
}
"""By special method, a pattern of the text that calls it; ``%s`` stands for an object's name."""
_DOTTED = rb"(?<![\w.])(?P<owner%d>(?:\w+\.)*%s)\b"
_MOST_FILES = 12
"""At most this many files are searched for the uses of one object."""


class ImpliedCall(NamedTuple):
    """A place that runs a function implicitly."""

    path: str
    scope: int
    """The function around it."""
    row: int


class Implied:
    """Finds the uses that run a function.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._proxies: dict[str, list[tuple[str, CallExpr, Place]]] = {}

    def properties(self, summary: ModuleSummary, index: int) -> Iterator[tuple[str, bool]]:
        """Yield the properties that a class makes of a method or lambda by a call.

        ``stock = property(count, set_count)``; the call may be an argument of another one.

        Yields:
            The attribute, and whether the method runs where it is set.
        """
        scope = summary.scopes[index]
        owner = summary.scopes[scope.parent]
        for name, bindings in owner.bindings.items() if owner.kind == "class" else ():
            for binding in bindings:
                value = binding.value if isinstance(binding, ValueBinding) else None
                for call in _properties_in(value):
                    for position, keyword in enumerate(("fget", "fset")):
                        given = passed(call, position, keyword)
                        if given is not None and _means(given, scope.name, index):
                            yield name, bool(position)

    def of_proxies(self, summary: ModuleSummary, index: int) -> Iterator[ImpliedCall]:
        """Yield the uses of a name whose object runs a function to find out what it stands for.

        ``user = LocalProxy(load)``, and elsewhere ``user.name``.
        """
        scope = summary.scopes[index]
        files = [summary.filename]
        if scope.kind == "function":
            files += self.modules.naming(scope.name, summary.filename, _MOST_FILES)
        for path in dict.fromkeys(files):
            for name, made, place in self._made(path):
                if self._stands_for(made, place, summary, index):
                    yield from self._uses(path, name)

    def _made(self, path: str) -> list[tuple[str, CallExpr, Place]]:
        """Return the names of a module that hold what a call of a proxy's name makes."""
        found = self._proxies.get(path)
        if found is None:
            found = self._proxies[path] = [
                (name, one.value, Place(path, one.scope, one.path))
                for name, bindings in self.modules.summary(path).scopes[0].bindings.items()
                for one in bindings
                if one.kind == kinds.ASSIGNED
                and isinstance(one.value, CallExpr)
                and last_name(one.value.callee) in self._makers
            ]
        return found

    @cached_property
    def _makers(self) -> frozenset[str]:
        """The last names of the calls that are given what makes their result."""
        return frozenset(one.rpartition(".")[2] for one in self.inference.catalog.chosen)

    def _stands_for(self, made: CallExpr, place: Place, summary: ModuleSummary, index: int) -> bool:
        """Return whether a call of a proxy takes a function."""
        if not any(_means(one, summary.scopes[index].name, index) for one in made.positional):
            return False
        chosen = self.inference.catalog.chosen
        for symbol in self.inference.callees.called_symbols(made.callee, place):
            argument = chosen.get(symbol)
            given = passed(made, argument.position, argument.keyword) if argument else None
            values = self.inference.infer(given, place)
            if v.includes(values, v.FUNCTION, summary.filename, index):
                return True
        return False

    def _uses(self, path: str, name: str) -> Iterator[ImpliedCall]:
        """Yield the uses of a name of a module in functions, of those that import it, too."""
        for other in [path, *self.modules.naming(name, path, _MOST_FILES)]:
            summary = self.modules.summary(other)
            word = rb"(?<![\w.])%s\b" % re.escape(name).encode()
            for row in _rows(self.modules.data(other), word):
                scope = scope_at(summary, row)
                bound = [x for x in (scope, 0) if name in summary.scopes[x].bindings]
                kind = summary.scopes[bound[0]].bindings[name][0].kind if bound else ""
                if scope and (kind == kinds.IMPORTED or (other == path and bound == [0])):
                    yield ImpliedCall(other, scope, row)

    def of_operators(self, summary: ModuleSummary, index: int) -> Iterator[ImpliedCall]:
        """Yield the uses of objects that call a special method: ``shop["tea"]``.

        Args:
            summary: The module of the method.
            index: Its scope.
        """
        scope = summary.scopes[index]
        pattern = _PATTERNS.get(scope.name)
        if pattern is None:
            return
        keeping = self.inference.keeping
        owners = {(summary.filename, scope.parent)}
        heirs = self.inference.calling.subclasses(summary.filename, scope.parent)
        owners.update((one.path, one.scope) for one in heirs)
        files = keeping.naming_objects(summary, scope.parent)
        names: set[str] = set()
        for path, inner in sorted(owners):
            cls = self.modules.summary(path).scopes[inner].name
            names.update(*(keeping.holders(file, cls, everywhere=True) for file in files))
        for file in files if names else ():
            other = self.modules.summary(file)
            for owner, attribute, row in _owners(self.modules.data(file), pattern, sorted(names)):
                inside = scope_at(other, row)
                if (file, inside) == (summary.filename, index):
                    continue
                place = Place(file, inside, END)
                if any(
                    one.kind == v.OBJECT
                    and (one.path, one.scope) in owners
                    and not (attribute and self._has(one, attribute))
                    for one in self.inference.infer(read_dotted(owner), place)
                ):
                    yield ImpliedCall(file, inside, row)

    def _has(self, value: v.ScopeValue, name: str) -> bool:
        """Return whether the classes of an object define an attribute, or set it on ``self``."""
        set_by_self = f"self.{name}".encode()
        return any(
            name in self.modules.summary(base.path).scopes[base.scope].bindings
            or set_by_self in self.modules.data(base.path)
            for base in self.inference.classes.ancestry(value.path, value.scope)
            if base.kind == v.CLASS
        )


def scope_at(summary: ModuleSummary, row: int) -> int:
    """Return the innermost function around a row, 0 for the module."""
    best = 0
    for index, scope in enumerate(summary.scopes):
        if index and scope.kind == "function" and scope.rows[0] <= row <= scope.rows[1]:
            best = index
    return best


def _properties_in(value: Expr) -> Iterator[CallExpr]:
    """Yield the calls of ``property`` in an expression."""
    if value is None or value.tag != tags.CALL:
        return
    if last_name(without_arguments(value)) in PROPERTIES:
        yield value
    for one in (*value.positional, *(given for _, given in value.keywords)):
        yield from _properties_in(one)


def _means(expression: Expr, name: str, index: int) -> bool:
    """Return whether an expression is a function by its name, or a lambda."""
    if expression is None:
        return False
    if expression.tag == tags.LAMBDA:
        return expression.scope == index
    return bool(name) and last_name(expression) == name


def _rows(data: bytes, pattern: bytes) -> Iterator[int]:
    """Yield the rows of the matches of a pattern, each once."""
    last = 0
    for match in re.finditer(pattern, data):
        row = data.count(b"\n", 0, match.start()) + 1
        if row != last:
            yield row
        last = row


def _owners(data: bytes, pattern: bytes, names: list[str]) -> Iterator[tuple[str, str, int]]:
    """Yield the objects with some names that a pattern of a use matches, and the rows.

    With each the attribute that the pattern matches, or an empty text.
    """
    word = b"(?:%s)" % b"|".join(re.escape(name).encode() for name in names)
    count = pattern.count(b"%s")
    parts = tuple(_DOTTED % (number, word) for number in range(count))
    for match in re.finditer(pattern % parts, data):
        groups = match.groupdict()
        attribute = groups.pop("attribute", None) or b""
        owner = next(one for one in groups.values() if one)
        yield owner.decode(), attribute.decode(), data.count(b"\n", 0, match.start()) + 1
