"""Each block as an event of the host: a line of its log, an event of a span, a breadcrumb."""

from __future__ import annotations

import json
import subprocess
import sys
import types

import pytest
from probed import SETTLE, Probed, environment
from probing import POLL, T, block

from gblock import events
from gblock.errors import UserError

HEAD = """
from gevent import monkey; monkey.patch_all()
import gevent, json, sys
from gevent.monkey import get_original

def block():
    get_original("time", "sleep")(0.3)
"""
LOGGING = """
import logging
class Lines(logging.Handler):
    def emit(self, record):
        print(json.dumps([record.getMessage(), record.levelname, record.gblock]))
logging.getLogger().addHandler(Lines())
settle(0.2)
gevent.spawn(block).get()
settle(0.3)
"""
SENTRY = """
import sentry_sdk
kept = []
class Transport(sentry_sdk.transport.Transport):
    def capture_envelope(self, envelope):
        kept.extend(item.payload.json for item in envelope.items if item.type == "event")
sentry_sdk.init(dsn="http://a@localhost/1", transport=Transport, default_integrations=False)
settle(0.2)
gevent.spawn(block).get()
settle(0.3)
def request():
    with sentry_sdk.isolation_scope():
        sentry_sdk.capture_message("slow")
gevent.spawn(request).get()
print(json.dumps(kept[0]["breadcrumbs"]["values"]))
"""
TRACES = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("shop")
def innocent():
    with tracer.start_as_current_span("innocent"):
        gevent.sleep(1)
def goes_on():
    with tracer.start_as_current_span("goes on"):
        with tracer.start_as_current_span("before"):
            gevent.sleep(0)
        block()
        settle(0.4)
def ends():
    with tracer.start_as_current_span("ends"):
        block()
settle(0.2)
other = gevent.spawn(innocent)
gevent.sleep(0.1)
gevent.spawn(goes_on).get()
settle(0.2)
gevent.spawn(ends).get()
other.get()
settle(0.3)
spans = {format(s.context.span_id, "x"): s for s in exporter.get_finished_spans()}
for span in spans.values():
    links = [spans[format(link.context.span_id, "x")].name for link in span.links]
    events = [[e.name, dict(e.attributes)] for e in span.events]
    print(json.dumps([span.name, events, links, span.end_time - span.start_time]))
"""


def run(tmp_path, program, **settings):
    path = tmp_path / "service.py"
    path.write_text(HEAD + SETTLE + program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", path],
        env=environment(tmp_path / "r", **settings),
        capture_output=True,
        text=True,
    )
    assert (0, "") == (done.returncode, done.stderr)
    seen = Probed(tmp_path / "r")
    assert not [each for each in seen.records("block") if "base" in each]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.live
class TestProcess:
    def test_logging(self, tmp_path):
        lines = run(tmp_path, LOGGING, GBLOCK_PROBE_EVENTS="logging")
        (line,) = [line for line in lines if "service.py:7 in block" in line[0]]
        text, level, fields = line

        assert "WARNING" == level
        assert {**fields, "message": json.loads(text)["message"]} == json.loads(text)
        assert "the hub was blocked for 0." in json.loads(text)["message"]
        assert 0.28 <= fields["duration"]

    def test_it_is_off_unless_asked_for(self, tmp_path):
        assert [] == run(tmp_path, LOGGING)

    def test_a_breadcrumb_of_every_later_event(self, tmp_path):
        pytest.importorskip("sentry_sdk")
        (crumbs,) = run(tmp_path, SENTRY, GBLOCK_PROBE_EVENTS="sentry")
        (found,) = [each for each in crumbs if "service.py:7 in block" in each["message"]]

        assert "gblock" == found["category"]
        assert 0.28 <= found["data"]["duration"]

    def test_an_event_of_the_span_that_was_hit_or_a_link_to_it(self, tmp_path):
        pytest.importorskip("opentelemetry.sdk")
        lines = run(tmp_path, TRACES, GBLOCK_PROBE_EVENTS="opentelemetry")
        spans = {name: (told, links) for name, told, links, _ in lines if name != "gblock.block"}
        links = [
            (links, nanoseconds)
            for name, _, links, nanoseconds in lines
            if name == "gblock.block" and links
        ]

        assert ["gblock.block"] == [name for name, _ in spans["goes on"][0]]
        assert 0.28 <= spans["goes on"][0][0][1]["gblock.duration"]
        assert [] == spans["innocent"][0]
        assert [] == spans["before"][0]
        # The span has ended before the hub could run.
        assert [["ends"]] == [names for names, _ in links]
        assert 0.28e9 <= links[0][1]


class TestSink:
    def test_what_the_hub_does_not_take_is_bounded(self):
        sink = events.Events([], lambda work: None)
        for _ in range(5000):
            sink(POLL)
            sink(block(T, 1.0))

        assert 1000 == len(sink._queue)

    def test_an_outlet_that_fails_is_removed(self, capfd):
        kept = []
        sink = events.Events([lambda event: 1 / 0, kept.append], lambda work: work())
        for _ in range(3):
            sink(block(T, 1.0))

        assert 3 == len(kept)
        assert 1 == capfd.readouterr().err.count("events are no longer sent")

    def test_spans_that_never_end_are_bounded(self):
        spans = events.Spans()
        spans._open = {number: [] for number in range(10_000)}
        spans.on_start(type("Span", (), {})())

        assert 1 == len(spans._open)

    @pytest.mark.parametrize("value", ["", "0", "off"])
    def test_it_is_off_unless_asked_for(self, monkeypatch, value):
        monkeypatch.setenv("GBLOCK_PROBE_EVENTS", value)

        assert events.from_environment(print) is None

    def test_an_unknown_kind_is_one_clear_line(self, monkeypatch):
        monkeypatch.setenv("GBLOCK_PROBE_EVENTS", "logging,pager")

        with pytest.raises(UserError, match="pager is none of logging, sentry, opentelemetry"):
            events.from_environment(print)

    def test_the_kinds_that_are_asked_for_get_a_block(self, monkeypatch, caplog):
        crumbs = []
        scope = types.SimpleNamespace(add_breadcrumb=lambda **crumb: crumbs.append(crumb))
        sdk = types.SimpleNamespace(get_global_scope=lambda: scope)
        monkeypatch.setitem(sys.modules, "sentry_sdk", sdk)
        monkeypatch.setenv("GBLOCK_PROBE_EVENTS", "logging, sentry")
        sink = events.from_environment(lambda work: work())
        sink(POLL)
        sink(block(T, 1.0))

        (line,) = caplog.records
        text = json.loads(line.getMessage())
        (crumb,) = crumbs
        assert line.gblock == crumb["data"] == {k: v for k, v in text.items() if k != "message"}
        assert text["message"] == crumb["message"]
        assert text["message"].startswith("the hub was blocked for 1.000 s (waits): ")
        assert POLL["symbol"] in text["message"]

    def test_a_host_without_sentry_loses_nothing(self, monkeypatch, capfd):
        monkeypatch.delitem(sys.modules, "sentry_sdk", raising=False)
        monkeypatch.setenv("GBLOCK_PROBE_EVENTS", "sentry")
        sink = events.from_environment(lambda work: work())
        sink(block(T, 1.0))

        assert "" == capfd.readouterr().err


class Timer:
    """A timer of gevent's loop that a test lets run out."""

    def __init__(self):
        self.callback = None

    def start(self, callback):
        self.callback = callback

    def stop(self):
        self.callback = None


