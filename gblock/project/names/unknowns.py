"""Why nothing is known of an object: a few words for the list of calls that are not judged."""

from __future__ import annotations

import sys

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.expressions import Place, last_name
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Binding, Expr, ModuleSummary

_LONGEST_CHAIN = 8
"""How many assignments in a row are followed."""
_ONLY_NONE = "an object that is only known to be None"
_UNBOUND = "a name that nothing in the project binds"


def cause(inference: Inference, expression: Expr, place: Place, depth: int = 0) -> str | None:
    """Return what an expression is of which inference says nothing, or nothing but None.

    None stands for what the standard library returns: all of it that blocks is in the catalog.
    """
    if not depth and v.NONE in inference.infer(expression, place):
        return _ONLY_NONE
    tag = expression.tag if expression is not None else None
    if tag in (tags.AWAIT, tags.STAR):
        return cause(inference, expression.value, place, depth)
    if tag == tags.NAME:
        return _named(inference, expression.identifier, place, depth)
    if tag == tags.ATTRIBUTE:
        if v.informative(inference.infer(expression.base, place)):
            return f"`{expression.name}`, an attribute that nothing in the project sets"
        owner = cause(inference, expression.base, place, depth + 1)
        return owner and f"`{expression.name}` of {owner}"
    if tag == tags.CALL:
        called = last_name(expression.callee)
        values = inference.infer(expression.callee, place)
        if values and all(value.kind == v.EXTERNAL and _is_standard(value) for value in values):
            return None
        return f"what `{called}()` returns" if called else "what a call returns"
    if tag in (tags.SUBSCRIPT, tags.EITHER, tags.COMPREHENSION):
        return "an element of a container" if tag == tags.SUBSCRIPT else "one of several objects"
    return "an expression that is not followed"


def _is_standard(value: v.Value) -> bool:
    return value.symbol.partition(".")[0] in sys.stdlib_module_names


def _named(inference: Inference, name: str, place: Place, depth: int) -> str | None:
    summary = inference.modules.summary(place.path)
    scope, innermost = place.scope, True
    while summary is not None and scope >= 0:
        entry = summary.scopes[scope]
        if name in entry.bindings and (innermost or entry.kind != "class"):
            use = place.at if innermost else END
            bindings = inference.definitions.reaching(summary, scope, name, use)
            if not bindings:
                return _UNBOUND
            return _bound(inference, bindings[0], summary, depth)
        innermost = innermost and entry.kind == "comprehension"
        scope = entry.parent
    return _UNBOUND


def _bound(
    inference: Inference, binding: Binding, summary: ModuleSummary, depth: int
) -> str | None:
    if binding.kind == tags.PARAMETER:
        name = summary.scopes[binding.scope].parameters[binding.detail][0]
        return f"`{name}`, a parameter that no call in the project fills with a known object"
    if binding.kind == tags.IMPORTED:
        return f"`{binding.value.name or binding.value.module}`, an import that leads to nothing"
    if binding.kind == tags.LOOPED:
        return "an element of a container"
    if binding.kind in (tags.ASSIGNED, tags.UNPACKED, tags.ENTERED) and depth < _LONGEST_CHAIN:
        place = Place(summary.filename, binding.scope, binding.path)
        return cause(inference, binding.value, place, depth + 1)
    return "an expression that is not followed"
