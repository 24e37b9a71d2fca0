"""Declarations of the project, found by inference: what owners of attributes and callees are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gblock.project.names import values as v
from gblock.project.names.classes import PROPERTIES
from gblock.project.names.declarations import Declarations, Use
from gblock.project.names.places import Place
from gblock.project.names.values import ScopeValue, Value
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import AttributeExpr, CallExpr, Expr
from gblock.project.reading.summary import Call, ModuleSummary

_NAMES = (tags.NAME, tags.ATTRIBUTE, tags.SUBSCRIPT)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference


class Inferred(Declarations):
    """Looks up what names, attributes and calls mean, by inference over the whole project.

    Args:
        inference: Type inference.
    """

    def __init__(self, inference: Inference) -> None:
        super().__init__(inference.modules, inference.definitions)
        self.inference = inference

    def values(self, expression: Expr, place: Place) -> Iterable[Value]:
        """Return the values that an expression can have, in a fixed order."""
        return sorted(self.inference.infer(expression, place), key=repr)

    def attribute(self, expression: AttributeExpr, place: Place) -> Iterator[Use]:
        """Yield the bindings of an attribute of a module, a class or an object."""
        for value in self.values(expression.base, place):
            if value.kind == v.EXTERNAL and value.symbol in self.inference.catalog.settings:
                for path in self.inference.outside.settings(expression.name):
                    use = self.of_module(path, expression.name)
                    if use is not None:
                        yield use
            elif value.kind == v.INSTANCE and not self.modules.is_frugal:
                yield from self._of_instance(value, expression.name, place)
            else:
                yield from self._attribute(value, expression.name, place)

    def enumerated(self, expression: Expr, place: Place) -> Iterator[Use]:
        """Yield the bindings of the members that an object may be: ``for one in Colour``."""
        for value in self.values(expression, place):
            if value.kind == v.OBJECT:
                for name in self.inference.enumerations.names(value):
                    yield from self._attribute(value, name, place)

    def _of_instance(self, value: v.SymbolValue, name: str, place: Place) -> Iterator[Use]:
        for path, binding in self.inference.outside.bindings(value, name):
            summary = self.modules.summary(path)
            stored = binding.kind in kinds.STORES
            bindings = [] if stored else [binding]
            stores = [binding] if stored else []
            yield Use(summary, binding.scope, bindings, stores, binding.path, place, name, ".")

    def bases(self, path: str, index: int) -> list[ScopeValue]:
        """Return the bases of a class that are classes of the project."""
        bases = sorted(self.inference.classes.bases(path, index), key=repr)
        return [base for base in bases if base.kind == v.CLASS]

    def is_property(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a function is a property."""
        return bool(self.inference.decorators(summary, index) & PROPERTIES)

    def fields(
        self, expression: AttributeExpr, place: Place
    ) -> Iterator[tuple[Expr, Place, tuple[int, int]]]:
        """Yield what generated constructors are passed for an attribute, such as a dataclass's."""
        for value in self.values(expression.base, place):
            if value.kind == v.OBJECT:
                for call, at, argument in self.inference.records.arguments(
                    value.path, value.scope, expression.name
                ):
                    yield argument, at, call.statement

    def literals(self, expression: Expr, place: Place) -> list[str]:
        """Return the constants that an expression can be, such as a loop variable's."""
        if expression is None or expression.tag not in _NAMES:
            return []
        values = self.inference.infer(expression, place)
        return sorted(
            str(one.value) for one in values if one.kind == v.LITERAL and one.value is not None
        )

    def callers(self, path: str, index: int) -> Iterable[tuple[Call, Place]]:
        """Return the calls of a function anywhere in the project."""
        return self.inference.calling.callers(path, index)

    def handed(self, path: str, index: int) -> Iterator[tuple[CallExpr, Place, tuple[int, int]]]:
        """Yield the arguments beside a function in calls that take it: ``partial(make, url)``."""
        for call, place, position in self.inference.calling.handovers(path, index):
            for expression, at in self.inference.parameters.beside(call, place, position):
                yield expression, at, call.statement
