"""Fixes of code in every form: arguments, layouts, orders of imports, places of patches."""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
import types

import pytest
from fixing import request_for
from harness import check
from hypothesis import given
from hypothesis import strategies as st

from gblock import fixes
from gblock.config import Config
from gblock.diagnostics import Diagnostic, Location, Repair, Severity
from gblock.engine import fixing
from gblock.fixes import imports
from gblock.fixes.text import applied
from gblock.fixes.tree import parsed


def fixed_text(text, repair, name="called", **facts):
    """The text with the fix of the first call of a name, None without a fix."""
    found = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name):
            found = found or node
    lines = text.split("\n")

    def place(row, offset):
        return Location(row, len(lines[row - 1].encode()[:offset].decode()) + 1)

    diagnostic = Diagnostic(
        "a.py",
        place(found.lineno, found.col_offset),
        place(found.end_lineno, found.end_col_offset),
        "blocking-call",
        Severity.ERROR,
        "",
        "",
        repair=repair,
        **facts,
    )
    fix = fixes.of(diagnostic, {"a.py": text}.get)
    return applied(text, fix.edits) if fix is not None else None


# -- arguments

VALUES = st.sampled_from(["log(1)", "log(2)", "(log(3))", "[log(4), 5]", "'é'", "log", "{**{}}"])
ARGUMENTS = st.tuples(
    st.lists(st.one_of(VALUES, VALUES.map(lambda v: f"*[{v}]")), max_size=4),
    st.lists(VALUES, max_size=3),
    st.booleans(),
)
GAPS = st.sampled_from(
    [", ", ",", ",\n        ", " ,\n", ",  # why\n        ", ",\n        # why\n    "]
)


@given(ARGUMENTS, GAPS, st.sampled_from(["", "\n        ", " "]), st.booleans(), st.booleans())
def test_a_call_in_the_threadpool_gets_the_same_arguments_in_the_same_order(
    arguments, gap, start, trailing, long
):
    positional, named, more = arguments
    parts = [*positional, *(f"key_{n}={v}" for n, v in enumerate(named))]
    parts += ["**{'rest': log(9)}"] if more else []
    end = gap if trailing and parts else ""
    name = "called" if not long else "with_a_name_that_leaves_no_room_for_anything_else.called"
    call = f"{name}({start}{gap.join(parts)}{end})"
    text = f"def run({name.partition('.')[0]}, log):\n    return {call}\n"
    after = fixed_text(text, Repair("threadpool"))
    assert after is not None
    assert _outcome(text) == _outcome(after)
    assert after.count("# why") == text.count("# why")


@pytest.mark.parametrize(
    "call",
    ["list(map(os.system, names))", "gevent.with_timeout(5, os.system, 'sync')"],
)
def test_the_threadpool_is_no_fix_for_a_function_that_calls_what_it_is_given(tmp_path, call):
    text = f"import os\nimport gevent\n\n\ndef run(names):\n    return {call}\n"
    (tmp_path / "service.py").write_text(text)
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    (found,) = check([str(tmp_path)], config).diagnostics

    assert found.repair is None


class _Called:
    """Notes the arguments of a call; also under an attribute of its name."""

    def __init__(self):
        self.calls = []
        self.called = self

    def __call__(self, *arguments, **named):
        self.calls.append(([repr(one) for one in arguments], sorted(named.items(), key=str)))
        return "result"


class _Log:
    """Notes the order in which values are evaluated."""

    def __init__(self):
        self.asked = []

    def __call__(self, value):
        self.asked.append(value)
        return value

    def __repr__(self):
        return "log"

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __str__(self):
        return "log"


def _outcome(text):
    """The result of a program, its calls, and the order in which its arguments were evaluated."""
    pool = types.SimpleNamespace(
        apply=lambda f, args=None, kwds=None: f(*(args or ()), **(kwds or {}))
    )
    module = types.ModuleType("gevent")
    module.get_hub = lambda: types.SimpleNamespace(threadpool=pool)
    before = sys.modules.get("gevent")
    sys.modules["gevent"] = module
    try:
        names = {}
        exec(text, names)
        called, log = _Called(), _Log()
        result = names["run"](called, log)
        calls = [(args, [(k, repr(v)) for k, v in named]) for args, named in called.calls]
        return result, calls, log.asked
    finally:
        if before is None:
            del sys.modules["gevent"]
        else:
            sys.modules["gevent"] = before


# -- imports

