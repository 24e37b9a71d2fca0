"""What can this expression be? Answered on demand, over all modules of the project.

Inference starts from one expression and follows declarations: names to what binds them, attributes
to what sets them, parameters to the calls that fill them, calls to what is returned. It is told
what compiled packages give by the catalog. What it cannot tell is the empty set; it never guesses
by a name alone.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from gblock.catalog import Blocker, Catalog, Condition
from gblock.project import summary as tags
from gblock.project import values as v
from gblock.project.modules import Modules
from gblock.project.reaching import END, reaching
from gblock.project.summary import Binding, Call, Expr, ModuleSummary, Path, Scope
from gblock.project.values import NOTHING, Value, Values

_DEPTH = 40
"""How many declarations in a row are followed."""
_WIDTH = 12
"""How many values an expression may have before gblock gives up on it: a wide set is a guess."""
_NEVER = 1 << 30
_FEW = 12
"""In more files than this a name is common: then only those near its definition are read."""
_ALIASES = 5
"""Over how many imports a type's other name is followed."""
_MANY = 30
"""In more files than this a function is called with anything: only its own file is asked."""
ALLOWANCE = 60
"""How many files are read in search of callers, for each file that is inspected."""
_CALLERS = 60
"""How many calls of one function are asked for what they pass."""

_BUILTINS = frozenset(dir(builtins))
_TRANSPARENT_CONTAINERS = {"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"}
_PASS_THROUGH = {
    "contextlib.closing",
    "contextlib.nullcontext",
    "contextlib.aclosing",
    "copy.copy",
    "copy.deepcopy",
    "weakref.proxy",
}
_MANAGERS = {"contextlib.contextmanager", "contextlib.asynccontextmanager"}
_PROPERTIES = {
    "builtins.property",
    "functools.cached_property",
    "django.utils.functional.cached_property",
    "werkzeug.utils.cached_property",
    "kombu.utils.cached_property",
    "kombu.utils.objects.cached_property",
}
_UNWRAPPED = {"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired"}
_HOLDERS = {
    "list",
    "List",
    "set",
    "Set",
    "frozenset",
    "FrozenSet",
    "deque",
    "Deque",
    "Sequence",
    "MutableSequence",
    "Iterable",
    "Iterator",
    "Collection",
    "Generator",
    "AsyncIterator",
    "AsyncGenerator",
    "Queue",
    "SimpleQueue",
    "LifoQueue",
}
_KEYED = {
    "dict",
    "Dict",
    "Mapping",
    "MutableMapping",
    "DefaultDict",
    "defaultdict",
    "OrderedDict",
    "WeakValueDictionary",
}
_ENTERED = {"ContextManager", "AbstractContextManager", "AsyncContextManager"}
_KEYED_TAKERS = {"get", "pop", "setdefault", "__getitem__"}
_MAPPED = {"map", "imap", "imap_unordered", "map_async", "starmap"}
"""Methods that call a function with each element of what they are given."""
_TAKERS = {
    "get",
    "pop",
    "popleft",
    "popitem",
    "get_nowait",
    "setdefault",
    "values",
    "items",
    "copy",
    "__getitem__",
}


class Place(NamedTuple):
    """Where an expression stands: what its names mean depends on it."""

    path: str
    scope: int
    at: Path


