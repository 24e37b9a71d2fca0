"""Measure how long to sleep between two calls of ``poll(0)``: CPU time while idle, and delay.

    python -m benchmarks.polling               prints the table of docs/polling.md
    python -m benchmarks.polling --update      writes it there
    python -m benchmarks.polling --quick       few messages

A consumer of confluent-kafka reads from librdkafka's mock cluster, in a process of its own for each
pause. It is idle for some seconds, and then gets messages one by one.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import pages
from benchmarks.stories.story import HERE, ROOT, Machine, clean_environment, kafka, versions

PAGE = ROOT / "docs" / "polling.md"
PAUSES = ("0", "0.001", "0.01", "0.1", "blocks")
"""Seconds for ``gevent.sleep``; the last one calls ``poll(1.0)`` instead."""
LABELS = {
    "0": "`poll(0)`, `gevent.sleep(0)`",
    "0.001": "`poll(0)`, `gevent.sleep(0.001)`",
    "0.01": "`poll(0)`, `gevent.sleep(0.01)`",
    "0.1": "`poll(0)`, `gevent.sleep(0.1)`",
    "blocks": "`poll(1.0)`, which blocks",
}
CHILD = """
from gevent import monkey

monkey.patch_all()

import json, sys, time
from pathlib import Path

import gevent
from confluent_kafka import Consumer
from heartbeat import Heartbeat

pause, servers, ready, wanted, idle = sys.argv[1:]
wanted, idle = int(wanted), float(idle)
consumer = Consumer({
    "bootstrap.servers": servers, "group.id": "polling", "auto.offset.reset": "earliest",
    "log_level": 0, "fetch.wait.max.ms": 10,
})
assigned = []
consumer.subscribe(["messages"], on_assign=lambda *_: assigned.append(1))
arrived = []

def poll():
    if pause == "blocks":
        message = consumer.poll(1.0)
        gevent.sleep(0.001)  # without it no timer of others would ever fire
    else:
        message = consumer.poll(0)
        if message is None:
            gevent.sleep(float(pause))
    if message is not None:
        arrived.append(time.monotonic())

def clocks():
    # The time of day, the thread's CPU time, and how long it waited for a CPU: in seconds.
    used, waited, _ = Path("/proc/self/schedstat").read_text().split()
    return time.monotonic(), int(used) / 1e9, int(waited) / 1e9

def run(until):
    start, used, waited = clocks()
    while not until():
        poll()
    end, used_then, waited_then = clocks()
    return (used_then - used) / (end - start - (waited_then - waited))

def idle_until(end):
    return run(lambda: time.monotonic() > end)

def all_of_it():
    run(lambda: assigned)
    share = idle_until(time.monotonic() + idle)
    heartbeat = Heartbeat()
    idle_until(time.monotonic() + idle)
    late = heartbeat.figures()["p95"]
    Path(ready).touch()
    run(lambda: len(arrived) >= wanted)
    print(json.dumps({"share": share, "late": late, "arrived": arrived}))

gevent.spawn(all_of_it).join()
"""


def measured(pause: str, messages: int, idle: float) -> dict[str, object]:
    """Return the share of a core while idle, the lateness of others, and the delays of messages."""
    with tempfile.TemporaryDirectory() as folder, kafka() as broker:
        broker.produce("messages", 0)
        program, ready = Path(folder) / "consumer.py", Path(folder) / "ready"
        program.write_text(CHILD, encoding="utf-8")
        command = [sys.executable, str(program), pause, broker.servers, str(ready)]
        with subprocess.Popen(
            [*command, str(messages), str(idle)],
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(PYTHONPATH=f"{ROOT}:{HERE}"),
        ) as process:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError("the consumer ended")
                time.sleep(0.05)
            sent, draw = [], random.Random(7)
            for _ in range(messages):
                time.sleep(draw.uniform(0.05, 0.25))
                sent.append(time.monotonic())
                broker.produce("messages", 1)
            found = json.loads(process.communicate(timeout=60)[0])
    delays = sorted(end - start for start, end in zip(sent, found.pop("arrived"), strict=True))
    return {**found, "delays": delays}


def _milliseconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value >= 0.01 else f"{value * 1000:.1f} ms"


def table(messages: int, idle: float, runs: int) -> str:
    """Measure all pauses in turns and return the table."""
    machine = Machine()
    found: dict[str, list[dict[str, object]]] = {pause: [] for pause in PAUSES}
    for _ in range(runs):
        for pause in PAUSES:
            found[pause].append(measured(pause, messages, idle))
    lines = [
        "| the loop | CPU while idle, share of a core | a message is seen after, median | 95 % within | other greenlets late, 95 % within |",
        "|---|---|---|---|---|",
    ]
    for pause, each in found.items():
        delays = sorted(delay for one in each for delay in one["delays"])
        cells = (
            f"{statistics.median(one['share'] for one in each):.1%}",
            _milliseconds(statistics.median(delays)),
            _milliseconds(delays[int(len(delays) * 0.95)]),
            _milliseconds(statistics.median(one["late"] for one in each)),
        )
        lines.append(f"| {LABELS[pause]} | {' | '.join(cells)} |")
    using = ", ".join(f"{name} {version}" for name, version in versions("confluent-kafka").items())
    lines.append("")
    lines.append(
        f"{runs} runs of {messages} messages and {idle:g} idle seconds for each row. "
        f"{using}. {machine.sentence()}"
    )
    return "\n".join([*lines, ""])


def main() -> int:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--quick", action="store_true", help="few messages")
    options = parser.parse_args()
    shown = table(*((3, 0.5, 1) if options.quick else (60, 5.0, 3)))
    if options.update:
        pages.write(PAGE, shown)
    else:
        print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
