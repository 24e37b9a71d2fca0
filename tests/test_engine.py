"""One run over real files: what is reported, what is counted, and what no file can break."""

from __future__ import annotations

import builtins
import os
import socket
import textwrap
from typing import ClassVar

import pytest
from harness import check

from gblock.config import Config
from gblock.diagnostics import Severity
from gblock.errors import UserError

BAD = 'import os\nos.system("sync")\n'


@pytest.fixture
def run(tree):
    """Write files, check the directory, and return the report."""

    def go(files, *paths, config=None, **options):
        root = tree(files)
        return check(paths or (".",), config or Config(root=str(root)), **options)

    return go


def rows(report):
    return [(d.filename, d.location.row) for d in report.diagnostics]


class TestFilesThatCannotBeChecked:
    """Each is one diagnostic, and everything else is still checked."""

    def check(self, run, content, message, name="broken.py"):
        report = run({name: content, "good.py": BAD})
        (found,) = [d for d in report.diagnostics if d.filename == name]

        assert [(name, found.location.row), ("good.py", 2)] == rows(report)
        assert found.code == "invalid-syntax"
        assert message in found.message
        assert "\n" not in found.message
        assert () == report.problems
        assert (1, 1, 0) == (report.files_checked, report.files_unreadable, report.files_dropped)
        return found

    def test_a_syntax_error_has_its_place(self, run):
        found = self.check(run, "import os\ndef f(:\n    os.system('x')\n", "cannot be parsed")

        assert (2, 7) == found.location
        assert (2, 8) == found.end_location
        assert found.severity is Severity.ERROR

    def test_a_syntax_error_is_reported_even_where_nothing_else_could_be(self, run):
        self.check(run, "x = = 1\n", "cannot be parsed")

    def test_null_bytes(self, run):
        self.check(run, b"import os\n\0\n", "null bytes")

    def test_bytes_that_are_not_in_the_declared_encoding(self, run):
        self.check(run, b"import os\nname = '\xe9'\nos.system(name)\n", "utf-8")

    def test_an_encoding_that_does_not_exist(self, run):
        self.check(run, b"# coding: klingon\nimport os\nos.system('x')\n", "encoding")

    def test_a_file_that_nests_too_deep(self, run):
        self.check(run, "import os\nos.system(" + "-" * 200_000 + "1)\n", "")

    @pytest.mark.live
    def test_a_file_that_is_too_large_to_be_parsed(self, run):
        found = self.check(run, BAD + "# generated\n" * 900_000, "too large")

        assert found.severity is Severity.WARNING

    def test_a_file_that_cannot_be_opened_is_a_problem(self, run, monkeypatch):
        def deny(real):
            def open_(path, *args, **kwargs):
                if str(path).endswith("broken.py"):
                    raise PermissionError(13, "Permission denied")
                return real(path, *args, **kwargs)

            return open_

        monkeypatch.setattr(builtins, "open", deny(builtins.open))
        monkeypatch.setattr(os, "open", deny(os.open))
        report = run({"broken.py": BAD, "good.py": BAD})

        assert [("good.py", 2)] == rows(report)
        assert [("broken.py", "cannot be read: Permission denied", None)] == list(report.problems)
        assert (1, 1) == (report.files_checked, report.files_unreadable)

    @pytest.mark.parametrize("name", ["broken.py", "latin.py", "null.py"])
    def test_it_is_hidden_by_the_configuration(self, run, tmp_path, name):
        content = {"broken.py": "x = = 1\n", "latin.py": b"x = '\xe9'\n", "null.py": b"\0"}[name]
        ignores = ((name, ("invalid-syntax",)),)
        hidden = run({name: content}, config=Config(root=str(tmp_path), per_file_ignores=ignores))
        assert ((), 1, 1) == (hidden.diagnostics, hidden.suppressed, hidden.files_unreadable)

        excluded = run({name: content}, config=Config(root=str(tmp_path), exclude=(name,)))
        assert ((), 0) == (excluded.diagnostics, excluded.files_unreadable)

        ignored = run({name: content}, ignore=["invalid-syntax"])
        assert ((), 1) == (ignored.diagnostics, ignored.files_unreadable)

    def test_files_with_the_same_error_are_one_cause(self, run):
        files = dict.fromkeys(("a.py", "b.py"), "print 'sent'\n") | {"c.py": "x = = 1\n"}
        first, second, other = (d.cause for d in run(files).diagnostics)

        assert first == second != other

    def test_a_selection_does_not_turn_it_off(self, run):
        report = run({"broken.py": "x = = 1\n"}, select=["spinning-loop"])
        assert ["invalid-syntax"] == [d.code for d in report.diagnostics]

    def test_a_comment_hides_it(self, run):
        report = run({"broken.py": "x = = 1  # gblock: ignore[invalid-syntax] a template\n"})
        assert ((), 1) == (report.diagnostics, report.suppressed)

    @pytest.mark.parametrize(
        ("metadata", "is_noted"),
        [
            ({"pyproject.toml": "[project]\nrequires-python = '>=3.99'\n"}, True),
            ({"setup.cfg": "[options]\npython_requires = >=3.99, <4\n"}, True),
            ({"setup.py": "setup(\n    python_requires='~=3.99',\n)\n"}, True),
            ({"pyproject.toml": "[project]\nrequires-python = '>=3.8'\n"}, False),
            ({"pyproject.toml": "[project]\nrequires-python = '<4'\n"}, False),
            ({"pyproject.toml": "[project]\n"}, False),
        ],
    )
    def test_an_interpreter_that_is_too_old_is_noted_once(self, run, metadata, is_noted):
        files = {"a.py": "x = = 1\n", "b.py": "x = = 1\n"}
        report = run({**files, **metadata}, config=Config())
        notes = [note for note in report.notes if "requires Python 3.99" in note]

        assert len(notes) == is_noted
        clean = run(dict.fromkeys(files, ""), config=Config())
        assert [] == [note for note in clean.notes if "3.99" in note]


