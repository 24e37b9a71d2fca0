"""A check runs nothing, writes nothing and reads nothing elsewhere, whatever a repository says."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

import pytest
from installed import install

import gblock
from gblock import boundary, config, engine
from gblock.cache import store
from gblock.errors import UserError
from gblock.packages import environment

# What a process does, line by line: the name of an audit event and its first arguments.
WATCHED = """
import os, sys

log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
HARMLESS = (
    "builtins.", "code.", "compile", "cpython.", "function.", "marshal.", "object.", "sys.",
    "gc.", "pickle.", "os.fork", "time.", "os.putenv", "ctypes.", "array.", "re.", "glob.",
    "os.unsetenv", "os.kill", "mmap.", "monitoring.", "shutil.",
)


def heard(event, arguments):
    if event == "exec":
        arguments = (arguments[0].co_filename,)
    elif event == "import":
        arguments = (arguments[0], str(arguments[1]))
    elif event.startswith(HARMLESS):
        return
    line = repr((event, *(one if isinstance(one, (str, int, type(None))) else repr(one)
                          for one in arguments)))
    os.write(log, line.encode("utf-8", "backslashreplace") + b"\\n")


sys.addaudithook(heard)
sys.argv = ["gblock", *{arguments!r}]
import runpy
runpy.run_module("gblock", run_name="__main__", alter_sys=True)
"""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
TOUCH = "__import__('os').system('touch {canary}')"
METADATA = "Metadata-Version: 2.1\nName: secret-package\nVersion: 6.6.6\n"


class Hostile:
    """A repository that tries everything, and a secret beside it."""

    def __init__(self, base: Path, *, python: str = "./x.sh", more: str = "") -> None:
        self.base, self.root = base, base / "repository"
        self.outside, self.canary = base / "outside", base / "canary"
        (self.outside / "folder").mkdir(parents=True)
        (self.root / ".git" / "info").mkdir(parents=True)
        secret = "import os\nos.system('secret')\nSECRET = (\n"
        for name in ("secret.py", "Procfile", "deploy.sh", "requirements.txt", "folder/inner.py"):
            (self.outside / name).write_text(secret)
        (self.outside / "folder" / "secret-6.6.6.dist-info").mkdir()
        (self.outside / "folder" / "secret-6.6.6.dist-info" / "METADATA").write_text(METADATA)
        (self.outside / "env").write_text("SERVER=gunicorn -k gevent\n")
        (self.outside / "ignore").write_text("*.py\n")
        self._settings(python, more)
        self._code()
        self._deployment()
        self._links()
        self._environment()
        for path in self.base.rglob("*"):
            if path.is_file() and path.suffix in (".sh", "") and not path.is_symlink():
                path.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{canary}", str(self.canary)), encoding="utf-8")

    def _settings(self, python: str, more: str) -> None:
        lines = f'[tool.gblock]\nselect = ["all"]\nsrc = [".", "{self.outside}"]\n'
        python = python.replace("{base}", str(self.base))
        more = more.replace("{base}", str(self.base))
        settings = f'{lines}python = "{python}"\nextend-catalog = ["own.toml"]\n{more}\n'
        if "extend-catalog" in more:
            settings = settings.replace('extend-catalog = ["own.toml"]\n', "", 1)
        self.write("pyproject.toml", settings)
        self.write(
            "own.toml",
            '[[harmless]]\ndistribution = "x"\nwhy = "{canary}"\n'
            '[harmless.evidence]\nversion = "1"\n'
            f'call = "{TOUCH}"\nelapsed = 0.1\nmax_gap = 0.1\n',
        )
        self.write("x.sh", "#!/bin/sh\ntouch {canary}\necho '[\"3.11\", []]'\n")

    def _code(self) -> None:
        run = f"{TOUCH}\n"
        for name in (
            "yaml msgspec libcst rich tomllib tomli json argparse pathspec sitecustomize typing_x"
            " usercustomize conftest setup manage gunicorn_conf gblock_plugin packaging email csv"
        ).split():
            self.write(f"{name}.py", run)
        self.write(
            "app.py",
            "import gevent.monkey\ngevent.monkey.patch_all()\n"
            "import os, importlib, shop_native, yaml, secret, lib.inner\n"
            f"importlib.import_module('manage')\n{run}"
            "def handle():\n    shop_native.go()\n    os.system('sync')"
            f"  # gblock: ignore[{TOUCH}]\n    secret.go()\n",
        )
        self.write("coded.py", f"# -*- coding: {self.outside}/codec -*-\nx = 1\n")
        self.write("coding.py", "# -*- coding: evil.codec -*-\nimport os\nos.system('a')\n")
        self.write("$(touch {canary}).py".replace("/", "_"), run)
        self.write("`touch canary`;&|.py", run)
        self.write("--config=x.sh.py", run)
        self.write("line\nbreak.py", f"import os\nos.system('sync')\n{run}")

    def _deployment(self) -> None:
        self.write(
            "Procfile", "web: $(touch {canary}) gunicorn -k gevent -c gunicorn_conf.py app\n"
        )
        self.write(
            "Makefile", "X := $(shell touch {canary})\nrun:\n\t`touch {canary}`; python app.py\n"
        )
        self.write("Dockerfile", 'FROM x\nRUN touch {canary}\nCMD ["sh", "-c", "touch {canary}"]\n')
        self.write(
            "start", "#!/bin/sh\neval 'touch {canary}'\n. ../outside/env\nexec python app.py\n"
        )
        self.write(
            "compose.yml",
            "services:\n  web:\n    env_file: ../outside/env\n    command: touch {canary}\n"
            "    build: ../outside\n  evil: !!python/object/apply:os.system ['touch {canary}']\n",
        )
        self.write("unsafe.yaml", "command: !!python/object/apply:os.system ['touch {canary}']\n")
        self.write(
            "uwsgi.ini", "[uwsgi]\nexec-pre-app = touch {canary}\nmodule = app\ngevent = 9\n"
        )
        self.write(
            "a.service",
            "[Service]\nEnvironmentFile=../outside/env\nExecStart=/bin/sh -c 'touch {canary}'\n",
        )

    def _links(self) -> None:
        for link, target in {
            "secret.py": "secret.py",
            "Procfile.dev": "Procfile",
            "deploy.sh": "deploy.sh",
            "requirements.txt": "requirements.txt",
            "lib": "folder",
            "sub/.gitignore": "ignore",
            "script": "deploy.sh",
            ".git/info/exclude": "ignore",
        }.items():
            path = self.root / link
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(self.outside / target)
        self.write("sub/code.py", "import os\nos.system('sync')\n")

    def _environment(self) -> None:
        program = "#!/bin/sh\ntouch {canary}\n"
        for name in ("python", "python3", "python3.11"):
            self.write(f".venv/bin/{name}", program)
        home = f"home = {self.outside}/folder\ninclude-system-site-packages = true\n"
        self.write(".venv/pyvenv.cfg", home)
        site = self.root / ".venv" / "lib" / "python3.11" / "site-packages"
        direct = json.dumps({"url": self.outside.as_uri(), "dir_info": {"editable": True}})
        install(site, "shop-native", files=["shop_native.abi3.so", "shop_native.py"])
        install(site, "editable", files=["editable.pth"], direct_url_json=direct)
        folder = install(site, "linked", files=["linked.so"])
        (folder / "METADATA").unlink()
        (folder / "METADATA").symlink_to(self.outside / "secret.py")
        (site / "whole-6.6.6.dist-info").symlink_to(self.outside / "folder/secret-6.6.6.dist-info")
        self.write(str((site / "shop_native.py").relative_to(self.root)), TOUCH)
        self.write(str((site / "sitecustomize.py").relative_to(self.root)), TOUCH)
        paths = f"import os; {TOUCH}\n{self.outside}/folder\n../../../../../outside/folder\n"
        self.write(str((site / "editable.pth").relative_to(self.root)), paths)

    def state(self):
        """Return every file with its content or target, and when it was changed."""
        found = {}
        for path in sorted(self.base.rglob("*")):
            told = path.lstat()
            content = path.readlink() if path.is_symlink() else None
            if path.is_file() and content is None:
                content = path.read_bytes()
            found[path] = told.st_mode, told.st_mtime_ns, content
        return found

    def run(self, *arguments, watched=True, limited=False):
        """Run gblock in the repository; return the process and the events that were heard."""
        log = self.base.parent / f"{self.base.name}-log"
        program = WATCHED.format(log=str(log), arguments=list(arguments))
        plain = ["-m", "gblock", *arguments]
        environ = {"PATH": f"{self.root}/.venv/bin:{os.environ['PATH']}", "VIRTUAL_ENV": ".venv"}
        environ["XDG_CACHE_HOME"] = os.environ["XDG_CACHE_HOME"]
        run = subprocess.run(
            [sys.executable, "-B", *(["-c", program] if watched else plain)],
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
            preexec_fn=_write_no_file if limited else None,
        )
        lines = log.read_text(encoding="utf-8").splitlines() if watched else []
        if watched:
            log.unlink()
        return run, [eval(line) for line in lines]


def _write_no_file():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _allowed():
    """Return the directories that gblock and its interpreter are made of."""
    made_of = [os.path.dirname(gblock.__file__), sys.prefix, sys.base_prefix, "/usr/share/zoneinfo"]
    made_of.append(os.path.join(os.environ["XDG_CACHE_HOME"], "gblock"))  # its own cache
    made_of += [os.path.dirname(os.path.realpath(os.__file__)), *filter(os.path.isdir, sys.path)]
    return [os.path.realpath(path) for path in made_of if os.path.realpath(path) != os.getcwd()]


def _trespasses(events, hostile):
    """Return the events that a check of a hostile repository must not cause."""
    wrong, allowed = [], _allowed()
    for event, *arguments in events:
        first = str(arguments[0]) if arguments else ""
        real = os.path.realpath(os.path.join(hostile.root, first))
        inside = real == str(hostile.root) or real.startswith(f"{hostile.root}{os.sep}")
        known = any(real == path or real.startswith(path + os.sep) for path in allowed)
        if event == "open":
            flags = arguments[2] if len(arguments) > 2 else 0
            if first.isdigit() or first == os.devnull:
                continue
            if (isinstance(flags, int) and flags & WRITING) or not (inside or known):
                wrong.append((event, *arguments))
        elif event in ("os.listdir", "os.scandir"):
            if not (inside or known):
                wrong.append((event, *arguments))
        elif event in ("exec", "import"):
            file = arguments[1] if event == "import" else first
            if file == "None" or file.startswith("<"):  # no file: what runs is seen as an exec
                continue
            if os.path.realpath(os.path.join(hostile.root, file)).startswith(str(hostile.base)):
                wrong.append((event, *arguments))
        else:
            wrong.append((event, *arguments))
    return wrong


COMMANDS = (
    ("check", "."),
    ("check", ".", "--jobs", "2", "--all-processes", "--show-unresolved"),
    ("check", ".", "--output-format", "json"),
    ("deps", ".", "--all"),
    ("processes",),
)
MINUTES = [
    COMMANDS[0],
    *(pytest.param(one, marks=pytest.mark.live) for one in COMMANDS[1:]),
]
"""The same, all but the first with the tests that take minutes."""
ENVIRONMENTS = (
    "./x.sh",
    ".venv/bin/python",
    *(
        pytest.param(one, marks=pytest.mark.live)
        for one in (
            ".venv",
            ".venv/lib/python3.11/site-packages",
            "{base}/repository/.venv/bin/python3.11",
            "missing",
        )
    ),
)


@pytest.mark.parametrize("python", ENVIRONMENTS)
@pytest.mark.parametrize(
    "command",
    [
        (*COMMANDS[0], "--min-severity", "note"),
        pytest.param(COMMANDS[3], marks=pytest.mark.live),
    ],
    ids=" ".join,
)
def test_an_environment_of_the_settings_is_read_and_never_started(tmp_path, python, command):
    hostile = Hostile(tmp_path / "base", python=python)
    before = hostile.state()
    run, events = hostile.run(*command)

    assert run.returncode in (1, 2), run.stderr
    assert [] == _trespasses(events, hostile)
    assert before == hostile.state()
    assert "secret-package" not in run.stdout + run.stderr
    assert "internal" not in run.stderr
    if "venv" in python:
        assert "shop-native" in run.stdout or "shop_native" in run.stdout
        assert "is outside the repository" in run.stderr
    else:
        assert 2 == run.returncode


@pytest.mark.parametrize(
    "command",
    [
        COMMANDS[1],
        COMMANDS[3],
        *(pytest.param(COMMANDS[at], marks=pytest.mark.live) for at in (0, 2, 4)),
    ],
    ids=" ".join,
)
def test_a_hostile_repository_makes_gblock_do_nothing_but_read_it(tmp_path, command):
    hostile = Hostile(tmp_path / "base", python=".venv")
    before = hostile.state()
    run, events = hostile.run(*command)

    assert "gblock itself failed" not in run.stderr
    assert [] == _trespasses(events, hostile)
    assert before == hostile.state()
    assert not hostile.canary.exists()
    assert "SECRET" not in run.stdout


def _is_of_the_cache(event, hostile):
    """Return whether an event is one that keeps the answer: in the cache, or the user's key."""
    places = (f"{hostile.root}/.gblock_cache", store.user_directory())
    files = [one for one in event[1:3] if isinstance(one, str) and os.sep in one]
    return bool(files) and all(one.startswith(places) for one in files)


