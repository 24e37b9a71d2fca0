"""Summaries of modules, which handle everything that Python can parse."""

from __future__ import annotations

import pickle
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.project.reading import bindings as kinds
from gblock.project.reading import expressions as tags
from gblock.project.reading.summarizing import read_annotation, summarize


def read(text):
    return summarize("module.py", textwrap.dedent(text))


def bindings(text, name, scope=0):
    return [b.kind for b in read(text).scopes[scope].bindings.get(name, ())]


def test_a_summary_can_be_pickled():
    summary = read("import os\nclass A:\n    def f(self): return [os.system(x) for x in self.y]")

    assert summary == pickle.loads(pickle.dumps(summary))


@pytest.mark.parametrize(
    ("text", "name", "kinds"),
    [
        ("a = 1", "a", [kinds.ASSIGNED]),
        ("a: int", "a", [kinds.ANNOTATED]),
        ("a: int = 1", "a", [kinds.ANNOTATED, kinds.ASSIGNED]),
        ("a, b = f()", "a", [kinds.UNPACKED]),
        ("a, *b = f()", "b", [kinds.UNPACKED]),
        ("a, *b = 1, 2, 3", "b", [kinds.ASSIGNED]),
        ("(a, b), c = f()", "b", [kinds.UNPACKED]),
        ("for a in x: pass", "a", [kinds.LOOPED]),
        ("with x as a: pass", "a", [kinds.ENTERED]),
        ("with x as (a, b): pass", "b", [kinds.ENTERED]),
        ("import a", "a", [kinds.IMPORTED]),
        ("import a.b", "a", [kinds.IMPORTED]),
        ("import a.b as c", "c", [kinds.IMPORTED]),
        ("from a import b as c", "c", [kinds.IMPORTED]),
        ("from a import *", "*", [kinds.STAR_IMPORTED]),
        ("def a(): pass", "a", [kinds.DEFINED]),
        ("class a: pass", "a", [kinds.DEFINED]),
        ("a |= 1", "a", [kinds.AUGMENTED]),
        ("a += 1", "a", [kinds.OPAQUE]),
        ("a.append(1)", "a", [kinds.ELEMENT]),
        ("a[1] = 2", "a", [kinds.ELEMENT]),
        ("a['x'].append(1)", "a", [kinds.ELEMENT]),
        ("a['x']['y'] = 1", "a", [kinds.ELEMENT]),
        ("a.extend([1, 2])", "a", [kinds.ELEMENT, kinds.ELEMENT]),
        ("a.update({'x': 1, **b})", "a", [kinds.ELEMENT]),
        ("a.setdefault('x', 1)", "a", [kinds.ELEMENT]),
        ("(a := 1)", "a", [kinds.ASSIGNED]),
        ("[(a := x) for x in y]", "a", [kinds.ASSIGNED]),
        ("try: pass\nexcept E as a: pass", "a", [kinds.OPAQUE]),
        ("match x:\n    case a: pass", "a", [kinds.ASSIGNED]),
        ("match x:\n    case [1, *a]: pass", "a", [kinds.OPAQUE]),
        ("match x:\n    case {**a}: pass", "a", [kinds.ASSIGNED]),
        ("def f():\n    global a\n    a = 1", "a", [kinds.ASSIGNED]),
        ("del a[f()]", "a", []),
    ],
)
def test_each_way_to_bind_a_name_is_noted(text, name, kinds):
    assert kinds == bindings(text, name)


def test_nonlocal_binds_in_the_function_that_has_the_name():
    text = """
        def outer():
            a = None
            def middle():
                def inner():
                    nonlocal a
                    a = 1
        """

    assert [kinds.ASSIGNED, kinds.ASSIGNED] == bindings(text, "a", scope=1)


