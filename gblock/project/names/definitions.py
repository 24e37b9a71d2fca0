"""Reaching definitions: the bindings of a name that a use of it can see.

Python has no ``goto``, so the nesting of blocks determines the order of statements. A binding
reaches a use unless another binding in between always runs, the two are in branches that exclude
each other, or the binding's block ends in ``return`` or ``raise``. In a loop a binding further
down reaches the next iteration.
"""

from __future__ import annotations

from typing import NamedTuple

from gblock.project.reading.bindings import (
    ANNOTATED,
    AUGMENTED,
    ENTERED,
    STORES,
    Binding,
    Path,
    ValueBinding,
)
from gblock.project.reading.summary import LOOPS, ModuleSummary, Scope

END: Path = (1 << 30,)
"""A path behind every statement: what a name means once its scope has run."""


class _Bindings(NamedTuple):
    """The bindings of one name in a scope."""

    here: list[Binding]
    """In the scope itself, in the order of their paths."""
    declared: list[Binding]
    """Annotations without a value."""
    elsewhere: list[Binding]
    """By a ``global`` statement in some function."""
    always: list[Path]
    """Statements of which each block that can run to its end binds the name, last one first."""
    stored: list[ValueBinding]
    """Stores into what the name holds."""
    first: Path | None
    """The path of the only binding, if it is in no block: each use behind it sees it."""


class Definitions:
    """Finds reaching definitions; what does not depend on the use is computed once for a name."""

    OF_FILES = ("_known",)
    """The tables that the files alone decide."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, str], _Bindings] = {}

    def reaching(self, summary: ModuleSummary, home: int, name: str, use: Path) -> list[Binding]:
        """Return the bindings of a name that a use in the same scope can see.

        Args:
            summary: The module.
            home: The scope that binds the name.
            name: The name.
            use: The path of the statement that uses it; ``END`` for a use from outside the scope.
        """
        known = self._of(summary, home, name)
        here = known.here
        if known.first is not None and known.first < use:
            return [*here, *known.declared, *known.elsewhere]
        scope = summary.scopes[home]
        found: list[Binding] = []
        last: Path | None = None
        passed = next((one for one in known.always if _is_passed(one, use)), None)
        for binding in reversed(here):
            if passed is not None and binding.path < passed:
                last = passed
                break
            if not _precedes(binding, use):
                continue
            if _is_excluded(binding.path, use, scope) or _is_lost(binding.path, use, scope):
                continue
            found.append(binding)
            if _dominates(binding.path, use):
                last = binding.path
                break
        for binding in here:
            if not _precedes(binding, use):
                loop = _common_loop(binding.path, use, scope)
                if loop is not None and (last is None or last[: len(loop)] != loop):
                    found.append(binding)
        # A walrus in the same statement; ``place = staticmethod(place)`` in a class takes the
        # function of the module.
        if not found and scope.kind != "class":
            found = [binding for binding in here if binding.path == use]
        return [*found, *known.declared, *known.elsewhere]

    def stored(self, summary: ModuleSummary, home: int, name: str) -> list[ValueBinding]:
        """Return the stores into what a name of a scope holds: ``name[key] = value``."""
        return self._of(summary, home, name).stored

    def _of(self, summary: ModuleSummary, home: int, name: str) -> _Bindings:
        key = (summary.filename, home, name)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _bindings(summary, home, name)
        return known


def comes_before(one: Path, other: Path, scope: Scope) -> bool:
    """Return whether a statement of a scope may have run before another one, further down."""
    return one < other and not _is_excluded(one, other, scope) and not _is_lost(one, other, scope)


def _bindings(summary: ModuleSummary, home: int, name: str) -> _Bindings:
    scope = summary.scopes[home]
    declared: list[Binding] = []
    elsewhere: list[Binding] = []
    here: list[Binding] = []
    stored: list[ValueBinding] = []
    for binding in scope.bindings.get(name, ()):
        if binding.kind in STORES:
            stored.append(binding)
            continue
        if binding.kind == AUGMENTED:
            continue
        if binding.kind == ANNOTATED:
            declared.append(binding)
        elif summary.frame(binding.scope) != summary.frame(home):
            elsewhere.append(binding)
        else:
            here.append(binding)
    here.sort(key=lambda binding: binding.path)
    first = here[0].path if len(here) == 1 and len(here[0].path) <= 1 else None
    return _Bindings(here, declared, elsewhere, _always(here, scope), stored, first)


def _always(bindings: list[Binding], scope: Scope) -> list[Path]:
    """Return the statements that bind a name in each block that can run to its end.

    One of the blocks always runs. The last statement comes first.
    """
    binding_blocks = {binding.path[:-1] for binding in bindings if len(binding.path) % 2}
    statements = {
        binding.path[:depth] for binding in bindings for depth in range(1, len(binding.path) - 1, 2)
    }
    found: list[Path] = []
    for statement in sorted(statements, key=len, reverse=True):  # inner ones first
        blocks = [(*statement, block) for block in range(scope.complete.get(statement, 0))]
        if blocks and all(block in scope.dead_ends or block in binding_blocks for block in blocks):
            found.append(statement)
            binding_blocks.add(statement[:-1])
    return sorted(found, reverse=True)


def _is_passed(statement: Path, use: Path) -> bool:
    """Return whether a statement has always run where a use is reached."""
    around = use[: len(statement)] == statement
    return statement < use and not around and _dominates(statement, use)


def _precedes(binding: Binding, use: Path) -> bool:
    return binding.path < use or (binding.path == use and binding.kind == ENTERED)


def _dominates(binding: Path, use: Path) -> bool:
    """Return whether the use's block, or one around it, has passed the binding."""
    depth = len(binding) - 1
    return use[:depth] == binding[:depth] and len(use) > depth and use[depth] >= binding[depth]


