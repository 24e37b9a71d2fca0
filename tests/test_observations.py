from __future__ import annotations

import json
import math
import os
import pickle
import random
import re
import time
from pathlib import Path

import pytest
from harness import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st
from probing import ACME, POLL, T, block, end, fleet, heartbeat, progress, start, write
from thoroughness import examples

from gblock import observations
from gblock.diagnostics import Diagnostic, Location, Observed, Severity
from gblock.engine import observing
from gblock.observations import sources
from gblock.observations.drafts import drafts
from gblock.observations.durations import Durations
from gblock.output.report import FORMATS, facts, render
from gblock.output.report.html import render as html


def observed(folder, *, now=T + 100):
    return observations.read([str(folder)], CATALOG, now)


def written(tmp_path, *lines, now=T + 100, tail=b""):
    write(tmp_path / "web-1-71-1763700000.jsonl", *lines, tail=tail)
    return observed(tmp_path, now=now)


class TestVerdict:
    def test_no_records_mean_that_the_probe_was_off(self, tmp_path):
        seen = observed(tmp_path)

        assert "off" == seen.verdict
        assert "The probe was off" in facts.verdict(seen)

    def test_garbage_is_no_record(self, tmp_path):
        seen = written(tmp_path, tail=b"hello\n{}\n[]\n")

        assert "off" == seen.verdict
        assert 3 == seen.unread[0].garbage

    def test_heartbeats_without_blocks_mean_that_nothing_blocked(self, tmp_path):
        seen = written(tmp_path, start(), heartbeat(T + 60))

        assert "nothing" == seen.verdict
        assert ("running", "") == _state(seen)
        assert facts.verdict(seen).startswith("Nothing blocked the hub: 1 process was watched")

    def test_a_process_that_ended_is_no_dead_probe(self, tmp_path):
        seen = written(tmp_path, start(), end(T + 5), now=T + 1e6)

        assert "nothing" == seen.verdict
        assert ("ended", "exit") == _state(seen)

    @pytest.mark.parametrize(("age", "state"), [(179, "running"), (181, "silent")])
    def test_a_probe_that_missed_three_heartbeats_is_silent(self, tmp_path, age, state):
        seen = written(tmp_path, start(), heartbeat(T + 60), now=T + 60 + age)

        assert state == _state(seen)[0]
        assert ("died" if state == "silent" else "nothing") == seen.verdict

    @pytest.mark.parametrize(
        "records",
        [[start(heartbeat=5.0)], [start(), *[heartbeat(T + 5 * i) for i in range(1, 5)]]],
    )
    def test_the_interval_is_what_the_probe_says_or_does(self, tmp_path, records):
        last = records[-1]["t"]

        assert "running" == _state(written(tmp_path, *records, now=last + 14))[0]
        assert "silent" == _state(written(tmp_path, *records, now=last + 16))[0]

    @pytest.mark.parametrize("after", [[], [heartbeat(T + 60)]])
    def test_an_error_is_a_dead_probe_whatever_follows(self, tmp_path, after):
        seen = written(tmp_path, start(), end(T + 5, "error", "KeyError: 'x'"), *after)

        assert "died" == seen.verdict
        assert ("failed", "KeyError: 'x'") == _state(seen)
        assert "its probe failed at 2025-11-21 04:4" in facts.silences(seen)[0]

    def test_one_living_probe_is_enough_and_the_dead_one_is_told(self, tmp_path):
        write(tmp_path / "a-1-1.jsonl", start(T - 9000, pid=1))
        write(tmp_path / "a-2-1.jsonl", start(pid=2))
        seen = observed(tmp_path)

        assert "nothing" == seen.verdict
        assert 1 == len(facts.silences(seen))

    @pytest.mark.parametrize("kind", ["thread", "starved"])
    def test_what_no_call_is_to_blame_for_is_no_block_of_the_service(self, tmp_path, kind):
        seen = written(tmp_path, start(), POLL, block(T + 1, 0.5, 1, kind))
        (site,) = seen.sites

        assert "nothing" == seen.verdict
        assert (None, None, ()) == (site.filename, site.symbol, site.blockers)
        assert () == seen.blamed


