"""The expressions that a project's code reads as strings that choose a driver."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from gblock.catalog.drivers import Chooser, DriverArgument, Setting
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.bindings import Binding, ValueBinding
from gblock.project.reading.expressions import (
    Expr,
    NameExpr,
    constant,
    is_passed,
    last_name,
    passed,
)
from gblock.project.reading.summary import Call, ModuleSummary, Scope
from gblock.project.remarks.leftover import is_left_over

_VALIDATORS = frozenset(("validator", "field_validator"))
"""Decorators of functions that return the value of the fields that they name."""


class Read(NamedTuple):
    """An expression that is read as a string that chooses a driver."""

    part: Part
    chooser: Chooser
    form: str
    chosen: str = ""
    """The name that the expression, a callee, stands for; empty for a string."""
    is_elsewhere: bool = False
    """True if the string is in what the expression gets from elsewhere: no text of it counts."""


class Readers:
    """Finds the readers of strings that choose a driver: calls and settings.

    Args:
        inference: Type inference over the project.
        texts: Evaluates the strings.
        marks: Matches every file that may contain such a string.
    """

    def __init__(self, inference: Inference, texts: Texts, marks: re.Pattern[bytes]) -> None:
        self.inference = inference
        self.modules = inference.modules
        self.texts = texts
        self._marks = marks

    def of(self, chooser: Chooser) -> Iterator[Read]:
        """Yield the expressions that a library, or its configuration, reads as such strings."""
        for reading in chooser.readings:
            yield from self._arguments(chooser, reading)
        shown = [(one, x) for one in chooser.settings for x in self.modules.mentioning(one.name)]
        if shown and is_left_over(self.modules, chooser.imports):
            return
        for setting, path in shown:
            yield from self._settings(chooser, setting, self.modules.summary(path))
        for symbol in () if shown else chooser.made_by:
            yield from self._made(chooser, symbol)

    def _made(self, chooser: Chooser, symbol: str) -> Iterator[Read]:
        """Yield the calls that read a library's settings, which no code of the project mentions."""
        name = symbol.rpartition(".")[2]
        for path in self.modules.mentioning(name, whole=True):
            for call in self.inference.calling.calls_by_name(path).get(name, ()):
                place = Place(path, call.scope, call.path)
                if symbol in self._symbols(call.expression.callee, place):
                    yield Read(
                        Part(call.expression, place, (call.row, call.end_row)), chooser, "url"
                    )

    def _arguments(self, chooser: Chooser, reading: DriverArgument) -> Iterator[Read]:
        name = reading.symbol.rpartition(".")[2]
        for path in self._calling(chooser, reading):
            by_name = self.inference.calling.calls_by_name(path)
            aliases = self.inference.calling.aliases(path).get(name, set())
            for called in sorted({name, *aliases}):
                for call in by_name.get(called, ()):
                    yield from self._argument(chooser, reading, call, path)
            yield from self._converted(chooser, reading, path, {name, *aliases})
            yield from self._called_later(chooser, reading, path, {name, *aliases})

    def _calling(self, chooser: Chooser, reading: DriverArgument) -> Iterator[str]:
        """Yield the files that may call a reader of such strings; only these are parsed.

        A file that calls a function imports it. A method is called in a file that names its class,
        or on an object from elsewhere: then the string is usually an argument.
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
        self, chooser: Chooser, reading: DriverArgument, call: Call, path: str
    ) -> Iterator[Read]:
        expression = call.expression
        if reading.chooses:
            place = Place(path, call.scope, call.path)
            if reading.symbol in self._symbols(expression.callee, place):
                part = Part(expression.callee, place, (call.row, call.end_row))
                yield Read(part, chooser, "name", reading.chooses)
            return
        if not is_passed(expression, reading.position, reading.keyword):
            yield from self._unpacked(chooser, reading, call, path)
            if reading.keyword == "default":  # then the environment alone has the string
                place = Place(path, call.scope, call.path)
                if reading.symbol in self._symbols(expression.callee, place):
                    yield Read(Part(expression, place, (call.row, call.end_row)), chooser, "url")
            return
        if any(is_passed(expression, None, keyword) for keyword in reading.unless):
            return
        place = Place(path, call.scope, call.path)
        symbols = self._symbols(expression.callee, place)
        if reading.symbol not in symbols and (
            symbols or not self._is_star_imported(reading.symbol, expression.callee, path)
        ):
            return
        argument = passed(expression, reading.position, reading.keyword)
        part = Part(argument, place, (call.row, call.end_row))
        if reading.key is None:
            yield Read(part, chooser, reading.form)
            return
        found = list(self.texts.held(part, reading.key))
        if not found and reading.symbol in chooser.loads and not any(self.texts.held(part, None)):
            found = [part]  # settings from elsewhere, without which the call does nothing
        for held in found:
            yield Read(held, chooser, reading.form)

    def _symbols(self, callee: Expr, place: Place) -> set[str]:
        """Return the dotted names of a callee; of a method, those in its bases, too."""
        found = self.inference.callees.called_symbols(callee, place)
        catalog = self.inference.catalog
        return found | {
            f"{base}.{name}"
            for owner, _, name in (symbol.rpartition(".") for symbol in found)
            for base in catalog.lineage(owner)
        }

    def _unpacked(
        self, chooser: Chooser, reading: DriverArgument, call: Call, path: str
    ) -> Iterator[Read]:
        """Yield what a dict holds that a call unpacks: ``db.bind(**settings)``."""
        dicts = [value for name, value in call.expression.keywords if name is None]
        if not dicts or reading.keyword is None or reading.key is not None:
            return
        place, rows = Place(path, call.scope, call.path), (call.row, call.end_row)
        if reading.symbol in self._symbols(call.expression.callee, place):
            for one in dicts:
                for held in self.texts.held(Part(one, place, rows), reading.keyword):
                    yield Read(held, chooser, reading.form)

    def _converted(
        self, chooser: Chooser, reading: DriverArgument, path: str, names: set[str]
    ) -> Iterator[Read]:
        """Yield the defaults of calls that are passed a reader: ``config(name, cast=parse)``.

        Such a call looks a setting up, and hands its value, or the default, to the reader. Without
        a default the environment alone has the string.
        """
        if reading.key is not None or not names:
            return
        calls = chain.from_iterable(self.inference.calling.calls_by_name(path).values())
        for call in calls:
            expression = call.expression
            readers = [
                value
                for value in (*expression.positional[1:], *(v for _, v in expression.keywords))
                if value is not None
                and value.tag in (tags.NAME, tags.ATTRIBUTE)
                and last_name(value) in names
            ]
            place = Place(path, call.scope, call.path)
            if not any(reading.symbol in self._symbols(one, place) for one in readers):
                continue
            rows = (call.row, call.end_row)
            default = passed(expression, 1, "default")
            if default is None or default in readers:
                default = expression
            yield Read(Part(default, place, rows), chooser, "url")

    def _called_later(
        self, chooser: Chooser, reading: DriverArgument, path: str, names: set[str]
    ) -> Iterator[Read]:
        """Yield the arguments beside a reader: ``partial(create_engine, url)``."""
        if reading.key is not None or reading.chooses:
            return
        given = self.inference.calling.given(path)
        for call, position, reader in (
            one for name in sorted(names) for one in given.get(name, ())
        ):
            place = Place(path, call.scope, call.path)
            if reading.symbol in self._symbols(reader, place):
                for expression, at in self.inference.parameters.beside(call, place, position):
                    if is_passed(expression, reading.position, reading.keyword):
                        argument = passed(expression, reading.position, reading.keyword)
                        rows = (call.row, call.end_row)
                        yield Read(Part(argument, at, rows), chooser, reading.form)

    def _is_star_imported(self, symbol: str, callee: Expr, path: str) -> bool:
        """Return whether a name can be a symbol that ``from module import *`` gives."""
        summary = self.modules.summary(path)
        module, _, name = symbol.rpartition(".")
        return (
            callee is not None
            and callee.tag == tags.NAME
            and callee.identifier == name
            and any(one.value.module == module for one in summary.star_imports)
        )

    def _settings(
        self, chooser: Chooser, setting: Setting, summary: ModuleSummary
    ) -> Iterator[Read]:
        """Yield the values of a setting in a module, however they are assigned."""
        for part in self._given(setting.name, summary):
            if setting.key is not None:
                held = self.texts.held(part, setting.key)
                for one in self._from_elsewhere(part):
                    yield Read(one, chooser, setting.form, is_elsewhere=True)
            elif setting.nested:
                held = self.texts.held(part, None)
            else:
                held = [part]
            for one in held:
                yield Read(one, chooser, setting.form)

    def _from_elsewhere(self, part: Part) -> Iterator[Part]:
        """Yield the settings of databases that other code has: ``{"default": secrets.database()}``.

        A call that itself reads strings which choose a driver is none.
        """
        for one in self.texts.unshown(part, 1):
            called = one.expression
            callee = called.callee if called is not None and called.tag == tags.CALL else None
            symbols = self._symbols(callee, one.place) if callee is not None else set()
            if self._reading.isdisjoint(symbols):
                yield one

    @cached_property
    def _reading(self) -> frozenset[str]:
        """The dotted names of the calls that read such strings."""
        choosers = self.inference.catalog.choosers
        return frozenset(one.symbol for chooser in choosers for one in chooser.readings)

    def _given(self, name: str, summary: ModuleSummary) -> Iterator[Part]:
        key = constant(name)
        for index, scope in enumerate(summary.scopes):
            if scope.kind == "class" and "Test" in scope.name:
                continue
            if scope.kind in ("module", "class"):
                for binding in scope.bindings.get(name, ()):
                    yield from self._stored(binding, summary)
                    if scope.kind == "class" and binding.kind == kinds.DEFINED:
                        yield from _returned(summary, binding.value)
            if scope.kind == "function" and _validates(scope, key):
                yield from _returned(summary, index)
            for (_, attribute), bindings in scope.attributes.items():
                for binding in bindings if attribute == name else ():
                    yield from self._stored(binding, summary)
            for binding in chain(*scope.bindings.values(), *scope.attributes.values()):
                if isinstance(binding, ValueBinding):
                    if binding.kind == kinds.ELEMENT and binding.key == key:
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
        if isinstance(binding, ValueBinding) and (
            binding.kind in (kinds.ASSIGNED, *kinds.STORES)
            or (binding.kind == kinds.OPAQUE and binding.detail == kinds.ADDED)
        ):
            yield Part(binding.value, place, (binding.row, binding.row))
        elif binding.kind == kinds.IMPORTED:
            known = list(self.texts.binding(binding, summary))
            yield from known
            module, name, level = binding.value
            if not known and self.modules.resolve(module, level, place.path) is None:
                # a file that the repository leaves out
                yield Part(NameExpr(tags.NAME, name or ""), place, (binding.row, binding.row))

    def _in_display(
        self, binding: ValueBinding, key: Expr, summary: ModuleSummary
    ) -> Iterator[Part]:
        if binding.kind in (kinds.ASSIGNED, kinds.ELEMENT):
            place = Place(summary.filename, binding.scope, binding.path)
            for value in _under(binding.value, key):
                yield Part(value, place, (binding.row, binding.row))


def _returned(summary: ModuleSummary, index: int) -> Iterator[Part]:
    """Yield what a property or a method returns, whose name is a setting's."""
    scope = summary.scopes[index]
    for value, at in scope.returns if scope.kind == "function" else ():
        yield Part(value, Place(summary.filename, index, at), scope.rows)


def _validates(scope: Scope, key: Expr) -> bool:
    """Return whether a decorator makes of a function a validator of a field of pydantic."""
    return any(
        one is not None
        and one.tag == tags.CALL
        and last_name(one.callee) in _VALIDATORS
        and key in one.positional
        for one in scope.decorators
    )


def _is_run_by_alembic(path: str, data: bytes) -> bool:
    """Return whether a file is alembic's ``env.py``, which only a command runs."""
    return os.path.basename(path) == "env.py" and b"run_migrations" in data


def _under(expression: Expr, key: Expr) -> Iterator[Expr]:
    """Yield the values under a key of dict displays in an expression."""
    if expression is not None and expression.tag == tags.MAPPING:
        for name, value in expression.items:
            if name == key:
                yield value
            else:
                yield from _under(value, key)
