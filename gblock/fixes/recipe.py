"""A call that makes a driver cooperative: after the patch, or in gunicorn's ``post_fork``."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.tree import ParsedFile

_HOOK = "post_fork"
_HEAD = f"def {_HOOK}(server, worker):"


def edits(
    diagnostic: Diagnostic,  # noqa: ARG001 - the same of every kind
    repair: Repair,
    tree_of: Callable[[str], ParsedFile | None],
) -> list[Edit] | None:
    """Return the edits, None where one of the places cannot take the call."""
    (symbol,) = repair.names
    found: list[Edit] = []
    for filename, row in repair.places:
        tree = tree_of(filename)
        if tree is None or tree.binds(symbol.rpartition(".")[2]):
            return None
        added = _behind(tree, row, symbol) if row else _in_hook(tree, symbol)
        if added is None:
            return None
        found.append(added)
    return found


def _lines(symbol: str, indent: str) -> str:
    module, _, name = symbol.rpartition(".")
    return f"{indent}from {module} import {name}\n\n{indent}{name}()\n"


def _behind(tree: ParsedFile, row: int, symbol: str) -> Edit | None:
    """Return the edit that adds the call behind a statement of the module."""
    statement = next((node for node in tree.module.body if node.lineno == row), None)
    if not isinstance(statement, ast.Expr) or not tree.is_alone(statement):
        return None
    end = tree.end(statement).row + 1
    following = tree.lines[end - 1] if end <= len(tree.lines) else ""
    return tree.inserted(end, f"\n{_lines(symbol, '')}" + ("\n" if following.strip() else ""))


def _in_hook(tree: ParsedFile, symbol: str) -> Edit | None:
    """Return the edit that adds the call to gunicorn's hook, which is added where it is missing."""
    body = tree.module.body
    named = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == _HOOK]
    if not named:
        if tree.binds(_HOOK):
            return None
        last = len(tree.lines)
        while last > 0 and not tree.lines[last - 1].strip():
            last -= 1
        gap = "\n\n" if last else ""
        return tree.inserted(last + 1, f"{gap}{_HEAD}\n{_lines(symbol, tree.unit)}")
    if len(named) > 1:
        return None
    first = named[0].body[0]
    if not tree.is_alone(first) or first.lineno == named[0].lineno:
        return None
    row = first.lineno
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        row = tree.end(first).row + 1
    return tree.inserted(row, _lines(symbol, tree.indent(first)))
