"""Evaluates expressions to texts, with the place where each text is written.

Inference says what a value can be and forgets where it came from. The evaluator follows names,
settings, parameters and functions back to a constant in the source. It evaluates f-strings, ``%``,
``format``, ``+`` and defaults of the environment. A text is evaluated from its start to the first
part that is not known: of ``f"{a}://{b}"`` the start is known where `a` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.classes import PROPERTIES
from gblock.project.names.definitions import END
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, Path
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    Expr,
    InnerExpr,
    MappingExpr,
    NameExpr,
    SubscriptExpr,
    as_keywords,
    constant,
    last_name,
    passed,
)
from gblock.project.reading.summary import ModuleSummary

Rows = tuple[int, int]
"""The first and the last row between which something is written."""

_LONGEST_CHAIN = 25
"""At most this many declarations in a row are followed."""
_MOST_TEXTS = 40
"""At most this many texts of an expression are kept."""
_HOLE = re.compile(r"\{(\w*)[^{}]*\}|%(?:\((\w+)\))?[sr]")
_NAMES = (tags.NAME, tags.ATTRIBUTE, tags.SUBSCRIPT)
_LOOK_UPS = frozenset("get getenv get_env getvalue env pop".split())
"""Functions whose first argument names what is looked up, such as an environment variable."""
_OF_ITEMS = frozenset(("get", "pop"))
"""Methods of a dict whose first argument is a key."""
_SETTINGS = "config"
"""The attribute with the settings of an application of Flask."""
_SETTING = frozenset(("from_mapping", "update"))
"""Its methods that take settings as keyword arguments."""
_SAME_START = frozenset(
    ("strip", "rstrip", "lstrip", "encode", "decode", "lower", "copy", "get_secret_value")
)
"""Methods whose result starts like their object."""


class Text(NamedTuple):
    """One possible text of an expression."""

    start: str
    """Its start, as far as it is known."""
    whole: bool
    """True if that is all of it."""
    path: str
    rows: Rows
    """The rows of its statement, or of an enclosing statement."""
    written: str
    """The constant in which it starts."""


class Part(NamedTuple):
    """An expression other than a name, and its place."""

    expression: Expr
    place: Place
    rows: Rows


class Texts:
    """Evaluates expressions to texts.

    Args:
        inference: Type inference, which resolves the owners of attributes and the callees.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._followed: set[tuple[Expr, Place]] = set()
        self._evaluated: set[tuple[Expr, Place]] = set()

    def of(self, part: Part) -> list[Text]:
        """Return the possible texts of an expression, as far as they are known."""
        key = (part.expression, part.place)
        if key in self._evaluated or len(self._evaluated) > _LONGEST_CHAIN:
            return []
        self._evaluated.add(key)
        found: dict[Text, None] = {}
        try:
            for one in self.parts(part):
                found.update(dict.fromkeys(islice(self._texts(one), _MOST_TEXTS)))
                if len(found) >= _MOST_TEXTS:
                    return list(found)[:_MOST_TEXTS]
        finally:
            self._evaluated.discard(key)
        return list(found) or self._inferred(part)

    def _inferred(self, part: Part) -> list[Text]:
        """Return the constants of an expression by inference alone, such as a loop variable's."""
        if part.expression is None or part.expression.tag not in _NAMES:
            return []
        values = self.inference.infer(part.expression, part.place)
        texts = sorted(str(one.value) for one in values if one.kind == v.LITERAL)
        return [Text(one, True, part.place.path, part.rows, one) for one in texts]

    def held(self, part: Part, key: str | None) -> list[Part]:
        """Return the contents of dicts, nested ones included.

        Args:
            part: A dict.
            key: The key, at any depth; None for all values that are not dicts.
        """
        return list(self._held(part, key, 4))

    def _held(self, part: Part, key: str | None, depth: int) -> Iterator[Part]:
        for one in self.parts(part):
            items = _items(one.expression)
            if items is None:
                if key is None and depth < 4:
                    yield one
                continue
            for name, value in items if depth else ():
                inner = one._replace(expression=value)
                if value is not None and value.tag == tags.STAR:
                    yield from self._held(one._replace(expression=value.value), key, depth)
                elif key is not None and name == constant(key):
                    yield inner
                else:
                    yield from self._held(inner, key, depth - 1)

    # -- names, attributes, elements

    def parts(self, part: Part) -> list[Part]:
        """Return the expression itself, or the expressions assigned to its name."""
        key = (part.expression, part.place)
        if part.expression is None or key in self._followed:
            return []
        if len(self._followed) > _LONGEST_CHAIN:
            return []
        self._followed.add(key)
        try:
            return list(islice(self._parts(part), _MOST_TEXTS))
        finally:
            self._followed.discard(key)

    def _parts(self, part: Part) -> Iterator[Part]:
        expression, place, _ = part
        if expression is None:
            return
        if expression.tag in (tags.EITHER, tags.BOTH):
            for one in expression.elements:
                yield from self.parts(part._replace(expression=one))
        elif expression.tag == tags.NAME:
            yield from self._named(expression.identifier, place)
        elif expression.tag == tags.ATTRIBUTE:
            yield from self._attribute(expression, place)
        elif expression.tag == tags.SUBSCRIPT:
            yield from self._element(expression, part)
        elif expression.tag == tags.CALL:
            yield from self._called(expression, part)
        elif expression.tag in (tags.STAR, tags.AWAIT):
            yield from self.parts(part._replace(expression=expression.value))
        else:
            yield part

    def _named(self, name: str, place: Place) -> Iterator[Part]:
        summary = self.modules.summary(place.path)
        scope, innermost = place.scope, True
        while scope >= 0:
            entry = summary.scopes[scope]
            if name in entry.bindings and (innermost or entry.kind != "class"):
                yield from self._bound(summary, scope, name, place.at if innermost else END)
                return
            innermost = innermost and entry.kind == "comprehension"
            scope = entry.parent
        for binding in summary.scopes[0].bindings.get("*", ()):
            module, _, level = binding.value
            path = self.modules.resolve(module, level, place.path)
            if path is not None and path != place.path:
                yield from self.of_module(path, name)

    def of_module(self, path: str, name: str) -> Iterator[Part]:
        """Yield the expressions assigned to a module's name."""
        if not self.modules.is_module(path):
            return
        summary = self.modules.summary(path)
        if name in summary.scopes[0].bindings:
            yield from self._bound(summary, 0, name, END)
        elif "*" in summary.scopes[0].bindings:
            yield from self._named(name, Place(path, 0, END))

    def _bound(self, summary: ModuleSummary, scope: int, name: str, at: Path) -> Iterator[Part]:
        stored = [b for b in summary.scopes[scope].bindings[name] if b.kind == kinds.ELEMENT]
        for binding in (*self.inference.definitions.reaching(summary, scope, name, at), *stored):
            yield from self.binding(binding, summary)

    def binding(self, binding: Binding, summary: ModuleSummary) -> Iterator[Part]:
        """Yield the expressions that one binding assigns."""
        path = summary.filename
        place = Place(path, binding.scope, binding.path)
        rows = (binding.row, binding.row)
        if binding.kind == kinds.ASSIGNED:
            yield from self.parts(Part(binding.value, place, rows))
        elif binding.kind == kinds.ELEMENT:
            if binding.detail is not None:
                item = (binding.detail, binding.value)
                yield Part(MappingExpr(tags.MAPPING, (item,)), place, rows)
        elif binding.kind == kinds.IMPORTED:
            module, imported, level = binding.value
            found = self.modules.resolve(module, level, path)
            if found is not None and imported is not None and found != path:
                yield from self.of_module(found, imported)
        elif binding.kind == kinds.PARAMETER:
            yield from self._filled(summary, binding.scope, binding.detail)
        elif binding.kind == kinds.DEFINED:
            yield from self._computed(summary, binding.value)

    def _computed(self, summary: ModuleSummary, index: int) -> Iterator[Part]:
        """Yield what a property returns."""
        scope = summary.scopes[index]
        if scope.kind == "function" and self.inference.decorators(summary, index) & PROPERTIES:
            for returned, at in scope.returns:
                yield from self.parts(
                    Part(returned, Place(summary.filename, index, at), scope.rows)
                )

    def _filled(self, summary: ModuleSummary, index: int, position: int) -> Iterator[Part]:
        """Yield a parameter's default and the arguments of the function's calls."""
        scope = summary.scopes[index]
        name, _, default, kind = scope.parameters[position]
        if kind in ("*", "**"):
            return
        outside = Place(summary.filename, scope.parent, scope.path)
        yield from self.parts(Part(default, outside, scope.rows))
        owner = summary.scopes[scope.parent] if scope.parent >= 0 else None
        shift = 1 if owner is not None and owner.kind == "class" else 0
        for call, place in self.inference.calling.callers(summary.filename, index):
            argument = passed(call.expression, position - shift, name)
            yield from self.parts(Part(argument, place, call.statement))

    def _attribute(self, expression: AttributeExpr, place: Place) -> Iterator[Part]:
        name = expression.name
        for value in sorted(self.inference.infer(expression.base, place), key=repr):
            if value.kind == v.MODULE:
                yield from self.of_module(value.path, name)
            elif value.kind in (v.CLASS, v.OBJECT):
                yield from self._of_class(value.path, value.scope, name, 4)
            elif value.kind == v.INSTANCE and not self.modules.is_frugal:
                for path, binding in self.inference.outside.bindings(value, name):
                    yield from self.binding(binding, self.modules.summary(path))

    def _of_class(self, path: str, index: int, name: str, depth: int) -> Iterator[Part]:
        summary = self.modules.summary(path)
        found = False
        if name in summary.scopes[index].bindings:
            found = True
            for binding in summary.scopes[index].bindings[name]:
                yield from self.binding(binding, summary)
        for number, scope in enumerate(summary.scopes):
            if scope.parent == index and scope.parameters and number:
                for binding in scope.attributes.get((scope.parameters[0].name, name), ()):
                    found = True
                    yield from self.binding(binding, summary)
        if not found and depth:
            for base in sorted(self.inference.classes.bases(path, index), key=repr):
                if base.kind == v.CLASS:
                    yield from self._of_class(base.path, base.scope, name, depth - 1)

    def _element(self, expression: SubscriptExpr, part: Part) -> Iterator[Part]:
        key = expression.key
        if key is None or key.tag == tags.CONSTANT:
            keys = [key]
        else:  # a key that nothing gives in the project may be any of them
            texts = self.of(part._replace(expression=key))
            keys = list(dict.fromkeys(constant(text.written) for text in texts))
        found = False
        for one in self.parts(part._replace(expression=expression.base)):
            for name, value in _items(one.expression) or ():
                if name in keys or not keys:
                    found = True
                    yield from self.parts(one._replace(expression=value))
        if not found and last_name(expression.base) == _SETTINGS:
            for key in keys:
                if key is not None and isinstance(key.value, str) and key.value.isupper():
                    yield from self._setting(key.value)

    def _setting(self, name: str) -> Iterator[Part]:
        """Yield what classes, modules and calls assign to a setting of any application."""
        for path in self.modules.mentioning(name, whole=True):
            summary = self.modules.summary(path)
            for scope in summary.scopes:
                if scope.kind in ("class", "module"):
                    for binding in scope.bindings.get(name, ()):
                        yield from self.binding(binding, summary)
            for call in summary.calls:
                if call.node == "call" and last_name(call.expression.callee) in _SETTING:
                    place = Place(path, call.scope, call.path)
                    given = passed(call.expression, None, name)
                    yield from self.parts(Part(given, place, call.statement))

    # -- calls

    def _called(self, expression: CallExpr, part: Part) -> Iterator[Part]:
        """Yield a call's results: returned expressions, or the arguments of other functions."""
        callee, positional = expression.callee, expression.positional
        own = False
        for value in sorted(self.inference.infer(callee, part.place), key=repr):
            if value.kind == v.FUNCTION:
                own = True
                summary = self.modules.summary(value.path)
                scope = summary.scopes[value.scope]
                for returned, at in scope.returns:
                    yield from self.parts(
                        Part(returned, Place(value.path, value.scope, at), scope.rows)
                    )
        if own:
            return
        name = last_name(callee)
        if name in ("format", "replace", "dict") or name in _SAME_START:
            yield part
            return
        if positional and callee is not None and callee.tag == tags.ATTRIBUTE and name in _OF_ITEMS:
            item = SubscriptExpr(tags.SUBSCRIPT, callee.base, positional[0])
            yield from self._element(item, part)
        for keyword, default in expression.keywords:
            if keyword == "default":
                yield from self.parts(part._replace(expression=default))
        if len(positional) == 1 and name in _LOOK_UPS:
            return
        if len(positional) == 1:  # ``str(url)``, ``make_url(url)``, ``Field(url)``
            yield from self.parts(part._replace(expression=positional[0]))
        elif len(positional) > 1:  # ``os.environ.get(name, default)``
            yield from self.parts(part._replace(expression=positional[1]))

    # -- texts

    def _texts(self, part: Part) -> Iterator[Text]:
        expression, place, rows = part
        if expression is None:
            return
        if expression.tag == tags.CONSTANT:
            written = str(expression.value)
            yield Text(written, True, place.path, rows, written)
        elif expression.tag == tags.TEXT:
            if expression.is_template:
                template, arguments = expression.parts
                yield from self._filled_in(part, template, arguments)
            else:
                yield from self._joined(part, expression.parts)
        elif expression.tag == tags.CALL:
            method = expression.callee
            if method is None or method.tag != tags.ATTRIBUTE:
                return
            inner = part._replace(expression=method.base)
            if method.name == "format":
                yield from self._filled_in(part, method.base, expression)
            elif method.name == "replace":
                yield from self._replaced(expression, part, inner)
            elif method.name in _SAME_START:
                for text in self.of(inner):
                    yield text._replace(whole=False)

    def _joined(self, part: Part, pieces: tuple[Expr, ...]) -> Iterator[Text]:
        """Yield the concatenated texts of several pieces, up to the first unknown one."""
        found: list[Text | None] = [None]
        for piece in pieces:
            if not any(text is None or text.whole for text in found):
                break
            following = self.of(part._replace(expression=piece))
            longer: list[Text | None] = []
            for text in found:
                if text is None:
                    longer += following
                elif text.whole and following:
                    longer += [
                        text._replace(start=text.start + one.start, whole=one.whole)
                        for one in following
                    ]
                else:
                    longer.append(text._replace(whole=False))
            found = longer[:_MOST_TEXTS]
        yield from (text for text in found if text is not None)

    def _filled_in(self, part: Part, template: Expr, arguments: Expr) -> Iterator[Text]:
        """Yield the texts of a filled template; if it starts with a hole, of its argument."""
        for text in self.of(part._replace(expression=template)):
            hole = _HOLE.search(text.start)
            if hole is None:
                yield text
            elif hole.start():
                yield text._replace(start=text.start[: hole.start()], whole=False)
            else:
                rest = text.start[hole.end() :]
                following = _HOLE.search(rest)
                rest = rest[: following.start()] if following else rest
                filler = _filler(arguments, hole[1] or hole[2] or "")
                for one in self.of(part._replace(expression=filler)):
                    yield one._replace(start=one.start + (rest if one.whole else ""), whole=False)

    def _replaced(self, expression: CallExpr, part: Part, base: Part) -> Iterator[Text]:
        """Yield the texts of ``url.replace(old, new)``; a start that is replaced is exchanged."""
        positional = expression.positional
        if len(positional) < 2:
            return
        olds = {text.start for text in self.of(part._replace(expression=positional[0]))} - {""}
        news = self.of(part._replace(expression=positional[1]))
        texts = self.of(base)
        if not texts:
            yield from (new._replace(whole=False) for new in news)
        for text in texts:
            old = next((old for old in sorted(olds) if text.start.startswith(old)), None)
            if old is None:
                yield text._replace(whole=False)
            rest = text.start.removeprefix(old) if old is not None else ""
            for new in news:
                yield new._replace(start=new.start + (rest if new.whole else ""), whole=False)


def _items(expression: Expr) -> tuple[tuple[Expr, Expr], ...] | None:
    """Return the items of a dict display or of ``dict(key=value)``; None for anything else."""
    if expression is None:
        return None
    if expression.tag == tags.MAPPING:
        return expression.items
    if expression.tag == tags.CALL and expression.callee == NameExpr(tags.NAME, "dict"):
        return tuple(
            ((constant(name), value) if name is not None else (None, InnerExpr(tags.STAR, value)))
            for name, value in expression.keywords
        )
    return None


def _filler(arguments: Expr, name: str) -> Expr:
    """Return the argument of a template's first hole: the first one, or the one of its name."""
    if arguments is None:
        return None
    if arguments.tag == tags.CALL:
        if name and not name.isdigit():
            return next((value for keyword, value in arguments.keywords if keyword == name), None)
        number = int(name or 0)
        return arguments.positional[number] if len(arguments.positional) > number else None
    if arguments.tag == tags.TUPLE:
        return arguments.elements[0] if arguments.elements else None
    if arguments.tag == tags.MAPPING:
        return next((value for keyword, value in as_keywords(arguments) if keyword == name), None)
    return arguments if not name else None
