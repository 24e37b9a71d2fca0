"""Resolution of imports: the file or directory of the project behind a dotted name."""

from __future__ import annotations

import os
import re
import sys
from bisect import insort
from functools import cached_property

from gblock.project.reading.images import Images
from gblock.project.reading.testcode import is_test

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from typing import Any, Protocol, TypeAlias

    Assumed: TypeAlias = dict[str, Any]

    class SourceBytes(Protocol):
        """The bytes of the project's files, and the searches in them."""

        def data(self, path: str) -> bytes:
            """Return a file's bytes."""

        def mentioning(self, word: str, *, tests: bool = False, whole: bool = False) -> list[str]:
            """Return the files whose bytes contain a word."""


_ADDED = re.compile(rb"^[ \t]*sys\.path\.(?:insert|append)\(", re.MULTILINE)
_OF_CODE = ("_added", "_started_in")
"""The properties that depend on what the code of a project says about its imports."""
_PACKAGE = f"{os.sep}__init__.py"
_LONGEST_PATH = 300
"""Bytes in which the argument of ``sys.path.append()`` ends."""
_PARENTHESIS = re.compile(rb"[()]")
_QUOTED = re.compile(rb"""["']([^"'\n]*)["']""")
_LAST_NAME = re.compile(rb"([A-Za-z_]\w*)[ \t]*\)*[ \t]*\Z")
_SETTINGS = re.compile(rb"""DJANGO_SETTINGS_MODULE["']\s*[\],]\s*=?\s*["']([\w.]+)["']""")
_AFTER_PATCH = re.compile(
    rb"^(?:[\w.]*\.)?patch_all\([^\n]*\n(?:[^\n]*\n)*?(?:from|import)[ \t]+(\w+)\b", re.MULTILINE
)
"""A monkey patch at the top level of a file, and the module that is imported first after it."""
_IMPORTING = re.compile(rb"[ \t]*(?:from|import)[ \t]+")
"""The start of an import's line, before the name of the module."""
_RELATIVE = re.compile(rb"^[ \t]*from[ \t]+\.", re.MULTILINE)


