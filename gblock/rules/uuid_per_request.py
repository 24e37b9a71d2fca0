"""``uuid-per-request``: an identifier is generated once for every task or request."""

from __future__ import annotations

import libcst as cst

from gblock.call_rule import CallRule


class UuidPerRequest(CallRule):
    """An identifier is generated once for every task or request.

    ## What it does

    Reports calls that the catalog marks as costly in numbers (`uuid`, kombu's and celery's
    generators) in functions that run once for each task or request, outside of loops. Select it
    beside the default rules: `select = ["default", "uuid-per-request"]`.

    ## Why it blocks the hub

    One identifier costs a few microseconds, on the hub's thread: at a thousand requests a second
    some thousandths of its time. That is seldom worth a change, and the rule is off by default.

    ## Use instead

    One identifier for a whole batch of tasks, or those that the broker makes anyway.

    ## Limits

    What a task or a request only calls is not followed.
    """

    name = "uuid-per-request"
    since = "0.1.0"
    on_by_default = False

    VALID = {
        "in a function that runs for neither": """
            import uuid

            def session():
                return uuid.uuid4()
            """,
        "in a loop: see uuid-heavy-path": """
            import uuid
            from celery import shared_task

            @shared_task
            def label(rows):
                return [uuid.uuid4() for _ in rows]  # expect: uuid-heavy-path
            """,
    }
    INVALID = {
        "once a task": """
            import uuid
            from celery import shared_task

            @shared_task
            def notify(order):
                return str(uuid.uuid4())  # expect: uuid-per-request
            """,
        "once a request": """
            import uuid
            from flask import Flask

            app = Flask(__name__)

            @app.route("/")
            def index():
                return uuid.uuid4().hex  # expect: uuid-per-request
            """,
    }

    def visit_Call(self, node: cst.Call) -> None:
        """A call that the catalog marks as costly in numbers."""
        site = self.source.site(node)
        if site is None or site.native or self.source.repeats(site):
            return
        for found in site.found:
            runs = self.source.handler(site) if found.blocker.kind == "costly" else ""
            if runs:
                each = found.blocker.seconds_each
                cost = f"; each call takes {each * 1e6:.2g} µs" if each else ""
                self.report(
                    node,
                    self.severity_of(found),
                    f"`{self.source.code(node)}` runs once for every {runs}{cost}",
                    found.blocker.remedy(),
                    found=found,
                    why=found.blocker.why,
                )
                return
