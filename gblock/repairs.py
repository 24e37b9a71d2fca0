"""The kinds of fixes, as data: `gblock.fixes` has one module for each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from gblock.lean import NamedTuple

SAFE, UNSAFE = "safe", "unsafe"


class Kind(NamedTuple):
    """One kind of fix, made by the module of its name."""

    applicability: str
    title: str
    """The change as the predicate of a sentence, without its full stop."""
    is_of_blockers: bool = False
    """True if a blocker's entry of the catalog can name it."""
    switches: bool = False
    """True if other greenlets run meanwhile: not for a context in which a call must not switch."""
    needs_class: bool = False
    """True if it calls other methods of the object, which must be of the catalog's class."""


KINDS = {
    "poll-loop": Kind(
        UNSAFE,
        "Polls without a wait and sleeps where there is no message",
        is_of_blockers=True,
        switches=True,
        needs_class=True,
    ),
    "flush-loop": Kind(
        UNSAFE,
        "Polls and sleeps until the queue is empty",
        is_of_blockers=True,
        switches=True,
        needs_class=True,
    ),
    "threadpool": Kind(
        UNSAFE,
        "Calls the function in the hub's threadpool; gevent also prints what it raises",
        is_of_blockers=True,
        switches=True,
    ),
    "recipe": Kind(
        UNSAFE,
        "Makes the driver cooperative, after the patch or in `post_fork`",
        is_of_blockers=True,
    ),
    "green-import": Kind(
        UNSAFE, "Imports the package's cooperative module in its place", is_of_blockers=True
    ),
    "patch-first": Kind(UNSAFE, "Moves the monkey patch to the top of the file"),
    "import-after-patch": Kind(UNSAFE, "Moves the import below the monkey patch"),
    "whole-patch": Kind(UNSAFE, "Patches also what the arguments leave out"),
    "remove-ignore": Kind(SAFE, "Removes what hides nothing from the comment"),
}
"""Every kind of fix, in the order of the documentation."""
