"""What the project does to make a compiled package cooperative."""

from __future__ import annotations

from typing import NamedTuple

from gblock.catalog import Blocker
from gblock.project import summary as tags
from gblock.project.expressions import Place
from gblock.project.inference import Inference
from gblock.project.summary import Call


class Remedy(NamedTuple):
    """One call that makes a blocker cooperative."""

    symbol: str
    path: str
    row: int


class Cooperation:
    """Answers, for the whole project, whether a blocker was made cooperative.

    Args:
        inference: What the project's expressions can be.
        assumed: Symbols, or names of distributions, that the configuration declares cooperative.
    """

    def __init__(self, inference: Inference, assumed: tuple[str, ...] = ()) -> None:
        self.inference = inference
        self.assumed = frozenset(assumed)
        self._remedies: dict[str, Remedy | None] = {}

    def covers(self, blocker: Blocker, symbol: str) -> bool:
        """Whether calls of this blocker no longer block."""
        if blocker.distribution in self.assumed or blocker.id in self.assumed:
            return True
        parts = symbol.split(".")
        if any(".".join(parts[:end]) in self.assumed for end in range(1, len(parts) + 1)):
            return True
        return any(self.remedy(remedy) is not None for remedy in blocker.cooperative_after)

    def remedy(self, symbol: str) -> Remedy | None:
        """Where the project calls something that makes a package cooperative."""
        if symbol not in self._remedies:
            self._remedies[symbol] = self._find(self.inference.catalog.canonical(symbol))
        return self._remedies[symbol]

    def _find(self, symbol: str) -> Remedy | None:
        modules = self.inference.modules
        for path in modules.mentioning(symbol.rpartition(".")[2]):
            summary = modules.summary(path)
            if summary is None:
                continue
            for call in summary.calls:
                place = Place(path, call.scope, call.path)
                if call.node == "call" and self._is(call, place, symbol):
                    return Remedy(symbol, path, call.row)
        return None

    def _is(self, call: Call, place: Place, symbol: str) -> bool:
        if symbol not in self.inference.callee_symbols(call.expression[1], place):
            return False
        positional = call.expression[2]
        return not positional or positional[0] != (tags.CONSTANT, None)
