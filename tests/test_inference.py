"""Type inference, in cases that the fixtures do not show."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import inferring, symbols
from hypothesis import given, settings
from hypothesis import strategies as st
from test_summary import PROGRAMS
from thoroughness import examples

from gblock.project.names import values as v
from gblock.project.names.chosen import may_reach
from gblock.project.names.places import Place
from gblock.project.reading.expressions import (
    AttributeExpr,
    InnerExpr,
    NameExpr,
    call_of,
    dotted,
    is_passed,
    last_name,
    passed,
    same,
)
from gblock.project.reading.summarizing import summarize

GIVING = "def d(g):\n    def w(*a, **k): return g({})\n    return w\n"
HEAD = "from confluent_kafka import Producer, Consumer\nimport typing\n"
FLUSH = "confluent_kafka.Producer.flush"


GIVEN = [
    "O = {'p': Producer({})}\nD = {}\nD.update(O)\ndef f(): D['p'].flush()",
    "O = {'p': Producer({})}\nD = {'q': 1}\nD |= O\ndef f(): D['p'].flush()",
    "L = [Producer({})]\nM = []\nM += L\ndef f():\n    for x in M: x.flush()",
    "def f(ps):\n    found = set()\n    found |= ps\n    found.pop().flush()\nf({Producer({})})",
    "O = {'p': Producer({})}\nclass A:\n    def __init__(self):\n        self.d = {}\n        self.d.update(O)\n    def f(self): self.d['p'].flush()",  # noqa: E501
    "L = [Producer({})]\nclass A:\n    def __init__(self):\n        self.l = []\n        self.l += L\n    def f(self): self.l[0].flush()",  # noqa: E501
    "class A:\n    def __init__(self, more):\n        self.d = {}\n        self.d |= more\n    def f(self): self.d['p'].flush()\nA({'p': Producer({})})",  # noqa: E501
    "def f(ps):\n    xs = []\n    xs.extend(ps)\n    for x in xs: x.flush()\nf([Producer({})])",
    "def f(ps):\n    xs = []\n    xs.extend(p for p in ps)\n    xs[0].flush()\nf([Producer({})])",
    "class A:\n    def __init__(self): self.xs = []\n    def add(self, *ps): self.xs.extend(ps)\n    def f(self):\n        for x in self.xs: x.flush()\nA().add(Producer({}))",  # noqa: E501
    "class Base:\n    def __init__(self, client): self.client = client\nclass D(Base):\n    def go(self): self.client.flush()\nD(Producer({}))",  # noqa: E501
    "class Base:\n    def __init__(self, client): self.client = client\nclass D(Base):\n    def __init__(self, c): super().__init__(c)\n    def go(self): self.client.flush()\nD(Producer({}))",  # noqa: E501
    "def f(x):\n    if isinstance(x, Producer):\n        x.flush()",
    "def f(x):\n    if isinstance(x, (str, Producer)):\n        x.flush()",
    "def f(x):\n    assert isinstance(x, Producer)\n    x.flush()",
    "def f(x):\n    if not isinstance(x, Producer):\n        raise TypeError\n    x.flush()",
    "class A:\n    def f(self):\n        assert isinstance(self.x, Producer)\n        self.x.flush()",  # noqa: E501
    "def f(x):\n    if isinstance(x, str): pass\n    elif isinstance(x, Producer): x.flush()",
    "def f(x):\n    if x and isinstance(x, Producer): x.flush()",
    "def f(x):\n    while isinstance(x, Producer): x.flush()",
    "def make(): return Producer({})\nclass A:\n    factory = staticmethod(make)\n    def f(self): self.factory().flush()",  # noqa: E501
    "def make(): return Producer({})\nclass A:\n    factory = staticmethod(make)\n    def __init__(self, c=None): self.c = c or self.factory()\n    def f(self): self.c.flush()",  # noqa: E501
    "class A:\n    factory = Producer\n    def __init__(self, c=None): self.c = c or self.factory({})\n    def f(self): self.c.flush()",  # noqa: E501
    "class A:\n    factory = staticmethod(lambda: Producer({}))\n    def f(self): self.factory().flush()",  # noqa: E501
    "class A:\n    p = Producer({})\n    def call(self, x): return self.p\n    get = functools.partialmethod(call, 1)\n    def f(self): self.get().flush()",  # noqa: E501
    "class A:\n    make = functools.partial(Producer, {})\n    def f(self): self.make().flush()",
    "class A:\n    def __init__(self): self.make = functools.partial(Producer, {})\n    def f(self): self.make().flush()",  # noqa: E501
    "class A:\n    def __init__(self): self._p = Producer({})\n    def __getattr__(self, name): return getattr(self._p, name)\nA().flush()",  # noqa: E501
    "class A:\n    def __init__(self, p): self._p = p\n    def __getattr__(self, name):\n        attr = getattr(self._p, name)\n        return attr\nA(Producer({})).flush()",  # noqa: E501
    "class A:\n    def __getattr__(self, name): return self.make(name)\n    def make(self, name): return Producer({'client.id': name})\nA().orders.flush()",  # noqa: E501
    "class A:\n    def __init__(self): self._all = {'p': Producer({})}\n    def __getattr__(self, name): return self._all[name]\nA().p.flush()",  # noqa: E501
    "class P(typing.Protocol):\n    def flush(self) -> int: ...\ndef f(p: P): p.flush()\nf(Producer({}))",  # noqa: E501
    "class P(typing.Protocol):\n    def flush(self) -> int: ...\ndef f() -> P: return Producer({})\nf().flush()",  # noqa: E501
    "class P(typing.Protocol):\n    def flush(self) -> int: ...\ndef f(ps: dict[str, P]): ps['a'].flush()\nf({'a': Producer({})})",  # noqa: E501
    "class A:\n    def __init__(self, p): self.p = p\n    def f(self): self.p.flush()\nT = {'a': A}\ndef make(k): return T[k](Producer({}))",  # noqa: E501
    "class A:\n    def __init__(self, p): self.p = p\n    def f(self): self.p.flush()\nclass B(A): pass\ndef kind(): return B\nkind()(Producer({}))",  # noqa: E501
    "import gevent\ndef f(p): p.flush()\nT = [f]\ndef emit(*a):\n    for g in T: gevent.spawn(g, *a)\nemit(Producer({}))",  # noqa: E501
    "import dataclasses\n@dataclasses.dataclass\nclass A:\n    p: object\n    def f(self): self.p.flush()\nT = [A]\nkind = T[0]\nkind(Producer({}))",  # noqa: E501
    "class A:\n    def __init__(self, p): self.__dict__['_p'] = p\n    def __getattr__(self, name): return getattr(self._p, name)\nA(Producer({})).flush()",  # noqa: E501
    "class Base:\n    def __init__(self, client): self._client = client\n    @property\n    def client(self): return self._client\nclass D(Base):\n    def go(self): self.client.flush()\nD(Producer({}))",  # noqa: E501
    "class M:\n    def go(self): self.p.flush()\nclass B: p = Producer({})\nclass D(M, B): pass",
    "class M:\n    @classmethod\n    def go(cls): cls.p.flush()\nclass B: p = Producer({})\nclass D(M, B): pass",  # noqa: E501
    "class M:\n    def go(self): self.p().flush()\nclass B:\n    def p(self): return Producer({})\nclass C(M): pass\nclass D(C, B): pass",  # noqa: E501
    "class M:\n    def go(self): self.flush()\nclass D(M, Producer): pass",
    "class T(dict):\n    def __missing__(self, key): return Producer({})\nT()['a'].flush()",
    "class T(dict):\n    def __init__(self): super().__init__(a=Producer({}))\nT()['a'].flush()",
    "class T(dict): pass\nT(a=Producer({}))['a'].flush()",
    "class T(dict): pass\nT({'a': Producer({})})['a'].flush()",
    "class T(list): pass\nT([Producer({})])[0].flush()",
    "class T(list): pass\nfor one in T((Producer({}),)): one.flush()",
    "class B(dict): pass\nclass T(B): pass\nT(a=Producer({}))['a'].flush()",
    "class T(dict):\n    def __getattr__(self, name): return self[name]\n"
    "T(a=Producer({})).a.flush()",
    "class T(dict):\n    def __init__(self, **k): super().__init__(**k)\n"
    "T(a=Producer({}))['a'].flush()",
    "class T(dict):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n"
    "        self.__dict__ = self\nT(a=Producer({})).a.flush()",
    "class T(list):\n    def __init__(self): super().__init__([Producer({})])\nT()[0].flush()",
    "class A: pass\na = A()\nsetattr(a, 'x', Producer({}))\na.x.flush()",
    "p = Producer({})\nflush = p.flush\nflush()",
    "class A:\n    def __init__(self):\n        self.p = Producer({})\n        self.flush = self.p.flush\n    def go(self): self.flush()",  # noqa: E501
    "p = Producer({})\ngetattr(p, 'flush')()",
    "import dataclasses\n@dataclasses.dataclass\nclass A:\n    p: object\nA(Producer({})).p.flush()",  # noqa: E501
    "def f(x):\n    if isinstance(p := x, Producer): p.flush()",
    "p = None\ndef get():\n    global p\n    if p is None:\n        p = Producer({})\n        p.flush()",  # noqa: E501
    "p = None\ndef get():\n    global p\n    if p is not None: return p\n    p = Producer({})\n    p.flush()",  # noqa: E501
    "def make():\n    p = None\n    def get():\n        nonlocal p\n        if p is None:\n            p = Producer({})\n            p.flush()\n    return get",  # noqa: E501
    "from collections import namedtuple\nT = namedtuple('T', 'n p')\nT._make((1, Producer({}))).p.flush()",  # noqa: E501
    "from collections import namedtuple\nT = namedtuple('T', 'n p')\nt = T._make([1, Producer({})])\nt._replace(n=2).p.flush()",  # noqa: E501
    "from collections import namedtuple\nT = namedtuple('T', 'n p')\nfor t in map(T._make, [(1, Producer({}))]): t.p.flush()",  # noqa: E501
    "class T(typing.NamedTuple):\n    n: int\n    p: object\nT._make([1, Producer({})]).p.flush()",
    "class T(typing.NamedTuple):\n    n: int\n    p: object\nT(1, Producer({}))._replace(n=2).p.flush()",  # noqa: E501
    "def is_p(x): return isinstance(x, Producer)\ndef f(x):\n    if is_p(x): x.flush()",
    "class A:\n    @functools.cached_property\n    def p(self): return Producer({})\n    def go(self): self.p.flush()",  # noqa: E501
    "p = None\ndef init():\n    global p\n    p = Producer({})\ndef go(): p.flush()",
    "def get(): \n    if not hasattr(get, 'p'):\n        get.p = Producer({})\n    return get.p\nget().flush()",  # noqa: E501
    "@functools.lru_cache(maxsize=None)\ndef get(): return Producer({})\nget().flush()",
    "class A:\n    def __init__(self, **kw): self.p = kw['p']\n    def go(self): self.p.flush()\nA(p=Producer({}))",  # noqa: E501
    "class A:\n    def __init__(self, **kw): self.p = kw.get('p')\n    def go(self): self.p.flush()\nA(p=Producer({}))",  # noqa: E501
    "class A:\n    def __init__(self, *a): self.p = a[0]\n    def go(self): self.p.flush()\nA(Producer({}))",  # noqa: E501
    "class A:\n    def __init__(self, p): self.p = p\ndef make(*a, **k): return A(*a, **k)\nmake(Producer({})).p.flush()",  # noqa: E501
    "def retry(f):\n    @functools.wraps(f)\n    def inner(*a): return f(*a)\n    return inner\n@retry\ndef get(): return Producer({})\nget().flush()",  # noqa: E501
    "class B:\n    def make(self): return Producer({})\nclass C(B):\n    def go(self): super().make().flush()",  # noqa: E501
    "class B:\n    def make(self): raise NotImplementedError\n    def go(self): self.make().flush()\nclass C(B):\n    def make(self): return Producer({})",  # noqa: E501
    "class M(type): pass\nclass A(metaclass=M):\n    p = Producer({})\nA.p.flush()",
    "H = {'a': Producer, 'b': Consumer}\nH[name]({}).flush()",
    "import typing\nclass T(typing.NamedTuple):\n    p: Producer\ndef f(t: T): t.p.flush()",
    "def f(a): return Producer({}) if a else None\nx = f(1)\nif x is not None: x.flush()",
    "def f(a):\n    if a: return None\n    return Producer({})\nx = f(y)\nif x is None: raise E\nx.flush()",  # noqa: E501
    "import contextvars\nv = contextvars.ContextVar('v')\nv.set(Producer({}))\nv.get().flush()",
    "import threading\nl = threading.local()\nl.p = Producer({})\ndef f(): l.p.flush()",
    "from flask import g\ndef get():\n    if 'p' not in g: g.p = Producer({})\n    return g.p\nget().flush()",  # noqa: E501
    "class A:\n    p = None\n    @classmethod\n    def get(cls):\n        if cls.p is None: cls.p = Producer({})\n        return cls.p\nA.get().flush()",  # noqa: E501
    "class A:\n    _i = None\n    def __new__(cls):\n        if cls._i is None:\n            cls._i = super().__new__(cls)\n            cls._i.p = Producer({})\n        return cls._i\nA().p.flush()",  # noqa: E501
    "def g(): yield Producer({})\nnext(g()).flush()",
    "for p in map(Producer, [{}]): p.flush()",
    "def mk(c): return Producer(c)\nfor p in map(mk, [{}]): p.flush()",
    "for p in filter(None, [Producer({})]): p.flush()",
    "max([Producer({})], key=len).flush()",
    "d = {'a': Producer({})}\nfor k, p in sorted(d.items()): p.flush()",
    "ps = [Producer({}) for _ in range(3)]\nps[0].flush()",
    "import random\nrandom.choice([Producer({})]).flush()",
    "ps = [Producer({})]\nps[1:][0].flush()",
    "ps = [] + [Producer({})]\nps[0].flush()",
    "ps = []\nps += [Producer({})]\nps[0].flush()",
    "import queue\nq = queue.Queue()\nq.put(Producer({}))\nq.get().flush()",
    "d = dict(a=Producer({}))\nd['a'].flush()",
    "import collections\nd = collections.defaultdict(lambda: Producer({}))\nd['a'].flush()",
    "def f(p, q): p.flush()\nargs = (Producer({}), 1)\nf(*args)",
    "def f(p, q): p.flush()\nkw = {'p': Producer({}), 'q': 1}\nf(**kw)",
    "class A:\n    def __init__(self, p): self.p = p\n    @classmethod\n    def make(cls): return cls(Producer({}))\n    def go(self): self.p.flush()",  # noqa: E501
    "R = []\nclass M(type):\n    def __new__(mcs, name, bases, ns):\n        cls = super().__new__(mcs, name, bases, ns)\n        R.append(cls)\n        return cls\nclass A(metaclass=M):\n    def p(self): return Producer({})\nfor one in R: one().p().flush()",  # noqa: E501
    "R = {}\nclass M(type):\n    def __init__(cls, name, bases, ns): R[name] = cls\nclass A(metaclass=M): pass\nclass B(A):\n    def p(self): return Producer({})\nR['x']().p().flush()",  # noqa: E501
    "class A:\n    R = {}\n    def __init_subclass__(cls): A.R[cls.name] = cls\nclass B(A):\n    def p(self): return Producer({})\nA.R['x']().p().flush()",  # noqa: E501
    "class lazy:\n    def __init__(self, make): self.make = make\n    def __get__(self, one, owner): return self.make()\nclass A:\n    other = lazy(Consumer)\n    p = lazy(lambda: Producer({}))\nA().p.flush()",  # noqa: E501
    "class lazy:\n    def __init__(self, make): self.make = make\n    def __get__(self, one, owner): return self.make()\nclass A:\n    other = lazy(Consumer)\n    p = lazy(lambda: Producer({}))\n    if DEBUG:\n        def p(self): return None\n    if SLIM:\n        from orders import p\nA().p.flush()",  # noqa: E501
    "v: contextvars.ContextVar[Producer] = contextvars.ContextVar('v')\ndef f(): v.get().flush()",
    "v = contextvars.ContextVar('v', default=Producer({}))\ndef f(): v.get().flush()",
    "p = Producer({})\nr = weakref.ref(p)\nr().flush()",
    "class A:\n    p = Producer({})\noperator.attrgetter('p')(A()).flush()",
    "p = Producer({})\ng = operator.attrgetter('flush')\ng(p)()",
    "d = {'a': Producer({})}\noperator.itemgetter('a')(d).flush()",
    "def step(p, x): return p\nfunctools.reduce(step, [1], Producer({})).flush()",
    "def with_p(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n        return f(Producer({}), *a, **k)\n    return inner\n@with_p\ndef go(p, x): p.flush()\ngo(1)",  # noqa: E501
    "def with_p(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n        return f(*a, p=Producer({}), **k)\n    return inner\n@with_p\ndef go(x, p=None): p.flush()\ngo(1)",  # noqa: E501
    "def with_p(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n        k['p'] = Producer({})\n        return f(*a, **k)\n    return inner\n@with_p\ndef go(x, p=None): p.flush()\ngo(1)",  # noqa: E501
    "def with_p(f):\n    @functools.wraps(f)\n    def inner(self, *a, **k):\n        return f(self, Producer({}), *a, **k)\n    return inner\nclass A:\n    @with_p\n    def go(self, p, x): p.flush()\nA().go(1)",  # noqa: E501
    "def inject(make):\n    def deco(f):\n        @functools.wraps(f)\n        def inner(*a):\n            return f(make(), *a)\n        return inner\n    return deco\ndef mk(): return Producer({})\n@inject(mk)\ndef go(p): p.flush()",  # noqa: E501
    "import torch\nclass V(torch.nn.Module):\n    def go(self): return Producer({})\nV().to(0).eval().go().flush()",  # noqa: E501
    "def lock(f):\n    @functools.wraps(f)\n    def inner(self, *a):\n        self.p.flush()\n        return f(self, *a)\n    return inner\nclass A:\n    def __init__(self): self.p = Producer({})\n    @lock\n    def go(self): pass\nA().go()",  # noqa: E501
    "def lock(n):\n    def deco(f):\n        def inner(self, *a):\n            self.p.flush()\n            return f(self, *a)\n        return inner\n    return deco\nclass A:\n    def __init__(self): self.p = Producer({})\n    @lock(1)\n    def go(self): pass",  # noqa: E501
    "def lock(f):\n    def inner(p, x):\n        p.flush()\n        return f(p, x)\n    return inner\n@lock\ndef go(p, x): pass\ngo(Producer({}), 1)",  # noqa: E501
    "def run(f, *a): return f(Producer({}), *a)\ndef with_p(f):\n    @functools.wraps(f)\n    def inner(*a): return run(f, *a)\n    return inner\n@with_p\ndef go(p, x): p.flush()\ngo(1)",  # noqa: E501
    "class Pool:\n    def run(self, f, *a): return f(Producer({}), *a)\npool = Pool()\ndef with_p(f):\n    def inner(*a): return pool.run(f, *a)\n    return inner\n@with_p\ndef go(p, x): p.flush()\ngo(1)",  # noqa: E501
    "def later(f):\n    def inner(*a): gevent.spawn(f, Producer({}), *a)\n    return inner\n@later\ndef go(p, x): p.flush()\ngo(1)",  # noqa: E501
    "class P(typing.Protocol):\n    def get(self): ...\nclass A:\n    def get(self): return Producer({})\ndef f(x: P): x.get().flush()",  # noqa: E501
    "class P(typing.Protocol):\n    p: typing.Any\n    def go(self): ...\nclass A:\n    def __init__(self): self.p = Producer({})\n    def go(self): ...\ndef f(x: P): x.p.flush()",  # noqa: E501
    "import attr\n@attr.s\nclass A:\n    p = attr.ib()\nA(Producer({})).p.flush()",
    "import attrs\n@attrs.define\nclass A:\n    p = attrs.field(factory=lambda: Producer({}))\n    def go(self): self.p.flush()",  # noqa: E501
    "@dataclasses.dataclass\nclass A:\n    p: object = dataclasses.field(default_factory=lambda: Producer({}))\n    def go(self): self.p.flush()",  # noqa: E501
    "class A:\n    def _get(self): return Producer({})\n    p = property(_get)\n    def go(self): self.p.flush()",  # noqa: E501
    "class A(typing.NamedTuple):\n    p: Producer\n    q: int\ndef f(a: A):\n    p, q = a\n    p.flush()",  # noqa: E501
    "class A(typing.NamedTuple):\n    p: object\n    q: int\np, q = A(Producer({}), 1)\np.flush()",
    "class A(typing.NamedTuple):\n    p: Producer\n    q: int\ndef f(a: A): a[0].flush()",
    "class A(typing.NamedTuple):\n    p: Producer\n    q: int\ndef g(p, q): p.flush()\ndef f(a: A): g(*a)",  # noqa: E501
    "class A(typing.NamedTuple):\n    p: Producer\n    q: int\ndef g(p): p.flush()\ndef f(a: A): g(*a[:1])",  # noqa: E501
    "@dataclasses.dataclass\nclass A:\n    p: Producer\n    q: int\ndef f(a: A):\n    p, q = dataclasses.astuple(a)\n    p.flush()",  # noqa: E501
    "@dataclasses.dataclass\nclass A:\n    p: Producer\ndef f(a: A): dataclasses.replace(a, q=1).p.flush()",  # noqa: E501
    "import types\nn = types.SimpleNamespace(p=Producer({}))\nn.p.flush()",
    "import types\ndef mk(): return types.SimpleNamespace(p=Producer({}))\ndef f():\n    n = mk()\n    n.p.flush()",  # noqa: E501
    "c = collections.ChainMap({'p': Producer({})}, {})\nc['p'].flush()",
    "d = collections.OrderedDict([('p', Producer({}))])\nd['p'].flush()",
    "d = dict([('p', Producer({}))])\nd['p'].flush()",
    "d = dict(zip(['a'], [Producer({})]))\nd['a'].flush()",
    "list(itertools.starmap(lambda p, n: p.flush(), [(Producer({}), 1)]))",
    "for p in itertools.islice([Producer({})], 2): p.flush()",
    "for p in itertools.chain.from_iterable([[Producer({})]]): p.flush()",
    "for k, g in itertools.groupby([Producer({})]):\n    for p in g: p.flush()",
    "for a, p in itertools.zip_longest([1], [Producer({})]): p.flush()",
    "ps = sum([[Producer({})]], [])\nps[0].flush()",
    "M = 'confluent_kafka'\nimportlib.import_module(M).Producer({}).flush()",
    "def load(s):\n    m, _, a = s.partition(':')\n    return getattr(importlib.import_module(m), a)\nload('confluent_kafka:Producer')({}).flush()",  # noqa: E501
    "def load(s):\n    m, a = s.rsplit('.', 1)\n    return getattr(importlib.import_module(m), a)\nload('confluent_kafka.Producer')({}).flush()",  # noqa: E501
    "C = {'BACKEND': 'confluent_kafka.Producer'}\ndef load(s):\n    m, a = s.rsplit('.', 1)\n    mod = importlib.import_module(m)\n    return getattr(mod, a)\nload(C['BACKEND'])({}).flush()",  # noqa: E501
    "from django.utils.module_loading import import_string\nimport_string('confluent_kafka.Producer')({}).flush()",  # noqa: E501
    "from werkzeug.utils import import_string\nimport_string('confluent_kafka:Producer')({}).flush()",  # noqa: E501
    "import pkgutil\npkgutil.resolve_name('confluent_kafka:Producer')({}).flush()",
    "def mk(): return Producer({})\nget = functools.lru_cache(mk)\nget().flush()",
    "def mk(): return Producer({})\nget = functools.lru_cache(maxsize=1)(mk)\nget().flush()",
    "import gevent\ndef mk(): return Producer({})\ng = gevent.spawn(mk)\ng.get().flush()",
    "import gevent\ndef mk(): return Producer({})\njs = [gevent.spawn(mk)]\nfor j in js: j.value.flush()",  # noqa: E501
    "from gevent.pool import Pool\ndef mk(x): return Producer({})\nfor p in Pool(2).map(mk, [1]): p.flush()",  # noqa: E501
    "from gevent.pool import Pool\ndef mk(x): return Producer({})\nfor p in Pool(2).imap_unordered(mk, [1]): p.flush()",  # noqa: E501
    "from concurrent.futures import ThreadPoolExecutor\ndef mk(): return Producer({})\nThreadPoolExecutor(1).submit(mk).result().flush()",  # noqa: E501
    "from dependency_injector import containers, providers\nclass C(containers.DeclarativeContainer):\n    p = providers.Singleton(Producer, {})\nc = C()\nc.p().flush()",  # noqa: E501
    "import attr\n@attr.s(auto_attribs=True)\nclass A:\n    _p: object\n    def go(self): self._p.flush()\nA(p=Producer({}))",  # noqa: E501
    "@dataclasses.dataclass\nclass B:\n    n: int\n@dataclasses.dataclass\nclass A(B):\n    p: object\n    def go(self): self.p.flush()\nA(1, Producer({}))",  # noqa: E501
    "@dataclasses.dataclass\nclass B:\n    p: object\n@dataclasses.dataclass\nclass A(B):\n    n: int\n    def go(self): self.p.flush()\nA(Producer({}), 1)",  # noqa: E501
    "class A:\n    T = {'x': 'on_x'}\n    def on_x(self): return Producer({})\n    def go(self, k): getattr(self, self.T[k])().flush()",  # noqa: E501
    "class A:\n    def __init__(self): self.p = Producer({})\nclass B:\n    def __init__(self, a): self.__dict__.update(a.__dict__)\nB(A()).p.flush()",  # noqa: E501
    "class A:\n    def __init__(self): self.p = Producer({})\nclass B:\n    def __init__(self, a): vars(self).update(vars(a))\nB(A()).p.flush()",  # noqa: E501
    "class A:\n    def get(self): return Producer({})\noperator.methodcaller('get')(A()).flush()",
    "p = Producer({})\nfor name in {'flush': 1}.keys(): getattr(p, name)()",
    "import attr\nattr.make_class('A', {'p': 1, name: 2})(Producer({})).p.flush()",
    "class A: pass\nx = [Producer({})] if y else A()\nx[0].flush()",
    "class Lazy:\n    def __init__(self, make): self.make = make\n    def __get__(self, obj, owner): return self.make()\nshared = Lazy(lambda: Producer({}))\nclass A: p = shared\nA().p.flush()",  # noqa: E501
    "class Lazy:\n    def __init__(self, make, name): self.make = make\n    def __get__(self, obj, owner): return self.make()\nclass A: p = Lazy(lambda: Producer({}), 'p')\nA().p.flush()",  # noqa: E501
    "class Plain:\n    def __init__(self, f): self.f = f\nclass A:\n    @Plain\n    def get(self): return Producer({})\nA().get().flush()",  # noqa: E501
    "class Mixin:\n    def go(self): super().flush()\nclass P(Mixin, Producer): pass",
    "class Root:\n    def go(self): pass\nclass Mixin(Root):\n    def go(self): super().make().flush()\nclass Base(Root):\n    def make(self): return Producer({})\nclass C(Mixin, Base): pass",  # noqa: E501
    "def other(x): return getattr(x, 'a')\nclass A:\n    def __init__(self): self._p = Producer({})\n    def __getattr__(self, name): return getattr(self._p, name)\nA().flush()",  # noqa: E501
    "def deco(f):\n    def inner(x): return f(x)\n    return inner\n@deco\ndef g(x): x.flush()\ng(Producer({}))",  # noqa: E501
    "def deco(f):\n    def inner(*args): return f(1, *args)\n    return inner\n@deco\ndef g(n, x): x.flush()\ng(Producer({}))",  # noqa: E501
    "for y in z:\n    if y: p = Producer({})\n    else: p.flush()",
    "import attr\n@attr.s(auto_attribs=True)\nclass A:\n    _p: object\n    def go(self): self._p.flush()\nA(Producer({}))",  # noqa: E501
    "class A:\n    send = None\nclass B(A):\n    def send(self, x): x.flush()\ndef f(b: B): b.send(Producer({}))",  # noqa: E501
    "class A:\n    def __init__(self, o): vars(self).update(o)\nA({'p': Producer({})}).p.flush()",
]
"""Ways in which an object gets to where it is used."""


@pytest.mark.parametrize("text", GIVEN)
def test_an_object_is_followed_through_classes_tests_and_containers(tmp_path, text):
    head = (
        HEAD + "import collections, contextlib, contextvars, dataclasses, datetime, functools\n"
        "import importlib, itertools, operator, redis, weakref\n"
    )
    inference = inferring(tmp_path, {"main.py": head + text})
    found = [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]

    assert FLUSH in found


@pytest.mark.parametrize(
    ("after", "is_found"),
    [
        ("", True),
        ("C, self", True),
        ("B, self", False),
        ("A, self", False),
    ],
)
def test_super_begins_after_the_class_that_it_is_given(tmp_path, after, is_found):
    text = (
        f"{HEAD}import redis\n"
        "class A:\n    def make(self): return 1\n"
        "class B(A, redis.Redis):\n    def make(self): return Producer({})\n"
        f"class C(B):\n    def go(self): super({after}).make().flush()\n"
    )
    inference = inferring(tmp_path, {"main.py": text})
    found = [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]

    assert (FLUSH in found) is is_found


BASE = """
class Base:
    def __init__(self, client, name=""):
        self.client = client
    def get(self):
        return self.client
