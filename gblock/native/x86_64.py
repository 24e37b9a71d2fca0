"""Calls in x86-64 code (Intel SDM, volume 2: opcodes E8, E9, 0F 8x, FF /2, FF /4, 8B, 8D)."""

from __future__ import annotations

import re
from bisect import bisect_right
from struct import Struct

from gblock.native.code import BRANCH, END, JUMP, SWITCH, Code, MachineCall, Pointer, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gblock.native.image import Image

_RELATIVE = rb"[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]"
"""ModRM bytes of ``[rip + disp32]``."""
_MARKS = re.compile(
    # A set of first bytes lets `re` skip everything else quickly.
    rb"[\xe8\xe9\x0f\xff\x48\x4c](?:(?<=[\x48\x4c])[\x8b\x8d]" + _RELATIVE + rb"|(?<=[\xe8\xe9])"
    rb"|(?<=\x0f)[\x80-\x8f]|(?<=\xff)[\x10-\x17\x20-\x27\x50-\x57\x60-\x67\x90-\x97\xa0-\xa7"
    rb"\xd0-\xd7\xe0-\xe7])",
    re.DOTALL,
)
_PACKED = rb"(?:(?<=\x66)\x44?\x0f|(?<=\x44)\x0f|(?<=\x0f))"
_STORES = re.compile(
    rb"[\x0f\x44\x48\x4c\x66\xf3](?:(?<=[\x48\x4c])(?:"
    rb"(\x8d" + _RELATIVE + rb"....)"  # lea r64, [rip + d]
    rb"|(\x8b" + _RELATIVE + rb"....)"  # mov r64, [rip + d]
    rb"|(\x89" + _RELATIVE + rb"....))"  # mov [rip + d], r64
    rb"|(?<=\x66)([\x48\x49\x4c\x4d]\x0f\x6e[\xc0-\xff])"  # movq xmm, r64
    rb"|(?<=\xf3)(\x44?\x0f\x7e" + _RELATIVE + rb"....)"  # movq xmm, [rip + d]
    rb"|(" + _PACKED + rb"\x16" + _RELATIVE + rb"....)"  # movhps xmm, [rip + d]
    rb"|(?<=\x66)([\x41\x44\x45]?\x0f\x6c[\xc0-\xff])"  # punpcklqdq xmm, xmm
    rb"|(?<=\x66)([\x48-\x4d]\x0f\x3a\x22[\xc0-\xff]\x01)"  # pinsrq xmm, r64, 1
    rb"|(" + _PACKED + rb"[\x28\x6f]" + _RELATIVE + rb"....)"  # movaps xmm, [rip + d]
    rb"|(" + _PACKED + rb"[\x29\x11\x7f]" + _RELATIVE + rb"....))",  # movaps [rip + d], xmm
    re.DOTALL,
)
_STORE = re.compile(
    rb"[\x48\x4c\x0f](?:(?<!\x0f)\x89|(?<=\x0f)[\x29\x11\x7f])" + _RELATIVE, re.DOTALL
)
"""A store to a variable, as the last part of `_STORES` spells it."""
_BACK = 48
"""The number of bytes before a call through a register that are searched for its load."""
_FRAME = 5
"""The register of the frame's address, ``rbp``, in code that is not optimized."""
_ENTRY = re.compile(rb"(\xf3\x0f\x1e\xfa)?\x55\x48\x89\xe5", re.DOTALL)
"""``push rbp; mov rbp, rsp``, after which ``rbp`` holds it."""
_INT = Struct("<i").unpack_from
_START = re.Match.start
_NEW = tuple.__new__
"""Makes a named tuple without the call of Python code that its class needs."""