def _state(seen):
    return seen.processes[0].state, seen.processes[0].reason


class TestFiles:
    def test_rotated_files_are_one_process_and_the_oldest_comes_first(self, tmp_path):
        write(tmp_path / "a-1-1.jsonl.1", start(), POLL, block(T + 1, 0.2), heartbeat(T + 60, 1))
        write(tmp_path / "a-1-1.jsonl", start(), POLL, block(T + 70, 0.3), heartbeat(T + 80, 2))
        seen = observed(tmp_path)

        assert [2] == [process.blocks for process in seen.processes]
        assert [2] == [site.times for site in seen.sites]
        assert 2 == seen.files
        assert [] == facts.silences(seen)

    def test_blocks_that_were_counted_and_are_not_there_are_told(self, tmp_path):
        seen = written(tmp_path, start(), POLL, block(T + 1, 0.2), heartbeat(T + 60, 5))

        assert 4 == seen.processes[0].uncounted
        assert "4 more blocks were counted but not recorded" in facts.silences(seen)[0]

    def test_a_last_line_that_is_cut_off_is_told_from_garbage(self, tmp_path):
        seen = written(tmp_path, start(), tail=b'\x00\x00\n{"type":"he')

        assert [(1, True)] == [(one.garbage, one.truncated) for one in seen.unread]
        assert 2 == len(facts.silences(seen))

    def test_a_last_line_without_its_end_is_read_if_it_is_whole(self, tmp_path):
        seen = written(tmp_path, tail=json.dumps(start()).encode())

        assert 1 == len(seen.processes)
        assert () == seen.unread

    def test_an_empty_last_line_is_nothing(self, tmp_path):
        assert () == written(tmp_path, start(), tail=b"\n  ").unread

    def test_a_line_without_an_end_is_never_held_in_memory(self, tmp_path):
        seen = written(tmp_path, start(), tail=b"x" * (3 << 20) + b"\n" + b"{}\n")

        assert 2 == seen.unread[0].garbage
        assert 1 == len(seen.processes)

    def test_a_file_that_cannot_be_read_is_told(self, tmp_path):
        seen = observations.read([str(tmp_path / "none")], CATALOG, T)

        assert "No such file" in seen.unread[0].error

    def test_directories_of_pods_are_walked(self, tmp_path):
        write(tmp_path / "pod-a" / "a-1-1.jsonl", start())
        write(tmp_path / "pod-b" / "a-1-1.jsonl", start())
        (tmp_path / "notes.txt").write_text("no records", encoding="utf-8")

        assert 2 == len(observed(tmp_path).processes)

    def test_a_field_of_a_later_version_is_passed_over(self, tmp_path):
        seen = written(tmp_path, start(version=2, news={"a": 1}), POLL, block(T, 1.0, mood="x"))

        assert [1] == [site.times for site in seen.sites]

    @pytest.mark.parametrize(
        "record",
        [
            {"t": T},
            block(T, -1.0),
            block(T, 1e12),
            block(-5.0, 1.0),
            block(1e300, 1.0),
            block("soon", 1.0),
            block(True, 1.0),
            {**POLL, "site": "1"},
            {**POLL, "stack": "x"},
            {"type": "news", "t": T},
        ],
    )
    def test_what_cannot_be_meant_is_garbage(self, tmp_path, record):
        seen = written(tmp_path, start(), record)

        assert 1 == seen.unread[0].garbage
        assert () == seen.sites


