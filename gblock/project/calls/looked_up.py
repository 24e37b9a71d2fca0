"""Functions that code looks up by a computed name: ``getattr(self, name)(order)``."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from gblock.project.calls.composed import ComposedNames
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import Value
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    call_of,
    dotted,
    last_name,
    owner_of,
)
from gblock.project.reading.summary import Call, ModuleSummary

_TAKING = ("getattr", "__getattribute__", "globals", "vars")
"""Functions that give something under a computed name."""
_TESTS = ("hasattr", "getattr")
"""Functions that find out whether a function has an attribute."""

_Taken = tuple[Call, Place, CallExpr]
"""A call of what a ``getattr`` gives, its place, and the ``getattr``."""
_Given = tuple[Call, Place, int, CallExpr]
"""A call that takes what a ``getattr`` gives, its place, the position of the argument, and the
``getattr``."""
_Class = tuple[str, int]
"""The module and the scope of a class."""


class LookedUp:
    """Finds the calls of what a ``getattr`` of a computed name gives.

    Args:
        inference: Type inference over the project.
        composed: Finds out which names an expression can compose.
    """

    def __init__(self, inference: Inference, composed: ComposedNames) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._composed = composed
        self._taking: dict[str, list[_Taken]] = {}
        self._giving: dict[str, list[_Given]] = {}

    def calls(
        self, summary: ModuleSummary, index: int, owners: Sequence[_Class]
    ) -> Iterator[tuple[str, Call, bool]]:
        """Yield the calls that may run a function or method.

        Where the possible names are known, the function's is one of them. What is only known to be
        of a base or a protocol may be an object of the class. A function may be taken of its
        module: ``getattr(views, endpoint)(request)``.

        Args:
            summary: The module.
            index: The function.
            owners: For a method its class, and those through which it may be called.

        Yields:
            The file of a call, the call, and whether it is known to spell the name.
        """
        scope = summary.scopes[index]
        if scope.name.startswith("_") or not self._files:
            return
        naming = self._naming(owners)
        module = None
        if scope.parent == 0:
            module = v.FileValue(v.MODULE, summary.filename)
            naming.update(dict.fromkeys(self.modules.mentioning(_stem(module.path), whole=True)))
        for path, call, place, taken in self._taken(naming, summary, index):
            values = self.inference.infer(taken.positional[0], place)
            if any(value == module or self._is_of(value, owners) for value in values):
                is_certain = self._spells(taken, scope.name, place)
                if is_certain is not None:
                    yield path, call, is_certain

    def given(
        self, summary: ModuleSummary, index: int, owners: Sequence[_Class]
    ) -> Iterator[tuple[Call, Place, int, Expr]]:
        """Yield the calls that take a method by a computed name: ``spawn(getattr(self, name))``.

        Args:
            summary: The module.
            index: The method.
            owners: Its class, and those through which it may be called.

        Yields:
            A call, its place, and the position and the expression of the argument.
        """
        scope = summary.scopes[index]
        if scope.name.startswith("_") or not self._files:
            return
        bases = self._bases(summary, index)
        for path in self._naming([*owners, *bases]):
            if path not in self._files:
                continue
            for call, place, position, taken in self._given_in(path):
                values = self.inference.infer(taken.positional[0], place)
                if any(
                    self._is_of(x, owners) or (x.kind == v.OBJECT and (x.path, x.scope) in bases)
                    for x in values
                ):
                    if self._spells(taken, scope.name, place) is not None:
                        yield call, place, position, call.expression.positional[position]

    def through_bases(self, summary: ModuleSummary, index: int) -> Iterator[tuple[str, Call, bool]]:
        """Yield the calls that may run a method of an object that is only known to be of a base.

        A base class dispatches requests to the methods of its heirs. If it tests for an attribute
        of the method, a decorator has to set it: ``getattr(method, "is_exposed", False)``.
        """
        scope = summary.scopes[index]
        if scope.name.startswith("_") or not self._files:
            return
        bases = self._bases(summary, index)
        for path, call, place, taken in self._taken(self._naming(bases), summary, index):
            values = self.inference.infer(taken.positional[0], place)
            heads = [
                value
                for value in values
                if value.kind == v.OBJECT and (value.path, value.scope) in bases
            ]
            if heads and (scope.decorators or not self._tests(call, place)):
                own = {name for one in heads for name in self.inference.classes.methods(one)}
                is_certain = self._spells(taken, scope.name, place, collected=own)
                if is_certain is not None:
                    yield path, call, is_certain

    def _bases(self, summary: ModuleSummary, index: int) -> list[_Class]:
        """Return the classes from which the class of a method derives."""
        above = self.inference.classes.ancestry(summary.filename, summary.scopes[index].parent)[1:]
        return [(base.path, base.scope) for base in above if base.kind == v.CLASS]

    def _naming(self, classes: Sequence[_Class]) -> dict[str, None]:
        """Return the files that mention some classes, or objects of them."""
        return {
            path: None
            for defined, inner in classes
            for path in self.inference.keeping.naming_objects(self.modules.summary(defined), inner)
        }

    def _taken(
        self, naming: dict[str, None], summary: ModuleSummary, index: int
    ) -> Iterator[tuple[str, Call, Place, CallExpr]]:
        """Yield the calls in some files of what is taken by a name, without those of a function."""
        for path in naming:
            if path in self._files:
                for call, place, taken in self._taken_in(path):
                    if (path, call.scope) != (summary.filename, index):
                        yield path, call, place, taken

    def _is_of(self, value: Value, owners: Sequence[_Class]) -> bool:
        """Return whether a value is an object of some classes."""
        return value.kind in (v.OBJECT, v.CLASS) and any(
            base.kind == v.CLASS and (base.path, base.scope) in owners
            for base in self.inference.classes.ancestry(value.path, value.scope)
        )

    def _spells(
        self, taken: CallExpr, name: str, place: Place, collected: Collection[str] = ()
    ) -> bool | None:
        """Return whether a ``getattr`` is known to spell a name; None if it spells others.

        Args:
            taken: The ``getattr``.
            name: The name.
            place: The place of the ``getattr``.
            collected: Names that ``dir()`` gives for one class, in place of those of its heirs.
        """
        spelled = taken.positional[1]
        names = {x.value for x in self.inference.infer(spelled, place) if x.kind == v.LITERAL}
        if name in names:
            return True
        if names and names.issubset(collected):
            return False
        if names and self.inference.certainty.is_complete(spelled, place):
            return None
        return None if self._composed.patterns(spelled, place) else False

    def _tests(self, call: Call, place: Place) -> bool:
        """Return whether the function around a call tests for an attribute of what is called."""
        callee, frame = dotted(call.expression.callee), self.modules.summary(place.path).frame
        by_name = self.inference.calling.calls_by_name(place.path)
        return any(
            len(one.expression.positional) > 1
            and dotted(one.expression.positional[0]) == callee
            and frame(one.scope) == frame(call.scope)
            for name in _TESTS
            for one in by_name.get(name, ())
        )

    def _taken_in(self, path: str) -> list[_Taken]:
        """Return the calls in a file of what a ``getattr`` of a computed name gives."""
        found = self._taking.get(path)
        if found is None:
            found = self._taking[path] = [
                (call, place, taken)
                for call, place in self._calls_in(path)
                for taken in self._taken_by(call.expression.callee, place)
            ]
        return found

    def _given_in(self, path: str) -> list[_Given]:
        """Return the arguments of a file's calls that a ``getattr`` of a computed name gives."""
        found = self._giving.get(path)
        if found is None:
            found = self._giving[path] = [
                (call, place, position, taken)
                for call, place in self._calls_in(path)
                for position, one in enumerate(call.expression.positional)
                for taken in self._taken_by(one, place)
            ]
        return found

    def _calls_in(self, path: str) -> Iterator[tuple[Call, Place]]:
        for call in self.modules.summary(path).calls:
            if call.node == "call":
                yield call, Place(path, call.scope, call.path)

    @cached_property
    def _files(self) -> frozenset[str]:
        """The files that may look something up."""
        mentioning = self.modules.mentioning
        return frozenset(path for word in _TAKING for path in mentioning(word, whole=True))

    def _taken_by(self, expression: Expr, place: Place) -> Iterator[CallExpr]:
        """Yield the calls of ``getattr`` with a computed name that an expression stands for.

        ``globals()[name]`` and ``vars(views).get(name)`` are written as such a call.
        """
        written = [expression]
        if expression is not None and expression.tag == tags.NAME:
            found = self.inference.scope_of(expression.identifier, place)
            bound = found[0].scopes[found[1]].bindings[expression.identifier] if found else ()
            written = [one.value for one in bound if one.kind == kinds.ASSIGNED]
        for one in written:
            taken = _out_of_object(one) or _out_of_namespace(one)
            if taken is not None:
                yield taken


