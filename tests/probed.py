"""A process with the probe in it, and what it recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

# For programs of their own: the functions alone.
SETTLE = '''
import sys, time
import gevent


def looks():
    """The samples of this hub so far, None while nothing samples it."""
    probe = getattr(sys.modules.get("gblock.runtime_probe"), "_probe", None)
    watch = probe and probe.watches.get(id(gevent.get_hub()))
    return watch.sampler.samples if watch and watch.sampler.disabled is None else None


def settle(seconds=0.15):
    """Let the loop turn and the probe look at it twice; nothing here blocks.

    A loaded machine may need longer.
    """
    began, seen = time.perf_counter(), looks()
    while (elapsed := time.perf_counter() - began) < 10:
        gevent.sleep(0.005)
        now = looks()
        if elapsed >= seconds and (now is None or seen is None or now >= seen + 2):
            return
'''
# A script says what it did itself, by lines of this module on its stdout.
PRELUDE = f"""
import sys, time, os
from gevent import monkey
monkey.patch_all()
import gevent
from gevent.monkey import get_original
pause = get_original("time", "sleep")
{SETTLE}
settle(0.03)  # a call before the first iteration of the hub blocks no greenlet
"""


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
    """The end of a process, and its records."""

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
    timeout=240,
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


def wait_until(true, seconds=120):
    """Wait for something to become true, and say whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return bool(true())
