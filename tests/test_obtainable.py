"""Tests of which objects of packages a project can have, judged by words."""

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
    symbols = [one.rpartition(".") for one in sorted(KNOWN.by_symbol)]
    special = [(owner, name) for owner, _, name in symbols if name.startswith("__")]
    owners = sorted({owner for owner, _ in special if "." in owner and "*" not in owner})
    lines = [f"from {one.rpartition('.')[0]} import {one.rpartition('.')[2]}\n" for one in owners]
    path.write_text("".join(lines))
    obtainable = Obtainable(KNOWN, Modules(str(tmp_path), [str(path)]))
    names = sorted({name for owner, name in special if owner in owners})
    assert names
    assert [name for name in names if not obtainable.has_method(name)] == []
