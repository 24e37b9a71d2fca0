"""The weight of what is reported: notes for what hardly matters, one cause for one decision."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblock.catalog import load
from gblock.config import Config
from gblock.engine import Request, check

CATALOG = load()
SERVED = "web: gunicorn -k gevent shop:app\n"
SHOP = "from flask import Flask\napp = Flask('shop')\n@app.get('/')\ndef place():\n    return ''\n"
MANY = {f"part{number}.py": "import shop\n" for number in range(20)}


def reported(root, files, **options):
    """The diagnostics of a project, with its notes."""
    for name, text in files.items():
        (root / name).write_text(text)
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    return check(Request([str(root)], config, **{"min_severity": "note", **options})).diagnostics


def severities(root, files, **options):
    return {one.severity.name.lower() for one in reported(root, files, **options)}


LOCAL = (
    "import os\nos.system('make')",
    "import sh\nsh.Command('ls')()",
    ("import sqlite3\nsqlite3.connect('shop.db').execute('select 1')"),
    "import sqlite3\nsqlite3.connect('shop.db').commit()",
    ("import dbus\ndbus.SystemBus().get_object('a', '/a').Get()"),
    "import apsw\napsw.Connection('shop.db').execute('select 1')",
)
DISTANT = (
    "import psycopg2\npsycopg2.connect('shop')",
    ("import ldap\nldap.initialize('ldap://shop').simple_bind_s()"),
)
KEPT = [(call, "note") for call in LOCAL] + [(call, "error") for call in DISTANT]


def of_unknown_callers(call):
    """A method that a package may call."""
    lines, last = call.rsplit("\n", 1)
    return (
        f"{lines}\nimport plugins\nclass Part(plugins.Base):\n    def work(self):\n        {last}\n"
    )


@pytest.mark.parametrize(("call", "severity"), KEPT)
def test_a_local_wait_of_unknown_callers_is_a_note(tmp_path, call, severity):
    shop = f"from parts import Part\nparts = [Part]\n{SHOP}"
    files = {"Procfile": SERVED, "shop.py": shop, "parts.py": of_unknown_callers(call), **MANY}
    found = [one for one in reported(tmp_path, files) if one.filename.endswith("parts.py")]
    assert found
    assert {one.context for one in found} == {"unknown"}
    if severity == "note":
        assert {one.severity.name for one in found} == {"NOTE"}
    else:
        assert "NOTE" not in {one.severity.name for one in found}


@pytest.mark.parametrize("more", [{"Procfile": ""}, dict.fromkeys(MANY, "")])
def test_it_is_more_where_nothing_starts_it_and_in_a_small_project(tmp_path, more):
    shop = f"from parts import Part\nparts = [Part]\n{SHOP}"
    files = {"Procfile": SERVED, "shop.py": shop, "parts.py": of_unknown_callers(LOCAL[0]), **MANY}
    files = {name: text for name, text in {**files, **more}.items() if text}
    assert severities(tmp_path, files, assume_gevent=True) == {"warning"}


@pytest.mark.parametrize("call", LOCAL)
def test_a_local_wait_in_a_request_is_reported(tmp_path, call):
    lines, last = call.rsplit("\n", 1)
    shop = SHOP.replace("return ''", last)
    files = {"Procfile": SERVED, "shop.py": f"{lines}\n{shop}", **MANY}
    assert "note" not in severities(tmp_path, files)


HASHES = [
    ("werkzeug.security", "generate_password_hash('x')"),
    ("werkzeug.security", "check_password_hash(a, 'x')"),
    ("bcrypt", "hashpw(b'x', a)"),
    ("bcrypt", "checkpw(b'x', a)"),
    ("passlib.hash", "bcrypt.hash('x')"),
    ("passlib.hash", "argon2.verify('x', a)"),
    ("argon2", "PasswordHasher().verify(a, 'x')"),
]


def test_all_hashed_passwords_are_one_cause(tmp_path):
    files = {"Procfile": SERVED}
    for number, (module, call) in enumerate(HASHES):
        name = call.partition("(")[0].partition(".")[0]
        files[f"users{number}.py"] = (
            f"from {module} import {name}\ndef check{number}(a):\n    return {call}\n"
        )
    calls = [f"users{number}.check{number}(request.data)" for number in range(len(HASHES))]
    imports = "".join(f"import users{number}\n" for number in range(len(HASHES)))
    shop = SHOP.replace("return ''", "\n    ".join(calls))
    files["shop.py"] = f"from flask import request\n{imports}{shop}"
    found = reported(tmp_path, files)
    assert len(found) == len(HASHES)
    assert len({one.cause for one in found}) == 1


CLIENTS = [
    ("psycopg2", "psycopg2.connect('shop')", 1),
    ("pymssql", "pymssql.connect('shop')", 1),
    ("pylibmc", "pylibmc.Client(['shop']).get('a')", 1),
    ("ldap", "ldap.initialize('ldap://shop').simple_bind_s()", 1),
    ("sqlite3", "sqlite3.connect('shop.db').execute('select 1')", 1),
    ("confluent_kafka", "confluent_kafka.Consumer({}).poll(1)", 2),
    ("confluent_kafka", "confluent_kafka.Producer({}).flush()", 2),
    ("hashlib", "hashlib.pbkdf2_hmac('sha256', data, data, 10**6)", 1),  # of one handler
]


@pytest.mark.parametrize(("module", "call", "causes"), CLIENTS)
def test_calls_in_two_files_are_one_cause_where_one_change_mends_both(
    tmp_path, module, call, causes
):
    """A driver, a wrapper or a recipe mends a client; a loop mends the call that it replaces."""
    shop = SHOP.replace("return ''", "orders.work(b'')\n    users.work(b'')")
    files = {"Procfile": SERVED, "shop.py": f"import orders, users\n{shop}"}
    for name in ("orders", "users"):
        files[f"{name}.py"] = f"import {module}\ndef work(data):\n    {call}\n"
    found = reported(tmp_path, files)
    assert {one.filename.rpartition("/")[2] for one in found} >= {"orders.py", "users.py"}
    assert len({one.cause for one in found if not one.filename.endswith("shop.py")}) == causes


def test_a_shared_cause_is_of_one_rule():
    sharing = {}
    for blocker in CATALOG.blockers:
        if blocker.shared_cause:
            sharing.setdefault(blocker.shared_cause, []).append(blocker)
    assert {"password hashes"} < set(sharing)
    for cause, blockers in sharing.items():
        assert len({one.kind for one in blockers}) == 1, cause
        assert len(blockers) > 1 or cause == "oracledb.init_oracle_client()"


SELDOM = sorted(name for name, one in CATALOG.imports.items() if one.seldom)
PATCH = "from gevent import monkey\nmonkey.patch_all()\n"
LATE = [
    *[(f"import {name}\n{PATCH}", "note") for name in SELDOM],
    (f"import redis, rq\n{PATCH}", "note"),
    (f"import requests\n{PATCH}", "error"),
    (f"import redis\nimport requests\n{PATCH}", "error"),
    (f"import redis\nfrom time import sleep\n{PATCH}sleep(1)\n", "error"),
    (f"import kubernetes\n{PATCH}", "error"),
]


@pytest.mark.parametrize(("head", "severity"), LATE)
def test_what_is_kept_for_retries_is_a_note(tmp_path, head, severity):
    files = {"Procfile": "web: python shop.py\n", "shop.py": f"{head}{SHOP}"}
    files["shop.py"] += (
        "from gevent.pywsgi import WSGIServer\nWSGIServer(('', 1), app).serve_forever()\n"
    )
    found = [one for one in reported(tmp_path, files) if "monkey" in one.cause]
    worst = max((one.severity for one in found), default=None)
    assert worst is not None
    assert worst.name.lower() == severity


@pytest.mark.parametrize(
    ("procfile", "severity"),
    [(SERVED, "NOTE"), ("", "ERROR"), (f"{SERVED}tool: python tool.py\n", "ERROR")],
)
def test_a_late_patch_of_a_main_guard_beside_a_server_is_a_note(tmp_path, procfile, severity):
    tool = f"import requests\n{PATCH}import gevent\nif __name__ == '__main__':\n    "
    tool += "gevent.spawn(requests.get, 'http://shop').join()\n"
    files = {"Procfile": procfile, "shop.py": SHOP, "tool.py": tool}
    found = [one for one in reported(tmp_path, files) if one.code == "late-monkey-patch"]
    assert [severity] == [one.severity.name for one in found]


WAITING = ("import time\ntime.sleep(5)", "import requests\nrequests.get('https://shop')")
SERVER = (
    "from gevent.pywsgi import WSGIServer\nfrom parts import Part\nparts = [Part]\n"
    "def app(environ, start):\n    return []\n"
    "if __name__ == '__main__':\n    WSGIServer(('', 80), app).serve_forever()\n"
)


@pytest.mark.parametrize("call", WAITING)
@pytest.mark.parametrize(("modules", "severity"), [(MANY, "note"), ({}, "warning")])
def test_what_waits_without_a_patch_needs_a_greenlet(tmp_path, call, modules, severity):
    files = {"Procfile": "web: python serve.py\n", "serve.py": SERVER, **modules}
    files["parts.py"] = of_unknown_callers(call)
    found = [one for one in reported(tmp_path, files) if one.code == "unpatched-call"]
    assert {(one.context, one.severity.name.lower()) for one in found} == {("unknown", severity)}


@pytest.mark.parametrize(("modules", "severity"), [(MANY, "note"), ({}, "warning")])
def test_computing_of_unknown_callers_is_a_note_in_a_large_project(tmp_path, modules, severity):
    call = "import bcrypt\nbcrypt.hashpw(b'', b'')"
    files = {"parts.py": of_unknown_callers(call), "shop.py": "import gevent, parts\n", **modules}
    assert severities(tmp_path, files) == {severity}


GATHERING = (
    "def every(nodes):\n    gevent.joinall([gevent.spawn(clean, node) for node in nodes])\n",
    "def every(nodes):\n    pool = Pool(3)\n    for node in nodes:\n"
    "        pool.spawn(clean, node)\n    pool.join(timeout=5)\n",
    "def every(nodes):\n    jobs = [gevent.spawn(clean, node) for node in nodes]\n"
    "    gevent.wait(jobs)\n",
)
LASTING = (
    "def every(nodes):\n    return [gevent.spawn(clean, node) for node in nodes]\n",
    "def every(nodes):\n    gevent.spawn_later(9, clean, nodes)\n",
    "gevent.joinall([gevent.spawn(clean, node) for node in range(9)])\n"
    "def every(nodes):\n    return nodes\n",
    "from gevent.server import StreamServer\ndef every(nodes):\n"
    "    job = gevent.spawn(clean, nodes)\n    StreamServer(('', 1), clean).start()\n"
    "    job.join()\n",
)
SPAWNING = [(code, True) for code in GATHERING] + [(code, False) for code in LASTING]
QUERIED = (
    "import psycopg2\nfrom flask import Flask\nfrom nodes import every\napp = Flask('shop')\n"
    "@app.get('/')\ndef place():\n    every([])\n    psycopg2.connect('').cursor().execute('')\n"
)


@pytest.mark.parametrize(("code", "gathers"), SPAWNING)
def test_a_request_beside_no_greenlet_freezes_none(tmp_path, code, gathers):
    nodes = (
        "import gevent, psycopg2\nfrom gevent.pool import Pool\n"
        f"def clean(node):\n    psycopg2.connect(node)\n{code}"
    )
    files = {"Procfile": "web: waitress-serve shop:app\n", "shop.py": QUERIED, "nodes.py": nodes}
    found = reported(tmp_path, {**files, **MANY}, min_severity="warning")
    contexts = {(Path(one.filename).name, one.context) for one in found}
    assert contexts & {("nodes.py", "greenlet"), ("nodes.py", "request")}
    assert (("shop.py", "request") not in contexts) is gathers


@pytest.mark.parametrize(("code", "gathers"), SPAWNING)
def test_a_task_beside_no_greenlet_freezes_none(tmp_path, code, gathers):
    nodes = "import gevent\nfrom gevent.pool import Pool\ndef clean(node): ...\n" + code
    files = {
        "setup.py": "from setuptools import setup\nsetup(name='shop', entry_points={"
        "'console_scripts': ['shop=shop:main']})\n",
        "shop.py": "from nodes import every\ndef main():\n    every([])\n",
        "nodes.py": nodes,
        "jobs.py": "import psycopg2\nfrom celery import Celery\napp = Celery()\n"
        "@app.task\ndef place():\n    psycopg2.connect('')\n",
        **MANY,
    }
    found = reported(tmp_path, files, min_severity="warning")
    assert ([one.context for one in found if one.filename.endswith("jobs.py")] == []) is gathers
