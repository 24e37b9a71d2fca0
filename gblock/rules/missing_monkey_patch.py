"""``missing-monkey-patch``: a process runs on gevent and never patches."""

from __future__ import annotations

import re

from gblock.diagnostics import Severity
from gblock.project.processes.patching import PATCHED
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

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+gevent\b", re.MULTILINE)


class Missing(NamedTuple):
    """The facts of a process that patches nothing."""

    names: tuple[str, ...]
    """The processes that begin in the file."""
    why: str
    """The evidence that they run on gevent."""
    begins: tuple[str, int]
    """The place at which one change patches them; the calls under it name the same."""


class MissingMonkeyPatch(ProcessRule):
    """A process runs on gevent and never calls `gevent.monkey.patch_all()`.

    ## What it does

    Reports the file in which such a process begins, once. The calls that block in it are places of
    the same cause: `unpatched-call` reports each of them. Where no such call is known to run, this
    is a note.

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
            yield Remark(path, span, Missing(names, beginning[0].why, (path, first)), statement)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the message for one file: the processes that begin in it."""
        facts: Missing = remark.facts
        first, *others = facts.names
        more = f" and {len(others)} more" if others else ""
        verb = "run" if others else "runs"
        path, row = facts.begins
        return Wording(
            Severity.WARNING,
            f"`{first}`{more} {verb} on gevent and never monkey patch{'' if others else 'es'}",
            "Call `gevent.monkey.patch_all()` at the top of this module, before all other imports.",
            f"It runs on gevent: {facts.why}. What waits in the standard library stops its hub.",
            cause=f"patching:{name_of(path)}:{row}",
        )
