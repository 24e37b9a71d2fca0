"""Applications that a server's command names: what they are runs for each request."""

from __future__ import annotations

import pytest
from test_contexts import reported

CALLABLES = {
    "a function": "def app(env, start):\n    CALL\n",
    "an object": "class App:\n    def __call__(self, env, start): CALL\napp = App()\n",
    "middleware": (
        "class Audited:\n    def __init__(self, inner): self.inner = inner\n"
        "    def __call__(self, env, start):\n        CALL\n        return self.inner(env, start)\n"
        "def base(env, start): pass\napp = Audited(base)\n"
    ),
    "a method": (
        "class App:\n    def serve(self, env, start): CALL\nshop = App()\napp = shop.serve\n"
    ),
    "a closure": "def make():\n    def run(env, start): CALL\n    return run\napp = make()\n",
    "a derived class": (
        "class Base:\n    def __call__(self, env, start): return self.serve(env)\n"
        "class App(Base):\n    def serve(self, env): CALL\napp = App()\n"
    ),
}
MADE = {
    "a factory": (
        "class App:\n    def __call__(self, env, start): CALL\ndef create_app(): return App()\n"
    ),
    "a factory of a function": (
        "def create_app(name='shop'):\n    def run(env, start): CALL\n    return run\n"
    ),
}
COMMANDS = [
    ("Procfile", "web: gunicorn -k gevent shop:app\n"),
    ("uwsgi.ini", "[uwsgi]\nmodule = shop:app\ngevent = 100\ngevent-early-monkey-patch = true\n"),
    (
        "uwsgi.ini",
        "[uwsgi]\nwsgi-file = shop.py\ncallable = app\ngevent = 100\n"
        "gevent-early-monkey-patch = true\n",
    ),
]
FACTORIES = ["shop:create_app()", "'shop:create_app()'", "\"shop:create_app(name='a')\""]


def context(tmp_path, text, **files):
    found = reported(tmp_path, {"shop.py": text, **files})
    (one,) = [one for one in found if one.symbol == "os.system"]
    return one.context


@pytest.mark.parametrize("text", CALLABLES.values(), ids=CALLABLES)
@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_the_application_of_a_server_runs_in_requests(tmp_path, text, name, command):
    assert "request" == context(tmp_path, text, **{name: command})


@pytest.mark.parametrize("text", MADE.values(), ids=MADE)
@pytest.mark.parametrize("named", FACTORIES)
def test_what_a_factory_returns_runs_in_requests(tmp_path, text, named):
    command = f"web: gunicorn -k gevent {named}\n"
    assert "request" == context(tmp_path, text, Procfile=command)


@pytest.mark.parametrize("text", CALLABLES.values(), ids=CALLABLES)
def test_another_application_does_not(tmp_path, text):
    command = "web: gunicorn -k gevent shop:other\n"
    assert "request" != context(tmp_path, text, Procfile=command)
