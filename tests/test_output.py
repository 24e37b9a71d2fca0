from __future__ import annotations

import importlib
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblock import output
from gblock.diagnostics import Diagnostic, Location, Problem, Related, Report, Severity
from gblock.output import FORMATS, render, report, top
from gblock.output.causes import causes
from gblock.output.excerpt import excerpt
from gblock.output.listing import listing
from gblock.output.place import place, printable
from gblock.output.statistics import statistics
from gblock.output.summary import summary

SOURCE = (
    "import confluent_kafka\n"
    "\tproducer.flush()  # a tab before it\n"
    "name = '漢字 e\u0301'; producer.flush()\n"
    + "x = 1; " * 40
    + "producer.flush()"
    + "; y = 2" * 40
    + "\nproducer.flush(\n    1,\n)\n"
    "\x1b[31mproducer.flush()\n"
)
WHY = "flush() waits in librdkafka until every message is delivered."
INSTEAD = (
    "Call producer.poll(0) in a loop with gevent.sleep(0.001) as long as len(producer) is not 0."
)


def at(row, column, end_row, end_column, severity=Severity.ERROR, **values):
    flush = "confluent_kafka.Producer.flush"
    fields = {
        "filename": "src/worker.py",
        "location": Location(row, column),
        "end_location": Location(end_row, end_column),
        "code": "blocking-call",
        "severity": severity,
        "message": f"{flush} blocks the hub while the broker is away",
        "help": INSTEAD,
        "why": WHY,
        "blocker": "confluent-kafka-producer-flush",
        "symbol": flush,
    }
    return Diagnostic(**{**fields, **values})


REPORT = Report(
    (
        at(2, 2, 2, 18),
        at(
            3,
            17,
            3,
            33,
            Severity.WARNING,
            code="false-offload",
            related=(Related("src/app.py", Location(7, 5), "a greenlet is started here"),),
        ),
        at(4, 281, 4, 297, Severity.NOTE),
        at(5, 1, 7, 2),
        at(8, 6, 8, 22, help="", why="", blocker=None, symbol=None),
        at(99, 1, 99, 2, filename="gone,\n100%:.py", message="50 % of the time\r\n\x1b[31m"),
    ),
    problems=(Problem("src/broken.py", "invalid syntax", Location(3, 1)),),
    suppressed=2,
    below_severity=1,
    files_checked=1200,
    files_dropped=1150,
    files_unreadable=1,
    unresolved=1,
)


def source_of(filename):
    return SOURCE if filename == "src/worker.py" else None


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_writes_what_was_recorded(snapshot, name):
    snapshot(f"report.{name}", render(name, REPORT, source_of))


@pytest.mark.parametrize("width", [40, 80])
def test_colours_write_what_was_recorded(snapshot, width):
    snapshot(f"report.{width}.ansi", render("text", REPORT, source_of, width))


def test_a_terminal_without_a_size_gets_the_whole_report(snapshot):
    snapshot("report.40.ansi", render("text", REPORT, source_of, 0))


