"""The classes of packages of which a project can have objects, judged by words alone.

Most projects mention a package, or import one, without its rarer classes. An object of a class that
no file names comes from a call or an attribute that the catalog lists, whose names files mention.
"""

from __future__ import annotations

import re

from gblock.catalog.lookup import Catalog
from gblock.decoding import encoded
from gblock.project.reading.modules import Modules

_NAMED = rb"""\b(?:from|import)\b[^\n]*\b%(name)s\b|["'`]%(name)s\b|\\\r?\n[^\n]*\b%(name)s\b"""
"""A package where it can be imported: by a statement, on its second line, by name."""
_ALWAYS = "builtins"


class Obtainable:
    """Finds what a project can have; it errs only where it says that there may be an object.

    Args:
        catalog: The catalog, which lists what makes objects of a class.
        modules: The project's files.
    """

    def __init__(self, catalog: Catalog, modules: Modules) -> None:
        self._catalog = catalog
        self._modules = modules
        self._imported: dict[str, bool] = {}

    def has_method(self, name: str) -> bool:
        """Return whether some object may have a blocker's method of this name."""
        owners = (one.rpartition(".") for one in self._catalog.by_symbol)
        return any(last == name and self._may_be(owner) for owner, _, last in owners)

    def _may_be(self, name: str) -> bool:
        """Return whether code can get at what a dotted name means."""
        if self._modules.is_frugal:
            return True
        among, waiting = {name}, [name]
        while waiting:
            new = self._leading_to(waiting.pop()) - among
            among |= new
            waiting += new
        found: set[str] = set()
        size = -1
        while name not in found and len(found) > size:
            size = len(found)
            found.update(one for one in among - found if self._follows(one, found))
        return name in found

    def _leading_to(self, name: str) -> set[str]:
        """Return what makes a class or renames a module, and what a name is an attribute of."""
        return self._catalog.makers.get(name, set()) | {name.rpartition(".")[0]} - {""}

    def _follows(self, name: str, found: set[str]) -> bool:
        """Return whether code can get at a name if it can get at some others."""
        if not found.isdisjoint(self._catalog.makers.get(name, ())):
            return True
        owner, _, last = name.rpartition(".")
        if not owner:
            return last in (_ALWAYS, "*") or self._is_imported(last)
        return owner in found and self._is_mentioned(last)

    def _is_mentioned(self, last: str) -> bool:
        """Return whether some file mentions a word, or a word that may match a pattern."""
        if "*" not in last and "?" not in last:
            return bool(self._modules.mentioned(frozenset((last,))))
        fragment = max(re.split(r"[*?]", last), key=len)
        return bool(self._modules.mentioning(fragment, tests=True))

    def _is_imported(self, package: str) -> bool:
        found = self._imported.get(package)
        if found is None:
            pattern = re.compile(_NAMED % {b"name": re.escape(encoded(package))})
            paths = self._modules.mentioning(package, tests=True, whole=True)
            found = any(pattern.search(self._modules.data(path)) for path in paths)
            self._imported[package] = found
        return found
