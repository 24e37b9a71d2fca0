"""Callers of functions: a demand-driven call graph over the whole project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.names.values import FunctionValue, ScopeValue, Value, Values, unwrapped
from gblock.project.reading.bindings import ANY_NAME, ASSIGNED, IMPORTED, originals
from gblock.project.reading.expressions import (
    CALL,
    CONSTANT,
    MAPPING,
    NAME,
    SEQUENCE,
    STAR,
    SUBSCRIPT,
    TUPLE,
    CallExpr,
    Expr,
    as_keywords,
    choices,
    functions_named,
    last_name,
    owner_of,
)
from gblock.project.reading.summary import Call, ModuleSummary, Scope
from gblock.project.reading.word_index import SPACED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.names.inference import Inference

_USED = re.compile(rb"\s*[(,)\]}]|[ \t]+as\b|[ \t\r]*$", re.MULTILINE)
"""The text after a name that is called, given or assigned."""
_BASES = re.compile(rb"class[ \t]+\w+[ \t]*\(([^:]*)")
"""The list of bases of a class, with the text up to the colon."""
_LETTER = re.compile(rb"\w")
_MOST_NAMING = 12
"""A name in more files than this is common: then only files near its definition are read."""
_MOST_FILES = 250
"""If more files than this can call a function, only callers in its own file are searched."""
_MOST_DERIVING = 1_000
"""If more files than this have classes of a base, none is read. A large application may have a
class for each of its plug-ins."""
_MOST_CALLERS = 200
"""At most this many calls of one function are followed to its parameters."""
_MOST_HEIRS = 12
"""At most this many derived classes are searched for calls of an inherited constructor."""


class Calling:
    """Finds the calls of a function, in as few files as can contain them.

    Args:
        inference: Type inference over the project.
    """

    OF_FILES = (
        "_calls",
        "_aliases",
        "_originals",
        "_originally",
        "_named",
        "_arguments",
        "_bases",
        "_based",
        "_handovers",
        "_derived_classes",
        "_of_results",
        "_getters",
        "_defaults",
    )
    """The tables that the files alone decide."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._calls: dict[str, dict[str, list[Call]]] = {}
        self._aliases: dict[str, dict[str | int, set[str]]] = {}
        """By file the names that are bound to a function, class or lambda."""
        self._originals: dict[str, dict[str, set[str]]] = {}
        self._originally: dict[str, dict[str, list[Call]]] = {}
        self._named: dict[str, dict[str, bool]] = {}
        """By name and file: whether the file calls, gives or assigns the name."""
        self._arguments: dict[str, dict[str, list[tuple[Call, int | None, Expr]]]] = {}
        self._results: dict[str, dict[str, list[tuple[Call, int | None, Expr]]]] = {}
        self._bases: dict[str, list[str]] = {}
        self._based: dict[str, frozenset[bytes]] = {}
        self._subclasses: dict[tuple[str, int], tuple[ScopeValue, ...]] = {}
        self._derived_classes: dict[str, list[int]] = {}
        self._of_results: dict[str, dict[str, list[Call]]] = {}
        self._getters: dict[str, dict[str, set[int]]] = {}
        self._defaults: dict[str, dict[str, list[tuple[int, str]]]] = {}
        self._handovers: dict[tuple[str, int], list[tuple[Call, Place, int | None, Expr]]] = {}

    def subclasses(self, path: str, index: int) -> tuple[ScopeValue, ...]:
        """Return the classes of the project that name this class as a base."""
        return self.inference.remembered(
            self._subclasses, (path, index), lambda: tuple(self._find_subclasses(path, index))
        )

    def _find_subclasses(self, path: str, index: int) -> list[ScopeValue]:
        summary = self.inference.modules.summary(path)
        target = v.ScopeValue(v.CLASS, path, index)
        derived = self._deriving(summary.scopes[index].name)
        if len(derived) > _MOST_FILES:
            near = self.inference.modules.near(path)
            derived = [one for one in derived if one in near]
        return [
            v.ScopeValue(v.CLASS, other, number)
            for other in (derived if len(derived) <= _MOST_DERIVING else ())
            for number in self._with_bases(other)
            if target in self.inference.classes.bases(other, number)
        ]

    def _with_bases(self, path: str) -> list[int]:
        """Return the classes of a module that have bases."""
        found = self._derived_classes.get(path)
        if found is None:
            scopes = enumerate(self.inference.modules.summary(path).scopes)
            found = [index for index, one in scopes if one.kind == "class" and one.bases]
            self._derived_classes[path] = found
        return found

    def _deriving(self, name: str) -> list[str]:
        """Return the files in which a class may have a base of this name.

        The list ends one file beyond `_MOST_DERIVING`: more are not read.
        """
        found = self._bases.get(name)
        if found is None:
            word = name.encode()
            deriving = (
                path
                for path in self.inference.modules.mentioning(name, whole=True)
                if word in self._words_of_bases(path)
            )
            found = self._bases[name] = list(islice(deriving, _MOST_DERIVING + 1))
        return found

    def _words_of_bases(self, path: str) -> frozenset[bytes]:
        """Return the words in a module's lists of bases."""
        found = self._based.get(path)
        if found is None:
            lists = _BASES.findall(self.inference.modules.data(path))
            found = self._based[path] = frozenset(b" ".join(lists).translate(SPACED).split())
        return found

    def callers(self, path: str, index: int) -> tuple[tuple[Call, Place], ...]:
        """Return the calls of a function, or of a class, anywhere in the project.

        Which function a call runs may depend on the callers of another one, and these on the first.
        """
        return self.inference.solved(
            ("callers", path, index), lambda: tuple(self._find_callers(path, index))
        )

    def _find_callers(self, path: str, index: int) -> list[tuple[Call, Place]]:
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        if scope.kind not in ("class", "function"):
            return []
        target: Value
        if scope.kind == "class":
            target, word = v.ScopeValue(v.CLASS, path, index), scope.name
            names = {word, "cls"}
        elif scope.name == "__init__":
            owner = summary.scopes[scope.parent]
            target, word = v.ScopeValue(v.CLASS, path, scope.parent), owner.name
            names = {word, "__init__", "cls"}
        else:
            target, names, word = v.function(path, index), {scope.name}, scope.name
        found: list[tuple[Call, Place]] = []
        named = summary.scopes[scope.parent] if word != scope.name else scope
        files = self._callable_from(path, named)
        if "cls" in names and path not in files and b"cls(" in self.inference.modules.data(path):
            files = [path, *files]  # a class method makes objects without the class's name
        searched = {
            other: names | self.aliases(other).get(word, set()) | self._derived(other, target)
            for other in files
        }
        for other, called in self._called_by_relatives(files, word):
            searched[other] = searched.get(other, set()) | called
        for other, words in searched.items():
            by_name = self.calls_by_name(other)
            for name in sorted(words):
                for call in by_name.get(name, ()):
                    place = Place(other, call.scope, call.path)
                    if self._is_call_of(call, place, target):
                        found.append((call, place))
                        if len(found) >= _MOST_CALLERS:
                            return found
        for call, place in self._calls_of_result(summary, index):
            if self._is_call_of(call, place, target):
                found.append((call, place))
        if scope.name == "__init__" and target.kind == v.CLASS:
            for heir in self.heirs(path, scope.parent):
                found += [one for one in self.callers(heir.path, heir.scope) if one not in found]
        return found[:_MOST_CALLERS]

    def _calls_of_result(self, summary: ModuleSummary, index: int) -> Iterator[tuple[Call, Place]]:
        """Yield the calls of what a call gives that may be a function: ``on("paid")(place)``.

        It is a function that another one defines and returns, or an object of a class with a
        ``__call__`` method.
        """
        scope = summary.scopes[index]
        outer = summary.scopes[scope.parent]
        is_made = outer.kind == "function" and outer.returns
        if scope.kind != "function" or not (is_made or scope.name == "__call__"):
            return
        for path in self._callable_from(summary.filename, outer):
            for call in self.calls_of_results(path).get(outer.name, ()):
                yield call, Place(path, call.scope, call.path)

    def calls_of_results(self, path: str) -> dict[str, list[Call]]:
        """Return a module's calls of what other calls give, by the last name of their callees.

        ``on("paid")(place)``, and ``paid(place)`` where ``paid = on("paid")``. What a method gives
        is under the name of its object, too: ``current.get()(order)``.
        """
        found = self._of_results.get(path)
        if found is None:
            found = self._of_results[path] = {}
            summary = self.inference.modules.summary(path)
            held: dict[str, set[str]] = {}
            for scope in summary.scopes:
                for name, bindings in scope.bindings.items():
                    for one in bindings:
                        if one.kind == ASSIGNED and one.value is not None:
                            if one.value.tag == CALL:
                                held.setdefault(name, set()).add(last_name(one.value.callee))
            for call in summary.calls:
                callee = call.expression.callee if call.node == "call" else None
                if call.node != "call" or callee is None:
                    continue
                if callee.tag == CALL:
                    names = {last_name(callee.callee), last_name(owner_of(callee.callee))}
                    for maker in sorted(names - {""}):
                        found.setdefault(maker, []).append(call)
                for maker in held.get(callee.identifier, ()) if callee.tag == NAME else ():
                    found.setdefault(maker, []).append(call)
        return found

    def getters(self, path: str) -> dict[str, set[int]]:
        """Return the scopes of a module's functions that return a function or class, by its name.

        ``def choose(kind): return place if kind else pay``; a variable may hold it before.
        """
        found = self._getters.get(path)
        if found is None:
            found = self._getters[path] = {}
            for index, scope in enumerate(self.inference.modules.summary(path).scopes):
                for returned in scope.returns if scope.kind == "function" else ():
                    for part in _parts(returned.value):
                        names = {last_name(part)}
                        if part is not None and part.tag == NAME:
                            bound = scope.bindings.get(part.identifier, ())
                            names.update(
                                x for one in bound for x in originals(one) if type(x) is str
                            )
                        for name in names - {""}:
                            found.setdefault(name, set()).add(index)
        return found

    def defaults(self, path: str) -> dict[str, list[tuple[int, str]]]:
        """Return a module's parameters whose default names a function, by the function's name.

        Each parameter is a scope and a name.
        """
        found = self._defaults.get(path)
        if found is None:
            found = self._defaults[path] = {}
            for index, scope in enumerate(self.inference.modules.summary(path).scopes):
                for one in scope.parameters:
                    for name in functions_named(one.default) - {""}:
                        found.setdefault(name, []).append((index, one.name))
        return found

    def _called_by_relatives(self, files: list[str], word: str) -> Iterator[tuple[str, set[str]]]:
        """Yield the files of bases and subclasses that may call a class's attribute, and its names.

        ``client_class = Client`` is called by the base: ``self.client_class(url)``.
        """
        for path in files:
            aliases = self.aliases(path).get(word, set())
            scopes = self.inference.modules.summary(path).scopes if aliases else ()
            for index, scope in enumerate(scopes):
                names = aliases & scope.bindings.keys()
                if names and scope.kind == "class":
                    related = self.inference.classes.ancestry(path, index)
                    for one in (*related, *self.subclasses(path, index)):
                        if one.kind == v.CLASS and one.path != path:
                            yield one.path, names

    def heirs(self, path: str, index: int) -> list[ScopeValue]:
        """Return the classes derived from a class, directly or not, that inherit its constructor.

        Calls of a derived class may be in files that never name the base.
        """
        found: list[ScopeValue] = []
        queue = [v.ScopeValue(v.CLASS, path, index)]
        while queue and len(found) < _MOST_HEIRS:
            one = queue.pop(0)
            for heir in self.subclasses(one.path, one.scope):
                scope = self.inference.modules.summary(heir.path).scopes[heir.scope]
                if "__init__" not in scope.bindings and heir not in found:
                    found.append(heir)
                    queue.append(heir)
        return found

    def _derived(self, path: str, target: Value) -> set[str]:
        """Return the names of a module's classes that inherit the constructor of a class."""
        if target.kind != v.CLASS:
            return set()
        scopes = self.inference.modules.summary(path).scopes
        return {
            scopes[index].name
            for index in self._with_bases(path)
            if "__init__" not in scopes[index].bindings
            and target in self.inference.classes.bases(path, index)
        }

    def _is_call_of(self, call: Call, place: Place, target: ScopeValue | FunctionValue) -> bool:
        for value in self.inference.infer(call.expression.callee, place):
            if value.kind == target.kind and v.comes_from(value, target.path, target.scope):
                return True
            if value.kind == v.OBJECT and target.kind == v.FUNCTION:
                called = self.inference.callees.functions(frozenset([value]))
                if any(v.comes_from(one, target.path, target.scope) for one in called):
                    return True
            if target.kind == v.CLASS:
                if value.kind == v.CLASS and target in self.inference.classes.bases(
                    value.path, value.scope
                ):
                    return True
                if value.kind == v.FUNCTION and self._is_init_of(value, target):
                    return True
        return False

    def _is_init_of(self, function: FunctionValue, target: ScopeValue) -> bool:
        summary = self.inference.modules.summary(function.path)
        if function.path != target.path:
            return False
        scope = summary.scopes[function.scope]
        return scope.name == "__init__" and scope.parent == target.scope

    def handovers(self, path: str, index: int) -> list[tuple[Call, Place, int | None]]:
        """Return the calls that take the function as an argument, and its positions.

        A method may be taken from an object that is only known to be of a base or a protocol.
        """
        possible = self.possible_handovers(path, index)
        if not possible:
            return []
        # Each parameter of the function has this question: it is answered once for all of them.
        chosen = self.inference.solved(
            ("handovers", path, index), lambda: tuple(self._find_handovers(path, index))
        )
        return [possible[number][:3] for number in chosen]

    def _find_handovers(self, path: str, index: int) -> Iterator[int]:
        """Yield the positions of the possible handovers that take the function."""
        through = {(path, index), *self.inference.protocols.overridden(path, index)}
        for number, (_, place, _, argument) in enumerate(self.possible_handovers(path, index)):
            if _are_among(self.inference.infer(argument, place), through):
                yield number

    def possible_handovers(
        self, path: str, index: int
    ) -> list[tuple[Call, Place, int | None, Expr]]:
        """Return the calls whose arguments have the function's name, and these arguments.

        What they mean is not inferred.
        """
        found = self._handovers.get((path, index))
        if found is not None:
            return found
        found = self._handovers[path, index] = []
        summary = self.inference.modules.summary(path)
        files = self._callable_from(path, summary.scopes[index])
        for other in files:
            for word in sorted(self.names_in(other, summary, index)):
                for call, position, argument in self.given(other).get(word, ()):
                    found.append((call, Place(other, call.scope, call.path), position, argument))
        found += self._made(summary, index)
        found += self._returned(summary, index, files)
        return found

    def names_in(self, path: str, summary: ModuleSummary, index: int) -> set[str]:
        """Return the names by which a module may hand over a function; a lambda's is empty.

        Args:
            path: The module that may hand it over.
            summary: The module of the function.
            index: Its scope.
        """
        scope = summary.scopes[index]
        named = scope.kind == "function"
        aliases = self.aliases(path).get(scope.name if named else index, set())
        return {scope.name if named else "", *aliases}

    def _made(
        self, summary: ModuleSummary, index: int
    ) -> Iterator[tuple[Call, Place, int | None, Expr]]:
        """Yield the calls that take what a call gives: ``spawn(make(1))``, ``spawn(getattr(…))``.

        The call is of the function that defines and returns this one, or takes it by its name.
        """
        scope = summary.scopes[index]
        outer = summary.scopes[scope.parent]
        if outer.kind == "function" and outer.returns and not outer.name.startswith("__"):
            files, makers = self._callable_from(summary.filename, outer), [outer.name]
        elif outer.kind == "class" and scope.kind == "function":
            naming = self.inference.keeping.naming_objects(summary, scope.parent)
            taking = self.inference.modules.mentioning("getattr") if naming else ()
            files = [one for one in naming if one in taking]
            makers = ["getattr", _taking(scope.name)]
        else:
            return
        for path in files:
            given = self.results_given(path)
            for call, position, argument in (one for x in makers for one in given.get(x, ())):
                yield call, Place(path, call.scope, call.path), position, argument

    def _returned(
        self, summary: ModuleSummary, index: int, files: list[str]
    ) -> Iterator[tuple[Call, Place, int | None, Expr]]:
        """Yield the calls that take what a function returns by its name: ``spawn(choose(k))``."""
        for path in files:
            known = self.getters(path)
            names = self.names_in(path, summary, index) if known else ()
            getters = {one for name in names for one in known.get(name, ())}
            scopes = self.inference.modules.summary(path).scopes
            for getter in sorted(getters):
                for other in self._callable_from(path, scopes[getter]):
                    for taking in self.results_given(other).get(scopes[getter].name, ()):
                        call, position, argument = taking
                        yield call, Place(other, call.scope, call.path), position, argument

    def results_given(self, path: str) -> dict[str, list[tuple[Call, int | None, Expr]]]:
        """Return a module's arguments that are results of calls, by the callee's last name.

        A variable that is assigned such a result stands for it. `_taking` is the key of a
        ``getattr()`` that spells the name.
        """
        found = self._results.get(path)
        if found is None:
            found = self._results[path] = {}
            summary = self.inference.modules.summary(path)
            for call in summary.calls:
                if call.node != "call":
                    continue
                given: list[tuple[int | None, Expr]] = [*enumerate(call.expression.positional)]
                given += [(None, value) for _, value in call.expression.keywords]
                for position, argument in given:
                    if argument is not None and argument.tag == CALL:
                        names = {_maker(argument)}
                    elif argument is not None and argument.tag == NAME:
                        names = _makers(summary, call.scope, argument.identifier)
                    else:
                        continue
                    for name in sorted(names):
                        found.setdefault(name, []).append((call, position, argument))
        return found

    def aliases(self, path: str) -> dict[str | int, set[str]]:
        """Return a module's aliases of functions and classes, by name; of lambdas, by scope.

        ``later = partial(f)`` and ``from module import f as later`` are matched by name only; the
        caller infers what they mean.
        """
        found = self._aliases.get(path)
        if found is None:
            found = self._aliases[path] = {}
            summary = self.inference.modules.summary(path)
            for scope in summary.scopes:
                for name, bindings in scope.bindings.items():
                    for binding in bindings:
                        for original in originals(binding):
                            found.setdefault(original, set()).add(name)
                for (_, name), assigned in scope.attributes.items():
                    for binding in assigned if name != ANY_NAME else ():
                        for original in originals(binding):
                            found.setdefault(original, set()).add(name)
        return found

    def original_names(self, path: str, name: str) -> set[str]:
        """Return a name of a module, and those that it stands for by an import or an assignment.

        ``get`` for ``fetch`` after ``from module import get as fetch``, ``fetch = session.get`` or
        ``fetch = partial(session.get, url)``, in this module or in the one that it is imported
        from. Names are all that is compared; the caller infers what they mean.
        """
        found = {name, *self._originals_of(path).get(name, ())}
        modules = self.inference.modules
        for binding in modules.summary(path).scopes[0].bindings.get(name, ()):
            if binding.kind == IMPORTED and binding.value.name is not None:
                target = modules.resolve(binding.value.module, binding.value.level, path)
                if target is not None:
                    found.update(self._originals_of(target).get(binding.value.name, ()))
        return found

    def _originals_of(self, path: str) -> dict[str, set[str]]:
        """Return what the names of a module stand for; names for themselves are left out."""
        found = self._originals.get(path)
        if found is None:
            found = self._originals[path] = {}
            for original, names in self.aliases(path).items():
                if isinstance(original, str):
                    for name in names - {original}:
                        found.setdefault(name, set()).add(original)
        return found

    def given(self, path: str) -> dict[str, list[tuple[Call, int | None, Expr]]]:
        """Return a module's arguments that can be functions, by name; a lambda's is empty."""
        found = self._arguments.get(path)
        if found is None:
            found = self._arguments[path] = {}
            summary = self.inference.modules.summary(path)
            for written in summary.calls:
                if written.node == "call":
                    call = _written_out(summary, written)
                    _, _, positional, keywords = call.expression
                    for position, argument in enumerate(positional):
                        for name in functions_named(argument):
                            found.setdefault(name, []).append((call, position, argument))
                    for _, argument in keywords:
                        for name in functions_named(argument):
                            found.setdefault(name, []).append((call, None, argument))
        return found

    def _callable_from(self, path: str, scope: Scope) -> list[str]:
        """Return the files that mention a function's name and can import the function."""
        if scope.kind != "function" and scope.kind != "class":
            return [path]
        modules = self.inference.modules
        if modules.is_frugal:
            return [path]
        tests = modules.is_test(path)  # tests call the service with mocks
        naming = list(islice(self._naming(scope.name, tests), _MOST_NAMING + 1))
        if len(naming) <= _MOST_NAMING:
            return naming
        near = modules.near(path, tests=tests)
        naming = list(islice(self._naming(scope.name, tests, near), _MOST_FILES + 1))
        if len(naming) > _MOST_FILES:
            return [path] if self._names(scope.name, path) else []
        return naming

    def _naming(self, word: str, tests: bool, among: set[str] | None = None) -> Iterator[str]:
        """Yield the files in which a name appears as a call, an argument or an assigned value."""
        for path in self.inference.modules.mentioning(word, tests=tests, whole=True):
            if (among is None or path in among) and self._names(word, path):
                yield path

    def _names(self, word: str, path: str) -> bool:
        known = self._named.setdefault(word, {})
        if path not in known:
            known[path] = _uses(word.encode(), self.inference.modules.data(path))
        return known[path]

    def calls_by_name(self, path: str) -> dict[str, list[Call]]:
        """Return a module's calls, by the last identifier of the callee."""
        found = self._calls.get(path)
        if found is None:
            found = self._calls[path] = {}
            summary = self.inference.modules.summary(path)
            for call in summary.calls:
                if call.node == "call":
                    found.setdefault(last_name(call.expression.callee), []).append(call)
        return found

    def calls_by_original_name(self, path: str) -> dict[str, list[Call]]:
        """Return a module's calls as `calls_by_name`, renamed imports under both of their names."""
        found = self._originally.get(path)
        if found is None:
            found = self._originally[path] = {}
            for name, calls in self.calls_by_name(path).items():
                found.setdefault(name, []).extend(calls)
                for original in self.original_names(path, name) - {name}:
                    plain = [
                        call
                        for call in calls
                        if (callee := call.expression.callee) is not None and callee.tag == NAME
                    ]
                    found.setdefault(original, []).extend(plain)
        return found


