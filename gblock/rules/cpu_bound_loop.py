"""``cpu-bound-loop``: a loop in plain Python that a task or a request waits for."""

from __future__ import annotations

import re

from gblock.diagnostics import Severity
from gblock.project.remarks.places import pointed_at
from gblock.project.remarks.remark import Remark
from gblock.rule import ProcessRule, Wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gblock.project.remarks.service import Service


class CpuBoundLoop(ProcessRule):
    """A task or a request runs a loop of a million iterations that only computes.

    ## What it does

    Reports loops and comprehensions over `range` with constant bounds and 1,000,000 iterations or
    more, nested ones multiplied, in a function that runs once for each task or request.

    ## Why it blocks the hub

    Python computes on the hub's thread. A million iterations take at least 0.05 s, in which no
    other greenlet runs.

    ## Use instead

    `gevent.sleep(0)` every few thousand iterations, or another process. A native thread does not
    help: Python code keeps the GIL.

    ## Limits

    Loops are not reported if they can end early, call anything that is not known to compute, or
    have bounds that are not constant. Functions that a handler calls are not followed.
    """

    name = "cpu-bound-loop"
    since = "0.1.0"
    marks = re.compile(
        rb"\b[1-9](?:_?[0-9]){6,}\b|\*\*[ ]*[1-9]|[0-9]e[6-9]|0_?000 *\*|\* *[0-9]+_?000"
    )

    VALID = {
        "yields to the hub now and then": """
            import gevent
            from gevent import monkey

            monkey.patch_all()

            from celery import shared_task

            @shared_task
            def total():
                found = 0
                for number in range(10_000_000):
                    found += number * number
                    if number % 10_000 == 0:
                        gevent.sleep(0)
                return found
            """,
        "it ends early": """
            from gevent import monkey

            monkey.patch_all()

            from celery import shared_task

            @shared_task
            def first(wanted):
                for number in range(10_000_000):
                    if number * number > wanted:
                        return number
            """,
    }
    INVALID = {
        "in a task": """
            from gevent import monkey

            monkey.patch_all()

            from celery import shared_task

            @shared_task
            def total():
                found = 0
                for number in range(10_000_000):  # expect: cpu-bound-loop
                    found += number * number
                return found
            """,
        "in a view": """
            from gevent import monkey

            monkey.patch_all()

            from flask import Flask

            app = Flask(__name__)
            TURNS = 10**7

            @app.route("/")
            def index():
                return str(sum(number % 7 for number in range(TURNS)))  # expect: cpu-bound-loop
            """,
    }

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the loops of some files."""
        from gblock.project.remarks.loops import long_loops

        inference, modules = service.processes.inference, service.modules
        for path in paths:
            summary = modules.summary(path)
            if service.processes.only_without_gevent(path):
                continue
            for loop in long_loops(summary, inference):
                span, statement = pointed_at(modules, path, loop.row, "range")
                yield Remark(path, span, loop, statement)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:  # noqa: ARG003
        """Return the message for one loop."""
        loop = remark.facts
        return Wording(
            Severity.WARNING,
            f"a loop of {loop.turns:,} iterations runs for every {loop.runs} and blocks the hub "
            "until it ends",
            "Call gevent.sleep(0) every few thousand iterations, or compute in another process; a "
            "thread does not help, since Python code keeps the GIL.",
            "Python computes on the hub's thread: a million iterations take at least 0.05 s.",
        )
