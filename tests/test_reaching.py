"""Reaching definitions: the bindings of a name that a use can see."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from test_summary import PROGRAMS
from thoroughness import examples

from gblock.project.names.definitions import END, Definitions
from gblock.project.reading.summarizing import summarize


def rows(text):
    """The rows that bind `x` and are seen where `use(x)` stands."""
    summary = summarize("module.py", textwrap.dedent(text).lstrip("\n"))
    call = next(
        c for c in summary.calls if c.node == "call" and c.expression.callee == ("name", "use")
    )
    scope = call.scope
    while "x" not in summary.scopes[scope].bindings:
        scope = summary.scopes[scope].parent
    use = call.path if scope == call.scope else END
    return sorted(binding.row for binding in Definitions().reaching(summary, scope, "x", use))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("x = 1\nuse(x)", [1]),
        ("x = 1\nx = 2\nuse(x)", [2]),
        ("x = 1\nuse(x)\nx = 2", [1]),
        ("x = 1\nif a:\n    x = 2\nuse(x)", [1, 3]),
        ("x = 1\nif a:\n    x = 2\nelse:\n    x = 3\nuse(x)", [3, 5]),
        ("x = 1\nif a:\n    x = 2\nelse:\n    raise E\nuse(x)", [3]),
        ("x = 1\nif a:\n    x = 2\nelif b:\n    x = 3\nelse:\n    x = 4\nuse(x)", [3, 5, 7]),
        ("x = 1\nif a:\n    x = 2\nelif b:\n    x = 3\nuse(x)", [1, 3, 5]),
        ("x = 1\nif a:\n    x = 2\n    exit()\nuse(x)", [1]),
        ("if a:\n    x = 1\nelse:\n    use(x)\n    x = 2", []),
        ("x = 1\nwith a:\n    x = 2\nuse(x)", [3]),
        ("x = 1\nwhile a:\n    x = 2\nuse(x)", [1, 3]),
        ("x = 1\nwhile a:\n    use(x)\n    x = 2", [1, 4]),
        ("x = 1\nwhile a:\n    x = 2\n    use(x)", [3]),
        ("x = 1\nfor x in a:\n    use(x)", [2]),
        ("x = 1\nfor x in a:\n    pass\nuse(x)", [1, 2]),
        ("while a:\n    if b:\n        use(x)\n    else:\n        x = 1", [5]),
        ("x = 1\ntry:\n    x = 2\nexcept E:\n    x = 3\nuse(x)", [3, 5]),
        ("x = 1\ntry:\n    x = 2\nexcept E:\n    pass\nuse(x)", [1, 3]),
        ("try:\n    x = 1\nexcept E:\n    use(x)", [2]),
        ("try:\n    pass\nexcept E:\n    x = 1\nexcept F:\n    use(x)", []),
        ("try:\n    pass\nexcept E:\n    x = 1\nfinally:\n    use(x)", [4]),
        ("x = 1\nmatch a:\n    case 1:\n        x = 2\n    case _:\n        x = 3\nuse(x)", [4, 6]),
        ("x = 1\nmatch a:\n    case 1:\n        x = 2\nuse(x)", [1, 4]),
        ("match a:\n    case x:\n        use(x)", [2]),
        ("with a as x:\n    use(x)", [1]),
        ("use(x := 1)", [1]),
        ("x: int\nx = 1\nuse(x)", [1, 2]),
        ("def f():\n    use(x)\nx = 1\nx = 2", [4]),
        ("x = None\ndef f():\n    global x\n    x = 1\nuse(x)", [1, 4]),
        ("def f(x):\n    use(x)", [1]),
        ("def f(x):\n    x = 1\n    use(x)", [2]),
    ],
)
def test_a_use_sees_the_bindings_that_can_be_the_last(text, seen):
    assert seen == rows(text)


@settings(max_examples=examples(100), deadline=None)
@given(PROGRAMS)
def test_every_use_in_any_program_is_answered_from_the_names_own_bindings(text):
    summary = summarize("module.py", text)
    for call in summary.calls:
        for name, bindings in summary.scopes[call.scope].bindings.items():
            for use in (call.path, END):
                found = Definitions().reaching(summary, call.scope, name, use)
                assert set(map(id, found)) <= set(map(id, bindings))