def test_nonlocal_binds_in_the_function_around_where_the_name_comes_later():
    text = """
        def outer():
            def inner():
                nonlocal a
                a = 1
                a.append(2)
            a = None
        """

    assert [kinds.ASSIGNED, kinds.ELEMENT, kinds.ASSIGNED] == bindings(text, "a", scope=1)


def test_a_global_container_is_filled_from_inside_a_function():
    text = "def f():\n    global a\n    a = []\n    a.append(1)\ndef g(): a.append(2)"

    assert [kinds.ASSIGNED, kinds.ELEMENT, kinds.ELEMENT] == bindings(text, "a")


def test_an_import_behind_except_import_error_is_a_fallback():
    text = "try:\n    import a\nexcept ImportError:\n    import b as a"

    assert [False, True] == [b.fallback for b in read(text).scopes[0].bindings["a"]]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__all__ = ['a', 'b']", ["a", "b"]),
        ("__all__ = ('a',)", ["a"]),
        ("__all__ = names()", None),
        ("__all__ = [name]", None),
        ("__all__ = []", []),
        ("", None),
    ],
)
def test_exports_are_read_where_they_are_plain(text, names):
    assert names == read(text).exports


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("f()", [1]),
        ("x = [f(),\n     g()]", [1, 2]),
        ("@f(1)\ndef g(): pass", [1, 1]),
        ("class A(f()): pass", [1]),
        ("class A(metaclass=f()): pass", [1]),
        ("def g(a=f()): pass", [1]),
        ("def g(a: f()) -> f(): pass", []),
        ("a: f() = 1", []),
        ("a = f'{f()}'", [1]),
        ("a = f'{1:{f()}}'", [1]),
        ("a[f()]", [1]),
        ("a[f():g()]", [1, 1]),
        ("raise f() from g()", [1, 1]),
        ("assert f(), g()", [1, 1]),
        ("yield_ = lambda: f()", [1]),
        ("f(**g())", [1, 1]),
        ("-f()", [1]),
        ("f() < g()", [1, 1]),
        ("f() if g() else h()", [1, 1, 1]),
        ("{f(): g(), **h()}", [1, 1, 1]),
        ("{x: f(x) for x in g() if h()}", [1, 1, 1, 1]),
        ("(lambda: 0)()", [1]),
        ("f()()", [1, 1]),
        (
            "async def a():\n    await f()\n    async with g(): pass\n    async for x in h(): pass",
            [2, 3, 4],
        ),
    ],
)
def test_each_place_of_a_call_is_found(text, rows):
    assert sorted(rows) == sorted(c.row for c in read(text).calls if "item" not in c.node)


def test_loops_and_with_blocks_call_without_a_call():
    calls = read("for a in b:\n    with c as d, e:\n        pass").calls

    assert ["for", "with", "with"] == [call.node for call in calls]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a[0]", ["item"]),
        ("a.b[0:1]", ["item"]),
        ("f()[0]", ["item"]),
        ("a[0] = 1", ["set-item"]),
        ("a[0] += 1", ["set-item"]),
        ("del a[0]", ["del-item"]),
        ("a[b[0]] = c[1]", ["set-item", "item", "item"]),
        ("a = 1\ndel a", []),
    ],
)
def test_subscripts_call_without_a_call(text, nodes):
    calls = [call.node for call in read(text).calls if call.node != "call"]
    assert sorted(nodes) == sorted(calls)


def test_only_old_pythons_get_positions_in_strings_wrong():
    assert [sys.version_info < (3, 12)] == [c.quoted for c in read("f'{f()}'").calls]
    assert not read("f('')").calls[0].quoted


def test_a_long_string_is_forgotten():
    assert read(f"f('{'x' * 300}')").calls[0].expression[2] == (None,)


if sys.version_info >= (3, 12):

    def test_a_type_statement_gives_a_name():
        assert bindings("type A = int | None", "A") == [kinds.ASSIGNED]