def scan(image: Image, start: int) -> Code:
    """Return the calls of the function at `start`, and the addresses that it takes."""
    body = image.body(start)
    end = start + len(body)
    functions, stubs, relocations = image.functions, image.stubs, image.relocations
    calls: list[MachineCall] = []
    data: list[int] = []
    imports: list[str] = []
    loaded: dict[int, int] = {}
    last = len(body) - 4
    for at in map(_START, _MARKS.finditer(body)):
        first = body[at]
        if first == 0xE8 or first == 0xE9:
            if at + 1 > last:
                break
            target = start + at + 5 + _INT(body, at + 1)[0]
            if target in stubs:
                calls.append(_NEW(MachineCall, (stubs[target], first == 0xE8, start + at)))
            elif target in functions and (first == 0xE8 or target != start):
                calls.append(_NEW(MachineCall, (target, first == 0xE8, start + at)))
        elif first == 0x0F:
            if at + 2 <= last:
                target = start + at + 6 + _INT(body, at + 2)[0]
                if target in functions and not start <= target < end:
                    calls.append(MachineCall(target, False, start + at))
        elif first == 0xFF:
            called = _through(image, body, start, at, loaded)
            if called is not None:
                calls.append(MachineCall(called, not body[at + 1] & 0x20, start + at))
        elif at + 3 <= last:
            target = start + at + 7 + _INT(body, at + 3)[0]
            register = body[at + 2] >> 3 & 7 | (8 if first == 0x4C else 0)
            if body[at + 1] == 0x8D:
                data.append(target)
                loaded.pop(register, None)
            else:
                loaded[register] = target
                value = relocations.get(target)
                if isinstance(value, int):
                    data.append(value)
                elif value is not None:
                    imports.append(value)
    return Code(tuple(calls), tuple(data), tuple(imports))


def _through(
    image: Image, body: bytes, start: int, at: int, loaded: dict[int, int]
) -> int | str | Pointer | None:
    """Return the target of a call through a register or through memory."""
    mode = body[at + 1]
    if mode in (0x15, 0x25):
        if at + 6 > len(body):
            return None
        slot = start + at + 6 + _INT(body, at + 2)[0]
        if slot in image.relocations:
            return image.relocations[slot]
        # Only memory of the file is a variable: other bytes look like a call, too.
        return Pointer(None, None, slot) if image.is_writable(slot) else None
    returns = not mode & 0x20
    wide = 8 if at and body[at - 1] in (0x41, 0x49) else 0
    register = mode & 7 | wide
    if mode >= 0xC0:
        if register in loaded:
            slot = loaded[register]
            if slot in image.relocations:
                return image.relocations[slot]
            return Pointer(None, None, slot) if returns else None
        if not returns:  # most often the table of a switch
            return None
        found = _load(body, at - bool(wide), register)
        if found is None:
            return Pointer(None, None)
        table, slot, place = found
        if table == _FRAME and slot < 0 and _ENTRY.match(body):
            return Pointer(None, None)  # a variable of the function, such as an argument
        return _pointer(body, place, table, slot, loaded)
    if mode & 7 == 4:  # an index: the table of a switch, or an array of pointers
        return Pointer(None, None) if returns else None
    size = (0, 1, 4)[mode >> 6]
    if at + 2 + size > len(body):
        return None
    slot = int.from_bytes(body[at + 2 : at + 2 + size], "little", signed=True)
    return _pointer(body, at - bool(wide), register, slot, loaded)


def _pointer(body: bytes, at: int, register: int, slot: int, loaded: dict[int, int]) -> Pointer:
    """Return the origin of a pointer that was called as ``[register + slot]``."""
    found = _load(body, at, register)
    if found is not None:
        return Pointer(found[1], slot)
    if register in loaded:
        return Pointer(None, slot, loaded[register])
    return Pointer(None, slot)


def _load(body: bytes, at: int, register: int) -> tuple[int, int, int] | None:
    """Return the last ``mov register, [base + offset]`` before a place: base, offset, place."""
    wanted = register & 7
    prefixes = (0x4C, 0x4D) if register & 8 else (0x48, 0x49)
    for place in range(at - 3, max(at - _BACK, -1), -1):
        if body[place] not in prefixes or body[place + 1] != 0x8B:
            continue
        mode = body[place + 2]
        if mode >> 3 & 7 != wanted or mode & 7 == 4 or mode >= 0xC0:
            continue
        if mode & 0xC7 == 5:  # [rip + d]: `loaded` knows it
            return None
        base = mode & 7 | (8 if body[place] & 1 else 0)
        size = (0, 1, 4)[mode >> 6]
        offset = int.from_bytes(body[place + 3 : place + 3 + size], "little", signed=True)
        return base, offset, place
    return None


