"""Functions that a container keeps: tables of handlers, lists of hooks, registers of commands."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial
from operator import itemgetter
from typing import Literal, TypeAlias

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import unwrapped
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, ValueBinding
from gblock.project.reading.expressions import (
    CallExpr,
    ElementsExpr,
    Expr,
    dotted,
    functions_named,
    is_display,
    last_name,
    members,
    owner_of,
    without_arguments,
)
from gblock.project.reading.summary import Call, ModuleSummary, Parameter
from gblock.project.reading.word_index import is_listed, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from gblock.project.names.inference import Inference
else:
    from gblock.lean import NamedTuple

_Stores: TypeAlias = dict[str | int, list[tuple[Binding, str]]]
"""The stores of a module by the name of what is stored: the binding and the container."""
_Arguments: TypeAlias = dict[str | int, list[tuple[Call, int | str, bool]]]
"""The arguments of a module's calls by the last name of what is given."""
_Called: TypeAlias = tuple[Call, Expr, Place | None]
"""A call, its callee, and its place if the callee may be an element of a container."""
_CallsKey: TypeAlias = str | tuple[str, ...]
"""A name of attributes that calls have as their callees, or another key of `Keeping._by_key`."""
_Target: TypeAlias = tuple[str, str, int]
"""The kind, the file and the scope of what a call leads to."""
_Leading: TypeAlias = dict[_Target, list[tuple[int, Call]]]
"""Calls, with their numbers, by what they lead to."""
_NAMED = (tags.NAME,)
"""The key of calls of names that no definition and no import gives."""
_TAKEN = (tags.SUBSCRIPT,)
"""The key of calls of elements of something."""
_MOST_FILES = 12
"""If more files mention a container or a function, only those near it are read."""
_IMPORTING = (b"from ", b"import ")
"""The starts of import statements."""
_MOST_PATTERNS = 1_000
"""At most this many patterns for containers are kept."""
_MOST_GETTERS = 12
"""At most this many functions that return what a container keeps are followed."""
_MOST_ABSORBING = 12
"""At most about this many containers that take over what others hold are followed."""
_ABSORBED = re.compile(
    rb"(?:\.(?:update|extend)\(\s*|[+|]=\s*|\*)(?=((?:[\w\x80-\xff]+\.){0,3}[\w\x80-\xff]+))"
)
"""The places where a container takes over what another one holds, with the name of that one."""
_TAKING_OUT = frozenset({"get", "pop", "setdefault", "values", "items", "copy"})
"""Methods of a container that give something of what it holds."""
_MAKERS = frozenset(
    "dict OrderedDict MappingProxyType ChainMap SimpleNamespace list tuple set frozenset deque "
    "sorted reversed enumerate zip map filter chain".split()
)
"""The functions that make a container, or an iterator, of what their arguments are or hold."""
_TAKING = (tags.SUBSCRIPT, tags.CALL, tags.EITHER)
"""The callees that may be taken out of a display."""
_HOLDING = (kinds.ASSIGNED, kinds.LOOPED)
"""The bindings that give a name a container, or what is in one: ``for run in [place, pay]``."""
_FUNCTIONS = (tags.NAME, tags.ATTRIBUTE, tags.LAMBDA)
"""The arguments that may be a function."""
_CALLEES = (tags.SUBSCRIPT, tags.CALL, tags.NAME)
"""The callees that may be an element of a container: ``table[key]()``, ``handler()``."""


class Container(NamedTuple):
    """A variable, attribute or parameter that keeps something."""

    name: str
    path: str
    """The module whose code puts something into it, or defines it."""


