"""The order in which processes execute imports, and what they keep before they patch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest
from harness import CATALOG, check, inferring

from gblock.config import Config
from gblock.output import json as json_output
from gblock.project.processes.processes import Processes
from gblock.project.remarks.order import Order


def found(root, files):
    """The processes of a project of these files, and what each keeps before its patch."""
    processes = Processes(inferring(root, files))
    return processes, [
        (step, patch)
        for process in processes.all()
        if process.is_gevent_service
        for step, patch in Order(processes).late(process)
    ]


def short(root, places):
    return [(os.path.relpath(path, root), row) for path, row in places]


CHAIN = {
    "main.py": "import one\nfrom gevent import monkey\nmonkey.patch_all()\n",
    "one.py": "import os\nfrom package import two\n",
    "package/__init__.py": "",
    "package/two.py": "from . import three\n",
    "package/three.py": "from time import sleep\n",
}


def test_a_name_is_kept_at_the_end_of_a_chain_of_imports(tmp_path):
    _, [(step, patch)] = found(tmp_path, CHAIN)

    assert ("kept", "time.sleep", ("time.sleep",)) == (step.kind, step.symbol, step.keeps)
    assert [("package/three.py", 1)] == short(tmp_path, [(step.path, step.row)])
    chain = [("main.py", 1), ("one.py", 2), ("package/two.py", 1)]
    assert chain == short(tmp_path, step.chain)
    assert [("main.py", 3)] == short(tmp_path, [(patch.path, patch.row)])


def test_a_module_runs_where_it_is_imported_first(tmp_path):
    files = {
        "main.py": "import patched\nimport kept\nfrom gevent import monkey\nmonkey.patch_all()\n",
        "patched.py": "from gevent import monkey\nmonkey.patch_all()\n",
        "kept.py": "from time import sleep\n",
    }
    assert [] == found(tmp_path, files)[1]


def test_a_package_runs_before_its_modules(tmp_path):
    files = {
        "main.py": "import package.patched\n",
        "package/__init__.py": "from time import sleep\n",
        "package/patched.py": "from gevent import monkey\nmonkey.patch_all()\n",
    }
    _, [(step, _)] = found(tmp_path, files)

    assert [("package/__init__.py", 1)] == short(tmp_path, [(step.path, step.row)])


def test_a_single_patch_comes_too_late_only_for_what_it_replaces(tmp_path):
    text = """
        from gevent import monkey
        monkey.patch_time()
        from time import sleep
        from select import select
        monkey.patch_select()
    """
    _, [(step, _)] = found(tmp_path, {"main.py": text})

    assert step.symbol == "select.select"


def test_functions_are_followed_from_module_to_module(tmp_path):
    files = {
        "main.py": """
            import begin
            from begin import prepare

            if __name__ == "__main__":
                begin.load()
                prepare()
        """,
        "begin.py": """
            def load():
                import kept

            def prepare():
                from gevent import monkey
                monkey.patch_all()
        """,
        "kept.py": "from time import sleep\n",
    }
    _, [(step, patch)] = found(tmp_path, files)

    assert [("main.py", 6), ("begin.py", 3)] == short(tmp_path, step.chain)
    assert [("main.py", 7)] == short(tmp_path, patch.chain)


def test_each_management_command_is_a_process(tmp_path):
    command = "from django.core.management.base import BaseCommand\n"
    processes = Processes(
        inferring(
            tmp_path,
            {
                "manage.py": "from django.core.management import execute_from_command_line\n",
                "app/__init__.py": "",
                "app/management/__init__.py": "",
                "app/management/commands/__init__.py": "",
                "app/management/commands/a.py": command + "from time import sleep\n",
                "app/management/commands/b.py": command
                + "from gevent import monkey\nmonkey.patch_all()\n",
            },
        )
    )
    late = [
        one
        for process in processes.all()
        if process.kind == "management command"
        for one in Order(processes).late(process)
    ]
    assert [] == late


def test_imports_that_go_round_in_a_circle_end(tmp_path):
    files = {
        "main.py": "import one\nfrom gevent import monkey\nmonkey.patch_all()\n",
        "one.py": "import two\nfrom time import sleep\n",
        "two.py": "import one\nimport main\n",
    }
    assert ["time.sleep"] == [step.symbol for step, _ in found(tmp_path, files)[1]]


def test_a_thousand_modules_in_a_chain_are_no_trouble(tmp_path):
    files = {f"m{n}.py": f"import m{n + 1}\n" for n in range(1000)}
    files["m1000.py"] = ""
    files["main.py"] = (
        "import m0\nfrom time import sleep\nfrom gevent import monkey\nmonkey.patch_all()\n"
    )

    assert ["time.sleep"] == [step.symbol for step, _ in found(tmp_path, files)[1]]


# -- what a running process says

_ASKED = """
import json, runpy, sys
sys.path.insert(0, {root!r})
runpy.run_path({main!r}, run_name="__main__")
from gevent import monkey
kept = []
for name, attribute, symbol in {names!r}:
    module, _, item = symbol.rpartition(".")
    original = monkey.get_original(module, item)
    if getattr(sys.modules[name], attribute) is original:
        kept.append([name, symbol])
