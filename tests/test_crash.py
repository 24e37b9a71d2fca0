"""Everything that is installed is read: nothing of it may bring gblock down."""

from __future__ import annotations

import sysconfig
import zlib
from functools import cache
from pathlib import Path

import pytest

from gblock import engine
from gblock.config import Config
from gblock.project.reading.summarizing import summarize

ROOTS = {name: Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")}
UNREADABLE = 40
"""Files that are wrong on purpose (lib2to3's and libcst's test data) or written for Python 2."""

MODULES = 2500
"""The modules of packages that are read: a check's time grows faster than their number.
`benchmarks/speed.py` measures a whole environment."""
PARTS = 4


def modules(name: str) -> list[Path]:
    """Return the modules of the standard library, or of packages up to that number."""
    root = ROOTS[name]
    return [
        path
        for path in sorted(root.rglob("*.py"))
        if not any(folder in f"/{path.relative_to(root)}" for folder in left_out(name))
    ]


@cache
def left_out(name: str) -> tuple[str, ...]:
    """Return the packages above that number, chosen by checksums of their names."""
    if name == "stdlib":
        return ("/site-packages/",)
    left, found = MODULES, []
    for folder in sorted(ROOTS[name].iterdir(), key=lambda one: zlib.crc32(one.name.encode())):
        size = sum(1 for _ in folder.rglob("*.py")) if folder.is_dir() else 0
        if size > left:
            found.append(f"/{folder.name}/")
        else:
            left -= size
    return tuple(found)


@pytest.mark.live
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", ROOTS)
def test_every_installed_module_is_summarized(name, part):
    refused = []
    for path in modules(name)[part::PARTS]:
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
    config = Config(
        root=str(root),
        filename=str(root / "gblock.toml"),
        exclude=left_out(name),
    )
    # As a user would: an environment is not the code of one service on gevent.
    report = engine.check(engine.Request([str(root)], config, select=[select], jobs=2))

    assert report.files_checked > 100
    assert report.files_unreadable < UNREADABLE, report.problems
    for diagnostic in report.diagnostics:
        assert diagnostic.location <= diagnostic.end_location
