"""Measure how many tasks per second Celery sends, by serialiser, encoding and id.

python sending.py TASKS ROUNDS
"""

from __future__ import annotations

import base64
import gc
import json
import pickle
import random
import sys
import time
import timeit
import uuid
from collections.abc import Callable

from celery import Celery
from kombu.serialization import register
from kombu.transport import memory
from kombu.utils.uuid import uuid as kombu_uuid

TASKS, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
VARIANTS: dict[str, dict[str, object]] = {
    "json": {},
    "pickle": {"serializer": "pickle"},
    "no base64": {"base64": False},
    "objects": {"serializer": "objects", "base64": False},
    "no uuid": {"uuid": False},
    "nothing": {"serializer": "objects", "base64": False, "uuid": False},
}
ARGUMENTS = (12345, "an order", {"meal": "soup", "number": 2})
register("objects", lambda o: o, lambda o: o, "application/x-objects", "binary")


def sender(serializer: str = "json", base64: bool = True, uuid: bool = True) -> Callable[[], None]:
    """Return a function that sends one task."""
    app = Celery(broker="memory://", set_as_current=False)
    app.conf.task_serializer = serializer
    app.conf.accept_content = [serializer]
    # Only ids that Celery itself makes are replaced: those of the transport stay as they are.
    identifier = None if uuid else "00000000-0000-0000-0000-000000000000"
    connection = app.connection_for_write()
    producer = app.amqp.Producer(connection)
    if not base64:
        producer.channel.codecs = {**producer.channel.codecs}
        producer.channel.body_encoding = None

    def send() -> None:
        app.send_task("work", ARGUMENTS, producer=producer, task_id=identifier)

    return send


def rate(send: Callable[[], None]) -> float:
    """Tasks a second of CPU time: sending into memory waits for nothing."""
    start = time.process_time()
    for _ in range(TASKS):
        send()
    took = time.process_time() - start
    memory.Channel.queues.clear()  # no consumer takes them out
    gc.collect()
    return TASKS / took


def main() -> None:
    """Measure in turns, so that a slow moment of the machine meets all variants."""
    senders = {name: sender(**options) for name, options in VARIANTS.items()}
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for send in senders.values():
        rate(send)
    for _ in range(ROUNDS):
        for name in random.sample(list(senders), len(senders)):
            found[name].append(rate(senders[name]))
    body = json.dumps(ARGUMENTS).encode()
    calls: dict[str, Callable[[], object]] = {
        "uuid.uuid4()": uuid.uuid4,
        "kombu.utils.uuid.uuid()": kombu_uuid,
        "json.dumps(arguments)": lambda: json.dumps(ARGUMENTS),
        "pickle.dumps(arguments)": lambda: pickle.dumps(ARGUMENTS),
        "base64.b64encode(body)": lambda: base64.b64encode(body),
    }
    costs = {
        name: min(timeit.repeat(call, number=2000, repeat=5)) / 2000 for name, call in calls.items()
    }
    print(json.dumps({"rates": found, "costs": costs}))


main()