def test_a_check_writes_nothing_but_its_cache(tmp_path):
    hostile = Hostile(tmp_path / "base")
    hostile.write("pyproject.toml", "[tool.gblock]\n")
    before = hostile.state()
    _, events = hostile.run("check", ".")
    wrong = [one for one in _trespasses(events, hostile) if not _is_of_the_cache(one, hostile)]

    assert [] == wrong
    cache = hostile.root / ".gblock_cache"
    others = [one.name for one in cache.iterdir() if len(one.name) != 40]
    assert [".gitignore", "CACHEDIR.TAG"] == sorted(others)
    after = {path: state for path, state in hostile.state().items() if cache not in path.parents}
    after.pop(cache)
    assert [path for path in before if before[path] != after.pop(path)] == [hostile.root]
    assert {} == after


@pytest.mark.parametrize("signed", [pytest.param(False, marks=pytest.mark.live), True])
def test_an_answer_that_the_repository_brings_along_is_not_given(tmp_path, signed):
    hostile = Hostile(tmp_path / "base")
    hostile.write("pyproject.toml", "[tool.gblock]\n")
    first, _ = hostile.run("check", ".", watched=False)
    assert 1 == first.returncode
    entries = [one for one in (hostile.root / ".gblock_cache").iterdir() if len(one.name) == 40]
    assert entries
    for entry in entries:
        clean = b"0 0 0\n"  # nothing written, and exit code 0
        if signed:  # with a key of the attacker's own
            signature = blake2b(entry.name.encode() + clean, key=b"x" * 32, digest_size=32)
            clean = signature.digest() + clean
        entry.write_bytes(clean)
    again, _ = hostile.run("check", ".", watched=False)

    assert (first.returncode, first.stdout) == (again.returncode, again.stdout)


