"""The script that draws diagnostics of real services for judgement, and scores judgements."""

from __future__ import annotations

import json
from collections import Counter

import pytest

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
        assert one["path"].endswith(".py")
        assert one["row"] > 0
        assert one["verdict"] in (*judging.REPORTED, *judging.UNREPORTED)
        assert one["class"] or one["verdict"] in ("TRUE", "SILENT")
