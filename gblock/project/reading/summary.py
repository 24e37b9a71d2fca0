"""Summaries: one module's declarations and calls, small enough to keep for a whole project.

A summary holds plain containers, strings and numbers, so it can be pickled and the tree discarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from gblock.project.reading.bindings import (
    STAR_IMPORTED,
    Binding,
    ImportBinding,
    Path,
    ValueBinding,
)
from gblock.project.reading.expressions import CallExpr, Expr

Guard: TypeAlias = tuple[Expr, bool]
"""A condition, and whether it holds or fails."""

OPTIONS = ("command", "worker_class", "async_mode")
"""Options that name a command or a server's way of working; code may give them in any form."""
LOOPS = ("while", "for")
"""The kinds of branches that run more than once."""


class Fact(NamedTuple):
    """The outcome of a test of a name or attribute, and the statements that it dominates."""

    test: Expr
    """``isinstance(x, T)`` or another call, or ``NONE`` for ``x is None``."""
    holds: bool
    path: Path
    """The path of a block inside which this is so; or of a statement, after which it is so."""

    def reaches(self, use: Path) -> bool:
        """Return whether the fact holds at a statement."""
        depth = len(self.path)
        if depth % 2 == 0:
            return use[:depth] == self.path
        last = depth - 1
        return len(use) > last and use[:last] == self.path[:last] and use[last] > self.path[last]


class Parameter(NamedTuple):
    """A parameter of a function."""

    name: str
    annotation: Expr
    default: Expr
    kind: str
    """``positional``, ``keyword``, ``*`` or ``**``."""


class Returned(NamedTuple):
    """A returned or yielded expression."""

    value: Expr
    path: Path
    """The path of its statement."""


class Scope(NamedTuple):
    """A module, class, function, lambda or comprehension."""

    kind: str
    """``module``, ``class``, ``function``, ``lambda`` or ``comprehension``."""
    name: str
    parent: int
    rows: tuple[int, int]
    path: Path
    """The path of the definition in the parent scope."""
    bindings: dict[str, list[Binding]]
    attributes: dict[tuple[str, str], list[ValueBinding]]
    """Assignments to attributes of names: ``self.x = …`` is (``self``, ``x``)."""
    parameters: list[Parameter]
    returns: list[Returned]
    yields: list[Returned]
    decorators: list[Expr]
    bases: list[Expr]
    """A class's bases."""
    metaclass: Expr
    annotation: list[Expr]
    """The annotation of what a function returns, if any."""
    branches: dict[Path, str]
    """Compound statements by path: ``if``, ``while``, ``for``, ``try``, ``with``"""
    tests: dict[Path, Expr]
    """The condition of the ``if`` and ``while`` statements."""
    dead_ends: set[Path]
    """Blocks that end in ``return`` or ``raise``: what they bind does not get out of them."""
    jumps: dict[Path, str]
    """Blocks that end in ``break`` or ``continue``, and which of the two."""
    tries: dict[Path, int]
    """The index of the ``finally`` block of ``try`` statements; earlier blocks are alternatives."""
    complete: dict[Path, int]
    """The number of leading blocks of a statement of which exactly one runs."""
    facts: dict[str, list[Fact]]
    """The facts about dotted names that tests establish."""
    statements: list[tuple[int, int]]
    """The first and last row of each statement directly in a module's or class's body."""
    is_async: bool = False

    def bound(self) -> Iterator[tuple[str, Sequence[Binding]]]:
        """Yield the names and the attributes that the scope binds, with the bindings of each."""
        yield from self.bindings.items()
        for (_, name), bindings in self.attributes.items():
            yield name, bindings

    @classmethod
    def empty(cls, kind: str, name: str, parent: int, rows: tuple[int, int], path: Path) -> Scope:
        """Return a scope that declares nothing yet."""
        return cls(
            kind,
            name,
            parent,
            rows,
            path,
            bindings={},
            attributes={},
            parameters=[],
            returns=[],
            yields=[],
            decorators=[],
            bases=[],
            metaclass=None,
            annotation=[],
            branches={},
            tests={},
            dead_ends=set(),
            jumps={},
            tries={},
            complete={},
            facts={},
            statements=[],
        )


