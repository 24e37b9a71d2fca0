"""The units of a large repository: projects side by side, each of which is checked by itself.

A unit is a directory with a project's mark or a deployment of its own. Code outside of it belongs
to it where it imports that code. A small repository is one project, and so is one whose largest
part holds most of its files: there is nothing to gain.
"""

from __future__ import annotations

import os
from functools import cached_property

from gblock import files, opened
from gblock.boundary import PROJECT_MARKS, repository
from gblock.decoding import encoded
from gblock.project.reading.modules import STARTING, Modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gblock.config import Config

_LARGEST_SHARE = 0.6
"""The share of the files that the largest unit, or what belongs to none, has at most."""
_DEEPEST = 4
"""Directories between the top and a unit, the unit included."""
_DEPLOYMENTS = ("procfile", "dockerfile", "containerfile")
"""The first letters, in lower case, of the names of files that deploy their directory."""
_STARTING = tuple(word.encode() for word in STARTING)


class Unit:
    """One unit of a repository.

    Args:
        directory: Its directory.
        whole: The repository.
    """

    def __init__(self, directory: str, whole: Monorepo) -> None:
        self.directory = directory
        self.top = whole.top
        self._whole = whole

    def files(self) -> list[str]:
        """Return its own files."""
        return self._whole.below(self.directory)

    def shared(self, own: Iterable[str], data: Callable[[str], bytes]) -> list[str]:
        """Return the files outside of it that its files import.

        Args:
            own: Its files.
            data: Returns the bytes of a file.
        """
        from gblock.project.reading.shared import shared

        names = self._whole.names_outside(self.directory)
        return shared(self._whole.modules, own, self.directory, data, names)


class Monorepo:
    """The Python files of a repository, of which no bytes are read.

    Args:
        top: Its directory.
        paths: The files.
        config: The settings.
    """

    def __init__(self, top: str, paths: Sequence[str], config: Config) -> None:
        self.top = top
        self.modules = Modules(top, list(paths), config.src)
        self._exclude = config.exclude
        self._by_unit: dict[str, list[str]] = {}
        """The files of each unit; of the top, those that belong to none."""
        if len(paths) > files.LARGE_TREE:
            self._divide(paths)

    @property
    def directories(self) -> list[str]:
        """The directories of the units, in order; empty if the tree is one project."""
        return [directory for directory in self._by_unit if directory != self.top]

    def below(self, directory: str) -> list[str]:
        """Return the files of one unit, or of the top those of none."""
        return self._by_unit.get(directory, [])

    def unit(self, directory: str) -> Unit:
        """Return the unit of a directory."""
        return Unit(directory, self)

    def around(self, path: str) -> Unit | None:
        """Return the unit that a path lies in, None if it lies in none."""
        while len(path) > len(self.top):
            if path in self._by_unit:
                return Unit(path, self)
            path = os.path.dirname(path)
        return None

    def names_outside(self, directory: str) -> frozenset[bytes]:
        """Return the names that a dotted name of another unit's modules, or of none's, starts with.

        Args:
            directory: The unit.
        """
        return frozenset(name for name, units in self._tops.items() if units != {directory})

    @cached_property
    def _tops(self) -> dict[bytes, set[str]]:
        """The units that have a module or a package of a name which lies in no package."""
        found: dict[bytes, set[str]] = {}
        packages = {
            os.path.dirname(path) for path in self.modules.files if path.endswith("/__init__.py")
        }
        for unit, paths in self._by_unit.items():
            for directory in {os.path.dirname(path) for path in paths}:
                while directory in packages or len(directory) > len(self.top):
                    above, name = os.path.split(directory)
                    if above not in packages:
                        known = found.setdefault(encoded(name), set())
                        if unit in known:
                            break
                        known.add(unit)
                    directory = above
            for path in paths:
                above, name = os.path.split(path)
                if above not in packages:
                    found.setdefault(encoded(name.partition(".")[0]), set()).add(unit)
        return found

    def patterns(self) -> tuple[str, ...]:
        """Return patterns as in `.gitignore`, from the top, for the directories of all units."""
        start = len(self.top.rstrip("/"))
        return tuple(f"{_escaped(directory[start:])}/" for directory in self.directories)

    def _divide(self, paths: Sequence[str]) -> None:
        found = self._found(paths)
        largest = max(map(len, found.values()), default=0)
        if len(found) - (self.top in found) < 2 or largest > _LARGEST_SHARE * len(paths):
            return
        self._by_unit = found
        if self._starts_gevent():
            self._by_unit = {}

    def prepare(self) -> None:
        """Make the indexes that all units use, before other processes copy them."""
        _ = self._tops
        self.modules.resolve("gblock", 0, os.path.join(self.top, "x.py"))

    def _found(self, paths: Sequence[str]) -> dict[str, list[str]]:
        """Return the files by the topmost directory around them that is a unit."""
        found: dict[str, list[str]] = {}
        known: dict[str, str] = {}
        for path in paths:
            directory = os.path.dirname(path)
            unit = known.get(directory)
            if unit is None:
                unit = known[directory] = self._unit_of(directory, known)
            found.setdefault(unit, []).append(path)
        return dict(sorted(found.items()))

    def _unit_of(self, directory: str, known: dict[str, str]) -> str:
        parts = directory[len(self.top) :].strip(os.sep).split(os.sep)
        current = self.top
        for part in filter(None, parts[:_DEEPEST]):
            current = os.path.join(current, part)
            if current not in known:
                known[current] = current if _is_unit(current) else self.top
            if known[current] != self.top:
                return known[current]
        return self.top

    def _starts_gevent(self) -> bool:
        """Return whether a file outside of all units may start a process on gevent.

        Which unit it starts is known only where all of them are read together.
        """
        from gblock.project.processes.formats import matters, mention
        from gblock.project.reading.tree import Tree

        outside = Tree(self.top, (*self._exclude, *self.patterns()), matters=matters)
        return mention(outside, _STARTING) is not None


def around(path: str, config: Config) -> Unit | None:
    """Return the unit of the repository around a path, None if the repository is one project.

    Args:
        path: A directory or a file.
        config: The settings.
    """
    top = repository(path if os.path.isdir(path) else os.path.dirname(path))
    real = os.path.realpath(path)
    # A path with links in it stays as it is: its files are known by that name.
    if real != path or not _is_candidate(real, top):
        return None
    found = files.find([top], config.exclude, config.root)
    if len(found.files) <= files.LARGE_TREE:
        return None
    return Monorepo(top, found.absolute, config).around(real)


def _is_candidate(path: str, top: str) -> bool:
    """Return whether a path lies in a directory below the top that may be a unit."""
    while len(path) > len(top):
        if _is_unit(path):
            return True
        path = os.path.dirname(path)
    return False


def _is_unit(directory: str) -> bool:
    """Return whether a directory has a project's mark or a deployment of its own."""
    opened.note(directory)
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    return any(name in PROJECT_MARKS or name.lower().startswith(_DEPLOYMENTS) for name in names)


def _escaped(path: str) -> str:
    return "".join(f"\\{one}" if one in "\\*?[ " else one for one in path)