class ImportResolver:
    """Resolves imports by the paths of the project's files.

    Args:
        roots: The project's directory, and the one around it that holds the code which it shares
            with others, if that is another.
        sources: Directories to import from, in addition to those that the packages show.
        known: The paths of the project's files; `add` follows each addition.
        files: The same, in their order.
        bytes_of: The files' bytes, for what the code says about its own imports.
    """

    def __init__(
        self,
        roots: tuple[str, ...],
        sources: tuple[str, ...],
        known: AbstractSet[str],
        files: Iterable[str],
        bytes_of: SourceBytes,
    ) -> None:
        self._roots_of_project = roots
        self._sources = sources
        self._known = known
        self._bytes = bytes_of
        self._resolved: dict[tuple[str, str], str | None] = {}
        self._others: dict[tuple[str, str], tuple[str, ...]] = {}
        self._images = Images(roots[-1])
        self._searched: dict[str, list[str]] = {}
        """By directory the directories that its imports search."""
        self._starts: dict[str, str | None] = {}
        self._used_as_package: dict[str, bool] = {}
        self._wrapping: dict[tuple[str, str], bool] = {}
        self._by_tail: dict[str, list[str]] = {}
        self._beside: dict[str, list[str]] = {}
        """The files of each directory."""
        self._directories: set[str] = set()
        self._packages: set[str] = set()
        for path in sorted(files):  # which comes first must not depend on the paths that are named
            self._index(path)

    def add(self, path: str) -> None:
        """Take in a file that was added to the project."""
        self._index(path)
        self.forget()

    def forget(self) -> None:
        """Forget what depends on the bytes of files, and on which there are."""
        self._resolved.clear()
        self._others.clear()
        self._searched.clear()
        self._starts.clear()
        self._used_as_package.clear()
        self._wrapping.clear()
        vars(self).pop("_added", None)
        vars(self).pop("_started_in", None)
        vars(self).pop("_distributions", None)

    @property
    def assumed(self) -> Assumed:
        """The facts that the resolutions so far take from the bytes of files, as values of JSON.

        All else that they depend on is the paths of the project's files.
        """
        found: Assumed = {name: [*self._of_code(name)] for name in _OF_CODE if name in vars(self)}
        found["named"] = dict(self._used_as_package)
        found["wraps"] = [[*key, known] for key, known in self._wrapping.items()]
        found["images"] = self._images.known
        return found

    def agrees(self, assumed: Assumed) -> bool:
        """Return whether what an earlier run took from the bytes of files is so in this one.

        Args:
            assumed: What `assumed` was there.
        """
        return (
            all(assumed[one] == [*self._of_code(one)] for one in _OF_CODE if one in assumed)
            and all(self._names(one) == known for one, known in assumed["named"].items())
            and all(self._wraps(one, name) == known for one, name, known in assumed["wraps"])
            and all(self._images.within(one) == held for one, held in assumed["images"].items())
        )

    def _of_code(self, name: str) -> Iterable[str]:
        found: Iterable[str] = getattr(self, name)
        return sorted(found) if isinstance(found, frozenset) else found

    def _index(self, path: str) -> None:
        directory, name = os.path.split(path)
        insort(self._beside.setdefault(directory, []), path)
        stem = name.rpartition(".")[0] or name
        if stem == "__init__":
            self._packages.add(directory)
            stem = os.path.basename(directory)
        insort(self._by_tail.setdefault(stem, []), path)
        while directory and directory not in self._directories:
            self._directories.add(directory)
            parent = os.path.dirname(directory)
            if parent == directory:
                break
            directory = parent

    def resolve(self, module: str, level: int, importer: str) -> str | None:
        """Return the file, or the directory without ``__init__.py``, that an import means.

        Args:
            module: The dotted name behind ``from`` or ``import``.
            level: The number of leading dots.
            importer: The file that imports.

        Returns:
            A path, or None for a module that is not part of the project.
        """
        directory = os.path.dirname(importer)
        if level:
            for _ in range(level - 1):
                directory = os.path.dirname(directory)
            return self.inside(directory, module)
        key = (directory, module)
        if key not in self._resolved:
            found = self._absolute(module, directory)
            if found is None and module.partition(".")[0] not in sys.stdlib_module_names:
                copied = self._copied(module, importer)
                found, self._others[key] = next(iter(copied), None), (*copied[1:],)
            self._resolved[key] = found
        return self._resolved[key]

    def others(self, module: str, level: int, importer: str) -> tuple[str, ...]:
        """Return the further files that an import means in other images of the project.

        Args:
            module: The dotted name behind ``from`` or ``import``.
            level: The number of leading dots.
            importer: The file that imports.
        """
        if level or self.resolve(module, level, importer) is None:
            return ()
        return self._others.get((os.path.dirname(importer), module), ())

    def inside(self, directory: str, module: str) -> str | None:
        """Return the file or directory of a dotted name below a directory."""
        base = directory
        if module:
            parts = module.split(".")
            if all(parts) and not directory.endswith(os.sep):  # joined far faster
                base = os.sep.join((directory, *parts))
            else:
                base = os.path.join(directory, *parts)
        for path in (f"{base}{_PACKAGE}", f"{base}.py"):
            if path in self._known:
                return path
        return base if base in self._directories else None

    def _absolute(self, module: str, directory: str) -> str | None:
        first = module.partition(".")[0]
        is_other = first in sys.stdlib_module_names
        for root in self._roots(directory):
            if root in self._packages and (is_other or self._wraps(root, first)):
                continue
            found = self.inside(root, module)
            if found is not None and (found in self._known or self._is_namespace(found)):
                if found in self._known or is_other:
                    return found
                return self._installed(module, os.path.join(root, first)) or found
            # What a package does not have is not in another program's package of the same name.
            is_other = is_other or os.path.join(root, first, "__init__.py") in self._known
        if is_other:
            return None
        for source in self._added:
            found = self.inside(source, module)
            if found is not None and (found in self._known or self._is_namespace(found)):
                return found
        beside = self.inside(directory, module)  # a program may start inside of a package
        if beside is not None and beside in self._known and not self._wraps(directory, first):
            return beside
        start = self._start(directory)
        at_start = self.inside(start, module) if start is not None else None
        if at_start is not None and at_start in self._known:
            return at_start
        return self._installed(module) or self._unique(module)

    def _installed(self, module: str, around: str = "") -> str | None:
        """Return the file of a package that another distribution of the repository installs.

        A package has precedence over a directory of its name without ``__init__.py``, such as the
        one with the distribution's ``setup.py``.

        Args:
            module: The dotted name.
            around: A directory of the package's name, which may be that of its distribution.
        """
        first = module.partition(".")[0]
        holding = {
            base
            for directory in (*self._distributions, around)
            for base in (directory, os.path.join(directory, "src"), os.path.join(directory, "lib"))
            if directory and os.path.join(base, first, "__init__.py") in self._known
        }
        found = self.inside(holding.pop(), module) if len(holding) == 1 else None
        return found if found in self._known else None

    @cached_property
    def _distributions(self) -> list[str]:
        """The directories with a ``setup.py``, without those of tests, which nothing installs."""
        root, paths = self._roots_of_project[0], self._by_tail.get("setup", ())
        found = [path for path in paths if os.path.basename(path) == "setup.py"]
        directories = [
            os.path.dirname(one) for one in found if not is_test(one, root, self._bytes.data)
        ]
        return [one for one in directories if one not in self._packages]

    def _start(self, directory: str) -> str | None:
        """Return the directory around a package in which a program starts, despite ``__init__.py``.

        It is the outermost package around it, if no import or string names that as a package.
        """
        if directory not in self._starts:
            outermost = None
            current = directory
            while current in self._packages and len(current) > len(self._roots_of_project[-1]):
                outermost, current = current, os.path.dirname(current)
            if outermost == directory or (outermost is not None and self._names(outermost)):
                outermost = None
            self._starts[directory] = outermost
        return self._starts[directory]

    def _names(self, package: str) -> bool:
        """Return `_is_named`, each answer kept."""
        found = self._used_as_package.get(package)
        if found is None:
            found = self._used_as_package[package] = self._is_named(package)
        return found

    def _is_named(self, package: str) -> bool:
        """Return whether an import or a string names a package, or its modules import it."""
        name = os.path.basename(package)
        word = re.compile(rb"%s\b(?:(?<=[\"']%s)\.(\w+))?" % ((re.escape(name.encode()),) * 2))
        for path in self._bytes.mentioning(name, tests=True, whole=True):
            data = self._bytes.data(path)
            for match in word.finditer(data):
                if match[1]:
                    if self.inside(package, match[1].decode(errors="replace")):
                        return True
                    continue
                start = data.rfind(b"\n", 0, match.start()) + 1
                if _IMPORTING.fullmatch(data, start, match.start()):
                    return True
        return any(
            _RELATIVE.search(self._bytes.data(path)) for path in self._beside.get(package, ())
        )

    def _wraps(self, directory: str, name: str) -> bool:
        """Return whether a module of a package imports another one of the same name.

        ``auth/ldap.py`` that says ``import ldap`` means the library: no module imports itself. A
        package does, ``from orders.views import place`` in ``orders/__init__.py``.
        """
        path = os.path.join(directory, name + ".py")
        if path not in self._known:
            return False
        found = self._wrapping.get((directory, name))
        if found is None:
            written = rb"^[ \t]*(?:import|from)[ \t]+%s\b" % re.escape(name.encode())
            found = re.search(written, self._bytes.data(path), re.MULTILINE) is not None
            self._wrapping[directory, name] = found
        return found

    def _roots(self, directory: str) -> list[str]:
        """Return the directories that an import from this directory searches, nearest first."""
        found = self._searched.get(directory)
        if found is None:
            found = self._searched[directory] = self._find_roots(directory)
        return found

    def _find_roots(self, directory: str) -> list[str]:
        roots = []
        current = directory
        while True:
            if current not in self._packages or current in self._started_in:
                roots.append(current)
            if len(current) <= len(self._roots_of_project[-1]):
                break
            current = os.path.dirname(current)
        for root in self._roots_of_project:
            if root not in roots:
                roots.append(root)
            roots += [os.path.join(root, source) for source in (*self._sources, "src", "lib")]
        return roots

    @cached_property
    def _added(self) -> list[str]:
        """The directories that the project's code adds to the search path of imports.

        ``sys.path.insert(0, os.path.join(BASE_DIR, "apps"))`` means the ``apps`` that is nearest
        to the file, in one of the directories around it.
        """
        found: list[str] = []
        for path in sorted(self._bytes.mentioning("sys.path")):
            for tail in _added_to_path(self._bytes.data(path)):
                current = os.path.dirname(path)
                while len(current) >= len(self._roots_of_project[-1]):
                    directory = os.path.join(current, *tail)
                    if directory in self._directories:
                        found.append(directory)
                        break
                    current = os.path.dirname(current)
        return list(dict.fromkeys(found))

    @cached_property
    def _started_in(self) -> frozenset[str]:
        """The packages in which programs start: the search path begins with them.

        A file of Django's in them, such as ``manage.py``, names settings that lie there: not
        ``shop.settings`` but ``settings``. One that monkey patches at once, as programs do, imports
        its neighbours without the package: ``from app import create_app``.
        """
        named = (
            (os.path.dirname(path), match[1])
            for word, pattern in (("DJANGO_SETTINGS_MODULE", _SETTINGS), ("monkey", _AFTER_PATCH))
            for path in self._bytes.mentioning(word)
            if os.path.dirname(path) in self._packages
            for match in pattern.finditer(self._bytes.data(path))
        )
        return frozenset(
            directory
            for directory, name in named
            if self.inside(directory, name.decode(errors="replace")) in self._known
        )

    def _is_namespace(self, directory: str) -> bool:
        """Return whether a directory without ``__init__.py`` is likely a package."""
        return directory != self._roots_of_project[0] and "." not in os.path.basename(directory)

    def _unique(self, module: str) -> str | None:
        """Return the only file whose path ends in a dotted name and whose packages start there.

        A name without dots may well be a package that is installed; one of several words that is a
        single module here hardly is.
        """
        found = self._ending(module)
        if len(found) != 1:
            return None
        is_module = "_" in module.strip("_") and not found[0].endswith(_PACKAGE)
        return found[0] if "." in module or is_module else None

    def _copied(self, module: str, importer: str) -> list[str]:
        """Return the files of a name that images hold beside the importer, in each another one."""
        first, depth = module.partition(".")[0], module.count(".") + 1
        found = []
        for path in self._ending(module):
            package = os.path.join(self._package_root(path, depth), first)
            held = package if path.startswith(os.path.join(package, "")) else path
            if self._images.hold(held, importer):
                found.append(path)
        return found

    def _ending(self, module: str) -> list[str]:
        """Return the files whose paths end in a dotted name and whose packages start there."""
        parts = module.split(".")
        tail = os.sep + os.path.join(*parts)
        return [
            path
            for path in self._by_tail.get(parts[-1], ())
            if path.endswith((tail + ".py", tail + os.sep + "__init__.py"))
            and self._package_root(path, len(parts)) not in self._packages
        ]

    def _package_root(self, path: str, depth: int) -> str:
        if os.path.basename(path) == "__init__.py":
            path = os.path.dirname(path)
        for _ in range(depth):
            path = os.path.dirname(path)
        return path


def _added_to_path(data: bytes) -> Iterator[list[str]]:
    """Yield the names of the directories that a file adds to ``sys.path``, outermost first.

    The parts that are not written, such as ``BASE_DIR`` and ``..``, are left out.
    """
    for match in _ADDED.finditer(data):
        written = _in_parentheses(data[match.end() : match.end() + _LONGEST_PATH])
        named = _LAST_NAME.search(written)
        if named is not None and not _QUOTED.search(written):
            assigned = re.search(rb"(?m)^[ \t]*%s[ \t]*=(?!=)([^\n]*)" % named[1], data)
            written = assigned[1] if assigned is not None else b""
        texts = [text.decode(errors="replace") for text in _QUOTED.findall(written)]
        names = [one for text in texts for one in text.split("/") if one not in ("", ".", "..")]
        if names:
            yield names


def _in_parentheses(data: bytes) -> bytes:
    """Return the bytes up to the parenthesis that closes one before them."""
    depth = 1
    for match in _PARENTHESIS.finditer(data):
        depth += 1 if match[0] == b"(" else -1
        if not depth:
            return data[: match.start()]
    return b""
