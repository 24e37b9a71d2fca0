"""Calls that send a statement to a database through a library, for the causes of drivers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from gblock import catalog
from gblock.catalog.drivers import Query
from gblock.catalog.tables import CallArgument
from gblock.outline import Outlines
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.expressions import Expr, last_name, owner_of, passed
from gblock.project.reading.summary import AnyCall

_MOST_QUERIES = 1000
"""At most this many calls are returned for one driver."""
_MOST_FILES = 400
"""At most this many files are searched for them."""
_EVALUATING = frozenset(
    "all any bool dict frozenset len list max min next set sorted sum tuple".split()
)
"""Functions that iterate over their argument at once."""


class Sent(NamedTuple):
    """A call that sends a statement."""

    place: Place
    row: int
    column: int
    """In bytes, from 0."""
    symbol: str
    receiver: Expr = None
    """The expression of the object that sends it."""


class _Known(NamedTuple):
    """The calls that send statements through drivers of one language."""

    verbs: set[str]
    """The last names."""
    symbols: dict[str, CallArgument | None]
    """The dotted names, each with the argument that sends the statement, if one does."""
    packages: frozenset[str]
    """The packages whose objects may be such an argument."""


class Queries:
    """Finds the calls that send statements through a driver.

    Args:
        inference: Type inference over the project.
        outlines: The catalog's files.
        loaded: The packages whose types that inference knows.
    """

    def __init__(self, inference: Inference, outlines: Outlines, loaded: Collection[str]) -> None:
        self._inference = inference
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
            wanted = [one for one in known if language in one.languages]
            self._found[language] = list(self._find(wanted)) if wanted else []
        return self._found[language]

    def _find(self, wanted: list[Query]) -> Iterator[Sent]:
        roots = frozenset(name for one in wanted for name in one.imports)
        used = [root for root in roots if self._modules.mentioning(root)]
        if not used:
            return
        inference = self._inference
        if not all(root in self._loaded for root in used):
            inference = inference.with_catalog(
                catalog.parse_all(self._outlines, roots.union(self._loaded))
            )
        symbols = {
            inference.catalog.canonical(symbol): one.sender
            for one in wanted
            for symbol in one.symbols
        }
        packages = frozenset(name for one in wanted if one.sender is None for name in one.imports)
        lazy = frozenset(
            symbol.rpartition(".")[0] for symbol in symbols if symbol.endswith(".__iter__")
        )
        verbs = {symbol.rpartition(".")[2] for symbol in symbols}
        makers = {
            symbol.rpartition(".")[2]
            for symbol, made in inference.catalog.returns.items()
            if made in lazy
        }
        called = re.compile(
            rb"\b(?:%s)[ \t]*\("
            % b"|".join(sorted(re.escape(name.encode()) for name in verbs | makers))
        )
        found = searched = 0
        for path in self._modules.serving:
            if found >= _MOST_QUERIES or searched >= _MOST_FILES:
                return
            if not called.search(self._modules.data(path)):
                continue
            searched += 1
            summary = self._modules.summary(path)
            here = [
                sent
                for call in summary.calls
                for sent in [
                    self._sent(call, path, _Known(verbs, symbols, packages), inference)
                    or self._iterated(call, path, lazy, inference)
                ]
                if sent is not None
            ]
            found += len(here)
            yield from sorted(here, key=lambda sent: (sent.row, sent.column))

    def _sent(
        self,
        call: AnyCall,
        path: str,
        known: _Known,
        inference: Inference,
    ) -> Sent | None:
        if call.node != "call":
            return None
        callee = call.expression.callee
        name = last_name(callee)
        if name not in known.verbs:
            return None
        place = Place(path, call.scope, call.path)
        for symbol in sorted(inference.callees.called_symbols(callee, place)):
            for base in _owners(symbol, inference):
                one = f"{base}.{name}"
                if one not in known.symbols:
                    continue
                argument, sender = known.symbols[one], owner_of(callee)
                if argument is not None:
                    sender = passed(call.expression, argument.position, argument.keyword)
                    given = inference.infer(sender, place)
                    made_by = {x.symbol.partition(".")[0] for x in given if x.kind == v.INSTANCE}
                    if made_by and made_by.isdisjoint(known.packages):
                        return None
                return Sent(place, call.name_row, call.column, symbol, sender)
        return None

    def _iterated(
        self, call: AnyCall, path: str, lazy: frozenset[str], inference: Inference
    ) -> Sent | None:
        """Return the statement that iterating over a lazy query sends: ``list(orders)``."""
        given: Expr = None
        if call.node == "for":
            given = call.expression
        elif call.node == "call" and last_name(call.expression.callee) in _EVALUATING:
            given = next(iter(call.expression.positional), None)
        place = Place(path, call.scope, call.path)
        symbol = _lazy(given, place, lazy, inference) if lazy and given is not None else None
        return Sent(place, call.row, call.column, symbol, given) if symbol is not None else None


def _lazy(expression: Expr, place: Place, lazy: frozenset[str], inference: Inference) -> str | None:
    """Return the method that iterates over an object, if the object is a lazy query."""
    values = inference.infer(expression, place)
    symbols = (value.symbol for value in values if value.kind == v.INSTANCE)
    queries = (one for one in symbols if not lazy.isdisjoint(inference.catalog.lineage(one)))
    symbol = min(queries, default=None)
    return f"{symbol}.__iter__" if symbol is not None else None


def _owners(symbol: str, inference: Inference) -> Iterable[str]:
    """Return the class of a method, and its bases."""
    owner = symbol.rpartition(".")[0]
    return (owner, *inference.catalog.lineage(owner))