class TestFilesThatAreStrange:
    def test_latin_1_that_is_declared(self, run):
        report = run({"a.py": b"# coding: latin-1\nimport os\nos.system('\xe9')\n"})

        assert [("a.py", 3)] == rows(report)
        assert () == report.problems

    def test_a_byte_order_mark(self, run):
        assert [("a.py", 2)] == rows(run({"a.py": b"\xef\xbb\xbf" + BAD.encode()}))

    @pytest.mark.parametrize("end", ["\r\n", "\r"])
    def test_other_line_ends(self, run, end):
        assert [("a.py", 2)] == rows(run({"a.py": BAD.replace("\n", end).encode()}))

    def test_tabs_and_form_feeds(self, run):
        text = "import os\n\f\nif os:\n\tif os:\n\t\tos.system('x')\n"

        assert [("a.py", 5)] == rows(run({"a.py": text}))

    def test_columns_count_characters(self, run):
        report = run({"a.py": "import os\nx = 'é漢', os.system('x')\n"})

        assert (2, 11) == report.diagnostics[0].location

    def test_an_empty_file(self, run):
        report = run({"a.py": ""})

        assert (1, 1, 0) == (report.files_checked, report.files_dropped, report.files_unreadable)

    def test_what_is_no_file_is_left_alone(self, run, tmp_path):
        os.mkfifo(tmp_path / "pipe.py")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "socket.py"))
            os.symlink(tmp_path, tmp_path / "again")
            os.symlink("round.py", tmp_path / "round.py")
            report = run({"good.py": BAD})

        assert [("good.py", 2)] == rows(report)
        assert {"pipe.py", "socket.py", "round.py"} == {p.filename for p in report.problems}

    def test_a_name_that_does_not_exist(self, run):
        report = run({"good.py": BAD}, "good.py", "god.py")

        assert [("good.py", 2)] == rows(report)
        assert "did you mean good.py?" in report.problems[0].message

    def test_a_directory_without_python_is_told(self, run):
        report = run({"docs/index.md": ""}, "docs")

        assert 0 == report.files_checked
        assert "no Python files" in report.notes[0]


