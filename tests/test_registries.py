"""Functions and objects that registries, signals and computed names lead to.

A greenlet calls what a container keeps, or sends to a signal: the context of what runs is its own.
"""

from __future__ import annotations

import textwrap

import pytest
from harness import unrelated
from test_contexts import reported

HEAD = "from gevent import monkey\nmonkey.patch_all()\nimport gevent\nimport handlers\n"


def row_of(diagnostic):
    return diagnostic.location.row


def files_of(project):
    """Return the files of a project in which a greenlet runs the body of ``main.py``."""
    imports, body = project["main"]
    files = {f"{name}.py": text for name, text in project.items() if name != "main"}
    files["main.py"] = (
        f"{HEAD}{imports}\ndef serve(k, x):\n    while True:\n"
        + "".join(f"        {line}\n" for line in body.splitlines())
        + "\ngevent.spawn(serve, None, 2).join()\n"
    )
    return files


def annotated(handler):
    """Return a project whose registry annotates the functions that it keeps with a type."""
    registry = """
        TABLE: dict[str, Handler] = {}
        def on(name: str) -> Callable[[Handler], Handler]:
            def deco(fn: Handler) -> Handler:
                TABLE[name] = fn
                return fn
            return deco
        def get(k: str) -> Handler:
            return TABLE[k]
        """
    head = "from typing import Callable, Protocol\n"
    return {
        "reg": head + textwrap.dedent(handler).strip() + textwrap.dedent(registry),
        "handlers": """
            from reg import on
            @on("a")
            def place(x): CALL
            """,
        "main": ("from reg import get\n", "get(k)(x)"),
    }