class Inference:
    """Answers about one project; remembers what it found out."""

    def __init__(self, modules: Modules, catalog: Catalog) -> None:
        self.modules = modules
        self.catalog = catalog
        self.allowance = ALLOWANCE
        """How many files may still be read in search of callers."""
        self._known: dict[Hashable, Values] = {}
        self._assumed: dict[Hashable, tuple[Values, int]] = {}
        self._active: dict[Hashable, int] = {}
        self._open_since = _NEVER
        self._calls: dict[str, dict[str, list[Call]]] = {}
        self._attributes: dict[tuple[str, int], dict[str, list[Binding]]] = {}
        self._set_on_others: dict[str, dict[str, list[tuple[str, list[Binding]]]]] = {}
        self._aliases: dict[str, dict[str | int, set[str]]] = {}
        self._kept: list[Expr] = []
        self._named: dict[tuple[str, bool], list[str]] = {}
        self._arguments: dict[str, dict[str, list[tuple[Call, int | None, Expr]]]] = {}
        self._callers: dict[tuple[str, int], list[tuple[Call, Place]]] = {}

    # -- expressions

    def infer(self, expression: Expr, place: Place) -> Values:
        """What an expression can be."""
        if expression is None:
            return NOTHING
        return self._solved(
            (place.path, place.scope, id(expression)), lambda: self._expression(expression, place)
        )

    def _solved(self, key: Hashable, solve: Callable[[], Values]) -> Values:
        """What `solve` gives, remembered; a question that leads back to itself adds nothing.

        What was found while such a question was open may lack something. It holds until the
        question is answered, and is then forgotten.
        """
        found = self._known.get(key)
        if found is not None:
            return found
        assumed = self._assumed.get(key)
        if assumed is not None:
            self._open_since = min(self._open_since, assumed[1])
            return assumed[0]
        if key in self._active:
            self._open_since = min(self._open_since, self._active[key])
            return NOTHING
        depth = len(self._active)
        if depth > _DEPTH:
            self._open_since = 0
            return NOTHING
        outer, self._open_since = self._open_since, _NEVER
        self._active[key] = depth
        try:
            found = solve()
        finally:
            del self._active[key]
        if len(found) > _WIDTH:
            found = NOTHING
        if self._open_since >= depth:
            self._known[key] = found
            if self._open_since != _NEVER:
                for other in [k for k, (_, since) in self._assumed.items() if since >= depth]:
                    del self._assumed[other]
            self._open_since = outer
        else:
            self._assumed[key] = (found, self._open_since)
            self._open_since = min(outer, self._open_since)
        return found

    def _expression(self, expression: Expr, place: Place) -> Values:
        tag = expression[0]
        if tag == tags.NAME:
            return self.name(expression[1], place)
        if tag == tags.ATTRIBUTE:
            return self._attribute_expression(expression, place)
        if tag == tags.CALL:
            return self._call_expression(expression, place)
        if tag == tags.CONSTANT:
            return frozenset([v.literal(expression[1])])
        if tag == tags.TUPLE:
            return frozenset([(v.TUPLE, tuple(self.infer(e, place) for e in expression[1]))])
        if tag == tags.SEQUENCE:
            return self._holding(self._all(expression[1], place))
        if tag == tags.MAPPING:
            return frozenset([self._mapping(expression[1], place)])
        if tag == tags.SUBSCRIPT:
            return self._subscript(expression, place)
        if tag == tags.EITHER:
            return self._all(expression[1], place)
        if tag == tags.BIT_OR:
            return self._combined(expression, place)
        if tag == tags.AWAIT:
            return self.infer(expression[1], place)
        if tag == tags.LAMBDA:
            return frozenset([(v.FUNCTION, place.path, expression[1], None)])
        if tag == tags.COMPREHENSION:
            elements = self.infer(expression[2], place._replace(scope=expression[1]))
            is_mapping = expression[3]
            return frozenset([(v.MAPPING, (), elements)]) if is_mapping else self._holding(elements)
        if tag == tags.NEGATED:
            return frozenset(
                v.literal(-value[2])
                for value in self.infer(expression[1], place)
                if value[0] == v.LITERAL and isinstance(value[2], (int, float))
            )
        if tag == tags.STAR:
            return self.infer(expression[1], place)
        return NOTHING

    def _all(self, expressions: Iterable[Expr], place: Place) -> Values:
        found: set[Value] = set()
        for expression in expressions:
            if expression is not None and expression[0] == tags.STAR:
                found |= self.elements(self.infer(expression[1], place))
            else:
                found |= self.infer(expression, place)
        return frozenset(found)

    def _mapping(self, items: tuple[tuple[Expr, Expr], ...], place: Place) -> Value:
        """A dict display, or what several stores make of a dict."""
        known: dict[Hashable, Values] = {}
        others: set[Value] = set()
        for key, value in items:
            if value is not None and value[0] == tags.STAR:
                for merged in self.infer(value[1], place):
                    if merged[0] == v.MAPPING:
                        known.update(merged[1])
                        others |= merged[2]
                    elif merged[0] == v.ELEMENTS:
                        others |= merged[1]
            elif key is not None and key[0] == tags.CONSTANT:
                known[key[1]] = self.infer(value, place)
            else:
                others |= self.infer(value, place)
        return (v.MAPPING, tuple(known.items()), frozenset(others))

    def _combined(self, expression: Expr, place: Place) -> Values:
        """``left | right``: flags, else anything that either side can be."""
        left, right = self.infer(expression[1], place), self.infer(expression[2], place)
        if not left | right or any(
            value[0] not in (v.EXTERNAL, v.LITERAL, v.COMBINED) for value in left | right
        ):
            return left | right
        return frozenset(
            (v.COMBINED, _flags(one) | _flags(other))
            for one in left or [v.literal(0)]
            for other in right or [v.literal(0)]
        )

    def _holding(self, elements: Values) -> Values:
        return frozenset([(v.ELEMENTS, elements)])

    def _attribute_expression(self, expression: Expr, place: Place) -> Values:
        _, base, name = expression
        found = set(self._set_on_name(base, name, place))
        for value in self.infer(base, place):
            found |= self.attribute(value, name)
        return frozenset(found)

    def _set_on_name(self, base: Expr, name: str, place: Place) -> Values:
        """What the same module sets on an object that has a name: ``app.db = connect()``."""
        owner = dotted(base)
        summary = self.modules.summary(place.path)
        if owner is None or summary is None:
            return NOTHING
        found: set[Value] = set()
        scope = place.scope
        while scope >= 0:
            for binding in summary.scopes[scope].attributes.get((owner, name), ()):
                found |= self.bound(binding, name, place.path)
            if owner.partition(".")[0] in summary.scopes[scope].bindings:
                if scope == 0:
                    found |= self._set_in_functions(summary, owner, name, place)
                return frozenset(found)
            scope = summary.scopes[scope].parent
        return frozenset(found)

    def _set_in_functions(
        self, summary: ModuleSummary, owner: str, name: str, place: Place
    ) -> Values:
        """What functions set on an object of the module, such as a ``threading.local()``."""
        found: set[Value] = set()
        first = owner.partition(".")[0]
        for index, scope in enumerate(summary.scopes):
            if index and first not in scope.bindings:
                for binding in scope.attributes.get((owner, name), ()):
                    found |= self.bound(binding, name, place.path)
        return frozenset(found)

    def _subscript(self, expression: Expr, place: Place) -> Values:
        _, base, index = expression
        constant = _constant(index)
        found: set[Value] = set()
        for value in self.infer(base, place):
            if value[0] == v.TUPLE and isinstance(constant, int):
                if -len(value[1]) <= constant < len(value[1]):
                    found |= value[1][constant]
            elif value[0] == v.MAPPING:
                found |= self._under(value, index)
            elif value[0] == v.TUPLE or value[0] == v.ELEMENTS:
                found |= self.elements(frozenset([value]))
            elif value[0] == v.EXTERNAL:
                found.add(value)  # a generic class, such as Queue[int]
            elif value[0] == v.OBJECT:
                found |= self._method_result(value, "__getitem__")
            elif value[0] == v.INSTANCE:
                found |= self._external_elements(value[1])
        return frozenset(found)

    def _under(self, mapping: Value, key: Expr) -> Values:
        """What a dict holds under a key."""
        if key is None or key[0] != tags.CONSTANT:
            return v.contents(mapping)
        known: dict[Hashable, Values] = dict(mapping[1])
        others: Values = mapping[2]
        return known.get(key[1], others)

    # -- names

    def name(self, name: str, place: Place) -> Values:
        """What a name can be where it stands."""
        summary = self.modules.summary(place.path)
        if summary is None:
            return NOTHING
        scope, innermost = place.scope, True
        while scope >= 0:
            entry = summary.scopes[scope]
            if name in entry.bindings and (innermost or entry.kind != "class"):
                use = place.at if innermost else END
                found = self._binding_values(summary, scope, name, use)
                if found is not None:
                    return found
            innermost = innermost and entry.kind == "comprehension"
            scope = entry.parent
        found = self._star_imported(summary, name)
        if not found and name in _BUILTINS:
            return frozenset([(v.EXTERNAL, f"builtins.{name}")])
        return found

    def _binding_values(
        self, summary: ModuleSummary, scope: int, name: str, use: Path
    ) -> Values | None:
        """The values of a name's bindings in one scope; None where nothing binds it there."""
        bindings = reaching(summary, scope, name, use)
        stored = [b for b in summary.scopes[scope].bindings[name] if b.kind == tags.ELEMENT]
        if not bindings and not stored:
            return None
        if any(not b.fallback for b in bindings):
            bindings = [b for b in bindings if not b.fallback or b.kind != tags.IMPORTED]
        found: set[Value] = set()
        for binding in bindings:
            found |= self.bound(binding, name, summary.filename)
        return frozenset(found) | self._stored(stored, name, summary.filename)

    def _stored(self, bindings: list[Binding], name: str, path: str) -> Values:
        """The containers that hold what is stored under a name."""
        held: set[Value] = set()
        by_key: dict[str, Values] = {}
        for binding in bindings:
            values, key = self.bound(binding, name, path), binding.detail
            if key is not None and key[0] == tags.CONSTANT and isinstance(key[1], str):
                by_key[key[1]] = by_key.get(key[1], NOTHING) | values
            else:
                held |= values
        found: set[Value] = set()
        if held:
            found.add((v.ELEMENTS, frozenset(held)))
        if any(by_key.values()):
            found.add((v.MAPPING, tuple(by_key.items()), NOTHING))
        return frozenset(found)

    def _star_imported(self, summary: ModuleSummary, name: str) -> Values:
        for binding in summary.scopes[0].bindings.get("*", ()):
            module, _, level = binding.value
            path = self.modules.resolve(module, level, summary.filename)
            if path is not None:
                if path != summary.filename and self._exports(path, name):
                    found = self._once(("star", path, name), path, name)
                    if found:
                        return found
            elif not level:
                symbol = self.catalog.canonical(f"{module}.{name}")
                if self._is_catalogued(symbol):
                    return frozenset([(v.EXTERNAL, symbol)])
        return NOTHING

    def _exports(self, path: str, name: str) -> bool:
        """Whether ``from module import *`` gives a name."""
        summary = self.modules.summary(path) if self.modules.is_module(path) else None
        if summary is None:
            return False
        declared = summary.scopes[0].bindings.get("__all__", ())
        if not declared:
            return not name.startswith("_")
        # What is put together step by step is taken to hold every name.
        return summary.exports is None or len(declared) > 1 or name in summary.exports

    def _once(self, key: Hashable, path: str, name: str) -> Values:
        """A module's name, unless that is what is being asked already."""
        return self._solved(key, lambda: self.module_name(path, name))

    def _is_catalogued(self, symbol: str) -> bool:
        catalog = self.catalog
        return (
            symbol in catalog.by_symbol or symbol in catalog.returns or symbol in catalog.classes
        )

    def module_name(self, path: str, name: str) -> Values:
        """What a module's attribute can be, seen from outside."""
        summary = self.modules.summary(path)
        if summary is None:
            return NOTHING
        found: Values | None = None
        if name in summary.scopes[0].bindings:
            found = self._binding_values(summary, 0, name, END)
        if not found:
            found = self._star_imported(summary, name)
        if not found and path.endswith("__init__.py"):
            return self._submodule(path[: -len("/__init__.py")], name)
        return found or NOTHING

    def _submodule(self, directory: str, name: str) -> Values:
        path = self.modules.inside(directory, name)
        return self._module(path) if path is not None else NOTHING

    def _module(self, path: str) -> Values:
        kind = v.MODULE if self.modules.is_module(path) else v.PACKAGE
        return frozenset([(kind, path)])

    def bound(self, binding: Binding, name: str, path: str) -> Values:
        """What one binding gives its name."""
        place = Place(path, binding.scope, binding.path)
        kind, value = binding.kind, binding.value
        if kind in (tags.ASSIGNED, tags.ELEMENT):
            return self.infer(value, place)
        if kind == tags.UNPACKED:
            return self._unpacked(self.infer(value, place), binding.detail)
        if kind == tags.LOOPED:
            return self._unpacked(self.elements(self.infer(value, place)), binding.detail)
        if kind == tags.ENTERED:
            return self._unpacked(self.entered(self.infer(value, place)), binding.detail)
        if kind == tags.IMPORTED:
            module, imported, level = value
            return self.imported(module, imported, level, path)
        if kind == tags.DEFINED:
            return self._defined(path, value)
        if kind == tags.ANNOTATED:
            return self.annotated(value, place)
        if kind == tags.PARAMETER:
            return self.parameter(path, binding.scope, binding.detail)
        return NOTHING

    def _unpacked(self, values: Values, indexes: tuple[int, ...] | None) -> Values:
        for index in indexes or ():
            found: set[Value] = set()
            for value in values:
                if value[0] == v.TUPLE:
                    if index < len(value[1]):
                        found |= value[1][index]
                else:
                    found |= self.elements(frozenset([value]))
            values = frozenset(found)
        return values

    def imported(self, module: str, name: str | None, level: int, importer: str) -> Values:
        """What an import binds: ``import module``, or ``from module import name``."""
        path = self.modules.resolve(module, level, importer)
        if path is None:
            if level:
                return NOTHING
            symbol = self.catalog.canonical(f"{module}.{name}" if name else module)
            held = self.catalog.attributes.get(symbol)
            if held:
                return frozenset([(v.INSTANCE, held)])
            return frozenset([(v.EXTERNAL, symbol)])
        if name is None:
            return self._module(path)
        if not self.modules.is_module(path):
            return self._submodule(path, name)
        if path == importer:  # ``from . import name`` in the package's own __init__
            directory = path[: -len("/__init__.py")] if path.endswith("__init__.py") else ""
            return self._submodule(directory, name) if directory else NOTHING
        found = self._once(("name", path, name), path, name)
        if not found and path.endswith("__init__.py"):
            found = self._submodule(path[: -len("/__init__.py")], name)
        return found

    def _defined(self, path: str, scope: int) -> Values:
        summary = self.modules.summary(path)
        if summary is None:
            return NOTHING
        kind = v.CLASS if summary.scopes[scope].kind == "class" else v.FUNCTION
        if kind == v.CLASS:
            return frozenset([(v.CLASS, path, scope)])
        return frozenset([(v.FUNCTION, path, scope, None)])

    # -- attributes

    def attribute(self, value: Value, name: str) -> Values:
        """What a value's attribute can be."""
        kind = value[0]
        if kind == v.EXTERNAL or kind == v.INSTANCE:
            return self._external_attribute(value, name)
        if kind == v.MODULE:
            return self._once(("name", value[1], name), value[1], name)
        if kind == v.PACKAGE:
            return self._submodule(value[1], name)
        if kind in (v.OBJECT, v.CLASS):
            return self._class_attribute(value, name)
        if kind == v.PARENT:
            return self._inherited(value[1], value[2], name, (v.OBJECT, value[1], value[2]))
        if kind in (v.ELEMENTS, v.MAPPING) and name in _TAKERS:
            return frozenset([(v.TAKER, value, name)])
        return NOTHING

    def _external_attribute(self, value: Value, name: str) -> Values:
        owner = value[1]
        for base in self.catalog.lineage(owner):
            held = self.catalog.attributes.get(f"{base}.{name}")
            if held is not None:
                return frozenset([(v.INSTANCE, held)])
        return frozenset([(v.EXTERNAL, self.catalog.canonical(f"{owner}.{name}"))])

    def _class_attribute(self, value: Value, name: str) -> Values:
        return self._solved(
            ("attribute", value, name), lambda: self._find_class_attribute(value, name)
        )

    def _find_class_attribute(self, value: Value, name: str) -> Values:
        found = self._own_attribute(value, name)
        if not v.informative(found):
            found |= self._inherited(value[1], value[2], name, value)
        if not v.informative(found) and value[0] == v.OBJECT:
            found |= self._field(value[1], value[2], name)
        if not v.informative(found):
            found |= self._set_in_subclasses(value, name)
        return found

    def _own_attribute(self, value: Value, name: str) -> Values:
        _, path, index = value
        summary = self.modules.summary(path)
        if summary is None:
            return NOTHING
        found: set[Value] = set()
        if name in summary.scopes[index].bindings:
            for one in self._binding_values(summary, index, name, END) or ():
                if one[0] == v.FUNCTION and one[1] == path:
                    found |= self._bound_method(one, value)
                else:
                    found.add(one)
        bindings = self._attribute_bindings(summary, index).get(name, [])
        bindings = [*bindings, *self._set_from_outside(summary, index, name)]
        for binding in bindings:
            if binding.kind != tags.ELEMENT:
                found |= self.bound(binding, name, path)
        stored = [b for b in bindings if b.kind == tags.ELEMENT]
        return frozenset(found) | self._stored(stored, name, path)

    def _set_from_outside(
        self, summary: ModuleSummary, class_index: int, name: str
    ) -> list[Binding]:
        """What the module sets on objects of a class that are not ``self``."""
        path = summary.filename
        by_name = self._set_on_others.get(path)
        if by_name is None:
            by_name = self._set_on_others[path] = {}
            for index, scope in enumerate(summary.scopes):
                receiver = self._receiver(summary, index)
                for (owner, attribute), bindings in scope.attributes.items():
                    if owner != receiver and "." not in owner:
                        by_name.setdefault(attribute, []).append((owner, bindings))
        found: list[Binding] = []
        for owner, bindings in by_name.get(name, ()):
            place = Place(path, bindings[0].scope, bindings[0].path)
            for value in self.name(owner, place):
                if value[0] in (v.OBJECT, v.CLASS) and value[1:3] == (path, class_index):
                    found.extend(bindings)
                    break
        return found

    def _receiver(self, summary: ModuleSummary, index: int) -> str | None:
        """The name of ``self`` in a method of any class, or in a function inside one."""
        while index > 0:
            scope = summary.scopes[index]
            if scope.kind == "function" and summary.scopes[scope.parent].kind == "class":
                return scope.parameters[0][0] if scope.parameters else None
            index = scope.parent
        return None

    def _bound_method(self, function: Value, receiver: Value) -> Values:
        _, path, index, _ = function
        summary = self.modules.summary(path)
        if summary is None:
            return NOTHING
        decorators = self._decorators(summary, index)
        if decorators & _PROPERTIES or self._is_setter(summary.scopes[index]):
            return self.result(function)
        if "builtins.staticmethod" in decorators:
            return frozenset([function])
        return frozenset([(v.FUNCTION, path, index, receiver)])

    def _is_setter(self, scope: Scope) -> bool:
        return any(
            d is not None and d[0] == tags.ATTRIBUTE and d[2] in ("setter", "getter", "deleter")
            for d in scope.decorators
        )

    def _decorators(self, summary: ModuleSummary, index: int) -> set[str]:
        """The dotted names of a function's decorators that are not the project's."""
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        return {
            value[1]
            for decorator in scope.decorators
            for value in self.infer(decorator, place)
            if value[0] == v.EXTERNAL
        }

    def _attribute_bindings(
        self, summary: ModuleSummary, class_index: int
    ) -> dict[str, list[Binding]]:
        """What the methods of a class, and its module, set on the class and its instances."""
        key = (summary.filename, class_index)
        found = self._attributes.get(key)
        if found is not None:
            return found
        found = {}
        class_name = summary.scopes[class_index].name
        for index, scope in enumerate(summary.scopes):
            receiver = self._receiver_name(summary, index, class_index)
            for (owner, name), bindings in scope.attributes.items():
                if owner == receiver or (receiver is None and owner == class_name):
                    found.setdefault(name, []).extend(bindings)
        self._attributes[key] = found
        return found

    def _receiver_name(self, summary: ModuleSummary, index: int, class_index: int) -> str | None:
        """The name of ``self`` in a method of the class, or in a function inside one."""
        while index > 0:
            scope = summary.scopes[index]
            if scope.parent == class_index and scope.kind == "function":
                return scope.parameters[0][0] if scope.parameters else None
            index = scope.parent
        return None

    def bases(self, path: str, index: int) -> list[Value]:
        """A class's bases: classes of the project, and EXTERNAL ones."""
        summary = self.modules.summary(path)
        if summary is None:
            return []
        scope = summary.scopes[index]
        place = Place(path, scope.parent, scope.path)
        found: list[Value] = []
        for base in scope.bases:
            for value in self.infer(base, place):
                if value[0] in (v.CLASS, v.EXTERNAL) and value != (v.CLASS, path, index):
                    found.append(value)
        return found

    def ancestry(self, path: str, index: int) -> list[Value]:
        """A class and all its bases, nearest first, each once."""
        order: list[Value] = [(v.CLASS, path, index)]
        for value in order:
            if value[0] == v.CLASS:
                order.extend(b for b in self.bases(value[1], value[2]) if b not in order)
        return order

    def _inherited(self, path: str, index: int, name: str, receiver: Value) -> Values:
        found: set[Value] = set()
        for base in self.ancestry(path, index)[1:]:
            if base[0] == v.CLASS:
                got = self._own_attribute((receiver[0], base[1], base[2]), name)
                found |= {self._rebound(one, receiver) for one in got}
            else:
                held = self._external_attribute((v.INSTANCE, base[1]), name)
                found |= held
            if v.informative(frozenset(found)):
                break
        return frozenset(found)

    def _rebound(self, value: Value, receiver: Value) -> Value:
        if value[0] == v.FUNCTION and value[3] is not None:
            return (v.FUNCTION, value[1], value[2], receiver)
        return value

    def _field(self, path: str, index: int, name: str) -> Values:
        """What is passed for a field of a class whose ``__init__`` is generated."""
        summary = self.modules.summary(path)
        if summary is None or "__init__" in summary.scopes[index].bindings:
            return NOTHING
        fields = [
            field
            for field, bindings in summary.scopes[index].bindings.items()
            if any(b.kind == tags.ANNOTATED for b in bindings)
        ]
        if name not in fields:
            return NOTHING
        found: set[Value] = set()
        for call, place in self.callers(path, index):
            argument = passed(call.expression, fields.index(name), name)
            found |= self.infer(argument, place)
        return frozenset(found)

    def subclasses(self, path: str, index: int) -> list[Value]:
        """The classes of the project that name this class as a base."""
        summary = self.modules.summary(path)
        if summary is None:
            return []
        name = summary.scopes[index].name
        target = (v.CLASS, path, index)
        written = re.compile(rb"class[ \t]+\w+[ \t]*\([^:]*\b%s\b" % name.encode())
        derived = [
            other
            for other in self.modules.mentioning(name)
            if written.search(self.modules.data(other))
        ]
        found = []
        for other in self._affordable(derived if len(derived) <= _MANY else []):
            candidate = self.modules.summary(other)
            for number, scope in enumerate(candidate.scopes if candidate else ()):
                if scope.kind == "class" and scope.bases and target in self.bases(other, number):
                    found.append((v.CLASS, other, number))
        return found

    def _set_in_subclasses(self, value: Value, name: str) -> Values:
        """An attribute that only subclasses set: the base class is a template."""
        summary = self.modules.summary(value[1])
        if summary is None or name.startswith("__"):
            return NOTHING
        found: set[Value] = set()
        for _, path, index in self.subclasses(value[1], value[2]):
            found |= self._own_attribute((value[0], path, index), name)
        return frozenset(found)

    # -- calls

    def _call_expression(self, expression: Expr, place: Place) -> Values:
        _, callee, positional, keywords = expression
        if callee is not None and callee == (tags.NAME, "super"):
            return self._parent(place)
        found: set[Value] = set()
        for value in self.infer(callee, place):
            found |= self.called(value, expression, place)
        return frozenset(found)

    def _parent(self, place: Place) -> Values:
        summary = self.modules.summary(place.path)
        scope = place.scope
        while summary is not None and scope > 0:
            if summary.scopes[scope].kind == "class":
                return frozenset([(v.PARENT, place.path, scope)])
            scope = summary.scopes[scope].parent
        return NOTHING

    def called(self, value: Value, expression: Expr, place: Place) -> Values:
        """What calling a value gives."""
        kind = value[0]
        if kind == v.EXTERNAL:
            return self._external_result(value[1], expression, place)
        if kind == v.FUNCTION:
            return self._function_result(value, expression, place)
        if kind == v.CLASS:
            return frozenset([(v.OBJECT, value[1], value[2])])
        if kind == v.OBJECT:
            return self._method_result(value, "__call__")
        if kind == v.INSTANCE:
            return self._external_result(f"{value[1]}.__call__", expression, place)
        if kind == v.PARTIAL:
            return self.called(value[1], expression, place)
        if kind == v.TAKER:
            return self._taken(value[1], value[2], expression, place)
        return NOTHING

    def _taken(self, container: Value, name: str, expression: Expr, place: Place) -> Values:
        """What a container's method gives."""
        elements = v.contents(container)
        if name == "copy":
            return frozenset([container])
        if name == "values":
            return self._holding(elements)
        if container[0] == v.MAPPING and name in _KEYED_TAKERS and expression[2]:
            default = expression[2][1] if len(expression[2]) > 1 else None
            return self._under(container, expression[2][0]) | self.infer(default, place)
        if name == "items":
            return self._holding(frozenset([(v.TUPLE, (NOTHING, elements))]))
        if name == "popitem":
            return frozenset([(v.TUPLE, (NOTHING, elements))])
        return elements

    def _method_result(self, receiver: Value, name: str) -> Values:
        found: set[Value] = set()
        for value in self.attribute(receiver, name):
            if value[0] == v.FUNCTION:
                found |= self.result(value)
            elif value[0] == v.EXTERNAL:
                found |= self._returned(value[1])
        return frozenset(found)

    def _external_result(self, symbol: str, expression: Expr, place: Place) -> Values:
        special = self._known_callable(symbol, expression, place)
        if special is not None:
            return special
        conditions = self.catalog.conditions.get(symbol, ())
        if any(self.holds(condition, expression, place) for condition in conditions):
            return NOTHING  # what this call gives is not what the catalog knows
        return self._returned(symbol)

    def _returned(self, symbol: str) -> Values:
        owner, _, name = symbol.rpartition(".")
        for base in self.catalog.lineage(owner):
            given = self.catalog.returns.get(f"{base}.{name}")
            if given is not None:
                return frozenset([(v.INSTANCE, owner if given == "self" else given)])
        if symbol in self.catalog.classes or name[:1].isupper():
            return frozenset([(v.INSTANCE, symbol)])
        return NOTHING

    def _known_callable(self, symbol: str, expression: Expr, place: Place) -> Values | None:
        """The standard library's functions that hand on what they are given."""
        _, _, positional, keywords = expression
        first = positional[0] if positional else None
        if symbol.startswith("builtins."):
            return self._builtin(symbol[9:], positional, place)
        if symbol in _PASS_THROUGH or symbol == "asgiref.sync.async_to_sync":
            return self.infer(first, place)
        if symbol in ("functools.partial", "functools.partialmethod"):
            return frozenset((v.PARTIAL, value) for value in self.infer(first, place))
        if symbol == "typing.cast" and len(positional) > 1:
            return self.annotated(first, place) or self.infer(positional[1], place)
        if symbol == "importlib.import_module" and first and first[0] == tags.CONSTANT:
            if isinstance(first[1], str) and not first[1].startswith("."):
                return self.imported(first[1], None, 0, place.path)
        if symbol.endswith("ExitStack.enter_context"):
            return self.entered(self.infer(first, place))
        if symbol == "itertools.cycle" or symbol == "collections.deque":
            return self._holding(self.elements(self.infer(first, place)))
        if symbol == "itertools.chain":
            return self._holding(self.elements(self._all(positional, place)))
        return None

    def _builtin(self, name: str, positional: tuple[Expr, ...], place: Place) -> Values | None:
        first = positional[0] if positional else None
        if name in _TRANSPARENT_CONTAINERS:
            return self._holding(self.elements(self.infer(first, place)))
        if name == "next":
            return self.elements(self.infer(first, place))
        if name == "enumerate":
            elements = self.elements(self.infer(first, place))
            return self._holding(frozenset([(v.TUPLE, (NOTHING, elements))]))
        if name == "zip":
            parts = tuple(self.elements(self.infer(one, place)) for one in positional)
            return self._holding(frozenset([(v.TUPLE, parts)]))
        if name == "getattr" and len(positional) > 1:
            attribute = positional[1]
            if attribute is None or attribute[0] != tags.CONSTANT:
                return NOTHING
            found = self.infer(positional[2], place) if len(positional) > 2 else NOTHING
            for value in self.infer(first, place):
                found |= self.attribute(value, str(attribute[1]))
            return found
        if name == "__import__" and first and first[0] == tags.CONSTANT:
            return self.imported(str(first[1]).partition(".")[0], None, 0, place.path)
        if name == "int" or name == "float":
            return frozenset(x for x in self.infer(first, place) if x[0] == v.LITERAL)
        return None

    def _function_result(self, function: Value, expression: Expr, place: Place) -> Values:
        """What a call of a function of the project gives; a returned parameter is this call's."""
        _, path, index, receiver = function
        summary = self.modules.summary(path)
        if summary is None:
            return NOTHING
        scope = summary.scopes[index]
        own = self._returned_parameter(scope)
        if own is None:
            return self.result(function)
        position, name = own
        if receiver is not None:
            if position == 0:
                return frozenset([receiver])
            position -= 1
        return self.infer(passed(expression, position, name), place)

    def _returned_parameter(self, scope: Scope) -> tuple[int, str] | None:
        """The parameter that a function does nothing but return."""
        if len(scope.returns) != 1 or scope.yields:
            return None
        value = scope.returns[0][0]
        if value is None or value[0] != tags.NAME:
            return None
        for position, (name, *_) in enumerate(scope.parameters):
            if name == value[1] and len(scope.bindings.get(name, ())) == 1:
                return position, name
        return None

    def result(self, function: Value) -> Values:
        """What a function of the project returns, whoever calls it."""
        _, path, index, receiver = function
        return self._solved(
            ("result", path, index, receiver), lambda: self._result(path, index, receiver)
        )

    def _result(self, path: str, index: int, receiver: Value | None) -> Values:
        summary = self.modules.summary(path)
        if summary is None:
            return NOTHING
        scope = summary.scopes[index]
        outside = Place(path, scope.parent, scope.path)
        decorators = self._decorators(summary, index)
        declared = self.annotated(scope.annotation[0], outside) if scope.annotation else NOTHING
        if decorators & _MANAGERS:
            given = self.elements(declared) or self._yielded(path, index, scope)
            return frozenset([(v.MANAGER, given)])
        if v.informative(declared):
            return declared
        if scope.yields:
            return self._holding(self._yielded(path, index, scope))
        found: set[Value] = set()
        for value, at in scope.returns:
            if receiver is not None and scope.parameters and value == (
                tags.NAME,
                scope.parameters[0][0],
            ):
                found.add(receiver)
            else:
                found |= self.infer(value, Place(path, index, at))
        return frozenset(found)

    def _yielded(self, path: str, index: int, scope: Scope) -> Values:
        return self._all_at([(value, Place(path, index, at)) for value, at in scope.yields])

    def _all_at(self, pairs: list[tuple[Expr, Place]]) -> Values:
        found: set[Value] = set()
        for value, place in pairs:
            found |= self._all([value], place)
        return frozenset(found)

    def entered(self, values: Values) -> Values:
        """What ``with`` gives its target."""
        found: set[Value] = set()
        for value in values:
            if value[0] == v.MANAGER:
                found |= value[1]
            elif value[0] == v.OBJECT:
                found |= self._method_result(value, "__enter__")
            elif value[0] == v.INSTANCE:
                found |= self._returned(f"{value[1]}.__enter__") or frozenset([value])
        return frozenset(found)

    def elements(self, values: Values) -> Values:
        """What looping over any of the values gives."""
        found: set[Value] = set()
        for value in values:
            if value[0] == v.ELEMENTS:
                found |= value[1]
            elif value[0] == v.TUPLE:
                found = found.union(*value[1])
            elif value[0] == v.INSTANCE:
                found |= self._external_elements(value[1])
            elif value[0] == v.OBJECT:
                found |= self._iterated(value)
        return frozenset(found)

    def _iterated(self, value: Value) -> Values:
        """What looping over an object of the project gives; its ``__iter__`` may return itself."""
        return self._solved(
            ("iterated", value),
            lambda: self.elements(self._method_result(value, "__iter__"))
            | self._method_result(value, "__next__"),
        )

    def _external_elements(self, owner: str) -> Values:
        for base in self.catalog.lineage(owner):
            held = self.catalog.elements.get(base)
            if held is not None:
                return frozenset([(v.INSTANCE, held)])
        return NOTHING

    # -- parameters and who fills them

    def parameter(self, path: str, index: int, position: int) -> Values:
        """What a parameter can be: its annotation, else what callers pass, and its default."""
        return self._solved(
            ("parameter", path, index, position), lambda: self._parameter(path, index, position)
        )

    def _parameter(self, path: str, index: int, position: int) -> Values:
        summary = self.modules.summary(path)
        if summary is None:
            return NOTHING
        scope = summary.scopes[index]
        name, annotation, default, kind = scope.parameters[position]
        outside = Place(path, scope.parent, scope.path)
        owner = summary.scopes[scope.parent] if scope.parent >= 0 else None
        method = owner is not None and owner.kind == "class" and scope.kind == "function"
        decorators = self._decorators(summary, index) if method else set()
        if method and position == 0:
            if "builtins.classmethod" in decorators or scope.name == "__new__":
                return frozenset([(v.CLASS, path, scope.parent)])
            if "builtins.staticmethod" not in decorators:
                return frozenset([(v.OBJECT, path, scope.parent)])
        declared = self.annotated(annotation, outside)
        if kind == "*":
            return self._holding(declared) if declared else NOTHING
        if kind == "**":
            return frozenset([(v.MAPPING, (), declared)]) if declared else NOTHING
        if v.informative(declared):
            return declared
        found = set(self.infer(default, outside))
        for call, place in self.callers(path, index):
            shift = self._shift(summary, index, call, place)
            argument = passed(call.expression, position - shift, name)
            found |= self.infer(argument, place)
        shift = 1 if method and "builtins.staticmethod" not in decorators else 0
        for expression, place in self._handed(path, index):
            found |= self.infer(passed(expression, position - shift, name), place)
        return frozenset(found)

    def _shift(self, summary: ModuleSummary, index: int, call: Call, place: Place) -> int:
        """How many parameters a call does not pass itself: 1 for a bound method."""
        scope = summary.scopes[index]
        if summary.scopes[scope.parent].kind != "class":
            return 0
        for value in self.infer(call.expression[1], place):
            if value[0] == v.FUNCTION and value[1:3] == (summary.filename, index):
                if value[3] is None:
                    return 0
                on_class = value[3][0] == v.CLASS
                of_class = "builtins.classmethod" in self._decorators(summary, index)
                return 0 if on_class and not of_class else 1
        return 1

    def callers(self, path: str, index: int) -> list[tuple[Call, Place]]:
        """The calls of a function, or of a class, anywhere in the project."""
        key = (path, index)
        found = self._callers.get(key)
        if found is None:
            found = self._callers[key] = []
            found.extend(self._find_callers(path, index))
        return found

    def _find_callers(self, path: str, index: int) -> list[tuple[Call, Place]]:
        summary = self.modules.summary(path)
        if summary is None:
            return []
        scope = summary.scopes[index]
        target: Value
        if scope.kind == "class":
            target, names, word = (v.CLASS, path, index), {scope.name, "cls"}, scope.name
        elif scope.name == "__init__":
            owner = summary.scopes[scope.parent]
            target, word = (v.CLASS, path, scope.parent), owner.name
            names = {word, "__init__", "cls"}
        else:
            target, names, word = (v.FUNCTION, path, index), {scope.name}, scope.name
        if scope.kind not in ("class", "function"):
            return []
        found: list[tuple[Call, Place]] = []
        named = summary.scopes[scope.parent] if word != scope.name else scope
        for other in self._affordable(self._callable_from(path, named)):
            by_name = self.calls_by_name(other)
            aliases = self.aliases(other).get(scope.name, set())
            for name in sorted(names | aliases | self._derived(other, target)):
                for call in by_name.get(name, ()):
                    place = Place(other, call.scope, call.path)
                    if self._is_call_of(call, place, target):
                        found.append((call, place))
                        if len(found) >= _CALLERS:
                            return found
        return found

    def _affordable(self, paths: list[str]) -> list[str]:
        """Those of some files that have been read, or may still be for the file in question."""
        found = []
        for path in paths:
            if not self.modules.is_read(path):
                if self.allowance <= 0:
                    continue
                self.allowance -= 1
            found.append(path)
        return found

    def _derived(self, path: str, target: Value) -> set[str]:
        """The names of a module's classes that inherit the constructor of a class."""
        if target[0] != v.CLASS:
            return set()
        summary = self.modules.summary(path)
        if summary is None:
            return set()
        return {
            scope.name
            for index, scope in enumerate(summary.scopes)
            if scope.kind == "class"
            and scope.bases
            and "__init__" not in scope.bindings
            and target in self.bases(path, index)
        }

    def _is_call_of(self, call: Call, place: Place, target: Value) -> bool:
        for value in self.infer(call.expression[1], place):
            if value[: len(target)] == target:
                return True
            if target[0] == v.CLASS:
                if value[0] == v.CLASS and target in self.bases(value[1], value[2]):
                    return True
                if value[0] == v.FUNCTION and self._is_init_of(value, target):
                    return True
        return False

    def _is_init_of(self, function: Value, target: Value) -> bool:
        summary = self.modules.summary(function[1])
        if summary is None or function[1] != target[1]:
            return False
        scope = summary.scopes[function[2]]
        return scope.name == "__init__" and scope.parent == target[2]

    def _handed(self, path: str, index: int) -> list[tuple[Expr, Place]]:
        """What is passed along where the function itself is an argument: ``spawn(f, x)``."""
        found: list[tuple[Expr, Place]] = []
        for call, place, position in self.handovers(path, index):
            _, _, positional, keywords = call.expression
            if position is not None:
                packed = positional[position + 1] if len(positional) == position + 2 else None
                rest = positional[position + 1 :]
                if packed is not None and packed[0] == tags.TUPLE:
                    found.append(((tags.CALL, None, packed[1], ()), place))
                if last_name(call.expression[1]) in _MAPPED:
                    rest = tuple(self._element_of(one) for one in rest)
                found.append(((tags.CALL, None, rest, keywords), place))
            packed_too = dict(keywords)
            for value in (packed_too.get("args"), packed_too.get("kwargs")):
                if value is not None and value[0] in (tags.TUPLE, tags.SEQUENCE):
                    found.append(((tags.CALL, None, value[1], ()), place))
                elif value is not None and value[0] == tags.MAPPING:
                    found.append(((tags.CALL, None, (), _as_keywords(value)), place))
        return found

    def _element_of(self, expression: Expr) -> Expr:
        """An expression for any element of another one; kept, since it is known by its identity."""
        if expression is None:
            return None
        element = (tags.SUBSCRIPT, expression, None)
        self._kept.append(element)
        return element

    def handovers(self, path: str, index: int) -> list[tuple[Call, Place, int | None]]:
        """The calls that take the function as an argument, and at which position."""
        summary = self.modules.summary(path)
        if summary is None:
            return []
        scope = summary.scopes[index]
        named = scope.kind == "function"
        target = (v.FUNCTION, path, index)
        found: list[tuple[Call, Place, int | None]] = []
        for other in self._callable_from(path, scope):
            aliases = self.aliases(other).get(scope.name if named else index, set())
            for word in sorted({scope.name if named else "", *aliases}):
                for call, position, argument in self._arguments_named(other).get(word, ()):
                    place = Place(other, call.scope, call.path)
                    if any(_unwrapped(x)[:3] == target for x in self.infer(argument, place)):
                        found.append((call, place, position))
        return found

    def aliases(self, path: str) -> dict[str | int, set[str]]:
        """Other names that a module gives to functions and classes, by name; a lambda's by scope.

        ``later = partial(f)`` and ``from module import f as later`` are told here by their names
        only; whoever asks looks what they mean.
        """
        found = self._aliases.get(path)
        if found is None:
            found = self._aliases[path] = {}
            summary = self.modules.summary(path)
            for scope in summary.scopes if summary else ():
                for name, bindings in scope.bindings.items():
                    for binding in bindings:
                        for original in _originals(binding):
                            found.setdefault(original, set()).add(name)
                for (_, name), bindings in scope.attributes.items():
                    for binding in bindings:
                        for original in _originals(binding):
                            found.setdefault(original, set()).add(name)
        return found

    def _arguments_named(self, path: str) -> dict[str, list[tuple[Call, int | None, Expr]]]:
        """A module's arguments that can be a function, by its name; a lambda's is empty."""
        found = self._arguments.get(path)
        if found is None:
            found = self._arguments[path] = {}
            summary = self.modules.summary(path)
            for call in summary.calls if summary else ():
                if call.node == "call":
                    _, _, positional, keywords = call.expression
                    for position, argument in enumerate(positional):
                        for name in _functions_named(argument):
                            found.setdefault(name, []).append((call, position, argument))
                    for _, argument in keywords:
                        for name in _functions_named(argument):
                            found.setdefault(name, []).append((call, None, argument))
        return found

    def _callable_from(self, path: str, scope: Scope) -> list[str]:
        """The files that can call a function by name: those that mention it and can have it."""
        if scope.kind != "function" and scope.kind != "class":
            return [path]
        tests = self.modules.is_test(path)  # they call the service with mocks, and one another
        mentioning = self._naming(scope.name, tests)
        if len(mentioning) <= _FEW:
            return mentioning
        directory, name = os.path.split(path)
        stem = name.partition(".")[0]
        near = {path, *self.modules.mentioning(os.path.basename(directory), tests=tests)}
        if stem != "__init__":
            near.update(self.modules.mentioning(stem, tests=tests))
        mentioning = [other for other in mentioning if other in near]
        if len(mentioning) > _MANY:
            return [path] if path in mentioning else []
        return mentioning

    def _naming(self, word: str, tests: bool) -> list[str]:
        """The files that write a name as if to call it, to hand it over or to rename it."""
        key = (word, tests)
        found = self._named.get(key)
        if found is None:
            name = re.escape(word.encode())
            # Literal first characters, and what stands before them later: see `triage`.
            used = rb"(?:\s*[(,)\]}]|[ \t]+as\b|[ \t\r]*$)"
            written = re.compile(rb"%s(?<!\w%s)%s" % (name, name, used), re.MULTILINE)
            found = self._named[key] = [
                path
                for path in self.modules.mentioning(word, tests=tests)
                if written.search(self.modules.data(path))
            ]
        return found

    def calls_by_name(self, path: str) -> dict[str, list[Call]]:
        """A module's calls by the last name of what is called."""
        found = self._calls.get(path)
        if found is None:
            found = self._calls[path] = {}
            summary = self.modules.summary(path)
            for call in summary.calls if summary else ():
                if call.node == "call":
                    found.setdefault(last_name(call.expression[1]), []).append(call)
        return found

    # -- annotations

    def annotated(self, annotation: Expr, place: Place) -> Values:
        """What an annotation says that a value is."""
        if annotation is None:
            return NOTHING
        tag = annotation[0]
        if tag == tags.CONSTANT:
            if not isinstance(annotation[1], str):
                return NOTHING
            return self.annotated(tags.read_annotation(annotation[1]), place)
        if tag == tags.BIT_OR:
            return self.annotated(annotation[1], place) | self.annotated(annotation[2], place)
        if tag == tags.SUBSCRIPT:
            return self._generic(annotation, place)
        if tag not in (tags.NAME, tags.ATTRIBUTE):
            return NOTHING
        alias = self._type_alias(annotation, place)
        if alias is not None:
            return self._solved(("alias", *alias[1], id(alias[0])), lambda: self.annotated(*alias))
        found: set[Value] = set()
        for value in self.infer(annotation, place):
            if value[0] == v.CLASS:
                found.add((v.OBJECT, value[1], value[2]))
            elif value[0] == v.EXTERNAL and not value[1].startswith(("typing.", "builtins.")):
                found.add((v.INSTANCE, value[1]))
        return frozenset(found)

    def _type_alias(self, annotation: Expr, place: Place) -> tuple[Expr, Place] | None:
        """The type behind ``Name = Union[…]`` or a bound ``TypeVar``, and where that stands."""
        name, path = last_name(annotation), place.path
        if annotation[0] == tags.ATTRIBUTE:
            paths = [x[1] for x in self.infer(annotation[1], place) if x[0] == v.MODULE]
            if len(paths) != 1:
                return None
            path = paths[0]
        for _ in range(_ALIASES):
            summary = self.modules.summary(path)
            bindings = summary.scopes[0].bindings.get(name, ()) if summary else ()
            binding = next((b for b in bindings if b.kind in (tags.ASSIGNED, tags.IMPORTED)), None)
            if binding is None:
                return None
            if binding.kind == tags.ASSIGNED:
                value = self._aliased(binding.value)
                return (value, Place(path, 0, binding.path)) if value is not None else None
            module, name, level = binding.value
            found = self.modules.resolve(module, level, path) if name else None
            if found is None:
                return None
            path = found
        return None

    def _aliased(self, value: Expr) -> Expr:
        """The type in ``Union[…]``, ``A | B``, ``TypeVar("T", bound=A)``, ``NewType("N", A)``."""
        if value is None or value[0] in (tags.SUBSCRIPT, tags.BIT_OR):
            return value
        if value[0] != tags.CALL:
            return None
        called = last_name(value[1])
        if called == "TypeVar":
            return dict(value[3]).get("bound")
        return value[2][1] if called == "NewType" and len(value[2]) > 1 else None

    def _generic(self, annotation: Expr, place: Place) -> Values:
        _, base, index = annotation
        name = last_name(base)
        inner = list(index[1]) if index is not None and index[0] == tags.TUPLE else [index]
        if name in _UNWRAPPED:
            parts = inner[:1] if name == "Annotated" else inner
            return frozenset().union(*(self.annotated(part, place) for part in parts))
        if name in ("type", "Type"):
            return frozenset(
                (v.CLASS, x[1], x[2]) if x[0] == v.OBJECT else (v.EXTERNAL, x[1])
                for x in self.annotated(inner[0], place)
                if x[0] in (v.OBJECT, v.INSTANCE)
            )
        if name in _HOLDERS:
            return self._holding(self.annotated(inner[0], place))
        if name in _KEYED:
            return frozenset([(v.MAPPING, (), self.annotated(inner[-1], place))])
        if name in ("tuple", "Tuple"):
            if len(inner) == 2 and inner[1] == (tags.CONSTANT, None):
                return self._holding(self.annotated(inner[0], place))
            return frozenset([(v.TUPLE, tuple(self.annotated(one, place) for one in inner))])
        if name in _ENTERED:
            return frozenset([(v.MANAGER, self.annotated(inner[0], place))])
        if name == "Callable":
            given = (v.ELEMENTS, self.annotated(inner[-1], place))
            return frozenset([(v.TAKER, given, "__call__")])
        if name in ("Awaitable", "Coroutine"):
            return self.annotated(inner[-1], place)
        return self.annotated(base, place)

    # -- arguments

    def holds(self, condition: Condition, expression: Expr, place: Place) -> bool:
        """Whether a call's arguments meet a condition for sure."""
        _, _, positional, keywords = expression
        argument = passed(expression, condition.position, condition.keyword)
        if argument is None:
            open_ended = any(name is None for name, _ in keywords) or any(
                one is not None and one[0] == tags.STAR for one in positional
            )
            given = is_passed(expression, condition.position, condition.keyword)
            return not open_ended and not given and condition.default in condition.values
        if condition.flags and self.has_flag(argument, condition.flags, place):
            return True
        found = self.infer(argument, place)
        return bool(found) and all(
            x[0] == v.LITERAL and any(same(x[2], one) for one in condition.values) for x in found
        )

    def has_flag(self, argument: Expr, flags: tuple[str, ...], place: Place) -> bool:
        """Whether one of the flags surely stands in an argument: alone, in a ``|``, or tested."""
        if argument is None:
            return False
        if argument[0] == tags.BIT_OR:
            return any(self.has_flag(part, flags, place) for part in argument[1:])
        names = {self.catalog.canonical(flag) for flag in flags}
        found = self.infer(argument, place)
        if found and all(_flags(x) & names for x in found):
            return True
        if argument[0] == tags.NAME:
            return self._flag_in_variable(argument[1], flags, place)
        return False

    def _flag_in_variable(self, name: str, flags: tuple[str, ...], place: Place) -> bool:
        """``flags |= NOBLOCK`` further up, or ``if flags & NOBLOCK`` around."""
        summary = self.modules.summary(place.path)
        if summary is None:
            return False
        scope = summary.scopes[place.scope]
        for binding in scope.bindings.get(name, ()):
            if binding.kind == tags.AUGMENTED and binding.path < place.at:
                if place.at[: len(binding.path) - 1] == binding.path[:-1]:
                    if self.has_flag(binding.value, flags, place._replace(at=binding.path)):
                        return True
        for depth in range(1, len(place.at), 2):
            test = scope.tests.get(place.at[:depth])
            if test is not None and place.at[depth] == 0 and test[0] == tags.BIT_AND:
                if test[1] == (tags.NAME, name) and self.has_flag(test[2], flags, place):
                    return True
        return False

    # -- what a call calls

    def symbols(self, call: Call, place: Place) -> list[str]:
        """The dotted names, in the catalog's spelling, of what a call can call."""
        if call.node == "with":
            return sorted(self._entering(call.expression, place))
        if call.node == "for":
            return sorted(self._methods(self.infer(call.expression, place), "__iter__"))
        if call.node == "decorator":
            return []
        return sorted(self.callee_symbols(call.expression[1], place))

    def _entering(self, expression: Expr, place: Place) -> set[str]:
        """What ``with`` calls: where the block begins, and where it ends."""
        values = self.infer(expression, place)
        wrappers = set()
        if expression[0] == tags.CALL:
            wrappers = self.callee_symbols(expression[1], place) & _PASS_THROUGH
        if wrappers:
            return self._methods(values, "close") if "contextlib.closing" in wrappers else set()
        return self._methods(values, "__enter__") | self._methods(values, "__exit__")

    def _methods(self, values: Values, name: str) -> set[str]:
        """The dotted names of a method of some objects, where it is not the project's."""
        return {
            method[1]
            for value in values
            if value[0] in (v.INSTANCE, v.OBJECT)
            for method in self.attribute(value, name)
            if method[0] == v.EXTERNAL
        }

    def callee_symbols(self, callee: Expr, place: Place) -> set[str]:
        """The dotted names of what an expression is, if it is called."""
        found: set[str] = set()
        for value in self.infer(callee, place):
            inner = _unwrapped(value)
            if inner[0] == v.EXTERNAL:
                found.add(inner[1])
            elif inner[0] == v.INSTANCE:
                found.add(f"{inner[1]}.__call__")
            elif inner[0] == v.CLASS:
                found |= self._constructors(inner)
            elif inner[0] == v.OBJECT:
                for method in self.attribute(inner, "__call__"):
                    if method[0] == v.EXTERNAL:
                        found.add(method[1])
        return found

    def _constructors(self, value: Value) -> set[str]:
        """The compiled class whose constructor a class of the project inherits."""
        for base in self.ancestry(value[1], value[2]):
            if base[0] == v.EXTERNAL:
                return {base[1]}
            summary = self.modules.summary(base[1])
            if summary is not None and "__init__" in summary.scopes[base[2]].bindings:
                return set()
        return set()

    def blockers(self, symbols: Iterable[str]) -> list[tuple[str, Blocker]]:
        """The blockers among some symbols; none where one of them is a cooperative twin."""
        found: list[tuple[str, Blocker]] = []
        for symbol in symbols:
            if self._is_cooperative(symbol):
                return []
            found += [(symbol, blocker) for blocker in self.catalog.lookup(symbol)]
        return found

    def _is_cooperative(self, symbol: str) -> bool:
        if symbol.startswith("gevent.") and not self.catalog.by_symbol.get(symbol):
            return True
        while symbol:
            if symbol in self.catalog.by_symbol:
                return False
            if symbol in self.catalog.cooperative:
                return True
            symbol = symbol.rpartition(".")[0]
        return False


