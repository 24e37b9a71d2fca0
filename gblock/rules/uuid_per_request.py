"""``uuid-per-request``: an identifier is generated once for every task or request."""

from __future__ import annotations

import libcst as cst

from gblock.call_rule import CallRule


class UuidPerRequest(CallRule):
    """An identifier is generated once for every task or request.

    ## What it does

    Reports calls that the catalog marks as costly in large numbers (`uuid`, the generators of kombu
    and Celery) in functions that run once for each task or request, outside of loops. Select it
    beside the default rules: `select = ["default", "uuid-per-request"]`.

    ## Why it blocks the hub

    One identifier takes a few microseconds on the hub's thread: some thousandths of its time at a
    thousand requests per second. That is rarely worth a change, so the rule is off by default.

    ## Use instead

    One identifier for a whole batch of tasks, or identifiers that the broker generates anyway.

    ## Limits

    Functions that a task or a request calls are not followed.
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
        """Report a call that generates an identifier once for each task or request."""
        site = self.source.site(node)
        if site is None or site.native or self.source.repeats(site).where:
            return
        for found in site.found:
            runs = self.source.handler(site) if found.blocker.kind == "costly" else ""
            if runs:
                self.report_repeated(node, found, f"once for every {runs}")
                return
