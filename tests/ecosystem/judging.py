"""Draw diagnostics of real services for a reader to judge, and score what the reader says.

    python tests/ecosystem/judging.py draw CHECKOUTS [--count 80] [--seed 0] [--repo NAME]
    python tests/ecosystem/judging.py calls CHECKOUTS [--count 40] [--seed 0] [--repo NAME]
    python tests/ecosystem/judging.py score [TABLE] [--round NAME] [--drawn cause]
    python tests/ecosystem/judging.py again CHECKOUTS [--table TABLE] [--round NAME] [--drawn cause]

CHECKOUTS is a directory with a checkout of each repository in a directory called OWNER__NAME, and a
table LIST.tsv whose columns ``repo`` and ``commit`` say what was checked out. ``draw`` runs gblock
with its default options over each and writes candidates as JSON lines: one place of each cause that
is drawn, spread over rules first and repositories next. ``calls`` draws calls that gblock is silent
about and that may be ones of the catalog: the file imports the package, and the last part of the
name is that of a symbol. ``score`` reads judgements, by default those of judged.jsonl beside this
file. ``again`` scores the judgements whose places are reported today, and lists what is TRUE and no
longer reported. A judgement has the candidate's keys, and what the reader adds:

    verdict   TRUE    a process on gevent runs it, it blocks as said, and a tech lead wants to know
              MINOR   true, but not worth a change
              FALSE   wrong
              MISSED  a call that blocks a process on gevent and that gblock does not report
              SILENT  a call that gblock rightly says nothing about
    class     a word for the reason, shared by judgements of one kind; empty for TRUE
    reason    one sentence
    round     when the services were judged; each round has services that no other has
    drawn     cause: one place of each cause, at random; place: one more place of such a cause;
              call: a call that ``calls`` drew; reading: found while reading, not at random

MISSED and SILENT are about calls that gblock does not report: their ``rule`` is null.

examined.tsv lists the services that were examined, those without a judgement too: a new round uses
others. It begins with the round of 2026-11 o.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gblock.catalog import load
from gblock.catalog.blockers import Blocker
from gblock.config import Config
from gblock.diagnostics import Diagnostic
from gblock.engine import Request, check
from gblock.project.reading.testcode import is_test

TABLE = Path(__file__).with_name("judged.jsonl")
REPORTED = ("TRUE", "MINOR", "FALSE")
UNREPORTED = ("MISSED", "SILENT")
NOT_JUDGED = frozenset({"invalid-syntax"})
"""Rules that say nothing about blocking."""

Row = dict[str, Any]
Names = Mapping[str, set[str]]
"""Last parts of symbols, by package."""


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


def silent(root: Path, repository: str, commit: str, names: Names) -> Iterator[Row]:
    """Yield the calls of one checkout that gblock is silent about and that may block by their name.

    Args:
        root: The checkout.
        repository: Its name, for the rows.
        commit: Its commit, likewise.
        names: What `catalog_names` returns.
    """
    told = {(row["path"], row["row"]) for row in candidates(root, repository, commit)}
    for path in sorted(root.rglob("*.py")):
        relative = str(path.relative_to(root))
        if is_test(str(path), str(root), lambda name: Path(name).read_bytes()):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        packages = names.keys() & set(_imported(tree))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            callee = call.func
            name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
            for package in sorted(packages):
                if name in names[package] and (relative, call.lineno) not in told:
                    place = {"path": relative, "row": call.lineno, "rule": None, "blocker": None}
                    yield {
                        "repository": repository, "commit": commit, **place,
                        "package": package, "name": name,
                    }  # fmt: skip


def catalog_names(blockers: Iterable[Blocker]) -> Names:
    """Return, by package, the last parts of the symbols that are reported by default.

    What the monkey patch makes cooperative is left out, and the standard library's computations,
    and `os`, whose ``read`` and ``write`` are names of every file's methods.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for blocker in blockers:
        if blocker.level == "opt-in" or blocker.patched_by:
            continue
        if blocker.distribution == "stdlib" and blocker.kind != "waits":
            continue
        for symbol in blocker.symbols:
            package, last = symbol.partition(".")[0], symbol.rpartition(".")[2]
            if package != "os" and last != "*":
                names[package].add(last)
    return names


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the packages that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def drawn_calls(rows: Iterable[Row], count: int, seed: int) -> list[Row]:
    """Draw calls at random: a repository first, one of its packages next, a call of it last.

    Args:
        rows: What `silent` yields.
        count: How many to draw at most.
        seed: The same seed draws the same calls from the same rows.
    """
    chance = random.Random(seed)
    piles: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        piles[row["repository"]][row["package"]].append(row)
    found: list[Row] = []
    while len(found) < count and piles:
        repository = chance.choice(sorted(piles))
        package = chance.choice(sorted(piles[repository]))
        calls = piles[repository][package]
        found.append(calls.pop(chance.randrange(len(calls))))
        if not calls:
            del piles[repository][package]
        if not piles[repository]:
            del piles[repository]
    return found


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