def dotted(expression: Expr) -> str | None:
    """``a.b`` of names and attributes, None for anything else."""
    if expression is None:
        return None
    if expression[0] == tags.NAME:
        name: str = expression[1]
        return name
    if expression[0] == tags.ATTRIBUTE:
        base = dotted(expression[1])
        return None if base is None else f"{base}.{expression[2]}"
    return None


def last_name(expression: Expr) -> str:
    """The last identifier of a name or an attribute, else an empty string."""
    if expression is None:
        return ""
    if expression[0] == tags.NAME:
        name: str = expression[1]
        return name
    if expression[0] == tags.ATTRIBUTE:
        attribute: str = expression[2]
        return attribute
    return ""


def _unwrapped(value: Value) -> Value:
    """What a partial, or a partial of one, calls."""
    while value[0] == v.PARTIAL:
        value = value[1]
    return value


def _flags(value: Value) -> frozenset[str]:
    """The dotted names of the flags that a value holds for sure."""
    if value[0] == v.EXTERNAL:
        return frozenset([value[1]])
    held: frozenset[str] = value[1] if value[0] == v.COMBINED else frozenset()
    return held


def _constant(index: Expr) -> object:
    """A subscript's constant, ``-1`` too; None for anything else."""
    if index is None:
        return None
    if index[0] == tags.NEGATED and index[1][0] == tags.CONSTANT:
        return -index[1][1] if isinstance(index[1][1], int) else None
    constant: object = index[1] if index[0] == tags.CONSTANT else None
    return constant


