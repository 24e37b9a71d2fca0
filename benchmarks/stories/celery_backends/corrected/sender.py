from gevent import monkey

monkey.patch_all()

import itertools
import json
import os
import time
from uuid import uuid4

import gevent
from celery import Celery
from heartbeat import Heartbeat

app = Celery(broker="memory://")
process = uuid4()
numbers = itertools.count()


def send_all(orders):
    for number, order in enumerate(orders):
        app.send_task("send_order", (order,), task_id=f"{process}-{next(numbers)}")
        if number % 20 == 19:
            gevent.sleep(0.001)  # others have their turn


if __name__ == "__main__":
    send_all(range(10))
    heartbeat = Heartbeat()
    gevent.sleep(0.2)
    start = time.perf_counter()
    gevent.spawn(send_all, range(int(os.environ["STORY_TASKS"]))).join()
    elapsed = time.perf_counter() - start
    gevent.sleep(0.2)
    print(json.dumps({"elapsed": elapsed, "late": heartbeat.figures()["max"]}))
