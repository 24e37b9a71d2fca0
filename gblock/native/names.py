"""Readable names of native functions: Cython and C++ mangle a path into one word."""

from __future__ import annotations

import re

_CYTHON = re.compile(r"__pyx_f_(?=\d)")
_CYTHON_OWN = re.compile(r"__pyx_(pw|pf|specialmethod|getprop|setprop|tp_\w+?|mdef)_")
"""Cython's wrappers of a Python method, which contain the method's name."""
_CPP = re.compile(r"_ZN[KVrO]*(?=\d)")


def is_wrapper(name: str) -> bool:
    """Return whether a function is Cython's wrapper of a method."""
    return _CYTHON_OWN.match(name.removeprefix("_ZL").lstrip("0123456789")) is not None


def readable(name: str) -> str:
    """Return a function's name without the compiler's additions."""
    match = _CYTHON.match(name)
    if match is not None:
        parts, rest = _parts(name, match.end())
        return ".".join([*parts[-1:], rest]) if parts and rest else name
    match = _CPP.match(name)
    if match is not None:
        parts, _ = _parts(name, match.end())
        return "::".join(parts) if len(parts) > 1 else name
    return re.sub(r"\.(localalias|constprop|isra|part|cold|lto_priv)(\.\d+)*", "", name)


def _parts(name: str, at: int) -> tuple[list[str], str]:
    """Return the words of a mangled name, each after its length, and the rest."""
    parts: list[str] = []
    while match := re.compile(r"\d{1,3}").match(name, at):
        end = match.end() + int(match[0])
        part = name[match.end() : end]
        if not part or end > len(name):
            break
        parts.append(part)
        at = end + 1 if name[end : end + 1] == "_" else end
    return parts, name[at:]
