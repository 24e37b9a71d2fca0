"""Find the methods of an extension module that Python sees, in its tables.

Each is a pattern of relocated pointers and small numbers: ``PyMethodDef``, ``PyGetSetDef``,
``PyTypeObject``, ``PyType_Spec`` with its slots, ``PyModuleDef`` (CPython's headers, 3.8 to 3.14,
64 bits), the statics of PyO3, and ``_cffi_global_s`` (cffi's ``parse_c_type.h``).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gblock.native import scanning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gblock.native.image import Image

METHODS_LIMIT = 50_000
"""The limit of methods that are read of one module."""


class Method(NamedTuple):
    """One method or function."""

    owner: str
    """The dotted name of its type or module; empty if not found."""
    name: str
    address: int
    is_rust: bool = False
    """True if the address is that of a trampoline, which receives the real function."""
    in_class: bool = False
    """True if `owner` is a type."""

    @property
    def qualified(self) -> str:
        """The owner and the name."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


_METHOD, _GETSET = 32, 40
"""The sizes of rows in bytes."""
_TYPE_METHODS, _TYPE_GETSET, _TYPE_NAME, _TYPE_SIZE = 232, 248, 24, 32
_MODULE_NAME = -24
"""The offset of `PyModuleDef.m_name` from `m_methods`."""
_SLOT_METHODS, _SLOT_GETSET = 64, 73
_SLOTS = {
    3: "__setitem__", 4: "__len__", 5: "__getitem__", 41: "__contains__", 44: "__getitem__",
    45: "__len__", 50: "__call__", 52: "__del__", 60: "__init__", 62: "__iter__", 63: "__next__",
    65: "__new__", 80: "__del__",
}  # fmt: skip
"""``Include/typeslots.h``."""
_TYPE_SLOTS = {
    48: "__del__", 128: "__call__", 216: "__iter__", 224: "__next__", 296: "__init__",
    312: "__new__",
}  # fmt: skip
"""``struct _typeobject``, by offset."""
_CONSTRUCTORS = (312, 296)
"""``tp_new`` and ``tp_init``."""
_TABLE_SLOTS = (
    (112, 8, "__getitem__"), (112, 0, "__len__"), (112, 16, "__setitem__"),
    (104, 56, "__contains__"), (104, 0, "__len__"),
)  # fmt: skip
"""``tp_as_mapping`` and ``tp_as_sequence``, and the offsets of functions in them."""
_FLAGS = 0x400
_HOW = 0x8F
"""The flags for the calling convention, of which a ``PyMethodDef`` has one."""


