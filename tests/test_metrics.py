from __future__ import annotations

import subprocess
import sys
import threading

import prometheus_client
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from probing import ACME, POLL, T, block, end, heartbeat, start

from gblock import metrics
from gblock.errors import UserError

RECORDS = [
    start(),
    POLL,
    block(T, 1.0),
    block(T, 3.0),
    ACME,
    block(T, 0.15, 2, "cpu"),
    block(T, 0.5, 1, "starved"),
    block(T, 0.5, 77),
    heartbeat(T + 60),
    end(T + 70),
]
SITE = "worker.run confluent_kafka.Consumer.poll"


def test_prometheus_counts_at_the_scrape():
    registry = prometheus_client.CollectorRegistry()
    sink = metrics.Prometheus(registry)
    for record in RECORDS:
        sink(record)
    prometheus_client.generate_latest(registry)
    value = registry.get_sample_value

    assert 2 == value("gblock_blocks_total", {"site": SITE, "class": "waits"})
    assert 4 == value("gblock_blocked_seconds_sum", {"site": SITE})
    assert 1 == value("gblock_blocked_seconds_bucket", {"site": SITE, "le": "2.0"})
    assert 1 == value("gblock_blocks_total", {"site": "none", "class": "starved"})
    assert 1 == value("gblock_blocks_total", {"site": "other", "class": "waits"})
    assert T + 60 == value("gblock_probe_heartbeat_timestamp_seconds")


def test_prometheus_says_how_busy_the_hub_is():
    registry = prometheus_client.CollectorRegistry()
    sink = metrics.Prometheus(registry)
    value = registry.get_sample_value
    prometheus_client.generate_latest(registry)
    assert value("gblock_hub_lag_seconds_bucket", {"le": "0.1"}) is None
    lags = [80, 5, 5, 0, 4, 3, 2, 1, 0, 0, 0]
    for busy, samples in ((10, 100), (100, 200), (5, 50)):
        sink(heartbeat(T, samples=samples, busy=busy, lags=lags, hub="Hub-1"))
        prometheus_client.generate_latest(registry)
        expected = {100: 0.1, 200: 0.9, 50: 0.1}[samples]
        assert expected == value("gblock_hub_busy_ratio")
    sink(heartbeat(T, samples=50, busy=5, lags=lags, hub="Hub-2"))
    sink(heartbeat(T, lags=[1], hub="Hub-3"))
    prometheus_client.generate_latest(registry)

    assert 2 * 97 == value("gblock_hub_lag_seconds_bucket", {"le": "0.1"})
    assert 200 == value("gblock_hub_lag_seconds_bucket", {"le": "+Inf"})


def test_a_sites_label_survives_a_moved_checkout_and_a_shifted_line():
    user = {"file": "/a/worker.py", "line": 17, "function": "run", "module": "orders.worker"}
    moved = {**user, "file": "/b/worker.py", "line": 99}
    registry = prometheus_client.CollectorRegistry()
    sink = metrics.Prometheus(registry)
    for number, place in ((1, user), (2, moved)):
        sink({**POLL, "site": number, "user": place})
        sink(block(T, 1.0, number))
    sink({"type": "site", "site": 3, "user": None, "symbol": None})
    sink(block(T, 1.0, 3))
    prometheus_client.generate_latest(registry)

    label = {"site": "orders.worker.run confluent_kafka.Consumer.poll", "class": "waits"}
    assert 2 == registry.get_sample_value("gblock_site_blocked_seconds_total", label)
    assert 1 == registry.get_sample_value("gblock_blocks_total", {"site": "?", "class": "waits"})


def test_the_first_scrape_shows_what_was_noted():
    registry = prometheus_client.CollectorRegistry()
    sink = metrics.Prometheus(registry)
    sink(POLL)
    sink(block(T, 1.0))

    assert b'gblock_blocked_seconds_sum{site="' in prometheus_client.generate_latest(registry)


