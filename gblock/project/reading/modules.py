"""The project's Python files: their bytes, their summaries, and import resolution."""

from __future__ import annotations

import os
from functools import cached_property

from gblock import opened
from gblock.decoding import decode
from gblock.project.reading.parsing import UNPARSABLE, verify
from gblock.project.reading.testcode import is_test
from gblock.project.reading.word_index import WordSearch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import NamedTuple

    from gblock.cache.facts import KeptFacts
    from gblock.project.reading.import_resolver import Assumed, ImportResolver
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


class Kept(NamedTuple):
    """The files of a project that a run has read."""

    data: Mapping[str, bytes]
    """The bytes of files, by path."""
    summaries: Mapping[str, ModuleSummary]


WORDS = ("gevent", "locust", "flask_sockets", "zerorpc", "gnsq", "SteamClient")
"""Words; every way to run a process on gevent contains one of them."""
CHOOSING = ("flask_socketio",)
"""Words of code that runs on gevent where gevent is installed."""
STARTING = (*WORDS, "greenlet", "GEVENT")
"""Words of files that start processes on gevent: ``-k greenlet`` of huey, ``UWSGI_GEVENT``, too."""
_HUGE = 10_000_000
"""Bytes above which a project is read frugally, unless it mentions gevent."""
_OF_GEVENT = os.path.join(os.sep, "gevent", "hub.py")
_BESIDE_GEVENT = os.path.join(os.sep, "greenlet", "__init__.py")
"""A module of gevent, and one of what it requires: both are in a directory of packages."""
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_AT_ONCE = 1 << 20
"""Bytes to read of a file of unknown size."""
_NULL = Trouble("holds null bytes, so it is not Python source")
TOO_DEEP = Trouble("nests too deep to be checked", kind="limit")
_SEARCHES = ("_served", "_tested")
"""The searches for words in the files of the service, and in tests."""


