"""The words with which code writes what the catalog speaks of, told from the catalog's text."""

from __future__ import annotations

import re
from functools import cached_property

from gblock.project.triage.words import Words, Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gblock.outline import Chunk, Outlines

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
        outlines: The catalog's files.
        is_on: Whether a blocker can be reported.
        words: What `words` would find out, where that is known already.
    """

    def __init__(
        self, outlines: Outlines, is_on: Callable[[Chunk], bool], words: Words | None = None
    ) -> None:
        self._outlines = outlines
        self._is_on = is_on
        self._known = words

    @cached_property
    def blockers(self) -> list[Chunk]:
        """What can be reported."""
        named = self._outlines.named
        return [chunk for chunk in named if chunk.kind == "blocker" and self._is_on(chunk)]

    @cached_property
    def _libraries(self) -> list[Chunk]:
        """They tell other names and what makes objects."""
        return [chunk for chunk in self._outlines.chunks if chunk.kind == "library"]

    @cached_property
    def packages(self) -> dict[str, Package]:
        """The packages by the names that code imports them by; not needed by most clean runs."""
        found: dict[str, Package] = {}
        for chunk in self.blockers:
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

    @cached_property
    def words(self) -> Words:
        """The words with which a file says that it calls something that is looked for."""
        if self._known is not None:
            return self._known
        functions: dict[str, set[str]] = {}
        methods: dict[str, set[str]] = {}
        owners: dict[str, set[str]] = {}
        for root, package in self.packages.items():
            for names, among in ((package.functions, functions), (package.methods, methods)):
                for name in names:
                    among.setdefault(name, set()).add(root)
            if package.anything or package.operators:
                for name in (root, *package.makers):
                    owners.setdefault(name, set()).add(root)
        has_whole = any(package.whole for package in self.packages.values())
        return Words(_joined(functions), _joined(methods), _joined(owners), has_whole)


def both(
    outlines: Outlines, is_on: Callable[[Chunk], bool], known: Written | None = None
) -> tuple[Vocabulary, Vocabulary]:
    """What blocks whatever gevent has patched, and what blocks only without its patch.

    Args:
        outlines: The catalog's files.
        is_on: Whether a blocker can be reported.
        known: What was written down of them, if it holds for these blockers.
    """
    return (
        Vocabulary(
            outlines,
            lambda chunk: not chunk.unpatched and is_on(chunk),
            known.on if known else None,
        ),
        Vocabulary(
            outlines,
            lambda chunk: chunk.unpatched and is_on(chunk),
            known.unpatched if known else None,
        ),
    )


def told(outlines: Outlines) -> Written:
    """What a run with nothing selected or ignored asks of these files first."""
    on, unpatched = both(outlines, lambda chunk: not chunk.opt_in)
    return Written(on.words, unpatched.words, outlines.originals)


def _joined(names: dict[str, set[str]]) -> dict[str, str]:
    return {word: " ".join(sorted(names[word])) for word in sorted(names)}


def pattern(words: Iterable[str]) -> re.Pattern[bytes]:
    """A pattern for any of some words."""
    return re.compile(rb"\b(?:%s)\b" % "|".join(sorted(words)).encode())
