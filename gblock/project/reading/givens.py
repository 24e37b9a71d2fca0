"""Parameters that are given an object by its position: ``Scorer(load("model"))``."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.project.reading.modules import Modules

_MOST_FILES = 12
"""A name that more files mention is too common to follow."""
_NEAR = 200
"""Bytes before an argument in which its call may begin."""
_TAKERS = re.compile(rb"(\w+)\(")
_CONSTRUCTORS = re.compile(rb"([A-Z]\w*)\([^()=]*\Z")
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
        for path in files if len(files) <= _MOST_FILES else ():
            found |= _parameters(taker, modules.data(path))
    return {name.decode(errors="replace") for name in found}


def _parameters(name: bytes, data: bytes) -> set[bytes]:
    """Return the parameters of a function, or of the constructor of a class."""
    found: set[bytes] = set()
    function = rb"def[ \t]+%s\(([^)]*)\)" % re.escape(name)
    constructor = rb"class[ \t]+%s\b(?:(?!\nclass\b)[^#])*?\bdef[ \t]+__init__\(([^)]*)\)" % (
        re.escape(name)
    )
    for pattern in (function, constructor):
        for listed in re.findall(pattern, data):
            found.update(_NAME.findall(listed))
    return found - {b"self"}
