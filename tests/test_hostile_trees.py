"""Strange trees and arguments: a command ends as documented, whatever a directory contains."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import examples

import gblock
from gblock.cli import main
from gblock.decoding import encoded

ROOT = Path(gblock.__file__).parents[1]
BAD = "import os\n\n\ndef send(x):\n    os.system(x)\n"
CALLER = "from {stem} import send\nimport gevent\n\n\ndef run(conn):\n    send(conn)\n"
_LETTERS = st.sampled_from(
    [b"a", b"b", b"\xe9", b"\xc3\xa9", b" ", b"'", b"\n", b"-", b"%", b"\x1b"]
)
_NAME = st.lists(_LETTERS, min_size=1, max_size=4).map(b"".join)
_PATH = st.lists(_NAME, min_size=1, max_size=3).map(b"/".join)
_KIND = st.sampled_from(["bad", "caller", "empty", "broken", "latin", "loop", "gone", "up", "fifo"])


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """An empty working directory, again and again."""

    def make():
        os.chdir(tmp_path)
        shutil.rmtree(tmp_path / "tree", ignore_errors=True)
        (tmp_path / "tree").mkdir()
        os.chdir(tmp_path / "tree")

    monkeypatch.chdir(tmp_path)
    return make


def place(path: bytes, kind: str) -> None:
    """Put one entry of a kind into the working directory, unless that is impossible."""
    path += b".py"
    try:
        os.makedirs(os.path.dirname(path) or b".", exist_ok=True)
        if kind == "loop":
            os.symlink(os.path.basename(path), path)
        elif kind == "gone":
            os.symlink(b"nowhere", path)
        elif kind == "up":
            os.symlink(b"..", path)
        elif kind == "fifo":
            os.mkfifo(path)
        else:
            stem = os.fsdecode(path).rpartition("/")[2][:-3]
            texts = {
                "bad": BAD.encode(),
                "caller": CALLER.format(stem="b").encode(),
                "empty": b"",
                "broken": encoded(f"x = = {stem}\n"),
                "latin": b"import os\nos.system('\xe9')\n",
            }
            with open(path, "xb") as file:
                file.write(texts[kind])
    except OSError:
        return


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    entries=st.lists(st.tuples(_PATH, _KIND), min_size=1, max_size=20),
    marked=st.booleans(),
    named=st.integers(0, 19),
    output=st.sampled_from(["text", "concise", "json", "github"]),
)
def test_any_tree_is_checked(directory, capsys, entries, marked, named, output):
    directory()
    for path, kind in entries:
        place(path, kind)
    if marked:
        Path("pyproject.toml").write_text("")
    one = os.fsdecode(entries[named % len(entries)][0] + b".py")
    for paths in (["."], ["--", one]):
        code = main(["check", "--output-format", output, *paths])
        _, err = capsys.readouterr()
        assert code in (0, 1, 2)
        assert "gblock itself failed" not in err


def test_a_function_of_a_file_that_is_not_utf_8_is_followed_to_many_callers(directory, capsys):
    directory()
    place(b"p\xe9/m\xe9", "bad")
    for number in range(20):
        place(b"caller%d" % number, "caller")
    assert main(["check", "-q", "--output-format", "concise", "."]) == 1
    assert capsys.readouterr().out.count("os.system(x)") == 1


@pytest.mark.parametrize("mark", ["pyproject.toml", None])
@pytest.mark.parametrize("name", ["new/dir/x.py", "x.py", "loop.py/x.py", "n\udce9w/x.py"])
def test_an_unsaved_file_may_stand_in_a_directory_that_does_not_exist(
    directory, capsys, monkeypatch, name, mark
):
    import io

    directory()
    place(b"loop", "loop")
    if mark:
        Path(mark).write_text("[project]\ndependencies = ['gevent']\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    arguments = ["--stdin-filename", name, "--output-format", "concise", "--assume-gevent"]
    assert main(["check", "-q", *arguments]) == 1
    assert ":5:5: warning[blocking-call]" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [["check"], ["check", "x.py"], ["deps"], ["processes"], ["report", "x"], ["rules"]]
)
def test_a_current_directory_that_was_deleted_is_one_line(tmp_path, argv):
    gone = tmp_path / "gone"
    gone.mkdir()
    program = "import os, sys; os.rmdir(os.getcwd()); from gblock.cli import main\n"
    program += "sys.exit(main(sys.argv[1:]))\n"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", program, *argv], cwd=gone, env=env, capture_output=True, text=True
    )
    expected = "error: gblock: the current directory cannot be used: No such file or directory\n"
    assert (2, "", expected) == (run.returncode, run.stdout, run.stderr)


DEEP = {
    "elif": lambda n: (
        "if a == 0:\n    pass\n" + "".join(f"elif a == {i}:\n    b = {i}\n" for i in range(n))
    ),
    "calls": lambda n: "b = c" + ".a(b=1)" * n + "\n",
    "conditionals": lambda n: "b = " + "".join(f"{i} if a == {i} else " for i in range(n)) + "0\n",
    "sums": lambda n: "b = " + " + ".join(["a"] * n) + "\n",
    "attributes": lambda n: "b = a" + ".b" * n + "\n",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize(
    "before", ["import os\n", "import os, gevent.monkey\ngevent.monkey.patch_all()\n"]
)
def test_what_nests_deep_is_checked_as_far_as_python_parses_it(directory, capsys, text, before):
    directory()
    # CPython 3.12 has a limit of its own for these, which no setting moves.
    levels = 300 if sys.version_info[:2] == (3, 12) else 900
    Path("deep.py").write_text(before + text(levels) + "os.system('x')\n")
    arguments = ["-q", "--min-severity", "note", "--output-format", "concise", "."]
    assert main(["check", *arguments]) == 1
    out = capsys.readouterr().out
    assert "[blocking-call] `os.system('x')`" in out
    assert "invalid-syntax" not in out


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_nests_without_end_is_a_diagnostic(directory, capsys, text):
    directory()
    Path("deep.py").write_text("import os\n" + text(30_000) + "os.system('x')\n")
    assert main(["check", "-q", "--output-format", "concise", "."]) == 1
    assert "invalid-syntax" in capsys.readouterr().out


@given(st.text())
def test_any_word_can_be_looked_for(word):
    assert encoded(word).decode(errors="surrogatepass") == word or not word.isprintable()


def test_the_limit_of_nesting_is_what_it_was_after_a_command(directory, capsys):
    directory()
    before = sys.getrecursionlimit()
    main(["check"])
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    ("word", "data"),
    [("café", "café".encode()), ("a\udcff", b"a\xff"), ("a\ud800", b"a\xed\xa0\x80")],
)
def test_every_string_has_the_bytes_of_a_word(word, data):
    """Of a file's text, of a path that is not UTF-8, and of a constant with a lone surrogate."""
    assert data == encoded(word)
