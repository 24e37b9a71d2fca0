"""The operations of machine code, as plain values: calls, and jumps inside a function."""

from __future__ import annotations

from typing import NamedTuple


class Pointer(NamedTuple):
    """A call through a pointer from a table: ``(*(*(object + table)) [slot])()``."""

    table: int | None
    """The offset of the table's address in the object; None if unknown."""
    slot: int | None
    """The offset of the pointer in the table; None if unknown."""
    base: int = 0
    """The address of the variable with the table's address, 0 for an object."""


class MachineCall(NamedTuple):
    """One call, or one jump into another function."""

    target: int | str | Pointer
    """An address in this file, the name of an import, or a pointer."""
    returns: bool
    """False for a jump, after which the next instruction does not run."""
    at: int
    """The address of the instruction."""


class Code(NamedTuple):
    """The relevant operations of one function."""

    calls: tuple[MachineCall, ...]
    data: tuple[int, ...]
    """The addresses that it takes: of strings, of tables, of functions that it passes on."""
    imports: tuple[str, ...] = ()
    """The imported functions and variables whose addresses it takes."""


JUMP, BRANCH, SWITCH, END = "jump", "branch", "switch", "end"
"""`SWITCH`: a jump with unknown targets. `END`: the function returns, or stops."""


class Turn(NamedTuple):
    """An instruction after which another than the next one may run."""

    at: int
    after: int
    """The address of the next instruction."""
    kind: str
    target: int = 0


class BasicBlock(NamedTuple):
    """Instructions that run one after the other."""

    start: int
    end: int
    following: tuple[int, ...]
    """The starts of the blocks that may run next; none at the function's end."""
