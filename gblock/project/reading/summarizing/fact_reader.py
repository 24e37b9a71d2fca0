"""The reader of tests: the facts about names that hold where a test has passed or failed."""

from __future__ import annotations

import ast

from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import NAME, NONE, Expr, NameExpr, call_of
from gblock.project.reading.summarizing.expression_reader import ExpressionReader
from gblock.project.reading.summarizing.nodes import name_of, named
from gblock.project.reading.summary import Fact

_SIMPLE = (ast.Name, ast.Attribute, ast.Tuple, ast.BinOp, ast.NamedExpr)
"""Arguments that can be read twice: they bind nothing, and open no scope."""


class FactReader(ExpressionReader):
    """Records the facts that follow from the outcome of a test."""

    def note_facts(self, test: ast.expr, holds: bool, path: Path) -> None:
        """Record the facts that follow from the outcome of a test."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.note_facts(test.operand, not holds, path)
        elif isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is holds:
                for part in test.values:
                    self.note_facts(part, holds, path)
        elif isinstance(test, ast.Call) and test.args and not test.keywords:
            called = (name_of(test.func) or "").rpartition(".")[2].lstrip("_")
            if called.startswith("is") and all(isinstance(a, _SIMPLE) for a in test.args):
                arguments = tuple(self.quiet(named(one)) for one in test.args)
                self._note_fact(
                    test.args[0], call_of(self.quiet(test.func), arguments), holds, path
                )
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            self._note_comparison(test, holds, path)

    def _note_comparison(self, test: ast.Compare, holds: bool, path: Path) -> None:
        left, operator, right = test.left, test.ops[0], test.comparators[0]
        if isinstance(operator, (ast.IsNot, ast.NotEq)):
            holds = not holds
        elif not isinstance(operator, (ast.Is, ast.Eq)):
            return
        if isinstance(right, ast.Constant) and right.value is None:
            self._note_fact(left, NONE, holds, path)
        elif isinstance(left, ast.Call) and name_of(left.func) == "type" and len(left.args) == 1:
            known = (self.quiet(left.args[0]), self.quiet(right))
            is_type = call_of(NameExpr(NAME, "isinstance"), known)
            if holds:
                self._note_fact(left.args[0], is_type, holds, path)

    def _note_fact(self, subject: ast.expr, test: Expr, holds: bool, path: Path) -> None:
        name = name_of(named(subject))
        if name is not None:
            scope = self.scopes[self._function_around(self.scope)]
            scope.facts.setdefault(name, []).append(Fact(test, holds, path))

    def note_pattern(self, pattern: ast.pattern, subject: ast.expr, block: Path) -> None:
        """Record the type test of ``case Type():`` for the subject and for the ``as`` name."""
        named = pattern.name if isinstance(pattern, ast.MatchAs) else None
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
            pattern = pattern.pattern
        if isinstance(pattern, ast.MatchClass):
            subjects = [subject]
            if named is not None:
                subjects.append(ast.Name(named, ast.Load()))
            for one in subjects:
                test = (self.quiet(one), self.quiet(pattern.cls))
                self._note_fact(one, call_of(NameExpr(NAME, "isinstance"), test), True, block)
