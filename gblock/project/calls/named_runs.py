"""Calls that run a file by its name: ``call_command("rebuild")`` of Django."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gblock.catalog.entries import Entry, fits
from gblock.project.calls.callers import Caller
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.expressions import passed
from gblock.project.reading.summary import ModuleSummary


class NamedRuns:
    """Finds the calls that run an entry by the name of its file.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._calls: dict[Entry, dict[str, list[Caller]]] = {}

    def callers(self, entry: Entry, summary: ModuleSummary) -> list[Caller]:
        """Return the calls that run an entry which a file contains.

        Args:
            entry: The entry.
            summary: The module in the file.
        """
        if not entry.run_by:
            return []
        found = self._calls.get(entry)
        if found is None:
            found = self._calls[entry] = {}
            for name, caller in self._named(entry):
                found.setdefault(name, []).append(caller)
        return found.get(name_of(summary.filename), [])

    def _named(self, entry: Entry) -> Iterator[tuple[str, Caller]]:
        """Yield the calls of the functions that run such entries, each with a name it gives."""
        for argument in entry.run_by:
            function = argument.symbol.rpartition(".")[2]
            for path in self.inference.modules.mentioning(function, whole=True):
                for call in self.inference.calling.calls_by_original_name(path).get(function, ()):
                    place = Place(path, call.scope, call.path)
                    callee = call.expression.callee
                    symbols = self.inference.callees.called_symbols(callee, place)
                    if not any(fits(one, argument.symbol) for one in symbols):
                        continue
                    given = passed(call.expression, argument.position, argument.keyword)
                    for value in sorted(self.inference.infer(given, place), key=repr):
                        if value.kind == v.LITERAL and isinstance(value.value, str):
                            yield value.value, Caller(path, call.scope, call.path, call.row, True)


def name_of(path: str) -> str:
    """Return the name by which such calls mean a file."""
    return os.path.splitext(os.path.basename(path))[0]
