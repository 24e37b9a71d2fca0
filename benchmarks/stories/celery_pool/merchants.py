"""The queue and the merchant's address, from the environment."""

from __future__ import annotations

import os

from celery import Celery

MERCHANT = os.environ.get("STORY_SERVICE", "http://127.0.0.1")
LATENCY = os.environ.get("STORY_LATENCY", "0")

app = Celery(
    "pos",
    broker="amqp://guest:guest@127.0.0.1:5672//",
    backend="redis://127.0.0.1:6379/9",
    set_as_current=True,
)
app.conf.update(
    task_default_queue=os.environ.get("STORY_QUEUE", "gblock-story"),
    worker_prefetch_multiplier=4,
    broker_connection_retry_on_startup=True,
    # With heartbeats Celery 5.7's loop for greenlets waits 0.1 s for its second connection after
    # each message (celery/worker/loops.py, _quick_drain): no worker gets over ten tasks a second.
    broker_heartbeat=0,
)
