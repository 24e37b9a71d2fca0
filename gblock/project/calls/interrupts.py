"""Code that runs once the program ends: below ``except KeyboardInterrupt`` or ``SystemExit``."""

from __future__ import annotations

import ast
import re

from gblock.project.calls.suites import Suites, statements, tree_of

_MAY_HAVE = re.compile(rb"\bexcept\b[^\n]*\b(?:KeyboardInterrupt|SystemExit)\b")
_ENDING = frozenset({"KeyboardInterrupt", "SystemExit"})


class Interrupts(Suites):
    """Finds the handlers of exceptions that end a program, and of nothing else."""

    def of(self, data: bytes) -> list[list[ast.stmt]]:
        """Return the suites of the handlers."""
        tree = tree_of(data) if _MAY_HAVE.search(data) else None
        return [
            node.body
            for node in (statements(tree) if tree is not None else ())
            if isinstance(node, ast.ExceptHandler) and _ends(node.type)
        ]


def _ends(caught: ast.expr | None) -> bool:
    """Return whether a handler catches exceptions that end a program alone."""
    each = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return bool(each) and all(isinstance(one, ast.Name) and one.id in _ENDING for one in each)
