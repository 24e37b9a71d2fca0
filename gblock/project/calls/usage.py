"""Usage of functions: whether anything names one, and so may run it in a way that is not seen."""

from __future__ import annotations

import os
import re
from itertools import islice

from gblock.project.reading.modules import Modules

_DEFINED = rb"(?:async[ \t]+)?(?:def|class)[ \t]+%s\b"
_FOREIGN = (
    rb"""[.]\s*%s\b|["']%s["']|^[ \t]*(?:from\b|import\b)[^\n]*\b%s\b"""
    rb"""|^[ \t]*from\b[^\n]*\([^)]*\b%s\b"""
)
"""A name that may be of another file's function."""
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*", re.MULTILINE)
"""A comment on a line of its own; it may hold code that was taken out."""


class Usage:
    """Finds the names of functions in texts.

    Args:
        modules: The project's files.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._named: dict[str, tuple[str, ...]] = {}

    def is_named(self, name: str, path: str) -> bool:
        """Return whether something names a function, apart from its definition and its package.

        A table of handlers, a string, or an attribute of an object of unknown type may run it.

        Args:
            name: The function's name.
            path: The file that defines it.
        """
        word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
        if len(word.findall(_COMMENT.sub(b"", self.modules.data(path)))) > 1:
            return True
        return any(other != path for other in self._naming(name))

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
