"""Uses of originals: the calls that wait through what a module took before the patch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gblock.project.calls.queries import Sent
from gblock.project.calls.unpatched import Unpatched
from gblock.project.names.declarations import Use
from gblock.project.names.inference import Inference
from gblock.project.names.inferred import Inferred
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding
from gblock.project.reading.expressions import Expr, last_name
from gblock.project.reading.summary import ModuleSummary
from gblock.project.remarks.order import StartupEvent

_LONGEST_CHAIN = 8
"""At most this many names and expressions in a row are followed."""
_AROUND = frozenset(("partial", "staticmethod"))
"""Functions whose result calls their first argument."""


class Uses:
    """Finds the calls through a name that keeps an original, and of objects that it makes.

    Args:
        inference: Type inference over the project.
        unpatched: Finds the calls that block only without gevent's patch.
    """

    def __init__(self, inference: Inference, unpatched: Unpatched) -> None:
        self._declarations = Inferred(inference)
        self._unpatched = unpatched

    def of(self, kept: StartupEvent) -> tuple[Sent, ...]:
        """Return the calls in the file that keeps an original, in source order."""
        found = []
        for site in self._unpatched.of(kept.path, native_threads=False):
            call = site.call
            callee = call.expression.callee if call.node == "call" else call.expression
            if self._is_of(callee, site.place, kept, _LONGEST_CHAIN):
                symbol = site.found[0].symbol
                found.append(Sent(site.place, call.row, call.column, symbol))
        if kept.kind == "made" and self._unpatched.waits(f"{kept.symbol}.acquire"):
            found += self._entered(kept)
        return tuple(sorted(found, key=lambda one: (one.row, one.column)))

    def _entered(self, kept: StartupEvent) -> Iterator[Sent]:
        """Yield the ``with`` statements that acquire a lock which was made early."""
        for call in self._declarations.inference.modules.summary(kept.path).calls:
            if call.node == "with":
                place = Place(kept.path, call.scope, call.path)
                if self._is_of(call.expression, place, kept, _LONGEST_CHAIN):
                    yield Sent(place, call.row, call.column, f"{kept.symbol}.__enter__")

    def _is_of(self, expression: Expr, place: Place, kept: StartupEvent, depth: int) -> bool:
        """Return whether an expression is an original, its object, or a method of one."""
        if expression is None or not depth:
            return False
        depth -= 1
        if expression.tag == tags.NAME:
            use = self._declarations.use(expression.identifier, place)
            return use is not None and self._is_bound(use, kept, depth)
        if expression.tag == tags.ATTRIBUTE:
            if self._is_of(expression.base, place, kept, depth):
                return True
            uses = self._declarations.attribute(expression, place)
            return any(self._is_bound(use, kept, depth) for use in uses)
        inner: Iterable[Expr] = ()
        if expression.tag == tags.CALL:
            inner = (expression.callee,)
            if last_name(expression.callee) in _AROUND:
                inner = expression.positional[:1]
        elif expression.tag == tags.EITHER:
            inner = expression.elements
        return any(self._is_of(one, place, kept, depth) for one in inner)

    def _is_bound(self, use: Use, kept: StartupEvent, depth: int) -> bool:
        return any(self._binds(one, use.summary, kept, depth) for one in use.bindings)

    def _binds(
        self, binding: Binding, summary: ModuleSummary, kept: StartupEvent, depth: int
    ) -> bool:
        """Return whether a binding keeps the original, or binds what comes from it."""
        if (summary.filename, binding.row) == (kept.path, kept.row):
            if binding.kind != kinds.IMPORTED or binding.value.name == kept.name:
                return True
        if binding.kind != kinds.ASSIGNED and binding.kind != kinds.ENTERED:
            return False
        place = Place(summary.filename, binding.scope, binding.path)
        return self._is_of(binding.value, place, kept, depth)
