"""The catalog has proof, or says that it has none; and the machinery that obtains it works."""

from __future__ import annotations

import contextlib
import ftplib
import imaplib
import json
import poplib
import re
import smtplib
import socket
import ssl
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from evidence import __main__ as command
from evidence import figures, measuring, rest, scenarios, servers
from harness import CATALOG as BUILT_IN
from harness import every

from gblock import catalog, measurements, outline, trial
from gblock.catalog.blockers import Belief, Blocker, Evidence
from gblock.errors import UserError

SCENARIOS = scenarios.load()
OPEN = scenarios.still_open()
COMPUTED = rest.rest(BUILT_IN, SCENARIOS)
PYTHON = sys.executable


@every(SCENARIOS, "blocker")
def test_a_scenario_is_well_formed(scenario):
    subject = measuring.subjects(BUILT_IN).get(scenario.blocker)

    assert subject is not None, "it is for a blocker that does not exist"
    assert scenario.symbol is None or scenario.symbol in subject.symbols
    assert [] == [need for need in scenario.needs if not servers.is_known(need)]
    for code in (scenario.setup, scenario.call, scenario.remedy or "", scenario.remedy_setup):
        compile(code, scenario.blocker, "exec")
    assert all(re.fullmatch(r"[\w.\[\]-]+([<>=]=?[\w.,<>=]+)?", n) for n in scenario.requires)
    assert "\n" not in scenario.called + scenario.remedied


@pytest.mark.parametrize("key", list(COMPUTED))
def test_what_is_open_is_listed_and_nothing_else(key):
    listed = list(getattr(OPEN, key.replace("-", "_")))

    missing = sorted(set(COMPUTED[key]) - set(listed))
    assert [] == missing, "without proof: add a scenario and its figures"
    done = sorted(set(listed) - set(COMPUTED[key]))
    assert [] == done, f"done: take them out of {scenarios.OPEN}, or run tests.evidence.rest"
    assert sorted(set(listed)) == listed


@every(SCENARIOS, "blocker")
def test_what_holds_the_gil_goes_to_another_process(scenario):
    blocker = BUILT_IN.by_id.get(scenario.blocker)
    if blocker is not None and blocker.kind == "cpu" and blocker.releases_gil is False:
        assert scenario.remedy is not None, "the threadpool is no remedy where the GIL is held"


def test_the_quick_part_shows_each_kind():
    quick = {one.blocker: one for one in SCENARIOS if not one.slow}
    shown = {BUILT_IN.by_id[name].kind for name in quick if name in BUILT_IN.by_id}
    verdicts = {one.verdict for one in BUILT_IN.beliefs if one.id in quick}
    needs = {need for one in quick.values() for need in one.needs}

    measured = {one.blocker for one in SCENARIOS}
    assert shown == {one.kind for one in BUILT_IN.blockers if one.id in measured}
    assert verdicts == {"blocks", "cooperative", "immediate"}
    assert {False, True} <= {BUILT_IN.by_id[n].releases_gil for n in quick if n in BUILT_IN.by_id}
    assert {"hang-up", "slow-http", "slow-postgresql", "slow-smtp", "slow-tls"} <= needs
    # A quiet machine takes 1.4 s for one: all of them, a minute.
    assert len(quick) <= 36


def test_the_lists_are_computed_from_the_catalog():
    text = Path(outline.BUILT_IN).read_text(encoding="utf-8")
    chunk = next(c for c in outline.read(outline.BUILT_IN).chunks if '"os-read"' in c.text[:60])
    assert chunk.text in text

    figures = measurements.read()["blocker"]["os-read"]

    def lists(figures, scenes=SCENARIOS):
        found = {"blocker": {"os-read": figures}}
        alone = catalog.parse(outline.Outline(chunk.text.encode(), "x"), figures=found)
        return rest.rest(alone, scenes)

    slow = figures | {"remedy_max_gap": 0.4}
    assert lists(slow)["remedy-blocks"] == ["os-read"]
    none = {key: value for key, value in figures.items() if not key.startswith("remedy")}
    assert lists(none)["without-remedy"] == ["os-read"]
    assert lists({})["without-figures"] == ["os-read"]
    assert lists(figures, ())["without-scenario"] == ["os-read"]
    assert not any(lists(figures).values())
    written = rest.document(lists(slow), {"os-read": "no pipe", "os-write": "done"})
    assert '    "os-read",  # no pipe\n' in written
    assert "os-write" not in written
    assert rest.reasons(written) == {"os-read": "no pipe"}


# --- files ---


