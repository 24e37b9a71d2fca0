"""Find the calls in a function's machine code, in the order of its addresses.

The code is not disassembled: the bytes of calls and of loads from tables are searched for, and a
match counts only if it leads to the start of a known function, to a stub or to a relocated
pointer.
"""

from __future__ import annotations

from gblock.native import aarch64, x86_64
from gblock.native.image import X86_64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.native.code import Code, Turn
    from gblock.native.image import Image


def read(image: Image, start: int) -> Code:
    """Return the calls of the function at an address."""
    found = image.codes.get(start)
    if found is None:
        scan = x86_64.scan if image.machine == X86_64 else aarch64.scan
        found = image.codes[start] = scan(image, start)
    return found


def storing(image: Image) -> Iterable[int]:
    """Return the starts of the functions that may write to variables."""
    return x86_64.storing(image) if image.machine == X86_64 else image.starts()


def stores(image: Image, start: int) -> dict[int, int]:
    """Return the pointers that the function at an address writes to variables, by address."""
    find = x86_64.stores if image.machine == X86_64 else aarch64.stores
    return find(image, start)


def turns(image: Image, start: int) -> list[Turn]:
    """Return the jumps and the ends of the function at an address."""
    find = x86_64.turns if image.machine == X86_64 else aarch64.turns
    return find(image.body(start), start)