MIXED = re.compile(r"^from (?!\.|__future__)[^\n]*\nimport ", re.MULTILINE)
"""A plain import behind the other kind in one section."""
STANDARD = ["abc", "json", "os", "re", "sys", "time", "zlib"]
OTHERS = ["attrs", "celery", "flask", "gunicorn", "requests", "yaml", "zmq"]


def _file(seed, mixed):
    """A file whose imports are sorted as ruff sorts them, in one of its two styles."""
    choose = random.Random(seed)
    blocks = []
    for names in (STANDARD, OTHERS):
        lines = []
        for name in choose.sample(names, choose.randint(0, len(names))):
            is_plain = choose.random() < 0.5
            lines.append(
                (name, not is_plain, f"import {name}" if is_plain else f"from {name} import x")
            )
        lines.sort(key=lambda one: (one[0], one[1]) if mixed else (one[1], one[0]))
        if lines:
            blocks.append("\n".join(line for *_, line in lines))
    if choose.random() < 0.3:
        blocks.append("from .own import y")
    head = choose.choice(["", '"""A page."""\n\n', "# A licence.\n\n", "#!/usr/bin/env python\n"])
    if choose.random() < 0.3:
        head += "from __future__ import annotations\n\n"
    gap = choose.choice(["\n\n\n", "\n\nCONSTANT = 1\n\n\n"]) if blocks else ""
    return head + "\n\n".join(blocks) + gap + "def run(called):\n    return called(1)\n"


@pytest.mark.parametrize("mixed", [False, pytest.param(True, marks=pytest.mark.live)])
def test_sorted_imports_stay_sorted(tmp_path, mixed):
    for seed in range(400):
        text = _file(seed, mixed)
        if mixed and not MIXED.search(text):
            continue  # nothing shows which style it is
        after = fixed_text(text, Repair("threadpool"))
        assert after is not None, text
        before, now = text.splitlines(), after.splitlines()
        assert [line for line in before if line.strip()] == [
            line.replace("gevent.get_hub().threadpool.apply(called, (1,))", "called(1)")
            for line in now
            if line.strip() and line != "import gevent"
        ]
        (tmp_path / f"before_{seed}.py").write_text(text)
        (tmp_path / f"after_{seed}.py").write_text(after)
    unsorted = _unsorted(tmp_path, mixed)
    wrong = {name for name in unsorted if name.startswith("after")}
    known = {name.replace("before", "after") for name in unsorted if name.startswith("before")}
    assert not wrong - known, (tmp_path / min(wrong - known)).read_text()
    assert len(known) < 100


def _unsorted(directory, mixed):
    options = ["--isolated", "--select", "I", "--output-format", "concise", "-q"]
    if mixed:
        options += ["--config", "lint.isort.force-sort-within-sections=true"]
    command = [sys.executable, "-m", "ruff", "check", *options, "."]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return {line.partition(":")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("before", "used"),
    [
        ("import gevent\n", "gevent"),
        ("import gevent.monkey\n", "gevent"),
        ("from gevent import monkey\n", None),
        ("def run(called):\n    import gevent\n    return called(1)\n", "gevent"),
    ],
)
def test_an_import_that_is_there_is_used(before, used):
    text = before if "called" in before else before + "\n\ndef run(called):\n    return called(1)\n"
    after = fixed_text(text, Repair("threadpool"))
    assert after.count("import gevent\n") == (1 if "gevent.monkey" not in before else 0)
    assert ("gevent.get_hub()" in after) is bool(after)
    if used:
        assert len(after.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "import eventlet as gevent\n\ndef run(called):\n    return called(1)\n",
        "def run(called, gevent=None):\n    return called(1)\n",
        "def run(called):\n    called(1)\n    import gevent\n",
        "def run(called):\n    if called:\n        import gevent\n    called(1)\n",
        "def called(x): ...\n\ncalled(1)\nimport gevent\n",
    ],
)
def test_a_name_that_is_taken_or_comes_too_late_is_not_used(text):
    assert fixed_text(text, Repair("threadpool")) is None


# -- loops

POLLING = Repair("poll-loop", position=0, keyword="timeout", bound="seconds")


def polled(body, head="while True:"):
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"import gevent\n\n\ndef run(consumer, more):\n    {head}\n{lines}"


