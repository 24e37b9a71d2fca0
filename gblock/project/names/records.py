"""Records: classes whose constructor is generated from the names of their fields.

A class with annotations declares its fields: a dataclass, a ``NamedTuple``. A function makes other
classes from a list: ``namedtuple("Clients", "bus store")``.
"""

from __future__ import annotations

import re

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, ScopeValue, TupleValue, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding
from gblock.project.reading.expressions import CallExpr, Expr, last_name, listed, passed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gblock.project.names.inference import Inference
    from gblock.project.reading.summary import Call

_TUPLES = {
    "collections.namedtuple": "field_names",
    "typing.NamedTuple": "fields",
    "typing_extensions.NamedTuple": "fields",
}
"""Functions that make a class of tuples, and their second parameter: the fields.

`typing.NamedTuple` is also a base whose subclasses declare the fields.
"""
_MAKERS = {
    **_TUPLES,
    "dataclasses.make_dataclass": "fields",
    "attr.make_class": "attrs",
    "attrs.make_class": "attrs",
}
"""All functions that make such a class, as above."""
_KEYED = frozenset(("typing.TypedDict", "typing_extensions.TypedDict"))
"""The base of dicts whose annotations declare the keys."""


class RecordClasses:
    """Follows the arguments of generated constructors to the fields.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._fields: dict[tuple[str, int], tuple[str, ...]] = {}

    # -- classes of the project

    def fields(self, path: str, index: int) -> tuple[str, ...]:
        """Return the fields of a class whose ``__init__`` is generated, in their order.

        Those of its bases are first.
        """
        return self.inference.remembered(
            self._fields, (path, index), lambda: tuple(self._find_fields(path, index))
        )

    def _find_fields(self, path: str, index: int) -> list[str]:
        found: dict[str, None] = {}
        classes = self.inference.classes
        for base in reversed(classes.ancestry(path, index)):
            if base.kind != v.CLASS:
                continue
            for made in self._made_bases(base):
                found.update(dict.fromkeys(made.names))
            scope = self.inference.modules.summary(base.path).scopes[base.scope]
            for name, bindings in scope.bindings.items():
                if any(self._is_field(one, base) for one in bindings):
                    found.setdefault(name)
        return list(found)

    def _made_bases(self, cls: ScopeValue) -> list[TupleValue]:
        """Return the bases of a class that a function made: ``class A(namedtuple(…))``."""
        scope = self.inference.modules.summary(cls.path).scopes[cls.scope]
        place = Place(cls.path, scope.parent, scope.path)
        return [
            value.callee
            for base in scope.bases
            for value in self.inference.infer(base, place)
            if value.kind == v.PARTIAL and value.callee.kind == v.TUPLE
        ]

    def _is_field(self, binding: Binding, owner: ScopeValue) -> bool:
        """Return whether a statement of a class's body declares a field."""
        if binding.kind == kinds.ANNOTATED:
            value = binding.value
            return last_name(value.base if value and value.tag == tags.SUBSCRIPT else value) != (
                "ClassVar"
            )
        if binding.kind != kinds.ASSIGNED or binding.value is None:
            return False
        if binding.value.tag != tags.CALL:
            return False
        place = Place(owner.path, owner.scope, binding.path)
        catalog = self.inference.catalog
        return any(
            (one := catalog.passed_on(symbol)) is not None and one.gives == "field"
            for symbol in self.inference.callees.called_symbols(binding.value.callee, place)
        )

    def field(self, path: str, index: int, name: str) -> Values:
        """Return the arguments for a field of a class whose ``__init__`` is generated."""
        position = self._position(path, index, name)
        if position is None:
            return NOTHING
        found: set[Value] = set()
        parameters = self.inference.parameters
        for calls in (self.inference.calling.callers, parameters.kept_classes):
            for call, place in () if v.declares(frozenset(found)) else calls(path, index):
                found |= parameters.given(call.expression, position, name, place)
                if name[:1] == "_":  # attrs leaves it out of the parameter's name
                    found |= parameters.given(call.expression, None, name.lstrip("_"), place)
        return frozenset(found)

    def arguments(self, path: str, index: int, name: str) -> Iterator[tuple[Call, Place, Expr]]:
        """Yield the calls of a generated ``__init__``, each with its argument for a field."""
        position = self._position(path, index, name)
        if position is None:
            return
        for call, place in self.inference.calling.callers(path, index):
            argument = passed(call.expression, position, name)
            if argument is not None:
                yield call, place, argument

    def _position(self, path: str, index: int, name: str) -> int | None:
        """Return the position of a field in a generated ``__init__``; None if there is none."""
        summary = self.inference.modules.summary(path)
        if "__init__" in summary.scopes[index].bindings:
            return None
        fields = self.fields(path, index)
        return fields.index(name) if name in fields else None

    def as_tuple(self, value: Value) -> Values:
        """Return the tuple of an object's fields."""
        if value.kind != v.OBJECT:
            return NOTHING
        fields = self.fields(value.path, value.scope)
        members = tuple(self.inference.classes.attribute(value, name) for name in fields)
        return frozenset([TupleValue(v.TUPLE, members)])

    def opened(self, values: Values) -> Values:
        """Return values with the objects of named tuples as plain tuples."""
        if not any(self.is_tuple(value) for value in values):
            return values
        found: set[Value] = set()
        for value in values:
            found |= self.as_tuple(value) if self.is_tuple(value) else {value}
        return v.ordered(frozenset(found))

    def is_tuple(self, value: Value) -> bool:
        """Return whether a value is an object of a class of named tuples."""
        if value.kind != v.OBJECT:
            return False
        for base in self.inference.classes.ancestry(value.path, value.scope):
            if base.kind == v.EXTERNAL and base.symbol in _TUPLES:
                return True
            if base.kind == v.CLASS and self._made_bases(base):
                return True
        return False

    def method(self, value: Value, name: str) -> Values:
        """Return a method of named tuples that returns one: ``Clients._make(row)``.

        Args:
            value: The class or the tuple.
            name: ``_make`` or ``_replace``.
        """
        record: Value = value.callee if value.kind == v.PARTIAL else value
        if name == "_replace":
            if record.kind == v.TUPLE and record.names:
                return frozenset([v.TakerValue(v.TAKER, record, "copy")])
            if self.is_tuple(value):  # its fields have the same values
                held = v.HolderValue(v.ELEMENTS, frozenset([value]))
                return frozenset([v.TakerValue(v.TAKER, held, "get")])
            return NOTHING
        if value.kind == v.CLASS and self.is_tuple(value._replace(kind=v.OBJECT)):
            fields = tuple(self.fields(value.path, value.scope))
            record = TupleValue(v.TUPLE, (NOTHING,) * len(fields), fields)
        if record.kind == v.TUPLE and record.names:
            return frozenset([v.TakerValue(v.TAKER, record, name)])
        return NOTHING

    def filled(self, record: TupleValue, given: Expr, place: Place) -> Values:
        """Return the named tuples that are made of the elements of an iterable."""
        if given is not None and given.tag in (tags.SEQUENCE, tags.TUPLE):
            members = tuple(self.inference.infer(one, place) for one in given.elements)
            if len(members) == len(record.names):
                return frozenset([record._replace(members=members)])
        found: set[Value] = set()
        for value in self.opened(self.inference.infer(given, place)):
            if value.kind == v.TUPLE and len(value.members) == len(record.names):
                found.add(record._replace(members=value.members))
            else:
                held = self.inference.results.elements(frozenset([value]))
                found.add(record._replace(members=(held,) * len(record.names)))
        return frozenset(found)

    def under(self, value: ScopeValue, key: object) -> Values:
        """Return what an object of a ``TypedDict`` of the project holds under a key."""
        is_keyed = isinstance(key, str) and any(
            base.kind == v.EXTERNAL and base.symbol in _KEYED
            for base in self.inference.classes.ancestry(value.path, value.scope)
        )
        return self.inference.classes.attribute(value, str(key)) if is_keyed else NOTHING

    # -- classes that a function makes

    def made(self, symbol: str, expression: CallExpr, place: Place) -> Values | None:
        """Return the class that a function makes of a list of fields, None if it makes none.

        Args:
            symbol: The function.
            expression: Its call.
            place: The place of the call.
        """
        keyword = _MAKERS.get(symbol)
        if keyword is None:
            return None
        members: dict[str, Values] = {}
        given = passed(expression, 1, keyword)
        for name, annotation in self._listed(given, place):
            members[name] = self.inference.annotations.annotated(annotation, place)
        made = TupleValue(v.TUPLE, tuple(members.values()), tuple(members))
        return frozenset([v.PartialValue(v.PARTIAL, made)]) if members else NOTHING

    def _listed(self, fields: Expr, place: Place) -> list[tuple[str, Expr]]:
        """Return the names of the fields, each with its annotation."""
        if fields is None:
            return []
        if fields.tag == tags.MAPPING:
            return [(_text(name), None) for name, _ in fields.items if _text(name)]
        if fields.tag in (tags.SEQUENCE, tags.TUPLE):
            found: list[tuple[str, Expr]] = []
            for one in fields.elements:
                name, annotation = (*listed(one), None, None)[:2]
                if not _text(name):
                    return []
                found.append((_text(name), annotation))
            return found
        values = self.inference.infer(fields, place)
        texts = [x.value for x in values if x.kind == v.LITERAL and isinstance(x.value, str)]
        names = re.findall(r"\w+", texts[0]) if len(texts) == 1 else []
        return [(name, None) for name in names]

    def instance(self, cls: TupleValue, expression: CallExpr, place: Place) -> Values:
        """Return the tuple that a call of a class that a function made returns."""
        if not cls.names:
            return NOTHING
        given = self.inference.parameters.given
        members = tuple(
            given(expression, position, name, place) or declared
            for position, (name, declared) in enumerate(zip(cls.names, cls.members, strict=True))
        )
        return frozenset([cls._replace(members=members)])


def _text(expression: Expr) -> str:
    """Return the text of a constant, an empty text for anything else."""
    if expression is None or expression.tag != tags.CONSTANT:
        return ""
    return expression.value if isinstance(expression.value, str) else ""
