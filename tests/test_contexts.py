"""Who runs a call: contexts, the ways that lead to it, and what they mean for the severity."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock import catalog
from gblock.config import Config
from gblock.diagnostics import CONTEXTS, Severity

CALL = "os.system('sync')"
"""A call that blocks without bound."""

ENTRIES = {
    "a Flask route": (
        "request",
        """
        from flask import Flask
        app = Flask(__name__)

        @app.route("/orders", methods=["POST"])
        def place(): CALL
        """,
    ),
    "a route of an application from elsewhere": (
        "request",
        """
        from flask import current_app
        from .factory import make
        app = make()

        @app.route("/")
        def place(): CALL
        """,
    ),
    "a hook of a Flask application": (
        "request",
        """
        from flask import Flask
        app = Flask(__name__)

        @app.before_request
        def load(): CALL
        """,
    ),
    "a method view": (
        "request",
        """
        from flask.views import MethodView

        class Orders(MethodView):
            def post(self): CALL
        """,
    ),
    "a view that is a route's argument": (
        "request",
        """
        from django.urls import path

        def place(request): CALL

        urlpatterns = [path("orders/", place)]
        """,
    ),
    "a view set": (
        "request",
        """
        from rest_framework import viewsets

        class Orders(viewsets.ModelViewSet):
            def create(self, request): CALL
        """,
    ),
    "a WSGI callable": (
        "request",
        """
        def application(environ, start_response): CALL
        """,
    ),
    "a Falcon resource": (
        "request",
        """
        import falcon

        class Orders:
            def on_post(self, req, resp): CALL
        """,
    ),
    "a gRPC servicer": (
        "request",
        """
        import grpc, orders_pb2_grpc

        class Orders(orders_pb2_grpc.OrdersServicer):
            def Place(self, request, context): CALL
        """,
    ),
    "a GraphQL resolver": (
        "request",
        """
        import graphene

        class Query(graphene.ObjectType):
            def resolve_orders(self, info): CALL
        """,
    ),
    "a Socket.IO handler": (
        "request",
        """
        from flask_socketio import SocketIO
        socketio = SocketIO()

        @socketio.on("order")
        def place(data): CALL
        """,
    ),
    "a handler of gevent's server": (
        "request",
        """
        from gevent.server import StreamServer

        def handle(sock, address): CALL

        StreamServer(("", 1), handle)
        """,
    ),
    "a Celery task": (
        "task",
        """
        from celery import shared_task

        @shared_task(bind=True)
        def place(self): CALL
        """,
    ),
    "a job that is put into a queue": (
        "task",
        """
        from rq import Queue

        def place(): CALL

        def ask(): Queue().enqueue(place)
        """,
    ),
    "a greenlet": (
        "greenlet",
        """
        import gevent

        def poll(): CALL

        gevent.spawn(poll)
        """,
    ),
    "a greenlet's class": (
        "greenlet",
        """
        import gevent

        class Poller(gevent.Greenlet):
            def _run(self): CALL
        """,
    ),
    "a thread": (
        "greenlet",
        """
        import threading

        class Poller(threading.Thread):
            def run(self): CALL
        """,
    ),
    "a destructor": (
        "hub",
        """
        class Store:
            def __del__(self): CALL
        """,
    ),
    "a handler of the exit": (
        "shutdown",
        """
        import atexit

        @atexit.register
        def close(): CALL
        """,
    ),
    "a click command": (
        "command",
        """
        import click

        @click.group()
        def cli(): pass

        @cli.command()
        def load(): CALL
        """,
    ),
    "a command of Django": (
        "command",
        """
        from django.core.management.base import BaseCommand

        class Command(BaseCommand):
            def handle(self, *args, **options): CALL
        """,
    ),
    "a command of a console": (
        "command",
        """
        import cmd

        class Shell(cmd.Cmd):
            def do_load(self, line): CALL
        """,
    ),
    "another process": (
        "other-process",
        """
        import multiprocessing

        class Worker(multiprocessing.Process):
            def run(self): CALL
        """,
    ),
    "a task of django-q": (
        "other-process",
        """
        from django_q.tasks import async_task

        def place(): CALL

        def handle(environ, start_response): async_task(place)
        """,
    ),
    "a link of a chain of django-q": (
        "other-process",
        """
        from django_q.tasks import Chain

        def place(): CALL

        def handle(environ, start_response):
            chain = Chain()
            chain.append(place)
            chain.run()
        """,
    ),
    "a function that nothing calls": (
        "unknown",
        """
        def place(): CALL
        """,
    ),
}


def reported(root, files, **options):
    """The diagnostics of a project of these files, with all contexts."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        head = "import os\n" if path.suffix == ".py" else ""
        path.write_text(head + textwrap.dedent(text).replace("CALL", CALL))
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    options = {"min_severity": "note", "all_contexts": True, **options}
    return check([str(root)], config, **options).diagnostics


