"""ELF images (System V ABI, gABI chapter 4): segments, relocations, symbols and functions.

A file is untrusted input: every offset is checked, every table has a limit, and a violation
raises `NotReadError`.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.native.code import BasicBlock, Code

X86_64, AARCH64 = 62, 183
"""``e_machine`` of the two supported architectures."""
LARGEST = 160 << 20
"""The largest file that is read, in bytes."""
_MOST_ROWS = 1_000_000
"""The limit of rows in a file's tables, such as relocations or symbols."""
_MOST_SECTIONS = 4096
_LONGEST_NAME = 4096
_RELA, _DYNAMIC, _RELR, _SYMTAB, _DYNSYM = 4, 6, 19, 2, 11
_PT_LOAD, _PT_EH_FRAME = 1, 0x6474E550
_DT_NEEDED, _DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 15, 29
_EXECUTABLE, _WRITABLE = 1, 2
_SHF_EXECINSTR = 4
_FUNCTIONS = (2, 10)
"""``STT_FUNC`` and ``STT_GNU_IFUNC``."""
_ADDRESS_RELOCATIONS = {
    X86_64: (frozenset({8, 37}), frozenset({1, 6, 7}), 1),
    AARCH64: (frozenset({1027, 1032}), frozenset({257, 1025, 1026}), 257),
}
"""By machine: relative types, types that name a symbol, and the one of these with an addend."""
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{0,127}\0")
_DOTTED = re.compile(rb"[A-Za-z_][A-Za-z0-9_.]{0,255}\0")


class NotReadError(Exception):
    """The file is not supported; the text gives the reason."""


class Segment(NamedTuple):
    """A part of the file that is mapped into memory."""

    start: int
    end: int
    """The address after the last byte that the file holds."""
    offset: int
    top: int
    """The address after the last byte in memory, zeros included."""
    is_code: bool
    is_writable: bool


class _Section(NamedTuple):
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