class TestProjects:
    FILES: ClassVar = {
        "pyproject.toml": "",
        "kafka.py": "from confluent_kafka import Consumer\nconsumer = Consumer({})\n",
        "worker.py": "from kafka import consumer\nconsumer.poll(1)\n",
        "other.py": BAD,
    }

    def test_only_named_files_are_reported_but_all_are_read(self, run):
        report = run(self.FILES, "worker.py")

        assert [("worker.py", 2)] == rows(report)
        assert 1 == report.files_checked

    def test_a_script_without_a_project_sees_its_neighbours(self, run):
        files = {name: text for name, text in self.FILES.items() if name != "pyproject.toml"}

        assert [("worker.py", 2)] == rows(run(files, "worker.py"))

    def test_unsaved_text_takes_the_place_of_a_file(self, run):
        report = run(self.FILES, stdin=("worker.py", b"import os\n\nos.system('x')\n"))

        assert ("worker.py", 3) in rows(report)

    def test_tests_are_left_out_when_found_and_checked_when_named(self, run):
        files = {"tests/test_a.py": BAD, "conftest.py": BAD, "app.py": "", "pyproject.toml": ""}
        report = run(files)

        assert [] == rows(report)
        assert 2 == report.files_tests
        assert [("tests/test_a.py", 2)] == rows(run(files, "tests/test_a.py"))
        assert [("tests/test_a.py", 2)] == rows(run(files, "tests"))
        assert [] == rows(run(files, "tests/test_a.py", force_exclude=True))


class TestSelection:
    CODE = "import os, json, bcrypt\nos.system('x')\njson.loads('1')\nbcrypt.hashpw(b'', b'')\n"

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, [2, 4]),
            ({"select": ["os-system"]}, [2]),
            ({"select": ["cpu-bound-call"]}, [3, 4]),
            ({"select": ["default", "json-loads"]}, [2, 3, 4]),
            ({"select": ["all"]}, [2, 3, 4]),
            ({"ignore": ["blocking-call"]}, [4]),
            ({"ignore": ["os-system", "bcrypt-hashpw"]}, []),
            ({"min_severity": "error"}, []),
        ],
    )
    def test_rules_and_blockers_are_selected_by_name(self, run, options, expected):
        report = run({"a.py": self.CODE}, **options)

        assert expected == [d.location.row for d in report.diagnostics]

    def test_what_is_below_the_severity_is_counted(self, run):
        assert 2 == run({"a.py": self.CODE}, min_severity="error").below_severity

    def test_an_unknown_name_is_an_error_with_a_suggestion(self, run):
        with pytest.raises(UserError, match="did you mean os-system"):
            run({"a.py": ""}, select=["os-sytem"])

    def test_an_unknown_name_in_the_configuration_names_the_file(self, run, tmp_path):
        config = Config(root=str(tmp_path), filename="gblock.toml", ignore=("os-sytem",))
        with pytest.raises(UserError, match=r"^gblock\.toml: ignore: .*did you mean os-system"):
            run({"a.py": ""}, config=config)

    def test_names_are_ignored_in_some_files(self, run, tmp_path):
        ignores = (("scripts/*", ("os-system",)),)
        config = Config(root=str(tmp_path), per_file_ignores=ignores)
        report = run({"scripts/a.py": BAD, "b.py": BAD}, config=config)

        assert [("b.py", 2)] == rows(report)
        assert 1 == report.suppressed

    def test_an_unknown_name_for_some_files_is_an_error(self, run, tmp_path):
        ignores = (("scripts/*", ("os-sytem",)),)
        config = Config(root=str(tmp_path), filename="gblock.toml", per_file_ignores=ignores)
        with pytest.raises(UserError, match=r"per-file-ignores: .*did you mean os-system"):
            run({"a.py": ""}, config=config)

    def test_a_blocker_of_the_projects_own_is_found(self, run, tmp_path):
        catalog = """
            [[blocker]]
            id = "shop-wait"
            distribution = "shop"
            symbols = ["shop.Till.wait"]
            kind = "waits"
            level = "warning"
            why = "It waits."
            instead = "Do not."
            [blocker.evidence]
            reference = "https://example.org"
            """.replace("            ", "")
        config = Config(root=str(tmp_path), extend_catalog=(str(tmp_path / "mine.toml"),))
        code = "from shop import Till\nTill().wait()\n"
        report = run({"mine.toml": catalog, "a.py": code}, config=config)

        assert [("shop-wait", Severity.WARNING)] == [
            (d.blocker, d.severity) for d in report.diagnostics
        ]

    def test_what_the_project_declares_cooperative_is_silent(self, run, tmp_path):
        code = "import psycopg2\npsycopg2.connect('')\n"
        for assumed in ("psycopg2", "psycopg2.connect"):
            config = Config(root=str(tmp_path), assume_cooperative=(assumed,))

            assert [] == rows(run({"a.py": code}, config=config))


