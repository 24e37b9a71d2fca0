"""Handlers: what one of them computes, with whichever packages, is one cause.

Calls that compute are fixed where they are called, so that those of a package in one file are one
cause. Where one handler alone leads to calls of several packages, one change fixes them all: it
runs the handler's work in the threadpool. What is decided for a whole service, such as how
passwords are hashed, stays a cause of its own.
"""

from __future__ import annotations

from collections import Counter

from gblock.diagnostics import Diagnostic
from gblock.project.calls.ways import PROVEN

_COMPUTING = "cpu-bound-call"


def joined(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics in the same order, those that one handler computes with one cause.

    It is the cause among theirs that has the most diagnostics.
    """
    of_handlers: dict[tuple[object, ...], list[int]] = {}
    sizes: Counter[str] = Counter()
    for number, one in enumerate(diagnostics):
        if one.code == _COMPUTING and one.cause.endswith(f":{one.filename}"):
            sizes[one.cause] += 1
            if one.entries == 1 and one.context in PROVEN:
                of_handlers.setdefault(one.path[0][:2], []).append(number)
    found = diagnostics[:]
    for numbers in of_handlers.values():
        cause = min((diagnostics[one].cause for one in numbers), key=lambda c: (-sizes[c], c))
        for number in numbers:
            found[number] = diagnostics[number]._replace(cause=cause)
    return found
