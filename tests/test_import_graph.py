"""The import graph: modules that a process can run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblock.project.reading.import_graph import ImportGraph
from gblock.project.reading.modules import Modules


@pytest.fixture
def graph(tree):
    """The import graph of a project: ``graph({"app.py": …})``."""

    def over(files):
        root = tree(files)
        return ImportGraph(Modules(str(root), sorted(str(root / name) for name in files)))

    return over


def names(graph, paths):
    return sorted(str(Path(path).relative_to(graph.modules.root)) for path in paths)


def reached(graph, *entries, **options):
    root = Path(graph.modules.root)
    found = graph.of([str(root / entry) for entry in entries], **options)
    return [name for name in names(graph, found) if name not in entries]


@pytest.mark.parametrize(
    "line",
    [
        "import pkg.mod",
        "import os, pkg.mod as other",
        "from pkg import mod",
        "from pkg import (\n    # one\n    other,\n    mod,\n)",
        "from pkg import other, \\\n    mod",
        "from pkg.mod import name",
        "import os; import pkg.mod",
        "try: import pkg.mod\nexcept ImportError: pass",
        "def f():\n    from pkg import mod",
        'CELERY_IMPORTS = ["pkg.mod"]',
        'APPLICATION = "pkg.mod:application"',
        'MIDDLEWARE = ["pkg.mod.Middleware"]',
        'importlib.import_module("pkg.mod")',
    ],
)
def test_a_module_is_reached(graph, line):
    files = {"main.py": f"{line}\n", "pkg/__init__.py": "", "pkg/mod.py": "", "unused.py": ""}
    assert ["pkg/__init__.py", "pkg/mod.py"] == reached(graph(files), "main.py")


def test_imports_are_followed_over_modules_and_end_in_circles(graph):
    files = {"a.py": "import b\n", "b.py": "import c\n", "c.py": "import a\n", "d.py": ""}
    assert ["b.py", "c.py"] == reached(graph(files), "a.py")


def test_relative_imports_are_followed(graph):
    files = {
        "p/__init__.py": "",
        "p/a.py": "from . import b\nfrom .q import c\n",
        "p/b.py": "",
        "p/q/__init__.py": "",
        "p/q/c.py": "from ..d import x\n",
        "p/d.py": "",
    }
    assert ["p/__init__.py", "p/b.py", "p/d.py", "p/q/__init__.py", "p/q/c.py"] == reached(
        graph(files), "p/a.py"
    )


def test_only_what_an_import_does_by_itself_can_be_followed(graph):
    files = {
        "main.py": "import a\ntry:\n    import b\nexcept ImportError:\n    import c\n"
        "def f():\n    if True:\n        import d\n"
        'if __name__ == "__main__":\n    import e\n',
        **{f"{name}.py": "" for name in "abcde"},
    }
    assert ["a.py", "b.py", "c.py"] == reached(graph(files), "main.py", eager=True)
    assert ["a.py", "b.py", "c.py", "d.py"] == reached(graph(files), "main.py")
    everything = reached(graph(files), "main.py", main=None)
    assert ["a.py", "b.py", "c.py", "d.py", "e.py"] == everything


@pytest.mark.parametrize(
    ("body", "call", "is_run"),
    [
        ("    import a\n", "main()", True),
        ("    import a\n", "sys.exit(main())", True),
        ("    import a\n", "raise SystemExit(main())", True),
        ("    try:\n        import a\n    except ValueError: ...\n", "main()", True),
        ("    with lock:\n        import a\n", "main()", True),
        ("    if sys.argv[1:]:\n        import a\n", "main()", False),
        ("    for _ in sys.argv:\n        import a\n", "main()", False),
        ("    import a\n", "other()", False),
        ("    import a\n", "sys.main()", False),
        ("    def inner():\n        import a\n", "main()", False),
    ],
)
def test_the_function_that_a_main_guard_calls_runs_its_imports(graph, body, call, is_run):
    files = {
        "main.py": f"import sys\ndef main():\n{body}if __name__ == '__main__':\n    {call}\n",
        "a.py": "",
    }
    assert ["a.py"] * is_run == reached(graph(files), "main.py", eager=True, main=None)
    assert [] == reached(graph(files), "main.py", eager=True)
    assert ["a.py"] == reached(graph(files), "main.py")  # a console script calls it


@pytest.mark.parametrize(
    "line",
    [
        'importlib.import_module("plugins." + name)',
        'importlib.import_module(f"plugins.{name}")',
        'importlib.import_module("plugins.%s" % name)',
        'importlib.import_module("." + name, package="plugins")',
        'path = "plugins." + name\nimportlib.import_module(path)',
    ],
)
def test_a_computed_import_reaches_the_package_that_is_told(graph, line):
    files = {"main.py": f"{line}\n", "plugins/__init__.py": "", "plugins/a.py": "", "b.py": ""}
    assert ["plugins/__init__.py", "plugins/a.py"] == reached(graph(files), "main.py")


def test_a_function_that_loads_by_name_reaches_the_package_that_it_is_given(graph):
    files = {
        "main.py": 'import_plugin("app.plugins", name)\nlogging.getLogger("app.others")\n',
        "app/__init__.py": "",
        "app/plugins/__init__.py": "",
        "app/plugins/a.py": "",
        "app/others/__init__.py": "",
        "app/others/b.py": "",
    }
    assert [
        "app/__init__.py",
        "app/others/__init__.py",
        "app/plugins/__init__.py",
        "app/plugins/a.py",
    ] == reached(graph(files), "main.py")


def test_a_package_that_looks_for_its_modules_reaches_them(graph):
    files = {
        "plugins/__init__.py": "import pkgutil\nfor x in pkgutil.iter_modules(__path__): pass\n",
        "plugins/a.py": "",
    }
    assert ["plugins/a.py"] == reached(graph(files), "plugins/__init__.py")


def test_djangos_settings_reach_what_django_imports(graph):
    files = {
        "settings.py": 'INSTALLED_APPS = ["shop.orders"]\nROOT_URLCONF = "shop.urls"\n',
        "shop/__init__.py": "",
        "shop/urls.py": "",
        "shop/orders/__init__.py": "",
        "shop/orders/models.py": "",
        "shop/orders/admin.py": "",
        "shop/orders/other.py": "",
    }
    assert [
        "shop/__init__.py",
        "shop/orders/__init__.py",
        "shop/orders/admin.py",
        "shop/orders/models.py",
        "shop/urls.py",
    ] == reached(graph(files), "settings.py")


def test_settings_reach_the_files_that_they_run_beside_them(graph):
    files = {
        "conf/settings.py": "from split_settings.tools import include, optional\n"
        'include("parts/*.py", optional("local.py"), "gone.py")\n# include("old.py")\n',
        "conf/local.py": "",
        "conf/old.py": "",
        "conf/parts/cache.py": "",
        "conf/parts/database.py": "import drivers\n",
        "conf/parts/more/other.py": "",
        "drivers.py": "",
    }
    assert [
        "conf/local.py",
        "conf/parts/cache.py",
        "conf/parts/database.py",
        "drivers.py",
    ] == reached(graph(files), "conf/settings.py", eager=True)


def test_celery_finds_tasks_by_itself(graph):
    files = {"app.py": "app.autodiscover_tasks()\n", "x/tasks.py": "", "x/other.py": ""}
    assert ["x/tasks.py"] == reached(graph(files), "app.py")


def test_a_file_name_in_a_string_is_no_module(graph):
    files = {"main.py": 'open("config.json")\nopen("config.py")\n', "config.py": ""}
    assert [] == reached(graph(files), "main.py")


def test_what_leads_to_a_module_is_known(graph):
    found = graph({"a.py": "import b\n", "b.py": "import c\n", "c.py": "", "d.py": ""})
    root = Path(found.modules.root)
    assert ["a.py", "b.py"] == names(found, found.leading_to(str(root / "c.py")))


@pytest.mark.parametrize(
    "guard",
    [
        'if __name__ == "__main__":',
        "if __name__=='__main__' :",
        'if "__main__" == __name__:',
        'if (__name__ == "__main__"):',
        'if __name__ in ("__main__", "__mp_main__"):',
        'if __name__ == "__main__" and True:',
    ],
)
def test_what_stands_below_a_main_guard_runs_only_where_the_module_is_started(graph, guard):
    found = graph(
        {
            "main.py": "import helper\n",
            "helper.py": f"{guard}\n    if True:\n        import demo\n",
            "demo.py": "",
        }
    )
    root = Path(found.modules.root)
    helper, main = str(root / "helper.py"), str(root / "main.py")

    assert ["helper.py", "main.py"] == names(found, found.of([main], main=main))
    assert ["demo.py", "helper.py"] == names(found, found.of([helper], main=helper))
    assert ["demo.py", "helper.py"] == names(found, found.of([helper], eager=True, main=helper))
    assert ["helper.py"] == names(found, found.of([helper]))
    assert ["demo.py", "helper.py"] == names(found, found.of([helper], main=None))


def test_a_file_that_is_started_by_its_path_runs_no_package(graph):
    files = {"p/__init__.py": "import q\n", "q.py": "", "p/a.py": ""}
    found = graph(files)
    path = str(Path(found.modules.root) / "p" / "a.py")

    assert ["p/a.py"] == names(found, found.of([path], main=path, as_file=True))
    assert sorted(files) == names(found, found.of([path], main=path))
    assert sorted(files) == names(found, found.of([path]))


def test_a_name_runs_the_packages_that_it_names(graph):
    files = {"__init__.py": "", "p/__init__.py": "", "p/q/__init__.py": "", "p/q/r.py": ""}
    for line in ("import p.q.r", "from p.q import r", "from p.q.r import x", "from .p.q import r"):
        found = graph({**files, "main.py": f"{line}\n"})
        wanted = sorted(files) if "from ." in line else sorted(files)[1:]
        path = str(Path(found.modules.root) / "main.py")
        reached = names(found, found.of([path], main=path, as_file=True))

        assert sorted([*wanted, "main.py"]) == reached, line


@given(st.binary(max_size=200))
def test_no_file_raises(data):
    modules = Modules("/nowhere", ["/nowhere/a.py", "/nowhere/b.py"])
    modules.give("/nowhere/a.py", data + b"\nimport b\n")
    modules.give("/nowhere/b.py", b"")
    ImportGraph(modules).of(["/nowhere/a.py"])


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        (
            '# INSTALLED_APPS = ["a"]\nx = "a.one"  # "a.two"',
            ("a/__init__.py", "a/one.py", "a/two.py"),
            ["a/__init__.py", "a/one.py"],
        ),
        (
            'INSTALLED_APPS = ["a"]',
            ("a/models/__init__.py", "a/models/order.py"),
            ["a/models/__init__.py", "a/models/order.py"],
        ),
        ('INSTALLED_APPS = ["a"]  # "b"', ("a/admin.py", "b/admin.py"), ["a/admin.py"]),
        ('include = [\n  "one",  # "two"\n  # "two",\n]', ("one.py", "two.py"), ["one.py"]),
        (
            'import_module("a." + name)',
            ("a/__init__.py", "a/b/__init__.py", "a/b/c.py", "a/d/e.py"),
            ["a/__init__.py", "a/b/__init__.py"],
        ),
        (
            'import_module(f".{name}", package="a")',
            ("a/__init__.py", "a/b.py", "c.py"),
            ["a/__init__.py", "a/b.py"],
        ),
        ('import_module(f".{name}", __package__)', ("b.py",), ["b.py"]),
        ('import_module("gone." + name)', ("b.py",), []),
    ],
)
def test_names_in_strings_lead_to_modules(graph, text, files, expected):
    assert expected == reached(
        graph({"main.py": f"{text}\n", **dict.fromkeys(files, "")}), "main.py"
    )


def test_a_string_of_another_package_may_be_data(graph):
    files = {"a/__init__.py": 'RUN = "b.one:main"\n', "b/__init__.py": "", "b/one.py": ""}

    assert ["b/__init__.py", "b/one.py"] == reached(graph(files), "a/__init__.py")
    assert [] == reached(graph(files), "a/__init__.py", data=False)


def test_files_are_beside_one_another_if_a_program_leads_to_both(graph):
    files = {
        "main.py": "import a\ndef late():\n    import c\n",
        "a.py": "import b\n",
        "b.py": "",
        "c.py": "",
        "apart.py": "import c\n",
    }
    found = graph(files)
    root = Path(found.modules.root)

    assert ["a.py", "b.py", "c.py", "main.py"] == names(found, found.beside(str(root / "b.py")))
    assert [*sorted(files)] == names(found, found.beside(str(root / "c.py")))
