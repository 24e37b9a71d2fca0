"""The options of ``gblock check`` that choose files and rules, list them, and write comments."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import tomli
from harness import INSTALLED

from gblock import rules
from gblock.cli import main
from gblock.commandline import parser
from gblock.diagnostics import Diagnostic, Location, Severity
from gblock.engine import ignores
from gblock.errors import UserError

BAD = 'import os\nos.system("sync")\n'
GEVENT = {"requirements.txt": "gevent\n"}
FILES = {
    **GEVENT,
    "gblock.toml": 'exclude = ["old/"]\n',
    "a.py": BAD,
    "old/b.py": BAD,
    "gen/c.py": BAD,
    "sub/gen/d.py": BAD,
    "sub/e.py": BAD,
}
HANDLED = "import uuid\nimport zlib\nimport os\n\nos.system('x')\nzlib.compress(b'')\n"


def names(capsys, *argv):
    """The files in which something is reported."""
    main(["check", "-q", "--output-format", "json", *argv])
    return sorted({one["filename"] for one in json.loads(capsys.readouterr().out)})


def codes(capsys, *argv):
    main(["check", "-q", "--output-format", "json", *argv])
    return sorted({one["code"] for one in json.loads(capsys.readouterr().out)})


class TestFiles:
    @pytest.mark.parametrize(
        ("argv", "expected"),
        [
            ([], ["a.py", "gen/c.py", "sub/e.py", "sub/gen/d.py"]),
            (["--exclude", "gen"], ["a.py", "old/b.py", "sub/e.py"]),
            (["--extend-exclude", "gen"], ["a.py", "sub/e.py"]),
            (["--extend-exclude", "/gen/"], ["a.py", "sub/e.py", "sub/gen/d.py"]),
            (["--exclude", "a.py,sub"], ["gen/c.py", "old/b.py"]),
            (["--exclude", "a.py", "--extend-exclude", "sub"], ["gen/c.py", "old/b.py"]),
        ],
    )
    def test_what_is_excluded_is_not_checked(self, tree, capsys, argv, expected):
        tree(FILES)
        assert names(capsys, ".", *argv) == expected
        assert main(["check", ".", "--show-files", *argv]) == 0
        assert capsys.readouterr().out.splitlines() == expected

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("gen", ["e.py"]),
            ("gen/", ["e.py"]),
            ("./gen/d.py", ["e.py"]),
            ("e.py", ["gen/d.py"]),
            ("nothing", ["e.py", "gen/d.py"]),
        ],
    )
    def test_a_pattern_starts_from_the_working_directory(
        self, tree, capsys, monkeypatch, pattern, expected
    ):
        root = tree(FILES)
        monkeypatch.chdir(root / "sub")
        assert names(capsys, ".", "--extend-exclude", pattern) == expected

    def test_files_that_cannot_be_read_are_said_in_a_list_too(self, tree, capsys):
        tree(FILES)
        assert main(["check", "--show-files", "a.py", "nowhere"]) == 2
        out, err = capsys.readouterr()
        assert out == "a.py\n"
        assert err.startswith("nowhere: error: no such file")


class TestRules:
    def test_a_selection_is_extended(self, tree, capsys):
        tree({"a.py": HANDLED, **GEVENT})
        only = codes(capsys, "a.py", "--select", "cpu-bound-call")
        assert "blocking-call" not in only
        assert codes(capsys, "a.py") == ["blocking-call"]
        assert codes(capsys, "a.py", "--extend-select", "cpu-bound-call") == [
            "blocking-call",
            "cpu-bound-call",
        ]
        both = ["--select", "cpu-bound-call", "--extend-select", "blocking-call"]
        assert codes(capsys, "a.py", *both) == ["blocking-call", "cpu-bound-call"]
        assert codes(capsys, "a.py", "--extend-ignore", "blocking-call") == []

    def test_all_is_written_in_any_case(self, tree, capsys):
        root = tree({"a.py": HANDLED, **GEVENT})
        paths = ["a.py", "--python", INSTALLED]
        expected = codes(capsys, *paths, "--select", "all")
        assert "cpu-bound-call" in expected
        assert codes(capsys, *paths, "--select", "ALL") == expected
        assert codes(capsys, *paths, "--extend-select", "All") == expected
        (root / "gblock.toml").write_text('select = ["ALL"]\n')
        assert codes(capsys, *paths) == expected

    def test_names_that_do_not_exist_are_errors(self, tree, capsys):
        tree({"a.py": ""})
        for option in ("--extend-select", "--extend-ignore", "--per-file-ignores"):
            value = "*.py:blocking-cal" if "per-file" in option else "blocking-cal"
            assert main(["check", option, value, "a.py"]) == 2
            assert "did you mean blocking-call?" in capsys.readouterr().err

    def test_files_have_ignores_of_their_own(self, tree, capsys, monkeypatch):
        root = tree(FILES)
        argv = ["--per-file-ignores", "gen/*:blocking-call,a.py:os-system"]
        assert names(capsys, ".", *argv) == ["sub/e.py", "sub/gen/d.py"]
        monkeypatch.chdir(root / "sub")
        argv = ["--per-file-ignores", "gen/*:blocking-call"]
        assert names(capsys, ".", *argv) == ["e.py"]
        assert main(["check", "--per-file-ignores", "gen"]) == 2
        assert "expected PATTERN:NAME" in capsys.readouterr().err


class TestSettings:
    def test_they_are_shown_as_what_can_be_pasted(self, tree, capsys):
        root = tree({"gblock.toml": 'exclude = ["old"]\nbaseline = "known.json"\n', "a.py": ""})
        argv = [
            "check",
            "--show-settings",
            "--extend-select",
            "json-loads",
            "--ignore",
            "os-system",
        ]
        argv += ["--extend-exclude", "gen", "--per-file-ignores", "a:b,a:c", "a.py"]
        assert main(argv) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"# {root}/gblock.toml\n")
        shown = tomli.loads(out)["tool"]["gblock"]
        assert shown["exclude"] == ["old", "gen"]
        assert shown["ignore"] == ["os-system"]
        assert shown["baseline"] == f"{root}/known.json"
        assert shown["per-file-ignores"] == {"a": ["b", "c"]}
        assert set(shown) <= set(__import__("gblock.config").config._kinds())

    def test_without_a_file_they_are_the_defaults(self, tree, capsys):
        tree({"a.py": ""})
        assert main(["check", "--isolated", "--show-settings", "a.py"]) == 0
        shown = tomli.loads(capsys.readouterr().out)["tool"]["gblock"]
        assert shown["select"] == ["default"]
        assert shown["min-severity"] == "warning"


ADDED = {
    "plain": ('os.system("x")\n', 'os.system("x")  # gblock: ignore[blocking-call]\n'),
    "comment": (
        'os.system("x")  # why\n',
        'os.system("x")  # why  # gblock: ignore[blocking-call]\n',
    ),
    "names": (
        'os.system("x")  # gblock: ignore[uuid-heavy-path] because\n',
        'os.system("x")  # gblock: ignore[uuid-heavy-path, blocking-call] because\n',
    ),
    "rows": (
        'os.system(\n    "x",\n)\n',
        'os.system(\n    "x",\n)  # gblock: ignore[blocking-call]\n',
    ),
    "crlf": (
        'os.system("x")\r\nx = 1\r\n',
        'os.system("x")  # gblock: ignore[blocking-call]\r\nx = 1\r\n',
    ),
    "no end": ('os.system("x")', 'os.system("x")  # gblock: ignore[blocking-call]'),
    "two": (
        'os.system("x"); os.system("y")\n',
        'os.system("x"); os.system("y")  # gblock: ignore[blocking-call]\n',
    ),
    "header": (
        'if os.system("x"):\n    pass\n',
        'if os.system("x"):  # gblock: ignore[blocking-call]\n    pass\n',
    ),
    "string": (
        'y = os.system("x"), """\n"""\n',
        'y = os.system("x"), """\n"""  # gblock: ignore[blocking-call]\n',
    ),
}  # fmt: skip


class TestAddIgnore:
    @pytest.mark.parametrize(("before", "after"), ADDED.values(), ids=ADDED)
    def test_a_comment_is_added_and_hides(self, tree, capsys, before, after):
        head = "import os, uuid\n"
        root = tree({"a.py": head + before})
        path = root / "a.py"
        path.chmod(0o640)
        argv = ["check", "a.py", "--ignore", "unused-ignore"]
        assert main([*argv, "--add-ignore"]) == 0
        assert path.read_bytes().decode() == head + after
        assert path.stat().st_mode & 0o777 == 0o640
        assert main(argv) == 0
        assert main([*argv, "--add-ignore"]) == 0
        assert path.read_bytes().decode() == head + after
        capsys.readouterr()

    def test_the_encoding_of_a_file_is_kept(self, tree):
        before = "# coding: latin-1\nimport os\nos.system('\xe9')\n".encode("latin-1")
        root = tree({"a.py": before, "b.py": b"\xef\xbb\xbf" + BAD.encode()})
        assert main(["check", "-q", ".", "--add-ignore"]) == 0
        added = b"  # gblock: ignore[blocking-call]\n"
        assert (root / "a.py").read_bytes() == before[:-1] + added
        assert (root / "b.py").read_bytes() == b"\xef\xbb\xbf" + BAD.encode()[:-1] + added

    def test_what_no_comment_can_hide_is_reported(self, tree, capsys):
        root = tree({"a.py": "x = = 1\n", "b.py": "x = 1  # gblock: ignore[os-system]\n"})
        assert main(["check", ".", "--add-ignore"]) == 1
        err = capsys.readouterr().err
        assert "a.py:1:5: warning: no comment can hide invalid-syntax here" in err
        assert "0 diagnostics suppressed by new comments." in err
        assert (root / "a.py").read_text() == "x = = 1\n"

    def test_standard_input_has_no_file_to_change(self, tree, capsys, monkeypatch):
        import io

        tree({})
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
        assert main(["check", "-", "--add-ignore"]) == 2

    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            ("x = '''\nos\n'''\n", (2, 2)),
            ("x = 1 + \\\n  2\n", (1, 1)),
            ("x = 1\n", (7, 7)),
        ],
    )
    def test_a_row_that_takes_no_comment_is_left_alone(self, text, rows):
        place = Location(rows[0], 1)
        diagnostic = Diagnostic("a.py", place, place, "blocking-call", Severity.ERROR, "", "")
        assert ignores.commented(text, rows, diagnostic) is None

    @pytest.mark.live
    def test_real_files_parse_to_the_same_program(self, tree, capsys):
        fixtures = Path(__file__).parent / "fixtures" / "blocking_call"
        root = tree({})
        for path in sorted(fixtures.glob("*.py"))[::8]:
            shutil.copy(path, root / path.name)
        before = {path: ast.dump(ast.parse(path.read_text())) for path in root.glob("*.py")}
        assert main(["check", "-q", ".", "--add-ignore", "--ignore", "unused-ignore"]) == 0
        for path, tree_ in before.items():
            assert ast.dump(ast.parse(path.read_text())) == tree_
        capsys.readouterr()
        assert main(["check", ".", "--ignore", "unused-ignore"]) == 0
        assert "suppressed" in capsys.readouterr().err


class TestHelp:
    @pytest.mark.parametrize("command", parser.descriptions())
    def test_help_of_a_command_is_what_the_command_says_itself(self, capsys, command):
        assert main(["help", command]) == 0
        text = capsys.readouterr().out
        assert main([command, "--help"]) == 0
        assert capsys.readouterr().out == text

    def test_help_alone_lists_the_commands(self, capsys):
        assert main(["help"]) == 0
        out = capsys.readouterr().out
        assert main(["--help"]) == 0
        assert capsys.readouterr().out == out
        assert all(f"  {name} " in out for name in parser.descriptions())

    def test_a_command_that_does_not_exist_is_an_error(self, capsys):
        assert main(["help", "chek"]) == 2
        assert "did you mean check?" in capsys.readouterr().err


class TestCompletion:
    def complete(self, tmp_path, capsys, *words):
        """Return bash's completions of the last word."""
        assert main(["completion", "bash"]) == 0
        (tmp_path / "completion").write_text(capsys.readouterr().out)
        line = " ".join(f"'{word}'" for word in words)
        script = f"source completion; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _gblock; "
        script += 'printf "%s\\n" "${COMPREPLY[@]}"'
        run = subprocess.run(
            ["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True
        )
        assert run.stderr == ""
        return run.stdout.split()

    def test_bash_completes_commands_options_and_values(self, tmp_path, capsys):
        assert self.complete(tmp_path, capsys, "gblock", "che") == ["check"]
        assert self.complete(tmp_path, capsys, "gblock", "check", "--output-fo") == [
            "--output-format"
        ]
        formats = self.complete(tmp_path, capsys, "gblock", "check", "--output-format", "")
        assert {"sarif", "text"} <= set(formats)
        offered = self.complete(tmp_path, capsys, "gblock", "check", "--select", "")
        assert {"default", "all", *rules.NAMES} == set(offered)
        assert self.complete(tmp_path, capsys, "gblock", "explain", "spin") == ["spinning-loop"]

    @pytest.mark.parametrize("shell", ["zsh", "fish"])
    def test_the_other_shells_read_theirs(self, tmp_path, capsys, shell):
        assert main(["completion", shell]) == 0
        text = capsys.readouterr().out
        assert all(name in text for name in parser.descriptions())
        program = shutil.which(shell)
        if program is not None:
            path = tmp_path / "completion"
            path.write_text(text)
            run = subprocess.run([program, "-n", path], capture_output=True, text=True)
            assert (run.returncode, run.stderr) == (0, "")

    def test_another_shell_is_an_error(self, capsys):
        assert main(["completion", "tcsh"]) == 2


def test_options_change_the_settings_wherever_these_come_from(tree, capsys):
    tree({**FILES, "other.toml": 'ignore = ["blocking-call"]\n'})
    argv = ["--extend-exclude", "gen", "--assume-gevent"]
    assert names(capsys, ".", "--isolated", *argv) == ["a.py", "old/b.py", "sub/e.py"]
    assert names(capsys, ".", "--config", "other.toml", *argv) == []


def test_a_file_that_is_gone_meanwhile_takes_no_comment(tree):
    tree({})
    place = Location(1, 1)
    gone = Diagnostic("gone.py", place, place, "blocking-call", Severity.ERROR, "", "")
    with pytest.raises(UserError, match="cannot be read: No such file"):
        ignores.add([gone], lambda _: (1, 1))
    assert ignores.add([gone], lambda _: None) == (0, [gone])


def test_a_device_that_is_full_is_an_error(tree, capsys):
    tree({"a.py": BAD})
    assert main(["check", "a.py", "--output-file", "/dev/full"]) == 2
    assert "/dev/full: cannot be written: No space left on device" in capsys.readouterr().err