def test_colours_do_not_depend_on_the_environment(snapshot, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    snapshot("report.80.ansi", render("text", REPORT, source_of, 80))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("width", [None, 80])
def test_nothing_to_report_is_what_the_format_itself_writes(name, width):
    module = importlib.import_module(FORMATS[name].module)
    expected = render(name, Report(()), source_of, width)
    assert expected == module.render(Report(()), source_of, width)


@pytest.mark.parametrize("of", [output, report])
def test_an_unknown_format_is_an_error(of):
    with pytest.raises(ValueError, match="unknown format jsom"):
        of.render("jsom", Report((at(1, 1, 1, 2),)), source_of)


def test_the_module_of_every_format_bears_its_name():
    folder = {path.stem for path in Path(output.__file__).parent.glob("*.py")}
    assert {one.module for one in FORMATS.values()} == {f"gblock.output.{n}" for n in FORMATS}
    assert set(FORMATS) <= folder


def test_json_has_the_fields_of_the_contract():
    first = json.loads(render("json", REPORT, source_of))[1]
    assert first == {
        "code": "false-offload",
        "severity": "warning",
        "blocker": "confluent-kafka-producer-flush",
        "symbol": "confluent_kafka.Producer.flush",
        "message": "confluent_kafka.Producer.flush blocks the hub while the broker is away",
        "help": INSTEAD,
        "filename": "src/worker.py",
        "location": {"row": 3, "column": 17},
        "end_location": {"row": 3, "column": 33},
        "related": [
            {
                "filename": "src/app.py",
                "location": {"row": 7, "column": 5},
                "message": "a greenlet is started here",
            }
        ],
        "observed": None,
        "context": None,
        "path": [],
        "paths": [],
        "cause": None,
        "fix": None,
        "url": "https://github.com/gblock/gblock/blob/main/docs/rules.md#false-offload",
        "blocker_url": "https://github.com/gblock/gblock/blob/main/docs/blockers.md"
        "#confluent-kafka-producer-flush",
    }


def test_json_is_ascii_also_for_names_that_are_not_unicode():
    text = render("json", Report((at(1, 1, 1, 2, filename="\udce9漢.py"),)), source_of)
    assert text.isascii()
    assert json.loads(text)[0]["filename"] == "\udce9漢.py"


def test_github_commands_keep_to_one_line_each():
    lines = render("github", REPORT, source_of).splitlines()
    assert len(lines) == len(REPORT.diagnostics)
    assert "file=gone%2C%0A100%25%3A.py,line=99" in lines[-1]


def test_rich_is_imported_for_a_terminal_only():
    program = (
        "import sys; from gblock.diagnostics import *; from gblock.output import render, FORMATS\n"
        "place = Location(1, 1)\n"
        "report = Report((Diagnostic('a', place, place, 'c', Severity.NOTE, 'm', 'h'),))\n"
        "for name in FORMATS: render(name, report, lambda filename: 'x')\n"
        "print('rich' in sys.modules)\n"
        "render('text', report, lambda filename: 'x', 80)\n"
        "print('rich' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stderr, run.stdout) == ("", "False\nTrue\n")


def test_a_place_is_one_printable_line():
    assert place("a.py") == "a.py"
    assert place("a\n\x1b漢\u2028.py", Location(3, 4)) == "a\\n\\x1b漢\\u2028.py:3:4"


@pytest.mark.parametrize(
    ("line", "start", "end", "room", "expected"),
    [
        ("f()", 0, 3, 80, ("f()", "^^^")),
        ("\tf()", 1, 4, 80, ("    f()", "    ^^^")),
        ("漢 = f()", 4, 7, 80, ("漢 = f()", "     ^^^")),
        ("e\u0301 = f()", 5, 8, 80, ("e\u0301 = f()", "    ^^^")),
        ("f(漢)", 0, 4, 80, ("f(漢)", "^^^^^")),
        ("x\x1b\x00\u202e()", 4, 6, 80, ("x???()", "    ^^")),
        ("f(", 2, 2, 80, ("f(", "  ^")),
        ("f(", 9, 12, 80, ("f(", "  ^")),
        ("0123456789", 5, 6, 10, ("0123456789", "     ^")),
        ("0123456789f()0123456789", 10, 13, 13, ("...89f()01...", "     ^^^")),
        ("f()0123456789", 0, 3, 10, ("f()0...", "^^^")),
        ("0123456789f()", 10, 13, 10, ("...f()", "   ^^^")),
        ("0123456789", 0, 10, 9, ("012...", "^^^")),
        ("漢漢漢漢漢", 2, 3, 8, ("...漢...", "   ^^")),
    ],
)
def test_carets_stand_under_the_call(line, start, end, room, expected):
    assert expected == excerpt(line, start, end, room)


def columns(text):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.category(c) in ("Mn", "Me") for c in text)


@given(
    before=st.text("ab \t漢\u0301\x1b"),
    call=st.text("f()漢", min_size=1),
    after=st.text("xy 漢"),
    room=st.integers(20, 60),
)
def test_any_line_fits_and_has_its_carets_below(before, call, after, room):
    line, carets = excerpt(before + call + after, len(before), len(before + call), room)
    assert columns(line) <= room
    assert columns(carets) <= columns(line)
    shown = printable(call)[: 1 if columns(call) > room - 8 else None]
    assert shown in line
    assert columns(line[: line.rfind(shown)]) >= carets.index("^") or line.count(shown) > 1


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (Report((), files_checked=3), "No blocking calls found. 3 files checked."),
        (
            Report((), suppressed=1, files_checked=1, files_dropped=1),
            "Nothing to report; 1 suppressed. 1 file checked, 1 dropped by triage.",
        ),
        (
            Report((), problems=REPORT.problems, files_checked=1, files_unreadable=1),
            "Nothing to report. 1 file checked, 1 could not be read or parsed.",
        ),
        (
            Report((at(1, 1, 1, 2),) * 2, unresolved=2),
            "Found 2 errors; 2 calls unresolved. 0 files checked.",
        ),
        (
            REPORT,
            "Found 4 errors, 1 warning and 1 note; 2 suppressed; 1 below --min-severity; "
            "1 call unresolved. 1,200 files checked, 1,150 dropped by triage, "
            "1 could not be read or parsed.",
        ),
    ],
)
def test_the_summary_counts_every_silence(report, expected):
    assert expected == summary(report)


