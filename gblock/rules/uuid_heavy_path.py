"""``uuid-heavy-path``: identifiers are generated where numbers add up."""

from __future__ import annotations

import libcst as cst

from gblock.call_rule import CallRule
from gblock.diagnostics import Severity


class UuidHeavyPath(CallRule):
    """Identifiers are generated in a loop.

    ## What it does

    Reports calls that the catalog marks as costly in large numbers (`uuid`, the generators of kombu
    and Celery) in loops and comprehensions. `uuid-per-request`, which is off by default, reports
    those that run once for each task or request. A loop is not reported if it is visibly short,
    such as one over a literal tuple, if it waits cooperatively now and then, or if it ends once
    an identifier is accepted. In a loop without an end (`while True`) that also calls what may
    wait, such as a query, an identifier is a note.

    ## Why it blocks the hub

    One identifier takes a few microseconds on the hub's thread. A batch of 100,000 takes a third of
    a second, in which no other greenlet runs.

    ## Use instead

    `gevent.idle()` after every thousand of them, or identifiers that the database or the broker
    generates anyway.

    ## Limits

    The number of iterations is known only for literals, and for `range` with constant bounds.
    """

    name = "uuid-heavy-path"
    since = "0.1.0"
    kinds = frozenset({"costly"})

    VALID = {
        "one identifier": """
            import uuid

            session = uuid.uuid4()
            """,
        "made before the loop": """
            import uuid

            def label(rows):
                batch = uuid.uuid4()
                for row in rows:
                    row.batch = batch
            """,
        "a short loop": """
            import uuid

            keys = {name: uuid.uuid4() for name in ("read", "write")}
            """,
        "until one is free": """
            import uuid

            def free(taken):
                while True:
                    candidate = uuid.uuid4()
                    if candidate not in taken:
                        return candidate
            """,
        "a loop that yields now and then": """
            import uuid
            import gevent

            def label(rows):
                for number, row in enumerate(rows):
                    row.id = uuid.uuid4()
                    if number % 1000 == 0:
                        gevent.sleep(0.001)
            """,
        "beside a query, in a loop without an end": """
            import uuid

            def write(session, statement):
                while True:
                    session.execute(statement, (uuid.uuid4(), "value"))
            """,
        "a function defined in a loop": """
            import uuid

            def factories(names):
                for name in names:
                    def make():
                        return uuid.uuid4()
                    yield make
            """,
    }
    INVALID = {
        "in a loop": """
            import uuid

            def label(rows):
                for row in rows:
                    row.id = uuid.uuid4()  # expect: uuid-heavy-path
            """,
        "in a comprehension": """
            from uuid import uuid4

            ids = [str(uuid4()) for _ in range(100_000)]  # expect: uuid-heavy-path
            """,
    }

    def visit_Call(self, node: cst.Call) -> None:
        """Report a call that generates an identifier in a loop."""
        site = self.source.site(node)
        if site is None or site.native:
            return
        repetition = self.source.repeats(site)
        for found in site.found if repetition.where else ():
            if found.blocker.kind in self.kinds:
                self.report_repeated(
                    node,
                    found,
                    f"in a {repetition.where}",
                    is_open=not repetition.is_counted,
                    most=Severity.NOTE if repetition.may_wait else Severity.ERROR,
                )
                return
