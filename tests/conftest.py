"""What every test may use, and how snapshots are recorded."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parent / "snapshots"


def pytest_addoption(parser):
    parser.addoption(
        "--update", action="store_true", help="record snapshots and generated pages anew"
    )


def pytest_configure(config):
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update is refused where CI is set: look at what you record")


def pytest_sessionfinish(session):
    """A test that did not run has proved nothing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


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
