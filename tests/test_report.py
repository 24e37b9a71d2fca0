from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from harness import CATALOG
from probing import ACME, POLL, T, block, end, fleet, heartbeat, start, write

from gblock import catalog, cli, observations, outline
from gblock.config import Config
from gblock.observations import moments
from gblock.observations.drafts import drafts
from gblock.output import report
from gblock.output.seconds import moment, seconds

WORKER = "\n" * 8 + (
    "from confluent_kafka import Consumer\n\n\n"
    "consumer = Consumer({})\n\n\n"
    "def run():\n    while True:\n        consumer.poll(1.0)\n\n\n"
    "def more():\n    consumer.poll(2.0)\n"
)
"""The call that was seen to block is in row 17."""


def run(capsys, *argv):
    code = cli.main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def records(tree):
    """A project and the records of its service; both lie in the working directory."""
    root = tree({"orders/worker.py": WORKER, "orders/prices.py": "\n", "pyproject.toml": ""})
    return fleet(root / "probe")


@pytest.fixture
def at(monkeypatch):
    """Set the clock."""
    import time

    return lambda now: monkeypatch.setattr(time, "time", lambda: now)


class TestFormats:
    def observed(self, tmp_path):
        return observations.read([str(tmp_path)], CATALOG, fleet(tmp_path))

    @pytest.mark.parametrize("width", [None, 80])
    def test_text_writes_what_was_recorded(self, tmp_path, snapshot, width):
        name = f"observed.{width}.ansi" if width else "observed.text"
        snapshot(name, report.render("text", self.observed(tmp_path), width))

    def test_json_has_the_fields_of_the_contract(self, tmp_path):
        page = json.loads(report.render("json", self.observed(tmp_path)))
        site = page["sites"][1]

        assert "blocked" == page["verdict"]
        assert ["ended", "silent", "running"] == [one["state"] for one in page["processes"]]
        expected = {
            "filename": "/app/orders/prices.py",
            "line": 4,
            "function": "refresh",
            "symbol": "acme_native.Client.fetch",
            "blockers": [],
            "class": "waits",
            "classes": {"waits": 2},
            "blamed": True,
            "count": 2,
            "seconds": 5.33,
            "median": 2.665,
            "p95": 5.02,
            "max": 5.02,
            "last": T + 1020,
            "checked": False,
            "diagnostics": [],
        }
        rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in site.items()}
        assert expected == {key: rounded[key] for key in expected}
        assert page["sites"][0]["stack"][-1]["user"] is True

    def test_html_needs_nothing_beside_it_and_closes_its_tags(self, tmp_path):
        page = report.render("html", self.observed(tmp_path))
        stack = []

        class Tags(HTMLParser):
            def handle_starttag(self, tag, attrs):
                names = dict(attrs)
                if tag not in ("meta", "br", "input", "rect") or (
                    tag == "rect" and "/>" not in page
                ):
                    stack.append(tag)
                for key in ("src", "href"):
                    assert names.get(key, "#").startswith("#")

            def handle_startendtag(self, tag, attrs):
                pass

            def handle_endtag(self, tag):
                if tag != "rect":
                    assert tag == stack.pop()

        Tags().feed(page)
        assert [] == stack
        assert not re.findall(r"https?://|@import|url\(", page)
        # Every block of the time line leads to a row of the table.
        rows = set(re.findall(r'<tr id="(site-\d+)"', page))
        assert rows == set(re.findall(r'<a href="#(site-\d+)"', page))
        assert 23 == page.count('<a href="#site-')

    @pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed")
    def test_html_zooms_and_filters_in_a_browser(self, tmp_path):
        write(tmp_path / "r" / "a-9-1.jsonl", start(T + 700, host="b", pid=9), end(T + 703))
        now = fleet(tmp_path / "r")
        page = report.render("html", observations.read([str(tmp_path / "r")], CATALOG, now))
        steps = """
            const shown = (all) => [...document.querySelectorAll(all)]
              .filter((e) => !e.hasAttribute("hidden")).length;
            const rows = ["tbody tr", ".lane[data-host]", ".lane:not([hidden]) a"];
            const counts = () => rows.map(shown);
            const found = [counts()];
            document.querySelector("input[value=waits]").click();
            found.push(counts());
            document.querySelector("input[value=waits]").click();
            const host = document.querySelector("select[name=host]");
            host.value = "web-2";
            host.dispatchEvent(new Event("change"));
            found.push(counts());
            host.value = "";
            host.dispatchEvent(new Event("change"));
            document.querySelector(".lane .name button").click();
            found.push([document.querySelector(".range").textContent, ...counts()]);
            found.push(+document.querySelector("rect.life").getAttribute("width") > 900);
            document.querySelector("[data-zoom=all]").click();
            found.push(counts());
            document.title = JSON.stringify(found);
        """
        path = tmp_path / "page.html"
        path.write_text(page.replace("</body>", f"<script>{steps}</script></body>"))
        flags = "--headless --no-sandbox --disable-gpu --no-first-run --dump-dom".split()
        flags += "--disable-background-networking --disable-component-update --disable-sync".split()
        done = subprocess.run(
            ["chromium", *flags, f"--user-data-dir={tmp_path / 'c'}", path.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
        )
        found = json.loads(html.unescape(re.search("<title>(.*?)</title>", done.stdout)[1]))

        assert [5, 4, 23] == found[0] == found[-1]
        assert [3, 4, 5] == found[1]  # without blocks that wait
        assert [1, 1, 1] == found[2]  # of one host
        assert ["04:51:39 to 04:51:43", 1, 4, 1] == found[3]  # while one process ran
        assert found[4]

    @pytest.mark.parametrize("lines", [[], [start()], [start(), end(T)], [start(T - 1e6)]])
    @pytest.mark.parametrize("name", report.FORMATS)
    def test_every_answer_has_its_page(self, tmp_path, lines, name):
        write(tmp_path / "a-1-1.jsonl", *lines)
        seen = observations.read([str(tmp_path)], CATALOG, T)

        assert report.render(name, seen)

    def test_of_very_many_processes_and_blocks_the_longest_are_drawn(self, tmp_path):
        for pid in range(70):
            write(tmp_path / f"a-{pid}-1.jsonl", start(pid=pid + 1), POLL, block(T, 1 + pid))
        blocks = [block(T + i, 0.2 + i / 1e4) for i in range(1200)]
        write(tmp_path / "b-1-1.jsonl", start(host="b"), POLL, *blocks)
        page = report.render("html", observations.read([str(tmp_path)], CATALOG, T))

        assert "11 more processes" in page
        assert "200 blocks are not drawn" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0004, "0 ms"),
        (0.512, "512 ms"),
        (0.9996, "1.00 s"),
        (9.996, "10.0 s"),
        (99.96, "1 min 40 s"),
        (3599.7, "1 h 0 min"),
        (11_100, "3 h 5 min"),
        (187_200, "2 d 4 h"),
    ],
)
def test_seconds_are_written_as_people_say_them(value, text):
    assert text == seconds(value)


