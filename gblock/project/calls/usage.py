"""Usage of functions: whether anything names one, and so may run it in a way that is not seen."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import islice

from gblock.project.reading.bindings import IMPORTED
from gblock.project.reading.contents import content
from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import without_prose
from gblock.project.reading.word_index import SPACED, is_listed, listed

_DEFINED = rb"(?:async[ \t]+)?(?:def|class)[ \t]+%s\b"
_FOREIGN = (
    rb"""[.]\s*%s\b|["']%s["']|^[ \t]*(?:from\b|import\b)[^\n]*\b%s\b"""
    rb"""|^[ \t]*from\b[^\n]*\([^)]*\b%s\b"""
)
"""A name that may be of another file's function."""


class Usage:
    """Finds the uses of functions' names in the text of modules.

    Args:
        modules: The project's files.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._named: dict[str, tuple[str, ...]] = {}
        self._repeated: dict[str, bytes] = {}

    def is_named(self, name: str, path: str) -> bool:
        """Return whether something names a function, apart from its definition and its package.

        A table of handlers, a string, or an attribute of an object of unknown type may run it.

        Args:
            name: The function's name.
            path: The file that defines it.
        """
        # Most names are unique: counting is far cheaper than a table of all words.
        if self.modules.data(path).count(name.encode()) > 1:
            if is_listed(name, self._repeated_in(path)):
                return True
        if self.modules.mentioning(name, whole=True) == [path]:
            return False
        return any(other != path for other in self._naming(name))

    def _repeated_in(self, path: str) -> bytes:
        """Return the words that a file contains more than once, as names of its own.

        Comments, docstrings, and attributes of the modules that it imports do not count: a wrapper
        often has the name of what it wraps.
        """
        found = self._repeated.get(path)
        if found is None:
            code = without_prose(self.modules.data(path))
            imported = b"|".join(name.encode() for name in sorted(self._imported(path)))
            if imported:
                code = re.sub(rb"(?<![.\w])(?:%s)[.]\w+" % imported, b"", code)
            counts = Counter(code.translate(SPACED).split())
            found = listed(word for word, number in counts.items() if number > 1)
            self._repeated[path] = found
        return found

    def _imported(self, path: str) -> set[str]:
        """Return the names that mean other modules wherever a file has them."""
        own = os.path.splitext(os.path.basename(path))[0]
        return {
            name
            for name, bindings in self.modules.summary(path).scopes[0].bindings.items()
            if name != own
            and all(one.kind == IMPORTED and one.value.name is None for one in bindings)
        }

    def _naming(self, name: str) -> tuple[str, ...]:
        """Return two files at most that name another file's function: enough for any path."""
        found = self._named.get(name)
        if found is None:
            others = (
                other
                for other in self.modules.mentioning(name, whole=True)
                if os.path.basename(other) != "__init__.py" and not self._names_its_own(other, name)
            )
            found = self._named[name] = tuple(islice(others, 2))
        return found

    def _names_its_own(self, path: str, name: str) -> bool:
        """Return whether a file means functions of its own wherever it names one.

        A bare name is that of the module's function; after a dot, in an import or in a string it
        may be another's.
        """
        data = self.modules.data(path)
        defined = _DEFINED % re.escape(name.encode())
        if re.search(_FOREIGN.replace(b"%s", re.escape(name.encode())), data, re.MULTILINE):
            return False
        uses = len(re.findall(rb"\b%s\b" % re.escape(name.encode()), data))
        is_own = re.search(rb"^" + defined, data, re.MULTILINE) is not None
        return is_own or uses == len(re.findall(defined, data))


_TEMPLATES = (
    *(".cfg", ".conf", ".hbs", ".htm", ".html", ".ini", ".j2", ".jinja", ".jinja2", ".js", ".json"),
    *(".kv", ".mako", ".mustache", ".plist", ".properties", ".proto", ".pt", ".service", ".sh"),
    *(".sql", ".tf", ".thrift", ".toml", ".tmpl", ".tpl", ".ts", ".txt", ".vue", ".wsdl", ".xhtml"),
    *(".xml", ".yaml", ".yml", ".zcml"),
)
"""The endings of templates and settings, which may name functions of the code."""
_MOST_BYTES = 10_000_000
"""The size above which files are not searched: they may then name any function."""
_PUBLISHED = re.compile(rb"\bclassifiers\b|Development Status ::")
_PACKAGING = ("setup.py", "setup.cfg", "pyproject.toml")


class OtherFiles:
    """Finds the functions that files other than Python modules name.

    Args:
        files: The files of the repository, of any format.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._files = list(files)
        self._named: dict[str, bool] = {}

    def may_name(self, name: str) -> bool:
        """Return whether a template, a setting or a command may name a function."""
        if name not in self._named:
            texts = self._texts
            word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
            self._named[name] = texts is None or any(map(word.search, texts))
        return self._named[name]

    @cached_property
    def _texts(self) -> list[bytes] | None:
        """The contents of the files; None if there are too many."""
        found, size = [], 0
        for path in self._files:
            name = os.path.basename(path)
            if not name.endswith(_TEMPLATES) and "." in name.strip("."):
                continue
            data = content(path)
            size += len(data)
            if size > _MOST_BYTES:
                return None
            found.append(data)
        return found

    @cached_property
    def is_published(self) -> bool:
        """True if the project is described as a package for others to install and import."""
        packaging = [path for path in self._files if os.path.basename(path) in _PACKAGING]
        return any(_PUBLISHED.search(content(path)) for path in packaging)
