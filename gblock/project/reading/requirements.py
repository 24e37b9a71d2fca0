"""The distributions that a project requires, from any kind of dependency file."""

from __future__ import annotations

import os
import re
from functools import cached_property

from gblock.distribution import normalized
from gblock.project.reading.tree import Tree

_LISTS = re.compile(
    r"(?:.*requirements?.*|constraints?.*)\.(?:txt|in|pip)|.*\.(?:requirements|reqs)"
    r"|pyproject\.toml|pipfile|setup\.(?:py|cfg)|environment.*\.ya?ml|(?:.+\.)?dockerfile.*",
    re.IGNORECASE,
)
_LOCKS = frozenset({"poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "pylock.toml"})
_LARGEST = 10_000_000
"""Bytes: a larger file lists no requirements."""
_COMMENT = re.compile(r"(?:^|\s)#[^\n]*")
_WORD = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_LOCKED = re.compile(r"""^name = ["']([\w.-]+)["']|^        ["']([\w.-]+)["']: \{""", re.MULTILINE)


class Requirements:
    """The names in dependency files and Dockerfiles.

    Args:
        tree: The repository's files.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __contains__(self, distribution: object) -> bool:
        return isinstance(distribution, str) and normalized(distribution) in self._names

    @property
    def is_listed(self) -> bool:
        """Whether the project lists any requirement."""
        return bool(self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        """Every word that may be a distribution's name; in lock files only the locked ones."""
        found: set[str] = set()
        for path in self.tree.files:
            name = os.path.basename(path).lower()
            in_folder = os.path.basename(os.path.dirname(path)).lower() == "requirements"
            if name in _LOCKS:
                found.update(one or other for one, other in _LOCKED.findall(_text(path)))
            elif _LISTS.fullmatch(name) or (in_folder and name.endswith((".txt", ".in", ".pip"))):
                found.update(_WORD.findall(_COMMENT.sub("", _text(path))))
        return frozenset(map(normalized, found))


def _text(path: str) -> str:
    try:
        if os.path.getsize(path) > _LARGEST:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
