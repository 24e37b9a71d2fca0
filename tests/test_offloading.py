"""Code that only ever runs in a native thread."""

from __future__ import annotations

import pytest
from harness import check, inferring

from gblock.config import Config
from gblock.project.calls.offloading import Offloading
from gblock.project.names.places import Place

HEAD = (
    "import gevent, os\nfrom functools import partial, wraps\npool = gevent.get_hub().threadpool\n"
)
F = "def f(x=1):\n    os.system('')\n"


def natively(tmp_path, text, **more):
    """Return whether the first call of os.system in a module runs natively."""
    inference = inferring(
        tmp_path, {"main.py": HEAD + text, **{f"{n}.py": t for n, t in more.items()}}
    )
    summary = inference.modules.summary(str(tmp_path / "main.py"))
    call = next(c for c in summary.calls if c.expression[1][-1] == "system")
    return Offloading(inference).runs_natively(summary.filename, call.scope)


@pytest.mark.parametrize(
    "text",
    [
        f"{F}pool.apply(f)",
        f"{F}pool.apply(func=f)",
        f"{F}pool.spawn(f, 1)",
        f"{F}pool.map(f, [1])",
        f"{F}pool.apply(partial(f, 1))",
        f"{F}g = partial(f, 1)\npool.apply(g)",
        f"{F}g = f\npool.apply(g)",
        f"{F}pool.apply(lambda: f())",
        f"{F}def g(): f()\npool.apply(g)",
        "pool.apply(lambda: os.system(''))",
        "g = lambda: os.system('')\npool.apply(g)",
        "pool.apply(lambda: [os.system(x) for x in y])",
        "def f():\n    os.system('')\n    f()\npool.apply(f)",
        "class A:\n    def f(self): os.system('')\n    def g(self): pool.apply(self.f)",
        "class A:\n    def __init__(self): self.p = pool\n    def f(self): os.system('')\n"
        "    def g(self): self.p.apply(self.f)",
        "def outer():\n    def f(): os.system('')\n    pool.apply(f)",
        # a method of an object of which only the base, or the protocol, is known
        "class B:\n    def f(self): ...\nclass A(B):\n    def f(self): os.system('')\n"
        "def g(b: B): pool.apply(b.f)",
        "import typing\nclass P(typing.Protocol):\n    def f(self): ...\n"
        "class A:\n    def f(self): os.system('')\ndef g(b: P): pool.apply(b.f)",
        "def d(g):\n    @wraps(g)\n    def w(*a): return pool.apply(g, a)\n    return w\n@d\n" + F,
        "def d(g):\n    def w(*a): return pool.apply(lambda: g(*a))\n    return w\n@d\n" + F,
        "def d(g):\n    def w(*a): return pool.apply(partial(g, *a))\n    return w\n@d\n"
        + F
        + "f()",
        # a decorator that is a method
        "class P:\n    def wrap(self, g):\n        def w(*a): return pool.apply(g, a)\n"
        "        return w\np = P()\n@p.wrap\n" + F,
        "class P:\n    def __init__(self): self.q = pool\n    def wrap(self, g):\n"
        "        return lambda *a: self.q.apply(g, a)\np = P()\n@p.wrap\n" + F + "f()",
        "class P:\n    @staticmethod\n    def wrap(g):\n"
        "        def w(*a): return pool.apply(g, a)\n        return w\n@P.wrap\n" + F,
        "class P(gevent.threadpool.ThreadPool):\n    def wrap(self, g):\n"
        "        def w(*a): return self.apply(g, a)\n        return w\n@P(3).wrap\n" + F,
        # one with arguments
        "class P:\n    def wrap(self, size):\n        def d(g):\n"
        "            def w(*a): return pool.apply(g, a)\n            return w\n"
        "        return d\np = P()\n@p.wrap(3)\n" + F,
        # an object, and a class
        "class P:\n    def __call__(self, g):\n        def w(*a): return pool.apply(g, a)\n"
        "        return w\np = P()\n@p\n" + F,
        "class D:\n    def __init__(self, g): self.g = g\n"
        "    def __call__(self, *a): return pool.apply(self.g, a)\n@D\n" + F,
        # a descriptor
        "class D:\n    def __init__(self, g): self.g = g\n"
        "    def __get__(self, o, owner): return lambda *a: pool.apply(self.g, (o, *a))\n"
        "class A:\n    @D\n    def f(self): os.system('')\nA().f()",
        # through several methods, packed, with a condition on the thread
        "import threading\nmain_thread = threading.current_thread().ident\n"
        "def is_main(): return threading.current_thread().ident == main_thread\n"
        "class P:\n    def __init__(self): self.q = pool\n"
        "    def wrap(self, g):\n        def w(*a, **k):\n"
        "            if not is_main():\n                return g(*a, **k)\n"
        "            return self.apply(g, a, k)\n        return w\n"
        "    def apply(self, g, a=(), k={}): return self.spawn(g, *a, **k).get()\n"
        "    def spawn(self, *a, **k): return self.q.spawn(*a, **k)\n"
        "p = P()\n@p.wrap\n" + F,
        "def run(*, job): return pool.apply(job)\n"
        "def d(g):\n    return lambda *a: run(job=g)\n@d\n" + F,
        # functions of the project that hand over what they are given
        f"{F}def run(g, *a): return pool.apply(g, a)\nrun(f, 1)",
        f"{F}def run(g, *a): return pool.apply(g, a)\nrun(g=f)",
        f"{F}class A:\n    def run(self, g, *a): return pool.apply(g, a)\n"
        "    def go(self): self.run(f, 1)",
        f"{F}def run(g): return pool.apply(lambda: g())\nrun(f)",
        f"{F}def g(): print(f)\npool.apply(g)\npool.apply(f)",
        # by what they take in *args and **kwargs
        f"{F}def run(*a): return pool.spawn(*a).get()\nrun(f, 1)",
        f"{F}def run(*a): return pool.apply(a[0], a[1:])\nrun(f, 1)",
        f"{F}def run(**k): return pool.apply(k['job'])\nrun(job=f)",
        f"{F}def on(*a): return pool.spawn(*a)\ndef run(*a): return on(*a)\nrun(f, 1)",
    ],
)
def test_what_is_only_handed_to_native_threads_runs_there(tmp_path, text):
    assert natively(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "os.system('')",
        F,
        f"{F}f()",
        f"{F}pool.apply(f)\nf()",
        f"{F}pool.apply(f)\ng = f\ng()",
        f"{F}pool.apply(f)\ngevent.spawn(f)",
        f"{F}pool.apply(f())",
        f"{F}pool.apply(print, f)",
        f"{F}pool.apply()",
        f"{F}def g(): print(f)\npool.apply(g)",
        "class D(unknown.Base): pass\n@D\n" + F,
        "import threading\nclass D(threading.Thread): pass\n@D\n" + F,
        "class D:\n    def __init__(self): pass\n@D\n" + F,
        "class D:\n    __call__ = print\n    def __init__(self, g): self.g = g\n@D\n" + F,
        f"{F}unknown.apply(f)",
        "class pool:\n    def apply(self, f): pass\npool = pool()\n" + F + "pool.apply(f)",
        "def f():\n    os.system('')\n    f()",
        "def f():\n    pool.apply(f)\n    os.system('')",
        "lambda: os.system('')",
        "def d(g): return g\n@d\n" + F,
        "def d(g):\n    def w(*a): return g(*a) or pool.apply(g, a)\n    return w\n@d\n" + F,
        "def d(): pass\n@d\n" + F,
        "@unknown\n" + F,
        "pool.apply(f)\nclass f:\n    os.system('')",
        "class P:\n    def wrap(self, g):\n        def w(*a): return g(*a)\n        return w\n"
        "p = P()\n@p.wrap\n" + F,
        "class D:\n    def __call__(self, *a): return pool.apply(self.g, a)\n@D\n" + F,
        "class D:\n    def __init__(self, g): self.h = g\n"
        "    def __call__(self, *a): return pool.apply(self.g, a)\n@D\n" + F,
        "class P:\n    def wrap(self, g, h):\n        return lambda: pool.apply(h)\n"
        "p = P()\n@p.wrap\n" + F,
        "class D:\n    def __init__(self, g): self.g = g\n"
        "    def __call__(self, *a): return self.g(*a)\n@D\n" + F,
        "class D:\n    def __init__(self, g): self.g = g\n"
        "    def __get__(self, o, owner): return lambda *a: self.g(o, *a)\n"
        "class A:\n    @D\n    def f(self): os.system('')\nA().f()",
        f"{F}def run(g, *a): return pool.apply(g, a) if a else g()\nrun(f, 1)",
        "class P:\n    def wrap(self, g):\n        return lambda *a: self.apply(g, a)\n"
        "    def apply(self, g, a): return g(*a)\np = P()\n@p.wrap\n" + F,
        "def run(g): return run(g)\ndef d(g):\n    return lambda: run(g)\n@d\n" + F,
        f"{F}def run(g, h): return pool.apply(h)\nrun(f, 1)",
        f"{F}def run(*a): return pool.apply(a[1])\nrun(f, print)",
        f"{F}def run(*a): return pool.apply(a[0], a[1:])\nrun(print, f)",
        f"{F}def run(*a): return a[0]() or pool.apply(a[0])\nrun(f)",
        f"{F}def run(**k): return pool.apply(k['job'])\nrun(job=print, other=f)",
        f"{F}def run(g, *a): return pool.apply(g, a)\nrun(f)\nf()",
        "from threading import Thread\nclass S(Thread):\n    def run(self): os.system('')",
        "class B:\n    def f(self): ...\nclass A(B):\n    def f(self): os.system('')\n"
        "def g(b: B): pool.apply(b.f)\ndef h(b: B): b.f()",
        "import typing\nclass P(typing.Protocol):\n    def f(self): ...\n"
        "class A:\n    def f(self): os.system('')\n"
        "def g(b: P): pool.apply(b.f)\ndef h(b: P): b.f()",
    ],
)
def test_what_can_run_on_the_hubs_thread_is_not_native(tmp_path, text):
    assert not natively(tmp_path, text)


