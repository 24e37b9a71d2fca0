"""Requests that can be made of a process that runs: its blocks and its stacks, now."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import CATALOG
from probed import environment
from probing import POLL, T, block, heartbeat, progress, start, write

from gblock import cli, observations
from gblock.observations import live
from gblock.output import top
from gblock.probing import settings

SERVICE = """
from gevent import monkey; monkey.patch_all()
import gevent, os, sys
from gevent.event import Event
from gevent.monkey import get_original

def waiter(event):
    event.wait()

def blocks():
    while True:
        gevent.sleep(0.01)
        if os.path.exists("block"):
            os.unlink("block")
            get_original("time", "sleep")(300)

event = Event()
for _ in range(30):
    gevent.spawn(waiter, event)
gevent.spawn(blocks)
gevent.sleep(0.2)
print(os.getpid(), flush=True)
gevent.sleep(300)
"""


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Start the service with a value of GBLOCK_PROBE_STACKS."""
    started = []
    monkeypatch.setattr(live, "_PATIENCE", 120.0)

    def run(stacks):
        settings = environment(tmp_path / "r", GBLOCK_PROBE_STACKS=stacks)
        process = subprocess.Popen(
            [sys.executable, "-c", SERVICE], cwd=tmp_path, env=settings, stdout=subprocess.PIPE
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def written(tmp_path):
    return "".join(path.read_text() for path in (tmp_path / "r").glob("*.stacks.txt"))


@pytest.mark.live
class TestStacks:
    def test_a_running_process_writes_the_stacks_of_all_greenlets(self, service, capsys):
        process = service("1")

        assert 0 == cli.main(["top", str(process.pid), "--stacks"])
        out = capsys.readouterr().out
        assert "30 greenlets:\n  <string>:8 in waiter\n" in out
        assert "gblock/probing" not in out
        assert process.poll() is None

    def test_a_blocked_process_does_so_too(self, service, tmp_path, capsys):
        process = service("1")
        (tmp_path / "block").touch()
        until(lambda: not (tmp_path / "block").exists())

        assert 0 == cli.main(["top", str(process.pid), "--stacks"])
        out = capsys.readouterr().out
        assert "the hub's thread runs:\n  <string>:15 in blocks\n" in out
        assert "30 greenlets:" in out

    @pytest.mark.parametrize("name", ["SIGUSR2", "SIGRTMIN+2", str(int(signal.SIGUSR2))])
    def test_a_signal_asks_too_and_never_ends_the_process(self, service, tmp_path, name):
        process = service(name)
        number = settings._signal(name, print)
        for _ in range(2):
            before = len(written(tmp_path))
            os.kill(process.pid, number)
            until(lambda before=before: "30 greenlets:" in written(tmp_path)[before:])
            time.sleep(2.1)  # answers are that far apart
        assert "Thread 0x" in written(tmp_path)
        assert process.poll() is None

    def test_a_process_that_was_not_asked_to_does_not_answer(self, service, monkeypatch, capsys):
        process = service("0")
        monkeypatch.setattr(live, "_PATIENCE", 1.0)

        assert 2 == cli.main(["top", str(process.pid), "--stacks"])
        assert "it needs GBLOCK_PROBE_STACKS=1" in capsys.readouterr().err

    @pytest.mark.parametrize("text", ["SIGKILL", "SIGSTOP", "15", "SIGNOTHING", "99999", "x+y"])
    def test_a_signal_that_may_not_be_used_is_a_warning(self, text):
        told = []

        assert 0 == settings.read({"GBLOCK_PROBE_STACKS": text}, told.append).stacks
        assert "is no signal that may be used" in told[0]


class TestTop:
    @pytest.fixture
    def records(self, tmp_path):
        write(tmp_path / "a-71-1.jsonl", start(), POLL, block(T, 2.0), heartbeat(T + 60, 1))
        write(tmp_path / "b-72-1.jsonl", start(pid=72), POLL, progress(T + 60, 5.0))
        return tmp_path

    def test_it_shows_what_blocks_now_and_the_busiest_sites(self, records):
        seen = live.observed(live.Target(str(records)), CATALOG, T + 61, T - 60)
        page = top.render(seen, T + 61, None)

        assert "2 of 2 processes run" in page
        assert "web-1:72  6.00 s  /app/orders/worker.py:17 in run" in page
        assert "      2     7.00 s" in page
        assert "confluent_kafka.Consumer.poll" in top.render(seen, T + 61, 120)

    def test_of_one_process_only_its_own_files_are_read(self, records):
        seen = live.observed(live.Target(str(records), 71), CATALOG, T + 61, T - 60)

        assert [71] == [process.pid for process in seen.processes]
        assert "nothing" in top.render(seen, T + 61, None)

    def test_files_that_were_not_written_lately_are_not_read(self, records):
        os.utime(records / "b-72-1.jsonl", (1, 1))
        seen = live.observed(live.Target(str(records)), CATALOG, T + 61, T - 60)

        assert [71] == [process.pid for process in seen.processes]

    def test_once_writes_one_page(self, records, capsys):
        assert 0 == cli.main(["top", str(records), "--once", "--since", "2025-11-01"])
        assert "blocking now" in capsys.readouterr().out

    @pytest.mark.live
    def test_a_process_is_found_by_its_number(self, service, tmp_path, capsys):
        process = service("0")
        (tmp_path / "block").touch()

        def page():
            assert 0 == cli.main(["top", str(process.pid), "--once"])
            return capsys.readouterr().out

        found = until(lambda: "<string>:15 in blocks" in page() and page())
        assert f":{process.pid}  " in found

    @pytest.mark.parametrize(
        ("given", "problem"),
        [
            ("", "pass the probe's directory"),
            ("nowhere", "is neither a directory"),
            ("4194304", "no such"),
        ],
    )
    def test_what_cannot_be_shown_is_one_line(self, given, problem, capsys, monkeypatch):
        monkeypatch.delenv("GBLOCK_PROBE_DIR", raising=False)

        assert 2 == cli.main(["top", given] if given else ["top"])
        assert problem in capsys.readouterr().err

    def test_a_process_without_records_is_an_error(self, capsys):
        assert 2 == cli.main(["top", str(os.getpid())])
        assert "GBLOCK_PROBE_DIR" in capsys.readouterr().err


class TestAnswers:
    """A process that answers, or does not, by the files that it shares with `gblock top`."""

    @pytest.fixture
    def probed(self, tmp_path):
        environment = {**os.environ, "GBLOCK_PROBE_DIR": "r"}
        (tmp_path / "r").mkdir()
        process = subprocess.Popen(["sleep", "60"], cwd=tmp_path, env=environment)
        until(lambda: b"GBLOCK_PROBE_DIR=r\0" in Path(f"/proc/{process.pid}/environ").read_bytes())
        stem = tmp_path / "r" / f"a-{process.pid}-1"
        write(stem.with_suffix(".jsonl"), start(pid=process.pid))
        write(tmp_path / "r" / "b-1-1.jsonl", start(pid=1))
        yield process.pid, stem
        process.kill()
        process.wait()

    @pytest.mark.parametrize("before", ["", "old\n", "a text that is longer than the new one\n"])
    def test_what_is_new_in_the_answer_is_shown(self, probed, capsys, monkeypatch, before):
        pid, stem = probed
        answer = stem.with_suffix(".stacks.txt")
        if before:
            answer.write_text(before)
        kept = before if before == "old\n" else ""
        pause = time.sleep

        def answered(seconds):
            assert [one for one in os.listdir(stem.parent) if "stacks" in one] != [answer.name]
            answer.write_text(f"{kept}30 greenlets\n")
            pause(0)

        monkeypatch.setattr(live.time, "sleep", answered)
        assert 0 == cli.main(["top", str(pid), "--stacks"])
        assert "30 greenlets\n" == capsys.readouterr().out

    def test_a_request_without_an_answer_is_withdrawn(self, probed, capsys, monkeypatch):
        pid, stem = probed
        monkeypatch.setattr(live, "_PATIENCE", 0.2)

        assert 2 == cli.main(["top", str(pid), "--stacks"])
        assert "it needs GBLOCK_PROBE_STACKS=1" in capsys.readouterr().err
        assert {stem.name + ".jsonl", "b-1-1.jsonl"} == set(os.listdir(stem.parent))

    def test_a_process_that_wrote_no_records_has_no_stacks(self, probed, capsys):
        pid, stem = probed
        stem.with_suffix(".jsonl").unlink()

        assert 2 == cli.main(["top", str(pid), "--stacks"])
        assert "has no records in" in capsys.readouterr().err
        assert 2 == cli.main(["top", str(stem.parent), "--stacks"])
        assert "pass a process ID" in capsys.readouterr().err


def test_only_records_of_that_process_count_as_its(tmp_path):
    write(tmp_path / "a-171-1.jsonl", start(pid=171))
    seen = observations.read([str(tmp_path)], CATALOG, T)

    assert 171 == seen.processes[0].pid
    assert () == live.observed(live.Target(str(tmp_path), 71), CATALOG, T, T).processes
