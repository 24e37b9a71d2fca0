"""A probe's records stay small, however often the hub is blocked."""

from __future__ import annotations

import _thread
import json
import os
import tracemalloc

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
