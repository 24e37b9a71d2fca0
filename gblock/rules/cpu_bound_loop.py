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
    """A task or a request runs a loop of a million turns that only computes.

    ## What it does

    Reports loops and comprehensions over `range` with constant bounds that make 1,000,000 turns or
    more, nested ones multiplied, in a function that runs once for each task or request.

    ## Why it blocks the hub

    Python computes on the hub's thread. A million turns take 0.05 s and more, in which no other
    greenlet runs.

    ## Use instead

    `gevent.sleep(0)` every few thousand turns, or another process. A native thread does not help:
    Python code keeps the GIL.

    ## Limits

    Silent where the loop can end early, calls anything that is not known to compute, or has bounds
    that are not constant, and about what a handler only calls.
    """

    name = "cpu-bound-loop"
    since = "0.1.0"
    marks = re.compile(
        rb"\b[1-9](?:_?[0-9]){6,}\b|\*\*[ ]*[1-9]|[0-9]e[6-9]|0_?000 *\*|\* *[0-9]+_?000"
    )

    VALID = {
        "a turn for the hub now and then": """
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
            if summary is None or service.processes.only_without_gevent(path):
                continue
            for loop in long_loops(summary, inference):
                span, statement = pointed_at(modules, path, loop.row, "range")
                yield Remark(path, span, loop, statement)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:  # noqa: ARG003
        """Return what is reported of one loop."""
        loop = remark.facts
        return Wording(
            Severity.WARNING,
            f"a loop of {loop.turns:,} turns computes for every {loop.runs}, and the hub stands "
            "still until it ends",
            "Call gevent.sleep(0) every few thousand turns, or compute in another process; a "
            "thread does not help, since Python code keeps the GIL.",
            "Python computes on the hub's thread: a million turns take 0.05 s and more.",
        )
