"""Every place that monkey patches, and what it leaves as it was."""

from __future__ import annotations

import textwrap

import pytest
from harness import CATALOG, inferring

from gblock.project.names.inference import Inference
from gblock.project.processes.patching import Patching
from gblock.project.reading.modules import Modules


@pytest.fixture(scope="module")
def blockers():
    return CATALOG


@pytest.fixture
def patches(tree, blockers):
    """The patches of a project: ``patches({"app.py": …})``, or of one file's text."""

    def find(files):
        if isinstance(files, str):
            files = {"app.py": files}
        root = tree({name: textwrap.dedent(text).lstrip("\n") for name, text in files.items()})
        paths = sorted(str(root / name) for name in files)
        return Patching(Inference(Modules(str(root), paths), blockers)).all()

    return find


def one(found):
    (patch,) = found
    return patch


def test_a_full_patch_leaves_nothing(patches):
    patch = one(patches("from gevent import monkey\nmonkey.patch_all()\n"))
    assert (2, "monkey.patch_all()", ("full",)) == (patch.row, patch.text, patch.kinds)
    assert () == patch.unpatched
    assert patch.at_import


@pytest.mark.parametrize(
    "text",
    [
        "import gevent.monkey\ngevent.monkey.patch_all()",
        "from gevent.monkey import patch_all\npatch_all()",
        "from gevent.monkey import patch_all as green\ngreen()",
        "import gevent.monkey as m\nm.patch_all()",
        "from gevent.monkey import *\npatch_all()",
        "from gevent import monkey; monkey.patch_all()",
    ],
)
def test_the_patch_is_known_by_every_name(patches, text):
    assert ("full",) == one(patches(text + "\n")).kinds


def test_arguments_that_are_off_make_it_partial(patches):
    patch = one(
        patches("from gevent import monkey\nmonkey.patch_all(thread=False, select=False)\n")
    )
    assert ("partial",) == patch.kinds
    assert ("select", "selectors", "threading") == patch.unpatched


def test_an_argument_may_be_a_constant_further_up(patches):
    patch = one(
        patches("from gevent import monkey\nOFF = False\nmonkey.patch_all(socket=OFF, os=True)\n")
    )
    assert ("dns", "socket") == patch.unpatched


def test_positional_arguments_count(patches):
    patch = one(patches("from gevent import monkey\nmonkey.patch_all(True, False)\n"))
    assert ("dns",) == patch.unpatched


def test_what_is_off_by_itself_does_not_count(patches):
    patch = one(patches("from gevent import monkey\nmonkey.patch_all(sys=False)\n"))
    assert ("full",) == patch.kinds


def test_an_argument_that_nobody_knows_is_taken_to_be_on(patches):
    text = "import os\nfrom gevent import monkey\nmonkey.patch_all(thread=os.environ.get('X'))\n"
    assert ("full",) == one(patches(text)).kinds


def test_a_single_function_patches_its_module_alone(patches):
    patch = one(patches("from gevent import monkey\nmonkey.patch_socket()\n"))
    assert ("single",) == patch.kinds
    assert {"socket", "dns"} == patch.patched


@pytest.mark.parametrize(
    ("call", "patched"),
    [
        ("patch_socket(dns=False)", {"socket"}),
        ("patch_socket(False)", {"socket"}),
        ("patch_select()", {"select"}),
        ("patch_thread()", {"threading"}),
        ("patch_dns()", {"dns"}),
    ],
)
def test_single_functions_patch_what_gevent_says(patches, call, patched):
    assert patched == one(patches(f"from gevent import monkey\nmonkey.{call}\n")).patched


@pytest.mark.parametrize(
    "text",
    [
        "for name in ('socket', 'time'):\n    getattr(monkey, 'patch_' + name)()\n",
        "NAMES = ['socket', 'time']\nfor n in NAMES:\n    getattr(monkey, f'patch_{n}')()\n",
        "for n in 'socket time'.split():\n    getattr(monkey, 'patch_%s' % n)()\n",
    ],
)
def test_functions_named_by_a_text_are_called(patches, text):
    found = patches(f"from gevent import monkey\n{text}")
    assert {"dns", "socket", "time"} == frozenset().union(*(patch.patched for patch in found))


def test_an_attribute_of_something_else_is_no_patch(patches):
    assert [] == patches("import other, gevent\ngetattr(other, 'patch_' + 'socket')()\n")


def test_a_loop_over_functions_calls_each(patches):
    found = patches(
        """
        from gevent import monkey
        for patch in [monkey.patch_socket, monkey.patch_time]:
            patch()
        """
    )
    assert [("single", "loop")] * 2 == [patch.kinds for patch in found]
    assert [{"socket", "dns"}, {"time"}] == [patch.patched for patch in found]


def test_a_patch_in_a_function_runs_later(patches):
    patch = one(patches("def start():\n    from gevent import monkey\n    monkey.patch_all()\n"))
    assert ("full", "in_function") == patch.kinds
    assert not patch.at_import


