"""The ways in which services spell an argument that makes a client cooperative."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock.config import Config

SERVICE = """\
from gevent import monkey; monkey.patch_all()
import functools
import gevent
import mysql.connector
BEFORE


def work():
    CONNECT.cursor().execute("select 1")


gevent.spawn(work).join()
"""
CONNECT = "mysql.connector.connect"
SPELLED = {
    "a keyword": ("", f"{CONNECT}(host='db', use_pure=PURE)"),
    "a name": ("FLAG = PURE", f"{CONNECT}(use_pure=FLAG)"),
    "a dict": ("", f"{CONNECT}(**{{'host': 'db', 'use_pure': PURE}})"),
    "a dict's name": ("OPTIONS = {'use_pure': PURE}", f"{CONNECT}(**OPTIONS)"),
    "dict()": ("OPTIONS = dict(host='db', use_pure=PURE)", f"{CONNECT}(**OPTIONS)"),
    "dict() of a dict": ("A = {'host': 'db'}", f"{CONNECT}(**dict(A, use_pure=PURE))"),
    "a dict in a dict": ("A = {'use_pure': PURE}", f"{CONNECT}(**{{'host': 'db', **A}})"),
    "two dicts": ("A, B = {'host': 'db'}, {'use_pure': PURE}", f"{CONNECT}(**A, **B)"),
    "a union": ("A = {'host': 'db'}", f"{CONNECT}(**(A | {{'use_pure': PURE}}))"),
    "a union's name": (
        "A = {'host': 'db'}\nB = A | {'port': 1, 'use_pure': PURE}",
        f"{CONNECT}(**B)",
    ),
    "a copy": ("A = {'use_pure': PURE}\nB = A.copy()", f"{CONNECT}(**B)"),
    "stored later": ("A = {'host': 'db'}\nA['use_pure'] = PURE", f"{CONNECT}(**A)"),
    "updated": ("A = {'host': 'db'}\nA.update(use_pure=PURE)", f"{CONNECT}(**A)"),
    "updated with a dict": (
        "A = {'host': 'db'}\nA.update({'use_pure': PURE})",
        f"{CONNECT}(**A)",
    ),
    "a function's dict": (
        "def options():\n    return {'use_pure': PURE}",
        f"{CONNECT}(**options())",
    ),
    "a class's dict": ("class S:\n    DB = {'use_pure': PURE}", f"{CONNECT}(**S.DB)"),
    "a dict of dicts": ("ALL = {'a': {'use_pure': PURE}}", f"{CONNECT}(**ALL['a'])"),
    "a partial": (
        f"connect = functools.partial({CONNECT}, use_pure=PURE)",
        "connect(host='db')",
    ),
    "a function that hands on": (
        f"def connect(**more):\n    return {CONNECT}(use_pure=PURE, **more)",
        "connect(host='db')",
    ),
    "a parameter": (
        f"def connect(pure):\n    return {CONNECT}(use_pure=pure)",
        "connect(PURE)",
    ),
    "a parameter's default": (
        f"def connect(pure=PURE):\n    return {CONNECT}(use_pure=pure)",
        "connect()",
    ),
    "another module": ("import settings", f"{CONNECT}(**settings.DB)"),
}


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize(("before", "call"), SPELLED.values(), ids=SPELLED)
def test_an_argument_decides_however_it_is_spelled(tree, before, call, pure):
    service = SERVICE.replace("BEFORE", textwrap.dedent(before)).replace("CONNECT", call)
    files = {"service.py": service, "settings.py": "DB = {'use_pure': PURE}\n"}
    root = tree({name: text.replace("PURE", str(pure)) for name, text in files.items()})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))

    found = check([str(root)], config).diagnostics
    assert pure is not bool([d for d in found if d.code == "blocking-call"])
