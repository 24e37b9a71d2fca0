"""The lines where a project imports packages."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from gblock.project.reading.parsing import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gblock.project.reading.modules import Modules

_LINE = rb"(?:from|import)[ \t]+([^\n#;]+)"
_WORD = rb"\w+"


class ImportLine(NamedTuple):
    """The first line of a file that imports from a package."""

    path: str
    row: int
    """From 1."""
    column: int
    """From 1."""


class Imports:
    """Finds import statements of packages, except of the project's own modules of that name.

    Args:
        modules: The project.
        paths: The files to search.
    """

    def __init__(self, modules: Modules, paths: Iterable[str]) -> None:
        self.modules = modules
        self.paths = tuple(paths)

    def of(self, packages: Iterable[str]) -> dict[str, list[ImportLine]]:
        """Return the files that import each of some packages, by dotted name, with the line.

        Unparsable files are omitted and recorded as problems of `modules`.
        """
        by_root: dict[str, list[str]] = {}
        for package in packages:
            by_root.setdefault(package.partition(".")[0], []).append(package)
        roots = {root.encode() for root in by_root}
        found: dict[str, list[ImportLine]] = {}
        for path in self.paths:
            if not roots.isdisjoint(self._words(path)):
                for package, place in self._in(path, by_root).items():
                    found.setdefault(package, []).append(place)
        return found

    def _words(self, path: str) -> list[bytes]:
        lines = b" ".join(re.findall(_LINE, self.modules.data(path)))
        words: list[bytes] = re.findall(_WORD, lines)
        return words

    def _in(self, path: str, by_root: dict[str, list[str]]) -> dict[str, ImportLine]:
        if not self.modules.compiles(path):
            return {}
        found: dict[str, ImportLine] = {}
        tree = parse(self.modules.data(path))
        for node in ast.walk(tree):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            for name in _imported(node):
                for package in by_root.get(name.partition(".")[0], ()):
                    if not f"{name}.".startswith(f"{package}."):
                        continue
                    earlier = found.get(package)
                    if earlier is not None and earlier.row <= node.lineno:
                        continue
                    if self.modules.resolve(name, 0, path) is None:
                        found[package] = ImportLine(path, node.lineno, node.col_offset + 1)
        return found


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the dotted names that a statement may import; a relative import means no package."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif not node.level and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
