"""The strings that choose a driver: the catalog says who reads them, and which one blocks."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import NamedTuple

from gblock.catalog import Choice, Chooser, Driver, Reading, Setting
from gblock.project.names.expressions import Place, is_passed, passed
from gblock.project.names.origins import Origins, Part, Text
from gblock.project.processes.patching import Patch
from gblock.project.processes.processes import Process, Processes
from gblock.project.processes.servers import NO, YES
from gblock.project.reading import summary as tags
from gblock.project.reading.positions import column
from gblock.project.reading.requirements import Requirements
from gblock.project.reading.summary import Binding, Call, Expr, ModuleSummary, constant
from gblock.project.remarks.remark import Remark, Span

_BUDGET = 40
"""In so many files callers are looked for, for each place that reads a string."""


class Facts(NamedTuple):
    """What there is to say of one string."""

    driver: Driver
    written: str
    """The scheme, or the name, that chooses it."""
    rivals: tuple[str, ...]
    """What it means instead where one of these is installed, and the project names neither."""
    processes: tuple[str, ...]
    """The names of the processes on gevent that can run it, none where nobody knows."""
    elsewhere: tuple[str, ...]
    """The processes in which the project does make it cooperative."""
    reader: tuple[str, int] | None
    """The file and the row where it is read, if that is another place."""
    doubt: Patch | None = None
    """What makes it cooperative in these processes under a condition alone."""


class Read(NamedTuple):
    """An expression that is read as a string that chooses a driver."""

    part: Part
    chooser: Chooser
    form: str


class Drivers:
    """Finds the strings that choose a driver.

    Args:
        processes: The processes of the project.
        paths: The files in which strings are reported.
        marks: A file without them holds no such string.
    """

    def __init__(
        self, processes: Processes, paths: Collection[str], marks: re.Pattern[bytes]
    ) -> None:
        self.processes = processes
        self.inference = processes.inference
        self.modules = processes.modules
        self.catalog = self.inference.catalog
        self.paths = frozenset(paths)
        self._marks = marks
        self.origins = Origins(self.inference)
        self.requirements = Requirements(processes.deployment.tree)
        self._trees: dict[str, ast.Module | None] = {}
        self._by_name: dict[tuple[str, str], list[tuple[Driver, Choice]]] = {}
        for driver in self.catalog.drivers:
            for choice in driver.chosen_by:
                for name in choice.names:
                    key = (choice.language, name.lower())
                    self._by_name.setdefault(key, []).append((driver, choice))

    def remarks(self) -> Iterator[Remark]:
        """The strings that choose a driver which blocks where it is used."""
        told: set[tuple[object, ...]] = set()
        for chooser in self.catalog.choosers:
            if not any(self.modules.mentioning(name) for name in chooser.imports):
                continue
            for read in self._read_by(chooser):
                with self.inference.calling.budget(_BUDGET):
                    texts = self.origins.texts(read.part)
                for text in texts:
                    if text.path not in self.paths:
                        continue
                    remark = self._remark(text, read)
                    if remark is not None:
                        key = (remark.path, remark.span, remark.facts.driver.id)
                        if key not in told:
                            told.add(key)
                            yield remark

    # -- where such strings are read

    def _read_by(self, chooser: Chooser) -> Iterator[Read]:
        for reading in chooser.readings:
            yield from self._arguments(chooser, reading)
        for setting in chooser.settings:
            for path in self.modules.mentioning(setting.name):
                summary = self.modules.summary(path)
                if summary is not None:
                    for part in self._settings(setting, summary):
                        yield Read(part, chooser, setting.form)

    def _arguments(self, chooser: Chooser, reading: Reading) -> Iterator[Read]:
        name = reading.symbol.rpartition(".")[2]
        for path in self._calling(chooser, reading):
            by_name = self.inference.calling.calls_by_name(path)
            aliases = self.inference.calling.aliases(path).get(name, set())
            for called in sorted({name, *aliases}):
                for call in by_name.get(called, ()):
                    yield from self._argument(chooser, reading, call, path)

    def _calling(self, chooser: Chooser, reading: Reading) -> Iterator[str]:
        """The files that may call what reads a string; only these are parsed.

        A function is imported by who calls it. A method is called where its class is named, or
        on an object from elsewhere: then the string is most often right there.
        """
        owner, _, name = reading.symbol.rpartition(".")
        cls = owner.rpartition(".")[2]
        method = cls[:1].isupper()
        word = name.encode()
        called = re.compile(rb"%s(?<!\w%s)(?:\s*[(,)\n]|[ \t]+as\b|$)" % (word, word))
        using = {path for root in chooser.imports for path in self.modules.mentioning(root)}
        for path in self.modules.mentioning(name):
            data = self.modules.data(path)
            near = path in using and (not method or cls.encode() in data)
            if not (near or method) or not called.search(data):
                continue
            if (near or self._marks.search(data)) and not _is_run_by_alembic(path, data):
                yield path

    def _argument(
        self, chooser: Chooser, reading: Reading, call: Call, path: str
    ) -> Iterator[Read]:
        expression = call.expression
        if not is_passed(expression, reading.position, reading.keyword):
            return
        if any(is_passed(expression, None, keyword) for keyword in reading.unless):
            return
        place = Place(path, call.scope, call.path)
        if reading.symbol not in self.inference.callee_symbols(expression.callee, place):
            return
        argument = passed(expression, reading.position, reading.keyword)
        part = Part(argument, place, (call.row, call.end_row))
        if reading.key is None:
            yield Read(part, chooser, reading.form)
        else:
            for held in self.origins.held(part, reading.key):
                yield Read(held, chooser, reading.form)

    def _settings(self, setting: Setting, summary: ModuleSummary) -> Iterator[Part]:
        """What a module gives a name of the configuration, in whatever way."""
        for part in self._given(setting.name, summary):
            if setting.key is not None:
                yield from self.origins.held(part, setting.key)
            elif setting.nested:
                yield from self.origins.held(part, None)
            else:
                yield part

    def _given(self, name: str, summary: ModuleSummary) -> Iterator[Part]:
        key = constant(name)
        for scope in summary.scopes:
            if scope.kind == "class" and "Test" in scope.name:
                continue
            if scope.kind in ("module", "class"):
                for binding in scope.bindings.get(name, ()):
                    yield from self._stored(binding, summary)
            for (_, attribute), bindings in scope.attributes.items():
                for binding in bindings if attribute == name else ():
                    yield from self._stored(binding, summary)
            for bindings in (*scope.bindings.values(), *scope.attributes.values()):
                for binding in bindings:
                    if binding.kind == tags.ELEMENT and binding.detail == key:
                        yield from self._stored(binding, summary)
                    else:
                        yield from self._in_display(binding, key, summary)
        for call in summary.calls:
            if call.node == "call":
                place = Place(summary.filename, call.scope, call.path)
                for keyword, value in call.expression.keywords:
                    if keyword == name:
                        yield Part(value, place, (call.row, call.end_row))
                for argument in call.expression.positional:
                    for value in _under(argument, key):
                        yield Part(value, place, (call.row, call.end_row))

    def _stored(self, binding: Binding, summary: ModuleSummary) -> Iterator[Part]:
        place = Place(summary.filename, binding.scope, binding.path)
        if binding.kind in (tags.ASSIGNED, tags.ELEMENT):
            yield Part(binding.value, place, (binding.row, binding.row))
        elif binding.kind == tags.IMPORTED:
            yield from self.origins.binding(binding, summary)

    def _in_display(self, binding: Binding, key: Expr, summary: ModuleSummary) -> Iterator[Part]:
        if binding.kind in (tags.ASSIGNED, tags.ELEMENT):
            place = Place(summary.filename, binding.scope, binding.path)
            for value in _under(binding.value, key):
                yield Part(value, place, (binding.row, binding.row))

    # -- what a string means

    def _remark(self, text: Text, read: Read) -> Remark | None:
        chosen = self._chosen(text, read)
        if chosen is None:
            return None
        driver, choice, written = chosen
        rivals = choice.rivals
        if rivals:
            own = any(name in self.requirements for name in (driver.distribution, *driver.requires))
            rival = any(name in self.requirements for name in rivals)
            if rival and (choice.rival_first or not own):
                return None
            rivals = () if own else rivals
        running = self._running(driver, text.path, read.part.place.path)
        if running is None:
            return None
        where = self._located(text)
        if where is None:
            return None
        span, statement = where
        if driver.unless_written is not None:
            pattern = re.compile(driver.unless_written)
            rows = [(text.path, statement), (read.part.place.path, read.part.rows)]
            if any(pattern.search(self._source(path, one)) for path, one in rows):
                return None
        blocked, free, doubt = running
        names = tuple(dict.fromkeys(process.name for process in blocked))
        elsewhere = tuple(dict.fromkeys(process.name for process in free))
        reader = (read.part.place.path, read.part.rows[0])
        here = reader[0] == text.path and statement[0] <= reader[1] <= statement[1]
        facts = Facts(driver, written, rivals, names, elsewhere, None if here else reader, doubt)
        return Remark(text.path, span, facts, statement)

    def _chosen(self, text: Text, read: Read) -> tuple[Driver, Choice, str] | None:
        """The driver that a text chooses, and the word that does."""
        scheme, separator, _ = text.start.partition("://")
        if separator and read.form != "name":
            word = scheme
        elif text.whole and not separator and read.form != "url":
            word = text.start
        else:
            return None
        prefixes = read.chooser.prefixes
        bare = next((word[len(p) :] for p in prefixes if word.startswith(p)), word)
        if prefixes and bare == word:
            return None
        for driver, choice in self._by_name.get((read.chooser.language, bare.lower()), ()):
            harmless = driver.harmless
            if harmless is None or not re.fullmatch(harmless, text.start):
                return driver, choice, word
        return None

    # -- who runs it

    def _running(
        self, driver: Driver, path: str, reader: str
    ) -> tuple[list[Process], list[Process], Patch | None] | None:
        """Return the processes in which a driver blocks, and those in which it is cooperative.

        What makes it cooperative in the former under a condition alone comes third.

        Args:
            driver: The driver.
            path: The file in which the string stands.
            reader: The file in which it is read.

        Returns:
            None where nothing is to be said: no process on gevent runs it, or all make it
            cooperative.
        """
        if any(self.processes.only_without_gevent(one) for one in {path, reader}):
            return None
        remedies = self.catalog.remedies_of(driver)
        reaching = [p for p in self.processes.reaching(path) if p.kind != "tests"]
        both = [p for p in reaching if reader in self.processes.modules_of(p)]
        reaching = both or reaching
        running = [p for p in reaching if p.runs_on_gevent == YES]
        if not reaching and self._only_load_tests:
            return None
        if not running:
            # Nobody knows who runs it: then what the project does anywhere is done for it, too.
            made = [
                patch
                for patch in self.processes.patching.all()
                if not patch.undone and patch.symbol in remedies
            ]
            if any(not patch.condition for patch in made):
                return None
            doubt = made[0] if made else None
            return [p for p in reaching if p.runs_on_gevent != NO], [], doubt
        made_in = {p: [one for one in p.drivers if one.symbol in remedies] for p in running}
        free = [p for p, made in made_in.items() if any(not one.condition for one in made)]
        blocked = [process for process in running if process not in free]
        doubts = [made_in[process][0] if made_in[process] else None for process in blocked]
        return (blocked, free, doubts[0] if all(doubts) else None) if blocked else None

    @cached_property
    def _only_load_tests(self) -> bool:
        """Whether only load tests run on gevent: they run what they import and no more."""
        running = [p for p in self.processes.all() if p.runs_on_gevent == YES]
        return all(process.kind in ("locust", "tests") for process in running)

    # -- where it stands

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            try:
                self._trees[path] = ast.parse(self.modules.data(path))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[path] = None
        return self._trees[path]

    def _located(self, text: Text) -> tuple[Span, tuple[int, int]] | None:
        """The string's place, and the rows of the statement in which it stands."""
        tree = self._tree(text.path)
        if tree is None:
            return None
        for statement in _statements(tree, text.rows):
            for node in _strings(statement):
                if _constant(node) == text.written:
                    return self._span(text.path, node), (statement.lineno, _end(statement))
        return None

    def _span(self, path: str, node: ast.expr) -> Span:
        lines = self.modules.data(path).splitlines()
        end_row = node.end_lineno or node.lineno
        return Span(
            node.lineno,
            _column(lines, node.lineno, node.col_offset),
            end_row,
            _column(lines, end_row, node.end_col_offset or 0),
        )

    def _source(self, path: str, rows: tuple[int, int]) -> str:
        lines = self.modules.data(path).splitlines()[rows[0] - 1 : rows[1]]
        return b"\n".join(lines).decode(errors="replace")