@pytest.mark.live
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_says_the_same_where_no_file_can_be_written(tmp_path, command):
    hostile = Hostile(tmp_path / "base", python=".venv")
    free, _ = hostile.run(*command, watched=False)
    limited, _ = hostile.run(*command, watched=False, limited=True)

    assert (free.returncode, free.stdout) == (limited.returncode, limited.stdout)
    assert not hostile.canary.exists()


@pytest.mark.parametrize(
    "setting",
    [
        'extend-catalog = ["../outside/env"]',
        'extend-catalog = ["{base}/outside/env"]',
        'extend-catalog = ["deploy.sh"]',
        'baseline = "../outside/env"',
        'baseline = "script"',
    ],
)
def test_a_setting_names_no_file_outside_of_the_repository(tmp_path, setting):
    hostile = Hostile(tmp_path / "base", python=".venv", more=setting)
    run, events = hostile.run("check", ".")

    assert 2 == run.returncode
    assert "is outside the repository" in run.stderr
    assert [] == _trespasses(events, hostile)
    assert "gunicorn" not in run.stderr


def test_the_watch_sees_what_it_is_there_for(tmp_path):
    # The command line may name an interpreter: it is started, and the watch must see it.
    hostile = Hostile(tmp_path / "base", python=".venv")
    _, events = hostile.run("deps", ".", "--python", "./x.sh")

    assert hostile.canary.exists()
    assert "subprocess.Popen" in {event for event, *_ in _trespasses(events, hostile)}


