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
from gblock.project.names.inference import Inference
from gblock.project.processes.process import NONE
from gblock.project.processes.processes import Processes
from gblock.project.processes.servers import NO, YES
from gblock.project.reading.modules import Modules
from gblock.project.remarks.order import Order

# Facts that are no calls, or calls of something that only looks like gevent's.
NO_PATCH = {"collision", "not_needed", "non_gevent_process", "side_effect"}
# Facts about processes.
PROCESS = {"worker_class", "missing", "side_effect", "non_gevent_process"}
# What disagrees, and why that is right or cannot be helped.
EXPLAINED = {
    ("GSA-TTS/FAC", "repository"): "the checkout ends before gunicorn.conf.py",
    ("Parsely/pykafka", "pykafka/handlers.py:134"): "an option of a library, no process",
    ("Parsely/pykafka", "pykafka/topic.py:94"): "an option of a library, no process",
    ("axgkl/devapps", "src/devapp/app.py:11"): "the import that leads to a patch that is found",
}
LAUNCHER = "the launcher that also starts the gevent process imports it in another branch"
BY_WEB = "the web process on gevent imports it at its start; its time.sleep is patched there"
COMMANDS = "drift-admin imports all its commands; the one that patches does so in a function"
# Reasons why gblock does not classify a file as running without gevent although a label does. The
# processes that reach a file are in ``gblock processes --output-format json``.
EXPLAINED_SHARED = {
    ("dgnorth/drift", "drift/management/commands/ami.py"): COMMANDS,
    ("dgnorth/drift", "drift/management/commands/logs.py"): COMMANDS,
    ("dgnorth/drift", "drift/management/gittools.py"): COMMANDS,
    ("projectcalico/felix", "calico/etcddriver/driver.py"): LAUNCHER,
    ("projectcalico/felix", "calico/etcddriver/protocol.py"): "calico/felix/fetcd.py imports it",
    ("quay/quay", "buildman/orchestrator.py"): BY_WEB,
    ("quay/quay", "workers/queueworker.py"): BY_WEB,
    ("uktrade/data-hub-api", "datahub/core/queues/retry.py"): BY_WEB,
    ("uktrade/data-hub-api", "datahub/export_win/export_wins_api.py"): "only tests lead to it",
}
# Circumstances that the facts have no word for.
UNTOLD = {"through_function", "unparsed", "loop"}


def project(root: Path) -> Inference:
    found = files.find([str(root)])
    modules = Modules(str(root), [str(Path(path).resolve()) for path in found.files])
    return Inference(modules, catalog.load())


def compare_patches(facts, patches, root, tally) -> int:
    wrong = 0
    got = {(str(Path(p.path).relative_to(root)), p.row): p for p in patches}
    seen = set()
    for fact in facts:
        key = (fact["path"], fact["line"])
        kinds = set(fact.get("kinds") or [fact.get("kind")])
        patch = got.get(key)
        seen.add(key)
        if kinds == {"unparsed"}:
            tally["look-alikes and notes"] += 1
            seen |= {one for one in got if one[0] == fact["path"]}
            continue
        if kinds & (PROCESS - NO_PATCH):
            continue
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


def compare_order(facts, processes, root, tally) -> int:
    """Return whether something that has to be patched first is imported before a patch."""
    wrong = 0
    late = {}
    for process in processes.all():
        if process.is_gevent_service:
            for step, patch in Order(processes).late(process):
                key = (str(Path(patch.path or step.path).relative_to(root)), patch.row)
                late.setdefault(key, []).append(f"{step.symbol} ({step.path}:{step.row})")
    for fact in facts:
        if not fact.get("line") or fact.get("imports_before") is None:
            continue
        if "green_driver" in fact["kinds"] or set(fact["kinds"]) & NO_PATCH:
            continue
        tally["orders"] += 1
        found = late.pop((fact["path"], fact["line"]), [])
        if bool(found) == bool(fact["risky_imports_before"]):
            tally["orders agree"] += 1
        else:
            wrong += 1
            print(f"  order: {fact['path']}:{fact['line']}: {found}")
    for key, found in late.items():
        tally["late beyond the facts"] += 1
        print(f"  late beyond the facts: {key}: {found}")
    return wrong


