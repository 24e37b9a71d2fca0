"""Attributes that code sets on objects of others: ``app.db = connect()``, in any module."""

from __future__ import annotations

import re

from gblock.project.names import values as v
from gblock.project.names.expressions import Place, read_dotted
from gblock.project.names.values import NOTHING, Value, Values
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Binding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from gblock.project.names.inference import Inference
else:
    from gblock.lean import NamedTuple

_MOST_FILES = 8
"""In more files than this an attribute's name is set on so much that it says nothing."""
_MOST_OWNERS = 40
"""So many objects of which an attribute is set are asked for what they are."""


class _Set(NamedTuple):
    """Where an attribute is set on something that has a name."""

    path: str
    owner: str
    bindings: list[Binding]


class Outside:
    """Finds what sets an attribute from outside of the class."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._known: dict[str, list[_Set]] = {}

    def attribute(self, value: Value, name: str) -> Values:
        """Return what the project sets as an attribute on objects like this one.

        Args:
            value: An object, or a class, of the project or of a package.
            name: The attribute.
        """
        if name.startswith("__") or self.inference.modules.is_frugal:
            return NOTHING
        return self.inference.solved(("outside", value, name), lambda: self._attribute(value, name))

    def _attribute(self, value: Value, name: str) -> Values:
        found: set[Value] = set()
        for one in self._sets(name):
            first = one.bindings[0]
            place = Place(one.path, first.scope, first.path)
            owners = self.inference.infer(read_dotted(one.owner), place)
            if any(_is_like(owner, value) for owner in owners):
                for binding in one.bindings:
                    if binding.kind != tags.ELEMENT:
                        found |= self.inference.bound(binding, one.path)
        return frozenset(found)

    def _sets(self, name: str) -> list[_Set]:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = list(self._find(name))
        return known

    def _find(self, name: str) -> list[_Set]:
        modules = self.inference.modules
        word = re.escape(name.encode())
        written = re.compile(
            rb"%s(?:(?<=\.%s)[ \t]*(?::[^=\n]+)?=(?!=)|(?<=[\"']%s)[\"'][ \t]*[,\]])"
            % ((word,) * 3)
        )
        paths = [
            path
            for path in modules.mentioning(name, whole=True)
            if written.search(modules.data(path))
        ]
        found: list[_Set] = []
        for path in self.inference.calling.affordable(paths) if len(paths) <= _MOST_FILES else ():
            summary = modules.summary(path)
            for scope in summary.scopes if summary is not None else ():
                for (owner, attribute), bindings in scope.attributes.items():
                    if attribute == name and owner not in ("self", "cls"):
                        found.append(_Set(path, owner, bindings))
        return found if len(found) <= _MOST_OWNERS else []


def _is_like(owner: Value, value: Value) -> bool:
    """Return whether two values are, or are objects of, the same class or the same thing."""
    if value.kind in (v.EXTERNAL, v.INSTANCE):
        return bool(owner == value)
    return owner.kind != v.FUNCTION and v.comes_from(owner, value.path, value.scope)
