"""A module that a fix needs: the name that it has already, or an import in the file's order."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Sequence
from typing import NamedTuple

from gblock.diagnostics import Edit
from gblock.fixes.tree import ParsedFile

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_FUTURE, _STANDARD, _OTHER, _RELATIVE = range(4)
"""The sections of imports, in the order in which files have them."""


class Imported(NamedTuple):
    """The name of a module at a place, and the edits that import it."""

    name: str
    edits: list[Edit]
    """The import, empty where there is one."""


def module(tree: ParsedFile, name: str, path: Sequence[ast.AST]) -> Imported | None:
    """Return how a top-level module can be used at a place.

    Args:
        tree: The file.
        name: The module.
        path: The nodes from the module of the file down to the place.

    Returns:
        None where something else has the name, or the import would come too late.
    """
    if tree.binds(name):
        return None
    functions = [node for node in path if isinstance(node, _FUNCTIONS)]
    row = next(node.lineno for node in path if isinstance(node, ast.stmt))
    for function in functions:
        local = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Import) and _gives(node, name)
        ]
        if local:  # the name is local to the function, also before the import
            first = local[0]
            body = getattr(function, "body", None)
            is_sure = isinstance(body, list) and first in body and first.lineno < path_row(path)
            return Imported(name, []) if is_sure and not _is_nested(functions, function) else None
    for node in tree.module.body:
        if isinstance(node, ast.Import) and _gives(node, name):
            if functions or node.lineno < row:
                return Imported(name, [])
            return None
    place, content = _place(tree, name)
    if not functions and place > row:
        return None
    return Imported(name, [tree.inserted(place, content)])


def path_row(path: Sequence[ast.AST]) -> int:
    """Return the row of the last statement of a path."""
    return next(node.lineno for node in reversed(path) if isinstance(node, ast.stmt))


def joined(edits: Sequence[Edit]) -> list[Edit]:
    """Merge edits that insert text at the same place."""
    found: dict[tuple[object, ...], Edit] = {}
    for edit in edits:
        key = (edit.filename, edit.location, edit.end_location)
        known = found.get(key)
        if known is not None and edit.location == edit.end_location:
            edit = edit._replace(content=_in_order(known.content, edit.content))
        found[key] = edit
    return list(found.values())


def after_header(tree: ParsedFile) -> int:
    """Return the row of the first statement behind the docstring and the ``__future__`` imports.

    Without such a statement, the row behind the last.
    """
    for number, node in enumerate(tree.module.body):
        if number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue
        return tree.start(node).row
    return len(tree.lines) + 1


def _is_nested(functions: Sequence[ast.AST], function: ast.AST) -> bool:
    """Return whether the place is in a function within the one that imports."""
    return functions[-1] is not function


def _gives(node: ast.Import, name: str) -> bool:
    """Return whether an import binds the module's own name to it."""
    return any(not one.asname and one.name.partition(".")[0] == name for one in node.names)


def _in_order(one: str, other: str) -> str:
    """Return the lines of two imports that are added at one place."""
    lines = sorted(filter(None, (*one.split("\n"), *other.split("\n"))), key=_written_section)
    gap = "\n" if _written_section(lines[0]) != _written_section(lines[-1]) else ""
    before = "\n" if one.startswith("\n") and other.startswith("\n") else ""
    after = "\n" if one.endswith("\n\n") else ""
    return before + gap.join(f"{line}\n" for line in lines) + after


def _written_section(line: str) -> int:
    return _section_of(line.removeprefix("import "))


def _place(tree: ParsedFile, name: str) -> tuple[int, str]:
    """Return the row before which an import is added, and the lines."""
    line = f"import {name}\n"
    run = _run(tree)
    if not run:
        row = after_header(tree)
        following = tree.lines[row - 1] if row <= len(tree.lines) else ""
        gap = "\n\n" if following.startswith(("def ", "class ", "async ", "@")) else "\n"
        return row, line + gap
    section = _section_of(name)
    same = [node for node in _block(run, section) if _section(node) == section]
    if same:
        for node in same:
            if _key(node, run) > _key_of(section, True, name, run):
                return node.lineno, line
        return _behind(same[-1]), line
    lower = [node for node in run if _section(node) < section]
    if not lower:
        return run[0].lineno, f"{line}\n"
    last = lower[-1]
    above = f"\n{line}"
    if run[-1] is not last and run[run.index(last) + 1].lineno == _behind(last):
        above += "\n"
    return _behind(last), above


def _run(tree: ParsedFile) -> list[ast.Import | ast.ImportFrom]:
    """Return the longest run of imports at the top of a file, the last of several."""
    runs: list[list[ast.Import | ast.ImportFrom]] = [[]]
    for node in tree.module.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and tree.is_alone(node):
            if _section(node) != _FUTURE:
                runs[-1].append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        else:
            runs.append([])
    return max(reversed(runs), key=len)


def _block(
    run: list[ast.Import | ast.ImportFrom], section: int
) -> list[ast.Import | ast.ImportFrom]:
    """Return the first of the blocks between empty lines that has imports of a section."""
    blocks = [[run[0]]]
    for before, node in itertools.pairwise(run):
        if node.lineno > _behind(before):
            blocks.append([])
        blocks[-1].append(node)
    return next((one for one in blocks if any(_section(n) == section for n in one)), [])


def _behind(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) + 1


def _name(node: ast.Import | ast.ImportFrom) -> str:
    return node.names[0].name if isinstance(node, ast.Import) else node.module or ""


def _section(node: ast.Import | ast.ImportFrom) -> int:
    if isinstance(node, ast.ImportFrom) and node.level:
        return _RELATIVE
    return _section_of(_name(node))


def _section_of(name: str) -> int:
    top = name.partition(".")[0]
    if top == "__future__":
        return _FUTURE
    return _STANDARD if top in sys.stdlib_module_names else _OTHER


def _key(
    node: ast.Import | ast.ImportFrom, run: list[ast.Import | ast.ImportFrom]
) -> tuple[int, bool, str]:
    return _key_of(_section(node), isinstance(node, ast.Import), _name(node), run)


def _key_of(
    section: int, is_plain: bool, name: str, run: list[ast.Import | ast.ImportFrom]
) -> tuple[int, bool, str]:
    """Return what imports are sorted by: plain ones first, unless the file mixes them."""
    return section, _is_mixed(run) or not is_plain, name.lower()


def _is_mixed(run: list[ast.Import | ast.ImportFrom]) -> bool:
    """Return whether the file sorts imports by name alone."""
    by_kind = [(_section(n), isinstance(n, ast.ImportFrom), _name(n).lower()) for n in run]
    by_name = [(section, name) for section, _, name in by_kind]
    return by_kind != sorted(by_kind) and by_name == sorted(by_name)
