"""Calls that send a statement to a database through a library, for the causes of drivers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from gblock import catalog
from gblock.catalog.drivers import Query
from gblock.outline import Outlines
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.summary import Call

_QUERIES_LIMIT = 1000
"""At most this many calls are returned for one driver."""
_FILES = 400
"""At most this many files are searched for them."""
_BUDGET = 20
"""At most this many files are read to find out what one file calls."""


class Sent(NamedTuple):
    """A call that sends a statement."""

    place: Place
    row: int
    column: int
    """In bytes, from 0."""
    symbol: str


class Queries:
    """Finds the calls that send statements through a driver.

    Args:
        inference: Type inference over the project.
        outlines: The catalog's files.
        loaded: The packages whose types that inference knows.
    """

    def __init__(self, inference: Inference, outlines: Outlines, loaded: Collection[str]) -> None:
        self._shared = inference
        self._modules = inference.modules
        self._outlines = outlines
        self._loaded = loaded
        self._found: dict[str, list[Sent]] = {}

    def of(self, language: str, known: Iterable[Query]) -> list[Sent]:
        """Return the calls in the project's files, in the order of files and rows.

        Args:
            language: The language of the string that chooses the driver.
            known: The calls that the catalog lists.
        """
        if language not in self._found:
            wanted = [one for one in known if one.language == language]
            self._found[language] = list(self._find(wanted)) if wanted else []
        return self._found[language]

    def _find(self, wanted: list[Query]) -> Iterator[Sent]:
        roots = frozenset(name for one in wanted for name in one.imports)
        used = [root for root in roots if self._modules.mentioning(root)]
        if not used:
            return
        inference = self._shared
        if not all(root in self._loaded for root in used):
            inference = Inference(self._modules, catalog.parse_all(self._outlines, roots))
        symbols = frozenset(
            inference.catalog.canonical(symbol) for one in wanted for symbol in one.symbols
        )
        verbs = {symbol.rpartition(".")[2] for symbol in symbols}
        called = re.compile(
            rb"\.(?:%s)[ \t]*\(" % b"|".join(sorted(re.escape(v.encode()) for v in verbs))
        )
        found = searched = 0
        for path in self._modules.serving:
            if found >= _QUERIES_LIMIT or searched >= _FILES:
                return
            if not called.search(self._modules.data(path)):
                continue
            searched += 1
            summary = self._modules.summary(path)
            with inference.budget.limited(_BUDGET):
                for call in summary.calls:
                    sent = self._sent(call, path, verbs, symbols, inference)
                    if sent is not None:
                        found += 1
                        yield sent

    def _sent(
        self,
        call: Call,
        path: str,
        verbs: set[str],
        symbols: frozenset[str],
        inference: Inference,
    ) -> Sent | None:
        callee = call.expression.callee if call.node == "call" else None
        if callee is None or getattr(callee, "name", "") not in verbs:
            return None
        place = Place(path, call.scope, call.path)
        for symbol in sorted(inference.callee_symbols(callee, place)):
            if any(f"{base}.{callee.name}" in symbols for base in _owners(symbol, inference)):
                return Sent(place, call.name_row, call.column, symbol)
        return None


def _owners(symbol: str, inference: Inference) -> Iterable[str]:
    """Return the class of a method, and its bases."""
    owner = symbol.rpartition(".")[0]
    return (owner, *inference.catalog.lineage(owner))
