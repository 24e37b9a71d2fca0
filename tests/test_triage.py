"""Triage never drops a file that could have a diagnostic."""

from __future__ import annotations

import pytest
from harness import check

from gblock.config import Config
from gblock.project.reading.testcode import is_test


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


def test_a_file_that_is_handed_an_object_is_kept(tmp_path):
    files = {
        "a.py": "from confluent_kafka import Producer\nimport b\nb.f(Producer({}))\n",
        "b.py": "def f(x):\n\n\n    x.flush()\n",
    }

    assert [4] == dropped(tmp_path, files)[1]


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
        ("/p/a/testing/app.py", b"", True),
        ("/p/latest/app.py", b"", False),
        ("/elsewhere/test/app.py", b"", True),
    ],
)
def test_tests_are_told_by_their_names(path, data, expected):
    assert expected == is_test(path, "/p", lambda _: data)


def test_what_a_directory_that_was_asked_about_is_called_does_not_count():
    assert not is_test("/p/tests/app.py", "/p/tests", lambda _: b"")
