"""Instances: the class of the object whose inherited method leads to a call.

A base class defines ``handle()``, which calls ``self.work()``. A path from the ``work()`` of a
derived class leads through ``handle()``, and from there only to calls on objects of that class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gblock.project.calls.callers import Caller
from gblock.project.calls.visits import Visit
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import ScopeValue
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import Expr, last_name
from gblock.project.reading.summary import ModuleSummary, Scope


class Instances:
    """Follows the object of a path from method to method.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules

    def leading_on(
        self, callers: Iterable[Caller], visit: Visit
    ) -> Iterator[tuple[Caller, ScopeValue | None]]:
        """Yield the callers of a function that may call it on the object of a path.

        Where no caller is known to, the type of some object is not known in full, and all count.

        Args:
            callers: The calls of the function.
            visit: The function on the path.

        Yields:
            A caller, and the class of the object if the caller is a method of the same object.
        """
        callers = list(callers)
        owner = self._owner(self.modules.summary(visit.path), visit.scope)
        known = visit.instance
        of_object = [one for one in callers if owner and self._may_be_on(one, known, owner)]
        for one in of_object or callers:
            yield one, self._kept(one, known, owner) if owner and of_object else None

    def _kept(
        self, caller: Caller, known: ScopeValue | None, owner: ScopeValue
    ) -> ScopeValue | None:
        """Return the class of the object if a caller calls a method of its own object."""
        own = self._of_own(caller)
        if own is None:
            return None
        if known is not None:
            return known
        return owner if own != owner and own in self._ancestry(owner) else None

    def _may_be_on(self, caller: Caller, known: ScopeValue | None, owner: ScopeValue) -> bool:
        """Return whether a call may be on an object of a class.

        Args:
            caller: The call.
            known: The class; None if it is not known.
            owner: The class whose method is called.
        """
        callee = caller.expression.callee if caller.expression is not None else None
        if known is None or callee is None or callee.tag != tags.ATTRIBUTE:
            return True
        own = self._of_own(caller)
        if own is not None:
            return not self._is_other(own, known, owner)
        place = Place(caller.path, caller.scope, caller.at)
        values = self.inference.infer(callee.base, place)
        return not values or any(
            one.kind not in (v.OBJECT, v.CLASS)
            or not self._is_other(v.ScopeValue(v.CLASS, one.path, one.scope), known, owner)
            for one in values
        )

    def _is_other(self, one: ScopeValue, known: ScopeValue, owner: ScopeValue) -> bool:
        """Return whether two classes derive from a third one, and neither from the other."""
        ancestry = self._ancestry(one)
        return owner in ancestry and known not in ancestry and one not in self._ancestry(known)

    def _of_own(self, caller: Caller) -> ScopeValue | None:
        """Return the class of a method that calls a method of its own object."""
        callee = caller.expression.callee if caller.expression is not None else None
        if callee is None or callee.tag != tags.ATTRIBUTE:
            return None
        summary = self.modules.summary(caller.path)
        index = summary.function_around(caller.scope)
        owner = self._owner(summary, index)
        if owner is None or not _is_own(callee.base, summary.scopes[index]):
            return None
        return owner

    def _owner(self, summary: ModuleSummary, index: int) -> ScopeValue | None:
        """Return the class of a method; None for a function."""
        if index == 0:
            return None
        parent = summary.scopes[index].parent
        if summary.scopes[parent].kind != "class":
            return None
        return v.ScopeValue(v.CLASS, summary.filename, parent)

    def _ancestry(self, one: ScopeValue) -> list[ScopeValue | v.SymbolValue]:
        return self.inference.classes.ancestry(one.path, one.scope)


def _is_own(base: Expr, scope: Scope) -> bool:
    """Return whether an expression is the object of a method: ``self``, ``cls`` or ``super()``."""
    if base is None:
        return False
    if base.tag == tags.CALL:
        return last_name(base.callee) == "super"
    first = scope.parameters[0].name if scope.parameters else None
    return base.tag == tags.NAME and base.identifier == first
