"""Calls whose refusal is handled: ``except BlockingIOError``, ``errno.EAGAIN``, ``zmq.Again``."""

from __future__ import annotations

import ast
import re

from gblock.project.reading.modules import Modules
from gblock.project.reading.parsing import parsed
from gblock.project.reading.summary import Call

_REFUSED = re.compile(r"\b(?:EAGAIN|EWOULDBLOCK|BlockingIOError|SSLWantReadError|Again)\b")
"""Errors of an object that would have to wait and does not."""


class Refusals:
    """Finds the calls that an error handler expects to be refused instead of waiting.

    Args:
        modules: The project's files.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._handled: dict[str, list[tuple[int, int]]] = {}

    def is_handled(self, call: Call, path: str) -> bool:
        """Return whether a handler around a call expects that it is refused."""
        if path not in self._handled:
            self._handled[path] = self._rows(path)
        return any(first <= call.row <= last for first, last in self._handled[path])

    def _rows(self, path: str) -> list[tuple[int, int]]:
        """Return the first and the last row of each body with such a handler."""
        data = self.modules.data(path)
        if not _REFUSED.search(data.decode(errors="replace")):
            return []
        tree = parsed(data)
        if tree is None:
            return []
        return [
            (node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno)
            for node in ast.walk(tree)
            if isinstance(node, ast.Try)
            and any(_REFUSED.search(ast.unparse(handler)) for handler in node.handlers)
        ]
