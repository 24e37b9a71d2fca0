"""Durations of waits, from the arguments of calls."""

from __future__ import annotations

import msgspec
import pytest
from harness import assert_exactly, check, inferring

from gblock.catalog import load
from gblock.catalog.blockers import Blocker
from gblock.config import Config
from gblock.project.calls.arguments import BRIEF, FOREVER, IMMEDIATE, UNKNOWN, Wait, wait
from gblock.project.names.places import Place

HEAD = "import a, flags\nFLAG = a.NB\nZERO = 0\nif x: MAYBE = 0\nelse: MAYBE = 5\n"


def waits(tmp_path, call, timeout=None, unless=(), only=()):
    block = {
        "id": "x",
        "distribution": "x",
        "symbols": ("a.wait",),
        "kind": "waits",
        "level": "error",
        "why": "w",
        "instead": "i",
        "evidence": {},
        "unless": list(unless),
        "only": list(only),
    }
    if timeout is not None:
        block["timeout"] = timeout
    inference = inferring(tmp_path, {"main.py": f"{HEAD}{call}"})
    summary = inference.modules.summary(str(tmp_path / "main.py"))
    found = next(
        c for c in summary.calls if c.node == "call" and c.expression.callee == ("name", "f")
    )
    place = Place(summary.filename, found.scope, found.path)
    return wait(msgspec.convert(block, Blocker), found.expression, place, inference)


SECONDS = {"position": 0, "keyword": "timeout"}


@pytest.mark.parametrize(
    ("expected", "call"),
    [
        (FOREVER, "f()"),
        (FOREVER, "f(None)"),
        (FOREVER, "f(-1)"),
        (FOREVER, "f(timeout=-1)"),
        (FOREVER, "f(other=1)"),
        (IMMEDIATE, "f(0)"),
        (IMMEDIATE, "f(0.0)"),
        (IMMEDIATE, "f(timeout=0)"),
        (IMMEDIATE, "f(ZERO)"),
        (IMMEDIATE, "f(False)"),
        (Wait(seconds=2.5), "f(2.5)"),
        (Wait(seconds=5.0), "f(MAYBE)"),
        (Wait(seconds=5.0), "f(int(5))"),
        (UNKNOWN, "f(unknown)"),
        (UNKNOWN, "f(a.b)"),
        (UNKNOWN, "f('5')"),
        (UNKNOWN, "f(*args)"),
        (UNKNOWN, "f(**kwargs)"),
        (UNKNOWN, "f(timeout=unknown)"),
    ],
)
def test_a_timeout_bounds_the_wait(tmp_path, expected, call):
    assert expected == waits(tmp_path, call, SECONDS)


@pytest.mark.parametrize(
    ("expected", "call", "timeout"),
    [
        (Wait(seconds=2.0), "f(2000)", {"position": 0, "unit": "ms"}),
        (Wait(seconds=3.0), "f()", {"position": 0, "default": 3}),
        (IMMEDIATE, "f()", {"position": 0, "default": 0}),
        (FOREVER, "f()", {"position": 0, "default": -1}),
        (IMMEDIATE, "f(-1)", {"position": 0, "negative": "immediate"}),
        (IMMEDIATE, "f(None)", {"position": 0, "none": "immediate"}),
        (IMMEDIATE, "f(0.0001)", {"position": 0, "minimum": 0.001}),
        (UNKNOWN, "f(3)", None),
    ],
)
def test_what_a_number_means_is_the_catalogs_to_say(tmp_path, expected, call, timeout):
    assert expected == waits(tmp_path, call, timeout)


BLOCK = {"position": 1, "keyword": "block", "default": True, "values": [False]}
WRITE = {"position": 1, "keyword": "write", "default": False, "values": [False]}
FLAGS = {"position": 0, "keyword": "flags", "flags": ["a.NB"]}
SIZE = {"position": 0, "keyword": "size", "at_most": 100}


