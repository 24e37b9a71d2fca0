"""``uuid-heavy-path``: identifiers are generated where numbers add up."""

from __future__ import annotations

import libcst as cst

from gblock.call_rule import CallRule


class UuidHeavyPath(CallRule):
    """Identifiers are generated in a loop, or once for every task or request.

    ## What it does

    Reports calls that the catalog marks as costly in numbers (`uuid`, kombu's and celery's
    generators) in loops and comprehensions, and in functions that run once for each task or
    request.

    ## Why it blocks the hub

    One identifier costs a few microseconds, on the hub's thread. A batch of 100,000 is a third of a
    second in which no other greenlet runs.

    ## Use instead

    A counter behind one random prefix, identifiers made in batches with `gevent.sleep(0)` between
    them, or those that the database or the broker makes anyway.

    ## Limits

    The number of turns is not known. What a task or a request only calls is not followed.
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
        "once a task": """
            import uuid
            from celery import shared_task

            @shared_task
            def notify(order):
                return str(uuid.uuid4())  # expect: uuid-heavy-path
            """,
        "once a request": """
            import uuid
            from flask import Flask

            app = Flask(__name__)

            @app.route("/")
            def index():
                return uuid.uuid4().hex  # expect: uuid-heavy-path
            """,
    }

    def visit_Call(self, node: cst.Call) -> None:
        """A call that the catalog marks as costly in numbers."""
        site = self.source.site(node)
        for found in site.found if site else ():
            if found.blocker.kind not in self.kinds or site is None or site.native:
                continue
            where = self.source.repeats(site)
            path = f"in a {where}" if where else ""
            if not path:
                runs = self.source.handler(site)
                path = f"for every {runs}" if runs else ""
            if path:
                each = found.blocker.seconds_each
                cost = f", {each * 1e6:.2g} µs of the hub's time each" if each else ""
                self.report(
                    node,
                    self.severity_of(found),
                    f"`{self.source.code(node)}` {path}{cost}",
                    found.blocker.instead,
                    found=found,
                    why=found.blocker.why,
                )
                return
