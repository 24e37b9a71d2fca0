"""Which files can matter at all: bytes and import lines only, nothing is parsed.

A file matters if it imports a package of the catalog and names something of it that can be
reported, or if it names a method of such a package and is connected by imports, either way and over
any number of files, to one that imports the package: objects travel along imports.
"""

from __future__ import annotations

import os
import re

from gblock.outline import Chunk
from gblock.project.modules import Modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Literal first characters: the regular expression engine finds them forty times faster than a
# pattern that starts with an anchor.
_FROM = re.compile(rb"from[ \t]+([\w.]+)[ \t]+import\b")
_IMPORT = re.compile(rb"import[ \t]+([^\n#;]+)")
_WORD = re.compile(rb"\w+")


class Triage:
    """What triage found out about a project.

    Args:
        modules: The project's files.
        chunks: The blockers that can be reported.
    """

    def __init__(self, modules: Modules, chunks: Iterable[Chunk]) -> None:
        self.modules = modules
        self.symbols: dict[str, set[str]] = {}
        for chunk in chunks:
            for symbol in chunk.symbols:
                self.symbols.setdefault(symbol.partition(".")[0], set()).add(symbol)
        self._roots_of_line: dict[bytes, frozenset[str]] = {}
        self._roots = {root.encode(): root for root in self.symbols}
        self._builtins = [
            symbol.rpartition(".")[2].encode() + b"(" for symbol in self.symbols.get("builtins", ())
        ]
        self._imported: dict[str, frozenset[str]] = {}
        self._patterns: dict[frozenset[str], re.Pattern[bytes] | None] = {}

    def imported(self, path: str) -> frozenset[str]:
        """The packages of the catalog that a file's import lines name."""
        found = self._imported.get(path)
        if found is None:
            found = self._imported[path] = self._read(self.modules.data(path))
        return found

    def _read(self, data: bytes) -> frozenset[str]:
        roots: frozenset[str] = frozenset()
        known = self._roots_of_line
        for line in _FROM.findall(data):
            found = known.get(line)
            if found is None:
                first = line.partition(b".")[0]
                found = known[line] = self._named((first,))
            if found:
                roots |= found
        for line in _IMPORT.findall(data):
            found = known.get(line)
            if found is None:
                found = known[line] = self._named(_WORD.findall(line))
            if found:
                roots |= found
        for call in self._builtins:
            if call in data:
                return roots | {"builtins"}
        return roots

    def _named(self, words: Iterable[bytes]) -> frozenset[str]:
        return frozenset([self._roots[word] for word in words if word in self._roots])

    def matters(self, path: str) -> bool:
        """Whether a file itself imports something and names something of it to report."""
        roots = self.imported(path)
        if not roots:
            return False
        if roots not in self._patterns:
            self._patterns[roots] = self._direct(roots)
        pattern = self._patterns[roots]
        return pattern is not None and pattern.search(self.modules.data(path)) is not None

    def _direct(self, roots: frozenset[str]) -> re.Pattern[bytes] | None:
        """A pattern for the names of some packages, as a file that imports them writes them."""
        words: set[str] = set()
        for root in roots:
            for symbol in self.symbols[root]:
                parts = symbol.split(".")
                if len(parts) == 2 and parts[0] != "builtins":
                    # A function such as os.read, whose name alone stands everywhere.
                    words.add(rf"{root}\s*\.\s*{parts[1]}\b")
                    words.add(rf"from {root} import [^\n]*\b{parts[1]}\b")
                    words.add(rf"from {root} import [(*]")
                    words.add(rf"import {root} as ")
                elif parts[-1] == "*":
                    words.add(rf"\bimport {root}\b|from {root} import")
                elif parts[-1].startswith("__"):
                    words.add(rf"\b{re.escape(parts[-2])}\b")
                    words.add(r"\bwith\b|\bfor\b")
                else:
                    words.add(rf"\b{parts[-1]}\b")
        return re.compile("|".join(sorted(words)).encode()) if words else None

    def select_alone(self, reported: Iterable[str]) -> bool:
        """Whether any of these files may matter, whatever the rest of the project is."""
        methods = self._methods(frozenset(self.symbols))
        for path in reported:
            if self.matters(path):
                return True
            if methods is not None and methods.search(self.modules.data(path)) is not None:
                return True
        return False

    def roots(self, paths: Iterable[str]) -> frozenset[str]:
        """The packages that any of these files imports."""
        return frozenset().union(*(self.imported(path) for path in paths))

    def select(self, reported: Iterable[str], roots: frozenset[str]) -> list[str]:
        """The files to inspect, of those to report on.

        Args:
            reported: The files that were asked about.
            roots: The packages that the project imports anywhere.
        """
        methods = self._methods(roots)
        connected = self._connected(roots) if methods is not None else set()
        chosen = []
        for path in reported:
            if self.matters(path):
                chosen.append(path)
            elif methods is not None and path in connected:
                if methods.search(self.modules.data(path)) is not None:
                    chosen.append(path)
        return chosen

    def _methods(self, roots: frozenset[str]) -> re.Pattern[bytes] | None:
        """A pattern for the methods of some packages, called on an object from elsewhere."""
        names = {
            symbol.rpartition(".")[2]
            for root in roots
            for symbol in self.symbols.get(root, ())
            if _is_method(symbol)
        }
        if not names:
            return None
        return re.compile(rb"\.(?:%s)\b" % "|".join(sorted(names)).encode())

    def _connected(self, roots: frozenset[str]) -> set[str]:
        """The files that imports connect with one that imports a package with methods.

        The connection is told from the last names on import lines, which can only err on the side
        of reading a file for nothing.
        """
        with_methods = frozenset(
            root
            for root in roots
            if any(_is_method(symbol) for symbol in self.symbols.get(root, ()))
        )
        seeds = [path for path in self.modules.files if self.imported(path) & with_methods]
        if not seeds:
            return set()
        stems: dict[bytes, list[str]] = {}
        words: dict[str, set[bytes]] = {}
        for path in self.modules.files:
            stems.setdefault(_stem(path), []).append(path)
            words[path] = _import_words(self.modules.data(path))
        importers: dict[bytes, list[str]] = {}
        for path, named in words.items():
            for word in named:
                if word in stems:
                    importers.setdefault(word, []).append(path)
        found = set(seeds)
        queue = list(seeds)
        while queue:  # upwards: who imports a file that holds such objects
            for importer in importers.get(_stem(queue.pop()), ()):
                if importer not in found:
                    found.add(importer)
                    queue.append(importer)
        for path in list(found):  # and one step down: who is called by them
            for word in words[path]:
                found.update(stems.get(word, ()))
        return found


def _is_method(symbol: str) -> bool:
    """Whether a symbol can be called on an object that comes from another file."""
    return symbol.count(".") > 1 and not symbol.endswith(("__", "*"))


def _stem(path: str) -> bytes:
    """The last part of a file's module name."""
    directory, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.partition(".")[0]
    return os.fsencode(directory.rpartition("/")[2] if stem == "__init__" else stem)


def _import_words(data: bytes) -> set[bytes]:
    lines = {*_FROM.findall(data), *_IMPORT.findall(data)}
    return set(_WORD.findall(b" ".join(lines)))
