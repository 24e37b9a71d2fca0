"""Durations of waits, from the arguments of calls."""

from __future__ import annotations

from typing import NamedTuple

from gblock.catalog.blockers import Blocker, Timeout, Upload
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import CallExpr, hides_arguments, is_passed, passed


class Wait(NamedTuple):
    """The known properties of a wait; by default the time is unknown."""

    immediate: bool = False
    """True if it does not wait at all."""
    forever: bool = False
    """True if nothing bounds the wait."""
    seconds: float | None = None
    """Its bound, where it is a constant."""
    ready: bool = False
    """True if it is immediate because its object is ready, whatever its arguments are."""
    of_class: bool = False
    """True if the class of an argument makes it immediate, or cooperative: it may wait then."""


IMMEDIATE = Wait(immediate=True)
READY = Wait(immediate=True, ready=True)
OF_CLASS = Wait(immediate=True, of_class=True)
BRIEF = Wait(seconds=0.01)
FOREVER = Wait(forever=True)
UNKNOWN = Wait()


def wait(blocker: Blocker, expression: CallExpr, place: Place, inference: Inference) -> Wait:
    """Return how long a call of a blocker waits.

    Args:
        blocker: The blocker.
        expression: The call.
        place: The place of the call.
        inference: Type inference over the project.
    """
    for condition in blocker.unless:
        if inference.conditions.holds(condition, expression, place):
            return OF_CLASS if condition.types else IMMEDIATE
    if blocker.only and not any(
        inference.conditions.holds(condition, expression, place) for condition in blocker.only
    ):
        return IMMEDIATE
    if blocker.uploaded and not any(
        _is_upload(one, expression, place, inference) for one in blocker.uploaded
    ):
        return IMMEDIATE
    if any(inference.conditions.holds(one, expression, place) for one in blocker.brief):
        return BRIEF
    timeout = blocker.timeout
    if timeout is None:
        return UNKNOWN
    if not is_passed(expression, timeout.position, timeout.keyword):
        if hides_arguments(expression):
            return UNKNOWN
        return FOREVER if timeout.default is None else bounded(timeout, timeout.default)
    argument = passed(expression, timeout.position, timeout.keyword)
    if not inference.certainty.is_complete(argument, place):
        return UNKNOWN
    found = [_meant(timeout, value) for value in inference.infer(argument, place)]
    return max(found, key=length, default=UNKNOWN)


def _is_upload(one: Upload, expression: CallExpr, place: Place, inference: Inference) -> bool:
    """Return whether a client may send what a call is given, or what its receiver reads."""
    if not one.receiver:
        return inference.uploads.reach(passed(expression, one.position, one.keyword), place)
    callee = expression.callee
    if callee is None or callee.tag != tags.ATTRIBUTE:
        return False
    return inference.uploads.reach(callee.base, place, made=True)


def length(one: Wait) -> tuple[bool, bool, float]:
    """Return the sort key of a wait: longer ones are greater, and unknown ones than known ones.

    A wait without a bound is the greatest.
    """
    return (one.forever, not one.immediate and one.seconds is None, one.seconds or 0.0)


def _meant(timeout: Timeout, value: v.Value) -> Wait:
    """Return the wait that a value passed as a timeout means."""
    if value.kind != v.LITERAL:
        return UNKNOWN
    if value.value is None:
        return FOREVER if timeout.none == "forever" else IMMEDIATE
    if isinstance(value.value, (int, float)):
        return bounded(timeout, value.value)
    return UNKNOWN


def bounded(timeout: Timeout, value: float) -> Wait:
    """Return the wait that a number passed as a timeout means.

    Args:
        timeout: The parameter.
        value: The number, in the unit of the parameter.
    """
    if value < 0:
        return FOREVER if timeout.negative == "forever" else IMMEDIATE
    if value == 0 or value < timeout.minimum:
        return IMMEDIATE
    return Wait(seconds=value / 1000 if timeout.unit == "ms" else float(value))
