"""Blockers that the project, or its configuration, makes cooperative."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from harness import assert_exactly, check, report_of

from gblock.config import Config
from gblock.diagnostics import Severity
from gblock.project.processes.conditions import condition, conditions_around, places, variable

COMMIT = "import psycopg2\nc = psycopg2.connect('')\nc.commit()\n"
REMEDIES = {
    "called": "import psycogreen.gevent\npsycogreen.gevent.patch_psycopg()\n",
    "called under another name": "from psycogreen.gevent import patch_psycopg as green\ngreen()\n",
    "called in a function": "def f():\n    from psycogreen.gevent import patch_psycopg\n    patch_psycopg()\n",  # noqa: E501
    "a callback": "import psycopg2.extensions as e\ne.set_wait_callback(lambda c: None)\n",
}
NO_REMEDIES = {
    "only imported": "from psycogreen.gevent import patch_psycopg\n",
    "another module's": "from other import patch_psycopg\npatch_psycopg()\n",
    "taken back": "import psycopg2.extensions as e\ne.set_wait_callback(None)\n",
    "unparsable": "patch_psycopg(",
}


@pytest.mark.parametrize("remedy", REMEDIES.values(), ids=REMEDIES)
def test_a_remedy_anywhere_in_the_project_covers_the_driver(tmp_path, remedy):
    (tmp_path / "green.py").write_text(remedy)

    assert_exactly(tmp_path, COMMIT)


@pytest.mark.parametrize("text", NO_REMEDIES.values(), ids=NO_REMEDIES)
def test_what_is_no_remedy_covers_nothing(tmp_path, text):
    (tmp_path / "green.py").write_text(text)

    assert [2, 3] == [d.location.row for d in report_of(tmp_path, COMMIT).diagnostics]


CONDITIONS = {
    "options.fast": "if options.fast:\n    patch_psycopg()\n",
    "not options.slow": "if options.slow:\n    pass\nelse:\n    patch_psycopg()\n",
    "os.environ.get('X') and n > 1": "if os.environ.get('X'):\n    if n > 1:\n"
    "        patch_psycopg()\n",
    "ready": "ready and patch_psycopg()\n",
    "options.x": "def setup():\n    with a:\n        if options.x:\n            patch_psycopg()\n",
    "not options.y": "z = None if options.y else patch_psycopg()\n",
    "os.getenv('X', 'no') == 'yes'": "import os\nif os.getenv('X', 'no') == 'yes':\n"
    "    patch_psycopg()\n",
    "ON": "ON = True\nif slow:\n    ON = False\nif ON:\n    patch_psycopg()\n",
    "OFF": "OFF = False\nif OFF:\n    patch_psycopg()\n",
    "int(os.getenv('X', 'x'))": "import os\nif int(os.getenv('X', 'x')):\n    patch_psycopg()\n",
    "KEPT": "KEPT = KEPT or not KEPT\nif KEPT:\n    patch_psycopg()\n",
}
UNCONDITIONAL = {
    "in a try": "try:\n    patch_psycopg()\nexcept ImportError:\n    pass\n",
    "if gevent runs": "if 'gevent' in worker_class:\n    patch_psycopg()\n",
    "if it is patched": "if is_module_patched('socket'):\n    patch_psycopg()\n",
    "in the script": "if __name__ == '__main__':\n    patch_psycopg()\n",
    "in the function of a condition": "if x:\n    def f():\n        patch_psycopg()\n",
    "elsewhere, too": "if options.x:\n    patch_psycopg()\npatch_psycopg()\n",
    "the condition itself": "if patch_psycopg():\n    pass\n",
    "on by default": "import os\nif os.environ.get('X', 'true').lower() == 'true':\n"
    "    patch_psycopg()\n",
    "on by a default with a name": "from os import getenv\nON = getenv('X', '1') in ('1', 'true')\n"
    "def f():\n    if ON and not bool(getenv('OFF')):\n        patch_psycopg()\n",
    "on by a constant": "ON = True\nif ON:\n    patch_psycopg()\n",
    "on by a number": "import os\nif int(os.getenv('X', '1')):\n    patch_psycopg()\n",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_remedy_under_a_condition_is_a_doubt(tmp_path, condition):
    text = f"from psycogreen.gevent import patch_psycopg\n{CONDITIONS[condition]}"
    (tmp_path / "green.py").write_text(text)
    found = report_of(tmp_path, COMMIT).diagnostics

    assert [(2, "warning"), (3, "warning")] == [(d.location.row, d.severity.label) for d in found]
    for one in found:
        assert (
            f", unless `{condition}`: only then psycogreen.gevent.patch_psycopg is" in one.message
        )


@pytest.mark.parametrize("text", UNCONDITIONAL.values(), ids=UNCONDITIONAL)
def test_a_remedy_whose_condition_is_gevent_itself_is_none(tmp_path, text):
    (tmp_path / "green.py").write_text(f"from psycogreen.gevent import patch_psycopg\n{text}")

    assert_exactly(tmp_path, COMMIT)


HEAD = "import os\nfrom gevent import monkey\nfrom psycogreen.gevent import patch_psycopg\n"
TAIL = (
    "import psycopg2\nfrom gevent.pywsgi import WSGIServer\n"
    "def app(environ, start_response):\n    psycopg2.connect('')\n"
    "if __name__ == '__main__':\n    WSGIServer(('', 80), app).serve_forever()\n"
)
TOGETHER = {
    "one test": "if not os.environ.get('LOCAL'):\n    monkey.patch_all()\n    patch_psycopg()\n",
    "the other outcome": "if local:\n    pass\nelse:\n    monkey.patch_all()\n"
    "    patch_psycopg()\n",
    "the driver first": "if fast:\n    patch_psycopg()\n    monkey.patch_all()\n",
    "the monkey patch in a further test": "if fast:\n    patch_psycopg()\n    if x:\n"
    "        monkey.patch_all()\n",
    "a function": "def patch():\n    if fast:\n        monkey.patch_all()\n"
    "        patch_psycopg()\npatch()\n",
}
APART = {
    "the monkey patch without a test": "monkey.patch_all()\nif fast:\n    patch_psycopg()\n",
    "a further test of the driver": "if fast:\n    monkey.patch_all()\n    if x:\n"
    "        patch_psycopg()\n",
    "another test": "if fast:\n    monkey.patch_all()\nif slow:\n    patch_psycopg()\n",
    "the other outcome": "if fast:\n    monkey.patch_all()\nelse:\n    patch_psycopg()\n",
    "two monkey patches": "if fast:\n    monkey.patch_all()\n    patch_psycopg()\n"
    "if slow:\n    monkey.patch_all()\n",
}


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_one_condition_of_both_patches_is_none(tree, text):
    root = tree({"app.py": HEAD + text + TAIL})
    found = check([str(root)], Config(root=str(root), filename=str(root / "x"))).diagnostics

    assert [] == [one.code for one in found if one.code == "blocking-call"]


@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_a_condition_of_the_driver_alone_is_a_doubt(tree, text):
    root = tree({"app.py": HEAD + text + TAIL})
    found = check([str(root)], Config(root=str(root), filename=str(root / "x"))).diagnostics

    assert ["psycopg2-connect"] == [one.blocker for one in found if one.code == "blocking-call"]


def test_one_condition_of_both_patches_is_a_doubt_where_the_server_patches(tree):
    files = {
        "app.py": HEAD + TOGETHER["the driver first"] + TAIL,
        "Procfile": "web: gunicorn -k gevent app:app",
    }
    root = tree(files)
    found = check([str(root)], Config(root=str(root), filename=str(root / "x"))).diagnostics

    assert "psycopg2-connect" in [one.blocker for one in found]


def test_a_doubt_of_one_process_is_told_of_the_driver_and_of_its_calls(tree):
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent web:app\n",
            "web.py": "import sys\nfrom sqlalchemy import create_engine\nimport psycopg2\n"
            "from psycogreen.gevent import patch_psycopg\n"
            "if sys.argv[1:]:\n    patch_psycopg()\n"
            "engine = create_engine('postgresql://db/shop')\n"
            "def app(environ, start_response): psycopg2.connect('')\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "x"))).diagnostics

    assert [(7, "blocking-driver"), (8, "blocking-call")] == [
        (d.location.row, d.code) for d in found
    ]
    assert {"warning"} == {d.severity.label for d in found}
    assert all("unless `sys.argv[1:]`: only then" in d.message for d in found)
    assert all("(web.py:6)" in d.message for d in found)


def test_a_remedy_in_a_test_covers_nothing(tmp_path):
    (tmp_path / "test_green.py").write_text(REMEDIES["called"])

    assert [2, 3] == [d.location.row for d in report_of(tmp_path, COMMIT).diagnostics]


@pytest.mark.parametrize(
    ("assumed", "rows"),
    [
        ("psycopg2", []),
        ("psycopg2.extensions", [2]),
        ("psycopg2.connect", [3]),
        ("psycopg2-connect", [3]),
        ("psycopg2.conn", [2, 3]),
    ],
)
def test_the_configuration_can_assume_it(tmp_path, assumed, rows):
    path = tmp_path / "service.py"
    path.write_text(COMMIT)
    config = Config(root=str(tmp_path), assume_cooperative=(assumed,))

    assert rows == [d.location.row for d in check([str(path)], config).diagnostics]


WAITER = """
import MySQLdb

