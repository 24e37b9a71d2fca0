"""The reader of expressions: their tuples, their calls, and the targets that they are bound to."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeGuard

from gblock.project.reading.bindings import (
    ABSORBED,
    ANNOTATED,
    ANY_NAME,
    ASSIGNED,
    ELEMENT,
    EXTENDED,
    IN_DISPLAY,
    LOOPED,
    MERGED,
    OPAQUE,
    PARAMETER,
    REST,
    UNPACKED,
    ValueBinding,
    ValueKind,
)
from gblock.project.reading.expressions import (
    ATTRIBUTE,
    AWAIT,
    BIT_AND,
    BIT_OR,
    BOTH,
    CALL,
    COMPARE,
    COMPREHENSION,
    CONSTANT,
    EITHER,
    LAMBDA,
    LISTS,
    MAPPING,
    NAME,
    NEGATED,
    NOT,
    SEQUENCE,
    SLICE,
    STAR,
    SUBSCRIPT,
    SUM,
    TEXT,
    TUPLE,
    AttributeExpr,
    CallExpr,
    CompareExpr,
    ComprehensionExpr,
    ElementsExpr,
    Expr,
    InnerExpr,
    LambdaExpr,
    MappingExpr,
    NameExpr,
    OperatorExpr,
    SubscriptExpr,
    TextExpr,
    constant,
)
from gblock.project.reading.summarizing.nodes import ANY_KEY, key_of, name_of
from gblock.project.reading.summarizing.scope_recorder import ScopeRecorder
from gblock.project.reading.summary import Call, Guard, ImplicitCall, Implied, Parameter, Returned

_LARGEST = 100
"""Bases and exponents are not larger where a power is computed."""
_MOST_PARTS = 60
"""At most this many parts of a text or of a sum are kept; a last one stands for the others."""
_LONG = 200
"""Characters; a longer text is kept only if it may be a command's, and not longer than a script."""
_LONGEST = 8000
_COMMANDS = re.compile(r"gunicorn|celery|uwsgi|locust|dramatiq|huey_consumer|rqworker|python")
"""The programs whose commands are looked for in long texts."""
_WRONG_IN_STRINGS = sys.version_info < (3, 12)
_STORES = {"append": 0, "add": 0, "appendleft": 0, "put": 0, "put_nowait": 0, "insert": 1}
_STORES["setdefault"] = 1
_HELD_ALONE = "set"
"""The method by which a context variable is given its one value."""
_MERGES = {"extend", "update"}
_VARIABLES = (NAME, ATTRIBUTE, CALL)
_SLICE = InnerExpr(SLICE, None)
_HOLDING = (ast.Name, ast.Attribute, ast.Call)
"""The objects whose subscripts are recorded as calls; of other subscripts, those that read."""
_SUBSCRIPTS: dict[type[ast.expr_context], Implied] = {
    ast.Load: "item",
    ast.Store: "set-item",
    ast.Del: "del-item",
}


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


