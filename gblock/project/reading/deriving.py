"""Classes that a project derives from those of packages, by names alone."""

from __future__ import annotations

import re
from functools import cache

from gblock.project.reading.word_index import SPACED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.project.reading.modules import Modules

# It begins with a literal, which is searched far faster than the begin of a line.
_CLASS = rb"class[ \t]+(\w{1,100})[ \t]*(?:\[[^\]\n]{0,200}\])?\(([^):]{1,500})"


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
    written = sorted(classes)
    bases = frozenset(one.encode() for one in written if "*" not in one)
    wild = [re.escape(one).replace(r"\*", r"\w*") for one in written if "*" in one]
    pattern = re.compile("|".join(wild).encode()) if wild else None
    naming = {path for one in packages for path in modules.mentioning(one, whole=True)}
    classes_of = cache(lambda path: _classes(modules.data(path)))  # one file has several of them
    queue = [(bases, pattern, sorted(naming))]
    while queue:
        bases, pattern, paths = queue.pop()
        for path in paths:
            for name, based_on in classes_of(path):
                new = name.decode(errors="replace")
                if new in found or not (
                    not bases.isdisjoint(based_on)
                    or (pattern is not None and any(map(pattern.fullmatch, based_on)))
                ):
                    continue
                found.add(new)
                queue.append((frozenset((name,)), None, modules.mentioning(new, whole=True)))
    return found


def _classes(data: bytes) -> list[tuple[bytes, list[bytes]]]:
    """Return the names of a file's classes, each with the words in its list of bases."""
    found: list[tuple[bytes, list[bytes]]] = []
    match = _statement().search(data) if b"class" in data else None
    while match is not None:
        start = match.start()
        if data[data.rfind(b"\n", 0, start) + 1 : start].strip(b" \t"):  # in a comment or text
            match = _statement().search(data, start + 1)
            continue
        found.append((match[1], match[2].translate(SPACED).split()))
        match = _statement().search(data, match.end())
    return found


@cache
def _statement() -> re.Pattern[bytes]:
    # Compiled on demand: it takes longer than to check a clean file.
    return re.compile(_CLASS)
