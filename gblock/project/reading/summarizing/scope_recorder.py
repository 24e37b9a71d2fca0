"""The recorder of scopes: one module's scopes, and what is bound and stored in them."""

from __future__ import annotations

import ast
from typing import Literal

from gblock.project.reading.bindings import (
    ABSORBED,
    ASSIGNED,
    DEFINED,
    ELEMENT,
    IMPORTED,
    LOOPED,
    STAR_IMPORTED,
    UNPACKED,
    DefinitionBinding,
    Detail,
    ImportBinding,
    ImportedName,
    Path,
    ValueBinding,
    ValueKind,
)
from gblock.project.reading.expressions import (
    CONSTANT,
    MAPPING,
    SEQUENCE,
    UNKNOWN,
    ElementsExpr,
    Expr,
    MappingExpr,
)
from gblock.project.reading.summarizing.nodes import key_of, name_of
from gblock.project.reading.summary import AnyCall, Guard, Scope


class ScopeRecorder:
    """Records one module's scopes and bindings.

    Args:
        filename: The module's file.
        options: Of the options whose values are kept, those that it mentions.
    """

    def __init__(self, filename: str, options: frozenset[str] = frozenset()) -> None:
        self.filename = filename
        self.named_options = options
        self.options: dict[str, list[ValueBinding]] = {}
        self.scopes: list[Scope] = []
        self.calls: list[AnyCall] = []
        self.exports: list[str] | None = None
        self.scope = 0
        self.path: Path = ()
        self.statement = (0, 0)
        self.fallback = False
        self.quoted = False
        self.in_command = False
        """True in an f-string that names a program."""
        self.guards: tuple[Guard, ...] = ()
        self.elsewhere: list[dict[str, int]] = []
        """For each scope the names that ``global`` and ``nonlocal`` bind further out."""

    def _open_scope(self, kind: str, name: str, rows: tuple[int, int]) -> int:
        index = len(self.scopes)
        parent = self.scope if index else -1
        self.scopes.append(Scope.empty(kind, name, parent, rows, self.path))
        self.elsewhere.append({})
        return index

    def _bind(
        self, name: str, kind: ValueKind, value: Expr, row: int, detail: Detail = None
    ) -> None:
        home = self.elsewhere[self.scope].get(name, self.scope)
        if home == self.scope and self.scopes[home].kind == "comprehension" and kind != LOOPED:
            home = self._function_around(home)  # a walrus binds in the function
        self.scopes[home].bindings.setdefault(name, []).append(
            ValueBinding(kind, value, self.scope, self.path, row, detail, self.fallback)
        )

    def _bind_import(
        self, name: str, value: ImportedName, row: int, written: str | None = None
    ) -> None:
        home = self.elsewhere[self.scope].get(name, self.scope)
        kind: Literal["imported", "star-imported"] = STAR_IMPORTED if name == "*" else IMPORTED
        self.scopes[home].bindings.setdefault(name, []).append(
            ImportBinding(kind, value, self.scope, self.path, row, written, self.fallback)
        )

    def _bind_definition(self, name: str, index: int, row: int) -> None:
        home = self.elsewhere[self.scope].get(name, self.scope)
        self.scopes[home].bindings.setdefault(name, []).append(
            DefinitionBinding(DEFINED, index, self.scope, self.path, row, None, self.fallback)
        )

    def _function_around(self, scope: int) -> int:
        while self.scopes[scope].kind == "comprehension":
            scope = self.scopes[scope].parent
        return scope

    def _bind_attribute(
        self, owner: str, name: str, kind: ValueKind, value: Expr, row: int, detail: Detail = None
    ) -> None:
        if kind == ASSIGNED and detail is not None:
            kind = UNPACKED
        home = self._function_around(self.scope)
        self.scopes[home].attributes.setdefault((owner, name), []).append(
            ValueBinding(kind, value, self.scope, self.path, row, detail, self.fallback)
        )

    def store(self, container: ast.expr, value: Expr, row: int, key: Expr = None) -> None:
        """Record that a named container holds a value.

        Args:
            container: The container.
            value: The value.
            row: The row.
            key: For a mapping, the key: ``(CONSTANT, …)``, or another expression.
        """
        if value is None:
            return
        if isinstance(container, ast.Name):
            home = self.home_of(container.id)
            self.scopes[home].bindings.setdefault(container.id, []).append(
                ValueBinding(ELEMENT, value, self.scope, self.path, row, key)
            )
        elif isinstance(container, ast.Attribute):
            owner = name_of(container.value)
            if owner is not None:
                home = self._function_around(self.scope)
                self.scopes[home].attributes.setdefault((owner, container.attr), []).append(
                    ValueBinding(ELEMENT, value, self.scope, self.path, row, key)
                )
        elif isinstance(container, ast.Subscript):  # a container in a container
            inner = (
                ElementsExpr(SEQUENCE, (value,))
                if key is None
                else MappingExpr(MAPPING, ((key, value),))
            )
            self.store(container.value, inner, row, key_of(container.slice))
        elif isinstance(container, ast.Call):  # table.setdefault(key, []).append(value)
            callee = container.func
            if isinstance(callee, ast.Attribute) and callee.attr in ("setdefault", "get"):
                if container.args:
                    self.store(callee.value, ElementsExpr(SEQUENCE, (value,)), row)

    def store_all(self, container: ast.expr, values: tuple[Expr, ...], row: int) -> None:
        """Record that a named container holds several values, also the unknown ones of a text."""
        texts = any(one is not None and one.tag == CONSTANT for one in values)
        for value in values:
            self.store(container, UNKNOWN if texts and value is None else value, row)

    def extend(
        self,
        container: ast.expr,
        value: Expr,
        row: int,
        kind: Literal["extended", "absorbed"] = ABSORBED,
    ) -> None:
        """Record that a named container takes over what another one holds."""
        if isinstance(container, ast.Name):
            bindings = self.scopes[self.home_of(container.id)].bindings.get(container.id)
            if bindings is not None:
                bindings.append(ValueBinding(kind, value, self.scope, self.path, row))
        elif isinstance(container, ast.Attribute):
            owner = name_of(container.value)
            if owner is not None:
                self._bind_attribute(owner, container.attr, kind, value, row)
        elif isinstance(container, ast.Subscript):  # what is taken over may as well be put there
            self.store(container.value, value, row, key_of(container.slice))
        elif isinstance(container, ast.Call):  # table.setdefault(key, []).extend(others)
            callee = container.func
            if isinstance(callee, ast.Attribute) and callee.attr in ("setdefault", "get"):
                if container.args:
                    self.store(callee.value, value, row)

    def give(self, name: object, value: Expr, row: int, way: str | None = None) -> None:
        """Record the value that an option is given, if values of this option are kept."""
        if name in self.named_options and value is not None:
            self.options.setdefault(str(name), []).append(
                ValueBinding(ASSIGNED, value, self.scope, self.path, row, way)
            )

    def home_of(self, name: str) -> int:
        """Return the scope of a container's name: the nearest that has bound it so far."""
        if name in self.elsewhere[self.scope]:
            return self.elsewhere[self.scope][name]
        scope = self.scope
        while scope > 0:
            if name in self.scopes[scope].bindings and self.scopes[scope].kind != "class":
                return scope
            scope = self.scopes[scope].parent
        return 0