def _common_prefix(one: Path, other: Path) -> int:
    """Return the length of the longest common prefix of two paths."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared


def may_precede(one: Path, other: Path, scope: Scope) -> bool:
    """Return whether a statement may have run in a call that comes to another.

    It has not from another branch of one ``if``, and from a block that ends in ``return``.
    """
    return one < other and not _is_excluded(one, other, scope) and not _is_lost(one, other, scope)


def _is_excluded(binding: Path, use: Path, scope: Scope) -> bool:
    """Return whether the two are in branches of one statement of which only one runs."""
    shared = _common_prefix(binding, use)
    if shared % 2 == 0 or shared >= min(len(binding), len(use)):
        return False  # they part in a block, not between blocks
    statement = binding[:shared]
    kind = scope.branches.get(statement)
    if _common_loop(binding, use, scope) is not None:
        return False
    if kind == "if":
        return True
    return (
        kind == "try"
        and binding[shared] > 0
        and use[shared] > 0
        and _both_handlers(statement, binding[shared], use[shared], scope)
    )


def _both_handlers(statement: Path, one: int, other: int, scope: Scope) -> bool:
    finally_ = scope.tries.get(statement, 0)
    return one < finally_ and other < finally_


def _is_lost(binding: Path, use: Path, scope: Scope) -> bool:
    """Return whether a block around the binding, but not the use, ends in return or raise."""
    shared = _common_prefix(binding, use)
    depth = len(binding) - 1
    while depth > shared:
        if binding[:depth] in scope.dead_ends:
            return True
        depth -= 2
    return False


def _common_loop(one: Path, other: Path, scope: Scope) -> Path | None:
    """Return the innermost loop around both."""
    shared = _common_prefix(one, other)
    for depth in range(shared if shared % 2 else shared - 1, 0, -2):
        if scope.branches.get(one[:depth]) in LOOPS and len(one) > depth and len(other) > depth:
            return one[:depth]
    return None
