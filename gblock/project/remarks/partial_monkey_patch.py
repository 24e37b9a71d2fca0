"""Processes on gevent whose patches, all together, leave something that blocks."""

from __future__ import annotations

import re

from gblock.project.remarks import Remark, pointed_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import NamedTuple

    from gblock.project.patching import Patch
    from gblock.project.processes import Process, Processes
else:
    from gblock.diagnostics import NamedTuple

MARKS = re.compile(rb"(?:gevent|monkey|patch_all)\b")
SCATTERED = False
IN_PROCESSES = True

_HARMLESS = frozenset({"os", "queue", "signal"})
"""What may be left as it is: ``queue.Queue`` waits on what ``threading`` gives, and of ``os``
and ``signal`` it matters only for children that are not started through ``subprocess``."""


class Partial(NamedTuple):
    """The facts of one patch that is not all."""

    text: str
    missing: tuple[str, ...]
    """What stays blocking in a process with this patch."""
    others: tuple[tuple[str, int, str], ...]
    """The other patches of the process: file, row and text."""


def find(processes: Processes, _paths: Collection[str]) -> Iterable[Remark]:
    """One remark a process, at the first of its patches, but one a patch."""
    found: dict[Patch, tuple[set[str], set[Patch]]] = {}
    for process in processes.all():
        if not process.is_gevent_service or process.by_server:
            continue
        missing = set(process.missing) - _HARMLESS
        if not missing or not process.patches:
            continue
        patch = _first(processes, process)
        known = found.setdefault(patch, (set(), set()))
        known[0].update(missing)
        known[1].update(  # a loop over patch functions is several at one place
            one for one in process.patches if (one.path, one.row) != (patch.path, patch.row)
        )
    for patch, (names, others) in found.items():
        facts = Partial(
            patch.text,
            tuple(sorted(names)),
            tuple(sorted((other.path, other.row, other.text) for other in others)),
        )
        span, statement = pointed_at(
            processes.modules, patch.path, patch.row, patch.symbol.rpartition(".")[2]
        )
        yield Remark(patch.path, span, facts, statement)


def _first(processes: Processes, process: Process) -> Patch:
    """The patch that a process executes first."""
    for steps in processes.order.of(process):
        for step in steps:
            if step.patch is not None:
                return step.patch
    return process.patches[0]
