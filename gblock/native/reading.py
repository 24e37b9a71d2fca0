"""Read the methods of one extension module from its machine code.

The tiers, the surest first:

``waits``
    The method releases the GIL and reaches a named system function that waits.
``held``
    It reaches such a function while it holds the GIL: the process's native threads stop, too.
``leaves``
    It releases the GIL around an unnamed wait: disk I/O, a long computation, a library that was
    not found, or a call through a pointer.

No tier means that nothing was found, not that the method does not wait: calls through tables of
pointers or through Python, and functions registered at import time, are not seen.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

from gblock.native import scanning, waits
from gblock.native.gil import HELD, RELEASED, TAKEN, Effect, Gil
from gblock.native.image import LARGEST, NotReadError
from gblock.native.linking import Libraries, LinkedModule, Node
from gblock.native.methods import Method, MethodTables
from gblock.native.names import is_wrapper, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TIERS = ("waits", "held", "leaves")
_SHOWN = 6
"""The number of waits that are named for one method."""
_LINKS = 12
"""The number of functions that are named for a chain; a longer one is cut in the middle."""
_REGISTERED = (
    (b"pybind11", "pybind11 registers its methods when it is imported"),
    (b"nanobind", "nanobind registers its methods when it is imported"),
    (b"N5boost6python", "Boost.Python registers its methods when it is imported"),
)


class Reading(NamedTuple):
    """The result for one method."""

    name: str
    """Its owner, as spelled in the module's tables, and its name."""
    tier: str
    """One of `TIERS`, or empty if nothing was found."""
    waits: tuple[str, ...] = ()
    """The system functions that it reaches in that state of the GIL."""
    chain: tuple[str, ...] = ()
    """The native functions from the method to the first wait, inclusive."""
    classes: tuple[str, ...] = ()
    """The kinds of waits; see `gblock.native.waits`."""
    in_class: bool = False
    """True if the owner is a type."""

    @property
    def releases(self) -> bool:
        """Return whether it releases the GIL; False means unknown."""
        return self.tier in ("waits", "leaves")


class ModuleReading(NamedTuple):
    """The results for one module."""

    methods: tuple[Reading, ...]
    """All of its methods, including those without a tier."""
    not_read: str = ""
    """The reason why it was not read, or not completely."""
    libraries: tuple[str, ...] = ()
    """The paths of the libraries that were followed."""
    absent: tuple[str, ...] = ()
    """The names of required libraries that were not found."""


def file_bytes(path: str) -> bytes:
    """Return a file's bytes.

    Raises:
        OSError: if it cannot be read.
        NotReadError: if it is larger than `LARGEST`, or no regular file.
    """
    if not os.path.isfile(path):
        raise NotReadError("not a regular file")
    if os.path.getsize(path) > LARGEST:
        raise NotReadError(f"larger than {LARGEST >> 20} MiB")
    with open(path, "rb") as file:
        return file.read(LARGEST + 1)[:LARGEST]


def read(
    path: str,
    read_file: Callable[[str], bytes] = file_bytes,
    libraries: Libraries | None = None,
) -> ModuleReading:
    """Return the results for a module; never raise.

    Args:
        path: The module's file.
        read_file: Returns the bytes of a file; raises OSError or `NotReadError`.
        libraries: The libraries that other modules are linked with, too.
    """
    try:
        return _read(LinkedModule(path, read_file, libraries), path)
    except NotReadError as error:
        return ModuleReading((), str(error))
    except (RecursionError, MemoryError, struct.error, IndexError, OverflowError) as error:
        return ModuleReading((), f"damaged: {type(error).__name__}")


def _read(program: LinkedModule, path: str) -> ModuleReading:
    image = program.images[0]
    tables = MethodTables(image)
    found = tables.methods()
    by_name: dict[str, tuple[int, ...]] = {}
    for method in found:
        if method.in_class:
            by_name[method.name] = (*by_name.get(method.name, ()), method.address)
            owners = program.owners.get(method.address, frozenset())
            program.owners[method.address] = owners | {method.owner}
    program.by_name = by_name
    program.namesakes = frozenset(
        one for addresses in by_name.values() if len(addresses) > 1 for one in addresses
    )
    program.constructors = tables.constructors()
    gil = Gil(program)
    if program.may_wait:
        methods = tuple(_reading(program, gil, method) for method in found)
    else:
        methods = tuple(Reading(one.qualified, "", in_class=one.in_class) for one in found)
    why = ""
    registered = [text for mark, text in _REGISTERED if mark in image.data]
    if registered and len(methods) < 40:
        why = registered[0]
    elif not methods and "PyInit_" + os.path.basename(path).partition(".")[0] in image.exports:
        why = "no table of methods was found"
    elif gil.is_cut:
        why = "larger than what is followed"
    return ModuleReading(methods, why, tuple(program.paths[1:]), tuple(program.absent))