def test_a_patch_under_a_condition_is_conditional(patches):
    patch = one(
        patches(
            """
            import os
            try:
                from gevent import monkey
                if os.environ.get("GREEN"):
                    monkey.patch_all()
            except ImportError:
                pass
            """
        )
    )
    assert ("full", "conditional") == patch.kinds


def test_the_main_part_of_a_script_is_no_condition(patches):
    text = 'from gevent import monkey\nif __name__ == "__main__":\n    monkey.patch_all()\n'
    assert ("full",) == one(patches(text)).kinds


def test_a_script_without_an_ending_is_told(patches):
    found = patches({"bin/run": "#!/usr/bin/env python\nimport gevent.monkey\n"
                     "gevent.monkey.patch_all()\n"})  # fmt: skip
    assert ("full", "extensionless_script") == one(found).kinds


def test_a_call_of_a_function_that_patches_is_a_patch(patches):
    found = patches(
        {
            "green.py": "from gevent import monkey\ndef turn_green():\n    monkey.patch_all()\n",
            "app.py": "from green import turn_green\nturn_green()\n",
        }
    )
    assert [("app.py", ("full", "through_function")), ("green.py", ("full", "in_function"))] == [
        (patch.path.rpartition("/")[2], patch.kinds) for patch in found
    ]


def test_a_look_alike_is_not_gevents(patches):
    found = patches(
        {
            "_monkey.py": "def patch_all():\n    pass\n",
            "app.py": "import ddtrace\nimport _monkey\n_monkey.patch_all()\nddtrace.patch_all()\n",
        }
    )
    assert [] == found


@pytest.mark.parametrize(
    "text",
    [
        "from psycogreen.gevent import patch_psycopg\npatch_psycopg()",
        "import psycogreen.gevent\npsycogreen.gevent.patch_psycopg()",
        "from psycopg2 import extensions\nextensions.set_wait_callback(wait)",
        "import pymysql\npymysql.install_as_MySQLdb()",
        "from grpc.experimental import gevent as green\ngreen.init_gevent()",
    ],
)
def test_what_makes_a_driver_cooperative_is_found(patches, text):
    patch = one(patches(text + "\n"))
    assert ("green_driver",) == patch.kinds
    assert patch.of_driver
    assert not patch.undone


def test_taking_a_wait_callback_away_is_told(patches):
    text = "from psycopg2 import extensions\nextensions.set_wait_callback(None)\n"
    assert one(patches(text)).undone


def test_what_makes_a_driver_cooperative_is_found_in_python_2(patches):
    text = "import gevent_psycopg2\ngevent_psycopg2.monkey_patch()\nprint 'old'\n"
    assert ("green_driver",) == one(patches(text)).kinds


@pytest.mark.parametrize(
    "patching",
    [
        "from gevent.monkey import patch_all\npatch_all()",
        "import gevent.monkey as m; m.patch_all()",
    ],
)
def test_a_patch_under_any_name_is_found_in_python_2(patches, patching):
    patch = one(patches(f"{patching}\nprint 'old'\n"))
    assert ("full",) == patch.kinds


def test_what_is_no_python_is_read_as_text(patches):
    text = "from gevent import monkey\nmonkey.patch_all()\nwhat was this?\n"
    patch = one(patches(text))
    assert (2, ("full", "unparsed")) == (patch.row, patch.kinds)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("from gevent import monkey; monkey.patch_all()", ("full", "unparsed")),
        ("import os; from gevent import monkey; monkey.patch_all()", ("full", "unparsed")),
        ("    from gevent import monkey; monkey.patch_all()", ("full", "unparsed", "in_function")),
    ],
)
def test_a_patch_on_the_line_of_its_import_is_read_in_a_text(patches, line, kinds):
    patch = one(patches(f"if x:\n{line}\nwhat was this?\n"))
    assert (2, kinds, "monkey.patch_all()") == (patch.row, patch.kinds, patch.text)


@pytest.mark.parametrize(
    "line", ["# import gevent; monkey.patch_all()", "x = 'a; monkey.patch_all()'"]
)
@pytest.mark.parametrize("last", ["print 'old'", "what was this?"])
def test_a_comment_or_a_string_patches_nothing(patches, line, last):
    assert [] == patches(f"from gevent import monkey\n{line}\n{last}\n")


def test_tests_are_left_out(patches):
    assert [] == patches({"tests/test_a.py": "import gevent.monkey\ngevent.monkey.patch_all()\n"})


def test_a_file_without_a_patch_is_not_parsed(tree, blockers):
    root = tree({"app.py": "import time\n"})
    modules = Modules(str(root), [str(root / "app.py")])
    assert [] == Patching(Inference(modules, blockers)).all()
    assert not modules.is_read(str(root / "app.py"))


def test_all_patches_of_a_function_happen_where_it_is_called(patches):
    found = patches(
        """
        from gevent import monkey
        def prepare():
            monkey.patch_time()
            monkey.patch_thread()
        prepare()
        """
    )
    through = [patch for patch in found if "through_function" in patch.kinds]
    assert [{"time"}, {"threading"}] == [patch.patched for patch in through]