def test_times_are_utc():
    assert "2025-11-21 04:40:00" == moment(T)


class TestCommand:
    def test_blocks_are_reported_beside_what_check_says(self, records, at, capsys):
        at(records)
        code, out, err = run(capsys, "report", "probe", "--project", ".")

        assert 1 == code
        assert "check: warning[blocking-call] orders/worker.py:17:9" in out
        assert "check: reports nothing of this line" in out
        assert "warning: web-1:72: its probe fell silent" in err

    def test_the_files_that_were_seen_are_checked_where_they_are(self, tree, at, capsys):
        root = tree({"app/worker.py": WORKER})
        user = {"file": str(root / "app" / "worker.py"), "line": 17, "function": "run"}
        write(root / "probe" / "a-1-1.jsonl", start(), {**POLL, "user": user}, block(T, 1.0))
        at(T + 5)
        _, out, _ = run(capsys, "report", "probe")

        assert "check: warning[blocking-call] app/worker.py:17:9" in out

    def test_the_directory_of_the_environment_is_read(self, records, at, capsys, monkeypatch):
        at(records)
        monkeypatch.setenv("GBLOCK_PROBE_DIR", "probe")

        assert 1 == run(capsys, "report", "-q")[0]

    def test_without_a_directory_there_is_nothing_to_read(self, tree, capsys, monkeypatch):
        monkeypatch.delenv("GBLOCK_PROBE_DIR", raising=False)
        code, _, err = run(capsys, "report")

        assert 2 == code
        assert "error: gblock report: name the probe's directory" in err

    def test_a_directory_that_is_not_there_is_an_error(self, tree, capsys):
        code, out, err = run(capsys, "report", "nowhere")

        assert (2, "") == (code, out)
        assert "error: nowhere: there are no records" in err

    @pytest.mark.parametrize(
        ("lines", "now", "code", "answer"),
        [
            ([], 0, 2, "The probe was off"),
            ([start(), heartbeat(T + 60)], 70, 0, "Nothing blocked the hub"),
            ([start(), heartbeat(T + 60)], 9000, 2, "The probe died"),
            ([start(), POLL, block(T, 1.0)], 70, 1, "The hub was blocked once at 1 call site"),
        ],
    )
    def test_the_exit_code_is_the_answer(self, tree, at, capsys, lines, now, code, answer):
        write(tree({}) / "probe" / "a-1-1.jsonl", *lines)
        at(T + now)
        got, out, _ = run(capsys, "report", "probe")

        assert code == got
        assert out.startswith(answer)
        assert (0 if code == 1 else code) == run(capsys, "report", "probe", "--exit-zero")[0]

    def test_html_goes_to_a_file(self, records, at, capsys, tmp_path):
        at(records)
        code, out, err = run(capsys, "report", "probe", "--format", "html", "--output", "r.html")

        assert (1, "") == (code, out)
        assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        assert "Written to r.html." in err

    def test_an_unknown_format_is_an_error_with_a_suggestion(self, capsys):
        code, _, err = run(capsys, "report", "x", "--format", "htlm")

        assert 2 == code
        assert "did you mean html" in err

    def test_a_file_that_cannot_be_read_is_no_success(self, tree, at, capsys):
        root = tree({})
        write(root / "a-1-1.jsonl", start())
        (root / "a-2-1.jsonl").symlink_to("gone")
        at(T)
        code, _, err = run(capsys, "report", ".")

        assert 2 == code
        assert "cannot be read: No such file" in err


