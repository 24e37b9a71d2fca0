"""Results of methods of texts that are known."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock.config import Config
from gblock.project.names import strings
from gblock.project.names import values as v


def literals(*given):
    return [v.literal(one) for one in given]


@pytest.mark.parametrize(
    ("text", "method", "given", "result"),
    [
        ("shop.app:create", "partition", [":"], ("shop.app", ":", "create")),
        ("shop.app.create", "rpartition", ["."], ("shop.app", ".", "create")),
        ("shop.app.create", "rsplit", [".", 1], ("shop.app", "create")),
        ("shop:app", "split", [":"], ("shop", "app")),
        (" shop ", "strip", [], "shop"),
        ("py:shop", "removeprefix", ["py:"], "shop"),
        ("shop/app", "replace", ["/", "."], "shop.app"),
    ],
)
def test_a_known_text_has_known_parts(text, method, given, result):
    (found,) = strings.result(text, method, literals(*given))
    if isinstance(result, str):
        assert result == found.value
    else:
        assert [{one} for one in result] == [{x.value for x in m} for m in found.members]


@pytest.mark.parametrize(
    ("text", "method", "given"),
    [
        ("shop", "split", [""]),  # raises
        ("shop", "partition", [1]),
        ("a.b.c.d.e.f.g.h.i.j", "split", ["."]),
        ("x" * 1_000_000, "replace", ["", "y" * 1_000_000]),
        ("", "replace", ["", "y" * 1_000_000]),
    ],
)
def test_what_raises_is_long_or_is_many_parts_is_unknown(text, method, given):
    assert v.NOTHING == strings.result(text, method, literals(*given))


def test_an_argument_that_is_no_constant_is_unknown():
    assert v.NOTHING == strings.result("a:b", "partition", [v.external("shop.SEPARATOR")])


def test_a_text_that_grows_in_a_loop_ends(tree):
    """Each turn makes it twenty times as long."""
    code = """
        import confluent_kafka
        import gevent

        def loop(name):
            while True:
                name = f"NAMES"
                kind = getattr(confluent_kafka, name, confluent_kafka.Consumer)
                kind({}).poll(1.0)

        gevent.spawn(loop, "ab")
        """
    root = tree({"app.py": textwrap.dedent(code).replace("NAMES", "{name}" * 20)})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))

    assert ["blocking-call"] == [d.code for d in check([str(root)], config).diagnostics]
