"""Evaluates expressions to texts and lists of texts, with the place where each is written.

Inference says what a value can be and forgets where it came from. The evaluator follows names,
settings, parameters and functions back to a constant in the source. It evaluates f-strings, ``%``,
``format``, ``+``, methods of texts, lists that grow, and defaults of the environment. What is not
known of a text is a hole in it: ``f"{a}://{b}"`` starts with the text of `a`, if that is known.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from gblock.project.names import values as v
from gblock.project.names.declarations import Declarations, Use
from gblock.project.names.definitions import END, comes_before
from gblock.project.names.partial_texts import (
    HOLE,
    Rows,
    Spelled,
    Text,
    WordList,
    appended,
    combined,
    joined,
    only_lists,
    only_texts,
    shell_words,
    words,
)
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    ElementsExpr,
    Expr,
    InnerExpr,
    MappingExpr,
    NameExpr,
    SubscriptExpr,
    as_keywords,
    constant,
    constant_of,
    dotted,
    hides_arguments,
    last_name,
    passed,
)
from gblock.project.reading.summary import ModuleSummary

_LONGEST_CHAIN = 50
"""At most this many names and expressions in a row are followed."""
_DEEPEST = 25
"""At most this many nested expressions are evaluated."""
_MOST_TEXTS = 40
"""At most this many texts of an expression are kept."""
_MOST_STEPS = 2000
"""At most this many expressions are evaluated for one result."""
_PERCENT = re.compile(r"%%|%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?[sdrifx]")
_BRACES = re.compile(r"\{\{|\}\}|\{(\w*)[^{}]*\}")
_ESCAPED = {"%%": "%", "{{": "{", "}}": "}"}
_LOOK_UPS = frozenset("get getenv get_env getvalue env pop setdefault".split())
"""Functions whose first argument names what is looked up, such as an environment variable."""
_OF_ITEMS = frozenset(("get", "pop"))
"""Methods of a dict whose first argument is a key."""
_VIEWS = frozenset(("keys", "values", "items"))
"""Methods of a dict that return what it holds."""
_TAKING = frozenset(("next", "choice"))
"""Functions that return an element of their first argument."""
_DEFAULTS = frozenset(("default", "fallback"))
"""Keywords for what a look-up returns where it finds nothing."""
_OF_ENUM = "value"
"""The attribute of a member of an enumeration that is what the class assigns to it."""
_SETTINGS = "config"
"""The attribute with the settings of an application of Flask."""
_SETTING = frozenset(("from_mapping", "update"))
"""Methods of this attribute that take settings as keyword arguments."""
_SAME = frozenset("str list tuple quote abspath normpath realpath fspath Path".split())
"""Functions that return their argument in another form."""
_UNCHANGED = frozenset(("encode", "decode", "copy", "get_secret_value", "unicode_string"))
"""Methods whose result is the text, or the list, of their object."""
_STRIPPING = ("strip", "rstrip", "lstrip")
_CHANGING = frozenset((*_STRIPPING, "lower", "upper", "title"))
"""Methods that change a text without knowing another one."""
_METHODS = frozenset(("format", "replace", "join", "split", *_UNCHANGED, *_CHANGING))
_BUILDING = "build"
"""The method of the classes of URLs (pydantic's, yarl's) that makes one of its parts."""
_PATHS = frozenset(("os.path", "path", "posixpath"))
_ARGUMENTS = ("sys.argv", "argv")
"""Dotted names of the arguments of the process, which are unknown."""


class Part(NamedTuple):
    """An expression other than a name, and its place."""

    expression: Expr
    place: Place
    rows: Rows
    added: tuple[Part, ...] = ()
    """The parts that statements add to its value before it is used, in order."""

    def other(self, expression: Expr) -> Part:
        """Return another expression at the same place."""
        return Part(expression, self.place, self.rows)


_UNSHOWN = (tags.ATTRIBUTE, tags.CALL, tags.NAME, tags.SUBSCRIPT)
"""Tags of the expressions whose values may come from elsewhere."""


class Texts:
    """Evaluates expressions to texts.

    Args:
        declarations: Looks up names, the owners of attributes, and callees.
        lenient: True to take what is known in part for what is likely: some of the results of a
            function, some of the items of a dict, and the only, or else the second argument of an
            unknown function, such as ``make_url(url)`` and ``setting("URL", url)``.
        through_parameters: False if of a parameter its default alone is followed.
    """

    def __init__(
        self,
        declarations: Declarations,
        *,
        lenient: bool = False,
        through_parameters: bool = True,
    ) -> None:
        self.declarations = declarations
        self.modules = declarations.modules
        self._lenient = lenient
        self._through_parameters = through_parameters
        self._followed: set[Hashable] = set()
        self._evaluated: set[tuple[Expr, Place]] = set()
        self._steps = 0

    def of(self, part: Part) -> list[Text]:
        """Return the possible texts of an expression whose start is known."""
        return [one for one in only_texts(self.spelled(part)) if one.start or one.whole]

    def spelled(self, part: Part) -> list[Spelled]:
        """Return the possible texts and lists of an expression, an empty list if unknown."""
        key = (part.expression, part.place)
        if not self._evaluated:
            self._steps = _MOST_STEPS
        self._steps -= 1
        if part.expression is None or key in self._evaluated or self._steps < 0:
            return []
        if len(self._evaluated) > _DEEPEST:
            return []
        self._evaluated.add(key)
        try:
            found = dict.fromkeys(islice(self._spelled(part), _MOST_TEXTS))
        finally:
            self._evaluated.discard(key)
        if not found:
            literals = self.declarations.literals(part.expression, part.place)
            return [Text(one, part.place.path, part.rows, one) for one in literals]
        return list(found)

    def held(self, part: Part, key: str | None) -> list[Part]:
        """Return the contents of dicts, nested ones included.

        Args:
            part: A dict.
            key: The key, at any depth; None for all values that are not dicts.
        """
        return list(self._held(part, key, 4))

    def _held(self, part: Part, key: str | None, depth: int) -> Iterator[Part]:
        for one in self.parts(part):
            entries = self._entries(one)
            if entries is None:
                if key is None and depth < 4:
                    yield one
                continue
            for name, inner in entries if depth else ():
                if key is not None and name == constant(key):
                    yield inner
                else:
                    yield from self._held(inner, key, depth - 1)

    def unshown(self, part: Part, depth: int) -> list[Part]:
        """Return the values in the place of dicts that the code does not show, such as calls.

        Args:
            part: A dict, or what stands for one.
            depth: The levels of dicts in it that are searched.
        """
        entries = [found for one in self.parts(part) if (found := self._entries(one)) is not None]
        if not entries and part.expression is not None and part.expression.tag in _UNSHOWN:
            return [part]
        inner = [one for items in entries if depth for _, one in items]
        return [found for one in inner for found in self.unshown(one, depth - 1)]

    def _entries(self, part: Part) -> list[tuple[Expr, Part]] | None:
        """Return the items of a dict, and of the dicts that it is made of; None for other things.

        An unknown key is None.
        """
        expression = part.expression
        if expression is None:
            return None
        if expression.tag == tags.BIT_OR:
            sides = [
                self._entries(one)
                for side in (expression.left, expression.right)
                for one in self.parts(part.other(side))
            ]
            known = [one for one in sides if one is not None]
            return [item for one in known for item in one] if known else None
        if expression.tag == tags.COMPREHENSION and expression.is_mapping:
            place = Place(part.place.path, expression.scope, END)
            return [(None, Part(expression.element, place, part.rows))]
        items = _items(expression)
        if items is None:
            return None
        found: list[tuple[Expr, Part]] = []
        for key, value in items:
            if value is None or value.tag != tags.STAR:
                found.append((key, part.other(value)))
                continue
            for one in self.parts(part.other(value.value)):
                found += self._entries(one) or ()
        return found

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
        expression, place = part.expression, part.place
        if expression is None:
            return
        if expression.tag in (tags.EITHER, tags.BOTH):
            for one in expression.elements:
                yield from self.parts(part.other(one))
        elif expression.tag == tags.NAME:
            use = self.declarations.use(expression.identifier, place)
            if use is not None:
                yield from self._of_use(use)
        elif expression.tag == tags.ATTRIBUTE:
            yield from self._attribute(expression, part)
        elif expression.tag == tags.SUBSCRIPT:
            yield from self._element(expression, part)
        elif expression.tag == tags.CALL:
            yield from self._called(expression, part)
        elif expression.tag in (tags.STAR, tags.AWAIT):
            yield from self.parts(part.other(expression.value))
        else:
            yield part

    def _attribute(self, expression: AttributeExpr, part: Part) -> Iterator[Part]:
        """Yield what is assigned to an attribute, what a constructor makes a field, or a member."""
        found = False
        for use in self.declarations.attribute(expression, part.place):
            for one in self._of_use(use):
                found = True
                yield one
        if not found:
            for argument, place, rows in self.declarations.fields(expression, part.place):
                yield from self.parts(Part(argument, place, rows))
        if not found and expression.name == _OF_ENUM:
            members = self.parts(part.other(expression.base))
            yield from members
            for use in () if members else self.declarations.enumerated(expression.base, part.place):
                yield from self._of_use(use)

    def _of_use(self, use: Use) -> Iterator[Part]:
        """Yield what is assigned to a name, each with what is added to it until it is used."""
        if use.key in self._followed or len(self._followed) > _LONGEST_CHAIN:
            return
        self._followed.add(use.key)
        try:
            known = self._lenient
            for binding in use.bindings:
                added = tuple(self._added(binding, use))
                for part in self._assigned(binding, use):
                    known = True
                    yield part._replace(added=(*part.added, *added)) if added else part
            for binding in use.stores if known else ():
                yield from self.binding(binding, use.summary)
        finally:
            self._followed.discard(use.key)

    def _assigned(self, binding: Binding, use: Use) -> Iterator[Part]:
        if binding.kind != kinds.OPAQUE or binding.detail != kinds.ADDED or use.owner:
            yield from self.binding(binding, use.summary)
            return
        place = Place(use.summary.filename, binding.scope, binding.path)
        more = Part(binding.value, place, (binding.row, binding.row))
        for part in self._of_use(self.declarations.before(use, binding)):
            yield part._replace(added=(*part.added, more))

    def _added(self, binding: Binding, use: Use) -> Iterator[Part]:
        """Yield what is put into a list between its definition and its use, in order."""
        scope = use.summary.scopes[use.scope]
        for stored in use.stores:
            if stored.key is not None:
                continue
            place = Place(use.summary.filename, stored.scope, stored.path)
            if stored.scope == binding.scope:
                if not comes_before(binding.path, stored.path, scope):
                    continue
                if not comes_before(stored.path, use.at, scope):
                    continue
            elif stored.scope != use.place.scope or stored.path >= use.place.at:
                continue
            value = stored.value
            if stored.kind == kinds.ELEMENT:
                value = ElementsExpr(tags.SEQUENCE, (value,))
            yield Part(value, place, (stored.row, stored.row))

    def binding(self, binding: Binding, summary: ModuleSummary) -> Iterator[Part]:
        """Yield the expressions that one binding assigns."""
        path = summary.filename
        place = Place(path, binding.scope, binding.path)
        rows = (binding.row, binding.row)
        if binding.kind == kinds.ASSIGNED:
            yield from self.parts(Part(binding.value, place, rows))
        elif binding.kind == kinds.ELEMENT:
            if binding.key is not None:
                item = (binding.key, binding.value)
                yield Part(MappingExpr(tags.MAPPING, (item,)), place, rows)
        elif binding.kind in (kinds.LOOPED, kinds.UNPACKED):
            whole = self.parts(Part(binding.value, place, rows))
            if binding.kind == kinds.LOOPED:
                whole = [inner for one in whole for inner in self._elements(one)]
            yield from self._unpacked(whole, binding.indexes)
        elif binding.kind == kinds.IMPORTED:
            use = self.declarations.imported(binding, path)
            if use is not None:
                yield from self._of_use(use)
        elif binding.kind == kinds.PARAMETER:
            yield from self._filled(summary, binding.scope, binding.position)
        elif binding.kind == kinds.DEFINED:
            yield from self._computed(summary, binding.value)

    def _elements(self, part: Part) -> Iterator[Part]:
        """Yield what a loop over an expression takes."""
        expression = part.expression
        if expression is None:
            return
        entries = self._entries(part)
        if entries is not None:
            for key, value in entries:
                yield from self.parts(value.other(key))
        elif expression.tag in (tags.SEQUENCE, tags.TUPLE):
            for one in expression.elements:
                yield from self.parts(part.other(one))
        else:
            for words in self.spelled(part.other(expression)):
                for word in words.words if isinstance(words, WordList) else ():
                    yield part.other(constant(word.spelled))
        for more in part.added:
            yield from self._elements(more)

    def _unpacked(self, parts: Iterable[Part], indexes: tuple[int, ...]) -> Iterator[Part]:
        """Yield the parts of displays at some indexes: the names of ``(a, (b, c))``."""
        for part in parts:
            if not indexes:
                yield part
                continue
            expression = part.expression
            if expression is None or expression.tag not in (tags.SEQUENCE, tags.TUPLE):
                continue
            index = indexes[0] if indexes[0] >= 0 else indexes[0] - kinds.REST
            if indexes[0] != kinds.REST and -len(expression.elements) <= index:
                for inner in expression.elements[index : index + 1 or None]:
                    yield from self._unpacked(self.parts(part.other(inner)), indexes[1:])

    def _computed(self, summary: ModuleSummary, index: int) -> Iterator[Part]:
        """Yield what a property returns."""
        scope = summary.scopes[index]
        if scope.kind == "function" and self.declarations.is_property(summary, index):
            yield from self._returned(summary, index)

    def _returned(self, summary: ModuleSummary, index: int) -> Iterator[Part]:
        """Yield what a function returns."""
        scope = summary.scopes[index]
        found = [
            self.parts(Part(returned, Place(summary.filename, index, at), scope.rows))
            for returned, at in scope.returns
        ]
        if self._lenient or all(found):
            yield from (part for parts in found for part in parts)

    def _filled(self, summary: ModuleSummary, index: int, position: int) -> Iterator[Part]:
        """Yield a parameter's default and the arguments of the function's calls."""
        scope = summary.scopes[index]
        name, _, default, kind = scope.parameters[position]
        if kind == "**":
            return
        outside = Place(summary.filename, scope.parent, scope.path)
        yield from self.parts(Part(default, outside, scope.rows))
        if not self._through_parameters:
            return
        owner = summary.scopes[scope.parent] if scope.parent >= 0 else None
        shift = 1 if owner is not None and owner.kind == "class" else 0
        for call, place in self.declarations.callers(summary.filename, index):
            if kind == "*":
                rest = ElementsExpr(tags.TUPLE, call.expression.positional[position - shift :])
                yield Part(rest, place, call.statement)
                continue
            argument = passed(call.expression, position - shift, name)
            yield from self.parts(Part(argument, place, call.statement))
        for expression, place, rows in self.declarations.handed(summary.filename, index):
            argument = passed(expression, position - shift, name)
            yield from self.parts(Part(argument, place, rows))

    def _element(self, expression: SubscriptExpr, part: Part) -> Iterator[Part]:
        key = expression.key
        if key is None or key.tag == tags.CONSTANT:
            keys = [key]
        else:  # a key of unknown text may be any of them
            texts = self.of(part.other(key))
            known = [text.spelled if text.whole else text.written for text in texts]
            keys = list(dict.fromkeys(map(constant, known)))
        found = False
        for one in self.parts(part.other(expression.base)):
            for name, value in self._entries(one) or ():
                if name in keys or name is None or not keys:
                    found = True
                    yield from self.parts(value)
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
        for value in self.declarations.values(callee, part.place):
            if value.kind == v.FUNCTION:
                own = True
                yield from self._returned(self.modules.summary(value.path), value.scope)
        if own:
            return
        name = last_name(callee)
        if name in _METHODS or name == "dict" or _scheme(expression) is not None:
            yield part
            return
        if (
            name in _VIEWS
            and not positional
            and callee is not None
            and callee.tag == tags.ATTRIBUTE
        ):
            yield from self._viewed(part.other(callee.base), name)
            return
        if name == "getattr" and len(positional) > 1:
            yield from self._fetched(positional, part)
            return
        if name in _TAKING and positional:
            for one in self.parts(part.other(positional[0])):
                yield from self._elements(one)
            return
        if positional and callee is not None and callee.tag == tags.ATTRIBUTE and name in _OF_ITEMS:
            item = SubscriptExpr(tags.SUBSCRIPT, callee.base, positional[0])
            yield from self._element(item, part)
        for keyword, default in expression.keywords:
            if keyword in _DEFAULTS:
                yield from self.parts(part.other(default))
        if name in _LOOK_UPS:
            if len(positional) > 1:  # ``os.environ.get(name, default)``
                yield from self.parts(part.other(positional[1]))
        elif len(positional) == 1 and (name in _SAME or self._lenient):
            yield from self.parts(part.other(positional[0]))
        elif len(positional) > 1 and self._lenient:
            yield from self.parts(part.other(positional[1]))

    def _viewed(self, part: Part, view: str) -> Iterator[Part]:
        """Yield the list of what a view of a dict goes through: ``table.items()``."""
        for one in self.parts(part):
            for key, value in self._entries(one) or ():
                members = {
                    "keys": key,
                    "values": value.expression,
                    "items": ElementsExpr(tags.TUPLE, (key, value.expression)),
                }
                yield value.other(ElementsExpr(tags.SEQUENCE, (members[view],)))

    def _fetched(self, arguments: tuple[Expr, ...], part: Part) -> Iterator[Part]:
        """Yield the results of ``getattr(owner, name, default)``."""
        names = [one.spelled for one in only_texts(self.spelled(part.other(arguments[1])))]
        for name in names:
            if name.isidentifier():
                attribute = AttributeExpr(tags.ATTRIBUTE, arguments[0], name)
                yield from self.parts(part.other(attribute))
        for default in arguments[2:]:
            yield from self.parts(part.other(default))

    # -- texts

    def _spelled(self, part: Part) -> Iterator[Spelled]:
        expression = part.expression
        if dotted(expression) == "sys.executable":
            yield _text(part, "python")
        elif expression is not None and expression.tag == tags.SUBSCRIPT:
            yield from self._indexed(part, expression)
        for one in self.parts(part):
            found = list(islice(self._value(one), _MOST_TEXTS))
            for more in one.added if found else ():
                values = self.spelled(more)
                if not values:  # a text has a hole there, and a list no more words
                    values = [WordList(())] if isinstance(found[0], WordList) else [_hole(part)]
                found = combined(found, values)
            yield from found

    def _indexed(self, part: Part, expression: SubscriptExpr) -> Iterator[Spelled]:
        """Yield the word of a list at an index; those of ``sys.argv`` are unknown."""
        key = expression.key
        if dotted(expression.base) in _ARGUMENTS:
            yield WordList(()) if key is not None and key.tag == tags.SLICE else _hole(part)
            return
        index = constant_of(key)
        if isinstance(index, int) and not isinstance(index, bool):
            for one in self.spelled(part.other(expression.base)):
                if isinstance(one, WordList) and -len(one.words) <= index < len(one.words):
                    yield one.words[index]

    def _value(self, part: Part) -> Iterable[Spelled]:
        expression = part.expression
        if expression is None:
            return ()
        if expression.tag == tags.CONSTANT:
            if isinstance(expression.value, (str, int, float)):
                return [_text(part, str(expression.value))]
        elif expression.tag == tags.TEXT:
            if not expression.is_template:
                return self._joined(part, expression.parts)
            template, arguments = expression.parts
            return self._formatted(part, template, arguments, _PERCENT)
        elif expression.tag == tags.SUM:
            return self._summed(part, expression.elements)
        elif expression.tag in (tags.SEQUENCE, tags.TUPLE):
            return self._listed(part, expression.elements)
        elif expression.tag == tags.CALL:
            return self._method(part, expression)
        return ()

    def _joined(self, part: Part, pieces: tuple[Expr, ...]) -> list[Spelled]:
        """Return the concatenated texts of several pieces; an unknown piece is a hole."""
        found: list[Spelled] = []
        known = False
        for number, piece in enumerate(pieces):
            values: list[Spelled] = [*only_texts(self.spelled(part.other(piece)))]
            known = known or bool(values)
            values = values or [_hole(part)]
            found = combined(found, values) if number else values
        return found if known else []

    def _summed(self, part: Part, elements: tuple[Expr, ...]) -> list[Spelled]:
        """Return the sums of texts or of lists; an unknown list has no words."""
        found: list[Spelled] = []
        known = False
        for number, element in enumerate(elements):
            values = self.spelled(part.other(element))
            known = known or bool(values)
            if not values and any(isinstance(one, WordList) for one in found):
                continue
            values = values or [_hole(part)]
            found = combined(found, values) if number else values
        return found if known else []

    def _listed(self, part: Part, elements: tuple[Expr, ...]) -> list[Spelled]:
        """Return the lists of some elements; an unknown element is a word that is a hole."""
        found: list[Spelled] = [WordList(())]
        for element in elements:
            inner = element.value if element is not None and element.tag == tags.STAR else element
            values = self.spelled(part.other(inner)) or [_hole(part)]
            found = combined(found, values)
        return found

    def _method(self, part: Part, call: CallExpr) -> Iterable[Spelled]:
        """Return the results of a method of texts, or of a function on texts of the same name."""
        callee, name = call.callee, last_name(call.callee)
        base = part.other(callee.base) if isinstance(callee, AttributeExpr) else None
        first = part.other(call.positional[0]) if call.positional else None
        owner = dotted(base.expression) if base is not None else None
        if name == "join" and first is not None:
            if base is None or owner in _PATHS:
                return self._joined(part, tuple(_separated(call.positional)))
            if owner == "shlex":
                return [joined(one, " ") for one in only_lists(self.spelled(first))]
            between = next((one.spelled for one in only_texts(self.spelled(base))), " ")
            return [joined(one, between) for one in only_lists(self.spelled(first))]
        if name == "split" and (base is None or owner == "shlex"):
            return [shell_words(one) for one in only_texts(self.spelled(first))] if first else []
        if base is None:
            return []
        scheme = _scheme(call)
        if scheme is not None:
            return self._joined(part, (scheme, constant("://"), None))
        if name == "format":
            return self._formatted(part, base.expression, call, _BRACES)
        if name == "replace":
            return self._replaced(call, part, base)
        if name == "split":
            arguments = _split_by(call)
            texts = only_texts(self.spelled(base)) if arguments is not None else ()
            return [words(one, one.spelled.split(*arguments or ())) for one in texts]
        if name in _UNCHANGED:
            return self.spelled(base)
        if name in _CHANGING:
            return [_changed(one, name, call) for one in only_texts(self.spelled(base))]
        return []

    def _formatted(
        self, part: Part, template: Expr, arguments: Expr, holes: re.Pattern[str]
    ) -> list[Spelled]:
        """Return the texts of a filled template; a hole that is not known stays one."""
        made: list[Spelled] = []
        for text in only_texts(self.spelled(part.other(template))):
            found: list[Spelled] = []
            end = number = 0
            for hole in holes.finditer(text.spelled):
                before = text.spelled[end : hole.start()] + _ESCAPED.get(hole[0], "")
                found = appended(found, text._replace(spelled=before))
                if hole[0] not in _ESCAPED:
                    name = hole[1] or ""
                    filler = self._filler(part, arguments, name, number, holes is _BRACES)
                    values = [*only_texts(self.spelled(filler))] if filler is not None else []
                    found = combined(found, [*values] or [_hole(part)])
                    number += not name
                end = hole.end()
            made += appended(found, text._replace(spelled=text.spelled[end:]))
        return made[:_MOST_TEXTS]

    def _filler(
        self, part: Part, arguments: Expr, name: str, number: int, in_call: bool
    ) -> Part | None:
        """Return the argument of a template's hole: the one of its name or number, or the next."""
        if arguments is None:
            return None
        number = int(name) if name.isdigit() else number
        positional: tuple[Expr, ...] = (arguments,)
        keywords: tuple[tuple[str | None, Expr], ...] = ()
        if in_call and arguments.tag == tags.CALL:
            positional, keywords = arguments.positional, arguments.keywords
        elif arguments.tag == tags.TUPLE:
            positional = arguments.elements
        elif arguments.tag == tags.MAPPING:
            keywords = as_keywords(arguments)
        elif name and not name.isdigit():
            return next(iter(self.held(part.other(arguments), name)), None)
        if name and not name.isdigit():
            value = next((value for keyword, value in keywords if keyword == name), None)
        else:
            value = positional[number] if number < len(positional) else None
        return part.other(value)

    def _replaced(self, call: CallExpr, part: Part, base: Part) -> list[Spelled]:
        """Return the texts of ``url.replace(old, new)``."""
        if len(call.positional) < 2:
            return []
        olds, news = (
            list(only_texts(self.spelled(part.other(one)))) for one in call.positional[:2]
        )
        texts = list(only_texts(self.spelled(base)))
        known = sorted({one.spelled for one in olds if one.whole} - {""})
        found: list[Spelled] = []
        if self._lenient:
            # What the code replaces it does expect, whatever the default is.
            if not texts:
                found += (new._replace(spelled=f"{new.spelled}{HOLE}") for new in news)
        for text in texts:
            old = next((one for one in known if text.spelled.startswith(one)), None)
            old = old or next((one for one in known if one in text.spelled), None)
            starts = old is not None and text.spelled.startswith(old)
            if old is None:
                found.append(text if known else text._replace(spelled=f"{text.spelled}{HOLE}"))
            for new in news if self._lenient or old is not None else ():
                if starts:
                    rest = text.spelled.removeprefix(old or "")
                    found.append(new._replace(spelled=new.spelled + rest))
                elif old is not None:
                    found.append(text._replace(spelled=text.spelled.replace(old, new.spelled)))
                else:
                    found.append(new._replace(spelled=f"{new.spelled}{HOLE}"))
            if old is not None and not news:
                found.append(text._replace(spelled=text.spelled.replace(old, HOLE)))
        return found[:_MOST_TEXTS]


