"""The project's Python files: their bytes, their summaries, and import resolution."""

from __future__ import annotations

import os
import sys
from functools import cached_property

from gblock.decoding import decode, encoded
from gblock.project.reading.testcode import is_test
from gblock.project.reading.word_index import SPACED, WordIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from gblock.project.reading.summary import ModuleSummary
else:
    from gblock.lean import NamedTuple


class Trouble(NamedTuple):
    """The reason why a file cannot be checked."""

    message: str
    place: tuple[int, int] | None = None
    """The row and the column, if known."""
    kind: str = "invalid"
    """``unreadable``: the system denies access; ``invalid``: it is not Python; ``limit``: it may be
    Python, but exceeds a limit of gblock."""


WORDS = ("gevent", "locust", "flask_sockets")
"""Words; every way to run a process on gevent contains one of them."""
_HUGE = 10_000_000
"""Bytes above which a project is read frugally, unless it mentions gevent."""
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_AT_ONCE = 1 << 20
"""Bytes to read of a file of unknown size."""
_ONLY_PARSE = 0x400  # ast.PyCF_ONLY_AST, without importing ast
_NULL = Trouble("holds null bytes, so it is not Python source")
TOO_DEEP = Trouble("nests too deep to be checked", kind="limit")
_SCANS = 25
"""After this many searches, an index of the words of all files is cheaper than more searches.

Both find the same files.
"""