"""
DERIVED = {
    "constructor": "Sender(Producer({}))\nOther(redis.Redis())",
    "keyword": "Sender(client=Producer({}))\nOther(client=redis.Redis())",
    "unpacked": "Sender(*[Producer({})])\nOther(**{'client': redis.Redis()})",
    "other file": "from senders import *\nSender(Producer({}))\nOther(redis.Redis())",
}


@pytest.mark.parametrize("call", ["self.client.flush()", "self.get().flush()"])
@pytest.mark.parametrize("made", DERIVED.values(), ids=DERIVED)
@pytest.mark.parametrize(
    "own",
    [
        "",
        "    def __init__(self, client): super().__init__(client, 'x')\n",
        "    def __init__(self, client): Base.__init__(self, client)\n",
        "    def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)\n",
    ],
)
def test_what_a_base_class_is_given_belongs_to_each_derived_class(tmp_path, call, made, own):
    text = (
        f"{HEAD}import redis\n{BASE}"
        f"class Sender(Base):\n{own}    def go(self): {call}\n"
        f"class Other(Base):\n{own}    def go(self): {call}\n"
    )
    senders = tmp_path / "senders.py"
    there = made if made.startswith("from") else ""
    head = f"{HEAD}import redis\n"
    files = {"senders.py": text + ("" if there else made), "main.py": head + there}
    inference = inferring(tmp_path, files)
    flushed = [(row, one) for row, one in symbols(inference, senders) if "flush" in str(one)]

    assert [[FLUSH], ["redis.Redis.flush"]] == [one for _, one in flushed]


ELSEWHERE = {
    "an object of the project": (
        "class App:\n    client = None\n    def go(self): self.client.flush()\napp = App()",
        "from service import app\napp.client = Producer({})",
    ),
    "a class of the project": (
        "class App:\n    client = None\n    def go(self): self.client.flush()",
        "from service import App\nApp.client = Producer({})",
    ),
    "through an attribute": (
        "class App:\n    client = None\n    def go(self): self.client.flush()\n"
        "class Shop:\n    def __init__(self): self.app = App()",
        "from service import Shop\nshop = Shop()\nshop.app.client = Producer({})",
    ),
    "set by setattr": (
        "class App:\n    client = None\n    def go(self): self.client.flush()\napp = App()",
        "from service import app\nsetattr(app, 'client', Producer({}))",
    ),
    "an application of Flask": (
        "import flask\ndef go(): flask.current_app.client.flush()",
        "from flask import Flask\napp = Flask('')\napp.client = Producer({})",
    ),
    "what an extension stores in an application of Flask": (
        "from flask import current_app\ndef go(): current_app.extensions['client'].flush()",
        "from flask import Flask\ndef init(app): app.extensions['client'] = Producer({})\n"
        "init(Flask(''))",
    ),
    "what Flask keeps for a request": (
        "from flask import g\ndef go(): g.client.flush()",
        "from flask import g\ndef before(): g.client = Producer({})",
    ),
    "a greenlet's own, in an object": (
        "from gevent.local import local\nfrom other import make\nclass A:\n"
        "    def __init__(self): self.own = local()\n"
        "    def client(self):\n        self.own.client = make()\n        return self.own.client\n"
        "    def go(self):\n        client = self.client()\n        client.flush()",
        "def make(): return Producer({})",
    ),
    "a method of requests": (
        "def view(request): request.client.flush()",
        "from pyramid.config import Configurator\ndef get(request): return Producer({})\n"
        "def includeme(config): config.add_request_method(get, 'client', reify=True)",
    ),
    "a property of requests that has the function's name": (
        "def view(request): request.client.flush()",
        "from pyramid.config import Configurator\ndef client(request): return Producer({})\n"
        "c = Configurator()\nc.add_request_method(client, property=True)",
    ),
    "a called method of requests": (
        "def view(request): request.client().flush()",
        "from pyramid.config import Configurator\ndef get(request): return Producer({})\n"
        "c = Configurator()\nc.add_request_method(get, name='client')",
    ),
    "the registry of an application": (
        "def view(request): request.registry.client.flush()",
        "def includeme(config): config.registry.client = Producer({})",
    ),
    "a key of the registry": (
        "def view(request): request.registry['client'].flush()",
        "def includeme(c): c.registry['client'] = Producer({})",
    ),
    "the settings of the registry": (
        "def view(request): request.registry.settings['client'].flush()",
        "def includeme(c): c.registry.settings['client'] = Producer({})",
    ),
    "a thread's own": (
        "from other import local\ndef go(): local.client.flush()",
        "import threading\nlocal = threading.local()\ndef f(): local.client = Producer({})",
    ),
}


@pytest.mark.parametrize(("service", "other"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_an_attribute_that_another_module_sets_is_followed(tmp_path, service, other):
    inference = inferring(tmp_path, {"service.py": service, "other.py": HEAD + other})
    found = [name for _, names in symbols(inference, tmp_path / "service.py") for name in names]

    assert FLUSH in found
    assert not [name for name in found if name.endswith(".flush") and name != FLUSH]


@pytest.mark.parametrize(
    "other",
    [
        "class Other: pass\nOther().client = Producer({})\no = Other()\no.client = Producer({})",
        "def f(x): x.client = Producer({})",
        "from service import app\napp.client == Producer({})",
        "from service import app\napp.other = Producer({})",
        "".join(f"def f{n}(a{n}): a{n}.client = Producer({{}})\n" for n in range(50)),
    ],
)
def test_an_attribute_of_something_else_says_nothing(tmp_path, other):
    text = "class App:\n    client = None\n    def go(self): self.client.flush()\napp = App()"
    inference = inferring(tmp_path, {"service.py": text, "other.py": HEAD + other})
    found = [name for _, names in symbols(inference, tmp_path / "service.py") for name in names]

    assert FLUSH not in found


def test_a_class_that_djangos_settings_name_is_followed(tmp_path):
    files = {
        "shop/settings.py": "BUS = 'shop.bus.Kafka'\n",
        "shop/other.py": "BUS = 'shop.bus.Other'\n",
        "shop/bus.py": HEAD + "class Kafka:\n    def make(self): return Producer({})\n"
        "class Other:\n    def make(self): return Consumer({})\n",
        "shop/views.py": "from django.conf import settings\n"
        "from django.utils.module_loading import import_string\n"
        "def view(request): import_string(settings.BUS)().make().flush()\n",
    }
    inference = inferring(tmp_path, files)
    found = [n for _, names in symbols(inference, tmp_path / "shop/views.py") for n in names]

    assert FLUSH in found
    assert "confluent_kafka.Consumer.flush" not in found


NARROWED = {
    "else": "if isinstance(x, Producer):\n    pass\nelse:\n    x.flush()",
    "not": "if not isinstance(x, Producer):\n    x.flush()",
    "return": "if isinstance(x, Producer):\n    return\nx.flush()",
    "is None": "if x is None:\n    x.flush()",
    "is not None": "if x is not None:\n    return\nx.flush()",
    "other": "assert isinstance(x, str)\nx.flush()",
    "type": "if type(x) is Consumer:\n    x.flush()",
    "or": "if not isinstance(x, Consumer) or y:\n    return\nx.flush()",
    "function": "if not is_other(x):\n    return\nx.flush()",
    "method": "if a.is_other(x):\n    x.flush()",
    "class of the project": "if isinstance(x, A):\n    x.flush()",
    "several": "if isinstance(x, (A, (str, Consumer))):\n    x.flush()",
    "exit": "import sys\nif isinstance(x, Producer):\n    sys.exit(1)\nx.flush()",
    "while": "while isinstance(x, Consumer):\n    x.flush()",
    "comprehension": "assert isinstance(x, Consumer)\n[x.flush() for _ in y]",
    "builtin": "z = [] if y else x\nif isinstance(z, list):\n    z.flush()",
}


@pytest.mark.parametrize("text", NARROWED.values(), ids=NARROWED)
def test_a_test_rules_out_what_an_object_cannot_be(tmp_path, text):
    head = (
        f"{HEAD}def is_other(x): return isinstance(x, Consumer)\n"
        "class A:\n    def is_other(self, x): return isinstance(x, Consumer)\na = A()\n"
    )
    body = "".join(f"    {line}\n" for line in text.splitlines())
    inference = inferring(tmp_path, {"main.py": f"{head}def f(x, y):\n{body}f(Producer({{}}), 1)"})
    found = [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]

    assert FLUSH not in found


@pytest.mark.parametrize(
    "text",
    [
        "if isinstance(x, str):\n    x = Producer({})\n    x.flush()",
        "if isinstance(x, str):\n    pass\nx.flush()",
        "if x is None:\n    x = Producer({})\nx.flush()",
        "while isinstance(x, str):\n    x = y\nx.flush()",
        "if isinstance(x, str) and y:\n    return\nx.flush()",
        "if isinstance(x, str) or y:\n    x.flush()",
        "if isinstance(y, str):\n    x.flush()",
        "if isinstance(x, unknown):\n    x.flush()",
        "if is_something(x, y):\n    x.flush()",
        "if isinstance(x, elsewhere.Base):\n    x.flush()",
        "if isinstance(x, (str, [])):\n    x.flush()",
        "if isinstance(x, Producer) is None:\n    x.flush()",
        "if isinstance(x):\n    x.flush()",
        "if type(x) is not Consumer:\n    x.flush()",
        "if not type(x) == Consumer:\n    x.flush()",
        "if x > 1:\n    x.flush()",
        "if is_odd(x):\n    x.flush()",
        "if is_kind(x, Consumer):\n    x.flush()",
        "if [p for p in [x] if isinstance(p, str)]:\n    x.flush()",
        "[x.flush() for _ in y if x is not None]",
        "if not isinstance(x, Producer):\n    raise y\nx.flush()",
        "for z in y:\n    if not isinstance(x, Producer):\n        continue\n    x.flush()",
        "if isinstance(x, Producer):\n    pass\nelse:\n    return\nx.flush()",
        "if is_new(x):\n    x.flush()",
        "if is_either(x):\n    x.flush()",
    ],
)
def test_a_test_rules_out_nothing_where_it_says_nothing(tmp_path, text):
    head = (
        f"{HEAD}import elsewhere\n"
        "def is_new(x): return x.is_new\n"
        "def is_either(x):\n    if x.is_new: return isinstance(x, str)\n    return True\n"
        "def is_odd(x): return isinstance(elsewhere, Consumer)\n"
        "def is_kind(x, kind): return isinstance(x, kind())\n"
    )
    body = "".join(f"    {line}\n" for line in text.splitlines())
    inference = inferring(tmp_path, {"main.py": f"{head}def f(x, y):\n{body}f(Producer({{}}), 1)"})
    found = [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]

    assert FLUSH in found


def called(tmp_path, text, **files):
    """The symbols of the last call in a module, besides constructors."""
    names = {f"{name}.py": body for name, body in files.items()}
    inference = inferring(tmp_path, {"main.py": HEAD + text, **names})
    return symbols(inference, tmp_path / "main.py")[-1][1]


@pytest.mark.parametrize(
    "text",
    [
        "x = Producer({})\nx.flush()",
        "x = {'a': {'b': Producer({})}}\nx['a']['b'].flush()",
        "x = {}\nx['a'] = {'b': Producer({})}\nx['a']['b'].flush()",
        "x = {}\nx.setdefault('a', []).append(1)\nx.setdefault('b', Producer({})).flush()",
        "x = {}\nx['a'].append(Producer({}))\nx['a'][0].flush()",
        "x = {}\nx.update({'a': Producer({})})\nx['a'].flush()",
        "x = {}\nx.get('a', Producer({})).flush()",
        "x = {'a': Producer({})}\nx.copy()['a'].flush()",
        "x = {'a': Producer({})}\nx.popitem()[1].flush()",
        "x = {1: Producer({})}\nx[n].flush()",
        "x = dict(a=1) or {'a': Producer({})}\nx.pop('a').flush()",
        "x = {**y, **{'a': Producer({})}}\nx['a'].flush()",
        "x = [[Producer({})]]\nx[0][0].flush()",
        "x = []\nx.extend([Producer({})])\nx[0].flush()",
        "x = []\nx.insert(0, Producer({}))\nx[0].flush()",
        "import itertools\nnext(itertools.cycle([Producer({})])).flush()",
        "import itertools\nnext(itertools.chain([Producer({})], [])).flush()",
        "import collections\nx = collections.deque([Producer({})])\nx.pop().flush()",
        "import copy\ncopy.copy(Producer({})).flush()",
        "import weakref\nweakref.proxy(Producer({})).flush()",
        "class A:\n    pass\na = A()\na.x = Producer({})\na.x.flush()",
        "class A:\n    def f(self): self.x.flush()\na = A()\na.x = Producer({})\nA().x.flush()",
        "class A:\n    pass\nA.x = Producer({})\nA().x.flush()",
        "def f():\n    def g(): return Producer({})\n    return g\nf()().flush()",
        "T = typing.TypeVar('T', bound=Producer)\ndef f(x: T): x.flush()",
        f"{GIVING.format('**k, x=Producer({{}})')}@d\ndef f(**k): k['x'].flush()",
        f"{GIVING.format('**k, x=Producer({{}})')}@d\ndef f(x): x.flush()",
        f"{GIVING.format('Producer({{}}), *a')}@d\ndef f(*a): a[0].flush()",
        "class A:\n    @staticmethod\n    def d(y):\n        def e(g):\n"
        "            def w(**k): return g(x=Producer({}), **k)\n            return w\n"
        "        return e\n@A.d(1)\ndef f(**k): k['x'].flush()",
        "N = typing.NewType('N', Producer)\ndef f(x: N): x.flush()",
        "def f(x: typing.Callable[..., Producer]): x(1).flush()",
        "def f(*x: Producer): x[0].flush()",
        "def f(**x: Producer): x['a'].flush()",
        "def f(x: typing.Optional['Producer']): x.flush()",
        "def f(x: 'typing.Type[Producer]'): x({}).flush()",
        "class A:\n    def __enter__(self): return Producer({})\nwith A() as x: x.flush()",
        "class A:\n    def __iter__(self): yield Producer({})\nfor x in A(): x.flush()",
        "class A:\n    def __iter__(self): return self\n    def __next__(self): return Producer({})\n"  # noqa: E501
        "for x in A(): x.flush()",
        "class A:\n    @staticmethod\n    def f(x): x.flush()\nA().f(Producer({}))\nA.f(Producer({}))",  # noqa: E501
        "class A:\n    def f(self, x): x.flush()\nA.f(A(), Producer({}))",
        "class A:\n    @classmethod\n    def f(cls, x): x.flush()\nA.f(Producer({}))",
        "class A:\n    @classmethod\n    def f(cls, x): x.flush()\nA().f(Producer({}))",
        "class A:\n    @classmethod\n    def f(cls, x): x.flush()\nclass B(A): pass\nB.f(Producer({}))",  # noqa: E501
        "class A(Producer): pass\nA({}).flush()",
        "def f(x): return x\nf(f(Producer({}))).flush()",
        "class A:\n    def f(self, x): return x\nA().f(Producer({})).flush()",
        "from functools import partial as p\np(p(Producer, {}))().flush()",
        "x = Producer({}) if a else None\nx and x.flush()",
        "x = None\nx = x or Producer({})\nx.flush()",
        "def f(x): x.flush()\nimport threading\n"
        "threading.Thread(target=f, kwargs={'x': Producer({})})",
    ],
)
def test_an_object_is_followed(tmp_path, text):
    inference = inferring(tmp_path, {"main.py": HEAD + text})
    found = [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]

    assert FLUSH in found


GIVEN_BY_BUILTINS = [
    "class A:\n    p = Producer({})\nobject.__new__(A).p.flush()",
    "max(Producer({}), Producer({'a': 1}), key=str).flush()",
    "x = {**{'a': Producer({})}}\nx['a'].flush()",
    "x = {**[Producer({})]}\nx['a'].flush()",
    "y = {'a': Producer({})}\nx = dict(b=1, **y)\nx['a'].flush()",
    "import package.one\npackage.one.p.flush()",
    "import package\npackage.one.p.flush()",
    "from package import one as other\nother.p.flush()",
    "def make(**options): return options['p']\nx = {'p': Producer({})}\nmake(**x).flush()",
    "class B:\n    def __init__(self, p): self.p = p\nclass C(B, dict): pass\nC(Producer({})).p.flush()",  # noqa: E501
    "class B:\n    def get(self): return self.p\nclass C(B):\n    p = Producer({})\n    def get(self): return super().get()\nC().get().flush()",  # noqa: E501
    "import sys\nsys.modules['package.one'].p.flush()",
    "from werkzeug.utils import import_string\nimport_string('package.one:p').flush()",
]


@pytest.mark.parametrize("text", GIVEN_BY_BUILTINS)
def test_an_object_is_followed_through_builtins_and_packages(tmp_path, text):
    package = {"package/one.py": HEAD + "p = Producer({})\n"}
    inference = inferring(tmp_path, {"main.py": HEAD + text, **package})
    found = [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]

    assert FLUSH in found


LEAVES = st.sampled_from([v.literal(1), v.external("a.b"), v.function("a.py", 1)])


@st.composite
def _nested(draw, depth=7):
    """Values in containers in containers; no strategy holds another one, whose name would grow."""
    kind = draw(st.sampled_from(_KINDS)) if depth else v.LITERAL
    inner = depth - 1
    if kind == v.TUPLE:
        return v.TupleValue(kind, tuple(draw(st.lists(_sets(inner), max_size=2))))
    if kind in (v.ELEMENTS, v.MANAGER):
        return v.HolderValue(kind, draw(_sets(inner)))
    if kind == v.MAPPING:
        return v.MappingValue(kind, (("a", draw(_sets(inner))),), draw(_sets(inner)))
    if kind == v.TAKER:
        return v.TakerValue(kind, v.HolderValue(v.ELEMENTS, draw(_sets(inner))), "get")
    if kind == v.PARTIAL:
        return v.PartialValue(kind, draw(_nested(inner)))
    return draw(LEAVES)


def _sets(depth):
    return st.frozensets(_nested(depth), max_size=2)


_KINDS = (v.LITERAL, v.TUPLE, v.ELEMENTS, v.MANAGER, v.MAPPING, v.TAKER, v.PARTIAL)
NESTED = _nested()


def _depth(value):
    """Return the depth of containers in a value; one of unknown elements has none."""
    if value.kind == v.PARTIAL:
        return 1 + _depth(value.callee)
    if value.kind == v.TAKER:
        return max(1, _depth(value.container))
    if value.kind not in (v.TUPLE, v.MAPPING, v.ELEMENTS, v.MANAGER):
        return 0
    held = v.contents(value)
    is_unknown = value.kind == v.ELEMENTS and not held
    return 0 if is_unknown else 1 + max(map(_depth, held), default=0)


@given(st.frozensets(NESTED, max_size=3), st.integers(0, 4))
def test_containers_nest_no_deeper_than_they_may(values, depth):
    cut = v.bounded(values, depth)

    assert all(_depth(one) <= depth for one in cut)
    assert {one for one in values if _depth(one) <= depth} <= cut
    assert cut == v.bounded(cut, depth)
    assert (cut is values) is all(_depth(one) <= depth for one in values)


@pytest.mark.parametrize(
    "text",
    [
        "x.flush()",
        "map(Producer)[0].flush()",
        "gevent.monkey.get_original(name, 'Producer').flush()",
        "x = unknown()\nx.flush()",
        "for x in {'a': Producer({})}: x.flush()",
        "x = {'a': 1, 'b': Producer({})}\nx['a'].flush()",
        "x = (1, Producer({}))\nx[5].flush()",
        "x = (1, Producer({}))\nx[0].flush()",
        "class A:\n    def __iter__(self): return self\nfor x in A(): x.flush()",
        "class A: pass\nclass B: pass\nB.x = Producer({})\nA().x.flush()",
        "def f(x: 'not python('): x.flush()",
        "def f(x: typing.Any): x.flush()",
        "def f(*args): args.flush()",
        "T = typing.TypeVar('T')\ndef f(x: T): x.flush()",
        "T = T\ndef f(x: T): x.flush()",
        "def f(x=None): x.flush()",
        "def f(): return f()\nf().flush()",
        "a = b\nb = a\na.flush()",
        "class A(A): pass\nA().flush()",
        "class A(B): pass\nclass B(A): pass\nA().flush()",
        "getattr(Producer({}), name)()",
        "super().flush()",
        "Producer.flush.flush()",
        "x = Producer({}).flush\nx.flush()",
        "class A:\n    def __init__(self): setattr(self, missing, Producer({}))\nA().p.flush()",
        "class A:\n    def __init__(self, o): self.__dict__.update(o)\nA([Producer({})]).p.flush()",
        "class A:\n    def __init__(self, x, o):\n        for name in x: setattr(self, name, o[name])\nA(['p'], {'p': Producer({})}).q.flush()",  # noqa: E501
        "import gevent.monkey\ngevent.monkey.get_original(name, 'Producer').flush()",
        "x = dict(**[Producer({})])\nx['a'].flush()",
        "import importlib\nimportlib.import_module('.main').p.flush()\np = Producer({})",
        "from werkzeug.utils import import_string\nimport_string('p').flush()\np = Producer({})",
        "import operator\nclass A:\n    p = Producer({})\noperator.attrgetter(name)(A()).flush()",
        "import collections\ncollections.namedtuple('A', [p])(Producer({})).p.flush()",
        "import collections\ncollections.namedtuple('A')(Producer({})).p.flush()",
        "import dataclasses\ndataclasses.astuple(1)[0].flush()",
        "(Producer({}),)().flush()",
        "class A:\n    def __init__(self): self._p = Producer({})\n    def __getattr__(self, name): return getattr(self._p, 'other')\nA().flush()",  # noqa: E501
        "class A:\n    def __getattr__(self, name): return getattr(self, name)\nA().flush()",
        "x = {**1}\nx['a'].flush()",
        "from .missing import *\nx.flush()",
        "a, b = (Producer({}),)\nb.flush()",
        "getattr(Producer({}), 'flush x'.split(' ', maxsplit=y)[0])()",
        "(x + y).flush()",
        "def f(p, **rest): rest['p'].flush()\nf(**{'p': Producer({})})",
        "def f(p): p.flush()\nf(**[Producer({})])",
        "class P(typing.Protocol): x: int\nclass A: p = Producer({})\ndef f(p: P): p.p.flush()",
        "(lambda: Producer({})).flush()",
        "class A:\n    p = property(1)\nA().p.flush()",
        "class A:\n    def __init__(self): vars(self).update(~o)\nA().p.flush()",
    ],
)
def test_what_cannot_be_told_stays_unknown(tmp_path, text):
    inference = inferring(tmp_path, {"main.py": HEAD + text})
    found = [name for _, names in symbols(inference, tmp_path / "main.py") for name in names]

    assert FLUSH not in found


SOCKETS = {
    "def send(s: zmq.Socket): s.send(b'')\nsend(green.Context().socket(1))": "green",
    "def send(s: zmq.Socket): s.send(b'')\nsend(zmq.Context().socket(1))": "plain",
    "def send(s: zmq.Socket): s.send(b'')": "plain",
    "def send(s: zmq.Socket | None = None): s.send(b'')\nsend(unknown())": "plain",
    "def made() -> zmq.Socket: return green.Context().socket(1)\nmade().send(b'')": "green",
    "def made() -> zmq.Socket: return unknown()\nmade().send(b'')": "plain",
    "typing.cast(zmq.Socket, green.Context().socket(1)).send(b'')": "green",
    "typing.cast(zmq.Socket, unknown()).send(b'')": "plain",
    "s: zmq.Socket = green.Context().socket(1)\ns.send(b'')": "green",
    "s: zmq.Socket = unknown()\ns.send(b'')": "plain",
    "class A:\n    s: zmq.Socket\n    def __init__(self): self.s = green.Context().socket(1)\n"
    "    def f(self): self.s.send(b'')": "green",
    "import dataclasses\n@dataclasses.dataclass\nclass A: s: zmq.Socket\n"
    "A(green.Context().socket(1)).s.send(b'')": "green",
    "import contextlib\n@contextlib.contextmanager\ndef made() -> typing.Iterator[zmq.Socket]:\n"
    "    yield green.Context().socket(1)\nwith made() as s: s.send(b'')": "green",
    "import contextlib\n@contextlib.contextmanager\ndef made() -> typing.Iterator[zmq.Socket]:\n"
    "    yield unknown()\nwith made() as s: s.send(b'')": "plain",
    "class A:\n    def __init__(self, green_too):\n        self.s = zmq.Context().socket(1)\n"
    "        if green_too: self.s = green.Context().socket(1)\n"
    "    def f(self): self.s.send(b'')": "both",
}
"""Uses of sockets of ZeroMQ, with the classes that they may be of."""


@pytest.mark.parametrize("text", SOCKETS)
def test_what_is_known_to_be_cooperative_counts_before_an_annotation(tmp_path, text):
    plain, green = {"zmq.Socket.send"}, {"zmq.green.Socket.send"}
    head = "import typing\nimport zmq\nfrom zmq import green\n"
    inference = inferring(tmp_path, {"main.py": head + text})
    found = [names for _, names in symbols(inference, tmp_path / "main.py")]

    wanted = {"plain": plain, "green": green, "both": plain | green}[SOCKETS[text]]
    assert wanted == {name for names in found for name in names if name.endswith(".send")}


BASES = {
    "def f(x: Base): x.CALL\nf(Made())": "Made",
    "def f(x: Base): x.CALL": "Base",
    "def f(x: Base): x.CALL\nf(unknown())": "Base",
    "def made() -> Base: return Made()\nmade().CALL": "Made",
    "def made() -> Base | None:\n    if unknown(): return Made()\nmade().CALL": "Made",
    "x: Base | None = None\ndef made() -> Base:\n    global x\n    if not x: x = Made()\n"
    "    return x\nmade().CALL": "Made",
    "x: Base = Made()\nx.CALL": "Made",
    "class A:\n    def __init__(self, x: Base): self.x = x\n"
    "    def f(self): self.x.CALL\nA(Made()).f()": "Made",
    "class A:\n    x: Base\n    def __init__(self): self.x = Made()\n"
    "    def f(self): self.x.CALL": "Made",
    "import dataclasses\n@dataclasses.dataclass\nclass A: x: Base\nA(Made()).x.CALL": "Made",
}
"""Uses of objects that are declared as a base class, with the class that is inferred for them."""
BELOW = {
    ("concurrent.futures.Executor", "concurrent.futures.ThreadPoolExecutor", "submit"),
    ("concurrent.futures.Executor", "gevent.threadpool.ThreadPoolExecutor", "submit"),
    ("concurrent.futures.ThreadPoolExecutor", "gevent.threadpool.ThreadPoolExecutor", "submit"),
    ("psycopg2.pool.AbstractConnectionPool", "psycopg2.pool.ThreadedConnectionPool", "getconn"),
    ("torch.nn.Module", "transformers.PreTrainedModel", "generate"),
}
"""Base classes, classes below them, and methods of which only the latter's are known."""


