"""Completeness of an inferred set: whether some definition that reaches a use is unknown.

Inference omits definitions that it cannot follow, so the set ``{0}`` may mean "0, or a setting". A
property of each member, such as "the timeout is 0", is proven only for a complete set.
"""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.places import Place
from gblock.project.names.values import FunctionValue, ScopeValue, Value
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, ImportBinding, Path
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    Expr,
    call_of,
    constant_of,
)
from gblock.project.reading.summary import ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_LONGEST_CHAIN = 8
"""The number of assignments, arguments and imports in a row that are followed."""
_OPENED = (kinds.UNPACKED, kinds.LOOPED, kinds.ENTERED, kinds.PARAMETER)
"""Kinds of bindings whose values are parts of other values."""
_CONVERTERS = {f"builtins.{name}" for name in ("int", "float", "max", "min")}
"""Functions whose result is known if their arguments are."""


class Certainty:
    """Follows definitions as inference does, and finds those of unknown value."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._open: set[tuple[Expr, Place]] = set()
        """The expressions that are being followed."""

    def is_complete(self, expression: Expr, place: Place) -> bool:
        """Return whether all possible values of an expression are known.

        A chain of definitions beyond the limit counts as known.
        """
        key = (expression, place)
        if expression is None or key in self._open or len(self._open) >= _LONGEST_CHAIN:
            return True
        if not self.inference.infer(expression, place):
            return False
        self._open.add(key)
        try:
            return self._parts_are_complete(expression, place)
        finally:
            self._open.discard(key)

    def _parts_are_complete(self, expression: Expr, place: Place) -> bool:
        if expression is None:
            return True
        if expression.tag == tags.NAME:
            return self._is_name_complete(expression.identifier, place)
        if expression.tag == tags.ATTRIBUTE:
            return not self._is_overridden(expression, place) and all(
                self._is_attribute_complete(value, expression.name)
                for value in self.inference.infer(expression.base, place)
            )
        if expression.tag in (tags.EITHER, tags.BOTH, tags.SUM):
            return all(self.is_complete(one, place) for one in expression.elements)
        if expression.tag == tags.TUPLE:
            return all(
                one is not None and self.is_complete(one, place) for one in expression.elements
            )
        if expression.tag == tags.NEGATED:
            return self.is_complete(expression.value, place)
        if expression.tag == tags.BIT_OR:
            sides = (expression.left, expression.right)
            return all(one is not None and self.is_complete(one, place) for one in sides)
        if expression.tag == tags.CALL:
            return not self._is_overridden(expression, place) and all(
                self._is_result_complete(callee, expression, place)
                for callee in self.inference.infer(expression.callee, place)
            )
        return True

    def _is_overridden(self, expression: AttributeExpr | CallExpr, place: Place) -> bool:
        """Return whether an object of a derived class may give another value.

        Args:
            expression: An attribute, such as ``self.x``, or a call, such as ``self.x()``.
            place: Its place.
        """
        read = expression.callee if expression.tag == tags.CALL else expression
        if read is None or read.tag != tags.ATTRIBUTE:
            return False
        scopes = self.inference.modules.summary(place.path).scopes
        scope = scopes[place.scope]
        is_method = scopes[scope.parent].kind == "class" and bool(scope.parameters)
        base = read.base
        if not is_method or place.receiver is not None or base is None or base.tag != tags.NAME:
            return False
        if base.identifier != scope.parameters[0].name:
            return False
        found = self.inference.infer(expression, place)
        for heir in self.inference.classes.derived_from(place.path, scope.parent):
            if not isinstance(heir, ScopeValue):
                continue
            bound = self.inference.modules.summary(heir.path).scopes[heir.scope].bindings
            if read.name in bound:
                one = heir._replace(kind=v.OBJECT)
                if expression is read:
                    given = self.inference.classes.attribute(one, read.name)
                else:
                    given = self.inference.results.method_result(one, read.name)
                if not given <= found:
                    return True
        return False

    def _is_result_complete(self, callee: Value, call: CallExpr, place: Place) -> bool:
        arguments = call.positional
        if callee.kind == v.EXTERNAL and callee.symbol in _CONVERTERS:
            return all(self.is_complete(one, place) for one in arguments)
        if callee.kind == v.EXTERNAL and callee.symbol == "builtins.getattr":
            return len(arguments) < 3 or self.is_complete(_without_default(call), place)
        if callee.kind == v.TAKER and callee.container.kind == v.MAPPING and arguments:
            key = constant_of(arguments[0])
            return any(key == known and values for known, values in callee.container.known)
        if callee.kind == v.FUNCTION:
            return self._is_function_complete(callee)
        return True

    def _is_function_complete(self, function: FunctionValue) -> bool:
        summary = self.inference.modules.summary(function.path)
        scope = summary.scopes[function.scope]
        derived = self.inference.classes.derived(function.receiver, function.path, scope.parent)
        return all(
            self.is_complete(value, Place(function.path, function.scope, at, derived))
            for value, at in scope.returns
        )

    def _is_name_complete(self, name: str, place: Place) -> bool:
        found = self.inference.scope_of(name, place)
        if found is None:
            return True
        summary, scope, use = found
        return self._are_complete(summary, scope, name, use, place.receiver if scope else None)

    def _is_attribute_complete(self, value: Value, name: str) -> bool:
        if value.kind == v.MODULE:
            summary = self.inference.modules.summary(value.path)
            if name not in summary.scopes[0].bindings:
                return True
            return self._are_complete(summary, 0, name, END, None)
        if value.kind not in (v.OBJECT, v.CLASS):
            return True
        return all(
            self._is_binding_complete(binding, path, receiver)
            for binding, path, receiver in self.inference.classes.definitions(value, name)
        )

    def _are_complete(
        self,
        summary: ModuleSummary,
        scope: int,
        name: str,
        use: Path,
        receiver: ScopeValue | None,
    ) -> bool:
        if any(one.kind == kinds.AUGMENTED for one in summary.scopes[scope].bindings[name]):
            return False
        return all(
            self._is_binding_complete(binding, summary.filename, receiver)
            for binding in self.inference.definitions.reaching(summary, scope, name, use)
        )

    def _is_binding_complete(
        self, binding: Binding, path: str, receiver: ScopeValue | None
    ) -> bool:
        if binding.kind == kinds.ASSIGNED:
            return self.is_complete(
                binding.value, Place(path, binding.scope, binding.path, receiver)
            )
        if binding.kind in _OPENED and not self.inference.bound(binding, path, receiver):
            return False
        if binding.kind == kinds.PARAMETER:
            arguments = self.inference.parameters.arguments(
                path, binding.scope, binding.position, receiver
            )
            return all(self.is_complete(argument, place) for argument, place in arguments)
        if binding.kind == kinds.IMPORTED:
            return self._is_import_complete(binding, path)
        return True

    def _is_import_complete(self, binding: ImportBinding, importer: str) -> bool:
        module, name, level = binding.value
        path = self.inference.modules.resolve(module, level, importer) if name else None
        if (
            name is None
            or path is None
            or path == importer
            or not self.inference.modules.is_module(path)
        ):
            return True
        return self._is_attribute_complete(v.FileValue(v.MODULE, path), name)


def _without_default(call: CallExpr) -> CallExpr:
    """Return ``getattr(object, name)`` for a ``getattr`` with a default."""
    return call_of(call.callee, call.positional[:2])
