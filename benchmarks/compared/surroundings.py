"""The surroundings of the compared service: a server that never answers, a locked file and database."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import gevent

NOWHERE = "127.0.0.1:1"
FOLDER = tempfile.mkdtemp()
LOCK = os.path.join(FOLDER, "lock")
DATABASE = os.path.join(FOLDER, "orders.db")

listening = socket.create_server(("127.0.0.1", 0))
SILENT = listening.getsockname()[1]
"""The kernel accepts, and nothing answers."""
open(LOCK, "w").close()
with sqlite3.connect(DATABASE) as connection:
    connection.execute("create table orders (number integer)")
connection.close()
HOLDER = """
import fcntl, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("begin exclusive")
file = open(sys.argv[2])
while True:
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep(1)
    fcntl.flock(file, fcntl.LOCK_UN)
    time.sleep(0.01)
"""


gaps: dict[str, float] = {}
holder = subprocess.Popen([sys.executable, "-c", HOLDER, DATABASE, LOCK])
atexit.register(holder.kill)


@contextlib.contextmanager
def watched(case: str) -> Iterator[None]:
    """Measure the longest gap of a heartbeat meanwhile."""
    late = [0.0]

    def beat() -> None:
        while True:
            start = time.perf_counter()
            gevent.sleep(0.005)
            late[0] = max(late[0], time.perf_counter() - start)

    beating = gevent.spawn(beat)
    gevent.sleep(0.3)
    late[0] = 0.0
    yield
    gevent.sleep(0.05)
    beating.kill()
    gaps[case] = late[0]


def report() -> None:
    """Print the gaps."""
    print(json.dumps(gaps), flush=True)
