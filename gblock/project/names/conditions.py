"""Evaluation of the catalog's conditions on the arguments of a call."""

from __future__ import annotations

import os
import re
from functools import cached_property

from gblock.catalog.blockers import Condition
from gblock.catalog.tables import CallArgument
from gblock.project.names import values as v
from gblock.project.names.partial_texts import Text
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.names.values import Value, flags_of
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    NameExpr,
    hides_arguments,
    is_passed,
    last_name,
    passed,
    same,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_PATHS = frozenset(["join", "joinpath", "Path", "str", "PurePath", "fspath"])
"""Calls whose result ends with their last argument."""


class Conditions:
    """Evaluates conditions on the flags and constants that a call passes.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def holds(self, condition: Condition, expression: CallExpr, place: Place) -> bool:
        """Return whether a call's arguments meet a condition for sure."""
        argument = passed(expression, condition.position, condition.keyword)
        if argument is None and self._is_packed(condition, expression, place):
            return True
        if argument is None:
            if self._may_be_hidden(condition, expression, place):
                return False
            named = condition.extension_of
            extensions = self._extensions(named, expression, place) if named is not None else ()
            return all(one in condition.values for one in extensions or (condition.default,))
        if condition.flags and self.has_flag(argument, condition.flags, place, condition.mask):
            return True
        if condition.given:
            return argument != tags.NONE
        if condition.prefixes and _start(argument).startswith(condition.prefixes):
            return True
        if condition.composed is not None:
            return self._is_composed(argument, condition.composed, place)
        found = self.inference.infer(argument, place)
        if not found or not self.inference.certainty.is_complete(argument, place):
            return False
        if condition.types:
            lineage = self.inference.catalog.lineage
            given = found - {v.NONE}  # an attribute that is made when it is first read is None, too
            return bool(given) and all(
                x.kind == v.INSTANCE and any(one in condition.types for one in lineage(x.symbol))
                for x in given
            )
        return all(
            (
                x.kind == v.LITERAL
                and (
                    _is_any(x.value, condition)
                    or (bool(condition.prefixes) and str(x.value).startswith(condition.prefixes))
                    or _is_match(x.value, condition.matches)
                    or _is_short(x.value, condition.max_length)
                    or _is_small(x.value, condition.at_most)
                )
            )
            or (x.kind == v.TUPLE and _is_small(_product(x), condition.at_most))
            for x in found
        )

    def _is_composed(self, argument: Expr, pattern: str, place: Place) -> bool:
        """Return whether a pattern matches every text that an argument can be, with its holes."""
        found = self._texts.spelled(Part(argument, place, (0, 0)))
        return bool(found) and all(
            isinstance(one, Text) and re.fullmatch(pattern, one.spelled) is not None
            for one in found
        )

    @cached_property
    def _texts(self) -> Texts:
        from gblock.project.names.inferred import Inferred

        return Texts(Inferred(self.inference))

    def _may_be_hidden(self, condition: Condition, expression: CallExpr, place: Place) -> bool:
        """Return whether ``*`` or ``**`` may pass the argument of a condition."""
        if is_passed(expression, condition.position, condition.keyword):
            return True
        if not condition.written:
            return hides_arguments(expression)
        if hides_arguments(expression._replace(keywords=())):
            return True
        mappings = [
            value
            for name, mapping in expression.keywords
            if name is None
            for value in self.inference.infer(mapping, place)
            if value.kind == v.MAPPING
        ]
        is_all = expression.keywords and all(name is None for name, _ in expression.keywords)
        if is_all and not mappings:
            return True  # ``**form.cleaned_data`` is all that names an argument
        return any(key == condition.keyword for value in mappings for key, _ in value.known)

    def _extensions(
        self, named: CallArgument, expression: CallExpr, place: Place
    ) -> tuple[str, ...]:
        """Return the extensions that the name of a file surely has, in capitals without the dot."""
        written = passed(expression, named.position, named.keyword)
        found = {_end(one) for one in self._written_as(written, place)}
        for value in self.inference.infer(written, place):
            if value.kind == v.LITERAL and isinstance(value.value, str):
                found.add(value.value)
        ends = (os.path.splitext(f"x{one}")[1] for one in found)
        return tuple(sorted({end[1:].upper() for end in ends if len(end) > 1}))

    def _written_as(self, expression: Expr, place: Place) -> list[Expr]:
        """Return an expression, or what a local variable is assigned in the same function."""
        if expression is None or expression.tag != tags.NAME:
            return [expression]
        scope = self.inference.modules.summary(place.path).scopes[place.scope]
        assigned = scope.bindings.get(expression.identifier, ())
        return [one.value for one in assigned if one.kind == kinds.ASSIGNED]

    def _is_packed(self, condition: Condition, expression: CallExpr, place: Place) -> bool:
        """Return whether a mapping that ``**`` passes surely has one of the condition's values."""
        if not condition.keyword or not condition.values:
            return False
        for name, mapping in expression.keywords:
            packed = self.inference.infer(mapping, place) if name is None else v.NOTHING
            if packed and self.inference.certainty.is_complete(mapping, place):
                given = [
                    dict(value.known).get(condition.keyword, v.NOTHING)
                    if value.kind == v.MAPPING
                    else v.NOTHING
                    for value in packed
                ]
                if all(given):  # a keyword is passed once, so no other mapping has it
                    return all(
                        one.kind == v.LITERAL and _is_any(one.value, condition)
                        for values in given
                        for one in values
                    )
        return False

    def has_flag(self, argument: Expr, flags: tuple[str, ...], place: Place, mask: int = 0) -> bool:
        """Return whether an argument surely contains a flag: alone, in a ``|``, or tested.

        Args:
            argument: The argument, or a part of it.
            flags: The flags' symbols.
            place: The place of the argument.
            mask: The flags' bits; an integer with one of them holds a flag, too.
        """
        if argument is None:
            return False
        if argument.tag == tags.BIT_OR:
            return any(
                self.has_flag(part, flags, place, mask) for part in (argument.left, argument.right)
            )
        names = {self.inference.catalog.canonical(flag) for flag in flags}
        if self._is_written(argument, names, place):
            return True
        found = self.inference.infer(argument, place)
        if found and all(flags_of(x) & names or _has_bit(x, mask) for x in found):
            return self.inference.certainty.is_complete(argument, place)
        if argument.tag == tags.NAME:
            return self._flag_in_variable(argument.identifier, flags, place)
        return False

    def _is_written(self, argument: Expr, names: set[str], place: Place) -> bool:
        """Return whether an argument is written as a flag of a module of the standard library.

        Where the module lacks the flag, the project may assign its number: the name still means it.
        """
        if argument is None or argument.tag != tags.ATTRIBUTE:
            return False
        owners = self.inference.infer(argument.base, place)
        return bool(owners) and all(
            one.kind == v.EXTERNAL and f"{one.symbol}.{argument.name}" in names for one in owners
        )

    def _flag_in_variable(self, name: str, flags: tuple[str, ...], place: Place) -> bool:
        """Return whether a variable has a flag: ``flags |= F`` before, ``if flags & F`` around."""
        summary = self.inference.modules.summary(place.path)
        scope = summary.scopes[place.scope]
        for binding in scope.bindings.get(name, ()):
            if binding.kind == kinds.AUGMENTED and binding.path < place.at:
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


