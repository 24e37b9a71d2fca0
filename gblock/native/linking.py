"""The call graph of a module, through the libraries that it is linked with.

It applies the relevant rules of the dynamic linker (ld.so(8)): the libraries of ``DT_NEEDED`` are
searched in the package, then in the system. Code inside the C library and the C++ run-time is not
followed: their waits are known by name.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from typing import NamedTuple

from gblock.native import flow, scanning, waits
from gblock.native.code import BasicBlock, Code, Pointer
from gblock.native.image import AARCH64, X86_64, Image, NotReadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_RUNTIME = re.compile(
    r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|resolv|util|nsl|anl|atomic|gomp|python[\d.]*)\b|ld-linux"
)
_SYSTEM = {
    X86_64: ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib"),
    AARCH64: ("/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"),
}
"""By machine, the directories of the system's libraries."""
_MOST_LIBRARIES = 64
_MOST_KEPT = 64 << 20
"""The limit of the bytes of libraries that are kept for other modules."""
_MOST_CANDIDATES = 12
"""The limit of functions in a table for a call through it; above it, the callee is unknown."""
_PYTHON = re.compile(r"_?Py[A-Z_]")
_NEW = tuple.__new__
"""Makes a named tuple without the call of Python code that its class needs."""
_MOST_NAMESAKES = 4
_CALLS_BY_NAME = frozenset(
    """PyObject_CallMethod _PyObject_CallMethod_SizeT PyObject_CallMethodObjArgs
    PyObject_VectorcallMethod _PyObject_CallMethodId _PyObject_CallMethodIdObjArgs
    _PyObject_CallMethod _PyObject_CallMethodIdNoArgs PyObject_GetAttrString PyObject_GetAttr
    _PyObject_GetAttrId""".split()
)
_TAKES_TEXT = frozenset(
    """PyObject_CallMethod _PyObject_CallMethod_SizeT _PyObject_CallMethod PyObject_GetAttrString
    PyUnicode_FromString PyUnicode_InternFromString PyUnicode_FromStringAndSize""".split()
)
"""Functions that are passed a name as text; the others of the above are passed an object, or the
address of a pointer to the text."""
_CALLS_OF_OBJECTS = frozenset(
    """PyObject_Call PyObject_CallFunction _PyObject_CallFunction_SizeT PyObject_CallObject
    PyObject_CallFunctionObjArgs PyObject_Vectorcall PyObject_VectorcallDict PyObject_CallNoArgs
    PyObject_CallOneArg _PyObject_MakeTpCall""".split()
)
_VTABLE = 16
"""The offset of the table's address in an object of a Cython class: after ``PyObject``."""
_LARGEST_TABLE = 0x100
"""The number of bytes of a table in which the class's own methods start."""
_ML_METH = 8
"""The offset of ``PyMethodDef`` in ``PyCFunctionObject``, and of the function's address in it."""


class Node(NamedTuple):
    """One function."""

    image: int
    """The index of its image in the program."""
    address: int


Target = Node | str | None
"""A function, an import that nothing here defines, or None for an unknown pointer."""


class Invocation(NamedTuple):
    """One call of a function."""

    targets: tuple[Target, ...]
    """One target, or several for a table."""
    returns: bool
    at: int
    """The address of the call."""
    handed: tuple[Target, ...] = ()
    """The functions that the caller passes, if the callee calls its arguments."""