print(json.dumps(sorted(kept)))
"""
_NAMES = [
    ("early", "sleep", "time.sleep"),
    ("early", "select", "select.select"),
    ("inner.middle", "socket", "socket.socket"),
    ("late", "sleep", "time.sleep"),
    ("in_function", "sleep", "time.sleep"),
]
_FILES = {
    "main.py": """
        import early

        def main():
            import in_function
            from gevent import monkey
            monkey.patch_all()
            import late

        if __name__ == "__main__":
            main()
    """,
    "early.py": "from time import sleep\nfrom select import select\nimport inner.middle\n",
    "inner/__init__.py": "",
    "inner/middle.py": """
        from socket import socket

        class Late:
            def load(self):
                import late
    """,
    "in_function.py": "import time\nsleep = time.sleep\n",
    "late.py": "from time import sleep\n",
}


def test_a_running_process_keeps_what_is_said(tmp_path):
    _, late = found(tmp_path, _FILES)
    said = sorted(
        [os.path.relpath(step.path, tmp_path)[:-3].replace("/", "."), step.symbol]
        for step, _ in late
    )
    code = _ASKED.format(root=str(tmp_path), main=str(tmp_path / "main.py"), names=_NAMES)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert said == json.loads(ran.stdout)
    assert len(said) == 4


# Of the others only objects that were made before are stale.
NAMED = [one for one in CATALOG.originals.values() if one.kept or not one.made]


def test_gevent_replaces_what_the_catalog_calls_an_original():
    code = """
        import importlib, sys
        names = [one.rpartition(".") for one in sys.argv[1:]]
        before = [getattr(importlib.import_module(module), name) for module, _, name in names]
        from gevent import monkey
        monkey.patch_all()
        for (module, dot, name), one in zip(names, before):
            if getattr(sys.modules[module], name, None) is one:
                print(module + dot + name)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), *(one.symbol for one in NAMED)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)

    assert NAMED
    assert ran.stdout == ""


def test_what_imports_keep_is_an_original():
    kept = {symbol for one in CATALOG.imports.values() for symbol in one.keeps}

    assert kept <= CATALOG.originals.keys()
    assert list(CATALOG.imports) == sorted(CATALOG.imports)
    assert list(CATALOG.originals) == sorted(CATALOG.originals)
    assert all(bool(x.keeps or x.hub) != x.patches for x in CATALOG.imports.values())


def test_every_late_import_is_named_with_the_processes_that_run_it(tree):
    root = tree(
        {
            "Procfile": "web: python web.py\nworker: python worker.py\n",
            "web.py": "import requests\nimport keeper\nimport green\n",
            "worker.py": "import urllib3\nimport keeper\nimport green\n",
            "keeper.py": "from time import sleep\n",
            "green.py": "from gevent import monkey\nmonkey.patch_all()\n",
        }
    )
    report = check([str(root)], Config(root=str(root), filename=str(root / "x")))
    (late,) = [one for one in report.diagnostics if one.code == "late-monkey-patch"]
    related = [(one.filename, one.location.row, one.message) for one in late.related]

    assert "2 more such imports" in late.message
    assert 1 == sum(
        name == "web.py" and row == 1 and text.endswith("imported here, in python web.py")
        for name, row, text in related
    )
    assert 1 == sum(
        name == "worker.py" and row == 1 and text.endswith("imported here, in python worker.py")
        for name, row, text in related
    )
    assert ("keeper.py", 1, "`time.sleep` is kept here") in related
    assert related == [
        (one["filename"], one["location"]["row"], one["message"])
        for one in json.loads(json_output.render(report))[0]["related"]
    ]


