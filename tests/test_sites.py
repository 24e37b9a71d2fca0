"""Call sites, each reported once."""

from __future__ import annotations

import textwrap

import pytest
from harness import assert_exactly, assert_project, check, report_of

from gblock.config import Config
from gblock.project.reading.generated import is_generated


@pytest.mark.parametrize(
    "text",
    [
        # connect() is reported, the end of its block is not
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


def test_calls_of_common_names_are_not_counted(tmp_path):
    text = (
        "from django.contrib.auth.forms import UserCreationForm\n"
        "def f(form, request):\n    form.save()\n    UserCreationForm(request.POST).save()\n"
    )
    report = report_of(tmp_path, text)

    assert report.unresolved == 0
    assert ["django-auth-form"] == [one.blocker for one in report.diagnostics]


def test_calls_of_unknown_receivers_are_counted(tmp_path):
    text = (
        "from confluent_kafka import Producer\ndef f(x):\n    x.flush()\n    Producer({}).poll(0)\n"
    )
    report = report_of(tmp_path, text)

    assert report.unresolved == 1
    assert not report.diagnostics


UNKNOWN = {
    "def f(x):\n    x.flush()": (
        "`x`, a parameter that no call in the project fills with a known object"
    ),
    "def f(x):\n    y = x\n    y.z.flush()": (
        "`z` of `x`, a parameter that no call in the project fills with a known object"
    ),
    "client = None\nclient.flush()": "an object that is only known to be None",
    "class A:\n    client = None\n    def f(self): self.client.flush()": (
        "an object that is only known to be None"
    ),
    "class A:\n    def f(self): self.client.flush()": (
        "`client`, an attribute that nothing in the project sets"
    ),
    "from elsewhere import make\nmake().flush()": "what `make()` returns",
    "from elsewhere import make\nx = make()\nx.flush()": "what `make()` returns",
    "from elsewhere import make\nwith make() as x:\n    x.flush()": "what `make()` returns",
    "def f(xs):\n    xs[0].flush()": "an element of a container",
    "def f(xs):\n    for x in xs:\n        x.flush()": "an element of a container",
    "def f(x, y):\n    (x or y).flush()": "one of several objects",
    "nothing.flush()": "a name that nothing in the project binds",
    "import importlib\n[f for f in a][0]().flush()": "what a call returns",
    "async def f(x):\n    (await x).flush()": (
        "`x`, a parameter that no call in the project fills with a known object"
    ),
    "x += 1\nx.flush()": "an expression that is not followed",
    "(lambda: 0)[0].flush()": "an element of a container",
    "(x < y).flush()": "an expression that is not followed",
    "x = ~y\nx.flush()": "an expression that is not followed",
    "(-1).flush()": None,
    "{}.get('a').flush()": "what `get()` returns",
}


@pytest.mark.parametrize(("text", "cause"), UNKNOWN.items())
def test_a_call_that_is_not_judged_is_listed_with_its_cause(tmp_path, text, cause):
    report = report_of(tmp_path, "from confluent_kafka import Producer\nProducer\n" + text)
    listed = [call.message for call in report.unresolved_calls]

    assert ([f"`flush()` is called on {cause}"] if cause else []) == listed


@pytest.mark.parametrize(
    "text",
    [
        "import redis\ndef f(x): x.get('key')",
        "import redis\ndef f(x): x.get('key', None)",
        "import redis\ndef f(x): x.setdefault('key', {})",
        "import logging, psycopg2\nlogging.getLogger().cursor()",
        "import logging, psycopg2\nlog = logging.getLogger()\nlog.cursor()",
    ],
)
def test_a_look_up_and_what_the_standard_library_returns_are_no_unresolved_calls(tmp_path, text):
    assert report_of(tmp_path, text).unresolved == 0


SERVICE = {
    "service/__init__.py": "",
    "service/shop_pb2_grpc.py": """
        # Generated by the gRPC Python protocol compiler plugin. DO NOT EDIT!
        import grpc
        from service import shop_pb2 as shop__pb2

        class ShopStub(object):
            def __init__(self, channel):
                self.List = channel.unary_unary(
                        '/shop.Shop/List',
                        request_serializer=shop__pb2.Query.SerializeToString,
                        response_deserializer=shop__pb2.Answer.FromString,
                        _registered_method=True)
                self.Watch = channel.unary_stream(
                        '/shop.Shop/Watch',
                        request_serializer=shop__pb2.Query.SerializeToString)

        class Shop(object):
            @staticmethod
            def List(request, target):
                return grpc.experimental.unary_unary(request, target, '/shop.Shop/List')
    """,
    "service/client.py": """
        import grpc
        from service import shop_pb2_grpc

        channel = grpc.insecure_channel("shop:1")
        stub = shop_pb2_grpc.ShopStub(channel)

        class Client:
            def __init__(self):
                self._stub = shop_pb2_grpc.ShopStub(channel)
            def find(self, query):
                return self._stub.List(query)  # expect: blocking-call
    """,
    "service/app.py": """
        from gevent import monkey
        monkey.patch_all()
        from service.client import Client, stub

        def handle(query):
            for answer in stub.Watch(query):  # expect: blocking-call
                print(answer)
            Client().find(query)
            Client()._stub.List(query)  # expect: blocking-call
            return stub.List(query)  # expect: blocking-call
    """,
}


@pytest.mark.parametrize(
    "made",
    [
        "channel.unary_unary('/q')",
        "grpc.insecure_channel('q:1').unary_unary('/q')",
        "grpc.intercept_channel(grpc.insecure_channel('q:1'), *ones).unary_unary('/q')",
        "grpc.insecure_channel(os.environ['Q']).unary_unary(  # the quotes\n            '/q')",
    ],
)
def test_an_attribute_that_holds_a_callable_is_called(tmp_path, made):
    text = f"""
        import os
        import grpc
        from gevent import monkey
        monkey.patch_all()
        channel, ones = grpc.insecure_channel("q:1"), []

        class Client:
            def __init__(self):
                self._rpc = {made}

            def call(self, payload):
                return self._rpc(payload, timeout=2)  # expect: blocking-call
        """
    (tmp_path / "client.py").write_text(textwrap.dedent(text))
    assert_project(tmp_path)


@pytest.mark.parametrize("built", [True, False])
def test_a_stub_of_grpc_is_followed_across_files_and_generated_code_is_left_out(tmp_path, built):
    for name, text in SERVICE.items():
        if built and name.endswith("_grpc.py"):
            continue
        if built and name.endswith("app.py"):
            continue
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text).lstrip("\n"))

    assert_project(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "generated"),
    [
        ("a_pb2.py", "import os\n", True),
        ("a_pb2_grpc.py", "import os\n", True),
        ("a.py", "# Generated by make. DO NOT EDIT.\n", True),
        ("a.py", "#!/usr/bin/env python\n\n# -*- coding: utf-8 -*-\n# @generated by x\n", True),
        ("a.py", "# Code generated by thrift. Do not modify!\n", True),
        ("a.py", "import os\n# Generated by make. DO NOT EDIT.\n", False),
        ("a.py", "# what is generated here: do edit it\n", False),
        ("a.py", "", False),
    ],
)
def test_generated_files_are_known_by_name_and_by_header(name, text, generated):
    assert generated == is_generated(f"/shop/{name}", text.encode())


