"""Select the files that can matter from their bytes and import lines, without parsing.

A file matters if it imports a package of the catalog and names a symbol of it that can be
reported, or if it names a method of such a package and objects of the package can reach it:
objects travel along imports.
"""

from __future__ import annotations

import os
import re
from functools import cached_property

from gblock.decoding import is_utf_8
from gblock.project.reading import former_names
from gblock.project.reading.deriving import derived
from gblock.project.reading.generated import (
    GRPC_MODULE,
    GRPC_PACKAGE,
    called_rpcs,
    names_made_by,
)
from gblock.project.reading.givens import parameters_given
from gblock.project.reading.iteration import ITERATING
from gblock.project.reading.modules import Modules
from gblock.project.reading.renaming import renamed
from gblock.project.reading.word_index import SPACED, words_of
from gblock.project.triage.vocabulary import Vocabulary, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import NamedTuple

    from gblock.project.triage.survey import Survey

    _Seeds = dict[frozenset[str], list[str]]
    """The files that objects start from, by the packages of the objects."""
else:
    from gblock.lean import NamedTuple

# Literal first characters: the regular expression engine finds them forty times faster than a
# pattern that starts with an anchor.
_FROM = rb"from[ \t]+([\w.]+)[ \t]+import\b[ \t]*(\([^)]*\)|[^\n#(;]*)"
_IMPORT = rb"import[ \t]+([^\n#;]+)"
_LOADED = rb"""\(\s*["']([\w.]+)["']"""
"""A possible import by a constant, in a file with one of `_LOADING`, which may have other names
there: ``load("psycopg2")``."""
_LOADING = (b"import_module", b"__import__")
_ATTRIBUTE = rb"\.(\w+)"
_WORD = rb"\w+"
_DOTTED = rb"[\w.]+"
_OPERATOR = rb"\b(?:with|for)\b"
_OPERATORS = {
    "__call__": rb"\(",
    "__delitem__": rb"\bdel\b",
    "__getitem__": rb"\[",
    "__iter__": rb"\b(?:for|yield[ \t]+from|%s)\b" % "|".join(sorted(ITERATING)).encode(),
    "__setitem__": rb"\[",
}
"""The syntax for methods that are called without their name, if not `_OPERATOR`."""
_CALLED_RESULT = rb"[\])]\("
"""A call of what a call or a subscript yields: ``model()(x)``, ``getattr(stub, name)(x)``."""
_WORTH_COMPILING = 50
"""Below this number of files, their words are checked before patterns are compiled."""
_RARE = 12
"""A name in more files than this is too common to follow."""
_MUCH = 5_000_000
"""Bytes: if more than this may matter, objects are followed over fewer imports."""


class _Attributes(NamedTuple):
    """The attributes, and the other syntax, that show calls of the methods of some packages."""

    names: frozenset[bytes]
    pattern: re.Pattern[bytes] | None

    def are_in(self, data: bytes, attributes: frozenset[bytes]) -> bool:
        """Return whether a file may contain such a call.

        Args:
            data: The file's bytes.
            attributes: Those of the names of all packages that are attributes in it.
        """
        if not self.names.isdisjoint(attributes):
            return True
        return self.pattern is not None and self.pattern.search(data) is not None