@pytest.mark.parametrize(
    ("excused", "call", "condition"),
    [
        (True, "f(1, False)", BLOCK),
        (True, "f(block=False)", BLOCK),
        (False, "f(1, 0)", BLOCK),
        (False, "f()", BLOCK),
        (False, "f(1, True)", BLOCK),
        (False, "f(1, unknown)", BLOCK),
        (False, "f(*args)", BLOCK),
        (True, "f()", WRITE),
        (False, "f(*args)", WRITE),
        (False, "f(**kwargs)", WRITE),
        (False, "f(1, True)", WRITE),
        (True, "f(a.NB)", FLAGS),
        (True, "f(FLAG)", FLAGS),
        (True, "f(a.EX | a.NB)", FLAGS),
        (True, "f(a.EX | (unknown | FLAG))", FLAGS),
        (True, "f(flags=2 | a.NB)", FLAGS),
        (True, "g = a.EX\ng |= a.NB\nf(g)", FLAGS),
        (True, "g = a.EX | a.NB\nf(g)", FLAGS),
        (True, "if g & a.NB:\n    f(g)", FLAGS),
        (True, "def h(g):\n    if g & a.NB:\n        f(g)", FLAGS),
        (False, "def h(g):\n    if g & a.NB:\n        pass\n    else:\n        f(g)", FLAGS),
        (False, "if x & a.NB:\n    f(g)", FLAGS),
        (False, "g = a.EX\nif x:\n    g |= a.NB\nf(g)", FLAGS),
        (False, "f(a.EX)", FLAGS),
        (False, "f(a.EX & a.NB)", FLAGS),
        (False, "f(a.NB if x else a.EX)", FLAGS),
        (False, "f(g())", FLAGS),
        (False, "f()", FLAGS),
        (True, "f(6)", {**FLAGS, "mask": 4}),
        (True, "n = 4\nf(n)", {**FLAGS, "mask": 4}),
        (True, "f(a.NB)", {**FLAGS, "mask": 4}),
        (False, "f(2)", {**FLAGS, "mask": 4}),
        (False, "f('6')", {**FLAGS, "mask": 4}),
        (False, "f(6)", FLAGS),
        (True, "f(100)", SIZE),
        (True, "f((10, 10))", SIZE),
        (True, "N = 10\nf(size=(N, N))", SIZE),
        (True, "S = (10, 10)\nf(S)", SIZE),
        (True, "f((10 if x else 5, 10))", SIZE),
        (False, "f(101)", SIZE),
        (False, "f((10, 11))", SIZE),
        (False, "f((10, unknown))", SIZE),
        (False, "f((10 if x else unknown, 10))", SIZE),
        (False, "f((10 if x else 50, 10))", SIZE),
        (False, "f((10, 10) if x else unknown)", SIZE),
        (False, "f((10, '1'))", SIZE),
    ],
)
def test_an_argument_can_make_a_call_immediate(tmp_path, excused, call, condition):
    assert (IMMEDIATE if excused else UNKNOWN) == waits(tmp_path, call, unless=[condition])


@pytest.mark.parametrize(
    "text",
    [
        "import fcntl\nfcntl.flock(f, 6)\n",
        "import fcntl\nfcntl.lockf(f, 2 | 4)\n",
        "import fcntl\nfcntl.lockf(f, fcntl.LOCK_EX | 4)\n",
        "import fcntl\nMODE = 6\nfcntl.flock(f, MODE)\n",
        "import fcntl\nfcntl.flock(f, 8)\n",
        "import fcntl\nfcntl.flock(f, 2)  # expect: blocking-call\n",
        "import fcntl\nfcntl.flock(f, 0)  # expect: blocking-call\n",
        "import fcntl\nfcntl.flock(f, '6')  # expect: blocking-call\n",
        "import os\nos.wait3(1)\n",
        "import os\nos.wait3(0)  # expect: blocking-call\n",
        "import zmq\ns = zmq.Context().socket(1)\ns.recv(1)\n",
        "import zmq\ns = zmq.Context().socket(1)\ns.recv(flags=1)\n",
        "import zmq\ns = zmq.Context().socket(1)\ns.send(b'', 1 | zmq.SNDMORE)\n",
        "import zmq\ns = zmq.Context().socket(1)\ns.recv(2)  # expect: blocking-call\n",
        "import zmq\nfrom zmq import green\ns = zmq.Context().socket(1)\ns.recv(green.NOBLOCK)\n",
        "import zmq\nimport zmq.green as g\ns = zmq.Socket(1, 2)\ns.recv(g.DONTWAIT | g.SNDMORE)\n",
        "import zmq\nimport zmq.green as g\ns = zmq.Socket(1, 2)\ns.recv(g.Flag.DONTWAIT)\n",
        "import sqlite3\nsqlite3.connect('a', timeout=0).execute('')\n",
        "import sqlite3\nsqlite3.connect('a', 0.0).execute('')\n",
        "import sqlite3\nsqlite3.connect('a', timeout=1).execute('')  # expect: blocking-call\n",
        "import sqlite3\nsqlite3.connect('a').execute('')  # expect: blocking-call\n",
    ],
)
def test_a_flag_can_be_a_number_or_a_constant_of_another_module(tmp_path, text):
    assert_exactly(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from multiprocessing import Event\n"
        "else:\n    from gevent.event import Event\ne = Event()\ne.wait()\n",
        "import typing\nif typing.TYPE_CHECKING:\n    from multiprocessing import Event\n"
        "try:\n    from gevent.event import Event\nexcept ValueError:\n    pass\nEvent().wait()\n",
        "from typing import TYPE_CHECKING\nfrom gevent.event import Event\nimport multiprocessing\n"
        "e = Event()\nif TYPE_CHECKING:\n    e: multiprocessing.synchronize.Event\ne.wait()\n",
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from confluent_kafka import Producer\n"
        "def f(p: 'Producer'):\n    p.flush()  # expect: blocking-call\n",
    ],
)
def test_what_only_a_type_checker_sees_gives_way_to_what_runs(tmp_path, text):
    assert_exactly(tmp_path, text)


