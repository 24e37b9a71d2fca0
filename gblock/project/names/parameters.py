"""Values of parameters, from the arguments that callers pass."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import cached_property
from itertools import chain
from typing import Literal

from gblock.project.names import values as v
from gblock.project.names.keeping import Container
from gblock.project.names.places import Place
from gblock.project.names.values import NOTHING, ScopeValue, Value, Values
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    InnerExpr,
    SubscriptExpr,
    as_keywords,
    call_of,
    last_name,
    owner_of,
    passed,
    without_arguments,
)
from gblock.project.reading.summary import Call, ModuleSummary, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gblock.catalog.libraries import Construct
    from gblock.project.names.inference import Inference

_MOST_FILES = 64
"""If more files apply decorators of one name, only those near the decorator are read for it: all
plug-ins of a large application may be."""
_DECORATOR = re.compile(rb"@([\w.\x80-\xff]+)")
_MAPPED = {"map", "imap", "imap_unordered", "map_async", "starmap", "starmap_async"}
"""Functions and methods that call a function with each element of an iterable."""


class Parameters:
    """Follows parameters to the arguments of the function's calls.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._handovers: dict[tuple[str, int], tuple[tuple[CallExpr, Place], ...]] = {}
        self._decorators: dict[str, frozenset[bytes]] = {}
        """The words in the decorators of files."""

    def parameter(
        self, path: str, index: int, position: int, receiver: ScopeValue | None = None
    ) -> Values:
        """Return a parameter's values: its annotation, else callers' arguments and its default.

        An annotation counts last if objects of its class may be of a cooperative class below it.

        Args:
            path: The module.
            index: The function.
            position: The position of the parameter.
            receiver: For a method, the object of a derived class that it is called on.
        """
        return self.inference.solved(
            ("parameter", path, index, position, receiver),
            lambda: self._parameter(path, index, position, receiver),
        )

    def _parameter(
        self, path: str, index: int, position: int, receiver: ScopeValue | None
    ) -> Values:
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        receiver = self.inference.classes.derived(receiver, path, scope.parent)
        implicit = self._implicit(summary, index, receiver) if position == 0 else None
        if implicit is not None:
            return implicit
        name, annotation, default, kind = scope.parameters[position]
        outside = Place(path, scope.parent, scope.path, receiver)
        declared = self.inference.annotations.annotated(annotation, outside)
        if kind in ("*", "**") and declared:
            if kind == "*":
                return v.holding(declared)
            return frozenset([v.MappingValue(v.MAPPING, (), declared)])
        is_broad = self.inference.annotations.is_broad(declared)
        if v.declares(declared) and not is_broad:
            return declared
        calls = self._calls(summary, index, receiver)
        wrapping = self._wrapping(summary, index) if scope.decorators else []
        if kind == "*":
            own = [(call, place, _added(call, around)) for call, place, around in wrapping]
            return self._collected([*calls, *own], position)
        if kind == "**":
            own = [(call, place, 0) for call, place, _ in wrapping]
            named = {one.name for one in scope.parameters if one.kind[:1] != "*"}
            packed = self._collected_by_name([*calls, *own], named)
            if _is_method(summary, index) and scope.name == "__init__" and not v.declares(packed):
                packed |= self._constructed(path, scope.parent, None, name)
            return packed
        kept = {one for one in declared if not is_broad or one.kind != v.INSTANCE}
        found = {*self.inference.infer(default, outside)}
        found |= NOTHING if is_broad else kept
        added = max((_added(call, around) for call, _, around in wrapping), default=0)
        for call, place, _ in wrapping:
            found |= self.given(call.expression, position, name, place)
        for call, place, shift in calls:
            if position - shift >= added:
                found |= self.given(call.expression, position - shift - added, name, place)
        if receiver is not None and not v.declares(frozenset(found)):
            return self.parameter(path, index, position)
        given = self._indirect(summary, index, position, receiver, frozenset(found))
        return given | kept if v.declares(given) or not is_broad else declared

    def _implicit(
        self, summary: ModuleSummary, index: int, receiver: ScopeValue | None
    ) -> Values | None:
        """Return the values of a first parameter that no argument fills; None for any other."""
        path, scope = summary.filename, summary.scopes[index]
        if _is_method(summary, index):
            decorators = self.inference.decorators(summary, index)
            if scope.name == "__init_subclass__":
                return self.inference.classes.derived_from(path, scope.parent)
            if "builtins.classmethod" in decorators or scope.name == "__new__":
                return frozenset([_own(v.CLASS, path, scope.parent, receiver)])
            if "builtins.staticmethod" not in decorators:
                if self.inference.classes.is_metaclass(path, scope.parent):
                    return self.inference.classes.made_by(path, scope.parent)
                return frozenset([_own(v.OBJECT, path, scope.parent, receiver)])
        if scope.decorators and self.inference.catalog.binds:
            return self._bound(summary, index) or None
        return None

    def _indirect(
        self,
        summary: ModuleSummary,
        index: int,
        position: int,
        receiver: ScopeValue | None,
        known: Values,
    ) -> Values:
        """Return a parameter's values with those that calls of other functions lead to.

        Such calls take the function as an argument, or a base class, a container, a framework or a
        decorator calls it. What is less certain is looked for only where nothing is known so far.

        Args:
            summary: The module.
            index: The function.
            position: The position of the parameter.
            receiver: For a method, the object of a derived class that it is called on.
            known: The values from its annotation, its default and its calls.
        """
        path, scope = summary.filename, summary.scopes[index]
        name, found = scope.parameters[position].name, known
        method = _is_method(summary, index)
        is_static = method and "builtins.staticmethod" in self.inference.decorators(summary, index)
        shift = int(method and not is_static)
        for expression, place in self._handed(path, index):
            found |= self.given(expression, position - shift, name, place)
        if shift and not v.declares(found):
            found |= self._of_overridden(path, index, position)
        is_constructor = method and scope.name == "__init__"
        if not v.declares(found):
            for expression, place in () if is_constructor else self._kept(summary, index):
                found |= self.given(expression, position - shift, name, place)
            for call, place in self.kept_classes(path, scope.parent) if is_constructor else ():
                found |= self.given(call.expression, position - shift, name, place)
        if method and position and not found and self.inference.catalog.modelled:
            own = receiver or v.ScopeValue(v.OBJECT, path, scope.parent)
            found |= self.inference.classes.passed_model(own, scope.name, position)
        if shift and is_constructor and not v.declares(found):
            found |= self._constructed(path, scope.parent, position - shift, name)
            for heir in self.inference.calling.heirs(path, scope.parent):
                found |= self._constructed(heir.path, heir.scope, position - shift, name)
        if scope.parent == 0 and self._is_injected:
            found |= self._constructed(path, index, position, name)
        if position == shift and not v.declares(found):
            found |= self._decorated(summary, index)
        if not method and not v.declares(found):
            found |= self._replacing(summary, index, position)
        conventional = self.inference.catalog.conventional.get(name)
        if conventional is not None and not v.declares(found):
            found |= {v.instance(conventional)}
        return found

    def _constructed(self, path: str, owner: int, position: int | None, name: str) -> Values:
        """Return an argument of a constructor that a framework calls: ``View.as_view(...)``.

        Args:
            path: The module of the class.
            owner: The class, or a function that is called in the place of one.
            position: The position of the argument, without the receiver; None for all keywords.
            name: The parameter.
        """
        modules, constructs = self.inference.modules, self.inference.catalog.constructs
        summary = modules.summary(path)
        if modules.is_frugal:
            return NOTHING
        found: set[Value] = set()
        verbs = {symbol.rpartition(".")[2] for symbol in constructs}
        is_class = summary.scopes[owner].kind == "class"
        made = v.ScopeValue(v.CLASS, path, owner) if is_class else v.function(path, owner)
        for file in modules.naming(summary.scopes[owner].name, path, _MOST_FILES):
            by_name = self.inference.calling.calls_by_name(file)
            for call in (call for verb in sorted(verbs) for call in by_name.get(verb, ())):
                place = Place(file, call.scope, call.path)
                symbols = self.inference.callees.called_symbols(call.expression.callee, place)
                for symbol in sorted(symbols & constructs.keys()):
                    one, expression = constructs[symbol], call.expression
                    if not self._makes(one, expression, place, made):
                        continue
                    if one.args is None and one.kwargs is None:
                        if position is None:
                            continue
                        values = self.given(expression, position + one.skipped, name, place)
                        found |= values
                        for value in values if one.injects else ():
                            called = self.inference.results.called(value, call_of(None, ()), place)
                            found |= called
                        continue
                    if position is not None:
                        args = self.inference.infer(passed(expression, None, one.args), place)
                        found |= frozenset().union(*(_member(value, position) for value in args))
                    for value in self.inference.infer(passed(expression, None, one.kwargs), place):
                        if value.kind == v.MAPPING and position is None:
                            found.add(value)
                        elif value.kind == v.MAPPING:
                            found |= dict(value.known).get(name, value.others)
        return frozenset(found)

    @cached_property
    def _is_injected(self) -> bool:
        """True if a framework of the project may call functions with what others return."""
        return any(
            one.injects and self.inference.modules.mentioning(symbol.partition(".")[0])
            for symbol, one in self.inference.catalog.constructs.items()
        )

    def _makes(self, one: Construct, expression: CallExpr, place: Place, made: Value) -> bool:
        """Return whether a call makes objects of a class, or calls a function."""
        if one.position is not None:
            given = passed(expression, one.position, one.keyword)
        else:
            given = owner_of(expression.callee)
        return made in self.inference.infer(given, place)

    def _decorated(self, summary: ModuleSummary, index: int) -> Values:
        """Return the functions and classes that a function of the project decorates."""
        outer = summary.scopes[index]
        if outer.kind != "function":
            return NOTHING
        around = summary.scopes[outer.parent]
        is_returned = around.kind == "function" or outer.name == "__call__"
        names = {outer.name, around.name} if is_returned else {outer.name}
        found: set[Value] = set()
        for path in self._decorating(names, summary.filename):
            other = self.inference.modules.summary(path)
            for number, scope in enumerate(other.scopes):
                place = Place(path, scope.parent, scope.path)
                for written in scope.decorators:
                    if last_name(without_arguments(written)) in names and any(
                        one.kind == v.FUNCTION and v.comes_from(one, summary.filename, index)
                        for one in self.inference.callees.functions(
                            self.inference.infer(written, place)
                        )
                    ):
                        is_class = scope.kind == "class"
                        found.add(
                            v.ScopeValue(v.CLASS, path, number)
                            if is_class
                            else v.function(path, number)
                        )
        return frozenset(found)

    def _replacing(self, summary: ModuleSummary, index: int, position: int) -> Values:
        """Return a parameter's values in a function that decorators put in the place of others.

        A call of a decorated function, or method, runs the function that the decorator returns.
        """
        scope = summary.scopes[index]
        getters = self.inference.calling.getters(summary.filename).get(scope.name, ())
        if scope.parent not in getters:
            return NOTHING
        found: set[Value] = set()
        for value in sorted(self._decorated(summary, scope.parent), key=v.spelled):
            if value.kind != v.FUNCTION:
                continue
            other = self.inference.modules.summary(value.path)
            implicit = self._implicit(other, value.scope, None) if position == 0 else None
            if implicit is not None:
                found |= implicit
                continue
            for call, place, shift in self._calls(other, value.scope, None):
                name = scope.parameters[position].name
                found |= self.given(call.expression, position - shift, name, place)
        return frozenset(found)

    def _wrapping(self, summary: ModuleSummary, index: int) -> list[tuple[Call, Place, Scope]]:
        """Return the calls of a function in the wrappers that its decorators put around it.

        With each the function that makes the call.
        """
        found: list[tuple[Call, Place, Scope]] = []
        for value, wrapped in self._decorators_of(summary, index):
            scopes = self.inference.modules.summary(value.path).scopes
            for call in self.inference.calling.calls_by_name(value.path).get(wrapped, ()):
                wrapper = scopes[call.scope]
                callee = call.expression.callee
                is_name = callee is not None and callee.tag == tags.NAME
                if is_name and wrapper.parent == value.scope:
                    found.append((call, Place(value.path, call.scope, call.path), wrapper))
        return found

    def _decorators_of(
        self, summary: ModuleSummary, index: int
    ) -> Iterator[tuple[v.FunctionValue, str]]:
        """Yield the functions that decorate one, each with the name that it gives to this one."""
        scope = summary.scopes[index]
        around = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            for value in self._functions(decorator, around):
                decorating = self.inference.modules.summary(value.path).scopes[value.scope]
                parameters = decorating.parameters[value.receiver is not None :]
                yield value, parameters[0].name if parameters else ""

    def _functions(self, expression: Expr, place: Place) -> list[v.FunctionValue]:
        """Return the functions of the project that an expression may be, in the project's order."""
        values = self.inference.infer(expression, place)
        return sorted(
            (value for value in values if value.kind == v.FUNCTION),
            key=lambda one: (one.path, one.scope, one.receiver or ()),
        )

    def _decorating(self, names: set[str], own: str) -> list[str]:
        """Return the files that may apply a decorator of one of some names."""
        modules = self.inference.modules
        if modules.is_frugal:
            return []
        is_used_here = not self._words_of(own).isdisjoint(name.encode() for name in names)
        found = {own} if is_used_here else set()
        for name in sorted(names):
            mentioning = modules.mentioning(name, whole=True)
            using = [path for path in mentioning if name.encode() in self._words_of(path)]
            if len(using) > _MOST_FILES:
                near = modules.near(own)
                using = [path for path in using if path in near]
            found.update(using)
        return sorted(found)

    def _words_of(self, path: str) -> frozenset[bytes]:
        """Return the words in a file's decorators."""
        found = self._decorators.get(path)
        if found is None:
            decorators = _DECORATOR.findall(self.inference.modules.data(path))
            found = self._decorators[path] = frozenset(b".".join(decorators).split(b"."))
        return found

    def _bound(self, summary: ModuleSummary, index: int) -> Values:
        """Return the object that a decorator makes of a function and passes to the function."""
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        catalog = self.inference.catalog
        for decorator in scope.decorators:
            if decorator is None or decorator.tag != tags.CALL:
                continue
            for symbol in sorted(self.inference.callees.called_symbols(decorator.callee, place)):
                given = passed(decorator, None, catalog.binds.get(symbol))
                if given is not None and given.tag == tags.CONSTANT and given.value is True:
                    keyword = catalog.decorated_by.get(symbol)
                    named = passed(decorator, None, keyword) if keyword else None
                    made = frozenset(
                        value._replace(kind=v.OBJECT)
                        for value in self.inference.infer(named, place)
                        if value.kind == v.CLASS
                    )
                    return made or frozenset([v.instance(catalog.decorates[symbol])])
        return NOTHING

    def arguments(
        self, path: str, index: int, position: int, receiver: ScopeValue | None = None
    ) -> list[tuple[Expr, Place]]:
        """Return the expressions that the project passes for a parameter, its default left out."""
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        receiver = self.inference.classes.derived(receiver, path, scope.parent)
        name = scope.parameters[position].name
        found = [
            (passed(call.expression, position - shift, name), place)
            for call, place, shift in self._calls(summary, index, receiver)
        ]
        return [(argument, place) for argument, place in found if argument is not None]

    def given(
        self, expression: CallExpr, position: int | None, name: str | None, place: Place
    ) -> Values:
        """Return a call's argument for a parameter, ``*`` and ``**`` included."""
        argument = passed(expression, position, name)
        if argument is not None:
            return self.inference.infer(argument, place)
        found: set[Value] = set()
        for number, one in enumerate(expression.positional):
            if position is None or number > position:
                break
            if one is not None and one.tag == tags.STAR:
                given = self.inference.infer(one.value, place)
                for value in self.inference.records.opened(given):
                    found |= _member(value, position - number)
                break
        for keyword, one in expression.keywords:
            if keyword is None:
                for value in self.inference.infer(one, place):
                    if value.kind == v.MAPPING:
                        found |= dict(value.known).get(name, value.others)
        return frozenset(found)

    def _calls(
        self, summary: ModuleSummary, index: int, receiver: ScopeValue | None
    ) -> list[tuple[Call, Place, int]]:
        """Return a function's calls, each with the number of implicit parameters."""
        if receiver is not None and summary.scopes[index].name == "__init__":
            return self._constructing(summary, index, receiver)
        callers = self.inference.calling.callers(summary.filename, index)
        return [(call, place, self._shift(summary, index, call, place)) for call, place in callers]

    def _constructing(
        self, summary: ModuleSummary, index: int, receiver: ScopeValue
    ) -> list[tuple[Call, Place, int]]:
        """Return the calls that run an inherited constructor on objects of a derived class."""
        owner = v.ScopeValue(v.CLASS, summary.filename, summary.scopes[index].parent)
        for cls in self.inference.classes.ancestry(receiver.path, receiver.scope):
            if cls == owner:
                break
            if cls.kind != v.CLASS:
                continue
            derived = self.inference.modules.summary(cls.path)
            bindings = derived.scopes[cls.scope].bindings
            for binding in bindings.get("__init__", ()):
                if binding.kind == kinds.DEFINED:
                    return self._forwarding(cls.path, binding.value, summary, index, receiver)
        callers = self.inference.calling.callers(receiver.path, receiver.scope)
        return [(call, place, 1) for call, place in callers]

    def _forwarding(
        self, path: str, constructor: int, summary: ModuleSummary, index: int, receiver: ScopeValue
    ) -> list[tuple[Call, Place, int]]:
        """Return the calls of an inherited constructor in the constructor of a derived class."""
        found = []
        for call in self.inference.calling.calls_by_name(path).get("__init__", ()):
            if call.scope == constructor:
                place = Place(path, constructor, call.path, receiver)
                for value in self.inference.infer(call.expression.callee, place):
                    if value.kind == v.FUNCTION and v.comes_from(value, summary.filename, index):
                        shift = self._shift(summary, index, call, place)
                        found.append((call, place, shift))
                        break
        return found

    def _collected(self, calls: list[tuple[Call, Place, int]], position: int) -> Values:
        """Return the values in ``*args``."""
        members: list[Values] = []
        others: Values = NOTHING
        for call, place, shift in calls:
            given: list[Values] = []
            for one in call.expression.positional[max(position - shift, 0) :]:
                if one is not None and one.tag == tags.STAR:
                    packed = self.inference.records.opened(self.inference.infer(one.value, place))
                    tuples = [value.members for value in packed if value.kind == v.TUPLE]
                    given += tuples[0] if len(tuples) == 1 else ()
                    others |= frozenset(x for x in packed if x.kind == v.ELEMENTS)
                    break
                given.append(self.inference.infer(one, place))
            for number, values in enumerate(given):
                if number == len(members):
                    members.append(values)
                else:
                    members[number] |= values
        if not any(members):
            return others
        return others | {v.TupleValue(v.TUPLE, tuple(members))}

    def _collected_by_name(self, calls: list[tuple[Call, Place, int]], taken: set[str]) -> Values:
        """Return the values in ``**kwargs``."""
        known: dict[Hashable, Values] = {}
        for call, place, _ in calls:
            for name, one in call.expression.keywords:
                if name is None:
                    packed = self.inference.infer(one, place)
                    given = [pair for x in packed if x.kind == v.MAPPING for pair in x.known]
                else:
                    given = [(name, self.inference.infer(one, place))]
                for key, values in given:
                    if key not in taken:
                        known[key] = known.get(key, NOTHING) | values
        if not any(known.values()):
            return NOTHING
        pairs = sorted(known.items(), key=lambda pair: repr(pair[0]))
        return frozenset([v.MappingValue(v.MAPPING, tuple(pairs), NOTHING)])

    def _shift(self, summary: ModuleSummary, index: int, call: Call, place: Place) -> int:
        """Return the number of a call's implicit parameters: 1 for a bound method."""
        scope = summary.scopes[index]
        if summary.scopes[scope.parent].kind != "class":
            return 0
        shifts = [1]
        for value in self.inference.infer(call.expression.callee, place):
            if value.kind == v.FUNCTION and v.comes_from(value, summary.filename, index):
                if value.receiver is None:
                    return 0
                on_class = value.receiver.kind == v.CLASS
                of_class = "builtins.classmethod" in self.inference.decorators(summary, index)
                shifts.append(0 if on_class and not of_class else 1)
        return min(shifts)

    def _handed(self, path: str, index: int) -> tuple[tuple[CallExpr, Place], ...]:
        """Return the arguments beside the function itself: ``x`` in ``spawn(f, x)``."""
        return self.inference.remembered(
            self._handovers, (path, index), lambda: tuple(self._find_handed(path, index))
        )

    def _find_handed(self, path: str, index: int) -> Iterator[tuple[CallExpr, Place]]:
        handovers = self.inference.calling.handovers(path, index)
        for call, place, position in (*handovers, *self._handed_on(path, index)):
            yield from self.beside(call, place, position)
            if position is not None:
                yield from self._called_back(call, place, position)

    def _handed_on(self, path: str, index: int) -> Iterator[tuple[Call, Place, int | None]]:
        """Yield the calls that a function is handed to in the wrappers of its decorators.

        ``def in_transaction(work): return lambda *args: pool.run(work, *args)``
        """
        for value, wrapped in self._decorators_of(self.inference.modules.summary(path), index):
            scopes = self.inference.modules.summary(value.path).scopes
            for call, position, _ in self.inference.calling.given(value.path).get(wrapped, ()):
                if scopes[call.scope].parent == value.scope:
                    yield call, Place(value.path, call.scope, call.path), position

    def beside(
        self, call: Call, place: Place, position: int | None
    ) -> Iterator[tuple[CallExpr, Place]]:
        """Yield the arguments beside one, as calls that pass them.

        Args:
            call: The call.
            place: Its place.
            position: The position of the argument; None for a keyword argument.
        """
        _, _, positional, keywords = call.expression
        if position is not None:
            packed = positional[position + 1] if len(positional) == position + 2 else None
            rest = positional[position + 1 :]
            if packed is not None and packed.tag == tags.TUPLE:
                yield call_of(None, packed.elements), place
            if last_name(call.expression.callee) in _MAPPED:
                rest = tuple(_element_of(one) for one in rest)
                if last_name(call.expression.callee).startswith("starmap"):
                    rest = tuple(InnerExpr(tags.STAR, one) for one in rest)
            yield call_of(None, rest, keywords), place
        packed_too = dict(keywords)
        for value in (packed_too.get("args"), packed_too.get("kwargs")):
            if value is not None and value.tag in (tags.TUPLE, tags.SEQUENCE):
                yield call_of(None, value.elements), place
            elif value is not None and value.tag == tags.MAPPING:
                yield call_of(None, (), as_keywords(value)), place
            elif value is not None and value is packed_too.get("args"):
                yield call_of(None, (InnerExpr(tags.STAR, value),)), place

    def _of_overridden(self, path: str, index: int, position: int) -> Values:
        """Return the arguments of the methods that a method overrides, such as abstract ones.

        ``self.encode(rows)`` in a base class runs the ``encode()`` of each derived class.
        """
        summary = self.inference.modules.summary(path)
        name = summary.scopes[index].name
        if name.startswith("__") or self.inference.modules.is_frugal:
            return NOTHING
        found: set[Value] = set()
        for where, one in self.inference.protocols.overridden(path, index):
            base = self.inference.modules.summary(where).scopes[one]
            kept = base.parameters[position] if position < len(base.parameters) else None
            if kept is not None and kept.kind == "positional":
                found |= self.parameter(where, one, position)
        return frozenset(found)

    def _kept(self, summary: ModuleSummary, index: int) -> Iterator[tuple[CallExpr, Place]]:
        """Yield the calls of a function that a container or an object keeps: a table of handlers.

        ``bus.on("paid", notify)``, and elsewhere ``for handler in self.handlers: handler(order)``,
        or ``spawn(handler, order)``.
        """
        if self.inference.modules.is_frugal:
            return
        keeping, path = self.inference.keeping, summary.filename
        containers = keeping.containers(summary, index)
        for call, place, position in self.inference.calling.handovers(path, index):
            if position is None:
                continue
            containers |= keeping.attributes(call, place, position)
            for taker in self._functions(call.expression.callee, place):
                parameters = (
                    self.inference.modules.summary(taker.path).scopes[taker.scope].parameters
                )
                at = position + (taker.receiver is not None)
                if at < len(parameters):
                    containers |= keeping.stored(taker, parameters[at].name)
        if containers:
            for file, call in keeping.callers(containers, path, index, getters=False):
                yield call.expression, Place(file, call.scope, call.path)
            handing = frozenset(self.inference.catalog.offloads_by_name)
            for call, place, given, _ in keeping.handovers(containers, path, index, handing):
                yield from self.beside(call, place, given)

    def kept_classes(self, path: str, index: int) -> Iterator[tuple[Call, Place]]:
        """Yield the calls of a class that a container keeps, or a function returns.

        ``BACKENDS[name](settings)``, ``backend_class()(settings)``. A derived class that inherits
        the constructor counts, too.
        """
        if self.inference.modules.is_frugal:
            return
        keeping = self.inference.keeping
        own = v.ScopeValue(v.CLASS, path, index)
        for cls in (own, *self.inference.calling.heirs(path, index)):
            summary = self.inference.modules.summary(cls.path)
            containers = keeping.of_objects(summary, cls.scope)
            containers.add(Container(summary.scopes[cls.scope].name, cls.path))
            at_once = keeping.taken_at_once(cls.path, cls.scope, v.CLASS)
            calls = keeping.callers(containers, cls.path, cls.scope, kind=v.CLASS)
            for file, call in chain(at_once, calls):
                yield call, Place(file, call.scope, call.path)

    def _called_back(
        self, call: Call, place: Place, position: int
    ) -> Iterator[tuple[CallExpr, Place]]:
        """Yield the calls of a function in the project's function that it is passed to.

        ``def transaction(work): return work(connect().cursor())``
        """
        for taker in self._functions(call.expression.callee, place):
            summary = self.inference.modules.summary(taker.path)
            parameters = summary.scopes[taker.scope].parameters[taker.receiver is not None :]
            if position >= len(parameters) or parameters[position].kind != "positional":
                continue
            by_name = self.inference.calling.calls_by_name(taker.path)
            for inner in by_name.get(parameters[position].name, ()):
                callee, around = inner.expression.callee, inner.scope
                while around > taker.scope:
                    around = summary.scopes[around].parent
                is_name = callee is not None and callee.tag == tags.NAME
                if around == taker.scope and is_name:
                    yield inner.expression, Place(taker.path, inner.scope, inner.path)


