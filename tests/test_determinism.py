"""A check depends on the project alone: not on the order of questions, nor on hashes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
from itertools import permutations
from pathlib import Path

import pytest
from harness import INSTALLED
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock import catalog
from gblock.commandline.depth import Depth
from gblock.project.names.inference import Inference
from gblock.project.names.places import Place
from gblock.project.reading import word_index
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


@settings(max_examples=examples(25), deadline=None)
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
    # Each place to enter the circle at, each second question, and any order at all.
    for first in permutations(range(len(expected)), 2):
        assert expected == answers(
            text, blockers, lambda number, _, f=first: f.index(number) if number in f else 2
        )
    for seed in range(examples(300)):
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


@pytest.mark.parametrize("last", [False, True])
def test_callers_are_found_in_any_number_of_files(blockers, last):
    """Each function is called from a file of its own, and more of them than are in one file."""
    modules = Modules("/nowhere", [])
    functions = "".join(f"def take_{n}(given):\n    given.execute(1)\n" for n in range(90))
    modules.give("/nowhere/taking.py", functions.encode())
    for number in range(90):
        text = f"import sqlite3\nfrom taking import take_{number}\n"
        text += f"take_{number}(sqlite3.connect('x'))\n"
        modules.give(f"/nowhere/m{number}.py", text.encode())
    inference = Inference(modules, blockers)
    calls = modules.summary("/nowhere/taking.py").calls
    for call in reversed(calls) if last else calls:
        place = Place("/nowhere/taking.py", call.scope, call.path)
        assert {"sqlite3.Connection.execute"} <= set(inference.callees.of_call(call, place)), (
            call.row
        )


WORDS = st.text(alphabet="abé_1 .-\n", max_size=30)


@settings(max_examples=examples(200), deadline=None)
@given(texts=st.lists(WORDS, max_size=6), word=st.text(alphabet="abé_1", max_size=3))
def test_a_search_and_the_index_of_words_find_the_same_files(texts, word):
    def mentioning(scans):
        modules = Modules("/nowhere", [])
        for number, text in enumerate(texts):
            modules.give(f"/nowhere/m{number}.py", text.encode())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(word_index, "_SCANS", scans)
            return modules.mentioning(word)

    assert mentioning(scans=100) == mentioning(scans=-1)


FORMS = {
    "more texts than are composed": """
        import importlib

        def pick(kind):
            return importlib.import_module(f"parts.{kind}")

        def app(environ, start_response):
            for kind in ("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"):
                pick(kind).run()
    """,
    "callers of several threads": """
        import os
        import gevent

        def work():
            os.wait()

        def app(environ, start_response):
            for hand in (gevent.get_hub().threadpool.spawn, gevent.spawn):
                hand(work)
    """,
    "partials of several arguments": """
        from functools import partial
        import confluent_kafka

        consumer = confluent_kafka.Consumer({})

        def app(environ, start_response):
            poll = partial(consumer.poll, 0) if environ else partial(consumer.poll, 5)
            poll()
    """,
    "several arrangements": """
        import itertools

        def app(environ, start_response):
            arrange = itertools.permutations if environ else itertools.combinations
            for one in arrange("abcdefghijkl", 6):
                pass
    """,
    "several texts": """
        import psycopg2

        settings = {"one": "postgresql+psycopg2://a/b", "two": "mysql+mysqldb://a/b"}

        def app(environ, start_response):
            import sqlalchemy
            for name in ("one", "two", "three"):
                sqlalchemy.create_engine(settings[name]).connect().execute("select 1")
    """,
    "several tests of a class": """
        import sqlite3
        import psycopg2

        def is_one(given):
            return isinstance(given, sqlite3.Connection)

        def is_other(given):
            return isinstance(given, psycopg2.extensions.connection)

        def app(environ, start_response):
            for given in (sqlite3.connect("x"), psycopg2.connect("x")):
                for test in (is_one, is_other):
                    if test(given):
                        given.execute("select 1")
                        given.commit()
    """,
    "several bases": """
        import os
        import sys

        class First:
            def run(self):
                os.wait()

        class Second:
            def run(self):
                pass

        Base = First if sys.argv else Second

        class Derived(Base):
            pass

        def app(environ, start_response):
            Derived().run()
    """,
    "several constructors": """
        import os

        class First:
            def __init__(self, given):
                os.wait()

        class Second(First):
            pass

        class Third(First):
            pass

        def one():
            Second(1)

        def two():
            Third(1)

        def app(environ, start_response):
            one()
            two()
    """,
}
WORKERS = """
import sys
from geventwebsocket.gunicorn.workers import GeventWebSocketWorker
from gunicorn.workers.sync import SyncWorker

class Slow(SyncWorker):
    pass

class Quick(GeventWebSocketWorker):
    def patch(self):
        if sys.argv:
            super().patch()

worker_class = Slow if sys.argv else Quick
"""
CHECKING = """
import sys
from pathlib import Path

from gblock import config, engine

for directory in sys.argv[2:]:
    settings = config.changed(config.find(directory), python=sys.argv[1])
    report = engine.check(engine.Request([directory], settings))
    print(Path(directory).name, *map(repr, report.diagnostics), report.problems, sep="\\n")
    print()
"""
HASHES = ("1", "2")


def assert_same(directories, hashes):
    """Fail unless a check of each directory reports the same for each way to hash strings."""
    seen = {}
    for seed in hashes:
        run = subprocess.run(
            [sys.executable, "-c", CHECKING, INSTALLED, *map(str, directories)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        for part in run.stdout.split("\n\n"):
            seen.setdefault(part.partition("\n")[0], set()).add(part)
    assert {directory.name for directory in directories} == {name for name in seen if name}
    assert [] == sorted(name for name, reports in seen.items() if len(reports) > 1)


@pytest.mark.live
def test_a_check_reports_the_same_whatever_the_hashes_of_strings():
    projects = Path(__file__).parent / "fixtures" / "projects"
    directories = sorted(path for path in projects.iterdir() if path.is_dir())
    assert_same(directories, HASHES)


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.live)])
def test_what_one_of_several_values_decides_is_the_same_whatever_the_hashes(tmp_path, step):
    directories = []
    forms = {**FORMS, "several workers": "def app(environ, start_response): pass"}
    for name, text in list(forms.items())[::-step]:
        directory = tmp_path / name.replace(" ", "_")
        (directory / "parts").mkdir(parents=True)
        (directory / "app.py").write_text(
            "from gevent import monkey\nmonkey.patch_all()\n" + textwrap.dedent(text)
        )
        (directory / "settings.py").write_text(WORKERS)
        server = "gunicorn -k gevent" if name in FORMS else "gunicorn -c settings.py"
        (directory / "gblock.toml").write_text(f'processes = ["{server} app:app"]\n')
        for number in range(9):
            part = directory / "parts" / f"a{number}.py"
            part.write_text("import os\n\ndef run():\n    os.wait()\n")
        directories.append(directory)
    assert_same(directories, HASHES)