LATER = {
    "pyproject.toml": '[project.scripts]\nwork = "tool.start:main"\n',
    "tool/__init__.py": "",
    "tool/green.py": "import kept\nfrom gevent import monkey\nmonkey.patch_all()\n",
    "kept.py": "from time import sleep\n",
}


@pytest.mark.parametrize(
    ("patch", "late"), [("monkey.patch_all()", False), ("pass", True), ("patch()", True)]
)
def test_what_a_function_imports_after_its_patch_is_patched(tmp_path, patch, late):
    text = f"from gevent import monkey\ndef main():\n    {patch}\n    from tool import green\n"
    _, steps = found(tmp_path, {**LATER, "tool/start.py": text})
    assert late == bool(steps)


SERVED = {
    "pyproject.toml": '[project.scripts]\nweb = "tool.start:main"\n',
    "tool/__init__.py": "",
    "tool/start.py": "import gevent.monkey\ndef main():\n    gevent.monkey.patch_all()\n"
    "    from tool.web import launch\n    launch()\n",
    "tool/web.py": "from gunicorn.app.base import BaseApplication\nimport kept\n"
    "class Web(BaseApplication):\n    options = {'worker_class': 'gevent'}\n"
    "def launch():\n    Web().run()\nif __name__ == '__main__':\n    launch()\n",
    "kept.py": "from time import sleep\n",
}


@pytest.mark.parametrize(
    ("more", "late"),
    [
        ({}, False),
        ({"Procfile": "web: python tool/web.py\n"}, True),
        ({"tool/start.py": "def main():\n    from tool.web import launch\n    launch()\n"}, True),
    ],
)
def test_a_program_that_patches_may_start_gunicorn(tmp_path, more, late):
    _, steps = found(tmp_path, {**SERVED, **more})
    assert late == bool(steps)


@pytest.mark.parametrize(
    ("use", "count"),
    [
        ("one.join()", 1),
        ("one.join(5)", 1),
        ("one.join(timeout=LIMIT)", 1),
        ("one.join(settings.LIMIT)", 1),
        ("one.start()", 0),
        ("', '.join(names)", 0),
        ("os.path.join(home, name)", 0),
    ],
)
def test_a_thread_is_kept_only_where_something_joins_one(tmp_path, use, count):
    files = {
        "main.py": f"import work\nfrom gevent import monkey\nmonkey.patch_all()\n\n"
        f"def run():\n    one = work.begin()\n    {use}\n",
        "work.py": "from threading import Thread\n\ndef begin(): return Thread(target=print)\n",
        "Procfile": "web: python main.py\n",
    }
    assert count == len(found(tmp_path, files)[1])


# -- drivers that a string makes a library import

_PRELOADED = {
    "Procfile": "web: gunicorn --preload -k gevent app:app\n",
    "requirements.txt": "gevent\npsycopg[binary]\n",
}
_LATE_PATCH = "\n\nfrom gevent import monkey; monkey.patch_all()\n"


@pytest.mark.parametrize(
    ("code", "is_late"),
    [
        (
            "from sqlalchemy import create_engine\ne = create_engine('postgresql+psycopg://db')",
            True,
        ),
        ("import sqlalchemy as s\nU = 'postgresql+psycopg://db'\ne = s.create_engine(U)", True),
        ("from sqlmodel import create_engine\ne = create_engine('postgresql+psycopg://db')", True),
        ("import dataset\ne = dataset.connect('postgresql+psycopg://db')", True),
        ("from db import engine", True),
        ("from later import connect\ne = connect()", True),
        ("from later import connect\ndef app(*_): connect()", False),
        (
            "from sqlalchemy import create_engine\ne = create_engine('postgresql+pg8000://db')",
            False,
        ),
        ("from sqlalchemy import create_engine\ne = create_engine('postgresql://db')", False),
        ("from sqlalchemy.engine.url import URL\nu = URL.create('postgresql+psycopg')", False),
    ],
)
@pytest.mark.parametrize("where", ["preload", "uwsgi", "script"])
def test_an_engine_imports_its_driver_where_it_is_made(tmp_path, code, is_late, where):
    create = "from sqlalchemy import create_engine\n"
    files = {
        "db.py": create + 'engine = create_engine("postgresql+psycopg://db")\n',
        "later.py": create + 'def connect(): return create_engine("postgresql+psycopg://db")\n',
    }
    if where == "preload":
        files |= _PRELOADED
    elif where == "uwsgi":
        files |= {"uwsgi.ini": "[uwsgi]\nmodule=app\ngevent=9\ngevent-monkey-patch=true\n"}
    files["app.py"] = code + (_LATE_PATCH if where == "script" else "\n")
    late = [step.symbol for step, _ in found(tmp_path, files)[1]]

    assert (["psycopg"] if is_late else []) == late


