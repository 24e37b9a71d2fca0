"""Syntax of newer Pythons, read on each interpreter."""

from __future__ import annotations

import ast
from contextlib import suppress

import pytest
from harness import check, inferring
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.config import Config
from gblock.project.reading.newer_syntax import older
from gblock.project.reading.parsing import UNPARSABLE, parse

NEWER = {
    "type parameters of a function": ("def f[T](x): pass", "def f   (x): pass"),
    "type parameters with defaults": ("def f[T = int](x): pass", "def f         (x): pass"),
    "on several rows": ("def f[\n  T,\n](x): pass", "def f\\\n   \\\n (x): pass"),
    "type parameters of a class": ("class C[T: int, *A, **P](B): pass", None),
    "a type": ("type X = list[int]", "X      = list[int]"),
    "a generic type": ("if 1:\n    type  X[T]  =  list[T]", "if 1:\n    X           =  list[T]"),
    "quotes in an f-string": ('f"{d["a"]}"', "f\"{d['a']}\""),
    "single quotes in an f-string": ("f'{d['a']} {c}'", "f'{d[\"a\"]} {c}'"),
    "a backslash in an f-string": ('f"{"\\n".join(y)}é"', "f\"{'xn'.join(y)}é\""),
    "an f-string in an f-string": ('f"{f"{x}"}"', "f\"{f'{x}'}\""),
    "three in one another": ('f"{f"{d["q"]}"}"', "f\"{f'{d[000]}'}\""),
    "a template": ('t"{x}"', 'f"{x}"'),
    "a template with quotes": ('rt"{d["a"]}"', "rf\"{d['a']}\""),
    "several types": ("try: pass\nexcept A, b.C: pass", "try: pass\nexcept(A, b.C): pass"),
    "a group of exceptions": ("try: pass\nexcept* A: pass", "try: pass\nexcept  A: pass"),
}


@pytest.mark.parametrize(("newer", "expected"), NEWER.values(), ids=NEWER)
def test_newer_syntax_is_older_syntax_at_the_same_place(newer, expected):
    found = older(f"{newer}\n")

    assert found != f"{newer}\n"
    assert ast.parse(found)
    assert expected is None or found == f"{expected}\n"
    for line, before in zip(found.split("\n"), newer.split("\n"), strict=False):
        assert len(line) == len(before) + ("except(" in line)


@pytest.mark.parametrize("newer", [newer for newer, _ in NEWER.values()], ids=NEWER)
def test_newer_syntax_is_parsed(newer):
    assert len(parse(f"{newer}\nlast()\n").body) == len(parse("last()\n").body) + 1


@pytest.mark.parametrize(
    "text", ["x = 1\n", "print 'x'\n", "def f(:\n", "", 'f"""{d["a"]}"""', "f'{', \"{d['a']}\""]
)
def test_what_has_no_newer_syntax_is_left_alone(text):
    assert older(text) == text


def test_an_error_of_syntax_beside_newer_syntax_is_an_error():
    with pytest.raises(SyntaxError):
        parse("type X = int\ndef f(:\n")


def test_the_declared_encoding_is_that_of_the_file():
    text = '# coding: latin-1\ntype X = int\ny = f"{d["é"]}"\n'.encode("latin-1")
    assert ast.dump(parse(text).body[1]).count("é") == 1


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from([newer for newer, _ in NEWER.values()]), min_size=1, max_size=5))
def test_newer_syntax_in_one_file_is_read_together(parts):
    text = "\n".join(parts) + "\n"
    assert len(parse(text).body) == len(parts)


def test_calls_in_newer_syntax_are_reported_at_their_places(tmp_path):
    inference = inferring(tmp_path, {"a.py": "type X = int\n"})
    assert inference.modules.summary(str(tmp_path / "a.py")).scopes[0].bindings["X"]
    text = (
        "from gevent import monkey\nmonkey.patch_all()\nimport gevent, os\n"
        "def place[T](item: T) -> T:\n"
        "    try:\n        os.wait()\n"
        "    except OSError, ValueError:\n"
        '        return f"{os.wait()["a"]}"\n'
        "gevent.spawn(place, 1).join()\n"
    )
    (tmp_path / "b.py").write_text(text)
    rows = [
        (one.location.row, one.code)
        for one in check([str(tmp_path)], Config(root=str(tmp_path))).diagnostics
    ]
    assert rows == [(6, "blocking-call"), (8, "blocking-call")]


@pytest.mark.parametrize("part", ["def f[", 'f"""{', "type X[", 'f"{', "except ", "f\"{f'{"])
def test_damaged_files_are_left_in_time(part):
    with pytest.raises(UNPARSABLE):
        parse(f"{part}\n" * 1_000)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"[](){}\"'\\#:,=*!\n ", "f", "t", "rf", '"""', "type ", "def ", "X", "except "]
        ),
        max_size=40,
    )
)
def test_any_text_is_read_or_refused(parts):
    text = "".join(parts)
    assert older(text).count("\n") == text.count("\n")
    with suppress(*UNPARSABLE):
        parse(text)