@pytest.mark.parametrize("text", BASES)
@pytest.mark.parametrize(("base", "made", "method"), sorted(BELOW))
def test_the_class_of_an_object_counts_before_a_declared_base(tmp_path, base, made, method, text):
    head = (
        f"import {base.rpartition('.')[0]}, {made.rpartition('.')[0]}\nBase = {base}\n"
        f"Made = {made}\n"
    )
    inference = inferring(tmp_path, {"main.py": head + text.replace("CALL", f"{method}()")})
    found = [names for _, names in symbols(inference, tmp_path / "main.py")]

    wanted = {"Made": made, "Base": base}[BASES[text]]
    assert {f"{wanted}.{method}"} == {
        name for names in found for name in names if name.endswith(f".{method}")
    }


def test_a_types_other_name_is_followed_over_modules(tmp_path):
    text = "from types_ import Conn\nimport types_\ndef f(x: Conn): x.flush()\ndef g(x: types_.Conn): x.flush()"  # noqa: E501
    types = "import typing\nfrom more import Conn"
    more = "import typing\nfrom confluent_kafka import Producer\nConn = typing.Optional[Producer]"
    inference = inferring(tmp_path, {"main.py": text, "types_.py": types, "more.py": more})

    assert [[FLUSH], [FLUSH]] == [s for _, s in symbols(inference, tmp_path / "main.py")]


