"""One module's declarations and calls, small enough to keep for a whole project.

A summary is made in one pass over the ``ast`` and holds tuples, strings and numbers only, so that
it can be pickled and the tree be forgotten. Expressions become nested tuples whose first member is
a tag (the constants below); what can never say which object a call is made on becomes ``None``.

Every statement has a *path*: the indexes of the statement in its block, of the block in its
statement, and so on outwards in. Paths sort in source order, and two of them tell whether one
statement can run before the other (see ``definitions``).
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from typing import Any, NamedTuple, TypeAlias

Path: TypeAlias = tuple[int, ...]

NAME = "name"
ATTRIBUTE = "attribute"
CALL = "call"
STAR = "star"
CONSTANT = "constant"
TUPLE = "tuple"
SEQUENCE = "sequence"
MAPPING = "mapping"
SUBSCRIPT = "subscript"
EITHER = "either"
BOTH = "both"
NOT = "not"
COMPARE = "compare"
BIT_OR = "bit-or"
BIT_AND = "bit-and"
AWAIT = "await"
LAMBDA = "lambda"
COMPREHENSION = "comprehension"
NEGATED = "negated"
SLICE = "slice"
TEXT = "text"

Expr: TypeAlias = Any
"""One of the classes below, or ``None`` for an expression that says nothing."""

Guard: TypeAlias = tuple[Expr, bool]
"""A condition, and whether it holds or fails."""


class NameExpr(NamedTuple):
    """A ``NAME``."""

    tag: str
    identifier: str


class AttributeExpr(NamedTuple):
    """An ``ATTRIBUTE``: ``base.name``."""

    tag: str
    base: Expr
    name: str


class CallExpr(NamedTuple):
    """A ``CALL``."""

    tag: str
    callee: Expr
    positional: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]
    """The name None stands for ``**value``."""


class ConstantExpr(NamedTuple):
    """A ``CONSTANT``; ``1``, ``1.0`` and ``True`` are different expressions."""

    tag: str
    value: Any
    type: str


class InnerExpr(NamedTuple):
    """An expression around one other: ``STAR``, ``AWAIT``, ``NEGATED``, ``NOT``.

    A ``SLICE`` holds none.
    """

    tag: str
    value: Expr


class ElementsExpr(NamedTuple):
    """Several expressions: a ``TUPLE``; a ``SEQUENCE`` is a list or a set.

    ``EITHER`` is a ternary or ``or``, ``BOTH`` is ``and``: each gives one of its values.
    """

    tag: str
    elements: tuple[Expr, ...]


class MappingExpr(NamedTuple):
    """A ``MAPPING``: a dict display, in which ``**other`` has the key None, the value a STAR."""

    tag: str
    items: tuple[tuple[Expr, Expr], ...]


class SubscriptExpr(NamedTuple):
    """A ``SUBSCRIPT``: ``base[key]``."""

    tag: str
    base: Expr
    key: Expr


class OperatorExpr(NamedTuple):
    """``BIT_OR`` for flags, and unions in annotations; ``BIT_AND``."""

    tag: str
    left: Expr
    right: Expr


class CompareExpr(NamedTuple):
    """A ``COMPARE`` of two values."""

    tag: str
    left: Expr
    operator: str
    """As it is written: ``not in``."""
    right: Expr


class LambdaExpr(NamedTuple):
    """A ``LAMBDA``."""

    tag: str
    scope: int


class ComprehensionExpr(NamedTuple):
    """A ``COMPREHENSION``, whose element of a dict is the value."""

    tag: str
    scope: int
    element: Expr
    is_mapping: bool


class TextExpr(NamedTuple):
    """A ``TEXT``: an f-string, or what ``+`` and ``%`` make, as far as it is known."""

    tag: str
    parts: tuple[Expr, ...]
    is_template: bool = False
    """Whether the first part is a template that ``%`` fills with the second."""


def constant(value: object) -> ConstantExpr:
    """Return the expression that is written as a constant."""
    return ConstantExpr(CONSTANT, value, type(value).__name__)


def call_of(
    callee: Expr, positional: tuple[Expr, ...], keywords: tuple[tuple[str | None, Expr], ...] = ()
) -> CallExpr:
    """Return the expression that calls something."""
    return CallExpr(CALL, callee, positional, keywords)


NONE = constant(None)
"""The expression ``None``."""

# What binds a name.
ASSIGNED = "assigned"
UNPACKED = "unpacked"  # detail: the indexes to follow into the value
LOOPED = "looped"  # detail: the indexes to follow into one element
ENTERED = "entered"  # ``with value as name``; detail as for UNPACKED
IMPORTED = "imported"  # value: an ImportedName
STAR_IMPORTED = "star-imported"
PARAMETER = "parameter"  # detail: the position, or None for *args and **kwargs
DEFINED = "defined"  # value: the scope of the function or class
ANNOTATED = "annotated"  # value: the annotation
AUGMENTED = "augmented"  # ``name |= value``
ELEMENT = "element"  # ``name.append(value)``, ``name[key] = value``
OPAQUE = "opaque"  # bound to something that tells nothing

LOOPS = ("while", "for")
"""The kinds of branches that run more than once."""

_LARGEST = 100
"""Bases and exponents are not larger where a power is computed."""
_MOST_PARTS = 6
"""How many parts of a text are kept: its start is what matters."""
_WRONG_IN_STRINGS = sys.version_info < (3, 12)
_STORES = {"append": 0, "add": 0, "appendleft": 0, "put": 0, "put_nowait": 0, "insert": 1}
_STORES["setdefault"] = 1
_HELD_ALONE = "set"
"""The method by which a context variable is given its one value."""
_LISTS = (SEQUENCE, TUPLE, COMPREHENSION)
_MERGES = {"extend", "update"}
_ANY_KEY = ElementsExpr(TUPLE, ())
_SLICE = InnerExpr(SLICE, None)
_EXITS = {"sys.exit", "os._exit", "exit", "quit"}


class ImportedName(NamedTuple):
    """What an import binds a name to."""

    module: str
    name: str | None
    """What is imported from the module; None for the module itself."""
    level: int
    """The number of leading dots."""


class Binding(NamedTuple):
    """One place that gives a name its meaning."""

    kind: str
    value: Expr
    scope: int
    """Where the value is to be understood; the name itself may live further out (``global``)."""
    path: Path
    row: int
    detail: Any = None
    fallback: bool = False
    """Whether it stands in ``except ImportError`` or ``if TYPE_CHECKING``.

    It is only taken where nothing else binds the name.
    """


class Fact(NamedTuple):
    """What a test says of a name, or of an attribute, wherever it has been passed."""

    test: Expr
    """``isinstance(x, T)`` or another call, or ``NONE`` for ``x is None``."""
    holds: bool
    path: Path
    """The path of a block inside which this is so; or of a statement, after which it is so."""

    def reaches(self, use: Path) -> bool:
        """Return whether a statement stands where this is so."""
        depth = len(self.path)
        if depth % 2 == 0:
            return use[:depth] == self.path
        last = depth - 1
        return len(use) > last and use[:last] == self.path[:last] and use[last] > self.path[last]


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
    attributes: dict[tuple[str, str], list[Binding]]
    """What is set on a name of this scope: ``self.x = …`` is (``self``, ``x``)."""
    parameters: list[tuple[str, Expr, Expr, str]]
    """Name, annotation, default, and one of ``positional``, ``keyword``, ``*`` and ``**``."""
    returns: list[tuple[Expr, Path]]
    yields: list[tuple[Expr, Path]]
    decorators: list[Expr]
    bases: list[Expr]
    """A class's bases; keywords such as ``metaclass=`` are left out."""
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
    """For ``try`` statements the number of the ``finally`` block: what is between is one of."""
    complete: dict[Path, int]
    """How many first blocks of a statement there are of which one always runs to its end."""
    facts: dict[str, list[Fact]]
    """What tests say of dotted names."""
    statements: list[tuple[int, int]]
    """First and last row of each statement right in a module's or class's body."""
    is_async: bool = False


