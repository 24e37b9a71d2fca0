"""Draw diagnostics of real services for a reader to judge, and score what the reader says.

    python tests/ecosystem/judging.py draw CHECKOUTS [--count 80] [--seed 0] [--repo NAME]
    python tests/ecosystem/judging.py score [TABLE]

CHECKOUTS is a directory with a checkout of each repository in a directory called OWNER__NAME, and a
table LIST.tsv whose columns ``repo`` and ``commit`` say what was checked out. ``draw`` runs gblock
with its default options over each and writes candidates as JSON lines: one place of each cause that
is drawn, spread over rules first and repositories next. ``score`` reads judgements, by default
those of judged.jsonl beside this file: the candidate's keys, and what the reader adds:

    verdict   TRUE    a process on gevent runs it, it blocks as said, and a tech lead wants to know
              MINOR   true, and nobody acts on it
              FALSE   wrong
              MISSED  a call that blocks a process on gevent and that gblock does not report
              SILENT  a call that gblock rightly says nothing about
    class     a word for the reason, shared by judgements of one kind; empty for TRUE
    reason    one sentence

MISSED and SILENT are about calls that gblock does not report: their ``rule`` is null.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gblock.config import Config
from gblock.diagnostics import Diagnostic
from gblock.engine import Request, check

TABLE = Path(__file__).with_name("judged.jsonl")
REPORTED = ("TRUE", "MINOR", "FALSE")
UNREPORTED = ("MISSED", "SILENT")
NOT_JUDGED = frozenset({"invalid-syntax"})
"""Rules that say nothing about blocking."""

Row = dict[str, Any]


def commits(checkouts: Path) -> dict[str, str]:
    """Return the commit of each repository, as LIST.tsv says it."""
    with (checkouts / "LIST.tsv").open(encoding="utf-8", newline="") as file:
        return {line["repo"]: line["commit"] for line in csv.DictReader(file, delimiter="\t")}


def candidates(root: Path, repository: str, commit: str) -> Iterator[Row]:
    """Yield the places that gblock reports in one checkout by default, the weightiest first."""
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    for diagnostic in check(Request([str(root)], config)).diagnostics:
        if diagnostic.code not in NOT_JUDGED:
            yield {"repository": repository, "commit": commit, **_row(diagnostic, root.resolve())}


def _row(diagnostic: Diagnostic, root: Path) -> Row:
    return {
        "path": str(Path(diagnostic.filename).resolve().relative_to(root)),
        "row": diagnostic.location.row,
        "rule": diagnostic.code,
        "blocker": diagnostic.blocker,
        "severity": diagnostic.severity.label,
        "context": diagnostic.context,
        "cause": diagnostic.cause,
    }


def drawn(rows: Iterable[Row], count: int, seed: int) -> list[Row]:
    """Draw places at random: one of each cause, round the rules, and in each round repositories.

    Args:
        rows: What gblock reports.
        count: How many to draw at most.
        seed: The same seed draws the same places from the same rows.
    """
    chance = random.Random(seed)
    causes: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for number, row in enumerate(rows):
        causes[row["repository"], row["cause"] or str(number)].append(row)
    piles: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for (repository, _), places in causes.items():
        row = chance.choice(places)
        piles[row["rule"]][repository].append(row)
    queues = {rule: list(_in_turn(piles[rule], chance)) for rule in sorted(piles)}
    found: list[Row] = []
    while len(found) < count and any(queues.values()):
        for queue in queues.values():
            if queue and len(found) < count:
                found.append(queue.pop(0))
    return found


def _in_turn(by_repository: dict[str, list[Row]], chance: random.Random) -> Iterator[Row]:
    """Yield the rows of some repositories in random order, one of each in turn."""
    piles = [chance.sample(rows, len(rows)) for _, rows in sorted(by_repository.items())]
    chance.shuffle(piles)
    while piles:
        for pile in piles:
            yield pile.pop()
        piles = [pile for pile in piles if pile]


def scored(rows: Iterable[Row]) -> list[str]:
    """Return a report of judgements: by rule, in all, by class, and of the calls not reported.

    Raises:
        ValueError: A verdict is unknown, or does not fit a place that is (not) reported.
    """
    by_rule: dict[str, Counter[str]] = defaultdict(Counter)
    silent: Counter[str] = Counter()
    classes: Counter[tuple[str, str]] = Counter()
    for row in rows:
        verdict, rule = row["verdict"], row["rule"]
        if verdict not in (UNREPORTED if rule is None else REPORTED):
            raise ValueError(f"{row['repository']} {row['path']}:{row['row']}: {verdict}")
        if rule is None:
            silent[verdict] += 1
        else:
            by_rule[rule][verdict] += 1
        if row.get("class"):
            classes[verdict, row["class"]] += 1
    lines = [_shares(rule, tally) for rule, tally in sorted(by_rule.items())]
    lines.append(_shares("all", sum(by_rule.values(), Counter())))
    lines.append(
        f"not reported: {silent['MISSED']} MISSED of {silent.total()} calls that were read"
    )
    lines += [f"{n:4} {verdict} {name}" for (verdict, name), n in classes.most_common()]
    return lines


def _shares(name: str, tally: Counter[str]) -> str:
    total = tally.total() or 1
    told = ", ".join(f"{tally[verdict]} {verdict}" for verdict in REPORTED)
    true, minor = tally["TRUE"] / total, (tally["TRUE"] + tally["MINOR"]) / total
    return f"{name}: {tally.total()} read, {told}; TRUE {true:.0%}, with MINOR {minor:.0%}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw")
    draw.add_argument("checkouts", type=Path)
    draw.add_argument("--count", type=int, default=80)
    draw.add_argument("--seed", type=int, default=0)
    draw.add_argument("--repo", default="", help="only repositories with this in their name")
    score = commands.add_parser("score")
    score.add_argument("table", type=Path, nargs="?", default=TABLE)
    options = parser.parse_args(arguments)
    if options.command == "score":
        table = options.table.read_text(encoding="utf-8").splitlines()
        print("\n".join(scored(json.loads(line) for line in table if line)))
        return 0
    rows: list[Row] = []
    for repository, commit in sorted(commits(options.checkouts).items()):
        root = options.checkouts / repository.replace("/", "__")
        if options.repo in repository and root.is_dir():
            rows += candidates(root, repository, commit)
    for row in drawn(rows, options.count, options.seed):
        print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
