"""Labels of entry points in paths: ``POST /orders``, ``event order``, ``task place()``."""

from __future__ import annotations

from gblock.catalog.entries import Entry
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import CallExpr, Expr, last_name
from gblock.project.reading.summary import ModuleSummary, Scope

_VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
_PATHS = frozenset({"path", "re_path", "url"})
_MOUNTING = frozenset({"add_resource", "add_url_rule", "add_route", "route"}) | _PATHS
"""Functions that take a class of resources, or a view, and the path that it serves."""
_ROUTING = _VERBS | _PATHS | {"route", "expose", "view"}
"""Functions and decorators whose first argument is a path, however it is written."""
_EVENT = "on_"
"""The prefix of methods that handle an event, or a request as in Falcon."""
_MOST_FILES = 12
"""At most this many files that mention a class are searched for its path."""


class Labels:
    """Finds the labels of methods: the paths that their classes serve.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._known: dict[tuple[str, int], str] = {}

    def of_method(self, entry: Entry, summary: ModuleSummary, scope: Scope) -> str:
        """Return the label of a method of a class.

        Args:
            entry: The entry that starts it.
            summary: The module.
            scope: The method.
        """
        owner = summary.scopes[scope.parent]
        if entry.label and scope.name.startswith(_EVENT):
            return f"{entry.label} {scope.name[len(_EVENT) :]}"
        verb = scope.name.removeprefix(_EVENT).partition("_")[0].lower()
        if entry.context == "request" and verb in _VERBS:
            key = (summary.filename, scope.parent)
            if key not in self._known:
                self._known[key] = self._route(summary, scope.parent)
            if self._known[key]:
                return f"{verb.upper()} {self._known[key]}"
        return f"{entry.context} {owner.name}.{scope.name}()"

    def _route(self, summary: ModuleSummary, index: int) -> str:
        """Return the path that a class serves, an empty string if none is known."""
        owner = summary.scopes[index]
        for decorator in owner.decorators:
            if decorator is not None and decorator.tag == tags.CALL:
                if last_name(decorator.callee) in _MOUNTING and (found := _path(decorator)):
                    return found
        paths = self.inference.modules.nearest(owner.name, summary.filename, _MOST_FILES)
        for path in dict.fromkeys([summary.filename, *paths]):
            by_name = self.inference.calling.calls_by_name(path)
            for called in sorted(_MOUNTING & by_name.keys()):
                for call in by_name[called]:
                    place = Place(path, call.scope, call.path)
                    route = _path(call.expression)
                    if route and self._mounts(call.expression, place, summary.filename, index):
                        return route
        return ""

    def _mounts(self, expression: CallExpr, place: Place, path: str, index: int) -> bool:
        given = [*expression.positional, *(value for _, value in expression.keywords)]
        return any(
            value.kind in (v.CLASS, v.OBJECT) and v.comes_from(value, path, index)
            for one in map(_viewed, given)
            if one is not None and one.tag != tags.CONSTANT
            for value in self.inference.infer(one, place)
        )


def of_decorator(entry: Entry, called: CallExpr | None, name: str, scope: Scope) -> str:
    """Return the label of a function with a decorator.

    Args:
        entry: The entry that starts it.
        called: The call that makes the decorator, None for a decorator without arguments.
        name: The decorator's name.
        scope: The function.
    """
    routed = of_call(entry, called, name) if called is not None else ""
    if not routed and entry.label and name == entry.label:
        return f"{entry.label} {scope.name}"
    return routed or f"{entry.context} {scope.name}()"


def of_call(entry: Entry, expression: CallExpr, name: str) -> str:
    """Return ``POST /orders`` for a call that names a route, ``event order`` for another one.

    Returns:
        An empty string if the call names neither.
    """
    first = expression.positional[0] if expression.positional else None
    if first is None or first.tag != tags.CONSTANT or not isinstance(first.value, str):
        return ""
    if entry.label:
        return f"{entry.label} {first.value}"
    if entry.context != "request" or not (first.value.startswith("/") or name in _ROUTING):
        return ""
    methods = [name.upper()] if name in _VERBS else []
    for key, value in expression.keywords:
        if key in ("methods", "method", "request_method") and value is not None:
            listed = value.elements if value.tag in (tags.SEQUENCE, tags.TUPLE) else (value,)
            methods = [str(o.value) for o in listed if o is not None and o.tag == tags.CONSTANT]
    return f"{'/'.join(methods) or 'GET'} {first.value}"


def _path(expression: CallExpr) -> str:
    """Return the first string among a call's arguments, as Django and Flask write paths."""
    for one in expression.positional:
        if one is not None and one.tag == tags.CONSTANT and isinstance(one.value, str):
            return one.value
    return ""


def _viewed(argument: Expr) -> Expr:
    """Return the class of ``Class.as_view()``, else the argument."""
    if argument is not None and argument.tag == tags.CALL:
        callee = argument.callee
        if callee is not None and callee.tag == tags.ATTRIBUTE and callee.name == "as_view":
            return callee.base
    return argument
