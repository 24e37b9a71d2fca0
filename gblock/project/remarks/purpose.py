"""The purpose of settings: production, development or tests."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

TESTS, DEVELOPMENT = "tests", "development"
_OF_TESTS = re.compile(
    r"(?:^|[^a-zA-Z])[tT]est(?:s|ing|ed)?(?![a-z])|[a-z]Test|\bTEST|_TEST(?:_|\b|ING)"
)
_OF_DEVELOPMENT = re.compile(
    r"\bexample|(?:^|[^a-zA-Z])(?:[dD]ev|[dD]evelop(?:ment)?|[lL]ocal|[dD]ebug)(?![a-z])"
    r"|[a-z](?:Dev|Development|Local|Debug)(?![a-z])|\b(?:DEV|LOCAL|DEBUG)(?:_|\b)|_(?:DEV|LOCAL)\b"
)
_NEGATED = re.compile(r"\bnot\b|!=|\bin\b")
_EXAMPLE = re.compile(r"(?:^|[._-])(?:examples?|samples?|template|dist)(?:[._-]|$)")


def purpose(
    tree: ast.Module | None, path: str, rows: tuple[int, int], string: ast.expr | None = None
) -> str:
    """Return the purpose of a statement, by the names of its class, condition and variable.

    Args:
        tree: The module.
        path: Its file.
        rows: The first and the last row of the statement.
        string: A string in it; of the items of a dict, only those that concern the string count.

    Returns:
        `TESTS`, `DEVELOPMENT`, or an empty string for production.
    """
    found = "example" if _EXAMPLE.search(os.path.basename(path)) else ""
    for node in _statements_around(tree, rows[0]) if tree is not None else ():
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found += f" {node.name}"
        elif isinstance(node, ast.If):
            test = ast.unparse(node.test)
            within = any(one.lineno <= rows[0] <= (one.end_lineno or 0) for one in node.body)
            if within and not _NEGATED.search(test):
                found += f" {test}"
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found += " " + " ".join(
                str(one.value)
                for one in _concerning(node, string)
                if isinstance(one, ast.Constant)
                and isinstance(one.value, str)
                and one.value.isupper()
            )
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += " " + " ".join(map(ast.unparse, targets))
    if _OF_TESTS.search(found):
        return TESTS
    return DEVELOPMENT if _OF_DEVELOPMENT.search(found) else ""


def _statements_around(tree: ast.Module, row: int) -> Iterator[ast.stmt]:
    """Yield the statements that contain a row, outer ones first."""
    level: list[ast.AST] = [tree]
    while level:
        inner: list[ast.AST] = []
        for block in level:
            for child in ast.iter_child_nodes(block):
                if isinstance(child, ast.stmt):
                    if child.lineno <= row <= (child.end_lineno or child.lineno):
                        yield child
                        inner.append(child)
                elif isinstance(child, ast.excepthandler | ast.match_case):
                    inner.append(child)
        level = inner


def _concerning(node: ast.AST, string: ast.expr | None) -> Iterator[ast.AST]:
    """Yield the nodes within one, of dicts around a string only its keys and its own value.

    A URL says everything itself. A name is a part of a connection, and so are the values beside it.
    """
    if string is None or all(one is not string for one in ast.walk(node)):
        yield from ast.walk(node)
        return
    while not isinstance(node, ast.Dict):
        yield node
        around = None
        for child in ast.iter_child_nodes(node):
            if around is None and any(one is string for one in ast.walk(child)):
                around = child
            else:
                yield from ast.walk(child)
        if around is None:
            return
        node = around
    is_name = isinstance(string, ast.Constant) and "://" not in str(string.value)
    for key, value in zip(node.keys, node.values, strict=True):
        if any(one is string for one in ast.walk(value)):
            if key is not None:
                yield key
            yield from _concerning(value, string)
        elif is_name and not isinstance(value, ast.Dict):
            yield from ast.walk(value)