def test_types_that_import_one_another_say_nothing(tmp_path):
    text = "from other import T\ndef f(x: T): x.flush()"
    inference = inferring(tmp_path, {"main.py": text, "other.py": "from main import T"})

    assert [] == symbols(inference, tmp_path / "main.py")


@pytest.mark.parametrize(
    ("exports", "name", "seen"),
    [
        ("", "x", True),
        ("", "_x", False),
        ("__all__ = ['x']", "x", True),
        ("__all__ = ['y']", "x", False),
        ("__all__ = ['_x']", "_x", True),
        ("__all__ = ['y']\n__all__ += ['x']", "x", True),
        ("__all__ = names()", "_x", True),
    ],
)
def test_a_star_import_gives_what_the_module_exports(tmp_path, exports, name, seen):
    other = f"{HEAD}{exports}\n{name} = Producer({{}})"
    files = {"main.py": f"from other import *\n{name}.flush()", "other.py": other}

    assert seen == bool(symbols(inferring(tmp_path, files), tmp_path / "main.py"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "with Producer({}): pass",
            ["confluent_kafka.Producer.__enter__", "confluent_kafka.Producer.__exit__"],
        ),
        (
            "import contextlib\nwith contextlib.closing(Producer({})): pass",
            ["confluent_kafka.Producer.close"],
        ),
        (
            "import contextlib\nwith contextlib.nullcontext(Producer({})): pass",
            ["contextlib.nullcontext"],
        ),
        (
            "class A(Producer): pass\nwith A({}): pass",
            ["confluent_kafka.Producer.__enter__", "confluent_kafka.Producer.__exit__"],
        ),
        ("for x in Producer({}): pass", ["confluent_kafka.Producer.__iter__"]),
        (
            "class A(Producer):\n    def __init__(self): pass\nA().poll()",
            ["confluent_kafka.Producer.poll"],
        ),
    ],
)
def test_statements_call_methods_of_their_objects(tmp_path, text, expected):
    assert expected == called(tmp_path, text)


