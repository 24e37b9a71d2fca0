"""Functions that files of other formats name: the ``operationId`` of an OpenAPI specification."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from gblock.catalog.entries import NamedBy
from gblock.project.reading.contents import content


def named_in(paths: Iterable[str], named_by: NamedBy) -> dict[str, set[str]]:
    """Return the functions that some files name, each with the modules that may define it.

    A file is searched and not parsed: keys are found in YAML and in JSON alike.

    Args:
        paths: The files; one that cannot be read names nothing.
        named_by: The keys to look for.
    """
    found: dict[str, set[str]] = {}
    for path in paths:
        data = content(path)
        names = _values(named_by.function, data)
        modules = {one for key in named_by.modules for one in _values(key, data)} if names else ()
        for name in names:
            module, _, function = name.rpartition(".")
            found.setdefault(function, set()).update([module] if module else modules)
    return found


def is_module(path: str, name: str) -> bool:
    """Return whether a file is the module of a dotted name."""
    stem = path.removesuffix(".py").removesuffix(f"{os.sep}__init__")
    return stem.endswith(os.sep + name.replace(".", os.sep))


def is_inside(path: str, name: str) -> bool:
    """Return whether a file is the module of a dotted name, or one of a package's modules."""
    directory = os.sep + name.replace(".", os.sep) + os.sep
    return is_module(path, name) or directory in path


def _values(key: str, data: bytes) -> set[str]:
    """Return the dotted names that stand behind a key."""
    written = re.escape(key.encode())
    pattern = rb"""["']?%s["']?[ \t]*:[ \t]*["']?([A-Za-z_][\w.]*)""" % written
    return {one.decode() for one in re.findall(pattern, data)}
