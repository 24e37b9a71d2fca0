"""The facts about one call site or process that the pages of a report state."""

from __future__ import annotations

import pytest
from harness import CATALOG

from gblock import catalog, cli, outline
from gblock.observations.drafts import drafts
from gblock.observations.values import ObservedSite, WatchedProcess
from gblock.output.report import facts

SITE = ObservedSite(
    filename="/srv/app.py",
    line=3,
    function="buy",
    symbol="shop.wait",
    blockers=(),
    kinds=(("waits", 2),),
    times=2,
    total=3.0,
    median=1.0,
    p95=2.0,
    longest=2.0,
    first=0.0,
    last=9.0,
    processes=1,
    unfinished=0,
    native=(),
    syscalls=(),
    greenlets=(),
    stack=(),
)
PROCESS = WatchedProcess(
    name="web",
    host="",
    pid=0,
    command=(),
    python=None,
    gevent=None,
    threshold=None,
    release=None,
    started=0.0,
    last=9.0,
    state="running",
    reason="",
    blocks=2,
    blocked=3.0,
    uncounted=0,
)
GATE = CATALOG.by_id["psycopg2-connect"]


class Seen:
    """Observations of some call sites and processes."""

    def __init__(self, sites=(), processes=(), hours=()):
        self.blamed = self.sites = tuple(sites)
        self.processes = tuple(processes)
        self.hours = tuple(hours)


@pytest.mark.parametrize(
    ("fields", "label", "expected"),
    [
        ({}, "calls", "shop.wait"),
        ({"native": ("a", "b"), "syscalls": ("c", "d", "e")}, "calls", "shop.wait (a, b, c, d)"),
        ({"symbol": None, "native": ("a",)}, "calls", "a"),
        ({"symbol": None}, "calls", None),
        (
            {"symbol": None, "kinds": (("cpu", 2),)},
            "calls",
            "nothing with a name: Python code of its own, or an operator",
        ),
        ({"symbol": None, "kinds": (("cpu", 2),), "filename": None}, "calls", None),
        ({"symbol": None, "candidates": tuple("abcde")}, "nearly", "a, b, c, d"),
        ({"candidates": ("a",)}, "nearly", None),
        ({"routes": ("GET /", "GET /a")}, "serves", "GET /, GET /a"),
        ({"routes": tuple("abcde")}, "serves", "a, b, c and 2 more"),
        ({"is_spawned": True}, "spawned", "on this line, as the greenlet's target"),
        ({"blockers": (GATE,)}, "catalog", "psycopg2-connect"),
        ({"blockers": (GATE,)}, "instead", GATE.remedy("shop.wait")),
        ({"blockers": (GATE,), "is_original": True}, "instead", facts._PATCHED),
        (
            {"is_cooperative": True},
            "catalog",
            "known to cooperate once gevent has patched; here it did not",
        ),
        (
            {"is_cooperative": True, "is_original": True},
            "catalog",
            "known to cooperate once gevent has patched; an original was called",
        ),
        ({"checked": True}, "check", "reports nothing of this line"),
        ({}, "check", None),
        ({"unfinished": 1}, "unfinished", "1 of 2: their ends were not seen"),
        ({"kinds": (("starved", 2),)}, "instead", facts._BLAMELESS["starved"]),
        ({"kinds": (("starved", 2),)}, "catalog", None),
    ],
)
def test_the_facts_about_a_call_site(fields, label, expected):
    assert expected == dict(facts.facts(SITE._replace(**fields))).get(label)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "/srv/app.py:3 in buy"),
        ({"function": None, "line": None}, "/srv/app.py"),
        ({"is_other": True}, "other call sites, above the probe's limit"),
        ({"filename": None}, "an unknown call site"),
        (
            {"filename": None, "is_frameless": True},
            "C code that gevent calls itself: a callback of the loop, or a greenlet's target",
        ),
        (
            {"filename": None, "kinds": (("starved", 1),)},
            "the host gave the process no CPU",
        ),
    ],
)
def test_the_line_of_a_call_site(fields, expected):
    assert expected == facts.where(SITE._replace(**fields))