@pytest.mark.parametrize(
    ("subscript", "expected"),
    [
        ("sqlite_utils.Database('x')['orders']", ["sqlite_utils.db.Table.sum"]),
        ("pandas.read_csv('x')['a']", ["pandas.Series.sum"]),
        ("pandas.read_csv('x')[:9]", ["pandas.DataFrame.sum"]),
        ("pandas.to_numeric('x')[:9]", ["pandas.Series.sum"]),
        ("pandas.to_numeric('x')['a']", []),
    ],
)
def test_a_subscript_gives_what_the_catalog_says(tmp_path, subscript, expected):
    text = f"import pandas, sqlite_utils\nx = {subscript}\nx.sum()"
    inference = inferring(tmp_path, {"main.py": text})
    found = [names for row, names in symbols(inference, tmp_path / "main.py") if row == 3]

    assert [expected] == (found or [[]])


def test_a_constructor_that_is_inherited_is_the_compiled_one(tmp_path):
    assert ["confluent_kafka.Producer"] == called(tmp_path, "class A(Producer): pass\nA({})")
    assert ["builtins.print"] == called(
        tmp_path, "class A(Producer):\n    def __init__(self): pass\nprint(1)\nA()"
    )


def test_a_wide_set_of_values_is_a_guess(tmp_path):
    branches = "\n".join(f"if a: x = lib{i}.f" for i in range(20))
    imports = "\n".join(f"import lib{i}" for i in range(20))
    inference = inferring(tmp_path, {"main.py": f"{imports}\n{branches}\nx()"})

    assert [] == symbols(inference, tmp_path / "main.py")