@pytest.mark.parametrize(
    ("body", "after"),
    [
        # A branch that asks for a message, in each form.
        (
            "got = consumer.poll(1)\nif got:\n    print(got)",
            "got = consumer.poll(0)\nif got:\n    print(got)\nelse:\n    {sleep}",
        ),
        (
            "got = consumer.poll(1)\nif not got:\n    continue\nprint(got)",
            "got = consumer.poll(0)\nif not got:\n    {sleep}\n    continue\nprint(got)",
        ),
        (
            "got: str = consumer.poll(1)\nif got is None:\n    continue\nprint(got)",
            "got: str = consumer.poll(0)\nif got is None:\n    {sleep}\n    continue\nprint(got)",
        ),
        (
            "got = consumer.poll(1)\npass\nif got is not None:\n    print(got)",
            "got = consumer.poll(0)\npass\nif got is not None:\n    print(got)\nelse:\n    {sleep}",
        ),
        (
            "if consumer.poll(1) is not None:\n    print(1)",
            "if consumer.poll(0) is not None:\n    print(1)\nelse:\n    {sleep}",
        ),
        (
            "if (got := consumer.poll(1)):\n    print(got)",
            "if (got := consumer.poll(0)):\n    print(got)\nelse:\n    {sleep}",
        ),
        # A loop that does nothing else, or sleeps already.
        ("consumer.poll(1)", "consumer.poll(0)\n{sleep}"),
        ("consumer.poll()", "consumer.poll(0)\n{sleep}"),
        ("consumer.poll(1)\ngevent.sleep(2)", "consumer.poll(0)\ngevent.sleep(2)"),
        (
            "got = consumer.poll(1)\nif got is None:\n    time.sleep(1)\n    continue\nprint(got)",
            "got = consumer.poll(0)\nif got is None:\n    time.sleep(1)\n    continue\nprint(got)",
        ),
        # The answer to another question, or an answer that is not the first thing asked for.
        ("got = consumer.poll(1)\nif got == 1:\n    print(got)", None),
        ("got = consumer.poll(1)\nif got is more:\n    print(got)", None),
        ("got = consumer.poll(1)\nif got < None:\n    print(got)", None),
        ("got = consumer.poll(1)\nif more:\n    print(got)", None),
        ("got = consumer.poll(1)\ngot = more\nif got:\n    print(got)", None),
        ("got = consumer.poll(1)\nmore()\nif got:\n    print(got)", None),
        ("got, last = consumer.poll(1)\nif got:\n    print(got)", None),
        ("consumer.poll(1, more)\nmore()", None),
        ("consumer.poll(more=1)", None),
        ("if consumer.poll(1): print(1)\nmore()", None),
        # What is around the call may end the turn, or run for each call.
        ("try:\n    pass\nexcept more:\n    consumer.poll(1)", None),
        ("try:\n    consumer.poll(1)\nfinally:\n    more()", None),
        ("with more:\n    consumer.poll(1)", None),
    ],
)
def test_a_loop_that_polls_sleeps_where_nothing_came(body, after):
    expected = None if after is None else polled(after.format(sleep="gevent.sleep(0.01)"))

    assert fixed_text(polled(body), POLLING, "poll") == expected


@pytest.mark.parametrize(
    "head",
    [
        "while next(more):",
        "while more.pop():",
        "while (one := more):",
        "for one in more:",
        "if more:",
    ],
)
def test_a_loop_whose_condition_counts_its_turns_stays(head):
    assert fixed_text(polled("consumer.poll(1)", "while more.left():"), POLLING, "poll")
    assert fixed_text(polled("consumer.poll(1)", head), POLLING, "poll") is None


@pytest.mark.parametrize(
    ("repair", "before", "after"),
    [
        (
            {"bound": "forever"},
            "producer.flush()",
            "while len(producer):\n        producer.poll(0)\n        gevent.sleep(0.01)",
        ),
        (
            {"bound": "seconds"},
            "return producer.flush(5)",
            "deadline = time.monotonic() + 5\n"
            "    while len(producer) and time.monotonic() < deadline:\n"
            "        producer.poll(0)\n        gevent.sleep(0.01)\n    return len(producer)",
        ),
        ({}, "producer.flush(wait)", None),
        ({"bound": "seconds"}, "producer.flush(*wait)", None),
        ({"bound": "forever"}, "producer().flush()", None),
        ({"bound": "forever"}, "wait() and producer.flush()", None),
        ({"bound": "forever"}, "while not producer.flush(): wait()", None),
        ({"bound": "forever"}, "len = producer.flush()", None),
    ],
)
def test_a_flush_becomes_a_loop_where_its_result_and_limit_stay(repair, before, after):
    text = "import time\n\nimport gevent\n\n\ndef run(producer, wait):\n    {}\n"
    expected = None if after is None else text.format(after)
    wanted = Repair("flush-loop", position=0, keyword="timeout", **repair)

    assert fixed_text(text.format(before), wanted, "flush") == expected