def test_scenarios_are_read_in_the_order_of_files(tmp_path):
    for name in ("b", "a"):
        text = f'[[scenario]]\nblocker = "{name}"\ncall = "a()\\nb()"\nremedy = "c()"\n'
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    (tmp_path / "open.toml").write_text("", encoding="utf-8")

    first, second = scenarios.load(tmp_path)
    assert (first.blocker, second.blocker) == ("a", "b")
    assert (first.called, first.remedied) == ("a(); b()", "c()")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[scenario]]\nblocker = 'a'\ncal = ''", "unknown field `cal`"),
        ("[[scenario]]\nblocker = 'a'", "missing required field `call`"),
        ("[[scenario]]\nblocker = ", "a.toml:2"),
    ],
)
def test_a_broken_scenario_names_its_file(tmp_path, text, message):
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")

    with pytest.raises(UserError) as error:
        scenarios.load(tmp_path)
    assert "a.toml" in str(error.value)
    assert message in str(error.value)


# --- figures ---

MEASURED = {"version": "2", "call": 'wait("ä")', "elapsed": 0.7, "max_gap": 0.6001}
OLD = {
    "blocker": {"os-read": {**MEASURED, "version": "1", "remedy": "r", "remedy_max_gap": 0.01}},
    "harmless": {"zope.proxy": {"version": "7"}},
}


def test_figures_are_put_into_the_table_of_their_entry_alone():
    evidence = {"os-write": {**MEASURED, "returned": False}, "zope.proxy": {"version": "8"}}
    found = figures.updated(OLD, evidence, BUILT_IN)

    assert found["blocker"] == OLD["blocker"] | {"os-write": MEASURED | {"returned": False}}
    assert found["harmless"] == {"zope.proxy": {"version": "8"}}
    assert figures.updated(found, {}, BUILT_IN) == found


def test_a_remedy_that_was_not_measured_again_stays():
    found = figures.updated(OLD, {"os-read": MEASURED}, BUILT_IN)

    assert found["blocker"]["os-read"] == OLD["blocker"]["os-read"] | MEASURED


def test_figures_of_an_entry_that_the_catalog_has_lost_are_left_out():
    found = figures.updated({"blocker": {"gone": MEASURED, "zope.proxy": {}}}, {}, BUILT_IN)

    assert found["blocker"] == {}


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"c-wait": MEASURED}, "the catalog has no such entry"),
        ({"os-read": {"gap": 1}}, "evidence has no key gap"),
    ],
)
def test_what_the_file_cannot_hold_is_refused(evidence, message):
    with pytest.raises(UserError) as error:
        figures.updated(OLD, evidence, BUILT_IN)
    assert message in error.value.message


def test_what_is_written_is_what_is_read(tmp_path):
    path = tmp_path / "measurements.toml"
    path.write_text(figures.document(OLD), encoding="utf-8")
    assert OLD | {"belief": {}} == measurements.read(str(path)) | {"belief": {}}
    figures.update({"os-read": MEASURED}, str(path))

    assert measurements.read(str(path))["blocker"]["os-read"]["version"] == "2"


def test_the_file_of_figures_is_in_order_and_has_figures_of_entries_alone():
    text = Path(measurements.PATH).read_text(encoding="utf-8")

    assert figures.document(figures.updated(measurements.read(), {}, BUILT_IN)) == text


def test_no_two_entries_that_have_figures_share_a_name():
    entries = [*BUILT_IN.blockers, *BUILT_IN.beliefs]
    names = [*(one.id for one in entries), *(one.distribution for one in BUILT_IN.harmless)]

    assert sorted(set(names)) == sorted(names)


# --- measuring ---


def result(kind="waits", remedy_gap=0.01, remedy="other()", gil=True, **run):
    plain = {
        "python": "3.11.7", "gevent": "1", "elapsed": 0.5, "returned": True, "max_gap": 0.5,
        "max_tick": 0.006, "mean_tick": 0.0021, "switch": 0.005, "cpu": 0.0, "cpu_elsewhere": 0.0,
        "starved": 0.0, "ticker_starved": 0.0, "stolen": 0.0, "baseline_gap": 0.0025,
    } | run  # fmt: skip
    scenario = scenarios.Scenario(blocker="os-read", call="call()", remedy=remedy)
    none = trial.Threadpool("not measured", None, "it crashed")
    first = trial.Trial("call()", (trial.Measurement(**plain),), none)
    left = trial.Measurement(**(plain | {"max_gap": remedy_gap, "signal": None}))
    second = trial.Trial("other()", (left,), none) if remedy else None
    blocker = Blocker(
        id="os-read", distribution="stdlib", symbols=("os.read",), kind=kind, level="error",
        why="", instead="", evidence=Evidence(), releases_gil=gil,
    )  # fmt: skip
    return measuring.Result(scenario, first, second, version="3.11.7"), blocker


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"max_gap": 0.003}, ["it is cooperative: the hub's longest gap is 0.003 s"]),
        ({"remedy_gap": 0.3}, ["the remedy blocks, too: 0.300 s"]),
        ({"max_tick": 0.5}, ["the GIL is held, but releases_gil is True"]),
        ({"gil": False}, ["the GIL is released, but releases_gil is False"]),
        ({"gil": None, "max_tick": 0.5}, []),
        ({"kind": "cpu"}, ["it waited, but the catalog's kind is cpu"]),
        ({"cpu": 0.5}, []),
        ({"remedy": None}, ["no remedy was measured: it crashed"]),
        ({"remedy": ""}, []),
    ],
)
def test_what_contradicts_the_catalog(changes, said):
    assert said == measuring.contradictions(*result(**changes))