class MethodTables:
    """Find the methods of one module.

    Args:
        image: The module's file.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._pointers = image.relocations
        self._back: dict[int, list[int]] = {}
        """By address, the places of the pointers to it, except for functions."""
        self._functions: set[int] = set()
        """The places of pointers to functions."""
        is_code = image.is_code
        for at, value in self._pointers.items():
            if isinstance(value, int):
                if is_code(value):
                    self._functions.add(at)
                else:
                    self._back.setdefault(value, []).append(at)
        self._types: dict[int, str] = {}
        self._specs: dict[int, str] = {}

    def methods(self) -> list[Method]:
        """Return all methods, at most `METHODS_LIMIT`."""
        found: dict[Method, None] = {}
        for method in self._all():
            found.setdefault(method)
            if len(found) >= METHODS_LIMIT:
                break
        # Cython defines methods a second time, without a table.
        owned = {(method.name, method.address) for method in found if method.in_class}
        return [
            method
            for method in found
            if method.in_class or (method.name, method.address) not in owned
        ]

    def constructors(self) -> dict[int, tuple[int, ...]]:
        """Return, by the address of a static type, the functions that a call of it runs."""
        found = {}
        for base in self._types:
            slots = (self._pointers.get(base + offset) for offset in _CONSTRUCTORS)
            functions = tuple(f for f in slots if isinstance(f, int) and self._image.is_code(f))
            if functions:
                found[base] = functions
        return found

    def _all(self) -> Iterator[Method]:
        pointers, image = self._pointers, self._image
        rows: dict[int, tuple[str, int]] = {}
        properties: dict[int, tuple[str, int | None, int | None]] = {}
        rust: list[tuple[str, int]] = []
        functions = self._functions
        for at, value in pointers.items():
            if at in functions or not isinstance(value, int):
                continue
            is_next, is_after = at + 8 in functions, at + 16 in functions
            if not is_next and not is_after and at - 8 not in functions:
                continue
            function, after = pointers.get(at + 8), pointers.get(at + 16)
            if is_next and after is None:
                assert isinstance(function, int)
                flags = image.word(at + 16)
                if at + 24 in functions:
                    name = image.identifier(value)
                    if name is not None:
                        yield Method("lib", name, function, in_class=True)
                    continue
                if 0 < flags < _FLAGS and flags & _HOW:
                    name = image.identifier(value)
                    if name is not None:
                        rows[at] = name, function
                        continue
            if at - 8 in functions and function is None and 0 < image.word(at + 8) < 130:
                before = pointers[at - 8]
                name = image.identifier(value)
                flags = image.word(at + 32)
                if name is not None and image.word(at + 8) == len(name) + 1 and 0 < flags < _FLAGS:
                    assert isinstance(before, int)
                    rust.append((name, before))
                    continue
            if (is_next or is_after) and at not in rows:
                if at + 24 not in functions and all(
                    one is None or place in functions
                    for one, place in ((function, at + 8), (after, at + 16))
                ):
                    name = image.identifier(value)
                    if name is not None:
                        properties[at] = (
                            name,
                            function if isinstance(function, int) else None,
                            after if isinstance(after, int) else None,
                        )
        yield from self._in_tables(rows)
        yield from self._properties(properties)
        yield from self._slots()
        known = {function for _, function in rows.values()}
        for name, function in rust:
            if function not in known:
                yield Method(
                    self._rust_owner(function), name, function, is_rust=True, in_class=True
                )

    def _in_tables(self, rows: dict[int, tuple[str, int]]) -> Iterator[Method]:
        for head in sorted(rows):
            if head - _METHOD in rows:
                continue
            owner, in_class = self._owner(head)
            at = head
            while at in rows:
                name, function = rows[at]
                if owner:
                    yield Method(owner, name, function, in_class=in_class)
                else:
                    yield self._alone(name, function)
                at += _METHOD

    def _owner(self, head: int) -> tuple[str, bool]:
        """Return the type or the module that a table of methods belongs to."""
        for at in self._back.get(head, ()):
            if self._is_type(at - _TYPE_METHODS):
                return self._types[at - _TYPE_METHODS], True
            name = self._image.dotted(self._pointers.get(at + _MODULE_NAME))
            size = self._image.word(at - 8)
            if (
                name
                and at - 8 not in self._pointers
                and (size < 1 << 24 or size >> 32 == 0xFFFFFFFF)
            ):
                return name, False
            if at - 8 not in self._pointers and self._image.word(at - 8) == _SLOT_METHODS:
                name = self._spec(at - 8)
                if name:
                    return name, True
        return "", False

    def _is_type(self, base: int) -> bool:
        if base in self._types:
            return True
        # The head of a static type: a reference count, a pointer to its type, no items.
        if {base, base + 16} & self._pointers.keys() or self._image.word(base + 16):
            return False
        if not self._image.word(base):
            return False
        name = self._image.dotted(self._pointers.get(base + _TYPE_NAME))
        if not name or self._image.word(base + _TYPE_SIZE) >= 1 << 20:
            return False
        self._types[base] = name
        return True

    def _spec(self, slot: int) -> str | None:
        """Return the type whose array of slots contains an address (``PyType_Spec``)."""
        image = self._image
        for _ in range(128):
            if not 0 < image.word(slot - 16) < 100 or slot - 16 in self._pointers:
                break
            slot -= 16
        for at in self._back.get(slot, ()):
            name = image.dotted(self._pointers.get(at - 24))
            if name:
                self._specs[slot] = name
                return name
        return None

    def _properties(
        self, properties: dict[int, tuple[str, int | None, int | None]]
    ) -> Iterator[Method]:
        for head in properties:
            if head - _GETSET in properties:
                continue
            owner = None
            for at in self._back.get(head, ()):
                if self._is_type(at - _TYPE_GETSET):
                    owner = self._types[at - _TYPE_GETSET]
                elif at - 8 not in self._pointers and self._image.word(at - 8) == _SLOT_GETSET:
                    owner = self._spec(at - 8)
                if owner:
                    break
            at = head
            while owner and at in properties:
                name, getter, setter = properties[at]
                for function in (getter, setter):
                    if function is not None:
                        yield Method(owner, name, function, in_class=True)
                at += _GETSET

    def _slots(self) -> Iterator[Method]:
        image, pointers = self._image, self._pointers
        for base, owner in self._types.items():
            for offset, name in _TYPE_SLOTS.items():
                function = pointers.get(base + offset)
                if isinstance(function, int) and image.is_code(function):
                    yield Method(owner, name, function, in_class=True)
            for offset, inner, name in _TABLE_SLOTS:
                table = pointers.get(base + offset)
                function = pointers.get(table + inner) if isinstance(table, int) else None
                if isinstance(function, int) and image.is_code(function):
                    yield Method(owner, name, function, in_class=True)
        for slot, owner in self._specs.items():
            for at in range(slot, slot + 16 * 128, 16):
                number = image.word(at)
                if not 0 < number < 100:
                    break
                function = pointers.get(at + 8)
                if number in _SLOTS and isinstance(function, int) and image.is_code(function):
                    yield Method(owner, _SLOTS[number], function, in_class=True)

    def _alone(self, name: str, function: int) -> Method:
        """Return a definition without a table, as Cython writes them for functions and classes.

        Its qualified name is in the traceback entry that the function adds.
        """
        ending = f".{name}"
        todo, seen = [function], {function}
        while todo and len(seen) < 40:
            one = scanning.read(self._image, todo.pop(0))
            for address in one.data:
                text = self._image.dotted(address)
                if text and text.endswith(ending):
                    owner = text[: -len(ending)]
                    return Method(owner, name, function, in_class=_names_class(owner))
            for call in one.calls:
                if isinstance(call.target, int) and call.target not in seen:
                    seen.add(call.target)
                    if call.target in self._image.functions:
                        todo.append(call.target)
        return Method("", name, function)

    def _rust_owner(self, function: int) -> str:
        """Return the type of a PyO3 method, if the symbol of its wrapper was kept."""
        image = self._image
        for address in (function, *scanning.read(image, function).data):
            symbol = image.name(address) or ""
            head = re.sub(r"\d+_?__pymethod_.*", "", symbol)
            if head == symbol:
                continue
            for length in range(1, min(len(head), 60)):
                name = head[-length:]
                # Mangled names follow their length.
                if name[0].isupper() and head[:-length].endswith(str(length)):
                    return name
        return ""


def _names_class(owner: str) -> bool:
    return owner.rpartition(".")[2][:1].isupper()