class TestSpans:
    @pytest.fixture
    def host(self, monkeypatch):
        """A host with a tracer provider, the spans that it finished, and a sink for it."""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
        monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
        monkeypatch.setenv("GBLOCK_PROBE_EVENTS", "opentelemetry")
        works = []
        sink = events.from_environment(works.append)
        return provider, exporter, sink, works

    def begin(self, sink):
        timer = Timer()
        loop = types.SimpleNamespace(timer=lambda *_, **__: timer)
        sink.begin(types.SimpleNamespace(loop=loop))
        return timer

    def test_a_provider_that_comes_later_is_joined(self, host, monkeypatch):
        from opentelemetry import trace

        provider, _, sink, _ = host
        monkeypatch.setattr(trace, "get_tracer_provider", object)
        timer = self.begin(sink)
        assert timer.callback is not None
        timer.callback()
        assert timer.callback is not None

        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
        timer.callback()
        assert timer.callback is None
        assert None is self.begin(sink).callback

    def test_a_block_is_an_event_of_the_open_span_that_it_hit(self, host):
        provider, exporter, sink, works = host
        self.begin(sink)
        start_span = provider.get_tracer("shop").start_as_current_span
        with start_span("outer"), start_span("inner") as inner:
            base = getattr(inner, events._BASE)
            sink(block(inner.start_time / 1e9 + 1, 5.0, base=base))
            sink(block(inner.start_time / 1e9 + 1, 5.0, base=base + 1))
            for work in works:
                work()

        told = {span.name: [event.name for event in span.events] for span in
                exporter.get_finished_spans()}  # fmt: skip
        assert {"gblock.block": [], "inner": ["gblock.block"], "outer": []} == told

    def test_a_block_of_an_ended_span_is_a_span_with_a_link_to_it(self, host):
        provider, exporter, sink, works = host
        before = provider.get_tracer("shop").start_span("before")
        self.begin(sink)
        before.end()  # it began before the spans were followed
        span = provider.get_tracer("shop").start_span("request")
        base = getattr(span, events._BASE)
        span.end(end_time=span.start_time + 4_000_000_000)
        sink(block(span.start_time / 1e9 + 1, 2.0, base=base))
        works[0]()

        told = {one.name: one for one in exporter.get_finished_spans()}
        made = told["gblock.block"]
        assert [span.get_span_context()] == [link.context for link in made.links]
        assert 2.0 == pytest.approx((made.end_time - made.start_time) / 1e9)
        assert sink.spans.force_flush()
