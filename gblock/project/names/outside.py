"""Attributes that code outside the class sets: ``app.db = connect()``, in any module."""

from __future__ import annotations

import os
import re
from itertools import islice

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, FileValue, ScopeValue, SymbolValue, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading.bindings import Binding, ValueBinding
from gblock.project.reading.expressions import (
    CallExpr,
    call_of,
    constant,
    constant_of,
    last_name,
    passed,
    read_dotted,
)
from gblock.project.reading.summary import Call, Scope
from gblock.project.reading.word_index import is_listed, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import NamedTuple

    from gblock.catalog.libraries import AddedAttribute
    from gblock.project.names.inference import Inference
else:
    from gblock.lean import NamedTuple

_MOST_SETTING = 8
"""An attribute that is set in more files than this is too common to follow."""
_MOST_FILLING = 400
"""A container that more files put something into is not followed: each plug-in may do it."""
_REQUEST = re.compile(
    r"(?:self\.)?(?:req(?:uest)?|info\.context)((?:\.(?:context|ctx|state))?)|[\w.]+(\.registry)"
)
"""The names of a request, of its context, and of the registry that all requests share."""
_ASSIGNED = re.compile(
    rb"\.([\w\x80-\xff]+)(?=[ \t]*(?::[^=\n]+)?=(?!=)|\[[^\]\n]*\][ \t]*=(?!=)|\.\w+\()"
)
"""An attribute that is set, stored into, or changed by a method."""
_STORED = re.compile(
    rb"(?<![\w\x80-\xff])([\w\x80-\xff]+)(?=[\[.|+ \t])"
    rb"(?=(?:\[[^\]\n]*\]|\.\w+)+[ \t]*=(?!=)|[ \t]*[|+]="
    rb"|(?:\[[^\]\n]*\])*"
    rb"\.(?:append(?:left)?|add|extend|insert|put(?:_nowait)?|set(?:default)?|update)\()"
)
"""A container that something is put into."""
_GIVEN = re.compile(rb"[\"']([\w\x80-\xff]+)(?=[\"'][ \t]*[,\]])")
"""An attribute's name in quotes that a function is given, or a subscript."""
_SETTINGS = frozenset(("settings", "config", "conf", "configs", "environments", "envs"))
"""The names of settings modules, or of the directories with them."""
_MOST_ADDING = 12
"""At most this many files are searched for the calls that add an attribute to requests."""
_MOST_OWNERS = 40
"""At most this many owners of an attribute are inferred."""
_MOST_HANDED_ON = 3
"""A name is followed through at most this many packages that import it for others."""


class _Set(NamedTuple):
    """An assignment to an attribute of a named object."""

    path: str
    owner: str
    bindings: list[ValueBinding]


