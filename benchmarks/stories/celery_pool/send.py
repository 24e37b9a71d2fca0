"""Send orders, wait for them, and print how many were done, and how long that took.

python send.py ORDERS
"""

from __future__ import annotations

import json
import sys
import time

from celery import group
from merchants import app

STUCK = 30
"""Seconds without an order that is done, after which no more are waited for."""


def main() -> None:
    """Warm the worker up with one order, then measure."""
    task = app.signature("send_order")
    task.clone(args=(0,)).apply_async().get(timeout=60)
    wanted = int(sys.argv[1])
    start = last = time.perf_counter()
    orders = group(task.clone(args=(number,)) for number in range(wanted)).apply_async()
    done = 0
    while done < wanted and time.perf_counter() - last < STUCK:
        time.sleep(0.05)
        now_done = orders.completed_count()
        if now_done > done:
            done, last = now_done, time.perf_counter()
    print(json.dumps({"elapsed": last - start, "done": done}))


main()
