"""Properties of every fix: the code parses, the diagnostic is gone, and none is new."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from fixing import (
    assert_right,
    reported,
    request_for,
)
from harness import sampled

from gblock import catalog, engine, fixes, measurements, repairs, rules
from gblock.diagnostics import Diagnostic, Location, Repair, Severity
from gblock.engine import fixing
from gblock.fixes.text import applied, compatible

FIXTURES = Path(__file__).parent / "fixtures"
LOOSE = sorted(
    path
    for path in FIXTURES.glob("*/*.py")
    if path.parent.name not in ("projects", "environment", "deployments")
)
PROJECTS = sorted(path for path in (FIXTURES / "projects").iterdir() if path.is_dir())
EXAMPLES = [
    pytest.param(text, id=f"{rule.name}: {title}")
    for rule in rules.load_all()
    for title, text in rule.INVALID.items()
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_fixes_of_the_rules_examples(tree, text):
    root = tree({"service.py": textwrap.dedent(text).lstrip("\n")})
    assert_right(request_for(root))


@pytest.mark.parametrize("path", sampled(LOOSE))
def test_the_fixes_of_the_fixtures(tree, path):
    root = tree({path.name: path.read_bytes()})
    assert_right(request_for(root))


@pytest.mark.parametrize("path", sampled(PROJECTS))
def test_the_fixes_of_whole_projects(tree, tmp_path, path):
    tree({})
    shutil.copytree(path, tmp_path, dirs_exist_ok=True)
    assert_right(request_for(tmp_path))


@pytest.mark.live
def test_the_fixes_of_real_files(tree, tmp_path):
    """A package of the environment that calls many drivers."""
    import celery

    tree({"celery/__init__.py": ""})
    source = Path(celery.__file__).parent / "backends"
    shutil.copytree(source, tmp_path / "celery" / "backends")
    assert assert_right(request_for(tmp_path, all_contexts=True)) > 5


@pytest.mark.live
def test_most_fixtures_have_a_fix_of_each_kind(tree):
    """The properties above would hold of no fixes at all."""
    kinds = set()
    for rule in rules.load_all():
        for text in rule.INVALID.values():
            root = tree({"service.py": textwrap.dedent(text).lstrip("\n")})
            for one in reported(request_for(root)):
                if one.fix is not None:
                    kinds.add(one.repair.kind)
                    assert one.repair.kind in rule.fixes or one.code != rule.name
    assert kinds >= {
        "flush-loop", "threadpool", "patch-first", "import-after-patch", "whole-patch",
        "remove-ignore",
    }  # fmt: skip


def test_a_rule_names_kinds_of_fixes_that_exist():
    for rule in rules.load_all():
        assert set(rule.fixes) <= set(repairs.KINDS), rule.name


def test_a_blockers_fix_is_one_that_its_rule_names():
    by_kind = {kind: rule for rule in rules.load_all() for kind in rule.kinds}
    for blocker in catalog.load().blockers:
        if blocker.fix is not None and not blocker.patched_by:
            assert blocker.fix in by_kind[blocker.kind].fixes, blocker.id


def test_each_kind_of_fix_belongs_to_a_rule():
    assert set(repairs.KINDS) == {kind for rule in rules.load_all() for kind in rule.fixes}


def test_the_threadpool_is_offered_only_where_it_was_measured_to_help():
    for blocker in measurements.load().blockers:
        if blocker.fix == "threadpool":
            assert blocker.releases_gil is True, blocker.id
            assert not blocker.thread_bound, blocker.id
            assert "threadpool" in (blocker.evidence.remedy or ""), blocker.id
            assert blocker.evidence.remedy_max_gap < 0.05, blocker.id


# -- one at a time and together


def snippet(tree, text, **options):
    """The fixed text of one file."""
    root = tree({"service.py": textwrap.dedent(text).lstrip("\n")})
    done = fixing.fixed(request_for(root, **options), unsafe=True)
    return done.changes[0].after.decode() if done.changes else None


def test_nested_calls_are_fixed_in_rounds(tree):
    after = snippet(
        tree,
        """
        from hashlib import pbkdf2_hmac

        def key(salt, n):
            return pbkdf2_hmac("sha256", pbkdf2_hmac("sha256", b"", salt, n), salt, n)
        """,
    )
    assert after.count("gevent.get_hub().threadpool.apply(") == 2
    assert after.count("import gevent\n") == 1


def test_of_two_fixes_that_touch_one_is_applied():
    from gblock.diagnostics import Edit, Fix, Location

    def fix(first, last, content):
        return Fix("unsafe", "", (Edit("a.py", Location(1, first), Location(1, last), content),))

    one, overlapping, apart, same = fix(1, 5, "x"), fix(4, 8, "y"), fix(9, 9, "z"), fix(1, 5, "x")
    assert compatible([one, overlapping, apart, same]) == [one, apart, same]
    assert applied("abcdefghij", [*one.edits, *apart.edits, *same.edits]) == "xefghzij"


def test_a_round_that_brings_a_new_diagnostic_is_taken_back(tree, monkeypatch):
    root = tree({"service.py": "import os\n\nos.getpid()  # gblock: ignore\n"})
    real = fixes.Fixes.of

    def wrong(self, diagnostic):
        fix = real(self, diagnostic)
        if fix is None:
            return None
        (edit,) = fix.edits
        return fix._replace(edits=(edit._replace(content="; os.system('sync')"),))

    monkeypatch.setattr(fixes.Fixes, "of", wrong)
    done = fixing.fixed(request_for(root), unsafe=True)
    assert not done.changes
    assert [one.code for one in done.report.diagnostics] == ["unused-ignore"]


def test_what_is_suppressed_or_known_is_left_alone(tree):
    root = tree(
        {
            "service.py": """\