def compare_processes(facts, labels, processes, root, tally) -> int:
    """The facts about processes, the repository's evidence, and what has no gevent."""
    wrong = 0
    places = {}
    for process in processes.all():
        for evidence in process.evidence:
            key = (str(Path(evidence.path).relative_to(root)), evidence.row)
            places.setdefault(key, []).append(process)
    patches = {(str(Path(p.path).relative_to(root)), p.row) for p in processes.patching.all()}
    for fact in facts:
        kinds = set(fact.get("kinds") or [fact.get("kind")])
        if not kinds & PROCESS:
            continue
        found = processes.reaching(str(root / fact["path"]))
        if kinds & {"worker_class", "side_effect"}:
            good = any(p.runs_on_gevent == YES for p in found)
        elif "missing" in kinds:
            good = any(p.runs_on_gevent == YES and p.patched == NONE for p in found)
        else:
            good = any(p.runs_on_gevent == NO for p in found)
        tally["process facts"] += 1
        tally["process facts agree"] += good
        if not good:
            wrong += 1
            print(f"  process: {fact['path']} {sorted(kinds)}: {[p[:4] for p in found]}")
    truth = labels[0]["gevent"]
    tally["repositories"] += 1
    can = any(p.runs_on_gevent != NO for p in processes.all()) or bool(patches)
    if processes.has_gevent == (truth == "yes") and (truth != "optional" or can):
        tally["repositories agree"] += 1
    else:
        why = EXPLAINED.get((labels[0]["repo"], "repository"))
        wrong += why is None
        print(f"  repository: gevent {truth}, got {processes.has_gevent}; explained: {why}")
    for path, row in re.findall(r"([\w./-]+):(\d+)", labels[0]["gevent_evidence"]):
        tally["places of evidence"] += 1
        near = [key for key in {*places, *patches} if key[0].endswith(path)]
        if any(abs(key[1] - int(row)) <= 8 and key[1] <= int(row) for key in near):
            tally["places of evidence found"] += 1
        else:
            why = EXPLAINED.get((labels[0]["repo"], f"{path}:{row}"))
            if not list(root.rglob(f"*/{path}")) and not (root / path).exists():
                why = "no such file in the checkout"
            wrong += why is None
            print(f"  evidence not found: {path}:{row}; explained: {why}")
    for label in labels:
        path = str(root / label["path"])
        if not (root / label["path"]).exists():
            tally["labels in files that the checkout lacks"] += 1
            continue
        without = processes.only_without_gevent(path)
        if "non_gevent" in label["tags"]:
            tally["labels without gevent"] += 1
            tally["labels without gevent agree"] += without
            if not without:
                why = EXPLAINED_SHARED.get((label["repo"], label["path"]))
                tally["labels without gevent explained"] += why is not None
                wrong += why is None
                names = [(p.name, p.runs_on_gevent) for p in processes.reaching(path)]
                print(f"  may run on gevent: {label['path']}:{label['line']}; explained: {why}")
                print("     ", names[:6])
        elif without:
            tally["silenced otherwise"] += 1
            if label["verdict"] == "blocks":
                wrong += 1
                print(f"  SILENCED: {label['path']}:{label['line']} {label['call']}")
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
        processes = Processes(inference)
        patches = processes.patching.all()
        table = processes.all()
        seconds = time.perf_counter() - start
        print(f"{repo}: {len(patches)} patches, {len(table)} processes, {seconds:.1f} s")
        for process in table if options.table else ():
            print("   ", process.runs_on_gevent, process.kind, process.name, process.patched)
            print("       ", process.why, len(processes.modules_of(process)), "modules")
        here = [f for f in facts if f["repo"] == repo]
        wrong += compare_patches(here, patches, root, tally)
        wrong += compare_order(here, processes, root, tally)
        mine = [one for one in labels if one["repo"] == repo]
        wrong += compare_processes(here, mine, processes, root, tally)
    print(dict(tally), "wrong:", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
