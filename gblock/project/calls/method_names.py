"""Names of methods: whether a call of one on an object of unknown type may run a certain method."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.reading.expressions import CallExpr, hides_arguments, last_name
from gblock.project.reading.summary import ModuleSummary, Scope

MOST_FILES = 12
"""A name in more files than this is common: it does not identify a method of unknown objects."""
_MOST_DEFINING = 150
"""If more files than this mention a name, the classes that define it are not compared."""
_COMMON = frozenset(
    "get set add pop append extend update items keys values copy clear remove insert index count "
    "sort join split strip format encode decode read write close open next send put start stop "
    "run call apply map filter find match search save delete create list all first".split()
)
"""Common names of methods: a call of one on an unknown object is no evidence."""
_PLAIN = frozenset({"abstractmethod", "classmethod", "override", "staticmethod"})
"""Last names of decorators after which a method takes the arguments that it declares."""


class MethodNames:
    """Finds out which methods a name identifies.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules

    def identifies(self, name: str, files: list[str], summary: ModuleSummary, index: int) -> bool:
        """Return whether a name identifies a method of a class, or of a family of classes.

        Either few files mention it, or it consists of several words and all classes that define it
        have a base of the project in common: ``run_query`` of a hundred drivers.

        Args:
            name: The name.
            files: The files that mention it.
            summary: The module of the method.
            index: The scope of the method.
        """
        owner = summary.scopes[index].parent
        if summary.scopes[owner].kind != "class" or name in _COMMON:
            return False
        if len(files) <= MOST_FILES:
            return True
        has_words = "_" in name.strip("_")
        return has_words and len(files) <= _MOST_DEFINING and self._is_of_family(name, files)

    def _is_of_family(self, name: str, files: list[str]) -> bool:
        """Return whether all classes that define a method have a class of the project in common."""
        common: set[tuple[str, int]] | None = None
        for path in files:
            summary = self.modules.summary(path)
            for scope in summary.scopes:
                if scope.kind != "function" or scope.name != name:
                    continue
                if summary.scopes[scope.parent].kind != "class":
                    continue
                above = {
                    (base.path, base.scope)
                    for base in self.inference.classes.ancestry(path, scope.parent)
                    if base.kind == v.CLASS
                }
                common = above if common is None else common & above
                if not common:
                    return False
        return bool(common)


def may_take(scope: Scope, call: CallExpr) -> bool:
    """Return whether a method has a parameter for each argument of a call on an object.

    A decorator may add arguments by position, and seldom takes one by a name of its own.
    """
    if hides_arguments(call):
        return True
    names = {last_name(one) for one in scope.decorators}
    kinds = [one.kind for one in scope.parameters]
    room = kinds.count("positional") - ("staticmethod" not in names)
    if names <= _PLAIN and "*" not in kinds and len(call.positional) > room:
        return False
    given = {name for name, _ in call.keywords}
    return "**" in kinds or given <= {one.name for one in scope.parameters}
