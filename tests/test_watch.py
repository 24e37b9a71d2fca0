"""`gblock check --watch`: one check after another, each when something has changed."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time

import pytest
from harness import measured

from gblock import cli

CLEAN = "import time\n"
BLOCKING = "import os\n\n\ndef handle():\n    os.system('sync')\n"


class Watched:
    """A running `gblock check --watch`, whose output is read as it comes."""

    def __init__(self, directory):
        command = [sys.executable, "-u", "-m", "gblock", "check", "--watch", "--assume-gevent", "."]
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            env=measured(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = selectors.DefaultSelector()
        self._reader.register(self.process.stdout, selectors.EVENT_READ)

    def until(self, text, seconds=120.0):
        """Return what is written up to a text."""
        found, end = "", time.monotonic() + seconds
        while text not in found:
            if not self._reader.select(max(end - time.monotonic(), 0)):
                raise AssertionError(f"{text!r} is not in {found!r}")
            part = os.read(self.process.stdout.fileno(), 65536).decode()
            assert part, f"it ended after {found!r}"
            found += part
        return found


def put(path, text):
    """Write a file in one step: between two, a check would see it empty."""
    beside = path.parent.with_name(f"{path.parent.name}.new")
    beside.write_text(text)
    os.replace(beside, path)


@pytest.fixture
def watched(tree):
    root = tree({"pyproject.toml": "", "app.py": CLEAN})
    one = Watched(root)
    yield root, one
    one.process.send_signal(signal.SIGINT)
    try:
        one.process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        one.process.kill()
        one.process.communicate()


@pytest.mark.live
def test_it_checks_again_after_each_change_and_ends_with_an_interrupt(watched):
    root, run = watched
    assert "blocking-call" not in run.until("Ctrl-C")
    put(root / "app.py", BLOCKING)
    assert "blocking-call" in run.until("Ctrl-C")
    put(root / "new.py", BLOCKING)
    assert "new.py" in run.until("Ctrl-C")
    put(root / "pyproject.toml", "[tool.gblock]\nignore = 1\n")
    assert "error: " in run.until("Ctrl-C")
    put(root / "pyproject.toml", "[tool.gblock]\nignore = ['blocking-call']\n")
    assert "blocking-call]" not in run.until("Ctrl-C")
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(60) == 130


@pytest.mark.parametrize("option", ["--fix", "--diff", "--show-files", "--add-ignore", "-"])
def test_what_is_done_once_is_not_watched(option, capsys):
    assert cli.main(["check", "--watch", option]) == 2
    assert "--watch" in capsys.readouterr().err