def test_a_call_in_another_module_counts(tmp_path):
    assert natively(tmp_path, f"{F}pool.apply(f)")
    assert not natively(tmp_path, f"{F}pool.apply(f)", other="from main import f\nf()")
    assert not natively(tmp_path, f"{F}pool.apply(f)", other="from main import f as g\ng()")
    assert natively(
        tmp_path,
        f"{F}pool.apply(f)",
        other="from main import f as g\nimport main\nmain.pool.apply(g)",
    )


def test_a_test_that_calls_it_counts_for_nothing(tmp_path):
    assert natively(tmp_path, f"{F}pool.apply(f)", test_main="from main import f\nf()")


def test_what_is_passed_on_is_told(tmp_path):
    text = "import threading\nthreading.Thread(None, print, args=(1, 2))\nthreading.Thread(target=print)\n"  # noqa: E501
    inference = inferring(tmp_path, {"main.py": f"{HEAD}{text}pool.apply(print, (3,))\nprint(1)"})
    summary = inference.modules.summary(str(tmp_path / "main.py"))
    offloading = Offloading(inference)
    found = [
        handover
        for call in summary.calls
        if (handover := offloading.handover(call, Place(summary.filename, call.scope, call.path)))
    ]

    assert [("greenlet", 2), ("greenlet", 0), ("native", 1)] == [
        (one.offload.thread, len(one.forwarded[2])) for one in found
    ]