class TestSites:
    def test_blocks_of_all_processes_are_merged_by_site(self, tmp_path):
        now = fleet(tmp_path)
        seen = observed(tmp_path, now=now)
        poll = seen.sites[0]

        assert "blocked" == seen.verdict
        assert ("/app/orders/worker.py", 17, "run") == poll[:3]
        assert "confluent_kafka.Consumer.poll" == poll.symbol
        assert ["confluent-kafka-consumer-poll"] == [b.id for b in poll.blockers]
        assert (17, 2, 1) == (poll.times, poll.processes, poll.unfinished)
        assert (("waits", 16),) == poll.kinds
        assert pytest.approx(45.43, abs=0.01) == poll.total
        assert [1.001, 30.0, 30.0] == [poll.median, poll.p95, poll.longest]
        assert ["web-1", "web-1", "web-2"] == [process.host for process in seen.processes]
        assert ["ended", "silent", "running"] == [process.state for process in seen.processes]
        # Blocks without blame come last.
        assert [True, True, True, True, False] == [site.is_blamed for site in seen.sites]

    def test_the_callable_and_the_library_frames_name_it_if_the_symbol_does_not(self, tmp_path):
        site = {
            **ACME,
            "callable": "_socket.socket.recv_into",
            "stack": [
                {"file": "a.py", "line": 4, "function": "get", "user": True, "module": "a"},
                {"file": "x.py", "line": 9, "function": "hashpw", "module": "bcrypt"},
                {"file": "x.py", "line": 1, "function": "inner", "module": "bcrypt.y"},
            ],
        }
        seen = written(tmp_path, start(), site, block(T, 1.0, 2))

        assert "bcrypt.hashpw" == seen.sites[0].symbol

    def test_the_users_own_function_of_a_known_name_is_not_taken_for_it(self, tmp_path):
        frame = {"file": "bcrypt.py", "line": 4, "function": "hashpw", "user": True}
        site = {**ACME, "callable": None, "stack": [{**frame, "module": "bcrypt"}]}

        assert () == written(tmp_path, start(), site, block(T, 1.0, 2)).sites[0].blockers

    def test_garbage_collection_is_not_what_was_called(self, tmp_path):
        seen = written(tmp_path, start(), POLL, block(T, 1.0), block(T + 2, 0.5, kind="gc"))

        assert ["waits", "gc"] == [site.kind for site in seen.sites]
        assert [True, False] == [bool(site.blockers) for site in seen.sites]
        assert seen.sites[1].symbol is None

    def test_a_block_that_lasted_when_the_process_was_killed_is_one(self, tmp_path):
        lines = [start(), POLL, progress(T + 11, 1.0), progress(T + 15, 5.0)]
        seen = written(tmp_path, *lines, now=T + 1000)

        assert [(T + 10, 5.0, False)] == [(b.start, b.seconds, b.finished) for b in seen.blocks]
        assert "1 of 1: their ends were not seen" in dict(facts.facts(seen.sites[0])).values()

    def test_a_block_that_ended_is_counted_once(self, tmp_path):
        seen = written(tmp_path, start(), POLL, progress(T + 11, 1.0), block(T + 10, 1.5))

        assert [(1.5, True)] == [(b.seconds, b.finished) for b in seen.blocks]

    def test_a_block_whose_end_names_another_site_than_it_did_while_it_lasted_is_one(
        self, tmp_path
    ):
        starved = block(T + 10.02, 1.5, None, "starved")
        seen = written(tmp_path, start(), POLL, progress(T + 11, 1.0), starved)

        assert [("starved", True)] == [(b.kind, b.finished) for b in seen.blocks]

    def test_a_block_long_before_does_not_end_another(self, tmp_path):
        seen = written(tmp_path, start(), POLL, progress(T + 11, 1.0), block(T + 12, 0.2, 5))

        assert [(1.0, False), (0.2, True)] == [(b.seconds, b.finished) for b in seen.blocks]

    def test_c_code_without_a_frame_is_told_by_where_it_was_spawned_if_it_was(self, tmp_path):
        system = {"type": "site", "site": 1, "symbol": "os.system", "callable": "posix.system"}
        user = {"file": "/app/mail.py", "line": 4, "function": "send", "user": True}
        spawned = system | {"user": user, "stack": [user], "spawned": True}
        callback = system | {"site": 2, "user": None, "stack": []}
        seen = written(
            tmp_path, start(), spawned, callback, block(T, 2.0), block(T + 3, 1.0, 2, native=[])
        )

        assert [
            "/app/mail.py:4 in send",
            "C code that gevent calls itself: a callback of the loop, or a greenlet's target",
        ] == [facts.where(site) for site in seen.sites]
        assert (
            "on this line, as the greenlet's target" == dict(facts.facts(seen.sites[0]))["spawned"]
        )
        assert "spawned" not in dict(facts.facts(seen.sites[1]))
        assert "stack that spawned it" in html(seen)

    def test_a_site_without_a_record_and_the_rest_above_the_limit_are_told_apart(self, tmp_path):
        other = {"type": "site", "site": 0, "other": True}
        seen = written(tmp_path, start(), other, block(T, 1.0, 0), block(T + 3, 0.5, 5))

        assert [
            "other call sites, above the probe's limit",
            "an unknown call site",
        ] == [facts.where(site) for site in seen.sites]

    def test_a_number_may_mean_another_site_after_a_new_start(self, tmp_path):
        other = {**ACME, "site": 1}
        lines = [start(), POLL, block(T, 1.0), end(T + 2), start(T + 3), other, block(T + 4, 1.5)]

        assert [4, 17] == [site.line for site in written(tmp_path, *lines).sites]