@pytest.mark.parametrize(
    ("database", "requirements", "is_late"),
    [
        ('{"ENGINE": "django.db.backends.postgresql"}', "psycopg", True),
        ('{"ENGINE": "django.db.backends.postgresql"}', "psycopg[binary]\npsycopg2", True),
        ('{"ENGINE": "django.db.backends.postgresql"}', "psycopg2-binary", False),
        ('{"ENGINE": "django.contrib.gis.db.backends.postgis"}', "psycopg", True),
        ('{"ENGINE": "django.db.backends.mysql"}', "psycopg", False),
        ('env.db("DATABASE_URL", default="postgres://db/shop")', "psycopg", True),
        ('dj_database_url.parse("postgres://db/shop")', "psycopg", True),
        ('dj_database_url.parse("mysql://db/shop")', "psycopg", False),
    ],
)
@pytest.mark.parametrize(
    "wsgi",
    [
        "from django.core.wsgi import get_wsgi_application\napp = get_wsgi_application()",
        "import django\ndjango.setup()\nfrom shop.app import app",
        "import configurations.wsgi as c\napp = c.get_wsgi_application()",
    ],
)
def test_django_imports_its_driver_when_it_is_set_up(
    tmp_path, database, requirements, is_late, wsgi
):
    setting = 'import os\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n'
    files = {
        **_PRELOADED,
        "requirements.txt": f"gevent\ndjango\n{requirements}\n",
        "app.py": setting + wsgi + "\n",
        "shop/__init__.py": "",
        "shop/app.py": "app = None\n",
        "shop/settings.py": "import dj_database_url\nimport environ\nenv = environ.Env()\n"
        f'DATABASES = {{"default": {database}}}\n',
    }
    late = [step.symbol for step, _ in found(tmp_path, files)[1]]

    assert (["psycopg"] if is_late else []) == late


# -- star imports

_PATCH_LATER = "\nfrom gevent import monkey; monkey.patch_all()\n"


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ({"main.py": "from time import *{}\nsleep(1)\n"}, ["time.sleep"]),
        ({"main.py": "from time import *{}\ndef app(): sleep(1)\n"}, ["time.sleep"]),
        ({"main.py": "from time import *{}\ndef app(wait=sleep): wait(1)\n"}, ["time.sleep"]),
        ({"main.py": "from time import *{}\nprint(time())  # sleep(1)\n"}, []),
        ({"main.py": '"""We sleep."""\nfrom time import *{}\nprint(time())\n'}, []),
        ({"main.py": "from time import *{}\ndef sleep(s): ...\nsleep(1)\n"}, []),
        ({"main.py": "from time import *{}\nfrom gevent import sleep\nsleep(1)\n"}, []),
        ({"main.py": "import one{}\n", "one.py": "from time import *\nsleep(1)\n"}, ["time.sleep"]),
        (
            {"main.py": "from one import *{}\nsleep(1)\n", "one.py": "from time import *\n"},
            ["time.sleep"],
        ),
        (
            {"main.py": "import one{}\n", "one.py": "from socket import *\ns = socket(AF_INET)\n"},
            ["socket.socket"],
        ),
        ({"main.py": "from subprocess import *{}\nPopen(['a'])\n"}, ["subprocess.Popen"]),
        ({"main.py": "from subprocess import *{}\nrun(['a'])\n"}, []),
        ({"main.py": "from threading import *{}\nEvent().wait()\n"}, []),
        ({"main.py": "from ssl import *{}\nSSLContext()\n"}, ["ssl.SSLContext"]),
        ({"main.py": "from gevent.socket import *{}\nsocket()\n"}, []),
    ],
)
def test_a_star_import_keeps_the_originals_that_are_used(tmp_path, files, kept):
    written = {name: text.replace("{}", _PATCH_LATER) for name, text in files.items()}

    assert kept == [step.symbol for step, _ in found(tmp_path, written)[1]]


