"""Files that pip installed into a directory of the project: ``pip install --target lib``.

Packages that are committed beside the code are dependencies as those of a virtual environment are:
what they contain is not the project's to change.
"""

from __future__ import annotations

import os

from gblock import opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SUFFIX = ".dist-info"
"""The end of the name of a directory that describes an installed distribution."""
_MOST_BYTES = 4_000_000
"""Bytes of a list of files; the longest one in use has a tenth of it."""


def files(directory: str, names: Iterable[str]) -> set[str]:
    """Return the absolute paths of the files that distributions installed below a directory.

    The lists are those of the PyPA's specification of recorded installations. The project itself
    may be among the distributions: pip notes for one that was installed from a directory where it
    was (PEP 610), and its files are not returned.

    Args:
        directory: The absolute path of the directory.
        names: The names of its entries.
    """
    found: set[str] = set()
    for name in names:
        if name.endswith(_SUFFIX):
            described = os.path.join(directory, name)
            if not opened.exists(os.path.join(described, "direct_url.json")):
                found.update(_listed(directory, os.path.join(described, "RECORD")))
    return found


def _listed(directory: str, filename: str) -> Iterator[str]:
    """Yield the files below a directory that a ``RECORD`` lists."""
    import csv

    opened.note(filename)
    if os.path.islink(filename) or not os.path.isfile(filename):
        return
    try:
        with open(filename, encoding="utf-8", errors="surrogateescape", newline="") as file:
            lines = file.read(_MOST_BYTES).splitlines()
    except OSError:
        return
    try:
        for row in csv.reader(lines):
            path = os.path.normpath(os.path.join(directory, row[0])) if row else ""
            if path.startswith(os.path.join(directory, "")):
                yield path
    except csv.Error:
        return
