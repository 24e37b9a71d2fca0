"""A probe's records stay small, however often the hub is blocked."""

from __future__ import annotations

import _thread
import json
import os
import random
import tracemalloc

import pytest
from harness import CATALOG

from gblock import events, metrics, observations
from gblock.probing import record
from gblock.probing.settings import Settings
from gblock.probing.watchdog import Watchdog


def block(number):
    return {"type": "block", "t": number / 10, "duration": 0.2, "class": "waits", "site": None}


def place(number):
    site = record.CallSite()
    site.callable = "time.sleep"
    site.user = (f"/app/{number}.py", "app", number, "work", True)
    site.frames = [site.user] * 20
    return site


@pytest.mark.live
def test_a_million_blocks_at_a_million_places_cost_bounded_memory_and_disk(tmp_path, monkeypatch):
    settings = Settings()
    settings.directory, settings.max_bytes = str(tmp_path), 200_000
    settings.max_sites, settings.max_records = 50, 20
    recorder = record.Recorder(settings, _thread.allocate_lock)
    now = [1e9]
    monkeypatch.setattr(record.time, "time", lambda: now[0])

    def run(first, last):
        for number in range(first, last):
            now[0] += 0.01
            recorder.block(block(number), recorder.site(place(number)))

    run(0, 100_000)
    tracemalloc.start()
    try:
        run(100_000, 120_000)
        before, _ = tracemalloc.get_traced_memory()
        run(120_000, 140_000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    run(140_000, 1_000_000)
    recorder.heartbeat({"samples": 1, "state": "idle", "hub": "Hub"})

    assert after - before < 50_000
    files = list(tmp_path.iterdir())
    assert 2 == len(files)
    assert all(path.stat().st_size <= 2 * settings.max_bytes for path in files)
    lines = [line for path in files for line in path.read_text(encoding="ascii").splitlines()]
    written = [json.loads(line) for line in lines]
    assert {line["site"] for line in written if line["type"] == "site"} <= set(range(51))
    (beat,) = [line for line in written if line["type"] == "heartbeat"]
    assert 1_000_000 == beat["blocks"]
    minutes = 1_000_000 * 0.01 / 60
    assert abs(beat["blocks"] - beat["dropped"] - 20 * minutes) <= 40


def test_only_the_oldest_files_of_dead_processes_are_removed(tmp_path):
    settings = Settings()
    settings.directory, settings.max_files = str(tmp_path), 4
    recorder = record.Recorder(settings, _thread.allocate_lock)
    host = os.path.basename(recorder.path).rsplit("-", 2)[0]
    dead = 2**22 + 1  # above the kernel's limit
    old = [f"{host}-{dead}-{start}.jsonl" for start in range(100, 105)]
    old += [f"{host}-{dead}-99.stacks.txt", f"{host}-{dead}-98.jsonl.1"]
    others = [f"{host}-{os.getpid()}-1.jsonl", f"other-host-{dead}-1.jsonl", "notes.txt"]
    for name in old + others:
        (tmp_path / name).write_text("", encoding="ascii")

    recorder.start(1, {})

    left = {path.name for path in tmp_path.iterdir()}
    assert {*others, *old[2:5], os.path.basename(recorder.path)} == left


def test_the_stacks_of_a_host_that_freezes_often_stay_bounded(tmp_path):
    settings = Settings()
    settings.directory, settings.watchdog, settings.max_bytes = str(tmp_path), 3600, 10_000
    watchdog = Watchdog(settings, record.Recorder(settings, _thread.allocate_lock))
    try:
        watchdog.feed()
        (path,) = tmp_path.iterdir()
        path.write_bytes(b"x" * 9_000)
        watchdog._fed = float("-inf")
        watchdog.feed()
        assert 9_000 == path.stat().st_size
        path.write_bytes(b"x" * 11_000)
        watchdog._fed = float("-inf")
        watchdog.feed()
        assert 0 == path.stat().st_size
    finally:
        watchdog.stop()


# The totals, as `gblock report` reads them, compared with what was recorded: the bytes of a file,
# the sites that are distinguished, the records of a minute, and the sites there are.
STORMS = [
    (10_000_000, 500, 600, 40),
    (30_000, 500, 600, 40),  # rotated every few blocks
    (10_000, 500, 600, 40),  # the sites alone are larger than a file may be
    (30_000, 10, 600, 40),  # more sites than are distinguished
    (30_000, 1, 10, 40),
    (100_000, 20, 50, 40),  # more blocks than may have records
    (10_000_000, 500, 1, 40),
]


def storm(folder, monkeypatch, limits, *, blocks, seed):
    """Record blocks as a probe does; return the recorder, and the true counts and seconds."""
    settings, sites = Settings(), limits[3]
    settings.directory = str(folder)
    settings.max_bytes, settings.max_sites, settings.max_records = limits[:3]
    dice, now = random.Random(seed), [1e9]
    monkeypatch.setattr(record.time, "time", lambda: now[0])
    recorder = record.Recorder(settings, _thread.allocate_lock)
    recorder.start(1, {"gevent": "26.9.0"})
    recorded, beat = [], now[0]
    for _ in range(blocks):
        seconds = round(0.1 + dice.random() / 2, 6)
        now[0] += seconds + 0.01
        kind = dice.choice(["waits", "waits", "gil", "starved"])
        drawn = int(dice.paretovariate(0.6)) % sites
        site = None if kind == "starved" else recorder.site(place(drawn))
        line = {"t": now[0] - seconds, "duration": seconds, "class": kind, "confidence": "none"}
        recorder.block({"type": "block", **line}, site)
        recorded.append((now[0], seconds))
        if now[0] - beat >= 60:
            beat = now[0]
            recorder.heartbeat({"samples": 1, "state": "idle", "hub": "Hub"})
    return recorder, recorded, now[0]


def read(folder, now):
    sites = observations.read([str(folder)], CATALOG, now).sites
    return sum(site.times for site in sites), sum(site.total for site in sites)


@pytest.mark.parametrize("limits", STORMS)
def test_totals_are_right_after_any_storm_and_rotation(tmp_path, monkeypatch, limits):
    recorder, recorded, now = storm(tmp_path, monkeypatch, limits, blocks=500, seed=sum(limits))
    recorder.heartbeat({"samples": 1, "state": "idle", "hub": "Hub"})
    recorder.end("exit")

    count, seconds = read(tmp_path, now)
    assert len(recorded) == count
    assert abs(sum(each for _, each in recorded) - seconds) < 0.001


@pytest.mark.parametrize("blocks", [1, 2, 211, 307, 420])
@pytest.mark.parametrize("limits", STORMS)
def test_a_killed_process_lacks_only_the_last_seconds_of_a_storm(
    tmp_path, monkeypatch, limits, blocks
):
    _, recorded, now = storm(tmp_path, monkeypatch, limits, blocks=blocks, seed=sum(limits))

    count, seconds = read(tmp_path, now)
    has_records = min(len(recorded), limits[2])
    # Totals of blocks without a record are a second apart, and 10 ms more for each of them.
    last = [each for ended, each in recorded if ended > now - 1 - 0.01 * limits[1] * 2]
    least = max(has_records, len(recorded) - len(last))
    assert least <= count <= len(recorded)
    if len(recorded) <= limits[2]:
        assert len(recorded) == count
    truth = sum(each for _, each in recorded)
    assert truth - sum(last) - 0.001 <= seconds <= truth + 0.001


def test_what_follows_a_line_that_was_lost_names_its_site_again(tmp_path):
    settings = Settings()
    settings.directory = str(tmp_path)
    recorder = record.Recorder(settings, _thread.allocate_lock)
    recorder.start(1, {})
    recorder._lock = Held()
    recorder.block(block(1), recorder.site(place(1)))
    recorder._lock = _thread.allocate_lock()
    recorder.block(block(2), recorder.site(place(1)))

    (path,) = tmp_path.iterdir()
    kinds = [json.loads(line)["type"] for line in path.read_text(encoding="ascii").splitlines()]
    assert ["start", "site", "block"] == kinds
    assert 1 == recorder.dropped


class Held:
    def acquire(self, *_):
        return False


def test_a_sink_gets_each_block_after_its_site(tmp_path):
    """Also above the limit of records, and where a block in progress named the site first."""
    settings, seen = Settings(), []
    settings.directory, settings.sink = str(tmp_path), seen.append
    settings.max_records, settings.max_sites = 2, 2
    recorder = record.Recorder(settings, _thread.allocate_lock)
    recorder.start(1, {})
    recorder.progress(1.5, recorder.site(place(1)))
    for number in (1, 2, 1, 2, 3, 4):
        recorder.block(block(number), recorder.site(place(number)))
    recorder.heartbeat({})

    kinds = [(each["type"], each.get("site"), each.get("limited")) for each in seen]
    assert kinds == [
        ("site", 1, None),
        ("block", 1, None),
        ("site", 2, None),
        ("block", 2, None),
        ("block", 1, True),
        ("block", 2, True),
        ("site", 0, None),
        ("block", 0, True),
        ("block", 0, True),
        ("heartbeat", None, None),
    ]


def test_metrics_count_every_block_and_events_those_with_a_record():
    client = pytest.importorskip("prometheus_client")
    registry, sent = client.CollectorRegistry(), []
    counted = metrics.Prometheus(registry)
    settings = Settings()
    settings.max_records = 3
    outlets = events.Events.__new__(events.Events)
    outlets._sites, outlets.spans, outlets._queue = {}, None, sent
    outlets._wake = lambda drain: None

    def sink(line):
        counted(line)
        outlets(line)

    settings.sink = sink
    recorder = record.Recorder(settings, _thread.allocate_lock)
    for number in range(10):
        recorder.block(block(number), recorder.site(place(1)))

    text = client.generate_latest(registry).decode()
    assert 'gblock_blocks_total{class="waits",site="app.work time.sleep"} 10.0' in text
    assert 3 == len(sent)
