from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import measured

import gblock
from gblock import cli, launch
from gblock.commandline import argv as short_way
from gblock.commandline import parser
from gblock.commandline.argv import parse
from gblock.config import Config
from gblock.diagnostics import Diagnostic, Location, Problem, Related, Report, Severity
from gblock.engine import Request
from gblock.errors import UserError

ROOT = Path(gblock.__file__).parents[1]


def diagnostic(**values):
    fields = {
        "filename": "a.py",
        "location": Location(1, 1),
        "end_location": Location(1, 4),
        "code": "blocking-call",
        "severity": Severity.ERROR,
        "message": "f() blocks the hub",
        "help": "",
    }
    return Diagnostic(**{**fields, **values})


@pytest.fixture
def engine(stand_in):
    """A fake engine: records its arguments, and returns or raises what a test sets."""

    class Engine:
        result = Report((), files_checked=1)
        codebase = SimpleNamespace(modules=SimpleNamespace(files=()))

        def check(self, request, on_progress=None, facts=None):
            self.request, self.on_progress, self.facts = request, on_progress, facts
            return self

        def report(self):
            if isinstance(self.result, BaseException):
                raise self.result
            return self.result

    engine = Engine()
    stand_in("engine", Check=engine.check, Request=Request)
    return engine


def run(capsys, *argv):
    code = cli.main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


