"""The names under which the Python code of a package may call some functions.

Names flow: an import gives a function another name, an assignment and an argument give its value
to a variable, a base class gives its constructor to a derived one. Types are not regarded, and
scopes only for the variables of functions, so that there are too many names rather than too few;
inference then looks at the calls that are spelled with one of them, instead of at all calls. Only
files that contain such a name are parsed.
"""

from __future__ import annotations

import builtins
import re
from functools import cached_property

from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import last_name, without_arguments
from gblock.project.reading.word_index import WordSearch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from gblock.project.reading.expressions import Expr
    from gblock.project.reading.modules import Modules
    from gblock.project.reading.summary import AnyCall, ModuleSummary, Scope

CallPlace = tuple[int, int]
"""The index of a file, and that of a call in its summary."""

CONSTRUCTORS = ("__init__", "__new__")
_LOOPS = {"__enter__": "with", "__exit__": "with", "__iter__": "for"}
"""The methods that statements call without spelling them."""
_OF_CLASS = frozenset({*CONSTRUCTORS, "cls", "__class__", "type()"})
"""Spellings of a constructor in the methods of its class and of derived classes."""
_RESULT = "()"
_ARGUMENTS = "(…)"
"""The endings of the names for what a function returns, and for what it is called with."""
_KEYWORD = "="
"""The ending of the names for what is passed under a keyword."""
_ENDINGS = _ARGUMENTS + _KEYWORD
"""The characters of all endings."""
_FARTHEST = 6
"""The limit of the steps from a function's name to another name for it. Beyond, nearly all names of
a large package follow from a common one."""
_DEFINITION = re.compile(rb"\b(?:def|class)\s+(\w+)")
_PASSING = frozenset(
    "__import__ cast classmethod copy deepcopy dict enumerate filter frozenset getattr iter list "
    "map max min next object partial partialmethod property proxy reversed set sorted staticmethod "
    "sum super tuple type vars zip".split()
)
"""Functions of the standard library whose result is made of their arguments."""
_OPAQUE = frozenset(dir(builtins)).union(dir(str)) - _PASSING
"""Functions and methods whose result is not made of their arguments."""
_LOCAL = "@"
"""Separates the name of a function's variable from the file and the scope."""
_OWNING = ("function", "comprehension")
"""The kinds of scopes whose variables no other scope sees, except for those inside."""


class Spellings:
    """Find the calls that may be spelled like a function.

    Args:
        modules: The package's files.
        among: The files that are searched; by default all.
    """

    def __init__(self, modules: Modules, among: list[str] | None = None) -> None:
        self._modules = modules
        self._numbers = {path: number for number, path in enumerate(modules.files)}
        self._among = modules.files if among is None else among
        self._search = WordSearch(self._among, modules.data)
        self._read: set[str] = set()
        self._leads: dict[str, set[str]] = {}
        """By name, the names that its value may have, too."""
        self._calls: dict[str, list[CallPlace]] = {}
        self._closed: set[str] = set()
        """The names whose files have all been read: no other name gets their value."""
        self._asked: dict[str, int] = {}

    @property
    def files(self) -> list[str]:
        """The files that contain a name that was asked for, in their order."""
        return sorted(self._read, key=self._numbers.__getitem__)

    def names(self, asked: Iterable[str]) -> set[str]:
        """Return the names that the values of some names may have, these included."""
        found: dict[str, int] = {}
        self._follow(asked, found)
        return set(found)

    def of(self, name: str, owner: str) -> list[CallPlace]:
        """Return the calls that may be spelled like a function, unless returned before.

        Args:
            name: The function's name.
            owner: The name of its class; empty if it has none.
        """
        found = self._follow([owner if owner and name in CONSTRUCTORS else name], self._asked)
        if name in CONSTRUCTORS:
            found += _OF_CLASS
        if name in _LOOPS:
            for path in self._among:
                self._take(path)
            found.append(f"{_LOOPS[name]} ")
        return sorted({place for one in found for place in self._calls.pop(one, ())})

    def _follow(self, asked: Iterable[str], found: dict[str, int]) -> list[str]:
        """Add names, and those that their values may have, to the names with their distances.

        Returns:
            The names that are new, or nearer than before.
        """
        layer, added = dict.fromkeys(asked), []
        for distance in range(_FARTHEST + 1):
            farther: dict[str, None] = {}
            for name in layer:
                if found.get(name, _FARTHEST + 1) <= distance:
                    continue
                found[name] = distance
                added.append(name)
                if name not in self._closed and _LOCAL not in name:
                    self._closed.add(name)
                    for path in self._search.mentioning(name.rstrip(_ENDINGS), whole=True):
                        self._take(path)
                farther.update(dict.fromkeys(self._leads.get(name, ())))
            layer = farther
        return added

    # -- one file

    @cached_property
    def _opaque(self) -> frozenset[str]:
        """`_OPAQUE`, and the functions of the package: what they return is followed."""
        defined: set[bytes] = set()
        for path in self._modules.files:
            defined.update(_DEFINITION.findall(self._modules.data(path)))
        return _OPAQUE.union(one.decode() for one in defined) - _PASSING

    def _take(self, path: str) -> None:
        if path in self._read:
            return
        self._read.add(path)
        names = _FileNames(self._modules.summary(path), self._numbers[path], self._opaque)
        for index in range(len(names.scopes)):
            self._take_scope(index, names)
        for index, call in enumerate(names.summary.calls):
            self._take_call(call, (names.number, index), names)

    def _lead(self, names: Iterable[str], to: str) -> None:
        for name in names:
            if name != to:
                self._leads.setdefault(name, set()).add(to)

    def _take_scope(self, index: int, names: _FileNames) -> None:
        scope = names.scopes[index]
        outer = names.scopes[scope.parent] if scope.kind != "module" else None
        for name, bound in scope.bindings.items():
            own = names.key(name, index)
            for one in bound:
                if one.kind == kinds.IMPORTED:
                    if one.value.name:
                        self._lead((one.value.name,), own)
                elif one.kind == kinds.DEFINED:
                    self._lead((name,), own)
                elif one.kind != kinds.STAR_IMPORTED:
                    self._lead(_values(one.value, names, one.scope), own)
        for (_, name), values in scope.attributes.items():
            for value in values:
                self._lead(_values(value.value, names, value.scope), name)
        for base in scope.bases:
            self._lead(_values(base, names, scope.parent), scope.name)
        if scope.kind != "function":
            return
        for given in (*scope.returns, *scope.yields):
            self._lead(_values(given.value, names, index), scope.name + _RESULT)
        # A call of what the outer function returns is a call of an inner one.
        if outer is not None and outer.kind == "function":
            self._lead((scope.name + _RESULT,), outer.name + _RESULT)
            self._lead((outer.name + _ARGUMENTS,), scope.name + _ARGUMENTS)
        if scope.decorators:
            self._lead((scope.name + _RESULT,), scope.name)
        for decorator in scope.decorators:
            maker = last_name(without_arguments(decorator))
            self._lead((maker + _RESULT,), scope.name)
            self._lead((scope.name,), maker + _ARGUMENTS)
        called = scope.name
        if called in CONSTRUCTORS and outer is not None:
            called = outer.name
        for position, parameter in enumerate(scope.parameters):
            own = names.key(parameter.name, index)
            if position or outer is None or outer.kind != "class" or _is_static(scope):
                self._lead((called + _ARGUMENTS, parameter.name + _KEYWORD), own)
            self._lead(_values(parameter.default, names, scope.parent), own)

    def _take_call(self, call: AnyCall, place: CallPlace, names: _FileNames) -> None:
        if call.node != "call":
            self._calls.setdefault(f"{call.node} ", []).append(place)
            return
        expression, scope = call.expression, call.scope
        callee = expression.callee
        name = last_name(callee)
        spellings = {*_values(callee, names, scope)}
        if name and (callee is None or callee.tag != tags.NAME):
            spellings = {name}
        elif name in _OF_CLASS:
            spellings.add(name)
        called = [name] if name else [one.partition(_LOCAL)[0] for one in spellings]
        if name in CONSTRUCTORS:
            called += names.constructed(scope)
        for spelled in spellings:
            self._calls.setdefault(spelled, []).append(place)
        arguments = (*expression.positional, *(value for _, value in expression.keywords))
        for argument in arguments:
            for one in called:
                values = _values(argument, names, scope)
                self._lead(values, one.removesuffix(_RESULT) + _ARGUMENTS)
        for keyword, argument in expression.keywords:
            if keyword:
                self._lead(_values(argument, names, scope), keyword + _KEYWORD)