from bcrypt import hashpw

def a(password, salt):
    return hashpw(password, salt)  # gblock: ignore[cpu-bound-call]

def b(password, salt):
    return hashpw(password, salt)
"""
        }
    )
    engine.check(request_for(root, write_baseline=str(root / "known.json")))
    done = fixing.fixed(request_for(root, baseline=str(root / "known.json")), unsafe=True)
    assert not done.changes
    assert not done.report.diagnostics


def test_safe_fixes_are_applied_alone_unless_unsafe_ones_are_asked_for(tree):
    root = tree(
        {
            "service.py": """\
from bcrypt import hashpw

def a(password, salt):
    return hashpw(password, salt)

a.b  # gblock: ignore
"""
        }
    )
    safe = fixing.fixed(request_for(root), unsafe=False)
    assert b"ignore" not in safe.changes[0].after
    assert b"gevent" not in safe.changes[0].after
    both = fixing.fixed(request_for(root), unsafe=True)
    assert b"ignore" not in both.changes[0].after
    assert b"gevent" in both.changes[0].after


# -- the threadpool


CALLS = """
from hashlib import pbkdf2_hmac

{before}
def key(*args, **more):
    {statement}
"""


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("pbkdf2_hmac()", "apply(pbkdf2_hmac)"),
        ("pbkdf2_hmac(1)", "apply(pbkdf2_hmac, (1,))"),
        ("pbkdf2_hmac(1,)", "apply(pbkdf2_hmac, (1,))"),
        ("pbkdf2_hmac(1, 2)", "apply(pbkdf2_hmac, (1, 2))"),
        ("pbkdf2_hmac(1,2)", "apply(pbkdf2_hmac, (1, 2))"),
        ("pbkdf2_hmac(1, dklen=2)", 'apply(pbkdf2_hmac, (1,), {"dklen": 2})'),
        ("pbkdf2_hmac(dklen=2)", 'apply(pbkdf2_hmac, kwds={"dklen": 2})'),
        ("pbkdf2_hmac(*args)", "apply(pbkdf2_hmac, (*args,))"),
        ("pbkdf2_hmac(*args, **more)", "apply(pbkdf2_hmac, (*args,), {**more})"),
        ("pbkdf2_hmac((yield))", "apply(pbkdf2_hmac, ((yield),))"),
        ("pbkdf2_hmac(a := 1)", "apply(pbkdf2_hmac, (a := 1,))"),
        ("pbkdf2_hmac(\n        1,\n        2,\n    )", "apply(pbkdf2_hmac, (1, 2))"),
    ],
)
def test_arguments_are_handed_over_as_they_are(tree, call, wanted):
    after = snippet(tree, CALLS.format(before="", statement=f"return {call}"))
    assert f"return gevent.get_hub().threadpool.{wanted}\n" in after


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        ("", "return pbkdf2_hmac(lambda: 1)"),
        ("", "return pbkdf2_hmac(one for one in args)"),
        ("def other(): ...", "return pbkdf2_hmac(other)"),
        ("def gevent(): ...", "return pbkdf2_hmac(1)"),
        ("", "gevent = pbkdf2_hmac(1)"),
        ("", "return lambda: pbkdf2_hmac(1)"),
        ("", 'return f"{pbkdf2_hmac(1)}"'),
        ("", "return pbkdf2_hmac(1)\n\nasync def main():\n    pbkdf2_hmac(2)"[23:] or ""),
    ],
)
def test_what_is_not_sure_is_left_alone(tree, before, statement):
    assert snippet(tree, CALLS.format(before=before, statement=statement or "pass")) is None


def test_comments_between_arguments_stay(tree):
    after = snippet(
        tree,
        """
        from hashlib import pbkdf2_hmac

        def key(salt):
            return pbkdf2_hmac(
                "sha256",  # the algorithm
                b"",
                # never the same
                salt,
                90_000,
            )
        """,
    )
    assert "# the algorithm" in after
    assert "# never the same" in after


# -- loops


KAFKA = """
import gevent
from confluent_kafka import Consumer, Producer

