"""The probe in real servers, with real clients of real brokers and databases."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import probed
import pytest
import sessions

pytestmark = pytest.mark.live


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def fetch(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120) as answer:
        return answer.read().decode()


class Server:
    """A process that is ended with the test."""

    def __init__(self, words, tmp_path, **settings):
        self.log = tmp_path / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                words,
                env=probed.environment(tmp_path / "records", **settings),
                cwd=tmp_path,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.result = probed.Probed(tmp_path / "records")

    def __enter__(self):
        return self

    def __exit__(self, *what):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        with contextlib.suppress(ProcessLookupError):  # workers that survived
            os.killpg(self.process.pid, signal.SIGKILL)


APPLICATION = """
import os, time
from gevent.monkey import get_original

pause = get_original("time", "sleep")

def view_that_blocks():
    pause(0.3)

def app(environ, start_response):
    if environ["PATH_INFO"] == "/block":
        view_that_blocks()
    if environ["PATH_INFO"] == "/crash":
        view_that_blocks()
        time.sleep(0.2)
        os.kill(os.getpid(), 9)
    time.sleep(0.002)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""


@needs("gunicorn")
@pytest.mark.parametrize("preload", [False, True])
def test_each_worker_of_gunicorn_is_watched(tmp_path, preload):
    (tmp_path / "service.py").write_text(APPLICATION, encoding="utf-8")
    port = free_port()
    words = [sys.executable, "-m", "gunicorn", "-k", "gevent", "-w", "2", "-b", f"127.0.0.1:{port}"]
    words += ["--preload"] * preload + ["service:app"]
    with Server(words, tmp_path) as server:
        assert probed.wait_until(lambda: listens(port)), server.log.read_text()
        pids, asked = set(), time.monotonic()
        while len(pids) < 2 and time.monotonic() - asked < 120:
            pids.add(fetch(port, "/block"))
        # gunicorn starts another worker for the one that dies.
        with pytest.raises(OSError, match=r".*"):
            fetch(port, "/crash")
        assert probed.wait_until(lambda: len(server.result.records("start")) >= 3)
        fetch(port, "/block")
    result = server.result

    assert b"Traceback" not in server.log.read_bytes()
    blocks = result.at("view_that_blocks")
    assert pids <= {block["path"].split("-")[-2] for block, _ in blocks}
    assert {"waits"} == {block["class"] for block, _ in blocks}
    workers = {start["pid"] for start in result.records("start")}
    assert server.process.pid not in workers
    assert len(workers) == len(result.records("start"))
    # Those that were asked to end say so; the one that was killed cannot.
    ended = {end["path"] for end in result.records("end")}
    assert len(ended) == len(workers) - 1


ROOT = Path(__file__).parent.parent


def alike(text, folder):
    """The text without what differs from run to run."""
    return sessions.alike(text.replace(str(folder), "/srv"))


def marked(text, name, language):
    """The block of the README after this marker."""
    (found,) = re.findall(
        rf"<!-- {name} -->\n```{language}\n(.*?)```\n<!-- end -->", text, re.DOTALL
    )
    return found


