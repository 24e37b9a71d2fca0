"""Processes that a project starts, on gevent or not, and the code that each runs."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
import tomli
from harness import CATALOG, check
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock import files
from gblock.config import Config
from gblock.output.processes import table
from gblock.project.names.inference import Inference
from gblock.project.processes.processes import Processes
from gblock.project.reading.modules import Modules

SHOP = Path(__file__).parent / "fixtures" / "deployments" / "shop"


@pytest.fixture(scope="module")
def blockers():
    return CATALOG


def processes_of(root, blockers):
    found = files.find([str(root)]).files
    modules = Modules(str(root), [str(Path(path).resolve()) for path in found])
    return Processes(Inference(modules, blockers))


@pytest.fixture
def project(tree, blockers):
    """The processes of a project: ``project({"Procfile": …})``."""

    def of(contents):
        root = tree({name: textwrap.dedent(text).lstrip() for name, text in contents.items()})
        return processes_of(root, blockers)

    return of


@pytest.fixture(scope="module")
def shop(blockers):
    return processes_of(SHOP, blockers)


def judged(processes):
    return {process.name: (process.runs_on_gevent, process.patched) for process in processes.all()}


def named(processes, name):
    return next(process for process in processes.all() if process.name == name)


def missing_of(processes, name):
    return named(processes, name).missing


# -- a main guard


@pytest.mark.parametrize(
    "helper",
    [
        'from gevent import monkey\nif __name__ == "__main__":\n    monkey.patch_all()\n',
        'if __name__ == "__main__":\n    from gevent import monkey\n    monkey.patch_all()\n',
        "if '__main__' == __name__:\n    import gevent.monkey as m\n    m.patch_all()\n",
        "from gevent.monkey import patch_all\ndef main():\n    patch_all()\n"
        'if __name__ == "__main__":\n    main()\n',
        "from gevent.monkey import patch_all\ndef green():\n    patch_all()\n"
        'if __name__ == "__main__":\n    green()\n',
        'import demo\nif __name__ == "__main__":\n    import patches\n',
    ],
)
def test_the_main_guard_of_an_imported_module_patches_nothing(project, helper):
    processes = project(
        {
            "Procfile": "web: python main.py\n",
            "main.py": "from gevent import monkey\nmonkey.patch_all(thread=False)\nimport helper\n",
            "helper.py": helper,
            "demo.py": "",
            "patches.py": "from gevent import monkey\nmonkey.patch_all()\n",
        }
    )

    assert "partial" == named(processes, "python main.py").patched
    assert ("threading",) == missing_of(processes, "python main.py")
    assert processes.has_native_threads(str(Path(processes.root) / "helper.py"))


def test_the_main_guard_of_the_started_module_patches(project):
    guarded = 'if __name__ == "__main__":\n    from gevent import monkey\n    monkey.patch_all()\n'
    for command, path in (
        ("python main.py", "main.py"),
        ("python -m main", "main.py"),
        ("python -m app", "app/__main__.py"),
    ):
        processes = project({"Procfile": f"web: {command}\n", path: guarded, "app/__init__.py": ""})
        assert ("yes", "complete") == judged(processes)[command]


def test_a_server_that_imports_a_module_does_not_run_its_main_guard(project):
    guarded = 'if __name__ == "__main__":\n    from gevent import monkey\n    monkey.patch_all()\n'
    processes = project({"Procfile": "web: gunicorn main:app\n", "main.py": guarded})

    assert ("no", "none") == judged(processes)["gunicorn main:app"]


def test_a_file_that_is_started_by_its_path_runs_no_package(project):
    files = {
        "Procfile": "web: python app/tool.py\nother: python -m app.other\n",
        "app/__init__.py": "from gevent import monkey\nmonkey.patch_all()\n",
        "app/tool.py": "import time\n",
        "app/other.py": "import time\n",
    }
    processes = project(files)

    assert ("no", "none") == judged(processes)["python app/tool.py"]
    assert ("yes", "complete") == judged(processes)["python -m app.other"]


# -- demos


SERVES = (
    "from gevent.pywsgi import WSGIServer\ndef app(environ, start):\n    return []\n"
    'if __name__ == "__main__":\n    WSGIServer(("", 80), app).serve_forever()\n'
)


def demos(processes):
    return [process.name for process in processes.all() if process.demo]


@pytest.mark.parametrize(
    "text",
    [
        SERVES,
        'import gevent\nif __name__ == "__main__":\n    gevent.spawn(print).join()\n',
        "import gevent\ndef demo():\n    gevent.sleep(1)\n"
        'if __name__ == "__main__":\n    from gevent import monkey; monkey.patch_all(); demo()\n',
    ],
)
def test_the_demo_of_a_library_is_no_deployment(project, text):
    processes = project(
        {"lib/__init__.py": "from lib import pool\n", "lib/pool.py": text, "setup.py": ""}
    )

    assert ["python lib/pool.py"] == demos(processes)
    assert not processes.has_gevent
    assert [] == processes.incomplete
    assert [] == processes.on_gevent(str(Path(processes.root) / "lib" / "pool.py"))


@pytest.mark.parametrize(
    ("text", "gevent"),
    [
        ("import gevent\ngevent.sleep(1)\n", "no"),
        ("from gevent.socket import create_connection\ncreate_connection(())\n", "no"),
        ("import gevent\ngevent.spawn(print)\n", "yes"),
        ("import gevent, zerorpc\ngevent.sleep(1)\nzerorpc.Server(1).run()\n", "yes"),
    ],
)
def test_a_process_with_one_greenlet_beside_a_server_is_not_on_gevent(project, text, gevent):
    server = "from gevent.pywsgi import WSGIServer\nWSGIServer(1, 2).serve_forever()\n"
    files = {"cron.py": text, "web.py": server}
    both = project({"Procfile": "cron: python cron.py\nweb: python web.py\n", **files})
    one = project({"Procfile": "cron: python cron.py\n", "cron.py": text, "web.py": ""})

    found = {process.name: process.runs_on_gevent for process in both.all()}
    assert {"python cron.py": gevent, "python web.py": "yes"} == found
    assert ["yes"] == [process.runs_on_gevent for process in one.all()]


@pytest.mark.parametrize("written", ["openapi.yaml", "specs/openapi.yaml"])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_specification_that_code_names_leads_to_its_handlers(project, written, is_named):
    name = written if is_named else "other.yaml"
    server = f'import connexion\napp = connexion.App(1)\napp.add_api("{name}")\n'
    processes = project(
        {
            "Procfile": "web: python server.py\n",
            "server.py": server + 'app.run(server="gevent")\n',
            "specs/openapi.yaml": "paths: {/a: {get: {operationId: api.members.find}}}\n",
            "api/__init__.py": "",
            "api/members.py": "def find(): ...\n",
        }
    )

    (process,) = processes.all()
    found = {Path(one).name for one in processes.modules_of(process)}
    assert is_named == ("members.py" in found)


@pytest.mark.parametrize(
    ("resolver", "operation"),
    [
        ("RestyResolver('api')", ""),
        ("RelativeResolver('api.members')", "operationId: find"),
        ("RelativeResolver('api')", "operationId: members.find"),
    ],
)
def test_a_resolver_leads_to_the_handlers(project, resolver, operation):
    server = "import connexion\nfrom connexion.resolver import *\napp = connexion.App(1)\n"
    server += f"app.add_api('openapi.yaml', resolver={resolver})\napp.run(server='gevent')\n"
    processes = project(
        {
            "Procfile": "web: python server.py\n",
            "server.py": server,
            "openapi.yaml": f"paths: {{/members: {{get: {{{operation}}}}}}}\n",
            "api/__init__.py": "",
            "api/members.py": "def search(): ...\ndef find(): ...\n",
            "api/teams.py": "def search(): ...\n",
            "idle/teams.py": "def search(): ...\n",
        }
    )

    (process,) = processes.all()
    found = {str(Path(one).relative_to(processes.root)) for one in processes.modules_of(process)}
    assert "api/members.py" in found
    assert "idle/teams.py" not in found


@pytest.mark.parametrize(("package", "has_demo"), [("lib.base", True), ("base", False)])
def test_a_module_of_a_package_without_init_has_a_demo(project, package, has_demo):
    library = f"from gevent.lock import Semaphore\nfrom {package} import Base\n"
    guard = 'if __name__ == "__main__":\n    Base()\n'
    files = {"src/lib/base.py": "class Base: ...\n", "src/lib/pool.py": library + guard}
    assert has_demo == ("python src/lib/pool.py" in demos(project(files)))


def test_a_demo_does_not_stand_in_for_the_deployed_process(project):
    processes = project(
        {
            "Procfile": "web: python web.py\n",
            "web.py": "from gevent import monkey\nmonkey.patch_all(thread=False)\nimport helper\n",
            "helper.py": SERVES,
        }
    )
    helper = str(Path(processes.root) / "helper.py")

    assert ["python helper.py"] == demos(processes)
    assert ["python web.py"] == [process.name for process in processes.on_gevent(helper)]


@pytest.mark.parametrize(
    "files",
    [
        {"server.py": SERVES},
        {"app/__init__.py": "", "app/web.py": SERVES},
        {"app/__init__.py": "", "app/__main__.py": SERVES},
        {"app/__init__.py": "", "app/web.py": SERVES, "Procfile": "web: python -m app.web\n"},
        {
            "app/__init__.py": "",
            "app/web.py": SERVES,
            "setup.py": "entry = 'console_scripts'\n"
            "setup(entry_points={'console_scripts': ['web = app.web:app']})\n",
        },
        {
            "app.py": "from gevent import monkey\nmonkey.patch_all()\nimport views\n" + SERVES,
            "views.py": "import app\n",
        },
        {
            "app/__init__.py": "",
            "app/web.py": SERVES.replace(
                '__":\n', '__":\n    import gevent.monkey as m; m.patch_all()\n'
            ),
        },
    ],
)
def test_what_is_started_or_stands_alone_is_no_demo(project, files):
    processes = project(files)

    assert [] == demos(processes)
    assert processes.has_gevent


@pytest.mark.parametrize(
    ("path", "text", "files", "expected"),
    [
        ("patches/ws/server/web.py", "from ws.server.tools import a\n", {}, True),
        (
            "patches/ws/server/web.py",
            "from ws.server.tools import a\n",
            {"README.md": "web.py"},
            False,
        ),
        ("ws/server/web.py", "from ws.server.t import a\n", {"ws/server/t.py": ""}, False),
        ("redis/web.py", "from redis.client import Redis\n", {}, False),
        ("logging/web.py", "import logging.handlers\n", {}, False),
        ("skeleton/web.py", "", {}, True),
        ("templates/web/main.py", "", {}, True),
        ("engine-template/main.py", "", {}, True),
        ("skeleton/web.py", "", {"README.rst": "Run ``python web.py``."}, False),
        ("skeleton/web.py", "", {"Procfile": "a: python skeleton/web.py\n"}, False),
        ("template.py", "", {}, False),
        ("contemplates/web.py", "", {}, False),
    ],
)
def test_a_copy_or_a_template_counts_if_something_starts_it(project, path, text, files, expected):
    assert expected == bool(demos(project({path: text + SERVES, **files})))


@pytest.mark.parametrize(
    ("guard", "has_demo"),
    [
        ("    test()\n", True),
        ("    # by hand\n\n    test_pool(4)\n    demo()\n", True),
        ("    examples_of_use('x')  # all\n", True),
        ("    main()\n", False),
        ("    test()\n    main()\n", False),
        ("    tester()\n", False),
        ("    test(); main()\n", False),
        ("    x = test()\n", False),
    ],
)
def test_a_main_guard_that_only_tries_its_module_out_is_a_demo(project, guard, has_demo):
    text = f'import gevent\ngevent.spawn(print)\nif __name__ == "__main__":\n{guard}'
    assert has_demo == bool(demos(project({"pool.py": text})))


@pytest.mark.parametrize("above", ["lib/__init__.py", "other.py"])
def test_a_directory_below_a_package_is_part_of_it(project, above):
    text = 'import gevent\nif __name__ == "__main__":\n    gevent.spawn(print).join()\n'
    found = demos(project({"lib/site/pool.py": text, above: ""}))
    assert (above == "lib/__init__.py") == bool(found)


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("from gevent import monkey\nmonkey.patch_all()\nfrom app import go\n", True),
        ("import gevent.monkey\ngevent.monkey.patch_all()\n\nimport os\nimport app\n", False),
        ("from gevent import monkey\nmonkey.patch_all()\nfrom core.app import go\n", False),
        ("from app import go\n", False),
    ],
)
def test_a_program_that_patches_starts_in_its_package(project, start, found):
    processes = project(
        {
            "Procfile": "a: python core/run.py\n",
            "core/__init__.py": "from . import app\n",
            "core/run.py": start,
            "core/app.py": "from managers import auth\n",
            "core/managers/__init__.py": "",
            "core/managers/auth.py": "from tools.hashing import go\n",
            "core/tools/__init__.py": "",
            "core/tools/hashing.py": "",
            "jobs/tools/hashing.py": "",
        }
    )
    modules = processes.modules_of(named(processes, "python core/run.py"))
    assert found == any(path.endswith("core/tools/hashing.py") for path in modules)


# -- a hub of another thread

THREADED = """
from threading import Thread
from gevent.pywsgi import WSGIServer

