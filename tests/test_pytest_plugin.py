"""Runs pytest in pytest, with a stand-in for the probe that says what a test asks it to."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import sys, time, types
import pytest

probe = types.ModuleType("gblock.runtime_probe")
probe.calls = []

def start(*, threshold, sink):
    probe.calls.append(threshold)
    probe.sink = sink

def settle():
    probe.calls.append("settle")

def turn():
    probe.calls.append("turn")

def stop():
    probe.calls.append("stop")

probe.start, probe.settle, probe.turn, probe.stop = start, settle, turn, stop
sys.modules["gblock.runtime_probe"] = probe

@pytest.fixture
def blocks():
    def blocks(seconds, kind="waits"):
        probe.sink({"type": "site", "site": 1, "symbol": "bcrypt.hashpw", "callable": "x.y",
                    "user": {"file": "app.py", "line": 7, "function": "login"},
                    "stack": [{"file": "pytest.py", "line": 1, "function": "main"},
                              {"file": "app.py", "line": 7, "function": "login", "user": True},
                              {"file": "lib.py", "line": 9, "function": "deep"}]})
        probe.sink({"type": "block", "t": time.time(), "duration": seconds, "class": kind,
                    "site": 1})
    return blocks

def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"probe: {probe.calls}")
"""


@pytest.fixture
def run(pytester):
    pytester.makeconftest(CONFTEST)

    def run(code, *argv):
        pytester.makepyfile(code)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers", *argv)

    return run


@pytest.fixture(autouse=True)
def _restored():
    """Remove the inner run's replacement of the probe."""
    import sys

    before = sys.modules.get("gblock.runtime_probe")
    yield
    sys.modules.pop("gblock.runtime_probe", None)
    if before is not None:
        sys.modules["gblock.runtime_probe"] = before


MARKED = "import pytest\n@pytest.mark.gblock(max_block=0.1{})\ndef test_it(blocks):\n    {}\n"


def test_a_test_that_blocks_too_long_fails_with_what_was_seen(run):
    result = run(MARKED.format("", "blocks(0.25)"))

    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*pytest.py:1*")
    result.stdout.fnmatch_lines(
        [
            "bcrypt.hashpw blocked the hub for 0.250 s, longer than 0.1 s (waits)",
            "  > app.py:7 in login",
            "    lib.py:9 in deep",
            "  catalog: bcrypt-hashpw",
            "  instead: *",
            "probe: [[]0.1, 'settle', 'turn'[]]",
        ]
    )


@pytest.mark.parametrize(
    "call", ["blocks(0.05)", "blocks(5, 'starved')", "blocks(5, 'thread')", ""]
)
def test_what_is_short_or_nobodys_fault_is_no_failure(run, call):
    run(MARKED.format("", call or "pass")).assert_outcomes(passed=1)


def test_one_probe_with_the_least_bound_serves_all_tests(run):
    code = (
        "import pytest, time\n"
        "@pytest.mark.gblock(max_block=0.3)\ndef test_long(blocks):\n    blocks(0.25)\n"
        "@pytest.mark.gblock(max_block=0.02)\ndef test_slow(blocks):\n    time.sleep(0.03)\n"
        "def test_other():\n    pass\n"
    )
    result = run(code)

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["probe: [[]0.02, 'settle', 'turn', 'turn', 'settle'[]]"])


def test_a_block_of_the_test_before_is_not_this_tests(run):
    code = (
        "import pytest, sys, time\n@pytest.mark.gblock\ndef test_it():\n"
        "    probe = sys.modules['gblock.runtime_probe']\n"
        "    probe.sink({'type': 'block', 't': time.time() - 1, 'duration': 0.9, 'class': 'cpu'})\n"
    )
    run(code).assert_outcomes(passed=1)


@pytest.mark.parametrize(("names", "passed"), [("'bcrypt.*'", 1), ("['x.y']", 1), ("['z.*']", 0)])
def test_calls_may_be_allowed(run, names, passed):
    result = run(MARKED.format(f", allow={names}", "blocks(1)"))

    result.assert_outcomes(passed=passed, failed=1 - passed)


def test_without_being_asked_nothing_happens(run):
    result = run("def test_it():\n    pass\n")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["probe: [[][]]"])


def test_the_fixture_shows_what_was_seen_and_forgives(run):
    result = run(
        "def test_forgiven(hub_watch, blocks):\n"
        "    blocks(1)\n"
        "    assert hub_watch.blocks[0]['seen']['symbol'] == 'bcrypt.hashpw'\n"
        "    hub_watch.forgive()\n"
        "def test_not_forgiven(hub_watch, blocks):\n"
        "    blocks(1)\n"
    )

    result.assert_outcomes(passed=1, failed=1)


def test_the_option_watches_every_test_and_the_marker_is_stronger(run):
    code = (
        "import pytest\n"
        "def test_short(blocks):\n    blocks(0.3)\n"
        "@pytest.mark.gblock(max_block=1)\ndef test_long(blocks):\n    blocks(0.3)\n"
        "@pytest.mark.gblock\ndef test_bare(blocks):\n    blocks(0.15)\n"
    )
    run(code, "--gblock-max-block=0.2").assert_outcomes(passed=2, failed=1)


def test_a_failure_of_the_tests_own_stands_and_is_explained(run):
    result = run(MARKED.format("", "blocks(1); assert 1 == 2"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "*bcrypt.hashpw blocked the hub*"])
    result.stdout.fnmatch_lines(["probe: [[]0.1, 'settle', 'turn'[]]"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("0.1", "the marker gblock takes max_block and allow, not positional arguments"),
        ("limit=1", "the marker gblock takes max_block and allow, not limit"),
        ("max_block='x'", "max_block is a number of seconds above 0, not 'x'"),
        ("max_block=-1", "max_block is a number of seconds above 0, not -1"),
        ("max_block=True", "max_block is a number of seconds above 0, not True"),
    ],
)
def test_a_marker_that_makes_no_sense_is_one_clear_line(run, arguments, message):
    result = run(f"import pytest\n@pytest.mark.gblock({arguments})\ndef test_it():\n    pass\n")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_a_probe_that_cannot_be_had_is_a_failure(run, pytester):
    pytester.makeconftest("import sys\nsys.modules['gblock.runtime_probe'] = None\n")
    result = run("import pytest\n@pytest.mark.gblock\ndef test_it():\n    pass\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["gblock cannot watch the hub: *"])
