"""Which files may start a process, told from their names, and whether they name some words."""

from __future__ import annotations

import os
import re

from gblock.project.reading.tree import LARGEST, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TEMPLATES = (".jnj", ".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".template", ".in", ".erb")
"""What says of a file that it is a template."""
_MAYBE = re.compile(
    r"^[^.]*$|^setup\.py$|file|uwsgi|^(?:app|package)\.json$|task.?def|"
    r"\.(?:ya?ml|sh|bash|conf|ini|service|cfg|supervisor|toml|mk)$",
    re.IGNORECASE | re.DOTALL,
)
"""What every name of a file that is read has in it."""


def starters(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Of some files those that may start a process, each with its bare name.

    That is the file's name without what says that it is a template.
    """
    known: dict[str, str] = {}  # in a large repository a few names come again and again
    for path in paths:
        name = path[path.rfind(os.sep) + 1 :]
        bare = known.get(name)
        if bare is None:
            bare = _bare_name(name)
            bare = known[name] = bare if _MAYBE.search(bare) else ""
        if bare:
            yield path, bare


def _bare_name(name: str) -> str:
    if name.endswith(_TEMPLATES):
        for ending in _TEMPLATES:
            name = name.removesuffix(ending)
    return name


def mention(root: str, exclude: tuple[str, ...], words: tuple[bytes, ...]) -> bool:
    """Whether a file that may start a process holds one of some words; nothing is parsed.

    Args:
        root: The repository's directory.
        exclude: Patterns as in `.gitignore`.
        words: What is looked for.
    """
    for path, _ in starters(Tree(root, exclude).files):
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
