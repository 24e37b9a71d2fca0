"""Verdicts from measurements, by a table of cases: no process, no clock, no frame."""

from __future__ import annotations

import itertools

import pytest

from gblock.probing import stacks, verdict
from gblock.probing.record import CallSite
from gblock.probing.verdict import Measured, Seen, Unsampled

HALF_A_SECOND = Measured(
    duration=0.5,
    threshold=0.1,
    interval=0.005,
    cpu=0.0,
    others=0.0,
    collected=0.0,
    late=0.0,
    waits=None,
    asleep=0,
    running=0,
    in_poll=False,
    is_named=False,
    queued=0.0,
    queued_share=0.0,
    others_waits=None,
    kept=0.0,
    slept=0.0,
    stopped=0.0,
    has_company=True,
)
UNSAMPLED = Unsampled(
    late=0.48,
    threshold=0.1,
    interval=0.005,
    cpu=0.0,
    others=0.0,
    collected=0.0,
    waits=None,
    queued_share=0.0,
    has_company=True,
)
LATE = {"late": 0.48, "waits": 95}


@pytest.mark.parametrize(
    ("kind", "measured"),
    [
        # The hub's thread sleeps, and the sampler looks whenever it wants.
        ("waits", {"asleep": 3}),
        ("waits", {"asleep": 1, "running": 1, "cpu": 0.01}),
        ("waits", {"slept": 0.4, "late": 0.3, "waits": 1}),
        # It sleeps, and only the sampler waits for a CPU.
        ("waits", {"asleep": 1, "late": 0.48, "waits": 1}),
        ("waits", {"asleep": 1, "duration": 0.03, "threshold": 0.02, "late": 0.02, "waits": 1}),
        ("starved", {"asleep": 1, "late": 0.48, "waits": 1, "stopped": 0.4}),
        # It works.
        ("cpu", {"cpu": 0.48, "running": 3}),
        ("cpu", {"cpu": 0.2, "running": 3, "queued": 0.25}),
        ("cpu", {"cpu": 0.15, "running": 1}),
        ("cpu", {"cpu": 0.12, "asleep": 3, "queued": 0.36}),
        # It keeps the GIL: it works, or it waits.
        ("gil", {**LATE, "cpu": 0.47}),
        ("gil", {**LATE, "has_company": False}),
        ("gil", {**LATE, "kept": 0.45, "queued": 0.01, "others_waits": 3}),
        ("gil", {**LATE, "others_waits": 3, "others": 0.001}),
        ("gil", {"late": 0.48, "waits": None, "is_named": True}),
        # It releases the GIL again and again, and takes it back before the sampler wakes.
        ("cpu", {"late": 0.48, "waits": 5700, "cpu": 0.47}),
        # Another thread kept it.
        ("thread", {**LATE, "others": 0.4}),
        ("thread", {**LATE, "others": 0.12}),
        ("thread", {**LATE, "others_waits": 90}),
        ("thread", {"in_poll": True, "others": 0.4}),
        # The host gave the process no time, or stopped it.
        ("starved", {"late": 0.48, "waits": 1}),
        ("starved", {"late": 0.48, "waits": None}),
        ("starved", {"cpu": 0.03, "queued": 0.45}),
        ("starved", {"queued_share": 0.6, "cpu": 0.05}),
        ("gc", {"collected": 0.3, "cpu": 0.5, **LATE}),
        ("gc", {"collected": 0.5}),  # in another thread
        ("starved", {"collected": 0.48, "cpu": 0.05, "queued": 0.44}),
        # Nothing is known but that it took its time.
        ("waits", {}),
        ("cpu", {"cpu": 0.1001}),
    ],
)
def test_the_class_of_a_block(kind, measured):
    assert kind == verdict.kind(HALF_A_SECOND._replace(**measured))


@pytest.mark.parametrize(
    ("kind", "measured"),
    [
        ("gc", {"collected": 0.4}),
        ("thread", {"others": 0.4}),
        ("gil", {"cpu": 0.3, "waits": 95}),
        ("cpu", {"cpu": 0.3, "waits": 5700}),
        ("cpu", {"cpu": 0.3, "waits": 1}),
        ("starved", {"waits": 1}),
        ("starved", {"waits": 95, "queued_share": 0.7}),
        ("gil", {"waits": 95, "has_company": False}),
        ("thread", {"waits": 95}),
        ("gil", {"waits": 95, "cpu": 0.099, "threshold": 0.2}),
    ],
)
def test_the_class_of_a_time_without_a_look(kind, measured):
    assert kind == verdict.overslept(UNSAMPLED._replace(**measured))


@pytest.mark.parametrize(
    ("late", "waits", "held", "let_go"),
    [
        (0.4, 82, True, False),  # re.match that never comes back: one wait a switch interval
        (0.4, 5_700, True, True),  # Celery sends 3,000 tasks
        (0.4, 1, False, False),  # the process was stopped
        (0.02, 9, None, False),
        (0.4, None, None, False),
    ],
)
def test_a_thread_that_is_woken_more_often_than_it_asks_is_kept_out_by_short_calls(
    late, waits, held, let_go
):
    assert held is verdict.is_held(late, waits, 0.005)
    assert let_go is verdict.is_let_go(late, waits, 0.005)