def _scheme(call: CallExpr) -> Expr:
    """Return the scheme of ``PostgresDsn.build(scheme="postgresql", host=host)``, if any."""
    return passed(call, None, "scheme") if last_name(call.callee) == _BUILDING else None


def _text(part: Part, spelled: str) -> Text:
    return Text(spelled, part.place.path, part.rows, spelled)


def _hole(part: Part) -> Text:
    return Text(HOLE, part.place.path, part.rows, "")


def _separated(expressions: tuple[Expr, ...]) -> Iterator[Expr]:
    """Yield expressions with slashes between them."""
    for number, one in enumerate(expressions):
        if number:
            yield constant("/")
        yield one


def _split_by(call: CallExpr) -> tuple[Any, ...] | None:
    """Return the arguments of ``text.split()``; None if they are unknown, or if it fails."""
    given = (passed(call, 0, "sep"), passed(call, 1, "maxsplit"))
    separator, most = (constant_of(one) for one in given)
    if hides_arguments(call) or (separator is None and given[0] not in (None, tags.NONE)):
        return None
    if not (separator is None or isinstance(separator, str)) or separator == "":
        return None
    if given[1] is None:
        return (separator,)
    return (separator, most) if isinstance(most, int) else None


def _given(call: CallExpr) -> str | None:
    """Return the constant text that a call is passed first."""
    value = constant_of(call.positional[0]) if call.positional else None
    return value if isinstance(value, str) else None


def _changed(text: Text, method: str, call: CallExpr) -> Text:
    """Return the result of a method without arguments, or with a constant one."""
    given = _given(call)
    if call.positional and (given is None or method not in _STRIPPING):
        return text._replace(spelled=f"{text.spelled}{HOLE}")
    arguments = () if given is None else (given,)
    return text._replace(spelled=getattr(text.spelled, method)(*arguments))


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
