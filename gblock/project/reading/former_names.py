"""Former names of modules: ``flask.ext.sqlalchemy`` is ``flask_sqlalchemy``.

Flask before 1.0 imported a module below ``flask.ext`` under its own name.
"""

from __future__ import annotations

import re

_BELOW = "flask.ext."
_PREFIX = "flask_"
_FOUND = re.compile(rb"\bflask\.ext\.(\w+)")


def current(module: str) -> str:
    """Return the dotted name of a module today."""
    return _PREFIX + module[len(_BELOW) :] if module.startswith(_BELOW) else module


def implied(data: bytes) -> set[bytes]:
    """Return the words that a file means by the former names in it."""
    if _BELOW.encode() not in data:
        return set()
    return {_PREFIX.encode() + name for name in _FOUND.findall(data)}


def may_be_implied(word: bytes) -> bool:
    """Return whether a file may mean a word that is not in its bytes."""
    return word.startswith(_PREFIX.encode())


def pattern(module: str) -> str:
    """Return a pattern for a module's name in an import statement, today's or the former one."""
    if not module.startswith(_PREFIX):
        return module
    return rf"{_PREFIX[:-1]}(?:_|\.ext\.){module[len(_PREFIX) :]}"


def forms(module: str) -> tuple[bytes, ...]:
    """Return what the import statement of a module may contain: today's name, a former one."""
    if not module.startswith(_PREFIX):
        return (module.encode(),)
    return module.encode(), (_BELOW + module[len(_PREFIX) :]).encode()
