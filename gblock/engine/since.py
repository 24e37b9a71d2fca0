"""Diagnostics that the project did not have at an earlier revision, for `--since`.

The project is also checked as it was at the revision, and the old diagnostics are subtracted. A
call that a change elsewhere made blocking is therefore new; a call that was moved, renamed or
reformatted is not.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter

from gblock.engine.revision import Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gblock.diagnostics import Diagnostic

    Key = tuple[str | None, ...]
    Checking = Callable[[str, Sequence[str]], Iterable[Diagnostic]]

_PYTHON = (".py", ".pyw")


def new(
    diagnostics: Sequence[Diagnostic], root: str, revision: str, checked: Checking
) -> list[Diagnostic]:
    """Return the diagnostics that a revision did not have.

    Args:
        diagnostics: In order of file and place.
        root: The project's directory.
        revision: The name of the revision; the merge base with it counts.
        checked: Checks some files of another directory that holds the same project.

    Raises:
        UserError: if git cannot read the revision.
    """
    then = Revision(root, revision)
    old_names = _Names(root, then)
    with tempfile.TemporaryDirectory(prefix="gblock-since-") as directory:
        directory = os.path.realpath(directory)
        then.write(directory)
        wanted = {old_names.of(_below(root, one.filename)) for one in diagnostics}
        wanted |= old_names.changed()
        paths = [os.path.join(directory, name) for name in sorted(wanted)]
        paths = [path for path in paths if os.path.isfile(path)]
        before = [
            one._replace(filename=_below(directory, one.filename))
            for one in (checked(directory, paths) if paths else ())
        ]
    after = [
        (one, one._replace(filename=old_names.of(_below(root, one.filename))))
        for one in diagnostics
    ]
    # Best matches first: the same call, then another call of the same function in the file, then
    # the same call in another file, for functions that were moved.
    left = list(before)
    for key in (_by_message, _by_symbol, _by_move):
        counts = Counter(map(key, left))
        known = Counter(key(one) for _, one in after)
        after = _without(after, counts.copy(), key)
        left = _rest(left, known, key)
    return [one for one, _ in after]


def _without(
    diagnostics: list[tuple[Diagnostic, Diagnostic]],
    known: Counter[Key],
    key: Callable[[Diagnostic], Key],
) -> list[tuple[Diagnostic, Diagnostic]]:
    found = []
    for pair in diagnostics:
        if known[key(pair[1])] > 0:
            known[key(pair[1])] -= 1
        else:
            found.append(pair)
    return found


def _rest(
    diagnostics: list[Diagnostic], known: Counter[Key], key: Callable[[Diagnostic], Key]
) -> list[Diagnostic]:
    return [one for _, one in _without([(one, one) for one in diagnostics], known, key)]


def _by_message(one: Diagnostic) -> Key:
    return one.filename, one.code, one.blocker, one.symbol, one.message


def _by_symbol(one: Diagnostic) -> Key:
    return one.filename, one.code, one.blocker, one.symbol, "" if one.blocker else one.message


def _by_move(one: Diagnostic) -> Key:
    return one.code, one.blocker, one.symbol, one.message


class _Names:
    """The names of the current files at a revision."""

    def __init__(self, root: str, then: Revision) -> None:
        self._root = root
        self._then = then.paths
        self._renamed = {new: old for new, old in then.renamed().items() if not self._exists(old)}
        self._gone = [
            path
            for path in self._then
            if not self._exists(path) and path not in self._renamed.values()
        ]

    def of(self, name: str) -> str:
        """Return the old name of a file, its current one if it was not renamed."""
        if name in self._then:
            return name
        if name in self._renamed:
            return self._renamed[name]
        # Not committed: the only file with the same content, or with the same last name.
        content = self._id(name)
        same = [old for old in self._gone if self._then[old] == content]
        if not same:
            last = name.rpartition("/")[2]
            same = [old for old in self._gone if old.rpartition("/")[2] == last]
        return same[0] if len(same) == 1 else name

    def changed(self) -> set[str]:
        """Return the Python files of the revision that have changed since."""
        return {
            path
            for path, content in self._then.items()
            if path.endswith(_PYTHON) and self._id(path) != content
        }

    def _exists(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self._root, name))

    def _id(self, name: str) -> str:
        """Return the id that git gives to a file's content."""
        try:
            with open(os.path.join(self._root, name), "rb") as file:
                data = file.read()
        except OSError:
            return ""
        head = b"blob %d\0" % len(data)
        return hashlib.sha1(head + data, usedforsecurity=False).hexdigest()


def _below(root: str, filename: str) -> str:
    return os.path.relpath(os.path.join(os.getcwd(), filename), root).replace(os.sep, "/")
