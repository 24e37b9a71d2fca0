"""Report only what is new: a file that says how many diagnostics of each kind are known.

Its keys hold no rows, for rows change with every edit above them. A file name, a rule, a blocker
and a symbol with a count are enough: as many as are known are hidden, from the top of the file, and
the rest is reported.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from gblock.diagnostics import Diagnostic
from gblock.errors import UserError
from gblock.writing import write

_VERSION = 1
_KEYS = ("filename", "code", "blocker", "symbol")


def read(path: str) -> Counter[tuple[str | None, ...]]:
    """The known diagnostics of a baseline, counted by key.

    Raises:
        UserError: if it cannot be read, or is no baseline of this version.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise UserError(path, f"this baseline cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(path, "this is no baseline: write it anew with --write-baseline") from None
    try:
        return _counted(content)
    except (KeyError, TypeError):
        message = "this baseline is of another version: write it anew with --write-baseline"
        raise UserError(path, message) from None


def _counted(content: Any) -> Counter[tuple[str | None, ...]]:
    if content["version"] != _VERSION:
        raise KeyError
    known: Counter[tuple[str | None, ...]] = Counter()
    for entry in content["diagnostics"]:
        known[tuple(entry[key] for key in _KEYS)] += int(entry["count"])
    return known


def new(
    diagnostics: Iterable[Diagnostic], known: Counter[tuple[str | None, ...]], path: str
) -> list[Diagnostic]:
    """Those diagnostics that a baseline does not know.

    Args:
        diagnostics: In order of file and place.
        known: What `read` gave.
        path: The baseline's path; its file names start from its directory.
    """
    left = Counter(known)
    found = []
    for diagnostic in diagnostics:
        key = _key(diagnostic, path)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(diagnostic)
    return found


def save(diagnostics: Sequence[Diagnostic], path: str) -> None:
    """Write the baseline in which all of these are known.

    Raises:
        UserError: if the file cannot be written.
    """
    counts = Counter(_key(diagnostic, path) for diagnostic in diagnostics)
    entries = [
        {**dict(zip(_KEYS, key, strict=True)), "count": count}
        for key, count in sorted(counts.items(), key=lambda item: [part or "" for part in item[0]])
    ]
    write(path, json.dumps({"version": _VERSION, "diagnostics": entries}, indent=1) + "\n")


def _key(diagnostic: Diagnostic, path: str) -> tuple[str | None, ...]:
    directory = os.path.dirname(os.path.abspath(path))
    name = os.path.relpath(diagnostic.filename, directory).replace(os.sep, "/")
    return (name, diagnostic.code, diagnostic.blocker, diagnostic.symbol)
