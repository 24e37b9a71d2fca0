"""Receivers: functions and classes of the project that run a function that they are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gblock.project.calls.offloading import Offloading
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.keeping import Keeping
from gblock.project.names.places import Place
from gblock.project.names.values import unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import Expr, dotted
from gblock.project.reading.summary import Call

_FILES = 12
"""At most this many files are read in search of the calls of a function that an object keeps."""

Run: TypeAlias = tuple[str, int, Path]
"""A statement that runs a function: its file, the function around it, and its path."""


class Receivers:
    """Finds where a function runs that is given to another one, or to an object.

    Args:
        inference: Type inference over the project.
        offloading: Finds the parameters of functions.
        keeping: Finds the containers that keep a function.
    """

    def __init__(self, inference: Inference, offloading: Offloading, keeping: Keeping) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._offloading = offloading
        self._keeping = keeping

    def runs(
        self, callee: v.Value, call: Call, place: Place, given: tuple[str, int]
    ) -> Iterator[Run]:
        """Yield the calls of the parameter through which a project function gets a function.

        Args:
            callee: What is called, with the function as an argument.
            call: The call.
            place: Its place.
            given: The module and the scope of the function.
        """
        if callee.kind not in (v.FUNCTION, v.CLASS):
            return
        expression = call.expression
        for key, argument in (*enumerate(expression.positional), *expression.keywords):
            if not self._is_of(argument, place, given):
                continue
            if callee.kind == v.CLASS:
                yield from self._by_object(callee, key, given)
                continue
            name = self._offloading.parameter(callee, key)
            if name is not None:
                yield from self._by_parameter(callee, name)
                yield from self._out_of_container(callee, name, given)

    def _is_of(self, expression: Expr, place: Place, given: tuple[str, int]) -> bool:
        """Return whether an expression is a function, or a partial of it."""
        return any(
            unwrapped(value)[:3] == (v.FUNCTION, *given)
            for value in self.inference.infer(expression, place)
        )

    def _by_parameter(self, receiver: v.FunctionValue, name: str) -> Iterator[Run]:
        """Yield the calls that a function makes of its parameter."""
        summary = self.modules.summary(receiver.path)
        for inner in summary.calls:
            written = inner.expression.callee if inner.node == "call" else None
            if written is not None and written.tag == tags.NAME and written.identifier == name:
                if summary.is_within(inner.scope, receiver.scope):
                    yield receiver.path, summary.function_around(inner.scope), inner.path

    def _out_of_container(
        self, receiver: v.FunctionValue, name: str, given: tuple[str, int]
    ) -> Iterator[Run]:
        """Yield the calls of what a function puts into a container."""
        words = self._keeping.stored(receiver, name)
        for path, kept in self._keeping.callers(words, *given):
            yield path, self.modules.summary(path).function_around(kept.scope), kept.path

    def _by_object(
        self, owner: v.ScopeValue, key: int | str | None, given: tuple[str, int]
    ) -> Iterator[Run]:
        """Yield the calls of the attribute in which an object keeps a function that it is given."""
        for attribute in self._attributes(owner, key):
            for path in self.modules.mentioning(attribute, whole=True)[:_FILES]:
                for inner in self.inference.calling.calls_by_name(path).get(attribute, ()):
                    written = inner.expression.callee
                    if written is not None and written.tag == tags.ATTRIBUTE:
                        if self._is_of(written, Place(path, inner.scope, inner.path), given):
                            summary = self.modules.summary(path)
                            yield path, summary.function_around(inner.scope), inner.path

    def _attributes(self, owner: v.ScopeValue, key: int | str | None) -> list[str]:
        """Return the attributes that a constructor sets to one of its arguments."""
        made = owner._replace(kind=v.OBJECT)
        found = []
        methods = self.inference.classes.attribute(made, "__init__")
        for method in sorted((x for x in methods if x.kind == v.FUNCTION), key=repr):
            summary = self.modules.summary(method.path)
            name = self._offloading.parameter(method, key)
            found += [
                attribute
                for (_, attribute), bindings in summary.scopes[method.scope].attributes.items()
                if name is not None and any(dotted(one.value) == name for one in bindings)
            ]
        return found or self._fields(owner, key)

    def _fields(self, owner: v.ScopeValue, key: int | str | None) -> list[str]:
        """Return the fields that a constructor which is generated sets to an argument."""
        scope = self.modules.summary(owner.path).scopes[owner.scope]
        fields = [
            name
            for name, bindings in scope.bindings.items()
            if any(one.kind == kinds.ANNOTATED for one in bindings)
        ]
        if isinstance(key, int):
            return fields[key : key + 1]
        return [name for name in fields if name == key]