# -- names and edges of a file


def test_the_names_of_the_green_module_are_imported():
    text = "from zmq import Context, REP\n\ncontext = Context()\ncontext.recv()\n"
    facts = {"symbol": "zmq.Context.recv"}

    assert fixed_text(text, Repair("green-import"), "recv", **facts) == text.replace(
        "from zmq ", "from zmq.green "
    )
    for other in ("from zmq import Context, proxy", "from zmq import *", "from zmq.sugar import A"):
        changed = text.replace("from zmq import Context, REP", other)
        assert fixed_text(changed, Repair("green-import"), "recv", **facts) is None


def test_two_imports_that_are_added_at_one_place_are_sorted():
    text = "def run(producer):\n    producer.flush(5)\n"
    wanted = Repair("flush-loop", position=0, keyword="timeout", bound="seconds")
    after = fixed_text(text, wanted, "flush")

    assert after.startswith("import time\n\nimport gevent\n\ndef run")


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("async def run(called):\n    return called(1)\n", None),
        ("called(1)\n", "startup"),
    ],
)
def test_a_call_that_no_worker_may_make_is_not_handed_over(text, context):
    assert fixed_text(text.replace("async ", ""), Repair("threadpool"))
    assert fixed_text(text, Repair("threadpool"), context=context) is None


def test_a_decorated_function_keeps_its_decorator_below_the_import():
    text = '"""Serve."""\n@route\ndef run(called):\n    return called(1)\n'
    after = fixed_text(text, Repair("threadpool"))

    assert after.index("import gevent") < after.index("@route")
    assert ast.get_docstring(ast.parse(after)) == "Serve."


# -- processes


def project(tree, files):
    """The files of a project once all fixes are applied."""
    root = tree(files)
    done = fixing.fixed(request_for(root, min_severity="note"), unsafe=True)
    return {change.filename: change.after.decode() for change in done.changes}, done.report


QUERY = """\
import psycopg2


def application(environ, start_response):
    psycopg2.connect("dbname=shop").cursor().execute("select 1")
"""
GUNICORN = {"Procfile": "web: gunicorn -c gunicorn_conf.py app:application\n", "app.py": QUERY}


def test_a_driver_is_made_cooperative_in_gunicorns_hook(tree):
    changed, report = project(tree, {**GUNICORN, "gunicorn_conf.py": 'worker_class = "gevent"\n\n'})
    assert changed == {
        "gunicorn_conf.py": 'worker_class = "gevent"\n\n\n'
        "def post_fork(server, worker):\n"
        "    from psycogreen.gevent import patch_psycopg\n\n"
        "    patch_psycopg()\n"
    } or changed["gunicorn_conf.py"].startswith('worker_class = "gevent"\n\n\ndef post_fork')
    assert not report.diagnostics


def test_an_existing_hook_gets_the_call_first(tree):
    hook = 'def post_fork(server, worker):\n    """Log."""\n    server.log.info("forked")\n'
    changed, report = project(
        tree, {**GUNICORN, "gunicorn_conf.py": f'worker_class = "gevent"\n\n\n{hook}'}
    )
    after = changed["gunicorn_conf.py"]
    assert after.index('"""Log."""') < after.index("patch_psycopg()") < after.index("forked")
    assert not report.diagnostics


@pytest.mark.parametrize(
    ("requirements", "is_offered"),
    [("psycopg2\npsycogreen\n", True), ("psycopg2\n", False), ("", True)],
)
def test_a_recipe_that_the_project_does_not_require_is_not_offered(tree, requirements, is_offered):
    settings = {"gunicorn_conf.py": 'worker_class = "gevent"\n', "requirements.txt": requirements}
    changed, report = project(tree, {**GUNICORN, **settings})
    assert bool(changed) is is_offered
    assert bool(report.diagnostics) is not is_offered


def test_a_driver_is_made_cooperative_behind_the_patch(tree):
    changed, report = project(
        tree,
        {
            "run.py": "from gevent import monkey\n\nmonkey.patch_all()\n\n"
            "import app\n\napp.main()\n",
            "app.py": QUERY.replace("application(environ, start_response)", "main()"),
        },
    )
    assert changed["run.py"] == (
        "from gevent import monkey\n\nmonkey.patch_all()\n\n"
        "from psycogreen.gevent import patch_psycopg\n\npatch_psycopg()\n\n"
        "import app\n\napp.main()\n"
    )
    assert not report.diagnostics


