"""Small services, really started: what gblock says of their patching is what they say."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import probed
import pytest
from harness import CATALOG

from gblock import files
from gblock.project.names.inference import Inference
from gblock.project.processes.patching import PATCHED
from gblock.project.processes.process import COMPLETE, NONE, SERVER
from gblock.project.processes.processes import Processes
from gblock.project.reading.modules import Modules
from gblock.project.remarks.order import Order

PROJECTS = Path(__file__).parent / "fixtures" / "projects"
PATIENCE = 120
"""Seconds: a busy machine starts a server slowly."""
UWSGI = os.path.join(os.path.dirname(sys.executable), "uwsgi")


def needs(package):
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None, reason=f"not installed: {package}"
    )


# How each project is patched, and whether its clock has bound the blocking time.sleep by then.
WEB = [
    pytest.param("gunicorn_service", SERVER, set(), False, marks=needs("gunicorn")),
    pytest.param("gunicorn_preload", SERVER, set(), True, marks=needs("gunicorn")),
    pytest.param("gunicorn_worker_class", "partial", {"threading"}, False, marks=needs("gunicorn")),
    pytest.param("gunicorn_late_patch", COMPLETE, set(), True, marks=needs("gunicorn")),
    pytest.param("plain_service", COMPLETE, set(), False),
    pytest.param(
        "plain_late_patch",
        "partial",
        {"os", "queue", "selectors", "signal", "ssl", "subprocess", "threading"},
        True,
    ),
]
CELERY = [
    pytest.param("celery_service", SERVER, set(), False),
    pytest.param("celery_own_main", NONE, set(PATCHED), True),
    pytest.param("celery_late_patch", COMPLETE, set(), True),
]


def the_processes(name):
    """All processes of a project."""
    root = str(PROJECTS / name)
    modules = Modules(root, [str(Path(path).resolve()) for path in files.find([root]).files])
    return Processes(Inference(modules, CATALOG))


def the_process(name):
    """The one process of a project that its Procfile or its settings start."""
    return next(p for p in the_processes(name).all() if p.runs_on_gevent == "yes")


def command(name):
    """The words of the project's Procfile, with the programs that are installed beside Python."""
    text = (PROJECTS / name / "Procfile").read_text(encoding="utf-8").partition(":")[2]
    program, *words = shlex.split(text)
    if program == "python":
        return [sys.executable, *words]
    return [sys.executable, "-m", program, *words]


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextlib.contextmanager
def started(words, name, log, **settings):
    """A process that is ended with the block, and all that it started."""
    settings = {"PYTHONDONTWRITEBYTECODE": 1, "PYTHONPATH": PROJECTS / name, **settings}
    words = [word.replace("$PORT", str(settings.get("PORT", ""))) for word in words]
    with log.open("wb") as output:
        process = subprocess.Popen(
            words,
            cwd=PROJECTS / name,
            env=probed.environment(**settings),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def told_by(port, process, log):
    """Return the answer of the running process."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        refused = contextlib.suppress(urllib.error.URLError, ConnectionError)
        with refused, urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            return json.load(answer)
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


def asked(name, tmp_path, words=None):
    port, log = free_port(), tmp_path / "log"
    with started(words or command(name), name, log, PORT=port) as process:
        return told_by(port, process, log)


def agrees(process, told):
    """The modules of which gblock says that they are patched, and those that are."""
    patched = set() if process.patched == NONE else set(PATCHED) - set(process.missing)
    return sorted(patched) == told["patched"]


@pytest.mark.parametrize(("name", "patched", "missing", "captured"), [*WEB, *CELERY])
def test_what_gblock_says_of_a_service(name, patched, missing, captured):
    process = the_process(name)

    assert (patched, missing) == (process.patched, set(process.missing))
    assert process.preload == (name == "gunicorn_preload")
    if patched != NONE:
        order = Order(the_processes(name))
        kept = {os.path.basename(step.path) for step, _ in order.late(process)}
        assert captured == ("clock.py" in kept)


@pytest.mark.live
@pytest.mark.parametrize(("name", "patched", "missing", "captured"), WEB)
def test_a_web_service_says_the_same(name, patched, missing, captured, tmp_path):
    told = asked(name, tmp_path)

    assert agrees(the_process(name), told), told
    assert captured == told["captured"]


@pytest.mark.live
@needs("celery")
@pytest.mark.parametrize(("name", "patched", "missing", "captured"), CELERY)
def test_a_worker_of_celery_says_the_same(name, patched, missing, captured, tmp_path):
    told = told_by_task(name, command(name), tmp_path)

    assert agrees(the_process(name), told), told
    assert captured == told["captured"]


@pytest.mark.live
@needs("celery")
@pytest.mark.parametrize(
    ("option", "early"), [("-Pgevent", False), ("--pool=gevent", True), ("--pool gevent", True)]
)
def test_celery_patches_only_for_some_spellings_of_its_pool(option, early, tmp_path, tree):
    """Celery searches for ``-P`` as a separate word before it parses its options."""
    words = shlex.split(
        command_text := f"celery -A service.tasks worker {option} -c 2 "
        "--without-mingle --without-gossip"
    )
    told = told_by_task("celery_service", [sys.executable, "-m", *words], tmp_path)
    root = tree({"Procfile": f"worker: {command_text}\n", "service/tasks.py": ""})
    found = Processes(Inference(Modules(str(root), []), CATALOG)).all()

    assert [("yes", SERVER if early else NONE)] == [(p.runs_on_gevent, p.patched) for p in found]
    assert (early, not early) == (bool(told["patched"]), told["captured"])


def told_by_task(name, words, tmp_path):
    """Return a worker's output once it is ready, and, if it is patched, that of a task."""
    queue, results, log = tmp_path / "queue", tmp_path / "results", tmp_path / "log"
    queue.mkdir()
    results.mkdir()
    settings = {"QUEUE": queue, "RESULTS": results, "PYTHONPATH": PROJECTS / name}
    asking = "from service.tasks import report; print(report.delay().id)"
    subprocess.run(
        [sys.executable, "-c", asking],
        cwd=PROJECTS / name,
        env=probed.environment(PYTHONDONTWRITEBYTECODE=1, **settings),
        check=True,
        timeout=PATIENCE,
        capture_output=True,
    )
    with started(words, name, log, **settings) as process:
        told = read(lambda: results.glob("ready"), process, log)
        if not told["patched"]:
            return told  # its main loop blocks the hub: no task ever runs
        assert told == read(lambda: results.glob("celery-task-meta-*"), process, log)["result"]
        return told


def read(paths, process, log):
    """The first of some files that a process writes."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        for path in paths():
            with contextlib.suppress(ValueError):
                return json.loads(path.read_bytes())
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


@pytest.mark.live
@pytest.mark.skipif(not os.path.exists(UWSGI), reason="not installed: uwsgi")
def test_uwsgi_says_the_same(tmp_path):
    told = asked("uwsgi_service", tmp_path, [UWSGI, "--ini", "uwsgi.ini"])

    assert agrees(the_process("uwsgi_service"), told), told
    assert not told["captured"]
