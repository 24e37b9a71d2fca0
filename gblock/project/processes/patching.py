"""Where the project's own code monkey patches, and what each of these places leaves as it was."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from gblock.project.names.expressions import Place, last_name, passed
from gblock.project.names.inference import Inference
from gblock.project.names.spelling import Wording
from gblock.project.names.values import FUNCTION, LITERAL, comes_from
from gblock.project.processes.conditions import condition
from gblock.project.reading import summary as tags
from gblock.project.reading.positions import excerpt, row_is_main_guard
from gblock.project.reading.summary import Call, Expr, ModuleSummary, NameExpr

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
"""What ``patch_all()`` replaces; ``dns`` are the look-ups of ``socket``."""

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
"""What a parameter of ``patch_all`` stands for where it is not the module of its name."""
_BY_FUNCTION = {"thread": ("threading",), "socket": ("socket", "dns")}
"""The same of ``patch_thread`` and the others: ``patch_select`` leaves ``selectors`` alone."""
_MONKEY = "gevent.monkey."
_OLD = re.compile(
    rb"^([ \t]*)((?:gevent[ \t]*\.[ \t]*)?monkey[ \t]*\.[ \t]*patch_all[ \t]*\()", re.MULTILINE
)
_IMPORTS_MONKEY = re.compile(
    rb"^[ \t]*(?:from[ \t]+gevent[ \t]+import\b.*\bmonkey|import[ \t]+gevent)", re.MULTILINE
)
_LONGEST = 80
_BUDGET = 5
"""In so many files callers are looked for that pass a patch function on."""
_MANY = 30
"""In more files than this a function's name is common: then only its own file is asked."""


class Patch(NamedTuple):
    """One place that patches the standard library, or makes a driver cooperative."""

    path: str
    row: int
    symbol: str
    """What is called: ``gevent.monkey.patch_all``, ``psycogreen.gevent.patch_psycopg``."""
    text: str
    """How it is written, on one line."""
    kinds: tuple[str, ...]
    """``full``, ``partial``, ``single`` or ``green_driver`` first; then the circumstances:
    ``in_function``, ``conditional``, ``loop``, ``through_function``, ``extensionless_script``."""
    patched: frozenset[str]
    """Of `PATCHED`, what it replaces; nothing for a driver."""
    scope: int = 0
    at: tags.Path = ()
    undone: bool = False
    """Whether it takes the cooperation away again: ``set_wait_callback(None)``."""
    in_main: bool = False
    """Whether it stands below the main guard, or in a function that is only called there: it runs
    only where its file is started."""

    condition: str = ""
    """For a driver: on what it depends; empty where that is nothing, or gevent itself."""

    @property
    def unpatched(self) -> tuple[str, ...]:
        """What it leaves as it was, sorted."""
        return tuple(name for name in PATCHED if name not in self.patched)

    @property
    def of_driver(self) -> bool:
        """Whether it speaks of a driver and not of the standard library."""
        return self.kinds[0] == "green_driver"

    @property
    def at_import(self) -> bool:
        """Whether importing or starting the module is enough for it to run."""
        return "in_function" not in self.kinds


