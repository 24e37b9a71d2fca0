"""A family of classes, each in a module of its own, as plug-ins are: all are followed.

The application makes one of them by a name that a request holds, in each of the usual ways.
"""

import pytest
from test_contexts import reported

BASE = """
class Runner:
    name = None

    def run(self, query):
        return self.execute(query)

    def execute(self, query):
        raise NotImplementedError
"""
TABLE = "RUNNERS = {}\n"
REGISTER = f"{TABLE}def register(cls):\n    RUNNERS[cls.name] = cls\n    return cls\n"
REGISTRY = """
class Registry:
    def __init__(self):
        self.items = {}

    def register(self, name):
        def add(cls):
            self.items[name] = cls
            return cls

        return add

    def get(self, name):
        return self.items[name]


registry = Registry()
"""
BY_NAME = 'import importlib\ndef module(): return importlib.import_module(f"runners.{key()}")\n'
TAKEN = "RUNNERS[key()]()"
FORMS = {
    "a decorator": (REGISTER + BASE, "@register", "", "RUNNERS", TAKEN),
    "a decorator with a name": (
        f"{TABLE}def register(name):\n    def add(cls):\n        RUNNERS[name] = cls\n"
        f"        return cls\n    return add\n{BASE}",
        "@register('NAME')",
        "",
        "RUNNERS",
        TAKEN,
    ),
    "a decorator of an object": (
        REGISTRY + BASE,
        "@registry.register('NAME')",
        "",
        "registry",
        "registry.get(key())()",
    ),
    "a call": (REGISTER + BASE, "", "register(NAME)", "RUNNERS", TAKEN),
    "a call, and a getter": (
        f"{REGISTER}def get(name): return RUNNERS[name]()\n{BASE}",
        "",
        "register(NAME)",
        "get",
        "get(key())",
    ),
    "an object": (
        f"RUNNERS = []\ndef register(one): RUNNERS.append(one)\n{BASE}",
        "",
        "register(NAME())",
        "RUNNERS",
        "next(one for one in RUNNERS if one.name == key())",
    ),
    "an item": (TABLE + BASE, "", "RUNNERS['NAME'] = NAME", "RUNNERS", TAKEN),
    "a hook of the base": (
        f"{TABLE}{BASE}\n    def __init_subclass__(cls):\n        RUNNERS[cls.name] = cls\n",
        "",
        "",
        "RUNNERS",
        TAKEN,
    ),
    "a metaclass": (
        f"{TABLE}class Meta(type):\n    def __init__(cls, name, bases, body):\n"
        f"        RUNNERS[name] = cls\n{BASE.replace('Runner:', 'Runner(metaclass=Meta):')}",
        "",
        "",
        "RUNNERS",
        TAKEN,
    ),
    "the subclasses": (
        BASE,
        "",
        "",
        "Runner",
        "{one.name: one for one in Runner.__subclasses__()}[key()]()",
    ),
    "a module of a computed name": (BASE, "", "Plugin = NAME", BY_NAME, "module().Plugin()"),
    "a class of a computed name": (BASE, "", "", BY_NAME, "getattr(module(), key())()"),
    "a function of one": (BASE, "", "def make(): return NAME()", BY_NAME, "module().make()"),
    "a declared base": (
        BASE,
        "",
        "",
        "from runners.base import Runner\ndef get(find) -> Runner: return find()\n",
        "get(app.find)",
    ),
}
MEMBERS = 30


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_class_of_a_family_is_followed(tmp_path, form):
    base, decorator, last, taken, made = form
    if "\n" not in taken:
        taken = f"from runners.base import {taken}\n"
    files = {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "runners/base.py": base,
        "app.py": f"from flask import Flask, request\n{taken}app = Flask(__name__)\n"
        "def key(): return request.args['key']\n"
        f"@app.route('/')\ndef index(): return {made}.run('x')\n",
    }
    for number in range(MEMBERS):
        files[f"runners/member_{number}.py"] = (
            f"from runners.base import *\n{decorator}\nclass Member{number}(Runner):\n"
            f"    name = 'member {number}'\n    def execute(self, query): CALL\n{last}\n"
        ).replace("NAME", f"Member{number}")
    found = [one.context for one in reported(tmp_path, files) if one.symbol]
    assert ["request"] * MEMBERS == found


ON = (
    "TABLE = {}\ndef on(name):\n    def add(function):\n        TABLE[name] = function\n"
    "        return function\n    return add\n"
)
BUS = """
class Bus:
    def __init__(self):
        self.handlers = {}

    def on(self, name, handler):
        self.handlers.setdefault(name, []).append(handler)

    def emit(self, name):
        for handler in self.handlers[name]:
            handler()


bus = Bus()
"""
FUNCTIONS = {
    "a decorator": (ON, "@on('NAME')\ndef NAME(): CALL", "TABLE[key()]()"),
    "functions of one name": (ON, "@on('NAME')\ndef handle(): CALL", "TABLE[key()]()"),
    "a list": ("KEPT = []\n", "def NAME(x): CALL\nKEPT.append(NAME)", "[one(1) for one in KEPT]"),
    "a signal": (
        "from blinker import Signal\nplaced = Signal()\n",
        "@placed.connect\ndef NAME(sender): CALL",
        "placed.send(1)",
    ),
    "an object": (BUS, "def NAME(): CALL\nbus.on('NAME', NAME)", "bus.emit('placed')"),
    "classes without a base": (
        "TABLE = {}\ndef add(cls):\n    TABLE[cls.__name__] = cls\n    return cls\n",
        "@add\nclass NAME:\n    def handle(self): CALL",
        "TABLE[key()]().handle()",
    ),
}


@pytest.mark.parametrize("form", FUNCTIONS.values(), ids=FUNCTIONS)
def test_each_function_of_a_registry_is_followed(tmp_path, form):
    registry, member, call = form
    files = {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "registry.py": registry,
        "app.py": "from flask import Flask, request\nfrom registry import *\n"
        "app = Flask(__name__)\ndef key(): return request.args['key']\n"
        f"@app.route('/')\ndef index(): {call}\n",
    }
    for number in range(MEMBERS):
        text = f"from registry import *\n{member}\n".replace("NAME", f"member_{number}")
        files[f"handlers/handler_{number}.py"] = text
    found = [one.context for one in reported(tmp_path, files) if one.symbol]
    assert ["request"] * MEMBERS == found


TOOLS = "class Client:\n    def lock(self): CALL\nclient = Client()\ndef lock(): CALL\n"


@pytest.mark.parametrize("call", ["lock()", "client.lock()", "Client().lock()"])
def test_a_request_is_found_among_many_commands(tmp_path, call):
    start = f"from tools import client, lock, Client\n{{}}\ndef run(): {call}\n"
    files = {
        "Procfile": "web: gunicorn -k gevent website:app\n",
        "tools.py": TOOLS,
        "website.py": start.format(
            "from flask import Flask\napp = Flask(__name__)\n@app.route('/')"
        ),
    }
    for number in range(60):
        files[f"command_{number}.py"] = start.format("import click\n@click.command()")
    contexts = {one.context for one in reported(tmp_path, files) if one.symbol}
    assert "request" in contexts
