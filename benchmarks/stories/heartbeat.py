"""Measure the delay of a greenlet that runs every few milliseconds."""

from __future__ import annotations

import time

import gevent

INTERVAL = 0.01


class Heartbeat:
    """A greenlet that notes its lateness, in seconds."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self._greenlet = gevent.spawn(self._beat)

    def _beat(self) -> None:
        while True:
            due = time.perf_counter() + INTERVAL
            gevent.sleep(INTERVAL)
            self.late.append(max(0.0, time.perf_counter() - due))

    def figures(self) -> dict[str, float]:
        """The median, the 95th percentile and the worst lateness."""
        ordered = sorted(self.late)
        if not ordered:
            return {"median": 0.0, "p95": 0.0, "max": 0.0}
        return {
            "median": ordered[len(ordered) // 2],
            "p95": ordered[int(len(ordered) * 0.95)],
            "max": ordered[-1],
        }