class TestFacts:
    def facts(self, tmp_path, **values):
        seen = written(tmp_path, start(), {**ACME, **values}, block(T, 1.0, 2, "cpu", syscall=None))
        return dict(facts.facts(seen.sites[0]._replace(checked=True)))

    def test_an_opt_in_entry_is_reported_only_if_it_is_selected(self, tmp_path):
        facts = self.facts(tmp_path, symbol="re.match")

        assert "reports re-match only if it is selected" == facts["check"]

    def test_python_code_of_its_own_has_no_name(self, tmp_path):
        facts = self.facts(tmp_path, callable=None)

        assert "Python code of its own" in facts["calls"]
        assert "catalog" not in facts

    def test_a_call_that_cooperates_where_it_is_patched_is_no_gap_of_the_catalog(self, tmp_path):
        line = {**ACME, "symbol": "asyncio.run", "callable": "asyncio.run"}
        seen = written(tmp_path, start(), line, block(T, 1.0, 2))
        told = dict(facts.facts(seen.sites[0]))["catalog"]
        drafted = drafts(seen, CATALOG)

        assert "known to cooperate once gevent has patched; here it did not" == told
        assert (
            "# No draft of asyncio.run: it is known to cooperate once gevent has patched.\n"
            == drafted
        )
        assert "--suggest" not in observations.sentence(seen.sites[0])

    def test_an_unknown_call_can_be_drafted(self, tmp_path):
        assert "not known; --suggest drafts an entry" == self.facts(tmp_path)["catalog"]


def diagnostic(filename, row, end_row=None, **values):
    fields = {
        "filename": str(filename),
        "location": Location(row, 5),
        "end_location": Location(end_row or row, 20),
        "code": "blocking-call",
        "severity": Severity.ERROR,
        "message": "poll() blocks the hub",
        "help": "",
        "blocker": "confluent-kafka-consumer-poll",
    }
    return Diagnostic(**{**fields, **values})


