"""Classes that a project derives from those of packages, by names alone."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.project.reading.modules import Modules

_CLASS = rb"^[ \t]*class[ \t]+(\w{1,100})[ \t]*(?:\[[^\]\n]{0,200}\])?\(([^):]{1,500})"


def derived(packages: Iterable[str], classes: Iterable[str], modules: Modules) -> set[str]:
    """Return the names of the classes that a project derives from some, over any number of steps.

    Names alone are compared, so it can only return too many. Those derived from the packages' own
    classes are looked for in files that name a package.

    Args:
        packages: The packages of the classes.
        classes: Their names, without the package, and patterns of names with ``*``.
        modules: The project.
    """
    found: set[str] = set()
    spelled = "|".join(re.escape(one).replace(r"\*", r"\w*") for one in sorted(classes))
    bases = re.compile(rf"\b(?:{spelled or '$'})\b".encode())
    naming = {path for one in packages for path in modules.mentioning(one, whole=True)}
    classes_of = cache(lambda path: _classes(modules.data(path)))  # one file has several of them
    queue = [(bases, sorted(naming))]
    while queue:
        bases, paths = queue.pop()
        for path in paths:
            for name, based_on in classes_of(path):
                new = name.decode(errors="replace")
                if new not in found and bases.search(based_on):
                    found.add(new)
                    named = re.compile(rb"\b%s\b" % name)
                    queue.append((named, modules.mentioning(new, whole=True)))
    return found


def _classes(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return the names of a file's classes, each with the text of its bases."""
    return _statement().findall(data) if b"class" in data else []


@cache
def _statement() -> re.Pattern[bytes]:
    # Compiled on demand: it takes longer than to check a clean file.
    return re.compile(_CLASS, re.MULTILINE)
