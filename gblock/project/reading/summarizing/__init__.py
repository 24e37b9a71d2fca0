"""Summarizing: one pass over a module's ``ast`` that makes its summary."""

from __future__ import annotations

import ast
from functools import cache

from gblock.project.reading.expressions import Expr
from gblock.project.reading.parsing import UNPARSABLE, Quiet, parse
from gblock.project.reading.summarizing.expression_reader import ExpressionReader
from gblock.project.reading.summarizing.statement_reader import StatementReader
from gblock.project.reading.summary import OPTIONS, ModuleSummary


def summarize(filename: str, text: str | bytes) -> ModuleSummary:
    """Return the summary of one module.

    Raises:
        SyntaxError: if this interpreter cannot parse it.
        ValueError: if it contains null bytes.
        RecursionError: if it nests deeper than the interpreter allows.
        MemoryError: if the parser's own stack overflows.
    """
    data = text.encode(errors="replace") if isinstance(text, str) else text
    options = frozenset(one for one in OPTIONS if one.encode() in data)
    return StatementReader(filename, options).read(parse(text, filename))


@cache
def read_annotation(text: str) -> Expr:
    """Return the expression in a quoted annotation, None if it cannot be parsed."""
    try:
        with Quiet():
            tree = ast.parse(text.strip(), mode="eval")
    except UNPARSABLE:
        return None
    return ExpressionReader("").alone(tree.body)
