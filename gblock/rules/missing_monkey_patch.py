"""``missing-monkey-patch``: a process runs on gevent and never patches."""

from __future__ import annotations

import re
import sys

from gblock.diagnostics import Severity
from gblock.project.processes.patching import PATCHED
from gblock.project.reading.bindings import ImportBinding
from gblock.project.reading.positions import statements
from gblock.project.remarks.places import pointed_at
from gblock.project.remarks.remark import Remark
from gblock.rule import RUNS_ON_GEVENT, ProcessRule, Wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import NamedTuple

    from gblock.project.processes.process import Process
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple

_WEB = re.compile(rb"\b(?:WSGIServer|SocketIO)\(")
"""Calls in the file of a program that make a server of requests."""
_SOCKETS = re.compile(rb"\bgevent\.socket\b|\bgevent[ \t]+import[ \t][^\n]*\bsocket\b")
"""Texts of which code that means to do without the patch contains at least one."""
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+gevent(?:websocket)?\b", re.MULTILINE)


class Missing(NamedTuple):
    """The facts of a process that patches nothing."""

    names: tuple[str, ...]
    """The processes that begin in the file."""
    why: str
    """The evidence that they run on gevent."""
    begins: tuple[str, int]
    """The place at which one change patches them; the calls under it name the same."""
    through: str
    """A package that a process imports which serves requests, and that may wait; or empty."""


class MissingMonkeyPatch(ProcessRule):
    """A process runs on gevent and never calls `gevent.monkey.patch_all()`.

    ## What it does

    Reports the file in which such a process begins, once. The calls that block in it are places of
    the same cause: `unpatched-call` reports each of them. Where no such call is known to run, this
    is a note; if the process serves requests and imports a package that is neither one of the
    frameworks that gblock knows nor of the standard library, it is a warning, since that package
    may wait. A program that uses `gevent.socket` does without the patch on purpose.

    ## Why it blocks the hub

    Without the patch the standard library waits in the operating system, and threads are native.
    A greenlet that sleeps, reads a socket or waits for a lock stops all others.

    ## Use instead

    `from gevent import monkey; monkey.patch_all()` as the first statement of the module in which
    the process begins; or gevent's own functions, such as `gevent.sleep()`, throughout.

    ## Limits

    Silent about a process of which it is not sure that it runs on gevent, and about one that a
    server patches.
    """

    name = "missing-monkey-patch"
    since = "0.1.0"
    marks = RUNS_ON_GEVENT
    scattered = True

    VALID = {
        "everything is patched": """
            from gevent import monkey

            monkey.patch_all()

            import time

            import gevent

            gevent.spawn(time.sleep, 1).join()
            """,
        "nothing waits but gevent": """
            import gevent

            if __name__ == "__main__":
                gevent.sleep(1)
            """,
        "a server that imports nothing else": """
            from flask import Flask
            from gevent.pywsgi import WSGIServer

            WSGIServer(("", 8000), Flask(__name__)).serve_forever()
            """,
    }
    INVALID = {
        "a call waits in the standard library": """
            import gevent  # expect: missing-monkey-patch
            import requests

            def fetch():
                return requests.get("https://example.org")  # expect: unpatched-call

            if __name__ == "__main__":
                gevent.spawn(fetch).join()
            """,
        "a server imports a package that may wait": """
            import articles_client
            from flask import Flask
            from gevent.pywsgi import WSGIServer  # expect: missing-monkey-patch

            app = Flask(__name__)

            @app.route("/")
            def index():
                return articles_client.fetch()

            WSGIServer(("", 8000), app).serve_forever()
            """,
    }

    @classmethod
    def find(cls, service: Service, _paths: Collection[str]) -> Iterable[Remark]:
        """Yield one remark for each file in which a process begins that never patches."""
        processes = service.processes
        found: dict[tuple[str, int], list[Process]] = {}
        for process in processes.incomplete:
            if process.entries and set(process.missing) >= set(PATCHED) and not process.patches:
                place = service.patching(process)
                found.setdefault(place, []).append(process)
        for (path, first), beginning in found.items():
            match = next(statements(_IMPORT, processes.modules.data(path)), None)
            row = first
            if match is not None:
                row = processes.modules.data(path).count(b"\n", 0, match.start()) + 1
            span, statement = pointed_at(processes.modules, path, row, "gevent")
            names = tuple(dict.fromkeys(process.name for process in beginning))
            through = min(filter(None, (_imported(service, p) for p in beginning)), default="")
            facts = Missing(names, beginning[0].why, (path, first), through)
            yield Remark(path, span, facts, statement)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the message for one file: the processes that begin in it."""
        facts: Missing = remark.facts
        first, *others = facts.names
        more = f" and {len(others)} more" if others else ""
        verb = "run" if others else "runs"
        path, row = facts.begins
        through = f" `{facts.through}` may wait there." if facts.through else ""
        return Wording(
            Severity.WARNING,
            f"`{first}`{more} {verb} on gevent and never monkey patch{'' if others else 'es'}",
            "Call `gevent.monkey.patch_all()` at the top of this module, before all other imports.",
            f"It runs on gevent: {facts.why}. What waits in the standard library stops its hub."
            f"{through}",
            symbol=facts.through or None,
            cause=f"patching:{name_of(path)}:{row}",
        )


def _imported(service: Service, process: Process) -> str:
    """Return the first package of a server that may wait, as far as the catalog knows; or empty."""
    processes, modules = service.processes, service.modules
    if not process.is_server and not any(_WEB.search(modules.data(x)) for x in process.entries):
        return ""
    paths = processes.modules_of(process)
    if any(_SOCKETS.search(modules.data(path)) for path in paths):
        return ""
    known = processes.inference.catalog.waitless.union({"gevent", *sys.stdlib_module_names})
    packages = {
        one.value.module.partition(".")[0]
        for path in paths
        for scope in modules.summary(path).scopes
        for bindings in scope.bindings.values()
        for one in bindings
        if isinstance(one, ImportBinding) and not one.value.level
        if modules.resolve(one.value.module, 0, path) is None
    }
    return min(packages - known, default="")
