from gevent import monkey

monkey.patch_all()

import json
import os
import time

import gevent
from celery import Celery
from heartbeat import Heartbeat
from kombu.utils.uuid import uuid

app = Celery(broker="memory://")


def send_all(orders):
    for order in orders:
        app.send_task("send_order", (order,), task_id=uuid())


if __name__ == "__main__":
    send_all(range(10))
    heartbeat = Heartbeat()
    gevent.sleep(0.2)
    start = time.perf_counter()
    gevent.spawn(send_all, range(int(os.environ["STORY_TASKS"]))).join()
    elapsed = time.perf_counter() - start
    gevent.sleep(0.2)
    print(json.dumps({"elapsed": elapsed, "late": heartbeat.figures()["max"]}))
