"""Deeply nested source: what CPython compiles is read, what is too deep is a file's own problem."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.commandline.depth import Depth
from gblock.config import Config
from gblock.engine import Request, check

HEAD = "import os\nfrom gevent import monkey\nmonkey.patch_all()\n"
FORMS = {
    "calls with arguments": lambda n: "c" + ".a(b=1)" * n,
    "calls": lambda n: "c" + "(1)" * n,
    "attributes": lambda n: "c" + ".a" * n,
    "elements": lambda n: "c" + "[0]" * n,
    "alternatives": lambda n: " | ".join(["a"] * (n + 1)),
    "sums": lambda n: " + ".join(["f(1)"] * (n + 1)),
    "conditions": lambda n: "a if b else " * n + "c",
    "negations": lambda n: "not " * n + "a",
    "functions": lambda n: "lambda: " * n + "1",
    "texts": lambda n: " + ".join(["'s'"] * (n + 1)),
}
DEPTH = 900
QUICK_DEPTH = examples(DEPTH)
"""The depth in a quick run: one check of a file as deep as `DEPTH` takes seconds."""
TOO_DEEP = (("calls", 30_000), ("negations", 30_000), ("texts", 30_000))
"""The forms, and depths, that a quick run tries."""


def compiles(text):
    try:
        compile(text, "deep.py", "exec")
    except RecursionError:
        return False
    return True


def checked(directory, text):
    (directory / "setup.py").write_text("")
    (directory / "deep.py").write_text(text)
    (directory / "other.py").write_text("import os, deep\ndef f():\n    os.system('sync')\n")
    config = Config(root=str(directory))
    with Depth():
        report = check(Request([str(directory)], config, all_contexts=True, assume_gevent=True))
    problems = [problem.filename.rpartition("/")[2] for problem in report.problems]
    rows = {
        (one.filename.rpartition("/")[2], one.location.row)
        for one in report.diagnostics
        if one.code == "blocking-call"
    }
    return rows, problems


@settings(deadline=None, max_examples=examples(6))
@given(st.sampled_from(sorted(FORMS)), st.integers(0, QUICK_DEPTH), st.booleans())
@example("calls with arguments", QUICK_DEPTH, True)
@example("conditions", QUICK_DEPTH, False)
def test_what_cpython_compiles_is_read(tmp_path_factory, name, depth, inside):
    expression = FORMS[name](depth)
    statement = f"os.system({expression})" if inside else f"x = {expression}\n    os.system('x')"
    text = f"{HEAD}y = {expression}\ndef g():\n    {statement}\n"
    rows, problems = checked(tmp_path_factory.mktemp("deep"), text)

    assert ("other.py", 3) in rows
    # CPython 3.12 alone bounds C calls by a low limit that nothing can raise.
    if compiles(text) and sys.version_info[:2] != (3, 12):
        assert [] == problems
        assert "deep.py" in {filename for filename, _ in rows}


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        pytest.param(name, depth, marks=pytest.mark.live if (name, depth) not in TOO_DEEP else ())
        for name in FORMS
        for depth in (3_000, 30_000)
    ],
)
def test_what_is_too_deep_is_a_problem_of_that_file_alone(tmp_path, name, depth):
    rows, problems = checked(tmp_path, f"{HEAD}y = {FORMS[name](depth)}\n")

    assert {("other.py", 3)} == rows
    assert problems in ([], ["deep.py"])


def test_alternatives_of_a_statement_are_read(tmp_path):
    text = f"{HEAD}def g(a):\n    if a:\n        pass\n" + "    elif a:\n        pass\n" * DEPTH
    text += "    os.system('x')\n"
    rows, problems = checked(tmp_path, text)

    assert compiles(text)
    assert [] == problems
    assert ("deep.py", 7 + 2 * DEPTH) in rows