class Call(NamedTuple):
    """One call expression, and the statement that it stands in."""

    expression: Expr
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
    awaited: bool
    node: str = "call"
    """``call``; or ``for``, ``with``, ``decorator`` where the language makes the call."""
    quoted: bool = False
    """Whether it stands in an f-string and this Python gets positions in those wrong."""
    guards: tuple[Guard, ...] = ()
    """The conditions inside the statement that hold where the call is made, or fail there."""


class ModuleSummary(NamedTuple):
    """What one file declares and calls."""

    filename: str
    scopes: list[Scope]
    calls: list[Call]
    exports: list[str] | None
    """The names in ``__all__`` where it is a plain list, else None."""


def summarize(filename: str, text: str | bytes) -> ModuleSummary:
    """Read one module.

    Raises:
        SyntaxError: if this interpreter cannot parse it.
        ValueError: if it holds null bytes.
        RecursionError: if it nests deeper than the interpreter allows.
        MemoryError: if the parser's own stack overflows.
    """
    tree = ast.parse(text, filename)
    return _Reader(filename).read(tree)


class _Reader:
    """One pass over one tree. Recursion follows the nesting of the code."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.scopes: list[Scope] = []
        self.calls: list[Call] = []
        self.exports: list[str] | None = None
        self.scope = 0
        self.path: Path = ()
        self.statement = (0, 0)
        self.fallback = False
        self.quoted = False
        self.guards: tuple[Guard, ...] = ()
        self.elsewhere: list[dict[str, int]] = []
        """For each scope the names that ``global`` and ``nonlocal`` bind further out."""

    def read(self, tree: ast.Module) -> ModuleSummary:
        self.open_scope("module", "", (1, sys.maxsize))
        self.block(tree.body, ())
        return ModuleSummary(self.filename, self.scopes, self.calls, self.exports)

    # -- scopes and bindings

    def open_scope(self, kind: str, name: str, rows: tuple[int, int]) -> int:
        index = len(self.scopes)
        parent = self.scope if index else -1
        self.scopes.append(
            Scope(
                kind,
                name,
                parent,
                rows,
                self.path,
                bindings={},
                attributes={},
                parameters=[],
                returns=[],
                yields=[],
                decorators=[],
                bases=[],
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
        )
        self.elsewhere.append({})
        return index

    def bind(self, name: str, kind: str, value: Expr, row: int, detail: Any = None) -> None:
        home = self.elsewhere[self.scope].get(name, self.scope)
        if home == self.scope and self.scopes[home].kind == "comprehension" and kind != LOOPED:
            home = self.function_around(home)  # a walrus binds in the function
        self.scopes[home].bindings.setdefault(name, []).append(
            Binding(kind, value, self.scope, self.path, row, detail, self.fallback)
        )

    def function_around(self, scope: int) -> int:
        while self.scopes[scope].kind == "comprehension":
            scope = self.scopes[scope].parent
        return scope

    def bind_attribute(self, owner: str, name: str, kind: str, value: Expr, row: int) -> None:
        home = self.function_around(self.scope)
        self.scopes[home].attributes.setdefault((owner, name), []).append(
            Binding(kind, value, self.scope, self.path, row, None, self.fallback)
        )

    def bind_target(
        self, target: ast.expr, kind: str, value: Expr, detail: tuple[int, ...] = ()
    ) -> None:
        row = target.lineno
        if isinstance(target, ast.Name):
            if kind == ASSIGNED and detail:
                kind = UNPACKED
            self.bind(target.id, kind, value, row, detail)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for index, element in enumerate(target.elts):
                if isinstance(element, ast.Starred):
                    self.bind_target(element.value, OPAQUE, None)
                else:
                    self.bind_target(element, kind, value, (*detail, index))
        elif isinstance(target, ast.Attribute):
            self.expression(target.value)
            owner = _dotted(target.value)
            if owner is not None:
                if kind == ASSIGNED and detail:
                    self.bind_unpacked_attribute(owner, target.attr, kind, value, row, detail)
                elif kind in (ASSIGNED, ANNOTATED) or kind == OPAQUE:
                    self.bind_attribute(owner, target.attr, kind, value, row)
                else:
                    self.bind_unpacked_attribute(owner, target.attr, kind, value, row, detail)
        elif isinstance(target, ast.Subscript):
            self.expression(target.slice)
            held = value if kind == ASSIGNED and not detail else None
            container, _, attribute = (_dotted(target.value) or "").rpartition(".")
            if attribute == "__dict__" and held is not None:
                if isinstance(target.slice, ast.Constant):
                    self.bind_attribute(container, str(target.slice.value), kind, value, row)
            self.store(target.value, held, row, _key(target.slice))
            self.expression(target.value)

    def bind_unpacked_attribute(
        self, owner: str, name: str, kind: str, value: Expr, row: int, detail: tuple[int, ...]
    ) -> None:
        kind = UNPACKED if kind == ASSIGNED else kind
        home = self.function_around(self.scope)
        self.scopes[home].attributes.setdefault((owner, name), []).append(
            Binding(kind, value, self.scope, self.path, row, detail, self.fallback)
        )

    def store(self, container: ast.expr, value: Expr, row: int, key: Expr = None) -> None:
        """Note that a container that has a name holds a value.

        Args:
            container: What holds it.
            value: What is held.
            row: Where.
            key: For a mapping, the key: ``(CONSTANT, …)``, or another expression.
        """
        if value is None:
            return
        if isinstance(container, ast.Name):
            home = self.home_of(container.id)
            self.scopes[home].bindings.setdefault(container.id, []).append(
                Binding(ELEMENT, value, self.scope, self.path, row, key)
            )
        elif isinstance(container, ast.Attribute):
            owner = _dotted(container.value)
            if owner is not None:
                home = self.function_around(self.scope)
                self.scopes[home].attributes.setdefault((owner, container.attr), []).append(
                    Binding(ELEMENT, value, self.scope, self.path, row, key)
                )
        elif isinstance(container, ast.Subscript):  # a container in a container
            inner = (
                ElementsExpr(SEQUENCE, (value,))
                if key is None
                else MappingExpr(MAPPING, ((key, value),))
            )
            self.store(container.value, inner, row, _key(container.slice))

    def home_of(self, name: str) -> int:
        """The scope whose name a container is: the nearest that has bound it so far."""
        if name in self.elsewhere[self.scope]:
            return self.elsewhere[self.scope][name]
        scope = self.scope
        while scope > 0:
            if name in self.scopes[scope].bindings and self.scopes[scope].kind != "class":
                return scope
            scope = self.scopes[scope].parent
        return 0

    # -- statements

    def block(self, body: list[ast.stmt], prefix: Path) -> None:
        if not prefix and self.scopes[self.scope].kind != "function":
            self.scopes[self.scope].statements.extend(_rows(node) for node in body)
        for index, statement in enumerate(body):
            self.path = (*prefix, index)
            self.statement_(statement)
        if body and self.never_ends(body[-1]):
            self.scopes[self.scope].dead_ends.add(prefix)
        elif body and isinstance(body[-1], (ast.Break, ast.Continue)):
            self.scopes[self.scope].jumps[prefix] = type(body[-1]).__name__.lower()

    def never_ends(self, last: ast.stmt) -> bool:
        if isinstance(last, (ast.Return, ast.Raise)):
            return True
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
            return _dotted(last.value.func) in _EXITS
        return False

    def statement_(self, node: ast.stmt) -> None:
        self.statement = (node.lineno, node.end_lineno or node.lineno)
        handler = _STATEMENTS.get(type(node))
        if handler is not None:
            handler(self, node)

    def branches(self, kind: str, *blocks: list[ast.stmt]) -> None:
        path = self.path
        self.scopes[self.scope].branches[path] = kind
        for number, body in enumerate(blocks):
            self.block(body, (*path, number))
        self.path = path

    def header(self, node: ast.stmt, body: list[ast.stmt]) -> None:
        """A compound statement's own expressions stand on its header's rows."""
        last = max(node.lineno, body[0].lineno - 1) if body else node.lineno
        self.statement = (node.lineno, last)

    def import_(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                value = ImportedName(alias.name, None, 0)
                self.bind(alias.asname, IMPORTED, value, node.lineno)
            else:
                top = alias.name.partition(".")[0]
                self.bind(top, IMPORTED, ImportedName(top, None, 0), node.lineno, alias.name)

    def import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                value = ImportedName(module, None, node.level)
                self.bind("*", STAR_IMPORTED, value, node.lineno)
            else:
                name = alias.asname or alias.name
                value = ImportedName(module, alias.name, node.level)
                self.bind(name, IMPORTED, value, node.lineno)

    def assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        if self.scope == 0 and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            self.exports = _strings(node.value)
        for target in node.targets:
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(
                node.value, (ast.Tuple, ast.List)
            ):
                self.assign_pairwise(target.elts, node.value.elts, value)
            else:
                self.bind_target(target, ASSIGNED, value)

    def assign_pairwise(
        self, targets: list[ast.expr], sources: list[ast.expr], value: Expr
    ) -> None:
        starred = any(isinstance(t, ast.Starred) for t in (*targets, *sources))
        for index, target in enumerate(targets):
            if starred or index >= len(sources):
                self.bind_target(
                    target.value if isinstance(target, ast.Starred) else target, OPAQUE, None
                )
            else:
                self.bind_target(target, ASSIGNED, value.elements[index])

    def annotated(self, node: ast.AnnAssign) -> None:
        annotation = self.quiet(node.annotation)
        self.bind_target(node.target, ANNOTATED, annotation)
        if node.value is not None:
            self.bind_target(node.target, ASSIGNED, self.expression(node.value))

    def type_alias(self, node: Any) -> None:
        self.bind_target(node.name, ASSIGNED, self.quiet(node.value))

    def augmented(self, node: ast.AugAssign) -> None:
        value = self.expression(node.value)
        if isinstance(node.op, ast.Add) and value is not None and value.tag in (SEQUENCE, TUPLE):
            for element in value.elements:
                self.store(node.target, element, node.lineno)
        elif isinstance(node.target, ast.Name):
            kind = AUGMENTED if isinstance(node.op, ast.BitOr) else OPAQUE
            self.bind(node.target.id, kind, value, node.lineno)
        else:
            self.expression(node.target)

    def expression_statement(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def return_(self, node: ast.Return) -> None:
        if node.value is not None:
            self.scopes[self.scope].returns.append((self.expression(node.value), self.path))

    def others(self, node: ast.stmt) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.expression(target)

    def global_(self, node: ast.Global) -> None:
        self.elsewhere[self.scope].update(dict.fromkeys(node.names, 0))

    def nonlocal_(self, node: ast.Nonlocal) -> None:
        outer = self.function_around(self.scopes[self.scope].parent)
        for name in node.names:
            self.elsewhere[self.scope][name] = self.binder_of(name, outer)

    def binder_of(self, name: str, scope: int) -> int:
        """The function that binds a name, from a scope outwards; the first where none does yet."""
        inner = scope
        while scope > 0:
            entry = self.scopes[scope]
            if entry.kind == "function" and name in entry.bindings:
                return scope
            scope = entry.parent
        return inner

    def if_(self, node: ast.If) -> None:
        self.header(node, node.body)
        self.scopes[self.scope].tests[self.path] = self.expression(node.test)
        if node.orelse:
            self.scopes[self.scope].complete[self.path] = 2
        self.note_facts(node.test, True, (*self.path, 0))
        self.note_facts(node.test, False, (*self.path, 1))
        if _leaves(node.body):
            self.note_facts(node.test, False, self.path)
        if _leaves(node.orelse):
            self.note_facts(node.test, True, self.path)
        path, fallback = self.path, self.fallback
        self.scopes[self.scope].branches[path] = "if"
        self.fallback = fallback or (_dotted(node.test) or "").endswith("TYPE_CHECKING")
        self.block(node.body, (*path, 0))
        self.fallback = fallback
        self.block(node.orelse, (*path, 1))
        self.path = path

    def loop(self, node: ast.While) -> None:
        self.header(node, node.body)
        self.scopes[self.scope].tests[self.path] = self.expression(node.test)
        self.note_facts(node.test, True, (*self.path, 0))
        self.branches("while", node.body, node.orelse)

    def for_(self, node: ast.For | ast.AsyncFor) -> None:
        self.header(node, node.body)
        value = self.expression(node.iter)
        if isinstance(node, ast.For):
            self.implicit_call(node.iter, value, "for")
        path = self.path
        # The target is bound at the top of every turn.
        self.path = (*path, 0, -1)
        self.bind_target(node.target, LOOPED, value)
        self.path = path
        self.branches("for", node.body, node.orelse)

    def with_(self, node: ast.With | ast.AsyncWith) -> None:
        self.header(node, node.body)
        for item in node.items:
            value = self.expression(item.context_expr)
            if isinstance(node, ast.With):
                self.implicit_call(item.context_expr, value, "with")
            if item.optional_vars is not None:
                self.bind_target(item.optional_vars, ENTERED, value)
        self.scopes[self.scope].complete[self.path] = 1
        self.branches("with", node.body)

    def implicit_call(self, node: ast.expr, value: Expr, kind: str) -> None:
        """``for`` and ``with`` call methods of their object without a call being written."""
        if value is not None:
            self.note_call(node, value, kind, node.lineno)

    def try_(self, node: Any) -> None:
        path = self.path
        self.scopes[self.scope].branches[path] = "try"
        self.scopes[self.scope].tries[path] = len(node.handlers) + 2
        self.scopes[self.scope].complete[path] = len(node.handlers) + 1
        self.block(node.body, (*path, 0))
        for number, handler in enumerate(node.handlers, 1):
            self.path = (*path, number)
            self.statement = (handler.lineno, handler.lineno)
            if handler.type is not None:
                self.expression(handler.type)
            if handler.name:
                self.bind(handler.name, OPAQUE, None, handler.lineno)
            was, self.fallback = self.fallback, _catches_import(handler.type)
            self.block(handler.body, (*path, number))
            self.fallback = was
        self.block(node.orelse, (*path, len(node.handlers) + 1))
        self.block(node.finalbody, (*path, len(node.handlers) + 2))
        self.path = path

    def match(self, node: Any) -> None:
        self.header(node, node.cases[0].body)
        subject = self.expression(node.subject)
        path = self.path
        self.scopes[self.scope].branches[path] = "if"
        last = node.cases[-1]
        anything = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        if anything and last.guard is None:
            self.scopes[self.scope].complete[path] = len(node.cases)
        for number, case in enumerate(node.cases):
            self.path = (*path, number, -1)
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    whole = pattern is case.pattern
                    self.bind(name, ASSIGNED if whole else OPAQUE, subject, case.pattern.lineno)
            self.note_pattern(case.pattern, node.subject, (*path, number))
            if case.guard is not None:
                self.expression(case.guard)
            self.block(case.body, (*path, number))
        self.path = path

    def note_pattern(self, pattern: ast.pattern, subject: ast.expr, block: Path) -> None:
        """``case Type():`` says what the subject is, and what ``as`` names."""
        named = pattern.name if isinstance(pattern, ast.MatchAs) else None
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
            pattern = pattern.pattern
        if isinstance(pattern, ast.MatchClass):
            subjects = [subject]
            if named is not None:
                subjects.append(ast.Name(named, ast.Load()))
            for one in subjects:
                test = (self.quiet(one), self.quiet(pattern.cls))
                self.note_fact(one, call_of(NameExpr(NAME, "isinstance"), test), True, block)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.header(node, node.body)
        decorators = [self.expression(d) for d in node.decorator_list]
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        for decorator, value in zip(node.decorator_list, decorators, strict=True):
            if value is not None:
                self.note_call(decorator, value, "decorator", decorator.lineno)
        parameters = self.parameters(node.args)
        annotation = [self.quiet(node.returns)] if node.returns is not None else []
        index = self.open_scope("function", node.name, (first, node.end_lineno or first))
        self.bind(node.name, DEFINED, index, node.lineno)
        self.scopes[index] = self.scopes[index]._replace(
            decorators=decorators,
            parameters=parameters,
            annotation=annotation,
            is_async=isinstance(node, ast.AsyncFunctionDef),
        )
        self.inside(index, parameters, node.body, node.lineno)

    def inside(
        self, index: int, parameters: list[tuple[str, Expr, Expr, str]], body: Any, row: int
    ) -> None:
        """Read a function's body in its own scope."""
        scope, path, statement, fallback = self.scope, self.path, self.statement, self.fallback
        guards, self.guards = self.guards, ()
        self.scope, self.path, self.fallback = index, (-1,), False
        for position, (name, _, _, _) in enumerate(parameters):
            self.bind(name, PARAMETER, None, row, position)
        if isinstance(body, list):
            self.block(body, ())
        else:
            self.path = (0,)
            self.scopes[index].returns.append((self.expression(body), self.path))
        self.scope, self.path, self.statement = scope, path, statement
        self.fallback, self.guards = fallback, guards

    def parameters(self, args: ast.arguments) -> list[tuple[str, Expr, Expr, str]]:
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
        defaults += args.defaults
        found = []
        for arg, default in zip(positional, defaults, strict=True):
            found.append(self.parameter(arg, default, "positional"))
        if args.vararg:
            found.append(self.parameter(args.vararg, None, "*"))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            found.append(self.parameter(arg, default, "keyword"))
        if args.kwarg:
            found.append(self.parameter(args.kwarg, None, "**"))
        return found

    def parameter(
        self, arg: ast.arg, default: ast.expr | None, kind: str
    ) -> tuple[str, Expr, Expr, str]:
        annotation = self.quiet(arg.annotation) if arg.annotation is not None else None
        return (arg.arg, annotation, self.expression(default) if default else None, kind)

    def class_(self, node: ast.ClassDef) -> None:
        self.header(node, node.body)
        decorators = [self.expression(d) for d in node.decorator_list]
        bases = [self.expression(b) for b in node.bases]
        for keyword in node.keywords:
            self.expression(keyword.value)
        index = self.open_scope("class", node.name, (node.lineno, node.end_lineno or node.lineno))
        self.bind(node.name, DEFINED, index, node.lineno)
        self.scopes[index] = self.scopes[index]._replace(decorators=decorators, bases=bases)
        scope, path, statement = self.scope, self.path, self.statement
        self.scope = index
        self.block(node.body, ())
        self.scope, self.path, self.statement = scope, path, statement

    # -- expressions

    def quiet(self, node: ast.expr | None) -> Expr:
        """An annotation: read like an expression, but nothing in it is called."""
        calls, self.calls = self.calls, []
        value = self.expression(node) if node is not None else None
        self.calls = calls
        return value

    def expression(self, node: ast.expr) -> Expr:
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)
        return None

    def joined(self, node: ast.JoinedStr) -> Expr:
        """An f-string: what is read of it is how it starts; calls can stand anywhere in it."""
        quoted, self.quoted = self.quoted, _WRONG_IN_STRINGS
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                parts.append(self.expression(part.value))
                if part.format_spec is not None:
                    self.expression(part.format_spec)
            else:
                parts.append(self.expression(part))
        self.quoted = quoted
        return TextExpr(TEXT, tuple(parts[:_MOST_PARTS]))

    def name(self, node: ast.Name) -> Expr:
        return NameExpr(NAME, node.id)

    def constant(self, node: ast.Constant) -> Expr:
        value = node.value
        if isinstance(value, (str, bytes)) and len(value) > 200:
            return None
        return constant(None if value is Ellipsis else value)

    def attribute(self, node: ast.Attribute) -> Expr:
        base = self.expression(node.value)
        if base is None or base.tag == TEXT:
            return None
        return AttributeExpr(ATTRIBUTE, base, node.attr)

    def call(self, node: ast.Call) -> Expr:
        callee = self.expression(node.func)
        positional = tuple(self.expression(a) for a in node.args)
        keywords = tuple((k.arg, self.expression(k.value)) for k in node.keywords)
        if isinstance(node.func, ast.Attribute) and node.args:
            self.note_store(node.func, positional, node.lineno)
        value = CallExpr(CALL, callee, positional, keywords)
        self.note_setattr(node, positional)
        if callee is not None:
            self.note_call(node, value, "call", node.func.end_lineno or node.lineno)
        return value

    def assert_(self, node: ast.Assert) -> None:
        self.others(node)
        self.note_facts(node.test, True, self.path)

    def note_facts(self, test: ast.expr, holds: bool, path: Path) -> None:
        """Note what is known where a test has come out one way."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.note_facts(test.operand, not holds, path)
        elif isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is holds:
                for part in test.values:
                    self.note_facts(part, holds, path)
        elif isinstance(test, ast.Call) and test.args and not test.keywords:
            called = (_dotted(test.func) or "").rpartition(".")[2].lstrip("_")
            if called.startswith("is") and all(isinstance(a, _SIMPLE) for a in test.args):
                arguments = tuple(self.quiet(_named(one)) for one in test.args)
                self.note_fact(test.args[0], call_of(self.quiet(test.func), arguments), holds, path)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            self.note_comparison(test, holds, path)

    def note_comparison(self, test: ast.Compare, holds: bool, path: Path) -> None:
        left, operator, right = test.left, test.ops[0], test.comparators[0]
        if isinstance(operator, (ast.IsNot, ast.NotEq)):
            holds = not holds
        elif not isinstance(operator, (ast.Is, ast.Eq)):
            return
        if isinstance(right, ast.Constant) and right.value is None:
            self.note_fact(left, NONE, holds, path)
        elif isinstance(left, ast.Call) and _dotted(left.func) == "type" and len(left.args) == 1:
            known = (self.quiet(left.args[0]), self.quiet(right))
            is_type = call_of(NameExpr(NAME, "isinstance"), known)
            if holds:
                self.note_fact(left.args[0], is_type, holds, path)

    def note_fact(self, subject: ast.expr, test: Expr, holds: bool, path: Path) -> None:
        name = _dotted(_named(subject))
        if name is not None:
            scope = self.scopes[self.function_around(self.scope)]
            scope.facts.setdefault(name, []).append(Fact(test, holds, path))

    def note_call(self, node: ast.expr, value: Expr, kind: str, name_row: int) -> None:
        self.calls.append(
            Call(
                value,
                self.scope,
                self.path,
                node.lineno,
                node.col_offset,
                node.end_lineno or node.lineno,
                node.end_col_offset or 0,
                name_row,
                self.statement,
                False,
                kind,
                self.quoted,
                self.guards,
            )
        )

    def note_setattr(self, node: ast.Call, positional: tuple[Expr, ...]) -> None:
        """``setattr(x, "name", value)``, ``object.__setattr__(self, "name", value)``."""
        if len(positional) == 3 and not node.keywords:
            if _dotted(node.func) == "setattr" or getattr(node.func, "attr", "") == "__setattr__":
                owner, name = _dotted(node.args[0]), node.args[1]
                if owner is not None and isinstance(name, ast.Constant):
                    self.bind_attribute(
                        owner, str(name.value), ASSIGNED, positional[2], node.lineno
                    )

    def note_store(self, func: ast.Attribute, positional: tuple[Expr, ...], row: int) -> None:
        if func.attr in _STORES and len(positional) > _STORES[func.attr]:
            key = (positional[0] or _ANY_KEY) if func.attr == "setdefault" else None
            self.store(func.value, positional[_STORES[func.attr]], row, key)
        elif func.attr == _HELD_ALONE and len(positional) == 1:
            self.store(func.value, positional[0], row)
        elif func.attr in _MERGES:
            merged = positional[0]
            if merged is not None and merged.tag in (SEQUENCE, TUPLE):
                for element in merged.elements:
                    self.store(func.value, element, row)
            elif merged is not None and merged.tag == MAPPING:
                for key, value in merged.items:
                    if value is not None and value.tag != STAR:
                        self.store(func.value, value, row, key or _ANY_KEY)

    def await_(self, node: ast.Await) -> Expr:
        before = len(self.calls)
        value = self.expression(node.value)
        if len(self.calls) > before and isinstance(node.value, ast.Call):
            self.calls[-1] = self.calls[-1]._replace(awaited=True)
        return None if value is None else InnerExpr(AWAIT, value)

    def tuple(self, node: ast.Tuple) -> Expr:
        return ElementsExpr(TUPLE, tuple(self.expression(e) for e in node.elts))

    def sequence(self, node: ast.List | ast.Set) -> Expr:
        return ElementsExpr(SEQUENCE, tuple(self.expression(e) for e in node.elts))

    def mapping(self, node: ast.Dict) -> Expr:
        return MappingExpr(
            MAPPING,
            tuple(
                (self.expression(k), self.expression(v))
                if k is not None
                else (None, InnerExpr(STAR, self.expression(v)))
                for k, v in zip(node.keys, node.values, strict=True)
            ),
        )

    def subscript(self, node: ast.Subscript) -> Expr:
        base, key = self.expression(node.value), self.expression(node.slice)
        if isinstance(node.slice, ast.Slice):
            key = _SLICE
        return None if base is None else SubscriptExpr(SUBSCRIPT, base, key)

    def ternary(self, node: ast.IfExp) -> Expr:
        test = self.expression(node.test)
        body = self.guarded(node.body, (test, True))
        return ElementsExpr(EITHER, (body, self.guarded(node.orelse, (test, False))))

    def guarded(self, node: ast.expr, *guards: Guard) -> Expr:
        """Read what is only evaluated where conditions hold, or where they fail."""
        around = self.guards
        self.guards = (*around, *(guard for guard in guards if guard[0] is not None))
        value = self.expression(node)
        self.guards = around
        return value

    def bool_op(self, node: ast.BoolOp) -> Expr:
        holds = isinstance(node.op, ast.And)
        values: list[Expr] = []
        for part in node.values:
            values.append(self.guarded(part, *((value, holds) for value in values)))
        return ElementsExpr(BOTH if holds else EITHER, tuple(values))

    def compare(self, node: ast.Compare) -> Expr:
        left, *others = [self.expression(part) for part in (node.left, *node.comparators)]
        if len(others) > 1:
            return None
        return CompareExpr(COMPARE, left, _OPERATORS[type(node.ops[0])], others[0])

    def bin_op(self, node: ast.BinOp) -> Expr:
        left, right = self.expression(node.left), self.expression(node.right)
        number = _computed(node.op, left, right)
        if number is not None:
            return constant(number)
        if isinstance(node.op, ast.BitOr):
            return OperatorExpr(BIT_OR, left, right)
        if isinstance(node.op, ast.BitAnd):
            return OperatorExpr(BIT_AND, left, right)
        if isinstance(node.op, ast.Add):
            return _joined(left, right)
        if isinstance(node.op, ast.Mod) and left is not None and left.tag == CONSTANT:
            if isinstance(left.value, str):
                return TextExpr(TEXT, (left, right), is_template=True)
        return None

    def unary(self, node: ast.UnaryOp) -> Expr:
        value = self.expression(node.operand)
        if value is None:
            return None
        if isinstance(node.op, ast.Not):
            return InnerExpr(NOT, value)
        return InnerExpr(NEGATED, value) if isinstance(node.op, ast.USub) else None

    def walrus(self, node: ast.NamedExpr) -> Expr:
        value = self.expression(node.value)
        self.bind(node.target.id, ASSIGNED, value, node.lineno)
        return value

    def starred(self, node: ast.Starred) -> Expr:
        return InnerExpr(STAR, self.expression(node.value))

    def lambda_(self, node: ast.Lambda) -> Expr:
        parameters = self.parameters(node.args)
        index = self.open_scope("lambda", "<lambda>", (node.lineno, node.end_lineno or node.lineno))
        self.scopes[index] = self.scopes[index]._replace(parameters=parameters)
        calls_statement = self.statement
        self.inside(index, parameters, node.body, node.lineno)
        self.statement = calls_statement
        return LambdaExpr(LAMBDA, index)

    def comprehension(self, node: Any) -> Expr:
        rows = (node.lineno, node.end_lineno or node.lineno)
        first = self.expression(node.generators[0].iter)
        index = self.open_scope("comprehension", "", rows)
        scope, path, self.scope = self.scope, self.path, index
        guards = self.guards
        for number, generator in enumerate(node.generators):
            value = first if number == 0 else self.expression(generator.iter)
            self.bind_target(generator.target, LOOPED, value)
            for condition in generator.ifs:
                self.guards = (*self.guards, (self.expression(condition), True))
        if isinstance(node, ast.DictComp):
            self.expression(node.key)
            element = self.expression(node.value)
        else:
            element = self.expression(node.elt)
        self.scope, self.path, self.guards = scope, path, guards
        return ComprehensionExpr(COMPREHENSION, index, element, isinstance(node, ast.DictComp))

    def yield_(self, node: ast.Yield) -> Expr:
        value = self.expression(node.value) if node.value is not None else None
        self.scopes[self.function_around(self.scope)].yields.append((value, self.path))
        return None

    def yield_from(self, node: ast.YieldFrom) -> Expr:
        value = self.expression(node.value)
        if value is not None:
            self.scopes[self.function_around(self.scope)].yields.append(
                (InnerExpr(STAR, value), self.path)
            )
        return None


def _computed(operator: ast.operator, left: Expr, right: Expr) -> int | float | None:
    """Return the result of arithmetic with two numbers, if it is small: ``60 * 60``."""
    if left is None or right is None or left.tag != CONSTANT or right.tag != CONSTANT:
        return None
    one, other = left.value, right.value
    if type(one) not in (int, float) or type(other) not in (int, float):
        return None
    if isinstance(operator, ast.Mult):
        return one * other  # type: ignore[no-any-return]
    if isinstance(operator, ast.Add):
        return one + other  # type: ignore[no-any-return]
    if isinstance(operator, ast.Sub):
        return one - other  # type: ignore[no-any-return]
    if isinstance(operator, ast.Div) and other:
        return one / other  # type: ignore[no-any-return]
    if isinstance(operator, ast.Pow) and 0 <= other <= _LARGEST and abs(one) <= _LARGEST:
        return one**other  # type: ignore[no-any-return]
    return None


def _joined(left: Expr, right: Expr) -> Expr:
    """``left + right`` where either is known to be a text."""
    if left is not None and left.tag == TEXT and not left.is_template:
        return TextExpr(TEXT, (*left.parts, right)[:_MOST_PARTS])
    if any(one is not None and (_is_text(one) or one.tag == TEXT) for one in (left, right)):
        return TextExpr(TEXT, (left, right))
    if any(one is not None and one.tag in _LISTS for one in (left, right)):
        return ElementsExpr(EITHER, (left, right))
    return None


def _is_text(value: Expr) -> bool:
    return bool(value.tag == CONSTANT) and isinstance(value.value, str)


def _rows(node: ast.stmt) -> tuple[int, int]:
    """A statement's rows, with its decorators'."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)]), node.end_lineno or node.lineno