class TestSuggest:
    def test_a_draft_is_an_entry_with_which_check_finds_the_call(self, records, at, capsys, tree):
        at(records)
        code, out, _ = run(capsys, "report", "probe", "--suggest")
        (entry,) = catalog.parse(outline.Outline(out.encode(), "x.toml")).blockers

        assert 0 == code
        assert ("acme-native-client-fetch", "waits", "error") == (entry.id, entry.kind, entry.level)
        assert ("acme_native.Client.fetch",) == entry.symbols
        assert (5.02, "3.11.7", True) == (
            entry.evidence.max_gap,
            entry.evidence.python,
            entry.evidence.returned,
        )
        assert "# 1 call site without a draft" in out

        tree(
            {
                "blockers.toml": out,
                "gblock.toml": 'extend-catalog = ["blockers.toml"]\n',
                "orders/prices.py": (
                    "from acme_native import Client\n\nclient = Client()\nclient.fetch('EUR')\n"
                ),
            }
        )
        code, out, _ = run(capsys, "check", ".", "--observed", "probe", "--output-format", "json")
        (found,) = [one for one in json.loads(out) if one["filename"] == "orders/prices.py"]
        assert "acme-native-client-fetch" == found["blocker"]
        assert 2 == found["observed"]["count"]

    @pytest.mark.parametrize(
        "symbol",
        ["json.dumps", 'a."b\nc', "no_dot", "a.\x7f", "ünï.cödé", "a.b.c" * 50, "builtins.x"],
    )
    def test_whatever_is_called_the_draft_is_valid(self, tmp_path, symbol):
        odd = {**ACME, "symbol": symbol, "callable": None}
        native = ['"\\\x7f\n', "\U0001f600"]
        lines = [start(python='"\x00'), odd, block(T, 1.0, 2, "gil", native=native)]
        write(tmp_path / "a-1-1.jsonl", *lines)
        text = drafts(observations.read([str(tmp_path)], CATALOG, T), CATALOG)

        for entry in catalog.parse(outline.Outline(text.encode(), "x.toml")).blockers:
            assert (symbol,) == entry.symbols
            assert entry.id not in CATALOG.by_id

    def test_nothing_unknown_is_said(self, tmp_path):
        write(tmp_path / "a-1-1.jsonl", start(), POLL, block(T, 1.0))
        seen = observations.read([str(tmp_path)], CATALOG, T)

        assert "# The catalog knows every call that was seen to block.\n" == drafts(seen, CATALOG)