@pytest.mark.parametrize(
    ("least", "most", "late", "waits", "queued"),
    [
        (0.38, 0.40, 0.40, 79, 0.003),  # one call on a quiet machine
        (0.30, 0.40, 0.40, 50, 0.14),  # the same beside others
        (0, 0, 0.40, 95, 0.0),  # releases woke it: 95 waits of 5 ms do not fit
        (0, 0, 0.40, 70, 0.30),  # nor do 70 and the time in line
        (0, 0.10, 0.40, 20, 0.0),  # it was stopped for most of it
        (0, 0, 0.40, 2, 0.0),
        (0, 0, 0.009, 3, 0.0),
        (0, 0, 0.40, None, 0.0),
        (0, 0, 0.40, 79, None),
    ],
)
def test_how_long_the_gil_was_kept_at_one_place(least, most, late, waits, queued):
    assert least <= verdict.held(late, waits, queued, 0.005) <= most


@pytest.mark.parametrize(
    ("least", "most", "late", "waits", "queued"),
    [
        (0.4, 0.4, 0.4, 1, 0.0),  # SIGSTOP: it woke once, when all was over
        (0.36, 0.38, 0.4, 2, 0.02),
        (0, 0, 0.4, 1, 0.41),  # it was in the run queue
        (0, 0.01, 0.4, 79, 0.003),  # it waited for the GIL
        (0, 0, 0.4, 50, 0.16),
        (0.4, 0.4, 0.4, None, 0.0),
        (0.4, 0.4, 0.4, 1, None),
        (0, 0.01, 0.4, 80, None),
        (0, 0, 0.019, 1, 0.0),
    ],
)
def test_a_delay_that_nothing_explains_is_a_stop(least, most, late, waits, queued):
    assert least <= verdict.stopped(late, waits, queued, 0.005) <= most


@pytest.mark.parametrize(
    ("waiting", "ran", "queued", "turns"),
    [
        (True, 0.0, 0.0, 0),
        (True, 0.001, 0.0, 2),
        (True, 0.002, 0.015, 20),  # a client that wakes every five milliseconds
        (False, 0.09, 0.0, 1),
        (False, 0.01, 0.05, 1),
        (False, 0.001, 0.0, 21),  # it waits for the GIL
    ],
)
def test_a_thread_that_waits_sleeps_and_does_not_ask_for_the_gil(waiting, ran, queued, turns):
    elapsed = 0.4 if turns == 20 else 0.1
    assert waiting is verdict.is_waiting(elapsed, ran, queued, turns, 0.005)


@pytest.mark.parametrize(
    ("sure", "kind", "seen"),
    [
        ("none", "waits", None),
        ("none", "gc", Seen(0.5, free=0.5, is_call=True)),
        ("none", "thread", Seen(0.5, free=0.5, is_call=True)),
        ("none", "starved", Seen(0.5, held=0.5, is_call=True, is_sole=True)),
        ("exact", "waits", Seen(0.5, free=0.3, is_call=True)),
        ("near", "waits", Seen(0.5, free=0.2, is_call=True)),
        ("near", "waits", Seen(0.5, free=0.5)),
        ("exact", "gil", Seen(0.5, held=0.4, is_call=True, is_sole=True)),
        ("near", "gil", Seen(0.5, held=0.4, is_call=True)),
        ("near", "gil", Seen(0.5, held=0.2, is_call=True, is_sole=True)),
        ("exact", "gil", Seen(0.5, held=0.4, is_call=True, is_idle=True)),
        ("near", "gil", Seen(0.5, held=0.4, is_idle=True)),
        ("exact", "gil", Seen(0.5, held=0.4, is_inside=True)),
        ("exact", "gil", Seen(0.5, held=0.4, is_call=True, is_temporary=True)),
        ("near", "gil", Seen(0.5, held=0.3, is_call=True, is_temporary=True)),
        ("exact", "gil", Seen(0.5, free=0.15, held=0.15, is_call=True, is_sole=True)),
    ],
)
def test_how_sure_the_blame_is(sure, kind, seen):
    assert sure == verdict.confidence(kind, 0.5, seen)


def test_every_measurement_has_a_class_and_a_process_that_was_stopped_keeps_no_gil():
    figures = (0.0, 0.04, 0.2, 0.45)
    for cpu, others, late, waits in itertools.product(
        figures, figures, figures, (None, 1, 60, 900)
    ):
        for asleep, running, queued in itertools.product((0, 2), (0, 2), figures):
            measured = HALF_A_SECOND._replace(
                cpu=cpu, others=others, late=late, waits=waits, asleep=asleep, running=running,
                queued=queued,
            )  # fmt: skip
            kind = verdict.kind(measured)
            assert kind in ("waits", "cpu", "gil", "gc", "thread", "starved")
            assert kind != "gc"
            if waits == 1 and late == 0.45:
                unsampled = UNSAMPLED._replace(cpu=cpu, others=others, late=late, waits=waits)
                assert "gil" not in (kind, verdict.overslept(unsampled))


@pytest.mark.parametrize(
    ("agreeing", "contrary", "is_proof"),
    [
        (0, 0, False),
        (1, 0, False),  # once it may be the host
        (4, 0, False),
        (5, 0, True),
        (5, 1, False),
        (9, 1, True),
        (18, 2, True),
        (18, 3, False),
        (0, 20, False),
    ],
)
def test_only_indications_that_repeat_are_a_proof(agreeing, contrary, is_proof):
    counted = verdict.Indications()
    for answer in [True] * agreeing + [None] * 3 + [False] * contrary:
        counted.add(answer)

    assert is_proof is counted.is_proof


def test_a_loop_of_short_calls_that_release_the_gil_is_never_a_long_call():
    """The thread is seen inside the same call at each sample, and stops at the GIL mostly."""
    spot = stacks.Spot(CallSite(), is_call=True)
    spot.worked = 1.0
    for sample in range(100):
        spot.went_on.add(sample % 5 == 0)
        spot.undisturbed.add(sample % 3 == 0)

    assert 0.0 == spot.free
