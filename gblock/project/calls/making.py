"""Making: the calls that make what other calls read, such as the hashes of passwords.

A check of a password costs what its hash says. Where the code of the project makes hashes with a
small cost alone, each check is as cheap.
"""

from __future__ import annotations

from gblock.catalog.blockers import Blocker
from gblock.project.calls import arguments
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place


class Making:
    """Finds out whether a project makes only what is cheap to read.

    Args:
        inference: Type inference over the project.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.modules = inference.modules
        self._known: dict[tuple[str, ...], bool] = {}

    def is_cheap(self, blocker: Blocker) -> bool:
        """Return whether all calls that make what a blocker reads return at once.

        Without any such call it is not known what the blocker reads.
        """
        symbols = blocker.unless_made
        if not symbols:
            return False
        if symbols not in self._known:
            found = [one for symbol in symbols for one in self._made_by(symbol)]
            self._known[symbols] = bool(found) and all(found)
        return self._known[symbols]

    def _made_by(self, symbol: str) -> list[bool]:
        """Return for each call of a function whether it returns at once."""
        name = symbol.rpartition(".")[2]
        found = []
        for path in self.modules.mentioning(name, whole=True):
            calls = self.inference.calling.calls_by_original_name(path).get(name, ())
            for call in calls:
                place = Place(path, call.scope, call.path)
                if symbol in self.inference.callees.called_symbols(call.expression.callee, place):
                    waits = [
                        arguments.wait(one, call.expression, place, self.inference)
                        for one in self.inference.catalog.lookup(symbol)
                    ]
                    found.append(bool(waits) and all(one.immediate for one in waits))
            for call, _, argument in self.inference.calling.given(path).get(name, ()):
                place = Place(path, call.scope, call.path)
                if symbol in self.inference.callees.called_symbols(argument, place):
                    found.append(False)  # something else calls it, with other arguments
        return found
