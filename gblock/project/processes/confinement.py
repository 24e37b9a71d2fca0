"""Confinement: functions that only some processes run, because of the entry that names them.

Celery sends ``worker_process_init`` in the children of its prefork pool and in no other worker.
"""

from __future__ import annotations

from functools import cached_property

from gblock.catalog.entries import Entry, fits
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.expressions import Expr, last_name, without_arguments

_DEEP = 4
"""At most this many callers of a function are followed."""


class Confinement:
    """Finds out whether a process may run a function.

    Args:
        inference: Type inference over the project; its catalog lists the entries.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules

    def may_run(self, path: str, scope: int, kind: str, pool: str) -> bool:
        """Return whether a process may run code, given what starts the function around it.

        Args:
            path: The file.
            scope: The scope of the code.
            kind: The kind of the process.
            pool: Its pool, empty if it is not known.
        """
        if not self._taking:
            return True
        only_in = self._only_in(path, self.modules.summary(path).function_around(scope), 0)
        return not only_in or is_among(kind, pool, only_in)

    @cached_property
    def _taking(self) -> dict[str, list[tuple[str, Entry]]]:
        """The entries that only some processes run, by the last names of what takes them."""
        found: dict[str, list[tuple[str, Entry]]] = {}
        for entry in self.inference.catalog.entries:
            if entry.only_in and self.modules.mentioning(entry.framework):
                symbols = (*entry.decorators, *(one.symbol for one in entry.arguments))
                for symbol in dict.fromkeys(symbols):
                    found.setdefault(symbol.rpartition(".")[2], []).append((symbol, entry))
        return found

    def _only_in(self, path: str, index: int, depth: int) -> tuple[str, ...]:
        """Return the processes that alone run a function; none if others may."""
        summary = self.modules.summary(path)
        scope = summary.scopes[index]
        if scope.kind != "function" or depth > _DEEP:
            return ()
        outside = Place(path, scope.parent, scope.path)
        found = [
            self._confined(callee, outside)
            for callee in map(without_arguments, scope.decorators)
            if last_name(callee) in self._taking  # others hand the function to nothing
        ]
        calling = self.inference.calling
        for call, place, _ in calling.handovers(path, index):
            found.append(self._confined(call.expression.callee, place))
        for call, place in calling.callers(path, index):
            around = self.modules.summary(place.path).function_around(call.scope)
            if (place.path, around) != (path, index):
                found.append(self._only_in(place.path, around, depth + 1))
        return tuple(dict.fromkeys(one for each in found for one in each)) if all(found) else ()

    def _confined(self, callee: Expr, place: Place) -> tuple[str, ...]:
        """Return the processes that alone run what a decorator or a function is given."""
        known = self._taking.get(last_name(callee))
        symbols = self.inference.callees.called_symbols(callee, place) if known else ()
        for symbol, entry in known or ():
            if any(fits(one, symbol) for one in symbols):
                return entry.only_in
        return ()


def is_among(kind: str, pool: str, only_in: tuple[str, ...]) -> bool:
    """Return whether a process may have one of some kinds: ``celery:prefork``, ``celery beat``.

    Args:
        kind: The kind of the process.
        pool: Its pool, empty if it is not known.
        only_in: The kinds of processes, with the pool if that matters.
    """
    if pool or kind in only_in:
        return kind in only_in or f"{kind}:{pool}" in only_in
    return any(one.startswith(f"{kind}:") for one in only_in)
