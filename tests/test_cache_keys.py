"""Whatever an answer depends on is in its key: files, listings, states, variables, settings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_cache import SERVICE, age, two_lists

from gblock import cli, opened

DEPENDS_ON = {"NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES"}
"""Variables that change what is written; the width and the colours are part of the question."""
OF_THE_CACHE = {"HOME", "XDG_CACHE_HOME", "GBLOCK_NO_CACHE"}
"""Variables that say where the cache is; ``HOME`` is part of the question too."""
OF_MESSAGES = {"LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES"}
"""Variables that argparse asks for, to translate what it says of wrong arguments."""


@pytest.fixture
def service(tree, monkeypatch, tmp_path_factory):
    monkeypatch.delenv("GBLOCK_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user")))
    root = tree(SERVICE)
    age(root)
    return root


@pytest.fixture
def runs(monkeypatch, capsys):
    """Return a function that checks, and returns how many analyses that took."""
    from gblock import engine

    checks = []
    real = engine.Check.__init__

    def counted(self, *arguments, **options):
        checks.append(arguments)
        real(self, *arguments, **options)

    monkeypatch.setattr(engine.Check, "__init__", counted)

    def run(*arguments):
        before = len(checks)
        cli.main(["check", "-q", *arguments])
        capsys.readouterr()
        return len(checks) - before

    return run


def noted(*arguments):
    """Return what a check without a cache notes: paths that are read or listed, and names."""
    begun = opened.begin()
    cli.main(["check", "-q", "--no-cache", *arguments])
    return begun


@pytest.mark.parametrize("path", [".", pytest.param("shop/wsgi.py", marks=pytest.mark.live)])
def test_a_change_of_each_opened_file_makes_the_run_anew(service, runs, path):
    files = [one for one in sorted(noted(path).paths) if one.startswith(str(service))]
    files = [one for one in files if os.path.isfile(one)]
    assert len(files) > 8
    runs(path)
    for file in files:
        assert runs(path) == 0
        before = Path(file).read_bytes()
        Path(file).write_bytes(before + b"\n# changed\n")
        assert runs(path) == 1, file
        Path(file).write_bytes(before)
        runs(path)


def test_a_new_name_in_each_listed_directory_makes_the_run_anew(service, runs):
    path = "."
    begun = noted(path)
    listed = {os.path.normpath(one) for one in begun.paths if os.path.isdir(one)}
    listed = [one for one in sorted(listed) if one.startswith(str(service))]
    assert str(service) in listed
    runs(path)
    for directory in listed:
        new = Path(directory, "new_one.py")
        new.write_text("")
        assert runs(path) == 1, directory
        new.unlink()
        runs(path)


def test_each_absent_name_that_was_looked_for_makes_the_run_anew(service, runs):
    path = "shop/wsgi.py"
    absent = [one for one in noted(path).names if not os.path.lexists(one)]
    absent = sorted(one for one in absent if one.startswith(str(service)))
    assert absent
    runs(path)
    for name in absent:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        if name.endswith((".toml", "pyproject.toml")):
            Path(name).write_text("")
        else:
            os.mkdir(name)
        assert runs(path) == 1, name
        os.unlink(name) if os.path.isfile(name) else os.rmdir(name)
        runs(path)


ASKING = """
import os, stat, sys
root = os.path.join(os.getcwd(), "")
asked, variables = set(), set()
def wrapped(name, of=os):
    real = getattr(of, name)
    def asking(path, *arguments, **options):
        if isinstance(path, str):
            asked.add(os.path.abspath(path))
        return real(path, *arguments, **options)
    setattr(of, name, asking)
from gblock import cli, opened
begun = opened.begin()
for name in ("stat", "lstat", "access", "readlink"):
    wrapped(name)
for name in ("exists", "lexists", "isfile", "isdir", "islink", "getsize", "getmtime"):
    wrapped(name, os.path)
real = type(os.environ).__getitem__
def get(self, key):
    variables.add(key)
    return real(self, key)
type(os.environ).__getitem__ = get
cli.main(["check", "--jobs", "1", "--no-cache", *sys.argv[1:]])
paths = {os.path.normpath(one) for one in begun.paths}
known = paths | {os.path.normpath(one) for one in begun.names}
missing = {
    one for one in asked
    if one.startswith(root) and one not in known and os.path.dirname(one) not in paths
}
print("\\0".join(sorted(missing)), "\\0".join(sorted(variables)), sep="\\n", file=sys.__stderr__)
"""


def asking(directory, *arguments):
    """Return the states below a directory that are in no key, and the variables that are read."""
    missing, variables = two_lists(ASKING, directory, arguments)
    return missing, set(variables)


@pytest.mark.parametrize(
    "path",
    [
        ".",
        *(
            pytest.param(path, marks=pytest.mark.live)
            for path in ("shop/wsgi.py", "shop/factory.py")
        ),
    ],
)
def test_every_state_and_every_variable_that_a_check_asks_for_is_in_the_key(service, path):
    missing, variables = asking(service, path)
    assert missing == []
    assert variables <= {*DEPENDS_ON, *OF_THE_CACHE, *OF_MESSAGES}


@pytest.mark.parametrize("name", sorted(DEPENDS_ON))
@pytest.mark.parametrize("value", ["1", "dumb"])
def test_a_variable_counts(service, runs, capsys, monkeypatch, name, value):
    for other in DEPENDS_ON:
        monkeypatch.delenv(other, raising=False)

    def answer(*options):
        return cli.main(["check", ".", *options]), capsys.readouterr()

    answer()
    monkeypatch.setenv(name, value)
    assert answer() == answer("--no-cache")


@pytest.mark.parametrize(
    "setting",
    [
        "select = ['late-monkey-patch']",
        "ignore = ['confluent-kafka-producer-flush']",
        "exclude = ['shop/wsgi.py']",
        "src = ['shop']",
        "min-severity = 'note'",
        "assume-cooperative = ['confluent-kafka']",
        "processes = ['gunicorn -k sync shop.wsgi:app']",
        "per-file-ignores = {'shop/wsgi.py' = ['blocking-call']}",
        "extend-catalog = ['own.toml']",
        "baseline = 'known.json'",
    ],
)
def test_each_setting_counts(service, capsys, setting):
    (service / "own.toml").write_text("")
    (service / "known.json").write_text('{"version": 1, "diagnostics": []}')
    (service / "pyproject.toml").write_text("[project]\nname = 'shop'\n[tool.gblock]\n")
    age(service)

    def answer(*options):
        code = cli.main(["check", ".", *options])
        written = capsys.readouterr()
        return code, written.out, written.err

    answer()
    with (service / "pyproject.toml").open("a") as file:
        file.write(f"{setting}\n")
    after = answer()
    assert after == answer("--no-cache")
    assert after == answer()


@pytest.mark.live
def test_processes_at_once_give_the_same_answer_and_leave_no_rest(service):
    command = [sys.executable, "-m", "gblock", "check", "."]
    begun = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)
    ]
    answers = {one.communicate() for one in begun}
    assert len(answers) == 1
    again = subprocess.run(command, capture_output=True, check=False)
    assert {(again.stdout, again.stderr)} == answers
    cache = service / ".gblock_cache"
    left = sorted(path.name for path in cache.iterdir())
    shutil.rmtree(cache)
    subprocess.run(command, capture_output=True, check=False)
    assert left == sorted(path.name for path in cache.iterdir())
