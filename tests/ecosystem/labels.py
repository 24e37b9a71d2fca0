"""Compare what gblock reports with call sites that were labelled by hand in real services.

    python tests/ecosystem/labels.py LABELS.jsonl CHECKOUTS [--all] [--repo NAME]

LABELS.jsonl holds one call site a line: repo, commit, path, line, name_line, call, target, verdict
(blocks, safe or debatable) and tags. CHECKOUTS is a directory with a checkout of each repository,
at the commit that the labels name, in a directory called OWNER__NAME. None of it is part of gblock.
A call that blocks through an ORM is reported once, at the string that names its driver. Such a
label counts as covered, and a safe one must not be.
Exits 1 if a label without an excusing tag is judged wrongly.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gblock.config import Config
from gblock.diagnostics import Diagnostic
from gblock.engine import Request, check

# Blocks only through an ORM, or only in a process whose patching is understood.
BEYOND_CALLS = {"orm", "partial_patch", "missing_patch", "entrypoint"}
# Safe because of the process that runs it.
BEYOND_FILES = {"non_gevent"}


def reported(root: Path) -> dict[tuple[str, int], Diagnostic]:
    """Return gblock's diagnostics of a checkout, by path and by every row that a label may name."""
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = {}
    for diagnostic in check(
        Request([str(root)], config, min_severity="note", all_contexts=True)
    ).diagnostics:
        if diagnostic.context == "native-thread":
            continue  # counted as a call that no hub waits for
        path = str(Path(diagnostic.filename).resolve().relative_to(root.resolve()))
        for row in range(diagnostic.location.row, diagnostic.end_location.row + 1):
            found.setdefault((path, row), diagnostic)
    return found


def covered(label: dict[str, Any], found: Iterable[Diagnostic]) -> Diagnostic | None:
    """Return the diagnostic of the driver that a labelled call through an ORM uses."""
    through = (
        [one for one in found if one.code == "blocking-driver"] if "orm" in label["tags"] else ()
    )
    for diagnostic in through:
        for one in diagnostic.related:
            rows = (label["line"], label["name_line"])
            if one.context and one.filename.endswith(label["path"]) and one.location.row in rows:
                return diagnostic
    words = set(re.findall(r"[\w-]+", label["target"].lower()))
    for diagnostic in found if "orm" in label["tags"] else ():
        if diagnostic.code == "blocking-driver" and diagnostic.blocker is not None:
            if diagnostic.blocker.removesuffix("-driver") in words:
                return diagnostic
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--all", action="store_true", help="show excused labels, too")
    parser.add_argument("--repo", default="", help="only repositories with this in their name")
    options = parser.parse_args()
    labels = [json.loads(line) for line in options.labels.read_text().splitlines()]
    wrong, excused = 0, 0
    total: Counter[str] = Counter()
    for repo in sorted({label["repo"] for label in labels if options.repo in label["repo"]}):
        root = options.checkouts / repo.replace("/", "__")
        if not root.is_dir():
            print(f"{repo}: no checkout at {root}")
            wrong += 1
            continue
        start = time.perf_counter()
        found = reported(root)
        seconds = time.perf_counter() - start
        tally: Counter[str] = Counter()
        for label in (one for one in labels if one["repo"] == repo):
            rows = range(label["line"], label["name_line"] + 1)
            got = next((d for row in rows if (d := found.get((label["path"], row)))), None)
            verdict = label["verdict"]
            at_string = None if got else covered(label, found.values())
            how = "reported" if got else "covered at the driver's string" if at_string else "silent"
            tally[f"{verdict}, {how}"] += 1
            got = got or at_string
            if verdict == "debatable" or (verdict == "blocks") == (got is not None):
                continue
            excuse = set(label["tags"]) & (BEYOND_CALLS if verdict == "blocks" else BEYOND_FILES)
            excused += bool(excuse)
            wrong += not excuse
            if options.all or not excuse:
                what = "missed" if verdict == "blocks" else f"false alarm ({got.code})"
                why = f" [{', '.join(sorted(excuse))}]" if excuse else ""
                print(f"  {what}{why}: {label['path']}:{label['line']} {label['call']}")
        total.update(tally)
        print(f"{repo}: {dict(sorted(tally.items()))}, {seconds:.1f} s")
    print(f"all: {dict(sorted(total.items()))}; wrong: {wrong}, excused by tags: {excused}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
