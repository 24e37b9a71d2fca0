"""What a parameter can be: who fills it, and with what."""

from __future__ import annotations

from gblock.project.names import values as v
from gblock.project.names.expressions import Place, as_keywords, last_name, passed
from gblock.project.names.values import NOTHING, Values
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Call, Expr, ModuleSummary, SubscriptExpr, call_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_MAPPED = {"map", "imap", "imap_unordered", "map_async", "starmap"}
"""Methods that call a function with each element of what they are given."""


class Parameters:
    """Follows parameters to the calls that fill them."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def parameter(self, path: str, index: int, position: int) -> Values:
        """What a parameter can be: its annotation, else what callers pass, and its default."""
        return self.inference.solved(
            ("parameter", path, index, position), lambda: self._parameter(path, index, position)
        )

    def _parameter(self, path: str, index: int, position: int) -> Values:
        summary = self.inference.modules.summary(path)
        if summary is None:
            return NOTHING
        scope = summary.scopes[index]
        name, annotation, default, kind = scope.parameters[position]
        outside = Place(path, scope.parent, scope.path)
        owner = summary.scopes[scope.parent] if scope.parent >= 0 else None
        method = owner is not None and owner.kind == "class" and scope.kind == "function"
        decorators = self.inference.decorators(summary, index) if method else set()
        if method and position == 0:
            if "builtins.classmethod" in decorators or scope.name == "__new__":
                return frozenset([v.ScopeValue(v.CLASS, path, scope.parent)])
            if "builtins.staticmethod" not in decorators:
                return frozenset([v.ScopeValue(v.OBJECT, path, scope.parent)])
        declared = self.inference.annotations.annotated(annotation, outside)
        if kind == "*":
            return v.holding(declared) if declared else NOTHING
        if kind == "**":
            return frozenset([v.MappingValue(v.MAPPING, (), declared)]) if declared else NOTHING
        if v.informative(declared):
            return declared
        found = set(self.inference.infer(default, outside))
        for call, place in self.inference.calling.callers(path, index):
            shift = self._shift(summary, index, call, place)
            argument = passed(call.expression, position - shift, name)
            found |= self.inference.infer(argument, place)
        shift = 1 if method and "builtins.staticmethod" not in decorators else 0
        for expression, place in self._handed(path, index):
            found |= self.inference.infer(passed(expression, position - shift, name), place)
        return frozenset(found)

    def _shift(self, summary: ModuleSummary, index: int, call: Call, place: Place) -> int:
        """How many parameters a call does not pass itself: 1 for a bound method."""
        scope = summary.scopes[index]
        if summary.scopes[scope.parent].kind != "class":
            return 0
        for value in self.inference.infer(call.expression.callee, place):
            if value.kind == v.FUNCTION and v.comes_from(value, summary.filename, index):
                if value.receiver is None:
                    return 0
                on_class = value.receiver.kind == v.CLASS
                of_class = "builtins.classmethod" in self.inference.decorators(summary, index)
                return 0 if on_class and not of_class else 1
        return 1

    def _handed(self, path: str, index: int) -> list[tuple[Expr, Place]]:
        """What is passed along where the function itself is an argument: ``spawn(f, x)``."""
        found: list[tuple[Expr, Place]] = []
        for call, place, position in self.inference.calling.handovers(path, index):
            _, _, positional, keywords = call.expression
            if position is not None:
                packed = positional[position + 1] if len(positional) == position + 2 else None
                rest = positional[position + 1 :]
                if packed is not None and packed.tag == tags.TUPLE:
                    found.append((call_of(None, packed.elements), place))
                if last_name(call.expression.callee) in _MAPPED:
                    rest = tuple(self._element_of(one) for one in rest)
                found.append((call_of(None, rest, keywords), place))
            packed_too = dict(keywords)
            for value in (packed_too.get("args"), packed_too.get("kwargs")):
                if value is not None and value.tag in (tags.TUPLE, tags.SEQUENCE):
                    found.append((call_of(None, value.elements), place))
                elif value is not None and value.tag == tags.MAPPING:
                    found.append((call_of(None, (), as_keywords(value)), place))
        return found

    def _element_of(self, expression: Expr) -> Expr:
        """Return an expression for any element of another one."""
        return SubscriptExpr(tags.SUBSCRIPT, expression, None) if expression is not None else None
