"""A large repository is checked unit by unit: the same diagnostics, at the cost of the largest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gblock import cli, config, files, units
from gblock.engine import Check, Request, divided
from gblock.engine import jobs as engine_jobs
from gblock.project.reading.modules import Modules
from gblock.project.reading.shared import shared

HANDLER = (
    "from flask import Flask\n\nfrom shared.events import send\n\napp = Flask(__name__)\n\n\n"
    "@app.route('/')\ndef index():\n    send()\n    return ''\n"
)
OWN = "import confluent_kafka\n\n\ndef work():\n    confluent_kafka.Producer({}).flush()\n"
ON_GEVENT = 'FROM python\nCMD ["gunicorn", "-k", "gevent", "app.wsgi:app"]\n'
FILES = {
    ".git/HEAD": "ref: refs/heads/main\n",
    "shared/__init__.py": "",
    "shared/events.py": "from shared.clients import producer\n\n\n"
    "def send():\n    producer().flush()\n",
    "shared/clients.py": "import confluent_kafka\n\n\ndef producer():\n"
    "    return confluent_kafka.Producer({})\n",
    "shared/unused.py": "import confluent_kafka\nconfluent_kafka.Producer({}).flush()\n",
    "services/shop/Dockerfile": ON_GEVENT,
    "services/shop/app/__init__.py": "",
    "services/shop/app/wsgi.py": "from app.jobs import work\n"
    + HANDLER.replace("    return", "    work()\n    return"),
    "services/shop/app/jobs.py": OWN,
    "services/bills/pyproject.toml": "[project]\nname = 'bills'\ndependencies = ['gevent']\n",
    "services/bills/Procfile": "web: gunicorn -k gevent app.wsgi:app\n",
    "services/bills/app/__init__.py": "",
    "services/bills/app/wsgi.py": HANDLER.replace(
        "send()\n    return", "send()\n    x = 1\n    return"
    ),
    "services/mail/Dockerfile": 'FROM python\nCMD ["gunicorn", "app.wsgi:app"]\n',
    "services/mail/app/__init__.py": "",
    "services/mail/app/wsgi.py": HANDLER,
    "services/mail/app/broken.py": "def (\n",
}
UNITS = ["services/bills", "services/mail", "services/shop"]


@pytest.fixture
def repository(tree, monkeypatch):
    """Three services side by side, two of them on gevent, that share code; few files are many."""
    monkeypatch.setattr(files, "LARGE_TREE", 3)
    return tree(FILES)


def found(capsys, *arguments):
    code = cli.main(["check", "--no-cache", "--output-format", "concise", *arguments])
    written = capsys.readouterr()
    return code, sorted(written.out.splitlines()), written.err


def test_units_are_directories_with_a_mark_or_a_deployment(repository):
    paths = files.find([str(repository)]).absolute
    whole = units.Monorepo(str(repository), paths, config.Config())
    assert [path[len(str(repository)) + 1 :] for path in whole.directories] == UNITS
    assert len(whole.below(str(repository))) == 4


def test_a_unit_has_the_shared_code_that_it_imports(repository):
    paths = files.find([str(repository)]).absolute
    whole = units.Monorepo(str(repository), paths, config.Config())
    unit = whole.unit(str(repository / "services/shop"))
    shared = unit.shared(unit.files(), lambda path: Path(path).read_bytes())
    names = ["__init__.py", "clients.py", "events.py"]
    assert shared == [str(repository / "shared" / name) for name in names]


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.live), "2"])
def test_each_unit_gives_what_it_gives_by_itself(repository, capsys, monkeypatch, jobs):
    # Other tests may have imported gevent, which has patched nothing here.
    monkeypatch.setattr(engine_jobs, "may_fork", lambda: True)
    monkeypatch.setattr(divided, "_TOGETHER", 3)
    _, whole, _ = found(capsys, ".", "--jobs", jobs)
    for unit in UNITS:
        _, alone, _ = found(capsys, unit)
        assert [line for line in whole if line.startswith(unit)] == alone
    assert any("shop/app/jobs.py" in line for line in whole)
    assert any("mail/app/broken.py" in line for line in whole)
    assert not any("mail/app/wsgi.py" in line for line in whole)


def test_shared_code_is_reported_once_in_the_context_of_its_callers(repository, capsys):
    _, whole, _ = found(capsys, ".")
    (line,) = [line for line in whole if line.startswith("shared/events.py")]
    assert "error" in line
    assert not any(line.startswith("shared/unused.py") for line in whole)


def test_a_named_file_is_checked_in_its_unit(repository, capsys):
    _, whole, _ = found(capsys, ".")
    path = "services/shop/app/jobs.py"
    assert found(capsys, path)[1] == [line for line in whole if line.startswith(path)]


def test_a_small_repository_is_one_project(tree, capsys):
    root = tree(FILES)
    check = Check(Request([str(root)], config.find(str(root))))
    assert check._found_in_units() is None


def test_one_large_part_is_no_repository_of_units(repository):
    for number in range(40):
        (repository / "services/shop/app" / f"m{number}.py").write_text("")
    paths = files.find([str(repository)]).absolute
    assert units.Monorepo(str(repository), paths, config.Config()).directories == []


def test_a_deployment_beside_the_units_keeps_them_together(repository):
    (repository / "docker-compose.yml").write_text(
        "services:\n  mail:\n    command: gunicorn -k gevent app.wsgi:app\n"
    )
    paths = files.find([str(repository)]).absolute
    assert units.Monorepo(str(repository), paths, config.Config()).directories == []


@pytest.mark.live
def test_a_unit_with_settings_of_its_own_is_checked_with_them(repository, capsys):
    before = found(capsys, ".")[1]
    with (repository / "services/bills/pyproject.toml").open("a") as file:
        file.write("[tool.gblock]\nselect = ['blocking-driver']\n")
    (repository / "services/shop/gblock.toml").write_text("ignore = ['blocking-call']\n")
    after = found(capsys, ".")[1]
    assert any("shop/app/jobs.py" in line for line in before)
    assert not any("shop/app/jobs.py" in line for line in after)
    assert any("shop/app/jobs.py" in line for line in found(capsys, ".", "--isolated")[1])


@pytest.mark.live
def test_a_baseline_of_the_whole_hides_what_it_knows(repository, capsys):
    assert found(capsys, ".", "--write-baseline", "known.json")[0] == 0
    code, lines, errors = found(capsys, ".", "--baseline", "known.json")
    assert (code, lines) == (0, []), errors
    assert "stale" not in errors


@pytest.mark.live
def test_fixes_and_comments_work_over_all_units(repository, capsys):
    _, before, _ = found(capsys, ".")
    found(capsys, ".", "--add-ignore")
    text = (repository / "services/shop/app/jobs.py").read_text()
    assert "# gblock: ignore[" in text
    assert len(found(capsys, ".")[1]) < len(before)


def test_what_a_unit_opens_is_noted(repository):
    from gblock import opened

    begun = opened.begin()
    cli.main(["check", ".", "--jobs", "2", "--no-cache", "-q"])
    assert str(repository / "services/shop/Dockerfile") in begun.paths
    assert str(repository / "shared/clients.py") in begun.paths


IMPORTS = {
    "from common.money import price": ["common/__init__.py", "common/money.py"],
    "from common import (\n    money,  # orders\n)": ["common/__init__.py", "common/money.py"],
    "import os, common.money as m": ["common/__init__.py", "common/money.py"],
    "from names import one": ["names/one.py"],
    "from common import deep": ["common/__init__.py", "common/deep.py", "common/money.py"],
    "from common import gone": ["common/__init__.py"],
    "from . import own": [],
    "from common2 import money": [],
    "import os": [],
}


@pytest.mark.parametrize("text", IMPORTS)
def test_what_a_unit_imports_from_outside_is_shared(tree, text):
    files = {
        "unit/main.py": f"{text}\n",
        "unit/own.py": "import common.money\n",
        "common/__init__.py": "",
        "common/money.py": "from . import money\nimport common\n",
        "common/orders.py": "",
        "common/deep.py": "def f():\n    from common.money import price\n",
        "names/one.py": "",
    }
    root = tree(files)
    modules = Modules(str(root), sorted(str(root / name) for name in files))
    unit = str(root / "unit")
    found = shared(modules, [f"{unit}/main.py"], unit, modules.data, {b"common", b"names"})

    assert IMPORTS[text] == [os.path.relpath(path, root) for path in found]


@pytest.mark.live
def test_a_unit_has_a_baseline_and_a_severity_of_its_own(repository, capsys):
    before = found(capsys, ".")[1]
    shop = [line for line in before if line.startswith("services/shop/")]
    unit = repository / "services/shop"
    (unit / "gblock.toml").write_text("baseline = 'known.json'\n")
    assert cli.main(["check", "-q", str(unit), "--write-baseline", str(unit / "known.json")]) == 0
    capsys.readouterr()
    _, after, notes = found(capsys, ".")
    assert shop
    assert [line for line in before if line not in shop] == after
    assert "baseline" in notes

    (unit / "gblock.toml").write_text("min-severity = 'error'\n")
    _, after, _ = found(capsys, ".")
    assert [line for line in shop if " error" in line] == [
        line for line in after if line.startswith("services/shop/")
    ]


def test_a_path_outside_of_all_units_lies_in_none(repository):
    paths = files.find([str(repository)]).absolute
    whole = units.Monorepo(str(repository), paths, config.Config())
    assert whole.around(str(repository / "services/shop/app/jobs.py")).directory.endswith("shop")
    assert whole.around(str(repository / "shared/events.py")) is None
    assert whole.around(str(repository.parent)) is None