FOLLOWED = {
    "a wrapper that a call makes": {
        "reg": """
            TABLE = {}
            def add(name, fn, wrap):
                TABLE[name] = wrap(fn)
            """,
        "handlers": """
            import reg
            def checked(fn):
                def inner(x):
                    CALL
                    return fn(x)
                return inner
            def place(x): pass
            reg.add("a", place, checked)
            """,
        "main": ("from reg import TABLE\n", "TABLE[k](x)"),
    },
    "a wrapper that a store makes": {
        "handlers": """
            TABLE = {}
            def checked(fn):
                def inner(x):
                    CALL
                    return fn(x)
                return inner
            def place(x): pass
            TABLE["a"] = checked(place)
            """,
        "main": ("from handlers import TABLE\n", "TABLE[k](x)"),
    },
    "annotated with a protocol": annotated(
        """
            class Handler(Protocol):
                def __call__(self, x: int) -> int: ...
            """
    ),
    "annotated with a callable": annotated("Handler = Callable[[int], int]"),
    "keywords that a dict's constructor is given": {
        "reg": """
            import functools
            import handlers
            class Table(dict):
                def __init__(self):
                    super().__init__(a=functools.partial(handlers.place, width=1))
            TABLE = Table()
            """,
        "handlers": """
            def place(x, *, width): CALL
            """,
        "main": ("from reg import TABLE\n", "TABLE[k](x)"),
    },
    "a display that a dict's constructor is given": {
        "reg": """
            import functools
            import handlers
            class Table(dict):
                def __init__(self):
                    super().__init__({'a': functools.partial(handlers.place, width=1)})
            TABLE = Table()
            """,
        "handlers": """
            def place(x, *, width): CALL
            """,
        "main": ("from reg import TABLE\n", "TABLE[k](x)"),
    },
    "keywords that a dict takes over": {
        "reg": """
            import functools
            import handlers
            class Table(dict):
                def __init__(self):
                    super().update(a=handlers.place)
            TABLE = Table()
            """,
        "handlers": """
            def place(x, *, width): CALL
            """,
        "main": ("from reg import TABLE\n", "TABLE[k](x)"),
    },
    "a dict that a function returns": {
        "reg": """
            import functools
            import handlers
            def table():
                return {"a": functools.partial(handlers.place, width=1)}
            """,
        "handlers": """
            def place(x, *, width): CALL
            """,
        "main": ("from reg import table\n", "table()[k](x)"),
    },
    "a table that a function of another module is given": {
        "run": "def dispatch(k, table, x):\n    for one in table:\n        one['fn'](x)\n",
        "handlers": "def place(x): CALL\nTABLE = [{'name': 'a', 'fn': place}]\n",
        "main": ("from run import dispatch\n", "dispatch(k, handlers.TABLE, x)"),
    },
    "a wrapper that a module makes": {
        "tools": "def retrying(fn):\n    def again(x):\n        CALL\n        return fn(x)\n"
        "    return again\n",
        "handlers": "from tools import retrying\nfetch = retrying(print)\n",
        "main": ("", "handlers.fetch(x)"),
    },
    "a decorator that a factory makes": {
        "tools": "def factory(get):\n    def decorate(fn):\n        def wrapper(*a):\n"
        "            CALL\n            return fn(*a)\n        return wrapper\n"
        "    return decorate\n",
        "handlers": "from tools import factory\nchecked = factory(int)\n"
        "@checked\ndef place(x): return x\n",
        "main": ("", "handlers.place(x)"),
    },
    "getter of a dict": {
        "reg": """
            TABLE = {}
            def on(*names):
                def deco(fn):
                    for n in names:
                        TABLE[n] = fn
                    return fn
                return deco
            def get(k):
                return TABLE[k]
            """,
        "handlers": """
            from reg import on
            @on('a')
            def place(x): CALL
            """,
        "main": ("from reg import get\n", "get(k)(x)"),
    },
    "getter that imports and splits": {
        "reg": """
            from urllib.parse import urlsplit
            TABLE = {}
            def on(name):
                def deco(fn):
                    TABLE[name] = fn
                    return fn
                return deco
            def get(k):
                import handlers
                return TABLE.get(urlsplit(k).netloc)
            """,
        "handlers": """
            from reg import on
            @on('a')
            def place(x):
                CALL
                yield 1
            """,
        "main": ("from reg import get\n", "items = list(get(k)(x))"),
    },
    "getter in a name": {
        "reg": """
            TABLE = {}
            def on(name):
                def deco(fn):
                    TABLE[name] = fn
                    return fn
                return deco
            def get(k):
                return TABLE[k]
            """,
        "handlers": """
            from reg import on
            @on('a')
            def place(x): CALL
            """,
        "main": ("import reg\n", "handler = reg.get(k)\nhandler(x)"),
    },
    "getter of a getter": {
        "reg": """
            TABLE = {}
            def on(name):
                def deco(fn):
                    TABLE[name] = fn
                    return fn
                return deco
            def find(k):
                fn = TABLE.get(k)
                if fn is None: raise KeyError(k)
                return fn
            """,
        "other": """
            from reg import find
            def get(k):
                return find(k)
            """,
        "handlers": """
            from reg import on
            @on('a')
            def place(x): CALL
            """,
        "main": ("from other import get\n", "get(k)(x)"),
    },
    "list with a getter": {
        "reg": """
            HOOKS = []
            def hook(fn):
                HOOKS.append(fn)
                return fn
            def hooks():
                return list(HOOKS)
            """,
        "handlers": """
            from reg import hook
            @hook
            def place(x): CALL
            """,
        "main": ("from reg import hooks\n", "for one in hooks():\n    one(x)"),
    },
    "generator of hooks": {
        "reg": """
            HOOKS = []
            def hook(fn):
                HOOKS.append(fn)
                return fn
            def hooks(k):
                for one in HOOKS:
                    if one.__name__ != k:
                        yield one
            """,
        "handlers": """
            from reg import hook
            @hook
            def place(x): CALL
            """,
        "main": ("from reg import hooks\n", "for one in hooks(k):\n    one(x)"),
    },
    "registry object, decorator method, get": {
        "reg": """
            class Registry:
                def __init__(self):
                    self._known = {}
                def register(self, name):
                    def deco(fn):
                        self._known[name] = fn
                        return fn
                    return deco
                def get(self, name):
                    return self._known[name]
            registry = Registry()
            """,
        "handlers": """
            from reg import registry
            @registry.register('a')
            def place(x): CALL
            """,
        "main": ("from reg import registry\n", "registry.get(k)(x)"),
    },
    "registry object, getitem": {
        "reg": """
            class Registry:
                def __init__(self):
                    self._known = {}
                def register(self, name):
                    def deco(fn):
                        self._known[name] = fn
                        return fn
                    return deco
                def __getitem__(self, name):
                    return self._known[name]
            registry = Registry()
            """,
        "handlers": """
            from reg import registry
            @registry.register('a')
            def place(x): CALL
            """,
        "main": ("from reg import registry\n", "registry[k](x)"),
    },
    "classes by decorator, called objects": {
        "reg": """
            STEPS = {}
            def step(name):
                def deco(obj):
                    STEPS[name] = obj
                    return obj
                return deco
            def make(k, **options):
                obj = STEPS[k]
                return obj(**options) if isinstance(obj, type) else obj
            """,
        "base": """
            class Step:
                def __init__(self, **options): self.options = options
                def __call__(self, x):
                    return self.process(x)
                def process(self, x): ...
            """,
        "handlers": """
            from reg import step
            from base import Step
            @step('a')
            class Place(Step):
                def process(self, x): CALL
            """,
        "pipe": """
            from reg import make
            class Pipeline:
                def __init__(self, steps): self.steps = steps
                @classmethod
                def named(cls, names):
                    return cls([make(n) for n in names])
                def execute(self, x):
                    for s in self.steps:
                        x = s(x)
            """,
        "main": ("from pipe import Pipeline\n", "Pipeline.named(k).execute(x)"),
    },
    "own signal, an object": {
        "reg": """
            class Signal:
                def __init__(self):
                    self.receivers = []
                def connect(self, fn):
                    self.receivers.append(fn)
                    return fn
                def send(self, *a, **kw):
                    return [(r, r(*a, **kw)) for r in self.receivers]
            placed = Signal()
            """,
        "handlers": """
            from reg import placed
            class Scorer:
                def __call__(self, x): CALL
            scorer = Scorer()
            placed.connect(scorer)
            """,
        "main": ("from reg import placed\n", "placed.send(x)"),
    },
    "own signal, a made object": {
        "reg": """
            class Signal:
                def __init__(self):
                    self.receivers = []
                def connect(self, fn):
                    self.receivers.append(fn)
                    return fn
                def send(self, *a, **kw):
                    return [(r, r(*a, **kw)) for r in self.receivers]
            placed = Signal()
            """,
        "handlers": """
            from reg import placed
            class Scorer:
                def __call__(self, x): CALL
            placed.connect(Scorer())
            """,
        "main": ("from reg import placed\n", "placed.send(x)"),
    },
    "blinker connect": {
        "bus": """
            from blinker import Namespace
            _ns = Namespace()
            placed = _ns.signal('placed')
            """,
        "handlers": """
            from bus import placed
            def place(s, x): CALL
            placed.connect(place)
            """,
        "main": ("from bus import placed\n", "placed.send(k, x=x)"),
    },
    "blinker decorator": {
        "bus": """
            from blinker import Namespace
            _ns = Namespace()
            placed = _ns.signal('placed')
            """,
        "handlers": """
            from bus import placed
            @placed.connect
            def place(s, x): CALL
            """,
        "main": ("from bus import placed\n", "placed.send(k, x=x)"),
    },
    "blinker connect_via": {
        "bus": """
            from blinker import Namespace
            _ns = Namespace()
            placed = _ns.signal('placed')
            """,
        "handlers": """
            from bus import placed
            @placed.connect_via('me')
            def place(s, x): CALL
            """,
        "main": ("from bus import placed\n", "placed.send(k, x=x)"),
    },
    "blinker object": {
        "bus": """
            from blinker import Namespace
            _ns = Namespace()
            placed = _ns.signal('placed')
            """,
        "handlers": """
            from bus import placed
            class Scorer:
                def __call__(self, s, x): CALL
            scorer = Scorer()
            placed.connect(scorer)
            """,
        "main": ("from bus import placed\n", "placed.send(k, x=x)"),
    },
    "blinker method": {
        "bus": """
            from blinker import Namespace
            _ns = Namespace()
            placed = _ns.signal('placed')
            """,
        "handlers": """
            from bus import placed
            class Scorer:
                def __init__(self): placed.connect(self.score)
                def score(self, s, x): CALL
            scorer = Scorer()
            """,
        "main": ("from bus import placed\n", "placed.send(k, x=x)"),
    },
    "blinker through its module": {
        "bus": """
            from blinker import Namespace
            _ns = Namespace()
            placed = _ns.signal('placed')
            """,
        "handlers": """
            import bus
            def place(s, x): CALL
            bus.placed.connect(place)
            """,
        "main": ("import bus\n", "bus.placed.send(k, x=x)"),
    },
    "blinker by name": {
        "handlers": """
            from blinker import signal
            @signal('placed').connect
            def place(s, x): CALL
            """,
        "main": ("from blinker import signal\n", "signal('placed').send(k, x=x)"),
    },
    "blinker class attribute": {
        "bus": """
            from blinker import Signal
            class Bus:
                placed = Signal()
            """,
        "handlers": """
            from bus import Bus
            @Bus.placed.connect
            def place(s, x): CALL
            """,
        "main": ("from bus import Bus\n", "Bus.placed.send(k, x=x)"),
    },
    "django own connect": {
        "bus": """
            from django.dispatch import Signal
            placed = Signal()
            """,
        "handlers": """
            from bus import placed
            def place(sender, **kw): CALL
            placed.connect(place)
            """,
        "main": ("from bus import placed\n", "placed.send_robust(k, x=x)"),
    },
    "pyee": {
        "bus": """
            from pyee import EventEmitter
            ee = EventEmitter()
            """,
        "handlers": """
            from bus import ee
            @ee.on('a')
            def place(x): CALL
            """,
        "main": ("from bus import ee\n", "ee.emit('a', x)"),
    },
    "pyee call": {
        "bus": """
            from pyee import EventEmitter
            ee = EventEmitter()
            """,
        "handlers": """
            from bus import ee
            def place(x): CALL
            ee.on('a', place)
            """,
        "main": ("from bus import ee\n", "ee.emit('a', x)"),
    },
    "pydispatch": {
        "handlers": """
            from pydispatch import dispatcher
            def place(x): CALL
            dispatcher.connect(place, signal='a')
            """,
        "main": ("from pydispatch import dispatcher\n", "dispatcher.send(signal='a', x=x)"),
    },
    "table of names": {
        "handlers": """
            class H:
                names = {'a': 'place'}
                def place(self, x): CALL
                def run(self, k, x):
                    getattr(self, self.names[k])(x)
            """,
        "main": ("", "handlers.H().run(k, x)"),
    },
    "singledispatch": {
        "handlers": """
            from functools import singledispatch
            @singledispatch
            def process(x): pass
            @process.register(int)
            def place(x): CALL
            """,
        "main": ("", "handlers.process(x)"),
    },
    "singledispatch annotated": {
        "handlers": """
            from functools import singledispatch
            @singledispatch
            def process(x): pass
            @process.register
            def _(x: int): CALL
            """,
        "main": ("", "handlers.process(x)"),
    },
    "singledispatch by map": {
        "handlers": """
            from functools import singledispatch
            @singledispatch
            def process(x): pass
            @process.register
            def _(x: int): CALL
            """,
        "main": ("", "list(map(handlers.process, x))"),
    },
    "singledispatch as an argument": {
        "handlers": """
            from functools import singledispatch
            @singledispatch
            def process(x): pass
            @process.register(int)
            def place(x): CALL
            def each(do, rows):
                for row in rows:
                    do(row)
            """,
        "main": ("", "handlers.each(handlers.process, x)"),
    },
    "partial in a table": {
        "handlers": """
            from functools import partial
            def place(x, y=1): CALL
            T = {'a': partial(place, y=2)}
            """,
        "main": ("", "handlers.T[k](x)"),
    },
    "partial in a table with a default": {
        "handlers": """
            from functools import partial
            def place(x, y=1): CALL
            def other(x): pass
            T = {'a': partial(place, y=2)}
            def choose(k):
                return T.get(k, other)
            """,
        "main": ("", "handlers.choose(k)(x)"),
    },
    "observers, defaultdict, an object": {
        "handlers": """
            from collections import defaultdict
            class Bus:
                def __init__(self):
                    self._obs = defaultdict(set)
                def subscribe(self, ev, fn):
                    self._obs[ev].add(fn)
                def emit(self, ev, x):
                    for cb in tuple(self._obs[ev]):
                        cb(x)
            bus = Bus()
            class P:
                def __call__(self, x): CALL
            bus.subscribe('a', P())
            """,
        "main": ("", "handlers.bus.emit(k, x)"),
    },
}
MANY = {
    "a name among several": (
        "class H:\n    def place(self, x): CALL\n    def pay(self, x): pass\n"
        "    def run(self, k, x):\n        getattr(self, 'place' if k else 'pay')(x)\n"
    ),
    "a name of the outside": (
        "class H:\n    def place(self, x): CALL\n    def run(self, k, x):\n"
        "        method = getattr(self, x.path)\n        method(x)\n"
    ),
}
OTHERS = {
    "another signal": {
        "bus": "from blinker import Namespace\nns = Namespace()\n"
        "a = ns.signal('a')\nb = ns.signal('b')\n",
        "handlers": "from bus import b\n@b.connect\ndef place(s, x): CALL\n",
        "main": ("from bus import a\n", "a.send(k, x=x)"),
    },
    "another signal of the same name": {
        "bus": "from blinker import Signal\nclass A:\n    done = Signal()\n"
        "class B:\n    done = Signal()\n",
        "handlers": "from bus import B\n@B.done.connect\ndef place(s, x): CALL\n",
        "main": ("from bus import A\n", "A.done.send(k, x=x)"),
    },
    "a signal of unknown name": {
        "handlers": "from blinker import signal\n@signal(chosen()).connect\n"
        "def place(s, x): CALL\n",
        "main": ("from blinker import signal\n", "signal('a').send(k, x=x)"),
    },
    "a signal in a list": {
        "bus": "from blinker import Signal\nsignals = [Signal(), Signal()]\n",
        "handlers": "from bus import signals\n@signals[1].connect\ndef place(s, x): CALL\n",
        "main": ("from bus import signals\n", "signals[0].send(k, x=x)"),
    },
    "another name": {
        "handlers": "from blinker import signal\n@signal('b').connect\ndef place(s, x): CALL\n",
        "main": ("from blinker import signal\n", "signal('a').send(k, x=x)"),
    },
    "another event": {
        "bus": "from pyee import EventEmitter\nee = EventEmitter()\n",
        "handlers": "from bus import ee\n@ee.on('b')\ndef place(x): CALL\n",
        "main": ("from bus import ee\n", "ee.emit('a', x)"),
    },
    "another registry": {
        "reg": """
            A, B = {}, {}
            def on_a(fn):
                A[fn.__name__] = fn
                return fn
            def on_b(fn):
                B[fn.__name__] = fn
                return fn
            def get(k):
                return A[k]
            """,
        "handlers": "from reg import on_b\n@on_b\ndef place(x): CALL\n",
        "main": ("from reg import get\n", "get(k)(x)"),
    },
    "another class": {
        "handlers": """
            class Bus:
                def __init__(self): self.known = []
                def add(self, one): self.known.append(one)
                def send(self, x):
                    for one in self.known:
                        one(x)
            class Used:
                def __call__(self, x): pass
            class Unused:
                def __call__(self, x): CALL
            bus = Bus()
            bus.add(Used())
            """,
        "main": ("", "handlers.bus.send(x)"),
    },
    "another generic function": {
        "handlers": """
            from functools import singledispatch
            @singledispatch
            def a(x): pass
            @singledispatch
            def b(x): pass
            @b.register(int)
            def place(x): CALL
            """,
        "main": ("", "handlers.a(x)"),
    },
    "other names": {
        "handlers": """
            class H:
                names = {'a': 'pay', 'b': 'send'}
                def place(self, x): CALL
                def pay(self, x): pass
                def run(self, k, x):
                    getattr(self, self.names[k])(x)
            """,
        "main": ("", "handlers.H().run(k, x)"),
    },
    "an attribute that is read": {
        "handlers": """
            class H:
                def place(self, x): CALL
                def run(self, k):
                    return getattr(self, k)
            """,
        "main": ("", "handlers.H().run(k)"),
    },
}