class Outside:
    """Finds the assignments to an attribute from outside the class.

    Args:
        inference: Type inference over the project.
    """

    OF_FILES = ("_known", "_named", "_filled")
    """The tables that the files alone decide."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._known: dict[str, list[_Set]] = {}
        self._named: dict[str, bytes] = {}
        self._filled: dict[str, bytes] = {}

    def attribute(self, value: ScopeValue | SymbolValue | FileValue, name: str) -> Values:
        """Return the values that the project assigns to an attribute of objects like this one.

        Args:
            value: An object, or a class, of the project or of a package; or a module.
            name: The attribute.
        """
        if name.startswith("__") or self.inference.modules.is_frugal:
            return NOTHING
        return self.inference.solved(("outside", value, name), lambda: self._attribute(value, name))

    def of_request(self, owner: str | None, name: str) -> Values:
        """Return the values that the project assigns to an attribute of requests.

        A framework passes the same request to middleware, hooks and views: they name it alike, and
        nothing else says that it is the same.

        Args:
            owner: The dotted name of what has the attribute: ``request``, ``req.context``.
            name: The attribute.
        """
        part = _part_of_request(owner)
        if part is None or name.startswith("__") or self.inference.modules.is_frugal:
            return NOTHING
        found: set[Value] = set()
        for one in self._sets(name):
            # ``config.registry["bus"] = bus`` stores in the `registry` of requests.
            if _part_of_request(one.owner) == part or name == "registry":
                found |= self._values(one)
        if not part and self.inference.catalog.adds:
            found |= self._added(name)
        return frozenset(found)

    def _added(self, name: str) -> Values:
        """Return the attribute that a call adds to requests: ``add_request_method(get, name)``."""
        adds, calling = self.inference.catalog.adds, self.inference.calling
        verbs = sorted({symbol.rpartition(".")[2] for symbol in adds})
        found: set[Value] = set()
        for path in self.inference.modules.mentioning(name, whole=True)[:_MOST_ADDING]:
            by_name = calling.calls_by_name(path)
            for call in (call for verb in verbs for call in by_name.get(verb, ())):
                place = Place(path, call.scope, call.path)
                symbols = self.inference.callees.called_symbols(call.expression.callee, place)
                known = [one for symbol, one in adds.items() if symbol in symbols]
                # The object that configures is often a parameter that nothing in the project fills.
                likely = [one for symbol, one in adds.items() if symbol.endswith(f".{_verb(call)}")]
                for one in known or (likely if not symbols else ()):
                    found |= self._made(one, call.expression, name, place)
        return frozenset(found)

    def _made(self, one: AddedAttribute, expression: CallExpr, name: str, place: Place) -> Values:
        """Return the attribute that a call adds, nothing if it adds another one."""
        function = passed(expression, one.position, one.keyword)
        written = passed(expression, one.name_position, one.name_keyword)
        if (last_name(function) if written is None else constant_of(written)) != name:
            return NOTHING
        values = self.inference.infer(function, place)
        said = {keyword for keyword, value in expression.keywords if value != constant(False)}
        if one.computed_by and said.isdisjoint(one.computed_by):
            return values
        called = self.inference.results.called
        return NOTHING.union(*(called(value, call_of(None, ()), place) for value in values))

    def put(self, path: str, name: str) -> Values:
        """Return the containers of what other modules put into one that a module's name holds.

        Args:
            path: The module.
            name: The name: ``from shop import drivers; drivers["pay"] = connect()``.
        """
        if name.startswith("__") or self.inference.modules.is_frugal:
            return NOTHING
        return self.inference.solved(("put", path, name), lambda: self._put(path, name))

    def _put(self, path: str, name: str) -> Values:
        found: set[Value] = set()
        for other, scope in self._scopes(name, self._filled_in, _MOST_FILLING):
            bindings = scope.bindings.get(name, ())
            if other != path and self._is_imported(bindings, other, path, name):
                found |= self._stores(bindings, other)
            for (owner, attribute), given in scope.attributes.items():
                if attribute == name and self._is_module(owner, given[0], other, path):
                    found |= self._stores(given, other)
        return v.united(frozenset(found))

    def namespace(self, path: str, name: str) -> Values:
        """Return the attributes that code sets on a namespace that a module's name holds."""
        if self.inference.modules.is_frugal:
            return NOTHING
        key = ("namespace", path, name)
        return self.inference.solved(key, lambda: self._namespace(path, name))

    def _namespace(self, path: str, name: str) -> Values:
        known = [
            (attribute, self._values(_Set(other, owner, given)))
            for other, scope in self._scopes(name, self._filled_in, _MOST_FILLING)
            for (owner, attribute), given in scope.attributes.items()
            if (owner == name and self._is_bound_by(other, name, path))
            or (
                owner.endswith(f".{name}")
                and self._is_module(owner.rpartition(".")[0], given[0], other, path)
            )
        ]
        return frozenset([v.MappingValue(v.MAPPING, (one,), NOTHING) for one in known if one[1]])

    def _scopes(
        self, name: str, words: Callable[[str], bytes], most: int
    ) -> Iterator[tuple[str, Scope]]:
        """Yield the scopes of a few files that mention a name, each with its file.

        Args:
            name: The name.
            words: Returns the names of a file that count.
            most: If more files mention it, none count.
        """
        modules = self.inference.modules
        mentioning = modules.mentioning(name, whole=True)
        counting = (path for path in mentioning if is_listed(name, words(path)))
        paths = list(islice(counting, most + 1))
        for path in paths if len(paths) <= most else ():
            for scope in modules.summary(path).scopes:
                yield path, scope

    def _stores(self, bindings: Sequence[Binding], path: str) -> Values:
        """Return the containers of what is stored under a name of a file."""
        return self.inference.stored([b for b in bindings if b.kind in kinds.STORES], path)

    def _is_module(self, owner: str, binding: Binding, importer: str, path: str) -> bool:
        """Return whether the owner of an attribute that a file sets is a module."""
        if owner in ("self", "cls"):
            return False
        place = Place(importer, binding.scope, binding.path)
        return v.FileValue(v.MODULE, path) in self.inference.infer(read_dotted(owner), place)

    def _is_imported(
        self, bindings: Sequence[Binding], importer: str, path: str, name: str
    ) -> bool:
        """Return whether a scope of a file has a module's name by an import, or by ``*``."""
        if any(self._is_from(one, importer, path, name) for one in bindings):
            return True
        modules = self.inference.modules
        stars = modules.summary(importer).star_imports if bindings else ()
        return any(
            modules.resolve(one.value[0], one.value[2], importer) == path
            for one in stars
            if all(binding.kind in kinds.STORES for binding in bindings)
        )

    def _is_bound_by(self, importer: str, name: str, path: str) -> bool:
        """Return whether a file's name is that of a module, which may be the file itself."""
        if importer == path:
            return True
        scopes = self.inference.modules.summary(importer).scopes
        return any(
            self._is_from(binding, importer, path, name)
            for scope in scopes
            for binding in scope.bindings.get(name, ())
        )

    def _is_from(
        self, binding: Binding, importer: str, path: str, name: str, depth: int = _MOST_HANDED_ON
    ) -> bool:
        """Return whether an import gets a module's name, perhaps from a package that imports it."""
        if binding.kind != kinds.IMPORTED or binding.value[1] != name:
            return False
        modules = self.inference.modules
        found = modules.resolve(binding.value[0], binding.value[2], importer)
        if found is None or found == path or not depth or not modules.is_module(found):
            return found == path
        return any(
            self._is_from(one, found, path, name, depth - 1)
            for one in modules.summary(found).scopes[0].bindings.get(name, ())
        )

    def _filled_in(self, path: str) -> bytes:
        """Return the last names of the containers that a file puts something into."""
        found = self._filled.get(path)
        if found is None:
            names = set(_STORED.findall(self.inference.modules.data(path)))
            found = self._filled[path] = listed(names)
        return found

    def of_settings(self, name: str) -> Values:
        """Return what the project's settings modules assign to a name."""
        found = (self.inference.imports.name(path, name) for path in self.settings(name))
        return NOTHING.union(*found)

    def settings(self, name: str) -> Iterator[str]:
        """Yield the files of the project's settings modules that bind a name."""
        modules = self.inference.modules
        if not name.isupper() or modules.is_frugal:
            return
        for path in modules.mentioning(name, whole=True):
            stem = os.path.basename(path).partition(".")[0]
            around = os.path.basename(os.path.dirname(path))
            if {stem, around}.isdisjoint(_SETTINGS) and not stem.endswith("settings"):
                continue
            if name in modules.summary(path).scopes[0].bindings:
                yield path

    def _values(self, one: _Set) -> Values:
        """Return what an assignment gives an attribute, or stores in it."""
        found: set[Value] = set()
        for binding in one.bindings:
            if binding.kind not in kinds.STORES:
                found |= self.inference.bound(binding, one.path)
        stored = [binding for binding in one.bindings if binding.kind in kinds.STORES]
        return frozenset(found) | self.inference.stored(stored, one.path)

    def _attribute(self, value: ScopeValue | SymbolValue | FileValue, name: str) -> Values:
        found: set[Value] = set()
        for one in self._sets(name):
            first = one.bindings[0]
            place = Place(one.path, first.scope, first.path)
            owners = self.inference.infer(read_dotted(one.owner), place)
            if any(_is_like(owner, value) for owner in owners):
                found |= self._values(one)
        return frozenset(found)

    def bindings(self, value: SymbolValue, name: str) -> Iterator[tuple[str, ValueBinding]]:
        """Yield the assignments to an attribute of objects of a package, each with its file.

        Args:
            value: The object: ``app`` of ``app.config["DATABASE"] = url``.
            name: The attribute.
        """
        for one in self._sets(name):
            first = one.bindings[0]
            place = Place(one.path, first.scope, first.path)
            if value in self.inference.infer(read_dotted(one.owner), place):
                yield from ((one.path, binding) for binding in one.bindings)

    def _sets(self, name: str) -> list[_Set]:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = list(self._find(name))
        return known

    def _set_in(self, path: str) -> bytes:
        """Return the names of the attributes that a file may set."""
        found = self._named.get(path)
        if found is None:
            data = self.inference.modules.data(path)
            found = listed({*_ASSIGNED.findall(data), *_GIVEN.findall(data)})
            self._named[path] = found
        return found

    def _find(self, name: str) -> list[_Set]:
        found = [
            _Set(path, owner, bindings)
            for path, scope in self._scopes(name, self._set_in, _MOST_SETTING)
            for (owner, attribute), bindings in scope.attributes.items()
            if attribute == name and owner not in ("self", "cls")
        ]
        return found if len(found) <= _MOST_OWNERS else []


def _part_of_request(owner: str | None) -> str | None:
    """Return what an owner is of a request: ``.context``, or an empty text for the request."""
    found = _REQUEST.fullmatch(owner) if owner else None
    return None if found is None else found[1] or found[2] or ""


def _verb(call: Call) -> str:
    return last_name(call.expression.callee)


def _is_like(owner: Value, value: ScopeValue | SymbolValue | FileValue) -> bool:
    """Return whether two values are equal, or are objects of the same class."""
    if isinstance(value, (v.SymbolValue, v.FileValue)):
        return owner == value
    return owner.kind != v.FUNCTION and v.comes_from(owner, value.path, value.scope)