def _reading(program: LinkedModule, gil: Gil, method: Method) -> Reading:
    root = program.node(0, method.address)
    effects = [(root, _effect(gil, root))] if isinstance(root, Node) else []
    if method.is_rust:
        # A trampoline passes the address of the real function to a helper that catches panics.
        image = program.images[0]
        for address in dict.fromkeys(scanning.read(image, method.address).data):
            if address in image.functions and address != method.address:
                inner = program.node(0, address)
                if isinstance(inner, Node):
                    effects.append((inner, _effect(gil, inner)))
    releases = any(effect.releases for _, effect in effects)
    # A part without the GIL in which nothing waits, such as one around a lock, explains nothing:
    # the wait is elsewhere.
    explains = any(effect.waits.get(RELEASED, 0) for _, effect in effects if effect.releases)
    for tier, states in (("waits", (RELEASED,)), ("held", (HELD, TAKEN))):
        for node, effect in effects:
            for state in states:
                mask = effect.waits.get(state, 0) & waits.EVERY
                if mask and explains == (tier == "waits"):
                    return _described(program, gil, method, tier, node, state, mask)
    return Reading(method.qualified, "leaves" if releases else "", in_class=method.in_class)


def _effect(gil: Gil, node: Node) -> Effect:
    reach = gil.reach(node, node.image)
    if reach.changes:
        return gil.effect(node, HELD)
    return Effect(frozenset({HELD}), {HELD: reach.waits} if reach.waits else {}, False)


def _described(
    program: LinkedModule, gil: Gil, method: Method, tier: str, node: Node, state: str, mask: int
) -> Reading:
    first = next(name for name in waits.NAMES if mask & waits.BIT[name])
    path = gil.chain(node, state, waits.BIT[first])
    named = [program.name(one) for one in path if program.is_named(one)]
    links = [readable(name) for name in named if not is_wrapper(name)]
    if len(links) > _LINKS:
        links = [*links[: _LINKS // 2], "…", *links[-_LINKS // 2 :]]
    classes = dict.fromkeys(
        {**waits.CLASSES, **waits.SHARED}[name] for name in waits.NAMES if mask & waits.BIT[name]
    )
    return Reading(
        method.qualified,
        tier,
        waits.names(mask)[:_SHOWN],
        (*links, waits.spelled(first)),
        tuple(classes),
        method.in_class,
    )


class SharedLibrary:
    """A shared library whose functions Python code calls directly, as ``ctypes`` does.

    Args:
        path: The library's file.
        read_file: Returns the bytes of a file; raises OSError or `NotReadError`.

    Raises:
        NotReadError: if it cannot be read.
    """

    def __init__(self, path: str, read_file: Callable[[str], bytes] = file_bytes) -> None:
        self._program = LinkedModule(path, read_file)
        self._gil = Gil(self._program)

    @property
    def names(self) -> Iterable[str]:
        """The names that the library exports."""
        return self._program.images[0].exports

    def function(self, name: str) -> Reading | None:
        """Return the result for a function, None if the library has no such function."""
        image = self._program.images[0]
        address = image.exports.get(name)
        if address is None or not image.is_code(address):
            return None
        node = Node(0, address)
        mask = self._gil.reach(node, 0).waits & waits.EVERY
        if not mask:
            return Reading(name, "leaves")
        method = Method("", name, address)
        return _described(self._program, self._gil, method, "waits", node, HELD, mask)


def of_system(name: str) -> Reading | None:
    """Return the result for a system function, None if it does not wait."""
    if name not in waits.CLASSES:
        return None
    spelled = waits.spelled(name)
    return Reading(name, "waits", (spelled,), (spelled,), (waits.CLASSES[name],))