def python(*argv, stdout=subprocess.PIPE, env=None, **options):
    """Run Python with this gblock, whether it is installed or not."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)} | (env or {})
    return subprocess.run(
        [sys.executable, *argv], stdout=stdout, stderr=subprocess.PIPE, env=env, **options
    )


def process(*argv, **options):
    """Run gblock as a process of its own."""
    env = measured() | options.pop("env", {})
    return python("-m", "gblock", *argv, env=env, **options)


class TestArguments:
    @pytest.mark.parametrize(
        ("argv", "expected"),
        [
            ([], "gblock: no command given; try gblock check, or gblock --help"),
            (["chek"], "gblock: chek is no command; did you mean check?"),
            (["zzz"], "gblock: zzz is no command"),
            (["src"], "gblock: src is no command; did you mean gblock check src?"),
            (["--versoin"], "gblock: unrecognized arguments: --versoin; did you mean --version?"),
            (["--zzz"], "gblock: unrecognized arguments: --zzz"),
            (["lint"], "gblock: lint is no command; did you mean check?\n"),
            (
                ["check", "--fxi"],
                "gblock check: unrecognized arguments: --fxi; did you mean --fix?\n",
            ),
            (
                ["check", "--severity=error"],
                "gblock check: unrecognized arguments: --severity=error; "
                "did you mean --min-severity?\n",
            ),
            (
                ["check", "--workers", "2"],
                "gblock check: unrecognized arguments: --workers; did you mean --jobs?\n",
            ),
            (
                ["check", "--selct=x"],
                "gblock check: unrecognized arguments: --selct=x; did you mean --select?",
            ),
            (["check", "--sel", "x"], "gblock check: unrecognized arguments: --sel"),
            (["check", "--select"], "gblock check: argument --select: expected one argument"),
            (
                ["check", "--select", ","],
                "gblock check: argument --select: expected at least one name",
            ),
            (
                ["check", "--isolated", "--config", "x"],
                "gblock check: argument --config: not allowed with argument --isolated",
            ),
            (["check", "--config", "x.toml"], "x.toml: this configuration file does not exist"),
            (
                ["check", "-", "a.py"],
                "gblock check: standard input is checked alone, without other paths",
            ),
            (
                ["check", "--stdin-filename", "a.py", "b.py"],
                "gblock check: standard input is checked alone, without other paths",
            ),
            (
                ["check", "--statistics", "--output-format", "github"],
                "gblock check: --statistics is written as text, concise or json",
            ),
            (["rules", "x"], "gblock rules: unrecognized arguments: x"),
        ],
    )
    def test_what_makes_no_sense_is_one_line_and_exit_2(self, capsys, tree, argv, expected):
        tree({"src/a.py": ""})
        code, out, err = run(capsys, *argv)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {expected}")
        assert err.count("\n") == 1

    def test_a_wrong_choice_names_the_right_one(self, capsys):
        code, _, err = run(capsys, "check", "--output-format", "jsn")
        assert code == 2
        assert err.endswith("; did you mean json?\n")

    @pytest.mark.parametrize("argv", [["--help"], ["-h"], ["check", "--help"], ["rules", "-h"]])
    def test_help_is_no_error(self, capsys, argv):
        code, out, err = run(capsys, *argv)
        assert (code, err) == (0, "")
        assert out.startswith("usage: gblock")

    def test_the_version_is_that_of_the_package(self, capsys):
        assert run(capsys, "--version") == (0, f"gblock {gblock.__version__}\n", "")

    @pytest.mark.parametrize(
        "argv",
        [
            [],
            ["a.py"],
            ["a.py", "src/", "b.py"],
            ["-q", "a.py", "--force-exclude", "b.py"],
            ["--quiet"],
        ],
    )
    def test_the_short_way_through_the_arguments_leads_where_argparse_does(self, argv):
        expected = vars(parser.parse(["check", *argv]))
        assert expected == vars(short_way.parse(["check", *argv]))

    def test_everything_is_handed_to_the_engine(self, capsys, engine, tree):
        root = tree({"gblock.toml": "", "strict.toml": 'ignore = ["x"]', "src/a.py": ""})
        argv = ["check", "src", "--select", "a,b", "more.py", "--select=c", "--ignore", "d"]
        argv += ["--min-severity", "error", "--baseline", "known.json", "--force-exclude"]
        argv += ["--", "-odd.py"]
        assert run(capsys, *argv)[0] == 0
        assert engine.request.config.filename == f"{root}/gblock.toml"
        assert engine.request == Request(
            ["src", "more.py", "-odd.py"],
            engine.request.config,
            extend_select=[],
            select=["a", "b", "c"],
            ignore=["d"],
            min_severity="error",
            own_settings=True,
            baseline="known.json",
            force_exclude=True,
            jobs=0,
        )
        assert engine.on_progress is None
        run(capsys, "check", "--config", "strict.toml")
        assert (["."], ("x",)) == (engine.request.paths, engine.request.config.ignore)
        run(capsys, "check", "--isolated")
        assert engine.request.config.filename is None

    @pytest.mark.parametrize(
        ("argv", "name"),
        [
            (["-"], "-"),
            (["-", "--stdin-filename", "b.py"], "b.py"),
            (["--stdin-filename", "b.py"], "b.py"),
        ],
    )
    def test_standard_input_is_read(self, capsys, engine, monkeypatch, argv, name):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"f()\n")))
        assert run(capsys, "check", *argv)[0] == 0
        assert engine.request.paths == []
        assert engine.request.stdin == (name, b"f()\n")

    def test_a_closed_standard_input_is_an_error(self, capsys, engine, monkeypatch):
        monkeypatch.setattr("sys.stdin", None)
        expected = "error: gblock check: standard input is closed\n"
        assert (2, "", expected) == run(capsys, "check", "-")


class TestExitCodes:
    PROBLEM = Problem("b.py", "invalid\nsyntax", Location(3, 1))

    @pytest.mark.parametrize(
        ("report", "argv", "expected"),
        [
            (Report(()), [], 0),
            (Report((), notes=("no Python files found under x",)), [], 0),
            (Report((diagnostic(),)), [], 1),
            (Report((diagnostic(severity=Severity.NOTE),)), [], 1),
            (Report((diagnostic(),)), ["--exit-zero"], 0),
            (Report((diagnostic(),)), ["--statistics"], 1),
            (Report((), problems=(PROBLEM,)), [], 2),
            (Report((diagnostic(),), problems=(PROBLEM,)), ["--exit-zero"], 2),
        ],
    )
    def test_the_code_says_what_came_of_it(self, capsys, engine, report, argv, expected):
        engine.result = report
        assert expected == run(capsys, "check", *argv)[0]

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (UserError("x.toml", "wrong", 3, 1), "error: x.toml:3:1: wrong\n"),
            (KeyboardInterrupt(), "gblock was interrupted\n"),
        ],
    )
    def test_what_stops_the_run_is_one_line(self, capsys, engine, error, expected):
        engine.result = error
        code = 130 if isinstance(error, KeyboardInterrupt) else 2
        assert (code, "", expected) == run(capsys, "check")

    def test_a_fault_of_our_own_is_one_line_with_its_place(self, capsys, engine):
        engine.result = ZeroDivisionError("by\nzero")
        code, out, err = run(capsys, "check")
        assert (code, out) == (2, "")
        assert err.startswith("error: gblock itself failed at test_cli.py:")
        assert "ZeroDivisionError: by zero; GBLOCK_TRACEBACK=1 shows a traceback" in err
        assert err.count("\n") == 1

    @pytest.mark.parametrize(
        "place",
        [
            "gblock.engine.inspection.Inspection._visited",
            "gblock.project.reading.modules.Modules.summary",
            "gblock.engine.inspection.Inspection.candidates",
        ],
    )
    @pytest.mark.parametrize("shown", [True, False])
    def test_a_fault_of_our_own_names_the_file_that_was_checked(
        self, capsys, monkeypatch, tree, place, shown
    ):
        tree({"good.py": "x = 1\n", "a\n.py": "import os\nos.system('x')\n"})
        monkeypatch.setattr(place, lambda *_: 1 / 0)
        if shown:
            monkeypatch.setenv("GBLOCK_TRACEBACK", "1")
        code, _, err = run(capsys, "check", ".")
        assert code == 2
        assert "error: gblock itself failed while it checked a\\n.py at test_cli.py:" in err
        assert shown == err.startswith("Traceback (most recent call last):")
        assert shown or err.count("\n") == 1


class TestStreams:
    def test_diagnostics_go_to_stdout_and_everything_else_to_stderr(self, capsys, engine):
        engine.result = Report(
            (diagnostic(),),
            problems=(TestExitCodes.PROBLEM, Problem("no/where", "does not exist")),
            notes=("no Python files found under x",),
            files_checked=2,
            files_tests=1,
            unresolved=1,
            unresolved_calls=(Related("a.py", Location(5, 1), "flush()"),),
        )
        code, out, err = run(capsys, "check", "--output-format=concise", "--show-unresolved")
        assert code == 2
        assert out == "a.py:1:1: error[blocking-call] f() blocks the hub\n"
        assert err == (
            "a.py:5:1: unresolved: flush()\n"
            "b.py:3:1: error: invalid\\nsyntax\n"
            "no/where: error: does not exist\n"
            "warning: no Python files found under x\n"
            "Found 1 error; 1 call unresolved. 2 files checked, 1 test file left out.\n"
        )

    def test_quiet_leaves_diagnostics_and_errors(self, capsys, engine):
        engine.result = Report((diagnostic(),), problems=(TestExitCodes.PROBLEM,), notes=("x",))
        _, out, err = run(capsys, "check", "-q", "--output-format", "concise")
        assert out == "a.py:1:1: error[blocking-call] f() blocks the hub\n"
        assert err == "b.py:3:1: error: invalid\\nsyntax\n"

    def test_a_clean_run_writes_an_empty_array_as_json_and_else_nothing(self, capsys, engine):
        assert run(capsys, "check", "--output-format", "json")[1] == "[]\n"
        assert run(capsys, "check")[1] == ""

    def test_statistics_stand_in_the_place_of_diagnostics(self, capsys, engine):
        engine.result = Report((diagnostic(), diagnostic()))
        assert run(capsys, "check", "--statistics")[1] == "2  blocking-call\n"
        out = run(capsys, "check", "--statistics", "--output-format", "json")[1]
        assert json.loads(out) == [{"code": "blocking-call", "blocker": None, "count": 2}]

    def test_the_excerpt_is_read_from_the_file_or_from_standard_input(
        self, capsys, engine, tree, monkeypatch
    ):
        tree({"a.py": b"# coding: latin-1\r\nf('\xe9')\r\n", "bad.py": b"\xff"})
        place = Location(2, 1), Location(2, 7)
        engine.result = Report((diagnostic(location=place[0], end_location=place[1]),))
        assert "    2 | f('é')\n      | ^^^^^^\n" in run(capsys, "check")[1]
        for name in ("gone.py", "bad.py"):
            engine.result = Report((diagnostic(filename=name),))
            assert " | " not in run(capsys, "check")[1]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\nf(1, 2)\n")))
        engine.result = Report((diagnostic(location=place[0], end_location=Location(2, 8)),))
        out = run(capsys, "check", "--stdin-filename", "./a.py")[1]
        assert "    2 | f(1, 2)\n      | ^^^^^^^\n" in out

    @pytest.mark.parametrize(
        ("argv", "environment", "terminal", "expected"),
        [
            ([], {}, False, False),
            ([], {}, True, True),
            ([], {"TERM": "dumb"}, True, False),
            ([], {"NO_COLOR": "1"}, True, False),
            ([], {"NO_COLOR": ""}, True, True),
            ([], {"FORCE_COLOR": "1"}, False, True),
            ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
            (["--color", "always"], {"NO_COLOR": "1"}, False, True),
            (["--color", "never"], {"FORCE_COLOR": "1"}, True, False),
        ],
    )
    def test_colour_is_for_those_who_can_see_it(
        self, capsys, engine, monkeypatch, argv, environment, terminal, expected
    ):
        for name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", **environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
        engine.result = Report((diagnostic(),))
        assert expected == ("\x1b[" in run(capsys, "check", *argv)[1])

    def test_streams_that_are_closed_are_no_failure(self, engine, monkeypatch):
        engine.result = Report((diagnostic(),), problems=(TestExitCodes.PROBLEM,))
        monkeypatch.setattr("sys.stdout", None)
        monkeypatch.setattr("sys.stderr", None)
        assert cli.main(["check"]) == 2

    def test_an_error_that_nobody_reads_is_no_failure(self, engine, monkeypatch):
        class Closed(io.StringIO):
            def write(self, text):
                raise BrokenPipeError

        monkeypatch.setattr("sys.stderr", Closed())
        assert cli.main(["check"]) == 0

    @pytest.mark.parametrize(
        ("error", "code", "expected"),
        [
            (BrokenPipeError(), 1, ""),
            (
                OSError(28, "No space left"),
                2,
                "error: the report cannot be written: No space left\n",
            ),
        ],
    )
    def test_a_report_that_cannot_be_written_is_no_traceback(
        self, capsys, engine, monkeypatch, tmp_path, error, code, expected
    ):
        class Full(io.FileIO):
            def write(self, content):
                raise error

        with open(tmp_path / "full", "wb") as file:
            raw = Full(os.dup(file.fileno()), "w")
        engine.result = Report((diagnostic(),))
        stdout = io.TextIOWrapper(io.BufferedWriter(raw))
        monkeypatch.setattr("sys.stdout", stdout)
        assert code == cli.main(["check", "-q"])
        assert expected == capsys.readouterr().err
        # What Python does at its end is silent, too.
        raw.write = lambda content: len(content)
        stdout.close()

    def test_the_package_runs_as_a_module(self):
        # pytest loads a package with a plug-in by a hook of its own, which runpy cannot use.
        assert 0 == process("--version").returncode


class TestProcess:
    """Behaviour that only a separate process shows."""

    SOURCE = "from confluent_kafka import Producer\n\nProducer({}).flush()\n"

    def test_a_reader_that_goes_away_is_no_failure(self, tree):
        root = tree({"a.py": self.SOURCE})
        reader, writer = os.pipe()
        os.close(reader)
        run = process("check", "a.py", "-q", cwd=root, stdout=writer)
        os.close(writer)
        assert (1, b"") == (run.returncode, run.stderr)

    def test_a_full_disk_is_one_line_and_exit_2(self, tree):
        root = tree({"a.py": self.SOURCE})
        with open("/dev/full", "wb") as full:
            run = process("check", "a.py", "-q", cwd=root, stdout=full)
        expected = b"error: the report cannot be written: No space left on device\n"
        assert (2, expected) == (run.returncode, run.stderr)

    def test_ctrl_c_is_one_line_and_exit_130(self, tree):
        root = tree({"a.py": ""})
        program = (
            "import os, signal, sys, time\n"
            "from gblock import cli, engine\n"
            "def check(*args, **options):\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    time.sleep(20)\n"
            "engine.Check = check\n"
            "sys.exit(cli.main(['check', 'a.py']))\n"
        )
        run = python("-c", program, cwd=root)
        assert (130, b"", b"gblock was interrupted\n") == (run.returncode, run.stdout, run.stderr)

    def test_a_name_that_the_locale_cannot_write_is_escaped(self, tree):
        root = tree({"漢.py": self.SOURCE})
        env = {"PYTHONIOENCODING": "ascii"}
        run = process("check", ".", "--output-format", "concise", cwd=root, env=env)
        assert run.returncode == 1
        assert run.stdout.startswith(b"\\u6f22.py:3:1: warning[blocking-call]")

    def test_on_a_terminal_there_is_colour(self, tree):
        root = tree({"a.py": self.SOURCE})
        leader, follower = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "gblock", "check", "a.py"],
            stdout=follower,
            stderr=subprocess.DEVNULL,
            cwd=root,
            env={"PYTHONPATH": str(ROOT), "TERM": "xterm", "PATH": os.environ["PATH"]},
        ) as run:
            # Some kernels drop what is unread once the last follower is closed: ours comes later.
            run.wait(timeout=20)
        first = os.read(leader, 1000)
        os.close(follower)
        os.close(leader)
        assert run.returncode == 1
        assert first.startswith(b"\x1b[1ma.py:3:1\x1b[0m: \x1b[1;33mwarning")

    def test_a_clean_file_needs_nothing_heavy(self, tree):
        root = tree({"a.py": "print()\n"})
        # A `.pth` file of another package may import something at the start of the interpreter.
        program = (
            "import sys; before = set(sys.modules)\n"
            "from gblock.cli import main; code = main(['check', 'a.py'])\n"
            "heavy = {'libcst', 'rich', 'msgspec', 'pathspec', 'gevent', 'tomli', 'json'}\n"
            "heavy |= {'packaging', 'typing', 'contextlib', 'ast', 'gblock.engine.jobs'}\n"
            "print(code, heavy & (set(sys.modules) - before))"
        )
        assert python("-c", program, cwd=root).stdout == b"0 set()\n"


class TestProgress:
    @pytest.fixture
    def clock(self, monkeypatch):
        class Clock:
            now = 100.0

        monkeypatch.setattr("time.monotonic", lambda: Clock.now)
        return Clock

    def test_a_long_run_says_how_far_it_is_and_leaves_nothing(
        self, capsys, engine, monkeypatch, clock
    ):
        class Check:
            codebase = engine.codebase

            def __init__(self, request, on_progress, facts=None):
                self.on_progress = on_progress

            def report(self):
                for done, clock.now in enumerate([100.5, 101.5, 101.55, 102.0]):
                    self.on_progress(done, 7000)
                return Report((), files_checked=1)

        monkeypatch.setattr("gblock.engine.Check", Check)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        err = run(capsys, "check")[2]
        assert err == (
            "\r\x1b[KChecking 1 of 7,000 files\r\x1b[KChecking 3 of 7,000 files\r\x1b[K"
            "No blocking calls found. 1 file checked.\n"
        )

    @pytest.mark.parametrize(("argv", "terminal"), [(["-q"], True), ([], False)])
    def test_there_is_none_where_nobody_looks(self, capsys, engine, monkeypatch, argv, terminal):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
        run(capsys, "check", *argv)
        assert engine.on_progress is None

    def test_a_short_run_shows_none(self, capsys, engine, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        assert run(capsys, "check")[2] == "No blocking calls found. 1 file checked.\n"
        assert engine.on_progress is not None


class TestPages:
    @pytest.fixture
    def explain(self, stand_in):
        def page(name):
            if name != "blocking-call":
                raise UserError(name, "unknown rule or blocker of this name")
            return "# blocking-call\n"

        stand_in(
            "explain",
            page=page,
            listed_rules=lambda: [("blocking-call", True, "Waits in native code.")],
            listed_blockers=lambda: [("plyvel-db-get", "plyvel", "waits", "opt-in", "In LevelDB.")],
        )

    def test_explain_prints_a_page(self, capsys, explain):
        assert run(capsys, "explain", "blocking-call") == (0, "# blocking-call\n", "")
        expected = "error: zzz: unknown rule or blocker of this name\n"
        assert (2, "", expected) == run(capsys, "explain", "zzz")

    def test_rules_and_blockers_are_listed(self, capsys, explain):
        assert run(capsys, "rules")[1] == "blocking-call  on  Waits in native code.\n"
        assert run(capsys, "blockers")[1] == "plyvel-db-get  plyvel  waits  opt-in  In LevelDB.\n"
        assert json.loads(run(capsys, "blockers", "--output-format", "json")[1]) == [
            {
                "id": "plyvel-db-get",
                "distribution": "plyvel",
                "kind": "waits",
                "level": "opt-in",
                "why": "In LevelDB.",
            }
        ]
        assert json.loads(run(capsys, "rules", "--output-format", "json")[1])[0]["default"] is True

    def test_the_real_pages_and_lists_can_be_had(self, capsys):
        code, rules, err = run(capsys, "rules")
        assert (code, err) == (0, "")
        for line in rules.splitlines():
            name = line.split()[0]
            assert name in run(capsys, "explain", name)[1]
        listed = json.loads(run(capsys, "blockers", "--output-format", "json")[1])
        assert len(listed) >= 150
        assert run(capsys, "explain", "blocking-cal")[2].endswith("; did you mean blocking-call?\n")


def test_the_defaults_of_the_configuration_are_those_of_an_isolated_run(capsys, engine, tree):
    tree({})
    run(capsys, "check", "--isolated")
    assert isinstance(engine.request.config, Config)


class TestCommands:
    def test_a_command_is_become_with_its_own_arguments(self, monkeypatch, capsys):
        become = []
        monkeypatch.setattr(launch, "become", lambda command: become.append(command) or 7)

        assert cli.main(["run", "--dir", "records", "--", "true", "--dir", "x", "--"]) == 7
        (command,) = become
        assert command.words[-4:] == ["true", "--dir", "x", "--"]
        assert command.environment["GBLOCK_PROBE_DIR"].endswith("records")
        assert cli.main(["run", "--", "gblock-has-no-such-command"]) == 2
        assert "gblock-has-no-such-command" in capsys.readouterr().err

    def test_the_schema_of_a_record_is_written(self, capsys):
        assert cli.main(["report", "--schema"]) == 0
        assert "block" in json.dumps(json.loads(capsys.readouterr().out))

    @pytest.mark.parametrize("engine", ["duckdb", "clickhouse"])
    def test_a_query_names_the_records(self, engine, tmp_path, capsys):
        assert cli.main(["report", "--sql", engine, str(tmp_path)]) == 0
        of_directory = capsys.readouterr().out
        assert f"{tmp_path}" in of_directory
        assert cli.main(["report", "--sql", engine, f"{tmp_path}/a-*.jsonl"]) == 0
        of_files = capsys.readouterr().out
        assert f"{tmp_path}/a-*.jsonl" in of_files
        assert of_files != of_directory

    @pytest.mark.parametrize("paths", [[], ["a", "b"]])
    def test_a_query_is_of_one_place(self, paths, capsys, monkeypatch):
        monkeypatch.delenv("GBLOCK_PROBE_DIR", raising=False)
        assert cli.main(["report", "--sql", "duckdb", *paths]) == 2
        assert "name one directory" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("argv", "problem"),
        [
            (["check", "--jobs", "x"], "expected a whole number from 1 on"),
            (["check", "--jobs", "0"], "expected a whole number from 1 on"),
            (["trial", "--timeout", "x", "pass"], "expected seconds, from 0.02 to 3600"),
            (["trial", "-n", "0", "pass"], "expected a number from 1 to 1000"),
        ],
    )
    def test_a_number_that_cannot_be_is_one_line(self, argv, problem, capsys):
        assert cli.main(argv) == 2
        assert problem in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("argv", "name", "value"),
        [
            (["check", "--jobs", "3"], "jobs", 3),
            (["trial", "--timeout", "0.5", "pass"], "timeout", 0.5),
            (["trial", "-n", "7", "pass"], "repeat", 7),
        ],
    )
    def test_a_number_is_taken(self, argv, name, value):
        assert value == getattr(parse(argv), name)

    def test_a_working_directory_that_is_gone_is_one_line(self, capsys, monkeypatch):
        def gone():
            raise FileNotFoundError(2, "No such file or directory")

        monkeypatch.setattr(os, "getcwd", gone)
        assert cli.main(["check"]) == 2
        error = capsys.readouterr().err
        assert "the current directory cannot be used: No such file or directory" in error
        assert 1 == error.count("\n")