consumer = Consumer({{"group.id": "g"}})
producer = Producer({{}})

def run(handle, count=0):
{body}
"""


def kafka(tree, body):
    return snippet(tree, KAFKA.format(body=textwrap.indent(textwrap.dedent(body).strip(), "    ")))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            """
            while True:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                handle(message)
            """,
            """
                    message = consumer.poll(0)
                    if message is None:
                        gevent.sleep(0.01)
                        continue
            """,
        ),
        (
            """
            while True:
                message = consumer.poll(timeout=1.0)
                if not message: continue  # nothing
                handle(message)
            """,
            """
                    message = consumer.poll(timeout=0)
                    if not message:
                        gevent.sleep(0.01)
                        continue  # nothing
            """,
        ),
        (
            """
            while True:
                message = consumer.poll()
                if message is not None:
                    handle(message)
            """,
            """
                    message = consumer.poll(0)
                    if message is not None:
                        handle(message)
                    else:
                        gevent.sleep(0.01)
            """,
        ),
        (
            """
            while True:
                if (message := consumer.poll(1)) is None:
                    continue
                handle(message)
            """,
            """
                    if (message := consumer.poll(0)) is None:
                        gevent.sleep(0.01)
                        continue
            """,
        ),
        (
            """
            try:
                while True:
                    try:
                        message = consumer.poll(1)
                        if message is None:
                            continue
                        handle(message)
                    except ValueError:
                        handle(None)
            finally:
                handle(1)
            """,
            """
                            message = consumer.poll(0)
                            if message is None:
                                gevent.sleep(0.01)
                                continue
            """,
        ),
        (
            """
            while True:
                producer.poll(1)
            """,
            """
                while True:
                    producer.poll(0)
                    gevent.sleep(0.01)
            """,
        ),
    ],
)
def test_a_loop_polls_without_a_wait_and_sleeps_where_there_is_nothing(tree, body, wanted):
    lines = [line.strip() for line in _body(kafka(tree, body)).splitlines()]
    expected = [line.strip() for line in wanted.strip().splitlines()]
    assert any(lines[at : at + len(expected)] == expected for at in range(len(lines)))


def _body(text):
    """The function's body, without its indentation."""
    return textwrap.dedent(text.partition("def run")[2].partition("\n")[2]) if text else ""


