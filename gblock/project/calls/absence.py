"""Code that runs only where gevent cannot be imported: ``if gevent is None``."""

from __future__ import annotations

import ast
import re

from gblock.project.calls.suites import Suites, statements, tree_of

_MAY_LACK = re.compile(rb"\bgevent\b", re.IGNORECASE)
_TESTED = re.compile(rb"\bexcept\b|\bis[ \t]+(?:not[ \t]+)?None\b|\bif[ \t]+(?:not[ \t]+)?\w")
_FLAG = re.compile(r"(?:HAS|HAVE|WITH)_GEVENT|GEVENT_(?:AVAILABLE|INSTALLED)", re.IGNORECASE)
"""Names of what says whether gevent can be imported, wherever it is set."""
_ERRORS = frozenset(("ImportError", "ModuleNotFoundError", "Exception"))


class Absence(Suites):
    """Finds what runs only without gevent."""

    def of(self, data: bytes) -> list[list[ast.stmt]]:
        """Return the suites that run only where an import of gevent fails."""
        if not _MAY_LACK.search(data) or not _TESTED.search(data):
            return []
        tree = tree_of(data)
        if tree is None:
            return []
        nodes = statements(tree)
        tries = [one for one in nodes if isinstance(one, ast.Try) and _imports(one)]
        handlers = [handler for one in tries for handler in one.handlers if _is_of_import(handler)]
        names = {"gevent", *_imported(nodes)}.union(*map(_without, handlers))
        blocks: list[list[ast.stmt]] = [handler.body for handler in handlers]
        for node in nodes:
            if isinstance(node, ast.If):
                holds = _means_absence(node.test, names)
                blocks += [node.body] if holds else [node.orelse] if holds is False else []
        return [one for one in blocks if one]


def _imports(node: ast.Try) -> bool:
    """Return whether a ``try`` imports gevent and nothing else."""
    found = [one for one in node.body if isinstance(one, ast.Import | ast.ImportFrom)]
    return bool(found) and all(
        name.partition(".")[0] == "gevent"
        for one in found
        for name in (
            [alias.name for alias in one.names]
            if isinstance(one, ast.Import)
            else ["" if one.level else one.module or ""]
        )
    )


def _imported(nodes: list[ast.AST]) -> set[str]:
    """Return the names that a module imports for gevent, or for whether there is one."""
    return {
        alias.asname or alias.name
        for one in nodes
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
        if alias.name == "gevent" or _FLAG.fullmatch(alias.name)
    }


def _is_of_import(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches the error of an import."""
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(one, ast.Name) and one.id in _ERRORS for one in types)


def _without(handler: ast.ExceptHandler) -> set[str]:
    """Return the names that a handler sets to something false."""
    return {
        target.id
        for one in handler.body
        if isinstance(one, ast.Assign)
        and isinstance(one.value, ast.Constant)
        and not one.value.value
        for target in one.targets
        if isinstance(target, ast.Name)
    }


def _means_absence(test: ast.expr, names: set[str]) -> bool | None:
    """Return True if a test holds only without gevent, False if only with it, else None."""
    if isinstance(test, ast.Name):
        return False if test.id in names else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _means_absence(test.operand, names)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id in names:
        (operator, *_), (other, *_) = test.ops, test.comparators
        if isinstance(other, ast.Constant) and other.value is None:
            if isinstance(operator, ast.Is):
                return True
            return False if isinstance(operator, ast.IsNot) else None
    return None
