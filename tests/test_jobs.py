"""A second process does part of the work, and the output is the same."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from harness import check, sampled

from gblock import opened
from gblock.config import Config
from gblock.engine import Check, Request, jobs
from gblock.engine.jobs import Jobs
from gblock.project.reading.modules import Modules

FORKED = []
"""The children of a test."""
PROJECTS = Path(__file__).parent / "fixtures" / "projects"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture
def forking(monkeypatch):
    """Other tests may have imported gevent, which has patched nothing here."""
    monkeypatch.setattr(jobs, "may_fork", lambda: True)


@pytest.fixture
def two(forking):
    found = Jobs(2)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def forked(monkeypatch):
    """Keep the children of one test apart from those that other tests have left to this process."""
    fork = os.fork

    def kept():
        child = fork()
        if child:
            FORKED.append(child)
        return child

    FORKED.clear()
    monkeypatch.setattr(os, "fork", kept)


def no_child_is_left():
    for child in FORKED:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)
    return True


class TestJobs:
    def test_another_process_does_the_work(self, two):
        assert two.add(os.getpid).result() != os.getpid()
        assert no_child_is_left()

    def test_alone_it_is_done_here_and_only_when_it_is_needed(self, forking):
        done = []
        job = Jobs(1).add(lambda: done.append(os.getpid()) or "answer")
        assert done == []
        assert (job.result(), job.result()) == ("answer", "answer")
        assert done == [os.getpid()]

    def test_a_result_may_be_larger_than_a_pipe(self, two):
        assert two.add(lambda: b"x" * 5_000_000).result() == b"x" * 5_000_000

    @pytest.mark.parametrize(
        "fail",
        [
            lambda: 1 / 0,
            lambda: sys.exit(0),
            lambda: os._exit(0),
            lambda: os.kill(os.getpid(), signal.SIGKILL),
            lambda: os.kill(os.getpid(), signal.SIGINT),
            lambda: exec("raise MemoryError"),
            lambda: threading.Lock(),  # cannot be handed over
        ],
    )
    def test_what_fails_there_is_done_here(self, two, capfd, fail):
        here = os.getpid()
        job = two.add(lambda: here if os.getpid() == here else fail())
        assert job.result() == here
        assert capfd.readouterr() == ("", "")
        assert no_child_is_left()

    def test_its_own_fault_is_told_once(self, two):
        with pytest.raises(ZeroDivisionError):
            two.add(lambda: 1 / 0).result()

    def test_where_no_process_can_be_made_it_is_done_here(self, two, monkeypatch):
        def refused():
            raise BlockingIOError(11, "Resource temporarily unavailable")

        monkeypatch.setattr(os, "fork", refused)
        before = len(os.listdir("/dev/fd"))
        assert two.add(os.getpid).result() == os.getpid()
        assert len(os.listdir("/dev/fd")) == before

    def test_no_more_work_at_a_time_than_was_asked_for(self, two):
        first = two.add(lambda: time.sleep(60))
        second = two.add(os.getpid)
        assert first.is_elsewhere
        assert not second.is_elsewhere
        first.abandon()
        two.tend()
        assert second.is_elsewhere
        assert second.result() != os.getpid()

    def test_what_waits_and_is_needed_is_done_here(self, two):
        two.add(lambda: time.sleep(60))
        job = two.add(os.getpid)
        assert job.result() == os.getpid()
        two.tend()
        assert job.result() == os.getpid()

    def test_nothing_is_left_behind(self, two):
        two.add(lambda: time.sleep(60))
        two.add(lambda: time.sleep(60))
        two.close()
        assert no_child_is_left()

    def test_a_thread_is_never_lost_in_a_copy(self):
        ends = threading.Event()
        thread = threading.Thread(target=ends.wait)
        thread.start()
        try:
            assert not jobs.may_fork()
            assert Jobs(2).number == 1
        finally:
            ends.set()
            thread.join()

    def test_a_process_with_gevent_is_not_copied(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "gevent", sys)
        assert Jobs(2).number == 1

    def test_a_system_without_fork_has_one_process(self, monkeypatch):
        monkeypatch.delattr(os, "fork")
        assert Jobs(2).number == 1

    def test_by_default_there_is_one_for_each_cpu(self, forking, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
        assert Jobs().number == 1
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 4}, raising=False)
        assert Jobs().number == 3


class TestWork:
    """Callers that need their results at once leave the processes to one module."""

    def test_apart_it_is_done_in_a_process_that_ends(self, forking):
        assert jobs.apart(os.getpid) != os.getpid()
        assert no_child_is_left()

    def test_apart_it_is_done_here_where_no_copy_can_be_made(self, monkeypatch):
        monkeypatch.setattr(jobs, "may_fork", lambda: False)
        assert jobs.apart(os.getpid) == os.getpid()

    def test_apart_its_error_is_raised_here(self, forking):
        with pytest.raises(ZeroDivisionError):
            jobs.apart(lambda: 1 / 0)
        assert no_child_is_left()

    def test_each_has_a_process_of_its_own(self, forking):
        found = jobs.each(lambda item: (item * 2, os.getpid()), [3, 1, 2], 2)
        assert [(3, 6), (1, 2), (2, 4)] == [(item, twice) for item, (twice, _) in found]
        assert len({os.getpid(), *(process for _, (_, process) in found)}) == 4
        assert no_child_is_left()

    def test_each_is_done_here_if_there_is_one_process(self, forking):
        assert [("a", os.getpid())] == jobs.each(lambda _: os.getpid(), "a", 1)
        assert [] == jobs.each(lambda _: os.getpid(), [], 2)

    def test_each_that_is_interrupted_leaves_no_process(self, forking, monkeypatch):
        def interrupted(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Jobs, "drain", interrupted)
        with pytest.raises(KeyboardInterrupt):
            jobs.each(time.sleep, [60, 60], 2)
        assert no_child_is_left()

    @pytest.mark.parametrize(
        ("sizes", "worth", "limit", "shares"),
        [
            ([], 10, 2, [[]]),
            ([5, 4], 10, 2, [[5, 4]]),  # no second process is worth its start
            ([5, 5], 10, 2, [[5], [5]]),
            ([5, 5], 10, 1, [[5, 5]]),
            ([1, 2, 9, 3, 4], 1, 2, [[1, 9], [2, 3, 4]]),  # in their order
            ([1, 1, 1, 1, 1], 1, 3, [[1, 1], [1, 1], [1]]),
            ([7], 1, 3, [[7], [], []]),
        ],
    )
    def test_shares_are_about_equal(self, forking, sizes, worth, limit, shares):
        found = jobs.shared(lambda share: (share, os.getpid()), sizes, int, worth, limit)
        assert shares == [share for share, _ in found]
        assert len(shares) == len({process for _, process in found})
        assert found[0][1] == os.getpid()
        assert no_child_is_left()

    def test_the_cpus_are_counted_where_affinity_is_unknown(self, monkeypatch):
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: 5)
        assert jobs.available() == 5
        monkeypatch.setattr(os, "cpu_count", lambda: None)
        assert jobs.available() == 1

    @pytest.mark.parametrize("name", ["pipe", "fork"])
    def test_each_is_done_here_where_no_process_can_be_made(self, forking, monkeypatch, name):
        def refused():
            raise OSError(24, "Too many open files")

        monkeypatch.setattr(os, name, refused)
        assert [(1, os.getpid()), (2, os.getpid())] == jobs.each(lambda _: os.getpid(), [1, 2], 2)

    def test_a_process_whose_status_is_lost_does_not_count(self, two):
        here = os.getpid()
        opened.begin()  # what the other process sends has to fit into the pipe
        job = two.add(os.getpid)
        os.waitpid(job._pid, 0)
        assert job.result() == here

    def test_a_pipe_that_cannot_be_read_does_not_count(self, two, monkeypatch):
        def broken(*_):
            raise OSError(5, "Input/output error")

        job = two.add(os.getpid)
        monkeypatch.setattr(os, "read", broken)
        assert job.result() == os.getpid()
        assert no_child_is_left()


BAD = "import os\nos.system('sync')\n"
ALL_SORTS = {
    "pyproject.toml": "",
    "Procfile": "web: gunicorn -k gevent app:app\njob: python job.py\n",
    "run.sh": "echo 'never closed\n",
    "app.py": BAD + "import gevent, service\n",
    "service.py": BAD + "import unknown\n\ndef f(x):\n    x.system()\n",
    "job.py": BAD + "if __name__ == '__main__':\n    pass\n",
    "hidden.py": BAD.replace("\n", "  # gblock: ignore[blocking-call]\n"),
    "useless.py": "x = 1  # gblock: ignore\n",
    "useless_and_broken.py": "x = = 1  # gblock: ignore\n",
    "broken.py": "x = = 1\n",
    "broken_and_bad.py": BAD + "x = = 1\n",
    "null.py": b"x = 1\0\n",
    "latin.py": "x = 'é'\n".encode("latin-1"),
    "declared.py": "# coding: latin-1\nx = 'é'\n".encode("latin-1"),
    "deep.py": "x = " + "-" * 100_000 + "1\n",
    "tests/test_service.py": BAD,
    "load_test.py": "import pytest\n" + BAD,
    "pkg/__init__.py": "",
    **{f"pkg/m{n}.py": f"import os\nimport pkg.m{n + 1}\nx = {n}\n" for n in range(30)},
    **{f"pkg/b{n}.py": BAD for n in range(10)},
}


def both(paths, root, **options):
    return [
        check(paths, Config(root=str(root), filename="x"), jobs=number, **options)
        for number in (1, 2)
    ]


@pytest.mark.usefixtures("forking")
class TestCheck:
    """One process and two report the same."""

    @pytest.mark.parametrize("project", sampled(sorted(PROJECTS.iterdir())))
    def test_a_project(self, project, monkeypatch):
        monkeypatch.setattr("gblock.engine.plan._WORTH_DIVIDING", 0)
        monkeypatch.setattr("gblock.engine.plan._WORTH_A_PROCESS", 0)
        monkeypatch.chdir(project)
        alone, together = both(["."], project)
        assert alone == together
        assert no_child_is_left()

    @pytest.mark.parametrize("gevent", [True, False])
    @pytest.mark.parametrize("huge", [True, False])
    def test_files_of_all_sorts(self, tree, monkeypatch, gevent, huge):
        files = dict(ALL_SORTS)
        if not gevent:
            files["app.py"] = BAD
            files["Procfile"] = "web: gunicorn app:app\n"
        root = tree(files)
        if huge:
            monkeypatch.setattr("gblock.project.reading.modules._HUGE", 0)
        monkeypatch.setattr("gblock.engine.plan._WORTH_DIVIDING", 0)
        monkeypatch.setattr("gblock.engine.plan._WORTH_A_PROCESS", 0)
        alone, together = both(["."], root, min_severity="note", all_contexts=True)
        assert alone == together
        assert len(together.diagnostics) >= 10
        assert together.files_tests == 2
        assert together.suppressed == 1
        invalid = {d.filename for d in together.diagnostics if d.code == "invalid-syntax"}
        assert invalid >= {"null.py", "latin.py"}
        if not huge:
            assert "broken.py" in invalid
        if gevent:
            assert together.elsewhere
            assert together.notes

    def test_a_clean_tree(self, tree, monkeypatch):
        root = tree({f"m{n}.py": "import json\njson.loads('1')\n" for n in range(20)})
        monkeypatch.setattr("gblock.engine.plan._WORTH_DIVIDING", 0)
        alone, together = both(["."], root)
        assert alone == together
        assert together.files_dropped == 20

    def test_an_interrupted_run_leaves_no_process(self, tree, monkeypatch):
        root = tree(ALL_SORTS)
        monkeypatch.setattr("gblock.engine.plan._WORTH_A_PROCESS", 0)

        def interrupted(*_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Check(Request(["."], Config(root=str(root)), jobs=2), interrupted).report()
        assert no_child_is_left()


def test_a_summary_of_another_process_is_the_same(tree):
    root = tree({"a.py": BAD, "b.py": "x = = 1\n"})
    paths = [str(root / name) for name in ("a.py", "b.py")]
    there, here = Modules(str(root), paths), Modules(str(root), paths)
    here.summarized(there.summaries(paths))
    assert here.summary(paths[0]) == there.summary(paths[0])
    assert [True, False] == [here.parses(path) for path in paths[:2]]
    assert paths[1] in here.problems


def test_a_file_whose_size_nobody_tells_is_read_whole(tmp_path):
    if not os.path.exists("/proc/self/status"):
        pytest.skip("there is no /proc")
    data = Modules("/proc", []).data("/proc/self/status")
    assert data.startswith(b"Name:")
    assert len(data) > 500