class TestComments:
    def test_a_comment_hides_and_is_counted(self, run):
        report = run({"a.py": 'import os\nos.system("x")  # gblock: ignore[blocking-call]\n'})

        assert [] == rows(report)
        assert 1 == report.suppressed

    def test_a_comment_stands_on_the_first_or_last_line_of_the_statement(self, run):
        text = "import os\nos.system(\n    'x',\n)  # gblock: ignore\n"

        assert [] == rows(run({"a.py": text}))

    def test_a_comment_in_a_file_that_triage_drops_is_unused(self, run):
        report = run({"a.py": "x = 1  # gblock: ignore\n"})

        assert ["unused-ignore"] == [d.code for d in report.diagnostics]

    def test_a_comment_for_a_rule_that_does_not_run_is_left_alone(self, run):
        text = 'import os\nos.system("x")  # gblock: ignore[blocking-call]\n'

        assert [] == rows(run({"a.py": text}, select=["cpu-bound-call", "unused-ignore"]))


def test_a_test_that_is_asked_about_counts_as_service(run):
    files = {
        "pyproject.toml": "",
        "tests/app/worker.py": "def work(consumer):\n    consumer.poll(1)\n",
        "tests/app/main.py": "from confluent_kafka import Consumer\nfrom worker import work\n"
        "work(Consumer({}))\n",
    }

    assert [("tests/app/worker.py", 2)] == rows(run(files, "tests/app"))


@pytest.mark.parametrize(("word", "reported"), [("gevent", 2), ("nothing", 1)])
def test_a_large_tree_that_never_mentions_gevent_is_read_frugally(run, monkeypatch, word, reported):
    monkeypatch.setattr("gblock.project.reading.modules._HUGE", 100)
    files = {
        "pyproject.toml": "",
        "kafka.py": "from confluent_kafka import Consumer\nconsumer = Consumer({})\n"
        "consumer.poll(1)\n",
        "worker.py": f"# {word}\nfrom kafka import consumer\nconsumer.poll(1)\n",
    }

    assert reported == len(run(files).diagnostics)


@pytest.mark.parametrize(("requirement", "passed_over"), [("redis", 1), ("gevent", 0)])
def test_a_large_tree_in_which_nothing_runs_on_gevent_is_not_looked_at(
    tree, monkeypatch, requirement, passed_over
):
    monkeypatch.setattr("gblock.project.reading.modules._HUGE", 10)
    root = tree(
        {
            "requirements.txt": f"{requirement}\n",
            "work.py": "import os\nos.system('x')\n",
        }
    )
    report = check([str(root)], Config(root=str(root)), assume_gevent=False)

    assert report.passed_over == passed_over
    assert any("nothing here runs on gevent" in note for note in report.notes) is bool(passed_over)


