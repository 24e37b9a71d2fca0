"""gevent's monitor thread, in which the probe samples a hub."""

from __future__ import annotations

import greenlet
from gevent import _monitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Monitor:
    """The monitor thread of one hub, with the sampler beside the host's monitoring functions.

    The host does not see the sampler where it lists or counts the functions of the thread: gevent's
    methods include it only when the thread itself calls them.

    Args:
        thread: gevent's `PeriodicMonitoringThread`.
        look: Takes a sample; called with the hub.
        period: Seconds between two samples.
    """

    def __init__(self, thread: Any, look: Callable[[Any], None], period: float) -> None:
        self.thread = thread
        self.is_open = True
        """False while no samples are taken."""
        self._look = look
        self._entry = _monitor._MonitorEntry(self._sample, period)  # noqa: SLF001 - no public way
        self._functions = thread.monitoring_functions
        self._sleep_time = thread.calculate_sleep_time
        thread.monitoring_functions = self._all_functions
        thread.calculate_sleep_time = self._shortest_sleep

    def at_pace(self, period: float) -> None:
        """Set the seconds between two samples."""
        self._entry.period = period

    def leave(self) -> None:
        """Sample no more; callable from any thread."""
        self._entry.period = None
        for name in ("monitoring_functions", "calculate_sleep_time"):
            vars(self.thread).pop(name, None)

    def quieten(self) -> None:
        """Remove gevent's own check of the hub, and its hook if no other hook is on top."""
        # The host may look at the entry, so it stays and does nothing.
        self._own_check.function = _nothing
        tracer = self.thread._greenlet_tracer  # noqa: SLF001
        if greenlet.gettrace() is tracer:
            tracer.kill()

    def give_back(self) -> None:
        """Undo `quieten`; runs in the hub's thread."""
        if self._is_quiet:
            self.thread._greenlet_tracer = _monitor.GreenletTracer()  # noqa: SLF001
            self._own_check.function = self.thread.monitor_blocking

    def _sample(self, hub: Any) -> None:
        if self.is_open:
            self._look(hub)

    @property
    def _own_check(self) -> Any:
        return self.thread._monitoring_functions[0]  # noqa: SLF001

    @property
    def _is_quiet(self) -> bool:
        return self._own_check.function is _nothing

    def _all_functions(self) -> list[Any]:
        if _monitor.get_thread_ident() == self.thread.monitor_thread_ident:
            return [*self._others(), self._entry]
        return self._others()

    def _others(self) -> list[Any]:
        """Return the functions beside the sampler."""
        # Unlike this list, gevent's method depends on the setting for the check that is not made.
        found: list[Any] = (
            self.thread._monitoring_functions if self._is_quiet else self._functions()  # noqa: SLF001
        )
        return found

    def _shortest_sleep(self) -> float:
        own = self._entry.period
        if not self._is_quiet:
            seconds: float = self._sleep_time()
        else:
            others = [one.period for one in self._others()[1:]]
            seconds = min(others, default=self.thread.inactive_sleep_time)
        return seconds if own is None else max(min(seconds, own), self.thread.min_sleep_time)


def _nothing(hub: object) -> None:
    """Replace gevent's own check of the hub."""