@pytest.mark.parametrize(
    ("verdict", "gap", "said"),
    [
        ("cooperative", 0.003, []),
        ("blocks", 0.5, []),
        ("cooperative", 0.5, ["it is blocks, not cooperative: the hub's longest gap is 0.500 s"]),
        ("blocks", 0.003, ["it is cooperative, not blocks: the hub's longest gap is 0.003 s"]),
    ],
)
def test_what_disproves_a_belief(verdict, gap, said):
    found, _ = result(max_gap=gap)
    belief = Belief(id="os-read", distribution="stdlib", verdict=verdict, evidence=Evidence())

    assert said == measuring.contradictions(found, belief)


def test_the_evidence_of_a_result():
    found, _ = result()
    wanted = {"version": "3.11.7", "call": "call()", "elapsed": 0.5, "max_gap": 0.5}
    wanted |= {"remedy": "other()", "remedy_max_gap": 0.01}

    assert measuring.evidence(found, {"python": "3.11.7", "gevent": "1"}) == wanted
    stopped, _ = result(returned=False)
    other = measuring.evidence(stopped, {"python": "3.10.1", "gevent": "2"})
    assert other == wanted | {"returned": False, "python": "3.11.7", "gevent": "1"}


@pytest.mark.parametrize(
    ("version", "bounds", "fits"),
    [
        ("3.11.7", "", True),
        ("3.11.7", "<3.13", True),
        ("3.13.0", "<3.13", False),
        ("3.13.0", ">=3.11, <3.14", True),
        ("3.11.7", "==3.11", True),
        ("3.11.7", ">3.11", False),
        ("3.11.7", "<=3.11", True),
        ("3.9.1", ">=3.10", False),
    ],
)
def test_bounds_of_versions(version, bounds, fits):
    assert measuring._fits(version, bounds) is fits


def test_what_an_environment_lacks():
    environment = measuring.Environment(PYTHON)
    wanted = scenarios.Scenario(blocker="a", call="", requires=("Nothing_Like.it", "gevent>=20"))

    assert environment.missing(wanted) == "not installed: Nothing_Like.it"
    assert environment.has("GEVENT>=20")
    assert not environment.has("gevent>=9999")
    assert "it is for Python <3" in environment.missing(
        scenarios.Scenario(blocker="a", call="", python="<3")
    )


@pytest.mark.live
@pytest.mark.parametrize("blocker", ["ctypes-pydll", "os-system"])
def test_a_scenario_agrees_with_the_catalog(blocker, capsys):
    assert command.main(["--only", blocker, "--json"]) == 0

    (record,) = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "blocks"
    assert record["evidence"]["max_gap"] >= 0.49
    assert record["evidence"]["remedy_max_gap"] < 0.05


@contextlib.contextmanager
def absent(python):
    servers._binary("no-such-daemon")
    yield {}


@pytest.mark.live
def test_what_cannot_be_run_is_told(monkeypatch, capsys):
    broken = scenarios.Scenario(blocker="os-read", call="1 / 0")
    needy = scenarios.Scenario(blocker="os-write", call="pass", needs=("memcached",))
    monkeypatch.setattr(scenarios, "load", lambda: (broken, needy))
    monkeypatch.setitem(servers.KNOWN, "memcached", absent)

    assert command.main([]) == 2
    told = capsys.readouterr()
    assert "raised ZeroDivisionError" in told.err
    assert "left out: memcached: there is no no-such-daemon" in told.err
    assert "0 measured, 0 contradict the catalog, 1 failed, 1 left out" in told.err
    assert "os-write" in told.out


def test_a_name_that_no_scenario_has_is_an_error():
    with pytest.raises(UserError, match="no scenario is called nothing"):
        command.main(["--only", "nothing"])


# --- servers ---


def ask(address, data=b"ping\n", timeout=5.0, size=100):
    with socket.create_connection(address, timeout=timeout) as connection:
        connection.sendall(data)
        return connection.recv(size)


