"""Which code runs in a native thread, and which is only believed to."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec

from gblock.catalog import Offload
from gblock.project.names import values as v
from gblock.project.names.expressions import Place, is_passed, last_name, passed
from gblock.project.names.inference import Inference
from gblock.project.reading import summary as tags
from gblock.project.reading.summary import Call, Expr, ModuleSummary, NameExpr, call_of

_DEPTH = 8
"""How many callers in a row are followed."""


class Handover(NamedTuple):
    """A call that hands a callable to something that runs it elsewhere."""

    offload: Offload
    call: Call
    place: Place
    argument: Expr
    """The callable."""
    forwarded: Expr
    """A call expression that holds what the callable will be called with."""


class Offloading:
    """Answers which functions only ever run in native threads.

    Args:
        inference: What the project's expressions can be.
        patched: Whether ``threading`` is monkey patched; if not, every thread is a native one.
    """

    def __init__(self, inference: Inference, *, patched: bool = True) -> None:
        self.inference = inference
        self._patched = patched
        self._native: dict[tuple[str, int], bool] = {}
        self._depth = 0

    def handover(self, call: Call, place: Place) -> Handover | None:
        """What a call hands over, if it is one that the catalog knows as an offload."""
        if call.node != "call":
            return None
        for symbol in self.inference.callee_symbols(call.expression.callee, place):
            offload = self._offload(symbol)
            if offload is None:
                continue
            if not self._patched:
                offload = msgspec.structs.replace(offload, thread="native")
            if not is_passed(call.expression, offload.argument, offload.keyword):
                continue
            argument = passed(call.expression, offload.argument, offload.keyword)
            if argument is not None:
                return Handover(offload, call, place, argument, self._forwarded(call, offload))
        return None

    def _offload(self, symbol: str) -> Offload | None:
        catalog = self.inference.catalog
        owner, _, name = symbol.rpartition(".")
        for base in catalog.lineage(owner):
            found = catalog.offload_by_symbol.get(f"{base}.{name}")
            if found is not None:
                return found
        return catalog.offload_by_symbol.get(symbol)

    def _forwarded(self, call: Call, offload: Offload) -> Expr:
        _, _, positional, keywords = call.expression
        named = dict(keywords)
        packed = named.get("args")
        if packed is not None and packed.tag in (tags.TUPLE, tags.SEQUENCE):
            return call_of(None, packed.elements)
        if offload.argument is not None and len(positional) > offload.argument:
            rest = positional[offload.argument + 1 :]
            if len(rest) == 1 and rest[0] is not None and rest[0].tag == tags.TUPLE:
                rest = rest[0].elements
            return call_of(None, rest, keywords)
        return call_of(None, (), keywords)

    def runs_natively(self, path: str, scope: int) -> bool:
        """Whether what stands in a scope only ever runs in a native thread."""
        if not self._uses_native_threads:
            return False
        summary = self.inference.modules.summary(path)
        while summary is not None and scope > 0:
            if summary.scopes[scope].kind in ("function", "lambda"):
                if self._only_native(summary, scope):
                    return True
            scope = summary.scopes[scope].parent
        return False

    @cached_property
    def _uses_native_threads(self) -> bool:
        """Whether the project mentions a module that starts native threads at all."""
        if not self._patched:
            return True
        modules = {
            offload.symbol.split(".")[1]
            for offload in self.inference.catalog.offloads
            if offload.thread == "native"
        }
        return any(self.inference.modules.mentioning(module) for module in modules)

    def _only_native(self, summary: ModuleSummary, index: int) -> bool:
        key = (summary.filename, index)
        if key not in self._native:
            if self._depth > _DEPTH:
                return False
            self._native[key] = False  # a function that hands over itself proves nothing
            self._depth += 1
            try:
                self._native[key] = self._decide(summary, index)
            finally:
                self._depth -= 1
        return self._native[key]

    def _decide(self, summary: ModuleSummary, index: int) -> bool:
        if summary.scopes[index].kind == "function" and self._decorated(summary, index):
            return True
        native = False
        for call, place, position in self.inference.calling.handovers(summary.filename, index):
            if place.path == summary.filename and self._inside(summary, place.scope, index):
                continue  # hands itself over
            handover = self.handover(call, place)
            if handover is not None and not _is_callable(handover, position):
                handover = None  # it is passed on to what is run
            if handover is not None and handover.offload.thread == "native":
                native = True
            elif handover is None and self._is_wrapping(call, place):
                continue  # partial(f): counted where the partial goes
            elif not self.runs_natively(place.path, place.scope):
                return False
        if summary.scopes[index].kind == "lambda":
            return native
        for _, place in self.inference.calling.callers(summary.filename, index):
            if place.path == summary.filename and self._inside(summary, place.scope, index):
                continue  # calls itself
            if not self.runs_natively(place.path, place.scope):
                return False
            native = True
        return native

    def _is_wrapping(self, call: Call, place: Place) -> bool:
        found = self.inference.callee_symbols(call.expression.callee, place)
        return bool(found & {"functools.partial", "functools.wraps", "functools.update_wrapper"})

    def _inside(self, summary: ModuleSummary, scope: int, index: int) -> bool:
        while scope > 0:
            if scope == index:
                return True
            scope = summary.scopes[scope].parent
        return False

    def _decorated(self, summary: ModuleSummary, index: int) -> bool:
        """Whether a decorator of the project hands the function to a native thread."""
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            for value in self.inference.infer(decorator, place):
                if value.kind == v.FUNCTION and self._hands_over_its_argument(
                    value.path, value.scope
                ):
                    return True
        return False

    def _hands_over_its_argument(self, path: str, index: int) -> bool:
        """Whether a decorator's wrapper passes the decorated function to a native thread."""
        summary = self.inference.modules.summary(path)
        if summary is None or not summary.scopes[index].parameters:
            return False
        parameter = summary.scopes[index].parameters[0][0]
        native = False
        for call in summary.calls:
            if not self._inside(summary, call.scope, index) or call.node != "call":
                continue
            called = call.expression.callee == NameExpr(tags.NAME, parameter)
            if called and not self.runs_natively(path, call.scope):
                return False
            handover = self.handover(call, Place(path, call.scope, call.path))
            if handover is not None and handover.offload.thread == "native":
                native = native or self._mentions(summary, handover.argument, parameter)
        return native

    def _mentions(self, summary: ModuleSummary, argument: Expr, name: str) -> bool:
        if argument is None:
            return False
        if argument.tag == tags.LAMBDA:
            return any(
                last_name(call.expression.callee) == name
                for call in summary.calls
                if call.scope == argument.scope and call.node == "call"
            )
        if argument.tag == tags.CALL:
            return any(self._mentions(summary, one, name) for one in argument.positional)
        return last_name(argument) == name


def _is_callable(handover: Handover, position: int | None) -> bool:
    """Whether the argument at a position, or a keyword, is what is run."""
    _, _, positional, keywords = handover.call.expression
    if position is None:
        return any(value is handover.argument for _, value in keywords)
    return positional[position] is handover.argument
