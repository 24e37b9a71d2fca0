"""Facts that are kept of a project after an edit are those that a run without a cache finds."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from test_cache import SERVICE, age

from gblock import catalog, cli, config, files, opened
from gblock.cache.facts import KeptFacts
from gblock.cache.store import Store
from gblock.project.names.inference import Inference
from gblock.project.processes import surroundings
from gblock.project.processes.deployment import kept_scripts
from gblock.project.processes.processes import Processes
from gblock.project.reading import import_graph, kept_imports
from gblock.project.reading.modules import Modules

PROJECTS = Path(__file__).parent / "fixtures" / "projects"
NAMES = sorted(path.name for path in PROJECTS.iterdir() if path.is_dir())
KINDS = (kept_imports.OF_SERVICE, kept_imports.REST, kept_scripts.KIND)
ADDED = {
    "Procfile": "web: gunicorn -k gevent app:app\nworker: sh bin/start.sh\n",
    "Dockerfile": "FROM python\nCOPY lib/shared.py /app/\nCOPY main.py /app/\nCMD ./bin/start.sh\n",
    "docker/Dockerfile": 'COPY lib /app/\nCOPY tool /app/\nENTRYPOINT ["sh", "start.sh", "x"]\n',
    "bin/start.sh": "#!/bin/sh\n. ./bin/env.sh\nexec gunicorn -k $KIND app:app $1\n",
    "bin/env.sh": "export KIND=gevent\n",
    "start.sh": "source bin/env.sh\nexec celery -A app worker -P $KIND\n",
    "requirements.txt": "gevent\ngunicorn\n",
    "setup.py": "from setuptools import setup\nsetup(entry_points={'x': ['y=app:f']})\n",
    "other/setup.py": "from setuptools import setup\nsetup()\n",
    "other/src/lib/__init__.py": "import app\n",
    "lib/shared.py": "import gevent\n",
    "lib/__init__.py": "",
    "shared.py": "import app, lib.shared\n",
    "app.py": "import shared\nfrom gevent import monkey\nmonkey.patch_all()\nimport settings\n",
    "main.py": "import shared\nimport lib\nfrom app import x\n",
    "settings.py": "INSTALLED_APPS = ['lib', 'lib.shared']\nCELERY_IMPORTS = ('shared',)\n",
    "manage.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'settings')\n",
    "tests/test_app.py": "import app\n",
    "app_test.py": "import unittest, app\n",
    ".gitignore": "lib/\n",
}
"""Files that resolve imports and start processes in other ways when they come and go."""
LINES = (
    "# a comment",
    "def harmless():\n    return 1",
    "import sys, os\nsys.path.insert(0, os.path.join(BASE, 'lib'))",
    "import shared",
    "from lib import shared",
    "NAMED = 'lib.shared', 'app:app'",
    "import pytest",
)

PACKAGE = {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/sub/user.py": "import near\n"}
ELSEWHERE = {
    "a directory that code adds to the search path": (
        {
            "conf.py": "import sys, os\nsys.path.insert(0, os.path.join(BASE, 'parts'))\n",
            "parts/thing.py": "",
            "deep/user.py": "import thing\n",
        },
        ("conf.py", ""),
    ),
    "a package in which a program starts": (
        {
            **PACKAGE,
            "pkg/near.py": "",
            "pkg/manage.py": "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'near')\n",
            "other.py": "import pkg\n",
        },
        ("pkg/manage.py", ""),
    ),
    "a directory that becomes a package": (
        {**PACKAGE, "pkg/near.py": "", "other.py": ""},
        ("other.py", "import pkg.sub\n"),
    ),
    "a module of the name of a library": (
        {**PACKAGE, "pkg/sub/near.py": ""},
        ("pkg/sub/near.py", "from near import what\n"),
    ),
    "an image": (
        {
            "one/Dockerfile": "COPY lib.py /app/\nCOPY one /app/\n",
            "one/deep/user.py": "import lib\n",
            "libs/lib.py": "",
            "libs/Dockerfile": "COPY libs/lib.py /app/\nCOPY one /app/\n",
        },
        ("libs/Dockerfile", "COPY one /app/\n"),
    ),
    "a test that is none any more": (
        {"app.py": "celery.autodiscover_tasks()\n", "tasks/in_test.py": "import unittest\n"},
        ("tasks/in_test.py", "import os\n"),
    ),
    "a plug-in": (
        {
            "setup.py": "setup(entry_points={'shop.plugins': ['one = first:f']})\n",
            "first.py": "",
            "second.py": "",
            "app.py": "iter_entry_points('shop.plugins')\n",
        },
        ("setup.py", "setup(entry_points={'shop.plugins': ['one = second:f']})\n"),
    ),
}
"""Projects whose imports lead elsewhere after an edit of another file than the importing one."""


@pytest.fixture
def user(monkeypatch, tmp_path_factory):
    """Return a user's directory of its own."""
    monkeypatch.delenv("GBLOCK_NO_CACHE", raising=False)
    own = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    return own


@pytest.fixture
def facts(user, tmp_path_factory):
    """Return the facts of a cache outside of the project."""
    return KeptFacts(Store(str(tmp_path_factory.mktemp("cache") / "kept")), ())


@pytest.fixture(scope="module")
def blockers():
    return catalog.load()