ZMQ = """\
import zmq
from gevent import monkey

monkey.patch_all()


def main():
    context = zmq.Context()
    socket = context.socket(zmq.REP)
    socket.recv()


main()
"""


def test_the_green_module_is_imported(tree):
    changed, report = project(tree, {"run.py": ZMQ})
    assert changed["run.py"] == ZMQ.replace("import zmq\n", "import zmq.green as zmq\n")
    assert not report.diagnostics


@pytest.mark.parametrize(
    "change",
    [
        ("import zmq\n", "import zmq, zmq.auth\n"),
        ("zmq.REP)", "zmq.REP)\n    zmq.proxy"),
        ("zmq.REP)", "zmq.REP)\n    socket.setsockopt(zmq.RCVTIMEO, 10)"),
        ("zmq.REP)", "zmq.REP)\n    class Own(zmq.Socket): ..."),
        ("import zmq\n", "if True:\n    import zmq\n"),
        ("import zmq\n", "import zmq as queue\nzmq = queue\n"),
    ],
)
def test_the_green_module_is_not_imported_where_more_would_change(tree, change):
    changed, _ = project(tree, {"run.py": ZMQ.replace(*change)})
    assert "zmq.green" not in changed.get("run.py", "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("patch_all(thread=False)", "patch_all()"),
        ("patch_all(subprocess=False, sys=True)", "patch_all(sys=True)"),
        ("patch_all(sys=True, socket=False,)", "patch_all(sys=True,)"),
        (
            "patch_all(\n    select=False,\n    sys=True,\n    signal=False,\n)",
            "patch_all(\n    sys=True,\n    signal=False,\n)",
        ),
        (
            "patch_all(\n    sys=True,  # why\n    select=False,\n)",
            "patch_all(\n    sys=True,  # why\n    select=False,\n)",
        ),
        ("patch_all(thread=OFF)", "patch_all(thread=OFF)"),
        ("patch_all(False)", "patch_all(False)"),
    ],
)
def test_a_patch_is_completed(tree, before, after):
    text = f"from gevent import monkey\n\nOFF = False\nmonkey.{before}\n"
    changed, _ = project(tree, {"run.py": text})
    now = changed.get("run.py", text)
    assert now == text.replace(before, after)


def test_threads_that_are_wanted_stay_native(tree):
    text = "from gevent import monkey\n\n# real threads\nmonkey.patch_all(thread=False)\n"
    changed, report = project(tree, {"run.py": text})
    assert not changed
    assert [one.code for one in report.diagnostics] == ["partial-monkey-patch"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '"""A service."""\n\nfrom __future__ import annotations\n\nimport requests\n'
            "from gevent import monkey\n\nmonkey.patch_all()\n\nrequests.get('')\n",
            '"""A service."""\n\nfrom __future__ import annotations\n\n'
            "from gevent import monkey\n\nmonkey.patch_all()\n\nimport requests\n"
            "\nrequests.get('')\n",
        ),
        (
            "#!/usr/bin/env python\nimport requests\nimport gevent.monkey\n"
            "gevent.monkey.patch_all()\nrequests.get('')\n",
            "#!/usr/bin/env python\nimport gevent.monkey\ngevent.monkey.patch_all()\n\n"
            "import requests\nrequests.get('')\n",
        ),
        (
            "import os\nimport requests\n\n# before everything\nfrom gevent import monkey\n"
            "monkey.patch_all()\n\nrequests.get('')\n",
            "# before everything\nfrom gevent import monkey\nmonkey.patch_all()\n\n"
            "import os\nimport requests\n\nrequests.get('')\n",
        ),
        (
            "from gevent import monkey\nimport requests\n\nmonkey.patch_all()\n\n"
            "requests.get('')\n",
            "from gevent import monkey\n\nmonkey.patch_all()\n\nimport requests\n\n"
            "requests.get('')\n",
        ),
    ],
)
def test_a_late_patch_moves_to_the_top(tree, before, after):
    changed, report = project(tree, {"run.py": before})
    assert changed["run.py"] == after
    assert not report.diagnostics


