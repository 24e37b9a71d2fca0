"""An application may have hundreds of plug-ins: their number changes nothing that is reported."""

from __future__ import annotations

import pytest
from harness import check

from gblock.config import Config

SERVER = """\
from flask import Flask, request
from registry import endpoints
import plugins
app = Flask(__name__)
@app.route("/api/<name>")
def api(name):
    return endpoints[name].run(url=request.args["url"])
"""
WORK = 'Image.open(url).convert("RGB").tobytes()'
FORMS = {
    "a decorator of classes": (
        """\
endpoints = {}
class Endpoint:
    def run(self, **given):
        return self.generate(**given)
def plugin(cls):
    made = cls()
    endpoints[cls.__name__] = made
    return made
""",
        """\
from registry import Endpoint, plugin
@plugin
class Plugin%d(Endpoint):
    def generate(self, url):
        return WORK
""",
    ),
    "a decorator of functions": (
        """\
endpoints = {}
class Endpoint:
    def __init__(self, function):
        self.function = function
    def run(self, **given):
        return self.function(**given)
def plugin(name):
    def decorate(function):
        endpoints[name] = Endpoint(function)
        return function
    return decorate
""",
        """\
from registry import plugin
@plugin("plugin%d")
def generate(url):
    return WORK
""",
    ),
    "each class that derives": (
        """\
endpoints = {}
class Endpoint:
    def __init_subclass__(cls, **given):
        endpoints[cls.__name__] = cls()
    def run(self, **given):
        return self.generate(**given)
""",
        """\
from registry import Endpoint
class Plugin%d(Endpoint):
    def generate(self, url):
        return WORK
""",
    ),
    "__subclasses__()": (
        """\
class Endpoint:
    def run(self, **given):
        return self.generate(**given)
def found():
    return {cls.__name__: cls() for cls in Endpoint.__subclasses__()}
endpoints = found()
""",
        """\
from registry import Endpoint
class Plugin%d(Endpoint):
    def generate(self, url):
        return WORK
""",
    ),
    "a call": (
        """\
class Registry(dict):
    def register(self, plugin):
        self[plugin.name] = plugin
endpoints = Registry()
class Endpoint:
    name = ""
    def run(self, **given):
        return self.generate(**given)
""",
        """\
from registry import Endpoint, endpoints
class Plugin%d(Endpoint):
    def generate(self, url):
        return WORK
endpoints.register(Plugin%d())
""",
    ),
    "a container": (
        """\
endpoints = {}
class Endpoint:
    def run(self, **given):
        raise NotImplementedError
""",
        """\
from registry import Endpoint, endpoints
class Plugin%d(Endpoint):
    def run(self, url):
        return WORK
endpoints["plugin%d"] = Plugin%d()
""",
    ),
}


@pytest.mark.parametrize("count", [2, 120])
@pytest.mark.parametrize("form", FORMS)
def test_as_many_plug_ins_as_there_are(tree, form, count):
    registry, plugin = FORMS[form]
    files = {
        f"plugins/plugin{number}.py": "from PIL import Image\n"
        + plugin.replace("%d", str(number)).replace("WORK", WORK)
        for number in range(count)
    }
    files["plugins/__init__.py"] = "".join(
        f"from plugins import plugin{number}\n" for number in range(count)
    )
    files |= {
        "registry.py": registry,
        "server.py": SERVER,
        "Procfile": "web: gunicorn -k gevent server:app\n",
    }
    root = tree(files)
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = check([str(root)], config).diagnostics
    assert {"request"} == {one.context for one in found}
    assert count == len(found)
