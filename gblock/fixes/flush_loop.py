"""``producer.flush()``: a loop that polls and sleeps until the queue is empty or time is up."""

from __future__ import annotations

import ast

from gblock.fixes import calls, imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.calls import CallInFile
    from gblock.fixes.tree import ParsedFile

_DEADLINE = "deadline"


def edits(
    diagnostic: Diagnostic, repair: Repair, tree_of: Callable[[str], ParsedFile | None]
) -> list[Edit] | None:
    """Return the edits, None where the result or the timeout cannot be kept."""
    place = calls.place(diagnostic, tree_of(diagnostic.filename))
    if place is None:
        return None
    tree, call, statement = place.tree, place.call, place.statement
    function, limit = call.func, calls.bound(call, repair)
    if limit is None or not isinstance(function, ast.Attribute):
        return None
    if not calls.is_plain(function.value) or not _is_first(place) or not _is_open(place):
        return None
    producer = tree.code(function.value)
    gevent = imports.module(tree, "gevent", place.path)
    if gevent is None or tree.binds("len"):
        return None
    lines, needed = [], list(gevent.edits)
    condition = f"len({producer})"
    if limit.value is not None and not _is_endless(limit.value):
        if repair.bound != "seconds":
            return None
        clock = imports.module(tree, "time", place.path)
        if clock is None:
            return None
        needed += clock.edits
        deadline = _free_name(tree)
        lines.append(f"{deadline} = {clock.name}.monotonic() + {_operand(tree, limit.value)}")
        condition += f" and {clock.name}.monotonic() < {deadline}"
    lines += [
        f"while {condition}:",
        f"{tree.unit}{producer}.poll(0)",
        f"{tree.unit}{gevent.name}.sleep(0.01)",
    ]
    indent = tree.indent(statement)
    start = tree.start(statement)
    if isinstance(statement, ast.Expr):
        comment = tree.comment_after(statement)
        lines[0] += comment
        end = tree.end(statement)
        end = end._replace(column=end.column + len(comment))
        changed = [tree.replaced(start, end, f"\n{indent}".join(lines))]
    else:
        changed = [
            tree.replaced(start, start, f"\n{indent}".join([*lines, ""])),
            tree.replaced(tree.start(call), tree.end(call), f"len({producer})"),
        ]
    return imports.joined([*changed, *needed])


def _is_first(place: CallInFile) -> bool:
    """Return whether the call is what its statement evaluates first, and always."""
    statement, call = place.statement, place.call
    if isinstance(statement, (ast.Expr, ast.Return)):
        return statement.value is call
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return statement.value is call and all(isinstance(one, ast.Name) for one in targets)
    if isinstance(statement, ast.If):
        test = statement.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        if isinstance(test, ast.Compare):
            test = test.left
        return test is call and not _is_elif(place, statement)
    return False


def _is_elif(place: CallInFile, statement: ast.If) -> bool:
    line = place.tree.lines[statement.lineno - 1]
    return line.lstrip().startswith("elif")


def _is_open(place: CallInFile) -> bool:
    """Return whether lines can be added before the statement, in a function or a module."""
    tree, statement = place.tree, place.statement
    if isinstance(statement, ast.If):
        start = tree.start(statement)
        above = tree.lines[start.row - 2] if start.row > 1 else ""
        before = tree.lines[start.row - 1][: start.column - 1]
        return not before.strip() and not above.endswith("\\")
    return tree.is_alone(statement)


def _is_endless(value: ast.expr) -> bool:
    """Return whether a timeout is a negative number: none."""
    if not isinstance(value, ast.UnaryOp) or not isinstance(value.op, ast.USub):
        return False
    return isinstance(value.operand, ast.Constant)


def _operand(tree: ParsedFile, value: ast.expr) -> str:
    """Return a timeout as an operand of a sum."""
    code = tree.code(value)
    return code if isinstance(value, (ast.Constant, ast.Name, ast.Attribute)) else f"({code})"


def _free_name(tree: ParsedFile) -> str:
    text = "\n".join(tree.lines)
    names = [_DEADLINE, *(f"{_DEADLINE}_{number}" for number in range(2, 100))]
    return next(name for name in names if name not in text)
