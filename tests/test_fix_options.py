"""``--fix``, ``--unsafe-fixes`` and ``--diff`` as a person uses them, and what is written."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys

import pytest
from harness import measured

from gblock import engine, fixes
from gblock.cli import main
from gblock.engine import fixing
from gblock.fixes.text import applied

SAFE = "import os\n\nos.getpid()  # gblock: ignore\n"
UNSAFE = """\
from bcrypt import hashpw


def register(password, salt):
    return hashpw(password, salt)
"""
FIXED = """\
import gevent
from bcrypt import hashpw


def register(password, salt):
    return gevent.get_hub().threadpool.apply(hashpw, (password, salt))
"""
CHECK = ("check", "--assume-gevent", "--isolated")


def test_only_safe_fixes_are_applied_by_default(tree, capsys):
    root = tree({"a.py": SAFE, "b.py": UNSAFE})
    assert main([*CHECK, "--fix", "."]) == 1
    assert (root / "a.py").read_text() == "import os\n\nos.getpid()\n"
    assert (root / "b.py").read_text() == UNSAFE
    shown = capsys.readouterr()
    assert "b.py:5:12" in shown.out
    assert "a.py" not in shown.out
    assert "Found 1 warning; 1 fixed." in shown.err or "1 fixed" in shown.err
    assert "No fixes available (1 hidden fix with --unsafe-fixes)." in shown.err


def test_unsafe_fixes_are_applied_where_asked_for(tree, capsys):
    root = tree({"b.py": UNSAFE})
    assert main([*CHECK, "--fix", "--unsafe-fixes", "."]) == 0
    assert (root / "b.py").read_text() == FIXED
    assert "1 fixed" in capsys.readouterr().err
    assert main([*CHECK, "--fix", "--unsafe-fixes", "."]) == 0
    assert (root / "b.py").read_text() == FIXED


def test_the_last_line_counts_fixes(tree, capsys):
    tree({"a.py": SAFE, "b.py": UNSAFE})
    main([*CHECK, "."])
    shown = capsys.readouterr()
    assert "[*] 1 fixable with --fix (1 hidden fix with --unsafe-fixes)." in shown.err
    assert "warning[unused-ignore] [*]" in shown.out
    assert "[cpu-bound-call] [*]" not in shown.out
    main([*CHECK, "--unsafe-fixes", "--output-format", "concise", "."])
    shown = capsys.readouterr()
    assert "[*] 2 fixable with --fix." in shown.err
    assert "[cpu-bound-call] [*]" in shown.out


def test_a_diff_writes_nothing_and_can_be_applied(tree, capsys):
    root = tree({"a.py": SAFE.rstrip("\n"), "b.py": UNSAFE})
    before = {path.name: path.read_bytes() for path in root.iterdir()}
    assert main([*CHECK, "--diff", "--unsafe-fixes", "."]) == 1
    shown = capsys.readouterr()
    assert "Would fix 2 diagnostics." in shown.err
    assert before == {path.name: path.read_bytes() for path in root.iterdir()}
    done = subprocess.run(["patch", "-p0"], input=shown.out, text=True, cwd=root)
    assert done.returncode == 0
    assert (root / "b.py").read_text() == FIXED
    assert (root / "a.py").read_text() == "import os\n\nos.getpid()"
    assert main([*CHECK, "--diff", "--unsafe-fixes", "."]) == 0


def test_a_diff_of_safe_fixes_alone_is_empty_where_there_are_none(tree, capsys):
    tree({"b.py": UNSAFE})
    assert main([*CHECK, "--diff", "."]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("options", [("-",), ("--stdin-filename", "b.py")])
def test_standard_input_is_fixed_to_standard_output(tmp_path, options):
    command = [sys.executable, "-m", "gblock", *CHECK, "--fix", "--unsafe-fixes", *options]
    data = UNSAFE.replace("\n", "\r\n").encode()
    done = subprocess.run(command, input=data, capture_output=True, cwd=tmp_path, env=measured())
    assert done.stdout == FIXED.replace("\n", "\r\n").encode()
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())


def test_options_that_need_the_code_as_it_is_are_refused(tree, capsys):
    tree({"a.py": SAFE})
    for option in ("--add-ignore", "--statistics"):
        assert main([*CHECK, "--fix", option, "."]) == 2
        assert "fix first" in capsys.readouterr().err


# -- what is written


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (UNSAFE.replace("\n", "\r\n").encode(), FIXED.replace("\n", "\r\n").encode()),
        (b"\xef\xbb\xbf" + UNSAFE.encode(), b"\xef\xbb\xbf" + FIXED.encode()),
        (
            "# coding: latin-1\n# é\n".encode("latin-1") + UNSAFE.encode(),
            "# coding: latin-1\n# é\n".encode("latin-1") + FIXED.encode(),
        ),
        (UNSAFE.replace("    ", "\t").encode(), FIXED.replace("    ", "\t").encode()),
        (UNSAFE.rstrip("\n").encode(), FIXED.rstrip("\n").encode()),
        (
            UNSAFE.replace("salt)\n", 'salt)  # "é"\n').encode(),
            FIXED.replace("salt))\n", 'salt))  # "é"\n').encode(),
        ),
        (
            UNSAFE.replace("return hash", "é = 1; return hash").encode(),
            FIXED.replace("return gev", "é = 1; return gev").encode(),
        ),
    ],
    ids=["crlf", "bom", "cookie", "tabs", "no end", "comment", "not ascii"],
)
def test_what_a_fix_does_not_mean_stays(tree, before, after):
    root = tree({"b.py": before})
    assert main([*CHECK, "--fix", "--unsafe-fixes", "-q", "."]) == 0
    assert (root / "b.py").read_bytes() == after


def test_mode_and_links_stay(tree):
    root = tree({"real/b.py": UNSAFE})
    (root / "b.py").symlink_to("real/b.py")
    (root / "real" / "b.py").chmod(0o754)
    main([*CHECK, "--fix", "--unsafe-fixes", "-q", "b.py"])
    assert (root / "b.py").is_symlink()
    assert (root / "real" / "b.py").read_text() == FIXED
    assert stat.S_IMODE((root / "real" / "b.py").stat().st_mode) == 0o754
    assert [path.name for path in (root / "real").iterdir()] == ["b.py"]


def test_a_file_that_changed_meanwhile_is_left_alone(tree, capsys, monkeypatch):
    root = tree({"a.py": SAFE, "b.py": UNSAFE})
    real = fixing.write

    def late(changes):
        (root / "b.py").write_text("# edited meanwhile\n")
        return real(changes)

    monkeypatch.setattr(fixing, "write", late)
    assert main([*CHECK, "--fix", "--unsafe-fixes", "."]) == 2
    assert (root / "b.py").read_text() == "# edited meanwhile\n"
    assert (root / "a.py").read_text() == "import os\n\nos.getpid()\n"
    assert "b.py: error: changed while it was checked" in capsys.readouterr().err


def test_a_file_that_may_not_be_written_is_left_alone(tree, monkeypatch):
    root = tree({"b.py": UNSAFE})
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write every file
    assert main([*CHECK, "--fix", "--unsafe-fixes", "."]) == 2
    assert (root / "b.py").read_text() == UNSAFE


def test_a_write_that_fails_leaves_the_file(tree, capsys, monkeypatch):
    root = tree({"b.py": UNSAFE})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main([*CHECK, "--fix", "--unsafe-fixes", "."]) == 2
    assert (root / "b.py").read_text() == UNSAFE
    assert [path.name for path in root.iterdir()] == ["b.py"]
    assert "No space left on device" in capsys.readouterr().err


# -- other programs


def test_json_and_sarif_carry_the_edits(tree, capsys):
    root = tree({"b.py": UNSAFE})
    main([*CHECK, "--output-format", "json", "-q", "."])
    (diagnostic,) = json.loads(capsys.readouterr().out)
    fix = diagnostic["fix"]
    assert (fix["applicability"], {edit["filename"] for edit in fix["edits"]}) == (
        "unsafe",
        {"b.py"},
    )
    main([*CHECK, "--output-format", "sarif", "-q", "."])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "b.py"
    lines = UNSAFE.split("\n")
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        row = region["startLine"] - 1
        assert region["startLine"] == region["endLine"]
        line = lines[row]
        lines[row] = (
            line[: region["startColumn"] - 1]
            + replacement["insertedContent"]["text"]
            + line[region["endColumn"] - 1 :]
        )
    assert "\n".join(lines) == FIXED
    assert (root / "b.py").read_text() == UNSAFE


def test_an_editor_gets_the_fix_of_one_diagnostic(tree):
    from gblock.config import Config

    root = tree({"b.py": UNSAFE})
    request = engine.Request([str(root)], Config(root=str(root)), assume_gevent=True)
    (diagnostic,) = engine.check(request).diagnostics
    asked = []

    def text_of(name):
        asked.append(name)
        return UNSAFE

    fix = fixes.of(diagnostic, text_of)
    assert applied(UNSAFE, fix.edits) == FIXED
    assert set(asked) == {"b.py"}
    assert fixes.of(diagnostic, lambda _: None) is None
    assert fixes.of(diagnostic, lambda _: "x = (\n") is None
    assert fixes.of(diagnostic, lambda _: "\n\n\n\nother = 'text'\n") is None


def test_fixes_are_not_computed_where_nothing_shows_them(tree):
    tree({"b.py": UNSAFE})
    code = (
        "import sys; from gblock.cli import main\n"
        f"main([*{CHECK!r}, '-q', '--output-format', 'github', '.'])\n"
        "print([name for name in sys.modules if name.startswith('gblock.fixes')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_what_a_fix_of_standard_input_leaves_is_said_beside_it(tree, capsys, monkeypatch):
    tree({"pyproject.toml": ""})
    text = b"import os\nimport gevent\n\n\ndef f():\n    os.system('sync')\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["check", "--fix", "-", "--stdin-filename", "a.py", "--no-cache"]) == 1
    written = capsys.readouterr()
    assert written.out.encode() == text
    assert "a.py:6:5" in written.err


def test_a_quiet_diff_is_the_diff_alone(tree, capsys):
    tree({"a.py": "x = 1  # gblock: ignore\n"})
    assert main(["check", "--diff", "--no-cache", "-q", "."]) == 1
    written = capsys.readouterr()
    assert "-x = 1  # gblock: ignore\n+x = 1\n" in written.out
    assert written.err == ""
    assert main(["check", "--diff", "--no-cache", "."]) == 1
    assert "Would fix 1 diagnostic." in capsys.readouterr().err
