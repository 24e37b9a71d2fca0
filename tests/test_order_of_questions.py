"""The order of questions does not change the answers of the inference."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from harness import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.project.calls.offloading import Offloading
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading.modules import Modules

_HEAD = "import confluent_kafka, grpc, subprocess\n"
_VALUES = (
    "confluent_kafka.Producer({})",
    "grpc.insecure_channel('x')",
    "subprocess.Popen('x')",
    "first",
    "second",
    "Base()",
    "Derived()",
    "Derived(first)",
)
_FUNCTIONS = ("one", "two", "three", "four")


@st.composite
def programs(draw):
    """A module of functions and methods that hand values and one another around, in circles."""
    lines = [
        "class Base:",
        "    def __init__(self, held=None): self.held = held",
        "    def go(self, first=None): return self.held",
        "class Derived(Base):",
        "    def go(self, first=None):",
        f"        return {draw(st.sampled_from(_FUNCTIONS))}(self.held, first)",
    ]
    for name in _FUNCTIONS:
        lines.append(f"def {name}(first, second=None):")
        for _ in range(draw(st.integers(1, 3))):
            callee = draw(
                st.sampled_from((*_FUNCTIONS, "first", "second", "Base().go", "first.go"))
            )
            given_ = [
                draw(st.sampled_from((*_VALUES, *_FUNCTIONS)))
                for _ in range(draw(st.integers(1, 2)))
            ]
            lines.append(f"    {draw(st.sampled_from(('first', 'second', 'x')))} = ")
            lines[-1] += f"{callee}({', '.join(given_)})"
        lines.append(f"    return {draw(st.sampled_from(('first', 'second', 'x()', 'one(x)')))}")
    lines.append(f"one({draw(st.sampled_from(_VALUES[:3]))}, two)")
    return _HEAD + "\n".join(lines) + "\n"


def answers(text, order):
    """Every answer about the calls and functions of a module, asked in an order."""
    modules = Modules("/nowhere", [])
    modules.give("/nowhere/m.py", text.encode())
    inference = Inference(modules, CATALOG)
    summary = modules.summary("/nowhere/m.py")
    questions = [("call", index) for index in range(len(summary.calls))]
    questions += [("callers", i) for i, one in enumerate(summary.scopes) if one.kind == "function"]
    random.Random(order).shuffle(questions)
    found = {}
    for kind, index in questions:
        if kind == "call":
            call = summary.calls[index]
            if call.node == "call":
                place = Place(summary.filename, call.scope, call.path)
                found[kind, index] = (
                    inference.infer(call.expression, place),
                    inference.infer(call.expression.callee, place),
                )
        else:
            calls = inference.calling.callers(summary.filename, index)
            found[kind, index] = sorted((call.row, call.column) for call, _ in calls)
    return found


@settings(max_examples=examples(60), deadline=None)
@given(programs(), st.integers(1, 1000))
def test_answers_do_not_depend_on_the_order_of_questions(text, order):
    assert answers(text, 0) == answers(text, order)


ASKED = """
import hashlib, json, sys
from gblock.project.names import fixed_point, values
from test_order_of_questions import answers

asked = hashlib.sha256()
solved = fixed_point.FixedPoint._solved
def noted(self, key, solve):
    asked.update(values.spelled(key).encode())
    return solved(self, key, solve)
fixed_point.FixedPoint._solved = noted
for text in json.load(sys.stdin):
    answers(text, 0)
print(asked.hexdigest())
"""


@settings(max_examples=examples(1), deadline=None)
@given(st.lists(programs(), min_size=8, max_size=8))
def test_what_is_asked_does_not_depend_on_the_hashes_of_texts(texts):
    paths = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    printed = {
        subprocess.run(
            [sys.executable, "-c", ASKED],
            input=json.dumps([CIRCLE_OF_ANY, *texts]),
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert 1 == len(printed)


CIRCLE_OF_ANY = (
    _HEAD
    + """
