"""Objects that reach their use through records, computed names, enumerations and handlers."""

from __future__ import annotations

import textwrap

import pytest
from harness import check, inferring, symbols

from gblock.config import Config

HEAD = (
    "from confluent_kafka import Producer, Consumer\n"
    "import abc, collections, contextlib, dataclasses, enum, functools, sys, types, typing\n"
)
FLUSH = "confluent_kafka.Producer.flush"
FOLLOWED = {
    "namedtuple": """
        T = collections.namedtuple('T', 'p q')
        T(Producer({}), 1).p.flush()
        """,
    "namedtuple kw": """
        T = collections.namedtuple('T', ['p', 'q'])
        t = T(q=1, p=Producer({}))
        def f(): t.p.flush()
        """,
    "namedtuple commas": """
        T = collections.namedtuple('T', 'q, p')
        t = T(1, Producer({}))
        def f(): t.p.flush()
        """,
    "namedtuple index": """
        T = collections.namedtuple('T', 'q, p')
        t = T(1, Producer({}))
        def f(): t[1].flush()
        """,
    "namedtuple unpack": """
        T = collections.namedtuple('T', 'q, p')
        t = T(1, Producer({}))
        def f():
            q, p = t
            p.flush()
        """,
    "namedtuple param": """
        T = collections.namedtuple('T', 'q, p')
        def f(t): t.p.flush()
        f(T(1, Producer({})))
        """,
    "namedtuple replace": """
        T = collections.namedtuple('T', 'q, p')
        t = T(1, Producer({}))
        def f(): t._replace(q=2).p.flush()
        """,
    "namedtuple base": """
        class T(collections.namedtuple('T', 'q p')):
            def go(self): self.p.flush()
        T(1, Producer({})).go()
        """,
    "namedtuple base index": """
        class T(collections.namedtuple('T', 'q p')):
            __slots__ = ()
        t = T(1, Producer({}))
        def f(): t[1].flush()
        """,
    "namedtuple base named": """
        _T = collections.namedtuple('_T', 'q p')
        class T(_T):
            def go(self): self.p.flush()
        T(1, Producer({})).go()
        """,
    "typing namedtuple": """
        T = typing.NamedTuple('T', [('q', int), ('p', Producer)])
        t = T(1, Producer({}))
        def f(): t.p.flush()
        """,
    "typing namedtuple annotated": """
        T = typing.NamedTuple('T', [('q', int), ('p', Producer)])
        def f(t: T): t.p.flush()
        """,
    "make_dataclass": """
        T = dataclasses.make_dataclass('T', ['q', 'p'])
        t = T(1, Producer({}))
        def f(): t.p.flush()
        """,
    "dict update": """
        class B:
            def __init__(self, **kw): self.__dict__.update(kw)
        b = B(p=Producer({}))
        def f(): b.p.flush()
        """,
    "dict update star": """
        class B:
            def __init__(self, **kw): self.__dict__.update(**kw)
        b = B(p=Producer({}))
        def f(): b.p.flush()
        """,
    "vars update": """
        class B:
            def __init__(self, **kw): vars(self).update(kw)
            def go(self): self.p.flush()
        b = B(p=Producer({}))
        """,
    "dict assign": """
        class B:
            def __init__(self, **kw): self.__dict__ = kw
        b = B(p=Producer({}))
        def f(): b.p.flush()
        """,
    "dict update display": """
        class B:
            def __init__(self): self.__dict__.update({'p': Producer({})})
        b = B()
        def f(): b.p.flush()
        """,
    "dict update kw": """
        class B:
            def __init__(self): self.__dict__.update(p=Producer({}))
        b = B()
        def f(): b.p.flush()
        """,
    "dict update locals": """
        class B:
            def __init__(self, p): self.__dict__.update(locals())
            def go(self): self.p.flush()
        b = B(Producer({}))
        """,
    "setattr loop": """
        class B:
            def __init__(self, **kw):
                for k, x in kw.items():
                    setattr(self, k, x)
        b = B(p=Producer({}))
        def f(): b.p.flush()
        """,
    "setattr loop dunder": """
        class B:
            def __init__(self, **kw):
                for k in kw:
                    setattr(self, k, kw[k])
        b = B(p=Producer({}))
        def f(): b.p.flush()
        """,
    "setattr loop names": """
        class B: pass
        b = B()
        for k, m in {'p': Producer, 'c': Consumer}.items():
            setattr(b, k, m({}))
        def f(): b.p.flush()
        """,
    "setattr loop tuples": """
        class B: pass
        b = B()
        for k, m in (('p', Producer), ('c', Consumer)):
            setattr(b, k, m({}))
        def f(): b.p.flush()
        """,
    "setattr loop list": """
        class B: pass
        b = B()
        for k in ['p', 'q']:
            setattr(b, k, Producer({}))
        def f(): b.p.flush()
        """,
    "setattr variable": """
        class B: pass
        b = B()
        name = 'p'
        setattr(b, name, Producer({}))
        def f(): b.p.flush()
        """,
    "setattr fstring": """
        class B: pass
        b = B()
        for k in ['p', 'q']:
            setattr(b, f'{k}_x', Producer({}))
        def f(): b.p_x.flush()
        """,
    "setattr class": """
        class B: pass
        for k in ['p', 'q']:
            setattr(B, k, Producer({}))
        def f(): B().p.flush()
        """,
    "namespace star": """
        n = types.SimpleNamespace(**{'p': Producer({})})
        def f(): n.p.flush()
        """,
    "namespace star name": """
        d = {'p': Producer({})}
        n = types.SimpleNamespace(**d)
        def f(): n.p.flush()
        """,
    "enum method": """
        class E(enum.Enum):
            A = 1
            def mk(self): return Producer({})
        E.A.mk().flush()
        """,
    "enum value": """
        class E(enum.Enum):
            A = Producer
        E.A.value({}).flush()
        """,
    "enum partial": """
        class E(enum.Enum):
            A = functools.partial(Producer, {})
        E.A.value().flush()
        """,
    "enum loop": """
        class E(enum.Enum):
            A = 1
            def mk(self): return Producer({})
        for e in E: e.mk().flush()
        """,
    "enum by value": """
        class E(enum.Enum):
            A = 1
            def mk(self): return Producer({})
        E(1).mk().flush()
        """,
    "enum by name": """
        class E(enum.Enum):
            A = 1
            def mk(self): return Producer({})
        E['A'].mk().flush()
        """,
    "bus": """
        class Bus:
            def __init__(self): self.h = {}
            def on(self, n, fn): self.h.setdefault(n, []).append(fn)
            def emit(self, n, *a):
                for fn in self.h.get(n, []): fn(*a)
        bus = Bus()
        def handle(p): p.flush()
        bus.on('x', handle)
        bus.emit('x', Producer({}))
        """,
    "bus kw": """
        class Bus:
            def __init__(self): self.h = {}
            def on(self, n, fn): self.h[n] = fn
            def emit(self, n, **k): self.h[n](**k)
        bus = Bus()
        def handle(p): p.flush()
        bus.on('x', handle)
        bus.emit('x', p=Producer({}))
        """,
    "bus deco": """
        H = {}
        def on(n):
            def deco(fn):
                H[n] = fn
                return fn
            return deco
        @on('x')
        def handle(p): p.flush()
        def emit(n, p): H[n](p)
        emit('x', Producer({}))
        """,
    "bus list": """
        H = []
        def handle(p): p.flush()
        H.append(handle)
        def emit(p):
            for h in H: h(p)
        emit(Producer({}))
        """,
    "table": """
        def handle(p): p.flush()
        H = {'x': handle}
        def emit(n, p): H[n](p)
        emit('x', Producer({}))
        """,
    "table get": """
        def handle(p): p.flush()
        H = {'x': handle}
        def emit(n, p):
            h = H.get(n)
            h(p)
        emit('x', Producer({}))
        """,
    "attr callback": """
        class W:
            def __init__(self, cb): self.cb = cb
            def run(self): self.cb(Producer({}))
        def handle(p): p.flush()
        W(handle).run()
        """,
    "method callback": """
        class W:
            def __init__(self, cb): self.cb = cb
            def run(self): self.cb(Producer({}))
        class S:
            def handle(self, p): p.flush()
            def go(self): W(self.handle).run()
        """,
    "config get": """
        from flask import Flask
        app = Flask('x')
        app.config['P'] = Producer({})
        def f(): app.config.get('P').flush()
        """,
    "config sub": """
        from flask import Flask
        app = Flask('x')
        app.config['P'] = Producer({})
        def f(): app.config['P'].flush()
        """,
    "module getattr": """
        import sys
        def __getattr__(name):
            if name == 'p': return Producer({})
            raise AttributeError
        def f(): sys.modules[__name__].p.flush()
        """,
    "globals": """
        def init(): globals()['p'] = Producer({})
        def f(): p.flush()
        """,
    "typed dict": """
        class D(typing.TypedDict):
            p: Producer
        def f(d: D): d['p'].flush()
        """,
    "star unpack": """
        a, *ps = [1, Producer({})]
        for p in ps: p.flush()
        """,
    "self class": """
        class A:
            P = Producer
            def go(self): self.__class__.P({}).flush()
        """,
    "type self": """
        class A:
            P = Producer
            def go(self): type(self).P({}).flush()
        """,
    "subclasses": """
        class A: pass
        class B(A):
            def mk(self): return Producer({})
        for k in A.__subclasses__(): k().mk().flush()
        """,
    "getattr mod": """
        import sys
        class B:
            def mk(self): return Producer({})
        getattr(sys.modules[__name__], 'B')().mk().flush()
        """,
    "globals get": """
        class B:
            def mk(self): return Producer({})
        globals()['B']().mk().flush()
        """,
    "di provide": """
        from dependency_injector.wiring import inject, Provide
        from dependency_injector import containers, providers
        class C(containers.DeclarativeContainer):
            p = providers.Singleton(Producer, {})
        @inject
        def f(p=Provide[C.p]): p.flush()
        """,
    "di singleton": """
        from dependency_injector import containers, providers
        def make(): return Producer({})
        def build(given): return B(given)
        class B:
            def __init__(self, p): self.p = p
            def send(self): self.p.flush()
        class C(containers.DeclarativeContainer):
            p = providers.Singleton(Producer, {})
            b = providers.Singleton(B, p)
        """,
    "di inline": """
        from dependency_injector import containers, providers
        def make(): return Producer({})
        def build(given): return B(given)
        class B:
            def __init__(self, p): self.p = p
            def send(self): self.p.flush()
        class C(containers.DeclarativeContainer):
            b = providers.Factory(B, providers.Singleton(Producer, {}))
        """,
    "di keyword": """
        from dependency_injector import containers, providers
        def make(): return Producer({})
        def build(given): return B(given)
        class B:
            def __init__(self, p): self.p = p
            def send(self): self.p.flush()
        class C(containers.DeclarativeContainer):
            b = providers.Factory(B, p=providers.Resource(make))
        """,
    "di derived class": """
        from dependency_injector import containers, providers
        def make(): return Producer({})
        def build(given): return B(given)
        class A:
            def __init__(self, p): self.p = p
            def send(self): self.p.flush()
        class B(A): pass
        class C(containers.DeclarativeContainer):
            p = providers.Singleton(make)
            b = providers.Factory(B, p=p)
        """,
    "di function": """
        from dependency_injector import containers, providers
        def make(): return Producer({})
        def build(given): return B(given)
        class B:
            def __init__(self, p): self.p = p
            def send(self): self.p.flush()
        class C(containers.DeclarativeContainer):
            b = providers.Factory(build, providers.Resource(make))
        """,
    "template method": """
        class B(abc.ABC):
            def run(self): self.send(Producer({}))
            @abc.abstractmethod
            def send(self, p): ...
        class D(B):
            def send(self, p): p.flush()
        """,
    "template plain": """
        class B:
            def run(self): self.send(Producer({}))
            def send(self, p): pass
        class D(B):
            def send(self, p): p.flush()
        """,
    "template kw": """
        class B(abc.ABC):
            def run(self): self.send(1, p=Producer({}))
            @abc.abstractmethod
            def send(self, n, p): ...
        class D(B):
            def send(self, n, p): p.flush()
        """,
    "template grand": """
        class B(abc.ABC):
            def run(self): self.send(Producer({}))
            @abc.abstractmethod
            def send(self, p): ...
        class C(B): pass
        class D(C):
            def send(self, p): p.flush()
        """,
    "port": """
        class Port(abc.ABC):
            @abc.abstractmethod
            def send(self, p): ...
        class D(Port):
            def send(self, p): p.flush()
        def use(port: Port): port.send(Producer({}))
        """,
    "protocol arg": """
        class Port(typing.Protocol):
            def send(self, p): ...
        class D:
            def send(self, p): p.flush()
        def use(port: Port): port.send(Producer({}))
        """,
}
OTHERS = {
    "di of another class": """
        from dependency_injector import containers, providers
        class B:
            def __init__(self, p): self.p = p
            def send(self): self.p.flush()
        class Other:
            def __init__(self, p): self.p = p
        class C(containers.DeclarativeContainer):
            b = providers.Factory(B, open("log"))
            o = providers.Factory(Other, providers.Singleton(Producer, {}))
        """,
    "another hook": (
        "class B:\n    def run(self): self.send(Producer({}))\n    def send(self, p): pass\n"
        "class D(B):\n    def sent(self, p): p.flush()\nclass E:\n    def send(self, p): p.flush()"
    ),
    "another field": "T = collections.namedtuple('T', 'p q')\nT(1, Producer({})).p.flush()",
    "another index": "T = collections.namedtuple('T', 'p q')\nT(1, Producer({}))[0].flush()",
    "another key": (
        "class B:\n    def __init__(self, **kw): self.__dict__.update(kw)\n"
        "b = B(q=Producer({}))\ndef f(): b.p.flush()"
    ),
    "another computed name": (
        "class B: pass\nb = B()\nfor k in ['q', 'r']:\n    setattr(b, k, Producer({}))\n"
        "def f(): b.p.flush()"
    ),
    "an unknown name": (
        "class B: pass\nb = B()\ndef put(k): setattr(b, k, Producer({}))\ndef f(): b.p.flush()"
    ),
    "another class": (
        "class B:\n    def __init__(self, **kw): vars(self).update(kw)\n"
        "class C(B): pass\nB(p=Producer({}))\nc = C(p=1)\ndef f(): c.q.flush()"
    ),
    "another handler": (
        "class Bus:\n    def __init__(self): self.h = []\n"
        "    def on(self, fn): self.h.append(fn)\n"
        "    def emit(self, *a):\n        for fn in self.h: fn(*a)\n"
        "bus = Bus()\ndef handle(p): pass\ndef other(p): p.flush()\n"
        "bus.on(handle)\nbus.emit(Producer({}))"
    ),
    "another argument": "def handle(n, p): n.flush()\nH = {'x': handle}\nH['x'](1, Producer({}))",
    "a member's name": (
        "class E(enum.Enum):\n    A = Producer({})\ndef f(): E.A.flush()\ndef g(): E.A.name.flush()"
    ),
    "the rest": "a, *rest = [Producer({}), 1]\nfor p in rest: p.flush()",
    "the last": "*rest, last = [Producer({}), 1]\nlast.flush()",
    "a key of a dict": "for p in {'p': Producer({})}: p.flush()",
    "another key of a TypedDict": (
        "class D(typing.TypedDict):\n    p: Producer\n    q: int\ndef f(d: D): d['q'].flush()"
    ),
}