class Modules:
    """Every Python file of one project, read and summarized on demand.

    Args:
        root: The project's directory.
        files: Its Python files, each a path that starts like `root`.
        sources: Directories to import from, in addition to those that the packages show.
    """

    def __init__(self, root: str, files: list[str], sources: tuple[str, ...] = ()) -> None:
        self.root = root
        self.top = root
        """The directory around `root` that holds the code which it shares with others."""
        self.files = files
        self.sources = sources
        self.problems: dict[str, Trouble] = {}
        self._data: dict[str, bytes] = {}
        self._sizes: dict[str, int] = {}
        """The sizes of files that have not been read."""
        self._surveyed: set[str] = set()
        self._speaking: set[str] = set()
        """Surveyed files that mention gevent and are no tests."""
        self._ahead: dict[str, bytes] = {}
        """Summaries from another process."""
        self._summaries: dict[str, ModuleSummary] = {}
        self._unparsable: set[str] = set()
        self._in_python_2: set[str] = set()
        """Of these, the files whose declarations are known."""
        self._known = set(files)
        self._service: frozenset[str] = frozenset()
        self.facts: KeptFacts | None = None
        """The facts that earlier runs have read of the project, if they are kept."""

    def data(self, path: str) -> bytes:
        """Return a file's bytes; for an unreadable file, record a problem and return nothing."""
        found = self._data.get(path)
        if found is None:
            opened.note(path)
            try:
                found = _read(path)
            except OSError as error:
                message = f"cannot be read: {error.strerror}"
                self.problems[path] = Trouble(message, kind="unreadable")
                found = b""
            self._data[path] = found
        return found

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes if it has been read, else None."""
        return self._data.get(path)

    @property
    def size(self) -> int:
        """The total bytes of all files."""
        return sum(map(self._size, self.files))

    def _size(self, path: str) -> int:
        if path in self._data:
            return len(self._data[path])
        if path not in self._sizes:
            opened.note(path)
            try:
                self._sizes[path] = os.path.getsize(path)
            except OSError:
                self._sizes[path] = 0
        return self._sizes[path]

    @cached_property
    def is_frugal(self) -> bool:
        """Return whether objects are followed only within their own file.

        This applies to a tree above ten megabytes in which only tests mention gevent: reading all
        of it would take long, and there is nothing to report. It applies to one of installed
        packages, too, which pass objects to one another everywhere and are no service together.
        """
        if self.size <= _HUGE:
            return False
        if self.is_environment:
            return True
        return not self._speaking and not any(
            self.speaks(path) for path in self.files if path not in self._surveyed
        )

    @cached_property
    def is_environment(self) -> bool:
        """True if most files lie beside gevent itself, in a directory of installed packages."""
        for path in self.files:
            if path.endswith(_OF_GEVENT):
                directory = path.removesuffix(_OF_GEVENT)
                if directory + _BESIDE_GEVENT in self._known:
                    inside = sum(one.startswith(directory + os.sep) for one in self.files)
                    return 2 * inside > len(self.files)
        return False

    def speaks(self, path: str) -> bool:
        """Return whether a file of the service mentions gevent."""
        return b"gevent" in self.data(path) and not self.is_test(path)

    def told(self, sizes: dict[str, int], speaking: list[str]) -> None:
        """Store what is already known about some files.

        Args:
            sizes: The files, with the size of each in bytes.
            speaking: The files for which `speaks` is true.
        """
        self._sizes.update(sizes)
        self._surveyed.update(sizes)
        self._speaking.update(speaking)
        vars(self).pop("is_frugal", None)

    def give(self, path: str, data: bytes) -> None:
        """Use these bytes for a file, such as an editor's unsaved text."""
        self.replace({path: data})
        self.add(path)

    def change(self, path: str, data: bytes) -> None:
        """Use other bytes for a file of the project, and forget what follows from the old ones."""
        searches = {name: vars(self)[name] for name in _SEARCHES if name in vars(self)}
        was_test = bool(searches) and self.is_test(path)
        before = self._data.get(path)
        self._data[path] = data
        for known in (self._summaries, self.problems, self._ahead, self._sizes):
            known.pop(path, None)
        for names in (self._unparsable, self._in_python_2, self._surveyed, self._speaking):
            names.discard(path)
        vars(self).pop("is_frugal", None)
        if searches and was_test != self.is_test(path):
            self._forget_searches()
        elif path in self._known:
            search = searches.get("_tested" if was_test else "_served")
            if search is not None:
                search.change(path, before, data)
        if "_imports" in vars(self):
            self._imports.forget()

    def _forget_searches(self) -> None:
        for name in (*_SEARCHES, "_places", "serving"):
            vars(self).pop(name, None)

    def kept(self) -> Kept:
        """Return what has been read so far, for a later run over the same project."""
        summaries = {p: one for p, one in self._summaries.items() if p not in self._unparsable}
        return Kept(dict(self._data), summaries)

    def inherit(self, kept: Kept, changed: Collection[str]) -> None:
        """Use what an earlier run over the project has read.

        Args:
            kept: What that run returned.
            changed: The files whose bytes are no longer the same.
        """
        for path, data in kept.data.items():
            if path not in changed:
                self._data.setdefault(path, data)
        for path, summary in kept.summaries.items():
            if path not in changed:
                self._summaries[path] = summary

    def replace(self, given: Mapping[str, bytes]) -> None:
        """Use these bytes for files, whether or not they belong to the project."""
        for path, data in given.items():
            if path in self._data or path in self._known:
                self.change(path, data)
            else:
                self._data[path] = data

    def add(self, path: str) -> None:
        """Add a file to the project."""
        if path not in self._known:
            self._known.add(path)
            self.files.append(path)
            self._forget_searches()
            vars(self).pop("is_frugal", None)
            vars(self).pop("is_environment", None)
            if "_imports" in vars(self):
                self._imports.add(path)

    def belong(self, root: str, top: str) -> None:
        """Set the project's directory, and the one around it whose code it shares."""
        self.root, self.top = root, top
        self._forget_searches()
        vars(self).pop("_imports", None)

    @property
    def service(self) -> frozenset[str]:
        """Files that count as part of the service, whatever their names."""
        return self._service

    @service.setter
    def service(self, paths: frozenset[str]) -> None:
        self._service = paths
        self._forget_searches()
        vars(self).pop("is_frugal", None)

    def summary(self, path: str) -> ModuleSummary:
        """Return a file's summary; if it cannot be parsed, it is empty and a problem recorded."""
        if path not in self._summaries:
            found = self._summarize(path)
            if found is None:
                self._empty(path)
            else:
                self._summaries[path] = found
        return self._summaries[path]

    def parses(self, path: str) -> bool:
        """Return whether a file can be parsed, and does not nest too deep."""
        self.summary(path)
        return path not in self._unparsable

    def is_in_python_2(self, path: str) -> bool:
        """Return whether a file that cannot be parsed is in Python 2, so its names are known."""
        self.summary(path)
        return path in self._in_python_2

    def summaries(self, paths: list[str]) -> dict[str, bytes]:
        """Return the summaries of some files for another process, without unparsable files."""
        import pickle

        found: dict[str, bytes] = {}
        for path in paths:
            if self.parses(path):
                try:
                    found[path] = pickle.dumps(self.summary(path), 5)
                except RecursionError:
                    continue  # the other process reads it itself
        return found

    def summarized(self, summaries: dict[str, bytes]) -> None:
        """Store the result of `summaries`."""
        self._ahead.update(summaries)

    def give_up(self, path: str) -> None:
        """Record that a file nests too deep; its summary is empty from now on."""
        self._empty(path)
        self.problems[path] = TOO_DEEP

    def _empty(self, path: str) -> None:
        from gblock.project.reading.summary import hollow

        self._summaries[path] = hollow(path, self._summaries.get(path))
        self._unparsable.add(path)
        self._in_python_2.discard(path)

    def is_read(self, path: str) -> bool:
        """Return whether a file has been summarized."""
        return path in self._summaries

    def _summarize(self, path: str) -> ModuleSummary | None:
        ahead = self._ahead.pop(path, None)
        if ahead is not None:
            import pickle

            known: ModuleSummary = pickle.loads(ahead)  # noqa: S301 - our own
            return known
        from gblock.project.reading.summarizing import summarize

        data = self.data(path)
        if b"\0" in data:
            self.problems[path] = _NULL
            return None
        try:
            return summarize(path, data)
        except UNPARSABLE as error:
            self.problems[path] = _explained(error)
        return self._of_python_2(path, data)

    def _of_python_2(self, path: str, data: bytes) -> ModuleSummary | None:
        """Return the summary of a file in Python 2: its calls are not checked, others need it."""
        from gblock.project.reading.python_2 import as_python_3
        from gblock.project.reading.summarizing import summarize

        try:
            found = summarize(path, as_python_3(decode(data)))
        except UNPARSABLE:
            return None
        self._unparsable.add(path)
        self._in_python_2.add(path)
        return found

    def compiles(self, path: str) -> bool:
        """Return whether a file's syntax is valid; if not, record a problem."""
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
            verify(data, path)
        except UNPARSABLE as error:
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
        """Return a file's text; if it is not in its declared encoding, record a problem."""
        try:
            return decode(self.data(path))
        except (SyntaxError, UnicodeDecodeError) as error:
            self.problems[path] = _explained(error)
        return None

    def mentioning(self, word: str, *, tests: bool = False, whole: bool = False) -> list[str]:
        """Return the files whose bytes contain a word, an empty list in a frugal project.

        Args:
            word: The word.
            tests: True to include tests.
            whole: True to exclude parts of longer words.
        """
        if self.is_frugal:
            return []
        found = self._served.mentioning(word, whole=whole)
        others = self._tested.mentioning(word, whole=whole) if tests else []
        return sorted((*found, *others), key=self._places.__getitem__) if others else found

    def near(self, path: str, *, tests: bool = False) -> set[str]:
        """Return a file and those that mention its module or its package.

        Others can hardly mean what the file defines if they use a common name of it.
        """
        directory, name = os.path.split(path)
        stem = name.partition(".")[0]
        words = {os.path.basename(directory), *(() if stem == "__init__" else (stem,))}
        found = {path}
        for word in words:
            found.update(self.mentioning(word, tests=tests, whole=True))
        return found

    def naming(
        self, word: str, path: str, most: int, chosen: Callable[[str], bool] | None = None
    ) -> list[str]:
        """Return the files that may mean by a word what a file defines under it.

        Args:
            word: The word.
            path: The file.
            most: If more files mention the word, only those near the file count, of these only
                the chosen ones, and if these are more, the file alone.
            chosen: Returns whether a file uses the word as it is looked for.
        """
        found = self.mentioning(word, whole=True)
        if len(found) > most:
            near = self.near(path)
            found = [one for one in found if one in near]
        if len(found) > most and chosen is not None:
            found = [one for one in found if one == path or chosen(one)]
        return found if len(found) <= most else [one for one in found if one == path]

    def nearest(self, word: str, path: str, most: int) -> list[str]:
        """Return at most so many files that mention a word, first those near a file."""
        found = self.mentioning(word, whole=True)
        if len(found) > most:
            near = self.near(path)
            found = sorted(found, key=lambda one: one not in near)
        return found[:most]

    def mentioned(self, words: frozenset[str]) -> frozenset[str]:
        """Return those of some words that a file contains, tests included, none if frugal."""
        if self.is_frugal:
            return frozenset()
        found = self._served.mentioned(words)
        return found | self._tested.mentioned(words - found)

    @cached_property
    def _served(self) -> WordSearch:
        return WordSearch(self.serving, self.data)

    @cached_property
    def _tested(self) -> WordSearch:
        return WordSearch([path for path in self.files if self.is_test(path)], self.data)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {path: place for place, path in enumerate(self.files)}

    def is_test(self, path: str) -> bool:
        """Return whether a file is a test and no part of the service."""
        return path not in self.service and is_test(path, self.root, self.data)

    @cached_property
    def serving(self) -> list[str]:
        """The files other than tests."""
        return [path for path in self.files if not self.is_test(path)]

    # -- imports

    @cached_property
    def _imports(self) -> ImportResolver:
        """The resolver of imports; a run that resolves none needs no index of the files."""
        from gblock.project.reading.import_resolver import ImportResolver

        roots = (*dict.fromkeys((self.root, self.top)),)
        return ImportResolver(roots, self.sources, self._known, self.files, self)

    def resolve(self, module: str, level: int, importer: str) -> str | None:
        """Return the file, or the directory without ``__init__.py``, that an import means.

        Args:
            module: The dotted name behind ``from`` or ``import``.
            level: The number of leading dots.
            importer: The file that imports.

        Returns:
            A path, or None for a module that is not part of the project.
        """
        return self._imports.resolve(module, level, importer)

    def others(self, module: str, level: int, importer: str) -> tuple[str, ...]:
        """Return the further files that an import means in other images of the project.

        Args:
            module: The dotted name behind ``from`` or ``import``.
            level: The number of leading dots.
            importer: The file that imports.
        """
        return self._imports.others(module, level, importer)

    def inside(self, directory: str, module: str) -> str | None:
        """Return the file or directory of a dotted name below a directory."""
        return self._imports.inside(directory, module)

    @property
    def assumed(self) -> Assumed:
        """The facts that imports resolved so far take from the bytes of files: values of JSON."""
        return self._imports.assumed

    def agrees(self, assumed: Assumed) -> bool:
        """Return whether imports resolve as in a run where `assumed` was this."""
        return self._imports.agrees(assumed)

    def is_module(self, path: str) -> bool:
        """Return whether a path that `resolve` returned is a file."""
        return path in self._known


def _read(path: str) -> bytes:
    """Return a file's bytes; for thousands of files this takes half the time of ``open``."""
    descriptor = os.open(path, _READING)
    try:
        size = os.fstat(descriptor).st_size
        found = os.read(descriptor, size + 1)
        if len(found) != size:  # it grows, or has no size
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
