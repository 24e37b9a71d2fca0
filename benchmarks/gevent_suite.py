"""Run gevent's own test-suite with and without the probe, and compare the results.

    python benchmarks/gevent_suite.py                       all modules, about an hour
    python benchmarks/gevent_suite.py test__pool.py ...     some of them
    python benchmarks/gevent_suite.py --part 1/4            every fourth module

Run it with a Python that has gevent and gblock. Each module runs twice in a process of its own,
by `python -m gevent.tests MODULE`, in a random order: without the probe, and with the variables that
`gblock run` sets, so that the probe also watches hubs of processes that never patch. Many of
gevent's tests depend on time, so a module with a test that fails with the probe alone runs again, up
to `--again` times each way. The exit code is 1 if a test fails whenever the probe runs and never
without it, unless it is in `COUNTS` or fails with gevent's own monitor alone (`monitor`), or if
other tests run.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

COUNTS = {
    "test_threadpool_in_patched_after_patch": "counts native threads",
    "test_threadpool_in_patched_after_patch_module": "counts native threads",
    "test_threadpool_not_patched_after_patch_module": "counts native threads",
}
"""The tests that the probe alone makes fail, and why."""
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_RAN = re.compile(r"^Ran (\d+) tests?(?: \(skipped=(\d+)\))? in \d+ files?", re.MULTILINE)
_LOST = re.compile(r"^\s*(?:FAIL|ERROR): (\S+ \(\S+\))", re.MULTILINE)


class Result(NamedTuple):
    """The result of one run of a module."""

    lost: frozenset[str]
    """The tests that failed, or `the module`."""
    ran: int
    skipped: int
    watched: int
    """Processes in which the probe watched a hub."""
    blocks: int
    """Blocks that the probe recorded."""


NOTHING = Result(frozenset(), 0, 0, 0, 0)


def modules() -> list[str]:
    import gevent.tests

    folder = Path(gevent.tests.__file__).parent
    return sorted(path.name for path in folder.glob("test__*.py"))


def run(module: str, *, probe: bool, options: argparse.Namespace, monitor: bool = False) -> Result:
    own = {name: value for name, value in os.environ.items() if "GBLOCK" not in name}
    with tempfile.TemporaryDirectory() as folder:
        if monitor:
            own["GEVENT_MONITOR_THREAD_ENABLE"] = "1"
        if probe:
            own |= {"GBLOCK_PROBE": "1", "GBLOCK_PROBE_DIR": folder}
            if not options.patched_only:
                own |= {"GEVENT_MONITOR_THREAD_ENABLE": "1", "GBLOCK_PROBE_OWNS_MONITOR": "1"}
        words = [sys.executable, "-m", "gevent.tests", "-j", "1", "-u-network", module]
        try:
            done = subprocess.run(
                words,
                env=own,
                timeout=options.timeout,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Result(frozenset(["the module: no end"]), 0, 0, 0, 0)
        records = [path.read_bytes() for path in Path(folder).rglob("*.jsonl*")]
    text = _COLOUR.sub("", done.stdout.decode(errors="replace"))
    lost = frozenset(_LOST.findall(text) or ["the module"]) if done.returncode else frozenset()
    found = _RAN.search(text)
    ran, skipped = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    blocks = sum(data.count(b'"type":"block"') for data in records)
    return Result(lost, ran, skipped, len(records), blocks)


def compared(module: str, options: argparse.Namespace) -> tuple[str, str, Result, Result]:
    """Return the outcome of a module, a remark, and its first results: without and with."""
    first: dict[bool, Result] = {}
    for probe in random.sample([False, True], 2):
        first[probe] = run(module, probe=probe, options=options)
    off, on = first[False], first[True]
    ever, always, runs = off.lost, on.lost, 1
    while always - ever and runs <= options.again:
        runs += 1
        always &= run(module, probe=True, options=options).lost
        if always - ever:
            ever |= run(module, probe=False, options=options).lost
    slow = frozenset[str]()
    if always - ever and not options.patched_only:
        slow = (always - ever) & run(module, probe=False, monitor=True, options=options).lost
        if slow >= always - ever:
            which = ", ".join(sorted(slow))
            return "monitor", f"{which}: fails with gevent's own monitor, too", off, on
    if always - ever:
        which = ", ".join(sorted(always - ever))
        reasons = {COUNTS.get(name.partition(" ")[0]) for name in always - ever - slow}
        if None not in reasons:
            return "expected", f"{which}: {', '.join(sorted(map(str, reasons)))}", off, on
        return "DIFFERS", which, off, on
    if (off.ran, off.skipped) != (on.ran, on.skipped):
        counts = f"{off.ran} tests, {off.skipped} skipped; with the probe {on.ran}, {on.skipped}"
        return "OTHER TESTS", counts, off, on
    if ever or on.lost:
        return "same", f"failed: {', '.join(sorted(ever | on.lost))}; {runs} runs each", off, on
    return "same", "", off, on


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--part", default="1/1", help="I/N: every N-th module, from the I-th")
    parser.add_argument("--jobs", type=int, default=1, help="modules at the same time")
    parser.add_argument("--again", type=int, default=3)
    parser.add_argument(
        "--patched-only", action="store_true", help="only `GBLOCK_PROBE=1`: where modules patch"
    )
    parser.add_argument("--timeout", type=float, default=400, help="seconds for one module")
    parser.add_argument("--stop-after", type=float, default=1e9, help="seconds for all")
    options = parser.parse_args()
    which, of = map(int, options.part.split("/"))
    chosen = options.modules or modules()[which - 1 :: of]
    began = time.monotonic()
    counts: Counter[str] = Counter()
    tests = watched = blocks = 0

    def one(module: str) -> tuple[str, str, Result, Result] | None:
        is_late = time.monotonic() - began > options.stop_after
        return None if is_late else compared(module, options)

    with ThreadPoolExecutor(options.jobs) as threads:
        for module, found in zip(chosen, threads.map(one, chosen), strict=True):
            word, remark, off, on = found or ("not run", "", NOTHING, NOTHING)
            counts[word] += 1
            tests, blocks = tests + off.ran, blocks + on.blocks
            watched += on.watched > 0
            if found is not None:
                probed = f"{on.watched:3} probed" if on.watched else ""
                print(f"{word:15} {module:42} {off.ran:4} tests {probed:10} {remark}", flush=True)
    print(f"\n{len(chosen)} modules: {', '.join(f'{n} {word}' for word, n in counts.items())}")
    print(f"{tests} tests; the probe ran in {watched} modules and recorded {blocks} blocks")
    return 1 if counts["DIFFERS"] or counts["OTHER TESTS"] else 0


if __name__ == "__main__":
    sys.exit(main())
