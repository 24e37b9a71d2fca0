"""The written words never miss a call that the catalog itself would find."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

from gblock import outline
from gblock.config import Config
from gblock.engine import Check, Request
from gblock.outline import Outlines
from gblock.project.triage import vocabulary, words

TOLD = vocabulary.told(Outlines())


@pytest.fixture
def without(monkeypatch):
    """As where gblock runs from its sources and nothing was ever written down."""
    monkeypatch.setattr(words, "MODULE", "no_such_module")


def read(text):
    found = {}
    exec(text, found)
    return words.Written(
        words.Words(*found["ON"]), words.Words(*found["UNPATCHED"]), found["ORIGINALS"]
    )


def test_what_is_written_is_what_was_told():
    again = read(words.module(TOLD))
    for one, other in ((TOLD.on, again.on), (TOLD.unpatched, again.unpatched)):
        for name in words.Words.__slots__:
            assert getattr(one, name) == getattr(other, name)
    assert TOLD.originals == again.originals


def test_a_changed_catalog_is_read_and_nothing_that_was_written_counts(tmp_path, monkeypatch):
    module = types.ModuleType("written_words")
    exec(words.module(TOLD), vars(module))
    monkeypatch.setitem(sys.modules, f"{words.__package__}.{words.MODULE}", module)
    found = words.written()
    assert found is not None
    assert TOLD.on.methods == found.on.methods
    changed = tmp_path / "gblock" / "known_blockers.toml"
    changed.parent.mkdir()
    changed.write_bytes(Path(outline.BUILT_IN).read_bytes().replace(b"flush", b"flusH", 1))
    monkeypatch.setattr(words, "BUILT_IN", str(changed))
    assert words.written() is not None  # an installed catalog is not edited
    (tmp_path / "pyproject.toml").touch()
    assert words.written() is None
    (tmp_path / "pyproject.toml").unlink()
    changed.write_bytes(changed.read_bytes() + b"\n")
    assert words.written() is None


@pytest.mark.parametrize("unpatched", [False, True])
def test_each_call_of_the_catalog_is_told_by_its_words(unpatched):
    outlines = Outlines()
    asked = TOLD.unpatched if unpatched else TOLD.on
    seen = 0
    for chunk in outlines.named:
        if chunk.kind != "blocker" or chunk.is_off or chunk.unpatched != unpatched:
            continue
        for symbol in chunk.symbols:
            root, *owners, name = symbol.split(".")
            made = ".".join([root, *owners]) if owners else root
            called = "method" if name.startswith(("*", "__")) else name
            text = f"import {root}\nmade = {made}\nmade.{called}()\n"
            if root == "builtins":
                text = f"{name}()\n"
            identifiers = set(re.findall(r"\w+", text))
            assert root in asked.packages(identifiers, text.encode()), symbol
            seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import confluent_kafka\nconfluent_kafka.Producer({}).flush()\n", True),
        ("import os\nos.system('x')\n", True),
        ("breakpoint()\n", True),
        ("def system(): 'poll, flush and put'\n", False),
        ("basket.append(1)\n", False),
    ],
)
def test_a_file_is_judged_the_same_with_and_without_them(text, expected, tmp_path, request):
    (tmp_path / "shop.py").write_text(text, encoding="utf-8")

    config = Config(root=str(tmp_path))

    def chosen():
        return bool(Check(Request([str(tmp_path / "shop.py")], config)).plan._chosen())

    assert expected == chosen()
    request.getfixturevalue("without")
    assert words.written() is None
    assert expected == chosen()


def test_a_method_counts_where_the_project_imports_its_package(tmp_path):
    (tmp_path / "shop.py").write_text("basket.append(1)\n", encoding="utf-8")
    (tmp_path / "store.py").write_text(
        "import diskcache\nbasket = diskcache.Deque()\n", encoding="utf-8"
    )
    check = Check(Request([str(tmp_path / "shop.py")], Config(root=str(tmp_path))))
    codebase = check.codebase
    assert check.plan._triage.any_may_matter(codebase.reported, codebase.complete)
    assert str(tmp_path / "store.py") in codebase.modules.files
