"""The order of questions does not change the answers of the inference."""

from __future__ import annotations

import random

from harness import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st

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


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(1, 1000))
def test_answers_do_not_depend_on_the_order_of_questions(text, order):
    assert answers(text, 0) == answers(text, order)