def test_the_probes_thread_takes_no_lock_of_the_host():
    sink = metrics.Prometheus(prometheus_client.CollectorRegistry())
    sink.drain = None  # would be called, and fail
    thread = threading.Thread(target=lambda: [sink(record) for record in RECORDS])
    thread.start()
    thread.join()

    assert 6 == len(sink._noted)


def test_the_scrape_of_another_process_finds_it_counted(tmp_path, monkeypatch):
    program = (
        "from gblock import metrics; import prometheus_client as p; from probing import *;"
        "r = p.CollectorRegistry(); sink = metrics.Prometheus(r); sink(POLL); sink(block(T, 1.0));"
        "from prometheus_client import multiprocess; n = p.CollectorRegistry();"
        "multiprocess.MultiProcessCollector(n); print(p.generate_latest(n).decode())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )

    assert "gblock_blocked_seconds_count" in run.stdout, run.stderr


def test_opentelemetry_counts_at_the_export():
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    sink = metrics.OpenTelemetry(provider.get_meter("test"))
    for record in RECORDS:
        sink(record)
    reader.get_metrics_data()  # the callback runs, perhaps after the counters were read
    found = {
        metric.name: metric.data.data_points
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    provider.shutdown()
    (blocks,) = [p for p in found["gblock.blocks"] if p.attributes["gblock.site"] == SITE]
    (times,) = [p for p in found["gblock.block.duration"] if p.attributes["gblock.site"] == SITE]

    assert 2 == blocks.value
    assert (2, 4.0) == (times.count, times.sum)
    assert T + 60 == found["gblock.probe.heartbeat"][0].value
    assert found["gblock.blocked.time"]


def test_further_sites_are_other():
    registry = prometheus_client.CollectorRegistry()
    sink = metrics.Prometheus(registry, sites=2)
    for number in range(500):
        sink({**POLL, "site": number, "symbol": f"a.f{number}"})
        sink(block(T, 1.0, number))
    sink.drain()
    names = {
        sample.labels["site"]
        for metric in registry.collect()
        for sample in metric.samples
        if "site" in sample.labels
    }

    assert 3 == len(names)
    assert "other" in names


def test_what_waits_for_a_scrape_is_bounded():
    sink = metrics.Prometheus(prometheus_client.CollectorRegistry())
    for _ in range(20_000):
        sink(block(T, 1.0))

    assert 10_000 == len(sink._noted)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"type": "block"},
        {"type": "block", "duration": "x"},
        {"type": "block", "duration": -1},
        {"type": "site", "site": [], "user": 3},
        {"type": "block", "duration": 1.0, "site": []},
        {"type": "heartbeat", "t": None},
    ],
)
def test_a_record_that_is_none_is_no_exception(record):
    sink = metrics.Prometheus(prometheus_client.CollectorRegistry())
    sink(record)
    sink.drain()


@pytest.mark.parametrize("value", ["", "0", "off"])
def test_it_is_off_unless_asked_for(monkeypatch, value):
    monkeypatch.setenv("GBLOCK_PROBE_METRICS", value)

    assert metrics.from_environment() is None


def test_the_environment_names_the_library(monkeypatch):
    monkeypatch.setenv("GBLOCK_PROBE_METRICS", "OpenTelemetry")

    assert isinstance(metrics.from_environment(), metrics.OpenTelemetry)


@pytest.mark.parametrize(
    ("value", "module", "message"),
    [
        ("statsd", "none", "statsd is neither prometheus nor opentelemetry"),
        ("prometheus", "prometheus_client", r"pip install 'gblock\[metrics\]'"),
    ],
)
def test_what_cannot_be_had_is_one_clear_line(monkeypatch, value, module, message):
    monkeypatch.setenv("GBLOCK_PROBE_METRICS", value)
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(UserError, match=message):
        metrics.from_environment()


def test_nothing_of_it_is_imported_by_importing_it():
    program = (
        "import gblock.metrics, sys; print({'prometheus_client', 'opentelemetry'} & {*sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert "set()" == run.stdout.strip(), run.stderr


def test_the_probe_counts_lags_by_the_bounds_that_are_exported():
    from gblock.probing import sampler

    assert metrics.LAGS == sampler.LAGS