@pytest.mark.parametrize(
    ("call", "symbol", "kind", "missing"),
    [
        ("monkey.patch_all()", "patch_all", "full", set()),
        ("monkey.patch_all(thread=False)", "patch_all", "partial", {"threading"}),
        ("gevent.monkey.patch_all(dns=0, os=True)", "patch_all", "partial", {"dns"}),
        ("gevent.monkey.patch_thread()", "patch_thread", "single", None),
        ("monkey.patch_socket(dns=False)", "patch_socket", "single", None),
    ],
)
def test_the_patches_of_a_file_that_is_no_python_are_read_from_its_text(
    patches, call, symbol, kind, missing
):
    code = f"import gevent.monkey\nfrom gevent import monkey\n{call}\nwhat was this?\n"
    found = one(patches(code))

    assert (3, call, f"gevent.monkey.{symbol}") == (found.row, found.text, found.symbol)
    assert (kind, "unparsed") == found.kinds
    if missing is not None:
        assert missing == set(found.unpatched)
    elif symbol == "patch_socket":
        assert {"socket"} == found.patched


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ('os.environ.get("GREEN", "no") == "yes"', ("GREEN", "yes")),
        ('os.getenv("GREEN") == "1"', ("GREEN", "1")),
        ('os.environ["GREEN"].lower() == "on"', ("GREEN", "on")),
        ('os.environ.get("GREEN")', ("GREEN", None)),
        ('os.getenv("GREEN", None)', ("GREEN", None)),
        ('"GREEN" in os.environ', ("GREEN", None)),
        ('os.environ.get("GREEN", "yes")', None),
        ('os.environ.get("GREEN") != "0"', None),
        ("sys.argv[1] == 'serve'", None),
    ],
)
def test_the_variable_that_a_patch_depends_on_is_read(patches, test, expected):
    text = f"import os, sys\nfrom gevent import monkey\nif {test}:\n    monkey.patch_all()\n"

    assert expected == one(patches(text)).variable
    assert one(patches(text.replace("if ", "if not "))).variable is None


@pytest.mark.parametrize(
    ("written", "patched"),
    [
        ("from pywb.apps.frontendapp import FrontEndApp", "by the server"),
        ("from pywb.apps import frontendapp", "by the server"),
        ("from pywb.apps import (\n    cli,\n    frontendapp,\n)", "by the server"),
        ("import pywb.apps.wayback", "by the server"),
        ("import pywb.apps.live as live", "by the server"),
        ("from disco.cli import disco_main", "by the server"),
        ("import locust", "by the server"),
        ("from pywb.apps import frontendapps", "none"),
        ("import pywb.utils.loaders", "none"),
        ("# from pywb.apps import frontendapp", "none"),
        ("def late():\n    from pywb.apps import frontendapp", "none"),
    ],
)
@pytest.mark.parametrize("start", ["uwsgi.ini", "serve.py"])
def test_a_library_that_patches_when_it_is_imported(tmp_path, written, patched, start):
    from gblock.project.processes.processes import Processes

    files = {
        "uwsgi.ini": {
            "uwsgi.ini": "[uwsgi]\nmodule=wsgi\ngevent=9\n",
            "wsgi.py": f"{written}\ndef application(*_): ...\n",
        },
        "serve.py": {
            "Procfile": "web: python serve.py\n",
            "serve.py": f"{written}\nfrom gevent.pywsgi import WSGIServer\n"
            "WSGIServer(('', 80), None).serve_forever()\n",
        },
    }[start]
    started = [
        process
        for process in Processes(inferring(tmp_path, files)).all()
        if not process.name.endswith("Procfile")  # `inferring` takes it for Python
    ]

    assert {("yes", patched)} == {(one.runs_on_gevent, one.patched) for one in started}


@pytest.mark.parametrize(
    ("text", "kinds", "in_main"),
    [
        ("class A:\n    monkey.patch_all()", ("full",), False),
        ("def f():\n    class A:\n        monkey.patch_all()", ("full", "in_function"), False),
        ("run = lambda: monkey.patch_all()", ("full", "in_function"), False),
        (
            "if x:\n    run = lambda: monkey.patch_all()",
            ("full", "in_function", "conditional"),
            False,
        ),
        ("if x:\n    [monkey.patch_all() for _ in y]", ("full", "conditional"), False),
        ("if __name__ == '__main__':\n    class A:\n        monkey.patch_all()", ("full",), True),
        ("if __name__ == '__main__':\n    [monkey.patch_all() for _ in y]", ("full",), True),
        (
            "if __name__ == '__main__':\n    def f():\n        monkey.patch_all()",
            ("full", "in_function"),
            False,
        ),
        ("if __name__ == '__main__':\n    pass\nelse:\n    monkey.patch_all()", ("full",), False),
    ],
)
def test_where_a_patch_stands_decides_when_it_runs(patches, text, kinds, in_main):
    patch = one(patches(f"from gevent import monkey\n{text}\n"))

    assert (kinds, in_main) == (patch.kinds, patch.in_main)