@pytest.mark.parametrize("length", [200, 2_000])
def test_a_chain_of_names_of_any_length_is_followed(tmp_path, length):
    text = "x0 = print\n" + "\n".join(f"x{i + 1} = x{i}" for i in range(length))
    inference = inferring(tmp_path, {"main.py": f"{text}\nx{length}()"})

    assert [(length + 2, ["builtins.print"])] == symbols(inference, tmp_path / "main.py")


def test_a_module_that_cannot_be_parsed_says_nothing(tmp_path):
    files = {
        "main.py": "from other import x\nx.flush()\nimport other\nother.f()",
        "other.py": "def f(:",
    }
    inference = inferring(tmp_path, files)
    path = str(tmp_path / "other.py")

    assert [] == symbols(inference, tmp_path / "main.py")
    assert v.NOTHING == inference.name("x", Place(path, 0, (0,)))
    assert not inference.modules.parses(path)
    assert ([], 1) == (
        inference.modules.summary(path).calls,
        len(inference.modules.summary(path).scopes),
    )


def test_a_file_that_is_given_up_keeps_the_numbers_of_its_scopes(tmp_path):
    """Values that were inferred before still hold these numbers."""
    files = {
        "deep.py": "class A:\n    def f(self, x):\n        return g(x)\ndef g(x):\n    return x"
    }
    inference = inferring(tmp_path, files)
    path = str(tmp_path / "deep.py")
    before = inference.modules.summary(path)
    inference.modules.give_up(path)
    after = inference.modules.summary(path)

    assert not inference.modules.parses(path)
    assert [(s.kind, s.name, s.parent) for s in before.scopes] == [
        (s.kind, s.name, s.parent) for s in after.scopes
    ]
    for index, scope in enumerate(after.scopes):
        assert ({}, []) == (scope.bindings, scope.returns)
        for number, (name, *_) in enumerate(scope.parameters):
            found = inference.parameters.parameter(path, index, number)
            assert (name == "self") is bool(found)
        assert v.NOTHING == inference.results.result(v.function(path, index))
        assert () == inference.calling.callers(path, index)
    assert not inference.calling.subclasses(path, 1)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [(0, 0.0, True), (0, False, False), (True, True, True), (1, True, False), (None, None, True)],
)
def test_constants_are_one_where_a_reader_says_so(one, other, equal):
    assert equal == same(one, other)


