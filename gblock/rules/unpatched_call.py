"""``unpatched-call``: a call waits in a module that a process on gevent leaves unpatched."""

from __future__ import annotations

import re

from gblock.diagnostics import Location, Related, Severity
from gblock.project.processes.patching import PATCHED
from gblock.project.remarks.places import written
from gblock.project.remarks.remark import Remark
from gblock.rule import RUNS_ON_GEVENT, ProcessRule, Wording, effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import NamedTuple

    from gblock.catalog.blockers import Blocker
    from gblock.project.calls.sites import Found, Site
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple

_PROCESSES_NAMED = 2
"""A message names at most this many processes."""


class Lack(NamedTuple):
    """A call, and the processes in which it blocks."""

    code: str
    found: Found
    lacking: tuple[Process, ...]
    """The processes that leave unpatched what the call needs."""
    others: tuple[Process, ...]
    """The processes on gevent in which it is cooperative."""
    patching: tuple[str, int]
    """The place at which one change completes the patching."""


class _Blocking(NamedTuple):
    """A site, its first blocker, and the processes that leave unpatched what the blocker needs."""

    site: Site
    found: Found
    lacking: list[Process]


class UnpatchedCall(ProcessRule):
    """A process on gevent calls a part of the standard library that it leaves unpatched.

    ## What it does

    Reports calls that wait in `time`, `socket`, `select`, `subprocess`, `queue`, `threading`, `os`,
    `ssl` or name resolution, and calls of pure Python packages that do: `requests`, `redis`,
    `pymysql`, SQLAlchemy. The code must be reachable by a process on gevent that never calls
    `gevent.monkey.patch_all()`, or that leaves the needed module unpatched. The diagnostic is an
    error if the call blocks in all processes on gevent that can run the code, else a warning that
    names the processes in which it does.

    ## Why it blocks the hub

    Pure Python code is cooperative only because gevent replaces the functions it waits in. In a
    process that does not patch, `time.sleep` is the function of the operating system.

    ## Use instead

    Call `gevent.monkey.patch_all()` first in the module that the process starts with.

    ## Limits

    Nothing is reported where no process on gevent is known to run the code, or where it is
    uncertain that the process runs on gevent. A script that only its own `if __name__ ==
    "__main__"` starts counts only where no other process on gevent runs the same code. A patch in
    any function that the process can reach counts, however late it runs. A server that patches
    (gunicorn's and Celery's gevent workers, locust) patches everything. A database behind
    SQLAlchemy is assumed to be across a network, unless its URL begins with `sqlite`.
    """

    name = "unpatched-call"
    since = "0.1.0"
    marks = RUNS_ON_GEVENT
    scattered = True
    """A process that runs on gevent, and that no server patches, imports it somewhere."""

    VALID = {
        "everything is patched": """
            from gevent import monkey

            monkey.patch_all()

            import time

            time.sleep(1)
            """,
        "no wait": """
            import queue

            import gevent

            jobs = queue.Queue()
            gevent.spawn(jobs.get, False)
            jobs.get(block=False)

            if __name__ == "__main__":
                gevent.wait()
            """,
        "a class that opens its connection with gevent": """
            import imaplib

            from gevent import socket, spawn

            class Mailbox(imaplib.IMAP4):
                def _create_socket(self, timeout=None):
                    return socket.create_connection((self.host, self.port))

                def enter(self):
                    super().login("shop", "secret")

            if __name__ == "__main__":
                mailbox = Mailbox("localhost")
                spawn(mailbox.enter).join()
                mailbox.login("shop", "secret")
            """,
        "in a native thread": """
            import threading
            import time

            from gevent import monkey, wait

            monkey.patch_all(thread=False, time=False)

            def tick():
                time.sleep(1)

            threading.Thread(target=tick).start()

            if __name__ == "__main__":
                wait()
            """,
    }
    INVALID = {
        "nothing is patched": """
            import gevent  # expect: missing-monkey-patch
            import requests

            def fetch():
                return requests.get("https://example.org")  # expect: unpatched-call

            if __name__ == "__main__":
                gevent.spawn(fetch).join()
            """,
        "not all is patched": """
            import subprocess
            import time

            from gevent import monkey

            monkey.patch_all(subprocess=False)  # expect: partial-monkey-patch

            if __name__ == "__main__":
                time.sleep(1)
                subprocess.run(["sync"])  # expect: unpatched-call
            """,
        "a class of its own opens the connection": """
            import imaplib

            from gevent import socket, spawn  # expect: missing-monkey-patch

            class Mailbox(imaplib.IMAP4):
                def ask(self):
                    return socket

            if __name__ == "__main__":
                spawn(Mailbox("localhost").login, "shop", "secret").join()  # expect: unpatched-call
            """,
    }

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the remarks on some files."""
        processes, unpatched = service.processes, service.unpatched
        if not processes.incomplete:
            return
        reached = frozenset[str]().union(*map(processes.modules_of, processes.incomplete))
        for path in unpatched.chosen([path for path in paths if path in reached]):
            running = processes.on_gevent(path)
            incomplete = [process for process in running if process.missing]
            found: dict[tuple[int, ...], _Blocking] = {}
            for native in (False, True):
                group = [p for p in incomplete if ("threading" in p.missing) is native]
                for site in unpatched.of(path, native_threads=native) if group else ():
                    one, lacking = _blocking(site, group, processes)
                    if one is not None:
                        where = _where_of(site)
                        found.setdefault(where, _Blocking(site, one, [])).lacking.extend(lacking)
            for _, (site, one, lacking) in sorted(found.items()):
                others = tuple(p for p in running if p not in lacking)
                if others:  # the code may belong to the others only
                    lacking = [p for p in lacking if _is_meant(p, path, site, processes)]
                if not lacking:
                    continue
                code, span = written(processes.modules.data(path), site)
                facts = Lack(code, one, tuple(lacking), others, service.patching(lacking[0]))
                files = frozenset[str]().union(*map(processes.modules_of, lacking))
                yield Remark(path, span, facts, site.call.statement, site.place, files=files)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the message for one call."""
        facts = remark.facts
        assert isinstance(facts, Lack)
        blocker, first = facts.found.blocker, facts.lacking[0]
        everywhere = not facts.others
        message = f"`{facts.code}` {effect(facts.found)}"
        if not everywhere:
            message += f" in {_named(facts.lacking)}"
        return Wording(
            Severity.ERROR if everywhere and blocker.level == "error" else Severity.WARNING,
            f"{message}: {_lack(facts.lacking, blocker.patched_by, everywhere)}",
            f"{blocker.remedy().partition(':')[0].removesuffix('.')}{_where(first, name_of)}.",
            blocker.why,
            tuple(
                _begins(process, name_of)
                for process in facts.lacking[:_PROCESSES_NAMED]
                if process.entries
            ),
            blocker.id,
            facts.found.symbol,
            f"patching:{name_of(facts.patching[0])}:{facts.patching[1]}",
        )