class Keeping:
    """Finds the containers that keep a function, and the calls of what they keep.

    Args:
        inference: Type inference over the project.
    """

    OF_FILES = (
        "_stored", "_calls", "_by_callee", "_returning", "_passed",
        "_given_names", "_given_objects", "_taken_at_once", "_absorbed_names", "_used", "_holders",
    )  # fmt: skip
    """The tables that the files alone decide."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._stored: dict[str, _Stores] = {}
        self._objects_named: dict[tuple[str, int], list[str]] = {}
        self._calls: dict[str, list[_Called]] = {}
        self._by_callee: dict[str, dict[_CallsKey, list[tuple[int, _Called]]]] = {}
        """By file and key the calls, with their numbers."""
        self._returning: dict[tuple[str, str], list[tuple[str, list[str]]]] = {}
        """By name and file the functions that return what the name holds."""
        self._passed: dict[str, _Arguments] = {}
        self._taken_at_once: dict[str, dict[str | int, list[Call]]] = {}
        self._given_names: dict[str, dict[str, list[tuple[Call, int]]]] = {}
        self._given_objects: dict[str, dict[str, list[int]]] = {}
        self._holders: dict[str, tuple[dict[str, set[str]], dict[str, set[str]]]] = {}
        self._used: dict[tuple[str, str], bool] = {}
        """By file and name whether the file may take something out of what has the name."""
        self._led_to: dict[str, dict[int, tuple[_Target, ...]]] = {}
        """By file and number what a call leads to."""
        self._leading: dict[tuple[str, _CallsKey], tuple[frozenset[str], _Leading]] = {}
        """By file and key of its calls the calls by what they lead to, with the files of that."""
        self._containers: dict[tuple[str, int], frozenset[Container]] = {}
        self._absorbed_names: dict[str, bytes] = {}

    def containers(self, summary: ModuleSummary, index: int) -> set[Container]:
        """Return the containers that a function is put into.

        A display names it, a statement stores it, or a decorator does.
        """
        found = self.inference.remembered(
            self._containers,
            (summary.filename, index),
            lambda: frozenset(self._find_containers(summary, index)),
        )
        return set(found)

    def _find_containers(self, summary: ModuleSummary, index: int) -> set[Container]:
        scope = summary.scopes[index]
        if scope.kind == "lambda":
            return self._stored_under(summary, index) | self._taken(summary, index)
        found: set[Container] = set()
        outer = summary.scopes[scope.parent]
        makers = [outer.name] if outer.kind == "function" and outer.returns else []
        for name in (scope.name, *makers):
            naming = self.modules.naming(name, summary.filename, _MOST_FILES)
            for path in dict.fromkeys([summary.filename, *naming]):
                other = self.modules.summary(path)
                found |= self._stored_under(other, name)
                found |= self._taken(other, name)
        if makers:  # add(name, handler, wrapper): table[name] = wrapper(handler)
            for call, at, position in self.inference.calling.handovers(
                summary.filename, scope.parent
            ):
                if position is not None:
                    found |= self._kept_by(call, at, position)
        found |= self.inference.members.containers(summary, index)
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            decorating = self.inference.infer(decorator, place)
            for value in self.inference.callees.functions(decorating):
                if value.kind == v.FUNCTION:
                    found |= self.stored(value, None)
        return self._absorbing(found)

    def _absorbing(self, containers: set[Container]) -> set[Container]:
        """Return containers, and those that take over what these hold: ``table.update(more)``.

        With them the parameters that are given one: ``dispatch(request, table)``.
        """
        found, waiting = set(containers), sorted(containers)
        for one in waiting:
            if len(found) >= _MOST_ABSORBING:
                break
            for path in self._mentioning({one}):
                summary = self.modules.summary(path)
                new = self._given_to(summary, one.name) if one in containers else set()
                if is_listed(one.name, self._absorbed(path)):
                    new |= self._stored_under(summary, one.name)
                waiting += sorted(new - found)
                found |= new
        return found

    def _given_to(self, summary: ModuleSummary, name: str) -> set[Container]:
        """Return the parameters of other modules' functions that are given what a name holds."""
        found: set[Container] = set()
        own = summary.scopes[0].bindings
        for call, position, alone in self._arguments(summary).get(name, ()):
            callee = call.expression.callee
            first = (dotted(callee) or "").partition(".")[0]
            is_other = any(one.kind == kinds.IMPORTED for one in own.get(first, ()))
            if alone and (is_other or first not in own):
                place = Place(summary.filename, call.scope, call.path)
                for value in map(unwrapped, self.inference.infer(callee, place)):
                    if value.kind == v.FUNCTION and value.path != summary.filename:
                        found |= self._parameter(value, position)
        return found

    def _absorbed(self, path: str) -> bytes:
        """Return the names, and the parts of dotted names, of what containers take over."""
        found = self._absorbed_names.get(path)
        if found is None:
            names = set(_ABSORBED.findall(self.modules.data(path)))
            found = self._absorbed_names[path] = listed({*b".".join(names).split(b".")})
        return found

    def of_objects(self, summary: ModuleSummary, index: int) -> set[Container]:
        """Return the containers that a class, or an object of it, is put into.

        A display or a statement names it, a decorator of the class stores it, or what takes it as
        an argument: ``bus.connect(Scorer())``.
        """
        found = self.containers(summary, index)
        own = (summary.filename, index)
        for path in self.naming_objects(summary, index):
            other = self.modules.summary(path)
            names = {summary.scopes[index].name, *self.holders(path, summary.scopes[index].name)}
            for name in sorted(names):
                found |= self._stored_under(other, name)
            given = self._objects_given(other)
            for number in sorted({one for name in names for one in given.get(name, ())}):
                call = other.calls[number]
                if call.node != "call":
                    continue
                place = Place(path, call.scope, call.path)
                for position, argument in enumerate(call.expression.positional):
                    values = self.inference.infer(argument, place)
                    if any(v.comes_from(value, *own) for value in values):
                        found |= self._kept_by(call, place, position)
        return found

    def _objects_given(self, summary: ModuleSummary) -> dict[str, list[int]]:
        """Return the numbers of a module's calls by the last names of what they are given.

        The name of an object that an argument makes is that of its class.
        """
        found = self._given_objects.get(summary.filename)
        if found is None:
            found = self._given_objects[summary.filename] = {}
            for number, call in enumerate(summary.calls):
                if call.node == "call":
                    for name in _given(call.expression):
                        found.setdefault(name, []).append(number)
        return found

    def _kept_by(self, call: Call, place: Place, position: int) -> set[Container]:
        """Return the containers into which a callee puts an argument."""
        found: set[Container] = set()
        for value in map(unwrapped, self.inference.infer(call.expression.callee, place)):
            if value.kind == v.CLASS:
                found |= self._parameter(value, position)
            elif value.kind == v.FUNCTION:
                parameters = self.modules.summary(value.path).scopes[value.scope].parameters
                at = position + (value.receiver is not None)
                if at < len(parameters):
                    found |= self.stored(value, parameters[at].name)
        return found

    def stored(self, function: v.FunctionValue, name: str | None) -> set[Container]:
        """Return the containers that a function puts one of its parameters into.

        ``*functions`` is one itself.

        Args:
            function: The function.
            name: The parameter; None for the first that is no receiver.
        """
        summary = self.modules.summary(function.path)
        if name is None:
            parameters = summary.scopes[function.scope].parameters
            of_class = summary.scopes[summary.scopes[function.scope].parent].kind == "class"
            if len(parameters) <= of_class:
                return set()
            name = parameters[int(of_class)].name
        parameters = summary.scopes[function.scope].parameters
        collecting = {
            Container(one.name, function.path)
            for one in parameters
            if one.name == name and one.kind == "*"
        }
        found = collecting | self._stored_under(summary, name, function.scope)
        return found | self._kept_by_objects(summary, function.scope, name)

    def _stored_under(
        self, summary: ModuleSummary, key: str | int, within: int = 0
    ) -> set[Container]:
        """Return the containers into which a module puts something.

        What a container class of the project puts into ``self`` is in all its objects.

        Args:
            summary: The module.
            key: What is stored: a last name, or the scope of a lambda.
            within: The scope whose stores count; 0 for all.
        """
        found: set[Container] = set()
        for binding, word in self._stores(summary).get(key, ()):
            if not summary.is_within(binding.scope, within):
                continue
            owner = self.inference.containers.owner(summary, binding.scope, word)
            kept = {Container(word, self._home(summary, word))}
            found |= kept if owner is None else self._objects(summary, owner)
        for call, given in self.inference.containers.puts(summary):
            if key in _keys(given) and summary.is_within(call.scope, within):
                owner = summary.class_around(call.scope)
                if owner and self.inference.containers.is_container(summary.filename, owner):
                    found |= self._objects(summary, owner)
        return found

    def _home(self, summary: ModuleSummary, name: str) -> str:
        """Return the module that a name of a module is imported from, or this one."""
        bindings = summary.scopes[0].bindings.get(name, ())
        imported = [one.value for one in bindings if one.kind == kinds.IMPORTED]
        if not imported and all(one.kind in kinds.STORES for one in bindings):
            imported = [one.value for one in summary.star_imports]
        for module, _, level in imported:
            path = self.modules.resolve(module, level, summary.filename)
            if path is not None and self.modules.is_module(path):
                if name in self.modules.summary(path).scopes[0].bindings:
                    return path
        return summary.filename

    def _objects(self, summary: ModuleSummary, index: int) -> set[Container]:
        """Return the variables and attributes that hold objects of a class."""
        targets = [(summary.filename, index)]
        heirs = self.inference.calling.subclasses(summary.filename, index)
        targets += [(one.path, one.scope) for one in heirs]
        found: set[Container] = set()
        for path, scope in targets:
            other = self.modules.summary(path)
            for file in self.naming_objects(other, scope):
                holders = self.holders(file, other.scopes[scope].name, everywhere=True)
                found.update(Container(word, file) for word in holders)
        return found

    def _kept_by_objects(self, summary: ModuleSummary, index: int, name: str) -> set[Container]:
        """Return the attributes of objects that a function makes with one of its parameters."""
        found: set[Container] = set()
        for call, position in self._names_given(summary).get(name, ()):
            if summary.is_within(call.scope, index):
                place = Place(summary.filename, call.scope, call.path)
                for value in self.inference.infer(call.expression.callee, place):
                    if value.kind == v.CLASS:
                        found |= self._parameter(value, position)
        return found

    def _names_given(self, summary: ModuleSummary) -> dict[str, list[tuple[Call, int]]]:
        """Return the calls of a module that are given a plain name, by this name."""
        found = self._given_names.get(summary.filename)
        if found is None:
            found = self._given_names[summary.filename] = {}
            for call in summary.calls:
                if call.node == "call":
                    for position, argument in enumerate(call.expression.positional):
                        if argument is not None and argument.tag == tags.NAME:
                            found.setdefault(argument.identifier, []).append((call, position))
        return found

    def _taken(self, summary: ModuleSummary, key: str | int) -> set[Container]:
        """Return the parameters that collect a function: ``Pipeline([parse])``, ``Chain(parse)``.

        With them the attributes that keep such a parameter.

        Args:
            summary: The module of the calls.
            key: The function's name, or the scope of a lambda.
        """
        found: set[Container] = set()
        for call, position, alone in self._arguments(summary).get(key, ()):
            place = Place(summary.filename, call.scope, call.path)
            for value in map(unwrapped, self.inference.infer(call.expression.callee, place)):
                if value.kind == v.FUNCTION or value.kind == v.CLASS:
                    found |= self._parameter(value, position, collects=alone)
        return found

    def _arguments(self, summary: ModuleSummary) -> _Arguments:
        """Return the calls that are given something alone or in a display, by its last name.

        With each the position or the name of the argument, and whether it is given alone.
        """
        found = self._passed.get(summary.filename)
        if found is None:
            found = self._passed[summary.filename] = {}
            for call in summary.calls:
                if call.node != "call" or is_display(call.expression, _MAKERS):
                    continue
                given: list[tuple[int | str, Expr]] = [*enumerate(call.expression.positional)]
                given += [(name, one) for name, one in call.expression.keywords if name]
                for position, argument in given:
                    if _is_shown(argument):
                        for part in _parts(argument):
                            found.setdefault(_key(part), []).append((call, position, False))
                    elif argument is not None and argument.tag in _FUNCTIONS:
                        found.setdefault(_key(argument), []).append((call, position, True))
        return found

    def attributes(self, call: Call, place: Place, position: int | str) -> set[Container]:
        """Return the attributes in which an object keeps an argument of its constructor.

        Args:
            call: The call that makes the object.
            place: Its place.
            position: The position or the name of the argument.
        """
        return {
            one
            for value in map(unwrapped, self.inference.infer(call.expression.callee, place))
            if value.kind == v.CLASS
            for one in self._parameter(value, position)
        }

    def _parameter(
        self,
        taker: v.FunctionValue | v.ScopeValue,
        position: int | str,
        *,
        collects: bool = False,
    ) -> set[Container]:
        """Return a parameter of a function or class, and the attributes that it sets.

        Args:
            taker: The function or class.
            position: The position or the name of the argument.
            collects: True for ``*args`` and ``**kwargs`` alone.
        """
        summary = self.modules.summary(taker.path)
        index = taker.scope
        shift = 1
        if taker.kind == v.FUNCTION:
            shift = int(taker.receiver is not None)
        else:
            made = summary.scopes[index].bindings.get("__init__", ())
            index = next((one.value for one in made if one.kind == kinds.DEFINED), index)
        parameters = summary.scopes[index].parameters
        names = [one.name for one in parameters]
        if collects:
            position = _collecting(parameters, position, shift)
        elif index == taker.scope and taker.kind == v.CLASS:  # its ``__init__`` is generated
            shift, bound = 0, summary.scopes[index].bindings
            names = [
                name
                for name, bindings in bound.items()
                if any(one.kind == kinds.ANNOTATED for one in bindings)
            ]
        if isinstance(position, int):
            names = names[position + shift :][:1] or names[-1:]
            position = names[0] if names else ""
        if position not in names:
            return set()
        kept = {
            attribute
            for (_, attribute), bindings in summary.scopes[index].attributes.items()
            if any(_key(one.value) == position or _wraps(one.value, position) for one in bindings)
        }
        return {Container(name, taker.path) for name in (position, *kept)}

    def _stores(self, summary: ModuleSummary) -> _Stores:
        """Return what a module stores in containers, with the container's name.

        The keys are the last names of what is stored, or the scopes of lambdas.
        """
        found = self._stored.get(summary.filename)
        if found is None:
            found = self._stored[summary.filename] = {}
            for scope in summary.scopes:
                for word, bindings in scope.bound():
                    for binding in bindings if word != kinds.ANY_NAME else ():
                        if not isinstance(binding, ValueBinding):
                            continue
                        holding = binding.kind in _HOLDING
                        shown = _shown(binding.value) if holding else binding.value
                        keys: set[str | int] = set()
                        if shown is not None and (holding or binding.kind in kinds.STORES):
                            keys.update(key for part in _parts(shown) for key in _keys(part))
                        elif holding and (taken := last_name(_holder(binding.value))):
                            keys.add(taken)  # ``handlers.extend(HOOKS[kind].get(name, []))``
                        for key in keys:
                            found.setdefault(key, []).append((binding, word))
        return found

    def holders(self, path: str, name: str, *, everywhere: bool = False) -> set[str]:
        """Return the names of a module's variables that hold an object of a class.

        Args:
            path: The module.
            name: The class's name.
            everywhere: True for local variables and attributes, too.
        """
        of_module, anywhere = self._holding(path)
        return {*of_module.get(name, ()), *(anywhere.get(name, ()) if everywhere else ())}

    def _holding(self, path: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        """Return by class the names of a module's variables that hold objects, and of all names."""
        found = self._holders.get(path)
        if found is None:
            summary = self.modules.summary(path)
            bound = (one for scope in summary.scopes for one in scope.bound())
            of_module = _made_by_class(summary.scopes[0].bindings.items())
            found = self._holders[path] = (of_module, _made_by_class(bound))
        return found

    def naming_objects(self, summary: ModuleSummary, index: int) -> list[str]:
        """Return the files that mention a class, or a variable that holds an object of it."""
        key = (summary.filename, index)
        found = self._objects_named.get(key)
        if found is None:
            found = self._objects_named[key] = self._naming_objects(summary, index)
        return list(found)

    def _naming_objects(self, summary: ModuleSummary, index: int) -> list[str]:
        name = summary.scopes[index].name
        paths = dict.fromkeys([summary.filename])
        paths.update(dict.fromkeys(self.modules.nearest(name, summary.filename, _MOST_FILES)))
        for path in list(paths):
            for word in sorted(self.holders(path, name)):
                paths.update(dict.fromkeys(self.modules.naming(word, path, _MOST_FILES)))
        paths.update(dict.fromkeys(self.naming_module(summary)))
        return list(paths)

    def naming_module(self, summary: ModuleSummary) -> list[str]:
        """Return the files that mention a module by its last name, of many the first ones."""
        directory, file = os.path.split(summary.filename)
        stem = file.partition(".")[0]
        word = os.path.basename(directory) if stem == "__init__" else stem
        return self.modules.mentioning(word, whole=True)[:_MOST_FILES]

    def handovers(
        self, containers: set[Container], path: str, index: int, verbs: AbstractSet[str]
    ) -> Iterator[tuple[Call, Place, int | None, Expr]]:
        """Yield the calls that hand over a function that one of some containers keeps.

        With each, the position of the argument, None for a keyword argument, and the argument.

        Args:
            containers: The containers.
            path: The function's module.
            index: Its scope.
            verbs: The last names of the callees, or of what a callee is the result of.
        """
        words = {one.name for one in containers}
        for file in self._mentioning(containers):
            by_name = self.inference.calling.calls_by_name(file)
            calls = [call for verb in sorted(verbs & by_name.keys()) for call in by_name[verb]]
            for call in by_name.get("", ()):  # route(path)(handler)
                if last_name(without_arguments(call.expression.callee)) in verbs:
                    calls.append(call)
            for call in calls:
                place = Place(file, call.scope, call.path)
                given: list[tuple[int | None, Expr]] = [*enumerate(call.expression.positional)]
                given += [(None, value) for _, value in call.expression.keywords]
                for position, argument in given:
                    if _may_be_kept(argument, words) and v.includes(
                        self.inference.infer(argument, place), v.FUNCTION, path, index
                    ):
                        yield call, place, position, argument

    def _mentioning(self, containers: set[Container]) -> list[str]:
        """Return the files that may mention containers; of many, those near each."""
        naming = self.modules.naming
        return sorted(
            {
                file
                for name, path in containers
                for file in naming(name, path, _MOST_FILES, self._takes_from(name))
            }
        )

    def _takes_from(self, name: str) -> Callable[[str], bool]:
        """Return a function that finds out whether a file may take something out of a container."""

        def takes(path: str) -> bool:
            found = self._used.get((path, name))
            if found is None:
                found = self._used[path, name] = _is_used(self.modules.data(path), name)
            return found

        return takes

    def _getting(self, containers: set[Container]) -> dict[str, list[str]]:
        """Return the functions that return what a container keeps, by the files that mention them.

        The name of a special method is empty.
        """
        found: dict[str, list[str]] = {}
        waiting = [
            (one.name, file) for one in sorted(containers) for file in self._mentioning({one})
        ]
        seen = {word for word, _ in waiting}
        for word, file in waiting:
            for name, files in self._getters(word, file):
                for other in files:
                    found.setdefault(other, []).append("" if name.startswith("__") else name)
                if name not in seen and not name.startswith("__") and len(seen) < _MOST_GETTERS:
                    seen.add(name)
                    waiting += [(name, other) for other in files]
        return found

    def _getters(self, word: str, file: str) -> list[tuple[str, list[str]]]:
        """Return the functions of a file that mention a name and return something.

        With each, the files that may call it.
        """
        key = (word, file)
        found = self._returning.get(key)
        if found is None:
            found = self._returning[key] = []
            summary = self.modules.summary(file)
            rows = _rows_with(self.modules.data(file), word)
            for index, scope in enumerate(summary.scopes):
                if scope.kind != "function" or scope.name == word:
                    continue
                if not (scope.returns or scope.yields):
                    continue
                following = bisect_left(rows, scope.rows[0])
                if following < len(rows) and rows[following] <= scope.rows[1]:
                    found.append((scope.name, self._calling(summary, index)))
        return found

    def _calling(self, summary: ModuleSummary, index: int) -> list[str]:
        """Return the files that may call a function; of many, those near it."""
        scope = summary.scopes[index]
        if summary.scopes[scope.parent].kind == "class":
            naming = self.naming_objects(summary, scope.parent)
            if scope.name.startswith("__"):
                return naming
            return [one for one in naming if one in self.modules.mentioning(scope.name)]
        return self.modules.naming(scope.name, summary.filename, _MOST_FILES)

    def callers(
        self,
        containers: set[Container],
        path: str,
        index: int,
        *,
        kind: Literal["function", "class", "object"] = v.FUNCTION,
        getters: bool = True,
    ) -> Iterator[tuple[str, Call]]:
        """Yield the calls of a function that one of some containers keeps, with their files.

        Args:
            containers: The containers.
            path: The function's module.
            index: Its scope, or that of a class.
            kind: The kind of what is called: the class or its objects.
            getters: Whether to follow functions that return what a container keeps.
        """
        words = {one.name for one in containers}
        mentioning = self._mentioning(containers)
        getting = self._getting(containers) if getters else {}
        target = (kind, path, index)
        for file in sorted({*mentioning, *getting}):
            if file in mentioning:
                keys: tuple[_CallsKey, ...] = ("", *sorted(words - {""}))
            else:
                names = {*getting.get(file, ())}
                keys = (_NAMED, *([_TAKEN] if "" in names else ()))
                keys = (*keys, *((tags.CALL, name) for name in sorted(names)))
            numbered = [one for key in keys for one in self._leading_to(file, key, target)]
            for _, call in sorted(numbered, key=itemgetter(0)):
                yield file, call

    def _leading_to(self, file: str, key: _CallsKey, target: _Target) -> Sequence[tuple[int, Call]]:
        """Return those of a file's calls with a key that run a function or an object.

        Args:
            file: The file.
            key: The key of the calls, as in `_by_key`.
            target: The kind of what is called, its file and its scope.
        """
        calls = self._by_key(file).get(key)
        if calls is None:
            return ()
        _, leading = self.inference.remembered(
            self._leading, (file, key), lambda: self._targets(file, calls)
        )
        return leading.get(target, ())

    def _targets(
        self, file: str, calls: Sequence[tuple[int, _Called]]
    ) -> tuple[frozenset[str], _Leading]:
        """Return calls by what they lead to, and the files of that."""
        found: _Leading = {}
        known = self._led_to.setdefault(file, {})
        for number, called in calls:
            targets = known.get(number)
            if targets is None:
                targets = self.inference.remembered(
                    known, number, partial(self._targets_of, file, called)
                )
            for one in targets:
                found.setdefault(one, []).append((number, called[0]))
        return frozenset(path for _, path, _ in found), found

    def _targets_of(self, file: str, called: _Called) -> tuple[_Target, ...]:
        """Return what a call leads to."""
        call, callee, place = called
        values = self.inference.infer(callee, place or Place(file, call.scope, call.path))
        if not values:
            return ()
        inner = map(unwrapped, values)
        return (
            *{
                (one.kind, one.path, one.scope)
                for one in inner
                if one.kind in (v.CLASS, v.OBJECT, v.FUNCTION)
            },
        )

    def taken_at_once(
        self, path: str, index: int, kind: Literal["function", "class"]
    ) -> Iterator[tuple[str, Call]]:
        """Yield the calls that take a function or class out of a display: ``{"a": place}[key]()``.

        Args:
            path: The function's module.
            index: Its scope.
            kind: Whether it is a function or a class.
        """
        scope = self.modules.summary(path).scopes[index]
        is_lambda = scope.kind == "lambda"
        for file in [path] if is_lambda else self._mentioning({Container(scope.name, path)}):
            for call in self._taking(file).get(index if is_lambda else scope.name, ()):
                place = Place(file, call.scope, call.path)
                values = self.inference.infer(call.expression.callee, place)
                if v.includes(values, kind, path, index):
                    yield file, call

    def _taking(self, file: str) -> dict[str | int, list[Call]]:
        """Return the calls of a file whose callee is taken out of a display, by its members."""
        found = self._taken_at_once.get(file)
        if found is None:
            found = self._taken_at_once[file] = {}
            for call in self.modules.summary(file).calls:
                if call.node != "call" or call.expression.callee is None:
                    continue
                callee = call.expression.callee
                if callee.tag not in _TAKING:
                    continue
                for part in _parts(_shown(callee)):
                    for key in _keys(part):
                        found.setdefault(key, []).append(call)
        return found

    def _by_key(self, file: str) -> dict[_CallsKey, list[tuple[int, _Called]]]:
        """Return the calls of a file whose callee may be what a container keeps, with numbers.

        The key of a call of an attribute is its name, and empty for all others. Those whose callee
        no definition and no import names are there once more: names, elements of something, and
        calls by what is called first.
        """
        found = self._by_callee.get(file)
        if found is None:
            found = self._by_callee[file] = {}
            summary = self.modules.summary(file)
            bound = {name for scope in summary.scopes for name in scope.bindings}
            given = {
                name
                for scope in summary.scopes
                for name, bindings in scope.bindings.items()
                if any(one.kind not in (kinds.DEFINED, kinds.IMPORTED) for one in bindings)
            }
            for number, one in enumerate(self._called(file)):
                callee = one[1]
                if callee is None:
                    continue
                if callee.tag == tags.ATTRIBUTE:
                    found.setdefault(callee.name, []).append((number, one))
                elif callee.tag == tags.NAME:
                    # A builtin is nothing of the project; ``*`` may import any name.
                    if callee.identifier in bound or summary.star_imports:
                        found.setdefault("", []).append((number, one))
                    if callee.identifier in given:
                        found.setdefault(_NAMED, []).append((number, one))
                elif callee.tag == tags.SUBSCRIPT:
                    found.setdefault("", []).append((number, one))
                    found.setdefault(_TAKEN, []).append((number, one))
                elif callee.tag == tags.CALL:
                    found.setdefault("", []).append((number, one))
                    called = (tags.CALL, last_name(callee.callee))
                    found.setdefault(called, []).append((number, one))
        return found

    def _called(self, file: str) -> list[_Called]:
        """Return the calls of a file."""
        found = self._calls.get(file)
        if found is None:
            found = self._calls[file] = [
                (
                    call,
                    callee,
                    Place(file, call.scope, call.path) if callee.tag in _CALLEES else None,
                )
                for call in self.modules.summary(file).calls
                if call.node == "call" and (callee := call.expression.callee) is not None
            ]
        return found


def _made_by_class(bound: Iterable[tuple[str, Sequence[Binding]]]) -> dict[str, set[str]]:
    """Return the names that are assigned the result of a call, by the last name of its callee."""
    found: dict[str, set[str]] = {}
    for word, bindings in bound:
        for binding in bindings:
            if binding.kind == kinds.ASSIGNED and binding.value is not None:
                if binding.value.tag == tags.CALL:
                    found.setdefault(last_name(binding.value.callee), set()).add(word)
    return found


def _is_used(data: bytes, name: str) -> bool:
    """Return whether a file does more with a name than to import it and to store something."""
    for match in _uses(name).finditer(data):
        row = data.rfind(b"\n", 0, match.start()) + 1
        if not data.startswith(_IMPORTING, row):
            return True
    return False


@lru_cache(maxsize=_MOST_PATTERNS)
def _uses(name: str) -> re.Pattern[bytes]:
    """Return a pattern for the places of a name that store nothing under it."""
    word = re.escape(name.encode())
    stores = rb"[ \t]*=[^=]|\[[^\]\n]*\][ \t]*=[^=]|\.(?:add|append|appendleft|extend|insert)\("
    return re.compile(rb"%s(?<!\w%s)\b(?!%s)" % (word, word, stores))  # literal first: fast


def _may_be_kept(expression: Expr, words: set[str]) -> bool:
    """Return whether an expression can be what a container, or an attribute, keeps."""
    if expression is None:
        return False
    is_attribute = expression.tag == tags.ATTRIBUTE and expression.name in words
    return is_attribute or expression.tag in _CALLEES


def _shown(value: Expr) -> Expr:
    """Return a display, or the one that a value is taken out of: ``{"a": place}[key]``."""
    taken = value
    if value is not None and value.tag == tags.SUBSCRIPT:
        taken = value.base
    elif value is not None and value.tag == tags.EITHER:
        taken = ElementsExpr(tags.SEQUENCE, value.elements)
    elif value is not None and value.tag == tags.CALL and last_name(value.callee) == "get":
        taken = owner_of(value.callee)
    return taken if _is_shown(taken) else None


def _is_shown(value: Expr) -> bool:
    """Return whether an expression makes a container, and writes what it holds."""
    return is_display(value, _MAKERS) or (value is not None and value.tag == tags.COMPREHENSION)


def _parts(value: Expr) -> Iterator[Expr]:
    """Yield what an expression puts into the container that it makes.

    The element of a comprehension is one part: ``{name: wrap(run) for name, run in pairs}``.
    """
    for one in members(value, makers=_MAKERS):
        if one is not None and one.tag == tags.COMPREHENSION:
            yield from _parts(one.element)
        else:
            yield one


def _wraps(value: Expr, name: str) -> bool:
    """Return whether a value is a copy of what a name holds: ``list(handlers)``."""
    if value is None or value.tag != tags.CALL or not value.positional:
        return False
    return _key(value.positional[0]) == name


def _collecting(parameters: Sequence[Parameter], position: int | str, shift: int) -> str:
    """Return the name of ``*args`` or ``**kwargs`` if it collects an argument, else an empty text.

    Args:
        parameters: The parameters.
        position: The position or the name of the argument.
        shift: The number of implicit arguments.
    """
    if isinstance(position, int):
        return next((one.name for one in parameters[: position + shift + 1] if one.kind == "*"), "")
    if any(one.name == position for one in parameters):
        return ""
    return next((one.name for one in parameters if one.kind == "**"), "")


def _keys(value: Expr) -> set[str | int]:
    """Return the last names of what a container keeps: a partial keeps a function, too.

    What it takes out of another one has the name of that: ``HOOKS.get(kind, {}).get(name)``.
    """
    if value is not None and value.tag == tags.CALL:
        return {last_name(value.callee), *functions_named(value), last_name(_holder(value))}
    if value is not None and value.tag == tags.SUBSCRIPT:
        return {last_name(_holder(value))}
    if value is not None and value.tag == tags.STAR:  # [*handlers, place]
        return _keys(value.value)
    return {_key(value)}


def _holder(value: Expr) -> Expr:
    """Return the container out of which an expression takes something, however deep it is."""
    while value is not None:
        if value.tag == tags.SUBSCRIPT:
            value = value.base
        elif value.tag == tags.CALL and last_name(value.callee) in _TAKING_OUT:
            value = owner_of(value.callee)
        else:
            break
    return value


def _given(call: CallExpr) -> set[str]:
    """Return the last names of a call's positional arguments, or of the classes they make."""
    found = set()
    for argument in call.positional:
        if argument is not None and argument.tag == tags.CALL:
            found.add(last_name(argument.callee))
        else:
            found.add(last_name(argument))
    return found


def _rows_with(data: bytes, word: str) -> list[int]:
    """Return the rows of a file that mention a name."""
    name = re.escape(word.encode())
    written = re.compile(rb"%s(?<!\w%s)\b" % (name, name))  # literal first: searched fast
    rows: dict[int, None] = {}
    row, start = 1, 0
    for match in written.finditer(data):
        row += data.count(b"\n", start, match.start())
        start = match.start()
        rows[row] = None
    return list(rows)


def _key(value: Expr) -> str | int:
    """Return the last name of an expression, or the scope of a lambda."""
    if value is not None and value.tag == tags.LAMBDA:
        return value.scope
    return last_name(value)
