"""``partial-monkey-patch``: a process patches some modules, but not all that wait."""

from __future__ import annotations

import re

from gblock.diagnostics import Location, Related, Repair, Severity
from gblock.project.remarks.places import pointed_at
from gblock.project.remarks.remark import Remark
from gblock.rule import ProcessRule, Wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import NamedTuple

    from gblock.project.processes.patching import Patch
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple


_HARMLESS = frozenset({"os", "queue", "signal"})
"""Modules that may stay unpatched: ``queue.Queue`` waits on locks of ``threading``, and ``os`` and
``signal`` matter only for children that are not started through ``subprocess``."""


_THREADS = re.compile(rb"[Tt]hread")
_LEFT_OUT_BY = {"dns": "dns|socket", "selectors": "select", "threading": "thread"}
"""The arguments of ``patch_all`` that leave a module out, where it is not that of its name."""


class Partial(NamedTuple):
    """The facts of one incomplete patch."""

    text: str
    missing: tuple[str, ...]
    """The modules that stay blocking in a process with this patch."""
    others: tuple[tuple[str, int, str], ...]
    """The other patches of the process: file, row and text."""
    is_mendable: bool
    """True if no native thread would become a greenlet after a whole patch."""
    through: tuple[str, ...] = ()
    """Packages of the process that wait in an unpatched module."""
    by_command: bool = False
    """True if options of the command leave the modules out: ``python -m gevent.monkey``."""