def _blocking(
    site: Site, group: list[Process], processes: Processes
) -> tuple[Found | None, list[Process]]:
    """Return the first blocker of a site that blocks in some processes, and these."""
    for one in site.found:
        if one.blocker.needs and _is_native(one.blocker, processes):
            continue
        lacking = [process for process in group if leaves(process, one.blocker.patched_by)]
        if lacking:
            return one, lacking
    return None, []


def _where_of(site: Site) -> tuple[int, int, int, int]:
    """Return the place of a call in its file."""
    call = site.call
    return call.row, call.column, call.end_row, call.end_column


def _is_native(blocker: Blocker, processes: Processes) -> bool:
    """Return whether a blocker's calls wait in native code, which the patch does not change.

    The project requires, or its strings name, such a driver of databases and no other. A list of
    requirements without the ORM is not whole.
    """
    required = processes.deployment.requirements
    if not (blocker.distribution in required or f"flask-{blocker.distribution}" in required):
        return False
    if any(name in required for name in blocker.needs):
        return False
    known = processes.inference.catalog.drivers
    native = {name for one in known for name in (one.distribution, *one.requires)}
    return any(name in required for name in native) or bool(processes.modules.mentioning("sqlite"))


def _is_meant(process: Process, path: str, site: Site, processes: Processes) -> bool:
    """Return whether a process may run a call in a file that it shares with other processes.

    The process imports the module; the function or class around the call must be mentioned a
    second time in the code that the process can run.
    """
    summary = processes.modules.summary(path)
    if process.is_casual:
        return False
    scope, name = site.call.scope, b""
    while scope > 0:
        name = summary.scopes[scope].name.encode()
        scope = summary.scopes[scope].parent
    if not name.decode().isidentifier():
        return True
    written = re.compile(rb"\b%s\b" % name)
    return any(
        len(written.findall(processes.modules.data(one))) > (one == path)
        for one in processes.modules_of(process)
    )


def leaves(process: Process, wanted: tuple[str, ...]) -> bool:
    """Return whether a process leaves a required module unpatched.

    Args:
        process: The process to judge.
        wanted: The required modules; ``queue or threading`` where one of them is enough.
    """
    return any(
        all(name in process.missing for name in alternatives.split(" or "))
        for alternatives in wanted
    )


def _lack(lacking: tuple[Process, ...], wanted: tuple[str, ...], everywhere: bool) -> str:
    """Return the message's second half: what these processes leave unpatched."""
    who = _named(lacking) if everywhere else "it" if len(lacking) == 1 else "they"
    several = len(lacking) > 1
    if all(set(process.missing) >= set(PATCHED) for process in lacking):
        return f"{who} run{'' if several else 's'} on gevent and never monkey patch{_es(several)}"
    names = " and ".join(one.replace(" or ", " and ") for one in wanted)
    return f"{who} leave{'' if several else 's'} {names} unpatched"


def _es(several: bool) -> str:
    return "" if several else "es"


def _named(processes: tuple[Process, ...]) -> str:
    names = list(dict.fromkeys(process.name for process in processes))
    more = len(names) - _PROCESSES_NAMED
    return " and ".join(names[:_PROCESSES_NAMED]) + (f" and {more} more" if more > 0 else "")


def _where(process: Process, name_of: Callable[[str], str]) -> str:
    return f", in {name_of(process.entries[0])}" if process.entries else ""


def _begins(process: Process, name_of: Callable[[str], str]) -> Related:
    where = name_of(process.entries[0])
    return Related(where, Location(1, 1), f"{process.name} begins here: {process.why}")
