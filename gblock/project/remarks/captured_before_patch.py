"""Names and objects of the standard library that a module takes before they are patched."""

from __future__ import annotations

import re

from gblock.project.remarks import Remark, pointed_at
from gblock.project.remarks.late_monkey_patch import started

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


class Captured(NamedTuple):
    """The facts of one name or object."""

    name: str
    original: Original
    is_object: bool
    """Whether it was made, and not only named."""
    patch: tuple[str, int] | None
    """Where the patch stands; None where a server patches."""
    text: str
    """How the patch is written, or the kind of the server."""
    started: tuple[str, int] | None
    """Where a server that patches is started."""


def find(processes: Processes, _paths: Collection[str]) -> Iterable[Remark]:
    """One remark a name."""
    found: dict[tuple[str, int, str], tuple[Step, Step, Process]] = {}
    for process in processes.all():
        if not process.is_gevent_service:
            continue
        for step, patch in processes.order.late(process):
            if step.kind != "imported":
                key = (step.path, step.row, step.symbol)
                found.setdefault(key, (step, patch, process))
    originals = processes.inference.catalog.originals
    for step, patch, process in found.values():
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
            started(process) if server else None,
        )
        span, statement = pointed_at(processes.modules, step.path, step.row, step.name)
        yield Remark(step.path, span, facts, statement)
