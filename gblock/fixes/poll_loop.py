"""``poll(timeout)`` in a loop: ``poll(0)``, and a sleep where there is no message.

Offered where an iteration that finds no message does nothing else: it would do that a hundred times
a second.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from gblock.fixes import calls, imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gblock.diagnostics import Diagnostic, Edit, Repair
    from gblock.fixes.calls import CallInFile
    from gblock.fixes.tree import ParsedFile

_SLEEP = "{name}.sleep(0.01)"


class _Missing(NamedTuple):
    """The branch that a loop takes without a message."""

    condition: ast.If
    is_else: bool
    """True if the branch for no message is the ``else`` of the condition."""

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the branch."""
        return self.condition.orelse if self.is_else else self.condition.body


def edits(
    diagnostic: Diagnostic, repair: Repair, tree_of: Callable[[str], ParsedFile | None]
) -> list[Edit] | None:
    """Return the edits, None where the loop is not one of those that are understood."""
    place = calls.place(diagnostic, tree_of(diagnostic.filename))
    if place is None:
        return None
    quick = calls.without_wait(place, repair)
    loop = _loop(place)
    if quick is None or loop is None:
        return None
    imported = imports.module(place.tree, "gevent", place.path)
    if imported is None:
        return None
    sleep = _SLEEP.format(name=imported.name)
    added = _where_missing(place, loop, sleep)
    if added is None and getattr(place.statement, "value", None) is place.call:
        added = _behind(place, loop, sleep)
    if added is None:
        return None
    return [quick, *added, *(imported.edits if added else ())]


def _loop(place: CallInFile) -> ast.While | None:
    """Return the ``while`` whose iterations make the call, if nothing else is around it."""
    within: ast.AST = place.statement
    for node in reversed(place.around):
        if isinstance(node, ast.While):
            is_in_body = any(one is within for one in node.body)
            return node if is_in_body and not _counts(node.test) else None
        if isinstance(node, ast.Try):
            if node.orelse or not all(map(calls.is_quiet, node.finalbody)):
                return None
            if not any(one is within for one in node.body):
                return None
        elif not isinstance(node, ast.If):
            return None
        within = node
    return None


def _counts(test: ast.expr) -> bool:
    """Return whether each evaluation of a condition changes something."""
    changing = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    for node in ast.walk(test):
        if isinstance(node, changing):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            if name in ("next", "pop", "popleft", "get", "acquire", "wait"):
                return True
    return False


class _Around(NamedTuple):
    """The other statements of the blocks that a loop runs to make a call."""

    before: list[ast.stmt]
    after: list[ast.stmt]


def _around(place: CallInFile, loop: ast.While) -> _Around:
    """Return what else an iteration of the loop runs, before and after the statement."""
    found = _Around([], [])
    node: ast.AST = place.statement
    for owner in reversed(place.path[place.path.index(loop) : place.path.index(node)]):
        for name in ("body", "orelse"):
            block = getattr(owner, name, [])
            index = next((at for at, one in enumerate(block) if one is node), None)
            if index is not None:
                found.before.extend(block[:index])
                found.after.extend(block[index + 1 :])
        node = owner
    return found


def _behind(place: CallInFile, loop: ast.While, sleep: str) -> list[Edit] | None:
    """Return the sleep behind a call in a loop that does nothing else."""
    tree, statement = place.tree, place.statement
    around = _around(place, loop)
    others = [*around.before, *around.after]
    if not all(map(calls.is_quiet, others)) or not tree.is_alone(statement):
        return None
    if any(map(calls.is_sleep, others)):
        return []
    end = tree.end(statement).row
    return [tree.inserted(end + 1, f"{tree.indent(statement)}{sleep}\n")]


def _where_missing(place: CallInFile, loop: ast.While, sleep: str) -> list[Edit] | None:
    """Return the sleep in the branch for a missing message."""
    missing = _missing(place)
    if missing is None or not all(map(calls.is_quiet, missing.body)):
        return None
    around = _around(place, loop)
    others = around.before
    if not any(isinstance(one, ast.Continue) for one in missing.body):
        others = [*others, *(one for one in around.after if one is not missing.condition)]
    if not all(map(calls.is_quiet, others)):
        return None
    if any(map(calls.is_sleep, missing.body)):
        return []
    return _added(place.tree, missing, sleep)


def _missing(place: CallInFile) -> _Missing | None:
    """Return the branch that a missing message takes."""
    statement, call = place.statement, place.call
    if isinstance(statement, ast.If):
        for node in place.inside:
            if isinstance(node, ast.NamedExpr) and node.value is call:
                return _branch(statement, node)
        return _branch(statement, call)
    name = _assigned(statement, call)
    if name is None:
        return None
    block = place.tree.block_of(place.path, statement)
    for following in block.statements[block.number + 1 :] if block is not None else ():
        if isinstance(following, ast.If):
            return _branch(following, ast.Name(name))
        if not calls.is_quiet(following) or _assigned_name(following) == name:
            return None
    return None


def _assigned(statement: ast.stmt, call: ast.Call) -> str | None:
    """Return the name that a statement gives the result of a call."""
    if getattr(statement, "value", None) is not call:
        return None
    return _assigned_name(statement)


def _assigned_name(statement: ast.stmt) -> str | None:
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    if len(targets) == 1 and isinstance(targets[0], ast.Name):
        return targets[0].id
    return None


def _branch(condition: ast.If, message: ast.expr) -> _Missing | None:
    """Return the branch of a condition in which an expression is missing."""
    test = condition.test
    if _is(test, message):
        return _Missing(condition, is_else=True)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _Missing(condition, is_else=False) if _is(test.operand, message) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is(test.left, message):
        return None
    right = test.comparators[0]
    if not isinstance(right, ast.Constant) or right.value is not None:
        return None
    if isinstance(test.ops[0], (ast.Is, ast.Eq)):
        return _Missing(condition, is_else=False)
    if isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
        return _Missing(condition, is_else=True)
    return None


def _is(node: ast.expr, message: ast.expr) -> bool:
    if isinstance(node, ast.Name) and isinstance(message, ast.Name):
        return node.id == message.id
    return node is message


def _added(tree: ParsedFile, missing: _Missing, sleep: str) -> list[Edit] | None:
    """Return the edit that adds the sleep to the branch."""
    condition, body = missing.condition, missing.body
    outer = tree.indent(condition)
    if missing.is_else and not body:
        last = condition.body[-1]
        if not tree.is_alone(last):
            return None
        inner = outer + tree.unit
        row = tree.end(last).row + 1
        return [tree.inserted(row, f"{outer}else:\n{inner}{sleep}\n")]
    first = body[0]
    if isinstance(first, ast.If) and missing.is_else:
        return None
    start = tree.start(first)
    before = tree.lines[start.row - 1][: start.column - 1]
    if not before.strip():
        return [tree.inserted(start.row, f"{before}{sleep}\n")]
    colon = start._replace(column=len(before.rstrip()) + 1)
    inner = outer + tree.unit
    return [tree.replaced(colon, start, f"\n{inner}{sleep}\n{inner}")]
