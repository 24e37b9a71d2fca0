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

from gblock import catalog, engine, fixes, measurements, repairs, rules
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


@pytest.mark.parametrize("path", LOOSE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_fixes_of_the_fixtures(tree, path):
    root = tree({path.name: path.read_bytes()})
    assert_right(request_for(root))


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.name)
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
