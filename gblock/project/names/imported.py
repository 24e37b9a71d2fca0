"""Imports: what import statements bind, and what the names of a module are to other modules."""

from __future__ import annotations

import os

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.values import NOTHING, Values
from gblock.project.reading.generated import GRPC_MODULE
from gblock.project.reading.summary import ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_PACKAGE = f"{os.sep}__init__.py"


class ImportedValues:
    """Follows import statements to modules, packages and names of modules.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules

    def bound(self, module: str, name: str | None, level: int, importer: str) -> Values:
        """Return the values that ``import module`` or ``from module import name`` binds.

        Args:
            module: The dotted name of the module.
            name: The imported name; None for ``import module``.
            level: The number of leading dots of a relative import.
            importer: The file of the import.
        """
        path = self.modules.resolve(module, level, importer)
        if path is not None and self.modules.is_frugal:
            return NOTHING
        if path is None:
            return _generated(module, name or "") if level else self._outside(module, name)
        found = self._of_file(path, module, name, importer)
        if not level and not self.modules.is_module(path) and not (name and found):
            # A package that is installed has precedence over a directory without ``__init__.py``.
            found |= self._outside(module, name)
        for other in self.modules.others(module, level, importer):
            found |= self._of_file(other, module, name, importer)
        return found

    def _outside(self, module: str, name: str | None) -> Values:
        """Return what an import of an installed package binds."""
        symbol = self.inference.catalog.canonical(f"{module}.{name}" if name else module)
        held = self.inference.catalog.attributes.get(symbol)
        return frozenset([v.instance(held) if held else v.external(symbol)])

    def _of_file(self, path: str, module: str, name: str | None, importer: str) -> Values:
        """Return what an import binds if it means one file."""
        if name is None:
            return self.file(path)
        if not self.modules.is_module(path):
            return self.inside(path, name) or _generated(module, name)
        if path == importer:  # ``from . import name`` in the package's own __init__
            return self._submodule(path, name)
        return (
            self.name(path, name)
            or self.inference.attributes.computed_by_module(path, name)
            or _generated(module, name)
        )

    def name(self, path: str, name: str) -> Values:
        """Return the values of a module's name, as other modules see it; none in a cyclic query.

        Args:
            path: The module.
            name: A name that it binds or star-imports, or a submodule of a package.
        """
        return self.inference.solved(("name", path, name), lambda: self._name(path, name))

    def _name(self, path: str, name: str) -> Values:
        summary = self.modules.summary(path)
        found: Values | None = None
        if name in summary.scopes[0].bindings:
            found = self.inference.binding_values(summary, 0, name, END)
        return found or self.star_imported(summary, name) or self._submodule(path, name)

    def star_imported(self, summary: ModuleSummary, name: str) -> Values:
        """Return the values of a name that ``from module import *`` binds in a module."""
        for binding in summary.star_imports:
            module, _, level = binding.value
            path = self.modules.resolve(module, level, summary.filename)
            if path is not None:
                if path != summary.filename and self._exports(path, name):
                    found = self.name(path, name)
                    if found:
                        return found
            elif not level:
                symbol = self.inference.catalog.canonical(f"{module}.{name}")
                if self.inference.is_known(symbol):
                    return frozenset([v.external(symbol)])
        return NOTHING

    def _exports(self, path: str, name: str) -> bool:
        """Return whether ``from module import *`` binds a name."""
        if not self.modules.is_module(path):
            return False
        summary = self.modules.summary(path)
        declared = summary.scopes[0].bindings.get("__all__", ())
        if not declared:
            return not name.startswith("_")
        # An ``__all__`` that is built in steps is assumed to hold every name.
        return summary.exports is None or len(declared) > 1 or name in summary.exports

    # -- files

    def file(self, path: str) -> Values:
        """Return a file as a module, or a directory as a package."""
        return frozenset(
            [v.FileValue(v.MODULE if self.modules.is_module(path) else v.PACKAGE, path)]
        )

    def inside(self, directory: str, name: str) -> Values:
        """Return the module or package of a name in a directory, nothing if there is none."""
        path = self.modules.inside(directory, name)
        return self.file(path) if path is not None else NOTHING

    def _submodule(self, path: str, name: str) -> Values:
        """Return a module of the package whose ``__init__.py`` a file is."""
        directory = path.removesuffix(_PACKAGE)
        return self.inside(directory, name) if directory != path else NOTHING


def _generated(module: str, name: str) -> Values:
    """Return the name in a module that gRPC's compiler generates when the project is built."""
    if name.endswith(GRPC_MODULE):
        return frozenset([v.external(f"{module}.{name}" if module else name)])
    return NOTHING
