"""Records as a probe writes them, made up: a Kafka consumer, a driver in C, a few odd things."""

from __future__ import annotations

import json
from pathlib import Path

T = 1_763_700_000.0
"""2025-11-21 04:40:00 UTC."""

POLL = {
    "type": "site",
    "site": 1,
    "symbol": "confluent_kafka.Consumer.poll",
    "callable": "cimpl.Consumer.poll",
    "user": {"file": "/app/orders/worker.py", "line": 17, "function": "run"},
    "stack": [
        {"file": "/app/orders/worker.py", "line": 25, "function": "<module>", "user": True},
        {"file": "/usr/lib/python3.11/gevent/greenlet.py", "line": 908, "function": "run"},
        {"file": "/app/orders/worker.py", "line": 17, "function": "run", "user": True},
    ],
}
ACME = {
    "type": "site",
    "site": 2,
    "symbol": None,
    "callable": "acme_native.Client.fetch",
    "user": {"file": "/app/orders/prices.py", "line": 4, "function": "refresh"},
    "stack": [
        {"file": "/app/orders/prices.py", "line": 4, "function": "refresh", "user": True},
        {"file": "/usr/lib/python3.11/site-packages/acme/client.py", "line": 61, "function": "get"},
    ],
}


def start(t=T, **values):
    record = {
        "type": "start",
        "t": t,
        "version": 1,
        "gblock": "0.1.0",
        "pid": 71,
        "ppid": 1,
        "host": "web-1",
        "argv": ["gunicorn", "-k", "gevent"],
        "python": "3.11.7",
        "gevent": "26.9.0",
        "greenlet": "3.5.6",
        "threshold": 0.1,
        "period": 0.025,
        "hub": "Hub",
        "thread": 71,
    }
    return record | values


def block(t, duration, site=1, kind="waits", **values):
    record = {
        "type": "block",
        "t": t,
        "duration": duration,
        "class": kind,
        "site": site,
        "greenlet": "Greenlet-3",
        "syscall": "futex",
        "native": ["librdkafka.so.1"] if site == 1 else [],
        "confidence": "exact",
    }
    return record | values


def heartbeat(t, blocks=0, **values):
    record = {
        "type": "heartbeat",
        "t": t,
        "blocks": blocks,
        "blocked": 0.0,
        "dropped": 0,
        "samples": 2400,
        "loop_lag_max": 0.01,
        "state": "running",
    }
    return record | values


def progress(t, elapsed, site=1):
    return {"type": "progress", "t": t, "site": site, "elapsed": elapsed}


def end(t, reason="exit", error=None):
    return {"type": "end", "t": t, "reason": reason, "error": error}


def write(path: Path, *records: dict[str, object], tail: bytes = b"") -> Path:
    """Write a file of records, and what else stands at its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path.write_bytes(lines + tail)
    return path


def fleet(folder: Path) -> float:
    """Write the records of three workers into a directory; return the time after them."""
    durations = [1.002, 1.001, 1.004, 0.998, 1.003, 0.412, 1.001, 1.002, 1.000, 1.001]
    write(
        folder / "web-1-71-1763700000.jsonl",
        start(),
        POLL,
        *[block(T + 40 + 97 * i, seconds) for i, seconds in enumerate(durations)],
        ACME,
        block(T + 333, 5.02, 2, syscall="recvfrom"),
        block(T + 1020, 0.31, 2, syscall="recvfrom"),
        *[heartbeat(T + 60 * i, 12) for i in range(1, 21)],
        end(T + 1201),
    )
    write(
        folder / "web-1-72-1763700000.jsonl",
        start(T + 1, pid=72, thread=72),
        POLL,
        *[block(T + 75 + 131 * i, 1.001) for i in range(6)],
        {**POLL, "site": 9, "symbol": "bcrypt.hashpw", "callable": "bcrypt._bcrypt.hashpw"}
        | {"user": {"file": "/app/orders/login.py", "line": 31, "function": "check"}, "stack": []},
        block(T + 505, 0.26, 9, "gil", syscall=None, native=["_bcrypt.abi3.so"]),
        block(T + 611, 0.27, 9, "gil", syscall=None, native=["_bcrypt.abi3.so"]),
        block(T + 700, 0.15, None, "starved", syscall=None, native=[], greenlet=None),
        *[heartbeat(T + 60 * i, 11) for i in range(1, 13)],
        progress(T + 801, 1.0, 1),
        progress(T + 805, 5.0, 1),
        progress(T + 830, 30.0, 1),
        tail=b'{"type":"heartb',
    )
    write(
        folder / "web-2-15-1763700300.jsonl",
        start(T + 300, pid=15, host="web-2", argv=["celery", "-A", "orders"]),
        *[heartbeat(T + 300 + 60 * i, 0) for i in range(1, 16)],
        block(T + 930, 0.6, 77, "cpu", syscall=None),
        tail=b"\x00\x00\x00\nnot json\n",
    )
    return T + 1230