def one(first): return [two, three, one, first][0](first)
def two(first): return (one, three, first, grpc.insecure_channel('x'))[first](two)
def three(first):
    for each in (one(two), two(first), [first, Base(), Derived(one)]):
        first = each.go(first) or each(three)
    return {"a": one, "b": two, "c": first, **first}[first]
class Base:
    held = [one, two, three]
    def go(self, first=None): return self.held[first]
class Derived(Base):
    def __init__(self, held): self.held = held
    def go(self, first=None): return one(self.held) or super().go(first)
one(confluent_kafka.Producer({}))
two(Derived(subprocess.Popen('x')))
"""
)


CIRCLE = """
class Base:
    def __init__(self, held=None): self.held = held
    def go(self, first=None): return self.held
class Derived(Base):
    def go(self, first=None):
        return three(self.held, first)
def one(first, second=None):
    first = one(Derived(first))
    first = one(confluent_kafka.Producer({}))
    return first
def two(first, second=None):
    first = one(confluent_kafka.Producer({}), confluent_kafka.Producer({}))
    first = one(confluent_kafka.Producer({}))
    first = one(confluent_kafka.Producer({}))
    return first
def three(first, second=None):
    first = first.go(confluent_kafka.Producer({}))
    first = Base().go(grpc.insecure_channel('x'))
    first = one(second, Derived(first))
    return first
def four(first, second=None):
    first = one(first)
    return first
one(confluent_kafka.Producer({}), two)
"""


@pytest.mark.parametrize("order", range(1, 5))
def test_a_circle_with_several_fixed_points_has_one_answer(order):
    assert answers(_HEAD + CIRCLE, 0) == answers(_HEAD + CIRCLE, order)


_THREADED = 8
"""The number of functions of a program that hands some of them to native threads."""


@st.composite
def threaded(draw):
    """A module of functions that call one another, of which native threads run some."""
    lines = ["import gevent, os", "pool = gevent.get_hub().threadpool"]
    lines += ["def through(function): pool.apply(function)"]
    for number in range(_THREADED):
        lines += [f"def f{number}():", "    os.wait()"]
        for called in draw(st.lists(st.integers(0, _THREADED - 1), max_size=2)):
            form = draw(st.sampled_from(("f{}()", "f{}()", "pool.spawn(f{})", "through(f{})")))
            lines.append("    " + form.format(called))
    for started in draw(st.lists(st.integers(0, _THREADED - 1), max_size=3)):
        lines.append(
            f"{draw(st.sampled_from(('pool.apply', 'gevent.spawn', 'through')))}(f{started})"
        )
    return "\n".join(lines) + "\n"


def natively(text, order):
    """Return whether each function only runs in native threads, asked in an order."""
    modules = Modules("/nowhere", [])
    modules.give("/nowhere/m.py", text.encode())
    offloading = Offloading(Inference(modules, CATALOG))
    scopes = modules.summary("/nowhere/m.py").scopes
    questions = [index for index, one in enumerate(scopes) if one.kind == "function"]
    questions.sort(key=order)
    return {scopes[one].name: offloading.runs_natively("/nowhere/m.py", one) for one in questions}


@settings(max_examples=examples(60), deadline=None)
@given(threaded(), st.integers(1, 1000))
def test_what_runs_natively_does_not_depend_on_the_order_of_questions(text, order):
    shuffled = random.Random(order).sample(range(100), 100)
    expected = natively(text, lambda index: index)
    assert expected == natively(text, lambda index: -index)
    assert expected == natively(text, lambda index: shuffled[index])


@pytest.mark.parametrize("length", [26, 90])
def test_a_long_chain_runs_natively_from_both_ends(length):
    text = "import gevent, os\n" + "".join(
        f"def f{number}():\n    os.wait()\n    f{number + 1}()\n" for number in range(length)
    )
    text += f"def f{length}(): os.wait()\ngevent.get_hub().threadpool.apply(f0)\n"
    expected = natively(text, lambda index: index)
    assert all(expected.values())
    assert expected == natively(text, lambda index: -index)