@pytest.mark.parametrize(
    ("connection", "waits"),
    [
        ("con", True),
        ("shop.con", True),
        ("shop._con", True),
        ("None", False),
        ("engine", False),
        ("con if x else engine", False),
    ],
)
def test_a_class_is_demanded_of_what_is_not_none(tmp_path, connection, waits):
    assert_exactly(
        tmp_path,
        "import pandas\nimport psycopg2\nfrom sqlalchemy import create_engine\n"
        "class Shop:\n"
        "    def __init__(self): self._con = None\n"
        "    @property\n"
        "    def con(self):\n"
        "        if self._con is None:\n"
        "            self._con = psycopg2.connect('')  # expect: blocking-call\n"
        "        return self._con\n"
        "shop, engine = Shop(), create_engine('')\n"
        "def f(x, con: psycopg2.extensions.connection):\n"
        f"    pandas.read_sql('', {connection}){'  # expect: blocking-call' if waits else ''}\n",
    )


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("'/dev/input/event0'", True),
        ("'/dev/input/event%d' % n", True),
        ("f'/dev/ttyUSB{n}'", True),
        ("DEVICE", True),
        ("'/dev/urandom'", False),
        ("'/dev/null'", False),
        ("'/home/dev/tty'", False),
        ("n", False),
    ],
)
@pytest.mark.parametrize(
    "read", ["fh.read(24)", "[fh.read(1) for one in DEVICE]", "iter(fh.readline, '')"]
)
def test_the_name_of_a_file_says_that_it_is_a_device(tmp_path, name, waits, read):
    text = (
        "DEVICE = '/dev/hidraw0'\n"
        f"def f(n):\n    with open({name}, 'rb') as fh:\n        print({read})\n"
    )
    (tmp_path / "service.py").write_text(text, encoding="utf-8")
    config = Config(root=str(tmp_path), select=("device-file-read",))

    found = [one.blocker for one in check([str(tmp_path)], config).diagnostics]
    assert ["device-file-read"] * waits == found


ROUTES = {
    "global": (
        "limit = {known}\ndef set_limit():\n    global limit\n    limit = {other}\n",
        "limit",
    ),
    "branch": ("limit = {known}\nif x: limit = {other}\n", "limit"),
    "conditional expression": ("limit = {known} if x else {other}\n", "limit"),
    "parameter": ("", "limit"),
    "keyword": ("", "keyword"),
    "attribute": (
        "class A:\n    limit = {known}\n    def set(self): self.limit = {other}\na = A()\n",
        "a.limit",
    ),
    "constructor": (
        "class A:\n    def __init__(self, limit={known}):\n        self.limit = limit\n"
        "a, b = A(), A({other})\n",
        "A(0).limit",
    ),
    "assignment": ("first = {known}\nif x: first = {other}\nsecond = first\n", "second"),
}


def arriving(route, known, other):
    """A module in which a number reaches the call on two ways, and the call."""
    head, argument = ROUTES[route]
    if route in ("parameter", "keyword"):
        passed = other if route == "parameter" else f"{argument}={other}"
        return f"def g({argument}={known}):\n    f({argument})\ng()\ng({passed})\n"
    return f"{head.format(known=known, other=other)}f({argument})"


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("known", "other", "expected"),
    [
        ("0", "unknown()", UNKNOWN),
        ("None", "float(input())", UNKNOWN),
        ("5", "unknown()", UNKNOWN),
        ("0", "int(unknown())", UNKNOWN),
        ("0", "{'a': unknown()}.get('a', 5)", UNKNOWN),
        ("0", "getattr(unknown(), 'a', 5)", UNKNOWN),
        ("0", "0", IMMEDIATE),
        ("0", "int(5)", Wait(seconds=5.0)),
        ("0", "{'a': 5}.get('a', 0)", Wait(seconds=5.0)),
        ("0", "5", Wait(seconds=5.0)),
    ],
)
def test_one_unknown_definition_makes_the_wait_unknown(tmp_path, route, known, other, expected):
    assert waits(tmp_path, arriving(route, known, other), SECONDS) == expected


