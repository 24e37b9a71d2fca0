"""The script that draws diagnostics of real services for judgement, and scores judgements."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from gblock import catalog
from tests.ecosystem import judging


def row(repository, rule, cause, number=1):
    return {"repository": repository, "rule": rule, "cause": cause, "path": "a.py", "row": number}


ROWS = [
    row(repository, rule, f"{rule}:{cause}", place)
    for repository, causes in [("big/one", 30), ("small/one", 2)]
    for rule in ("blocking-call", "cpu-bound-call")
    for cause in range(causes)
    for place in range(3)
]


def test_a_draw_is_repeated_by_its_seed():
    assert judging.drawn(ROWS, 20, 7) == judging.drawn(ROWS, 20, 7)
    assert judging.drawn(ROWS, 20, 7) != judging.drawn(ROWS, 20, 8)


def test_a_draw_is_spread_over_rules_and_repositories():
    found = judging.drawn(ROWS, 8, 1)

    assert Counter(one["rule"] for one in found) == {"blocking-call": 4, "cpu-bound-call": 4}
    assert Counter(one["repository"] for one in found) == {"big/one": 4, "small/one": 4}


def test_a_cause_is_drawn_once():
    found = judging.drawn(ROWS, 1000, 1)

    assert len(found) == len({(one["repository"], one["cause"]) for one in found}) == 64


def test_a_checkout_gives_candidates(tmp_path, capsys):
    root = tmp_path / "owner__shop"
    root.mkdir()
    (tmp_path / "LIST.tsv").write_text("repo\tcommit\nowner/shop\tabc\nowner/gone\tdef\n")
    (root / "app.py").write_text(
        "from gevent import monkey; monkey.patch_all()\n"
        "import gevent, fcntl\n"
        "def work():\n"
        "    fcntl.flock(open('x'), fcntl.LOCK_EX)\n"
        "gevent.spawn(work)\n"
    )
    (root / "broken.py").write_text("import gevent\nprint 'x'\n")

    assert judging.main(["draw", str(tmp_path)]) == 0

    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["repository"], found["commit"]) == ("owner/shop", "abc")
    assert (found["path"], found["row"], found["context"]) == ("app.py", 4, "greenlet")


NAMES = {"portalocker": {"lock"}, "bcrypt": {"hashpw"}}


def test_the_names_of_calls_are_those_of_the_default_catalog():
    names = judging.catalog_names(catalog.load().blockers)

    assert {"lock"} <= names["portalocker"]
    assert "os" not in names
    for blocker in catalog.load().blockers:
        if blocker.level == "error" and blocker.distribution != "stdlib" and not blocker.patched_by:
            for symbol in blocker.symbols:
                package, *_, last = symbol.split(".")
                assert last == "*" or last in names[package]


def test_a_call_that_is_not_reported_is_a_candidate(tmp_path):
    (tmp_path / "requirements.txt").write_text("gevent\n")
    (tmp_path / "store.py").write_text(
        "from gevent import monkey; monkey.patch_all()\n"
        "import gevent, portalocker\n"
        "def work(handle):\n"
        "    portalocker.lock(handle, portalocker.LOCK_EX)\n"
        "    portalocker.lock(handle, portalocker.LOCK_EX | portalocker.LOCK_NB)\n"
        "    handle.hashpw()\n"
        "gevent.spawn(work)\n"
    )
    (tmp_path / "test_store.py").write_text("import portalocker\nportalocker.lock(1)\n")
    (tmp_path / "broken.py").write_text("import portalocker\nportalocker.lock(\n")

    found = list(judging.silent(tmp_path, "owner/shop", "abc", NAMES))

    assert [(one["path"], one["row"], one["name"]) for one in found] == [("store.py", 5, "lock")]
    assert found[0]["rule"] is None


def test_calls_are_drawn_over_repositories_and_packages():
    rows = [
        {"repository": repository, "package": package, "row": number}
        for repository, count in [("big/one", 300), ("small/one", 3)]
        for package in ("bcrypt", "portalocker")
        for number in range(count)
    ]

    found = judging.drawn_calls(rows, 12, 3)

    assert found == judging.drawn_calls(rows, 12, 3)
    assert Counter(one["repository"] for one in found)["small/one"] >= 3
    assert len(judging.drawn_calls(rows, 1000, 3)) == len(rows)


def test_judgements_are_scored(tmp_path, capsys):
    table = [
        {"rule": "blocking-call", "verdict": "TRUE"},
        {"rule": "blocking-call", "verdict": "MINOR", "class": "short"},
        {"rule": "blocking-call", "verdict": "FALSE", "class": "ready"},
        {"rule": "blocking-call", "verdict": "FALSE", "class": "ready"},
        {"rule": None, "verdict": "MISSED", "class": "stub"},
        {"rule": None, "verdict": "SILENT"},
    ]
    path = tmp_path / "judged.jsonl"
    path.write_text("\n".join(map(json.dumps, table)))

    assert judging.main(["score", str(path)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "blocking-call: 4 read, 1 TRUE, 1 MINOR, 2 FALSE; TRUE 25%, with MINOR 50%",
        "all: 4 read, 1 TRUE, 1 MINOR, 2 FALSE; TRUE 25%, with MINOR 50%",
        "not reported: 1 MISSED of 2 calls that were read",
    ]
    assert lines[3] == "   2 FALSE ready"


def test_a_round_is_scored_by_itself(tmp_path, capsys):
    table = [
        {"rule": "blocking-call", "verdict": "TRUE", "round": "a", "drawn": "cause"},
        {"rule": "blocking-call", "verdict": "TRUE", "round": "b", "drawn": "cause"},
        {"rule": "blocking-call", "verdict": "FALSE", "round": "b", "drawn": "place"},
    ]
    path = tmp_path / "judged.jsonl"
    path.write_text("\n".join(map(json.dumps, table)))

    assert judging.main(["score", str(path), "--round", "b", "--drawn", "cause"]) == 0

    assert capsys.readouterr().out.startswith("blocking-call: 1 read, 1 TRUE")


def test_what_is_still_reported_is_scored_again():
    def judged(number, verdict):
        place = {"repository": "a/b", "path": "c.py", "row": number, "rule": "blocking-call"}
        return {**place, "verdict": verdict}

    judgements = [judged(1, "TRUE"), judged(2, "TRUE"), judged(3, "FALSE"), judged(4, "FALSE")]

    lines = judging.again(judgements, [judged(1, ""), judged(3, ""), judged(9, "")])

    assert lines[0].startswith("blocking-call: 2 read, 1 TRUE, 0 MINOR, 1 FALSE")
    assert lines[-1] == "lost: a/b c.py:2 blocking-call"


@pytest.mark.parametrize(
    ("rule", "verdict"), [(None, "FALSE"), ("blocking-call", "MISSED"), ("blocking-call", "true")]
)
def test_a_verdict_fits_what_is_judged(rule, verdict):
    with pytest.raises(ValueError, match=verdict):
        judging.scored(
            [{"rule": rule, "verdict": verdict, "repository": "a/b", "path": "c.py", "row": 1}]
        )


def test_the_table_of_judgements_is_whole():
    """Each judgement names its place and a reason, and each that is not TRUE its class."""
    for line in judging.TABLE.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        assert len(one["commit"]) == 40
        assert one["reason"].strip()
        assert Path(one["path"]).suffix in (".py", ".ini", ".yaml", ".yml", ".sh", ".html", "")
        assert one["round"]
        drawn = ("cause", "place") if one["rule"] else ("call", "reading")
        assert one["drawn"] in drawn
        assert one["row"] > 0
        assert one["verdict"] in (*judging.REPORTED, *judging.UNREPORTED)
        assert one["class"] or one["verdict"] in ("TRUE", "SILENT")
