"""Attributes that code outside the class sets: ``app.db = connect()``, in any module."""

from __future__ import annotations

import re
from itertools import islice

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, FileValue, ScopeValue, SymbolValue, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading.bindings import Binding
from gblock.project.reading.expressions import read_dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from gblock.project.names.inference import Inference
else:
    from gblock.lean import NamedTuple

_MOST_FILES = 8
"""An attribute that is set in more files than this is too common to follow."""
_REQUEST = re.compile(r"(?:self\.)?req(?:uest)?((?:\.(?:context|ctx|state))?)")
_MOST_OWNERS = 40
"""At most this many owners of an attribute are inferred."""


class _Set(NamedTuple):
    """An assignment to an attribute of a named object."""

    path: str
    owner: str
    bindings: list[Binding]


class Outside:
    """Finds the assignments to an attribute from outside the class."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._known: dict[str, list[_Set]] = {}

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
        wanted = _REQUEST.fullmatch(owner) if owner else None
        if wanted is None or name.startswith("__") or self.inference.modules.is_frugal:
            return NOTHING
        found: set[Value] = set()
        for one in self._sets(name):
            other = _REQUEST.fullmatch(one.owner)
            if other is not None and other[1] == wanted[1]:
                for binding in one.bindings:
                    if binding.kind != kinds.ELEMENT:
                        found |= self.inference.bound(binding, one.path)
        return frozenset(found)

    def _attribute(self, value: ScopeValue | SymbolValue | FileValue, name: str) -> Values:
        found: set[Value] = set()
        for one in self._sets(name):
            first = one.bindings[0]
            place = Place(one.path, first.scope, first.path)
            owners = self.inference.infer(read_dotted(one.owner), place)
            if any(_is_like(owner, value) for owner in owners):
                for binding in one.bindings:
                    if binding.kind != kinds.ELEMENT:
                        found |= self.inference.bound(binding, one.path)
                stored = [b for b in one.bindings if b.kind == kinds.ELEMENT]
                found |= self.inference.stored(stored, one.path)
        return frozenset(found)

    def bindings(self, value: SymbolValue, name: str) -> Iterator[tuple[str, Binding]]:
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

    def _find(self, name: str) -> list[_Set]:
        modules = self.inference.modules
        word = re.escape(name.encode())
        written = re.compile(
            rb"%s(?:(?<=\.%s)(?:[ \t]*(?::[^=\n]+)?=(?!=)|\[[^\]\n]*\][ \t]*=(?!=)|\.\w+\()"
            rb"|(?<=[\"']%s)[\"'][ \t]*[,\]])" % ((word,) * 3)
        )
        setting = (
            path
            for path in modules.mentioning(name, whole=True)
            if written.search(modules.data(path))
        )
        paths = list(islice(setting, _MOST_FILES + 1))
        found: list[_Set] = []
        for path in paths if len(paths) <= _MOST_FILES else ():
            summary = modules.summary(path)
            for scope in summary.scopes:
                for (owner, attribute), bindings in scope.attributes.items():
                    if attribute == name and owner not in ("self", "cls"):
                        found.append(_Set(path, owner, bindings))
        return found if len(found) <= _MOST_OWNERS else []


def _is_like(owner: Value, value: ScopeValue | SymbolValue | FileValue) -> bool:
    """Return whether two values are equal, or are objects of the same class."""
    if isinstance(value, (v.SymbolValue, v.FileValue)):
        return owner == value
    return owner.kind != v.FUNCTION and v.comes_from(owner, value.path, value.scope)