class _FileNames:
    """The keys of the names in one file.

    A variable of a function has a key of its own, as no other function sees it.

    Args:
        summary: The file's summary.
        number: The file's index.
        opaque: The functions of whose arguments the result is not made.
    """

    def __init__(self, summary: ModuleSummary, number: int, opaque: Container[str]) -> None:
        self.summary = summary
        self.scopes = summary.scopes
        self.number = number
        self.opaque = opaque

    def key(self, name: str, scope: int) -> str:
        """Return the key of a name that a scope binds."""
        if self.scopes[scope].kind in _OWNING:
            return f"{name}{_LOCAL}{self.number}:{scope}"
        return name

    def keys(self, name: str, scope: int) -> Iterator[str]:
        """Yield the keys that a name may have where a scope uses it."""
        is_bound = False
        while scope > 0:
            one = self.scopes[scope]
            if name in one.bindings:
                is_bound = True
                yield self.key(name, scope)
            scope = one.parent
        if not is_bound or name in self.scopes[0].bindings:
            yield name

    def constructed(self, scope: int) -> list[str]:
        """Return the class around a scope and its bases, which ``super().__init__()`` calls."""
        owner = self.summary.class_around(scope)
        bases = map(last_name, self.scopes[owner].bases)
        return [self.scopes[owner].name, *filter(None, bases)] if owner else []


def _is_static(scope: Scope) -> bool:
    return any(last_name(one) == "staticmethod" for one in scope.decorators)


def _values(expression: Expr, names: _FileNames, scope: int) -> Iterator[str]:
    """Yield the names of which an expression may be the value, or a container of the value."""
    if expression is None:
        return
    if expression.tag == tags.NAME:
        yield from names.keys(expression.identifier, scope)
    elif expression.tag == tags.ATTRIBUTE:
        yield expression.name
    elif expression.tag == tags.CALL:
        name = last_name(expression.callee)
        if name:
            yield name + _RESULT
        else:
            yield from _values(expression.callee, names, scope)
        if name in names.opaque:
            return
        for one in expression.positional:
            yield from _values(one, names, scope)
        for _, one in expression.keywords:
            yield from _values(one, names, scope)
    elif (
        expression.tag == tags.TUPLE
        or expression.tag == tags.SEQUENCE
        or expression.tag == tags.EITHER
        or expression.tag == tags.BOTH
        or expression.tag == tags.SUM
    ):
        for one in expression.elements:
            yield from _values(one, names, scope)
    elif expression.tag == tags.MAPPING:
        for _, one in expression.items:
            yield from _values(one, names, scope)
    elif expression.tag == tags.SUBSCRIPT:
        yield from _values(expression.base, names, scope)
    elif expression.tag == tags.STAR or expression.tag == tags.AWAIT:
        yield from _values(expression.value, names, scope)
    elif expression.tag == tags.COMPREHENSION:
        yield from _values(expression.element, names, expression.scope)