class Libraries:
    """Parsed shared libraries, which several modules of a package are linked with.

    Args:
        read: Returns a file's bytes; raises OSError or `NotReadError`.
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._images: dict[str, Image] = {}
        self._left = _MOST_KEPT

    def image(self, path: str) -> Image:
        """Return a library's image.

        Raises:
            OSError: if the file cannot be read.
            NotReadError: if it is not supported.
        """
        found = self._images.get(path)
        if found is None:
            data = self._read(path)
            found = Image(data)
            if len(data) <= self._left:
                self._left -= len(data)
                self._images[path] = found
        return found


class LinkedModule:
    """A module and its libraries.

    Args:
        path: The module's file.
        read: Returns a file's bytes; raises OSError or `NotReadError`.
        libraries: The libraries that other modules are linked with, too.

    Raises:
        NotReadError: if the module cannot be read. An unreadable library is omitted.
    """

    def __init__(
        self, path: str, read: Callable[[str], bytes], libraries: Libraries | None = None
    ) -> None:
        self.images: list[Image] = []
        self.paths: list[str] = []
        self.absent: list[str] = []
        """Libraries that are required and were not found, or not read."""
        self._needs: list[list[int]] = []
        self._steps: dict[Node, tuple[Invocation, ...]] = {}
        self._resolved: dict[tuple[int, str], Node | str] = {}
        self._tables: dict[int, tuple[dict[int, int], frozenset[int]]] = {}
        self._shared: dict[int, bool] = {}
        self.by_name: dict[str, tuple[int, ...]] = {}
        """The addresses of the module's methods by their names in Python."""
        self.namesakes: frozenset[int] = frozenset()
        """The addresses of those of them that share their names with others."""
        self.owners: dict[int, frozenset[str]] = {}
        """The names of the types that have a method at an address."""
        self.constructors: dict[int, tuple[int, ...]] = {}
        """By the address of a type, the addresses of the functions that a call of it runs."""
        self._targets: list[dict[int | str, Target]] = []
        """By image, what its calls have as targets."""
        self._taking: dict[tuple[Node, int], bool] = {}
        self._libraries = Libraries(read) if libraries is None else libraries
        try:
            data = read(path)
        except OSError as error:
            raise NotReadError(error.strerror or "cannot be read") from None
        self._add(path, Image(data))
        for at, image in enumerate(self.images):  # it grows
            self._link(at, image)

    def _add(self, path: str, image: Image) -> int:
        self.images.append(image)
        self.paths.append(path)
        self._needs.append([])
        self._targets.append({})
        return len(self.images) - 1

    def _link(self, at: int, image: Image) -> None:
        here = os.path.dirname(self.paths[at])
        folders = [here]
        for path in image.run_paths:
            # A path that does not start at the file's own place belongs to the build machine.
            if path.startswith(("$ORIGIN", "${ORIGIN}")):
                inner = path.partition("N")[2].lstrip("}").lstrip("/")
                folders.append(os.path.join(here, inner))
        folders += _SYSTEM[image.machine]
        for name in image.needed:
            if _RUNTIME.match(name) or "/" in name:
                continue
            found = self._library(name, folders, image.machine)
            if found is None:
                if name not in self.absent:
                    self.absent.append(name)
            else:
                self._needs[at].append(found)

    def _library(self, name: str, folders: list[str], machine: int) -> int | None:
        for folder in folders:
            path = os.path.normpath(os.path.join(folder, name))
            if path in self.paths:
                return self.paths.index(path)
            if not os.path.isfile(path) or len(self.images) >= _MOST_LIBRARIES:
                continue
            try:
                image = self._libraries.image(path)
            except (OSError, NotReadError):
                continue
            if image.machine == machine:
                return self._add(path, image)
        return None

    # -- names

    def resolve(self, image: int, name: str) -> Node | str:
        """Return the meaning of an import: a function of a library, or the name itself."""
        key = (image, name)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = self._looked_up(image, name)
        return found

    def _looked_up(self, image: int, name: str) -> Node | str:
        if _PYTHON.match(name):
            return name
        if name in waits.CLASSES and name not in self.images[image].exports:
            return name
        todo, seen = [image], {image}
        for one in todo:
            address = self.images[one].exports.get(name)
            if address and self.images[one].is_code(address):
                return name if name in waits.CLASSES else Node(one, address)
            for need in self._needs[one]:
                if need not in seen:
                    seen.add(need)
                    todo.append(need)
        return name

    def name(self, node: Node) -> str:
        """Return a function's name, or its place in a file without symbols."""
        image = self.images[node.image]
        return image.name(node.address) or f"+{node.address:#x}"

    def is_named(self, node: Node) -> bool:
        """Return whether the file keeps the function's name."""
        return self.images[node.image].name(node.address) is not None

    def is_of_same_type(self, one: Node, other: Node) -> bool:
        """Return whether two functions are methods of the same type of the module."""
        none: frozenset[str] = frozenset()
        owners = self.owners.get(one.address, none) if one.image == 0 == other.image else none
        return not owners.isdisjoint(self.owners.get(other.address, none))

    def shares_locks(self, image: int) -> bool:
        """Return whether a library creates locks that are shared between processes."""
        found = self._shared.get(image)
        if found is None:
            imports = self.images[image].imports
            found = self._shared[image] = not waits.MAKES_SHARED.isdisjoint(imports)
        return found

    @property
    def may_wait(self) -> bool:
        """Return whether any function can release the GIL, or reach a function that waits."""
        asked = waits.RELEASE.union(waits.NAMES)
        return any(not asked.isdisjoint(image.imports) for image in self.images)

    def node(self, image: int, target: int | str) -> Target:
        """Return the target of a call."""
        known = self._targets[image]
        if target not in known:
            known[target] = self._meant(image, target)
        return known[target]

    def _meant(self, image: int, target: int | str) -> Target:
        if isinstance(target, str):
            return self.resolve(image, target)
        stub = self.images[image].stubs.get(target)
        if stub is not None:
            target = stub
            if isinstance(target, str):
                return self.resolve(image, target)
        name = self.images[image].name(target)
        if name is not None and waits.is_aside(name):
            return "abort"
        return Node(image, target)

    # -- calls

    def blocks(self, node: Node) -> dict[int, BasicBlock]:
        """Return the control-flow graph of a function."""
        return flow.blocks(self.images[node.image], node.address)

    def are_alternatives(self, node: Node, one: int, other: int) -> bool:
        """Return whether two places of a function are on branches of which either runs."""
        return flow.are_alternatives(self.blocks(node), one, other)

    def steps(self, node: Node) -> tuple[Invocation, ...]:
        """Return the calls of a function, in the order of its code."""
        found = self._steps.get(node)
        if found is None:
            found = self._steps[node] = self._scanned(node)
        return found

    def _code(self, node: Node) -> Code:
        return scanning.read(self.images[node.image], node.address)

    def _scanned(self, node: Node) -> tuple[Invocation, ...]:
        image = self.images[node.image]
        is_own = node.image == 0
        read = self._code(node)
        handed: tuple[Target, ...] | None = None if is_own else ()
        steps: list[Invocation] = []
        by_name: tuple[Target, ...] | None = None
        may_be_entropy = False
        meant = self._targets[node.image]
        for target, returns, at in read.calls:
            if isinstance(target, Pointer):
                steps.append(Invocation(self._through(node.image, target), returns, at))
                continue
            one = meant.get(target)
            if one is None:
                one = self.node(node.image, target)
            takes: tuple[Target, ...] = ()
            if isinstance(one, Node):
                # Other libraries mostly store their arguments.
                if one.image == node.image and handed != () and self._calls_what_it_is_handed(one):
                    if handed is None:
                        handed = self._handed(node, read)
                    takes = handed
            elif one in waits.ENTROPY:
                may_be_entropy = True
            elif one in _CALLS_BY_NAME and is_own and self.by_name:
                if by_name is None:
                    by_name = self._called_by_name(image, read)
                steps.append(Invocation((one, *by_name), returns, at))
                continue
            elif one in _CALLS_OF_OBJECTS and is_own and self.constructors:
                made = [Node(0, f) for a in read.data for f in self.constructors.get(a, ())]
                steps.append(Invocation((one, *dict.fromkeys(made)), returns, at))
                continue
            steps.append(_NEW(Invocation, ((one,), returns, at, takes)))
        if may_be_entropy:
            names = {target for step in steps for target in step.targets}
            if waits.RANDOM & (names | {*read.imports}) or any(
                _is_entropy(image, address) for address in read.data
            ):
                steps = [step for step in steps if waits.ENTROPY.isdisjoint(step.targets)]
        return tuple(steps)

    def _handed(self, node: Node, read: Code) -> tuple[Target, ...]:
        """Return the functions whose addresses a function takes."""
        functions = self.images[node.image].functions
        taken = [one for one in read.data if one in functions and one != node.address]
        both: tuple[int | str, ...] = (*taken, *read.imports)
        found = dict.fromkeys(self.node(node.image, one) for one in both)
        return tuple(found) if len(found) <= _MOST_CANDIDATES else ()

    def _calls_what_it_is_handed(self, node: Node, depth: int = 1) -> bool:
        """Return whether a function calls, or passes on, a pointer of unknown origin."""
        key = (node, depth)
        if key not in self._taking:
            self._taking[key] = self._takes(node, depth)
        return self._taking[key]

    def _takes(self, node: Node, depth: int) -> bool:
        for target, _, _ in self._code(node).calls:
            if isinstance(target, Pointer):
                if target.slot is None and not target.base:
                    return True
            elif depth:
                inner = self.node(node.image, target)
                if isinstance(inner, Node) and inner.image == node.image:
                    if self._calls_what_it_is_handed(inner, depth - 1):
                        return True
        return False

    def _called_by_name(self, image: Image, read: Code) -> tuple[Target, ...]:
        """Return the module's methods whose names a function passes to Python's API."""
        found: dict[Target, None] = {}
        # Otherwise a text is of a message: Cython's say the name of the method itself.
        takes_text = any(
            self.node(0, target) in _TAKES_TEXT
            for target, _, _ in read.calls
            if not isinstance(target, Pointer)
        )
        for address in read.data:
            name = image.identifier(address) if takes_text else ""
            name = name or image.identifier(image.relocations.get(address))
            methods = self.by_name.get(name, ()) if name else ()
            if len(methods) <= _MOST_NAMESAKES:
                found.update(dict.fromkeys(Node(0, one) for one in methods))
        return tuple(found) if len(found) <= _MOST_CANDIDATES else ()

    def _through(self, image: int, pointer: Pointer) -> tuple[Target, ...]:
        if pointer.slot is None:
            return (None,)
        table, bases = self._filled(image)
        if pointer.base:
            base = table.get(pointer.base)
            function = None if base is None else table.get(base + pointer.slot)
            return (None,) if function is None else (self.node(image, function),)
        if pointer.table != _VTABLE or pointer.slot == _ML_METH:
            return (None,)
        functions = {table[base + pointer.slot] for base in bases if base + pointer.slot in table}
        known = functions & self.images[image].functions
        # The object's class is unknown: only one class may have a method there.
        return (self.node(image, known.pop()),) if len(known) == 1 else (None,)

    def _filled(self, image: int) -> tuple[dict[int, int], frozenset[int]]:
        """Return the pointers that a Cython module's start-up writes, and its classes' tables."""
        found = self._tables.get(image)
        if found is None:
            found = {}, frozenset()
            one = self.images[image]
            if image == 0 and b"cython" in one.data:
                table: dict[int, int] = {}
                for start in scanning.storing(one):
                    table.update(scanning.stores(one, start))
                functions = one.functions
                for at, value in one.relocations.items():
                    if isinstance(value, int) and value in functions:
                        table.setdefault(at, value)
                entries = sorted(at for at, value in table.items() if value in functions)
                bases = frozenset(
                    value
                    for value in table.values()
                    if one.is_writable(value) and _holds(entries, value)
                )
                found = table, bases
            self._tables[image] = found
        return found


def _holds(entries: list[int], base: int) -> bool:
    """Return whether a table at an address has an entry."""
    at = bisect_left(entries, base)
    return at < len(entries) and entries[at] < base + _LARGEST_TABLE


def _is_entropy(image: Image, address: int) -> bool:
    return image.starts_with(address, b"/dev/urandom") or image.starts_with(address, b"/dev/random")


def is_installed(library: str) -> bool:
    """Return whether the system has a library of that name, for either machine."""
    if "/" in library:
        return False
    folders = {folder for machine in _SYSTEM.values() for folder in machine}
    return any(os.path.isfile(os.path.join(folder, library)) for folder in folders)
