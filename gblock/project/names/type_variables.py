"""Type variables of the project's generic classes: ``class Repository(Generic[T])``.

A variable stands for what the code writes in the brackets of the class: ``Repository[Client]`` as
the base of another class, as an annotation, or where an object is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, ScopeValue, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import Expr, last_name, listed
from gblock.project.reading.summary import ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

VARIABLES = frozenset([v.instance("typing.TypeVar"), v.instance("typing_extensions.TypeVar")])
"""Values of the name of a type variable."""
_DECLARING = ("Generic", "Protocol")
"""The bases whose brackets give the order of a class's type variables."""
_MOST_FILES = 12
"""If more files mention a generic class, only the annotations of those near it are read."""
_MOST_TYPES = 4
"""A variable that stands for more types than this is unknown."""


class TypeVariables:
    """Finds the types that a class's type variables stand for.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def given(self, name: str, place: Place) -> Values:
        """Return the objects that a type variable stands for in a class.

        Args:
            name: The variable.
            place: A place in the class, or in a method of it; its receiver counts, if it is known.
        """
        summary = self.inference.modules.summary(place.path)
        index = summary.class_around(place.scope)
        names = self._variables(summary, index) if index > 0 else []
        if name not in names:
            return NOTHING
        cls, position = v.ScopeValue(v.CLASS, place.path, index), names.index(name)
        key = ("type variable", cls, position, place.receiver)
        return self.inference.solved(key, lambda: self._given(cls, position, place.receiver))

    def _given(self, cls: ScopeValue, position: int, receiver: ScopeValue | None) -> Values:
        if receiver is not None:
            derived = receiver._replace(kind=v.CLASS)
            written = self._argument(derived, cls, position) if derived != cls else None
            if written is not None:
                return self.inference.annotations.annotated(*written)
        found: set[v.Value] = set()
        for heir in self.inference.calling.subclasses(cls.path, cls.scope):
            written = self._argument(heir, cls, position)
            found |= self.inference.annotations.annotated(*written) if written else NOTHING
        types = {self.inference.annotations.annotated(*one) for one in self._uses(cls, position)}
        types.discard(NOTHING)
        if len(types) == 1:  # of several, which one an object has is unknown
            found |= types.pop()
        return frozenset(found) if len(found) <= _MOST_TYPES else NOTHING

    def _variables(self, summary: ModuleSummary, index: int) -> list[str]:
        """Return the type variables of a class in the order of its brackets."""
        written = [
            (last_name(base.base), listed(base.key))
            for base in summary.scopes[index].bases
            if base is not None and base.tag == tags.SUBSCRIPT
        ]
        declared = [one for name, one in written if name in _DECLARING]
        parts = [part for one in declared or [one for _, one in written] for part in one]
        names = [part.identifier for part in parts if part is not None and part.tag == tags.NAME]
        return list(dict.fromkeys(names))

    def _argument(
        self, cls: ScopeValue, target: ScopeValue, position: int, depth: int = 4
    ) -> tuple[Expr, Place] | None:
        """Return what a derived class writes for a variable of one of its bases, and the place."""
        summary = self.inference.modules.summary(cls.path)
        scope = summary.scopes[cls.scope]
        place = Place(cls.path, scope.parent, scope.path)
        for base in scope.bases if depth else ():
            inside = listed(base.key) if base is not None and base.tag == tags.SUBSCRIPT else ()
            classes = (one for one in self.inference.infer(base, place) if one.kind == v.CLASS)
            found = {self._through(one, target, position, inside, place, depth) for one in classes}
            found.discard(None)
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def _through(
        self,
        base: ScopeValue,
        target: ScopeValue,
        position: int,
        inside: Sequence[Expr],
        place: Place,
        depth: int,
    ) -> tuple[Expr, Place] | None:
        """Return what one base of a class, with what its brackets hold, gives for a variable.

        Args:
            base: The base.
            target: The class that declares the variable: the base, or one above it.
            position: The variable's position there.
            inside: The expressions in the brackets.
            place: Where they are written.
            depth: The number of classes between base and target, at most.
        """
        if base == target:
            return (inside[position], place) if position < len(inside) else None
        found = self._argument(base, target, position, depth - 1)
        if found is None:
            return None
        variables = self._variables(self.inference.modules.summary(base.path), base.scope)
        name = last_name(found[0])
        if name in variables and variables.index(name) < len(inside):
            return inside[variables.index(name)], place
        return found

    def _uses(self, cls: ScopeValue, position: int) -> Iterator[tuple[Expr, Place]]:
        """Yield what annotations and calls write for a variable of a class, with the places."""
        modules = self.inference.modules
        name = modules.summary(cls.path).scopes[cls.scope].name
        written = re.compile(rb"\b%s\[" % re.escape(name.encode()))
        for path in modules.naming(name, cls.path, _MOST_FILES):
            if not written.search(modules.data(path)):
                continue
            for expression, place in _annotations(modules.summary(path)):
                if expression is None or expression.tag != tags.SUBSCRIPT:
                    continue
                inside = listed(expression.key)
                if last_name(expression.base) == name and position < len(inside):
                    if cls in self.inference.infer(expression.base, place):
                        yield inside[position], place


def _annotations(summary: ModuleSummary) -> Iterator[tuple[Expr, Place]]:
    """Yield the annotations of a module, and its callees: ``Repository[Client](…)``."""
    for index, scope in enumerate(summary.scopes):
        outside = Place(summary.filename, scope.parent, scope.path)
        for one in (*(part.annotation for part in scope.parameters), *scope.annotation):
            yield one, outside
        for binding in (binding for _, bindings in scope.bound() for binding in bindings):
            if binding.kind == kinds.ANNOTATED:
                yield binding.value, Place(summary.filename, index, binding.path)
    for call in summary.calls:
        if call.node == "call":
            yield call.expression.callee, Place(summary.filename, call.scope, call.path)


def of_class(annotation: Expr) -> tuple[Expr, ...]:
    """Return what an annotation says that a class, or a factory, makes: ``type[T]``."""
    if annotation is None or annotation.tag != tags.SUBSCRIPT:
        return ()
    name, inside = last_name(annotation.base), listed(annotation.key)
    if name in ("type", "Type"):
        return inside
    return inside[-1:] if name == "Callable" else ()
