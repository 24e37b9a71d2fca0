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
    """A greenlet runs a loop of a million iterations, or over all arrangements of its input.

    ## What it does

    Reports loops and comprehensions over `range` with constant bounds and 1,000,000 iterations or
    more, nested ones multiplied, and loops over `itertools.permutations`, over `combinations` of
    unknown size, and over `product(…, repeat=n)`, in code that a request, a task or a greenlet
    runs. Elsewhere they are notes.

    ## Why it blocks the hub

    Python computes on the hub's thread. A million iterations take at least 0.05 s, in which no
    other greenlet runs. Ten elements have 3.6 million permutations, twelve 479 million.

    ## Use instead

    `gevent.sleep(0.001)` every few thousand iterations, or another process. `gevent.sleep(0)` lets
    timers and sockets in after 50 calls only. A native thread does not help: Python code keeps the
    GIL.

    ## Limits

    Loops over `range` are not reported if they can end early, call anything that is not known to
    compute, or have bounds that are not constant.
    """

    name = "cpu-bound-loop"
    since = "0.1.0"
    marks = re.compile(
        # Alternatives after one class of characters: a search skips what is not of the class.
        rb"[0-9*pcr](?:(?<=\b[1-9])(?:_?[0-9]){6,}\b|(?<=[0-9])e[6-9]|(?<=0)_?000 *\*"
        rb"|(?<=\*)(?:\*[ ]*[1-9]| *[0-9]+_?000)"
        rb"|(?<=\bp)ermutations\b|(?<=\bc)ombinations(?:_with_replacement)?\b|(?<=\br)epeat *=)"
    )
    computes = True

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
                        gevent.sleep(0.001)
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
        "in what a view calls": """
            import itertools

            from gevent import monkey

            monkey.patch_all()

            from flask import Flask, request

            app = Flask(__name__)

            def shortest(stops):
                best = None
                for tour in itertools.permutations(stops):  # expect: cpu-bound-loop
                    if best is None or length(tour) < best:
                        best = length(tour)
                return best

            def length(tour):
                return sum(abs(a - b) for a, b in itertools.pairwise(tour))

            @app.route("/")
            def index():
                return str(shortest(request.json))
            """,
    }

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the loops of some files."""
        from gblock.project.remarks.loops import long_loops

        inference, modules = service.processes.inference, service.modules
        for path in paths:
            summary = modules.summary(path)
            if modules.is_test(path) or service.processes.only_without_gevent(path):
                continue
            for loop in long_loops(summary, inference):
                span, statement = pointed_at(modules, path, loop.row, loop.over)
                yield Remark(path, span, loop, statement, loop.place)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:  # noqa: ARG003
        """Return the message for one loop."""
        loop = remark.facts
        instead = (
            "Call gevent.sleep(0.001) every few thousand iterations, or compute in another "
            "process; a thread does not help, since Python code keeps the GIL."
        )
        if loop.turns is None:
            return Wording(
                Severity.WARNING,
                f"a loop over `{loop.over}()` blocks the hub until it ends",
                instead,
                "Python computes on the hub's thread, and the number of iterations grows "
                "exponentially with the input: ten elements have 3.6 million permutations.",
            )
        return Wording(
            Severity.WARNING,
            f"a loop of {loop.turns:,} iterations blocks the hub until it ends",
            instead,
            "Python computes on the hub's thread: a million iterations take at least 0.05 s.",
        )