def _as_keywords(mapping: Expr) -> tuple[tuple[str | None, Expr], ...]:
    """A dict display as what ``**`` makes of it."""
    return tuple(
        (str(key[1]) if key is not None and key[0] == tags.CONSTANT else None, value)
        for key, value in mapping[1]
    )


def _originals(binding: Binding) -> set[str | int]:
    """The functions, by name, and the lambdas, by scope, that a binding may give another name."""
    if binding.kind == tags.IMPORTED:
        return {binding.value[1]} if binding.value[1] else set()
    value = binding.value
    if binding.kind != tags.ASSIGNED or value is None:
        return set()
    if value[0] == tags.LAMBDA:
        return {value[1]}
    return {name for name in _functions_named(value) if name}


def _functions_named(argument: Expr) -> set[str]:
    """The names of the functions that an argument can be; a lambda's is empty."""
    if argument is None:
        return set()
    if argument[0] == tags.LAMBDA:
        return {""}
    if argument[0] == tags.CALL:  # a partial
        return set().union(*(_functions_named(one) for one in argument[2]))
    name = last_name(argument)
    return {name} if name else set()


def passed(expression: Expr, position: int | None, keyword: str | None) -> Expr:
    """The expression that a call passes for a parameter, None if it passes none or hides it."""
    _, _, positional, keywords = expression
    for name, value in keywords:
        if name is not None and name == keyword:
            return value
    if position is not None and 0 <= position < len(positional):
        before = positional[: position + 1]
        if not any(one is not None and one[0] == tags.STAR for one in before):
            return before[-1]
    return None


def is_passed(expression: Expr, position: int | None, keyword: str | None) -> bool:
    """Whether a call passes something for a parameter, known or not."""
    _, _, positional, keywords = expression
    if any(name is not None and name == keyword for name, _ in keywords):
        return True
    return position is not None and position < len(positional)


def same(one: object, other: object) -> bool:
    """Whether two constants are one to a reader: 0 is 0.0 but not False."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
