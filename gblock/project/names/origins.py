"""Where the text of an expression is written: names, settings and functions are followed back.

What a value can be is `inference`'s business, which forgets where it came from. Here a text is
followed to the place where it stands in the source, and how it starts is enough: ``f"{a}://{b}"``
is told as far as its parts are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.expressions import Place, as_keywords, last_name, passed
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import (
    Binding,
    Expr,
    InnerExpr,
    MappingExpr,
    ModuleSummary,
    NameExpr,
    constant,
)

Rows = tuple[int, int]
"""The first and the last row between which something is written."""

_LONGEST_CHAIN = 25
"""How many declarations in a row are followed."""
_MOST_TEXTS = 40
"""How many texts an expression may have."""
_HOLE = re.compile(r"\{(\w*)[^{}]*\}|%(?:\((\w+)\))?[sr]")
_SAME_START = frozenset(
    ("strip", "rstrip", "lstrip", "encode", "decode", "lower", "copy", "get_secret_value")
)
"""Methods whose result starts like their object."""


class Text(NamedTuple):
    """One text that an expression can be."""

    start: str
    """How it starts, as far as it is told."""
    whole: bool
    """Whether that is all of it."""
    path: str
    rows: Rows
    """Where it is written: the rows of a statement, or of something around it."""
    written: str
    """The constant in which it starts."""


class Part(NamedTuple):
    """An expression that is no name, and where it stands."""

    expression: Expr
    place: Place
    rows: Rows


class Origins:
    """Follows expressions back to constants.

    Args:
        inference: What the project's expressions can be: whose attribute is meant, what is called.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._open: set[tuple[Expr, Place]] = set()

    def texts(self, part: Part) -> list[Text]:
        """The texts that an expression can be, as far as they can be told."""
        found: dict[Text, None] = {}
        for one in self.parts(part):
            for text in self._texts(one):
                found[text] = None
                if len(found) >= _MOST_TEXTS:
                    return list(found)
        return list(found)

    def held(self, part: Part, key: str | None) -> list[Part]:
        """What dicts hold, those inside them too.

        Args:
            part: A dict.
            key: Under which key, however deep; None for whatever is no dict.
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

    def parts(self, part: Part) -> Iterator[Part]:
        """What an expression stands for: itself, or what its name was given."""
        expression, place, _ = part
        if expression is None:
            return
        key = (expression, place)
        if key in self._open or len(self._open) > _LONGEST_CHAIN:
            return
        self._open.add(key)
        try:
            tag = expression.tag
            if tag in (tags.EITHER, tags.BOTH):
                for one in expression.elements:
                    yield from self.parts(part._replace(expression=one))
            elif tag == tags.NAME:
                yield from self._named(expression.identifier, place)
            elif tag == tags.ATTRIBUTE:
                yield from self._attribute(expression, place)
            elif tag == tags.SUBSCRIPT:
                yield from self._element(part)
            elif tag == tags.CALL:
                yield from self._called(part)
            elif tag == tags.STAR or tag == tags.AWAIT:
                yield from self.parts(part._replace(expression=expression.value))
            else:
                yield part
        finally:
            self._open.discard(key)

    def _named(self, name: str, place: Place) -> Iterator[Part]:
        summary = self.modules.summary(place.path)
        scope, innermost = place.scope, True
        while summary is not None and scope >= 0:
            entry = summary.scopes[scope]
            if name in entry.bindings and (innermost or entry.kind != "class"):
                yield from self._bound(summary, scope, name, place.at if innermost else END)
                return
            innermost = innermost and entry.kind == "comprehension"
            scope = entry.parent
        if summary is not None:
            for binding in summary.scopes[0].bindings.get("*", ()):
                module, _, level = binding.value
                path = self.modules.resolve(module, level, place.path)
                if path is not None and path != place.path:
                    yield from self.of_module(path, name)

    def of_module(self, path: str, name: str) -> Iterator[Part]:
        """What a module's name was given."""
        summary = self.modules.summary(path) if self.modules.is_module(path) else None
        if summary is not None and name in summary.scopes[0].bindings:
            yield from self._bound(summary, 0, name, END)
        elif summary is not None and "*" in summary.scopes[0].bindings:
            yield from self._named(name, Place(path, 0, END))

    def _bound(
        self, summary: ModuleSummary, scope: int, name: str, at: tags.Path
    ) -> Iterator[Part]:
        stored = [b for b in summary.scopes[scope].bindings[name] if b.kind == tags.ELEMENT]
        for binding in (*self.inference.definitions.reaching(summary, scope, name, at), *stored):
            yield from self.binding(binding, summary)

    def binding(self, binding: Binding, summary: ModuleSummary) -> Iterator[Part]:
        """What one binding gives its name."""
        path = summary.filename
        place = Place(path, binding.scope, binding.path)
        rows = (binding.row, binding.row)
        if binding.kind == tags.ASSIGNED:
            yield from self.parts(Part(binding.value, place, rows))
        elif binding.kind == tags.ELEMENT:
            if binding.detail is not None:
                item = (binding.detail, binding.value)
                yield Part(MappingExpr(tags.MAPPING, (item,)), place, rows)
        elif binding.kind == tags.IMPORTED:
            module, imported, level = binding.value
            found = self.modules.resolve(module, level, path)
            if found is not None and imported is not None and found != path:
                yield from self.of_module(found, imported)
        elif binding.kind == tags.PARAMETER:
            yield from self._filled(summary, binding.scope, binding.detail)

    def _filled(self, summary: ModuleSummary, index: int, position: int) -> Iterator[Part]:
        """What a parameter is given: by its default, and where the function is called."""
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

    def _attribute(self, expression: Expr, place: Place) -> Iterator[Part]:
        name = expression.name
        for value in sorted(self.inference.infer(expression.base, place), key=repr):
            if value.kind == v.MODULE:
                yield from self.of_module(value.path, name)
            elif value.kind in (v.CLASS, v.OBJECT):
                yield from self._of_class(value.path, value.scope, name, 4)

    def _of_class(self, path: str, index: int, name: str, depth: int) -> Iterator[Part]:
        summary = self.modules.summary(path)
        if summary is None:
            return
        found = False
        if name in summary.scopes[index].bindings:
            found = True
            for binding in summary.scopes[index].bindings[name]:
                yield from self.binding(binding, summary)
        for number, scope in enumerate(summary.scopes):
            if scope.parent == index and scope.parameters and number:
                for binding in scope.attributes.get((scope.parameters[0][0], name), ()):
                    found = True
                    yield from self.binding(binding, summary)
        if not found and depth:
            for base in sorted(self.inference.classes.bases(path, index), key=repr):
                if base.kind == v.CLASS:
                    yield from self._of_class(base.path, base.scope, name, depth - 1)

    def _element(self, part: Part) -> Iterator[Part]:
        key = part.expression.key
        if key is None or key.tag != tags.CONSTANT:
            return
        for one in self.parts(part._replace(expression=part.expression.base)):
            for name, value in _items(one.expression) or ():
                if name == key:
                    yield from self.parts(one._replace(expression=value))

    # -- calls

    def _called(self, part: Part) -> Iterator[Part]:
        """What a call gives: what functions of the project return, what others are handed."""
        _, callee, positional, keywords = part.expression
        own = False
        for value in sorted(self.inference.infer(callee, part.place), key=repr):
            if value.kind == v.FUNCTION:
                own = True
                summary = self.modules.summary(value.path)
                scope = summary.scopes[value.scope] if summary is not None else None
                for returned, at in scope.returns if scope is not None else ():
                    yield from self.parts(
                        Part(
                            returned,
                            Place(value.path, value.scope, at),
                            scope.rows if scope else (1, 1),
                        )
                    )
        if own:
            return
        name = last_name(callee)
        if name in ("format", "replace", "dict") or name in _SAME_START:
            yield part
            return
        for keyword, value in keywords:
            if keyword == "default":
                yield from self.parts(part._replace(expression=value))
        if len(positional) == 1:  # ``str(url)``, ``make_url(url)``, ``Field(url)``
            yield from self.parts(part._replace(expression=positional[0]))
        elif len(positional) > 1:  # ``os.environ.get(name, default)``
            yield from self.parts(part._replace(expression=positional[1]))

    # -- texts

    def _texts(self, part: Part) -> Iterator[Text]:
        expression, place, rows = part
        tag = expression.tag
        if tag == tags.CONSTANT and isinstance(expression.value, str):
            yield Text(expression.value, True, place.path, rows, expression.value)
        elif tag == tags.TEXT:
            if expression.is_template:
                yield from self._filled_in(part, *expression.parts)
            else:
                yield from self._joined(part, expression.parts)
        elif tag == tags.CALL and getattr(expression.callee, "tag", None) == tags.ATTRIBUTE:
            _, base, method = expression.callee
            inner = part._replace(expression=base)
            if method == "format":
                yield from self._filled_in(part, base, expression)
            elif method == "replace":
                yield from self._replaced(part, inner)
            elif method in _SAME_START:
                for text in self.texts(inner):
                    yield text._replace(whole=False)

    def _joined(self, part: Part, pieces: tuple[Expr, ...]) -> Iterator[Text]:
        """The texts of several pieces in a row, up to the first that is not known."""
        found: list[Text | None] = [None]
        for piece in pieces:
            if not any(text is None or text.whole for text in found):
                break
            following = self.texts(part._replace(expression=piece))
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
        """A template whose holes are filled; if it starts with one, by what fills that."""
        for text in self.texts(part._replace(expression=template)):
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
                for one in self.texts(part._replace(expression=filler)):
                    yield one._replace(start=one.start + (rest if one.whole else ""), whole=False)

    def _replaced(self, part: Part, base: Part) -> Iterator[Text]:
        """``url.replace(old, new)``: what it was, unless it starts with `old`, and `new`."""
        positional = part.expression.positional
        if len(positional) < 2:
            return
        olds = {text.start for text in self.texts(part._replace(expression=positional[0]))}
        for text in self.texts(base):
            if not any(old and text.start.startswith(old) for old in olds):
                yield text._replace(whole=False)
        for text in self.texts(part._replace(expression=positional[1])):
            yield text._replace(whole=False)


def _items(expression: Expr) -> tuple[tuple[Expr, Expr], ...] | None:
    """The items of a dict display, or of ``dict(key=value)``; None for anything else."""
    if expression is None:
        return None
    if expression.tag == tags.MAPPING:
        items: tuple[tuple[Expr, Expr], ...] = expression.items
        return items
    if expression.tag == tags.CALL and expression.callee == NameExpr(tags.NAME, "dict"):
        return tuple(
            ((constant(name), value) if name is not None else (None, InnerExpr(tags.STAR, value)))
            for name, value in expression.keywords
        )
    return None


def _filler(arguments: Expr, name: str) -> Expr:
    """What fills a template's first hole: the first argument, or the one of its name."""
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
