"""SARIF, GitLab's code quality and JUnit: valid, complete, and the same diagnostics in each."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_output import REPORT, at, source_of

from gblock import explain
from gblock.cli import main
from gblock.diagnostics import (
    Diagnostic,
    Hidden,
    Location,
    Problem,
    Related,
    Report,
    Severity,
    order,
)
from gblock.output import FORMATS, render, urls
from gblock.output.fingerprints import fingerprints

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE / "schemas" / "sarif-2.1.0-rtm.4.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)
PAGES = explain.rule_pages()
FULL = REPORT._replace(
    hidden=(Hidden(at(1, 1, 1, 5, code="foreign-call"), "comment"),),
    notes=("x was not read",),
    pages=PAGES,
)
BAD = "import os\n\n\ndef send(x):\n    os.system(x)\n"

_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
_PLACE = st.builds(Location, st.integers(1, 10**6), st.integers(1, 10**4))
_DIAGNOSTIC = st.builds(
    Diagnostic,
    filename=_TEXT.filter(lambda name: "\0" not in name),
    location=_PLACE,
    end_location=_PLACE,
    code=st.sampled_from([page.name for page in PAGES]),
    severity=st.sampled_from(Severity),
    message=_TEXT,
    help=_TEXT,
    why=_TEXT,
    blocker=st.none() | _TEXT,
    symbol=st.none() | _TEXT,
    related=st.lists(st.builds(Related, st.just("a.py"), _PLACE, _TEXT), max_size=2).map(tuple),
)
_REPORT = st.builds(
    Report,
    st.lists(_DIAGNOSTIC, max_size=4).map(lambda those: tuple(sorted(set(those), key=order))),
    problems=st.lists(
        st.builds(Problem, st.just("b.py"), _TEXT, st.none() | _PLACE), max_size=2
    ).map(tuple),
    notes=st.lists(_TEXT, max_size=2).map(tuple),
    hidden=st.lists(
        st.builds(Hidden, _DIAGNOSTIC, st.sampled_from(["comment", "configuration", "baseline"])),
        max_size=2,
    ).map(tuple),
)


def sarif(report):
    return json.loads(render("sarif", report._replace(pages=PAGES), source_of))


class TestSarif:
    @given(_REPORT.filter(lambda report: _is_writable(report)))
    def test_any_report_is_valid(self, report):
        log = sarif(report)
        VALIDATOR.validate(log)
        (run,) = log["runs"]
        assert len(run["results"]) == len(report.diagnostics) + len(report.hidden)
        assert run["invocations"][0]["executionSuccessful"] == (not report.problems)

    def test_a_result_has_its_rule_and_its_place(self):
        log = sarif(FULL)
        VALIDATOR.validate(log)
        (run,) = log["runs"]
        by_rule = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
        first = next(one for one in run["results"] if one["ruleId"] == "false-offload")
        rules = run["tool"]["driver"]["rules"]
        assert rules[first["ruleIndex"]]["id"] == "false-offload"
        assert by_rule["false-offload"]["help"]["markdown"] == explain.page("false-offload")
        assert by_rule["false-offload"]["helpUri"].endswith("docs/rules.md#false-offload")
        assert by_rule["foreign-call"]["defaultConfiguration"] == {"enabled": False}
        place = first["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "src/worker.py", "uriBaseId": "SRCROOT"}
        assert place["region"] == {
            "startLine": 3,
            "startColumn": 17,
            "endLine": 3,
            "endColumn": 33,
            "snippet": {"text": source_of("src/worker.py").split("\n")[2]},
        }
        related = first["relatedLocations"][0]
        assert related["message"] == {"text": "a greenlet is started here"}
        assert related["physicalLocation"]["region"]["startLine"] == 7
        assert first["level"] == "warning"
        assert first["properties"]["symbol"] == "confluent_kafka.Producer.flush"

    def test_what_is_hidden_says_so(self):
        results = sarif(FULL)["runs"][0]["results"]
        hidden = [one for one in results if "suppressions" in one]
        assert [one["suppressions"] for one in hidden] == [
            [{"kind": "inSource", "justification": "comment"}]
        ]

    def test_what_stopped_part_of_the_job_is_a_notification(self):
        (invocation,) = sarif(FULL)["runs"][0]["invocations"]
        levels = [one["level"] for one in invocation["toolExecutionNotifications"]]
        assert (levels, invocation["executionSuccessful"]) == (["error", "note"], False)

    def test_a_call_path_is_a_code_flow(self):
        start = Related("app.py", Location(3, 1), "POST /orders")
        steps = start, Related("a.py", Location(9, 1), "flush()")
        log = sarif(Report((at(3, 1, 3, 5, path=steps, context="request", cause="x"),)))
        VALIDATOR.validate(log)
        (result,) = log["runs"][0]["results"]
        (flow,) = result["codeFlows"]
        shown = flow["threadFlows"][0]["locations"]
        messages = [step["location"]["message"]["text"] for step in shown]
        assert messages == ["POST /orders", "flush()"]
        assert result["properties"].items() >= {"context": "request", "cause": "x"}.items()
        several = sarif(Report((at(3, 1, 3, 5, path=steps, paths=(steps, steps[1:])),)))
        VALIDATOR.validate(several)
        assert len(several["runs"][0]["results"][0]["codeFlows"]) == 2

    @pytest.mark.parametrize(
        "name", ["a b.py", "a%20b.py", "c:d.py", "é.py", "\udce9.py", "#a?.py", "src/a.py"]
    )
    def test_a_path_becomes_an_address_and_back(self, name):
        (result,) = sarif(Report((at(1, 1, 1, 2, filename=name),)))["runs"][0]["results"]
        location = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert re.fullmatch(r"[\w.~/%-]+", location["uri"], re.ASCII)
        assert unquote(location["uri"], errors="surrogateescape") == name

    def test_an_absolute_path_stays_absolute(self):
        (result,) = sarif(Report((at(1, 1, 1, 2, filename="/srv/a b.py"),)))["runs"][0]["results"]
        location = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert location == {"uri": "file:///srv/a%20b.py"}


def _is_writable(report):
    """Return whether the names could be those of files."""
    try:
        for one in (*report.diagnostics, *(hidden.diagnostic for hidden in report.hidden)):
            os.fsencode(one.filename)
    except UnicodeEncodeError:
        return False
    return True


class TestGitlab:
    @given(_REPORT)
    def test_any_report_has_what_gitlab_requires(self, report):
        issues = json.loads(render("gitlab", report, source_of))
        assert len(issues) == len(report.diagnostics)
        ids = [issue["fingerprint"] for issue in issues]
        assert len(ids) == len(set(ids))
        for issue, diagnostic in zip(issues, report.diagnostics, strict=True):
            assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
            assert issue["check_name"] == diagnostic.code
            assert issue["location"]["path"] == diagnostic.filename
            assert issue["location"]["positions"]["begin"]["line"] == diagnostic.location.row


class TestJunit:
    @given(_REPORT)
    def test_any_report_is_xml_that_counts_right(self, report):
        root = ET.fromstring(render("junit", report, source_of))
        failures, errors = root.findall(".//failure"), root.findall(".//error")
        assert len(failures) == len(report.diagnostics) == int(root.get("failures"))
        assert len(errors) == len(report.problems) == int(root.get("errors"))
        assert len(root.findall(".//testcase")) == int(root.get("tests")) >= 1


class TestFingerprints:
    def test_they_hold_no_row_and_survive_what_is_hidden(self):
        one, two = at(3, 1, 3, 9), at(9, 1, 9, 9)
        moved = [one._replace(location=Location(30, 1)), two._replace(location=Location(90, 1))]
        before, after = fingerprints([one, two]), fingerprints(moved)
        assert [*before.values()] == [*after.values()]
        assert len({*before.values()}) == 2
        left = sarif(Report((two,), hidden=(Hidden(one, "comment"),)))["runs"][0]["results"]
        assert left[1]["partialFingerprints"] == {"gblock/v1": before[two]}

    def test_they_differ_by_file_rule_and_blocker(self):
        diagnostics = [
            at(1, 1, 1, 2),
            at(1, 1, 1, 2, filename="b.py"),
            at(1, 1, 1, 2, code="false-offload"),
            at(1, 1, 1, 2, blocker="other"),
            at(1, 1, 1, 2, blocker=None, symbol=None),
            at(1, 1, 1, 2, blocker=None, symbol=None, message="other"),
        ]
        assert len({*fingerprints(diagnostics).values()}) == len(diagnostics)


class TestUrls:
    def test_every_rule_and_blocker_has_an_address_that_exists(self):
        docs = HERE.parent / "docs"
        text = (docs / "rules.md").read_text(encoding="utf-8")
        for page in PAGES:
            assert urls.of_rule(page.name).endswith(f"/docs/rules.md#{page.name}")
            assert f"\n## {page.name}\n" in text
        entries = (docs / "blockers.md").read_text(encoding="utf-8")
        for blocker, *_ in explain.listed_blockers():
            address = urls.of_blocker(at(1, 1, 1, 2, blocker=blocker), Report(()))
            assert address.endswith(f"/docs/blockers.md#{blocker}")
            assert f'<a id="{blocker}"></a>' in entries

    def test_what_is_not_in_the_built_in_catalog_has_none(self, tree, capsys):
        tree(
            {
                "mine.toml": '[[blocker]]\nid = "shop-wait"\ndistribution = "shop"\n'
                'symbols = ["shop.wait"]\nkind = "waits"\nlevel = "error"\nwhy = "It waits."\n'
                'instead = "Do not."\n',
                "gblock.toml": 'extend-catalog = ["mine.toml"]\n',
                "requirements.txt": "gevent",
                "a.py": "import shop, os\nshop.wait()\nos.system('')\n",
            }
        )
        assert main(["check", "-q", "--output-format", "json", "a.py"]) == 1
        addresses = [one["blocker_url"] for one in json.loads(capsys.readouterr().out)]
        assert addresses[0] is None
        assert addresses[1].endswith("#os-system")


class TestOutputs:
    def test_several_outputs_of_one_run_say_the_same(self, tree, capsys):
        tree({"a.py": BAD, "b.py": "x = = 1\n", "gblock.toml": "", "requirements.txt": "gevent"})
        argv = ["check", "-q", "."]
        for name in FORMATS:
            argv += ["--output-format", name, "--output-file", f"out.{name}"]
        assert main(argv) == 1
        assert capsys.readouterr().out == ""
        for name in FORMATS:
            assert main(["check", "-q", "--output-format", name, "."]) == 1
            assert capsys.readouterr().out == Path(f"out.{name}").read_text(), name
            text = Path(f"out.{name}").read_text()
            assert "blocking-call" in text
            assert "invalid-syntax" in text
        VALIDATOR.validate(json.loads(Path("out.sarif").read_text()))

    @pytest.mark.parametrize(
        ("argv", "out"),
        [
            (["--output-file", "f"], ""),
            (["--output-file", "f", "--output-format", "concise"], "a.py:5:5: "),
            (
                ["--output-format", "json", "--output-file", "f", "--output-format", "text"],
                "a.py:5",
            ),
            (["--output-format", "json", "--output-format", "concise"], "a.py:5:5: "),
        ],
    )
    def test_a_format_without_a_file_goes_to_standard_output(self, tree, capsys, argv, out):
        tree({"a.py": BAD})
        assert main(["check", "-q", "a.py", *argv]) == 1
        got = capsys.readouterr().out
        assert got.startswith(out)
        assert bool(got) == bool(out)
        assert Path("f").exists() == ("--output-file" in argv)

    @pytest.mark.parametrize(
        "argv",
        [
            ["--output-file", "f", "--output-file", "f"],
            ["--output-file", "no/such/directory/f"],
            ["--output-file", "f", "--statistics"],
        ],
    )
    def test_what_cannot_be_written_is_an_error(self, tree, capsys, argv):
        tree({"a.py": BAD})
        assert main(["check", "a.py", *argv]) == 2
        assert capsys.readouterr().err.startswith("error: ")

    def test_an_output_may_be_a_device_and_keeps_a_link(self, tree, capsys):
        root = tree({"a.py": BAD, "real.txt": ""})
        os.symlink("real.txt", root / "link.txt")
        assert main(["check", "-q", "a.py", "--output-file", "/dev/null"]) == 1
        assert main(["check", "-q", "a.py", "--output-file", "link.txt"]) == 1
        assert os.path.islink("link.txt")
        assert "os.system" in Path("real.txt").read_text()

    def test_a_name_that_is_not_unicode_is_written(self, tree):
        root = os.fsencode(tree({}))
        with open(root + b"/\xe9.py", "w") as file:
            file.write(BAD)
        for name in FORMATS:
            assert main(["check", "-q", ".", "--output-format", name, "--output-file", "f"]) == 1
            assert "blocking-call" in Path("f").read_text()
