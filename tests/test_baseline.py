"""Baselines hide known diagnostics and report new ones."""

from __future__ import annotations

import json
import os

import pytest

from gblock.cli import main
from gblock.engine import baseline
from gblock.errors import UserError

ONE = 'import os\nos.system("sync")\n'


@pytest.fixture
def known(tree):
    root = tree(
        {
            "app.py": ONE,
            "gblock.toml": "baseline = 'known.json'\n",
            "requirements.txt": "gevent\n",
        }
    )
    assert main(["check", "-q", "--write-baseline", "known.json"]) == 0
    return root


def test_a_written_baseline_hides_what_was_there(known, capsys):
    assert 0 == main(["check"])
    assert "1 baselined" in capsys.readouterr().err


def test_it_holds_no_rows(known):
    (known / "app.py").write_text("# moved\n\n" + ONE)

    assert 0 == main(["check", "-q"])
    assert "row" not in (known / "known.json").read_text()


def test_what_is_new_is_reported(known, capsys):
    (known / "app.py").write_text(ONE + 'os.system("again")\n')

    assert 1 == main(["check", "--output-format", "concise"])
    out, err = capsys.readouterr()
    assert "app.py:3:1" in out
    assert "app.py:2:1" not in out
    assert "1 baselined" in err


def test_the_command_line_names_another_baseline(known):
    baseline.save([], "empty.json")

    assert 1 == main(["check", "-q", "--baseline", "empty.json"])


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"version": 2}', '{"version": 1, "diagnostics": [{}]}', "[" * 100_000],
)
def test_what_is_no_baseline_is_an_error(content, tmp_path):
    path = tmp_path / "known.json"
    path.write_text(content)

    with pytest.raises(UserError, match="--write-baseline"):
        baseline.read(str(path))


def test_a_missing_baseline_is_an_error(tmp_path):
    with pytest.raises(UserError, match="cannot be read: No such file"):
        baseline.read(str(tmp_path / "known.json"))


def test_a_baseline_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(UserError, match="cannot be written"):
        baseline.save([], str(tmp_path / "missing" / "known.json"))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "known.json"
    path.write_text("old")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UserError, match="No space left"):
        baseline.save([], str(path))

    assert ["known.json"] == os.listdir(tmp_path)
    assert "old" == path.read_text()


def test_a_write_keeps_the_mode_of_the_file(tmp_path):
    path = tmp_path / "known.json"
    path.write_text("old")
    path.chmod(0o640)
    baseline.save([], str(path))

    assert 0o640 == path.stat().st_mode & 0o777
    assert {"version": 1, "diagnostics": []} == json.loads(path.read_text())


def err_of(capsys, *argv):
    main(["check", *argv])
    return capsys.readouterr().err


def test_entries_for_which_nothing_is_found_any_more_are_named(known, capsys):
    assert "gone" not in err_of(capsys)
    (known / "app.py").write_text("x = 1\n")
    err = err_of(capsys)
    assert "1 known diagnostic is gone: app.py os-system; write the baseline anew" in err
    os.unlink("app.py")
    (known / "other.py").write_text("x = 1\n")
    assert "1 known diagnostic is gone: app.py os-system" in err_of(capsys)
    assert err_of(capsys, "other.py").count("gone") == 1


def test_what_a_run_does_not_look_for_is_not_gone(known, capsys):
    (known / "other.py").write_text("x = 1\n")
    for argv in (["other.py"], ["--select", "spinning-loop"], ["--ignore", "blocking-call"]):
        assert "gone" not in err_of(capsys, *argv)
    assert "gone" not in err_of(capsys, "--min-severity", "error")


def test_a_file_that_is_renamed_or_moved_stays_known(known, capsys):
    for target in ("renamed.py", "pkg/app.py"):
        (known / "pkg").mkdir(exist_ok=True)
        (known / "app.py").rename(known / target)
        assert main(["check"]) == 0
        err = capsys.readouterr().err
        assert f"app.py seems to be {target} now" in err
        assert "1 baselined" in err
        (known / target).rename(known / "app.py")


def test_a_file_that_only_looks_like_a_gone_one_is_not_taken_for_it(known, capsys):
    (known / "one.py").write_text(ONE)
    (known / "two.py").write_text(ONE)
    os.unlink("app.py")
    assert main(["check"]) == 1
    assert "seems to be" not in capsys.readouterr().err


def test_reformatted_code_stays_known(known, capsys):
    (known / "app.py").write_text('import os\n\nos.system(\n    command="sync",\n)\n')
    assert main(["check"]) == 0


def test_many_stale_entries_are_counted(known, capsys):
    text = "import os, time, fcntl\n" + "os.system('x')\n" * 2
    (known / "app.py").write_text(text)
    files = {f"m{number}.py": ONE for number in range(5)}
    for name, content in files.items():
        (known / name).write_text(content)
    assert main(["check", "-q", "--write-baseline", "known.json"]) == 0
    for name in files:
        (known / name).write_text("")
    assert (
        "5 known diagnostics are gone: m0.py os-system, m1.py os-system, m2.py os-system and 2 more"
        in (err_of(capsys))
    )
