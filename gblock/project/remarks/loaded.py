"""Modules that a library imports because a string chooses them: drivers of databases."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from gblock.catalog.drivers import Choice, Chooser
from gblock.catalog.patching import Import
from gblock.project.names.inferred import Inferred
from gblock.project.names.partial_texts import Text
from gblock.project.names.places import Place
from gblock.project.names.texts import Texts
from gblock.project.processes.process import Process
from gblock.project.processes.processes import Processes
from gblock.project.reading.expressions import last_name
from gblock.project.reading.summary import Call
from gblock.project.remarks.readers import Readers

_MARKS = re.compile(rb"://|create_engine|ENGINE|DATABASES")


class _Chosen(NamedTuple):
    """One string that makes a library import a module."""

    module: str
    path: str
    row: int
    """The place where it is read."""
    for_all: bool
    """True if another call imports the module, wherever the string is read."""


class Loaded:
    """Finds the modules that calls such as ``create_engine()`` and ``django.setup()`` import.

    Args:
        processes: The processes of the project.
    """

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.inference = processes.inference
        self._requirements = processes.deployment.requirements
        self._texts = Texts(Inferred(self.inference), lenient=True)
        catalog = self.inference.catalog
        self._imports = [one for one in catalog.imports.values() if one.chosen_by]
        languages = {choice.language for one in self._imports for choice in one.chosen_by}
        self._choosers = [
            one for one in catalog.choosers if one.loads and one.language in languages
        ]
        self._loading: dict[str, list[Chooser]] = {}
        for chooser in self._choosers:
            for symbol in chooser.loads:
                self._loading.setdefault(symbol, []).append(chooser)
        self._last_names = frozenset(one.rpartition(".")[2] for one in self._loading)
        self._known: dict[int, list[_Chosen]] = {}

    def by(self, call: Call, path: str, process: Process) -> list[str]:
        """Return the modules that a call imports in a process.

        Args:
            call: The call.
            path: Its file.
            process: The process.
        """
        callee = call.expression.callee
        if last_name(callee) not in self._last_names:
            return []
        symbols = self.inference.callees.called_symbols(callee, Place(path, call.scope, call.path))
        reached = self.processes.modules_of(process)
        return list(
            dict.fromkeys(
                one.module
                for symbol in sorted(symbols)
                for chooser in self._loading.get(symbol, ())
                for one in self._chosen(chooser)
                if (one.for_all and one.path in reached) or (one.path, one.row) == (path, call.row)
            )
        )

    def _chosen(self, chooser: Chooser) -> list[_Chosen]:
        key = self._choosers.index(chooser)
        if key not in self._known:
            self._known[key] = self._found(chooser)
        return self._known[key]

    def _found(self, chooser: Chooser) -> list[_Chosen]:
        found = []
        modules = self.inference.modules
        if not any(modules.mentioning(name) for name in chooser.imports):
            return []
        for read in self._readers.of(chooser):
            texts = self._texts.of(read.part)
            where = (read.part.place.path, read.part.rows[0], chooser.loads_all)
            for text in texts:
                module = self._module(text, read.form, chooser.language)
                if module is not None:
                    found.append(_Chosen(module, *where))
        return found

    @cached_property
    def _readers(self) -> Readers:
        return Readers(self.inference, self._texts, _MARKS)

    def _module(self, text: Text, form: str, language: str) -> str | None:
        """Return the module that a string makes the library import."""
        scheme, separator, _ = text.start.partition("://")
        if separator and form != "name":
            word = scheme
        elif text.whole and not separator and form != "url":
            word = text.start
        else:
            return None
        return next(
            (
                one.module
                for one in self._imports
                for choice in one.chosen_by
                if choice.language == language and word.lower() in choice.names
                if self._is_installed(one, choice)
            ),
            None,
        )

    def _is_installed(self, one: Import, choice: Choice) -> bool:
        """Return whether the string means this module where several take it."""
        return not choice.rivals or one.module in self._requirements