_SLEEP = "from time import sleep\n"
_MAIN = "if __name__ == '__main__':\n    import one\n"
_TYPES = "if TYPE_CHECKING:\n    import one\nelse:\n    import two{}"


@pytest.mark.parametrize(
    ("main", "files", "kept"),
    [
        ("import importlib\nimportlib.import_module('one'){}", {"one.py": _SLEEP}, ["one.py"]),
        ("__import__('a.one'){}", {"a/__init__.py": "", "a/one.py": _SLEEP}, ["a/one.py"]),
        ("import importlib\nimportlib.import_module(NAME){}", {"one.py": _SLEEP}, []),
        ("import importlib\nimportlib.import_module('.one', 'a'){}", {"one.py": _SLEEP}, []),
        ("import importlib\nimportlib.import_module(){}", {"one.py": _SLEEP}, []),
        ("try:\n    import one\nexcept ImportError:\n    import two{}", {"two.py": _SLEEP}, []),
        ("try:\n    import one\nexcept OSError:\n    import two{}", {"two.py": _SLEEP}, []),
        ("def f():\n    import one\nif TYPE_CHECKING:\n    f(){}", {"one.py": _SLEEP}, []),
        ("import two{}", {"two.py": _MAIN, "one.py": _SLEEP}, []),
        ("import a.b{}", {"a/__init__.py": "import a.b\n", "a/b.py": _SLEEP}, ["a/b.py"]),
        ("from a.b import one{}", {"a/b/__init__.py": "", "a/b/one.py": _SLEEP}, ["a/b/one.py"]),
        ("from .. import one{}", {"one.py": _SLEEP}, []),
        ("try:\n    pass\nfinally:\n    import two{}", {"two.py": _SLEEP}, ["two.py"]),
        ("if x:\n    import one{}", {"one.py": _SLEEP}, []),
        (_TYPES, {"one.py": _SLEEP}, []),
        (_TYPES, {"two.py": _SLEEP}, ["two.py"]),
        ("if __name__ != '__main__':\n    import one{}", {"one.py": _SLEEP}, []),
        ("from a import one{}", {"a/__init__.py": "", "a/one.py": _SLEEP}, ["a/one.py"]),
        ("from a import one{}", {"a/__init__.py": "one = 1\n", "a/two.py": _SLEEP}, []),
        ("from a import one{}", {"a/one.py": _SLEEP}, ["a/one.py"]),
        ("def f():\n    import one\nf()\nf(){}", {"one.py": _SLEEP}, ["one.py"]),
        ("def f():\n    f()\n    import one\nf(){}", {"one.py": _SLEEP}, ["one.py"]),
        ("import one{}", {"one.py": "def f(:\n" + _SLEEP}, []),
        ("import one{}", {"one.py": "import time\nnap = time.sleep\n"}, ["one.py"]),
        ("import one{}", {"one.py": "import time\nnap = time.time\n"}, []),
        ("import one{}", {"one.py": "import time\ndef f(nap=time.sleep): ...\n"}, ["one.py"]),
        ("import one{}", {"one.py": "import shop\nnap = shop.sleep\n"}, []),
    ],
)
def test_what_surely_runs_before_the_patch_is_kept(tmp_path, main, files, kept):
    steps = found(tmp_path, {"main.py": main.format(_PATCH_LATER), **files})[1]

    assert kept == [os.path.relpath(step.path, tmp_path) for step, _ in steps]


