"""Python functions of a package, by the native methods that they end in.

A call graph of the package's own Python code: calls are resolved by type inference, as in a checked
project, and the result for a function is propagated to its callers. A call on an object of unknown
type adds nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from keyword import iskeyword
from typing import NamedTuple

from gblock.catalog.lookup import Catalog
from gblock.native.image import NotReadError
from gblock.native.packages import NativeMethod
from gblock.native.reading import TIERS, Reading, SharedLibrary, of_system
from gblock.native.waits import CLASSES
from gblock.packages.spellings import Spellings
from gblock.project.names import values as v
from gblock.project.names.callees import IMPLIED
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import last_name
from gblock.project.reading.modules import Modules
from gblock.project.reading.word_index import WordSearch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gblock.native.packages import Module
    from gblock.packages.spellings import CallPlace
    from gblock.project.reading.expressions import Expr
    from gblock.project.reading.summary import AnyCall

FORMAT = "6"
"""Changed whenever the same files would give another result."""
_MOST_FILES = 2_000
_MOST_BYTES = 32 << 20
"""Limits of the files and bytes of one package's Python code."""
_LEFT_OUT = frozenset({"tests", "test", ".."})
_KEEPS_GIL = "ctypes.PyDLL."
_LOADERS = ("ctypes.CDLL.", "ctypes.cdll.LoadLibrary.", _KEEPS_GIL)
"""The prefixes that inference gives to the functions of a library that is loaded this way."""
_LOADED = -1
"""The scope of such a function, which is in no file."""
_LONGEST = 8
"""The limit of calls between a public function and a native method."""
_MOST_LEAVES = 100
"""The number of methods that release the GIL for an unknown reason, above which a package computes
without it, as pandas and NumPy do: nearly all of its Python functions reach one of them."""

_Function = tuple[str, int]
"""A file and a scope of it."""


class Wrapper(NamedTuple):
    """One function or class of a package's Python code."""

    symbol: str
    """The dotted name under which it is defined, or imported by its package."""
    through: tuple[str, ...]
    """The chain of its callees, with the native method at the end."""
    reading: Reading
    """The result for that method."""


class _NativePath(NamedTuple):
    """The path of a function to a native method: the symbols from its callee on."""

    symbols: tuple[str, ...]
    reading: Reading


def read(
    base: str, files: Sequence[str], modules: Sequence[Module], libraries: Sequence[str] = ()
) -> list[Wrapper]:
    """Return the Python functions that end in native methods with a tier.

    Args:
        base: The directory of packages.
        files: The package's Python files, relative to `base`.
        modules: Its compiled modules.
        libraries: Its bundled shared libraries, relative to `base`.
    """
    found = _within_limits(
        [
            os.path.join(base, file)
            for file in files
            if file.endswith(".py") and not is_left_out(file)
        ]
    )
    if not any(one.reading.tier for module in modules for one in module.methods):
        if not any(_loads_libraries(_data(path)) for path in found):
            return []
    paths = [os.path.join(base, file) for file in libraries]
    return _Graph(base, found, modules, _Libraries(paths)).wrappers()


