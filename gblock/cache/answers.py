"""The output of `gblock check`, kept for the next run with the same question."""

from __future__ import annotations

import os
import sys

import gblock
from gblock import opened
from gblock.boundary import PROJECT_MARKS
from gblock.cache import manifest
from gblock.cache.store import NAME, Store, user_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple

    from gblock.cache.facts import KeptFacts
else:
    from gblock.lean import NamedTuple

_FORMAT = 1
"""Changed whenever entries of the same name would mean something else."""
_MARKS = ("gblock.toml", *PROJECT_MARKS)


class Answer(NamedTuple):
    """The output of a check."""

    out: str
    """To standard output."""
    err: str
    """To standard error."""
    code: int
    """Its exit code."""


class Answers:
    """The answer to one question, which a run before may have given.

    Args:
        question: All that the answer depends on besides files.
        path: The first path that is checked.
        directory: The directory of the cache, None for the one beside the project's mark.
        is_own: Whether the command line names it.
    """

    def __init__(
        self,
        question: Iterable[str],
        path: str,
        directory: str | None = None,
        *,
        is_own: bool = False,
    ) -> None:
        import time

        self._began = time.time_ns()
        self._run = _surroundings()
        self._name = manifest.digest_of((str(_FORMAT), *self._run, *question))
        self._opened = opened.begin()
        place = directory or _place(path)
        self._store = Store(os.path.abspath(place), is_own=is_own) if place else None

    def facts(self) -> KeptFacts | None:
        """Return what runs have read of the project, None if nothing is kept."""
        if self._store is None:
            return None
        from gblock.cache.facts import KeptFacts

        return KeptFacts(self._store, (*self._run,))

    def known(self) -> Answer | None:
        """Return the answer if nothing has changed since it was given."""
        entry = self._store.get(self._name) if self._store is not None else None
        if entry is None or self._store is None:
            return None
        head, _, rest = entry.partition(b"\n")
        try:
            out, err, code = map(int, head.split())
            current = rest[out + err :]
            renewed = manifest.renewed(current)
            answer = Answer(rest[:out].decode(), rest[out : out + err].decode(), code)
        except (ValueError, manifest.Changed):
            return None
        if renewed is not current and renewed is not None:
            self._store.put(self._name, entry[: len(entry) - len(current)] + renewed)
        return answer

    def keep(
        self, answer: Answer, files: Iterable[str], data: Callable[[str], bytes | None]
    ) -> bool:
        """Store the answer of this run, if a later run can compare all that it was read from.

        Args:
            answer: What is written.
            files: The project's files.
            data: Returns the bytes of a file that were read, None if they are not in memory.

        Returns:
            Whether it could.
        """
        if self._store is None or not self._opened.is_bounded or not self._store.prepare():
            return False
        self._opened.paths.update(files)
        read = manifest.taken(self._opened, self._began, data)
        if read is None:
            return False
        try:
            out, err = answer.out.encode(), answer.err.encode()
        except UnicodeEncodeError:
            return False
        head = f"{len(out)} {len(err)} {answer.code}\n".encode()
        self._store.put(self._name, head + out + err + read)
        return True


def _place(path: str) -> str | None:
    """Return the directory of the cache: beside the nearest mark of a project.

    Loose files have theirs in the user's cache.
    """
    start = current = os.path.abspath(path)
    while True:
        if any(os.path.lexists(os.path.join(current, mark)) for mark in _MARKS):
            return os.path.join(current, NAME)
        above = os.path.dirname(current)
        if above == current:
            break
        current = above
    own = user_directory()
    return os.path.join(own, "loose", manifest.digest_of([start])[:16]) if own else None


def _surroundings() -> list[str]:
    """Return what every answer depends on: gblock, Python, and where it runs."""
    return [
        gblock.__version__,
        _checkout(),
        sys.version,
        sys.platform,
        os.getcwd(),
        os.path.expanduser("~"),
    ]


def _checkout() -> str:
    """Return the state of gblock's own files where it is being developed, else nothing."""
    own = os.path.dirname(gblock.__file__)
    if not os.path.lexists(os.path.join(os.path.dirname(own), "pyproject.toml")):
        return ""
    found, waiting = [], [own]
    while waiting:
        with os.scandir(waiting.pop()) as scan:
            for one in scan:
                if one.is_dir(follow_symlinks=False):
                    if one.name != "__pycache__":
                        waiting.append(one.path)
                elif one.name.endswith((".py", ".toml", ".jinja")):
                    found.append(f"{one.name} {one.stat().st_mtime_ns}")
    return " ".join(sorted(found))