def test_a_thread_s_run_is_native_where_threads_are_not_patched(tmp_path):
    text = f"{HEAD}from threading import Thread\nclass S(Thread):\n    def run(self): os.system(1)"
    inference = inferring(tmp_path, {"main.py": text})
    summary = inference.modules.summary(str(tmp_path / "main.py"))
    call = next(c for c in summary.calls if c.expression[1][-1] == "system")

    assert Offloading(inference, patched=False).is_native(call, summary.filename)
    assert not Offloading(inference).is_native(call, summary.filename)


@pytest.mark.parametrize(
    ("native", "text"),
    [
        (True, "if threading.current_thread() is threading.main_thread():\n    pass\n"
               "else:\n    os.system('')"),
        (True, "def main(): return threading.current_thread() == threading.main_thread()\n"
               "def f():\n    if main():\n        return\n    for x in y:\n        os.system('')"),
        (True, "if threading.get_ident() != threading.main_thread().ident: os.system('')"),
        (True, "if threading.main_thread() and threading.current_thread().name != 'MainThread':\n"
               "    os.system('')"),
        (False, "if threading.current_thread() is threading.main_thread(): os.system('')"),
        (False, "if threading.main_thread(): pass\nelse: os.system('')"),
        (True, "MAIN = threading.main_thread()\nif threading.current_thread() is not MAIN:\n"
               "    os.system('')"),
        (True, "MAIN = threading.get_ident()\nif threading.get_ident() != MAIN: os.system('')"),
        (False, "MAIN = threading.get_ident\nif threading.get_ident() != MAIN: os.system('')"),
        (False, "threading.main_thread()\nif x.y != z[0]: os.system('')"),
        (False, "if threading.main_thread and not x: os.system('')"),
        (False, "def main(): return main()\nif threading.main_thread() and main(): pass\n"
                "else: os.system('')"),
        (False, "threading.main_thread()\nif (~x).y is y: pass\nelse: os.system('')"),
        (False, "def main(): return threading.main_thread()\nif main(): pass\n"
                "else: os.system('')"),
        (False, "if unknown(threading.main_thread): pass\nelse: os.system('')"),
    ],
)  # fmt: skip
def test_a_condition_can_say_that_it_is_not_the_main_thread(tmp_path, native, text):
    inference = inferring(tmp_path, {"main.py": f"{HEAD}import threading\n{text}"})
    summary = inference.modules.summary(str(tmp_path / "main.py"))
    call = next(c for c in summary.calls if c.expression[1][-1] == "system")

    assert native == Offloading(inference).is_native(call, summary.filename)


