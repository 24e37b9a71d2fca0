"""Calls whose refusal is handled: ``except BlockingIOError``, ``errno.EAGAIN``, ``zmq.Again``."""

from __future__ import annotations

import ast
import re

from gblock.project.calls.suites import Suites, statements, tree_of

_REFUSED = re.compile(r"\b(?:EAGAIN|EWOULDBLOCK|BlockingIOError|SSLWantReadError|Again)\b")
"""Errors of an object that would have to wait and does not."""


class Refusals(Suites):
    """Finds what an error handler expects to be refused instead of waiting."""

    def of(self, data: bytes) -> list[list[ast.stmt]]:
        """Return the bodies with a handler that expects a refusal."""
        if not _REFUSED.search(data.decode(errors="replace")):
            return []
        tree = tree_of(data)
        if tree is None:
            return []
        return [
            node.body
            for node in statements(tree)
            if isinstance(node, ast.Try)
            and any(_REFUSED.search(ast.unparse(handler)) for handler in node.handlers)
        ]
