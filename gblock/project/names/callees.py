"""Callees: the dotted names of the functions that a call runs, and the blockers among them."""

from __future__ import annotations

from collections.abc import Iterable

from gblock.catalog.blockers import Blocker
from gblock.project.names import values as v
from gblock.project.names.passing import PASS_THROUGH
from gblock.project.names.places import Place
from gblock.project.names.values import Values, unwrapped
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import Expr
from gblock.project.reading.summary import AnyCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_INIT = ".__init__"
IMPLIED = {
    "with": ("__enter__", "__exit__"),
    "for": ("__iter__",),
    "item": ("__getitem__",),
    "set-item": ("__setitem__",),
    "del-item": ("__delitem__",),
}
"""The methods that statements and subscripts call, by the node of the call."""


class Callees:
    """Resolves what a call runs outside the project.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def of_call(self, call: AnyCall, place: Place) -> list[str]:
        """Return the dotted names, in the catalog's spelling, of a call's possible callees."""
        if call.node == "with":
            return sorted(self._entering(call.expression, place))
        if call.node == "decorator":
            return []
        if call.node != "call":
            values = self.inference.infer(call.expression, place)
            return sorted(self.methods(values, IMPLIED[call.node][0]))
        return sorted(self.called_symbols(call.expression.callee, place))

    def _entering(self, expression: Expr, place: Place) -> set[str]:
        """Return the methods that ``with`` calls at the start and at the end of the block."""
        values = self.inference.infer(expression, place)
        wrappers: set[str] = set()
        if expression is not None and expression.tag == tags.CALL:
            wrappers = self.called_symbols(expression.callee, place) & PASS_THROUGH
        if wrappers:
            return self.methods(values, "close") if "contextlib.closing" in wrappers else set()
        return self.methods(values, "__enter__") | self.methods(values, "__exit__")

    def methods(self, values: Values, name: str) -> set[str]:
        """Return the dotted names of a method of some objects, if it is outside the project."""
        return {
            method.symbol
            for value in values
            if value.kind in (v.INSTANCE, v.OBJECT)
            for method in self.inference.attributes.named_values(value, name)
            if method.kind == v.EXTERNAL
        }

    def functions(self, values: Values) -> Values:
        """Return what calling some values runs: of an object of the project, its ``__call__()``."""
        found: set[v.Value] = set()
        for value in map(unwrapped, values):
            if value.kind == v.OBJECT:
                found |= self.inference.attributes.named_values(value, "__call__")
            else:
                found.add(value)
        return frozenset(found)

    def called_symbols(self, callee: Expr, place: Place) -> set[str]:
        """Return the dotted names of the functions that calling an expression runs."""
        found: set[str] = set()
        for value in self.inference.infer(callee, place):
            inner = unwrapped(value)
            if inner.kind == v.EXTERNAL:
                found.add(inner.symbol)
                if inner.symbol.endswith(_INIT):
                    found.add(inner.symbol[: -len(_INIT)])  # super().__init__()
            elif inner.kind == v.INSTANCE:
                found.add(f"{inner.symbol}.__call__")
            elif inner.kind == v.CLASS:
                found |= self.inference.classes.constructors(inner)
            elif inner.kind == v.OBJECT:
                for method in self.inference.attributes.named_values(inner, "__call__"):
                    if method.kind == v.EXTERNAL:
                        found.add(method.symbol)
            elif inner.kind == v.FUNCTION and self.inference.catalog.implemented:
                found |= self._implemented(inner)
        return found

    def _implemented(self, function: v.FunctionValue) -> set[str]:
        """Return the package's method that a method of the project implements: ``forward``."""
        summary = self.inference.modules.summary(function.path)
        scope = summary.scopes[function.scope]
        owners = self.inference.catalog.implemented.get(scope.name)
        if owners is None or summary.scopes[scope.parent].kind != "class":
            return set()
        return {
            f"{base.symbol}.{scope.name}"
            for base in self.inference.classes.ancestry(function.path, scope.parent)
            if base.kind == v.EXTERNAL
            if not owners.isdisjoint(self.inference.catalog.lineage(base.symbol))
        }

    def known_symbols(self, callee: Expr, place: Place) -> set[str] | None:
        """Return the names that `called_symbols` returns; None if the callee is unknown.

        An empty set means that only code of the project runs.
        """
        return self.called_symbols(callee, place) if self.inference.infer(callee, place) else None

    def blockers(self, symbols: Iterable[str]) -> list[tuple[str, Blocker]]:
        """Return the blockers among some symbols; none if one of them is cooperative."""
        found: list[tuple[str, Blocker]] = []
        for symbol in symbols:
            if self._is_cooperative(symbol):
                return []
            found += [(symbol, blocker) for blocker in self.inference.catalog.lookup(symbol)]
        return found

    def waits_cooperatively(self, symbol: str) -> bool:
        """Return whether calling a symbol was measured and lets the hub run."""
        owner, _, name = self.inference.catalog.canonical(symbol).rpartition(".")
        known = self.inference.catalog.cooperative
        return any(f"{base}.{name}" in known for base in self.inference.catalog.lineage(owner))

    def _is_cooperative(self, symbol: str) -> bool:
        if symbol.startswith("gevent.") and not self.inference.catalog.by_symbol.get(symbol):
            return True
        while symbol:
            if symbol in self.inference.catalog.by_symbol:
                return False
            if symbol in self.inference.catalog.cooperative:
                return True
            symbol = symbol.rpartition(".")[0]
        return False