def ways(diagnostic):
    return [step.message for step in diagnostic.path]


@pytest.mark.parametrize("title", ENTRIES)
def test_what_starts_code_gives_it_a_context(tmp_path, title):
    context, text = ENTRIES[title]
    (one,) = reported(tmp_path, {"orders.py": text})
    assert context == one.context


@pytest.mark.parametrize("title", ENTRIES)
def test_a_function_has_the_contexts_of_its_callers(tmp_path, title):
    context, text = ENTRIES[title]
    text = "import work\n" + textwrap.dedent(text).replace("CALL", "work.do()")
    helper = "class Bus:\n    def send(self): CALL\n\ndef do():\n    Bus().send()\n"
    (one,) = [
        d
        for d in reported(tmp_path, {"orders.py": text, "work.py": helper})
        if d.filename.endswith("work.py")
    ]
    assert context == one.context
    assert ["do()", "Bus.send()", "os.system()"] == ways(one)[-3:]


def test_the_strongest_of_several_contexts_counts(tmp_path):
    (one,) = reported(
        tmp_path,
        {
            "app.py": """
            import click
            from flask import Flask
            app = Flask(__name__)

            def work(): CALL

            @click.command()
            def load(): work()

            @app.route("/load")
            def handle(): work()
            """
        },
        show_paths=True,
    )
    assert "request" == one.context
    assert ["GET /load", "work()", "os.system()"] == ways(one)
    assert 2 == len(one.paths)


@pytest.mark.parametrize(
    ("title", "severity"),
    [
        ("a Flask route", Severity.ERROR),
        ("a route of an application from elsewhere", Severity.WARNING),
        ("a function that nothing calls", Severity.WARNING),
        ("a handler of the exit", Severity.NOTE),
    ],
)
def test_the_severity_says_what_is_proven(tmp_path, title, severity):
    (one,) = reported(tmp_path, {"orders.py": ENTRIES[title][1]})
    assert severity == one.severity


def test_commands_are_counted_and_not_reported(tmp_path):
    text = textwrap.dedent(ENTRIES["a click command"][1]).replace("CALL", CALL)
    (tmp_path / "orders.py").write_text("import os\n" + text)
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    report = check([str(tmp_path)], config)
    assert () == report.diagnostics
    assert 1 == report.idle


@pytest.mark.parametrize(
    ("body", "context"),
    [
        ("CALL\n", "startup"),
        ("while True:\n    CALL\n", "greenlet"),
        ("gevent.spawn(print)\nCALL\n", "greenlet"),
        (
            "def main():\n    while True:\n        step()\n\ndef step(): CALL\n\nmain()\n",
            "greenlet",
        ),
    ],
)
def test_a_script_on_gevent_serves_once_it_loops_or_has_started_greenlets(tmp_path, body, context):
    head = "from gevent import monkey; monkey.patch_all()\nimport gevent\n"
    found = reported(tmp_path, {"worker.py": head + body, "Procfile": ""})
    assert [context] == [one.context for one in found]


def test_a_function_runs_where_the_parameter_that_it_fills_is_called(tmp_path):
    found = reported(
        tmp_path,
        {
            "job.py": """
            from gevent import monkey; monkey.patch_all()
            from runner import run

            def flush(): CALL

            if __name__ == "__main__":
                run(flush)
            """,
            "runner.py": """
            import gevent

            def run(work):
                def again(): work()
                gevent.spawn(again).join()
            """,
        },
    )
    assert [("greenlet", Severity.ERROR)] == [(one.context, one.severity) for one in found]


def test_who_runs_what_is_handed_to_code_from_elsewhere_is_not_known(tmp_path):
    (one,) = reported(
        tmp_path,
        {
            "job.py": """
            from gevent import monkey; monkey.patch_all()
            from elsewhere import run

            def flush(): CALL

            if __name__ == "__main__":
                run(flush)
            """
        },
    )
    assert ("unknown", Severity.WARNING) == (one.context, one.severity)


def test_the_users_own_entries_count(tmp_path):
    (tmp_path / "mine.toml").write_text(
        '[[entry]]\nframework = "shop"\ncontext = "request"\ndecorators = ["shop.handles"]\n'
    )
    (tmp_path / "orders.py").write_text(
        f"import os\nimport shop\n\n@shop.handles\ndef place():\n    {CALL}\n"
    )
    config = Config(
        root=str(tmp_path),
        filename=str(tmp_path / "gblock.toml"),
        extend_catalog=(str(tmp_path / "mine.toml"),),
    )
    (one,) = check([str(tmp_path)], config).diagnostics
    assert ("request", Severity.ERROR) == (one.context, one.severity)


