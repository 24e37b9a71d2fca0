"""The time that an installed gblock adds to the start of a service: absent, probe off, probe on.

    python benchmarks/start.py [ROUNDS]

Run it with a Python that has gevent and pip, and not gblock. The service is a process that imports gevent, patches and ends. gblock is installed with
`pip install --no-deps` into a directory of its own, which is on the import path or replaced by an
empty one. Every round runs all variants in a random order; "absent again" is what two equal
things differ by on this machine. CPU time is that of the whole process, by its rusage.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
SERVICE = "from gevent import monkey; monkey.patch_all(); import gevent; gevent.sleep(0)"
VARIANTS = ("absent", "probe off", "probe on", "absent again")


def started(variant: str, installed: Path, empty: Path, records: Path) -> tuple[float, float]:
    """Start the service once; return its CPU time and its wall time in seconds."""
    own = {name: value for name, value in os.environ.items() if "GBLOCK" not in name}
    own["PYTHONPATH"] = str(empty if variant.startswith("absent") else installed)
    own["PYTHONWARNINGS"] = "ignore"
    if variant == "probe on":
        own |= {"GBLOCK_PROBE": "1", "GBLOCK_PROBE_DIR": str(records)}
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", SERVICE], env=own, cwd=records)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"the service ended with {child.returncode}")
    return used.ru_utime + used.ru_stime, wall


def main() -> None:
    if any(one.name == "gblock" for one in metadata.distributions()):
        raise SystemExit("run it with a Python that has gevent and pip, and not gblock")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as folder:
        installed, empty, records = (Path(folder, name) for name in ("own", "empty", "records"))
        empty.mkdir()
        records.mkdir()
        words = ["install", "--quiet", "--no-deps", "--target", str(installed), str(ROOT)]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True)
        found: dict[str, list[tuple[float, float]]] = {variant: [] for variant in VARIANTS}
        for number in range(rounds + 2):
            for variant in random.sample(VARIANTS, len(VARIANTS)):
                times = started(variant, installed, empty, records)
                if number > 1:  # the first fill the page cache
                    found[variant].append(times)
    print(f"Medians of {rounds} rounds, in ms; in brackets the difference from absent, by rounds")
    for which, title in enumerate(("CPU time", "wall time")):
        print(f"\n{title}")
        for variant in VARIANTS:
            times = [each[which] * 1000 for each in found[variant]]
            pairs = zip(found[variant], found["absent"], strict=True)
            more = statistics.median((one[which] - other[which]) * 1000 for one, other in pairs)
            print(f"  {variant:<13} {statistics.median(times):7.1f}  ({more:+.1f})")


if __name__ == "__main__":
    main()