class TestConfirmed:
    def confirmed(self, tmp_path, diagnostics, files):
        seen = written(tmp_path / "r", start(), POLL, block(T, 1.0), block(T + 2, 0.5))
        return observations.confirmed(seen, diagnostics, files)

    def test_a_diagnostic_on_the_line_of_a_block_is_marked(self, tmp_path):
        path = tmp_path / "src" / "orders" / "worker.py"
        found = self.confirmed(tmp_path, [diagnostic(path, 17), diagnostic(path, 18)], [str(path)])

        assert [Observed(2, 1.5, 1.0), None] == [one.observed for one in found.diagnostics]
        assert ((), 0) == (found.unexplained, found.elsewhere)
        assert found.observations.sites[0].checked

    def test_a_call_over_several_lines_is_one_place(self, tmp_path):
        path = tmp_path / "worker.py"
        found = self.confirmed(tmp_path, [diagnostic(path, 15, 18)], [str(path)])

        assert found.diagnostics[0].observed

    def test_of_several_calls_on_a_line_the_one_that_was_seen_is_marked(self, tmp_path):
        path = tmp_path / "worker.py"
        other = diagnostic(path, 17, blocker="other", symbol="other")
        found = self.confirmed(tmp_path, [other, diagnostic(path, 17)], [str(path)])

        assert [False, True] == [one.observed is not None for one in found.diagnostics]

    def test_a_wrapper_on_the_line_is_confirmed_by_what_it_calls(self, tmp_path):
        path = tmp_path / "worker.py"
        other = diagnostic(path, 17, blocker="other", symbol="other")

        assert self.confirmed(tmp_path, [other], [str(path)]).diagnostics[0].observed

    def test_the_path_that_ends_most_alike_is_the_file(self, tmp_path):
        paths = [tmp_path / name / "worker.py" for name in ("orders", "billing")]
        found = self.confirmed(tmp_path, [], map(str, paths))

        assert [str(paths[0])] == [path for _, path in found.unexplained]

    def test_what_could_be_two_files_is_none(self, tmp_path):
        paths = [tmp_path / name / "orders" / "worker.py" for name in ("a", "b")]
        found = self.confirmed(tmp_path, [diagnostic(paths[0], 17)], map(str, paths))

        assert (None, (), 1) == (found.diagnostics[0].observed, *found[2:])


_NAMES = st.sampled_from(["start", "block", "site", "progress", "heartbeat", "end", "x"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
_KEYS = st.sampled_from(
    "t duration class site symbol callable user stack elapsed blocks reason error pid argv".split()
)
_RECORDS = st.builds(
    lambda name, base, more: {**base, **more, "type": name},
    _NAMES,
    st.sampled_from([start(), POLL, block(T, 1.0), heartbeat(T), progress(T, 1.0), end(T)]),
    st.dictionaries(_KEYS, _VALUES, max_size=3),
)


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(_RECORDS | st.binary(max_size=20), max_size=8))
def test_no_file_is_a_traceback(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("r") / "a-1-1.jsonl"
    data = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(data))
    seen = observed(path.parent)
    found = [record for each in sources.sources([str(path)]) for record in each.records()]

    assert seen.verdict in ("blocked", "nothing", "off", "died")
    # Every line is a record, or is counted.
    known = len(found)
    counted = sum(one.garbage + one.truncated for one in seen.unread)
    # A made-up line may hold line feeds of its own, and an empty one is nothing.
    assert known + counted == sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))
    for name in FORMATS:
        assert render(name, seen)
    assert render("text", seen, 80)


@settings(max_examples=examples(30), deadline=None)
@given(st.text())
def test_nothing_that_a_record_says_is_html(tmp_path_factory, text):
    site = {**POLL, "symbol": text, "user": {"file": f"<script>{text}", "line": 1}}
    lines = [start(argv=[f"<em>{text}"], host=f"<i>{text}"), site, block(T, 1.0, kind=f"<u>{text}")]
    folder = tmp_path_factory.mktemp("r")
    write(folder / "<s>-1-1.jsonl", *lines)
    page = html(observed(folder))

    assert not [tag for tag in ("<em>", "<i>", "<u>", "<s>") if tag in page]
    assert 1 == page.count("<script>")


def total(t, count, seconds, longest, site=1, kind="waits"):
    return {
        "type": "total",
        "t": t,
        "site": site,
        "class": kind,
        "count": count,
        "exact": count,
        "seconds": seconds,
        "max": longest,
        "histogram": [0] * 11,
    }


