"""Results of functions outside the project that are made of their arguments."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from gblock.project.names import values as v
from gblock.project.names.conditions import ends
from gblock.project.names.inferred import Inferred
from gblock.project.names.partial_texts import HOLE, Text, only_texts
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.names.values import NOTHING, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    InnerExpr,
    SubscriptExpr,
    call_of,
    dotted,
    last_name,
    passed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.catalog.libraries import PassedOn
    from gblock.project.names.inference import Inference

PASS_THROUGH = {
    "contextlib.closing",
    "contextlib.nullcontext",
    "contextlib.aclosing",
    "copy.copy",
    "copy.deepcopy",
    "weakref.proxy",
}
"""Functions whose result stands for their first argument."""
_TRANSPARENT_CONTAINERS = {"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"}
"""Builtin functions whose result has the elements of their argument."""
SHORTEST = 2
"""Characters that are known at least of a composed name."""
_MAPPINGS = ("collections.OrderedDict", "types.SimpleNamespace", "weakref.WeakValueDictionary")
"""Classes that take the same arguments as ``dict``."""


class Passing:
    """Follows arguments through functions of the standard library, and of known packages."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def result(self, symbol: str, expression: CallExpr, place: Place) -> Values | None:
        """Return the result of a function that makes it of its arguments.

        Args:
            symbol: The function: of the standard library, or listed by the catalog.
            expression: Its call.
            place: The place of the call.

        Returns:
            None if the function is none of these.
        """
        positional = expression.positional
        first = positional[0] if positional else None
        if symbol == "builtins.object.__new__":
            classes = self.inference.infer(first, place)
            return frozenset(x._replace(kind=v.OBJECT) for x in classes if x.kind == v.CLASS)
        if symbol in ("builtins.type.__new__", "abc.ABCMeta.__new__"):
            made_by = self.inference.classes.made_by
            metaclasses = (x for x in self.inference.infer(first, place) if x.kind == v.CLASS)
            return NOTHING.union(*(made_by(one.path, one.scope) for one in metaclasses))
        if symbol == "builtins.dict":
            return self._dict(expression, place)
        if symbol == "builtins.property":
            return self._called(passed(expression, 0, "fget"), place)
        if symbol.startswith("builtins."):
            return self._builtin(symbol.removeprefix("builtins."), positional, place)
        if symbol in PASS_THROUGH or symbol == "asgiref.sync.async_to_sync":
            return self.inference.infer(first, place)
        if symbol in ("inspect.getmembers", "inspect.getmembers_static"):
            return self.inference.members.pairs(first, place)
        if symbol == "types.MethodType":
            return frozenset(
                v.PartialValue(v.PARTIAL, value) for value in self.inference.infer(first, place)
            )
        if symbol in ("functools.partial", "functools.partialmethod"):
            bound = (expression, place)
            return frozenset(
                v.PartialValue(v.PARTIAL, value, bound)
                for value in self.inference.infer(first, place)
            )
        if symbol == "typing.cast" and len(positional) > 1:
            declared = self.inference.annotations.annotated(first, place)
            if declared and not self.inference.annotations.is_broad(declared):
                return declared
            given = self.inference.infer(positional[1], place)
            return given if v.declares(given) else declared
        if symbol == "importlib.import_module":
            return self._modules(first, place) | self._loaded(first, place)
        if symbol == "gevent.monkey.get_original" and len(positional) > 1:
            return self._originals(positional[0], positional[1])
        if symbol.endswith("ExitStack.enter_context"):
            return self.inference.results.entered(self.inference.infer(first, place))
        passed_on = self.inference.catalog.passed_on(symbol)
        if passed_on is not None:
            return self._given(passed_on, symbol, expression, place)
        if symbol == "functools.reduce":
            return self._reduced(positional, place)
        if symbol in ("operator.itemgetter", "operator.attrgetter", "operator.methodcaller"):
            return self._getter(symbol, first)
        record = self.inference.records.made(symbol, expression, place)
        if record is not None:
            return record
        found = self._container(symbol, expression, place)
        return found if found is not None else self._iterated(symbol, positional, place)

    def _container(self, symbol: str, expression: CallExpr, place: Place) -> Values | None:
        """Return the container that a class or a function of the standard library makes."""
        first = expression.positional[0] if expression.positional else None
        if symbol in _MAPPINGS:
            return self._dict(expression, place)
        if symbol == "collections.ChainMap":
            return self.inference.any_of(expression.positional, place)
        if symbol == "collections.defaultdict":
            made: set[Value] = set()
            for value in self.inference.infer(first, place):
                made |= self.inference.results.called(value, call_of(None, ()), place)
            return frozenset([v.MappingValue(v.MAPPING, (), frozenset(made))])
        if symbol == "dataclasses.astuple":
            objects = self.inference.infer(first, place)
            return NOTHING.union(*map(self.inference.records.as_tuple, objects))
        return None

    def _iterated(self, symbol: str, positional: tuple[Expr, ...], place: Place) -> Values | None:
        """Return what a function of the standard library makes of the elements of its arguments."""
        first = positional[0] if positional else None
        if symbol == "random.choice":
            return self._elements(first, place)
        if symbol == "itertools.chain.from_iterable":
            inner = self._elements(first, place)
            return v.holding(self.inference.results.elements(inner))
        if symbol == "itertools.groupby":
            inner = v.holding(self._elements(first, place))
            return v.holding(frozenset([v.TupleValue(v.TUPLE, (NOTHING, inner))]))
        if symbol in ("itertools.product", "itertools.zip_longest"):
            return self._builtin("zip", positional, place)
        if symbol == "itertools.starmap":
            return self._mapped("starmap", positional, place)
        if symbol == "itertools.chain":
            return v.holding(
                self.inference.results.elements(self.inference.any_of(positional, place))
            )
        return None

    def subscripted(self, symbol: str, key: Expr, place: Place) -> Values | None:
        """Return what ``symbol[key]`` makes of the key; None if the catalog does not list it."""
        passed_on = self.inference.catalog.passed_on(symbol)
        if passed_on is None:
            return None
        return self._given(passed_on, symbol, call_of(None, (key,)), place)

    def _originals(self, module: Expr, names: Expr) -> Values:
        """Return the originals that gevent replaced: one, or a list of several."""
        if module is None or names is None or module.tag != tags.CONSTANT:
            return NOTHING
        if names.tag == tags.CONSTANT:
            return frozenset([v.external(f"gevent.monkey.saved.{module.value!s}.{names.value!s}")])
        if names.tag in (tags.SEQUENCE, tags.TUPLE):
            members = tuple(self._originals(module, e) for e in names.elements)
            return frozenset([v.TupleValue(v.TUPLE, members)])
        return NOTHING

    def _builtin(self, name: str, positional: tuple[Expr, ...], place: Place) -> Values | None:
        """Return the result of a builtin function; None if it is not made of the arguments."""
        first = positional[0] if positional else None
        if name == "staticmethod" or name == "classmethod":
            # A class attribute that is no method: no receiver is bound.
            return frozenset(
                v.PartialValue(v.PARTIAL, value) for value in self.inference.infer(first, place)
            )
        if name == "map" or name == "filter":
            return self._mapped(name, positional, place)
        if name == "max" or name == "min":
            if len(positional) > 1:
                return self.inference.any_of(positional, place)
            return self._elements(first, place)
        if name == "iter" and len(positional) > 1:
            return v.holding(self._called(first, place))
        if name in _TRANSPARENT_CONTAINERS:
            return v.holding(self._elements(first, place))
        if name == "next":
            return self._elements(first, place)
        if name == "enumerate":
            elements = self._elements(first, place)
            return v.holding(frozenset([v.TupleValue(v.TUPLE, (NOTHING, elements))]))
        if name == "zip":
            parts = tuple(self._elements(one, place) for one in positional)
            return v.holding(frozenset([v.TupleValue(v.TUPLE, parts)]))
        if name == "getattr" and len(positional) > 1:
            found = self.inference.infer(positional[2], place) if len(positional) > 2 else NOTHING
            of_setting = last_name(positional[1]).isupper()
            names = (self._names if of_setting else self._texts)(positional[1], place)
            for value in self.inference.infer(first, place) if names else ():
                for one in names:
                    found |= self.inference.attributes.named_values(value, one)
            if not names:
                found |= self._set_before(first, positional[1], place)
                found |= self._matching(first, positional[1], place)
                found |= self.inference.loaded.main_classes(self.inference.infer(first, place))
            return found
        if name == "type" and len(positional) == 1:
            return frozenset(
                x._replace(kind=v.CLASS) if x.kind == v.OBJECT else v.external(x.symbol)
                for x in self.inference.infer(first, place)
                if x.kind in (v.OBJECT, v.INSTANCE)
            )
        if name == "type" and len(positional) == 3:
            bases = self._elements(positional[1], place)
            body = (x for x in self.inference.infer(positional[2], place) if x.kind == v.MAPPING)
            return frozenset(one for one in bases if one.kind in (v.CLASS, v.EXTERNAL)) | {
                v.PartialValue(v.PARTIAL, one) for one in body
            }
        if name == "vars" and len(positional) == 1:
            return self.inference.members.mapping(self.inference.infer(first, place), place)
        if name == "dir" and len(positional) == 1:
            return self.inference.members.names(first, place)
        if name == "globals":
            return frozenset([v.FileValue(v.MODULE, place.path)])
        if name == "__import__":
            return self._modules(first, place, top=True)
        if name == "sum" and len(positional) == 2:
            return v.holding(self.inference.results.elements(self._elements(first, place)))
        if name == "int" or name == "float":
            return frozenset(x for x in self.inference.infer(first, place) if x.kind == v.LITERAL)
        return None

    def _set_before(self, owner: Expr, name: Expr, place: Place) -> Values:
        """Return what the same function sets on an object by the name that it is read by.

        ``setattr(owner, self.slot, self.make())``, then ``getattr(owner, self.slot)``.
        """
        scope = self.inference.modules.summary(place.path).scopes[place.scope]
        set_here = scope.attributes.get((dotted(owner) or "", kinds.ANY_NAME), ())
        return NOTHING.union(
            *(
                self.inference.infer(one.value, place._replace(at=one.path))
                for one in set_here
                if one.kind == kinds.ELEMENT and one.key == name
            )
        )

    def _matching(self, owner: Expr, name: Expr, place: Place) -> Values:
        """Return the members of an object under the names that ``f"do_{verb}"`` can be."""
        start, end = ends(name)
        if len(start) + len(end) < SHORTEST:
            return NOTHING
        found: set[Value] = set()
        for value in self.inference.infer(owner, place):
            for one in self.inference.classes.methods(value):
                if one.startswith(start) and one.endswith(end):
                    found |= self.inference.attributes.named_values(value, one)
        return frozenset(found)

    def _mapped(self, name: str, positional: tuple[Expr, ...], place: Place) -> Values:
        """Return the iterable that ``map`` or ``filter`` returns."""
        if len(positional) < 2:
            return NOTHING
        if name == "filter":
            return v.holding(self._elements(positional[1], place))
        given: tuple[Expr, ...] = tuple(
            SubscriptExpr(tags.SUBSCRIPT, one, None) if one is not None else None
            for one in positional[1:]
        )
        found: set[Value] = set()
        if name == "starmap":
            given = (InnerExpr(tags.STAR, given[0]),)
        for value in self.inference.infer(positional[0], place):
            found |= self.inference.results.called(value, call_of(None, given), place)
        return v.holding(frozenset(found))

    def _dict(self, expression: CallExpr, place: Place) -> Values:
        """Return the mapping of ``dict(key=value)``, ``dict(pairs)`` or ``dict(other)``."""
        known: dict[Hashable, Values] = {}
        others: set[Value] = set()
        for one in expression.positional:
            for value in self.inference.infer(one, place):
                if value.kind == v.MAPPING:
                    known.update(value.known)
                    others |= value.others
                for pair in self.inference.results.elements(frozenset([value])):
                    if pair.kind == v.TUPLE and len(pair.members) == 2:
                        others |= pair.members[1]
        for name, one in expression.keywords:
            if name is not None:
                known[name] = self.inference.infer(one, place)
            else:
                for merged in self.inference.infer(one, place):
                    if merged.kind == v.MAPPING:
                        known.update(merged.known)
                        others |= merged.others
        return frozenset([v.MappingValue(v.MAPPING, tuple(known.items()), frozenset(others))])

    def _elements(self, expression: Expr, place: Place) -> Values:
        return self.inference.results.elements(self.inference.infer(expression, place))

    def _texts(self, expression: Expr, place: Place) -> list[str]:
        """Return the texts that an expression is known to be."""
        values = self.inference.infer(expression, place)
        return sorted(x.value for x in values if x.kind == v.LITERAL and isinstance(x.value, str))

    def _names(self, expression: Expr, place: Place) -> list[str]:
        """Return the texts that an expression can be, with the defaults of settings."""
        found = self._texts(expression, place)
        if found or expression is None or self.inference.modules.is_frugal:
            return found
        return sorted({one.spelled for one in self._spelled(expression, place) if one.whole})

    def _spelled(self, expression: Expr, place: Place) -> Iterator[Text]:
        """Return the texts that an expression can be, of which only a part may be known."""
        # It keeps where it is in an evaluation, which this one can be a part of.
        return only_texts(Texts(Inferred(self.inference)).spelled(Part(expression, place, (0, 0))))

    def _modules(self, name: Expr, place: Place, *, top: bool = False) -> Values:
        """Return the modules that texts name; with `top`, the top-level packages around them."""
        found: set[Value] = set()
        for one in self._names(name, place):
            if one and not one.startswith("."):
                module = one.partition(".")[0] if top else one
                found |= self.inference.imports.bound(module, None, 0, place.path)
        return frozenset(found)

    def _loaded(self, name: Expr, place: Place) -> Values:
        """Return the modules that a name can mean of which settings or data say a part."""
        if name is None or name.tag == tags.CONSTANT or self.inference.modules.is_frugal:
            return NOTHING
        texts = {one.spelled for one in self._spelled(name, place)} or {HOLE}
        if self.inference.loaded.is_open(name, place):
            texts.add(HOLE)
        inside = self.inference.loaded.inside
        return NOTHING.union(*(inside(one, place.path) for one in texts if HOLE in one))

    def _named(self, text: str, place: Place) -> Values:
        """Return what a text such as ``package.module:name`` or ``package.module.name`` names."""
        module, colon, name = text.partition(":")
        if not colon:
            module, _, name = text.rpartition(".")
        if not module or not name.isidentifier():
            return NOTHING
        found: set[Value] = set()
        for value in self.inference.imports.bound(module, None, 0, place.path):
            found |= self.inference.attributes.named_values(value, name)
        return frozenset(found)

    def _given(self, one: PassedOn, symbol: str, expression: CallExpr, place: Place) -> Values:
        """Return what a function of the catalog makes of one of its arguments."""
        if one.setting is not None:
            named = self.inference.outside.of_settings(one.setting)
            objects = NOTHING.union(
                *(self.inference.generics.objects(text, place) for text in named)
            )
            classes = (x._replace(kind=v.CLASS) for x in objects if x.kind == v.OBJECT)
            return frozenset(classes) or self.inference.results.returned(symbol)
        argument = passed(expression, one.position, one.keyword)
        if argument is None and one.gives in ("callable", "itself") and not expression.positional:
            return frozenset([v.GetterValue(v.GETTER, one.gives, None)])  # ``@cached(size=2)``
        results = self.inference.results
        if one.gives == "field":
            made = self._called(passed(expression, None, one.factory), place)
            return made | self.inference.infer(passed(expression, None, one.keyword), place)
        if one.gives == "named":
            texts = self._names(argument, place)
            return NOTHING.union(*(self._named(text, place) for text in texts))
        if one.gives == "attribute":
            owner = v.instance(symbol.rpartition(".")[0])
            attributes = self.inference.attributes
            texts = self._texts(argument, place)
            return NOTHING.union(*(attributes.named_values(owner, text) for text in texts))
        if one.gives == "elements":
            return v.holding(self._elements(argument, place))
        values = self.inference.infer(argument, place)
        if one.gives == "itself":
            return values
        if one.gives == "container":
            return v.holding(values) if values else NOTHING
        if one.gives == "callable":
            return frozenset(v.PartialValue(v.PARTIAL, value) for value in values)
        if one.gives == "factory":
            given = v.HolderValue(v.ELEMENTS, values)
            return frozenset([v.TakerValue(v.TAKER, given, "__call__")])
        made = self._called(argument, place)
        if one.gives == "promise":
            return results.returned(symbol) | (v.holding(made) if made else NOTHING)
        return v.holding(made) if one.gives == "results" else made

    def _called(self, argument: Expr, place: Place) -> Values:
        """Return the results of a function that something calls later."""
        found: set[Value] = set()
        for value in self.inference.infer(argument, place):
            if value.kind in (v.FUNCTION, v.CLASS, v.EXTERNAL, v.PARTIAL, v.TAKER):
                found |= self.inference.results.called(value, call_of(None, ()), place)
        return frozenset(found)

    def _reduced(self, positional: tuple[Expr, ...], place: Place) -> Values:
        """Return what ``reduce(function, elements, start)`` may return."""
        first = positional[0] if positional else None
        return self._called(first, place) | self.inference.any_of(positional[2:3], place)

    def _getter(self, symbol: str, first: Expr) -> Values:
        """Return the function that ``attrgetter``, ``itemgetter`` or ``methodcaller`` makes."""
        if first is None or first.tag != tags.CONSTANT:
            return NOTHING
        kind = symbol.rpartition(".")[2]
        return frozenset([v.GetterValue(v.GETTER, kind, first.value)])
