"""Patches that come after the import of what they should have replaced."""

from __future__ import annotations

import re

from gblock.project.remarks import Remark, pointed_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import NamedTuple

    from gblock.catalog import Original
    from gblock.project.order import Step
    from gblock.project.processes import Process, Processes
else:
    from gblock.diagnostics import NamedTuple

MARKS = re.compile(rb"import\b")
SCATTERED = False
IN_PROCESSES = True


class Late(NamedTuple):
    """The facts of one patch that comes too late."""

    text: str
    """What patches, as written; empty where the server does it."""
    server: str
    """The kind of server that patches, else empty."""
    module: str
    """The worst of what is imported before."""
    is_own: bool
    """Whether it is a module of the project."""
    place: tuple[str, int]
    """The file and the row of the import, or of what keeps the original."""
    original: Original
    """The worst of what it keeps."""
    more: int
    """How many more such imports there are."""
    chain: tuple[tuple[str, int], ...]
    """The imports and calls that lead to it, the first one first."""
    started: tuple[str, int] | None = None
    """Where the server is started, where nothing else tells of it."""


class _Place(NamedTuple):
    """Where a patch is reported."""

    path: str
    row: int
    name: str
    text: str
    server: str
    started: tuple[str, int] | None = None
    """Where the server is started."""


def started(process: Process) -> tuple[str, int] | None:
    """Where the first evidence of a process stands."""
    return process.evidence[0][:2] if process.evidence else None


def find(processes: Processes, _paths: Collection[str]) -> Iterable[Remark]:
    """One remark a patch."""
    found: dict[_Place, dict[tuple[str, int, str], Step]] = {}
    for process in processes.all():
        if not process.is_gevent_service:
            continue
        for step, patch in processes.order.late(process):
            # What the file of the patch itself keeps is reported where it is kept.
            if step.kind == "made" or (step.kind != "imported" and step.path == patch.path):
                continue
            place = _place(processes, process, step, patch)
            if step.kind != "imported" and place[:2] == (step.path, step.row):
                continue
            found.setdefault(place, {}).setdefault((step.path, step.row, step.symbol), step)
    for place, steps in found.items():
        yield _remark(processes, place, list(steps.values()))


def _place(processes: Processes, process: Process, step: Step, patch: Step) -> _Place:
    """Where it is reported: at the patch, at ``preload_app``, else at the first import."""
    if patch.path:
        text = patch.patch.text if patch.patch is not None else f"import {patch.symbol}"
        return _Place(patch.path, patch.row, patch.symbol.rpartition(".")[2], text, "")
    first = step.chain[0] if step.chain else (step.path, step.row)
    for path in process.before if process.preload else ():
        setting = processes.servers.setting(path, "preload_app")
        if setting is not None and first[0] != path:
            return _Place(path, setting[1], "preload_app", "", process.kind)
    return _Place(*first, "", "", process.kind, started(process))


def _remark(processes: Processes, place: _Place, steps: list[Step]) -> Remark:
    originals = processes.inference.catalog.originals

    def badness(step: Step) -> tuple[bool, bool]:
        return (
            all(originals[symbol].level != "error" for symbol in step.keeps),
            step.kind != "imported",
        )

    worst = min(steps, key=badness)
    kept = min((originals[symbol] for symbol in worst.keeps), key=lambda one: one.level != "error")
    facts = Late(
        place.text,
        place.server,
        worst.symbol if worst.kind == "imported" else worst.path,
        worst.kind != "imported",
        (worst.path, worst.row),
        kept,
        len(steps) - 1,
        worst.chain,
        place.started,
    )
    span, statement = pointed_at(processes.modules, place.path, place.row, place.name)
    return Remark(place.path, span, facts, statement)