class TestTotals:
    def test_what_has_no_record_of_its_own_is_in_the_figures(self, tmp_path):
        blocks = [block(T + i, 0.5) for i in range(3)]
        lines = [start(), POLL, *blocks, total(T + 60, 10, 8.0, 2.5), heartbeat(T + 60, 10)]
        seen = written(tmp_path, *lines, block(T + 70, 0.5), end(T + 80))
        (site,) = seen.sites

        assert (11, 8.5, 2.5, 0.5) == (site.times, site.total, site.longest, site.median)
        assert (11, 8.5, 0) == (
            seen.processes[0].blocks,
            seen.processes[0].blocked,
            seen.processes[0].uncounted,
        )

    def test_totals_are_cumulative_and_the_last_one_counts(self, tmp_path):
        lines = [start(), POLL, total(T + 60, 10, 8.0, 2.5), total(T + 120, 30, 20.0, 3.0)]
        (site,) = written(tmp_path, *lines).sites

        assert (30, 20.0, 3.0) == (site.times, site.total, site.longest)

    def test_counts_that_begin_anew_are_added(self, tmp_path):
        lines = [start(), POLL, total(T + 60, 10, 8.0, 2.5), end(T + 61)]
        lines += [start(T + 62), POLL, total(T + 120, 2, 1.0, 0.5), end(T + 121)]
        (site,) = written(tmp_path, *lines).sites

        assert (12, 9.0, 2.5) == (site.times, site.total, site.longest)

    def test_a_site_that_only_totals_name_is_reported(self, tmp_path):
        (site,) = written(tmp_path, start(), POLL, total(T + 60, 4, 2.0, 1.0)).sites

        assert (17, 4, 0.5) == (site.line, site.times, site.median)

    def test_a_window_takes_the_difference_of_totals(self, tmp_path):
        lines = [start(), POLL, block(T + 1, 1.0), total(T + 60, 10, 8.0, 2.5)]
        lines += [block(T + 61, 1.0), total(T + 120, 30, 20.0, 3.0), block(T + 130, 9.0)]
        write(tmp_path / "a-1-1.jsonl", *lines)
        seen = observations.read([str(tmp_path)], CATALOG, T + 140, since=T + 60.5, until=T + 125)
        (site,) = seen.sites

        assert (20, 12.0, 3.0) == (site.times, site.total, site.longest)


def test_a_process_of_this_host_that_is_gone_is_told_from_one_that_runs(tmp_path):
    host = re.sub(r"[^\w.-]", "_", os.uname().nodename)
    now = time.time()
    gone = start(now, host=host, pid=2**22 + 1)
    mine = start(now + 9e8, host=host, pid=os.getpid())
    write(tmp_path / "a-1-1.jsonl", gone, progress(now + 3, 3.0))
    write(tmp_path / "a-2-1.jsonl", mine)
    seen = observed(tmp_path, now=now + 4)

    assert ["silent", "running"] == [one.state for one in seen.processes]
    assert "it was killed" in seen.processes[0].reason


def test_named_files_are_read_whatever_they_are_called(tmp_path):
    path = write(tmp_path / "probe.log", start())

    assert 1 == len(observations.read([str(path), str(Path(path))], CATALOG, T).processes)


_MOMENTS = st.integers(0, 40_000).map(lambda quarter: T + quarter / 4)
_LASTED = st.integers(1, 200).map(lambda quarter: quarter / 4)
_TOLD = st.lists(
    st.one_of(
        st.builds(
            block,
            _MOMENTS,
            _LASTED,
            st.sampled_from([1, 2, None]),
            st.sampled_from(["waits", "gil", "gc", "starved"]),
            greenlet=st.sampled_from(["run", "main"]),
        ),
        st.builds(total, _MOMENTS, st.integers(0, 9), _LASTED, _LASTED, st.sampled_from([1, 2])),
        st.builds(heartbeat, _MOMENTS, st.integers(0, 20)),
        st.builds(progress, _MOMENTS, _LASTED),
        st.builds(end, _MOMENTS),
        st.sampled_from([start(), POLL, ACME, {**ACME, "site": 1}]),
    ),
    max_size=30,
)


