"""Pass each block on to the host's logging, tracing or error reports, off by default.

The probe calls a sink in its native thread, which must not wait for a lock of the host: under
monkey patching that lock may be gevent's. So a sink queues the block, and a greenlet of the hub
passes it on, after the block.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from gblock.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_QUEUED = 1000
"""The length of the queue; if the hub does not run, the oldest blocks are dropped."""
_SITES = 2000
_BASE = "_gblock_base"
"""The attribute of a span for the identity of its greenlet's outermost frame."""
_ENDED = 500
"""The number of ended spans that are remembered: a block is known after its greenlet went on."""
_RETRY = 0.2
"""Seconds between two looks for a tracer provider, until there is one."""
_BASES = 10_000
"""The number of greenlets whose spans are known."""


class Event(NamedTuple):
    """One block with its call site."""

    fields: dict[str, Any]
    """Names and values, none of them nested."""
    start: float
    """Epoch seconds."""
    seconds: float
    span: Any = None
    """The span that the block hit, if spans are followed."""

    @property
    def message(self) -> str:
        """One line of text."""
        called = self.fields.get("symbol") or "a call"
        place = f" at {self.fields['site']}" if self.fields.get("site") else ""
        kind = self.fields["class"]
        return f"the hub was blocked for {self.seconds:.3f} s ({kind}): {called}{place}"


class Events:
    """A sink for the probe's records.

    Args:
        outlets: Called with each event, in a greenlet.
        wake: Called with a function to run in a greenlet of the hub; callable from any thread.
    """

    def __init__(
        self,
        outlets: list[Callable[[Event], None]],
        wake: Callable[[Callable[[], None]], None],
    ) -> None:
        self._outlets = outlets
        self._wake = wake
        self._queue: deque[Event] = deque(maxlen=_QUEUED)
        self._sites: dict[int, Mapping[str, Any]] = {}
        self.spans: Spans | None = None
        """Follows the host's spans, if they are wanted."""
        self._timer: Any = None

    def begin(self, hub: Any) -> None:
        """Follow the host's spans as soon as it has a tracer provider.

        Args:
            hub: A hub that begins to run, in its thread.
        """
        if self.spans is not None and not self.spans.join() and self._timer is None:
            self._timer = hub.loop.timer(_RETRY, _RETRY, ref=False)
            self._timer.start(self._retry)

    def _retry(self) -> None:
        assert self.spans is not None
        assert self._timer is not None
        if self.spans.join():
            self._timer.stop()

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Queue a block; called in the probe's thread."""
        kind = record.get("type")
        if kind == "site" and len(self._sites) < _SITES:
            self._sites[record["site"]] = record
        if kind != "block" or record.get("limited"):
            return  # above the limit of records: a storm must not flood what receives events
        site = self._sites.get(record.get("site") or 0, {})
        span = None
        if self.spans is not None:
            span = self.spans.of(record.get("base"), record["t"], record["duration"])
        self._queue.append(_event(record, site, span))
        self._wake(self.drain)

    def drain(self) -> None:
        """Pass the queued blocks on; an outlet that fails is removed with one line on stderr."""
        if self.spans is not None:
            self.spans.join()
        for _ in range(len(self._queue)):
            try:
                event = self._queue.popleft()
            except IndexError:
                return
            for outlet in list(self._outlets):
                try:
                    outlet(event)
                except Exception as error:  # noqa: BLE001 - the host goes on without it
                    self._outlets.remove(outlet)
                    text = f"gblock: events are no longer sent: {error!r:.200}\n"
                    os.write(2, text.encode("ascii", "backslashreplace"))


def _event(record: Mapping[str, Any], site: Mapping[str, Any], span: Any) -> Event:
    user = site.get("user") or {}
    fields = {
        "duration": record["duration"],
        "class": record["class"],
        "confidence": record.get("confidence"),
        "symbol": site.get("symbol") or site.get("callable"),
        "site": f"{user['file']}:{user['line']} in {user['function']}" if user else None,
        "candidates": ", ".join(record.get("candidates", ())) or None,
        "greenlet": record.get("greenlet"),
        "route": record.get("route"),
        "start": record["t"],
    }
    kept = {name: value for name, value in fields.items() if value is not None}
    return Event(kept, record["t"], record["duration"], span)


def to_logging(event: Event) -> None:
    """Log one line of JSON at level WARNING; `record.gblock` has the same values."""
    import logging

    # The message of a line is an argument: it may hold a percent sign.
    text = json.dumps({"message": event.message, **event.fields})
    logging.getLogger("gblock").warning("%s", text, extra={"gblock": event.fields})