@pytest.mark.parametrize("project", FOLLOWED.values(), ids=FOLLOWED)
def test_what_a_greenlet_reaches_has_its_context(tmp_path, project):
    found = [one.context for one in reported(tmp_path, files_of(project)) if one.symbol]
    assert ["greenlet"] == found


@pytest.mark.parametrize("project", FOLLOWED.values(), ids=FOLLOWED)
def test_names_that_are_common_in_a_large_project_lead_to_the_same(tmp_path, project):
    files = files_of(project)
    found = [one.context for one in reported(tmp_path, files | unrelated(files)) if one.symbol]
    assert ["greenlet"] == found


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_a_method_may_be_called_by_a_computed_name(tmp_path, text):
    files = files_of({"handlers": text, "main": ("", "handlers.H().run(k, x)")})
    assert ["greenlet"] == [one.context for one in reported(tmp_path, files)]


@pytest.mark.parametrize("project", OTHERS.values(), ids=OTHERS)
def test_what_something_else_reaches_has_another_context(tmp_path, project):
    found = [one.context for one in reported(tmp_path, files_of(project)) if one.symbol]
    assert ["unknown"] == found


WRAPPED = "def __init__(self, it): self._it = it\n    def __getattr__(self, name):\n        "
PROXIES = {
    "apply": (
        "attr = getattr(self._it, name)\n        def call(*a, **kw):\n"
        "            return get_hub().threadpool.apply(attr, a, kw)\n        return call\n",
        True,
    ),
    "spawn": (
        "attr = getattr(self._it, name)\n        if not callable(attr): return attr\n"
        "        def call(*a, **kw):\n            return POOL.spawn(attr, *a, **kw).get()\n"
        "        return call\n",
        True,
    ),
    "a lambda": (
        "attr = getattr(self._it, name)\n        return lambda *a: POOL.apply(attr, a)\n",
        True,
    ),
    "a look-up in the call": (
        "def call(*a):\n            return POOL.apply(getattr(self._it, name), a)\n"
        "        return call\n",
        True,
    ),
    "no pool": ("return getattr(self._it, name)\n", False),
    "a call beside the pool": (
        "attr = getattr(self._it, name)\n        def call(*a):\n"
        "            if self.fast: return attr(*a)\n            return POOL.apply(attr, a)\n"
        "        return call\n",
        False,
    ),
    "some methods plainly": (
        "attr = getattr(self._it, name)\n        if name in self.fast: return attr\n"
        "        def call(*a):\n            return POOL.apply(attr, a)\n        return call\n",
        False,
    ),
    "a pool of greenlets": (
        "attr = getattr(self._it, name)\n        def call(*a):\n"
        "            return GREEN.apply(attr, a)\n        return call\n",
        False,
    ),
}