def read(root, blockers, facts=None):
    """Return all that is kept, as one run finds it, and what it opened."""
    asked = opened.begin()
    found = [os.path.abspath(path) for path in files.find([str(root)]).files]
    modules = Modules(str(root), sorted(found))
    modules.facts = facts
    settings = config.changed(config.Config(), root=str(root))
    around = surroundings.of_project(modules, settings, blockers.worker_commands)
    processes = Processes(Inference(modules, blockers), around=around)
    started = processes.all()
    imports = {path: processes.graph.imports(path) for path in modules.files}
    programs = around.programs.all
    processes.keep()
    return (imports, programs, around.deployment.commands, started, processes.notes), {
        path for path in asked.paths if path.startswith(str(root))
    }


def change(root, chance):
    """Change, add or remove one file of a project."""
    there = sorted(path for path in root.rglob("*") if path.is_file())
    path = chance.choice(there) if there else root / "app.py"
    how = chance.randrange(4)
    if how == 0:
        path.unlink(missing_ok=True)
    elif how == 1:
        name = chance.choice(sorted(ADDED))
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(ADDED[name])
    elif how == 2 or path.suffix != ".py":
        text = path.read_bytes() if path.exists() else b""
        lines = text.splitlines(keepends=True)
        if lines:
            del lines[chance.randrange(len(lines))]
        path.write_bytes(b"".join(lines))
    else:
        text = path.read_text(errors="surrogateescape") if path.exists() else ""
        path.write_text(f"{text}\n{chance.choice(LINES)}\n", errors="surrogateescape")


@pytest.mark.parametrize(
    "name",
    [
        name if number % 4 == 0 else pytest.param(name, marks=pytest.mark.live)
        for number, name in enumerate(NAMES)
    ],
)
def test_after_any_change_it_is_what_a_run_without_it_finds(tmp_path, facts, blockers, name):
    chance = random.Random(name)
    root = tmp_path / "project"
    shutil.copytree(PROJECTS / name, root)
    for path, text in ADDED.items():
        if chance.random() < 0.5:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    for step in range(12):
        expected, asked = read(root, blockers)
        for _ in range(2):
            found, opened_now = read(root, blockers, facts)
            assert found == expected, step
            assert asked <= opened_now, step
        change(root, chance)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_import_that_another_file_sends_elsewhere_is_read_anew(tree, facts, blockers, name):
    project, (path, text) = ELSEWHERE[name]
    root = tree({"green.py": "import gevent\n", **project})
    before, _ = read(root, blockers, facts)
    (root / path).write_text(text)
    expected, _ = read(root, blockers)
    assert before[0] != expected[0]
    assert read(root, blockers, facts)[0] == expected


def test_a_changed_file_is_the_only_one_that_is_read_anew(tree, facts, blockers, monkeypatch):
    root = tree({**SERVICE, **ADDED})
    read(root, blockers, facts)
    anew = []
    real = import_graph.ImportGraph._read
    monkeypatch.setattr(
        import_graph.ImportGraph, "_read", lambda self, path: anew.append(path) or real(self, path)
    )
    scripts = []
    monkeypatch.setattr(kept_scripts, "_written", scripts.append)
    read(root, blockers, facts)
    assert not anew
    with (root / "shop/middle.py").open("a") as file:
        file.write("\n\ndef harmless():\n    return 1\n")
    read(root, blockers, facts)
    assert anew == [str(root / "shop/middle.py")]
    assert not scripts


def checked(capsys, *arguments):
    code = cli.main(["check", "--all-contexts", "--min-severity", "note", *arguments])
    written = capsys.readouterr()
    return code, written.out, written.err


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("path", [".", "shop/wsgi.py", "shop/middle.py"])
@pytest.mark.parametrize("edited", ["shop/middle.py", "shop/factory.py", "Procfile", "bin/env.sh"])
def test_a_check_after_an_edit_says_what_one_without_a_cache_says(
    tree, user, capsys, path, edited, jobs
):
    root = tree({**ADDED, **SERVICE})
    age(root)
    checked(capsys, path, "--jobs", jobs)
    with (root / edited).open("a") as file:
        file.write("\n# changed\n")
    expected = checked(capsys, path, "--no-cache")
    assert checked(capsys, path, "--jobs", jobs) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [None, [], {}, "text", 7, {"question": 1}, [[1], [2]]])
def test_facts_of_another_shape_are_read_anew(tree, facts, blockers, kind, value):
    root = tree({**SERVICE, **ADDED})
    expected, _ = read(root, blockers)
    read(root, blockers, facts)
    facts.put(kind, str(root), value)
    assert read(root, blockers, facts)[0] == expected


@pytest.mark.parametrize("damage", [b"", b"x", None])
def test_damaged_facts_are_read_anew(tree, user, capsys, damage):
    root = tree({**ADDED, **SERVICE})
    age(root)
    checked(capsys, ".")
    for entry in (root / ".gblock_cache").iterdir():
        if len(entry.name) == 40:
            data = entry.read_bytes()
            entry.write_bytes(data[:-1] if damage is None else damage)
    with (root / "shop/factory.py").open("a") as file:
        file.write("# changed\n")
    expected = checked(capsys, ".", "--no-cache")
    assert checked(capsys, ".") == expected


def test_it_does_not_matter_which_files_are_named(tree, user, capsys, monkeypatch):
    root = tree({**ADDED, **SERVICE})
    age(root)
    checked(capsys, ".")
    anew = []
    real = import_graph.ImportGraph._read
    monkeypatch.setattr(
        import_graph.ImportGraph, "_read", lambda self, path: anew.append(path) or real(self, path)
    )
    for path in ("shop/wsgi.py", "shop/middle.py", "shop"):
        checked(capsys, path)
        assert not anew
