"""The places of strings in files, for diagnostics that point at a string."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gblock.project.names.partial_texts import Text
from gblock.project.reading.modules import Modules
from gblock.project.reading.parsing import parsed_as_either
from gblock.project.reading.positions import column
from gblock.project.remarks.remark import Span

_READS = re.compile(r"\b(?:environ|getenv|env|config)\b")


class Strings:
    """Finds strings in the syntax trees of a project's files, parsed once.

    Args:
        modules: The project's files.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._trees: dict[str, ast.Module | None] = {}

    def tree(self, path: str) -> ast.Module | None:
        """Return a file's tree, None if it cannot be parsed."""
        if path not in self._trees:
            self._trees[path] = parsed_as_either(self.modules.data(path))
        return self._trees[path]

    def located(self, text: Text) -> tuple[ast.expr, tuple[int, int]] | None:
        """Return a string's node, and the rows of its statement."""
        tree = self.tree(text.path)
        if tree is None:
            return None
        for statement in statements(tree, text.rows):
            for node in _strings(statement):
                if _constant(node) == text.written:
                    return node, (statement.lineno, end_of(statement))
        return None

    def called(self, text: Text, name: str) -> tuple[ast.expr, tuple[int, int]] | None:
        """Return the callee that chooses by itself, and the rows of its statement."""
        tree = self.tree(text.path)
        for statement in statements(tree, text.rows) if tree is not None else ():
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and node.lineno == text.rows[0]:
                    written = ast.unparse(node.func)
                    if written.rpartition(".")[2] == name:
                        return node.func, (statement.lineno, end_of(statement))
        return None

    def span(self, path: str, node: ast.expr) -> Span:
        """Return the place of an expression."""
        lines = self.modules.data(path).splitlines()
        end_row = node.end_lineno or node.lineno
        return Span(
            node.lineno,
            _column(lines, node.lineno, node.col_offset),
            end_row,
            _column(lines, end_row, node.end_col_offset or 0),
        )

    def source(self, path: str, rows: tuple[int, int]) -> str:
        """Return some rows of a file."""
        lines = self.modules.data(path).splitlines()[rows[0] - 1 : rows[1]]
        return b"\n".join(lines).decode(errors="replace")


def statements(tree: ast.Module, rows: tuple[int, int]) -> Iterator[ast.stmt]:
    """Yield the simple statements, and the headers of functions, that overlap some rows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= rows[1]:
            if (node.end_lineno or node.lineno) >= rows[0]:
                yield node


def end_of(statement: ast.stmt) -> int:
    """Return the last row of a statement, or of a compound statement's header."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    if body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _strings(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the strings in a statement, without those in nested statements."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            yield node
        else:
            waiting += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.stmt)]


def environment(statement: ast.stmt, names: frozenset[str] = frozenset()) -> ast.expr:
    """Return the expression of a statement that reads the environment, else its value.

    Args:
        statement: The statement.
        names: Names of settings and readers: of several expressions, one that they are given.
    """
    value = getattr(statement, "value", None)
    found = list(_labelled(value or statement, False, names))
    for named in (True, False):
        nodes = [node for node, is_named in found if is_named is named]
        if nodes:
            return min(nodes, key=lambda node: len(ast.unparse(node)))
    return next(
        (node for node in (value, *ast.walk(statement)) if isinstance(node, ast.expr)),
        ast.Constant(value=None, lineno=statement.lineno, col_offset=0),
    )


def _labelled(
    node: ast.AST, is_named: bool, names: frozenset[str]
) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the expressions that read the environment, each with whether one of the names gets it.

    A keyword, a key of a dict and a callee name what is below them.
    """
    if isinstance(node, ast.expr) and reads_environment(node):
        yield node, is_named
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            written = key.value if isinstance(key, ast.Constant) else None
            yield from _labelled(value, is_named or written in names, names)
        return
    inner = is_named
    if isinstance(node, ast.keyword):
        inner = inner or node.arg in names
    elif isinstance(node, ast.Call):
        inner = inner or ast.unparse(node.func).rpartition(".")[2] in names
    for child in ast.iter_child_nodes(node):
        yield from _labelled(child, inner, names)


def reads_environment(node: ast.expr) -> bool:
    """Return whether an expression is a call or a subscript that reads the environment."""
    return isinstance(node, ast.Call | ast.Subscript) and bool(_READS.search(ast.unparse(node)))


def _constant(node: ast.expr) -> object:
    """Return a string's text, for an f-string up to the first hole."""
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        return first.value if isinstance(first, ast.Constant) else None
    return node.value if isinstance(node, ast.Constant) else None


def _column(lines: list[bytes], row: int, offset: int) -> int:
    """Return the column, in characters from 1, of an offset in bytes."""
    return column(lines[row - 1] if row <= len(lines) else b"", offset)