class PartialMonkeyPatch(ProcessRule):
    """A process on gevent leaves waiting modules of the standard library unpatched.

    ## What it does

    Combines all patches of a process, `patch_all` with its arguments and single functions such as
    `patch_socket`, and reports the first of them if any of these is left unpatched: `dns`,
    `select`, `selectors`, `socket`, `ssl`, `subprocess`, `threading` or `time`. The calls that
    wait in an unpatched module share its cause and give it their severity; without any, it is a
    note.

    ## Why it blocks the hub

    An unpatched module waits in C. With `thread=False` threads are native, and a greenlet that
    waits for a lock, a queue or an event blocks the hub.

    ## Use instead

    `monkey.patch_all()`. Where native threads are needed, `gevent.threadpool` has them with
    everything patched.

    ## Limits

    `os`, `queue` and `signal` are not required. Patches that a library applies are unknown.
    """

    name = "partial-monkey-patch"
    since = "0.1.0"
    marks = re.compile(rb"(?:gevent|monkey|patch_all)\b")
    fixes = ("whole-patch",)

    VALID = {
        "all": """
            from gevent import monkey

            monkey.patch_all()
            """,
        "without what does not wait": """
            from gevent import monkey

            monkey.patch_all(signal=False, sys=False, Event=False)
            """,
        "nothing waits in what is left: a note": """
            from gevent import monkey

            monkey.patch_all(thread=False)
            """,
        "a scheduler on greenlets waits in gevent: a note": """
            from apscheduler.schedulers.gevent import GeventScheduler
            from gevent import monkey

            monkey.patch_all(thread=False)
            GeventScheduler().start()
            """,
        "two that complete one another": """
            from gevent import monkey

            monkey.patch_all(thread=False)
            monkey.patch_thread()
            """,
    }
    INVALID = {
        "an argument": """
            import time

            from gevent import monkey, spawn

            monkey.patch_all(time=False)  # expect: partial-monkey-patch
            spawn(print)
            time.sleep(1)  # expect: unpatched-call
            """,
        "single functions": """
            import subprocess

            from gevent import spawn
            from gevent.monkey import patch_socket, patch_ssl

            patch_socket()  # expect: partial-monkey-patch
            patch_ssl()
            spawn(print)
            subprocess.run(["sync"])  # expect: unpatched-call
            """,
    }

    @classmethod
    def find(cls, service: Service, _paths: Collection[str]) -> Iterable[Remark]:
        """Yield one remark for each patch that is the first of an incomplete process."""
        processes = service.processes
        found: dict[Patch, tuple[set[str], set[Patch]]] = {}
        through: dict[Patch, set[str]] = {}
        for process in processes.all():
            if not processes.is_of_service(process):
                continue
            missing = set(process.missing) - _HARMLESS
            if missing and process.by_server and process.entries:
                yield _by_command(service, process, missing)
            if not missing or not process.patches or process.by_server:
                continue
            patch = service.first_patch(process) or process.patches[0]
            known = found.setdefault(patch, (set(), set()))
            known[0].update(missing)
            through.setdefault(patch, set()).update(_waiting(service, process, missing))
            known[1].update(  # a loop over patch functions is several at one place
                one for one in process.patches if (one.path, one.row) != (patch.path, patch.row)
            )
        for patch, (names, others) in found.items():
            facts = Partial(
                patch.text,
                tuple(sorted(names)),
                tuple(sorted((other.path, other.row, other.text) for other in others)),
                not ("threading" in names and _starts_threads(processes, patch)),
                tuple(sorted(through[patch])),
            )
            span, statement = pointed_at(
                processes.modules, patch.path, patch.row, patch.symbol.rpartition(".")[2]
            )
            yield Remark(patch.path, span, facts, statement)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the message for one process: the modules that stay blocking."""
        facts: Partial = remark.facts
        missing = ", ".join(f"`{name}`" for name in facts.missing)
        verb = "stay" if len(facts.missing) > 1 else "stays"
        with_others = " and the process's other patches" if facts.others else ""
        packages = " and ".join(f"`{name}`" for name in facts.through[:2])
        waits = "wait" if len(facts.through) > 1 else "waits"
        through = f"; {packages} {waits} there" if packages else ""
        remedy = "Call `monkey.patch_all()` without arguments, before anything else in the process."
        if facts.by_command:
            remedy = "Start it without the options that leave modules out."
        return Wording(
            Severity.WARNING,
            f"{missing} {verb} blocking after `{facts.text}`{with_others}{through}",
            remedy,
            "Unpatched calls wait in C, and every greenlet of the process waits with them.",
            tuple(
                Related(name_of(path), Location(row, 1), f"`{text}` does not complete it")
                for path, row, text in facts.others
            ),
            symbol=facts.through[0] if facts.through else None,
            cause=f"patching:{name_of(remark.path)}:{remark.span.row}",
            repair=Repair(
                "whole-patch", tuple(_LEFT_OUT_BY.get(name, name) for name in facts.missing)
            )
            if facts.is_mendable
            else None,
        )


def _by_command(service: Service, process: Process, missing: set[str]) -> Remark:
    """Return the remark on a program whose command patches a part: at its first statement."""
    path, row = service.patching(process)
    through = tuple(sorted(set(_waiting(service, process, missing))))
    facts = Partial(process.name, tuple(sorted(missing)), (), False, through, True)
    span, statement = pointed_at(service.modules, path, row, "import")
    return Remark(path, span, facts, statement)


def _starts_threads(processes: Processes, patch: Patch) -> bool:
    """Return whether a process with a patch has code, or a comment, that speaks of threads."""
    data, call = processes.modules.data, patch.text.encode()
    return any(
        _THREADS.search(data(path).replace(call, b"") if path == patch.path else data(path))
        for process in processes.reaching(patch.path)
        for path in processes.modules_of(process)
    )


def _waiting(service: Service, process: Process, missing: set[str]) -> Iterator[str]:
    """Yield the packages that a process imports and that wait in modules it leaves unpatched."""
    modules = service.modules
    for waiter in service.processes.inference.catalog.waiters:
        if not missing.isdisjoint(waiter.modules):
            reached = service.processes.modules_of(process)
            spared = {one for name in waiter.unless for one in modules.mentioning(name, whole=True)}
            for package in waiter.imports:
                importing = set(modules.mentioning(package, whole=True)) - spared
                if not reached.isdisjoint(importing):
                    yield package