@settings(max_examples=examples(200), deadline=None)
@given(_TOLD, st.none() | _MOMENTS, st.none() | _MOMENTS)
def test_lines_as_the_probe_writes_them_say_the_same_as_any_other(
    tmp_path_factory, lines, since, until
):
    lines = [start(T - 1), *(dict(line) for line in lines), heartbeat(T + 20_000, 99)]
    counts = {}
    for line in lines:  # counts grow until a probe ends; a start is repeated after a rotation
        if line["type"] == "end":
            counts = {}
        elif line["type"] == "total":
            line["count"] = max(line["count"], counts.get(line["site"], 0))
            counts[line["site"]] = line["count"]
    seen = []
    for separators in ((",", ":"), (", ", ": ")):
        folder = tmp_path_factory.mktemp("r")
        text = "".join(json.dumps(line, separators=separators) + "\n" for line in lines)
        (folder / "a-1-1.jsonl").write_text(text)
        seen.append(observations.read([str(folder)], CATALOG, T, since=since, until=until))

    assert seen[0]._replace(unread=()) == seen[1]._replace(unread=())


class TestDurations:
    def test_a_few_are_exact(self):
        durations = Durations()
        durations.extend([0.3, 0.1, 0.2], 3)
        durations.extend([0.4], 1)

        assert [0.25, 0.4] == [durations.quantile(0.5), durations.quantile(0.95)]

    def test_of_very_many_three_digits_are_kept_and_memory_is_bounded(self):
        draw = random.Random(1)
        values = [draw.lognormvariate(-1, 1) for _ in range(100_000)]
        first, second = Durations(), Durations()
        for durations, part in ((first, values[:70_000]), (second, values[70_000:])):
            for index in range(0, len(part), 1000):
                durations.extend(part[index : index + 1000], len(part[index : index + 1000]))
        first.merge(second)
        values.sort()

        assert 100_000 == len(first)
        for share in (0.5, 0.95, 1.0):
            exact = values[math.ceil(share * len(values)) - 1]
            assert pytest.approx(exact, rel=0.006) == first.quantile(share)

    def test_none_has_no_quantile(self):
        with pytest.raises(ValueError, match="no durations"):
            Durations().quantile(0.5)


def test_several_processes_read_the_same_as_one(tmp_path):
    for pid in range(5):
        lines = [start(pid=pid + 1, host=f"web-{pid % 2}"), POLL, ACME]
        lines += [block(T + i / 4, 0.25 + pid * i % 7 / 4, 1 + i % 2) for i in range(80)]
        write(tmp_path / f"a-{pid}-1.jsonl", *lines, total(T + 60, 99, 90.5, 8.0), tail=b"x\n")
    selection = observations.RecordSelection(T + 100)
    found = list(enumerate(sources.sources([str(tmp_path)])))
    parts = [pickle.loads(pickle.dumps(_part(share))) for share in (found[1::2], found[::2])]

    assert observations.combined(parts, CATALOG) == observed(tmp_path)
    assert observing.observed([str(tmp_path)], CATALOG, selection) == observed(tmp_path)


def _part(share):
    return observations.read_part(share, CATALOG, observations.RecordSelection(T + 100))


class TestSums:
    """Records of sums, as `gblock report --sql` writes them."""

    def line(self, **changes):
        record = {
            "type": "sum", "classes": {"waits": 3, "unknown": 1}, "seconds": 6.0, "median": 1.5,
            "p95": 2.0, "max": 2.5, "first": T, "last": T + 60, "symbol": POLL["symbol"],
            "user": POLL["user"], "stack": POLL["stack"], "exact": 3, "processes": 2,
            "syscalls": {"futex": 3}, "native": {"librdkafka.so.1": 3}, "unfinished": 1,
        }  # fmt: skip
        return record | changes

    def watched(self, **changes):
        record = {
            "type": "watched", "started": T, "last": T + 60, "name": "web", "pid": 7,
            "heartbeat": 60.0, "blocks": 4, "blocked": 6.0,
        }  # fmt: skip
        return record | changes

    def test_a_sum_is_a_site_with_its_figures(self, tmp_path):
        seen = written(tmp_path, self.line(), self.watched())
        (site,) = seen.sites

        assert POLL["symbol"] == site.symbol
        assert (4, 6.0, 2.5) == (site.times, site.total, site.longest)
        assert {"waits": 3} == dict(site.kinds)
        assert "waits" == site.kind
        assert 2 == site.processes

    def test_sums_of_one_site_are_added_up(self, tmp_path):
        more = self.line(seconds=2.0, max=1.0, first=T - 60, median=0.5, classes={"waits": 4})
        (site,) = written(tmp_path, self.line(), more).sites

        assert (8, 8.0, 2.5) == (site.times, site.total, site.longest)
        assert T - 60 == site.first

    @pytest.mark.parametrize(
        ("changes", "state"),
        [
            ({}, "running"),
            ({"reason": "exit"}, "ended"),
            ({"error": "TypeError"}, "failed"),
            ({"last": T - 600}, "silent"),
            ({"last": T - 600, "heartbeat": 600.0}, "running"),
        ],
    )
    def test_a_process_is_in_the_state_that_its_records_tell(self, tmp_path, changes, state):
        (process,) = written(tmp_path, self.watched(**changes)).processes

        assert state == process.state
        assert (7, 4, 6.0) == (process.pid, process.blocks, process.blocked)


