"""Runs: blocks of one process with the same fields, except for start and duration.

Nearly all lines of a large file are blocks, and their other fields repeat. So each distinct rest of
a line is decoded once, and the blocks of a rest are counted together.
"""

from __future__ import annotations

from typing import NamedTuple

from gblock.observations.records import BlockEnd, decoded
from gblock.observations.sources import LONGEST, whole

_KNOWN = 20_000
"""The number of distinct rests that are kept."""

Key = tuple["int | None", str]
"""A site's number and a class."""
Shape = tuple[
    str, "str | None", bool, "str | None", "tuple[str, ...]", "str | None", "str | None",
    "tuple[str, ...]", "str | None",
]  # fmt: skip
"""Class, confidence, original, patched, native, system call, greenlet, candidates, route."""


class Pattern(NamedTuple):
    """The fields that the blocks of a run have in common."""

    key: Key
    shape: Shape


def pattern(block: BlockEnd) -> Pattern:
    """Return the pattern of a block."""
    shape = (
        block.kind, block.confidence, block.original, block.patched, block.native,
        block.syscall, block.greenlet, block.candidates, block.route,
    )  # fmt: skip
    return Pattern((block.site, block.kind), shape)


class Run:
    """Blocks that are not counted yet."""

    __slots__ = ("pattern", "places", "seconds", "starts")

    def __init__(self, common: Pattern) -> None:
        """Create an empty run."""
        self.pattern = common
        self.places: list[int] = []
        """The indices of their lines, ascending."""
        self.starts: list[bytes] = []
        self.seconds: list[bytes] = []


_known: dict[bytes, Pattern | None] = {}


def common(rest: bytes) -> Pattern | None:
    """Return the pattern of a rest; None if its lines have to be decoded as a whole."""
    try:
        return _known[rest]
    except KeyError:
        pass
    block = decoded(whole(b"0", b"0", rest)) if len(rest) <= LONGEST else None
    # A rest that names start or duration again means another block.
    is_whole = isinstance(block, BlockEnd) and block.t == block.duration == 0
    if len(_known) >= _KNOWN:
        _known.clear()
    _known[rest] = pattern(block) if is_whole else None  # type: ignore[arg-type]
    return _known[rest]
