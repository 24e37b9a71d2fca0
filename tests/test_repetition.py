"""Loops that make a cheap call costly."""

from __future__ import annotations

import pytest
from harness import assert_exactly, assert_project, check

from gblock.config import Config

HEAD = "import gevent, time, uuid\nfrom uuid import uuid4\n"


@pytest.mark.parametrize(
    "text",
    [
        "for x in xs:\n    uuid4()  # !\n",
        "while x:\n    uuid4()  # !\n",
        "while uuid4():  # !\n    pass\n",
        "while True:\n    if x:\n        uuid4()  # !\n",
        "for x in range(n):\n    uuid4()  # !\n",
        "for x in range(100_000):\n    uuid4()  # !\n",
        "for x in range(0, 10 ** 6, 2):\n    uuid4()  # !\n",
        "for x in range(300):\n    for y in range(300):\n        uuid4()  # !\n",
        "for x in (1, 2):\n    for y in ys:\n        uuid4()  # !\n",
        "for x in (1, *ys):\n    uuid4()  # !\n",
        "for x in {'a': 1, **ys}:\n    uuid4()  # !\n",
        "for x in range(1, 2, 0):\n    uuid4()  # !\n",
        "for x in f():\n    uuid4()  # !\n",
        "for x in ~y:\n    uuid4()  # !\n",
        "for x in a.b:\n    uuid4()  # !\n",
        "for x in sorted(f()):\n    uuid4()  # !\n",
        "xs = [uuid4() for x in ys]  # !\n",
        "xs = [A(str(uuid4()), f(x)) for x in ys]  # !\n",
        "for x in xs:\n    y = str(uuid4())  # !\n    print(len(y), int(y))\n    f(x, y)\n",
        "ys = ['a']\nys.append(x)\nfor x in ys:\n    uuid4()  # !\n",
        "ys = 1, 2\nys = f()\nfor x in ys:\n    uuid4()  # !\n",
        "xs = {x: uuid4() for x in (1, 2) for y in ys}  # !\n",
        "for x in xs:\n    y = {k: uuid4() for k in (1, 2)}  # !\n",
        "for x in xs:\n    u = uuid4()  # !\n    if u in ys:\n        break\n",
        "while True:\n    u = uuid4()  # !\n    if y:\n        break\n",
        "while True:\n    u = uuid4()  # !\n    if u in ys:\n        continue\n",
        "for x in xs:\n    uuid4()  # !\n    gevent.spawn(f)\n",
        "def f():\n    for x in xs:\n        yield uuid4()  # !\n",
        "while True:\n    xs.append(str(uuid4()))  # !\n    if len(xs) > n:\n        break\n",
        "while True:\n    for x in f():\n        uuid4()  # !\n",
        "while True:\n    xs = [uuid4() for x in f()]  # !\n",
        "while x:\n    f(uuid4())  # !\n",
    ],
)
def test_a_loop_of_many_turns_makes_it_costly(tmp_path, text):
    assert_exactly(tmp_path, HEAD + text.replace("# !", "# expect: uuid-heavy-path"))


@pytest.mark.parametrize(
    "text",
    [
        "for x in uuid4():\n    pass\n",
        "for x in xs:\n    if x:\n        break\nelse:\n    uuid4()\n",
        "while x:\n    x = f()\nelse:\n    uuid4()\n",
        "while True:\n    u = uuid4()\n    if u not in xs:\n        break\n",
        "def f():\n    while True:\n        u = uuid4()\n"
        "        if u not in xs:\n            return u\n",
        "def f():\n    while True:\n        u = str(uuid4())\n"
        "        v = u[:8]\n        if not f(u):\n"
        "            return u\n",
        "u = uuid4()\nwhile u in xs:\n    u = uuid4()\n",
        "while True:\n    x.u = uuid4()\n    if x.u not in xs:\n        break\n",
        "import functools\n@functools.lru_cache\ndef f():\n    return uuid4()\n",
        "while True:\n    try:\n        f(uuid4())\n        break\n"
        "    except ValueError:\n        pass\n",
        "def f():\n    for x in xs:\n        if x:\n            return uuid4()\n",
        "for x in (1, 2, 3):\n    uuid4()\n",
        "for x in [1, 2, 3]:\n    uuid4()\n",
        "for x in range(3):\n    uuid4()\n",
        "N = 5\nfor x in range(N):\n    uuid4()\n",
        "for i, x in enumerate(('a', 'b')):\n    uuid4()\n",
        "COLOURS = ('red', 'green')\nfor x in COLOURS:\n    uuid4()\n",
        "xs = [uuid4() for _ in range(3)]\n",
        "for x in {'a': 1, 'b': 2}:\n    uuid4()\n",
        "for x in sorted({'a', 'b'}):\n    uuid4()\n",
        "xs = {x: uuid4() for x in (1, 2)}\n",
        "for x in xs:\n    uuid4()\n    gevent.sleep(0)\n",
        "for x in xs:\n    uuid4()\n    time.sleep(0.01)\n",
        "for i, x in enumerate(xs):\n    uuid4()\n    if i % 100 == 0:\n        gevent.sleep(0)\n",
        "for x in xs:\n    for y in (1, 2):\n        uuid4()\n    gevent.sleep(0)\n",
        "for x in xs:\n    f = lambda: uuid4()\n",
        "COLOURS = ['red', 'green']\ndef f():\n    for x in COLOURS:\n        uuid4()\n",
        "for x in xs:\n    f(x)\n    g(x)\n    h(x, uuid4())\n",
        "xs = [A(f(x), g(x), uuid4()) for x in xs]\n",
        "while True:\n    x = q.recv()\n    x.u = uuid4()\n",
        "while 1:\n    with lock:\n        if x:\n            break\n    xs.append(uuid4())\n",
        "while True:\n    if x:\n        break\n    session.execute(x, (uuid4(), y))\n",
    ],
)
def test_a_short_loop_or_one_that_yields_does_not(tmp_path, text):
    assert_exactly(tmp_path, HEAD + text)


