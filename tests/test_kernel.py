"""The libraries of a C call, from the words on a stack."""

from __future__ import annotations

import sys

import pytest

from gblock.probing import kernel

INTERPRETER = None
ORDINARY = ""


@pytest.mark.parametrize(
    ("owners", "libraries"),
    [
        ([], []),
        ([ORDINARY, "kafka", ORDINARY, "cimpl", *[INTERPRETER] * 4, "other"], ["kafka", "cimpl"]),
        # One or two words of a call that has ended.
        ([ORDINARY, INTERPRETER, "kafka", "cimpl", *[INTERPRETER] * 4], ["kafka", "cimpl"]),
        ([*[INTERPRETER] * 2, "kafka", INTERPRETER, "cimpl"], ["kafka", "cimpl"]),
        # A library calls Python code, which waits.
        ([ORDINARY, *[INTERPRETER] * 3, "kafka", "cimpl"], []),
        (["kafka", *[INTERPRETER] * 2, ORDINARY, INTERPRETER, "cimpl"], ["kafka"]),
        (["kafka", "cimpl", "kafka", "cimpl"], ["kafka", "cimpl"]),
        ([str(number) for number in range(20)], [str(number) for number in range(8)]),
    ],
)
def test_the_libraries_up_to_the_interpreter_are_those_of_the_innermost_call(owners, libraries):
    assert kernel.innermost(owners) == libraries


@pytest.mark.skipif(not kernel.LINUX, reason="/proc is of Linux")
def test_a_stack_that_cannot_be_read_has_no_libraries():
    assert kernel.native_modules(8) == []
    assert kernel.native_modules(sys.maxsize) == []
