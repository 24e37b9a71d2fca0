"""Export blocked seconds as metrics of the host: Prometheus or OpenTelemetry, off by default.

A sink is called with each record as it is written, in the probe's native thread. Metrics libraries
take locks, and under monkey patching a lock may be gevent's, which a native thread must not wait
for. So a sink only queues the record, and the host's own scrape or export, which runs on the hub or
in a thread of its own, processes the queue.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gblock.errors import UserError
from gblock.extras import remedy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opentelemetry.metrics import Meter
    from prometheus_client import CollectorRegistry

BUCKETS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds."""
SITES = 32
"""The number of call sites with labels of their own; the rest is ``other``."""
LAGS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""Seconds: the bounds of the histogram of lags, as in the probe's heartbeats."""
_NOTED = 10_000
"""The length of the queue; without a scrape, the oldest records are dropped."""
_BLAMELESS = ("thread", "starved")
_OTHER = "other"


def from_environment() -> Callable[[Mapping[str, Any]], None] | None:
    """Return the sink that ``GBLOCK_PROBE_METRICS`` names, or None if it is unset.

    Raises:
        UserError: for another value, or if its library is not installed.
    """
    name = os.environ.get("GBLOCK_PROBE_METRICS", "").strip().lower()
    if name in ("", "0", "off"):
        return None
    kinds = {"prometheus": Prometheus, "opentelemetry": OpenTelemetry}
    if name not in kinds:
        raise UserError("GBLOCK_PROBE_METRICS", f"{name} is neither {' nor '.join(kinds)}")
    try:
        sink: Callable[[Mapping[str, Any]], None] = kinds[name]()
    except ImportError as error:
        raise UserError("GBLOCK_PROBE_METRICS", remedy(error.name) or str(error)) from None
    return sink


class _Sink:
    """Queue records without a lock; the sites' records give the names for the blocks."""

    def __init__(self, sites: int) -> None:
        self._noted: deque[Mapping[str, Any]] = deque(maxlen=_NOTED)
        self._most = sites
        self._names: dict[int, str] = {}
        self._known: set[str] = set()

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Queue a record; never raises."""
        kind = record.get("type")
        if kind == "site":
            # Names are needed before the blocks that refer to them: they are made at once.
            self._name(record)
        elif kind in ("block", "heartbeat"):
            self._noted.append(record)

    def _name(self, record: Mapping[str, Any]) -> None:
        name = _label(record)
        if name not in self._known and len(self._known) >= self._most:
            name = _OTHER
        self._known.add(name)
        site = record.get("site")
        # Further sites need no name: they are counted as other.
        if isinstance(site, int) and (name != _OTHER or len(self._names) < 16 * self._most):
            self._names[site] = name

    def _taken(self) -> Iterator[Mapping[str, Any]]:
        # Only the present records: a probe that writes faster must not keep a scrape waiting.
        for _ in range(len(self._noted)):
            with suppress(IndexError):  # another scrape was faster
                yield self._noted.popleft()

    def _labels(self, record: Mapping[str, Any]) -> tuple[str, str, float] | None:
        """Return the site, the class and the seconds of a block; None for other records."""
        seconds = record.get("duration")
        kind = str(record.get("class") or "unknown")
        if not isinstance(seconds, int | float) or seconds < 0:
            return None
        if kind in _BLAMELESS:
            return ("none", kind, seconds)
        site = record.get("site")
        name = self._names.get(site) if isinstance(site, int) else None
        return (name or _OTHER, kind, seconds)


def _label(site: Mapping[str, Any]) -> str:
    """Return a name without path and line: module, function and call."""
    user = site.get("user")
    called = site.get("symbol") or site.get("callable")
    if not isinstance(user, dict):
        return str(called or "?")
    module = user.get("module")
    if not module or module == "__main__":
        module = os.path.splitext(os.path.basename(str(user.get("file"))))[0]
    place = f"{module}.{user.get('function')}"
    return f"{place} {called}" if called else place


class _Hub:
    """The load of this process's hubs, from the samples that their heartbeats count."""

    def __init__(self) -> None:
        self._last: dict[object, tuple[int, int]] = {}
        self.ratio: float | None = None
        """The share of samples with a busy hub, between the last two heartbeats."""
        self._lags: dict[object, list[int]] = {}

    def take(self, beat: Mapping[str, Any]) -> None:
        """Process a heartbeat; one of an older probe has no such counts."""
        hub, samples, busy = beat.get("hub"), beat.get("samples"), beat.get("busy")
        if isinstance(samples, int) and isinstance(busy, int):
            before, at_work = self._last.get(hub, (0, 0))
            if samples < before:
                before, at_work = 0, 0  # another process, after a fork
            if samples > before:
                self.ratio = (busy - at_work) / (samples - before)
            self._last[hub] = samples, busy
        lags = beat.get("lags")
        if isinstance(lags, list) and len(lags) == len(LAGS) + 1:
            self._lags[hub] = lags

    @property
    def lags(self) -> list[int]:
        """Samples by the hub's lag, of all hubs; see `LAGS`."""
        return [sum(column) for column in zip(*self._lags.values(), strict=True)]


