"""A comment that hides nothing: the comment is removed, or the names in it that hide nothing."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.tree import ParsedFile

_BRACKET = re.compile(r"(#[ \t]*gblock:[ \t]*ignore[ \t]*\[)([^\]]*)\]", re.IGNORECASE)


def edits(
    diagnostic: Diagnostic, repair: Repair, tree_of: Callable[[str], ParsedFile | None]
) -> list[Edit] | None:
    """Return the edits; what else the comment says, and other comments, stay."""
    tree = tree_of(diagnostic.filename)
    start, end = diagnostic.location, diagnostic.end_location
    if tree is None or start.row != end.row or start.row > len(tree.lines):
        return None
    line = tree.lines[start.row - 1]
    comment = line[start.column - 1 : end.column - 1]
    bracket = _BRACKET.match(comment)
    if repair.names:
        if bracket is None:
            return None
        names = [name.strip() for name in bracket[2].split(",") if name.strip()]
        left = [name for name in names if name not in repair.names]
        if left:
            inner = start._replace(column=start.column + len(bracket[1]))
            behind = inner._replace(column=inner.column + len(bracket[2]))
            return [tree.replaced(inner, behind, ", ".join(left))]
    before, after = line[: start.column - 1], line[end.column - 1 :].lstrip()
    if after:
        last = end._replace(column=len(line) - len(after) + 1)
        return [tree.replaced(start, last, "")]
    if not before.strip():
        return [tree.removed(start.row, start.row)]
    first = start._replace(column=len(before.rstrip()) + 1)
    return [tree.replaced(first, end._replace(column=len(line) + 1), "")]
