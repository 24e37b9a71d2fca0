"""Patterns as in ``.gitignore``, relative to a directory."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from pathspec import GitIgnoreSpec


class Patterns:
    """The lines of one ``.gitignore``, or of a setting in the same syntax."""

    __slots__ = ("_by_name", "_by_path", "_directory", "_spec")

    def __init__(self, directory: str, lines: Iterable[str]) -> None:
        """Compile the lines; like git, ignore a line that is no pattern."""
        lines = [line.rstrip("\r\n") for line in lines]
        try:
            self._spec = _spec(lines)
        except ValueError:
            lines = [line for line in lines if is_pattern(line)]
            self._spec = _spec(lines)
        self._directory = os.path.join(directory, "")
        # Nearly every path matches nothing, and a pattern without a slash checks a name only: both
        # expressions together decide this ten times faster than the patterns one by one.
        self._by_name = _any_of(line for line in lines if not _is_about_a_path(line))
        self._by_path = _any_of(line for line in lines if _is_about_a_path(line))

    def verdict(self, path: str) -> bool | None:
        """Return whether the last matching pattern takes the path or, by ``!``, gives it back.

        None if no pattern matches. The path is absolute, and a directory's ends with a slash; the
        caller makes sure that no directory above it is taken. Outside the patterns' own directory
        only the last part of the path is compared.
        """
        name = path[path.rfind("/", 0, -1) + 1 :]
        inner = path[len(self._directory) :] if path.startswith(self._directory) else name
        if self._by_name.search(name) or self._by_path.search(inner):
            if inner.endswith("/"):
                return self._of_directory(inner)
            return self._spec.check_file(inner).include
        return None

    def _of_directory(self, path: str) -> bool | None:
        """Return the verdict on a directory: that of the last pattern that matches it itself.

        pathspec prefers patterns without a slash at their end, which git does not.
        """
        for pattern in reversed(self._spec.patterns):
            found = pattern.regex.finditer(path) if pattern.regex is not None else ()
            ends = (one.end("ps_d") if "ps_d" in one.groupdict() else -1 for one in found)
            if any(end in (-1, len(path)) for end in ends):  # else it matches what is above
                return pattern.include
        return None


def is_pattern(line: str) -> bool:
    """Return whether git accepts the line as a pattern."""
    try:
        _spec([line])
    except ValueError:
        return False
    return True


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _is_about_a_path(line: str) -> bool:
    return "/" in line.strip().removeprefix("!").rstrip("/")


def _any_of(lines: Iterable[str]) -> re.Pattern[str]:
    """Return one expression for all; pathspec's group names would repeat and are removed."""
    import re

    patterns = _spec(list(lines)).patterns
    found = [pattern.regex.pattern for pattern in patterns if pattern.regex is not None]
    return re.compile("|".join(found).replace("(?P<ps_d>", "(?:") or r"(?!)")
