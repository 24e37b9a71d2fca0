"""Questions about single nodes of an ``ast``."""

from __future__ import annotations

import ast

from gblock.project.reading.expressions import TUPLE, ElementsExpr, Expr, constant

ANY_KEY = ElementsExpr(TUPLE, ())
"""Stands for a key that is not a constant."""
_EXITS = {"sys.exit", "os._exit", "exit", "quit"}


def rows_of(node: ast.stmt) -> tuple[int, int]:
    """Return a statement's rows, including its decorators."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)]), node.end_lineno or node.lineno


def name_of(node: ast.expr) -> str | None:
    """Return the dotted name of names and attributes, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def named(node: ast.expr) -> ast.expr:
    """Return the name in ``(name := value)``, else the expression itself."""
    return node.target if isinstance(node, ast.NamedExpr) else node


def leaves(body: list[ast.stmt]) -> bool:
    """Return whether a block ends the enclosing block: by ``return``, ``raise`` and the like."""
    return bool(body) and (never_ends(body[-1]) or isinstance(body[-1], (ast.Continue, ast.Break)))


def key_of(node: ast.expr) -> Expr:
    """Return the key of a subscript assignment: a constant, or any key."""
    return constant(node.value) if isinstance(node, ast.Constant) else ANY_KEY


def strings_of(node: ast.expr) -> list[str] | None:
    """Return the strings of a list or a tuple, None if it holds anything else."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    values = [e.value for e in node.elts if isinstance(e, ast.Constant)]
    names = [v for v in values if isinstance(v, str)]
    return names if len(names) == len(node.elts) else None


def catches_import(node: ast.expr | None) -> bool:
    """Return whether the type of an ``except`` clause includes a failed import."""
    names = node.elts if isinstance(node, ast.Tuple) else [node] if node else []
    found = {name_of(n) for n in names}
    return node is None or bool(
        found & {"ImportError", "ModuleNotFoundError", "Exception", "AttributeError"}
    )


def never_ends(last: ast.stmt) -> bool:
    """Return whether what follows a statement in its function cannot run after it."""
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return name_of(last.value.func) in _EXITS
    return False
