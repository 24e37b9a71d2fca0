"""Several programs in one repository: which of them runs a call, and which runs on gevent."""

from __future__ import annotations

import os
import textwrap

import pytest
from harness import check

from gblock import engine
from gblock.config import Config

GREEN = """
    from gevent import monkey; monkey.patch_all()
    from gevent.pywsgi import WSGIServer
    from parts import store

    def application(environ, start_response):
        return [store.NAME]

    if __name__ == "__main__":
        WSGIServer(("", 80), application).serve_forever()
    """
STORE = """
    import os
    NAME = b"parts"

    def save(): os.system("sync")
    """
SITE = {
    "site_/__init__.py": "",
    "site_/settings.py": 'ROOT_URLCONF = "site_.urls"',
    "site_/urls.py": """
        from django.urls import path
        from site_ import views
        urlpatterns = [path("save/", views.save)]
        """,
    "site_/views.py": """
        from parts import store

        def save(request): return store.save()
        """,
    "site_/wsgi.py": """
        import os
        from django.core.wsgi import get_wsgi_application
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_.settings")
        application = get_wsgi_application()
        """,
    "site_/asgi.py": """
        import os
        from django.core.asgi import get_asgi_application
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_.settings")
        application = get_asgi_application()
        """,
    "parts/__init__.py": "",
    "parts/store.py": STORE,
}


@pytest.fixture
def project(tree):
    """Write a project; the files' texts are dedented."""
    return lambda files: tree({name: textwrap.dedent(text) for name, text in files.items()})


def contexts(root):
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config, min_severity="note", all_contexts=True).diagnostics
    return [(one.code, one.context) for one in found]


def processes(root):
    found = engine.processes(str(root), Config(root=str(root))).all()
    return {one.name: (one.kind, one.runs_on_gevent) for one in found}


@pytest.mark.parametrize(
    ("web", "context"), [("gunicorn", "other-process"), ("gunicorn -k gevent", "request")]
)
@pytest.mark.parametrize(
    "beside", ["hub: python hub.py", "tasks: celery -A tasks worker -P gevent"]
)
def test_a_request_runs_in_the_program_that_serves_it(project, web, context, beside):
    root = project(
        {
            **SITE,
            "hub.py": GREEN if "hub" in beside else "",
            "tasks.py": "import celery\nfrom parts import store\napp = celery.Celery('tasks')\n",
            "load.py": "from locust import HttpUser\nclass User(HttpUser): pass\n",
            "Procfile": f"{beside}\nweb: {web} site_.wsgi\n",
        }
    )
    assert [("blocking-call", context)] == contexts(root)


def test_a_way_through_another_process_does_not_count_for_the_one_that_never_patches(project):
    root = project(
        {
            "hub.py": """
                import gevent
                from parts import store
                gevent.sleep(1)
                """,
            "web.py": """
                from parts import store

                def app(environ, start_response): store.save()
                """,
            "parts/__init__.py": "",
            "parts/store.py": "import time\n\ndef save(): time.sleep(1)\n",
            "Procfile": "web: gunicorn -k gevent web:app\nhub: python hub.py\n",
        }
    )
    found = [one for one in contexts(root) if one[0] == "unpatched-call"]
    assert {("unpatched-call", "other-process")} >= set(found)


@pytest.mark.parametrize(
    ("line", "gevent"),
    [
        ('# such as {"class": "planner.engines.Engine"}', "no"),
        ('ENGINE = {"class": "planner.engines.Engine"}', "no"),
        ("import planner.engines", "yes"),
        ('import importlib\nENGINE = importlib.import_module("planner.engines")', "yes"),
    ],
)
def test_a_string_that_names_another_program_is_data(project, line, gevent):
    root = project(
        {
            "planner/__init__.py": "from gevent import monkey\nmonkey.patch_all()\n",
            "planner/engines.py": "class Engine: pass\n",
            "ledger/__init__.py": "",
            "ledger/tasks.py": f"import celery\napp = celery.Celery('x')\n{line}\n",
            "Procfile": "worker: celery -A ledger.tasks worker -P threads\n",
        }
    )
    assert {"celery ledger.tasks": ("celery", gevent)} == {
        name: found for name, found in processes(root).items() if name.startswith("celery")
    }


