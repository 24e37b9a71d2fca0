"""Code that the migrations of this story share: greenlets that read, produce and wait."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

import gevent
from confluent_kafka import Producer

SECONDS = float(os.environ["STORY_SECONDS"])
SETTINGS = {"bootstrap.servers": os.environ["STORY_BROKERS"], "linger.ms": 0, "log_level": 0}
READ = 0.005
"""Seconds that reading one row takes; other greenlets run meanwhile."""


def migrate(flush: Callable[[Producer], None]) -> None:
    """Emit events for a while from as many greenlets as the command line says."""
    greenlets = int(sys.argv[1])
    producers = [Producer(SETTINGS) for _ in range(greenlets)]
    for producer in producers:  # none has to connect while it is measured
        producer.produce("events", b"0")
        flush(producer)
    end = time.perf_counter() + SECONDS

    def emit(producer: Producer) -> int:
        events = 0
        while time.perf_counter() < end:
            gevent.sleep(READ)
            producer.produce("events", b"event")
            flush(producer)
            events += 1
        return events

    start = time.perf_counter()
    running = [gevent.spawn(emit, producer) for producer in producers]
    gevent.joinall(running, raise_error=True)
    events = sum(greenlet.value for greenlet in running)
    print(json.dumps({"events": events / (time.perf_counter() - start)}))
