"""Metrics of probed processes, as real receivers get them."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from probed import SETTLE, environment

pytestmark = pytest.mark.live
HEAD = "from gevent import monkey; monkey.patch_all()\n" + SETTLE
OTLP = """
import gevent
from gevent.monkey import get_original
from opentelemetry import metrics
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=300)
provider = MeterProvider([reader])
metrics.set_meter_provider(provider)
def block():
    get_original("time", "sleep")(0.3)
for _ in range(3):
    settle(0.2)
    gevent.spawn(block).get()
settle(1)
provider.shutdown()
"""
WORKERS = """
import gevent, os, sys
from gevent.monkey import get_original
def block():
    get_original("time", "sleep")(0.3)
settle(0.1)
children = []
for _ in range(2):
    pid = gevent.os.fork()
    if not pid:
        for _ in range(3):
            settle(0.2)
            gevent.spawn(block).get()
        settle(0.5)
        os._exit(0)
    children.append(pid)
for pid in children:
    gevent.os.waitpid(pid, 0)
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry)
print(generate_latest(registry).decode())
"""


@pytest.fixture
def receiver():
    """A receiver of OTLP over HTTP; the list of the decoded requests, and its address."""
    service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            received.append((self.path, service.ExportMetricsServiceRequest.FromString(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield received, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_metrics_are_pushed_over_otlp(tmp_path, receiver):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    received, address = receiver
    program = tmp_path / "service.py"
    program.write_text(HEAD + OTLP)
    settings = {
        "GBLOCK_PROBE_METRICS": "opentelemetry",
        "GBLOCK_PROBE_HEARTBEAT": 0.5,
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_SERVICE_NAME": "shop",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program],
        env=environment(tmp_path / "r", **settings),
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    assert {"/v1/metrics"} == {path for path, _ in received}
    resources = received[-1][1].resource_metrics
    names = {a.key: a.value.string_value for r in resources for a in r.resource.attributes}
    found = {
        metric.name: metric
        for resource in resources
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }

    def of_block(points):
        return [
            point
            for point in points
            if any("service.block" in each.value.string_value for each in point.attributes)
        ]

    assert "shop" == names["service.name"]
    assert 3 == sum(point.as_int for point in of_block(found["gblock.blocks"].sum.data_points))
    seconds = of_block(found["gblock.blocked.time"].sum.data_points)
    assert 0.85 <= sum(point.as_double for point in seconds)
    (histogram,) = of_block(found["gblock.block.duration"].histogram.data_points)
    assert 3 == histogram.count
    (ratio,) = found["gblock.hub.busy_ratio"].gauge.data_points
    assert 0 <= ratio.as_double <= 1
    assert 1.7e9 < found["gblock.probe.heartbeat"].gauge.data_points[0].as_double


def test_several_processes_are_one_scrape_of_prometheus(tmp_path):
    program = tmp_path / "service.py"
    program.write_text(HEAD + WORKERS)
    (tmp_path / "m").mkdir()
    settings = {
        "GBLOCK_PROBE_METRICS": "prometheus",
        "GBLOCK_PROBE_HEARTBEAT": 0.5,
        "PROMETHEUS_MULTIPROC_DIR": tmp_path / "m",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program],
        env=environment(tmp_path / "r", **settings),
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    parser = pytest.importorskip("prometheus_client.parser")
    samples = [
        sample
        for family in parser.text_string_to_metric_families(done.stdout)
        for sample in family.samples
    ]

    def of_block(name):
        return sum(
            sample.value
            for sample in samples
            if sample.name == name and "service.block" in sample.labels.get("site", "")
        )

    assert 6 == of_block("gblock_blocks_total"), done.stdout
    assert 6 == of_block("gblock_blocked_seconds_count")
    assert 1.75 <= of_block("gblock_site_blocked_seconds_total")
