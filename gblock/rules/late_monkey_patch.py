"""``late-monkey-patch``: a module that keeps originals is imported before the patch."""

from __future__ import annotations

import re

from gblock.diagnostics import Location, Related, Repair, Severity
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

_FIRST = (
    "Patch first: make `from gevent import monkey; monkey.patch_all()` the first lines of the file "
    "in which the process begins."
)
_HELP = {
    "gunicorn": "Leave preload_app off, or call `monkey.patch_all()` at the top of gunicorn's "
    "settings file, before any other import.",
    "uwsgi": "Use gevent-early-monkey-patch, which patches before the application is loaded.",
}


class Late(NamedTuple):
    """The facts of one late patch."""

    text: str
    """The code of the patch; empty if the server patches."""
    server: str
    """The kind of server that patches, else empty."""
    module: str
    """The import before it that keeps the worst original."""
    is_own: bool
    """True if it is a module of the project."""
    place: tuple[str, int]
    """The file and the row of the import, or of what keeps the original."""
    original: Original
    """The worst of the originals that it keeps."""
    chain: tuple[tuple[str, int], ...]
    """The imports and calls that lead to it, the first one first."""
    processes: tuple[str, ...] = ()
    """The processes that import it before they patch, where others patch at the same place."""
    more: tuple[Other, ...] = ()
    """Every other import that comes before the same patch."""
    started: tuple[tuple[str, int], ...] = ()
    """The place that starts the server, if it is not shown otherwise."""
    first: tuple[str, int] | None = None
    """The patch, if every import before it happens while its own file runs."""
    is_harmless: bool = False
    """True if what is kept hardly makes a greenlet of the service wait."""
    by: tuple[str, int] | None = None
    """The place that starts the server, if one patches too late: all that it keeps is one cause."""


class Other(NamedTuple):
    """Another import before a patch."""

    module: str
    is_own: bool
    place: tuple[str, int]
    symbol: str
    """The worst of the originals that it keeps."""
    processes: tuple[str, ...] = ()
    """The processes that do so, where others patch at the same place."""


class _PatchPlace(NamedTuple):
    """The place at which a patch is reported."""

    path: str
    row: int
    name: str
    text: str
    server: str


class _Late(NamedTuple):
    """One import before the patch, and the processes in which it comes first."""

    step: StartupEvent
    processes: list[Process]