def test_the_built_in_entries_are_sorted_and_complete():
    entries = catalog.load().entries
    keys = [(one.framework, one.context) for one in entries]
    assert sorted(keys, key=lambda key: key[0]) == keys
    for one in entries:
        assert one.context in CONTEXTS
        ways = (one.decorators, one.arguments, one.bases, one.methods, one.parameters, one.files)
        assert any(ways), one


@pytest.mark.parametrize(
    ("decorators", "used", "context"),
    [
        (
            "from flask import Blueprint\nrouter = Blueprint('x', __name__)\n"
            "def route(path):\n    return router.route(path, strict_slashes=False)\n",
            "route('/orders')",
            "request",
        ),
        (
            "import click\nfrom functools import wraps\n"
            "def command(function):\n    @click.command()\n    @wraps(function)\n"
            "    def wrapper():\n        return function()\n    return wrapper\n",
            "command",
            "command",
        ),
        (
            "import celery\nclass Job:\n    def __init__(self, queue): self.queue = queue\n"
            "    def __call__(self, function):\n"
            "        return celery.shared_task(function, queue=self.queue)\n",
            "Job('slow')",
            "task",
        ),
        (
            "import click\ndef command(function):\n    for one in function.aliases:\n"
            "        with one as it:\n            print(it)\n"
            "    return click.command()(function)\n",
            "command",
            "command",
        ),
        (
            "import functools\ndef quiet(function):\n    @functools.wraps(function)\n"
            "    def wrapper():\n        return function()\n    return wrapper\n",
            "quiet",
            "unknown",
        ),
    ],
)
def test_a_decorator_of_the_project_starts_what_the_one_behind_it_starts(
    tmp_path, decorators, used, context
):
    text = f"import own\n\n@own.{used}\ndef place(): CALL\n"
    (one,) = reported(tmp_path, {"own.py": decorators, "orders.py": text})
    assert context == one.context


@pytest.mark.parametrize(
    "written",
    [
        "from flask import blueprints\nroutes = blueprints.Blueprint('x', __name__)",
        "from flask.blueprints import Blueprint\nroutes = Blueprint('x', __name__)",
        "from flask.sansio.blueprints import Blueprint\nroutes = Blueprint('x', __name__)",
    ],
)
def test_a_class_is_known_from_the_module_that_defines_it(tmp_path, written):
    text = f"{written}\n\n@routes.route('/')\ndef place(): CALL\n"
    (one,) = reported(tmp_path, {"orders.py": text})
    assert ("request", Severity.ERROR) == (one.context, one.severity)


@pytest.mark.parametrize(
    ("body", "context"),
    [
        ("user.password = 'x'", "request"),
        ("print(user.password)", "unknown"),
        ("print(user.password == 'x')", "unknown"),
    ],
)
def test_a_setter_runs_where_its_property_is_set(tmp_path, body, context):
    text = f"""
    from flask import Flask
    app = Flask(__name__)

    class User:
        @property
        def password(self): return 'y'

        @password.setter
        def password(self, value): CALL

    @app.route("/")
    def place():
        user = User()
        {body}
    """
    (one,) = reported(tmp_path, {"orders.py": text})
    assert context == one.context


@pytest.mark.parametrize(
    ("path", "deployed", "context"),
    [
        ("worker/jobs/clean.py", "python worker/main.py", "other-process"),
        ("web/jobs/clean.py", "python worker/main.py", "unknown"),
        ("shared/clean.py", "python worker/main.py", "unknown"),
        ("clean.py", "python worker/main.py", "unknown"),
        ("worker/jobs/clean.py", "python worker/manage.py", "unknown"),
        ("worker/jobs/clean.py", "", "unknown"),
        ("worker/jobs/clean.py", "gunicorn -k gevent worker.main:app", "unknown"),
    ],
)
def test_what_is_loaded_by_name_belongs_to_the_program_beside_it(tmp_path, path, deployed, context):
    plain = "def app(environ, start_response): pass\n\nif __name__ == '__main__':\n    print()\n"
    files = {
        "Procfile": f"web: gunicorn -k gevent web.wsgi:app\njobs: {deployed}\n",
        "web/wsgi.py": plain,
        "worker/main.py": plain,
        "worker/manage.py": plain + "from django.core.management import execute_from_command_line",
        path: "def call(job): CALL\n",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("worker", "context"),
    [
        ("dramatiq orders", "other-process"),
        ("dramatiq-gevent orders", "task"),
        ("", "task"),
    ],
)
def test_a_task_runs_on_gevent_only_if_a_worker_does(tmp_path, worker, context):
    files = {
        "Procfile": f"web: gunicorn -k gevent web:app\nworker: {worker}\n",
        "web.py": "import orders\ndef app(environ, start_response): orders.place.send()\n",
        "orders.py": "import dramatiq\n\n@dramatiq.actor\ndef place(): CALL\n",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]
