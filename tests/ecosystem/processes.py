"""Compare the patches and processes that gblock finds with facts read by hand in real services.

    python tests/ecosystem/processes.py FACTS.jsonl LABELS.jsonl CHECKOUTS [--repo NAME] [--table]

FACTS.jsonl holds one patching call a line: repo, path, line, call, kinds. LABELS.jsonl holds call
sites with what the reader wrote of their repository in the fields gevent and gevent_evidence.
CHECKOUTS is a directory with a checkout of each repository in a directory called OWNER__NAME.
Exits 1 if anything disagrees that is not explained below.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from gblock import catalog, files
from gblock.project.inference import Inference
from gblock.project.modules import Modules
from gblock.project.patching import Patching

# Facts that are no calls, or calls of something that only looks like gevent's.
NO_PATCH = {"collision", "not_needed", "non_gevent_process", "side_effect", "unparsed"}
# Circumstances that the facts have no word for.
UNTOLD = {"through_function", "unparsed", "loop"}


def project(root: Path) -> Inference:
    found = files.find([str(root)])
    modules = Modules(str(root), [str(Path(path).resolve()) for path in found.files])
    return Inference(modules, catalog.load())


def compare_patches(repo, facts, patches, root, tally) -> int:
    wrong = 0
    got = {(str(Path(p.path).relative_to(root)), p.row): p for p in patches}
    seen = set()
    for fact in facts:
        key = (fact["path"], fact["line"])
        kinds = set(fact.get("kinds") or [fact.get("kind")])
        patch = got.get(key)
        seen.add(key)
        if kinds & NO_PATCH:
            tally["look-alikes and notes"] += 1
            if patch is not None:
                wrong += 1
                print(f"  patch: {key}: {patch.kinds}, though {sorted(kinds)}")
            continue
        tally["patches"] += 1
        if patch is None:
            where = "" if (root / fact["path"]).exists() else " (the checkout lacks this file)"
            wrong += not where
            print(f"  patch missed{where}: {key} {fact['call']} {sorted(kinds)}")
        elif set(patch.kinds) - UNTOLD != kinds:
            wrong += 1
            print(f"  patch kinds: {key} {fact['call']}: {patch.kinds}, facts {sorted(kinds)}")
        else:
            tally["patches agree"] += 1
    for key, patch in sorted(got.items()):
        if key not in seen:
            tally["patches beyond the facts"] += 1
            print(f"  beyond the facts: {key} {patch.text} {patch.kinds}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("facts", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--repo", default="", help="only repositories with this in their name")
    parser.add_argument("--table", action="store_true", help="show every process")
    options = parser.parse_args()
    facts = [json.loads(line) for line in options.facts.read_text().splitlines()]
    labels = [json.loads(line) for line in options.labels.read_text().splitlines()]
    wrong = 0
    tally: Counter[str] = Counter()
    for repo in sorted({label["repo"] for label in labels if options.repo in label["repo"]}):
        root = (options.checkouts / repo.replace("/", "__")).resolve()
        start = time.perf_counter()
        inference = project(root)
        patching = Patching(inference)
        patches = patching.all()
        seconds = time.perf_counter() - start
        print(f"{repo}: {len(patches)} patches, {seconds:.1f} s")
        wrong += compare_patches(
            repo, [f for f in facts if f["repo"] == repo], patches, root, tally
        )
    print(dict(tally), "wrong:", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