@pytest.mark.parametrize(
    "body",
    [
        # It ends after so many seconds without a message, or counts them.
        """
        while True:
            message = consumer.poll(1)
            if message is None:
                break
            handle(message)
        """,
        """
        while True:
            message = consumer.poll(1)
            if message is None:
                count += 1
                continue
            handle(message)
        """,
        """
        for number in range(10):
            message = consumer.poll(1)
            if message is None:
                continue
            handle(message)
        """,
        """
        while (message := consumer.poll(1)) is not None:
            handle(message)
        """,
        # It does something in each turn.
        """
        while True:
            handle("a turn")
            message = consumer.poll(1)
            if message is None:
                continue
            handle(message)
        """,
        """
        while True:
            message = consumer.poll(1)
            if message is not None:
                handle(message)
            handle("a turn")
        """,
        """
        while True:
            with handle("a turn"):
                message = consumer.poll(1)
                if message is None:
                    continue
        """,
        """
        while True:
            try:
                message = consumer.poll(1)
                if message is None:
                    continue
            finally:
                handle("a turn")
        """,
        # Nothing says what is done without a message.
        """
        while True:
            handle(consumer.poll(1))
        """,
        """
        return consumer.poll(1)
        """,
        """
        arguments = [1]
        while True:
            message = consumer.poll(*arguments)
            if message is None:
                continue
        """,
    ],
)
def test_a_loop_whose_turns_do_more_is_left_alone(tree, body):
    assert kafka(tree, body) is None


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        (
            "producer.flush()",
            "while len(producer):\n    producer.poll(0)\n    gevent.sleep(0.01)\n",
        ),
        (
            "producer.flush(-1)  # all",
            "while len(producer):  # all\n    producer.poll(0)\n    gevent.sleep(0.01)\n",
        ),
        (
            "producer.flush(2 + 3)",
            "deadline = time.monotonic() + (2 + 3)\n"
            "while len(producer) and time.monotonic() < deadline:\n"
            "    producer.poll(0)\n    gevent.sleep(0.01)\n",
        ),
        (
            "left = producer.flush()",
            "while len(producer):\n    producer.poll(0)\n    gevent.sleep(0.01)\n"
            "left = len(producer)\n",
        ),
        (
            "return producer.flush()",
            "while len(producer):\n    producer.poll(0)\n    gevent.sleep(0.01)\n"
            "return len(producer)\n",
        ),
        (
            "if producer.flush() > 0:\n    handle(1)",
            "while len(producer):\n    producer.poll(0)\n    gevent.sleep(0.01)\n"
            "if len(producer) > 0:\n    handle(1)\n",
        ),
    ],
)
def test_flush_becomes_a_loop_that_keeps_timeout_and_result(tree, statement, wanted):
    assert _body(kafka(tree, statement)) == wanted


@pytest.mark.parametrize(
    "statement",
    [
        "producer.flush(count)",
        "handle(producer.flush())",
        "if handle(1): producer.flush()",
        "handle(1); producer.flush()",
        "count += producer.flush()",
        "if handle(1) and producer.flush(): ...",
        "if count:\n    ...\nelif producer.flush():\n    ...",
        "while producer.flush():\n    ...",
        "[Producer({})][0].flush()",
        "(producer if count else handle).flush()",
        "len = producer.flush()",
    ],
)
def test_flush_whose_result_or_timeout_would_be_lost_is_left_alone(tree, statement):
    assert kafka(tree, statement) is None


class Queue:
    """A producer with three messages, of which each poll delivers one."""

    def __init__(self):
        self.left = 3

    def __len__(self):
        return self.left

    def poll(self, timeout):
        assert timeout == 0
        self.left -= 1


@pytest.mark.parametrize("statement", ["return producer.flush()", "return producer.flush(0.2)"])
def test_the_loop_in_place_of_flush_returns_what_it_returned(tree, monkeypatch, statement):
    import types

    slept = []
    after = kafka(tree, statement).replace("Producer({})", "Queue()").replace("Consumer(", "dict(")
    stand_in = types.ModuleType("gevent")
    stand_in.sleep = slept.append
    kafka_module = types.ModuleType("confluent_kafka")
    kafka_module.Consumer = kafka_module.Producer = Queue
    monkeypatch.setitem(sys.modules, "gevent", stand_in)
    monkeypatch.setitem(sys.modules, "confluent_kafka", kafka_module)
    names = {"Queue": Queue}
    exec(after, names)
    assert names["run"](None) == 0
    assert slept == [0.01] * 3


def alone(kind, text, **options):
    """The text after the fix of one diagnostic that no check has made; None without a fix.

    Args:
        kind: The kind of the fix.
        text: A file, in which the diagnostic is between << and >>; without them, it is its start.
        options: Fields of the `Repair`; `context` and `symbol` of the `Diagnostic`.
    """
    text = textwrap.dedent(text).lstrip("\n")
    places = []
    for mark in ("<<", ">>"):
        before, _, after = text.partition(mark) if mark in text else ("", "", text)
        places.append(Location(before.count("\n") + 1, len(before) - before.rfind("\n")))
        text = before + after
    context, symbol = options.pop("context", "request"), options.pop("symbol", None)
    repair = Repair(kind, **options)
    one = Diagnostic(
        "app.py", *places, "", Severity.ERROR, "", "", symbol=symbol, context=context, repair=repair
    )
    fix = fixes.of(one, {"app.py": text}.get)
    return None if fix is None else applied(text, fix.edits)


