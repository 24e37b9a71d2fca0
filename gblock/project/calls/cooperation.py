"""Calls that make compiled packages cooperative, and the processes that make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gblock.catalog.blockers import Blocker, Mentioned
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.processes.conditions import condition, conditions_around
from gblock.project.reading import expressions as tags
from gblock.project.reading.summary import Call

if TYPE_CHECKING:
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes


class Remedy(NamedTuple):
    """One call that makes a blocker cooperative."""

    symbol: str
    path: str
    row: int
    condition: str = ""
    """The condition of the call; empty if there is none, or if it only tests for gevent."""


class Cooperation:
    """Decides whether a blocker was made cooperative where it is called.

    Args:
        inference: Type inference over the project.
        assumed: Symbols, or names of distributions, that the configuration declares cooperative.
        processes: Finds the processes of the project, called only once something in the project
            makes a blocker cooperative. If None, that alone suffices.
    """

    def __init__(
        self,
        inference: Inference,
        assumed: tuple[str, ...] = (),
        processes: Callable[[], Processes] | None = None,
    ) -> None:
        self.inference = inference
        self.assumed = frozenset(assumed)
        self._processes = processes
        self._remedies: dict[str, Remedy | None] = {}
        self._lacking: dict[tuple[str, tuple[str, ...]], tuple[Process, ...]] = {}

    def covers(self, blocker: Blocker, symbol: str, path: str | None = None) -> bool:
        """Return whether calls of a blocker do not block.

        Args:
            blocker: The blocker.
            symbol: The callee.
            path: The file that calls it; None for the whole project.
        """
        if blocker.distribution in self.assumed or blocker.id in self.assumed:
            return True
        if blocker.unless_mentioned is not None and self._is_mentioned(blocker.unless_mentioned):
            return True
        if blocker.blocks_after and not self._is_switched_on(blocker, path):
            return True
        parts = symbol.split(".")
        if any(".".join(parts[:end]) in self.assumed for end in range(1, len(parts) + 1)):
            return True
        if not any(self.remedy(remedy) is not None for remedy in blocker.cooperative_after):
            return False
        return path is None or not (self.lacking(blocker, path) or self.doubt(blocker, path))

    def doubt(self, blocker: Blocker, path: str) -> Remedy | None:
        """Return the remedy of a blocker that is only applied under a condition.

        Args:
            blocker: The blocker.
            path: The file that calls it.

        Returns:
            None if a remedy is unconditional in each process that can run the file, or if there
            is no remedy.
        """
        found = [one for one in map(self.remedy, blocker.cooperative_after) if one is not None]
        if not any(one.condition for one in found):
            return None  # `remedy` prefers unconditional calls
        conditional = [one for one in found if one.condition]
        if self._processes is None:
            return conditional[0] if len(conditional) == len(found) else None
        wanted = {self.inference.catalog.canonical(symbol) for symbol in blocker.cooperative_after}
        running = self._processes().on_gevent(path)
        if not running:
            return conditional[0] if len(conditional) == len(found) else None
        for process in running:
            drivers = [driver for driver in process.drivers if driver.symbol in wanted]
            if drivers and not any(process.makes_sure(driver) for driver in drivers):
                first = drivers[0]
                return Remedy(first.symbol, first.path, first.row, first.condition)
        return None

    def _is_switched_on(self, blocker: Blocker, path: str | None) -> bool:
        """Return whether a process that can run a file makes the call after which it blocks."""
        if not any(self.remedy(symbol) is not None for symbol in blocker.blocks_after):
            return False
        running = self._processes().on_gevent(path) if path and self._processes else ()
        wanted = {self.inference.catalog.canonical(symbol) for symbol in blocker.blocks_after}
        return not running or any(
            driver.symbol in wanted for process in running for driver in process.drivers
        )

    def _is_mentioned(self, texts: Mentioned) -> bool:
        """Return whether the project mentions a cooperative text and none of the blocking ones."""
        mentioning = self.inference.modules.mentioning
        return any(map(mentioning, texts.cooperative)) and not any(map(mentioning, texts.blocking))

    def lacking(self, blocker: Blocker, path: str) -> tuple[Process, ...]:
        """Return the processes on gevent that can run a file without a remedy for a blocker.

        The result is empty if the project has no remedy, or if no process is known to run the file.
        """
        after = blocker.cooperative_after
        if self._processes is None or not any(self.remedy(one) is not None for one in after):
            return ()
        key = (path, after)
        if key not in self._lacking:
            wanted = {self.inference.catalog.canonical(symbol) for symbol in after}
            self._lacking[key] = tuple(
                process
                for process in self._processes().on_gevent(path)
                if not any(driver.symbol in wanted for driver in process.drivers)
            )
        return self._lacking[key]

    def remedy(self, symbol: str) -> Remedy | None:
        """Return the call that makes a package cooperative, an unconditional one first."""
        if symbol not in self._remedies:
            self._remedies[symbol] = self._find(self.inference.catalog.canonical(symbol))
        return self._remedies[symbol]

    def _find(self, symbol: str) -> Remedy | None:
        modules = self.inference.modules
        doubtful: Remedy | None = None
        for path in modules.mentioning(symbol.rpartition(".")[2]):
            summary = modules.summary(path)
            for call in summary.calls:
                place = Place(path, call.scope, call.path)
                if call.node == "call" and self._applies(call, place, symbol):
                    depends = condition(
                        conditions_around(modules.data(path), call.row, call.column)
                    )
                    if not depends:
                        return Remedy(symbol, path, call.row)
                    doubtful = doubtful or Remedy(symbol, path, call.row, depends)
        return doubtful

    def _applies(self, call: Call, place: Place, symbol: str) -> bool:
        """Return whether a call of a remedy applies it: ``None`` as an argument takes it back."""
        if symbol not in self.inference.callees.called_symbols(call.expression.callee, place):
            return False
        positional = call.expression.positional
        return not positional or positional[0] != tags.NONE
