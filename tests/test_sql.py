"""The report as SQL: engines add up the same records, and `gblock report` reads what they say."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from harness import CATALOG
from jsonschema import Draft202012Validator
from probed import environment
from probing import ACME, POLL, T, block, end, fleet, heartbeat, progress, start, write

from gblock import cli, observations
from gblock.observations import queries, schema
from gblock.output import report

pytestmark = pytest.mark.live
FIGURES = (
    "filename", "line", "function", "symbol", "blockers", "class", "classes", "blamed", "count",
    "seconds", "median", "p95", "max", "first", "last", "processes", "unfinished", "exact",
    "spawned", "original", "native", "syscalls", "stack",
)  # fmt: skip


def duckdb(script):
    engine = pytest.importorskip("duckdb")
    # The first lines set how the shell writes.
    script = "\n".join(line for line in script.splitlines() if not line.startswith("."))
    connection, rows = engine.connect(), []
    for statement in engine.extract_statements(script):
        result = connection.execute(statement)
        if statement.type == engine.StatementType.SELECT:
            rows += [row for (row,) in result.fetchall()]
    return rows


def clickhouse(script):
    pytest.importorskip("chdb")
    # One process for each script: chdb keeps the state of its session.
    program = (
        "import sys\nfrom chdb import session\nengine = session.Session()\n"
        "for each in sys.stdin.read().split(';\\n'):\n"
        "    sys.stdout.write(str(engine.query(each) or '') if each.strip() else '')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=script, capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout.splitlines()


ENGINES = {"duckdb": duckdb, "clickhouse": clickhouse}


def page(path, now):
    return json.loads(report.render("json", observations.read([str(path)], CATALOG, now)))


def figures(made):
    sites = [{key: site[key] for key in FIGURES} for site in made["sites"]]
    for site in sites:
        site["native"], site["syscalls"] = sorted(site["native"]), sorted(site["syscalls"])
        # ClickHouse shows the user's frame as a stack where there is no other.
        site["stack"] = site["stack"] if len(site["stack"]) > 1 else []
        for key, value in site.items():
            if isinstance(value, float):  # sums depend on the order of their parts
                site[key] = pytest.approx(value, rel=1e-12, abs=1e-6)
    return sorted(sites, key=lambda site: json.dumps([site[key] for key in FIGURES[:7]]))


def compared(engine, records, folder, now):
    script = queries.script(engine, str(records), is_directory=True)
    (folder / "sites.jsonl").write_text("\n".join(ENGINES[engine](script)), encoding="utf-8")
    mine, theirs = page(records, now), page(folder / "sites.jsonl", now)

    assert figures(mine) == figures(theirs)
    assert (mine["verdict"], mine["message"]) == (theirs["verdict"], theirs["message"])
    told = [
        [(one["host"], one["pid"], one["state"], one["release"]) for one in made["processes"]]
        for made in (mine, theirs)
    ]
    assert told[0] == told[1]
    return mine


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fleet(engine, tmp_path):
    now = fleet(tmp_path / "records")
    made = compared(engine, tmp_path / "records", tmp_path, now)

    assert 5 == len(made["sites"])


@pytest.mark.parametrize("engine", ENGINES)
def test_random_processes(engine, tmp_path):
    draw = random.Random(7)
    for pid in range(1, 9):
        lines, time = [start(T, pid=pid, host=f"web-{pid % 3}", release="r1"), POLL, ACME], T
        counted = {}
        for _ in range(draw.randrange(1, 200)):
            kind = draw.choice(["waits", "waits", "gil", "cpu", "gc", "thread", "starved"])
            site = None if kind in ("thread", "starved") else draw.choice([1, 2, 3, None])
            seconds = round(draw.uniform(0.1, 3), 6)
            key = (site, kind)
            times, total, longest = counted.get(key, (0, 0.0, 0.0))
            counted[key] = times + 1, round(total + seconds, 6), max(longest, seconds)
            if draw.random() < 0.8:  # the rest is above the probe's limit
                lines.append(block(time, seconds, site, kind, syscall=None, native=[]))
            time += seconds + draw.uniform(0.1, 10)
            if draw.random() < 0.1:
                for (number, name), (times, total, longest) in counted.items():
                    lines.append(
                        {"type": "total", "t": time, "site": number, "class": name, "count": times,
                         "exact": 0, "seconds": total, "max": longest, "histogram": []}
                    )  # fmt: skip
                lines.append(heartbeat(time))
                time += 0.1
        if pid % 2:
            lines.append(progress(time + 5.0, 5.0, 2))
        else:
            lines.append(end(time))
        write(tmp_path / "records" / f"web-{pid}-1.jsonl", *lines, tail=b"garbage\n{}\n")

    made = compared(engine, tmp_path / "records", tmp_path, T + 10_000)
    assert any(site["unfinished"] for site in made["sites"])


@pytest.mark.live
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_probe_has_written(engine, tmp_path):
    program = tmp_path / "service.py"
    program.write_text("""