class Board:
    def start(self):
        Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        WSGIServer(("", 80), print).serve_forever()
"""


@pytest.mark.parametrize(
    ("board", "main", "gevent"),
    [
        (THREADED, "", "no"),
        (THREADED.replace("self._serve, daemon", "self._serve, name='a', daemon"), "", "no"),
        (THREADED.replace("Thread(target", "Timer(1, function"), "", "yes"),
        (THREADED.replace("Thread(target=", "print(target="), "", "yes"),
        (THREADED + "    def wait(self):\n        self._serve()\n", "", "yes"),
        (THREADED, "import gevent\ngevent.spawn(print)\n", "yes"),
        (THREADED, "import gevent\ngevent.sleep(1)\n", "no"),
        (THREADED, "from gevent import monkey\nmonkey.patch_all()\n", "yes"),
        (THREADED, "def later():\n    from gevent import monkey\n    monkey.patch_all()\n", "yes"),
        (THREADED, "from gevent.thread import get_ident\n", "no"),
        (
            "from gevent.server import StreamServer\nimport multiprocessing\n"
            "class Child(multiprocessing.get_context('spawn').Process):\n"
            "    def run(self):\n        StreamServer(('', 1)).serve_forever()\n",
            "",
            "no",
        ),
        (
            "from gevent.pywsgi import WSGIServer\nimport multiprocessing\n"
            "class Child(multiprocessing.Process):\n"
            "    def run(self):\n        WSGIServer(('', 1), print).serve_forever()\n",
            "",
            "yes",
        ),
        (
            "from gevent.pywsgi import WSGIServer\nfrom PyQt5.QtCore import QObject\n"
            "class Shelf(QObject):\n"
            "    def serve(self):\n        WSGIServer(('', 1), print).serve_forever()\n",
            "",
            "no",
        ),
        (
            THREADED.replace("threading import Thread", "multiprocessing import Process as Thread"),
            "",
            "yes",
        ),
        (
            "from gevent.server import StreamServer\nimport threading\n"
            "class Results(StreamServer):\n    def handle(self): ...\n"
            "class Beside(threading.Thread):\n"
            "    def run(self):\n        Results(('', 1)).serve_forever()\n",
            "",
            "no",
        ),
    ],
)
def test_a_server_in_a_native_thread_leaves_the_program_without_a_hub(project, board, main, gevent):
    files = {"board.py": board, "main.py": main + "import board\n", "Procfile": "a: python main.py"}
    (process,) = [one for one in project(files).all() if one.name == "python main.py"]
    assert gevent == process.runs_on_gevent


@pytest.mark.parametrize("init", ["a/b/__init__.py", "other.py"])
@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("python -m a.b.c", "a/b/c/__main__.py"),
        ("python -m a.b.c", "a/b/c.py"),
        ("bash -c 'pip install -e . && python3 -m a.b.c --port 1'", "a/b/c/__main__.py"),
        ("", "a/b/c/__main__.py"),
    ],
)
def test_a_started_module_runs_the_packages_around_it(project, init, command, path):
    files = {
        "a/__init__.py": "from gevent import monkey\nmonkey.patch_all()\n",
        init: "",
        path: "import os\n",
    }
    found = project({"Procfile": f"web: {command}\n", **files} if command else files)
    assert {"python -m a.b.c": ("yes", "complete")} == judged(found)


@pytest.mark.parametrize(
    ("library", "setup", "expected"),
    [
        ("common/common/", "common/setup.py", True),
        ("common/common/", "common/pyproject.toml", True),
        ("common/src/common/", "common/setup.py", True),
        ("common/src/common/", "common/pyproject.toml", True),
        ("libs/shared-code/common/", "libs/shared-code/setup.py", True),
        ("common/", "setup.py", True),
        ("other/common/inner/", "other/notes.txt", False),
        ("tests/fixtures/shop/common/", "tests/fixtures/shop/setup.py", False),
    ],
)
@pytest.mark.parametrize(
    "statement",
    ["from common import database", "import common.database", "from common.database import DB"],
)
def test_a_process_runs_a_distribution_that_its_image_installs(
    project, library, setup, expected, statement
):
    files = {
        "web/Dockerfile": "RUN pip install /tmp/common\nENTRYPOINT python3 -m web\n",
        "web/setup.py": "",
        "web/web/__init__.py": "",
        "web/web/__main__.py": PATCHES + statement + "\n",
        setup: "",
        f"{library}__init__.py": "",
        f"{library}database.py": (
            "from psycogreen.gevent import patch_psycopg\n"
            "class DB:\n    def __init__(self):\n        patch_psycopg()\n"
        ),
    }
    found = named(project(files), "python -m web")
    assert expected == bool(found.drivers)


@pytest.mark.parametrize(
    "command",
    [
        "uv pip install --python bin/python -r qa-requirements.txt",
        "tool --python bin/python -r qa-requirements.txt",
        "python settings.cfg",
    ],
)
def test_what_is_no_program_is_not_started(project, command):
    files = {"qa-requirements.txt": "gevent\n", "settings.cfg": "", "app.py": ""}
    assert [] == project({"Makefile": f"all:\n\t{command}\n", **files}).all()


APP = {"app/__init__.py": "", "app/main.py": "import app.views\n", "app/views.py": ""}


# -- a whole service


def test_every_process_of_a_service_is_found(shop):
    assert {
        "gunicorn shop.wsgi:application": ("yes", "by the server"),
        "celery shop.tasks": ("yes", "by the server"),
        "celery beat shop.tasks": ("no", "none"),
        "uwsgi uwsgi.ini": ("yes", "by the server"),
        "locust -f loadtest.py": ("yes", "by the server"),
        "python bin/importer": ("yes", "partial"),
        "python scripts/clean.py": ("no", "none"),
        "shop-admin": ("no", "none"),
    } == judged(shop)


def test_each_process_says_where_it_is_started(shop):
    evidence = {
        process.name: [(str(Path(one.path).relative_to(SHOP)), one.row) for one in process.evidence]
        for process in shop.all()
    }
    assert [("Procfile", 1), ("gunicorn.conf.py", 4)] == evidence["gunicorn shop.wsgi:application"]
    assert [("run.sh", 4)] == evidence["python scripts/clean.py"]
    assert [("pyproject.toml", 5)] == evidence["shop-admin"]
    assert [("deploy/uwsgi.ini", 1), ("deploy/uwsgi.ini", 4)] == evidence["uwsgi uwsgi.ini"]


def test_what_stays_unpatched_is_told(shop):
    process = named(shop, "python bin/importer")
    assert "threading" in process.missing
    assert "socket" not in process.missing


def test_a_hook_of_the_server_makes_a_driver_cooperative(shop):
    (driver,) = named(shop, "gunicorn shop.wsgi:application").drivers
    assert "psycogreen.gevent.patch_psycopg" == driver.symbol


def test_what_only_processes_without_gevent_run_is_told(shop):
    without = {
        str(path.relative_to(SHOP))
        for path in SHOP.rglob("*.py")
        if shop.only_without_gevent(str(path))
    }
    assert {"shop/admin.py", "shop/backup.py", "scripts/clean.py"} == without


def test_a_module_that_nothing_reaches_may_run_on_gevent(shop):
    assert [] == shop.reaching(str(SHOP / "shop" / "forgotten.py"))
    assert not shop.only_without_gevent(str(SHOP / "shop" / "forgotten.py"))


def test_a_module_that_several_processes_run_names_them(shop):
    assert "shop.plugins" not in [p.name for p in shop.reaching(str(SHOP / "shop" / "plugins.py"))]
    assert {"celery shop.tasks", "celery beat shop.tasks"} == {
        process.name for process in shop.reaching(str(SHOP / "shop" / "mails.py"))
    }


# -- gunicorn


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-k gevent", "yes"),
        ("-kgevent", "yes"),
        ("--worker-class=gevent", "yes"),
        ("--worker-class gunicorn.workers.ggevent.GeventPyWSGIWorker", "yes"),
        ("-k geventwebsocket.gunicorn.workers.GeventWebSocketWorker", "yes"),
        ("-k flask_sockets.worker", "yes"),
        ("-k egg:gunicorn#gevent", "yes"),
        ("-k sync", "no"),
        ("-k uvicorn.workers.UvicornWorker", "no"),
        ("-k $KIND", "unknown"),
        ("-w 4", "no"),
    ],
)
def test_the_worker_class_of_gunicorn_decides(project, options, expected):
    found = project({**APP, "Procfile": f"web: gunicorn {options} app.main:application\n"})
    (process,) = found.all()
    assert (expected, 3) == (process.runs_on_gevent, len(found.modules_of(process)))


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("gunicorn engine-nmap:app", "engine-nmap.py"),
        ("gunicorn engine-nmap:app -b 0.0.0.0:5001", "engine-nmap.py"),
        ("gunicorn -b 0.0.0.0:5001 engines.engine-nmap:app", "engines/engine-nmap.py"),
        ("gunicorn engine-nmap", "engine-nmap.py"),
        ("gunicorn 2fa:app", "2fa.py"),
        ("gunicorn 'größe:app'", "größe.py"),
        ("gunicorn class:app", "class.py"),
        ("uwsgi --module engine-nmap:app", "engine-nmap.py"),
        ("celery -A engine-nmap worker", "engine-nmap.py"),
        ("uvicorn engine-nmap:app", "engine-nmap.py"),
        ("gunicorn 127.0.0.1:8000 shop:app", "shop.py"),
        ("gunicorn --bind 127.0.0.1:8000 shop:app", "shop.py"),
    ],
)
def test_an_application_is_found_in_whatever_importlib_imports(project, command, path):
    found = project({"Procfile": f"a: {command}\n", path: "def app(): ...\n"}).all()
    assert [(path,)] == [tuple(map(_short, process.entries)) for process in found]


def _short(path):
    parts = Path(path).parts
    return "/".join(parts[-2:] if parts[-2] == "engines" else parts[-1:])


@pytest.mark.parametrize(
    "name", ["gunicorn.ocp4.cfg", "gunicorn.conf", "settings", "gunicorn-web.py", "web.ini"]
)
@pytest.mark.parametrize("prefix", ["", "file:"])
def test_the_settings_of_gunicorn_may_have_any_name(project, name, prefix):
    files = {
        "Procfile": f"a: bash -c 'gunicorn --config {prefix}{name}'\n",
        name: "worker_class = 'gevent'\nwsgi_app = 'shop.web:app'\n",
        "shop/web.py": "import os\n",
    }
    (process,) = project(files).all()
    assert ("gunicorn shop.web:app", "yes") == (process.name, process.runs_on_gevent)
    assert {name, "web.py"} == {Path(one).name for one in process.entries}


@pytest.mark.parametrize("text", ["[gunicorn]\nworker class: gevent\n", "<worker_class gevent>"])
def test_settings_that_are_no_python_are_none_of_gunicorn(project, text):
    files = {"Procfile": "a: gunicorn -c web.cfg shop:app\n", "web.cfg": text, "shop.py": ""}
    assert ["no"] == [process.runs_on_gevent for process in project(files).all()]


PATCHES = "from gevent import monkey; monkey.patch_all()\n"


@pytest.mark.parametrize(
    ("options", "settings", "code", "expected", "in_turn"),
    [
        ("", "", "", "no", False),
        ("-k sync", "", "", "no", False),
        ("-k gthread --threads 4", "", "", "no", False),
        ("", "worker_class = 'sync'\n", "", "no", False),
        ("", "", "import gevent\ngevent.spawn(print)\n", "yes", True),
        (
            "-k gthread",
            "",
            "import threading\nthreading.Thread(target=print).start()\n",
            "yes",
            True,
        ),
        ("", "", "def app(environ, start): ...\n", "no", False),
        ("-k gevent", "", "", "yes", False),
        ("-k $WORKER", "", "", "unknown", False),
        ("", PATCHES, "", "yes", False),
        ("-k sync", PATCHES, "", "no", False),
        ("", "import os\nworker_class = os.environ['WORKER']\n", "", "unknown", False),
    ],
)
def test_a_patch_does_not_change_the_worker_class(
    project, options, settings, code, expected, in_turn
):
    files = {
        "Procfile": f"a: gunicorn {options} app:app\n",
        "app.py": PATCHES + "import views\n",
        "views.py": code,
    }
    if settings:
        files["gunicorn.conf.py"] = settings
    (process,) = project(files).all()
    assert (expected, in_turn) == (process.runs_on_gevent, process.in_turn)


def test_a_worker_class_of_the_project_is_looked_at(project):
    found = project(
        {
            **APP,
            "app/worker.py": "from gunicorn.workers.ggevent import GeventWorker\n"
            "class Base(GeventWorker):\n    pass\nclass Mine(Base):\n    pass\n",
            "Procfile": "web: gunicorn -k app.worker.Mine app.main:application\n",
        }
    )
    assert "yes" == found.all()[0].runs_on_gevent


def test_gunicorn_takes_arguments_from_the_environment(project):
    compose = """
        services:
          web:
            environment:
              GUNICORN_CMD_ARGS: "--worker-class gevent"
            command: gunicorn app.main:application
        """
    assert ["yes"] == [p.runs_on_gevent for p in project({**APP, "compose.yml": compose}).all()]


def test_gunicorn_reads_its_settings_where_it_runs(project):
    config = 'worker_class = "gevent"\npreload_app = True\nwsgi_app = "app.main:application"\n'
    found = project({**APP, "gunicorn.conf.py": config, "Procfile": "web: gunicorn\n"})
    (process,) = found.all()
    assert ("yes", True) == (process.runs_on_gevent, process.preload)
    assert 4 == len(found.modules_of(process))


@pytest.mark.parametrize(("directory", "gevent"), [("api", "yes"), ("api/conf", "no"), (".", "no")])
def test_gunicorn_reads_its_settings_where_a_script_starts_its_application(
    project, directory, gevent
):
    application = {f"api/{name}": text for name, text in APP.items()}
    script = "#!/bin/sh\nexec gunicorn app.main:application\n"
    files = {
        "api/scripts/start.sh": script,
        f"{directory}/gunicorn.conf.py": 'worker_class = "gevent"\n',
    }
    found = project({**application, **files})
    assert gevent == named(found, "gunicorn app.main:application").runs_on_gevent


@pytest.mark.parametrize("name", ["conf/gunicorn.conf", "conf/settings"])
def test_settings_of_any_name_patch(project, name):
    config = 'worker_class = "sync"\nfrom gevent import monkey\nmonkey.patch_all()\n'
    files = {"app/web.py": "application = print\n", name: config}
    found = project({**files, "Procfile": f"web: gunicorn -c {name} app.web\n"})
    assert "complete" == named(found, "gunicorn app.web").patched


def test_settings_that_no_command_names_are_a_process(project):
    found = project({**APP, "conf/gunicorn.py": 'bind = "x"\nworker_class = "gevent"\n'})
    assert {"gunicorn -c conf/gunicorn.py": ("yes", "by the server")} == judged(found)


FLASK = "from flask import Flask\nshop = Flask(__name__)\n"


@pytest.mark.parametrize(
    ("files", "entries"),
    [
        ({"conf/serve.py": FLASK}, ["conf/serve.py"]),
        ({"conf/serve.py": FLASK, "conf/wsgi.py": FLASK}, ["conf/wsgi.py"]),
        ({"conf/serve.py": FLASK, "conf/later.py": FLASK}, []),
        ({"serve.py": FLASK}, []),
        ({"conf/serve.py": "import serve\nshop = print\n"}, []),
        ({"conf/serve.py": FLASK, "Procfile": "web: gunicorn --chdir conf serve:shop\n"}, []),
    ],
)
def test_settings_that_no_command_names_serve_the_application_beside_them(project, files, entries):
    settings = {"conf/gunicorn_settings.py": 'bind = "x"\nworker_class = "gevent"\n'}
    found = project({**files, **settings})
    (process,) = (p for p in found.all() if p.name.startswith("gunicorn -c"))
    names = [str(Path(path).relative_to(found.root)) for path in process.entries]
    assert ["conf/gunicorn_settings.py", *entries] == names
    assert (not entries) == process.open


def test_gunicorn_can_be_started_with_a_dictionary(project):
    found = project(
        {
            **APP,
            "serve.py": """
                import gunicorn.app.base
                class Standalone(gunicorn.app.base.BaseApplication):
                    def load(self):
                        import app.main
                if __name__ == "__main__":
                    Standalone({"worker_class": "gevent"}).run()
                """,
        }
    )
    (process,) = found.all()
    assert ("yes", "by the server") == (process.runs_on_gevent, process.patched)
    assert 4 == len(found.modules_of(process))


# -- Celery, uWSGI and others


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("celery -A app.main worker -P gevent", "yes"),
        ("celery worker --app=app.main --pool=gevent", "yes"),
        ("python -m celery -A app.main worker --pool gevent", "yes"),
        ("sh -c 'exec celery -A app.main worker -P gevent'", "yes"),
        ("env A=b nice celery -A app.main worker -P gevent", "yes"),
        ("poetry run celery -A app.main worker -P gevent", "yes"),
        ("celery -A app.main worker", "no"),
        ("celery -A app.main worker -P threads", "no"),
        ("celery -A app.main worker -P $POOL", "unknown"),
        ("celery -A app.main beat", "no"),
    ],
)
def test_the_pool_of_celery_decides(project, command, expected):
    found = project({**APP, "Procfile": f"worker: {command}\n"})
    assert [expected] == [process.runs_on_gevent for process in found.all()]


def test_the_pool_may_stand_in_the_settings(project):
    contents = {**APP, "Procfile": "a: celery -A app.main worker\n"}
    contents["app/main.py"] = 'import celery\napp.conf.update(worker_pool="gevent")\n'
    assert ["yes"] == [process.runs_on_gevent for process in project(contents).all()]


@pytest.mark.parametrize("name", ["celeryconfig", "app.celeryconfig"])
def test_the_pool_may_stand_in_a_module_that_the_application_names(project, name):
    """Such a pool is chosen after Celery has looked for ``-P``, so that nothing is patched."""
    contents = {**APP, "Procfile": "a: celery -A app.main worker\n"}
    contents["app/main.py"] = f"import celery\napp.config_from_object('{name}')\n"
    contents[f"{name.replace('.', '/')}.py"] = "worker_pool = 'gevent'\n"
    (process,) = project(contents).all()
    assert ("yes", "none") == (process.runs_on_gevent, process.patched)


@pytest.mark.parametrize(
    ("green", "plain", "expected"),
    [
        ("compose.dev.yml", "compose.yml", False),
        ("deploy/local/compose.yml", "deploy/live/compose.yml", False),
        ("compose.dev.yml", "compose.local.yml", True),
        ("compose.yml", "compose.dev.yml", True),
        ("compose.devices.yml", "compose.yml", True),
        ("root/usr/local/compose.yml", "compose.yml", True),
    ],
)
def test_a_server_for_developers_is_none_beside_the_one_that_is_deployed(
    project, green, plain, expected
):
    found = project(
        {
            **APP,
            green: "services:\n  web:\n    command: gunicorn -k gevent app.main:app\n",
            plain: "services:\n  web:\n    command: gunicorn app.main:app\n",
        }
    )
    assert expected is any(process.is_gevent_service for process in found.all())
    assert expected is not found.only_without_gevent(found.modules.files[-1])


GREEN_HOOK = "from psycogreen.gevent import patch_psycopg\n\ndef post_fork(server, worker):\n"


@pytest.mark.parametrize(
    ("settings_", "options", "expected"),
    [
        (f"{GREEN_HOOK}    patch_psycopg()\n", "", ("yes", "by the server")),
        (f"{GREEN_HOOK}    patch_psycopg()\nworker_class = 'sync'\n", "", ("no", "none")),
        (f"{GREEN_HOOK}    patch_psycopg()\n", "-k gthread", ("no", "none")),
        (f"{GREEN_HOOK}    if server.cfg.is_green: patch_psycopg()\n", "", ("no", "none")),
        ("def post_fork(server, worker): pass\n", "", ("no", "none")),
    ],
)
def test_a_hook_that_makes_a_driver_green_tells_of_the_worker_class(
    project, settings_, options, expected
):
    command = f"web: gunicorn -c conf.py {options} app.main:app\n"
    found = project({**APP, "conf.py": settings_, "Procfile": command})
    assert expected == judged(found)["gunicorn app.main:app"]


def test_a_function_of_a_script_may_be_for_developers(project):
    script = (
        "web() {\n  gunicorn app.main:app\n}\nweb_debug() {\n  gunicorn -k gevent app.main:app\n}\n"
    )
    found = project({**APP, "run.sh": script})
    assert ["no", "no"] == [process.runs_on_gevent for process in found.all()]


def test_a_server_for_developers_stays_where_no_other_serves_the_application(project):
    command = "gunicorn -k gevent app.main:app"
    found = project({**APP, "compose.dev.yml": f"services:\n  web:\n    command: {command}\n"})
    assert ["yes"] == [process.runs_on_gevent for process in found.all()]


def test_a_function_that_patches_ssl_alone_says_nothing_of_gevent(project):
    text = "def fetch():\n    from gevent import monkey\n    monkey.{}()\n"
    for patch, expected in (("patch_ssl", "no"), ("patch_all", "unknown")):
        files = {"work.py": "import pages\n", "pages.py": text.format(patch)}
        found = project({**files, "Procfile": "work: python work.py\n"})
        assert expected == named(found, "python work.py").runs_on_gevent


def test_uwsgi_mounts_an_application_by_its_file(project):
    settings_ = "[uwsgi]\ngevent = 10\nmount = /shop=app/main.py\n"
    found = project({**APP, "uwsgi.ini": settings_})
    (process,) = found.all()
    assert ["app/main.py"] == [path[-len("app/main.py") :] for path in process.entries]


@pytest.mark.parametrize(
    ("settings_", "expected"),
    [
        ("gevent = 10\ngevent-monkey-patch = true\n", ("yes", "by the server")),
        ("gevent = 10\n", ("yes", "none")),
        ("processes = 4\n", ("no", "none")),
        ("  gevent = 10\n\tloop = gevent\n", ("yes", "none")),
    ],
)
def test_the_loop_of_uwsgi_decides(project, settings_, expected):
    found = project({**APP, "uwsgi.ini": f"[uwsgi]\nmodule = app.main:app\n{settings_}"})
    assert {"uwsgi uwsgi.ini": expected} == judged(found)


def test_python_m_gevent_monkey_patches_before_the_script(project):
    found = project(
        {"work.py": "import time\n", "Procfile": "a: python -m gevent.monkey work.py\n"}
    )
    assert {"python -m gevent.monkey work.py": ("yes", "by the server")} == judged(found)


def test_an_entrypoint_script_hands_its_arguments_on(project):
    found = project(
        {
            **APP,
            "Dockerfile": 'FROM x\nENTRYPOINT ["/srv/start.sh"]\n'
            'CMD ["gunicorn", "-k", "gevent", "app.main:app"]\n',
            "start.sh": '#!/bin/sh\nset -e\nexec "$@"\n',
        }
    )
    assert {"gunicorn app.main:app": ("yes", "by the server")} == judged(found)


def test_the_environment_of_a_service_reaches_its_script(project):
    found = project(
        {
            **APP,
            "compose.yml": "web:\n  environment: [KIND=gevent]\n  command: ./start.sh\n",
            "start.sh": "#!/bin/sh\ngunicorn -k ${KIND:-sync} app.main:app\n",
        }
    )
    assert ["yes", "no"] == [process.runs_on_gevent for process in found.all()]


# -- scripts


def test_a_script_that_spawns_without_a_patch_runs_on_gevent(project):
    text = 'import gevent\nif __name__ == "__main__":\n    gevent.spawn(print)\n'
    assert {"python notify.py": ("yes", "none")} == judged(project({"notify.py": text}))


def test_a_script_that_shares_modules_with_a_service_is_not_on_gevent(project):
    found = project(
        {
            "shared.py": "import gevent\n",
            "app.py": "from gevent import monkey\nmonkey.patch_all()\nimport shared\n",
            "ping.py": 'import shared\nif __name__ == "__main__":\n    pass\n',
            "Procfile": "web: python app.py\n",
        }
    )
    assert {"python app.py": ("yes", "complete"), "python ping.py": ("no", "none")} == judged(found)


def test_a_patch_that_only_a_function_makes_may_happen(project):
    found = project(
        {
            "servers.py": "def run():\n    from gevent import monkey\n    monkey.patch_all()\n",
            "main.py": 'import servers\nif __name__ == "__main__":\n    pass\n',
        }
    )
    assert {"python main.py": ("unknown", "none")} == judged(found)


def test_a_patch_in_the_main_function_of_a_script_happens(project):
    found = project(
        {
            "pkg/__init__.py": "",
            "pkg/__main__.py": "def main():\n    from gevent import monkey\n"
            "    monkey.patch_all()\n\nmain()\n",
        }
    )
    assert {"python -m pkg": ("yes", "complete")} == judged(found)


DJANGO = {
    "manage.py": "from django.core.management import execute_from_command_line\n"
    'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conf.settings")\n',
    "conf/__init__.py": "",
    "conf/settings.py": 'INSTALLED_APPS = ["shop"]\nROOT_URLCONF = "shop.urls"\n',
    "conf/wsgi.py": "from django.core.wsgi import get_wsgi_application\n",
    "shop/__init__.py": "",
    "shop/urls.py": "",
    "shop/management/commands/clean.py": "",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import gevent\ngevent.joinall([gevent.spawn(clean)])\n", "no"),
        ("def handle():\n    import gevent\n    gevent.spawn(clean)\n", "no"),
        ("import gevent\nwhile True:\n    gevent.spawn(clean)\n", "yes"),
        ("from gevent.pywsgi import WSGIServer\n", "yes"),
    ],
)
def test_greenlets_of_a_command_that_ends_put_no_other_command_on_gevent(project, text, expected):
    found = project(
        {
            **DJANGO,
            "shop/management/commands/clean.py": text,
            "Procfile": "job: python manage.py clean\n",
        }
    )
    assert [expected] == [process.runs_on_gevent for process in found.all()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("manifest.yml", "command: ./run.sh\nenv:\n  DJANGO_SETTINGS_MODULE: conf.settings\n"),
        ("compose.yaml", "command: x\nenvironment:\n  - DJANGO_SETTINGS_MODULE=conf.settings\n"),
        ("Dockerfile", "FROM python\nENV DJANGO_SETTINGS_MODULE conf.settings\nCMD x\n"),
        ("start.sh", "export DJANGO_SETTINGS_MODULE=conf.settings\n"),
        ("app.json", '{"command": "x", "env": {"DJANGO_SETTINGS_MODULE": "conf.settings"}}\n'),
        (
            "pod.yaml",
            "command: x\nenv:\n  - name: DJANGO_SETTINGS_MODULE\n    value: conf.settings\n",
        ),
        ("run.sh", "export DJANGO_SETTINGS_MODULE=${DJANGO_SETTINGS_MODULE:-conf.settings}\n"),
    ],
)
def test_settings_may_be_named_at_deployment_alone(project, name, text):
    files = {**DJANGO, "manage.py": "", "Procfile": "web: gunicorn -k gevent conf.wsgi\n"}
    found = project({**files, name: text})
    (process,) = [one for one in found.all() if one.kind == "gunicorn"]
    assert "urls.py" in {Path(path).name for path in found.modules_of(process)}


def test_settings_for_tests_are_not_those_of_a_service(project):
    text = "command: x\nenv:\n  DJANGO_SETTINGS_MODULE: conf.test_settings\n"
    files = {**DJANGO, "manage.py": "", "Procfile": "web: gunicorn -k gevent conf.wsgi\n"}
    settings = {"conf/test_settings.py": 'ROOT_URLCONF = "shop.urls"\n', "manifest.yml": text}
    found = project({**files, **settings})
    (process,) = [one for one in found.all() if one.kind == "gunicorn"]
    assert "urls.py" not in {Path(path).name for path in found.modules_of(process)}


def test_management_commands_are_one_process(project):
    found = project(
        {
            "manage.py": "from django.core.management import execute_from_command_line\n"
            'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conf.settings")\n',
            "conf/__init__.py": "",
            "conf/settings.py": 'INSTALLED_APPS = ["shop"]\n',
            "conf/wsgi.py": "import django\n",
            "shop/__init__.py": "",
            "shop/models.py": "",
            "shop/management/commands/clean.py": "",
            "Procfile": "web: gunicorn -k gevent conf.wsgi\njob: python manage.py clean\n",
        }
    )
    assert {
        "gunicorn conf.wsgi": ("yes", "by the server"),
        "python manage.py": ("no", "none"),
    } == judged(found)
    root = Path(found.root)
    assert found.only_without_gevent(str(root / "shop/management/commands/clean.py"))
    assert not found.only_without_gevent(str(root / "shop/models.py"))


# -- what is not known


def test_a_server_of_an_unknown_application_may_run_anything(project):
    found = project(
        {
            "Procfile": "web: gunicorn -k gevent $APP\n",
            "lib.py": "",
            "job.py": 'import lib\nif __name__ == "__main__":\n    pass\n',
            "main.py": "import lib\n",
        }
    )
    root = Path(found.root)
    assert found.only_without_gevent(str(root / "job.py"))
    assert not found.only_without_gevent(str(root / "lib.py"))


def test_what_an_unreached_module_imports_may_run_on_gevent(project):
    found = project(
        {
            **APP,
            "Procfile": "web: gunicorn -k gevent app.main:app\n",
            "lib.py": "",
            "dynamic.py": "import lib\n",
            "job.py": 'import lib\nif __name__ == "__main__":\n    pass\n',
        }
    )
    assert not found.only_without_gevent(str(Path(found.root) / "lib.py"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("migrations/env.py", "from alembic import context\nimport app.views\n", True),
        ("migrations/versions/a.py", "from alembic import op\nimport app.views\n", True),
        ("upgrade.py", "from alembic import command\nimport app.views\n", False),
        ("upgrade.py", "from alembic.config import Config\nimport app.views\n", False),
    ],
)
def test_what_only_alembic_runs_leaves_nothing_open(project, name, text, expected):
    files = {"Procfile": "web: gunicorn app.main:app\nx: gunicorn -k gevent other:app\n"}
    found = project({**APP, **files, "other.py": "app = None\n", name: text})
    assert expected is found.only_without_gevent(str(Path(found.root) / "app/views.py"))


LEFT = "[uwsgi]\nwsgi-file = app.py\ncallable = app\ngevent = 50\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"Procfile": "web: gunicorn app.main:app\n"}, True),
        ({"Procfile": "web: gunicorn app.main:app\n", "conf/x.ini": LEFT}, True),
        ({"conf/x.ini": LEFT.replace("app.py", "app/main.py")}, False),
        ({}, False),
        ({"Procfile": "web: gunicorn app.main:app\nb: uwsgi --ini conf/x.ini\n"}, False),
        ({"Procfile": "web: gunicorn app.main:app\nb: uwsgi conf/x.ini\n"}, False),
        (
            {
                "Procfile": "web: gunicorn app.main:app\n",
                "conf/x.ini": LEFT.replace("wsgi-file = app.py\n", ""),
            },
            False,
        ),
        ({"Procfile": "web: gunicorn $APP\n"}, False),
    ],
)
def test_settings_that_nothing_uses_any_more_are_no_process(project, files, expected):
    found = project({**APP, "conf/x.ini": LEFT, **files})
    assert expected is found.only_without_gevent(str(Path(found.root) / "app/views.py"))


def test_tests_prove_nothing(project):
    found = project({**APP, "tests/test_a.py": "import app.views\n", "Procfile": "a: locust\n"})
    assert not found.only_without_gevent(str(Path(found.root) / "app/views.py"))


def test_what_is_deployed_without_gevent_alone_runs_without_it(project):
    found = project({**APP, "Procfile": "web: gunicorn app.main:app\n"})
    assert not found.has_gevent
    assert found.only_without_gevent(str(Path(found.root) / "app/main.py"))


def test_a_main_guard_alone_does_not_say_that_a_project_has_no_gevent(project):
    found = project({"app.py": 'if __name__ == "__main__":\n    print()\n'})
    assert not found.has_gevent
    assert not found.only_without_gevent(str(Path(found.root) / "app.py"))


def test_a_broken_file_leaves_the_others(project):
    found = project({**APP, "compose.yml": 'command: "x\n', "Procfile": "a: gunicorn app.main\n"})
    assert 1 == len(found.all())
    assert ["compose.yml"] == [Path(note.filename).name for note in found.notes]


@settings(deadline=None, max_examples=examples(60))
@given(words=st.lists(st.text(alphabet="-=:./$ a\0'\"\n", max_size=8), max_size=6))
def test_no_command_raises(tmp_path_factory, blockers, words):
    root = tmp_path_factory.mktemp("any")
    for program in ("gunicorn", "celery", "uwsgi", "python", "flask", "sh"):
        (root / f"Procfile.{program}").write_text(f"web: {program} {' '.join(words)}")
    (root / "app.py").write_text("")
    processes_of(root, blockers).all()


# -- the table


def test_the_table_is_aligned(shop):
    head, *rows = table(shop).splitlines()
    assert ["PROCESS", "KIND", "GEVENT", "PATCHED", "MODULES", "WHY", "EVIDENCE"] == head.split()
    assert 8 == len(rows)
    at = head.index("GEVENT")
    assert {"yes", "no"} == {row[at:].split()[0] for row in rows}


def test_the_table_for_programs_holds_everything(shop):
    found = {one["process"]: one for one in json.loads(table(shop, "json"))}
    one = found["gunicorn shop.wsgi:application"]
    assert ("yes", "by the server") == (one["runs_on_gevent"], one["patched"])
    assert {"filename": "Procfile", "row": 1} == {
        key: one["evidence"][0][key] for key in ("filename", "row")
    }
    assert "shop/models.py" in one["modules"]


def test_what_is_too_wide_for_a_terminal_gets_lines_of_its_own(shop):
    text = table(shop, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(
        "celery shop.tasks\n  celery, 4 modules\n  gevent: yes, pool gevent\n"
        "  patched: by the server\n  evidence: Procfile:2\n"
    )
    assert 8 == len(text.strip().split("\n\n"))
    assert table(shop) == table(shop, width=1000)


def test_few_patched_modules_are_named_instead_of_the_rest(project):
    text = "from gevent import monkey\nmonkey.patch_time()\nif __name__ == '__main__':\n    pass\n"
    assert "partial, only time  1" in table(project({"a.py": text}))


def test_an_empty_table_says_so(project):
    assert "no process found\n" == table(project({"a.py": ""}))


# -- how commands are really written


@pytest.mark.parametrize(
    "command",
    [
        "gunicorn --bind :$PORT --workers 1 --worker-class gevent app.main:application",
        "exec gunicorn -b :80 -w4 -k gevent --log-level=debug app.main:application",
        "newrelic-admin run-program gunicorn -k gevent app.main:application",
        "ddtrace-run gunicorn -k gevent 'app.main:create()'",
        "tini -- gunicorn -k gevent app.main",
        "pipenv run gunicorn app.main:application -k gevent --reload",
        "su app -c 'cd /srv && gunicorn -k gevent app.main:application'",
        "gosu app /opt/venv/bin/gunicorn -k gevent app.main:application",
        'bash -c "python -c 1 && gunicorn -k gevent app.main:application"',
        "wait-for-it.sh db:5432 -- gunicorn -k gevent app.main:application",
        "celery -A app.main worker --loglevel=info -c 4 -P gevent -Q default",
        "celery multi start w1 -A app.main -P gevent",
        "watchmedo auto-restart --recursive -- celery -A app.main worker -P gevent",
        "uwsgi --http :80 --gevent 100 --module app.main:application",
        "uwsgi --http :80 --loop gevent -w app.main",
        "dramatiq-gevent app.main",
        "huey_consumer.py app.main.huey -k greenlet",
        "chaussette --backend gevent app.main:application",
        "python3.11 -u -X dev -m gunicorn -k gevent app.main:application",
        "FLASK_APP=app.main gunicorn -k gevent app.main",
    ],
)
def test_a_server_on_gevent_is_found_behind_what_starts_it(project, command):
    found = project({**APP, "Procfile": f"web: {command}\n"})
    on_gevent = [process for process in found.all() if process.runs_on_gevent == "yes"]
    assert [3] == [len(found.modules_of(process)) for process in on_gevent]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--workers=4", "-kgevent", "app.main"], ("gunicorn app.main", "yes")),
        (["-w", "4", "--worker-class", "gthread", "app.main"], ("gunicorn app.main", "no")),
        (["-A", "app.main", "worker", "-P", "gevent"], ("celery app.main", "yes")),
        (["app.main", "-w3", "-b:4000", "-kgevent"], ("gunicorn app.main", "yes")),
        (["app.main:application", "-k", "gevent"], ("gunicorn app.main:application", "yes")),
        (["app.main:make()", "--worker-class=sync"], ("gunicorn app.main:make()", "no")),
        (["-k", "a word", "app.main"], None),
        (["--bind=:80", "app.main"], None),
        (["app.main", "-w3"], None),
        (["server.sh", "-k", "gevent"], None),
        (["app", "-k", "gevent"], None),
    ],
)
@pytest.mark.parametrize("name", ["Dockerfile", "compose.yml"])
def test_arguments_alone_are_for_the_program_of_the_base_image(project, arguments, expected, name):
    words = json.dumps(arguments)
    text = {
        "Dockerfile": f"FROM base\nCMD {words}\n",
        "compose.yml": f"services:\n  web:\n    image: base\n    command: {words}\n",
    }
    found = project({**APP, name: text[name]})
    told = [(process.name, process.runs_on_gevent) for process in found.all()]
    assert ([expected] if expected is not None else []) == told


@pytest.mark.parametrize(
    "command",
    [
        "pip install gunicorn gevent",
        "echo gunicorn -k gevent app.main",
        "apt-get install -y python3-gevent uwsgi-plugin-gevent-python3",
        "docker build -t gunicorn .",
        "grep gevent requirements.txt",
        "python setup.py install",
        "celery --version",
        "kill gunicorn",
    ],
)
def test_what_only_names_a_server_starts_none(project, command):
    assert [] == project({**APP, "Procfile": f"web: {command}\n"}).all()


@pytest.mark.parametrize(
    ("command", "files", "expected"),
    [
        ("rq worker high", {}, ("rq worker", "no", "none", ())),
        ("rq worker -w rq_gevent_worker.GeventWorker", {}, ("rq worker", "yes", "none", ())),
        ("rqworker", {}, ("rq worker", "no", "none", ())),
        ("rq info", {}, None),
        (
            "DJANGO_SETTINGS_MODULE=app.views django-admin migrate",
            {},
            ("django-admin", "no", "none", ("app/views.py",)),
        ),
        ("django-admin migrate", {}, None),
        ("DJANGO_SETTINGS_MODULE=nowhere django-admin migrate", {}, None),
        ("uwsgi --ini /etc/uwsgi.ini", {}, ("uwsgi", "unknown", "none", ())),
        ("python -m gevent.monkey /srv/elsewhere.py", {},
         ("python -m gevent.monkey /srv/elsewhere.py", "yes", "by the server", ())),
        ("python -m gevent.monkey --verbose", {}, None),
        ("python -m gevent.monkey pytest", {}, None),
        ("python tests/test_app.py", {"tests/test_app.py": "import app.main\n"}, None),
        ("pserve app.ini", {}, ("pserve", "no", "none", ())),
        (
            "pserve app.ini",
            {"app.ini": "[app:main]\nuse = call:app.main:make\n[server:main]\nuse = egg:a\n"},
            ("pserve", "no", "none", ("app/main.py",)),
        ),
    ],
)  # fmt: skip
def test_what_a_command_starts(project, command, files, expected):
    found = project({**APP, **files, "Procfile": f"web: {command}\n"})
    root = found.modules.root
    told = [
        (
            one.name,
            one.runs_on_gevent,
            one.patched,
            tuple(str(Path(path).relative_to(root)) for path in one.entries),
        )
        for one in found.all()
        if one.kind != "tests"
    ]
    assert told == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ({"bin/serve.py": "import app.main\n"}, ["console script"]),
        ({"bin/serve.py": "#!/bin/sh\nexec true\n"}, ["console script"]),
        ({}, []),
    ],
)
def test_a_script_that_setup_installs_is_a_process(project, script, expected):
    setup = 'from setuptools import setup\nsetup(name="app", scripts=["bin/serve.py"])\n'
    found = project({**APP, **script, "setup.py": setup})
    assert expected == [one.kind for one in found.all()]


def test_socketio_says_that_it_runs_on_gevent(project):
    text = 'socketio = SocketIO(app, async_mode="gevent")\nsocketio.run(app)\n'
    found = project({"serve.py": text, "Procfile": "web: python serve.py\n"})
    assert {"python serve.py": ("yes", "none")} == judged(found)


def test_a_docker_file_of_a_sub_project_finds_its_modules(project):
    found = project(
        {
            "api/Dockerfile": "FROM x\nCMD exec gunicorn -k gevent main:app\n",
            "api/main.py": "import util\n",
            "api/util.py": "",
            "other/main.py": "",
        }
    )
    (process,) = found.all()
    names = {str(Path(path).relative_to(found.root)) for path in found.modules_of(process)}
    assert {"api/main.py", "api/util.py"} == names


# -- what commands get from around them

WEB = "gunicorn -k $KIND app.main:application"
COMPOSE = f"services:\n  web:\n    command: {WEB}\n"
POD = """
    kind: Deployment
    spec:
      containers:
      - name: web
        command: [gunicorn, -k, $(KIND), "app.main:application"]
    """
SERVICE = f"[Service]\nEnvironmentFile=-/etc/web.env\nExecStart=/bin/{WEB}\n"
LITERALS = "configMapGenerator:\n- name: web\n  literals: [KIND=gevent]\n"
ENVS = "configMapGenerator:\n- name: web\n  envs: [web.env]\n"
MAP = "kind: ConfigMap\nmetadata: {name: web}\ndata: {KIND: gevent}\n"
FROM = "    envFrom:\n            - configMapRef: {name: web}\n    "
KEY = (
    "    env:\n            - name: KIND\n"
    "              valueFrom: {configMapKeyRef: {name: web, key: KIND}}\n    "
)
CHART = (
    'containers:\n- command: [gunicorn, -k, "{{ .Values.web.kind }}"]\n'
    "  args:\n  - app.main:application\n  {{- range .Values.more }}\n  - {{ . | quote }}\n"
    "  {{- end }}\n"
)


@pytest.mark.parametrize(
    "contents",
    [
        {"compose.yml": COMPOSE, ".env": "KIND=gevent\n"},
        {"compose.yml": COMPOSE + "    env_file: a.env\n", "a.env": "export KIND='gevent' # x\n"},
        {"compose.yml": COMPOSE + "    env_file: [a.env]\n", "a.env": 'KIND="gevent"\n'},
        {"compose.yml": COMPOSE + "    env_file: [{path: a.env}]\n", "a.env": "KIND=gevent\n"},
        {"compose.yml": COMPOSE + "    env_file: a.env\n", "a.env.example": "KIND=gevent\n"},
        {"compose.yml": COMPOSE + "    environment: [KIND]\n", ".env": "KIND=gevent\n"},
        {"compose.yml": COMPOSE.replace("$", "$$") + "    environment: {KIND: gevent}\n"},
        {"compose.yml": COMPOSE.replace("$KIND", "${KIND:-gevent}")},
        {"web.service": SERVICE, "deploy/etc/web.env": "KIND=gevent\n"},
        {"pod.yaml": textwrap.dedent(POD + FROM), "map.yaml": MAP},
        {"pod.yaml": textwrap.dedent(POD + KEY), "map.yaml": MAP},
        {"pod.yaml": textwrap.dedent(POD + FROM), "kustomization.yaml": LITERALS},
        {
            "pod.yaml": textwrap.dedent(POD + FROM),
            "kustomization.yaml": ENVS,
            "web.env": "KIND=gevent\n",
        },
        {"templates/pod.yaml": CHART, "values.yaml": "web:\n  kind: gevent\n"},
        {"templates/pod.yaml": CHART.replace(".kind", '.kind | default "gevent"')},
        {"Dockerfile": f'FROM x\nENV KIND=gevent\nCMD ["sh", "-c", "{WEB}"]\n'},
        {"heroku.yml": f"run:\n  web: {WEB.replace('$KIND', 'gevent')}\n"},
        {"app.json": json.dumps({"scripts": {"web": WEB.replace("$KIND", "gevent")}})},
        {"package.json": json.dumps({"scripts": {"start": WEB.replace("$KIND", "gevent")}})},
        {"justfile": f"serve:\n    {WEB.replace('$KIND', 'gevent')}\n"},
    ],
)
def test_a_variable_is_looked_up_where_the_process_gets_it(project, contents):
    (process,) = project({**APP, **contents}).all()
    assert ("yes", "by the server") == (process.runs_on_gevent, process.patched)


@pytest.mark.parametrize(
    ("test", "gevent"),
    [
        ('"GREEN" in os.environ', ["yes", "no"]),
        ('os.environ.get("GREEN")', ["yes", "no"]),
        ('os.environ.get("GREEN") == "1"', ["yes", "no"]),
        ('os.environ.get("OTHER")', ["yes", "yes"]),
        ('"GREEN" not in os.environ', ["yes", "yes"]),
    ],
)
def test_a_variable_that_one_command_sets_lets_its_program_patch(project, test, gevent):
    patch = f"import os\nif {test}:\n    from gevent import monkey\n    monkey.patch_all()\n"
    commands = "a: GREEN=1 python one.py\nb: python two.py\n"
    files = {"hub.py": patch, "one.py": "import hub\n", "two.py": "import hub\n"}
    found = project({**files, "Procfile": commands})
    assert gevent == [named(found, f"python {one}.py").runs_on_gevent for one in ("one", "two")]


@pytest.mark.parametrize(
    ("test", "gevent"),
    [
        ('"green" in sys.argv', ["yes", "no", "no"]),
        ('"green" in sys.argv[1:]', ["yes", "no", "no"]),
        ('sys.argv[1] == "green"', ["yes", "no", "no"]),
        ('sys.argv[-1] == "green"', ["yes", "no", "no"]),
        ('len(sys.argv) > 1 and sys.argv[1] == "green"', ["yes", "no", "no"]),
        ('any("green" in one for one in sys.argv)', ["yes", "no", "no"]),
        ('"one" in sys.argv[0]', ["yes", "no", "no"]),
        ('"celery" in sys.argv[0]', ["no", "no", "no"]),
        ('"green" not in sys.argv', ["yes", "yes", "yes"]),
        ('"green" in sys.argv or __debug__', ["yes", "yes", "yes"]),
    ],
)
def test_a_word_of_the_command_line_lets_a_program_patch(project, test, gevent):
    patch = f"import sys\nif {test}:\n    from gevent import monkey\n    monkey.patch_all()\n"
    found = project(
        {
            "hub.py": patch,
            "one.py": "import hub\n",
            "two.py": "import hub\n",
            "three.py": "import hub\nif __name__ == '__main__':\n    print(1)\n",
            "Procfile": "a: python one.py green\nb: python two.py 80\n",
        }
    )
    names = ("one", "two", "three")
    assert gevent == [named(found, f"python {one}.py").runs_on_gevent for one in names]


@pytest.mark.parametrize(
    ("files", "gevent"),
    [
        ({"Procfile": "a: python one.py\n"}, "no"),
        ({"Procfile": "a: python one.py $KIND\n"}, "yes"),
        ({"run.sh": '#!/bin/sh\nexec python one.py "$@"\n'}, "yes"),
        ({"run.sh": "#!/bin/sh\nsh -c 'cd . && python one.py green'\n"}, "yes"),
        ({"uwsgi.ini": "[uwsgi]\nmodule = one\npyargv = 80\n"}, "no"),
        ({}, "yes"),
    ],
)
def test_a_command_line_that_is_not_known_may_have_any_word(project, files, gevent):
    text = (
        "import sys\nif 'green' in sys.argv:\n    from gevent import monkey\n"
        "    monkey.patch_all()\nif __name__ == '__main__':\n    print(1)\n"
    )
    (found, *_) = project({"one.py": text, **files}).all()
    assert gevent == found.runs_on_gevent


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("web.service", "[Service]\nWorkingDirectory=/srv/shop/backend\nExecStart=COMMAND\n"),
        ("supervisor.conf", "[program:web]\ndirectory=/srv/backend\ncommand=COMMAND\n"),
        ("circus.ini", "[watcher:web]\nworking_dir=/srv/backend\ncmd=COMMAND\n"),
        ("Dockerfile", "FROM x\nWORKDIR /srv\nWORKDIR backend\nCMD COMMAND\n"),
        ("compose.yml", "web:\n  working_dir: /srv/backend\n  command: COMMAND\n"),
        ("Procfile", "web: cd backend && COMMAND\n"),
        ("run.sh", "#!/bin/sh\ncd /srv/shop/backend\nexec COMMAND\n"),
        ("run.sh", '#!/bin/sh\ncd "$ROOT/backend" && exec COMMAND\n'),
        (
            "bin/run.sh",
            '#!/bin/sh\nHERE=$(cd "$(dirname "$0")"; pwd)\ncd ${HERE}/backend/\nCOMMAND\n',
        ),
        ("Procfile", "web: sh -c 'cd backend; COMMAND'\n"),
        ("Procfile", "web: COMMAND --chdir backend\n"),
        ("Procfile", "web: COMMAND --chdir /srv/backend\n"),
    ],
)
def test_modules_are_looked_up_where_the_process_runs(project, name, text):
    found = project(
        {
            name: text.replace("COMMAND", "gunicorn -k gevent main:app"),
            "backend/main.py": "import util\n",
            "backend/util.py": "",
            "other/main.py": "",
        }
    )
    (process,) = (one for one in found.all() if one.kind == "gunicorn")
    names = {str(Path(path).relative_to(found.root)) for path in found.modules_of(process)}
    assert {"backend/main.py", "backend/util.py"} == names


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("uwsgi.yaml", "uwsgi:\n  module: app.main:app\n  gevent: 100\n", "none"),
        ("conf/uwsgi.json", '{"uwsgi": {"module": "app.main", "gevent": 9}}', "none"),
        (
            "uwsgi.xml",
            "<uwsgi><module>app.main</module><gevent>9</gevent><gevent-monkey-patch/></uwsgi>",
            "by the server",
        ),
        (
            "uwsgi.ini",
            "[uwsgi]\nbase = /srv\nwsgi-file = %(base)/app/main.py\ngevent = 9\n"
            "gevent-early-monkey-patch = 1\n",
            "by the server",
        ),
        ("uwsgi.ini", "[uwsgi]\nmount = /x=app.main:app\ngevent = 9\n", "none"),
        ("setup.cfg", "[uwsgi]\nmodule = app.main:app\ngevent = 9\n", "none"),
        (
            "setup.cfg",
            "[flake8]\nignore =\n    E1\n    ;no\n\n[uwsgi]\nmodule = app.main:app\ngevent = 9\n"
            "gevent-monkey-patch = 1\n\n[mypy]\nstrict = 1\n",
            "by the server",
        ),
        (
            "Dockerfile",
            'FROM x\nENV UWSGI_MODULE=app.main UWSGI_GEVENT=9\nCMD ["uwsgi"]\n',
            "none",
        ),
    ],
)
def test_the_settings_of_uwsgi_are_read_in_every_form(project, name, text, expected):
    found = project({**APP, name: text})
    (process,) = found.all()
    assert ("yes", expected) == (process.runs_on_gevent, process.patched)
    assert 3 == len(found.modules_of(process))


@pytest.mark.parametrize(
    ("name", "text", "kinds"),
    [
        ("README.md", "```bash\ngunicorn -w4 -k gevent app.main:app\n```\n", {"gunicorn"}),
        (
            "README.md",
            "```\n$ gunicorn -w4 \\\n  -k gevent \\\n  app.main:app\n```\n",
            {"gunicorn"},
        ),
        ("README.rst", "Run it::\n\n    $ gunicorn -k gevent app.main:app\n", {"gunicorn"}),
        ("readme.txt", "Start:\n\tsudo gunicorn -k gevent app.main:app\n", {"gunicorn"}),
        (
            "README.md",
            "```\n(venv) $ python -m gunicorn -k gevent app.main:app\n```\n",
            {"gunicorn"},
        ),
        ("README.md", "```\nuwsgi --gevent 9 --module app.main:app\n```\n", {"uwsgi"}),
        (
            "README.md",
            "~~~\ngunicorn -k gevent app.main:app\ncelery -A app.views worker -P gevent\n~~~\n",
            {"gunicorn", "celery"},
        ),
        ("README.md", "gunicorn -k gevent app.main:app\n", set()),
        ("README.md", "```\ngunicorn app.main:app\n```\n", set()),
        ("NOTES.md", "```\ngunicorn -k gevent app.main:app\n```\n", set()),
    ],
)
def test_a_readme_says_what_starts_a_server_where_nothing_else_does(project, name, text, kinds):
    found = project({**APP, name: text}).all()
    assert kinds == {one.kind for one in found if one.runs_on_gevent == "yes"}


@pytest.mark.parametrize(("name", "count"), [("requirements.txt", 1), ("notes.txt", 0)])
def test_a_readme_may_start_a_server_without_gevent(project, name, count):
    """The requirements alone do not make the application one on gevent."""
    text = "```\ncd /srv/shop; /srv/bin/gunicorn --config file:conf.py app.main:app\n```\n"
    files = {"README.md": text, "conf.py": "worker_class = 'gthread'\n", name: "gevent\n"}
    found = project({**APP, **files})
    assert ["no"] * count == [one.runs_on_gevent for one in found.all()]
    (main,) = (path for path in found.modules.serving if path.endswith("app/main.py"))
    assert found.only_served_without(main) is bool(count)


@pytest.mark.parametrize(
    "files",
    [
        {"Procfile": "web: gunicorn app.main:app\n"},
        {"Dockerfile": 'FROM x\nCMD ["uvicorn", "app.main:app"]\n'},
        {"start.py": "import subprocess\nsubprocess.run(['gunicorn', 'app.main:app'])\n"},
    ],
)
def test_a_readme_says_nothing_beside_a_deployment(project, files):
    text = "```\ngunicorn -k gevent app.main:app\n```\n"
    found = project({**APP, **files, "README.md": text}).all()
    assert all(one.runs_on_gevent != "yes" for one in found)


COMMON = "[uwsgi]\nmodule = app.main:app\ngevent-monkey-patch = 1 ; once tested\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"common.ini": COMMON, "live.ini": "[uwsgi]\ngevent = 9\nini = ./common.ini\n"},
            {"uwsgi live.ini": ("yes", "by the server")},
        ),
        (
            {
                "common.ini": COMMON,
                "conf/live.ini": "[uwsgi]\ngevent = 9\ninclude = /etc/common.ini\n",
            },
            {"uwsgi live.ini": ("yes", "by the server")},
        ),
        (
            {
                "common.ini": COMMON,
                "middle.ini": "[uwsgi]\nini = common.ini\ngevent = 9\n",
                "live.ini": "[uwsgi]\nini = middle.ini\n",
            },
            {"uwsgi live.ini": ("yes", "by the server")},
        ),
        (
            {
                "common.ini": COMMON,
                "live.ini": "[uwsgi]\ngevent = 9\nini = common.ini\n",
                "Procfile": "web: uwsgi --ini common.ini\n",
            },
            {"uwsgi live.ini": ("yes", "by the server"), "uwsgi common.ini": ("no", "none")},
        ),
        (
            {"common.ini": COMMON, "live.ini": "[uwsgi]\ngevent = 9\nini = live.ini\n"},
            {"uwsgi live.ini": ("yes", "none"), "uwsgi common.ini": ("no", "none")},
        ),
    ],
)
def test_settings_of_uwsgi_that_include_others_are_one_process(project, files, expected):
    assert expected == judged(project({**APP, **files}))


@pytest.mark.parametrize("value", ["0", "false", "no", "off", "Off"])
def test_an_option_of_uwsgi_is_off_for_four_values(project, value):
    settings_ = f"[uwsgi]\nmodule = app.main:app\ngevent = 9\ngevent-monkey-patch = {value}\n"
    assert {"uwsgi uwsgi.ini": ("yes", "none")} == judged(project({**APP, "uwsgi.ini": settings_}))


@pytest.mark.parametrize(
    "setting",
    [
        "attach-daemon = celery -A app.views worker -P gevent",
        "smart-attach-daemon = /tmp/x.pid celery -A app.views worker -P gevent --pidfile=/tmp/x",
        "attach-daemon2 = cmd=celery -A app.views worker -P gevent,freq=3",
    ],
)
def test_what_uwsgi_attaches_is_a_process(project, setting):
    found = project({**APP, "uwsgi.ini": f"[uwsgi]\nmodule = app.main:app\n{setting}\n"})
    assert {
        "celery app.views": ("yes", "by the server"),
        "uwsgi uwsgi.ini": ("no", "none"),
    } == judged(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uwsgi.ini", "[uwsgi]\nmodule = app.main:app\ngevent = 9\nmule = beside.py\n"),
        ("Procfile", "web: uwsgi --module app.main:app --gevent 9 --mule=beside.py\n"),
        ("run.sh", "exec uwsgi --mule beside.py --gevent 9 --module app.main:app\n"),
    ],
)
def test_a_mule_is_a_process_without_the_loop_of_the_workers(project, name, text):
    found = project({**APP, "beside.py": "import time\ntime.sleep(9)\n", name: text})
    runs = {process.name: process.runs_on_gevent for process in found.all()}

    assert ["no", "yes"] == sorted(runs.values())
    assert "no" == runs["uwsgi mule beside.py"]


# -- gunicorn and Celery from within


@pytest.mark.parametrize(
    "text",
    [
        "class S(BaseApplication):\n    def load_config(self):\n"
        "        self.cfg.set('worker_class', 'gevent')\nS().run()\n",
        "KIND = 'gevent'\nBaseApplication({'bind': 'x', 'worker_class': KIND}).run()\n",
        "options = {'worker_class': os.environ.get('KIND', 'gevent')}\nBaseApplication(options)\n",
        "options = dict(bind='x')\noptions['worker_class'] = 'gevent'\nBaseApplication(options)\n",
        "from gunicorn.workers.ggevent import GeventWorker\n"
        "BaseApplication({'worker_class': GeventWorker}).run()\n",
    ],
)
def test_options_of_gunicorn_may_be_set_by_code(project, text):
    found = project({"serve.py": f"from gunicorn.app.base import BaseApplication\n{text}"})
    assert {"gunicorn in serve.py": ("yes", "by the server")} == judged(found)


@pytest.mark.parametrize("body", ["GeventWorker", "type('W', (GeventWorker,), {})"])
def test_a_settings_file_may_hold_the_class_itself(project, body):
    text = f"from gunicorn.workers.ggevent import GeventWorker\nworker_class = {body}\n"
    found = project({**APP, "gunicorn.conf.py": text, "Procfile": "a: gunicorn app.main:app\n"})
    assert ["yes"] == [process.runs_on_gevent for process in found.all()]


@pytest.mark.parametrize(
    ("body", "patched", "missing"),
    [
        ("super().patch()", "by the server", ()),
        ("GeventWorker.patch(self)", "by the server", ()),
        ("monkey.patch_all(thread=False)", "partial", ("threading",)),
        ("pass", "none", None),
    ],
)
def test_a_worker_class_may_patch_in_its_own_way(project, body, patched, missing):
    text = (
        "from gevent import monkey\nfrom gunicorn.workers.ggevent import GeventWorker\n"
        f"class Mine(GeventWorker):\n    def patch(self):\n        {body}\n"
    )
    files_ = {**APP, "app/worker.py": text}
    (process,) = project({**files_, "Procfile": "a: gunicorn -k app.worker.Mine app.main\n"}).all()
    assert ("yes", patched) == (process.runs_on_gevent, process.patched)
    assert missing is None or missing == process.missing


def test_a_class_in_the_settings_file_may_patch_in_its_own_way(project):
    text = (
        "from gevent import monkey\nfrom gunicorn.workers.ggevent import GeventWorker\n"
        "class Mine(GeventWorker):\n    def patch(self):\n        monkey.patch_all(os=False)\n"
        "worker_class = Mine\n"
    )
    found = project({**APP, "gunicorn.conf.py": text, "Procfile": "a: gunicorn app.main:app\n"})
    (process,) = found.all()
    assert ("yes", "partial", ("os",)) == (
        process.runs_on_gevent,
        process.patched,
        process.missing,
    )


@pytest.mark.parametrize(
    ("options", "patched"),
    [
        ("-P gevent", "by the server"),
        ("--pool gevent", "by the server"),
        ("--pool=gevent", "by the server"),
        ("-Pgevent", "none"),
    ],
)
def test_celery_looks_for_its_pool_before_it_reads_its_options(project, options, patched):
    found = project({**APP, "Procfile": f"a: celery -A app.main worker {options}\n"})
    assert {"celery app.main": ("yes", patched)} == judged(found)


@pytest.mark.parametrize(
    "command",
    [
        "celery multi start 3 -A app.main -P:1 gevent -c:1 10",
        "celery multi start a b -A app.main --pool:a,b=gevent",
        "/bin/sh -c '${BIN} -A $APP multi start $NODES $OPTIONS'",
    ],
)
def test_celery_multi_starts_workers(project, command):
    environment = "NODES=w1\nBIN=/usr/bin/celery\nAPP=app.main\nOPTIONS='-P gevent -c 8'\n"
    unit = f"[Service]\nEnvironmentFile=/etc/conf.d/workers\nExecStart={command}\n"
    found = project({**APP, "workers.service": unit, "conf.d/workers": environment})
    assert {"celery app.main": ("yes", "by the server")} == judged(found)


def test_a_script_that_calls_the_main_of_celery_is_a_worker(project):
    text = "from gevent import monkey\nmonkey.patch_all()\n"
    text += "from celery.bin.celery import main\nmain()\n"
    command = "python gcelery.py -A app.main worker --pool gevent"
    found = project({**APP, "gcelery.py": text, "Procfile": f"a: {command}\n"})
    (process,) = found.all()
    assert ("celery", "yes", "complete") == (process.kind, process.runs_on_gevent, process.patched)
    assert 4 == len(found.modules_of(process))


@pytest.mark.parametrize(
    ("code", "settings", "procfile", "expected"),
    [
        ("app.conf.worker_pool = 'gevent'", "", "", [("yes", "none")]),
        ("app.conf.update(worker_pool='prefork')", "worker_pool = 'gevent'", "", []),
        ("app.config_from_object('app.s')", "worker_pool = 'gevent'", "", [("yes", "none")]),
        ("app.conf.worker_pool = 'solo'", "", "", []),
        ("# app.conf.worker_pool = 'gevent'", "", "", []),
        ("app.conf.worker_pool = 'gevent'", "", "a: celery -A app.main worker", [("yes", "none")]),
        (
            "app.conf.worker_pool = 'gevent'",
            "",
            "a: celery -A app.main worker -P solo",
            [("no", "none")],
        ),
    ],
)
def test_celery_starts_by_its_setting_where_no_command_does(
    project, code, settings, procfile, expected
):
    files = {
        "app/__init__.py": "",
        "app/main.py": f"from celery import Celery\napp = Celery('app')\n{code}\n",
        "app/s.py": f"{settings}\n",
        "Procfile": f"{procfile}\n",
    }
    assert expected == [
        (process.runs_on_gevent, process.patched) for process in project(files).all()
    ]


def test_the_settings_of_celery_need_not_name_it(project):
    found = project(
        {
            **APP,
            "app/main.py": "import celery\napp.config_from_object('app.pools')\n",
            "app/pools.py": "worker_pool = 'gevent'\n",
            "Procfile": "a: celery -A app.main worker\n",
        }
    )
    assert {"celery app.main": ("yes", "none")} == judged(found)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("huey_consumer app.main.huey -k greenlet", "yes"),
        ("huey_consumer app.main.huey --worker-type=greenlet", "yes"),
        ("python -m huey.bin.huey_consumer app.main.huey -k greenlet", "yes"),
        ("huey_consumer app.main.huey -k thread", "no"),
    ],
)
def test_the_kind_of_worker_decides_in_huey(project, command, expected):
    found = project({**APP, "Procfile": f"a: {command}\n"})
    assert [expected] == [process.runs_on_gevent for process in found.all()]


@pytest.mark.parametrize(
    ("mode", "requirements", "expected"),
    [
        (", async_mode='gevent'", "", "yes"),
        (", async_mode=MODE", "", "yes"),
        (", async_mode='threading'", "gevent\n", "no"),
        ("", "gevent==24.2\ngevent-websocket\n", "yes"),
        ("", "gevent>=24\n", "yes"),
        ("", "gevent\neventlet\n", "no"),
        ("", "flask-socketio\n", "no"),
    ],
)
def test_socketio_takes_what_it_is_told_or_what_is_installed(project, mode, requirements, expected):
    text = "from flask_socketio import SocketIO\n"
    text += f"MODE = 'gevent'\nsocketio = SocketIO(app{mode})\nsocketio.run(app)\n"
    found = project(
        {"serve.py": text, "requirements.txt": requirements, "Procfile": "a: python serve.py\n"}
    )
    assert [expected] == [process.runs_on_gevent for process in found.all()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from flask_socketio import SocketIO\nSocketIO(app)\n", "yes"),
        ("from flask_socketio import SocketIO as S\nS(app)\n", "yes"),
        ("from flask_socketio import *\nsocketio = SocketIO()\n", "yes"),
        ("import flask_socketio\nflask_socketio.SocketIO(app)\n", "yes"),
        ("from flask.ext.socketio import SocketIO\nSocketIO(app)\n", "yes"),
        ("from own.again import SocketIO\nSocketIO(app)\n", "yes"),
        ("from own.derived import SocketIO\nSocketIO(app)\n", "yes"),
        ("from own import SocketIO\nSocketIO(app)\n", "no"),
        ("from own import SocketIO as flask_socketio\nflask_socketio(app)\n", "no"),
        ("class SocketIO(Base):\n    pass\n", "no"),
        ("class Base: ...\nclass SocketIO(Base): ...\nSocketIO()\n", "no"),
        ("from flask_socketio import SocketIO\ndef f(x: SocketIO): ...\n", "no"),
        ('"""\nfrom flask_socketio import SocketIO\nSocketIO(app)\n"""\n', "no"),
        ("def SocketIO(): ...\nSocketIO()\n", "no"),
        ("from bottle_websocket import GeventWebSocketServer as G\nrun(server=G)\n", "yes"),
        ("from bottle.ext import websocket\nrun(server=websocket.GeventWebSocketServer)", "yes"),
        ("class GeventWebSocketServer(ServerAdapter): ...\n", "no"),
        ('"""Like\nimport gevent\n"""\n', "no"),
        ("import gevent\n", "yes"),
        ('"""Like gevent."""\nimport gevent\n', "yes"),
        ('"""\nfrom locust import User\nclass A(User): ...\n"""\n', "no"),
    ],
)
def test_names_of_gevent_come_from_an_import(project, text, expected):
    files = {
        "serve.py": text,
        "own/__init__.py": "class Base: ...\nclass SocketIO(Base): ...\n",
        "own/again.py": "from flask_socketio import SocketIO\n",
        "own/derived.py": "import flask_socketio\nclass SocketIO(flask_socketio.SocketIO): ...\n",
        "requirements.txt": "gevent\ngevent-websocket\n",
        "Procfile": "a: python serve.py\n",
    }
    assert [expected] == [process.runs_on_gevent for process in project(files).all()]


def test_what_code_starts_is_a_process(project):
    text = "import os\nos.execvp('gunicorn', ['gunicorn', '-k', 'gevent', 'app.main:app'])\n"
    found = project({**APP, "start.py": text})
    (process,) = found.all()
    assert [("start.py", 2)] == [(Path(e.path).name, e.row) for e in process.evidence]
    assert ("yes", 3) == (process.runs_on_gevent, len(found.modules_of(process)))


def test_a_worker_that_a_script_becomes_is_not_patched_by_celery(project):
    text = "from app.main import app\napp.worker_main(['worker', '--pool=gevent'])\n"
    found = project({**APP, "work.py": text})
    assert {"celery in work.py": ("yes", "none")} == judged(found)


def test_the_command_looks_at_the_directory_in_which_it_runs(tmp_path, monkeypatch, capsys):
    from gblock.cli import main

    (tmp_path / "Procfile").write_text("web: gunicorn -k gevent app:application\n")
    (tmp_path / "app.py").write_text("application = None\n")
    monkeypatch.chdir(tmp_path)

    assert 0 == main(["processes"])
    assert "gunicorn" in capsys.readouterr().out


# -- one deployment, in the ways in which people write it

SPELLINGS = tomli.loads((SHOP.parent / "spellings.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", [pytest.param(one, id=one["name"]) for one in SPELLINGS])
def test_what_a_deployment_starts_is_found_however_it_is_written(tree, blockers, case):
    root = tree(case["files"])
    processes = processes_of(root, blockers)

    assert case["processes"] == [
        [
            process.name,
            process.runs_on_gevent,
            [str(Path(path).relative_to(root)) for path in sorted(processes.modules_of(process))],
        ]
        for process in processes.all()
    ]
    assert [] == processes.notes


# -- commands that do their work and end

_SOCKETS = 'from flask_socketio import SocketIO\nsocketio = SocketIO(async_mode="gevent")\n'
_SPAWNING = "import gevent\n\ndef warm(): gevent.spawn(print)\n"
_PATCHING = "from gevent import monkey; monkey.patch_all()\n"


@pytest.mark.parametrize(
    ("command", "code", "expected"),
    [
        ("flask --app api db upgrade head", _SOCKETS, "no"),
        ("flask -A api db upgrade", _SOCKETS + _SPAWNING, "no"),
        ("flask --app=api db migrate", _PATCHING, "no"),
        ("FLASK_APP=api flask db upgrade", _SOCKETS, "no"),
        ("python -m flask --app api db upgrade", _SOCKETS, "no"),
        ("flask --env-file .env --app api routes", _SOCKETS, "no"),
        ("flask --app api seed", _SOCKETS, "no"),
        ("flask --app api seed", "import gevent\n", "no"),
        ("flask --app api seed", _SPAWNING, "yes"),
        ("flask --app api serve", _SOCKETS + "def serve(): socketio.run(None)\n", "yes"),
        ("flask --app api serve", _PATCHING, "yes"),
        ("flask --app api run", _SOCKETS, "yes"),
        ("FLASK_APP=api flask run --port 80", _SOCKETS, "yes"),
        ("celery -A api inspect ping", _PATCHING, "no"),
        ("celery -A api status", _PATCHING, "no"),
        ("celery -A api control shutdown", _PATCHING, "no"),
        ("celery -A api purge -f", _PATCHING, "no"),
        ("celery -A api worker -P threads", _PATCHING, "yes"),
        ("python manage.py migrate", _SOCKETS, "no"),
        ("python manage.py migrate", _SPAWNING, "yes"),
    ],
)
def test_a_command_that_ends_serves_no_hub(project, command, code, expected):
    manage = "import api\nfrom django.core.management import execute_from_command_line\n"
    files = {"api.py": code, "migrate.sh": f"#!/bin/sh\n{command}\n", ".env": ""}
    if "manage.py" in command:
        files["manage.py"] = manage
    found = project({**files, "Procfile": "web: gunicorn -k gevent wsgi:app\n"})
    (process,) = {p for p in found.all() if any("migrate.sh" in e.path for e in p.evidence)}

    assert expected == process.runs_on_gevent
    assert "--" not in process.name


@pytest.mark.parametrize(
    ("command", "kind", "gevent"),
    [
        ("talisker.gunicorn.gevent app.main:app --worker-class gevent", "gunicorn", "yes"),
        ("talisker.gunicorn app.main:app -k gevent", "gunicorn", "yes"),
        ("talisker app.main:app", "gunicorn", "no"),
        ("exec talisker.gunicorn.gevent app.main:app --bind $1 -k gevent", "gunicorn", "yes"),
        ("talisker.celery worker -A app.main -P gevent", "celery", "yes"),
        ("gunicorn3 -k gevent app.main:app", "gunicorn", "yes"),
        ("/usr/bin/gunicorn3 app.main:app", "gunicorn", "no"),
        ("pyuwsgi --gevent 100 --module app.main", "uwsgi", "yes"),
        ("newrelic-admin run-program gunicorn -k gevent app.main:app", "gunicorn", "yes"),
        ("ddtrace-run gunicorn -k gevent app.main:app", "gunicorn", "yes"),
        ("opentelemetry-instrument gunicorn -k gevent app.main:app", "gunicorn", "yes"),
        ("python -m gunicorn.app.wsgiapp -k gevent app.main:app", "gunicorn", "yes"),
    ],
)
def test_a_server_under_another_name(project, command, kind, gevent):
    found = project({**APP, "run.sh": f"#!/bin/sh\n{command}\n"})
    (process,) = (p for p in found.all() if any("run.sh" in e.path for e in p.evidence))

    assert (kind, gevent) == (process.kind, process.runs_on_gevent)
    assert any(path.endswith("app/main.py") for path in process.entries)


@pytest.mark.parametrize(
    ("start", "gevent"),
    [
        ("", "no"),
        ("EventPool(5).map(print, [1])\n", "yes"),
        ("gevent.spawn(print)\n", "yes"),
        ('print("gevent.spawn() starts one")  # not a Pool\n', "no"),
    ],
)
def test_a_program_of_a_large_project_that_only_sleeps_with_gevent_has_no_greenlets(
    tmp_path, blockers, start, gevent
):
    (tmp_path / "Procfile").write_text("job: python job.py\n")
    (tmp_path / "job.py").write_text(
        "import gevent\nimport gevent.pool\nimport signal\n\n"
        "class EventPool(gevent.pool.Pool):\n    pass\n\n"
        f"for _ in range(3):\n    gevent.sleep(1)\n{start}"
    )
    for number in range(20):
        (tmp_path / f"part{number}.py").write_text("")
    assert named(processes_of(tmp_path, blockers), "python job.py").runs_on_gevent == gevent


THROUGH = {
    "pyproject.toml": "[project]\nname = 'shop'\n[project.scripts]\nshop = 'shop.cli:main'\n",
    "shop/__init__.py": "",
    "shop/green.py": "import gevent.monkey\ndef patch():\n    gevent.monkey.patch_all()\n",
    "shop/web.py": "from shop.green import patch\ndef serve(port=0):\n    patch()\n",
    "shop/cli.py": "from shop.web import serve\ndef main():\n    serve()\n",
}
"""A console script whose function patches by way of two others."""


@pytest.mark.parametrize(
    ("files", "gevent"),
    [
        ({}, "yes"),
        (
            {
                "shop/cli.py": "import click\nfrom shop.web import serve\n"
                "@click.command()\ndef main():\n"
                "    try:\n        serve()\n    finally:\n        print()\n"
            },
            "yes",
        ),
        ({"pyproject.toml": "[tool.poetry.scripts]\nshop = 'shop.cli:main'\n"}, "yes"),
        (
            {
                "pyproject.toml": "",
                "setup.py": "from setuptools import setup\n"
                "setup(entry_points={'console_scripts': ['shop = shop.cli:main']})\n",
            },
            "yes",
        ),
        (
            {
                "shop/middle.py": "from shop import web\ndef begin():\n    web.serve()\n",
                "shop/cli.py": "from shop.middle import begin\ndef main():\n    begin()\n",
            },
            "yes",
        ),
        # another command of the file patches
        (
            {
                "shop/cli.py": "from shop.web import serve\ndef run():\n    serve()\n"
                "def main():\n    print()\n"
            },
            "unknown",
        ),
        # a condition decides
        (
            {
                "shop/web.py": "from shop.green import patch\ndef serve(port=0):\n"
                "    if port:\n        patch()\n"
            },
            "unknown",
        ),
        ({"shop/cli.py": "def main():\n    print()\n"}, "no"),
    ],
)
def test_a_console_script_patches_by_way_of_functions(project, files, gevent):
    found = [p for p in project({**THROUGH, **files}).all() if p.kind == "console script"]

    assert [gevent] == [process.runs_on_gevent for process in found]


TEMPLATED = {
    "a value": ("worker_class = 'gevent'\n", "gevent"),
    "of Jinja": ("{% if LOG %}\nx = 1\n{% endif %}\nworker_class = '{{ KIND }}'\n", "gevent"),
    "with a default": ("worker_class = '{{ OTHER | default(\"gevent\") }}'\n", "gevent"),
    "of a shell": ('worker_class = "$KIND"\n', "gevent"),
    "of a shell with a default": ('worker_class = "${OTHER:-gevent}"\n', "gevent"),
    "another": ("worker_class = 'sync'\n", "sync"),
    "a variable that nothing sets": ("worker_class = '{{ OTHER }}'\n", ""),
    "none": ("bind = '{{ BIND }}'\n", ""),
}


@pytest.mark.parametrize(("text", "kind"), TEMPLATED.values(), ids=TEMPLATED)
@pytest.mark.parametrize("ending", [".j2", ".template", ".tmpl"])
def test_settings_of_gunicorn_may_be_a_template(project, ending, text, kind):
    files = {
        "Dockerfile": "FROM python\nENV KIND=gevent\n"
        "CMD gunicorn --config /etc/shop/gunicorn.conf shop:app\n",
        "requirements.txt": "gevent\n",
        f"conf/gunicorn.conf{ending}": text,
        "shop.py": "app = print\n",
    }
    (one,) = [x for x in project(files).all() if x.kind == "gunicorn"]
    expected = {
        "gevent": ("yes", f"worker class gevent in gunicorn.conf{ending}"),
        "sync": ("no", f"worker class sync in gunicorn.conf{ending}"),
    }
    assert (one.runs_on_gevent, one.why) == expected.get(
        kind, ("unknown", "its settings stand elsewhere")
    )


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("app.run()\n# WSGIServer(('', 80), app).serve_forever()\n", "no"),
        ("WSGIServer(('', 80), app).serve_forever()\n# app.run()\n", "yes"),
        ("app.run()\n", "yes"),
    ],
    ids=["commented out", "used", "not mentioned"],
)
def test_a_server_that_is_commented_out_leaves_no_process_on_gevent(project, script, expected):
    text = (
        f"from gevent.pywsgi import WSGIServer\nfrom flask import Flask\napp = Flask('')\n{script}"
    )
    (process,) = project({"Procfile": "web: python web.py\n", "web.py": text}).all()
    assert expected == process.runs_on_gevent


@pytest.mark.parametrize(
    ("variable", "copy", "expected"),
    [
        ("GUNICORN_WORKER_CLASS=gevent", "locals()[key.lower()] = value", "yes"),
        ("GUNICORN_WORKER_CLASS=gthread", "locals()[key.lower()] = value", "no"),
        ("GUNICORN_WORKERS=2", "locals()[key.lower()] = value", "no"),
        ("WORKER_CLASS=gevent", "locals()[key.lower()] = value", "no"),
        ("GUNICORN_WORKER_CLASS=gevent", "globals().update({key.lower(): value})", "yes"),
        ("GUNICORN_WORKER_CLASS=gevent", "print(key, value)", "no"),
    ],
)
def test_gunicorn_s_settings_may_copy_the_environment(project, variable, copy, expected):
    processes = project(
        {
            "Dockerfile": f"FROM python\nENV {variable}\nCMD gunicorn -c conf.py shop:app\n",
            "conf.py": f"""\
                import os

                for name, value in os.environ.items():
                    if name.startswith("GUNICORN_"):
                        key = name.removeprefix("GUNICORN_")
                        {copy}
                """,
            "shop.py": "app = None\n",
        }
    )
    (process,) = processes.all()
    assert expected == process.runs_on_gevent


@pytest.mark.parametrize(
    ("statement", "is_program"),
    [
        ("names = sys.argv[1:]", True),
        ("options = parser.parse_args()", True),
        ('TESTING = "test" in sys.argv', False),
        ('TESTING = sys.argv[1:2] == ["test"]', False),
        ("def main():\n    names = sys.argv[1:]", False),
        ("# names = sys.argv[1:]", False),
    ],
)
def test_what_takes_words_of_the_command_line_is_a_program(project, statement, is_program):
    files = {
        "Procfile": "web: gunicorn -k gevent shop:app\n",
        "shop.py": "app = None\n",
        "tool.py": f"import sys\n{statement}\n",
    }
    found = {one.name: one.runs_on_gevent for one in project(files).all()}
    assert is_program == ("python tool.py" in found)
    files["other.py"] = "import tool\n"
    assert "python tool.py" not in {one.name for one in project(files).all()}


# -- libraries on gevent


HUBS = {name: one.hub for name, one in CATALOG.imports.items() if one.hub}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in HUBS.items() for name in names]
)
def test_a_library_on_gevent_makes_a_process_run_on_gevent(project, module, name):
    text = f"from {module} import {name}\nserver = {name}()\nserver.run()\n"
    (process,) = project({"serve.py": text, "Procfile": "rpc: python serve.py"}).all()
    assert ("yes", True) == (process.runs_on_gevent, process.is_deployed)


@pytest.mark.parametrize("module", HUBS)
def test_a_name_of_a_library_on_gevent_that_starts_nothing_is_no_evidence(project, module):
    text = f"from {module} import Other\nclient = Other()\nclient.go()\n"
    (process,) = project({"serve.py": text, "Procfile": "rpc: python serve.py"}).all()
    assert "gevent" in module or "no" == process.runs_on_gevent


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("import gevent\ntry: go()\nexcept gevent.Timeout: pass\n", "no"),
        ("import gevent.timeout\nwith gevent.timeout.Timeout(1): go()\n", "no"),
        ("from gevent import Timeout, GreenletExit  # limits\nwith Timeout(1): go()\n", "no"),
        ("from gevent.timeout import Timeout\nwith Timeout(1): go()\n", "no"),
        ("from gevent import Timeout, sleep\nsleep(1)\n", "yes"),
        ("import gevent\nwith gevent.Timeout(1): gevent.sleep(2)\n", "yes"),
        ("import gevent as g\ng.spawn(go)\n", "yes"),
    ],
)
def test_a_timeout_alone_is_no_evidence_of_greenlets(project, text, runs):
    (process,) = project({"serve.py": text, "Procfile": "a: python serve.py"}).all()
    assert runs == process.runs_on_gevent


@pytest.mark.parametrize(
    ("command", "runs"),
    [("uwsgi --http :80 --threads 4 --wsgi-file app.py", "no"), ("python app.py", "yes")],
)
def test_a_server_without_greenlets_runs_none_that_the_code_never_starts(project, command, runs):
    text = "import gevent\ndef application(environ, respond): gevent.sleep(1)\n"
    (process,) = project({"app.py": text, "Procfile": f"web: {command}"}).all()
    assert runs == process.runs_on_gevent


# -- gunicorn behind a script, and settings of PasteDeploy in several files


PASTED = {
    "gunicorn.conf.py": "worker_class = 'gevent'\n",
    "setup.py": "from setuptools import setup\n"
    "setup(name='maps', entry_points={'paste.app_factory': ['main = maps:main']})\n",
    "maps/__init__.py": "def main(settings): ...\n",
}


@pytest.mark.parametrize(
    "serve",
    [
        "from gunicorn.app.wsgiapp import WSGIApplication\nWSGIApplication('%(prog)s').run()\n",
        "from gunicorn.app import wsgiapp\nwsgiapp.run()\n",
        "from gunicorn.app.wsgiapp import run\nrun()\n",
    ],
)
@pytest.mark.parametrize("application", ["maps:main", "--paste production.ini"])
def test_a_script_that_runs_gunicorn_passes_its_arguments_on(project, serve, application):
    files = {
        "serve.py": f"from gevent import monkey\nmonkey.patch_all()\n{serve}",
        "production.ini": "[app:main]\nuse = egg:maps\n",
        "Procfile": f"web: python serve.py -c gunicorn.conf.py {application}\n",
    }
    processes = project(PASTED | files)
    (process,) = [one for one in processes.all() if one.name == "python serve.py"]
    assert ("gunicorn", "yes") == (process.kind, process.runs_on_gevent)
    assert any(path.endswith("maps/__init__.py") for path in processes.modules_of(process))


@pytest.mark.parametrize(
    ("files", "is_known"),
    [
        ({"production.ini": "[app:main]\nuse = egg:maps\n"}, True),
        ({"conf/production.ini.in": "[app:main]\nuse = egg:maps\n"}, True),
        (
            {
                "production.ini": "[app:main]\nuse = config:conf/base.ini\n",
                "conf/base.ini.tmpl": "[app:main]\nuse = egg:maps\n",
            },
            True,
        ),
        ({"production.ini": "[app:main]\nuse = config:production.ini\n"}, False),
        ({"production.ini": "[app:main]\nuse = config:other.ini\n"}, False),
    ],
)
def test_settings_of_pastedeploy_lead_to_the_application(project, files, is_known):
    command = {"Procfile": "web: gunicorn -c gunicorn.conf.py --paste production.ini\n"}
    processes = project(PASTED | files | command)
    (process,) = [one for one in processes.all() if one.kind == "gunicorn"]
    found = processes.modules_of(process)
    assert is_known == any(path.endswith("maps/__init__.py") for path in found)


# -- old code


OLD = {
    "app.py": "def app(environ, respond): ...\n",
    "legacy/2023/gunicorn.conf.py": "worker_class = 'gevent'\n",
    "legacy/2023/app.py": "from gevent import monkey\nmonkey.patch_all()\n",
}


@pytest.mark.parametrize(
    ("files", "is_deployed"),
    [
        ({"Procfile": "web: gunicorn -k sync app:app\n"}, False),
        ({"Procfile": "web: gunicorn -c legacy/2023/gunicorn.conf.py app:app\n"}, True),
        ({"Procfile": "web: gunicorn -k sync app:app\nold: python legacy/2023/app.py\n"}, True),
        ({}, True),  # nothing else starts anything
    ],
)
def test_a_copy_in_a_directory_for_old_code_is_not_deployed(project, files, is_deployed):
    found = [one for one in project(OLD | files).all() if one.runs_on_gevent == "yes"]
    assert is_deployed == any(one.is_deployed for one in found)


def test_what_socketio_serves_without_a_word_of_gevent_is_checked(tree):
    root = tree(
        {
            "serve.py": "import requests\nfrom flask import Flask\n"
            "from flask_socketio import SocketIO\napp = Flask(__name__)\nio = SocketIO(app)\n"
            "@app.route('/')\ndef get():\n    return requests.get('http://shop').text\n"
            "if __name__ == '__main__':\n    io.run(app)\n",
            "requirements.txt": "flask-socketio\ngevent\n",
            "Dockerfile": 'FROM python:3.12\nCMD ["python", "serve.py"]\n',
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [one.code for one in check([str(root)], config).diagnostics]
    assert ["missing-monkey-patch", "unpatched-call"] == found


@pytest.mark.parametrize("runner", ["parallel --jobs 3 :::", "concurrently", "multirun"])
def test_a_program_that_is_given_several_commands(project, runner):
    found = project(
        {
            "run.sh": f'{runner} "celery -A jobs beat" "gunicorn -k gevent shop:app" "nginx"\n',
            "jobs.py": "from celery import Celery\napp = Celery('jobs')\n",
            "shop.py": "def app(environ, start): return []\n",
        }
    )
    assert {"gunicorn shop:app": "yes", "celery beat jobs": "no"} == {
        process.name: process.runs_on_gevent for process in found.all()
    }
