"""Modules that code loads by a name of which settings or data say at least a part.

``getattr(import_module(config["auth"]), "Authenticator")(config)`` makes an object of a class that
no import leads to. It is one of the classes with this name in modules that nothing imports, which
are loaded by their names if they are used at all.
"""

from __future__ import annotations

import os
import re

from gblock.project.names import values as v
from gblock.project.names.partial_texts import HOLE
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import Expr, last_name
from gblock.project.reading.summary import ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

ANY_MODULE = v.instance("types.ModuleType")
"""A module of which nothing is known."""
_DEFAULTS = ("get", "getenv", "getattr", "pop", "setdefault")
"""Last names of the functions that return a default, their second argument, or something else."""
_LONGEST_CHAIN = 3
"""At most this many assignments are followed to the default of a setting."""
_MOST_FILES = 64
"""A name that more files mention, or a package with more modules, says nothing of a module."""


class LoadedModules:
    """Finds what code may take of a module that it loads by a name.

    Args:
        inference: Type inference over the project.
    """

    OF_FILES = ("_targets",)
    """The tables that the files alone decide."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._targets: dict[str, frozenset[str]] = {}
        """By file the files that its import statements mean."""

    def is_open(self, name: Expr, place: Place, depth: int = 0) -> bool:
        """Return whether a text is only the default of a setting, in place of which may be another.

        Args:
            name: The expression for the text.
            place: Its place.
            depth: The number of assignments that lead to it.
        """
        is_item = name is not None and name.tag == tags.SUBSCRIPT
        while name is not None and name.tag == tags.SUBSCRIPT:
            name = name.base
        if name is None or depth > _LONGEST_CHAIN:
            return False
        if name.tag == tags.CALL:
            return last_name(name.callee) in _DEFAULTS and len(name.positional) > 1
        if name.tag == tags.EITHER:
            return any(self.is_open(one, place, depth) for one in name.elements[:-1])
        if name.tag != tags.NAME:
            return False
        found = self.inference.scope_of(name.identifier, place)
        bound = found[0].scopes[found[1]].bindings.get(name.identifier, ()) if found else ()
        return any(
            self.is_open(one.value, Place(place.path, one.scope, one.path), depth + 1)
            if one.kind == kinds.ASSIGNED
            else is_item and one.kind == kinds.PARAMETER
            for one in bound
        )

    def inside(self, name: str, importer: str) -> Values:
        """Return the modules that a name with holes can mean: ``f"shop.{app}.mail_{backend}"``.

        Args:
            name: The name of a module, with `HOLE` for each part that is not known.
            importer: The file that loads it.

        Returns:
            The modules of the package that is known, and any module if none is.
        """
        package = name.partition(HOLE)[0].rpartition(".")[0]
        directory = self._directory(package, importer)
        if directory is None or self.modules.is_frugal:
            return frozenset([ANY_MODULE])
        parts = name[len(package) + 1 :].split(HOLE)
        inside = re.compile(r"\w*".join(map(re.escape, parts)))
        found = [
            path
            for path in self.modules.serving
            if path.startswith(directory + os.sep) and inside.fullmatch(_dotted(path, directory))
        ]
        if not 0 < len(found) <= _MOST_FILES:
            return frozenset([ANY_MODULE])
        return frozenset(v.FileValue(v.MODULE, path) for path in found)

    def _directory(self, package: str, importer: str) -> str | None:
        """Return the directory of a package of the project."""
        path = self.modules.resolve(package, 0, importer) if package else None
        if path is None:
            return None
        return os.path.dirname(path) if self.modules.is_module(path) else path

    def named(self, name: str) -> Values:
        """Return the classes and functions of a name that any module may have.

        Only those of modules that nothing imports count.
        """
        naming = self.modules.mentioning(name, whole=True)
        return frozenset(
            value
            for path in (naming if len(naming) <= _MOST_FILES else ())
            for value in _defined(self.modules.summary(path), name)
            if not self._is_imported(path)
        )

    def _is_imported(self, path: str) -> bool:
        """Return whether an import statement of the project names a module."""
        directory, file = os.path.split(path)
        stem = file.partition(".")[0]
        word = os.path.basename(directory) if stem == "__init__" else stem
        naming = self.modules.mentioning(word, whole=True)
        return any(path in self._meant_by(other) for other in naming if other != path)

    def _meant_by(self, path: str) -> frozenset[str]:
        """Return the files that the import statements of a module mean."""
        found = self._targets.get(path)
        if found is None:
            summary, meant = self.modules.summary(path), set[str | None]()
            written = [
                one.value
                for scope in summary.scopes
                for bindings in scope.bindings.values()
                for one in bindings
                if one.kind == kinds.IMPORTED
            ]
            for module, name, level in (*written, *(one.value for one in summary.star_imports)):
                meant.add(self.modules.resolve(module, level, path))
                if name is not None:
                    dotted = f"{module}.{name}" if module else name
                    meant.add(self.modules.resolve(dotted, level, path))
            found = self._targets[path] = frozenset(one for one in meant if one is not None)
        return found

    def main_classes(self, values: Values) -> Values:
        """Return the classes that are the point of some modules, of which one is loaded by name.

        ``getattr(import_module(f"shop.mail.{name}"), name)``: a class that is named as its module,
        else the only one of the module.
        """
        paths = sorted(value.path for value in values if value.kind == v.MODULE)
        if len(values) < 2 or not paths:
            return NOTHING
        return NOTHING.union(*(self._main_class(self.modules.summary(path)) for path in paths))

    def _main_class(self, summary: ModuleSummary) -> Values:
        stem = os.path.basename(summary.filename).partition(".")[0]
        names = [
            name
            for name, bindings in summary.scopes[0].bindings.items()
            if any(
                one.kind == kinds.DEFINED and summary.scopes[one.value].kind == "class"
                for one in bindings
            )
        ]
        own = [name for name in names if _plain(name) == _plain(stem)]
        chosen = own or (names if len(names) == 1 else ())
        return NOTHING.union(*(_defined(summary, name) for name in chosen))


def _dotted(path: str, directory: str) -> str:
    """Return the name of a module inside of a directory."""
    name = os.path.relpath(path, directory).removesuffix(".py").removesuffix("__init__")
    return name.strip(os.sep).replace(os.sep, ".")


def _defined(summary: ModuleSummary, name: str) -> Values:
    """Return the class, or the function, that a module defines under a name."""
    found: set[Value] = set()
    for one in summary.scopes[0].bindings.get(name, ()):
        if one.kind == kinds.DEFINED:
            if summary.scopes[one.value].kind == "class":
                found.add(v.ScopeValue(v.CLASS, summary.filename, one.value))
            else:
                found.add(v.function(summary.filename, one.value))
    return frozenset(found)


def _plain(name: str) -> str:
    """Return a name as it is compared with that of a module: ``SlackMail`` and ``slack_mail``."""
    return name.replace("_", "").lower()
