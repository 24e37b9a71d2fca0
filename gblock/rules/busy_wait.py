"""``busy-wait``: a loop that waits for a state and never yields to the hub."""

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


class BusyWait(ProcessRule):
    """A loop with an empty body tests a state until something else changes it.

    ## What it does

    Reports `while` loops that do nothing but test a variable, a clock, a file, or whether another
    object is ready.

    ## Why it blocks the hub

    The loop never yields to the hub, so no other greenlet runs. If one of them is to change the
    state, the loop never ends; if a clock, a file or another process ends it, every greenlet of the
    process waits until then.

    ## Use instead

    An event of gevent that is set when the state changes: `gevent.event.Event.wait()`. Where
    nothing can set one, `gevent.sleep(0.01)` in the loop.

    ## Limits

    A loop whose test calls anything else is not reported: the call may yield. Neither is a loop
    outside of functions, and one whose test is on several lines.
    """

    name = "busy-wait"
    since = "0.1.0"
    marks = re.compile(
        rb"while\b(?<=\bwhile)[^\n]*:[ \t]*(?:#[^\n]*)?(?:\r?\n[ \t]*(?:#[^\n]*)?)*"
        rb"(?:pass|continue|\.\.\.)[ \t]*(?:#[^\n]*)?\r?$",
        re.MULTILINE,
    )

    VALID = {
        "sleeps until the file is there": """
            import os

            import gevent
            from gevent import monkey

            monkey.patch_all()

            from celery import shared_task

            @shared_task
            def load(path):
                while not os.path.exists(path):
                    gevent.sleep(0.01)
            """,
        "what it tests may yield": """
            from gevent import monkey

            monkey.patch_all()

            from celery import shared_task

            @shared_task
            def drain(queue):
                while queue.handle_next():
                    pass
            """,
        "a client asks its server": """
            import redis
            from gevent import monkey

            monkey.patch_all()

            from celery import shared_task

            client = redis.Redis()

            @shared_task
            def wait(key):
                while not client.exists(key):
                    pass
            """,
    }
    INVALID = {
        "until a file is there": """
            import os

            from gevent import monkey

            monkey.patch_all()

            from celery import shared_task

            @shared_task
            def load(path):
                while not os.path.exists(path):  # expect: busy-wait
                    pass
            """,
        "until another greenlet has set a flag": """
            from gevent import monkey

            monkey.patch_all()

            from flask import Flask

            app = Flask(__name__)
            state = {"ready": False}

            def wait():
                while not state["ready"]:  # expect: busy-wait
                    continue

            @app.route("/")
            def index():
                wait()
                return "ready"
            """,
        "until some seconds have passed": """
            import time

            import gevent
            from gevent import monkey

            monkey.patch_all()

            def pause(seconds):
                end = time.monotonic() + seconds
                while time.monotonic() < end:  # expect: busy-wait
                    pass

            gevent.spawn(pause, 5).join()
            """,
    }

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the loops of some files."""
        from gblock.project.remarks.idle_loops import idle_loops

        modules = service.modules
        for path in paths:
            if modules.is_test(path) or service.processes.only_without_gevent(path):
                continue
            for row, place in idle_loops(modules, path):
                span, statement = pointed_at(modules, path, row, "")
                yield Remark(path, span, None, statement, place)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:  # noqa: ARG003
        """Return the message for one loop."""
        return Wording(
            Severity.ERROR,
            "the loop waits without yielding to the hub, which stops until the loop ends",
            "Wait for a gevent.event.Event that is set when the state changes, or call "
            "gevent.sleep(0.01) in the loop.",
            "It tests a state again and again, and no other greenlet can change the state.",
        )