THREADPOOL = "gevent.get_hub().threadpool.apply"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("import gevent\nx = (<<f\n    (1)>>)\n", f"import gevent\nx = ({THREADPOOL}(f, (1,)))\n"),
        ("import gevent\n<<f(a=1,)>>\n", f'import gevent\n{THREADPOOL}(f, kwds={{"a": 1}})\n'),
        ("import gevent\n<<f(1,)>>\n", f"import gevent\n{THREADPOOL}(f, (1,))\n"),
        ("async def g():\n    await <<f()>>\n", None),
        ("async def g():\n    <<f()>>\n", None),
        ("def g(x=<<f()>>):\n    pass\n", None),
        ("def g(x):\n    return lambda: <<f()>>\n", None),
        ("gevent = 1\n<<f()>>\n", None),
        ("match x:\n    case {'a': 1, **gevent}:\n        <<f()>>\n", None),
        ("match x:\n    case [*gevent]:\n        <<f()>>\n", None),
        ("try:\n    pass\nexcept OSError as gevent:\n    <<f()>>\n", None),
        ("def g():\n    global gevent\n    <<f()>>\n", None),
        ("x = f'{<<f()>>}'\n", None),
        ("x = <<f>>\n", None),
    ],
)
def test_a_call_is_handed_to_the_threadpool_where_the_file_allows_it(text, wanted):
    assert wanted == alone("threadpool", text)


@pytest.mark.parametrize("context", ["hub", "shutdown", "native-thread", "other-process"])
def test_a_call_that_must_not_switch_is_left_alone(context):
    assert alone("threadpool", "import gevent\n<<f()>>\n") is not None
    assert alone("threadpool", "import gevent\n<<f()>>\n", context=context) is None


def test_a_call_at_start_up_is_not_handed_over():
    assert alone("threadpool", "import gevent\n<<f()>>\n", context="startup") is None


HOOK = "def post_fork(server, worker):\n"
CALL = "from psycogreen.gevent import patch_psycopg\n\n"


@pytest.mark.parametrize(
    ("text", "row", "wanted"),
    [
        ("patch()\n", 1, f"patch()\n\n{CALL}patch_psycopg()\n"),
        ("patch()\nrun()\n", 1, f"patch()\n\n{CALL}patch_psycopg()\n\nrun()\n"),
        ("x = patch()\n", 1, None),
        ("patch(); run()\n", 1, None),
        ("\n\n", 0, f"{HOOK}    {CALL}    patch_psycopg()\n"),
        ("bind = ':80'\n", 0, f"bind = ':80'\n\n\n{HOOK}    {CALL}    patch_psycopg()\n"),
        (f"{HOOK}    pass\n", 0, f"{HOOK}    {CALL}    patch_psycopg()\n    pass\n"),
        (f"{HOOK}    'Why.'\n", 0, f"{HOOK}    'Why.'\n    {CALL}    patch_psycopg()\n"),
        (f"{HOOK[:-1]} pass\n", 0, None),
        (f"{HOOK}    pass\n\n{HOOK}    pass\n", 0, None),
        ("post_fork = None\n", 0, None),
        ("def patch_psycopg():\n    pass\n\npatch_psycopg()\n", 4, None),
    ],
)
def test_a_recipe_is_called_behind_the_patch_or_in_the_hook(text, row, wanted):
    symbol = ("psycogreen.gevent.patch_psycopg",)
    assert wanted == alone("recipe", text, names=symbol, places=(("app.py", row),))
    assert alone("recipe", "\n", names=symbol, places=(("gone.py", 1),)) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("if not <<p.flush()>>:\n    go()\n", "if not len(p):\n    go()\n"),
        ("if <<p.flush()>> > 0:\n    go()\n", "if len(p) > 0:\n    go()\n"),
        ("if go() and <<p.flush()>>:\n    go()\n", None),
        ("if go():\n    pass\nelif <<p.flush()>>:\n    go()\n", None),
        ("x = go() + <<p.flush()>>\n", None),
        ("x[0] = <<p.flush()>>\n", None),
        ("go(); <<p.flush()>>\n", None),
        ("p().flush\n<<p().flush()>>\n", None),
        ("<<flush()>>\n", None),
        ("<<p.flush(*more)>>\n", None),
        ("<<p.flush(**more)>>\n", None),
        ("len = 1\n<<p.flush()>>\n", None),
        ("while <<p.flush()>>:\n    pass\n", None),
    ],
)
def test_flush_is_replaced_where_its_statement_evaluates_it_first(text, wanted):
    loop = "while len(p):\n    p.poll(0)\n    gevent.sleep(0.01)\n"
    after = alone("flush-loop", f"import gevent\n{text}", position=0, keyword="timeout")

    assert (None if wanted is None else f"import gevent\n{loop}{wanted}") == after