def proxied(body, made):
    return {
        "wsgi.py": "from gevent import monkey, get_hub\nmonkey.patch_all()\n"
        "from gevent.pool import Pool\nfrom gevent.threadpool import ThreadPool\n"
        "POOL, GREEN = ThreadPool(4), Pool(4)\n\n"
        f"class Proxy:\n    {WRAPPED}{body}\n"
        "class Model:\n    def embed(self, text): CALL\n\n"
        f"model = {made}\n\n"
        "def application(environ, start_response):\n    model.embed('x')\n",
    }


@pytest.mark.parametrize(("body", "native"), PROXIES.values(), ids=PROXIES)
def test_a_proxy_runs_methods_in_native_threads(tmp_path, body, native):
    (one,) = reported(tmp_path, proxied(body, "Proxy(Model())"))
    assert ("native-thread" if native else "request") == one.context


@pytest.mark.parametrize(("body", "native"), PROXIES.values(), ids=PROXIES)
def test_a_proxy_runs_methods_of_a_package_in_native_threads(tmp_path, body, native):
    (text,) = proxied(body, "Proxy(Producer({}))").values()
    text = text.replace("model.embed('x')", "model.flush()").replace("CALL", "pass")
    (one,) = reported(tmp_path, {"wsgi.py": f"from confluent_kafka import Producer\n{text}"})
    assert ("native-thread" if native else "request") == one.context