@pytest.mark.parametrize(
    "text",
    [
        "import requests\nfrom gevent import monkey\n\nif requests:\n    monkey.patch_all()\n",
        "import requests\nfrom gevent import monkey\n\nmonkey.patch_all(**requests.more)\n",
        "import requests; from gevent import monkey\n\nmonkey.patch_all()\n",
        "import requests\nfrom gevent import monkey\n\nmonkey.patch_all(); requests.get('')\n",
    ],
)
def test_a_late_patch_that_is_more_than_a_call_stays(tree, text):
    changed, report = project(tree, {"run.py": text})
    assert not changed
    assert report.diagnostics


def test_a_patch_moves_in_the_file_whose_imports_come_before_it(tree):
    changed, report = project(
        tree,
        {
            "run.py": "import service\n\nservice.main()\n",
            "service.py": "import clock\nfrom gevent import monkey\n\nmonkey.patch_all()\n\n\n"
            "def main():\n    clock.sleep(1)\n",
            "clock.py": "from time import sleep\n",
        },
    )
    assert list(changed) == ["service.py"]
    assert changed["service.py"].startswith("from gevent import monkey\n\nmonkey.patch_all()\n\n")
    assert not report.diagnostics


@pytest.mark.parametrize(
    ("line", "is_moved"), [("", True), ("sleep(0)\n", False), ("def nap():\n    sleep(1)\n", False)]
)
def test_an_import_moves_below_the_patch_unless_it_is_used_before(tree, line, is_moved):
    patch = "from gevent import monkey\n\nmonkey.patch_all()\n"
    text = f"from time import sleep\n{line}\n{patch}sleep(1)\n"
    changed, _ = project(tree, {"run.py": text})
    after = changed.get("run.py", text)
    assert (after.index("import sleep") > after.index("patch_all")) is is_moved


# -- comments


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("os.getpid()  # gblock: ignore", "os.getpid()"),
        ("os.getpid()  # gblock: ignore because", "os.getpid()"),
        ("os.getpid()  # noqa: X  # gblock: ignore", "os.getpid()  # noqa: X"),
        ("os.getpid()  # gblock: ignore  # noqa: X", "os.getpid()  # noqa: X"),
        (
            'os.system("")  # gblock: ignore[os-system, blocking-call, spinning-loop] why',
            'os.system("")  # gblock: ignore[os-system, blocking-call] why',
        ),
        ("os.getpid()  # gblock: ignore[spinning-lop]", None),
        ("os.getpid()  # gblock: ignroe", None),
        ("# gblock: ignore\nos.getpid()", "os.getpid()"),
    ],
)
def test_what_hides_nothing_goes_and_the_rest_of_the_comment_stays(tree, before, after):
    text = f"import os\n\n{before}\n"
    root = tree({"run.py": text})
    done = fixing.fixed(request_for(root), unsafe=False)
    now = done.changes[0].after.decode() if done.changes else text
    assert now == f"import os\n\n{before if after is None else after}\n"


LINES = st.lists(st.sampled_from(["a = 1", "", "# why", "b(2)"]), min_size=1, max_size=5)


@given(LINES, st.data())
def test_whole_lines_are_added_and_removed_at_either_end_of_a_file(lines, data):
    text = "\n".join(lines)
    file = parsed("a.py", text)
    row = data.draw(st.integers(1, len(lines) + 1))
    added = [*lines[: row - 1], "c = 3", *lines[row - 1 :]]
    assert applied(text, [file.inserted(row, "c = 3\n")]).split("\n") == added

    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    left = lines[: first - 1] + lines[last:]
    assert applied(text, [file.removed(first, last)]) == "\n".join(left)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("", 2),
        ('"""Text."""\n', 3),
        ('"""Text."""\nfrom __future__ import annotations\n\nrun()\n', 4),
        ("@route\ndef run(): ...\n", 1),
    ],
)
def test_the_first_statement_is_behind_the_header(text, row):
    assert imports.after_header(parsed("a.py", text)) == row


@pytest.mark.parametrize("named", [0, 1, 3])
def test_arguments_that_fit_on_no_line_are_upright(named):
    """Also those that the threadpool takes together, by position and by keyword."""
    parts = [f"log({n!r:0>30.30})".replace("(000", "(111") for n in range(1, 5)]
    parts += [f"key_{n}=log({'2' * 30})" for n in range(named)]
    text = f"def run(called, log):\n    return called({', '.join(parts)})\n"
    after = fixed_text(text, Repair("threadpool"))

    assert after is not None
    assert _outcome(text) == _outcome(after)
    assert all(len(line) <= 100 for line in after.split("\n"))
    assert all(after.count(part.partition("=")[2] or part) for part in parts)
