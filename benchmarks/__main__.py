"""Measure all evidence and all stories again, and rewrite the figures, tables and pictures.

    python -m benchmarks                about two hours, on a machine with the services
    python -m benchmarks --quick        what CI runs of it; nothing is written

Needs the services that `tests/evidence/README.md` names; what cannot be had is said and left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WHOLE = (
    ["tests.evidence", "--venv", ".evidence", "--update"],
    ["tests.evidence.rest"],
    ["benchmarks.stories", "--update"],
    ["benchmarks.polling", "--update"],
    ["pytest", "--update", "tests/test_docs.py"],
)
QUICK = (["tests.evidence", "--quick"], ["benchmarks.stories", "--quick"])


def main() -> int:
    """Run the steps; all of them, also after one that failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small part, nothing is written")
    failed = 0
    for step in QUICK if parser.parse_args().quick else WHOLE:
        print("+ python -m", *step, flush=True)
        failed |= subprocess.run([sys.executable, "-m", *step], cwd=ROOT).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