def played(shown, folder):
    """Run the commands of a session as a shell would; return what it shows, and stderr."""
    port = free_port()
    commands = [line[2:] for line in shown.splitlines() if line.startswith("$ ")]
    assert 4 == len(commands)
    # A person would wait until the service is up.
    up = f"curl -s --retry 50 --retry-connrefused --retry-delay 1 localhost:{port}/ > /dev/null"
    script = "\n".join(
        f"echo {shlex.quote('$ ' + command)}\n{command.replace(':8000', f':{port}')}\n"
        + (up if number == 0 else "")
        for number, command in enumerate(commands)
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=probed.environment(GUNICORN_CMD_ARGS=f"--bind localhost:{port} --log-level error"),
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done.stdout, done.stderr


@needs("gunicorn")
@pytest.mark.skipif(
    not (shutil.which("flock") and shutil.which("curl")), reason="no flock, no curl"
)
def test_the_sessions_of_the_readme_are_what_happens(tmp_path):
    """The session that shows a block, and the one after its remedy, with the comparison."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before, after = (
        marked(readme, "session", "console"),
        marked(readme, "session: after", "console"),
    )
    remedy = marked(readme, "remedy", "diff").splitlines()
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        shutil.copytree(ROOT / "examples", folder / "examples")
        first = played(before, folder)
        mend(folder / "examples" / "shop" / "service.py", remedy)
        second = played(after, folder)
        # A host that gives the service no time adds a line that says so.
        if "starved" not in first[0] + second[0]:
            break

    assert ("", "") == (first[1], second[1])
    assert alike(before, "/srv") == alike(first[0], folder)
    assert alike(after, "/srv") == alike(second[0], folder)


def mend(path, lines):
    """Apply a diff of pairs of lines to a file."""
    for old, new in zip(lines[::2], lines[1::2], strict=True):
        text = path.read_text(encoding="utf-8")
        assert ("-", "+", 1) == (old[0], new[0], text.count(old[1:] + "\n"))
        path.write_text(text.replace(old[1:], new[1:]), encoding="utf-8")


UWSGI = os.path.join(os.path.dirname(sys.executable), "uwsgi")
EARLY = "from gevent import monkey\nmonkey.patch_all()\nimport gevent\ngevent.sleep(0.3)\n"


@pytest.mark.skipif(not os.path.exists(UWSGI), reason="not installed: uwsgi")
@pytest.mark.parametrize("mode", ["--gevent-monkey-patch", "--gevent-early-monkey-patch", ""])
def test_each_worker_of_uwsgi_is_watched(tmp_path, mode):
    """uWSGI forks in C, where no hook of Python runs."""
    (tmp_path / "service.py").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "early.py").write_text(EARLY + "from service import app\n", encoding="utf-8")
    port = free_port()
    words = [UWSGI, "--http-socket", f"127.0.0.1:{port}", "--gevent", "10", "--master", "-p", "2"]
    words += ["-H", sys.prefix, "--die-on-term", "--callable", "app"]
    words += [mode, "-w", "service"] if mode else ["-w", "early"]
    with Server(words, tmp_path) as server:
        assert probed.wait_until(lambda: listens(port)), server.log.read_text()
        pids, asked = set(), time.monotonic()
        while len(pids) < 2 and time.monotonic() - asked < 120:
            pids.add(fetch(port, "/block"))
        expected = len(pids)
        time.sleep(0.1)
    result = server.result

    assert 2 == expected
    assert pids == {block["path"].split("-")[-2] for block, _ in result.at("view_that_blocks")}
    for record in result.records("start"):
        assert f"-{record['pid']}-" in record["path"]
    # A native thread in the master could leave its workers waiting for the GIL forever.
    assert server.process.pid not in {record["pid"] for record in result.records("start")}


@pytest.mark.skipif(not os.path.exists(UWSGI), reason="not installed: uwsgi")
def test_a_worker_of_uwsgi_that_is_ended_in_a_block_writes_both(tmp_path):
    """uWSGI runs no function of `atexit`."""
    application = APPLICATION.replace("pause(0.3)", "pause(2)")
    (tmp_path / "service.py").write_text(application, encoding="utf-8")
    port = free_port()
    words = [UWSGI, "--http-socket", f"127.0.0.1:{port}", "--gevent", "10", "--master", "-p", "1"]
    words += ["-H", sys.prefix, "--die-on-term", "--callable", "app", "-w", "service"]
    with Server([*words, "--gevent-monkey-patch"], tmp_path) as server:
        assert probed.wait_until(lambda: listens(port)), server.log.read_text()
        fetch(port, "/")
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /block HTTP/1.0\r\n\r\n")
            assert probed.wait_until(lambda: server.result.records("progress"))
            server.process.terminate()
            server.process.wait(60)
    result = server.result

    assert ["exit"] == [end["reason"] for end in result.records("end")]
    ((block, site),) = result.at("view_that_blocks")
    assert ("waits", "time.sleep") == (block["class"], site["symbol"])
    assert 0.9 < block["duration"] < 10


TASKS = """
import os, time
from celery import Celery
from gevent.monkey import get_original

app = Celery("tasks", broker=os.environ["BROKER"])
app.conf.task_default_queue = os.environ["QUEUE"]
app.conf.broker_connection_retry_on_startup = True
pause = get_original("time", "sleep")

@app.task
def task_that_blocks():
    pause(0.4)

@app.task
def task_that_waits():
    time.sleep(0.4)
"""


@needs("celery", "redis")
def test_a_celery_worker_is_watched(tmp_path):
    if not listens(6379):
        pytest.skip("Redis does not run")
    (tmp_path / "tasks.py").write_text(TASKS, encoding="utf-8")
    settings = {
        "BROKER": "redis://127.0.0.1:6379/9",
        "QUEUE": f"gblock-{os.getpid()}-{time.time_ns()}",
    }
    words = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-P", "gevent", "-c", "4"]
    words += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    with Server(words, tmp_path, **settings) as server:
        sender = "from tasks import task_that_blocks as first, task_that_waits as second\n"
        sender += "for task in (first, second) * 2: task.delay()"
        done = subprocess.run(
            [sys.executable, "-c", sender],
            env=probed.environment(**settings),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert 0 == done.returncode, done.stderr
        seen = probed.wait_until(lambda: len(server.result.at("task_that_blocks")) >= 2)
        assert seen, server.log.read_text()
    result = server.result

    assert not result.at("task_that_waits")
    ((_, site),) = {
        block["site"]: (block, site) for block, site in result.at("task_that_blocks")
    }.values()
    assert "time.sleep" == site["symbol"]
    assert "exit" in {end["reason"] for end in result.records("end")}


@needs("confluent_kafka")
def test_a_kafka_consumer_that_waits_in_librdkafka_is_named(tmp_path):
    result = probed.run(
        """
        from confluent_kafka import Consumer
        class Mine(Consumer):
            def poll(self, timeout):
                return super().poll(timeout)
        class Worker:
            def __init__(self, kind):
                self.consumer = kind({
                    "test.mock.num.brokers": 1, "group.id": "g", "bootstrap.servers": "ignored",
                    "log_level": 0,
                })
                self.consumer.subscribe(["topic"])
            def consume(self):
                end = time.perf_counter() + 0.5  # it returns early for an event
                while time.perf_counter() < end:
                    self.consumer.poll(0.5)
            def cooperative(self):
                self.consumer.poll(0)
                gevent.sleep(0.3)
        worker, mine = Worker(Consumer), Worker(Mine)
        settle()
        gevent.spawn(worker.cooperative).join()
        gevent.spawn(worker.consume).join(); settle()
        gevent.spawn(mine.consume).join(); settle()
        """,
        tmp_path,
    )

    assert 0 == result.returncode, result.stderr
    assert not result.at("cooperative")
    block, site = result.at("consume")[-1]
    assert ("confluent_kafka.Consumer.poll", "cimpl.Consumer.poll") == (
        site["symbol"],
        site["callable"],
    )
    assert ("waits", "exact") == (block["class"], block["confidence"])
    _, own = result.at("poll")[-1]
    assert "confluent_kafka.Consumer.poll" == own["symbol"]
    if sys.platform == "linux" and os.path.exists("/proc/self/syscall"):
        assert "futex" == block["syscall"]
        assert any(name.startswith("librdkafka") for name in block["native"])


@needs("psycopg2", "psycogreen")
def test_psycopg2_blocks_until_it_is_made_cooperative(tmp_path):
    if not listens(5432):
        pytest.skip("PostgreSQL does not run")
    result = probed.run(
        """
        import psycopg2
        def connected():
            return psycopg2.connect(host="127.0.0.1", dbname="test", user="postgres")
        def blocks():
            cursor.execute("SELECT pg_sleep(0.4)")
        def cooperates():
            other.execute("SELECT pg_sleep(0.4)")
        cursor = connected().cursor()
        settle()
        gevent.spawn(blocks).join(); settle()
        from psycogreen.gevent import patch_psycopg
        patch_psycopg()
        other = connected().cursor()
        settle()
        gevent.spawn(cooperates).join(); settle()
        """,
        tmp_path,
    )

    assert 0 == result.returncode, result.stderr
    ((block, site),) = result.at("blocks")
    assert "psycopg2.extensions.cursor.execute" == site["symbol"]
    assert "waits" == block["class"]
    assert not result.at("cooperates")
    if sys.platform == "linux" and block["native"]:
        assert any(name.startswith(("libpq", "_psycopg")) for name in block["native"])


@needs("MySQLdb")
def test_mysqlclient_blocks(tmp_path):
    if not listens(3306):
        pytest.skip("MariaDB does not run")
    result = probed.run(
        """
        import MySQLdb
        cursor = MySQLdb.connect(host="127.0.0.1", user="root", passwd="", db="test").cursor()
        def blocks():
            cursor.execute("SELECT SLEEP(0.4)")
        settle()
        gevent.spawn(blocks).join(); settle()
        """,
        tmp_path,
    )

    assert 0 == result.returncode, result.stderr
    ((block, site),) = result.at("blocks")
    assert "MySQLdb.cursors.Cursor.execute" == site["symbol"]
    assert "waits" == block["class"]


@needs("redis")
def test_redis_is_the_control_that_cooperates(tmp_path):
    if not listens(6379):
        pytest.skip("Redis does not run")
    result = probed.run(
        """
        import redis
        client = redis.Redis(db=9)
        def waits():
            client.blpop(f"gblock-nothing-{os.getpid()}", timeout=1)
        client.ping()
        settle()
        gevent.joinall([gevent.spawn(waits) for _ in range(3)])
        """,
        tmp_path,
    )

    assert 0 == result.returncode, result.stderr
    assert not result.at("waits")


def test_a_supervisor_that_kills_a_frozen_worker_leaves_the_evidence(tmp_path):
    """A small version of gunicorn's --timeout."""
    (tmp_path / "script.py").write_text(
        probed.PRELUDE + "def frozen(): pause(30)\nsettle()\nfrozen()\n", encoding="utf-8"
    )
    with Server([sys.executable, "script.py"], tmp_path) as server:
        assert probed.wait_until(lambda: server.result.records("progress"))
        server.process.send_signal(signal.SIGABRT)
        server.process.wait(60)

    (site,) = server.result.records("site")
    assert "frozen" == site["user"]["function"]