def test_a_package_of_the_same_name_in_another_program_is_another_one(project):
    root = project(
        {
            "front/main.py": "import gevent\nfrom shop import settings\n",
            "front/shop/__init__.py": "",
            "front/shop/settings.py": 'ALERTS = ["shop.plugins.Mail"]\n',
            "back/shop/__init__.py": "",
            "back/shop/plugins.py": "import time\nclass Mail:\n    def send(self): time.sleep(1)\n",
            "Procfile": "front: python front/main.py\n",
        }
    )
    found = engine.processes(str(root), Config(root=str(root)))
    (main,) = [one for one in found.all() if one.name == "python front/main.py"]
    assert not [path for path in found.modules_of(main) if "back" in path]


@pytest.mark.parametrize(
    "line",
    [
        'exec `tmux send "gunicorn -k gevent web:app" ENTER`',
        "pid=$(gunicorn -k gevent web:app & echo $!)",
        'echo "started $(gunicorn -k gevent web:app)"',
    ],
)
def test_a_command_substitution_starts_a_process(project, line):
    root = project({"web.py": "def app(e, s): pass\n", "start.sh": f"#!/bin/sh\n{line}\n"})
    assert ("gunicorn", "yes") == processes(root)["gunicorn web:app"]


@pytest.mark.parametrize(
    "line", ["# `gunicorn -k gevent web:app`", "kill $(pgrep gunicorn)", "X=$(which gunicorn)"]
)
def test_what_only_looks_for_a_program_starts_none(project, line):
    root = project({"web.py": "def app(e, s): pass\n", "start.sh": f"#!/bin/sh\n{line}\n"})
    assert not [name for name in processes(root) if name.startswith("gunicorn")]


def test_an_attribute_may_hold_the_command(project):
    root = project(
        {
            "serve.py": """
                import os, subprocess

                class Service:
                    def __init__(self):
                        self._worker = os.environ.get("WORKER", "gevent")
                        self._command = None
                        self._command = "gunicorn -k {} web:app".format(self._worker)

                    def start(self):
                        subprocess.Popen(self._command.split())
                """,
            "web.py": "def app(e, s): pass\n",
        }
    )
    assert ("gunicorn", "yes") == processes(root)["gunicorn web:app"]


@pytest.mark.parametrize("runner", ["pytest.main()", "unittest.main()", "pytest.console_main()"])
def test_a_script_that_runs_tests_is_no_service(project, runner):
    root = project(
        {
            "runtests": f"""\
                #!/usr/bin/env python
                from gevent import monkey
                monkey.patch_all()
                if __name__ == "__main__":
                    {runner}
                """,
            "check.py": f"""
                from gevent import monkey
                monkey.patch_all()
                if __name__ == "__main__":
                    {runner}
                """,
        }
    )
    assert {"tests"} == {kind for kind, _ in processes(root).values()}


@pytest.mark.parametrize(("opening", "ending"), [("(", ")"), ("[", "]")])
def test_only_scripts_of_the_console_start_processes(project, opening, ending):
    root = project(
        {
            "setup.py": f"""
                setup(entry_points={{
                    "console_scripts": {opening}"fleet=fleet.main:main"{ending},
                    "fleet.connectors": ["local = fleet.local:Connector"],
                }})
                """,
            "fleet/__init__.py": "from gevent import monkey\nmonkey.patch_all()\n",
            "fleet/main.py": "def main(): pass\n",
            "fleet/local.py": "class Connector: pass\n",
        }
    )
    assert ["fleet"] == list(processes(root))


@pytest.mark.parametrize("written", ['__name__ + ".green:run"', 'f"{__name__}.green"'])
def test_a_module_may_be_named_by_its_package(project, written):
    root = project(
        {
            "main.py": "import jobs\nif __name__ == '__main__': jobs.run()\n",
            "jobs/__init__.py": f"WHERE = {written}\n",
            "jobs/green.py": "from gevent import monkey\nmonkey.patch_all()\ndef run(): pass\n",
        }
    )
    assert {"python main.py": ("script", "yes")} == processes(root)


def test_what_only_tests_import_belongs_to_them(project):
    root = project(
        {
            "web.py": "def app(e, s): pass\n",
            "shop/__init__.py": "",
            "shop/factories.py": """
                import os
                import factory

                def make(): os.system("sync")

                class Customers(factory.Factory):
                    name = factory.LazyAttribute(lambda one: os.system("sync"))
                """,
            "tests/test_shop.py": "from shop.factories import Customers\n",
            "Procfile": "web: gunicorn -k gevent web:app\n",
        }
    )
    assert {("blocking-call", "test")} == set(contexts(root))