def test_a_server_that_never_answers():
    with servers.running(["black-hole"], PYTHON) as found:
        hole = found["black_hole"]
        with pytest.raises(TimeoutError):
            ask((hole["host"], hole["port"]), timeout=0.2)


def test_a_server_that_hangs_up():
    with servers.running(["hang-up"], PYTHON) as found:
        began = time.monotonic()
        assert ask((found["hang_up"]["host"], found["hang_up"]["port"])) == b""
        assert 0.4 < time.monotonic() - began < 3


def test_a_server_that_cannot_be_reached():
    with servers.running(["unreachable"], PYTHON) as found:
        far = found["unreachable"]
        with pytest.raises(TimeoutError):
            socket.create_connection((far["host"], far["port"]), timeout=0.3)


def test_a_slow_http_server():
    with servers.running(["slow-http"], PYTHON) as found:
        began = time.monotonic()
        with urllib.request.urlopen(found["slow_http"]["url"] + "0.3") as answer:
            assert answer.read() == b"ok\n"
        assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize(
    ("need", "asked", "answered"),
    [
        ("aerospike", b"\x02\x01\0\0\0\0\0\x06build\n", b"build\t7.0.0.0\n"),
        ("couchbase", b"\x80\x20" + bytes(22), b"PLAIN"),
        (
            "drda",
            b"\0\x0a\xd0\x01\0\x07\0\x04\x20\x0a",
            b"\0\x0b\xd0\x03\0\x07\0\x05\x24\x08\xff",
        ),
        ("elasticsearch", b"GET /_search HTTP/1.1\r\n\r\n", b"X-Elastic-Product: Elasticsearch"),
        ("mongodb", b"\x10\0\0\0\1\0\0\0\0\0\0\0\xdd\x07\0\0", b"\x08isWritablePrimary\0\1"),
        ("s3", b"GET / HTTP/1.1\r\n\r\n", b"<Buckets/>"),
        ("snowflake", b"POST /session/v1/login-request HTTP/1.1\r\n\r\n", b'"masterToken": "m"'),
        ("tds", b"\x12\x01\0\x09\0\0\0\0\xff", b"\x04\x01\0\x1a"),
        (
            "websocket",
            b"GET / HTTP/1.1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        ),
    ],
)
def test_a_server_of_ours_answers(need, asked, answered):
    with servers.running([need], PYTHON) as found:
        server = found[need]
        assert answered in ask((server["host"], server["port"]), asked, size=4096)


def test_servers_that_speak_in_lines():
    with servers.running(["ftp", "imap", "pop3", "smtp"], PYTHON) as found:
        at = {name: (one["host"], one["port"]) for name, one in found.items()}
        with ftplib.FTP() as files:
            assert files.connect(*at["ftp"]) == "220 evidence"
            assert files.login() == "230 in"
        with imaplib.IMAP4(*at["imap"]) as mailbox:
            assert mailbox.noop()[0] == "OK"
        with contextlib.closing(poplib.POP3(*at["pop3"])) as mailbox:
            assert mailbox.stat() == (0, 0)
        with smtplib.SMTP(*at["smtp"]) as sender:
            assert sender.sendmail("a", "b", "c") == {}


def test_a_server_that_encrypts():
    with servers.running(["tls"], PYTHON) as found:
        address = found["tls"]["host"], found["tls"]["port"]
        assert ssl.get_server_certificate(address).startswith("-----BEGIN CERTIFICATE-----")


def test_a_proxy_makes_answers_late(monkeypatch):
    @contextlib.contextmanager
    def echo(python):
        with servers._listening(lambda one, over: one.sendall(one.recv(100))) as port:
            yield {
                "host": servers.LOOPBACK,
                "port": port,
                "url": f"tcp://{servers.LOOPBACK}:{port}",
            }

    monkeypatch.setitem(servers.KNOWN, "echo", echo)
    with servers.running(["slow-echo", "echo"], PYTHON) as found:
        assert found["echo"]["port"]
    with servers.running(["slow-echo"], PYTHON) as found:
        slow = found["echo"]
        assert slow["url"].endswith(f":{slow['port']}")
        began = time.monotonic()
        assert ask((slow["host"], slow["port"])) == b"ping\n"
        assert time.monotonic() - began < 0.3
        assert ask((slow["host"], slow["control"]), b"0.4\n") == b"."
        began = time.monotonic()
        assert ask((slow["host"], slow["port"])) == b"ping\n"
        assert time.monotonic() - began >= 0.4


def test_a_server_that_is_not_there_is_missing(monkeypatch):
    monkeypatch.setitem(servers.KNOWN, "redis", servers._service(servers.free_port()))
    missing = pytest.raises(servers.MissingError, match="redis: nothing listens on port")
    with missing, servers.running(["redis"], PYTHON):
        pass
