"""Branches: calls of a function whose arguments never come to a branch of it.

``if isinstance(rows, str): load(rows)`` loads nothing for a caller that gives a list, and
``if not model: return`` ends a call that leaves the model out.
"""

from __future__ import annotations

from collections.abc import Iterable

from gblock.project.calls.callers import Caller
from gblock.project.calls.visits import Visit
from gblock.project.names import values as v
from gblock.project.names.chosen import may_reach
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import Expr, last_name, passed
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
            if (call := one.expression) is None
            or not one.is_certain
            or (
                may_reach(scope, call, shift, visit.at)
                and all(
                    self._may_lead(passed(call, position, name), one, name, visit)
                    for name, position in tested
                )
            )
        ] or known

    def _may_lead(self, argument: Expr, caller: Caller, name: str, visit: Visit) -> bool:
        """Return whether an argument of a call for a parameter may lead to the statement."""
        if argument is None:
            return True
        values = self.inference.infer(argument, Place(caller.path, caller.scope, caller.at))
        if values == {v.NONE} and argument != tags.NONE:  # other callers give more than None
            return True
        here = Place(visit.path, visit.scope, visit.at)
        return self.inference.narrowing.may_reach(name, values, here)


def _is_bound(scope: Scope) -> bool:
    """Return whether a method takes its object, or its class, first."""
    return all(last_name(one) != "staticmethod" for one in scope.decorators)
