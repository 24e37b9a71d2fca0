"""Registrars: functions of the project that hand what they take to another function.

A decorator hands on what it decorates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import Expr, constant_of, dotted, same
from gblock.project.reading.summary import Call, ModuleSummary


class Filled(NamedTuple):
    """The parameter that an argument fills."""

    name: str
    key: int | str | None = None
    """The argument's position in ``*args``, or its name in ``**kwargs``."""


class _Search(NamedTuple):
    """A search for what a decorator takes."""

    summary: ModuleSummary
    taken: dict[int, str]
    """The functions that take it, with the names of their parameters."""
    seen: set[tuple[int, str]]
    """The names that were looked up."""


def handed_by(
    summary: ModuleSummary, owner: int, *, is_called: bool
) -> Iterator[tuple[Call, Place, int | None, Expr]]:
    """Yield the calls, their places, and the position and expression of the argument.

    Args:
        summary: The module of a decorator.
        owner: The scope of its function or class.
        is_called: True if it is used with arguments: ``@handles("/orders")``. The function
            that it returns takes what is decorated then.
    """
    return _handing(summary, owner, dict(_taking(summary, owner, is_called)))


def is_of_outer(summary: ModuleSummary, argument: Expr, scope: int) -> bool:
    """Return whether an expression names a parameter of a function around that of a scope.

    A wrapper hands over what its decorator takes.
    """
    if argument is None or argument.tag != tags.NAME:
        return False
    owner = summary.binding(argument.identifier, scope)
    if owner in (0, summary.function_around(scope)):
        return False
    bound = summary.scopes[owner].bindings.get(argument.identifier, ())
    return any(one.kind == kinds.PARAMETER for one in bound)


def handing(
    summary: ModuleSummary, index: int, parameter: Filled
) -> Iterator[tuple[Call, Place, int | None, Expr]]:
    """Yield the calls to which a function hands one of its parameters, as `handed_by` does.

    What it takes by ``*args`` or ``**kwargs`` and hands on by them is written out in the call.

    Args:
        summary: The module of the function.
        index: Its scope.
        parameter: The parameter.
    """
    if parameter.key is None:
        return _handing(summary, index, {index: parameter.name})
    return _handing_packed(summary, index, parameter)


def _handing_packed(
    summary: ModuleSummary, index: int, parameter: Filled
) -> Iterator[tuple[Call, Place, int | None, Expr]]:
    name, key = parameter
    for call in summary.calls:
        if call.node != "call" or not summary.is_within(call.scope, index):
            continue
        if summary.binding(name, call.scope) != index:
            continue
        _, _, positional, keywords = call.expression
        place = Place(summary.filename, call.scope, call.path)
        for number, one in enumerate(positional):
            if is_parameter(one, parameter):
                yield call, place, number, one
            elif isinstance(key, int) and one is not None and one.tag == tags.STAR:
                if dotted(one.value) == name:
                    written = (*positional[:number], *(None,) * key, *positional[number:])
                    plain = call.expression._replace(positional=written)
                    yield call._replace(expression=plain), place, number + key, one
        for number, (word, value) in enumerate(keywords):
            if is_parameter(value, parameter):
                yield call, place, None, value
            elif isinstance(key, str) and word is None and dotted(value) == name:
                named = (*keywords[:number], (key, value), *keywords[number + 1 :])
                plain = call.expression._replace(keywords=named)
                yield call._replace(expression=plain), place, None, value


def is_parameter(expression: Expr, parameter: Filled) -> bool:
    """Return whether an expression is the argument: ``function``, or ``args[0]``."""
    if expression is None:
        return False
    if expression.tag == tags.NAME:
        return expression.identifier == parameter.name and parameter.key is None
    return (
        expression.tag == tags.SUBSCRIPT
        and parameter.key is not None
        and dotted(expression.base) == parameter.name
        and same(constant_of(expression.key), parameter.key)
    )


def _handing(
    summary: ModuleSummary, owner: int, taken: dict[int, str]
) -> Iterator[tuple[Call, Place, int | None, Expr]]:
    for call in summary.calls if taken else ():
        # The scopes inside another one have higher numbers.
        if call.node != "call" or call.scope < owner or not summary.is_within(call.scope, owner):
            continue
        place = Place(summary.filename, call.scope, call.path)
        given = call.expression
        for position, argument in (
            *enumerate(given.positional),
            *((None, value) for _, value in given.keywords),
        ):
            if _is_of(argument, call.scope, _Search(summary, taken, set())):
                yield call, place, position, argument


def _taking(summary: ModuleSummary, owner: int, is_called: bool) -> Iterator[tuple[int, str]]:
    """Yield the functions that take what is decorated, and the names of their parameters."""
    is_class = summary.scopes[owner].kind == "class"
    method = "__call__" if is_called else "__init__"
    for index, scope in enumerate(summary.scopes):
        if is_class or is_called:
            if scope.parent != owner or (is_class and scope.name != method):
                continue
        elif index != owner:
            continue
        names = [one.name for one in scope.parameters if one.kind == "positional"]
        if names[is_class:]:
            yield index, names[is_class]


def _is_of(expression: Expr, scope: int, search: _Search) -> bool:
    """Return whether an expression is what is decorated, or may run it."""
    if expression is None:
        return False
    if expression.tag == tags.CALL:
        return any(_is_of(one, scope, search) for one in expression.positional)
    if expression.tag == tags.LAMBDA:
        return _runs(expression.scope, search)
    if expression.tag != tags.NAME:
        return False
    name = expression.identifier
    scope = search.summary.binding(name, scope)
    if scope <= 0 or (scope, name) in search.seen:
        return False
    if search.taken.get(scope) == name:
        return True
    search.seen.add((scope, name))
    return any(
        _runs(one.value, search)
        if one.kind == kinds.DEFINED
        else one.kind == kinds.ASSIGNED and _is_made(one.value, scope, search)
        for one in search.summary.scopes[scope].bindings[name]
    )


def _is_made(made: Expr, scope: int, search: _Search) -> bool:
    """Return whether an expression is a call that takes what is decorated."""
    return made is not None and made.tag == tags.CALL and _is_of(made, scope, search)


def _runs(wrapper: int, search: _Search) -> bool:
    """Return whether a function calls what is decorated, or passes it on."""
    return any(
        _is_of(one, call.scope, search)
        for call in search.summary.calls
        if call.node == "call" and search.summary.is_within(call.scope, wrapper)
        for one in (call.expression.callee, *call.expression.positional)
    )
