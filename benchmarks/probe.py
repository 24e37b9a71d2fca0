"""What the probe costs: on and off in turns in one run, medians of ratios.

    python benchmarks/probe.py            all of it, about four minutes
    python benchmarks/probe.py switches   greenlets that do nothing but switch
    python benchmarks/probe.py http       gunicorn -k gevent under load from another process

Every round runs all variants in a random order; each is compared with the "off" of its round. The
row "off again" is what two equal things differ by on this machine: nothing below it is known.
"""

from __future__ import annotations

import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SWITCHES = """
from gevent import monkey; monkey.patch_all()
import gevent, time
def turn(stop):
    count = 0
    while time.perf_counter() < stop:
        for _ in range(200):
            gevent.sleep(0)
        count += 200
    return count
gevent.sleep(0.1)
start = time.process_time()
stop = time.perf_counter() + {seconds}
done = [gevent.spawn(turn, stop) for _ in range(10)]
gevent.joinall(done)
print(sum(each.value for each in done) / (time.process_time() - start))
"""
SERVICE = """
import json, time
body = json.dumps(list(range(50))).encode()
def app(environ, start_response):
    sum(range(2000))
    time.sleep(0.001)
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""
# One connection a thread of the system would need threads; a loop of select is enough.
LOAD = """
import selectors, socket, sys, time
port, seconds = int(sys.argv[1]), float(sys.argv[2])
request = b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
waiting, count = selectors.DefaultSelector(), 0
for _ in range(16):
    connection = socket.create_connection(("127.0.0.1", port))
    waiting.register(connection, selectors.EVENT_READ)
    connection.sendall(request)
end = time.perf_counter() + seconds
while time.perf_counter() < end:
    for key, _ in waiting.select(0.1):
        if key.fileobj.recv(65536).endswith(b"]"):
            count += 1
            key.fileobj.sendall(request)
print(count)
"""


def environment(variant: str, folder: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if "GBLOCK" not in name}
    clean.pop("GEVENT_MONITOR_THREAD_ENABLE", None)
    if variant == "probe":
        clean |= {"GBLOCK_PROBE": "1", "GBLOCK_PROBE_DIR": folder}
    elif variant == "gevent's monitor":
        clean |= {"GEVENT_MONITOR_THREAD_ENABLE": "1", "PYTHONWARNINGS": "ignore"}
    return clean


def switches(variant: str, folder: str) -> float:
    """Switches for each second of CPU time of the process, all its threads together."""
    script = SWITCHES.format(seconds=2)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(variant, folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def http(variant: str, folder: str) -> float:
    """Requests for each second of the server's CPU time, which others here change little."""
    Path(folder, "service.py").write_text(SERVICE, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "gunicorn", "-k", "gevent", "-b", f"127.0.0.1:{port}", "--log-level", "error"]
    words += ["--keep-alive", "60", "service:app"]
    server = subprocess.Popen(
        [sys.executable, *words], env=environment(variant, folder), cwd=folder
    )
    try:
        load(port, 0.7)
        worker = children(server.pid)[0]
        before = cpu_of(worker)
        count = load(port, 4)
        return count / (cpu_of(worker) - before)
    finally:
        server.terminate()
        server.wait()


def load(port: int, seconds: float) -> int:
    for _ in range(100):
        done = subprocess.run(
            [sys.executable, "-c", LOAD, str(port), str(seconds)], capture_output=True, text=True
        )
        if done.returncode == 0:
            return int(done.stdout)
        time.sleep(0.1)
    raise SystemExit(done.stderr)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_of(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def compare(title: str, measure, variants: list[str], rounds: int) -> None:
    ratios: dict[str, list[float]] = {variant: [] for variant in variants}
    rates: list[float] = []
    for _ in range(rounds):
        order = ["off", *variants]
        random.shuffle(order)
        found = {}
        for variant in order:
            with tempfile.TemporaryDirectory() as folder:
                found[variant] = measure(variant, folder)
        rates.append(found["off"])
        for variant in variants:
            ratios[variant].append(found[variant] / found["off"])
    rate = statistics.median(rates)
    print(f"\n{title}: {rate:,.0f} a CPU second with the probe off, {rounds} rounds")
    for variant, values in ratios.items():
        spread = statistics.stdev(values) / len(values) ** 0.5
        median, mean = statistics.median(values), statistics.mean(values)
        print(f"  {variant:<17} {median:6.3f}  (mean {mean:.3f}, standard error {spread:.3f})")


def main() -> None:
    chosen = sys.argv[1:] or ["switches", "http"]
    rounds = int(os.environ.get("ROUNDS", "9"))
    if "switches" in chosen:
        compare("Switches", switches, ["probe", "gevent's monitor", "off again"], rounds)
    if "http" in chosen:
        compare("Requests", http, ["probe", "gevent's monitor", "off again"], rounds)


if __name__ == "__main__":
    main()