def test_an_object_beside_a_proxy_is_called_on_the_hub(tmp_path):
    body = PROXIES["apply"][0] + "other = Proxy(Model())\nother.embed('y')\n"
    (one,) = reported(tmp_path, proxied(body, "Model()"))
    assert "request" == one.context


SERVED = "from gevent import monkey\nmonkey.patch_all()\nimport gevent\n"
COMPOSED = {
    "f-string": "getattr(S, f'on_{k}')(1)",
    "sum": "getattr(S, 'on_' + k)(1)",
    "percent": "getattr(S, 'on_%s' % k)(1)",
    "format": "getattr(S, 'on_{}'.format(k))(1)",
    "with a default": "m = getattr(S, f'on_{k}', None)\n    if m is None: return\n    m(1)",
    "name before": "name = f'on_{k}'\n    getattr(S, name)(1)",
    "both ends": "getattr(S, f'on_{k}_place')(1)",
    "an object made here": "getattr(Shop(), f'on_{k}')(1)",
    "the class": "getattr(Shop, f'on_{k}')(S, 1)",
}


@pytest.mark.parametrize("served", COMPOSED.values(), ids=COMPOSED)
def test_a_method_of_another_object_runs_where_its_name_is_composed(tmp_path, served):
    text = (
        f"{SERVED}class Shop:\n    def on_a_place(self, x): CALL\n    def off(self, x): CALL\n"
        f"S = Shop()\ndef serve(k):\n    {served}\ngevent.spawn(serve, input()).join()\n"
    )
    found = {d.location.row: d.context for d in reported(tmp_path, {"main.py": text})}
    assert ("greenlet", "unknown") == (found[6], found[7])


