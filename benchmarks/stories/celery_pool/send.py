"""Send orders, wait for all of them, and print how long it took."""

from __future__ import annotations

import json
import sys
import time

from celery import group
from merchants import app


def main() -> None:
    """Warm the worker up with one order, then measure."""
    task = app.signature("send_order")
    task.clone(args=(0,)).apply_async().get(timeout=60)
    start = time.perf_counter()
    orders = group(task.clone(args=(number,)) for number in range(int(sys.argv[1])))
    orders.apply_async().get(timeout=280)
    print(json.dumps({"elapsed": time.perf_counter() - start}))


main()
