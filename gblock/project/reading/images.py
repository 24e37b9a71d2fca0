"""Images of containers: which files of the repository each Dockerfile copies, and to where."""

from __future__ import annotations

import json
import os
import re

from gblock import opened
from gblock.project.reading.contents import content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple
else:
    from gblock.lean import NamedTuple

_DOCKERFILE = re.compile(
    r"(?:docker|container)file(?:[._-].+)?|.+\.(?:docker|container)file", re.IGNORECASE
)
_CONTINUED = re.compile(r"[\\`][ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*")
_COPY = re.compile(r"^[ \t]*(?:COPY|ADD)[ \t]+(.+?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_BESIDE = "docker"
"""A directory of a project that often holds its Dockerfiles."""


class Copied(NamedTuple):
    """A file or a directory that an image holds, and its path in the image."""

    source: str
    target: str


def is_dockerfile(name: str) -> bool:
    """Return whether a file of some name is a Dockerfile."""
    return _DOCKERFILE.fullmatch(name) is not None


def copies(text: str) -> Iterator[Copied]:
    """Yield what a Dockerfile copies from the directory that the image is built in.

    Args:
        text: The Dockerfile.
    """
    for match in _COPY.finditer(_CONTINUED.sub(" ", text)):
        words = _words(match[1])
        flags = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")] or [""]
        if any(flag.startswith("--from") for flag in flags):
            continue
        for source in sources:
            if "$" not in source and "*" not in source:
                yield Copied(source, target)


def _words(written: str) -> list[str]:
    """Return the words of an instruction, which may be a list of JSON."""
    if "[" in written and written.endswith("]"):
        try:
            flags, _, rest = written.partition("[")
            return [*flags.split(), *map(str, json.loads(f"[{rest}"))]
        except ValueError:
            pass
    return written.split()


class Images:
    """The images of a project.

    Args:
        root: The project's directory.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._found: dict[str, list[list[str]]] = {}

    def hold(self, path: str, importer: str) -> bool:
        """Return whether some image holds a file or a directory, copied by name, and another file.

        Args:
            path: The file or directory; it may be copied itself, or with those beside it.
            importer: The other file.
        """
        parent = os.path.dirname(path)
        return any(
            (path in held or (parent != self.root and parent in held))
            and any(_is_within(importer, one) for one in held)
            for held in self._around(parent)
        )

    @property
    def known(self) -> dict[str, list[list[str]]]:
        """The answers of `within` so far."""
        return self._found

    def within(self, directory: str) -> list[list[str]]:
        """Return what each image holds whose Dockerfile is in a directory."""
        found = self._found.get(directory)
        if found is None:
            found = self._found[directory] = [*self._read(directory)]
        return found

    def _around(self, directory: str) -> list[list[str]]:
        """Return what each image holds whose Dockerfile is in or around a directory."""
        found: list[list[str]] = []
        while _is_within(directory, self.root):
            for where in (directory, os.path.join(directory, _BESIDE)):
                found += self.within(where)
            if directory == self.root:
                break
            directory = os.path.dirname(directory)
        return found

    def _read(self, directory: str) -> Iterator[list[str]]:
        opened.note(directory)
        try:
            with os.scandir(directory) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            if is_dockerfile(entry.name) and entry.is_file(follow_symlinks=False):
                found = [*copies(content(entry.path).decode(errors="replace"))]
                for context in dict.fromkeys((directory, self.root)):
                    yield [
                        os.path.normpath(os.path.join(context, one.source.lstrip("/")))
                        for one in found
                    ]


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(os.path.join(directory, ""))
