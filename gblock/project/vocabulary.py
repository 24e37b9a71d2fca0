"""The words with which code writes what the catalog speaks of, told from the catalog's text."""

from __future__ import annotations

import re
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.outline import Chunk

_WILD = ("*", "**")
"""What stands for all methods of a class, and for all that is below a package."""


class Package:
    """One top-level package of the catalog, under a name that code imports it by."""

    def __init__(self) -> None:
        self.functions: set[str] = set()
        """What is called on the module itself: ``system`` of ``os.system``, ``Pool``."""
        self.methods: set[str] = set()
        """What is called on objects, which travel."""
        self.operators: set[str] = set()
        """The methods behind ``with``, ``for`` or a call of an object: ``__enter__``."""
        self.anything = False
        """Whether all methods of some class are."""
        self.whole = False
        """Whether everything in it is, whatever its name."""
        self.makers: set[str] = set()
        """Classes, factories and whatever else the catalog names on the way to an object."""
        self.prefixes: set[str] = set()
        """The first two names of its symbols, for a namespace that many packages share."""

    def add(self, symbol: str) -> None:
        """Take in the symbol of a blocker."""
        root, *owners, name = symbol.split(".")
        second = owners[0] if owners else name
        self.prefixes.add(root if second == "**" else f"{root}.{second}")
        if owners:
            self.makers.update(owners)
        if name in _WILD:
            self.anything = True
            self.whole |= name == "**"
        elif name.startswith("__"):
            self.operators.add(name)
        elif owners:
            self.methods.add(name)
        else:
            self.functions.add(name)

    def merge(self, other: Package) -> None:
        """Take in what another name of the same package stands for."""
        self.functions |= other.functions
        self.methods |= other.methods
        self.makers |= other.makers
        self.prefixes |= other.prefixes
        self.operators |= other.operators
        self.anything |= other.anything
        self.whole |= other.whole


class Vocabulary:
    """All packages of which something can be reported.

    Args:
        on: The blockers that can be reported.
        chunks: All blocks of the catalog: libraries tell other names and what makes objects.
    """

    def __init__(self, on: Iterable[Chunk], chunks: Iterable[Chunk]) -> None:
        self._on = list(on)
        self._libraries = [chunk for chunk in chunks if chunk.kind == "library"]

    @cached_property
    def packages(self) -> dict[str, Package]:
        """The packages by the names that code imports them by; not needed by most clean runs."""
        found: dict[str, Package] = {}
        for chunk in self._on:
            for symbol in chunk.symbols:
                root = symbol[: symbol.find(".")]
                package = found.get(root)
                if package is None:
                    package = found[root] = Package()
                package.add(symbol)
        for root, other in self._other_roots:
            if other in found:
                found.setdefault(root, Package()).merge(found[other])
        return found

    @cached_property
    def has_whole(self) -> bool:
        """Whether a package is looked for whose methods have no names."""
        return any(chunk.has_whole for chunk in self._on)

    @cached_property
    def _other_roots(self) -> list[tuple[str, str]]:
        """A package may be imported by another name than that of its blockers."""
        aliases = [pair for library in self._libraries for pair in library.aliases]
        pairs = [(name.partition(".")[0], other.partition(".")[0]) for name, other in aliases]
        return [(root, other) for root, other in pairs if root != other]

    def learn_makers(self) -> None:
        """Add what libraries name; only asked for where a project imports something at all."""
        for library in self._libraries:
            for name in library.names:
                package = self.packages.get(name.partition(".")[0])
                if package is not None:
                    package.makers.update(name.split(".")[1:])

    def related(self) -> dict[str, frozenset[str]]:
        """The packages whose objects lead to one another, by each of them, itself included."""
        found = {root: frozenset([root]) for root in self.packages}
        for library in self._libraries:
            names = {name.partition(".")[0] for name in library.names if "." in name}
            together = names & self.packages.keys()
            if len(together) > 1:
                joined = frozenset().union(*(found[root] for root in together))
                found.update(dict.fromkeys(joined, joined))
        return found

    def names(self, roots: Iterable[str]) -> frozenset[str] | None:
        """What code may call of some packages by name; None where that can be any name."""
        packages = [self.packages[root] for root in roots]
        if any(package.anything for package in packages):
            return None
        return frozenset().union(*(p.functions | p.methods | p.operators for p in packages))

    def names_one_of(self, words: set[str]) -> bool:
        """Whether a file may call something that is looked for.

        Args:
            words: All identifiers that stand in it.
        """
        unnamed = set()
        for chunk in self._on:
            for symbol in chunk.symbols:
                name = symbol[symbol.rfind(".") + 1 :]
                if name in words:
                    return True
                if name in _WILD or name.startswith("__"):
                    unnamed.add(symbol[: symbol.find(".")])
        # What has no name where it is called is told by how its object is made.
        unnamed.update(root for root, other in self._other_roots if other in unnamed)
        if not unnamed.isdisjoint(words):
            return True
        symbols = (symbol for chunk in self._on for symbol in chunk.symbols)
        return any(
            not words.isdisjoint(symbol.split(".")[:-1])
            for symbol in symbols
            if symbol[: symbol.find(".")] in unnamed
        )


def pattern(words: Iterable[str]) -> re.Pattern[bytes]:
    """A pattern for any of some words."""
    return re.compile(rb"\b(?:%s)\b" % "|".join(sorted(words)).encode())
