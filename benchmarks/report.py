"""Measure `gblock report` on a fleet's records, compared with decoding the same lines alone.

    python benchmarks/report.py                               10 million records, 1,000 files: 2.6 GB
    python benchmarks/report.py --records 1000000 --files 100
    python benchmarks/report.py --dir DIR                     keep the records for the next run

The records are those of processes with 30 call sites each, as the probe writes them: blocks, and
with each heartbeat the totals of the sites that blocked. *Decoding alone* is
`msgspec.json.Decoder.decode_lines` into dictionaries, in as many processes as there are CPUs, with
nothing kept; *typed* decodes into the record types of gblock. Memory is the proportional set size
of all processes of the command, sampled every 50 ms. Needs Linux for that.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

NAMES = {"plain": "decoding alone", "typed": "decoding, typed", "report": "gblock report"}
SITES = 30
BEAT = 50
"""Blocks between two heartbeats."""
KINDS = ("waits", "waits", "waits", "gil", "cpu", "gc", "starved")
DECODE = """
import sys, msgspec
from gblock.observations.records import Record
decoder = msgspec.json.Decoder(Record) if sys.argv[1] == "typed" else msgspec.json.Decoder()
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        rest = b""
        while chunk := file.read(1 << 18):
            head, end, rest = (rest + chunk).rpartition(b"\\n")
            decoder.decode_lines(head)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dir", help="where the records are, or are to be kept")
    options = parser.parse_args()
    folder = Path(options.dir or tempfile.mkdtemp())
    try:
        measure(folder, options)
    finally:
        if not options.dir:
            shutil.rmtree(folder)


