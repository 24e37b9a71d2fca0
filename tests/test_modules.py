"""Resolution of imports, and problems of unreadable files."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.project.reading.contents import content
from gblock.project.reading.modules import Modules
from gblock.project.reading.positions import excerpt
from gblock.project.reading.testcode import is_stand_in

FILES = [
    "app/__init__.py",
    "app/a.py",
    "app/sub/__init__.py",
    "app/sub/b.py",
    "app/names/c.py",
    "main.py",
    "src/lib/__init__.py",
    "src/lib/d.py",
    "python/deep/pkg/__init__.py",
    "python/deep/pkg/e.py",
    "os.py",
    "one/x/f.py",
    "two/x/f.py",
    "app.d/g.py",
    "bin/serve.py",
    "web/shop_web.py",
    "one/twice_here.py",
    "two/twice_here.py",
]


@pytest.fixture
def modules(tmp_path):
    paths = [str(tmp_path / name) for name in FILES]
    return Modules(str(tmp_path), paths)


@pytest.mark.parametrize(
    ("expected", "module", "level", "importer"),
    [
        ("app/__init__.py", "app", 0, "main.py"),
        ("app/a.py", "app.a", 0, "main.py"),
        ("app/sub/b.py", "app.sub.b", 0, "app/a.py"),
        ("app/names", "app.names", 0, "main.py"),
        ("app/names/c.py", "app.names.c", 0, "main.py"),
        ("app/a.py", "a", 1, "app/__init__.py"),
        ("app/__init__.py", "", 1, "app/a.py"),
        ("app/__init__.py", "", 2, "app/sub/b.py"),
        ("app/a.py", "a", 2, "app/sub/b.py"),
        (None, "missing", 1, "app/a.py"),
        ("src/lib/d.py", "lib.d", 0, "main.py"),
        ("python/deep/pkg/e.py", "pkg.e", 0, "main.py"),
        (None, "e", 0, "main.py"),
        (None, "x.f", 0, "main.py"),
        ("one/x/f.py", "x.f", 0, "one/other.py"),
        (None, "json", 0, "main.py"),
        ("os.py", "os", 0, "main.py"),
        (None, "requests", 0, "main.py"),
        ("web/shop_web.py", "shop_web", 0, "bin/serve.py"),
        (None, "serve", 0, "main.py"),
        (None, "twice_here", 0, "main.py"),
        (None, "_e", 0, "main.py"),
    ],
)
def test_an_import_means_a_file(modules, expected, module, level, importer):
    path = modules.resolve(module, level, os.path.join(modules.root, importer))

    assert expected == (path and os.path.relpath(path, modules.root))


def test_sources_can_be_named(tmp_path):
    path = str(tmp_path / "backend" / "svc.py")
    modules = Modules(str(tmp_path), [path], ("backend",))

    assert path == modules.resolve("svc", 0, str(tmp_path / "main.py"))


@pytest.mark.parametrize(
    ("content", "message", "place"),
    [
        (b"def f(:\n", "cannot be parsed", (1, 7)),
        (b"x = 1\0", "null bytes", None),
        (b"(" * 5000 + b")" * 5000, "", None),
    ],
)
def test_a_file_that_cannot_be_parsed_is_a_problem(tmp_path, content, message, place):
    path = tmp_path / "a.py"
    path.write_bytes(content)
    modules = Modules(str(tmp_path), [str(path)])

    assert not modules.parses(str(path))
    assert [] == modules.summary(str(path)).calls
    assert not modules.compiles(str(path))
    found, where, kind = modules.problems[str(path)]
    assert message in found
    assert kind == "invalid"
    if place:
        assert place == where


def test_a_file_in_another_encoding_is_a_problem(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"# fine\n\nx = '\xe9'\n")
    modules = Modules(str(tmp_path), [str(path)])

    assert modules.text(str(path)) is None
    message, place, _ = modules.problems[str(path)]
    assert "is not utf-8" in message
    assert place == (3, 1)


def test_a_file_that_is_gone_is_a_problem(tmp_path):
    modules = Modules(str(tmp_path), [str(tmp_path / "a.py")])

    assert b"" == modules.data(str(tmp_path / "a.py"))
    assert "cannot be read" in modules.problems[str(tmp_path / "a.py")][0]


def test_bytes_can_be_given(tmp_path):
    modules = Modules(str(tmp_path), [])
    modules.give(str(tmp_path / "a.py"), b"x = 1")

    assert "x" in modules.summary(str(tmp_path / "a.py")).scopes[0].bindings
    assert modules.text(str(tmp_path / "a.py")) == "x = 1"
    assert modules.compiles(str(tmp_path / "a.py"))


def test_the_files_that_mention_a_word_are_the_same_by_their_words_and_by_their_text(
    tmp_path, monkeypatch
):
    files = {
        "a.py": b"word other_word",
        "b.py": b"sword",
        "tests/test_c.py": b"word",
        "d.py": b"(word)",
        "e.py": "wordé = 1".encode(),
        "f.py": b"wor d w.ord WORD",
        "g.py": b"",
    }
    asked = ("word", "ord", "other_word", "r_w", "wor", "w.ord", "é", "absent", "")
    by_text = Modules(str(tmp_path), [])
    by_words = Modules(str(tmp_path), [])
    for name, data in files.items():
        by_text.give(str(tmp_path / name), data)
        by_words.give(str(tmp_path / name), data)

    def found(modules):
        return {(w, t): modules.mentioning(w, tests=t) for w in asked for t in (False, True)}

    monkeypatch.setattr("gblock.project.reading.word_index._SCANS", 1000)
    expected = found(by_text)
    monkeypatch.setattr("gblock.project.reading.word_index._SCANS", -1)
    assert found(by_words) == expected
    names = [Path(path).name for path in expected["word", True]]
    assert names == ["a.py", "b.py", "test_c.py", "d.py", "e.py"]
    assert "test_c.py" not in [Path(path).name for path in expected["word", False]]
    for modules in (by_text, by_words):
        whole = modules.mentioning("word", tests=True, whole=True)
        assert [Path(path).name for path in whole] == ["a.py", "test_c.py", "d.py"]
        assert [Path(path).name for path in modules.mentioning("ord", whole=True)] == ["f.py"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"import ldap\n", None),
        (b"if True:\n    from ldap.filter import escape\n", None),
        (b"import ldap3\n", "app/auth/ldap.py"),
        (b"", "app/auth/ldap.py"),
    ],
)
def test_no_module_imports_itself(tmp_path, content, expected):
    files = {"app/__init__.py": b"", "app/auth/__init__.py": b"", "app/auth/ldap.py": content}
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    modules = Modules(str(tmp_path), [str(tmp_path / name) for name in files])
    path = modules.resolve("ldap", 0, str(tmp_path / "app/auth/other.py"))
    assert expected == (path and os.path.relpath(path, tmp_path))


@pytest.mark.parametrize(
    "filters", [pytest.param((), marks=pytest.mark.live), ("-W", "error")], ids=["default", "error"]
)
def test_a_check_says_nothing_of_python_s_warnings_about_the_code(filters, tree):
    text = """
        import confluent_kafka
        import gevent

        def work():
            confluent_kafka.Consumer({"x": "\\."}).poll(5)

        gevent.spawn(work).join()
        """
    root = tree({"app.py": textwrap.dedent(text)})
    run = subprocess.run(
        [sys.executable, *filters, "-m", "gblock", "check", "--no-cache", "-q", "."],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "" == run.stderr
    assert "blocking-call" in run.stdout


@pytest.mark.parametrize(
    ("more", "is_found"),
    [
        ({}, True),
        ({"other.py": b"from shop.orders import views\n"}, False),
        ({"conf.py": b'SETTINGS = "shop.wsgi"\n'}, False),
        ({"conf.py": b'LOG = "shop.log"\n'}, True),
        ({"shop/tasks.py": b"from .orders import views\n"}, False),
        ({"shop/orders/tasks.py": b"from .views import place\n"}, True),
    ],
    ids=["bare", "imported", "named", "a file's name", "relative", "relative below"],
)
def test_a_program_may_start_in_a_package(tmp_path, more, is_found):
    """``shop/__init__.py`` exists, but ``shop`` is the directory in which the program starts."""
    files = {
        "shop/__init__.py": b"",
        "shop/wsgi.py": b"import orders\n",
        "shop/prices/__init__.py": b"",
        "shop/prices/tax.py": b"",
        "shop/orders/__init__.py": b"from orders.views import place\n",
        "shop/orders/views.py": b"import prices.tax\n",
        **more,
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    modules = Modules(str(tmp_path), [str(tmp_path / name) for name in files])
    found = modules.resolve("prices", 0, str(tmp_path / "shop/orders/views.py"))
    assert (str(tmp_path / "shop/prices/__init__.py") if is_found else None) == found
    own = modules.resolve("orders.views", 0, str(tmp_path / "shop/wsgi.py"))
    assert str(tmp_path / "shop/orders/views.py") == own


@pytest.mark.parametrize(
    ("added", "is_found"),
    [
        ('sys.path.insert(0, os.path.join(BASE_DIR, "apps"))', True),
        ('sys.path.append(str(BASE_DIR / "apps"))', True),
        ('sys.path.insert(0, root("../apps"))', True),
        ('APPS = BASE_DIR + "/apps"\nsys.path.insert(0, APPS)', True),
        ('sys.path.insert(\n    0,\n    os.path.join(BASE_DIR, "shop", "apps"),\n)', True),
        ("sys.path.insert(0, BASE_DIR)", False),
        ('sys.path.insert(0, os.path.join(BASE_DIR, "other"))', False),
        ('print("sys.path"); os.path.join(BASE_DIR, "apps")', False),
        ("", False),
    ],
)
def test_code_adds_directories_to_the_search_path(tmp_path, added, is_found):
    wanted = tmp_path / "shop" / "apps" / "orders" / "urls.py"
    files = {
        tmp_path / "shop" / "__init__.py": "",
        tmp_path / "shop" / "urls.py": "import orders.urls\n",
        tmp_path / "shop" / "settings" / "__init__.py": "",
        tmp_path / "shop" / "settings" / "base.py": f"import os, sys\nBASE_DIR = ''\n{added}\n",
        tmp_path / "shop" / "apps" / "__init__.py": "",
        tmp_path / "shop" / "apps" / "orders" / "__init__.py": "",
        wanted: "",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = Modules(str(tmp_path), [str(one) for one in files])
    importer = str(tmp_path / "shop" / "urls.py")

    assert (str(wanted) if is_found else None) == found.resolve("orders.urls", 0, importer)


PATHS = [
    "/up/top/shop/__init__.py",
    "/up/top/shop/orders/__init__.py",
    "/up/top/shop/orders/views.py",
    "/up/top/shop/settings.py",
    "/up/top/tests/test_orders.py",
    "/up/top/apps/names/deep.py",
    "/up/top/mainly.py",
    "/up/libs/common.py",
]
TEXTS = [
    b"",
    b"import gevent\n" * 3,
    b"import orders.views\nimport shop\n",
    b'import sys\nsys.path.insert(0, "apps")\n',
    b"from .orders import views\nimport pytest\n\ndef test_it(): assert views\n",
    b"word other_word sys.path\n" * 9,
]
ASKED = ("word", "other", "gevent", "sys.path", "shop", "orders", "")
IMPORTED = ("orders.views", "shop.orders", "names", "names.deep", "shop", "common", "views")
STEPS = st.one_of(
    st.tuples(st.just("change"), st.sampled_from(PATHS), st.sampled_from(TEXTS)),
    st.tuples(st.just("give"), st.sampled_from(PATHS), st.sampled_from(TEXTS)),
    st.tuples(st.just("add"), st.sampled_from(PATHS), st.just(b"")),
    st.tuples(st.just("serve"), st.sampled_from(PATHS), st.just(b"")),
    st.tuples(st.just("belong"), st.sampled_from(("/up", "/up/top")), st.just(b"")),
    st.tuples(st.just("ask"), st.sampled_from(("words", "imports", "rest")), st.just(b"")),
)


def answers(modules, kind=""):
    """All answers of modules, or one kind of it."""
    found = {}
    if kind in ("", "words"):
        for word in ASKED:
            for tests in (False, True):
                for whole in (False, True):
                    known = modules.mentioning(word, tests=tests, whole=whole)
                    found[word, tests, whole] = list(known)
    if kind in ("", "imports"):
        for path in PATHS:
            for name in IMPORTED:
                found[path, name] = modules.resolve(name, 0, path)
            found[path] = modules.inside(os.path.dirname(path), "orders"), modules.is_module(path)
    if kind in ("", "rest"):
        found["rest"] = list(modules.serving), modules.size, modules.is_frugal
        known = [path for path in modules.files if modules.is_module(path)]
        found["scopes"] = [len(modules.summary(path).scopes) for path in known]
    return found


@settings(max_examples=examples(150), deadline=None)
@given(
    first=st.lists(st.sampled_from(PATHS), unique=True, min_size=1),
    steps=st.lists(STEPS, max_size=12),
    scans=st.sampled_from((-1, 25)),
)
def test_what_is_asked_before_a_change_does_not_alter_the_answers_after_it(first, steps, scans):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gblock.project.reading.word_index._SCANS", scans)
        patch.setattr("gblock.project.reading.modules._HUGE", 150)
        patch.setattr("gblock.project.reading.modules._read", lambda path: TEXTS[2])
        patch.setattr("os.path.getsize", lambda path: len(TEXTS[2]))
        asked, silent = (Modules("/up/top", list(first)) for _ in range(2))
        for step, path, data in steps:
            if step == "ask":
                answers(asked, path)
                continue
            for modules in (asked, silent):
                if step == "belong":
                    modules.belong("/up/top", path)
                elif step == "serve":
                    modules.service |= {path}
                elif step == "add":
                    modules.add(path)
                elif step == "give" or modules.is_module(path):
                    getattr(modules, step)(path, data)
        assert answers(asked) == answers(silent)


def test_the_content_of_a_file_that_is_large_or_gone_is_empty(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("gevent\n")

    assert b"gevent\n" == content(str(path)) == content(str(path), 7)
    assert b"" == content(str(path), 6)
    assert b"" == content(str(tmp_path / "gone.txt"))
    assert b"" == content(str(tmp_path))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((1, 4, 1, 7), "f()"),
        ((1, 4, 2, 3), "f() c"),
        ((2, 2, 2, 0), "c )"),
        ((9, 0, 9, 1), ""),
    ],
)
def test_an_excerpt_is_one_line(place, expected):
    assert expected == excerpt(b"a = f()\n  c )", *place)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("settings_local.py", True),
        ("settings/dev/database.py", True),
        ("dev/database.py", False),
        ("settings/production.py", False),
        ("tests/settings.py", True),
        ("compose.ci.yml", True),
        ("latest.py", False),
    ],
)
def test_a_path_shows_settings_for_tests_or_development(name, expected):
    assert expected == is_stand_in(f"/shop/{name}", "/shop")
