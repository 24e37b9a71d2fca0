"""The dotted names by which code outside of a package reaches its functions.

A function has the name of its definition; packages also export it from their ``__init__``, and
classes inherit methods.
"""

from __future__ import annotations

import os

from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.reading import bindings as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.project.reading.summary import Scope

Function = tuple[str, int]
"""A file, and the scope of a function or class in it."""


class PublicNames:
    """Finds the names of a package's functions and classes.

    Args:
        base: The directory that the package is imported from.
        inference: Type inference over its files.
    """

    def __init__(self, base: str, inference: Inference) -> None:
        self._base = base
        self._inference = inference
        self._modules = inference.modules

    def symbol(self, function: Function) -> str:
        """Return the dotted name of a function or class where it is defined."""
        path, scope = function
        names: list[str] = []
        while scope > 0:
            one = self._scope((path, scope))
            names.insert(0, one.name)
            scope = one.parent
        inner = os.path.relpath(path, self._base).removesuffix(".py").replace(os.sep, ".")
        return ".".join((inner.removesuffix(".__init__"), *names))

    def owner(self, function: Function) -> Function | None:
        """Return the class that a method is defined in."""
        path = function[0]
        parent = self._scope(function).parent
        is_class = parent > 0 and self._scope((path, parent)).kind == "class"
        return (path, parent) if is_class else None

    def of(self, functions: Iterable[Function]) -> dict[str, Function]:
        """Return functions by each of their names."""
        found: dict[str, Function] = {}
        by_class: dict[Function, dict[str, Function]] = {}
        for function in functions:
            owner = self.owner(function)
            if owner is not None:
                by_class.setdefault(owner, {})[self._scope(function).name] = function
            else:
                found.update((name, function) for name in self.names(function))
        todo = list(by_class)
        for base in todo:  # it grows
            for derived in self._inference.calling.subclasses(*base):
                one = (derived.path, derived.scope)
                inherited = {
                    name: function
                    for name, function in by_class[base].items()
                    if name not in self._scope(one).bindings
                }
                if inherited and one not in by_class:
                    todo.append(one)
                by_class[one] = {**inherited, **by_class.get(one, {})}
        for owner, methods in by_class.items():
            for name in self.names(owner):
                found.update((f"{name}.{inner}", method) for inner, method in methods.items())
        return found

    def names(self, function: Function) -> list[str]:
        """Return the dotted names of a function or class of a module."""
        path, _ = function
        name = self._scope(function).name
        found = [self.symbol(function)]
        mentioning = self._modules.mentioning(name, whole=True)
        for init in dict.fromkeys((*self._above(path), *filter(_is_init, mentioning))):
            if init == path:
                continue
            package = self.symbol((init, 0))
            found += [f"{package}.{one}" for one in self._bound(init, name, function)]
        return found

    def _bound(self, path: str, name: str, function: Function) -> list[str]:
        """Return the names that a module binds to a function or class of another."""
        summary = self._modules.summary(path)
        bindings = summary.scopes[0].bindings
        names = [
            bound
            for bound, ones in bindings.items()
            if any(one.kind == kinds.IMPORTED and one.value.name == name for one in ones)
        ]
        if "*" in bindings:
            names.append(name)
        return [one for one in dict.fromkeys(names) if self._means(path, one, function)]

    def _means(self, path: str, name: str, function: Function) -> bool:
        values = self._inference.imports.name(path, name)
        return any(
            one.kind in (v.FUNCTION, v.CLASS) and (one.path, one.scope) == function
            for one in values
        )

    def _above(self, path: str) -> list[str]:
        """Return the ``__init__.py`` of each package around a module."""
        found = []
        directory = os.path.dirname(path)
        while len(directory) > len(self._base):
            init = os.path.join(directory, "__init__.py")
            if self._modules.is_module(init):
                found.append(init)
            directory = os.path.dirname(directory)
        return found

    def _scope(self, function: Function) -> Scope:
        summary = self._modules.summary(function[0])
        return summary.scopes[function[1]]


def _is_init(path: str) -> bool:
    return os.path.basename(path) == "__init__.py"
