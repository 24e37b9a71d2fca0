"""Questions that lead back to one another: their answers, and how often each is answered."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.project.names import fixed_point
from gblock.project.names import values as v
from gblock.project.names.fixed_point import FixedPoint


def value(number):
    return v.external(f"package.value_{number}")


class System:
    """Equations: each unknown is a set of values and of what some other unknowns are."""

    def __init__(self, own, asked):
        self.own = own
        self.asked = asked
        self.solver = FixedPoint()
        self.solves = Counter()

    def answer(self, number):
        return self.solver.solved(("unknown", number), lambda: self._solve(number))

    def _solve(self, number):
        self.solves[number] += 1
        found = {value(one) for one in self.own[number]}
        for other in self.asked[number]:
            found |= self.answer(other)
        return frozenset(found)

    def expected(self):
        """Return the least fixed point, by iteration over all equations."""
        found = [frozenset() for _ in self.own]
        while True:
            new = [
                frozenset(map(value, self.own[n])).union(*(found[other] for other in asked))
                for n, asked in enumerate(self.asked)
            ]
            if new == found:
                return found
            found = new


@st.composite
def systems(draw):
    size = draw(st.integers(1, 14))
    unknowns = st.lists(st.integers(0, size - 1), max_size=4)
    own = [draw(st.lists(st.integers(0, 7), max_size=2)) for _ in range(size)]
    asked = [draw(unknowns) for _ in range(size)]
    order = draw(st.permutations(range(size)))
    return own, asked, order


@settings(max_examples=examples(400), deadline=None)
@given(systems())
def test_answers_are_the_least_fixed_point_in_any_order(system):
    own, asked, order = system
    equations = System(own, asked)
    found = {number: equations.answer(number) for number in order}

    expected = equations.expected()
    assert dict(enumerate(expected)) == found
    for number, amount in equations.solves.items():
        # Each change of what it was given has it solved once more, and an answer only grows. A
        # component is answered twice.
        assert amount <= 2 * (1 + sum(len(expected[other]) for other in asked[number]))
    again = sum(equations.solves.values())
    assert found == {number: equations.answer(number) for number in order}
    assert again == sum(equations.solves.values())


class Fallbacks(System):
    """Equations that add what is their own only where the others are empty."""

    def _solve(self, number):
        self.solves[number] += 1
        found = frozenset().union(*map(self.answer, self.asked[number]))
        return found or frozenset(value(one) for one in self.own[number])


@settings(max_examples=examples(400), deadline=None)
@given(systems())
def test_the_order_of_questions_does_not_choose_among_several_fixed_points(system):
    own, asked, order = system
    numbers = range(len(own))
    found = Fallbacks(own, asked)
    expected = {number: found.answer(number) for number in numbers}
    equations = Fallbacks(own, asked)

    assert expected == dict(sorted((number, equations.answer(number)) for number in order))
    for number in numbers:
        others = frozenset().union(*(expected[other] for other in asked[number]))
        assert expected[number] == (others or frozenset(map(value, own[number])))


@settings(max_examples=examples(200), deadline=None)
@given(systems())
def test_a_chain_that_is_too_long_for_the_stack_has_the_same_answers(system):
    own, asked, order = system
    equations = System(own, asked)
    equations.solver._longest_chain = 2

    assert equations.expected() == [
        found for _, found in sorted((number, equations.answer(number)) for number in order)
    ]


@pytest.mark.parametrize("size", [10, 40, 160])
def test_cycles_inside_cycles_are_not_solved_once_for_each_turn_of_the_outer_one(size):
    """Each unknown asks the next one and the one before it; the value comes from the last."""
    own = [[] for _ in range(size - 1)] + [[1]]
    asked = [[min(n + 1, size - 1), max(n - 1, 0), 0] for n in range(size)]
    equations = System(own, asked)

    assert {value(1)} == equations.answer(0)
    assert max(equations.solves.values()) <= 4


def test_a_chain_of_any_length_is_followed_to_its_end():
    size = 5_000
    equations = System([[] for _ in range(size)] + [[3]], [[n + 1] for n in range(size)] + [[]])

    assert {value(3)} == equations.answer(0)
    assert sum(equations.solves.values()) < 3 * size


def test_what_grows_too_wide_is_unknown():
    equations = System([[*range(40)], []], [[1], [0]])

    assert frozenset() == equations.answer(0) == equations.answer(1)


def test_an_answer_that_never_settles_ends():
    solver = FixedPoint()

    def liar():
        return frozenset() if solver.solved("liar", liar) else frozenset([value(0)])

    assert solver.solved("liar", liar) in (frozenset(), {value(0)})


def test_what_follows_from_open_answers_is_found_again():
    solver, found = FixedPoint(), {}

    def remembered():
        return solver.remembered(found, "key", lambda: frozenset([len(solver.solved("b", b))]))

    def a():
        remembered()
        open_then.append("key" in found)
        return solver.solved("b", b) | {value(1)}

    def b():
        return solver.solved("a", a) | {value(2)}

    open_then = []
    solver.solved("a", a)

    assert True not in open_then
    assert remembered() == {2}
    assert found == {"key": frozenset([2])}
    assert solver.remembered(found, "key", pytest.fail) == {2}


def test_after_an_error_the_question_can_be_asked_again():
    solver, fails = FixedPoint(), [True]

    def first():
        return solver.solved("second", second) | {value(1)}

    def second():
        found = solver.solved("first", first)
        if fails.pop():
            raise ValueError("unreadable")
        fails.append(False)
        return found | {value(2)}

    with pytest.raises(ValueError, match="unreadable"):
        solver.solved("first", first)
    fails.append(False)
    assert {value(1), value(2)} == solver.solved("first", first) == solver.solved("second", second)


@settings(max_examples=examples(50), deadline=None)
@given(systems())
def test_answered_questions_are_freed_without_the_collector(system):
    """A check runs without it: what refers to itself would stay in memory until the end."""
    own, asked, order = system
    made = []

    class Question(fixed_point._Question):
        __slots__ = ("__weakref__",)

        def __init__(self, *given_):
            super().__init__(*given_)
            made.append(weakref.ref(self))

    equations = System(own, asked)
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fixed_point, "_Question", Question)
            for number in order:
                equations.answer(number)
        assert [] == [one for one in made if one() is not None]
    finally:
        gc.enable()
    assert made
