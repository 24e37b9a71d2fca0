"""The sampler's clocks, without a process that is sampled."""

from __future__ import annotations

import threading
import time

from gblock.probing.clocks import Collections


def _collected(during, generation=2):
    collections = Collections()
    collections("start", {"generation": generation})
    during()
    collections("stop", {"generation": generation})
    return collections.seconds


def _work():
    end = time.thread_time() + 0.03
    while time.thread_time() < end:
        pass


def _let_others_run():
    other = threading.Thread(target=time.sleep, args=(0.2,))
    other.start()
    other.join()


def test_a_collection_that_works_counts():
    assert _collected(_work) >= 0.03


def test_the_youngest_generation_is_not_counted():
    assert 0 == _collected(_work, generation=0)


def test_the_time_of_other_threads_is_no_collection():
    assert _collected(_let_others_run) < 0.1
    assert 0.03 <= _collected(lambda: (_let_others_run(), _work()))
