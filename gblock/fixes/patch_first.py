"""A patch that comes after imports of its own file: it is moved to the top, with its import."""

from __future__ import annotations

import ast

from gblock.fixes import imports, patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.tree import ParsedFile


def edits(
    diagnostic: Diagnostic,  # noqa: ARG001 - the same of every kind
    repair: Repair,
    tree_of: Callable[[str], ParsedFile | None],
) -> list[Edit] | None:
    """Return the edits, None where the patch is not a statement of the module by itself."""
    ((filename, row),) = repair.places
    tree = tree_of(filename)
    patch = patches.at(tree, row) if tree is not None else None
    if tree is None or patch is None or not _is_gevents(patch.source):
        return None
    target = imports.after_header(tree)
    if target > patch.source.lineno:
        return None
    moved, removed = "", []
    spans = [_rows(tree, node) for node in (patch.source, patch.statement)]
    if spans[0][1] + 1 >= spans[1][0] - _blank_above(tree, spans[1][0]):
        spans = [(spans[0][0], spans[1][1])]  # they follow one another: so they stay
    is_first = spans[0][0] == target
    if is_first:
        spans = spans[1:]
        if not spans:
            return None
        target = (patch.source.end_lineno or patch.source.lineno) + 1
        moved = "\n"
    for first, last in spans:
        moved += "".join(f"{line}\n" for line in tree.lines[first - 1 : last])
        if not is_first and first is spans[0][0] and len(spans) > 1:
            moved += "\n"
        removed.append(_removed(tree, first, last))
    if not is_first or (target <= len(tree.lines) and tree.lines[target - 1].strip()):
        moved += "\n"
    return [tree.inserted(target, moved), *removed]


def _is_gevents(source: ast.Import | ast.ImportFrom) -> bool:
    """Return whether an import is one of gevent's, alone."""
    if isinstance(source, ast.ImportFrom):
        return (source.module or "").partition(".")[0] == "gevent"
    return all(one.name.partition(".")[0] == "gevent" for one in source.names)


def _rows(tree: ParsedFile, node: ast.stmt) -> tuple[int, int]:
    """Return the rows of a statement with the comment above it."""
    first = node.lineno
    while first > 2 and tree.lines[first - 2].startswith("#"):
        first -= 1
    if first > 2 and tree.lines[first - 2].strip():  # the comment may be the previous line's
        first = node.lineno
    return first, node.end_lineno or node.lineno


def _blank_above(tree: ParsedFile, row: int) -> int:
    """Return the number of empty lines above a row."""
    count = 0
    while row - 2 - count >= 0 and not tree.lines[row - 2 - count].strip():
        count += 1
    return count


def _removed(tree: ParsedFile, first: int, last: int) -> Edit:
    """Return the edit that removes rows, and the empty lines that would be too many."""
    above = _blank_above(tree, first)
    below = last
    while below < len(tree.lines) and not tree.lines[below].strip():
        below += 1
    if above and below > last:
        first -= min(above, below - last)
    return tree.removed(first, last)