class Triage:
    """The triage of a project.

    Args:
        modules: The project's files.
        vocabulary: The symbols that can be reported.
    """

    def __init__(self, modules: Modules, vocabulary: Vocabulary) -> None:
        self.modules = modules
        self.vocabulary = vocabulary
        self._roots_of_line: dict[bytes, frozenset[str]] = {}
        self._imported: dict[str, frozenset[str]] = {}
        self._import_lines: dict[str, tuple[list[tuple[bytes, bytes]], list[bytes]]] = {}
        self._functions: dict[str, list[re.Pattern[bytes]]] = {}
        self._methods: dict[frozenset[str], re.Pattern[bytes] | None] = {}
        self._makers: dict[frozenset[str], re.Pattern[bytes]] = {}
        self._reached: dict[str, frozenset[str]] = {}
        """The files that objects can reach, with the packages of the objects."""
        self._callables: dict[str, set[str]] = {}
        """By package, the names and attributes that hold objects which block when called."""
        self._is_big = False
        self._matters: dict[str, bool] = {}
        """True if files matter on their own, according to surveys."""
        self._may_matter = False
        self.plain: set[str] = set()
        """Files that are UTF-8, have no null byte and no `gblock:` comment, so that dropping them
        needs no further check."""

    # -- by two processes

    def survey(self, paths: list[str], reported: frozenset[str]) -> Survey:
        """Survey some of the files, for `take` in this process or in another.

        Args:
            paths: The files.
            reported: The files to report on.
        """
        from gblock.project.triage.survey import Survey

        asked = [path for path in paths if path in reported]
        may_matter = self._any_may_matter(asked)
        data = self.modules.data
        found = Survey(may_matter, [], [], [], [], [])
        for path in paths:
            text = data(path)
            found.imported.append(self.imported(path))
            found.matters.append(path in reported and self._matters_by_itself(path))
            found.sizes.append(len(text))
            found.speaks.append(self.modules.speaks(path))
            found.plain.append(
                path not in self.modules.problems
                and is_utf_8(text)
                and b"\0" not in text
                and b"gblock:" not in text
            )
        return found

    def take(self, paths: list[str], found: Survey) -> None:
        """Store the result of a survey of some files."""
        self._may_matter |= found.may_matter
        self._imported.update(zip(paths, found.imported, strict=True))
        self._matters.update(zip(paths, found.matters, strict=True))
        self.plain.update(path for path, plain in zip(paths, found.plain, strict=True) if plain)
        speaking = [path for path, speaks in zip(paths, found.speaks, strict=True) if speaks]
        self.modules.told(dict(zip(paths, found.sizes, strict=True)), speaking)

    @cached_property
    def _builtin_calls(self) -> list[tuple[bytes, frozenset[str]]]:
        calls = self.vocabulary.built_in_calls.items()
        return [(f"{name}(".encode(), roots) for name, roots in calls]

    @cached_property
    def _builtins(self) -> re.Pattern[bytes]:
        names = "|".join(sorted(self.vocabulary.built_in_calls))
        return re.compile(rb"(?<![\w.])(%s)\(" % names.encode())

    # -- what a file imports

    def imported(self, path: str) -> frozenset[str]:
        """Return the packages of the catalog that a file's import lines name."""
        found = self._imported.get(path)
        if found is None:
            found = self._imported[path] = self._read(path)
        return found

    @cached_property
    def _find_from(self) -> Callable[[bytes], list[tuple[bytes, bytes]]]:
        return re.compile(_FROM).findall

    @cached_property
    def _find_attributes(self) -> Callable[[bytes], list[bytes]]:
        return re.compile(_ATTRIBUTE).findall

    @cached_property
    def _find_import(self) -> Callable[[bytes], list[bytes]]:
        return re.compile(_IMPORT).findall

    def _lines(self, path: str) -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
        """Return a file's ``from module import names`` lines, and the names after ``import``."""
        found = self._import_lines.get(path)
        if found is None:
            data = self.modules.data(path)
            loaded = [(module, b"") for module in _loaded(data)]
            found = [*self._find_from(data), *loaded], self._find_import(data)
            self._import_lines[path] = found
        return found

    def _read(self, path: str) -> frozenset[str]:
        data = self.modules.data(path)
        roots: frozenset[str] = frozenset()
        known = self._roots_of_line
        from_lines, import_lines = self._lines(path)
        for module, _ in from_lines:
            found = known.get(module)
            if found is None:
                root = module.partition(b".")[0]
                found = known[module] = self._named((root, *former_names.implied(module)))
            if found:
                roots |= found
        for line in import_lines:
            found = known.get(line)
            if found is None:
                found = known[line] = self._named(_words(line))
            if found:
                roots |= found
        if roots:
            packages = self.vocabulary.packages
            roots = frozenset([root for root in roots if packages[root].is_meant(data)])
        for call, others in self._builtin_calls:
            # A substring search is far faster than a pattern.
            if call in data and not others <= roots and call[:-1] in self._builtins.findall(data):
                roots |= others
        return roots

    def _named(self, words: Iterable[bytes]) -> frozenset[str]:
        known = self.vocabulary.on_lines
        return frozenset().union(*(known[word] for word in words if word in known))

    def roots(self, paths: Iterable[str]) -> frozenset[str]:
        """Return the packages that any of these files imports."""
        return frozenset().union(*(self.imported(path) for path in paths))

    # -- what matters by itself

    def any_may_matter(self, paths: list[str], complete: Callable[[], None]) -> bool:
        """Return whether any of these files may matter, regardless of the rest of the project.

        Args:
            paths: The files.
            complete: Finds the rest of the project.
        """
        words = self.vocabulary.words
        if words.has_whole:
            return True
        if len(paths) < _WORTH_COMPILING:
            # Compiling all names into patterns takes longer than checking the words of a few files.
            data, packages = self.modules.data, set()
            for path in paths:
                packages |= words.packages(self._identifiers(path), data(path))
            if not packages:
                return False
            complete()
            if not self._imports_any(packages):
                return False
        paths = [path for path in paths if path not in self._matters]
        return self._may_matter or self._any_may_matter(paths)

    def _imports_any(self, packages: set[str]) -> bool:
        """Return whether any file of the project may import one of these packages."""
        words = self.vocabulary.words
        if "builtins" in packages or words.returned & packages:
            return True
        names = [form for name in words.importable(packages) for form in former_names.forms(name)]
        data = self.modules.data
        return any(name in data(path) for path in self.modules.files for name in names)

    def _any_may_matter(self, paths: list[str]) -> bool:
        if not paths:
            return False
        packages = self.vocabulary.packages.values()
        for path in paths:
            if self.calls_function(path) or (self.imported(path) and self.names_method(path)):
                return True
            found = re.findall(_ATTRIBUTE, self.modules.data(path))
            names = {name.decode(errors="replace") for name in found}
            if any(not package.methods.isdisjoint(names) for package in packages):
                return True
        return False

    def _identifiers(self, path: str) -> set[str]:
        return {word.decode(errors="replace") for word in words_of(self.modules.data(path))}

    def calls_function(self, path: str) -> bool:
        """Return whether a file imports a package and names a reportable function of it."""
        roots = self.imported(path)
        if not roots:
            return False
        data = self.modules.data(path)
        if any(one.search(data) for root in roots for one in self._function_patterns(root)):
            return True
        return any(module.partition(b".")[0].decode() in roots for module in _loaded(data))

    def _function_patterns(self, root: str) -> list[re.Pattern[bytes]]:
        """Return the patterns of function calls; ``read`` of ``os.read`` alone is too common."""
        found = self._functions.get(root)
        if found is None:
            found = self._functions[root] = [
                re.compile(one.encode()) for one in self._written(root)
            ]
        return found

    def _written(self, root: str) -> Iterator[str]:
        # Each starts with different letters, see above.
        package = self.vocabulary.packages[root]
        names = "|".join(sorted(package.functions))
        if root == "builtins":
            if self.vocabulary.built_in_calls:
                yield self._builtins.pattern.decode()
        elif names:
            yield rf"{root}(?<!\w{root})\s*\.\s*(?:{names})\b"
            module = former_names.pattern(root)
            yield rf"from[ \t]+{module}[ \t]+import[ \t]+(?:[^\n]*\b(?:{names})\b|[(*])"
            yield rf"import[ \t]+{root}[ \t]+as\b"
        if package.anything or (package.operators and not package.methods):
            leading = (one for one, to in self.vocabulary.leads.items() if root in to)
            yield from (rf"{one}(?<!\w{one})\b" for one in (root, *leading))

    def names_method(self, path: str) -> bool:
        """Return whether a file imports a package and names a method and a maker of its objects."""
        roots = self.imported(path)
        found = self.method_pattern(roots)
        data = self.modules.data(path)
        return found is not None and self._makes(path, roots) and found.search(data) is not None

    def method_pattern(self, roots: frozenset[str]) -> re.Pattern[bytes] | None:
        """Return a pattern for the methods of some packages, None if there are none."""
        if roots not in self._methods:
            packages = [self.vocabulary.packages[root] for root in roots]
            names = {name for package in packages for name in package.methods}
            words = pattern(names).pattern if names else b""
            operators = {name for package in packages for name in package.operators}
            patterns = {_OPERATORS.get(name, _OPERATOR) for name in operators}
            words = b"|".join(filter(None, [words, *sorted(patterns)]))
            self._methods[roots] = re.compile(words) if words else None
        return self._methods[roots]

    def _makes(self, path: str, roots: frozenset[str]) -> bool:
        if roots not in self._makers:
            packages = [self.vocabulary.packages[root] for root in roots]
            if any(package.whole for package in packages):
                return True
            makers = self.vocabulary.makers
            self._makers[roots] = pattern({name for one in roots for name in makers[one]} or {"$"})
        return self._makers[roots].search(self.modules.data(path)) is not None

    def may_matter(self, path: str) -> bool:
        """Return whether one changed file has to be inspected, in a project that was triaged."""
        for known in (self._imported, self._import_lines, self._matters):
            known.pop(path, None)
        return path in self._reached or self._matters_by_itself(path)

    # -- what matters in a project

    def select(self, reported: Iterable[str], roots: frozenset[str]) -> list[str]:
        """Return the files to inspect.

        Args:
            reported: The files to report on.
            roots: The packages that the project imports anywhere.
        """
        self._traveling(roots)
        if not self.modules.is_frugal:
            self._follow_renamed(roots)
        return [path for path in reported if path in self._reached or self._matters_by_itself(path)]

    def _follow_renamed(self, roots: frozenset[str]) -> None:
        """Find the files that call a function of a package by the name that another gives it."""
        names = {name for root in roots for name in self.vocabulary.packages[root].functions}
        for path in self.modules.files:
            if not self.imported(path) or not self.calls_function(path):
                continue
            for word in sorted(set(renamed(self.modules.data(path), names))):
                naming = self.modules.mentioning(word, whole=True)
                for other in naming if len(naming) <= _RARE else ():
                    if other != path:
                        known = self._reached.get(other, frozenset())
                        self._reached[other] = known | self.imported(path)

    def _matters_by_itself(self, path: str) -> bool:
        known = self._matters.get(path)
        return (self.calls_function(path) or self.names_method(path)) if known is None else known

    def names(self, path: str) -> frozenset[str] | None:
        """Return the names that a selected file of a big project may call; None for any name."""
        if not self._is_big:
            return None
        roots = self._reached.get(path, frozenset()) | self.imported(path)
        related = self.vocabulary.related
        return self.vocabulary.names({one for root in roots for one in related[root]})

    def _traveling(self, roots: frozenset[str]) -> None:
        """Find the files that name a method and that an object of its package can reach."""
        if self.modules.is_frugal:
            return
        packages = self.vocabulary.packages
        with_methods = frozenset(
            root
            for root in roots
            if packages[root].methods
            or packages[root].whole
            or packages[root].is_callable
            or self._has_any_name(root)
        )
        data = self.modules.data
        importing = [path for path in self.modules.files if self.imported(path) & with_methods]
        self._find_callables(importing)
        named = self._attributes_of(one for one in with_methods if not self._has_any_name(one))
        if named is None:
            if not any(map(self._has_any_name, with_methods)):
                return
            named = _Attributes(frozenset(), None)
        known: dict[str, frozenset[bytes]] = {}

        def attributes(path: str) -> frozenset[bytes]:
            if path not in known:
                known[path] = named.names.intersection(self._find_attributes(data(path)))
            return known[path]

        related = self.vocabulary.related
        groups = {related[root] & with_methods for root in with_methods}
        seeds = {
            group: [
                path
                for path in importing
                if self.imported(path) & group and self._makes(path, self.imported(path) & group)
            ]
            for group in groups
        }
        bytes_left = _MUCH
        for path in self.modules.files:
            if named.are_in(data(path), attributes(path)):
                bytes_left -= len(data(path))
                if bytes_left < 0:
                    break
        self._is_big = bytes_left < 0
        of_any_name = {group for group in groups if any(map(self._has_any_name, group))}
        # Calls of any name are in nearly all files.
        much = bool(of_any_name) and sum(len(data(path)) for path in self.modules.files) > _MUCH
        for chosen, is_near in ((groups - of_any_name, self._is_big), (of_any_name, much)):
            reach = self._near if is_near else self._connected
            starting = {group: paths for group, paths in seeds.items() if group in chosen}
            for group, paths in reach(starting).items() if starting else ():
                wanted = self._attributes_of(group)
                for path in paths:
                    if wanted is not None and wanted.are_in(data(path), attributes(path)):
                        self._reached[path] = self._reached.get(path, frozenset()) | group

    def _has_any_name(self, root: str) -> bool:
        """Return whether calls of any name matter in all files that a package's objects reach.

        Where a process patches nothing, many clients have methods that only their servers know.
        """
        return self.vocabulary.unpatched and self.vocabulary.packages[root].anything

    def _find_callables(self, importing: list[str]) -> None:
        """Record the names under which files keep objects of a package that block when called."""
        for root in self.roots(importing):
            if self.vocabulary.packages[root].is_callable:
                makers = self.vocabulary.makers[root]
                found = self._callables.setdefault(root, set())
                paths = [path for path in importing if root in self.imported(path)]
                found |= names_made_by(makers or {"$"}, map(self.modules.data, paths))
                found |= parameters_given(makers or {"$"}, found, paths, self.modules)
                leading = (one for one, to in self.vocabulary.leads.items() if root in to)
                classes = derived((root, *leading), makers, self.modules)
                if classes:
                    mentioning = self.modules.mentioning
                    naming = {path for one in classes for path in mentioning(one, whole=True)}
                    found |= names_made_by(classes, map(self.modules.data, naming))
        if GRPC_PACKAGE in self._callables:
            data, files = self.modules.data, self.modules.files
            if any(GRPC_MODULE.encode() in data(path) for path in files):
                rpcs = {name for path in files for name in called_rpcs(data(path))}
                self._callables[GRPC_PACKAGE].update(name.decode() for name in rpcs)

    def _attributes_of(self, roots: Iterable[str]) -> _Attributes | None:
        """Return what shows calls of the methods of some packages, None if there are none."""
        roots = list(roots)
        if any(self.vocabulary.packages[one].whole or self._has_any_name(one) for one in roots):
            return _Attributes(frozenset(), re.compile(rb"\.\w+"))
        names = {name for root in roots for name in self.vocabulary.packages[root].methods}
        called = {name for root in roots for name in self._callables.get(root, ())}
        patterns = []
        if called:
            # ``self._model = model`` keeps it under nearly the same name.
            patterns.append(rb"\b_*(?:%s)\(" % "|".join(sorted(called)).encode())
        if any(root in self._callables for root in roots):
            patterns.append(_CALLED_RESULT)
        if not (names or called or patterns):
            return None
        # A file has far fewer attributes than a pattern of all names has branches.
        pattern = re.compile(b"|".join(patterns)) if patterns else None
        return _Attributes(frozenset(name.encode() for name in names | called), pattern)

    def _connected(self, seeds: _Seeds) -> dict[frozenset[str], set[str]]:
        """Return the files that imports connect with some files.

        These are all files that import them, over any number of imports, and the imports of those.
        The connection is derived from the last names on import lines, so it can only include too
        many files.
        """
        stems: dict[bytes, list[str]] = {}
        words: dict[str, set[bytes]] = {}
        for path in self.modules.files:
            stems.setdefault(_stem(path), []).append(path)
            words[path] = _words_of(*self._lines(path))
        importers: dict[bytes, list[str]] = {}
        for path, named in words.items():
            for word in named:
                if word in stems:
                    importers.setdefault(word, []).append(path)
        reached: dict[frozenset[str], set[str]] = {}
        for group, starts in seeds.items():
            found = reached[group] = set(starts)
            queue = list(starts)
            while queue:
                for importer in importers.get(_stem(queue.pop()), ()):
                    if importer not in found:
                        found.add(importer)
                        queue.append(importer)
            for path in list(found):
                for word in words[path]:
                    found.update(stems.get(word, ()))
        return reached

    def _near(self, seeds: _Seeds) -> dict[frozenset[str], set[str]]:
        """Return the files that import one of some files, by its real path, or that one imports."""
        targets = {path for starts in seeds.values() for path in starts}
        imported = {path: self._imports(path) for path in targets}
        importers: dict[str, set[str]] = {path: set() for path in targets}
        tails: dict[bytes, list[str]] = {}
        for path in targets:
            tails.setdefault(_stem(path), []).append(path)
        parents = {_stem(_package_of(path)) for path in targets}
        meant: dict[tuple[bytes, bytes], bool] = {}
        meant_plainly: dict[bytes, bool] = {}
        for path in self.modules.files if targets else ():
            from_lines, import_lines = self._lines(path)
            lines = []
            for line in from_lines:
                may = meant.get(line)
                if may is None:
                    may = meant[line] = self._may_mean(line, tails, parents)
                if may:
                    lines.append(line)
            found = self._resolved(lines, path) if lines else set()
            for plain in import_lines:
                may = meant_plainly.get(plain)
                if may is None:
                    may = meant_plainly[plain] = any(
                        _ends(name, tails) for name in re.findall(_DOTTED, plain)
                    )
                if may:
                    found |= self._plainly_imported([plain], path)
            for target in targets & found:
                importers[target].add(path)
        return {
            group: set(starts).union(*(imported[one] | importers[one] for one in starts))
            for group, starts in seeds.items()
        }

    def _may_mean(
        self, line: tuple[bytes, bytes], tails: dict[bytes, list[str]], parents: set[bytes]
    ) -> bool:
        """Return whether a line ``from module import names`` may mean one of some files.

        Args:
            line: The module and the names.
            tails: The files by the last part of their names.
            parents: The last parts of the names of the packages that they are in.
        """
        module, names = line
        if module.startswith(b"."):
            words = {*re.findall(_WORD, module), *re.findall(_WORD, names)}
            return not module.strip(b".") or not words.isdisjoint(tails)
        if _ends(module, tails):
            return True
        return module.rpartition(b".")[2] in parents and any(
            _ends(module + b"." + name, tails) for name in re.findall(_WORD, names)
        )

    def _imports(self, path: str) -> set[str]:
        """Return the files of the project that a file imports, as far as single lines show."""
        from_lines, import_lines = self._lines(path)
        return self._resolved(from_lines, path) | self._plainly_imported(import_lines, path)

    def _resolved(self, lines: Iterable[tuple[bytes, bytes]], path: str) -> set[str]:
        """Return the files that lines ``from module import names`` mean."""
        found: set[str] = set()
        for module, names in lines:
            text = module.decode()
            stripped = text.lstrip(".")
            level = len(text) - len(stripped)
            target = self.modules.resolve(stripped, level, path)
            if target is None:
                continue
            found.update((target, *self.modules.others(stripped, level, path)))
            if target.endswith("__init__.py"):
                for name in re.findall(_WORD, names):
                    inner = self.modules.inside(os.path.dirname(target), name.decode())
                    if inner is not None:
                        found.add(inner)
        return found

    def _plainly_imported(self, lines: Iterable[bytes], path: str) -> set[str]:
        """Return the files that lines ``import names`` mean."""
        names = [name for words in lines for name in re.findall(_DOTTED, words)]
        found = {
            one
            for name in names
            for one in (
                self.modules.resolve(name.decode(), 0, path),
                *self.modules.others(name.decode(), 0, path),
            )
        }
        return {target for target in found if target is not None}


