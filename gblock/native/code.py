"""What machine code does, as plain values: calls, and jumps inside a function."""

from __future__ import annotations

from typing import NamedTuple


class Pointer(NamedTuple):
    """A call through a pointer that stands in a table: ``(*(*(object + table)) [slot])()``."""

    table: int | None
    """Where in an object the table's address stood; None where that was not seen."""
    slot: int | None
    """Where in the table the pointer stood; None where that was not seen."""
    base: int = 0
    """The address of the variable that held the table's address, 0 where it was an object."""


class Call(NamedTuple):
    """One call, or one jump into another function."""

    target: int | str | Pointer
    """An address in this file, the name of an import, or a pointer."""
    returns: bool
    """False for a jump: what follows in the code is not run after it."""
    at: int
    """The address of the instruction."""


class Code(NamedTuple):
    """What one function does that matters here."""

    calls: tuple[Call, ...]
    data: tuple[int, ...]
    """The addresses that it takes: of strings, of tables, of functions that it hands on."""
    imports: tuple[str, ...] = ()
    """The imported functions and variables whose addresses it takes."""


JUMP, BRANCH, SWITCH, END = "jump", "branch", "switch", "end"
"""`SWITCH`: a jump whose targets are not known. `END`: the function returns, or stops."""


class Turn(NamedTuple):
    """An instruction after which another than the next one may run."""

    at: int
    after: int
    """The address of the next instruction."""
    kind: str
    target: int = 0
