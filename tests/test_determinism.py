"""A check depends on the project alone: not on the order of questions, nor on hashes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest
from harness import INSTALLED
from hypothesis import given, settings
from hypothesis import strategies as st

from gblock import catalog
from gblock.commandline.depth import Depth
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import modules as reading
from gblock.project.reading.modules import Modules

MODULE = "/nowhere/service.py"
CALLED = ("f0", "f1", "f2", "f3", "f4", "socket.socket", "threading.Lock", "sqlite3.connect")


@pytest.fixture(scope="module")
def blockers():
    return catalog.load()


def answers(text, blockers, order):
    """Return the answers of inference for each call of a module, in an order of questions."""
    modules = Modules("/nowhere", [])
    modules.give(MODULE, text.encode())
    inference = Inference(modules, blockers)
    calls = modules.summary(MODULE).calls
    found = {}
    for number in sorted(range(len(calls)), key=lambda n: order(n, len(calls))):
        call = calls[number]
        found[number] = inference.infer(call.expression, Place(MODULE, call.scope, call.path))
    return found


def shuffled(seed):
    def order(number, amount):
        return random.Random(seed).sample(range(amount), amount)[number]

    return order


FUNCTIONS = st.lists(
    st.lists(st.sampled_from(CALLED), min_size=1, max_size=3), min_size=5, max_size=5
)


@settings(max_examples=25, deadline=None)
@given(functions=FUNCTIONS, seed=st.integers(0, 1000))
def test_functions_that_call_one_another_return_the_same_in_any_order(blockers, functions, seed):
    text = "import socket, sqlite3, threading\n" + "".join(
        f"def f{number}(x):\n"
        + "".join(f"    if x:\n        return {called}(x)\n" for called in body)
        for number, body in enumerate(functions)
    )
    expected = answers(text, blockers, lambda number, _: number)
    assert expected == answers(text, blockers, lambda number, _: -number)
    assert expected == answers(text, blockers, shuffled(seed))


def test_parameters_that_are_passed_in_a_circle_are_the_same_in_any_order(blockers):
    text = (
        "import socket\n"
        "def a(x):\n    b(x)\n    x.recv(1)\n"
        "def b(x):\n    c(x)\n    x.recv(1)\n"
        "def c(x):\n    a(x)\n    x.recv(1)\n"
        "b(socket.socket())\n"
    )
    expected = answers(text, blockers, lambda number, _: number)
    # Each place to enter the circle at, each second and third question, and any order at all.
    for first in permutations(range(len(expected)), 3):
        assert expected == answers(
            text, blockers, lambda number, _, f=first: f.index(number) if number in f else 3
        )
    for seed in range(300):
        assert expected == answers(text, blockers, shuffled(seed))


@pytest.mark.parametrize("length", [30, 60, 90])
def test_a_long_chain_of_functions_returns_the_same_from_both_ends(blockers, length):
    text = "import socket\ndef f0():\n    return socket.socket()\n" + "".join(
        f"def f{number}():\n    return f{number - 1}()\n" for number in range(1, length)
    )
    with Depth():
        expected = answers(text, blockers, lambda number, _: number)
        assert expected == answers(text, blockers, lambda number, _: -number)
    assert all(expected.values())


WORDS = st.text(alphabet="abé_1 .-\n", max_size=30)


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(WORDS, max_size=6), word=st.text(alphabet="abé_1", max_size=3))
def test_a_search_and_the_index_of_words_find_the_same_files(texts, word):
    def mentioning(scans):
        modules = Modules("/nowhere", [])
        for number, text in enumerate(texts):
            modules.give(f"/nowhere/m{number}.py", text.encode())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "_SCANS", scans)
            return modules.mentioning(word)

    assert mentioning(scans=100) == mentioning(scans=-1)


@pytest.mark.parametrize("project", ["cyclic", "celery_service", "shop"])
def test_a_check_reports_the_same_whatever_the_hashes_of_strings(project):
    root = Path(__file__).parent / "fixtures" / "projects" / project
    command = [sys.executable, "-m", "gblock", "check", "--select", "all", "--all-contexts"]
    command += ["--output-format", "json", "--python", INSTALLED, "."]
    found = {
        (run.returncode, run.stdout, run.stderr)
        for seed in ("1", "2", "3")
        for run in [
            subprocess.run(
                command,
                cwd=root,
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=False,
            )
        ]
    }
    assert len(found) == 1