def found(tmp_path, text):
    inference = inferring(tmp_path, {"main.py": HEAD + textwrap.dedent(text)})
    return [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]


@pytest.mark.parametrize("text", FOLLOWED.values(), ids=FOLLOWED)
def test_an_object_is_followed(tmp_path, text):
    assert FLUSH in found(tmp_path, text)


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_an_object_is_not_taken_for_another(tmp_path, text):
    assert FLUSH not in found(tmp_path, text)


NAMESPACES = {
    "bottle": "from bottle import local as context\n",
    "cherrypy": "import cherrypy\ncontext = cherrypy.thread_data\n",
    "flask": "from flask import g as context\n",
    "gevent": "from gevent.local import local\ncontext = local()\n",
    "asgiref": "from asgiref.local import Local\ncontext = Local()\n",
    "threading": "import threading\ncontext = threading.local()\n",
    "a class with a default": "import threading\nclass Context(threading.local):\n"
    "    bus = None\ncontext = Context()\n",
    "types": "from types import SimpleNamespace\ncontext = SimpleNamespace()\n",
}


@pytest.mark.parametrize("form", NAMESPACES)
def test_an_attribute_that_another_module_sets_of_what_is_local_to_a_greenlet(tree, form):
    root = tree(
        {
            "context.py": NAMESPACES[form],
            "hooks.py": "from bus import Bus\nfrom context import context\n"
            "def start():\n    context.bus = Bus()\n",
            "bus.py": "import os\nclass Bus:\n    def publish(self):\n        os.wait()\n",
            "shop.py": "import hooks\nfrom context import context\nfrom flask import Flask\n"
            "app = Flask(__name__)\n@app.before_request\ndef before():\n    hooks.start()\n"
            "@app.route('/')\ndef order():\n    context.bus.publish()\n    return ''\n",
            "Procfile": "web: gunicorn -k gevent shop:app\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [(one.blocker, one.context) for one in check([str(root)], config).diagnostics]
    assert [("os-wait", "request")] == found


def test_a_module_that_computes_its_attributes_by_their_names(tree):
    root = tree(
        {
            "db.py": "def __getattr__(name):\n    if name == 'old':\n        import pymssql\n"
            "        return pymssql.connect('x')\n    if name == 'new':\n        import pymysql\n"
            "        return pymysql.connect('x')\n    raise AttributeError(name)\n",
            "shop.py": "import db\nfrom flask import Flask\napp = Flask(__name__)\n"
            "@app.route('/a')\ndef old():\n    db.old.cursor().execute('x')\n    return ''\n"
            "@app.route('/b')\ndef new():\n    db.new.cursor().execute('x')\n    return ''\n",
            "Procfile": "web: gunicorn -k gevent shop:app\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [d.location.row for d in check([str(root)], config).diagnostics if "shop" in d.filename]
    assert [6] == found
