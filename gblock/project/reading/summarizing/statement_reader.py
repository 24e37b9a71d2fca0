"""The reader of statements: blocks, branches, definitions and imports."""

from __future__ import annotations

import ast
import sys
from typing import Any, ClassVar

from gblock.project.reading import former_names
from gblock.project.reading.bindings import (
    ADDED,
    ANNOTATED,
    ASSIGNED,
    AUGMENTED,
    ENTERED,
    LOOPED,
    OPAQUE,
    ImportedName,
    Path,
    ValueKind,
)
from gblock.project.reading.expressions import (
    ATTRIBUTE,
    CALL,
    LAMBDA,
    MAPPING,
    NAME,
    SEQUENCE,
    STAR,
    SUBSCRIPT,
    TUPLE,
    AttributeExpr,
    ElementsExpr,
    Expr,
    SubscriptExpr,
    constant,
)
from gblock.project.reading.summarizing.fact_reader import FactReader
from gblock.project.reading.summarizing.nodes import (
    catches_import,
    leaves,
    name_of,
    never_ends,
    rows_of,
    strings_of,
)
from gblock.project.reading.summary import ModuleSummary, Returned

_CALLABLE = (NAME, ATTRIBUTE, LAMBDA)
_MERGING = (ast.Add, ast.BitOr)
"""The operators with which a container takes over what another one holds."""
_CONTAINING = (NAME, ATTRIBUTE, CALL, SUBSCRIPT, MAPPING, SEQUENCE, TUPLE)
"""The expressions that may be a container."""
_MATCHED_WHOLE = frozenset(
    "bool bytearray bytes dict float frozenset int list set str tuple".split()
)
"""The classes whose pattern with one position matches the value itself (PEP 634)."""