@pytest.mark.parametrize("other", ["unknown()", "0"])
def test_an_imported_number_is_known_only_with_all_its_definitions(tmp_path, other):
    settings = f"LIMIT = 0\ndef configure():\n    global LIMIT\n    LIMIT = {other}\n"
    files = {"settings.py": settings, "main.py": "from settings import LIMIT\nf(LIMIT)"}
    inference = inferring(tmp_path, files)
    summary = inference.modules.summary(str(tmp_path / "main.py"))
    call = next(c for c in summary.calls if c.expression.callee == ("name", "f"))
    place = Place(summary.filename, call.scope, call.path)
    argument = call.expression.positional[0]
    assert inference.certainty.is_complete(argument, place) == (other == "0")


ADDRESS = {"position": 0, "keyword": "file", "prefixes": ["rtsp:", "http:"]}


@pytest.mark.parametrize(
    ("expected", "call"),
    [
        (UNKNOWN, "f('rtsp://camera/1')"),
        (UNKNOWN, "f('rtsp://camera/' + name)"),
        (UNKNOWN, "f(file='http://camera/%s' % name)"),
        (UNKNOWN, "f(f'http://camera/{name}')"),
        (IMMEDIATE, "f('/srv/http:/a.mp4')"),
        (IMMEDIATE, "f(name)"),
        (IMMEDIATE, "f()"),
    ],
)
def test_what_waits_only_with_some_arguments_is_known_by_them(tmp_path, expected, call):
    assert waits(tmp_path, call, only=[ADDRESS]) == expected


EXTENSION = {
    "position": 1,
    "keyword": "format",
    "default": "JPEG",
    "values": ["JPEG", "JPG"],
    "extension_of": {"position": 0, "keyword": "fp"},
}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('f("x.jpg")', IMMEDIATE),
        ('f("x.JPEG")', IMMEDIATE),
        ('f("x")', IMMEDIATE),
        ('f(fp="x.jpg", quality=90)', IMMEDIATE),
        ('f("x.png", "JPEG")', IMMEDIATE),
        ("f(buffer)", IMMEDIATE),
        ('f("v1.0/" + name)', IMMEDIATE),
        ('f(os.path.join(folder, "x.jpg"))', IMMEDIATE),
        ('f(f"{folder}/x.jpg")', IMMEDIATE),
        ('f("x.png")', UNKNOWN),
        ('f(fp="x.png")', UNKNOWN),
        ('f("x.png", quality=90)', UNKNOWN),
        ('f("x.jpg", "PNG")', UNKNOWN),
        ('f(f"{name}.png")', UNKNOWN),
        ('f(name + ".png")', UNKNOWN),
        ('f("%s.png" % name)', UNKNOWN),
        ('f("{}.png".format(name))', UNKNOWN),
        ('f(os.path.join(folder, name + ".png"))', UNKNOWN),
        ('f(Path("x.png"))', UNKNOWN),
        ('target = f"{name}.png"; f(target)', UNKNOWN),
        ("f(*args)", UNKNOWN),
        ("f(buffer, **options)", UNKNOWN),
    ],
)
def test_the_extension_of_a_file_stands_for_a_missing_argument(tmp_path, call, expected):
    assert expected == waits(tmp_path, f"{call}\n", unless=[EXTENSION])


@pytest.mark.parametrize(
    ("kept", "command"),
    [
        (True, "'run.sh'"),
        (True, "a.command"),
        (True, "'rm -rf ' + a.path"),
        (True, "f'chmod -R 777 {a.path}'"),
        (True, "'ls; run.sh'"),
        (True, "'tail -f %s' % a.path"),
        (True, "'lsof'"),
        (True, "'cp a b'"),
        (True, "'make && run'"),
        (BRIEF, "'ls'"),
        (BRIEF, "'ls %s > /dev/null' % a.path"),
        (BRIEF, "f'chmod 777 {a.path}'"),
        (BRIEF, "'sudo killall -9 {}'.format(a.name)"),
        (BRIEF, "'rm ' + a.path"),
        (BRIEF, "'stty -echo'"),
        (IMMEDIATE, "'run.sh &'"),
        (IMMEDIATE, "'cd %s; run.sh %s & ' % (a.path, a.name)"),
        (IMMEDIATE, "a.command + ' &'"),
    ],
)
def test_a_shell_waits_for_what_its_command_names(tmp_path, kept, command):
    blocker = load().by_id["os-system"]
    inference = inferring(tmp_path, {"main.py": f"import a, os\nos.system({command})\n"})
    (call,) = (
        one
        for one in inference.modules.summary(str(tmp_path / "main.py")).calls
        if one.node == "call" and ("system" in str(one.expression.callee))
    )
    place = Place(str(tmp_path / "main.py"), call.scope, call.path)
    found = wait(blocker, call.expression, place, inference)
    assert (UNKNOWN if kept is True else kept) == found