if sys.version_info >= (3, 11):

    def test_exception_groups_are_read():
        assert bindings("try: a = 1\nexcept* E: a = 2", "a") == [kinds.ASSIGNED, kinds.ASSIGNED]


@pytest.mark.parametrize("text", ["f(", "", "x" * 10, "a b"])
def test_an_annotation_that_is_no_expression_says_nothing(text):
    assert read_annotation(text) is None or read_annotation(text)[0] == tags.NAME


@pytest.mark.parametrize(
    ("text", "error"),
    [("def f(:", SyntaxError), ("\0", (ValueError, SyntaxError))],
)
def test_what_cannot_be_parsed_is_refused(text, error):
    with pytest.raises(error):
        summarize("module.py", text)


NAMES = st.sampled_from(["a", "b", "c", "self", "os"])


def expressions(depth):
    """Source of expressions, nested to a depth."""
    leaves = st.one_of(NAMES, st.sampled_from(["0", "None", "'x'", "...", "-1"]))
    if depth == 0:
        return leaves
    inner = expressions(depth - 1)
    return st.one_of(
        leaves,
        st.tuples(inner, NAMES).map(lambda t: f"({t[0]}).{t[1]}"),
        st.tuples(inner, inner, NAMES).map(lambda t: f"({t[0]})({t[1]}, *a, {t[2]}=b, **c)"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]})[{t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"[{t[0]}, *{{{t[1]}}}]"),
        st.tuples(inner, inner).map(lambda t: f"{{**{{}}, ({t[0]}): {t[1]}}}"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]} or {t[1]} | {t[0]})"),
        st.tuples(NAMES, inner).map(lambda t: f"({t[0]} := {t[1]})"),
        st.tuples(inner, NAMES).map(lambda t: f"(lambda {t[1]}=None: {t[0]})"),
        inner.map(lambda t: f"[x for x in {t} if x]"),
    )


def statements(depth):
    """Source of blocks of statements, nested to a depth."""
    value = expressions(2)
    simple = st.one_of(
        st.tuples(NAMES, value).map(lambda t: f"{t[0]} = {t[1]}"),
        st.tuples(NAMES, NAMES, value).map(lambda t: f"{t[0]}.{t[1]} = {t[2]}"),
        st.tuples(NAMES, NAMES, value).map(lambda t: f"({t[0]}, *{t[1]}) = {t[2]}"),
        st.tuples(NAMES, value).map(lambda t: f"{t[0]}.append({t[1]})"),
        st.tuples(NAMES, value, value).map(lambda t: f"{t[0]}[{t[1]}] = {t[2]}"),
        st.tuples(NAMES, NAMES).map(lambda t: f"from .{t[0]} import {t[1]}"),
        st.tuples(NAMES, value).map(lambda t: f"{t[0]}: {t[1]}"),
        st.sampled_from(["pass", "from .b import *", "import os", "del a", "raise a"]),
    )
    if depth == 0:
        return st.lists(simple, min_size=1, max_size=3).map("\n".join)
    block = statements(depth - 1).map(lambda text: textwrap.indent(text, "    "))
    compound = st.one_of(
        st.tuples(value, block, block).map(lambda t: f"if {t[0]}:\n{t[1]}\nelse:\n{t[2]}"),
        st.tuples(value, block).map(lambda t: f"while {t[0]}:\n{t[1]}\n    continue"),
        st.tuples(NAMES, value, block).map(lambda t: f"for {t[0]} in {t[1]}:\n{t[2]}\n    break"),
        st.tuples(NAMES, value, block).map(lambda t: f"with {t[1]} as {t[0]}:\n{t[2]}"),
        st.tuples(block, NAMES, block).map(
            lambda t: f"try:\n{t[0]}\nexcept a as {t[1]}:\n{t[2]}\nfinally:\n{t[0]}"
        ),
        st.tuples(NAMES, NAMES, block, value).map(
            lambda t: f"def {t[0]}({t[1]}):\n{t[2]}\n    return {t[3]}"
        ),
        st.tuples(NAMES, NAMES, block).map(lambda t: f"class {t[0]}({t[1]}):\n{t[2]}"),
        st.tuples(value, NAMES, block).map(
            lambda t: f"match {t[0]}:\n    case [{t[1]}]:\n{textwrap.indent(t[2], '    ')}"
        ),
    )
    return st.lists(st.one_of(simple, compound), min_size=1, max_size=4).map("\n".join)


