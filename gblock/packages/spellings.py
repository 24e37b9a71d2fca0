"""The names under which the Python code of a package may call some functions.

Names flow: an import gives a function another name, an assignment and an argument give its value
to a variable, a base class gives its constructor to a derived one. Scopes and types are not
regarded, so that there are too many names rather than too few; inference then looks at the calls
that are spelled with one of them, instead of at all calls. Only files that contain such a name are
parsed.
"""

from __future__ import annotations

from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import last_name, without_arguments
from gblock.project.reading.word_index import WordSearch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gblock.project.reading.expressions import Expr
    from gblock.project.reading.modules import Modules
    from gblock.project.reading.summary import AnyCall, Scope

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
        self._asked: set[str] = set()

    @property
    def files(self) -> list[str]:
        """The files that contain a name that was asked for, in their order."""
        return sorted(self._read, key=self._numbers.__getitem__)

    def names(self, asked: Iterable[str]) -> set[str]:
        """Return the names that the values of some names may have, these included."""
        found: set[str] = set()
        self._follow(asked, found)
        return found

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

    def _follow(self, asked: Iterable[str], found: set[str]) -> list[str]:
        """Add names, and those that their values may have, to a set; return the added ones."""
        todo, added = list(asked), []
        while todo:
            name = todo.pop()
            if name in found:
                continue
            found.add(name)
            added.append(name)
            if name not in self._closed:
                self._closed.add(name)
                word = name.removesuffix(_RESULT).removesuffix(_ARGUMENTS)
                for path in self._search.mentioning(word, whole=True):
                    self._take(path)
            todo += self._leads.get(name, ())
        return added

    # -- one file

    def _take(self, path: str) -> None:
        if path in self._read:
            return
        self._read.add(path)
        summary = self._modules.summary(path)
        for scope in summary.scopes:
            outer = summary.scopes[scope.parent] if scope.kind != "module" else None
            self._take_scope(scope, outer)
        for index, call in enumerate(summary.calls):
            self._take_call(call, (self._numbers[path], index))

    def _lead(self, names: Iterable[str], to: str) -> None:
        for name in names:
            if name != to:
                self._leads.setdefault(name, set()).add(to)

    def _take_scope(self, scope: Scope, outer: Scope | None) -> None:
        for name, bound in scope.bindings.items():
            for one in bound:
                if one.kind == kinds.IMPORTED:
                    if one.value.name:
                        self._lead((one.value.name,), name)
                elif one.kind != kinds.STAR_IMPORTED and one.kind != kinds.DEFINED:
                    self._lead(_values(one.value), name)
        for (_, name), values in scope.attributes.items():
            for value in values:
                self._lead(_values(value.value), name)
        for base in scope.bases:
            self._lead(_values(base), scope.name)
        if scope.kind != "function":
            return
        for given in (*scope.returns, *scope.yields):
            self._lead(_values(given.value), scope.name + _RESULT)
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
        for parameter in scope.parameters:
            self._lead((called + _ARGUMENTS,), parameter.name)
            self._lead(_values(parameter.default), parameter.name)

    def _take_call(self, call: AnyCall, place: CallPlace) -> None:
        if call.node != "call":
            self._calls.setdefault(f"{call.node} ", []).append(place)
            return
        callee = call.expression.callee
        name = last_name(callee)
        arguments = (*call.expression.positional, *(value for _, value in call.expression.keywords))
        for spelled in (name,) if name else {*_values(callee)}:
            self._calls.setdefault(spelled, []).append(place)
            for argument in arguments:
                self._lead(_values(argument), spelled.removesuffix(_RESULT) + _ARGUMENTS)


def _values(expression: Expr) -> Iterator[str]:
    """Yield the names of which an expression may be the value, or a container of the value."""
    if expression is None:
        return
    if expression.tag == tags.NAME:
        yield expression.identifier
    elif expression.tag == tags.ATTRIBUTE:
        yield expression.name
    elif expression.tag == tags.CALL:
        name = last_name(expression.callee)
        if name:
            yield name + _RESULT
        else:
            yield from _values(expression.callee)
        for one in expression.positional:
            yield from _values(one)
        for _, one in expression.keywords:
            yield from _values(one)
    elif (
        expression.tag == tags.TUPLE
        or expression.tag == tags.SEQUENCE
        or expression.tag == tags.EITHER
        or expression.tag == tags.BOTH
        or expression.tag == tags.SUM
    ):
        for one in expression.elements:
            yield from _values(one)
    elif expression.tag == tags.MAPPING:
        for _, one in expression.items:
            yield from _values(one)
    elif expression.tag == tags.SUBSCRIPT:
        yield from _values(expression.base)
    elif expression.tag == tags.STAR or expression.tag == tags.AWAIT:
        yield from _values(expression.value)
    elif expression.tag == tags.COMPREHENSION:
        yield from _values(expression.element)
