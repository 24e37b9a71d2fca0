"""Constant evaluation of command lines: lists and texts that one file's code builds.

An unknown part, such as a variable of another file, becomes ``$x``, like a variable of a shell.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from gblock.project.reading.parsing import UNPARSABLE, parse

Words: TypeAlias = str | tuple[str, ...]
"""A text, or the words of a list."""
HOLE = "$x"

_FORMATTED = re.compile(r"%(?:\(\w+\))?[-+ #0]*\d*(?:\.\d+)?[sdrif]|\{[^{}]*\}")
_DEFAULTS = frozenset(("get", "getenv", "env", "setdefault"))
_MOST_VALUES = 16
"""At most this many values of one expression are followed."""
_LONGEST_CHAIN = 12
"""At most this many expressions in a row are followed."""
_MOST_STEPS = 1000
"""At most this many expressions are evaluated for one result."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Spelling:
    """The texts and lists that expressions of one file can evaluate to.

    Args:
        tree: The file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.calls: list[tuple[ast.Call, int]] = []
        """All calls, each with its function; 0 is the module."""
        self.assigned: list[tuple[ast.expr, ast.expr, int]] = []
        """Assignments to targets other than names: target, value, function."""
        self.mappings: list[tuple[ast.Dict, int]] = []
        self._values: dict[tuple[int, str], list[ast.expr]] = {}
        self._added: dict[tuple[int, str], list[ast.expr]] = {}
        self._imported: dict[str, str] = {}
        self._outer: dict[int, int] = {0: 0}
        self._allowance = _MOST_STEPS
        self._read(tree)

    @classmethod
    def of_file(cls, data: bytes, path: str) -> Spelling | None:
        """Return the spelling of a file, None if this interpreter cannot parse it."""
        try:
            return cls(parse(data, path))
        except UNPARSABLE:
            return None

    def given(self, name: str) -> Iterator[tuple[ast.expr, int]]:
        """Yield an option's values: in a dict, a keyword, a subscript, or ``set(name, …)``.

        Args:
            name: The option.
        """
        for mapping, function in self.mappings:
            for key, value in zip(mapping.keys, mapping.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value, function
        for call, function in self.calls:
            for keyword in call.keywords:
                if keyword.arg == name:
                    yield keyword.value, function
            first = call.args[0] if len(call.args) > 1 else None
            if isinstance(first, ast.Constant) and first.value == name:
                yield call.args[1], function
        for target, value, function in self.assigned:
            key = target.slice if isinstance(target, ast.Subscript) else None
            by_key = isinstance(key, ast.Constant) and key.value == name
            if by_key or (isinstance(target, ast.Attribute) and target.attr == name):
                yield value, function

    def of(self, node: ast.expr, function: int, depth: int = 0) -> list[Words]:
        """Return the texts that an expression can evaluate to, an empty list if unknown.

        Args:
            node: The expression.
            function: The function around it.
            depth: The depth of the recursion.
        """
        if not depth:
            self._allowance = _MOST_STEPS
        self._allowance -= 1
        if depth > _LONGEST_CHAIN or self._allowance < 0:
            return []
        found: list[Words] = []
        for one in self._of(node, function, depth + 1):
            if one not in found:
                found.append(one)
        return found[:_MOST_VALUES]

    # -- reading

    def _read(self, tree: ast.Module) -> None:
        waiting: list[tuple[ast.AST, int]] = [(tree, 0)]
        while waiting:
            node, function = waiting.pop()
            inner = function
            if isinstance(node, _FUNCTIONS):
                inner = len(self._outer)
                self._outer[inner] = function
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value, function)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, node.value, function)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._added.setdefault((function, node.target.id), []).append(node.value)
            elif isinstance(node, ast.For | ast.AsyncFor):
                self._assign(node.target, ast.Starred(value=node.iter, ctx=ast.Load()), function)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self._imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Dict):
                self.mappings.append((node, function))
            elif isinstance(node, ast.Call):
                self.calls.append((node, function))
                self._store(node, function)
            children = list(ast.iter_child_nodes(node))
            waiting += [(child, inner) for child in reversed(children)]

    def _assign(self, target: ast.expr, value: ast.expr, function: int) -> None:
        if isinstance(target, ast.Name):
            self._values.setdefault((function, target.id), []).append(value)
        else:
            self.assigned.append((target, value, function))

    def _store(self, node: ast.Call, function: int) -> None:
        """Record ``words.append(x)`` and ``words.extend(xs)``."""
        callee = node.func
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name) and node.args:
            added = self._added.setdefault((function, callee.value.id), [])
            if callee.attr == "append":
                added.append(ast.List(elts=[node.args[0]], ctx=ast.Load()))
            elif callee.attr == "extend":
                added.append(node.args[0])

    # -- expressions

    def _of(self, node: ast.expr, function: int, depth: int) -> list[Words]:
        if isinstance(node, ast.Constant):
            return [str(node.value)] if isinstance(node.value, str | int | float) else []
        if isinstance(node, ast.JoinedStr):
            return self._joined(node, function, depth)
        if isinstance(node, ast.List | ast.Tuple):
            return self._listed(node.elts, function, depth)
        if isinstance(node, ast.Starred):  # the elements that a loop takes
            lists = self.of(node.value, function, depth)
            return [word for words in lists if isinstance(words, tuple) for word in words]
        if isinstance(node, ast.BinOp):
            return self._operated(node, function, depth)
        if isinstance(node, ast.IfExp):
            return [one for n in (node.body, node.orelse) for one in self.of(n, function, depth)]
        if isinstance(node, ast.BoolOp):
            return [one for n in node.values for one in self.of(n, function, depth)]
        if isinstance(node, ast.Name):
            return self._name(node.id, function, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(ast.unparse(node), depth)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.argv":
            return [()] if isinstance(node.slice, ast.Slice) else [HOLE]
        if isinstance(node, ast.Call):
            return self._called(node, function, depth)
        return []

    def _attribute(self, dotted: str, depth: int) -> list[Words]:
        if dotted == "sys.executable":
            return ["python"]
        found = [
            one
            for value, function in self._attributes.get(dotted, ())
            for one in self.of(value, function, depth)
        ]
        return found or [self._imported_from(dotted)]

    @cached_property
    def _attributes(self) -> dict[str, list[tuple[ast.expr, int]]]:
        """The values of attributes, by the attributes' dotted names."""
        found: dict[str, list[tuple[ast.expr, int]]] = {}
        for target, value, function in self.assigned:
            if isinstance(target, ast.Attribute):
                found.setdefault(ast.unparse(target), []).append((value, function))
        return found

    def _imported_from(self, dotted: str) -> str:
        first, _, rest = dotted.partition(".")
        return f"{self._imported[first]}.{rest}" if first in self._imported else HOLE

    def _joined(self, node: ast.JoinedStr, function: int, depth: int) -> list[Words]:
        found = [""]
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            values = [one for one in self.of(inner, function, depth) if isinstance(one, str)]
            found = [before + one for before in found for one in values or [HOLE]][:_MOST_VALUES]
        return list(found)

    def _listed(self, nodes: list[ast.expr], function: int, depth: int) -> list[Words]:
        found: list[tuple[str, ...]] = [()]
        for node in nodes:
            inner = node.value if isinstance(node, ast.Starred) else node
            values = self.of(inner, function, depth) or [HOLE]
            found = [
                (*before, *(one if isinstance(one, tuple) else (one,)))
                for before in found
                for one in values
            ][:_MOST_VALUES]
        return list(found)

    def _operated(self, node: ast.BinOp, function: int, depth: int) -> list[Words]:
        left = self.of(node.left, function, depth)
        if isinstance(node.op, ast.Mod):
            given = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return self._formatted(left, given, function, depth)
        if not isinstance(node.op, ast.Add):
            return []
        right = self.of(node.right, function, depth)
        found: list[Words] = []
        for one in left or [HOLE]:
            for other in right or [() if isinstance(one, tuple) else HOLE]:
                if isinstance(one, tuple) and isinstance(other, tuple):
                    found.append((*one, *other))
                elif isinstance(one, str) and isinstance(other, str):
                    found.append(one + other)
                elif isinstance(other, tuple):
                    found.append(other)
        return found

    def _formatted(
        self, texts: list[Words], given: list[ast.expr], function: int, depth: int
    ) -> list[Words]:
        """Return texts with their holes filled in order; an unknown value stays a hole."""
        found = [one for one in texts if isinstance(one, str)]
        for node in given:
            values = [one for one in self.of(node, function, depth) if isinstance(one, str)]
            found = [
                _FORMATTED.sub(one.replace("\\", r"\\"), text, count=1)
                for text in found
                for one in values or [HOLE]
            ][:_MOST_VALUES]
        return [_FORMATTED.sub(HOLE, text) for text in found]

    def _named(
        self, texts: list[Words], given: list[ast.keyword], function: int, depth: int
    ) -> list[Words]:
        """Return texts with the holes ``{name}`` filled for which a keyword has a known value."""
        found = [one for one in texts if isinstance(one, str)]
        for keyword in given:
            hole = f"{{{keyword.arg}}}"
            if keyword.arg is None or not any(hole in text for text in found):
                continue
            values = [o for o in self.of(keyword.value, function, depth) if isinstance(o, str)]
            found = [text.replace(hole, one) for text in found for one in values or [HOLE]]
        return list(found[:_MOST_VALUES])

    def _name(self, name: str, function: int, depth: int) -> list[Words]:
        while True:
            values = self._values.get((function, name))
            if values is not None:
                break
            if not function:
                return [self._imported[name]] if name in self._imported else []
            function = self._outer[function]
        found = [one for value in values for one in self.of(value, function, depth)]
        for added in self._added.get((function, name), ()):
            more = self.of(added, function, depth)
            if more:
                found = [_sum(one, other) for one in found for other in more][:_MOST_VALUES]
        return found

    def _called(self, node: ast.Call, function: int, depth: int) -> list[Words]:
        callee = node.func
        name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
        if name in _DEFAULTS and len(node.args) > 1:
            return self.of(node.args[1], function, depth)
        if name in ("list", "tuple", "quote", "str") and node.args:
            return self.of(node.args[0], function, depth)
        if name == "split" and isinstance(callee, ast.Attribute):
            of_shlex = isinstance(callee.value, ast.Name) and callee.value.id == "shlex"
            text = node.args[0] if of_shlex and node.args else callee.value
            return [
                tuple(_split(one)) for one in self.of(text, function, depth) if isinstance(one, str)
            ]
        if name == "format" and isinstance(callee, ast.Attribute):
            texts = self.of(callee.value, function, depth)
            texts = self._named(texts, node.keywords, function, depth)
            return self._formatted(texts, node.args, function, depth)
        if name == "join" and isinstance(callee, ast.Attribute) and node.args:
            lists = self.of(node.args[0], function, depth)
            between = self.of(callee.value, function, depth) or [" "]
            return [str(between[0]).join(one) for one in lists if isinstance(one, tuple)]
        return []


def _sum(one: Words, other: Words) -> Words:
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    return (
        *(one if isinstance(one, tuple) else (one,)),
        *(other if isinstance(other, tuple) else (other,)),
    )


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
