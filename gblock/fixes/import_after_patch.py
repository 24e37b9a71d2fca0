"""``from time import sleep`` above the patch of its file: it is moved below it."""

from __future__ import annotations

import ast

from gblock.fixes import patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.tree import ParsedFile


def edits(
    diagnostic: Diagnostic, repair: Repair, tree_of: Callable[[str], ParsedFile | None]
) -> list[Edit] | None:
    """Return the edits, None where something between the import and the patch uses its names."""
    tree = tree_of(diagnostic.filename)
    ((filename, row),) = repair.places
    patch = patches.at(tree, row) if tree is not None and filename == tree.filename else None
    if tree is None or patch is None:
        return None
    body = tree.module.body
    source = next((n for n in body if _is_import_at(n, diagnostic.location.row)), None)
    if not isinstance(source, ast.ImportFrom) or not tree.is_alone(source):
        return None
    names = {one.asname or one.name for one in source.names}
    between = body[body.index(source) + 1 : body.index(patch.statement)]
    if any(_uses(node, names) for node in between):
        return None
    last = source.end_lineno or source.lineno
    code = "".join(f"{line}\n" for line in tree.lines[source.lineno - 1 : last])
    end = (patch.statement.end_lineno or row) + 1
    following = tree.lines[end - 1] if end <= len(tree.lines) else ""
    gap = "" if not following.strip() else "\n"
    first = source.lineno
    if first > 1 and last < len(tree.lines):
        if not tree.lines[first - 2].strip() and not tree.lines[last].strip():
            last += 1
    if first == 1:
        while last < len(tree.lines) and not tree.lines[last].strip():
            last += 1
    return [tree.removed(first, last), tree.inserted(end, f"\n{code}{gap}")]


def _is_import_at(node: ast.stmt, row: int) -> bool:
    return isinstance(node, ast.ImportFrom) and node.lineno <= row <= (node.end_lineno or 0)


def _uses(node: ast.stmt, names: set[str]) -> bool:
    """Return whether a statement names what is moved, or may run code that does."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return False
    return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(node))
