"""Offloading: code that runs in native threads, and handovers to threads that are greenlets."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import NamedTuple

import msgspec

from gblock.catalog.libraries import Offload
from gblock.project.calls.facts import facts
from gblock.project.calls.registrars import Filled, is_parameter
from gblock.project.names import values as v
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.expressions import (
    CallExpr,
    Expr,
    NameExpr,
    call_of,
    constant,
    dotted,
    is_passed,
    last_name,
    passed,
)
from gblock.project.reading.summary import AnyCall, Call, ModuleSummary

_CURRENT = frozenset({"threading.current_thread", "threading.currentThread", "threading.get_ident"})
"""Functions that return the calling thread or its number."""
_ASKING = ("main_thread", "current_thread", "currentThread", "get_ident")
"""A project that tests whether it runs on the main thread contains one of these words."""
_LISTING = frozenset({"dir", "getmembers", "items", "vars"})
"""Functions that list the methods of a class."""
_CALLED = ("__call__", "__get__")
"""The methods of a decorator that a call runs; the second for a method, which it makes."""
_PATCHES = ("patch_all", "patch_thread")
"""The functions that turn threads into greenlets."""


class Handover(NamedTuple):
    """A call that hands a callable to something that runs it elsewhere."""

    offload: Offload
    call: Call
    place: Place
    argument: Expr
    """The callable."""
    forwarded: CallExpr
    """A call expression that holds what the callable will be called with."""


class Offloading:
    """Decides which functions only ever run in native threads.

    Args:
        inference: Type inference over the project.
        patched: True if ``threading`` is monkey patched; if not, every thread is native.
    """

    def __init__(self, inference: Inference, *, patched: bool = True) -> None:
        self.inference = inference
        self._patched = patched

    def handover(self, call: Call, place: Place) -> Handover | None:
        """Return the handover of a call, if the catalog lists the callee as an offload."""
        if call.node != "call":
            return None
        for symbol in sorted(self.inference.callees.called_symbols(call.expression.callee, place)):
            offload = self._offload(symbol)
            if offload is None:
                continue
            if offload.thread == "greenlet" and (
                not self._patched or self._is_started_early(call, place)
            ):
                offload = msgspec.structs.replace(offload, thread="native")
            if not is_passed(call.expression, offload.argument, offload.keyword):
                continue
            argument = passed(call.expression, offload.argument, offload.keyword)
            if argument is not None:
                return Handover(offload, call, place, argument, self._forwarded(call, offload))
        return None

    def _is_started_early(self, call: Call, place: Place) -> bool:
        """Return whether a module starts a thread in a statement above the only monkey patch."""
        modules = self.inference.modules
        patching = {path for word in _PATCHES for path in modules.mentioning(word, whole=True)}
        summary = modules.summary(place.path)
        if call.scope != 0 or patching != {place.path}:
            return False
        patches = [
            one.path
            for one in summary.calls
            if one.node == "call" and last_name(one.expression.callee) in _PATCHES
        ]
        starts = [call.path]
        if last_name(call.expression.callee)[:1].isupper():  # the object's ``start()`` starts it
            names = {
                name
                for name, bindings in summary.scopes[0].bindings.items()
                if any(one.value == call.expression for one in bindings)
            }
            starts = [
                one.path
                for one in summary.calls
                if one.node == "call" and _is_start(one.expression.callee, call.expression, names)
            ]
        return bool(patches and starts) and max(starts) < min(patches)

    def _offload(self, symbol: str) -> Offload | None:
        catalog = self.inference.catalog
        found = map(catalog.offload_by_symbol.get, catalog.inherited(symbol))
        return next((offload for offload in found if offload is not None), None)

    def _forwarded(self, call: Call, offload: Offload) -> CallExpr:
        _, _, positional, keywords = call.expression
        if offload.each:
            others = len(positional) - (offload.argument is not None)
            return call_of(None, (None,) * max(others, 0))
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

    def is_native(self, call: AnyCall, path: str) -> bool:
        """Return whether a call is only ever made in native threads."""
        if self.runs_natively(path, call.scope) or self._is_off_main(call, path):
            return True
        place = Place(path, call.scope, call.path)
        return call.node == "call" and self.is_through_proxy(call.expression, place)

    def runs_natively(self, path: str, scope: int) -> bool:
        """Return whether a scope only ever runs in native threads."""
        if not self._uses_native_threads:
            return False
        summary = self.inference.modules.summary(path)
        while scope > 0:
            if summary.scopes[scope].kind in ("function", "lambda"):
                if self._is_only_native(summary, scope):
                    return True
            scope = summary.scopes[scope].parent
        return False

    @cached_property
    def _uses_native_threads(self) -> bool:
        """Return whether the project mentions a module that starts native threads."""
        if not self._patched:
            return True
        modules = {
            word
            for offload in self.inference.catalog.offloads
            if offload.thread == "native"
            for word in offload.symbol.split(".")[1:2]
        }
        return any(self.inference.modules.mentioning(module) for module in modules)

    def _is_only_native(self, summary: ModuleSummary, index: int) -> bool:
        return self._is_so(
            ("runs natively", summary.filename, index),
            lambda: self._is_only_handed_over(summary, index),
        )

    def _is_so(self, question: tuple[Hashable, ...], decide: Callable[[], bool]) -> bool:
        """Return the answer to a question that may lead back to itself.

        It is the least fixed point: functions that only hand over one another are no evidence.
        """
        found: tuple[bool, ...] = self.inference.solved(
            (*question, self._patched), lambda: (True,) if decide() else ()
        )
        return bool(found)

    def _is_only_handed_over(self, summary: ModuleSummary, index: int) -> bool:
        if summary.scopes[index].kind == "function" and self._decorated(summary, index):
            return True
        native = self._is_run_by_base(summary, index)
        for call, place, position in self.inference.calling.handovers(summary.filename, index):
            if place.path == summary.filename and summary.is_within(place.scope, index):
                continue  # it hands itself over
            handover = self.handover(call, place)
            if handover is not None and not _is_callable(handover, position):
                handover = None  # it is an argument of the callable
            if handover is not None and handover.offload.thread == "native":
                native = True
            elif handover is None and self._is_wrapping(call, place):
                continue  # partial(f): counted where the partial goes
            elif handover is None and self._passes_on(call, place, summary.filename, index):
                native = True
            elif not self.runs_natively(place.path, place.scope):
                return False
        if summary.scopes[index].kind == "lambda":
            return native
        through = [(summary.filename, index)]
        if native:
            through += self.inference.protocols.overridden(summary.filename, index)
        for call, place in (c for one in through for c in self.inference.calling.callers(*one)):
            if place.path == summary.filename and summary.is_within(place.scope, index):
                continue  # recursion
            if not (
                self.is_through_proxy(call.expression, place)
                or self.runs_natively(place.path, place.scope)
            ):
                return False
            native = True
        return native

    def _is_run_by_base(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a function is the method that a base class runs elsewhere."""
        scope = summary.scopes[index]
        if scope.kind != "function" or summary.scopes[scope.parent].kind != "class":
            return False
        for base in self.inference.classes.ancestry(summary.filename, scope.parent):
            offload = self._started_by(base.symbol) if base.kind == v.EXTERNAL else None
            if offload is not None and offload.method == scope.name:
                return not self._patched or offload.thread == "native"
        return False

    def _started_by(self, symbol: str) -> Offload | None:
        catalog = self.inference.catalog
        names = catalog.lineage(catalog.canonical(symbol))
        found = (catalog.offload_by_symbol.get(name) for name in names)
        return next((offload for offload in found if offload is not None), None)

    def _passes_on(self, call: Call, place: Place, path: str, index: int) -> bool:
        """Return whether what a call runs only hands over the function that it takes.

        Args:
            call: The call.
            place: Its place.
            path: The module of the function that is an argument.
            index: Its scope.
        """
        _, callee, positional, keywords = call.expression
        given = [
            key
            for key, argument in (*enumerate(positional), *keywords)
            if any(v.comes_from(x, path, index) for x in self.inference.infer(argument, place))
        ]
        return self._only_hand_over(callee, given, place)

    def _only_hand_over(self, callee: Expr, given: list[int | str | None], place: Place) -> bool:
        """Return whether what a callee runs only hands over some of its arguments.

        Args:
            callee: The callee.
            given: The positions and keywords of the arguments.
            place: The place of the call.
        """
        values = self.inference.infer(callee, place)
        return bool(values and given) and all(
            value.kind == v.FUNCTION
            and (filled := self.filled(value, key)) is not None
            and self._hands_over(value.path, value.scope, filled)
            for value in values
            for key in given
        )

    # -- objects that run the methods of another one

    def is_through_proxy(self, call: CallExpr, place: Place) -> bool:
        """Return whether a call of a method is made on a proxy that runs it in native threads.

        ``__getattr__`` of a proxy returns a function that hands the wrapped object's method over.
        """
        callee = call.callee
        if callee is None or callee.tag != tags.ATTRIBUTE or not self._uses_native_threads:
            return False
        if not self.inference.modules.mentioning("__getattr__"):
            return False
        owners = self.inference.infer(callee.base, place)
        objects = [
            one
            for one in owners
            if one.kind == v.OBJECT and self.inference.attributes.named_values(one, callee.name)
        ]
        return bool(objects) and all(self._is_proxy(one, callee.name) for one in objects)

    def _is_proxy(self, value: v.ScopeValue, name: str) -> bool:
        """Return whether an object hands over what its ``__getattr__`` finds under a name."""
        bases = self.inference.classes.ancestry(value.path, value.scope)
        for base in bases:
            if base.kind == v.CLASS:
                if name in self.inference.modules.summary(base.path).scopes[base.scope].bindings:
                    return False
        return any(
            method.kind == v.FUNCTION and self._is_proxied(method.path, method.scope)
            for method in self.inference.attributes.named_values(value, "__getattr__")
        )

    def _is_proxied(self, path: str, index: int) -> bool:
        """Return whether a ``__getattr__`` hands over what it finds."""
        return self._is_so(("is a proxy", path, index), lambda: self._gives_all_away(path, index))

    def _gives_all_away(self, path: str, index: int) -> bool:
        """Return whether a ``__getattr__`` returns nothing callable that it does not hand over."""
        summary = self.inference.modules.summary(path)
        scope = summary.scopes[index]
        if len(scope.parameters) < 2:
            return False
        wanted = scope.parameters[1].name
        found = {
            name
            for name, bindings in scope.bindings.items()
            if any(one.kind == kinds.ASSIGNED and _is_lookup(one.value, wanted) for one in bindings)
        }
        for returned, at in scope.returns:
            is_plain = _is_lookup(returned, wanted) or last_name(returned) in found
            if is_plain and not any(
                _asks_if_callable(scope.tests.get(at[:depth])) for depth in range(1, len(at) + 1)
            ):
                return False
        names = map(Filled, (*sorted(found), wanted))
        return any(self._hands_over(path, index, one) for one in names) or any(
            self._takes_over(returned, found, wanted, Place(path, index, at))
            for returned, at in scope.returns
        )

    def _takes_over(self, returned: Expr, found: set[str], wanted: str, place: Place) -> bool:
        """Return whether a call hands over the attribute that it is given.

        Args:
            returned: The call: ``offloaded(getattr(self.target, name))``.
            found: The variables that hold the attribute.
            wanted: The parameter with its name.
            place: The place of the call.
        """
        if returned is None or returned.tag != tags.CALL:
            return False
        given = [
            key
            for key, argument in (*enumerate(returned.positional), *returned.keywords)
            if _is_lookup(argument, wanted) or last_name(argument) in found
        ]
        return self._only_hand_over(returned.callee, given, place)

    def parameter(self, function: v.FunctionValue, key: int | str | None) -> str | None:
        """Return the name of the parameter that an argument fills."""
        filled = self.filled(function, key)
        return filled.name if filled is not None else None

    def filled(self, function: v.FunctionValue, key: int | str | None) -> Filled | None:
        """Return the parameter that an argument fills.

        Args:
            function: The function that is called.
            key: The argument's position or keyword; None for ``**`` of what is not known.
        """
        summary = self.inference.modules.summary(function.path)
        if key is None:
            return None
        parameters = summary.scopes[function.scope].parameters
        if isinstance(key, str):
            if any(one.name == key for one in parameters):
                return Filled(key)
            return next((Filled(one.name, key) for one in parameters if one.kind == "**"), None)
        positional = [name for name, _, _, kind in parameters if kind == "positional"]
        key += function.receiver is not None
        if key < len(positional):
            return Filled(positional[key])
        rest = key - len(positional)
        return next((Filled(one.name, rest) for one in parameters if one.kind == "*"), None)

    def _is_wrapping(self, call: Call, place: Place) -> bool:
        found = self.inference.callees.called_symbols(call.expression.callee, place)
        return bool(found & {"functools.partial", "functools.wraps", "functools.update_wrapper"})

    def _decorated(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a decorator of the project hands the function to a native thread."""
        scope = summary.scopes[index]
        place = Place(summary.filename, scope.parent, scope.path)
        for decorator in scope.decorators:
            for value in self.inference.infer(decorator, place):
                if value.kind == v.CLASS and self._keeps_and_hands_over(value):
                    return True
                for function in self.inference.callees.functions(frozenset([value])):
                    if function.kind == v.FUNCTION:
                        filled = self.filled(function, 0)
                        if filled and self._hands_over(function.path, function.scope, filled):
                            return True
        return self._is_method_of_decorated(summary, index)

    def _is_method_of_decorated(self, summary: ModuleSummary, index: int) -> bool:
        """Return whether a decorator of a class wraps its public methods for native threads."""
        scope = summary.scopes[index]
        owner = summary.scopes[scope.parent]
        if owner.kind != "class" or scope.name.startswith("_"):
            return False
        place = Place(summary.filename, owner.parent, owner.path)
        return any(
            value.kind == v.FUNCTION
            and (name := self.parameter(value, 0)) is not None
            and self._wraps_methods(value.path, value.scope, name)
            for decorator in owner.decorators
            for value in self.inference.infer(decorator, place)
        )

    def _wraps_methods(self, path: str, index: int, name: str) -> bool:
        """Return whether a function wraps all methods of a class for native threads.

        ``for key, method in vars(cls).items(): setattr(cls, key, in_thread(method))``

        Args:
            path: The function's file.
            index: The function's scope.
            name: The parameter with the class.
        """
        summary = self.inference.modules.summary(path)
        inside = [
            call
            for call in summary.calls
            if call.node == "call" and summary.is_within(call.scope, index)
        ]
        if _LISTING.isdisjoint(last_name(call.expression.callee) for call in inside):
            return False
        for call in inside:
            given = call.expression.positional
            if last_name(call.expression.callee) != "setattr" or len(given) != 3:
                continue
            owner, key, made = given
            if last_name(owner) != name or key is None or key.tag != tags.NAME:
                continue
            place = Place(path, call.scope, call.path)
            if made is not None and made.tag == tags.CALL and self._is_made_native(made, place):
                return True
        return False

    def _is_made_native(self, made: CallExpr, place: Place) -> bool:
        """Return whether a call hands its first argument to a function for native threads."""
        return any(
            value.kind == v.FUNCTION
            and (filled := self.filled(value, 0)) is not None
            and self._hands_over(value.path, value.scope, filled)
            for value in self.inference.infer(made.callee, place)
        )

    def _keeps_and_hands_over(self, decorator: v.ScopeValue) -> bool:
        """Return whether a class keeps the decorated function and hands it over when called."""
        made = decorator._replace(kind=v.OBJECT)
        for function in self.inference.attributes.named_values(made, "__init__"):
            if function.kind != v.FUNCTION:
                continue
            name = self.parameter(function, 0)
            summary = self.inference.modules.summary(decorator.path)
            if name is None or function.path != decorator.path:
                continue
            kept = [
                attribute
                for (_, attribute), bindings in summary.scopes[function.scope].attributes.items()
                if any(one.value == NameExpr(tags.NAME, name) for one in bindings)
            ]
            for called in _CALLED:
                for method in self.inference.attributes.named_values(made, called):
                    if method.kind == v.FUNCTION:
                        kept_by = (Filled(one) for one in kept)
                        if any(self._hands_over(method.path, method.scope, k) for k in kept_by):
                            return True
        return False

    def _hands_over(self, path: str, index: int, filled: Filled) -> bool:
        """Return whether a function passes what it is given only to native threads.

        Args:
            path: The function's file.
            index: The function's scope.
            filled: A parameter, or the name of an attribute of the function's object.
        """
        return self._is_so(
            ("hands over", path, index, filled), lambda: self._gives_away(path, index, filled)
        )

    def _gives_away(self, path: str, index: int, filled: Filled) -> bool:
        summary = self.inference.modules.summary(path)
        native = False
        for call in summary.calls:
            if call.node != "call" or not summary.is_within(call.scope, index):
                continue
            callee = call.expression.callee
            if (last_name(callee) == filled.name or is_parameter(callee, filled)) and (
                not self.is_native(call, path)
            ):
                return False
            place = Place(path, call.scope, call.path)
            handover = self.handover(call, place)
            if handover is not None and handover.offload.thread == "native":
                native = native or self._mentions(summary, handover.argument, filled)
            elif handover is None:
                native = native or self._passes_on_by_name(call, place, filled)
        return native

    def _passes_on_by_name(self, call: Call, place: Place, filled: Filled) -> bool:
        """Return whether a call hands what a function is given to a native thread."""
        callee = call.expression.callee
        key = _position(call.expression, filled)
        if key is None:
            return False
        for symbol in self.inference.callees.called_symbols(callee, place):
            offload = self._offload(symbol)
            if offload is not None and offload.argument == key and offload.thread == "native":
                return True
        return any(
            value.kind == v.FUNCTION
            and (onward := self.filled(value, key)) is not None
            and self._hands_over(value.path, value.scope, onward)
            for value in self.inference.infer(callee, place)
        )

    def _is_off_main(self, call: AnyCall, path: str) -> bool:
        """Return whether a path condition excludes the main thread."""
        summary = self.inference.modules.summary(path)
        mentioning = self.inference.modules.mentioning
        if not any(map(mentioning, _ASKING)):
            return False
        place = Place(path, call.scope, call.path)
        return any(
            not fact.holds and self._asks_for_main(fact.expression, place)
            for fact in facts(summary, call, lasting=True)
        )

    def _asks_for_main(self, expression: Expr, place: Place, depth: int = 0) -> bool:
        """Return whether a condition is only true on the main thread."""
        if expression is None or depth > 2:
            return False
        if expression.tag == tags.COMPARE:
            parts = [part for part in (expression.left, expression.right) if part is not None]
            return expression.operator in ("is", "==") and any(
                self._is_main_thread(part, place) for part in parts
            )
        if expression.tag != tags.CALL:
            return False
        values = self.inference.infer(expression.callee, place)
        return bool(values) and all(
            value.kind == v.FUNCTION
            and bool(self.inference.modules.summary(value.path).scopes[value.scope].returns)
            and all(
                self._asks_for_main(returned, Place(value.path, value.scope, at), depth + 1)
                for returned, at in self.inference.modules.summary(value.path)
                .scopes[value.scope]
                .returns
            )
            for value in values
        )

    def _is_main_thread(self, expression: Expr, place: Place) -> bool:
        """Return whether an expression is the main thread, or its ``ident`` or ``name``."""
        while expression is not None and expression.tag == tags.ATTRIBUTE:
            expression = expression.base
        if expression is None:
            return False
        if expression.tag == tags.NAME:
            return self._is_kept_main_thread(expression.identifier, place)
        if expression.tag != tags.CALL:
            return bool(expression == constant("MainThread"))
        return "threading.main_thread" in self.inference.callees.called_symbols(
            expression.callee, place
        )

    def _is_kept_main_thread(self, name: str, place: Place) -> bool:
        """Return whether a name of the module holds the thread that imported the module."""
        summary = self.inference.modules.summary(place.path)
        bindings = summary.scopes[0].bindings.get(name, ())
        return bool(bindings) and all(
            binding.kind == kinds.ASSIGNED
            and binding.scope == 0
            and self._is_current_thread(binding.value, Place(place.path, 0, binding.path))
            for binding in bindings
        )

    def _is_current_thread(self, expression: Expr, place: Place) -> bool:
        while expression is not None and expression.tag == tags.ATTRIBUTE:
            expression = expression.base
        if expression is None or expression.tag != tags.CALL:
            return False
        called = self.inference.callees.called_symbols(expression.callee, place)
        return bool(called & _CURRENT) or self._is_main_thread(expression, place)

    def _mentions(self, summary: ModuleSummary, argument: Expr, filled: Filled) -> bool:
        if argument is None:
            return False
        if argument.tag == tags.LAMBDA:
            return any(
                last_name(callee) == filled.name or is_parameter(callee, filled)
                for call in summary.calls
                if call.scope == argument.scope and call.node == "call"
                for callee in [call.expression.callee]
            )
        if argument.tag == tags.CALL:
            return any(self._mentions(summary, one, filled) for one in argument.positional)
        return last_name(argument) == filled.name or is_parameter(argument, filled)


def _is_lookup(expression: Expr, wanted: str) -> bool:
    """Return whether an expression is ``getattr(…, wanted)``."""
    if expression is None or expression.tag != tags.CALL:
        return False
    positional = expression.positional
    is_getattr = last_name(expression.callee) == "getattr" and len(positional) > 1
    return is_getattr and dotted(positional[1]) == wanted


def _asks_if_callable(test: Expr) -> bool:
    """Return whether a condition tests that something is, or is not, callable."""
    if test is None:
        return False
    if test.tag == tags.NOT:
        return _asks_if_callable(test.value)
    return test.tag == tags.CALL and last_name(test.callee) == "callable"


def _is_start(callee: Expr, thread: CallExpr, names: set[str]) -> bool:
    """Return whether a callee is the ``start`` of a thread, written out or by one of its names."""
    if callee is None or callee.tag != tags.ATTRIBUTE or callee.name != "start":
        return False
    base = callee.base
    return base == thread or (base is not None and dotted(base) in names)


def _position(expression: CallExpr, filled: Filled) -> int | str | None:
    """Return the position or keyword by which a call passes on what a function is given."""
    name, key = filled
    for number, argument in enumerate(expression.positional):
        if is_parameter(argument, filled):
            return number
        if last_name(_unpacked(argument)) == name:
            return number + (key if isinstance(key, int) else 0)
    for word, one in expression.keywords:
        if is_parameter(one, filled) or last_name(one) == name:
            return word or (key if isinstance(key, str) else None)
    return None


def _unpacked(argument: Expr) -> Expr:
    """Return the operand of a starred argument, or the argument itself."""
    return argument.value if argument is not None and argument.tag == tags.STAR else argument


def _is_callable(handover: Handover, position: int | None) -> bool:
    """Return whether the argument at a position, or of a keyword, is the callable."""
    _, _, positional, keywords = handover.call.expression
    if position is None:
        return any(value is handover.argument for _, value in keywords)
    return positional[position] is handover.argument