def storing(image: Image) -> Iterator[int]:
    """Yield the starts of the functions that write to variables."""
    starts, data = image.starts(), image.data
    for low, high in image.code:
        offset = image.offset(low)
        if offset is None:
            continue
        at, shift = low, offset - low
        while match := _STORE.search(data, at + shift, high + shift):
            index = bisect_right(starts, match.start() - shift)
            if index:
                yield starts[index - 1]
            if index == len(starts):
                break
            at = max(starts[index], at)


def stores(image: Image, start: int) -> dict[int, int]:
    """Return the addresses that a function writes to variables, by the variable's address.

    The initialization of a Cython module fills the tables of its classes this way, two pointers
    at a time if the compiler found them next to each other.
    """
    body = image.body(start)
    found: dict[int, int] = {}
    general: dict[int, int | None] = {}
    vector: dict[int, tuple[int | None, int | None]] = {}
    relocations = image.relocations
    for match in _STORES.finditer(body):
        at = match.end()
        kind = match.lastindex
        text = match[0]
        rex = next((byte for byte in text[:2] if 0x40 <= byte <= 0x4F), 0)
        if kind in (4, 7):
            mode = text[-1]
        elif kind == 8:
            mode = text[-2]
        else:
            mode = text[-5]
        register = mode >> 3 & 7 | (8 if rex & 4 else 0)
        other = mode & 7 | (8 if rex & 1 else 0)
        if kind in (4, 7, 8):
            if kind == 4:
                vector[register] = (general.get(other), None)
            else:
                low = vector.get(register, (None, None))[0]
                high = general.get(other) if kind == 8 else vector.get(other, (None,))[0]
                vector[register] = (low, high)
            continue
        address = start + at + _INT(text, len(text) - 4)[0]
        if kind == 1:
            general[register] = address
        elif kind == 2:
            general[register] = _held(relocations, address)
        elif kind == 3:
            value = general.get(register)
            if value is not None and image.is_writable(address):
                found[address] = value
        elif kind == 5:
            vector[register] = (_held(relocations, address), None)
        elif kind == 6:
            vector[register] = (vector.get(register, (None,))[0], _held(relocations, address))
        elif kind == 9:
            vector[register] = (_held(relocations, address), _held(relocations, address + 8))
        elif image.is_writable(address):
            for step, value in enumerate(vector.get(register, ())):
                if value is not None:
                    found[address + 8 * step] = value
    return found


def _held(relocations: dict[int, int | str], address: int) -> int | None:
    value = relocations.get(address)
    return value if isinstance(value, int) else None


# -- the lengths of instructions (Intel SDM, volume 2, appendix A)

_PREFIXES = frozenset(b"\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65\xf0")
_NO_MODE, _MODE, _MODE_8, _MODE_Z = 0, 1, 2, 3
_BYTE, _WORD, _FULL, _MOVE, _ENTER, _OFFSET, _TEST = 4, 5, 6, 7, 8, 9, 10


def _one_byte() -> bytes:
    table = bytearray(256)
    for at in range(0x40):
        table[at] = _MODE if at & 7 < 4 else (_BYTE, _FULL, 0, 0)[at & 3]
    for kind, codes in (
        (_MODE, [0x63, *range(0x84, 0x90), *range(0xD0, 0xD4), *range(0xD8, 0xE0), 0xFE, 0xFF]),
        (_MODE_8, [0x6B, 0x80, 0x82, 0x83, 0xC0, 0xC1, 0xC6]),
        (_MODE_Z, [0x69, 0x81, 0xC7]),
        (
            _BYTE,
            [0x6A, 0xA8, *range(0x70, 0x80), *range(0xB0, 0xB8), 0xCD, *range(0xE0, 0xE8), 0xEB],
        ),
        (_FULL, [0x68, 0xA9, 0xE8, 0xE9]),
        (_MOVE, range(0xB8, 0xC0)),
        (_WORD, [0xC2, 0xCA]),
        (_ENTER, [0xC8]),
        (_OFFSET, range(0xA0, 0xA4)),
        (_TEST, [0xF6, 0xF7]),
    ):
        for one in codes:
            table[one] = kind
    return bytes(table)