class Call(NamedTuple):
    """One call expression, and its statement."""

    expression: CallExpr
    scope: int
    path: Path
    row: int
    column: int
    """In bytes of UTF-8, as ``ast`` counts; from 0."""
    end_row: int
    end_column: int
    name_row: int
    """The row of the called name, which a chain of calls may have further down."""
    statement: tuple[int, int]
    """First and last row of the innermost simple statement, or of a compound one's header."""
    node: Literal["call"] = "call"
    quoted: bool = False
    """True if it is in an f-string, whose positions this Python reports wrongly."""
    guards: tuple[Guard, ...] = ()
    """The conditions inside the statement that hold where the call is made, or fail there."""


Implied: TypeAlias = Literal["for", "with", "decorator", "item", "set-item", "del-item"]
"""The syntax of a call that is not written; the last three are subscripts."""


class ImplicitCall(NamedTuple):
    """One call that the language makes; the other fields are as in a written call's."""

    expression: Expr
    """The expression that it is made on."""
    scope: int
    path: Path
    row: int
    column: int
    end_row: int
    end_column: int
    name_row: int
    statement: tuple[int, int]
    node: Implied
    quoted: bool = False
    guards: tuple[Guard, ...] = ()


AnyCall: TypeAlias = Call | ImplicitCall
"""A call, distinguished by ``node``."""


class ModuleSummary(NamedTuple):
    """The declarations and calls of one file."""

    filename: str
    scopes: list[Scope]
    calls: list[AnyCall]
    exports: list[str] | None
    """The names in ``__all__`` where it is a plain list, else None."""
    options: dict[str, list[ValueBinding]]
    """The values that `OPTIONS` are given: in a dict display, as a keyword argument, by an
    assignment to a subscript or an attribute, by ``set(name, value)``. The row is the value's."""

    @property
    def star_imports(self) -> list[ImportBinding]:
        """The statements ``from module import *`` of the module, in source order."""
        bindings = self.scopes[0].bindings.get("*", ())
        return [binding for binding in bindings if binding.kind == STAR_IMPORTED]

    def function_around(self, scope: int) -> int:
        """Return the function around a scope, or 0 for the module; classes run with the module."""
        while scope > 0 and self.scopes[scope].kind not in ("function", "lambda"):
            scope = self.scopes[scope].parent
        return scope

    def class_around(self, scope: int) -> int:
        """Return the innermost class around a scope, or 0 if there is none."""
        while scope > 0 and self.scopes[scope].kind != "class":
            scope = self.scopes[scope].parent
        return scope

    def binding(self, name: str, scope: int) -> int:
        """Return the innermost scope around another one that binds a name, or 0."""
        while scope > 0 and name not in self.scopes[scope].bindings:
            scope = self.scopes[scope].parent
        return scope

    def frame(self, scope: int) -> int:
        """Return the scope whose statements contain a comprehension, or the scope itself."""
        while self.scopes[scope].kind == "comprehension":
            scope = self.scopes[scope].parent
        return scope

    def is_within(self, scope: int, outer: int) -> bool:
        """Return whether a scope is another one or is inside it."""
        while scope > 0 and scope != outer:
            scope = self.scopes[scope].parent
        return scope == outer


def hollow(path: str, former: ModuleSummary | None = None) -> ModuleSummary:
    """Return the summary of a file that cannot be read: it calls and binds nothing.

    Args:
        path: The file.
        former: Its summary so far; the numbers of its scopes and parameters stay valid.
    """
    if former is None:
        return ModuleSummary(path, [Scope.empty("module", "", -1, (1, 1), ())], [], None, {})
    scopes = [
        Scope.empty(one.kind, one.name, one.parent, one.rows, one.path)._replace(
            parameters=[Parameter(p.name, None, None, p.kind) for p in one.parameters]
        )
        for one in former.scopes
    ]
    return ModuleSummary(path, scopes, [], None, {})
