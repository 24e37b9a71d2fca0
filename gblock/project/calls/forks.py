"""Code that only a child process runs: ``if os.fork() == 0``, up to ``os._exit()``."""

from __future__ import annotations

import ast
import re

from gblock.project.calls.suites import Suites, statements, tree_of

_FORKS = re.compile(rb"\bfork(?:pty)?\(")
_ENDING = re.compile(r"_exit|exec[lv]p?e?")
"""Functions of `os` that end the child without the clean-up of the parent's program."""
_SERVING = frozenset("joinall run_forever serve_forever spawn spawn_later".split())
"""Functions that make a service of the child, as in a server that forks its workers."""


class Forks(Suites):
    """Finds what only a child process runs, which serves nothing and ends there."""

    def of(self, data: bytes) -> list[list[ast.stmt]]:
        """Return the suites that only a child process runs."""
        tree = tree_of(data) if _FORKS.search(data) else None
        if tree is None:
            return []
        nodes = statements(tree)
        names = {
            target.id
            for one in nodes
            if isinstance(one, ast.Assign) and _is_fork(one.value)
            for written in one.targets
            for target in (written.elts[:1] if isinstance(written, ast.Tuple) else [written])
            if isinstance(target, ast.Name)
        }
        branches: list[list[ast.stmt]] = []
        for one in nodes:
            if isinstance(one, ast.If):
                is_child = _means_child(one.test, names)
                branches += [one.body] if is_child else [one.orelse] if is_child is False else []
        return [branch for branch in branches if branch and _ends(branch)]


def _called(node: ast.AST) -> str:
    """Return the last name of what a call calls, else an empty string."""
    if not isinstance(node, ast.Call):
        return ""
    callee = node.func
    return callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")


def _is_fork(node: ast.expr) -> bool:
    return _called(node) in ("fork", "forkpty")


def _means_child(test: ast.expr, names: set[str]) -> bool | None:
    """Return True if a test holds in a child alone, False if in its parent alone, else None."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _means_child(test.operand, names)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        other = test.comparators[0]
        is_pid = _means_child(test.left, names) is False
        if not is_pid or not isinstance(other, ast.Constant) or other.value != 0:
            return None
        if isinstance(test.ops[0], ast.Eq):
            return True
        return False if isinstance(test.ops[0], ast.NotEq | ast.Gt) else None
    is_pid = _is_fork(test) or (isinstance(test, ast.Name) and test.id in names)
    return False if is_pid else None


def _ends(branch: list[ast.stmt]) -> bool:
    """Return whether a child ends in a branch, and serves nothing before."""
    called = {_called(node) for one in branch for node in ast.walk(one)}
    return any(map(_ENDING.fullmatch, called)) and called.isdisjoint(_SERVING)
