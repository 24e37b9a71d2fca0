"""Calls in aarch64 code (Arm ARM DDI 0487, C6.2: BL, B, BLR, BR, ADRP, ADD, LDR, STR, STP)."""

from __future__ import annotations

import re
import struct
from typing import TypeVar

from gblock.native.code import BRANCH, END, JUMP, SWITCH, Code, MachineCall, Pointer, Turn
from gblock.native.image import page_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.native.image import Image

_Known = TypeVar("_Known")
_MARKS = re.compile(rb"[\x14-\x17\x94-\x97\xd6\x90\xb0\xd0\xf0\x91\xf9\xaa]", re.DOTALL)
"""The highest byte of the instructions that matter."""
_STORES = re.compile(rb"[\x90\xb0\xd0\xf0\x91\xf9\xa9]", re.DOTALL)


def _words(body: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(body) // 4}I", body[: len(body) // 4 * 4])


def scan(image: Image, start: int) -> Code:
    """Return the calls of the function at `start`, and the addresses that it takes."""
    body = image.body(start)
    words = _words(body)
    functions, stubs, relocations = image.functions, image.stubs, image.relocations
    calls: list[MachineCall] = []
    data: list[int] = []
    imports: list[str] = []
    pages: dict[int, int] = {}
    slots: dict[int, int] = {}
    loads: dict[int, tuple[int, int]] = {}
    for match in _MARKS.finditer(body[3 : len(words) * 4 : 4]):
        index = match.start()
        word = words[index]
        pc = start + 4 * index
        register = word & 31
        if word & 0x7C000000 == 0x14000000:  # bl, b
            distance = word & 0x3FFFFFF
            if distance & 1 << 25:
                distance -= 1 << 26
            target = pc + 4 * distance
            is_call = bool(word & 0x80000000)
            if target in stubs or (target in functions and (is_call or target != start)):
                calls.append(MachineCall(stubs.get(target, target), is_call, pc))
            if is_call:
                for changed in range(18):
                    pages.pop(changed, None)
                    slots.pop(changed, None)
                    loads.pop(changed, None)
        elif word & 0x9F000000 == 0x90000000:  # adrp
            pages[register] = page_of(word, pc)
            slots.pop(register, None)
            loads.pop(register, None)
        elif word & 0xFF800000 == 0x91000000:  # add register, base, immediate
            base = pages.get(word >> 5 & 31)
            slots.pop(register, None)
            loads.pop(register, None)
            if base is None:
                pages.pop(register, None)
            else:
                address = base + ((word >> 10 & 0xFFF) << (12 if word & 0x400000 else 0))
                data.append(address)
                pages[register] = address
        elif word & 0xFFC00000 == 0xF9400000:  # ldr register, [base, offset]
            base_register, offset = word >> 5 & 31, (word >> 10 & 0xFFF) << 3
            base = pages.get(base_register)
            before = loads.get(base_register)
            inner = slots.get(base_register)
            pages.pop(register, None)
            slots.pop(register, None)
            loads.pop(register, None)
            if base is not None:
                slots[register] = base + offset
                value = relocations.get(base + offset)
                if isinstance(value, int):
                    data.append(value)
                elif value is not None:
                    imports.append(value)
            elif inner is not None:
                loads[register] = (-inner, offset)
            else:
                loads[register] = (before[1] if before is not None else -1, offset)
        elif word & 0xFFDFFC1F == 0xD61F0000:  # br, blr
            called = word >> 5 & 31
            returns = bool(word & 0x200000)
            if called in slots and slots[called] in relocations:
                calls.append(MachineCall(relocations[slots[called]], returns, pc))
            elif called in slots:
                calls.append(MachineCall(Pointer(None, None, slots[called]), returns, pc))
            elif called in loads:
                table, slot = loads[called]
                pointer = Pointer(None, slot, -table) if table < -1 else Pointer(table, slot)
                calls.append(
                    MachineCall(pointer if table != -1 else Pointer(None, slot), returns, pc)
                )
            elif returns:
                calls.append(MachineCall(Pointer(None, None), True, pc))
        elif word & 0xFFE0FFE0 == 0xAA0003E0:  # mov register, other
            other = word >> 16 & 31
            _copied(pages, register, other)
            _copied(slots, register, other)
            _copied(loads, register, other)
    return Code(tuple(calls), tuple(data), tuple(imports))


def _copied(known: dict[int, _Known], register: int, other: int) -> None:
    """Record that a register holds the value of another one."""
    if other in known:
        known[register] = known[other]
    else:
        known.pop(register, None)


def stores(image: Image, start: int) -> dict[int, int]:
    """Return the addresses that a function writes to variables, by the variable's address."""
    body = image.body(start)
    words = _words(body)
    known: dict[int, int] = {}
    found: dict[int, int] = {}
    for match in _STORES.finditer(body[3 : len(words) * 4 : 4]):
        index = match.start()
        word = words[index]
        register, base = word & 31, known.get(word >> 5 & 31)
        if word & 0x9F000000 == 0x90000000:
            known[register] = page_of(word, start + 4 * index)
        elif word & 0xFF800000 == 0x91000000:
            if base is None:
                known.pop(register, None)
            else:
                known[register] = base + ((word >> 10 & 0xFFF) << (12 if word & 0x400000 else 0))
        elif word & 0xFFC00000 == 0xF9400000:
            value = None if base is None else image.relocations.get(base + (word >> 7 & 0x7FF8))
            if isinstance(value, int):
                known[register] = value
            else:
                known.pop(register, None)
        elif base is not None and word & 0xFFC00000 == 0xF9000000:
            if register in known:
                found[base + (word >> 7 & 0x7FF8)] = known[register]
        elif base is not None and word & 0xFFC00000 == 0xA9000000:
            step = word >> 15 & 0x7F
            address = base + 8 * (step - 128 if step & 0x40 else step)
            for at, one in ((address, register), (address + 8, word >> 10 & 31)):
                if one in known:
                    found[at] = known[one]
    return {at: value for at, value in found.items() if image.is_writable(at)}


_TURNS = re.compile(rb"[\x14-\x17\x34-\x37\x54\xb4-\xb7\xd6\xd4]", re.DOTALL)


def turns(body: bytes, start: int) -> list[Turn]:
    """Return the jumps and the ends of a function."""
    words = _words(body)
    found: list[Turn] = []
    for match in _TURNS.finditer(body[3 : len(words) * 4 : 4]):
        index = match.start()
        word, at = words[index], start + 4 * index
        high = word >> 24
        if word & 0xFC000000 == 0x14000000:  # b
            kind, distance, bits = JUMP, word & 0x3FFFFFF, 26
        elif high == 0x54 or high & 0x7E == 0x34:  # b.cond, cbz, cbnz
            kind, distance, bits = BRANCH, word >> 5 & 0x7FFFF, 19
        elif high & 0x7E == 0x36:  # tbz, tbnz
            kind, distance, bits = BRANCH, word >> 5 & 0x3FFF, 14
        elif word & 0xFFFFFC1F == 0xD61F0000:  # br
            found.append(Turn(at, at + 4, SWITCH))
            continue
        elif word & 0xFFFFFC1F == 0xD65F0000 or word & 0xFFE0001F == 0xD4200000:  # ret, brk
            found.append(Turn(at, at + 4, END))
            continue
        else:
            continue
        if distance >> (bits - 1):
            distance -= 1 << bits
        found.append(Turn(at, at + 4, kind, at + 4 * distance))
    return found
