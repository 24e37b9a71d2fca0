"""The call graph's edges, backwards and on demand: the callers of a function."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice
from typing import Literal, NamedTuple, TypeAlias

from gblock.project.calls.composed import ComposedNames
from gblock.project.calls.dispatch import Dispatch, Dispatched
from gblock.project.calls.implied import PROPERTIES, Implied, ImpliedCall, scope_at
from gblock.project.calls.looked_up import LookedUp
from gblock.project.calls.method_names import MOST_FILES, MethodNames, may_take
from gblock.project.calls.provenance import Provenance
from gblock.project.calls.signals import Signals
from gblock.project.names import values as v
from gblock.project.names.definitions import END
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.values import Value, unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import originals
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    dotted,
    last_name,
    owner_of,
    read_dotted,
    without_arguments,
)
from gblock.project.reading.iteration import ITERATING
from gblock.project.reading.summary import AnyCall, Call, ModuleSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gblock.project.reading.import_graph import ImportGraph

_MOST_CALLERS = 40
"""At most this many callers of one function are followed."""
_MOST_OF_FILE = 8
"""At most this many of them in one file, if several files have some."""
_BUILTINS = frozenset(dir(builtins))
_OWNER = rb"(?P<owner>\b[^\W\d]\w*(?:\.\w+)*)?"
_READ, _WRITTEN = _OWNER + rb"\.%s\b(?!\s*=[^=])", _OWNER + rb"\.%s\s*=[^=]"
"""Patterns of reads of an attribute, and of assignments to it, with the name of the object."""
_MAKING = frozenset(
    "__init__ __new__ __post_init__ __attrs_post_init__ __attrs_pre_init__ __init_subclass__ "
    "__set_name__ __class_getitem__".split()
)
"""Methods that run where an object or a class is made, and at no other time."""
_VALIDATING = frozenset(
    "validator root_validator field_validator model_validator".split()  # pydantic, attrs
)
"""Last names of decorators that make a method run where an object is made."""
_AFTER_VALIDATION = "model_post_init"
"""The method of a pydantic model that runs where an object has been made."""
_PARSING = ("model_validate", "model_validate_json", "parse_obj", "parse_raw")
"""Methods of a class with validators that make an object of data."""
_STATEMENTS = {
    "__enter__": "with",
    "__exit__": "with",
    "__iter__": "for",
    "__next__": "for",
}
"""Statements that call a method."""
_USING = ITERATING | {"enter_context"}
"""Functions that call a special method of their arguments."""
_NAMESPACES = frozenset({"types.SimpleNamespace", "argparse.Namespace"})
"""Classes whose objects have the keyword arguments of their constructor as attributes."""
_GENERIC = frozenset({"singledispatch", "singledispatchmethod"})
"""Decorators of functions that have an implementation for each type."""

_OF_DATA = frozenset((v.MAPPING, v.TUPLE, v.ELEMENTS, v.LITERAL))
"""Kinds of values that are objects of the builtin types."""

_Target: TypeAlias = tuple[str, str, int]
"""A function or class: its kind as a value, its module and its scope."""
_Meaning: TypeAlias = "tuple[Call, bool, frozenset[_Target | None], frozenset[v.ScopeValue]]"
"""A call, whether its callee is known, what it may be, and the classes from which an object of
unknown type comes whose method it calls."""


class Caller(NamedTuple):
    """A place that runs a function."""

    path: str
    scope: int
    at: tuple[int, ...]
    """The path of the statement."""
    row: int
    is_certain: bool
    """True if inferred; if not, only the names match."""
    is_exact: bool = False
    """True if inferred to run this very function, and not only a method that it overrides."""
    expression: CallExpr | None = None
    """The call, if it is one."""
    only: Dispatched | None = None
    """The calls of the caller that lead on, if not all do."""
    is_lasting: bool = False
    """True if an object is made here whose special methods run where something uses the object."""


class Callers:
    """Finds callers by a name index and inference.

    Args:
        inference: Type inference over the project.
        graph: Returns the project's import graph; None where the files are no project.
        served: Returns the files that services on gevent can run: of many callers, those in these
            files are the first to be followed.
    """

    def __init__(
        self,
        inference: Inference,
        graph: Callable[[], ImportGraph | None] | None = None,
        served: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        self.inference = inference
        self._graph = graph
        self._served = served
        self.modules = inference.modules
        self.keeping = inference.keeping
        self.dispatch = Dispatch(inference)
        self._composed = ComposedNames(inference)
        self._looked_up = LookedUp(inference, self._composed)
        self._signals = Signals(inference, self.keeping)
        self._implicit = Implied(inference)
        self._method_names = MethodNames(inference)
        self._provenance = Provenance(inference)
        self._found: dict[tuple[str, int], list[Caller]] = {}
        self._results: dict[tuple[str, int], list[str]] = {}
        self._beside: dict[str, frozenset[str]] = {}
        """By file, the files that some program can run together with it."""
        self._callees: dict[tuple[str, str], list[_Meaning]] = {}
        """The meanings of callees, by file and name."""
        self._assigned: dict[str, dict[str | int, set[str]]] = {}
        """By file and name of a function, the attributes that it is assigned to."""

    def of(self, path: str, index: int) -> list[Caller]:
        """Return the callers of a function, of a lambda, or of a class's own methods."""
        key = (path, index)
        found = self._found.get(key)
        if found is None:
            summary = self.modules.summary(path)
            found = self._find(summary, index)
            self._found[key] = found
        return found

    def may_select(self, caller: Caller, only: Dispatched) -> bool:
        """Return whether a caller may pass an object that selects the handler."""
        place = Place(caller.path, caller.scope, caller.at)
        return caller.expression is None or only.allows(caller.expression, place, self.inference)

    def is_selected(self, only: Dispatched, path: str, index: int) -> bool:
        """Return whether some call of a function that dispatches may select the handler."""
        callers = self.of(path, index)
        return not callers or any(self.may_select(one, only) for one in callers)

    def _find(self, summary: ModuleSummary, index: int) -> list[Caller]:
        scope = summary.scopes[index]
        if scope.kind == "lambda":
            found = [*self._kept(summary, index), *self._of_lambda(summary, index)]
            found += self._computed_attributes(summary, index)
            return [*found, *self._implied(self._implicit.of_proxies(summary, index))]
        if scope.kind != "function":
            return []
        owner = summary.scopes[scope.parent]
        if owner.kind != "class":
            found = self._calls(summary, index, {(v.FUNCTION, summary.filename, index)}, scope.name)
            found += self._decorated(summary, index)
            found += self._by_result(summary, index)
            found += self._by_getter(summary, index)
            found += self._by_default(summary, index)
            found += self._implied(self._implicit.of_proxies(summary, index))
            found += self._by_field(summary, index)
            found += self._dispatching(summary, index)
            found += self._by_composed_name(summary, index)
            if scope.parent == 0:
                found += self._by_computed_name(summary, index)
                found += self._by_text(summary, index)
            return [*found, *self._kept(summary, index), *self._sent(summary, index)]
        if scope.name.startswith("__") and scope.name.endswith("__"):
            return self._of_special(summary, index)
        methods = self._methods(summary, index)
        found = self._calls(summary, index, methods, scope.name)
        found += self._by_getter(summary, index)
        for name in self._attributes(summary, index):
            called = self._calls(summary, index, methods, name)
            found += [one for one in called if one.is_certain]
        found += self._by_package(summary, index)
        found += self._by_composed_name(summary, index)
        found += self._kept(summary, index)
        found += self._sent(summary, index)
        found += self._dispatching(summary, index)
        found += self._by_computed_name(summary, index) or (
            self._through_base(summary, index) if not found else []
        )
        found += self._through_inherited(summary, index) if not found else []
        if any(
            last_name(without_arguments(d)) in PROPERTIES for d in scope.decorators
        ) or self.inference.classes.is_descriptor(summary, index):
            found += self._naming_attribute(summary, index, _READ)
        if any(last_name(without_arguments(d)) == "setter" for d in scope.decorators):
            found += self._naming_attribute(summary, index, _WRITTEN)
        found += self._computed_attributes(summary, index)
        is_hook = scope.name == _AFTER_VALIDATION
        if is_hook or any(last_name(without_arguments(d)) in _VALIDATING for d in scope.decorators):
            found += self._making(summary, index)
            found += self._parsing(summary, index)
        return found

    def _attributes(self, summary: ModuleSummary, index: int) -> list[str]:
        """Return the attributes of a module that hold a method under another name.

        ``self.authenticate = self._by_ldap``.
        """
        found = self._assigned.get(summary.filename)
        if found is None:
            found = self._assigned[summary.filename] = {}
            for scope in summary.scopes:
                for (_, name), bindings in scope.attributes.items():
                    for one in bindings if name != kinds.ANY_NAME else ():
                        for original in originals(one):
                            found.setdefault(original, set()).add(name)
        name = summary.scopes[index].name
        return sorted(found.get(name, set()) - {name})

    def _of_lambda(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of a lambda by the names that hold it."""
        calling, path = self.inference.calling, summary.filename
        names = set(calling.aliases(path).get(index, ()))
        for call, _, argument in calling.given(path).get("", ()):
            if argument is not None and argument.tag == tags.LAMBDA and argument.scope == index:
                names |= {
                    name for name, one in call.expression.keywords if name and one == argument
                }
        targets: set[_Target] = {(v.FUNCTION, path, index)}
        found = [
            one for name in sorted(names) for one in self._calls(summary, index, targets, name)
        ]
        return [one for one in found if one.is_certain][:_MOST_CALLERS]

    def _kept(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of a function or class that a container keeps: ``TABLE[name]()``."""
        own = (summary.filename, index)
        kind: Literal["function", "class"] = v.FUNCTION
        if summary.scopes[index].kind == "class":
            kind, containers = v.CLASS, self.keeping.of_objects(summary, index)
        else:
            containers = self.keeping.containers(summary, index)
        calls = self.keeping.callers(containers, *own, kind=kind)
        at_once = self.keeping.taken_at_once(*own, kind)
        found = []
        for path, call in islice(chain(at_once, calls), _MOST_CALLERS):
            if path != summary.filename or not summary.is_within(call.scope, index):
                taken, place = call.expression.callee, Place(path, call.scope, call.path)
                only = self.dispatch.of((summary.filename, index), taken, place)
                found.append(Caller(path, call.scope, call.path, call.row, True, True, only=only))
        return found

    def _sent(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls that run a receiver of a signal, or an object of a class that is one."""
        return [
            Caller(path, call.scope, call.path, call.row, True)
            for path, call in islice(self._signals.senders(summary, index), _MOST_CALLERS)
        ]

    def _of_special(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the callers of a special method, such as ``__init__`` or ``__enter__``.

        Python calls it where an object is made, or later where an operator or a statement uses the
        object. Not every use is seen, so the place that makes the object counts, too.
        """
        scope = summary.scopes[index]
        target = self._classes(summary, index)
        found = self._making(summary, index)
        if scope.name in _MAKING:
            return found
        called: list[Caller] = []
        if scope.name == "__call__":
            called = self._out_of_containers(summary, index, sorted(target))
        bases = self.inference.classes.ancestry(summary.filename, scope.parent)
        target |= {(base.kind, base.path, base.scope) for base in bases if base.kind == v.CLASS}
        used = [*called, *self._uses(summary, index, target)]
        used += self._implied(self._implicit.of_operators(summary, index))
        return [*used, *(caller._replace(is_lasting=True) for caller in found)]

    def _classes(self, summary: ModuleSummary, index: int) -> set[_Target]:
        """Return the class of a method, and the classes based on it."""
        parent = summary.scopes[index].parent
        based = self.inference.calling.subclasses(summary.filename, parent)
        return {(v.CLASS, summary.filename, parent), *based}

    def _making(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls that make an object of a method's class."""
        own = (v.CLASS, summary.filename, summary.scopes[index].parent)
        target = self._classes(summary, index)
        found: list[Caller] = []
        for _, path, inner in sorted(target, key=lambda one: (one != own, one)):
            made = self.modules.summary(path)
            found += self._calls(made, inner, target, made.scopes[inner].name, index)
            found += self._kept(made, inner)
        return found

    def _parsing(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls that make an object of data: ``Order.model_validate(data)``."""
        target = self._classes(summary, index)
        naming = {
            path
            for _, defined, inner in sorted(target)
            for path in self._naming(defined, self.modules.summary(defined).scopes[inner].name)
        }
        return [
            Caller(path, call.scope, call.path, call.row, True, expression=call.expression)
            for path in sorted(naming)
            for name in _PARSING
            for call in self.inference.calling.calls_by_name(path).get(name, ())
            if (callee := call.expression.callee) is not None and callee.tag == tags.ATTRIBUTE
            if any(
                (value.kind, value.path, value.scope) in target
                for value in self.inference.infer(callee.base, Place(path, call.scope, call.path))
                if value.kind == v.CLASS
            )
        ][:_MOST_CALLERS]

    def _by_package(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of a package that run a method of what they return.

        ``Order.objects.create(id=1)`` saves the order.
        """
        scope = summary.scopes[index]
        symbols = self.inference.catalog.runs.get(scope.name, frozenset())
        if not symbols:
            return []
        owners = {(path, inner) for _, path, inner in self._classes(summary, index)}
        verbs = sorted({symbol.rpartition(".")[2] for symbol in symbols})
        found: list[Caller] = []
        for path in self.keeping.naming_objects(summary, scope.parent):
            by_name = self.inference.calling.calls_by_name(path)
            for call in (call for verb in verbs for call in by_name.get(verb, ())):
                place = Place(path, call.scope, call.path)
                values = self.inference.infer(call.expression, place)
                made = {one for x in values if x.kind == v.TUPLE for one in x.members[0]} | values
                if not any(x.kind == v.OBJECT and (x.path, x.scope) in owners for x in made):
                    continue
                called = self.inference.callees.called_symbols(call.expression.callee, place)
                inherited = self.inference.catalog.inherited
                if any(not symbols.isdisjoint(inherited(one)) for one in called):
                    found.append(Caller(path, call.scope, call.path, call.row, True))
        return found[:_MOST_CALLERS]

    def _out_of_containers(
        self, summary: ModuleSummary, index: int, targets: list[_Target]
    ) -> list[Caller]:
        """Return the calls of objects that a container keeps: ``for step in steps: step(order)``.

        Args:
            summary: The module of the class.
            index: Its ``__call__`` method.
            targets: The class, and the classes based on it.
        """
        found: list[Caller] = []
        for _, path, inner in targets[:MOST_FILES]:
            found += self._sent(self.modules.summary(path), inner)
            containers = self.keeping.of_objects(self.modules.summary(path), inner)
            calls = self.keeping.callers(containers, path, inner, kind=v.OBJECT)
            for file, call in islice(calls, _MOST_CALLERS):
                if file != summary.filename or not summary.is_within(call.scope, index):
                    found.append(Caller(file, call.scope, call.path, call.row, True))
        return found

    def _uses(self, summary: ModuleSummary, index: int, targets: set[_Target]) -> list[Caller]:
        """Return the calls and statements that use an object, and so call a special method."""
        scope = summary.scopes[index]
        node = _STATEMENTS.get(scope.name)
        if node is None and scope.name != "__call__":
            return []
        found: list[Caller] = []
        for path in self.keeping.naming_objects(summary, scope.parent):
            other = self.modules.summary(path)
            for call in other.calls:
                place = Place(path, call.scope, call.path)
                if not any(
                    (v.CLASS, value.path, value.scope) in targets
                    for used in _used_by(call, node)
                    for value in self.inference.infer(used, place)
                    if value.kind == v.OBJECT
                ):
                    continue
                if path == summary.filename and summary.is_within(call.scope, index):
                    continue
                found.append(Caller(path, call.scope, call.path, call.row, True))
                if len(found) >= _MOST_CALLERS:
                    return found
        return found

    def _methods(self, summary: ModuleSummary, index: int) -> set[_Target]:
        """Return a method, and the methods of the same name in the bases of its class.

        A call through a base class may run it.
        """
        found: set[_Target] = {(v.FUNCTION, summary.filename, index)}
        overridden = self.inference.protocols.overridden(summary.filename, index)
        return found | {(v.FUNCTION, *one) for one in overridden}

    def _calls(
        self,
        summary: ModuleSummary,
        index: int,
        targets: set[_Target],
        name: str,
        method: int | None = None,
    ) -> list[Caller]:
        """Return the calls of any of some functions or classes, by name and by inference.

        Args:
            summary: The module.
            index: The function or class.
            targets: What may be called in its place.
            name: Its name.
            method: For a class, the method that the calls run: a call in it is recursion.
        """
        calling = self.inference.calling
        scope = summary.scopes[index]
        own = (v.CLASS if scope.kind == "class" else v.FUNCTION, summary.filename, index)
        files = self._naming(summary.filename, name)
        by_name_alone = self._method_names.identifies(name, files, summary, index)
        graph = self._graph() if self._graph is not None and len(files) > MOST_FILES else None
        if graph is not None:
            beside = self._beside.get(summary.filename)
            if beside is None:
                beside = self._beside[summary.filename] = graph.beside(summary.filename)
            files = [path for path in files if path in beside]
        found: list[Caller] = []
        for path in files:
            before = len(found)
            calls = calling.calls_by_name(path)
            names = {name, *calling.aliases(path).get(name, ())}
            if scope.kind == "class":
                names.add("cls")
            meaning = (one for word in sorted(names) for one in self._meaning(path, word, calls))
            for call, is_known, meant, origins in meaning:
                is_certain = not meant.isdisjoint(targets)
                if not is_certain and is_known:
                    continue
                if not is_certain and not (
                    self._may_be_of(origins, summary, index) if origins else by_name_alone
                ):
                    continue
                callee = call.expression.callee
                if not is_certain and callee is not None and callee.tag != tags.ATTRIBUTE:
                    continue
                if not is_certain and not may_take(scope, call.expression):
                    continue
                recursing = index if method is None else method
                if path == summary.filename and summary.is_within(call.scope, recursing):
                    continue
                if not is_certain and self._is_of_nothing(callee, path):
                    continue
                is_exact = own in meant
                found.append(
                    Caller(
                        path,
                        call.scope,
                        call.path,
                        call.row,
                        is_certain,
                        is_exact,
                        expression=call.expression,
                    )
                )
                if len(found) >= _MOST_CALLERS:
                    return found
                if len(found) - before >= _MOST_OF_FILE and len(files) > MOST_FILES:
                    break
        return found

    def _is_of_nothing(self, callee: Expr, path: str) -> bool:
        """Return whether a callee begins with a name that nothing binds, so that the call raises.

        A module that lacks an import calls no method of the same name.
        """
        first = (dotted(callee) or "").partition(".")[0]
        summary = self.modules.summary(path)
        if not first or first in _BUILTINS or summary.star_imports:
            return False
        if any(first in scope.bindings for scope in summary.scopes):
            return False
        return b"globals()" not in self.modules.data(path)

    def is_known_by_name(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a function is a method whose name is rare enough to identify it.

        An attribute of this name, of an object of unknown type, may be the method.
        """
        name = summary.scopes[index].name
        files = self._naming(summary.filename, name)
        return self._method_names.identifies(name, files, summary, index)

    def _meaning(self, path: str, name: str, calls: dict[str, list[Call]]) -> list[_Meaning]:
        """Return a module's calls by a name, each with what its callee may be.

        Functions of one name share their possible callers, so most calls are looked up many times.
        """
        key = (path, name)
        found = self._callees.get(key)
        if found is None:
            found = []
            for call in calls.get(name, ()):
                place = Place(path, call.scope, call.path)
                callee = call.expression.callee
                values = self.inference.infer(callee, place)
                origins, is_known = frozenset[v.ScopeValue](), bool(values)
                if not values and callee is not None and callee.tag == tags.ATTRIBUTE:
                    is_known = self._provenance.is_foreign(callee.base, place)
                    origins = self._provenance.of(callee.base, place)
                found.append((call, is_known, frozenset(map(_plain, values)), origins))
            self._callees[key] = found
        return found

    def _may_be_of(
        self, origins: frozenset[v.ScopeValue], summary: ModuleSummary, index: int
    ) -> bool:
        """Return whether an object that comes from some classes may be of a method's class."""
        owner = summary.scopes[index].parent
        if summary.scopes[owner].kind != "class":
            return False
        return not origins.isdisjoint(self.inference.classes.ancestry(summary.filename, owner))

    def _naming(self, path: str, name: str) -> list[str]:
        """Return the files that mention a name, without tests.

        The definition's comes first, then those that services on gevent can run.
        """
        others = [one for one in self.modules.mentioning(name, whole=True) if one != path]
        if len(others) > MOST_FILES:
            served = self._served()
            others.sort(key=lambda one: one not in served)
        return [path, *others]

    def _computed_attributes(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the uses of the properties that a class makes of a method by a call."""
        return [
            one
            for name, is_set in self._implicit.properties(summary, index)
            for one in self._naming_attribute(summary, index, _WRITTEN if is_set else _READ, name)
        ]

    def _implied(self, uses: Iterator[ImpliedCall]) -> list[Caller]:
        return [
            Caller(one.path, one.scope, (), one.row, is_certain=True)
            for one in islice(uses, _MOST_CALLERS)
        ]

    def _naming_attribute(
        self, summary: ModuleSummary, index: int, how: bytes, name: str = ""
    ) -> list[Caller]:
        """Return the functions that read or set a property: those that mention the attribute.

        Args:
            summary: The module of the method.
            index: Its scope.
            how: The pattern of the uses.
            name: The attribute; the default is the method's name.
        """
        name = name or summary.scopes[index].name
        pattern = re.compile(how % re.escape(name.encode()))
        files = self.modules.naming(name, summary.filename, MOST_FILES)
        found: list[Caller] = []
        for path in dict.fromkeys([summary.filename, *files]):
            reader = self.modules.summary(path)
            data = self.modules.data(path)
            proven = self._reading(reader, summary, index, name) if how == _READ else set()
            for match in pattern.finditer(data):
                row = data.count(b"\n", 0, match.start()) + 1
                inner = scope_at(reader, row)
                if (path, inner) == (summary.filename, index):
                    continue
                is_own = self._has_property(match["owner"], reader, inner, (summary, index))
                if is_own is not False:
                    is_certain = row in proven or bool(is_own)
                    found.append(Caller(path, inner, (), row, is_certain=is_certain))
                if len(found) >= _MOST_CALLERS:
                    return found
        return found

    def _has_property(
        self,
        written: bytes | None,
        reader: ModuleSummary,
        scope: int,
        method: tuple[ModuleSummary, int],
    ) -> bool | None:
        """Return whether an object has a property of a class, None if this is not known.

        Args:
            written: The dotted name of the object, None for another expression.
            reader: The module that reads the property.
            scope: The function that reads it.
            method: The module and the scope of the property's method.
        """
        summary, index = method
        owner = summary.scopes[index].parent
        if written is None or not owner:
            return None
        name = written.decode()
        root = name.partition(".")[0]
        bound = reader.scopes[reader.binding(root, scope)].bindings.get(root, ())
        values = self.inference.infer(read_dotted(name), Place(reader.filename, scope, END))
        own = v.ScopeValue(v.CLASS, summary.filename, owner)
        ancestry = self.inference.classes.ancestry
        if any(x.kind == v.OBJECT and own in ancestry(x.path, x.scope) for x in values):
            return True
        if len(bound) != 1 or not values:
            return None
        # An object of a base of the class may be one of the class.
        above = {one._replace(kind=v.OBJECT) for one in ancestry(*own[1:]) if one.kind == v.CLASS}
        others = all(x.kind in _OF_DATA or (x.kind == v.OBJECT and x not in above) for x in values)
        return False if others else None

    def _reading(
        self, reader: ModuleSummary, summary: ModuleSummary, index: int, name: str
    ) -> set[int]:
        """Return the rows of a module's calls that read a property of an object that is known."""
        scope = summary.scopes[index]
        own = v.ScopeValue(v.CLASS, summary.filename, scope.parent)
        found: set[int] = set()
        for call in reader.calls:
            expression = call.expression.callee if call.node == "call" else call.expression
            arguments = call.expression.positional if call.node == "call" else ()
            for written in (expression, *arguments):
                while written is not None and written.tag == tags.ATTRIBUTE:
                    if written.name == name and any(
                        value.kind == v.OBJECT
                        and own in self.inference.classes.ancestry(value.path, value.scope)
                        for value in self.inference.infer(
                            written.base, Place(reader.filename, call.scope, call.path)
                        )
                    ):
                        found.update(range(call.row, call.end_row + 1))
                    written = written.base
        return found

    def _by_composed_name(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls that take a function by a name such as ``f"on_{event}"``."""
        return [
            Caller(path, call.scope, call.path, call.row, is_certain=True)
            for path, call in islice(self._composed.takers(summary, index), _MOST_CALLERS)
        ]

    def _by_computed_name(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of a method whose name is computed: ``getattr(self, name)(order)``."""
        owners = self._owners(summary, index)
        return self._callers_in(self._looked_up.calls(summary, index, owners))

    def given_by_name(
        self, summary: ModuleSummary, index: int
    ) -> Iterator[tuple[Call, Place, int, Expr]]:
        """Yield the calls that take a method by a computed name: ``spawn(getattr(self, name))``.

        Yields:
            A call, its place, and the position and the expression of the argument.
        """
        if summary.scopes[summary.scopes[index].parent].kind == "class":
            yield from self._looked_up.given(summary, index, self._owners(summary, index))

    def _owners(self, summary: ModuleSummary, index: int) -> list[tuple[str, int]]:
        """Return the class of a method, and those through which the method may be called."""
        methods = self._methods(summary, index) if summary.scopes[index].parent else ()
        owners = (
            (path, self.modules.summary(path).scopes[method].parent)
            for _, path, method in sorted(methods)
        )
        return list(dict.fromkeys(owners))

    def _through_base(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return such calls of an object that is only known to be of a base of the class."""
        return self._callers_in(self._looked_up.through_bases(summary, index))

    def _through_inherited(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of inherited methods of a package that may run a method.

        ``session.get(url)`` runs ``request()``, which a subclass of the package's class overrides.
        """
        scope = summary.scopes[index]
        if not self._overrides(summary, index):
            return []
        owners = {(path, inner) for _, path, inner in self._classes(summary, index)}
        files = self.keeping.naming_objects(summary, scope.parent)
        names = {self.modules.summary(path).scopes[inner].name for path, inner in owners}
        for name in sorted(names):
            names.update(*(self.keeping.holders(file, name, everywhere=True) for file in files))
        found: list[Caller] = []
        for path in files:
            for call in self.modules.summary(path).calls:
                callee = call.expression.callee if call.node == "call" else None
                if callee is None or callee.tag != tags.ATTRIBUTE:
                    continue
                if last_name(without_arguments(callee.base)) not in names:
                    continue
                place = Place(path, call.scope, call.path)
                if any(
                    one.kind == v.OBJECT and (one.path, one.scope) in owners
                    for one in self.inference.infer(callee.base, place)
                ) and any(x.kind == v.EXTERNAL for x in self.inference.infer(callee, place)):
                    found.append(Caller(path, call.scope, call.path, call.row, is_certain=False))
        return found[:_MOST_CALLERS]

    def _overrides(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a method overrides one of a package: it calls that one, or is listed."""
        scope = summary.scopes[index]
        bases = [
            base.symbol
            for base in self.inference.classes.ancestry(summary.filename, scope.parent)
            if base.kind == v.EXTERNAL
        ]
        if not bases:
            return False
        by_name = self.inference.calling.calls_by_name(summary.filename)
        return any(
            summary.is_within(call.scope, index)
            and (base := owner_of(call.expression.callee)) is not None
            and base.tag == tags.CALL
            and last_name(base.callee) == "super"
            for call in by_name.get(scope.name, ())
        ) or any(
            self.inference.is_known(f"{one}.{scope.name}")
            for base in bases
            for one in self.inference.catalog.lineage(base)
        )

    def _callers_in(self, calls: Iterator[tuple[str, Call, bool]]) -> list[Caller]:
        return [
            Caller(path, call.scope, call.path, call.row, is_certain)
            for path, call, is_certain in islice(calls, _MOST_CALLERS)
        ]

    def _dispatching(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the generic function that a function is an implementation of.

        ``@process.register(Order)``, where ``process`` is a `functools.singledispatch` function.
        What runs the generic function runs the implementation, a call as well as ``map(process)``.
        """
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        found: list[Caller] = []
        for decorator in scope.decorators:
            callee = without_arguments(decorator)
            if callee is None or callee.tag != tags.ATTRIBUTE or callee.name != "register":
                continue
            for value in map(unwrapped, self.inference.infer(callee.base, place)):
                if value.kind == v.FUNCTION and (value.path, value.scope) != (place.path, index):
                    generic = self.modules.summary(value.path).scopes[value.scope]
                    names = {last_name(without_arguments(one)) for one in generic.decorators}
                    if names & _GENERIC:
                        row = generic.rows[0]
                        found.append(Caller(value.path, value.scope, (), row, is_certain=True))
        return found

    def _decorated(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the functions that are wrapped by a function inside a decorator.

        The wrapper runs where these are called.
        """
        scope = summary.scopes[index]
        outer = scope.parent
        if outer == 0:
            return []
        while summary.scopes[summary.scopes[outer].parent].kind == "function":
            outer = summary.scopes[outer].parent
        decorator = summary.scopes[outer]
        if decorator.kind != "function":
            return []
        found = []
        names = [decorator.name, *self._names_of_results(summary.filename, outer)]
        files = [
            (path, name)
            for name in names
            for path in self._naming(summary.filename, name)[: MOST_FILES + 1]
        ]
        for path, name in files:
            other = self.modules.summary(path)
            for number, one in enumerate(other.scopes):
                place = Place(path, one.parent, one.path)
                for written, decorated in _decorators(other, number):
                    callee = without_arguments(written)
                    if last_name(callee) != name:
                        continue
                    values = map(unwrapped, self.inference.infer(callee, place))
                    if any(
                        value.kind == v.FUNCTION
                        and value.path == summary.filename
                        and summary.is_within(value.scope, outer)
                        for value in values
                    ):
                        found += [
                            Caller(path, inner, (), one.rows[0], is_certain=True)
                            for inner in decorated
                        ]
        return found[:_MOST_CALLERS]

    def _by_result(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of a function by the names that hold what its outer function returns.

        ``fetch = retrying(get)``, and elsewhere ``fetch(url)``.
        """
        scope = summary.scopes[index]
        outer = summary.scopes[scope.parent]
        returned = (last_name(one.value) for one in outer.returns)
        if outer.kind != "function" or scope.name not in returned:
            return []
        targets: set[_Target] = {(v.FUNCTION, summary.filename, index)}
        found = [
            one
            for name in self._names_of_results(summary.filename, scope.parent)
            for one in self._calls(summary, index, targets, name)
            if one.is_certain
        ]
        return found[:_MOST_CALLERS]

    def _by_getter(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of a function that another function has returned by its name.

        ``def choose(kind): return place``, and elsewhere ``choose(kind)()``.
        """
        found: list[Caller] = []
        calling, seen = self.inference.calling, set[str]()
        for path in self._naming(summary.filename, summary.scopes[index].name)[: MOST_FILES + 1]:
            names = calling.names_in(path, summary, index)
            scopes, known = self.modules.summary(path).scopes, calling.getters(path)
            getters = {scopes[one].name for name in names for one in known.get(name, ())}
            getters |= names - {summary.scopes[index].name, ""}  # ``later = weakref.ref(place)``
            for getter in sorted(getters - seen):
                seen.add(getter)
                for other in self._naming(path, getter)[: MOST_FILES + 1]:
                    for call in calling.calls_of_results(other).get(getter, ()):
                        place = Place(other, call.scope, call.path)
                        values = self.inference.infer(call.expression.callee, place)
                        if v.includes(values, v.FUNCTION, summary.filename, index):
                            found.append(Caller(other, call.scope, call.path, call.row, True, True))
        return found[:_MOST_CALLERS]

    def _by_text(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of what a function loads by a text: ``import_string("shop.place")()``.

        A function of the project may load it: ``def load(path): return import_string(path)``.
        """
        name, modules = summary.scopes[index].name, self.modules
        texts = [f"{start}{name}{quote}".encode() for start in ".:" for quote in "\"'"]
        if not self._loading or not any(
            text in modules.data(path)
            for path in modules.mentioning(name, whole=True)
            for text in texts
        ):
            return []
        found: list[Caller] = []
        for verb in self._loading:
            for path in modules.mentioning(verb, whole=True):
                for call in self.inference.calling.calls_of_results(path).get(verb, ()):
                    place = Place(path, call.scope, call.path)
                    values = self.inference.infer(call.expression.callee, place)
                    if v.includes(values, v.FUNCTION, summary.filename, index):
                        found += [
                            Caller(where.path, one.scope, one.path, one.row, True, True)
                            for one, where in self._giving_text(call, place, name)
                        ]
        return found[:_MOST_CALLERS]

    def _giving_text(self, call: Call, place: Place, name: str) -> Iterator[tuple[Call, Place]]:
        """Yield the calls that say which function is loaded and run, if it has a name.

        Where a parameter says it, ``def make(path): return import_string(path)()``, these are the
        calls that pass the text.
        """
        callee = call.expression.callee
        made: list[Expr] = [callee]
        if callee is not None and callee.tag == tags.NAME:
            found = self.inference.scope_of(callee.identifier, place)
            bound = found[0].scopes[found[1]].bindings[callee.identifier] if found else ()
            made = [one.value for one in bound if one.kind == kinds.ASSIGNED]
        for loaded in made:
            given = loaded.positional[:1] if loaded is not None and loaded.tag == tags.CALL else ()
            for text in given:
                if not self._may_spell(text, place, name):
                    continue
                if not self._is_parameter(text, place):
                    yield call, place
                    continue
                index = self.modules.summary(place.path).function_around(place.scope)
                for one, where in self.inference.calling.callers(place.path, index):
                    if any(self._may_spell(x, where, name) for x in one.expression.positional):
                        yield one, where

    def _may_spell(self, text: Expr, place: Place, name: str) -> bool:
        """Return whether a text that is known ends with a name, after a dot or a colon."""
        values = (x.value for x in self.inference.infer(text, place) if x.kind == v.LITERAL)
        return any(
            isinstance(one, str) and one.replace(":", ".").rpartition(".")[2] == name
            for one in values
        )

    def _is_parameter(self, expression: Expr, place: Place) -> bool:
        """Return whether an expression is a parameter of the function around it."""
        if expression is None or expression.tag != tags.NAME:
            return False
        found = self.inference.scope_of(expression.identifier, place)
        bound = found[0].scopes[found[1]].bindings[expression.identifier] if found else ()
        return any(one.kind == kinds.PARAMETER for one in bound)

    @cached_property
    def _loading(self) -> list[str]:
        """The names of the functions that return what a text names, and of their callers."""
        known = self.inference.catalog.loaders
        packages = self.modules.mentioned(frozenset(one.partition(".")[0] for one in known))
        used = (one for one in known if one.partition(".")[0] in packages)
        loaders = self.modules.mentioned(frozenset(one.rpartition(".")[2] for one in used))
        around = {
            scope.name
            for name in loaders
            for path in self.modules.mentioning(name, whole=True)
            for scope in self.modules.summary(path).scopes
            for one in scope.returns
            if last_name(without_arguments(one.value)) == name
        }
        return sorted(loaders | around)

    def _by_default(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of the parameters whose default a function is: ``def run(f=place)``."""
        name, calling = summary.scopes[index].name, self.inference.calling
        found: list[Caller] = []
        for path in self._naming(summary.filename, name)[: MOST_FILES + 1]:
            other = self.modules.summary(path)
            for scope, parameter in calling.defaults(path).get(name, ()):
                for call in calling.calls_by_name(path).get(parameter, ()):
                    place = Place(path, call.scope, call.path)
                    if other.is_within(call.scope, scope) and v.includes(
                        self.inference.infer(call.expression.callee, place),
                        v.FUNCTION,
                        summary.filename,
                        index,
                    ):
                        found.append(Caller(path, call.scope, call.path, call.row, True, True))
        return found[:_MOST_CALLERS]

    def _by_field(self, summary: ModuleSummary, index: int) -> list[Caller]:
        """Return the calls of a function as an attribute of an object that is made with it.

        ``Command("pay", place)`` of ``namedtuple("Command", "name run")``, and elsewhere
        ``command.run()``.
        """
        names: set[str] = set()
        for call, place, position in self.inference.calling.handovers(summary.filename, index):
            given = call.expression
            values = self.inference.infer(given.callee, place)
            records = map(v.record_of, values)
            fields = [one.names for one in records if one is not None]
            is_space = any(x.kind == v.EXTERNAL and x.symbol in _NAMESPACES for x in values)
            if position is not None:
                names.update(one[position] for one in fields if position < len(one))
            for name, argument in given.keywords if fields or is_space else ():
                if name and v.includes(
                    self.inference.infer(argument, place), v.FUNCTION, summary.filename, index
                ):
                    names.add(name)
        targets: set[_Target] = {(v.FUNCTION, summary.filename, index)}
        found = [
            one for name in sorted(names) for one in self._calls(summary, index, targets, name)
        ]
        return [one for one in found if one.is_certain][:_MOST_CALLERS]

    def _names_of_results(self, path: str, index: int) -> list[str]:
        """Return the names that hold what a function returns: those that its calls are assigned to.

        The function's own are not among them.
        """
        found = self._results.get((path, index))
        if found is None:
            names: set[str] = set()
            for call, place in self.inference.calling.callers(path, index):
                for scope in self.modules.summary(place.path).scopes:
                    names.update(
                        name
                        for name, bindings in scope.bound()
                        if name != kinds.ANY_NAME
                        and any(
                            one.kind == kinds.ASSIGNED and one.value == call.expression
                            for one in bindings
                        )
                    )
            names.discard(self.modules.summary(path).scopes[index].name)
            found = self._results[path, index] = sorted(names)[:MOST_FILES]
        return found


def _decorators(summary: ModuleSummary, index: int) -> Iterator[tuple[Expr, list[int]]]:
    """Yield what decorates a function or class, with the functions that it decorates.

    ``@method_decorator(audited)`` gives a decorator to another one, of a class for its methods.
    """
    scope = summary.scopes[index]
    methods = [
        number
        for number, one in enumerate(summary.scopes)
        if one.parent == index and one.kind == "function" and one.name[:1] != "_"
    ]
    for written in scope.decorators:
        yield written, [index]
        if written is not None and written.tag == tags.CALL:
            for one in written.positional:
                yield one, methods if scope.kind == "class" else [index]


def _plain(value: Value) -> _Target | None:
    """Return a function or class without its receiver, None for any other value."""
    inner = unwrapped(value)
    if inner.kind in (v.FUNCTION, v.CLASS):
        return inner.kind, inner.path, inner.scope
    return None


def _used_by(call: AnyCall, node: str | None) -> Iterator[Expr]:
    """Yield the objects that a call or a statement uses by a special method.

    Args:
        call: The call, or the statement that makes one.
        node: The statement that is meant; None for a call of the object itself.
    """
    if call.node == "call":
        if node is None:
            yield call.expression.callee
        elif last_name(call.expression.callee) in _USING:
            yield from call.expression.positional
    elif call.node == node:
        yield call.expression
