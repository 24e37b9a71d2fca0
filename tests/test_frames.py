"""Frames of other threads and greenlets, read while they may end at any time."""

from __future__ import annotations

import _thread
import gc
import subprocess
import sys

import gevent
import pytest
from probed import Probed, environment

from gblock.probing import frames

CROWD = """
from gevent import monkey; monkey.patch_all()
import gc, gevent, sys, time
gc.set_threshold(20)
sys.setswitchinterval(1e-5)
end = time.monotonic() + 8

def work(depth):
    if depth:
        return work(depth - 1)
    stop = time.perf_counter() + 0.012
    while time.perf_counter() < stop:
        [[] for _ in range(30)]
    gevent.sleep(0)

turn = 0
while time.monotonic() < end:
    turn += 1
    gevent.joinall([gevent.spawn(work, 5 + (turn * 7 + i) % 90) for i in range(4)])
"""


@pytest.mark.live
def test_short_greenlets_that_collect_garbage_never_crash_the_process(tmp_path):
    program = tmp_path / "crowd.py"
    program.write_text(CROWD)
    settings = environment(tmp_path / "r", GBLOCK_PROBE_THRESHOLD=0.02, GBLOCK_PROBE_STACKS=1)
    done = subprocess.run([sys.executable, program], env=settings, capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)
    assert Probed(tmp_path / "r").records("block")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was(enabled):
    (gc.enable if enabled else gc.disable)()
    try:
        frames.of_thread(_thread.get_ident())
        frames.of_thread(-1)

        assert enabled is gc.isenabled()
    finally:
        gc.enable()


def test_a_thread_has_its_frames_and_one_that_ended_has_none():
    found, threads = frames.of_thread(_thread.get_ident())
    here = [each.f_code.co_name for each in found]

    assert "test_a_thread_has_its_frames_and_one_that_ended_has_none" in here
    assert found[-1].f_back is None
    assert 1 <= threads
    assert [] == frames.of_thread(-1)[0]


def test_a_suspended_greenlet_has_its_frames_and_no_other():
    def inner():
        gevent.sleep(5)

    waiting, new = gevent.spawn(inner), gevent.Greenlet(inner)
    gevent.sleep(0)

    assert "inner" in [each.f_code.co_name for each in frames.of_greenlet(waiting)]
    assert [] == frames.of_greenlet(new)
    waiting.kill()
    assert [] == frames.of_greenlet(waiting)


def test_no_collection_happens_meanwhile():
    seen = []
    before = gc.get_threshold()
    gc.callbacks.append(lambda phase, info: seen.append(phase))

    def deep(depth):
        if depth:
            return deep(depth - 1)
        gc.collect()
        seen.clear()
        gc.set_threshold(1)
        return frames.of_thread(_thread.get_ident())[0]

    try:
        found = deep(100)
        during = len(seen)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.pop()

    assert 100 <= len(found)
    # Before and after the one call, not for each of a hundred frames.
    assert during < 60


def test_no_stack_is_read_while_there_is_another_interpreter(monkeypatch):
    here = _thread.get_ident()
    for others, read in ([[0]], True), ([[0, 1]], False), ([[0]], True):
        monkeypatch.setattr(frames, "_list", lambda listed=others[0]: listed)
        found, threads = frames.of_thread(here)
        assert (read, read) == (bool(found), bool(threads))
    assert gc.isenabled()
