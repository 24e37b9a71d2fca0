"""Order of start-up: an abstract interpretation of imports, bindings of originals, and patches.

A module runs once, where it is first imported, after its packages. The interpretation covers the
code that an import runs: module and class bodies, and the functions that these call, if plain names
resolve them. An ``if`` with an unknown outcome and every ``except`` are skipped, but a patch is
assumed to run wherever it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.processes.patching import PATCHED, Patch
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import ImportBinding, Path
from gblock.project.reading.expressions import Expr, NameExpr, dotted, last_name
from gblock.project.reading.parsing import parsed
from gblock.project.reading.positions import row_is_main_guard
from gblock.project.reading.summary import Call, ModuleSummary
from gblock.project.remarks.loaded import Loaded

if TYPE_CHECKING:
    from gblock.catalog.patching import Original
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes

_ALL = frozenset(PATCHED)
_DEEPEST = 120
"""Imports and calls within one another: what is nested deeper is not followed."""
_STARS = 5
"""At most this many modules that import all of one another are followed."""
_WAITING = (
    rb"""(?<!["'])\.%s\(\s*(?:\)|timeout\b|[0-9]|(?:\w+\.)*[A-Z_0-9]+\s*\)|\w*timeout\w*\s*\))"""
)
"""A call of a method that waits: ``worker.join()``, ``worker.join(TIMEOUT)``"""
_TYPE_CHECKING = "TYPE_CHECKING"
_BY_NAME = ("importlib.import_module", "import_module", "__import__")


class StartupEvent(NamedTuple):
    """One event of a process's start-up."""

    kind: Literal["imported", "kept", "made", "patches"]
    """``imported``: a module that is not the project's and keeps originals; ``kept`` and ``made``:
    a module of the project keeps a name, or an object that it makes."""
    path: str
    row: int
    symbol: str
    """The module; what the name means, or the object's class; what patches."""
    keeps: tuple[str, ...] = ()
    """The originals that it keeps."""
    replaces: frozenset[str] = frozenset()
    """For a patch: which of `PATCHED`."""
    patch: Patch | None = None
    """The place of a patch; None if the server patches."""
    chain: tuple[tuple[str, int], ...] = ()
    """The imports and calls that led here, the first one first."""
    name: str = ""
    """The identifier to point at."""

    def happens_in(self, path: str, row: int) -> bool:
        """Return whether it happens before execution reaches a row of a file."""
        return any(p == path and r < row for p, r in (*self.chain, (self.path, self.row)))


class Order:
    """Finds the code that processes execute before they patch.

    Args:
        processes: The processes of the project.
    """

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.modules = processes.modules
        self.inference = processes.inference
        self.catalog = processes.inference.catalog
        self._runs: dict[tuple[object, ...], tuple[tuple[StartupEvent, ...], ...]] = {}
        self._statements: dict[str, dict[int, list[_Statement]]] = {}
        self._called: dict[str, bool] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._early: dict[Process, frozenset[str]] = {}
        self.last_names = frozenset(one.rpartition(".")[2] for one in self.catalog.originals)
        """The identifiers with which an original can be written."""
        self.loaded = Loaded(processes)

    def is_stale(self, original: Original) -> bool:
        """Return whether a name that was bound before the patch can block."""
        return original.kept and (not original.waits_in or self._is_called(original.waits_in))

    def _is_called(self, method: str) -> bool:
        """Return whether some module calls a method without arguments, or with a timeout.

        ``"".join(texts)`` and ``path.join(one, other)`` are other methods.
        """
        found = self._called.get(method)
        if found is None:
            call = re.compile(_WAITING % re.escape(method.encode()))
            modules = self.modules
            found = self._called[method] = modules.is_frugal or any(
                call.search(modules.data(path)) for path in modules.serving
            )
        return found

    def of(self, process: Process) -> tuple[tuple[StartupEvent, ...], ...]:
        """Return the steps that a process executes until everything is patched.

        Returns:
            Runs, each a list of steps in order. There are several if a process can start in
            several ways, or if it is unknown when a patching function is called: then only the
            imports of its module come before it.
        """
        key = (
            *(process.entries, process.before, process.by_server, process.by_path),
            *(process.kind, process.name),
        )
        found = self._runs.get(key)
        if found is None:
            found = self._runs[key] = tuple(tuple(steps) for steps in self._simulated(process))
        return found

    def late(self, process: Process) -> Iterator[tuple[StartupEvent, StartupEvent]]:
        """Yield the steps that bind an original, each with the later patch."""
        for steps in self.of(process):
            kept: list[StartupEvent] = []
            patched: frozenset[str] = frozenset()
            for step in steps:
                if step.kind != "patches":
                    kept.append(step)
                    continue
                for one in kept:
                    stale = tuple(
                        symbol
                        for symbol in one.keeps
                        if self.catalog.originals[symbol].patch in step.replaces - patched
                    )
                    if stale:
                        yield one._replace(keeps=stale), step
                patched |= step.replaces

    def precedes_patch(self, path: str) -> bool:
        """Return whether every process on gevent that imports a module does so before it patches.

        What such a module starts is a native thread: one of the system if it is started at once,
        and also where a library starts it again after gunicorn has forked a worker.
        """
        running = [
            process
            for process in self.processes.on_gevent(path)
            # A script that starts gunicorn is examined as gunicorn's master.
            if not (process.is_by_file and process.by_server and not process.before)
        ]
        return bool(running) and all(path in self._before(process) for process in running)

    def _before(self, process: Process) -> frozenset[str]:
        """Return the modules that a process has executed completely when everything is patched."""
        if process not in self._early:
            runs = []
            for entries in () if self._is_started_patched(process) else self._beginnings(process):
                run = _Run(self, process)
                run.start(entries)
                runs.append(run.executed if run.patched == _ALL else frozenset())
            self._early[process] = frozenset.intersection(*runs) if runs else frozenset()
        return self._early[process]

    # -- one process

    def _simulated(self, process: Process) -> Iterator[list[StartupEvent]]:
        if self._is_started_patched(process):
            return
        for entries in self._beginnings(process):
            run = _Run(self, process)
            run.start(entries)
            yield run.steps
            if run.patched == _ALL:
                continue
            later = [
                patch
                for patch in process.patches
                if patch not in run.seen and patch.path not in process.before
            ]
            own = [patch for patch in later if patch.path in process.entries]
            if any("full" in one.kinds and "conditional" not in one.kinds for one in own):
                later = own  # what the entry's function imports after its patch is patched already
            for patch in later:
                apart = _Run(self, process)
                apart.stand_alone(patch)
                yield [*apart.steps]

    def _is_started_patched(self, process: Process) -> bool:
        """Return whether a program that patches first starts gunicorn in the project's own code.

        The file with gunicorn's application is imported by that program, whose order is examined.
        """
        main, processes = process.main, self.processes
        if process.kind != "gunicorn" or not main or main not in process.before:
            return False
        scripts = [one for one in processes.all() if one.kind in ("script", "console script")]
        if any(main in one.entries and not one.is_casual for one in scripts):
            return False
        return any(
            one.is_gevent_service
            and one.patched == "complete"
            and main not in one.entries
            and main in processes.modules_of(one)
            for one in scripts
        )

    def _beginnings(self, process: Process) -> list[tuple[str, ...]]:
        if process.kind == "management command" and len(process.entries) > 1:
            first, *commands = process.entries
            return [(first, command) for command in commands]
        return [process.entries]

    def names_in(self, path: str) -> frozenset[str]:
        """Return the names that a file reads."""
        import ast  # needed only where a module of the standard library is imported with a star

        found = self._names.get(path)
        if found is None:
            tree = parsed(self.modules.data(path))
            nodes = ast.walk(tree) if tree is not None else ()
            found = self._names[path] = frozenset(
                node.id
                for node in nodes
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            )
        return found

    def statements(self, summary: ModuleSummary) -> dict[int, list[_Statement]]:
        """Return the imports, calls, values and inner bodies of each scope, in source order."""
        found = self._statements.get(summary.filename)
        if found is None:
            found = self._statements[summary.filename] = _in_order(summary, self.last_names)
        return found


class _Value(NamedTuple):
    """The value of an assignment, or a parameter's default."""

    expression: Expr
    row: int


class _Statement(NamedTuple):
    """One relevant import, call, value or body in a scope."""

    path: Path
    what: ImportBinding | Call | _Value | int
    """An import, a call, a value that a name is given, or the scope of an inner body."""


class _CompleteError(Exception):
    """Everything is patched, so the rest of the run is irrelevant."""


class _Run:
    """One interpretation of a process's start-up."""

    def __init__(self, order: Order, process: Process) -> None:
        self.order = order
        self.process = process
        self.modules = order.modules
        self.steps: list[StartupEvent] = []
        self.patched: frozenset[str] = frozenset()
        self.seen: set[Patch] = set()
        self._done: set[object] = set()
        self._executed: set[str] = set()
        self._chain: list[tuple[str, int]] = []

    def start(self, entries: tuple[str, ...]) -> None:
        """Run the entry files, one after the other."""
        before = self.process.before
        try:
            for path in before:
                self._begin(path)
            if self.process.by_server:
                self._patch(
                    StartupEvent(
                        "patches", "", 0, "", replaces=_ALL.difference(self.process.missing)
                    )
                )
            for path in entries:
                self._begin(path)
        except _CompleteError:
            pass

    def stand_alone(self, patch: Patch) -> None:
        """Run what surely precedes a patch in a function: the imports of its module."""
        summary = self.modules.summary(patch.path)
        try:
            self._module(patch.path)
            if patch.scope:
                self._body(summary, patch.scope)
            if patch not in self.seen:
                self._happens(patch)
        except _CompleteError:
            pass

    def _begin(self, path: str) -> None:
        is_main = path == self.process.main
        alone = (is_main and self.process.as_file) or path == self.process.by_path
        self._module(path, is_main=is_main, depth=0 if alone else None)

    def _module(self, path: str, *, is_main: bool = False, depth: int | None = None) -> None:
        """Run a module after some of the packages around it; None for all of them."""
        if path in self._done or len(self._chain) > _DEEPEST:
            return
        for package in reversed(self.order.processes.graph.packages(path)[:depth]):
            self._module(package)
        if path in self._done:
            return
        self._done.add(path)
        if not self.modules.parses(path):
            for patch in self.order.processes.patching.of(path):
                self._happens(patch)
            return
        self._body(self.modules.summary(path), 0, is_main=is_main)
        self._executed.add(path)

    @property
    def executed(self) -> frozenset[str]:
        """The modules that were executed completely."""
        return frozenset(self._executed)

    def _body(self, summary: ModuleSummary, scope: int, *, is_main: bool = False) -> None:
        path = summary.filename
        patches: dict[Path, list[Patch]] = {}
        for patch in self.order.processes.patching.of(path):
            if patch.scope == scope and not patch.of_driver:
                patches.setdefault(patch.at, []).append(patch)
        taken = {at[:depth] for at in patches for depth in range(2, len(at), 2)}
        for statement in self.order.statements(summary).get(scope, ()):
            if not self._is_taken(summary, scope, statement.path, is_main, taken):
                continue
            what = statement.what
            if isinstance(what, Call):
                for patch in patches.pop(statement.path, ()):
                    if "through_function" not in patch.kinds:
                        self._happens(patch)
                self._call(what, summary)
            elif isinstance(what, ImportBinding):
                self._import(what, path)
            elif isinstance(what, _Value):
                self._value(what.expression, what.row, Place(path, scope, statement.path))
            else:
                self._body(summary, what, is_main=is_main)

    def _is_taken(
        self,
        summary: ModuleSummary,
        scope: int,
        at: Path,
        is_main: bool,
        taken: set[Path],
    ) -> bool:
        """Return whether a statement surely runs when its body does."""
        entry = summary.scopes[scope]
        for depth in range(1, len(at), 2):
            kind, block = entry.branches.get(at[:depth]), at[depth]
            if kind == "try" and 0 < block < entry.tries[at[:depth]] - 1:
                return False
            if kind != "if" or at[: depth + 1] in taken:
                continue
            test = entry.tests.get(at[:depth])
            if test is not None and last_name(test) == _TYPE_CHECKING:
                if block == 0:
                    return False
            elif scope == 0 and depth == 1 and self._is_guard(summary, at[0]):
                if (block == 0) != is_main:
                    return False
            else:
                return False
        return True

    def _is_guard(self, summary: ModuleSummary, index: int) -> bool:
        row = summary.scopes[0].statements[index][0]
        return row_is_main_guard(self.modules.data(summary.filename), row)

    # -- effects of statements

    def _patch(self, step: StartupEvent) -> None:
        self.steps.append(step._replace(chain=tuple(self._chain)))
        self.patched |= step.replaces
        if self.patched == _ALL:
            raise _CompleteError

    def _happens(self, patch: Patch) -> None:
        if patch.of_driver or patch in self.seen:
            return
        self.seen.add(patch)
        self._patch(
            StartupEvent(
                "patches", patch.path, patch.row, patch.symbol, replaces=patch.patched, patch=patch
            )
        )

    def _keep(
        self,
        kind: Literal["imported", "kept", "made"],
        place: tuple[str, int],
        symbol: str,
        name: str,
        *keeps: str,
    ) -> None:
        step = StartupEvent(kind, *place, symbol, keeps, chain=tuple(self._chain), name=name)
        self.steps.append(step)

    def _import(self, binding: ImportBinding, path: str) -> None:
        module, name, level = binding.value
        if name is None and not level and binding.detail:
            module = binding.detail
        target = self.modules.resolve(module, level, path)
        if target is None:
            if not level:
                self._import_other(module, name, (path, binding.row))
                if binding.kind == kinds.STAR_IMPORTED:
                    self._import_all(module, (path, binding.row))
            return
        depth = None if level else module.count(".")
        self._import_own(target, name, (path, binding.row), depth)

    def _import_own(
        self, target: str, name: str | None, place: tuple[str, int], depth: int | None
    ) -> None:
        self._chain.append(place)
        directory = target
        if self.modules.is_module(target):
            self._module(target, depth=depth)
            directory = os.path.dirname(target) if target.endswith("__init__.py") else ""
        if name is not None and directory:
            inner = self.modules.inside(directory, name)
            if inner is not None and self.modules.is_module(inner):
                self._module(inner, depth=None if depth is None else depth + 1)
        self._chain.pop()

    def _import_other(self, module: str, name: str | None, place: tuple[str, int]) -> None:
        """Run the import of a module outside the project."""
        written = f"{module}.{name}" if name else module
        original = self.order.catalog.originals.get(written) if name else None
        if original is not None:
            if self.order.is_stale(original):
                self._keep("kept", place, written, name or "", written)
            return
        head = written
        while head:
            known = self.order.catalog.imports.get(head)
            if known is not None:
                if known.patches:
                    self._patch(StartupEvent("patches", *place, head, replaces=_ALL))
                elif head not in self._done:
                    self._done.add(head)
                    self._keep("imported", place, head, module, *known.keeps)
                return
            head = head.rpartition(".")[0]

    def _import_all(self, module: str, place: tuple[str, int]) -> None:
        """Record the originals that ``from module import *`` binds and that code uses."""
        for symbol, original in self.order.catalog.originals.items():
            owner, _, name = symbol.rpartition(".")
            if owner == module and self.order.is_stale(original) and self._uses(name, place[0]):
                self._keep("kept", place, symbol, name, symbol)

    def _uses(self, name: str, path: str, depth: int = 0) -> bool:
        """Return whether a file, or one that imports all of it, names what it does not define."""
        if name in self.modules.summary(path).scopes[0].bindings:
            return False
        if name in self.order.names_in(path):
            return True
        importers = self.order.processes.graph.importers.get(path, ()) if depth < _STARS else ()
        return any(
            self.modules.resolve(one.value.module, one.value.level, importer) == path
            and self._uses(name, importer, depth + 1)
            for importer in sorted(importers)
            for one in self.modules.summary(importer).star_imports
        )

    def _value(self, expression: Expr, row: int, place: Place) -> None:
        """Record an original that is bound: ``_sleep = time.sleep``, or a parameter's default."""
        for symbol in self._symbols(expression, place):
            original = self.order.catalog.originals.get(symbol)
            if original is not None and self.order.is_stale(original):
                self._keep("kept", (place.path, row), symbol, last_name(expression), symbol)

    def _symbols(self, expression: Expr, place: Place) -> list[str]:
        return sorted(self.order.inference.callees.called_symbols(expression, place))

    def _call(self, call: Call, summary: ModuleSummary) -> None:
        callee = call.expression.callee
        place = (summary.filename, call.row)
        name = last_name(callee)
        if dotted(callee) in _BY_NAME:
            self._import_by_name(call.expression.positional, place)
            return
        if name in self.order.last_names:
            self._made(call, summary)
        for module in self.order.loaded.by(call, summary.filename, self.process):
            self._import_other(module, None, place)
        for function in self._run_by(call, summary):
            if function in self._done or len(self._chain) > _DEEPEST:
                continue
            self._done.add(function)
            self._chain.append(place)
            self._body(self.modules.summary(function[0]), function[1])
            self._chain.pop()

    def _run_by(self, call: Call, summary: ModuleSummary) -> list[tuple[str, int]]:
        """Return the function, or the constructors, that a call runs."""
        callee, inference = call.expression.callee, self.order.inference
        if last_name(callee) == "__init__":
            place = Place(summary.filename, call.scope, call.path)
            values = inference.infer(callee, place)
        else:
            found = self._function(callee, summary, call.scope)
            if found is None or self.modules.summary(found[0]).scopes[found[1]].kind != "class":
                return [found] if found is not None else []
            made = v.ScopeValue(v.OBJECT, *found)
            values = inference.classes.attribute(made, "__init__")
        return sorted((one.path, one.scope) for one in values if one.kind == v.FUNCTION)

    def _import_by_name(self, arguments: tuple[Expr, ...], place: tuple[str, int]) -> None:
        if arguments and arguments[0] is not None and arguments[0].tag == tags.CONSTANT:
            written = arguments[0].value
            if isinstance(written, str) and written and not written.startswith("."):
                target = self.modules.resolve(written, 0, place[0])
                if target is None:
                    self._import_other(written, None, place)
                else:
                    self._import_own(target, None, place, written.count("."))

    def _made(self, call: Call, summary: ModuleSummary) -> None:
        """Record an object that is made early and kept: ``lock = threading.Lock()``."""
        if summary.scopes[call.scope].kind not in ("module", "class") and not _is_kept(
            summary, call
        ):
            return
        where = Place(summary.filename, call.scope, call.path)
        callee = call.expression.callee
        for symbol in self._symbols(callee, where):
            original = self.order.catalog.originals.get(symbol)
            if original is None or not original.made or _is_given_up(summary, call):
                continue
            is_attribute = callee is not None and callee.tag == tags.ATTRIBUTE
            if is_attribute or not original.kept:  # else its import is reported
                self._keep(
                    "made",
                    (summary.filename, call.name_row),
                    symbol,
                    last_name(call.expression.callee),
                    symbol,
                )

    def _function(
        self, callee: Expr, summary: ModuleSummary, scope: int, depth: int = 0
    ) -> tuple[str, int] | None:
        """Return the project's function or class that a plain name, or an attribute, means."""
        name = dotted(callee)
        if name is None or depth > 5:
            return None
        head, _, rest = name.partition(".")
        while scope > 0:  # names of enclosing functions
            entry = summary.scopes[scope]
            if head in entry.bindings and entry.kind != "class":
                break
            scope = entry.parent
        for binding in reversed(summary.scopes[scope].bindings.get(head, ())):
            if binding.kind == kinds.DEFINED and not rest:
                return (summary.filename, binding.value)
            if binding.kind != kinds.IMPORTED:
                return None
            module, inner, level = binding.value
            if inner is None and binding.detail and rest:
                module, _, last = name.rpartition(".")
            elif inner is not None and rest:  # from package import module
                module, last = (f"{module}.{inner}" if module else inner), rest
            else:
                last = inner or rest
            target = self.modules.resolve(module, level, summary.filename)
            found = (
                self.modules.summary(target) if target and self.modules.is_module(target) else None
            )
            if found is None or not last or "." in last:
                return None
            return self._function(NameExpr(tags.NAME, last), found, 0, depth + 1)
        return None


def _is_kept(summary: ModuleSummary, call: Call) -> bool:
    """Return whether a function sets an attribute to what a call makes: ``self.lock = Lock()``."""
    return any(
        one.path == call.path and one.value == call.expression
        for bindings in summary.scopes[call.scope].attributes.values()
        for one in bindings
    )


def _is_given_up(summary: ModuleSummary, call: Call) -> bool:
    """Return whether a module closes the object that a call makes, or uses it in a ``with``."""
    names = {
        name
        for name, bindings in summary.scopes[call.scope].bindings.items()
        for one in bindings
        if one.path == call.path and one.scope == call.scope
    }
    if any(
        one.kind == kinds.ENTERED and one.path == call.path
        for bindings in summary.scopes[call.scope].bindings.values()
        for one in bindings
    ):
        return True
    closing = (one for one in summary.calls if one.scope == call.scope and one.node == "call")
    return any(
        last_name(one.expression.callee) == "close"
        and last_name(getattr(one.expression.callee, "base", None)) in names
        for one in closing
    )


def _in_order(summary: ModuleSummary, names: frozenset[str]) -> dict[int, list[_Statement]]:
    found: dict[int, list[_Statement]] = {}

    def add(scope: int, statement: _Statement) -> None:
        found.setdefault(scope, []).append(statement)

    for index, scope in enumerate(summary.scopes):
        if index and scope.kind in ("class", "comprehension"):
            add(scope.parent, _Statement(scope.path, index))
        if scope.kind == "function":
            for parameter in scope.parameters:
                if _names(parameter.default, names):
                    what = _Value(parameter.default, scope.rows[0])
                    add(scope.parent, _Statement(scope.path, what))
        for bindings in scope.bindings.values():
            for one in bindings:
                if one.fallback:
                    continue
                if isinstance(one, ImportBinding):
                    add(one.scope, _Statement(one.path, one))
                elif one.kind == kinds.ASSIGNED and _names(one.value, names):
                    if scope.kind in ("module", "class"):
                        add(one.scope, _Statement(one.path, _Value(one.value, one.row)))
    for call in summary.calls:
        if call.node == "call":
            add(call.scope, _Statement(call.path, call))
    for statements in found.values():
        statements.sort(key=lambda one: one.path)
    return found


def _names(value: Expr, names: frozenset[str]) -> bool:
    """Return whether a value is an attribute with one of some names."""
    return value is not None and value.tag == tags.ATTRIBUTE and value.name in names
