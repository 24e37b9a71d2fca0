"""A package with a cooperative module of the same names: that is imported in its place."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.tree import ParsedFile

_GREEN = "green"
"""The name of the cooperative module below its package."""
_MAKER = "Context"
"""The class whose objects make all others, in each package that has such a module."""


def edits(
    diagnostic: Diagnostic,
    repair: Repair,
    tree_of: Callable[[str], ParsedFile | None],
) -> list[Edit] | None:
    """Return the edit of the import, None where the file uses what only the package has."""
    tree = tree_of(diagnostic.filename)
    package = (diagnostic.symbol or "").partition(".")[0]
    if tree is None or not package or tree.binds(package) or not _is_owner(tree, package):
        return None
    text = "\n".join(tree.lines)
    if any(name in text for name in repair.names):
        return None
    found = [
        node
        for node in ast.walk(tree.module)
        if isinstance(node, (ast.Import, ast.ImportFrom)) and _is_of(node, package)
    ]
    if len(found) != 1 or found[0] not in tree.module.body:
        return None
    (node,) = found
    if isinstance(node, ast.Import):
        return _module(tree, node, package)
    return _names(tree, node, package)


def _is_owner(tree: ParsedFile, package: str) -> bool:
    """Return whether a file makes the objects that it uses, and no classes for other files."""
    makes = False
    for node in ast.walk(tree.module):
        if isinstance(node, ast.ClassDef):
            if any(package in ast.unparse(base).split(".") for base in node.bases):
                return False
        elif isinstance(node, ast.Call):
            makes = makes or ast.unparse(node.func).removeprefix(f"{package}.").startswith(_MAKER)
    return makes


def _is_of(node: ast.Import | ast.ImportFrom, package: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] == package
    return any(one.name.partition(".")[0] == package for one in node.names)


def _module(tree: ParsedFile, node: ast.Import, package: str) -> list[Edit] | None:
    aliases = [one for one in node.names if one.name.partition(".")[0] == package]
    if len(aliases) != 1 or aliases[0].name != package or aliases[0].asname:
        return None
    for one in ast.walk(tree.module):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            # The classes and constants are there, too; submodules are not.
            if one.value.id == package and not one.attr[:1].isupper():
                return None
    alias = aliases[0]
    written = f"{package}.{_GREEN} as {package}"
    return [tree.replaced(tree.start(alias), tree.end(alias), written)]


def _names(tree: ParsedFile, node: ast.ImportFrom, package: str) -> list[Edit] | None:
    if node.module != package or not all(one.name[:1].isupper() for one in node.names):
        return None
    if any(one.name == "*" for one in node.names):
        return None
    start = tree.start(node)
    line = tree.lines[start.row - 1]
    column = line.index(package, start.column + len("from") - 1) + 1
    first = start._replace(column=column)
    last = first._replace(column=column + len(package))
    return [tree.replaced(first, last, f"{package}.{_GREEN}")]
