"""`gblock trial`: real statements in real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import venv

import pytest

from gblock import trial
from gblock.cli import main
from gblock.errors import UserError
from gblock.output import trial_text
from gblock.trial import child as trial_child

WAIT = "import time"
LOOP = "end = time.thread_time() + 0.3\nwhile time.thread_time() < end: pass"


def measured(statement, *, threadpool=False, **plan):
    """Return a trial; as docs/trial.md says, a verdict that the machine spoilt is made again."""
    for _ in range(10):
        made = trial.trial(trial.TrialPlan(statement, **plan), threadpool=threadpool)
        if not made.typical.is_uncertain:
            break
    return made


@pytest.mark.live
def test_a_patched_sleep_is_cooperative():
    found = measured("time.sleep(0.3)", setup=WAIT)

    assert found.verdict == "cooperative"
    assert 0.3 <= found.typical.elapsed < 0.6
    assert found.typical.max_gap < 0.1
    assert found.typical.gil is None


@pytest.mark.live
@pytest.mark.parametrize("patch", [(), ("socket", "select")], ids=["nothing", "other-parts"])
def test_an_unpatched_sleep_blocks_and_the_threadpool_helps(patch):
    found = measured("time.sleep(0.3)", setup=WAIT, patch=patch, threadpool=True)

    assert found.verdict == "blocks"
    assert found.typical.max_gap == pytest.approx(found.typical.elapsed, abs=0.002)
    assert (found.typical.gil, found.typical.work) == ("released", "waited")
    assert found.threadpool.help == "helps"
    assert found.threadpool.max_gap < 0.1


@pytest.mark.live
def test_a_part_that_is_patched_is_cooperative():
    assert measured("time.sleep(0.2)", setup=WAIT, patch=("time",)).verdict == "cooperative"


@pytest.mark.live
def test_work_in_c_that_releases_the_gil():
    call = "hashlib.pbkdf2_hmac('sha256', b'a', b'b', 1_000_000)"
    found = measured(call, setup="import hashlib", threadpool=True)

    assert (found.verdict, found.typical.work) == ("cpu", "worked")
    assert found.typical.gil == "released"
    assert found.threadpool.help == "helps"


@pytest.mark.live
def test_work_in_python_shares_the_gil():
    found = measured(LOOP, setup=WAIT)

    assert (found.verdict, found.typical.work) == ("cpu", "worked")
    assert found.typical.gil == "shared"


@pytest.mark.live
def test_work_in_c_that_holds_the_gil():
    found = measured("re.match(r'(a+)+$', 'a' * 22 + 'b')", setup="import re", threadpool=True)

    assert (found.verdict, found.typical.gil) == ("cpu", "held")
    assert found.threadpool.help == "no help"


@pytest.mark.live
def test_a_wait_that_holds_the_gil():
    setup = "import ctypes; usleep = ctypes.PyDLL(None).usleep"
    found = measured("usleep(400_000)", setup=setup, threadpool=True)

    assert (found.verdict, found.typical.gil) == ("blocks", "held")
    assert found.threadpool.help == "no help"


@pytest.mark.live
def test_work_in_a_native_thread_of_a_library_is_work():
    # Where nothing is patched `Thread` is native; join() waits as a library does for its own.
    work = "lambda: hashlib.pbkdf2_hmac('sha256', b'a', b'b', 1_000_000)"
    thread = f"threading.Thread(target={work})"
    setup = f"import hashlib, threading\nthreads = [{thread} for _ in range(3)]"
    statement = "for one in threads: one.start()\nfor one in threads: one.join()"
    found = measured(statement, setup=setup, patch=())

    assert (found.verdict, found.typical.work) == ("cpu", "worked elsewhere")


@pytest.mark.live
def test_what_returns_at_once_is_immediate():
    found = measured("len([])")

    assert found.verdict == "immediate"
    assert found.threadpool.help == "not measured"


@pytest.mark.live
@pytest.mark.parametrize(
    ("statement", "verdict", "gil"),
    [
        ("import signal; signal.pause()", "blocks", "released"),
        ("import gevent; gevent.sleep(3600)", "cooperative", None),
        ("while True: pass", "cpu", "shared"),
        ("import ctypes; ctypes.PyDLL(None).pause()", "blocks", "held"),
    ],
)
def test_what_never_returns_has_a_verdict(statement, verdict, gil):
    found = measured(statement, timeout=0.6)

    assert not found.typical.returned
    assert (found.verdict, found.typical.gil) == (verdict, gil)
    assert 0.6 <= found.typical.elapsed < 2


def test_what_never_returns_is_ended_and_measured_until_then():
    found = measured("signal.pause()", setup="import signal", timeout=0.5, threadpool=True)

    assert not found.typical.returned
    assert 0.4 < found.typical.max_gap <= found.typical.elapsed
    assert found.typical.cpu < found.typical.elapsed
    assert found.threadpool.max_gap is not None


@pytest.mark.live
def test_a_set_up_that_does_not_end_is_one_line(monkeypatch):
    monkeypatch.setattr(trial, "SETUP_TIMEOUT", 0.5)

    with pytest.raises(UserError) as error:
        measured("pass", setup="while True: pass", timeout=0.5)

    assert "did not end within 1 s" in error.value.message


def test_a_file_that_is_no_program_is_one_line(tmp_path):
    python = tmp_path / "python"
    python.write_text("", encoding="utf-8")
    python.chmod(0o755)

    with pytest.raises(UserError, match="cannot be run: Exec format error"):
        measured("pass", python=str(python))


@pytest.mark.live
def test_what_never_returns_is_watched_in_the_threadpool():
    found = measured("signal.pause()", setup="import signal", timeout=0.5, threadpool=True)

    assert found.threadpool.help == "helps"


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
        pytest.param("os.abort()", "SIGABRT", marks=pytest.mark.live),
    ],
)
def test_a_crash_is_a_verdict(statement, name):
    found = measured(statement, setup="import os", threadpool=True)

    assert (found.verdict, found.typical.signal) == ("crash", name)
    assert found.threadpool.help == "not measured"
    assert name in trial_text.render(trial.TrialPlan(statement), found, None)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"statement": "1 / 0"}, "the statement raised ZeroDivisionError: division by zero"),
        pytest.param(
            {"statement": "a =\n"},
            "the statement raised SyntaxError: invalid syntax",
            marks=pytest.mark.live,
        ),
        pytest.param(
            {"statement": "raise SystemExit"},
            "the statement raised SystemExit",
            marks=pytest.mark.live,
        ),
        ({"statement": "import os; os._exit(3)"}, "the statement ended its process with exit code"),
        ({"setup": "a = 1\nimport nothing_like_it"}, "the set-up, line 2, raised ModuleNotFoundE"),
        pytest.param(
            {"setup": "def broken(:"}, "the set-up raised SyntaxError", marks=pytest.mark.live
        ),
        ({"setup": "import os; os.abort()"}, "the set-up ended its process with SIGABRT"),
        ({"patch": ("tme",)}, "gevent patches no 'tme'; it knows socket, "),
    ],
)
def test_what_cannot_be_measured_is_one_line(plan, message):
    with pytest.raises(UserError) as error:
        measured(**{"statement": "pass"} | plan)

    assert message in error.value.message
    assert "\n" not in error.value.message


def test_a_python_without_gevent_is_named(tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    python = str(tmp_path / "bare" / "bin" / "python")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    with pytest.raises(UserError, match=r"gevent cannot be imported by .*bare.*--python"):
        measured("pass", python=python, environment=environment)


@pytest.mark.live
def test_another_python_needs_no_gblock(tmp_path):
    # A link beside the environment's own file would be the same environment: isolated, it is not.
    shim = tmp_path / "python"
    option = "-P" if sys.version_info >= (3, 11) else "-B"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} {option} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    missing = "import sys; assert not any(m.startswith('gblock') for m in sys.modules)"

    # Where gblock is installed, gevent itself imports its plug-in when it patches.
    assert measured(missing, python=str(shim), patch=()).verdict == "immediate"


def test_an_interpreter_that_does_not_exist_is_told(capsys):
    assert main(["trial", "--python", "/nowhere/python", "pass"]) == 2
    assert "/nowhere/python: no such interpreter" in capsys.readouterr().err


@pytest.mark.live
def test_a_remedy_stands_beside_it(capsys):
    setup = ["-s", "import time", "-s", "long = 0.3"]
    remedy = ["--against", "gevent.sleep(long)", "--against-setup", "import gevent"]
    code = main(["trial", "--json", "--no-patch", *setup, *remedy, "time.sleep(long)"])
    page = json.loads(capsys.readouterr().out)

    assert code == 1
    assert (page["trial"]["verdict"], page["against"]["verdict"]) == ("blocks", "cooperative")
    assert page["trial"]["threadpool"]["verdict"] == "helps"
    assert (page["setup"], page["patch"]) == ("import time\nlong = 0.3", [])
    assert page["python"] == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.live
def test_the_text_for_people(capsys):
    assert main(["trial", "-n", "3", "import time; time.sleep(0.1)"]) == 0

    text = capsys.readouterr().out
    assert "verdict: cooperative: other greenlets run meanwhile\n" in text
    assert text.count(" ms", text.index("all runs: gaps of")) == 3
    assert text.rstrip().endswith("patched: everything")


def test_what_the_statement_prints_is_not_in_the_report(capfd):
    assert main(["trial", "--json", "print('x' * 100_000)"]) == 0

    json.loads(capfd.readouterr().out)


@pytest.mark.live
def test_processes_that_the_statement_leaves_behind_end(tmp_path):
    note = tmp_path / "pid"
    statement = (
        "import subprocess\n"
        "process = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(note)!r}, 'w').write(str(process.pid))"
    )
    measured(statement)

    pid, end = note.read_text(encoding="ascii"), time.monotonic() + 10
    # Its new parent may take a while to bury it.
    while os.path.exists(f"/proc/{pid}/stat") and time.monotonic() < end:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            if file.read().rpartition(")")[2].split()[0] == "Z":
                break
        time.sleep(0.02)
    assert time.monotonic() < end


@pytest.mark.live
def test_a_fork_of_the_statement_does_not_speak_for_it():
    statement = "pid = os.fork()\nif not pid: time.sleep(0.1)\nelse: os.waitpid(pid, 0)"
    found = measured(statement, setup="import os, time")

    assert found.verdict == "cooperative"
    assert found.typical.elapsed >= 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trial"], "the following arguments are required: STATEMENT"),
        (["trial", "--timeout", "never", "pass"], "expected seconds, from 0.02 to 3600"),
        (["trial", "-n", "0", "pass"], "expected a number from 1 to 1000"),
        (["trial", "--no-patch", "--patch", "time", "pass"], "not allowed with argument"),
        (["trial", "--aginst", "pass", "pass"], "did you mean --against?"),
        (["trial", "--patch", ",", "pass"], "expected at least one name"),
    ],
)
def test_bad_arguments_are_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def figures(**changes):
    plain = {
        "python": "3.11.7", "gevent": "26.9.0", "elapsed": 0.5, "returned": True, "max_gap": 0.5,
        "max_tick": 0.006, "mean_tick": 0.0021, "switch": 0.005, "cpu": 0.0, "cpu_elsewhere": 0.0,
        "starved": 0.0, "ticker_starved": 0.0, "stolen": 0.0, "baseline_gap": 0.0025,
    }  # fmt: skip
    return trial.Measurement(**plain | changes)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "blocks"),
        ({"cpu": 0.4}, "cpu"),
        ({"cpu_elsewhere": 0.4}, "cpu"),
        # Half of what the kernel gave it.
        ({"cpu": 0.15, "starved": 0.25}, "cpu"),
        ({"cpu": None, "cpu_elsewhere": None, "starved": None}, "blocks"),
        ({"max_gap": 0.019}, "cooperative"),
        # A tenth of the time: 50 ms of half a second, 20 ms at the least, 100 ms at the most.
        ({"max_gap": 0.049}, "cooperative"),
        ({"max_gap": 0.051}, "blocks"),
        ({"elapsed": 30.0, "max_gap": 0.101}, "blocks"),
        ({"elapsed": 30.0, "max_gap": 0.099}, "cooperative"),
        ({"elapsed": 0.022, "max_gap": 0.021}, "blocks"),
        ({"elapsed": 0.019, "max_gap": 0.019}, "immediate"),
        # Four times what there was before.
        ({"max_gap": 0.079, "baseline_gap": 0.02}, "cooperative"),
        ({"max_gap": 0.11, "baseline_gap": 0.5}, "blocks"),
        ({"signal": "SIGSEGV"}, "crash"),
    ],
)
def test_the_bounds_of_a_verdict(changes, verdict):
    assert figures(**changes).verdict == verdict


@pytest.mark.parametrize(
    ("changes", "gil"),
    [
        ({}, "released"),
        ({"mean_tick": 0.0071}, "shared"),
        ({"max_tick": 0.2}, "in part"),
        ({"max_tick": 0.3}, "held"),
        ({"max_gap": 0.01}, None),
        ({"signal": "SIGSEGV"}, None),
    ],
)
def test_the_bounds_of_the_gil(changes, gil):
    assert figures(**changes).gil == gil


@pytest.mark.parametrize(
    ("changes", "uncertain"),
    [
        ({}, False),
        ({"max_gap": 0.12, "starved": 0.05}, True),
        ({"starved": 0.2}, False),
        ({"max_gap": 0.12, "baseline_gap": 0.05}, True),
        ({"max_gap": 0.01, "starved": 0.4}, False),
        ({"ticker_starved": 0.2}, True),
        ({"ticker_starved": 0.05, "stolen": 0.05}, False),
        ({"stolen": 0.2}, True),
    ],
)
def test_when_the_machine_may_have_been_the_reason(changes, uncertain):
    assert figures(**changes).is_uncertain is uncertain


def test_the_median_speaks_for_all_runs_but_for_a_crash():
    none = trial.Threadpool("not measured")
    runs = tuple(figures(max_gap=gap) for gap in (0.01, 0.2, 0.3))
    assert trial.Trial("x", runs, none).typical.max_gap == 0.2
    assert trial.Trial("x", runs[:2], none).typical.max_gap == 0.01
    assert not trial.Trial("x", runs, none).is_agreed
    assert "uncertain: the runs disagree" in trial_text.render(
        trial.TrialPlan("x"), trial.Trial("x", runs, none), None
    )
    crashed = (*runs, figures(signal="SIGABRT"))
    assert trial.Trial("x", crashed, none).verdict == "crash"


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (figures(max_gap=0.04), "helps: the hub's longest gap there was 40 ms"),
        (figures(max_gap=0.2), "helps in part: the hub's longest gap there was 200 ms"),
        (figures(max_gap=0.3), "no help: the hub's longest gap there was 300 ms"),
        (figures(signal="SIGSEGV"), "not measured: there it crashed with SIGSEGV"),
        (figures(elapsed=0.01), "not measured: there it took 0.010 s only"),
        (UserError("gblock trial", "it raised"), "not measured: it raised"),
    ],
)
def test_what_the_threadpool_gives(monkeypatch, there, expected):
    def measure(plan, python, *, threadpool=False):
        if threadpool and isinstance(there, UserError):
            raise there
        return there if threadpool else figures()

    monkeypatch.setattr(trial, "_measure", measure)
    made = measured("call()", threadpool=True)

    assert expected in trial_text.render(trial.TrialPlan("call()"), made, None)
    assert measured("call()").threadpool.help == "not measured"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"signal": "SIGSEGV"}, "crash: SIGSEGV ended the process"),
        ({"signal": "SIGSEGV"}, "500 ms until it crashed"),
        ({"cpu": None, "cpu_elsewhere": None, "starved": None}, "not known"),
        ({"cpu": 0.4, "cpu_elsewhere": 0.2}, "200 ms in other threads"),
        ({"max_gap": 0.12, "starved": 0.05}, "; uncertain: the machine was busy"),
        ({"returned": False}, ", then it was ended"),
    ],
)
def test_the_lines_of_the_text(changes, expected):
    made = trial.Trial("call()", (figures(**changes),), trial.Threadpool("not measured"))

    text = trial_text.render(trial.TrialPlan("call()"), made, None)
    assert expected in text
    assert expected not in trial_text.render(
        trial.TrialPlan("call()"), made._replace(runs=(figures(),)), None
    )
    assert "against: " in trial_text.render(trial.TrialPlan("call()"), made, made)


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (figures(), 1),
        (figures(max_gap=0.01), 0),
        (figures(max_gap=0.12, starved=0.05), 2),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_exit_code_is_the_verdict(monkeypatch, capsys, run, code, form):
    measurements = []

    def measure(plan, python, *, threadpool=False):
        measurements.append((plan.statement, plan.setup, threadpool))
        return run

    monkeypatch.setattr(trial, "_measure", measure)
    remedy = ["--against", "other()", "--against-setup", "import a", "-s", "import b"]

    assert code == main(["trial", *form, *remedy, "call()"])
    assert measurements[-1] == ("other()", "import a\nimport b", False)
    assert "call()" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("gap", "left", "helps"),
    [(0.5, 0.05, True), (0.5, 0.051, False), (3.0, 0.3, True), (3.0, 0.31, False)],
)
def test_what_a_remedy_may_leave(gap, left, helps):
    assert trial.remedies(gap, left) is helps


@pytest.mark.live
def test_the_parent_imports_no_gevent():
    code = (
        "import sys; from gblock.cli import main; main(['trial', 'pass'])\n"
        "sys.exit('gevent' in sys.modules)"
    )
    gone = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert gone.returncode == 0, gone.stderr


@pytest.mark.live
def test_the_working_directory_can_be_imported_from(tree):
    tree({"shop.py": "price = 3\n"})

    assert measured("assert shop.price == 3", setup="import shop").verdict == "immediate"


def test_nothing_is_left_in_the_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(trial.tempfile, "tempdir", str(tmp_path))
    assert shutil.which(sys.executable)
    measured("pass")

    assert [] == list(tmp_path.iterdir())


def test_a_signal_has_its_name_or_its_number():
    assert "SIGKILL" == trial._signal(9)
    assert "signal 999" == trial._signal(999)


def test_a_thread_that_is_gone_has_no_times():
    assert trial_child.schedule(os.getpid(), 0) is None
    assert trial_child._waited(None, (1.0, 2.0)) is None


def test_what_the_host_took_is_that_of_one_cpu(monkeypatch):
    rows = (
        b"cpu  9 9 9 9 9 9 9 40 0 0\ncpu0 1 0 0 0 0 0 0 30 0 0\ncpu1 1 0 0 0 0 0 0 10 0 0\nintr 1"
    )
    monkeypatch.setattr(trial_child, "_read", lambda path: rows)
    assert trial_child.stolen() == 30 / os.sysconf("SC_CLK_TCK")
    monkeypatch.setattr(trial_child, "_read", lambda path: b"cpu  1 2 3")
    assert trial_child.stolen() == 0.0


def test_without_a_file_in_memory_one_of_the_disk_is_shared(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")

    assert measured("len([])").verdict == "immediate"