def _data(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def _loads_libraries(text: bytes) -> bool:
    return b"ctypes" in text and (b"DLL(" in text or b"LoadLibrary(" in text)


def _module_name(path: str) -> str:
    """Return the last part of a module's name."""
    directory, file = os.path.split(path)
    name = file.removesuffix(".py")
    return os.path.basename(directory) if name == "__init__" else name


def is_left_out(file: str) -> bool:
    """Return whether a file of a package is a test, or is not in the directory of packages."""
    return not _LEFT_OUT.isdisjoint(file.split("/"))


def _within_limits(paths: list[str]) -> list[str]:
    """Return the first files, as many as are read of one package."""
    found, left = [], _MOST_BYTES
    for path in paths[:_MOST_FILES]:
        try:
            left -= os.path.getsize(path)
        except OSError:
            continue
        if left < 0:
            break
        found.append(path)
    return found


class _Libraries:
    """Calls of Python code into shared libraries by ``ctypes``, which releases the GIL.

    Args:
        paths: The libraries of the package; functions of the system are known by name.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self._opened: list[SharedLibrary] | None = None
        self._found: dict[str, Reading | None] = {}

    def reading(self, symbol: str) -> Reading | None:
        """Return the result for a function, by the dotted name from inference."""
        loader = next((one for one in _LOADERS if symbol.startswith(one)), None)
        name = symbol.removeprefix(loader) if loader is not None else ""
        if not name.isidentifier():
            return None
        if name not in self._found:
            self._found[name] = self._looked_up(name)
        found = self._found[name]
        if found is not None and loader == _KEEPS_GIL:
            return found._replace(tier="held") if found.tier == "waits" else None
        return found

    def calls(self, modules: Modules) -> list[CallPlace]:
        """Return the calls that may be of a library's function, none without ``ctypes``.

        They are in files that load a library, and in those that mention the module of such a file:
        many a method of the other files has the name of a function of the system.
        """
        loading = [path for path in modules.files if _loads_libraries(modules.data(path))]
        if not loading:
            return []
        search = WordSearch(modules.files, modules.data)
        near = set(loading)
        for path in loading:
            near.update(search.mentioning(_module_name(path), whole=True))
        spellings = Spellings(modules, sorted(near))
        exported = {name for one in self._libraries() for name in one.names}
        names = sorted(name for name in exported.union(CLASSES) if name.isidentifier())
        return [place for name in names for place in spellings.of(name, "")]

    def _libraries(self) -> list[SharedLibrary]:
        if self._opened is None:
            self._opened = []
            for path in self._paths:
                with suppress(NotReadError):
                    self._opened.append(SharedLibrary(path))
        return self._opened

    def _looked_up(self, name: str) -> Reading | None:
        own = [found for one in self._libraries() if (found := one.function(name)) is not None]
        return own[0] if own else of_system(name)


class _Graph:
    """The calls of a package's Python code.

    Inference sees a compiled module as a module of stubs: its types, their methods, its functions.

    Args:
        base: The directory of packages.
        paths: The package's Python files.
        modules: Its compiled modules.
        libraries: The calls into shared libraries.
    """

    def __init__(
        self, base: str, paths: list[str], modules: Sequence[Module], libraries: _Libraries
    ) -> None:
        self._base = base
        self._libraries = libraries
        self._loaded: dict[_Function, NativeMethod] = {}
        stubs = {_path(base, one.file): one for one in modules}
        self._modules = Modules(base, [*dict.fromkeys((*paths, *stubs))], (base,))
        self._inference = Inference(self._modules, Catalog(()))
        self._native: dict[_Function, NativeMethod] = {}
        self._types: dict[str, list[v.ScopeValue]] = {}
        for path, one in stubs.items():
            self._modules.give(path, stub(one).encode())
            self._note(path, one)
        self._stubs = frozenset(stubs)
        self._spellings = Spellings(self._modules)
        self._spelled: set[tuple[str, str]] = set()
        self._resolved: set[CallPlace] = set()
        self._calls: dict[_Function, list[tuple[CallPlace, _Function]]] = {}
        """By function, the calls of it that were found, with the functions that make them."""

    def _note(self, path: str, module: Module) -> None:
        """Store the native function of each function of a stub."""
        by_symbol = {found.symbol: found for found in module.methods}
        summary = self._modules.summary(path)
        for index, scope in enumerate(summary.scopes):
            if scope.kind == "class":
                self._types.setdefault(scope.name, []).append(v.ScopeValue(v.CLASS, path, index))
            elif scope.kind == "function":
                found = by_symbol.get(f"{module.name}.{'.'.join(self._names(path, index))}")
                if found is not None and found.reading.tier:
                    self._native[path, index] = found

    def wrappers(self) -> list[Wrapper]:
        """Return all functions that reach a native method, and classes that inherit one."""
        self._resolve(self._libraries.calls(self._modules))
        ways: dict[_Function, _NativePath] = {}
        self._native.update(self._loaded)
        # The surest tier first, and the shortest path: the first to reach a function is kept.
        for tier in TIERS:
            todo = [one for one, found in self._native.items() if found.reading.tier == tier]
            if tier == "leaves" and len(todo) > _MOST_LEAVES:
                continue
            ways.update((one, _NativePath((), self._native[one].reading)) for one in todo)
            for callee in todo:  # it grows
                way = ways[callee]
                if len(way.symbols) >= _LONGEST:
                    continue
                longer = _NativePath((self._symbol(callee), *way.symbols), way.reading)
                for caller in self._callers(callee):
                    if caller not in ways:
                        ways[caller] = longer
                        todo.append(caller)
        found = {
            symbol: Wrapper(symbol, way.symbols, way.reading)
            for function, way in ways.items()
            if way.symbols and (symbol := self._symbol(function))
        }
        for wrapper in (*self._inherited(ways), *self._exported(ways)):
            found.setdefault(wrapper.symbol, wrapper)
        return [found[symbol] for symbol in sorted(found)]

    # -- one call

    def _callers(self, callee: _Function) -> list[_Function]:
        """Return the functions that call a function, in the order of the files."""
        path, index = callee
        if index != _LOADED:
            summary = self._modules.summary(path)
            scope = summary.scopes[index]
            outer = summary.scopes[scope.parent]
            owner = outer.name if outer.kind == "class" else ""
            if (scope.name, owner) not in self._spelled:
                self._spelled.add((scope.name, owner))
                self._resolve(self._spellings.of(scope.name, owner))
        return [caller for _, caller in sorted(self._calls.get(callee, ()))]

    def _resolve(self, places: Iterable[CallPlace]) -> None:
        """Find the callees of some calls, of each once."""
        for place in places:
            if place in self._resolved:
                continue
            self._resolved.add(place)
            path = self._modules.files[place[0]]
            if path in self._stubs:
                continue
            call = self._modules.summary(path).calls[place[1]]
            caller = self._enclosing(path, call.scope)
            if caller is not None:
                for callee in self._callees(call, Place(path, call.scope, call.path)):
                    self._calls.setdefault(callee, []).append((place, caller))

    def _callees(self, call: AnyCall, place: Place) -> list[_Function]:
        """Return the functions that a call may call: the package's own, and native ones."""
        if call.node in IMPLIED:
            names = IMPLIED[call.node]
            values = self._inference.infer(call.expression, place)
            owners = sorted(value for value in values if value.kind == v.OBJECT)
            return [f for one in owners for name in names for f in self._method(one, name)]
        if call.node != "call":
            return []
        callee = call.expression.callee
        found: list[_Function] = []
        inner_ones = map(unwrapped, self._inference.infer(callee, place))
        for inner in sorted((x for x in inner_ones if x.kind in _CALLABLE), key=_order):
            if inner.kind == v.FUNCTION:
                found.append((inner.path, inner.scope))
            elif inner.kind == v.CLASS:
                found += self._method(inner, "__init__") or self._method(inner, "__new__")
            elif inner.kind == v.EXTERNAL:
                reading = self._libraries.reading(inner.symbol)
                if reading is not None and reading.tier:
                    self._loaded[inner.symbol, _LOADED] = NativeMethod(inner.symbol, reading)
                    found.append((inner.symbol, _LOADED))
        if not found and callee is not None and callee.tag == tags.ATTRIBUTE:
            if _is_super(callee.base):
                for base in self._lost_bases(place):
                    found += self._method(base, callee.name)
        return found

    def _method(self, owner: v.ScopeValue, name: str) -> list[_Function]:
        """Return a method of a class, its own or inherited."""
        for base in self._ancestry(owner.path, owner.scope):
            summary = self._modules.summary(base.path)
            for index, scope in enumerate(summary.scopes):
                if scope.parent == base.scope and scope.kind == "function" and scope.name == name:
                    return [(base.path, index)]
        return []

    def _ancestry(self, path: str, index: int) -> list[v.ScopeValue]:
        """Return a class and its bases, including bases that are known only by name."""
        order = [
            one for one in self._inference.classes.ancestry(path, index) if one.kind == v.CLASS
        ]
        for one in list(order):
            order += [base for base in self._named_bases(one) if base not in order]
        return order

    def _named_bases(self, owner: v.ScopeValue) -> list[v.ScopeValue]:
        """Return the native types that a class names as bases and that inference does not find.

        A package that selects its compiled part at import time uses a table of names.
        """
        summary = self._modules.summary(owner.path)
        scope = summary.scopes[owner.scope]
        place = Place(owner.path, scope.parent, scope.path)
        found: list[v.ScopeValue] = []
        for base in scope.bases:
            if base is None or base.tag != tags.NAME:
                continue
            if not self._inference.infer(base, place):
                for binding in summary.scopes[0].bindings.get(base.identifier, ()):
                    if binding.kind == kinds.IMPORTED and binding.value.name:
                        same = self._types.get(binding.value.name, [])
                        found += same if len(same) == 1 else []
        return found

    def _lost_bases(self, place: Place) -> list[v.ScopeValue]:
        """Return the bases, known only by name, of the class around a place."""
        summary = self._modules.summary(place.path)
        scope = place.scope
        while scope > 0:
            if summary.scopes[scope].kind == "class":
                return self._named_bases(v.ScopeValue(v.CLASS, place.path, scope))
            scope = summary.scopes[scope].parent
        return []

    # -- names

    def _enclosing(self, path: str, scope: int) -> _Function | None:
        """Return the function that a scope belongs to; nested functions count as run by it."""
        summary = self._modules.summary(path)
        found = None
        while scope > 0:
            one = summary.scopes[scope]
            if one.kind == "function":
                found = (path, scope)
            elif one.kind == "class" and found is not None:
                return found
            scope = one.parent
        return found

    def _names(self, path: str, scope: int) -> list[str]:
        summary = self._modules.summary(path)
        names: list[str] = []
        while scope > 0:
            names.insert(0, summary.scopes[scope].name)
            scope = summary.scopes[scope].parent
        return names

    def _symbol(self, function: _Function) -> str:
        native = self._native.get(function)
        if native is not None:
            return native.symbol
        path, scope = function
        inner = os.path.relpath(path, self._base).removesuffix(".py").replace(os.sep, ".")
        return ".".join((inner.removesuffix(".__init__"), *self._names(path, scope)))

    def _inherited(self, ways: Mapping[_Function, _NativePath]) -> Iterator[Wrapper]:
        """Yield the methods that classes of the package inherit."""
        by_class = self._methods(ways)
        names = self._spellings.names(self._class_names(by_class))
        for path in self._spellings.files:
            if path in self._stubs:
                continue
            for index, scope in enumerate(self._modules.summary(path).scopes):
                if scope.kind == "class" and scope.bases and scope.name in names:
                    own = self._symbol((path, index))
                    order = self._ancestry(path, index)
                    yield from self._offered(own, order, ways, by_class, set(scope.bindings))

    def _exported(self, ways: Mapping[_Function, _NativePath]) -> Iterator[Wrapper]:
        """Yield the functions that a package imports from its modules and exports."""
        by_class = self._methods(ways)
        asked = self._class_names(by_class)
        for path, index in ways:
            if index != _LOADED:
                asked.add(self._modules.summary(path).scopes[index].name)
        names = self._spellings.names(asked)
        for path in self._spellings.files:
            if os.path.basename(path) != "__init__.py" or path in self._stubs:
                continue
            for name, bound in self._modules.summary(path).scopes[0].bindings.items():
                if name not in names or not any(one.kind == kinds.IMPORTED for one in bound):
                    continue
                own = f"{self._symbol((path, 0))}.{name}"
                values = self._inference.imports.name(path, name)
                for value in sorted((x for x in values if x.kind in _CALLABLE), key=_order):
                    if value.kind == v.FUNCTION and (value.path, value.scope) in ways:
                        yield self._wrapper(own, (value.path, value.scope), ways)
                    elif value.kind == v.CLASS:
                        order = [value, *self._ancestry(value.path, value.scope)]
                        yield from self._offered(own, order, ways, by_class, set())

    def _class_names(self, classes: Iterable[tuple[str, int]]) -> set[str]:
        return {self._modules.summary(path).scopes[index].name for path, index in classes}

    def _methods(
        self, ways: Mapping[_Function, _NativePath]
    ) -> dict[tuple[str, int], list[tuple[str, _Function]]]:
        """Return, by class, its methods that reach a native one."""
        found: dict[tuple[str, int], list[tuple[str, _Function]]] = {}
        for function in ways:
            if function[1] == _LOADED:
                continue
            summary = self._modules.summary(function[0])
            scope = summary.scopes[function[1]]
            if summary.scopes[scope.parent].kind == "class":
                found.setdefault((function[0], scope.parent), []).append((scope.name, function))
        return found

    def _offered(
        self,
        own: str,
        order: list[v.ScopeValue],
        ways: Mapping[_Function, _NativePath],
        by_class: Mapping[tuple[str, int], list[tuple[str, _Function]]],
        bound: set[str],
    ) -> Iterator[Wrapper]:
        """Yield the methods that a class has from some classes, the nearest first."""
        for base in order[1:]:
            for name, function in by_class.get((base.path, base.scope), ()):
                if name not in bound:
                    yield self._wrapper(f"{own}.{name}", function, ways)
            inner = self._modules.summary(base.path)
            bound |= set(inner.scopes[base.scope].bindings)

    def _wrapper(
        self, symbol: str, function: _Function, ways: Mapping[_Function, _NativePath]
    ) -> Wrapper:
        way = ways[function]
        return Wrapper(symbol, (self._symbol(function), *way.symbols), way.reading)


_CALLABLE = (v.FUNCTION, v.CLASS, v.EXTERNAL)


def _order(value: v.Value) -> tuple[str, str, int]:
    """Return the place of a function, a class or a symbol among several of them."""
    if value.kind == v.FUNCTION or value.kind == v.CLASS:
        return value.kind, value.path, value.scope
    return value.kind, value.symbol if value.kind == v.EXTERNAL else "", 0


def _is_super(expression: Expr) -> bool:
    if expression is None or expression.tag != tags.CALL:
        return False
    return last_name(expression.callee) == "super"


def _path(base: str, file: str) -> str:
    """Return the path of a Python file in the place of a compiled module."""
    folder, _, name = file.rpartition("/")
    return os.path.join(base, folder, f"{name.partition('.')[0]}.py")


def stub(module: Module) -> str:
    """Return Python code with the types, methods and functions of a compiled module."""
    types: dict[str, list[str]] = {}
    functions: list[str] = []
    for found in module.methods:
        parts = found.symbol.removeprefix(f"{module.name}.").split(".")
        if not all(part.isidentifier() and not iskeyword(part) for part in parts):
            continue
        if len(parts) == 2:
            types.setdefault(parts[0], []).append(parts[1])
        else:
            functions += parts
    made = {name.lower(): name for name in types}
    lines: list[str] = []
    for owner, names in types.items():
        is_library = owner == "lib"  # cffi's library objects have functions as attributes
        lines.append(f"class {owner}:")
        for name in dict.fromkeys(names):
            given = made.get(name.lower())
            does = f"return {given}()" if given and given != owner else "pass"
            if is_library:
                lines.append("    @staticmethod")
            lines.append(f"    def {name}(self, *args, **kwargs): {does}")
    for name in dict.fromkeys(functions):
        given = made.get(name.lower())
        does = f"return {given}()" if given and given != name else "pass"
        if name not in types:
            lines.append(f"def {name}(*args, **kwargs): {does}")
    return "\n".join(lines) + "\n"