BROAD = {
    "the class": ("Shop", "class Base: pass"),
    "a base": ("Base", "class Base:\n    def place(self, x): raise NotImplementedError"),
    "a protocol": (
        "Base",
        "from typing import Protocol\nclass Base(Protocol):\n    def place(self, x): ...",
    ),
}


@pytest.mark.parametrize(("declared", "base"), BROAD.values(), ids=BROAD)
@pytest.mark.parametrize("other", ["", "import atexit\natexit.register(Shop().place, 1)\n"])
def test_a_method_runs_where_its_name_comes_from_outside(tmp_path, declared, base, other):
    heads = {"Base": "(Base)" if "Protocol" not in base else "", "Shop": ""}
    text = (
        f"{SERVED}{base}\n"
        f"class Shop{heads[declared]}:\n    def place(self, x): CALL\n    def _off(self, x): CALL\n"
        f"def serve(k, shop: {declared}):\n    getattr(shop, k)(1)\n{other}"
        "gevent.spawn(serve, input(), make()).join()\n"
    )
    found = [d for d in reported(tmp_path, {"main.py": text}) if d.symbol == "os.system"]
    assert ["greenlet", "unknown"] == [d.context for d in sorted(found, key=row_of)]


@pytest.mark.parametrize(
    "served",
    [
        "getattr(handlers, f'on_{k}')(1)",
        "getattr(handlers, 'on_' + k, None)(1)",
        "import sys\n    getattr(sys.modules['handlers'], f'on_{k}')(1)",
        "handlers.run(k)",
        "handlers.take(k)",
    ],
)
def test_a_function_of_a_module_runs_where_its_name_is_composed(tmp_path, served):
    handlers = (
        "def on_place(x): CALL\ndef off(x): CALL\n"
        "def run(k): globals()[f'on_{k}'](1)\ndef take(k): globals().get('on_' + k)(1)\n"
    )
    main = f"{SERVED}import handlers\ndef serve(k):\n    {served}\ngevent.spawn(serve, input())\n"
    found = reported(tmp_path, {"handlers.py": handlers, "main.py": main})
    called = [d for d in found if d.symbol == "os.system"]
    assert ["greenlet", "unknown"] == [d.context for d in sorted(called, key=row_of)]


