"""Explanations of unknown types, for the list of unresolved calls (``--show-unresolved``)."""

from __future__ import annotations

import sys

from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding
from gblock.project.reading.expressions import Expr, last_name
from gblock.project.reading.summary import ModuleSummary

_LONGEST_CHAIN = 8
"""At most this many assignments in a row are followed."""
_ONLY_NONE = "an object that is only known to be None"
_ELEMENT = "an element of a container"
_NOT_FOLLOWED = "an expression that is not followed"
_UNBOUND = "a name that nothing in the project binds"


def cause(inference: Inference, expression: Expr, place: Place, depth: int = 0) -> str | None:
    """Return a description of an expression of unknown type, or that is only known to be None.

    Args:
        inference: Type inference over the project.
        expression: The expression.
        place: Its place.
        depth: The number of assignments that led to it.

    Returns:
        None for a result of the standard library: all of it that blocks is in the catalog.
    """
    if not depth and v.NONE in inference.infer(expression, place):
        return _ONLY_NONE
    if expression is None:
        return _NOT_FOLLOWED
    if expression.tag in (tags.AWAIT, tags.STAR):
        return cause(inference, expression.value, place, depth)
    if expression.tag == tags.NAME:
        return _named(inference, expression.identifier, place, depth)
    if expression.tag == tags.ATTRIBUTE:
        if v.informative(inference.infer(expression.base, place)):
            return f"`{expression.name}`, an attribute that nothing in the project sets"
        owner = cause(inference, expression.base, place, depth + 1)
        return owner and f"`{expression.name}` of {owner}"
    if expression.tag == tags.CALL:
        called = last_name(expression.callee)
        values = inference.infer(expression.callee, place)
        if values and all(value.kind == v.EXTERNAL and _is_standard(value) for value in values):
            return None
        return f"what `{called}()` returns" if called else "what a call returns"
    if expression.tag == tags.SUBSCRIPT:
        return _ELEMENT
    if expression.tag in (tags.EITHER, tags.SUM, tags.COMPREHENSION):
        return "one of several objects"
    return _NOT_FOLLOWED


def _is_standard(value: v.SymbolValue) -> bool:
    return value.symbol.partition(".")[0] in sys.stdlib_module_names


def _named(inference: Inference, name: str, place: Place, depth: int) -> str | None:
    found = inference.scope_of(name, place)
    if found is None:
        return _UNBOUND
    summary, scope, use = found
    bindings = inference.definitions.reaching(summary, scope, name, use)
    return _bound(inference, bindings[0], summary, depth) if bindings else _UNBOUND


def _bound(
    inference: Inference, binding: Binding, summary: ModuleSummary, depth: int
) -> str | None:
    if binding.kind == kinds.PARAMETER:
        name = summary.scopes[binding.scope].parameters[binding.position].name
        return f"`{name}`, a parameter that no call in the project fills with a known object"
    if binding.kind == kinds.IMPORTED:
        return f"`{binding.value.name or binding.value.module}`, an import that leads to nothing"
    if binding.kind == kinds.LOOPED:
        return _ELEMENT
    if binding.kind in (kinds.ASSIGNED, kinds.UNPACKED, kinds.ENTERED) and depth < _LONGEST_CHAIN:
        place = Place(summary.filename, binding.scope, binding.path)
        return cause(inference, binding.value, place, depth + 1)
    return _NOT_FOLLOWED
