"""Functions that run under a composed name: ``getattr(commands, f"do_{verb}")(rest)``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.inferred import Inferred
from gblock.project.names.partial_texts import HOLE, only_texts
from gblock.project.names.passing import SHORTEST
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.names.values import Value
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import CallExpr, Expr, last_name
from gblock.project.reading.summary import Call, ModuleSummary

_LOOK_UPS = ("getattr", "get", "pop", "")
"""Last names of the callees that take an attribute, or an item of ``globals()``, by its name."""


class ComposedNames:
    """Finds where a function is taken by a name of which only a part is written.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._texts = Texts(Inferred(inference))
        self._taken: dict[str, list[tuple[Call, Expr, re.Pattern[str]]]] = {}
        """By file the calls that take something, with the owner and a pattern of the names."""

    def takers(self, summary: ModuleSummary, index: int) -> Iterator[tuple[str, Call]]:
        """Yield the calls that take a function, or a method, by a composed name.

        Args:
            summary: The module.
            index: The scope of the function.

        Yields:
            The file of a call, and the call. What is taken is assumed to be called there.
        """
        scope = summary.scopes[index]
        if scope.name.startswith("__"):
            return
        for path in self._files(summary, scope.parent):
            for call, owner, names in self._composing(path):
                if not names.fullmatch(scope.name):
                    continue
                place = Place(path, call.scope, call.path)
                if (path, call.scope) != (summary.filename, index) and any(
                    self._has(value, summary.filename, scope.parent)
                    for value in self.inference.infer(owner, place)
                ):
                    yield path, call

    def _files(self, summary: ModuleSummary, parent: int) -> list[str]:
        """Return the files that may take a member of a class, or of a module, by a name."""
        if not self._composing_files:
            return []
        naming = [summary.filename]
        if summary.scopes[parent].kind == "class":
            naming += self.inference.keeping.naming_objects(summary, parent)
            bases = self.inference.classes.ancestry(summary.filename, parent)
            naming += [base.path for base in bases if base.kind == v.CLASS]
        elif parent == 0:
            naming += self.inference.keeping.naming_module(summary)
        else:
            return []
        return [path for path in dict.fromkeys(naming) if path in self._composing_files]

    @cached_property
    def _composing_files(self) -> frozenset[str]:
        mentioning = self.modules.mentioning
        return frozenset([*mentioning("getattr"), *mentioning("globals")])

    def _has(self, value: Value, path: str, scope: int) -> bool:
        """Return whether a value has the members of a class, 0 for those of a module.

        What is only known to be of a base may be an object of the class.
        """
        if scope == 0:
            return value.kind == v.MODULE and value.path == path
        if value.kind not in (v.OBJECT, v.CLASS):
            return False
        above = self.inference.classes.ancestry(value.path, value.scope)
        below = self.inference.classes.ancestry(path, scope)
        return any(v.comes_from(base, path, scope) for base in above) or any(
            v.comes_from(base, value.path, value.scope) for base in below
        )

    def _composing(self, path: str) -> list[tuple[Call, Expr, re.Pattern[str]]]:
        """Return the calls of a file that take something by a composed name."""
        found = self._taken.get(path)
        if found is None:
            found = self._taken[path] = []
            by_name = self.inference.calling.calls_by_name(path)
            given = self.inference.calling.results_given(path).get("getattr", ())
            handed = {(call.scope, call.path, argument) for call, _, argument in given}
            for call in (call for name in _LOOK_UPS for call in by_name.get(name, ())):
                if (call.scope, call.path, call.expression) in handed:
                    continue  # what takes it runs it: ``spawn(getattr(self, f"do_{verb}"))``
                taken = _taken(call.expression)
                if taken is None or taken[1] is None or taken[1].tag == tags.CONSTANT:
                    continue
                patterns = self.patterns(taken[1], Place(path, call.scope, call.path))
                found += [(call, taken[0], one) for one in patterns]
        return found

    def patterns(self, name: Expr, place: Place) -> list[re.Pattern[str]]:
        """Return patterns of the names that an expression can be, as far as they are written."""
        spelled = only_texts(self._texts.spelled(Part(name, place, (0, 0))))
        return [one for text in spelled if (one := _pattern(text.spelled)) is not None]


def _taken(call: CallExpr) -> tuple[Expr, Expr] | None:
    """Return the owner and the name of what a call takes by a name; None if it takes nothing."""
    callee, given = call.callee, call.positional
    if last_name(callee) == "getattr" and len(given) > 1:
        return (given[0], given[1]) if given[1] is not None else None
    if callee is not None and callee.tag == tags.SUBSCRIPT:  # globals()[f"do_{verb}"](rest)
        return (callee.base, callee.key) if _is_globals(callee.base) else None
    if callee is not None and callee.tag == tags.ATTRIBUTE and _is_globals(callee.base) and given:
        return callee.base, given[0]
    return None


def _is_globals(expression: Expr) -> bool:
    if expression is None or expression.tag != tags.CALL:
        return False
    return last_name(expression.callee) == "globals"


def _pattern(spelled: str) -> re.Pattern[str] | None:
    """Return a pattern of the names that a text with holes can be; None if little is known."""
    known = spelled.split(HOLE)
    if sum(map(len, known)) < SHORTEST:
        return None
    return re.compile(r"\w+".join(map(re.escape, known)))
