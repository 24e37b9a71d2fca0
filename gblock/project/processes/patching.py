"""Monkey patches in the project's own code, and the modules that each leaves unpatched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from gblock.project.names.inference import Inference
from gblock.project.names.inferred import Inferred
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.names.values import FUNCTION, LITERAL, comes_from
from gblock.project.processes.conditions import (
    GivenWord,
    argument,
    condition,
    conditions_around,
    is_fallback,
    places,
    variable,
)
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Path
from gblock.project.reading.expressions import (
    AttributeExpr,
    CallExpr,
    Expr,
    NameExpr,
    last_name,
    passed,
)
from gblock.project.reading.positions import excerpt, row_is_main_guard
from gblock.project.reading.summary import Call, ModuleSummary

PATCHED = (
    "dns",
    "os",
    "queue",
    "select",
    "selectors",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "time",
)
"""The modules that ``patch_all()`` patches; ``dns`` is name resolution in ``socket``."""

_KEYWORDS = (
    "socket dns time select thread os ssl subprocess sys aggressive Event builtins signal queue "
    "contextvar"
).split()
"""The parameters of ``patch_all``, in order."""
_BY_KEYWORD = {
    "thread": ("threading",),
    "select": ("select", "selectors"),
    "socket": ("socket", "dns"),
}
"""The module of a parameter of ``patch_all``, if the names differ."""
_OPTION = re.compile(r"--(no-)?(\w+)")
"""An option of ``python -m gevent.monkey`` for one parameter of ``patch_all``."""
_BY_FUNCTION = {"thread": ("threading",), "socket": ("socket", "dns")}
"""The same of ``patch_thread`` and the others: ``patch_select`` leaves ``selectors`` alone."""
_MONKEY = "gevent.monkey."
_OLD = re.compile(
    rb"^([ \t]*)(?:[^\n#\"']*;[ \t]*)?"
    rb"((?:gevent[ \t]*\.[ \t]*)?monkey[ \t]*\.[ \t]*patch_(\w+)[ \t]*\(([^()\n]*)\))",
    re.MULTILINE,
)
_OFF = re.compile(r"(\w+)[ \t]*=[ \t]*(?:False|0)\b")
_IMPORTS_MONKEY = re.compile(
    rb"^[ \t]*(?:[^\n#\"']*;[ \t]*)?"
    rb"(?:from[ \t]+gevent[ \t]+import\b.*\bmonkey|import[ \t]+gevent)",
    re.MULTILINE,
)
_LONGEST = 80
_DEEP = 4
"""Functions between a call and the patch."""
_COMMON = 30
"""A function's name in more files than this is common: only its own file is searched."""


class Patch(NamedTuple):
    """One call that patches the standard library, or makes a driver cooperative."""

    path: str
    row: int
    symbol: str
    """The callee: ``gevent.monkey.patch_all``, ``psycogreen.gevent.patch_psycopg``."""
    text: str
    """Its code on one line."""
    kinds: tuple[str, ...]
    """``full``, ``partial``, ``single`` or ``green_driver`` first; then the circumstances:
    ``in_function``, ``conditional``, ``loop``, ``through_function``, ``through_functions`` if it is
    more than one, ``extensionless_script``; ``fallback`` if it runs only where an import fails."""
    patched: frozenset[str]
    """Of `PATCHED`, what it replaces; nothing for a driver."""
    scope: int = 0
    at: Path = ()
    undone: bool = False
    """True if it takes the cooperation away again: ``set_wait_callback(None)``."""
    in_main: bool = False
    """True if it is below the main guard, or in a function that is only called there, so that it
    runs only if its file is started."""

    condition: str = ""
    """The condition of a driver's patch; empty if there is none but a test for gevent itself."""
    variable: tuple[str, str | None] | None = None
    """A variable of the environment and the value that it must have, None for any."""
    argument: GivenWord | None = None
    """The word that the command line of its program must have, if any."""
    tests: frozenset[tuple[int, int, bool]] = frozenset()
    """The rows and columns of the tests around it in its file, each with the required outcome."""

    @property
    def unpatched(self) -> tuple[str, ...]:
        """The modules that the patch leaves unpatched, sorted."""
        return tuple(name for name in PATCHED if name not in self.patched)

    @property
    def of_driver(self) -> bool:
        """True if the patch is of a driver and not of the standard library."""
        return self.kinds[0] == "green_driver"

    @property
    def is_handed_on(self) -> bool:
        """True if a call of the function around it surely patches the standard library."""
        return not self.of_driver and not self.at_import and "conditional" not in self.kinds

    @property
    def at_import(self) -> bool:
        """True if the patch runs when the module is imported or started."""
        return "in_function" not in self.kinds


