"""Enumerations: members are objects of their class, and each holds what it is assigned."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.values import NOTHING, ScopeValue, Value, Values
from gblock.project.reading import bindings as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_BASES = frozenset(
    "enum.Enum enum.IntEnum enum.StrEnum enum.Flag enum.IntFlag enum.ReprEnum "
    "django.db.models.Choices django.db.models.TextChoices django.db.models.IntegerChoices "
    "aenum.Enum strenum.StrEnum".split()
)
_VALUE = frozenset(("value", "_value_"))
"""The attributes of a member that are what it is assigned."""


class Enumerations:
    """Follows the members of enumerations.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def members(self, cls: ScopeValue) -> Values:
        """Return a member of a class, as an object; nothing if it is no enumeration."""
        return frozenset([cls._replace(kind=v.OBJECT)]) if self._is_enumeration(cls) else NOTHING

    def attribute(self, value: ScopeValue, name: str) -> Values:
        """Return the member of a class that an attribute names, or what a member is assigned."""
        names = self.names(value)
        if name in names:
            return frozenset([value._replace(kind=v.OBJECT)])
        if value.kind != v.OBJECT or name not in _VALUE:
            return NOTHING
        summary = self.inference.modules.summary(value.path)
        found: set[Value] = set()
        for one in names:
            found |= self.inference.binding_values(summary, value.scope, one, END) or NOTHING
        return frozenset(found)

    def names(self, value: ScopeValue) -> list[str]:
        """Return the names of the members that a class declares; none if it is no enumeration."""
        if value.kind == v.PARENT or not self._is_enumeration(value):
            return []
        scope = self.inference.modules.summary(value.path).scopes[value.scope]
        return [
            name
            for name, bindings in scope.bindings.items()
            if name[:1] != "_" and all(one.kind == kinds.ASSIGNED for one in bindings)
        ]

    def _is_enumeration(self, cls: ScopeValue) -> bool:
        scope = self.inference.modules.summary(cls.path).scopes[cls.scope]
        return bool(scope.bases) and any(
            base.kind == v.EXTERNAL and base.symbol in _BASES
            for base in self.inference.classes.ancestry(cls.path, cls.scope)
        )
