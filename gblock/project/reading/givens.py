"""Parameters that are given an object by its position: ``Scorer(load("model"))``."""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.project.reading.modules import Modules

_MOST_FILES = 12
"""A name that more files define is too common to follow."""
_NEAR = 200
"""Bytes before an argument in which its call may begin."""
_TAKERS = re.compile(rb"(\w+)\(")
_CONSTRUCTORS = re.compile(rb"([A-Z]\w*)\([^()=]*\Z")
_DEFINITION = re.compile(
    rb"^[ \t]*(?:class[ \t]+(\w+)|(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(([^)]*)\))", re.MULTILINE
)
_MOST_KEPT = 1_000
"""At most this many files are kept read: the packages of a project ask for the same ones."""
_NAME = re.compile(rb"(?:^|,)\s*\*{0,2}(\w+)")


def parameters_given(
    makers: Iterable[str], names: Iterable[str], paths: Iterable[str], modules: Modules
) -> set[str]:
    """Return the parameters of functions and constructors that may get what some calls make.

    Names alone are compared, so it can only return too many: all of a function's parameters.

    Args:
        makers: The names of the functions and classes that are called.
        names: The names that are assigned what they make; only constructors are given these.
        paths: The files with the calls.
        modules: The project.
    """
    made = b"|".join(sorted(re.escape(one).encode() for one in makers))
    held = b"|".join(sorted(re.escape(one).encode() for one in names))
    wanted = [(re.compile(rb"(?<!\w)(?:%s)[ \t]*\(" % made), _TAKERS)]
    if held:
        pattern = re.compile(rb"(?<![\w.])(?:%s)[ \t]*[,)]" % held)
        wanted.append((pattern, _CONSTRUCTORS))
    takers: set[bytes] = set()
    for path in paths:
        data = modules.data(path)
        for pattern, before in wanted:
            for match in pattern.finditer(data):
                takers.update(before.findall(data, max(0, match.start() - _NEAR), match.start()))
    found: set[bytes] = set()
    for taker in sorted(takers):
        name = taker.decode(errors="replace")
        files = modules.mentioning(name, whole=True)
        if len(files) > _MOST_FILES:
            files = _defining(taker, files, modules)
        for path in files if len(files) <= _MOST_FILES else ():
            found |= _parameters(modules.data(path)).get(taker, set())
    return {name.decode(errors="replace") for name in found}


def _defining(name: bytes, paths: Iterable[str], modules: Modules) -> list[str]:
    """Return the files that define a function or class of some name."""
    texts = (b"class " + name, b"def " + name)
    return [path for path in paths if any(text in modules.data(path) for text in texts)]


@lru_cache(maxsize=_MOST_KEPT)
def _parameters(data: bytes) -> dict[bytes, set[bytes]]:
    """Return the parameters of a file's functions, and of its classes' constructors, by name."""
    found: dict[bytes, set[bytes]] = {}
    owner = b""
    for of_class, function, listed in _DEFINITION.findall(data):
        if of_class:
            owner = of_class
            continue
        name = owner if function == b"__init__" else function
        found.setdefault(name, set()).update(_NAME.findall(listed))
    for names in found.values():
        names.discard(b"self")
    return found