def left_out(options: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that ``python -m gevent.monkey`` leaves as they are.

    Args:
        options: Its options: ``--no-thread`` leaves a module out, ``--socket`` all others.
    """
    written = [one for option in options if (one := _OPTION.fullmatch(option)) is not None]
    known = [(bool(one[1]), one[2]) for one in written if one[2] in _KEYWORDS]
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for is_out, word in known:
        named[is_out].update(_BY_KEYWORD.get(word, (word,)))
    patched = (named[False] or set(PATCHED)) - named[True]
    return tuple(name for name in PATCHED if name not in patched)


class Patching:
    """Finds the patches of a project.

    Args:
        inference: Type inference over the project; its catalog lists the calls that make drivers
            cooperative.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._texts = Texts(Inferred(inference))
        self._of: dict[str, tuple[Patch, ...]] = {}
        self._mains: set[tuple[str, int]] = set()
        """The functions that patch and that are called below a main guard alone."""

    def of(self, path: str) -> tuple[Patch, ...]:
        """Return the patches in one file, in source order."""
        found = self._of.get(path)
        if found is None:
            found = self._of[path] = self._guarded(path)
        through = self._through.get(path, ())
        return (
            *(
                patch._replace(in_main=True) if (path, patch.scope) in self._mains else patch
                for patch in found
            ),
            *through,
        )

    def among(self, paths: Iterable[str]) -> list[Patch]:
        """Return the patches in some files, file by file."""
        may = self._marked.union(self._through)
        return [patch for path in sorted(may.intersection(paths)) for patch in self.of(path)]

    def all(self) -> list[Patch]:
        """The patches of the whole project, tests excluded."""
        return [patch for path in self.modules.serving for patch in self.of(path)]

    # Commands add files of other names, such as gunicorn's settings: these properties need them.

    @cached_property
    def remedies(self) -> frozenset[str]:
        """The calls that make drivers cooperative, of the packages that the project imports."""
        remedies = self.inference.catalog.remedies
        return frozenset(one for one in remedies if self._is_used(one.partition(".")[0]))

    @cached_property
    def _verbs(self) -> set[str]:
        return {name.rpartition(".")[2] for name in self.remedies}

    @cached_property
    def _words(self) -> set[str]:
        """The words of which a file with a patch contains one."""
        if not self._is_used("gevent"):
            return self._verbs
        return self._verbs.union(("monkey", "patch_all", *(f"patch_{name}" for name in _KEYWORDS)))

    def _is_used(self, package: str) -> bool:
        """Return whether the project imports a package."""
        written = re.compile(rb"(?:\bfrom\b|import)[^\n]*\b%s\b" % package.encode())
        data = self.modules.data
        return any(written.search(data(path)) for path in self.modules.mentioning(package))

    def mentions(self, path: str) -> bool:
        """Return whether a file may contain a patch, judging by its bytes."""
        return path in self._marked

    @cached_property
    def _marked(self) -> frozenset[str]:
        mentioning = self.modules.mentioning
        return frozenset[str]().union(
            *(mentioning(word, tests=True, whole=True) for word in self._words)
        )

    # -- patch functions that are called by name

    def _guarded(self, path: str) -> tuple[Patch, ...]:
        try:
            return self._direct(path)
        except RecursionError:
            self.modules.give_up(path)
            return ()

    def _direct(self, path: str) -> tuple[Patch, ...]:
        if not self.mentions(path):
            return ()
        if not self.modules.parses(path):
            called = self._called(path)
            if any(not one.of_driver for one in called):
                return called
            return (*self._from_text(path), *called)
        return self._called(path)

    def _called(self, path: str) -> tuple[Patch, ...]:
        """Return the patches that the calls of a file are, in one of Python 2 too."""
        summary = self.modules.summary(path)
        kept = self._renamed(summary)
        found: dict[tuple[int, str], Patch] = {}
        for call in summary.calls:
            if call.node == "call" and self._may_patch(call, kept):
                for patch in self._patches(call, summary):
                    found.setdefault((patch.row, patch.symbol), patch)
        return tuple(found.values())

    def _renamed(self, summary: ModuleSummary) -> set[str]:
        """Return the names that may mean a patch function: aliases, loop variables, parameters."""
        found: set[str] = set()
        for scope in summary.scopes:
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.kind == kinds.IMPORTED:
                        original = binding.value.name
                        if original and original != name and self._is_verb(original):
                            found.add(name)
                    elif binding.kind == kinds.LOOPED or self._names(binding.value):
                        found.add(name)
        return found

    def _is_verb(self, name: str) -> bool:
        return name.startswith("patch_") or name in self._verbs

    def _names(self, value: object) -> bool:
        """Return whether a binding's value contains the name of a patch function."""
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, (NameExpr, AttributeExpr)) and self._is_verb(last_name(part)):
                return True
            if isinstance(part, tuple):
                waiting += part
        return False

    def _may_patch(self, call: Call, kept: set[str]) -> bool:
        callee = call.expression.callee
        name = last_name(callee)
        if not name:
            return callee is not None and callee.tag in (tags.CALL, tags.SUBSCRIPT)
        is_name = callee is not None and callee.tag == tags.NAME
        return self._is_verb(name) or (is_name and name in kept)

    def _patches(self, call: Call, summary: ModuleSummary) -> list[Patch]:
        place = Place(summary.filename, call.scope, call.path)
        found = []
        symbols = self.inference.callees.called_symbols(call.expression.callee, place)
        if not symbols and self._is_star_imported(call, summary):
            symbols = {_MONKEY + last_name(call.expression.callee)}
        if not symbols:
            symbols = self._by_computed_name(call, place)
        for symbol in sorted(symbols):
            if symbol in self.remedies:
                found.append(self._patch(symbol, ("green_driver",), frozenset(), call, summary))
            elif symbol == f"{_MONKEY}patch_all":
                patched = self._replaced(call.expression, place)
                kind = "full" if len(patched) == len(PATCHED) else "partial"
                found.append(self._patch(symbol, (kind,), patched, call, summary))
            elif symbol.startswith(f"{_MONKEY}patch_"):
                name = symbol.removeprefix(f"{_MONKEY}patch_")
                patched = frozenset(_BY_FUNCTION.get(name, (name,))) & frozenset(PATCHED)
                if name == "socket" and self._is_off(passed(call.expression, 0, "dns"), place):
                    patched -= {"dns"}
                if patched:
                    found.append(self._patch(symbol, ("single",), patched, call, summary))
        return found

    def _by_computed_name(self, call: Call, place: Place) -> set[str]:
        """Return what ``getattr(monkey, "patch_" + name)()`` calls, if the names are known."""
        callee = call.expression.callee
        if (
            callee is None
            or callee.tag != tags.CALL
            or callee.callee != NameExpr(tags.NAME, "getattr")
        ):
            return set()
        owners = (
            self.inference.callees.called_symbols(callee.positional[0], place)
            if callee.positional
            else set()
        )
        if "gevent.monkey" not in owners:
            return set()
        name = passed(callee, 1, None)
        texts = self._texts.of(Part(name, place, call.statement))
        return {
            f"{_MONKEY}{text.spelled}"
            for text in texts
            if text.whole and text.spelled.startswith("patch_")
        }

    def _is_star_imported(self, call: Call, summary: ModuleSummary) -> bool:
        """Return whether ``from gevent.monkey import *`` binds the called name."""
        callee = call.expression.callee
        name = last_name(callee)
        return (
            callee is not None
            and callee.tag == tags.NAME
            and name not in summary.scopes[0].bindings
            and any(one.value == ("gevent.monkey", None, 0) for one in summary.star_imports)
        )

    def _replaced(self, expression: CallExpr, place: Place) -> frozenset[str]:
        """Return the modules that ``patch_all(…)`` patches; unknown arguments are ignored."""
        off = {
            name
            for position, keyword in enumerate(_KEYWORDS)
            if self._is_off(passed(expression, position, keyword), place)
            for name in _BY_KEYWORD.get(keyword, (keyword,))
        }
        return frozenset(PATCHED) - off

    def _is_off(self, argument: Expr, place: Place) -> bool:
        values = self.inference.infer(argument, place)
        return bool(values) and all(x.kind == LITERAL and not x.value for x in values)

    def _patch(
        self,
        symbol: str,
        kinds: tuple[str, ...],
        patched: frozenset[str],
        call: Call,
        summary: ModuleSummary,
    ) -> Patch:
        callee = call.expression.callee
        extra = list(kinds)
        if callee is not None and callee.tag == tags.NAME:
            is_renamed = symbol.rpartition(".")[2] != callee.identifier
            if is_renamed and self._is_looped(callee.identifier, summary, call.scope):
                extra.append("loop")
        extra += self._circumstances(summary, call)
        positional = call.expression.positional
        tests = []
        data = self.modules.data(summary.filename)
        if "conditional" in extra:
            tests = conditions_around(data, call.row, call.column)
        if "green_driver" in extra and is_fallback(data, call.row, call.column):
            extra.append("fallback")
        return Patch(
            summary.filename,
            call.row,
            symbol,
            self._written(summary.filename, call),
            tuple(extra),
            patched,
            call.scope,
            call.path,
            undone=bool(positional) and positional[0] == tags.NONE,
            in_main=self._is_in_main(summary, call),
            condition=condition(tests) if "green_driver" in extra else "",
            variable=variable(tests),
            argument=argument(tests),
            tests=places(tests),
        )

    def _is_looped(self, name: str, summary: ModuleSummary, scope: int) -> bool:
        bindings = summary.scopes[scope].bindings.get(name, ())
        return any(binding.kind == kinds.LOOPED for binding in bindings)

    def _circumstances(self, summary: ModuleSummary, call: Call) -> list[str]:
        found = []
        if runs_later(summary, call.scope):
            found.append("in_function")
        if self._is_conditional(summary, call):
            found.append("conditional")
        if "." not in os.path.basename(summary.filename):
            found.append("extensionless_script")
        return found

    def _is_in_main(self, summary: ModuleSummary, call: Call) -> bool:
        """Return whether a call is below the main guard, outside of functions."""
        scope, path = call.scope, call.path
        while scope:
            if summary.scopes[scope].kind in ("function", "lambda"):
                return False
            scope, path = summary.scopes[scope].parent, summary.scopes[scope].path
        branches = summary.scopes[0].branches
        return (
            len(path) > 1
            and branches.get(path[:1]) == "if"
            and path[1] == 0
            and self._is_guard(summary, path[0])
        )

    def _is_conditional(self, summary: ModuleSummary, call: Call) -> bool:
        """Return whether a call is in an ``if`` other than the main guard."""
        scope, path = call.scope, call.path
        while True:
            entry = summary.scopes[scope]
            for depth in range(1, len(path), 2):
                if entry.branches.get(path[:depth]) == "if":
                    if depth > 1 or scope or not self._is_guard(summary, path[0]):
                        return True
            if entry.kind not in ("comprehension", "lambda"):
                return False
            scope, path = entry.parent, entry.path

    def _is_guard(self, summary: ModuleSummary, index: int) -> bool:
        row = summary.scopes[0].statements[index][0]
        return row_is_main_guard(self.modules.data(summary.filename), row)

    def _written(self, path: str, call: Call) -> str:
        data = self.modules.data(path)
        return excerpt(data, call.row, call.column, call.end_row, call.end_column, _LONGEST)

    # -- files of Python 2, which cannot be parsed

    def _from_text(self, path: str) -> tuple[Patch, ...]:
        """Return the patches that the text of a file shows, where its statements show none."""
        data = self.modules.data(path)
        if not _IMPORTS_MONKEY.search(data):
            return ()
        found = []
        for match in _OLD.finditer(data):
            name, arguments = match[3].decode(), match[4].decode(errors="replace")
            off = {one for key in _OFF.findall(arguments) for one in _BY_KEYWORD.get(key, (key,))}
            if name == "all":
                patched = frozenset(PATCHED) - off
                kind = "full" if len(patched) == len(PATCHED) else "partial"
            else:
                patched = (frozenset(_BY_FUNCTION.get(name, (name,))) - off) & frozenset(PATCHED)
                kind = "single"
            if patched:
                row = data.count(b"\n", 0, match.start(2)) + 1
                kinds = (kind, "unparsed", *(("in_function",) if match[1] else ()))
                text = match[2].decode(errors="replace")
                found.append(Patch(path, row, f"{_MONKEY}patch_{name}", text, kinds, patched))
        return tuple(found)

    # -- project functions that patch

    @cached_property
    def _through(self) -> dict[str, list[Patch]]:
        """The patches by calls of project functions that patch, by file."""
        inner: dict[tuple[str, int], list[Patch]] = {}
        for path in self.modules.serving:
            if path not in self._of:
                self._of[path] = self._guarded(path)
            for patch in self._of[path]:
                if patch.scope and not patch.undone and not patch.at_import:
                    inner.setdefault((path, patch.scope), []).append(patch)
        found: dict[str, list[Patch]] = {}
        done: set[tuple[str, int]] = set()
        for depth in range(_DEEP):
            outer: dict[tuple[str, int], list[Patch]] = {}
            done.update(inner)
            for (path, scope), patches in inner.items():
                for patch in self._through_calls(path, scope, patches, is_first=not depth):
                    found.setdefault(patch.path, []).append(patch)
                    key = patch.path, patch.scope
                    if patch.is_handed_on and key not in done:
                        outer.setdefault(key, []).append(patch)
            inner = outer
        return found

    def _through_calls(
        self, path: str, scope: int, patches: list[Patch], *, is_first: bool
    ) -> Iterator[Patch]:
        """Yield the patches by the calls of one function that patches.

        Args:
            path: The function's file.
            scope: Its scope.
            patches: The patches in it.
            is_first: True if it patches itself, and not by way of another.
        """
        summary = self.modules.summary(path)
        if summary.scopes[scope].kind != "function":
            return
        calling = self._calling(summary.scopes[scope].name, path, scope)
        if is_first and self._is_main(summary, scope, calling):
            self._mains.add((path, scope))
        through = "through_function" if is_first else "through_functions"
        for call, where in (one for caller in calling for one in caller):
            if "main" in summary.scopes[scope].name and where.filename == path:
                continue  # a script's own main function
            for patch in patches:
                kinds = (patch.kinds[0], through)
                yield self._patch(patch.symbol, kinds, patch.patched, call, where)

    def _is_main(
        self, summary: ModuleSummary, scope: int, calling: list[list[tuple[Call, ModuleSummary]]]
    ) -> bool:
        """Return whether a function is named only in calls below its file's main guard."""
        name = summary.scopes[scope].name
        calls = [call for caller in calling for call, where in caller if where is summary]
        if not calls or any(where is not summary for caller in calling for _, where in caller):
            return False
        written = re.findall(rb"\b%s\b" % name.encode(), self.modules.data(summary.filename))
        return len(written) == len(calls) + 1 and all(
            self._is_in_main(summary, call) for call in calls
        )

    def _calling(self, name: str, path: str, scope: int) -> list[list[tuple[Call, ModuleSummary]]]:
        """Return the calls of one function, file by file."""
        found = []
        mentioning = self.modules.mentioning(name)
        for other in mentioning if len(mentioning) <= _COMMON else [path]:
            summary = self.modules.summary(other)
            found.append(
                [
                    (call, summary)
                    for call in summary.calls
                    if call.node == "call"
                    and last_name(call.expression.callee) == name
                    and self._is_function(call, other, path, scope)
                ]
            )
        return found

    def _is_function(self, call: Call, where: str, path: str, scope: int) -> bool:
        place = Place(where, call.scope, call.path)
        values = self.inference.infer(call.expression.callee, place)
        return any(value.kind == FUNCTION and comes_from(value, path, scope) for value in values)


def runs_later(summary: ModuleSummary, scope: int) -> bool:
    """Return whether code in a scope runs at a call, and not at import."""
    while scope > 0:
        if summary.scopes[scope].kind in ("function", "lambda"):
            return True
        scope = summary.scopes[scope].parent
    return False
