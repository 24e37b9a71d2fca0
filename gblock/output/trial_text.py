"""A trial for people: the verdict, then its figures."""

from __future__ import annotations

from gblock.output.place import printable
from gblock.output.seconds import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.trial import Measurement, Trial, TrialPlan

_MEANING = {
    "blocks": "it waits, and no other greenlet runs meanwhile",
    "cpu": "it works, and no other greenlet runs meanwhile",
    "cooperative": "other greenlets run meanwhile",
    "immediate": "it returns at once",
}
_WORK = {
    "waited": "waited",
    "worked": "worked",
    "worked elsewhere": "worked, in native threads of a library",
}
_GIL = {
    "released": "released: native threads run meanwhile",
    "shared": "shared: Python code hands it over when another thread asks",
    "in part": "released in part",
    "held": "held: no native thread runs meanwhile",
}


def render(plan: TrialPlan, measured: Trial, against: Trial | None) -> str:
    """Return both trials, one after the other."""
    lines = _trial(measured, "")
    if against is not None:
        lines += ["", *_trial(against, "against: ")]
    run = measured.typical
    patched = "everything" if plan.patch is None else ", ".join(plan.patch) or "nothing"
    lines += ["", f"Python {run.python}, gevent {run.gevent}, patched: {patched}"]
    return "\n".join(lines) + "\n"


def _trial(measured: Trial, head: str) -> list[str]:
    run = measured.typical
    first, *rest = measured.statement.strip().splitlines() or [""]
    lines = [printable(f"{head}{first}{' …' if rest else ''}")]
    facts = [("verdict", _verdict(measured)), ("elapsed", _elapsed(run))]
    facts.append(("hub's gap", f"{seconds(run.max_gap)} at the longest"))
    if run.gil is not None:
        facts.append(("GIL", f"{_GIL[run.gil]}; their longest gap was {seconds(run.max_tick)}"))
    if run.verdict != "immediate":
        facts.append(("its time", _time(run)))
    if run.blocked and run.signal is None:
        facts.append(("threadpool", _threadpool(measured)))
    if len(measured.runs) > 1:
        gaps = ", ".join(seconds(one.max_gap) for one in measured.runs)
        facts.append(("all runs", f"gaps of {gaps}"))
    return lines + [f"{name:>14}: {printable(text)}" for name, text in facts]


def _verdict(measured: Trial) -> str:
    run = measured.typical
    if run.signal is not None:
        return f"crash: {run.signal} ended the process"
    text = f"{run.verdict}: {_MEANING[run.verdict]}"
    if run.is_uncertain:
        text += "; uncertain: the machine was busy"
    elif not measured.is_agreed:
        text += "; uncertain: the runs disagree"
    return text


def _elapsed(run: Measurement) -> str:
    if run.signal is not None:
        return f"{seconds(run.elapsed)} until it crashed"
    return seconds(run.elapsed) + ("" if run.returned else ", then it was ended")


def _time(run: Measurement) -> str:
    if run.cpu is None:
        return "not known"
    text = f"{_WORK[run.work]}; {seconds(run.cpu)} of CPU"
    if run.cpu_elsewhere is not None and run.cpu_elsewhere >= 0.01:
        text += f", {seconds(run.cpu_elsewhere)} in other threads"
    return text


def _threadpool(measured: Trial) -> str:
    pool = measured.threadpool
    if pool.max_gap is None:
        return f"{pool.help}: {pool.reason}" if pool.reason else pool.help
    return f"{pool.help}: the hub's longest gap there was {seconds(pool.max_gap)}"
