"""A catalog of the user's own: every mistake is an error with its place, every style is read."""

from __future__ import annotations

import pytest
import tomli
from harness import check
from hypothesis import given
from hypothesis import strategies as st

from gblock import outline
from gblock.catalog import extensions
from gblock.catalog.extensions import own
from gblock.cli import main
from gblock.config import load

BLOCK = """
[[blocker]]
id = "shop-wait"
distribution = "shop"
symbols = ["shop.Till.wait"]
kind = "waits"
level = "error"
why = "It waits."
instead = "Do not."
evidence = { reference = "https://example.org" }
"""
DRIVER = """
[[driver]]
id = "shop-driver"
distribution = "shop"
level = "error"
why = "It waits."
instead = "Do not."
chosen_by = []
harmless = "("
evidence = {}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            BLOCK.replace("[[blocker", "[[blokker"),
            ":2: [[blokker]]: unknown block; did you mean blocker?",
        ),
        (
            BLOCK.replace("[[blocker", "[[x"),
            ":2: [[x]]: unknown block; the blocks are library,",
        ),
        (
            BLOCK.replace("[[blocker]]", "[[blocker"),
            ":2:10: invalid TOML",
        ),
        (
            "[[blocker]]\n",
            ":1: [[blocker]]: the key 'id' is missing",
        ),
        (
            BLOCK + "\n[[blocker]]\n",
            ":12: [[blocker]]: the key 'id' is missing",
        ),
        (
            BLOCK.replace("[[blocker]]", "[blocker]"),
            ":2: blocker: each block begins with [[blocker]]",
        ),
        (
            "blocker = 3\n",
            ": blocker: each block begins with [[blocker]]",
        ),
        (
            BLOCK + BLOCK,
            ":12: [[blocker]] 'shop-wait': id: 'shop-wait' is defined twice in this file",
        ),
        (
            BLOCK.replace('"shop.Till.wait"', ""),
            "'shop-wait': symbols: expected at least one dotted name",
        ),
        (
            BLOCK.replace("shop.Till.wait", "wait"),
            "symbols: 'wait' is not a dotted name",
        ),
        (
            f'{BLOCK}fix = "threadpool"\n',
            "fix: the threadpool helps only a call with releases_gil = true",
        ),
        (
            f'{BLOCK}fix = "threadpool"\nreleases_gil = true\nthread_bound = true\n',
            "fix: an object that is bound to its thread cannot be used in the threadpool",
        ),
        (
            f'{BLOCK}fix = "recipe"\n',
            "fix: a recipe is the first symbol of cooperative_after, and there is none",
        ),
        (
            BLOCK.replace('["shop.Till.wait"]', "3"),
            "'shop-wait': symbols: Expected `array`, got `int`",
        ),
        (
            BLOCK.replace("symbols", "symbol"),
            "'shop-wait': unknown key 'symbol'; did you mean symbols?",
        ),
        (
            BLOCK.replace("reference", "refrence"),
            "unknown key 'refrence' in evidence; did you mean reference?",
        ),
        (
            '[[worker]]\nframework = "shop"\ncommands = ["shop-worker"]\non_gevent = "("\n',
            "[[worker]] 'shop': on_gevent: invalid regular expression: ",
        ),
        (
            DRIVER,
            "[[driver]] 'shop-driver': harmless: invalid regular expression: ",
        ),
        (
            "[measured-on]\npython = 3\n",
            ": measured-on",
        ),
    ],
)
@pytest.mark.parametrize("touched", [True, False])
def test_a_mistake_is_an_error_whether_the_code_touches_it_or_not(
    tree, capsys, text, expected, touched
):
    code = "import shop\nshop.Till().wait()\n" if touched else "x = 1\n"
    tree({"mine.toml": text, "gblock.toml": 'extend-catalog = ["mine.toml"]\n', "a.py": code})
    assert main(["check", "a.py"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert f"mine.toml{expected}" in err or expected in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        "\ufeff" + BLOCK,
        BLOCK.replace("\n", "\r\n"),
        BLOCK.replace('"', "'"),
        BLOCK.replace("[[blocker]]", "[[ blocker ]]"),
        BLOCK.replace("\n", "\n    ").replace('id = "', 'id="'),
        BLOCK.replace('["shop.Till.wait"]', '[\n  # the till\n  """shop.Till.wait""",\n]'),
        BLOCK.replace('"It waits."', "'''\n[[driver]]\nIt says \"wait\" ] }'''"),
        BLOCK.replace("symbols", '"symbols"'),
    ],
)
def test_any_style_of_toml_is_read(tree, capsys, text):
    code = "import shop\nshop.Till().wait()\n"
    files = {"gblock.toml": 'extend-catalog = ["mine.toml"]\n', "a.py": code}
    files["requirements.txt"] = "gevent"
    tree({"mine.toml": text, **files})
    assert main(["check", "-q", "--assume-gevent", "--output-format", "concise", "a.py"]) == 1
    assert "a.py:2:1: warning[blocking-call]" in capsys.readouterr().out


def test_the_built_in_catalog_says_the_same_when_it_is_read_as_ones_own():
    mine, built_in = own(outline.BUILT_IN), outline.read()
    by_kind = sorted(built_in.chunks, key=lambda chunk: chunk.kind)
    assert len(by_kind) == len(mine.chunks)
    told = ("id", "symbol", "is_off", "unpatched", "captured", "symbols", "remedies")
    told += ("distribution", "aliases", "kind")
    for ours, theirs in zip(sorted(mine.chunks, key=lambda c: c.kind), by_kind, strict=True):
        assert [getattr(ours, name) for name in told] == [getattr(theirs, name) for name in told]
        assert ours.roots >= theirs.roots  # every string of a block may name one
        assert sorted(ours.givers) == sorted(theirs.givers)
        assert tomli.loads(ours.text) == tomli.loads(theirs.text)


_VALUES = st.recursive(
    st.text() | st.booleans() | st.integers(-9, 10**9) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), _VALUES, max_size=4))
def test_any_value_is_written_as_toml_on_one_line(table):
    line = f"x = {extensions._value(table)}"
    assert "\n" not in line
    assert tomli.loads(line) == {"x": table}


WORKER = """
[[entry]]
framework = "shop-tasks"
imports = ["shop_tasks"]
context = "task"
queue = { keyword = "queue" }
decorators = ["shop_tasks.task"]