WRAPPING = (
    "def wrap(g): return lambda *a: pool.apply(g, a)\n"
    "def d(cls):\n    for name, method in vars(cls).items():\n"
    "        if callable(method): setattr(cls, name, wrap(method))\n    return cls\n"
)


@pytest.mark.parametrize(
    ("text", "is_native"),
    [
        (f"{WRAPPING}@d\nclass A:\n    def f(self): os.system('')", True),
        (f"{WRAPPING}@d\nclass A:\n    def _f(self): os.system('')", False),
        (f"{WRAPPING}class A:\n    def f(self): os.system('')", False),
        (
            f"{WRAPPING}@d\nclass A:\n    def f(self): os.system('')".replace(
                "pool.apply(g, a)", "g"
            ),
            False,
        ),
        (
            f"{WRAPPING}@d\nclass A:\n    def f(self): os.system('')".replace(
                "vars(cls).items()", "[('g', A.g)]"
            ),
            False,
        ),
        (
            f"{WRAPPING}def outer(size): return d\n"
            "@outer(2)\nclass A:\n    def f(self): os.system('')",
            True,
        ),
    ],
    ids=["public", "private", "without", "no thread", "one method", "with arguments"],
)
def test_a_decorator_of_a_class_wraps_its_public_methods(tmp_path, text, is_native):
    assert is_native == natively(tmp_path, text)


PROXY = """\
import functools, hashlib
import gevent
from flask import Flask
app = Flask(__name__)
def offloaded(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return gevent.get_hub().threadpool.apply(f, args, kwargs)
    return inner
def logged(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)
    return inner
class Keys:
    def derive(self, password):
        return hashlib.scrypt(password, salt=b"", n=2**15, r=8, p=1)
class Proxy:
    def __init__(self, target):
        self.target = target
    def __getattr__(self, name):
        {body}
keys = Proxy(Keys())
@app.route("/")
def login():
    return keys.derive(b"x")
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return offloaded(getattr(self.target, name))", 0),
        ("return offloaded(f=getattr(self.target, name))", 0),
        ("found = getattr(self.target, name)\n        return offloaded(found)", 0),
        ("return logged(getattr(self.target, name))", 1),
        ("return getattr(self.target, name)", 1),
        ("return offloaded(print) and getattr(self.target, name)", 1),
    ],
)
def test_a_proxy_that_hands_each_attribute_to_a_decorator(tree, body, count):
    root = tree(
        {"shop.py": PROXY.format(body=body), "Procfile": "web: gunicorn -k gevent shop:app\n"}
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [one.blocker for one in check([str(root)], config).diagnostics]
    assert ["hashlib-scrypt"] * count == found
