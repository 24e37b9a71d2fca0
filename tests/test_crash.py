"""Everything that is installed is read: nothing of it may bring gblock down."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from gblock import engine
from gblock.config import Config
from gblock.project.reading.summarizing import summarize

ROOTS = {name: Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")}
UNREADABLE = 40
"""Files that are wrong on purpose (lib2to3's and libcst's test data) or written for Python 2."""


@pytest.mark.live
@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_every_installed_module_is_summarized(root):
    refused = []
    for path in root.rglob("*.py"):
        try:
            assert summarize(str(path), path.read_bytes()).scopes
        except (SyntaxError, ValueError, RecursionError):
            refused.append(path)

    assert len(refused) < UNREADABLE, refused


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "select"), [("stdlib", "default"), ("stdlib", "all"), ("purelib", "default")]
)
def test_every_installed_module_is_checked(name, select):
    root = ROOTS[name]
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    # As a user would: an environment is not the code of one service on gevent.
    report = engine.check(engine.Request([str(root)], config, select=[select], jobs=2))

    assert report.files_checked > 100
    assert report.files_unreadable < UNREADABLE, report.problems
    for diagnostic in report.diagnostics:
        assert diagnostic.location <= diagnostic.end_location