class LateMonkeyPatch(ProcessRule):
    """A module that must be patched first is imported before monkey patching.

    ## What it does

    Follows the imports of each process that runs on gevent in the order in which Python executes
    them, through packages, side effects of imports and the functions that are called on the way.
    Reports the patch if a module was imported before it that keeps an original: a library
    such as requests, or a module of the project with `from time import sleep`. Also reports
    gunicorn's `preload_app` and uWSGI's `gevent-monkey-patch`, which load the application before
    the server patches, and imports in gunicorn's settings file.

    ## Why it blocks the hub

    `monkey.patch_all()` replaces attributes of modules. A module that imported `time.sleep`,
    `socket.socket` or `ssl.SSLContext` before keeps the original, which waits in C or, as
    requests does with SSLContext, fails with a RecursionError.

    ## Use instead

    `from gevent import monkey; monkey.patch_all()` as the first lines of the file that the process
    starts with, or in a module that this file imports before all others.

    ## Limits

    The catalog lists the libraries that keep an original, as measured; an import that keeps
    nothing, such as `import os` or `import logging`, is not reported. Imports in an `if` whose
    outcome is unknown are ignored.
    """

    name = "late-monkey-patch"
    since = "0.1.0"
    marks = re.compile(rb"import\b")
    fixes = ("patch-first",)

    VALID = {
        "patched first": """
            from gevent import monkey

            monkey.patch_all()

            import requests

            requests.get("https://example.org/")
            """,
        "what comes before keeps nothing": """
            import logging
            import os
            import sys
            import time

            from gevent import monkey

            monkey.patch_all()
            time.sleep(1)
            """,
    }
    INVALID = {
        "requests before the patch": """
            import requests
            from gevent import monkey

            monkey.patch_all()  # expect: late-monkey-patch
            requests.get("https://example.org/")
            """,
        "a patch in main()": """
            import boto3

            def main():
                from gevent import monkey

                monkey.patch_all()  # expect: late-monkey-patch
                boto3.client("s3").list_buckets()

            if __name__ == "__main__":
                main()
            """,
    }

    @classmethod
    def find(cls, service: Service, _paths: Collection[str]) -> Iterable[Remark]:
        """Yield one remark for each late patch."""
        processes = service.processes
        originals = processes.inference.catalog.originals
        found: dict[_PatchPlace, dict[tuple[str, int, str], _Late]] = {}
        for process in processes.all():
            if not process.is_gevent_service:
                continue
            for step, patch in service.order.late(process):
                # `captured-before-patch` reports what the file of the patch itself keeps.
                if step.kind == "made" or (step.kind != "imported" and step.path == patch.path):
                    continue
                if all(originals[one].python_3 for one in step.keeps) and step.keeps:
                    if processes.runs_python_2(process):
                        continue
                place = _place(processes, process, step, patch)
                if step.kind != "imported" and (place.path, place.row) == (step.path, step.row):
                    continue
                late = found.setdefault(place, {})
                key = (step.path, step.row, step.symbol)
                known = late.setdefault(key, _Late(step, []))
                if process not in known.processes:
                    known.processes.append(process)
        for place, steps in found.items():
            yield _remark(processes, place, list(steps.values()))

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the message for one patch: the worst import, its path, and the other imports."""
        facts: Late = remark.facts
        original = facts.original
        path = facts.place[0]
        module = name_of(facts.module) if facts.is_own else facts.module
        where = "" if path == remark.path else f" in {name_of(path)}"
        before = f"`{module}`{'' if facts.is_own else where} is imported before"
        if facts.text:
            message = f"`{facts.text}` comes too late: {before}"
        else:
            message = f"{before} {facts.server} patches"
        message += f" and keeps the original `{original.symbol}`, which {original.why}"
        if facts.more:
            message += f"; {len(facts.more)} more such import{'s' if len(facts.more) > 1 else ''}"
        steps = [*facts.chain, facts.place]
        related = tuple(
            Related(
                name_of(step[0]),
                Location(step[1], 1),
                "this leads to it"
                if number < len(steps) - 1
                else _kept(original.symbol, facts.module, facts.is_own, facts.processes),
            )
            for number, step in enumerate(steps)
        )
        related += tuple(
            Related(
                name_of(other.place[0]),
                Location(other.place[1], 1),
                _kept(other.symbol, other.module, other.is_own, other.processes),
            )
            for other in facts.more
        )
        related += tuple(
            Related(name_of(path), Location(row, 1), f"{facts.server} is started here")
            for path, row in facts.started
        )
        severity = Severity.ERROR if original.level == "error" else Severity.WARNING
        return Wording(
            Severity.NOTE if facts.is_harmless else severity,
            message,
            _HELP.get(facts.server, _FIRST),
            "Monkey patching replaces attributes of modules: a name that was taken before keeps "
            "the original.",
            related,
            symbol=original.symbol,
            cause=cause_of_late_patch(facts.server, name_of(facts.by[0])) if facts.by else "",
            repair=Repair("patch-first", places=((name_of(facts.first[0]), facts.first[1]),))
            if facts.first is not None
            else None,
        )


def _kept(symbol: str, module: str, is_own: bool, processes: tuple[str, ...]) -> str:
    """Return the message for one import before the patch."""
    text = f"`{symbol}` is kept " + ("here" if is_own else f"by `{module}`, imported here")
    return f"{text}, in {' and '.join(processes)}" if processes else text


def _place(
    processes: Processes, process: Process, step: StartupEvent, patch: StartupEvent
) -> _PatchPlace:
    """Return the place to report: the patch, ``preload_app``, else the first import."""
    if patch.path:
        text = patch.patch.text if patch.patch is not None else f"import {patch.symbol}"
        return _PatchPlace(patch.path, patch.row, patch.symbol.rpartition(".")[2], text, "")
    first = step.chain[0] if step.chain else (step.path, step.row)
    for path in process.before if process.preload else ():
        setting = processes.servers.setting(path, "preload_app")
        if setting is not None and first[0] != path:
            return _PatchPlace(path, setting[1], "preload_app", "", process.kind)
    return _PatchPlace(*first, "", "", process.kind)


def _is_harmless(processes: Processes, late: list[_Late], running: list[Process]) -> bool:
    """Return whether what is kept hardly makes a greenlet of the service wait.

    Only a package keeps it that waits in it while a server is away, or the only process that
    imports it too early is a script's own main guard, beside a server that does not.

    Args:
        processes: The processes of the project.
        late: The imports before one patch.
        running: The processes in which they come first.
    """
    imports = processes.inference.catalog.imports
    if all(one.step.kind == "imported" and imports[one.step.symbol].seldom for one in late):
        return True
    return all(process.is_casual for process in running) and any(
        process.is_known_server and process.is_gevent_service for process in processes.all()
    )


def _remark(processes: Processes, place: _PatchPlace, late: list[_Late]) -> Remark:
    originals = processes.inference.catalog.originals
    everyone = list(dict.fromkeys(process for one in late for process in one.processes))

    def badness(one: _Late) -> tuple[bool, bool]:
        return (
            all(originals[symbol].level != "error" for symbol in one.step.keeps),
            one.step.kind != "imported",
        )

    def kept(one: _Late) -> Original:
        """Return the worst of the originals that an import keeps."""
        return min((originals[s] for s in one.step.keeps), key=lambda o: o.level != "error")

    def names(one: _Late) -> tuple[str, ...]:
        if len(one.processes) == len(everyone):
            return ()
        return tuple(dict.fromkeys(process.name for process in one.processes))

    worst = min(late, key=badness)
    step = worst.step
    facts = Late(
        place.text,
        place.server,
        step.symbol if step.kind == "imported" else step.path,
        step.kind != "imported",
        (step.path, step.row),
        kept(worst),
        step.chain,
        names(worst),
        tuple(
            Other(
                one.step.symbol if one.step.kind == "imported" else one.step.path,
                one.step.kind != "imported",
                (one.step.path, one.step.row),
                kept(one).symbol,
                names(one),
            )
            for one in late
            if one is not worst
        ),
        tuple(dict.fromkeys(process.started for process in everyone if process.started is not None))
        if place.server and place.name != "preload_app"
        else (),
        (place.path, place.row)
        if place.text and all(one.step.happens_in(place.path, place.row) for one in late)
        else None,
        _is_harmless(processes, late, everyone),
        everyone[0].started if place.server else None,
    )
    span, statement = pointed_at(processes.modules, place.path, place.row, place.name)
    return Remark(place.path, span, facts, statement)
