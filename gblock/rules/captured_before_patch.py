"""``captured-before-patch``: a name keeps the original of what is patched later."""

from __future__ import annotations

import re

from gblock.diagnostics import Location, Related, Repair, Severity
from gblock.project.reading import bindings as kinds
from gblock.project.remarks.places import pointed_at
from gblock.project.remarks.remark import Remark
from gblock.rule import ProcessRule, Wording, cause_of_late_patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import NamedTuple

    from gblock.catalog.patching import Original
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes
    from gblock.project.remarks.order import StartupEvent
    from gblock.project.remarks.service import Service
else:
    from gblock.lean import NamedTuple


class Captured(NamedTuple):
    """The facts of one name or object."""

    name: str
    original: Original
    is_object: bool
    """True if it was made, and not only named."""
    patch: tuple[str, int] | None
    """The place of the patch; None if a server patches."""
    text: str
    """The code of the patch, or the kind of the server."""
    started: tuple[str, int] | None
    """The place that starts a server that patches."""
    repair: str = ""
    """The kind of fix, where one at the patch or at the import is enough."""


class CapturedBeforePatch(ProcessRule):
    """A module takes a function or an object of the standard library before monkey patching.

    ## What it does

    Reports `from time import sleep`, `_sleep = time.sleep`, a parameter's default and
    `lock = threading.Lock()` in the body of a module or a class, where a process on gevent
    executes them before its patch. The calls of what is kept that requests, tasks and greenlets
    make in the same file are listed with it.

    ## Why it blocks the hub

    Monkey patching replaces the attribute of the module, `time.sleep`. A name that was imported
    before still refers to the original, which waits in C. A lock that was created before blocks the
    hub indefinitely once one greenlet holds it and another acquires it.

    ## Use instead

    Patch before this module is imported. Where that is impossible, import the module and call
    `time.sleep()`: the attribute is looked up at each call.

    ## Limits

    Reports only names that block, raise or are shared by all greenlets, as measured; `from
    threading import Event` and `from subprocess import run`, for instance, work nevertheless.
    Local variables of functions are not examined.
    """

    name = "captured-before-patch"
    since = "0.1.0"
    marks = re.compile(rb"import\b")
    fixes = ("import-after-patch", "patch-first")

    VALID = {
        "after the patch": """
            from gevent import monkey

            monkey.patch_all()

            from time import sleep

            sleep(1)
            """,
        "the module, not the function": """
            import threading
            import time

            from gevent import monkey

            monkey.patch_all()
            lock = threading.Lock()
            time.sleep(1)
            """,
        "what works nevertheless": """
            from subprocess import run
            from threading import Event

            from gevent import monkey

            monkey.patch_all()
            """,
    }
    INVALID = {
        "a function": """
            from time import sleep  # expect: captured-before-patch

            from gevent import monkey

            monkey.patch_all()
            sleep(1)
            """,
        "an attribute and a default": """
            import time

            from gevent import monkey

            class Client:
                _sleep = time.sleep  # expect: captured-before-patch

            def retry(call, sleep=time.sleep):  # expect: captured-before-patch
                sleep(1)
                return call()

            monkey.patch_all()
            """,
        "a lock": """
            import threading

            from gevent import monkey

            lock = threading.Lock()  # expect: captured-before-patch
            monkey.patch_all()
            """,
    }

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield one remark for each name or object that a file keeps."""
        processes = service.processes
        found: dict[tuple[str, int, str], tuple[StartupEvent, StartupEvent, Process]] = {}
        for process in processes.all():
            if not process.is_gevent_service:
                continue
            for step, patch in service.order.late(process):
                if step.kind != "imported":
                    key = (step.path, step.row, step.symbol)
                    found.setdefault(key, (step, patch, process))
        originals = processes.inference.catalog.originals
        uses, reported = service.uses, frozenset(paths)
        for step, patch, process in found.values():
            if step.path not in reported:
                continue
            server = patch.path == ""
            facts = Captured(
                step.name,
                originals[step.symbol],
                step.kind == "made",
                (patch.path, patch.row) if patch.path else None,
                process.kind
                if server
                else patch.patch.text
                if patch.patch
                else f"import {patch.symbol}",
                process.started if server else None,
                _repair(step, patch, processes),
            )
            span, statement = pointed_at(processes.modules, step.path, step.row, step.name)
            calls, files = uses.of(step), processes.modules_of(process)
            yield Remark(step.path, span, facts, statement, calls=calls, files=files)

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the message for one name: the original that it holds, and the later patch."""
        facts: Captured = remark.facts
        original = facts.original
        related: tuple[Related, ...] = ()
        cause = ""
        if facts.patch is None:
            when = f"before {facts.text} patches"
            if facts.started is not None:
                path, row = facts.started
                cause = cause_of_late_patch(facts.text, name_of(path))
                here = f"{facts.text} is started here"
                related = (Related(name_of(path), Location(row, 1), here),)
        else:
            place = name_of(facts.patch[0])
            cause = cause_of_late_patch(place, facts.patch[1])
            is_here = facts.patch[0] == remark.path
            when = f"before `{facts.text}`" + ("" if is_here else f" in {place}")
            related = (Related(place, Location(facts.patch[1], 1), "patched here, too late"),)
        if facts.is_object:
            message = f"this `{original.symbol}` is made {when}, and {original.why}"
        else:
            message = (
                f"`{facts.name}` is taken {when} and stays the original `{original.symbol}`, "
                f"which {original.why}"
            )
        module, _, name = original.symbol.rpartition(".")
        help = "Patch before this module is imported"
        if facts.is_object:
            help += ", or make the object later."
        else:
            help += f", or `import {module}` and call `{module}.{name}()`."
        return Wording(
            Severity.ERROR if original.level == "error" else Severity.WARNING,
            message,
            help,
            "Monkey patching replaces attributes of modules: a name that was taken before keeps "
            "the original.",
            related,
            symbol=original.symbol,
            cause=cause,
            repair=Repair(facts.repair, places=((name_of(facts.patch[0]), facts.patch[1]),))
            if facts.patch is not None and facts.repair
            else None,
        )


def _repair(step: StartupEvent, patch: StartupEvent, processes: Processes) -> str:
    """Return the kind of fix: an import beside the patch moves below it, else the patch moves."""
    if not step.happens_in(patch.path, patch.row):
        return ""
    summary = processes.modules.summary(step.path) if step.path == patch.path else None
    is_import = summary is not None and any(
        binding.kind == kinds.IMPORTED and binding.row == step.row
        for bindings in summary.scopes[0].bindings.values()
        for binding in bindings
    )
    return "import-after-patch" if is_import else "patch-first"