PACKAGES = {
    "pyproject.toml": "",
    "site/gevent/__init__.py": "",
    "site/gevent/hub.py": "",
    "site/greenlet/__init__.py": "",
    "site/kafka.py": "import confluent_kafka\nconsumer = confluent_kafka.Consumer({})\n"
    "consumer.poll(1)\n",
    "site/worker.py": "# gevent\nfrom kafka import consumer\nconsumer.poll(1)\n",
}


@pytest.mark.parametrize(
    ("without", "size", "reported"),
    [("", 10, 1), ("", 10_000_000, 2), ("site/greenlet/__init__.py", 10, 2)],
)
def test_files_of_a_large_directory_of_packages_are_analysed_one_by_one(
    tree, monkeypatch, without, size, reported
):
    monkeypatch.setattr("gblock.project.reading.modules._HUGE", size)
    root = tree({name: text for name, text in PACKAGES.items() if name != without})
    config = Config(root=str(root), src=(str(root / "site"),))
    assert reported == len(check([str(root)], config).diagnostics)
    notes = check([str(root)], config, assume_gevent=False).notes
    assert any("installed packages" in note for note in notes) is not bool(without)


def test_a_file_by_itself_is_told_of_the_patch_that_another_makes_too_late(tmp_path):
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    main = "import client\nfrom gevent import monkey\nmonkey.patch_all()\n"
    (tmp_path / "main.py").write_text(main, encoding="utf-8")
    path = tmp_path / "client.py"
    path.write_text("from time import sleep\nsleep(1)\n", encoding="utf-8")
    report = check([str(path)], Config(root=str(tmp_path)))

    assert ["captured-before-patch"] == [one.code for one in report.diagnostics]


def test_what_packages_without_blockers_do_with_objects_is_known(tmp_path):
    text = """
        from gevent import monkey; monkey.patch_all()
        import attr, dataclasses, pyodbc
        from flask import Flask, current_app
        app = Flask(__name__)
        app.extensions["orders"] = pyodbc.connect("orders")

        @attr.s
        class Store:
            _db = attr.ib(factory=lambda: pyodbc.connect("shop"))
            def load(self): return self._db.execute("select 1")

        @dataclasses.dataclass
        class Other:
            db: object = dataclasses.field(default_factory=lambda: pyodbc.connect("shop"))
            def load(self): return self.db.execute("select 2")

        @app.route("/")
        def index():
            current_app.extensions["orders"].execute("select 3")
            return [Store().load(), Other().load()]
        """
    (tmp_path / "app.py").write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    found = check([str(tmp_path)], config).diagnostics

    assert {f"pyodbc.Connection.execute:{n}" for n in (10, 15, 19)} == {
        f"{one.symbol}:{one.location.row}" for one in found if one.symbol.endswith("execute")
    }


@pytest.mark.parametrize(("pinned", "count"), [("0.10.4", 0), ("0.11", 0), ("0.16.1", 1)])
def test_old_versions_of_werkzeug_hash_with_few_rounds(run, pinned, count):
    files = {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "requirements.txt": f"gevent\nWerkzeug=={pinned}\n",
        "app.py": "from flask import Flask, request\nfrom werkzeug import security\n"
        "app = Flask(__name__)\n\n"
        '@app.route("/")\ndef index():\n'
        '    return security.generate_password_hash(request.form["password"])\n',
    }
    assert count == len(run(files).diagnostics)


@pytest.mark.parametrize(
    ("pinned", "count"), [("24.11.1", 0), ("25.5.1", 0), ("25.8.1", 1), ("26.9.0", 1)]
)
def test_what_blocks_since_a_version_of_gevent_is_not_reported_below_it(run, pinned, count):
    files = {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "requirements.txt": f"gevent=={pinned}\npexpect==4.9.0\n",
        "app.py": "import pexpect\nfrom flask import Flask\napp = Flask(__name__)\n\n"
        '@app.route("/")\ndef index():\n    return pexpect.run("uptime")\n',
    }
    assert count == len(run(files).diagnostics)