def _loaded(data: bytes) -> list[bytes]:
    """Return the modules that a file imports by constants."""
    return re.findall(_LOADED, data) if any(one in data for one in _LOADING) else []


def _words(data: bytes) -> list[bytes]:
    """Return the words of a file; splitting one file is faster than compiling a pattern."""
    return data.translate(SPACED).split()


def _ends(module: bytes, tails: dict[bytes, list[str]]) -> bool:
    """Return whether a dotted name ends one of some files' names, given by their last part."""
    paths = tails.get(module.rpartition(b".")[2])
    if paths is None:
        return False
    tail = os.sep + os.fsdecode(module).replace(".", os.sep)
    return any(path.endswith((tail + ".py", os.path.join(tail, "__init__.py"))) for path in paths)


def _package_of(path: str) -> str:
    """Return the ``__init__.py`` of the package that a module or package is in."""
    directory = os.path.dirname(path)
    if os.path.basename(path).startswith("__init__."):
        directory = os.path.dirname(directory)
    return os.path.join(directory, "__init__.py")


def _stem(path: str) -> bytes:
    """Return the last part of a file's module name."""
    directory, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.partition(".")[0]
    return os.fsencode(directory.rpartition("/")[2] if stem == "__init__" else stem)


def _words_of(from_lines: list[tuple[bytes, bytes]], import_lines: list[bytes]) -> set[bytes]:
    lines = {module for module, _ in from_lines}.union(import_lines)
    return set(re.findall(_WORD, b" ".join(lines)))
