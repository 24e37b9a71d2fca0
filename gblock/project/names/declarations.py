"""Declarations of the project: a look-up of names in summaries and imports, without inference.

It knows modules, classes, functions, and objects that a class's name, a method's first parameter
or an annotation shows. `gblock.project.names.inferred` answers the same questions by inference.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gblock.project.names import values as v
from gblock.project.names.definitions import END, Definitions
from gblock.project.names.places import Place
from gblock.project.names.values import ScopeValue, Value
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, ImportBinding, Path, ValueBinding
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    Expr,
    NameExpr,
    dotted,
    last_name,
)
from gblock.project.reading.modules import Modules
from gblock.project.reading.summary import Call, ModuleSummary

_LONGEST_CHAIN = 25
"""At most this many declarations in a row are followed."""
_MOST_STEPS = 1000
"""At most this many expressions are looked at for one question."""
_MOST_BASES = 4
"""At most this many levels of base classes are searched."""
_MOST_CALLS = 16
"""At most this many calls of one function are followed."""
"""Kinds of bindings that store something in the container that a name holds."""
_PROPERTIES = ("property", "cached_property")
_PACKAGE = f"{os.sep}__init__.py"


class Use(NamedTuple):
    """The bindings that one use of a name, or of an attribute, can see."""

    summary: ModuleSummary
    """The module that binds it."""
    scope: int
    """The scope that binds it."""
    bindings: Sequence[Binding]
    """Its definitions, as far as they reach the use."""
    stores: list[ValueBinding]
    """The bindings that store something in it, or extend it, anywhere."""
    at: Path
    """The path of the use in the scope that binds it; ``END`` for a use from outside."""
    place: Place
    """The place of the use."""
    name: str
    owner: str = ""
    """For an attribute, what has it."""

    @property
    def key(self) -> Hashable:
        """A key that distinguishes it from other uses: imports can lead in a circle."""
        return self.summary.filename, self.scope, self.owner, self.name, self.at


class Declarations:
    """Looks up what names, attributes and calls mean, by declarations alone.

    Args:
        modules: The project's files.
        definitions: Finds reaching definitions.
    """

    def __init__(self, modules: Modules, definitions: Definitions | None = None) -> None:
        self.modules = modules
        self.definitions = definitions or Definitions()
        self._asked: set[tuple[Expr, Place]] = set()
        self._used: set[Hashable] = set()
        self._steps = 0

    # -- names

    def use(self, name: str, place: Place) -> Use | None:
        """Return the bindings that a name has at a place; None where nothing binds it."""
        summary = self.modules.summary(place.path)
        scope, innermost = place.scope, True
        while scope >= 0:
            entry = summary.scopes[scope]
            if name in entry.bindings and (innermost or entry.kind != "class"):
                return self._use(summary, scope, name, place.at if innermost else END, place)
            innermost = innermost and entry.kind == "comprehension"
            scope = entry.parent
        return self._star_imported(summary, name)

    def of_module(self, path: str, name: str) -> Use | None:
        """Return the bindings of a module's name, as seen from outside."""
        if not self.modules.is_module(path):
            return None
        summary = self.modules.summary(path)
        if name in summary.scopes[0].bindings:
            return self._use(summary, 0, name, END, Place(path, 0, END))
        return self._star_imported(summary, name)

    def imported(self, binding: ImportBinding, path: str) -> Use | None:
        """Return the bindings of the name that ``from module import name`` takes.

        Args:
            binding: The import.
            path: Its file.
        """
        module, name, level = binding.value
        found = self._resolved(module, level, path)
        if found is None or name is None or found == path:
            return None
        return self.of_module(found, name)

    def before(self, use: Use, binding: Binding) -> Use:
        """Return the bindings of the same name that one of them can see: ``name += value``."""
        place = use.place._replace(scope=binding.scope, at=binding.path)
        return self._use(use.summary, use.scope, use.name, binding.path, place)

    def _use(self, summary: ModuleSummary, scope: int, name: str, at: Path, place: Place) -> Use:
        reaching = self.definitions.reaching(summary, scope, name, at)
        bindings = sorted(reaching, key=lambda binding: binding.row)
        stored = summary.scopes[scope].bindings[name]
        stores = [b for b in stored if b.kind == kinds.ELEMENT or b.kind == kinds.EXTENDED]
        return Use(summary, scope, bindings, stores, at, place, name)

    def _star_imported(self, summary: ModuleSummary, name: str) -> Use | None:
        key = (NameExpr(tags.NAME, name), Place(summary.filename, 0, END))
        if key in self._asked or len(self._asked) > _LONGEST_CHAIN:
            return None
        self._asked.add(key)
        try:
            for binding in summary.star_imports:
                module, _, level = binding.value
                path = self._resolved(module, level, summary.filename)
                found = self.of_module(path, name) if path not in (None, summary.filename) else None
                if found is not None:
                    return found
        finally:
            self._asked.discard(key)
        return None

    def _resolved(self, module: str, level: int, importer: str) -> str | None:
        """Return the file of an import; in a frugal project other files are not followed."""
        if self.modules.is_frugal:
            return None
        return self.modules.resolve(module, level, importer)

    # -- modules, classes, objects and functions

    def values(self, expression: Expr, place: Place) -> Iterable[Value]:
        """Return the modules, classes, objects and functions that an expression can be."""
        key = (expression, place)
        if not self._asked:
            self._steps = _MOST_STEPS
        self._steps -= 1
        if expression is None or key in self._asked or self._steps < 0:
            return ()
        if len(self._asked) > _LONGEST_CHAIN:
            return ()
        self._asked.add(key)
        try:
            return dict.fromkeys(self._values(expression, place))
        finally:
            self._asked.discard(key)

    def _values(self, expression: Expr, place: Place) -> Iterator[Value]:
        if expression is None:
            return
        if expression.tag == tags.NAME:
            use = self.use(expression.identifier, place)
            yield from self._of_use(use)
        elif expression.tag == tags.ATTRIBUTE:
            for owner in self.values(expression.base, place):
                yield from self._member(owner, expression.name)
        elif expression.tag == tags.CALL:
            for callee in self.values(expression.callee, place):
                if callee.kind == v.CLASS:
                    yield callee._replace(kind=v.OBJECT)
                elif callee.kind == v.FUNCTION:
                    scope = self.modules.summary(callee.path).scopes[callee.scope]
                    for returned, at in scope.returns:
                        yield from self.values(returned, Place(callee.path, callee.scope, at))
        elif expression.tag in (tags.EITHER, tags.BOTH):
            for one in expression.elements:
                yield from self.values(one, place)

    def _of_use(self, use: Use | None) -> Iterator[Value]:
        if use is None or use.key in self._used or len(self._used) > _LONGEST_CHAIN:
            return
        self._used.add(use.key)
        try:
            for binding in use.bindings:
                yield from self._bound(binding, use.summary)
        finally:
            self._used.discard(use.key)

    def _bound(self, binding: Binding, summary: ModuleSummary) -> Iterator[Value]:
        path = summary.filename
        if binding.kind == kinds.ASSIGNED:
            yield from self.values(binding.value, Place(path, binding.scope, binding.path))
        elif binding.kind == kinds.DEFINED:
            if summary.scopes[binding.value].kind == "class":
                yield v.ScopeValue(v.CLASS, path, binding.value)
            else:
                yield v.function(path, binding.value)
        elif binding.kind == kinds.IMPORTED:
            module, name, level = binding.value
            found = self._resolved(module, level, path)
            if found is not None:
                yield from self._of_import(found, name)
        elif binding.kind == kinds.PARAMETER:
            yield from self._parameter(summary, binding)

    def _of_import(self, path: str, name: str | None) -> Iterator[Value]:
        if name is None:
            yield v.FileValue(v.MODULE if self.modules.is_module(path) else v.PACKAGE, path)
            return
        yield from self._member(v.FileValue(v.MODULE, path), name)

    def _parameter(self, summary: ModuleSummary, binding: ValueBinding) -> Iterator[Value]:
        """Yield the object or class that a method's first parameter is, else an annotation's."""
        scope = summary.scopes[binding.scope]
        _, annotation, _, kind = scope.parameters[binding.position]
        is_method = scope.kind == "function" and summary.scopes[scope.parent].kind == "class"
        decorators = {last_name(one) for one in scope.decorators}
        if is_method and binding.position == 0 and kind == "positional":
            if "staticmethod" not in decorators:
                owner = v.ScopeValue(v.OBJECT, summary.filename, scope.parent)
                yield owner._replace(kind=v.CLASS) if "classmethod" in decorators else owner
                return
        outside = Place(summary.filename, max(scope.parent, 0), scope.path)
        for value in self.values(annotation, outside):
            if value.kind == v.CLASS:
                yield value._replace(kind=v.OBJECT)

    def _member(self, owner: Value, name: str) -> Iterator[Value]:
        if owner.kind in (v.MODULE, v.PACKAGE):
            use = self.of_module(owner.path, name)
            yield from self._of_use(use)
            if use is None:
                inner = self.modules.inside(owner.path.removesuffix(_PACKAGE), name)
                if inner is not None:
                    yield from self._of_import(inner, None)
        elif owner.kind in (v.CLASS, v.OBJECT):
            for use in self.members(owner.path, owner.scope, name):
                yield from self._of_use(use)

    # -- attributes

    def attribute(self, expression: AttributeExpr, place: Place) -> Iterator[Use]:
        """Yield the bindings of an attribute of a module, a class or an object.

        Of an object whose class is not known, these are the assignments to the same dotted name in
        the same file.
        """
        found = False
        for value in self.values(expression.base, place):
            for use in self._attribute(value, expression.name, place):
                found = True
                yield use
        owner = dotted(expression.base)
        if not found and owner is not None:
            summary = self.modules.summary(place.path)
            for number in range(len(summary.scopes)):
                yield from self._set_in(summary, number, owner, expression.name, place)

    def enumerated(
        self,
        expression: Expr,  # noqa: ARG002 - inference knows more
        place: Place,  # noqa: ARG002
    ) -> Iterable[Use]:
        """Return the bindings of the members of enumerations that an object may be: none here."""
        return ()

    def _attribute(self, owner: Value, name: str, place: Place) -> Iterator[Use]:
        if owner.kind == v.MODULE:
            use = self.of_module(owner.path, name)
            if use is not None:
                yield use
        elif owner.kind in (v.CLASS, v.OBJECT):
            yield from self.members(owner.path, owner.scope, name, place)

    def members(
        self,
        path: str,
        index: int,
        name: str,
        place: Place | None = None,
        depth: int = _MOST_BASES,
    ) -> Iterator[Use]:
        """Yield the bindings of an attribute of a class and its objects, else of its bases.

        Args:
            path: The file of the class.
            index: Its scope.
            name: The attribute.
            place: The place of the use; None for the end of the program.
            depth: The number of classes above it that are searched.
        """
        summary = self.modules.summary(path)
        found = False
        if name in summary.scopes[index].bindings:
            found = True
            yield _any_of(summary, index, name, place)
        for number, scope in enumerate(summary.scopes):
            if scope.parent == index and scope.parameters and number:
                for use in self._set_in(summary, number, scope.parameters[0].name, name, place):
                    found = True
                    yield use
        if not found and depth:
            for base in self.bases(path, index):
                yield from self.members(base.path, base.scope, name, place, depth - 1)

    def _set_in(
        self, summary: ModuleSummary, number: int, owner: str, name: str, place: Place | None
    ) -> Iterator[Use]:
        """Yield the assignments to an attribute of a name in one function."""
        if (owner, name) in summary.scopes[number].attributes:
            yield _any_of(summary, number, name, place, owner)

    def bases(self, path: str, index: int) -> list[ScopeValue]:
        """Return the bases of a class that are classes of the project."""
        scope = self.modules.summary(path).scopes[index]
        place = Place(path, max(scope.parent, 0), scope.path)
        return [
            value
            for base in scope.bases
            for value in self.values(base, place)
            if value.kind == v.CLASS and (value.path, value.scope) != (path, index)
        ]

    def is_property(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a function is a property."""
        return any(last_name(one) in _PROPERTIES for one in summary.scopes[index].decorators)

    def fields(
        self,
        expression: AttributeExpr,  # noqa: ARG002 - inference knows more
        place: Place,  # noqa: ARG002
    ) -> Iterable[tuple[Expr, Place, tuple[int, int]]]:
        """Return what generated constructors are passed for an attribute: none here."""
        return ()

    def literals(
        self,
        expression: Expr,  # noqa: ARG002 - inference knows more
        place: Place,  # noqa: ARG002
    ) -> list[str]:
        """Return texts that only inference can find: none here."""
        return []

    # -- functions

    def callers(self, path: str, index: int) -> Iterable[tuple[Call, Place]]:
        """Return the calls of a function in its own file."""
        summary = self.modules.summary(path)
        name = summary.scopes[index].name
        found = []
        for call in summary.calls:
            if call.node == "call" and last_name(call.expression.callee) == name:
                place = Place(path, call.scope, call.path)
                if v.function(path, index) in self.values(call.expression.callee, place):
                    found.append((call, place))
        return found[:_MOST_CALLS]

    def handed(
        self,
        path: str,  # noqa: ARG002 - inference knows more
        index: int,  # noqa: ARG002
    ) -> Iterable[tuple[CallExpr, Place, tuple[int, int]]]:
        """Return the arguments beside a function in calls that take it: none here."""
        return ()

    def symbol(self, expression: Expr, place: Place) -> str | None:
        """Return the dotted name, as imported, of an expression; None if no import binds it."""
        name = dotted(expression)
        if name is None:
            return None
        first, _, rest = name.partition(".")
        use = self.use(first, place)
        for binding in use.bindings if use is not None else ():
            if binding.kind == kinds.IMPORTED:
                module, imported, _ = binding.value
                return ".".join(filter(None, (module, imported, rest)))
        return None

    def origins(self, expression: Expr, place: Place) -> Iterator[str]:
        """Yield the dotted names, in packages of others, of what an expression names.

        Imports are followed through the project; for one of its classes, the names are its bases'.
        """
        name = dotted(expression)
        if name is None:
            return
        first, _, rest = name.partition(".")
        use = self.use(first, place)
        if use is None:
            for star in self.modules.summary(place.path).star_imports:
                module, _, level = star.value
                if not level and self._resolved(module, level, place.path) is None:
                    yield f"{module}.{name}"
        elif use.key not in self._used and len(self._used) <= _LONGEST_CHAIN:
            self._used.add(use.key)
            try:
                for binding in use.bindings:
                    yield from self._origins(binding, use.summary, rest)
            finally:
                self._used.discard(use.key)

    def _origins(self, binding: Binding, summary: ModuleSummary, rest: str) -> Iterator[str]:
        path = summary.filename
        if binding.kind == kinds.IMPORTED:
            module, name, level = binding.value
            found = self._resolved(module, level, path)
            if found is None:
                if not level:
                    yield ".".join(filter(None, (module, name, rest)))
                return
            inner = ".".join(filter(None, (name, rest)))
            if inner and self.modules.is_module(found) and found != path:
                yield from self.origins(_named(inner), Place(found, 0, END))
        elif binding.kind == kinds.ASSIGNED and not rest:
            yield from self.origins(binding.value, Place(path, binding.scope, binding.path))
        elif binding.kind == kinds.DEFINED and not rest:
            scope = summary.scopes[binding.value]
            outside = Place(path, max(scope.parent, 0), scope.path)
            for base in scope.bases if scope.kind == "class" else ():
                yield from self.origins(base, outside)


def _named(name: str) -> Expr:
    """Return the expression of a dotted name."""
    first, *others = name.split(".")
    found: Expr = NameExpr(tags.NAME, first)
    for other in others:
        found = AttributeExpr(tags.ATTRIBUTE, found, other)
    return found


def _any_of(
    summary: ModuleSummary, scope: int, name: str, place: Place | None, owner: str = ""
) -> Use:
    """Return the bindings of an attribute; their order is known within one function alone."""
    entry = summary.scopes[scope]
    bindings: Sequence[Binding] = entry.attributes[owner, name] if owner else entry.bindings[name]
    here = place is not None and (place.path, place.scope) == (summary.filename, scope)
    use = place if place is not None else Place(summary.filename, scope, END)
    defined = [b for b in bindings if b.kind not in kinds.STORES]
    stores = [b for b in bindings if b.kind == kinds.ELEMENT or b.kind == kinds.EXTENDED]
    return Use(summary, scope, defined, stores, use.at if here else END, use, name, owner or ".")
