"""The import graph: the modules that a process can run, from its entry modules, read as text.

It follows imports in all their forms, also inside functions; names of modules in strings, as in
Django's settings, Celery's ``include`` and ``"package.module:application"``; and imports of
computed names, if the text shows the package. Too many modules do little harm: a module that a
process may run is checked.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from gblock.decoding import encoded
from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import MAIN_GUARD

_STATEMENT = (
    rb"(?:from[ \t]+(\.*[ \t]*[\w.]*)[ \t]+import[ \t]*"
    rb"(\([^)]*\)|[^\n#;(\\]*(?:\\\r?\n[^\n#;(\\]*)*)"
    rb"|import[ \t]+([^\n#;\\]+(?:\\\r?\n[^\n#;\\]*)*))"
)
_IMPORT = re.compile(rb"^([ \t]*)" + _STATEMENT, re.MULTILINE)
_SECOND = re.compile(rb"[;:][ \t]*(?=(?:from|import)[ \t])()" + _STATEMENT)
"""``try: import one``, ``one(); import two``"""
_MARKS_OF_SECOND = (b": import", b"; import", b": from", b"; from")
_DOTTED = re.compile(rb"""["']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(:[\w.]+(?:\(\))?)?["']""")
_COLON = re.compile(rb"""["']([A-Za-z_]\w*)(:[A-Za-z_][\w.]*(?:\(\))?)["']""")
_COMPUTED = re.compile(
    rb"""(?:[fF]?["'](\w+(?:\.\w+)*\.)|import_module\(\s*[fF]?["']\.)(?:["']\s*[+%]|%s|\{)"""
)
"""``"package." + name``"""
_IMPORTS_BY_NAME = (
    b"import_module",
    b"__import__",
    b"import_string",
    b"_modules(",
    b"walk_packages",
    b"config_from_object",
)
_APPS = re.compile(rb"""_APPS[ \t]*\+?=[ \t]*[\[(]([^\])]*)[\])]""")
_LISTED = re.compile(rb"""(?:\b(?:include|imports)|_IMPORTS)[ \t]*\+?=[ \t]*[\[(]([^\])]*)[\])]""")
"""The modules that a Celery application loads: ``include=["tasks"]``"""
_MARKS_OF_LISTED = (b"include", b"imports", b"_IMPORTS")
_ALONE = re.compile(
    rb"""(?:URLCONF[ \t]*=|\b(?:include|import_module|import_string|__import__|find_spec"""
    rb"""|config_from_object)\()"""
    rb"""\s*["']([A-Za-z_]\w*)["']"""
)
"""A module without a package, where a string can only be a module: ``ROOT_URLCONF = "urls"``"""
_OBJECT = re.compile(rb"""\bfrom_object\(\s*["']([A-Za-z_]\w*(?:\.\w+)*)["']""")
"""A module, or what it contains, that configures Flask: ``from_object("config.Live")``"""
_MARK_OF_OBJECT = b"from_object("
_MARKS_OF_ALONE = (
    b"URLCONF",
    b"include(",
    b"import_module(",
    b"import_string(",
    b"__import__(",
    b"find_spec(",
    b"config_from_object(",
)
_CONFIGURED = re.compile(
    rb"""\b(?:config|configurator|cfg)\.(include|scan)\(\s*(?:["'](\.*)([\w.]*)["']\s*[,)]|\))"""
)
"""The parts of a Pyramid application: ``config.include(".models")``, ``config.scan()``"""
_MARKS_OF_CONFIGURED = (b".include(", b".scan(")
_EXECUTED = re.compile(rb"""["']([\w./*?-]+\.py)["']""")
_EXECUTING = b"split_settings"
"""A library whose ``include("parts/*.py")`` runs files beside the one that calls it."""
_OF_HANDLER = re.compile(rb"""(?:URLCONF|[AW]SGI_APPLICATION)[ \t]*=[ \t]*["']\Z""")
_SENT = re.compile(
    rb"""(?:\b(?:send_task|signature|enqueue\w*)\(|["']task["'][ \t]*:|\btask[ \t]*=)\s*["']\Z"""
)
"""The text before the name of a task that a worker runs: ``send_task("shop.tasks.place")``."""
_OF_ASGI = re.compile(rb"""ASGI_APPLICATION[ \t]*=[ \t]*["']\Z""")
_QUOTED_WORD = re.compile(rb"""["']([A-Za-z_]\w*)["']""")
_LOADING = (
    *_IMPORTS_BY_NAME,
    _MARK_OF_OBJECT,
    b"_APPS",
    b"DJANGO_SETTINGS",
    b"URLCONF",
    b"iter_entry_points",
)
"""Marks of a file whose strings name modules that the file or its framework imports."""
_LOADER = re.compile(rb"""(?:import|load|plugin)\w*\(\s*["'](\w+(?:\.\w+)+)["']\s*,""")
"""``import_plugin("package.plugins", name)``"""
_SIBLINGS = re.compile(
    rb"""import_module\([^)]*(?:package\s*=\s*)?(?:__name__|__package__)"""
    rb"""|(?:iter_modules|walk_packages)\("""
)
_BELOW = re.compile(
    rb"""__(?:name|package)__(?:[ \t]*\+[ \t]*["']\.([A-Za-z_][\w.]*)(?::[\w.]+)?["']"""
    rb"""|\}\.([A-Za-z_][\w.]*))"""
)
"""``__name__ + ".green:run"``: a module of the same package."""
_OF_PACKAGE = re.compile(rb"""import_module\([^)]*package\s*=\s*["']([\w.]+)["']""")
_WORD = re.compile(rb"\w+")
_COMMENT = re.compile(rb"#[^\n]*")
_FILE_ENDINGS = frozenset(
    "py pyc txt json yaml yml toml html htm css js md rst cfg ini conf log csv xml sql sh db gz "
    "zip png svg jpg pdf com org net io".split()
)
_OF_APPS = ("apps", "models", "admin", "templatetags")
"""The modules that Django imports of an installed application."""
_BLOCKS = (b"try", b"if", b"elif", b"else", b"except", b"finally", b"with", b"for", b"while")


class Edge(NamedTuple):
    """An edge of the graph: one import, or a string that names a module."""

    target: str
    """The file."""
    row: int
    later: bool
    """True if importing the module is not enough to run it."""
    main: bool = False
    """True if it runs only in the module that is started: it is below
    ``if __name__ == "__main__"``. If it is `later`, too, it is in a function that is called there:
    the started module runs it at once, and another one may call the function."""
    depth: int | None = None
    """The number of packages in which the name is looked up: they run before it. None, if unknown,
    means all packages around the file."""
    is_data: bool = False
    """True for a string that names a module of another package in a file that imports nothing by
    name: it may be data for another program."""
    of_handler: bool = False
    """True for what Django's settings name for its handler: the table of URLs, the application."""
    of_asgi: bool = False
    """True for the application that they name for a server of ASGI, which has an event loop."""
    of_task: bool = False
    """True for a string that names a task which is sent to a worker."""


class _Following(NamedTuple):
    """The imports of a file that are followed, as `ImportGraph.of` explains."""

    eager: bool
    is_main: bool
    """True if the file is started, not imported."""
    data: bool
    handler: bool
    asgi: bool
    tasks: bool


class ImportGraph:
    """Follows a project's imports.

    Args:
        modules: The project's files.
        known: The imports of some files, if already read.
        plugins: The modules of each group of entry points that the project declares, and of each
            file that names handlers: naming the group or the file can import them.
    """

    def __init__(
        self,
        modules: Modules,
        known: dict[str, tuple[Edge, ...]] | None = None,
        plugins: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.modules = modules
        self._plugins = {
            group.encode(): (
                re.compile(rb"""["'](?:[^"'\n]*/)?%s["']""" % re.escape(group.encode())),
                tuple(names),
            )
            for group, names in (plugins or {}).items()
        }
        self._imports = {} if known is None else known
        self._parents: dict[str, tuple[str, ...]] = {}
        self._steps: dict[_Following, dict[str, frozenset[str]]] = {}
        self._named: dict[tuple[str, str, bool], str | None] = {}

    @property
    def read(self) -> Mapping[str, tuple[Edge, ...]]:
        """The imports of each file that were needed so far."""
        return self._imports

    def imports(self, path: str) -> tuple[Edge, ...]:
        """Return the imports of one file, in order, packages included."""
        found = self._imports.get(path)
        if found is None:
            found = self._imports[path] = tuple(self._read(path))
        return found

    def of(
        self,
        entries: Iterable[str],
        *,
        eager: bool = False,
        main: str | None = "",
        as_file: bool = False,
        data: bool = True,
        handler: bool = True,
        asgi: bool = True,
        tasks: bool = True,
    ) -> frozenset[str]:
        """Return the files that running some files can lead to, these included.

        Args:
            entries: The files to start from.
            eager: True to follow only the imports that importing a module runs.
            main: The entry that is started, not imported, so that its main guard runs; None for
                all of them.
            as_file: True if it is started by its path, so that its packages do not run.
            data: True to follow strings that may be data for another program, too.
            handler: True to follow what Django's settings name for its handler, too.
            asgi: True to follow what they name for a server of ASGI, too.
            tasks: True to follow the names of tasks that are sent to workers, too.
        """
        begun = frozenset(path for path in entries if self.modules.is_module(path))
        found: set[str] = set(begun)
        for path in begun:
            if not (as_file and path == main):
                found.update(self.packages(path))
        started = begun if main is None else frozenset((main,))
        following = _Following(eager, False, data, handler, asgi, tasks)
        known = self._steps.setdefault(following, {})
        waiting = list(found)
        while waiting:
            path = waiting.pop()
            if path in started:
                steps = self._next(path, following._replace(is_main=True))
            else:
                steps = known.get(path) or self._next(path, following)
            new = steps - found
            if new:
                found |= new
                waiting += new
        return frozenset(found)

    def _next(self, path: str, how: _Following) -> frozenset[str]:
        """Return the files that one file leads to directly."""
        known = self._steps.setdefault(how, {})
        found = known.get(path)
        if found is None:
            steps: set[str] = set()
            for one in self.imports(path):
                if not self.modules.is_module(one.target) or not _is_run(one, how):
                    continue
                if (one.is_data and not how.data) or (one.of_handler and not how.handler):
                    continue
                if (one.of_asgi and not how.asgi) or (one.of_task and not how.tasks):
                    continue
                steps.add(one.target)
                steps.update(self.packages(one.target)[: one.depth])
            found = known[path] = frozenset(steps)
        return found

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """The importers of each file, without tests."""
        found: dict[str, set[str]] = {}
        for path in self.modules.serving:
            for one in self.imports(path):
                found.setdefault(one.target, set()).add(path)
        return found

    def leading_to(self, path: str) -> frozenset[str]:
        """Return the files that import a file, over any number of imports."""
        found: set[str] = set()
        waiting = [path]
        while waiting:
            for importer in self.importers.get(waiting.pop(), ()):
                if importer not in found:
                    found.add(importer)
                    waiting.append(importer)
        return frozenset(found - {path})

    def beside(self, path: str) -> frozenset[str]:
        """Return the files that some program can run together with a file, without tests.

        An object of one file is used in another only in a program that leads to both. A module
        that nothing imports may be a plug-in, which any program loads by its name.
        """
        if not self.leading_to(path) and b"__main__" not in self.modules.data(path):
            return frozenset(self.modules.serving)
        return self.of((path, *self.leading_to(path)), main=None)

    # -- names

    def named(self, written: str, importer: str, *, short: bool = False) -> str | None:
        """Return the file that ``package.module``, or ``package.module.attribute``, means.

        Args:
            written: The dotted name.
            importer: The file that names it.
            short: True if a module outside a package may be meant too.
        """
        key = (written, os.path.dirname(importer), short)
        if key not in self._named:
            self._named[key] = self._find_named(written, importer, short)
        return self._named[key]

    def _find_named(self, written: str, importer: str, short: bool) -> str | None:
        name = written
        while name and (short or "." in name or name == written):
            found = self.modules.resolve(name, 0, importer)
            if found is not None and self.modules.is_module(found):
                return found
            name = name.rpartition(".")[0]
        return None

    def packages(self, path: str) -> tuple[str, ...]:
        """Return the ``__init__.py`` of the packages around a file, innermost first."""
        found = self._parents.get(path)
        if found is None:
            parents = []
            directory = os.path.dirname(path)
            while True:
                init = os.path.join(directory, "__init__.py")
                if not self.modules.is_module(init):
                    break
                if init != path:
                    parents.append(init)
                directory = os.path.dirname(directory)
            found = self._parents[path] = tuple(parents)
        return found

    # -- one file

    def _read(self, path: str) -> list[Edge]:
        data = self.modules.data(path)
        found: list[Edge] = []
        rows = _Rows(data)
        matches = [*_IMPORT.finditer(data)]
        if _has(data, _MARKS_OF_SECOND):
            matches += _SECOND.finditer(data)
        for match in matches:
            targets = (
                self._from(match[2], match[3], path)
                if match[2] is not None
                else self._plain(match[4], path)
            )
            if targets:
                place = match.start(2) if match[2] is not None else match.start(4)
                when = rows.when(match.start(1), len(match[1])) if match[1] else _NOW
                row, later = rows.of(place), when in (_LATER, _BEGUN)
                main = when in (_MAIN, _BEGUN)
                found += [Edge(one, row, later, main, depth) for one, depth in targets]
        imports_by_name = _has(data, _LOADING)
        for target, place in self._strings(data, path):
            is_data = not imports_by_name and self._is_apart(target, path)
            of_task = _SENT.search(data, max(0, place - 80), place) is not None
            start = data.rfind(b"\n", 0, place) + 1
            of_handler = _OF_HANDLER.search(data, start, place) is not None
            of_asgi = of_handler and _OF_ASGI.search(data, start, place) is not None
            edge = Edge(target, rows.of(place), True, is_data=is_data)
            found.append(edge._replace(of_handler=of_handler, of_asgi=of_asgi, of_task=of_task))
        for target in self._computed(data, path):
            found.append(Edge(target, 1, True))
        if _has(data, _MARKS_OF_CONFIGURED):
            found += [
                Edge(target, rows.of(match.start()), True)
                for match in _CONFIGURED.finditer(data)
                if not _in_comment(data, match.start())
                for target in self._configured(match, path)
            ]
        if _EXECUTING in data:
            found += [
                Edge(target, rows.of(match.start()), False)
                for match in _EXECUTED.finditer(data)
                if not _in_comment(data, match.start())
                for target in self._matching(match[1].decode(), path)
            ]
        return found

    def _configured(self, match: re.Match[bytes], path: str) -> list[str]:
        """Return the modules that a call of Pyramid's configurator imports.

        A scan imports all modules of a package, by default of the package of its caller.
        """
        scans, dots, name = match[1] == b"scan", match[2], (match[3] or b"").decode()
        directory: str | None = os.path.dirname(path)
        found: list[str] = []
        if dots or name:
            target = self.modules.resolve(name, len(dots), path)
            directory = target
            if target is not None and self.modules.is_module(target):
                found.append(target)
                directory, file = os.path.split(target)
                scans = scans and file == "__init__.py"
        if scans and directory is not None:
            found += self._all_below(directory)
        return [one for one in found if one != path]

    def _all_below(self, directory: str) -> list[str]:
        """Return the modules of a package and of all its subpackages."""
        inner = os.path.join(directory, "")
        return [
            one
            for other, paths in self._by_directory.items()
            if other == directory or other.startswith(inner)
            if self.modules.is_module(os.path.join(other, "__init__.py"))
            for one in paths
        ]

    def _matching(self, pattern: str, path: str) -> list[str]:
        """Return the other files that match a pattern, relative to one file's directory."""
        directory, name = os.path.split(
            os.path.normpath(os.path.join(os.path.dirname(path), pattern))
        )
        return [
            one
            for one in self._by_directory.get(directory, ())
            if one != path and fnmatch.fnmatchcase(os.path.basename(one), name)
        ]

    def _is_apart(self, target: str, path: str) -> bool:
        """Return whether two files lie in different packages, neither within the other."""
        theirs, ours = self.packages(target)[-1:], self.packages(path)[-1:]
        if os.path.basename(path) == "__init__.py" and not ours:
            ours = (path,)
        if os.path.basename(target) == "__init__.py" and not theirs:
            theirs = (target,)
        return bool(theirs) and bool(ours) and theirs != ours

    def _from(self, module: bytes, names: bytes, path: str) -> list[tuple[str, int | None]]:
        """Return the imports of ``from module import names``, each with its depth."""
        text = module.decode(errors="replace").replace(" ", "")
        name = text.lstrip(".")
        depth = name.count(".") if name == text else None
        level = len(text) - len(name)
        found = self.modules.resolve(name, level, path)
        if found is None:
            return []
        targets: list[tuple[str, int | None]] = [
            *((other, depth) for other in self.modules.others(name, level, path))
        ]
        if self.modules.is_module(found) and found != path:
            targets.append((found, depth))
        if found.endswith("__init__.py"):
            directory = os.path.dirname(found)
        elif not self.modules.is_module(found):
            directory = found
        else:
            return targets
        for word in _WORD.findall(_COMMENT.sub(b"", names)):
            inner = self.modules.inside(directory, word.decode(errors="replace"))
            if inner is not None and self.modules.is_module(inner):
                targets.append((inner, None if depth is None else depth + 1))
        return targets

    def _plain(self, names: bytes, path: str) -> list[tuple[str, int | None]]:
        targets: list[tuple[str, int | None]] = []
        for part in names.split(b","):
            words = part.split()
            if words:
                name = words[0].decode(errors="replace")
                found = self.modules.resolve(name, 0, path)
                for one in (found, *self.modules.others(name, 0, path)):
                    if one is not None and self.modules.is_module(one) and one != path:
                        targets.append((one, name.count(".")))
        return targets

    @cached_property
    def _first_names(self) -> frozenset[bytes]:
        """The first parts of the project's dotted names."""
        names: set[str] = set()
        for path in self.modules.files:
            relative = path[len(self.modules.top) :].strip("/")
            *directories, name = relative.split("/")
            names.update(directories)
            names.add(name.removesuffix(".py"))
        return frozenset(map(encoded, names))

    def _strings(self, data: bytes, path: str) -> list[tuple[str, int]]:
        """Return the modules that strings name, each with its place."""
        found: dict[str, int] = {}
        apps = b"INSTALLED_APPS" in data or b"_APPS" in data
        for pattern in (_DOTTED, _COLON):
            for match in pattern.finditer(data):
                if match[1].partition(b".")[0] not in self._first_names:
                    continue
                if _in_comment(data, match.start()):
                    continue
                written = match[1].decode(errors="replace")
                if written.rpartition(".")[2] in _FILE_ENDINGS and not match[2]:
                    continue
                target = self.named(written, path, short=bool(match[2]))
                if target is None and apps:
                    target = self._namespace(written, path)
                if target is None or target == path:
                    continue
                found.setdefault(target, match.start(1))
                if apps:
                    for one in self._application(os.path.dirname(target)):
                        found.setdefault(one, match.start(1))
        for match in _OBJECT.finditer(data) if _MARK_OF_OBJECT in data else ():
            target = self.named(match[1].decode(), path, short=True)
            if target is not None and target != path and not _in_comment(data, match.start()):
                found.setdefault(target, match.start(1))
        listed = _words_of(_LISTED, data) if _has(data, _MARKS_OF_LISTED) else []
        for word, place in [*listed, *_modules_alone(data)]:
            target = self.named(word, path)
            if target is not None and target != path:
                found.setdefault(target, place)
        for word, place in _words_of(_APPS, data) if apps else ():
            directory = self.modules.resolve(word, 0, path)
            if directory is not None and self.modules.is_module(directory):
                found.setdefault(directory, place)
                directory = os.path.dirname(directory)
            for one in self._application(directory) if directory is not None else ():
                found.setdefault(one, place)
        for group, (naming, names) in self._plugins.items():
            named = naming.search(data) if group in data else None
            if named is None:
                continue
            for written in names:
                target = self.named(written, path, short=True)
                if target is not None and target != path:
                    found.setdefault(target, named.start())
        if b"autodiscover_tasks" in data:
            place = data.find(b"autodiscover_tasks")
            for one in self._tasks:
                found.setdefault(one, place)
        return list(found.items())

    def _namespace(self, written: str, path: str) -> str | None:
        """Return a file in an application without ``__init__.py``."""
        found = self.modules.resolve(written, 0, path)
        inner = self.modules.inside(found, "apps") if found else None
        return inner if inner is not None and self.modules.is_module(inner) else None

    def _application(self, directory: str) -> list[str]:
        found = []
        for name in _OF_APPS:
            inner = self.modules.inside(directory, name)
            if inner is None:
                continue
            if self.modules.is_module(inner) and not inner.endswith("__init__.py"):
                found.append(inner)
            else:
                found += self.below(os.path.join(directory, name))
        return found

    @cached_property
    def _tasks(self) -> list[str]:
        """The modules that Celery finds automatically."""
        return [
            path
            for path in sorted(self.modules.serving)
            if os.path.basename(path) == "tasks.py"
            or os.path.basename(os.path.dirname(path)) == "tasks"
        ]

    @cached_property
    def _by_directory(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.modules.serving):
            found.setdefault(os.path.dirname(path), []).append(path)
        return found

    def below(self, directory: str) -> list[str]:
        """Return the modules of a package, and its direct subpackages."""
        found = list(self._by_directory.get(directory, ()))
        for other in self._by_directory:
            if os.path.dirname(other) == directory:
                init = os.path.join(other, "__init__.py")
                if self.modules.is_module(init):
                    found.append(init)
        return found

    def _computed(self, data: bytes, path: str) -> list[str]:
        """Return the modules that computed imports may mean, if the text shows the package."""
        by_name = _has(data, _IMPORTS_BY_NAME)
        loaded = [*_LOADER.finditer(data), *(_OF_PACKAGE.finditer(data) if by_name else ())]
        found: list[str] = []
        for match in (*(_COMPUTED.finditer(data) if by_name else ()), *loaded):
            package = (match[1] or b"").decode(errors="replace").strip(".")
            if not package:
                if _OF_PACKAGE.search(data):
                    continue
                found += self.below(os.path.dirname(path))
                continue
            target = self.modules.resolve(package, 0, path)
            if target is not None:
                is_file = self.modules.is_module(target)
                found += self.below(os.path.dirname(target) if is_file else target)
        for match in _BELOW.finditer(data):
            name = (match[1] or match[2]).decode(errors="replace")
            inner = self.modules.inside(os.path.dirname(path), name)
            if inner is not None and self.modules.is_module(inner):
                found.append(inner)
        if by_name and _SIBLINGS.search(data):
            found += self.below(os.path.dirname(path))
        return [one for one in found if one != path]


def _has(data: bytes, marks: tuple[bytes, ...]) -> bool:
    """Return whether a text has one of some marks: far faster than a search for alternatives."""
    return any(mark in data for mark in marks)


def _words_of(lists: re.Pattern[bytes], data: bytes) -> list[tuple[str, int]]:
    """Return the strings of one word in some lists of a text, with their places."""
    found = []
    for listed in lists.finditer(data):
        for word in _QUOTED_WORD.finditer(data, listed.start(1), listed.end(1)):
            if not _in_comment(data, word.start()):
                found.append((word[1].decode(), word.start(1)))
    return found


def _modules_alone(data: bytes) -> list[tuple[str, int]]:
    """Return the modules of one word that a text names where only a module can stand."""
    if not _has(data, _MARKS_OF_ALONE):
        return []
    return [
        (match[1].decode(), match.start(1))
        for match in _ALONE.finditer(data)
        if not _in_comment(data, match.start())
    ]


def _is_run(edge: Edge, how: _Following) -> bool:
    """Return whether a file runs one of its imports, as far as these are followed."""
    if edge.main and not edge.later:
        return how.is_main
    return not (how.eager and edge.later) or (edge.main and how.is_main)


def _in_comment(data: bytes, place: int) -> bool:
    """Return whether a place lies in a comment, judged by its line alone."""
    before = data[data.rfind(b"\n", 0, place) + 1 : place]
    sign = before.find(b"#")
    return sign >= 0 and not (before.count(b'"', 0, sign) % 2 or before.count(b"'", 0, sign) % 2)


class _Rows:
    """Rows and blocks of a text, found without parsing it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._place = 0
        self._row = 1

    @cached_property
    def _begun(self) -> frozenset[bytes]:
        """The functions that the main guard calls in statements of its own: ``main()``."""
        found: set[bytes] = set()
        guarded = False
        for line in self.data.splitlines() if b"__main__" in self.data else ():
            if line[:1] not in b" \t#":
                guarded = MAIN_GUARD.match(line) is not None
            elif guarded and (match := _CALL.match(line)) is not None:
                found.add(match[1])
        return frozenset(found)

    def of(self, place: int) -> int:
        """Return the row of a place; fast if the places ascend."""
        if place < self._place:
            self._place, self._row = 0, 1
        self._row += self.data.count(b"\n", self._place, place)
        self._place = place
        return self._row

    def when(self, start: int, indentation: int) -> str:
        """Return when an indented line runs.

        Returns:
            `_LATER` in a function, a class or below ``TYPE_CHECKING``; `_MAIN` below the main
            guard; `_BEGUN` in a function that it calls, outside of branches; `_NOW` at module
            level, inside an ``if``, a ``try`` and the like included.
        """
        end, in_branch = start, False
        while indentation and end > 0:
            begin = self.data.rfind(b"\n", 0, end - 1) + 1
            line = self.data[begin:end]
            end = begin
            stripped = line.lstrip(b" \t")
            depth = len(line) - len(stripped)
            if stripped.strip() and depth < indentation and not stripped.startswith(b"#"):
                if not stripped.startswith(_BLOCKS):
                    name = _FUNCTION.match(stripped)
                    if name is not None and not depth and not in_branch and name[1] in self._begun:
                        return _BEGUN
                    return _LATER if stripped.startswith((b"def ", b"async ", b"class ")) else _NOW
                in_branch = in_branch or not stripped.startswith(_ALWAYS_RUN)
                if _FOR_TYPES.match(stripped):
                    return _LATER
                if not depth and MAIN_GUARD.match(stripped):
                    return _MAIN
                indentation = depth
        return _NOW


_NOW, _LATER, _MAIN, _BEGUN = "now", "later", "main", "begun"
_ALWAYS_RUN = (b"try", b"finally", b"with")
"""Statements whose blocks run whatever holds."""
_FUNCTION = re.compile(rb"def[ \t]+(\w+)[ \t]*\(")
_CALL = re.compile(rb"[ \t]+(?:(?:raise[ \t]+)?\w*(?:\.?exit|SystemExit)\()?(\w+)\(")
"""A statement that calls a function, perhaps for the program's exit status."""
_FOR_TYPES = re.compile(rb"if\s+(?:typing\.)?TYPE_CHECKING\b")
