"""The words in files that show a call of a reportable symbol, with the packages of each.

The words of the built-in catalog are written when gblock is installed: a run whose files contain
none of them, such as most runs of a hook, does not read the catalog.
"""

from __future__ import annotations

import os

from gblock.outline import BUILT_IN

_checksums: dict[tuple[int, int], int] = {}
"""The catalog's checksum, by its size and the time of its last change."""
MODULE = "written_words"
"""The generated module of this package with the words, if gblock was installed."""


class Words:
    """The words to find in a file. Each word has the packages' names, separated by blanks.

    Args:
        functions: Names that are called on the package itself, or imported from it.
        methods: Names that are called on objects, which may come from anywhere in the project.
        owners: The packages, and the sources of their objects, whose methods have no names.
        leads: Packages that return objects of these.
        returned: The packages that builtins are in, or return objects of.
        has_whole: Whether a reportable package cannot be recognized by any word.
    """

    __slots__ = ("functions", "has_whole", "leads", "methods", "owners", "returned")

    def __init__(
        self,
        functions: dict[str, str],
        methods: dict[str, str],
        owners: dict[str, str],
        leads: dict[str, str],
        returned: frozenset[str],
        has_whole: bool,
    ) -> None:
        self.functions = functions
        self.methods = methods
        self.owners = owners
        self.leads = leads
        self.returned = returned
        self.has_whole = has_whole

    def packages(self, words: set[str], data: bytes) -> set[str]:
        """Return the packages that a file may call, if the project imports them.

        Args:
            words: The identifiers in the file.
            data: Its bytes.
        """
        functions, methods, owners = self.functions, self.methods, self.owners
        found = {
            name
            for word in functions.keys() & words
            for name in functions[word].split()
            if name in words or name == "builtins"
        }
        for word in methods.keys() & words:
            names = methods[word].split()
            if f".{word}".encode() in data:
                found.update(names)
            else:  # a function of a module inside a package may have been imported by its name
                found.update(name for name in names if name in words)
        for word in owners.keys() & words:
            found.update(owners[word].split())
        return found

    def importable(self, packages: set[str]) -> set[str]:
        """Return the names on import lines that lead to some packages, themselves included."""
        given = {name for name, others in self.leads.items() if packages & {*others.split()}}
        return packages | given


class Written:
    """The words of the built-in catalog, for the default selection of rules."""

    __slots__ = ("on", "originals", "unpatched")

    def __init__(self, on: Words, unpatched: Words, originals: list[bytes]) -> None:
        self.on = on
        self.unpatched = unpatched
        """The words for the blockers that block only without gevent's patch."""
        self.originals = originals
        """The last parts of the names that are stale if bound before monkey patching."""


def written() -> Written | None:
    """Return the written words, None if there are none or the catalog has changed since."""
    try:
        found = vars(__import__(f"{__package__}.{MODULE}", fromlist=["CATALOG"]))
        if not _is_current(found["CATALOG"]):
            return None
        return Written(Words(*found["ON"]), Words(*found["UNPATCHED"]), found["ORIGINALS"])
    except (ImportError, KeyError, OSError, TypeError):  # an older version wrote other tables
        return None


def fingerprint() -> tuple[int, int]:
    """Return the built-in catalog's size and checksum.

    Raises:
        OSError: if it cannot be read.
    """
    state = os.stat(BUILT_IN)
    key = (state.st_size, state.st_mtime_ns)
    found = _checksums.get(key)
    if found is None:
        from binascii import crc32

        with open(BUILT_IN, "rb") as file:
            found = _checksums[key] = crc32(file.read())
    return state.st_size, found


def _is_current(written: tuple[int, int]) -> bool:
    """Return whether the catalog is still the one with this fingerprint.

    Where gblock is installed, its size is enough: both files come from one build. In a checkout
    the catalog is edited.

    Raises:
        OSError: if it cannot be read.
    """
    above = os.path.dirname(os.path.dirname(BUILT_IN))
    if os.path.lexists(os.path.join(above, "pyproject.toml")):
        return written == fingerprint()
    return written[0] == os.stat(BUILT_IN).st_size


def module(found: Written) -> str:
    """Return the source of the module."""

    def literal(words: Words) -> str:
        returned = f"frozenset({sorted(words.returned)})"
        tables = (words.functions, words.methods, words.owners, words.leads)
        return f"({', '.join(map(repr, tables))}, {returned}, {words.has_whole})"

    return f"""# Made from known_blockers.toml when gblock was installed; never edited.
CATALOG = {fingerprint()}
ON: "tuple[object, ...]" = {literal(found.on)}
UNPATCHED: "tuple[object, ...]" = {literal(found.unpatched)}
ORIGINALS = {found.originals}
"""
