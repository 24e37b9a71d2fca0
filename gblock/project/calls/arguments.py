"""How long a call waits, read from its arguments."""

from __future__ import annotations

from typing import NamedTuple

from gblock.catalog import Blocker, Timeout
from gblock.project.names import values as v
from gblock.project.names.expressions import Place, is_passed, passed
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Expr


class Wait(NamedTuple):
    """What is known of a wait. Where all is empty, it waits for an unknown time."""

    immediate: bool = False
    """Whether it does not wait at all."""
    forever: bool = False
    """Whether nothing bounds the wait."""
    seconds: float | None = None
    """Its bound, where it is a constant."""
    ready: bool = False
    """Whether it is immediate since its object is ready, not by its arguments."""


IMMEDIATE = Wait(immediate=True)
READY = Wait(immediate=True, ready=True)
FOREVER = Wait(forever=True)
UNKNOWN = Wait()


def wait(blocker: Blocker, expression: Expr, place: Place, inference: Inference) -> Wait:
    """Return how long a call of a blocker waits."""
    if any(
        inference.conditions.holds(condition, expression, place) for condition in blocker.unless
    ):
        return IMMEDIATE
    timeout = blocker.timeout
    if timeout is None:
        return UNKNOWN
    _, _, positional, keywords = expression
    if not is_passed(expression, timeout.position, timeout.keyword):
        starred = any(one is not None and one.tag == tags.STAR for one in positional)
        if starred or any(name is None for name, _ in keywords):
            return UNKNOWN
        return FOREVER if timeout.default is None else bounded(timeout, timeout.default)
    argument = passed(expression, timeout.position, timeout.keyword)
    found = [_meant(timeout, value) for value in inference.infer(argument, place)]
    if not found:
        return UNKNOWN
    return max(found, key=_length)


def _length(one: Wait) -> tuple[bool, bool, float]:
    return (one.forever, not one.immediate and one.seconds is None, one.seconds or 0.0)


def _meant(timeout: Timeout, value: v.Value) -> Wait:
    if value.kind != v.LITERAL:
        return UNKNOWN
    if value.value is None:
        return FOREVER if timeout.none == "forever" else IMMEDIATE
    if isinstance(value.value, (int, float)):
        return bounded(timeout, value.value)
    return UNKNOWN


def bounded(timeout: Timeout, value: float) -> Wait:
    """Return what one number means as this timeout."""
    if value < 0:
        return FOREVER if timeout.negative == "forever" else IMMEDIATE
    if value == 0 or value < timeout.minimum:
        return IMMEDIATE
    return Wait(seconds=value / 1000 if timeout.unit == "ms" else float(value))
