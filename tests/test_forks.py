"""Code that only a child process runs."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock.config import Config

CHILD = "if {0}:\n    os.wait()\n    os._exit(0)\n"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("pid = os.fork()\n" + CHILD.format("pid == 0"), 0),
        ("pid = os.fork()\n" + CHILD.format("not pid"), 0),
        (CHILD.format("os.fork() == 0"), 0),
        (CHILD.format("not os.fork()"), 0),
        ("pid, fd = pty.fork()\n" + CHILD.format("pid == 0"), 0),
        ("pid = os.fork()\nif pid:\n    x = 1\nelse:\n    os.wait()\n    os._exit(0)\n", 0),
        (
            "pid = os.fork()\nif pid > 0:\n    x = 1\nelse:\n    os.wait()\n    os.execv(x, x)\n",
            0,
        ),
        ("if not os.fork():\n    try:\n        os.wait()\n    finally:\n        os._exit(1)\n", 0),
        ("if not os.fork():\n    child()\n    os._exit(1)\n", 0),
        ("pid = os.fork()\n" + CHILD.format("pid"), 1),
        ("pid = os.fork()\n" + CHILD.format("pid > 0"), 1),
        ("pid = os.fork()\n" + CHILD.format("pid == 1"), 1),
        ("pid = os.getpid()\n" + CHILD.format("pid == 0"), 1),
        ("pid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.wait()\n", 1),
        ("pid = os.fork()\nif pid == 0:\n    os.wait()\n", 1),
        ("if not os.fork():\n    os.wait()\n    serve_forever()\n    os._exit(1)\n", 1),
        ("if not os.fork():\n    child()\n    os._exit(1)\nchild()\n", 1),
    ],
)
def test_what_a_child_does_before_it_ends_delays_no_greenlet(tmp_path, code, count):
    text = (
        "from gevent import monkey; monkey.patch_all()\nimport gevent, os, pty\n"
        f"def run():\n{textwrap.indent(code, '    ')}\ngevent.spawn(run).join()\n"
    )
    if "child()" in code:
        text = text.replace("def run", "def child(): os.wait()\ndef run")
    (tmp_path / "main.py").write_text(text, encoding="utf-8")
    report = check([str(tmp_path)], Config(root=str(tmp_path)), assume_gevent=False)
    found = [one.code for one in report.diagnostics]
    assert ["blocking-call"] * count == found