class Modules:
    """Every Python file of one project, read and summarized on demand.

    Args:
        root: The project's directory.
        files: Its Python files, each a path that starts like `root`.
        sources: Directories to import from, in addition to those that the packages show.
    """

    def __init__(self, root: str, files: list[str], sources: tuple[str, ...] = ()) -> None:
        self.root = root
        self.files = files
        self.sources = sources
        self.service: frozenset[str] = frozenset()
        """Files that count as part of the service, whatever their names."""
        self.problems: dict[str, Trouble] = {}
        self._data: dict[str, bytes] = {}
        self._sizes: dict[str, int] = {}
        """The sizes of files that have not been read."""
        self._surveyed: set[str] = set()
        self._speaking: set[str] = set()
        """Surveyed files that mention gevent and are no tests."""
        self._ahead: dict[str, bytes] = {}
        """Summaries from another process."""
        self._summaries: dict[str, ModuleSummary | None] = {}
        self._mentions: dict[tuple[str, bool, bool], list[str]] = {}
        self._words: dict[bool, WordIndex] = {}
        """Indexes of all files, and of all except tests."""
        self._resolved: dict[tuple[str, str], str | None] = {}
        self._by_tail: dict[str, list[str]] = {}
        self._directories: set[str] = set()
        self._packages: set[str] = set()
        self._known = set(files)
        self._indexed = False

    def _index(self) -> None:
        """Index the files by module name; not needed by a run that resolves no import."""
        self._indexed = True
        for path in self.files:
            directory, name = os.path.split(path)
            stem = name.rpartition(".")[0] or name
            if stem == "__init__":
                self._packages.add(directory)
                stem = os.path.basename(directory)
            self._by_tail.setdefault(stem, []).append(path)
            while directory and directory not in self._directories:
                self._directories.add(directory)
                parent = os.path.dirname(directory)
                if parent == directory:
                    break
                directory = parent

    def data(self, path: str) -> bytes:
        """Return a file's bytes; for an unreadable file, record a problem and return nothing."""
        found = self._data.get(path)
        if found is None:
            try:
                found = _read(path)
            except OSError as error:
                message = f"cannot be read: {error.strerror}"
                self.problems[path] = Trouble(message, kind="unreadable")
                found = b""
            self._data[path] = found
        return found

    @property
    def size(self) -> int:
        """The total bytes of all files."""
        return sum(map(self._size, self.files))

    def _size(self, path: str) -> int:
        if path in self._data:
            return len(self._data[path])
        if path not in self._sizes:
            try:
                self._sizes[path] = os.path.getsize(path)
            except OSError:
                self._sizes[path] = 0
        return self._sizes[path]

    @cached_property
    def is_frugal(self) -> bool:
        """Whether objects are followed only within their own file.

        This applies to a tree above ten megabytes in which only tests mention gevent: reading all
        of it would take long, and there is nothing to report.
        """
        if self._speaking or self.size <= _HUGE:
            return False
        return not any(self.speaks(path) for path in self.files if path not in self._surveyed)

    def speaks(self, path: str) -> bool:
        """Return whether a file of the service mentions gevent."""
        return b"gevent" in self.data(path) and not self.is_test(path)

    def told(self, sizes: dict[str, int], speaking: list[str]) -> None:
        """Store what is already known about some files.

        Args:
            sizes: The files, with the size of each in bytes.
            speaking: Those of them for which `speaks` is true.
        """
        self._sizes.update(sizes)
        self._surveyed.update(sizes)
        self._speaking.update(speaking)

    def give(self, path: str, data: bytes) -> None:
        """Use these bytes for a file, such as an editor's unsaved text."""
        self._data[path] = data
        self.add(path)

    def add(self, path: str) -> None:
        """Add a file to the project."""
        if path not in self._known:
            self._known.add(path)
            self.files.append(path)
            self._mentions.clear()
            self._words.clear()
            vars(self).pop("serving", None)

    def summary(self, path: str) -> ModuleSummary | None:
        """Return a file's summary; if it cannot be parsed, record a problem and return None."""
        if path not in self._summaries:
            self._summaries[path] = self._summarize(path)
        return self._summaries[path]

    def summaries(self, paths: list[str]) -> dict[str, bytes]:
        """Return the summaries of some files for another process, without unparsable files."""
        import pickle

        found: dict[str, bytes] = {}
        for path in paths:
            one = self.summary(path)
            if one is not None:
                try:
                    found[path] = pickle.dumps(one, 5)
                except RecursionError:
                    continue  # the other process reads it itself
        return found

    def summarized(self, summaries: dict[str, bytes]) -> None:
        """Store the result of `summaries`."""
        self._ahead.update(summaries)

    def give_up(self, path: str) -> None:
        """Note that a file nests too deep to be understood; it has no summary from now on."""
        self._summaries[path] = None
        self.problems[path] = TOO_DEEP

    def is_read(self, path: str) -> bool:
        """Whether a file has been summarized."""
        return path in self._summaries

    def _summarize(self, path: str) -> ModuleSummary | None:
        ahead = self._ahead.pop(path, None)
        if ahead is not None:
            import pickle

            known: ModuleSummary = pickle.loads(ahead)  # noqa: S301 - our own
            return known
        from gblock.project.reading.summary import (
            summarize,  # a run that reads no module does without
        )

        data = self.data(path)
        if b"\0" in data:
            self.problems[path] = _NULL
            return None
        try:
            return summarize(path, data)
        except _UNPARSABLE as error:
            self.problems[path] = _explained(error)
        return None

    def compiles(self, path: str) -> bool:
        """Return whether a file's syntax is right; if not, it is noted as a problem."""
        trouble = self.syntax_error(path)
        if trouble is not None:
            self.problems[path] = trouble
        return trouble is None

    def syntax_error(self, path: str) -> Trouble | None:
        """Return why a file cannot be parsed, None if it can."""
        data = self.data(path)
        if b"\0" in data:
            return _NULL
        try:
            compile(data, path, "exec", _ONLY_PARSE, dont_inherit=True)
        except _UNPARSABLE as error:
            return _explained(error)
        return None

    def decoding_error(self, path: str) -> Trouble | None:
        """Return why a file is not in its declared encoding, None if it is."""
        try:
            decode(self.data(path))
        except (SyntaxError, UnicodeDecodeError) as error:
            return _explained(error)
        return None

    def text(self, path: str) -> str | None:
        """Return a file's text, None where it is not in its declared encoding, which is noted."""
        try:
            return decode(self.data(path))
        except (SyntaxError, UnicodeDecodeError) as error:
            self.problems[path] = _explained(error)
        return None

    def mentioning(self, word: str, *, tests: bool = False, whole: bool = False) -> list[str]:
        """Return the files in whose bytes a word stands: the service's, or all with tests.

        In a project that is read frugally there are none.

        Args:
            word: The word.
            tests: Whether tests count, too.
            whole: Whether parts of longer words do not.
        """
        if self.is_frugal:
            return []
        key = (word, tests, whole)
        found = self._mentions.get(key)
        if found is None:
            found = self._mentions[key] = self._find(encoded(word), tests, whole)
        return found

    def _find(self, word: bytes, tests: bool, whole: bool) -> list[str]:
        files = self.files if tests else self.serving
        if (
            not word
            or word != word.translate(SPACED)
            or (not whole and len(self._mentions) <= _SCANS)
        ):
            return [path for path in files if word in self.data(path)]
        index = self._words.get(tests)
        if index is None:
            index = self._words[tests] = WordIndex(files, self.data)
        return index.whole(word) if whole else index.part(word)

    def is_test(self, path: str) -> bool:
        """Whether a file is a test and no part of the service."""
        return path not in self.service and is_test(path, self.root, self.data)

    @cached_property
    def serving(self) -> list[str]:
        """The files that are no tests."""
        return [path for path in self.files if not self.is_test(path)]

    # -- imports

    def resolve(self, module: str, level: int, importer: str) -> str | None:
        """The file, or the directory without ``__init__.py``, that an import means.

        Args:
            module: The dotted name behind ``from`` or ``import``.
            level: The number of leading dots.
            importer: The file that imports.

        Returns:
            A path, or None for a module that is not part of the project.
        """
        if not self._indexed:
            self._index()
        directory = os.path.dirname(importer)
        if level:
            for _ in range(level - 1):
                directory = os.path.dirname(directory)
            return self.inside(directory, module)
        key = (directory, module)
        if key not in self._resolved:
            self._resolved[key] = self._absolute(module, directory)
        return self._resolved[key]

    def inside(self, directory: str, module: str) -> str | None:
        """A dotted name below a directory."""
        base = os.path.join(directory, *module.split(".")) if module else directory
        for path in (os.path.join(base, "__init__.py"), base + ".py"):
            if path in self._known:
                return path
        return base if base in self._directories else None

    def is_module(self, path: str) -> bool:
        """Whether a path that `resolve` gave is a file."""
        return path in self._known

    def _absolute(self, module: str, directory: str) -> str | None:
        for root in self._roots(directory):
            found = self.inside(root, module)
            if found is not None and (self.is_module(found) or self._is_namespace(found)):
                return found
        first = module.partition(".")[0]
        if first in sys.stdlib_module_names:
            return None
        return self._unique(module)

    def _roots(self, directory: str) -> list[str]:
        """Where an import of a file in this directory looks, nearest first."""
        roots = [] if directory in self._packages else [directory]
        current = directory
        while len(current) > len(self.root):
            current = os.path.dirname(current)
            if current not in self._packages:
                roots.append(current)
        if self.root not in roots:
            roots.append(self.root)
        roots += [os.path.join(self.root, source) for source in (*self.sources, "src", "lib")]
        return roots

    def _is_namespace(self, directory: str) -> bool:
        """Whether a directory without ``__init__.py`` is likely meant as a package."""
        return directory != self.root and "." not in os.path.basename(directory)

    def _unique(self, module: str) -> str | None:
        """The one file whose path ends in a dotted name and whose packages start there."""
        parts = module.split(".")
        tail = os.sep + os.path.join(*parts)
        found = [
            path
            for path in self._by_tail.get(parts[-1], ())
            if path.endswith((tail + ".py", tail + os.sep + "__init__.py"))
            and self._package_root(path, len(parts)) not in self._packages
        ]
        return found[0] if len(found) == 1 and len(parts) > 1 else None

    def _package_root(self, path: str, depth: int) -> str:
        if os.path.basename(path) == "__init__.py":
            path = os.path.dirname(path)
        for _ in range(depth):
            path = os.path.dirname(path)
        return path


def _read(path: str) -> bytes:
    """A file's bytes; for thousands of files this takes half as long as ``open`` and ``read``."""
    descriptor = os.open(path, _READING)
    try:
        size = os.fstat(descriptor).st_size
        found = os.read(descriptor, size + 1)
        if len(found) != size:  # it grows, or the system has no size for it
            parts = [found]
            while parts[-1]:
                parts.append(os.read(descriptor, _AT_ONCE))
            found = b"".join(parts)
    finally:
        os.close(descriptor)
    return found


def _explained(error: Exception) -> Trouble:
    """Return one line for a file that cannot be read as Python, and the place."""
    if isinstance(error, UnicodeDecodeError):
        before = error.object[: error.start]
        row = before.count(b"\n") + 1
        return Trouble(f"is not {error.encoding}, and declares no other encoding", (row, 1))
    if isinstance(error, SyntaxError):
        place = (error.lineno, max(error.offset or 1, 1)) if error.lineno else None
        return Trouble(f"cannot be parsed: {error.msg or 'invalid syntax'}", place)
    return TOO_DEEP