@pytest.mark.live
def test_a_named_directory_is_read_without_its_interpreter(tmp_path):
    hostile = Hostile(tmp_path / "base", python="missing")
    run, _ = hostile.run("deps", ".", "--all", "--python", ".venv")

    assert "shop-native" in run.stdout
    assert "secret-package" in run.stdout  # what the user names is followed wherever it leads
    assert not hostile.canary.exists()


# -- the boundary


def test_the_repository_is_the_nearest_directory_that_is_one(tmp_path):
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    assert str(inner.resolve()) == boundary.repository(str(inner))
    (tmp_path / "a" / "b" / "setup.py").touch()
    assert str((tmp_path / "a" / "b").resolve()) == boundary.repository(str(inner))
    (tmp_path / "a" / ".git").mkdir()
    assert str((tmp_path / "a").resolve()) == boundary.repository(str(inner))


def test_a_path_leads_out_by_links_dots_and_null_bytes(tmp_path):
    top = str(tmp_path.resolve())
    (tmp_path / "in").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    assert not boundary.leads_out(f"{top}/in", top)
    assert not boundary.leads_out(f"{top}/in/../missing", top)
    assert not boundary.leads_out(top, top)
    for path in (f"{top}/out/passwd", f"{top}/../x", f"{top}x", f"{top}/a\0b", "/etc"):
        assert boundary.leads_out(path, top), path


