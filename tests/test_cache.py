"""The cache of answers: right whatever changes, and believed only if the user made it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gblock
from gblock import cli
from gblock.cache import manifest, store

PROJECTS = Path(__file__).parent / "fixtures" / "projects"
SERVICE = {
    "pyproject.toml": "[project]\nname = 'shop'\n[tool.gblock]\nignore = ['blocking-driver']\n",
    "Procfile": "web: gunicorn -k gevent shop.wsgi:app\n",
    "docker-compose.yml": "services:\n  web:\n    command: gunicorn -k gevent shop.wsgi:app\n",
    "requirements.txt": "gunicorn\ngevent\nflask\nconfluent-kafka\n",
    ".gitignore": "/ignored/\n",
    "start": "#!/bin/sh\nexec gunicorn -k gevent shop.wsgi:app\n",
    "shop/__init__.py": "",
    "shop/factory.py": "import confluent_kafka\n\n\ndef make():\n"
    "    return confluent_kafka.Producer({})\n",
    "shop/middle.py": "from shop.factory import make\n\n\ndef client():\n    return make()\n",
    "shop/outer.py": "from shop.middle import client\n\nproducer = client()\n",
    "shop/wsgi.py": "from flask import Flask\n\nfrom shop.outer import producer\n\n"
    "app = Flask(__name__)\n\n\n@app.route('/')\ndef index():\n    producer.flush()\n"
    "    return ''\n",
    "ignored/late.py": "import confluent_kafka\nconfluent_kafka.Producer({}).flush()\n",
    "known.toml": "",
}


@pytest.fixture
def cached(monkeypatch, tmp_path_factory):
    """Turn the cache on, with a user's directory of its own."""
    monkeypatch.delenv("GBLOCK_NO_CACHE")
    own = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    return own


@pytest.fixture
def service(tree, cached):
    """A service on gevent whose handler flushes a producer that is made three modules away."""
    root = tree(SERVICE)
    age(root)
    return root