USED = {
    "a function": ("from time import sleep", "sleep(1)"),
    "under another name": ("from time import sleep as pause", "pause(1)"),
    "kept again": ("import time\n_sleep = time.sleep", "_sleep(1)"),
    "in an attribute of a class": (
        "import time\nclass Clock:\n    sleep = time.sleep",
        "Clock.sleep(1)",
    ),
    "in an attribute of an object": (
        "from time import sleep\nclass Clock:\n    def __init__(self):\n"
        "        self.sleep = sleep\nclock = Clock()",
        "clock.sleep(1)",
    ),
    "in a partial": (
        "from functools import partial\nfrom time import sleep\npause = partial(sleep, 2)",
        "pause()",
    ),
    "a method of its object": (
        "from socket import socket",
        "connection = socket()\n    connection.connect(('db', 80))",
    ),
    "a method of its entered object": (
        "from socket import socket",
        "with socket() as connection:\n        connection.connect(('db', 80))",
    ),
    "a lock": ("import threading\nlock = threading.Lock()", "lock.acquire()"),
    "a lock of an object": (
        "import threading\nclass Shop:\n    def __init__(self): self.lock = threading.Lock()\n"
        "shop = Shop()",
        "shop.lock.acquire()",
    ),
    "a lock of an object of a derived class": (
        "import threading\nclass Base:\n    def __init__(self): self.lock = threading.Lock()\n"
        "class Shop(Base):\n    def __init__(self):\n        super().__init__()\nshop = Shop()",
        "shop.lock.acquire()",
    ),
    "a lock of an object that a function makes": (
        "import threading\nclass Shop:\n    def __init__(self): self.lock = threading.Lock()\n"
        "def make(): return Shop()\nshop = make()",
        "shop.lock.acquire()",
    ),
    "a lock of _thread": (
        "from _thread import allocate_lock\nlock = allocate_lock()",
        "lock.acquire()",
    ),
}
_SERVED = """\
BEFORE
from gevent import monkey; monkey.patch_all()
from gevent.pywsgi import WSGIServer

def app(environ, start_response):
    CALL

if __name__ == "__main__":
    WSGIServer(("", 80), app).serve_forever()
"""


@pytest.mark.parametrize(("before", "call"), USED.values(), ids=USED)
def test_the_calls_through_a_captured_name_are_listed_with_their_contexts(tree, before, call):
    root = tree({"app.py": _SERVED.replace("BEFORE", before).replace("CALL", call)})
    found = check([str(root)], Config(root=str(root))).diagnostics
    (captured,) = (one for one in found if one.code == "captured-before-patch")

    calls = [one for one in captured.related if one.context]
    assert ["request"] == [one.context for one in calls]
    assert captured.message.endswith(": 1 call in 1 handler")


def test_a_call_of_the_patched_function_is_no_use_of_a_captured_name(tree):
    text = _SERVED.replace("BEFORE", "import time\nfrom time import sleep")
    root = tree({"app.py": text.replace("CALL", "time.sleep(1)")})
    found = check([str(root)], Config(root=str(root))).diagnostics
    (captured,) = (one for one in found if one.code == "captured-before-patch")

    assert not [one for one in captured.related if one.context]


@pytest.mark.parametrize(
    "text",
    [
        "class Shop:\n    def __init__(self): self.lock = threading.Lock()",
        "def make():\n    lock = threading.Lock()\n    return lock.locked()\nmake()",
        "class Shop:\n    def __init__(self): self.name = 1\n"
        "    def open(self): self.lock = threading.Lock()\nshop = Shop()",
    ],
)
def test_a_lock_that_start_up_does_not_keep_is_no_captured_one(tree, text):
    text = _SERVED.replace("BEFORE", f"import threading\n{text}").replace("CALL", "pass")
    root = tree({"app.py": text})
    found = check([str(root)], Config(root=str(root))).diagnostics
    assert "captured-before-patch" not in [one.code for one in found]


def test_a_captured_name_of_start_up_is_used_by_no_handler(tree):
    text = _SERVED.replace("BEFORE", "from time import sleep\nsleep(1)").replace("CALL", "pass")
    root = tree({"app.py": text})
    found = check([str(root)], Config(root=str(root))).diagnostics
    (captured,) = (one for one in found if one.code == "captured-before-patch")

    assert not [one for one in captured.related if one.context]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uwsgi.ini", "[uwsgi]\nmodule = shop\ngevent = 9\ngevent-monkey-patch = 1\n"),
        ("Procfile", "web: gunicorn -k gevent --preload shop:application\n"),
    ],
)
def test_what_a_server_leaves_behind_is_one_cause(tree, name, text):
    root = tree(
        {
            name: text,
            "shop.py": "from time import sleep\nfrom celery import Celery\nimport log\n"
            "app = Celery('shop')\n@app.task\ndef later():\n    sleep(1)\n    log.write()\n"
            "def application(environ, start):\n    later()\n    return []\n",
            "log.py": "from select import poll\nfrom threading import Lock\nkept = Lock()\n"
            "def write():\n    kept.acquire()\n    poll()\n",
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    kept = [
        one
        for one in found.diagnostics
        if one.code in ("captured-before-patch", "late-monkey-patch")
    ]
    assert len(kept) > 2
    assert 1 == len({one.cause for one in kept})
