"""The strings behind the engine that a statement goes through, where the code shows it.

A project may have engines for two databases, of which one has a driver that blocks: statements
through the other engine do not belong to its diagnostic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gblock.catalog.drivers import DriverArgument
from gblock.project.calls.queries import Sent
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.inferred import Inferred
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding
from gblock.project.reading.expressions import CallExpr, Expr, passed
from gblock.project.reading.summary import ModuleSummary

Source = tuple[str, Expr]
"""The file and the expression of a string that chooses a driver."""

_DEEPEST = 12
"""At most this many calls are followed from a statement to its engine."""


class Engines:
    """Follows the objects that send statements back to the calls that chose a driver.

    Args:
        inference: Type inference over the project.
        readings: The arguments that choose a driver.
    """

    def __init__(self, inference: Inference, readings: Iterable[DriverArgument]) -> None:
        self._inference = inference
        self._objects = _Objects(Inferred(inference), lenient=True)
        self._readings: dict[str, list[DriverArgument]] = {}
        for reading in readings:
            self._readings.setdefault(reading.symbol, []).append(reading)
        self._known: dict[tuple[Expr, Place, int], frozenset[Source]] = {}
        """By the part and the number of calls that are followed further: a chain of calls takes
        chains as arguments, and names stand for several of them."""

    def of(self, sent: Sent) -> frozenset[Source]:
        """Return the strings that chose the driver of a statement; none if that is not known."""
        return self._of(Part(sent.receiver, sent.place, (sent.row, sent.row)), _DEEPEST)

    def _of(self, part: Part, depth: int) -> frozenset[Source]:
        if part.expression is None or not depth:
            return frozenset()
        key = (part.expression, part.place, depth)
        known = self._known.get(key)
        if known is None:
            found: set[Source] = set()
            for one in self._objects.parts(part):
                if one.expression is not None and one.expression.tag == tags.CALL:
                    found |= self._called(one.expression, one, depth - 1)
            known = self._known[key] = frozenset(found)
        return known

    def _called(self, call: CallExpr, part: Part, depth: int) -> frozenset[Source]:
        """Return the strings behind what a call returns: those of its object, or its arguments."""
        symbols = self._inference.callees.called_symbols(call.callee, part.place)
        readings = [one for symbol in sorted(symbols) for one in self._readings.get(symbol, ())]
        given = [passed(call, one.position, one.keyword) for one in readings]
        if readings:
            return frozenset((part.place.path, one) for one in given if one is not None)
        callee = call.callee
        made_by = callee.base if callee is not None and callee.tag == tags.ATTRIBUTE else callee
        found = self._of(part.other(made_by), depth)
        if found:
            return found
        arguments = (*call.positional, *(value for _, value in call.keywords))
        return frozenset[Source]().union(*(self._of(part.other(one), depth) for one in arguments))


class _Objects(Texts):
    """Follows names to the calls that made their objects."""

    def _called(self, expression: CallExpr, part: Part) -> Iterator[Part]:
        """Yield the call itself, or what a function of the project returns."""
        functions = [
            value
            for value in self.declarations.values(expression.callee, part.place)
            if value.kind == v.FUNCTION
        ]
        if not functions:
            yield part
        for value in functions:
            scope = self.modules.summary(value.path).scopes[value.scope]
            for returned, at in (*scope.returns, *scope.yields):
                place = Place(value.path, value.scope, at)
                yield from self.parts(Part(returned, place, scope.rows))

    def binding(self, binding: Binding, summary: ModuleSummary) -> Iterator[Part]:
        """Yield the expressions that one binding assigns, or the one that it enters."""
        if binding.kind == kinds.ENTERED:
            place = Place(summary.filename, binding.scope, binding.path)
            yield from self.parts(Part(binding.value, place, (binding.row, binding.row)))
        else:
            yield from super().binding(binding, summary)
