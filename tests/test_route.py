"""The route or the task of a block, read from the frames of real frameworks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from probed import SETTLE, Probed, environment

HEAD = """
from gevent import monkey; monkey.patch_all()
import gevent, io, sys
from gevent.monkey import get_original

def block():
    get_original("time", "sleep")(0.3)

def ask(app, path="/orders/4711?token=SECRET"):
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query, "SCRIPT_NAME": "",
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr, "wsgi.multithread": False, "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    settle(0.2)
    def serve():
        for part in app(environ, lambda status, headers, info=None: None):
            assert b"done" in part, part
    gevent.spawn(serve).get()
    settle(0.2)
"""
APPLICATIONS = {
    "flask": (
        """
import flask
app = flask.Flask("shop")
@app.route("/orders/<int:number>")
def order(number):
    block()
    return "done"
ask(app)
""",
        "GET /orders/<int:number>",
    ),
    "django": (
        """
import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x")
django.setup()
def order(request, number):
    block()
    return HttpResponse("done")
urlpatterns = [path("orders/<int:number>", order)]
from django.core.wsgi import get_wsgi_application
ask(get_wsgi_application())
""",
        "GET /orders/<int:number>",
    ),
    "pyramid": (
        """
from pyramid.config import Configurator
from pyramid.response import Response
def order(request):
    block()
    return Response("done")
with Configurator() as config:
    config.add_route("order", "/orders/{number}")
    config.add_view(order, route_name="order")
ask(config.make_wsgi_app())
""",
        "GET /orders/{number}",
    ),
    "bottle": (
        """
import bottle
@bottle.route("/orders/<number>")
def order(number):
    block()
    return "done"
ask(bottle.default_app())
""",
        "GET /orders/<number>",
    ),
    "falcon": (
        """
import falcon
class Order:
    def on_get(self, req, resp, number):
        block()
        resp.text = "done"
app = falcon.App()
app.add_route("/orders/{number}", Order())
ask(app)
""",
        "GET /orders/{number}",
    ),
    "celery": (
        """
import celery
app = celery.Celery("shop", broker="memory://")
@app.task(name="shop.bill")
def bill(number):
    block()
settle(0.2)
gevent.spawn(bill.apply, args=("SECRET",)).get()
settle(0.2)
""",
        "shop.bill",
    ),
    "wsgi": (
        """
def app(environ, start_response):
    start_response("200 OK", [])
    block()
    return [b"done"]
ask(app)
""",
        None,
    ),
    "hostile": (
        """
import os
class Request(dict):
    def __getattribute__(self, name): os._exit(3)
    def __getattr__(self, name): os._exit(3)
    def __eq__(self, other): os._exit(3)
    __hash__ = dict.__hash__
    method = property(lambda self: os._exit(3))
    url_rule = property(lambda self: os._exit(3))
def view(request, req, environ, env):
    block()
settle(0.2)
gevent.spawn(view, Request(), Request, Request(), {"werkzeug.request": Request()}).get()
settle(0.2)
""",
        None,
    ),
}


def run(tmp_path, name, **settings):
    program = tmp_path / "service.py"
    program.write_text(HEAD + SETTLE + APPLICATIONS[name][0])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program],
        env=environment(tmp_path / "r", **settings),
        capture_output=True,
        text=True,
    )
    return Probed(tmp_path / "r", done.returncode, done.stdout, done.stderr)


@pytest.mark.live
@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_route_or_the_task_of_a_block_is_recorded(name, tmp_path):
    if name not in ("wsgi", "hostile"):
        pytest.importorskip(name)
    seen = run(tmp_path, name, GBLOCK_PROBE_ROUTE=1)
    long = [block for block in seen.records("block") if block["duration"] >= 0.28]

    assert 0 == seen.returncode, seen.stderr
    # gevent 22 with a new greenlet complains at the exit, probe or not.
    assert "gblock" not in seen.stderr
    assert long
    assert APPLICATIONS[name][1] in [block.get("route") for block in long]
    text = "".join(path.read_text() for path in seen.files)
    assert "SECRET" not in text
    assert "/4711" not in text  # a time may contain the number


@pytest.mark.live
def test_it_is_off_unless_asked_for(tmp_path):
    pytest.importorskip("flask")
    seen = run(tmp_path, "flask")

    assert seen.records("block")
    assert not [block for block in seen.records("block") if "route" in block]
