"""Which calls are looked at, and how often one is told of."""

from __future__ import annotations

import pytest
from harness import assert_exactly, report_of


@pytest.mark.parametrize(
    "text",
    [
        # connect() is told of, the end of its block is not told of again
        "import psycopg2\nwith psycopg2.connect('') as c: pass  # expect: blocking-call\n",
        # in a native thread neither is
        "import gevent, psycopg2\ndef f():\n    with psycopg2.connect(''): pass\n"
        "gevent.get_hub().threadpool.apply(f)\n",
        # an object whose entering has arguments elsewhere has none here
        "import posix_ipc\nwith posix_ipc.Semaphore('a'): pass  # expect: blocking-call\n",
        "import multiprocessing\nlock = multiprocessing.Lock()\n"
        "with lock: pass  # expect: blocking-call\n",
        "import threading\nlock = threading.Lock()\nwith lock: pass\n",
        # two on one line
        "import os\nos.system(''), os.system('')  # expect: blocking-call, blocking-call\n",
        "import os\nif os: os.system('')  # expect: blocking-call\n",
        "import os\nclass A: x = os.system('')  # expect: blocking-call\n",
        "import os\nif os:\n\tos.system('')  # expect: blocking-call\n",
        "import os\nx = [\n    1,\n    os.system(''),  # expect: blocking-call\n]\n",
        "import os\nx = '''\n''', os.system('')  # expect: blocking-call\n",
        "import os\n\x0cos.system('')  # expect: blocking-call\n",
        "import os; \\\nos.system('')  # expect: blocking-call\n",
    ],
)
def test_each_call_is_told_of_once_on_its_line(tmp_path, text):
    assert_exactly(tmp_path, text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_counts(tmp_path, end):
    path = tmp_path / "service.py"
    path.write_bytes(end.join(["import os", "x = f'{os.system(1)}'", "os.system('')"]).encode())
    from harness import check

    from gblock.config import Config

    report = check([str(path)], Config(root=str(tmp_path)))

    assert [2, 3] == [d.location.row for d in report.diagnostics]


def test_a_call_begins_where_its_expression_begins(tmp_path):
    text = (
        "from confluent_kafka import Producer\n\nx = (\n    Producer({})\n    .flush(\n    )\n)\n"
    )
    (found,) = report_of(tmp_path, text).diagnostics

    assert ((4, 5), (6, 6)) == (tuple(found.location), tuple(found.end_location))


def test_columns_count_characters(tmp_path):
    (found,) = report_of(tmp_path, "import os\nä, ö = '€', os.system('ü')\n").diagnostics

    assert ((2, 13), (2, 27)) == (tuple(found.location), tuple(found.end_location))


def test_in_a_string_too(tmp_path):
    text = "import os\nx = ('a'\n     f'ä{os.system(1)} {os.getcwd()} {os.system(2)}')\n"
    found = report_of(tmp_path, text).diagnostics

    assert [(3, 10), (3, 39)] == [tuple(d.location) for d in found]


def test_calls_of_unknown_receivers_are_counted(tmp_path):
    text = (
        "from confluent_kafka import Producer\ndef f(x):\n    x.flush()\n    Producer({}).poll(0)\n"
    )
    report = report_of(tmp_path, text)

    assert report.unresolved == 1
    assert not report.diagnostics