NAME = NameExpr("name", "a")


@pytest.mark.parametrize(
    ("positional", "keywords", "given", "found"),
    [
        ((NAME,), (), True, NAME),
        ((), (("k", NAME),), True, NAME),
        ((InnerExpr("star", NAME),), (), True, None),
        ((None,), (), True, None),
        ((), ((None, NAME),), False, None),
        ((), (), False, None),
    ],
)
def test_arguments_are_found_by_position_and_by_name(positional, keywords, given, found):
    call = call_of(NAME, positional, keywords)

    assert given == is_passed(call, 0, "k")
    assert found == passed(call, 0, "k")


def test_names_of_expressions():
    chain = AttributeExpr("attribute", AttributeExpr("attribute", NAME, "b"), "c")

    assert dotted(chain) == "a.b.c"
    assert last_name(chain) == "c"
    assert dotted(AttributeExpr("attribute", call_of(NAME, ()), "c")) is None
    assert dotted(None) is None
    assert last_name(None) == ""


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(PROGRAMS, min_size=2, max_size=3))
def test_any_projects_calls_are_answered_however_its_modules_import_one_another(programs):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        names = ["__init__.py", "b.py", "c.py"]
        files = {f"a/{name}": text for name, text in zip(names, programs, strict=False)}
        inference = inferring(root, files)
        for name in files:
            symbols(inference, root / name)


PROJECTS = {
    "a constructor that a subclass inherits": {
        "main.py": "from base import Base\nclass B(Base): pass\nB(Producer({}))",
        "base.py": "class Base:\n    def __init__(self, x):\n        x.flush()",
    },
    "a constructor that is called by a subclass": {
        "main.py": "from base import Base\nclass B(Base):\n    def __init__(self):\n"
        "        super().__init__(Producer({}))",
        "base.py": "class Base:\n    def __init__(self, x):\n        x.flush()",
    },
    "a constructor that is called through the class": {
        "main.py": "from base import Base\nclass B(Base):\n    def __init__(self):\n"
        "        Base.__init__(self, Producer({}))",
        "base.py": "class Base:\n    def __init__(self, x):\n        x.flush()",
    },
    "a derived class that inherits the constructor, made in another module": {
        "main.py": "from derived import Derived\ndef f(): Derived(Producer({})).flush()",
        "derived.py": "from base import Base\nclass Derived(Base): pass",
        "base.py": "class Base:\n    def __init__(self, x): self.x = x\n"
        "    def flush(self): self.x.flush()",
    },
    "an abstract property": {
        "main.py": "from base import Base\nclass Derived(Base):\n"
        "    @property\n    def x(self): return Producer({})",
        "base.py": "import abc\nclass Base(abc.ABC):\n    @property\n    @abc.abstractmethod\n"
        "    def x(self): ...\n    def f(self): self.x.flush()",
    },
    "an attribute of classes that derive from a generic one": {
        "main.py": "from base import Base\nclass Derived(Base[int]): x = Producer({})",
        "base.py": "import typing\nT = typing.TypeVar('T')\nclass Base(typing.Generic[T]):\n"
        "    def f(self): self.x.flush()",
    },
    "an empty hook": {
        "main.py": "from base import Base\nclass Derived(Base):\n"
        "    def make(self): return Producer({})",
        "base.py": "class Base:\n    def make(self): pass\n    def f(self): self.make().flush()",
    },
    "a function that is called back": {
        "main.py": "from base import run\ndef work(x): x.flush()\nrun(work)",
        "base.py": f"{HEAD}def run(task):\n"
        "    def go(): return task(Producer({}))\n    return go()",
    },
    "a lambda that is called back": {
        "main.py": "from base import run\nrun(lambda x: x.flush())",
        "base.py": f"{HEAD}def run(task): return task(Producer({{}}))",
    },
    "a name of a module that another module sets": {
        "main.py": "import base\nbase.x = Producer({})",
        "base.py": "x = None\ndef f(): x.flush()",
    },
    "an attribute of requests": {
        "main.py": "class Middleware:\n    def __call__(self, request):\n"
        "        request.x = Producer({})\n        return self.next(request)",
        "base.py": "def view(request): request.x.flush()",
    },
    "an attribute of the context of requests": {
        "main.py": "class Middleware:\n    def process_request(self, req, resp):\n"
        "        req.context.x = Producer({})",
        "base.py": "class Orders:\n    def on_get(self, req, resp): req.context.x.flush()",
    },
    "a package without __init__": {
        "main.py": "from names import base\nbase.make().flush()\nimport names.base as b\nb.make()",
        "names/base.py": f"{HEAD}def make(): return Producer({{}})",
    },
    "a package's module without an import of it": {
        "main.py": "import pkg\nfrom pkg import base\nbase.x.flush()",
        "pkg/__init__.py": "from . import base",
        "pkg/base.py": f"{HEAD}x = Producer({{}})",
    },
    "a coroutine": {
        "main.py": "async def make(): return Producer({})\n"
        "async def f(): (await make()).flush()\n"
        "async def g(x: typing.Awaitable[Producer]): (await x).flush()",
    },
    "one element after the other of what is spawned": {
        "main.py": "import gevent.pool\ndef f(x): x.flush()\ngevent.pool.Pool(2).map(f, [Producer({})])",  # noqa: E501
    },
    "a handler that a function appends to a list": {
        "main.py": "import bus\ndef handle(x): x.flush()\nbus.add(handle)\nbus.emit(Producer({}))",
        "bus.py": "found = []\ndef add(one): found.append(one)\n"
        "def emit(x):\n    for one in found: one(x)",
    },
    "a handler that an object keeps by keyword": {
        "main.py": "from bus import Bus\ndef handle(x): x.flush()\n"
        "Bus(handlers=[handle]).emit(Producer({}))",
        "bus.py": "class Bus:\n    def __init__(self, handlers): self.handlers = list(handlers)\n"
        "    def emit(self, x):\n        for one in self.handlers: one(x)",
    },
    "a step that an object of a dataclass keeps": {
        "main.py": "from bus import Bus, Step\ndef handle(x): x.flush()\n"
        "Bus([Step(handle)]).emit(Producer({}))",
        "bus.py": "from dataclasses import dataclass\n@dataclass\nclass Step:\n    run: object\n"
        "class Bus:\n    def __init__(self, steps): self.steps = steps\n"
        "    def emit(self, x):\n        for one in self.steps: one.run(x)",
    },
    "a method that overrides one of an abstract class": {
        "main.py": "import abc\nclass A(abc.ABC):\n    def send(self, x): ...\n"
        "class B(A):\n    def send(self, x): x.flush()\n"
        "def f(a: A): a.send(Producer({}))",
    },
    "a constructor of a class between": {
        "main.py": "from base import Base\nclass B(Base):\n    def __init__(self, x):\n"
        "        super().__init__(x)\nclass C(B, dict): pass\nC(Producer({})).go()",
        "base.py": "class Base:\n    def __init__(self, x): self.x = x\n"
        "    def go(self): self.x.flush()",
    },
    "a class under another name": {
        "main.py": "class A:\n    def __init__(self, x): self.x = x\n"
        "    def go(self): self.x.flush()\nB = A\nB(Producer({})).go()",
    },
    "a class that a base makes objects of": {
        "main.py": "from base import Base\nfrom item import Item\nclass C(Base): made = Item\n",
        "base.py": HEAD + "class Base:\n    made = None\n"
        "    def make(self): return self.made(Producer({}))",
        "item.py": "class Item:\n    def __init__(self, x): self.x = x\n"
        "    def go(self): self.x.flush()",
    },
    "a class that a derived class makes objects of": {
        "main.py": "from base import Base\nclass C(Base):\n"
        "    def make(self): return self.made(Producer({}))",
        "base.py": "from item import Item\nclass Base: made = Item",
        "item.py": "class Item:\n    def __init__(self, x): self.x = x\n"
        "    def go(self): self.x.flush()",
    },
    "arguments that are packed for a thread": {
        "main.py": "import threading\ndef f(x): x.flush()\n"
        "threading.Thread(target=f, args=[Producer({})])\nthreading.Thread(target=f, args=more)",
    },
}


@pytest.mark.parametrize("files", PROJECTS.values(), ids=PROJECTS)
def test_an_object_is_followed_through_a_project(tmp_path, files):
    files = {**files, "main.py": HEAD + files["main.py"]}
    inference = inferring(tmp_path, files)
    found = [n for name in files for _, names in symbols(inference, tmp_path / name) for n in names]

    assert FLUSH in found


