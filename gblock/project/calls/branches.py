"""Branches: calls of a function whose arguments never come to a branch of it.

``if isinstance(rows, str): load(rows)`` loads nothing for a caller that gives a list, and
``if not model: return`` ends a call that leaves the model out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gblock.project.calls.callers import Caller
from gblock.project.calls.visits import Visit
from gblock.project.names import values as v
from gblock.project.names.chosen import may_reach
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import Values
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import last_name, passed
from gblock.project.reading.summary import Scope


class Branches:
    """Finds the callers of a function that may come to a statement in it.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules

    def leading_to(self, callers: Iterable[Caller], visit: Visit) -> list[Caller]:
        """Return the callers of a function whose arguments may lead to the statement of a path.

        All of them, if the arguments of none do: some argument is not known in full.

        Args:
            callers: The calls of the function.
            visit: The function on the path.
        """
        known = list(callers)
        summary = self.modules.summary(visit.path)
        scope = summary.scopes[visit.scope]
        if not (scope.facts or scope.tests):
            return known
        shift = int(_is_bound(scope) and summary.scopes[scope.parent].kind == "class")
        tested = [
            (one.name, position - shift)
            for position, one in enumerate(scope.parameters)
            if position >= shift and any(x.reaches(visit.at) for x in scope.facts.get(one.name, ()))
        ]
        return [
            one
            for one in known
            if one.expression is None
            or not one.is_certain
            or (
                may_reach(scope, one.expression, shift, visit.at)
                and self._may_lead(one, visit, tested)
            )
        ] or known

    def _may_lead(self, caller: Caller, visit: Visit, tested: Iterable[tuple[str, int]]) -> bool:
        """Return whether the types of a call's arguments may lead to the statement."""
        there = Place(caller.path, caller.scope, caller.at)
        here = Place(visit.path, visit.scope, visit.at)
        return all(
            self.inference.narrowing.may_reach(name, values, here)
            for name, values in self._given(caller, tested, there)
        )

    def _given(
        self, caller: Caller, tested: Iterable[tuple[str, int]], there: Place
    ) -> Iterator[tuple[str, Values]]:
        """Yield the tested parameters for which a call gives an argument, with its values."""
        expression = caller.expression
        for name, position in tested:
            argument = passed(expression, position, name) if expression is not None else None
            if argument is None:
                continue
            values = self.inference.infer(argument, there)
            if values != {v.NONE} or argument == tags.NONE:  # other callers give more than None
                yield name, values


def _is_bound(scope: Scope) -> bool:
    """Return whether a method takes its object, or its class, first."""
    return all(last_name(one) != "staticmethod" for one in scope.decorators)
