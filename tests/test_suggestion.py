"""A suggestion is what was meant, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblock.commandline.meanings import MEANINGS
from gblock.suggestion import _slips, did_you_mean

OPTIONS = ["--config", "--select", "--output-format", "--min-severity", "--isolated", "--jobs"]
WORDS = st.text("ab-", max_size=6)


@pytest.mark.parametrize(
    ("word", "choices", "meant"),
    [
        ("--fix", OPTIONS, None),
        ("--zzz", OPTIONS, None),
        ("--c", OPTIONS, None),
        ("-x", OPTIONS, None),
        ("--selct", OPTIONS, "--select"),
        ("--cofnig", OPTIONS, "--config"),
        ("--sel", OPTIONS, "--select"),
        ("--severity", OPTIONS, "--min-severity"),
        ("--format", OPTIONS, "--output-format"),
        ("Blocking_Call", ["blocking-call"], "blocking-call"),
        (
            "kafka-flush",
            ["confluent-kafka-producer-flush", "kafka"],
            "confluent-kafka-producer-flush",
        ),
        ("--workers", OPTIONS, "--jobs"),
        ("--workers", ["--config"], None),
    ],
)
def test_a_word_is_understood_by_spelling_by_parts_or_by_meaning(word, choices, meant):
    expected = f"; did you mean {meant}?" if meant else ""
    assert did_you_mean(word, choices, MEANINGS) == expected


@given(WORDS, WORDS, WORDS)
def test_slips_are_a_distance(one, other, third):
    assert (_slips(one, other) == 0) == (one == other)
    assert _slips(one, other) == _slips(other, one) <= max(len(one), len(other))
    assert abs(len(one) - len(other)) <= _slips(one, other)
    assert _slips(one, one + third) == len(third)


@given(st.sampled_from(OPTIONS), st.data())
def test_one_slip_is_understood(option, data):
    at = data.draw(st.integers(2, len(option) - 2))
    swapped = option[:at] + option[at + 1] + option[at] + option[at + 2 :]
    for word in (option[:at] + option[at + 1 :], option[:at] + "x" + option[at:], swapped):
        assert did_you_mean(word, OPTIONS) == f"; did you mean {option}?"
