"""Classes and the protocols and base classes through which their methods are called."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.values import ScopeValue
from gblock.project.reading import bindings as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_MOST_FILES = 60
"""A method's name in more files than this is common: which classes fulfill it is unknown."""
_MOST_DEFINING = 24
"""At most this many files that mention protocols are read."""
_MOST_CLASSES = 4
"""A protocol that more classes fulfill says nothing about an object."""
_PROTOCOLS = frozenset({"typing.Protocol", "typing_extensions.Protocol"})


class Protocols:
    """Finds the protocols that a class fulfills without naming them, and the classes that do so.

    An object fulfills a protocol if it has all its methods, whatever its bases are.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._overridden: dict[tuple[str, int], tuple[tuple[str, int], ...]] = {}
        self._protocols: dict[str, list[tuple[int, dict[str, int]]]] = {}

    def overridden(self, path: str, index: int) -> tuple[tuple[str, int], ...]:
        """Return the methods of bases and protocols through which a method may be called.

        Args:
            path: The module.
            index: The method.

        Returns:
            The modules and the scopes of the methods.
        """
        return self.inference.remembered(
            self._overridden, (path, index), lambda: tuple(self._find_overridden(path, index))
        )

    def _find_overridden(self, path: str, index: int) -> list[tuple[str, int]]:
        summary = self.inference.modules.summary(path)
        if summary.scopes[summary.scopes[index].parent].kind != "class":
            return []
        scope = summary.scopes[index]
        found: list[tuple[str, int]] = []
        for value in self.inference.classes.ancestry(path, scope.parent)[1:]:
            if value.kind == v.CLASS:
                base = self.inference.modules.summary(value.path).scopes[value.scope]
                for binding in base.bindings.get(scope.name, ()):
                    if binding.kind == kinds.DEFINED:
                        found.append((value.path, binding.value))
        if scope.name[:1] != "_":
            found += self._of_protocols(v.ScopeValue(v.OBJECT, path, scope.parent), scope.name)
        return found

    def _of_protocols(self, made: ScopeValue, name: str) -> list[tuple[str, int]]:
        """Return the methods of a name in the protocols that an object fulfills."""
        found: list[tuple[str, int]] = []
        for path in self.inference.modules.mentioning("Protocol", whole=True)[:_MOST_DEFINING]:
            for _, methods in self._protocols_in(path):
                if name in methods and self._has_all(made, methods):
                    found.append((path, methods[name]))
        return found

    def fulfilled_by(self, protocol: ScopeValue) -> list[ScopeValue]:
        """Return the objects of the project that have all the methods of a protocol."""
        known = self._protocols_in(protocol.path)
        methods = next((m for index, m in known if index == protocol.scope), None)
        if not methods or self.inference.modules.is_frugal:
            return []
        rarest: list[str] | None = None
        for name in sorted(methods):
            naming = self.inference.modules.mentioning(name, whole=True)
            if rarest is None or len(naming) < len(rarest):
                rarest = naming
        found: list[ScopeValue] = []
        for path in rarest if rarest is not None and len(rarest) <= _MOST_FILES else ():
            summary = self.inference.modules.summary(path)
            for index, scope in enumerate(summary.scopes):
                one = v.ScopeValue(v.OBJECT, path, index)
                if scope.kind != "class" or methods.keys().isdisjoint(scope.bindings):
                    continue
                if self._has_all(one, methods) and not self.is_protocol(path, index):
                    found.append(one)
        return found if len(found) <= _MOST_CLASSES else []

    def is_protocol(self, path: str, index: int) -> bool:
        """Return whether a class is a protocol."""
        return any(
            base.kind == v.EXTERNAL and base.symbol in _PROTOCOLS
            for base in self.inference.classes.bases(path, index)
        )

    def _has_all(self, made: ScopeValue, methods: dict[str, int]) -> bool:
        return all(self.inference.classes.attribute(made, one) for one in methods)

    def _protocols_in(self, path: str) -> list[tuple[int, dict[str, int]]]:
        """Return the protocols of a module: for each its methods, with their scopes."""
        found = self._protocols.get(path)
        if found is None:
            found = self._protocols[path] = []
            summary = self.inference.modules.summary(path)
            for index, scope in enumerate(summary.scopes):
                if scope.kind == "class" and self.is_protocol(path, index):
                    methods = {
                        name: binding.value
                        for name, bindings in scope.bindings.items()
                        for binding in bindings
                        if binding.kind == kinds.DEFINED
                    }
                    if methods:
                        found.append((index, methods))
        return found
