"""Members that code collects from an object: ``inspect.getmembers(handlers)``, ``vars(Shop)``.

Tables of handlers are made of them, with no word of the single function. Where the code around
tests how a name starts, the other names are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from gblock.project.names import values as v
from gblock.project.names.keeping import Container
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ValueBinding
from gblock.project.reading.expressions import Expr, owner_of
from gblock.project.reading.summary import Call, ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

COLLECTING = frozenset({"getmembers", "getmembers_static", "vars", "dir", "globals"})
"""Last names of the functions that give all members of an object."""
_OF_ITEMS = ("items", "values")
"""Methods of ``Shop.__dict__`` that give all members."""
_DICT = "__dict__"
_WRITTEN = re.compile(
    rb"\b(?:getmembers(?:_static)?|vars|dir)\([^)]|\bglobals\(\)\s*\.|__dict__\s*\.\s*(?:items|values)\("
)
"""Calls that collect the members of something, as the code spells them."""
_DEEPEST = 3
"""Containers nested deeper than this are not searched for a function."""


class Members:
    """Finds the members that code collects, and the containers that it puts them into.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._possible: dict[tuple[str, int], list[str]] = {}
        self._tables: dict[str, dict[tuple[str, int], set[str]]] = {}

    # -- values

    def pairs(self, owner: Expr, place: Place) -> Values:
        """Return the pairs of names and functions that ``inspect.getmembers(owner)`` gives."""
        values = self.inference.infer(owner, place)
        known = dict(self._of(values, place))
        names = frozenset(v.literal(name) for name in known)
        held = NOTHING.union(*known.values())
        return v.holding(frozenset([v.TupleValue(v.TUPLE, (names, held))])) if known else NOTHING

    def mapping(self, values: Values, place: Place | None) -> Values:
        """Return the dict that ``vars(owner)`` gives, of a class or of a module.

        Args:
            values: The class or the module.
            place: The place of the call, whose tests of names count; None for no tests.
        """
        owners = frozenset(one for one in values if one.kind in (v.CLASS, v.MODULE))
        known = tuple(self._of(owners, place))
        return frozenset([v.MappingValue(v.MAPPING, known, NOTHING)]) if known else NOTHING

    def names(self, owner: Expr, place: Place) -> Values:
        """Return the list that ``dir(owner)`` gives."""
        known = dict(self._of(self.inference.infer(owner, place), place))
        return v.holding(frozenset(v.literal(name) for name in known)) if known else NOTHING

    def _of(self, values: Values, place: Place | None) -> Iterator[tuple[str, Values]]:
        starts = self._starts(place) if place is not None else ()
        heirs = [
            heir._replace(kind=v.OBJECT)
            for one in values
            if one.kind == v.OBJECT
            for heir in self.inference.calling.subclasses(one.path, one.scope)
        ]
        for value in sorted({*values, *heirs}, key=repr):
            for name in self.inference.classes.methods(value):
                if name.startswith(starts) if starts else not name.startswith("_"):
                    yield name, self.inference.attributes.named_values(value, name)

    def _starts(self, place: Place) -> tuple[str, ...]:
        """Return the texts with which names start, by the tests of the same function."""
        summary = self.modules.summary(place.path)
        calls = self.inference.calling.calls_by_name(place.path).get("startswith", ())
        found = []
        for call in calls:
            given = call.expression.positional[:1]
            if summary.frame(call.scope) == summary.frame(place.scope) and given:
                where = Place(place.path, call.scope, call.path)
                for value in self.inference.infer(given[0], where):
                    parts = NOTHING.union(*value.members) if value.kind == v.TUPLE else {value}
                    found += [str(one.value) for one in parts if one.kind == v.LITERAL]
        return tuple(sorted(one for one in found if one.strip("_")))

    # -- containers

    def containers(self, summary: ModuleSummary, index: int) -> set[Container]:
        """Return the containers that a collected function is put into.

        Args:
            summary: The module of the function.
            index: Its scope.
        """
        scope = summary.scopes[index]
        parent = summary.scopes[scope.parent]
        if scope.name.startswith("__") or parent.kind not in ("class", "module"):
            return set()
        found: set[Container] = set()
        for path in self._collecting(summary, scope.parent):
            names = self._table(path).get((summary.filename, index), ())
            found.update(Container(name, path) for name in names)
        return found

    def _table(self, path: str) -> dict[tuple[str, int], set[str]]:
        """Return for each function that a file collects the names of its containers."""
        found = self._tables.get(path)
        if found is None:
            found = self._tables[path] = {}
            summary = self.modules.summary(path)
            frames = {
                summary.frame(call.scope)
                for call in self._calls(path)
                if self.inference.infer(call.expression, Place(path, call.scope, call.path))
            }
            for frame in sorted(frames):
                for word, binding in _bound_in(summary, frame):
                    for function in _functions(self.inference.bound(binding, path), _DEEPEST):
                        found.setdefault((function.path, function.scope), set()).add(word)
        return found

    def _collecting(self, summary: ModuleSummary, parent: int) -> list[str]:
        """Return the files that may collect the members of a class, or of a module."""
        if not self._files:
            return []
        key = (summary.filename, parent)
        found = self._possible.get(key)
        if found is None:
            keeping = self.inference.keeping
            naming = [summary.filename, *keeping.naming_module(summary)]
            if parent:
                naming += keeping.naming_objects(summary, parent)
            found = [one for one in dict.fromkeys(naming) if one in self._files]
            self._possible[key] = found
        return found

    @cached_property
    def _files(self) -> frozenset[str]:
        """The files that collect members."""
        naming = {
            path
            for word in (*sorted(COLLECTING), _DICT)
            for path in self.modules.mentioning(word, whole=True)
        }
        return frozenset(one for one in naming if _WRITTEN.search(self.modules.data(one)))

    def _calls(self, path: str) -> Iterator[Call]:
        by_name = self.inference.calling.calls_by_name(path)
        for name in sorted(COLLECTING & by_name.keys()):
            yield from by_name[name]
        for call in (call for name in _OF_ITEMS for call in by_name.get(name, ())):
            base = owner_of(call.expression.callee)  # ``Shop.__dict__.items()``
            if base is not None and base.tag == tags.ATTRIBUTE and base.name == _DICT:
                yield call


def _functions(values: Values, depth: int) -> Iterator[v.FunctionValue]:
    """Yield the functions that are among values, or in containers among them."""
    for value in values:
        inner = v.unwrapped(value)
        if inner.kind == v.FUNCTION:
            yield inner
        elif depth and value.kind in (v.TUPLE, v.ELEMENTS, v.MAPPING):
            yield from _functions(v.contents(value), depth - 1)


def _bound_in(summary: ModuleSummary, frame: int) -> Iterator[tuple[str, ValueBinding]]:
    """Yield the names and attributes that the code of one function binds."""
    for scope in summary.scopes:
        for word, bindings in scope.bound():
            for binding in bindings:
                if (
                    word != kinds.ANY_NAME
                    and isinstance(binding, ValueBinding)
                    and summary.frame(binding.scope) == frame
                ):
                    yield word, binding
