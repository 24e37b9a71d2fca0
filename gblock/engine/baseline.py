"""Baselines: a file with the number of known diagnostics of each kind, so only new ones show.

Keys contain no rows, because rows change with every edit above them. A key is a file name, rule,
blocker and symbol; the known number of diagnostics is hidden, from the top of the file, and the
rest is reported.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from gblock import opened
from gblock.diagnostics import Diagnostic
from gblock.errors import UserError
from gblock.writing import write

_VERSION = 1
_KEYS = ("filename", "code", "blocker", "symbol")
_SHOWN = 3
"""Stale entries that are named."""

Key = tuple["str | None", ...]


def read(path: str) -> Counter[Key]:
    """Return the known diagnostics of a baseline, counted by key.

    Raises:
        UserError: if it cannot be read, or is no baseline of this version.
    """
    opened.note(path)
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise UserError(path, f"this baseline cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(path, "not a baseline; rewrite it with --write-baseline") from None
    try:
        return _counted(content)
    except (KeyError, TypeError):
        message = "this baseline was written by another version; rewrite it with --write-baseline"
        raise UserError(path, message) from None


def _counted(content: Any) -> Counter[Key]:
    if content["version"] != _VERSION:
        raise KeyError
    known: Counter[Key] = Counter()
    for entry in content["diagnostics"]:
        known[tuple(entry[key] for key in _KEYS)] += int(entry["count"])
    return known


class Baseline:
    """Compares known diagnostics with those of a check.

    Args:
        known: The result of `read`.
        path: The baseline's path; its file names are relative to its directory.
    """

    def __init__(self, known: Counter[Key], path: str) -> None:
        self._known = known
        self._path = path
        self._renamed: dict[str, str] = {}

    def new(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Return the diagnostics that are not known.

        Args:
            diagnostics: In order of file and place.
        """
        keys = [_key(diagnostic, self._path) for diagnostic in diagnostics]
        self._renamed = self._renames(Counter(keys))
        left = Counter(self._known)
        found = []
        for diagnostic, key in zip(diagnostics, keys, strict=True):
            known = self._known_as(key)
            if left[known] > 0:
                left[known] -= 1
            else:
                found.append(diagnostic)
        return found

    def notes(self, diagnostics: Iterable[Diagnostic], checked: Collection[str]) -> list[str]:
        """Return a line for entries without a diagnostic, and one for renamed files.

        Args:
            diagnostics: All diagnostics, whatever their severity.
            checked: The absolute paths of the files that were checked; an entry of another file is
                stale only if that file is gone.
        """
        found = Counter(self._known_as(_key(one, self._path)) for one in diagnostics)
        stale = Counter(self._known)
        stale.subtract(found)
        lines = [
            f"{self._path}: {old} seems to be {new} now; rewrite the baseline"
            for new, old in sorted(self._renamed.items())
        ]
        gone = {
            " ".join(filter(None, (key[0], key[2] or key[1]))): count
            for key, count in sorted(stale.items(), key=lambda item: str(item[0]))
            if count > 0 and (self._place(str(key[0])) in checked or self._is_gone(str(key[0])))
        }
        if gone:
            listed = ", ".join([*gone][:_SHOWN])
            more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
            number = sum(gone.values())
            what = "1 known diagnostic is" if number == 1 else f"{number} known diagnostics are"
            lines.append(
                f"{self._path}: {what} gone: {listed}{more}; write the baseline anew with "
                "--write-baseline"
            )
        return lines

    def _known_as(self, key: Key) -> Key:
        name, *rest = key
        return (self._renamed.get(str(name), name), *rest)

    def _renames(self, found: Counter[Key]) -> dict[str, str]:
        """Return the new names of known files that are gone, with the old ones.

        A new file replaces an old one if it is the only one with the same diagnostics, or with the
        same last name.
        """
        old, new = _by_file(self._known), _by_file(found)
        gone = {name: kinds for name, kinds in old.items() if self._is_gone(name)}
        fresh = {name: kinds for name, kinds in new.items() if name not in old}
        likely: dict[str, list[str]] = {}
        for name, kinds in fresh.items():
            same = [one for one in gone if gone[one] == kinds]
            last = [one for one in gone if _last(one) == _last(name) and gone[one] & kinds]
            likely[name] = last or same
        olds = Counter(one for those in likely.values() for one in those)
        return {
            name: those[0]
            for name, those in likely.items()
            if len(those) == 1 and olds[those[0]] == 1
        }

    def _is_gone(self, name: str) -> bool:
        return not opened.exists(self._place(name))

    def _place(self, name: str) -> str:
        return os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(self._path)), name))


def _by_file(counts: Counter[Key]) -> dict[str, Counter[Key]]:
    found: dict[str, Counter[Key]] = {}
    for (name, *rest), count in counts.items():
        found.setdefault(str(name), Counter())[tuple(rest)] += count
    return found


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def save(diagnostics: Sequence[Diagnostic], path: str) -> None:
    """Write a baseline with these diagnostics.

    Raises:
        UserError: if the file cannot be written.
    """
    counts = Counter(_key(diagnostic, path) for diagnostic in diagnostics)
    entries = [
        {**dict(zip(_KEYS, key, strict=True)), "count": count}
        for key, count in sorted(counts.items(), key=lambda item: [part or "" for part in item[0]])
    ]
    write(path, json.dumps({"version": _VERSION, "diagnostics": entries}, indent=1) + "\n")


def _key(diagnostic: Diagnostic, path: str) -> Key:
    directory = os.path.dirname(os.path.abspath(path))
    name = os.path.relpath(diagnostic.filename, directory).replace(os.sep, "/")
    return (name, diagnostic.code, diagnostic.blocker, diagnostic.symbol)