def _is_any(value: object, condition: Condition) -> bool:
    """Return whether a value is one of those of a condition."""
    return any(same(value, one) for one in condition.values)


def ends(expression: Expr) -> tuple[str, str]:
    """Return the constants with which a composed text begins and ends."""
    is_text = expression is not None and expression.tag in (tags.TEXT, tags.CALL)
    return (_start(expression), _end(expression)) if is_text else ("", "")


def _start(expression: Expr) -> str:
    """Return the constant with which a concatenated or formatted text begins."""
    if expression is None:
        return ""
    if expression.tag == tags.TEXT:
        return _start(expression.parts[0]).partition("%" if expression.is_template else "\0")[0]
    if expression.tag == tags.CALL:
        callee = expression.callee
        if callee is not None and callee.tag == tags.ATTRIBUTE and callee.name == "format":
            return _start(callee.base).partition("{")[0]
    if expression.tag == tags.CONSTANT and isinstance(expression.value, str):
        return expression.value
    return ""


def _end(expression: Expr) -> str:
    """Return the constant with which a concatenated or formatted text, or a path, ends."""
    if expression is None:
        return ""
    if expression.tag == tags.TEXT:
        last = expression.parts[0 if expression.is_template else -1]
        return _end(last).rpartition("%" if expression.is_template else "\0")[2][-9:]
    if expression.tag == tags.CALL:
        callee = expression.callee
        if callee is not None and callee.tag == tags.ATTRIBUTE and callee.name == "format":
            return _end(callee.base).rpartition("}")[2]
        if last_name(callee) in _PATHS and expression.positional:
            return _end(expression.positional[-1])
    if expression.tag == tags.CONSTANT and isinstance(expression.value, str):
        return expression.value
    return ""


def _is_match(value: object, written: str | None) -> bool:
    """Return whether a value is a text that a pattern matches."""
    return (
        written is not None and isinstance(value, str) and re.fullmatch(written, value) is not None
    )


def _is_short(value: object, limit: int | None) -> bool:
    """Return whether a value is a text, or bytes, no longer than a limit."""
    return limit is not None and isinstance(value, (str, bytes)) and len(value) <= limit


def _product(value: v.TupleValue) -> float | None:
    """Return the greatest product of the numbers in a tuple, such as a size; None if unknown."""
    product = 1.0
    for member in value.members:
        numbers = [
            one.value
            for one in member
            if one.kind == v.LITERAL and isinstance(one.value, (int, float))
        ]
        if not numbers or len(numbers) < len(member):
            return None
        product *= max(numbers)
    return product


def _is_small(value: object, limit: float | None) -> bool:
    """Return whether a value is a number no greater than a limit."""
    if limit is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value <= limit