class TestCheckObserved:
    def test_confirmed_diagnostics_are_marked_and_the_rest_is_listed(self, records, at, capsys):
        at(records)
        code, out, err = run(capsys, "check", ".", "--observed", "probe")
        (line,) = re.findall(r"observed: .*", out)

        assert 1 == code
        assert "observed: 17 times in production, 45.4 s in all, the longest 30.0 s." == line
        assert (
            "orders/prices.py:4:1: observed: acme_native.Client.fetch was seen to block the hub "
            "2 times, 5.33 s in all; the catalog does not know it: try gblock report --suggest"
        ) in err
        assert "1 observed call site in files that were not checked" in err

    def test_json_says_so_in_a_field_of_its_own(self, records, at, capsys):
        at(records)
        _, out, _ = run(capsys, "check", ".", "--observed", "probe", "--output-format", "json")
        seen, other = json.loads(out)

        assert {"count": 17, "seconds": 45.43, "max": 30.0} == seen["observed"]
        assert other["observed"] is None

    def test_a_baseline_hides_no_observation(self, records, at, capsys):
        at(records)
        run(capsys, "check", ".", "--assume-gevent", "--write-baseline", "known.json")
        argv = ("check", ".", "--observed", "probe", "--baseline", "known.json")
        code, out, err = run(capsys, *argv)

        assert (0, "") == (code, out)
        assert "worker.py" not in err

    def test_a_report_names_what_the_baseline_of_the_settings_hides(self, records, at, capsys):
        run(capsys, "check", ".", "--assume-gevent", "--write-baseline", "known.json")
        Path("gblock.toml").write_text('baseline = "known.json"\n', encoding="utf-8")
        at(records)
        _, out, _ = run(capsys, "report", "probe", "--project", ".")

        assert "[blocking-call] orders/worker.py:17:9" in out

    def test_an_opt_in_entry_is_named(self, tree, at, capsys):
        root = tree({"app.py": "import json\njson.loads('1')\n", "pyproject.toml": ""})
        site = {**POLL, "symbol": "json.loads", "user": {"file": "/srv/app.py", "line": 2}}
        write(root / "probe" / "a-1-1.jsonl", start(), site, block(T, 1.0, kind="gil"))
        at(T)
        _, _, err = run(capsys, "check", ".", "--observed", "probe")

        assert "app.py:2:1: observed: json.loads was seen to block the hub once, for 1 s" in err
        assert "the catalog knows it as json-loads; --select json-loads" in err

    def test_a_directory_that_is_not_there_is_an_error(self, tree, capsys):
        tree({"a.py": ""})

        assert 2 == run(capsys, "check", ".", "--observed", "nowhere")[0]


def test_the_documentation_shows_what_the_commands_print(records, at, capsys, request):
    path = Path(__file__).parent.parent / "docs" / "report.md"
    text = path.read_text(encoding="utf-8")
    at(records)
    _, out, err = run(capsys, "report", "probe", "--project", ".")
    head = "<!-- session: gblock report probe --project . -->\n```\n"
    before, rest = text.split(head)
    after = rest[rest.index("```\n<!-- end -->") :]
    if request.config.getoption("--update"):
        path.write_text(f"{before}{head}{out}\n{err}{after}", encoding="utf-8")

    assert f"{head}{out}\n{err}{after}" in path.read_text(encoding="utf-8"), "run pytest --update"


def test_services_without_a_common_project_are_read_one_by_one(tree, at, capsys, monkeypatch):
    root = tree({"one/app.py": WORKER, "two/app.py": WORKER, "one/setup.py": ""})
    sites = []
    for number, name in enumerate(("one", "two"), 1):
        user = {"file": str(root / name / "app.py"), "line": 17, "function": "run"}
        sites += [{**POLL, "site": number, "user": user}, block(T + number, 1.0, number)]
    write(root / "probe" / "a-1-1.jsonl", start(), *sites)
    (root / "probe" / "chart.yaml").write_text("spec: {{ .Values.spec }}\n", encoding="utf-8")
    at(T + 5)
    asked = []
    monkeypatch.setattr("gblock.config.find", lambda path: asked.append(path) or Config())
    code, out, _ = run(capsys, "report", "probe")

    assert 1 == code
    assert [".", *(str(root / name / "app.py") for name in ("one", "two"))] == asked
    assert 2 == out.count("check: warning[blocking-call]")


def test_a_chart_at_the_root_of_the_file_system_has_no_settings():
    from gblock.project.processes.deployment import Deployment

    class Root:
        root = "/"

        def __contains__(self, name):
            return False

    deployment = object.__new__(Deployment)
    deployment.tree, deployment._charts = Root(), {}
    assert {} == deployment.chart("/app/chart/web.yaml")