def test_statistics_count_by_rule_and_blocker():
    assert statistics(REPORT, "text") == (
        "4  blocking-call  confluent-kafka-producer-flush\n"
        "1  blocking-call\n"
        "1  false-offload  confluent-kafka-producer-flush\n"
    )
    assert json.loads(statistics(REPORT, "json"))[1] == {
        "code": "blocking-call",
        "blocker": None,
        "count": 1,
    }
    assert statistics(Report(()), "text") == ""
    assert statistics(Report(()), "json") == "[]\n"


def test_a_listing_is_aligned_or_json():
    rows = [("blocking-call", "error", True), ("foreign-call", "warning", False)]
    assert listing(("name", "severity", "default"), rows, "text") == (
        "blocking-call  error    on\nforeign-call   warning  off\n"
    )
    assert json.loads(listing(("name", "severity", "default"), rows, "json")) == [
        {"name": "blocking-call", "severity": "error", "default": True},
        {"name": "foreign-call", "severity": "warning", "default": False},
    ]
    assert listing(("name",), [], "text") == ""


def test_the_pages_of_top_are_shown_until_sigint(monkeypatch):
    shown, pauses = [], []

    class Live:
        def __init__(self, first, **_):
            shown.append(first.plain)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            shown.append("closed")

        def update(self, page, *, refresh):
            assert refresh
            shown.append(page.plain)

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    pages = iter(["one", "two", "\x1b[1mthree\x1b[0m"])
    monkeypatch.setattr("rich.live.Live", Live)
    monkeypatch.setattr(top.time, "sleep", sleep)
    assert 0 == top.show(lambda: next(pages), 0.5)
    assert ["one", "two", "three", "closed"] == shown
    assert all(pause >= 0.5 for pause in pauses)


def test_a_report_by_path_shows_each_diagnostic_in_its_place():
    """Those of one cause are one diagnostic otherwise, with at most a few of the other places."""
    many = tuple(at(n, 1, n, 5, cause="one") for n in range(1, 30))
    merged = render("text", Report(many), lambda _: None)
    apart = render("text", Report(many, by_path=True), lambda _: None)
    assert 29 == apart.count("blocking-call")
    assert 1 == merged.count("blocking-call")
    assert "more places; --output-format concise lists them" in merged
    assert "more places" not in apart


def test_a_cause_begins_with_the_call_that_most_entries_reach():
    same = {"context": "request", "cause": "x"}
    rare = at(1, 1, 1, 5, Severity.WARNING, filename="a.py", entries=1, **same)
    usual = at(1, 1, 1, 5, Severity.WARNING, filename="b.py", entries=3, **same)
    worse = at(1, 1, 1, 5, filename="c.py", **same)

    (found,) = causes([rare, usual])
    assert (usual, (rare,)) == found
    (found,) = causes([rare, usual, worse])
    assert worse == found.first
