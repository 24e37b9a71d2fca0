"""Measure the probe's overhead: alternately on and off in one run, medians of ratios.

    python benchmarks/probe.py            all of it, about six minutes
    python benchmarks/probe.py switches   greenlets that do nothing but switch
    python benchmarks/probe.py http       gunicorn -k gevent under load from another process
    python benchmarks/probe.py pytest     tests that are watched by the pytest plug-in

Every round runs all variants in a random order; each is compared with the "off" of its round. The
row "off again" is what two equal things differ by on this machine: nothing below it is known.
`http` turns the probe on and off in one worker that stays under load, twice a second, so that
neither memory layout nor another process's start is between the two. `ROUNDS` sets how often.
`pytest` runs many and few tests that do nothing, watched and not: the difference of differences is
the cost of one test, without that of the probe's start.
"""

from __future__ import annotations

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
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
import gevent
from gblock import runtime_probe

body = json.dumps(list(range(50))).encode()
answered = 0

def off():
    runtime_probe.stop()
    hub = gevent.get_hub()
    if hub.periodic_monitoring_thread is not None:
        hub.periodic_monitoring_thread.kill()
        hub.periodic_monitoring_thread = None
    gevent.config.monitor_thread = False

def on(variant):
    if variant == "probe":
        runtime_probe.start()
    elif variant == "gevent's monitor":
        gevent.config.monitor_thread = True
        gevent.get_hub().start_periodic_monitoring_thread()

def of_the_thread():
    monitor = gevent.get_hub().periodic_monitoring_thread
    if monitor is None:
        return 0.0
    return time.clock_gettime(time.pthread_getcpuclockid(monitor.monitor_thread_ident))

def app(environ, start_response):
    global answered
    start_response("200 OK", [])
    if environ["PATH_INFO"] == "/now":
        now = [answered, time.process_time(), time.perf_counter(), of_the_thread()]
        return [json.dumps(now).encode()]
    if environ["PATH_INFO"] == "/turn":
        off()
        on(environ["QUERY_STRING"].replace("%20", " "))
        return [b"[]"]
    sum(range(2000))
    time.sleep(0.001)
    answered += 1
    return [body]
"""
# One connection a thread of the system would need threads; a loop of select is enough.
LOAD = """
import selectors, socket, sys, time
port, seconds = int(sys.argv[1]), float(sys.argv[2])
request = b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
waiting = selectors.DefaultSelector()
for _ in range(16):
    connection = socket.create_connection(("127.0.0.1", port))
    waiting.register(connection, selectors.EVENT_READ)
    connection.sendall(request)
end = time.perf_counter() + seconds
while time.perf_counter() < end:
    for key, _ in waiting.select(0.1):
        if key.fileobj.recv(65536).endswith(b"0\\r\\n\\r\\n"):
            key.fileobj.sendall(request)