def _parts(returned: Expr) -> Iterator[Expr]:
    """Yield what a function may return: each choice, and each value of a table that it displays.

    ``return place if kind else pay``, ``return {"place": place}.get(kind, pay)``
    """
    for part in choices(returned):
        table, others = part, tuple[Expr, ...]()
        if part is not None and part.tag == CALL and last_name(part.callee) == "get":
            table, others = owner_of(part.callee), part.positional[1:]
        elif part is not None and part.tag == SUBSCRIPT:
            table = part.base
        if table is part or table is None or table.tag not in (MAPPING, SEQUENCE, TUPLE):
            yield part
        elif table.tag == MAPPING:
            yield from (value for _, value in table.items)
            yield from others
        else:
            yield from table.elements


def _written_out(summary: ModuleSummary, call: Call) -> Call:
    """Return a call with the elements of the displays that it unpacks: ``spawn(*[place, 1])``.

    A name that the nearest scope assigns one display stands for it.
    """
    _, _, positional, keywords = call.expression
    if all(one is None or one.tag != STAR for one in positional) and all(
        word is not None for word, _ in keywords
    ):
        return call
    elements: list[Expr] = []
    for one in positional:
        display = _display(summary, call.scope, one.value) if one and one.tag == STAR else None
        if display is not None and display.tag in (TUPLE, SEQUENCE):
            elements += display.elements
        else:
            elements.append(one)
    named: list[tuple[str | None, Expr]] = []
    for word, one in keywords:
        display = _display(summary, call.scope, one) if word is None else None
        if display is not None and display.tag == MAPPING:
            named += as_keywords(display)
        elif display is not None and display.tag == CALL and last_name(display.callee) == "dict":
            named += display.keywords
        else:
            named.append((word, one))
    expression = call.expression._replace(positional=tuple(elements), keywords=tuple(named))
    return call._replace(expression=expression)


