"""A note on syntax errors that come from running gblock on an older Python than the project's."""

from __future__ import annotations

import os
import re
import sys

from gblock import opened

_REQUIRES = re.compile(
    r"""^[ \t]*(?:requires-python|python_requires)[ \t]*=[ \t]*["']?([^"'#\n]*)""", re.MULTILINE
)
_LOWEST = re.compile(r"(?:>=|~=|==)[ \t]*(\d+)\.(\d+)")
_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


def note(root: str, running: tuple[int, int] = sys.version_info[:2]) -> str | None:
    """Return one line if syntax errors of a project may come from an older Python.

    Args:
        root: The project's directory, whose metadata name the versions that it supports.
        running: The version of the Python that reads the files.
    """
    for name in _FILES:
        required = _required(os.path.join(root, name))
        if required is not None and running < required:
            return (
                f"{name} requires Python {required[0]}.{required[1]}, and gblock runs on "
                f"{running[0]}.{running[1]}: it reports newer syntax as invalid-syntax"
            )
    return None


def _required(path: str) -> tuple[int, int] | None:
    """Return the lowest Python version that a metadata file requires."""
    opened.note(path)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = _REQUIRES.search(file.read())
    except OSError:
        return None
    lowest = _LOWEST.search(found[1]) if found else None
    return (int(lowest[1]), int(lowest[2])) if lowest else None
