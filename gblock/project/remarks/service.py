"""The project as the rules about processes see it."""

from __future__ import annotations

from functools import cached_property

from gblock.project.remarks.order import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.project.calls.unpatched import Unpatched
    from gblock.project.processes.processes import Processes
    from gblock.project.reading.modules import Modules


class Service:
    """The processes of a project, what each executes at start-up, and the unpatched calls.

    Args:
        processes: The processes of the project.
        unpatched: Finds the calls that block only without gevent's patch; None where no rule
            that runs asks for them.
    """

    def __init__(self, processes: Processes, unpatched: Unpatched | None = None) -> None:
        self.processes = processes
        self.unpatched = unpatched

    @property
    def modules(self) -> Modules:
        """The project's files."""
        return self.processes.modules

    @cached_property
    def order(self) -> Order:
        """The order in which processes import and patch."""
        return Order(self.processes)