def _is_run_by_alembic(path: str, data: bytes) -> bool:
    """Whether a file is the environment of migrations, which only a command runs."""
    return os.path.basename(path) == "env.py" and b"run_migrations" in data


def _under(expression: Expr, key: Expr) -> Iterator[Expr]:
    """What dict displays in an expression hold under a key."""
    if expression is not None and expression.tag == tags.MAPPING:
        for name, value in expression.items:
            if name == key:
                yield value
            else:
                yield from _under(value, key)


def _statements(tree: ast.Module, rows: tuple[int, int]) -> Iterator[ast.stmt]:
    """The simple statements, and the headers of functions, that touch some rows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= rows[1]:
            if (node.end_lineno or node.lineno) >= rows[0]:
                yield node


def _end(statement: ast.stmt) -> int:
    """The last row of a statement, of a compound one that of its header."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    if body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _strings(statement: ast.stmt) -> Iterator[ast.expr]:
    """The strings in a statement, in those inside it not."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            yield node
        else:
            waiting += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.stmt)]


def _constant(node: ast.expr) -> object:
    """A string's text, an f-string's up to the first hole."""
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        return first.value if isinstance(first, ast.Constant) else None
    return node.value if isinstance(node, ast.Constant) else None


def _column(lines: list[bytes], row: int, offset: int) -> int:
    """Return the column, in characters from 1, of an offset in bytes."""
    return column(lines[row - 1] if row <= len(lines) else b"", offset)
