"""Which code only ever runs in a native thread."""

from __future__ import annotations

import pytest
from harness import inferring

from gblock.project.calls.offloading import Offloading
from gblock.project.names.expressions import Place

HEAD = (
    "import gevent, os\nfrom functools import partial, wraps\npool = gevent.get_hub().threadpool\n"
)
F = "def f(x=1):\n    os.system('')\n"


def natively(tmp_path, text, **more):
    """Whether the first call of os.system in a module runs natively."""
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
        "def d(g):\n    @wraps(g)\n    def w(*a): return pool.apply(g, a)\n    return w\n@d\n" + F,
        "def d(g):\n    def w(*a): return pool.apply(lambda: g(*a))\n    return w\n@d\n" + F,
        "def d(g):\n    def w(*a): return pool.apply(partial(g, *a))\n    return w\n@d\n"
        + F
        + "f()",
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