class ExpressionReader(ScopeRecorder):
    """Visits expressions; recursion follows the nesting of the code."""

    def quiet(self, node: ast.expr | None) -> Expr:
        """Return an annotation's expression without recording calls in it."""
        calls, self.calls = self.calls, []
        value = self.expression(node) if node is not None else None
        self.calls = calls
        return value

    def alone(self, node: ast.expr) -> Expr:
        """Return an expression that belongs to no module."""
        self._open_scope("module", "", (1, 1))
        return self.expression(node)

    def expression(self, node: ast.expr) -> Expr:
        """Return an expression's tuple, and record the calls in it."""
        handler = self._forms.get(type(node))
        if handler is not None:
            return handler(self, node)  # type: ignore[no-any-return]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)
        return None

    def _bind_target(
        self, target: ast.expr, kind: ValueKind, value: Expr, detail: tuple[int, ...] = ()
    ) -> None:
        row = target.lineno
        if isinstance(target, ast.Name):
            if kind == ASSIGNED and detail:
                kind = UNPACKED
            self._bind(target.id, kind, value, row, detail)
        elif isinstance(target, (ast.Tuple, ast.List)):
            rest = False
            for index, element in enumerate(target.elts):
                if isinstance(element, ast.Starred):
                    rest = True
                    self._bind_target(element.value, kind, value, (*detail, REST))
                elif rest:
                    from_end = index - len(target.elts) + REST
                    self._bind_target(element, kind, value, (*detail, from_end))
                else:
                    self._bind_target(element, kind, value, (*detail, index))
        elif isinstance(target, ast.Attribute):
            self.expression(target.value)
            owner = name_of(target.value)
            if target.attr in self.named_options and kind == ASSIGNED and not detail:
                self.give(target.attr, value, row)
            if owner is not None:
                if target.attr == "__dict__" and kind == ASSIGNED and not detail:
                    self._bind_attribute(owner, ANY_NAME, MERGED, value, row)
                plain = kind in (ASSIGNED, ANNOTATED, OPAQUE) and not detail
                self._bind_attribute(
                    owner, target.attr, kind, value, row, None if plain else detail
                )
        elif isinstance(target, ast.Subscript):
            self.expression(target.slice)
            held = value if kind == ASSIGNED and not detail else None
            container, _, attribute = (name_of(target.value) or "").rpartition(".")
            if attribute == "__dict__" and held is not None:
                if isinstance(target.slice, ast.Constant):
                    self._bind_attribute(container, str(target.slice.value), kind, value, row)
            if _is_call_of(target.value, "globals") and isinstance(target.slice, ast.Constant):
                self.scopes[0].bindings.setdefault(str(target.slice.value), []).append(
                    ValueBinding(ASSIGNED, held, self.scope, self.path, row, None, self.fallback)
                )
            self.store(target.value, held, row, key_of(target.slice))
            self.implicit_call(target, self.expression(target.value), "set-item")
            if self.named_options and isinstance(target.slice, ast.Constant) and kind == ASSIGNED:
                self.give(target.slice.value, held, row)

    def inside(
        self,
        index: int,
        parameters: list[Parameter],
        row: int,
        body: Callable[[], None],
    ) -> None:
        """Visit a function's body in its own scope."""
        scope, path, statement, fallback = self.scope, self.path, self.statement, self.fallback
        guards, self.guards = self.guards, ()
        self.scope, self.path, self.fallback = index, (-1,), False
        for position, one in enumerate(parameters):
            self._bind(one.name, PARAMETER, None, row, position)
        body()
        self.scope, self.path, self.statement = scope, path, statement
        self.fallback, self.guards = fallback, guards

    def _parameters(self, args: ast.arguments) -> list[Parameter]:
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
        defaults += args.defaults
        found = []
        for arg, default in zip(positional, defaults, strict=True):
            found.append(self._parameter(arg, default, "positional"))
        if args.vararg:
            found.append(self._parameter(args.vararg, None, "*"))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            found.append(self._parameter(arg, default, "keyword"))
        if args.kwarg:
            found.append(self._parameter(args.kwarg, None, "**"))
        return found

    def _parameter(self, arg: ast.arg, default: ast.expr | None, kind: str) -> Parameter:
        annotation = self.quiet(arg.annotation) if arg.annotation is not None else None
        value = self.expression(default) if default else None
        return Parameter(arg.arg, annotation, value, kind)

    def joined(self, node: ast.JoinedStr) -> Expr:
        """Return an f-string's known start, and record the calls anywhere in it."""
        quoted, self.quoted = self.quoted, _WRONG_IN_STRINGS
        in_command, self.in_command = self.in_command, self.in_command or _is_command(node)
        parts: list[Expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                parts.append(self.expression(part.value))
                if part.format_spec is not None:
                    self.expression(part.format_spec)
            else:
                parts.append(self.expression(part))
        self.quoted, self.in_command = quoted, in_command
        return TextExpr(TEXT, _bounded(parts))

    def _name(self, node: ast.Name) -> Expr:
        return NameExpr(NAME, node.id)

    def _constant(self, node: ast.Constant) -> Expr:
        value = node.value
        if isinstance(value, (str, bytes)) and len(value) > _LONG:
            if not isinstance(value, str) or len(value) > _LONGEST:
                return None
            if not (self.in_command or _COMMANDS.search(value)):
                return None
        return constant(None if value is Ellipsis else value)

    def _attribute(self, node: ast.Attribute) -> Expr:
        base = self.expression(node.value)
        if base is None:
            return None
        return AttributeExpr(ATTRIBUTE, base, node.attr)

    def _call(self, node: ast.Call) -> Expr:
        callee = self.expression(node.func)
        positional = tuple(self.expression(a) for a in node.args)
        keywords = tuple((k.arg, self.expression(k.value)) for k in node.keywords)
        if isinstance(node.func, ast.Attribute):
            if node.args:
                self._note_store(node.func, positional, node.lineno)
            if node.func.attr == "update":
                self._note_update(node.func, keywords, node.lineno)
                self._note_members(node.func.value, positional, keywords, node.lineno)
        if self.named_options:
            self._note_options(node, positional, keywords)
        value = CallExpr(CALL, callee, positional, keywords)
        self.note_setattr(node, positional)
        if callee is not None:
            self._note_call(node, value)
        return value

    def _note_options(
        self,
        node: ast.Call,
        positional: tuple[Expr, ...],
        keywords: tuple[tuple[str | None, Expr], ...],
    ) -> None:
        """Record the options that a call gives: by keyword, or as ``set(name, value)``."""
        for keyword, (name, value) in zip(node.keywords, keywords, strict=True):
            if name is not None:
                self.give(name, value, keyword.value.lineno)
        if len(positional) > 1 and isinstance(node.args[0], ast.Constant):
            self.give(node.args[0].value, positional[1], node.args[1].lineno)

    def _note_call(self, node: ast.Call, value: CallExpr) -> None:
        self.calls.append(
            Call(
                value,
                self.scope,
                self.path,
                node.lineno,
                node.col_offset,
                node.end_lineno or node.lineno,
                node.end_col_offset or 0,
                node.func.end_lineno or node.lineno,
                self.statement,
                CALL,
                self.quoted,
                self.guards,
            )
        )

    def implicit_call(self, node: ast.expr, value: Expr, kind: Implied) -> None:
        """Record the method calls of ``for``, ``yield from``, ``with`` or a subscript."""
        if value is None:
            return
        self.calls.append(
            ImplicitCall(
                value,
                self.scope,
                self.path,
                node.lineno,
                node.col_offset,
                node.end_lineno or node.lineno,
                node.end_col_offset or 0,
                node.lineno,
                self.statement,
                kind,
                self.quoted,
                self.guards,
            )
        )

    def note_setattr(self, node: ast.Call, positional: tuple[Expr, ...]) -> None:
        """Record ``setattr(x, "name", value)`` and ``object.__setattr__(self, "name", value)``."""
        if len(positional) == 3 and not node.keywords:
            if name_of(node.func) == "setattr" or getattr(node.func, "attr", "") == "__setattr__":
                owner, name, row = name_of(node.args[0]), node.args[1], node.lineno
                if owner is not None and isinstance(name, ast.Constant):
                    self._bind_attribute(owner, str(name.value), ASSIGNED, positional[2], row)
                elif owner is not None and positional[1] is not None:
                    self._bind_attribute(
                        owner, ANY_NAME, ELEMENT, positional[2], row, positional[1]
                    )

    def _note_members(
        self,
        container: ast.expr,
        positional: tuple[Expr, ...],
        keywords: tuple[tuple[str | None, Expr], ...],
        row: int,
    ) -> None:
        """Record ``vars(x).update(values)`` and ``x.__dict__.update(name=value)``."""
        owner = None
        if isinstance(container, ast.Attribute) and container.attr == "__dict__":
            owner = name_of(container.value)
        elif _is_call_of(container, "vars") and container.args:
            owner = name_of(container.args[0])
        if owner is None:
            return
        for name, value in (*((None, one) for one in positional), *keywords):
            if name is not None:
                self._bind_attribute(owner, name, ASSIGNED, value, row)
            elif value is not None:
                self._bind_attribute(owner, ANY_NAME, MERGED, value, row)

    def _note_update(
        self, func: ast.Attribute, keywords: tuple[tuple[str | None, Expr], ...], row: int
    ) -> None:
        """Record ``options.update(name=value)``."""
        for name, value in keywords:
            if name is not None:
                self.store(func.value, value, row, constant(name))

    def _note_store(self, func: ast.Attribute, positional: tuple[Expr, ...], row: int) -> None:
        if func.attr in _STORES and len(positional) > _STORES[func.attr]:
            key = (positional[0] or ANY_KEY) if func.attr == "setdefault" else None
            self.store(func.value, positional[_STORES[func.attr]], row, key)
        elif func.attr == _HELD_ALONE and len(positional) == 1:
            self.store(func.value, positional[0], row)
        elif func.attr in _MERGES:
            merged = positional[0]
            if merged is not None and merged.tag in (SEQUENCE, TUPLE):
                self.store_all(func.value, merged.elements, row)
            elif merged is not None and merged.tag == MAPPING:
                for key, value in merged.items:
                    if value is not None and value.tag != STAR:
                        self.store(func.value, value, row, key or ANY_KEY)
            elif merged is not None:
                self.extend(
                    func.value, merged, row, EXTENDED if func.attr == "extend" else ABSORBED
                )

    def _await(self, node: ast.Await) -> Expr:
        value = self.expression(node.value)
        return None if value is None else InnerExpr(AWAIT, value)

    def _tuple(self, node: ast.Tuple) -> Expr:
        return ElementsExpr(TUPLE, tuple(self.expression(e) for e in node.elts))

    def _sequence(self, node: ast.List | ast.Set) -> Expr:
        return ElementsExpr(SEQUENCE, tuple(self.expression(e) for e in node.elts))

    def _mapping(self, node: ast.Dict) -> Expr:
        items = tuple(
            (self.expression(k), self.expression(v))
            if k is not None
            else (None, InnerExpr(STAR, self.expression(v)))
            for k, v in zip(node.keys, node.values, strict=True)
        )
        if self.named_options:
            for (key, value), written in zip(items, node.values, strict=True):
                if key is not None and key.tag == CONSTANT:
                    self.give(key.value, value, written.lineno, IN_DISPLAY)
        return MappingExpr(MAPPING, items)

    def _subscript(self, node: ast.Subscript) -> Expr:
        base, key = self.expression(node.value), self.expression(node.slice)
        if isinstance(node.slice, ast.Slice):
            key = _SLICE
        is_inner = isinstance(node.value, ast.Subscript) and _reads_all(node.slice)
        if is_inner or isinstance(node.value, _HOLDING):
            self.implicit_call(node, base, _SUBSCRIPTS[type(node.ctx)])
        return None if base is None else SubscriptExpr(SUBSCRIPT, base, key)

    def _ternary(self, node: ast.IfExp) -> Expr:
        # A chain is one choice among all its members: nested, its depth would be the reader's.
        members: list[Expr] = []
        failed: list[Guard] = []
        rest: ast.expr = node
        while isinstance(rest, ast.IfExp):
            test = self.guarded(rest.test, *failed)
            members.append(self.guarded(rest.body, *failed, (test, True)))
            failed.append((test, False))
            rest = rest.orelse
        members.append(self.guarded(rest, *failed))
        return ElementsExpr(EITHER, tuple(members))

    def guarded(self, node: ast.expr, *guards: Guard) -> Expr:
        """Visit an expression whose operands are evaluated only if conditions hold, or fail."""
        around = self.guards
        self.guards = (*around, *(guard for guard in guards if guard[0] is not None))
        value = self.expression(node)
        self.guards = around
        return value

    def _bool_op(self, node: ast.BoolOp) -> Expr:
        holds = isinstance(node.op, ast.And)
        values: list[Expr] = []
        for part in node.values:
            values.append(self.guarded(part, *((value, holds) for value in values)))
        return ElementsExpr(BOTH if holds else EITHER, tuple(values))

    def _compare(self, node: ast.Compare) -> Expr:
        left, *others = [self.expression(part) for part in (node.left, *node.comparators)]
        if len(others) > 1:
            return None
        return CompareExpr(COMPARE, left, _OPERATORS[type(node.ops[0])], others[0])

    def _bin_op(self, node: ast.BinOp) -> Expr:
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

    def _unary(self, node: ast.UnaryOp) -> Expr:
        value = self.expression(node.operand)
        if value is None:
            return None
        if isinstance(node.op, ast.Not):
            return InnerExpr(NOT, value)
        return InnerExpr(NEGATED, value) if isinstance(node.op, ast.USub) else None

    def _walrus(self, node: ast.NamedExpr) -> Expr:
        value = self.expression(node.value)
        self._bind(node.target.id, ASSIGNED, value, node.lineno)
        return value

    def _starred(self, node: ast.Starred) -> Expr:
        return InnerExpr(STAR, self.expression(node.value))

    def _lambda(self, node: ast.Lambda) -> Expr:
        parameters = self._parameters(node.args)
        index = self._open_scope(
            "lambda", "<lambda>", (node.lineno, node.end_lineno or node.lineno)
        )
        self.scopes[index] = self.scopes[index]._replace(parameters=parameters)
        calls_statement = self.statement
        self.inside(index, parameters, node.lineno, lambda: self.returned(node.body))
        self.statement = calls_statement
        return LambdaExpr(LAMBDA, index)

    def returned(self, value: ast.expr) -> None:
        """Record what a lambda returns, as the only statement of its body."""
        self.path = (0,)
        self.scopes[self.scope].returns.append(Returned(self.expression(value), self.path))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Expr:
        rows = (node.lineno, node.end_lineno or node.lineno)
        first = self.expression(node.generators[0].iter)
        index = self._open_scope("comprehension", "", rows)
        scope, path, self.scope = self.scope, self.path, index
        guards = self.guards
        for number, generator in enumerate(node.generators):
            value = first if number == 0 else self.expression(generator.iter)
            if not generator.is_async:
                self.implicit_call(generator.iter, value, "for")
            self._bind_target(generator.target, LOOPED, value)
            for condition in generator.ifs:
                self.guards = (*self.guards, (self.expression(condition), True))
        if isinstance(node, ast.DictComp):
            self.expression(node.key)
            element = self.expression(node.value)
        else:
            element = self.expression(node.elt)
        self.scope, self.path, self.guards = scope, path, guards
        return ComprehensionExpr(COMPREHENSION, index, element, isinstance(node, ast.DictComp))

    def _yield(self, node: ast.Yield) -> Expr:
        value = self.expression(node.value) if node.value is not None else None
        self.scopes[self._function_around(self.scope)].yields.append(Returned(value, self.path))
        return None

    def _yield_from(self, node: ast.YieldFrom) -> Expr:
        value = self.expression(node.value)
        if value is not None:
            self.implicit_call(node.value, value, "for")
            self.scopes[self._function_around(self.scope)].yields.append(
                Returned(InnerExpr(STAR, value), self.path)
            )
        return None

    _forms: ClassVar[dict[type[ast.AST], Any]] = {
        ast.Name: _name,
        ast.Constant: _constant,
        ast.JoinedStr: joined,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.Await: _await,
        ast.Tuple: _tuple,
        ast.List: _sequence,
        ast.Set: _sequence,
        ast.Dict: _mapping,
        ast.Subscript: _subscript,
        ast.IfExp: _ternary,
        ast.BoolOp: _bool_op,
        ast.Compare: _compare,
        ast.BinOp: _bin_op,
        ast.UnaryOp: _unary,
        ast.NamedExpr: _walrus,
        ast.Starred: _starred,
        ast.Lambda: _lambda,
        ast.ListComp: _comprehension,
        ast.SetComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.DictComp: _comprehension,
        ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
    }


def _is_call_of(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    """Return whether a node calls a function of this name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _computed(operator: ast.operator, left: Expr, right: Expr) -> int | float | complex | None:
    """Return the result of arithmetic with two numbers, if it is small: ``60 * 60``."""
    if left is None or right is None or left.tag != CONSTANT or right.tag != CONSTANT:
        return None
    one, other = left.value, right.value
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return None
    if isinstance(one, bool) or isinstance(other, bool):
        return None
    with suppress(OverflowError):  # an integer and a float
        if isinstance(operator, ast.Mult):
            return one * other
        if isinstance(operator, ast.Add):
            return one + other
        if isinstance(operator, ast.Sub):
            return one - other
        if isinstance(operator, ast.Div) and other:
            return one / other
        if isinstance(operator, ast.Pow) and 0 <= other <= _LARGEST and abs(one) <= _LARGEST:
            return one**other
    return None


def _joined(left: Expr, right: Expr) -> Expr:
    """Return ``left + right`` if either is known to be a text."""
    if left is not None and left.tag == TEXT and not left.is_template:
        return TextExpr(TEXT, _bounded((*left.parts, right)))
    if any(_is_text(one) for one in (left, right)):
        return TextExpr(TEXT, (left, right))
    if left is not None and left.tag == SUM:
        return ElementsExpr(SUM, _bounded((*left.elements, right)))
    if any(one is not None and one.tag in (*LISTS, SUM) for one in (left, right)):
        return ElementsExpr(SUM, (left, right))
    if all(one is not None and one.tag in _VARIABLES for one in (left, right)):
        return ElementsExpr(SUM, (left, right))
    return None


def _bounded(parts: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return parts of a text or of a sum; of too many the first, and a last one for the others."""
    if len(parts) <= _MOST_PARTS:
        return tuple(parts)
    return (*parts[: _MOST_PARTS - 1], None)


def _is_command(node: ast.JoinedStr) -> bool:
    """Return whether an f-string has long pieces, and names a program in one of its pieces."""
    pieces = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
    if all(len(piece) <= _LONG for piece in pieces):
        return False
    return any(_COMMANDS.search(piece) for piece in pieces)


def _is_text(value: Expr) -> bool:
    if value is None:
        return False
    return value.tag == TEXT or (value.tag == CONSTANT and isinstance(value.value, str))


def _reads_all(key: ast.expr) -> bool:
    """Return whether a subscript reads a part of an array: ``[:]``, ``[0, :]``, ``[()]``."""
    if isinstance(key, ast.Tuple):
        return not key.elts or any(map(_reads_all, key.elts))
    return isinstance(key, ast.Slice) or (isinstance(key, ast.Constant) and key.value is ...)