def again(judged: Iterable[Row], reported: Iterable[Row]) -> list[str]:
    """Return a report of the judgements whose places are still reported, and of what was lost.

    Args:
        judged: Judgements of places that were reported.
        reported: What gblock reports now of the same repositories.
    """
    now = {_place(row) for row in reported}
    rows = [row for row in judged if row["rule"] is not None]
    lines = scored(row for row in rows if _place(row) in now)
    for row in rows:
        if row["verdict"] == "TRUE" and _place(row) not in now:
            lines.append(f"lost: {row['repository']} {row['path']}:{row['row']} {row['rule']}")
    return lines


def _place(row: Row) -> tuple[str, str, int, str]:
    return row["repository"], row["path"], row["row"], row["rule"]


def _shares(name: str, tally: Counter[str]) -> str:
    total = tally.total() or 1
    told = ", ".join(f"{tally[verdict]} {verdict}" for verdict in REPORTED)
    true, minor = tally["TRUE"] / total, (tally["TRUE"] + tally["MINOR"]) / total
    return f"{name}: {tally.total()} read, {told}; TRUE {true:.0%}, with MINOR {minor:.0%}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, count in (("draw", 80), ("calls", 40), ("again", 0)):
        command = commands.add_parser(name)
        command.add_argument("checkouts", type=Path)
        command.add_argument("--repo", default="", help="only repositories with this in their name")
        if count:
            command.add_argument("--count", type=int, default=count)
            command.add_argument("--seed", type=int, default=0)
        else:
            command.add_argument("--table", type=Path, default=TABLE)
            _add_filters(command)
    score = commands.add_parser("score")
    score.add_argument("table", type=Path, nargs="?", default=TABLE)
    _add_filters(score)
    options = parser.parse_args(arguments)
    if options.command == "score":
        print("\n".join(scored(_judged(options))))
        return 0
    read = candidates
    if options.command == "calls":
        read = partial(silent, names=catalog_names(load().blockers))
    found: list[Row] = []
    for repository, commit in sorted(commits(options.checkouts).items()):
        root = options.checkouts / repository.replace("/", "__")
        if options.repo in repository and root.is_dir():
            found += read(root, repository, commit)
    if options.command == "again":
        print("\n".join(again(_judged(options), found)))
        return 0
    choose = drawn if options.command == "draw" else drawn_calls
    for row in choose(found, options.count, options.seed):
        print(json.dumps(row))
    return 0


def _add_filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("--round", default="", help="only judgements of this round")
    command.add_argument("--drawn", default="", help="only judgements that were drawn so")


def _judged(options: argparse.Namespace) -> list[Row]:
    """Return the judgements that the options ask for."""
    rows = [json.loads(line) for line in options.table.read_text("utf-8").splitlines() if line]
    for key in ("round", "drawn"):
        wanted = getattr(options, key)
        rows = [row for row in rows if not wanted or row[key] == wanted]
    return [row for row in rows if getattr(options, "repo", "") in row.get("repository", "")]


if __name__ == "__main__":
    sys.exit(main())
