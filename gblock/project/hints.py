"""Which files may start a process, told from their names, and whether they name some words."""

from __future__ import annotations

import os
import re

from gblock.project.tree import LARGEST, Tree

_TEMPLATES = (".jnj", ".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".template", ".in", ".erb")
"""What says of a file that it is a template."""
_MAYBE = re.compile(
    r"^[^.]*$|^setup\.py$|file|uwsgi|^(?:app|package)\.json$|task.?def|"
    r"\.(?:ya?ml|sh|bash|conf|ini|service|cfg|supervisor|toml|mk)$",
    re.IGNORECASE | re.DOTALL,
)
"""What every name of a file that is read has in it."""


def bare_name(path: str) -> str:
    """A file's name without what says that it is a template."""
    name = os.path.basename(path)
    if name.endswith(_TEMPLATES):
        for ending in _TEMPLATES:
            name = name.removesuffix(ending)
    return name


def may_start(name: str) -> bool:
    """Whether a file of this name may start a process."""
    return _MAYBE.search(name) is not None


def mention(root: str, exclude: tuple[str, ...], words: tuple[bytes, ...]) -> bool:
    """Whether a file that may start a process holds one of some words; nothing is parsed.

    Args:
        root: The repository's directory.
        exclude: Patterns as in `.gitignore`.
        words: What is looked for.
    """
    for path in Tree(root, exclude).files:
        if not may_start(bare_name(path)):
            continue
        try:
            if os.path.getsize(path) > LARGEST:
                continue
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            continue
        if any(word in data for word in words):
            return True
    return False