def to_sentry(event: Event) -> None:
    """Add a breadcrumb to all later events of this process, if the host uses sentry_sdk 2."""
    sdk: Any = sys.modules.get("sentry_sdk")
    if sdk is not None:
        sdk.get_global_scope().add_breadcrumb(
            category="gblock",
            level="warning",
            message=event.message,
            data=event.fields,
        )


class Spans:
    """The open spans of each greenlet, by the identity of its outermost frame.

    A span processor of OpenTelemetry's SDK: the probe sees the frames of the greenlet that blocks,
    and not its context.
    """

    def __init__(self) -> None:
        """Create it without importing OpenTelemetry."""
        self._open: dict[int, list[Any]] = {}
        self._ended: deque[tuple[int, Any]] = deque(maxlen=_ENDED)
        self._joined: Any = None

    def join(self) -> bool:
        """Register with the host's tracer provider; return True if it has one."""
        trace: Any = sys.modules.get("opentelemetry.trace")
        provider: Any = trace.get_tracer_provider() if trace is not None else None
        if provider is not self._joined and hasattr(provider, "add_span_processor"):
            self._joined = provider
            provider.add_span_processor(self)
        return self._joined is not None

    def of(self, base: object, start: float, seconds: float) -> Any:
        """Return the innermost span of a greenlet that was open for half of a block.

        Args:
            base: The identity of the greenlet's outermost frame.
            start: The start of the block, in epoch seconds.
            seconds: Its duration.
        """
        found = list(self._open.get(base, ())) if isinstance(base, int) else []
        found += [span for of, span in list(self._ended) if of == base]
        begin, end = start * 1e9, (start + seconds) * 1e9
        hit = [
            span
            for span in found
            if min(span.end_time or end, end) - max(span.start_time, begin) >= (end - begin) / 2
        ]
        return max(hit, key=lambda span: span.start_time, default=None)

    def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002
        """Note a span; called in its greenlet."""
        if len(self._open) >= _BASES:
            self._open.clear()
        base = _base()
        setattr(span, _BASE, base)
        self._open.setdefault(base, []).append(span)

    def _on_ending(self, span: Any) -> None:
        """Do nothing; newer SDKs call it."""

    def on_end(self, span: Any) -> None:
        """Forget a span, which may end in another greenlet."""
        base = getattr(span, _BASE, None)
        if base is None:
            return  # it began before this processor was registered
        self._ended.append((base, span))
        context = span.get_span_context()
        left = [each for each in self._open.get(base, ()) if each.get_span_context() != context]
        if left:
            self._open[base] = left
        else:
            self._open.pop(base, None)

    def shutdown(self) -> None:
        """Do nothing; the interface asks for it."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002
        """Return True: nothing is kept back."""
        return True

    def send(self, event: Event) -> None:
        """Add an event to the span that was hit; if it has ended, a span with a link to it."""
        from opentelemetry import trace

        attributes = {f"gblock.{name}": value for name, value in event.fields.items()}
        start = int(event.start * 1e9)
        if event.span is not None and event.span.is_recording():
            event.span.add_event("gblock.block", attributes, timestamp=start)
            return
        links = [trace.Link(event.span.get_span_context())] if event.span is not None else []
        tracer = trace.get_tracer("gblock")
        span = tracer.start_span(
            "gblock.block", links=links, attributes=attributes, start_time=start
        )
        span.end(end_time=start + int(event.seconds * 1e9))


def _base() -> int:
    frame = sys._getframe()  # noqa: SLF001 - there is no other way to a frame
    while frame.f_back is not None:
        frame = frame.f_back
    return id(frame)


def from_environment(wake: Callable[[Callable[[], None]], None]) -> Events | None:
    """Return the sink that ``GBLOCK_PROBE_EVENTS`` names, or None if it is unset.

    Args:
        wake: See `Events`.

    Raises:
        UserError: for another value.
    """
    names = os.environ.get("GBLOCK_PROBE_EVENTS", "").strip().lower()
    if names in ("", "0", "off"):
        return None
    events = Events([], wake)
    for name in names.replace(" ", "").split(","):
        if name == "logging":
            events._outlets.append(to_logging)  # noqa: SLF001
        elif name == "sentry":
            events._outlets.append(to_sentry)  # noqa: SLF001
        elif name == "opentelemetry":
            events.spans = Spans()
            events._outlets.append(events.spans.send)  # noqa: SLF001
        else:
            known = "logging, sentry, opentelemetry"
            raise UserError("GBLOCK_PROBE_EVENTS", f"{name} is none of {known}")
    return events
