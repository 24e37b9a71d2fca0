"""Triage never drops a file that could have a diagnostic."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import check

from gblock.config import Config
from gblock.project.reading.testcode import is_test
from gblock.project.triage import triage


def dropped(tmp_path, files):
    """The number of files that triage dropped, and the rows reported."""
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    report = check([str(tmp_path)], config)
    return report.files_dropped, [d.location.row for d in report.diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.system('')",
        "import os as o\no.system('')",
        "import sys, os\nos.system('')",
        "from os import system\nsystem('')",
        "from os import system as s\ns('')",
        "from os import *\nsystem('')",
        "if 1: import os\nos.system('')",
        "import os; x = 1\nos . system('')",
        "import importlib\nimportlib.import_module('psycopg2').connect('')",
        "from importlib import import_module as load\nload('psycopg2').connect('')",
        "db = __import__('psycopg2')\ndb.connect('')",
    ],
)
def test_a_file_that_can_report_is_kept(tmp_path, text):
    assert (0, [2]) == dropped(tmp_path, {"a.py": text})


@pytest.mark.parametrize(
    "text", ["x = 1", "import os\nos.getcwd()", "import json\njson.loads('')", "x.system('')", ""]
)
def test_a_file_that_cannot_is_dropped(tmp_path, text):
    assert (1, []) == dropped(tmp_path, {"a.py": text})


def test_a_file_that_only_gets_an_object_is_kept(tmp_path):
    files = {
        "a.py": "from confluent_kafka import Producer\nproducer = Producer({})\n",
        "b.py": "from a import producer\n",
        "c.py": "\n\nimport b\nb.producer.flush()\n",
        "d.py": "x.flush()\n",
    }

    assert [4] == dropped(tmp_path, files)[1]


def test_a_file_with_another_package_that_returns_objects_of_a_namespace_is_kept(tmp_path):
    text = "import gevent, firebase_admin.firestore as f\ndb = f.client()\ndb.collections()\n"

    assert (0, [3]) == dropped(tmp_path, {"shop.py": text})


def test_a_file_that_is_handed_an_object_is_kept(tmp_path):
    files = {
        "a.py": "from confluent_kafka import Producer\nimport b\nb.f(Producer({}))\n",
        "b.py": "def f(x):\n\n\n    x.flush()\n",
    }

    assert [4] == dropped(tmp_path, files)[1]


MAKER = "import boto3\nstore = boto3.client('s3')\n"
USE = "from shop import store\ndef handle():\n    store.get_object()\n"


@pytest.mark.parametrize("much", [0, triage._MUCH])
@pytest.mark.parametrize(
    ("patch", "rows"),
    [("import gevent\n", [1, 3]), ("import gevent.monkey; gevent.monkey.patch_all()\n", [])],
)
def test_objects_whose_methods_have_any_name_travel_where_nothing_patches(
    tmp_path, monkeypatch, much, patch, rows
):
    monkeypatch.setattr(triage, "_MUCH", much)
    start = "import web\nif __name__ == '__main__':\n    gevent.spawn(web.handle).join()\n"
    files = {"shop.py": MAKER, "web.py": USE, "far.py": "x.get_object()\n", "app.py": patch + start}

    found = dropped(tmp_path, files)

    assert rows == found[1]
    assert found[0] >= 1


def test_a_package_that_returns_objects_with_methods_of_any_name_is_enough(tmp_path):
    text = "import gevent, boto3\ndef handle():\n    boto3.client('s3').get_object()\n"
    start = "if __name__ == '__main__':\n    gevent.spawn(handle).join()\n"

    assert (0, [1, 3]) == dropped(tmp_path, {"app.py": text + start})


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("/p/app.py", b"", False),
        ("/p/test_app.py", b"", True),
        ("/p/app_test.py", b"import pytest", True),
        ("/p/load_test.py", b"", False),
        ("/p/conftest.py", b"", True),
        ("/p/tests.py", b"", True),
        ("/p/tests/app.py", b"", True),
        ("/p/Test/app.py", b"", True),
        ("/p/a/testing/app.py", b"", True),
        ("/p/latest/app.py", b"", False),
        ("/elsewhere/test/app.py", b"", True),
    ],
)
def test_tests_are_told_by_their_names(path, data, expected):
    assert expected == is_test(path, "/p", lambda _: data)


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        ("from . import test_report\n", False),
        ("from app.pages import (\n    index,\n    test_report,\n)\n", False),
        ("from .test_report import show\n", False),
        ("import app.pages.test_report\n", False),
        ("from . import test_reports\n", True),
        ("# from . import test_report\n", True),
        ("name = 'test_report'\n", True),
    ],
)
def test_a_module_that_its_package_imports_is_no_test(tmp_path, package, expected):
    (tmp_path / "__init__.py").write_text(package)
    path = tmp_path / "test_report.py"
    read = lambda path: Path(path).read_bytes()  # noqa: E731
    assert expected == is_test(str(path), str(tmp_path), read)


def test_what_a_directory_that_was_asked_about_is_called_does_not_count():
    assert not is_test("/p/tests/app.py", "/p/tests", lambda _: b"")


IMPORTS_OF_AN_OBJECT = {
    "a name": ("from shop.bus import producer", "producer"),
    "a name in parentheses": ("from shop.bus import (\n    producer,\n)", "producer"),
    "another name": ("from shop.bus import producer as sender", "sender"),
    "a module": ("import shop.bus", "shop.bus.producer"),
    "a module by another name": ("import shop.bus as line", "line.producer"),
    "a module of a package": ("from shop import bus", "bus.producer"),
    "a sibling": ("from .bus import producer", "producer"),
    "a sibling module": ("from . import bus", "bus.producer"),
    "everything": ("from shop.bus import *", "producer"),
}


@pytest.mark.parametrize("form", IMPORTS_OF_AN_OBJECT)
@pytest.mark.parametrize("is_maker", [False, True], ids=["used elsewhere", "made elsewhere"])
def test_a_large_tree_is_followed_over_one_import(tmp_path, monkeypatch, form, is_maker):
    """An object is used in the file that imports its module, or comes from a module's function."""
    statement, name = IMPORTS_OF_AN_OBJECT[form]
    maker = "from confluent_kafka import Producer\nproducer = Producer({})\n"
    use = f"def send():\n    {name}.flush()\n"
    if is_maker:
        maker = "def producer(given):\n    given.flush()\n"
        use = f"from confluent_kafka import Producer\ndef start():\n    {name}(Producer({{}}))\n"
    files = {
        "setup.py": "",
        "shop/__init__.py": "",
        "shop/bus.py": maker,
        "shop/work.py": f"{statement}\n{use}",
        "shop/far.py": "import math\ndef other(pool):\n    pool.flush()\n",
    }
    near, _ = dropped(tmp_path, files)
    rows = dropped(tmp_path, files)[1]
    monkeypatch.setattr(triage, "_MUCH", 0)

    assert len(rows) == 1
    assert rows == dropped(tmp_path, files)[1]
    assert near <= dropped(tmp_path, files)[0]