def _is_method(summary: ModuleSummary, index: int) -> bool:
    """Return whether a scope is a function in the body of a class."""
    scope = summary.scopes[index]
    if scope.parent < 0 or scope.kind != "function":
        return False
    return summary.scopes[scope.parent].kind == "class"


def _own(
    kind: Literal["class", "object"], path: str, index: int, receiver: ScopeValue | None
) -> ScopeValue:
    """Return the value of ``self`` or ``cls`` in a method of a class."""
    if receiver is not None:
        return v.ScopeValue(kind, receiver.path, receiver.scope)
    return v.ScopeValue(kind, path, index)


def _member(value: Value, number: int) -> Values:
    """Return the argument that ``*value`` passes at one of its positions."""
    if value.kind == v.TUPLE:
        members: tuple[Values, ...] = value.members
        return members[number] if number < len(members) else NOTHING
    held: Values = value.held if value.kind == v.ELEMENTS else NOTHING
    return held


def _added(call: Call, wrapper: Scope) -> int:
    """Return the number of arguments that a wrapper puts before those that it is given."""
    for before, one in enumerate(call.expression.positional):
        if one is not None and one.tag == tags.STAR:
            own = [one for one in wrapper.parameters if one.kind == "positional"]
            return max(before - len(own), 0)
    return 0


def _element_of(expression: Expr) -> Expr:
    """Return an expression for any element of another one."""
    return SubscriptExpr(tags.SUBSCRIPT, expression, None) if expression is not None else None