def test_compiled_stylesheets_are_followed_under_the_name_that_keeps_them(tmp_path):
    (tmp_path / "sheets.py").write_text(
        "from lxml import etree\nclass Sheet:\n"
        "    def __init__(self, text): self.transform = etree.XSLT(text)\n"
    )
    (tmp_path / "main.py").write_text(
        "from sheets import Sheet\nfor x in y:\n"
        "    Sheet('').transform(x)  # expect: cpu-bound-call\n"
    )

    assert_project(tmp_path, select=["all"])


def test_a_function_is_followed_under_the_name_that_another_module_gives_it(tmp_path):
    files = {
        "tools.py": """\
            import hashlib, multiprocessing, os
            from functools import partial
            refresh = os.system
            stretch = partial(hashlib.scrypt, n=2**14, r=8, p=1)
            lock, no = multiprocessing.Lock(), False
            claim = partial(lock.acquire)
            try_to_claim = partial(lock.acquire, no)
            class Tools:
                refresh = staticmethod(os.system)
                again = staticmethod(getattr(os, "system"))
            """,
        "app.py": """\
            from gevent import monkey; monkey.patch_all()
            from flask import Flask
            import tools
            from tools import Tools, claim, try_to_claim
            app = Flask(__name__)
            @app.get("/")
            def index():
                tools.refresh("sync")  # expect: blocking-call
                Tools.refresh("sync")  # expect: blocking-call
                Tools.again("sync")  # expect: blocking-call
                claim()  # expect: blocking-call
                try_to_claim()
                try_to_claim(timeout=3)
                return tools.stretch(b"", salt=b"")  # expect: cpu-bound-call
            """,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")

    assert_project(tmp_path)


@pytest.mark.parametrize(
    "kept",
    [
        "pause = monkey.get_original('time', 'sleep')",
        "pause = staticmethod(monkey.get_original('time', 'sleep'))",
        "pause = staticmethod(partial(monkey.get_original('time', 'sleep'), 1))",
        "def __init__(self): self.pause = monkey.get_original('time', 'sleep')",
    ],
)
@pytest.mark.parametrize("in_module", [False, True])
def test_an_original_is_followed_to_the_attribute_that_keeps_it(tmp_path, kept, in_module):
    start = "from functools import partial\nfrom gevent import monkey, spawn\n"
    start += "monkey.patch_all()\n"
    calls = "    def tick(self): self.pause(1)  # expect: original-call\nspawn(Clock().tick)\n"
    if in_module:
        kept_there = f"{start}class Kept:\n    {kept}\n"
        (tmp_path / "kept.py").write_text(kept_there, encoding="utf-8")
        text = f"{start}from kept import Kept\nclass Clock(Kept):\n{calls}"
    else:
        text = f"{start}class Clock:\n    {kept}\n{calls}"
    (tmp_path / "app.py").write_text(text, encoding="utf-8")

    assert_project(tmp_path)


# -- password hashes whose arguments say that they are cheap


@pytest.mark.parametrize(
    ("call", "is_slow"),
    [
        ('generate_password_hash(p, method="pbkdf2:sha256:2000")', False),
        ('generate_password_hash(p, "pbkdf2:sha1:1000")', False),
        ('generate_password_hash(p, method="pbkdf2:sha256:20000")', True),
        ('generate_password_hash(p, method="pbkdf2:sha256:600000")', True),
        ('generate_password_hash(p, method="pbkdf2:sha256")', True),
        ('generate_password_hash(p, method="plain")', False),
        ('generate_password_hash(p, method="sha256")', False),
        ('generate_password_hash(p, method="scrypt:1024:8:1")', False),
        ('generate_password_hash(p, method="scrypt:32768:8:1")', True),
        ("generate_password_hash(p)", True),
        ("generate_password_hash(p, method=METHOD)", False),
        ("generate_password_hash(p, method=p)", True),
        ("crypt.crypt(p)", False),
        ("crypt.crypt(p, crypt.METHOD_MD5)", False),
        ("crypt.crypt(p, salt=crypt.METHOD_SHA512)", False),
        ("crypt.crypt(p, crypt.METHOD_BLOWFISH)", True),
        ('crypt.crypt(p, "$1$salt")', False),
        ('crypt.crypt(p, "$1${}".format(p))', False),
        ('crypt.crypt(p, f"$1${p}")', False),
        ('crypt.crypt(p, "$1$%s" % p)', False),
        ('crypt.crypt(p, "$1$" + p)', False),
        ('crypt.crypt(p, "ab")', False),
        ('crypt.crypt(p, "$6$salt")', False),
        ('crypt.crypt(p, "$6$rounds=656000$salt")', True),
        ('crypt.crypt(p, f"$6${p}")', True),
        ('crypt.crypt(p, f"{p}$1$")', True),
        ('crypt.crypt(p, "$2b$12$" + p)', True),
        ("crypt.crypt(p, p)", True),
        ("flask_bcrypt.generate_password_hash(p, 4)", False),
        ("flask_bcrypt.generate_password_hash(p, rounds=12)", True),
        ("flask_bcrypt.generate_password_hash(p)", True),
        ("bcrypt.kdf(p, p, 32, 1)", False),
        ("bcrypt.kdf(p, p, 32, 100)", True),
        ("KDF.PBKDF2(p, p)", False),
        ("KDF.PBKDF2(p, p, 16, 10000)", False),
        ("KDF.PBKDF2(p, p, count=1000000)", True),
        ("KDF.scrypt(p, p, 16, 1024, 8, 1)", False),
        ("KDF.scrypt(p, p, 16, 2 ** 14, 8, 1)", True),
        ("KDF.bcrypt(p, 4)", False),
        ("KDF.bcrypt(p, 12)", True),
        ("bcrypt.hashpw(p, bcrypt.gensalt(4))", False),
        ("bcrypt.hashpw(p, salt=bcrypt.gensalt(rounds=ROUNDS))", False),
        ("bcrypt.hashpw(p, bcrypt.gensalt(12))", True),
        ("bcrypt.hashpw(p, bcrypt.gensalt())", True),
        ("bcrypt.hashpw(p, p)", True),
        ("PasswordHasher(time_cost=1, memory_cost=8).hash(p)", False),
        ("PasswordHasher(time_cost=1, memory_cost=65536).hash(p)", True),
        ("PasswordHasher().verify(p, p)", True),
        ("sha512_crypt.using(rounds=1000).hash(p)", False),
        ("sha512_crypt.using(rounds=656000).hash(p)", True),
        ("sha512_crypt.using().hash(p)", True),
        ('CryptContext(["bcrypt"], bcrypt__rounds=4).verify(p, p)', False),
        ('CryptContext(["bcrypt"], bcrypt__rounds=12).verify(p, p)', True),
        ('CryptContext(["bcrypt"]).verify(p, p)', True),
        ("apps.custom_app_context.verify(p, p)", True),
        ("apps.custom_app_context.encrypt(p)", True),
        ("hosts.linux_context.hash(p)", True),
        ("apps.mysql_context.hash(p)", False),
        ("apps.postgres_context.verify(p, p)", False),
        ("PBKDF2HMAC(p, 32, p, iterations=1000).derive(p)", False),
        ("PBKDF2HMAC(p, 32, p, 600_000).derive(p)", True),
        ("Scrypt(salt=p, length=32, n=1024, r=8, p=1).derive(p)", False),
        ("Scrypt(salt=p, length=32, n=2**14, r=8, p=1).derive(p)", True),
        ("scrypt.hash(p, p, N=1024)", False),
        ("scrypt.encrypt(p, p, 5)", True),
        ("hash_secret(p, p, 1, 512, 1, 16, 2)", False),
        ("hash_secret(p, p, 3, 65536, 4, 16, 2)", True),
        ("sha512_crypt.hash(p, rounds=5000)", False),
        ("sha512_crypt.hash(p, rounds=656000)", True),
        ("sha512_crypt.hash(p)", True),
    ],
)
def test_a_cheap_hash_is_no_site(tmp_path, call, is_slow):
    text = (
        "import bcrypt, crypt, flask_bcrypt, scrypt\n"
        "from Crypto.Protocol import KDF\n"
        "from argon2 import PasswordHasher\n"
        "from argon2.low_level import hash_secret\n"
        "from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC\n"
        "from cryptography.hazmat.primitives.kdf.scrypt import Scrypt\n"
        "from passlib import apps, hosts\n"
        "from passlib.context import CryptContext\n"
        "from passlib.hash import sha512_crypt\n"
        "from werkzeug.security import generate_password_hash\n"
        f'METHOD, ROUNDS = "pbkdf2:sha256:1000", 4\ndef login(p): return {call}\n'
    )
    assert is_slow == bool(report_of(tmp_path, text).diagnostics)


WERKZEUG = "from werkzeug.security import check_password_hash, generate_password_hash\n"


@pytest.mark.parametrize(
    ("made", "is_slow"),
    [
        ('generate_password_hash(p, method="sha256")', False),
        ('generate_password_hash(p, "pbkdf2:sha256:1000")', False),
        ('generate_password_hash(p, "plain"), generate_password_hash(p, "md5")', False),
        ("generate_password_hash(p, method=METHOD)", False),
        ('generate_password_hash(p, "sha256"), generate_password_hash(p)', True),
        ('generate_password_hash(p, "sha256"), map(generate_password_hash, p)', True),
        ("generate_password_hash(p)", True),
        ("generate_password_hash(p, method=p)", True),
        ("p", True),
    ],
)
def test_a_check_is_as_cheap_as_the_hashes_of_the_project(tmp_path, made, is_slow):
    (tmp_path / "users.py").write_text(
        f'{WERKZEUG}METHOD = "sha256"\ndef create(p): return {made}\n'
    )
    (tmp_path / "logins.py").write_text(
        f"{WERKZEUG}def login(user, p): return check_password_hash(user.password, p)\n"
    )
    config = Config(root=str(tmp_path), filename=str(tmp_path / "gblock.toml"))
    found = check([str(tmp_path)], config, min_severity="note").diagnostics
    blockers = [one.blocker for one in found if one.filename.endswith("logins.py")]
    assert ["werkzeug-check-password-hash"] * is_slow == blockers


@pytest.mark.parametrize(
    ("made", "check_of", "is_slow"),
    [
        ("bcrypt.hashpw(p, bcrypt.gensalt(4))", "bcrypt.checkpw(p, p)", False),
        ("bcrypt.hashpw(p, bcrypt.gensalt())", "bcrypt.checkpw(p, p)", True),
        ("bcrypt.hashpw(p, stored)", "bcrypt.checkpw(p, p)", True),
        (
            "flask_bcrypt.generate_password_hash(p, 4)",
            "flask_bcrypt.check_password_hash(p, p)",
            False,
        ),
        ("flask_bcrypt.generate_password_hash(p)", "flask_bcrypt.check_password_hash(p, p)", True),
    ],
)
def test_a_check_of_bcrypt_is_as_cheap_as_its_hashes(tmp_path, made, check_of, is_slow):
    text = f"import bcrypt, flask_bcrypt\ndef create(p, stored): {made}\ndef login(p): {check_of}\n"
    found = report_of(tmp_path, text).diagnostics
    assert is_slow == any(one.location.row == 3 for one in found)


KEPT = {
    "an attribute": (
        "class Scorer:\n    def __init__(self):\n        self.net = torch.load('net').eval()\n"
        "    def score(self, rows): return self.net(rows)\n",
        "scorer = Scorer()\n",
    ),
    "a keyword of a constructor": (
        "class Scorer:\n    def __init__(self, net):\n        self._net = net\n"
        "    def score(self, rows): return self._net(rows)\n",
        "scorer = Scorer(net=torch.load('net').cuda())\n",
    ),
    "a name": (
        "class Scorer:\n    def __init__(self, net):\n        self._net = net\n"
        "    def score(self, rows): return self._net(rows)\n",
        "net = torch.load('net').half()\nscorer = Scorer(net)\n",
    ),
    "a field": (
        "from dataclasses import dataclass\nfrom typing import Any\n@dataclass\nclass Scorer:\n"
        "    net: Any\n    @classmethod\n    def load(cls):\n"
        "        return cls(net=torch.jit.load('net').eval())\n"
        "    def score(self, rows): return self.net(rows)\n",
        "scorer = Scorer.load()\n",
    ),
}


@pytest.mark.parametrize(("cls", "made"), KEPT.values(), ids=KEPT)
def test_an_object_that_blocks_when_called_is_found_where_it_is_kept(tree, cls, made):
    root = tree(
        {
            "scorer.py": f"import torch\n{cls}",
            "app.py": "import torch\nfrom flask import Flask\nfrom scorer import Scorer\n"
            f"app = Flask('a')\n{made}"
            "@app.route('/')\ndef show():\n    return scorer.score([])\n",
            "Procfile": "web: gunicorn -k gevent app:app\n",
        }
    )
    found = check([str(root)], Config(root=str(root))).diagnostics

    assert ["torch-module"] == [one.blocker for one in found]


@pytest.mark.parametrize(
    "call",
    [
        "list(map(CALLED, names))",
        "list(filter(CALLED, names))",
        "for one in iter(CALLED, None): pass",
        "next(iter(CALLED, 0))",
        "sorted(names, key=CALLED)",
        "max(names, key=CALLED)",
        "min(names, key=CALLED)",
        "functools.reduce(CALLED, names)",
        "list(itertools.starmap(CALLED, names))",
    ],
)
@pytest.mark.parametrize(
    ("called", "blocks"),
    [
        ("os.system", True),
        ("functools.partial(os.system, 'make')", True),
        ("consumer.poll", True),
        ("functools.partial(consumer.poll, 0)", False),
        ("len", False),
        ("names", False),
    ],
)
def test_what_a_builtin_calls_blocks_there(tmp_path, call, called, blocks):
    assert_exactly(
        tmp_path,
        "import functools\nimport itertools\nimport os\nfrom confluent_kafka import Consumer\n"
        "consumer = Consumer({})\n"
        "def f(names):\n"
        f"    {call.replace('CALLED', called)}{'  # expect: blocking-call' if blocks else ''}\n",
    )


@pytest.mark.parametrize(
    "use",
    [
        "for row in OBJECT: print(row)",
        "return [row for row in OBJECT]",
        "return {row for row in OBJECT if row}",
        "return {row: 1 for row in OBJECT}",
        "return sum(row[0] for row in OBJECT)",
        "return [cell for row in OBJECT for cell in row]",
        "return [row for one in names for row in OBJECT]",
        "yield from OBJECT",
        "return list(OBJECT)",
        "return tuple(OBJECT)",
        "return dict(OBJECT)",
        "return sorted(OBJECT, key=len)",
        "return next(OBJECT)",
        "names.extend(OBJECT)",
        "for number, row in enumerate(OBJECT): print(row)",
        "return dict(zip(names, OBJECT))",
        "return ''.join(OBJECT)",
    ],
)
@pytest.mark.parametrize(
    ("rows", "blocks"),
    [
        ("MySQLdb.cursors.SSCursor", True),
        ("MySQLdb.cursors.Cursor", False),
        ("pymysql.cursors.SSCursor", False),
        ("list", False),
    ],
)
def test_every_iteration_over_an_object_that_waits_is_one(tmp_path, use, rows, blocks):
    assert_exactly(
        tmp_path,
        "import MySQLdb.cursors\nimport pymysql.cursors\n"
        f"def f(names, rows: {rows}):\n"
        f"    {use.replace('OBJECT', 'rows')}{'  # expect: blocking-call' if blocks else ''}\n",
    )
