"""Measure how often the probe's blame is right: `python benchmarks/blame.py [--blocks N] [--python P ...]`.

Programs are drawn at random (`tests/blaming.py`), run with the hub idle, turning every 10 ms and
busy, on this machine as it is and beside three processes that take its processors, and compared
with what they themselves know.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import blaming

_EACH = 10
"""Blocks of one program."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=300, help="blocks in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", action="append", help="an interpreter with gblock and gevent")
    parser.add_argument("--hogs", type=int, default=3)
    parser.add_argument("--quiet-only", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    pythons = options.python or [sys.executable]
    loads = [0] if options.quiet_only else [0, options.hogs]
    combinations = [(p, h, n) for n in loads for p in pythons for h in blaming.HUBS]
    programs = -(-options.blocks // _EACH)
    cases: list[tuple[str, str, int, blaming.Case]] = []
    for number in range(programs):
        python, hub, hogs = combinations[number % len(combinations)]
        others = [
            subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(hogs)
        ]
        try:
            with tempfile.TemporaryDirectory() as folder:
                seed = options.seed * 1000 + number
                found = blaming.run(seed, _EACH, hub, Path(folder), executable=python)
        finally:
            for other in others:
                other.kill()
                other.wait()
        cases += [(python, hub, hogs, case) for case in found]
        for case in found:
            if case.is_wrong or (case.counts and case.confidence != "exact") or options.verbose:
                word = "WRONG" if case.is_wrong else "     "
                piece = case.drawn.piece
                print(word, seed, python.split("/")[-3], hub, hogs, piece.family, repr(piece.code[-60:]),
                      round(case.seconds, 3), case.kind, case.confidence, case.symbol, case.function,
                      case.candidates, flush=True)  # fmt: skip
    print()
    print("| hub | beside | blocks | `exact` wrong | waits and GIL-held calls | of them `exact` |")
    print("|---|---|---|---|---|---|")
    for hub in (*blaming.HUBS, "all"):
        for hogs in loads:
            some = [c for _, h, n, c in cases if hub in (h, "all") and n == hogs]
            counting = [c for c in some if c.counts]
            exact = sum(c.confidence == "exact" and not c.is_wrong for c in counting)
            share = f"{exact / len(counting):.0%}" if counting else "-"
            wrong = sum(c.is_wrong for c in some)
            beside = f"{hogs} hogs" if hogs else "nothing"
            print(f"| {hub} | {beside} | {len(some)} | {wrong} | {len(counting)} | {share} |")
    print()
    families = Counter((c.drawn.piece.family, c.confidence or "not seen") for *_, c in cases)
    for (family, word), count in sorted(families.items()):
        print(f"{family:12} {word:8} {count}")
    return 1 if any(c.is_wrong for *_, c in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