def test_several_classes_of_a_call_site_are_counted():
    assert "waits" == facts.classes(SITE)
    assert "cpu 3, waits 1" == facts.classes(SITE._replace(kinds=(("cpu", 3), ("waits", 1))))


@pytest.mark.parametrize(
    ("fields", "label", "version"),
    [
        ({}, "web", "Python ?, gevent ?"),
        ({"pid": 7, "python": "3.11", "gevent": "24.1"}, "pid 7", "Python 3.11, gevent 24.1"),
        ({"pid": 7, "host": "a", "release": "1.2", "python": "3.11"}, "a:7", "1.2"),
    ],
)
def test_the_names_of_a_process(fields, label, version):
    process = PROCESS._replace(**fields)

    assert (label, version) == (facts.label(process), facts.version(process))


def test_the_seconds_of_each_release_host_and_hour():
    processes = [
        PROCESS._replace(release="1", host="a"),
        PROCESS._replace(release="2", host="a"),
        PROCESS._replace(release="2", host="b", blocks=1, blocked=1.0),
    ]
    seen = Seen(processes=processes, hours=[(0.0, 2, 3.0)])
    rows = {
        what: [line.split() for line in facts.by(seen, what).splitlines()[1:]]
        for what in ("version", "host", "hour")
    }

    assert [["1", "2"], ["2", "3"]] == [row[:2] for row in rows["version"]]
    assert [["a", "4"], ["b", "1"]] == [row[:2] for row in rows["host"]]
    assert [["1970-01-01", "00:00", "2"]] == [row[:3] for row in rows["hour"]]
    assert "" == facts.by(Seen(), "hour") == facts.by(Seen(), "host")


@pytest.mark.parametrize(
    ("fields", "read", "has", "lacks"),
    [
        ({}, "", ["releases_gil = true", "seen 2 times, 3 s in all:"], ["found", "returned"]),
        ({"times": 1}, "", ["seen once:"], ["in all"]),
        ({"kinds": (("gil", 2),)}, "", ["releases_gil = false", "in another process"], []),
        (
            {"kinds": (("cpu", 2),)},
            "",
            ["was seen to work", "in another process"],
            ["releases_gil"],
        ),
        ({"native": ("read",), "syscalls": ("poll",)}, "", ["wait in read, poll, which"], []),
        ({"unfinished": 1}, "", ["returned = false"], []),
        ({}, "It keeps the GIL.", ["found = 'It keeps the GIL.'"], []),
        ({"python": "3.11", "gevent": "24.1"}, "", ["python = '3.11'", "gevent = '24.1'"], []),
    ],
)
def test_a_draft_says_what_was_seen(fields, read, has, lacks):
    text = drafts(Seen([SITE._replace(**fields)]), CATALOG, lambda _: read)
    normal = text.replace('"', "'")

    assert [] == [part for part in has if part not in normal]
    assert [] == [part for part in lacks if part in normal]
    (blocker,) = catalog.parse(outline.Outline(text.encode(), "drafts")).blockers
    assert ("shop-wait", ("shop.wait",)) == (blocker.id, blocker.symbols)


def test_what_cannot_be_drafted_is_a_comment():
    unnamed = SITE._replace(symbol=None)
    cooperative = SITE._replace(is_cooperative=True)

    assert [
        "# 2 call sites without a draft: the probe could not name what was called.",
        "",
        "# No draft of shop.wait: it is known to cooperate once gevent has patched.",
    ] == drafts(Seen([unnamed, unnamed, cooperative]), CATALOG).splitlines()


def test_processes_are_of_a_directory(tmp_path, capsys):
    path = tmp_path / "app.py"
    path.write_text("")

    assert 2 == cli.main(["processes", str(path)])
    assert "app.py: not a directory; pass the project's directory" in capsys.readouterr().err


def test_a_note_about_processes_names_its_file_and_row(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gblock.toml").write_text('\nprocesses = ["cat app.py"]\n')
    (tmp_path / "app.py").write_text("import gevent\n")
    (tmp_path / "compose.yml").write_text('command: "x\n')

    assert 0 == cli.main(["processes", "."])
    lines = sorted(capsys.readouterr().err.splitlines())
    assert lines[0].startswith("compose.yml:")
    assert "gblock.toml:2: processes: `cat app.py` starts nothing that gblock knows" == lines[1]
