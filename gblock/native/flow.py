"""A function's control-flow graph: blocks of code between jumps."""

from __future__ import annotations

from bisect import bisect_right

from gblock.native import scanning
from gblock.native.code import BRANCH, END, JUMP, SWITCH, BasicBlock, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gblock.native.image import Image


_MOST_TURNS = 50_000
_MOST_CASES = 512
"""The limits of a function's jumps, and of the blocks that a switch's table may lead to."""


def blocks(image: Image, start: int) -> dict[int, BasicBlock]:
    """Return the blocks of the function at `start`, by their start."""
    found = image.blocks.get(start)
    if found is None:
        turns = scanning.turns(image, start)
        if len(turns) > _MOST_TURNS:  # no compiler emits that; its calls are taken in order
            turns = []
        found = image.blocks[start] = _blocks(start, start + len(image.body(start)), turns)
    return found


def are_alternatives(blocks: dict[int, BasicBlock], one: int, other: int) -> bool:
    """Return whether two instructions are on branches of which either runs, in a loop or not.

    Args:
        blocks: The function's blocks, by their start.
        one: The address of an instruction.
        other: The address of another one.
    """
    starts = sorted(blocks)
    first, second = (starts[bisect_right(starts, at) - 1] for at in (one, other))
    return first != second and (
        (second in _reachable(blocks, first)) == (first in _reachable(blocks, second))
    )


def _reachable(blocks: dict[int, BasicBlock], start: int) -> set[int]:
    """Return the blocks that may run after a block."""
    found: set[int] = set()
    todo = [start]
    while todo:
        for following in blocks[todo.pop()].following:
            if following not in found:
                found.add(following)
                todo.append(following)
    return found


def _blocks(start: int, end: int, turns: Sequence[Turn]) -> dict[int, BasicBlock]:
    inside = {
        turn.target for turn in turns if turn.kind in (JUMP, BRANCH) and start <= turn.target < end
    }
    after = {turn.after for turn in turns if turn.after < end}
    starts = sorted({start} | inside | after)
    # A switch's table leads to the blocks that nothing else leads to.
    free = [
        turn.after
        for turn in turns
        if turn.kind in (JUMP, SWITCH, END) and turn.after < end and turn.after not in inside
    ]
    del free[_MOST_CASES:]
    by_end = {turn.after: turn for turn in turns}
    found: dict[int, BasicBlock] = {}
    for at, one in enumerate(starts):
        stop = starts[at + 1] if at + 1 < len(starts) else end
        turn = by_end.get(stop)
        following: tuple[int, ...] = (stop,) if stop < end else ()
        if turn is not None:
            target = (turn.target,) if turn.target in inside else ()
            if turn.kind == BRANCH:
                following = (*following, *target)
            elif turn.kind == JUMP:
                following = target
            elif turn.kind == SWITCH:
                following = tuple(free)
            else:
                following = ()
        found[one] = BasicBlock(one, stop, following)
    return found
