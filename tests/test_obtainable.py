"""Which objects of packages a project can have, judged by words."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblock import catalog
from gblock.project.calls.obtainable import Obtainable
from gblock.project.reading.modules import Modules

KNOWN = catalog.load()


def has_method(directory: Path, name: str, text: str, roots: frozenset[str]) -> bool:
    """Return whether a project with one file may have an object with a method."""
    path = directory / "service.py"
    path.write_text(text)
    known = catalog.load(roots=roots)
    return Obtainable(known, Modules(str(directory), [str(path)])).has_method(name)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("import av\n\nfor frame in av.open('x').decode(video=0):\n    pass\n", True),
        ("import av.container\n\n\ndef run(frames: 'av.container.Frames'):\n    pass\n", True),
        ("from av import *\n\nvideo = open('x')\nframes = video.decode()\n", True),
        ("import os, \\\n    av\nframes = av.open('x').decode()\n", True),
        ("av = __import__('av')\nframes = av.open('x').decode()\n", True),
        ("import av\n\nvideo = av.logging\n", False),
        ("av = sum(prices) / len(prices)\nopen('x').read().decode()\n", False),
    ],
)
def test_iterating(tmp_path: Path, text: str, may: bool) -> None:
    assert has_method(tmp_path, "__iter__", text, frozenset({"av"})) is may


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("from pysqlite2.dbapi2 import connect\n", True),
        ("from pysqlite2 import dbapi2\n\nconnection = dbapi2.connect('orders')\n", True),
        ("name = 'pysqlite2 can connect'\n", False),
    ],
)
def test_leaving_an_object_of_a_package_under_an_alias(
    tmp_path: Path, text: str, may: bool
) -> None:
    roots = frozenset({"pysqlite2", "sqlite3"})
    assert has_method(tmp_path, "__exit__", text, roots) is may


def test_every_class_with_a_blocker_can_be_had_where_its_name_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "service.py"
    owners = {one.rpartition(".")[0] for one in KNOWN.by_symbol if one.count(".") > 1}
    modules = [one.rpartition(".") for one in sorted(owners) if "*" not in one]
    lines = [f"from {module} import {name}\n" for module, _, name in modules if module]
    path.write_text("".join(lines))
    obtainable = Obtainable(KNOWN, Modules(str(tmp_path), [str(path)]))
    methods = {
        one.rpartition(".")[2] for one in KNOWN.by_symbol if one.rpartition(".")[0] in owners
    }
    dunders = sorted(name for name in methods if name.startswith("__"))
    assert dunders
    assert [name for name in dunders if not obtainable.has_method(name)] == []