class TestWindow:
    def test_only_blocks_of_the_window_are_reported(self, records, at, capsys):
        at(records)
        _, whole, _ = run(capsys, "report", "probe", "-q")
        code, out, _ = run(
            capsys, "report", "probe", "-q", "--since", "2025-11-21T04:57", "--until", str(T + 1025)
        )

        assert 1 == code
        assert "blocked 22 times" in whole
        assert out.startswith("The hub was blocked once at 1 call site, 310 ms in all")
        code, out, _ = run(capsys, "report", "probe", "-q", "--since", "1m")
        assert (0, True) == (code, out.startswith("Nothing blocked the hub"))

    @pytest.mark.parametrize("text", ["soon", "2025-13-01", "3 weeks", ""])
    def test_what_is_no_time_is_an_error(self, records, at, capsys, text):
        at(records)
        code, _, err = run(capsys, "report", "probe", "--since", text or "?")

        assert 2 == code
        assert "is not a time" in err

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("2025-11-21T04:40:00Z", T), (str(T), T), ("2025-11-21T05:40:00+01:00", T), ("2h", T + 1)],
    )
    def test_times_are_read_as_people_write_them(self, text, expected):
        assert expected == moments.moment(text, T + 7201)

    def test_a_table_by_hour_or_host(self, records, at, capsys):
        at(records)
        _, hours, _ = run(capsys, "report", "probe", "-q", "--by", "hour")
        _, hosts, _ = run(capsys, "report", "probe", "-q", "--by", "host")

        assert re.search(r"2025-11-21 04:00 +22 +51.9 s\n$", hours)
        assert re.search(r"web-1 +22 +51.4 s\nweb-2 +1 +600 ms\n$", hosts)
        page = json.loads(run(capsys, "report", "probe", "-q", "--format", "json")[1])
        assert [22] == [hour["count"] for hour in page["hours"]]

    def test_a_host_without_a_block_has_no_table(self, tree, at, capsys):
        write(tree({}) / "probe" / "a-1-1.jsonl", start())
        at(T)
        assert run(capsys, "report", "probe", "-q", "--by", "hour")[1].endswith(
            "watched for 0 ms.\n\n"
        )


class TestCompare:
    @pytest.fixture
    def folders(self, tree, at):
        root = tree({})
        moved = {**POLL, "user": {"file": "/srv/v2/worker.py", "line": 99, "function": "run"}}
        slow = {**ACME, "site": 3, "user": {"file": "/app/x.py", "line": 1, "function": "slow"}}
        even = {**ACME, "site": 4, "user": {"file": "/app/x.py", "line": 2, "function": "even"}}
        less = {**ACME, "site": 5, "user": {"file": "/app/x.py", "line": 3, "function": "less"}}
        write(
            root / "old" / "a-1-1.jsonl",
            start(), POLL, ACME, even, less,
            block(T, 1.0), block(T + 1, 1.0, 2), block(T + 2, 1.0, 4), block(T + 3, 1.0, 5),
            end(T + 3600),
        )  # fmt: skip
        write(
            root / "new" / "a-1-1.jsonl",
            start(), moved, slow, even, less,
            block(T, 5.0), block(T + 6, 1.0, 3), block(T + 8, 2.2, 4), block(T + 11, 0.5, 5),
            end(T + 7200),
        )  # fmt: skip
        at(T + 7201)

    def test_sites_are_new_worse_better_and_gone_by_their_rates(self, folders, capsys):
        code, out, _ = run(capsys, "report", "new", "--compare", "old", "-q")

        assert 1 == code
        words = [line.split()[0] for line in out.splitlines() if re.match(r"(new|w|b|g)", line)]
        assert ["blocked", "new", "worse", "better", "gone"] == words
        assert "worse      1.00 s     2.50 s  /srv/v2/worker.py:99 in run" in out
        assert "calls: confluent_kafka.Consumer.poll" in out
        assert out.endswith("1 more as before.\n")

    def test_json_has_every_site(self, folders, capsys):
        page = json.loads(
            run(capsys, "report", "new", "--compare", "old", "-q", "--format", "json")[1]
        )

        assert ["new", "worse", "better", "gone", "same"] == [one["change"] for one in page]
        assert (1.0, 2.5) == (page[1]["before"], page[1]["after"])

    def test_nothing_changed_is_said(self, folders, capsys):
        out = run(capsys, "report", "old", "--compare", "old", "-q")[1]

        assert "No call site blocks the hub for more or less time than before.\n" == out
