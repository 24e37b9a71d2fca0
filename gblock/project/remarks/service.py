"""The project as the rules about processes see it."""

from __future__ import annotations

from functools import cached_property

from gblock.project.remarks.order import Order
from gblock.project.remarks.uses import Uses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.calls.queries import Queries
    from gblock.project.calls.unpatched import Unpatched
    from gblock.project.processes.patching import Patch
    from gblock.project.processes.process import Process
    from gblock.project.processes.processes import Processes
    from gblock.project.reading.modules import Modules


class Service:
    """The processes of a project, their start-up order, and their unpatched calls.

    Args:
        processes: The processes of the project.
        unpatched: Finds the calls that block only without gevent's patch.
        queries: Finds the calls that send statements to a database.
    """

    def __init__(
        self,
        processes: Processes,
        unpatched: Unpatched,
        queries: Queries,
    ) -> None:
        self.processes = processes
        self.unpatched = unpatched
        self.queries = queries

    @property
    def modules(self) -> Modules:
        """The project's files."""
        return self.processes.modules

    def first_patch(self, process: Process) -> Patch | None:
        """Return the patch that a process executes first, None if it never patches."""
        for steps in self.order.of(process):
            for step in steps:
                if step.patch is not None:
                    return step.patch
        return process.patches[0] if process.patches else None

    def patching(self, process: Process) -> tuple[str, int]:
        """Return the place at which one change completes a process's patching.

        Returns:
            The path and the row of its first patch; without one, the path of its entry file.
        """
        patch = self.first_patch(process)
        if patch is not None:
            return patch.path, patch.row
        return (process.entries[0] if process.entries else process.name), 1

    @cached_property
    def order(self) -> Order:
        """The order in which processes import and patch."""
        return Order(self.processes)

    @cached_property
    def uses(self) -> Uses:
        """The calls through names that keep originals."""
        return Uses(self.processes.inference, self.unpatched)
