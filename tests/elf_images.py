"""Extension modules made of bytes: tables, code and symbols as a linker would lay them out."""

from __future__ import annotations

import struct

CODE, DATA = 0x1000, 0x4000
"""Addresses of an image's code and writable data, in memory and in the file."""


X86_64, AARCH64 = 62, 183


class Module:
    """An ELF image with functions, strings, pointers and imports.

    Functions are written as lists: a string calls an import, a number calls the function of that
    number, bytes stand for themselves.
    """

    def __init__(self, machine=X86_64):
        self.machine = machine
        self.functions = []
        self.names = []
        self.imports = []
        self.data = bytearray(0x100)
        self.relocations = []
        self.needed = []

    def function(self, name, *parts):
        self.names.append(name)
        self.functions.append(parts)
        return len(self.functions) - 1

    def slot(self, name):
        """The address of the pointer to an import."""
        if name not in self.imports:
            self.imports.append(name)
        return DATA + 8 * self.imports.index(name)

    def address(self, number):
        """The address of a function, once all are there."""
        return CODE + 64 * number

    def string(self, text):
        at = DATA + len(self.data)
        self.data += text.encode() + b"\0"
        self.data += bytes(-len(self.data) % 8)
        return at

    def words(self, *values):
        """A table: numbers stand for themselves, tuples with one number are addresses."""
        at = DATA + len(self.data)
        for value in values:
            if isinstance(value, tuple):
                self.relocations.append((DATA + len(self.data), 0, 0, value[0]))
                value = 0
            self.data += struct.pack("<Q", value)
        return at

    def methods(self, *rows, owner="", is_type=True):
        """A table of ``PyMethodDef`` and the type or the module that it belongs to."""
        words = []
        for name, number in rows:
            words += [(self.string(name),), (self.address(number),), 1, 0]
        table = self.words(*words, 0, 0, 0, 0)
        if not owner:
            return table
        name = self.string(owner)
        if is_type:
            head = self.words(1, 0, 0, (name,), 64)
            self.words(*[0] * ((232 - 40) // 8), (table,))
            return head
        return self.words((name,), 0, 0xFFFFFFFFFFFFFFFF, (table,))

    def _body(self, number):
        code = bytearray()
        for part in self.functions[number]:
            at = self.address(number) + len(code)
            if self.machine == AARCH64 and not isinstance(part, bytes):
                code += self._aarch64(part, at)
            elif isinstance(part, str):
                code += b"\xff\x15" + struct.pack("<i", self.slot(part) - at - 6)
            elif isinstance(part, int):
                code += b"\xe8" + struct.pack("<i", self.address(part) - at - 5)
            else:
                code += part
        code += b"\xc3" if self.machine == X86_64 else struct.pack("<I", 0xD65F03C0)
        assert len(code) <= 64, self.names[number]
        return bytes(code).ljust(64, b"\x90")

    def _aarch64(self, part, at):
        if isinstance(part, int):  # bl
            return struct.pack("<I", 0x94000000 | (self.address(part) - at) // 4 & 0x3FFFFFF)
        slot = self.slot(part)
        page = (slot >> 12) - (at >> 12)
        return struct.pack(
            "<III",
            0x90000010 | (page & 3) << 29 | (page >> 2) << 5,  # adrp x16, page
            0xF9400210 | (slot & 0xFFF) >> 3 << 10,  # ldr x16, [x16, offset]
            0xD63F0200,  # blr x16
        )

    def image(self):
        """The bytes of the file."""
        code = b"".join(self._body(number) for number in range(len(self.functions)))
        assert len(code) <= DATA - CODE
        strings = bytearray(b"\0")
        offsets = {}
        for name in (*self.imports, *self.names, *self.needed):
            offsets[name] = len(strings)
            strings += name.encode() + b"\0"
        symbols = bytearray(24)
        for name in self.imports:
            symbols += struct.pack("<IBBHQQ", offsets[name], 0x12, 0, 0, 0, 0)
        for number, name in enumerate(self.names):
            symbols += struct.pack("<IBBHQQ", offsets[name], 0x12, 0, 1, self.address(number), 64)
        named, relative = (6, 8) if self.machine == X86_64 else (1025, 1027)
        rows = [(DATA + 8 * at, named, at + 1, 0) for at in range(len(self.imports))]
        rela = b"".join(
            struct.pack("<QQq", at, index << 32 | (kind or relative), addend)
            for at, kind, index, addend in (*rows, *self.relocations)
        )
        data = bytes(self.data)
        read_only = DATA + len(data)
        dynstr = read_only + len(symbols)
        relocs = dynstr + len(strings)
        relocs += -relocs % 8
        dynamic = b"".join(struct.pack("<qQ", 1, offsets[name]) for name in self.needed)
        dynamic += struct.pack("<qQqQ", 5, dynstr, 0, 0)
        dyn_at = relocs + len(rela)
        names = b"\0.dynsym\0.dynstr\0.rela.dyn\0.dynamic\0.shstrtab\0"
        names_at = dyn_at + len(dynamic)
        end = names_at + len(names)
        end += -end % 8
        sections = [
            (0, 0, 0, 0, 0, 0),
            (1, 11, read_only, read_only, len(symbols), 2),
            (9, 3, dynstr, dynstr, len(strings), 0),
            (17, 4, relocs, relocs, len(rela), 1),
            (27, 6, dyn_at, dyn_at, len(dynamic), 2),
            (36, 3, 0, names_at, len(names), 0),
        ]
        header = b"\x7fELF\x02\x01\x01" + bytes(9)
        header += struct.pack(
            "<HHIQQQIHHHHHH", 3, self.machine, 1, 0, 64, end, 0, 64, 56, 2, 64, 6, 5
        )
        segments = struct.pack("<IIQQQQQQ", 1, 5, CODE, CODE, CODE, len(code), len(code), 4096)
        size = names_at - DATA
        segments += struct.pack("<IIQQQQQQ", 1, 6, DATA, DATA, DATA, size, size + 64, 4096)
        out = bytearray(end)
        out[: len(header) + len(segments)] = header + segments
        out[CODE : CODE + len(code)] = code
        out[DATA:read_only] = data
        out[read_only:dynstr] = symbols
        out[dynstr : dynstr + len(strings)] = strings
        out[relocs:dyn_at] = rela
        out[dyn_at:names_at] = dynamic
        out[names_at : names_at + len(names)] = names
        for name, kind, address, offset, size, link in sections:
            out += struct.pack("<IIQQQQIIQQ", name, kind, 0, address, offset, size, link, 0, 8, 0)
        return bytes(out)


RELEASE, TAKE = "PyEval_SaveThread", "PyEval_RestoreThread"