def _out_of_object(expression: Expr) -> CallExpr | None:
    """Return what takes an attribute by a computed name, as a call of ``getattr``."""
    if expression is None or expression.tag != tags.CALL:
        return None
    given, owner = expression.positional, owner_of(expression.callee)
    if last_name(expression.callee) == "__getattribute__" and owner is not None:
        given = (owner, *given) if len(given) == 1 else given
    elif last_name(expression.callee) != "getattr":
        return None
    name = given[1] if len(given) > 1 else None
    if name is None or name.tag in (tags.CONSTANT, tags.TEXT):
        return None
    return call_of(None, given)


def _out_of_namespace(expression: Expr) -> CallExpr | None:
    """Return what takes a computed name out of a namespace, as a call of ``getattr``."""
    space = key = None
    if expression is not None and expression.tag == tags.SUBSCRIPT:
        space, key = expression.base, expression.key
    elif expression is not None and expression.tag == tags.CALL and expression.positional:
        if last_name(expression.callee) == "get":
            space, key = owner_of(expression.callee), expression.positional[0]
    if space is None or space.tag != tags.CALL or key is None:
        return None
    if key.tag in (tags.CONSTANT, tags.TEXT, tags.SLICE):
        return None
    if last_name(space.callee) == "globals":
        return call_of(None, (space, key))
    if last_name(space.callee) == "vars" and space.positional:
        return call_of(None, (space.positional[0], key))
    return None


def _stem(path: str) -> str:
    """Return the name by which other files import a module or a package."""
    directory, name = os.path.split(path)
    return os.path.basename(directory) if name == "__init__.py" else name.removesuffix(".py")