@pytest.mark.parametrize(
    ("timeout", "bound", "condition"),
    [("-1", "seconds", ""), ("2", "seconds", " and time.monotonic() < deadline"), ("2", "", None)],
)
def test_flush_keeps_a_timeout_in_seconds(timeout, bound, condition):
    text = f"import gevent\nimport time\n<<p.flush({timeout})>>\n"
    after = alone("flush-loop", text, position=0, keyword="timeout", bound=bound)

    if condition is None:
        assert after is None
    else:
        assert f"while len(p){condition}:\n" in after
        assert ("deadline = time.monotonic() + 2\n" in after) is bool(condition)


def test_flush_is_left_alone_where_time_is_another_name():
    text = "import gevent\ntime = 1\n<<p.flush(2)>>\n"
    assert alone("flush-loop", text, position=0, keyword="timeout", bound="seconds") is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "while 1:\n    m = <<p.poll(1)>>\n    if m:\n        go(m)\n",
            "while 1:\n    m = p.poll(0)\n    if m:\n        go(m)\n"
            "    else:\n        gevent.sleep(0.01)\n",
        ),
        (
            "while 1:\n    m = <<p.poll(1)>>\n    if not m: continue\n    go(m)\n",
            "while 1:\n    m = p.poll(0)\n    if not m:\n        gevent.sleep(0.01)\n"
            "        continue\n    go(m)\n",
        ),
        ("while 1:\n    m = <<p.poll(1)>>\n    if m: go(m)\n", None),
        ("while 1:\n    m = <<p.poll(1)>>\n    if m: go(); go(m)\n", None),
        (
            "while 1:\n    m = <<p.poll(1)>>\n    if m:\n        go(m)\n    elif x:\n        x\n",
            None,
        ),
        ("while 1:\n    m = <<p.poll(1)>>\n    if m > 1:\n        go(m)\n", None),
        ("while 1:\n    m = <<p.poll(1)>>\n    if m is 1:\n        go(m)\n", None),
        ("while 1:\n    m = <<p.poll(1)>>\n    m = 1\n    if m:\n        go(m)\n", None),
        ("while 1:\n    m = n = <<p.poll(1)>>\n    if m:\n        go(m)\n", None),
        ("while it.pop():\n    <<p.poll(1)>>\n", None),
        ("while (yield):\n    <<p.poll(1)>>\n", None),
        ("while <<p.poll(1)>>:\n    pass\n", None),
        ("while 1:\n    pass\nelse:\n    <<p.poll(1)>>\n", None),
        ("while 1:\n    try:\n        <<p.poll(1)>>\n    finally:\n        go()\n", None),
        ("while 1:\n    try:\n        go()\n    except OSError:\n        <<p.poll(1)>>\n", None),
        ("while 1:\n    with x:\n        <<p.poll(1)>>\n", None),
        ("for x in y:\n    <<p.poll(1)>>\n", None),
        ("<<p.poll(1)>>\n", None),
        ("while 1:\n    <<p.poll(*x)>>\n", None),
        ("while 1:\n    <<p.poll()>>\n", "while 1:\n    p.poll(0)\n    gevent.sleep(0.01)\n"),
        ("while 1:\n    <<p.poll(other=1)>>\n", None),
        ("while 1:\n    <<p.poll(1)>>; x = 1\n", None),
        (
            "while 1:\n    <<p.poll(1)>>\n    gevent.sleep(0)\n",
            "while 1:\n    p.poll(0)\n    gevent.sleep(0)\n",
        ),
        ("gevent = 1\nwhile 1:\n    <<p.poll(1)>>\n", None),
    ],
)
def test_a_poll_is_replaced_in_a_loop_that_does_nothing_else(text, wanted):
    after = alone("poll-loop", f"import gevent\n{text}", position=0, keyword="timeout")

    assert (None if wanted is None else f"import gevent\n{wanted}") == after