def _dotted(node: ast.expr) -> str | None:
    """``a.b.c`` of names and attributes, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


_SIMPLE = (ast.Name, ast.Attribute, ast.Tuple, ast.BinOp, ast.NamedExpr)
"""Arguments that can be read twice: they bind nothing, and open no scope."""


def _named(node: ast.expr) -> ast.expr:
    """Return the name in ``(name := value)``, else the expression itself."""
    return node.target if isinstance(node, ast.NamedExpr) else node


def _leaves(body: list[ast.stmt]) -> bool:
    """Return whether what stands behind a statement does not run after one of its blocks."""
    last = body[-1] if body else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return _dotted(last.value.func) in _EXITS
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _key(node: ast.expr) -> Expr:
    """A subscript where something is stored: the constant, or anything."""
    return constant(node.value) if isinstance(node, ast.Constant) else _ANY_KEY


def _strings(node: ast.expr) -> list[str] | None:
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    values = [e.value for e in node.elts if isinstance(e, ast.Constant)]
    names = [v for v in values if isinstance(v, str)]
    return names if len(names) == len(node.elts) else None


def _catches_import(node: ast.expr | None) -> bool:
    names = node.elts if isinstance(node, ast.Tuple) else [node] if node else []
    found = {_dotted(n) for n in names}
    return node is None or bool(
        found & {"ImportError", "ModuleNotFoundError", "Exception", "AttributeError"}
    )


_STATEMENTS: dict[type[ast.AST], Any] = {
    ast.Import: _Reader.import_,
    ast.ImportFrom: _Reader.import_from,
    ast.Assign: _Reader.assign,
    ast.AnnAssign: _Reader.annotated,
    ast.AugAssign: _Reader.augmented,
    ast.Expr: _Reader.expression_statement,
    ast.Return: _Reader.return_,
    ast.Raise: _Reader.others,
    ast.Assert: _Reader.assert_,
    ast.Delete: _Reader.delete,
    ast.Global: _Reader.global_,
    ast.Nonlocal: _Reader.nonlocal_,
    ast.If: _Reader.if_,
    ast.While: _Reader.loop,
    ast.For: _Reader.for_,
    ast.AsyncFor: _Reader.for_,
    ast.With: _Reader.with_,
    ast.AsyncWith: _Reader.with_,
    ast.Try: _Reader.try_,
    ast.Match: _Reader.match,
    ast.FunctionDef: _Reader.function,
    ast.AsyncFunctionDef: _Reader.function,
    ast.ClassDef: _Reader.class_,
}
if sys.version_info >= (3, 11):
    _STATEMENTS[ast.TryStar] = _Reader.try_
if sys.version_info >= (3, 12):
    _STATEMENTS[ast.TypeAlias] = _Reader.type_alias

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_EXPRESSIONS: dict[type[ast.AST], Any] = {
    ast.Name: _Reader.name,
    ast.Constant: _Reader.constant,
    ast.JoinedStr: _Reader.joined,
    ast.Attribute: _Reader.attribute,
    ast.Call: _Reader.call,
    ast.Await: _Reader.await_,
    ast.Tuple: _Reader.tuple,
    ast.List: _Reader.sequence,
    ast.Set: _Reader.sequence,
    ast.Dict: _Reader.mapping,
    ast.Subscript: _Reader.subscript,
    ast.IfExp: _Reader.ternary,
    ast.BoolOp: _Reader.bool_op,
    ast.Compare: _Reader.compare,
    ast.BinOp: _Reader.bin_op,
    ast.UnaryOp: _Reader.unary,
    ast.NamedExpr: _Reader.walrus,
    ast.Starred: _Reader.starred,
    ast.Lambda: _Reader.lambda_,
    ast.ListComp: _Reader.comprehension,
    ast.SetComp: _Reader.comprehension,
    ast.GeneratorExp: _Reader.comprehension,
    ast.DictComp: _Reader.comprehension,
    ast.Yield: _Reader.yield_,
    ast.YieldFrom: _Reader.yield_from,
}


@cache
def read_annotation(text: str) -> Expr:
    """The expression in a quoted annotation, or None if it is none."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    reader = _Reader("")
    reader.open_scope("module", "", (1, 1))
    return reader.expression(tree.body)