CONTAINERS = {
    "a decorator's method": """
        class Registry(dict):
            def register(self, name):
                def wrap(fn):
                    self[name] = fn
                    return fn
                return wrap
        R = Registry()
        @R.register('a')
        def place(x): CALL
        def serve(k): R[k](1)
        """,
    "UserDict": """
        from collections import UserDict
        class Registry(UserDict):
            def register(self, name):
                def wrap(fn):
                    self.data[name] = fn
                    return fn
                return wrap
        R = Registry()
        @R.register('a')
        def place(x): CALL
        def serve(k): R.get(k)(1)
        """,
    "a store from outside": """
        class Registry(dict): pass
        R = Registry()
        def place(x): CALL
        R['a'] = place
        def serve(k): R[k](1)
        """,
    "a list that calls its elements": """
        class Hooks(list):
            def __call__(self, *a):
                for fn in self: fn(*a)
        H = Hooks()
        def place(x): CALL
        H.append(place)
        def serve(k): H(1)
        """,
    "a list that a decorator fills": """
        class Hooks(list):
            def on(self, fn):
                self.append(fn)
                return fn
            def fire(self, *a):
                for fn in self: fn(*a)
        H = Hooks()
        @H.on
        def place(x): CALL
        def serve(k): H.fire(1)
        """,
    "an attribute": """
        class Registry(dict):
            def register(self, name):
                def wrap(fn):
                    self[name] = fn
                    return fn
                return wrap
        class App:
            def __init__(self): self.commands = Registry()
            def run(self, k): self.commands[k](1)
        app = App()
        @app.commands.register('a')
        def place(x): CALL
        def serve(k): app.run(k)
        """,
    "a method of the base": """
        class Registry(dict):
            def register(self, name, fn): super().__setitem__(name, fn)
        R = Registry()
        def place(x): CALL
        R.register('a', place)
        def serve(k): R[k](1)
        """,
    "items": """
        class Registry(dict):
            def add(self, name, fn): self[name] = fn
        R = Registry()
        def place(x): CALL
        R.add('a', place)
        def serve(k):
            for name, fn in R.items(): fn(1)
        """,
    "a derived class": """
        class Registry(dict):
            def add(self, name, fn): self[name] = fn
        class Hooks(Registry): pass
        R = Hooks()
        def place(x): CALL
        R.add('a', place)
        def serve(k): R[k](1)
        """,
}


@pytest.mark.parametrize("text", CONTAINERS.values(), ids=CONTAINERS)
def test_a_container_class_of_the_project_keeps_functions(tmp_path, text):
    main = f"{SERVED}{textwrap.dedent(text)}gevent.spawn(serve, input()).join()\n"
    found = [one for one in reported(tmp_path, {"main.py": main}) if one.symbol == "os.system"]
    assert ["greenlet"] == [one.context for one in found]


def test_a_function_in_another_registry_is_not_called(tmp_path):
    text = (
        f"{SERVED}class Registry(dict):\n    def add(self, name, fn): self[name] = fn\n"
        "class Other(dict):\n    def add(self, name, fn): self[name] = fn\n"
        "R = Registry()\nS = Other()\ndef place(x): CALL\nS.add('a', place)\n"
        "def serve(k): R[k](1)\ngevent.spawn(serve, input()).join()\n"
    )
    found = [one for one in reported(tmp_path, {"main.py": text}) if one.symbol == "os.system"]
    assert ["unknown"] == [one.context for one in found]


RUN = {
    "a lambda in a name": "f = lambda x: CALL\ndef serve(k): f(1)",
    "a lambda in an attribute": """
        class A:
            def __init__(self): self.f = lambda x: CALL
            def go(self): self.f(1)
        def serve(k): A().go()
        """,
    "a lambda in a class": """
        class A:
            f = lambda self, x: CALL
            def go(self): self.f(1)
        def serve(k): A().go()
        """,
    "a lambda assigned to a class": """
        class A: pass
        A.place = lambda self, x: CALL
        def serve(k): A().place(1)
        """,
    "a lambda in a namespace": """
        import types
        ns = types.SimpleNamespace(f=lambda x: CALL)
        def serve(k): ns.f(1)
        """,
    "a function assigned to a class": """
        class A: pass
        def place(self, x): CALL
        A.place = place
        def serve(k): A().place(1)
        """,
    "a method for one object": """
        import types
        class A: pass
        def place(self, x): CALL
        a = A()
        a.place = types.MethodType(place, a)
        def serve(k): a.place(1)
        """,
    "a class that type makes": """
        def place(self, x): CALL
        A = type('A', (), {'place': place})
        def serve(k): A().place(1)
        """,
    "a base of a class that type makes": """
        class Base:
            def place(self, x): CALL
        A = type('A', (Base,), {'n': 1})
        def serve(k): A().place(1)
        """,
    "a pluggy function": """
        import pluggy
        impl = pluggy.HookimplMarker('x')
        @impl
        def place(x): CALL
        pm = pluggy.PluginManager('x')
        def serve(k): pm.hook.place(x=1)
        """,
    "a pluggy function with options": """
        import pluggy
        impl = pluggy.HookimplMarker('x')
        @impl(tryfirst=True)
        def place(x): CALL
        pm = pluggy.PluginManager('x')
        def serve(k):
            for one in pm.hook.place(x=1): print(one)
        """,
    "a pluggy object": """
        import pluggy
        impl = pluggy.HookimplMarker('x')
        class A:
            @impl
            def place(self, x): CALL
        def manager():
            pm = pluggy.PluginManager('x')
            pm.register(A())
            return pm
        plugins = manager()
        def serve(k): plugins.hook.place(x=1)
        """,
    "a pluggy call with history": """
        import pluggy
        impl = pluggy.HookimplMarker('x')
        @impl
        def place(x): CALL
        pm = pluggy.PluginManager('x')
        def serve(k): pm.hook.place.call_historic(kwargs={'x': 1})
        """,
}