def measure(folder: Path, options: argparse.Namespace) -> None:
    if not list(folder.glob("*.jsonl")):
        folder.mkdir(exist_ok=True)
        for number in range(options.files):
            write(folder, number, options.records // options.files)
    files = sorted(map(str, folder.glob("*.jsonl")))
    size = sum(os.path.getsize(path) for path in files)
    lines = sum(data.count(b"\n") for path in files for data in chunks(path))
    cpus = len(os.sched_getaffinity(0))
    print(f"{lines:,} records, {len(files):,} files, {size / 1e9:.2f} GB, {cpus} CPUs")
    report = [sys.executable, "-m", "gblock", "report", str(folder), "--exit-zero", "-q"]
    command = [*report, "--isolated", "--format", "json"]
    times: dict[str, list[tuple[float, float]]] = {}
    peak = 0.0
    for _ in range(options.runs):
        for how in ("plain", "typed"):
            with clock(times.setdefault(how, [])):
                decode(how, files, cpus)
        with clock(times.setdefault("report", [])):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            while process.poll() is None:
                peak = max(peak, memory(process.pid))
                time.sleep(0.05)
        assert process.returncode == 0
    print(f"{'':16} {'wall, s':>8} {'CPU, s':>8} {'times decoding, wall':>22} {'CPU':>5}")
    base = medians(times["plain"])
    for how, name in NAMES.items():
        wall, cpu = medians(times[how])
        print(f"{name:16} {wall:8.1f} {cpu:8.1f} {wall / base[0]:22.2f} {cpu / base[1]:5.2f}")
    print(f"{lines / medians(times['report'])[0]:,.0f} records a second")
    print(f"peak memory {peak / 1e6:.0f} MB")


@contextlib.contextmanager
def clock(times: list[tuple[float, float]]) -> Iterator[None]:
    """Add the wall time and the CPU time of the children that end meanwhile."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    yield
    ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    times.append((ended - begun, cpu))


def medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    wall, cpu = zip(*times, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def decode(how: str, files: list[str], cpus: int) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", DECODE, how, *files[index::cpus]])
        for index in range(cpus)
    ]
    for process in processes:
        assert process.wait() == 0


def chunks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk


def memory(pid: int) -> float:
    """Return the bytes of a process and of its children; 0 where one has just ended."""
    total, found = 0.0, [pid]
    while found:
        one = found.pop()
        try:
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += 1024 * int(text.partition("\nPss:")[2].split()[0])
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except (OSError, IndexError):
            continue
    return total


def write(folder: Path, number: int, records: int) -> None:
    """Write the file of one process."""
    draw = random.Random(number)
    start = 1_763_700_000.0 + draw.uniform(0, 3600)
    host, pid = f"web-{number % 40}", 100 + number
    lines: list[dict[str, object]] = [
        {
            "type": "start", "t": start, "version": 1, "gblock": "0.1.0", "pid": pid, "ppid": 1,
            "host": host, "argv": ["gunicorn", "-k", "gevent"], "python": "3.11.7",
            "threshold": 0.1, "period": 0.04, "heartbeat": 60.0, "gevent": "26.9.0",
            "greenlet": "3.5.6", "hub": "Hub-1", "thread": pid, "loop": "gevent.libev.corecext",
        }
    ]  # fmt: skip
    for site in range(1, SITES + 1):
        user = {"file": f"/app/shop/m{site}.py", "module": f"shop.m{site}", "line": site * 3}
        user |= {"function": f"f{site}", "user": True}
        outer = [
            {"file": f"/usr/lib/python3/site-packages/lib{i}.py", "module": f"lib{i}", "line": i,
             "function": "call", "user": False}
            for i in range(8)
        ]  # fmt: skip
        symbol = "confluent_kafka.Consumer.poll" if site % 3 else f"acme.call{site}"
        lines.append(
            {"type": "site", "site": site, "symbol": symbol, "callable": symbol, "user": user,
             "stack": [*outer, user]}
        )  # fmt: skip
    totals: dict[tuple[int | None, str], list[float]] = {}
    changed: set[tuple[int | None, str]] = set()
    time_, blocks, blocked = start, 0, 0.0
    while len(lines) < records - 1:
        time_ += draw.expovariate(1 / 1.2)
        kind = draw.choice(KINDS)
        site_ = None if kind == "starved" else int(draw.paretovariate(0.7)) % SITES + 1
        seconds = round(0.1 + draw.expovariate(4), 6)
        lines.append(
            {"type": "block", "t": time_, "duration": seconds, "class": kind, "site": site_,
             "greenlet": draw.choice(["Greenlet.run", "main", "handle"]),
             "syscall": "futex" if kind == "waits" else None,
             "native": ["librdkafka.so.1"] if kind == "waits" else [],
             "confidence": "exact" if kind in ("waits", "gil") else "none",
             "patched": "all", "hub": "Hub-1"}
        )  # fmt: skip
        blocks, blocked = blocks + 1, blocked + seconds
        sum_ = totals.setdefault((site_, kind), [0, 0.0, 0.0])
        sum_[0], sum_[1], sum_[2] = sum_[0] + 1, sum_[1] + seconds, max(sum_[2], seconds)
        changed.add((site_, kind))
        time_ += seconds
        if blocks % BEAT == 0:
            for key in sorted(changed, key=str):
                count, total, most = totals[key]
                lines.append(
                    {"type": "total", "t": time_, "site": key[0], "class": key[1], "count": count,
                     "exact": 0, "seconds": round(total, 6), "max": most, "histogram": [0] * 11}
                )  # fmt: skip
            changed = set()
            lines.append(
                {"type": "heartbeat", "t": time_, "blocks": blocks, "blocked": round(blocked, 6),
                 "dropped": 0, "samples": 25 * blocks, "busy": blocks, "lags": [0] * 11,
                 "loop_lag_max": 0.2, "state": "idle", "hub": "Hub-1"}
            )  # fmt: skip
    lines.append({"type": "end", "t": time_, "reason": "exit", "error": None})
    data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / f"{host}-{pid}-{int(start)}.jsonl").write_text(data)


if __name__ == "__main__":
    main()