def _two_byte() -> bytes:
    table = bytearray([_MODE] * 256)
    plain = [*range(0x05, 0x0C), 0x0E, *range(0x30, 0x38), 0x77, *range(0xA0, 0xA3)]
    for one in (*plain, *range(0xA8, 0xAB), *range(0xC8, 0xD0)):
        table[one] = _NO_MODE
    for one in (0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6):
        table[one] = _MODE_8
    for one in range(0x80, 0x90):
        table[one] = _FULL
    return bytes(table)


_ONE, _TWO = _one_byte(), _two_byte()


def turns(body: bytes, start: int) -> list[Turn]:
    """Return the jumps and the ends of a function."""
    found: list[Turn] = []
    at, end = 0, len(body)
    body += bytes(24)  # an instruction that is cut off reads zeros
    while at < end:
        first = at
        byte = body[at]
        is_short = False
        while byte in _PREFIXES:
            is_short = is_short or byte == 0x66
            at += 1
            byte = body[at]
            if at - first > 14:
                break
        wide = False
        if byte & 0xF0 == 0x40:
            wide = bool(byte & 8)
            at += 1
            byte = body[at]
        at += 1
        full = 2 if is_short else 4
        if byte == 0x0F:
            byte = body[at]
            at += 1
            if byte == 0x38 or byte == 0x3A:
                at += 1
                kind = _MODE if byte == 0x38 else _MODE_8
            else:
                kind = _TWO[byte]
                if kind == _FULL:
                    at += 4
                    target = start + at + _INT(body, at - 4)[0]
                    found.append(Turn(start + first, start + at, BRANCH, target))
                    continue
                if byte == 0x0B:
                    found.append(Turn(start + first, start + at, END))
        elif byte == 0xC5 or byte == 0xC4 or byte == 0x62:  # VEX, EVEX
            opmap = 1 if byte == 0xC5 else body[at] & (0x1F if byte == 0xC4 else 7)
            at += {0xC5: 1, 0xC4: 2, 0x62: 3}[byte]
            opcode = body[at]
            at += 1
            kind = (_MODE_8 if opmap == 3 else _MODE) if opmap != 1 else _TWO[opcode]
            if kind == _FULL:
                kind = _MODE
        else:
            kind = _ONE[byte]
            if 0x70 <= byte < 0x80 or 0xE0 <= byte < 0xE4 or byte == 0xEB:
                at += 1
                distance = body[at - 1]
                target = start + at + (distance - 256 if distance & 0x80 else distance)
                found.append(
                    Turn(start + first, start + at, JUMP if byte == 0xEB else BRANCH, target)
                )
                continue
            if byte == 0xE9:
                at += 4
                target = start + at + _INT(body, at - 4)[0]
                found.append(Turn(start + first, start + at, JUMP, target))
                continue
            if byte in (0xC3, 0xC2, 0xCB, 0xF4):
                at += 2 if byte == 0xC2 else 0
                found.append(Turn(start + first, start + at, END))
                continue
            if byte == 0xFF and body[at] >> 3 & 7 in (4, 5):
                is_table = body[at] & 0xC7 != 5 and (body[at] >= 0xC0 or body[at] & 7 == 4)
                at = _after_mode(body, at)
                found.append(Turn(start + first, start + at, SWITCH if is_table else END))
                continue
        if kind in (_MODE, _MODE_8, _MODE_Z, _TEST):
            mode = body[at]
            at = _after_mode(body, at)
            if kind == _MODE_8:
                at += 1
            elif kind == _MODE_Z:
                at += full
            elif kind == _TEST and mode >> 3 & 7 < 2:
                at += 1 if byte == 0xF6 else full
        elif kind == _FULL:
            at += 4 if byte in (0xE8, 0xE9) else full
        elif kind:
            at += {_BYTE: 1, _WORD: 2, _ENTER: 3, _OFFSET: 8, _MOVE: 8 if wide else full}[kind]
    return found


def _after_mode(body: bytes, at: int) -> int:
    """Return the place after a ModRM byte and its operands."""
    mode = body[at]
    at += 1
    if mode >= 0xC0:
        return at
    if mode & 7 == 4:
        base = body[at] & 7
        at += 1
        if base == 5 and mode < 0x40:
            return at + 4
    elif mode < 0x40 and mode & 7 == 5:
        return at + 4
    return at + (0, 1, 4)[mode >> 6]