[[worker]]
framework = "shop-tasks"
commands = ["shop-worker"]
queues = ["-Q"]
"""


@pytest.mark.parametrize(("queue", "is_reported"), [("mails", True), ("pictures", False)])
def test_a_block_is_all_that_a_framework_s_workers_need(tree, capsys, queue, is_reported):
    task = f"@shop_tasks.task(queue={queue!r})\ndef send():\n    os.wait()\n"
    tree(
        {
            "gblock.toml": 'extend-catalog = ["mine.toml"]\n',
            "mine.toml": WORKER,
            "Procfile": "a: shop-worker green -Q mails\nb: shop-worker jobs -Q pictures\n",
            "jobs.py": f"import os, shop_tasks\n\n\n{task}",
            "green.py": "from gevent import monkey\nmonkey.patch_all()\nimport jobs\n",
        }
    )
    main(["check", "-q", "--output-format", "concise", "jobs.py"])
    assert ("jobs.py:6:5: error[blocking-call]" in capsys.readouterr().out) is is_reported


@pytest.mark.parametrize(
    ("package", "severity"),
    [
        ("shop_client", "warning"),
        ("shop_words", "note"),  # the project's own catalog says so
        ("dateutil", "note"),
        ("numpy", "note"),  # its blockers are opt-in
        ("flask_login", "note"),
    ],
)
def test_a_package_that_waits_for_nothing_is_no_reason_to_patch(tree, package, severity):
    root = tree(
        {
            "gblock.toml": 'extend-catalog = ["mine.toml"]\n',
            "mine.toml": 'never-wait = ["shop_words"]\n' + BLOCK,
            "app.py": f"import {package}\n"
            "from flask import Flask\n"
            "from gevent.pywsgi import WSGIServer\n"
            "app = Flask(__name__)\n"
            "@app.route('/')\ndef place():\n    return 'x'\n"
            "WSGIServer(('', 80), app).serve_forever()\n",
        }
    )
    settings = load(str(root / "gblock.toml"))
    (found,) = check([str(root)], settings, min_severity="note").diagnostics
    assert ("missing-monkey-patch", severity) == (found.code, found.severity.name.lower())


def test_what_never_waits_is_a_list_of_names(tree, capsys):
    tree(
        {
            "gblock.toml": 'extend-catalog = ["mine.toml"]\n',
            "mine.toml": "never-wait = 3\n",
            "a.py": "import gevent\n",
        }
    )
    assert main(["check", "a.py"]) == 2
    assert "mine.toml" in (told := capsys.readouterr().err)
    assert "never-wait" in told