class Patching:
    """Finds the patches of a project.

    Args:
        inference: What the project's expressions can be; its catalog says what makes drivers
            cooperative.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self.remedies = frozenset(
            one for one in inference.catalog.remedies if self._is_used(one.partition(".")[0])
        )
        self._verbs = {name.rpartition(".")[2] for name in self.remedies}
        words = set(self._verbs)
        if self._is_used("gevent"):
            words.update(("monkey", "patch_all", *(f"patch_{name}" for name in _KEYWORDS)))
        self._words = words
        self._of: dict[str, tuple[Patch, ...]] = {}
        self._mains: set[tuple[str, int]] = set()
        """The functions that patch and that are called below a main guard alone."""

    def of(self, path: str) -> tuple[Patch, ...]:
        """The patches that stand in one file, in the order in which they stand."""
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
        """The patches that stand in some files, file by file."""
        may = self._marked.union(self._through)
        return [patch for path in sorted(may.intersection(paths)) for patch in self.of(path)]

    def all(self) -> list[Patch]:
        """The patches of the whole project, tests left out."""
        return [patch for path in self.modules.serving for patch in self.of(path)]

    def _is_used(self, package: str) -> bool:
        """Whether the project imports a package anywhere."""
        written = re.compile(rb"(?:from|import)\b[^\n]*\b%s\b" % package.encode())
        data = self.modules.data
        return any(written.search(data(path)) for path in self.modules.mentioning(package))

    def mentions(self, path: str) -> bool:
        """Whether a file may hold a patch, told from its bytes."""
        return path in self._marked

    @cached_property
    def _marked(self) -> frozenset[str]:
        mentioning = self.modules.mentioning
        return frozenset[str]().union(*(mentioning(word, tests=True) for word in self._words))

    # -- what is called by its own name

    def _guarded(self, path: str) -> tuple[Patch, ...]:
        try:
            return self._direct(path)
        except RecursionError:
            self.modules.give_up(path)
            return ()

    def _direct(self, path: str) -> tuple[Patch, ...]:
        if not self.mentions(path):
            return ()
        summary = self.modules.summary(path)
        if summary is None:
            return self._from_text(path)
        kept = self._renamed(summary)
        found: dict[tuple[int, str], Patch] = {}
        for call in summary.calls:
            if call.node == "call" and self._may_patch(call, kept):
                for patch in self._patches(call, summary):
                    found.setdefault((patch.row, patch.symbol), patch)
        return tuple(found.values())

    def _renamed(self, summary: ModuleSummary) -> set[str]:
        """Names that may stand for a patch function: aliases, loop variables, parameters."""
        found: set[str] = set()
        for scope in summary.scopes:
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.kind == tags.IMPORTED:
                        original = binding.value.name
                        if original and original != name and self._is_verb(original):
                            found.add(name)
                    elif binding.kind == tags.LOOPED or self._names(binding.value):
                        found.add(name)
        return found

    def _is_verb(self, name: str) -> bool:
        return name.startswith("patch_") or name in self._verbs

    def _names(self, value: Expr) -> bool:
        """Return whether a patch function is named anywhere in a value."""
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, tuple):
                if getattr(part, "tag", None) in (tags.NAME, tags.ATTRIBUTE):
                    if self._is_verb(last_name(part)):
                        return True
                waiting += part
        return False

    def _may_patch(self, call: Call, kept: set[str]) -> bool:
        callee = call.expression.callee
        name = last_name(callee)
        if not name:
            return callee is not None and callee.tag in (tags.CALL, tags.SUBSCRIPT)
        return self._is_verb(name) or (callee.tag == tags.NAME and name in kept)

    def _patches(self, call: Call, summary: ModuleSummary) -> list[Patch]:
        place = Place(summary.filename, call.scope, call.path)
        found = []
        with self.inference.calling.budget(_BUDGET):
            symbols = self.inference.callee_symbols(call.expression.callee, place)
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
        """``getattr(monkey, "patch_" + name)()``, as far as the file tells the names."""
        callee = call.expression.callee
        if (
            callee is None
            or callee.tag != tags.CALL
            or callee.callee != NameExpr(tags.NAME, "getattr")
        ):
            return set()
        owners = (
            self.inference.callee_symbols(callee.positional[0], place)
            if callee.positional
            else set()
        )
        if "gevent.monkey" not in owners:
            return set()
        wording = Wording.of_file(self.modules.data(place.path), place.path)
        if wording is None:
            return set()
        return {
            f"{_MONKEY}{text}"
            for one, function in wording.calls
            if (one.lineno, one.col_offset) == (call.row, call.column)
            and isinstance(one.func, ast.Call)
            and len(one.func.args) > 1
            for text in wording.of(one.func.args[1], function)
            if isinstance(text, str) and text.startswith("patch_")
        }

    def _is_star_imported(self, call: Call, summary: ModuleSummary) -> bool:
        """Whether ``from gevent.monkey import *`` gives the name that is called."""
        bindings = summary.scopes[0].bindings
        name = last_name(call.expression.callee)
        return (
            call.expression.callee.tag == tags.NAME
            and name not in bindings
            and any(one.value == ("gevent.monkey", None, 0) for one in bindings.get("*", ()))
        )

    def _replaced(self, expression: Expr, place: Place) -> frozenset[str]:
        """What ``patch_all(…)`` replaces; an argument that nobody knows leaves the default."""
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
        if callee.tag == tags.NAME and symbol.rpartition(".")[2] != callee.identifier:
            if self._is_looped(callee.identifier, summary, call.scope):
                extra.append("loop")
        extra += self._circumstances(summary, call)
        positional = call.expression.positional
        depends = "green_driver" in extra and "conditional" in extra
        data = self.modules.data(summary.filename) if depends else b""
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
            condition=condition(data, call.row, call.column) if depends else "",
        )

    def _is_looped(self, name: str, summary: ModuleSummary, scope: int) -> bool:
        bindings = summary.scopes[scope].bindings.get(name, ())
        return any(binding.kind == tags.LOOPED for binding in bindings)

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
        """Return whether a call stands below the main guard, and in no function."""
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
        """Whether it stands in an ``if`` that is not the one around a script's main part."""
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

    # -- files of Python 2, which nobody parses

    def _from_text(self, path: str) -> tuple[Patch, ...]:
        data = self.modules.data(path)
        if not _IMPORTS_MONKEY.search(data):
            return ()
        return tuple(
            Patch(
                path,
                data.count(b"\n", 0, match.start(2)) + 1,
                f"{_MONKEY}patch_all",
                match[2].decode() + ")",
                ("full", "unparsed", *(("in_function",) if match[1] else ())),
                frozenset(PATCHED),
            )
            for match in _OLD.finditer(data)
        )

    # -- functions of the project that patch

    @cached_property
    def _through(self) -> dict[str, list[Patch]]:
        """Calls of functions that patch, which is where the patching happens."""
        inner: dict[tuple[str, int], list[Patch]] = {}
        for path in self.modules.serving:
            if path not in self._of:
                self._of[path] = self._guarded(path)
            for patch in self._of[path]:
                if patch.scope and not patch.undone and not patch.at_import:
                    inner.setdefault((path, patch.scope), []).append(patch)
        found: dict[str, list[Patch]] = {}
        for (path, scope), patches in inner.items():
            summary = self.modules.summary(path)
            if summary is None or summary.scopes[scope].kind != "function":
                continue
            calling = self._calling(summary.scopes[scope].name, path, scope)
            if self._is_main(summary, scope, calling):
                self._mains.add((path, scope))
            for caller in calling:
                for call, where in caller:
                    if "main" in summary.scopes[scope].name and where.filename == path:
                        continue  # a script's own main function
                    found.setdefault(where.filename, []).extend(
                        self._patch(
                            patch.symbol,
                            (patch.kinds[0], "through_function"),
                            patch.patched,
                            call,
                            where,
                        )
                        for patch in patches
                    )
        return found

    def _is_main(
        self, summary: ModuleSummary, scope: int, calling: list[list[tuple[Call, ModuleSummary]]]
    ) -> bool:
        """Return whether a function is named nowhere but in calls below its file's main guard."""
        name = summary.scopes[scope].name
        calls = [call for caller in calling for call, where in caller if where is summary]
        if not calls or any(where is not summary for caller in calling for _, where in caller):
            return False
        written = re.findall(rb"\b%s\b" % name.encode(), self.modules.data(summary.filename))
        return len(written) == len(calls) + 1 and all(
            self._is_in_main(summary, call) for call in calls
        )

    def _calling(self, name: str, path: str, scope: int) -> list[list[tuple[Call, ModuleSummary]]]:
        """The calls of one function, file by file."""
        found = []
        mentioning = self.modules.mentioning(name)
        for other in mentioning if len(mentioning) <= _MANY else [path]:
            summary = self.modules.summary(other)
            if summary is not None:
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
        with self.inference.calling.budget(_BUDGET):
            values = self.inference.infer(call.expression.callee, place)
        return any(value.kind == FUNCTION and comes_from(value, path, scope) for value in values)


def runs_later(summary: ModuleSummary, scope: int) -> bool:
    """Whether code in a scope runs when something is called, and not when it is imported."""
    while scope > 0:
        if summary.scopes[scope].kind in ("function", "lambda"):
            return True
        scope = summary.scopes[scope].parent
    return False