PATCH = "from gevent import monkey\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "<<from time import sleep>>\n{}monkey.patch_all()\n",
            "{}monkey.patch_all()\n\nfrom time import sleep\n",
        ),
        (
            "<<from time import sleep>>\n\n\n{}monkey.patch_all()\n",
            "{}monkey.patch_all()\n\nfrom time import sleep\n",
        ),
        (
            "{}<<from time import sleep>>\n\nmonkey.patch_all()\ngo()\n",
            "{}\nmonkey.patch_all()\n\nfrom time import sleep\n\ngo()\n",
        ),
        (
            "{}\n<<from time import sleep>>\n\nmonkey.patch_all()\n",
            "{}\nmonkey.patch_all()\n\nfrom time import sleep\n",
        ),
        ("{}<<from time import sleep>>\nsleep(1)\nmonkey.patch_all()\n", None),
        ("{}<<from time import sleep>>; x = 1\nmonkey.patch_all()\n", None),
        ("{}<<import time>>\nmonkey.patch_all()\n", None),
        ("{}<<x = 1>>\nmonkey.patch_all()\n", None),
        ("{}<<from time import sleep>>\nmonkey.patch_all(thread=x)\n", None),
        ("{}<<from time import sleep>>\nx = monkey.patch_all()\n", None),
        ("{}<<from time import sleep>>\nif 1:\n    monkey.patch_all()\n", None),
        ("from .x import monkey\n<<from time import sleep>>\nmonkey.patch_all()\n", None),
    ],
)
def test_an_import_is_moved_below_the_patch(text, wanted):
    text = text.format(PATCH)
    row = next(n for n, line in enumerate(text.split("\n"), 1) if "patch_all" in line)
    after = alone("import-after-patch", text, places=(("app.py", row),))

    assert (None if wanted is None else wanted.format(PATCH)) == after
    assert alone("import-after-patch", text, places=(("other.py", row),)) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("import x\n{}monkey.patch_all()\n", "{}monkey.patch_all()\n\nimport x\n"),
        (
            "'Why.'\nimport x\n{}\nmonkey.patch_all()\n",
            "'Why.'\n{}\nmonkey.patch_all()\n\nimport x\n",
        ),
        ("{}import x\nmonkey.patch_all()\n", "{}\nmonkey.patch_all()\n\nimport x\n"),
        ("{}monkey.patch_all()\n", None),
        ("from x import monkey\nmonkey.patch_all()\n", None),
        ("import x, gevent.monkey\ngevent.monkey.patch_all()\n", None),
    ],
)
def test_a_patch_is_moved_to_the_top(text, wanted):
    text = text.format(PATCH)
    row = next(n for n, line in enumerate(text.split("\n"), 1) if "patch_all" in line)
    after = alone("patch-first", text, places=(("app.py", row),))

    assert (None if wanted is None else wanted.format(PATCH)) == after


@pytest.mark.parametrize(
    ("text", "names", "wanted"),
    [
        ("x  <<# gblock: ignore>>\n", (), "x\n"),
        ("<<# gblock: ignore>>\nx\n", (), "x\n"),
        ("x  <<# gblock: ignore[a]>> # why\n", ("a",), "x  # why\n"),
        ("x  <<# gblock: ignore[a, b]>>\n", ("a",), "x  # gblock: ignore[b]\n"),
        ("x  <<# gblock: ignore>>\n", ("a",), None),
        ("x  <<# gblock: ignore[a]\n>>\n", ("a",), None),
    ],
)
def test_a_comment_loses_what_hides_nothing(text, names, wanted):
    assert wanted == alone("remove-ignore", text, names=names)


def test_a_file_that_is_gone_or_broken_has_no_fix():
    one = Diagnostic(
        "gone.py",
        Location(1, 1),
        Location(1, 2),
        "",
        Severity.ERROR,
        "",
        "",
        repair=Repair("remove-ignore"),
    )

    assert fixes.of(one, lambda _: None) is None
    assert fixes.of(one, lambda _: "def (:\n") is None
    assert fixes.of(one._replace(repair=None), lambda _: "x\n") is None
