"""Visits: the functions that the search for contexts comes to on its way back from a call."""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.calls.dispatch import Dispatched
from gblock.project.calls.ways import Step
from gblock.project.names.values import ScopeValue
from gblock.project.reading.bindings import Path
from gblock.project.reading.summary import ModuleSummary


class Visit(NamedTuple):
    """A function on a path, and the steps from it towards the call."""

    path: str
    scope: int
    at: Path
    """The path of the statement in it that leads on."""
    steps: tuple[Step, ...]
    is_certain: bool
    beside: bool
    """True if other greenlets may run at the time of the call even at start-up: a ``while`` loop
    repeats it, or greenlets were started before, in any function of the path so far."""
    only: Dispatched | None = None
    """The calls of the function that lead on, if not all do."""
    is_kept: bool = False
    """True if a function is followed that this one defines and that something runs later."""
    is_lasting: bool = False
    """True if an object is followed that is made here, and that something uses later."""
    instance: ScopeValue | None = None
    """The class of the object whose method the function is, if a method that leads to the call is
    of a derived class."""

    @property
    def key(self) -> tuple[str, int, Dispatched | None, ScopeValue | None]:
        """The identity of a visit: a second one with the same finds nothing new."""
        return self.path, self.scope, self.only, self.instance


def step_in(summary: ModuleSummary, index: int) -> Step:
    """Return the step through a function, with its display name: ``Bus.send()``."""
    scope = summary.scopes[index]
    return Step(summary.filename, scope.rows[0], _written(summary, index))


def _written(summary: ModuleSummary, index: int) -> str:
    scope = summary.scopes[index]
    if scope.kind == "lambda":
        return "a lambda"
    owner = summary.scopes[scope.parent]
    return f"{owner.name}.{scope.name}()" if owner.kind == "class" else f"{scope.name}()"
