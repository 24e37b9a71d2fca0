"""Branches that no run takes: nothing in them is reported."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock.config import Config

DEAD = {
    "a flag": "flag = False\nif flag: CALL",
    "a flag that is None": "flag = None\nif flag: CALL",
    "one that is compared": "flag = None\nif flag is not None: CALL",
    "not a flag": "flag = True\nif not flag: CALL",
    "else": "flag = True\nif flag: pass\nelse: CALL",
    "elif": "flag = False\nif given: pass\nelif flag: CALL",
    "and": "flag = False\nif given and flag: CALL",
    "or": "flag = off = False\nif flag or off: CALL",
    "below another test": "flag = False\nif flag:\n    if given: CALL",
    "in a loop": "flag = False\nfor one in given:\n    if flag: CALL",
    "a constant": "if 0: CALL",
    "a loop": "while False: CALL",
}
ALIVE = {
    "the other value": "flag = True\nif flag: CALL",
    "set again": "flag = False\nif given: flag = True\nif flag: CALL",
    "set by a loop": "flag = False\nfor flag in given: pass\nif flag: CALL",
    "set by an operator": "flag = False\nflag |= given\nif flag: CALL",
    "set in a test": "flag = False\nif (flag := given): CALL",
    "set by a function in it": (
        "flag = False\ndef on():\n    nonlocal flag\n    flag = True\non()\nif flag: CALL"
    ),
    "global": "global flag\nflag = False\nif flag: CALL",
    "a parameter": "given = False if given else given\nif given: CALL",
    "a parameter that is set": "given = False\nif given: CALL",
    "set by with": "flag = None\nwith given as flag: pass\nif flag: CALL",
    "set by except": "flag = None\ntry: pass\nexcept OSError as flag: CALL",
    "imported": "flag = None\nif given: import flag\nif flag: CALL",
    "unknown": "flag = bool(given)\nif flag: CALL",
    "or something unknown": "flag = False\nif flag or given: CALL",
    "and something unknown": "flag = True\nif flag and given: CALL",
    "another type": "flag = []\nif flag: CALL",
    "of another function": "def other():\n    flag = False\nif flag: CALL",
    "matched": "flag = None\nmatch given:\n    case [flag]: pass\nif flag: CALL",
    "a flag of the module": "if OFF: CALL",
}


def reported(root, body):
    text = textwrap.indent(body.replace("CALL", "os.wait()"), "    ")
    (root / "app.py").write_text(
        "from gevent import monkey\nmonkey.patch_all()\nimport gevent, os\nOFF = False\n"
        f"def run(given):\n{text}\ngevent.spawn(run, os.environ).join()\n"
    )
    found = check([str(root)], Config(root=str(root))).diagnostics
    return [one.symbol for one in found]


@pytest.mark.parametrize("body", DEAD.values(), ids=DEAD)
def test_what_never_runs_is_not_reported(body, tmp_path):
    assert reported(tmp_path, body) == []


@pytest.mark.parametrize("body", ALIVE.values(), ids=ALIVE)
def test_what_may_run_is_reported(body, tmp_path):
    assert reported(tmp_path, body) == ["os.wait"]
