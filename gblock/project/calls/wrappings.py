"""Wrappings: functions that a framework is given inside of what a decorator makes of them."""

from __future__ import annotations

from collections.abc import Iterator

from gblock.project.calls.receivers import Receivers
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import CallExpr, Expr, functions_named
from gblock.project.reading.summary import Call

_MADE = (tags.CALL, tags.NAME)
"""The arguments that may be what a call makes."""
_Function = tuple[str, int]
"""The module of a function, and its scope."""


class Wrappings:
    """Finds the calls that take what a decorator makes of a function.

    ``path("orders", csrf_exempt(login_required(orders)))``: a table of URLs starts the function.

    Args:
        inference: Type inference over the project.
        receivers: Finds what functions of the project do with a function that they are given.
    """

    def __init__(self, inference: Inference, receivers: Receivers) -> None:
        self.inference = inference
        self._receivers = receivers

    def of(self, path: str, index: int) -> Iterator[tuple[Call, Place, int | None, Expr]]:
        """Yield the calls, their places, and the position and expression of the argument."""
        calling, summary = self.inference.calling, self.inference.modules.summary(path)
        for one in calling.possible_handovers(path, index):
            _, place, _, argument = one
            # Most arguments are no calls, which is seen without inferring what they are.
            if argument is None or argument.tag not in _MADE:
                continue
            names = calling.names_in(place.path, summary, index)
            if self._wraps(argument, place, (path, index), names):
                if not self._is(argument, place, (path, index)):
                    yield one

    def _wraps(
        self,
        argument: Expr,
        place: Place,
        function: _Function,
        names: set[str],
        seen: frozenset[Place] = frozenset(),
    ) -> bool:
        """Return whether an argument is the result of calls that keep a function for later.

        Args:
            argument: The argument.
            place: Its place.
            function: The function.
            names: The names by which the module of the argument may mean it.
            seen: The assignments that the argument is in: ``place = staticmethod(place)`` in a
                class binds the name anew.
        """
        if argument is None:
            return False
        if argument.tag == tags.NAME:
            found = self.inference.scope_of(argument.identifier, place)
            bound = found[0].scopes[found[1]].bindings[argument.identifier] if found else ()
            if found is None or len(bound) != 1 or bound[0].kind != kinds.ASSIGNED:
                return False
            made, where = bound[0].value, Place(found[0].filename, bound[0].scope, bound[0].path)
            if made is None or made.tag != tags.CALL or where in seen:
                return False
            return self._wraps(made, where, function, names, seen | {where})
        if argument.tag != tags.CALL:
            return False
        return any(
            self._wraps(one, place, function, names, seen)
            or (
                not names.isdisjoint(functions_named(one))
                and self._is(one, place, function)
                and self._keeps(argument, place, function)
            )
            for one in argument.positional
        )

    def _keeps(self, made: CallExpr, place: Place, function: _Function) -> bool:
        """Return whether no function of the project runs the function while it wraps it."""
        return not any(
            (run.path, run.scope) == (one.path, one.scope)
            for one in self.inference.infer(made.callee, place)
            if one.kind == v.FUNCTION
            for run in self._receivers.runs(one, made, place, function)
        )

    def _is(self, argument: Expr, place: Place, function: _Function) -> bool:
        """Return whether an expression is a function, or a partial of it."""
        return v.includes(self.inference.infer(argument, place), v.FUNCTION, *function)
