"""Loops in plain Python that are long enough to report."""

from __future__ import annotations

import pytest
from harness import assert_exactly

HEAD = (
    "from gevent import monkey\nmonkey.patch_all()\n"
    "import math, random, gevent\nfrom celery import shared_task\nN = 2_000_000\n@shared_task\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    for x in range(1_000_000):  # !\n        y = x\n",
        "def f():\n    for x in range(N):  # !\n        y = x\n",
        "def f():\n    for x in range(0, 10 ** 7, 2):  # !\n        y = math.sqrt(x)\n",
        "def f():\n    xs = []\n    for x in range(10 * 1000 * 1000):  # !\n"
        "        xs.append(str(x))\n",
        "def f():\n    for x in range(100):  # !\n        for y in range(2000000 // N, N):\n"
        "            z = x * y\n",
        "def f():\n    for x in range(3):  # !\n"
        "        for y in range(1000000):\n            x += y\n",
        "def f():\n    return [x for x in range(N)]  # !\n",
        "def f():\n    return sum(x * y for x in range(2) for y in range(N))  # !\n",
        "def f():\n    if f:\n        for x in range(N):  # !\n            y = random.random()\n",
    ],
)
def test_a_long_loop_that_computes_is_reported(tmp_path, text):
    if "//" in text:
        text = text.replace("  # !", "")  # its bounds are not known
    assert_exactly(tmp_path, HEAD + text.replace("# !", "# expect: cpu-bound-loop"))


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    for x in range(999_999):\n        y = 1000000\n",
        "def f():\n    for x in range(N):\n        gevent.sleep(0)\n",
        "def f():\n    for x in range(N):\n        unknown(x)\n",
        "def f(o):\n    for x in range(N):\n        o.send(x)\n",
        "def f():\n    for x in range(N):\n        if x > 5:\n            break\n",
        "def f():\n    for x in range(N):\n        if x > 5:\n            return x\n",
        "def f():\n    for x in range(N):\n        yield x\n",
        "def f(n=1000000):\n    for x in range(unknown):\n        y = x\n",
        "def f(): pass\ndef g():\n    for x in range(N):\n        y = x\n",
        "def f(): pass\nfor x in range(N):\n    y = x\n",
        "def f():\n    for x in range(N):\n        with x:\n            pass\n",
        "def f():\n    for x in range(N):\n        g(x)\ndef g(x): pass\n",
    ],
)
def test_one_that_is_short_ends_early_or_may_yield_is_not(tmp_path, text):
    assert_exactly(tmp_path, HEAD + text)


ALL = HEAD.replace("import math", "import itertools, math")


@pytest.mark.parametrize(
    "text",
    [
        "def f(xs):\n    for x in itertools.permutations(xs):  # !\n        g(x)\n",
        "def f(xs):\n    for x in itertools.permutations(xs, len(xs)):  # !\n        g(x)\n",
        "def f(xs):\n    for i, x in enumerate(itertools.permutations(xs)):  # !\n        g(x)\n",
        "def f(xs, n):\n    for x in itertools.product(xs, repeat=n):  # !\n        g(x)\n",
        "def f(xs, n):\n    return max(g(x) for x in itertools.combinations(xs, n))  # !\n",
        "def f(xs):\n    for x in xs:\n        for y in itertools.permutations(x):  # !\n"
        "            g(y)\n",
        "def f(xs):\n    for x in itertools.permutations(range(10)):  # !\n        y = x\n",
        "def f(xs):\n    for x in itertools.permutations(xs):  # !\n        if g(x):\n"
        "            return x\n",
        "def f():\n    for x in itertools.product([0, 1], repeat=20_000):  # !\n        y = x\n",
        "def f():\n    for x in itertools.combinations(range(3000), 2):  # !\n        y = x\n",
        "def f():\n    for x in itertools.permutations(range(400)):  # !\n        y = x\n",
        "def f(xs):\n    h(xs)\ndef h(xs):\n    for x in itertools.permutations(xs):  # !\n"
        "        g(x)\n",
    ],
)
def test_a_loop_over_all_arrangements_is_reported(tmp_path, text):
    assert_exactly(tmp_path, ALL + text.replace("# !", "# expect: cpu-bound-loop"))


@pytest.mark.parametrize(
    "text",
    [
        "def f(xs):\n    for x in itertools.permutations(xs, 2):\n        g(x)\n",
        "def f(xs, ys):\n    for x in itertools.product(xs, ys):\n        g(x)\n",
        "def f(xs):\n    for x in itertools.product(xs, repeat=2):\n        g(x)\n",
        "def f(xs):\n    for x in itertools.combinations(xs, 2):\n        g(x)\n",
        "def f(xs):\n    for x in itertools.permutations('abcd'):\n        g(x)\n",
        "def f(xs):\n    for x in itertools.permutations([1, 2, 3, 4]):\n        g(x)\n",
        "def f(xs):\n    for x in itertools.permutations(range(6)):\n        g(x)\n",
        "def f(xs):\n    for x in itertools.permutations(xs):\n        gevent.sleep(0)\n",
        "def f(xs):\n    for x in itertools.permutations(xs):\n        yield x\n",
        "def f(xs):\n    return next(itertools.permutations(xs))\n",
        "def f():\n    for x in itertools.combinations_with_replacement([], 0):\n        g(x)\n",
        "def f(): pass\ndef h(xs):\n    for x in itertools.permutations(xs):\n        g(x)\n",
        "def f(xs):\n    for x in permutations(xs):\n        g(x)\n",
    ],
)
def test_few_arrangements_are_not(tmp_path, text):
    assert_exactly(tmp_path, ALL + text)