class StatementReader(FactReader):
    """Visits one tree once; recursion follows the nesting of the code."""

    def read(self, tree: ast.Module) -> ModuleSummary:
        """Return the summary of a module."""
        self._open_scope("module", "", (1, sys.maxsize))
        self._block(tree.body, ())
        return ModuleSummary(self.filename, self.scopes, self.calls, self.exports, self.options)

    def _block(self, body: list[ast.stmt], prefix: Path) -> None:
        if not prefix and self.scopes[self.scope].kind != "function":
            self.scopes[self.scope].statements.extend(rows_of(node) for node in body)
        for index, statement in enumerate(body):
            self.path = (*prefix, index)
            self._statement(statement)
        if body and never_ends(body[-1]):
            self.scopes[self.scope].dead_ends.add(prefix)
        elif body and isinstance(body[-1], (ast.Break, ast.Continue)):
            self.scopes[self.scope].jumps[prefix] = type(body[-1]).__name__.lower()

    def _statement(self, node: ast.stmt) -> None:
        self.statement = (node.lineno, node.end_lineno or node.lineno)
        handler = self._handlers.get(type(node))
        if handler is not None:
            handler(self, node)

    def _branches(self, kind: str, *blocks: list[ast.stmt]) -> None:
        path = self.path
        self.scopes[self.scope].branches[path] = kind
        for number, body in enumerate(blocks):
            self._block(body, (*path, number))
        self.path = path

    def header(self, node: ast.stmt, body: list[ast.stmt]) -> None:
        """Set the rows of a compound statement's own expressions to those of its header."""
        last = max(node.lineno, body[0].lineno - 1) if body else node.lineno
        self.statement = (node.lineno, last)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                value = ImportedName(former_names.current(alias.name), None, 0)
                self._bind_import(alias.asname, value, node.lineno)
            else:
                top = alias.name.partition(".")[0]
                self._bind_import(top, ImportedName(top, None, 0), node.lineno, alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = former_names.current(node.module or "")
        for alias in node.names:
            original = alias.name if alias.name != "*" else None
            value = ImportedName(module, original, node.level)
            self._bind_import(alias.asname or alias.name, value, node.lineno)

    def _assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        if self.scope == 0 and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            self.exports = strings_of(node.value)
        for target in node.targets:
            is_ordered = isinstance(node.value, (ast.Tuple, ast.List))
            if is_ordered and value is not None and value.tag in (TUPLE, SEQUENCE):
                if isinstance(target, (ast.Tuple, ast.List)):
                    self._assign_pairwise(target.elts, value.elements)
                    continue
            self._bind_target(target, ASSIGNED, value)

    def _assign_pairwise(self, targets: list[ast.expr], values: tuple[Expr, ...]) -> None:
        starred = any(one is not None and one.tag == STAR for one in values)
        rest = next((i for i, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
        shift = len(values) - len(targets)
        for index, target in enumerate(targets):
            if isinstance(target, ast.Starred):
                taken = ElementsExpr(SEQUENCE, values[index : index + shift + 1])
                self._bind_target(target.value, ASSIGNED, None if starred else taken)
                continue
            at = index if rest is None or index < rest else index + shift
            if starred or not 0 <= at < len(values):
                self._bind_target(target, OPAQUE, None)
            else:
                self._bind_target(target, ASSIGNED, values[at])

    def _annotated(self, node: ast.AnnAssign) -> None:
        annotation = self.quiet(node.annotation)
        self._bind_target(node.target, ANNOTATED, annotation)
        if node.value is not None:
            self._bind_target(node.target, ASSIGNED, self.expression(node.value))

    def _type_alias(self, node: Any) -> None:
        self._bind_target(node.name, ASSIGNED, self.quiet(node.value))

    def _augmented(self, node: ast.AugAssign) -> None:
        value = self.expression(node.value)
        if isinstance(node.op, ast.Add) and value is not None and value.tag in (SEQUENCE, TUPLE):
            self.store_all(node.target, value.elements, node.lineno)
        elif isinstance(node.target, ast.Name):
            kind: ValueKind = AUGMENTED if isinstance(node.op, ast.BitOr) else OPAQUE
            detail = ADDED if isinstance(node.op, ast.Add) else None
            self._bind(node.target.id, kind, value, node.lineno, detail)
            if isinstance(node.op, _MERGING) and value is not None and value.tag in _CONTAINING:
                self.extend(node.target, value, node.lineno)
        else:
            if isinstance(node.op, _MERGING) and value is not None and value.tag in _CONTAINING:
                self.extend(node.target, value, node.lineno)
            if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Attribute):
                owner = name_of(node.target.value)
                if owner is not None and value is not None and value.tag in _CALLABLE:
                    self._bind_attribute(owner, node.target.attr, AUGMENTED, value, node.lineno)
            self.expression(node.target)

    def _expression_statement(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.scopes[self.scope].returns.append(Returned(self.expression(node.value), self.path))

    def _others(self, node: ast.stmt) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.expression(target)

    def _global(self, node: ast.Global) -> None:
        self.elsewhere[self.scope].update(dict.fromkeys(node.names, 0))

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        outer = self._function_around(self.scopes[self.scope].parent)
        for name in node.names:
            self.elsewhere[self.scope][name] = self.binder_of(name, outer)

    def binder_of(self, name: str, scope: int) -> int:
        """Return the function that binds a name, from a scope outwards; by default the first."""
        inner = scope
        while scope > 0:
            entry = self.scopes[scope]
            if entry.kind == "function" and name in entry.bindings:
                return scope
            scope = entry.parent
        return inner

    def _if(self, node: ast.If) -> None:
        self.header(node, node.body)
        self.scopes[self.scope].tests[self.path] = self.expression(node.test)
        if node.orelse:
            self.scopes[self.scope].complete[self.path] = 2
        self.note_facts(node.test, True, (*self.path, 0))
        self.note_facts(node.test, False, (*self.path, 1))
        if leaves(node.body):
            self.note_facts(node.test, False, self.path)
        if leaves(node.orelse):
            self.note_facts(node.test, True, self.path)
        path, fallback = self.path, self.fallback
        self.scopes[self.scope].branches[path] = "if"
        self.fallback = fallback or (name_of(node.test) or "").endswith("TYPE_CHECKING")
        self._block(node.body, (*path, 0))
        self.fallback = fallback
        self._block(node.orelse, (*path, 1))
        self.path = path

    def _loop(self, node: ast.While) -> None:
        self.header(node, node.body)
        self.scopes[self.scope].tests[self.path] = self.expression(node.test)
        self.note_facts(node.test, True, (*self.path, 0))
        self._branches("while", node.body, node.orelse)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.header(node, node.body)
        value = self.expression(node.iter)
        if isinstance(node, ast.For):
            self.implicit_call(node.iter, value, "for")
        path = self.path
        # The target is bound at the start of every iteration.
        self.path = (*path, 0, -1)
        self._bind_target(node.target, LOOPED, value)
        self.path = path
        self._branches("for", node.body, node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        self.header(node, node.body)
        for item in node.items:
            value = self.expression(item.context_expr)
            if isinstance(node, ast.With):
                self.implicit_call(item.context_expr, value, "with")
            if item.optional_vars is not None:
                self._bind_target(item.optional_vars, ENTERED, value)
        self.scopes[self.scope].complete[self.path] = 1
        self._branches("with", node.body)

    def _try(self, node: ast.Try) -> None:
        path = self.path
        self.scopes[self.scope].branches[path] = "try"
        self.scopes[self.scope].tries[path] = len(node.handlers) + 2
        self.scopes[self.scope].complete[path] = len(node.handlers) + 1
        self._block(node.body, (*path, 0))
        for number, handler in enumerate(node.handlers, 1):
            self.path = (*path, number)
            self.statement = (handler.lineno, handler.lineno)
            if handler.type is not None:
                self.expression(handler.type)
            if handler.name:
                self._bind(handler.name, OPAQUE, None, handler.lineno)
            was, self.fallback = self.fallback, catches_import(handler.type)
            self._block(handler.body, (*path, number))
            self.fallback = was
        self._block(node.orelse, (*path, len(node.handlers) + 1))
        self._block(node.finalbody, (*path, len(node.handlers) + 2))
        self.path = path

    def _match(self, node: ast.Match) -> None:
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
            self._captured(case.pattern, subject)
            self.note_pattern(case.pattern, node.subject, (*path, number))
            if case.guard is not None:
                self.expression(case.guard)
            self._block(case.body, (*path, number))
        self.path = path

    def _captured(self, pattern: ast.pattern, value: Expr) -> None:
        """Bind the names of a pattern to the parts of a value that they stand for."""
        match pattern:
            case ast.MatchAs(pattern=inner, name=name):
                if inner is not None:
                    self._captured(inner, value)
                self._bind_captured(name, value, pattern)
            case ast.MatchOr(patterns=patterns):
                for one in patterns:
                    self._captured(one, value)
            case ast.MatchStar(name=name):
                self._bind_captured(name, None, pattern)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                for key, one in zip(keys, patterns, strict=True):
                    self._captured(one, SubscriptExpr(SUBSCRIPT, value, self.quiet(key)))
                self._bind_captured(rest, value, pattern)
            case ast.MatchSequence(patterns=patterns):
                star = next(
                    (i for i, one in enumerate(patterns) if isinstance(one, ast.MatchStar)), None
                )
                for index, one in enumerate(patterns):
                    is_after = star is not None and index > star
                    at = constant(index - len(patterns) if is_after else index)
                    self._captured(one, SubscriptExpr(SUBSCRIPT, value, at))
            case ast.MatchClass():
                # A builtin class has one position, the value itself; others have fields there.
                is_itself = name_of(pattern.cls) in _MATCHED_WHOLE
                for one in pattern.patterns:
                    self._captured(one, value if is_itself else None)
                for name, one in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
                    self._captured(one, AttributeExpr(ATTRIBUTE, value, name))

    def _bind_captured(self, name: str | None, value: Expr, pattern: ast.pattern) -> None:
        if name is not None:
            self._bind(name, OPAQUE if value is None else ASSIGNED, value, pattern.lineno)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.header(node, node.body)
        decorators = [self.expression(d) for d in node.decorator_list]
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        for decorator, value in zip(node.decorator_list, decorators, strict=True):
            self.implicit_call(decorator, value, "decorator")
        parameters = self._parameters(node.args)
        annotation = [self.quiet(node.returns)] if node.returns is not None else []
        index = self._open_scope("function", node.name, (first, node.end_lineno or first))
        self._bind_definition(node.name, index, node.lineno)
        self.scopes[index] = self.scopes[index]._replace(
            decorators=decorators,
            parameters=parameters,
            annotation=annotation,
            is_async=isinstance(node, ast.AsyncFunctionDef),
        )
        self.inside(index, parameters, node.lineno, lambda: self._block(node.body, ()))

    def _class(self, node: ast.ClassDef) -> None:
        self.header(node, node.body)
        decorators = [self.expression(d) for d in node.decorator_list]
        bases = [self.expression(b) for b in node.bases]
        keywords = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords}
        index = self._open_scope("class", node.name, (node.lineno, node.end_lineno or node.lineno))
        self._bind_definition(node.name, index, node.lineno)
        self.scopes[index] = self.scopes[index]._replace(
            decorators=decorators, bases=bases, metaclass=keywords.get("metaclass")
        )
        scope, path, statement = self.scope, self.path, self.statement
        self.scope = index
        self._block(node.body, ())
        self.scope, self.path, self.statement = scope, path, statement

    def _assert(self, node: ast.Assert) -> None:
        self._others(node)
        self.note_facts(node.test, True, self.path)

    _handlers: ClassVar[dict[type[ast.AST], Any]] = {
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _augmented,
        ast.Expr: _expression_statement,
        ast.Return: _return,
        ast.Raise: _others,
        ast.Assert: _assert,
        ast.Delete: _delete,
        ast.Global: _global,
        ast.Nonlocal: _nonlocal,
        ast.If: _if,
        ast.While: _loop,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.Match: _match,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
    }
    if sys.version_info >= (3, 11):
        _handlers[ast.TryStar] = _try
    if sys.version_info >= (3, 12):
        _handlers[ast.TypeAlias] = _type_alias
