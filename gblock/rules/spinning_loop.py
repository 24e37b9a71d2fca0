"""``spinning-loop``: a loop that polls and never yields to the hub."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from gblock.call_rule import CallRule
from gblock.diagnostics import Severity

_ON, _TURN, _BREAK, _GONE, _FOUND = "on", "turn", "break", "gone", "found"
"""The exits of a block: its end, the loop's head, the code after the loop, the function's end; or
it continues with the result of a poll, which is not followed any further."""


class SpinningLoop(CallRule):
    """A loop polls without waiting and can repeat without yielding to the hub.

    ## What it does

    Reports a poll with a timeout of 0, or with a flag for no wait, in a `while` loop that can
    repeat without a call that lets the hub run.

    ## Why it blocks the hub

    The timeout of 0 is the first half of the remedy. Without the second half, a sleep in iterations
    that find nothing, the loop spins: it never waits, so the hub never runs another greenlet.

    ## Use instead

    `gevent.sleep(0.01)` in iterations that find nothing, or longer if the answer may be late.

    ## Limits

    Any call that is not known to return at once is assumed to yield, so a loop that calls an
    unknown function in every iteration is not reported. Only iterations that find nothing are
    examined: a loop that always finds something starves the hub, too, but is not reported.
    """

    name = "spinning-loop"
    since = "0.1.0"
    _results: set[str] = set()
    """The names that the current loop binds to the results of its polls."""
    _running: str | None = None
    """The name that the current loop tests: ``while running``."""
    _trying: int = 0
    """The number of ``try`` bodies of that loop around the current node."""

    VALID = {
        "sleeps when nothing came": """
            import gevent
            from confluent_kafka import Consumer

            def run(consumer: Consumer):
                while True:
                    message = consumer.poll(0)
                    if message is None:
                        gevent.sleep(0.1)
                        continue
                    print(message)
            """,
        "leaves when nothing came": """
            from confluent_kafka import Consumer

            def drain(consumer: Consumer):
                while True:
                    message = consumer.poll(0)
                    if message is None:
                        break
                    yield message
            """,
        "goes on while something comes": """
            from confluent_kafka import Consumer

            def drain(consumer: Consumer):
                while (message := consumer.poll(0)) is not None:
                    print(message)
            """,
        "sleeps where a flag makes it raise": """
            import gevent
            import zmq

            def run(socket: zmq.Socket, handle):
                while True:
                    try:
                        message = socket.recv(zmq.NOBLOCK)
                    except zmq.Again:
                        gevent.sleep(0.01)
                    else:
                        handle(message)
            """,
        "a flag of its own ends it when nothing came": """
            import zmq

            def drain(socket: zmq.Socket, handle):
                running = True
                while running:
                    try:
                        handle(socket.recv(zmq.NOBLOCK))
                    except zmq.Again:
                        running = False
            """,
        "flushes as the stories do": """
            import gevent
            from confluent_kafka import Producer

            def flush(producer: Producer):
                while len(producer):
                    producer.poll(0)
                    gevent.sleep(0.001)
            """,
    }
    INVALID = {
        "repeats when nothing came": """
            from confluent_kafka import Consumer

            def run(consumer: Consumer, handle):
                while True:
                    message = consumer.poll(0)  # expect: spinning-loop
                    if message is None:
                        continue
                    handle(message)
            """,
        "waits for an empty queue": """
            from confluent_kafka import Producer

            def flush(producer: Producer):
                while len(producer):
                    producer.poll(0)  # expect: spinning-loop
            """,
        "the flag makes it raise before anything is handled": """
            import zmq

            def run(socket: zmq.Socket, handle):
                while True:
                    try:
                        handle(socket.recv(zmq.NOBLOCK))  # expect: spinning-loop
                    except zmq.Again:
                        continue
            """,
        "again until something comes": """
            from confluent_kafka import Consumer

            def first(consumer: Consumer):
                while not (message := consumer.poll(0)):  # expect: spinning-loop
                    pass
                return message
            """,
        "the sleep is on the other way": """
            import gevent
            from confluent_kafka import Consumer

            def run(consumer: Consumer):
                while True:
                    message = consumer.poll(timeout=0)  # expect: spinning-loop
                    if message:
                        gevent.sleep(0)
            """,
    }

    def visit_While(self, node: cst.While) -> None:
        """Report the polls of one loop; nested loops are visited separately."""
        polls = self._calls(node, self._is_poll)
        if not polls or self._yields(node.test):
            return
        self._results = _names_of(node, polls)
        self._running = node.test.value if isinstance(node.test, cst.Name) else None
        if self._when_nothing_came(node.test) is False:
            return  # the loop ends when the poll finds nothing
        polled = self._polls(node.test)
        for outcome, seen in self._block(node.body, polled):
            if outcome in (_ON, _TURN) and seen:
                self._report(polls[0])
                return

    def _report(self, call: cst.Call) -> None:
        site = self.source.site(call)
        found = site.found[0] if site else None
        self.report(
            call,
            self.severity_of(found) if found else Severity.ERROR,
            f"`{self.source.code(call)}` can spin: the loop can repeat without yielding to the hub",
            "Call gevent.sleep(0.01) in iterations that find nothing.",
            found=found,
            why="The call does not wait, so the hub never runs another greenlet.",
        )

    def _is_poll(self, call: cst.Call) -> bool:
        """Return whether a call would wait, but for its timeout of 0 or its flag."""
        site = self.source.site(call)
        return bool(
            site
            and not site.native
            and any(
                found.wait.immediate
                and not found.wait.ready
                and not found.wait.of_class
                and found.blocker.kind == "waits"
                and (found.blocker.timeout or any(c.flags for c in found.blocker.unless))
                for found in site.found
            )
        )

    def _is_raising(self, call: cst.Call) -> bool:
        """Return whether a poll raises if it finds nothing: it has a flag and no timeout."""
        site = self.source.site(call)
        return site is not None and self._is_poll(call) and self.source.is_excused(site)

    def _raises_first(self, node: cst.CSTNode) -> bool:
        """Return whether a poll that finds nothing raises before anything yields to the hub.

        ``handle(socket.recv(zmq.NOBLOCK))`` does not call ``handle`` then.
        """
        calls = self._calls(
            node, lambda call: self._is_raising(call) or not self.source.is_immediate(call)
        )
        return bool(calls) and self._is_raising(calls[0])

    def _block(
        self, body: cst.BaseSuite | Sequence[cst.CSTNode], polled: bool
    ) -> set[tuple[str, bool]]:
        """Return the exits of a block without a yield, each with whether it has polled by then."""
        statements = body.body if isinstance(body, cst.BaseSuite) else body
        states = {(_ON, polled)}
        for statement in statements:
            going = [seen for outcome, seen in states if outcome == _ON]
            states = {state for state in states if state[0] != _ON}
            for seen in going:
                states |= self._statement(statement, seen)
        return states

    def _statement(self, node: cst.CSTNode, polled: bool) -> set[tuple[str, bool]]:
        if isinstance(node, cst.SimpleStatementLine):
            return self._block(node.body, polled)
        if isinstance(node, cst.If):
            return self._branches(node.test, [node.body], node.orelse, polled)
        if isinstance(node, cst.While):
            return self._inner_loop(node.test, node.body, polled)
        if isinstance(node, cst.For):
            return self._inner_loop(node.iter, node.body, polled)
        if isinstance(node, (cst.Try, cst.TryStar)):
            return self._try(node, polled)
        if isinstance(node, cst.With):
            if any(self._yields(item.item) for item in node.items):
                return set()
            polled = polled or any(self._polls(item.item) for item in node.items)
            return self._block(node.body, polled)
        if isinstance(node, cst.Match):
            return self._branches(node.subject, [case.body for case in node.cases], None, polled)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            return {(_ON, polled)}
        if self._trying and self._raises_first(node):
            return {(_FOUND, True)}
        if self._yields(node):
            return set()
        polled = polled or self._polls(node)
        if self._stops(node):
            return {(_GONE, polled)}
        if isinstance(node, cst.Continue):
            return {(_TURN, polled)}
        if isinstance(node, cst.Break):
            return {(_BREAK, polled)}
        if isinstance(node, (cst.Return, cst.Raise)):
            return {(_GONE, polled)}
        return {(_ON, polled)}

    def _stops(self, node: cst.CSTNode) -> bool:
        """Return whether a statement makes the test of the loop false: ``running = False``."""
        return (
            isinstance(node, cst.Assign)
            and isinstance(node.value, cst.Name)
            and node.value.value in ("False", "None")
            and any(
                isinstance(one.target, cst.Name) and one.target.value == self._running
                for one in node.targets
            )
        )

    def _branches(
        self,
        test: cst.BaseExpression,
        bodies: list[cst.BaseSuite],
        orelse: cst.If | cst.Else | None,
        polled: bool,
    ) -> set[tuple[str, bool]]:
        if self._yields(test):
            return set()
        polled = polled or self._polls(test)
        nothing = self._when_nothing_came(test)
        states: set[tuple[str, bool]] = set()
        if nothing is not False:
            states = states.union(*(self._block(body, polled) for body in bodies))
        if nothing is True:
            return states
        if isinstance(orelse, cst.If):
            return states | self._statement(orelse, polled)
        if isinstance(orelse, cst.Else):
            return states | self._block(orelse.body, polled)
        return states | {(_ON, polled)}

    def _when_nothing_came(self, test: cst.BaseExpression) -> bool | None:
        """Return a condition's value in iterations that find nothing; None if unknown."""
        if isinstance(test, cst.Name):
            return False if test.value in self._results else None
        if isinstance(test, cst.Call):
            return False if self._is_poll(test) else None
        if isinstance(test, cst.NamedExpr):
            return self._when_nothing_came(test.value)
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            found = self._when_nothing_came(test.expression)
            return None if found is None else not found
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            return self._compared(test.left, test.comparisons[0])
        if isinstance(test, cst.BooleanOperation):
            sides = {self._when_nothing_came(test.left), self._when_nothing_came(test.right)}
            decisive = isinstance(test.operator, cst.Or)
            return decisive if decisive in sides else None if None in sides else not decisive
        return None

    def _compared(self, left: cst.BaseExpression, target: cst.ComparisonTarget) -> bool | None:
        none = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
        if not none or self._when_nothing_came(left) is None:
            return None
        if isinstance(target.operator, (cst.Is, cst.Equal)):
            return True
        return False if isinstance(target.operator, (cst.IsNot, cst.NotEqual)) else None

    def _inner_loop(
        self, head: cst.BaseExpression, body: cst.BaseSuite, polled: bool
    ) -> set[tuple[str, bool]]:
        if self._yields(head):
            return set()
        polled = polled or self._polls(head)
        if self._when_nothing_came(head) is False:
            return {(_ON, polled)}
        inside = self._block(body, polled)
        out = (_GONE, _FOUND)
        after = {(outcome if outcome in out else _ON, seen) for outcome, seen in inside}
        return after | {(_ON, polled)}

    def _try(self, node: cst.Try | cst.TryStar, polled: bool) -> set[tuple[str, bool]]:
        self._trying += 1
        states = self._block(node.body, polled)
        self._trying -= 1
        raised = {polled, *(seen for _, seen in states)}
        if node.orelse is not None:
            going = [seen for outcome, seen in states if outcome == _ON]
            states = {state for state in states if state[0] != _ON}
            states = states.union(*(self._block(node.orelse.body, seen) for seen in going))
        for handler in node.handlers:
            states = states.union(*(self._block(handler.body, seen) for seen in raised))
        if node.finalbody is None:
            return states
        ended: set[tuple[str, bool]] = set()
        for outcome, seen in states:
            for last, later in self._block(node.finalbody.body, seen):
                ended.add((outcome if last == _ON else last, later))
        return ended

    def _polls(self, node: cst.CSTNode) -> bool:
        return bool(self._calls(node, self._is_poll))

    def _yields(self, node: cst.CSTNode) -> bool:
        """Return whether something in an expression may yield to the hub."""
        finder = _Finder(lambda call: not self.source.is_immediate(call))
        node.visit(finder)
        return finder.gives_way or bool(finder.found)

    def _calls(self, node: cst.CSTNode, wanted: Callable[[cst.Call], bool]) -> list[cst.Call]:
        finder = _Finder(wanted)
        node.visit(finder)
        return finder.found


def _names_of(loop: cst.While, polls: list[cst.Call]) -> set[str]:
    """Return the names that a loop binds to the results of its polls."""
    names: set[str] = set()

    class Names(cst.CSTVisitor):
        def visit_Assign(self, node: cst.Assign) -> None:
            if node.value in polls:
                targets = [target.target for target in node.targets]
                names.update(t.value for t in targets if isinstance(t, cst.Name))

        def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
            if node.value in polls and isinstance(node.target, cst.Name):
                names.add(node.target.value)

    loop.visit(Names())
    return names


class _Finder(cst.CSTVisitor):
    """Finds the calls, ``yield`` and ``await`` of some code, without nested functions.

    The calls are in the order in which they are made: arguments before the call that takes them.
    """

    def __init__(self, wanted: Callable[[cst.Call], bool]) -> None:
        super().__init__()
        self.wanted = wanted
        self.found: list[cst.Call] = []
        self.gives_way = False

    def leave_Call(self, original_node: cst.Call) -> None:
        if self.wanted(original_node):
            self.found.append(original_node)

    def visit_Yield(self, node: cst.Yield) -> None:
        self.gives_way = True

    def visit_Await(self, node: cst.Await) -> None:
        self.gives_way = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False