class Prometheus(_Sink):
    """Counters and a histogram for prometheus_client.

    With ``PROMETHEUS_MULTIPROC_DIR`` the scrape runs in another process, so records are counted at
    once.

    Args:
        registry: The registry; None for the library's own.
        sites: The number of call sites with labels of their own.

    Raises:
        ImportError: if prometheus_client is not installed.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, sites: int = SITES) -> None:
        import prometheus_client

        super().__init__(sites)
        registry = prometheus_client.REGISTRY if registry is None else registry
        # Registered first: it counts the queued records before the counters are read.
        registry.register(_Draining(self))
        self._blocks = prometheus_client.Counter(
            "gblock_blocks",
            "Times that the gevent hub was blocked.",
            ("site", "class"),
            registry=registry,
        )
        self._seconds = prometheus_client.Histogram(
            "gblock_blocked_seconds",
            "Seconds for which the gevent hub was blocked, once for each block.",
            ("site",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._by_class = prometheus_client.Counter(
            "gblock_site_blocked_seconds",
            "Seconds for which the gevent hub was blocked, by call site and class.",
            ("site", "class"),
            registry=registry,
        )
        self._busy = prometheus_client.Gauge(
            "gblock_hub_busy_ratio",
            "The share of time for which the hub ran greenlets instead of waiting for events.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self.hub = _Hub()
        self._alive = prometheus_client.Gauge(
            "gblock_probe_heartbeat_timestamp_seconds",
            "Time of the probe's last heartbeat; an absence of blocks means nothing without it.",
            registry=registry,
            multiprocess_mode="max",
        )
        self._at_once = bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Queue a record; never raises."""
        super().__call__(record)
        if self._at_once:
            self.drain()

    def drain(self) -> None:
        """Count the queued records."""
        for record in self._taken():
            if record.get("type") == "heartbeat":
                if isinstance(record.get("t"), int | float):
                    self._alive.set(record["t"])
                self.hub.take(record)
                if self.hub.ratio is not None:
                    self._busy.set(self.hub.ratio)
            elif labels := self._labels(record):
                site, kind, seconds = labels
                self._blocks.labels(site, kind).inc()
                self._seconds.labels(site).observe(seconds)
                self._by_class.labels(site, kind).inc(seconds)


class _Draining:
    """A collector of the hub's lag; it is called before the metrics registered after it."""

    def __init__(self, sink: Prometheus) -> None:
        self._sink = sink

    def describe(self) -> Iterable[Any]:
        """Return no metrics."""
        return ()

    def collect(self) -> Iterable[Any]:
        """Count the queued records, and return the hub's lag if a heartbeat has counted it."""
        from prometheus_client.core import HistogramMetricFamily

        self._sink.drain()
        lags = self._sink.hub.lags
        if not lags:
            return ()
        bounds = [*map(str, LAGS), "+Inf"]
        family = HistogramMetricFamily(
            "gblock_hub_lag_seconds", "The duration of the hub's current iteration, sampled."
        )
        family.add_metric([], list(zip(bounds, accumulate(lags), strict=True)), sum_value=None)
        return (family,)


class OpenTelemetry(_Sink):
    """Counters and a histogram for OpenTelemetry's API.

    Args:
        meter: The meter; None for that of the host's provider.
        sites: The number of call sites with attributes of their own.

    Raises:
        ImportError: if opentelemetry-api is not installed.
    """

    def __init__(self, meter: Meter | None = None, *, sites: int = SITES) -> None:
        from opentelemetry import metrics

        super().__init__(sites)
        self._observation = metrics.Observation
        meter = metrics.get_meter("gblock") if meter is None else meter
        self._blocks = meter.create_counter(
            "gblock.blocks", "{block}", "Times that the gevent hub was blocked."
        )
        self._total = meter.create_counter(
            "gblock.blocked.time", "s", "Seconds for which the gevent hub was blocked."
        )
        self._seconds = meter.create_histogram(
            "gblock.block.duration", "s", "Seconds of each block of the gevent hub."
        )
        self._alive = 0.0
        self._hub = _Hub()
        meter.create_observable_gauge(
            "gblock.hub.busy_ratio",
            [self._ratio],
            "1",
            "The share of time for which the hub ran greenlets instead of waiting for events.",
        )
        # Its callback runs at each export, which is the time to count the queued records.
        meter.create_observable_gauge(
            "gblock.probe.heartbeat",
            [self._export],
            "s",
            "Time of the probe's last heartbeat, in epoch seconds.",
        )

    def drain(self) -> None:
        """Count the queued records."""
        for record in self._taken():
            if record.get("type") == "heartbeat":
                if isinstance(record.get("t"), int | float):
                    self._alive = float(record["t"])
                self._hub.take(record)
            elif labels := self._labels(record):
                site, kind, seconds = labels
                attributes = {"gblock.site": site, "gblock.class": kind}
                self._blocks.add(1, attributes)
                self._total.add(seconds, attributes)
                self._seconds.record(seconds, {"gblock.site": site})

    def _ratio(self, _options: object) -> list[Any]:
        self.drain()
        return [] if self._hub.ratio is None else [self._observation(self._hub.ratio)]

    def _export(self, _options: object) -> list[Any]:
        self.drain()
        return [self._observation(self._alive)] if self._alive else []
