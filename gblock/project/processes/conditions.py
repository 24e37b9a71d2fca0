"""Conditions that a call depends on: ``if options.green: patch_psycopg()``."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from gblock.project.processes.defaults import holds_by_default
from gblock.project.reading.parsing import parsed
from gblock.project.reading.positions import shortened

_OF_GEVENT = re.compile(r"gevent|green|monkey|patch|worker|__name__|TYPE_CHECKING", re.IGNORECASE)
"""Names in conditions that only test for gevent, which are true in a process on gevent."""

_VARIABLE = re.compile(
    r"""(?:os\.)?(?:environ\.get\(|getenv\(|environ\[)'(\w+)'(?:, [^,()]+)?[])](?:\.\w+\(\))* =="""
    r""" '([^'\\]*)'"""
)
_ANY_VALUE = re.compile(
    r"""'(\w+)' in os\.environ"""
    r"""|(?:os\.)?(?:environ\.get|getenv)\('(\w+)'(?:, (?:None|False|''))?\)"""
)
"""Tests that hold for any value of the environment's variable."""


_WORD = re.compile(
    r"""'([^'\\]+)' in (?:sys\.)?argv(?:\[\d*:\d*\])?"""
    r"""|(?:sys\.)?argv\[-?\d+\] == '([^'\\]+)'"""
)
_PART = re.compile(
    r"""'([^'\\]+)' in (?:sys\.)?argv\[-?\d+\]"""
    r"""|any\(\('([^'\\]+)' in (\w+) for \3 in (?:sys\.)?argv(?:\[\d*:\d*\])?\)\)"""
)
"""Tests that hold for a command line with a given word, or with a word that has a given part."""


class GivenWord(NamedTuple):
    """A word that a program's command line must have, or a part of one."""

    text: str
    is_part: bool
    """True if a part of a word is enough."""

    def is_given(self, words: tuple[str, ...]) -> bool:
        """Return whether some words have it."""
        return any(self.text == word or (self.is_part and self.text in word) for word in words)


class CallTest(NamedTuple):
    """A test around a call, and the outcome with which the call runs."""

    expression: ast.expr
    holds: bool
    by_default: bool | None = None
    """The outcome if the environment sets no variable; None if that is unknown."""

    @property
    def text(self) -> str:
        """Its code; empty where it nests too deep to be written."""
        try:
            return ("" if self.holds else "not ") + ast.unparse(self.expression)
        except RecursionError:
            return ""


def conditions_around(data: bytes, row: int, column: int) -> list[CallTest]:
    """Return the tests around a call in its function or module, outermost first.

    Args:
        data: The file; one that this interpreter cannot parse has no tests.
        row: The row of the call's first line, from 1.
        column: Its offset in bytes on that row.
    """
    tree = parsed(data)
    if tree is None:
        return []
    return [
        test._replace(by_default=holds_by_default(test.expression, tree))
        for test in _tests(tree, row, column)
    ]


def is_fallback(data: bytes, row: int, column: int) -> bool:
    """Return whether a call runs only where an import fails: ``except ImportError: install()``.

    Args:
        data: The file.
        row: The row of the call's first line, from 1.
        column: Its offset in bytes on that row.
    """
    tree = parsed(data)
    return tree is not None and any(
        isinstance(node, ast.Try)
        and any(isinstance(one, ast.Import | ast.ImportFrom) for one in node.body)
        and any(_holds(one, row, column) for one in node.handlers)
        for node in ast.walk(tree)
    )


def condition(tests: list[CallTest]) -> str:
    """Return the tests on one line, joined by ``and``.

    Without those for gevent itself, and those that come out so unless the environment says
    otherwise.
    """
    texts = [test.text for test in tests if test.by_default is not test.holds]
    return shortened(" and ".join(text for text in texts if text and not _OF_GEVENT.search(text)))


def variable(tests: list[CallTest]) -> tuple[str, str | None] | None:
    """Return the environment's variable that a test demands, and its value, None if any will do.

    Return None without such a test.
    """
    for test in tests:
        match = _VARIABLE.fullmatch(test.text) if test.holds else None
        if match is not None:
            return match[1], match[2]
        match = _ANY_VALUE.fullmatch(test.text) if test.holds else None
        if match is not None:
            return match[1] or match[2], None
    return None


def argument(tests: list[CallTest]) -> GivenWord | None:
    """Return what a test demands of the program's command line; None without such a test."""
    for test in tests:
        for one in _all_of(test) if test.holds else ():
            if match := _WORD.fullmatch(one):
                return GivenWord(match[1] or match[2], is_part=False)
            if match := _PART.fullmatch(one):
                return GivenWord(match[1] or match[2], is_part=True)
    return None


def _all_of(test: CallTest) -> list[str]:
    """Return the code of all that must hold for a test to hold."""
    one = test.expression
    values = one.values if isinstance(one, ast.BoolOp) and isinstance(one.op, ast.And) else [one]
    return [CallTest(value, holds=True).text for value in values]


def places(tests: list[CallTest]) -> frozenset[tuple[int, int, bool]]:
    """Return the rows and columns of some tests, each with the required outcome."""
    return frozenset((one.lineno, one.col_offset, holds) for one, holds, _ in tests)


def _tests(tree: ast.AST, row: int, column: int) -> list[CallTest]:
    """Return the tests around a place, outermost first."""
    found: list[CallTest] = []
    node: ast.AST | None = tree
    while node is not None:
        inner = next((c for c in ast.iter_child_nodes(node) if _holds(c, row, column)), None)
        if isinstance(node, ast.If | ast.While) and inner is not node.test:
            found.append(CallTest(node.test, inner in node.body))
        elif isinstance(node, ast.IfExp) and inner is not node.test:
            found.append(CallTest(node.test, inner is node.body))
        elif isinstance(node, ast.BoolOp) and inner in node.values[1:]:
            found.append(CallTest(node.values[0], isinstance(node.op, ast.And)))
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found = []
        node = inner
    return found


def _holds(node: ast.AST, row: int, column: int) -> bool:
    """Return whether a node's text contains a place."""
    if not isinstance(
        node, ast.stmt | ast.expr | ast.excepthandler | ast.match_case | ast.withitem
    ):
        return False
    inside = [node] if hasattr(node, "lineno") else list(ast.iter_child_nodes(node))
    return any(
        (one.lineno, one.col_offset) <= (row, column)  # type: ignore[attr-defined]
        and (row, column) < (one.end_lineno, one.end_col_offset)  # type: ignore[attr-defined]
        for one in inside
        if hasattr(one, "lineno")
    )