from gevent import monkey; monkey.patch_all()
import gevent
from gevent.monkey import get_original
def waits(): get_original("time", "sleep")(0.2)
for _ in range(3):
    gevent.sleep(0.1)
    gevent.spawn(waits).join()
gevent.sleep(0.1)
""")
    settings = environment(tmp_path / "records", GBLOCK_PROBE_HEARTBEAT=0.2)
    subprocess.run([sys.executable, program], env=settings, check=True)
    (path,) = (tmp_path / "records").glob("*.jsonl")
    now = json.loads(path.read_text().splitlines()[-1])["t"]
    made = compared(engine, tmp_path / "records", tmp_path, now)

    assert 3 <= sum(site["count"] for site in made["sites"])


@pytest.mark.live
def test_each_field_that_the_probe_writes_is_in_the_schema(tmp_path):
    program = tmp_path / "service.py"
    program.write_text("""
from gevent import monkey; monkey.patch_all()
import gevent
from gevent.monkey import get_original
gevent.sleep(0.1)
for _ in range(2):
    gevent.sleep(0.1)
    get_original("time", "sleep")(1.3)
gevent.sleep(0.1)
""")
    settings = {"GBLOCK_PROBE_HEARTBEAT": 0.3, "GBLOCK_PROBE_RELEASE": "v2"}
    subprocess.run(
        [sys.executable, program], env=environment(tmp_path / "r", **settings), check=True
    )
    (path,) = (tmp_path / "r").glob("*.jsonl")
    validator = Draft202012Validator(schema.schema())
    fields = {
        each["properties"]["type"]["enum"][0]: each["properties"].keys()
        for each in schema.schema()["$defs"].values()
        if "type" in each["properties"]
    }
    found = [json.loads(line) for line in path.read_text().splitlines()]

    assert {"start", "site", "block", "progress", "total", "heartbeat", "end"} == {
        line["type"] for line in found
    }
    for line in found:
        validator.validate(line)
        assert line.keys() <= fields[line["type"]]
        assert not list(validator.iter_errors(line))
    assert list(validator.iter_errors({**found[0], "t": "soon"}))


class TestCommand:
    def test_the_script_names_the_files_of_the_directory(self, tmp_path, capsys):
        assert 0 == cli.main(["report", "--sql", "duckdb", str(tmp_path)])
        assert f"'{tmp_path}/**/*.jsonl*'" in capsys.readouterr().out

    def test_a_pattern_is_taken_as_it_is_and_quoted(self, capsys):
        assert 0 == cli.main(["report", "--sql", "clickhouse", "s3/o'neil/*.jsonl"])
        assert r"'s3/o\'neil/*.jsonl'" in capsys.readouterr().out

    def test_several_directories_are_an_error(self, capsys):
        assert 2 == cli.main(["report", "--sql", "duckdb", "a", "b"])
        assert "name one directory" in capsys.readouterr().err

    def test_the_schema_is_written(self, capsys):
        assert 0 == cli.main(["report", "--schema"])
        assert "A record" == json.loads(capsys.readouterr().out)["title"]