@pytest.mark.parametrize("wait", ["session.execute(uuid4())", "q.recv()", "f()"])
def test_beside_what_may_wait_it_is_a_note(tmp_path, wait):
    text = f"{HEAD}while True:\n    {wait}\n    u = uuid4()\n    if x:\n        break\n"
    (tmp_path / "a.py").write_text(text)
    report = check([str(tmp_path / "a.py")], Config(), min_severity="note")
    identifiers = [one for one in report.diagnostics if one.code == "uuid-heavy-path"]
    assert identifiers
    assert {"note"} == {one.severity.name.lower() for one in identifiers}


def test_an_identifier_a_request_is_opt_in(tmp_path):
    text = """
        import uuid
        from flask import Flask
        app = Flask(__name__)

        @app.route("/")
        def index():
            return uuid.uuid4().hex
        """
    assert_exactly(tmp_path, text)


def test_a_task_of_another_file_is_known_where_it_is_sent(tmp_path):
    files = {
        "shop/__init__.py": "",
        "shop/app.py": "from celery import Celery\napp = Celery('shop')\n",
        "shop/tasks.py": "from .app import app\n@app.task\ndef notify(user): pass\n",
        "shop/views.py": "from shop import tasks\nfrom .tasks import notify\n"
        "def f(users):\n    for user in users:\n"
        "        notify.delay(user)  # expect: task-sending-loop\n"
        "    for user in users:\n"
        "        tasks.notify.s(user).delay()  # expect: task-sending-loop\n"
        "    for user in users[:1]:\n        users.delay(user)\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    assert_project(tmp_path)


SERVICE = {
    "Procfile": "web: gunicorn -k gevent shop:app\n",
    "jobs.py": "from celery import Celery\napp = Celery('jobs', broker='amqp://rabbit')\n"
    "@app.task\ndef notify(x): pass\n",
}
SHOP = "import uuid\nfrom flask import Flask\nfrom jobs import notify\napp = Flask('shop')\n"
LENGTHS = [
    ("for x in request.json:\n        CALL", "note"),
    ("for x in xs():\n        CALL", "note"),
    ("while xs():\n        CALL", "note"),
    ("[CALL for x in xs()]", "note"),
    ("for x in range(n()):\n        CALL", "note"),
    ("for x in range(10):\n        for y in xs():\n            CALL", "note"),
    ("for x in range(200_000):\n        CALL", "warning"),
    ("[CALL for x in range(10 ** 6)]", "warning"),
    ("for x in range(1000):\n        for y in range(1000):\n            CALL", "warning"),
]


@pytest.mark.parametrize(
    ("start", "severity"),
    [
        ("@app.get('/')\ndef place(xs):\n    {}\n", "note"),
        ("def place(xs):\n    {}\ngevent.spawn(place, range(2))\n", "warning"),
    ],
)
def test_a_loop_is_short_in_a_handler_and_may_be_long_in_a_script(tmp_path, start, severity):
    head = "import gevent, uuid\nfrom flask import Flask\napp = Flask('shop')\n"
    (tmp_path / "shop.py").write_text(head + start.format("for x in xs: uuid.uuid4()"))
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    (found,) = (
        one
        for one in check([str(tmp_path)], config, min_severity="note").diagnostics
        if one.code == "uuid-heavy-path"
    )
    assert severity == found.severity.name.lower()


@pytest.mark.parametrize("call", ["uuid.uuid4()", "notify.delay(1)"])
@pytest.mark.parametrize(("loop", "severity"), LENGTHS)
def test_a_loop_of_unknown_length_is_a_note_in_a_service(tmp_path, loop, severity, call):
    body = loop.replace("CALL", call)
    shop = f"{SHOP}@app.get('/')\ndef place(xs, n, request):\n    {body}\n"
    for name, text in {**SERVICE, "shop.py": shop}.items():
        (tmp_path / name).write_text(text)
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    (found,) = check([str(tmp_path)], config, min_severity="note", all_contexts=True).diagnostics
    assert severity == found.severity.name.lower()
