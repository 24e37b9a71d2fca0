"""Contexts of calls, the paths that lead to them, and the resulting severity."""

from __future__ import annotations

import textwrap

import pytest
from harness import CATALOG, check

from gblock.config import Config
from gblock.diagnostics import CONTEXTS, Severity

CALL = "os.system('sync')"
"""A call that blocks without bound."""

ENTRIES = {
    "a route of Eve": (
        "request",
        """
        from eve import Eve
        app = Eve()

        @app.route("/orders")
        def place(): CALL
        """,
    ),
    "a receiver of a signal of Flask-Dance": (
        "request",
        """
        from flask_dance.consumer import oauth_authorized

        @oauth_authorized.connect
        def place(blueprint, token): CALL
        """,
    ),
    "a receiver of a signal of Flask-Principal": (
        "request",
        """
        from flask import Flask
        from flask_principal import identity_loaded
        app = Flask(__name__)

        @identity_loaded.connect_via(app)
        def place(sender, identity): CALL
        """,
    ),
    "a receiver of a signal of Flask-Login": (
        "request",
        """
        from flask_login import user_logged_in

        def place(sender, user): CALL

        user_logged_in.connect(place)
        """,
    ),
    "a tool of CherryPy": (
        "request",
        """
        import cherrypy

        @cherrypy.tools.register("before_handler")
        def place(): CALL
        """,
    ),
    "a processor of web.py": (
        "request",
        """
        import web

        def place(handle): CALL

        app = web.application((), globals())
        app.add_processor(place)
        """,
    ),
    "a serializer of Ariadne": (
        "request",
        """
        from ariadne import ScalarType
        order = ScalarType("Order")

        @order.serializer
        def place(value): CALL
        """,
    ),
    "a command of Telegram": (
        "greenlet",
        """
        from telegram.ext import CommandHandler, Updater

        def place(update, context): CALL

        Updater("token").dispatcher.add_handler(CommandHandler("order", place))
        """,
    ),
    "a callback of MQTT that a decorator sets": (
        "greenlet",
        """
        import paho.mqtt.client as mqtt
        client = mqtt.Client()

        @client.connect_callback()
        def place(client, data, flags, reason): CALL
        """,
    ),
    "an intent of Flask-Ask": (
        "request",
        """
        from flask import Flask
        from flask_ask import Ask
        ask = Ask(Flask(__name__), "/")

        @ask.intent("Order")
        def place(): CALL
        """,
    ),
    "a task of Kuyruk": (
        "task",
        """
        from kuyruk import Kuyruk
        kuyruk = Kuyruk()

        @kuyruk.task(queue="orders")
        def place(): CALL
        """,
    ),
    "a task of Spinach": (
        "task",
        """
        from spinach import Engine
        spinach = Engine(None)

        @spinach.task(name="order")
        def place(): CALL
        """,
    ),
    "a function of a gauge that code declares by its base": (
        "request",
        """
        from prometheus_client import Metric

        def orders(gauge: Metric): gauge.set_function(count)

        def count(): CALL
        """,
    ),
    "a method that VOLTTRON exports": (
        "greenlet",
        """
        from volttron.platform.vip.agent import RPC, Agent

        class Orders(Agent):
            @RPC.export
            def place(self): CALL
        """,
    ),
    "a method that a VOLTTRON agent subscribes": (
        "greenlet",
        """
        from volttron.platform.vip.agent import Agent

        class Orders(Agent):
            def begin(self):
                self.vip.pubsub.subscribe("pubsub", "orders", callback=self.place)
            def place(self, *message): CALL
        """,
    ),
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
    "an object whose methods are called from afar": (
        "request",
        """
        import zerorpc

        class Base:
            def place(self): CALL

        class Orders(Base): pass

        zerorpc.Server(Orders()).run()
        """,
    ),
    "a handler of thrift": (
        "request",
        """
        import thrift
        from orders import Orders

        class Handler:
            def place(self): CALL

        processor = Orders.Processor(Handler())
        """,
    ),
    "an object that is spawned": (
        "greenlet",
        """
        import gevent

        class Poller:
            def __call__(self): CALL

        gevent.spawn(Poller())
        """,
    ),
    "a scheduled job": (
        "greenlet",
        """
        from apscheduler.schedulers.gevent import GeventScheduler

        def poll(): CALL

        GeventScheduler().add_job(poll, "interval", minutes=1)
        """,
    ),
    "a path of hug": (
        "request",
        """
        import hug

        @hug.post("/orders")
        def place(): CALL
        """,
    ),
    "a namespace of gevent-socketio": (
        "request",
        """
        from socketio.namespace import BaseNamespace

        class Orders(BaseNamespace):
            def on_place(self, data): CALL
        """,
    ),
    "a handler of a loop of asyncio": (
        "other-process",
        """
        from fastapi import FastAPI
        app = FastAPI()

        @app.post("/orders")
        def place(): CALL
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
    "a click command that is added": (
        "command",
        """
        import click

        @click.group()
        def cli(): pass

        @click.command()
        def load(): CALL

        cli.add_command(load, name="other")
        """,
    ),
    "the callback of a click command": (
        "command",
        """
        import click

        def load(): CALL

        cli = click.Group()
        cli.add_command(click.Command("load", callback=load))
        """,
    ),
    "a command that is added to Flask's": (
        "command",
        """
        from flask import Flask

        app = Flask(__name__)

        @app.cli.command("load")
        def load(): CALL

        app.cli.add_command(load)
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
    "a method of a class of a child process's function": (
        "other-process",
        """
        import multiprocessing
        import sys

        def fill():
            class Log:
                def write(self, text): CALL
            sys.stdout = Log()

        def show(out):
            out.write("x")

        multiprocessing.Process(target=fill).start()
        """,
    ),
    "a method of a class of a handler": (
        "request",
        """
        import sys
        from flask import Flask
        app = Flask(__name__)

        @app.route("/")
        def place():
            class Log:
                class Inner:
                    def write(self, text): CALL
            return show(Log.Inner())

        def show(out):
            out.out.write("x")
        """,
    ),
    "a method of a class whose base is unknown": (
        "unknown",
        """
        from shop import *

        class Part(Base):
            def put(self): CALL
        """,
    ),
    "a method of a class that a factory makes": (
        "unknown",
        """
        from shop import Part

        def make():
            class Handler(Part):
                def write(self, text): CALL
            return Handler

        Handler = make()
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
    found = reported(tmp_path, {"orders.py": text})
    assert [context] == [one.context for one in found if one.symbol == "os.system"]


@pytest.mark.parametrize(
    "call", ["gevent.with_timeout(5, place)", "list(map(place, ids))", "context.run(place)"]
)
def test_a_function_has_the_context_of_a_call_that_applies_it(tmp_path, call):
    text = f"""
        import contextvars, gevent
        from flask import Flask

        app = Flask(__name__)

        def place(*_): CALL

        @app.route("/")
        def index(ids):
            context = contextvars.copy_context()
            {call}
        """
    (found,) = reported(tmp_path, {"orders.py": text})
    assert "request" == found.context


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@pytest.mark.parametrize(
    "written",
    [
        {"operationId": "shop.orders.place"},
        {"x-openapi-router-controller": "shop.orders", "operationId": "place"},
    ],
)
def test_a_specification_names_the_functions_of_requests(tmp_path, written, suffix):
    lines = [f'"{key}": "{value}"' for key, value in written.items()]
    spec = f'{{"paths": {{"/orders": {{"post": {{{", ".join(lines)}}}}}}}}}'
    if suffix == "yaml":
        spec = "paths:\n  /orders:\n    post:\n" + "".join(
            f"      {key}: {value}\n" for key, value in written.items()
        )
    found = reported(
        tmp_path,
        {
            "app.py": "import connexion\napp = connexion.App(__name__)\n",
            "shop/orders.py": "def place(): CALL\n\ndef other(): CALL\n",
            f"openapi.{suffix}": spec,
        },
    )
    assert ["request", "unknown"] == [one.context for one in found]


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
        ("gevent.get_hub().threadpool.spawn(print)\nCALL\n", "startup"),
        ("from gevent.threadpool import ThreadPool\nThreadPool(2).spawn(print)\nCALL\n", "startup"),
        (
            "import multiprocessing\nmultiprocessing.Process(target=print).start()\nCALL\n",
            "startup",
        ),
        (
            "from multiprocessing import Process\nclass Worker(Process):\n    def run(self): pass\n"
            "worker = Worker()\nworker.start()\nCALL\n",
            "startup",
        ),
        ("import threading\nthreading.Thread(target=print).start()\nCALL\n", "greenlet"),
        (
            "from multiprocessing import dummy\ndummy.Process(target=print).start()\nCALL\n",
            "greenlet",
        ),
        ("unknown().start()\nCALL\n", "greenlet"),
        ("if input():\n    gevent.spawn(print)\nCALL\n", "greenlet"),
        ("if input():\n    gevent.spawn(print)\nelse:\n    CALL\n", "startup"),
        (
            "for x in 'ab':\n    if x:\n        gevent.spawn(print)\n    else:\n        CALL\n",
            "greenlet",
        ),
        ("try:\n    gevent.spawn(print)\nexcept OSError:\n    CALL\n", "greenlet"),
        (
            "def main():\n    if input():\n        gevent.spawn(print)\n        return\n    CALL\n"
            "\nmain()\n",
            "startup",
        ),
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


@pytest.mark.parametrize(
    ("beside", "context"),
    [
        ("", "command"),
        ("import gevent\ngevent.spawn(print)\n", "greenlet"),
        ("from shop import jobs\n", "greenlet"),
        ("from gevent import monkey; monkey.patch_all()\n", "greenlet"),
    ],
)
def test_a_program_that_a_service_s_package_patches_has_one_greenlet(tmp_path, beside, context):
    """Unless it starts others, imports what does, or patches for itself."""
    files = {
        "shop/__init__.py": "from gevent import monkey; monkey.patch_all()\n",
        "shop/dump.py": f"{beside}def main():\n    while True:\n        CALL\n",
        "shop/jobs.py": "import gevent\ndef start(job): gevent.spawn(job)\n",
        "setup.py": "from setuptools import setup\n"
        "setup(name='shop', entry_points={'console_scripts': ['dump = shop.dump:main']})\n",
        "Procfile": "web: python -m shop.web\n",
        "shop/web.py": "from gevent.pywsgi import WSGIServer\n"
        "def app(environ, start_response): pass\n"
        "WSGIServer(('', 80), app).serve_forever()\n",
    }
    (found,) = reported(tmp_path, files, all_contexts=True)
    assert context == found.context


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


@pytest.mark.parametrize(
    ("job", "context"), [("Signature()", "greenlet"), ("elsewhere.made()", "hub")]
)
def test_a_method_of_the_project_is_none_of_a_framework(tmp_path, job, context):
    found = reported(
        tmp_path,
        {
            "job.py": f"""
            import elsewhere, gevent
            from gevent import monkey; monkey.patch_all()

            class Signature:
                def link(self, callback): self.callback = callback

            def flush(greenlet): CALL

            job = {job}

            if __name__ == "__main__":
                gevent.spawn(print)
                job.link(flush)
                flush(None)
            """
        },
    )
    assert [context] == [one.context for one in found if one.symbol == "os.system"]


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


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("from sqlalchemy.orm import validates\n@validates('name')", "request place()"),
        ("import flask\napp = flask.Flask('x')\n@app.template_filter('name')", "request place()"),
        ("import flask\napp = flask.Flask('x')\n@app.route('name')", "GET name"),
        ("import flask\napp = flask.Flask('x')\n@app.delete('/name')", "DELETE /name"),
        ("import socketio\nserver = socketio.Server()\n@server.on('name')", "event name"),
        ("import click\n@click.command('name')", "command place()"),
    ],
)
def test_only_a_route_is_named_by_its_path(tmp_path, written, label):
    (one,) = reported(tmp_path, {"orders.py": f"{written}\ndef place(data): CALL\n"})
    assert [label, "os.system()"] == ways(one)


def test_the_built_in_entries_are_sorted_and_complete():
    entries = CATALOG.entries
    keys = [(one.framework, one.context) for one in entries]
    assert sorted(keys, key=lambda key: key[0]) == keys
    for one in entries:
        assert one.context in CONTEXTS
        ways = (one.decorators, one.arguments, one.bases, one.methods, one.parameters, one.files)
        others = (one.objects, one.named_by, one.assigned, one.marks, one.settings, one.within)
        assert any(ways) or any(others), one


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
        (
            "from flask import Flask\napp = Flask(__name__)\ndef api(url, **options):\n"
            "    def decorator(function):\n        def wrapped(*args):\n"
            "            return function(*args)\n"
            "        app.add_url_rule(url, function.__name__, wrapped, **options)\n"
            "        return function\n    return decorator\n",
            "api('/orders', methods=['POST'])",
            "request",
        ),
        (
            "from flask import Flask\napp = Flask(__name__)\ndef api(view):\n"
            "    guarded = guard(view)\n"
            "    app.add_url_rule('/' + view.__name__, view_func=guarded)\n    return view\n",
            "api",
            "request",
        ),
        (
            "from flask import Flask\napp = Flask(__name__)\nclass Api:\n"
            "    def __init__(self, url): self.url = url\n"
            "    def __call__(self, view):\n"
            "        app.add_url_rule(self.url, 'x', lambda: retried(view))\n"
            "        return view\n",
            "Api('/orders')",
            "request",
        ),
        (
            "from flask import Flask\napp = Flask(__name__)\ndef api(view):\n"
            "    def decorator(function):\n        function.view = view\n"
            "        def again(): return again()\n        shown = shown(again)\n"
            "        app.add_url_rule('/help', 'help', shown)\n"
            "        app.add_url_rule('/x', 'x', view)\n"
            "        return function\n    return decorator\n",
            "api(print)",
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
        ("", "other-process"),
    ],
)
def test_a_task_runs_on_gevent_only_if_a_worker_does(tmp_path, worker, context):
    files = {
        "Procfile": f"web: gunicorn -k gevent web:app\nworker: {worker}\n",
        "web.py": "import orders\ndef app(environ, start_response): orders.place.send()\n",
        "orders.py": "import dramatiq\n\n@dramatiq.actor\ndef place(): CALL\n",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(("gateway", "contexts"), [("gateway", []), ("orders", ["request"])])
def test_a_server_on_another_concurrency_runs_its_services(tmp_path, gateway, contexts):
    files = {
        "Procfile": f"web: gunicorn -k gevent {gateway}:app\nrpc: nameko run orders\n",
        "gateway.py": "def app(environ, start_response): pass\n",
        "orders.py": (
            "from nameko.rpc import rpc\nfrom gateway import app\n\n"
            "class Orders:\n    @rpc\n    def place(self): CALL\n"
        ),
    }
    assert contexts == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("started", "context"),
    [
        ("gunicorn -k gevent 'web:create()'", "startup"),
        ("gunicorn -k gevent web:create()", "startup"),
        ("gunicorn -k gevent 'web:create(\"live\")'", "startup"),
        ("gunicorn -k gevent web:app", "unknown"),
    ],
)
def test_a_server_calls_the_factory_that_it_names_when_it_starts(tmp_path, started, context):
    text = """\
    from flask import Flask
    app = Flask(__name__)

    class Store:
        def __init__(self):
            CALL

    def create(kind=None):
        app.store = Store()

        @app.route("/")
        def place():
            CALL

        return app
    """
    found = reported(tmp_path, {"Procfile": f"web: {started}\n", "web.py": text})
    assert [context, "request"] == [one.context for one in found]


@pytest.mark.parametrize(
    ("task", "green", "context"),
    [
        ('queue="slow"', "-Q mails", "other-process"),
        ('queue="slow"', "--queues=mails,news", "other-process"),
        ('queue="slow"', "-Q mails,slow", "task"),
        ('queue="slow"', "-Q $QUEUES", "task"),
        ('queue="slow"', "", "task"),
        ("queue=chosen()", "-Q mails", "task"),
        ("bind=True", "-Q mails", "task"),
    ],
)
def test_a_task_runs_where_a_worker_takes_its_queue(tmp_path, task, green, context):
    files = {
        "Procfile": f"mails: celery -A jobs worker -P gevent {green}\n"
        "slow: celery -A jobs worker -Q slow\n",
        "jobs.py": "from celery import Celery\napp = Celery()\n\n"
        f"@app.task({task})\ndef render(*given): CALL\n",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("routes", "context"),
    [
        ('app.conf.task_routes = {"jobs.*": {"queue": "slow"}}', "other-process"),
        ('app.conf.task_routes = {"jobs.render": "slow"}', "other-process"),
        ('app.conf.update(task_routes={"*.render": {"queue": "slow"}})', "other-process"),
        ('CELERY_TASK_ROUTES = {"jobs.render": {"queue": "slow"}}', "other-process"),
        ('app.conf.task_routes = {"jobs.*": {"queue": "mails"}}', "task"),
        ('app.conf.task_routes = {"other.*": {"queue": "slow"}}', "task"),
        ('app.conf.task_routes = {"jobs.*": {"queue": chosen()}}', "task"),
        ('ROUTES = [{"jobs.*": "slow"}]\napp.conf.task_routes = ROUTES', "other-process"),
        ('ROUTES = ({"jobs.*": "slow"},)\napp.conf.task_routes = ROUTES', "other-process"),
        ('ROUTES = ("jobs.*", "slow")\napp.conf.task_routes = [ROUTES]', "other-process"),
        ('app.conf.task_routes = {1: "mails", "jobs.*": "slow"}', "other-process"),
        ('app.conf.task_routes = {"jobs.*": {"queue": 1}}', "task"),
        ("def route(name): return 'slow'\napp.conf.task_routes = route", "task"),
    ],
)
def test_the_routes_of_an_application_give_a_task_its_queue(tmp_path, routes, context):
    files = {
        "Procfile": "mails: celery -A jobs worker -P gevent -Q mails\n"
        "slow: celery -A jobs worker -Q slow\n",
        "jobs.py": "from celery import Celery\napp = Celery()\n"
        f"{routes}\n\n@app.task\ndef render(): CALL\n",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


def test_a_task_of_another_queue_runs_where_a_green_one_calls_it(tmp_path):
    files = {
        "Procfile": "mails: celery -A jobs worker -P gevent -Q mails\n"
        "slow: celery -A jobs worker -Q slow\n",
        "jobs.py": "from celery import Celery\napp = Celery()\n\n"
        '@app.task(queue="slow")\ndef render(): CALL\n\n'
        '@app.task(queue="mails")\ndef send(): render()\n',
    }
    assert ["task"] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("more", "context"),
    [
        ("", "other-process"),
        ("from django.core.wsgi import get_wsgi_application", "request"),
        ("import urls", "request"),
    ],
    ids=["sets Django up", "makes its handler", "imports the views"],
)
def test_a_program_that_only_sets_django_up_serves_no_views(tmp_path, more, context):
    files = {
        "Procfile": "web: gunicorn wsgi:application\ncollector: python collector.py\n",
        "settings.py": 'ROOT_URLCONF = "urls"\nWSGI_APPLICATION = "wsgi.application"\n',
        "wsgi.py": """
            import os
            from django.core.wsgi import get_wsgi_application

            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
            application = get_wsgi_application()
            """,
        "urls.py": """
            from django.urls import path
            from views import place

            urlpatterns = [path("orders", place)]
            """,
        "views.py": "def place(request): CALL\n",
        "collector.py": f"""
            from gevent import monkey; monkey.patch_all()
            import os
            import django
            from gevent.pywsgi import WSGIServer
            {more}

            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
            django.setup()

            def figures(environ, start_response): return []

            WSGIServer(("", 80), figures).serve_forever()
            """,
    }
    (diagnostic,) = reported(tmp_path, files, all_contexts=True)

    assert diagnostic.context == context


@pytest.mark.parametrize(
    ("web", "context"),
    [
        ("Dockerfile", "other-process"),
        ("Makefile", "request"),
        ("Dockerfile.dev", "request"),
        ("", "request"),
    ],
)
def test_workers_of_tasks_serve_no_views_beside_the_server_of_a_deployment(tmp_path, web, context):
    start = "web:\n\tpython manage.py runserver\n"
    files = {
        "Procfile": "worker: celery -A jobs worker -P gevent\n",
        "jobs.py": "import settings, urls\nfrom celery import Celery\napp = Celery()\n",
        "manage.py": "import settings\nfrom django.core.management import "
        "execute_from_command_line\nexecute_from_command_line()\n",
        "settings.py": 'ROOT_URLCONF = "urls"\n',
        "urls.py": "from django.urls import path\nfrom views import place\n"
        'urlpatterns = [path("orders", place)]\n',
        "views.py": "def place(request): CALL\n",
    }
    if web:
        files[web] = start if web == "Makefile" else "FROM python\nCMD python manage.py runserver\n"
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize("name", ['"on_" + name', 'f"on_{name}"', '"on_%s" % name'])
def test_a_method_runs_where_its_name_is_composed(tmp_path, name):
    text = f"""
    class Application:
        def on_place(self, request): CALL

        def off_place(self, request): CALL

        def __call__(self, environ, start_response):
            name = environ["PATH_INFO"]
            return getattr(self, {name})(environ)
    """
    found = reported(tmp_path, {"orders.py": text})
    assert ["request", "unknown"] == [one.context for one in found]
    assert ["request __call__()", "Application.on_place()", "os.system()"] == ways(found[0])


def test_a_function_runs_where_it_is_given_to_one_that_calls_it(tmp_path):
    """Another caller of that function gives it something else."""
    files = {
        "shop/both.py": "def each(function, rows):\n    return [function(row) for row in rows]\n",
        "shop/views.py": """
            from flask import Flask
            from shop.both import each

            app = Flask(__name__)

            @app.route("/orders")
            def orders():
                return each(str, [1])
            """,
        "shop/tool.py": """
            import os
            import click
            from shop.both import each

            def run(name):
                os.system(name)

            @click.command()
            def main():
                each(run, ["sync"])
            """,
        "Procfile": "web: gunicorn -k gevent shop.views:app\n",
    }
    (diagnostic,) = reported(tmp_path, files, all_contexts=True)

    assert diagnostic.context == "command"


@pytest.mark.parametrize(("patch", "context"), [("", "other-process"), ("patched", "request")])
def test_coroutines_run_beside_a_hub_where_nothing_is_patched(tmp_path, patch, context):
    """Under monkey patching the event loop waits in a greenlet."""
    patch = "from gevent import monkey; monkey.patch_all()" if patch else ""
    files = {
        "start.py": f"""
            {patch}
            import asyncio
            import os
            from flask import Flask
            from gevent.pywsgi import WSGIServer

            app = Flask(__name__)

            async def sync():
                os.system("sync")

            @app.route("/sync")
            def view():
                asyncio.run_coroutine_threadsafe(sync(), app.loop)

            if __name__ == "__main__":
                WSGIServer(("", 80), app).serve_forever()
            """,
    }
    found = reported(tmp_path, files, all_contexts=True, select=["os-system"])

    assert [one.context for one in found if one.blocker == "os-system"] == [context]


@pytest.mark.parametrize(
    "starts",
    [
        "await asyncio.to_thread(work)",
        "await asyncio.get_running_loop().run_in_executor(None, work)",
        "ThreadPoolExecutor().submit(work)",
        "threading.Thread(target=work).start()",
        "threading.Timer(1, work).start()",
        "await run_in_threadpool(work)",
        "Work().start()",
    ],
)
@pytest.mark.parametrize(
    ("imports", "process", "context"),
    [
        ("", "uvicorn api.main:app", "other-process"),
        ("", "python api/main.py", "other-process"),
        ("", "gunicorn -k gevent api.main:app", "greenlet"),
        ("from gevent import monkey; monkey.patch_all()", "python api/main.py", "greenlet"),
        ("import gevent; gevent.spawn(print)", "python api/main.py", "native-thread"),
        (
            "from gevent import monkey; monkey.patch_all(thread=False)",
            "python api/main.py",
            "native-thread",
        ),
    ],
)
def test_a_thread_is_a_greenlet_where_a_process_patches(
    tmp_path, starts, imports, process, context
):
    files = {
        "Procfile": f"api: {process}\njobs: python jobs.py\n",
        "jobs.py": """
            from gevent import monkey; monkey.patch_all()
            import gevent
            gevent.spawn(print).join()
            """,
        "api/main.py": f"{imports}\nfrom api.routes import app\n",
        "api/routes.py": f"""
            import asyncio
            import threading
            from concurrent.futures import ThreadPoolExecutor
            from fastapi import FastAPI
            from starlette.concurrency import run_in_threadpool

            app = FastAPI()

            class Work(threading.Thread):
                def run(self):
                    work()

            def work(): cv2.imread("x")

            @app.get("/")
            async def place():
                {starts}
            """,
        # What nothing is known to run imports the routes too.
        "later.py": "import api.routes\n",
    }
    files["api/routes.py"] = files["api/routes.py"].replace("import asyncio", "import asyncio, cv2")
    found = reported(tmp_path, files, all_contexts=True, select=["cv2-imread"])

    assert {context} == {one.context for one in found if one.blocker == "cv2-imread"}


@pytest.mark.parametrize(
    ("patch", "context"),
    [("", "unknown"), ("import gevent.monkey; gevent.monkey.patch_all()", "greenlet")],
)
def test_a_script_that_may_import_gevent_has_native_threads_unless_it_patches(
    tmp_path, patch, context
):
    files = {
        "Procfile": "web: python web.py\njobs: python jobs.py\n",
        "web.py": """
            import covers, serving
            serving.run(covers.place)
            """,
        "serving.py": """
            import gevent.pywsgi
            def run(place): gevent.pywsgi.WSGIServer(("", 80), place).serve_forever()
            """,
        "jobs.py": f"""
            import covers
            def serve():
                {patch}
                import serving
            """,
        "covers.py": """
            import concurrent.futures, cv2

            def work(): cv2.imread("x")

            def place(environ, start_response):
                concurrent.futures.ThreadPoolExecutor().submit(work).result()

            class Source:
                def search(self): work()
            """,
    }
    found = reported(tmp_path, files, all_contexts=True, select=["cv2-imread"])
    assert {context} == {one.context for one in found if one.blocker == "cv2-imread"}


@pytest.mark.parametrize(
    ("options", "request_context"), [("", "other-process"), ("-k gevent", "request")]
)
def test_a_synchronous_worker_handles_requests_outside_of_greenlets(
    tmp_path, options, request_context
):
    files = {
        "Procfile": f"web: gunicorn {options} web:app\n",
        "web.py": """
            from gevent import monkey; monkey.patch_all()
            import gevent
            from flask import Flask
            app = Flask(__name__)

            def work(): CALL

            gevent.spawn(work)

            @app.route("/")
            def place(): CALL
            """,
    }
    found = reported(tmp_path, files, all_contexts=True, select=["os-system"])
    assert ["greenlet", request_context] == [one.context for one in found if one.blocker]


def test_a_greenlet_is_of_the_process_that_starts_it(tmp_path):
    files = {
        "Procfile": "api: uvicorn api:app\njobs: python jobs.py\n",
        "jobs.py": """
            from gevent import monkey; monkey.patch_all()
            import gevent, common
            gevent.spawn(common.other).join()
            """,
        "common.py": """
            import threading, os
            def work(): CALL
            def start(): threading.Thread(target=work).start()
            def other(): os.sync()
            """,
        "api.py": """
            import common
            from fastapi import FastAPI
            app = FastAPI()
            @app.get("/")
            def place():
                common.start()
            """,
    }
    found = reported(tmp_path, files, all_contexts=True, select=["os-system"])
    assert ["other-process"] == [one.context for one in found if one.blocker == "os-system"]

    files["jobs.py"] = files["jobs.py"].replace("common.other", "common.start")
    found = reported(tmp_path, files, all_contexts=True, select=["os-system"])
    assert ["greenlet"] == [one.context for one in found if one.blocker == "os-system"]


WRAPPED = """
import functools, os, threading, gevent

def threaded(function):
    @functools.wraps(function)
    def wrapper(*args):
        threading.Thread(target=function, args=args).start()
    return wrapper

def spawned(function):
    gevent.spawn(function)
    return function

def started(daemon):
    def decorate(function):
        def wrapper(*args):
            gevent.spawn(function, *args)
        return wrapper
    return decorate

@threaded
def other(): pass
"""
DRAWN = """def work(): CALL
class Plots:
    def draw(self): gevent.spawn(work)
"""


@pytest.mark.parametrize(
    ("code", "train", "served", "context"),
    [
        ("@threaded\ndef work(): CALL\n", "work()", "pass", "command"),
        ("@started(True)\ndef work(): CALL\n", "work()", "pass", "command"),
        ("@threaded\ndef work(): CALL\n", "work()", "plots.work()", "request"),
        ("@started(True)\ndef work(): CALL\n", "work()", "plots.work()", "request"),
        ("@spawned\ndef work(): CALL\n", "other()", "pass", "greenlet"),
        (DRAWN, "other()", "pass", "unknown"),
        (DRAWN, "other()", "plots.Plots().draw()", "greenlet"),
    ],
)
def test_a_greenlet_is_as_known_as_the_calls_that_start_it(tmp_path, code, train, served, context):
    """A service imports the module, and a script without gevent calls its functions."""
    files = {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "app.py": f"import plots\ndef app(environ, start): {served}\n",
        "train.py": f"from plots import *\nif __name__ == '__main__':\n    {train}\n",
        "plots.py": WRAPPED + code,
    }
    found = reported(tmp_path, files, all_contexts=True, select=["os-system"])
    assert [context] == [one.context for one in found if one.blocker == "os-system"]


@pytest.mark.parametrize(("guard", "context"), [('"__main__"', "native-thread"), ("", "greenlet")])
def test_a_thread_is_native_if_only_programs_with_native_threads_start_it(tmp_path, guard, context):
    """Another program, which patches all, imports the module."""
    files = {
        "Procfile": "web: python web.py\njobs: python jobs.py\n",
        "web.py": f"""
            from gevent import monkey; monkey.patch_socket()
            import gevent
            import routing

            def main():
                gevent.spawn(print)
                routing.Router().start()

            if {f"__name__ == {guard}" if guard else "print"}:
                main()
            """,
        "routing.py": """
            import os, threading

            class Router(threading.Thread):
                def run(self): CALL
            """,
        "jobs.py": """
            from gevent import monkey; monkey.patch_all()
            import gevent, web
            gevent.spawn(print).join()
            """,
    }
    found = reported(tmp_path, files, all_contexts=True, select=["os-system"])
    assert [context] == [one.context for one in found if one.blocker == "os-system"]


def test_a_server_runs_no_command_of_the_file_of_its_application(tmp_path):
    files = {
        "Procfile": "web: gunicorn -k gevent manage:app\n",
        "manage.py": """
            from flask import Flask
            from flask.cli import FlaskGroup
            app = Flask(__name__)
            cli = FlaskGroup(create_app=lambda: app)

            @cli.command()
            def load():
                for name in "ab":
                    CALL
            """,
    }
    found = reported(tmp_path, files, all_contexts=True)
    assert ["command"] == [one.context for one in found if one.blocker == "os-system"]


@pytest.mark.parametrize(
    ("kept", "context"),
    [
        ("setattr(sys.modules[__name__], 'inside', inside)", "other-process"),
        ("print(callable(inside))", "other-process"),
        ("register(inside)", "unknown"),
    ],
)
def test_what_only_looks_at_a_function_does_not_run_it(tmp_path, kept, context):
    text = f"""
    from gevent import monkey; monkey.patch_all()
    import sys
    from multiprocessing import Process
    from plugins import register

    def apart():
        def inside(): CALL
        {kept}
        Process(target=inside).start()
    """
    found = reported(tmp_path, {"work.py": text})
    assert [context] == [one.context for one in found if one.blocker == "os-system"]


@pytest.mark.parametrize(("imports", "is_called"), [("", False), ("from lib import *", True)])
def test_a_name_that_nothing_binds_has_no_method(tmp_path, imports, is_called):
    files = {
        "wheels.py": "class Wheel:\n    def unpack(self, form, data): CALL\n",
        "work.py": f"""
            from gevent import monkey; monkey.patch_all()
            import gevent
            {imports}

            def work(data): return struct.unpack("I", data)

            gevent.spawn(work)
            """,
    }
    found = [one for one in reported(tmp_path, files) if one.blocker == "os-system"]
    assert ["greenlet" if is_called else "unknown"] == [one.context for one in found]


@pytest.mark.parametrize(
    ("seconds", "severity"), [("0.01", "note"), ("0.05", "warning"), ("0.1", "error")]
)
def test_a_bounded_wait_has_the_severity_of_its_bound(tmp_path, seconds, severity):
    files = {
        "work.py": f"""
            from confluent_kafka import Consumer
            import gevent

            def work():
                consumer = Consumer({{}})
                while True:
                    consumer.poll({seconds})

            gevent.spawn(work)
            """,
    }
    found = reported(tmp_path, files, min_severity="note")

    assert [one.severity.label for one in found if one.code == "blocking-call"] == [severity]


def test_a_module_of_the_standard_library_in_one_file_is_one_cause(tmp_path):
    text = """
        from gevent import monkey, spawn; monkey.patch_all()
        import sqlite3

        def place(path):
            connection = sqlite3.connect(path)
            cursor = connection.cursor()
            cursor.execute("SELECT 1")
            cursor.fetchall()
            connection.commit()
            os.system("sync")
            os.waitpid(int(path), 0)

        spawn(place, "orders.db")
        """
    causes = {}
    for one in reported(tmp_path, {"orders.py": text}):
        causes.setdefault(one.cause, []).append(one.symbol.partition(".")[0])

    assert [["sqlite3"] * 3, ["os"]] == sorted(causes.values(), reverse=True)


USED_OBJECTS = {
    "a call of the object": (
        "def __call__(self): CALL",
        "return used()",
    ),
    "a `with` statement": (
        "def __enter__(self): CALL\n    def __exit__(self, *error): pass",
        "with used: return 1",
    ),
    "a `for` statement": (
        "def __iter__(self):\n        CALL\n        return iter([])",
        "for one in used: return one",
    ),
    "a list made of it": (
        "def __iter__(self):\n        CALL\n        return iter([])",
        "return list(used)",
    ),
    "a property of a decorator of the project": (
        "@kept\n    def total(self): CALL",
        "return used.total",
    ),
}


@pytest.mark.parametrize("title", USED_OBJECTS)
def test_an_object_that_is_made_at_start_up_runs_where_it_is_used(tmp_path, title):
    method, use = USED_OBJECTS[title]
    files = {
        "work.py": f"""
class kept:
    def __init__(self, function):
        self.function = function
    def __get__(self, owner, kind):
        return self.function(owner)

class Used:
    {method}

used = Used()
""",
        "views.py": f"""
from flask import Flask
from work import used
app = Flask(__name__)

@app.route("/")
def view():
    {use}
""",
    }
    found = [one for one in reported(tmp_path, files) if one.filename.endswith("work.py")]
    assert ["request"] == [one.context for one in found]


def test_an_operator_may_use_an_object_at_any_time(tmp_path):
    files = {
        "Procfile": "web: gunicorn -k gevent views:app\n",
        "views.py": """
            from flask import Flask
            app = Flask(__name__)

            class Table:
                def __init__(self): os.system("sync")
                def __getitem__(self, key): CALL

            TABLE = Table()
            """,
    }
    found = [one.context for one in reported(tmp_path, files)]
    assert ["startup", "unknown"] == found


@pytest.mark.parametrize(
    "job",
    [
        "class Job:\n    def __init__(self, work):\n        self.function = work\n",
        "class Job(NamedTuple):\n    name: str\n    function: object\n",
        "@dataclass\nclass Job:\n    name: str\n    function: object\n",
    ],
)
def test_an_object_runs_the_function_that_it_keeps(tmp_path, job):
    given = "work" if "__init__" in job else '"place", work'
    text = f"""
from dataclasses import dataclass
from typing import NamedTuple
from flask import Flask
app = Flask(__name__)

{job}
def work(): CALL

JOB = Job({given})

@app.route("/")
def view(): return JOB.function()
"""
    files = {"views.py": text, "Procfile": "web: gunicorn -k gevent views:app\n"}
    assert ["request"] == [one.context for one in reported(tmp_path, files)]


def test_a_constructor_keeps_a_function_that_may_run_at_any_time(tmp_path):
    text = """
        from elsewhere import registry

        class Job:
            def __init__(self, work): registry[work.__name__] = work

        def work(): CALL

        Job(work)
        """
    files = {"jobs.py": text, "Procfile": "web: gunicorn -k gevent jobs:app\n"}
    assert ["unknown"] == [one.context for one in reported(tmp_path, files)]


BASES = {
    "a mixin": """
        class Orders:
            def place(self): CALL

        class Audit:
            def place(self): return super().place()

        class Service(Audit, Orders): pass

        service = Service()
        """,
    "a generic base": """
        import abc
        from typing import Generic, TypeVar
        T = TypeVar("T")

        class Repository(abc.ABC, Generic[T]):
            @abc.abstractmethod
            def place(self): ...

        class Orders(Repository[int]):
            def place(self): CALL

        class Service:
            def __init__(self, repository: Repository[int]): self.repository = repository
            def place(self): return self.repository.place()

        service = Service(Orders())
        """,
    "a protocol": """
        from typing import Protocol

        class Repository(Protocol):
            def place(self): ...

        class Orders:
            def place(self): CALL

        class Service:
            def __init__(self, repository: Repository): self.repository = repository
            def place(self): return self.repository.place()

        service = Service(Orders())
        """,
}


@pytest.mark.parametrize("title", BASES)
def test_a_method_runs_where_its_class_is_used_through_another_one(tmp_path, title):
    files = {
        "work.py": BASES[title],
        "views.py": """
            from flask import Flask
            from work import service
            app = Flask(__name__)

            @app.route("/")
            def view(): return service.place()
            """,
    }
    (one,) = (one for one in reported(tmp_path, files) if one.symbol == "os.system")
    assert "request" == one.context
    assert "ERROR" == one.severity.name


def test_a_protocol_is_fulfilled_by_all_its_methods(tmp_path):
    text = """
        from typing import Protocol
        from flask import Flask
        app = Flask(__name__)

        class Repository(Protocol):
            def place(self): ...
            def cancel(self): ...

        class Other:
            def place(self): CALL

        @app.route("/")
        def view(repository: Repository): return repository.place()
        """
    assert ["unknown"] == [one.context for one in reported(tmp_path, {"views.py": text})]


@pytest.mark.parametrize(
    "written",
    [
        "super().__init__(listener, self.on_client)",
        "StreamServer.__init__(self, listener, self.on_client)",
        "super().__init__(listener, handle=self.on_client)",
    ],
)
def test_the_constructor_of_a_base_is_given_a_handler(tmp_path, written):
    text = f"""
        from gevent.server import StreamServer

        class Server(StreamServer):
            def __init__(self, listener): {written}
            def on_client(self, socket, address): CALL
        """
    assert ["request"] == [one.context for one in reported(tmp_path, {"server.py": text})]


@pytest.mark.parametrize("loop", ["for one in (work, rest): spawn(one)",
                                  "[spawn(one) for one in [work, rest]]"])  # fmt: skip
def test_a_function_is_spawned_from_a_list(tmp_path, loop):
    text = f"""
        from gevent import spawn

        def work(): CALL
        def rest(): pass

        {loop}
        """
    assert ["greenlet"] == [one.context for one in reported(tmp_path, {"work.py": text})]


@pytest.mark.parametrize(
    ("method", "handed", "contexts"),
    [
        ("lookup", "pool.submit(plugin.lookup, 1)", ["greenlet"]),
        ("lookup", "pool.map(plugin.lookup, [1])", ["greenlet"]),
        ("lookup", "gevent.spawn(plugin.lookup, 1)", ["greenlet"]),
        ("lookup", "gevent.get_hub().threadpool.apply(plugin.lookup, (1,))", ["native-thread"]),
        ("lookup", "atexit.register(plugin.lookup)", ["shutdown"]),
        # The name identifies no method, the object is known, or the method is an argument.
        ("search", "pool.submit(plugin.search, 1)", ["unknown"]),
        ("lookup", "pool.submit({}.lookup, 1)", ["unknown"]),
        ("lookup", "pool.submit(print, plugin.lookup)", ["unknown"]),
    ],
)
def test_a_method_of_an_unknown_object_is_handed_over(tmp_path, method, handed, contexts):
    files = {
        "plugins.py": f"""
            class Index:
                def {method}(self, order): CALL
            """,
        "work.py": f"""
            from gevent import monkey; monkey.patch_all()
            import atexit
            import gevent
            from concurrent.futures import ThreadPoolExecutor
            pool = ThreadPoolExecutor(4)

            def work(plugin): {handed}
            """,
    }
    found = reported(tmp_path, files)
    assert contexts == [one.context for one in found if one.blocker == "os-system"]
    assert all(one.severity != Severity.ERROR for one in found)


@pytest.mark.parametrize(
    "made",
    [
        "getattr(backends, settings.NAME)()",
        "import_string(settings.FULL)()",
        "getattr(importlib.import_module(settings.MODULE), settings.NAME)()",
        'import_string(os.environ.get("BACKEND", "backends.Files"))()',
        'import_string(os.getenv("BACKENDS", "backends") + ".Files")()',
    ],
)
def test_a_class_that_the_default_of_a_setting_names_is_known(tmp_path, made):
    files = {
        "settings.py": """
            NAME = os.environ.get("BACKEND", "Files")
            MODULE = os.getenv("MODULE", default="backends")
            FULL = os.environ.get("FULL") or "backends.Files"
            """,
        "backends.py": """
            class Files:
                def run(self): CALL
            """,
        "orders.py": f"""
            import importlib
            from flask import Flask
            from werkzeug.utils import import_string
            import backends
            import settings
            app = Flask(__name__)
            backend = {made}

            @app.route("/")
            def place(): backend.run()
            """,
    }
    assert ["request"] == [one.context for one in reported(tmp_path, files)]


def test_a_lambda_is_assigned_to_a_handler(tmp_path):
    text = """
        from paho.mqtt.client import Client
        client = Client()
        client.on_connect = lambda *event: CALL
        """
    assert ["greenlet"] == [one.context for one in reported(tmp_path, {"client.py": text})]


KEPT = {
    "a dict": ('TABLE = {"place": work}', 'TABLE["place"]()'),
    "a dict and its method": ("TABLE = dict(place=work)", 'found = TABLE.get("place"); found()'),
    "a list": ("HOOKS = [len, work]", "[hook() for hook in HOOKS]"),
    "a list that grows": ("HOOKS = []\nHOOKS.append(work)", "[hook() for hook in HOOKS]"),
    "a lambda in a dict": ('TABLE = {"place": lambda: work()}', 'TABLE["place"]()'),
    "a register": (
        "TABLE = {}\n\ndef register(function): TABLE[function.__name__] = function\n\n"
        "register(work)",
        'TABLE["work"]()',
    ),
    "a bus": (
        "class Bus:\n"
        "    def __init__(self): self.table = {}\n"
        "    def on(self, kind, f): self.table.setdefault(kind, []).append(f)\n"
        "    def send(self, kind):\n"
        "        for f in self.table[kind]: f()\n\n"
        "bus = Bus()\n"
        'bus.on("place", work)',
        'bus.send("place")',
    ),
    "steps of a pipeline": (
        "from collections.abc import Callable, Sequence\n"
        "from dataclasses import dataclass\n\n"
        "@dataclass\n"
        "class Step:\n"
        "    function: Callable[[], None]\n\n"
        "class Pipeline:\n"
        "    def __init__(self, steps: Sequence): self.steps = steps\n"
        "    def run(self):\n"
        "        for step in self.steps: step.function()\n\n"
        "pipeline = Pipeline([Step(work)])",
        "pipeline.run()",
    ),
    "a table that is put into another": (
        "MORE = {'place': work}\nTABLE = {}\nTABLE.update(MORE)\n",
        'TABLE["place"]()',
    ),
    "a table that is merged into another": (
        "MORE = {'place': work}\nTABLE = {}\nTABLE |= MORE\n",
        'TABLE["place"]()',
    ),
    "a list that is added to another": (
        "MORE = [work]\nALL = [print]\nALL += MORE\n",
        "[one() for one in ALL]",
    ),
    "a list that is unpacked into another": (
        "MORE = [work]\nALL = [print, *MORE]\n",
        "[one() for one in ALL]",
    ),
    "a display that is indexed at once": (
        "def run(name): {'place': work, 'pay': print}[name]()\n",
        'run("place")',
    ),
    "a lambda in a display that is indexed at once": (
        "def run(name): {'place': lambda: work(), 'pay': print}[name]()\n",
        'run("place")',
    ),
    "a display that is searched at once": (
        "def run(name): {'place': work}.get(name, print)()\n",
        'run("place")',
    ),
    "a name for what a display holds": (
        "def run(name):\n    chosen = {'place': work, 'pay': print}[name]\n    chosen()\n",
        'run("place")',
    ),
    "one of two": (
        "def run(name): (work if name else print)()\n",
        'run("place")',
    ),
    "what a constructor collects": (
        "class Chain:\n"
        "    def __init__(self, name, *steps): self.steps = list(steps)\n"
        "    def run(self):\n"
        "        for step in self.steps: step()\n\n"
        'chain = Chain("orders", print, work)',
        "chain.run()",
    ),
    "what a constructor collects by name": (
        "class Table:\n"
        "    def __init__(self, **handlers): self.handlers = handlers\n"
        "    def run(self, name): self.handlers[name]()\n\n"
        "table = Table(place=work)",
        'table.run("place")',
    ),
    "what a method collects": (
        "class Hooks:\n"
        "    def __init__(self): self.hooks = []\n"
        "    def add(self, *hooks): self.hooks.extend(hooks)\n"
        "    def run(self):\n"
        "        for hook in self.hooks: hook()\n\n"
        "hooks = Hooks()\n"
        "hooks.add(work)",
        "hooks.run()",
    ),
    "what a function collects": (
        "def run_all(*functions):\n    for function in functions: function()\n",
        "run_all(print, work)",
    ),
}


@pytest.mark.parametrize("title", KEPT)
def test_a_function_that_a_container_keeps_runs_where_an_element_is_called(tmp_path, title):
    kept, use = KEPT[title]
    text = f"""
from flask import Flask
app = Flask(__name__)

def work(): CALL

{kept}

@app.route("/")
def view(): {use}
"""
    files = {"views.py": text, "Procfile": "web: gunicorn -k gevent views:app\n"}
    (one,) = reported(tmp_path, files)
    assert "request" == one.context
    assert "ERROR" == one.severity.name


@pytest.mark.parametrize("title", KEPT)
@pytest.mark.parametrize("used", ["request", "startup"])
def test_a_class_that_a_container_keeps_is_made_where_an_element_is_called(tmp_path, title, used):
    kept, use = KEPT[title]
    uses = {"request": f'@app.route("/")\ndef view(): {use}\n', "startup": f"{use}\n"}
    text = f"""
from flask import Flask
app = Flask(__name__)

class work:
    def __init__(self): CALL

{kept}

{uses[used]}
"""
    files = {"views.py": text, "Procfile": "web: gunicorn -k gevent views:app\n"}
    (one,) = reported(tmp_path, files, min_severity="note")
    assert one.context == used


@pytest.mark.parametrize("on_class", [False, True])
def test_a_decorator_of_the_project_puts_a_function_into_a_table(tmp_path, on_class):
    if on_class:
        register = """
            class Router:
                def __init__(self): self.table = {}
                def on(self, name):
                    def wrap(function):
                        self.table[name] = function
                        return function
                    return wrap
                def run(self, name): return self.table[name]()

            router = Router()
            on, run = router.on, router.run
            """
    else:
        register = """
            TABLE = {}

            def on(name):
                def wrap(function):
                    TABLE[name] = function
                    return function
                return wrap

            def run(name): return TABLE[name]()
            """
    files = {
        "register.py": register,
        "work.py": """
            from register import on

            @on("place")
            def place(): CALL
            """,
        "views.py": """
            from flask import Flask
            import work
            from register import run
            app = Flask(__name__)

            @app.route("/")
            def view(): return run("place")
            """,
    }
    (one,) = reported(tmp_path, files)
    assert ["request", "ERROR"] == [one.context, one.severity.name]


def test_a_property_of_a_known_object_is_proven(tmp_path):
    text = """
        from flask import Flask
        app = Flask(__name__)

        class Store:
            @property
            def connection(self): CALL

        store = Store()

        @app.route("/")
        def view(): return store.connection.cursor()
        """
    (one,) = reported(tmp_path, {"views.py": text})
    assert ["request", "ERROR"] == [one.context, one.severity.name]


@pytest.mark.parametrize(
    ("read", "context"),
    [
        ("audit = Audit(1)\n            audit.keys", "unknown"),
        ("stock = {}\n            stock.keys()", "unknown"),
        ("store.keys", "request"),
        ("Derived().keys", "request"),
        ("load().keys", "request"),
    ],
)
def test_a_property_is_not_read_from_an_object_of_another_class(tmp_path, read, context):
    text = f"""
        from flask import Flask
        app = Flask(__name__)

        class Store:
            @property
            def keys(self): CALL

        class Derived(Store): pass
        class Audit:
            def __init__(self, keys): self.keys = keys

        store = Store()

        @app.route("/")
        def view():
            {read}
        """
    (one,) = reported(tmp_path, {"views.py": text})
    assert context == one.context


SINGLE = {
    "a class method": """
        class Store:
            one = None
            def __init__(self): CALL
            @classmethod
            def get(cls):
                if cls.one is None: cls.one = cls()
                return cls.one
        """,
    "a static method": """
        class Store:
            def __init__(self): CALL
            @staticmethod
            def get(): return Store()
        """,
    "a factory or a method": """
        class Store:
            def __init__(self, make=None): self.make = make or self.made
            def made(self): CALL
            @staticmethod
            def get(): return Store().make()
        """,
    "an abstract handler in a dict": """
        from abc import ABC, abstractmethod

        class Handler(ABC):
            @abstractmethod
            def __call__(self): ...

        class Place(Handler):
            def __call__(self): CALL

        class Store:
            handlers: dict[str, Handler] = {}
            @classmethod
            def get(cls): return cls.handlers["place"]()

        Store.handlers["place"] = Place()
        """,
}


@pytest.mark.parametrize("title", SINGLE)
def test_a_class_makes_its_own_object(tmp_path, title):
    view = """
from flask import Flask
app = Flask(__name__)

@app.route("/")
def view(): return Store.get()
"""
    text = textwrap.dedent(SINGLE[title]) + view
    files = {"views.py": text, "Procfile": "web: gunicorn -k gevent views:app\n"}
    (one,) = reported(tmp_path, files)
    assert ["request", "ERROR"] == [one.context, one.severity.name]


MADE_BY_FRAMEWORKS = {
    "a view": """
        from flask import Flask
        from flask.views import MethodView
        app = Flask(__name__)

        class Orders(MethodView):
            def __init__(self, store): self.store = store
            def get(self): return self.store.place()

        app.add_url_rule("/", view_func=Orders.as_view("orders", STORE))
        """,
    "a view with a keyword": """
        from flask import Flask
        from flask.views import View
        app = Flask(__name__)

        class Orders(View):
            def __init__(self, store): self.store = store
            def dispatch_request(self): return self.store.place()

        app.add_url_rule("/", view_func=Orders.as_view("orders", store=STORE))
        """,
    "a resource": """
        from flask_restful import Api, Resource
        api = Api()

        class Orders(Resource):
            def __init__(self, store): self.store = store
            def get(self): return self.store.place()

        api.add_resource(Orders, "/", resource_class_kwargs={"store": STORE})
        """,
    "a resource with positional arguments": """
        from flask_restx import Api, Resource
        api = Api()

        class Orders(Resource):
            def __init__(self, api, store): self.store = store
            def get(self): return self.store.place()

        api.add_resource(Orders, "/", resource_class_args=(api, STORE))
        """,
    "a proxy": """
        from flask import Flask
        from werkzeug.local import LocalProxy
        app = Flask(__name__)

        def find(): return STORE
        store = LocalProxy(find)

        @app.route("/")
        def view(): return store.place()
        """,
    "a lazy object": """
        from flask import Flask
        from django.utils.functional import SimpleLazyObject
        app = Flask(__name__)
        store = SimpleLazyObject(lambda: STORE)

        @app.route("/")
        def view(): return store.place()
        """,
}


@pytest.mark.parametrize("title", MADE_BY_FRAMEWORKS)
def test_what_a_framework_gives_to_a_constructor_is_known(tmp_path, title):
    text = textwrap.dedent(MADE_BY_FRAMEWORKS[title]).replace("STORE", "Store()")
    text = "class Store:\n    def place(self): CALL\n" + text
    (one,) = reported(tmp_path, {"views.py": text})
    assert ["request", "ERROR"] == [one.context, one.severity.name]


def test_a_task_is_an_object_of_its_base(tmp_path):
    text = """
        from celery import Celery, Task
        app = Celery()

        class Store(Task):
            def place(self): CALL

        @app.task(bind=True, base=Store)
        def place(self): self.place()
        """
    (one,) = (one for one in reported(tmp_path, {"tasks.py": text}) if one.symbol == "os.system")
    assert ["task", "place() → Store.place() → os.system()".split(" → ")] == [
        one.context,
        [step.removeprefix("task ") for step in ways(one)],
    ]


@pytest.mark.parametrize("watcher", ["timer(1)", "io(0, 1)", "async_()"])
def test_the_loop_calls_back_in_the_hub(tmp_path, watcher):
    text = f"""
        import gevent
        def work(): CALL

        watcher = gevent.get_hub().loop.{watcher}
        watcher.start(work)
        """
    (one,) = (one for one in reported(tmp_path, {"work.py": text}) if one.symbol == "os.system")
    assert ["hub", "ERROR"] == [one.context, one.severity.name]


BUS = """
import os
from collections import defaultdict
import gevent
from flask import Flask

class Paid:
    pass

class Imported:
    pass

class Bus:
    def __init__(self):
        self.handlers = defaultdict(list)

    def on(self, kind):
        def register(handler):
            self.handlers[kind].append(handler)
            return handler
        return register

    def add(self, kind, handler):
        self.handlers[kind].append(handler)

    def emit(self, event):
        EMIT

bus = Bus()

DECORATOR
def handle(event):
    os.system("sync")

CALL

app = Flask(__name__)

@app.route("/")
def index():
    bus.emit(Paid())
"""


@pytest.mark.parametrize(
    "emit",
    [
        "for handler in self.handlers[type(event)]: handler(event)",
        "for handler in list(self.handlers[type(event)]): handler(event)",
        "for handler in self.handlers.get(event.__class__, ()): handler(event)",
        "[gevent.spawn(handler, event) for handler in self.handlers[type(event)]]",
        "for handler in self.handlers[type(event)]: gevent.spawn(handler, event)",
    ],
)
def test_a_bus_runs_the_handlers_of_an_event_s_class(tmp_path, emit):
    contexts = contexts_of_handlers(tmp_path, emit, "@bus.on(KIND)", "")

    assert contexts["Paid"] in (["request"], ["greenlet"])
    assert contexts["Imported"] not in (["request"], ["greenlet"])


def test_a_bus_runs_the_handlers_that_a_call_registers_for_a_class(tmp_path):
    emit = "for handler in self.handlers[type(event)]: handler(event)"
    contexts = contexts_of_handlers(tmp_path, emit, "", "bus.add(KIND, handle)")

    assert contexts["Paid"] == ["request"]
    assert contexts["Imported"] != ["request"]


def test_a_bus_runs_every_handler_for_an_event_of_unknown_class(tmp_path):
    emit = "for handler in self.handlers[type(event)]: handler(event)"
    contexts = contexts_of_handlers(tmp_path, emit, "@bus.on(KIND)", "", event="unknown()")

    assert {"Paid": ["request"], "Imported": ["request"]} == contexts


def contexts_of_handlers(tmp_path, emit, decorator, call, event="Paid()"):
    """The contexts of a handler, by the class for which it is registered."""
    contexts = {}
    text = BUS.replace("EMIT", emit).replace("DECORATOR", decorator).replace("CALL", call)
    for kind in ("Paid", "Imported"):
        (tmp_path / kind).mkdir()
        path = tmp_path / kind / "shop.py"
        written = text.replace("KIND", kind).replace("bus.emit(Paid())", f"bus.emit({event})")
        path.write_text(written, encoding="utf-8")
        config = Config(root=str(path.parent), filename=str(path.parent / "gblock.toml"))
        found = check([str(path.parent)], config, all_contexts=True).diagnostics
        contexts[kind] = [one.context for one in found if one.symbol == "os.system"]
    return contexts


@pytest.mark.parametrize(
    ("where", "expected"), [("", "startup"), ("@app.route('/')\ndef index(): ", "request")]
)
def test_a_field_s_factory_runs_where_an_object_is_made(tmp_path, where, expected):
    text = (
        "from gevent import monkey; monkey.patch_all()\n"
        "import dataclasses, os\nfrom flask import Flask\napp = Flask('')\n"
        "@dataclasses.dataclass\nclass Shop:\n"
        "    state: object = dataclasses.field(default_factory=lambda: os.system('sync'))\n"
        f"{where}Shop()\n"
    )
    (tmp_path / "shop.py").write_text(text, encoding="utf-8")
    (tmp_path / "Procfile").write_text("web: gunicorn -k gevent shop:app\n", encoding="utf-8")
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    found = check([str(tmp_path)], config, all_contexts=True, min_severity="note").diagnostics

    assert [expected] == [one.context for one in found if one.symbol == "os.system"]


@pytest.mark.parametrize(
    ("other", "is_used"),
    [
        ("def halt(): pass\nclass Panel:\n    def stop(self): halt()\n", False),
        ("class Panel:\n    def halt(self): pass\n", False),
        ("class Panel:\n    def halt(self): pass\n    def stop(self): self.halt()\n", True),
        ("def halt(): pass\nTABLE = {'halt': 1}\n", True),
        ("import tools\ndef halt(): pass\nTABLE = [tools.halt]\n", True),
        ("from tools import (\n    other,\n    halt,\n)\n", True),
        ("TABLE = [halt]\n", True),
    ],
)
def test_a_function_of_the_same_name_elsewhere_is_no_use(tmp_path, other, is_used):
    files = {f"part{number}.py": "X = 1\n" for number in range(10)}
    files |= {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "app.py": "import tools, panel\ndef app(environ, start_response): pass\n",
        "panel.py": other,
        "tools.py": "import fcntl\ndef halt(): fcntl.flock(1, fcntl.LOCK_EX)\n",
    }
    (one,) = reported(tmp_path, files)
    assert [Severity.WARNING if is_used else Severity.NOTE] == [one.severity]


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        ("threading.Thread", "", Severity.NOTE),
        ("threading.Thread", "import tools\ntools.Halt().start()\n", Severity.ERROR),
        ("threading.Thread", "KINDS = {'Halt': None}\n", Severity.ERROR),
        ("gevent.Greenlet", "", Severity.NOTE),
    ],
)
def test_a_thread_whose_class_nothing_names_is_a_note(tmp_path, base, other, expected):
    files = {f"part{number}.py": "X = 1\n" for number in range(20)}
    files |= {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "app.py": "import tools, panel\ndef app(environ, start_response): pass\n",
        "panel.py": other,
        "notes.txt": "run start\n",
        "tools.py": f"import fcntl, gevent, threading\nclass Halt({base}):\n"
        "    def run(self): fcntl.flock(1, fcntl.LOCK_EX)\n",
    }
    (one,) = reported(tmp_path, files)
    assert [expected] == [one.severity]


@pytest.mark.parametrize(
    ("patch", "start", "context"),
    [
        ("", "", "native-thread"),
        ("from gevent import monkey; monkey.patch_all()\n", "", "greenlet"),
        ("", "web: gunicorn -k gevent server:app\n", "greenlet"),
    ],
)
def test_a_thread_of_a_script_is_native_where_the_script_does_not_patch(
    tmp_path, patch, start, context
):
    files = {
        "Procfile": start,
        "server.py": f"{patch}from gevent.pywsgi import WSGIServer\nfrom worker import begin\n"
        "def app(environ, start_response): begin()\n"
        "WSGIServer(('', 80), app).serve_forever()\n",
        "worker.py": "import threading\ndef check(x): CALL\nSTEPS = [check]\n"
        "def execute():\n    for step in STEPS: step(1)\n"
        "def begin(): threading.Thread(target=execute).start()\n",
    }
    assert [context] == [one.context for one in reported(tmp_path, files) if one.symbol]


@pytest.mark.parametrize("made", ["flask.Flask", "flask_api.FlaskAPI", "eve.Eve"])
def test_a_class_of_a_package_that_derives_from_a_framework_s_has_its_entries(tmp_path, made):
    package, _, name = made.partition(".")
    files = {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "app.py": f"from {package} import {name}\napp = {name}(__name__)\n",
        "views.py": "from app import app\n@app.route('/')\ndef index(): CALL\n",
    }
    assert ["request"] == [one.context for one in reported(tmp_path, files)]


WAIT = "import fcntl\ndef halt(this): fcntl.flock(1, fcntl.LOCK_EX)\nTABLE = {'halt': halt}\n"


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ({"app.py": "import tools"}, Severity.WARNING),
        ({"app.py": "", "other.py": "import tools"}, Severity.NOTE),
        ({"app.py": ""}, Severity.WARNING),  # a plug-in?
        ({"other.py": "import tools"}, Severity.WARNING),  # what the service imports is not known
    ],
)
def test_a_call_of_unknown_callers_counts_where_a_service_imports_it(tmp_path, modules, expected):
    files = {"Procfile": "web: gunicorn -k gevent app:app\n", "tools.py": WAIT}
    files |= {name: f"{text}\ndef app(environ, start): pass\n" for name, text in modules.items()}
    (one,) = reported(tmp_path, files)
    assert [("unknown", expected)] == [(one.context, one.severity)]


@pytest.mark.parametrize(
    ("size", "call", "expected"),
    [
        (20, "os.system('sync')", Severity.NOTE),
        (2, "os.system('sync')", Severity.WARNING),
    ],
)
def test_a_program_that_unknown_callers_start_is_seldom_the_service_s(
    tmp_path, size, call, expected
):
    files = {f"part{number}.py": "X = 1\n" for number in range(size)}
    files |= {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "app.py": "import tools\ndef app(environ, start_response): pass\n",
        "tools.py": WAIT.replace("fcntl.flock(1, fcntl.LOCK_EX)", call),
    }
    (one,) = reported(tmp_path, files)
    assert [("unknown", expected)] == [(one.context, one.severity)]


LONE = WAIT.partition("TABLE")[0]


@pytest.mark.parametrize(
    ("size", "tools", "extra", "expected"),
    [
        (20, LONE, {}, Severity.NOTE),
        (20, WAIT, {}, Severity.WARNING),  # a table keeps it
        (10, LONE, {}, Severity.WARNING),  # an excerpt?
        (20, LONE, {"setup.py": "setup(classifiers=[])\n"}, Severity.WARNING),  # for others
        (20, LONE, {"Procfile": "web: gunicorn -k gevent $APP\n"}, Severity.WARNING),
        (20, f"import kiosk\n{LONE}kiosk.add(halt)\n", {}, Severity.WARNING),
        (20, LONE.replace("def halt", "import kiosk\n@kiosk.add\ndef halt"), {}, Severity.WARNING),
        (20, LONE.replace("def halt", "@bus.add\ndef halt"), {}, Severity.WARNING),
        (20, LONE.replace("def halt", "@functools.cache\ndef halt"), {}, Severity.NOTE),
        (
            20,
            "import kiosk, fcntl\nclass Panel(kiosk.Panel):\n"
            "    def halt(self): fcntl.flock(1, fcntl.LOCK_EX)\n",
            {},
            Severity.WARNING,
        ),
        (
            20,
            "import fcntl\nfrom django.db import models\nclass Panel(models.Model):\n"
            "    def halt(self): fcntl.flock(1, fcntl.LOCK_EX)\n",
            {},
            Severity.NOTE,  # the catalog has what Django calls
        ),
    ],
)
def test_what_only_code_of_others_may_call_counts(tmp_path, size, tools, extra, expected):
    files = {f"part{number}.py": "X = 1\n" for number in range(size)}
    files |= {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "app.py": "import tools\ndef app(environ, start_response): pass\n",
        "tools.py": f"import functools\n{tools}",
        "other.py": "def run(panel): panel.halt(1)\n",
    }
    (one,) = reported(tmp_path, files | extra)
    assert [("unknown", expected)] == [(one.context, one.severity)]


def test_all_that_hashes_passwords_in_django_is_one_cause(tmp_path):
    files = {
        "Procfile": "web: gunicorn -k gevent urls:app\n",
        "urls.py": """\
            from django.contrib.auth.views import LoginView
            from django.urls import path
            import views
            urlpatterns = [path("login", LoginView.as_view()), path("", views.enter)]
            """,
        "views.py": """\
            from django.contrib.auth import authenticate
            def enter(request):
                return authenticate(request, password=request.POST["password"])
            """,
    }
    found = reported(tmp_path, files)
    assert (2, 1) == (len(found), len({one.cause for one in found}))


@pytest.mark.parametrize(
    ("application", "is_run"), [("Celery('mails')", False), ("render.app", True)]
)
def test_a_worker_runs_the_tasks_of_its_own_application(tmp_path, application, is_run):
    task = "from celery import Celery\nfrom docs import render\napp = {}\n@app.task\ndef {}(): {}\n"
    files = {
        "Procfile": "mails: celery -A docs.mails worker -P gevent\n"
        "render: celery -A docs.render worker --pool prefork\n",
        "docs/__init__.py": "import docs.mails\nimport docs.render\n",
        "docs/mails.py": task.format(application, "send", "pass"),
        "docs/render.py": task.format("Celery('render')", "draw", "CALL"),
    }
    (found,) = reported(tmp_path, files)
    assert is_run == (found.context == "task")


_COMMAND = """\
import os
from django.core.management.base import BaseCommand
class Command(BaseCommand):
    def handle(self, *args, **options): self.work()
    def work(self): os.system("sleep 1")
"""


@pytest.mark.parametrize(
    ("call", "context"),
    [
        ('call_command("rebuild", "--all")', "request"),
        ('call_command(command_name="rebuild")', "request"),
        ("call_command(NAME)", "request"),
        ('management.call_command("rebuild")', "request"),
        ('run("rebuild")', "request"),
        ('call_command("other")', "command"),
        ('print("rebuild")', "command"),
        ('shop_call_command("rebuild")', "command"),
    ],
)
def test_a_management_command_runs_where_code_calls_it_by_name(tmp_path, call, context):
    views = f"""\
from django.core import management
from django.core.management import call_command
from django.core.management import call_command as run
NAME = "rebuild"
def rebuild(request): {call}
"""
    files = {
        "manage.py": "import os\nfrom django.core import management\n"
        "if __name__ == '__main__':\n"
        "    os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
        "    management.execute_from_command_line()\n",
        "shop/__init__.py": "",
        "shop/settings.py": "ROOT_URLCONF = 'shop.urls'\nINSTALLED_APPS = ['shop']\n",
        "shop/urls.py": "from django.urls import path\nfrom shop import views\n"
        "urlpatterns = [path('rebuild', views.rebuild)]\n",
        "shop/views.py": views,
        "shop/wsgi.py": "from django.core.wsgi import get_wsgi_application\n"
        "application = get_wsgi_application()\n",
        "shop/management/__init__.py": "",
        "shop/management/commands/__init__.py": "",
        "shop/management/commands/rebuild.py": _COMMAND,
        "Procfile": "web: gunicorn -k gevent shop.wsgi\n",
    }
    (diagnostic,) = reported(tmp_path, files, all_contexts=True)
    assert diagnostic.context == context


@pytest.mark.parametrize(
    ("registered", "context"),
    [
        ("signal.signal(signal.SIGHUP, reload)", "greenlet"),
        ("gevent.signal_handler(signal.SIGHUP, reload)", "greenlet"),
        ("USED = signal.SIGUSR2\nsignal.signal(USED, reload)", "greenlet"),
        ("for one in (signal.SIGHUP, signal.SIGUSR1): signal.signal(one, reload)", "greenlet"),
        ("signal.signal(signal.SIGTERM, reload)", "shutdown"),
        ("gevent.signal_handler(signal.SIGINT, reload)", "shutdown"),
        ("for one in (signal.SIGHUP, signal.SIGTERM): signal.signal(one, reload)", "shutdown"),
        (
            "signal.signal(signal.SIGHUP, reload)\nsignal.signal(signal.SIGTERM, reload)",
            "shutdown",
        ),
        ("signal.signal(NUMBER, reload)", "shutdown"),
    ],
)
def test_a_handler_of_a_signal_that_ends_nothing_runs_while_the_service_serves(
    tmp_path, registered, context
):
    text = "from gevent import monkey; monkey.patch_all()\nimport gevent, os, signal\n"
    text += f"def reload(*_): os.system('make')\n{registered}\n"
    text += "while True: gevent.sleep(1)\n"
    files = {"app.py": text, "Procfile": "web: python app.py\n"}
    (diagnostic,) = reported(tmp_path, files, all_contexts=True)
    assert diagnostic.context == context


VALIDATED = """
    from attr import attrs, attrib
    from pydantic import BaseModel, field_validator, model_validator, validator

    class Order(BaseModel):
        place: str

        {decorator}
        def check(self, *given): CALL

    class Urgent(Order):
        pass

    @attrs
    class Parcel:
        place = attrib()

        @place.validator
        def check_place(self, attribute, value): CALL
    """


@pytest.mark.parametrize(
    "decorator",
    ["@field_validator('place')", "@model_validator(mode='after')", "@validator('place')"],
)
@pytest.mark.parametrize(
    ("made", "checked"),
    [
        ("Order(place='a')", {"check"}),
        ("Urgent(place='a')", {"check"}),
        ("Order.model_validate({})", {"check"}),
        ("Urgent.parse_obj({})", {"check"}),
        ("Parcel('a')", {"check_place"}),
        ("Order.model_json_schema()", set()),
    ],
)
def test_a_validator_runs_where_an_object_is_made(tmp_path, decorator, made, checked):
    files = {
        "Procfile": "web: gunicorn -k gevent app:application\n",
        "orders.py": VALIDATED.format(decorator=decorator),
        "app.py": "from orders import Order, Parcel, Urgent\n\n"
        f"def application(environ, start_response):\n    {made}\n",
    }
    found = [one for one in reported(tmp_path, files) if one.symbol == "os.system"]
    run = [ways(one)[-2] for one in found if one.context == "request"]
    assert checked == {way.rpartition(".")[2].removesuffix("()") for way in run}


@pytest.mark.parametrize(
    ("start", "guard", "contexts"),
    [
        ("import service\n", "", {"request"}),
        ("", "", {"request"}),  # a plug-in?
        ("", "if __name__ == '__main__': print()", set()),
    ],
)
def test_a_common_name_is_looked_for_where_a_program_leads_to_both_files(
    tmp_path, start, guard, contexts
):
    files = {
        "service.py": f"""
            import registry

            class Orders:
                def refresh(self): CALL

            registry.add(Orders())
            {guard}
            """,
        "registry.py": "kept = []\ndef add(one): kept.append(one)\n",
        "web.py": f"""
            {start}
            from flask import Flask
            import registry

            app = Flask(__name__)

            @app.route("/")
            def index():
                for one in registry.kept:
                    one.refresh()
            """,
        "Procfile": "web: gunicorn -k gevent web:app\n",
    }
    files |= {f"other{n}.py": "def run(page):\n    page.refresh()\n" for n in range(15)}
    found = reported(tmp_path, files)
    assert contexts == {one.context for one in found if one.symbol == "os.system"}


@pytest.mark.parametrize(
    ("load", "contexts"),
    [
        ('getattr(import_module(config["module"]), "Login")()', ["request"]),
        ('import_module(config["module"]).Login()', ["request"]),
        ('getattr(import_module(config.get("module", "shop.auth.plain")), "Login")()', ["request"]),
        ('import_module("shop.auth." + config["module"]).Login()', ["request"]),
        ('import_module(f"shop.auth.{name}").Login()', ["request"]),
        ('getattr(import_module(f"shop.auth.{name}"), name)()', ["request"]),
        ('import_module("shop.auth.plain").Login()', ["unknown"]),
        ('import_module(f"shop.mail.{name}").Login()', ["unknown"]),
    ],
)
def test_a_class_of_a_module_that_settings_name(tmp_path, load, contexts):
    files = {
        "shop/__init__.py": "",
        "shop/mail/__init__.py": "",
        "shop/mail/smtp.py": "class Post: pass\n",
        "shop/auth/__init__.py": "",
        "shop/auth/plain.py": "class Login:\n    def verify(self, name): return True\n",
        "shop/auth/ldap.py": "class Login:\n    def verify(self, name): CALL\n",
        "app.py": f"""
            from importlib import import_module
            from flask import Flask
            app = Flask(__name__)

            def init(config, name):
                global login
                login = {load}

            @app.route("/")
            def index(): login.verify("ada")
            """,
    }
    if contexts == ["unknown"]:  # else a rare name would identify the method
        files |= {f"page{n}.py": "def run(page): return page.verify\n" for n in range(15)}
    assert contexts == [one.context for one in reported(tmp_path, files) if one.symbol]


def test_a_class_of_a_module_that_code_imports_is_not_loaded_by_a_setting(tmp_path):
    files = {
        "ldap.py": "class Login:\n    def verify(self, name): CALL\n",
        "other.py": "import ldap\n",
        "app.py": """
            from importlib import import_module
            from flask import Flask
            app = Flask(__name__)
            login = import_module(os.environ["LOGIN"]).Login()

            @app.route("/")
            def index(): login.verify("ada")
            """,
    }
    files |= {f"page{n}.py": "def run(page): page.verify(1)\n" for n in range(15)}
    assert ["unknown"] == [one.context for one in reported(tmp_path, files) if one.symbol]


def test_an_attribute_holds_a_method_under_another_name(tmp_path):
    files = {
        "login.py": """
            class Login:
                def __init__(self, config):
                    if config: self.verify = self._by_ldap
                    else: self.verify = self._by_name
                def _by_ldap(self, name): CALL
                def _by_name(self, name): return True
            """,
        "app.py": """
            from flask import Flask
            from login import Login
            app = Flask(__name__)
            login = Login({})

            @app.route("/")
            def index(): login.verify("ada")
            """,
    }
    assert ["request"] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("decorators", "dispatch", "context"),
    [
        (
            ["@exposed"],
            'method = getattr(self.api, name); getattr(method, "is_exposed", 0) and method()',
            "request",
        ),
        ([], "method = getattr(self.api, name); method()", "request"),
        (
            ["@exposed"],
            "for one in dir(self.api):\n            one = getattr(self.api, one)\n"
            '            if hasattr(one, "is_exposed"): one()',
            "request",
        ),
        # It has no attribute that the dispatcher tests for, or the name is another one.
        (
            [],
            'method = getattr(self.api, name); getattr(method, "is_exposed", 0) and method()',
            "unknown",
        ),
        ([], 'method = getattr(self.api, "do_" + name); method()', "unknown"),
    ],
)
def test_a_base_class_is_served_under_names_that_clients_send(
    tmp_path, decorators, dispatch, context
):
    files = {
        "base.py": f"""
            from flask import Flask
            app = Flask(__name__)

            def exposed(method):
                method.is_exposed = True
                return method

            class Api: pass

            class Server:
                def __init__(self, api: Api): self.api = api
                def answer(self, name):
                    {dispatch.replace(chr(10), chr(10) + " " * 12)}

            @app.route("/<name>")
            def index(name): Server(make()).answer(name)
            """,
        "orders.py": f"""
            from base import Api, exposed

            class Orders(Api):
                {" ".join(decorators) or "# plain"}
                def place(self): CALL
            """,
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


PLUGINS = """
    from flask import Flask
    import mail
    from plugins import Plugin, registered
    app = Flask(__name__)

    @app.route("/")
    def index():
        {use}
    """


@pytest.mark.parametrize(
    ("use", "context"),
    [
        ("for one in Plugin.everything(app): one.handle(1)", "request"),
        ("one = next(iter(Plugin.everything(app))); one.handle(1)", "request"),
        ("one = container.resolve(Plugin); one.handle(1)", "request"),
        ("registered.first(app).handle(1)", "unknown"),
        ("for one in Other.everything(app): one.handle(1)", "unknown"),
        ("for one in Plugin.everything(app): one.handle(1, 2, 3)", "unknown"),
        ("for one in Plugin.everything(app): one.handle(data=1)", "unknown"),
    ],
)
def test_an_object_that_a_class_gives_is_of_the_class(tmp_path, use, context):
    files = {
        "plugins.py": """
            from extensions import extensible, registered

            @extensible
            class Plugin:
                def handle(self, order): pass

            @extensible
            class Other: pass
            """,
        "mail.py": """
            from plugins import Plugin

            class Mail(Plugin):
                def handle(self, order): CALL
            """,
        "app.py": PLUGINS.format(use=use),
    }
    files |= {f"page{n}.py": "def run(page): return page.handle\n" for n in range(15)}
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("decorator", "use", "context"),
    [
        ("jadi.interface", "Plugin.all(app)[0].handle(1)", "request"),
        ("jadi.interface", "Plugin.any(app).handle(1)", "request"),
        ("jadi.service", "Plugin.get(app).handle(1)", "request"),
        ("dataclasses_json.dataclass_json", "Plugin.from_json(text).handle(1)", "request"),
        ("jadi.service", "len(Plugin.all(app)).handle(1)", "unknown"),
    ],
)
def test_a_decorator_adds_methods_to_a_class(tmp_path, decorator, use, context):
    files = {
        "plugins.py": f"""
            import {decorator.partition(".")[0]}
            registered = []

            @{decorator}
            class Plugin:
                def handle(self, order): CALL
            """,
        "mail.py": "",
        "app.py": PLUGINS.format(use=use),
    }
    files |= {f"page{n}.py": "def run(page): return page.handle\n" for n in range(15)}
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("name", "base", "context"),
    [
        ("run_query", "Runner", "request"),
        ("run_query", "object", "unknown"),  # there are other classes with such a method
        ("query", "Runner", "unknown"),  # a common word
    ],
)
def test_a_name_identifies_the_methods_of_a_family(tmp_path, name, base, context):
    files = {
        "runners.py": f"class Runner:\n    def {name}(self, text): raise NotImplementedError\n",
        "slow.py": f"""
            from runners import Runner

            class Slow({base}):
                def {name}(self, text): CALL
            """,
        "app.py": f"""
            from flask import Flask
            import slow
            app = Flask(__name__)

            @app.route("/<kind>")
            def index(kind): runners[kind].{name}("select 1")
            """,
    }
    files |= {
        f"runner{n}.py": f"""
            from runners import Runner

            class Runner{n}(Runner):
                def {name}(self, text): return []
            """
        for n in range(15)
    }
    found = [one for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [context] == [one.context for one in found]
    assert found[0].severity < Severity.ERROR


def test_a_callback_of_gevent_0_13_runs_when_its_descriptor_is_ready(tmp_path):
    text = """
        import gevent.core
        reading, writing = os.pipe()

        def read(event, kind): os.read(event.fd, 1)

        gevent.core.event(gevent.core.EV_READ, reading, read).add()
        """
    assert not [one for one in reported(tmp_path, {"work.py": text}) if one.symbol]


@pytest.mark.parametrize(
    ("command", "contexts"),
    [
        ("OFFLINE[sys.argv[1]]().handle()", {"find": "request", "rebuild": "command"}),
        ("Rebuild().handle()", {"find": "request", "rebuild": "command"}),
        ("Again().handle()", {"find": "request", "rebuild": "command"}),
        ("Other().handle()", {"find": "request", "rebuild": "request"}),  # no call is known
    ],
)
def test_an_inherited_method_runs_those_of_its_object(tmp_path, command, contexts):
    files = {
        "handlers.py": """
            class Task:
                def handle(self): return self.begin()
                def begin(self): return self.work()
                def work(self): raise NotImplementedError

            ONLINE, OFFLINE = {}, {}

            def online(cls):
                ONLINE[cls.__name__] = cls
                return cls

            def offline(cls):
                OFFLINE[cls.__name__] = cls
                return cls

            @online
            class Find(Task):
                def work(self): return find()

            @offline
            class Rebuild(Task):
                def work(self): return rebuild()

            class Again(Rebuild): pass
            class Other(Task): pass

            def find(): CALL
            def rebuild(): CALL
            """,
        "app.py": """
            from flask import Flask
            from handlers import ONLINE
            app = Flask(__name__)

            @app.route("/<kind>")
            def index(kind): return ONLINE[kind]().handle()
            """,
        "again.py": f"""
            import sys
            from handlers import OFFLINE, Again, Other, Rebuild

            if __name__ == "__main__":
                {command}
            """,
        "Procfile": "web: gunicorn -k gevent app:app",
    }
    found = reported(tmp_path, files)
    names = {one.path[-2].message.removesuffix("()"): one.context for one in found}
    assert contexts == names


@pytest.mark.parametrize(
    ("made", "context"),
    [
        ("pipe = redis.Redis().pipeline()", "unknown"),
        ("with redis.Redis().pipeline() as pipe: pipe.incr('a')", "unknown"),
        ("pipe = None or connection().pipeline()", "request"),
    ],
)
def test_an_object_that_a_package_makes_is_none_of_the_project(tmp_path, made, context):
    files = {
        "rebuild.py": "class Rebuild:\n    def execute(self): CALL\n",
        "app.py": f"""
            import redis
            from flask import Flask
            import rebuild
            app = Flask(__name__)

            @app.route("/")
            def index():
                {made}
                pipe.execute()
            """,
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("given", "test", "context"),
    [
        ("[1, 2]", "isinstance(rows, str)", "command"),
        ("{'a': 1}", "isinstance(rows, (str, list))", "command"),
        ("{'a': 1}", "isinstance(rows, dict)", "request"),
        ("'name'", "isinstance(rows, str)", "request"),
        ("Rows()", "isinstance(rows, str)", "command"),
        ("Rows()", "isinstance(rows, Rows)", "request"),
        ("Other()", "isinstance(rows, Rows)", "command"),
        ("unknown()", "isinstance(rows, str)", "request"),
        ("None", "rows is not None", "command"),
        ("given()", "rows is not None", "request"),  # a default that other callers replace
        ("[1]", "rows is not None", "request"),
        ("[1]", "rows is None", "command"),
        ("[1]", "rows == 1", "request"),
    ],
)
@pytest.mark.parametrize("kind", ["a function", "a constructor"])
def test_an_argument_that_never_comes_to_a_branch_runs_nothing_in_it(
    tmp_path, given, test, context, kind
):
    loading = f"(rows=None):\n    if {test}:\n        load()\n    return rows\n"
    if kind == "a constructor":
        body = loading.replace("(rows=", "(self, rows=").replace("return rows", "self.rows = rows")
        loading = "class read:\n    def __init__" + textwrap.indent(body, "    ").lstrip()
    else:
        loading = f"def read{loading}"
    files = {
        "table.py": f"class Rows: pass\nclass Other: pass\ndef load(): CALL\n{loading}",
        "app.py": f"""
            from flask import Flask
            from table import Other, Rows, read
            app = Flask(__name__)

            def given(rows=None): return rows

            @app.route("/")
            def index(): return read({given})
            """,
        "tool.py": """
            import sys
            from table import read

            if __name__ == "__main__":
                read(sys.argv[1])
            """,
        "Procfile": "web: gunicorn -k gevent app:app",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


NATIVE_SERVERS = {
    "Flask in another program": {
        "bots.py": """
            from gevent import monkey; monkey.patch_all()
            import gevent
            from app import create_app

            if __name__ == "__main__":
                gevent.spawn(create_app).join()
            """,
        "Procfile": "web: python app.py\nbots: python bots.py\n",
    },
    "CherryPy beside greenlets that a helper joins": {
        "helper.py": """
            import gevent

            def each(function, items):
                gevent.joinall([gevent.spawn(function, item) for item in items])
            """,
        "serve.py": """
            import cherrypy
            from app import app
            from helper import each

            cherrypy.tree.graft(app, "/")
            cherrypy.quickstart()
            """,
        "Procfile": "web: python serve.py\n",
    },
}


@pytest.mark.parametrize("title", NATIVE_SERVERS)
@pytest.mark.parametrize("server", ["", "WSGIServer(('', 80), app).serve_forever()\n"])
def test_a_request_runs_where_something_serves(tmp_path, title, server):
    files = dict(NATIVE_SERVERS[title])
    name = "bots.py" if "bots.py" in files else "serve.py"
    own = "from app import app\nfrom gevent.pywsgi import WSGIServer\n" + server
    files[name] = textwrap.dedent(files[name]) + (own if server else "")
    files["app.py"] = """
        from flask import Flask
        app = Flask(__name__)

        def create_app(): return app

        @app.route("/")
        def index(): CALL

        if __name__ == "__main__":
            app.run(port=80)
        """
    found = [one for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert ["request" if server else "other-process"] == [one.context for one in found]


@pytest.mark.parametrize(
    ("patch", "context"),
    [("", "native-thread"), ("from gevent import monkey; monkey.patch_all()\n", "greenlet")],
)
def test_callbacks_of_a_client_in_a_thread_run_in_the_thread(tmp_path, patch, context):
    text = """
        import threading
        import websocket
        from gevent.pywsgi import WSGIServer

        def on_message(client, message): CALL

        client = websocket.WebSocketApp("ws://feed", on_message=on_message)
        threading.Thread(target=client.run_forever).start()
        WSGIServer(("", 80), print).serve_forever()
        """
    files = {"serve.py": patch + textwrap.dedent(text), "Procfile": "web: python serve.py"}
    found = [one for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [context] == [one.context for one in found]


@pytest.mark.parametrize(
    ("given", "context"),
    [
        ("'a'", "command"),
        ("'a', 'b.txt', ''", "command"),
        ("'a', model='default'", "command"),
        ("'a', model='large'", "request"),
        ("'a', model=request.args['model']", "request"),
        ("*request.args", "request"),
    ],
)
def test_an_argument_that_is_left_out_may_end_a_call_early(tmp_path, given, context):
    files = {
        "speech.py": """
            def speak(text, name=None, model=""):
                if not model or model == "default":
                    return None
                CALL
            """,
        "app.py": f"""
            from flask import Flask, request
            from speech import speak
            app = Flask(__name__)

            @app.route("/")
            def index(): speak({given})
            """,
        "tool.py": """
            import sys
            from speech import speak

            if __name__ == "__main__":
                speak("a", model=sys.argv[1])
            """,
        "Procfile": "web: gunicorn -k gevent app:app",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize(
    ("body", "context"),
    [
        ("if flag and work(): return 1", "request"),
        ("if flag: return work()", "request"),
        ("if not flag: return work()", "command"),
        ("if not flag:\n        return 1\n    elif work(): return 2", "request"),
        ("if flag:\n        for one in work(): return 1", "request"),
        ("while flag: work()", "request"),
        ("work()\n    if flag: return 1", "request"),
        ("if flag: return 1\n    work()", "command"),
    ],
)
def test_a_statement_around_a_call_is_tested_wherever_the_call_is(tmp_path, body, context):
    files = {
        "branch.py": f"def work(): CALL\ndef run(flag):\n    {body}\n",
        "app.py": """
            from flask import Flask
            from branch import run
            app = Flask(__name__)

            @app.route("/")
            def index(): run(True)
            """,
        "tool.py": """
            import sys
            from branch import run

            if __name__ == "__main__":
                run(sys.argv[1])
            """,
        "Procfile": "web: gunicorn -k gevent app:app",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


def test_what_one_handler_alone_computes_is_one_cause(tmp_path):
    application = """\
        import bcrypt, seaborn
        from flask import Flask
        from matplotlib import pyplot
        import pictures

        app = Flask(__name__)

        @app.route("/plot")
        def plot():
            seaborn.heatmap([[1]])
            pyplot.savefig("plot.png")
            bcrypt.hashpw(b"x", bcrypt.gensalt())
            return pictures.read("x")

        @app.route("/draw")
        def draw():
            pyplot.savefig("other.png")
            return pictures.shared("x")

        @app.route("/show")
        def show():
            return pictures.shared("x")
        """
    pictures = """\
        import cv2

        def read(path):
            return cv2.imread(path)

        def shared(path):
            return cv2.imread(path)
        """
    files = {
        "app.py": application,
        "pictures.py": pictures,
        "Procfile": "web: gunicorn -k gevent app:app\n",
    }
    found = {
        (one.filename.rpartition("/")[2], one.location.row): one.cause
        for one in reported(tmp_path, files)
    }
    plotting = found["app.py", 11]
    alone = {place for place, cause in found.items() if cause == plotting}

    assert {("app.py", 11), ("app.py", 12), ("app.py", 18), ("pictures.py", 5)} == alone
    assert found["app.py", 13] != plotting  # passwords are hashed in one way everywhere
    assert found["pictures.py", 8] not in (plotting, found["app.py", 13])  # two handlers read it


@pytest.mark.parametrize(
    "head",
    ["from locust import HttpUser, task", "import locust\nfrom locust import task, HttpUser"],
)
def test_a_directory_is_no_package_that_is_installed(tree, head):
    """A package has precedence over a directory of its name without ``__init__.py``."""
    root = tree(
        {
            "locust/locustfile.py": f"{head}\nfrom common.data import orders\n"
            "class Buyer(HttpUser):\n    @task\n    def buy(self):\n        orders()\n",
            "locust/common/data.py": "import os\ndef orders():\n    os.wait()\n",
            "docker-compose.yml": "services:\n  load:\n    image: locustio/locust\n"
            "    command: -f locustfile.py --master\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [(one.blocker, one.context) for one in check([str(root)], config).diagnostics]
    assert [("os-wait", "greenlet")] == found


def test_no_path_leads_through_a_function_that_runs_in_native_threads(tree):
    root = tree(
        {
            "shop.py": "import gevent, os\nfrom flask import Flask\napp = Flask(__name__)\n"
            "def write():\n    os.fsync(1)\n"
            "def offloaded(function):\n    def wrapper(*args):\n"
            "        return gevent.get_hub().threadpool.apply(function, args)\n    return wrapper\n"
            "@offloaded\ndef aside():\n    write()\n"
            "def save():\n    write()\ndef save_all():\n    save()\n"
            "@app.route('/a')\ndef a():\n    aside()\n    return ''\n"
            "@app.route('/b')\ndef b():\n    save_all()\n    return ''\n",
            "Procfile": "web: gunicorn -k gevent shop:app\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    (found,) = check([str(root)], config).diagnostics
    assert ["GET /b", "save_all()", "save()", "write()", "os.fsync()"] == [
        step.message for step in found.path
    ]


@pytest.mark.parametrize(("use", "count"), [("", 0), ("login(request)", 1)])
def test_a_handler_that_only_an_unused_function_makes(tree, use, count):
    files = {f"shop/part{number}.py": "x = 1\n" for number in range(9)}
    files |= {
        "shop/__init__.py": "",
        "shop/settings.py": "ROOT_URLCONF = 'shop.urls'\n",
        "shop/wsgi.py": "import os\nos.environ['DJANGO_SETTINGS_MODULE'] = 'shop.settings'\n"
        "from django.core.wsgi import get_wsgi_application\napplication = get_wsgi_application()\n",
        "shop/urls.py": "from django.urls import path\nfrom shop import views\n"
        "urlpatterns = [path('', views.order)]\n",
        "shop/views.py": "from django.http import HttpResponse\n"
        f"from shop.users import {'login' if use else '*'}\n"
        f"def order(request):\n    {use}\n    return HttpResponse()\n",
        "shop/users.py": "from django.contrib.auth.views import LoginView\n__all__ = []\n"
        "def login(request):\n    return LoginView.as_view()(request)\n",
        "Procfile": "web: gunicorn -k gevent shop.wsgi\n",
    }
    root = tree(files)
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    assert count == len(check([str(root)], config).diagnostics)


@pytest.mark.parametrize(
    ("call", "patch", "count"),
    [
        ("multiprocessing.Pool(4).map(len, ['a'])", "monkey.patch_all()", 1),
        ("multiprocessing.Pool(4).map(len, ['a'])", "monkey.patch_all(thread=False)", 0),
        ("multiprocessing.Pool(4).map(len, ['a'])", "", 0),
        ("stub.unary_unary('/a').future(b'')", "monkey.patch_all()", 1),
        ("stub.unary_unary('/a').future(b'')", "monkey.patch_all(thread=False)", 0),
    ],
)
def test_what_waits_for_a_thread_that_monkey_patching_makes_a_greenlet(tree, call, patch, count):
    root = tree(
        {
            "shop.py": f"from gevent import monkey\n{patch}\nimport grpc, multiprocessing\n"
            "from flask import Flask\nfrom gevent.pywsgi import WSGIServer\napp = Flask('shop')\n"
            "stub = grpc.insecure_channel('a')\n"
            f"@app.route('/')\ndef order():\n    {call}\n    return ''\n"
            "if __name__ == '__main__':\n    WSGIServer(('', 80), app).serve_forever()\n",
            "Procfile": "web: python shop.py\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config, min_severity="note").diagnostics
    named = [one.blocker for one in found]
    assert count == sum(map(named.count, ("multiprocessing-pool", "grpcio-unary-unary-future")))
