"""Whether the arguments of a call meet a condition of the catalog."""

from __future__ import annotations

from gblock.catalog import Condition
from gblock.project.names import values as v
from gblock.project.names.expressions import Place, flags_of, is_passed, passed, same
from gblock.project.names.values import Value
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Expr, NameExpr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference


class Conditions:
    """Reads flags and constants."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def holds(self, condition: Condition, expression: Expr, place: Place) -> bool:
        """Whether a call's arguments meet a condition for sure."""
        _, _, positional, keywords = expression
        argument = passed(expression, condition.position, condition.keyword)
        if argument is None:
            open_ended = any(name is None for name, _ in keywords) or any(
                one is not None and one.tag == tags.STAR for one in positional
            )
            given = is_passed(expression, condition.position, condition.keyword)
            return not open_ended and not given and condition.default in condition.values
        if condition.flags and self.has_flag(argument, condition.flags, place, condition.mask):
            return True
        if condition.given:
            return bool(argument != tags.NONE)
        found = self.inference.infer(argument, place)
        return bool(found) and all(
            x.kind == v.LITERAL
            and (
                any(same(x.value, one) for one in condition.values)
                or (bool(condition.prefixes) and str(x.value).startswith(condition.prefixes))
                or _is_short(x.value, condition.max_length)
            )
            for x in found
        )

    def has_flag(self, argument: Expr, flags: tuple[str, ...], place: Place, mask: int = 0) -> bool:
        """Return whether a flag surely stands in an argument: alone, in a ``|``, or tested.

        Args:
            argument: The argument, or a part of it.
            flags: The flags' symbols.
            place: Where the argument stands.
            mask: The flags' bits; an integer with one of them holds a flag, too.
        """
        if argument is None:
            return False
        if argument.tag == tags.BIT_OR:
            return any(
                self.has_flag(part, flags, place, mask) for part in (argument.left, argument.right)
            )
        names = {self.inference.catalog.canonical(flag) for flag in flags}
        found = self.inference.infer(argument, place)
        if found and all(flags_of(x) & names or _has_bit(x, mask) for x in found):
            return True
        if argument.tag == tags.NAME:
            return self._flag_in_variable(argument.identifier, flags, place)
        return False

    def _flag_in_variable(self, name: str, flags: tuple[str, ...], place: Place) -> bool:
        """``flags |= NOBLOCK`` further up, or ``if flags & NOBLOCK`` around."""
        summary = self.inference.modules.summary(place.path)
        if summary is None:
            return False
        scope = summary.scopes[place.scope]
        for binding in scope.bindings.get(name, ()):
            if binding.kind == tags.AUGMENTED and binding.path < place.at:
                if place.at[: len(binding.path) - 1] == binding.path[:-1]:
                    if self.has_flag(binding.value, flags, place._replace(at=binding.path)):
                        return True
        variable = NameExpr(tags.NAME, name)
        for depth in range(1, len(place.at), 2):
            test = scope.tests.get(place.at[:depth])
            if test is not None and place.at[depth] == 0 and test.tag == tags.BIT_AND:
                if test.left == variable and self.has_flag(test.right, flags, place):
                    return True
        return False


def _has_bit(value: Value, mask: int) -> bool:
    """Return whether a value is an integer with one of some bits."""
    return value.kind == v.LITERAL and isinstance(value.value, int) and bool(value.value & mask)


def _is_short(value: object, limit: int | None) -> bool:
    """Return whether a value is a text, or bytes, no longer than a limit."""
    return limit is not None and isinstance(value, (str, bytes)) and len(value) <= limit
