"""Fixtures of all tests, and the recording of snapshots."""

from __future__ import annotations

import gc
import os
import signal
import sys
import types
from pathlib import Path

import hypothesis
import pytest

# A check of a fixture leaves no cache beside it; the tests of the cache turn it on.
os.environ["GBLOCK_NO_CACHE"] = "1"

# What is collected lives as long as the tests: garbage collection need not walk over it each time.
gc.disable()

SNAPSHOTS = Path(__file__).parent / "snapshots"


def pytest_addoption(parser):
    parser.addoption(
        "--update", action="store_true", help="record snapshots and generated pages anew"
    )


# A machine that is loaded takes as long as it takes.
_PATIENT = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("quick", max_examples=25, **_PATIENT)
hypothesis.settings.register_profile("thorough", max_examples=100, **_PATIENT)
hypothesis.settings.load_profile("quick")


def pytest_xdist_auto_num_workers(config):
    """The number of workers: none for a few files, and none for tests that time processes."""
    is_whole = config.args_source.name != "ARGS" and config.getoption("markexpr") == "not live"
    return None if is_whole else 0


def pytest_configure(config):
    # A shell starts a command in the background with SIGINT ignored; processes of tests inherit it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Coverage is of the tests' own process: in what they start it would change what is timed. A
    # server that no test times is started with `harness.measured()`.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses"):
        settings = os.environ.pop("COVERAGE_PROCESS_START", None)
        if settings:
            os.environ["COVERAGE_SETTINGS"] = settings
    # gblock is an installed plug-in, and pytest would rewrite the asserts of all its modules, which
    # no test shows. In a pytest that names the set otherwise it only takes longer.
    getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", set()).discard("gblock")
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update is refused where CI is set: look at what you record")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    gc.freeze()
    # A check makes many objects, and few of them refer to one another in circles.
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_sessionfinish(session):
    """A test that did not run has proved nothing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def cache_of_its_own(tmp_path_factory):
    """Keep results of earlier runs, and of other workers, out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def snapshot(request):
    """Compare a text with its recorded form, or record it with ``--update``."""

    def compare(name, text):
        path = SNAPSHOTS / name
        if request.config.getoption("--update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert path.is_file(), f"no snapshot {name}: record it with pytest --update"
        assert path.read_bytes().decode() == text

    return compare


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Write files into an empty working directory: ``tree({"a.py": "..."})``."""
    monkeypatch.chdir(tmp_path)

    def write(files):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write


@pytest.fixture
def stand_in(monkeypatch):
    """Put a made-up module in the place of one of gblock's: ``stand_in("engine", check=…)``."""
    import gblock

    def place(name, **attributes):
        module = types.ModuleType(f"gblock.{name}")
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, f"gblock.{name}", module)
        monkeypatch.setattr(gblock, name, module, raising=False)

    return place