waiting = MySQLdb.connect(host="db", waiter=print)  # expect: blocking-call
waiting.commit()
plain = MySQLdb.connect(host="db", waiter=None)  # expect: blocking-call
plain.commit()  # expect: blocking-call
"""


def test_a_connection_that_is_given_a_waiter_is_cooperative(tmp_path):
    assert_exactly(tmp_path, WAITER)


def project(root, files):
    """Write a project, and check it."""
    for name, text in files.items():
        (root / name).write_text(text)
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    return check([str(root)], config, min_severity="note")


PATCH = "from gevent import monkey\nmonkey.patch_all()\n"


def test_a_remedy_counts_for_the_processes_in_which_it_happens(tmp_path):
    report = project(
        tmp_path,
        {
            "Procfile": "one: python one.py\ntwo: python two.py\n",
            "one.py": f"{PATCH}{REMEDIES['called']}import db\n",
            "two.py": f"{PATCH}import db\n",
            "db.py": COMMIT,
            "only.py": COMMIT,
        },
    )

    assert [("db.py", 2), ("db.py", 3)] == [
        (d.filename.rpartition("/")[2], d.location.row) for d in report.diagnostics
    ]
    assert all(
        "python two.py never calls psycogreen.gevent.patch_psycopg" in d.message
        for d in report.diagnostics
    )


def test_a_process_without_gevent_needs_no_remedy(tmp_path):
    report = project(
        tmp_path,
        {
            "Procfile": "one: python one.py\ntwo: python two.py\n",
            "one.py": f"{PATCH}{REMEDIES['called']}import db\n",
            "two.py": "import db\n",
            "db.py": COMMIT,
        },
    )

    assert () == report.diagnostics


@pytest.mark.parametrize(
    "imported",
    ["importlib.import_module('psycogreen.gevent')", "import_module('psycogreen.gevent')"],
)
def test_a_remedy_of_a_module_that_code_imports_by_its_name(tmp_path, imported):
    hook = "    import importlib\n    from importlib import import_module\n"
    report = project(
        tmp_path,
        {
            "Procfile": "web: gunicorn -c conf.py app:app\n",
            "conf.py": "worker_class = 'gevent'\ndef post_fork(server, worker):\n"
            f"{hook}    {imported}.patch_psycopg()\n",
            "app.py": COMMIT,
        },
    )

    assert () == report.diagnostics


def test_a_remedy_that_is_taken_back_counts_in_no_process(tmp_path):
    report = project(
        tmp_path,
        {
            "Procfile": "one: python one.py\n",
            "one.py": f"{PATCH}import db\n",
            "db.py": COMMIT,
            "other.py": REMEDIES["called"],
            "back.py": NO_REMEDIES["taken back"],
        },
    )

    assert [2, 3] == [d.location.row for d in report.diagnostics]


MODE = "os.environ['MODE'] == 'fast'"
DEEP = ".a" * 2000


@pytest.mark.parametrize(
    ("text", "written", "named", "count"),
    [
        ("if x:\n  patch()", "x", None, 1),
        (f"if {MODE} and y:\n  patch()", f"{MODE} and y", None, 1),
        (f"if {MODE}:\n  patch()", MODE, ("MODE", "fast"), 1),
        (f"if {MODE}: pass\nelse:\n  patch()", f"not {MODE}", None, 1),
        ("if options.green:\n  patch()", "", None, 1),
        (f"if x{DEEP}:\n  patch()", "", None, 1),
        ("patch()", "", None, 0),
        ("if x:\n  patch(", "", None, 0),
    ],
    ids=["name", "two", "variable", "else", "gevent", "deep", "none", "broken"],
)
def test_the_tests_around_a_call_are_its_conditions(text, written, named, count):
    rows = text.split("\n")
    tests = conditions_around(text.encode(), len(rows), rows[-1].index("patch"))

    assert (written, named, count) == (condition(tests), variable(tests), len(places(tests)))


ORM = (
    "import gevent\nfrom gevent.pywsgi import WSGIServer\nfrom sqlalchemy import create_engine\n"
    "from sqlalchemy.orm import Session\nengine = create_engine(url)\n"
    "def app(environ, start_response):\n    Session(engine).commit()\n"
    "if __name__ == '__main__':\n    WSGIServer(('', 80), app).serve_forever()\n"
)


@pytest.mark.parametrize(
    ("files", "reported"),
    [
        ({}, True),
        ({"requirements.txt": "sqlalchemy\nPyMySQL==1.0\n"}, True),
        ({"requirements.txt": "sqlalchemy\npsycopg[binary]\n"}, True),
        ({"requirements.txt": "sqlalchemy\npg8000\npsycopg2\n"}, True),
        ({"requirements.txt": "sqlalchemy\n"}, True),
        ({"requirements.txt": "sqlalchemy\n", "config.py": "URL = 'sqlite:///shop.db'\n"}, False),
        ({"requirements.txt": "flask-sqlalchemy\nmysqlclient\n"}, False),
        ({"requirements.txt": "mysqlclient\n"}, True),
        ({"requirements.txt": "pymysql\n", "config.py": "URL = 'sqlite:///shop.db'\n"}, True),
        ({"requirements.txt": "sqlalchemy\npsycopg2-binary\n"}, False),
        ({"requirements.txt": "sqlalchemy\nmysqlclient\n"}, False),
    ],
)
def test_the_patch_would_help_a_driver_in_python_alone(tree, files, reported):
    root = tree({"app.py": ORM, **files})
    found = check([str(root)], Config(root=str(root), filename=str(root / "x"))).diagnostics

    assert reported is ("unpatched-call" in [one.code for one in found])


@pytest.fixture
def clients(tmp_path):
    """The project of clients in Python, whose own fixture has a place for each call."""
    project = Path(__file__).parent / "fixtures" / "projects" / "unpatched_clients"
    return Path(shutil.copytree(project, tmp_path / "project"))


@pytest.mark.parametrize("setting", ["gevent-monkey-patch", "gevent-early-monkey-patch"])
def test_clients_in_python_are_cooperative_where_the_server_patches(clients, setting):
    with (clients / "uwsgi.ini").open("a", encoding="utf-8") as file:
        file.write(f"{setting} = true\n")
    report = check([str(clients)], Config(root=str(clients)), min_severity="note")

    assert [] == [one for one in report.diagnostics if one.code != "late-monkey-patch"]


def test_calls_of_clients_in_python_are_places_of_one_cause(clients):
    options = {"assume_gevent": False}
    found = check([str(clients)], Config(root=str(clients)), **options).diagnostics
    missing = [one for one in found if one.code == "missing-monkey-patch"]

    assert [Severity.ERROR] == [one.severity for one in missing]
    assert {missing[0].cause} == {one.cause for one in found}
    assert len(found) > 30


LIB = (
    "import gevent\nimport psycopg2\ndef work():\n    psycopg2.connect('')\n"
    "def start():\n    gevent.spawn(work)\n"
)
WORKER = (
    "from gevent import monkey; monkey.patch_all()\n"
    "from psycogreen.gevent import patch_psycopg; patch_psycopg()\nimport lib\n"
    "if __name__ == '__main__':\n    lib.start()\n"
)


@pytest.mark.parametrize(
    ("api", "reported"),
    [
        ("import lib\ndef app(environ, start_response): pass\n", False),
        ("import lib\ndef app(environ, start_response): lib.start()\n", True),
        ("import lib\ndef app(environ, start_response): lib.work()\n", True),
        ("import lib\nlib.start()\ndef app(environ, start_response): pass\n", True),
        ("import lib, x\nx.register(lib.start)\ndef app(environ, start_response): pass\n", True),
    ],
)
def test_a_greenlet_that_only_another_process_starts_is_its(tree, api, reported):
    root = tree(
        {
            "api.py": api,
            "lib.py": LIB,
            "worker.py": WORKER,
            "Procfile": "web: gunicorn -k gevent api:app\nworker: python worker.py\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "x"))).diagnostics

    assert reported is ("psycopg2-connect" in [one.blocker for one in found])


@pytest.mark.parametrize(
    ("web", "worker", "rows"),
    [
        ("init_gevent()", "", ["tasks.py"]),
        ("", "init_gevent()", ["views.py"]),
        ("init_gevent()", "init_gevent()", []),
        ("", "", ["tasks.py", "views.py"]),
    ],
)
def test_a_process_lacks_a_remedy_for_what_it_runs_alone(tree, web, worker, rows):
    """A worker loads the views and serves none, and the server runs no task."""
    call = "CHANNEL.unary_unary('/Price')(b'', timeout=2)"
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent wsgi:app\nio: celery -A work worker -P gevent\n",
            "wsgi.py": "from grpc.experimental.gevent import init_gevent\n"
            f"{web}\nfrom app import app\n",
            "work.py": f"from grpc.experimental.gevent import init_gevent\n{worker}\n"
            "from tasks import celery\nimport app\n",
            "app.py": "from flask import Flask\napp = Flask(__name__)\nimport views, tasks\n",
            "views.py": "import grpc\nfrom app import app\nCHANNEL = grpc.insecure_channel('x')\n"
            f"@app.route('/')\ndef price():\n    return {call}\n",
            "tasks.py": "import grpc\nfrom celery import Celery\ncelery = Celery()\n"
            "CHANNEL = grpc.insecure_channel('x')\n"
            f"@celery.task\ndef price():\n    return {call}\n",
        }
    )
    report = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    assert rows == [os.path.basename(one.filename) for one in report.diagnostics]
