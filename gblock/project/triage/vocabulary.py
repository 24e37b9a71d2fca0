"""The words that code uses for the catalog's symbols, derived from the catalog's text."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import chain
from types import MappingProxyType

from gblock.project.triage.words import Words, Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gblock.outline import Chunk, Outlines

_WILD = ("*", "**")
"""Wildcards for all methods of a class, and for everything below a package."""


class Package:
    """One top-level package of the catalog, under a name that code imports it by."""

    def __init__(self) -> None:
        self.functions: set[str] = set()
        """Names that are called on the module: ``system`` of ``os.system``, ``Pool``."""
        self.methods: set[str] = set()
        """Names that are called on objects, which travel."""
        self.operators: set[str] = set()
        """The methods behind ``with``, ``for`` or a call of an object: ``__enter__``."""
        self.anything = False
        """True if some class has all of its methods in the catalog."""
        self.whole = False
        """True if everything in the package is in the catalog."""
        self.makers: set[str] = set()
        """Classes, factories and other names in the catalog that lead to an object."""
        self.parts: set[bytes] = set()
        """The second parts of its symbols, and packages that return objects of it."""
        self.distributions: set[str] = set()
        """The distributions that contain it: several can share a namespace."""

    def add(self, symbol: str, distribution: str) -> None:
        """Add the symbol of a blocker and its distribution."""
        _, *owners, name = symbol.split(".")
        self.parts.add((owners[0] if owners else name).encode())
        self.distributions.add(distribution)
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

    @property
    def is_callable(self) -> bool:
        """Return whether calls of its objects matter, which can have any name."""
        return "__call__" in self.operators

    def merge(self, other: Package) -> None:
        """Add the words of another name of the same package."""
        self.functions |= other.functions
        self.methods |= other.methods
        self.makers |= other.makers
        self.parts |= other.parts
        self.distributions |= other.distributions
        self.operators |= other.operators
        self.anything |= other.anything
        self.whole |= other.whole

    def is_meant(self, data: bytes) -> bool:
        """Return whether a file that imports the package may mean the catalog's part of it.

        For a namespace that several distributions share, such as ``google``, the file may mean
        other distributions; a file that means the catalog's has the second part of their module
        names, or a package that returns their objects.

        Args:
            data: The file's bytes.
        """
        if len(self.distributions) < 2 or self.whole:
            return True
        return any(part in data for part in self.parts)


class WordTables:
    """The packages of some blockers and libraries, and what leads to their objects.

    Args:
        blockers: The blockers.
        libraries: The blocks with aliases and with the makers of objects.
    """

    def __init__(self, blockers: tuple[Chunk, ...], libraries: tuple[Chunk, ...]) -> None:
        self._libraries = libraries
        self.packages = _packages(blockers, libraries)
        for root, others in self.leads.items():
            for other in others:
                self.packages[other].parts.add(root.encode())

    @cached_property
    def _aliases(self) -> list[tuple[str, str]]:
        return [pair for library in self._libraries for pair in library.aliases]

    @cached_property
    def _givers(self) -> list[tuple[str, str]]:
        return [pair for library in self._libraries for pair in library.givers]

    @cached_property
    def leads(self) -> dict[str, frozenset[str]]:
        """The packages of the objects that code gets, by the package that returns the objects."""
        found: dict[str, set[str]] = {}
        for giver, given in self._givers:
            root, other = _root(giver), _root(given)
            if root != other and other in self.packages:
                found.setdefault(root, set()).add(other)
        return {root: frozenset(others) for root, others in found.items()}

    @cached_property
    def on_lines(self) -> dict[bytes, frozenset[str]]:
        """The packages that a name on an import line may lead to."""
        found = {root: frozenset([root]) for root in self.packages}
        for root, others in self.leads.items():
            found[root] = found.get(root, frozenset()) | others
        return {root.encode(): roots for root, roots in found.items()}

    @cached_property
    def built_in_calls(self) -> dict[str, frozenset[str]]:
        """The builtins, with the packages that they are or return objects of."""
        package = self.packages.get("builtins")
        functions = package.functions if package is not None else ()
        found = {name: frozenset(["builtins"]) for name in functions}
        for giver, given in self._givers:
            root, _, name = giver.partition(".")
            if root == "builtins" and _root(given) in self.packages:
                found[name] = found.get(name, frozenset()) | {_root(given)}
        return found

    @cached_property
    def makers(self) -> dict[str, frozenset[str]]:
        """The names that lead to objects, by package; needed only for imported packages."""
        found = {root: set(package.makers) for root, package in self.packages.items()}
        for library in self._libraries:
            for name in library.names:
                root, *parts = name.split(".")
                for package in (root, *self.leads.get(root, ())):
                    if package in found:
                        found[package].update(part for part in parts if "*" not in part)
        for alias, name in self._aliases:
            root, other = _root(alias), _root(name)
            if root in found and other in found:
                found[root] |= found[other]
        return {root: frozenset(names) for root, names in found.items()}

    @cached_property
    def related(self) -> dict[str, frozenset[str]]:
        """The packages whose objects lead to one another, by each of them, itself included."""
        found = {root: frozenset([root]) for root in self.packages}
        for library in self._libraries:
            names = {_root(name) for name in library.names if "." in name}
            together = names & self.packages.keys()
            if len(together) > 1:
                joined = frozenset().union(*(found[root] for root in together))
                found.update(dict.fromkeys(joined, joined))
        return found

    @cached_property
    def words(self) -> Words:
        """The words in a file that show a call of one of the blockers."""
        functions: dict[str, set[str]] = {}
        methods: dict[str, set[str]] = {}
        owners: dict[str, set[str]] = {}
        for root, package in self.packages.items():
            for names, among in ((package.functions, functions), (package.methods, methods)):
                for name in names:
                    among.setdefault(name, set()).add(root)
            if package.anything or package.operators:
                givers = (giver for giver, given in self.leads.items() if root in given)
                for name in (root, *package.makers, *givers):
                    owners.setdefault(name, set()).add(root)
        has_whole = any(package.whole for package in self.packages.values())
        leads = {name: set(others) for name, others in self.leads.items()}
        returned = frozenset[str]().union(*self.built_in_calls.values())
        return Words(
            _joined(functions),
            _joined(methods),
            _joined(owners),
            _joined(leads),
            returned,
            has_whole,
        )


class Vocabulary:
    """All packages with reportable symbols.

    Args:
        outlines: The catalog's files.
        is_on: Whether a blocker can be reported; None for those that are on by default.
        words: The value of `words`, if already known.
        unpatched: True for the blockers that block only without the patch, false for all others.
    """

    def __init__(
        self,
        outlines: Outlines,
        is_on: Callable[[Chunk], bool] | None,
        words: Words | None = None,
        *,
        unpatched: bool = False,
    ) -> None:
        self._outlines = outlines
        self._is_on = is_on
        self._known = words
        self.unpatched = unpatched
        """True for the blockers that block only without gevent's patch."""

    @cached_property
    def blockers(self) -> tuple[Chunk, ...]:
        """The blockers that can be reported."""
        if self._is_on is None:
            known = (one.on_by_default(unpatched=self.unpatched) for one in self._outlines.all)
            return tuple(chain.from_iterable(known))
        return tuple(
            chunk
            for chunk in self._outlines.named
            if chunk.kind == "blocker" and chunk.unpatched == self.unpatched and self._is_on(chunk)
        )

    @cached_property
    def _tables(self) -> WordTables:
        """The tables of the blockers; not needed by most clean runs."""
        libraries = (one.by_kind.get("library", ()) for one in self._outlines.all)
        return _word_tables(self.blockers, tuple(chain.from_iterable(libraries)))

    @property
    def packages(self) -> Mapping[str, Package]:
        """The packages by their import names."""
        return self._tables.packages

    @property
    def leads(self) -> Mapping[str, frozenset[str]]:
        """The packages of the objects that code gets, by the package that returns the objects."""
        return self._tables.leads

    @property
    def on_lines(self) -> Mapping[bytes, frozenset[str]]:
        """The packages that a name on an import line may lead to."""
        return self._tables.on_lines

    @property
    def built_in_calls(self) -> Mapping[str, frozenset[str]]:
        """The builtins, with the packages that they are or return objects of."""
        return self._tables.built_in_calls

    @property
    def makers(self) -> Mapping[str, frozenset[str]]:
        """The names that lead to objects, by package."""
        return self._tables.makers

    @property
    def related(self) -> Mapping[str, frozenset[str]]:
        """The packages whose objects lead to one another, by each of them, itself included."""
        return self._tables.related

    @property
    def words(self) -> Words:
        """The words in a file that show a call of a reportable symbol."""
        return self._known if self._known is not None else self._tables.words

    def names(self, roots: Iterable[str]) -> frozenset[str] | None:
        """Return the names that code may call of some packages; None for any name."""
        packages = [self.packages[root] for root in roots]
        if any(package.anything for package in packages):
            return None
        return frozenset().union(*(p.functions | p.methods | p.operators for p in packages))


