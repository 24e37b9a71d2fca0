"""All files of a repository by name, with those that may start processes; paths are resolved."""

from __future__ import annotations

import fnmatch
import operator
import os
import re
from functools import cached_property

from gblock import installed, opened
from gblock.boundary import is_regular, leads_out, repository
from gblock.files import ALWAYS_EXCLUDED, ENVIRONMENT_MARK, is_left_out, shared_ending
from gblock.git_index import GitIndex
from gblock.patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = operator.attrgetter("name")
_VARIABLE = re.compile(r"\$(?:\{\w+\}|\w*)")
_WORD = re.compile(r"\W")
_TELLING = 4
"""The least number of literal characters in a path."""
_FILES_LIMIT = 300_000
"""The limit of files that are read from a repository."""
LARGEST = 1_000_000
"""Bytes: a larger file starts no process."""


class Tree:
    """The files below a directory, except those that git ignores or the configuration excludes.

    Links out of the repository are excluded too.

    Args:
        root: The directory.
        exclude: Patterns as in `.gitignore`.
        base: The directory that they are relative to; by default `root`.
        matters: Returns whether a file of some name may matter although a `.gitignore` names it:
            then the index of git decides. None for no file.
    """

    def __init__(
        self,
        root: str,
        exclude: tuple[str, ...] = (),
        base: str = "",
        matters: Callable[[str], bool] | None = None,
    ) -> None:
        self.root = root
        self.files: list[str] = []
        self.outside: list[str] = []
        """Links that lead out of the repository; they are no files of it."""
        self.renamed: dict[str, str] = {}
        """Files by the names that images give them."""
        excluded = Patterns(base or root, exclude) if exclude else None
        self._walk(excluded, matters)

    def _walk(self, excluded: Patterns | None, matters: Callable[[str], bool] | None) -> None:
        waiting: list[tuple[str, tuple[Patterns, ...]]] = [(self.root, ())]
        found, border = self.files, ""
        dependencies: set[str] = set()
        index = GitIndex(self.root, matters) if matters is not None else None
        while waiting and len(found) < _FILES_LIMIT:
            directory, above = waiting.pop()
            opened.note(directory)
            try:
                with os.scandir(directory) as scan:
                    entries = sorted(scan, key=_NAME)
            except OSError:
                continue
            names = [entry.name for entry in entries]
            if ENVIRONMENT_MARK in names and directory != self.root:
                continue
            here = above
            if ".gitignore" in names:
                border = border or repository(self.root)
                here = (*above, *_ignored(directory, border))
            if directory != self.root:
                dependencies |= installed.files(directory, names)
            prefix = os.path.join(directory, "")
            for entry in entries:
                name = entry.name
                path = prefix + name
                if entry.is_dir(follow_symlinks=False):
                    if name not in ALWAYS_EXCLUDED and not is_left_out(f"{path}/", here, excluded):
                        waiting.append((path, here))
                    continue
                if path in dependencies:
                    continue
                if not is_left_out(path, here, excluded, index) and _is_file(entry):
                    if entry.is_symlink():
                        border = border or repository(self.root)
                        if leads_out(path, border):
                            self.outside.append(path)
                            continue
                    found.append(path)

    def __getstate__(self) -> tuple[str, str, list[str], dict[str, str]]:
        """Return the state for pickling: one joined text is far faster than many."""
        return self.root, "\0".join(self.files), self.outside, self.renamed

    def __setstate__(self, state: tuple[str, str, list[str], dict[str, str]]) -> None:
        self.root, joined, self.outside, self.renamed = state
        self.files = joined.split("\0") if joined else []

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.files)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.files:
            found.setdefault(os.path.basename(path), []).append(path)
        return found

    def __contains__(self, path: object) -> bool:
        return path in self._known

    def find(self, written: str, directory: str) -> str | None:
        """Return the file that a path means, which may be in a container or have variables.

        Args:
            written: The path.
            directory: The directory to look in first.
        """
        name = os.path.basename(written)
        if not name or "\0" in written:
            return None
        if name not in self._by_name:
            return self.renamed.get(name)
        candidates = self._by_name[name]
        for base in (directory, self.root):
            path = os.path.normpath(os.path.join(base, written))
            if path in self._known:
                return path
        # The ends of both paths must be equal, as far as both go; the longest match wins.
        wanted = _parts(written)
        ranked = sorted(
            (
                (shared_ending(wanted, path.split("/")), _near(directory, path), path)
                for path in candidates
            ),
            reverse=True,
        )
        if len(ranked) > 1 and ranked[0][:2] == ranked[1][:2]:
            return None
        if ranked[0][0] == 1 and len(wanted) > 1 and not _may_move(wanted):
            return None
        return ranked[0][2]

    def matching(self, written: str, directory: str) -> list[str]:
        """Return the files that a path with unknown variables can mean.

        Args:
            written: The path; ``$NAME`` and ``${NAME}`` stand for anything.
            directory: The directory to look in.

        Returns:
            An empty list if too little of the path is known.
        """
        pattern = _VARIABLE.sub("*", written)
        name = os.path.basename(pattern)
        if len(_WORD.sub("", os.path.splitext(pattern)[0])) < _TELLING:
            return []
        whole = os.path.normpath(os.path.join(directory, pattern))
        return [
            path
            for known, paths in self._by_name.items()
            if fnmatch.fnmatchcase(known, name)
            for path in paths
            if fnmatch.fnmatchcase(path, whole)
        ]

    def directory(self, written: str) -> str | None:
        """Return the directory with the same end as an absolute path of another machine.

        Args:
            written: The path.
        """
        wanted = _parts(written)
        near = self._directories.get(wanted[-1], ()) if wanted else ()
        ranked = sorted(
            ((shared_ending(wanted, path.split("/")), path) for path in near), reverse=True
        )[:2]
        if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
            return None
        return ranked[0][1]

    @cached_property
    def _directories(self) -> dict[str, list[str]]:
        """All directories that contain files, directly or below, by name."""
        seen: set[str] = set()
        found: dict[str, list[str]] = {}
        for path in self.files:
            directory = os.path.dirname(path)
            while len(directory) > len(self.root) and directory not in seen:
                seen.add(directory)
                found.setdefault(os.path.basename(directory), []).append(directory)
                directory = os.path.dirname(directory)
        return found


def _parts(written: str) -> list[str]:
    return [part for part in written.split("/") if part not in ("", ".", "..")]


def _near(directory: str, path: str) -> int:
    """Return the number of leading characters that a file's directory shares with another."""
    return len(os.path.commonpath([directory, path])) if os.path.isabs(directory) else 0


def _may_move(wanted: list[str]) -> bool:
    """Return whether a file may be elsewhere in a container: not a program of the system."""
    return not (wanted[0] in ("usr", "bin", "sbin") and "local" not in wanted)


def _ignored(directory: str, border: str) -> tuple[Patterns, ...]:
    filename = os.path.join(directory, ".gitignore")
    if not is_regular(filename) or leads_out(filename, border):
        return ()
    opened.note(filename)
    try:
        with open(filename, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(LARGEST).split("\n")
    except OSError:
        return ()
    return (Patterns(directory, lines),)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a file or a link to one; a link to itself is neither."""
    try:
        return entry.is_file(follow_symlinks=True)
    except OSError:
        return False