@pytest.mark.parametrize("text", RUN.values(), ids=RUN)
def test_a_function_runs_under_another_name(tmp_path, text):
    main = f"{SERVED}{textwrap.dedent(text)}\ngevent.spawn(serve, input()).join()\n"
    found = [one for one in reported(tmp_path, {"main.py": main}) if one.symbol == "os.system"]
    assert ["greenlet"] == [one.context for one in found]


SPAWNED = {
    "a closure": "def make(x):\n    def run(): CALL\n    return run\ngevent.spawn(make(1))",
    "a closure in a name": (
        "def make(x):\n    def run(): CALL\n    return run\njob = make(1)\ngevent.spawn(job)"
    ),
    "a method by name": (
        "class S:\n    def run(self): CALL\ns = S()\ngevent.spawn(getattr(s, 'run'))"
    ),
    "a method by a composed name": (
        "class S:\n    def do_run(self): CALL\ns = S()\ngevent.spawn(getattr(s, f'do_{input()}'))"
    ),
    "methods by a list of names": (
        "class S:\n    def run(self): CALL\ns = S()\n"
        "jobs = [gevent.spawn(getattr(s, n)) for n in ('run',)]"
    ),
}


@pytest.mark.parametrize("text", SPAWNED.values(), ids=SPAWNED)
def test_what_a_call_gives_is_spawned(tmp_path, text):
    found = reported(tmp_path, {"main.py": f"{SERVED}{text}\n"})
    assert ["greenlet"] == [one.context for one in found if one.symbol == "os.system"]


COLLECTED = {
    "methods of self": """
        import inspect
        class Bus:
            def __init__(self):
                self.handlers = {}
                for name, fn in inspect.getmembers(self, inspect.ismethod):
                    if name.startswith('on_'):
                        self.handlers[name] = fn
            def on_place(self, x): CALL
            def off(self, x): CALL
            def run(self, k): self.handlers[k](1)
        bus = Bus()
        def serve(k): bus.run(k)
        """,
    "methods of a derived class": """
        import inspect
        class Bus:
            def __init__(self):
                self.handlers = {
                    n: m for n, m in inspect.getmembers(self) if n.startswith(('on_', 'when_'))
                }
            def run(self, k): self.handlers[k](1)
        class Shop(Bus):
            def on_place(self, x): CALL
            def off(self, x): CALL
        shop = Shop()
        def serve(k): shop.run(k)
        """,
    "functions of the module": """
        import inspect, sys
        def on_place(x): CALL
        def off(x): CALL
        T = {}
        for name, fn in inspect.getmembers(sys.modules[__name__], inspect.isfunction):
            if name.startswith('on_'): T[name[3:]] = fn
        def serve(k): T[k](1)
        """,
    "globals": """
        def on_place(x): CALL
        def off(x): pass
        T = {n: f for n, f in globals().items() if n.startswith('on_')}
        def serve(k): T[k](1)
        """,
    "dir and getattr": """
        class Shop:
            def on_place(self, x): CALL
            def off(self, x): CALL
        s = Shop()
        T = {n: getattr(s, n) for n in dir(s) if n.startswith('on_')}
        def serve(k): T[k](1)
        """,
    "vars of a class": """
        class Shop:
            def on_place(self, x): CALL
            def off(self, x): CALL
        T = {n: f for n, f in vars(Shop).items() if n.startswith('on_')}
        def serve(k): T[k](Shop(), 1)
        """,
    "the dict of a class": """
        class Shop:
            table = {}
            def on_place(self, x): CALL
            def off(self, x): pass
            @classmethod
            def collect(cls):
                for name, fn in cls.__dict__.items():
                    if name.startswith('on_'): cls.table[name] = fn
        Shop.collect()
        def serve(k): Shop.table[k](Shop(), 1)
        """,
    "a dict of pairs": """
        import inspect
        class Shop:
            def place(self, x): CALL
        T = dict(inspect.getmembers(Shop(), callable))
        def serve(k): T[k](1)
        """,
}


@pytest.mark.parametrize("text", COLLECTED.values(), ids=COLLECTED)
def test_a_table_of_an_objects_members_keeps_functions(tmp_path, text):
    main = f"{SERVED}{textwrap.dedent(text)}gevent.spawn(serve, input()).join()\n"
    found = [one for one in reported(tmp_path, {"main.py": main}) if one.symbol == "os.system"]
    assert ["greenlet", "unknown"][: len(found)] == [d.context for d in sorted(found, key=row_of)]
    assert text.count("CALL") == len(found)