def _display(summary: ModuleSummary, scope: int, expression: Expr) -> Expr:
    """Return what the nearest scope assigns to a name, if it does it once; else the expression."""
    if expression is None or expression.tag != NAME:
        return expression
    name = expression.identifier
    bound = summary.scopes[summary.binding(name, scope)].bindings.get(name, ())
    if len(bound) == 1 and bound[0].kind == ASSIGNED:
        value: Expr = bound[0].value
        return value
    return expression


def _makers(summary: ModuleSummary, index: int, name: str) -> set[str]:
    """Return the keys of the calls whose results the nearest scope assigns to a name."""
    return {
        _maker(one.value)
        for one in summary.scopes[summary.binding(name, index)].bindings.get(name, ())
        if one.kind == ASSIGNED and one.value is not None and one.value.tag == CALL
    }


def _maker(call: CallExpr) -> str:
    """Return the key under which the results of a call are found."""
    name = last_name(call.callee)
    taken = call.positional[1] if name == "getattr" and len(call.positional) > 1 else None
    if taken is not None and taken.tag == CONSTANT and isinstance(taken.value, str):
        return _taking(taken.value)
    return name


def _taking(name: str) -> str:
    """Return the key of calls that take an attribute by a name that they spell."""
    return f"getattr {name}"


def _are_among(values: Values, functions: set[tuple[str, int]]) -> bool:
    """Return whether one of some functions is among values, or in a partial."""
    for value in values:
        inner = unwrapped(value)
        if inner.kind == v.FUNCTION and (inner.path, inner.scope) in functions:
            return True
    return False


def _uses(name: bytes, data: bytes) -> bool:
    """Return whether a name is called, an argument or an assigned value somewhere in a text.

    A pattern for each name would take longer to compile than this search takes.
    """
    at = data.find(name)
    while at >= 0:
        end = at + len(name)
        if _USED.match(data, end) and not (at and _LETTER.match(data, at - 1)):
            return True
        at = data.find(name, end)
    return False
