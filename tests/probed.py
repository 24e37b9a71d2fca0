"""A process with the probe in it, and what it recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

# A script says what it did itself, by lines of this module on its stdout.
PRELUDE = '''
import sys, time, os
from gevent import monkey
monkey.patch_all()
import gevent
from gevent.monkey import get_original
pause = get_original("time", "sleep")


def settle(seconds=0.15):
    """Let the loop turn and the probe look; nothing here blocks."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        gevent.sleep(0.005)


settle(0.03)  # what blocks before the hub has run, blocks nobody
'''


def environment(directory=None, **settings):
    """The environment of a probed process: nothing of the probe's but what is given."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GBLOCK", "GEVENT", "PYTHONWARNINGS", "COVERAGE", "COV_"))
    }
    clean["PYTHONFAULTHANDLER"] = ""
    # What is installed beside this Python comes first: gunicorn, celery, gblock.
    clean["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), clean.get("PATH", "")])
    if directory is not None:
        clean |= {"GBLOCK_PROBE": "1", "GBLOCK_PROBE_DIR": str(directory)}
    return clean | {name: str(value) for name, value in settings.items()}


class Probed:
    """How a process ended, and its records."""

    def __init__(self, directory, returncode=0, stdout="", stderr=""):
        self.directory = Path(directory)
        self.returncode, self.stdout, self.stderr = returncode, stdout, stderr

    @property
    def files(self):
        return sorted(self.directory.glob("*.jsonl*"))

    def records(self, kind=None):
        """All records of all processes; a line that is not whole is an error."""
        found = []
        for path in self.files:
            lines = path.read_bytes().split(b"\n")
            for line in lines:
                if line:
                    record = json.loads(line) | {"path": path.name}
                    if kind in (None, record["type"]):
                        found.append(record)
        return found

    def blocks(self):
        """The blocks with their sites: block, site or None."""
        sites = {
            (site["path"].removesuffix(".1"), site["site"]): site for site in self.records("site")
        }
        return [
            (block, sites.get((block["path"].removesuffix(".1"), block["site"])))
            for block in self.records("block")
        ]

    def at(self, function):
        """The blocks whose innermost frame of the user's is in this function."""
        return [
            (block, site)
            for block, site in self.blocks()
            if site and site["user"] and site["user"]["function"].split(".")[-1] == function
        ]

    def symbols(self):
        return {site["symbol"] for _, site in self.blocks() if site}


def run(
    script,
    tmp_path,
    *,
    python=(),
    timeout=60,
    prelude=PRELUDE,
    probe=True,
    executable=sys.executable,
    **settings,
):
    """Run a script with the probe and return what came of it."""
    path = tmp_path / "script.py"
    path.write_text(prelude + textwrap.dedent(script), encoding="utf-8")
    records = tmp_path / "records"
    done = subprocess.run(
        [str(executable), *python, str(path)],
        env=environment(records if probe else None, **settings),
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=tmp_path,
    )
    return Probed(records, done.returncode, done.stdout, done.stderr)


def wait_until(true, seconds=20):
    """Wait for something to become true, and say whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return bool(true())
