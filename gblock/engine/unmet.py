"""Settings that name nothing: a path that does not exist, a pattern that no file has."""

from __future__ import annotations

import os

from gblock import opened
from gblock.files import relative_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gblock.config import Config

_WILD = frozenset("*?[!\\")
_DIRECTORIES_LIMIT = 2_000
"""Directories: in a larger tree a name without a directory is not searched for."""


def unmet(config: Config, files: Collection[str]) -> list[str]:
    """Return a line for each path and each plain pattern of the settings without a file.

    Args:
        config: The settings.
        files: The project's files, as far as they are known.
    """
    if config.filename is None:
        return []
    where = relative_name(config.filename)
    found = [
        f"{where}: src: `{relative_name(path)}` is not a directory"
        for path in config.src
        if not (opened.exists(path) and os.path.isdir(path))
        and path not in _default_sources(config)
    ]
    if config.python is not None and not (
        opened.exists(config.python) and os.path.exists(config.python)
    ):
        found.append(f"{where}: python: `{relative_name(config.python)}` does not exist")
    found += [
        f"{where}: exclude: nothing is named `{pattern}`"
        for pattern in config.exclude
        if not _WILD.intersection(pattern) and not _is_anywhere(pattern, config.root, files)
    ]
    return found


def _default_sources(config: Config) -> tuple[str, ...]:
    return config.root, os.path.join(config.root, "src")


def _is_anywhere(pattern: str, root: str, files: Collection[str]) -> bool:
    """Return whether a path exists; a name without a directory may be in any directory."""
    name = pattern.strip("/")
    if not name or opened.exists(os.path.join(root, name)):
        return True
    if "/" in pattern.rstrip("/"):
        return False
    directories = {os.path.dirname(path) for path in files}
    return len(directories) > _DIRECTORIES_LIMIT or any(
        opened.exists(os.path.join(directory, name)) for directory in directories
    )