PROGRAMS = statements(2)


@settings(max_examples=examples(150), deadline=None)
@given(PROGRAMS)
def test_any_program_can_be_summarized(text):
    summary = summarize("module.py", text)

    assert summary.scopes[0].kind == "module"
    assert all(0 <= call.scope < len(summary.scopes) for call in summary.calls)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3600, "60 * 60"),
        (10_000_000, "10 ** 7"),
        (0.5, "1 / 2"),
        (7, "10 - 3"),
        (1.5, "1 + 0.5"),
        (10**9, "1000 * 1000 * 1000"),
    ],
)
def test_small_arithmetic_is_a_number(number, text):
    (call,) = summarize("a.py", f"f({text})").calls

    assert tags.constant(number) == call.expression.positional[0]


@pytest.mark.parametrize(
    "text", ["10 ** 1000", "1000 ** 10", "1 / 0", "True * 2", "'a' * 3", "x * 2", "7 // 2"]
)
def test_other_arithmetic_is_not(text):
    (call,) = summarize("a.py", f"f({text})").calls

    assert call.expression.positional[0] is None


NUMBERS = st.sampled_from(["0", "1", "-3", "0.5", "1e308", "100 ** 100", "100.0 ** 100"])
ARITHMETIC = st.recursive(
    NUMBERS,
    lambda inner: st.builds(
        "({} {} {})".format, inner, st.sampled_from("+ - * / **".split()), inner
    ),
)


@given(ARITHMETIC)
def test_any_arithmetic_can_be_summarized(text):
    (call,) = summarize("a.py", f"f({text})").calls

    argument = call.expression.positional[0]
    assert argument is None or argument.tag in (tags.CONSTANT, tags.NEGATED)


def test_calls_know_the_conditions_around_them_in_their_statement():
    text = "a() if b else c()\nd and e() or f()\n[g() for h in i if not j < 1]"
    guards = {
        call.expression.callee.identifier: call.guards
        for call in summarize("a.py", text).calls
        if call.guards
    }

    b, d, j = (tags.NAME, "b"), (tags.NAME, "d"), (tags.NAME, "j")
    less = (tags.COMPARE, j, "<", tags.constant(1))
    assert {
        "a": ((b, True),),
        "c": ((b, False),),
        "e": ((d, True),),
        "f": (((tags.BOTH, (d, (tags.CALL, (tags.NAME, "e"), (), ()))), False),),
        "g": (((tags.NOT, less), True),),
    } == guards


def test_blocks_that_jump_are_known():
    text = "while a:\n    if b:\n        break\n    elif c:\n        continue\n    d = 1 < 2 < 3\n"
    (scope,) = summarize("a.py", text).scopes

    assert {(0, 0, 0, 0): "break", (0, 0, 0, 1, 0, 0): "continue"} == scope.jumps
    assert (tags.NAME, "a") == scope.tests[0,]


@pytest.mark.parametrize(
    ("written", "is_recorded"),
    [
        ("f['a'][:]", True),
        ("f['a'][()]", True),
        ("f['a'][...]", True),
        ("f['g']['a'][0:10, 1]", True),
        ("f['a']['b']", False),
        ("f['a'][0]", False),
    ],
)
def test_a_subscript_of_a_subscript_is_a_call_where_it_reads_an_array(written, is_recorded):
    columns = [one.end_column for one in read(written).calls if one.node == "item"]
    assert is_recorded == (len(written) in columns)