def both(
    outlines: Outlines,
    is_on: Callable[[Chunk], bool] | None = None,
    known: Written | None = None,
) -> tuple[Vocabulary, Vocabulary]:
    """Return the blockers regardless of patches, and those that block only without the patch.

    Args:
        outlines: The catalog's files.
        is_on: Whether a blocker can be reported; None for those that are on by default.
        known: The words written at installation, if they are valid for these blockers.
    """
    return (
        Vocabulary(outlines, is_on, known.on if known else None),
        Vocabulary(outlines, is_on, known.unpatched if known else None, unpatched=True),
    )


def told(outlines: Outlines) -> Written:
    """Return the words that a run with the default selection needs first."""
    on, unpatched = both(outlines)
    return Written(on.words, unpatched.words, outlines.originals)


@lru_cache(maxsize=8)
def _word_tables(blockers: tuple[Chunk, ...], libraries: tuple[Chunk, ...]) -> WordTables:
    """Return the tables of some blockers, once for all checks of a process."""
    return WordTables(blockers, libraries)


def _packages(blockers: tuple[Chunk, ...], libraries: tuple[Chunk, ...]) -> Mapping[str, Package]:
    found: dict[str, Package] = {}
    for chunk in blockers:
        distribution = chunk.distribution
        for symbol in chunk.symbols:
            root = symbol[: symbol.find(".")]
            package = found.get(root)
            if package is None:
                package = found[root] = Package()
            package.add(symbol, distribution)
    distributions = {symbol: chunk.distribution for chunk in blockers for symbol in chunk.symbols}
    for alias, name in (pair for library in libraries for pair in library.aliases):
        root, other = _root(alias), _root(name)
        if root != other and other in found:
            found.setdefault(root, Package()).merge(found[other])
        package = found.get(root)
        if package is None:
            continue
        if name in distributions:
            package.add(alias, distributions[name])
        elif "." in alias:
            package.parts.add(alias.split(".")[1].encode())
            if name == other:
                # Names that are called on the package are called on this module, too.
                package.methods |= package.functions
    return MappingProxyType(found)


def _root(name: str) -> str:
    """Return the top-level package of a dotted name."""
    return name.partition(".")[0]


def _joined(names: dict[str, set[str]]) -> dict[str, str]:
    return {word: " ".join(sorted(names[word])) for word in sorted(names)}


def pattern(words: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern for any of some words."""
    return re.compile(rb"\b(?:%s)\b" % "|".join(sorted(words)).encode())
