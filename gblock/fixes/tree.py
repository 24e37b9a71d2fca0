"""One parsed file, and the places of its nodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from gblock.diagnostics import Edit, Location
from gblock.project.reading import parsing
from gblock.project.reading.positions import column

_REST = re.compile(r"[ \t]*(#.*)?")
_FEWEST, _MOST = 88, 120
"""Columns: a file whose longest line is shorter or longer is taken to have these."""


class StatementBlock(NamedTuple):
    """Statements that follow one another, and one of them."""

    statements: list[ast.stmt]
    number: int
    """The index of that one."""


class ParsedFile:
    """A file that can be parsed.

    Args:
        filename: The name that its diagnostics have.
        text: Its text, with line feeds only.
        module: What Python's parser makes of it.
    """

    def __init__(self, filename: str, text: str, module: ast.Module) -> None:
        self.filename = filename
        self.module = module
        self.lines = text.split("\n")

    # -- places

    def start(self, node: ast.stmt | ast.expr | ast.keyword | ast.alias) -> Location:
        """Return where a node begins; a decorated one begins at its first decorator."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.decorator_list:
                return Location(node.decorator_list[0].lineno, self.indent_width(node) + 1)
        return self._place(node.lineno, node.col_offset)

    def end(self, node: ast.stmt | ast.expr | ast.keyword | ast.alias) -> Location:
        """Return where a node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.end_lineno, node.end_col_offset)

    def _place(self, row: int, offset: int) -> Location:
        line = self.lines[row - 1]
        return Location(row, offset + 1 if line.isascii() else column(line.encode(), offset))

    def _offset(self, place: Location) -> tuple[int, int]:
        """Return a place as Python's parser counts: in bytes from 0."""
        line = self.lines[place.row - 1]
        return place.row, len(line[: place.column - 1].encode())

    def code(self, node: ast.stmt | ast.expr | ast.keyword) -> str:
        """Return a node as it is written."""
        return self.between(self.start(node), self.end(node))

    def between(self, start: Location, end: Location) -> str:
        """Return the text between two places."""
        rows = self.lines[start.row - 1 : end.row]
        rows[-1] = rows[-1][: end.column - 1]
        rows[0] = rows[0][start.column - 1 :]
        return "\n".join(rows)

    def path_to_call(self, start: Location, end: Location) -> list[ast.AST] | None:
        """Return the nodes from the module down to the call that stands exactly there.

        None if there is no such call, or it is part of an f-string.
        """
        if not 0 < start.row <= end.row <= len(self.lines):
            return None
        path = _path(self.module, self._offset(start), self._offset(end))
        if path is None or any(isinstance(node, ast.JoinedStr) for node in path):
            return None
        return path

    def block_of(self, path: list[ast.AST], node: ast.AST) -> StatementBlock | None:
        """Return the statements among which a statement of a path stands."""
        owner = path[path.index(node) - 1]
        for _, value in ast.iter_fields(owner):
            if isinstance(value, list) and any(one is node for one in value):
                index = next(i for i, one in enumerate(value) if one is node)
                return StatementBlock(value, index) if isinstance(node, ast.stmt) else None
        return None

    # -- lines

    def is_alone(self, statement: ast.stmt) -> bool:
        """Return whether no other code stands on the lines of a statement."""
        start, end = self.start(statement), self.end(statement)
        before = self.lines[start.row - 1][: start.column - 1]
        after = self.lines[end.row - 1][end.column - 1 :]
        above = self.lines[start.row - 2] if start.row > 1 else ""
        return not before.strip() and bool(_REST.fullmatch(after)) and not above.endswith("\\")

    def comment_after(self, statement: ast.stmt) -> str:
        """Return the comment behind a statement with the space before it, or nothing."""
        end = self.end(statement)
        return self.lines[end.row - 1][end.column - 1 :].rstrip()

    def indent(self, statement: ast.stmt) -> str:
        """Return the white space before a statement that is the first of its line."""
        line = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip(" \t\f"))].replace("\f", "")

    def indent_width(self, statement: ast.stmt) -> int:
        """Return the columns before a statement."""
        line = self.lines[statement.lineno - 1]
        return len(line) - len(line.lstrip(" \t\f"))

    @cached_property
    def unit(self) -> str:
        """The indentation of a block in this file."""
        for node in ast.walk(self.module):
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list):
                outer, inner = self.indent(node), self.indent(body[0])
                if inner.startswith(outer) and inner != outer and body[0].lineno > node.lineno:
                    return inner[len(outer) :]
        return "    "

    @cached_property
    def quote(self) -> str:
        """The quotation mark that the file uses more often."""
        text = "\n".join(self.lines)
        return "'" if text.count("'") > text.count('"') else '"'

    @cached_property
    def width(self) -> int:
        """The columns that a line may take: the file's longest line, within reason."""
        return min(max(_FEWEST, max(map(len, self.lines))), _MOST)

    # -- edits

    def replaced(self, start: Location, end: Location, content: str) -> Edit:
        """Return an edit that puts a text in the place of another."""
        return Edit(self.filename, start, end, content)

    def inserted(self, row: int, content: str) -> Edit:
        """Return an edit that adds whole lines before a row; it may be one behind the last."""
        if row > len(self.lines):
            place = Location(len(self.lines), len(self.lines[-1]) + 1)
            return Edit(self.filename, place, place, "\n" + content.removesuffix("\n"))
        return Edit(self.filename, Location(row, 1), Location(row, 1), content)

    def removed(self, first: int, last: int) -> Edit:
        """Return an edit that removes whole lines."""
        if last < len(self.lines):
            return Edit(self.filename, Location(first, 1), Location(last + 1, 1), "")
        end = Location(last, len(self.lines[-1]) + 1)
        if first == 1:
            return Edit(self.filename, Location(1, 1), end, "")
        before = Location(first - 1, len(self.lines[first - 2]) + 1)
        return Edit(self.filename, before, end, "")

    # -- names

    def binds(self, name: str) -> bool:
        """Return whether anything but an import of the module of that name binds a name."""
        return any(name in _bound(node) for node in ast.walk(self.module))

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of all functions and classes that the file defines."""
        return frozenset(
            node.name
            for node in ast.walk(self.module)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        )


def parsed(filename: str, text: str) -> ParsedFile | None:
    """Return a file's tree, None where Python cannot parse it."""
    module = parsing.parsed(text)
    return ParsedFile(filename, text, module) if module is not None else None


def _path(node: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> list[ast.AST] | None:
    """Return the nodes from one down to the call at a place, in bytes."""
    if isinstance(node, ast.Call):
        here = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        if here == (start, end):
            return [node]
    for child in ast.iter_child_nodes(node):
        if _may_hold(child, start[0], end[0]):
            below = _path(child, start, end)
            if below is not None:
                return [node, *below]
    return None


def _may_hold(node: ast.AST, first: int, last: int) -> bool:
    row, end = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if row is None or end is None:
        return True
    if getattr(node, "decorator_list", None):
        row = 0
    return bool(row <= first and last <= end)


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds; an import of a module binds none of its own name."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Import):
        yield from (alias.asname for alias in node.names if alias.asname)
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.ExceptHandler):
        yield from filter(None, [node.name])
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
        yield from filter(None, [node.name])
    elif isinstance(node, ast.MatchMapping):
        yield from filter(None, [node.rest])