class Image:
    """One ELF file.

    Args:
        data: All of its bytes.

    Raises:
        NotReadError: for anything but a whole 64-bit little-endian shared object of x86-64 or
            aarch64 with section headers.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._left = _MOST_ROWS
        self._code_left = _MOST_CODE
        self.codes: dict[int, Code] = {}
        self.blocks: dict[int, dict[int, BasicBlock]] = {}
        """By a function's start, what was found in its code."""
        try:
            self._read()
        except (struct.error, IndexError, ValueError, OverflowError) as error:
            raise NotReadError(f"damaged: {error}") from None

    def _read(self) -> None:
        data = self.data
        if data[:4] != b"\x7fELF":
            raise NotReadError("not an ELF file")
        if data[4:6] != b"\x02\x01":
            raise NotReadError("not 64-bit little-endian")
        kind, self.machine = struct.unpack_from("<HH", data, 16)
        if self.machine not in _ADDRESS_RELOCATIONS:
            raise NotReadError(f"machine {self.machine} is neither x86-64 nor aarch64")
        if kind != 3:
            raise NotReadError("not a shared object")
        self._read_segments()
        sections = self._sections()
        if not sections:
            raise NotReadError("no section headers")
        # Linkers may put strings into the segment of the code: sections distinguish them.
        self.code: tuple[tuple[int, int], ...] = tuple(
            (one.address, one.address + one.size) for one in sections if one.flags & _SHF_EXECINSTR
        ) or tuple((one.start, one.end) for one in self.segments if one.is_code)
        self._code_start = min(low for low, _ in self.code) if self.code else 0
        self._code_end = max(high for _, high in self.code) if self.code else 0
        self._read_dynamic(sections)
        self._read_symbols(sections)
        self._read_relocations(sections)
        self._read_functions()
        self._read_stubs(sections)

    # -- tables

    def _read_segments(self) -> None:
        (offset,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        if size < 56:
            raise NotReadError("damaged: program headers")
        segments = []
        self._eh_frame = 0
        for at in range(offset, offset + size * count, size):
            kind, flags, start, address, _, filed, memory, _ = struct.unpack_from(
                "<IIQQQQQQ", self.data, at
            )
            if kind == _PT_LOAD:
                if start + filed > len(self.data):
                    raise NotReadError("damaged: shorter than its segments")
                segments.append(
                    Segment(
                        address,
                        address + filed,
                        start,
                        address + max(memory, filed),
                        bool(flags & _EXECUTABLE),
                        bool(flags & _WRITABLE),
                    )
                )
            elif kind == _PT_EH_FRAME:
                self._eh_frame = address
        self.segments = tuple(segments)

    def _sections(self) -> list[_Section]:
        (offset,) = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        if not offset or not count or size < 64 or count > _MOST_SECTIONS:
            return []
        rows = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, at)
            for at in range(offset, offset + size * count, size)
        ]
        strings = rows[names][4]
        return [_Section(self._name(strings + row[0]), row[1], *row[2:7]) for row in rows]

    def _name(self, offset: int) -> str:
        end = self.data.find(b"\0", offset, offset + _LONGEST_NAME)
        return self.data[offset:end].decode("latin-1") if end >= 0 else ""

    def _rows(self, section: _Section, form: str) -> list[tuple[int, ...]]:
        return list(struct.iter_unpack(form, self._whole_rows(section, struct.calcsize(form))))

    def _words(self, section: _Section, size: int) -> tuple[int, ...]:
        """Return the 64-bit numbers of a section whose rows have a size in bytes."""
        blob = self._whole_rows(section, size)
        return struct.unpack(f"<{len(blob) // 8}Q", blob)

    def _whole_rows(self, section: _Section, size: int) -> bytes:
        """Return the bytes of the rows of a section that the file has as a whole."""
        self._left -= section.size // size
        if self._left < 0:  # sections may overlap: their sum is limited
            raise NotReadError(f"too large: {section.name}")
        blob = self.data[section.offset : section.offset + section.size // size * size]
        return blob[: len(blob) // size * size]

    def _read_dynamic(self, sections: list[_Section]) -> None:
        self.needed: list[str] = []
        self.run_paths: list[str] = []
        for section in sections:
            if section.type != _DYNAMIC:
                continue
            rows = self._rows(section, "<qQ")
            strings = next((value for tag, value in rows if tag == _DT_STRTAB), 0)
            base = self.offset(strings) or 0
            for tag, value in rows:
                if tag == _DT_NEEDED:
                    self.needed.append(self._name(base + value))
                elif tag in (_DT_RPATH, _DT_RUNPATH):
                    self.run_paths += self._name(base + value).split(":")

    def _read_symbols(self, sections: list[_Section]) -> None:
        self._dynamic: list[tuple[str, int]] = []
        self.exports: dict[str, int] = {}
        """By name, the functions and data that other files may use."""
        self._named: dict[int, int] = {}
        """By address, the offsets of the names of functions, if the file keeps them."""
        for section in sections:
            if section.type not in (_DYNSYM, _SYMTAB):
                continue
            strings = sections[section.link].offset
            # The first word has the name, the type and the section, the second the address. Files
            # have millions of rows: loops that the interpreter runs fast save a fifth of the time.
            words = self._words(section, 24)
            rows = list(zip(words[::3], words[1::3], strict=True))
            if section.type == _DYNSYM:
                for head, value in rows:
                    name = self._name(strings + (head & 0xFFFFFFFF))
                    defined = head >> 48
                    self._dynamic.append((name, value if defined else 0))
                    if defined and value:
                        self.exports.setdefault(name, value)
            found = {  # of several names, the first
                value: strings + (head & 0xFFFFFFFF)
                for head, value in reversed(rows)
                if value and head >> 48 and head >> 32 & 15 in _FUNCTIONS
            }
            self._named = {**found, **self._named}

    def name(self, address: int) -> str | None:
        """Return the name of the function at an address, None if the file does not keep it."""
        offset = self._named.get(address)
        return self._name(offset) if offset is not None else None

    def _read_relocations(self, sections: list[_Section]) -> None:
        relative, named, absolute = _ADDRESS_RELOCATIONS[self.machine]
        self.relocations: dict[int, int | str] = {}
        """By address of a pointer: the address in this file, or the name of the import."""
        found = self.relocations
        symbols = self._dynamic
        for section in sections:
            if section.type == _RELA:
                words = self._words(section, 24)
                rows = list(zip(words[::3], words[1::3], words[2::3], strict=True))
                found.update((at, addend) for at, info, addend in rows if info in relative)
                for at, info, addend in rows:
                    kind = info & 0xFFFFFFFF
                    if info not in relative and kind in named and info >> 32 < len(symbols):
                        name, value = symbols[info >> 32]
                        if value and not name.startswith(("Py", "_Py")):
                            signed = addend - (1 << 64) if addend >> 63 else addend
                            found[at] = value + (signed if kind == absolute else 0)
                        elif name:
                            found[at] = name
            elif section.type == _RELR:
                self._read_packed(section)
        if len(found) > _MOST_ROWS:
            raise NotReadError("too large: relocations")

    def _read_packed(self, section: _Section) -> None:
        """Read relative relocations from addresses and bitmaps (gABI proposal ``SHT_RELR``)."""
        base = 0
        for (word,) in self._rows(section, "<Q"):
            if not word & 1:
                self.relocations[word] = self.word(word)
                base = word + 8
                continue
            for bit in range(63):
                if word >> (bit + 1) & 1:
                    self.relocations[base + 8 * bit] = self.word(base + 8 * bit)
            base += 8 * 63
            if len(self.relocations) > _MOST_ROWS:
                raise NotReadError("too large: relocations")

    def _read_functions(self) -> None:
        """Find the starts of functions, in the symbols and in the unwinder's table."""
        known = sorted(self._named)
        starts: set[int] = set()
        for low, high in self.code:
            starts.update(known[bisect_left(known, low) : bisect_left(known, high)])
        offset = self.offset(self._eh_frame) if self._eh_frame else None
        if offset is not None and self.data[offset : offset + 4] == b"\x01\x1b\x03\x3b":
            (count,) = struct.unpack_from("<I", self.data, offset + 8)
            if count > _MOST_ROWS:
                raise NotReadError("too large: functions")
            rows = self.data[offset + 12 : offset + 12 + 8 * count]
            base = self._eh_frame
            starts.update(base + pc for pc, _ in struct.iter_unpack("<ii", rows))
        self._starts = sorted(starts)
        self.functions = starts

    def _read_stubs(self, sections: list[_Section]) -> None:
        """Read the procedure linkage table."""
        self.stubs: dict[int, int | str] = {}
        """By address of a stub, its target."""
        ranges = []
        for section in sections:
            if not section.name.startswith((".plt", ".iplt")):
                continue
            self._left -= section.size // 16
            if self._left < 0:
                raise NotReadError("too large: stubs")
            blob = self.data[section.offset : section.offset + section.size]
            if self.machine == X86_64:
                step = 8 if section.name == ".plt.got" else 16
                for match in re.finditer(rb"\xff\x25(....)", blob, re.DOTALL):
                    slot = section.address + match.end() + struct.unpack("<i", match[1])[0]
                    if slot in self.relocations:
                        at = match.start() // step * step
                        self.stubs[section.address + at] = self.relocations[slot]
            else:
                self._read_stubs_aarch64(section.address, blob)
            ranges.append((section.address, section.address + section.size))
        for low, high in ranges[:8]:
            self.functions = {at for at in self.functions if not low <= at < high}
        self._starts = sorted(self.functions)

    def _read_stubs_aarch64(self, address: int, blob: bytes) -> None:
        """Read stubs such as ``adrp x16, page; ldr x17, [x16, offset]; add …; br x17``."""
        count = len(blob) // 4
        words = struct.unpack(f"<{count}I", blob[: 4 * count])
        for at in range(count - 1):
            page, load = words[at], words[at + 1]
            if page & 0x9F00001F == 0x90000010 and load & 0xFFC003FF == 0xF9400211:
                pc = address + 4 * at
                slot = page_of(page, pc) + ((load >> 10 & 0xFFF) << 3)
                if slot in self.relocations:
                    self.stubs[pc] = self.relocations[slot]
                    if at and words[at - 1] == 0xD503245F:  # bti c
                        self.stubs[pc - 4] = self.relocations[slot]

    @cached_property
    def imports(self) -> frozenset[str]:
        """The names of imported functions and variables."""
        return frozenset(value for value in self.relocations.values() if isinstance(value, str))

    # -- memory

    def offset(self, address: int) -> int | None:
        """Return the offset of an address in the file; None if the file does not contain it."""
        for one in self.segments:
            if one.start <= address < one.end:
                return address - one.start + one.offset
        return None

    def word(self, address: int) -> int:
        """Return the 64-bit number at an address, 0 if the file contains none."""
        offset = self.offset(address)
        if offset is None or offset + 8 > len(self.data):
            return 0
        return int.from_bytes(self.data[offset : offset + 8], "little")

    def identifier(self, address: object) -> str | None:
        """Return the C string at an address if it is a Python identifier."""
        return self._matched(_IDENTIFIER, address)

    def dotted(self, address: object) -> str | None:
        """Return the C string at an address if it is a dotted name."""
        return self._matched(_DOTTED, address)

    def _matched(self, pattern: re.Pattern[bytes], address: object) -> str | None:
        if not isinstance(address, int):
            return None
        offset = self.offset(address)
        if offset is None:
            return None
        match = pattern.match(self.data, offset)
        return match[0][:-1].decode() if match else None

    def starts_with(self, address: int, prefix: bytes) -> bool:
        """Return whether the bytes at an address start with a prefix."""
        offset = self.offset(address)
        return offset is not None and self.data.startswith(prefix, offset)

    def is_code(self, address: object) -> bool:
        """Return whether an address is executable."""
        if not isinstance(address, int) or not self._code_start <= address < self._code_end:
            return False
        for low, high in self.code:  # noqa: SIM110 - called for each pointer of a file
            if low <= address < high:
                return True
        return False

    def is_writable(self, address: int) -> bool:
        """Return whether an address holds variables, including those that start as zeros."""
        return any(one.is_writable and one.start <= address < one.top for one in self.segments)

    # -- functions

    def body(self, start: int) -> bytes:
        """Return the machine code from a function's start to the next one's."""
        at = bisect_right(self._starts, start)
        end = self._starts[at] if at < len(self._starts) else start + _LAST
        end = min(end, start + _LONGEST_BODY)
        for one in self.segments:
            if one.start <= start < one.end:
                offset = start - one.start + one.offset
                body = self.data[offset : offset + min(end, one.end) - start]
                self._code_left -= len(body)
                return body if self._code_left >= 0 else b""
        return b""

    def starts(self) -> list[int]:
        """Return the starts of the functions, in order."""
        return self._starts


_LONGEST_BODY = 1 << 20
_MOST_CODE = 256 << 20
"""The limits in bytes of one function, and of all reads together."""
_LAST = 4096
"""The limit in bytes of a function without a successor."""


def page_of(instruction: int, pc: int) -> int:
    """Return the page that an ``adrp`` of aarch64 at `pc` gives."""
    page = (instruction >> 5 & 0x7FFFF) << 2 | instruction >> 29 & 3
    if page & 1 << 20:
        page -= 1 << 21
    return (pc & ~0xFFF) + (page << 12)
