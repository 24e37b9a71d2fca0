"""The probe's certain blame is correct, compared with random programs that log the truth.

`python benchmarks/blame.py` draws hundreds of blocks, on all supported Pythons and on a loaded
machine. These few are enough to detect a broken rule.
"""

from __future__ import annotations

import dis
import sys
from types import SimpleNamespace

import blaming
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.probing import suspects

pytestmark = pytest.mark.live


@pytest.mark.parametrize("hub", blaming.HUBS)
def test_what_is_exact_is_true_and_most_waits_and_held_calls_are(tmp_path, hub):
    seed = 4000 + blaming.HUBS.index(hub)
    cases = blaming.run(seed, 12, hub, tmp_path)

    long_anywhere = {each.name for each in blaming.drawn(seed, 12) if each.piece.is_clocked}
    assert len(long_anywhere) >= 5
    assert long_anywhere <= {case.drawn.name for case in cases if case.kind}
    assert [] == [case for case in cases if case.is_wrong]
    counting = [case for case in cases if case.counts]
    exact = [case for case in counting if case.confidence == "exact"]
    # A machine that has no time for the probe makes it less sure, never wrong.
    assert 2 * len(exact) >= len(counting), cases


@pytest.mark.parametrize("hub", blaming.HUBS)
def test_every_drawn_program_is_python(hub):
    @settings(max_examples=examples(50), deadline=None)
    @given(st.integers(0, 10**6))
    def compiles(seed):
        source, functions = blaming.program(seed, 10, hub)
        compile(source, "program.py", "exec")
        assert 10 == len(functions)

    compiles()


# The suspects of a call, by the frame that stands at it: `key` runs inside the C function.

SEEN = {}


def key(value):
    if "found" not in SEEN:
        SEEN["found"] = suspects._suspects(sys._getframe(1))
    return value


def quiet():
    return 5


def working(value):
    return [value] * 2


class Lazy:
    @property
    def items(self):
        return [2, 1]

    def __getattr__(self, name):
        return [2, 1]


WIDE = list(range(20_000))
items, lazy = [2, 1], Lazy()


def alone():
    sorted(items, key=key)


def after_small_things():
    count = 0
    count += 3
    label = f"{count}x"
    if count > 2 and label in ("3x", "4x"):
        quiet()
        sorted(items, key=key)


def in_loops():
    for index in range(2):
        number = index * 2
        if number >= 0:
            sorted(items, key=key)


def after_a_known_call():
    kept = WIDE * 3
    len(kept)
    abs(-1)
    sorted(items, key=key)
    return kept


def an_operator():
    more = WIDE + WIDE
    sorted(items, key=key)
    return more


def a_search():
    if -1 in WIDE:
        return
    sorted(items, key=key)


def a_comparison():
    same = WIDE == WIDE
    sorted(items, key=key)
    return same


def a_release():
    trash = [[] for _ in range(10)]
    trash.append(1)
    trash = None
    sorted(items, key=key)
    return trash


def a_python_function():
    working(1)
    sorted(items, key=key)


def an_exception():
    try:
        int("x")
    except ValueError:
        sorted(items, key=key)


def a_property():
    sorted(lazy.items, key=key)


def temporaries():
    sorted(working(2), key=key)


@pytest.mark.parametrize("call", [alone, after_small_things, in_loops, after_a_known_call])
def test_a_call_with_nothing_else_before_it_is_the_sole_suspect(call):
    for _ in range(40):  # more often than the interpreter needs to specialise
        call()
        found = SEEN.pop("found")
        assert (True, "builtins.sorted") == (found.is_sole, found.names[0]), found.names


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (an_operator, "operator +"),
        (a_search, "operator in"),
        (a_comparison, "comparison =="),
        (a_release, "the release of an object"),
        (an_exception, "an exception"),
        (a_property, "attribute items"),
        (temporaries, "the release of its arguments"),
    ],
)
def test_what_may_take_long_before_a_call_is_suspect_too(call, words):
    for _ in range(40):
        call()
        found = SEEN.pop("found")
        assert not found.is_sole
        assert [name for name in found.names if name.startswith(words)], found.names
        assert "builtins.sorted" == found.names[0]


NAMES = {
    "box": [[1, 2]] * 1000,
    "items": items,
    "key": key,
    "make": lambda: [2, 1],
    "queue": __import__("collections").deque([[1, 2]] * 1000),
    "rows": [[2, 1]],
    "wide": WIDE,
    "working": working,
}


@pytest.mark.parametrize(
    ("argument", "is_new"),
    [
        ("list(wide)", True),
        ("list([*wide, 3])", True),
        ("tuple({*wide})", True),
        ("sorted(set(wide))", True),
        ("list(items + wide)", True),
        ("wide[:10]", False),  # `__getitem__()` may do anything
        ("box.pop()", False),
        ("queue.popleft()", False),
        ("next(iter(box))", False),
        ("[*box.pop()]", False),
        ("list(items + queue.pop())", False),
        ("make()", False),
        ("working(2)", False),
        ("list(make())", False),
    ],
)
def test_only_what_an_expression_makes_takes_as_long_to_make_as_to_release(argument, is_new):
    names = dict(NAMES)
    exec(f"def call():\n    sorted({argument}, key=key)", names)
    for _ in range(40):
        names["call"]()
        found = SEEN.pop("found")
        assert not found.is_sole
        assert is_new == found.temporary, found.names


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before 3.11 the end is looked at, too")
def test_the_end_of_a_python_function_is_suspect():
    for _ in range(40):
        a_python_function()
        found = SEEN.pop("found")
        assert not found.is_sole
        assert [name for name in found.names if name.startswith("the end of a function")]


def test_where_a_function_is_entered_its_caller_is_suspect():
    def entered():
        return suspects._suspects(sys._getframe())

    found = entered()
    assert not found.is_sole  # the frame stands behind its entry


def test_bytecode_that_cannot_be_read_leaves_everything_suspect(monkeypatch):
    def fails(frame):
        raise IndexError

    monkeypatch.setattr(suspects, "_suspects", fails)
    found = suspects.suspects(sys._getframe())

    assert ((), False) == (found.names, found.is_sole)


def test_candidates_are_no_names_of_the_interpreter():
    """Every instruction that may be a suspect has words that an engineer can read."""
    walk = suspects._Walk.__new__(suspects._Walk)
    place = SimpleNamespace(lineno=3)
    for name in dis.opmap:
        walk._listed = [
            SimpleNamespace(opname=name, argrepr="+", arg=0, argval="x", positions=place)
        ]
        said = walk._told(0)
        assert "_" not in said, said
        assert not said.startswith(name.lower() + " "), said
