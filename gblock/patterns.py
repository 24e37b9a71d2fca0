"""Patterns as in ``.gitignore``, and the directory that they start from."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from pathspec import GitIgnoreSpec


class Patterns:
    """The lines of one ``.gitignore``, or of one setting that is written the same way."""

    __slots__ = ("_by_name", "_by_path", "_directory", "_spec")

    def __init__(self, directory: str, lines: Iterable[str]) -> None:
        """Compile; a line that is no pattern is left out, as git does."""
        lines = [line.rstrip("\r\n") for line in lines]
        try:
            self._spec = _spec(lines)
        except ValueError:
            lines = [line for line in lines if is_pattern(line)]
            self._spec = _spec(lines)
        self._directory = os.path.join(directory, "")
        # Nearly every path matches nothing, and a pattern without a slash looks at a name only:
        # both expressions together tell so ten times faster than the patterns one by one.
        self._by_name = _any_of(line for line in lines if not _is_about_a_path(line))
        self._by_path = _any_of(line for line in lines if _is_about_a_path(line))

    def verdict(self, path: str) -> bool | None:
        """Return whether the last pattern to match takes the path or, by ``!``, gives it back.

        None where no pattern speaks of it. The path is absolute, and a directory's ends with a
        slash; that no directory above it is taken is the caller's to know. Outside the patterns'
        own directory the last part of the path alone is compared.
        """
        name = path[path.rfind("/", 0, -1) + 1 :]
        inner = path[len(self._directory) :] if path.startswith(self._directory) else name
        if self._by_name.match(name) or self._by_path.match(inner):
            return self._spec.check_file(inner).include
        return None


def is_pattern(line: str) -> bool:
    """Return whether git would understand the line."""
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
    """One expression for all; pathspec names its groups, and a name may stand only once."""
    import re

    patterns = _spec(list(lines)).patterns
    found = [pattern.regex.pattern for pattern in patterns if pattern.regex is not None]
    return re.compile("|".join(found).replace("(?P<ps_d>", "(?:") or r"(?!)")