def test_what_is_no_file_is_not_opened(tree):
    root = tree({"gblock.toml": 'baseline = "fifo"\n', "a.py": ""})
    os.mkfifo(root / "fifo")
    with pytest.raises(UserError, match="is no file"):
        config.find(".")
    assert not boundary.is_regular("a\0b")


def test_links_inside_the_repository_are_followed(tree):
    root = tree({"real/a.py": "import os\nos.system('sync')\n", "src/b.py": ""})
    (root / ".git").mkdir()
    (root / "src" / "c.py").symlink_to("../real/a.py")
    (root / "src" / "d.py").symlink_to("/etc/hostname")
    from gblock import files

    found = files.find(["src"])
    assert ["src/b.py", "src/c.py"] == found.files
    (note,) = found.notes
    assert note.startswith("src/d.py leads outside the repository")
    assert ["src/d.py"] == files.find(["src/d.py"]).files


def test_a_configuration_from_elsewhere_may_name_files_anywhere(tree, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "gblock.toml").write_text(f'baseline = "{elsewhere}/known.json"\n')
    root = tree({"a.py": ""})
    (root / ".git").mkdir()
    assert f"{elsewhere}/known.json" == config.load(f"{elsewhere}/gblock.toml").baseline
    (root / "gblock.toml").symlink_to(elsewhere / "gblock.toml")
    with pytest.raises(UserError, match="leads outside the repository"):
        config.find(".")


def test_an_environment_elsewhere_is_read_as_it_is(tmp_path):
    base = tmp_path / "usr"
    install(base / "lib" / "python3" / "dist-packages", "of-the-base")
    venv = tmp_path / "venv"
    install(venv / "lib" / "python3.11" / "site-packages", "own")
    for name, shown in {"true": {"of-the-base", "own"}, "false": {"own"}}.items():
        text = f"home = {base}/bin\ninclude-system-site-packages = {name}\n"
        (venv / "pyvenv.cfg").write_text(text)
        (tmp_path / "repository").mkdir(exist_ok=True)
        found = environment.inspect(str(venv), str(tmp_path / "repository"))
        assert shown == {one.name for one in found.distributions}


def test_a_deployment_file_outside_of_the_repository_is_noted_and_not_read(tree, monkeypatch):
    root = tree({"repository/.git/HEAD": "", "Procfile": "web: gunicorn -k gevent a:app\n"})
    (root / "repository/a.py").write_text("import gevent\nimport os\nos.system('sync')\n")
    os.symlink("../Procfile", root / "repository/Procfile")
    monkeypatch.chdir(root / "repository")
    found = engine.check(engine.Request(["."], config.Config(root=str(root / "repository"))))
    assert "Procfile: leads outside the repository and was not read" in found.notes
    assert any("no process is known to run on gevent" in note for note in found.notes)


def test_a_catalog_or_baseline_outside_of_the_repository_is_refused(tree):
    root = tree({"repository/.git/HEAD": "", "repository/pyproject.toml": "", "own.toml": ""})
    path = root / "repository/gblock.toml"
    for setting in ("extend-catalog = ['../own.toml']", "baseline = '../own.toml'"):
        path.write_text(f"{setting}\n")
        with pytest.raises(UserError, match="outside the repository"):
            config.find(str(root / "repository"))