def test_a_line_that_is_too_long_is_skipped_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LONGEST", 2000)
    monkeypatch.setattr(sources, "_CHUNK", 512)
    path = tmp_path / "web-1-71-1763700000.jsonl"
    for tail in (b"x" * 5000, b"x" * 5000 + b"\n" + json.dumps(block(T, 1.0)).encode() + b"\n"):
        write(path, start(), POLL, tail=tail)
        seen = observed(tmp_path)

        assert 1 == seen.unread[0].garbage
        assert tail.count(b"\n") // 2 == len(seen.sites)


@pytest.mark.parametrize(
    ("child", "warning"),
    [
        ([], "web-1:71: 2 forked children without a block left no end"),
        ([heartbeat(T + 60)], "web-1:101: its probe fell silent"),
        ([POLL, progress(T + 2, 1.0)], "web-1:101: its probe fell silent"),
    ],
)
def test_children_that_end_at_once_are_one_line(tmp_path, child, warning):
    """A child that ends by os._exit, as those of multiprocessing do, writes no end."""
    write(tmp_path / "web-1-71-1.jsonl", start(), *[heartbeat(T + 60 * i) for i in range(1, 9)])
    for pid in (100, 101):
        lines = child if pid == 101 else []
        write(tmp_path / f"web-1-{pid}-1.jsonl", start(T + 1, pid=pid, ppid=71), *lines)

    lost = facts.silences(observed(tmp_path, now=T + 490))
    assert [line for line in lost if line.startswith(warning)], lost
    assert (2 if child else 1) == len(lost)


def test_a_child_without_a_known_parent_is_a_process_of_its_own(tmp_path):
    seen = written(tmp_path, start(), now=T + 1e6)

    (line,) = facts.silences(seen)
    assert "its probe fell silent" in line


def test_an_original_is_known_even_if_only_a_total_is_left(tmp_path):
    """Blocks whose own records were rotated away: `patch_all()` would not help there either."""
    site = {**POLL, "symbol": "time.sleep", "callable": "time.sleep", "original": True}
    total = {"type": "total", "t": T + 5, "site": 1, "class": "waits", "count": 3, "exact": 3}
    seen = written(tmp_path, start(), site, {**total, "seconds": 1.5, "max": 0.6})

    assert seen.sites[0].is_original
    assert facts._PATCHED == dict(facts.facts(seen.sites[0]))["instead"]


def test_blocks_without_a_time_have_a_row_among_the_hours(tmp_path):
    total = {"type": "total", "t": T + 9, "site": 1, "class": "waits", "count": 3, "exact": 3}
    total |= {"seconds": 1.5, "max": 0.6}
    seen = written(tmp_path, start(), POLL, block(T + 1, 0.5), total)

    table = [line.rsplit(None, 3) for line in facts.by(seen, "hour").splitlines()]
    assert ["without a time", "2", "1.00", "s"] == table[-1]
    assert "1" == table[1][1]
