"""Run the probe's tests with several versions of gevent, each in an environment of its own.

    python benchmarks/versions.py FOLDER                        all of `VERSIONS`
    python benchmarks/versions.py FOLDER 3.10:21.12.0 ...       some of them

FOLDER keeps the environments for the next run. The interpreters are `python3.10`, `python3.11` and
so on, or those below `$PYENV_ROOT/versions`. A test that fails runs once more, alone: on a machine
with little to spare, tests that time processes fail by chance. The exit code is 1 if one fails twice.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = [
    ("3.10", "21.12.0"),
    ("3.11", "22.10.2"),
    ("3.12", "23.9.1"),
    ("3.13", "24.11.1"),
    ("3.10", "26.9.0"),
    ("3.13", "26.9.0"),
]
"""The oldest gevent that is promised, the newest, and some between, where wheels exist."""
TESTS = [
    "test_blame.py",
    "test_callee.py",
    "test_events.py",
    "test_frames.py",
    "test_probe_servers.py",
    "test_pytest_plugin.py",
    "test_recorder.py",
    "test_route.py",
    "test_runtime_probe.py",
    "test_verdict.py",
]
NEEDED = [
    "bcrypt", "bottle", "celery", "cffi", "confluent-kafka", "flask", "gunicorn", "hypothesis",
    "jsonschema", "opentelemetry-sdk", "prometheus-client", "psycogreen", "psycopg2-binary", "pytest>=8",
    "pytest-xdist", "redis", "sentry-sdk",
]  # fmt: skip
OLD = [
    ((23, 7), ["setuptools<66", "zope.event<5", "zope.interface>=6,<7"]),
    ((24, 10), ["gunicorn<22"]),
]
"""Packages of its time that gevent before a version needs: to find its plug-ins, and a gunicorn that
accepts it."""


def interpreter(version: str) -> str:
    found = shutil.which(f"python{version}")
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    below = sorted(root.glob(f"{version}.*/bin/python"))
    if found is None and not below:
        raise SystemExit(f"there is no python{version}")
    return str(below[-1]) if below else str(found)


def environment(folder: Path, python: str, gevent: str) -> Path:
    """Make the environment, or install this tree again into the one that is there."""
    place = folder / f"{python}-{gevent}"
    executable = place / "bin" / "python"
    pip = [str(executable), "-m", "pip", "install", "--quiet"]
    if not executable.exists():
        subprocess.run([interpreter(python), "-m", "venv", str(place)], check=True)
        number = tuple(map(int, gevent.split(".")[:2]))
        old = [name for before, names in OLD if number < before for name in names]
        before = [name for name in NEEDED if name not in {one.partition("<")[0] for one in old}]
        subprocess.run(
            [*pip, "--prefer-binary", f"gevent=={gevent}", *before, *old, str(ROOT)], check=True
        )
    else:
        subprocess.run([*pip, "--no-deps", "--force-reinstall", str(ROOT)], check=True)
    return executable


def tested(executable: Path, tests: list[str]) -> tuple[str, list[str]]:
    """Return pytest's last line, and the tests that failed."""
    own = {name: value for name, value in os.environ.items() if "PYTHON" not in name}
    own["PATH"] = f"{executable.parent}{os.pathsep}{own.get('PATH', '')}"
    done = subprocess.run(
        [str(executable), "-m", "pytest", "-q", "-n", "0", "-m", "live or not live",
         "-p", "no:cacheprovider", *tests],
        cwd=ROOT, env=own, capture_output=True, text=True,
    )  # fmt: skip
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode and not failed:
        failed = [done.stdout[-500:] + done.stderr[-500:]]
    return done.stdout.strip().rpartition("\n")[2], failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("versions", nargs="*", help="PYTHON:GEVENT")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    chosen = [tuple(one.split(":")) for one in options.versions] or VERSIONS
    are_bad = False
    for python, gevent in chosen:
        executable = environment(options.folder.resolve(), python, gevent)
        line, failed = tested(executable, [f"tests/{name}" for name in options.tests])
        print(f"Python {python}, gevent {gevent}: {line}", flush=True)
        if failed:
            line, twice = tested(executable, failed)
            print(f"    the {len(failed)} that failed, again: {line}", flush=True)
            for name in twice:
                print(f"    {name}", flush=True)
            are_bad = are_bad or bool(twice)
    return 1 if are_bad else 0


if __name__ == "__main__":
    sys.exit(main())