"""


TESTS = """
from gevent import monkey; monkey.patch_all()
import gevent, pytest
@pytest.mark.parametrize("number", range({count}))
def test_nothing(number): gevent.sleep(0)
"""
MANY, FEW = 1000, 100
"""The numbers of tests in two sessions."""
WATCHED = ("--gblock-max-block=0.1",)


def environment(variant: str, folder: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if "GBLOCK" not in name}
    clean.pop("GEVENT_MONITOR_THREAD_ENABLE", None)
    clean["PYTHONWARNINGS"] = "ignore"
    if variant == "probe":
        clean |= {"GBLOCK_PROBE": "1", "GBLOCK_PROBE_DIR": folder}
    elif variant == "gevent's monitor":
        clean |= {"GEVENT_MONITOR_THREAD_ENABLE": "1"}
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


def http(variants: list[str], rounds: int, seconds: float = 0.5) -> None:
    """Requests for each second of the worker's CPU time, which others here change little."""
    found: dict[str, list[list[float]]] = {variant: [] for variant in ["off", *variants]}
    shares: dict[str, list[float]] = {variant: [] for variant in found}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "service.py").write_text(SERVICE, encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = ["-m", "gunicorn", "-k", "gevent", "-b", f"127.0.0.1:{port}"]
        words += ["--log-level", "error", "--keep-alive", "600", "service:app"]
        clean = environment("off", folder) | {"GBLOCK_PROBE_DIR": folder}
        server = subprocess.Popen([sys.executable, *words], env=clean, cwd=folder)
        length = str((rounds + 5) * 2 * len(found) * (seconds + 1))
        load = None
        try:
            turn(port, "off")
            load = subprocess.Popen([sys.executable, "-c", LOAD, str(port), length])
            time.sleep(2)
            for _ in range(rounds):
                # There and back, so that what drifts is the same for all.
                order = random.sample(list(found), len(found))
                rates: dict[str, list[tuple[float, float]]] = {variant: [] for variant in found}
                for variant in [*order, *reversed(order)]:
                    turn(port, variant)
                    time.sleep(0.1)
                    before = turn(port, None)
                    time.sleep(seconds)
                    after = turn(port, None)
                    count, cpu, wall, own = (b - a for a, b in zip(before, after, strict=True))
                    rates[variant].append((count / cpu, count / wall))
                    shares[variant].append(own / wall)
                for variant, both in rates.items():
                    found[variant].append(
                        [statistics.mean(each) for each in zip(*both, strict=True)]
                    )
        finally:
            for process in (load, server):
                if process is not None:
                    process.terminate()
                    process.wait()
    for which, unit in enumerate(["a CPU second", "a second of wall time"]):
        rate = statistics.median(each[which] for each in found["off"])
        print(f"\nRequests: {rate:,.0f} {unit} with the probe off, {rounds} rounds")
        for variant in variants:
            pairs = zip(found[variant], found["off"], strict=True)
            tell(variant, [one[which] / other[which] for one, other in pairs])
    print("\nThe monitor thread's own time, as a share of one processor")
    for variant in variants:
        median = statistics.median(shares[variant])
        print(f"  {variant:<17} {median:.2%}  (most {max(shares[variant]):.2%})")


def turn(port: int, variant: str | None) -> list[float]:
    """Turn to a variant, or to none; return requests, seconds of CPU and of the wall so far."""
    path = "/now" if variant is None else "/turn?" + variant.replace(" ", "%20")
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
                return [float(each) for each in json.load(answer)]
        except OSError:
            time.sleep(0.1)
    raise SystemExit("gunicorn does not answer")


def session(count: int, options: list[str]) -> tuple[float, float]:
    """Run pytest with so many tests; return its CPU time and its wall time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_it.py").write_text(TESTS.format(count=count), encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        begin = time.perf_counter()
        child = subprocess.Popen(
            [*words, "test_it.py"],
            env=environment("off", folder),
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):  # on a loaded host, a watched test may really block
        raise SystemExit(f"pytest ended with {child.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begin


def tests(rounds: int) -> None:
    """Print the cost of a watched test and of one that is not, of the least session of each kind.

    Other programs on the machine only add to a session, so that the least of several is nearest to
    what it costs alone.
    """
    cells = [(count, options) for count in (MANY, FEW) for options in ((), WATCHED)]
    found: dict[tuple[int, tuple[str, ...]], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for count, options in random.sample(cells, len(cells)):
            found.setdefault((count, options), []).append(session(count, list(options)))
    print(f"\nA test in ms, by the least of {rounds} sessions: not watched, and more if watched")
    for index, title in enumerate(("CPU time", "wall time")):
        least = {cell: min(each[index] for each in found[cell]) for cell in cells}
        plain, watched = (
            1000 * (least[MANY, options] - least[FEW, options]) / (MANY - FEW)
            for options in ((), WATCHED)
        )
        print(f"  {title:<10} {plain:.2f}  {watched - plain:.2f}")


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
        tell(variant, values)


def tell(variant: str, values: list[float]) -> None:
    """Print the median of ratios, with the interval that holds it in 95 of 100 runs."""
    medians = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(4000))
    low, high = medians[100], medians[-101]
    mean, spread = statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5
    print(
        f"  {variant:<17} {statistics.median(values):6.4f}  95 %: {low:.4f} to {high:.4f}"
        f"  (mean {mean:.4f}, standard error {spread:.4f})"
    )


def main() -> None:
    chosen = sys.argv[1:] or ["switches", "http", "pytest"]
    variants = ["probe", "gevent's monitor", "off again"]
    if "switches" in chosen:
        compare("Switches", switches, variants, int(os.environ.get("ROUNDS", "9")))
    if "http" in chosen:
        http(variants, int(os.environ.get("ROUNDS", "40")))
    if "pytest" in chosen:
        tests(int(os.environ.get("ROUNDS", "5")))


if __name__ == "__main__":
    main()