def age(root, seconds=10.0):
    """Make everything look as if it had been there for a while."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            status = path.stat()
            os.utime(path, (status.st_atime - seconds, status.st_mtime - seconds))


def check(capsys, *arguments):
    code = cli.main(["check", *arguments])
    written = capsys.readouterr()
    return code, written.out, written.err


@pytest.fixture
def engines(monkeypatch):
    """Count how often the engine checks anything."""
    from gblock import engine

    checks = []
    real = engine.Check.__init__

    def counted(self, *arguments, **options):
        checks.append(arguments)
        real(self, *arguments, **options)

    monkeypatch.setattr(engine.Check, "__init__", counted)
    return checks


@pytest.mark.parametrize("path", [".", "shop/wsgi.py", "shop/factory.py"])
def test_the_same_question_gets_the_same_answer_without_a_check(service, capsys, engines, path):
    first = check(capsys, path)
    assert len(engines) == 1
    assert check(capsys, path) == first
    assert len(engines) == 1
    assert check(capsys, path, "--no-cache") == first
    assert len(engines) == 2
    assert (first[0] == 1) == (path != "shop/factory.py")


def replaced(path, old, new):
    path.write_text(path.read_text().replace(old, new))


EDITS = {
    "a factory three modules away": lambda root: replaced(
        root / "shop/factory.py", "confluent_kafka.Producer({})", "open('x')"
    ),
    "a factory, as long as before": lambda root: replaced(
        root / "shop/factory.py", "Producer", "Consumer"
    ),
    "the Procfile": lambda root: replaced(root / "Procfile", "-k gevent", "-k sync"),
    "a requirement": lambda root: replaced(root / "requirements.txt", "gunicorn\n", ""),
    "the settings": lambda root: replaced(
        root / "pyproject.toml", "blocking-driver", "blocking-call"
    ),
    "a .gitignore": lambda root: (root / ".gitignore").write_text(""),
    "a .gitignore further down": lambda root: (root / "shop/.gitignore").write_text("wsgi.py\n"),
    "a new file": lambda root: (root / "shop/new.py").write_text(
        "import confluent_kafka\n\n\ndef run():\n    confluent_kafka.Producer({}).flush()\n"
    ),
    "a file that is gone": lambda root: (root / "shop/factory.py").unlink(),
    "a file that moved": lambda root: (root / "shop/factory.py").rename(root / "factory.py"),
    "a comment that ignores": lambda root: replaced(
        root / "shop/wsgi.py", "flush()", "flush()  # gblock: ignore"
    ),
    "new settings that win": lambda root: (root / "gblock.toml").write_text(
        "exclude = ['shop/wsgi.py']\n"
    ),
    "a syntax error": lambda root: (root / "shop/middle.py").write_text("def ("),
    "a script without a suffix": lambda root: (
        (root / "tool").write_text(
            "#!/usr/bin/env python\nimport confluent_kafka\nconfluent_kafka.Producer({}).flush()\n"
        )
        and (root / "tool").chmod(0o755)
    ),
    "a package that becomes a module": lambda root: (root / "shop/__init__.py").unlink(),
}


def test_a_file_that_is_ignored_and_committed_later_counts(service, capsys):
    (service / ".gitignore").write_text("Procfile\nstart\n*.yml\n")
    subprocess.run(["git", "init", "-q"], cwd=service, check=True)
    age(service)
    before = check(capsys, ".")
    subprocess.run(["git", "add", "-f", "Procfile"], cwd=service, check=True)
    after = check(capsys, ".")
    assert after == check(capsys, ".", "--no-cache")
    assert after != before


@pytest.mark.parametrize("path", [pytest.param(".", marks=pytest.mark.live), "shop/wsgi.py"])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_anywhere_counts(service, capsys, edit, path):
    before = check(capsys, path)
    edit(service)
    after = check(capsys, path)
    assert after == check(capsys, path, "--no-cache")
    assert check(capsys, path) == after
    age(service, 100)
    assert check(capsys, path) == after
    if edit in (EDITS["a factory three modules away"], EDITS["the settings"]):
        assert after != before


def test_a_mode_counts(service, capsys):
    (service / "tool").write_text(
        "#!/usr/bin/env python\nimport confluent_kafka\nconfluent_kafka.Producer({}).flush()\n"
    )
    age(service)
    check(capsys, ".")
    (service / "tool").chmod(0o755)
    assert check(capsys, ".") == check(capsys, ".", "--no-cache")


def test_an_own_catalog_and_a_baseline_count(service, capsys):
    (service / "gblock.toml").write_text("extend-catalog = ['own.toml']\n")
    (service / "own.toml").write_text("")
    check(capsys, "--write-baseline", "known.json", ".")
    before = check(capsys, "--baseline", "known.json", ".")
    assert before[0] == 0
    (service / "known.json").write_text('{"version": 0, "diagnostics": []}')
    assert check(capsys, "--baseline", "known.json", ".")[0] == 2
    assert check(capsys, ".") == check(capsys, ".", "--no-cache")


def test_settings_above_the_project_count(service, capsys, monkeypatch):
    monkeypatch.chdir(service / "shop")
    (service / "pyproject.toml").unlink()
    before = check(capsys, ".")
    (service / "gblock.toml").write_text("ignore = ['blocking-call']\n")
    after = check(capsys, ".")
    assert after == check(capsys, ".", "--no-cache")
    assert after != before


@pytest.mark.parametrize(
    "options",
    [["--output-format", "json"], ["--select", "late-monkey-patch"], ["-q"], ["--all-contexts"]],
)
def test_every_option_is_another_question(service, capsys, options):
    check(capsys, ".")
    assert check(capsys, ".", *options) == check(capsys, ".", *options, "--no-cache")
    assert check(capsys, ".", *options) == check(capsys, ".", *options, "--no-cache")


def test_touching_a_file_changes_nothing(service, capsys, engines):
    first = check(capsys, ".")
    for path in service.rglob("*.py"):
        path.touch()
    assert check(capsys, ".") == first
    assert len(engines) == 1


def test_what_is_not_a_check_is_not_kept(service, capsys):
    for options in (
        ["--show-files"],
        ["--show-settings"],
        ["--output-format", "json", "--output-file", "out.json"],
    ):
        check(capsys, ".", *options)
        assert not list(entries(service))


def entries(root):
    directory = root / store.NAME
    if directory.is_dir():
        yield from (path for path in directory.iterdir() if len(path.name) == 40)


def kept_answers(root):
    """The entries of answers; the others are facts, which are JSON."""
    return [path for path in entries(root) if path.read_bytes()[32:33].isdigit()]


def test_git_and_backups_leave_the_directory_alone(service, capsys):
    check(capsys, ".")
    directory = service / store.NAME
    assert (directory / ".gitignore").read_text() == "*\n"
    assert (
        (directory / "CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    )
    assert len(list(kept_answers(service))) == 1


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 32, b"x" * 5000])
def test_a_damaged_entry_is_written_again(service, capsys, engines, damage):
    first = check(capsys, ".")
    (entry,) = kept_answers(service)
    entry.write_bytes(damage)
    assert check(capsys, ".") == first
    assert len(engines) == 2
    assert check(capsys, ".") == first
    assert len(engines) == 2


def test_every_flipped_byte_is_noticed(service, capsys, engines):
    check(capsys, "shop/wsgi.py")
    (entry,) = kept_answers(service)
    whole = entry.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        kept = store.Store(str(service / store.NAME))
        assert kept.get(entry.name) == whole[32:]
        entry.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert kept.get(entry.name) is None
        entry.write_bytes(whole)


def test_a_cache_of_another_user_is_not_believed(service, capsys, cached, engines):
    """An entry that a repository brings along was signed with another secret."""
    first = check(capsys, ".")
    (cached / "gblock" / "key").unlink()
    assert check(capsys, ".") == first
    assert len(engines) == 2


def test_an_entry_of_another_question_is_not_believed(service, capsys, engines):
    check(capsys, "shop/factory.py")
    (clean,) = kept_answers(service)
    before = check(capsys, "shop/wsgi.py")
    (other,) = set(kept_answers(service)) - {clean}
    other.write_bytes(clean.read_bytes())
    assert check(capsys, "shop/wsgi.py") == before
    assert len(engines) == 3


def test_a_key_that_lies_in_the_repository_is_not_believed(service, capsys, monkeypatch):
    (service / ".git").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(service / ".cache"))
    check(capsys, ".")
    assert not list(entries(service))


def test_a_key_that_others_can_read_is_not_believed(service, capsys, cached):
    (cached / "gblock").mkdir()
    (cached / "gblock" / "key").write_bytes(b"k" * 32)
    (cached / "gblock" / "key").chmod(0o644)
    check(capsys, ".")
    assert not list(entries(service))


def test_a_link_in_the_place_of_the_cache_is_not_followed(service, capsys, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (service / store.NAME).symlink_to(elsewhere)
    check(capsys, ".")
    assert not list(elsewhere.iterdir())


def test_a_fifo_in_the_place_of_an_entry_does_not_stop_a_run(service, capsys):
    first = check(capsys, ".")
    (entry,) = kept_answers(service)
    entry.unlink()
    os.mkfifo(entry)
    assert check(capsys, ".") == first


def test_without_a_place_to_write_it_works(service, capsys):
    (service / store.NAME).write_text("a file")
    assert check(capsys, ".") == check(capsys, ".", "--no-cache")
    assert (service / store.NAME).read_text() == "a file"


def test_a_relative_home_gets_no_cache(service, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    check(capsys, ".")
    assert not (service / "cache").exists()


def test_loose_files_leave_nothing_beside_them(tree, cached, capsys, engines):
    root = tree({"a.py": "import time\n"})
    check(capsys, "a.py")
    check(capsys, "a.py")
    assert len(engines) == 1
    assert [path.name for path in root.iterdir()] == ["a.py"]


def test_the_command_line_and_the_settings_name_another_directory(service, capsys, engines):
    first = check(capsys, ".", "--cache-dir", "kept")
    assert check(capsys, ".", "--cache-dir", "kept") == first
    assert len(engines) == 1
    assert not (service / store.NAME).exists()
    with (service / "pyproject.toml").open("a") as file:
        file.write("cache-dir = 'build/kept'\n")
    assert check(capsys, ".") == first
    assert (service / "build" / "kept" / "CACHEDIR.TAG").is_file()
    assert not (service / store.NAME).exists()


@pytest.mark.parametrize("directory", [".", "shop"])
@pytest.mark.parametrize("how", ["option", "setting"])
def test_a_directory_of_something_else_is_left_alone(service, capsys, monkeypatch, directory, how):
    """A store removes old entries, and writes a `.gitignore` that hides everything."""
    monkeypatch.setattr(store, "_ENTRIES_LIMIT", 1)
    monkeypatch.setattr(store, "_MOST_BYTES", 1)
    arguments = ["--cache-dir", directory] if how == "option" else []
    if how == "setting":
        with (service / "pyproject.toml").open("a") as file:
            file.write(f"cache-dir = '{directory}'\n")
    before = {path: path.read_bytes() for path in service.rglob("*") if path.is_file()}
    assert check(capsys, ".", *arguments) == check(capsys, ".", *arguments)
    assert before == {path: path.read_bytes() for path in service.rglob("*") if path.is_file()}


def test_only_entries_are_removed(cached, tree, monkeypatch):
    root = tree({})
    kept = store.Store(str(root / "kept"))
    assert kept.prepare()
    (root / "kept" / "notes.txt").write_text("x" * 5000)
    left = root / "kept" / ("b" * 40 + ".1-00000000.new")
    left.write_text("x" * 5000)
    os.utime(left, (1, 1))
    monkeypatch.setattr(store, "_MOST_BYTES", 500)
    kept.put("a" * 40, b"x")
    assert (root / "kept" / "notes.txt").exists()
    assert not left.exists()


def test_settings_of_a_repository_name_no_directory_elsewhere(service, capsys):
    (service / ".git").mkdir()
    with (service / "pyproject.toml").open("a") as file:
        file.write("cache-dir = '../elsewhere'\n")
    code, _, errors = check(capsys, ".")
    assert code == 2
    assert "cache-dir: " in errors
    assert "--cache-dir" in errors
    assert not (service.parent / "elsewhere").exists()


def test_it_is_bounded(cached, tree, monkeypatch):
    root = tree({})
    monkeypatch.setattr(store, "_ENTRIES_LIMIT", 5)
    monkeypatch.setattr(store, "_MOST_BYTES", 500)
    kept = store.Store(str(root / "kept"))
    assert kept.prepare()
    for number in range(20):
        kept.put(f"{number:040}", b"x" * 50)
        os.utime(root / "kept" / f"{number:040}", (number, number))
    assert len([p for p in (root / "kept").iterdir() if len(p.name) == 40]) <= 5
    assert kept.get(f"{19:040}") == b"x" * 50
    kept.put("f" * 40, b"x" * 5000)
    assert kept.get("f" * 40) == b"x" * 5000  # the newest stays, whatever its size


def test_runs_at_once_do_not_disturb_one_another(cached, tree):
    root = tree({})
    directory = str(root / "kept")
    problems = []

    def work(letter):
        kept = store.Store(directory)
        kept.prepare()
        for _ in range(30):
            kept.put("a" * 40, letter * 2000)
            found = kept.get("a" * 40)
            if found is not None and len(set(found)) != 1:
                problems.append(found)

    threads = [threading.Thread(target=work, args=(one,)) for one in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert not [path for path in (root / "kept").iterdir() if path.name.endswith(".new")]


def test_a_file_that_changes_while_it_is_read_is_not_kept(service, capsys, monkeypatch):
    from gblock import engine

    real = engine.Check.report

    def report(self):
        found = real(self)
        (service / "shop" / "factory.py").write_text("# other\n")
        return found

    monkeypatch.setattr(engine.Check, "report", report)
    check(capsys, ".")
    assert not list(kept_answers(service))


def test_a_warm_run_imports_neither_the_engine_nor_re(service, cached):
    command = [sys.executable, "-X", "importtime", "-m", "gblock", "check", "shop/wsgi.py"]
    cold = subprocess.run(command, capture_output=True, text=True, check=False)
    warm = subprocess.run(command, capture_output=True, text=True, check=False)
    assert cold.stdout == warm.stdout
    assert "gblock.engine" in cold.stderr
    for module in ("gblock.engine", "gblock.diagnostics", "libcst", "msgspec", "hashlib", "json"):
        assert f" {module}\n" not in warm.stderr, module


# -- everything that is read is compared

ASKED = """
import os, sys
asked = set()
def heard(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
        if os.path.join(path, "").startswith(root):
            asked.add(path)
root = os.path.join(os.getcwd(), "")
sys.addaudithook(heard)
from gblock import cli, opened
written = []
for directory in os.environ.get("DIRECTORIES", root).split(os.pathsep):
    os.chdir(directory)
    root = os.path.join(os.getcwd(), "")
    asked.clear()
    begun = opened.begin()
    cli.main(["check", "--jobs", "1", "--no-cache", *sys.argv[1:]])
    noted = {os.path.normpath(path) for path in begun.paths}
    written += ["\\0".join(sorted(asked)), "\\0".join(sorted(asked - noted))]
print(*written, sep="\\n", file=sys.__stderr__)
"""


def two_lists(script, directory, arguments):
    """Run a check by a script in a directory; return the two lists that it writes at the end."""
    return lists(script, directory, arguments, dict(os.environ))[-2:]


def lists(script, directory, arguments, environment):
    """Run a script in a directory; return the lists that it writes, one a line."""
    run = subprocess.run(
        [sys.executable, "-c", script, "-q", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return [[one for one in line.split("\0") if one] for line in run.stderr.split("\n")[:-1]]


def asked(directory, *arguments):
    """Return what a check opens and lists below a directory, and what of that is not noted."""
    return two_lists(ASKED, directory, arguments)


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.live)])
def test_what_is_opened_is_noted(tmp_path, step):
    # Copies: the settings of gblock's own repository exclude the fixtures.
    copies = []
    for project in sorted(path for path in PROJECTS.iterdir() if path.is_dir())[::step]:
        copies.append(tmp_path / project.name)
        shutil.copytree(project, copies[-1])
        (copies[-1] / ".git").mkdir()
    directories = os.pathsep.join(map(str, copies))
    written = lists(ASKED, tmp_path, ["."], {**os.environ, "DIRECTORIES": directories})
    written = written[-2 * len(copies) :]
    missed, unread = [], []
    for copy, paths, missing in zip(copies, written[::2], written[1::2], strict=True):
        missed += missing
        sources = {str(path) for path in copy.rglob("*.py")}
        unread += sorted(sources - set(paths))
    assert len(copies) > 60 // step
    assert missed == []
    assert unread == []


@pytest.mark.parametrize("path", [".", pytest.param("shop/wsgi.py", marks=pytest.mark.live)])
def test_the_files_of_a_service_are_opened_and_noted(service, path):
    paths, missing = asked(service, path)
    assert missing == []
    names = {os.path.relpath(one, service) for one in paths}
    read = {"Procfile", "docker-compose.yml", "start", "pyproject.toml", "shop/factory.py"}
    assert read <= names


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_another_process_opens_is_noted(service, jobs):
    from gblock import opened

    begun = opened.begin()
    cli.main(["check", ".", "--jobs", jobs, "--no-cache", "-q"])
    assert str(service / "Procfile") in begun.paths


def test_a_manifest_of_another_shape_is_refused():
    with pytest.raises(manifest.Changed):
        manifest.renewed(b"a\0b")


def test_the_version_is_part_of_every_question(service, capsys, engines, monkeypatch):
    check(capsys, ".")
    monkeypatch.setattr(gblock, "__version__", "0.0.0")
    check(capsys, ".")
    assert len(engines) == 2