def test_of_many_files_that_name_a_function_those_near_it_are_read(tmp_path):
    files = {"svc.py": "def run(x):\n    x.flush()\n"}
    for number in range(60):
        files[f"other{number}.py"] = "def f(run):\n    run(1)\n"
    files["main.py"] = f"{HEAD}import svc\nsvc.run(Producer({{}}))\n"
    inference = inferring(tmp_path, files)

    assert [(2, [FLUSH])] == symbols(inference, tmp_path / "svc.py")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "import grpc\nchannel = grpc.insecure_channel('')\nchannel.unary_unary('')(b'')",
            "grpc.UnaryUnaryMultiCallable.__call__",
        ),
        (
            "import grpc\nclass A(grpc.UnaryUnaryMultiCallable): pass\nA()(b'')",
            "grpc.UnaryUnaryMultiCallable.__call__",
        ),
        (
            "import pylibmc\nclass C:\n    pool = pylibmc.Client([])\nC.pool.get('')",
            "pylibmc.Client.get",
        ),
        (
            "import dask.dataframe as dd\ndd.read_csv('').price.sum().compute()",
            "dask.dataframe.Series.compute",
        ),
        (
            "import dask.dataframe as dd\ndd.read_csv('').groupby('a').price.mean().compute()",
            "dask.dataframe.DataFrame.compute",
        ),
        (
            "import dask.dataframe as dd\nclass T:\n    def __init__(self):\n        self.t = dd.read_csv('')\n    def f(self): self.t.price.compute()",  # noqa: E501
            "dask.dataframe.Series.compute",
        ),
        (
            "import xarray\nwith xarray.open_dataset('') as d: d.t.sel(a=1).load()",
            "xarray.DataArray.load",
        ),
    ],
)
def test_the_catalog_tells_what_compiled_objects_give(tmp_path, text, expected):
    assert [expected] == called(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "import dask.dataframe as dd\ndd.DataFrame.price.compute()",
        "import dask.dataframe as dd\ndd.read_csv('')._private.compute()",
        "import dask.dataframe as dd\ndd.read_csv('').cumulated().compute()",
        "import dask.array as da\nda.ones(1).price.compute()",
    ],
)
def test_only_objects_of_some_classes_have_columns(tmp_path, text):
    assert "dask.dataframe.Series.compute" not in called(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c.cursor(cursors.SSCursor).fetchone()", "MySQLdb.cursors.SSCursor.fetchone"),
        ("c.cursor(cursorclass=cursors.SSCursor).fetchone()", "MySQLdb.cursors.SSCursor.fetchone"),
        ("kind = cursors.SSDictCursor\nc.cursor(kind).fetchone()", "MySQLdb.cursors.SSDictCursor.fetchone"),  # noqa: E501
        ("c.cursor(*[cursors.SSCursor]).fetchone()", "MySQLdb.cursors.SSCursor.fetchone"),
        ("c.cursor().fetchone()", "MySQLdb.cursors.Cursor.fetchone"),
        ("c.cursor(None).fetchone()", "MySQLdb.cursors.Cursor.fetchone"),
        ("c.cursor(unknown).fetchone()", "MySQLdb.cursors.Cursor.fetchone"),
        ("class Own(cursors.SSCursor): pass\nc.cursor(Own).fetchone()", "MySQLdb.cursors.SSCursor.fetchone"),  # noqa: E501
        ("def make(*args): return cursors.SSCursor()\nc.cursor(make).fetchone()", "MySQLdb.cursors.SSCursor.fetchone"),  # noqa: E501
    ],
)  # fmt: skip
def test_an_argument_can_choose_what_a_call_gives(tmp_path, text, expected):
    head = "import MySQLdb\nfrom MySQLdb import cursors\nc = MySQLdb.connect()\n"
    inference = inferring(tmp_path, {"main.py": head + text})

    assert [expected] == symbols(inference, tmp_path / "main.py")[-1][1]


BOTH = ["confluent_kafka.Consumer.close", "confluent_kafka.Producer.close"]
P, C = BOTH[1:], BOTH[:1]
PURE = (
    "def make(pure, *, kind='p'):\n    if {}:\n        return Producer()\n    return Consumer()\n"
)
METHOD = "class A:\n    {}\n    def make({}pure=True):\n        if pure: return Producer()\n        else: return Consumer()\n"  # noqa: E501


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PURE.format("pure") + "make(True).close()", P),
        (PURE.format("pure") + "make(pure=False).close()", C),
        (PURE.format("pure") + "make(0).close()", C),
        (PURE.format("not pure") + "make(True).close()", C),
        (PURE.format("pure is None") + "make(None).close()", P),
        (PURE.format("pure is not None") + "make(None).close()", C),
        (PURE.format("pure == 'p'") + "make('q').close()", C),
        (PURE.format("pure != 'p'") + "make('q').close()", P),
        (PURE.format("pure in ('p', 'q')") + "make('q').close()", P),
        (PURE.format("pure not in ['p', 'q']") + "make('q').close()", C),
        (PURE.format("kind == 'p'") + "make(1).close()", P),
        (PURE.format("kind == 'p'") + "make(1, kind='q').close()", C),
        (PURE.format("pure and kind == 'p'") + "make(1).close()", P),
        (PURE.format("pure and other()") + "make(0).close()", C),
        (PURE.format("pure and other()") + "make(1).close()", BOTH),
        (PURE.format("pure or other()") + "make(1).close()", P),
        (PURE.format("pure") + "make(unknown).close()", BOTH),
        (PURE.format("pure") + "make(*more).close()", BOTH),
        (PURE.format("kind == 'p'") + "make(1, **more).close()", BOTH),
        (PURE.format("pure.x") + "make(1).close()", BOTH),
        (PURE.format("0 < pure < 3") + "make(1).close()", BOTH),
        ("def make(pure):\n    pure = other()\n    if pure: return Producer()\n    return Consumer()\nmake(1).close()", BOTH),  # noqa: E501
        ("import click\n@click.command()\n" + PURE.format("pure") + "make(1).close()", BOTH),
        ("import functools\n@functools.lru_cache\n" + PURE.format("pure") + "make(1).close()", P),
        ("import functools\n" + PURE.format("pure") + "functools.partial(make, 1)(0).close()", P),
        (METHOD.format("", "self, ") + "A().make().close()", P),
        (METHOD.format("", "self, ") + "A().make(False).close()", C),
        (METHOD.format("", "self, ") + "A.make(A(), False).close()", C),
        (METHOD.format("@classmethod", "cls, ") + "A.make(False).close()", C),
        (METHOD.format("@staticmethod", "") + "A.make(False).close()", C),
        (METHOD.format("@staticmethod", "") + "f = [A.make]\nf[0]().close()", P),
    ],
)  # fmt: skip
def test_a_constant_chooses_what_a_function_returns(tmp_path, text, expected):
    inference = inferring(tmp_path, {"main.py": HEAD + text})

    assert expected == symbols(inference, tmp_path / "main.py")[-1][1]


HIERARCHIES = {
    "a diamond": "class A: pass\nclass B(A): pass\nclass C(A): pass\nclass X(B, C): pass\n",
    "a mixin with a base": (
        "class M0: pass\nclass M(M0): pass\nclass A: pass\nclass B(A): pass\nclass X(M, B): pass\n"
    ),
    "a deep base first": (
        "class R: pass\nclass A(R): pass\nclass B(A): pass\nclass C(R): pass\nclass X(B, C): pass\n"
    ),
    "two diamonds": (
        "class A: pass\nclass B(A): pass\nclass C(A): pass\nclass D(B, C): pass\n"
        "class E(C): pass\nclass X(D, E): pass\n"
    ),
}


@pytest.mark.parametrize("text", HIERARCHIES.values(), ids=HIERARCHIES)
def test_bases_are_in_the_order_in_which_python_looks_them_up(tmp_path, text):
    inference = inferring(tmp_path, {"a.py": text})
    names: dict[str, type] = {}
    exec(text, names)
    path = str(tmp_path / "a.py")
    scopes = inference.modules.summary(path).scopes
    numbers = {scope.name: number for number, scope in enumerate(scopes)}
    found = inference.classes.ancestry(path, numbers["X"])
    assert [scopes[one.scope].name for one in found] == [
        one.__name__ for one in names["X"].__mro__[:-1]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "class A: pass\nclass B(A): pass\nclass X(A, B): pass\n",
        "class A(B): pass\nclass B(A): pass\nclass X(A): pass\n",
        "class X(X): pass\n",
    ],
)
def test_an_order_that_python_refuses_has_each_base_once(tmp_path, text):
    inference = inferring(tmp_path, {"a.py": text})
    path = str(tmp_path / "a.py")
    scopes = inference.modules.summary(path).scopes
    for number in range(1, len(scopes)):
        found = inference.classes.ancestry(path, number)
        assert len(found) == len(set(found))
        assert found[0].scope == number


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("Network().forward(x)", ["torch.nn.Module.forward"]),
        ("Deep().forward(x)", ["torch.nn.Module.forward"]),
        ("Network().embed(x)", []),
        ("Other().forward(x)", []),
    ],
)
def test_a_method_that_a_class_implements_for_a_library_is_the_library_s(
    tmp_path, called, expected
):
    text = (
        "import torch\nclass Network(torch.nn.Module):\n    def forward(self, x): return x\n"
        "    def embed(self, x): return x\nclass Deep(Network): pass\n"
        "class Other:\n    def forward(self, x): return x\n"
    )
    inference = inferring(tmp_path, {"main.py": text + called + "\n"})
    (call,) = [
        one
        for one in inference.modules.summary(str(tmp_path / "main.py")).calls
        if one.scope == 0 and one.row == 8
    ][-1:]
    place = Place(str(tmp_path / "main.py"), 0, call.path)
    assert expected == sorted(inference.callees.called_symbols(call.expression.callee, place))


TESTS = ("a", "not a", "a and work(0)", "b == 'x'", "a or b", "b in ('x', 'y')", "work(0)")


@st.composite
def blocks(draw, depth=2):
    """The lines of a block of calls and conditions on the parameters ``a`` and ``b``."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(("call", "return", "if", "elif", "for") if depth else ("call",))
        )
        if kind in ("call", "return"):
            lines.append("work(0)" if kind == "call" else "return work(0)")
            continue
        head = (
            f"if {draw(st.sampled_from(TESTS))}:" if kind != "for" else "for _ in work(0) or [1]:"
        )
        lines += [head, *(f"    {line}" for line in draw(blocks(depth - 1)))]
        if kind == "elif":
            lines.append(f"elif {draw(st.sampled_from(TESTS))}:")
            lines += [f"    {line}" for line in draw(blocks(depth - 1))]
            lines += ["else:", *(f"    {line}" for line in draw(blocks(depth - 1)))]
    return lines


@settings(max_examples=examples(100), deadline=None)
@given(blocks(), st.sampled_from(("", "True", "False, 'x'", "b='y'", "None, b='z'")))
def test_a_call_may_reach_what_it_runs(body, given_):
    text = "\n".join(["def run(a=False, b='x'):", *(f"    {line}" for line in body)])
    text = "\n".join(
        [line.replace("work(0)", f"work({n})") for n, line in enumerate(text.split("\n"))]
    )
    ran = set()
    names = {"work": ran.add}
    exec(text, names)
    eval(f"run({given_})", names)
    summary = summarize("main.py", f"{text}\nrun({given_})\n")
    scope = next(one for one in summary.scopes if one.name == "run")
    *calls, last = [one for one in summary.calls if one.node == "call"]
    for call in calls:
        reached = may_reach(scope, last.expression, 0, call.path)
        assert reached or call.row - 1 not in ran
