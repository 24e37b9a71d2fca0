"""How often the place of a call runs: in a loop, in a comprehension, once a task or request."""

from __future__ import annotations

from gblock.project.names.expressions import Place
from gblock.project.names.inference import Inference
from gblock.project.reading.summary import CALL, LOOPS, Call, ModuleSummary


def repeated(summary: ModuleSummary, call: Call) -> str:
    """``loop`` or ``comprehension`` where a call is made many times in a row, else ''."""
    scope = summary.scopes[call.scope]
    if scope.kind == "comprehension":
        return "comprehension"
    for depth in range(1, len(call.path) + 1, 2):
        kind = scope.branches.get(call.path[:depth])
        # What stands in the header of a ``while`` runs in each turn, of a ``for`` only once.
        if kind in LOOPS and (depth < len(call.path) or kind == "while"):
            return "loop"
    return ""


def goes_round(summary: ModuleSummary, call: Call) -> bool:
    """Whether a call is made in a ``while`` loop of its function, or in one's condition."""
    index, path = call.scope, call.path
    while summary.scopes[index].kind in ("comprehension", "lambda"):
        index, path = summary.scopes[index].parent, summary.scopes[index].path
    branches = summary.scopes[index].branches
    return any(branches.get(path[:depth]) == "while" for depth in range(1, len(path) + 1, 2))


def handled(summary: ModuleSummary, call: Call, inference: Inference) -> str:
    """``task`` or ``request`` where the function around a call runs once for each, else ''."""
    scopes = summary.scopes
    index = call.scope
    while index > 0 and scopes[index].kind in ("comprehension", "lambda"):
        index = scopes[index].parent
    place = Place(summary.filename, scopes[index].parent, scopes[index].path)
    for decorator in scopes[index].decorators:
        callee = decorator.callee if decorator and decorator.tag == CALL else decorator
        for symbol in inference.callee_symbols(callee, place):
            found = inference.catalog.handler_of(symbol)
            if found:
                return found
    return ""