@pytest.mark.parametrize("where", ["request", "startup"])
def test_what_starts_greenlets_that_block_counts_at_start_up_too(project, where):
    call = "OTLPSpanExporter(endpoint='x')"
    root = project(
        {
            "web.py": f"""
                from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

                {call if where == "startup" else ""}

                def app(environ, start_response):
                    {call if where == "request" else "pass"}
                """,
            "Procfile": "web: gunicorn -k gevent web:app\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    (one,) = check([str(root)], config).diagnostics
    assert ("blocking-call", where) == (one.code, one.context)


@pytest.mark.parametrize(
    "name",
    [
        "setup.py",
        "asgi.py",
        "docs/conf.py",
        "extra/__init__.py",
        "ledger/kit/database.py",
        "integration_tests/stock.py",
    ],
)
def test_what_runs_no_service_makes_no_program_uncertain(project, name):
    root = project(
        {
            "hub.py": "from gevent import monkey; monkey.patch_all()\n",
            "ledger/__init__.py": "from ledger import work\n",
            "ledger/work.py": "import os\n\ndef save(): os.system('sync')\n",
            "web.py": "import ledger\n\ndef app(environ, start_response): pass\n",
            name: {
                "extra/__init__.py": "",
                "ledger/kit/database.py": "import pytest, ledger\n",
            }.get(name, "import ledger\n"),
            "Procfile": "hub: python hub.py\nweb: gunicorn web:app\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    assert () == check([str(root)], config).diagnostics


@pytest.mark.parametrize("base", ["BaseApplication", "Application", "WSGIApplication"])
def test_an_application_of_gunicorn_without_a_worker_class_has_sync_workers(project, base):
    root = project(
        {
            **SITE,
            "hub.py": GREEN,
            "serve.py": f"""
                from gunicorn.app.base import {base}
                from site_ import wsgi

                class Server({base}):
                    def load(self): return wsgi.application

                if __name__ == "__main__":
                    Server().run()
                """,
            "Procfile": "web: python serve.py\nhub: python hub.py\n",
        }
    )
    assert [("blocking-call", "other-process")] == contexts(root)
    assert ("gunicorn", "no") in processes(root).values()


@pytest.mark.parametrize(
    "text",
    [
        "import bottle\nif __name__ == '__main__':\n    bottle.run(app, server='gevent')\n",
        "import connexion\napp = connexion.App('x', server='gevent')\n"
        "if __name__ == '__main__':\n    app.run()\n",
    ],
)
def test_a_framework_may_run_its_own_server_on_gevent(project, text):
    assert {"python web.py": ("script", "yes")} == processes(project({"web.py": text}))


@pytest.mark.parametrize("worker", ["", "-k gevent"])
def test_applications_of_one_word_are_imported(project, worker):
    root = project(
        {
            "site_/__init__.py": "",
            "site_/settings.py": 'INSTALLED_APPS = ["django.contrib.auth", "orders"]',
            "site_/wsgi.py": SITE["site_/wsgi.py"],
            "orders/__init__.py": "",
            "orders/apps.py": "from orders import jobs\n",
            "orders/jobs.py": "import os\n\ndef save(): os.system('sync')\n",
            "hub.py": "from gevent import monkey; monkey.patch_all()\n",
            "Procfile": f"web: gunicorn {worker} site_.wsgi\nhub: python hub.py\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    assert bool(worker) == bool(check([str(root)], config).diagnostics)


def test_a_container_may_start_inside_of_a_package(project):
    root = project(
        {
            "docker/service/__init__.py": "",
            "docker/service/app_service.py": """
                from ports import lock

                def app(environ, start_response): lock()
                """,
            "docker/service/ports.py": "import os\n\ndef lock(): os.system('sync')\n",
            "Procfile": "web: gunicorn -k gevent --chdir /service app_service:app\n",
        }
    )
    assert [("blocking-call", "request")] == contexts(root)


def test_a_late_patch_and_the_names_it_leaves_behind_are_one_cause(project):
    root = project(
        {
            "main.py": """
                from clock import sleep
                from gevent import monkey
                monkey.patch_all()
                import gevent
                gevent.spawn(sleep, 1).join()
                """,
            "clock.py": "from time import sleep\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics
    assert {"late-monkey-patch", "captured-before-patch"} <= {one.code for one in found}
    assert 1 == len({one.cause for one in found if "patch" in one.code})


# -- programs whose modules have the same names

PROGRAM = {
    "manage.py": """
        import os
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
        from django.core.management import execute_from_command_line
        execute_from_command_line()
        """,
    "settings.py": "from conf.default import *",
    "conf/__init__.py": "",
    "conf/default.py": 'ROOT_URLCONF = "urls"',
    "urls.py": """
        from django.urls import path
        from accounts.views import index
        urlpatterns = [path("", index)]
        """,
    "accounts/__init__.py": "",
    "accounts/views.py": "from conf import default\ndef index(request): ...",
    "wsgi.py": """
        import os
        from django.core.wsgi import get_wsgi_application
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
        application = get_wsgi_application()
        """,
    "work.py": """
        import os
        from celery import Celery
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
        import django
        django.setup()
        app = Celery()
        """,
}
SUPERVISED = "[program:{0}]\ncommand={1}\ndirectory=/opt/shop/{0}\n"
OWN = "environment=DJANGO_SETTINGS_MODULE=settings\n"


@pytest.mark.parametrize("init", [(), ("login",), ("login", "engine")], ids=str)
@pytest.mark.parametrize(
    "start",
    {
        "{0}.ini": SUPERVISED.format("{0}", "gunicorn wsgi -k gevent"),
        "settings.ini": SUPERVISED.format("{0}", "gunicorn wsgi -k gevent") + OWN,
        "bare.ini": SUPERVISED.format("{0}", "gunicorn wsgi -k gevent") + OWN,
        "celery.ini": SUPERVISED.format("{0}", "celery -A work worker -P gevent"),
        "uwsgi.ini": "[uwsgi]\nchdir=/opt/shop/{0}\nmodule=wsgi\ngevent=100\n",
        "chdir.sh": "#!/bin/sh\ngunicorn --chdir {0} -k gevent wsgi\n",
        "cd.sh": "#!/bin/sh\ncd {0}\nexec gunicorn -k gevent wsgi\n",
        "workdir.sh": "#!/bin/sh\ncelery --workdir {0} -A work worker -P gevent\n",
        "manage.sh": "#!/bin/sh\ncd {0} && python manage.py runserver\n",
    }.items(),
    ids=lambda one: one[0],
)
def test_each_program_runs_the_modules_of_its_own_directory(project, start, init):
    name, text = start
    files = {"tools.py": "import login, engine"}  # someone names the directories, as packages
    for program in ("login", "engine"):
        files |= {f"{program}/{path}": code for path, code in PROGRAM.items()}
        files[f"{program}_{name.format('run')}"] = text.format(program)
        if name == "bare.ini":  # only the environment names the settings
            files[f"{program}/wsgi.py"] = "import django\nfrom web import application"
            files[f"{program}/web.py"] = "import django\napplication = None"
    files |= {f"{program}/__init__.py": "" for program in init}
    root = project(files)
    found = engine.processes(str(root), Config(root=str(root)))

    for program, other in (("login", "engine"), ("engine", "login")):
        started = [p for p in found.all() if any(program in one.path for one in p.evidence)]
        assert started
        for process in started:
            reached = {os.path.relpath(path, root) for path in found.modules_of(process)}
            assert not {path for path in reached if path.startswith(other)}
            assert {f"{program}/conf/default.py", f"{program}/accounts/views.py"} <= reached


# -- what starts threads before the patch

EXPORTER = """
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    {}
    def application(environ, start_response): return []
    """
NOW = "exporter = BatchSpanProcessor(OTLPSpanExporter())"
IN_FUNCTION = "def begin(): return BatchSpanProcessor(OTLPSpanExporter())\n    begin()"
OWN_GUNICORN = """
    from gunicorn.app.base import BaseApplication
    from app import application

    class Own(BaseApplication):
        def load_config(self): self.cfg.set("worker_class", "gevent")
        def load(self): return application

    if __name__ == "__main__":
        Own().run()
    """
SERVE = """
    {}
    from gevent.pywsgi import WSGIServer
    WSGIServer(("", 80), application).serve_forever()
    """
PATCH = "from gevent import monkey; monkey.patch_all()"


@pytest.mark.parametrize("made", [NOW, IN_FUNCTION])
@pytest.mark.parametrize(
    ("files", "is_native"),
    [
        ({"Procfile": "web: gunicorn -k gevent app:application"}, False),
        ({"Procfile": "web: gunicorn --preload -k gevent app:application"}, True),
        ({"Procfile": "web: python wsgi.py", "wsgi.py": OWN_GUNICORN}, True),
        (
            {
                "Procfile": "web: gunicorn -c conf.py app:application",
                "conf.py": 'worker_class = "gevent"\npreload_app = True',
            },
            True,
        ),
        (
            {
                "Procfile": "web: gunicorn -c conf.py app:application",
                "conf.py": f'{PATCH}\nworker_class = "gevent"\npreload_app = True',
            },
            False,
        ),
        ({"uwsgi.ini": "[uwsgi]\nmodule=app\ngevent=9\ngevent-monkey-patch=true"}, True),
        ({"uwsgi.ini": "[uwsgi]\nmodule=app\ngevent=9\ngevent-early-monkey-patch=true"}, False),
        ({"serve.py": SERVE.format(f"from app import application\n    {PATCH}")}, True),
        ({"serve.py": SERVE.format(f"{PATCH}\n    from app import application")}, False),
        (  # one of two processes patches first
            {
                "Procfile": "a: gunicorn --preload -k gevent app:application\nb: python serve.py",
                "serve.py": SERVE.format(f"{PATCH}\n    from app import application"),
            },
            False,
        ),
    ],
)
def test_a_thread_that_starts_before_the_patch_is_native(project, files, is_native, made):
    root = project({"app.py": EXPORTER.format(made), **files})
    found = [context for code, context in contexts(root) if code == "blocking-call"]

    assert [("native-thread" if is_native else "startup")] == found


# -- settings that no known process loads


@pytest.mark.parametrize(
    ("setting", "is_elsewhere"),
    [
        ('ASGI_APPLICATION = "shop.routing.application"', True),
        ('ASGI_APPLICATION="shop.routing.application"', True),
        ('WSGI_APPLICATION = "shop.routing.application"', False),
        ('ROOT_URLCONF = "shop.routing"', False),
        ('MIDDLEWARE = ["shop.routing.Terminal"]', False),
    ],
)
@pytest.mark.parametrize("server", ["uvicorn", "daphne", "hypercorn"])
def test_an_application_for_an_event_loop_is_no_evidence_of_a_hub(
    project, setting, is_elsewhere, server
):
    root = project(
        {
            "sockets.ini": f"[program:sockets]\ncommand={server} asgi:application",
            "web.ini": "[program:web]\ncommand=gunicorn wsgi -k gevent",
            "config/default.py": setting,
            "asgi.py": "from shop.routing import application",
            "wsgi.py": "def application(environ, start_response): return []",
            "shop/__init__.py": "",
            "shop/routing.py": "def application(*_): ...",
        }
    )
    found = engine.processes(str(root), Config(root=str(root)))

    assert is_elsewhere == found.only_without_gevent(str(root / "shop/routing.py"))


ASIDE_APP = """
    from flask import Flask
    import os
    app = Flask("shop")
    @app.get("/")
    def place(): os.system("sync")
    """
ASIDE = """
    from gevent import monkey; monkey.patch_all()
    from gevent.pywsgi import WSGIServer
    from shop import app
    WSGIServer(("", 80), app).serve_forever()
    """
DEPLOYED = [
    ({"Procfile": "web: gunicorn shop:app\n"}, False),
    ({"Procfile": "web: gunicorn -k gthread shop:app\n"}, False),
    ({"shop.service": "[Service]\nExecStart=gunicorn shop:app\n"}, False),
    ({"Makefile": "run:\n\tgunicorn shop:app\n"}, True),
    ({"Procfile": "web: gunicorn -k gevent shop:app\n"}, True),
    ({"Procfile": "web: gunicorn other:app\n", "other.py": "app = None\n"}, True),
    ({"Procfile": "web: gunicorn shop:app\nlive: python serve.py\n"}, True),
    ({"Procfile": "web: gunicorn shop:app\n", "README.md": "Run `python serve.py`.\n"}, True),
    ({}, True),
]


@pytest.mark.parametrize(("deployed", "is_reported"), DEPLOYED)
def test_a_script_that_nothing_starts_gives_way_to_the_deployed_server(tree, deployed, is_reported):
    files = {"shop.py": textwrap.dedent(ASIDE_APP), "serve.py": textwrap.dedent(ASIDE)}
    root = tree({**deployed, **files})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = engine.check(engine.Request([str(root)], config, assume_gevent=True)).diagnostics
    assert is_reported == any(one.blocker == "os-system" for one in found)
