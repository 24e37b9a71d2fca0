"""Measures the calls of the catalog's [[harmless]] blocks, each under gevent beside a heartbeat.

    python benchmarks/harmless.py             # a table; exit 1 where one blocks the hub
    python benchmarks/harmless.py --update    # writes the figures beside the catalog

A call names what it needs by its dotted name, and that is imported before the clock runs. The
packages have to be installed where this runs; those that are not are left as they are.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import json
import re
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
TICK = 0.001
"""Seconds between two beats of the heart."""
TIMES = 5
LIMIT = 0.02
"""Seconds that a call may take whose input does not grow."""
PER_MEGABYTE = 0.005
"""Seconds for each megabyte of ordinary text or bytes: 10 MB, a large request, take 50 ms."""
PER_MILLION = 0.05
"""Seconds for a million elements: about what a loop of Python's over them takes."""


def names(tree):
    """The dotted names in a call that it does not bind itself."""
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    bound |= {a.arg for n in ast.walk(tree) if isinstance(n, ast.arguments) for a in n.args}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            text = ast.unparse(node)
            if re.fullmatch(r"[\w.]+", text) and text.partition(".")[0] not in bound:
                if not hasattr(builtins, text.partition(".")[0]):
                    yield text


def limit(entry):
    """The longest time of one call of a harmless package, in seconds, by the size of its input."""
    if entry.megabytes is not None:
        return entry.megabytes * PER_MEGABYTE
    return LIMIT if entry.millions is None else entry.millions * PER_MILLION


def measured(given, call):
    """Run a call a few times in a process of its own that was patched."""
    from gevent import monkey

    monkey.patch_all()
    import gevent

    tree = ast.parse(call)
    scope = {}
    for name in {*names(ast.parse(given)), *names(tree)} - {"given"}:
        parts = name.split(".")
        scope[parts[0]] = importlib.import_module(parts[0])
        for end in range(2, len(parts) + 1):
            try:
                importlib.import_module(".".join(parts[:end]))
            except ImportError:
                break
    scope["given"] = eval(given, scope)
    code = compile(tree, "call", "exec")
    exec(code, scope)
    gaps, beats = [], []

    def heart():
        while True:
            before = time.perf_counter()
            gevent.sleep(TICK)
            beats.append(time.perf_counter() - before - TICK)

    gevent.spawn(heart)
    gevent.sleep(0.05)
    took = []
    for _ in range(TIMES):
        beats.clear()
        before = time.thread_time()
        exec(code, scope)
        took.append(time.thread_time() - before)
        gevent.sleep(0.02)
        gaps.append(max(beats))
    # Seconds of CPU, and the least disturbed run: waiting for a CPU that others have is no work.
    return min(took), min(gaps)


def main():
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(*sys.argv[2:])))
        return 0
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from evidence import figures

    from gblock import catalog

    found, blocked = {}, 0
    for entry in catalog.load().harmless:
        if entry.evidence.call is None or entry.evidence.reference:
            continue  # it needs a server: measured by hand
        try:
            version = metadata.version(entry.distribution)
        except metadata.PackageNotFoundError:
            print(f"{entry.distribution:<24} not installed")
            continue
        command = [sys.executable, __file__, "--one", entry.given or "None", entry.evidence.call]
        run = subprocess.run(command, capture_output=True, text=True, timeout=200)
        if run.returncode:
            print(f"{entry.distribution:<24} failed: {run.stderr.strip().splitlines()[-1:]}")
            blocked += 1
            continue
        took, gap = json.loads(run.stdout.splitlines()[-1])
        verdict = "" if took < limit(entry) else f"  above {limit(entry):.3f} s: make it opt-in"
        blocked += bool(verdict)
        print(f"{entry.distribution:<24} {version:<12} {took:.6f} s  gap {gap:.4f} s{verdict}")
        took, gap = round(took, 6), round(gap, 4)
        found[entry.distribution] = {"version": version, "elapsed": took, "max_gap": gap}
    if "--update" in sys.argv:
        figures.update(found)
    return 1 if blocked else 0


if __name__ == "__main__":
    sys.exit(main())
